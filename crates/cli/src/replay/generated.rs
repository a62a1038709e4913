// SPDX-License-Identifier: MIT OR Apache-2.0

//! A model as a trace: what each of its streams is expected to do in a new run.
//!
//! The grammar of a stream generates its operations from the beginning of a run,
//! any number of them. They are written down as the events of a trace in memory,
//! which is then replayed like any other.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::path::Path;

use anyhow::{Result, bail};
use ioracle_events::{Access, PredictedFile};
use ioracle_oracle::Oracle;
use ioracle_trace::{Encoding, ReadOptions, Trace, TraceFiles};

use crate::shared::models;

/// Operations of all streams together.
const MAX_OPERATIONS: u64 = 4_000_000;

const HEADER: &str =
    "rank,tid,seq,level,op,stack,file,handle,offset,size,ret,start_ns,end_ns,depth,detail\n";

/// The trace that a model generates.
pub fn trace(path: &Path, operations: Option<u32>) -> Result<Trace> {
    let model = models::read(path)?;
    let name = path.display();
    let mut processes: BTreeMap<_, Vec<(u32, &Oracle)>> = BTreeMap::new();
    for view in model.roles() {
        let role = view.role;
        let process = (role.program.as_str(), role.rank, role.process);
        processes.entry(process).or_default().push((role.thread, view.oracle));
    }
    let (mut files, mut events, mut n_all) = (Files::default(), HEADER.to_owned(), 0);
    for (rank, streams) in (0_u32..).zip(processes.into_values()) {
        let mut sequence = 0;
        for (thread, oracle) in streams {
            let wanted = operations.map_or(oracle.operations(), u64::from);
            n_all += wanted;
            if n_all > MAX_OPERATIONS {
                bail!(
                    "'{name}' would make more than {MAX_OPERATIONS} calls; choose fewer with \
                     --operations N"
                );
            }
            generate(oracle, wanted, (rank, thread), &mut sequence, &mut files, &mut events);
        }
    }
    if n_all == 0 {
        bail!("'{name}' has learned nothing that could be replayed");
    }
    let parts = TraceFiles {
        encoding: Encoding::Plain,
        events: events.into_bytes(),
        stacks: b"id,frames\n1,model\n".to_vec(),
        files: files.table.into_bytes(),
        optional: BTreeMap::new(),
        meta: None,
    };
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(Trace::from_parts(&name, parts, ReadOptions::default())?)
}

/// Paths by number.
struct Files {
    numbers: HashMap<String, u32>,
    table: String,
}

impl Default for Files {
    fn default() -> Files {
        Files { numbers: HashMap::new(), table: "id,path\n".to_owned() }
    }
}

impl Files {
    fn number(&mut self, path: &str) -> u32 {
        let next = self.numbers.len() as u32 + 1;
        let number = *self.numbers.entry(path.to_owned()).or_insert(next);
        if number == next {
            let _ = writeln!(self.table, "{next},{path}");
        }
        number
    }
}

/// Writes down what a stream is expected to do.
fn generate(
    oracle: &Oracle,
    wanted: u64,
    (rank, thread): (u32, u32),
    sequence: &mut u64,
    files: &mut Files,
    events: &mut String,
) {
    let mut oracle = oracle.clone();
    oracle.begin_run();
    // A descriptor stands for a file as long as it is open.
    let (mut handles, mut next_handle) = (HashMap::<u32, i64>::new(), 3);
    let mut now = 0_u64;
    let wanted = usize::try_from(wanted).unwrap_or(usize::MAX);
    let n_known = oracle.ahead(0).take(wanted).count();
    // What is known ends with the run; then the next run begins.
    let rounds = wanted.checked_div(n_known).map_or(0, |rounds| rounds + 1);
    let ahead = (0..rounds).flat_map(|_| oracle.ahead(0).take(n_known)).take(wanted);
    for step in ahead {
        let path = match &step.file {
            PredictedFile::Known(id) => oracle.file_path(*id).unwrap_or("unknown").to_owned(),
            PredictedFile::New(name) => name.clone(),
        };
        let file = files.number(&path);
        let access = step.function.access();
        if access == Access::Open {
            next_handle += 1;
            handles.insert(file, i64::from(rank) * 1_000_000 + next_handle);
        }
        let handle = handles.get(&file).copied().unwrap_or(-1);
        let start = now.saturating_add(step.interarrival_ns);
        now = start.saturating_add(step.io_time_ns);
        let (layer, name) = (step.function.layer().name(), step.function.name());
        let offset = step.offset.map_or(-1, |offset| i64::try_from(offset).unwrap_or(-1));
        let result = match access {
            Access::Open => handle,
            access if access.is_data() => i64::try_from(step.size).unwrap_or(i64::MAX),
            _ => 0,
        };
        let detail = match (access, layer) {
            (Access::Open, "stdio") => "r+",
            (Access::Open, _) => "RDWR|CREAT",
            _ => "",
        };
        let _ = writeln!(
            events,
            "{rank},{thread},{sequence},{layer},{name},1,{file},{handle},{offset},{},{result},\
             {start},{now},0,{detail}",
            step.size
        );
        *sequence += 1;
        if access == Access::Close {
            handles.remove(&file);
        }
    }
}
