// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the page cache holds of a file.

use std::fs::File;
use std::io::IoSliceMut;
use std::path::Path;

use rustix::fs::{Advice, fadvise};
use rustix::io::{Errno, ReadWriteFlags, preadv2};

/// Pages that are asked for.
const PROBES: u64 = 64;

/// Removes a file from the page cache. Pages that still have to be written
/// stay, so it should have been synced.
pub(crate) fn evict(file: &File) {
    // A file system that ignores the advice shows in the residency.
    let _ = fadvise(file, 0, None, Advice::DontNeed);
}

/// The share of a file's pages that are in the page cache, from a sample of
/// them; nothing where the kernel does not say.
///
/// A page that is not there is asked for with `RWF_NOWAIT`, which may start to
/// read it: evict afterwards if it has to stay out.
pub fn residency(path: &Path) -> Option<f64> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    // Without this, asking for one page would bring many.
    let _ = fadvise(&file, 0, None, Advice::Random);
    let n = PROBES.min(length.div_ceil(4096));
    if n == 0 {
        return None;
    }
    let mut resident = 0;
    for probe in 0..n {
        let mut byte = [0];
        let offset = (u128::from(length) * u128::from(probe) / u128::from(n)) as u64;
        let read =
            preadv2(&file, &mut [IoSliceMut::new(&mut byte)], offset, ReadWriteFlags::NOWAIT);
        match read {
            Ok(_) => resident += 1,
            Err(Errno::AGAIN) => {}
            Err(_) => return None,
        }
    }
    Some(f64::from(resident) / n as f64)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn an_evicted_file_is_not_resident_and_one_that_was_read_is() {
        let place = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = place.path().join("data");
        let mut file = File::create(&path).unwrap();
        file.write_all(&vec![7; 1 << 20]).unwrap();
        file.sync_all().unwrap();
        let Some(written) = residency(&path) else {
            ioracle_testing::skip("this file system does not say what is cached");
            return;
        };
        evict(&file);
        let evicted = residency(&path).unwrap();
        std::fs::read(&path).unwrap();
        let read = residency(&path).unwrap();
        assert_eq!((written, read), (1.0, 1.0));
        if evicted > 0.1 {
            ioracle_testing::skip("this file system does not evict");
        }
    }
}
