// SPDX-License-Identifier: MIT OR Apache-2.0

//! `ioracle pattern watch`: runs a server under capture, or joins one that runs under
//! `ioracle run`, and says once a second which known pattern it is under; with `--tune`
//! it sets options by it.
//!
//! The main thread stands between the server and its caller, as in `ioracle
//! run`; another follows the spool, ticks and decides ([`follow`]). Commands of
//! the tune file run on threads of their own ([`command`]), so that one that
//! hangs holds up neither the server nor the following.

mod command;
mod follow;
mod tune;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use anyhow::{Context, Result, bail};
use ioracle_spool::settings::SPOOL;
use ioracle_trace::Follower;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use self::follow::{Following, Shown};
use self::tune::{TuneFile, Tuner};
use crate::pattern::Preset;
use crate::run::launch::{self, LD_PRELOAD};
use crate::run::settings::Settings;
use crate::run::signals::Signals;
use crate::run::supervise::supervise;
use crate::shared::executable::ExecutableKind;
use crate::shared::failure::sentence;
use crate::shared::find::find;
use crate::shared::jobs::FoundJob;
use crate::shared::numbers::counted;
use crate::shared::output::{self, check_place, say};
use crate::shared::request_feed::{Feed, JoinedJob};
use crate::shared::{jobs, library};

const EXAMPLES: &str = "\
Examples:
  ioracle pattern watch -- glusterfsd -N -f brick.vol       which load a brick is under, each second
  ioracle pattern watch --tune tune.toml -- bindfs -f a b   try options, learn the best for each load
  ioracle pattern watch --under /bricks/b1 --json -- …      one JSON object per second for scripts
  ioracle pattern watch --job 4711                          join a server that 'ioracle run' has started

A tune file names the options and the commands that apply them:

  period_s = 5                      # change options at most this often
  [[option]]
  name = \"4\"
  apply = \"echo 4 > /sys/class/bdi/0:52/read_ahead_kb\"
  [[option]]
  name = \"1024\"
  apply = \"echo 1024 > /sys/class/bdi/0:52/read_ahead_kb\"

docs/pattern-watch.md explains all its settings. The exit code is the server's; that of a job that
was joined is not known, and 0 is given.";

/// Run a server, say which load it is under, and tune it accordingly
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WatchArguments {
    /// The server and its arguments; it must stay in the foreground
    #[arg(
        value_name = "SERVER",
        required_unless_present = "job",
        conflicts_with = "job",
        trailing_var_arg = true
    )]
    command: Vec<OsString>,
    /// Join a running job instead: the process number of its 'ioracle run', its directory, or the
    /// name of its application
    #[arg(long, value_name = "JOB")]
    job: Option<String>,
    /// Options to choose from, and how to apply them (TOML)
    #[arg(long, value_name = "FILE")]
    tune: Option<PathBuf>,
    /// File for known patterns and what was learned about the options, kept from run to run (SQLite)
    #[arg(long, value_name = "DB")]
    known: Option<PathBuf>,
    /// Only files below this directory
    #[arg(long, value_name = "DIR")]
    under: Option<PathBuf>,
    /// How series are built
    #[arg(long, value_enum, default_value_t)]
    preset: Preset,
    /// Print one JSON object per second with requests, on standard output
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    settings: Settings,
}

/// Runs the subcommand; the exit code is the server's.
pub fn run(arguments: &WatchArguments) -> Result<ExitCode> {
    let tune = arguments.tune.as_deref().map(TuneFile::read).transpose()?;
    if let Some(known) = &arguments.known {
        check_place(known)?;
    }
    if let Some(job) = &arguments.job {
        return join(arguments, job, tune);
    }
    let path = match find(&arguments.command[0], std::env::var_os("PATH").as_deref()) {
        Ok(path) => path,
        Err(not_started) => {
            say(&not_started);
            return Ok(ExitCode::from(not_started.code));
        }
    };
    if !ExecutableKind::of(&path).bears_preloading() {
        say(format_args!(
            "'{}' cannot be watched: it is linked statically or may not be preloaded; 'ioracle doctor \
             {}' says why",
            path.display(),
            path.display()
        ));
    }
    let library = library::find()?;
    let base = jobs::base(arguments.settings.dir.as_deref())?;
    // From here on no signal ends us, so that the directory is removed.
    let signals = Signals::take_over().context("could not take signals over")?;
    let mut follower = Follower::create(&base, arguments.settings.job())?;
    let done = with_job(arguments, tune, &path, &library, &mut follower, &signals);
    if let Err(error) = follower.remove() {
        say(error);
    }
    done
}

/// Watches a job that runs already, until it ends or somebody asks us to.
fn join(arguments: &WatchArguments, word: &str, tune: Option<TuneFile>) -> Result<ExitCode> {
    let found = jobs::named(word, arguments.settings.dir.as_deref())?;
    let n_found = found.len();
    let Ok([job]) = <[FoundJob; 1]>::try_from(found) else {
        bail!(
            "{n_found} jobs are called '{word}'; name one by its process number, which 'ioracle jobs' \
             lists"
        );
    };
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        flag::register(signal, Arc::clone(&ended)).context("could not install signal handlers")?;
    }
    let mut following = prepare(arguments, tune, &ended)?;
    let mut joined = JoinedJob::join(job, arguments.under.as_deref())?;
    let end = following.follow_joined(&mut joined);
    ended.store(true, Ordering::Release);
    if joined.lost() > 0 {
        say(format_args!(
            "{} came faster than they could be read and are missing",
            counted(joined.lost(), "request")
        ));
    }
    if matches!(end, Ok(Feed::Ended)) {
        say("the job has ended");
    }
    report(arguments, &following);
    end.map(|_| ExitCode::SUCCESS)
}

/// A follower that knows what earlier runs have learned.
fn prepare(
    arguments: &WatchArguments,
    tune: Option<TuneFile>,
    ended: &Arc<AtomicBool>,
) -> Result<Following> {
    let shown = if arguments.json { Shown::Json } else { Shown::Text };
    let tuner = tune.map(|file| Tuner::start(file, Arc::clone(ended)));
    let under = arguments.under.as_deref();
    let mut following =
        Following::new(arguments.preset.config(), tuner, under, shown, Arc::clone(ended));
    if let Some(known) = arguments.known.as_deref().filter(|known| known.exists()) {
        following.load(known)?;
    }
    Ok(following)
}

/// Keeps what was learned and says what was seen.
fn report(arguments: &WatchArguments, following: &Following) {
    if let Some(known) = &arguments.known
        && let Err(error) = following.save(known)
    {
        say(error);
    }
    if !arguments.settings.quiet {
        output::print_error_text(&following.summary());
    }
}

fn with_job(
    arguments: &WatchArguments,
    tune: Option<TuneFile>,
    path: &Path,
    library: &Path,
    follower: &mut Follower,
    signals: &Signals,
) -> Result<ExitCode> {
    let ended = Arc::new(AtomicBool::new(false));
    let mut following = prepare(arguments, tune, &ended)?;
    let mut variables = arguments.settings.variables();
    let libraries = [library.to_owned()];
    variables.push((LD_PRELOAD, launch::preload(&libraries, std::env::var_os(LD_PRELOAD))));
    variables.push((SPOOL, follower.directory().into()));
    let started = launch::start(path, &arguments.command, &variables, signals.inherited_mask());
    let program = match started {
        Ok(program) => program,
        Err(not_started) => {
            say(&not_started);
            return Ok(ExitCode::from(not_started.code));
        }
    };
    let waker = follower.waker();
    let ending = thread::scope(|scope| {
        let thread = scope.spawn(|| following.follow(follower));
        let ending = supervise(program, signals);
        ended.store(true, Ordering::Release);
        waker.wake();
        if let Ok(Err(error)) = thread.join() {
            say(sentence(&error));
        }
        ending
    });
    report(arguments, &following);
    let ending = ending.context("could not wait for the server")?;
    ending.imitate();
    Ok(ExitCode::from(ending.shell_code()))
}
