// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of calls that query or change metadata of files and directories. They are
//! events, never operations.
//!
//! Relative paths are those of the directory they are given with, or of the working
//! directory. What the C library does inside itself (`ftw`, `scandir`, `glob`) does not
//! come here.

use core::ffi::{c_char, c_int, c_uint, c_void};

use ioracle_spool::Function;
use libc::{DIR, dirent, dirent64, mode_t, size_t, ssize_t};

use crate::calls::paths::on_path;
use crate::descriptors;
use crate::files::NamedPath;
use crate::interpose::interpose;
use crate::observe::{call, is_on, observe, on_file};

const HERE: c_int = libc::AT_FDCWD;

interpose! {
    libc [stat] (path: *const c_char, buffer: *mut libc::stat) -> c_int
        => |real| on_path(Function::Stat, HERE, path, 0, real);
    libc [stat64] (path: *const c_char, buffer: *mut libc::stat64) -> c_int
        => |real| on_path(Function::Stat, HERE, path, 0, real);
    exported [__xstat, __xstat64] (version: c_int, path: *const c_char, buffer: *mut c_void) -> c_int
        => |real| on_path(Function::Stat, HERE, path, 0, real);
    libc [lstat] (path: *const c_char, buffer: *mut libc::stat) -> c_int
        => |real| on_path(Function::Lstat, HERE, path, 0, real);
    libc [lstat64] (path: *const c_char, buffer: *mut libc::stat64) -> c_int
        => |real| on_path(Function::Lstat, HERE, path, 0, real);
    exported [__lxstat, __lxstat64] (version: c_int, path: *const c_char, buffer: *mut c_void) -> c_int
        => |real| on_path(Function::Lstat, HERE, path, 0, real);
    libc [fstat] (fd: c_int, buffer: *mut libc::stat) -> c_int
        => |real| on_file(Function::Fstat, fd, (-1, 0), real);
    libc [fstat64] (fd: c_int, buffer: *mut libc::stat64) -> c_int
        => |real| on_file(Function::Fstat, fd, (-1, 0), real);
    exported [__fxstat, __fxstat64] (version: c_int, fd: c_int, buffer: *mut c_void) -> c_int
        => |real| on_file(Function::Fstat, fd, (-1, 0), real);
    libc [fstatat] (directory: c_int, path: *const c_char, buffer: *mut libc::stat, flags: c_int) -> c_int
        => |real| status_at(directory, path, flags, real);
    libc [fstatat64] (directory: c_int, path: *const c_char, buffer: *mut libc::stat64, flags: c_int) -> c_int
        => |real| status_at(directory, path, flags, real);
    exported [__fxstatat, __fxstatat64]
        (version: c_int, directory: c_int, path: *const c_char, buffer: *mut c_void, flags: c_int) -> c_int
        => |real| status_at(directory, path, flags, real);
    libc [statx] (directory: c_int, path: *const c_char, flags: c_int, mask: c_uint, buffer: *mut libc::statx) -> c_int
        => |real| status_at(directory, path, flags, real);

    libc [access] (path: *const c_char, mode: c_int) -> c_int
        => |real| on_path(Function::Access, HERE, path, 0, real);
    exported [euidaccess, eaccess] (path: *const c_char, mode: c_int) -> c_int
        => |real| on_path(Function::Access, HERE, path, 0, real);
    libc [faccessat] (directory: c_int, path: *const c_char, mode: c_int, flags: c_int) -> c_int
        => |real| on_path(Function::Access, directory, path, 0, real);

    libc [mkdir] (path: *const c_char, mode: mode_t) -> c_int
        => |real| on_path(Function::Mkdir, HERE, path, 0, real);
    libc [mkdirat] (directory: c_int, path: *const c_char, mode: mode_t) -> c_int
        => |real| on_path(Function::Mkdir, directory, path, 0, real);
    libc [rmdir] (path: *const c_char) -> c_int
        => |real| on_path(Function::Rmdir, HERE, path, 0, real);

    libc [opendir] (path: *const c_char) -> *mut DIR => |real| open_directory(path, real);
    libc [fdopendir] (fd: c_int) -> *mut DIR => |real| {
        descriptors::set_directory(fd, 0);
        real()
    };
    libc [readdir] (directory: *mut DIR) -> *mut dirent => |real| read_directory(directory, real);
    libc [readdir64] (directory: *mut DIR) -> *mut dirent64 => |real| read_directory(directory, real);
    libc [closedir] (directory: *mut DIR) -> c_int => |real| close_directory(directory, real);

    libc [link] (from: *const c_char, to: *const c_char) -> c_int
        => |real| on_path(Function::Link, HERE, to, 0, real);
    libc [linkat] (from_directory: c_int, from: *const c_char, directory: c_int, to: *const c_char, flags: c_int) -> c_int
        => |real| on_path(Function::Link, directory, to, 0, real);
    libc [symlink] (target: *const c_char, path: *const c_char) -> c_int
        => |real| on_path(Function::Symlink, HERE, path, 0, real);
    libc [symlinkat] (target: *const c_char, directory: c_int, path: *const c_char) -> c_int
        => |real| on_path(Function::Symlink, directory, path, 0, real);
    libc [readlink] (path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t
        => |real| read_link(HERE, path, real);
    libc [readlinkat] (directory: c_int, path: *const c_char, buffer: *mut c_char, size: size_t) -> ssize_t
        => |real| read_link(directory, path, real);
    exported [__readlink_chk] (path: *const c_char, buffer: *mut c_char, size: size_t, room: size_t) -> ssize_t
        => |real| read_link(HERE, path, real);
    exported [__readlinkat_chk]
        (directory: c_int, path: *const c_char, buffer: *mut c_char, size: size_t, room: size_t) -> ssize_t
        => |real| read_link(directory, path, real);

    libc [chmod] (path: *const c_char, mode: mode_t) -> c_int
        => |real| on_path(Function::Chmod, HERE, path, 0, real);
    libc [fchmod] (fd: c_int, mode: mode_t) -> c_int
        => |real| on_file(Function::Fchmod, fd, (-1, 0), real);
    libc [fchmodat] (directory: c_int, path: *const c_char, mode: mode_t, flags: c_int) -> c_int
        => |real| on_path(Function::Chmod, directory, path, 0, real);
}

/// A call of the stat family that takes a directory and flags. With `AT_EMPTY_PATH` it is
/// mostly about a descriptor; only the kernel may check whether the path is empty.
fn status_at(
    directory: c_int,
    path: *const c_char,
    flags: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if flags & libc::AT_EMPTY_PATH != 0 {
        return on_file(Function::Fstat, directory, (-1, 0), real);
    }
    let follows = flags & libc::AT_SYMLINK_NOFOLLOW == 0;
    let function = if follows { Function::Stat } else { Function::Lstat };
    on_path(function, directory, path, 0, real)
}

/// `readlink`; the result is the length of the target.
fn read_link(directory: c_int, path: *const c_char, real: impl FnOnce() -> ssize_t) -> ssize_t {
    if !is_on() {
        return real();
    }
    observe(real, |result| {
        let file = NamedPath { directory, path }.identity_after(result >= 0)?;
        Some(call(Function::Readlink, file, -1, result as i64))
    })
}

/// Opens a directory; its name is kept with its descriptor for the calls that follow.
fn open_directory(path: *const c_char, real: impl FnOnce() -> *mut DIR) -> *mut DIR {
    if !is_on() {
        return real();
    }
    observe(real, |directory| {
        let file = NamedPath { directory: HERE, path }.identity_after(!directory.is_null());
        let fd = descriptor_of(directory);
        descriptors::set_directory(fd, file.unwrap_or(0));
        Some(call(Function::Opendir, file?, fd, fd.into()))
    })
}

/// Reads an entry; the result is 1, or 0 at the end.
fn read_directory<E>(directory: *mut DIR, real: impl FnOnce() -> *mut E) -> *mut E {
    let fd = descriptor_of(directory);
    let Some(file) = recorded_directory(fd) else { return real() };
    observe(real, |entry| Some(call(Function::Readdir, file, fd, i64::from(!entry.is_null()))))
}

/// Closes it. Its name is forgotten before that, as with files.
fn close_directory(directory: *mut DIR, real: impl FnOnce() -> c_int) -> c_int {
    let fd = descriptor_of(directory);
    let Some(file) = recorded_directory(fd) else { return real() };
    descriptors::set_directory(fd, 0);
    observe(real, |result| Some(call(Function::Closedir, file, fd, result.into())))
}

fn recorded_directory(fd: c_int) -> Option<u64> {
    if !is_on() {
        return None;
    }
    descriptors::directory(fd)
}

/// The descriptor of an open directory; -1 for none.
fn descriptor_of(directory: *mut DIR) -> c_int {
    if directory.is_null() {
        return -1;
    }
    // SAFETY: the program passes, or was given, an open directory.
    unsafe { libc::dirfd(directory) }
}
