// SPDX-License-Identifier: MIT OR Apache-2.0

//! What each of the report's figures shows.

use super::chart::{BLUE, ChartFrame, Curve, GREY, Mark, render};
use super::series::{Binned, FigureSeries};
use crate::error::Error;
use ioracle_engine::score::SIZE_ERROR_CAP;

/// Differences below this are drawn on it: a logarithmic axis has no zero.
const LEAST_DIFFERENCE_S: f64 = 1e-9;

/// A figure of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Figure {
    /// Figure 2: context prediction over a window of 10, with the unweighted line.
    Context,
    /// Figure 3: symbols predicted ahead.
    Ahead,
    /// Figure 4: size of the grammar, with and without exponents.
    GrammarSize,
    /// Figure 5: relative error of sizes, cut at 5.
    SizeError,
    /// Figure 6: hit ratio.
    HitRatio,
    /// Figure 7: interarrival times, predicted and observed.
    Interarrival,
    /// Figure 8: their absolute difference over the last 1000 operations.
    TimeError,
}

impl Figure {
    /// All of them, in order.
    pub const ALL: [Figure; 7] = [
        Figure::Context,
        Figure::Ahead,
        Figure::GrammarSize,
        Figure::SizeError,
        Figure::HitRatio,
        Figure::Interarrival,
        Figure::TimeError,
    ];

    /// Its number in the report.
    pub fn number(self) -> u32 {
        match self {
            Figure::Context => 2,
            Figure::Ahead => 3,
            Figure::GrammarSize => 4,
            Figure::SizeError => 5,
            Figure::HitRatio => 6,
            Figure::Interarrival => 7,
            Figure::TimeError => 8,
        }
    }

    /// What it shows.
    pub fn caption(self) -> &'static str {
        match self {
            Figure::Context => "context prediction, recent window of 10",
            Figure::Ahead => "symbols predicted ahead",
            Figure::GrammarSize => "grammar size, with and without exponents",
            Figure::SizeError => "relative error of the predicted size, cut at 5",
            Figure::HitRatio => "hit ratio",
            Figure::Interarrival => "interarrival time, predicted and observed",
            Figure::TimeError => "error of the interarrival time, last 1000 operations",
        }
    }

    /// The file it is written to.
    pub fn file_name(self, trace: &str) -> String {
        format!("{trace}-fig{}.svg", self.number())
    }
}

/// Draws a figure of a stream as SVG; `None` if there is nothing to show, such
/// as sizes of a stream without data accesses.
pub fn draw(figure: Figure, trace: &str, series: &FigureSeries) -> Result<Option<String>, Error> {
    let curves: Vec<Curve> =
        curves(figure, series).into_iter().filter(|curve| !curve.points.is_empty()).collect();
    if curves.is_empty() {
        return Ok(None);
    }
    let title = format!("{trace}: {}", figure.caption());
    let frame = frame(figure, &title, series, &curves);
    let svg = render(&frame, &curves);
    svg.map(Some).map_err(|cause| Error::Figure {
        figure: figure.file_name(trace),
        reason: cause.to_string(),
    })
}

fn curves(figure: Figure, series: &FigureSeries) -> Vec<Curve> {
    let means = |binned: &Binned| -> Vec<(f64, f64)> {
        binned.iter().map(|bin| (bin.position, bin.mean)).collect()
    };
    let maxima = |binned: &Binned| -> Vec<(f64, f64)> {
        binned.iter().map(|bin| (bin.position, bin.max)).collect()
    };
    let line = |label, colour, points: Vec<(f64, f64)>| {
        Curve::new(label, colour, Mark::Line, points.into_iter())
    };
    let ranges = |label, binned: &Binned| {
        Curve::band(label, BLUE, binned.iter().map(|bin| (bin.position, bin.min, bin.max)))
    };
    match figure {
        Figure::Context => vec![
            line("without weights", GREY, means(&series.context_unweighted)),
            ranges("least to most", &series.context),
            line("context accuracy", BLUE, means(&series.context)),
        ],
        Figure::Ahead => {
            let at = |value: fn(&crate::metrics::horizon::Reached) -> u64| {
                series
                    .ahead
                    .iter()
                    .map(move |reached| (reached.position as f64, value(reached) as f64))
            };
            vec![
                Curve::new(
                    "operations left, up to 10,000",
                    GREY,
                    Mark::Line,
                    at(|reached| reached.limit),
                ),
                Curve::new("right in a row", BLUE, Mark::Line, at(|reached| reached.right)),
            ]
        }
        Figure::GrammarSize => vec![
            line("plain Sequitur", GREY, maxima(&series.sequitur)),
            line("StarSequitur", BLUE, maxima(&series.grammar)),
        ],
        Figure::SizeError => vec![
            ranges("least to most", &series.size_error),
            line("size error", BLUE, means(&series.size_error)),
        ],
        Figure::HitRatio => {
            vec![ranges("least to most", &series.hit), line("hit ratio", BLUE, means(&series.hit))]
        }
        Figure::Interarrival => vec![
            Curve::new("observed", GREY, Mark::Bars, maxima(&series.interarrival).into_iter()),
            Curve::new(
                "predicted",
                BLUE,
                Mark::Dots(5),
                maxima(&series.interarrival_predicted).into_iter(),
            ),
        ],
        Figure::TimeError => {
            let points = series.last_errors.iter().enumerate().map(|(index, error)| {
                (series.last_from as f64 + index as f64, error.max(LEAST_DIFFERENCE_S))
            });
            vec![Curve::new("absolute difference", BLUE, Mark::Dots(2), points)]
        }
    }
}

fn frame<'a>(
    figure: Figure,
    title: &'a str,
    series: &FigureSeries,
    curves: &[Curve],
) -> ChartFrame<'a> {
    let x = match figure {
        Figure::TimeError => (series.last_from as f64, series.operations as f64),
        _ => (0.0, series.operations as f64),
    };
    let highest =
        curves.iter().flat_map(|curve| &curve.points).map(|point| point.2).fold(0.0, f64::max);
    let (y, y_label) = match figure {
        Figure::Context => ((0.0, 105.0), "percent"),
        Figure::HitRatio => ((0.0, 105.0), "percent"),
        Figure::SizeError => ((0.0, SIZE_ERROR_CAP * 1.05), "relative error"),
        Figure::Ahead | Figure::GrammarSize => ((0.0, (highest * 1.08).max(1.0)), "symbols"),
        Figure::Interarrival => ((0.0, (highest * 1.08).max(1e-6)), "seconds"),
        Figure::TimeError => ((LEAST_DIFFERENCE_S, (highest * 3.0).max(1e-6)), "seconds"),
    };
    ChartFrame { title, x, y, x_label: "operation", y_label, log: figure == Figure::TimeError }
}
