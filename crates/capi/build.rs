// SPDX-License-Identifier: MIT OR Apache-2.0

//! Gives the shared library the name that programs linked with it ask for.
//! It is installed as `libioracle.so.0…`, whatever cargo calls the file.

fn main() {
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").unwrap_or_default();
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libioracle.so.{major}");
    println!("cargo::rerun-if-changed=build.rs");
}
