// SPDX-License-Identifier: MIT OR Apache-2.0

//! The report's Figures 2 to 8, as data series and as pictures.

pub(crate) mod chart;
mod plot;
mod series;

pub use plot::{Figure, draw};
pub use series::{Bin, Binned, FigureSeries};

pub(crate) use series::SeriesRecorder;
