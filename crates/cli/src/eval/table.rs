// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle eval` for people: our numbers beside the best baseline.

use ioracle_lab::Evaluation;
use ioracle_lab::baselines::BaselineResult;

use crate::shared::numbers::{bytes, counted, grouped, nanoseconds, percent, seconds};
use crate::shared::table::{Alignment, Cell, Colours, TextTable, Tone};

/// How far a percentage may be below a baseline and still count as equal.
const TOLERANCE: f64 = 0.1;

/// Our number beside the best baseline that has it.
struct Duel {
    name: &'static str,
    ours: Option<f64>,
    best: Option<(&'static str, f64)>,
    is_time: bool,
}

impl Duel {
    fn tone(&self) -> Tone {
        match (self.ours, self.best) {
            (Some(ours), Some((_, best))) if self.is_time => {
                if ours < best {
                    Tone::Good
                } else {
                    Tone::Bad
                }
            }
            (Some(ours), Some((_, best))) => {
                if ours >= best - TOLERANCE {
                    Tone::Good
                } else {
                    Tone::Bad
                }
            }
            _ => Tone::Plain,
        }
    }

    fn show(&self, value: Option<f64>) -> String {
        if self.is_time { seconds(value) } else { percent(value) }
    }

    fn ours(&self) -> Cell {
        Cell::new(self.show(self.ours), self.tone())
    }

    fn best(&self) -> Cell {
        Cell::new(self.show(self.best.map(|(_, value)| value)), Tone::Dim)
    }
}

/// The report as text: one block for one rank, else a table with a row each.
pub fn render(evaluations: &[&Evaluation], colours: Colours) -> String {
    match evaluations {
        [one] => block(one, colours),
        several => overview(several, colours),
    }
}

fn overview(evaluations: &[&Evaluation], colours: Colours) -> String {
    let mut table = TextTable::new(&[
        ("trace", Alignment::Left),
        ("rank", Alignment::Right),
        ("operations", Alignment::Right),
        ("context", Alignment::Right),
        ("best", Alignment::Right),
        ("offset", Alignment::Right),
        ("best", Alignment::Right),
        ("hit ratio", Alignment::Right),
        ("best", Alignment::Right),
        ("time error", Alignment::Right),
        ("best", Alignment::Right),
        ("grammar", Alignment::Right),
        ("observe", Alignment::Right),
    ]);
    for evaluation in evaluations {
        let mut row: Vec<Cell> = vec![
            evaluation.trace.as_str().into(),
            evaluation.rank.to_string().into(),
            grouped(evaluation.operations).into(),
        ];
        let [context, _, _, offset, hit, _, _, _, time] = duels(evaluation);
        for duel in [context, offset, hit, time] {
            row.extend([duel.ours(), duel.best()]);
        }
        row.push(grouped(evaluation.grammar_size).into());
        row.push(seconds(evaluation.observe_ns_mean.map(|ns| ns * 1e-9)).into());
        table.push(row);
    }
    let mut text = table.render(colours);
    text.push_str("\nContext, offset and hit ratio in percent, 'best' is the best baseline; grammar in symbols; ");
    text.push_str("observe per\noperation. With one trace and --rank R everything is shown");
    if evaluations.iter().all(|evaluation| evaluation.baselines.is_none()) {
        text.push_str("; add --baselines to compare with more than the contiguous assumption");
    }
    text.push_str(".\n");
    text
}

fn block(evaluation: &Evaluation, colours: Colours) -> String {
    let title = format!("{}, rank {}", evaluation.trace, evaluation.rank);
    let mut text = format!(
        "{}: {}, {}\n\n",
        colours.paint(&Cell::new(title, Tone::Header)),
        counted(evaluation.operations, "operation"),
        counted(evaluation.symbols, "context symbol")
    );
    let mut table = TextTable::new(&[
        ("predicted before it came", Alignment::Left),
        ("ioracle", Alignment::Right),
        ("best baseline", Alignment::Right),
        ("", Alignment::Left),
    ]);
    for duel in duels(evaluation) {
        let name = duel.best.map_or("", |(name, _)| name);
        table.push(vec![duel.name.into(), duel.ours(), duel.best(), Cell::new(name, Tone::Dim)]);
    }
    text.push_str(&table.render(colours));
    text.push('\n');
    let plain = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
    let mut table = TextTable::new(&[("also", Alignment::Left), ("", Alignment::Left)]);
    let rows = [
        ("calibration error", plain(evaluation.calibration_error)),
        ("place calibration error", plain(evaluation.place_calibration_error)),
        ("Brier score", plain(evaluation.context_brier)),
        ("horizon share (up to 1000 ahead)", plain(evaluation.horizon_share)),
        ("size error", plain(evaluation.size_error_mean)),
        ("symbols with one size", format!("{} %", percent(evaluation.one_size_symbols))),
        (
            "grammar size",
            format!(
                "{} (plain Sequitur: {})",
                counted(evaluation.grammar_size, "symbol"),
                grouped(evaluation.sequitur_grammar_size)
            ),
        ),
        (
            "cost of learning an operation",
            format!(
                "{} (99 % within {})",
                seconds(evaluation.observe_ns_mean.map(|ns| ns * 1e-9)),
                evaluation.observe_ns_p99.map_or("–".to_owned(), |ns| nanoseconds(ns as u64))
            ),
        ),
        ("memory of the model", bytes(evaluation.model_bytes)),
    ];
    for (name, value) in rows {
        table.push(vec![name.into(), value.into()]);
    }
    text.push_str(&table.render(colours));
    text
}

/// The numbers that baselines have too, in the order of the block.
fn duels(evaluation: &Evaluation) -> [Duel; 9] {
    let duel = |name, ours, field: fn(&BaselineResult) -> Option<f64>, known: KnownResult| {
        let is_time = name == "interarrival error";
        Duel { name, ours, best: best(evaluation, field, known, is_time), is_time }
    };
    let e = evaluation;
    let contiguous = |value: Option<f64>| value.map(|value| ("contiguous", value));
    let immediate = e.immediate_error_s.map(|value| ("immediate", value));
    [
        duel("context symbol, %", e.context_accuracy, |b| b.context_accuracy, None),
        duel(
            "… in the second half, %",
            e.context_accuracy_stationary,
            |b| b.context_accuracy_stationary,
            None,
        ),
        duel("… most probable one right, %", e.context_top1, |b| b.context_top1, None),
        duel(
            "file and offset, %",
            e.offset_accuracy,
            |b| b.offset_accuracy,
            contiguous(e.contiguous_accuracy),
        ),
        duel("hit ratio, %", e.hit_ratio, |b| b.hit_ratio, None),
        duel("… in the second half, %", e.hit_ratio_stationary, |b| b.hit_ratio_stationary, None),
        duel("size exact, %", e.size_exact, |b| b.size_exact, None),
        duel("file, %", e.file_accuracy, |b| b.file_accuracy, None),
        duel("interarrival error", e.time_error_s, |b| b.time_error_s, immediate),
    ]
}

/// A baseline that is measured even without `--baselines`.
type KnownResult = Option<(&'static str, f64)>;

fn best(
    evaluation: &Evaluation,
    field: fn(&BaselineResult) -> Option<f64>,
    known: KnownResult,
    least: bool,
) -> KnownResult {
    let named = evaluation.baselines.iter().flat_map(|results| results.named());
    let values = named.filter_map(|(name, result)| Some((name, field(result)?)));
    known.into_iter().chain(values).reduce(|best, next| {
        let better = if least { next.1 < best.1 } else { next.1 > best.1 };
        if better { next } else { best }
    })
}
