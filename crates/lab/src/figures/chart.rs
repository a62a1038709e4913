// SPDX-License-Identifier: MIT OR Apache-2.0

//! The common frame of all pictures: axes, labels, legend, colours.

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

pub(crate) const BLUE: RGBColor = RGBColor(31, 104, 180);
pub(crate) const GREY: RGBColor = RGBColor(140, 140, 140);
const LABEL: RGBColor = RGBColor(50, 50, 50);
const GRID: RGBColor = RGBColor(226, 226, 226);
const SIZE: (u32, u32) = (760, 330);
const BAND_OPACITY: f64 = 0.22;
/// Ticks of the y axis, at most.
const Y_TICKS: usize = 6;

/// How one series is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// A line through the points.
    Line,
    /// A band between two values at each point.
    Band,
    /// A bar from the axis to each point.
    Bars,
    /// A dot of this many pixels at each point.
    Dots(u32),
}

/// One series: where its points are, and what the legend calls it.
pub(crate) struct Curve {
    pub label: &'static str,
    pub colour: RGBColor,
    pub mark: Mark,
    /// Position, lower and upper value; equal except for a band.
    pub points: Vec<(f64, f64, f64)>,
}

impl Curve {
    pub(crate) fn new(
        label: &'static str,
        colour: RGBColor,
        mark: Mark,
        points: impl Iterator<Item = (f64, f64)>,
    ) -> Curve {
        Curve { label, colour, mark, points: points.map(|(x, y)| (x, y, y)).collect() }
    }

    pub(crate) fn band(
        label: &'static str,
        colour: RGBColor,
        points: impl Iterator<Item = (f64, f64, f64)>,
    ) -> Curve {
        Curve { label, colour, mark: Mark::Band, points: points.collect() }
    }
}

/// What stands around the curves.
pub(crate) struct ChartFrame<'a> {
    pub title: &'a str,
    pub x: (f64, f64),
    pub y: (f64, f64),
    pub x_label: &'a str,
    pub y_label: &'a str,
    /// Whether the y axis is logarithmic.
    pub log: bool,
}

type Failure = Box<dyn std::error::Error>;
type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;

/// The picture as SVG text.
pub(crate) fn render(frame: &ChartFrame<'_>, curves: &[Curve]) -> Result<String, Failure> {
    let mut svg = String::new();
    let mut dots = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        area.fill(&WHITE)?;
        head(&area, frame.title, curves)?;
        let mut builder = ChartBuilder::on(&area);
        builder
            .margin(10)
            .margin_top(56)
            .margin_right(18)
            .x_label_area_size(42)
            .y_label_area_size(70);
        let x = frame.x.0..frame.x.1;
        let y = frame.y.0..frame.y.1;
        if frame.log {
            draw(builder.build_cartesian_2d(x, y.log_scale())?, frame, curves, &mut dots)?;
        } else {
            draw(builder.build_cartesian_2d(x, y)?, frame, curves, &mut dots)?;
        }
        area.present()?;
    }
    if let Some(end) = svg.rfind("</svg>") {
        svg.insert_str(end, &dots);
    }
    Ok(svg)
}

/// Title and legend stand above the curves, where they cover nothing.
fn head(area: &Area<'_>, title: &str, curves: &[Curve]) -> Result<(), Failure> {
    let font = |size: i32| ("sans-serif", size).into_font().color(&LABEL);
    area.draw(&Text::new(title.to_owned(), (16, 12), font(17)))?;
    let mut x = 18;
    for curve in curves {
        legend_mark(area, x, curve)?;
        area.draw(&Text::new(curve.label, (x + 22, 35), font(13)))?;
        // Without the font at hand a letter is taken for seven pixels wide.
        x += 44 + 7 * curve.label.len() as i32;
    }
    Ok(())
}

/// The mark of a curve in small, `x` being its left end.
fn legend_mark(area: &Area<'_>, x: i32, curve: &Curve) -> Result<(), Failure> {
    let (middle, colour) = (41, curve.colour);
    match curve.mark {
        Mark::Line => {
            area.draw(&PathElement::new([(x, middle), (x + 16, middle)], colour.stroke_width(2)))?;
        }
        Mark::Band => {
            let filled = colour.mix(BAND_OPACITY).filled();
            area.draw(&Rectangle::new([(x, middle - 5), (x + 16, middle + 5)], filled))?;
        }
        Mark::Bars => {
            for (place, height) in [(3, 5), (8, 10), (13, 7)] {
                let bar = [(x + place, middle + 5), (x + place, middle + 5 - height)];
                area.draw(&PathElement::new(bar, colour.stroke_width(2)))?;
            }
        }
        Mark::Dots(pixels) => {
            for place in [3, 8, 13] {
                let radius = pixels as i32 / 2;
                area.draw(&Circle::new((x + place, middle), radius.max(1), colour.filled()))?;
            }
        }
    }
    Ok(())
}

type Context<'a, 'b, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

fn draw<'a, 'b: 'a, Y>(
    mut chart: Context<'a, 'b, Y>,
    frame: &ChartFrame<'_>,
    curves: &[Curve],
    dots: &mut String,
) -> Result<(), Failure>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let font = ("sans-serif", 13).into_font().color(&LABEL);
    let step = (frame.y.1 - frame.y.0) / Y_TICKS as f64;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(LABEL)
        .x_labels(8)
        .y_labels(Y_TICKS)
        .x_label_formatter(&|x| thousands(*x))
        .y_label_formatter(&|y| if frame.log { power(*y) } else { tick(*y, step) })
        .x_desc(frame.x_label)
        .y_desc(frame.y_label)
        .label_style(font.clone())
        .axis_desc_style(font)
        .draw()?;
    let floor = frame.y.0;
    for curve in curves {
        let colour = curve.colour;
        let points = &curve.points;
        let middle = points.iter().map(|&(x, _, y)| (x, y));
        match curve.mark {
            Mark::Line => {
                chart.draw_series(LineSeries::new(middle, colour.stroke_width(2)))?;
            }
            Mark::Dots(pixels) => dots.push_str(&dot_path(
                colour,
                pixels,
                middle.map(|point| chart.backend_coord(&point)),
            )),
            Mark::Bars => {
                // One outline instead of a bar each keeps the file small.
                let outline = points.iter().flat_map(|&(x, _, y)| [(x, floor), (x, y), (x, floor)]);
                chart.draw_series(LineSeries::new(outline, colour.stroke_width(2)))?;
            }
            Mark::Band => {
                let upper = points.iter().map(|&(x, _, high)| (x, high));
                let lower = points.iter().rev().map(|&(x, low, _)| (x, low));
                let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
                chart.draw_series([Polygon::new(outline, colour.mix(BAND_OPACITY))])?;
            }
        };
    }
    Ok(())
}

/// All dots of a curve as one path of strokes without length: a tenth of what a
/// circle element each would take.
fn dot_path(colour: RGBColor, pixels: u32, points: impl Iterator<Item = (i32, i32)>) -> String {
    let RGBColor(red, green, blue) = colour;
    let mut path = format!(
        "<path fill=\"none\" stroke=\"#{red:02x}{green:02x}{blue:02x}\" stroke-width=\"{pixels}\" \
         stroke-linecap=\"round\" d=\""
    );
    for (x, y) in points {
        path.push_str(&format!("M{x} {y}h0"));
    }
    path.push_str("\"/>\n");
    path
}

/// `12000` as `12,000`.
fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value <= -0.5 { format!("-{text}") } else { text }
}

/// A tick of a linear axis, with enough digits to differ from its neighbours,
/// which are at least `step` away.
fn tick(value: f64, step: f64) -> String {
    let decimals = (-step.log10().floor()).clamp(0.0, 9.0) as usize;
    if decimals == 0 { thousands(value) } else { format!("{value:.decimals$}") }
}

/// A tick of a logarithmic axis.
fn power(value: f64) -> String {
    if (0.01..10_000.0).contains(&value) { format!("{value}") } else { format!("{value:.0e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short_and_grouped() {
        assert_eq!(thousands(1_234_567.0), "1,234,567");
        assert_eq!(thousands(12.0), "12");
        assert_eq!(power(0.000001), "1e-6");
        assert_eq!(power(0.1), "0.1");
    }

    #[test]
    fn neighbouring_ticks_differ() {
        assert_eq!(tick(100.0, 20.0), "100");
        assert_eq!(tick(0.5, 0.5), "0.5");
        for (low, high) in [(0.0, 0.02), (0.0, 0.007), (0.0, 3.1), (0.0, 90_000.0)] {
            let step = (high - low) / Y_TICKS as f64;
            let ticks: Vec<String> =
                (0..Y_TICKS).map(|place| tick(low + step * place as f64, step)).collect();
            let mut distinct = ticks.clone();
            distinct.dedup();
            assert_eq!(distinct, ticks);
        }
    }
}
