// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the capture library is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use ioracle_spool::settings;

/// As it is installed, and as cargo builds it.
const NAMES: [&str; 2] = ["libioracle-capture.so", "libioracle_capture.so"];

const ORACLE_NAMES: [&str; 2] = ["libioracle.so", "libioracle_capi.so"];

/// The library to preload: the one that `IORACLE_LIBRARY` names, else one
/// beside this command, or in `../lib` from it.
pub fn find() -> Result<PathBuf> {
    let library = match std::env::var_os(settings::LIBRARY).filter(|given| !given.is_empty()) {
        Some(given) => named(Path::new(&given))?,
        None => installed()?,
    };
    check_name(&library)?;
    Ok(library)
}

/// The library with the oracle, which lies beside the capture library.
pub fn find_oracle(capture: &Path) -> Result<PathBuf> {
    let beside = capture.parent().unwrap_or(Path::new("/"));
    let places = ORACLE_NAMES.map(|name| beside.join(name));
    let Some(library) = places.into_iter().find(|place| place.is_file()) else {
        bail!(
            "there is no {} in '{}', which learning inside the program needs; install it with \
             'make install', or leave --in-process out",
            ORACLE_NAMES[0],
            beside.display()
        );
    };
    check_name(&library)?;
    Ok(library)
}

fn named(given: &Path) -> Result<PathBuf> {
    match given.canonicalize() {
        Ok(library) if library.is_file() => Ok(library),
        _ => bail!(
            "there is no capture library '{}', which {} names; correct or unset it",
            given.display(),
            settings::LIBRARY
        ),
    }
}

fn installed() -> Result<PathBuf> {
    let command = std::env::current_exe()?;
    let beside = command.parent().unwrap_or(Path::new("/"));
    let directories = [beside.to_owned(), beside.join("../lib")];
    let places = directories.iter().flat_map(|place| NAMES.map(|name| place.join(name)));
    match places.filter_map(|place| place.canonicalize().ok()).find(|place| place.is_file()) {
        Some(library) => Ok(library),
        None => bail!(
            "the capture library {} was found neither in '{}' nor in its '../lib'; install it \
             with 'make install', or name it with {}",
            NAMES[0],
            beside.display(),
            settings::LIBRARY
        ),
    }
}

/// The dynamic linker takes spaces and colons for the ends of names.
fn check_name(library: &Path) -> Result<()> {
    if separates(library.as_os_str()) {
        bail!(
            "'{}' cannot be preloaded, as there is a space or a colon in its path; name a copy \
             elsewhere with {}",
            library.display(),
            settings::LIBRARY
        );
    }
    Ok(())
}

fn separates(path: &OsStr) -> bool {
    path.as_bytes().iter().any(|byte| b" :".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_that_the_linker_would_split_are_refused() {
        assert!(check_name(Path::new("/opt/my tools/lib.so")).is_err());
        assert!(check_name(Path::new("/opt/a:b/lib.so")).is_err());
        assert!(check_name(Path::new("/opt/tools/lib.so")).is_ok());
    }

    #[test]
    fn without_an_oracle_beside_it_it_is_said_what_to_do() {
        let error = find_oracle(Path::new("/no/libioracle-capture.so")).unwrap_err().to_string();
        assert!(error.contains("'/no'") && error.contains("--in-process"), "{error}");
    }

    #[test]
    fn a_library_that_is_not_there_is_reported_with_its_variable() {
        let error = named(Path::new("/no/lib.so")).unwrap_err().to_string();
        assert!(error.contains("/no/lib.so") && error.contains("IORACLE_LIBRARY"), "{error}");
    }
}
