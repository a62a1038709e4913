// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary bytes as a table of requests, plain and as a zstd stream, and what
//! they hold as the requests of a server.

#![no_main]

use std::io::Cursor;

use ioracle_pattern::{PatternConfig, PatternWatcher, RequestReader, Slicer};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((&flags, table)) = data.split_first() else { return };
    let mut bytes = Vec::new();
    if flags & 1 != 0 {
        bytes.extend(b"time_ns,file,op,offset,size\n");
    }
    bytes.extend(table);
    let reader = match flags & 2 {
        0 => RequestReader::plain("fuzz", Cursor::new(bytes)),
        _ => RequestReader::compressed("fuzz", Cursor::new(bytes)),
    };
    let Ok(reader) = reader else { return };
    let mut slicer = Slicer::new(PatternConfig::server());
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    let mut recognise = |pattern| {
        let found = watcher.recognise(pattern);
        assert!((0.0..=1.0).contains(&found.score));
    };
    let mut ended = false;
    for request in reader {
        assert!(!ended, "nothing comes after an error");
        match request {
            Ok(request) => slicer.observe(&request).into_iter().for_each(&mut recognise),
            Err(_) => ended = true,
        }
    }
    slicer.finish().into_iter().for_each(&mut recognise);
});
