// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the live view shows: lines made for a width and a height, the most important
//! first, so that a small terminal shows those.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use ratatui::style::{Modifier, Style};
use ratatui::text::Line;

use crate::shared::numbers::{bytes, counted, grouped, seconds};
use crate::shared::status::{
    JobStatus, NextStatus, ProcessStatus, StreamStatus, without_control_characters,
};
use crate::shared::text::{shorten_start, wrap};

/// Threads whose loops and next operations are shown.
const MAX_THREADS: usize = 4;
/// How much of the program's output is looked at for its last lines.
const OUTPUT_BYTES: u64 = 16 * 1024;

/// What is known of the job that is shown.
#[derive(Default)]
pub struct LiveView {
    pub status: Option<JobStatus>,
    /// Why there is nothing new.
    pub trouble: Option<&'static str>,
    /// The last lines of the program's output, where it goes to a file.
    pub output: Option<Vec<String>>,
}

impl LiveView {
    /// The lines of a screen.
    pub fn lines(&self, width: usize, height: usize) -> Vec<Line<'static>> {
        let mut lines = Lines::new(width);
        if let Some(trouble) = self.trouble {
            lines.bold(trouble);
        }
        match &self.status {
            Some(status) => job(status, &mut lines),
            None => lines.bold("waiting for the job to say how it is doing"),
        }
        let mut shown = lines.lines;
        let Some(output) = &self.output else {
            shown.truncate(height);
            return shown;
        };
        // The pane has a third of the screen, and what is left over.
        let n_pane = (height / 3).max(height.saturating_sub(shown.len())).min(height);
        shown.truncate(height - n_pane);
        let mut pane = Lines::new(width);
        pane.heading("output of the program");
        let n_lines = n_pane.saturating_sub(1);
        for line in &output[output.len().saturating_sub(n_lines)..] {
            pane.cut(line);
        }
        shown.extend(pane.lines.into_iter().take(n_pane));
        shown
    }
}

fn job(status: &JobStatus, lines: &mut Lines) {
    lines.bold(&format!(
        "{} – {}, {}, {}",
        status.application,
        clock(status.elapsed_s),
        counted(status.processes, "process"),
        counted(status.streams, "thread"),
    ));
    lines.text(&format!(
        "{} ({}/s), read {} ({}/s), wrote {} ({}/s)",
        counted(status.events, "call"),
        grouped(whole(status.events_per_s)),
        bytes(status.bytes_read),
        bytes(whole(status.read_bytes_per_s)),
        bytes(status.bytes_written),
        bytes(whole(status.written_bytes_per_s)),
    ));
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
        lines.text(&format!(
            "next burst {}: {}, {}",
            soon(burst.in_s),
            counted(burst.operations, "operation"),
            bytes(burst.bytes)
        ));
    }
    for stream in status.busiest.iter().take(MAX_THREADS) {
        thread(stream, lines);
    }
    processes(&status.busiest_processes, lines);
}

fn thread(stream: &StreamStatus, lines: &mut Lines) {
    lines.heading(&format!("thread {}.{}", stream.process, stream.thread));
    if let Some(inside_s) = stream.inside_s {
        lines.text(&format!("  inside a call for {}", seconds(Some(inside_s))));
    }
    for it in &stream.loops {
        lines.text(&format!(
            "  loop of {}: turn {} of {}",
            counted(it.operations, "operation"),
            grouped(it.turn),
            grouped(it.turns)
        ));
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
        lines.cut(&format!(
            "{number:<9} {:>11} {:>10} {:>10}  {}",
            grouped(whole(process.events_per_s)),
            bytes(whole(process.read_bytes_per_s)),
            bytes(whole(process.written_bytes_per_s)),
            process.name,
        ));
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
            let mark = if place == self.selected { '>' } else { ' ' };
            let about = match status {
                Some(status) => format!(
                    "{}, {}, {} calls/s",
                    status.application,
                    clock(status.elapsed_s),
                    grouped(whole(status.events_per_s))
                ),
                None => "no answer yet".to_owned(),
            };
            lines.cut(&format!("{mark} {reader}: {about}"));
        }
        lines.lines.truncate(height);
        lines.lines
    }
}

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
        self.styled(text, Style::default());
    }

    fn bold(&mut self, text: &str) {
        self.styled(text, Style::default().add_modifier(Modifier::BOLD));
    }

    fn styled(&mut self, text: &str, style: Style) {
        self.lines.extend(wrap(text, self.width).into_iter().map(|line| Line::styled(line, style)));
    }

    fn heading(&mut self, text: &str) {
        let text: String = text.chars().take(self.width).collect();
        let style = Style::default().add_modifier(Modifier::UNDERLINED);
        self.lines.push(Line::styled(text, style));
    }

    /// A row, of which the end is left off where it is too long.
    fn cut(&mut self, text: &str) {
        self.lines.push(Line::from(text.chars().take(self.width).collect::<String>()));
    }

    /// An operation that is expected; its file has what is left of the line.
    fn operation(&mut self, next: &NextStatus) {
        let offset = next.offset.map_or_else(String::new, |it| format!(" at {}", grouped(it)));
        let probability = whole(next.probability * 100.0).min(100);
        let before = format!(
            "  {}: {} {}{offset}, {probability} % ",
            soon(next.in_s),
            next.function,
            bytes(next.size)
        );
        let left = self.width.saturating_sub(before.chars().count());
        self.cut(&format!("{before}{}", shorten_start(&next.file, left.max(1))));
    }
}

fn soon(in_s: f64) -> String {
    if in_s > 0.0 { format!("in {}", seconds(Some(in_s))) } else { "now".to_owned() }
}

/// A time such as `1:02:03`.
fn clock(elapsed_s: f64) -> String {
    let s = whole(elapsed_s);
    match s / 3600 {
        0 => format!("{}:{:02}", s / 60, s % 60),
        hours => format!("{hours}:{:02}:{:02}", s / 60 % 60, s % 60),
    }
}

/// A number without its fraction, whatever a file says.
fn whole(value: f64) -> u64 {
    value.clamp(0.0, 1e18) as u64
}

/// The last lines of a file that grows.
pub fn end_of_file(path: &Path) -> Vec<String> {
    let mut end = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(OUTPUT_BYTES)))?;
        file.take(OUTPUT_BYTES).read_to_end(&mut end)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&end);
    // What a progress bar has written over is not shown.
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
        let stream = StreamStatus {
            process: 0,
            inside_s: Some(0.5),
            loops: vec![
                LoopStatus { turn: 3, turns: 30, operations: 12 },
                LoopStatus { turn: 2, turns: 4, operations: 3 },
            ],
            next: vec![next; 3],
            next_burst: Some(BurstStatus { in_s: 2.0, operations: 12, bytes: 12_000_000 }),
            ..StreamStatus::default()
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

    fn shown(view: &LiveView, width: usize, height: usize) -> Vec<String> {
        let lines = view.lines(width, height);
        lines.into_iter().map(|line| line.to_string()).collect()
    }

    #[test]
    fn a_screen_says_what_the_job_does_and_what_comes_next() {
        let view = LiveView { status: Some(busy(2)), ..LiveView::default() };
        let text = shown(&view, 80, 24).join("\n");
        for part in [
            "simulation – 1:02:03, 2 processes",
            "123,456 calls",
            "wrote 5.0 GB",
            "98.5 % of 100 operations",
            "next burst in 2.00 s: 12 operations, 12.0 MB",
            "inside a call for 500.0 ms",
            "loop of 12 operations: turn 3 of 30",
            "in 250.0 ms: pwrite 1.0 MB at 4,096, 97 % ",
            "step_000123.dat",
            "1001",
        ] {
            assert!(text.contains(part), "no '{part}' in\n{text}");
        }
    }

    #[test]
    fn every_line_fits_however_small_the_terminal_is() {
        let output = Some(vec!["x".repeat(300); 50]);
        let view = LiveView { status: Some(busy(64)), output, ..LiveView::default() };
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
        let view = LiveView { status: Some(status), ..LiveView::default() };
        assert!(!shown(&view, 80, 24).is_empty());
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
