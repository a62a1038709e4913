// SPDX-License-Identifier: MIT OR Apache-2.0

//! The stdio rows. glibc's stdio does not call the `read` and `write` that we
//! intercept, so these never enclose POSIX records.

use core::ffi::{c_char, c_int, c_long, c_void};

use ioracle_spool::Function;
use libc::{FILE, fpos_t, fpos64_t, off_t, off64_t, size_t, ssize_t};

use crate::calls::streams::{self, StreamAdvance, data, on_stream, seek};
use crate::interpose::interpose;
use crate::observe::formatted;

interpose! {
    libc [fopen, fopen64] (path: *const c_char, mode: *const c_char) -> *mut FILE
        => |real| streams::open(Function::Fopen, (path, mode), core::ptr::null_mut(), real);
    libc [freopen, freopen64] (path: *const c_char, mode: *const c_char, stream: *mut FILE) -> *mut FILE
        => |real| streams::open(Function::Freopen, (path, mode), stream, real);
    libc [fdopen] (fd: c_int, mode: *const c_char) -> *mut FILE => |real| streams::open_descriptor(fd, mode, real);
    libc [tmpfile] () -> *mut FILE => |real| streams::open_nameless(real);
    exported [tmpfile64] () -> *mut FILE => |real| streams::open_nameless(real);
    libc [fclose] (stream: *mut FILE) -> c_int => |real| streams::close(stream, real);
    // Not a file, but its descriptor is free again.
    header [pclose] (stream: *mut FILE) -> c_int => |real| streams::close(stream, real);

    libc [fread] (buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => |real| items(Function::Fread, stream, (size, count), real);
    libc [fread_unlocked] (buffer: *mut c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => |real| items(Function::Fread, stream, (size, count), real);
    exported [__fread_chk, __fread_unlocked_chk]
        (buffer: *mut c_void, room: size_t, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => |real| items(Function::Fread, stream, (size, count), real);
    libc [fgets] (buffer: *mut c_char, room: c_int, stream: *mut FILE) -> *mut c_char
        => |real| line(stream, room, real);
    header [fgets_unlocked] (buffer: *mut c_char, room: c_int, stream: *mut FILE) -> *mut c_char
        => |real| line(stream, room, real);
    exported [__fgets_chk, __fgets_unlocked_chk]
        (buffer: *mut c_char, size: size_t, room: c_int, stream: *mut FILE) -> *mut c_char
        => |real| line(stream, room, real);
    libc [fgetc] (stream: *mut FILE) -> c_int => |real| data(Function::Fgetc, stream, Some(1), real, StreamAdvance::character);
    header [getc, fgetc_unlocked, getc_unlocked] (stream: *mut FILE) -> c_int
        => |real| data(Function::Fgetc, stream, Some(1), real, StreamAdvance::character);
    exported [_IO_getc] (stream: *mut FILE) -> c_int
        => |real| data(Function::Fgetc, stream, Some(1), real, StreamAdvance::character);
    libc [getline] (line: *mut *mut c_char, room: *mut size_t, stream: *mut FILE) -> ssize_t
        => |real| whole_line(stream, line.is_null() || room.is_null(), real);
    header [getdelim, __getdelim] (line: *mut *mut c_char, room: *mut size_t, end: c_int, stream: *mut FILE) -> ssize_t
        => |real| whole_line(stream, line.is_null() || room.is_null(), real);

    libc [fwrite] (buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => |real| items(Function::Fwrite, stream, (size, count), real);
    header [fwrite_unlocked] (buffer: *const c_void, size: size_t, count: size_t, stream: *mut FILE) -> size_t
        => |real| items(Function::Fwrite, stream, (size, count), real);
    libc [fputs] (string: *const c_char, stream: *mut FILE) -> c_int
        => |real| data(Function::Fputs, stream, None, real, |result| StreamAdvance::string(string, result));
    header [fputs_unlocked] (string: *const c_char, stream: *mut FILE) -> c_int
        => |real| data(Function::Fputs, stream, None, real, |result| StreamAdvance::string(string, result));
    libc [fputc] (character: c_int, stream: *mut FILE) -> c_int
        => |real| data(Function::Fputc, stream, Some(1), real, StreamAdvance::character);
    header [putc, fputc_unlocked, putc_unlocked] (character: c_int, stream: *mut FILE) -> c_int
        => |real| data(Function::Fputc, stream, Some(1), real, StreamAdvance::character);
    exported [_IO_putc] (character: c_int, stream: *mut FILE) -> c_int
        => |real| data(Function::Fputc, stream, Some(1), real, StreamAdvance::character);
    // To standard output, which is recorded where it is a file.
    libc [puts] (string: *const c_char) -> c_int
        => |real| data(Function::Fputs, output(), None, real, |result| match StreamAdvance::string(string, result) {
            StreamAdvance::Bytes(bytes) => StreamAdvance::Bytes(bytes + 1),
            other => other,
        });
    libc [putchar] (character: c_int) -> c_int
        => |real| data(Function::Fputc, output(), Some(1), real, StreamAdvance::character);
    libc [putchar_unlocked] (character: c_int) -> c_int
        => |real| data(Function::Fputc, output(), Some(1), real, StreamAdvance::character);

    header [vfprintf] (stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fprintf, stream, None, real, |count| StreamAdvance::count(count as isize));
    exported [__vfprintf_chk] (stream: *mut FILE, flag: c_int, format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fprintf, stream, None, real, |count| StreamAdvance::count(count as isize));
    // A write to a descriptor, which libc makes inside itself.
    header [vdprintf] (fd: c_int, format: *const c_char, arguments: VaList) -> c_int => |real| formatted(fd, real);
    exported [__vdprintf_chk] (fd: c_int, flag: c_int, format: *const c_char, arguments: VaList) -> c_int
        => |real| formatted(fd, real);
    header [vprintf] (format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fprintf, output(), None, real, |count| StreamAdvance::count(count as isize));
    exported [__vprintf_chk] (flag: c_int, format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fprintf, output(), None, real, |count| StreamAdvance::count(count as isize));
    header [vfscanf] (stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fscanf, stream, None, real, |_| StreamAdvance::AsFar);
    exported [__isoc99_vfscanf, __isoc23_vfscanf]
        (stream: *mut FILE, format: *const c_char, arguments: VaList) -> c_int
        => |real| data(Function::Fscanf, stream, None, real, |_| StreamAdvance::AsFar);

    libc [fseek] (stream: *mut FILE, offset: c_long, whence: c_int) -> c_int
        => |real| seek(stream, whence, real, |result| result == 0);
    libc [fseeko] (stream: *mut FILE, offset: off_t, whence: c_int) -> c_int
        => |real| seek(stream, whence, real, |result| result == 0);
    libc [fseeko64] (stream: *mut FILE, offset: off64_t, whence: c_int) -> c_int
        => |real| seek(stream, whence, real, |result| result == 0);
    libc [rewind] (stream: *mut FILE) -> () => |real| seek(stream, libc::SEEK_SET, real, |()| true);
    libc [fsetpos] (stream: *mut FILE, position: *const fpos_t) -> c_int
        => |real| seek(stream, libc::SEEK_SET, real, |result| result == 0);
    libc [fsetpos64] (stream: *mut FILE, position: *const fpos64_t) -> c_int
        => |real| seek(stream, libc::SEEK_SET, real, |result| result == 0);
    libc [fflush] (stream: *mut FILE) -> c_int => |real| on_stream(Function::Fflush, stream, real);
    header [fflush_unlocked] (stream: *mut FILE) -> c_int => |real| on_stream(Function::Fflush, stream, real);
    libc [setvbuf] (stream: *mut FILE, buffer: *mut c_char, mode: c_int, size: size_t) -> c_int
        => |real| on_stream(Function::Setvbuf, stream, real);
}

/// A `va_list` as it is passed: where the arguments lie.
type VaList = *mut c_void;

/// Items of a size. For 0 bytes libc does not look at the stream, which may be invalid.
#[inline(always)]
fn items(
    function: Function,
    stream: *mut FILE,
    (size, count): (size_t, size_t),
    real: impl FnOnce() -> size_t,
) -> size_t {
    if size == 0 || count == 0 {
        return real();
    }
    let asked = Some((size as u64).saturating_mul(count as u64));
    data(function, stream, asked, real, |items| StreamAdvance::items(size, items, count))
}

/// A line for a buffer; if it has no room for a character, libc does not look at the
/// stream.
#[inline(always)]
fn line(stream: *mut FILE, room: c_int, real: impl FnOnce() -> *mut c_char) -> *mut c_char {
    if room <= 1 {
        return real();
    }
    data(Function::Fgets, stream, None, real, |line| StreamAdvance::line(line, room))
}

/// A line for memory that libc provides; it rejects a call without a place for it
/// before looking at the stream.
#[inline(always)]
fn whole_line(stream: *mut FILE, is_refused: bool, real: impl FnOnce() -> ssize_t) -> ssize_t {
    if is_refused {
        real()
    } else {
        data(Function::Getline, stream, None, real, StreamAdvance::count)
    }
}

fn output() -> *mut FILE {
    unsafe extern "C" {
        static stdout: *mut FILE;
    }
    // SAFETY: libc's own, set before any program code runs.
    unsafe { stdout }
}

/// Functions with a variable number of arguments: `variadic.c` hands them on to
/// the hook of the one that takes a `va_list`.
#[cfg(all(target_arch = "x86_64", not(feature = "portable")))]
mod variadic {
    use super::*;
    use crate::arch::entry;

    /// Writes entries that go on in C, and the symbols that C comes back to.
    macro_rules! variadic {
        (to { $($name:ident => $in_c:ident;)* }
            back { $($symbol:ident ($($type:ty),*) => $hook:path;)* }) => {
            unsafe extern "C" {
                $(fn $in_c();)*
            }
            $(entry!($name = stringify!($name), $in_c);)*
            $(
                #[unsafe(no_mangle)]
                static $symbol: unsafe extern "C-unwind" fn($($type),*) -> c_int = $hook;
            )*
        };
    }

    variadic! {
        to {
        fprintf => ioracle_fprintf;
        __fprintf_chk => ioracle_fprintf_chk;
        dprintf => ioracle_dprintf;
        __dprintf_chk => ioracle_dprintf_chk;
        printf => ioracle_printf;
        __printf_chk => ioracle_printf_chk;
        fscanf => ioracle_fscanf;
        __isoc99_fscanf => ioracle_isoc99_fscanf;
        __isoc23_fscanf => ioracle_isoc23_fscanf;
        } back {
        ioracle_vfprintf (*mut FILE, *const c_char, *mut c_void) => vfprintf::hook;
        ioracle_vfprintf_chk (*mut FILE, c_int, *const c_char, *mut c_void) => __vfprintf_chk::hook;
        ioracle_vdprintf (c_int, *const c_char, *mut c_void) => vdprintf::hook;
        ioracle_vdprintf_chk (c_int, c_int, *const c_char, *mut c_void) => __vdprintf_chk::hook;
        ioracle_vfscanf (*mut FILE, *const c_char, *mut c_void) => vfscanf::hook;
        ioracle_isoc99_vfscanf (*mut FILE, *const c_char, *mut c_void) => __isoc99_vfscanf::hook;
        ioracle_isoc23_vfscanf (*mut FILE, *const c_char, *mut c_void) => __isoc23_vfscanf::hook;
        }
    }
}
