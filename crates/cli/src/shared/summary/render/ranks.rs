// SPDX-License-Identifier: MIT OR Apache-2.0

//! Ranks that behave alike, in words.

use ioracle_insight::{Between, RankGroup, RankGroups};

use crate::shared::numbers::{bytes, counted, grouped, noun_for, seconds};

/// Ranges of neighbouring ranks that are listed for a group.
const RUNS: usize = 4;

/// The largest groups, at most this many, each with what one of its ranks does.
pub fn ranks_in_words(ranks: &RankGroups, at_most: usize) -> String {
    let mut listed = ranks.groups[..ranks.groups.len().min(at_most)].to_vec();
    listed.sort_by_key(|group| group.ranks.first().copied());
    let mut parts: Vec<String> = listed.iter().map(group).collect();
    let n_listed: usize = listed.iter().map(|group| group.n_ranks).sum();
    if ranks.ranks > n_listed {
        let others = counted((ranks.ranks - n_listed) as u64, "more rank");
        parts.push(match ranks.kinds - listed.len() {
            1 => others,
            kinds => format!("{others} in {}", counted(kinds as u64, "group")),
        });
    }
    parts.join("; ")
}

fn group(group: &RankGroup) -> String {
    let (ranks, alike, each) = match group.n_ranks {
        1 => ("rank", "", ""),
        _ => ("ranks", " alike", " each"),
    };
    let mut done =
        vec![between(group.operations, grouped, &noun_for(group.operations.most, "operation"))];
    for (moved, word) in [(group.bytes_read, "read"), (group.bytes_written, "written")] {
        if moved.most > 0 {
            done.push(between(moved, bytes, word));
        }
    }
    done.push(between(group.io_time_s, |time| seconds(Some(time)), "in I/O"));
    format!("{ranks} {}{alike}: {}{each}", numbers(group), done.join(", "))
}

/// `0, 4–7, … (500 ranks)`.
fn numbers(group: &RankGroup) -> String {
    let run = |&(first, last): &(u32, u32)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}–{last}"),
    };
    let listed: Vec<String> = group.ranks.iter().take(RUNS).map(run).collect();
    let listed = listed.join(", ");
    if group.ranks.len() > RUNS {
        return format!("{listed}, … ({} ranks)", grouped(group.n_ranks as u64));
    }
    listed
}

fn between<T: Copy>(of: Between<T>, show: impl Fn(T) -> String, word: &str) -> String {
    let (least, most) = (show(of.least), show(of.most));
    if least == most { format!("{most} {word}") } else { format!("{least} to {most} {word}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ranks: &[(u32, u32)], bytes_written: u64) -> RankGroup {
        let n_ranks = ranks.iter().map(|(first, last)| (last - first + 1) as usize).sum();
        let only = |value| Between { least: value, most: value };
        RankGroup {
            ranks: ranks.to_vec(),
            n_ranks,
            operations: only(1003),
            bytes_read: only(0),
            bytes_written: Between { least: 1_000_000, most: bytes_written },
            io_time_s: Between { least: 0.4, most: 0.4 },
        }
    }

    fn check(ranks: usize, kinds: usize, groups: Vec<RankGroup>, expected: &str) {
        assert_eq!(ranks_in_words(&RankGroups { ranks, kinds, groups }, 3), expected);
    }

    #[test]
    fn ranks_are_reported_by_runs_and_kinds() {
        check(
            4,
            2,
            vec![of(&[(1, 3)], 34_000_000), of(&[(0, 0)], 1_000_000)],
            "rank 0: 1,003 operations, 1.0 MB written, 400.0 ms in I/O; ranks 1–3 alike: 1,003 \
             operations, 1.0 MB to 34.0 MB written, 400.0 ms in I/O each",
        );
    }

    #[test]
    fn one_rank_that_is_left_out_is_one_other() {
        let groups = (0..4).map(|n| of(&[(n, n)], 1_000_000)).collect();
        let listed = ranks_in_words(&RankGroups { ranks: 4, kinds: 4, groups }, 3);
        assert!(listed.ends_with("; 1 more rank"), "{listed}");
    }

    #[test]
    fn a_thousand_ranks_take_no_more_room_than_some() {
        let even: Vec<(u32, u32)> = (0..250).map(|n| (2 * n, 2 * n)).collect();
        let groups = vec![of(&even, 1_000_000), of(&[(1, 1), (501, 502)], 1_000_000)];
        let mut groups = [groups, (600..700).map(|n| of(&[(n, n)], 1_000_000)).collect()].concat();
        groups.truncate(100);
        let listed = ranks_in_words(&RankGroups { ranks: 1000, kinds: 700, groups }, 3);
        assert!(listed.starts_with("ranks 0, 2, 4, 6, … (250 ranks) alike: 1,003"), "{listed}");
        assert!(listed.contains("; ranks 1, 501, 502 alike: "), "{listed}");
        assert!(listed.ends_with("; 746 more ranks in 697 groups"), "{listed}");
        assert!(listed.chars().count() < 340, "{listed}");
    }
}
