// SPDX-License-Identifier: MIT OR Apache-2.0

//! The environment, read once by the constructor and copied: programs overwrite it
//! (`setproctitle`), and we do not allocate.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_int};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::sys;

/// Bytes of a text, the end mark included.
const CAPACITY: usize = 4096 + 256;

/// A text of bounded length that needs no allocation; what does not fit is cut off.
#[derive(Clone, Copy)]
pub(crate) struct Text {
    /// Always ended by a zero byte.
    bytes: [u8; CAPACITY],
    length: usize,
}

impl Text {
    /// No text.
    pub(crate) const EMPTY: Text = Text { bytes: [0; CAPACITY], length: 0 };

    /// Replaces the text.
    pub(crate) fn set(&mut self, bytes: &[u8]) {
        self.length = 0;
        self.push(bytes);
    }

    /// Adds bytes at the end.
    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = (CAPACITY - 1).saturating_sub(self.length);
        for (place, &byte) in self.bytes.iter_mut().skip(self.length).take(room).zip(bytes) {
            *place = byte;
        }
        self.length += bytes.len().min(room);
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = 0;
        }
    }

    /// Replaces the text by what `read` puts into the buffer, whose length it returns.
    pub(crate) fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) {
        let room = self.bytes.get_mut(..CAPACITY - 1).unwrap_or_default();
        self.length = read(room).unwrap_or(0).min(CAPACITY - 1);
        if let Some(end) = self.bytes.get_mut(self.length) {
            *end = 0;
        }
    }

    /// Adds the C string at an untrusted address: the kernel copies it, page by page.
    /// False if it does not end within PATH_MAX bytes.
    pub(crate) fn push_string_at(&mut self, address: usize) -> bool {
        const PAGE: usize = 4096;
        let mut from = address;
        while from.wrapping_sub(address) < libc::PATH_MAX as usize {
            let start = self.length;
            let rest_of_page = PAGE - from % PAGE;
            let end = (start + rest_of_page).min(CAPACITY - 1);
            let Some(room) = self.bytes.get_mut(start..end) else { return false };
            let Ok(n_copied @ 1..) = sys::copy_memory(from, room) else { return false };
            let copied = room.get(..n_copied).unwrap_or_default();
            if let Some(length) = copied.iter().position(|&byte| byte == 0) {
                self.length = start + length;
                return true;
            }
            self.length = start + n_copied;
            from = from.wrapping_add(n_copied);
        }
        false
    }

    /// The text.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// The text up to its first zero byte, for the kernel.
    pub(crate) fn as_cstr(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }
}

/// Room for one text that is not on a stack.
pub(crate) struct SharedRoom {
    is_taken: AtomicBool,
    text: UnsafeCell<Text>,
}

// SAFETY: only the thread that has set `is_taken` uses the text.
unsafe impl Sync for SharedRoom {}

pub(crate) static SHARED_ROOM: SharedRoom =
    SharedRoom { is_taken: AtomicBool::new(false), text: UnsafeCell::new(Text::EMPTY) };

impl SharedRoom {
    /// Uses it, unless it is in use: then returns without waiting.
    pub(crate) fn with<R>(&self, work: impl FnOnce(&mut Text) -> R) -> Option<R> {
        if self.is_taken.swap(true, Ordering::Acquire) {
            return None;
        }
        // SAFETY: it was not taken, and is now ours.
        let result = work(unsafe { &mut *self.text.get() });
        self.is_taken.store(false, Ordering::Release);
        Some(result)
    }
}

/// Puts variables that have a value into a room for them, as `NAME=value`, each ended by a zero byte.
pub(crate) fn read_assignments(names: &[&str], text: &mut Text) {
    /// A name is not longer than this.
    const MAX_VALUE_BYTES: usize = 255;
    text.set(&[]);
    for name in names {
        let Some(value) = value_of(name).map(CStr::to_bytes) else { continue };
        if !value.is_empty() && value.len() <= MAX_VALUE_BYTES {
            [name.as_bytes(), b"=", value, b"\0"].iter().for_each(|part| text.push(part));
        }
    }
}

/// Where the arguments of the program lie, and how many bytes they take; 0: unknown.
static ARGUMENTS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Notes where the arguments are, before the program changes the list.
///
/// # Safety
///
/// The list holds that many C strings.
pub(crate) unsafe fn note_arguments(count: c_int, list: *const *const c_char) {
    let Some(last) = usize::try_from(count).ok().and_then(|count| count.checked_sub(1)) else {
        return;
    };
    // SAFETY: the caller's promise.
    let (first, end) = unsafe {
        let last = CStr::from_ptr(*list.add(last));
        (*list as usize, last.as_ptr() as usize + last.count_bytes() + 1)
    };
    // The kernel puts them one after the other; otherwise these are not the original
    // arguments.
    const MOST: usize = 4 << 20;
    if let Some(bytes @ ..MOST) = end.checked_sub(first) {
        let [start, length] = &ARGUMENTS;
        start.store(first, Ordering::Relaxed);
        length.store(bytes, Ordering::Relaxed);
    }
}

/// Copies the arguments of the program, each ended by a zero byte, as
/// `/proc/self/cmdline` has them; how many bytes.
pub(crate) fn command_line(buffer: &mut [u8]) -> usize {
    let [start, length] = &ARGUMENTS;
    let length = length.load(Ordering::Relaxed).min(buffer.len());
    let known = buffer.get_mut(..length).filter(|known| !known.is_empty());
    // The program may write there, as servers do to say what they are doing.
    let copied = known.and_then(|to| sys::copy_memory(start.load(Ordering::Relaxed), to).ok());
    copied.unwrap_or_else(|| {
        let read = |file: &sys::Descriptor| sys::read(file, buffer).unwrap_or(0);
        sys::with_file(c"/proc/self/cmdline", libc::O_RDONLY, 0, read).unwrap_or(0)
    })
}

/// Puts the value of a variable into a room for it; whether it has one.
pub(crate) fn read(name: &str, text: &mut Text) -> bool {
    let value = value_of(name).unwrap_or_default().to_bytes();
    text.set(value);
    !value.is_empty()
}

/// Whether a variable is set and neither empty nor `0`.
pub(crate) fn is_set(name: &str) -> bool {
    value_of(name).is_some_and(|value| !matches!(value.to_bytes(), b"" | b"0"))
}

/// Rank and number of ranks, as MPI launchers and Slurm set them; -1 and 0
/// where they do not.
pub(crate) fn rank() -> (i32, u32) {
    const LAUNCHERS: [(&str, &str); 5] = [
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMIX_RANK", "PMIX_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
        ("SLURM_PROCID", "SLURM_NTASKS"),
    ];
    for (rank, size) in LAUNCHERS {
        // Slurm sets a rank for batch scripts too, which are not ranks.
        if rank.starts_with("SLURM") && value_of("SLURM_STEP_ID").is_none() {
            continue;
        }
        if let Some(rank) = number(rank) {
            return (rank as i32, number(size).unwrap_or(0));
        }
    }
    (-1, 0)
}

fn number(name: &str) -> Option<u32> {
    let digits = value_of(name)?.to_bytes();
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u32, |number, &digit| {
        let digit = digit.checked_sub(b'0').filter(|digit| *digit < 10)?;
        number.checked_mul(10)?.checked_add(u32::from(digit))
    })
}

fn value_of(name: &str) -> Option<&'static CStr> {
    unsafe extern "C" {
        static environ: *const *const c_char;
    }
    // Not getenv: programs bring their own, and bash's allocates.
    // SAFETY: `environ` is a list of C strings with a null at its end, or null;
    // the constructor runs before the program changes it.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            // Byte by byte: a mismatch ends it before the end of the string.
            let named = name.as_bytes().iter().chain(b"=").zip(0..);
            if named.clone().all(|(&byte, at)| *(*entry).add(at) as u8 == byte) {
                return Some(CStr::from_ptr((*entry).add(name.len() + 1)));
            }
            entry = entry.add(1);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_off_at_its_capacity() {
        let mut text = Text::EMPTY;
        text.push(&[b'a'; CAPACITY]);
        text.push(b"b");
        assert_eq!(text.bytes(), &[b'a'; CAPACITY - 1]);
        assert_eq!(text.as_cstr().to_bytes().len(), CAPACITY - 1);
    }

    #[test]
    fn a_variable_is_found_by_its_whole_name() {
        let mut text = Text::EMPTY;
        assert!(read("PATH", &mut text) && !text.bytes().is_empty());
        assert!(!read("PAT", &mut text) && text.bytes().is_empty());
    }
}
