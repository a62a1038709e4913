// SPDX-License-Identifier: MIT OR Apache-2.0

//! All rules with their thresholds, in one table: `docs/advice.md` is generated from
//! it.
//!
//! Whether a rule holds is decided by counts and bytes, which are the same in every run
//! of a program. Whether it matters is a question of time; the nominal cost of calls
//! ([`nominal`]) counts as much as what they took, so that a noisy machine does not
//! decide.

use crate::numbers::{bytes, grouped};
use crate::tally::{LOCKED_BYTES, SMALL};

/// Fewer calls than this are not a pattern.
pub const MANY: u64 = 100;
/// Calls per file from which on a larger buffer would make fewer of them.
pub const SEVERAL_IN_FILE: u64 = 4;
/// Share of all accesses that must be small, jump or be misaligned, in percent.
pub const MOST: u64 = 50;
/// Reads of more bytes may jump; writes from [`SMALL`] on, as the system puts them in
/// order.
pub const JUMP_BYTES: u64 = 1 << 20;
/// Fewer syncs than this are just for safety.
pub const SEVERAL_SYNCS: u64 = 16;
/// From this many opens on, a file could have stayed open.
pub const REOPENS: u64 = 10;
/// Bytes below which reading again is cheap, and how often they are read.
pub const AGAIN_BYTES: u64 = 1 << 20;
pub const AGAIN_TIMES: u64 = 2;
/// Share of the nominal cost of all I/O that opening and closing must have, in percent.
pub const METADATA_SHARE: u64 = 30;
/// From this many metadata calls on, they are a storm: interpreters make some thousands
/// to find their modules.
pub const METADATA_CALLS: u64 = 10_000;
/// From this many bytes through stdio on, its buffer is too small; and their share of
/// all bytes, in percent.
pub const STDIO_BYTES: u64 = 100_000_000;
pub const STDIO_SHARE: u64 = 10;
/// Calls of stdio larger than this bypass its buffer.
pub const STDIO_PIECE: u64 = 64 * 1024;
/// Share of all bytes that one rank writes for all, in percent.
pub const ONE_RANK: u64 = 90;
/// How many times the mean the busiest rank moves.
pub const UNEVEN: u64 = 2;
/// Bytes of all ranks below which it does not matter who moves them.
pub const RANK_BYTES: u64 = 1 << 20;
/// Pieces smaller than this are worth merging across ranks.
pub const PIECE: u64 = 64 * 1024;
/// Bytes below which a call of a library is mostly its own cost.
pub const TINY: u64 = 4096;
/// From this many calls per variable on, they could be merged.
pub const SEVERAL: u64 = 10;
/// Chunks that contain this many times the requested data do not fit the accesses.
pub const EXCESS: f64 = 4.0;
/// From this many open files on, a process may run into the limit, which is often
/// 1,024.
pub const OPEN_FILES: u64 = 512;
/// From this many on, opens and closes of a library are worth mentioning.
pub const LIBRARY_OPENS: u64 = 16;

/// Share of the run that its I/O must have, in percent, for advice and for high
/// severity. All findings of a run share this threshold, because the length of a run
/// varies.
pub const MATTERS: f64 = 1.0;
/// Below this share of the run, in percent, a finding is never of high severity. Far
/// below [`MATTERS`], because times differ from run to run and severity should not.
pub const NEGLIGIBLE: f64 = 0.1;
pub const HIGH: f64 = 10.0;
/// Share of the I/O with data files that a finding must have, in percent, at nominal
/// cost: a quotient of counts, the same in every run.
pub const MATTERS_OF_IO: f64 = 5.0;
pub const HIGH_OF_IO: f64 = 25.0;
/// Measured share of the run that it must have if its calls are much slower than
/// nominal, in percent.
pub const MATTERS_MEASURED: f64 = 10.0;
pub const HIGH_MEASURED: f64 = 25.0;

/// The nominal cost of calls: a local disk or a parallel file system that is not busy.
pub mod nominal {
    /// A read or write, besides its bytes.
    pub const CALL_NS: u64 = 5_000;
    /// Bytes per nanosecond.
    pub const BYTES_PER_NS: u64 = 2;
    /// An open, a close or a truncation.
    pub const METADATA_NS: u64 = 50_000;
    /// A sync.
    pub const SYNC_NS: u64 = 5_000_000;
    /// An open or close of a file by HDF5, netCDF or PnetCDF.
    pub const LIBRARY_OPEN_NS: u64 = 500_000;
}

/// A rule of advice, as the documentation has it.
pub struct AdviceRule {
    /// The kind of its findings.
    pub kind: &'static str,
    /// When it holds.
    pub when: fn() -> String,
    /// What to do.
    pub remedy: &'static str,
}

/// All rules of advice.
pub const RULES: &[AdviceRule] = &[
    AdviceRule {
        kind: "small_writes",
        when: || small("write"),
        remedy: "collect the data in a buffer, or enlarge that of the library",
    },
    AdviceRule {
        kind: "small_reads",
        when: || small("read"),
        remedy: "read larger pieces at once, or enlarge the buffer of the library",
    },
    AdviceRule {
        kind: "scattered_writes",
        when: || scattered("writes", SMALL),
        remedy: "write in order",
    },
    AdviceRule {
        kind: "scattered_reads",
        when: || scattered("reads", JUMP_BYTES),
        remedy: "read in order, or everything at once",
    },
    AdviceRule {
        kind: "stdio_bulk",
        when: || {
            format!(
                "at least {} of a group of files, and {STDIO_SHARE} % of all bytes, are read or \
                 written through stdio in calls smaller than {} on average",
                bytes(STDIO_BYTES),
                binary(STDIO_PIECE)
            )
        },
        remedy: "give the stream a larger buffer, or use `read` and `write`",
    },
    AdviceRule {
        kind: "syncs",
        when: || format!("a group of files is synced at least {SEVERAL_SYNCS} times"),
        remedy: "sync once, after the last write of a step",
    },
    AdviceRule {
        kind: "reopened",
        when: || {
            format!(
                "files of a group are opened at least {MANY} times, each {REOPENS} times on \
                 average"
            )
        },
        remedy: "keep them open between uses",
    },
    AdviceRule {
        kind: "read_again",
        when: || {
            format!(
                "at least {} are read, and {AGAIN_TIMES} times as much as lies between the first \
                 and the last byte read",
                binary(AGAIN_BYTES)
            )
        },
        remedy: "keep the data in memory",
    },
    AdviceRule {
        kind: "read_by_all",
        when: || {
            format!(
                "the same, where at least {AGAIN_TIMES} processes read the files and none reads \
                 its part again"
            )
        },
        remedy: "let one rank read and broadcast, or read collectively",
    },
    AdviceRule {
        kind: "many_files",
        when: || {
            format!(
                "at least {MANY} data files are opened, and opening and closing them is at least \
                 {METADATA_SHARE} % of the nominal cost of all I/O"
            )
        },
        remedy: "put the data into fewer, larger files",
    },
    AdviceRule {
        kind: "metadata_storm",
        when: || {
            format!(
                "the program makes at least {} calls that ask the file system for metadata \
                 (`stat`, `access`, `readlink`, `opendir` and others)",
                grouped(METADATA_CALLS)
            )
        },
        remedy: "ask once and keep the answer; open files instead of testing for them first",
    },
    AdviceRule {
        kind: "library_opens",
        when: || {
            format!(
                "files of a group are opened and closed by HDF5, netCDF or PnetCDF in at least \
                 {LIBRARY_OPENS} calls of the program"
            )
        },
        remedy: "keep files open, or put the data into fewer files",
    },
    AdviceRule {
        kind: "misaligned_writes",
        when: || {
            format!(
                "several processes write a group of files, and at least {MANY} writes of 4 KiB or \
                 more, {MOST} % of all its writes, do not begin at a multiple of 4 KiB"
            )
        },
        remedy: "align what each rank writes",
    },
    AdviceRule {
        kind: "shared_blocks",
        when: || {
            format!(
                "at least {MANY} writes of a group of files, and {MOST} % of all its writes, go to \
                 blocks of {} that several processes write",
                binary(LOCKED_BYTES)
            )
        },
        remedy: "let each block be written by one rank",
    },
    AdviceRule {
        kind: "no_collective_buffering",
        when: || {
            format!(
                "ranks make at least {MANY} collective MPI-IO accesses to a group of files, which \
                 result in at least as many POSIX accesses by several processes, smaller than {} on \
                 average",
                binary(LOCKED_BYTES)
            )
        },
        remedy: "let MPI combine the pieces of ranks",
    },
    AdviceRule {
        kind: "many_open",
        when: || format!("a process has at least {OPEN_FILES} files open at once"),
        remedy: "close files after use",
    },
    AdviceRule {
        kind: "one_rank_writes",
        when: || {
            format!(
                "one of several ranks writes at least {ONE_RANK} % of all data, which is {} or more; \
                 unless collective calls, for which MPI chooses who writes, move most of it",
                binary(RANK_BYTES)
            )
        },
        remedy: "let all ranks write",
    },
    AdviceRule {
        kind: "uneven_ranks",
        when: || {
            format!(
                "one rank reads and writes at least {UNEVEN} times the mean of all ranks, which \
                 together move {} or more; unless collective calls move most of the data",
                binary(RANK_BYTES)
            )
        },
        remedy: "distribute the data evenly",
    },
    AdviceRule {
        kind: "independent_writes",
        when: || independent("writes"),
        remedy: "use collective calls",
    },
    AdviceRule {
        kind: "independent_reads",
        when: || independent("reads"),
        remedy: "use collective calls",
    },
    AdviceRule {
        kind: "tiny_variable_accesses",
        when: || {
            format!(
                "variables are accessed in at least {MANY} calls, {SEVERAL} for each variable, of \
                 less than {} on average",
                binary(TINY)
            )
        },
        remedy: "access larger slabs at once",
    },
    AdviceRule {
        kind: "chunk_shape",
        when: || {
            format!(
                "at least {MANY} accesses to a variable touch two or more chunks each, which \
                 contain at least {EXCESS:.0} times the requested data"
            )
        },
        remedy: "choose chunks in the shape of the accesses",
    },
];

fn small(word: &str) -> String {
    format!(
        "at least {MANY} {word}s of a group of files, {SEVERAL_IN_FILE} of each file on average, \
         and {MOST} % of all its {word}s, are smaller than {}; stdio streams count only if they \
         are not buffered",
        binary(SMALL)
    )
}

fn scattered(word: &str, bytes: u64) -> String {
    format!(
        "at least {MANY} {word} of a group of files, and {MOST} % of all its {word}, do not begin \
         where their thread left off, and are smaller than {} on average",
        binary(bytes)
    )
}

fn independent(word: &str) -> String {
    format!(
        "several ranks make at least {MANY} independent MPI-IO {word} of a group of files, smaller \
         than {} on average",
        binary(PIECE)
    )
}

/// Powers of two, in the units that name them.
fn binary(bytes: u64) -> String {
    match bytes {
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", grouped(bytes >> 20)),
        _ => format!("{} KiB", grouped(bytes >> 10)),
    }
}

/// The page `docs/advice.md`.
#[cfg(test)]
fn page() -> String {
    let mut page = format!(
        "# Advice\n\n\
         The summary of `ioracle run` and `ioracle show` gives advice by these rules. `make docs` \
         generates this page from the table in `crates/insight/src/findings/rules.rs`.\n\n\
         {series} or more files whose names differ only by numbers form a group (`dump_*.sdf`), and \
         so do {ending} or more with the same ending in one directory. Files of program code that \
         are only read, such as the modules of an interpreter, get no advice, and neither do files \
         whose names are not known.\n\n\
         ## When advice is given\n\n\
         Whether a rule applies depends on counts and bytes, which are the same in every run of a \
         program. The one exception is whether a stdio stream is buffered, which is inferred from \
         the typical duration of its calls.\n\n\
         Whether a finding is reported depends on the nominal cost of its calls: {call} µs for a read \
         or write plus a second per {rate} GB, {metadata} µs for an open, close or truncation, \
         {sync} ms for a sync, {library} ms for an open or close by HDF5, netCDF or PnetCDF. Small \
         calls of a buffered stdio stream count as the system calls that its buffer turns them \
         into. The nominal cost must be at least {MATTERS_OF_IO} % of the nominal cost of all I/O with data files, and all I/O \
         at least {MATTERS} % of the run, by nominal cost or measured. From {HIGH_OF_IO} % of the I/O \
         and {HIGH} % of the run on, the severity is `high`, otherwise `warning`; and it is always \
         `warning` if the calls took less than {NEGLIGIBLE} % of this run. Findings on calls that took \
         less than {MATTERS} % of this run say so ('little here'). If calls are much slower than nominal, their measured time decides: \
         at least {MATTERS_MEASURED} % of the run, and from {HIGH_MEASURED} % on `high`. If threads or \
         ranks work in parallel, times are divided by the number of threads that share the work. `misaligned_writes`, `shared_blocks` \
         and `uneven_ranks` are never `high`, because the gain cannot be estimated. `many_open` \
         is a warning however little time it takes: a program that reaches the limit fails.\n\n\
         So noise changes the advice only if the share of all I/O in the run, or the measured share \
         of calls that are much slower or faster than nominal, is close to one of these thresholds. `scripts/advice` runs several \
         programs 20 times each and compares.\n\n\
         ## The rules\n\n\
         | kind | when | what to do |\n\
         | --- | --- | --- |\n",
        series = crate::file_groups::SERIES,
        ending = crate::file_groups::SAME_ENDING,
        call = nominal::CALL_NS / 1000,
        rate = nominal::BYTES_PER_NS,
        metadata = nominal::METADATA_NS / 1000,
        sync = nominal::SYNC_NS / 1_000_000,
        library = nominal::LIBRARY_OPEN_NS as f64 / 1e6,
    );
    for rule in RULES {
        page.push_str(&format!("| `{}` | {} | {} |\n", rule.kind, (rule.when)(), rule.remedy));
    }
    page.push_str(
        "\nA rule on scattered accesses takes precedence over one on small accesses, because a \
         buffer does not help with the former, and a rule on variables over one on the small calls \
         that the library makes for them. The JSON summary has up to 20 findings; the text has \
         those that cost most.\n\n\
         A finding also says where in the program most of its calls come from (`stack`: the \
         innermost frame outside of libraries for I/O, then its callers; empty for programs that \
         an interpreter runs), how many seconds of the run would be saved at most if the calls \
         cost nothing (`saves_at_most_s`), and, in JSON and in the [report](report.md), code to \
         adapt (`snippet`).\n\n\
         ## In code\n\n\
         If HDF5, netCDF or MPI-IO make the small or scattered calls, the code sets their \
         buffers instead.\n",
    );
    for rule in RULES {
        let code = super::snippets::snippet(rule.kind, None).unwrap_or_default();
        page.push_str(&format!("\n`{}`:\n\n```c\n{code}\n```\n", rule.kind));
    }
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_rule_has_code() {
        let has_code =
            |rule: &AdviceRule| super::super::snippets::snippet(rule.kind, None).is_some();
        assert!(RULES.iter().all(has_code));
    }

    #[test]
    fn every_rule_is_there_once() {
        let kinds: BTreeSet<&str> = RULES.iter().map(|rule| rule.kind).collect();
        assert_eq!(kinds.len(), RULES.len());
    }

    /// With IORACLE_WRITE_DOCS set the page is written instead.
    #[test]
    fn the_page_on_advice_is_fresh() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/advice.md");
        if std::env::var_os("IORACLE_WRITE_DOCS").is_some() {
            std::fs::write(path, page()).expect("docs can be written");
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, page(), "docs/advice.md is stale; run 'make docs'");
    }
}
