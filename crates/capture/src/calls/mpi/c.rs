// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of MPI-IO in C, with the large-count forms of MPI-4 (`_c`).
//!
//! There are no rows for `MPI_Init`, `MPI_Initialized`, `MPI_Finalize` or
//! `MPI_Comm_rank`: programs test for these to learn whether they have MPI, and
//! must not find ours.

use core::ffi::{c_char, c_int, c_void};

use ioracle_spool::Function;

use super::helpers::{Handle, MpiLibrary};
use super::record;
use super::record::{AccessStart, List, Transfer, View};
use crate::library::library;

/// An argument that only passes through.
type Word = usize;

library! {
    missing NO_MPI;

    [MPI_File_open] (comm: Handle, path: *const c_char, mode: c_int, info: Handle, file: *mut Handle) -> c_int
        => |library, real| record::open(library, path, mode, real, || handle_at(file));
    [MPI_File_close] (file: *mut Handle) -> c_int
        => |_library, real| record::close(handle_at(file), real);
    [MPI_File_delete] (path: *const c_char, info: Handle) -> c_int
        => |_library, real| record::delete(path, real);
    [MPI_File_set_view] (file: Handle, displacement: i64, etype: Handle, filetype: Handle, representation: Word, info: Handle) -> c_int
        => |library, real| record::set_view(library, Some(file), View { displacement, types: [Some(etype), Some(filetype)] }, real);
    [MPI_File_get_view] (file: Handle, displacement: Word, etype: Word, filetype: Word, representation: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiGetView, Some(file), 0, real);
    [MPI_File_seek] (file: Handle, offset: i64, whence: c_int) -> c_int
        => |library, real| record::seek(library, Some(file), whence, real);
    [MPI_File_seek_shared] (file: Handle, offset: i64, whence: c_int) -> c_int
        => |_library, real| record::on_file(Function::MpiSeekShared, Some(file), 0, real);
    [MPI_File_sync] (file: Handle) -> c_int
        => |_library, real| record::on_file(Function::MpiSync, Some(file), 0, real);
    [MPI_File_set_size] (file: Handle, size: i64) -> c_int
        => |_library, real| record::on_file(Function::MpiSetSize, Some(file), size, real);
    [MPI_File_preallocate] (file: Handle, size: i64) -> c_int
        => |_library, real| record::on_file(Function::MpiPreallocate, Some(file), size, real);


    [MPI_File_read] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiRead, file, count, datatype), real);
    [MPI_File_read_at] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAt, file, offset, count, datatype), real);
    [MPI_File_read_all] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiReadAll, file, count, datatype), real);
    [MPI_File_read_at_all] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAtAll, file, offset, count, datatype), real);
    [MPI_File_read_shared] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadShared, file, count, datatype), real);
    [MPI_File_read_ordered] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadOrdered, file, count, datatype), real);
    [MPI_File_iread] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIread, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_at] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIreadAt, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_all] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIreadAll, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_at_all] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIreadAtAll, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_shared] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, shared(Function::MpiIreadShared, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_read_all_begin] (file: Handle, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiReadAllBegin, file, count, datatype), real);
    [MPI_File_read_all_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiReadAllEnd, Some(file), 0, real);
    [MPI_File_read_at_all_begin] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAtAllBegin, file, offset, count, datatype), real);
    [MPI_File_read_at_all_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiReadAtAllEnd, Some(file), 0, real);
    [MPI_File_read_ordered_begin] (file: Handle, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadOrderedBegin, file, count, datatype), real);
    [MPI_File_read_ordered_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiReadOrderedEnd, Some(file), 0, real);

    [MPI_File_write] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWrite, file, count, datatype), real);
    [MPI_File_write_at] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAt, file, offset, count, datatype), real);
    [MPI_File_write_all] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWriteAll, file, count, datatype), real);
    [MPI_File_write_at_all] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAtAll, file, offset, count, datatype), real);
    [MPI_File_write_shared] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteShared, file, count, datatype), real);
    [MPI_File_write_ordered] (file: Handle, buffer: Word, count: c_int, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteOrdered, file, count, datatype), real);
    [MPI_File_iwrite] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIwrite, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_at] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIwriteAt, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_all] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIwriteAll, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_at_all] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIwriteAtAll, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_shared] (file: Handle, buffer: Word, count: c_int, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, shared(Function::MpiIwriteShared, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_write_all_begin] (file: Handle, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWriteAllBegin, file, count, datatype), real);
    [MPI_File_write_all_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiWriteAllEnd, Some(file), 0, real);
    [MPI_File_write_at_all_begin] (file: Handle, offset: i64, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAtAllBegin, file, offset, count, datatype), real);
    [MPI_File_write_at_all_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiWriteAtAllEnd, Some(file), 0, real);
    [MPI_File_write_ordered_begin] (file: Handle, buffer: Word, count: c_int, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteOrderedBegin, file, count, datatype), real);
    [MPI_File_write_ordered_end] (file: Handle, buffer: Word, status: Word) -> c_int
        => |_library, real| record::on_file(Function::MpiWriteOrderedEnd, Some(file), 0, real);

    [MPI_File_read_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiRead, file, count, datatype), real);
    [MPI_File_read_at_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAt, file, offset, count, datatype), real);
    [MPI_File_read_all_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiReadAll, file, count, datatype), real);
    [MPI_File_read_at_all_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAtAll, file, offset, count, datatype), real);
    [MPI_File_read_shared_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadShared, file, count, datatype), real);
    [MPI_File_read_ordered_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadOrdered, file, count, datatype), real);
    [MPI_File_iread_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIread, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_at_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIreadAt, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_all_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIreadAll, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_at_all_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIreadAtAll, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iread_shared_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, shared(Function::MpiIreadShared, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_read_all_begin_c] (file: Handle, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiReadAllBegin, file, count, datatype), real);
    [MPI_File_read_at_all_begin_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiReadAtAllBegin, file, offset, count, datatype), real);
    [MPI_File_read_ordered_begin_c] (file: Handle, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiReadOrderedBegin, file, count, datatype), real);

    [MPI_File_write_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWrite, file, count, datatype), real);
    [MPI_File_write_at_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAt, file, offset, count, datatype), real);
    [MPI_File_write_all_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWriteAll, file, count, datatype), real);
    [MPI_File_write_at_all_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAtAll, file, offset, count, datatype), real);
    [MPI_File_write_shared_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteShared, file, count, datatype), real);
    [MPI_File_write_ordered_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, status: Word) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteOrdered, file, count, datatype), real);
    [MPI_File_iwrite_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIwrite, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_at_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIwriteAt, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_all_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, here(Function::MpiIwriteAll, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_at_all_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, at(Function::MpiIwriteAtAll, file, offset, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_iwrite_shared_c] (file: Handle, buffer: Word, count: i64, datatype: Handle, request: Requests) -> c_int
        => |library, real| record::submit(library, shared(Function::MpiIwriteShared, file, count, datatype), real, || request_at(library, request, 0));
    [MPI_File_write_all_begin_c] (file: Handle, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, here(Function::MpiWriteAllBegin, file, count, datatype), real);
    [MPI_File_write_at_all_begin_c] (file: Handle, offset: i64, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, at(Function::MpiWriteAtAllBegin, file, offset, count, datatype), real);
    [MPI_File_write_ordered_begin_c] (file: Handle, buffer: Word, count: i64, datatype: Handle) -> c_int
        => |library, real| record::transfer(library, shared(Function::MpiWriteOrderedBegin, file, count, datatype), real);

    [MPI_Wait] (request: Requests, status: Word) -> c_int
        => |library, real| record::complete(Function::MpiWait, &list(library, 1, request), real);
    [MPI_Waitany] (count: c_int, requests: Requests, index: Word, status: Word) -> c_int
        => |library, real| record::complete(Function::MpiWait, &list(library, count, requests), real);
    [MPI_Waitall] (count: c_int, requests: Requests, statuses: Word) -> c_int
        => |library, real| record::complete(Function::MpiWait, &list(library, count, requests), real);
    [MPI_Waitsome] (count: c_int, requests: Requests, n_done: Word, indices: Word, statuses: Word) -> c_int
        => |library, real| record::complete(Function::MpiWait, &list(library, count, requests), real);
    [MPI_Test] (request: Requests, flag: Word, status: Word) -> c_int
        => |library, real| record::complete(Function::MpiTest, &list(library, 1, request), real);
    [MPI_Testany] (count: c_int, requests: Requests, index: Word, flag: Word, status: Word) -> c_int
        => |library, real| record::complete(Function::MpiTest, &list(library, count, requests), real);
    [MPI_Testall] (count: c_int, requests: Requests, flag: Word, statuses: Word) -> c_int
        => |library, real| record::complete(Function::MpiTest, &list(library, count, requests), real);
    [MPI_Testsome] (count: c_int, requests: Requests, n_done: Word, indices: Word, statuses: Word) -> c_int
        => |library, real| record::complete(Function::MpiTest, &list(library, count, requests), real);
    [MPI_Request_free] (request: Requests) -> c_int
        => |library, real| record::complete(Function::MpiRequestFree, &list(library, 1, request), real);
}

/// What a program gets if it finds our functions without having an MPI: some error.
/// Each MPI has its own error numbers.
const NO_MPI: c_int = 16;

/// A list of requests, which are 4 bytes in MPICH and 8 in Open MPI.
type Requests = *const c_void;

fn handle_at(file: *const Handle) -> Option<Handle> {
    // SAFETY: the real call has stored it there, or will read it next.
    (!file.is_null()).then(|| unsafe { *file })
}

fn request_at(library: usize, requests: Requests, place: usize) -> Option<Handle> {
    if requests.is_null() {
        return None;
    }
    let is_open_mpi = MpiLibrary::of(library)?.is_open_mpi();
    // SAFETY: the real call has stored them there, or will read them next.
    unsafe {
        if is_open_mpi {
            Some(*requests.cast::<usize>().add(place))
        } else {
            Some(*requests.cast::<u32>().add(place) as Handle)
        }
    }
}

fn list(
    library: usize,
    count: c_int,
    requests: Requests,
) -> List<impl Fn(usize) -> Option<Handle>> {
    List { count, at: move |place| request_at(library, requests, place) }
}

/// At the file's own pointer.
fn here(function: Function, file: Handle, count: impl Into<i64>, datatype: Handle) -> Transfer {
    let (file, datatype) = (Some(file), Some(datatype));
    Transfer { function, file, place: AccessStart::Pointer, count: count.into(), datatype }
}

/// At the pointer that ranks share.
fn shared(function: Function, file: Handle, count: impl Into<i64>, datatype: Handle) -> Transfer {
    Transfer { place: AccessStart::Shared, ..here(function, file, count, datatype) }
}

/// At an offset of its own.
fn at(
    function: Function,
    file: Handle,
    offset: i64,
    count: impl Into<i64>,
    datatype: Handle,
) -> Transfer {
    Transfer { place: AccessStart::At(offset), ..here(function, file, count, datatype) }
}
