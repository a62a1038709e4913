// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the knowledge crate asks about the files of a trace; and where the
//! repository is.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ioracle_knowledge::FileSystem;
use ioracle_spool::settings;

/// What `IORACLE_KNOWLEDGE` or the flag of `ioracle run` asks for.
pub enum KnowledgeSetting {
    /// No knowledge.
    Off,
    /// The repository of this user.
    Usual,
    /// The repository in a file.
    In(PathBuf),
}

impl KnowledgeSetting {
    /// What a value stands for.
    pub fn of(value: &Path) -> KnowledgeSetting {
        match value.to_string_lossy().to_lowercase().as_str() {
            "0" | "false" | "no" | "off" => KnowledgeSetting::Off,
            "1" | "true" | "yes" | "on" => KnowledgeSetting::Usual,
            _ => KnowledgeSetting::In(value.to_owned()),
        }
    }

    /// The repository, if one is wanted.
    pub fn file(self) -> Result<Option<PathBuf>> {
        match self {
            KnowledgeSetting::Off => Ok(None),
            KnowledgeSetting::Usual => default_file().map(Some),
            KnowledgeSetting::In(file) => Ok(Some(file)),
        }
    }
}

/// The repository that the environment names, else that of this user: one that runs do
/// not use can be looked at all the same.
pub fn file_of_environment() -> Result<PathBuf> {
    let value = std::env::var_os(settings::KNOWLEDGE).filter(|value| !value.is_empty());
    match value.map(|value| KnowledgeSetting::of(Path::new(&value))) {
        Some(KnowledgeSetting::In(file)) => Ok(file),
        _ => default_file(),
    }
}

/// The repository of this user. Its directory is made if it is missing.
fn default_file() -> Result<PathBuf> {
    let variable =
        |name| std::env::var_os(name).filter(|value: &std::ffi::OsString| !value.is_empty());
    let data = match (variable("XDG_DATA_HOME"), variable("HOME")) {
        (Some(data), _) => PathBuf::from(data),
        (None, Some(home)) => PathBuf::from(home).join(".local/share"),
        (None, None) => anyhow::bail!(
            "there is no place for the knowledge repository, because HOME is not set; name a file \
             with --knowledge"
        ),
    };
    let directory = data.join("ioracle");
    fs::create_dir_all(&directory).with_context(|| {
        format!(
            "could not create '{}' for the knowledge repository; name a file with --knowledge",
            directory.display()
        )
    })?;
    Ok(directory.join("knowledge.db"))
}

/// The files that a trace names.
pub struct FilesOfTrace(pub BTreeSet<String>);

impl FileSystem for FilesOfTrace {
    fn is_file(&self, path: &str) -> bool {
        self.0.contains(path)
    }

    fn is_directory(&self, path: &str) -> bool {
        self.below(path).next().is_some()
    }

    fn names_in(&self, directory: &str) -> Vec<String> {
        let names = self.below(directory).filter_map(|path| path.get(directory.len() + 1..));
        names.filter(|name| !name.contains('/')).map(str::to_owned).collect()
    }

    fn short_text(&self, _: &str) -> Option<String> {
        None
    }
}

impl FilesOfTrace {
    fn below(&self, directory: &str) -> impl Iterator<Item = &String> {
        let prefix = format!("{directory}/");
        self.0.range(prefix.clone()..).take_while(move |path| path.starts_with(&prefix))
    }
}
