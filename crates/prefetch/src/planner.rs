// SPDX-License-Identifier: MIT OR Apache-2.0

//! From expected reads to requests, within budgets.
//!
//! A planner keeps what it knows of each file's pages: read by the program, on
//! their way, there and unused, or found in the cache already. Expected reads
//! become requests for the pages of which nothing is known, in the order in which
//! they are needed, joined where they follow each other. How many requests run
//! depends on [`Trust`] and on what the storage has shown; how far they run ahead
//! is bounded in bytes and in files. Planning a step costs a look-up in the map
//! of its file; steps that were planned need not be passed again.

use std::ops::Range;

use ioracle_events::{FastMap, PredictionSource};

use crate::account::{Compared, HelpExtent, PrefetchReport, ReadTimes, SourceBytes};
use crate::coverage::RangeMap;
use crate::demand::{Demand, ReadWait};
use crate::draft::{Draft, Drafted};
use crate::settings::{PAGE_BYTES, PrefetchSettings};
use crate::storage::StorageModel;
use crate::trust::{StopReason, Trust};

/// A request made before predictions have proved right reads no more than this.
const UNPROVEN_BYTES: u64 = 128 << 10;
/// A request that may still grow waits while it is smaller than this and there is
/// time.
const WORTH_A_REQUEST: u64 = 256 << 10;
/// There is time where the bytes are needed only after so many requests.
const REQUESTS_AHEAD: u64 = 8;
/// Requests in a row that found everything in the cache: the rest of the file is
/// taken to be there, too, until the program waits for it.
const RESIDENT_IN_A_ROW: u32 = 4;
/// Bytes whose fate is known before wrong predictions end it all.
const JUDGED_BYTES: u64 = 8 << 20;
/// Where a smaller part than this of what is used is there in time, it is not worth it.
const IN_TIME_AT_LEAST: u64 = 16;
/// Reads with help before they are judged: half of them must be faster than without.
const COMPARED_READS: u64 = 16;
/// Files in a row that are not there, after which no others are tried until the program
/// opens one, or one is there: a name that is counted up goes on for ever.
const REFUSED_IN_A_ROW: u32 = 8;
/// Reads that take less come from a cache, whatever we do.
pub(crate) const CACHED_NS: f64 = 50_000.0;
pub(crate) const CACHED_NS_PER_BYTE: f64 = 0.5;
/// Nothing is concluded about the share of reads before.
const WARM_UP_NS: u64 = 1_000_000_000;
/// Ranges that are remembered of one file.
const MAX_RANGES: usize = 16_384;
/// Files that are remembered.
const MAX_FILES: usize = 65_536;

/// A file of the job, as the caller numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FileKey(pub u32);

/// Where a file lies. What is cached of one file system tells nothing of another: programs
/// begin with modules and settings that are, and then wait for their data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StorageKey(pub u32);

/// Names a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A read that is expected of the program.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedRead {
    /// The file.
    pub file: FileKey,
    /// Where it lies.
    pub storage: StorageKey,
    /// The bytes.
    pub bytes: Range<u64>,
    /// From now to the start of the read.
    pub in_ns: u64,
    /// That these bytes are read at all, soon.
    pub probability: f64,
    /// Who expects it.
    pub source: PredictionSource,
}

/// A read that the program has made.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedRead {
    /// The file.
    pub file: FileKey,
    /// Where it lies.
    pub storage: StorageKey,
    /// The bytes.
    pub bytes: Range<u64>,
    /// The call site.
    pub site: u32,
    /// When the call began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
    /// Whether this read was expected; none where nothing was predicted.
    pub expected: Option<bool>,
}

/// How things stand when a plan is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Situation {
    /// Now, on the clock of [`ObservedRead::end_ns`].
    pub now_ns: u64,
    /// Whether a thread of the program is inside an I/O call.
    pub inside_call: bool,
}

/// Bytes to read now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefetchRequest {
    /// Names the request.
    pub id: RequestId,
    /// The file.
    pub file: FileKey,
    /// The bytes.
    pub bytes: Range<u64>,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrefetchOutcome {
    /// So many bytes were read from the storage, or fewer at the end of the file.
    Fetched {
        /// How many.
        bytes: u64,
        /// How long it took.
        took_ns: u64,
    },
    /// They were in the cache.
    Resident,
    /// The file cannot be read ahead.
    Refused,
    /// It was not tried: there is no time for it any more.
    Dropped,
}

/// What opening a file does to the pages of it that are cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Nothing.
    KeepsCache,
    /// They are dropped, as by FUSE file systems without `keep_cache`.
    DropsCache,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PageState {
    /// The program has read it, or it was in the cache.
    Cached,
    InFlight(RequestId),
    /// Read ahead and unused.
    Warm {
        source: PredictionSource,
        /// How many leads of bytes the program had read then.
        since: u64,
        /// When it was there.
        ready_ns: u64,
    },
    /// Read ahead and unused for so long that nobody expects it to be used.
    Stale(PredictionSource),
}

#[derive(Debug, Default)]
struct FileState {
    pages: RangeMap<PageState>,
    /// Bytes on their way, or there and unused.
    ahead_bytes: u64,
    /// Written by the job, or refused by the storage.
    is_excluded: bool,
    /// Requests that found everything in the cache.
    resident_in_a_row: u32,
    /// Where the file ends, if a request has met it.
    end: Option<u64>,
}

impl FileState {
    fn is_worth_reading(&self, from: u64) -> bool {
        !self.is_excluded
            && self.resident_in_a_row < RESIDENT_IN_A_ROW
            && self.end.is_none_or(|end| from < end)
    }

    /// So many bytes are no longer ahead of the program.
    fn leave_behind(&mut self, bytes: u64, n_files_ahead: &mut usize) {
        self.ahead_bytes -= bytes;
        if bytes > 0 && self.ahead_bytes == 0 {
            *n_files_ahead -= 1;
        }
    }
}

#[derive(Debug)]
struct InFlight {
    file: FileKey,
    storage: StorageKey,
    bytes: Range<u64>,
    source: PredictionSource,
    /// Requests on their way when it was made, itself included.
    at_a_time: usize,
}

/// Decides what to read ahead, and accounts for it.
#[derive(Debug)]
pub struct Planner {
    settings: PrefetchSettings,
    trust: Trust,
    storage: StorageModel,
    files: FastMap<FileKey, FileState>,
    in_flight: FastMap<RequestId, InFlight>,
    n_requests: u64,
    /// Bytes on their way, and bytes there but unused.
    in_flight_bytes: u64,
    warm_bytes: u64,
    /// Files with such bytes.
    n_files_ahead: usize,
    /// Bytes used and bytes given up, of what was read ahead.
    used: u64,
    stale: u64,
    late: u64,
    fetched: u64,
    /// Bytes the program has read.
    read: u64,
    times: ReadTimes,
    by_source: SourceBytes,
    first_ns: Option<u64>,
    /// When the next byte may be read, where there is a limit.
    next_allowed_ns: u64,
    /// Earlier runs tell what will be read.
    has_foreknowledge: bool,
    /// The storages that are read from, or are going to be.
    demands: FastMap<StorageKey, Demand>,
    refused_in_a_row: u32,
    stopped: Option<StopReason>,
}

impl Planner {
    /// Nothing seen yet.
    pub fn new(settings: PrefetchSettings) -> Planner {
        Planner {
            settings,
            trust: Trust::default(),
            storage: StorageModel::default(),
            files: FastMap::default(),
            in_flight: FastMap::default(),
            n_requests: 0,
            in_flight_bytes: 0,
            warm_bytes: 0,
            n_files_ahead: 0,
            used: 0,
            stale: 0,
            late: 0,
            fetched: 0,
            read: 0,
            times: ReadTimes::default(),
            by_source: SourceBytes::default(),
            first_ns: None,
            next_allowed_ns: 0,
            has_foreknowledge: false,
            demands: FastMap::default(),
            refused_in_a_row: 0,
            stopped: None,
        }
    }

    /// Earlier runs tell what will be read, so that it is worth a try before the program
    /// has waited for anything.
    pub fn begin_with_foreknowledge(&mut self) {
        self.has_foreknowledge = true;
        self.trust.begin_with_foreknowledge();
    }

    /// A storage is going to be read from.
    pub fn expect_storage(&mut self, storage: StorageKey) {
        self.demands.entry(storage).or_default();
    }

    /// Whether there is nothing to do until the program waits for a read: as far as is
    /// known, all it reads is in the cache.
    pub fn is_dormant(&self) -> bool {
        let mut demands = self.demands.values();
        let is_any = !self.demands.is_empty() || !self.has_foreknowledge;
        is_any && demands.all(|demand| demand.is_dormant(self.has_foreknowledge))
    }

    fn demand(&mut self, storage: StorageKey) -> &mut Demand {
        self.demands.entry(storage).or_default()
    }

    /// Takes in a read of the program; whether it had to wait.
    pub fn observe(&mut self, read: &ObservedRead) -> ReadWait {
        let ObservedRead { file, storage, site, start_ns, end_ns, expected, .. } = *read;
        let took_ns = end_ns.saturating_sub(start_ns);
        let bytes = read.bytes.end.saturating_sub(read.bytes.start);
        self.demand(storage).is_read = true;
        if bytes == 0 {
            return ReadWait::None;
        }
        self.first_ns.get_or_insert(start_ns);
        self.read = self.read.saturating_add(bytes);
        let was_cached = self.is_cached(file, &read.bytes);
        let was_dormant = self.is_dormant();
        let help = self.use_pages(file, &read.bytes, start_ns);
        let mut is_slow = false;
        let mut wait = if help.is_some() { ReadWait::Avoided } else { ReadWait::None };
        if let Some(extent) = help {
            self.trust.verify();
            let ns_per_byte = self.storage.ns_per_byte().unwrap_or(0.0);
            self.times.add_helped(site, bytes, took_ns, (ns_per_byte, extent));
        } else {
            self.times.add_unhelped(site, took_ns);
            is_slow = took_ns as f64 > CACHED_NS + CACHED_NS_PER_BYTE * bytes as f64;
            if is_slow {
                wait = ReadWait::Waited;
                self.demand(storage).wait();
                if let Some(state) = self.file_mut(file) {
                    state.resident_in_a_row = 0;
                }
            }
        }
        match expected {
            // Nothing was expected.
            _ if was_dormant => {}
            None => {}
            Some(true) => self.trust.confirm(),
            Some(false) if help == Some(HelpExtent::Whole) => self.trust.confirm(),
            // To read again what it has read needs no help and tells nothing. Neither
            // does a request that came too late: it may have followed the program. Nor
            // does a read from the cache, of which an interpreter makes a thousand for
            // its modules before it comes to its data.
            Some(false) if is_slow && !was_cached => self.trust.lose(),
            Some(false) => {}
        }
        self.judge();
        wait
    }

    /// Whether all of these bytes are cached, on their way, or read ahead.
    fn is_known(&self, file: FileKey, bytes: &Range<u64>) -> bool {
        let state = self.files.get(&file);
        bytes.is_empty() || state.is_some_and(|state| state.pages.gaps(pages(bytes)).is_empty())
    }

    fn is_cached(&self, file: FileKey, bytes: &Range<u64>) -> bool {
        let Some(state) = self.files.get(&file) else { return false };
        let cached = (state.pages.within(bytes.clone())).filter(|(_, it)| *it == PageState::Cached);
        cached.map(|(range, _)| range.end - range.start).sum::<u64>() == bytes.end - bytes.start
    }

    /// The job writes to a file: its pages change, and are in the cache anyway.
    pub fn exclude(&mut self, file: FileKey) {
        if let Some(state) = self.file_mut(file) {
            state.is_excluded = true;
        }
    }

    /// The requests to make now, and how many of the expected reads were dealt
    /// with and need not be passed again. The reads come in the order in which
    /// they are expected.
    pub fn plan(
        &mut self,
        situation: Situation,
        expected: impl IntoIterator<Item = ExpectedRead>,
    ) -> (Vec<PrefetchRequest>, usize) {
        let slots = self.slots(situation);
        let alone = self.slots_alone(situation.now_ns);
        self.plan_likely(situation, expected, (slots, alone), self.settings.min_probability)
    }

    /// The same for reads of a branch that is not the likeliest one: they are asked
    /// for while the program is not waiting for anything, and only as long as what is
    /// ahead of the program takes less than half of the lead.
    pub fn plan_branch(
        &mut self,
        situation: Situation,
        expected: impl IntoIterator<Item = ExpectedRead>,
    ) -> Vec<PrefetchRequest> {
        let has_room = self.in_flight_bytes + self.warm_bytes < self.settings.lead_bytes / 2;
        let is_idle = self.in_flight.is_empty() && !situation.inside_call;
        let slots = if has_room && is_idle { self.slots(situation) } else { 0 };
        self.plan_likely(situation, expected, (slots, 0), self.settings.min_branch_probability).0
    }

    fn plan_likely(
        &mut self,
        situation: Situation,
        expected: impl IntoIterator<Item = ExpectedRead>,
        (slots, slots_alone): (usize, usize),
        min_probability: f64,
    ) -> (Vec<PrefetchRequest>, usize) {
        if slots.max(slots_alone) == 0 {
            return (Vec::new(), 0);
        }
        let next_id = RequestId(self.n_requests);
        let mut draft =
            Draft { requests: Vec::new(), slots, next_id, n_planned: 0, may_grow: false };
        let max_bytes = match self.trust.is_proven() {
            true => self.settings.max_request_bytes,
            false => UNPROVEN_BYTES.min(self.settings.max_request_bytes),
        };
        let mut is_full = false;
        let service_ns = self.storage.service_ns(PAGE_BYTES).unwrap_or(0);
        // Half of the way is worth something, where the way is known.
        let is_proven = self.trust.is_proven();
        let needed_ns = if is_proven { service_ns / 2 } else { service_ns };
        // Time that reads will take which are left to the program: what comes after
        // them is due later than it is expected. A single small request would only
        // follow the read-ahead of the kernel there.
        let mut delay_ns = 0;
        for read in expected {
            if self.has_foreknowledge && !read.bytes.is_empty() {
                self.expect_storage(read.storage);
            }
            let is_late = read.in_ns.saturating_add(delay_ns) < needed_ns;
            if is_late || !self.is_wanted(&read, min_probability) {
                if is_late && is_proven && !self.is_known(read.file, &read.bytes) {
                    delay_ns += service_ns;
                }
                draft.n_planned += 1;
                continue;
            }
            let (slots, max_bytes) = match self.is_untouched(read.storage) {
                true if slots_alone > slots => (slots_alone, self.settings.max_request_bytes),
                _ => (slots, max_bytes),
            };
            draft.slots = slots;
            if !self.add(&mut draft, &read, max_bytes) {
                is_full = true;
                break;
            }
            draft.n_planned += 1;
        }
        if !is_full {
            self.hold_back(&mut draft);
        }
        self.issue(draft, situation.now_ns)
    }

    /// Takes in what became of a request, and when.
    pub fn complete(&mut self, id: RequestId, outcome: PrefetchOutcome, ready_ns: u64) {
        let Some(request) = self.in_flight.remove(&id) else { return };
        let InFlight { file, storage, bytes, source, at_a_time } = request;
        self.in_flight_bytes -= bytes.end - bytes.start;
        let since = self.epoch();
        let Some(state) = self.files.get_mut(&file) else { return };
        // What the program has asked for meanwhile is no longer on its way.
        let waiting: Vec<Range<u64>> = (state.pages.within(bytes.clone()))
            .filter(|(_, page)| *page == PageState::InFlight(id))
            .map(|(range, _)| range)
            .collect();
        let end = match outcome {
            PrefetchOutcome::Fetched { bytes: fetched, .. } => {
                bytes.start.saturating_add(fetched).min(bytes.end)
            }
            _ => bytes.start,
        };
        let mut n_in_time = 0;
        for range in waiting {
            state.pages.cut_out(range.clone());
            let fetched = range.start..range.end.min(end).max(range.start);
            let warm = fetched.end - fetched.start;
            n_in_time += warm;
            self.warm_bytes += warm;
            state.leave_behind(range.end - range.start - warm, &mut self.n_files_ahead);
            match outcome {
                PrefetchOutcome::Resident => state.pages.insert(range, PageState::Cached),
                _ => state.pages.insert(fetched, PageState::Warm { source, since, ready_ns }),
            }
        }
        match outcome {
            PrefetchOutcome::Fetched { bytes: fetched, took_ns } => {
                self.fetched = self.fetched.saturating_add(fetched);
                // The program asked for the rest of it before it was there.
                self.late += (end - bytes.start).saturating_sub(n_in_time);
                self.storage.learn(fetched.max(1), took_ns, at_a_time);
                state.resident_in_a_row = 0;
                self.refused_in_a_row = 0;
                self.demand(storage).fetch();
            }
            PrefetchOutcome::Resident => {
                state.resident_in_a_row += 1;
                self.refused_in_a_row = 0;
                self.demand(storage).find_resident();
            }
            PrefetchOutcome::Refused => {
                state.is_excluded = true;
                self.refused_in_a_row += 1;
            }
            PrefetchOutcome::Dropped => {}
        }
    }

    /// A file ends there: nothing is asked for beyond.
    pub fn end_file(&mut self, file: FileKey, end: u64) {
        if let Some(state) = self.file_mut(file) {
            state.end = Some(end);
        }
    }

    /// A file was opened, and may be another of the same name. If opening it drops
    /// what is cached of it, nothing of it is there any more.
    pub fn reopen(&mut self, file: FileKey, opening: Opening) {
        self.refused_in_a_row = 0;
        let Some(state) = self.files.get_mut(&file) else { return };
        state.end = None;
        if opening == Opening::KeepsCache {
            return;
        }
        let pages: Vec<(Range<u64>, PageState)> = state.pages.iter().collect();
        for (range, page) in pages {
            let bytes = range.end - range.start;
            match page {
                // What is on its way comes after the opening.
                PageState::InFlight(_) => continue,
                PageState::Cached | PageState::Stale(_) => {}
                PageState::Warm { .. } => {
                    self.warm_bytes -= bytes;
                    self.stale += bytes;
                    state.leave_behind(bytes, &mut self.n_files_ahead);
                }
            }
            state.pages.cut_out(range);
        }
    }

    /// Whether predictions have proved right lately.
    pub fn is_trusted(&self) -> bool {
        self.trust.is_proven()
    }

    /// Requests that were not answered yet.
    pub fn n_in_flight(&self) -> usize {
        self.in_flight.len()
    }

    /// Whether it has given up for good.
    pub fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// What was done so far; what is unused now counts as wasted.
    pub fn report(&self) -> PrefetchReport {
        let on_their_way = self.used + self.late;
        let waited_ns = self.times.waited_ns() as f64;
        PrefetchReport {
            bytes: self.fetched,
            used: self.used,
            wasted: self.fetched.saturating_sub(on_their_way),
            late: self.late,
            read: self.read,
            waited_s: waited_ns * 1e-9,
            saved_s: self.times.saved_ns() * 1e-9,
            possible_s: (waited_ns + self.times.saved_ns()) * 1e-9,
            by_source: self.by_source,
            stopped: self.stopped.is_some(),
            why: self.stopped.map(|why| why.in_words().to_owned()),
        }
    }

    /// Marks pages as read by the program; how much of it was there or on its way
    /// because of us.
    fn use_pages(
        &mut self,
        file: FileKey,
        bytes: &Range<u64>,
        start_ns: u64,
    ) -> Option<HelpExtent> {
        let state = self.file_mut(file)?;
        let pages: Vec<(Range<u64>, PageState)> = state.pages.within(bytes.clone()).collect();
        let n_known: u64 = pages.iter().map(|(range, _)| range.end - range.start).sum();
        let pages: Vec<(Range<u64>, PageState)> = state.pages.within(self::pages(bytes)).collect();
        let (mut outcome, mut on_their_way) = ((0, 0, 0, 0), 0);
        // What is on its way is late only if it comes: see `complete`.
        let mut by_source = SourceBytes::default();
        for (range, page) in pages {
            let length = range.end - range.start;
            match page {
                PageState::Cached => {}
                PageState::InFlight(_) => on_their_way += length,
                PageState::Warm { ready_ns, .. } if ready_ns > start_ns => {
                    outcome.1 += length;
                    outcome.2 += length;
                }
                PageState::Warm { source, .. } => {
                    outcome.0 += length;
                    outcome.2 += length;
                    by_source.add(source, length);
                }
                PageState::Stale(source) => {
                    outcome.0 += length;
                    outcome.3 += length;
                    by_source.add(source, length);
                }
            }
        }
        state.pages.insert(self::pages(bytes), PageState::Cached);
        if state.pages.len() > MAX_RANGES {
            forget_cached(&mut state.pages);
        }
        let (used, late, was_warm, was_stale) = outcome;
        let n_files_ahead = &mut self.n_files_ahead;
        let state = self.files.get_mut(&file).expect("looked up above");
        state.leave_behind(was_warm + on_their_way, n_files_ahead);
        self.used += used;
        self.late += late;
        self.warm_bytes -= was_warm;
        self.stale = self.stale.saturating_sub(was_stale);
        self.by_source.add_all(by_source);
        let late = late + on_their_way;
        match late == 0 && n_known == bytes.end - bytes.start {
            _ if used + late == 0 => None,
            true => Some(HelpExtent::Whole),
            false => Some(HelpExtent::Part),
        }
    }

    /// Whether a request may be made now.
    fn may_ask(&self, now_ns: u64) -> bool {
        let is_rested = self.settings.rate_bytes_per_s.is_none() || now_ns >= self.next_allowed_ns;
        self.stopped.is_none() && !self.is_dormant() && self.is_worth_it(now_ns) && is_rested
    }

    /// How many requests may be made to a storage that the program has not read from yet, as
    /// while it starts: they keep nobody waiting, whether predictions are right or not.
    fn slots_alone(&self, now_ns: u64) -> usize {
        let is_far_ahead = self.in_flight_bytes + self.warm_bytes >= self.settings.lead_bytes / 2;
        if !self.has_foreknowledge || is_far_ahead || !self.may_ask(now_ns) {
            return 0;
        }
        self.settings.max_in_flight.saturating_sub(self.in_flight.len())
    }

    /// Whether the program has read nothing from a storage so far.
    fn is_untouched(&self, storage: StorageKey) -> bool {
        self.demands.get(&storage).is_none_or(|demand| !demand.is_read)
    }

    /// How many requests may be made now.
    fn slots(&self, Situation { now_ns, inside_call }: Situation) -> usize {
        if !self.may_ask(now_ns) {
            return 0;
        }
        let PrefetchSettings { max_in_flight, max_request_bytes, .. } = self.settings;
        match (self.trust.is_proven(), inside_call) {
            (true, _) => {
                let useful = self.storage.useful_in_flight(max_request_bytes, max_in_flight);
                useful.saturating_sub(self.in_flight.len())
            }
            (false, true) => 0,
            (false, false) => usize::from(self.in_flight.is_empty()),
        }
    }

    /// Whether reads take enough of the time for help to matter.
    fn is_worth_it(&self, now_ns: u64) -> bool {
        let Some(first_ns) = self.first_ns else { return true };
        let elapsed_ns = now_ns.saturating_sub(first_ns);
        let possible_ns = self.times.waited_ns() as f64 + self.times.saved_ns();
        elapsed_ns < WARM_UP_NS || possible_ns >= self.settings.min_gain * elapsed_ns as f64
    }

    /// Whether an expected read is worth a request.
    fn is_wanted(&self, read: &ExpectedRead, min_probability: f64) -> bool {
        let has_foreknowledge = self.has_foreknowledge;
        let is_dormant = self
            .demands
            .get(&read.storage)
            .map_or(!has_foreknowledge, |demand| demand.is_dormant(has_foreknowledge));
        !read.bytes.is_empty()
            && !is_dormant
            && read.probability >= min_probability
            && match self.files.get(&read.file) {
                Some(state) => state.is_worth_reading(read.bytes.start),
                None => self.refused_in_a_row < REFUSED_IN_A_ROW,
            }
    }

    /// Adds what is missing of a read; false if there is no room for all of it.
    fn add(&mut self, draft: &mut Draft, read: &ExpectedRead, max_bytes: u64) -> bool {
        let wanted = pages(&read.bytes);
        let missing = match self.files.get(&read.file) {
            Some(state) => state.pages.gaps(wanted),
            None => vec![wanted],
        };
        draft.may_grow = false;
        for mut gap in missing {
            while !gap.is_empty() {
                let (id, room) = match draft.requests.last() {
                    Some(last)
                        if last.ends_at(read.file, gap.start) && last.room(max_bytes) > 0 =>
                    {
                        (last.id, last.room(max_bytes))
                    }
                    _ if self.has_room(draft, read.file) => {
                        (draft.begin(read, gap.start), max_bytes)
                    }
                    _ => return false,
                };
                let part = gap.start..gap.end.min(gap.start.saturating_add(room));
                gap.start = part.end;
                self.mark(read.file, part.clone(), id);
                draft.requests.last_mut().expect("begun above").bytes.end = part.end;
                draft.may_grow = true;
            }
        }
        true
    }

    /// Whether another request may be made.
    fn has_room(&self, draft: &Draft, file: FileKey) -> bool {
        let ahead = self.in_flight_bytes + self.warm_bytes;
        let is_ahead = self.files.get(&file).is_some_and(|state| state.ahead_bytes > 0);
        draft.requests.len() < draft.slots
            && ahead < self.settings.lead_bytes
            && (is_ahead || self.n_files_ahead < self.settings.max_files_ahead)
    }

    /// Bytes are on their way.
    fn mark(&mut self, file: FileKey, bytes: Range<u64>, id: RequestId) {
        let length = bytes.end - bytes.start;
        let Some(state) = self.file_mut(file) else { return };
        state.pages.insert(bytes, PageState::InFlight(id));
        let is_new = state.ahead_bytes == 0;
        state.ahead_bytes += length;
        self.n_files_ahead += usize::from(is_new);
        self.in_flight_bytes += length;
    }

    /// Leaves the last request out if it may grow and there is time.
    fn hold_back(&mut self, draft: &mut Draft) {
        let Some(last) = draft.requests.last() else { return };
        let bytes = last.bytes.end - last.bytes.start;
        let service_ns = self.storage.service_ns(bytes);
        let has_time = service_ns.is_some_and(|ns| last.in_ns > REQUESTS_AHEAD * ns);
        if !draft.may_grow || bytes >= WORTH_A_REQUEST || !has_time {
            return;
        }
        if let Some(state) = self.files.get_mut(&last.file) {
            state.pages.cut_out(last.bytes.clone());
            state.leave_behind(bytes, &mut self.n_files_ahead);
        }
        self.in_flight_bytes -= bytes;
        draft.n_planned = last.first_step;
        draft.requests.pop();
    }

    /// Makes the requests of a draft.
    fn issue(&mut self, draft: Draft, now_ns: u64) -> (Vec<PrefetchRequest>, usize) {
        let at_a_time = self.in_flight.len() + draft.requests.len();
        let n_planned = draft.n_planned;
        let mut requests = Vec::with_capacity(draft.requests.len());
        for Drafted { id, file, storage, bytes, source, .. } in draft.requests {
            self.n_requests = id.0 + 1;
            let in_flight = InFlight { file, storage, bytes: bytes.clone(), source, at_a_time };
            self.in_flight.insert(id, in_flight);
            if let Some(rate) = self.settings.rate_bytes_per_s {
                let length = u128::from(bytes.end - bytes.start);
                let takes_ns = (length * 1_000_000_000 / u128::from(rate.max(1))) as u64;
                let from_ns = self.next_allowed_ns.max(now_ns);
                self.next_allowed_ns = from_ns.saturating_add(takes_ns);
            }
            requests.push(PrefetchRequest { id, file, bytes });
        }
        if self.warm_bytes + self.in_flight_bytes >= self.settings.lead_bytes {
            self.give_up_old();
        }
        (requests, n_planned)
    }

    /// Gives up on bytes that were not used while the program read two leads of
    /// others.
    fn give_up_old(&mut self) {
        let now = self.epoch();
        for state in self.files.values_mut() {
            let old: Vec<(Range<u64>, PredictionSource)> = (state.pages.iter())
                .filter_map(|(range, page)| match page {
                    PageState::Warm { source, since, .. } if since + 2 < now => {
                        Some((range, source))
                    }
                    _ => None,
                })
                .collect();
            for (range, source) in old {
                let bytes = range.end - range.start;
                self.warm_bytes -= bytes;
                self.stale += bytes;
                state.pages.insert(range, PageState::Stale(source));
                state.leave_behind(bytes, &mut self.n_files_ahead);
            }
        }
    }

    /// Gives up if it does not help.
    fn judge(&mut self) {
        if self.stopped.is_some() {
            return;
        }
        let judged = self.used + self.late + self.stale;
        if judged >= JUDGED_BYTES && self.stale > judged / 2 {
            self.stopped = Some(StopReason::WrongPredictions);
        }
        if self.late >= JUDGED_BYTES && self.used < self.late / IN_TIME_AT_LEAST {
            self.stopped = Some(StopReason::TooLate);
        }
        let Compared { n, n_faster } = self.times.compared();
        if n >= COMPARED_READS && n_faster < n / 2 {
            self.stopped = Some(StopReason::NotFaster);
        }
    }

    /// The state of a file; none if there are too many.
    fn file_mut(&mut self, file: FileKey) -> Option<&mut FileState> {
        if self.files.len() >= MAX_FILES && !self.files.contains_key(&file) {
            return None;
        }
        Some(self.files.entry(file).or_default())
    }

    /// How many leads of bytes the program has read.
    fn epoch(&self) -> u64 {
        self.read / self.settings.lead_bytes.max(1)
    }
}

/// The pages that hold these bytes.
pub(crate) fn pages(bytes: &Range<u64>) -> Range<u64> {
    let end = bytes.end.checked_next_multiple_of(PAGE_BYTES).unwrap_or(bytes.end);
    bytes.start - bytes.start % PAGE_BYTES..end
}

/// Forgets what is in the cache: at worst it is asked for again.
fn forget_cached(pages: &mut RangeMap<PageState>) {
    let cached: Vec<Range<u64>> = pages
        .iter()
        .filter(|(_, page)| *page == PageState::Cached)
        .map(|(range, _)| range)
        .collect();
    cached.into_iter().for_each(|range| pages.cut_out(range));
}
