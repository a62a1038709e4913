// SPDX-License-Identifier: MIT OR Apache-2.0

//! `run --model FILE`: what earlier runs learned is available from the first operation
//! on, and what this one learns is saved at the end.
//!
//! A file that is damaged, or that another program's runs have left, is refused
//! with a sentence: the run goes on without it, and the file stays as it is.

mod recognition;
mod roles;
mod stacks;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use ioracle_engine::Engine;
use ioracle_oracle::{Model, Played, Role};

pub use self::recognition::RunRecognition;
use super::summary::{ModelKnown, ModelSaved, ModelUse};
use crate::shared::failure::sentence;
use crate::shared::lock::Lock;
use crate::shared::models::{self, FileStamp};
use crate::shared::output::write_file_soon;

/// How long to wait for other runs that save the same model.
const PATIENCE: Duration = Duration::from_secs(20);

/// The model of a run.
pub struct RunModel {
    file: PathBuf,
    begun: Result<Begun, String>,
}

/// What a run began with.
struct Begun {
    /// The file at that time.
    stamp: Option<FileStamp>,
    known: Option<ModelKnown>,
    /// What each role had done.
    played: BTreeMap<Role, Played>,
}

/// The name of a run.
pub struct RunIdentity<'a> {
    /// By its command.
    pub application: &'a str,
    /// Whether the user said so.
    pub is_named: bool,
}

impl RunModel {
    /// Reads the file if it is there; also gives what the run begins with.
    pub fn open(file: &Path, identity: &RunIdentity) -> (RunModel, Model) {
        let stamp = FileStamp::of(file);
        let (begun, model) = match begin_with(file, identity) {
            Ok(model) => {
                let known = (!model.is_empty()).then(|| known(&model));
                (Ok(Begun { stamp, known, played: model.played() }), model)
            }
            Err(reason) => (Err(reason), Model::default()),
        };
        (RunModel { file: file.to_owned(), begun }, model)
    }

    /// Saves what was learned, and what was read if whoever reads ahead has kept it, and
    /// returns how useful the model was.
    pub fn finish(
        self,
        (engine, reads): (Engine, Option<Vec<u8>>),
        recognition: Option<RunRecognition>,
    ) -> ModelUse {
        let mut used = ModelUse {
            file: self.file,
            known: None,
            refused: None,
            carried_over: engine.recognised().count(),
            first: ioracle_insight::predicted(&engine.first_score()),
            saved: None,
            not_saved: None,
        };
        match self.begun {
            Ok(begun) => {
                match begun.save(&used.file, (engine, reads), recognition) {
                    Ok(saved) => used.saved = Some(saved),
                    Err(reason) => used.not_saved = Some(sentence(&reason)),
                }
                used.known = begun.known;
            }
            Err(reason) => used.refused = Some(reason),
        }
        used
    }
}

impl Begun {
    /// Replaces the file. If another run has done so since this one began, what
    /// both have learned is kept.
    fn save(
        &self,
        file: &Path,
        (engine, reads): (Engine, Option<Vec<u8>>),
        recognition: Option<RunRecognition>,
    ) -> Result<ModelSaved> {
        let recognised = engine.recognised().map(|(known, new)| (new, known)).collect();
        let mut model = engine.into_model();
        // Operations of streams without a known role are not saved.
        if model.played() == self.played {
            bail!("nothing was learned");
        }
        if let Some(reads) = reads {
            model.set_last_reads(reads);
        }
        let used = model.stacks_in_use();
        let stacks = recognition.map(|recognition| recognition.into_stacks(&recognised, &used));
        model.set_stacks(stacks.unwrap_or_default());
        let _lock = Lock::take(file, PATIENCE)?;
        let stamp = FileStamp::of(file);
        if stamp.is_some() && stamp != self.stamp {
            let mut theirs = models::read(file)?;
            if !theirs.is_of(model.application()) {
                bail!(
                    "'{}' has become the model of '{}' in the meantime; name another file",
                    file.display(),
                    theirs.application()
                );
            }
            theirs.take_in(&model, &self.played);
            model = theirs;
        }
        // So that the file shows how the next run will begin.
        model.begin_run();
        let (runs, roles) = (model.runs(), model.roles().count());
        let bytes = model.save();
        write_file_soon(file, &bytes)?;
        Ok(ModelSaved { bytes: bytes.len() as u64, runs, roles })
    }
}

/// The model of the file, or why it cannot be used.
fn begin_with(file: &Path, identity: &RunIdentity) -> Result<Model, String> {
    if !file.exists() {
        return Ok(Model::new(identity.application));
    }
    let model = models::read(file).map_err(|error| sentence(&error))?;
    let fits = match identity.is_named {
        true => model.application().is_empty() || model.application() == identity.application,
        false => model.is_of(identity.application),
    };
    if fits {
        return Ok(model);
    }
    Err(format!(
        "the model '{}' was learned from '{}', not from '{}'; name another file with --model, or \
         the application with --name",
        file.display(),
        model.application(),
        identity.application
    ))
}

fn known(model: &Model) -> ModelKnown {
    ModelKnown {
        application: model.application().to_owned(),
        runs: model.runs(),
        roles: model.roles().count(),
        operations: model.operations(),
    }
}

#[cfg(test)]
mod tests {
    use ioracle_engine::Config;
    use ioracle_events::{ContextId, Event, FileId, Function, Layer, StreamId};

    use super::*;

    /// A stream without a role is not in the model, and an empty one is of no use.
    #[test]
    fn operations_of_unknown_streams_are_not_saved() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("app.model");
        let identity = RunIdentity { application: "app", is_named: false };
        let (run, model) = RunModel::open(&file, &identity);
        let mut engine = Engine::with_model(Config::default(), model);
        engine.observe(&Event {
            stream: StreamId { rank: 0, thread: 0 },
            sequence: 0,
            function: Function::from_name(Layer::Posix, "write").unwrap(),
            context: ContextId(1),
            file: FileId(1),
            handle: 3,
            offset: Some(0),
            requested: 100,
            result: 100,
            start_ns: 0,
            end_ns: 10,
            depth: 0,
            detail: "".into(),
        });
        engine.finish();
        assert_eq!(engine.score().operations, 1);
        let used = run.finish((engine, None), None);
        assert_eq!(used.not_saved.as_deref(), Some("nothing was learned"));
        assert!(used.saved.is_none() && !file.exists());
    }
}
