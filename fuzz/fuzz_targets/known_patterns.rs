// SPDX-License-Identifier: MIT OR Apache-2.0

//! A file of known patterns with changes at some bytes: refused, or patterns
//! that can be compared and saved again.

#![no_main]

use std::sync::OnceLock;

use ioracle_pattern::{PatternConfig, PatternWatcher, Request, RequestKind};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|changes: &[u8]| {
    let path = std::env::temp_dir().join(format!("ioracle-fuzz-{}.db", std::process::id()));
    static GOOD: OnceLock<Vec<u8>> = OnceLock::new();
    let good = GOOD.get_or_init(|| {
        let _ = std::fs::remove_file(&path);
        let mut watcher = PatternWatcher::new(PatternConfig::server());
        for load in 1..6 {
            serve(&mut watcher, load);
        }
        watcher.save(&path).expect("it can be saved");
        std::fs::read(&path).expect("it can be read")
    });
    let mut bytes = good.clone();
    for change in changes.chunks_exact(3) {
        let position = usize::from(u16::from_le_bytes([change[0], change[1]])) % bytes.len();
        bytes[position] ^= change[2];
    }
    std::fs::write(&path, &bytes).expect("there is room");
    let mut watcher = PatternWatcher::new(PatternConfig::server());
    if watcher.load(&path).is_ok() {
        serve(&mut watcher, 3);
        let _ = watcher.save(&path);
    }
    let _ = std::fs::remove_file(&path);
});

fn serve(watcher: &mut PatternWatcher, load: u64) {
    for n in 0..100 {
        let (offset, kind) = (n * 4096 * load, RequestKind::Read);
        watcher.observe(&Request {
            time_ns: n * 1000,
            file: n % load,
            kind,
            offset,
            size: 512 * load,
        });
    }
    let found = watcher.tick().expect("there were requests");
    assert!((0.0..=1.0).contains(&found.score));
}
