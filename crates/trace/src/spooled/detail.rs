// SPDX-License-Identifier: MIT OR Apache-2.0

//! The `detail` of an event: flags of an open, mode of a stream, whence of a
//! seek, protection of a mapping, the number of a request, object and selection, as traces write them.

use ioracle_spool::Function;
use ioracle_spool::layout::SHARED_MAPPING;
use ioracle_spool::selection::{Selection, SelectionPart};

use crate::spooled::text;

/// Flags of open(2) by the names that traces use. Those that only concern the
/// descriptor (CLOEXEC, NOCTTY, LARGEFILE) say nothing of the I/O and are left
/// out. SYNC comes before DSYNC, whose bit it includes; likewise TMPFILE and
/// DIRECTORY.
const FLAGS: [(i32, &str); 13] = [
    (libc::O_CREAT, "CREAT"),
    (libc::O_EXCL, "EXCL"),
    (libc::O_TRUNC, "TRUNC"),
    (libc::O_APPEND, "APPEND"),
    (libc::O_NONBLOCK, "NONBLOCK"),
    (libc::O_SYNC, "SYNC"),
    (libc::O_DSYNC, "DSYNC"),
    (libc::O_DIRECT, "DIRECT"),
    (libc::O_TMPFILE, "TMPFILE"),
    (libc::O_DIRECTORY, "DIRECTORY"),
    (libc::O_NOFOLLOW, "NOFOLLOW"),
    (libc::O_NOATIME, "NOATIME"),
    (libc::O_PATH, "PATH"),
];

const ALLOCATION_FLAGS: [(i32, &str); 6] = [
    (libc::FALLOC_FL_KEEP_SIZE, "KEEP_SIZE"),
    (libc::FALLOC_FL_PUNCH_HOLE, "PUNCH_HOLE"),
    (libc::FALLOC_FL_COLLAPSE_RANGE, "COLLAPSE_RANGE"),
    (libc::FALLOC_FL_ZERO_RANGE, "ZERO_RANGE"),
    (libc::FALLOC_FL_INSERT_RANGE, "INSERT_RANGE"),
    (libc::FALLOC_FL_UNSHARE_RANGE, "UNSHARE_RANGE"),
];

/// Replaces a name that is not known.
const UNKNOWN: &str = "?";

/// The text for what a record contains about the call's arguments.
pub(crate) fn detail(function: Function, recorded: u32) -> Box<str> {
    match function {
        Function::Open => flags(recorded as i32).into(),
        Function::Fopen | Function::Freopen | Function::Fdopen => mode(recorded).into(),
        Function::Lseek | Function::Fseek | Function::MpiSeek => whence(recorded).into(),
        Function::Mmap => protection(recorded).into(),
        Function::PosixFadvise => advice(recorded).into(),
        Function::Fallocate => named_flags(recorded as i32, &ALLOCATION_FLAGS).into(),
        Function::MpiOpen => format!("amode={recorded}").into(),
        // The same number in submission and completion.
        Function::MpiWait | Function::MpiTest | Function::MpiRequestFree => request(recorded),
        function if function.name().starts_with("mpi_i") => request(recorded),
        _ => "".into(),
    }
}

/// The text for a call of HDF5, netCDF or PnetCDF; `request` is 0 for none.
pub(crate) fn library_detail(
    object: Option<&str>,
    selection: Option<&Selection>,
    request: u32,
) -> Box<str> {
    let object = object.unwrap_or_default();
    let mut text = String::with_capacity(object.len() + 96);
    text.push_str(object);
    if let Some(selection) = selection {
        // Behind a name; an unknown one is marked as such.
        if text.is_empty() {
            text.push_str(UNKNOWN);
        }
        for (part, name) in
            SelectionPart::ALL.into_iter().zip(["start", "count", "stride", "block", "imap"])
        {
            for (n, number) in selection.get(part).unwrap_or_default().iter().enumerate() {
                if n == 0 {
                    text.push(' ');
                    text.push_str(name);
                }
                text.push(if n == 0 { '=' } else { ':' });
                push_number(&mut text, *number);
            }
        }
    }
    if request != 0 {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str("request=");
        push_number(&mut text, request.into());
    }
    text.into()
}

/// Writes a number without `format!`, which took longer than everything else between
/// the record of an access and its event.
fn push_number(text: &mut String, number: i64) {
    let mut digits = [0; 20];
    let mut first = digits.len();
    let mut rest = number.unsigned_abs();
    while first > 0 {
        first -= 1;
        digits[first] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        text.push('-');
    }
    text.extend(digits[first..].iter().map(|digit| char::from(*digit)));
}

/// The text of a further part of a call of a library; `part` is 0 for the first.
pub(crate) fn with_part(text: Box<str>, part: u32) -> Box<str> {
    if part == 0 {
        return text;
    }
    let before = if text.is_empty() { UNKNOWN } else { &text };
    format!("{before} part={}", u64::from(part) + 1).into()
}

fn request(recorded: u32) -> Box<str> {
    format!("request={recorded}").into()
}

fn flags(recorded: i32) -> String {
    let mut text = String::from(match recorded & libc::O_ACCMODE {
        libc::O_RDONLY => "RDONLY",
        libc::O_WRONLY => "WRONLY",
        _ => "RDWR",
    });
    let mut rest = recorded;
    for (flag, name) in FLAGS {
        if rest & flag == flag {
            rest &= !flag;
            text.push('|');
            text.push_str(name);
        }
    }
    text
}

fn mode(recorded: u32) -> String {
    let bytes = recorded.to_ne_bytes();
    let length = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    text::escaped(&bytes[..length])
}

fn protection(recorded: u32) -> String {
    let (read, write) = (libc::PROT_READ as u32, libc::PROT_WRITE as u32);
    let named = [(read, "READ|"), (write, "WRITE|")].into_iter();
    let mut text: String =
        named.filter(|(flag, _)| recorded & flag != 0).map(|(_, name)| name).collect();
    text.push_str(if recorded & SHARED_MAPPING != 0 { "SHARED" } else { "PRIVATE" });
    text
}

fn named_flags(recorded: i32, names: &[(i32, &'static str)]) -> String {
    let set: Vec<&str> =
        names.iter().filter(|(flag, _)| recorded & flag != 0).map(|(_, name)| *name).collect();
    set.join("|")
}

fn advice(recorded: u32) -> &'static str {
    match recorded as i32 {
        libc::POSIX_FADV_NORMAL => "NORMAL",
        libc::POSIX_FADV_RANDOM => "RANDOM",
        libc::POSIX_FADV_SEQUENTIAL => "SEQUENTIAL",
        libc::POSIX_FADV_WILLNEED => "WILLNEED",
        libc::POSIX_FADV_DONTNEED => "DONTNEED",
        libc::POSIX_FADV_NOREUSE => "NOREUSE",
        _ => "",
    }
}

fn whence(recorded: u32) -> &'static str {
    match recorded as i32 {
        libc::SEEK_SET => "SET",
        libc::SEEK_CUR => "CUR",
        libc::SEEK_END => "END",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_named_as_in_traces() {
        let check = |flags: i32, expected: &str| {
            assert_eq!(&*detail(Function::Open, flags as u32), expected);
        };
        check(libc::O_RDONLY | libc::O_CLOEXEC | libc::O_NOCTTY, "RDONLY");
        check(libc::O_WRONLY | libc::O_CREAT | libc::O_TRUNC, "WRONLY|CREAT|TRUNC");
        check(libc::O_RDWR | libc::O_SYNC, "RDWR|SYNC");
        check(libc::O_RDWR | libc::O_DSYNC | libc::O_APPEND, "RDWR|APPEND|DSYNC");
        check(libc::O_RDWR | libc::O_TMPFILE, "RDWR|TMPFILE");
        check(libc::O_RDONLY | libc::O_DIRECTORY, "RDONLY|DIRECTORY");
    }

    #[test]
    fn a_mode_is_what_was_recorded_of_it() {
        assert_eq!(&*detail(Function::Fopen, u32::from_ne_bytes(*b"w+b\0")), "w+b");
        assert_eq!(&*detail(Function::Fdopen, u32::from_ne_bytes(*b"rb+x")), "rb+x");
        assert_eq!(&*detail(Function::Fopen, u32::from_ne_bytes(*b"\n\xff\0\0")), "%0A%FF");
    }

    #[test]
    fn a_seek_tells_what_it_counts_from() {
        let texts = [0, 1, 2, 7].map(|whence| detail(Function::Lseek, whence));
        assert_eq!(texts.each_ref().map(|text| &**text), ["SET", "CUR", "END", ""]);
    }

    #[test]
    fn advice_and_allocations_tell_what_they_are_for() {
        assert_eq!(&*detail(Function::PosixFadvise, libc::POSIX_FADV_DONTNEED as u32), "DONTNEED");
        assert_eq!(&*detail(Function::PosixFadvise, 99), "");
        let punch = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
        assert_eq!(&*detail(Function::Fallocate, punch as u32), "KEEP_SIZE|PUNCH_HOLE");
        assert_eq!(&*detail(Function::Fallocate, 0), "");
    }

    #[test]
    fn calls_of_mpi_tell_their_mode_and_what_they_complete() {
        assert_eq!(&*detail(Function::MpiOpen, 9), "amode=9");
        assert_eq!(&*detail(Function::MpiIreadAt, 17), "request=17");
        assert_eq!(&*detail(Function::MpiWait, 17), "request=17");
        assert_eq!(&*detail(Function::MpiWriteAt, 17), "");
    }

    #[test]
    fn a_mapping_tells_what_it_is_for() {
        let check = |recorded: i32, shared: u32, expected: &str| {
            assert_eq!(&*detail(Function::Mmap, recorded as u32 | shared), expected);
        };
        check(libc::PROT_READ | libc::PROT_WRITE, SHARED_MAPPING, "READ|WRITE|SHARED");
        check(libc::PROT_READ | libc::PROT_WRITE, 0, "READ|WRITE|PRIVATE");
        check(libc::PROT_READ, SHARED_MAPPING, "READ|SHARED");
        check(libc::PROT_NONE, 0, "PRIVATE");
    }

    #[test]
    fn other_calls_have_none() {
        assert_eq!(&*detail(Function::Write, 1), "");
    }

    #[test]
    fn objects_and_selections_are_written_as_in_the_corpus() {
        let mut selection = Selection::new(2);
        selection.set(SelectionPart::Count, |_| 4);
        selection.set(SelectionPart::Start, |dimension| dimension as i64 * 7);
        let check = |object, selection, request, expected| {
            assert_eq!(&*library_detail(object, selection, request), expected);
        };
        check(Some("T"), Some(&selection), 0, "T start=0:7 count=4:4");
        check(Some("T"), Some(&selection), 3, "T start=0:7 count=4:4 request=3");
        check(None, Some(&selection), 0, "? start=0:7 count=4:4");
        check(Some("/a/x"), None, 0, "/a/x");
        check(None, None, 5, "request=5");
        check(None, None, 0, "");
    }

    #[test]
    fn further_parts_of_a_call_are_reported_as_such() {
        let check = |text: &str, part, expected| {
            assert_eq!(&*with_part(text.into(), part), expected);
        };
        check("T start=0 count=4", 0, "T start=0 count=4");
        check("T start=0 count=4", 1, "T start=0 count=4 part=2");
        check("request=7", 2, "request=7 part=3");
        check("", 1, "? part=2");
        check("", 0, "");
        check("/x", u32::MAX, "/x part=4294967296");
    }
}
