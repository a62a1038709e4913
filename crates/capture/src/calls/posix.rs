// SPDX-License-Identifier: MIT OR Apache-2.0

//! The POSIX rows. `open`, `openat` and `fcntl` take a last argument that may be
//! absent: on Linux it is in the same register either way.

use core::ffi::{c_char, c_int, c_long, c_void};

use ioracle_spool::Function;
use libc::{iovec, mode_t, off_t, off64_t, size_t, ssize_t};

use crate::calls::aio;
use crate::calls::copying::{self, CopySide};
use crate::calls::descriptors as fds;
use crate::calls::memory;
use crate::calls::paths;
use crate::interpose::interpose;
use crate::observe::{Start, data, on_file, on_file_with_error, on_range, vectored};

interpose! {
    variadic [open, open64] (path: *const c_char, flags: c_int, mode: mode_t) -> c_int
        => |real| fds::open(libc::AT_FDCWD, path, flags, real);
    variadic_at [openat, openat64] (directory: c_int, path: *const c_char, flags: c_int, mode: mode_t) -> c_int
        => |real| fds::open(directory, path, flags, real);
    exported [__open_2, __open64_2] (path: *const c_char, flags: c_int) -> c_int
        => |real| fds::open(libc::AT_FDCWD, path, flags, real);
    exported [__openat_2, __openat64_2] (directory: c_int, path: *const c_char, flags: c_int) -> c_int
        => |real| fds::open(directory, path, flags, real);
    libc [creat, creat64] (path: *const c_char, mode: mode_t) -> c_int
        => |real| fds::open(libc::AT_FDCWD, path, libc::O_CREAT | libc::O_WRONLY | libc::O_TRUNC, real);

    // The name is in the template once the file is made.
    libc [mkstemp] (template: *mut c_char) -> c_int => |real| fds::open_temporary(template, 0, real);
    exported [mkstemp64] (template: *mut c_char) -> c_int => |real| fds::open_temporary(template, 0, real);
    libc [mkostemp] (template: *mut c_char, flags: c_int) -> c_int
        => |real| fds::open_temporary(template, flags, real);
    exported [mkostemp64] (template: *mut c_char, flags: c_int) -> c_int
        => |real| fds::open_temporary(template, flags, real);
    libc [mkstemps] (template: *mut c_char, suffix: c_int) -> c_int
        => |real| fds::open_temporary(template, 0, real);
    exported [mkstemps64] (template: *mut c_char, suffix: c_int) -> c_int
        => |real| fds::open_temporary(template, 0, real);
    libc [mkostemps] (template: *mut c_char, suffix: c_int, flags: c_int) -> c_int
        => |real| fds::open_temporary(template, flags, real);
    exported [mkostemps64] (template: *mut c_char, suffix: c_int, flags: c_int) -> c_int
        => |real| fds::open_temporary(template, flags, real);
    libc [shm_open] (name: *const c_char, flags: c_int, mode: mode_t) -> c_int
        => |real| fds::open_memory(flags, real);

    libc [close] (fd: c_int) -> c_int => |real| fds::close(fd, real);
    libc [close_range] (first: u32, last: u32, flags: c_int) -> c_int
        => |real| fds::close_range(first, last, flags, real);
    header [closefrom] (first: c_int) -> ()
        => |real| fds::close_from(first, real);
    libc [dup] (fd: c_int) -> c_int => |real| fds::duplicate(Function::Dup, fd, None, real);
    libc [dup2] (fd: c_int, to: c_int) -> c_int
        => |real| fds::duplicate(Function::Dup2, fd, Some(to), real);
    libc [dup3] (fd: c_int, to: c_int, flags: c_int) -> c_int
        => |real| fds::duplicate(Function::Dup3, fd, Some(to), real);
    variadic [fcntl] (fd: c_int, command: c_int, argument: c_long) -> c_int
        => |real| fds::control(fd, command, argument, real);
    exported [fcntl64] (fd: c_int, command: c_int, argument: c_long) -> c_int
        => |real| fds::control(fd, command, argument, real);

    libc [read] (fd: c_int, buffer: *mut c_void, count: size_t) -> ssize_t
        => |real| data(Function::Read, fd, Start::Position, count, real);
    exported [__read_chk] (fd: c_int, buffer: *mut c_void, count: size_t, room: size_t) -> ssize_t
        => |real| data(Function::Read, fd, Start::Position, count, real);
    libc [pread] (fd: c_int, buffer: *mut c_void, count: size_t, offset: off_t) -> ssize_t
        => |real| data(Function::Pread, fd, Start::Offset(offset), count, real);
    libc [pread64] (fd: c_int, buffer: *mut c_void, count: size_t, offset: off64_t) -> ssize_t
        => |real| data(Function::Pread, fd, Start::Offset(offset), count, real);
    exported [__pread_chk, __pread64_chk]
        (fd: c_int, buffer: *mut c_void, count: size_t, offset: off64_t, room: size_t) -> ssize_t
        => |real| data(Function::Pread, fd, Start::Offset(offset), count, real);
    libc [write] (fd: c_int, buffer: *const c_void, count: size_t) -> ssize_t
        => |real| data(Function::Write, fd, Start::Position, count, real);
    libc [pwrite] (fd: c_int, buffer: *const c_void, count: size_t, offset: off_t) -> ssize_t
        => |real| data(Function::Pwrite, fd, Start::Offset(offset), count, real);
    libc [pwrite64] (fd: c_int, buffer: *const c_void, count: size_t, offset: off64_t) -> ssize_t
        => |real| data(Function::Pwrite, fd, Start::Offset(offset), count, real);

    libc [readv] (fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t
        => |real| vectored(Function::Readv, fd, Start::Position, (vectors, count), real);
    libc [writev] (fd: c_int, vectors: *const iovec, count: c_int) -> ssize_t
        => |real| vectored(Function::Writev, fd, Start::Position, (vectors, count), real);
    libc [preadv, preadv64] (fd: c_int, vectors: *const iovec, count: c_int, offset: off64_t) -> ssize_t
        => |real| vectored(Function::Preadv, fd, Start::Offset(offset), (vectors, count), real);
    libc [pwritev, pwritev64] (fd: c_int, vectors: *const iovec, count: c_int, offset: off64_t) -> ssize_t
        => |real| vectored(Function::Pwritev, fd, Start::Offset(offset), (vectors, count), real);
    libc [preadv2, preadv64v2]
        (fd: c_int, vectors: *const iovec, count: c_int, offset: off64_t, flags: c_int) -> ssize_t
        => |real| vectored(Function::Preadv, fd, Start::position_if_negative(offset), (vectors, count), real);
    libc [pwritev2, pwritev64v2]
        (fd: c_int, vectors: *const iovec, count: c_int, offset: off64_t, flags: c_int) -> ssize_t
        => |real| vectored(Function::Pwritev, fd, Start::position_if_negative(offset), (vectors, count), real);

    libc [lseek] (fd: c_int, offset: off_t, whence: c_int) -> off_t => |real| fds::seek(fd, whence, real);
    libc [lseek64] (fd: c_int, offset: off64_t, whence: c_int) -> off64_t => |real| fds::seek(fd, whence, real);

    libc [fsync] (fd: c_int) -> c_int => |real| on_file(Function::Fsync, fd, (-1, 0), real);
    libc [fdatasync] (fd: c_int) -> c_int => |real| on_file(Function::Fdatasync, fd, (-1, 0), real);
    libc [sync_file_range] (fd: c_int, offset: off64_t, length: off64_t, flags: u32) -> c_int
        => |real| on_file(Function::SyncFileRange, fd, (offset, length as u64), real);
    libc [ftruncate] (fd: c_int, length: off_t) -> c_int
        => |real| on_file(Function::Ftruncate, fd, (-1, length as u64), real);
    libc [ftruncate64] (fd: c_int, length: off64_t) -> c_int
        => |real| on_file(Function::Ftruncate, fd, (-1, length as u64), real);
    libc [fallocate] (fd: c_int, mode: c_int, offset: off_t, length: off_t) -> c_int
        => |real| on_range(Function::Fallocate, fd, (offset, length as u64), mode, real);
    libc [fallocate64] (fd: c_int, mode: c_int, offset: off64_t, length: off64_t) -> c_int
        => |real| on_range(Function::Fallocate, fd, (offset, length as u64), mode, real);
    libc [posix_fallocate] (fd: c_int, offset: off_t, length: off_t) -> c_int
        => |real| on_file_with_error(Function::PosixFallocate, fd, (offset, length as u64), real);
    libc [posix_fallocate64] (fd: c_int, offset: off64_t, length: off64_t) -> c_int
        => |real| on_file_with_error(Function::PosixFallocate, fd, (offset, length as u64), real);
    libc [posix_fadvise] (fd: c_int, offset: off_t, length: off_t, advice: c_int) -> c_int
        => |real| on_range(Function::PosixFadvise, fd, (offset, length as u64), advice, real);
    libc [posix_fadvise64] (fd: c_int, offset: off64_t, length: off64_t, advice: c_int) -> c_int
        => |real| on_range(Function::PosixFadvise, fd, (offset, length as u64), advice, real);

    libc [truncate] (path: *const c_char, length: off_t) -> c_int
        => |real| paths::on_path(Function::Truncate, libc::AT_FDCWD, path, length as u64, real);
    libc [truncate64] (path: *const c_char, length: off64_t) -> c_int
        => |real| paths::on_path(Function::Truncate, libc::AT_FDCWD, path, length as u64, real);
    libc [rename] (from: *const c_char, to: *const c_char) -> c_int
        => |real| paths::rename(libc::AT_FDCWD, from, real);
    libc [renameat] (directory: c_int, from: *const c_char, other: c_int, to: *const c_char) -> c_int
        => |real| paths::rename(directory, from, real);
    libc [chdir] (path: *const c_char) -> c_int => |real| paths::change_directory(real);
    libc [fchdir] (fd: c_int) -> c_int => |real| paths::change_directory(real);
    libc [unlink] (path: *const c_char) -> c_int
        => |real| paths::on_path(Function::Unlink, libc::AT_FDCWD, path, 0, real);
    libc [unlinkat] (directory: c_int, path: *const c_char, flags: c_int) -> c_int
        => |real| paths::unlink_at(directory, path, flags, real);

    libc [copy_file_range]
        (from: c_int, from_offset: *mut off64_t, to: c_int, to_offset: *mut off64_t, count: size_t, flags: u32) -> ssize_t
        => |real| copying::copy(copying::COPY_FILE_RANGE, CopySide(from, from_offset), CopySide(to, to_offset), count, real);
    libc [sendfile] (to: c_int, from: c_int, offset: *mut off_t, count: size_t) -> ssize_t
        => |real| copying::copy(copying::SENDFILE, CopySide(from, offset), CopySide::at_position(to), count, real);
    libc [sendfile64] (to: c_int, from: c_int, offset: *mut off64_t, count: size_t) -> ssize_t
        => |real| copying::copy(copying::SENDFILE, CopySide(from, offset), CopySide::at_position(to), count, real);
    libc [splice]
        (from: c_int, from_offset: *mut off64_t, to: c_int, to_offset: *mut off64_t, count: size_t, flags: u32) -> ssize_t
        => |real| copying::copy(copying::SPLICE, CopySide(from, from_offset), CopySide(to, to_offset), count, real);

    libc [mmap] (address: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off_t) -> *mut c_void
        => |real| memory::map(length, (protection, flags), fd, offset, real);
    libc [mmap64] (address: *mut c_void, length: size_t, protection: c_int, flags: c_int, fd: c_int, offset: off64_t) -> *mut c_void
        => |real| memory::map(length, (protection, flags), fd, offset, real);
    libc [munmap] (address: *mut c_void, length: size_t) -> c_int => |real| memory::unmap(address, length, real);
    libc [msync] (address: *mut c_void, length: size_t, flags: c_int) -> c_int
        => |real| memory::sync(address, length, real);

    libc [aio_read] (control: *mut libc::aiocb) -> c_int => |real| aio::submit(Function::AioRead, control, real);
    libc [aio_write] (control: *mut libc::aiocb) -> c_int => |real| aio::submit(Function::AioWrite, control, real);
    header [aio_read64] (control: *mut libc::aiocb) -> c_int => |real| aio::submit(Function::AioRead, control, real);
    header [aio_write64] (control: *mut libc::aiocb) -> c_int => |real| aio::submit(Function::AioWrite, control, real);
    libc [lio_listio] (mode: c_int, list: *const *mut libc::aiocb, count: c_int, event: *mut libc::sigevent) -> c_int
        => |real| aio::submit_list(mode, (list, count), real);
    header [lio_listio64] (mode: c_int, list: *const *mut libc::aiocb, count: c_int, event: *mut libc::sigevent) -> c_int
        => |real| aio::submit_list(mode, (list, count), real);
}
