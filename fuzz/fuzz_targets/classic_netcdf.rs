// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as the header of a classic netCDF file, and parts of what it
//! declares as ranges of bytes.

#![no_main]

use ioracle_events::ClassicHeader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&kind, header)) = data.split_first() else { return };
    let mut bytes = b"CDF\x01".to_vec();
    bytes[3] = [1, 2, 5][usize::from(kind % 3)];
    bytes.extend(header);
    let Ok(header) = ClassicHeader::parse(&bytes) else { return };
    assert!(header.header_bytes <= bytes.len() as u64);
    for variable in &header.variables {
        let n = variable.shape.len();
        for (start, count) in [(0, 1), (1, u64::from(kind)), (u64::MAX, 2)] {
            let found = header.extents(variable, &vec![start; n], &vec![count; n], 64);
            let ranges = found.unwrap_or_default();
            assert!(ranges.len() <= 64);
            assert!(ranges.iter().all(|range| range.start < range.end));
        }
    }
});
