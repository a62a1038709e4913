// SPDX-License-Identifier: MIT OR Apache-2.0

//! What stands before the body of every saved model: magic, version, length,
//! checksum. See `docs/model-format.md`.

use crate::error::Error;
use crate::{model, saved};

const MAGIC: &[u8; 8] = b"ioracle\x1A";
/// Magic, version, length of the body, checksum of the body.
const HEADER_BYTES: usize = 8 + 4 + 8 + 4;

/// The bytes of a file with this body.
pub fn put_before(version: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER_BYTES + body.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&version.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}

/// Version and body, once header and checksum are in order.
pub fn body_of(bytes: &[u8]) -> Result<(u32, &[u8]), Error> {
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or(Error::NotAModel)?;
    if magic != MAGIC {
        return Err(Error::NotAModel);
    }
    let too_short = || Error::Length { found: bytes.len() as u64, expected: HEADER_BYTES as u64 };
    let (version, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let version = u32::from_le_bytes(*version);
    let models = [model::VERSION, model::WITHOUT_READS, model::WITHOUT_VARIABLES];
    if version != saved::VERSION && !models.contains(&version) {
        return Err(Error::Version { found: version, supported: saved::VERSION });
    }
    let (length, rest) = rest.split_first_chunk().ok_or_else(too_short)?;
    let (checksum, body) = rest.split_first_chunk().ok_or_else(too_short)?;
    let (expected, found) = (u64::from_le_bytes(*length), body.len() as u64);
    if expected != found {
        return Err(Error::Length { found, expected });
    }
    if crc32fast::hash(body) != u32::from_le_bytes(*checksum) {
        return Err(Error::Checksum);
    }
    Ok((version, body))
}
