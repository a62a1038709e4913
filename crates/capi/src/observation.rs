// SPDX-License-Identifier: MIT OR Apache-2.0

//! A finished call, as callers describe it.

use std::ffi::{c_char, c_void};

use ioracle_events::{Access, Clue, ContextId, FileId, Function, Operation};

use crate::access::observed_function;
use crate::config::{self, Sized32};
use crate::contexts::{GivenContext, MAX_FRAMES};
use crate::files::GivenFile;
use crate::result::ApiFailure;
use crate::text;

/// In ioracle_observation.flags of an open: every write goes to the end.
pub const IORACLE_APPENDS: u32 = 1;
/// In ioracle_observation.flags of an open: the file was cut to length 0.
pub const IORACLE_EMPTIES: u32 = 2;
/// In ioracle_observation.flags of a data access: `requested` is set.
pub const IORACLE_REQUESTS: u32 = 4;
/// In ioracle_observation.flags: the call failed, or had nothing to do.
pub const IORACLE_FAILED: u32 = 8;

/// All flags.
const FLAGS: u32 = IORACLE_APPENDS | IORACLE_EMPTIES | IORACLE_REQUESTS | IORACLE_FAILED;

/// One finished call. Begin with IORACLE_OBSERVATION_INIT and set what is known.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ioracle_observation {
    /// sizeof(ioracle_observation), as the caller knows it.
    pub struct_size: u32,
    /// What the call did, an ioracle_access. Seeks, calls on metadata and failed calls
    /// are no operations, but tell what may come next.
    pub access: u32,
    /// The function that was called, from ioracle_function(); 0 for the plain
    /// POSIX call of this access.
    pub function: u32,
    /// IORACLE_APPENDS, IORACLE_EMPTIES, IORACLE_REQUESTS, IORACLE_FAILED, added up.
    pub flags: u32,
    /// The path of the file; NULL to go by `file` or `handle`.
    pub path: *const c_char,
    /// A number that the caller has for the file; 0 for none.
    pub file: u64,
    /// Descriptor or the like; -1 for none. A call that also names the file says
    /// which one later calls with the same handle work on, until a close.
    pub handle: i64,
    /// Where a data access began, or where a seek has gone; -1 if not known.
    pub offset: i64,
    /// Bytes that really moved; the new length for IORACLE_TRUNCATE.
    pub size: u64,
    /// When the call began, in nanoseconds of any clock that does not jump.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Where in the program the call came from: a number that is the same in every run;
    /// 0 for none. `context_text` and `stack` take precedence.
    pub context: u64,
    /// The same as a text, such as "solver.c:120"; NULL for none.
    pub context_text: *const c_char,
    /// The same as return addresses, innermost first; NULL for none. They are
    /// taken relative to their modules, and at most 128 are looked at.
    pub stack: *const *const c_void,
    /// How many there are.
    pub n_frames: usize,
    /// Bytes requested, with IORACLE_REQUESTS. A read that gets fewer has reached the
    /// end of its file, which helps to predict the next one.
    pub requested: u64,
}

// SAFETY: integers and pointers, the size first.
unsafe impl Sized32 for ioracle_observation {
    const NAME: &'static str = "ioracle_observation";
    const FIRST_BYTES: usize = 104;
}

const _: () = assert!(size_of::<ioracle_observation>() == 112);

/// An observation that has been checked.
pub(crate) struct Observed<'a> {
    function: Function,
    file: GivenFile<'a>,
    context: GivenContext<'a>,
    given: ioracle_observation,
}

impl<'a> Observed<'a> {
    /// Checks everything that a caller can get wrong.
    ///
    /// # Safety
    ///
    /// `given` is NULL or points to an observation of the size it says, whose
    /// texts end in NUL and whose stack has the frames it says, all of which
    /// stay while the answer is used.
    pub unsafe fn read(given: *const ioracle_observation) -> Result<Observed<'a>, ApiFailure> {
        // SAFETY: the caller promises the same.
        let Some(given) = (unsafe { config::read(given) })? else {
            return Err(ApiFailure::invalid("the observation is NULL"));
        };
        let function = observed_function(given.access, given.function)?;
        if given.end_ns < given.start_ns {
            return Err(ApiFailure::invalid(format!(
                "the call ended at {} ns, before it began at {} ns",
                given.end_ns, given.start_ns
            )));
        }
        if given.offset < -1 || given.size > i64::MAX as u64 {
            return Err(ApiFailure::invalid(format!(
                "offset {} or size {} lies outside of what a file can have",
                given.offset, given.size
            )));
        }
        if given.flags & !FLAGS != 0 {
            let flags = given.flags;
            return Err(ApiFailure::invalid(format!(
                "flags {flags:#x} has bits that mean nothing"
            )));
        }
        // SAFETY: the caller promises it.
        let path = unsafe { text::optional(given.path, "path", text::MAX_PATH_BYTES) }?;
        let path = path.map(text::path).transpose()?;
        let file = GivenFile { path, id: given.file, handle: given.handle };
        // SAFETY: the caller promises it.
        let context = unsafe { context_of(&given) }?;
        Ok(Observed { function, file, context, given })
    }

    /// Whether it enters the stream of operations.
    pub fn is_operation(&self) -> bool {
        self.function.access().is_atomic() && !self.has_failed()
    }

    fn has_failed(&self) -> bool {
        self.given.flags & IORACLE_FAILED != 0
    }

    /// What it tells if it is no operation, once its context and file have numbers.
    pub fn clue(&self, context: ContextId, file: FileId) -> Option<Clue> {
        let sought = (self.function == Function::Lseek).then_some(self.given.offset);
        Clue::is_of(self.function).then(|| Clue {
            function: self.function,
            context,
            file,
            by_path: self.given.handle < 0,
            failed: self.has_failed(),
            position: sought.and_then(|offset| u64::try_from(offset).ok()),
        })
    }

    pub fn access(&self) -> Access {
        self.function.access()
    }

    pub fn file(&self) -> GivenFile<'a> {
        self.file
    }

    pub fn context(&self) -> GivenContext<'a> {
        self.context
    }

    /// The operation, once its context and file have numbers.
    pub fn operation(&self, context: ContextId, file: FileId) -> Operation {
        let given = &self.given;
        let access = self.access();
        let opens = access == Access::Open;
        Operation {
            function: self.function,
            context,
            file,
            handle: given.handle,
            offset: u64::try_from(given.offset).ok().filter(|_| access.is_data()),
            size: if access.is_data() { given.size } else { 0 },
            requested: (access.is_data() && given.flags & IORACLE_REQUESTS != 0)
                .then_some(given.requested),
            append: opens && given.flags & IORACLE_APPENDS != 0,
            truncated_to: match access {
                Access::Open => (given.flags & IORACLE_EMPTIES != 0).then_some(0),
                Access::Truncate => Some(given.size),
                _ => None,
            },
            start_ns: given.start_ns,
            end_ns: given.end_ns,
        }
    }
}

/// # Safety
///
/// As for [`Observed::read`].
unsafe fn context_of<'a>(given: &ioracle_observation) -> Result<GivenContext<'a>, ApiFailure> {
    const MAX_TEXT_BYTES: usize = 1 << 16;
    if !given.stack.is_null() {
        if given.n_frames > 1 << 20 || !given.stack.is_aligned() {
            let n_frames = given.n_frames;
            return Err(ApiFailure::invalid(format!(
                "{n_frames} n_frames, or not aligned: no stack"
            )));
        }
        let n_frames = given.n_frames.min(MAX_FRAMES);
        // SAFETY: the caller promises that many addresses; they have the size and
        // alignment of usize, and are not followed.
        let stack = unsafe { std::slice::from_raw_parts(given.stack.cast::<usize>(), n_frames) };
        return Ok(GivenContext::Stack(stack));
    }
    // SAFETY: the caller promises it.
    let text = unsafe { text::optional(given.context_text, "context_text", MAX_TEXT_BYTES) }?;
    Ok(text.map_or(GivenContext::Id(given.context), GivenContext::Text))
}
