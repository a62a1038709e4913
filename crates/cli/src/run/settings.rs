// SPDX-License-Identifier: MIT OR Apache-2.0

//! The settings of capture as flags. Names, defaults and sentences come from
//! the one table of `ioracle_spool::settings`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use anyhow::Result;
use clap::builder::{
    FalseyValueParser, OsStringValueParser, PathBufValueParser, StringValueParser,
    TypedValueParser, ValueParser,
};
use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, Command, Error};
use ioracle_prefetch::PrefetchSettings;
use ioracle_spool::settings::{self, EnvironmentSetting, SETTINGS};
use ioracle_trace::JobSettings;

use super::launch::EnvironmentVariables;
use crate::knowledge::KnowledgeSetting;
use crate::shared::memory;
use crate::shared::numbers::parse_bytes;
use crate::shared::text::wrap;

/// Flags of `ioracle run` that are settings of the capture library.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Settings")]
pub struct Settings {
    #[arg(long, value_name = "DIR", env = settings::DIR, hide_env_values = true)]
    #[arg(help = help(settings::DIR), value_parser = setting(PathBufValueParser::new()))]
    pub dir: Option<PathBuf>,
    #[arg(long, value_name = "SIZE", env = settings::LIMIT, hide_env_values = true)]
    #[arg(help = help(settings::LIMIT), default_value = row(settings::LIMIT).default)]
    #[arg(value_parser = setting(parse_bytes))]
    limit: u64,
    #[arg(long, value_name = "MS", env = settings::WAIT_MS, hide_env_values = true)]
    #[arg(help = help(settings::WAIT_MS), default_value = row(settings::WAIT_MS).default)]
    #[arg(value_parser = setting(clap::value_parser!(u32)))]
    wait_ms: u32,
    #[arg(long, value_name = "PATTERNS", env = settings::INCLUDE, hide_env_values = true)]
    #[arg(help = help(settings::INCLUDE), value_parser = setting(OsStringValueParser::new()))]
    include: Option<OsString>,
    #[arg(long, value_name = "PATTERNS", env = settings::EXCLUDE, hide_env_values = true)]
    #[arg(help = help(settings::EXCLUDE), value_parser = setting(OsStringValueParser::new()))]
    exclude: Option<OsString>,
    #[arg(long, env = settings::ANONYMISE, hide_env_values = true)]
    #[arg(help = help(settings::ANONYMISE), value_parser = setting(FalseyValueParser::new()))]
    pub anonymise: bool,
    #[arg(long, env = settings::QUIET, hide_env_values = true)]
    #[arg(help = help(settings::QUIET), value_parser = setting(FalseyValueParser::new()))]
    pub quiet: bool,
    #[arg(long, value_name = "APP", env = settings::APP, hide_env_values = true)]
    #[arg(help = help(settings::APP), value_parser = setting(StringValueParser::new()))]
    pub name: Option<String>,
    #[arg(long, env = settings::INPROCESS, hide_env_values = true)]
    #[arg(help = help(settings::INPROCESS), value_parser = setting(FalseyValueParser::new()))]
    pub in_process: bool,
    #[arg(long, env = settings::PREFETCH, hide_env_values = true)]
    #[arg(help = help(settings::PREFETCH), value_parser = setting(FalseyValueParser::new()))]
    #[arg(conflicts_with_all = ["anonymise", "in_process"])]
    pub prefetch: bool,
    #[arg(long, value_name = "SIZE", env = settings::PREFETCH_BYTES, hide_env_values = true)]
    #[arg(help = help(settings::PREFETCH_BYTES), value_parser = setting(parse_bytes))]
    prefetch_bytes: Option<u64>,
    #[arg(long, value_name = "SIZE", env = settings::PREFETCH_RATE, hide_env_values = true)]
    #[arg(help = help(settings::PREFETCH_RATE), value_parser = setting(parse_bytes))]
    prefetch_rate: Option<u64>,
    #[arg(long, value_name = "N", env = settings::PREFETCH_REQUESTS, hide_env_values = true)]
    #[arg(help = help(settings::PREFETCH_REQUESTS))]
    #[arg(default_value = row(settings::PREFETCH_REQUESTS).default)]
    #[arg(value_parser = setting(clap::value_parser!(u16).range(1..=8)))]
    prefetch_requests: u16,
    #[arg(long, value_name = "FILE", env = settings::KNOWLEDGE, hide_env_values = true)]
    #[arg(help = help(settings::KNOWLEDGE), value_parser = setting(PathBufValueParser::new()))]
    knowledge: Option<PathBuf>,
}

impl Settings {
    /// What the job is allowed.
    pub fn job(&self) -> JobSettings {
        JobSettings { limit_bytes: self.limit, wait_ms: self.wait_ms }
    }

    /// What may be read ahead, if that is wanted. `n_sharing` commands of the same
    /// job share this machine.
    pub fn prefetch(&self, n_sharing: u64) -> Option<PrefetchSettings> {
        if !self.prefetch {
            return None;
        }
        let defaults = PrefetchSettings::default();
        let n_sharing = n_sharing.max(1);
        let default_bytes = || defaults.lead_bytes.min(memory::available_bytes() / 8) / n_sharing;
        Some(PrefetchSettings {
            lead_bytes: self.prefetch_bytes.unwrap_or_else(default_bytes).max(1 << 20),
            rate_bytes_per_s: self.prefetch_rate.map(|rate| rate / n_sharing),
            max_in_flight: usize::from(self.prefetch_requests),
            ..defaults
        })
    }

    /// Where knowledge is accumulated, if that is wanted: by default, with prefetching.
    pub fn knowledge(&self) -> Result<Option<PathBuf>> {
        match &self.knowledge {
            Some(value) => KnowledgeSetting::of(value).file(),
            None if self.prefetch => KnowledgeSetting::Usual.file(),
            None => Ok(None),
        }
    }

    /// What the library has to know.
    pub fn variables(&self) -> EnvironmentVariables {
        let text = |variable, value: &Option<OsString>| Some((variable, value.clone()?));
        let switch = |variable, on: bool| on.then(|| (variable, OsString::from("1")));
        let variables = [
            text(settings::INCLUDE, &self.include),
            text(settings::EXCLUDE, &self.exclude),
            switch(settings::ANONYMISE, self.anonymise),
            switch(settings::QUIET, self.quiet),
            switch(settings::INPROCESS, self.in_process),
            self.name.as_ref().map(|name| (settings::APP, name.into())),
        ];
        variables.into_iter().flatten().collect()
    }
}

/// A parser for the value of a setting.
fn setting<P>(parser: P) -> ValueParser
where
    P: TypedValueParser,
    P::Value: Clone + Send + Sync,
{
    ValueParser::new(SettingParser(parser))
}

/// Parses as another parser does. An error is about the variable if that is
/// where the value comes from; clap itself blames the flag, which the user may
/// never have seen.
#[derive(Clone)]
struct SettingParser<P>(P);

impl<P: TypedValueParser> TypedValueParser for SettingParser<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, Error> {
        self.0.parse_ref(command, argument, value)
    }

    fn parse_ref_(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
        source: ValueSource,
    ) -> Result<P::Value, Error> {
        let parsed = self.0.parse_ref_(command, argument, value, source);
        parsed.map_err(|mut error| {
            let variable = argument.and_then(Arg::get_env);
            if let (Some(variable), ValueSource::EnvVariable) = (variable, source) {
                let variable = variable.to_string_lossy().into_owned();
                error.insert(ContextKind::InvalidArg, ContextValue::String(variable));
            }
            error
        })
    }
}

/// Whether the user has switched the library off.
pub fn is_disabled() -> bool {
    std::env::var_os(settings::DISABLE).is_some_and(|value| !value.is_empty() && value != "0")
}

fn row(variable: &str) -> &'static EnvironmentSetting {
    let mut rows = SETTINGS.iter();
    rows.find(|row| row.variable == variable).expect("its name is taken from the table")
}

fn help(variable: &str) -> &'static str {
    row(variable).help.trim_end_matches('.')
}

/// The rest of the table, for `--help`.
pub fn variables_without_flag() -> String {
    let rows = SETTINGS.iter().filter(|row| row.flag.is_empty());
    let lines = rows.map(|row| {
        let lines = wrap(help(row.variable), WIDTH - INDENT);
        format!("  {:<22}{}", row.variable, lines.join(&format!("\n{}", " ".repeat(INDENT))))
    });
    format!("Variables without a flag:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// Columns of the help, and where its sentences begin.
const WIDTH: usize = 100;
const INDENT: usize = 24;

/// The page `docs/configuration.md`.
#[cfg(test)]
fn page() -> String {
    let mut page = String::from(
        "# Configuration\n\n\
         Environment variables configure capture. For most of them `ioracle run` has a flag, which \
         takes precedence. `make docs` generates this page from the table in \
         `crates/spool/src/settings.rs`.\n\n\
         A size is a number of bytes, optionally with a unit: `K`, `M`, `G`, `T` and `KiB`, `MiB`, \
         `GiB`, `TiB` are powers of 1,024; `KB`, `MB`, `GB`, `TB` are powers of 1,000, as in GNU \
         `head -c`.\n\n\
         | variable | flag | takes | default | what it does |\n\
         | --- | --- | --- | --- | --- |\n",
    );
    let code = |text: &str| if text.is_empty() { "–".to_owned() } else { format!("`{text}`") };
    for row in SETTINGS {
        let EnvironmentSetting { variable, flag, takes, default, help } = row;
        let default = if default.contains(' ') { (*default).to_owned() } else { code(default) };
        page.push_str(&format!(
            "| `{variable}` | {} | {takes} | {default} | {help} |\n",
            code(flag)
        ));
    }
    page
}

#[cfg(test)]
mod tests {
    use clap::Args;

    use super::*;

    #[test]
    fn every_flag_of_the_table_is_a_flag_of_the_command() {
        let command = Settings::augment_args(Command::new("run"));
        for row in SETTINGS.iter().filter(|row| !row.flag.is_empty()) {
            let flag = row.flag.trim_start_matches("--");
            let argument = command
                .get_arguments()
                .find(|argument| argument.get_long() == Some(flag))
                .unwrap_or_else(|| panic!("there is no flag {}", row.flag));
            assert_eq!(argument.get_env(), Some(row.variable.as_ref()));
            assert_eq!(
                argument.get_help().map(ToString::to_string),
                Some(help(row.variable).into())
            );
        }
    }

    #[test]
    fn every_flag_of_the_command_is_in_the_table() {
        let command = Settings::augment_args(Command::new("run"));
        for argument in command.get_arguments() {
            let flag = format!("--{}", argument.get_long().expect("settings are flags"));
            assert!(SETTINGS.iter().any(|row| row.flag == flag), "{flag} is not in the table");
        }
    }

    /// With IORACLE_WRITE_DOCS set the page is written instead.
    #[test]
    fn the_page_on_configuration_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
        if std::env::var_os("IORACLE_WRITE_DOCS").is_some() {
            std::fs::write(path, page()).expect("docs can be written");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, page(), "docs/configuration.md is stale; run 'make docs'");
    }
}
