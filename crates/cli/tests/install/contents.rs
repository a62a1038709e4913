// SPDX-License-Identifier: MIT OR Apache-2.0

//! What lies below the prefix.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::build::{have, install, prefix, run, uninstall};

/// All files and links below a directory.
fn files(root: &Path) -> BTreeSet<String> {
    let listed = run(Command::new("find").arg(root).args(["!", "-type", "d", "-printf", "%P\n"]));
    listed.lines().map(str::to_owned).collect()
}

#[test]
fn everything_is_installed_and_taken_away_again() {
    let root = tempfile::tempdir().unwrap();
    install(root.path(), "/opt/with space");
    let prefix = root.path().join("opt/with space");
    let installed = files(&prefix);
    let expected = [
        "bin/ioracle",
        "lib/libioracle-capture.so",
        "lib/libioracle.so",
        "lib/libioracle.so.0",
        concat!("lib/libioracle.so.", env!("CARGO_PKG_VERSION")),
        "lib/pkgconfig/ioracle.pc",
        "lib/cmake/ioracle/ioracleConfig.cmake",
        "lib/cmake/ioracle/ioracleConfigVersion.cmake",
        "include/ioracle.h",
        "include/ioracle.hpp",
        "include/omniscio.h",
        "share/ioracle/ioracle.f90",
        "share/ioracle/examples/README.md",
        "share/ioracle/examples/Makefile",
        "share/ioracle/examples/CMakeLists.txt",
        "share/ioracle/examples/c/prefetch.c",
        "share/ioracle/examples/c/server.c",
        "share/ioracle/examples/cpp/prefetch.cpp",
        "share/ioracle/examples/fortran/prefetch.f90",
        "share/doc/ioracle/LICENSE-MIT",
        "share/doc/ioracle/LICENSE-APACHE",
        "share/doc/ioracle/docs/c-api.md",
        "share/man/man1/ioracle.1",
        "share/man/man1/ioracle-run.1",
        "share/man/man1/ioracle-model-save.1",
        "share/bash-completion/completions/ioracle",
        "share/zsh/site-functions/_ioracle",
        "share/fish/vendor_completions.d/ioracle.fish",
    ];
    for file in expected {
        assert!(installed.contains(file), "{file} is not among {installed:?}");
    }
    // What others put there stays.
    std::fs::write(prefix.join("share/ioracle/mine"), "").unwrap();
    install(root.path(), "/opt/with space");
    uninstall(root.path(), "/opt/with space");
    assert_eq!(files(&prefix), BTreeSet::from(["share/ioracle/mine".to_owned()]));
    uninstall(root.path(), "/opt/with space");
}

#[test]
fn the_pages_lead_to_nothing_that_is_not_installed() {
    let prefix = prefix();
    let pages = files(prefix).into_iter().filter(|file| file.ends_with(".md"));
    let mut n_links = 0;
    for page in pages {
        let text = std::fs::read_to_string(prefix.join(&page)).unwrap();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split([')', '#']).next());
        for link in links.filter(|link| !link.is_empty() && !link.contains("://")) {
            let target = prefix.join(&page).with_file_name("").join(link);
            assert!(target.exists(), "{page} leads to {link}, which is not installed");
            n_links += 1;
        }
    }
    assert!(n_links > 50, "only {n_links} links were looked at");
}

#[test]
fn the_installed_command_runs_programs_with_its_library() {
    let ioracle = prefix().join("bin/ioracle");
    let out = run(Command::new(ioracle).args(["run", "--", "cat", "/etc/passwd"]));
    assert!(!out.is_empty());
}

#[test]
fn nothing_but_the_interface_is_exported() {
    if !have(&["nm", "readelf"]) {
        return;
    }
    let library = prefix().join("lib/libioracle.so");
    let listed = run(Command::new("nm").args(["-D", "--defined-only"]).arg(&library));
    let symbols: BTreeSet<&str> =
        listed.lines().filter_map(|line| line.split_whitespace().nth(2)).collect();
    let foreign: Vec<_> = symbols
        .iter()
        .filter(|name| !name.starts_with("ioracle_") && !name.starts_with("omniscio_"))
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    // And all that the headers declare is there.
    for header in ["ioracle.h", "omniscio.h"] {
        let text = std::fs::read_to_string(prefix().join("include").join(header)).unwrap();
        for name in declared(&text) {
            assert!(symbols.contains(name), "{header} declares {name}, which is not exported");
        }
    }
    let dynamic = run(Command::new("readelf").arg("-d").arg(&library));
    assert!(dynamic.contains("[libioracle.so.0]"), "{dynamic}");
}

/// The functions that a header declares: names before the first parenthesis of
/// lines that are no comments.
fn declared(header: &str) -> impl Iterator<Item = &str> {
    let lines = header.lines().filter(|line| !line.trim_start().starts_with("//"));
    let heads = lines.filter_map(|line| line.split_once('(')).map(|(head, _)| head);
    let names = heads.filter_map(|head| head.rsplit([' ', '*']).next());
    names.filter(|name| name.starts_with("ioracle_") || name.starts_with("omniscio_"))
}

#[test]
fn headers_compile_without_a_warning() {
    const STRICT: [&str; 7] =
        ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-Wshadow", "-Wconversion", "-fsyntax-only"];
    const C: &str = "#include <ioracle.h>\n#include <omniscio.h>\n\
        ioracle_config config = IORACLE_CONFIG_INIT;\n\
        ioracle_observation call = IORACLE_OBSERVATION_INIT;\n";
    const CPP: &str = "#include <ioracle.hpp>\n#include <omniscio.h>\n\
        ioracle::oracle model;\nauto set = model.predict();\nauto copy = set;\n";
    let rows = [
        ("gcc", "c", C, &["c99", "c11", "c17"][..]),
        ("clang", "c", C, &["c99", "c11", "c17"]),
        ("g++", "c++", CPP, &["c++17", "c++20"]),
        ("clang++", "c++", CPP, &["c++17", "c++20"]),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (compiler, language, source, standards) in rows {
        if !have(&[compiler]) {
            continue;
        }
        let file = directory.path().join("headers");
        std::fs::write(&file, source).unwrap();
        for standard in standards {
            let mut command = Command::new(compiler);
            command.arg(format!("-std={standard}")).args(STRICT).args(["-x", language]);
            run(command.arg("-I").arg(prefix().join("include")).arg(&file));
        }
    }
}
