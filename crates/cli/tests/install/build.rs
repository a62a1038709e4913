// SPDX-License-Identifier: MIT OR Apache-2.0

//! The prefix that the tests build against, and how they build and run.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

use ioracle_testing::skip;
use tempfile::TempDir;

/// Installs into a new prefix, as `make install` does after its build.
pub fn install(destination: &Path, prefix: &str) {
    run(installer().args([built().as_os_str(), prefix.as_ref()]).env("DESTDIR", destination));
}

/// Takes away what is below a prefix.
pub fn uninstall(destination: &Path, prefix: &str) {
    run(installer().args(["--remove", prefix]).env("DESTDIR", destination));
}

/// A prefix for all tests, moved after it was installed: nothing in it may
/// remember where it was.
pub fn prefix() -> &'static Path {
    static PREFIX: LazyLock<PathBuf> = LazyLock::new(|| {
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("install");
        // Statics are not dropped: it stays until the next run of the tests.
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory to install in");
        install(&directory, "/first");
        let moved = directory.join("moved");
        std::fs::rename(directory.join("first"), &moved).expect("a prefix can be moved");
        moved
    });
    &PREFIX
}

/// A directory outside of the tree, with a copy of the installed examples.
pub fn examples() -> TempDir {
    let place = tempfile::tempdir().expect("a temporary directory");
    let installed = prefix().join("share/ioracle/examples/.");
    run(Command::new("cp").arg("-r").arg(installed).arg(place.path()));
    place
}

/// A command that finds the installed package.
pub fn command(program: impl AsRef<std::ffi::OsStr>) -> Command {
    let mut command = Command::new(program);
    command
        .env("PKG_CONFIG_PATH", prefix().join("lib/pkgconfig"))
        .env("ASAN_OPTIONS", "detect_leaks=1")
        // What `cargo test` says to its own build is not for others.
        .env_remove("LD_LIBRARY_PATH")
        .env_remove("MAKEFLAGS")
        .env_remove("MAKELEVEL")
        .env_remove("CARGO_MAKEFLAGS");
    command
}

/// What it prints; fails where it does.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let Output { status, stdout, stderr } = output;
    let (out, err) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{command:?} ended with {status}\n{out}{err}");
    out.into_owned()
}

/// Whether all of these tools can be started; says which cannot.
pub fn have(tools: &[&str]) -> bool {
    let missing = tools.iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        skip(&format!("there is no '{tool}'"));
    }
    missing.is_none()
}

fn installer() -> Command {
    Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/install"))
}

/// The command and the libraries of this build, as a release build has them.
fn built() -> &'static Path {
    static BUILT: LazyLock<PathBuf> = LazyLock::new(|| {
        let ioracle = Path::new(env!("CARGO_BIN_EXE_ioracle"));
        let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("built to install");
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("a directory for what was built");
        symlink(ioracle, directory.join("ioracle")).expect("a link");
        for library in ["libioracle_capture.so", "libioracle_capi.so"] {
            let built = ioracle.with_file_name("deps").join(library);
            assert!(built.exists(), "{library} was not built at '{}'", built.display());
            symlink(built, directory.join(library)).expect("a link");
        }
        directory
    });
    &BUILT
}
