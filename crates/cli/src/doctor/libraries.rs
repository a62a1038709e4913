// SPDX-License-Identifier: MIT OR Apache-2.0

//! The I/O libraries of the machine, found where the dynamic linker looks.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::finding::Diagnosis;

/// A library that programs do their I/O through.
struct Library {
    name: &'static str,
    /// How names of its files begin, and what they are; the last that fits is
    /// the most exact.
    kinds: &'static [(&'static str, &'static str)],
    /// Which of its calls are captured.
    captured: &'static str,
}

const LIBRARIES: [Library; 4] = [
    Library {
        name: "MPI",
        kinds: &[
            ("libmpi.so.", "Open MPI"),
            ("libmpich.so.", "MPICH"),
            ("libmpi.so.12", "MPICH or Intel MPI"),
        ],
        captured: "MPI-IO is captured in C and Fortran",
    },
    Library {
        name: "HDF5",
        kinds: &[
            ("libhdf5.so.", "HDF5"),
            ("libhdf5_serial.so.", "serial"),
            ("libhdf5_mpich.so.", "parallel with MPICH"),
            ("libhdf5_openmpi.so.", "parallel with Open MPI"),
        ],
        captured: "files, datasets and attributes are captured, including copies bundled in \
                   Python wheels",
    },
    Library {
        name: "netCDF",
        kinds: &[
            ("libnetcdf.so.", "netCDF"),
            ("libnetcdf_mpi.so.", "parallel"),
            ("libnetcdff.so.", "its Fortran library"),
        ],
        captured: "files and variables are captured in C and Fortran, including copies \
                   bundled in Python wheels",
    },
    Library {
        name: "PnetCDF",
        kinds: &[("libpnetcdf.so.", "PnetCDF")],
        captured: "files and variables are captured in C and Fortran",
    },
];

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

/// Which of them are installed.
pub fn examine() -> Vec<Diagnosis> {
    let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let places: Vec<PathBuf> =
        std::env::split_paths(&given).chain(PLACES.map(PathBuf::from)).collect();
    LIBRARIES.iter().map(|library| library.said(&library.found_in(&places))).collect()
}

impl Library {
    fn said(&self, found: &BTreeMap<&'static str, PathBuf>) -> Diagnosis {
        if found.is_empty() {
            return Diagnosis::note(
                self.name,
                "none was found in the usual places or in LD_LIBRARY_PATH; one that a program \
                 brings is found when the program uses it",
            );
        }
        let found: Vec<String> =
            found.iter().map(|(kind, path)| format!("{kind} ('{}')", path.display())).collect();
        Diagnosis::ok(self.name, format_args!("{}; {}", found.join(" and "), self.captured))
    }

    /// The first file of each kind.
    fn found_in(&self, places: &[PathBuf]) -> BTreeMap<&'static str, PathBuf> {
        let mut found = BTreeMap::new();
        for place in places {
            let Ok(entries) = fs::read_dir(place) else { continue };
            let mut names: Vec<PathBuf> =
                entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            names.sort();
            for path in names {
                if let Some(kind) = self.kind_of(&path) {
                    found.entry(kind).or_insert(path);
                }
            }
        }
        found
    }

    fn kind_of(&self, path: &Path) -> Option<&'static str> {
        let name = path.file_name()?.to_str()?;
        let fits = self.kinds.iter().rev().find(|(start, _)| name.starts_with(start));
        fits.map(|(_, kind)| *kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_recognised_by_their_names() {
        let [mpi, hdf5, netcdf, pnetcdf] = &LIBRARIES;
        let place = tempfile::tempdir().unwrap();
        for name in [
            "libmpi.so.40",
            "libmpi.so.40.30.4",
            "libmpich.so.12",
            "libmpi_cxx.so.40",
            "libhdf5_serial.so.103",
            "libhdf5_serial_hl.so.100",
            "libhdf5.so.310",
            "libnetcdf.so.19",
            "libpnetcdf.so.4",
        ] {
            fs::write(place.path().join(name), "").unwrap();
        }
        let places = [place.path().to_owned(), "/nowhere".into()];
        let check = |library: &Library, expected: &[(&str, &str)]| {
            let found = library.found_in(&places);
            let names: Vec<_> = found
                .iter()
                .map(|(kind, path)| (*kind, path.file_name().unwrap().to_str().unwrap()))
                .collect();
            assert_eq!(names, expected);
            assert!(library.said(&found).text.ends_with(library.captured));
            assert!(library.said(&BTreeMap::new()).text.starts_with("none was found"));
        };
        check(mpi, &[("MPICH", "libmpich.so.12"), ("Open MPI", "libmpi.so.40")]);
        check(hdf5, &[("HDF5", "libhdf5.so.310"), ("serial", "libhdf5_serial.so.103")]);
        check(netcdf, &[("netCDF", "libnetcdf.so.19")]);
        check(pnetcdf, &[("PnetCDF", "libpnetcdf.so.4")]);
        assert_eq!(mpi.kind_of("/opt/lib/libmpi.so.12".as_ref()), Some("MPICH or Intel MPI"));
    }
}
