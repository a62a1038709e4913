// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle predict --json`.

use ioracle_events::{Operation, PredictedFile, Prediction, VariablePart, plain};
use serde::Serialize;

use super::graph::GraphOutlook;
use super::{Outlook, parts};

/// The whole document.
#[derive(Serialize)]
pub struct PredictDocument<'a> {
    /// The trace or model.
    source: &'a str,
    /// Whose oracle it is, where a model has several.
    oracle: Option<&'a str>,
    /// Whether the predictions are for the start of a new run.
    from_start: bool,
    rank: Option<u32>,
    thread: Option<u32>,
    /// Operations learned from a trace.
    after: Option<u64>,
    /// How well they were predicted, each before it came.
    predicted: Option<Scored>,
    /// The weighted next operations.
    next: Vec<Predicted>,
    /// The most probable path, step by step.
    ahead: Vec<Predicted>,
    /// What really came, if the trace goes on.
    observed: Vec<Observed>,
    burst: Option<Burst>,
    /// What the knowledge graph expects, with `--knowledge`.
    #[serde(skip_serializing_if = "Option::is_none")]
    graph: Option<&'a GraphOutlook>,
}

/// In percent, as `ioracle eval` measures it.
#[derive(Serialize)]
struct Scored {
    context_accuracy: f64,
    file_accuracy: f64,
    offset_accuracy: f64,
    hit_ratio: f64,
    size_exact: f64,
    time_error_s: f64,
    calibration_error: Option<f64>,
    place_calibration_error: Option<f64>,
}

/// What part of a variable is accessed, with `--variables`.
#[derive(Serialize)]
struct Selected {
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Vec<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<Vec<u64>>,
}

#[derive(Serialize)]
struct Predicted {
    symbol: u32,
    operation: &'static str,
    access: &'static str,
    file: Option<String>,
    /// With `--variables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    #[serde(flatten)]
    part: Selected,
    offset: Option<u64>,
    size: u64,
    size_deviation: f64,
    from_now_s: f64,
    interarrival_s: f64,
    interarrival_deviation_s: f64,
    io_time_s: Option<f64>,
    /// That this operation comes on this file at this place.
    probability: f64,
    /// That it comes, on any file.
    operation_probability: f64,
    /// Where it comes from: the grammar of this run, or the model of earlier ones.
    source: &'static str,
}

#[derive(Serialize)]
struct Observed {
    operation: &'static str,
    access: &'static str,
    file: Option<String>,
    /// With `--variables`.
    #[serde(skip_serializing_if = "Option::is_none")]
    variable: Option<String>,
    #[serde(flatten)]
    part: Selected,
    offset: Option<u64>,
    size: u64,
    interarrival_s: Option<f64>,
    io_time_s: f64,
}

#[derive(Serialize)]
struct Burst {
    starts_in_s: f64,
    ends_in_s: f64,
    operations: u64,
    bytes: u64,
    confidence: f64,
    /// Whether its end lies beyond the look-ahead: then all of these are lower bounds.
    at_least: bool,
}

/// The document of what is known.
pub fn document(outlook: &Outlook) -> PredictDocument<'_> {
    let learned = outlook.learned.as_ref();
    let predicted = |prediction: &Prediction| predicted(outlook, prediction);
    let observed = outlook.observed.iter().enumerate();
    PredictDocument {
        source: &outlook.source,
        oracle: outlook.whose.as_deref(),
        from_start: outlook.from_start,
        rank: learned.map(|learned| learned.rank),
        thread: learned.map(|learned| learned.thread),
        after: learned.map(|learned| learned.operations),
        predicted: learned.map(|learned| &learned.score).filter(|score| score.operations > 0).map(
            |score| Scored {
                context_accuracy: score.context_accuracy(),
                file_accuracy: score.file_accuracy(),
                offset_accuracy: score.offset_accuracy(),
                hit_ratio: score.hit_ratio(),
                size_exact: score.size_exact_share(),
                time_error_s: score.time_error_s(),
                calibration_error: score.context.calibration().error(),
                place_calibration_error: score.place.calibration.error(),
            },
        ),
        next: outlook.oracle.predict().iter().map(predicted).collect(),
        ahead: outlook.ahead.iter().map(predicted).collect(),
        observed: observed.map(|(step, operation)| seen(outlook, step, operation)).collect(),
        burst: outlook.oracle.next_burst().map(|burst| Burst {
            starts_in_s: seconds(burst.starts_in_ns),
            ends_in_s: seconds(burst.ends_in_ns),
            operations: burst.operations,
            bytes: burst.bytes,
            confidence: burst.confidence,
            at_least: burst.is_cut,
        }),
        graph: outlook.graph.as_ref(),
    }
}

fn predicted(outlook: &Outlook, prediction: &Prediction) -> Predicted {
    let (file, variable) = names(outlook.path_of(&prediction.file));
    Predicted {
        symbol: prediction.symbol.0,
        operation: prediction.function.name(),
        access: prediction.function.access().name(),
        file,
        variable,
        part: outlook.part_of(&prediction.file, prediction.offset, prediction.size).into(),
        offset: prediction.offset,
        size: prediction.size,
        size_deviation: prediction.size_spread.deviation,
        from_now_s: seconds(prediction.from_now_ns),
        interarrival_s: seconds(prediction.interarrival_ns),
        interarrival_deviation_s: prediction.interarrival_spread.deviation * 1e-9,
        io_time_s: (prediction.io_time_ns > 0).then(|| seconds(prediction.io_time_ns)),
        probability: prediction.probability,
        operation_probability: prediction.operation_probability,
        source: prediction.source.name(),
    }
}

fn seen(outlook: &Outlook, step: usize, operation: &Operation) -> Observed {
    let (file, variable) = names(outlook.path_at(operation));
    let named = PredictedFile::Known(operation.file);
    Observed {
        operation: operation.function.name(),
        access: operation.access().name(),
        file,
        variable,
        part: outlook.part_of(&named, operation.offset, operation.size).into(),
        offset: operation.offset,
        size: operation.size,
        interarrival_s: outlook.interarrival_ns(step).map(seconds),
        io_time_s: seconds(operation.end_ns.saturating_sub(operation.start_ns)),
    }
}

impl From<Option<VariablePart>> for Selected {
    fn from(part: Option<VariablePart>) -> Selected {
        let (start, count) = part.map_or((None, None), |part| (Some(part.starts), part.counts));
        Selected { start, count }
    }
}

/// A path and the variable that it may name.
fn names(path: Option<String>) -> (Option<String>, Option<String>) {
    let Some(path) = path else { return (None, None) };
    let (file, variable) = parts(&path);
    (Some(plain(file).into_owned()), variable.map(str::to_owned))
}

fn seconds(ns: u64) -> f64 {
    ns as f64 * 1e-9
}
