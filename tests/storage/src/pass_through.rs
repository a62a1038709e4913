// SPDX-License-Identifier: MIT OR Apache-2.0

//! A file system that shows a directory. Inodes are numbered as they are looked
//! up, and never forgotten: mounts live as long as a test.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{
    FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    KernelConfig, LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate,
    ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
    WriteFlags,
};

use crate::pace::Pace;

/// How long the kernel may rely on names and attributes.
const VALID: Duration = Duration::from_secs(1);
/// Requests of read-ahead that the kernel may have on their way.
const MAX_BACKGROUND: u16 = 64;

/// What the kernel caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caching {
    /// Nothing.
    None,
    /// Pages, until the file is opened again.
    WhileOpen,
    /// Pages, as long as there is memory.
    Kept,
}

/// Shows a directory slowly.
pub struct PassThrough {
    pace: Pace,
    caching: Caching,
    nodes: Mutex<Nodes>,
    files: Mutex<HashMap<u64, std::sync::Arc<File>>>,
}

struct Nodes {
    /// By inode number less one.
    paths: Vec<PathBuf>,
    numbers: HashMap<PathBuf, u64>,
    next_handle: u64,
}

impl PassThrough {
    pub fn new(root: PathBuf, pace: Pace, caching: Caching) -> PassThrough {
        let numbers = HashMap::from([(root.clone(), 1)]);
        let nodes = Nodes { paths: vec![root], numbers, next_handle: 1 };
        let (nodes, files) = (Mutex::new(nodes), Mutex::default());
        PassThrough { pace, caching, nodes, files }
    }

    fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn path(&self, inode: INodeNo) -> io::Result<PathBuf> {
        let paths = &self.nodes().paths;
        let place = u64::from(inode).wrapping_sub(1) as usize;
        paths.get(place).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn child(&self, parent: INodeNo, name: &OsStr) -> io::Result<PathBuf> {
        Ok(self.path(parent)?.join(name))
    }

    fn entry(&self, path: &Path) -> io::Result<FileAttr> {
        let metadata = fs::symlink_metadata(path)?;
        let mut nodes = self.nodes();
        let next = nodes.paths.len() as u64 + 1;
        let number = *nodes.numbers.entry(path.to_owned()).or_insert(next);
        if number == next {
            nodes.paths.push(path.to_owned());
        }
        Ok(attributes(INodeNo(number), &metadata))
    }

    fn keep(&self, file: File) -> (FileHandle, FopenFlags) {
        let mut nodes = self.nodes();
        let handle = nodes.next_handle;
        nodes.next_handle += 1;
        drop(nodes);
        self.files().insert(handle, std::sync::Arc::new(file));
        let flags = match self.caching {
            Caching::None => FopenFlags::FOPEN_DIRECT_IO,
            Caching::WhileOpen => FopenFlags::empty(),
            Caching::Kept => FopenFlags::FOPEN_KEEP_CACHE,
        };
        (FileHandle(handle), flags)
    }

    fn files(&self) -> MutexGuard<'_, HashMap<u64, std::sync::Arc<File>>> {
        self.files.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn file(&self, handle: FileHandle) -> io::Result<std::sync::Arc<File>> {
        let file = self.files().get(&u64::from(handle)).cloned();
        file.ok_or_else(|| io::Error::from_raw_os_error(9))
    }

    fn rename_node(&self, from: &Path, to: &Path) {
        let mut nodes = self.nodes();
        if let Some(number) = nodes.numbers.remove(from) {
            nodes.paths[number as usize - 1] = to.to_owned();
            nodes.numbers.insert(to.to_owned(), number);
        }
    }
}

fn attributes(ino: INodeNo, metadata: &Metadata) -> FileAttr {
    let time = |seconds: i64, ns: i64| match u64::try_from(seconds) {
        Ok(seconds) => UNIX_EPOCH + Duration::new(seconds, ns as u32),
        Err(_) => UNIX_EPOCH,
    };
    let kind = metadata.file_type();
    FileAttr {
        ino,
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: time(metadata.atime(), metadata.atime_nsec()),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        crtime: UNIX_EPOCH,
        kind: match kind {
            kind if kind.is_dir() => FileType::Directory,
            kind if kind.is_symlink() => FileType::Symlink,
            kind if kind.is_fifo() => FileType::NamedPipe,
            kind if kind.is_socket() => FileType::Socket,
            kind if kind.is_char_device() => FileType::CharDevice,
            kind if kind.is_block_device() => FileType::BlockDevice,
            _ => FileType::RegularFile,
        },
        perm: (metadata.permissions().mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: metadata.rdev() as u32,
        flags: 0,
        blksize: 4096,
    }
}

impl Filesystem for PassThrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.set_max_background(MAX_BACKGROUND);
        // Readers of one directory and one file at a time.
        let _ = config.add_capabilities(InitFlags::FUSE_PARALLEL_DIROPS);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.child(parent, name).and_then(|path| self.entry(&path)) {
            Ok(attributes) => reply.entry(&VALID, &attributes, Generation(0)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.path(inode).and_then(fs::symlink_metadata) {
            Ok(metadata) => reply.attr(&VALID, &attributes(inode, &metadata)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        mode: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<fuser::BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let change = || {
            let path = self.path(inode)?;
            if let Some(mode) = mode {
                fs::set_permissions(&path, fs::Permissions::from_mode(mode))?;
            }
            if let Some(size) = size {
                OpenOptions::new().write(true).open(&path)?.set_len(size)?;
            }
            if let Some(mtime) = mtime {
                let at = match mtime {
                    TimeOrNow::SpecificTime(at) => at,
                    TimeOrNow::Now => SystemTime::now(),
                };
                File::open(&path)?.set_modified(at)?;
            }
            fs::symlink_metadata(&path)
        };
        match change() {
            Ok(metadata) => reply.attr(&VALID, &attributes(inode, &metadata)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn readlink(&self, _: &Request, inode: INodeNo, reply: ReplyData) {
        match self.path(inode).and_then(fs::read_link) {
            Ok(target) => reply.data(target.as_os_str().as_encoded_bytes()),
            Err(error) => reply.error(error.into()),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let make = || {
            let path = self.child(parent, name)?;
            fs::create_dir(&path)?;
            self.entry(&path)
        };
        match make() {
            Ok(attributes) => reply.entry(&VALID, &attributes, Generation(0)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.child(parent, name).and_then(fs::remove_file), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        done(self.child(parent, name).and_then(fs::remove_dir), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        _: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let rename = || {
            let (from, to) = (self.child(parent, name)?, self.child(new_parent, new_name)?);
            fs::rename(&from, &to)?;
            self.rename_node(&from, &to);
            Ok(())
        };
        done(rename(), reply);
    }

    fn open(&self, _: &Request, inode: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let open = || {
            let mode = flags.acc_mode();
            // The kernel reads pages that a write changes in part.
            let mut options = OpenOptions::new();
            options.read(true).write(mode != OpenAccMode::O_RDONLY);
            options.open(self.path(inode)?)
        };
        match open() {
            Ok(file) => {
                let (handle, flags) = self.keep(file);
                reply.opened(handle, flags);
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn create(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let create = || {
            let path = self.child(parent, name)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(mode & !umask);
            let file = options.open(&path)?;
            Ok::<_, io::Error>((file, self.entry(&path)?))
        };
        match create() {
            Ok((file, attributes)) => {
                let (handle, flags) = self.keep(file);
                reply.created(&VALID, &attributes, Generation(0), handle, flags);
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let read = || {
            let file = self.file(handle)?;
            let mut data = vec![0; size as usize];
            let mut n_read = 0;
            while n_read < data.len() {
                match file.read_at(&mut data[n_read..], offset + n_read as u64)? {
                    0 => break,
                    n => n_read += n,
                }
            }
            data.truncate(n_read);
            self.pace.wait(n_read as u64);
            Ok::<_, io::Error>(data)
        };
        match read() {
            Ok(data) => reply.data(&data),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let write = || {
            self.file(handle)?.write_all_at(data, offset)?;
            self.pace.wait(data.len() as u64);
            Ok::<_, io::Error>(())
        };
        match write() {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.files().remove(&u64::from(handle));
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, _: bool, reply: ReplyEmpty) {
        done(self.file(handle).and_then(|file| file.sync_data()), reply);
    }

    fn readdir(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let list = || {
            let path = self.path(inode)?;
            let mut names = vec![(inode, FileType::Directory, ".".into())];
            names.push((inode, FileType::Directory, "..".into()));
            for entry in fs::read_dir(&path)? {
                let entry = entry?;
                let Ok(attributes) = self.entry(&entry.path()) else { continue };
                names.push((attributes.ino, attributes.kind, entry.file_name()));
            }
            Ok::<_, io::Error>(names)
        };
        match list() {
            Ok(names) => {
                let names = names.into_iter().enumerate().skip(offset as usize);
                for (place, (inode, kind, name)) in names {
                    if reply.add(inode, place as u64 + 1, kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error.into()),
        }
    }
}

fn done(result: io::Result<()>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error.into()),
    }
}
