// SPDX-License-Identifier: MIT OR Apache-2.0

//! One run from beginning to end: everything that may be refused is checked first, then
//! the job directory is made, the program started and followed, and the directory
//! removed again whatever happened.

use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use ioracle_events::{APPLICATION_VARIABLES, ProcessIdentity, application};
use ioracle_oracle::Model;
use ioracle_prefetch::ReadLog;
use ioracle_spool::settings::{APP, SPOOL};
use ioracle_trace::{Description, Follower, RawKeeper, TraceRecorder};
use nix::unistd::Pid;
use rustix::time::{ClockId, clock_gettime};
use serde_json::to_value;

use super::keep::keep;
use super::knowledge::{KnowledgeRun, build_of};
use super::launch::{self, EnvironmentVariables, LD_PRELOAD};
use super::live::LiveOutput;
use super::model::{RunIdentity, RunModel, RunRecognition};
use super::ranks::{RankInJob, local_ranks};
use super::report::summarise;
use super::signals::Signals;
use super::status::StatusPublisher;
use super::supervise::supervise;
use super::watch::RunObserver;
use super::{Ran, RunArguments, settings};
use crate::live;
use crate::prefetch::{Prefetched, Prefetcher};
use crate::shared::executable::ExecutableKind;
use crate::shared::failure::sentence;
use crate::shared::find::NotStarted;
use crate::shared::output::{self, say};
use crate::shared::request_feed::RequestFeed;
use crate::shared::summary::RunSummary;
use crate::shared::symbols::exported_name;
use crate::shared::text::shell_quoted;
use crate::shared::{jobs, library};

/// How long functions and source lines are looked up after the program has ended; most
/// are found while it runs.
const SYMBOLS_TIME: Duration = Duration::from_secs(1);

/// What is going to be done.
pub struct RunPlan<'a> {
    arguments: &'a RunArguments,
    path: PathBuf,
    kind: ExecutableKind,
    place: Option<RankInJob>,
    /// The library to preload; none if that would do harm.
    libraries: Vec<PathBuf>,
    base: PathBuf,
    /// Where the trace goes.
    trace: Option<PathBuf>,
    /// The name of the program, once it was asked for: its file is read for that.
    application: OnceLock<String>,
}

impl RunPlan<'_> {
    /// Checks everything that may be missing, and creates nothing.
    pub fn make(arguments: &RunArguments, path: PathBuf) -> Result<RunPlan<'_>> {
        let kind = ExecutableKind::of(&path);
        let place = RankInJob::of_environment();
        let mut libraries = Vec::new();
        if kind.bears_preloading() {
            libraries.push(library::find()?);
            if arguments.settings.in_process {
                libraries.push(library::find_oracle(&libraries[0])?);
            }
        }
        if arguments.live {
            live::check_terminal()?;
            if place.is_some() {
                bail!(
                    "--live shows one 'ioracle run', and this is one of several ranks; leave it \
                     out, and run 'ioracle live' in another terminal of this machine"
                );
            }
        }
        let base = jobs::base(arguments.settings.dir.as_deref())?;
        let trace = arguments.record.as_ref().map(|directory| match place {
            Some(RankInJob { rank, .. }) => directory.join(format!("rank-{rank}")),
            None => directory.clone(),
        });
        if let Some(file) = arguments.summary_file(place) {
            output::check_place(&file)?;
        }
        if let Some(file) = arguments.timeline_file(place) {
            output::check_place(&file)?;
        }
        if let Some(file) = &arguments.model {
            output::check_place_with_lock(file)?;
        }
        let application = OnceLock::new();
        Ok(RunPlan { arguments, path, kind, place, libraries, base, trace, application })
    }

    /// Runs the program and sums up what was seen.
    pub fn perform(self) -> Result<Result<RunSummary, NotStarted>> {
        self.mention_left_behind();
        // From here on no signal ends us, so that the directory is removed.
        let signals = Signals::take_over().context("could not install signal handlers")?;
        let mut follower = Follower::create(&self.base, self.arguments.settings.job())?;
        let done = self.with_job(&mut follower, &signals);
        if let Err(error) = follower.remove() {
            say(error);
        }
        done
    }

    fn mention_left_behind(&self) {
        let first_rank = self.place.is_none_or(|place| place.rank == 0);
        if self.arguments.settings.quiet || !first_rank {
            return;
        }
        let left = jobs::left_behind(&self.base);
        if let Some(first) = left.first() {
            let others = match left.len() {
                1 => String::new(),
                2 => " (and those of another job beside it)".to_owned(),
                n => format!(" (and those of {} other jobs beside it)", n - 1),
            };
            say(format_args!(
                "an earlier job left its records in '{}'{others}; {}",
                first.display(),
                jobs::how_to_recover(first)
            ));
        }
    }

    fn with_job(
        self,
        follower: &mut Follower,
        signals: &Signals,
    ) -> Result<Result<RunSummary, NotStarted>> {
        if let Ok(here) = std::env::current_dir() {
            follower.relative_to(&here);
        }
        let times = self.arguments.times;
        let recorder = self.trace.as_deref().map(|trace| TraceRecorder::create(trace, times));
        let mut recorder = recorder.transpose()?;
        if !self.arguments.settings.anonymise {
            follower.read_exported_names(exported_name);
            recorder = recorder.map(TraceRecorder::with_mounts);
        }
        let variables = self.variables(follower);
        let mask = signals.inherited_mask();
        let output = self.arguments.live.then(LiveOutput::create).transpose()?;
        let redirects = output.as_ref().map(LiveOutput::redirects).unwrap_or_default();
        let (path, command) = (&self.path, &self.arguments.command);
        let started = Instant::now();
        match launch::start_redirected(path, command, &variables, mask, &redirects) {
            Ok(program) => {
                drop(redirects);
                self.follow((program, started, output), follower, signals, recorder).map(Ok)
            }
            Err(not_started) => {
                recorder.map(TraceRecorder::discard).transpose()?;
                Ok(Err(not_started))
            }
        }
    }

    /// Follows the program to its end, on two threads.
    fn follow(
        self,
        (program, started, output): (Pid, Instant, Option<LiveOutput>),
        follower: &mut Follower,
        signals: &Signals,
        recorder: Option<TraceRecorder>,
    ) -> Result<RunSummary> {
        let ended = Arc::new(AtomicBool::new(false));
        let learn = self.arguments.learn;
        let looks_up = recorder.is_some() && self.looks_up_symbols();
        let mut watch = RunObserver::new(recorder, Arc::clone(&ended), signals, learn);
        watch.is_attended = !self.arguments.settings.quiet && std::io::stderr().is_terminal();
        if looks_up {
            watch.look_up_sources();
        }
        watch.tell_status(StatusPublisher::new(follower.directory(), self.application()));
        watch.feed(RequestFeed::new(follower.directory()));
        let (mut is_known, mut last_reads) = (false, None);
        let model = self.model().map(|(model, known)| {
            is_known = !known.is_empty();
            last_reads = ReadLog::decode(known.last_reads());
            let (name, stacks) = (self.arguments.settings.name.as_deref(), known.stacks().clone());
            watch.begin_with(known, RunRecognition::new(stacks, &self.path, name));
            model
        });
        if let Some(settings) = self.arguments.settings.prefetch(local_ranks()) {
            let mut prefetcher = Prefetcher::new(settings);
            prefetcher.name_files(self.words());
            if self.arguments.prefetch_timeline.is_some() {
                prefetcher.keep_timeline();
            }
            if is_known {
                prefetcher.begin_with_foreknowledge();
            }
            if let Some(log) = last_reads {
                prefetcher.follow_log(&log);
            }
            watch.learner.prefetch_with(prefetcher);
        }
        let waker = follower.waker();
        let keeper = self.keeper(follower);
        let directory = follower.directory().to_owned();
        let (ending, ended_at) = thread::scope(|scope| {
            let ended = &*ended;
            if let Some(output) = &output {
                scope.spawn(|| output.show(&directory, ended));
            }
            let keeping = keeper.map(|keeper| scope.spawn(move || keep(keeper, ended)));
            let following = scope.spawn(|| {
                // Here, because a repository or the files of a run may be slow to
                // answer.
                watch.learner.know_from(self.knowledge(), &watch.ended);
                watch.follow(follower)
            });
            let ending = supervise(program, signals);
            let ended_at = Instant::now();
            ended.store(true, Ordering::Release);
            waker.wake();
            // What was read before it failed is still worth reporting.
            for thread in [keeping, Some(following)].into_iter().flatten() {
                thread.thread().unpark();
                if let Ok(Err(error)) = thread.join() {
                    say(sentence(&error));
                }
            }
            (ending, ended_at)
        });
        let wall_s = ended_at.duration_since(started).as_secs_f64();
        if let Err(error) = watch.finish(follower, ended_at) {
            say(sentence(&error));
        }
        let ran = Ran {
            application: self.application(),
            command: self.command(),
            kind: self.kind,
            disabled: settings::is_disabled(),
            place: self.place,
            ending: ending.context("could not wait for the program")?,
            wall_s,
            own_cpu_s: own_cpu_s(),
        };
        let symbols = if self.looks_up_symbols() { SYMBOLS_TIME } else { Duration::ZERO };
        let (processes, totals) = (follower.processes(), follower.totals());
        let mut summary = summarise(&ran, &mut watch, processes, &totals, symbols);
        let mut reads = None;
        if let Some(Prefetched { report, timeline, log }) = watch.learner.finish_prefetching() {
            summary.prefetch = Some(report);
            reads = log.encode();
            self.write_timeline(timeline);
        }
        let build = build_of(&self.path, &watch.modules);
        summary.knowledge = watch.learner.finish_knowing(build.as_deref());
        summary.trace = self.finish_recording(&mut watch, &summary);
        match model {
            Some(model) => {
                let recognition = watch.recognition.take();
                summary.model = Some(model.finish((watch.learner.engine, reads), recognition));
            }
            // This process is about to end, which frees memory faster than going through
            // all that was learned.
            None => std::mem::forget(watch),
        }
        Ok(summary)
    }

    /// Writes who read what and when, if that is wanted.
    fn write_timeline(&self, timeline: Option<String>) {
        let (Some(file), Some(text)) = (self.arguments.timeline_file(self.place), timeline) else {
            return;
        };
        if let Err(error) = output::write_file_soon(&file, text.as_bytes()) {
            say(sentence(&error));
        }
    }

    /// What moves the records to the trace as they come. If predictions are acted on,
    /// they are read from the spool directly, which is faster.
    fn keeper(&self, follower: &mut Follower) -> Option<RawKeeper> {
        let trace = self.trace.as_ref().filter(|_| !self.arguments.settings.prefetch)?;
        match follower.keep_in(trace) {
            Ok(keeper) => Some(keeper),
            Err(error) => {
                say(sentence(&error.into()));
                None
            }
        }
    }

    /// What the program's environment gets.
    fn variables(&self, follower: &Follower) -> EnvironmentVariables {
        if self.libraries.is_empty() {
            return EnvironmentVariables::new();
        }
        let mut variables = self.arguments.settings.variables();
        variables
            .push((LD_PRELOAD, launch::preload(&self.libraries, std::env::var_os(LD_PRELOAD))));
        variables.push((SPOOL, follower.directory().into()));
        variables
    }

    /// Whether functions and source lines are looked up, for which the paths of programs
    /// and libraries have to be known.
    fn looks_up_symbols(&self) -> bool {
        !self.arguments.no_symbols && !self.arguments.settings.anonymise
    }

    /// The words of the command. Arguments are mostly paths, which must stay hidden if
    /// files have no names.
    fn command(&self) -> Vec<OsString> {
        let command = &self.arguments.command;
        if self.arguments.settings.anonymise {
            let program = Path::new(&command[0]);
            return vec![program.file_name().unwrap_or(program.as_os_str()).to_owned()];
        }
        command.clone()
    }

    fn application(&self) -> String {
        self.application.get_or_init(|| self.find_application()).clone()
    }

    fn find_application(&self) -> String {
        let text = |word: &OsString| word.to_string_lossy().into_owned();
        let arguments: Vec<String> = self.arguments.command.iter().map(text).collect();
        let value = |name: &str| Some((name.to_owned(), std::env::var(name).ok()?));
        let mut variables: Vec<_> =
            APPLICATION_VARIABLES.iter().filter_map(|name| value(name)).collect();
        let named = self.arguments.settings.name.clone();
        variables.extend(named.map(|name| (APP.to_owned(), name)));
        application(&ProcessIdentity {
            variables: &variables,
            exported: exported_name(&self.path).as_deref(),
            executable: &self.path.to_string_lossy(),
            arguments: &arguments,
        })
    }

    /// The words of the command as text.
    fn words(&self) -> Vec<String> {
        let words = self.arguments.command.iter();
        words.map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// What the run is in the knowledge repository, if that is wanted.
    fn knowledge(&self) -> Option<KnowledgeRun> {
        let RunArguments { settings, no_knowledge, .. } = self.arguments;
        let file = match settings.knowledge() {
            Ok(file) => file.filter(|_| !no_knowledge)?,
            Err(error) => {
                say(sentence(&error));
                return None;
            }
        };
        Some(KnowledgeRun {
            file,
            application: self.application(),
            command: self.words(),
            anonymise: settings.anonymise,
            contributes: self.place.is_none_or(|place| place.rank == 0),
        })
    }

    /// What earlier runs have learned.
    fn model(&self) -> Option<(RunModel, Model)> {
        let file = self.arguments.model.as_ref()?;
        let (application, is_named) = (self.application(), self.arguments.settings.name.is_some());
        Some(RunModel::open(file, &RunIdentity { application: &application, is_named }))
    }

    /// The directory of the trace, if it was asked for and is complete.
    fn finish_recording(&self, watch: &mut RunObserver, summary: &RunSummary) -> Option<PathBuf> {
        let description = Description {
            application: summary.application.clone(),
            command: summary.command.join(" "),
            wall_s: Some(summary.wall_s),
            processes_seen: Some(summary.processes.seen),
            not_recorded: summary
                .unrecorded
                .calls
                .iter()
                .map(|missing| (missing.cause.to_owned(), missing.calls))
                .collect(),
            prefetch: summary.prefetch.as_ref().and_then(|report| to_value(report).ok()),
            knowledge: summary.knowledge.clone().and_then(|mut knowledge| {
                if self.arguments.settings.anonymise {
                    knowledge.file = knowledge.file.file_name().unwrap_or_default().into();
                }
                to_value(knowledge).ok()
            }),
            ..Description::default()
        };
        let directory = self.trace.clone();
        let finished = watch.take_recording()?.and_then(|recorder| {
            match watch.n_left_raw {
                0 => recorder.finish(&description).map(drop)?,
                _ => recorder.leave(&description)?,
            }
            Ok(directory)
        });
        match finished {
            Ok(directory) => directory,
            Err(error) => {
                let unfinished =
                    self.trace.as_deref().filter(|it| TraceRecorder::is_unfinished(it));
                let recover = unfinished.map_or_else(String::new, |directory| {
                    format!(
                        "; once that is possible, 'ioracle recover {}' turns what was recorded \
                         until then into a trace",
                        shell_quoted(directory)
                    )
                });
                say(format_args!("{}{recover}", sentence(&error)));
                None
            }
        }
    }
}

/// Processor time of this process so far.
fn own_cpu_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
