// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far a benchmark is, and how long it will take, on a terminal.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ioracle_bench::SessionProgress;

/// A bar on standard error, if that is a terminal.
pub struct BenchProgress {
    bar: Option<ProgressBar>,
}

impl BenchProgress {
    /// A bar that does not show yet.
    pub fn new() -> BenchProgress {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            match ProgressStyle::with_template("{wide_bar} {pos} of {len}, {prefix} left: {msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        BenchProgress { bar }
    }

    /// Shows what is being measured.
    pub fn show(&self, now: &SessionProgress) {
        let Some(bar) = &self.bar else { return };
        bar.set_length(now.n_works as u64);
        bar.set_position(now.n_done as u64);
        bar.set_prefix(rounded(now.left));
        bar.set_message(now.label.clone());
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Whole seconds, and minutes above.
fn rounded(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 100 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_is_short() {
        assert_eq!(rounded(Duration::from_millis(2900)), "2 s");
        assert_eq!(rounded(Duration::from_secs(230)), "4 min");
    }
}
