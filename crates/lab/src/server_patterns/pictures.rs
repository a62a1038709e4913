// SPDX-License-Identifier: MIT OR Apache-2.0

//! The paper's figures as SVG: curves of sweeps, and bars of decisions.

use plotters::prelude::RGBColor;

use super::sweep::Accuracy;
use crate::figures::chart::{BLUE, ChartFrame, Curve, Mark, render};

const ORANGE: RGBColor = RGBColor(224, 122, 31);

/// Precision (blue) and recall (orange) over a constant in percent; thin dots
/// are a second way of judging.
pub(super) fn curves(
    title: &str,
    x_label: &str,
    points: &[(f64, Accuracy)],
    second: &[(f64, Accuracy)],
) -> Option<String> {
    let line = |label, colour, mark, points: &[(f64, Accuracy)], value: fn(&Accuracy) -> f64| {
        let points: Vec<(f64, f64)> = points.iter().map(|(x, it)| (*x, value(it))).collect();
        Curve::new(label, colour, mark, points.into_iter())
    };
    let mut all = vec![
        line("precision", BLUE, Mark::Line, points, |it| it.precision),
        line("recall", ORANGE, Mark::Line, points, |it| it.recall),
    ];
    if !second.is_empty() {
        let dots = Mark::Dots(7);
        all.push(line("precision, method 2", BLUE, dots, second, |it| it.precision));
        all.push(line("recall, method 2", ORANGE, dots, second, |it| it.recall));
    }
    let values = all.iter().flat_map(|curve| &curve.points);
    let lowest = values.clone().map(|point| point.1).fold(100.0, f64::min);
    let x = values.map(|point| point.0);
    let (left, right) =
        x.fold((f64::MAX, f64::MIN), |(least, most), x| (least.min(x), most.max(x)));
    let y = ((lowest - 5.0).max(0.0), 101.0);
    let frame = ChartFrame {
        title,
        x: (left, right.max(left + 1.0)),
        y,
        x_label,
        y_label: "percent",
        log: false,
    };
    render(&frame, &all).ok()
}

/// A group of bars: a name, and for each bar its name with upward and downward
/// numbers.
pub(super) struct BarGroup {
    pub name: String,
    pub bars: Vec<(&'static str, u64, u64)>,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 330.0;

/// Bars upwards for decisions that improved, downwards for those that worsened.
pub(super) fn bars(title: &str, groups: &[BarGroup]) -> String {
    let all = || groups.iter().flat_map(|group| &group.bars);
    let up = all().map(|bar| bar.1).max().unwrap_or(0).max(1) as f64;
    let down = all().map(|bar| bar.2).max().unwrap_or(0) as f64;
    let (top, bottom) = (60.0, HEIGHT - 50.0);
    let zero = top + (bottom - top) * up / (up + down.max(up * 0.08));
    let scale = (zero - top) / up;
    let n_bars: usize = groups.iter().map(|group| group.bars.len()).sum();
    let step = (WIDTH - 80.0) / (n_bars + groups.len()).max(1) as f64;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"12\" fill=\"#323232\">\n\
         <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"17\">{title}</text>\n\
         <text x=\"16\" y=\"44\">decisions that differ from the baseline by more than 5 %: \
         improved above the line, worsened below</text>\n"
    );
    let mut x = 40.0 + step / 2.0;
    for group in groups {
        let first = x;
        for (name, improved, worsened) in &group.bars {
            let (up, down) = (*improved as f64 * scale, *worsened as f64 * scale);
            let (bar, middle) = (step * 0.8, x + step * 0.4);
            text.push_str(&format!(
                "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{bar:.1}\" height=\"{up:.1}\" fill=\"#1f68b4\"/>\n\
                 <rect x=\"{x:.1}\" y=\"{zero:.1}\" width=\"{bar:.1}\" height=\"{down:.1}\" fill=\"#e07a1f\"/>\n\
                 <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{improved}</text>\n\
                 <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{worsened}</text>\n\
                 <text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>\n",
                zero - up,
                zero - up - 4.0,
                zero + down + 13.0,
                HEIGHT - 22.0,
            ));
            x += step;
        }
        let middle = (first + x) / 2.0;
        text.push_str(&format!(
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n",
            HEIGHT - 6.0,
            group.name
        ));
        x += step;
    }
    text.push_str(&format!(
        "<path d=\"M40 {zero:.1}H{:.1}\" stroke=\"#323232\"/>\n</svg>\n",
        WIDTH - 20.0
    ));
    text
}
