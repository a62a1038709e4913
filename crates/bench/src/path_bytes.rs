// SPDX-License-Identifier: MIT OR Apache-2.0

//! Paths as their bytes, for orders that processes are sent: serde takes only paths
//! that are UTF-8, and a directory may have any name.
//! Used as `#[serde(with = "path_bytes")]`.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A path as a sequence of numbers.
pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_os_str().as_bytes().serialize(serializer)
}

/// The path that they stand for.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Vec::<u8>::deserialize(deserializer).map(|bytes| OsString::from_vec(bytes).into())
}
