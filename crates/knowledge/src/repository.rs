// SPDX-License-Identifier: MIT OR Apache-2.0

//! The knowledge repository: the graphs of all applications in one SQLite file.
//!
//! On a local file system a run is one transaction in a write-ahead log: it is all
//! there or not at all, whatever kills the writer. On a network file system such a
//! log is unsafe, and locks of SQLite may be. There a run leaves a contribution,
//! which is renamed into a directory beside the repository, and whoever next opens
//! the repository and gets its lock merges all of them. A run that finds a local
//! repository locked for too long leaves a contribution as well.
//! docs/knowledge.md draws the tables.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension, TransactionBehavior, params};
use rustix::fs::{
    Access, AtFlags, CWD, FlockOperation, StatVfsMountFlags, accessat, flock, statfs, statvfs,
};
use rustix::io::Errno;
use thiserror::Error;

use crate::graph::KnowledgeGraph;

/// Says in the header of the file whose it is: "iokn".
const APPLICATION_ID: i32 = 0x696F_6B6E;
/// The steps that make a repository of this version, from one of each version
/// before; an empty file is version 0.
const MIGRATIONS: [&str; 2] = [
    "CREATE TABLE application (
        name TEXT PRIMARY KEY, runs INTEGER NOT NULL,
        vertices INTEGER NOT NULL, edges INTEGER NOT NULL,
        graph BLOB NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE contribution (name TEXT PRIMARY KEY) WITHOUT ROWID;
     CREATE TABLE build (
        application TEXT NOT NULL, build TEXT NOT NULL, runs INTEGER NOT NULL,
        PRIMARY KEY (application, build)) WITHOUT ROWID;",
];
const VERSION: i32 = MIGRATIONS.len() as i32;
/// What every database begins with.
const HEADER_BYTES: u64 = 100;
/// Its byte 19 where reading takes a write-ahead log.
const LOGGED: u8 = 2;
/// The longest name of an application.
const MAX_NAME_BYTES: usize = 255;
/// What contributions begin with.
const CONTRIBUTION: &[u8; 8] = b"ioknow01";
/// The longest contribution that is read, and how many are merged at a time.
const MAX_CONTRIBUTION_BYTES: u64 = 1 << 30;
const MAX_CONTRIBUTIONS: usize = 100_000;
/// How long is slept before a lock is tried again.
const RETRY_AFTER: Duration = Duration::from_millis(5);

/// Why a repository could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RepositoryError {
    /// It could not be opened, read or written.
    #[error(
        "could not use the knowledge repository '{path}': {reason}; name another file with --knowledge"
    )]
    Unusable {
        /// The file.
        path: Arc<str>,
        /// What the system or SQLite said.
        reason: String,
    },
    /// It is a database of something else, or no database.
    #[error("'{path}' is no knowledge repository ({reason}); name another file with --knowledge")]
    Foreign {
        /// The file.
        path: Arc<str>,
        /// How that shows.
        reason: String,
    },
    /// A later version wrote it.
    #[error(
        "the knowledge repository '{path}' was written by a newer ioracle (version {found}, not {VERSION}); update ioracle, or name another file with --knowledge"
    )]
    Newer {
        /// The file.
        path: Arc<str>,
        /// Its version.
        found: i32,
    },
    /// It can be read, but not written.
    #[error(
        "the knowledge repository '{path}' may not be written to; make it and its directory \
         writable, or name another file with --knowledge"
    )]
    ReadOnly {
        /// The file.
        path: Arc<str>,
    },
    /// Another process holds it.
    #[error(
        "the knowledge repository '{path}' is locked by another process; wait for it, or name another file with --knowledge"
    )]
    Locked {
        /// The file.
        path: Arc<str>,
    },
    /// Something in it cannot be.
    #[error(
        "the knowledge repository '{path}' is damaged ({reason}); restore it from a copy, or remove it"
    )]
    Damaged {
        /// The file.
        path: Arc<str>,
        /// What is wrong.
        reason: String,
    },
    /// It does not know the application.
    #[error(
        "the knowledge repository '{path}' knows no application '{name}'; 'ioracle knowledge list' shows those it knows"
    )]
    Unknown {
        /// The file.
        path: Arc<str>,
        /// The application.
        name: String,
    },
}

/// What kind of file system a repository lies on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RepositoryPlace {
    /// One of this machine, where a write-ahead log is safe.
    Local,
    /// A shared one, where it is not.
    Network,
}

impl RepositoryPlace {
    /// That of a path, by the file system of its directory.
    pub fn of(path: &Path) -> RepositoryPlace {
        const LOCAL: [i128; 12] = [
            0xEF53,
            0x5846_5342,
            0x9123_683E,
            0x0102_1994,
            0x794C_7630,
            0xF2F5_2010,
            0x2FC1_2FC1,
            0x3153_464A,
            0x8584_58F6,
            0xCA45_1A4E,
            0x5265_4973,
            0x4D44,
        ];
        match statfs(directory_of(path)) {
            Ok(found) if LOCAL.contains(&i128::from(found.f_type)) => RepositoryPlace::Local,
            _ => RepositoryPlace::Network,
        }
    }
}

/// Whether a missing repository is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfMissing {
    /// It is.
    Create,
    /// That is an error.
    Fail,
}

/// What came of a contribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contributed {
    /// It is in the repository.
    Merged,
    /// It waits beside the repository for whoever opens it next.
    Waiting,
}

/// An application in a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplicationRow {
    /// Its name.
    pub name: String,
    /// Runs that were accumulated.
    pub runs: u32,
    /// Vertices of its graph.
    pub vertices: u64,
    /// Edges of its graph.
    pub edges: u64,
    /// Bytes of its graph.
    pub bytes: u64,
    /// Builds of the program, by their identity, and the runs of each.
    pub builds: Vec<(String, u32)>,
}

/// A repository that is open.
pub struct Repository {
    connection: Connection,
    path: Arc<str>,
    /// Held as long as it is open, where SQLite's own locks may not work.
    _lock: Option<File>,
}

impl Repository {
    /// Whether there is anything to open at a path: a file, or contributions that wait
    /// for one.
    pub fn is_there(path: &Path) -> bool {
        fs::symlink_metadata(path).is_ok() || !contributions_of(path).is_empty()
    }

    /// Opens a repository, and merges contributions that wait. Waits so long for
    /// others.
    pub fn open(
        path: &Path,
        place: RepositoryPlace,
        if_missing: IfMissing,
        patience: Duration,
    ) -> Result<Repository, RepositoryError> {
        let name: Arc<str> = path.to_string_lossy().into();
        // Asked before the file: once a contribution has been merged, there is one.
        let is_awaited = !contributions_of(path).is_empty();
        let length = match fs::metadata(path) {
            Ok(found) if !found.is_file() => {
                let reason = "it is no regular file".to_owned();
                return Err(RepositoryError::Foreign { path: name, reason });
            }
            Ok(found) => found.len(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if if_missing == IfMissing::Fail && !is_awaited {
                    let reason = "there is no such file".to_owned();
                    return Err(RepositoryError::Unusable { path: name, reason });
                }
                0
            }
            Err(error) => return Err(unusable(&name, &error)),
        };
        // SQLite takes what is shorter than its header for an empty database.
        if (1..HEADER_BYTES).contains(&length) {
            let reason = format!("it has {length} bytes");
            return Err(RepositoryError::Foreign { path: name, reason });
        }
        let is_changeable = is_changeable(path);
        if length == 0 && !is_changeable {
            return Err(not_creatable(path, name));
        }
        let lock = match place {
            RepositoryPlace::Network if is_changeable => Some(lock(path, &name, patience)?),
            _ => None,
        };
        let flags = OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let to_write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let to_read = OpenFlags::SQLITE_OPEN_READ_ONLY;
        let opened = match is_changeable {
            true => Connection::open_with_flags(path, flags | to_write),
            false if needs_no_log(path) => Connection::open_with_flags(
                immutable_uri(path),
                flags | to_read | OpenFlags::SQLITE_OPEN_URI,
            ),
            false => Connection::open_with_flags(path, flags | to_read),
        };
        let connection = opened.map_err(|error| failure(&name, &error))?;
        let mut repository = Repository { connection, path: name, _lock: lock };
        repository.prepare(place, patience)?;
        repository.merge_waiting(path)?;
        Ok(repository)
    }

    fn prepare(
        &mut self,
        place: RepositoryPlace,
        patience: Duration,
    ) -> Result<(), RepositoryError> {
        self.check(self.connection.busy_timeout(patience))?;
        let header = read_header(&mut self.connection);
        let DatabaseHeader { application, version, n_tables } = self.check(header)?;
        if application != APPLICATION_ID && (application, version, n_tables) != (0, 0, 0) {
            let (path, reason) = (self.path.clone(), "it is the database of another program");
            return Err(RepositoryError::Foreign { path, reason: reason.to_owned() });
        }
        if version > VERSION {
            return Err(RepositoryError::Newer { path: self.path.clone(), found: version });
        }
        let is_read_only = self.check(self.connection.is_readonly("main"))?;
        if is_read_only {
            return match version {
                VERSION => Ok(()),
                _ => Err(RepositoryError::Unusable {
                    path: self.path.clone(),
                    reason: "it may not be written, and is of an older version".to_owned(),
                }),
            };
        }
        let journal = match place {
            RepositoryPlace::Local => "wal",
            RepositoryPlace::Network => "delete",
        };
        self.check(set_journal(&self.connection, journal, patience))?;
        if version < VERSION {
            let migrated = migrate(&mut self.connection);
            self.check(migrated)?;
        }
        Ok(())
    }

    /// All applications, by name.
    pub fn list(&self) -> Result<Vec<ApplicationRow>, RepositoryError> {
        let rows = || -> rusqlite::Result<Vec<ApplicationRow>> {
            let mut statement = self.connection.prepare(
                "SELECT name, runs, vertices, edges, length(graph) FROM application ORDER BY name",
            )?;
            let mut builds = self.connection.prepare(
                "SELECT build, runs FROM build WHERE application = ?1 ORDER BY runs DESC, build",
            )?;
            let mut rows = statement.query([])?;
            let mut result = Vec::new();
            while let Some(row) = rows.next()? {
                let name: String = row.get(0)?;
                let of_it = builds.query_map([&name], |row| Ok((row.get(0)?, row.get(1)?)))?;
                let number = |column| row.get::<_, i64>(column).map(i64::unsigned_abs);
                result.push(ApplicationRow {
                    runs: row.get(1)?,
                    vertices: number(2)?,
                    edges: number(3)?,
                    bytes: number(4)?,
                    builds: of_it.collect::<rusqlite::Result<_>>()?,
                    name,
                });
            }
            Ok(result)
        };
        self.check(rows())
    }

    /// The graph of an application, if there is one.
    pub fn load(&self, application: &str) -> Result<Option<KnowledgeGraph>, RepositoryError> {
        load(&self.connection, &self.path, shortened(application))
    }

    /// The same where there must be one.
    pub fn get(&self, application: &str) -> Result<KnowledgeGraph, RepositoryError> {
        self.load(application)?.ok_or_else(|| RepositoryError::Unknown {
            path: self.path.clone(),
            name: application.to_owned(),
        })
    }

    /// Merges a graph into that of an application, in one transaction.
    pub fn add(
        &mut self,
        application: &str,
        build: Option<&str>,
        graph: &KnowledgeGraph,
    ) -> Result<KnowledgeGraph, RepositoryError> {
        let path = self.path.clone();
        let started = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = started.map_err(|error| failure(&path, &error))?;
        let merged = add(&transaction, &path, shortened(application), build, graph)?;
        transaction.commit().map_err(|error| failure(&path, &error))?;
        Ok(merged)
    }

    /// Forgets an application; false if it was not known.
    pub fn forget(&mut self, application: &str) -> Result<bool, RepositoryError> {
        let name = shortened(application);
        let mut done = || -> rusqlite::Result<bool> {
            let transaction =
                self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            transaction.execute("DELETE FROM build WHERE application = ?1", [name])?;
            let n = transaction.execute("DELETE FROM application WHERE name = ?1", [name])?;
            transaction.commit()?;
            Ok(n > 0)
        };
        let path = self.path.clone();
        done().map_err(|error| failure(&path, &error))
    }

    /// Merges what waits beside the repository. A contribution is noted when it is
    /// merged, and removed afterwards, so that one whose removal failed does not
    /// count twice.
    fn merge_waiting(&mut self, path: &Path) -> Result<(), RepositoryError> {
        let waiting = contributions_of(path);
        if waiting.is_empty() || self.check(self.connection.is_readonly("main"))? {
            return Ok(());
        }
        let name = self.path.clone();
        let fail = |error: rusqlite::Error| failure(&name, &error);
        let started = self.connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = started.map_err(fail)?;
        for file in &waiting {
            let key = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let noted = transaction
                .query_row("SELECT 1 FROM contribution WHERE name = ?1", [&key], |_| Ok(()))
                .optional()
                .map_err(fail)?;
            if noted.is_some() {
                continue;
            }
            // One that is damaged cannot be used by anybody, and goes.
            if let Some((application, build, graph)) = read_contribution(file) {
                add(&transaction, &name, &application, build.as_deref(), &graph)?;
            }
            transaction.execute("INSERT INTO contribution VALUES (?1)", [&key]).map_err(fail)?;
        }
        transaction.commit().map_err(fail)?;
        for file in &waiting {
            let is_gone = fs::remove_file(file).is_ok();
            let key = file.file_name().unwrap_or_default().to_string_lossy();
            if is_gone {
                // If this fails, a name is kept that nobody asks for.
                let _ = self.connection.execute("DELETE FROM contribution WHERE name = ?1", [&key]);
            }
        }
        Ok(())
    }

    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, RepositoryError> {
        result.map_err(|error| failure(&self.path, &error))
    }
}

/// Whether files can be made and written beside a repository, as a change of it needs.
fn is_changeable(path: &Path) -> bool {
    let rights = Access::WRITE_OK | Access::EXEC_OK;
    accessat(CWD, directory_of(path), rights, AtFlags::EACCESS).is_ok()
}

/// Why a repository that is missing cannot be made.
fn not_creatable(path: &Path, name: Arc<str>) -> RepositoryError {
    let directory = directory_of(path);
    let reason = match directory.is_dir() {
        true => "its directory may not be written to".to_owned(),
        false => format!("there is no directory '{}'", directory.display()),
    };
    RepositoryError::Unusable { path: name, reason }
}

/// Whether a repository that is only read must be taken as it lies there, because SQLite
/// cannot make the files of its log: nobody changes it on a read-only mount, nor while
/// there is no log of its own.
fn needs_no_log(path: &Path) -> bool {
    let flags = statvfs(directory_of(path)).map(|found| found.f_flag);
    if flags.is_ok_and(|flags| flags.contains(StatVfsMountFlags::RDONLY)) {
        return true;
    }
    let mut header = [0; 20];
    let has_read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    has_read.is_ok() && header[19] == LOGGED && !beside(path, "-wal").exists()
}

/// The name of a file that does not change, as SQLite takes it.
fn immutable_uri(path: &Path) -> String {
    let mut uri = "file:".to_owned();
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' | b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' => {
                uri.push(char::from(*byte));
            }
            byte => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// Leaves a run beside a repository for whoever opens it next, which takes a fraction of
/// the time of a transaction. [`merge_contributions`] may be that, in another process.
pub fn leave_contribution(
    path: &Path,
    (application, build): (&str, Option<&str>),
    graph: &KnowledgeGraph,
) -> Result<(), RepositoryError> {
    let name: Arc<str> = path.to_string_lossy().into();
    match fs::metadata(path) {
        Ok(found) if !found.is_file() => {
            let reason = "it is no regular file".to_owned();
            return Err(RepositoryError::Foreign { path: name, reason });
        }
        Err(_) if !is_changeable(path) => return Err(not_creatable(path, name)),
        _ => {}
    }
    // One that nobody could merge would wait for ever.
    let may_write = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
    if matches!(may_write, Err(Errno::ACCESS | Errno::ROFS | Errno::PERM)) {
        return Err(RepositoryError::ReadOnly { path: name });
    }
    let written = write_contribution(path, application, build, graph, Durability::Soon);
    written.map_err(|error| not_left(&name, &error))
}

/// Merges what waits beside a repository into it, which is made if it is missing.
pub fn merge_contributions(
    path: &Path,
    place: RepositoryPlace,
    patience: Duration,
) -> Result<(), RepositoryError> {
    Repository::open(path, place, IfMissing::Create, patience).map(drop)
}

/// Adds a run to a repository, directly or by a contribution that waits.
pub fn contribute(
    path: &Path,
    place: RepositoryPlace,
    (application, build): (&str, Option<&str>),
    graph: &KnowledgeGraph,
    patience: Duration,
) -> Result<(Contributed, Option<KnowledgeGraph>), RepositoryError> {
    let name: Arc<str> = path.to_string_lossy().into();
    if place == RepositoryPlace::Local {
        let added = Repository::open(path, place, IfMissing::Create, patience)
            .and_then(|mut repository| repository.add(application, build, graph));
        match added {
            Ok(merged) => return Ok((Contributed::Merged, Some(merged))),
            Err(RepositoryError::Locked { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    write_contribution(path, application, build, graph, Durability::Now)
        .map_err(|error| not_left(&name, &error))?;
    // Whoever comes first merges; if it is not us, somebody else will.
    let merged = Repository::open(path, place, IfMissing::Create, Duration::from_millis(200));
    match merged {
        Ok(repository) => Ok((Contributed::Merged, repository.load(application)?)),
        Err(RepositoryError::Locked { .. }) => Ok((Contributed::Waiting, None)),
        Err(error) => Err(error),
    }
}

/// What tells whose a database is, and of which version.
struct DatabaseHeader {
    application: i32,
    version: i32,
    n_tables: i64,
}

/// Read in one transaction: between two, another process may make the tables.
fn read_header(connection: &mut Connection) -> rusqlite::Result<DatabaseHeader> {
    let transaction = connection.transaction()?;
    let pragma = |name: &str| transaction.pragma_query_value(None, name, |row| row.get(0));
    Ok(DatabaseHeader {
        application: pragma("application_id")?,
        version: pragma("user_version")?,
        n_tables: transaction
            .query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?,
    })
}

/// Sets the journal mode. SQLite does not wait for others by itself here, so this does.
fn set_journal(connection: &Connection, journal: &str, patience: Duration) -> rusqlite::Result<()> {
    let started = Instant::now();
    let mode = |statement: &str| connection.query_row(statement, [], |row| row.get::<_, String>(0));
    loop {
        let set = match mode("PRAGMA journal_mode") {
            Ok(present) if present == journal => return Ok(()),
            Ok(_) => mode(&format!("PRAGMA journal_mode = {journal}")).map(drop),
            Err(error) => Err(error),
        };
        match set {
            Err(error) if is_busy(&error) && started.elapsed() < patience => {
                std::thread::sleep(RETRY_AFTER);
            }
            set => return set,
        }
    }
}

fn migrate(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have done it meanwhile.
    let version: i32 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    for (number, step) in (0..).zip(MIGRATIONS) {
        if number >= version {
            transaction.execute_batch(step)?;
        }
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", VERSION.max(version))?;
    transaction.commit()
}

fn load(
    connection: &Connection,
    path: &Arc<str>,
    application: &str,
) -> Result<Option<KnowledgeGraph>, RepositoryError> {
    let query = "SELECT graph, checksum FROM application WHERE name = ?1";
    let found = connection
        .query_row(query, [application], |row| {
            Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)?))
        })
        .optional()
        .map_err(|error| failure(path, &error))?;
    let Some((bytes, checksum)) = found else { return Ok(None) };
    let is_whole = i64::from(crc32fast::hash(&bytes)) == checksum;
    let graph = if is_whole { KnowledgeGraph::from_bytes(&bytes) } else { None };
    graph.map(Some).ok_or_else(|| RepositoryError::Damaged {
        path: path.clone(),
        reason: format!("the graph of '{application}' makes no sense"),
    })
}

fn add(
    connection: &Connection,
    path: &Arc<str>,
    application: &str,
    build: Option<&str>,
    graph: &KnowledgeGraph,
) -> Result<KnowledgeGraph, RepositoryError> {
    let mut merged = load(connection, path, application)?.unwrap_or_default();
    merged.merge(graph);
    let bytes = merged.to_bytes();
    let stored = |n: usize| i64::try_from(n).unwrap_or(i64::MAX);
    let written = connection
        .execute(
            "INSERT OR REPLACE INTO application VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                application,
                merged.runs(),
                stored(merged.vertices().len()),
                stored(merged.edges().len()),
                bytes,
                i64::from(crc32fast::hash(&bytes))
            ],
        )
        .and_then(|_| match build {
            Some(build) => connection.execute(
                "INSERT INTO build VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET runs = runs + ?3",
                params![application, build, graph.runs()],
            ),
            None => Ok(0),
        });
    written.map_err(|error| failure(path, &error))?;
    Ok(merged)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error_code();
    matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn failure(path: &Arc<str>, error: &rusqlite::Error) -> RepositoryError {
    let path = path.clone();
    let reason = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        _ => error.to_string(),
    };
    match error.sqlite_error_code() {
        _ if is_busy(error) => RepositoryError::Locked { path },
        Some(ErrorCode::ReadOnly) => RepositoryError::ReadOnly { path },
        Some(ErrorCode::NotADatabase) => RepositoryError::Foreign { path, reason },
        Some(ErrorCode::DatabaseCorrupt) => RepositoryError::Damaged { path, reason },
        // What is missing or of another type in a file that is ours.
        Some(ErrorCode::Unknown) | None => RepositoryError::Damaged { path, reason },
        Some(_) => RepositoryError::Unusable { path, reason },
    }
}

fn unusable(path: &Arc<str>, error: &io::Error) -> RepositoryError {
    RepositoryError::Unusable { path: path.clone(), reason: error.to_string() }
}

/// A name that is not too long.
fn shortened(name: &str) -> &str {
    let fits = |end: &usize| name.is_char_boundary(*end);
    let end = (0..=name.len().min(MAX_NAME_BYTES)).rev().find(fits).unwrap_or(0);
    &name[..end]
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name: OsString = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// Waits for the lock of a repository.
fn lock(path: &Path, name: &Arc<str>, patience: Duration) -> Result<File, RepositoryError> {
    let opened = File::options().create(true).append(true).open(beside(path, ".lock"));
    let file = opened.map_err(|error| unusable(name, &error))?;
    let started = Instant::now();
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(_) if started.elapsed() >= patience => {
                return Err(RepositoryError::Locked { path: name.clone() });
            }
            Err(_) => std::thread::sleep(RETRY_AFTER),
        }
    }
}

/// Contributions that wait, the oldest names first.
fn contributions_of(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(beside(path, ".waiting")) else { return Vec::new() };
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_whole = |file: &PathBuf| file.extension().is_some_and(|it| it == "run");
    let mut files: Vec<PathBuf> = files.filter(is_whole).take(MAX_CONTRIBUTIONS).collect();
    files.sort();
    files
}

fn not_left(path: &Arc<str>, error: &io::Error) -> RepositoryError {
    match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            RepositoryError::ReadOnly { path: path.clone() }
        }
        _ => unusable(path, error),
    }
}

/// When a contribution is to survive the end of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Durability {
    /// Before anybody sees it.
    Now,
    /// When it is merged, or the system writes it.
    Soon,
}

fn write_contribution(
    path: &Path,
    application: &str,
    build: Option<&str>,
    graph: &KnowledgeGraph,
    durability: Durability,
) -> io::Result<()> {
    let directory = beside(path, ".waiting");
    // Not its parents: a directory that is missing was named by mistake.
    match fs::create_dir(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let content = (shortened(application), build, graph.to_bytes());
    let content = postcard::to_stdvec(&content).map_err(io::Error::other)?;
    let mut file = tempfile::Builder::new().prefix("writing-").tempfile_in(&directory)?;
    file.write_all(CONTRIBUTION)?;
    file.write_all(&crc32fast::hash(&content).to_le_bytes())?;
    file.write_all(&content)?;
    if durability == Durability::Now {
        file.as_file().sync_all()?;
    }
    let mut place = file.path().to_owned();
    place.set_extension("run");
    file.persist(place)?;
    Ok(())
}

fn read_contribution(file: &Path) -> Option<(String, Option<String>, KnowledgeGraph)> {
    let length = fs::metadata(file).ok()?.len();
    let bytes = (length <= MAX_CONTRIBUTION_BYTES).then(|| fs::read(file).ok())??;
    let rest = bytes.strip_prefix(CONTRIBUTION)?;
    let (checksum, content) = rest.split_at_checked(4)?;
    if crc32fast::hash(content).to_le_bytes() != checksum {
        return None;
    }
    let (application, build, graph): (String, Option<String>, Vec<u8>) =
        postcard::from_bytes(content).ok()?;
    Some((application, build, KnowledgeGraph::from_bytes(&graph)?))
}
