// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a program reads and writes, over many runs, as a graph of data objects.
//!
//! A saved model knows the bytes of the last runs. The graph knows what they mean:
//! 'reads temperature of each input, then writes the mean'. So it serves runs with
//! other inputs, of other sizes, in other directories. The idea is KNOWAC's (He,
//! Sun and Thakur, 2012); docs/knowledge.md explains what is different here.
//!
//! [`VisitCollector`] turns the events of a run into visits of data objects,
//! [`KnowledgeGraph`] accumulates them, [`Navigator`] follows a run in the graph
//! and says what comes next. None of them does I/O; what must be known about files
//! comes through [`FileSystem`]. Only the repository, which is an optional part,
//! reads and writes a file.

#![forbid(unsafe_code)]

mod graph;
mod part;
mod phase;
mod role;
mod time;

mod layouts;
mod netcdf;

mod collect;
mod navigator;

mod describe;
mod svg;

pub use collect::{KnownFileLayout, VisitCollector};
pub use describe::GraphDescription;
pub use graph::{
    AccessStats, ComputationPhase, Content, DataObject, Edge, FileProgression, GraphRecord,
    KnowledgeGraph, MAX_VERTICES, RunVisit, Token, TokenId, Vertex, VertexId, VisitKind, hash_of,
};
pub use navigator::{GraphStep, NavigationCounts, Navigator};
pub use netcdf::{ClassicLayout, HeaderRead, MAX_HEADER_BYTES};
pub use part::{MAX_DIMENSIONS, Part, PartMotion, Span};
pub use role::{
    DirectoryRole, FileRole, FileSystem, RoleFile, RunFiles, absolute_path, file_kind,
    is_system_path, natural_order,
};
pub use svg::draw;
pub use time::TimeStats;

#[cfg(feature = "persistence")]
mod repository;
#[cfg(feature = "persistence")]
pub use repository::{
    ApplicationRow, Contributed, IfMissing, Repository, RepositoryError, RepositoryPlace,
    contribute, leave_contribution, merge_contributions,
};
