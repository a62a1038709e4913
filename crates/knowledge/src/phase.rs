// SPDX-License-Identifier: MIT OR Apache-2.0

//! Computation phases (the paper's Figure 4): reads close together are the input of
//! one computation, and the writes right after them its output.

use std::collections::BTreeSet;

use crate::graph::{ComputationPhase, VertexId, VisitKind};

/// A pause between two reads that is so many times the longest one before, and
/// longer than this, ends the input of a phase.
const LONGER: u64 = 20;
const LONG_NS: u64 = 100_000_000;
/// Vertices of one phase; what comes beyond is left out.
const MAX_VERTICES: usize = 256;

/// Finds the phases of a stream.
#[derive(Debug, Default)]
pub(crate) struct PhaseCollector {
    inputs: BTreeSet<VertexId>,
    outputs: BTreeSet<VertexId>,
    longest_ns: u64,
}

impl PhaseCollector {
    /// Takes a visit in, so long after the one before; the phase that it ends.
    pub(crate) fn add(
        &mut self,
        vertex: VertexId,
        kind: VisitKind,
        wait_ns: u64,
    ) -> Option<ComputationPhase> {
        let is_read = kind == VisitKind::Read;
        let is_pause = wait_ns > LONG_NS && wait_ns > LONGER.saturating_mul(self.longest_ns);
        let has_begun = !self.inputs.is_empty();
        let ends = is_read && (!self.outputs.is_empty() || has_begun && is_pause);
        let ended = if ends { self.finish() } else { None };
        if is_read && ended.is_none() {
            self.longest_ns = self.longest_ns.max(wait_ns);
        }
        let side = if is_read { &mut self.inputs } else { &mut self.outputs };
        if side.len() < MAX_VERTICES {
            side.insert(vertex);
        }
        ended
    }

    /// The phase at the end of the stream.
    pub(crate) fn finish(&mut self) -> Option<ComputationPhase> {
        let PhaseCollector { inputs, outputs, .. } = std::mem::take(self);
        let is_any = !inputs.is_empty() || !outputs.is_empty();
        is_any.then(|| ComputationPhase {
            inputs: inputs.into_iter().collect(),
            outputs: outputs.into_iter().collect(),
        })
    }
}
