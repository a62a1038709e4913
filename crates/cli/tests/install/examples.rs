// SPDX-License-Identifier: MIT OR Apache-2.0

//! The examples, built as users build them.

use std::path::Path;
use std::process::Command;

use crate::build::{command, examples, have, prefix, run};

const LANGUAGES: [(&str, &str); 3] = [("c", "cc"), ("cpp", "g++"), ("fortran", "gfortran")];

/// Runs both programs of a language; `wrapper` goes before them.
fn check(built: &Path, language: &str, wrapper: &[&str]) {
    let start = |program: &str| {
        let program = built.join(format!("{program}-{language}"));
        match wrapper {
            [] => command(program),
            [first, more @ ..] => {
                let mut wrapped = command(first);
                wrapped.args(more).arg(program);
                wrapped
            }
        }
    };
    let next = run(&mut start("next"));
    assert!(next.contains("checkpoint_020.dat"), "{next}");
    assert!(next.contains("1048576"), "{next}");
    let data = tempfile::tempdir().unwrap();
    let out = run(start("prefetch").arg(data.path()));
    let predicted: u32 = out.split(' ').next().unwrap().parse().expect(&out);
    assert!(out.contains(" of 384 reads were predicted") && predicted > 360, "{out}");
}

fn make(place: &Path, language: &str, out: &str, settings: &[&str]) {
    let mut make = command("make");
    make.arg("-C").arg(place).arg(language).arg(format!("OUT={out}")).args(settings);
    run(&mut make);
}

/// Does something with the examples of every language that has a compiler here.
fn with_each(tools: &[&str], body: impl Fn(&Path, &str)) {
    if !have(tools) {
        return;
    }
    let place = examples();
    for (language, compiler) in LANGUAGES {
        if have(&[compiler]) {
            body(place.path(), language);
        }
    }
}

#[test]
fn they_are_built_with_pkg_config_and_run() {
    with_each(&["make", "pkg-config"], |place, language| {
        let strict = ["CFLAGS=-O2 -Wall -Wextra -Wpedantic -Werror", "FFLAGS=-O2 -Wall -Werror"];
        make(place, language, "build", &strict);
        check(&place.join("build"), language, &[]);
    });
}

/// As their README says. `$(shell)` of GNU Make before 4.4 does not see such a
/// variable, so pkg-config found nothing.
#[test]
fn the_package_can_be_named_on_the_command_line_of_make() {
    with_each(&["make", "pkg-config"], |place, language| {
        let package = format!("PKG_CONFIG_PATH={}", prefix().join("lib/pkgconfig").display());
        let mut make = command("make");
        make.env_remove("PKG_CONFIG_PATH").arg("-C").arg(place).args([language, &package]);
        run(&mut make);
        check(&place.join("build"), language, &[]);
    });
}

#[test]
fn a_package_that_is_not_found_is_named_with_what_to_do() {
    if !have(&["make", "pkg-config"]) {
        return;
    }
    let place = examples();
    let mut make = command("make");
    make.arg("-C").arg(place.path()).arg("PKG_CONFIG_PATH=/nowhere");
    let failed = make.output().expect("make starts");
    let said = String::from_utf8_lossy(&failed.stderr).into_owned();
    assert!(!failed.status.success() && said.contains("ioracle was not found"), "{said}");
}

#[test]
fn they_run_under_sanitizers() {
    const SANITIZE: &str = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all";
    with_each(&["make", "pkg-config"], |place, language| {
        let flags = ["CFLAGS", "FFLAGS"].map(|name| format!("{name}={SANITIZE}"));
        make(place, language, "sanitized", &flags.each_ref().map(String::as_str));
        check(&place.join("sanitized"), language, &[]);
    });
}

#[test]
fn they_run_under_valgrind() {
    const VALGRIND: [&str; 5] = [
        "valgrind",
        "--quiet",
        "--error-exitcode=9",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite,possible",
    ];
    with_each(&["make", "pkg-config", "valgrind"], |place, language| {
        make(place, language, "build", &[]);
        check(&place.join("build"), language, &VALGRIND);
    });
}

#[test]
fn they_are_built_with_cmake_and_run() {
    with_each(&["cmake", "g++"], |place, language| {
        // One build has all languages.
        let built = place.join("cmake");
        if !built.exists() {
            let mut prepared = command("cmake");
            prepared.arg("-S").arg(place).arg("-B").arg(&built);
            let mut setting = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
            setting.push(prefix());
            run(prepared.arg(setting));
            run(command("cmake").arg("--build").arg(&built));
        }
        check(&built, language, &[]);
    });
}

#[test]
fn cmake_is_refused_another_version() {
    if !have(&["cmake"]) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let find = |version: &str| {
        let text = format!(
            "cmake_minimum_required(VERSION 3.13)\nproject(p LANGUAGES C)\n\
             find_package(ioracle {version} REQUIRED)\n"
        );
        std::fs::write(place.path().join("CMakeLists.txt"), text).unwrap();
        let mut setting = std::ffi::OsString::from("-DCMAKE_PREFIX_PATH=");
        setting.push(prefix());
        let mut cmake = Command::new("cmake");
        cmake.arg("-S").arg(place.path()).arg("-B").arg(place.path().join(version)).arg(setting);
        cmake.output().expect("cmake starts").status.success()
    };
    assert!(find("0.1") && find(env!("CARGO_PKG_VERSION")));
    assert!(!find("1.0") && !find("0.99"));
}
