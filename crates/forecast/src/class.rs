// SPDX-License-Identifier: MIT OR Apache-2.0

//! Classes of I/O calls: calls of one class cost about the same on one system.
//!
//! A class is what the benchmark measures one point for, what the profile of a
//! trace sums times by, and what a forecast has one ratio for. It says how calls
//! are made, never how long they take.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The interface that a call belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    /// System calls.
    Posix,
    /// Buffered streams of the C library.
    Stdio,
    /// MPI-IO.
    MpiIo,
    /// HDF5.
    Hdf5,
    /// netCDF and PnetCDF.
    NetCdf,
}

impl Api {
    /// The name used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Api::Posix => "POSIX",
            Api::Stdio => "stdio",
            Api::MpiIo => "MPI-IO",
            Api::Hdf5 => "HDF5",
            Api::NetCdf => "netCDF",
        }
    }
}

/// What a call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Data moves from the file.
    Read,
    /// Data moves to the file.
    Write,
    /// An existing file is opened.
    Open,
    /// A file is created, or truncated, by opening it.
    Create,
    /// A file is closed. The size is what was written to it since it was opened or
    /// last synced: file systems that write on close take time for it.
    Close,
    /// Data is forced to storage. The size is what was written since the last time.
    Sync,
    /// The length of a file is set.
    Truncate,
    /// A file is removed.
    Delete,
    /// A file is renamed.
    Rename,
    /// It is asked what a file is, or whether it may be used.
    Stat,
    /// A collective call waits for the other ranks. No call of a trace is of this
    /// kind: replays measure it.
    Wait,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 11] = [
        Kind::Read,
        Kind::Write,
        Kind::Open,
        Kind::Create,
        Kind::Close,
        Kind::Sync,
        Kind::Truncate,
        Kind::Delete,
        Kind::Rename,
        Kind::Stat,
        Kind::Wait,
    ];

    /// The word used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Open => "open",
            Kind::Create => "create",
            Kind::Close => "close",
            Kind::Sync => "sync",
            Kind::Truncate => "truncate",
            Kind::Delete => "delete",
            Kind::Rename => "rename",
            Kind::Stat => "stat",
            Kind::Wait => "wait",
        }
    }

    /// Whether it moves data by itself.
    pub const fn is_data(self) -> bool {
        matches!(self, Kind::Read | Kind::Write)
    }

    /// Whether its time depends on a number of bytes: those that it moves, or
    /// those that wait to be written.
    pub const fn has_size(self) -> bool {
        matches!(self, Kind::Read | Kind::Write | Kind::Close | Kind::Sync)
    }
}

/// Where the accesses of a stream to one file lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "order", deny_unknown_fields)]
pub enum ClassPattern {
    /// Each begins where the one before it ended. Metadata calls have this one.
    Sequential,
    /// Each begins as far behind the end of the one before it as that did.
    Strided {
        /// From the end of one access to the beginning of the next.
        distance: SizeBin,
    },
    /// Anything else.
    Random {
        /// The usual distance from the end of one access to the beginning of the
        /// next, in either direction.
        distance: SizeBin,
    },
}

impl ClassPattern {
    /// The word used in tables.
    pub const fn name(self) -> &'static str {
        match self {
            ClassPattern::Sequential => "sequential",
            ClassPattern::Strided { .. } => "strided",
            ClassPattern::Random { .. } => "random",
        }
    }

    /// How far one access usually is from the end of the one before.
    pub const fn distance(self) -> SizeBin {
        match self {
            ClassPattern::Sequential => SizeBin::EMPTY,
            ClassPattern::Strided { distance } | ClassPattern::Random { distance } => distance,
        }
    }
}

/// A number of bytes, rounded up to a power of two: 0, or 1 + log2 of it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(try_from = "u64", into = "u64")]
pub struct SizeBin(u8);

impl SizeBin {
    /// No bytes.
    pub const EMPTY: SizeBin = SizeBin(0);

    /// The bin of this many bytes.
    pub const fn of(bytes: u64) -> SizeBin {
        match bytes {
            0 => SizeBin(0),
            bytes => SizeBin(1 + (64 - (bytes - 1).leading_zeros()) as u8),
        }
    }

    /// The largest number of bytes in the bin, a power of two or 0. This is the
    /// size to measure if nothing better is known.
    pub const fn bytes(self) -> u64 {
        match self.0 {
            0 => 0,
            bin if bin > 64 => u64::MAX,
            bin => 1 << (bin - 1),
        }
    }
}

impl From<SizeBin> for u64 {
    fn from(bin: SizeBin) -> u64 {
        bin.bytes()
    }
}

impl TryFrom<u64> for SizeBin {
    type Error = NotABin;

    fn try_from(bytes: u64) -> Result<SizeBin, NotABin> {
        let bin = SizeBin::of(bytes);
        if bin.bytes() == bytes { Ok(bin) } else { Err(NotABin(bytes)) }
    }
}

/// A size that is no power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotABin(u64);

impl fmt::Display for NotABin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is neither 0 nor a power of two", self.0)
    }
}

impl std::error::Error for NotABin {}

/// A class of calls. In `system.json` it is an object with these names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IoClass {
    /// The interface.
    pub api: Api,
    /// What the calls do.
    pub kind: Kind,
    /// Bytes per call ([`Kind::has_size`]), else empty.
    pub size: SizeBin,
    /// Where they lie.
    pub pattern: ClassPattern,
    /// Whether several processes use the file.
    pub shared: bool,
    /// How many tasks make such calls at the same time, at least 1, a power of two.
    pub concurrency: u16,
    /// Whether the call returns only when it is done; false for calls that submit
    /// a request (`aio_read`, `MPI_File_iwrite`).
    pub synchronous: bool,
    /// Whether the file was opened to bypass the cache (`O_DIRECT`).
    pub direct: bool,
    /// Whether every write reaches storage before it returns (`O_SYNC`, `O_DSYNC`).
    pub durable: bool,
    /// Of reads: whether the bytes are likely in a cache because they were read or
    /// written before. Of writes: whether they replace bytes that are there, so
    /// that no room has to be found. False for all other kinds.
    pub cached: bool,
}

impl IoClass {
    /// The class of waiting for other ranks in collective calls.
    pub const WAITING: IoClass =
        IoClass { api: Api::MpiIo, ..IoClass::new(Kind::Wait, SizeBin::EMPTY) };

    /// Sequential POSIX calls of one task on its own file, uncached.
    pub const fn new(kind: Kind, size: SizeBin) -> IoClass {
        IoClass {
            api: Api::Posix,
            kind,
            size: if kind.has_size() { size } else { SizeBin::EMPTY },
            pattern: ClassPattern::Sequential,
            shared: false,
            concurrency: 1,
            synchronous: true,
            direct: false,
            durable: false,
            cached: false,
        }
    }
}

impl fmt::Display for IoClass {
    /// `POSIX read, 1 MiB, strided by 4 MiB, shared file, 4 at a time, cached`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.api.name(), self.kind.name())?;
        if self.kind.has_size() {
            write!(f, ", {}", self.size)?;
        }
        match self.pattern {
            ClassPattern::Sequential if self.kind.is_data() => f.write_str(", sequential")?,
            ClassPattern::Sequential => {}
            ClassPattern::Strided { distance } => write!(f, ", strided by {distance}")?,
            ClassPattern::Random { distance } => write!(f, ", random within {distance}")?,
        }
        if self.shared {
            f.write_str(", shared file")?;
        }
        if self.concurrency > 1 {
            write!(f, ", {} at a time", self.concurrency)?;
        }
        let mut flag = |is_set, word| if is_set { f.write_str(word) } else { Ok(()) };
        flag(!self.synchronous, ", asynchronous")?;
        flag(self.direct, ", direct")?;
        flag(self.durable, ", durable")?;
        flag(self.cached && self.kind == Kind::Write, ", in place")?;
        flag(self.cached && self.kind != Kind::Write, ", cached")
    }
}

impl fmt::Display for SizeBin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.bytes();
        let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
        match units.iter().find(|(shift, _)| bytes >> shift > 0) {
            Some((shift, unit)) => write!(f, "{} {unit}", bytes >> shift),
            None => write!(f, "{bytes} B"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_rounded_up_to_a_power_of_two() {
        let check = |bytes, bin| assert_eq!(SizeBin::of(bytes).bytes(), bin, "{bytes}");
        check(0, 0);
        check(1, 1);
        check(3, 4);
        check(4096, 4096);
        check(4097, 8192);
        check(u64::MAX, u64::MAX);
    }

    #[test]
    fn a_class_survives_json_and_reads_like_a_sentence() {
        let class = IoClass {
            pattern: ClassPattern::Strided { distance: SizeBin::of(4 << 20) },
            shared: true,
            concurrency: 4,
            cached: true,
            ..IoClass::new(Kind::Read, SizeBin::of(1 << 20))
        };
        let text = serde_json::to_string(&class).unwrap();
        assert_eq!(serde_json::from_str::<IoClass>(&text).unwrap(), class);
        assert_eq!(
            class.to_string(),
            "POSIX read, 1 MiB, strided by 4 MiB, shared file, 4 at a time, cached"
        );
    }

    #[test]
    fn a_size_between_powers_of_two_is_rejected() {
        let text = serde_json::to_string(&IoClass::new(Kind::Read, SizeBin::of(64))).unwrap();
        let error = serde_json::from_str::<IoClass>(&text.replace("64", "65")).unwrap_err();
        assert!(error.to_string().starts_with("65 is neither 0 nor a power of two"), "{error}");
    }
}
