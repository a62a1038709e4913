// SPDX-License-Identifier: MIT OR Apache-2.0

//! How often what a path predicted was accessed, whether or not the path held.
//!
//! Some steps of the path are remembered, at distances of 1, 4, 16 and so on up
//! to 16,384 operations, until an operation touches their place or their time is
//! over. How often each outcome came, for steps of that distance that looked as
//! probable, is the probability that is stated of such steps from then on. The
//! cost of an operation is a look at the [`MAX_SAMPLES`] steps remembered.

use ioracle_events::{FileId, Operation, PredictedFile, Prediction};

/// Distances that are distinguished, each four times the one before.
const N_DISTANCES: usize = 8;
/// The same for how probable the place is, and for the path up to it.
const N_PLACES: usize = 4;
const N_PATHS: usize = 3;

/// Steps remembered of each distance, and of all.
const MAX_OF_DISTANCE: usize = 8;
const MAX_SAMPLES: usize = N_DISTANCES * MAX_OF_DISTANCE;
/// Operations between two steps that are remembered.
const SAMPLE_EVERY: u64 = 8;
/// A step has twice its distance plus this many operations to be accessed.
const GRACE: u64 = 64;
/// Outcomes after which older ones count half.
const MAX_OUTCOMES: f64 = 64.0;
/// How many outcomes the knowledge about less similar steps counts for.
const PRIOR_WEIGHT: f64 = 2.0;

/// Outcomes, and steps that wait for their outcome.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessRecord {
    cells: [[[Outcomes; N_PATHS]; N_PLACES]; N_DISTANCES],
    /// Over all distances and paths.
    places: [Outcomes; N_PLACES],
    samples: Vec<Sample>,
    n_operations: u64,
    n_sampled: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Outcomes {
    accessed: f64,
    all: f64,
}

#[derive(Clone, Debug)]
struct Sample {
    file: PredictedFile,
    /// The byte in its middle; `None`: any operation on the file counts.
    byte: Option<u64>,
    due: u64,
    cell: Cell,
}

/// Where the outcome of a step counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cell {
    distance: usize,
    place: usize,
    path: usize,
}

impl AccessRecord {
    /// Probability that a step is accessed soon, by its distance from the next one, the
    /// probability that the path holds, and that the place is right.
    pub(crate) fn probability(&self, place: usize, path: f64, place_probability: f64) -> f64 {
        let cell = Cell::of(place, (path, place_probability));
        let holds = path * place_probability;
        let like_it = self.places[cell.place].share(holds);
        self.cells[cell.distance][cell.place][cell.path].share(like_it).max(holds)
    }

    /// An operation has come; `path` is that of its file.
    pub(crate) fn observe(&mut self, operation: &Operation, path: Option<&str>) {
        self.n_operations += 1;
        let n_operations = self.n_operations;
        let AccessRecord { samples, cells, places, .. } = self;
        samples.retain(|sample| {
            let is_accessed = sample.is_accessed_by(operation, path);
            let is_over = is_accessed || sample.due <= n_operations;
            if is_over {
                let Cell { distance, place, path } = sample.cell;
                cells[distance][place][path].add(is_accessed);
                places[place].add(is_accessed);
            }
            !is_over
        });
    }

    /// Which step of a path of this length to remember now.
    pub(crate) fn wants(&mut self, n_steps: usize) -> Option<usize> {
        if !self.n_operations.is_multiple_of(SAMPLE_EVERY) {
            return None;
        }
        self.n_sampled += 1;
        let distance = (self.n_sampled % N_DISTANCES as u64) as usize;
        let place = (1 << (2 * distance)) - 1;
        let of_it = self.samples.iter().filter(|sample| sample.cell.distance == distance);
        (place < n_steps && of_it.count() < MAX_OF_DISTANCE).then_some(place)
    }

    /// Remembers a step at this distance from the next one.
    pub(crate) fn sample(&mut self, step: &Prediction, place: usize, chances: (f64, f64)) {
        if self.samples.len() >= MAX_SAMPLES || step.file == PredictedFile::Known(FileId::UNKNOWN) {
            return;
        }
        let is_data = step.function.access().is_data();
        let byte = step.offset.filter(|_| is_data && step.size > 0);
        let due = self.n_operations + 2 * (place as u64 + 1) + GRACE;
        self.samples.push(Sample {
            file: step.file.clone(),
            byte: byte.map(|offset| offset.saturating_add(step.size / 2)),
            due,
            cell: Cell::of(place, chances),
        });
    }
}

impl Sample {
    fn is_accessed_by(&self, operation: &Operation, path: Option<&str>) -> bool {
        let is_file = match &self.file {
            PredictedFile::Known(file) => *file == operation.file,
            PredictedFile::New(name) => Some(name.as_str()) == path,
        };
        let touches = |byte: u64| {
            operation.access().is_data()
                && operation
                    .offset
                    .and_then(|offset| byte.checked_sub(offset))
                    .is_some_and(|distance| distance < operation.size)
        };
        is_file && self.byte.is_none_or(touches)
    }
}

impl Cell {
    fn of(place: usize, (path, place_probability): (f64, f64)) -> Cell {
        let bits = usize::BITS - place.leading_zeros();
        Cell {
            distance: (bits.div_ceil(2) as usize).min(N_DISTANCES - 1),
            place: ((place_probability * N_PLACES as f64) as usize).min(N_PLACES - 1),
            path: usize::from(path >= 0.05) + usize::from(path >= 0.5),
        }
    }
}

impl Outcomes {
    fn add(&mut self, is_accessed: bool) {
        self.accessed += f64::from(u8::from(is_accessed));
        self.all += 1.0;
        if self.all >= MAX_OUTCOMES {
            self.accessed /= 2.0;
            self.all /= 2.0;
        }
    }

    /// The share that was accessed; where little is known, close to `expected`.
    fn share(self, expected: f64) -> f64 {
        (self.accessed + PRIOR_WEIGHT * expected) / (self.all + PRIOR_WEIGHT)
    }
}
