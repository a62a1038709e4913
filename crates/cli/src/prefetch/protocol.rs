// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the run and its performer say to each other: one message per packet of a
//! socket, so that none is ever half there.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};

/// Longest path of a file that can be asked for; the kernel allows no longer one.
pub const MAX_PATH_BYTES: usize = 4096;
const HEADER_BYTES: usize = 48;
const MAX_BYTES: usize = HEADER_BYTES + MAX_PATH_BYTES;

const OPEN: u8 = 1;
const READ: u8 = 2;
const CLOSE: u8 = 3;
const LIST: u8 = 4;
/// Marks a packet of names.
const NAMES: u8 = 6;
/// Stands for an end of file that is not known.
const NO_END: u64 = u64::MAX;

/// What the performer is to do.
#[derive(Debug)]
pub enum Order {
    /// Open a file by its path when it is first read.
    Open { file: u32, path: Vec<u8> },
    /// Read bytes, through this descriptor of the program if there is one.
    Read { id: u64, file: u32, offset: u64, length: u64, descriptor: Option<OwnedFd> },
    /// A file is not needed any more.
    Close { file: u32 },
    /// Name the files of a kind in a directory; `list` comes back with the names.
    List { list: u32, directory: Vec<u8>, kind: Vec<u8> },
}

/// What the performer says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    Done(Answer),
    /// Some of the files that were to be named; the last packet has none.
    Names {
        list: u32,
        names: Vec<String>,
    },
}

/// What became of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    pub id: u64,
    pub outcome: Outcome,
    /// Bytes that had to be read from the storage.
    pub bytes: u64,
    pub took_ns: u64,
    /// When it ended, on the monotonic clock of the machine.
    pub ended_ns: u64,
    /// Where the file ends, if that was met.
    pub file_end: Option<u64>,
}

/// How a read ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Outcome {
    Fetched = 1,
    /// All of it was in the cache.
    Resident = 2,
    /// It is no regular file, may not be read, or is not there.
    Refused = 3,
    /// The descriptor is one of another file by now.
    OtherFile = 4,
    /// Opening a file drops what is cached of it: it can be read ahead only through
    /// descriptors of the program.
    CacheDropped = 5,
}

/// Nanoseconds on the clock that the capture library reads, too.
pub fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

/// Two ends of a channel.
pub fn channel() -> rustix::io::Result<(OwnedFd, OwnedFd)> {
    socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
}

/// Sends an order without waiting; `AGAIN` if the performer does not keep up.
pub fn send_order(socket: impl AsFd, order: &Order) -> rustix::io::Result<()> {
    let mut packet = [0; HEADER_BYTES];
    let (kind, file) = match order {
        Order::Open { file, .. } => (OPEN, file),
        Order::Read { file, .. } => (READ, file),
        Order::Close { file } => (CLOSE, file),
        Order::List { list, .. } => (LIST, list),
    };
    packet[0] = kind;
    packet[4..8].copy_from_slice(&file.to_ne_bytes());
    let (mut path, mut after_path): (&[u8], &[u8]) = (&[], &[]);
    let mut passed: Option<BorrowedFd<'_>> = None;
    match order {
        Order::Open { path: its, .. } => path = its,
        Order::Read { id, offset, length, descriptor, .. } => {
            passed = descriptor.as_ref().map(OwnedFd::as_fd);
            packet[8..16].copy_from_slice(&id.to_ne_bytes());
            packet[16..24].copy_from_slice(&offset.to_ne_bytes());
            packet[24..32].copy_from_slice(&length.to_ne_bytes());
        }
        Order::Close { .. } => {}
        Order::List { directory, kind, .. } => {
            (path, after_path) = (directory, kind);
            packet[8..16].copy_from_slice(&(directory.len() as u64).to_ne_bytes());
        }
    }
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let passed = passed.as_slice();
    if !passed.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(passed));
    }
    let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
    let parts = [IoSlice::new(&packet), IoSlice::new(path), IoSlice::new(after_path)];
    sendmsg(socket, &parts, &mut ancillary, flags).map(|_| ())
}

/// Waits for the next order; none when the run has ended.
pub fn receive_order(socket: impl AsFd) -> rustix::io::Result<Option<Order>> {
    loop {
        let mut packet = [0; MAX_BYTES];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [IoSliceMut::new(&mut packet)];
        let flags = RecvFlags::CMSG_CLOEXEC;
        let received = match recvmsg(socket.as_fd(), &mut parts, &mut ancillary, flags) {
            Err(Errno::INTR) => continue,
            received => received?,
        };
        if received.bytes == 0 {
            return Ok(None);
        }
        let descriptor = ancillary.drain().find_map(|message| match message {
            RecvAncillaryMessage::ScmRights(mut descriptors) => descriptors.next(),
            _ => None,
        });
        if let Some(order) = order(&packet[..received.bytes], descriptor) {
            return Ok(Some(order));
        }
    }
}

fn order(packet: &[u8], descriptor: Option<OwnedFd>) -> Option<Order> {
    let file = u32::from_ne_bytes(packet.get(4..8)?.try_into().ok()?);
    let number = |at: usize| Some(u64::from_ne_bytes(packet.get(at..at + 8)?.try_into().ok()?));
    match packet[0] {
        OPEN => Some(Order::Open { file, path: packet.get(HEADER_BYTES..)?.to_owned() }),
        READ => {
            let (id, offset, length) = (number(8)?, number(16)?, number(24)?);
            Some(Order::Read { id, file, offset, length, descriptor })
        }
        CLOSE => Some(Order::Close { file }),
        LIST => {
            let texts = packet.get(HEADER_BYTES..)?;
            let (directory, kind) = texts.split_at_checked(number(8)? as usize)?;
            Some(Order::List { list: file, directory: directory.to_owned(), kind: kind.to_owned() })
        }
        _ => None,
    }
}

/// Sends an answer; waits if the run does not listen.
pub fn send_answer(socket: impl AsFd, answer: &Answer) -> rustix::io::Result<()> {
    let mut packet = [0; HEADER_BYTES];
    packet[0] = answer.outcome as u8;
    packet[8..16].copy_from_slice(&answer.id.to_ne_bytes());
    packet[16..24].copy_from_slice(&answer.bytes.to_ne_bytes());
    packet[24..32].copy_from_slice(&answer.took_ns.to_ne_bytes());
    packet[32..40].copy_from_slice(&answer.ended_ns.to_ne_bytes());
    packet[40..48].copy_from_slice(&answer.file_end.unwrap_or(NO_END).to_ne_bytes());
    rustix::net::send(socket, &packet, SendFlags::NOSIGNAL).map(|_| ())
}

/// Sends names of files, as many to a packet as have room, and then an empty packet;
/// waits if the run does not listen.
pub fn send_names(
    socket: impl AsFd,
    list: u32,
    names: impl IntoIterator<Item = String>,
) -> rustix::io::Result<()> {
    let send = |packet: &[u8]| rustix::net::send(&socket, packet, SendFlags::NOSIGNAL).map(drop);
    let mut header = vec![0; HEADER_BYTES];
    header[0] = NAMES;
    header[4..8].copy_from_slice(&list.to_ne_bytes());
    let mut packet = header.clone();
    for name in names {
        if packet.len() + name.len() + 1 > MAX_BYTES {
            send(&packet)?;
            packet.truncate(HEADER_BYTES);
        }
        packet.extend_from_slice(name.as_bytes());
        packet.push(0);
    }
    if packet.len() > HEADER_BYTES {
        send(&packet)?;
    }
    send(&header)
}

/// The next reply, without waiting; `AGAIN` if there is none, none if the performer has
/// ended.
pub fn receive_reply(socket: impl AsFd) -> rustix::io::Result<Option<Reply>> {
    let mut packet = [0; MAX_BYTES];
    let (_, n_bytes) = rustix::net::recv(socket, &mut packet[..], RecvFlags::DONTWAIT)?;
    if n_bytes < HEADER_BYTES {
        return Ok(None);
    }
    if packet[0] == NAMES {
        let list = u32::from_ne_bytes(packet[4..8].try_into().expect("four bytes"));
        let texts = packet[HEADER_BYTES..n_bytes].split(|byte| *byte == 0);
        let text = |name: &[u8]| Some(std::str::from_utf8(name).ok()?.to_owned());
        let names = texts.filter(|name| !name.is_empty()).filter_map(text).collect();
        return Ok(Some(Reply::Names { list, names }));
    }
    let number =
        |at: usize| u64::from_ne_bytes(packet[at..at + 8].try_into().expect("eight bytes"));
    let outcome = match packet[0] {
        1 => Outcome::Fetched,
        2 => Outcome::Resident,
        4 => Outcome::OtherFile,
        5 => Outcome::CacheDropped,
        _ => Outcome::Refused,
    };
    let (id, bytes, took_ns, ended_ns) = (number(8), number(16), number(24), number(32));
    let file_end = Some(number(40)).filter(|&end| end != NO_END);
    Ok(Some(Reply::Done(Answer { id, outcome, bytes, took_ns, ended_ns, file_end })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_answers_arrive_as_they_were_sent() {
        let (run, performer) = channel().unwrap();
        let descriptor =
            rustix::fs::open("/dev/null", rustix::fs::OFlags::RDONLY, rustix::fs::Mode::empty());
        let orders = [
            Order::Open { file: 7, path: b"a/\xffb".to_vec() },
            Order::Read { id: 1 << 40, file: 7, offset: 1 << 50, length: 4096, descriptor: None },
            Order::Close { file: 8 },
            Order::List { list: 9, directory: b"a/\xff".to_vec(), kind: b"nc".to_vec() },
            Order::Read {
                id: 2,
                file: 8,
                offset: 0,
                length: 1,
                descriptor: Some(descriptor.unwrap()),
            },
        ];
        for sent in &orders {
            send_order(&run, sent).unwrap();
            let received = receive_order(&performer).unwrap().unwrap();
            match (sent, &received) {
                (Order::Read { id: 2, .. }, Order::Read { id: 2, descriptor, .. }) => {
                    assert!(descriptor.is_some());
                }
                _ => assert_eq!(format!("{sent:?}"), format!("{received:?}")),
            }
        }
        for (outcome, file_end) in [
            (Outcome::Fetched, None),
            (Outcome::Resident, Some(0)),
            (Outcome::Refused, Some(1 << 40)),
            (Outcome::OtherFile, None),
            (Outcome::CacheDropped, None),
        ] {
            let answer = Answer { id: 3, outcome, bytes: 5, took_ns: 7, ended_ns: 9, file_end };
            send_answer(&performer, &answer).unwrap();
            assert_eq!(receive_reply(&run).unwrap(), Some(Reply::Done(answer)));
        }
        let names: Vec<String> = (0..1000).map(|n| format!("file-{n}")).collect();
        send_names(&performer, 9, names.clone()).unwrap();
        let mut received = Vec::new();
        while let Some(Reply::Names { list: 9, names }) = receive_reply(&run).unwrap()
            && !names.is_empty()
        {
            received.extend(names);
        }
        assert_eq!(received, names);
        assert_eq!(receive_reply(&run), Err(Errno::AGAIN));
        drop(run);
        assert!(receive_order(&performer).unwrap().is_none());
    }
}
