// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where a run is in the graph, and what comes next (section V-D of the paper).
//!
//! Before any access a run stands at the start vertex. Then the recent sequence is
//! looked up: with several successors it is extended into the past, without any its
//! oldest token is cut. The position is kept between steps: a visit that follows
//! the path only moves it on.
//!
//! The path ahead is a walk along the most visited successors, with the files and
//! parts of this run: a step to a file that is not there, or beyond the end of an
//! object, is no step, and the next successor is taken. So the number of files and
//! their sizes may be others than those that were learned.

use std::collections::VecDeque;
use std::ops::Range;

use crate::collect::{KnownFileLayout, SMALL_BYTES, VisitCollector};
use crate::graph::{
    Content, FileProgression, Follower, GraphRecord, KnowledgeGraph, RunVisit, Sequence, Token,
    TokenId, Tokeniser, VertexId, VisitKind, hash_of, shortened, united,
};
use crate::layouts::is_same_layout;
use crate::part::{Part, PartMotion};

/// Steps of the path ahead.
const HORIZON: usize = 4096;
/// Steps of a path that is derived anew, which may happen with every visit; steps that are
/// added for each visit that came as expected, up to so many. Who acts on the path makes it
/// longer.
const STEPS_DERIVED: usize = 4;
const STEPS_PER_VISIT: usize = 2;
const STEPS_IN_STOCK: usize = 64;
/// Probabilities of steps are kept above this, so that they stay numbers.
const SMALL_REACH: f64 = 1e-100;
/// A path that is less likely than this to hold is not followed further.
const MIN_PROBABILITY: f64 = 0.25;

/// Where ties are broken at random, it is from here.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// One step of the path ahead.
#[derive(Clone, Debug, PartialEq)]
pub struct GraphStep {
    /// What is visited.
    pub vertex: VertexId,
    /// How.
    pub kind: VisitKind,
    /// The path of its file; none where it is not known, as for files that are
    /// written.
    pub path: Option<String>,
    /// Which part.
    pub part: Part,
    /// The bytes of the file that will be accessed, as far as that is known, in the
    /// order of the file.
    pub extents: Vec<Range<u64>>,
    /// How long the visit takes.
    pub io_time_ns: u64,
    /// When it starts, and how likely the path holds up to here, from where the path was
    /// derived: see [`Navigator::from_now_ns`] and [`Navigator::probability`].
    at_ns: u64,
    reach: f64,
    index: u32,
    token: TokenId,
}

/// How a run and the graph agreed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NavigationCounts {
    /// Visits of the run.
    pub visits: u64,
    /// Those that the graph knew.
    pub matched: u64,
    /// Those that were the next step of the path.
    pub predicted: u64,
}

/// Follows one stream of a run in the graph of its application.
#[derive(Clone, Debug)]
pub struct Navigator {
    position: Position,
    path: VecDeque<GraphStep>,
    /// Where the path ends.
    end: Position,
    /// Number of the first step; every step has its own.
    first_number: u64,
    /// The end of the last visit, and how likely it was, like the steps of the path: so
    /// nothing has to be changed in them when one is passed.
    now_ns: u64,
    now_reach: f64,
    end_ns: u64,
    end_reach: f64,
    is_whole: bool,
    counts: NavigationCounts,
    record: GraphRecord,
    n_derived: u64,
    /// The step that the last visit was, if it was one.
    passed: Option<GraphStep>,
    /// Breaks ties.
    random: u64,
}

#[derive(Clone, Debug)]
struct Position {
    recent: Sequence,
    tokeniser: Tokeniser,
}

impl Navigator {
    /// At the start vertex. `record` is how predictions from the graph went so far.
    pub fn new(record: GraphRecord) -> Navigator {
        let recent = [TokenId::ANY, TokenId::ANY, TokenId::START];
        let position = Position { recent, tokeniser: Tokeniser::default() };
        Navigator {
            end: position.clone(),
            position,
            path: VecDeque::new(),
            first_number: 0,
            now_ns: 0,
            now_reach: 1.0,
            end_ns: 0,
            end_reach: 1.0,
            is_whole: false,
            counts: NavigationCounts::default(),
            record,
            n_derived: 0,
            passed: None,
            random: SEED,
        }
    }

    /// Takes in the next visit of the stream.
    pub fn observe(&mut self, visit: &RunVisit, graph: &KnowledgeGraph, run: &mut VisitCollector) {
        self.counts.visits += 1;
        let vertex = graph.find(&visit.object);
        if vertex.is_none() && visit.kind == VisitKind::Write {
            // Where a sister tool writes tells nothing about what is read next.
            return;
        }
        let first = self.path.front();
        let is_next = first.is_some_and(|step| {
            Some(step.vertex) == vertex
                && (step.kind, step.index) == (visit.kind, visit.index)
                // Which part is written is not predicted: nobody could do anything with it.
                && (visit.kind == VisitKind::Write
                    || is_same_part(&step.part, &visit.part, visit.shape.as_deref())
                    || has_begun(&step.part, visit))
        });
        if first.is_some() {
            self.record.add(is_next);
        }
        self.passed = None;
        let Some(vertex) = vertex else {
            self.lose();
            return;
        };
        self.counts.matched += 1;
        let shape = match &visit.shape {
            Some(shape) => shape.clone(),
            None => graph.vertex(vertex).shape.clone(),
        };
        let token = match self.path.front() {
            // It is going to be the part that was expected.
            Some(step) if is_next && has_begun(&step.part, visit) => {
                let whole = RunVisit { part: step.part.clone(), ..visit.clone() };
                self.position.tokeniser.token(vertex, &whole, &shape)
            }
            _ => self.position.tokeniser.token(vertex, visit, &shape),
        };
        let [_, b, c] = self.position.recent;
        if is_next && let Some(step) = self.path.pop_front() {
            self.counts.predicted += 1;
            self.first_number += 1;
            self.now_ns = step.at_ns.saturating_add(step.io_time_ns);
            self.now_reach = step.reach;
            if self.now_reach < SMALL_REACH {
                self.path.iter_mut().for_each(|it| it.reach /= step.reach);
                self.end_reach /= step.reach;
                self.now_reach = 1.0;
            }
            self.position.recent = [b, c, step.token];
            self.passed = Some(step);
            if self.path.len() < STEPS_IN_STOCK {
                self.extend(graph, run, STEPS_PER_VISIT);
            }
            return;
        }
        let known = graph.find_token(&token).or_else(|| self.nearest(graph, &token));
        self.position.recent = [b, c, known.unwrap_or(TokenId::ANY)];
        self.derive(graph, run);
    }

    /// Derives the path anew, because more is known about files.
    pub fn derive(&mut self, graph: &KnowledgeGraph, run: &mut VisitCollector) {
        self.first_number += self.path.len() as u64;
        self.path.clear();
        self.end = self.position.clone();
        (self.now_ns, self.now_reach) = (0, 1.0);
        (self.end_ns, self.end_reach, self.is_whole) = (0, 1.0, false);
        self.n_derived += 1;
        self.extend(graph, run, STEPS_DERIVED);
    }

    /// Adds at most so many steps to the path.
    pub fn extend(&mut self, graph: &KnowledgeGraph, run: &mut VisitCollector, n_steps: usize) {
        for _ in 0..n_steps {
            if self.is_whole || self.path.len() >= HORIZON {
                return;
            }
            match self.next_step(graph, run) {
                Some(step) => self.path.push_back(step),
                None => self.is_whole = true,
            }
        }
    }

    /// From the end of the last visit to the start of a step of the path.
    pub fn from_now_ns(&self, step: &GraphStep) -> u64 {
        step.at_ns.saturating_sub(self.now_ns)
    }

    /// That the path holds up to a step of it.
    pub fn probability(&self, step: &GraphStep) -> f64 {
        (step.reach / self.now_reach).min(1.0)
    }

    /// The steps ahead, the nearest first.
    pub fn path(&self) -> impl ExactSizeIterator<Item = &GraphStep> {
        self.path.iter()
    }

    /// The step that the last visit was, if it came as predicted.
    pub fn passed(&self) -> Option<&GraphStep> {
        self.passed.as_ref()
    }

    /// The number of the first step; those behind it have the numbers that follow.
    pub fn first_number(&self) -> u64 {
        self.first_number
    }

    /// How often the path had to be derived anew.
    pub fn n_derived(&self) -> u64 {
        self.n_derived
    }

    /// How the stream and the graph agreed so far.
    pub fn counts(&self) -> NavigationCounts {
        self.counts
    }

    /// How predictions went, earlier runs included.
    pub fn record(&self) -> GraphRecord {
        self.record
    }

    /// The stream has ended: nothing is ahead of it.
    pub fn stop(&mut self) {
        self.lose();
    }

    /// The position is lost, until the graph knows where the stream is again.
    fn lose(&mut self) {
        self.position.recent = [TokenId::ANY; 3];
        self.first_number += self.path.len() as u64;
        self.path.clear();
        self.is_whole = true;
    }

    /// The token that is most like one that the graph does not have. Whether it is
    /// the last part or file decides most about what comes then.
    fn nearest(&self, graph: &KnowledgeGraph, token: &Token) -> Option<TokenId> {
        let likeness = |id: &TokenId| {
            let other = graph.token(*id);
            let same = |is_same: bool, weight: u32| if is_same { weight } else { 0 };
            let score = same(other.is_last_part == token.is_last_part, 4)
                + same(other.is_last_file == token.is_last_file, 4)
                + same(other.part == token.part, 2)
                + same(other.file == token.file, 1);
            (score, graph.token_visits(*id))
        };
        let tokens = graph.tokens_of(token.vertex).iter().copied();
        tokens.filter(|id| graph.token(*id).kind == token.kind).max_by_key(likeness)
    }

    /// The next step behind the path.
    fn next_step(&mut self, graph: &KnowledgeGraph, run: &mut VisitCollector) -> Option<GraphStep> {
        let recent = self.end.recent;
        let mut possible: Vec<(u64, Candidate)> = Vec::new();
        // The longest sequence that is needed to decide, and that is known.
        for length in 1..=recent.len() {
            if recent[recent.len() - length] == TokenId::ANY {
                break;
            }
            let followers = graph.followers(&shortened(recent, length));
            let found = self.possible(graph, run, followers);
            if found.is_empty() {
                break;
            }
            possible = found;
            if possible.len() == 1 {
                break;
            }
        }
        let total: u64 = possible.iter().map(|(visits, _)| visits).sum();
        let rank = |(visits, candidate): &(u64, Candidate)| (candidate.fits, *visits);
        let highest = possible.iter().map(rank).max()?;
        possible.retain(|it| rank(it) == highest);
        let chosen = if possible.len() > 1 { self.pick(possible.len()) } else { 0 };
        let (visits, best) = possible.swap_remove(chosen);
        let share = match best.is_only_fit {
            true => 1.0,
            false => visits as f64 / total.max(1) as f64,
        };
        let reach = self.end_reach * share;
        if reach < MIN_PROBABILITY * self.now_reach {
            return None;
        }
        Some(self.take_step(graph, run, best, reach))
    }

    /// One of several that are as likely, at random as in the paper, but the same in
    /// every run (xorshift).
    fn pick(&mut self, n: usize) -> usize {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 33) as usize % n
    }

    /// Followers that this run can come to.
    fn possible(
        &mut self,
        graph: &KnowledgeGraph,
        run: &mut VisitCollector,
        followers: &[Follower],
    ) -> Vec<(u64, Candidate)> {
        let mut found: Vec<(u64, Candidate)> = Vec::new();
        for Follower { token, visits } in followers {
            if let Some(candidate) = self.candidate(graph, run, *token) {
                found.push((*visits, candidate));
            }
        }
        let n_fit = found.iter().filter(|(_, candidate)| candidate.fits).count();
        found.iter_mut().for_each(|(_, it)| it.is_only_fit = it.fits && n_fit == 1);
        found
    }

    fn candidate(
        &mut self,
        graph: &KnowledgeGraph,
        run: &mut VisitCollector,
        id: TokenId,
    ) -> Option<Candidate> {
        let token = *graph.token(id);
        let vertex = graph.vertex(token.vertex);
        let role = &vertex.object.role;
        let cursor = self.end.tokeniser.cursor(role);
        let index = match token.file {
            FileProgression::Same => cursor.unwrap_or(0),
            FileProgression::Step(by) => cursor.unwrap_or(0).checked_add_signed(by)?,
            FileProgression::First => 0,
            FileProgression::Elsewhere => cursor.map_or(0, |cursor| cursor + 1),
        };
        let is_read = token.kind == VisitKind::Read;
        let path = run.files().path_of(role, index);
        if is_read && path.is_none() {
            return None;
        }
        let is_last_file = match role.is_series() {
            true => run.files().count(role).is_none_or(|count| index + 1 >= count),
            false => true,
        };
        let layout = path.as_deref().and_then(|path| run.layout(path));
        let file_bytes = path.as_deref().and_then(|path| run.file_bytes(path));
        let shape = match (&vertex.object.content, layout) {
            (Content::Bytes, _) if is_read && file_bytes.is_some() => Vec::from_iter(file_bytes),
            (Content::Variable(name), Some(KnownFileLayout { classic: Some(classic), .. })) => {
                // A variable that this file does not have is not read from it.
                classic.shape(name)?.to_vec()
            }
            _ => {
                let file = path.as_deref().map(hash_of).zip(file_bytes);
                let seen = file.and_then(|file| run.learned().shape(&vertex.object, file));
                seen.map_or_else(|| vertex.shape.clone(), <[u64]>::to_vec)
            }
        };
        if layout.is_none()
            && is_read
            && let Some(path) = &path
        {
            run.want_layout(path);
        }
        // Of whatever file, as when the token was learned: programs that go round several
        // files read the next record of each in its turn.
        let last = self.end.tokeniser.last_part(token.vertex, token.kind);
        let part = match (token.part, is_read) {
            (_, false) => Part::default(),
            (PartMotion::Next(_) | PartMotion::Carry(_) | PartMotion::Jump(..), _)
                if last.is_none() =>
            {
                PartMotion::First.apply(None, &vertex.spans, &shape)?
            }
            (motion, _) => motion.apply(last.map(|(_, part)| part), &vertex.spans, &shape)?,
        };
        let is_last_part = part.is_last(&shape);
        let fits = (!is_read || is_last_part == token.is_last_part)
            && (!role.is_series() || is_last_file == token.is_last_file);
        let actual = Token { is_last_part, is_last_file, ..token };
        let follow = if fits { Some(id) } else { graph.find_token(&actual) };
        Some(Candidate {
            token: follow.or_else(|| self.nearest(graph, &actual)).unwrap_or(id),
            id,
            index,
            path,
            part,
            fits,
            is_only_fit: false,
        })
    }

    fn take_step(
        &mut self,
        graph: &KnowledgeGraph,
        run: &VisitCollector,
        candidate: Candidate,
        reach: f64,
    ) -> GraphStep {
        let Candidate { token, id, index, path, part, .. } = candidate;
        let Token { vertex, kind, .. } = *graph.token(id);
        let known = graph.vertex(vertex);
        let [_, b, c] = self.end.recent;
        let wait_ns = graph.wait(c, id).map_or(0.0, |wait| wait.mean_ns);
        let at_ns = self.end_ns.saturating_add(wait_ns as u64);
        let io_time_ns = known.stats(kind).io_time.mean_ns as u64;
        let extents = match (&path, kind) {
            (Some(path), VisitKind::Read) => extents(graph, run, vertex, path, &part),
            _ => Vec::new(),
        };
        self.end_ns = at_ns.saturating_add(io_time_ns);
        self.end_reach = reach;
        self.end.recent = [b, c, token];
        let role = known.object.role.clone();
        self.end.tokeniser.move_to(vertex, role, kind, index, part.clone());
        GraphStep { vertex, kind, path, part, extents, io_time_ns, at_ns, reach, index, token }
    }
}

/// A step that this run can take.
struct Candidate {
    /// What it continues as.
    token: TokenId,
    /// What was learned.
    id: TokenId,
    index: u32,
    path: Option<String>,
    part: Part,
    /// Whether it is as near to the end of its object and files as when it was
    /// learned.
    fits: bool,
    is_only_fit: bool,
}

/// The bytes of a part of an object in a file.
fn extents(
    graph: &KnowledgeGraph,
    run: &VisitCollector,
    vertex: VertexId,
    path: &str,
    part: &Part,
) -> Vec<Range<u64>> {
    let vertex = graph.vertex(vertex);
    let layout = run.layout(path);
    let file_bytes = run.file_bytes(path);
    let is_like_learned = file_bytes.is_none_or(|it| is_same_layout(it, vertex.file_bytes));
    // What this run has read of such files; earlier ones may have read others.
    let seen = || {
        let bytes = file_bytes?;
        run.learned().extents(&vertex.object, (hash_of(path), bytes), part)
    };
    match &vertex.object.content {
        Content::Bytes => match (part.is_unbounded(), file_bytes) {
            (true, Some(bytes)) => one(0..bytes),
            // As long as nothing tells otherwise, the file is as long as others were.
            (true, None) if vertex.file_bytes > 0 => one(0..vertex.file_bytes),
            (true, None) => Vec::new(),
            (false, bytes) => one(part.starts[0]..part.end(0).min(bytes.unwrap_or(u64::MAX))),
        },
        Content::Header => {
            let learned = vertex.extents.values().flatten().cloned();
            let classic = layout.and_then(|layout| layout.classic.as_ref());
            match (classic, file_bytes) {
                // What else was read belongs to that file's layout.
                (Some(classic), Some(bytes)) => one(0..classic.header_bytes.max(8192).min(bytes)),
                (None, Some(bytes)) if !is_like_learned => {
                    seen().unwrap_or_else(|| one(0..8192.min(bytes)))
                }
                _ => united(learned.collect(), usize::MAX),
            }
        }
        Content::Variable(name) => match (layout, file_bytes) {
            (Some(KnownFileLayout { classic: Some(classic), .. }), _) => {
                classic.extents(name, part)
            }
            (_, Some(_)) if is_like_learned => match part.is_unbounded() {
                true => {
                    let all = vertex.extents.values().flatten().cloned();
                    united(all.collect(), usize::MAX)
                }
                false => {
                    vertex.extents.get(&part.starts).cloned().or_else(seen).unwrap_or_default()
                }
            },
            _ => seen().unwrap_or_default(),
        },
    }
}

fn one(range: Range<u64>) -> Vec<Range<u64>> {
    std::iter::once(range).collect()
}

/// Whether a part that came is the one that was expected; the last one of an object
/// may be shorter, and all of an object can be said in two ways.
fn is_same_part(expected: &Part, came: &Part, shape: Option<&[u64]>) -> bool {
    expected.starts == came.starts && (came.starts.is_empty() || expected.counts == came.counts)
        || expected.is_unbounded()
            && shape.map_or(came.starts.iter().all(|start| *start == 0), |it| came.is_whole(it))
}

/// Whether a part that came is the beginning of one that was expected: small reads that
/// follow one another are one visit, which is known when it begins.
fn has_begun(expected: &Part, visit: &RunVisit) -> bool {
    let came = &visit.part;
    let is_small = visit.bytes < SMALL_BYTES && came.counts.first() == Some(&visit.bytes);
    let is_at_start = match expected.starts.first() {
        Some(start) => came.starts == [*start] && expected.counts > came.counts,
        None => came.starts == [0],
    };
    visit.object.content == Content::Bytes && is_small && is_at_start
}
