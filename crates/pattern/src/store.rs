// SPDX-License-Identifier: MIT OR Apache-2.0

//! Known patterns, what was decided under them and how it went, in an SQLite
//! file. docs/pattern.md draws the tables.
//!
//! Everything is written in one transaction: a file is what it was before, or
//! what it should be. Nothing that is read is believed before it was checked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use thiserror::Error;

use crate::choice::{ArmEstimate, DecisionMaker};
use crate::matcher::{AdaptiveMatcher, KnownPattern, MAX_APPEARANCES, PatternId, ThresholdFinder};
use crate::pattern::PatternCounts;
use crate::request::RequestKind;
use crate::similarity::{Aspects, ProfileVector};

/// Says in the header of the file whose it is: "iopt".
const APPLICATION_ID: i32 = 0x696F_7074;
const VERSION: i32 = 3;

/// What every database begins with.
const HEADER_BYTES: u64 = 100;

/// Patterns that are read at most: more than any matcher keeps.
const MAX_PATTERNS: usize = 1 << 20;
/// Values of a series that are read at most.
const MAX_VALUES: usize = 1 << 20;

const SCHEMA: &str = "
CREATE TABLE pattern (
    id INTEGER PRIMARY KEY, family INTEGER NOT NULL, kind TEXT NOT NULL,
    files INTEGER NOT NULL, reads INTEGER NOT NULL, writes INTEGER NOT NULL,
    seen INTEGER NOT NULL, first_seen INTEGER NOT NULL, last_seen INTEGER NOT NULL,
    series BLOB NOT NULL, onset BLOB NOT NULL, steady BLOB, appearances BLOB NOT NULL);
CREATE TABLE learned (
    kind TEXT PRIMARY KEY, recurrences BLOB NOT NULL, scales BLOB NOT NULL, threshold BLOB NOT NULL,
    start REAL NOT NULL);
CREATE TABLE choice (
    pattern INTEGER NOT NULL, option TEXT NOT NULL,
    weight REAL NOT NULL, mean REAL NOT NULL, deviation REAL NOT NULL,
    PRIMARY KEY (pattern, option));
CREATE TABLE state (slices INTEGER NOT NULL);
";

/// Why a file of known patterns could not be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file could not be opened, read or written.
    #[error("could not use '{path}': {reason}; name another file of known patterns")]
    Unusable {
        /// The file.
        path: Arc<str>,
        /// What SQLite said.
        reason: String,
    },
    /// It is a database of something else, or no database.
    #[error("'{path}' holds no known patterns of ioracle ({reason}); name another file")]
    Foreign {
        /// The file.
        path: Arc<str>,
        /// How that shows.
        reason: String,
    },
    /// Another process is writing it.
    #[error("'{path}' is in use by another process; wait for its end, or name another file")]
    Busy {
        /// The file.
        path: Arc<str>,
    },
    /// Something in it cannot be.
    #[error("'{path}' is damaged ({reason}); restore it from a copy, or remove it")]
    Damaged {
        /// The file.
        path: Arc<str>,
        /// What is wrong.
        reason: String,
    },
}

/// A file of known patterns.
pub struct PatternStore {
    connection: Connection,
    path: Arc<str>,
}

impl PatternStore {
    /// Opens a file, which is made if it is not there.
    pub fn open(path: &Path) -> Result<PatternStore, StoreError> {
        let name: Arc<str> = path.to_string_lossy().into();
        // SQLite takes what is shorter than its header for an empty database.
        let length = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
        if (1..HEADER_BYTES).contains(&length) {
            let reason = format!("it has {length} bytes");
            return Err(StoreError::Foreign { path: name, reason });
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(path, flags);
        let connection = opened.map_err(|error| failure(&name, &error))?;
        let mut store = PatternStore { connection, path: name };
        store.prepare()?;
        Ok(store)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        self.check(self.connection.busy_timeout(Duration::from_secs(5)))?;
        let pragma = |name: &str| {
            self.check(self.connection.pragma_query_value(None, name, |row| row.get::<_, i32>(0)))
        };
        let (application, version) = (pragma("application_id")?, pragma("user_version")?);
        let count = "SELECT count(*) FROM sqlite_master";
        let n_tables: i64 = self.check(self.connection.query_row(count, [], |row| row.get(0)))?;
        if (application, version, n_tables) == (0, 0, 0) {
            return self.create();
        }
        let path = self.path.clone();
        if application != APPLICATION_ID {
            let reason = "it is the database of another program".to_owned();
            return Err(StoreError::Foreign { path, reason });
        }
        if version != VERSION {
            let reason = format!("it is of version {version}, not {VERSION}");
            return Err(StoreError::Foreign { path, reason });
        }
        Ok(())
    }

    fn create(&mut self) -> Result<(), StoreError> {
        let batch = format!(
            "BEGIN IMMEDIATE; PRAGMA application_id = {APPLICATION_ID}; \
             PRAGMA user_version = {VERSION}; {SCHEMA} COMMIT;"
        );
        self.check(self.connection.execute_batch(&batch))
    }

    /// Puts back what is known, and what was decided under it. Options that the
    /// decision maker does not have any more are left out.
    pub fn load(
        &self,
        matcher: &mut AdaptiveMatcher,
        decisions: Option<(&mut DecisionMaker, &[String])>,
    ) -> Result<(), StoreError> {
        let patterns = self.patterns()?;
        let slices = patterns.iter().map(|pattern| pattern.last_seen).max().unwrap_or(0);
        self.load_learned(matcher)?;
        matcher.restore(patterns, slices);
        match decisions {
            Some((maker, options)) => self.load_choices(matcher, maker, options),
            None => Ok(()),
        }
    }

    /// Writes what is known, instead of what was in the file.
    pub fn save(
        &mut self,
        matcher: &AdaptiveMatcher,
        decisions: Option<(&DecisionMaker, &[String])>,
    ) -> Result<(), StoreError> {
        let saved = write(&mut self.connection, matcher, decisions);
        saved.map_err(|error| failure(&self.path, &error))
    }

    fn patterns(&self) -> Result<Vec<KnownPattern>, StoreError> {
        let query = "SELECT id, kind, files, reads, writes, seen, first_seen, last_seen, series, \
                     onset, steady, family, appearances FROM pattern ORDER BY id";
        let mut statement = self.check(self.connection.prepare(query))?;
        let mut rows = self.check(statement.query([]))?;
        let mut patterns = Vec::new();
        while let Some(row) = self.check(rows.next())? {
            let read = read_pattern(row);
            match read.map_err(|error| failure(&self.path, &error))? {
                Some(pattern) if patterns.len() < MAX_PATTERNS => patterns.push(pattern),
                Some(_) => return Err(self.damaged(format!("more than {MAX_PATTERNS} patterns"))),
                None => {
                    let id: i64 = row.get(0).unwrap_or(-1);
                    return Err(self.damaged(format!("pattern {id} makes no sense")));
                }
            }
        }
        Ok(patterns)
    }

    fn load_learned(&self, matcher: &mut AdaptiveMatcher) -> Result<(), StoreError> {
        let query = "SELECT kind, recurrences, scales, threshold, start FROM learned";
        let mut statement = self.check(self.connection.prepare(query))?;
        let mut rows = self.check(statement.query([]))?;
        while let Some(row) = self.check(rows.next())? {
            let mut read = || -> rusqlite::Result<Option<()>> {
                let kind: String = row.get(0)?;
                let blob = |column| row.get::<_, Vec<u8>>(column);
                let (recurrences, scales, threshold) = (blob(1)?, blob(2)?, blob(3)?);
                let start: f64 = row.get(4)?;
                Ok(restore_learned(matcher, &kind, [&recurrences, &scales], &threshold, start))
            };
            if self.check(read())?.is_none() {
                return Err(self.damaged("what was learned makes no sense".to_owned()));
            }
        }
        Ok(())
    }

    fn load_choices(
        &self,
        matcher: &AdaptiveMatcher,
        maker: &mut DecisionMaker,
        options: &[String],
    ) -> Result<(), StoreError> {
        let query =
            "SELECT option, weight, mean, deviation FROM choice WHERE pattern = ?1 LIMIT 4096";
        let mut statement = self.check(self.connection.prepare(query))?;
        for family in families(matcher) {
            let mut arms = vec![ArmEstimate::default(); maker.n_options()];
            let mut rows = self.check(statement.query([family.0]))?;
            while let Some(row) = self.check(rows.next())? {
                let option: String = self.check(row.get(0))?;
                let known = options.iter().take(arms.len()).position(|other| *other == option);
                let Some(index) = known else { continue };
                let number = |column| self.check(row.get::<_, f64>(column));
                arms[index] = ArmEstimate::new(number(1)?, number(2)?, number(3)?);
            }
            if arms.iter().any(|arm| arm.weight() > 0.0) {
                maker.restore(family, arms);
            }
        }
        Ok(())
    }

    fn check<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|error| failure(&self.path, &error))
    }

    fn damaged(&self, reason: String) -> StoreError {
        StoreError::Damaged { path: self.path.clone(), reason }
    }
}

fn failure(path: &Arc<str>, error: &rusqlite::Error) -> StoreError {
    let path = path.clone();
    let reason = match error {
        rusqlite::Error::SqliteFailure(_, Some(message)) => message.clone(),
        _ => error.to_string(),
    };
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Busy { path },
        Some(ErrorCode::NotADatabase) => StoreError::Foreign { path, reason },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged { path, reason },
        // What is missing or of another type in a file that is ours.
        Some(ErrorCode::Unknown) | None => StoreError::Damaged { path, reason },
        Some(_) => StoreError::Unusable { path, reason },
    }
}

fn read_pattern(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<KnownPattern>> {
    let id: i64 = row.get(0)?;
    let kind: String = row.get(1)?;
    let count = |column| row.get::<_, i64>(column).map(|number| u64::try_from(number).ok());
    let numbers = [count(2)?, count(3)?, count(4)?, count(5)?, count(6)?, count(7)?];
    let (series, onset): (Vec<u8>, Vec<u8>) = (row.get(8)?, row.get(9)?);
    let steady: Option<Vec<u8>> = row.get(10)?;
    let family: i64 = row.get(11)?;
    let appearances: Vec<u8> = row.get(12)?;
    let name = |id: i64| u32::try_from(id).ok().filter(|id| *id < u32::MAX).map(PatternId);
    let profile = |bytes: &[u8]| ProfileVector::from_numbers(&floats(bytes)?).map(Box::new);
    let read = || {
        let [files, reads, writes, n_seen, first_seen, last_seen] = numbers;
        let series = floats(&series)?;
        let is_series = series.len() <= MAX_VALUES
            && series.iter().all(|value| value.is_finite() && *value >= 0.0);
        Some(KnownPattern {
            id: name(id)?,
            family: name(family)?,
            kind: kind_named(&kind)?,
            counts: PatternCounts { files: files?, reads: reads?, writes: writes? },
            series: is_series.then_some(series)?.into(),
            n_seen: n_seen?,
            first_seen: first_seen?,
            last_seen: last_seen?,
            onset: profile(&onset)?,
            steady: match &steady {
                Some(bytes) => Some(profile(bytes)?),
                None => None,
            },
            appearances: read_appearances(&appearances)?,
            seen_under: 0,
        })
    };
    Ok(read())
}

fn read_appearances(bytes: &[u8]) -> Option<Vec<ProfileVector>> {
    let numbers = floats(bytes)?;
    let profiles = numbers.chunks(ProfileVector::LEN).take(MAX_APPEARANCES + 1);
    let profiles: Option<Vec<ProfileVector>> = profiles.map(ProfileVector::from_numbers).collect();
    profiles.filter(|profiles| profiles.len() <= MAX_APPEARANCES)
}

fn restore_learned(
    matcher: &mut AdaptiveMatcher,
    kind: &str,
    [recurrences, scales]: [&[u8]; 2],
    threshold: &[u8],
    start: f64,
) -> Option<()> {
    let side = &mut matcher.sides[kind_named(kind)?.index()];
    let read_scales = |bytes: &[u8]| -> Option<Aspects> {
        let scales = floats(bytes)?;
        let are_sound = scales.iter().all(|scale| scale.is_finite() && *scale > 0.0);
        are_sound.then_some(scales)?.try_into().ok()
    };
    let (recurrences, scales) = (read_scales(recurrences)?, read_scales(scales)?);
    side.threshold = ThresholdFinder::from_numbers(&floats(threshold)?)?;
    side.starts.restore(Some(start as f32).filter(|start| start.is_finite())?);
    side.recurrences.restore(recurrences);
    side.scales.restore(scales);
    Some(())
}

fn write(
    connection: &mut Connection,
    matcher: &AdaptiveMatcher,
    decisions: Option<(&DecisionMaker, &[String])>,
) -> rusqlite::Result<()> {
    let transaction =
        connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate)?;
    transaction.execute_batch("DELETE FROM pattern; DELETE FROM learned; DELETE FROM state;")?;
    transaction.execute("INSERT INTO state VALUES (?1)", [stored(matcher.slices())])?;
    for kind in RequestKind::ALL {
        let side = &matcher.sides[kind.index()];
        let recurrences = bytes(side.recurrences.scales().iter().copied());
        let scales = bytes(side.scales.scales().iter().copied());
        let threshold = bytes(side.threshold.numbers());
        let start = f64::from(side.starts.threshold());
        let insert = "INSERT INTO learned VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.execute(insert, params![kind.name(), recurrences, scales, threshold, start])?;
    }
    let insert =
        "INSERT INTO pattern VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";
    let mut statement = transaction.prepare(insert)?;
    for pattern in matcher.patterns() {
        statement.execute(params![
            pattern.id.0,
            pattern.family.0,
            pattern.kind.name(),
            stored(pattern.counts.files),
            stored(pattern.counts.reads),
            stored(pattern.counts.writes),
            stored(pattern.n_seen),
            stored(pattern.first_seen),
            stored(pattern.last_seen),
            bytes(pattern.series.iter().copied()),
            bytes(pattern.onset.numbers()),
            pattern.steady.as_ref().map(|profile| bytes(profile.numbers())),
            bytes(pattern.appearances.iter().flat_map(ProfileVector::numbers)),
        ])?;
    }
    drop(statement);
    if let Some((maker, options)) = decisions {
        write_choices(&transaction, matcher, maker, options)?;
    }
    transaction.commit()
}

fn write_choices(
    transaction: &rusqlite::Transaction<'_>,
    matcher: &AdaptiveMatcher,
    maker: &DecisionMaker,
    options: &[String],
) -> rusqlite::Result<()> {
    transaction
        .execute_batch("DELETE FROM choice WHERE pattern NOT IN (SELECT family FROM pattern);")?;
    let mut insert =
        transaction.prepare("INSERT OR REPLACE INTO choice VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for family in families(matcher) {
        for (option, arm) in options.iter().zip(maker.estimates(family)) {
            if arm.weight() > 0.0 {
                let numbers = (arm.weight(), arm.mean(), arm.deviation());
                insert.execute(params![family.0, option, numbers.0, numbers.1, numbers.2])?;
            }
        }
    }
    Ok(())
}

/// The families of all known patterns, by which options are chosen.
fn families(matcher: &AdaptiveMatcher) -> BTreeSet<PatternId> {
    matcher.patterns().map(|pattern| pattern.family).collect()
}

fn kind_named(name: &str) -> Option<RequestKind> {
    RequestKind::ALL.into_iter().find(|kind| kind.name() == name)
}

/// SQLite has no unsigned numbers.
fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn bytes(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    numbers.flat_map(f32::to_le_bytes).collect()
}

fn floats(bytes: &[u8]) -> Option<Vec<f32>> {
    let (chunks, []) = bytes.as_chunks::<4>() else { return None };
    Some(chunks.iter().map(|chunk| f32::from_le_bytes(*chunk)).collect())
}
