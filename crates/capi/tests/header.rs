// SPDX-License-Identifier: MIT OR Apache-2.0

//! `include/ioracle.h` is what the source says.

use std::path::Path;

/// Sources in the order of the header.
const SOURCES: [&str; 13] = [
    "version",
    "result",
    "barrier",
    "access",
    "prediction",
    "config",
    "observation",
    "session",
    "oracle",
    "iterator",
    "burst",
    "saved",
    "published",
];

const INTRODUCTION: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * ioracle: learns the I/O of a program while it runs and says what comes next.
 * docs/c-api.md explains the interface. This file is generated from the source
 * of the library: change that, and run 'make docs'.
 */";

/// What a structure that the caller fills begins with.
const INITIALISERS: &str = "\
/** Makes an ioracle_config with all defaults. */
#define IORACLE_CONFIG_INIT { sizeof(ioracle_config), 0, 0, 0, 0, 0, 0, 0 }

/** Makes an ioracle_observation that says nothing yet. */
#define IORACLE_OBSERVATION_INIT \\
    { sizeof(ioracle_observation), 0, 0, 0, NULL, 0, -1, -1, 0, 0, 0, 0, NULL, NULL, 0 }";

fn generated() -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut config = cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        cpp_compat: true,
        usize_is_size_t: true,
        header: Some(INTRODUCTION.to_owned()),
        include_guard: Some("IORACLE_H".to_owned()),
        documentation_style: cbindgen::DocumentationStyle::Doxy,
        line_length: 90,
        tab_width: 4,
        no_includes: true,
        trailer: Some(INITIALISERS.to_owned()),
        sys_includes: ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec(),
        ..cbindgen::Config::default()
    };
    config.export.include = vec!["ioracle_access".to_owned()];
    let builder =
        SOURCES.iter().fold(cbindgen::Builder::new().with_config(config), |builder, name| {
            builder.with_src(directory.join(name).with_extension("rs"))
        });
    let mut header = Vec::new();
    builder.generate().expect("the source can be read").write(&mut header);
    without_safety_sections(&String::from_utf8(header).expect("the header is text"))
}

/// What Rust calls safety is what C takes for granted.
fn without_safety_sections(header: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in header.lines() {
        inside = (inside || line == " * # Safety") && line != " */";
        if !inside {
            // The empty line before the section goes with it.
            let last = " *\n";
            if line == " */" && kept.ends_with(last) {
                kept.truncate(kept.len() - last.len());
            }
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// With IORACLE_WRITE_DOCS set the header is written instead.
#[test]
fn the_header_is_fresh() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/include/ioracle.h");
    let generated = generated();
    if std::env::var_os("IORACLE_WRITE_DOCS").is_some() {
        std::fs::write(path, &generated).expect("the header can be written");
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(written == generated, "include/ioracle.h is stale; run 'make docs'");
}
