// SPDX-License-Identifier: MIT OR Apache-2.0

//! What is recorded about a dataset when it is opened: its name, the shape of its
//! chunks, its filters; and of an attribute.

use super::functions::{Hdf5, Id};
use super::handles;
use super::noted::DatasetPlace;
use super::questions::{Extents, Properties};
use crate::files;

/// Longest name that is recorded; objects with longer ones have none.
const NAME_BYTES: usize = 1024;
/// Room for what follows it; what does not fit is left out.
const NOTE_BYTES: usize = 512;

/// Names of objects as the reader receives them.
#[derive(Clone, Copy, Default)]
pub(super) struct NamedObject {
    /// Identity of the name alone.
    pub(super) object: u64,
    /// Identity of the name with what is noted at the opening.
    pub(super) with_notes: u64,
}

/// How a dataset came to be known.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DatasetOrigin {
    Opened,
    Created,
    /// It has no name that HDF5 has stored.
    Nameless,
}

/// Names a dataset that was just opened, with its chunks and filters. They are not
/// asked for again if `place` shows, by file and name, that they are known.
#[inline(never)]
pub(super) fn of_dataset(
    hdf5: Hdf5,
    dataset: Id,
    (origin, place): (DatasetOrigin, impl FnOnce(u64) -> Option<DatasetPlace>),
) -> NamedObject {
    let mut text = Text::new();
    if !text.push_answer(|room| hdf5.object_name(dataset, room)) {
        return NamedObject::default();
    }
    let object = files::object_identity(text.bytes());
    let place = place(object).filter(|_| object != 0);
    if let (DatasetOrigin::Opened, Some(with_notes)) = (origin, place.and_then(DatasetPlace::noted))
    {
        return NamedObject { object, with_notes };
    }
    let name_bytes = text.length;
    hdf5.with_properties(dataset, |properties| text.push_notes(&properties));
    let is_noted = text.length > name_bytes;
    let with_notes = if is_noted { files::object_identity(text.bytes()) } else { object };
    if let Some(place) = place.filter(|_| with_notes != 0 && hdf5.is_native(dataset)) {
        place.keep(with_notes);
    }
    NamedObject { object, with_notes }
}

/// Names an object of which nothing but its path is recorded.
#[inline(never)]
pub(super) fn of_object(hdf5: Hdf5, object: Id) -> u64 {
    let mut text = Text::new();
    let is_named = text.push_answer(|room| hdf5.object_name(object, room));
    if is_named { files::object_identity(text.bytes()) } else { 0 }
}

/// Names an object by its path from the root of the file.
pub(super) fn from_root(path: &[u8]) -> u64 {
    let mut text = Text::new();
    text.push(b"/");
    text.push_path(path);
    files::object_identity(text.bytes())
}

/// The object whose attribute is named.
#[derive(Clone, Copy)]
pub(super) enum Owner<'a> {
    /// An object for which HDF5 knows no name.
    Nameless,
    /// HDF5 finds it through the attribute.
    Known,
    /// An object by its path below another, which HDF5 knows.
    Below(Id, &'a [u8]),
}

impl<'a> Owner<'a> {
    /// By the path below a place.
    pub(super) fn below(hdf5: Hdf5, place: Id, path: &'a [u8]) -> Owner<'a> {
        match path {
            _ if handles::is_nameless(hdf5, place) => Owner::Nameless,
            b"." => Owner::Known,
            _ => Owner::Below(place, path),
        }
    }

    /// By the attribute.
    pub(super) fn of(hdf5: Hdf5, attribute: Id) -> Owner<'a> {
        if handles::is_nameless(hdf5, attribute) { Owner::Nameless } else { Owner::Known }
    }
}

/// Names an attribute after its object: `/pressure@units`.
#[inline(never)]
pub(super) fn of_attribute(hdf5: Hdf5, attribute: Id, owner: Owner<'_>) -> u64 {
    let mut text = Text::new();
    match owner {
        Owner::Nameless => {}
        Owner::Known => {
            text.push_answer(|room| hdf5.object_name(attribute, room));
        }
        Owner::Below(place, path) => {
            text.push_answer(|room| hdf5.object_name(place, room));
            text.push_path(path);
        }
    }
    text.push(b"@");
    let is_named = text.push_answer(|room| hdf5.attribute_name(attribute, room));
    if is_named { files::object_identity(text.bytes()) } else { 0 }
}

/// Names an attribute of the object at a path from the root of the file.
pub(super) fn of_attribute_from_root(path: &[u8], name: &[u8]) -> u64 {
    let mut text = Text::new();
    text.push(b"/");
    text.push_path(path);
    text.push(b"@");
    text.push(name);
    files::object_identity(text.bytes())
}

/// Text of a bounded length.
struct Text {
    bytes: [u8; NAME_BYTES + NOTE_BYTES],
    length: usize,
}

impl Text {
    fn new() -> Text {
        Text { bytes: [0; NAME_BYTES + NOTE_BYTES], length: 0 }
    }

    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Lets HDF5 append to the text; returns whether it did.
    fn push_answer(&mut self, ask: impl FnOnce(&mut [u8]) -> Option<&[u8]>) -> bool {
        let room = self.bytes.get_mut(self.length..NAME_BYTES).unwrap_or_default();
        let n_bytes = ask(room).map(<[u8]>::len);
        self.length += n_bytes.unwrap_or(0);
        n_bytes.is_some()
    }

    fn push(&mut self, more: &[u8]) {
        let end = self.length.saturating_add(more.len());
        if let Some(room) = self.bytes.get_mut(self.length..end) {
            room.copy_from_slice(more);
            self.length = end;
        }
    }

    /// A path below the one that is there, or in its place if it begins at the root.
    fn push_path(&mut self, path: &[u8]) {
        if path.first() == Some(&b'/') {
            self.length = 0;
        } else if path == b"." {
            return;
        } else if self.bytes().last() != Some(&b'/') {
            self.push(b"/");
        }
        self.push(path);
    }

    fn push_number(&mut self, number: u64) {
        let mut digits = [0; 20];
        let mut first = digits.len();
        let mut rest = number;
        for digit in digits.iter_mut().rev() {
            *digit = b'0' + (rest % 10) as u8;
            rest /= 10;
            first -= 1;
            if rest == 0 {
                break;
            }
        }
        self.push(digits.get(first..).unwrap_or_default());
    }

    fn push_notes(&mut self, properties: &Properties) {
        if let Some(chunk) = properties.chunk() {
            self.push(b"\0chunk=");
            self.push_extents(chunk);
        }
        let mut separator: &[u8] =
            if self.bytes().contains(&0) { b" filters=" } else { b"\0filters=" };
        for filter in properties.filters() {
            self.push(separator);
            self.push_filter(filter);
            separator = b":";
        }
    }

    fn push_extents(&mut self, (rank, extents): (usize, Extents)) {
        for (place, extent) in extents.iter().take(rank).enumerate() {
            if place > 0 {
                self.push(b":");
            }
            self.push_number(*extent);
        }
    }

    /// HDF5's own filters, and the best known of those that are registered, by
    /// their names; others by number.
    fn push_filter(&mut self, filter: i32) {
        let name: &[u8] = match filter {
            1 => b"deflate",
            2 => b"shuffle",
            3 => b"fletcher32",
            4 => b"szip",
            5 => b"nbit",
            6 => b"scaleoffset",
            307 => b"bzip2",
            32000 => b"lzf",
            32001 => b"blosc",
            32004 => b"lz4",
            32008 => b"bitshuffle",
            32013 => b"zfp",
            32015 => b"zstd",
            32017 => b"sz",
            32026 => b"blosc2",
            _ => return self.push_number(u64::from(filter.unsigned_abs())),
        };
        self.push(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_written_without_an_allocation() {
        let mut text = Text::new();
        assert!(text.push_answer(|room| {
            room[..2].copy_from_slice(b"/x");
            room.get(..2)
        }));
        text.push(b"\0chunk=");
        let mut extents = [0; 32];
        extents[..3].copy_from_slice(&[100, 0, u64::MAX]);
        text.push_extents((3, extents));
        for filter in [2, 1, 32_768] {
            text.push(b",");
            text.push_filter(filter);
        }
        assert_eq!(text.bytes(), b"/x\0chunk=100:0:18446744073709551615,shuffle,deflate,32768");
        // What does not fit is left out.
        text.push(&[b'a'; NAME_BYTES + NOTE_BYTES]);
        assert!(text.bytes().ends_with(b"32768"));
        assert!(!text.push_answer(|_| None));
    }

    #[test]
    fn paths_go_on_from_where_they_begin() {
        let check = |place: &str, path: &str, expected: &str| {
            let mut text = Text::new();
            text.push(place.as_bytes());
            text.push_path(path.as_bytes());
            assert_eq!(text.bytes(), expected.as_bytes());
        };
        check("/", "a/b", "/a/b");
        check("/group", "a", "/group/a");
        check("/group", "/a", "/a");
        check("/group", ".", "/group");
        check("/", ".", "/");
    }
}
