// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the program's descriptors are.
//!
//! A table indexed by descriptor, in chunks that are mapped when first used.
//! It knows which descriptors are files that are recorded, under which identity,
//! and where the next `read` or `write` will be. Descriptors that were never
//! seen being opened (inherited ones, those libc opened inside itself) are asked
//! about when first used.
//!
//! Positions are kept here only as long as nothing else can move them. Once a
//! descriptor was duplicated, wrapped by a stdio stream, opened to append, or may be
//! shared with a child, the kernel is asked instead, at the cost of one lseek per call.

use core::sync::atomic::{
    AtomicBool, AtomicI64, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering,
};

use crate::recorder::RECORDER;
use crate::sys;

const CHUNK: usize = 1024;
const CHUNKS: usize = 1024;

static FIRST: [DescriptorEntry; CHUNK] = [const { DescriptorEntry::new() }; CHUNK];
static CHUNKS_BEYOND: [AtomicPtr<[DescriptorEntry; CHUNK]>; CHUNKS] =
    [const { AtomicPtr::new(core::ptr::null_mut()) }; CHUNKS];

/// What is known about a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorKind {
    /// Nothing yet.
    Unknown,
    /// Not recorded: not a regular file, or excluded.
    Ignored,
    /// A recorded file.
    File,
}

/// Bits of [`DescriptorEntry::state`].
const KIND_IGNORED: u32 = 1;
const KIND_FILE: u32 = 2;
const KINDS: u32 = 3;
/// The kernel must be asked for the position.
const ASK: u32 = 4;
/// Closed when the process executes another program.
const CLOSED_ON_EXEC: u32 = 8;

/// Stands for the identity of a file whose path could not be found out.
const NAMELESS: u64 = u64::MAX;

/// Its path could not be defined.
const UNDEFINED: u32 = 16;

/// Whether there is a row with this mark.
static ANY_UNDEFINED: AtomicBool = AtomicBool::new(false);

/// A row of the table.
pub(crate) struct DescriptorEntry {
    state: AtomicU32,
    /// [`RECORDER`]'s sharing epoch when the position was last known to be ours alone.
    epoch: AtomicU32,
    file: AtomicU64,
    /// Identity of the file that is being closed with a range of descriptors, see
    /// [`DescriptorEntry::begin_close`]; 0: none is.
    closing: AtomicU64,
    position: AtomicI64,
    /// Identity of the directory that a `DIR` over it has open; 0: none.
    directory: AtomicU64,
    /// State of the stdio stream over it when `position` was last known.
    stream: [AtomicUsize; 2],
}

impl DescriptorEntry {
    const fn new() -> DescriptorEntry {
        DescriptorEntry {
            stream: [const { AtomicUsize::new(0) }; 2],
            state: AtomicU32::new(0),
            epoch: AtomicU32::new(0),
            file: AtomicU64::new(0),
            closing: AtomicU64::new(0),
            position: AtomicI64::new(0),
            directory: AtomicU64::new(0),
        }
    }

    /// What is known about the descriptor.
    #[inline]
    pub(crate) fn kind(&self) -> DescriptorKind {
        match self.state.load(Ordering::Acquire) & KINDS {
            0 => DescriptorKind::Unknown,
            KIND_FILE => DescriptorKind::File,
            _ => DescriptorKind::Ignored,
        }
    }

    /// Identity of the path, 0 if unknown.
    #[inline]
    pub(crate) fn file(&self) -> u64 {
        self.file.load(Ordering::Relaxed)
    }

    /// Where the next access starts, before it is made.
    pub(crate) fn position(&self, fd: i32) -> i64 {
        if self.is_ours() {
            self.position.load(Ordering::Relaxed)
        } else {
            sys::position(fd).map_or(-1, |position| position as i64)
        }
    }

    /// Where an access at the position started that moved this many bytes.
    #[inline]
    pub(crate) fn advance(&self, fd: i32, moved: i64) -> i64 {
        let moved = moved.max(0);
        if self.is_ours() {
            return self.position.fetch_add(moved, Ordering::Relaxed);
        }
        match sys::position(fd) {
            Ok(position) => (position as i64).saturating_sub(moved),
            Err(_) => -1,
        }
    }

    /// Position of the stdio stream over this descriptor, if the stream is still
    /// in the state in which we left it.
    #[inline]
    pub(crate) fn stream_position(&self, state: [usize; 2]) -> Option<i64> {
        let [read, write] = &self.stream;
        let kept = [read.load(Ordering::Relaxed), write.load(Ordering::Relaxed)];
        (kept == state && state != [0, 0]).then(|| self.position.load(Ordering::Relaxed))
    }

    /// Keeps it, and the state of the stream in which it holds.
    #[inline]
    pub(crate) fn keep_stream_position(&self, state: [usize; 2], position: i64) {
        let [read, write] = &self.stream;
        read.store(state[0], Ordering::Relaxed);
        write.store(state[1], Ordering::Relaxed);
        self.position.store(position, Ordering::Relaxed);
    }

    /// The position was set.
    pub(crate) fn moved_to(&self, position: i64) {
        self.position.store(position, Ordering::Relaxed);
    }

    /// Others can move the position from now on.
    pub(crate) fn share_position(&self) {
        self.state.fetch_or(ASK, Ordering::Relaxed);
    }

    /// The program changed FD_CLOEXEC.
    pub(crate) fn set_closed_on_exec(&self, closed_on_exec: bool) {
        // From now on it is shared under a different rule, so the position is dropped;
        // this is rare.
        let bit = if closed_on_exec { CLOSED_ON_EXEC } else { 0 };
        let state = self.state.load(Ordering::Relaxed);
        if state & CLOSED_ON_EXEC != bit {
            self.state.store((state & !CLOSED_ON_EXEC) | bit | ASK, Ordering::Relaxed);
        }
    }

    /// Forgets the descriptor: it is about to be closed.
    pub(crate) fn forget(&self) {
        self.state.store(0, Ordering::Relaxed);
    }

    /// Forgets the descriptor, which is about to be closed together with others, and
    /// keeps its file until that is done: by then the descriptor may be another's.
    pub(crate) fn begin_close(&self) {
        if self.kind() == DescriptorKind::File {
            let file = self.file();
            self.closing.store(if file == 0 { NAMELESS } else { file }, Ordering::Relaxed);
        }
        self.forget();
    }

    /// The file that was closed, once.
    pub(crate) fn end_close(&self) -> Option<u64> {
        match self.closing.swap(0, Ordering::Relaxed) {
            0 => None,
            NAMELESS => Some(0),
            file => Some(file),
        }
    }

    /// The descriptor was not closed after all: it is still the same file, and its
    /// position has to be asked for.
    pub(crate) fn undo_close(&self) {
        if self.end_close().is_some() {
            let (set, look) = (Ordering::Release, Ordering::Relaxed);
            let _ = self.state.compare_exchange(0, KIND_FILE | ASK, set, look);
        }
    }

    #[inline]
    fn is_ours(&self) -> bool {
        let state = self.state.load(Ordering::Relaxed);
        state & ASK == 0
            && self.epoch.load(Ordering::Relaxed)
                == RECORDER.sharing_epoch(state & CLOSED_ON_EXEC != 0)
    }

    fn become_like(&self, other: &DescriptorEntry) {
        self.file.store(other.file(), Ordering::Relaxed);
        self.state.store(other.state.load(Ordering::Relaxed), Ordering::Release);
    }
}

/// How to follow a file that was opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenedDescriptor {
    /// Identity of its path; None: it is not recorded.
    pub(crate) file: Option<u64>,
    /// The kernel must be asked for positions.
    pub(crate) ask: bool,
    /// Opened with O_CLOEXEC.
    pub(crate) closed_on_exec: bool,
    /// Its path could be defined.
    pub(crate) defined: bool,
}

/// The row of a descriptor, if it can have one.
#[inline]
pub(crate) fn entry(fd: i32) -> Option<&'static DescriptorEntry> {
    let fd = usize::try_from(fd).ok()?;
    match FIRST.get(fd) {
        Some(entry) => Some(entry),
        None => entry_beyond(fd),
    }
}

fn entry_beyond(fd: usize) -> Option<&'static DescriptorEntry> {
    let chunk = CHUNKS_BEYOND.get(fd / CHUNK)?;
    let mut entries = chunk.load(Ordering::Acquire);
    if entries.is_null() {
        let bytes = size_of::<[DescriptorEntry; CHUNK]>();
        let fresh = sys::map_anonymous(bytes).ok()?;
        let exchanged = chunk.compare_exchange(
            core::ptr::null_mut(),
            fresh.cast().as_ptr(),
            Ordering::AcqRel,
            Ordering::Acquire,
        );
        entries = match exchanged {
            Ok(_) => fresh.cast().as_ptr(),
            Err(others) => {
                // SAFETY: nobody has seen the mapping.
                unsafe { sys::unmap(fresh, bytes) };
                others
            }
        };
    }
    // SAFETY: chunks are zeroed memory, which is a valid entry, and stay mapped.
    unsafe { entries.as_ref() }?.get(fd % CHUNK)
}

/// The directory open at a descriptor, if it is recorded.
pub(crate) fn directory(fd: i32) -> Option<u64> {
    let file = entry(fd)?.directory.load(Ordering::Relaxed);
    (file != 0).then_some(file)
}

/// A directory was opened at a descriptor, or closed: 0.
pub(crate) fn set_directory(fd: i32, file: u64) {
    if let Some(entry) = entry(fd) {
        entry.directory.store(file, Ordering::Relaxed);
    }
}

/// A descriptor now refers to a file.
pub(crate) fn opened(fd: i32, how: OpenedDescriptor) {
    let Some(entry) = entry(fd) else { return };
    entry.keep_stream_position([0, 0], 0);
    entry.file.store(how.file.unwrap_or(0), Ordering::Relaxed);
    entry.epoch.store(RECORDER.sharing_epoch(how.closed_on_exec), Ordering::Relaxed);
    let kind = if how.file.is_some() { KIND_FILE } else { KIND_IGNORED };
    let ask = if how.ask { ASK } else { 0 };
    let closed_on_exec = if how.closed_on_exec { CLOSED_ON_EXEC } else { 0 };
    let undefined = if how.defined { 0 } else { UNDEFINED };
    entry.state.store(kind | ask | closed_on_exec | undefined, Ordering::Release);
    if !how.defined {
        ANY_UNDEFINED.store(true, Ordering::Relaxed);
    }
}

/// Forgets descriptors whose path could not be defined, now that it can be:
/// they are asked about again when next used.
pub(crate) fn forget_undefined() {
    if ANY_UNDEFINED.load(Ordering::Relaxed) {
        forget_all_undefined();
    }
}

/// A separate function, so that a first call that has nothing to forget takes less
/// stack.
#[cold]
#[inline(never)]
fn forget_all_undefined() {
    ANY_UNDEFINED.store(false, Ordering::Relaxed);
    for (_, entry) in all_between(0, u32::MAX) {
        if entry.state.load(Ordering::Relaxed) & UNDEFINED != 0 {
            entry.forget();
        }
    }
}

/// A descriptor now refers to an open file as well.
pub(crate) fn duplicated(from: i32, to: i32) {
    if from == to {
        return;
    }
    if let (Some(from), Some(to)) = (entry(from), entry(to)) {
        from.share_position();
        to.become_like(from);
    }
}

/// The rows of a range of descriptors of which something is known.
pub(crate) fn known_between(
    first: u32,
    last: u32,
) -> impl Iterator<Item = (i32, &'static DescriptorEntry)> {
    all_between(first, last).filter(|(_, entry)| entry.kind() != DescriptorKind::Unknown)
}

/// The rows of a range of descriptors that were ever used.
pub(crate) fn all_between(
    first: u32,
    last: u32,
) -> impl Iterator<Item = (i32, &'static DescriptorEntry)> {
    let end = (last as usize).saturating_add(1).min(CHUNK * CHUNKS);
    let chunk_of = |number: usize| -> Option<&'static [DescriptorEntry; CHUNK]> {
        if number == 0 {
            return Some(&FIRST);
        }
        // SAFETY: as in `entry_beyond`.
        unsafe { CHUNKS_BEYOND.get(number)?.load(Ordering::Acquire).as_ref() }
    };
    (first as usize / CHUNK..end.div_ceil(CHUNK))
        .filter_map(move |number| Some((number, chunk_of(number)?)))
        .flat_map(|(number, chunk)| {
            chunk.iter().enumerate().map(move |(index, entry)| (number * CHUNK + index, entry))
        })
        .filter(move |(fd, _)| (first as usize..end).contains(fd))
        .map(|(fd, entry)| (fd as i32, entry))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(fd: i32) -> &'static DescriptorEntry {
        opened(
            fd,
            OpenedDescriptor { file: Some(7), ask: false, closed_on_exec: true, defined: true },
        );
        entry(fd).unwrap()
    }

    #[test]
    fn a_position_moves_with_what_was_transferred() {
        let entry = open(700);
        assert_eq!(entry.advance(700, 10), 0);
        assert_eq!(entry.advance(700, -1), 10);
        assert_eq!(entry.advance(700, 5), 10);
        assert_eq!(entry.position(700), 15);
    }

    #[test]
    fn duplicates_share_the_file_and_ask_for_positions() {
        let from = open(701);
        duplicated(701, 5000);
        let to = entry(5000).unwrap();
        assert_eq!((to.kind(), to.file()), (DescriptorKind::File, 7));
        assert!(!from.is_ours() && !to.is_ours());
    }

    #[test]
    fn descriptors_beyond_the_table_have_no_row() {
        assert!(entry(-1).is_none());
        assert!(entry((CHUNK * CHUNKS) as i32).is_none());
        assert!(entry((CHUNK * CHUNKS) as i32 - 1).is_some());
    }

    #[test]
    fn what_the_reader_does_not_know_is_asked_about_again() {
        let known = open(704);
        let how =
            OpenedDescriptor { file: Some(8), ask: false, closed_on_exec: true, defined: false };
        opened(703, how);
        forget_undefined();
        assert_eq!(
            (entry(703).unwrap().kind(), known.kind()),
            (DescriptorKind::Unknown, DescriptorKind::File)
        );
    }

    #[test]
    fn a_range_gives_what_is_known_in_it() {
        open(900);
        open(902);
        open(4100);
        let found: Vec<i32> = known_between(900, u32::MAX).map(|(fd, _)| fd).collect();
        assert!(found.starts_with(&[900, 902]) && found.contains(&4100));
        assert_eq!(known_between(901, 901).count(), 0);
    }

    #[test]
    fn a_file_that_is_closed_with_others_is_told_once_whatever_the_descriptor_is_by_then() {
        let entry = open(910);
        entry.begin_close();
        opened(
            910,
            OpenedDescriptor { file: Some(8), ask: false, closed_on_exec: true, defined: true },
        );
        assert_eq!((entry.end_close(), entry.end_close()), (Some(7), None));
        assert_eq!((entry.kind(), entry.file()), (DescriptorKind::File, 8));
        entry.begin_close();
        assert_eq!(entry.kind(), DescriptorKind::Unknown);
        entry.undo_close();
        assert_eq!((entry.kind(), entry.file(), entry.is_ours()), (DescriptorKind::File, 8, false));
    }
}
