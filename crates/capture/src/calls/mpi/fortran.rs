// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of MPI-IO in Fortran: `mpif.h` and `use mpi` (`…_`), `mpi_f08`
//! (`…_f08_`, in MPICH `…_f08ts_` where there is a buffer). All arguments are
//! addresses; the lengths of texts come after them.
//!
//! Open MPI's go straight to `PMPI_` names, MPICH's mostly to C's functions,
//! whose rows then find that they are inside a call already.

use core::ffi::{c_char, c_int};

use ioracle_spool::Function;

use super::helpers::{Handle, MpiLibrary};
use super::record;
use super::record::{AccessStart, List, Transfer, View};
use crate::library::library;
use crate::observe::is_on;

/// An argument that only passes through.
type Word = usize;
/// A number that is read.
type In = *const c_int;
/// An offset that is read.
type Offset = *const i64;
/// A number that is stored; null where the program left it out.
type Out = *mut c_int;

library! {
    missing ();

    [mpi_file_open_, mpi_file_open_f08_] (comm: In, path: *const c_char, mode: In, info: In, file: Out, error: Out, length: Word) -> ()
        => |library, real| { open(library, (path, length), number(mode), file, done(real, error)); };
    [mpi_file_close_, mpi_file_close_f08_] (file: In, error: Out) -> ()
        => |library, real| { record::close(c_file(library, file), done(real, error)); };
    [mpi_file_delete_, mpi_file_delete_f08_] (path: *const c_char, info: In, error: Out, length: Word) -> ()
        => |library, real| { delete(library, (path, length), done(real, error)); };
    [mpi_file_set_view_, mpi_file_set_view_f08_] (file: In, displacement: Offset, etype: In, filetype: In, representation: Word, info: In, error: Out, length: Word) -> ()
        => |library, real| { set_view(library, file, displacement, [etype, filetype], done(real, error)); };
    [mpi_file_get_view_, mpi_file_get_view_f08_] (file: In, displacement: Word, etype: Word, filetype: Word, representation: Word, error: Out, length: Word) -> ()
        => |library, real| { record::on_file(Function::MpiGetView, c_file(library, file), 0, done(real, error)); };
    [mpi_file_seek_, mpi_file_seek_f08_] (file: In, offset: Offset, whence: In, error: Out) -> ()
        => |library, real| { record::seek(library, c_file(library, file), number(whence), done(real, error)); };
    [mpi_file_seek_shared_, mpi_file_seek_shared_f08_] (file: In, offset: Offset, whence: In, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiSeekShared, c_file(library, file), 0, done(real, error)); };
    [mpi_file_sync_, mpi_file_sync_f08_] (file: In, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiSync, c_file(library, file), 0, done(real, error)); };
    [mpi_file_set_size_, mpi_file_set_size_f08_] (file: In, size: Offset, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiSetSize, c_file(library, file), offset_at(size), done(real, error)); };
    [mpi_file_preallocate_, mpi_file_preallocate_f08_] (file: In, size: Offset, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiPreallocate, c_file(library, file), offset_at(size), done(real, error)); };

    [mpi_file_read_, mpi_file_read_f08_, mpi_file_read_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiRead, file, count, datatype), done(real, error)); };
    [mpi_file_read_at_, mpi_file_read_at_f08_, mpi_file_read_at_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiReadAt, file, offset, count, datatype), done(real, error)); };
    [mpi_file_read_all_, mpi_file_read_all_f08_, mpi_file_read_all_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiReadAll, file, count, datatype), done(real, error)); };
    [mpi_file_read_at_all_, mpi_file_read_at_all_f08_, mpi_file_read_at_all_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiReadAtAll, file, offset, count, datatype), done(real, error)); };
    [mpi_file_read_shared_, mpi_file_read_shared_f08_, mpi_file_read_shared_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiReadShared, file, count, datatype), done(real, error)); };
    [mpi_file_read_ordered_, mpi_file_read_ordered_f08_, mpi_file_read_ordered_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiReadOrdered, file, count, datatype), done(real, error)); };
    [mpi_file_iread_, mpi_file_iread_f08_, mpi_file_iread_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, here(library, Function::MpiIread, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iread_at_, mpi_file_iread_at_f08_, mpi_file_iread_at_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, at(library, Function::MpiIreadAt, file, offset, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iread_all_, mpi_file_iread_all_f08_, mpi_file_iread_all_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, here(library, Function::MpiIreadAll, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iread_at_all_, mpi_file_iread_at_all_f08_, mpi_file_iread_at_all_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, at(library, Function::MpiIreadAtAll, file, offset, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iread_shared_, mpi_file_iread_shared_f08_, mpi_file_iread_shared_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, shared(library, Function::MpiIreadShared, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_read_all_begin_, mpi_file_read_all_begin_f08_, mpi_file_read_all_begin_f08ts_] (file: In, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiReadAllBegin, file, count, datatype), done(real, error)); };
    [mpi_file_read_all_end_, mpi_file_read_all_end_f08_, mpi_file_read_all_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiReadAllEnd, c_file(library, file), 0, done(real, error)); };
    [mpi_file_read_at_all_begin_, mpi_file_read_at_all_begin_f08_, mpi_file_read_at_all_begin_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiReadAtAllBegin, file, offset, count, datatype), done(real, error)); };
    [mpi_file_read_at_all_end_, mpi_file_read_at_all_end_f08_, mpi_file_read_at_all_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiReadAtAllEnd, c_file(library, file), 0, done(real, error)); };
    [mpi_file_read_ordered_begin_, mpi_file_read_ordered_begin_f08_, mpi_file_read_ordered_begin_f08ts_] (file: In, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiReadOrderedBegin, file, count, datatype), done(real, error)); };
    [mpi_file_read_ordered_end_, mpi_file_read_ordered_end_f08_, mpi_file_read_ordered_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiReadOrderedEnd, c_file(library, file), 0, done(real, error)); };

    [mpi_file_write_, mpi_file_write_f08_, mpi_file_write_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiWrite, file, count, datatype), done(real, error)); };
    [mpi_file_write_at_, mpi_file_write_at_f08_, mpi_file_write_at_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiWriteAt, file, offset, count, datatype), done(real, error)); };
    [mpi_file_write_all_, mpi_file_write_all_f08_, mpi_file_write_all_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiWriteAll, file, count, datatype), done(real, error)); };
    [mpi_file_write_at_all_, mpi_file_write_at_all_f08_, mpi_file_write_at_all_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiWriteAtAll, file, offset, count, datatype), done(real, error)); };
    [mpi_file_write_shared_, mpi_file_write_shared_f08_, mpi_file_write_shared_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiWriteShared, file, count, datatype), done(real, error)); };
    [mpi_file_write_ordered_, mpi_file_write_ordered_f08_, mpi_file_write_ordered_f08ts_] (file: In, buffer: Word, count: In, datatype: In, status: Word, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiWriteOrdered, file, count, datatype), done(real, error)); };
    [mpi_file_iwrite_, mpi_file_iwrite_f08_, mpi_file_iwrite_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, here(library, Function::MpiIwrite, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iwrite_at_, mpi_file_iwrite_at_f08_, mpi_file_iwrite_at_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, at(library, Function::MpiIwriteAt, file, offset, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iwrite_all_, mpi_file_iwrite_all_f08_, mpi_file_iwrite_all_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, here(library, Function::MpiIwriteAll, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iwrite_at_all_, mpi_file_iwrite_at_all_f08_, mpi_file_iwrite_at_all_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, at(library, Function::MpiIwriteAtAll, file, offset, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_iwrite_shared_, mpi_file_iwrite_shared_f08_, mpi_file_iwrite_shared_f08ts_] (file: In, buffer: Word, count: In, datatype: In, request: Out, error: Out) -> ()
        => |library, real| { record::submit(library, shared(library, Function::MpiIwriteShared, file, count, datatype), done(real, error), || request_at(library, request, 0)); };
    [mpi_file_write_all_begin_, mpi_file_write_all_begin_f08_, mpi_file_write_all_begin_f08ts_] (file: In, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, here(library, Function::MpiWriteAllBegin, file, count, datatype), done(real, error)); };
    [mpi_file_write_all_end_, mpi_file_write_all_end_f08_, mpi_file_write_all_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiWriteAllEnd, c_file(library, file), 0, done(real, error)); };
    [mpi_file_write_at_all_begin_, mpi_file_write_at_all_begin_f08_, mpi_file_write_at_all_begin_f08ts_] (file: In, offset: Offset, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, at(library, Function::MpiWriteAtAllBegin, file, offset, count, datatype), done(real, error)); };
    [mpi_file_write_at_all_end_, mpi_file_write_at_all_end_f08_, mpi_file_write_at_all_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiWriteAtAllEnd, c_file(library, file), 0, done(real, error)); };
    [mpi_file_write_ordered_begin_, mpi_file_write_ordered_begin_f08_, mpi_file_write_ordered_begin_f08ts_] (file: In, buffer: Word, count: In, datatype: In, error: Out) -> ()
        => |library, real| { record::transfer(library, shared(library, Function::MpiWriteOrderedBegin, file, count, datatype), done(real, error)); };
    [mpi_file_write_ordered_end_, mpi_file_write_ordered_end_f08_, mpi_file_write_ordered_end_f08ts_] (file: In, buffer: Word, status: Word, error: Out) -> ()
        => |library, real| { record::on_file(Function::MpiWriteOrderedEnd, c_file(library, file), 0, done(real, error)); };

    [mpi_wait_, mpi_wait_f08_] (request: In, status: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiWait, &list(library, 1, request), done(real, error)); };
    [mpi_waitany_, mpi_waitany_f08_] (count: In, requests: In, index: Word, status: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiWait, &list(library, number(count), requests), done(real, error)); };
    [mpi_waitall_, mpi_waitall_f08_] (count: In, requests: In, statuses: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiWait, &list(library, number(count), requests), done(real, error)); };
    [mpi_waitsome_, mpi_waitsome_f08_] (count: In, requests: In, n_done: Word, indices: Word, statuses: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiWait, &list(library, number(count), requests), done(real, error)); };
    [mpi_test_, mpi_test_f08_] (request: In, flag: Word, status: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiTest, &list(library, 1, request), done(real, error)); };
    [mpi_testany_, mpi_testany_f08_] (count: In, requests: In, index: Word, flag: Word, status: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiTest, &list(library, number(count), requests), done(real, error)); };
    [mpi_testall_, mpi_testall_f08_] (count: In, requests: In, flag: Word, statuses: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiTest, &list(library, number(count), requests), done(real, error)); };
    [mpi_testsome_, mpi_testsome_f08_] (count: In, requests: In, n_done: Word, indices: Word, statuses: Word, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiTest, &list(library, number(count), requests), done(real, error)); };
    [mpi_request_free_, mpi_request_free_f08_] (request: In, error: Out) -> ()
        => |library, real| { record::complete(Function::MpiRequestFree, &list(library, 1, request), done(real, error)); };
}

/// A real call that reports success by the number it stores.
fn done(real: impl FnOnce(), error: Out) -> impl FnOnce() -> c_int {
    move || {
        real();
        // SAFETY: the real call has stored it there, unless it was left out; a
        // failure cannot be noticed then.
        if error.is_null() { 0 } else { unsafe { *error } }
    }
}

/// The longest name of a file that is looked at.
const MAX_PATH: usize = libc::PATH_MAX as usize;

fn open(
    library: usize,
    name: (*const c_char, usize),
    mode: c_int,
    file: Out,
    real: impl FnOnce() -> c_int,
) {
    if !is_on() {
        real();
        return;
    }
    let mut path = [0; MAX_PATH];
    put_name(&mut path, name);
    let real = || {
        clear_stack_below();
        real()
    };
    record::open(library, path.as_ptr().cast(), mode, real, || c_file(library, file));
}

/// If the file cannot be opened, MPICH's `mpi_file_open_f08` converts an uninitialised
/// handle: whatever is on the stack. Without us that is often zero; with us it would be
/// what we left there, and MPICH follows it.
#[inline(never)]
fn clear_stack_below() {
    let mut room = [0_u8; 1024];
    core::hint::black_box(&mut room);
}

fn delete(_library: usize, name: (*const c_char, usize), real: impl FnOnce() -> c_int) {
    if !is_on() {
        real();
        return;
    }
    let mut path = [0; MAX_PATH];
    put_name(&mut path, name);
    record::delete(path.as_ptr().cast(), real);
}

/// A name in Fortran has a length, and blanks around it that do not count. Older
/// compilers pass the length as an int, so that its upper half may be anything.
fn put_name(path: &mut [u8; MAX_PATH], (name, length): (*const c_char, usize)) {
    let length = (length as u32 as usize).min(MAX_PATH - 1);
    // SAFETY: the program's text of that length.
    let name = unsafe { core::slice::from_raw_parts(name.cast::<u8>(), length) };
    for (place, byte) in path.iter_mut().zip(name.trim_ascii()) {
        *place = *byte;
    }
}

fn number(at: In) -> c_int {
    // SAFETY: the real call reads it too.
    if at.is_null() { 0 } else { unsafe { *at } }
}

fn offset_at(at: Offset) -> i64 {
    // SAFETY: the real call reads it too.
    if at.is_null() { 0 } else { unsafe { *at } }
}

fn c_file(library: usize, file: In) -> Option<Handle> {
    if !is_on() || file.is_null() {
        return None;
    }
    MpiLibrary::of(library)?.file_of_fortran(number(file))
}

fn request_at(library: usize, requests: In, place: usize) -> Option<Handle> {
    if requests.is_null() {
        return None;
    }
    // SAFETY: the real call has stored them there, or will read them next.
    let request = unsafe { *requests.add(place) };
    MpiLibrary::of(library)?.request_of_fortran(request)
}

fn list(library: usize, count: c_int, requests: In) -> List<impl Fn(usize) -> Option<Handle>> {
    List { count, at: move |place| request_at(library, requests, place) }
}

fn set_view(
    library: usize,
    file: In,
    displacement: Offset,
    types: [In; 2],
    real: impl FnOnce() -> c_int,
) {
    let file = c_file(library, file);
    let types = types.map(|datatype| c_type(library, file, datatype));
    let view = View { displacement: offset_at(displacement), types };
    record::set_view(library, file, view, real);
}

/// A type that is used with a file, if the file is known.
fn c_type(library: usize, file: Option<Handle>, datatype: In) -> Option<Handle> {
    file.and_then(|_| MpiLibrary::of(library)?.type_of_fortran(number(datatype)))
}

/// At the file's own pointer.
fn here(library: usize, function: Function, file: In, count: In, datatype: In) -> Transfer {
    let file = c_file(library, file);
    let datatype = c_type(library, file, datatype);
    Transfer { function, file, place: AccessStart::Pointer, count: number(count).into(), datatype }
}

/// At the pointer that ranks share.
fn shared(library: usize, function: Function, file: In, count: In, datatype: In) -> Transfer {
    Transfer { place: AccessStart::Shared, ..here(library, function, file, count, datatype) }
}

/// At an offset of its own.
fn at(
    library: usize,
    function: Function,
    file: In,
    offset: Offset,
    count: In,
    datatype: In,
) -> Transfer {
    Transfer {
        place: AccessStart::At(offset_at(offset)),
        ..here(library, function, file, count, datatype)
    }
}
