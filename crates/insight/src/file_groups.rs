// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files that a program treats alike, as one: those of steps and ranks, whose names
//! differ only by numbers (`dump_0001.sdf` and so on are `dump_*.sdf`), and many of one
//! kind in a directory (`images/*.png`). What an interpreter imports is distinguished
//! from data.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use ioracle_events::FileId;
use serde::Serialize;

use crate::names::{common, without_numbers};
use crate::tally::{FileTally, JobTally};

/// From this many files on, those that differ only by numbers form a group.
pub const SERIES: usize = 4;
/// From this many on, files with the same directory and ending form a group.
pub const SAME_ENDING: usize = 16;
/// The name of the group of program files and packages.
const CODE: &str = "(program code and packages)";
/// The name of a file without a known name.
pub const UNKNOWN: &str = "(unknown file)";

/// What files contain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// What the program works on.
    #[default]
    Data,
    /// The program itself: modules, libraries, packages that are only read.
    Code,
    /// Unknown, because the file has no name.
    Unknown,
}

/// A file, or many that a `*` in the path stands for.
#[derive(Clone, Debug, Default)]
pub struct FileGroup {
    pub path: String,
    pub n_files: usize,
    pub kind: FileKind,
    pub tally: FileTally,
}

/// All files, those that took most time first.
pub struct FileGroups {
    pub groups: Vec<FileGroup>,
    /// The group of each file, by its place.
    of: HashMap<FileId, usize>,
}

/// A file with its path.
type Named<'a> = (FileId, &'a str, &'a FileTally);

impl FileGroups {
    /// Groups the files of a job.
    pub fn new<'a>(tally: &'a JobTally, path: &dyn Fn(FileId) -> Option<&'a str>) -> FileGroups {
        let mut alike: BTreeMap<(FileKind, String), Vec<Named>> = BTreeMap::new();
        for (&id, file) in tally.files.iter() {
            let (kind, path) = match path(id) {
                None => (FileKind::Unknown, UNKNOWN),
                Some(path) if file.written.moved.operations == 0 && is_code(path) => {
                    (FileKind::Code, path)
                }
                Some(path) => (FileKind::Data, path),
            };
            let key = match kind {
                FileKind::Data => without_numbers(path),
                FileKind::Code => CODE.to_owned(),
                FileKind::Unknown => UNKNOWN.to_owned(),
            };
            alike.entry((kind, key)).or_default().push((id, path, file));
        }
        let mut found = Found::default();
        let mut single: BTreeMap<(String, String), Vec<Named>> = BTreeMap::new();
        for ((kind, key), files) in alike {
            match kind {
                FileKind::Data if files.len() >= SERIES => {
                    let path = common(files.iter().map(|(_, path, _)| (*path).into()));
                    found.push(path, kind, &files);
                }
                FileKind::Data => {
                    for file in files {
                        single.entry(directory_and_ending(file.1)).or_default().push(file);
                    }
                }
                _ => found.push(key, kind, &files),
            }
        }
        for ((directory, ending), files) in single {
            if files.len() >= SAME_ENDING {
                found.push(format!("{directory}*{ending}"), FileKind::Data, &files);
            } else {
                for file in files {
                    found.push(file.1.to_owned(), FileKind::Data, &[file]);
                }
            }
        }
        found.sorted()
    }

    /// The group of a file.
    pub fn of(&self, file: FileId) -> Option<&FileGroup> {
        self.groups.get(self.place_of(file)?)
    }

    /// Its place among the groups.
    pub fn place_of(&self, file: FileId) -> Option<usize> {
        self.of.get(&file).copied()
    }
}

/// Groups and their members.
#[derive(Default)]
struct Found(Vec<(FileGroup, Vec<FileId>)>);

impl Found {
    fn push(&mut self, path: String, kind: FileKind, files: &[Named]) {
        let mut tally = FileTally::default();
        files.iter().for_each(|(_, _, file)| tally.join(file));
        let group = FileGroup { path, n_files: files.len(), kind, tally };
        self.0.push((group, files.iter().map(|(id, ..)| *id).collect()));
    }

    fn sorted(mut self) -> FileGroups {
        self.0.sort_by(|(a, _), (b, _)| {
            b.tally.io_ns.cmp(&a.tally.io_ns).then_with(|| a.path.cmp(&b.path))
        });
        let members = self.0.iter().enumerate();
        let of = members.flat_map(|(place, (_, files))| files.iter().map(move |id| (*id, place)));
        let of = of.collect();
        FileGroups { of, groups: self.0.into_iter().map(|(group, _)| group).collect() }
    }
}

/// `a/b/` and `.png` of `a/b/c.png`.
fn directory_and_ending(path: &str) -> (String, String) {
    let (directory, name) = path.rfind('/').map_or(("", path), |at| path.split_at(at + 1));
    let ending = Path::new(name).extension().and_then(|it| it.to_str());
    (directory.to_owned(), ending.map_or_else(String::new, |ending| format!(".{ending}")))
}

/// Endings of source, compiled code and archives of both.
const CODE_ENDINGS: [&str; 27] = [
    "cjs", "class", "dll", "dylib", "egg", "el", "elc", "jar", "ji", "jl", "js", "lua", "luac",
    "mjs", "node", "php", "pl", "pm", "py", "pyc", "pyd", "pyi", "pyo", "pyw", "rb", "so", "tcl",
];

/// Directories that contain only packages of an interpreter.
const PACKAGE_DIRECTORIES: [&str; 5] =
    ["__pycache__", "site-packages", "dist-packages", "node_modules", ".julia"];

/// Whether a file holds a program rather than its data, which an interpreter imports in
/// many small files that nobody can merge: by its ending, which a version may follow
/// (`libm.so.6`), or by a directory of packages above it.
fn is_code(path: &str) -> bool {
    let path = Path::new(path);
    let is_package = path.components().any(|part| {
        PACKAGE_DIRECTORIES
            .iter()
            .any(|directory| part.as_os_str() == std::ffi::OsStr::new(directory))
    });
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return is_package };
    let has_version = name.contains(".so.") && name.ends_with(|c: char| c.is_ascii_digit());
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    is_package || has_version || ending.is_some_and(|ending| CODE_ENDINGS.contains(&ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::event;

    fn groups(paths: &[String]) -> Vec<(String, usize, FileKind)> {
        let mut tally = JobTally::default();
        for n in 0..paths.len() {
            tally.add(&event("read", n as u32, Some((0, 100))));
        }
        let path = |file: FileId| paths.get(file.0 as usize).map(String::as_str);
        let groups = FileGroups::new(&tally, &path);
        for n in 0..paths.len() {
            assert!(groups.of(FileId(n as u32)).is_some());
        }
        let mut listed: Vec<_> = groups
            .groups
            .into_iter()
            .map(|group| (group.path, group.n_files, group.kind))
            .collect();
        listed.sort();
        listed
    }

    #[test]
    fn files_of_steps_are_one_group_and_a_few_stay_apart() {
        let steps = (0..30).map(|n| format!("out/day_{n:02}.nc"));
        let few = ["T2.dat", "T10.dat", "notes.txt"].map(str::to_owned);
        assert_eq!(
            groups(&steps.chain(few).collect::<Vec<_>>()),
            [
                ("T10.dat".to_owned(), 1, FileKind::Data),
                ("T2.dat".to_owned(), 1, FileKind::Data),
                ("notes.txt".to_owned(), 1, FileKind::Data),
                ("out/day_*.nc".to_owned(), 30, FileKind::Data),
            ]
        );
    }

    #[test]
    fn many_files_of_one_kind_in_a_directory_are_one_group() {
        let images = ('a'..='t').map(|letter| format!("data/{letter}cat.png"));
        let others = ["data/cat.txt".to_owned()];
        assert_eq!(
            groups(&images.chain(others).collect::<Vec<_>>()),
            [
                ("data/*.png".to_owned(), 20, FileKind::Data),
                ("data/cat.txt".to_owned(), 1, FileKind::Data)
            ]
        );
    }

    #[test]
    fn what_an_interpreter_reads_is_kept_separate() {
        let modules = (0..9).map(|n| format!("/usr/lib/python3.11/__pycache__/m{n}.pyc"));
        let listed = groups(&modules.chain(["in.csv".to_owned()]).collect::<Vec<_>>());
        assert_eq!(
            listed,
            [(CODE.to_owned(), 9, FileKind::Code), ("in.csv".to_owned(), 1, FileKind::Data)]
        );
    }

    #[test]
    fn code_is_separated_from_data() {
        for path in [
            "/usr/lib/python3.11/json/__pycache__/decoder.cpython-311.pyc",
            "/usr/lib/python3.11/json/decoder.py",
            "/lib/x86_64-linux-gnu/libm.so.6",
            "libhdf5.so.103.3.0",
            "venv/lib/python3.11/site-packages/numpy-1.26.dist-info/METADATA",
            "app.jar",
        ] {
            assert!(is_code(path), "{path}");
        }
        for path in
            ["out.0017", "data/part.1.nc", "a", "py", "run.so_far", "pyc/x.h5", "log.2024.12", ""]
        {
            assert!(!is_code(path), "{path}");
        }
    }
}
