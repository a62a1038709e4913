// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which call stack of earlier runs each one of this run is.
//!
//! As long as nothing was rebuilt, the frames identify a stack, and no file is looked
//! into. For a rebuilt program or library, functions are read when the first call stack
//! through it appears, and at the end for all call stacks that will be saved for the
//! first time.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ioracle_engine::Engine;
use ioracle_events::ContextId;
use ioracle_oracle::{Build, Site, StackId, Stacks};

use crate::shared::symbols::Symbols;

/// Call stacks of a run whose text is kept, and frames whose place is.
const MAX_STACKS: usize = 1 << 14;
const MAX_SITES: usize = 1 << 16;

/// The call stacks of a run.
pub struct SeenStacks {
    known: Stacks,
    /// The name of the executable in frames, and its alias.
    alias: Option<(String, String)>,
    modules: HashMap<String, Module>,
    stacks: HashMap<StackId, NamedStack>,
    /// Of frames that were looked up.
    sites: HashMap<Box<str>, Site>,
}

/// A call stack of this run.
struct NamedStack {
    frames: Box<str>,
    /// Which one it was, if its frames identify it.
    known: Option<StackId>,
}

struct Module {
    path: PathBuf,
    build_id: Vec<u8>,
    symbols: OnceCell<Option<Symbols>>,
}

impl SeenStacks {
    /// None yet; these were seen in earlier runs. Frames of a module that has an
    /// alias go by that.
    pub fn new(known: Stacks, alias: Option<(String, String)>) -> SeenStacks {
        SeenStacks {
            known,
            alias,
            modules: HashMap::new(),
            stacks: HashMap::new(),
            sites: HashMap::new(),
        }
    }

    /// A program or library of the job.
    pub fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
        let name = self.name_of(name).to_owned();
        // Of several modules of one name the first one counts.
        if self.modules.contains_key(&name) {
            return;
        }
        let (path, build_id) = (path.to_owned(), build_id.to_owned());
        self.known.define_module(&name, build_of(&path, &build_id));
        let module = Module { path, build_id, symbols: OnceCell::new() };
        self.modules.insert(name, module);
    }

    /// Gives the engine the call stack that a context is, or may be.
    pub fn context(&mut self, id: ContextId, frames: &str, engine: &mut Engine) {
        let frames = self.by_alias(frames);
        let text = StackId::of(&frames);
        let known = self.known.known(text);
        match known {
            Some(known) => engine.define_stack(id, known),
            None if self.known.has_stale() => {
                let sites = self.sites(&frames);
                engine.define_one_of(id, text, self.known.candidates(&sites));
            }
            None => engine.define_stack(id, text),
        }
        if self.stacks.len() < MAX_STACKS {
            self.stacks.insert(text, NamedStack { frames: frames.into(), known });
        }
    }

    /// All that is known now, for the next run. `recognised` are those that were found
    /// again after a build, new to known; `used` those that something was learned of: the
    /// others are not saved, and would be looked up again in each run.
    pub fn finish(
        mut self,
        recognised: &HashMap<StackId, StackId>,
        used: &BTreeSet<StackId>,
    ) -> Stacks {
        for (text, stack) in std::mem::take(&mut self.stacks) {
            let known = stack.known.or_else(|| recognised.get(&text).copied());
            let id = known.unwrap_or(text);
            if self.known.known(text).is_none() && used.contains(&id) {
                let sites = self.sites(&stack.frames);
                self.known.define(id, text, sites);
            }
        }
        self.known
    }

    fn sites(&mut self, frames: &str) -> Vec<Site> {
        let frames = frames.split(';');
        frames.filter_map(|frame| self.site(frame)).collect()
    }

    /// Where a frame is. Most frames are part of many call stacks, and counting
    /// calls in a large function takes a while.
    fn site(&mut self, frame: &str) -> Option<Site> {
        if let Some(site) = self.sites.get(frame) {
            return Some(*site);
        }
        let (module, offset) = frame.rsplit_once("+0x")?;
        let offset = u64::from_str_radix(offset, 16).ok()?;
        let symbols = self.modules.get(module).and_then(Module::symbols);
        let site = match symbols.and_then(|symbols| symbols.find(offset)) {
            Some(place) => Site::named(module, place.function, place.call),
            None => Site::at(module, offset),
        };
        if self.sites.len() < MAX_SITES {
            self.sites.insert(frame.into(), site);
        }
        Some(site)
    }

    fn name_of<'a>(&'a self, module: &'a str) -> &'a str {
        match &self.alias {
            Some((name, alias)) if name == module => alias,
            _ => module,
        }
    }

    fn by_alias(&self, frames: &str) -> String {
        if self.alias.is_none() {
            return frames.to_owned();
        }
        let renamed = frames.split(';').map(|frame| match frame.rsplit_once("+0x") {
            Some((module, offset)) => format!("{}+0x{offset}", self.name_of(module)),
            None => frame.to_owned(),
        });
        renamed.collect::<Vec<_>>().join(";")
    }
}

impl Module {
    fn symbols(&self) -> Option<&Symbols> {
        self.symbols.get_or_init(|| Symbols::read(&self.path, &self.build_id)).as_ref()
    }
}

/// Another one for another build.
fn build_of(path: &Path, build_id: &[u8]) -> Build {
    if !build_id.is_empty() {
        return Build::of(build_id);
    }
    // Without a build-id, a file is identified by its size and time.
    let Ok(metadata) = fs::metadata(path) else { return Build::default() };
    let looks = [metadata.len(), metadata.mtime() as u64, metadata.mtime_nsec() as u64];
    Build::of(looks.map(u64::to_le_bytes).as_flattened())
}
