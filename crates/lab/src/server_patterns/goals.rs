// SPDX-License-Identifier: MIT OR Apache-2.0

//! What patterns are to reach, beside what they reach: the first table of the document.

use ioracle_pattern::evaluation::Algorithm;

use super::sweep::Accuracy;
use crate::document::markdown::number;

/// What was measured by other commands, as these have printed it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MeasuredElsewhere<'a> {
    /// By `cargo bench -p ioracle-pattern`.
    pub cost: Option<&'a str>,
    /// By `scripts/pattern-watch`.
    pub watch: Option<&'a str>,
}

/// Rows of the table.
#[derive(Clone, Debug, Default)]
pub(super) struct Goals(Vec<[String; 4]>);

impl Goals {
    pub(super) fn add(&mut self, what: &str, goal: &str, reached: String, is_met: bool) {
        let verdict = if is_met { "met" } else { "missed" };
        self.0.push([what, goal, &reached, verdict].map(str::to_owned));
    }

    /// Whether `ours`, the last of all algorithms, is better than all others, and than
    /// what is wanted at least.
    pub(super) fn add_accuracy(&mut self, what: &str, all: &[Accuracy], at_least: Option<f64>) {
        let Some((ours, others)) = all.split_last() else { return };
        let most = |value: fn(&Accuracy) -> f64| others.iter().map(value).fold(0.0, f64::max);
        let (precision, recall) = (most(|it| it.precision), most(|it| it.recall));
        let least = at_least.unwrap_or(0.0);
        // Nothing is above 100 %, where two without a mistake meet.
        let is_above = |ours: f64, most: f64| ours > most || ours >= 100.0;
        let is_met = is_above(ours.precision, precision.max(least))
            && is_above(ours.recall, recall.max(least));
        let wanted = at_least.map_or(String::new(), |least| format!(", {least:.0} / {least:.0}"));
        let rivals = Algorithm::ALL.iter().filter(|it| **it != Algorithm::Ours);
        let rivals: Vec<String> = rivals.map(|it| format!("`{}`", it.name())).collect();
        self.add(
            what,
            &format!("above {}: {precision:.1} / {recall:.1}{wanted}", rivals.join(", ")),
            format!("{:.1} / {:.1}", ours.precision, ours.recall),
            is_met,
        );
    }

    /// What other commands have measured.
    pub(super) fn add_measured(&mut self, measured: MeasuredElsewhere<'_>) {
        if let Some(cost) = measured.cost {
            self.add_cost(cost);
        }
        if let Some(watch) = measured.watch {
            self.add_watch(watch);
        }
    }

    fn add_cost(&mut self, cost: &str) {
        for (what, goal, before, after, most) in [
            ("comparing two series of 1,000 values", "60 us", "of 1000 values: ", " us", 60.0),
            ("of 100,000 values", "6,000 us", "of 100000 values: ", " us", 6000.0),
            ("`observe`, per request", "50 ns", "observe: ", " ns", 50.0),
            ("longest tick with 10,000 known patterns", "50 ms", "longest ", " ms", 50.0),
        ] {
            let found = between(cost, before, after).and_then(|text| text.parse::<f64>().ok());
            let unit = after.trim_start();
            let reached = format!("{} {unit}", number(found, 1));
            let is_met = found.is_some_and(|found| found <= most);
            self.add(what, &format!("at most {goal}"), reached, is_met);
        }
        let n_requests = between(cost, "soak of ", " requests").and_then(|text| text.parse().ok());
        let memory: Vec<f64> =
            [("memory: ", " bytes counted before"), ("counted before, ", " after; ")]
                .iter()
                .filter_map(|(before, after)| between(cost, before, after)?.parse().ok())
                .collect();
        if let (Some(n_requests), [before, after]) = (n_requests, &memory[..]) {
            let n_requests: f64 = n_requests;
            self.add(
                "soak",
                "10^9 requests, flat memory",
                format!("{n_requests:e} requests, {before} bytes before, {after} after"),
                n_requests >= 1e9 && after <= &(before * 1.01),
            );
        }
    }

    /// Rows `setting,one load,other load`, of which the first two are fixed settings,
    /// the next is switched by hand, and the last two are tuned.
    fn add_watch(&mut self, watch: &str) {
        let rows = watch.lines().filter_map(|line| {
            let (rest, second) = line.rsplit_once(',')?;
            let (_, first) = rest.rsplit_once(',')?;
            Some([first.parse::<f64>().ok()?, second.parse::<f64>().ok()?])
        });
        let rows: Vec<[f64; 2]> = rows.collect();
        let [small, large, by_hand, begun, learned] = rows[..] else { return };
        let mut gains = Vec::new();
        let mut is_above_worst = true;
        for load in 0..2 {
            let worst = small[load].min(large[load]);
            for tuned in [begun, learned] {
                gains.push(100.0 * (tuned[load] - worst) / (by_hand[load] - worst));
                is_above_worst &= tuned[load] >= 0.97 * worst;
            }
        }
        self.add(
            "`watch --tune`, of the gain of switching by hand",
            "90 % (second half)",
            format!(
                "sequential {:.0} %, random {:.0} % (first half {:.0} and {:.0} %)",
                gains[1], gains[3], gains[0], gains[2]
            ),
            gains[1].min(gains[3]) >= 90.0,
        );
        self.add(
            "`watch --tune`, below the worse fixed setting",
            "at most 3 %",
            if is_above_worst { "never" } else { "more" }.to_owned(),
            is_above_worst,
        );
    }

    /// The table, with a heading.
    pub(super) fn text(&self) -> String {
        let mut text =
            "## Goals\n\n| what | goal | reached | |\n| --- | --- | --- | --- |\n".to_owned();
        for row in &self.0 {
            text.push_str(&format!("| {} |\n", row.join(" | ")));
        }
        text.push_str(
            "\nPrecision and recall are in percent. Times are those of `cargo bench -p ioracle-pattern` \
             on the machine that wrote this page, however busy it was; they are meaningful only on an \
             idle one.\n\n",
        );
        text
    }
}

/// What stands between two texts; none if one is missing.
fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    let rest = text.split_once(before)?.1;
    rest.split_once(after).map(|(found, _)| found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_other_commands_print_is_judged() {
        let mut goals = Goals::default();
        let cost = "comparing two series of 1000 values: 55.1 us (median of 200)\n\
                    comparing two series of 100000 values: 7001.0 us (median of 20)\n\
                    observe: 40.0 ns per request\n\
                    soak of 1000000000 requests in 60 s: 10000 known patterns before, 10001 after\n\
                    tick: median 1.00 ms, longest 12.50 ms of 20\n\
                    memory: 1000 bytes counted before, 1001 after; 5 KiB resident before, 6 after\n";
        let watch = "server: x; 2 rounds\nsetting,stream MB/s,random MB/s\nread-ahead 4,100,50\n\
                     read-ahead 1024,500,10\nby hand,500,50\ntuned, first half,300,20\n\
                     tuned, second half,480,47\n";
        goals.add_measured(MeasuredElsewhere { cost: Some(cost), watch: Some(watch) });
        let text = goals.text();
        for row in [
            "| comparing two series of 1,000 values | at most 60 us | 55.1 us | met |",
            "| of 100,000 values | at most 6,000 us | 7001.0 us | missed |",
            "| longest tick with 10,000 known patterns | at most 50 ms | 12.5 ms | met |",
            "| soak | 10^9 requests, flat memory | 1e9 requests, 1000 bytes before, 1001 after | met |",
            "| sequential 95 %, random 92 % (first half 50 and 25 %) | met |",
            "| at most 3 % | never | met |",
        ] {
            assert!(text.contains(row), "{row} is not in\n{text}");
        }
    }

    #[test]
    fn one_rival_that_is_better_in_one_way_is_a_goal_missed() {
        let accuracy = |precision, recall| Accuracy { precision, recall };
        let mut goals = Goals::default();
        goals.add_accuracy("x", &[accuracy(50.0, 99.0), accuracy(95.0, 98.0)], None);
        goals.add_accuracy("y", &[accuracy(50.0, 60.0), accuracy(95.0, 84.0)], Some(85.0));
        goals.add_accuracy("z", &[accuracy(50.0, 60.0), accuracy(95.0, 98.0)], Some(85.0));
        goals.add_accuracy("all right", &[accuracy(100.0, 60.0), accuracy(100.0, 98.0)], None);
        let verdicts: Vec<&str> = goals.0.iter().map(|row| row[3].as_str()).collect();
        assert_eq!(verdicts, ["missed", "missed", "met", "met"]);
    }
}
