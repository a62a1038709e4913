// SPDX-License-Identifier: MIT OR Apache-2.0

//! MB/s over the transfer size, drawn with letters.

/// Rows of the plot, about: each power of ten has one of its own.
const HEIGHT: usize = 8;
/// Columns of each size.
const STEP: usize = 9;

/// One line of the plot.
pub struct PlotSeries {
    /// What marks its points.
    pub mark: char,
    /// What the legend says.
    pub name: String,
    /// Transfer size and MB/s.
    pub points: Vec<(u64, f64)>,
}

/// The plot with its legend; nothing if there are fewer than two sizes to show.
pub fn render(series: &[PlotSeries], size_label: impl Fn(u64) -> String) -> Option<String> {
    let all = || series.iter().flat_map(|series| &series.points).filter(|(_, rate)| *rate > 0.0);
    let mut sizes: Vec<u64> = all().map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() < 2 {
        return None;
    }
    let low = all().map(|(_, rate)| *rate).fold(f64::MAX, f64::min);
    let high = all().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let (bottom, top) = (low.log10().floor(), high.log10().ceil().max(low.log10().floor() + 1.0));
    let n_decades = (top - bottom) as usize;
    let per_decade = (HEIGHT / n_decades).max(1);
    let last = n_decades * per_decade;
    let row_of = |rate: f64| ((top - rate.log10()) * per_decade as f64).round() as usize;
    let mut rows = vec![vec![' '; sizes.len() * STEP]; last + 1];
    for series in series {
        for (size, rate) in series.points.iter().filter(|(_, rate)| *rate > 0.0) {
            let Some(at) = sizes.iter().position(|it| it == size) else { continue };
            let row = &mut rows[row_of(*rate).min(last)];
            // Marks that meet stand next to each other.
            let column = (at * STEP + 2..(at + 1) * STEP).find(|column| row[*column] == ' ');
            if let Some(column) = column {
                row[column] = series.mark;
            }
        }
    }
    let mut text = String::from("    MB/s\n");
    for (at, row) in rows.iter().enumerate() {
        let exponent = top - (at / per_decade) as f64;
        let is_labelled = at.is_multiple_of(per_decade);
        let label = if is_labelled { number(10_f64.powf(exponent)) } else { String::new() };
        let row: String = row.iter().collect();
        text.push_str(format!("{label:>8} ┤{row}").trim_end());
        text.push('\n');
    }
    text.push_str(&format!("         └{}\n", "─".repeat(sizes.len() * STEP)));
    let labels: String =
        sizes.iter().map(|size| format!("{:<width$}", size_label(*size), width = STEP)).collect();
    text.push_str(format!("           {labels}").trim_end());
    text.push('\n');
    let legend: Vec<String> =
        series.iter().map(|series| format!("{} {}", series.mark, series.name)).collect();
    text.push_str(&format!("         {}\n", legend.join("   ")));
    Some(text)
}

fn number(value: f64) -> String {
    if value >= 10.0 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn larger_is_higher_and_marks_do_not_hide_each_other() {
        let series = |mark, rates: [f64; 3]| PlotSeries {
            mark,
            name: format!("series {mark}"),
            points: [4096, 65536, 1 << 20].into_iter().zip(rates).collect(),
        };
        let series = [series('r', [10.0, 100.0, 1000.0]), series('w', [10.0, 20.0, 30.0])];
        let plot = render(&series, |size| format!("{} KiB", size >> 10)).unwrap();
        expect![[r#"
            plot
                MB/s
                1000 ┤                    r
                     ┤
                     ┤
                     ┤
                 100 ┤           r
                     ┤
                     ┤                    w
                     ┤           w
                  10 ┤  rw
                     └───────────────────────────
                       4 KiB    64 KiB   1024 KiB
                     r series r   w series w
        "#]]
        .assert_eq(&format!("plot\n{plot}"));
        assert!(render(&[], |_| String::new()).is_none());
    }
}
