// SPDX-License-Identifier: MIT OR Apache-2.0

//! Call stacks that differ in one caller: the same routine, called from another
//! line.
//!
//! A program that writes its last checkpoint from another call site goes through
//! the same routines below it, yet every call stack is a new one. Two stacks are
//! relatives if all frames but one are equal, and the one that differs has called
//! into its own module before: the frame below it, or one further down, is of the
//! same module. Without that, two lines of one function that call a library would
//! be relatives, and those mostly do different things.
//!
//! Relatives are found when a stack is defined, by hashes of the stack with each
//! such frame left out; nothing is searched when operations come.

use ioracle_events::ContextId;

use crate::hash::{self, SeedlessMap, combine};

/// Relatives that are kept of one stack: the first ones.
const MAX_RELATIVES: usize = 4;
/// Stacks without one frame that are remembered; later ones find no relatives.
const MAX_RESTS: usize = 1 << 16;
/// Frames of a stack that are looked at, from the innermost.
const MAX_FRAMES: usize = 64;

/// Which call stacks of a source are relatives.
#[derive(Clone, Debug, Default)]
pub struct Relatives {
    by_rest: SeedlessMap<u64, Family>,
    of: SeedlessMap<ContextId, Family>,
}

/// Stacks in the order in which they were defined.
#[derive(Clone, Copy, Debug, Default)]
struct Family {
    members: [Option<ContextId>; MAX_RELATIVES],
}

impl Family {
    fn iter(&self) -> impl Iterator<Item = ContextId> + '_ {
        self.members.iter().copied().flatten()
    }

    /// Adds one if there is room.
    fn add(&mut self, context: ContextId) {
        if self.iter().any(|member| member == context) {
            return;
        }
        if let Some(place) = self.members.iter_mut().find(|member| member.is_none()) {
            *place = Some(context);
        }
    }
}

impl Relatives {
    /// Takes in the frames of a call stack, innermost first, separated by `;`.
    pub fn define(&mut self, context: ContextId, frames: &str) {
        let mut found = Family::default();
        for rest in rests(frames) {
            let is_full = self.by_rest.len() >= MAX_RESTS;
            let family = match self.by_rest.get_mut(&rest) {
                Some(family) => family,
                None if is_full => continue,
                None => self.by_rest.entry(rest).or_default(),
            };
            family.iter().for_each(|relative| found.add(relative));
            family.add(context);
        }
        for relative in found.iter() {
            self.of.entry(relative).or_default().add(context);
            self.of.entry(context).or_default().add(relative);
        }
    }

    /// The relatives of a stack, those defined first first.
    pub fn of(&self, context: ContextId) -> impl Iterator<Item = ContextId> + '_ {
        self.of.get(&context).into_iter().flat_map(Family::iter)
    }
}

/// A hash of the stack without each frame in which a relative may differ.
fn rests(frames: &str) -> impl Iterator<Item = u64> {
    let frames: Vec<&str> = frames.split(';').take(MAX_FRAMES).collect();
    // From the outermost frame to each.
    let mut outer = vec![0; frames.len() + 1];
    for (at, frame) in frames.iter().enumerate().rev() {
        outer[at] = combine(outer[at + 1], hash::text(frame));
    }
    let mut inner = 1;
    let mut rests = Vec::new();
    for (at, frame) in frames.iter().enumerate() {
        let calls_its_own = frames[..at].iter().any(|below| module(below) == module(frame));
        if calls_its_own {
            rests.push(combine(combine(inner, at as u64), outer[at + 1]));
        }
        inner = combine(inner, hash::text(frame));
    }
    rests.into_iter()
}

/// The module of a frame such as `libc.so.6+0x2724a`.
fn module(frame: &str) -> &str {
    frame.rsplit_once('+').map_or(frame, |(module, _)| module)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relatives of the last of these stacks.
    fn relatives_of_last(stacks: &[&str]) -> Vec<u32> {
        let mut relatives = Relatives::default();
        for (number, frames) in (1..).zip(stacks) {
            relatives.define(ContextId(number), frames);
        }
        relatives.of(ContextId(stacks.len() as u32)).map(|context| context.0).collect()
    }

    #[test]
    fn the_same_routine_from_another_line_is_a_relative() {
        let stacks = ["libc+0x1;app+0x10;app+0x20;libc+0x9", "libc+0x1;app+0x10;app+0x30;libc+0x9"];
        assert_eq!(relatives_of_last(&stacks), [1]);
    }

    #[test]
    fn another_line_of_the_routine_that_calls_the_library_is_none() {
        let stacks = ["libc+0x1;app+0x10;app+0x20;libc+0x9", "libc+0x1;app+0x14;app+0x20;libc+0x9"];
        assert!(relatives_of_last(&stacks).is_empty());
    }

    #[test]
    fn stacks_that_differ_in_two_frames_or_in_depth_are_none() {
        let known = "libc+0x1;app+0x10;app+0x20;app+0x50";
        assert!(relatives_of_last(&[known, "libc+0x1;app+0x10;app+0x30;app+0x60"]).is_empty());
        assert!(relatives_of_last(&[known, "libc+0x1;app+0x10;app+0x20"]).is_empty());
    }

    #[test]
    fn the_first_relatives_are_kept() {
        let stacks: Vec<String> = (0..9).map(|line| format!("app+0x1;app+0x{line}0")).collect();
        let stacks: Vec<&str> = stacks.iter().map(String::as_str).collect();
        assert_eq!(relatives_of_last(&stacks), [1, 2, 3, 4]);
    }
}
