// SPDX-License-Identifier: MIT OR Apache-2.0

//! What earlier runs knew about a running job: its streams by their roles, its call
//! stacks by their frames, or the names of functions.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use ioracle_engine::Engine;
use ioracle_events::{ContextId, StreamId};
use ioracle_oracle::{StackId, Stacks};
use ioracle_trace::{JobProcess, ProcessNumber};

use super::roles::{Roles, base_name};
use super::stacks::SeenStacks;

/// Observes all that a job does, and gives the engine what it has in common with
/// earlier ones.
pub struct RunRecognition {
    roles: Roles,
    stacks: SeenStacks,
}

impl RunRecognition {
    /// Nothing was seen yet. If the user has named the application, the
    /// executable of its command goes by that name.
    pub fn new(stacks: Stacks, executable: &Path, name: Option<&str>) -> RunRecognition {
        // The system reports the path of a process with all links resolved.
        let real_path = executable.canonicalize().unwrap_or_else(|_| executable.to_owned());
        let alias = name.map(|name| (base_name(&real_path.to_string_lossy()), name.to_owned()));
        let (roles, stacks) = (Roles::default(), SeenStacks::new(stacks, alias));
        RunRecognition { roles, stacks }
    }

    /// A process; again when its program becomes known.
    pub fn process(&mut self, number: ProcessNumber, process: &JobProcess) {
        self.roles.process(number, process);
    }

    /// A thread, with its number in the system.
    pub fn stream_began(&mut self, id: StreamId, tid: u32) {
        self.roles.stream_began(id, tid);
    }

    /// A program or library.
    pub fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
        self.stacks.module(name, build_id, path);
    }

    /// A call stack.
    pub fn context(&mut self, id: ContextId, frames: &str, engine: &mut Engine) {
        engine.define_frames(id, frames);
        self.stacks.context(id, frames, engine);
    }

    /// A thread does something.
    pub fn event(&mut self, process: ProcessNumber, stream: StreamId, engine: &mut Engine) {
        if let Some(role) = self.roles.at_event(process, stream) {
            engine.define_role(stream, role);
        }
    }

    /// The call stacks that are known now.
    pub fn into_stacks(
        self,
        recognised: &HashMap<StackId, StackId>,
        used: &BTreeSet<StackId>,
    ) -> Stacks {
        self.stacks.finish(recognised, used)
    }
}
