// SPDX-License-Identifier: MIT OR Apache-2.0

//! The files of a caller: paths, ids, or the handle of an open before; and their names
//! in predictions.
//!
//! The oracle knows files by name. A file that has only an id gets a name made from it
//! that cannot be a path, so that it is recognised in another run too, and ids that
//! count up are predicted like names that do.

use ::ioracle_oracle::Oracle;
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::HashMap;
use ioracle_events::{Access, FileId, PredictedFile};

use crate::prediction::PredictedName;

/// The file of a call, as an observation says it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GivenFile<'a> {
    /// Its path, if the caller says it.
    pub path: Option<&'a str>,
    /// The caller's id; 0 for none.
    pub id: u64,
    /// Descriptor or the like; below 0 for none.
    pub handle: i64,
}

/// What the caller calls its files, and their numbers in the oracle.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileNumbers {
    by_name: HashMap<Arc<str>, FileId, RandomState>,
    by_id: HashMap<u64, FileId, RandomState>,
    by_handle: HashMap<i64, FileId, RandomState>,
    /// Names and ids by number.
    named: HashMap<FileId, Named, RandomState>,
    n_given: u32,
}

#[derive(Clone, Debug)]
struct Named {
    id: u64,
    /// Shared, so that a copy of a model for its iterators copies no names.
    name: Arc<str>,
}

/// Names kept here; at the limit all are forgotten, and passed on again when they come
/// again; the oracle recognises them as the same files.
const MAX_NAMES: usize = 1 << 16;
/// Begins the name of a file that has only an id; paths that do are refused.
const ID_MARK: char = '\u{1}';

impl FileNumbers {
    /// The numbers that a loaded oracle continues with.
    pub fn of(oracle: &Oracle) -> FileNumbers {
        let mut files = FileNumbers::default();
        for (number, name) in oracle.files_in_use() {
            files.n_given = files.n_given.max(number.0);
            if let Some(name) = name {
                files.bind(number, name, id_of(name));
            }
        }
        files
    }

    /// The caller's id of a file that also has a path.
    pub fn define(&mut self, id: u64, path: &str, oracle: &mut Oracle) {
        let number = self.by_path(path, oracle);
        self.by_id.insert(id, number);
        if let Some(named) = self.named.get_mut(&number) {
            named.id = id;
        }
    }

    /// The number of the file that a call worked on.
    pub fn number(&mut self, given: GivenFile<'_>, access: Access, oracle: &mut Oracle) -> FileId {
        let number = match given {
            GivenFile { path: Some(path), id: 0, .. } => self.by_path(path, oracle),
            GivenFile { path: Some(path), id, .. } => {
                match self.by_id.get(&id) {
                    Some(&number) if self.is_called(number, path) => {}
                    _ => self.define(id, path, oracle),
                }
                self.by_id.get(&id).copied().unwrap_or(FileId::UNKNOWN)
            }
            GivenFile { path: None, id: 0, handle } => {
                self.by_handle.get(&handle).copied().unwrap_or(FileId::UNKNOWN)
            }
            GivenFile { path: None, id, .. } => match self.by_id.get(&id) {
                Some(&number) => number,
                None => self.by_path(&name_of(id), oracle),
            },
        };
        self.follow_handle(given, number, access);
        number
    }

    /// The number of a file, if it has one, and what it is called. Unlike
    /// [`number`](Self::number), this makes nothing known.
    pub fn find<'a>(&'a self, given: GivenFile<'a>) -> (Option<FileId>, Option<&'a str>) {
        let number = match given {
            GivenFile { path: Some(path), .. } => self.by_name.get(path),
            GivenFile { path: None, id: 0, handle } => self.by_handle.get(&handle),
            GivenFile { path: None, id, .. } => self.by_id.get(&id),
        };
        let number = number.copied();
        (number, given.path.or_else(|| number.and_then(|number| self.name(number))))
    }

    /// The name of a file that was passed to the oracle.
    pub fn name(&self, number: FileId) -> Option<&str> {
        self.named.get(&number).map(|named| &*named.name)
    }

    /// The caller's name for a predicted file.
    pub fn called<'a>(&'a self, file: &'a PredictedFile, oracle: &'a Oracle) -> PredictedName<'a> {
        let (name, is_new) = match file {
            PredictedFile::New(name) => (name.as_str(), true),
            PredictedFile::Known(number) => {
                if let Some(named) = self.named.get(number) {
                    let path = if is_made_up(&named.name) { "" } else { &named.name };
                    return PredictedName { id: named.id, path, is_new: false };
                }
                (oracle.file_path(*number).unwrap_or(""), false)
            }
        };
        match id_of(name) {
            0 => PredictedName { id: 0, path: name, is_new },
            id => PredictedName { id, path: "", is_new },
        }
    }

    /// Forgets everything: names will be passed to the oracle again.
    pub fn clear(&mut self) {
        *self = FileNumbers::default();
    }

    fn by_path(&mut self, name: &str, oracle: &mut Oracle) -> FileId {
        if let Some(&number) = self.by_name.get(name) {
            // The oracle forgets files too.
            if !oracle.knows_file(number) {
                oracle.define_file(number, name);
            }
            return number;
        }
        if self.named.len() >= MAX_NAMES {
            self.by_name.clear();
            self.by_id.clear();
            self.named.clear();
        }
        self.n_given = self.n_given.checked_add(1).unwrap_or(1);
        let number = FileId(self.n_given);
        oracle.define_file(number, name);
        self.bind(number, name, id_of(name));
        number
    }

    fn bind(&mut self, number: FileId, name: &str, id: u64) {
        let name: Arc<str> = name.into();
        self.by_name.insert(name.clone(), number);
        if id != 0 {
            self.by_id.insert(id, number);
        }
        self.named.insert(number, Named { id, name });
    }

    fn is_called(&self, number: FileId, path: &str) -> bool {
        self.named.get(&number).is_some_and(|named| *named.name == *path)
    }

    /// A call that names its file defines what its handle refers to, until a close.
    fn follow_handle(&mut self, given: GivenFile<'_>, number: FileId, access: Access) {
        if given.handle < 0 {
            return;
        }
        if access == Access::Close {
            self.by_handle.remove(&given.handle);
        } else if given.path.is_some() || given.id != 0 {
            if self.by_handle.len() >= MAX_NAMES {
                self.by_handle.clear();
            }
            self.by_handle.insert(given.handle, number);
        }
    }
}

fn name_of(id: u64) -> String {
    format!("{ID_MARK}{id}")
}

fn is_made_up(name: &str) -> bool {
    name.starts_with(ID_MARK)
}

/// The id that a name was made of; 0 for a path.
fn id_of(name: &str) -> u64 {
    name.strip_prefix(ID_MARK).and_then(|id| id.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use ::ioracle_oracle::Config;

    use super::*;

    struct FilesAndOracle {
        files: FileNumbers,
        oracle: Oracle,
    }

    impl FilesAndOracle {
        fn new() -> FilesAndOracle {
            FilesAndOracle { files: FileNumbers::default(), oracle: Oracle::new(Config::default()) }
        }

        fn number(&mut self, path: Option<&str>, id: u64, handle: i64, access: Access) -> FileId {
            self.files.number(GivenFile { path, id, handle }, access, &mut self.oracle)
        }
    }

    #[test]
    fn a_handle_leads_to_its_file_until_it_is_closed() {
        let mut session = FilesAndOracle::new();
        let file = session.number(Some("a"), 0, 3, Access::Open);
        assert_eq!(session.number(None, 0, 3, Access::Read), file);
        assert_eq!(session.number(None, 0, 4, Access::Read), FileId::UNKNOWN);
        assert_eq!(session.number(None, 0, 3, Access::Close), file);
        assert_eq!(session.number(None, 0, 3, Access::Read), FileId::UNKNOWN);
        // Handles that never existed need no room.
        assert_eq!(session.number(Some("a"), 0, -1, Access::Open), file);
        assert_eq!(session.number(None, 0, -1, Access::Read), FileId::UNKNOWN);
    }

    #[test]
    fn a_number_means_the_path_it_was_last_given() {
        let mut session = FilesAndOracle::new();
        let first = session.number(Some("a"), 7, -1, Access::Open);
        assert_eq!(session.number(None, 7, -1, Access::Read), first);
        let second = session.number(Some("b"), 7, -1, Access::Open);
        assert_ne!(first, second);
        assert_eq!(session.number(None, 7, -1, Access::Read), second);
        assert_eq!(session.number(Some("a"), 0, -1, Access::Read), first);
    }

    #[test]
    fn names_beyond_the_ceiling_are_forgotten_and_learned_anew() {
        let mut session = FilesAndOracle::new();
        for i in 0..=MAX_NAMES {
            session.number(Some(&format!("f{i}")), 0, 3, Access::Open);
        }
        assert!(session.files.named.len() <= MAX_NAMES && session.files.by_name.len() <= MAX_NAMES);
        let again = session.number(Some("f0"), 0, -1, Access::Read);
        assert_eq!(session.number(Some("f0"), 0, -1, Access::Read), again);
    }

    #[test]
    fn a_file_without_a_path_is_known_by_its_number() {
        let mut session = FilesAndOracle::new();
        let file = session.number(None, 42, -1, Access::Open);
        let predicted = PredictedFile::Known(file);
        let called = session.files.called(&predicted, &session.oracle);
        assert_eq!((called.id, called.path, called.is_new), (42, "", false));
        let predicted = PredictedFile::New(name_of(43));
        let called = session.files.called(&predicted, &session.oracle);
        assert_eq!((called.id, called.path, called.is_new), (43, "", true));
    }
}
