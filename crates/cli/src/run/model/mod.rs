// SPDX-License-Identifier: MIT OR Apache-2.0

//! `run --model FILE`: what earlier runs have learned is there from the first
//! operation on, and what this one learned is saved in the end.
//!
//! A file that is damaged, or that another program's runs have left, is refused
//! with a sentence: the run goes on without it, and the file stays as it is.

mod roles;

use std::path::{Path, PathBuf};

use ioracle_engine::Engine;
use ioracle_oracle::Model;

pub use self::roles::Roles;
use super::summary::{ModelKnown, ModelSaved, ModelUse};
use crate::shared::failure::sentence;
use crate::shared::models;

/// The model of a run.
pub struct RunModel {
    file: PathBuf,
    begins_with: Result<Model, String>,
}

/// What a run is called.
pub struct Identity<'a> {
    /// By its command.
    pub application: &'a str,
    /// Whether the user said so.
    pub is_named: bool,
}

impl RunModel {
    /// Reads the file if it is there.
    pub fn open(file: &Path, identity: &Identity) -> RunModel {
        RunModel { file: file.to_owned(), begins_with: begin_with(file, identity) }
    }

    /// What the run begins with; empty for a first run.
    pub fn known(&self) -> Model {
        self.begins_with.as_ref().cloned().unwrap_or_default()
    }

    /// Saves what was learned, and tells what the model was good for.
    pub fn finish(self, engine: Engine) -> ModelUse {
        let first = engine.first_score();
        let mut used = ModelUse {
            file: self.file,
            known: None,
            refused: None,
            first: super::report::predicted(&first),
            saved: None,
            not_saved: None,
        };
        match self.begins_with {
            Ok(model) => {
                used.known = (!model.is_empty()).then(|| known(&model));
                match save(&used.file, engine) {
                    Ok(saved) => used.saved = Some(saved),
                    Err(reason) => used.not_saved = Some(reason),
                }
            }
            Err(reason) => used.refused = Some(reason),
        }
        used
    }
}

/// The model of the file, or why it cannot be used.
fn begin_with(file: &Path, identity: &Identity) -> Result<Model, String> {
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

fn save(file: &Path, engine: Engine) -> Result<ModelSaved, String> {
    if engine.score().operations == 0 {
        return Err("nothing was learned".to_owned());
    }
    let model = engine.into_model();
    let (runs, roles) = (model.runs(), model.roles().count());
    let written = models::write(file, &model.save()).map_err(|error| sentence(&error))?;
    Ok(ModelSaved { bytes: written, runs, roles })
}

fn known(model: &Model) -> ModelKnown {
    ModelKnown {
        application: model.application().to_owned(),
        runs: model.runs(),
        roles: model.roles().count(),
        operations: model.operations(),
    }
}
