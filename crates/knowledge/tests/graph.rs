// SPDX-License-Identifier: MIT OR Apache-2.0

//! The graph as the paper draws it: accumulation, branches and joins, classes,
//! phases, and matching.

use ioracle_events::{ContextId, Event, FileId, Function, StreamId};
use ioracle_knowledge::{
    Content, DataObject, FileRole, FileSystem, GraphRecord, KnowledgeGraph, Navigator, Part,
    RunFiles, RunVisit, VisitCollector, VisitKind, hash_of,
};
use proptest::prelude::*;

/// Files of a run, all named on its command line.
#[derive(Clone)]
struct Inputs(Vec<String>);

impl FileSystem for Inputs {
    fn is_file(&self, path: &str) -> bool {
        self.0.iter().any(|known| known == path)
    }
    fn is_directory(&self, _: &str) -> bool {
        false
    }
    fn names_in(&self, _: &str) -> Vec<String> {
        Vec::new()
    }
    fn short_text(&self, _: &str) -> Option<String> {
        None
    }
}

/// A run in short: `a0` reads variable a of input 0, `A` writes a to the output,
/// `a0.3` reads record 3 of it. Times are 10 apart, after `_` a second.
fn visits(text: &str, inputs: u32) -> Vec<RunVisit> {
    let mut now = 0;
    let mut result = Vec::new();
    for word in text.split_whitespace() {
        if word == "_" {
            now += 1_000_000_000;
            continue;
        }
        let (name, rest) = word.split_at(1);
        let is_write = name.chars().all(char::is_uppercase);
        let (index, record) = rest.split_once('.').unwrap_or((rest, ""));
        let index: u32 = index.parse().unwrap_or(0);
        let role = match is_write {
            true => FileRole::Local("out.nc".into()),
            false => FileRole::Input,
        };
        let part = match record.parse() {
            Ok(record) => Part { starts: vec![record], counts: vec![1], strides: vec![] },
            Err(_) => Part::default(),
        };
        result.push(RunVisit {
            object: DataObject { role, content: Content::Variable(name.to_lowercase().into()) },
            kind: if is_write { VisitKind::Write } else { VisitKind::Read },
            index,
            is_last_file: is_write || index + 1 == inputs,
            path_hash: hash_of(&format!("in{index}")),
            part,
            shape: None,
            file_bytes: 1000,
            bytes: 8,
            extents: Vec::new(),
            start_ns: now,
            end_ns: now + 5,
        });
        now += 10;
    }
    result
}

fn graph(runs: &[&str]) -> KnowledgeGraph {
    let mut graph = KnowledgeGraph::default();
    for run in runs {
        graph.merge(&KnowledgeGraph::of_run(&[visits(run, 1)]));
    }
    graph
}

/// Vertices and edges, without counts.
fn shape(graph: &KnowledgeGraph) -> Vec<String> {
    let name = |end: Option<(ioracle_knowledge::VertexId, VisitKind)>| match end {
        None => "start".to_owned(),
        Some((vertex, kind)) => match &graph.vertex(vertex).object.content {
            Content::Variable(name) if kind == VisitKind::Read => name.to_string(),
            Content::Variable(name) => name.to_uppercase(),
            other => format!("{other:?}"),
        },
    };
    let edges = graph.edges();
    let mut edges: Vec<String> =
        edges.iter().map(|edge| format!("{}>{}", name(edge.from), name(Some(edge.to)))).collect();
    edges.sort();
    edges
}

#[test]
fn figure_5_paths_branch_and_meet_again() {
    // V1 V2 V3 V4 V5 and V1 V2 V8 V9 V5 V6: they part at V2 and meet at V5.
    let graph = graph(&["1 2 3 4 5 6", "1 2 8 9 5 6"]);
    let expected = ["1>2", "2>3", "2>8", "3>4", "4>5", "5>6", "8>9", "9>5", "start>1"];
    assert_eq!(shape(&graph), expected);
    assert_eq!(graph.vertices().len(), 8);
    let edge = &graph.edges()[0];
    assert_eq!((edge.visits, edge.from), (2, None));
    let of = |from: &str| {
        graph
            .edges()
            .into_iter()
            .find(|it| {
                it.from.is_some_and(|(v, _)| {
                    graph.vertex(v).object.content == Content::Variable(from.into())
                })
            })
            .unwrap()
    };
    assert_eq!((of("1").visits, of("1").wait.mean_ns, of("1").wait.last_ns), (2, 5.0, 5));
}

#[test]
fn ten_identical_runs_leave_the_shape_as_it_was() {
    let run = "a0.0 b0.0 A a0.1 b0.1 A a0.2 b0.2 A _ c0 C";
    let once = graph(&[run]);
    let ten = graph(&[run; 10]);
    assert_eq!(shape(&ten), shape(&once));
    assert_eq!((ten.vertices().len(), ten.runs()), (once.vertices().len(), 10));
    assert!(ten.edges().iter().zip(once.edges()).all(|(ten, one)| ten.visits == 10 * one.visits));
    // And 300 records are no more vertices and edges than 30.
    let records = |n: u32| (0..n).map(|n| format!("a0.{n} A ")).collect::<String>();
    assert_eq!(shape(&graph(&[&records(300)])), shape(&graph(&[&records(30)])));
}

#[test]
fn figure_3_a_star_is_other_data_in_other_runs() {
    let mut graph = KnowledgeGraph::default();
    let classes = |graph: &KnowledgeGraph| {
        graph.edges().iter().filter_map(|edge| graph.class(edge)).collect::<Vec<_>>()
    };
    let run = |record: u64| {
        let mut run = visits("a b A", 1);
        run[1].part = Part { starts: vec![record], counts: vec![1], strides: vec![] };
        run
    };
    graph.merge(&KnowledgeGraph::of_run(&[run(1)]));
    assert!(classes(&graph).is_empty(), "a class needs two runs");
    graph.merge(&KnowledgeGraph::of_run(&[run(1)]));
    assert_eq!(classes(&graph), ["R R", "R W"]);
    graph.merge(&KnowledgeGraph::of_run(&[run(7)]));
    assert_eq!(classes(&graph), ["R *R", "*R W"]);
}

#[test]
fn figure_4_reads_and_the_writes_after_them_are_one_computation() {
    let graph = graph(&["a b C _ d e F a b C _ d g"]);
    let phases: Vec<(usize, usize, u64)> = graph
        .phases()
        .iter()
        .map(|(phase, times)| (phase.inputs.len(), phase.outputs.len(), *times))
        .collect();
    assert_eq!(phases, [(2, 1, 2), (2, 1, 1), (2, 0, 1)], "f(a, b) = c, f(d, e) = f, f(d, g)");
}

#[test]
fn ranks_that_do_the_same_count_once() {
    let stream = visits("a b C", 1);
    let one = KnowledgeGraph::of_run(std::slice::from_ref(&stream));
    let four = KnowledgeGraph::of_run(&[stream.clone(), stream.clone(), stream.clone(), stream]);
    assert_eq!(four, one);
}

/// The accesses that are predicted, in short, after a run has begun with some.
fn predicted(graph: &KnowledgeGraph, begun: &str, inputs: u32, n: usize) -> String {
    let paths: Vec<String> = (0..inputs).map(|n| format!("/in{n}.nc")).collect();
    let command: Vec<String> = std::iter::once("sim".to_owned()).chain(paths.clone()).collect();
    let files = RunFiles::new(&command, "/", graph.outputs(), std::sync::Arc::new(Inputs(paths)));
    let mut run = VisitCollector::new(files);
    let mut navigator = Navigator::new(GraphRecord::default());
    navigator.derive(graph, &mut run);
    for visit in visits(begun, inputs) {
        navigator.observe(&visit, graph, &mut run);
    }
    navigator.extend(graph, &mut run, n);
    let step = |step: &ioracle_knowledge::GraphStep| {
        let Content::Variable(name) = &graph.vertex(step.vertex).object.content else {
            panic!("only variables")
        };
        let file = step.path.as_deref().map_or("", |path| &path[3..path.len() - 3]);
        match (step.kind, step.part.starts.first()) {
            (VisitKind::Write, _) => name.to_uppercase(),
            (_, Some(record)) => format!("{name}{file}.{record}"),
            (_, None) => format!("{name}{file}"),
        }
    };
    navigator.path().take(n).map(step).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_is_predicted_from_its_start() {
    let graph = graph(&["a b C d"]);
    assert_eq!(predicted(&graph, "", 1, 9), "a0 b0 C d0");
    assert_eq!(predicted(&graph, "a", 1, 9), "b0 C d0");
    assert_eq!(predicted(&graph, "a b C d", 1, 9), "");
    // Lost at an access never seen, found again at the next that is known.
    assert_eq!(predicted(&graph, "a x", 1, 9), "");
    assert_eq!(predicted(&graph, "a x b", 1, 9), "C d0");
    // A write of something else, as by a sister tool, is passed over.
    assert_eq!(predicted(&graph, "a X", 1, 9), "b0 C d0");
}

/// As cdo does it: a record of each file, then the next record of each.
#[test]
fn files_that_are_read_in_turns_go_on_with_their_next_records() {
    let run =
        |n: u32| -> String { (0..n).map(|n| format!("a0.{n} b0.{n} a1.{n} b1.{n} ")).collect() };
    let graph = KnowledgeGraph::of_run(&[visits(&run(5), 2)]);
    assert_eq!(
        predicted(&graph, "a0.0 b0.0 a1.0 b1.0", 2, 9),
        "a0.1 b0.1 a1.1 b1.1 a0.2 b0.2 a1.2 b1.2 a0.3"
    );
}

/// A program may make a million small accesses, so none may cost as much as a path is long;
/// and far along a path probabilities are still those of what is ahead.
#[test]
fn the_path_of_a_stream_that_nobody_acts_on_stays_short() {
    let run = |n: u32| (0..n).map(|n| format!("a0.{n} ")).collect::<String>();
    let graph = graph(&[&format!("{}b0", run(1000)), &run(3000)]);
    let files = RunFiles::new(
        &["sim".to_owned(), "/in0.nc".to_owned()],
        "/",
        graph.outputs(),
        std::sync::Arc::new(Inputs(vec!["/in0.nc".to_owned()])),
    );
    let mut collector = VisitCollector::new(files);
    let mut navigator = Navigator::new(GraphRecord::default());
    navigator.derive(&graph, &mut collector);
    for visit in visits(&run(2000), 1) {
        navigator.observe(&visit, &graph, &mut collector);
        assert!(navigator.path().len() <= 128);
    }
    let first = navigator.path().next().expect("a step");
    assert!(navigator.probability(first) > 0.9, "{}", navigator.probability(first));
    assert_eq!((navigator.from_now_ns(first), navigator.counts().predicted), (5, 2000));
}

#[test]
fn the_most_visited_branch_is_taken_and_a_longer_sequence_decides() {
    let branches = graph(&["1 2 3 5", "1 2 3 5", "1 2 8 5"]);
    assert_eq!(predicted(&branches, "1 2", 1, 9), "30 50");
    assert_eq!(predicted(&branches, "1 2 8", 1, 9), "50");
    // After 'a' alone two things may come; what came before it decides.
    let twice = graph(&["a b a c a d"]);
    assert_eq!(predicted(&twice, "a b a", 1, 1), "c0");
    assert_eq!(predicted(&twice, "a b a c a", 1, 1), "d0");
}

/// The paper picks one of several successors that are as likely at random; the seed
/// makes it the same one in every run.
#[test]
fn ties_are_broken_at_random_by_a_seed() {
    let runs: Vec<String> = (0..8).map(|n| format!("z {} y", (b'a' + n) as char)).collect();
    let runs: Vec<&str> = runs.iter().map(String::as_str).collect();
    let graph = graph(&runs[..2]);
    let one = predicted(&graph, "z", 1, 1);
    assert!(["a0", "b0"].contains(&&*one), "{one}");
    assert_eq!(one, predicted(&graph, "z", 1, 1));
    // Of more than four, none is likely enough.
    assert_eq!(predicted(&self::graph(&runs), "z", 1, 1), "");
}

/// Each run reads the variables in another order: what is predicted is wrong, and the
/// record says so.
#[test]
fn random_orders_are_not_trusted() {
    let mut random = 1_u64;
    let mut order: Vec<u8> = (0..12).collect();
    let mut shuffled = || {
        for n in (1..order.len()).rev() {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_041);
            order.swap(n, (random >> 33) as usize % (n + 1));
        }
        let words: Vec<String> = order.iter().map(|n| char::from(b'a' + n).to_string()).collect();
        visits(&words.join(" "), 1)
    };
    let mut all = KnowledgeGraph::default();
    (0..40).for_each(|_| all.merge(&KnowledgeGraph::of_run(&[shuffled()])));
    assert_eq!(all.vertices().len(), 12);
    let paths = vec!["/in0.nc".to_owned()];
    let command = ["sim".to_owned(), paths[0].clone()];
    let files = RunFiles::new(&command, "/", [], std::sync::Arc::new(Inputs(paths)));
    let mut run = VisitCollector::new(files);
    let mut navigator = Navigator::new(GraphRecord::default());
    for _ in 0..10 {
        shuffled().iter().for_each(|visit| navigator.observe(visit, &all, &mut run));
    }
    assert!(navigator.record().trust() < 0.5, "{:?}", navigator.record());
    assert_eq!(navigator.counts().matched, 120);
}

#[test]
fn an_object_that_has_grown_or_shrunk_is_followed_as_it_is() {
    let shaped = |records: u64, length: u64| -> Vec<RunVisit> {
        let text: Vec<String> = (0..records).map(|record| format!("a0.{record}")).collect();
        let visits = visits(&text.join(" "), 1).into_iter();
        visits.map(|visit| RunVisit { shape: Some(vec![length]), ..visit }).collect()
    };
    let mut graph = KnowledgeGraph::of_run(&[shaped(30, 30)]);
    let n_vertices = graph.vertices().len();
    graph.merge(&KnowledgeGraph::of_run(&[shaped(5, 5)]));
    graph.merge(&KnowledgeGraph::of_run(&[shaped(300, 300)]));
    assert_eq!(graph.vertices().len(), n_vertices);
    assert_eq!(graph.vertices()[0].shape, [300]);
    // Of two dimensions instead of one: another object by the same name.
    let mut other = visits("a0", 1);
    other[0].part = Part { starts: vec![0, 0], counts: vec![1, 8], strides: vec![] };
    other[0].shape = Some(vec![4, 8]);
    graph.merge(&KnowledgeGraph::of_run(&[other]));
    predicted(&graph, "a0.0 a0.1", 1, 50);
}

#[test]
fn what_two_files_taught_serves_five() {
    // One file after the other, and one variable after the other.
    for (run, expected) in [
        ("a0 b0 a1 b1 A B", "a0 b0 a1 b1 a2 b2 a3 b3 a4 b4 A B"),
        ("a0 a1 A b0 b1 B", "a0 a1 a2 a3 a4 A b0 b1 b2 b3 b4 B"),
    ] {
        let graph = KnowledgeGraph::of_run(&[visits(run, 2)]);
        assert_eq!(predicted(&graph, "", 5, 40), expected);
    }
}

#[test]
fn any_bytes_are_a_sound_graph_or_none() {
    let bytes = graph(&["a b C", "a0.1 a0.2 C"]).to_bytes();
    for place in 0..bytes.len() {
        for value in [0, 1, 0x7f, 0xff] {
            let mut damaged = bytes.clone();
            damaged[place] = value;
            if let Some(graph) = KnowledgeGraph::from_bytes(&damaged) {
                predicted(&graph, "a b", 1, 20);
                let mut other = KnowledgeGraph::default();
                other.merge(&graph);
            }
        }
        assert!(KnowledgeGraph::from_bytes(&bytes[..place]).is_none());
    }
}

#[test]
fn anonymised_graphs_hold_no_names() {
    let graph = graph(&["a b C"]).anonymised();
    let text = format!("{graph:?}");
    assert!(!text.contains("out.nc") && !text.contains("\"a\""), "{text}");
    assert_eq!(shape(&graph).len(), 3);
}

#[test]
fn a_graph_of_a_hundred_thousand_vertices_is_used_at_once() {
    let mut run = visits("a", 1);
    let template = run.remove(0);
    for n in 0..100_000_u64 {
        let content = Content::Variable(format!("v{n}").into());
        let object = DataObject { content, ..template.object.clone() };
        run.push(RunVisit { object, start_ns: n, end_ns: n, ..template.clone() });
    }
    let started = std::time::Instant::now();
    let one = KnowledgeGraph::of_run(&[run]);
    let mut graph = KnowledgeGraph::from_bytes(&one.to_bytes()).unwrap();
    graph.merge(&one);
    assert_eq!((graph.vertices().len(), graph.runs()), (100_000, 2));
    assert!(started.elapsed().as_secs() < 60);
}

proptest! {
    #[test]
    fn merging_is_counting(
        runs in proptest::collection::vec(proptest::collection::vec((0_u8..5, 0_u8..3), 0..12), 1..6),
    ) {
        let text = |run: &Vec<(u8, u8)>| {
            let name = |&(letter, file): &(u8, u8)| match letter {
                4 => "Z".to_owned(),
                letter => format!("{}{file}", (b'a' + letter) as char),
            };
            run.iter().map(name).collect::<Vec<_>>().join(" ")
        };
        let mut all = KnowledgeGraph::default();
        let mut n_visits = 0;
        for run in &runs {
            all.merge(&KnowledgeGraph::of_run(&[visits(&text(run), 3)]));
            n_visits += run.len() as u64;
        }
        prop_assert_eq!(all.edges().iter().map(|edge| edge.visits).sum::<u64>(), n_visits);
        prop_assert_eq!(all.runs() as usize, runs.len());
        // The same runs again change nothing but counts.
        let before = shape(&all);
        for run in &runs {
            all.merge(&KnowledgeGraph::of_run(&[visits(&text(run), 3)]));
        }
        prop_assert_eq!(shape(&all), before);
        let again = KnowledgeGraph::from_bytes(&all.to_bytes()).unwrap();
        prop_assert_eq!(again.to_bytes(), all.to_bytes());
        // A prediction never fails, whatever was seen.
        for run in &runs {
            predicted(&all, &text(run), 4, 50);
        }
    }
}

const DUMP: FileId = FileId(1);
const DUMP_BYTES: u64 = 5 << 19;

/// Reads a file line by line, and writes a line to another file after each; lines have
/// different lengths. Answers the visits that began.
fn read_lines(collector: &mut VisitCollector) -> Vec<RunVisit> {
    collector.define_file(DUMP, "/dump");
    collector.define_size(DUMP, DUMP_BYTES);
    collector.define_file(FileId(2), "/log");
    let mut begun = Vec::new();
    let (mut offset, mut n) = (0, 0);
    while offset < DUMP_BYTES {
        let bytes = (100 + 37 * (n % 11)).min(DUMP_BYTES - offset);
        begun.extend(collector.observe(&line(n, Function::Fgets, DUMP, offset, bytes)));
        begun.extend(collector.observe(&line(n, Function::Fwrite, FileId(2), 10 * n, 10)));
        (offset, n) = (offset + bytes, n + 1);
    }
    begun
}

fn line(n: u64, function: Function, file: FileId, offset: u64, bytes: u64) -> Event {
    Event {
        stream: StreamId { rank: 0, thread: 0 },
        sequence: n,
        function,
        context: ContextId(1),
        file,
        handle: 3,
        offset: Some(offset),
        requested: bytes,
        result: bytes.cast_signed(),
        start_ns: n * 100,
        end_ns: n * 100 + 10,
        depth: 0,
        detail: "".into(),
    }
}

#[test]
fn lines_of_a_file_are_one_visit_for_each_block_and_are_predicted_like_it() {
    let command = ["sim".to_owned(), "/dump".to_owned()];
    let files = |graph: &KnowledgeGraph| {
        let inputs = std::sync::Arc::new(Inputs(vec!["/dump".to_owned()]));
        RunFiles::new(&command, "/", graph.outputs(), inputs)
    };
    let mut collector = VisitCollector::new(files(&KnowledgeGraph::default()));
    let begun = read_lines(&mut collector);
    let starts = |kind| -> Vec<u64> {
        let visits = begun.iter().filter(|visit| visit.kind == kind);
        visits.map(|visit| visit.part.starts[0]).collect()
    };
    assert_eq!(starts(VisitKind::Read), [0, 1 << 20, 2 << 20]);
    assert_eq!(starts(VisitKind::Write), [0]);
    let graph = collector.finish();
    let reads: Vec<_> = graph.vertices().iter().filter(|it| it.reads.visits > 0).collect();
    assert_eq!(reads.len(), 1);
    assert_eq!((reads[0].reads.visits, reads[0].reads.bytes), (3, DUMP_BYTES));

    let mut collector = VisitCollector::new(files(&graph));
    let mut navigator = Navigator::new(GraphRecord::default());
    navigator.derive(&graph, &mut collector);
    for visit in read_lines(&mut collector) {
        navigator.observe(&visit, &graph, &mut collector);
    }
    let counts = navigator.counts();
    assert_eq!((counts.visits, counts.predicted), (4, 4));
    let mut again = graph.clone();
    again.merge(&collector.finish());
    assert_eq!(again.edges().len(), graph.edges().len());
}
