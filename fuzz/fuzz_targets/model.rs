// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as a saved model, also with the header put right so that the
//! body is reached: refused, or an oracle that works.

#![no_main]

use ioracle_events::{ContextId, FileId, Function, Operation};
use ioracle_oracle::Oracle;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| {
    let _ = Oracle::load(body);
    let mut bytes = b"ioracle\x1A\x01\0\0\0".to_vec();
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&crc32fast::hash(body).to_le_bytes());
    bytes.extend_from_slice(body);
    let Ok(mut oracle) = Oracle::load(&bytes) else { return };
    oracle.ahead(0).take(20).for_each(drop);
    oracle.next_burst();
    for (n, function) in Function::all().enumerate() {
        oracle.observe(&Operation {
            function,
            context: ContextId(n as u32 % 5),
            file: FileId(n as u32 % 3),
            handle: 3,
            offset: function.access().is_data().then_some(n as u64 * 7),
            size: 7,
            append: false,
            truncated_to: None,
            start_ns: n as u64 * 1000,
            end_ns: n as u64 * 1000 + 10,
        });
    }
    let again = Oracle::load(&oracle.save()).expect("what was saved can be loaded");
    assert_eq!(again.predict(), oracle.predict());
});
