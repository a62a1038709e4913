// SPDX-License-Identifier: MIT OR Apache-2.0

//! The interface that receives what a job does.

use std::path::Path;

use ioracle_events::{ContextId, Event, FileId, StreamId};

use crate::spooled::processes::JobProcess;

/// A process of the job, counted in the order of appearance. A program that
/// replaces itself by another (exec) is a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessNumber(pub u32);

impl ProcessNumber {
    /// Its place in [`Follower::processes`](crate::Follower::processes).
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A program or shared library where a process has loaded it.
#[derive(Clone, Copy, Debug)]
pub struct ModuleLoaded<'a> {
    /// The name that frames give it.
    pub name: &'a str,
    /// The identity of its build; empty if it has none.
    pub build_id: &'a [u8],
    /// Where it was loaded from.
    pub path: &'a Path,
    /// Where in the memory of the process: offsets of frames count from here.
    pub address: u64,
}

/// A file as the system saw it when it was first opened.
#[derive(Clone, Copy, Debug)]
pub struct OpenedFile<'a> {
    /// The path as the application has it, or what stands for it.
    pub path: &'a [u8],
    /// The number of the device (`st_dev`).
    pub device: u64,
    /// Its size in bytes.
    pub size: u64,
}

/// Takes what a [`Follower`](crate::Follower) finds.
///
/// Numbers of contexts and files are common to all processes of the job, count up from
/// 1 without gaps, and come before the first event that names them. [`FileId::UNKNOWN`]
/// has no definition; a context whose frames are not known is reported as `?`, like any
/// other, when it is first used. An observer that needs only calls implements only
/// [`event`](Observer::event).
pub trait Observer {
    /// A process, before its first event; again when its program and arguments,
    /// or its rank, become known.
    fn process(&mut self, _number: ProcessNumber, _process: &JobProcess) {}

    /// A thread, before its first event, with its number in the system;
    /// `id.rank` is the number of the process.
    fn stream_began(&mut self, _id: StreamId, _tid: u32) {}

    /// A program or shared library, before the first call stack that names it:
    /// the name that frames give it, the identity of its build (empty if it has
    /// none), and where it was loaded from.
    fn module(&mut self, _name: &str, _build_id: &[u8], _path: &Path) {}

    /// A process has loaded a program or shared library, before the first of its
    /// events whose call stack names it.
    fn module_loaded(&mut self, _process: ProcessNumber, _module: &ModuleLoaded<'_>) {}

    /// The frames of a call stack, innermost first, `module+0xoffset;…`.
    fn context(&mut self, _id: ContextId, _frames: &str) {}

    /// The path of a file, in the form of traces: relative to the working
    /// directory of the job where it lies in it, characters that a table cannot
    /// hold as `%` and two digits.
    fn file(&mut self, _id: FileId, _path: &str) {}

    /// What the system said of a file when it was first opened, after its path.
    fn file_opened(&mut self, _id: FileId, _file: &OpenedFile<'_>) {}

    /// A finished call. Those of a stream come in the order in which they
    /// began; `event.stream.rank` is the number of the process, `event.sequence`
    /// counts within the stream.
    fn event(&mut self, process: ProcessNumber, event: &Event);

    /// A call has ended inside another one that has not, in a stream that someone
    /// acts on. It comes again, by [`event`](Observer::event), when it is its turn.
    fn nested_event(&mut self, event: &Event) {
        let _ = event;
    }

    /// A thread asks what comes next, by
    /// [`Follower::publish`](crate::Follower::publish).
    fn stream_asks(&mut self, id: StreamId) {
        let _ = id;
    }

    /// A thread has ended and nothing more comes from it.
    fn stream_ended(&mut self, _id: StreamId) {}

    /// What was reported so far is about to leave the spool. An observer that stores it
    /// does so now: then nothing is lost when it is killed, except calls inside one
    /// that has not ended.
    fn keep(&mut self) {}
}
