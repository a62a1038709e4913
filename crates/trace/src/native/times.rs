// SPDX-License-Identifier: MIT OR Apache-2.0

//! How exactly a trace keeps times.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::code::Precision;

/// How exactly times are kept. In every case, no call ends before it begins, calls of a
/// thread begin in order, and nested calls stay nested.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimePrecision {
    /// To the nanosecond.
    #[default]
    Exact,
    /// Start and end rounded down to microseconds.
    Microsecond,
    /// Each wait and each duration at most one percent too short. What is measured is
    /// the wait after the end that a reader knows, so errors do not add up. Nested
    /// calls may also be early by a percent of the enclosing calls.
    Percent,
}

impl TimePrecision {
    pub(crate) fn precision(self) -> Precision {
        match self {
            TimePrecision::Exact => Precision { unit_ns: 1, n_kept: 64 },
            TimePrecision::Microsecond => Precision { unit_ns: 1000, n_kept: 64 },
            // Less than 1/128 is cut off.
            TimePrecision::Percent => Precision { unit_ns: 1, n_kept: 7 },
        }
    }
}

impl fmt::Display for TimePrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimePrecision::Exact => "exact",
            TimePrecision::Microsecond => "1us",
            TimePrecision::Percent => "1%",
        })
    }
}

impl FromStr for TimePrecision {
    type Err = String;

    fn from_str(text: &str) -> Result<TimePrecision, String> {
        [TimePrecision::Exact, TimePrecision::Microsecond, TimePrecision::Percent]
            .into_iter()
            .find(|times| times.to_string() == text)
            .ok_or_else(|| "name one of exact, 1us and 1%".to_owned())
    }
}
