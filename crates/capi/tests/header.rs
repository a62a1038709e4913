// SPDX-License-Identifier: MIT OR Apache-2.0

//! The headers of `include/` that are generated are what the source says.

use std::path::Path;

/// Sources in the order of the header.
const SOURCES: [&str; 14] = [
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
    "prediction_slot",
    "pattern",
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
// Makes an ioracle_config with all defaults.
#define IORACLE_CONFIG_INIT { sizeof(ioracle_config), 0, 0, 0, 0, 0, 0, 0 }

// Makes an ioracle_observation that says nothing yet.
#define IORACLE_OBSERVATION_INIT \\
    { sizeof(ioracle_observation), 0, 0, 0, NULL, 0, -1, -1, 0, 0, 0, 0, NULL, NULL, 0, 0 }";

const OMNISCIO_INTRODUCTION: &str = "\
/* SPDX-License-Identifier: MIT OR Apache-2.0
 *
 * The predictions of ioracle under the names of Omnisc'IO (SC14), for middleware
 * that was written for it: link with libioracle and run below 'ioracle run'.
 * docs/c-api.md lists the differences. This file is generated from the source of
 * the library: change that, and run 'make docs'.
 */";

fn config(introduction: &str, guard: &str) -> cbindgen::Config {
    cbindgen::Config {
        language: cbindgen::Language::C,
        style: cbindgen::Style::Both,
        cpp_compat: true,
        usize_is_size_t: true,
        header: Some(introduction.to_owned()),
        include_guard: Some(guard.to_owned()),
        documentation_style: cbindgen::DocumentationStyle::C99,
        line_length: 90,
        tab_width: 4,
        no_includes: true,
        ..cbindgen::Config::default()
    }
}

fn ioracle_h() -> String {
    let mut config = config(INTRODUCTION, "IORACLE_H");
    config.sys_includes = ["stdbool.h", "stddef.h", "stdint.h"].map(str::to_owned).to_vec();
    // Not as the trailer, which stands behind the guard.
    config.after_includes = Some(format!("\n{INITIALISERS}"));
    config.export.include = vec!["ioracle_access".to_owned()];
    generated(config, &SOURCES)
}

fn omniscio_h() -> String {
    generated(config(OMNISCIO_INTRODUCTION, "OMNISCIO_H"), &["omniscio"])
}

fn generated(config: cbindgen::Config, sources: &[&str]) -> String {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let builder = cbindgen::Builder::new().with_config(config);
    let builder = sources
        .iter()
        .fold(builder, |builder, name| builder.with_src(directory.join(name).with_extension("rs")));
    let mut header = Vec::new();
    builder.generate().expect("the source can be read").write(&mut header);
    let header = String::from_utf8(header).expect("the header is text");
    // The word is one of Rust's own.
    without_safety_sections(&header).replace(" type_;", " type;")
}

/// What Rust calls safety is what C takes for granted.
fn without_safety_sections(header: &str) -> String {
    let mut kept = String::new();
    let mut inside = false;
    for line in header.lines() {
        inside = (inside && line.starts_with("//")) || line == "// # Safety";
        if inside {
            // The empty line before the section goes with it.
            kept.truncate(kept.strip_suffix("//\n").unwrap_or(&kept).len());
        } else {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

/// With IORACLE_WRITE_DOCS set the headers are written instead.
#[test]
fn the_headers_are_fresh() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("include");
    for (name, generated) in [("ioracle.h", ioracle_h()), ("omniscio.h", omniscio_h())] {
        let path = directory.join(name);
        if std::env::var_os("IORACLE_WRITE_DOCS").is_some() {
            std::fs::write(&path, &generated).expect("the header can be written");
        }
        let written = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(written == generated, "include/{name} is stale; run 'make docs'");
    }
}
