// SPDX-License-Identifier: MIT OR Apache-2.0

//! A Python with h5py and netCDF4 from their wheels, which bring libraries of
//! their own: the one that `WHEELS_PYTHON` names, or one that is made in the
//! target directory, where `scripts/test-apps` makes and finds it too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use ioracle_testing::skip;

/// The interpreter; None, with a message, where it cannot be had.
pub fn python() -> Option<PathBuf> {
    static PYTHON: OnceLock<Option<PathBuf>> = OnceLock::new();
    let python = PYTHON.get_or_init(found_or_made);
    if python.is_none() {
        skip("there is no Python with h5py and netCDF4, and none could be made with pip");
    }
    python.clone()
}

/// The HDF5 that the wheel of h5py brings.
pub fn hdf5() -> Option<PathBuf> {
    let text = "import h5py, pathlib; print(pathlib.Path(h5py.__file__).parents[1] / 'h5py.libs')";
    let output = Command::new(python()?).args(["-c", text]).output().ok()?;
    let place = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let is_it = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("libhdf5-"))
    };
    let found = place.read_dir().ok()?.filter_map(|entry| Some(entry.ok()?.path())).find(is_it);
    if found.is_none() {
        skip(&format!("h5py has no libhdf5 of its own in '{}'", place.display()));
    }
    found
}

fn found_or_made() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("WHEELS_PYTHON") {
        return Some(PathBuf::from(given)).filter(|python| has_wheels(python));
    }
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?.join("wheels");
    let python = place.join("bin/python");
    if !has_wheels(&python) {
        succeeds(Command::new("python3").args(["-m", "venv"]).arg(&place));
        let install = ["-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "10"];
        succeeds(Command::new(&python).args(install).args(["h5py", "netCDF4"]));
    }
    Some(python).filter(|python| has_wheels(python))
}

fn has_wheels(python: &Path) -> bool {
    succeeds(Command::new(python).args(["-c", "import h5py, netCDF4"]))
}

fn succeeds(command: &mut Command) -> bool {
    let command = command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
