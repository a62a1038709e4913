// SPDX-License-Identifier: MIT OR Apache-2.0

//! Labelled runs, as requests and as patterns.

use ioracle_pattern::evaluation::LabelledRun;
use ioracle_pattern::{Pattern, PatternConfig, Request, RequestKind, Slicer};

/// One run as one server saw it.
#[derive(Clone, Debug)]
pub struct RequestRun {
    /// Index into the labels of its set.
    pub label: u32,
    /// In the order of time.
    pub requests: Vec<Request>,
}

/// All runs that one server or forwarding node saw.
#[derive(Clone, Debug)]
pub struct ServerRuns {
    /// The name of its files; `nodes2-0` is a node of two.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RequestRun>,
}

/// How fast a benchmark was under an option.
#[derive(Clone, Debug, PartialEq)]
pub struct OptionThroughput {
    /// Index into the labels of its set.
    pub label: u32,
    /// A policy or a window.
    pub option: String,
    /// Forwarding nodes, 0 where there are none.
    pub n_nodes: u32,
    /// Of all processes.
    pub mb_per_s: f64,
}

/// A directory of labelled runs, read.
#[derive(Clone, Debug, Default)]
pub struct PatternDataSet {
    /// Names of the benchmarks.
    pub labels: Vec<String>,
    /// What each server saw.
    pub servers: Vec<ServerRuns>,
    /// How fast each benchmark was under each option.
    pub throughputs: Vec<OptionThroughput>,
}

impl ServerRuns {
    /// Cut into slices and compressed.
    pub(super) fn patterns(&self, config: PatternConfig) -> Vec<LabelledRun> {
        let runs = self.runs.iter().map(|run| {
            let mut slicer = Slicer::new(config);
            let ended = run.requests.iter().filter_map(|request| slicer.observe(request));
            let mut patterns: Vec<Pattern> = ended.collect();
            patterns.extend(slicer.finish());
            LabelledRun { label: run.label, patterns }
        });
        runs.collect()
    }

    /// Forwarding nodes that share the load, 0 for a data server.
    pub(super) fn n_nodes(&self) -> u32 {
        let count = self.name.strip_prefix("nodes").and_then(|rest| rest.split('-').next());
        count.and_then(|count| count.parse().ok()).unwrap_or(0)
    }
}

impl PatternDataSet {
    /// The same with labels that do not tell how many processes there were, the
    /// paper's second method.
    pub(super) fn without_process_counts(&self) -> Vec<u32> {
        let names: Vec<&str> = self.labels.iter().map(|label| without_processes(label)).collect();
        let first = |name: &str| names.iter().position(|other| *other == name).unwrap_or(0) as u32;
        names.iter().map(|name| first(name)).collect()
    }
}

/// `…-4m-64+64` without its last part.
fn without_processes(label: &str) -> &str {
    match label.rsplit_once('-') {
        Some((rest, counts)) if counts.contains('+') => rest,
        _ => label,
    }
}

/// How the benchmarks of a label lie in files, as the paper groups them.
pub(super) fn layout(label: &str) -> &'static str {
    match label {
        _ if label.starts_with("shared-contiguous") => "SF, C",
        _ if label.starts_with("shared-strided") => "SF, S",
        _ if label.starts_with("file-per-process") => "FPP, C",
        _ => "other",
    }
}

/// The patterns of one kind with their labels.
pub(super) fn of_kind(
    runs: &[LabelledRun],
    kind: RequestKind,
) -> impl Iterator<Item = (u32, &Pattern)> + Clone {
    runs.iter().flat_map(move |run| {
        let patterns = run.patterns.iter().filter(move |pattern| pattern.kind == kind);
        patterns.map(|pattern| (run.label, pattern))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_lose_their_process_counts() {
        let labels = ["a-4m-64+64", "a-4m-64+32", "b-32k"].map(str::to_owned).to_vec();
        let set = PatternDataSet { labels, ..PatternDataSet::default() };
        assert_eq!(set.without_process_counts(), [0, 0, 2]);
    }

    #[test]
    fn names_of_nodes_tell_how_many_there_are() {
        let named = |name: &str| ServerRuns { name: name.to_owned(), runs: Vec::new() }.n_nodes();
        assert_eq!((named("nodes4-3"), named("server-0"), named("nodesx")), (4, 0, 0));
    }
}
