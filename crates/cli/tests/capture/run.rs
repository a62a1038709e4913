// SPDX-License-Identifier: MIT OR Apache-2.0

//! Runs a program plainly and under capture, each in an empty directory.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ioracle_events::{FileId, Function};
use ioracle_trace::{Error, ReadOptions, Trace};
use tempfile::TempDir;

use crate::expected::{self, Call};

/// The command under test.
pub const IORACLE: &str = env!("CARGO_BIN_EXE_ioracle");

/// The capture library, built as a dependency of this test, or the one that
/// `TEST_LIBRARY` names.
pub fn library() -> PathBuf {
    if let Some(other) = std::env::var_os("TEST_LIBRARY") {
        return other.into();
    }
    let beside = Path::new(IORACLE).with_file_name("deps").join("libioracle_capture.so");
    assert!(beside.exists(), "the capture library was not built at {}", beside.display());
    beside
}

/// A command to be run.
#[derive(Clone)]
pub struct Program {
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    options: Vec<OsString>,
    standard_output: Option<&'static str>,
    status: Option<i32>,
}

impl Program {
    /// A program without arguments.
    pub fn new(program: impl AsRef<OsStr>) -> Program {
        Program {
            command: vec![program.as_ref().into()],
            environment: Vec::new(),
            options: Vec::new(),
            standard_output: None,
            status: Some(0),
        }
    }

    /// That ends with another exit status than 0, `None` for whatever it is.
    pub fn ending(mut self, status: impl Into<Option<i32>>) -> Program {
        self.status = status.into();
        self
    }

    /// The exit status that it should end with.
    pub fn status(&self) -> Option<i32> {
        self.status
    }

    /// With one more argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.command.push(argument.as_ref().into());
        self
    }

    /// With a variable of the environment.
    pub fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Program {
        self.environment.push((name.into(), value.as_ref().into()));
        self
    }

    /// With an option of `ioracle run`.
    pub fn option(mut self, option: impl AsRef<OsStr>) -> Program {
        self.options.push(option.as_ref().into());
        self
    }

    /// With standard output in a file of its working directory.
    pub fn output_to(mut self, name: &'static str) -> Program {
        self.standard_output = Some(name);
        self
    }

    /// Runs it as it is.
    pub fn plainly(&self) -> Done {
        self.run(Vec::new(), &[])
    }

    /// Runs it under `strace`, which writes to the file `witness` in [`Done::beside`].
    pub fn traced(&self, calls: &str) -> Done {
        let before = ["strace", "-f", "-y", "-qq", "-s", "0", "-o", "BESIDE/witness", "-e", calls];
        self.run(before.map(OsString::from).to_vec(), &[])
    }

    /// Runs it under `ioracle run --record`.
    pub fn recorded(&self) -> Done {
        self.observed(&["--record", "BESIDE/trace"])
    }

    /// Runs it under `ioracle run`, which keeps no trace.
    pub fn watched(&self) -> Done {
        self.observed(&[])
    }

    fn observed(&self, record: &[&str]) -> Done {
        let mut before: Vec<OsString> = vec![IORACLE.into(), "run".into()];
        before
            .extend(record.iter().chain(&["--summary", "BESIDE/summary.json"]).map(OsString::from));
        before.extend(self.options.iter().cloned());
        before.push("--".into());
        // Apart from jobs that others have left behind, which a run mentions.
        let memory = Path::new("/dev/shm");
        let jobs = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let jobs = jobs.expect("a directory for jobs");
        let variables = [
            ("IORACLE_LIBRARY", library().into_os_string()),
            ("IORACLE_DIR", jobs.path().as_os_str().to_owned()),
        ];
        self.run(before, &variables)
    }

    fn run(&self, before: Vec<OsString>, environment: &[(&str, OsString)]) -> Done {
        let place = tempfile::tempdir().expect("a temporary directory");
        let (inside, beside) = (place.path().join("work"), place.path().join("beside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&beside).unwrap();
        // Programs that drop their privileges go on working here.
        let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&inside, everybody).unwrap();
        let here = |text: &OsString| match text.to_str() {
            Some(text) => OsString::from(text.replace("BESIDE", beside.to_str().unwrap())),
            None => text.clone(),
        };
        let words: Vec<OsString> = before.iter().chain(&self.command).map(here).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(&inside).stdin(Stdio::null());
        command.env("EXPECTED_CALLS", beside.join("expected"));
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        command.envs(self.environment.iter().map(|(name, value)| (name, here(value))));
        if let Some(name) = self.standard_output {
            command.stdout(File::create(inside.join(name)).unwrap());
        }
        let output = command.output().expect("the program starts");
        Done {
            code: output.status.code(),
            signal: output.status.signal(),
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
            place,
        }
    }
}

/// What a run left behind.
pub struct Done {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub out: String,
    pub err: String,
    place: TempDir,
}

impl Done {
    /// Exit status as a shell reports it, which is what `ioracle run` ends with.
    pub fn status(&self) -> i32 {
        self.code.unwrap_or_else(|| 128 + self.signal.unwrap_or(0))
    }

    /// The directory it worked in.
    pub fn work(&self) -> PathBuf {
        self.place.path().join("work")
    }

    /// The directory of what the tests keep about it.
    pub fn beside(&self) -> PathBuf {
        self.place.path().join("beside")
    }

    /// The calls that it says it made, by thread.
    pub fn expected(&self) -> Vec<Vec<Call>> {
        expected::read(&self.beside().join("expected"))
    }

    /// The recorded calls on files of the working directory, by thread; those on
    /// metadata only if the program lists any.
    pub fn recorded(&self) -> Vec<Vec<Call>> {
        let list = self.beside().join("expected");
        let lists_metadata = list.exists()
            && expected::read(&list).iter().flatten().any(|call| is_metadata(&call.function));
        let directory = self.beside().join("trace");
        read_functions(&directory, |name| lists_metadata || !is_metadata(name))
    }

    /// Those of a library alone, whose names begin so: the program does not know
    /// what the library does inside.
    pub fn recorded_of(&self, names: &str) -> Vec<Vec<Call>> {
        read_functions(&self.beside().join("trace"), |name| name.starts_with(names))
    }

    /// The summary as JSON.
    pub fn summary(&self) -> serde_json::Value {
        let path = self.beside().join("summary.json");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| {
            panic!("no summary: {error}; the command said: {}", self.err);
        });
        serde_json::from_str(&text).expect("the summary is JSON")
    }
}

/// The calls of a recorded trace on files of the job's working directory, by
/// thread, in the order in which they began; those on metadata aside.
pub fn read_trace(directory: &Path) -> Vec<Vec<Call>> {
    read_functions(directory, |name| !is_metadata(name))
}

fn is_metadata(name: &str) -> bool {
    Function::named(name).is_some_and(Function::is_metadata)
}

fn read_functions(directory: &Path, wanted: impl Fn(&str) -> bool) -> Vec<Vec<Call>> {
    let trace = Trace::open(directory, ReadOptions::default()).expect("the trace can be read");
    let mut threads = std::collections::BTreeMap::<_, Vec<Call>>::new();
    for event in trace.events(None).expect("the events can be read") {
        let event = match event {
            Ok(event) => event,
            Err(Error::Empty { .. }) => return Vec::new(),
            Err(error) => panic!("the trace has a fault: {error}"),
        };
        if !wanted(event.function.name()) {
            continue;
        }
        let path = match event.file {
            FileId::UNKNOWN => "",
            file => trace.files().get(file).expect("every file has a path"),
        };
        // Elsewhere are the files of shells, interpreters and locales.
        if path.starts_with('/') || path.starts_with('<') {
            continue;
        }
        threads.entry(event.stream).or_default().push(Call {
            function: event.function.name().to_owned(),
            file: path.rsplit('/').next().unwrap_or(path).to_owned(),
            offset: event.offset.map_or(-1, |offset| offset as i64),
            requested: event.requested as i64,
            result: event.result,
            detail: event.detail.to_string(),
        });
    }
    threads.into_values().collect()
}
