// SPDX-License-Identifier: MIT OR Apache-2.0

//! A progress bar on standard error, for commands that take longer than a
//! second on a terminal.

use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

const PATIENCE: Duration = Duration::from_secs(1);

/// A bar that several threads may move; invisible at first, and always where standard
/// error is not a terminal.
pub struct Progress {
    start: Instant,
    visible: bool,
    state: Mutex<State>,
}

struct State {
    done: u64,
    of: u64,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar at the beginning of work whose amount is not known yet.
    pub fn new() -> Progress {
        let state = State { done: 0, of: 0, bar: None };
        let visible = std::io::stderr().is_terminal();
        Progress { start: Instant::now(), visible, state: Mutex::new(state) }
    }

    /// Adds work that has become known.
    pub fn expect(&self, amount: u64) {
        self.change(|state| state.of += amount);
    }

    /// Advances the bar.
    pub fn advance(&self, amount: u64) {
        self.change(|state| state.done += amount);
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.change(|state| {
            if let Some(bar) = state.bar.take() {
                bar.finish_and_clear();
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        // After a panic of another thread, the numbers are still good enough.
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        change(&mut state);
        if self.visible && state.done < state.of && self.start.elapsed() > PATIENCE {
            let (done, of) = (state.done, state.of);
            let bar = state.bar.get_or_insert_with(new_bar);
            bar.set_length(of);
            bar.set_position(done);
        }
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let template = "{wide_bar} {human_pos} of {human_len} operations, {eta} left";
    match ProgressStyle::with_template(template) {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}
