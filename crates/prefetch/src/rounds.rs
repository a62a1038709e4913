// SPDX-License-Identifier: MIT OR Apache-2.0

//! Files that a stream reads in turn.
//!
//! A program that goes round several files, such as the members of an ensemble or the
//! inputs of a merge, reads a little of one and then goes on in the next. Where one call
//! site makes all these reads, nothing tells when it changes over, so that the predicted
//! path stays in the file. But each file is read on where it was left. This keeps where
//! that is, and how much was read of it the last time, and so what each of the other files
//! will be asked for. A turn costs a look at the files of the stream, a read within a turn
//! nothing but an addition.

use ioracle_events::PredictionSource;

use crate::planner::{ExpectedRead, ObservedRead};

/// Files of a stream; the one that was left first makes room for another.
const MAX_FILES: usize = 64;
/// Times that a file was read on where it was left, before that is expected.
const PROVEN: u32 = 2;

/// The files that a stream reads in turn.
#[derive(Clone, Debug, Default)]
pub struct FileRounds {
    /// The one that is read now is the last.
    files: Vec<FileTurns>,
}

#[derive(Clone, Debug)]
struct FileTurns {
    /// The last read of it.
    last: ObservedRead,
    /// Where the turn began that it is in.
    began: u64,
    /// Bytes of the turn before, all of which were read one after the other.
    turn_bytes: u64,
    /// Turns, one after the other, that began where the one before had ended.
    n_resumed: u32,
    /// How long the program was elsewhere the last time.
    away_ns: u64,
}

impl FileTurns {
    fn is_proven(&self) -> bool {
        self.n_resumed >= PROVEN && self.turn_bytes > 0
    }
}

impl FileRounds {
    /// Whether the program goes on with a read where it had left a file, as expected.
    pub fn expects(&self, read: &ObservedRead) -> bool {
        let mut others = self.files.iter().rev().skip(1);
        let turns = others.find(|turns| turns.last.file == read.file);
        turns.is_some_and(|turns| turns.is_proven() && turns.last.bytes.end == read.bytes.start)
    }

    /// Takes in the next read of the stream.
    pub fn observe(&mut self, read: &ObservedRead) {
        if let Some(turns) = self.files.last_mut().filter(|it| it.last.file == read.file) {
            if turns.last.bytes.end != read.bytes.start {
                (turns.began, turns.n_resumed) = (read.bytes.start, 0);
            }
            turns.last.clone_from(read);
            return;
        }
        if let Some(left) = self.files.last_mut() {
            left.turn_bytes = left.last.bytes.end.saturating_sub(left.began);
        }
        let known = self.files.iter().position(|turns| turns.last.file == read.file);
        let mut turns = FileTurns {
            last: read.clone(),
            began: read.bytes.start,
            turn_bytes: 0,
            n_resumed: 0,
            away_ns: 0,
        };
        if let Some(place) = known {
            let before = self.files.remove(place);
            turns.turn_bytes = before.turn_bytes;
            turns.away_ns = read.start_ns.saturating_sub(before.last.end_ns);
            if before.last.bytes.end == read.bytes.start {
                turns.n_resumed = before.n_resumed.saturating_add(1);
            }
        } else if self.files.len() >= MAX_FILES {
            self.files.remove(0);
        }
        self.files.push(turns);
    }

    /// What the next turns of the files will read, those that were left first before the
    /// others. The one that is read now is among them when its turn is as long as the one
    /// before: the program may compute before it goes on.
    pub fn ahead(&self, now_ns: u64) -> impl Iterator<Item = ExpectedRead> {
        let others = self.files.len().saturating_sub(1);
        let is_waiting = move |(place, turns): &(usize, &FileTurns)| {
            let is_over = turns.last.bytes.end.saturating_sub(turns.began) >= turns.turn_bytes;
            turns.is_proven() && (*place < others || is_over)
        };
        self.files.iter().enumerate().filter(is_waiting).map(move |(_, turns)| {
            let start = turns.last.bytes.end;
            let n = f64::from(turns.n_resumed);
            let since_ns = now_ns.saturating_sub(turns.last.end_ns);
            ExpectedRead {
                file: turns.last.file,
                storage: turns.last.storage,
                bytes: start..start.saturating_add(turns.turn_bytes),
                in_ns: turns.away_ns.saturating_sub(since_ns),
                probability: (n + 1.0) / (n + 2.0),
                source: PredictionSource::ThisRun,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::{FileKey, StorageKey};

    const TURN: u64 = 4 * PIECE;
    const PIECE: u64 = 16_384;

    fn read(file: u32, start: u64, at_ns: u64) -> ObservedRead {
        ObservedRead {
            file: FileKey(file),
            storage: StorageKey::default(),
            bytes: start..start + PIECE,
            site: 1,
            start_ns: at_ns,
            end_ns: at_ns + 10,
            expected: None,
        }
    }

    /// Rounds of three files, four pieces of each at a time.
    fn after(n_rounds: u64) -> FileRounds {
        let mut rounds = FileRounds::default();
        for round in 0..n_rounds {
            for file in 0..3 {
                for piece in 0..4 {
                    let at_ns = 1000 * (3 * round + u64::from(file)) + 100 * piece;
                    rounds.observe(&read(file, round * TURN + piece * PIECE, at_ns));
                }
            }
        }
        rounds
    }

    #[test]
    fn files_that_are_read_in_turn_are_expected_where_they_were_left() {
        assert_eq!(after(1).ahead(0).count(), 0);
        assert_eq!(after(2).ahead(0).count(), 0);
        let rounds = after(3);
        // The last read of file 0 ended at 6310, and the one before at 3310.
        let ahead: Vec<ExpectedRead> = rounds.ahead(8_400).collect();
        assert!(ahead.iter().all(|it| it.bytes == (3 * TURN..4 * TURN)));
        // The turn of file 2 is over, too.
        assert_eq!(ahead.iter().map(|it| it.file.0).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(ahead[0].in_ns, 2_690 - (8_400 - 6_310));
        assert!(rounds.expects(&read(0, 3 * TURN, 9_000)));
        assert!(!rounds.expects(&read(0, 3 * TURN + 1, 9_000)));
        assert!(!rounds.expects(&read(2, 3 * TURN, 9_000)));
    }

    #[test]
    fn a_file_that_is_read_elsewhere_is_not_expected_any_more() {
        let mut rounds = after(4);
        rounds.observe(&read(0, 0, 12_000));
        rounds.observe(&read(1, 4 * TURN, 13_000));
        // The turn of file 1 has only begun.
        let files: Vec<u32> = rounds.ahead(14_000).map(|it| it.file.0).collect();
        assert_eq!(files, [2]);
    }

    #[test]
    fn the_number_of_files_is_bounded() {
        let mut rounds = FileRounds::default();
        (0..2 * MAX_FILES as u32).for_each(|file| rounds.observe(&read(file, 0, 0)));
        assert_eq!(rounds.files.len(), MAX_FILES);
    }
}
