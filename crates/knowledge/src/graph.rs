// SPDX-License-Identifier: MIT OR Apache-2.0

//! The accumulation graph: data objects, and what followed what, over many runs.
//!
//! This is the graph of KNOWAC (He, Sun and Thakur, 2012, section IV-B). A vertex
//! is a data object of one logical meaning: the role of a file, and a variable in
//! it. A visit of a vertex is described by a [`Token`]: how it is accessed, how the
//! file and the part moved since the last visit, and whether it is the last part
//! and the last file. Edges are pairs of tokens, with counts and times, and drawn
//! they are pairs of vertices. Longer sequences of tokens are counted as well, so
//! that a program that reads A, B, A, C is recognised at its second A: where the
//! paper extends the sequence that it looks for, a longer sequence is looked up.
//!
//! A run becomes a graph of its own ([`KnowledgeGraph::of_run`]) when it has ended,
//! since only then it is known how far objects reach, and is merged into that of
//! its application. A run like an earlier one adds to counts and nothing else.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::part::{Part, PartMotion, Span};
use crate::phase::PhaseCollector;
use crate::role::{FileRole, starred};
use crate::time::TimeStats;

/// Vertices of a graph; what a run accesses beyond is left out.
pub const MAX_VERTICES: usize = 1 << 17;
/// Tokens, and sequences of them that are counted; further ones are not.
const MAX_TOKENS: usize = 1 << 19;
const MAX_SEQUENCES: usize = 1 << 20;
/// Parts of a vertex whose bytes are kept, and ranges of each.
const MAX_PARTS: usize = 1024;
const MAX_RANGES: usize = 64;
/// Distinct computation phases; further ones are not counted.
const MAX_PHASES: usize = 256;

/// What is accessed in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Content {
    /// Its bytes, by a program that uses no library for them.
    Bytes,
    /// What a library reads when it opens the file.
    Header,
    /// A variable or dataset; numbers in the names of its groups are `#`.
    Variable(Box<str>),
}

/// A data object of one logical meaning.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct DataObject {
    /// What its file is to the program.
    pub role: FileRole,
    /// What in the file.
    pub content: Content,
}

/// What a visit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum VisitKind {
    /// Data is read.
    Read,
    /// Data is written.
    Write,
}

/// How the file follows from the last one of the same role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FileProgression {
    /// The same file.
    Same,
    /// So many positions further.
    Step(i32),
    /// The first one.
    First,
    /// No rule.
    Elsewhere,
}

/// Names a vertex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct VertexId(pub u32);

/// Names a token of a graph. 0 is where runs begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TokenId(pub u32);

impl TokenId {
    /// Where every run begins: the start vertex of the paper.
    pub const START: TokenId = TokenId(0);
    /// Stands for any token in a sequence that is shorter than others.
    pub(crate) const ANY: TokenId = TokenId(u32::MAX);
}

/// What distinguishes one visit of a vertex from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token {
    /// The vertex.
    pub vertex: VertexId,
    /// What is done.
    pub kind: VisitKind,
    /// How the file moves.
    pub file: FileProgression,
    /// How the part moves.
    pub part: PartMotion,
    /// Whether nothing of the object lies behind this part.
    pub is_last_part: bool,
    /// Whether no file of the role comes after this one.
    pub is_last_file: bool,
}

/// Tokens one after the other, the latest last; [`TokenId::ANY`] fills the front.
pub(crate) type Sequence = [TokenId; 3];

/// What came after a sequence, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Follower {
    pub(crate) token: TokenId,
    pub(crate) visits: u64,
}

/// What is known about one way to access a vertex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AccessStats {
    /// How often.
    pub visits: u64,
    /// Bytes of all of them.
    pub bytes: u64,
    /// Bytes that the file system moved for them; more where blocks or chunks hold
    /// more than was asked for.
    pub moved_bytes: u64,
    /// Places of the file that the last one took.
    pub n_ranges: u32,
    /// How long one takes.
    pub io_time: TimeStats,
    /// Runs that did it.
    pub runs: u32,
    /// Runs that accessed other data than the one before: another file, or other
    /// parts.
    pub changed_runs: u32,
    /// Distinguishes the data of the last run.
    data: u64,
}

/// A data object and what is known about it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vertex {
    /// The object.
    pub object: DataObject,
    /// How it is read.
    pub reads: AccessStats,
    /// How it is written.
    pub writes: AccessStats,
    /// How many elements a visit takes along each dimension, the last time.
    pub spans: Vec<Span>,
    /// How long the object was along each dimension, the last time.
    pub shape: Vec<u64>,
    /// Bytes of its file, the last time.
    pub file_bytes: u64,
    /// The bytes that parts turned into, where no header tells: a union over runs,
    /// because caches of libraries hide repeats.
    pub extents: BTreeMap<Vec<u64>, Vec<Range<u64>>>,
}

/// What was followed by what.
#[derive(Clone, Debug, PartialEq)]
pub struct Edge {
    /// From where; none for the start.
    pub from: Option<(VertexId, VisitKind)>,
    /// To where.
    pub to: (VertexId, VisitKind),
    /// How often.
    pub visits: u64,
    /// From the end of one visit to the start of the next.
    pub wait: TimeStats,
}

/// Reads that belong together and the writes after them: `f(inputs) = outputs`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ComputationPhase {
    /// What is read.
    pub inputs: Vec<VertexId>,
    /// What is written afterwards.
    pub outputs: Vec<VertexId>,
}

/// How predictions went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct GraphRecord {
    /// Visits that something was predicted for, the older ones counting less.
    pub predicted: f64,
    /// Those that came as predicted.
    pub right: f64,
}

/// One visit of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct RunVisit {
    /// What was accessed.
    pub object: DataObject,
    /// How.
    pub kind: VisitKind,
    /// Position of the file in its role.
    pub index: u32,
    /// Whether that is the last one.
    pub is_last_file: bool,
    /// Distinguishes files by their paths.
    pub path_hash: u64,
    /// Which part.
    pub part: Part,
    /// How long the object is along its dimensions, where that is known.
    pub shape: Option<Vec<u64>>,
    /// Bytes of the file, where that is known.
    pub file_bytes: u64,
    /// Bytes that the access moved.
    pub bytes: u64,
    /// The bytes of the file that it turned into.
    pub extents: Vec<Range<u64>>,
    /// When it began.
    pub start_ns: u64,
    /// When it ended.
    pub end_ns: u64,
}

/// The graph of an application.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KnowledgeGraph {
    runs: u32,
    vertices: Vec<Vertex>,
    tokens: Vec<Token>,
    visits: Vec<u64>,
    sequences: BTreeMap<Sequence, Vec<Follower>>,
    waits: BTreeMap<(TokenId, TokenId), TimeStats>,
    phases: BTreeMap<ComputationPhase, u64>,
    record: GraphRecord,
    #[serde(skip)]
    index: GraphIndex,
}

#[derive(Clone, Debug, Default)]
struct GraphIndex {
    vertices: HashMap<DataObject, VertexId>,
    tokens: HashMap<Token, TokenId>,
    /// The tokens of each vertex.
    by_vertex: Vec<Vec<TokenId>>,
}

impl PartialEq for GraphIndex {
    fn eq(&self, _: &GraphIndex) -> bool {
        true
    }
}

impl KnowledgeGraph {
    /// The graph of one run, from the visits of each of its streams. Streams that do
    /// the same, as the ranks of a job do, count once; the bytes that any of them
    /// accessed count for all.
    pub fn of_run(streams: &[Vec<RunVisit>]) -> KnowledgeGraph {
        let mut graph = KnowledgeGraph { runs: 1, ..KnowledgeGraph::default() };
        let mut seen = HashSet::new();
        let mut data: BTreeMap<(VertexId, VisitKind), u64> = BTreeMap::new();
        for stream in streams.iter().filter(|stream| !stream.is_empty()) {
            let shapes = shapes_of(stream);
            let mut tokeniser = Tokeniser::default();
            let mut steps = Vec::with_capacity(stream.len());
            for visit in stream {
                let Some(vertex) = graph.vertex_or_add(&visit.object) else { continue };
                let shape = &shapes[&(visit.path_hash, &visit.object)];
                let token = tokeniser.token(vertex, visit, shape);
                if let Some(token) = graph.token_or_add(token) {
                    steps.push((token, visit));
                }
                graph.vertices[vertex.0 as usize].learn(visit, shape);
            }
            let signature: Vec<TokenId> = steps.iter().map(|(token, _)| *token).collect();
            if seen.insert(signature) {
                graph.add_path(&steps, &mut data);
            }
        }
        for ((vertex, kind), hash) in data {
            let stats = graph.vertices[vertex.0 as usize].stats_mut(kind);
            (stats.runs, stats.data) = (1, hash);
        }
        graph
    }

    /// Counts a path that a stream took.
    fn add_path(
        &mut self,
        steps: &[(TokenId, &RunVisit)],
        data: &mut BTreeMap<(VertexId, VisitKind), u64>,
    ) {
        let mut recent: Sequence = [TokenId::ANY, TokenId::ANY, TokenId::START];
        let mut last_end_ns = None;
        let mut phases = PhaseCollector::default();
        for (token, visit) in steps {
            let Token { vertex, kind, .. } = self.tokens[token.0 as usize - 1];
            let wait_ns = last_end_ns.map_or(0, |end| visit.start_ns.saturating_sub(end));
            self.count(recent, *token, wait_ns);
            let io_ns = visit.end_ns.saturating_sub(visit.start_ns);
            let stats = self.vertices[vertex.0 as usize].stats_mut(kind);
            stats.visits += 1;
            stats.bytes = stats.bytes.saturating_add(visit.bytes);
            let ranges = united(visit.extents.clone(), usize::MAX);
            stats.n_ranges = ranges.len() as u32;
            let moved: u64 = ranges.iter().map(|range| range.end - range.start).sum();
            stats.moved_bytes = stats.moved_bytes.saturating_add(moved);
            stats.io_time.add(io_ns);
            // The order of visits does not matter for which data it is.
            let hash = data.entry((vertex, kind)).or_default();
            *hash = hash.wrapping_add(data_hash(visit));
            if self.vertices[vertex.0 as usize].object.content != Content::Header
                && let Some(phase) = phases.add(vertex, kind, wait_ns)
            {
                self.add_phase(phase, 1);
            }
            last_end_ns = Some(visit.end_ns);
            recent = [recent[1], recent[2], *token];
        }
        if let Some(phase) = phases.finish() {
            self.add_phase(phase, 1);
        }
    }

    fn count(&mut self, recent: Sequence, token: TokenId, wait_ns: u64) {
        self.visits[token.0 as usize - 1] += 1;
        for length in 1..=recent.len() {
            if length > 1 && recent[recent.len() - length] == TokenId::ANY {
                break;
            }
            self.add_follower(shortened(recent, length), token, 1);
        }
        self.waits.entry((recent[2], token)).or_default().add(wait_ns);
    }

    fn add_follower(&mut self, sequence: Sequence, token: TokenId, visits: u64) {
        if self.sequences.len() >= MAX_SEQUENCES && !self.sequences.contains_key(&sequence) {
            return;
        }
        let followers = self.sequences.entry(sequence).or_default();
        match followers.iter_mut().find(|follower| follower.token == token) {
            Some(follower) => follower.visits = follower.visits.saturating_add(visits),
            None => followers.push(Follower { token, visits }),
        }
    }

    fn add_phase(&mut self, phase: ComputationPhase, times: u64) {
        if self.phases.len() < MAX_PHASES || self.phases.contains_key(&phase) {
            *self.phases.entry(phase).or_default() += times;
        }
    }

    /// Adds what another graph knows.
    pub fn merge(&mut self, other: &KnowledgeGraph) {
        self.runs = self.runs.saturating_add(other.runs);
        let vertices: Vec<Option<VertexId>> = (other.vertices.iter())
            .map(|vertex| {
                let known = self.vertex_or_add(&vertex.object)?;
                self.vertices[known.0 as usize].merge(vertex);
                Some(known)
            })
            .collect();
        let tokens: Vec<Option<TokenId>> = (other.tokens.iter())
            .map(|token| {
                let vertex = vertices[token.vertex.0 as usize]?;
                self.token_or_add(Token { vertex, ..*token })
            })
            .collect();
        let known = |token: TokenId| match token {
            TokenId::START | TokenId::ANY => Some(token),
            TokenId(n) => tokens[n as usize - 1],
        };
        for (token, visits) in tokens.iter().zip(&other.visits) {
            if let Some(token) = token {
                self.visits[token.0 as usize - 1] += visits;
            }
        }
        for (sequence, followers) in &other.sequences {
            let [Some(a), Some(b), Some(c)] = sequence.map(known) else { continue };
            for follower in followers {
                if let Some(token) = known(follower.token) {
                    self.add_follower([a, b, c], token, follower.visits);
                }
            }
        }
        for ((from, to), wait) in &other.waits {
            if let (Some(from), Some(to)) = (known(*from), known(*to)) {
                self.waits.entry((from, to)).or_default().merge(wait);
            }
        }
        for (phase, times) in &other.phases {
            let all = |ids: &[VertexId]| -> Option<Vec<VertexId>> {
                let mut ids: Vec<VertexId> =
                    ids.iter().map(|id| vertices[id.0 as usize]).collect::<Option<_>>()?;
                ids.sort_unstable();
                Some(ids)
            };
            if let (Some(inputs), Some(outputs)) = (all(&phase.inputs), all(&phase.outputs)) {
                self.add_phase(ComputationPhase { inputs, outputs }, *times);
            }
        }
        self.record.merge(&other.record);
    }

    /// How many runs are in it.
    pub fn runs(&self) -> u32 {
        self.runs
    }

    /// All vertices, by number.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// A vertex.
    pub fn vertex(&self, id: VertexId) -> &Vertex {
        &self.vertices[id.0 as usize]
    }

    /// The vertex of an object.
    pub fn find(&self, object: &DataObject) -> Option<VertexId> {
        self.index.vertices.get(object).copied()
    }

    /// What was followed by what, between vertices.
    pub fn edges(&self) -> Vec<Edge> {
        let mut edges: BTreeMap<_, (u64, TimeStats)> = BTreeMap::new();
        let end = |token: TokenId| {
            let token = (token != TokenId::START).then(|| self.token(token));
            token.map(|token| (token.vertex, token.kind))
        };
        for ((from, to), wait) in &self.waits {
            let Some(to) = end(*to) else { continue };
            let (visits, sum) = edges.entry((end(*from), to)).or_default();
            *visits += wait.count;
            sum.merge(wait);
        }
        let edge = |((from, to), (visits, wait))| Edge { from, to, visits, wait };
        edges.into_iter().map(edge).collect()
    }

    /// The class of an edge as in the paper's Figure 3: `R *W` reads the same and
    /// writes different data in different runs. None before a second run, or at the
    /// start.
    pub fn class(&self, edge: &Edge) -> Option<String> {
        let letter = |(vertex, kind): (VertexId, VisitKind)| {
            let stats = self.vertex(vertex).stats(kind);
            let star = if stats.changed_runs > 0 { "*" } else { "" };
            let letter = if kind == VisitKind::Read { "R" } else { "W" };
            (stats.runs >= 2).then(|| format!("{star}{letter}"))
        };
        Some(format!("{} {}", letter(edge.from?)?, letter(edge.to)?))
    }

    /// Computation phases and how often they were seen, the most frequent first.
    pub fn phases(&self) -> Vec<(&ComputationPhase, u64)> {
        let mut phases: Vec<_> = self.phases.iter().map(|(phase, n)| (phase, *n)).collect();
        phases.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
        phases
    }

    /// How the files and parts of a vertex move, and how often each way was seen, the
    /// most frequent first.
    pub fn motions(&self, id: VertexId) -> Vec<(FileProgression, PartMotion, u64)> {
        let mut motions: BTreeMap<(FileProgression, PartMotion), u64> = BTreeMap::new();
        for token in self.tokens_of(id) {
            let Token { file, part, .. } = *self.token(*token);
            *motions.entry((file, part)).or_default() += self.token_visits(*token);
        }
        let mut motions: Vec<_> = motions.into_iter().map(|((f, p), n)| (f, p, n)).collect();
        motions.sort_by_key(|(.., visits)| std::cmp::Reverse(*visits));
        motions
    }

    /// Roles of files that runs wrote.
    pub fn outputs(&self) -> impl Iterator<Item = &FileRole> {
        let written = self.vertices.iter().filter(|vertex| vertex.writes.visits > 0);
        written.map(|vertex| &vertex.object.role)
    }

    /// How predictions from it went.
    pub fn record(&self) -> GraphRecord {
        self.record
    }

    /// Adds how predictions of a run went.
    pub fn set_record(&mut self, record: GraphRecord) {
        self.record = record;
    }

    /// The same graph without any name: hashes stand for them.
    pub fn anonymised(&self) -> KnowledgeGraph {
        let hashed = |text: &str| -> Box<str> { format!("{:016x}", hash_of(text)).into() };
        let mut graph = self.clone();
        for vertex in &mut graph.vertices {
            let DataObject { role, content } = &vertex.object;
            let content = match content {
                Content::Variable(name) => Content::Variable(hashed(name)),
                other => other.clone(),
            };
            vertex.object = DataObject { role: role.map_names(&hashed), content };
        }
        graph.rebuild();
        graph
    }

    /// A token.
    pub(crate) fn token(&self, TokenId(n): TokenId) -> &Token {
        &self.tokens[n as usize - 1]
    }

    pub(crate) fn find_token(&self, token: &Token) -> Option<TokenId> {
        self.index.tokens.get(token).copied()
    }

    /// The tokens of a vertex.
    pub(crate) fn tokens_of(&self, VertexId(n): VertexId) -> &[TokenId] {
        self.index.by_vertex.get(n as usize).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn token_visits(&self, TokenId(n): TokenId) -> u64 {
        self.visits[n as usize - 1]
    }

    /// What came after a sequence.
    pub(crate) fn followers(&self, sequence: &Sequence) -> &[Follower] {
        self.sequences.get(sequence).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn wait(&self, from: TokenId, to: TokenId) -> Option<&TimeStats> {
        self.waits.get(&(from, to))
    }

    /// The graph as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).unwrap_or_default()
    }

    /// The graph that bytes hold; none if they are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Option<KnowledgeGraph> {
        let mut graph: KnowledgeGraph = postcard::from_bytes(bytes).ok()?;
        if !graph.is_sound() {
            return None;
        }
        graph.rebuild();
        Some(graph)
    }

    fn is_sound(&self) -> bool {
        let is_vertex = |VertexId(n): VertexId| (n as usize) < self.vertices.len();
        let is_token = |TokenId(n): TokenId| n as usize <= self.tokens.len();
        let is_step = |token: TokenId| token != TokenId::START && is_token(token);
        let may_be_any = |token: &TokenId| *token == TokenId::ANY || is_token(*token);
        let is_spans = |vertex: &Vertex| vertex.spans.len() <= crate::part::MAX_DIMENSIONS;
        self.visits.len() == self.tokens.len()
            && self.vertices.iter().all(is_spans)
            && self.tokens.iter().all(|token| is_vertex(token.vertex))
            && self.sequences.iter().all(|(sequence, followers)| {
                sequence.iter().all(may_be_any)
                    && sequence[2] != TokenId::ANY
                    && followers.iter().all(|follower| is_step(follower.token))
            })
            && self.waits.keys().all(|(from, to)| is_token(*from) && is_step(*to))
            && self.phases.keys().all(|phase| {
                phase.inputs.iter().chain(&phase.outputs).all(|vertex| is_vertex(*vertex))
            })
    }

    fn rebuild(&mut self) {
        let mut index = GraphIndex::default();
        for (n, vertex) in self.vertices.iter().enumerate() {
            index.vertices.insert(vertex.object.clone(), VertexId(n as u32));
        }
        index.by_vertex.resize(self.vertices.len(), Vec::new());
        for (n, token) in self.tokens.iter().enumerate() {
            let id = TokenId(n as u32 + 1);
            index.tokens.insert(*token, id);
            index.by_vertex[token.vertex.0 as usize].push(id);
        }
        self.index = index;
    }

    fn vertex_or_add(&mut self, object: &DataObject) -> Option<VertexId> {
        if let Some(id) = self.find(object) {
            return Some(id);
        }
        if self.vertices.len() >= MAX_VERTICES {
            return None;
        }
        let id = VertexId(self.vertices.len() as u32);
        self.index.vertices.insert(object.clone(), id);
        self.index.by_vertex.push(Vec::new());
        self.vertices.push(Vertex {
            object: object.clone(),
            reads: AccessStats::default(),
            writes: AccessStats::default(),
            spans: Vec::new(),
            shape: Vec::new(),
            file_bytes: 0,
            extents: BTreeMap::new(),
        });
        Some(id)
    }

    fn token_or_add(&mut self, token: Token) -> Option<TokenId> {
        if let Some(id) = self.find_token(&token) {
            return Some(id);
        }
        if self.tokens.len() >= MAX_TOKENS {
            return None;
        }
        self.tokens.push(token);
        self.visits.push(0);
        let id = TokenId(self.tokens.len() as u32);
        self.index.tokens.insert(token, id);
        self.index.by_vertex[token.vertex.0 as usize].push(id);
        Some(id)
    }
}

impl DataObject {
    /// The name of the object for people: the variable, or the file.
    pub fn name(&self) -> String {
        match &self.content {
            Content::Bytes => self.role.in_words(),
            Content::Header => format!("header of {}", self.role.in_words()),
            Content::Variable(name) => starred(name),
        }
    }
}

impl Vertex {
    /// What is known about one way to access it.
    pub fn stats(&self, kind: VisitKind) -> &AccessStats {
        match kind {
            VisitKind::Read => &self.reads,
            VisitKind::Write => &self.writes,
        }
    }

    fn stats_mut(&mut self, kind: VisitKind) -> &mut AccessStats {
        match kind {
            VisitKind::Read => &mut self.reads,
            VisitKind::Write => &mut self.writes,
        }
    }

    fn learn(&mut self, visit: &RunVisit, shape: &[u64]) {
        self.shape = shape.to_vec();
        let spans = visit.part.spans(shape);
        // The last part of an object is what is left of it.
        let is_rest = visit.part.is_last(shape) && visit.part.starts.iter().any(|it| *it > 0);
        if !is_rest || self.spans.len() != spans.len() {
            self.spans = spans;
        }
        self.file_bytes = self.file_bytes.max(visit.file_bytes);
        // Headers of classic files tell where variables lie, and bytes are where they
        // are.
        let is_told = match self.object.content {
            Content::Bytes => true,
            Content::Header => false,
            Content::Variable(_) => visit.shape.is_some(),
        };
        if !is_told && visit.kind == VisitKind::Read {
            self.add_extents(&visit.part.starts, &visit.extents);
        }
    }

    fn add_extents(&mut self, starts: &[u64], extents: &[Range<u64>]) {
        if extents.is_empty()
            || self.extents.len() >= MAX_PARTS && !self.extents.contains_key(starts)
        {
            return;
        }
        let known = self.extents.entry(starts.to_vec()).or_default();
        known.extend(extents.iter().cloned());
        *known = united(std::mem::take(known), MAX_RANGES);
    }

    fn merge(&mut self, other: &Vertex) {
        self.reads.merge(&other.reads);
        self.writes.merge(&other.writes);
        if other.reads.visits + other.writes.visits > 0 {
            (self.spans, self.shape) = (other.spans.clone(), other.shape.clone());
            // What was learned about another layout would be wrong from now on.
            if other.file_bytes != self.file_bytes && !other.extents.is_empty() {
                self.extents.clear();
            }
            self.file_bytes = other.file_bytes;
        }
        for (starts, extents) in &other.extents {
            self.add_extents(starts, extents);
        }
    }
}

impl AccessStats {
    fn merge(&mut self, other: &AccessStats) {
        self.visits = self.visits.saturating_add(other.visits);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.moved_bytes = self.moved_bytes.saturating_add(other.moved_bytes);
        self.n_ranges = if other.visits > 0 { other.n_ranges } else { self.n_ranges };
        self.io_time.merge(&other.io_time);
        let has_changed = self.runs > 0 && other.runs > 0 && self.data != other.data;
        self.changed_runs =
            self.changed_runs.saturating_add(other.changed_runs + u32::from(has_changed));
        self.runs = self.runs.saturating_add(other.runs);
        if other.runs > 0 {
            self.data = other.data;
        }
    }
}

impl GraphRecord {
    /// Visits that count; older ones fade.
    const MEMORY: f64 = 4096.0;

    /// A visit came, as predicted or not.
    pub fn add(&mut self, right: bool) {
        if self.predicted >= GraphRecord::MEMORY {
            self.predicted /= 2.0;
            self.right /= 2.0;
        }
        self.predicted += 1.0;
        self.right += f64::from(u8::from(right));
    }

    /// How likely the next one comes as predicted. Where nothing is known yet,
    /// earlier programs of all kinds tell: most do what they did.
    pub fn trust(&self) -> f64 {
        (self.right + 3.0) / (self.predicted + 4.0)
    }

    fn merge(&mut self, other: &GraphRecord) {
        self.predicted += other.predicted;
        self.right += other.right;
        while self.predicted > GraphRecord::MEMORY {
            self.predicted /= 2.0;
            self.right /= 2.0;
        }
    }
}

/// Follows the files and parts of a stream, so that visits become tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokeniser {
    /// The position of the last file of each role.
    cursors: HashMap<FileRole, u32>,
    /// The last part of each vertex, and the position of its file.
    parts: HashMap<(VertexId, VisitKind), (u32, Part)>,
}

impl Tokeniser {
    /// The token of a visit, which is then the last one.
    pub(crate) fn token(&mut self, vertex: VertexId, visit: &RunVisit, shape: &[u64]) -> Token {
        let RunVisit { kind, index, is_last_file, part, .. } = visit;
        let file = match self.cursors.get(&visit.object.role) {
            Some(last) if last == index => FileProgression::Same,
            Some(last) => {
                let by = i64::from(*index) - i64::from(*last);
                match i32::try_from(by) {
                    Ok(by) if by > 0 => FileProgression::Step(by),
                    _ if *index == 0 => FileProgression::First,
                    Ok(by) => FileProgression::Step(by),
                    Err(_) => FileProgression::Elsewhere,
                }
            }
            None if *index == 0 => FileProgression::First,
            None => FileProgression::Elsewhere,
        };
        let last = self.parts.get(&(vertex, *kind));
        let same_file = last.is_some_and(|(file, _)| file == index);
        let motion = PartMotion::between(last.map(|(_, part)| part), part, shape, same_file);
        self.move_to(vertex, visit.object.role.clone(), *kind, *index, part.clone());
        Token {
            vertex,
            kind: *kind,
            file,
            part: motion,
            is_last_part: motion == PartMotion::Whole || part.is_last(shape),
            is_last_file: *is_last_file,
        }
    }

    pub(crate) fn move_to(
        &mut self,
        vertex: VertexId,
        role: FileRole,
        kind: VisitKind,
        index: u32,
        part: Part,
    ) {
        match self.cursors.get_mut(&role) {
            Some(cursor) => *cursor = index,
            None => drop(self.cursors.insert(role, index)),
        }
        self.parts.insert((vertex, kind), (index, part));
    }

    pub(crate) fn cursor(&self, role: &FileRole) -> Option<u32> {
        self.cursors.get(role).copied()
    }

    pub(crate) fn last_part(&self, vertex: VertexId, kind: VisitKind) -> Option<&(u32, Part)> {
        self.parts.get(&(vertex, kind))
    }
}

/// The last tokens of a sequence.
pub(crate) fn shortened(mut recent: Sequence, length: usize) -> Sequence {
    let n_any = recent.len() - length;
    recent[..n_any].fill(TokenId::ANY);
    recent
}

/// How far each object reaches in each file: as its header says, or as far as the
/// stream went.
fn shapes_of(stream: &[RunVisit]) -> HashMap<(u64, &DataObject), Vec<u64>> {
    let mut shapes: HashMap<(u64, &DataObject), (bool, Vec<u64>)> = HashMap::new();
    for visit in stream {
        let (is_told, shape) = shapes.entry((visit.path_hash, &visit.object)).or_default();
        match &visit.shape {
            Some(told) => (*is_told, *shape) = (true, told.clone()),
            None if !*is_told => visit.part.widen(shape),
            None => {}
        }
    }
    shapes.into_iter().map(|(key, (_, shape))| (key, shape)).collect()
}

fn data_hash(visit: &RunVisit) -> u64 {
    let mut hash = visit.path_hash ^ 0x9e37_79b9_7f4a_7c15;
    for number in visit.part.starts.iter().chain(&visit.part.counts) {
        hash = (hash ^ number).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }
    hash
}

/// A hash of a text that is the same in every run and on every machine (FNV-1a).
pub fn hash_of(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// Ranges sorted, with those joined that touch; at the bound, the nearest are joined
/// as well.
pub(crate) fn united(mut ranges: Vec<Range<u64>>, at_most: usize) -> Vec<Range<u64>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut result: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match result.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => result.push(range),
        }
    }
    while result.len() > at_most {
        let nearest = (1..result.len()).min_by_key(|n| result[*n].start - result[*n - 1].end);
        let Some(n) = nearest else { break };
        let end = result.remove(n).end;
        result[n - 1].end = end;
    }
    result
}
