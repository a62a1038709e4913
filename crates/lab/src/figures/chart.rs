// SPDX-License-Identifier: MIT OR Apache-2.0

//! The common frame of all pictures: axes, labels, legend, colours.

use plotters::coord::Shift;
use plotters::coord::ranged1d::ValueFormatter;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

pub(super) const BLUE: RGBColor = RGBColor(31, 104, 180);
pub(super) const GREY: RGBColor = RGBColor(140, 140, 140);
const LABEL: RGBColor = RGBColor(50, 50, 50);
const GRID: RGBColor = RGBColor(226, 226, 226);
const SIZE: (u32, u32) = (760, 330);
const BAND_OPACITY: f64 = 0.22;

/// How one series is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
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
pub(super) struct Curve {
    pub label: &'static str,
    pub colour: RGBColor,
    pub mark: Mark,
    /// Position, lower and upper value; equal except for a band.
    pub points: Vec<(f64, f64, f64)>,
}

impl Curve {
    pub(super) fn new(
        label: &'static str,
        colour: RGBColor,
        mark: Mark,
        points: impl Iterator<Item = (f64, f64)>,
    ) -> Curve {
        Curve { label, colour, mark, points: points.map(|(x, y)| (x, y, y)).collect() }
    }

    pub(super) fn band(
        label: &'static str,
        colour: RGBColor,
        points: impl Iterator<Item = (f64, f64, f64)>,
    ) -> Curve {
        Curve { label, colour, mark: Mark::Band, points: points.collect() }
    }
}

/// What stands around the curves.
pub(super) struct Frame<'a> {
    pub title: &'a str,
    pub x: (f64, f64),
    pub y: (f64, f64),
    pub y_label: &'a str,
    /// Whether the y axis is logarithmic.
    pub log: bool,
}

type Failure = Box<dyn std::error::Error>;
type Area<'b> = DrawingArea<SVGBackend<'b>, Shift>;

/// The picture as SVG text.
pub(super) fn render(frame: &Frame<'_>, curves: &[Curve]) -> Result<String, Failure> {
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
        let opacity = if curve.mark == Mark::Band { BAND_OPACITY } else { 1.0 };
        let colour = curve.colour.mix(opacity).filled();
        area.draw(&Rectangle::new([(x, 38), (x + 16, 46)], colour))?;
        area.draw(&Text::new(curve.label, (x + 22, 35), font(13)))?;
        // Without the font at hand a letter is taken for seven pixels wide.
        x += 44 + 7 * curve.label.len() as i32;
    }
    Ok(())
}

type Context<'a, 'b, Y> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, Y>>;

fn draw<'a, 'b: 'a, Y>(
    mut chart: Context<'a, 'b, Y>,
    frame: &Frame<'_>,
    curves: &[Curve],
    dots: &mut String,
) -> Result<(), Failure>
where
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    let font = ("sans-serif", 13).into_font().color(&LABEL);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(LABEL)
        .x_labels(8)
        .y_labels(6)
        .x_label_formatter(&|x| thousands(*x))
        .y_label_formatter(&|y| short(*y))
        .x_desc("operation")
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

/// A tick of an axis: no more digits than it needs.
fn short(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        thousands(value)
    } else if (value - value.round()).abs() < 1e-6 * size {
        format!("{value:.0}")
    } else if size == 0.0 || (size >= 0.01 && (value * 100.0).round() == (value * 100.0)) {
        format!("{}", (value * 100.0).round() / 100.0)
    } else if size >= 0.01 {
        format!("{value:.2}")
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_short_and_grouped() {
        assert_eq!(thousands(1_234_567.0), "1,234,567");
        assert_eq!(thousands(12.0), "12");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(100.0), "100");
        assert_eq!(short(0.000001), "1e-6");
    }
}
