// SPDX-License-Identifier: MIT OR Apache-2.0

//! The optional tables of the CSV form, one per kind of [`Provenance`]. Each is
//! read after those that it refers to, and written only if it has rows.

use std::path::Path;

use ioracle_events::{FileId, StreamId};

use super::{
    FilePlace, LoadedModule, MAX_COMMAND_TEXT, Mount, MountId, NotTaken, Provenance, SourcePlace,
    TraceProcess,
};
use crate::error::{Error, RowFault, excerpt};
use crate::fields::Fields;
use crate::lines::MAX_LINE_BYTES;
use crate::source::{Encoding, Source, TraceFiles};
use crate::table::{IdTable, MAX_TABLE_BYTES, MAX_TABLE_ROWS};
use crate::tally::SkippedRows;
use crate::writing::{TableWriter, TemporaryFile};

/// The names of the tables, in the order in which they are read.
pub(crate) const TABLES: [&str; 6] =
    ["processes", "threads", "modules", "symbols", "mounts", "file_mounts"];

const PROCESSES: &str =
    "process,pid,parent,rank,start_ns,end_ns,start_realtime_ns,application,executable,command";
const THREADS: &str = "rank,tid,process";
const MODULES: &str = "process,name,address,build_id,path";
const SYMBOLS: &str = "frame,inlined,line,source,function";
const MOUNTS: &str = "mount,type,device,point";
const FILE_MOUNTS: &str = "file,mount,size_at_open";

/// A command line may be longer than any other line.
const MAX_PROCESS_LINE_BYTES: usize = MAX_COMMAND_TEXT + MAX_LINE_BYTES;

/// The tables that exist.
#[derive(Debug, Default)]
pub(crate) struct OptionalTables([Option<Source>; TABLES.len()]);

impl OptionalTables {
    pub(crate) fn in_directory(directory: &Path) -> Result<OptionalTables, Error> {
        let mut tables = OptionalTables::default();
        for (place, name) in tables.0.iter_mut().zip(TABLES) {
            *place = Source::find_in_directory(directory, name)?;
        }
        Ok(tables)
    }

    pub(crate) fn in_memory(parts: &mut TraceFiles) -> OptionalTables {
        let mut tables = OptionalTables::default();
        for (place, name) in tables.0.iter_mut().zip(TABLES) {
            let bytes = parts.optional.remove(name);
            *place = bytes.map(|bytes| Source::in_memory(name, parts.encoding, bytes));
        }
        tables
    }

    /// Reads them all.
    pub(crate) fn read(
        self,
        files: &IdTable<FileId>,
        tally: &mut SkippedRows,
    ) -> Result<Provenance, Error> {
        let OptionalTables([processes, threads, modules, symbols, mounts, file_mounts]) = self;
        let mut known = Provenance::default();
        let lines = MAX_PROCESS_LINE_BYTES;
        read(processes, (PROCESSES, lines), tally, |line| process(&mut known, line))?;
        let lines = MAX_LINE_BYTES;
        read(threads, (THREADS, lines), tally, |line| thread(&mut known, line))?;
        read(modules, (MODULES, lines), tally, |line| module(&mut known, line))?;
        read(symbols, (SYMBOLS, lines), tally, |line| symbol(&mut known, line))?;
        read(mounts, (MOUNTS, lines), tally, |line| mount(&mut known, line))?;
        read(file_mounts, (FILE_MOUNTS, lines), tally, |line| file_mount(&mut known, files, line))?;
        Ok(known)
    }
}

fn read(
    source: Option<Source>,
    (header, max_line_bytes): (&'static str, usize),
    tally: &mut SkippedRows,
    mut take: impl FnMut(&[u8]) -> Result<(), RowFault>,
) -> Result<(), Error> {
    let Some(source) = source else { return Ok(()) };
    let mut input = source.open_with_lines(header, max_line_bytes)?;
    loop {
        let taken = match input.next_row() {
            Ok(Some(line)) => line.and_then(&mut take),
            Ok(None) => return Ok(()),
            Err(error) => return tally.cut(error),
        };
        if let Err(fault) = taken {
            tally.skip(input.row_error(fault))?;
        }
    }
}

/// The fault of a row that was not taken; `number` is what it refers to.
fn fault(column: &'static str, number: u32) -> impl Fn(NotTaken) -> RowFault {
    move |why| match why {
        NotTaken::Full => RowFault::TableFull { rows: MAX_TABLE_ROWS, bytes: MAX_TABLE_BYTES },
        NotTaken::OutOfOrder => RowFault::NotInOrder { column },
        NotTaken::Dangling => RowFault::NotDefined { column, number },
    }
}

fn process(known: &mut Provenance, line: &[u8]) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 10);
    let number = fields.small("process")?;
    if number as usize != known.processes().len() {
        return Err(RowFault::NotInOrder { column: "process" });
    }
    let process = TraceProcess {
        pid: fields.small("pid")?,
        parent_pid: fields.small("parent")?,
        rank: optional_small(&mut fields, "rank")?,
        start_ns: fields.count("start_ns")?,
        end_ns: u64::try_from(fields.number("end_ns", -1)?).ok(),
        start_realtime_ns: fields.count("start_realtime_ns")?,
        application: fields.text("application")?.into(),
        executable: fields.text("executable")?.into(),
        command: fields.text_to_end("command")?.into(),
    };
    if process.command.len() > MAX_COMMAND_TEXT {
        return Err(RowFault::LineTooLong { limit: MAX_PROCESS_LINE_BYTES });
    }
    known.add_process(process).map_err(fault("process", number))
}

/// A number that may be -1 for none.
fn optional_small(fields: &mut Fields<'_>, column: &'static str) -> Result<Option<u32>, RowFault> {
    let number = fields.number(column, -1)?;
    match number {
        -1 => Ok(None),
        _ => u32::try_from(number).map(Some).map_err(|_| RowFault::OutOfRange {
            column,
            found: number.to_string().into(),
            lowest: -1,
            highest: u32::MAX.into(),
        }),
    }
}

fn thread(known: &mut Provenance, line: &[u8]) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 3);
    let stream = StreamId { rank: fields.small("rank")?, thread: fields.small("tid")? };
    let process = fields.last_small("process")?;
    let fault = |why| match why {
        NotTaken::OutOfOrder => RowFault::NotInOrder { column: "tid" },
        why => fault("process", process)(why),
    };
    known.add_thread(stream, process).map_err(fault)
}

fn module(known: &mut Provenance, line: &[u8]) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 5);
    let process = fields.small("process")?;
    let name = fields.text("name")?.into();
    let address = fields.text("address")?;
    let digits = address.strip_prefix("0x").filter(|digits| is_shortest_hexadecimal(digits));
    let address =
        digits.and_then(|digits| u64::from_str_radix(digits, 16).ok()).ok_or_else(|| {
            RowFault::NotHexadecimal { column: "address", found: excerpt(address.as_bytes()) }
        })?;
    let build_id = fields.text("build_id")?;
    let build_id = from_hexadecimal(build_id).ok_or_else(|| RowFault::NotHexadecimal {
        column: "build_id",
        found: excerpt(build_id.as_bytes()),
    })?;
    let path = fields.text_to_end("path")?.into();
    let module = LoadedModule { process, name, address, build_id, path };
    known.add_module(module).map_err(fault("process", process))
}

/// Digits that are written back as they are.
fn is_shortest_hexadecimal(digits: &str) -> bool {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    digits.bytes().all(is_digit) && (digits == "0" || !digits.starts_with('0'))
}

fn from_hexadecimal(text: &str) -> Option<Vec<u8>> {
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    if !text.len().is_multiple_of(2) || !text.bytes().all(is_digit) {
        return None;
    }
    let pair = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
    (0..text.len()).step_by(2).map(pair).collect()
}

fn symbol(known: &mut Provenance, line: &[u8]) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 5);
    let frame = fields.text("frame")?;
    let inlined = fields.small("inlined")?;
    let place = SourcePlace {
        line: fields.small("line")?,
        source: fields.text("source")?.into(),
        function: fields.text_to_end("function")?.into(),
    };
    known.add_source_place(frame, inlined, place).map_err(fault("frame", inlined))
}

fn mount(known: &mut Provenance, line: &[u8]) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 4);
    let number = fields.small_from("mount", 1)?;
    if number as usize != known.mounts().len() + 1 {
        return Err(RowFault::NotInOrder { column: "mount" });
    }
    let mount = Mount {
        kind: fields.text("type")?.into(),
        device: fields.text("device")?.into(),
        point: fields.text_to_end("point")?.into(),
    };
    known.add_mount(mount).map(drop).map_err(fault("mount", number))
}

fn file_mount(
    known: &mut Provenance,
    files: &IdTable<FileId>,
    line: &[u8],
) -> Result<(), RowFault> {
    let mut fields = Fields::new(line, 3);
    let file = FileId(fields.small_from("file", 1)?);
    let mount = fields.small("mount")?;
    let size_at_open = u64::try_from(fields.last_number("size_at_open", -1)?).ok();
    if !files.contains(file) {
        return Err(RowFault::UnknownFile { id: file.0 });
    }
    let is_next = known.file_places.last_key_value().is_none_or(|(last, _)| *last < file);
    if !is_next {
        return Err(RowFault::NotInOrder { column: "file" });
    }
    let place = FilePlace { mount: (mount > 0).then_some(MountId(mount)), size_at_open };
    known.add_file_place(file, place).map_err(fault("mount", mount))
}

/// Writes the tables that have rows. `threads` are the streams of the events
/// that were written, with the process of each.
pub(crate) fn export(
    known: &Provenance,
    threads: impl Iterator<Item = (StreamId, u32)>,
    directory: &Path,
    encoding: Encoding,
) -> Result<Vec<TemporaryFile>, Error> {
    let mut out = Export { directory, encoding, parts: Vec::new() };
    out.table("processes", PROCESSES, (0..).zip(known.processes()), |(number, it)| {
        let or_none = |number: Option<u64>| number.map_or(-1, |number| number as i64);
        format!(
            "{number},{},{},{},{},{},{},{},{},{}",
            it.pid,
            it.parent_pid,
            or_none(it.rank.map(u64::from)),
            it.start_ns,
            or_none(it.end_ns),
            it.start_realtime_ns,
            it.application,
            it.executable,
            it.command
        )
    })?;
    out.table("threads", THREADS, threads, |(stream, process): (StreamId, u32)| {
        format!("{},{},{process}", stream.rank, stream.thread)
    })?;
    out.table("modules", MODULES, known.modules().iter(), |it: &LoadedModule| {
        let build_id: String = it.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{},{},{:#x},{build_id},{}", it.process, it.name, it.address, it.path)
    })?;
    let places = known.frames().flat_map(|(frame, places)| {
        (0..).zip(places).map(move |(inlined, place): (u32, _)| (frame, inlined, place))
    });
    out.table("symbols", SYMBOLS, places, |(frame, inlined, it)| {
        format!("{frame},{inlined},{},{},{}", it.line, it.source, it.function)
    })?;
    out.table("mounts", MOUNTS, (1..).zip(known.mounts()), |(number, it)| {
        format!("{number},{},{},{}", it.kind, it.device, it.point)
    })?;
    out.table("file_mounts", FILE_MOUNTS, known.file_places(), |(file, it)| {
        let size = it.size_at_open.map_or(-1, |size| size as i64);
        format!("{},{},{size}", file.0, it.mount.map_or(0, |mount| mount.0))
    })?;
    Ok(out.parts)
}

struct Export<'a> {
    directory: &'a Path,
    encoding: Encoding,
    parts: Vec<TemporaryFile>,
}

impl Export<'_> {
    fn table<Row>(
        &mut self,
        name: &str,
        header: &str,
        rows: impl Iterator<Item = Row>,
        line: impl Fn(Row) -> String,
    ) -> Result<(), Error> {
        let mut rows = rows.peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        let mut table = TableWriter::create(self.directory, name, header, self.encoding)?;
        for row in rows {
            table.push(format_args!("{}", line(row)))?;
        }
        self.parts.push(table.finish()?);
        Ok(())
    }
}
