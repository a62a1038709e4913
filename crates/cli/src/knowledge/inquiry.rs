// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a run wants to know about files that its program may open: whether they are
//! there, what a directory holds, where things lie in a file.
//!
//! A process of its own looks, for the same reason for which one reads ahead: who
//! asks a mount that does not answer cannot be ended. The run waits for an answer as
//! long as that is reasonable, and not at all for where things lie in a file; when it
//! has waited in vain, it asks no more, and the process is left behind. When the run is
//! over, the same process merges it into the repository, so that nobody waits for the disk.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use ioracle_knowledge::{
    ClassicLayout, FileSystem, HeaderRead, KnownFileLayout, MAX_HEADER_BYTES, RepositoryPlace,
    merge_contributions,
};
use ioracle_spool::settings::DISABLE;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::run::launch::LD_PRELOAD;

/// How long an answer is waited for while the program runs, and once it has ended.
const PATIENCE: Duration = Duration::from_secs(5);
const PATIENCE_AFTER_END: Duration = Duration::from_millis(500);
/// How often it is looked whether the program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long others are waited for when a run is merged, which nobody waits for.
const PATIENCE_TO_MERGE: Duration = Duration::from_secs(10);
/// Texts that may hold names of files are no longer than this.
const MAX_TEXT_BYTES: u64 = 1 << 16;
/// Names of a directory that are looked at.
const MAX_NAMES: usize = 1 << 16;
/// What is known about paths.
const MAX_KNOWN: usize = 1 << 16;
/// The longest message: all names of a directory.
const MAX_MESSAGE_BYTES: usize = 32 << 20;
/// Files that are looked into at a time.
const THREADS: usize = 4;
/// Bytes that are read of a header at first; one that is longer takes a second read.
const FIRST_HEADER_BYTES: usize = 16 << 10;

/// Answers questions about files; started by 'ioracle run --knowledge'.
#[derive(clap::Args)]
pub struct AnswerArguments {}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Question {
    Kind(String),
    Names(String),
    Text(String),
    Layout(String),
    /// By the bytes of a path, which need not be text.
    FileSystem(Vec<u8>),
    /// To merge what waits beside a repository, once nothing else is asked. There is no
    /// answer.
    Merge(Vec<u8>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum FileAnswer {
    Kind(FileKind),
    Names(Vec<String>),
    Text(Option<String>),
    /// Bytes of the file, and those of its header, if it is a classic netCDF file.
    Layout {
        path: String,
        found: Option<(u64, Vec<u8>)>,
    },
    /// The file system has answered, if only that there is no such file.
    FileSystem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum FileKind {
    File,
    Directory,
    Neither,
}

/// The files of this machine, as a process of its own sees them.
pub struct FileInquiry {
    state: Mutex<InquiryState>,
    /// Set when the program has ended.
    ended: Arc<AtomicBool>,
}

struct InquiryState {
    child: Child,
    /// None once it has been given up.
    socket: Option<UnixStream>,
    received: Vec<u8>,
    /// Layouts that came while something else was waited for.
    layouts: VecDeque<(String, KnownFileLayout)>,
    n_layouts_asked: usize,
    known: HashMap<String, FileKind>,
    is_lost: bool,
}

impl FileInquiry {
    /// Starts the process that looks. `ended` is set when the program has ended.
    pub fn start(ended: Arc<AtomicBool>) -> Result<FileInquiry> {
        let (socket, its_end) = UnixStream::pair().context("could not make a socket")?;
        let patience = socket.set_write_timeout(Some(PATIENCE_AFTER_END));
        patience.context("could not set up a socket")?;
        let ours = std::env::current_exe().context("could not find this command")?;
        let child = Command::new(ours)
            .arg("answer-inquiries")
            .env(DISABLE, "1")
            .env_remove(LD_PRELOAD)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(its_end)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("could not start the process that looks at files")?;
        let state = InquiryState {
            child,
            socket: Some(socket),
            received: Vec::new(),
            layouts: VecDeque::new(),
            n_layouts_asked: 0,
            known: HashMap::new(),
            is_lost: false,
        };
        Ok(FileInquiry { state: Mutex::new(state), ended })
    }

    /// Whether an answer was waited for in vain.
    pub fn is_lost(&self) -> bool {
        self.state().is_lost
    }

    /// Asks where things lie in a file; the answer is one of
    /// [`take_layouts`](FileInquiry::take_layouts).
    pub fn ask_layout(&self, path: &str) {
        let mut state = self.state();
        if state.send(&Question::Layout(path.to_owned())) {
            state.n_layouts_asked += 1;
        }
    }

    /// The layouts that have come.
    pub fn take_layouts(&self) -> Vec<(String, KnownFileLayout)> {
        let mut state = self.state();
        while state.n_layouts_asked > state.layouts.len() {
            let Some(answer) = state.receive(Duration::ZERO) else { break };
            state.keep_layout(answer);
        }
        let layouts: Vec<_> = state.layouts.drain(..).collect();
        state.n_layouts_asked = state.n_layouts_asked.saturating_sub(layouts.len());
        layouts
    }

    /// Whether the file system answers that a path is on, or would be on.
    pub fn answers(&self, path: &Path, within: Duration) -> bool {
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let path = path.into_os_string().into_vec();
        self.ask_within(&Question::FileSystem(path), within).is_some()
    }

    /// Lets the process merge what waits beside a repository, when the run has ended and
    /// left it behind.
    pub fn merge_later(&self, repository: &Path) {
        let path = std::path::absolute(repository).unwrap_or_else(|_| repository.to_owned());
        self.state().send(&Question::Merge(path.into_os_string().into_vec()));
    }

    fn state(&self) -> MutexGuard<'_, InquiryState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, and waits for the answer; none if none comes.
    fn ask(&self, question: &Question) -> Option<FileAnswer> {
        self.ask_within(question, PATIENCE)
    }

    /// The same for who has less, or more, patience while the program runs.
    fn ask_within(&self, question: &Question, within: Duration) -> Option<FileAnswer> {
        let mut state = self.state();
        if !state.send(question) {
            return None;
        }
        let asked = Instant::now();
        loop {
            let patience = match self.ended.load(Ordering::Acquire) {
                true => PATIENCE_AFTER_END,
                false => within,
            };
            if let Some(answer) = state.receive(LOOK_EVERY) {
                // Layouts come when they come; everything else in the order of questions.
                if let Some(answer) = state.keep_layout(answer) {
                    return Some(answer);
                }
            } else if state.socket.is_none() || asked.elapsed() >= patience {
                state.give_up();
                return None;
            }
        }
    }

    fn kind(&self, path: &str) -> FileKind {
        if let Some(kind) = self.state().known.get(path) {
            return *kind;
        }
        let kind = match self.ask(&Question::Kind(path.to_owned())) {
            Some(FileAnswer::Kind(kind)) => kind,
            _ => FileKind::Neither,
        };
        let mut state = self.state();
        if state.known.len() < MAX_KNOWN {
            state.known.insert(path.to_owned(), kind);
        }
        kind
    }
}

impl FileSystem for FileInquiry {
    fn is_file(&self, path: &str) -> bool {
        self.kind(path) == FileKind::File
    }

    fn is_directory(&self, path: &str) -> bool {
        self.kind(path) == FileKind::Directory
    }

    fn names_in(&self, directory: &str) -> Vec<String> {
        match self.ask(&Question::Names(directory.to_owned())) {
            Some(FileAnswer::Names(names)) => names,
            _ => Vec::new(),
        }
    }

    fn short_text(&self, path: &str) -> Option<String> {
        match self.ask(&Question::Text(path.to_owned())) {
            Some(FileAnswer::Text(text)) => text,
            _ => None,
        }
    }
}

impl InquiryState {
    /// Sends a question; false if nobody takes it.
    fn send(&mut self, question: &Question) -> bool {
        let Some(socket) = &mut self.socket else { return false };
        // Few questions are on their way at a time, so that this does not wait.
        if socket.set_nonblocking(false).and_then(|()| send(socket, question)).is_err() {
            self.give_up();
            return false;
        }
        true
    }

    /// The next answer, if one comes within this time.
    fn receive(&mut self, at_most: Duration) -> Option<FileAnswer> {
        if let Some(answer) = self.next_received() {
            return Some(answer);
        }
        loop {
            let socket = self.socket.as_mut()?;
            let is_set = match at_most {
                Duration::ZERO => socket.set_nonblocking(true),
                at_most => socket
                    .set_nonblocking(false)
                    .and_then(|()| socket.set_read_timeout(Some(at_most))),
            };
            if is_set.is_err() {
                self.give_up();
                return None;
            }
            let mut buffer = [0; 1 << 16];
            match socket.read(&mut buffer) {
                Ok(n) if n > 0 && self.received.len() < MAX_MESSAGE_BYTES => {
                    self.received.extend_from_slice(&buffer[..n]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Ok(_) | Err(_) => {
                    self.give_up();
                    return None;
                }
            }
            if let Some(answer) = self.next_received() {
                return Some(answer);
            }
        }
    }

    /// The first message of what was received, if all of it is there.
    fn next_received(&mut self) -> Option<FileAnswer> {
        let length = u32::from_ne_bytes(self.received.get(..4)?.try_into().ok()?) as usize;
        let message = self.received.get(4..4 + length)?;
        let answer = postcard::from_bytes(message).ok();
        self.received.drain(..4 + length);
        answer
    }

    /// Keeps a layout for whoever asks for it; answers everything else.
    fn keep_layout(&mut self, answer: FileAnswer) -> Option<FileAnswer> {
        let FileAnswer::Layout { path, found } = answer else { return Some(answer) };
        // Of one that is not there nothing is known, and nobody asks again.
        let layout = found.map_or_else(KnownFileLayout::default, |(bytes, header)| {
            let classic = match ClassicLayout::read(&header, bytes) {
                HeaderRead::Complete(classic) => Some(classic),
                HeaderRead::Truncated | HeaderRead::Foreign => None,
            };
            KnownFileLayout { bytes, classic }
        });
        self.layouts.push_back((path, layout));
        None
    }

    fn give_up(&mut self) {
        (self.socket, self.is_lost) = (None, true);
    }
}

impl Drop for InquiryState {
    /// It ends by itself; one that hangs is left behind.
    fn drop(&mut self) {
        self.socket = None;
        let _ = self.child.try_wait();
    }
}

fn send(socket: &mut UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut bytes = vec![0; 4];
    bytes = postcard::to_extend(message, bytes).map_err(io::Error::other)?;
    let length = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&length.to_ne_bytes());
    socket.write_all(&bytes)
}

/// Answers questions until there are no more.
pub fn answer(_: &AnswerArguments) -> Result<ExitCode> {
    let descriptor = io::stdin().as_fd().try_clone_to_owned().context("there is no socket")?;
    let mut questions = UnixStream::from(descriptor);
    let answers = Arc::new(Mutex::new(questions.try_clone().context("there is no socket")?));
    let tell = |answers: &Mutex<UnixStream>, answer: &FileAnswer| {
        send(&mut answers.lock().unwrap_or_else(PoisonError::into_inner), answer)
    };
    let (ask, asked) = mpsc::channel::<String>();
    let asked = Arc::new(Mutex::new(asked));
    for _ in 0..THREADS {
        let (asked, answers) = (Arc::clone(&asked), Arc::clone(&answers));
        thread::Builder::new()
            .name("layouts".to_owned())
            .spawn(move || {
                loop {
                    let next = asked.lock().unwrap_or_else(PoisonError::into_inner).recv();
                    let Ok(path) = next else { return };
                    let found = layout(&path).ok();
                    if tell(&answers, &FileAnswer::Layout { path, found }).is_err() {
                        return;
                    }
                }
            })
            .context("could not start a thread")?;
    }
    let mut length = [0; 4];
    let mut repository = None;
    while questions.read_exact(&mut length).is_ok() {
        let mut message = vec![0; u32::from_ne_bytes(length) as usize];
        questions.read_exact(&mut message).context("a question was cut off")?;
        let question = postcard::from_bytes(&message).context("a question makes no sense")?;
        let answer = match question {
            Question::Layout(path) => {
                ask.send(path).context("nobody looks into files")?;
                continue;
            }
            Question::Kind(path) => FileAnswer::Kind(kind(&path)),
            Question::Names(path) => FileAnswer::Names(names(&path)),
            Question::Text(path) => FileAnswer::Text(short_text(&path)),
            Question::FileSystem(path) => {
                ask_file_system(Path::new(OsStr::from_bytes(&path)));
                FileAnswer::FileSystem
            }
            Question::Merge(path) => {
                repository = Some(path);
                continue;
            }
        };
        tell(&answers, &answer).context("nobody listens")?;
    }
    // The run has ended, and nobody waits for this. What cannot be merged now is merged by
    // whoever opens the repository next, and reported there if it cannot be at all.
    if let Some(path) = repository {
        let path = Path::new(OsStr::from_bytes(&path));
        let _ = merge_contributions(path, RepositoryPlace::of(path), PATIENCE_TO_MERGE);
    }
    // Threads that hang in a read end with the process, when the read returns.
    Ok(ExitCode::SUCCESS)
}

/// Returns when the file system of a path, or of the directory it would be in, has
/// answered. What is cached of a file tells nothing, but this is never cached.
fn ask_file_system(path: &Path) {
    for place in path.ancestors() {
        match rustix::fs::statfs(place) {
            Err(Errno::NOENT) => {}
            _ => return,
        }
    }
}

fn kind(path: &str) -> FileKind {
    match fs::metadata(path) {
        Ok(found) if found.is_file() => FileKind::File,
        Ok(found) if found.is_dir() => FileKind::Directory,
        Ok(_) | Err(_) => FileKind::Neither,
    }
}

fn names(directory: &str) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.take(MAX_NAMES).collect()
}

fn short_text(path: &str) -> Option<String> {
    let length = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
    if length > MAX_TEXT_BYTES {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(MAX_TEXT_BYTES).read_to_string(&mut text).ok()?;
    (!text.contains('\0')).then_some(text)
}

/// Bytes of a file, and those of its header if it is a classic netCDF file.
fn layout(path: &str) -> io::Result<(u64, Vec<u8>)> {
    let found = fs::metadata(path)?;
    if !found.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let file = File::open(path)?;
    let mut header = Vec::new();
    for bytes in [FIRST_HEADER_BYTES, MAX_HEADER_BYTES] {
        let known = header.len();
        header.resize(bytes, 0);
        let mut n = known;
        while n < bytes {
            match file.read_at(&mut header[n..], n as u64)? {
                0 => break,
                more => n += more,
            }
        }
        header.truncate(n);
        match ClassicLayout::read(&header, found.len()) {
            HeaderRead::Complete(layout) => {
                header.truncate(layout.header_bytes as usize);
                return Ok((found.len(), header));
            }
            HeaderRead::Truncated if n == bytes => {}
            HeaderRead::Truncated | HeaderRead::Foreign => break,
        }
    }
    Ok((found.len(), Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_told_and_nonsense_is_not() {
        let place = tempfile::tempdir().unwrap();
        let path = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
        fs::write(path("text"), "a.nc b.nc").unwrap();
        fs::write(path("binary"), [0; 9]).unwrap();
        assert_eq!(kind(&path("text")), FileKind::File);
        assert_eq!(kind(place.path().to_str().unwrap()), FileKind::Directory);
        for name in ["missing", "a\0b", "", "text/below"] {
            assert_eq!(kind(&path(name)) == FileKind::File, name == "text", "{name:?}");
        }
        assert_eq!(kind("/dev/null"), FileKind::Neither);
        assert_eq!(short_text(&path("text")).as_deref(), Some("a.nc b.nc"));
        assert_eq!(short_text(&path("binary")), None);
        assert_eq!(names(place.path().to_str().unwrap()).len(), 2);
        assert!(names(&path("missing")).is_empty());
        assert_eq!(layout(&path("binary")).unwrap(), (9, Vec::new()));
        ask_file_system(Path::new(&path("missing/below")));
        ask_file_system(Path::new("a\0b"));
        assert!(layout(&path("missing")).is_err() && layout("/dev/null").is_err());
    }
}
