// SPDX-License-Identifier: MIT OR Apache-2.0

//! Arbitrary text as the measurements of a storage system, in our own format or as a
//! result of IOR or fio: rejected, or a system that can be saved and loaded again.

#![no_main]

use std::path::Path;

use ioracle_forecast::System;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let path = Path::new("fuzz");
    match System::parse(path, bytes) {
        Ok(system) => {
            let again = System::parse(path, system.to_json().as_bytes());
            assert_eq!(again.expect("what was saved can be loaded").points, system.points);
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "one sentence: {error}"),
    }
});
