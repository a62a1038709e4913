// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where everything stands: the part of the state that each operation moves.
//!
//! Predicting reads it, and so does reading ahead, which must move positions
//! along without touching the real ones: hence the trait [`Motions`], with the
//! real state and an overlay behind it. The overlay copies only what a path
//! touches, so that a step costs the same however much the oracle knows.

use ioracle_events::Access;
use serde::{Deserialize, Serialize};

use crate::file_motion::FileMotion;
use crate::hash::combine;
use crate::latest::{LATEST, Latest, Run, push};
use crate::recall::Recall;

/// Stands for no file, symbol or open.
pub const NONE: u32 = u32::MAX;

/// How many of the latest symbols, opens and files are kept in view.
pub const RECENT: usize = 8;

/// What the last operations left behind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Now {
    /// The last symbol; [`NONE`] before the first.
    pub symbol: u32,
    /// Tags of the latest symbols, the last first.
    pub recent: [u32; RECENT],
    /// A hash of the last three of them.
    pub history_short: u64,
    /// A hash of all of them.
    pub history_long: u64,
    /// File of the last operation.
    pub file: u32,
    /// Where the last operation started, if it had a position.
    pub offset: u64,
    /// Bytes that the last data access moved.
    pub size: u64,
    /// Files in the order in which they were opened, the latest first.
    pub opened: [u32; RECENT],
    /// Files in the order of their last use, the latest first.
    pub used: [u32; RECENT],
    /// Operations since the last quiet spell.
    pub since_quiet: u32,
    /// The file that a call named last which was no operation, if it is known.
    pub hinted: u32,
    /// Opens since then.
    pub opens_since_hint: u8,
}

impl Default for Now {
    fn default() -> Now {
        Now {
            symbol: NONE,
            recent: [NONE; RECENT],
            history_short: 0,
            history_long: 0,
            file: NONE,
            offset: 0,
            size: 0,
            opened: [NONE; RECENT],
            used: [NONE; RECENT],
            since_quiet: 0,
            hinted: NONE,
            opens_since_hint: 0,
        }
    }
}

/// Opens for which the names that were used before them count.
const MAX_HINTED_OPENS: u8 = 2;

impl Now {
    /// Whether the names that other calls have used may be of files opened next.
    pub fn heeds_hints(&self) -> bool {
        self.opens_since_hint < MAX_HINTED_OPENS
    }

    /// No call has used a name.
    pub fn forget_hints(&mut self) {
        (self.hinted, self.opens_since_hint) = (NONE, MAX_HINTED_OPENS);
    }

    /// The tag of the last symbol, for contexts.
    pub fn last_tag(&self) -> u64 {
        u64::from(self.recent[0])
    }

    fn push_symbol(&mut self, symbol: u32, tag: u32) {
        self.recent.copy_within(..RECENT - 1, 1);
        self.recent[0] = tag;
        self.symbol = symbol;
        let mut hash = 3;
        for (n, &tag) in self.recent.iter().enumerate() {
            if n == 3 {
                self.history_short = hash;
            }
            hash = combine(hash, u64::from(tag));
        }
        self.history_long = hash;
    }
}

/// What a symbol did last.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SymbolMotion {
    /// A hash of what the symbol stands for, the same in every model: contexts
    /// are built from tags so that two models can be merged.
    pub tag: u32,
    /// Its last file.
    pub file: u32,
    /// The symbol that had opened that file.
    pub opener: u32,
    /// Where its last access started.
    pub offset: u64,
    /// Bytes of its last access.
    pub size: u64,
    /// Size of the access before minus that: the step that sizes make.
    pub size_step: i64,
    /// Hashes of its last sizes, the latest first.
    pub sizes: Latest,
    /// Hashes of its last distances from the end of the access before it in
    /// the same file.
    pub distances: Latest,
    /// Hashes of its last strides, from its own access before.
    pub strides: Latest,
    /// How often in a row its distance was the same, and the one before that.
    pub distance_run: Run,
    /// The same of its sizes.
    pub size_run: Run,
    /// Whether it was ever not contiguous; until then it has no roles.
    pub jumps: bool,
    /// Whether its last data access had a position; some calls have none.
    pub positioned: bool,
    /// Whether its opens position writes at the end.
    pub appends: bool,
    /// Whether its opens cut the file.
    pub truncates: bool,
}

impl SymbolMotion {
    /// A symbol that has done nothing yet.
    pub const NEW: SymbolMotion = SymbolMotion {
        tag: 0,
        file: NONE,
        opener: NONE,
        offset: 0,
        size: 0,
        size_step: 0,
        sizes: [0; LATEST],
        distances: [0; LATEST],
        strides: [0; LATEST],
        distance_run: Run::NEW,
        size_run: Run::NEW,
        jumps: false,
        positioned: true,
        appends: false,
        truncates: false,
    };
}

/// A movement: one operation, observed or expected.
#[derive(Clone, Copy, Debug)]
pub struct Move {
    /// Its context symbol.
    pub symbol: u32,
    /// What it does.
    pub access: Access,
    /// Its file.
    pub file: u32,
    /// Where a data access starts.
    pub offset: Option<u64>,
    /// Bytes it moves.
    pub size: u64,
    /// Bytes that were asked for, where that is known.
    pub requested: Option<u64>,
    /// Whether the end of the file cut it short, so that its size says nothing
    /// about the next one.
    pub is_cut_short: bool,
    /// For opens: position at the end.
    pub append: bool,
    /// New length of the file.
    pub truncated_to: Option<u64>,
    /// Whether a quiet spell came before it.
    pub after_quiet: bool,
}

/// The state that operations move, real or supposed.
pub trait Motions {
    /// What the last operations left behind.
    fn now(&self) -> &Now;
    /// To move it on.
    fn now_mut(&mut self) -> &mut Now;
    /// What a symbol did last.
    fn symbol(&self, symbol: u32) -> &SymbolMotion;
    /// To move it on.
    fn symbol_mut(&mut self, symbol: u32) -> &mut SymbolMotion;
    /// Where a file stands.
    fn file(&self, file: u32) -> &FileMotion;
    /// To move it on.
    fn file_mut(&mut self, file: u32) -> &mut FileMotion;
    /// Where the last access of a symbol and size ended: structures of one
    /// kind, such as object headers, have one size and a place of their own.
    fn role_end(&self, symbol: u32, size: u64) -> Option<u64>;
    /// To move it on.
    fn set_role_end(&mut self, symbol: u32, size: u64, end: u64);

    /// Moves everything on by one operation.
    fn advance(&mut self, step: &Move) {
        let start = self.file(step.file).end;
        self.move_file(step);
        self.move_symbol(step, start);
        let is_open = step.access == Access::Open;
        let tag = self.symbol(step.symbol).tag;
        let now = self.now_mut();
        now.push_symbol(step.symbol, tag);
        now.file = step.file;
        if let Some(offset) = step.offset {
            now.offset = offset;
            now.size = step.size;
        }
        if is_open {
            now.opened.copy_within(..RECENT - 1, 1);
            now.opened[0] = step.file;
            now.opens_since_hint = now.opens_since_hint.saturating_add(1);
        }
        if now.used[0] != step.file {
            let rank = now.used.iter().position(|&file| file == step.file).unwrap_or(RECENT - 1);
            now.used.copy_within(..rank, 1);
            now.used[0] = step.file;
        }
        now.since_quiet = if step.after_quiet { 0 } else { now.since_quiet.saturating_add(1) };
    }

    /// Moves the file of an operation.
    fn move_file(&mut self, step: &Move) {
        let file = self.file_mut(step.file);
        if let Some(size) = step.truncated_to {
            file.size = size;
            file.size_known = true;
        }
        match step.access {
            Access::Open => {
                file.n_open = file.n_open.saturating_add(1);
                file.was_opened = true;
                file.opener = step.symbol;
                file.sought = None;
                file.end = if step.append { file.size } else { 0 };
            }
            Access::Close => file.n_open = file.n_open.saturating_sub(1),
            Access::Read | Access::Write => {
                // What can be accessed is open: by a descriptor that was
                // duplicated before the one of the open was closed.
                file.n_open = file.n_open.max(1);
                if let Some(offset) = step.offset {
                    if step.access == Access::Read {
                        file.look_for_end(offset, step);
                    }
                    file.access(offset, step.size);
                }
            }
            _ => {}
        }
    }

    /// Moves the symbol of an operation that found its file at `start`.
    fn move_symbol(&mut self, step: &Move, start: u64) {
        let opener = self.file(step.file).opener;
        let symbol = self.symbol_mut(step.symbol);
        symbol.file = step.file;
        symbol.opener = opener;
        if step.access == Access::Open {
            symbol.appends = step.append;
            symbol.truncates = step.truncated_to.is_some();
        }
        if step.access.is_data() {
            symbol.positioned = step.offset.is_some();
        }
        if step.access.is_data() && !step.is_cut_short {
            symbol.size_step = step.size.wrapping_sub(symbol.size) as i64;
            push(&mut symbol.sizes, step.size);
            symbol.size_run.advance(&symbol.sizes);
            symbol.size = step.size;
        }
        if let Some(offset) = step.offset {
            push(&mut symbol.distances, offset.wrapping_sub(start));
            symbol.distance_run.advance(&symbol.distances);
            push(&mut symbol.strides, offset.wrapping_sub(symbol.offset));
            symbol.offset = offset;
            symbol.jumps |= offset != start;
            if symbol.jumps {
                if let Some(role_end) = self.role_end(step.symbol, step.size) {
                    self.file_mut(step.file).leave_gap(role_end, offset);
                }
                self.set_role_end(step.symbol, step.size, offset.saturating_add(step.size));
            }
        }
    }
}

/// The context of a role.
pub fn role(tag: u32, size: u64) -> u64 {
    combine(combine(3, u64::from(tag)), size)
}

/// Makes room for one more, and a little: doubling would leave half of a table
/// that is filled once and then stays as it is.
pub fn reserve_some<T>(table: &mut Vec<T>) {
    if table.len() == table.capacity() {
        table.reserve_exact(table.len() / 8 + 16);
    }
}

/// The real state.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RealMotions {
    /// What the last operations left behind.
    pub now: Now,
    /// By symbol.
    pub symbols: Vec<SymbolMotion>,
    /// By file.
    pub files: Vec<FileMotion>,
    /// Ends by symbol and size; bounded, an old one gives way to a new one.
    pub roles: Recall,
}

impl RealMotions {
    /// Nothing has moved yet.
    pub fn new(max_roles: usize) -> RealMotions {
        RealMotions {
            now: Now::default(),
            symbols: Vec::new(),
            files: Vec::new(),
            roles: Recall::new(max_roles),
        }
    }

    /// A symbol more, with this tag.
    pub fn add_symbol(&mut self, tag: u32) {
        reserve_some(&mut self.symbols);
        self.symbols.push(SymbolMotion { tag, ..SymbolMotion::NEW });
    }

    /// Nothing is open, and nothing has come before.
    pub fn begin_run(&mut self) {
        self.now = Now::default();
        for file in &mut self.files {
            file.n_open = 0;
            file.end = 0;
            file.sought = None;
        }
    }
}

impl Motions for RealMotions {
    fn now(&self) -> &Now {
        &self.now
    }

    fn now_mut(&mut self) -> &mut Now {
        &mut self.now
    }

    fn symbol(&self, symbol: u32) -> &SymbolMotion {
        self.symbols.get(symbol as usize).unwrap_or(&SymbolMotion::NEW)
    }

    fn symbol_mut(&mut self, symbol: u32) -> &mut SymbolMotion {
        &mut self.symbols[symbol as usize]
    }

    fn file(&self, file: u32) -> &FileMotion {
        self.files.get(file as usize).unwrap_or(&FileMotion::NEW)
    }

    fn file_mut(&mut self, file: u32) -> &mut FileMotion {
        &mut self.files[file as usize]
    }

    fn role_end(&self, symbol: u32, size: u64) -> Option<u64> {
        self.roles.get(role(self.symbol(symbol).tag, size)).map(|end| end.value as u64)
    }

    fn set_role_end(&mut self, symbol: u32, size: u64, end: u64) {
        self.roles.replace(role(self.symbol(symbol).tag, size), end as i64);
    }
}
