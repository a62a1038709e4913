// SPDX-License-Identifier: MIT OR Apache-2.0

//! Functions and source lines of frames, from the debug information of the
//! programs and libraries they are in, or where there is none, from their symbol
//! tables.
//!
//! Looking them up may take long in a large program, so it is done on a thread of
//! its own that is left behind when the time is over: what was found until then
//! is used. Files are read and not mapped, because they may be replaced meanwhile;
//! one that is not the build that was loaded is not used.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use addr2line::gimli::{DwarfSections, EndianSlice, RunTimeEndian, SectionId};
use ioracle_trace::SourcePlace;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ReadCache};

use crate::shared::symbols::Symbols;

/// Frames that are looked up, and functions at one address.
const MAX_FRAMES: usize = 1 << 16;
const MAX_INLINED: usize = 16;
/// Bytes of debug information of one module.
const MAX_DEBUG_BYTES: u64 = 1 << 30;
/// Bytes of a name.
const MAX_NAME_BYTES: usize = 4096;

/// The frames of a job, by module.
#[derive(Debug, Default)]
pub struct SeenFrames {
    modules: BTreeMap<String, Module>,
    n_frames: usize,
}

#[derive(Debug, Default)]
struct Module {
    path: PathBuf,
    build_id: Vec<u8>,
    offsets: BTreeSet<u64>,
}

/// A frame (`module+0xoffset`) and where it is.
type Found = (String, Vec<SourcePlace>);

impl SeenFrames {
    /// A program or library, by the name that frames give it.
    pub fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
        // Of several modules of one name the first one counts.
        self.modules.entry(name.to_owned()).or_insert_with(|| Module {
            path: path.to_owned(),
            build_id: build_id.to_owned(),
            offsets: BTreeSet::new(),
        });
    }

    /// A call stack.
    pub fn context(&mut self, frames: &str) {
        for frame in frames.split(';') {
            if self.n_frames < MAX_FRAMES
                && let Some((module, offset)) = frame.rsplit_once("+0x")
                && let Some(module) = self.modules.get_mut(module)
                && let Ok(offset) = u64::from_str_radix(offset, 16)
                && module.offsets.insert(offset)
            {
                self.n_frames += 1;
            }
        }
    }

    /// Looks all frames up, for so long at most, and hands over what is found.
    pub fn resolve(self, at_most: Duration, mut take: impl FnMut(&str, &[SourcePlace])) {
        let deadline = Instant::now() + at_most;
        let (sender, receiver) = mpsc::channel::<Found>();
        let looking = thread::Builder::new().name("symbols".to_owned()).spawn(move || {
            for (name, module) in self.modules {
                let is_wanted = |found| sender.send(found).is_ok();
                if !module.resolve(&name, deadline, is_wanted) {
                    return;
                }
            }
        });
        if looking.is_err() {
            return;
        }
        while let Some(left) = deadline.checked_duration_since(Instant::now())
            && let Ok((frame, places)) = receiver.recv_timeout(left)
        {
            take(&frame, &places);
        }
    }
}

impl Module {
    /// Looks the frames of a module up; false if nobody wants more.
    fn resolve(
        &self,
        name: &str,
        deadline: Instant,
        mut is_wanted: impl FnMut(Found) -> bool,
    ) -> bool {
        if self.offsets.is_empty() {
            return true;
        }
        let symbols = Symbols::read(&self.path, &self.build_id);
        let sections = debug_sections(&self.path, &self.build_id);
        let dwarf = sections.as_ref().map(|(sections, endian)| {
            sections.borrow(|section| EndianSlice::new(section, *endian))
        });
        let context = dwarf.and_then(|dwarf| addr2line::Context::from_dwarf(dwarf).ok());
        for &offset in &self.offsets {
            if Instant::now() >= deadline {
                return false;
            }
            // The call itself: what follows it may be another line.
            let call = offset.saturating_sub(1);
            let mut places = context.as_ref().map(|it| places(it, call)).unwrap_or_default();
            if places.is_empty()
                && let Some(found) = symbols.as_ref().and_then(|symbols| symbols.find(offset))
            {
                let function = addr2line::demangle_auto(Cow::from(found.function), None);
                places.push(SourcePlace { function: cut(&function), ..SourcePlace::default() });
            }
            if !places.is_empty() && !is_wanted((format!("{name}+{offset:#x}"), places)) {
                return false;
            }
        }
        true
    }
}

/// The sections that hold debug information, if the file is of this build.
fn debug_sections(path: &Path, build_id: &[u8]) -> Option<(DwarfSections<Vec<u8>>, RunTimeEndian)> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    if elf.build_id().ok()?.unwrap_or_default() != build_id {
        return None;
    }
    let mut n_bytes = 0;
    let load = |id: SectionId| -> Result<Vec<u8>, ()> {
        let Some(section) = elf.section_by_name(id.name()) else { return Ok(Vec::new()) };
        n_bytes += section.size();
        if n_bytes > MAX_DEBUG_BYTES {
            return Err(());
        }
        Ok(section.uncompressed_data().map(Cow::into_owned).unwrap_or_default())
    };
    let sections = DwarfSections::load(load).ok()?;
    let endian = match elf.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    Some((sections, endian))
}

/// What the debug information says of an address, the innermost function first.
fn places(
    context: &addr2line::Context<EndianSlice<'_, RunTimeEndian>>,
    address: u64,
) -> Vec<SourcePlace> {
    let mut places = Vec::new();
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return places };
    while places.len() < MAX_INLINED
        && let Ok(Some(frame)) = frames.next()
    {
        let name = frame.function.as_ref().and_then(|name| name.demangle().ok());
        let location = frame.location.as_ref();
        let source = location.and_then(|location| location.file).unwrap_or_default();
        let line = location.and_then(|location| location.line).unwrap_or(0);
        let Some(name) = name else { continue };
        places.push(SourcePlace { function: cut(&name), source: cut(source), line });
    }
    places
}

fn cut(name: &str) -> Box<str> {
    let mut end = name.len().min(MAX_NAME_BYTES);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_program() -> (PathBuf, Vec<u8>) {
        let path = std::env::current_exe().unwrap();
        let cache = ReadCache::new(File::open(&path).unwrap());
        let elf = ElfFile64::<Endianness, _>::parse(&cache).unwrap();
        let build_id = elf.build_id().unwrap().unwrap_or_default().to_vec();
        (path, build_id)
    }

    fn resolve(build_id: &[u8], path: &Path, frames: &str, at_most: Duration) -> Vec<Found> {
        let mut seen = SeenFrames::default();
        seen.module("app", build_id, path);
        seen.context(frames);
        let mut found = Vec::new();
        seen.resolve(at_most, |frame, places| found.push((frame.to_owned(), places.to_vec())));
        found
    }

    #[test]
    fn what_is_no_program_or_another_build_has_no_lines() {
        let (path, _) = this_program();
        let at_most = Duration::from_secs(60);
        assert!(resolve(b"another build", &path, "app+0x1000", at_most).is_empty());
        for path in ["/dev/null", "/", "/no/such/file", "/proc/self/status"] {
            assert!(resolve(b"", path.as_ref(), "app+0x1000", at_most).is_empty(), "{path}");
        }
        let (path, build_id) = this_program();
        let nonsense = "app;app+0xzz;other+0x1;?+0x0";
        assert!(resolve(&build_id, &path, nonsense, at_most).is_empty());
    }

    #[test]
    fn no_time_no_lines() {
        let (path, build_id) = this_program();
        assert!(resolve(&build_id, &path, "app+0x1000", Duration::ZERO).is_empty());
    }
}
