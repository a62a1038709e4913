// SPDX-License-Identifier: MIT OR Apache-2.0

//! All variables of the environment that capture looks at, in one table. The
//! library takes its names from here; `ioracle run --help` and
//! `docs/configuration.md` are made of it.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Variable of the environment.
    pub variable: &'static str,
    /// Flag of `ioracle run` that sets it; empty for none.
    pub flag: &'static str,
    /// What it takes: `0 or 1`, `bytes`, `patterns`, `directory`…
    pub takes: &'static str,
    /// What holds without it.
    pub default: &'static str,
    /// One sentence.
    pub help: &'static str,
}

/// Writes the table and a constant for the name of each variable.
macro_rules! settings {
    ($($name:ident $flag:literal $takes:literal $default:literal $help:literal;)*) => {
        $(
            #[doc = $help]
            pub const $name: &str = concat!("IORACLE_", stringify!($name));
        )*

        /// All settings.
        pub const SETTINGS: &[Setting] = &[
            $(Setting { variable: $name, flag: $flag, takes: $takes, default: $default, help: $help },)*
        ];
    };
}

settings! {
    DISABLE "" "0 or 1" "0"
        "Switches the library off: all calls pass through, nothing is made or recorded.";
    DIR "--dir" "directory" "$XDG_RUNTIME_DIR, else /dev/shm"
        "Where the directories of running jobs are made.";
    SPOOL "" "directory" "set by 'ioracle run'"
        "The directory of the job that a process records into.";
    LIMIT "--limit" "bytes" "268435456"
        "Space that the records of a job may take before calls are counted instead of recorded.";
    WAIT_MS "--wait-ms" "milliseconds" "0"
        "How long a call at the space limit waits for the reader; 0 counts it as not recorded and goes on.";
    INCLUDE "--include" "patterns" "*"
        "Files to record, as patterns with * and ? separated by colons: one without a slash is matched with the base name, one with a slash with the absolute path.";
    EXCLUDE "--exclude" "patterns" ""
        "Files not to record, likewise; wins over the files to record.";
    ANONYMISE "--anonymise" "0 or 1" "0"
        "Stores hashes instead of paths, and of a command its name only.";
    QUIET "--quiet" "0 or 1" "0"
        "Keeps the library's warning and the summary off standard error.";
    INPROCESS "--in-process" "0 or 1" "0"
        "Learns each call on the thread that makes it, as soon as it has ended, so that ioracle_next() always rests on all of them.";
    CHECK_STACKS "" "0 or 1" "0"
        "Compares every call stack with the one that backtrace() finds; slow.";
    LIBRARY "" "file" "beside the command, or in ../lib"
        "The capture library to preload.";
}
