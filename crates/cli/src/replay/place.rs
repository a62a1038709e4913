// SPDX-License-Identifier: MIT OR Apache-2.0

//! The directory in which a replay takes place: new, its own, and removed at the
//! end. Files are opened below its descriptor, and no symbolic link is followed, so
//! nothing outside can be reached, whatever a trace says and whoever else may
//! write there.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{CWD, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// Room that is left free on the file system, of what is needed: a twentieth.
const SPARE: u64 = 20;

/// A directory of ours below the user's.
pub struct ReplayPlace {
    path: PathBuf,
    root: OwnedFd,
    is_kept: bool,
}

impl ReplayPlace {
    /// Makes it, if there is room for so many bytes.
    pub fn make(directory: &Path, bytes_needed: u64, is_kept: bool) -> Result<ReplayPlace> {
        let name = directory.display();
        let found = fs::symlink_metadata(directory)
            .with_context(|| format!("could not use '{name}'; create the directory first"))?;
        if found.is_symlink() {
            bail!("'{name}' is a symbolic link; name the directory that it leads to");
        }
        if !found.is_dir() {
            bail!("'{name}' is not a directory; name one on the storage to replay on");
        }
        let real = directory.canonicalize().with_context(|| format!("could not use '{name}'"))?;
        let room = rustix::fs::statvfs(&real).with_context(|| format!("could not use '{name}'"))?;
        let free = room.f_bavail.saturating_mul(room.f_frsize);
        let wanted = bytes_needed.saturating_add(bytes_needed / SPARE);
        // Some FUSE file systems say nothing.
        if wanted > free && room.f_blocks > 0 {
            bail!(
                "the replay needs {} in '{name}', where {} are free; free more space, or name \
                 another directory",
                crate::shared::numbers::bytes(bytes_needed),
                crate::shared::numbers::bytes(free)
            );
        }
        let made = tempfile::Builder::new()
            .prefix("ioracle-replay-")
            .tempdir_in(&real)
            .map_err(|error| io::Error::from(error.kind()))
            .with_context(|| {
                format!("could not make a directory in '{name}'; name one that you may write to")
            })?;
        let path = made.keep();
        match ReplayPlace::enter(&path) {
            Ok(mut place) => {
                place.is_kept = is_kept;
                Ok(place)
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&path);
                Err(error)
            }
        }
    }

    /// One that another process has made and will remove.
    pub fn enter(path: &Path) -> Result<ReplayPlace> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let root = rustix::fs::openat(CWD, path, OFlags::RDONLY | flags, Mode::empty())
            .with_context(|| format!("could not open '{}'", path.display()))?;
        Ok(ReplayPlace { path: path.to_owned(), root, is_kept: true })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a file below it.
    pub fn open(&self, name: &str, flags: OFlags) -> Result<OwnedFd, Errno> {
        let mode = Mode::from_raw_mode(0o600);
        open_below(self.root.as_fd(), name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode)
    }

    /// Has its file system write what waits to be written, so that calls do not have to do
    /// this for whatever was there before.
    pub fn settle(&self) {
        let _ = rustix::fs::syncfs(&self.root);
    }

    /// Makes the directories that a file lies in.
    pub fn make_parents(&self, name: &str) -> Result<(), Errno> {
        for (end, _) in name.match_indices('/') {
            let (parent, own) = self.parent(&name[..end])?;
            match rustix::fs::mkdirat(&parent, own, Mode::from_raw_mode(0o700)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Removes a file below it.
    pub fn remove(&self, name: &str) -> Result<(), Errno> {
        let (parent, own) = self.parent(name)?;
        rustix::fs::unlinkat(&parent, own, rustix::fs::AtFlags::empty())
    }

    /// Asks what a file below it is. Nothing changes by it, so links on the way are not
    /// looked for.
    pub fn stat(&self, name: &str) {
        let _ = rustix::fs::statat(&self.root, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
    }

    /// Renames a file below it, to another name below it.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Errno> {
        let (old, old_name) = self.parent(from)?;
        let (new, new_name) = self.parent(to)?;
        rustix::fs::renameat(&old, old_name, &new, new_name)
    }

    /// The directory of a file, and its name there.
    fn parent<'a>(&self, name: &'a str) -> Result<(OwnedFd, &'a str), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let (directory, own) = name.rsplit_once('/').unwrap_or((".", name));
        Ok((open_below(self.root.as_fd(), directory, flags, Mode::empty())?, own))
    }
}

impl Drop for ReplayPlace {
    fn drop(&mut self) {
        if !self.is_kept {
            // Does not follow links either.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

/// Opens a file below a directory without following a link on the way.
fn open_below(
    root: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let creating = if flags.contains(OFlags::CREATE) { mode } else { Mode::empty() };
    match rustix::fs::openat2(root, name, flags, creating, resolve) {
        // Linux before 5.6, and sandboxes that do not know the call.
        Err(Errno::NOSYS | Errno::PERM) => walk_below(root, name, flags, mode),
        other => other,
    }
}

/// The same, component by component.
fn walk_below(
    root: BorrowedFd<'_>,
    name: &str,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let on_the_way = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let (mut here, mut parts) = (None::<OwnedFd>, name.split('/').peekable());
    while let Some(part) = parts.next() {
        if part == ".." {
            return Err(Errno::XDEV);
        }
        let at = here.as_ref().map_or(root, |here| here.as_fd());
        let opened = match parts.peek() {
            Some(_) => rustix::fs::openat(at, part, on_the_way, Mode::empty())?,
            None => rustix::fs::openat(at, part, flags | OFlags::NOFOLLOW, mode)?,
        };
        here = Some(opened);
    }
    here.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CREATE: OFlags = OFlags::WRONLY.union(OFlags::CREATE);

    fn place(directory: &Path) -> ReplayPlace {
        ReplayPlace::make(directory, 100, false).expect("a place")
    }

    #[test]
    fn links_and_dots_do_not_lead_out() {
        let directory = tempfile::tempdir().unwrap();
        let outside = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        std::os::unix::fs::symlink(outside.path(), place.path().join("link")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("x"), place.path().join("file")).unwrap();
        for name in ["link/x", "file", "../x", "/tmp/x", "a/../../x"] {
            assert!(place.open(name, CREATE).is_err(), "{name}");
        }
        let root = place.root.as_fd();
        for name in ["link/x", "file", "../x"] {
            let opened = walk_below(root, name, CREATE, Mode::from_raw_mode(0o600));
            assert!(opened.is_err(), "{name}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn files_lie_in_a_new_directory_that_goes_away() {
        let directory = tempfile::tempdir().unwrap();
        let place = place(directory.path());
        place.make_parents("a/b/c").unwrap();
        place.make_parents("a/b/c").unwrap();
        place.open("a/b/c", CREATE).unwrap();
        assert!(place.path().join("a/b/c").is_file());
        place.remove("a/b/c").unwrap();
        assert!(!place.path().join("a/b/c").exists());
        drop(place);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_place_without_room_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let error = ReplayPlace::make(directory.path(), u64::MAX / 2, false).err().unwrap();
        assert!(error.to_string().contains("are free; free more space"), "{error}");
    }
}
