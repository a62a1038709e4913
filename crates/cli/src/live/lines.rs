// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the live view shows: lines made for a width and a height, the most important
//! first, so that a small terminal shows those.

use std::collections::VecDeque;
use std::fs::File;
use std::os::unix::fs::FileExt;

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

use crate::shared::numbers::{bytes, counted, grouped, seconds};
use crate::shared::status::{
    JobStatus, NextStatus, ProcessStatus, ThreadStatus, UNKNOWN_FILE, clock, soon, traffic, whole,
};
use crate::shared::text::{shorten_start, without_control_characters, wrap};

/// Threads whose loops and next operations are shown.
const MAX_THREADS: usize = 4;
/// How much of the program's output is looked at for its last lines.
const OUTPUT_BYTES: usize = 16 * 1024;
/// Looks whose bandwidth is remembered; no screen is wider.
const MAX_HISTORY: usize = 512;
/// Columns from which on there is room for bars and columns.
const WIDE: usize = 60;
/// Columns of the bar of a loop.
const BAR: usize = 20;

const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// What is known about the job that is shown.
#[derive(Default)]
pub struct LiveView {
    status: Option<JobStatus>,
    /// Bytes read and written a second, the last look's at the end.
    history: VecDeque<[f64; 2]>,
    /// Why there is nothing new.
    pub trouble: Option<&'static str>,
    /// The last lines of the program's output, where it goes to a file.
    pub output: Option<Vec<String>>,
    /// Uses only bold text and the like, which NO_COLOR allows.
    without_colour: bool,
}

impl LiveView {
    /// Nothing known yet; with room for the program's output or without.
    pub fn new(with_output: bool, without_colour: bool) -> LiveView {
        let output = with_output.then(Vec::new);
        LiveView { output, without_colour, ..LiveView::default() }
    }

    /// What the job says now.
    pub fn update(&mut self, status: JobStatus) {
        if self.history.len() == MAX_HISTORY {
            self.history.pop_front();
        }
        self.history.push_back([status.read_bytes_per_s, status.written_bytes_per_s]);
        (self.status, self.trouble) = (Some(status), None);
    }

    /// The lines of a screen.
    pub fn lines(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let mut lines = Lines::new(width);
        if let Some(trouble) = self.trouble {
            lines.wrapped(trouble, Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD));
        }
        match &self.status {
            Some(status) => self.job(status, &mut lines),
            None => lines.wrapped("waiting for the job to say how it is doing", BOLD),
        }
        let mut shown = lines.lines;
        if let Some(output) = &self.output {
            // The pane has a third of the screen, and what is left over.
            let n_pane = (height / 3).max(height.saturating_sub(shown.len())).min(height);
            shown.truncate(height - n_pane);
            let mut pane = Lines::new(width);
            pane.heading("output of the program");
            let n_lines = n_pane.saturating_sub(1);
            for line in &output[output.len().saturating_sub(n_lines)..] {
                pane.row([(line.clone(), Style::new())]);
            }
            shown.extend(pane.lines.into_iter().take(n_pane));
        }
        shown.truncate(height);
        if self.without_colour {
            for line in &mut shown {
                line.style.fg = None;
                line.spans.iter_mut().for_each(|span| span.style.fg = None);
            }
        }
        shown
    }

    fn job(&self, status: &JobStatus, lines: &mut Lines) {
        let title = format!(
            "{} – {}, {}, {}",
            status.application,
            clock(status.elapsed_s),
            counted(status.processes, "process"),
            counted(status.streams, "thread"),
        );
        lines.wrapped(&title, BOLD.fg(Color::Cyan));
        lines.text(&traffic(status));
        self.bandwidth(lines);
        match &status.score {
            Some(score) => lines.text(&format!(
                "predicted: {:.1} % of {}, {:.1} % of the bytes",
                score.context_accuracy,
                counted(score.operations, "operation"),
                score.hit_ratio
            )),
            None => lines.text("nothing to predict yet"),
        }
        if let Some(prefetch) = &status.prefetch {
            let stopped = if prefetch.stopped { "; it has given up" } else { "" };
            lines.text(&format!(
                "read ahead: {}, {} of it used, {} under way, {} saved{stopped}",
                bytes(prefetch.bytes),
                bytes(prefetch.used),
                counted(prefetch.in_flight, "request"),
                seconds(Some(prefetch.saved_s)),
            ));
        }
        let burst = status.busiest.first().and_then(|stream| stream.next_burst.as_ref());
        if let Some(burst) = burst {
            let text = format!(
                "next burst {}: {}, {}",
                soon(burst.in_s),
                counted(burst.operations, "operation"),
                bytes(burst.bytes)
            );
            lines.wrapped(&text, BOLD);
        }
        for stream in status.busiest.iter().filter(|it| is_known(it)).take(MAX_THREADS) {
            thread(stream, lines);
        }
        processes(&status.busiest_processes, lines);
    }

    /// Bytes a second over time: the tallest bar is the most that was seen.
    fn bandwidth(&self, lines: &mut Lines) {
        if lines.width < WIDE {
            return;
        }
        for (side, name, colour) in [(0, "read/s", Color::Blue), (1, "wrote/s", Color::Magenta)] {
            let most = self.history.iter().map(|rates| rates[side]).fold(0.0, f64::max);
            if most < 1.0 {
                continue;
            }
            let (name, most_text) = (format!("{name:<8} "), format!(" {}", bytes(whole(most))));
            let room = lines.width.saturating_sub(name.len() + most_text.len());
            let first = self.history.len().saturating_sub(room);
            let bar = |rates: &[f64; 2]| {
                let eighths = whole(rates[side] / most * 7.0).min(7) as usize;
                if rates[side] < 1.0 { ' ' } else { BARS[eighths] }
            };
            let bars: String = self.history.iter().skip(first).map(bar).collect();
            let bars = format!("{bars:>room$}");
            lines.row([(name, DIM), (bars, Style::new().fg(colour)), (most_text, DIM)]);
        }
    }
}

/// Whether there is something to report about a thread: many only wait for others.
fn is_known(stream: &ThreadStatus) -> bool {
    let is_of_a_file = |next: &NextStatus| next.file != UNKNOWN_FILE;
    stream.inside_s.is_some() || !stream.loops.is_empty() || stream.next.iter().any(is_of_a_file)
}

fn thread(stream: &ThreadStatus, lines: &mut Lines) {
    lines.heading(&format!("thread {}.{}", stream.process, stream.thread));
    if let Some(inside_s) = stream.inside_s {
        lines.text(&format!("  inside a call for {}", seconds(Some(inside_s))));
    }
    for it in &stream.loops {
        let text = format!("  loop of {}: {}", counted(it.operations, "operation"), it.in_words());
        let Some(turns) = it.turns.filter(|_| lines.width >= WIDE) else {
            lines.text(&text);
            continue;
        };
        let part = it.turn as f64 / turns.max(1) as f64;
        let n_done = (whole(part * BAR as f64) as usize).min(BAR);
        let (done, left) = ("█".repeat(n_done), "░".repeat(BAR - n_done));
        let room = lines.width - BAR - 1;
        let text = format!("{text:<room$.room$} ");
        lines.row([(text, Style::new()), (done, Style::new().fg(Color::Green)), (left, DIM)]);
    }
    for next in &stream.next {
        lines.operation(next);
    }
}

fn processes(processes: &[ProcessStatus], lines: &mut Lines) {
    if processes.is_empty() {
        return;
    }
    lines.heading("process       calls/s     read/s    wrote/s  name");
    for process in processes {
        let number = match process.rank {
            Some(rank) => format!("rank {rank}"),
            None => process.pid.to_string(),
        };
        let text = format!(
            "{number:<9} {:>11} {:>10} {:>10}  {}",
            grouped(whole(process.events_per_s)),
            bytes(whole(process.read_bytes_per_s)),
            bytes(whole(process.written_bytes_per_s)),
            process.name,
        );
        let is_quiet = process.events_per_s < 0.5;
        lines.row([(text, if is_quiet { DIM } else { Style::new() })]);
    }
}

/// Several jobs, of which one can be chosen.
pub struct Choice<'a> {
    pub jobs: &'a [(u32, &'a Option<JobStatus>)],
    pub selected: usize,
}

impl Choice<'_> {
    /// The lines of a screen.
    pub fn lines(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let mut lines = Lines::new(width);
        lines.heading("running jobs: up, down, Enter; q leaves");
        let n_rows = height.saturating_sub(1).max(1);
        let first = self.selected.saturating_sub(n_rows - 1);
        for (place, (reader, status)) in self.jobs.iter().enumerate().skip(first) {
            let (mark, style) =
                if place == self.selected { ('>', BOLD) } else { (' ', Style::new()) };
            let about = match status {
                Some(status) => format!(
                    "{}, {}, {} calls/s",
                    status.application,
                    clock(status.elapsed_s),
                    grouped(whole(status.events_per_s))
                ),
                None => "no answer yet".to_owned(),
            };
            lines.row([(format!("{mark} {reader}: {about}"), style)]);
        }
        lines.lines.truncate(height);
        lines.lines
    }
}

const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
const DIM: Style = Style::new().add_modifier(Modifier::DIM);

/// Lines of at most a width.
struct Lines {
    width: usize,
    lines: Vec<Line<'static>>,
}

impl Lines {
    fn new(width: usize) -> Lines {
        Lines { width: width.max(1), lines: Vec::new() }
    }

    /// A sentence, on as many lines as it needs.
    fn text(&mut self, text: &str) {
        self.wrapped(text, Style::new());
    }

    fn wrapped(&mut self, text: &str, style: Style) {
        self.lines.extend(wrap(text, self.width).into_iter().map(|line| Line::styled(line, style)));
    }

    fn heading(&mut self, text: &str) {
        self.row([(text.to_owned(), BOLD.add_modifier(Modifier::UNDERLINED))]);
    }

    /// A row of parts, of which the end is left off where it is too long.
    fn row(&mut self, parts: impl IntoIterator<Item = (String, Style)>) {
        let mut left = self.width;
        let mut spans = Vec::new();
        for (text, style) in parts {
            let text: String = text.chars().take(left).collect();
            left -= text.chars().count();
            spans.push(Span::styled(text, style));
        }
        self.lines.push(Line::from(spans));
    }

    /// An operation that is expected; its file has what is left of the line.
    fn operation(&mut self, next: &NextStatus) {
        let at = next.offset.map_or_else(String::new, |it| format!(" at {}", grouped(it)));
        let probability = format!("{} %", whole(next.probability * 100.0).min(100));
        let when = soon(next.in_s);
        // Without an offset and bytes it is an open or a close, which has no size.
        let size = match next.size > 0 || next.offset.is_some() {
            true => format!(" {}", bytes(next.size)),
            false => String::new(),
        };
        let before = match self.width < WIDE {
            true => format!("  {when}: {}{size}{at}, {probability} ", next.function),
            false => format!("  {when:<12} {:<10}{size:>10} {probability:>6}  ", next.function),
        };
        let after = if self.width < WIDE { String::new() } else { at };
        let left = self.width.saturating_sub(before.chars().count() + after.chars().count());
        let file = shorten_start(&next.file, left.max(1));
        self.row([(before, Style::new()), (file, Style::new().fg(Color::Cyan)), (after, DIM)]);
    }
}

/// The last lines of a file that grows.
pub fn end_of_file(file: &File) -> Vec<String> {
    let mut end = vec![0; OUTPUT_BYTES];
    // Not through its position, which is shared with the writer.
    let read = file
        .metadata()
        .and_then(|about| file.read_at(&mut end, about.len().saturating_sub(OUTPUT_BYTES as u64)));
    let text = String::from_utf8_lossy(&end[..read.unwrap_or(0)]);
    // What a progress bar has overwritten is not shown.
    let last = |line: &str| line.trim_end_matches('\r').rsplit('\r').next().map(str::to_owned);
    text.lines().filter_map(last).map(|line| without_control_characters(&line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shared::status::{BurstStatus, LoopStatus, StatusScore};

    fn busy(n_processes: u32) -> JobStatus {
        let next = NextStatus {
            function: "pwrite".to_owned(),
            file: "/scratch/run/results/step_000123.dat".to_owned(),
            offset: Some(4096),
            size: 1_000_000,
            in_s: 0.25,
            probability: 0.97,
        };
        let stream = ThreadStatus {
            process: 0,
            inside_s: Some(0.5),
            loops: vec![
                LoopStatus { turn: 3, turns: Some(30), operations: 12 },
                LoopStatus { turn: 2, turns: Some(4), operations: 3 },
            ],
            next: vec![next; 3],
            next_burst: Some(BurstStatus { in_s: 2.0, operations: 12, bytes: 12_000_000 }),
            ..ThreadStatus::default()
        };
        let process = |n| ProcessStatus {
            process: n,
            pid: 1000 + n,
            name: "simulation".to_owned(),
            events_per_s: 1234.5,
            ..ProcessStatus::default()
        };
        JobStatus {
            application: "simulation".to_owned(),
            elapsed_s: 3723.0,
            processes: n_processes.into(),
            events: 123_456,
            bytes_written: 5_000_000_000,
            score: Some(StatusScore { operations: 100, context_accuracy: 98.5, hit_ratio: 97.0 }),
            busiest_processes: (0..n_processes).map(process).collect(),
            busiest: vec![stream],
            ..JobStatus::default()
        }
    }

    fn view(status: JobStatus) -> LiveView {
        let mut view = LiveView::default();
        view.update(status);
        view
    }

    fn shown(view: &LiveView, width: usize, height: usize) -> Vec<String> {
        let lines = view.lines(width, height);
        lines.into_iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn a_screen_says_what_the_job_does_and_what_comes_next() {
        let view = view(busy(2));
        let text = shown(&view, 90, 24).join("\n");
        for part in [
            "simulation – 1:02:03, 2 processes",
            "123,456 calls",
            "wrote 5.0 GB",
            "98.5 % of 100 operations",
            "next burst in 2.00 s: 12 operations, 12.0 MB",
            "inside a call for 500.0 ms",
            "loop of 12 operations: turn 3 of 30",
            "in 250.0 ms  pwrite        1.0 MB   97 %  /scratch/run/results/step_000123.dat at 4,096",
            "1001",
        ] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
    }

    #[test]
    fn an_open_has_no_size_and_an_empty_read_has() {
        let mut status = busy(1);
        let next = &status.busiest[0].next[0];
        let open =
            NextStatus { function: "open".to_owned(), offset: None, size: 0, ..next.clone() };
        let read =
            NextStatus { function: "read".to_owned(), offset: Some(0), size: 0, ..next.clone() };
        status.busiest[0].next = vec![open, read];
        let view = view(status);
        let wide = shown(&view, 90, 24).join("\n");
        assert!(wide.contains("open                   97 %  /scratch"), "{wide}");
        assert!(wide.contains("read             0 B   97 %  /scratch"), "{wide}");
        let narrow = shown(&view, 50, 24).join("\n");
        assert!(narrow.contains("in 250.0 ms: open, 97 %"), "{narrow}");
    }

    #[test]
    fn every_line_fits_however_small_the_terminal_is() {
        let output = Some(vec!["x".repeat(300); 50]);
        let view = LiveView { output, ..view(busy(64)) };
        for (width, height) in [(20, 24), (20, 3), (1, 1), (80, 24), (300, 100), (7, 0)] {
            let lines = shown(&view, width, height);
            assert!(lines.len() <= height, "{} lines of {height}", lines.len());
            // Words are not broken, and the terminal cuts those that are too long.
            let fits = |line: &String| line.chars().count() <= width || !line.contains(' ');
            assert!(lines.iter().all(fits), "{width}: {lines:#?}");
        }
        assert_eq!(shown(&view, 80, 200).iter().filter(|it| it.contains("1,234")).count(), 64);
    }

    #[test]
    fn numbers_that_lie_are_shown_without_a_panic() {
        let mut status = busy(1);
        (status.elapsed_s, status.events_per_s) = (-1.0, f64::MAX);
        status.busiest[0].next[0].probability = -5.0;
        status.busiest[0].next[0].in_s = f64::INFINITY;
        status.busiest[0].loops[0].turn = u64::MAX;
        let view = view(status);
        assert!(!shown(&view, 80, 24).is_empty());
    }

    #[test]
    fn bandwidth_is_drawn_over_time_and_loops_as_bars() {
        let mut view = LiveView::default();
        for n in 0..1000_u32 {
            let written_bytes_per_s = f64::from(n % 8) * 1e6;
            view.update(JobStatus { written_bytes_per_s, ..busy(1) });
        }
        let lines = shown(&view, 80, 24);
        let wrote = lines.iter().find(|line| line.starts_with("wrote/s")).expect("a line");
        assert!(wrote.contains(" ▂▃▄▅▆▇█ ▂▃▄▅▆▇█") && wrote.ends_with(" 7.0 MB"), "{wrote}");
        assert!(!lines.iter().any(|line| line.starts_with("read/s")), "nothing was read");
        let turns = lines.iter().find(|line| line.contains("turn 2 of 4")).expect("a line");
        assert!(turns.ends_with(&format!(" {}{}", "█".repeat(10), "░".repeat(10))), "{turns}");
    }

    #[test]
    fn a_loop_that_has_never_ended_has_no_bar() {
        let mut status = busy(1);
        status.busiest[0].loops[0].turns = None;
        let lines = shown(&view(status), 80, 24);
        assert!(lines.iter().any(|line| line == "  loop of 12 operations: turn 3"), "{lines:?}");
    }

    #[test]
    fn without_colour_there_is_none() {
        let view = LiveView { without_colour: true, ..view(busy(1)) };
        let lines = view.lines(80, 24);
        let mut spans = lines.iter().flat_map(|line| &line.spans);
        assert!(spans.all(|span| span.style.fg.is_none()));
        assert!(lines.iter().all(|line| line.style.fg.is_none()));
    }

    #[test]
    fn the_chosen_job_is_on_the_screen() {
        let status = Some(busy(1));
        let jobs: Vec<_> = (100..200).map(|reader| (reader, &status)).collect();
        let lines = Choice { jobs: &jobs, selected: 70 }.lines(40, 10);
        assert!(lines.iter().any(|line| line.to_string().starts_with("> 170: simulation")));
        assert_eq!(lines.len(), 10);
    }
}
