// SPDX-License-Identifier: MIT OR Apache-2.0

//! The contexts of a caller: ids, texts or return addresses, each numbered for the
//! oracle, and described by a text that is the same in every run.

use std::ffi::{CStr, c_void};
use std::fmt::Write;

use ::ioracle_oracle::{Oracle, StackId};
use foldhash::fast::RandomState;
use hashbrown::HashMap;
use ioracle_events::ContextId;

/// Where a call came from, as an observation says it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum GivenContext<'a> {
    /// A number that the caller keeps the same in every run; 0 for none.
    Id(u64),
    /// Any text.
    Text(&'a str),
    /// Return addresses, innermost first.
    Stack(&'a [usize]),
}

/// A context's number, and what is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NumberedContext {
    pub number: ContextId,
    pub stack: StackId,
}

/// The numbers of a caller's contexts.
#[derive(Debug, Default)]
pub(crate) struct ContextNumbers {
    ids: HashMap<u64, NumberedContext, RandomState>,
    texts: HashMap<Box<str>, NumberedContext, RandomState>,
    stacks: HashMap<Box<[usize]>, NumberedContext, RandomState>,
}

/// Further ones count as one context. The oracle itself distinguishes fewer.
const MAX_CONTEXTS: usize = 1 << 16;
const OTHERS: ContextId = ContextId(u32::MAX);
/// Frames of a stack that are looked at, from the innermost.
pub(crate) const MAX_FRAMES: usize = 128;

impl ContextNumbers {
    /// The number of a context; new ones are passed on to the oracle.
    pub fn number(&mut self, given: GivenContext<'_>, oracle: &mut Oracle) -> NumberedContext {
        let known = match given {
            GivenContext::Id(id) => self.ids.get(&id),
            GivenContext::Text(text) => self.texts.get(text),
            GivenContext::Stack(stack) => self.stacks.get(stack),
        };
        known.copied().unwrap_or_else(|| self.add(given, oracle))
    }

    /// Forgets all numbers: they will be passed to the oracle again.
    pub fn clear(&mut self) {
        *self = ContextNumbers::default();
    }

    #[cold]
    fn add(&mut self, given: GivenContext<'_>, oracle: &mut Oracle) -> NumberedContext {
        let n_known = self.ids.len() + self.texts.len() + self.stacks.len();
        let mut define = |number: ContextId, text: &str| {
            oracle.define_context(number, text);
            NumberedContext { number, stack: StackId::of(text) }
        };
        if n_known >= MAX_CONTEXTS {
            return define(OTHERS, "others");
        }
        let number = ContextId(n_known as u32 + 1);
        match given {
            GivenContext::Id(id) => {
                let context = define(number, &format!("id:{id:#x}"));
                *self.ids.entry(id).or_insert(context)
            }
            GivenContext::Text(text) => {
                let context = define(number, text);
                *self.texts.entry(text.into()).or_insert(context)
            }
            GivenContext::Stack(stack) => {
                let context = define(number, &frames(stack));
                *self.stacks.entry(stack.into()).or_insert(context)
            }
        }
    }
}

/// A stack in the words of traces: `module+0xoffset;…`. Code outside any module
/// has an address that says nothing about the next run.
fn frames(stack: &[usize]) -> String {
    let mut frames = String::new();
    for &address in stack {
        if !frames.is_empty() {
            frames.push(';');
        }
        // Writing to a string cannot fail.
        let _ = match module_of(address) {
            Some((name, base)) => write!(frames, "{name}+{:#x}", address.wrapping_sub(base)),
            None => write!(frames, "?+0x0"),
        };
    }
    frames
}

/// The last part of the module's path, and where the module begins.
fn module_of(address: usize) -> Option<(String, usize)> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: any address may be asked for; it is not followed.
    let found = unsafe { libc::dladdr(address as *const c_void, &raw mut info) };
    if found == 0 || info.dli_fname.is_null() {
        return None;
    }
    // SAFETY: the linker's text ends in NUL and stays while the module does,
    // which the caller's own return address is in.
    let path = unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy();
    let name = path.rsplit('/').next().filter(|name| !name.is_empty())?;
    Some((name.replace(';', "%3B"), info.dli_fbase as usize))
}

#[cfg(test)]
mod tests {
    use ::ioracle_oracle::Config;

    use super::*;

    #[test]
    fn a_context_has_one_number_however_often_it_comes() {
        let mut oracle = Oracle::new(Config::default());
        let mut contexts = ContextNumbers::default();
        let given = [
            GivenContext::Id(0),
            GivenContext::Id(7),
            GivenContext::Text("main.c:12"),
            GivenContext::Stack(&[1, 2]),
            GivenContext::Stack(&[1, 3]),
        ];
        let first = given.map(|given| contexts.number(given, &mut oracle).number);
        let again = given.map(|given| contexts.number(given, &mut oracle).number);
        assert_eq!(first, again);
        assert_eq!(first, [1, 2, 3, 4, 5].map(ContextId));
    }

    #[test]
    fn contexts_beyond_the_ceiling_count_as_one() {
        let mut oracle = Oracle::new(Config::default());
        let mut contexts = ContextNumbers::default();
        for id in 0..MAX_CONTEXTS as u64 + 10 {
            contexts.number(GivenContext::Id(id), &mut oracle);
        }
        assert_eq!(contexts.ids.len(), MAX_CONTEXTS);
        assert_eq!(contexts.number(GivenContext::Id(u64::MAX), &mut oracle).number, OTHERS);
        assert_eq!(contexts.number(GivenContext::Id(5), &mut oracle).number, ContextId(6));
    }

    #[test]
    fn frames_name_module_and_offset_and_nothing_that_changes() {
        let here = frames_name_module_and_offset_and_nothing_that_changes as *const () as usize;
        let text = frames(&[here, 1, here + 4]);
        let parts: Vec<&str> = text.split(';').collect();
        assert!(parts[0].starts_with("ioracle_capi-") && parts[0].contains("+0x"), "{text}");
        assert_eq!(parts[1], "?+0x0");
        assert_ne!(parts[0], parts[2]);
    }
}
