// SPDX-License-Identifier: MIT OR Apache-2.0

//! Calls through frames of many shapes, and a probe at their end that looks at
//! its context as an intercepted function does.

use std::alloc::{Layout, alloc_zeroed};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::path::{Path, PathBuf};
use std::process::Command;

use ioracle_capture::stack::{Caller, ContextDefiner, UnwoundFrame, Walker, agrees_with_backtrace};

/// What definitions said.
#[derive(Default)]
pub struct Definitions {
    pub modules: HashMap<u64, PathBuf>,
    pub contexts: HashMap<u64, Vec<UnwoundFrame>>,
    /// Answers false.
    pub is_full: bool,
    pub n_defined: usize,
}

impl ContextDefiner for Definitions {
    fn module(&mut self, id: u64, _build_id: &[u8], path: &[u8], _: u64) -> bool {
        self.n_defined += 1;
        let path = PathBuf::from(String::from_utf8_lossy(path).into_owned());
        assert_ne!(id, 0);
        if !self.is_full {
            self.modules.insert(id, path);
        }
        !self.is_full
    }

    fn context(&mut self, id: u64, frames: &[UnwoundFrame]) -> bool {
        self.n_defined += 1;
        assert_ne!(id, 0);
        let known = self.contexts.insert(id, frames.to_vec());
        assert!(known.is_none_or(|known| known == frames), "one identity for two contexts");
        for frame in frames {
            assert!(frame.module == 0 || self.modules.contains_key(&frame.module));
        }
        !self.is_full
    }
}

/// What the probes of a thread have seen.
pub struct Probe {
    pub walker: Box<Walker>,
    pub definitions: Definitions,
    pub contexts: Vec<u64>,
    /// Probes whose context was not that of `backtrace()`.
    pub n_different: usize,
    /// Whether to compare with `backtrace()`.
    pub compares: bool,
}

thread_local! {
    static PROBE: RefCell<Probe> = RefCell::new(Probe {
        // SAFETY: all zero is the walker that knows nothing.
        walker: unsafe { Box::from_raw(alloc_zeroed(Layout::new::<Walker>()).cast()) },
        definitions: Definitions::default(),
        contexts: Vec::new(),
        n_different: 0,
        compares: true,
    });
}

/// Looks at, or changes, what the probes of this thread have seen.
pub fn with_probe<T>(look: impl FnOnce(&mut Probe) -> T) -> T {
    PROBE.with_borrow_mut(look)
}

/// An intercepted function.
#[unsafe(naked)]
pub extern "C" fn probe() {
    core::arch::naked_asm!("mov rdi, rsp", "mov rsi, rbp", "jmp {}", sym look)
}

extern "C" fn look(sp: usize, fp: usize) {
    let caller = Caller { sp, fp };
    with_probe(|probe| {
        let context = probe.walker.context(caller, &mut probe.definitions);
        probe.contexts.push(context);
        if context != 0 {
            assert_eq!(context, probe.walker.addresses(caller).0, "the context is that of a walk");
        }
        let agrees = !probe.compares || agrees_with_backtrace(&mut probe.walker, caller, context);
        probe.n_different += usize::from(!agrees);
    });
}

type Travel = unsafe extern "C" fn(*const c_char, extern "C" fn());
type ChangeAWord = unsafe extern "C" fn(extern "C" fn(), c_int, *mut c_void);
type BreakFramePointer = unsafe extern "C" fn(extern "C" fn(), usize);

/// The shapes, compiled and loaded.
pub struct Shapes {
    handle: *mut c_void,
    travel: Travel,
    change_a_word: ChangeAWord,
    break_frame_pointer: BreakFramePointer,
}

// SAFETY: loaded code, and a handle that is only used to unload it.
unsafe impl Sync for Shapes {}

/// Compiles the shapes into a library of their own.
pub fn compile(directory: &Path, name: &str, flags: &[&str]) -> PathBuf {
    let library = directory.join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stack/shapes.c");
    let compiler = std::env::var("CC").unwrap_or("cc".to_owned());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-w", "-o"])
        .args([&library, &source])
        .args(flags)
        .status()
        .expect("there is a C compiler");
    assert!(status.success());
    library
}

impl Shapes {
    pub fn load(library: &Path) -> Shapes {
        let name = CString::new(library.as_os_str().as_encoded_bytes()).expect("a path");
        // SAFETY: the library is the one that was compiled, with these functions.
        unsafe {
            let handle = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            assert!(!handle.is_null());
            let find = |name: &CStr| libc::dlsym(handle, name.as_ptr());
            Shapes {
                handle,
                travel: transmute::<*mut c_void, Travel>(find(c"travel")),
                change_a_word: transmute::<*mut c_void, ChangeAWord>(find(c"change_a_word")),
                break_frame_pointer: transmute::<*mut c_void, BreakFramePointer>(find(
                    c"break_frame_pointer",
                )),
            }
        }
    }

    /// Where it is loaded.
    pub fn address(&self) -> usize {
        self.travel as usize
    }

    pub fn unload(self) {
        // SAFETY: loaded once, and none of its functions is on a stack.
        unsafe { libc::dlclose(self.handle) };
    }

    /// Goes along a path and probes at its end; the context found there.
    pub fn travel(&self, path: &str) -> u64 {
        let path = CString::new(path).expect("a path of letters");
        // SAFETY: a C string that the function does not keep.
        unsafe { (self.travel)(path.as_ptr(), probe) };
        with_probe(|probe| *probe.contexts.last().expect("the probe has looked"))
    }

    /// Goes along a path without looking.
    pub fn travel_quietly(&self, path: &CStr) {
        extern "C" fn nothing() {}
        // SAFETY: a C string that the function does not keep.
        unsafe { (self.travel)(path.as_ptr(), nothing) };
    }

    /// Goes along paths, all from one place.
    #[inline(never)]
    pub fn travel_all<'a>(&self, paths: impl IntoIterator<Item = &'a str>) -> Vec<u64> {
        let mut contexts = Vec::new();
        for path in paths {
            contexts.push(self.travel(path));
        }
        contexts
    }

    /// Three probes from one place, the second while a word is changed.
    pub fn change_a_word(&self, word: c_int, value: usize) -> [u64; 3] {
        // SAFETY: the word is that of the frame's own return address or saved
        // frame pointer, and is put back before it is used.
        unsafe { (self.change_a_word)(probe, word, value as *mut c_void) };
        with_probe(|probe| *probe.contexts.last_chunk().expect("the probe has looked three times"))
    }

    /// A probe from a function whose frame pointer is broken.
    pub fn break_frame_pointer(&self, value: usize) -> u64 {
        // SAFETY: the function puts the frame pointer back.
        unsafe { (self.break_frame_pointer)(probe, value) };
        with_probe(|probe| *probe.contexts.last().expect("the probe has looked"))
    }
}
