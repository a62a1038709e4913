// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the identities in records stand for.
//!
//! The application names call stacks, files and modules by 64-bit hashes and defines
//! each of them in every thread that uses it. Here the first definition is passed to
//! the observer under a small number, and only the number is kept: memory grows with
//! the number of different things, not with their text. Of modules the name is kept,
//! because frames are made of it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use foldhash::fast::RandomState;
use ioracle_events::{ContextId, FileId, unescaped};
use ioracle_spool::layout::{Call, DefinitionKind};

use crate::spooled::frames::{self, frames, module_name, module_parts};
use crate::spooled::objects::Objects;
use crate::spooled::observer::{ModuleLoaded, Observer, OpenedFile, ProcessNumber};
use crate::spooled::text;

/// The most call stacks, and the most files, that are distinguished.
pub const MAX_DEFINITIONS: usize = 1 << 20;

/// The most modules whose names are kept.
pub const MAX_MODULES: usize = 1 << 16;

/// Numbers of all that was defined.
#[derive(Debug, Default)]
pub(crate) struct DefinitionNumbers {
    modules: HashMap<u64, Box<str>, RandomState>,
    contexts: Numbers,
    files: Numbers,
    objects: Objects,
    /// Modules that processes are known to have loaded.
    loaded: HashSet<(ProcessNumber, u64), RandomState>,
    /// Files for which the observer already has what the system reported at the open.
    opened: HashSet<u32, RandomState>,
    /// The working directory with a slash behind it; empty if there is none.
    inside: Vec<u8>,
}

impl DefinitionNumbers {
    /// Paths inside `directory` will be given relative to it.
    pub(crate) fn relative_to(&mut self, directory: &Path) {
        self.inside = directory.as_os_str().as_encoded_bytes().to_vec();
        if !self.inside.ends_with(b"/") {
            self.inside.push(b'/');
        }
    }

    /// Takes a definition and passes it to the observer, if it is the first of its
    /// identity.
    pub(crate) fn define(
        &mut self,
        kind: DefinitionKind,
        id: u64,
        payload: &[u8],
        observer: &mut impl Observer,
    ) {
        // 0 means unknown in records, so nothing can have this identity.
        if id == 0 {
            return;
        }
        match kind {
            DefinitionKind::Module => self.define_module(id, payload, observer),
            DefinitionKind::Context => {
                if let Some(number) = self.contexts.add(id) {
                    let name = |id| self.modules.get(&id).map(|name| &**name);
                    observer.context(ContextId(number), &frames(payload, name));
                }
            }
            DefinitionKind::File => {
                let (path, opened) = split_at_zero(payload);
                if let Some(number) = self.files.add(id) {
                    observer.file(FileId(number), &self.path(path));
                }
                self.tell_opened(id, path, opened, observer);
            }
            DefinitionKind::Object => self.objects.define(id, payload),
            // The table of processes takes care of these.
            DefinitionKind::Process
            | DefinitionKind::Rank
            | DefinitionKind::Arguments
            | DefinitionKind::Application => {}
        }
    }

    /// Reports where a process has loaded a module, once.
    pub(crate) fn load_module(
        &mut self,
        process: ProcessNumber,
        id: u64,
        payload: &[u8],
        observer: &mut impl Observer,
    ) {
        if let Some(name) = self.modules.get(&id)
            && let Some((build_id, path)) = module_parts(payload)
            && let (path, Some(address)) = split_at_zero(path)
            && let Some(address) = number_at(address, 0)
            && self.loaded.len() < MAX_DEFINITIONS
            && self.loaded.insert((process, id))
        {
            let path = Path::new(OsStr::from_bytes(path));
            observer.module_loaded(process, &ModuleLoaded { name, build_id, path, address });
        }
    }

    /// Reports what the system said about a file when it was opened, once.
    fn tell_opened(
        &mut self,
        id: u64,
        path: &[u8],
        opened: Option<&[u8]>,
        observer: &mut impl Observer,
    ) {
        let Some(number) = self.files.find(id) else { return };
        if let Some(opened) = opened
            && let (Some(size), Some(device)) = (number_at(opened, 0), number_at(opened, 8))
            && self.opened.insert(number)
        {
            observer.file_opened(FileId(number), &OpenedFile { path, device, size });
        }
    }

    /// Whether all that a call names has a number.
    pub(crate) fn know(&self, call: &Call) -> bool {
        self.contexts.find(call.context).is_some()
            && (call.file == 0 || self.files.find(call.file).is_some())
            && (call.object == 0 || self.objects.get(call.object).is_some())
    }

    /// The number of a call stack. One that was never defined is still distinguished
    /// from others; only its frames are unknown.
    pub(crate) fn context(&mut self, id: u64, observer: &mut impl Observer) -> ContextId {
        if let Some(number) = self.contexts.find(id) {
            return ContextId(number);
        }
        if let Some(number) = self.contexts.add(id) {
            observer.context(ContextId(number), frames::UNKNOWN);
            return ContextId(number);
        }
        // There are too many, but there is always room for the unknown one.
        self.context(0, observer)
    }

    /// The number of a path.
    pub(crate) fn file(&self, id: u64) -> FileId {
        self.files.find(id).map_or(FileId::UNKNOWN, FileId)
    }

    /// The text of an object, if it was defined.
    pub(crate) fn object(&self, id: u64) -> Option<&str> {
        self.objects.get(id)
    }

    /// The identity of a call stack in records; 0 for none.
    pub(crate) fn context_identity(&self, context: ContextId) -> u64 {
        self.contexts.identity(context.0)
    }

    /// The identity of a file in records; 0 for none.
    pub(crate) fn file_identity(&self, file: FileId) -> u64 {
        self.files.identity(file.0)
    }

    /// The bytes of a path as the program has it, whether it was passed on or not.
    pub(crate) fn untold(&self, path: &str) -> Vec<u8> {
        let bytes = unescaped(path);
        // What is not a path of the file system stays as it is.
        if bytes.starts_with(b"/") || bytes.starts_with(b"<") || self.inside.is_empty() {
            return bytes;
        }
        [self.inside.as_slice(), &bytes].concat()
    }

    fn define_module(&mut self, id: u64, payload: &[u8], observer: &mut impl Observer) {
        if self.modules.len() < MAX_MODULES
            && !self.modules.contains_key(&id)
            && let Some(name) = module_name(payload)
            && let Some((build_id, path)) = module_parts(payload)
        {
            let (path, _) = split_at_zero(path);
            observer.module(&name, build_id, Path::new(OsStr::from_bytes(path)));
            self.modules.insert(id, name.into());
        }
    }

    fn path(&self, payload: &[u8]) -> String {
        let relative = match payload.strip_prefix(self.inside.as_slice()) {
            Some(rest) if !rest.is_empty() => rest,
            _ => payload,
        };
        text::escaped(relative)
    }
}

/// A path, and what follows the zero byte that ends it.
fn split_at_zero(payload: &[u8]) -> (&[u8], Option<&[u8]>) {
    match payload.iter().position(|&byte| byte == 0) {
        Some(end) => (&payload[..end], payload.get(end + 1..)),
        None => (payload, None),
    }
}

fn number_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|bytes| u64::from_ne_bytes(*bytes))
}

/// Small numbers for identities, from 1 on, in the order of appearance.
#[derive(Debug, Default)]
struct Numbers {
    numbers: HashMap<u64, u32, RandomState>,
    /// The identities in the order of their numbers.
    identities: Vec<u64>,
}

impl Numbers {
    fn find(&self, id: u64) -> Option<u32> {
        self.numbers.get(&id).copied()
    }

    /// The number of an identity that has none yet; `None` if it has one, or
    /// there are too many.
    fn add(&mut self, id: u64) -> Option<u32> {
        let full = self.numbers.len() >= MAX_DEFINITIONS && id != 0;
        if full || self.numbers.contains_key(&id) {
            return None;
        }
        let number = self.numbers.len() as u32 + 1;
        self.numbers.insert(id, number);
        self.identities.push(id);
        Some(number)
    }

    /// The identity that has a number; 0 if none has.
    fn identity(&self, number: u32) -> u64 {
        let place = (number as usize).checked_sub(1);
        place.and_then(|place| self.identities.get(place)).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use ioracle_events::Event;

    use super::*;
    use crate::spooled::observer::ProcessNumber;

    #[derive(Default)]
    struct Notes(Vec<String>);

    impl Observer for Notes {
        fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
            self.0.push(format!("module {name} {build_id:?} {}", path.display()));
        }

        fn context(&mut self, id: ContextId, frames: &str) {
            self.0.push(format!("context {} {frames}", id.0));
        }

        fn file(&mut self, id: FileId, path: &str) {
            self.0.push(format!("file {} {path}", id.0));
        }

        fn event(&mut self, _: ProcessNumber, _: &Event) {}
    }

    fn stack(frames: &[(u64, u64)]) -> Vec<u8> {
        frames
            .iter()
            .flat_map(|&(module, offset)| [module, offset])
            .flat_map(u64::to_ne_bytes)
            .collect()
    }

    #[test]
    fn the_first_definition_is_reported_and_repetitions_are_not() {
        let mut notes = Notes::default();
        let mut definitions = DefinitionNumbers::default();
        definitions.relative_to("/data/run".as_ref());
        definitions.define(DefinitionKind::Module, 5, b"\x01x/bin/app", &mut notes);
        for _ in 0..2 {
            definitions.define(DefinitionKind::Context, 11, &stack(&[(5, 16)]), &mut notes);
            definitions.define(DefinitionKind::File, 21, b"/data/run/out/a.dat", &mut notes);
            definitions.define(DefinitionKind::File, 22, b"/data/runner", &mut notes);
            definitions.define(DefinitionKind::File, 23, b"/data/run/", &mut notes);
        }
        let expected = [
            "module app [120] /bin/app",
            "context 1 app+0x10",
            "file 1 out/a.dat",
            "file 2 /data/runner",
            "file 3 /data/run/",
        ];
        assert_eq!(notes.0, expected);
        assert_eq!(definitions.context(11, &mut notes), ContextId(1));
        assert_eq!(definitions.context_identity(ContextId(1)), 11);
        assert_eq!([0, 1, 2, 9].map(|n| definitions.file_identity(FileId(n))), [0, 21, 22, 0]);
        assert_eq!(definitions.untold("out/a%2Cb.dat"), b"/data/run/out/a,b.dat");
        assert_eq!(definitions.untold("/data/runner"), b"/data/runner");
        assert_eq!(definitions.file(22), FileId(2));
        assert_eq!(notes.0.len(), expected.len());
    }

    #[test]
    fn what_was_never_defined_is_unknown_but_stacks_stay_apart() {
        let mut notes = Notes::default();
        let mut definitions = DefinitionNumbers::default();
        let ids = [0, 7, 8, 7, 0].map(|id| definitions.context(id, &mut notes).0);
        assert_eq!(ids, [1, 2, 3, 2, 1]);
        assert_eq!(notes.0, ["context 1 ?", "context 2 ?", "context 3 ?"]);
        assert_eq!(definitions.file(9), FileId::UNKNOWN);
        assert_eq!(definitions.file(0), FileId::UNKNOWN);
    }

    #[test]
    fn identity_0_cannot_be_defined() {
        let mut notes = Notes::default();
        let mut definitions = DefinitionNumbers::default();
        definitions.define(DefinitionKind::File, 0, b"a", &mut notes);
        definitions.define(DefinitionKind::Context, 0, &stack(&[(0, 0)]), &mut notes);
        assert!(notes.0.is_empty());
    }

    #[test]
    fn beyond_the_bound_all_is_unknown() {
        let mut notes = Notes::default();
        let mut definitions = DefinitionNumbers::default();
        definitions.contexts.numbers = (1..=MAX_DEFINITIONS as u64).map(|id| (id, 1)).collect();
        let unknown = ContextId(MAX_DEFINITIONS as u32 + 1);
        assert_eq!(definitions.context(u64::MAX, &mut notes), unknown);
        assert_eq!(definitions.context(u64::MAX - 1, &mut notes), unknown);
        definitions.define(DefinitionKind::Context, u64::MAX, b"", &mut notes);
        assert_eq!(notes.0, [format!("context {} ?", unknown.0)]);
    }
}
