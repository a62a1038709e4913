// SPDX-License-Identifier: MIT OR Apache-2.0

//! Call stacks as text: `module+0xoffset;…`, innermost first.
//!
//! Modules go by the last part of their path, so that the text is the same
//! wherever a program is installed. Code outside any module (made at run time)
//! has an address that says nothing about the next run: such a frame is
//! `?+0x0`. A stack of which nothing is known is `?`.

use std::fmt::Write;

use crate::spooled::text;

/// The text of a call stack of which nothing is known.
pub(crate) const UNKNOWN: &str = "?";

/// The text for the definition of a call stack; `module` finds names.
pub(crate) fn frames<'a>(payload: &[u8], module: impl Fn(u64) -> Option<&'a str>) -> String {
    let mut frames = String::new();
    let mut frame = String::new();
    let (pairs, _) = payload.as_chunks::<16>();
    for pair in pairs {
        let (id, offset) = split(pair);
        frame.clear();
        if !frames.is_empty() {
            frame.push(';');
        }
        let offset = if id == 0 { 0 } else { offset };
        // Writing to a string cannot fail.
        let _ = write!(frame, "{}+{offset:#x}", module(id).unwrap_or(UNKNOWN));
        if !text::push(&mut frames, &frame) {
            break;
        }
    }
    if frames.is_empty() {
        frames.push_str(UNKNOWN);
    }
    frames
}

/// The parts of the definition of a module: length of the build-id, build-id, path.
pub(crate) fn module_parts(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&length, rest) = payload.split_first()?;
    rest.split_at_checked(usize::from(length))
}

/// The name for the definition of a module.
pub(crate) fn module_name(payload: &[u8]) -> Option<String> {
    let (_, path) = module_parts(payload)?;
    // After a zero byte comes where it was loaded.
    let path = path.split(|&byte| byte == 0).next()?;
    let base = path.rsplit(|&byte| byte == b'/').next().filter(|base| !base.is_empty())?;
    // Frames are separated by semicolons.
    Some(text::escaped(base).replace(';', "%3B"))
}

fn split(pair: &[u8; 16]) -> (u64, u64) {
    let number = u128::from_ne_bytes(*pair);
    let (low, high) = (number as u64, (number >> 64) as u64);
    if cfg!(target_endian = "little") { (low, high) } else { (high, low) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spooled::MAX_TEXT_BYTES;

    fn check(pairs: &[(u64, u64)], expected: &str) {
        let words = pairs.iter().flat_map(|&(module, offset)| [module, offset]);
        let payload: Vec<u8> = words.flat_map(u64::to_ne_bytes).collect();
        let module = |id| match id {
            7 => Some("app"),
            8 => Some("libc.so.6"),
            _ => None,
        };
        assert_eq!(frames(&payload, module), expected);
    }

    #[test]
    fn frames_name_module_and_offset() {
        check(&[(7, 0x11d0), (8, 0x2724a)], "app+0x11d0;libc.so.6+0x2724a");
    }

    #[test]
    fn code_without_a_module_has_no_address() {
        check(&[(7, 1), (0, 0x7f00_dead_beef), (9, 5)], "app+0x1;?+0x0;?+0x5");
    }

    #[test]
    fn a_stack_without_frames_is_unknown() {
        check(&[], "?");
        assert_eq!(frames(&[1, 2, 3], |_| None), "?");
    }

    #[test]
    fn an_endless_stack_is_cut_between_frames() {
        let payload = [7; 1 << 20];
        let text = frames(&payload, |_| Some("app"));
        assert!(text.len() <= MAX_TEXT_BYTES);
        assert!(text.split(';').all(|frame| frame == "app+0x707070707070707"));
    }

    #[test]
    fn modules_go_by_their_base_name() {
        let name = |build_id: &[u8], path: &[u8]| {
            let payload = [&[build_id.len() as u8], build_id, path].concat();
            module_name(&payload)
        };
        assert_eq!(name(b"\x01\x02/", b"/usr/lib/libc.so.6").as_deref(), Some("libc.so.6"));
        assert_eq!(name(b"", b"a;b,c").as_deref(), Some("a%3Bb%2Cc"));
        assert_eq!(name(b"", b"/"), None);
        assert_eq!(module_name(b"\x20short"), None);
        assert_eq!(module_name(b""), None);
    }
}
