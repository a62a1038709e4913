// SPDX-License-Identifier: MIT OR Apache-2.0

//! The real state with supposed operations on top. Only what a path touches is
//! copied, so that a step ahead costs the same however much the oracle knows.

use crate::file_motion::FileMotion;
use crate::hash::SeedlessMap;
use crate::motion::{Motions, Now, RealMotions, SymbolMotion};

const MAX_SUPPOSED_ROLES: usize = 4096;

/// What supposed operations have moved, and where it stands now. It stays right
/// while the real state moves on, as long as what really happens is what was
/// supposed: then all that moves was copied here before.
#[derive(Clone, Debug)]
pub struct MotionOverlay {
    now: Now,
    symbols: SeedlessMap<u32, SymbolMotion>,
    files: SeedlessMap<u32, FileMotion>,
    roles: SeedlessMap<(u32, u64), u64>,
}

impl MotionOverlay {
    /// Nothing supposed yet.
    pub fn new(real: &RealMotions) -> MotionOverlay {
        MotionOverlay {
            now: real.now.clone(),
            symbols: SeedlessMap::default(),
            files: SeedlessMap::default(),
            roles: SeedlessMap::default(),
        }
    }

    /// KnownFiles that supposed operations have used.
    pub fn n_files(&self) -> usize {
        self.files.len()
    }
}

/// The real state with supposed operations on top.
#[derive(Debug)]
pub struct SupposedMotions<'a> {
    pub real: &'a RealMotions,
    pub overlay: &'a mut MotionOverlay,
}

impl Motions for SupposedMotions<'_> {
    fn now(&self) -> &Now {
        &self.overlay.now
    }

    fn now_mut(&mut self) -> &mut Now {
        &mut self.overlay.now
    }

    fn symbol(&self, symbol: u32) -> &SymbolMotion {
        self.overlay.symbols.get(&symbol).unwrap_or_else(|| self.real.symbol(symbol))
    }

    fn symbol_mut(&mut self, symbol: u32) -> &mut SymbolMotion {
        self.overlay.symbols.entry(symbol).or_insert_with(|| *self.real.symbol(symbol))
    }

    fn file(&self, file: u32) -> &FileMotion {
        self.overlay.files.get(&file).unwrap_or_else(|| self.real.file(file))
    }

    fn file_mut(&mut self, file: u32) -> &mut FileMotion {
        self.overlay.files.entry(file).or_insert_with(|| *self.real.file(file))
    }

    fn role_end(&self, symbol: u32, size: u64) -> Option<u64> {
        self.overlay
            .roles
            .get(&(symbol, size))
            .copied()
            .or_else(|| self.real.role_end(symbol, size))
    }

    fn set_role_end(&mut self, symbol: u32, size: u64, end: u64) {
        // A path of a million steps with as many sizes must not take memory for
        // each of them.
        if self.overlay.roles.len() < MAX_SUPPOSED_ROLES
            || self.overlay.roles.contains_key(&(symbol, size))
        {
            self.overlay.roles.insert((symbol, size), end);
        }
    }
}
