// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle live` and `run --live` in a terminal: tmux is one whose screen can be read.

mod support;

use std::cmp::Ordering;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long anything may take: these tests run beside others on machines that are busy.
const LIMIT: Duration = Duration::from_secs(60);
/// How long a question is given before it is asked again.
const ANSWER: Duration = Duration::from_secs(5);

/// Waits until something holds; false if it never did.
fn comes_true(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let started = Instant::now();
    while !holds() {
        if started.elapsed() > limit {
            return false;
        }
        sleep(Duration::from_millis(50));
    }
    true
}

/// A terminal of its own, and a directory for its jobs.
struct Terminal {
    place: TempDir,
}

impl Terminal {
    /// None, with a word of it, where there is no tmux.
    fn open(columns: u32, rows: u32) -> Option<Terminal> {
        if Command::new("tmux").arg("-V").stdout(Stdio::null()).status().is_err() {
            ioracle_testing::skip("there is no tmux");
            return None;
        }
        let place = tempfile::tempdir().expect("a directory");
        for name in ["jobs", "temporary"] {
            std::fs::create_dir(place.path().join(name)).expect("a directory");
        }
        let terminal = Terminal { place };
        let size = [columns.to_string(), rows.to_string()];
        let command = support::command();
        let library = command.get_envs().find(|(name, _)| *name == "IORACLE_LIBRARY");
        let library = library.and_then(|(_, value)| value).expect("the library");
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "sh",
        ]);
        terminal.line(&format!(
            "export PS1='$ ' IORACLE_LIBRARY='{}' IORACLE_DIR='{}' PATH='{}':$PATH; cd '{}'; \
             export TMPDIR=$PWD/temporary; clear",
            library.display(),
            terminal.jobs().display(),
            Path::new(env!("CARGO_BIN_EXE_ioracle")).parent().expect("a directory").display(),
            terminal.place.path().display(),
        ));
        Some(terminal)
    }

    fn jobs(&self) -> PathBuf {
        self.place.path().join("jobs")
    }

    fn tmux(&self, arguments: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(self.place.path().join("socket")).args(arguments);
        let output = command.env_remove("TMUX").output().expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Types a line.
    fn line(&self, text: &str) {
        self.tmux(&["send-keys", "-l", text]);
        self.tmux(&["send-keys", "Enter"]);
    }

    fn press(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// Waits until the screen shows a text.
    fn shows(&self, text: &str) {
        self.waits_for(text, |screen| screen.contains(text));
    }

    fn waits_for(&self, what: &str, is_it: impl Fn(&str) -> bool) {
        let is_shown = comes_true(LIMIT, || is_it(&self.screen()));
        assert!(is_shown, "no '{what}' in:\n{}", self.screen());
    }

    /// Types a line until the screen shows a text: a job has a second and a half to answer,
    /// which is not enough on every machine.
    fn shows_in_answer(&self, line: &str, text: &str) {
        let is_shown = comes_true(LIMIT, || {
            self.line(&format!("clear; {line}"));
            comes_true(ANSWER, || self.screen().contains(text))
        });
        assert!(is_shown, "no '{text}' in:\n{}", self.screen());
    }

    /// Opens the view of a job by a command that names it or lets it be chosen; other jobs
    /// may run on this machine.
    fn opens(&self, command: &str, name: &str) {
        let title = format!("{name} –");
        let is_over = |screen: &str| (0..3).any(|n| screen.contains(&format!("code {n}\n")));
        let is_open = comes_true(LIMIT, || {
            self.line(&format!("clear; {command}; echo code $?"));
            comes_true(LIMIT, || {
                let screen = self.screen();
                self.chooses(name, &screen);
                screen.starts_with(&title) || is_over(&screen)
            });
            self.screen().starts_with(&title)
        });
        assert!(is_open, "no '{title}' in:\n{}", self.screen());
    }

    /// In the list of jobs, one step towards the one of this name.
    fn chooses(&self, name: &str, screen: &str) {
        let row = format!(": {name},");
        let chosen = |screen: &str| screen.lines().position(|line| line.starts_with('>'));
        let at = screen.lines().position(|line| line.contains(&row));
        let (Some(chosen_at), Some(at)) = (chosen(screen), at) else { return };
        self.press(match chosen_at.cmp(&at) {
            Ordering::Less => "Down",
            Ordering::Equal => "Enter",
            Ordering::Greater => "Up",
        });
        // A key that is still on its way would be taken for the next one.
        comes_true(LIMIT, || chosen(&self.screen()) != Some(chosen_at));
    }

    /// Makes a file that programs wait for.
    fn make(&self, name: &str) {
        std::fs::write(self.place.path().join(name), "").expect("a file");
    }

    /// Waits until the shell has the terminal again: it answers. A line that is typed
    /// before would be the view's.
    fn is_given_back(&self) {
        self.waits_for("the prompt", |screen| screen.trim_end().ends_with('$'));
        // A shell that is slow to notice a ctrl-C forgets the line that came after it.
        self.shows_in_answer("echo back $((6 * 7))", "back 42");
        let modes = "stty -a | grep -o -e '-*icanon' -e '-*echo ' -e '-*isig'";
        self.line(&format!("clear; {modes}; tput cols"));
        self.waits_for("a sane terminal", |screen| {
            !screen.contains("-icanon") && screen.contains("icanon") && !screen.contains("-isig")
        });
    }

    /// A job in the background, of a name; returns when its program runs.
    fn start_job(&self, name: &str, script: &str) {
        self.line(&format!(
            "ioracle run --quiet --name {name} -- timeout 600 sh -c 'echo $PPID > {name}.pid; \
             {script}' >/dev/null 2>&1 &"
        ));
        let written = self.place.path().join(format!("{name}.pid"));
        let is_started = comes_true(LIMIT, || {
            std::fs::read_to_string(&written).is_ok_and(|pid| pid.ends_with('\n'))
        });
        assert!(is_started, "no job: {}", self.screen());
        self.line("clear");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The programs first: they would outlive the shell, and go on writing here.
        let files = self.place.path().read_dir().into_iter().flatten().flatten();
        let files =
            files.map(|entry| entry.path()).filter(|path| path.extension() == Some("pid".as_ref()));
        for pid in files.filter_map(|path| std::fs::read_to_string(path).ok()) {
            // Those that have ended are no more.
            let _ = Command::new("kill").arg(pid.trim()).stderr(Stdio::null()).status();
        }
        self.tmux(&["kill-server"]);
    }
}

const WRITES: &str = "while :; do echo x >> out; sleep 0.02; done";

#[test]
fn a_running_job_is_shown_resized_and_left() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    terminal.start_job("writer", WRITES);
    terminal.opens("ioracle live", "writer");
    terminal.shows("calls");
    terminal.shows("predicted:");
    terminal.shows("calls/s     read/s    wrote/s  name");
    for (columns, rows) in [(40, 10), (20, 24), (120, 40), (80, 24)] {
        terminal.tmux(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
        terminal.waits_for("the view at this size", |screen| {
            screen.starts_with("writer –")
                && screen.lines().all(|line| line.chars().count() <= columns)
        });
    }
    terminal.press("q");
    terminal.is_given_back();
    // The job goes on.
    terminal.shows_in_answer("ioracle jobs | grep ^writer", "writer (process");
}

#[test]
fn a_view_of_twenty_columns_says_what_matters_first() {
    let Some(terminal) = Terminal::open(20, 24) else { return };
    terminal.start_job("writer", WRITES);
    terminal.opens("ioracle live writer", "writer");
    terminal.press("C-c");
    terminal.is_given_back();
}

#[test]
fn a_job_that_ends_or_is_killed_ends_the_view_with_a_sentence() {
    let Some(terminal) = Terminal::open(100, 24) else { return };
    terminal.start_job("short", "while [ ! -e go ]; do echo x > out; sleep 0.1; done");
    terminal.opens("ioracle live short", "short");
    terminal.make("go");
    terminal.shows("the job 'short' has ended");
    terminal.shows("code 0");
    terminal.line("clear");
    // The program crashes.
    let crashes = "while [ ! -e crash ]; do echo x > out; sleep 0.1; done; kill -SEGV $$";
    terminal.start_job("crashing", crashes);
    terminal.opens("ioracle live crashing", "crashing");
    terminal.make("crash");
    terminal.shows("the job 'crashing' has ended");
    terminal.line("clear");
    // So does 'ioracle run'.
    terminal.start_job("killed", WRITES);
    terminal.opens("ioracle live killed", "killed");
    let job = std::fs::read_dir(terminal.jobs()).unwrap().flatten().next().unwrap().file_name();
    let pid = job.to_str().unwrap().split('-').nth(1).unwrap().to_owned();
    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    terminal.shows("was killed; 'ioracle recover");
    terminal.shows("code 1");
    terminal.is_given_back();
}

#[test]
fn sixty_four_processes_are_listed_as_far_as_there_is_room() {
    let Some(terminal) = Terminal::open(100, 140) else { return };
    // What starts them makes fewer calls than each of them, and comes last.
    let script = "for i in $(seq 64); do (for n in $(seq 20); do echo x >> out$i; done; sleep 600) \
                  & done; wait";
    terminal.start_job("many", script);
    terminal.opens("ioracle live many", "many");
    terminal.waits_for("64 processes", |screen| {
        screen
            .lines()
            .filter(|line| line.trim_end().ends_with(" sh") || line.trim_end().ends_with(" dash"))
            .count()
            >= 60
    });
    terminal.tmux(&["resize-window", "-x", "100", "-y", "10"]);
    terminal.waits_for("ten lines", |screen| screen.starts_with("many –"));
    terminal.press("q");
    terminal.is_given_back();
}

#[test]
fn of_several_jobs_one_is_chosen() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    terminal.start_job("first", WRITES);
    terminal.start_job("second", WRITES);
    terminal.line("ioracle live");
    terminal.shows("running jobs");
    terminal
        .waits_for("both", |screen| screen.contains(": first,") && screen.contains(": second,"));
    terminal.press("Down");
    terminal.waits_for("the second row", |screen| {
        screen.lines().nth(2).is_some_and(|line| line.starts_with('>'))
    });
    terminal.press("q");
    terminal.is_given_back();
    terminal.opens("ioracle live", "second");
    terminal.press("Escape");
    terminal.is_given_back();
}

#[test]
fn a_program_is_run_and_shown_and_its_output_comes_back() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    let script = "for i in 1 2 3 4 5 6 7 8; do echo row $i; echo x >> out; done; \
                  echo to error >&2; while [ ! -e go ]; do sleep 0.1; done; exit 3";
    terminal.line(&format!("ioracle run --live --name shown -- sh -c '{script}'; echo code $?"));
    terminal.waits_for("the view", |screen| screen.starts_with("shown –"));
    terminal.shows("output of the program");
    terminal.shows("row 3");
    terminal.make("go");
    terminal.shows("code 3");
    // Nothing of it is lost, and the summary follows.
    let all = terminal.tmux(&["capture-pane", "-p", "-S", "-200"]);
    for row in ["row 1\n", "row 8\n", "to error\n", "ended with exit code 3"] {
        assert!(all.contains(row), "no {row:?} in:\n{all}");
    }
    terminal.is_given_back();
    let left: Vec<_> = terminal.place.path().join("temporary").read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(
        !all.contains("ioracle-output-"),
        "the program's output must not count as one of its files: {all}"
    );
}

#[test]
fn output_that_is_redirected_is_left_alone() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    let script = "echo row 1; echo x >> out; while [ ! -e go ]; do sleep 0.1; done; echo row 2";
    terminal.line(&format!("ioracle run --live --name shown -- sh -c '{script}' > rows.txt"));
    terminal.waits_for("the view", |screen| screen.starts_with("shown –"));
    terminal.make("go");
    terminal.is_given_back();
    let rows = std::fs::read_to_string(terminal.place.path().join("rows.txt")).unwrap();
    assert_eq!(rows, "row 1\nrow 2\n");

    terminal.start_job("writer", WRITES);
    terminal.opens("ioracle live writer > view.txt 2> error.txt", "writer");
    terminal.press("q");
    terminal.is_given_back();
    for name in ["view.txt", "error.txt"] {
        let printed = std::fs::read_to_string(terminal.place.path().join(name)).unwrap();
        assert_eq!(printed, "", "{name}");
    }
}

#[test]
fn a_run_that_is_killed_leaves_neither_its_view_nor_files() {
    let Some(terminal) = Terminal::open(160, 24) else { return };
    let script = "echo $PPID > run.parent; echo $$ > program.pid; echo row 1; exec sleep 600";
    terminal.line(&format!("ioracle run --live --name shown -- sh -c '{script}'"));
    terminal.waits_for("the view", |screen| screen.starts_with("shown –"));
    let run = std::fs::read_to_string(terminal.place.path().join("run.parent")).unwrap();
    assert!(Command::new("kill").args(["-KILL", run.trim()]).status().unwrap().success());
    terminal.shows("was killed; 'ioracle recover");
    // The sentence stands behind the shell's prompt.
    terminal.press("Enter");
    terminal.is_given_back();
    let left: Vec<_> = terminal.place.path().join("temporary").read_dir().unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn ctrl_c_in_the_view_of_a_run_ends_the_program() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    terminal.line("ioracle run --live --name shown -- sh -c 'echo x > out; exec sleep 600'");
    terminal.shows("shown –");
    terminal.press("C-c");
    terminal.shows("was killed by SIGINT");
    terminal.is_given_back();
}

#[test]
fn a_view_that_is_closed_leaves_the_program_running_with_its_output() {
    let Some(terminal) = Terminal::open(80, 24) else { return };
    let script = "echo row 1; while [ ! -e go ]; do echo x >> out; sleep 0.1; done; echo row 9";
    terminal.line(&format!("ioracle run --live --name shown -- sh -c '{script}'; echo code $?"));
    terminal.waits_for("the view", |screen| screen.starts_with("shown –"));
    terminal.press("q");
    terminal.waits_for("the output alone", |screen| {
        screen.contains("row 1\n") && !screen.contains("shown –")
    });
    assert!(!terminal.screen().contains("row 9\n"), "it still runs");
    terminal.make("go");
    terminal.shows("row 9\n");
    terminal.shows("code 0");
    terminal.is_given_back();
}

#[test]
fn a_terminal_that_cannot_be_drawn_on_is_refused_in_a_sentence() {
    let Some(terminal) = Terminal::open(160, 24) else { return };
    terminal.line("TERM=dumb ioracle live; echo code $?");
    terminal.shows("TERM is 'dumb'; 'ioracle jobs' prints how jobs are doing");
    terminal.shows("code 1");
    terminal.line("clear; TERM=dumb ioracle run --live -- touch made; echo code $?");
    terminal.shows("TERM is 'dumb'");
    terminal.shows("code 1");
    assert!(!terminal.place.path().join("made").exists(), "nothing was started");
    terminal.line("clear; ioracle live");
    // Other jobs of this user may run on this machine.
    terminal.waits_for("an answer", |screen| {
        let answers = ["no job of this user runs on this machine", " – ", "running jobs"];
        answers.iter().any(|answer| screen.contains(answer))
    });
    terminal.press("C-c");
    terminal.is_given_back();
    terminal.line("clear; ioracle live 1; ioracle live nothing; ioracle live /proc");
    terminal.shows("no 'ioracle run' of this user is process 1");
    terminal.shows("no job of an application 'nothing'");
    terminal.shows("the job in '/proc' cannot be shown");
}

/// The status file of a job, written by somebody else.
struct FakeJob {
    directory: PathBuf,
    sequence: u64,
}

impl FakeJob {
    fn create(directory: PathBuf) -> FakeJob {
        std::fs::create_dir(&directory).expect("a directory");
        let mut fake = FakeJob { directory, sequence: 0 };
        fake.write(b"");
        fake
    }

    fn write(&mut self, document: &[u8]) {
        self.sequence += 2;
        let mut bytes = b"ioraSTAT".to_vec();
        bytes.extend(1_u32.to_ne_bytes());
        bytes.extend((document.len() as u32).to_ne_bytes());
        bytes.extend(self.sequence.to_ne_bytes());
        bytes.resize(64, 0);
        bytes.extend(document);
        // In one call, so that it is never seen torn; what was there stays in its place.
        let path = self.directory.join("status");
        let file = std::fs::File::options().write(true).create(true).truncate(false).open(path);
        std::os::unix::fs::FileExt::write_all_at(&file.expect("a file"), &bytes, 0).unwrap();
    }
}

/// What a running job says.
fn document(terminal: &Terminal) -> serde_json::Value {
    let job = std::fs::read_dir(terminal.jobs()).unwrap().flatten().next().unwrap().path();
    let mut document = None;
    // While it is being written it makes no sense.
    comes_true(LIMIT, || {
        let status = std::fs::read(job.join("status")).expect("a status");
        let length = u32::from_ne_bytes(status[12..16].try_into().unwrap()) as usize;
        let bytes = status.get(64..64 + length).unwrap_or_default();
        document = serde_json::from_slice(bytes).ok();
        document.is_some()
    });
    document.expect("a document")
}

#[test]
fn a_status_that_lies_is_shown_without_harm_or_refused_in_a_sentence() {
    let Some(terminal) = Terminal::open(160, 24) else { return };
    terminal.start_job("writer", WRITES);
    terminal.opens("ioracle live writer", "writer");
    terminal.waits_for("a thread", |screen| screen.contains("thread 0."));
    let mut lie = document(&terminal);
    terminal.press("q");
    terminal.is_given_back();
    lie["application"] = "\u{1b}]0;title\u{7}\u{1b}[2J\u{202e}evil".into();
    lie["elapsed_s"] = (-1e300).into();
    lie["events_per_s"] = 1e300.into();
    lie["written_bytes_per_s"] = 1e300.into();
    lie["processes"] = u64::MAX.into();
    for process in lie["busiest_processes"].as_array_mut().expect("processes") {
        process["name"] = "x\r\n\u{1b}[31m".repeat(1000).into();
    }
    let lie = serde_json::to_vec(&lie).unwrap();
    let mut fake = FakeJob::create(terminal.place.path().join("fake"));
    terminal.line("clear; ioracle live ./fake");
    terminal.shows("waiting for the job");
    fake.write(&lie);
    terminal.shows("?]0;title??[2J?evil – 0:00");
    // Then it makes no sense at all, and then it is gone.
    for document in [&b"{\"application\":"[..], &[0xff; 1000], b"[]"] {
        fake.write(document);
        terminal.shows("its status makes no sense");
        fake.write(&lie);
        terminal.waits_for("the job again", |screen| !screen.contains("makes no sense"));
    }
    std::fs::remove_dir_all(&fake.directory).unwrap();
    terminal.shows("has ended");
    terminal.is_given_back();

    let place = terminal.place.path().join("short");
    std::fs::create_dir(&place).unwrap();
    std::fs::write(place.join("status"), b"ioraSTAT").unwrap();
    terminal.line("clear; ioracle live ./short; echo code $?");
    terminal.shows("it has no status; is it from another version of ioracle?");
    terminal.shows("code 1");
}

#[test]
fn a_job_of_another_user_is_left_alone() {
    if !rustix::process::geteuid().is_root() {
        return ioracle_testing::skip("only root can make files of another user");
    }
    let Some(terminal) = Terminal::open(160, 24) else { return };
    let name = format!("ioracle-{}-1", std::process::id());
    let fake = FakeJob::create(terminal.jobs().join(&name));
    std::fs::write(fake.directory.join("job"), "").unwrap();
    std::os::unix::fs::chown(&fake.directory, Some(65534), Some(65534)).unwrap();
    terminal.line(&format!("clear; ioracle live 'jobs/{name}'; echo code $?"));
    terminal.shows("it belongs to another user, who alone can look at it");
    terminal.shows("code 1");
    terminal.line("clear; ioracle jobs; echo code $?");
    terminal.shows("code 0");
    assert!(!terminal.screen().contains(&name), "{}", terminal.screen());
    let before = std::fs::read(fake.directory.join("status")).unwrap();
    assert_eq!(before[24..32], [0; 8], "it was not asked");
}
