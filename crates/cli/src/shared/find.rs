// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds a command as `execvp` does, and says with the exit codes of `env` why
//! it cannot be started: 127 if it or its interpreter was not found, 126 if it
//! was found and is not executable.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, CWD};

use crate::shared::text::without_control_characters;

/// Where commands are looked for without `PATH`.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// Why a command was not started.
#[derive(Debug)]
pub struct NotStarted {
    /// The exit code to end with.
    pub code: u8,
    sentence: String,
}

impl NotStarted {
    /// Found, but it cannot be started.
    pub fn found(path: &Path, why: impl fmt::Display) -> NotStarted {
        let sentence = format!("could not start '{}': {why}", path.display());
        NotStarted { code: 126, sentence }
    }

    /// Found, but what it needs to run was not.
    pub fn without_interpreter(path: &Path, interpreter: &Path) -> NotStarted {
        let sentence = format!(
            "could not start '{}': its interpreter '{}' was not found; install that, or change \
             the file to name another one",
            path.display(),
            interpreter.display()
        );
        NotStarted { code: 127, sentence }
    }
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_control_characters(&self.sentence))
    }
}

/// The file that `execvp` would start for `name`.
pub fn find(name: &OsStr, path_variable: Option<&OsStr>) -> Result<PathBuf, NotStarted> {
    if name.is_empty() {
        return Err(missing(&""));
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return match obstacle(&path) {
            None => Ok(path),
            Some(Obstacle::Missing) => Err(missing(&path.display())),
            Some(Obstacle::Unusable(why)) => Err(NotStarted::found(&path, why)),
        };
    }
    let mut unusable = None;
    for directory in std::env::split_paths(path_variable.unwrap_or(OsStr::new(DEFAULT_PATH))) {
        // An empty part of PATH is the working directory.
        let directory = if directory.as_os_str().is_empty() { ".".into() } else { directory };
        let path = directory.join(name);
        match obstacle(&path) {
            None => return Ok(path),
            Some(Obstacle::Missing) => {}
            Some(Obstacle::Unusable(why)) => {
                unusable.get_or_insert_with(|| NotStarted::found(&path, why));
            }
        }
    }
    Err(unusable.unwrap_or_else(|| missing(&name.display())))
}

enum Obstacle {
    Missing,
    Unusable(&'static str),
}

fn obstacle(path: &Path) -> Option<Obstacle> {
    let about = match path.metadata() {
        Ok(about) => about,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            return Some(Obstacle::Unusable("its directory cannot be searched; ask its owner"));
        }
        Err(_) => return Some(Obstacle::Missing),
    };
    if about.is_dir() {
        return Some(Obstacle::Unusable("it is a directory; name a program"));
    }
    match rustix::fs::accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS) {
        Ok(()) => None,
        Err(_) => Some(Obstacle::Unusable("it is not executable; make it so with 'chmod +x'")),
    }
}

fn missing(name: &dyn fmt::Display) -> NotStarted {
    let sentence =
        format!("'{name}' was not found; check its name, or the directories listed in PATH");
    NotStarted { code: 127, sentence }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn directory_with(name: &str, mode: u32) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, "").unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        directory
    }

    #[test]
    fn the_first_executable_of_the_path_is_taken() {
        let (plain, good) = (directory_with("tool", 0o644), directory_with("tool", 0o755));
        let path =
            std::env::join_paths([Path::new("/nowhere"), plain.path(), good.path()]).unwrap();
        let found = find(OsStr::new("tool"), Some(&path)).unwrap();
        assert_eq!(found, good.path().join("tool"));
    }

    #[test]
    fn what_is_found_but_not_executable_is_reported_with_126() {
        let plain = directory_with("tool", 0o644);
        let error = find(OsStr::new("tool"), Some(plain.path().as_os_str())).unwrap_err();
        assert_eq!(error.code, 126);
        assert!(error.to_string().contains("chmod +x"), "{error}");
        assert_eq!(find(OsStr::new("/usr"), None).unwrap_err().code, 126);
    }

    #[test]
    fn what_is_nowhere_is_reported_with_127() {
        for name in ["/no/such/program", "no-such-program", ""] {
            assert_eq!(find(OsStr::new(name), None).unwrap_err().code, 127, "{name}");
        }
    }
}
