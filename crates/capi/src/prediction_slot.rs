// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `ioracle run` publishes for the thread that asks.
//!
//! The answer lies in memory shared with `ioracle run` ([`ioracle_spool::slot`]). It is
//! based on the thread's last call, or on one a few calls earlier; then the thread's own
//! last records ([`ioracle_spool::in_process`]) show whether it has followed the
//! published path since, and the rest of that path is the answer. Otherwise it waits, as
//! long as the caller allows.
//!
//! Nothing here allocates, locks or panics, and nothing but waiting and a
//! thread's first question makes a system call: signal handlers may ask.

use std::ffi::c_char;
use std::sync::atomic::{AtomicPtr, Ordering};

use ioracle_events::{ContextSymbol, Function, Layer};
use ioracle_spool::in_process::{
    CaptureFunctions, Find, KEPT_RECORDS, RecordingStatus, SYMBOL, StreamStatus,
};
use ioracle_spool::layout::{Call, VERSION};
use ioracle_spool::slot::{OutlookHeader, OutlookStep, PredictionSlot};

use crate::access::{code_of_access, code_of_function};
use crate::barrier;
use crate::in_process;
use crate::prediction::{IORACLE_PATH_BYTES, ioracle_prediction, ioracle_spread};
use crate::result::ioracle_result;
use ioracle_result::{
    IORACLE_BUSY, IORACLE_ENDED, IORACLE_INVALID, IORACLE_LIMIT, IORACLE_OK, IORACLE_STALE,
    IORACLE_UNAVAILABLE,
};

/// What an answer of ioracle_next() is based on.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ioracle_basis {
    /// Predictions that were filled in.
    pub n_predictions: u32,
    /// Operations that the thread has made since, all of them as predicted.
    pub n_walked: u32,
    /// Calls of the thread that are not taken into account.
    pub lag: u64,
    /// Operations of the thread that were learned.
    pub n_operations: u64,
    /// Reserved, 0.
    pub reserved: [u64; 5],
}

/// Predicts what the calling thread will do next, under 'ioracle run': the first of
/// `predictions` is its next operation, the others follow it along the most probable
/// path. At most `n_predictions` are filled in (never more than 64), and `basis`,
/// unless it is NULL, receives how many there are and what they are based on.
///
/// IORACLE_OK: they take all calls of the thread into account. IORACLE_STALE: they do
/// not, even after `max_wait_ns` nanoseconds; nothing is filled in, and `basis->lag`
/// says by how many calls. IORACLE_UNAVAILABLE: this process is not run by 'ioracle
/// run', or is a child before its exec. IORACLE_ENDED: 'ioracle run' has ended.
/// IORACLE_LIMIT: there was no room for this thread. IORACLE_BUSY: the caller is a
/// signal handler that has interrupted the recorder; ask again later.
///
/// Signal handlers may call it: it allocates nothing, takes no lock, and leaves
/// ioracle_last_error() alone. Without a wait it makes a system call only the first
/// time in a thread.
///
/// # Safety
///
/// `predictions` has room for `n_predictions`; `basis` is NULL or points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ioracle_next(
    max_wait_ns: u64,
    predictions: *mut ioracle_prediction,
    n_predictions: usize,
    basis: *mut ioracle_basis,
) -> ioracle_result {
    let mut answer = ioracle_basis::default();
    let result = if predictions.is_null() || n_predictions == 0 {
        IORACLE_INVALID
    } else {
        match Thread::here() {
            Ok(thread) if thread.standing.learned != 0 => {
                let Thread { inside, standing, .. } = thread;
                // SAFETY: the capture library says so of this thread, and the
                // caller has promised room.
                let given = unsafe {
                    in_process::ask(inside, standing.learned, predictions, n_predictions)
                };
                answer = given.unwrap_or_default();
                if given.is_some() { IORACLE_OK } else { IORACLE_STALE }
            }
            Ok(thread) => {
                let wanted = Wanted { predictions, n_predictions };
                wait(&thread, &wanted, max_wait_ns, &mut answer)
            }
            Err(result) => result,
        }
    };
    if !basis.is_null() {
        // SAFETY: the caller's promise.
        unsafe { basis.write(answer) };
    }
    result
}

/// How long to wait without giving up the processor.
const SPIN_NS: u64 = 20_000;
/// How long to sleep between two looks after that.
const SLEEP_NS: u64 = 50_000;
/// If nothing was published for this long, check whether anything will be.
const PATIENCE_NS: u64 = 1_000_000_000;

/// Asks until there is an answer or the time is over.
fn wait(
    thread: &Thread,
    wanted: &Wanted,
    max_wait_ns: u64,
    basis: &mut ioracle_basis,
) -> ioracle_result {
    let mut thread = *thread;
    let mut started_ns = None;
    loop {
        match thread.look(wanted, basis) {
            Look::Whole => return IORACLE_OK,
            Look::Part if max_wait_ns == 0 => return IORACLE_OK,
            Look::Stale if max_wait_ns == 0 => {
                return if thread.is_forsaken() { IORACLE_ENDED } else { IORACLE_STALE };
            }
            // A caller that keeps asking after the end should not wait each time.
            Look::Stale if started_ns.is_none() && thread.is_forsaken() => return IORACLE_ENDED,
            seen => {
                let now_ns = thread.now_ns();
                let waited_ns = now_ns.saturating_sub(*started_ns.get_or_insert(now_ns));
                if waited_ns >= max_wait_ns {
                    return if seen == Look::Part { IORACLE_OK } else { IORACLE_STALE };
                }
                if !thread.pause(waited_ns, max_wait_ns - waited_ns) {
                    return IORACLE_ENDED;
                }
            }
        }
        match Thread::here() {
            Ok(again) => thread = again,
            Err(result) => return result,
        }
    }
}

/// The caller's array.
struct Wanted {
    predictions: *mut ioracle_prediction,
    n_predictions: usize,
}

/// The result of one look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Look {
    /// The answer.
    Whole,
    /// The answer, but more steps were requested and are still to come.
    Part,
    /// None.
    Stale,
}

/// The calling thread, as the capture library knows it.
#[derive(Clone, Copy)]
struct Thread {
    inside: &'static CaptureFunctions,
    /// None where it is learned in this process.
    slot: Option<PredictionSlot>,
    standing: StreamStatus,
}

impl Thread {
    fn here() -> Result<Thread, ioracle_result> {
        // SAFETY: what the capture library gave stays.
        let inside = unsafe { INSIDE.load(Ordering::Acquire).as_ref() };
        let inside = inside.ok_or(IORACLE_UNAVAILABLE)?;
        let mut standing = StreamStatus::default();
        // SAFETY: fills a structure of ours.
        let stand = unsafe { (inside.stand)(&raw mut standing) };
        let slot = std::ptr::NonNull::new(standing.slot as *mut u8);
        // SAFETY: mapped as long as the thread lives, and this is the thread.
        let slot = slot.map(|slot| unsafe { PredictionSlot::at(slot) });
        match RecordingStatus::from_number(stand) {
            RecordingStatus::Recorded => Ok(Thread { inside, slot, standing }),
            RecordingStatus::Ended => Err(IORACLE_ENDED),
            RecordingStatus::NoRoom => Err(IORACLE_LIMIT),
            RecordingStatus::Interrupting => Err(IORACLE_BUSY),
            RecordingStatus::Off => Err(IORACLE_UNAVAILABLE),
        }
    }

    /// Looks at the latest outlook and copies what is asked for, if the thread
    /// has not left the path.
    fn look(&self, wanted: &Wanted, basis: &mut ioracle_basis) -> Look {
        // An outlook that is replaced while it is copied is copied again; that cannot
        // go on forever, because making one takes longer than copying it.
        for _ in 0..MAX_LOOKS {
            let Some((slot, number)) = self.latest() else { break };
            let outlook = slot.outlook(number);
            let n_walked = self.walked(slot, number, &outlook);
            *basis = ioracle_basis {
                n_walked: n_walked.unwrap_or(0) as u32,
                lag: self.standing.n_begun.saturating_sub(outlook.rests_on),
                n_operations: outlook.n_operations,
                ..ioracle_basis::default()
            };
            let found = n_walked.filter(|&walked| walked < outlook.n_steps as usize);
            let n_filled = found.map(|walked| self.fill((slot, number), &outlook, walked, wanted));
            if !slot.is_latest(number) {
                continue;
            }
            let Some(n_filled) = n_filled else { return Look::Stale };
            basis.n_predictions = n_filled as u32;
            let is_part = n_filled < wanted.n_predictions && outlook.is_whole == 0;
            return if is_part { Look::Part } else { Look::Whole };
        }
        *basis = ioracle_basis { lag: self.standing.n_begun, ..ioracle_basis::default() };
        Look::Stale
    }

    /// The slot and the number of its latest outlook, if there is one.
    fn latest(&self) -> Option<(PredictionSlot, u64)> {
        let slot = self.slot?;
        let number = slot.latest();
        (number != 0).then_some((slot, number))
    }

    /// How many steps of an outlook the thread has taken since the call that it is
    /// based on; None if it did anything else, or too much to check.
    fn walked(&self, slot: PredictionSlot, number: u64, outlook: &OutlookHeader) -> Option<usize> {
        if self.standing.n_begun <= outlook.rests_on {
            return Some(0);
        }
        let first = self.first_after(outlook.rests_on)?;
        let mut n_walked = 0;
        for record in first..self.standing.n_records {
            // One that is not there was begun by a handler that jumped away.
            let Some(call) = self.record(record) else { continue };
            match Made::of(&call)? {
                Made::Nothing => {}
                Made::Operation if n_walked >= outlook.n_steps as usize => return None,
                Made::Operation => {
                    if !is_step(&call, &slot.step(number, n_walked)) {
                        return None;
                    }
                    n_walked += 1;
                }
            }
        }
        Some(n_walked)
    }

    /// The first record of a call begun after another one.
    fn first_after(&self, rests_on: u64) -> Option<u64> {
        let end = self.standing.n_records;
        let oldest = end.saturating_sub(KEPT_RECORDS);
        for number in (oldest..end).rev() {
            if self.record(number).is_some_and(|call| call.began <= rests_on) {
                return Some(number + 1);
            }
        }
        (oldest == 0).then_some(0)
    }

    fn record(&self, number: u64) -> Option<Call> {
        let mut call = Call::default();
        // SAFETY: fills a structure of ours.
        unsafe { (self.inside.record)(number, &raw mut call) }.then_some(call)
    }

    /// Copies the steps after those that were taken; returns how many.
    fn fill(
        &self,
        (slot, number): (PredictionSlot, u64),
        outlook: &OutlookHeader,
        n_walked: usize,
        wanted: &Wanted,
    ) -> usize {
        let last = n_walked.checked_sub(1).map(|last| slot.step(number, last));
        let n_filled = (outlook.n_steps as usize - n_walked).min(wanted.n_predictions);
        for place in 0..n_filled {
            let step = slot.step(number, n_walked + place);
            let step = last.map_or(step, |last| since(step, &last));
            // SAFETY: the caller has promised room for that many.
            let to = unsafe { wanted.predictions.add(place) };
            // SAFETY: the same, and nobody else writes there.
            unsafe { to.write(prediction(&step)) };
            // SAFETY: just written.
            let to = unsafe { &mut *to };
            let path = as_bytes(&mut to.path);
            let (_, room) = path.split_last_mut().unwrap_or((&mut 0, &mut []));
            let n_bytes = slot.name(number, outlook, &step, room);
            if let Some(end) = to.path.get_mut(n_bytes) {
                *end = 0;
            }
        }
        n_filled
    }

    /// Waits a little; false if there is nothing to wait for.
    fn pause(&self, waited_ns: u64, left_ns: u64) -> bool {
        // SAFETY: functions of the capture library that take nothing.
        unsafe {
            (self.inside.wake)();
            if waited_ns < SPIN_NS {
                for _ in 0..32 {
                    std::hint::spin_loop();
                }
                return true;
            }
            (self.inside.pause)(left_ns.min(SLEEP_NS));
            (self.inside.reader_is_alive)()
        }
    }

    /// Whether nothing was published for long, and nobody will publish anything.
    fn is_forsaken(&self) -> bool {
        let made_ns = self.latest().map_or(0, |(slot, number)| slot.outlook(number).made_ns);
        // SAFETY: a function of the capture library that takes nothing.
        self.now_ns().saturating_sub(made_ns) > PATIENCE_NS
            && !unsafe { (self.inside.reader_is_alive)() }
    }

    fn now_ns(&self) -> u64 {
        // SAFETY: a function of the capture library that takes nothing.
        unsafe { (self.inside.now_ns)() }
    }
}

/// Looks at a slot that changes meanwhile.
const MAX_LOOKS: usize = 16;

/// What a call was to the stream of operations.
enum Made {
    /// Nothing: it failed, or only moved a position.
    Nothing,
    Operation,
}

impl Made {
    /// None if that depends on calls around it or inside it. The same
    /// rules as those of [`ioracle_events::OperationFilter`]. A flush that has
    /// nothing to write and what MPI does for itself are taken for operations
    /// here: they are not what was predicted, so the reader is waited for.
    fn of(call: &Call) -> Option<Made> {
        if call.depth > 0 {
            return None;
        }
        let function = Function::try_from(call.function).ok()?;
        // A call of a library is an operation if nothing inside it is.
        if matches!(function.layer(), Layer::MpiIo | Layer::HighLevel) {
            return None;
        }
        let is_operation = call.result >= 0 && function.access().is_atomic();
        Some(if is_operation { Made::Operation } else { Made::Nothing })
    }
}

/// Whether a call of the thread is what was predicted.
fn is_step(call: &Call, step: &OutlookStep) -> bool {
    let is_data = Function::try_from(call.function).is_ok_and(|it| it.access().is_data());
    call.function == step.function
        && (step.context == 0 || call.context == step.context)
        && call.file == step.file
        && (!is_data || (call.offset == step.offset && call.result as u64 == step.size))
}

/// A step as it is expected once another has been taken.
fn since(step: OutlookStep, last: &OutlookStep) -> OutlookStep {
    let ended_ns = last.from_now_ns.saturating_add(last.io_time_ns);
    // That the last one came says nothing about how certain the places of later ones
    // are.
    let share = |probability: f64| match last.operation_probability {
        taken if taken > 0.0 => (probability / taken).min(1.0),
        _ => probability,
    };
    OutlookStep {
        from_now_ns: step.from_now_ns.saturating_sub(ended_ns),
        probability: share(step.probability),
        operation_probability: share(step.operation_probability),
        ..step
    }
}

/// A step in the words of the interface, but for the path.
fn prediction(step: &OutlookStep) -> ioracle_prediction {
    let function = Function::try_from(step.function).ok();
    let spread = |[min, max, deviation]: [f64; 3]| ioracle_spread { min, max, deviation };
    ioracle_prediction {
        access: function.map_or(0, |function| code_of_access(function.access())),
        function: function.map_or(0, code_of_function),
        symbol: step.symbol,
        has_offset: step.offset >= 0,
        is_new_file: step.is_new_file != 0,
        is_unseen: step.symbol == ContextSymbol::UNSEEN.0,
        reserved_byte: 0,
        file: step.file,
        offset: u64::try_from(step.offset).unwrap_or(0),
        size: step.size,
        from_now_ns: step.from_now_ns,
        interarrival_ns: step.interarrival_ns,
        io_time_ns: step.io_time_ns,
        probability: step.probability,
        size_spread: spread(step.size_spread),
        offset_spread: spread(step.offset_spread),
        interarrival_spread: spread(step.interarrival_spread),
        io_time_spread: spread(step.io_time_spread),
        operation_probability: step.operation_probability,
        reserved: [0; 6],
        path_bytes: step.name_bytes.into(),
        path: [0; IORACLE_PATH_BYTES],
    }
}

fn as_bytes(text: &mut [c_char; IORACLE_PATH_BYTES]) -> &mut [u8; IORACLE_PATH_BYTES] {
    // SAFETY: both are bytes, of which any value is allowed.
    unsafe { &mut *std::ptr::from_mut(text).cast() }
}

/// The capture library's functions; null where it is not loaded.
static INSIDE: AtomicPtr<CaptureFunctions> = AtomicPtr::new(std::ptr::null_mut());

/// Runs when this library is loaded: the capture library is preloaded, so it
/// was there before. Looking for it later could deadlock in a signal handler.
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = find_capture;

extern "C" fn find_capture() {
    // SAFETY: the name is a C string; what it names is a function of this type.
    unsafe {
        let found = libc::dlsym(libc::RTLD_DEFAULT, SYMBOL.as_ptr());
        if found.is_null() {
            return;
        }
        let inside = std::mem::transmute::<*mut libc::c_void, Find>(found)();
        if inside.as_ref().is_some_and(|inside| inside.version == VERSION) {
            // Now, because what is learned in this process may not allocate there.
            barrier::keep_panics_off_stderr();
            INSIDE.store(inside.cast_mut(), Ordering::Release);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_capture_nothing_is_known() {
        // SAFETY: numbers, of which all may be zero.
        let mut prediction: ioracle_prediction = unsafe { std::mem::zeroed() };
        let mut basis = ioracle_basis { lag: 7, ..ioracle_basis::default() };
        // SAFETY: there is room for one prediction and the basis.
        let result = unsafe { ioracle_next(1_000_000, &mut prediction, 1, &mut basis) };
        assert_eq!(result, IORACLE_UNAVAILABLE);
        assert_eq!(basis, ioracle_basis::default());
        // SAFETY: no room is used.
        let result = unsafe { ioracle_next(0, std::ptr::null_mut(), 1, std::ptr::null_mut()) };
        assert_eq!(result, IORACLE_INVALID);
    }

    #[test]
    fn a_step_is_seen_from_the_one_before_it() {
        let step = |from_now_ns, io_time_ns, probability| OutlookStep {
            from_now_ns,
            io_time_ns,
            probability: probability / 2.0,
            operation_probability: probability,
            ..OutlookStep::default()
        };
        let seen = since(step(500, 1, 0.4), &step(100, 50, 0.8));
        assert_eq!((seen.from_now_ns, seen.operation_probability), (350, 0.5));
        assert_eq!(seen.probability, 0.25, "half as probable at its place as before");
    }
}
