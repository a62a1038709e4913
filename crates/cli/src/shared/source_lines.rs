// SPDX-License-Identifier: MIT OR Apache-2.0

//! Functions and source lines of frames, from the debug information of the
//! programs and libraries they are in, or where there is none, from their symbol
//! tables.
//!
//! Looking them up may take long in a large program, so it is done while the program
//! runs, on a thread of its own that is left behind when the time after its end is over:
//! what was found until then is used. Files are read and not mapped, because they may be
//! replaced meanwhile; one that is not the build that was loaded is not used.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

use addr2line::gimli::{Dwarf, EndianSlice, RunTimeEndian, SectionId};
use ioracle_events::readable;
use ioracle_insight::FrameSource;
use ioracle_trace::SourcePlace;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection};

use crate::shared::module_file::ModuleFile;
use crate::shared::symbols::Symbols;

/// Frames that are looked up, and functions at one address.
const MAX_FRAMES: usize = 1 << 16;
const MAX_INLINED: usize = 16;
/// Bytes of debug information of one module.
const MAX_DEBUG_BYTES: u64 = 1 << 30;
/// Bytes of a name.
const MAX_NAME_BYTES: usize = 4096;

/// Bytes of the files whose tables are kept while the program runs. Those of the others
/// are read when it has ended, once for all of their frames.
const MAX_KEPT_BYTES: u64 = 128 << 20;

/// The frames of a job, which are looked up as they come.
#[derive(Debug)]
pub struct SourceLookup {
    /// Number and frames of each module, by the name that frames give it.
    modules: BTreeMap<String, (usize, HashSet<u64>)>,
    n_frames: usize,
    wanted: Sender<Wanted>,
    found: Receiver<Found>,
}

/// What to look up.
enum Wanted {
    Module(Module),
    Frame { module: usize, offset: u64 },
}

/// A frame (`module+0xoffset`) and where it is.
type Found = (String, Vec<SourcePlace>);

impl SourceLookup {
    /// Begins to wait for frames; `None` if no thread could be started.
    pub fn begin() -> Option<SourceLookup> {
        let (wanted, to_look_up) = mpsc::channel();
        let (sender, found) = mpsc::channel();
        let thread = thread::Builder::new().name("symbols".to_owned());
        thread.spawn(move || look_up(&to_look_up, &sender)).ok()?;
        Some(SourceLookup { modules: BTreeMap::new(), n_frames: 0, wanted, found })
    }

    /// A program or library, by the name that frames give it.
    pub fn module(&mut self, name: &str, build_id: &[u8], path: &Path) {
        // Of several modules of one name the first one counts.
        if self.modules.contains_key(name) {
            return;
        }
        self.modules.insert(name.to_owned(), (self.modules.len(), HashSet::new()));
        // A thread that has ended looks up nothing.
        let _ = self.wanted.send(Wanted::Module(Module {
            name: name.to_owned(),
            path: path.to_owned(),
            build_id: build_id.to_owned(),
            tables: None,
            left: Vec::new(),
        }));
    }

    /// A call stack.
    pub fn context(&mut self, frames: &str) {
        for frame in frames.split(';') {
            if self.n_frames < MAX_FRAMES
                && let Some((module, offset)) = frame.rsplit_once("+0x")
                && let Some((module, offsets)) = self.modules.get_mut(module)
                && let Ok(offset) = u64::from_str_radix(offset, 16)
                && offsets.insert(offset)
            {
                self.n_frames += 1;
                let _ = self.wanted.send(Wanted::Frame { module: *module, offset });
            }
        }
    }

    /// Looks up what is left, for at most this long, and hands over all that is found.
    pub fn finish(self, at_most: Duration, mut take: impl FnMut(&str, &[SourcePlace])) {
        let SourceLookup { wanted, found, .. } = self;
        drop(wanted);
        let deadline = Instant::now() + at_most;
        let left = || deadline.saturating_duration_since(Instant::now());
        while let Ok((frame, places)) = found.recv_timeout(left()) {
            take(&frame, &places);
        }
    }
}

/// What advice shows for a place: the first of the functions at an address, because a
/// reader looks for an inlined function itself.
pub fn frame_source(place: &SourcePlace) -> FrameSource {
    let some = |text: &str| Some(readable(text).into_owned()).filter(|it| !it.is_empty());
    FrameSource {
        function: some(&place.function),
        file: some(&place.source),
        line: Some(place.line).filter(|line| *line > 0),
    }
}

/// Looks up frames until no more come.
fn look_up(wanted: &Receiver<Wanted>, found: &Sender<Found>) {
    let mut modules: Vec<Module> = Vec::new();
    let mut n_kept = 0;
    for wanted in wanted {
        match wanted {
            Wanted::Module(module) => modules.push(module),
            Wanted::Frame { module, offset } => {
                let Some(module) = modules.get_mut(module) else { continue };
                match module.is_kept(&mut n_kept) {
                    true => module.find(offset, found),
                    false => module.left.push(offset),
                }
            }
        }
    }
    for mut module in modules {
        let left = std::mem::take(&mut module.left);
        left.into_iter().for_each(|offset| module.find(offset, found));
    }
}

/// A program or library.
struct Module {
    name: String,
    path: PathBuf,
    build_id: Vec<u8>,
    /// What its file says, once it was read.
    tables: Option<Box<Tables>>,
    /// Frames to be looked up at the end.
    left: Vec<u64>,
}

#[derive(Default)]
struct Tables {
    symbols: Option<Symbols>,
    lines: Option<addr2line::Context<DebugSection>>,
}

/// Sections that were read live as long as this process: the tables that refer to them are
/// kept until it ends.
type DebugSection = EndianSlice<'static, RunTimeEndian>;

impl Module {
    /// Whether there is room to keep its tables, or they are kept already.
    fn is_kept(&self, n_kept: &mut u64) -> bool {
        if self.tables.is_some() {
            return true;
        }
        let length = std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len());
        let is_kept = self.left.is_empty() && *n_kept + length <= MAX_KEPT_BYTES;
        *n_kept += if is_kept { length } else { 0 };
        is_kept
    }

    /// Looks a frame up, and hands over what is known about it.
    fn find(&mut self, offset: u64, found: &Sender<Found>) {
        let tables = self.tables.get_or_insert_with(|| {
            Box::new(Tables {
                symbols: Symbols::read(&self.path, &self.build_id),
                lines: debug_lines(&self.path, &self.build_id),
            })
        });
        // The call itself: what follows it may be another line.
        let call = offset.saturating_sub(1);
        let mut places = tables.lines.as_ref().map(|it| places(it, call)).unwrap_or_default();
        if places.is_empty()
            && let Some(site) = tables.symbols.as_ref().and_then(|symbols| symbols.find(offset))
        {
            let function = cut(&demangled(site.function));
            places.push(SourcePlace { function, ..SourcePlace::default() });
        }
        if !places.is_empty() {
            // If nobody waits any more, this process is about to end.
            let _ = found.send((format!("{}+{offset:#x}", self.name), places));
        }
    }
}

/// The name of a symbol as it stands in the source. Only names that are mangled are
/// taken apart: a C function named `f` would otherwise become the C++ type `float`.
fn demangled(symbol: &str) -> Cow<'_, str> {
    match symbol.starts_with("_Z") || symbol.starts_with("_R") {
        true => addr2line::demangle_auto(Cow::from(symbol), None),
        false => Cow::from(symbol),
    }
}

/// The debug information of a file, if it is of this build.
fn debug_lines(path: &Path, build_id: &[u8]) -> Option<addr2line::Context<DebugSection>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let cache = ModuleFile::cache(file);
    let elf = ElfFile64::<Endianness, _>::parse(&cache).ok()?;
    if elf.build_id().ok()?.unwrap_or_default() != build_id {
        return None;
    }
    let endian = match elf.is_little_endian() {
        true => RunTimeEndian::Little,
        false => RunTimeEndian::Big,
    };
    let mut n_bytes = 0;
    let load = |id: SectionId| -> Result<DebugSection, ()> {
        let Some(section) = elf.section_by_name(id.name()) else {
            return Ok(DebugSection::new(&[], endian));
        };
        n_bytes += section.size();
        if n_bytes > MAX_DEBUG_BYTES {
            return Err(());
        }
        let data = section.uncompressed_data().map(Cow::into_owned).unwrap_or_default();
        Ok(DebugSection::new(data.leak(), endian))
    };
    let dwarf = Dwarf::load(load).ok()?;
    addr2line::Context::from_dwarf(dwarf).ok()
}

/// What the debug information says of an address, the innermost function first.
fn places(context: &addr2line::Context<DebugSection>, address: u64) -> Vec<SourcePlace> {
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
        let cache = ModuleFile::cache(File::open(&path).unwrap());
        let elf = ElfFile64::<Endianness, _>::parse(&cache).unwrap();
        let build_id = elf.build_id().unwrap().unwrap_or_default().to_vec();
        (path, build_id)
    }

    #[test]
    fn a_short_name_of_c_stays_what_it_is() {
        assert_eq!(demangled("f"), "f");
        assert_eq!(demangled("main"), "main");
        assert_eq!(demangled("_ZN2io4readEi"), "io::read(int)");
        assert_eq!(
            demangled("_ZN4core3fmt5Write9write_str17h0123456789abcdefE"),
            "core::fmt::Write::write_str"
        );
    }

    fn resolve(build_id: &[u8], path: &Path, frames: &str, at_most: Duration) -> Vec<Found> {
        let mut lookup = SourceLookup::begin().unwrap();
        lookup.module("app", build_id, path);
        lookup.context(frames);
        let mut found = Vec::new();
        lookup.finish(at_most, |frame, places| found.push((frame.to_owned(), places.to_vec())));
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
}
