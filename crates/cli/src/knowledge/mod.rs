// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle knowledge`: what was learned about applications over many runs.

mod document;
mod files;
mod inquiry;
mod learn;
mod text;

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use ioracle_knowledge::{IfMissing, KnowledgeGraph, Repository, RepositoryPlace, draw};
use serde::Serialize;

use crate::shared::numbers::counted;
use crate::shared::output;
use crate::shared::png::Fonts;
use crate::shared::text::without_control_characters;

pub use files::KnowledgeSetting;
use files::file_of_environment;
pub use inquiry::{AnswerArguments, FileInquiry, answer};
pub use learn::{application_of, collector_for, path_in_trace};

const EXAMPLES: &str = "\
Examples:
  ioracle run --knowledge runs.db -- ncra in*.nc out.nc    accumulate what a run did
  ioracle knowledge list --knowledge runs.db               applications that are known
  ioracle knowledge show ncra --knowledge runs.db          what one does, in words
  ioracle knowledge graph ncra -o ncra.svg                 the graph as a picture
  ioracle knowledge learn trace --name sim                 learn from a recorded trace
  ioracle knowledge merge other.db                         add what another repository knows

Without --knowledge, the repository is the file that IORACLE_KNOWLEDGE names, else
$XDG_DATA_HOME/ioracle/knowledge.db.";

/// How long a command waits for other processes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Look at and manage what was learned over many runs
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct KnowledgeArguments {
    /// The knowledge repository (default: the file in IORACLE_KNOWLEDGE, else
    /// $XDG_DATA_HOME/ioracle/knowledge.db)
    #[arg(long, value_name = "FILE", global = true)]
    knowledge: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the applications that are known
    #[command(after_help = "Example:\n  ioracle knowledge list")]
    List,
    /// Say in words what an application does, and what could be done about it
    #[command(after_help = "Example:\n  ioracle knowledge show ncra")]
    Show {
        /// The application
        #[arg(value_name = "APP")]
        application: String,
    },
    /// Draw the graph of an application
    #[command(after_help = "Example:\n  ioracle knowledge graph ncra -o ncra.svg")]
    Graph {
        /// The application
        #[arg(value_name = "APP")]
        application: String,
        /// The file to write, an SVG picture or, if its name ends in '.png', a PNG picture
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Add what another repository knows
    #[command(after_help = "Example:\n  ioracle knowledge merge laptop.db --knowledge cluster.db")]
    Merge {
        /// The other repository
        #[arg(value_name = "OTHER")]
        other: PathBuf,
    },
    /// Forget an application
    #[command(after_help = "Example:\n  ioracle knowledge forget ncra")]
    Forget {
        /// The application
        #[arg(value_name = "APP")]
        application: String,
    },
    /// Write the graph of an application as a JSON document
    #[command(after_help = "Example:\n  ioracle knowledge export ncra -o ncra.json")]
    Export {
        /// The application
        #[arg(value_name = "APP")]
        application: String,
        /// The file to write (default: standard output)
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Learn from a recorded trace
    #[command(after_help = "Example:\n  ioracle knowledge learn trace --name sim")]
    Learn(learn::KnowledgeLearnArguments),
}

/// What a picture is written as.
enum PictureFormat {
    Svg,
    Png,
}

impl PictureFormat {
    /// As the name of the file says; without an extension it is an SVG picture.
    fn of(file: &Path) -> Result<PictureFormat> {
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        match extension.to_str() {
            Some("" | "svg") => Ok(PictureFormat::Svg),
            Some("png") => Ok(PictureFormat::Png),
            _ => bail!(
                "'{}': a graph is drawn as SVG or PNG; name the file accordingly",
                file.display()
            ),
        }
    }
}

/// Runs the subcommand.
pub fn run(arguments: &KnowledgeArguments) -> Result<()> {
    let file = match &arguments.knowledge {
        Some(file) => file.clone(),
        None => file_of_environment()?,
    };
    let place = Place { file, json: arguments.json };
    match &arguments.command {
        Command::List => place.list(),
        Command::Show { application } => place.show(application),
        Command::Graph { application, output } => place.graph(application, output),
        Command::Merge { other } => place.merge(other),
        Command::Forget { application } => place.forget(application),
        Command::Export { application, output } => place.export(application, output.as_deref()),
        Command::Learn(arguments) => learn::run(arguments, &place),
    }
}

/// The repository that a command is about, and how it answers.
struct Place {
    file: PathBuf,
    json: bool,
}

#[derive(Serialize)]
struct Done<'a> {
    #[serde(serialize_with = "crate::shared::text::as_path")]
    knowledge: &'a Path,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<&'a str>,
    #[serde(
        skip_serializing_if = "Option::is_none",
        serialize_with = "crate::shared::text::as_optional_path"
    )]
    output: Option<&'a Path>,
    applications: usize,
}

impl Place {
    fn open(&self, if_missing: IfMissing) -> Result<Repository> {
        open(&self.file, if_missing)
    }

    fn list(&self) -> Result<()> {
        let rows = self.open(IfMissing::Fail)?.list()?;
        if self.json {
            return output::print_json(&document::list(&self.file, &rows));
        }
        output::print_text(&text::list(&rows))
    }

    fn show(&self, application: &str) -> Result<()> {
        let graph = self.open(IfMissing::Fail)?.get(application)?;
        if self.json {
            return output::print_json(&document::shown(application, &graph));
        }
        output::print_text(&text::show(application, &graph))
    }

    fn graph(&self, application: &str, file: &Path) -> Result<()> {
        let format = PictureFormat::of(file)?;
        let graph = self.open(IfMissing::Fail)?.get(application)?;
        let svg = draw(application, &graph);
        let picture = match format {
            PictureFormat::Svg => svg.into_bytes(),
            PictureFormat::Png => Fonts::of_this_machine().png(&svg)?,
        };
        output::write_file(file, &picture)?;
        let n = counted(graph.vertices().len() as u64, "data object");
        self.done(
            &format!("wrote '{}': {n} of {application}", file.display()),
            Some(application),
            Some(file),
            1,
        )
    }

    fn merge(&self, other: &Path) -> Result<()> {
        if is_same_file(other, &self.file) {
            bail!(
                "'{}' and '{}' are the same knowledge repository, whose runs would count twice; \
                 name another one to merge",
                other.display(),
                self.file.display()
            );
        }
        let from = open(other, IfMissing::Fail)?;
        let rows = from.list()?;
        let mut into = self.open(IfMissing::Create)?;
        for row in &rows {
            into.add(&row.name, None, &from.get(&row.name)?)?;
        }
        let n = counted(rows.len() as u64, "application");
        self.done(
            &format!("merged {n} of '{}' into '{}'", other.display(), self.file.display()),
            None,
            None,
            rows.len(),
        )
    }

    fn forget(&self, application: &str) -> Result<()> {
        let mut repository = self.open(IfMissing::Fail)?;
        repository.get(application)?;
        repository.forget(application)?;
        self.done(&format!("forgot {application}"), Some(application), None, 1)
    }

    fn export(&self, application: &str, file: Option<&Path>) -> Result<()> {
        let graph = self.open(IfMissing::Fail)?.get(application)?;
        let document = document::exported(application, &graph);
        let Some(file) = file else { return output::print_json(&document) };
        let mut bytes = serde_json::to_vec_pretty(&document)?;
        bytes.push(b'\n');
        output::write_file(file, &bytes)?;
        self.done(&format!("wrote '{}'", file.display()), Some(application), Some(file), 1)
    }

    fn done(
        &self,
        sentence: &str,
        application: Option<&str>,
        file: Option<&Path>,
        applications: usize,
    ) -> Result<()> {
        if self.json {
            let knowledge = &self.file;
            return output::print_json(&Done {
                knowledge,
                application,
                output: file,
                applications,
            });
        }
        output::print_text(&format!("{}\n", without_control_characters(sentence)))
    }
}

/// Whether two paths lead to one file, by links of either kind too.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity =
        |path: &Path| std::fs::metadata(path).ok().map(|found| (found.dev(), found.ino()));
    identity(one).is_some_and(|found| identity(other) == Some(found))
}

/// The graph of an application that must be known.
pub fn graph_of(file: &Path, application: &str) -> Result<KnowledgeGraph> {
    Ok(open(file, IfMissing::Fail)?.get(application)?)
}

/// Opens a repository; its directory is made where the default one is missing.
fn open(file: &Path, if_missing: IfMissing) -> Result<Repository> {
    Ok(Repository::open(file, RepositoryPlace::of(file), if_missing, PATIENCE)?)
}
