// SPDX-License-Identifier: MIT OR Apache-2.0

//! Compiles the little that stable Rust cannot say: variadic definitions and
//! thread-locals in static TLS.

fn main() {
    println!("cargo::rerun-if-changed=src/variadic.c");
    cc::Build::new()
        .file("src/variadic.c")
        .flag_if_supported("-fvisibility=hidden")
        .warnings_into_errors(true)
        .opt_level(2)
        .compile("ioracle_variadic");
}
