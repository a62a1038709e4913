// SPDX-License-Identifier: MIT OR Apache-2.0

//! The rows of HDF5, of all versions since 1.8.
//!
//! There are no rows for `H5open`, `H5close` or `H5get_libversion`: programs may
//! test for these to learn whether they have HDF5, and must not find ours.
//! Functions that only lead to an object are rows where their objects have no
//! name: HDF5 must not be asked for it then.

use core::ffi::{c_char, c_int, c_uint};

use ioracle_spool::Function;

use super::functions::Id;
use super::record;
use super::record::{Closing, Given, When};
use super::selected::{Asked, Lists};
use crate::library::library;

/// An argument that only passes through.
type Word = usize;

library! {
    // What HDF5 returns on failure, as an identifier and as a code.
    missing -1;

    [H5Fcreate] (name: *const c_char, flags: c_uint, creation: Id, access: Id) -> Id
        => |library, real| record::open_file(library, Function::H5Fcreate, name, real);
    [H5Fopen] (name: *const c_char, flags: c_uint, access: Id) -> Id
        => |library, real| record::open_file(library, Function::H5Fopen, name, real);
    [H5Freopen] (file: Id) -> Id
        => |library, real| record::reopen_file(library, file, real);
    [H5Fclose] (file: Id) -> c_int
        => |library, real| record::close(library, (file, Closing::Object(When::Now)), real);
    [H5Fflush] (object: Id, scope: c_int) -> c_int
        => |library, real| record::on_file(library, Function::H5Fflush, (object, When::Now), real);

    [H5Dcreate1] (place: Id, name: *const c_char, datatype: Id, space: Id, creation: Id) -> Id
        => |library, real| record::open_object(library, Function::H5Dcreate, place, real);
    [H5Dcreate2] (place: Id, name: *const c_char, datatype: Id, space: Id, link: Id, creation: Id, access: Id) -> Id
        => |library, real| record::open_object(library, Function::H5Dcreate, place, real);
    [H5Dcreate_anon] (place: Id, datatype: Id, space: Id, creation: Id, access: Id) -> Id
        => |library, real| record::create_nameless(library, place, real);
    [H5Dopen1] (place: Id, name: *const c_char) -> Id
        => |library, real| record::open_object(library, Function::H5Dopen, place, real);
    [H5Dopen2] (place: Id, name: *const c_char, access: Id) -> Id
        => |library, real| record::open_object(library, Function::H5Dopen, place, real);
    [H5Dclose] (dataset: Id) -> c_int
        => |library, real| record::close(library, (dataset, Closing::Object(When::Now)), real);
    [H5Dread] (dataset: Id, memory_type: Id, memory_space: Id, file_space: Id, transfer: Id, buffer: Word) -> c_int
        => |library, real| record::transfer(library, Function::H5Dread, Asked { dataset, memory_type, memory_space, file_space, when: When::Now }, real);
    [H5Dwrite] (dataset: Id, memory_type: Id, memory_space: Id, file_space: Id, transfer: Id, buffer: Word) -> c_int
        => |library, real| record::transfer(library, Function::H5Dwrite, Asked { dataset, memory_type, memory_space, file_space, when: When::Now }, real);
    [H5Dset_extent, H5Dextend] (dataset: Id, lengths: *const u64) -> c_int
        => |library, real| record::set_extent(library, (dataset, When::Now), lengths, real);
    [H5Dflush] (dataset: Id) -> c_int
        => |library, real| record::on_dataset(library, Function::H5Dflush, dataset, real);
    [H5Drefresh, H5Orefresh] (object: Id) -> c_int
        => |_library, real| record::refresh(real);
    [H5Dread_chunk, H5Dread_chunk1] (dataset: Id, transfer: Id, offset: *const u64, filters: Word, buffer: Word) -> c_int
        => |library, real| record::transfer_chunk(library, Function::H5DreadChunk, dataset, offset, real, |hdf5| hdf5.chunk_bytes(dataset, offset));
    [H5Dread_chunk2] (dataset: Id, transfer: Id, offset: *const u64, filters: Word, buffer: Word, bytes: Word) -> c_int
        => |library, real| record::transfer_chunk(library, Function::H5DreadChunk, dataset, offset, real, |hdf5| hdf5.chunk_bytes(dataset, offset));
    [H5Dwrite_chunk] (dataset: Id, transfer: Id, filters: u32, offset: *const u64, bytes: Word, buffer: Word) -> c_int
        => |library, real| record::transfer_chunk(library, Function::H5DwriteChunk, dataset, offset, real, |_| Some(bytes as u64));

    [H5Dread_multi] (count: usize, datasets: *const Id, memory_types: *const Id, memory_spaces: *const Id, file_spaces: *const Id, transfer: Id, buffers: Word) -> c_int
        => |library, real| record::transfer_many(library, Function::H5Dread, Lists { count, datasets, memory_types, memory_spaces, file_spaces, when: When::Now }, real);
    [H5Dwrite_multi] (count: usize, datasets: *const Id, memory_types: *const Id, memory_spaces: *const Id, file_spaces: *const Id, transfer: Id, buffers: Word) -> c_int
        => |library, real| record::transfer_many(library, Function::H5Dwrite, Lists { count, datasets, memory_types, memory_spaces, file_spaces, when: When::Now }, real);

    [H5Aread] (attribute: Id, datatype: Id, buffer: Word) -> c_int
        => |library, real| record::transfer_attribute(library, Function::H5Aread, (attribute, When::Now), real);
    [H5Awrite] (attribute: Id, datatype: Id, buffer: Word) -> c_int
        => |library, real| record::transfer_attribute(library, Function::H5Awrite, (attribute, When::Now), real);

    [H5Aclose] (attribute: Id) -> c_int
        => |library, real| record::close_attribute(library, attribute, real);

    [H5Oopen] (place: Id, name: *const c_char, link: Id) -> Id
        => |library, real| record::open_object(library, Function::H5Oopen, place, real);
    [H5Oclose] (object: Id) -> c_int
        => |library, real| record::close(library, (object, Closing::Object(When::Now)), real);
    [H5Idec_ref] (id: Id) -> c_int
        => |library, real| record::close(library, (id, Closing::Reference), real);

    [H5Gcreate1, H5Gopen2] (place: Id, name: *const c_char, more: Word) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Gcreate2] (place: Id, name: *const c_char, link: Id, creation: Id, access: Id) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Gopen1] (place: Id, name: *const c_char) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Acreate1] (place: Id, name: *const c_char, datatype: Id, space: Id, creation: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::Now, real);
    [H5Acreate2] (place: Id, name: *const c_char, datatype: Id, space: Id, creation: Id, access: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::Now, real);
    [H5Acreate_by_name] (place: Id, object: *const c_char, name: *const c_char, datatype: Id, space: Id, creation: Id, access: Id, link: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given { object, name }), When::Now, real);
    [H5Aopen] (place: Id, name: *const c_char, access: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::Now, real);
    [H5Aopen_name] (place: Id, name: *const c_char) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::Now, real);
    [H5Aopen_idx] (place: Id, number: c_uint) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(core::ptr::null())), When::Now, real);
    [H5Aopen_by_name] (place: Id, object: *const c_char, name: *const c_char, access: Id, link: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given { object, name }), When::Now, real);
    [H5Aopen_by_idx] (place: Id, object: *const c_char, index: c_int, order: c_int, number: u64, access: Id, link: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::numbered(object)), When::Now, real);
    [H5Oopen_by_idx] (place: Id, group: *const c_char, index: c_int, order: c_int, number: u64, link: Id) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Ldelete] (place: Id, name: Word, access: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Ldelete_by_idx] (place: Id, group: Word, index: c_int, order: c_int, number: u64, access: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Lmove] (place: Id, name: Word, target: Id, new_name: Word, creation: Id, access: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Gmove] (place: Id, name: Word, new_name: Word) -> c_int
        => |_library, real| record::change_names(real);
    [H5Gmove2] (place: Id, name: Word, target: Id, new_name: Word) -> c_int
        => |_library, real| record::change_names(real);
    [H5Gunlink, H5Funmount] (place: Id, name: Word) -> c_int
        => |_library, real| record::change_names(real);
    [H5Fmount] (place: Id, name: Word, child: Id, properties: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Lregister] (class: Word) -> c_int
        => |_library, real| record::register_links(real);

    [H5Gcreate_anon] (place: Id, creation: Id, access: Id) -> Id
        => |library, real| record::open_nameless(library, real);
    [H5Oopen_by_addr] (place: Id, address: u64) -> Id
        => |library, real| record::open_nameless(library, real);
    [H5Oopen_by_token] (place: Id, token: u64, rest: u64) -> Id
        => |library, real| record::open_nameless(library, real);
    [H5Rdereference, H5Rdereference1] (place: Id, kind: c_int, reference: Word) -> Id
        => |library, real| record::open_nameless(library, real);
    [H5Rdereference2] (place: Id, access: Id, kind: c_int, reference: Word) -> Id
        => |library, real| record::open_nameless(library, real);
    [H5Ropen_object, H5Ropen_attr] (reference: Word, access: Id, object_access: Id) -> Id
        => |library, real| record::open_nameless(library, real);

    [H5Ldelete_async] (source: Word, caller: Word, line: c_uint, place: Id, name: Word, access: Id, events: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Ldelete_by_idx_async] (source: Word, caller: Word, line: c_uint, place: Id, group: Word, index: c_int, order: c_int, number: u64, access: Id, events: Id) -> c_int
        => |_library, real| record::change_names(real);
    [H5Fcreate_async] (source: Word, caller: Word, line: c_uint, name: *const c_char, flags: c_uint, creation: Id, access: Id, events: Id) -> Id
        => |library, real| record::open_file(library, Function::H5Fcreate, name, real);
    [H5Fopen_async] (source: Word, caller: Word, line: c_uint, name: *const c_char, flags: c_uint, access: Id, events: Id) -> Id
        => |library, real| record::open_file(library, Function::H5Fopen, name, real);
    [H5Freopen_async] (source: Word, caller: Word, line: c_uint, file: Id, events: Id) -> Id
        => |library, real| record::reopen_file(library, file, real);
    [H5Fclose_async, H5Dclose_async, H5Oclose_async] (source: Word, caller: Word, line: c_uint, id: Id, events: Id) -> c_int
        => |library, real| record::close(library, (id, Closing::Object(When::of(events))), real);
    [H5Fflush_async] (source: Word, caller: Word, line: c_uint, object: Id, scope: c_int, events: Id) -> c_int
        => |library, real| record::on_file(library, Function::H5Fflush, (object, When::of(events)), real);
    [H5Dcreate_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, datatype: Id, space: Id, link: Id, creation: Id, access: Id, events: Id) -> Id
        => |library, real| record::open_object_async(library, Function::H5Dcreate, (place, name), When::of(events), real);
    [H5Dopen_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, access: Id, events: Id) -> Id
        => |library, real| record::open_object_async(library, Function::H5Dopen, (place, name), When::of(events), real);
    [H5Oopen_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, access: Id, events: Id) -> Id
        => |library, real| record::open_object_async(library, Function::H5Oopen, (place, name), When::of(events), real);
    [H5Dset_extent_async] (source: Word, caller: Word, line: c_uint, dataset: Id, lengths: *const u64, events: Id) -> c_int
        => |library, real| record::set_extent(library, (dataset, When::of(events)), lengths, real);
    [H5Dread_async] (source: Word, caller: Word, line: c_uint, dataset: Id, memory_type: Id, memory_space: Id, file_space: Id, transfer: Id, buffer: Word, events: Id) -> c_int
        => |library, real| record::transfer(library, Function::H5Dread, Asked { dataset, memory_type, memory_space, file_space, when: When::of(events) }, real);
    [H5Dwrite_async] (source: Word, caller: Word, line: c_uint, dataset: Id, memory_type: Id, memory_space: Id, file_space: Id, transfer: Id, buffer: Word, events: Id) -> c_int
        => |library, real| record::transfer(library, Function::H5Dwrite, Asked { dataset, memory_type, memory_space, file_space, when: When::of(events) }, real);
    [H5Dread_multi_async] (source: Word, caller: Word, line: c_uint, count: usize, datasets: *const Id, memory_types: *const Id, memory_spaces: *const Id, file_spaces: *const Id, transfer: Id, buffers: Word, events: Id) -> c_int
        => |library, real| record::transfer_many(library, Function::H5Dread, Lists { count, datasets, memory_types, memory_spaces, file_spaces, when: When::of(events) }, real);
    [H5Dwrite_multi_async] (source: Word, caller: Word, line: c_uint, count: usize, datasets: *const Id, memory_types: *const Id, memory_spaces: *const Id, file_spaces: *const Id, transfer: Id, buffers: Word, events: Id) -> c_int
        => |library, real| record::transfer_many(library, Function::H5Dwrite, Lists { count, datasets, memory_types, memory_spaces, file_spaces, when: When::of(events) }, real);
    [H5Acreate_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, datatype: Id, space: Id, creation: Id, access: Id, events: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::of(events), real);
    [H5Acreate_by_name_async] (source: Word, caller: Word, line: c_uint, place: Id, object: *const c_char, name: *const c_char, datatype: Id, space: Id, creation: Id, access: Id, link: Id, events: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given { object, name }), When::of(events), real);
    [H5Aopen_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, access: Id, events: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::of_place(name)), When::of(events), real);
    [H5Aopen_by_name_async] (source: Word, caller: Word, line: c_uint, place: Id, object: *const c_char, name: *const c_char, access: Id, link: Id, events: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given { object, name }), When::of(events), real);
    [H5Aopen_by_idx_async] (source: Word, caller: Word, line: c_uint, place: Id, object: *const c_char, index: c_int, order: c_int, number: u64, access: Id, link: Id, events: Id) -> Id
        => |library, real| record::open_attribute(library, (place, Given::numbered(object)), When::of(events), real);
    [H5Aread_async] (source: Word, caller: Word, line: c_uint, attribute: Id, datatype: Id, buffer: Word, events: Id) -> c_int
        => |library, real| record::transfer_attribute(library, Function::H5Aread, (attribute, When::of(events)), real);
    [H5Awrite_async] (source: Word, caller: Word, line: c_uint, attribute: Id, datatype: Id, buffer: Word, events: Id) -> c_int
        => |library, real| record::transfer_attribute(library, Function::H5Awrite, (attribute, When::of(events)), real);
    [H5Aclose_async] (source: Word, caller: Word, line: c_uint, attribute: Id, events: Id) -> c_int
        => |library, real| record::close_attribute(library, attribute, real);
    [H5Gcreate_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, link: Id, creation: Id, access: Id, events: Id) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Gopen_async] (source: Word, caller: Word, line: c_uint, place: Id, name: *const c_char, access: Id, events: Id) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Oopen_by_idx_async] (source: Word, caller: Word, line: c_uint, place: Id, group: *const c_char, index: c_int, order: c_int, number: u64, link: Id, events: Id) -> Id
        => |library, real| record::open_below(library, place, real);
    [H5Ropen_object_async, H5Ropen_attr_async] (source: Word, caller: Word, line: c_uint, reference: Word, access: Id, object_access: Id, events: Id) -> Id
        => |library, real| record::open_nameless(library, real);
}
