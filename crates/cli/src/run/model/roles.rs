// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which role each stream of a running job plays, from what the spool contains about
//! processes and threads.

use std::collections::HashMap;

use ioracle_events::StreamId;
use ioracle_oracle::Role;
use ioracle_trace::{JobProcess, ProcessNumber};

/// Roles of the streams that have begun.
#[derive(Debug, Default)]
pub struct Roles {
    processes: HashMap<ProcessNumber, Known>,
    /// Processes of each program and rank so far.
    n_begun: HashMap<(String, Option<u32>), u32>,
    /// Threads that have not done anything yet.
    idle: HashMap<StreamId, u32>,
}

#[derive(Debug)]
struct Known {
    pid: u32,
    program: String,
    rank: Option<u32>,
    process: u32,
    n_helpers: u32,
}

impl Roles {
    /// A process; again when its program becomes known. A rank that becomes known later
    /// comes too late for the role: what the process did until then already has one.
    pub fn process(&mut self, number: ProcessNumber, process: &JobProcess) {
        if process.executable.is_empty() || self.processes.contains_key(&number) {
            return;
        }
        let program = match process.application.is_empty() {
            true => base_name(&process.executable),
            false => process.application.clone(),
        };
        let n_begun = self.n_begun.entry((program.clone(), process.rank)).or_default();
        let known = Known {
            pid: process.pid,
            program,
            rank: process.rank,
            process: *n_begun,
            n_helpers: 0,
        };
        *n_begun += 1;
        self.processes.insert(number, known);
    }

    /// A thread, with its number in the system.
    pub fn stream_began(&mut self, id: StreamId, tid: u32) {
        self.idle.insert(id, tid);
    }

    /// The role of a stream at its first event; `None` at later ones, and if
    /// its program is not known.
    pub fn at_event(&mut self, process: ProcessNumber, stream: StreamId) -> Option<Role> {
        // Almost all events are later ones.
        let tid = self.idle.remove(&stream)?;
        let known = self.processes.get_mut(&process)?;
        let thread = match tid == known.pid {
            true => 0,
            false => {
                known.n_helpers += 1;
                known.n_helpers
            }
        };
        let Known { program, rank, process, .. } = &*known;
        Some(Role { program: program.clone(), rank: *rank, process: *process, thread })
    }
}

/// The name of a file without its directory.
pub fn base_name(path: &str) -> String {
    path.rsplit('/').next().unwrap_or(path).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, executable: &str, rank: Option<u32>) -> JobProcess {
        JobProcess { pid, executable: executable.to_owned(), rank, ..JobProcess::default() }
    }

    fn role(program: &str, rank: Option<u32>, process: u32, thread: u32) -> Option<Role> {
        Some(Role { program: program.to_owned(), rank, process, thread })
    }

    fn stream(process: u32, thread: u32) -> StreamId {
        StreamId { rank: process, thread }
    }

    #[test]
    fn processes_of_a_program_and_rank_are_counted() {
        let mut roles = Roles::default();
        let programs = [
            ("/bin/cp", None),
            ("/usr/bin/lmp", Some(1)),
            ("/usr/bin/lmp", Some(0)),
            ("/bin/cp", None),
        ];
        let mut found = Vec::new();
        for (number, (program, rank)) in (0..).zip(programs) {
            let (process_number, pid) = (ProcessNumber(number), 100 + number);
            // Its program becomes known later.
            roles.process(process_number, &process(pid, "", rank));
            roles.process(process_number, &process(pid, program, rank));
            roles.process(process_number, &process(pid, program, rank));
            roles.stream_began(stream(number, 0), pid);
            found.push(roles.at_event(process_number, stream(number, 0)));
        }
        let expected = [
            role("cp", None, 0, 0),
            role("lmp", Some(1), 0, 0),
            role("lmp", Some(0), 0, 0),
            role("cp", None, 1, 0),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn helpers_count_in_the_order_in_which_they_act() {
        let mut roles = Roles::default();
        let number = ProcessNumber(0);
        roles.process(number, &process(10, "/bin/app", None));
        for (thread, tid) in (0..).zip([12, 10, 11]) {
            roles.stream_began(stream(0, thread), tid);
        }
        let at = [2, 1, 0, 0].map(|thread| roles.at_event(number, stream(0, thread)));
        let expected = [1, 0, 2].map(|thread| role("app", None, 0, thread));
        assert_eq!(at[..3], expected);
        assert_eq!(at[3], None, "it is reported once");
    }

    #[test]
    fn roles_go_by_the_application() {
        let mut roles = Roles::default();
        for (number, application) in (0..).zip(["run.py", "other.py"]) {
            let application = application.to_owned();
            let process = process(number, "/usr/bin/python3.11", None);
            roles.process(ProcessNumber(number), &JobProcess { application, ..process });
            roles.stream_began(stream(number, 0), number);
        }
        let at = [0, 1].map(|number| roles.at_event(ProcessNumber(number), stream(number, 0)));
        assert_eq!(at, [role("run.py", None, 0, 0), role("other.py", None, 0, 0)]);
    }

    #[test]
    fn what_is_not_known_has_no_role() {
        let mut roles = Roles::default();
        roles.process(ProcessNumber(0), &process(10, "", None));
        roles.stream_began(stream(0, 0), 10);
        assert_eq!(roles.at_event(ProcessNumber(0), stream(0, 0)), None);
    }
}
