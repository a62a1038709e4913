// SPDX-License-Identifier: MIT OR Apache-2.0

//! The real state with supposed operations on top. Only what a path touches is
//! copied, so that a step ahead costs the same however much the oracle knows.

use crate::file_motion::FileMotion;
use crate::hash::SeedlessMap;
use crate::motion::{Motions, Now, RealMotions, SymbolMotion};

const MAX_SUPPOSED_ROLES: usize = 4096;

/// The real state with supposed operations on top.
#[derive(Clone, Debug)]
pub struct SupposedMotions<'a> {
    real: &'a RealMotions,
    now: Now,
    symbols: SeedlessMap<u32, SymbolMotion>,
    files: SeedlessMap<u32, FileMotion>,
    roles: SeedlessMap<(u32, u64), u64>,
}

impl<'a> SupposedMotions<'a> {
    /// Nothing supposed yet.
    pub fn new(real: &'a RealMotions) -> SupposedMotions<'a> {
        let now = real.now.clone();
        SupposedMotions {
            real,
            now,
            symbols: SeedlessMap::default(),
            files: SeedlessMap::default(),
            roles: SeedlessMap::default(),
        }
    }
}

impl Motions for SupposedMotions<'_> {
    fn now(&self) -> &Now {
        &self.now
    }

    fn now_mut(&mut self) -> &mut Now {
        &mut self.now
    }

    fn symbol(&self, symbol: u32) -> &SymbolMotion {
        self.symbols.get(&symbol).unwrap_or_else(|| self.real.symbol(symbol))
    }

    fn symbol_mut(&mut self, symbol: u32) -> &mut SymbolMotion {
        self.symbols.entry(symbol).or_insert_with(|| *self.real.symbol(symbol))
    }

    fn file(&self, file: u32) -> &FileMotion {
        self.files.get(&file).unwrap_or_else(|| self.real.file(file))
    }

    fn file_mut(&mut self, file: u32) -> &mut FileMotion {
        self.files.entry(file).or_insert_with(|| *self.real.file(file))
    }

    fn role_end(&self, symbol: u32, size: u64) -> Option<u64> {
        self.roles.get(&(symbol, size)).copied().or_else(|| self.real.role_end(symbol, size))
    }

    fn set_role_end(&mut self, symbol: u32, size: u64, end: u64) {
        // A path of a million steps with as many sizes must not take memory for
        // each of them.
        if self.roles.len() < MAX_SUPPOSED_ROLES || self.roles.contains_key(&(symbol, size)) {
            self.roles.insert((symbol, size), end);
        }
    }
}
