// SPDX-License-Identifier: MIT OR Apache-2.0

//! Finds new streams in the job directory, and refuses other files.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::mem::offset_of;
use std::time::{Duration, Instant};

use super::files::OpenFault;
use super::{Followed, FollowedStreams};
use crate::layout::{SPARE_BYTES, SPARE_SUFFIX, STREAM_SUFFIX, StreamHeader};
use crate::reader::error::Error;
use crate::reader::page::JobPageAccess;
use crate::reader::process;
use crate::reader::read::{read, read_first_page};
use crate::reader::sink::{Sink, StreamInfo, StreamNumber};
use crate::reader::slot::SlotFile;
use crate::reader::stream::StreamReader;
use crate::reader::table::{FirstPage, Header};
use crate::slot::SLOT_SUFFIX;

/// Streams followed at once; more wait in the directory until some have ended.
const MAX_STREAMS: usize = 65_536;
/// Names of files that are not streams, remembered so that they are reported once.
const MAX_REFUSED: usize = 65_536;
/// How often the directory is listed even if no writer has reported a change: when
/// everything in it is known, and when something was left for later or the job page
/// cannot be read.
const LIST_EVERY: (Duration, Duration) = (Duration::from_secs(10), Duration::from_secs(1));

impl FollowedStreams {
    /// Lists the directory if writers have begun streams or made slots, or some
    /// time has passed.
    pub(super) fn list_if_changed(
        &mut self,
        page: &JobPageAccess,
        now: Instant,
        sink: &mut impl Sink,
    ) -> Result<(), Error> {
        let counts = page.streams_and_slots();
        let is_known = counts.is_some() && !self.left_for_later;
        let every = if is_known { LIST_EVERY.0 } else { LIST_EVERY.1 };
        let is_fresh = self.listed.is_some_and(|listed| now.duration_since(listed) < every);
        if is_fresh && counts == self.counts_seen {
            return Ok(());
        }
        self.counts_seen = counts;
        self.listed = Some(now);
        self.list(page, sink)
    }

    /// Begins to follow the streams in the directory that are not known.
    pub(super) fn list(&mut self, page: &JobPageAccess, sink: &mut impl Sink) -> Result<(), Error> {
        let directory = self.files.directory();
        let failed = |source| Error::List { path: directory.to_path_buf(), source };
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if !std::mem::replace(&mut self.directory_is_gone, true) {
                    let name = directory.display().to_string();
                    self.totals.damage(&name, "the job directory was removed");
                }
                return Ok(());
            }
            entries => entries.map_err(failed)?,
        };
        self.left_for_later = false;
        let mut new = Vec::new();
        let mut slots = HashSet::new();
        for entry in entries {
            let name = entry.map_err(failed)?.file_name();
            let Some(name) = name.to_str() else { continue };
            if let Some(stem) = name.strip_suffix(SLOT_SUFFIX) {
                if slots.len() < MAX_STREAMS {
                    slots.insert(format!("{stem}{STREAM_SUFFIX}"));
                }
            } else if (name.ends_with(STREAM_SUFFIX) || is_spare(name))
                && !self.known.contains(name)
                && new.len() < MAX_STREAMS
            {
                new.push((begin_of(name), name.to_owned()));
            }
        }
        // In the order in which they began, so that their numbers have this order.
        new.sort_unstable();
        for (_, name) in new {
            if self.followed.len() < MAX_STREAMS {
                self.begin(page, name, sink);
            } else {
                self.left_for_later = true;
            }
        }
        self.find_slots(&slots, sink);
        Ok(())
    }

    /// Takes over the slots of streams that have none yet.
    fn find_slots(&mut self, streams: &HashSet<String>, sink: &mut impl Sink) {
        if streams.is_empty() {
            return;
        }
        let (buffer, totals) = (&mut self.buffer, &mut self.totals);
        for Followed { stream, .. } in &mut self.followed {
            if stream.slot.is_some() || !streams.contains(&stream.info.name) {
                continue;
            }
            // An unusable one is tried again at the next listing.
            let opened = self.files.open(&slot_of(&stream.info.name));
            stream.slot = opened.ok().and_then(SlotFile::new);
            self.left_for_later |= stream.slot.is_none();
            if stream.slot.is_some() {
                // The sink has to know whose thread it is before it is asked.
                self.files.with(stream, totals, |stream, file, totals| {
                    stream.deliver_definitions(file, buffer, sink, totals);
                });
                sink.asks(stream.number);
            }
        }
        self.note_asking();
    }

    /// Begins to follow a stream, if the file is a stream.
    fn begin(&mut self, page: &JobPageAccess, name: String, sink: &mut impl Sink) {
        let opened = self.files.open(&name).and_then(|file| match read_first_page(&file) {
            FirstPage::Header(header) => Ok((header, file)),
            FirstPage::Empty => Err(OpenFault::NotNow),
            FirstPage::Foreign(why) => Err(OpenFault::Refused(why.to_owned())),
        });
        let (header, file) = match opened {
            Ok(found) => found,
            Err(OpenFault::NotNow) if is_spare(&name) => {
                return self.let_go_if_abandoned(page, &name);
            }
            Err(OpenFault::NotNow) => {
                self.left_for_later = true;
                return;
            }
            Err(OpenFault::Refused(why)) => return self.refuse(name, &why),
        };
        // The thread of one made in advance was not known then.
        let (begin_ns, whose) = match is_spare(&name) {
            true => (Some(header.begin_ns), format!("{}-", header.pid)),
            false => (begin_of(&name), format!("{}-{}-", header.pid, header.tid)),
        };
        let Some(begin_ns) = begin_ns.filter(|_| name.starts_with(&whose)) else {
            return self.refuse(name, "its header and its name belong to different threads");
        };
        let info = info(&header, begin_ns, name.clone());
        let (start_ns, n_streams) = self.images.entry(info.pid).or_insert((0, 0));
        *start_ns = info.process_start_ns.max(*start_ns);
        *n_streams += 1;
        let number = StreamNumber(self.next_number);
        self.next_number = self.next_number.saturating_add(1);
        self.totals.n_streams += 1;
        let fault = header.fault;
        let mut stream = StreamReader::new(number, info, header);
        if let Some(fault) = fault {
            stream.damage(fault, &mut self.totals);
        }
        self.totals.n_consumed_before =
            self.totals.n_consumed_before.saturating_add(stream.position());
        self.files.keep(&mut stream, file);
        self.known.insert(name);
        sink.stream(number, &stream.info);
        self.followed.push(Followed::new(stream));
    }

    /// Deletes a stream that was made in advance and not begun, once the process
    /// that alone can begin it is gone.
    fn let_go_if_abandoned(&mut self, page: &JobPageAccess, name: &str) {
        let Some(page) = page.shared() else { return };
        let maker = name.split('-').next().and_then(|pid| pid.parse().ok());
        let (Some(pid), Some(made_ns)) = (maker, begin_of(name)) else { return };
        let mut namespace = [0; 8];
        let at = offset_of!(StreamHeader, pid_namespace) as u64;
        let is_read = self.files.open(name).is_ok_and(|file| read(&file, at, &mut namespace) == 8);
        // Where process numbers mean other processes (another namespace), this is unknown.
        let is_ours = is_read && Some(u64::from_ne_bytes(namespace)) == process::pid_namespace();
        if is_ours
            && process::process_is_gone(pid, made_ns)
            && fs::remove_file(self.files.path(name)).is_ok()
        {
            page.give_back(SPARE_BYTES as u64);
        }
    }

    fn refuse(&mut self, name: String, why: &str) {
        self.totals.damage(&name, why);
        if self.known.len() < MAX_REFUSED + MAX_STREAMS {
            self.known.insert(name);
        }
    }
}

fn info(header: &Header, begin_ns: u64, name: String) -> StreamInfo {
    StreamInfo {
        pid: header.pid,
        tid: header.tid,
        parent_pid: header.parent_pid,
        rank: header.rank,
        world_size: header.world_size,
        process_start_ns: header.process_start_ns,
        process_start_realtime_ns: header.process_start_realtime_ns,
        begin_ns,
        name,
    }
}

/// Whether a name is that of a stream made in advance.
fn is_spare(name: &str) -> bool {
    name.ends_with(SPARE_SUFFIX)
}

/// The name of a stream's slot.
pub(super) fn slot_of(stream: &str) -> String {
    format!("{}{SLOT_SUFFIX}", stream.strip_suffix(STREAM_SUFFIX).unwrap_or(stream))
}

/// When a stream began, according to its name.
fn begin_of(name: &str) -> Option<u64> {
    let stem = name.strip_suffix(STREAM_SUFFIX).or_else(|| name.strip_suffix(SPARE_SUFFIX))?;
    let time = stem.rsplit('-').next()?;
    u64::from_str_radix(time, 16).ok()
}
