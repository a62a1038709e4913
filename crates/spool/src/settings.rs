// SPDX-License-Identifier: MIT OR Apache-2.0

//! All variables of the environment that capture looks at, in one table. The
//! library takes its names from here; `ioracle run --help` and
//! `docs/configuration.md` are made of it.

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct EnvironmentSetting {
    /// Variable of the environment.
    pub variable: &'static str,
    /// Flag of `ioracle run` that sets it; empty for none.
    pub flag: &'static str,
    /// What it takes: `0 or 1`, `size`, `patterns`, `directory`…
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
        pub const SETTINGS: &[EnvironmentSetting] = &[
            $(EnvironmentSetting { variable: $name, flag: $flag, takes: $takes, default: $default, help: $help },)*
        ];
    };
}

/// Variables that name the application of a process, the first one that is set
/// first: that of KNOWAC, and ours.
pub const APPLICATION_VARIABLES: [&str; 2] = ["CURRENT_ACCUM_APP_NAME", APP];

settings! {
    DISABLE "" "0 or 1" "0"
        "Switches the library off: all calls pass through, nothing is created or recorded.";
    DIR "--dir" "directory" "$XDG_RUNTIME_DIR, else /dev/shm, else $TMPDIR or /tmp"
        "Where the directories of running jobs are created.";
    SPOOL "" "directory" "set by 'ioracle run'"
        "The directory of the job that a process records into.";
    LIMIT "--limit" "size" "256M"
        "Space for the records of a job; beyond it, calls are counted instead of recorded.";
    WAIT_MS "--wait-ms" "milliseconds" "0"
        "How long a call at the space limit waits for the reader; with 0, it is counted as not recorded at once.";
    INCLUDE "--include" "patterns" "*"
        "Files to record: patterns with * and ?, separated by colons. A pattern without a slash matches the base name, one with a slash the absolute path.";
    EXCLUDE "--exclude" "patterns" ""
        "Files not to record, as patterns of the same kind; takes precedence over the files to record.";
    ANONYMISE "--anonymise" "0 or 1" "0"
        "Stores hashes instead of paths, and names of programs and libraries without their directories.";
    QUIET "--quiet" "0 or 1" "0"
        "Suppresses the library's warning and the summary on standard error.";
    INPROCESS "--in-process" "0 or 1" "0"
        "Learns each call on the thread that makes it, as soon as it has ended, so that ioracle_next() always takes all calls into account.";
    PREFETCH "--prefetch" "0 or 1" "0"
        "Prefetches what the program is about to read into the page cache.";
    PREFETCH_BYTES "--prefetch-bytes" "size" "64M, less if memory is short"
        "How many bytes may be read ahead and unused at a time.";
    PREFETCH_RATE "--prefetch-rate" "size per second" "no limit"
        "How many bytes are read ahead per second at most.";
    PREFETCH_REQUESTS "--prefetch-requests" "number" "4"
        "How many reads run ahead of the program at a time.";
    KNOWLEDGE "--knowledge" "file, 0 or 1" "1 with --prefetch, else 0"
        "Learns over many runs what the application reads and writes, and predicts from that whatever the inputs; the file is the repository, 1 the user's own ($XDG_DATA_HOME/ioracle/knowledge.db).";
    CHECK_STACKS "" "0 or 1" "0"
        "Compares every call stack with the result of backtrace(); slow.";
    APP "--name" "name" "what each process runs"
        "Name of the application that processes belong to in models, traces and summaries.";
    LIBRARY "" "file" "beside the command, or in ../lib"
        "The capture library to preload.";
}
