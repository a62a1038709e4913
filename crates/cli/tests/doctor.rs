// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle doctor`, where capture works and where it does not.

mod support;

use support::{command, done, ioracle};

#[test]
fn doctor_finds_that_capture_works() {
    let findings = ioracle(["doctor", "--json"]);
    assert_eq!(findings.code, Some(0), "{}", findings.out);
    let findings = findings.json();
    let found = |about: &str| {
        findings.as_array().unwrap().iter().find(|finding| finding["about"] == about).cloned()
    };
    let preloading = found("preloading").expect("it was tried");
    assert!(preloading["text"].as_str().unwrap().contains("works"), "{preloading}");
    assert!(found("C library").is_some() && found("spool").is_some());
}

#[test]
fn doctor_tells_what_keeps_capture_from_working() {
    let run =
        |name: &str, value: &str| done(command().env(name, value).arg("doctor").output().unwrap());
    let missing = run("IORACLE_LIBRARY", "/no/library.so");
    assert_eq!(missing.code, Some(1));
    assert!(
        missing.out.contains("problem") && missing.out.contains("/no/library.so"),
        "{}",
        missing.out
    );
    let unwritable = run("IORACLE_DIR", "/no/such/base");
    assert_eq!(unwritable.code, Some(1));
    assert!(unwritable.out.contains("/no/such/base"), "{}", unwritable.out);
    assert_eq!(run("IORACLE_DISABLE", "1").code, Some(1));
}

#[test]
fn doctor_looks_at_a_program() {
    let of = |program: &str| {
        let done = ioracle(["doctor", "--json", program]);
        let findings = done.json().as_array().unwrap().clone();
        assert_eq!(findings[0]["about"], "program", "the answer comes first");
        let of_program = findings.into_iter().filter(|finding| finding["about"] == "program");
        (done.code, of_program.collect::<Vec<_>>())
    };
    let (code, found) = of("cat");
    assert_eq!((code, found.len()), (Some(0), 1), "{found:?}");
    assert_eq!(found[0]["level"], "ok");
    let (code, found) = of("/no/such/program");
    assert_eq!(code, Some(1));
    assert_eq!(found[0]["level"], "problem");
    // This command has the texts inside by which libraries are recognised.
    let (code, found) = of(env!("CARGO_BIN_EXE_ioracle"));
    assert_eq!(code, Some(0));
    let warned = |library: &str| {
        found.iter().any(|finding| {
            finding["level"] == "warning" && finding["text"].as_str().unwrap().starts_with(library)
        })
    };
    assert!(warned("HDF5 is linked into") && warned("PnetCDF is linked into"), "{found:?}");
}
