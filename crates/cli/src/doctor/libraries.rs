// SPDX-License-Identifier: MIT OR Apache-2.0

//! The MPI libraries of the machine, found where the dynamic linker looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::finding::Finding;

/// How names of libraries begin, and what they are.
const KNOWN: [(&str, &str); 3] =
    [("libmpi.so.", "Open MPI"), ("libmpich.so.", "MPICH"), ("libmpi.so.12", "MPICH or Intel MPI")];

/// Where Debian, Red Hat and others put libraries.
const PLACES: [&str; 7] = [
    "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64",
    "/usr/lib64/openmpi/lib",
    "/usr/lib64/mpich/lib",
    "/usr/lib",
    "/usr/local/lib",
    "/lib/x86_64-linux-gnu",
];

/// Which MPI there is.
pub fn examine() -> Finding {
    let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let places = std::env::split_paths(&given).chain(PLACES.map(PathBuf::from));
    said(&found_in(places))
}

fn said(found: &BTreeMap<&'static str, PathBuf>) -> Finding {
    if found.is_empty() {
        return Finding::note(
            "MPI",
            "none was found in the usual places or in LD_LIBRARY_PATH; one that a program brings \
             is found when the program uses it",
        );
    }
    let found: Vec<String> =
        found.iter().map(|(name, path)| format!("{name} ('{}')", path.display())).collect();
    Finding::ok("MPI", format_args!("{}; MPI-IO is captured in C and Fortran", found.join(" and ")))
}

/// The first library of each kind.
fn found_in(places: impl Iterator<Item = PathBuf>) -> BTreeMap<&'static str, PathBuf> {
    let mut found = BTreeMap::new();
    for place in places {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        let mut names: Vec<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        names.sort();
        for path in names {
            if let Some(kind) = kind_of(&path) {
                found.entry(kind).or_insert(path);
            }
        }
    }
    found
}

/// The last of the table that fits is the most exact.
fn kind_of(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let fits = KNOWN.iter().rev().find(|(start, _)| name.starts_with(start));
    fits.map(|(_, kind)| *kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_names() {
        let place = tempfile::tempdir().unwrap();
        for name in ["libmpi.so.40", "libmpi.so.40.30.4", "libmpich.so.12", "libmpi_cxx.so.40"] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let found = found_in([place.path().to_owned(), "/nowhere".into()].into_iter());
        let names: Vec<_> =
            found.iter().map(|(kind, path)| (*kind, path.file_name().unwrap())).collect();
        assert_eq!(
            names,
            [("MPICH", "libmpich.so.12".as_ref()), ("Open MPI", "libmpi.so.40".as_ref())]
        );
        assert!(said(&found).text.ends_with("MPI-IO is captured in C and Fortran"));
        assert!(said(&BTreeMap::new()).text.starts_with("none was found"));
        assert_eq!(kind_of("/opt/lib/libmpi.so.12".as_ref()), Some("MPICH or Intel MPI"));
    }
}
