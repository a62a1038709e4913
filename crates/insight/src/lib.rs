// SPDX-License-Identifier: MIT OR Apache-2.0

//! Turns the events of a job into a [`Summary`] of its I/O and advice on what to
//! change.
//!
//! [`Insight::observe`] counts event by event, within bounds; [`Insight::summarise`]
//! puts the counts together with what an engine has learned from the same events.
//! Nothing here reads a file, a clock or the environment: a live run and its
//! recorded trace give the same summary.

#![forbid(unsafe_code)]

mod insight;
mod job;

mod bursts;
mod tally;

mod file_groups;
mod findings;
mod frames;
pub mod loop_tree;
pub mod loops;
mod names;
mod rank_groups;
mod summarise;
mod variables;

pub mod numbers;
mod report;
mod summary;

pub use bursts::{BurstTally, BurstsSeen};
pub use findings::rules::{AdviceRule, RULES};
pub use frames::{FrameSource, StackFrame};
pub use insight::Insight;
pub use job::JobAnalysis;
pub use report::{
    AccessShape, AheadReached, BurstSpan, FileTimeline, FlameTree, GroupAccesses,
    PredictionQuality, Report, ReportAnalysis, ReportTimeline, ReportTimelineRow, ReportedGroup,
    ReportedJob, ThreadLoops,
};
pub use summarise::{Surroundings, predicted};
pub use summary::{
    Between, Bursts, BusyFile, BusyGroup, BusyVariable, Calls, FileKind, Finding, Io, LibraryCalls,
    LoopSeen, MappedFile, MappedTotals, MetadataTotals, MpiInternalTotals, NextBurst, Predicted,
    PredictedBySource, RankGroup, RankGroups, SelectionPattern, Severity, SourceScore, Summary,
};
