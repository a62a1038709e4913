// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the knowledge crate asks about files, of the disk or of a trace; and where
//! the repository is.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use ioracle_knowledge::FileSystem;

/// Texts that may hold names of files are no longer than this.
const MAX_TEXT_BYTES: u64 = 1 << 16;
/// Names of a directory that are looked at.
const MAX_NAMES: usize = 1 << 16;

/// The repository of this user. Its directory is made if it is missing.
pub fn default_file() -> Result<PathBuf> {
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

/// The files of this machine.
pub struct DiskFiles;

impl FileSystem for DiskFiles {
    fn is_file(&self, path: &str) -> bool {
        Path::new(path).is_file()
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }

    fn names_in(&self, directory: &str) -> Vec<String> {
        let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        names.take(MAX_NAMES).collect()
    }

    fn short_text(&self, path: &str) -> Option<String> {
        let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        if length > MAX_TEXT_BYTES {
            return None;
        }
        let mut text = String::new();
        fs::File::open(path).ok()?.take(MAX_TEXT_BYTES).read_to_string(&mut text).ok()?;
        (!text.contains('\0')).then_some(text)
    }
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
