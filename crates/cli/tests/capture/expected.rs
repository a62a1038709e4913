// SPDX-License-Identifier: MIT OR Apache-2.0

//! The calls that a program says it made: the file that `expected.h` maps.

use std::collections::BTreeMap;
use std::path::Path;

/// Matches every value of a field; `ANY` in `expected.h`.
pub const ANY: i64 = i64::MIN;

const CALL_BYTES: usize = 256;

/// One call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    pub function: String,
    /// Base name of the file; `*` matches every one.
    pub file: String,
    pub offset: i64,
    pub requested: i64,
    pub result: i64,
    /// Empty matches every one.
    pub detail: String,
}

/// The calls of each thread that made any, in the order in which they began.
/// Those that had not returned when the program ended are left out.
pub fn read(path: &Path) -> Vec<Vec<Call>> {
    let bytes = std::fs::read(path)
        .unwrap_or_else(|error| panic!("the program kept no list of its calls: {error}"));
    let n_calls = u64_at(&bytes, 0) as usize;
    let n_places = bytes.len() / CALL_BYTES - 1;
    assert!(n_calls <= n_places, "{n_calls} calls were made, the list has room for {n_places}");
    let mut threads: BTreeMap<[u32; 3], Vec<Call>> = BTreeMap::new();
    for call in bytes.chunks_exact(CALL_BYTES).skip(1).take(n_calls) {
        let [finished, image, pid, tid] =
            [0, 4, 8, 12].map(|at| u32::from_ne_bytes(call[at..at + 4].try_into().unwrap()));
        if finished == 0 {
            continue;
        }
        let [offset, requested, result] = [16, 24, 32].map(|at| u64_at(call, at) as i64);
        let [function, file, detail] = [40..64, 64..128, 128..256].map(|at| text(&call[at]));
        threads.entry([image, pid, tid]).or_default().push(Call {
            function,
            file,
            offset,
            requested,
            result,
            detail,
        });
    }
    threads.into_values().collect()
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap())
}

fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

/// The process that made the first call, once there is one.
pub fn first_process(path: &Path) -> Option<u32> {
    use std::os::unix::fs::FileExt;
    let mut call = [0; 16];
    std::fs::File::open(path).ok()?.read_exact_at(&mut call, CALL_BYTES as u64).ok()?;
    let [finished, pid] = [0, 8].map(|at| u32::from_ne_bytes(call[at..at + 4].try_into().unwrap()));
    (finished != 0).then_some(pid)
}
