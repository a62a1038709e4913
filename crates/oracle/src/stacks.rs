// SPDX-License-Identifier: MIT OR Apache-2.0

//! Call stacks by the names of their functions, so that a rebuilt program keeps
//! what was learned.
//!
//! A context is known by its return addresses, which change with every build.
//! What mostly stays is through which functions it came, and by which of their
//! calls. A model keeps that of each context: a [`Site`] per frame, in a table
//! that all share. When a module has been rebuilt, a new call stack is looked
//! for among those: by functions, the order of calls deciding which is nearest,
//! else where one lacks some functions of the other, as it happens when a
//! compiler inlines more or less. Names are hashed: they are compared and never shown.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::hash;

/// Call stacks, sites and modules that a model keeps, and frames of a stack.
const MAX_STACKS: usize = 1 << 14;
const MAX_SITES: usize = 1 << 16;
const MAX_MODULES: usize = 1 << 10;
const MAX_FRAMES: usize = 64;
/// Bytes of a module's name.
const MAX_NAME_BYTES: usize = 255;
/// Stacks that a new one may be, at most.
const MAX_CANDIDATES: usize = 64;
/// Functions by which two stacks may differ and still be one.
const MAX_INLINED: usize = 6;
/// Sites that all searches for unequal stacks together may compare.
const MAX_COMPARED: u64 = 1 << 26;

/// A call stack, by a hash of its frames that is the same in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StackId(pub(crate) u64);

impl StackId {
    /// Of frames as text.
    pub fn of(frames: &str) -> StackId {
        StackId(hash::text(frames).max(1))
    }

    /// Of what is done there to one of several things.
    pub fn on(self, thing: &str) -> StackId {
        StackId(hash::combine(self.0, hash::text(thing)).max(1))
    }
}

/// What a module was built as, by a hash of its identity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build(u64);

impl Build {
    /// Of what distinguishes builds.
    pub fn of(identity: &[u8]) -> Build {
        Build(hash::bytes(identity))
    }
}

/// Where in a program a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Site {
    function: u32,
    /// Which of the function's calls of the same callee it is.
    call: u32,
}

impl Site {
    /// The `call`-th call of its callee in a function of a module.
    pub fn named(module: &str, function: &str, call: u32) -> Site {
        // Names of modules have no line breaks.
        Site { function: short(&[module, "\n", clean(function)]), call }
    }

    /// A place that has no name.
    pub fn at(module: &str, offset: u64) -> Site {
        Site { function: short(&[module, "+", &offset.to_string()]), call: 0 }
    }
}

/// What a call stack may have been before a build.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The one with the same functions and calls.
    pub equal: Option<StackId>,
    /// All that come near, the nearest first.
    pub near: Vec<StackId>,
}

/// The call stacks of a model.
#[derive(Clone, Debug, Default)]
pub struct Stacks {
    /// What each module was built as.
    modules: BTreeMap<String, Build>,
    stacks: BTreeMap<StackId, Stack>,
    /// Which stack a text is.
    by_text: HashMap<StackId, StackId>,
    n_compared: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stack<S = Site> {
    /// What its frames were when it was seen last.
    text: StackId,
    /// Whether something was rebuilt since then, so that the text means nothing.
    is_stale: bool,
    /// Innermost first.
    sites: Vec<S>,
}

impl Stacks {
    /// Whether a module of this name is known, and was another build.
    fn is_rebuilt(&self, module: &str, build: Build) -> bool {
        self.modules.get(module).is_some_and(|known| *known != build)
    }

    /// The stack that this text stood for in the known build.
    pub fn known(&self, text: StackId) -> Option<StackId> {
        self.by_text.get(&text).copied()
    }

    /// Whether there are stacks that can be found by their names only.
    pub fn has_stale(&self) -> bool {
        self.by_text.len() < self.stacks.len()
    }

    /// The stacks that an unknown one may be after a build.
    pub fn candidates(&mut self, sites: &[Site]) -> Candidates {
        let sites = &sites[..sites.len().min(MAX_FRAMES)];
        let mut near = self.nearest(|stack| n_moved(&stack.sites, sites));
        if near.is_empty() && self.n_compared < MAX_COMPARED {
            let n_sites = self.stale().map(|(_, stack)| stack.sites.len() as u64);
            self.n_compared += n_sites.sum::<u64>();
            near = self.nearest(|stack| n_inlined(&stack.sites, sites));
        }
        let is_equal = |id: &StackId| self.stacks.get(id).is_some_and(|stack| stack.sites == sites);
        Candidates { equal: near.first().copied().filter(is_equal), near }
    }

    /// A module as it is built now. If it was another build before, stacks are
    /// known by their names only, until they are defined again.
    pub fn define_module(&mut self, name: &str, build: Build) {
        if self.is_rebuilt(name, build) {
            self.stacks.values_mut().for_each(|stack| stack.is_stale = true);
            self.by_text.clear();
        }
        let is_known = self.modules.contains_key(name);
        if name.len() <= MAX_NAME_BYTES && (is_known || self.modules.len() < MAX_MODULES) {
            self.modules.insert(name.to_owned(), build);
        }
    }

    /// The text that stands for a stack now, and the functions it came through.
    pub fn define(&mut self, id: StackId, text: StackId, sites: Vec<Site>) {
        self.insert(id, Stack { text, is_stale: false, sites });
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.stacks.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.stacks.is_empty()
    }

    /// Takes in what another has seen later.
    pub(crate) fn merge(&mut self, other: &Stacks) {
        for (name, build) in &other.modules {
            self.define_module(name, *build);
        }
        for (id, stack) in &other.stacks {
            self.insert(*id, stack.clone());
        }
    }

    /// Forgets stacks that nothing was learned about.
    pub(crate) fn retain(&mut self, used: &BTreeSet<StackId>) {
        self.stacks.retain(|id, _| used.contains(id));
        self.by_text.retain(|_, id| used.contains(id));
    }

    fn insert(&mut self, id: StackId, mut stack: Stack) {
        if self.stacks.len() >= MAX_STACKS && !self.stacks.contains_key(&id) {
            return;
        }
        stack.sites.truncate(MAX_FRAMES);
        if !stack.is_stale {
            self.by_text.insert(stack.text, id);
        }
        if let Some(before) = self.stacks.insert(id, stack.clone())
            && before.text != stack.text
        {
            self.by_text.remove(&before.text);
        }
    }

    fn stale(&self) -> impl Iterator<Item = (&StackId, &Stack)> {
        self.stacks.iter().filter(|(_, stack)| stack.is_stale)
    }

    /// Those at some distance, the nearest first.
    fn nearest(&self, distance: impl Fn(&Stack) -> Option<u64>) -> Vec<StackId> {
        let near = self.stale().filter_map(|(id, stack)| Some((distance(stack)?, *id)));
        let mut near: Vec<(u64, StackId)> = near.collect();
        near.sort_unstable();
        near.into_iter().take(MAX_CANDIDATES).map(|(_, id)| id).collect()
    }
}

/// How far the calls of equal functions are apart; `None` if these are not equal.
fn n_moved(one: &[Site], other: &[Site]) -> Option<u64> {
    if one.len() != other.len() {
        return None;
    }
    one.iter().zip(other).try_fold(0, |sum, (one, other)| {
        (one.function == other.function).then_some(sum + u64::from(one.call.abs_diff(other.call)))
    })
}

/// How many functions the longer stack has beyond those of the shorter one;
/// `None` if they are too different.
fn n_inlined(one: &[Site], other: &[Site]) -> Option<u64> {
    let (short, long) = if one.len() < other.len() { (one, other) } else { (other, one) };
    let missing = long.len() - short.len();
    if missing > MAX_INLINED || short.is_empty() {
        return None;
    }
    let mut rest = long.iter();
    short
        .iter()
        .all(|site| rest.any(|other| other.function == site.function))
        .then_some(missing as u64)
}

/// A name without what compilers append to the parts that they make of a
/// function: `write_header.part.0`, `main.cold`.
fn clean(function: &str) -> &str {
    match function.find('.') {
        Some(0) | None => function,
        Some(end) => &function[..end],
    }
}

fn short(parts: &[&str]) -> u32 {
    let hash = parts.iter().fold(1, |hash, part| hash::combine(hash, hash::text(part)));
    hash as u32
}

/// The stacks as they are stored.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedStacks {
    modules: Vec<(String, Build)>,
    sites: Vec<Site>,
    /// Their sites are places in the table above.
    stacks: Vec<(StackId, Stack<u32>)>,
}

impl From<&Stacks> for SavedStacks {
    fn from(stacks: &Stacks) -> SavedStacks {
        let mut saved = SavedStacks {
            modules: stacks.modules.iter().map(|(name, build)| (name.clone(), *build)).collect(),
            sites: Vec::new(),
            stacks: Vec::new(),
        };
        let mut places: HashMap<Site, u32> = HashMap::new();
        for (id, stack) in &stacks.stacks {
            let new = stack.sites.iter().filter(|site| !places.contains_key(*site)).count();
            if saved.sites.len() + new > MAX_SITES {
                continue;
            }
            let sites = stack.sites.iter().map(|site| {
                *places.entry(*site).or_insert_with(|| {
                    saved.sites.push(*site);
                    saved.sites.len() as u32 - 1
                })
            });
            let sites = sites.collect();
            let &Stack { text, is_stale, .. } = stack;
            saved.stacks.push((*id, Stack { text, is_stale, sites }));
        }
        saved
    }
}

impl SavedStacks {
    /// The stacks, if they could have been made by this code.
    pub(crate) fn check(self) -> Option<Stacks> {
        let is_sound = self.modules.len() <= MAX_MODULES
            && self.modules.iter().all(|(name, _)| name.len() <= MAX_NAME_BYTES)
            && self.sites.len() <= MAX_SITES
            && self.stacks.len() <= MAX_STACKS
            && self.stacks.iter().all(|(_, stack)| stack.sites.len() <= MAX_FRAMES);
        if !is_sound {
            return None;
        }
        let mut stacks =
            Stacks { modules: self.modules.into_iter().collect(), ..Stacks::default() };
        for (id, Stack { text, is_stale, sites }) in self.stacks {
            let site = |place: u32| self.sites.get(place as usize).copied();
            let sites = sites.into_iter().map(site).collect::<Option<Vec<Site>>>()?;
            stacks.insert(id, Stack { text, is_stale, sites });
        }
        Some(stacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &[(&str, u32)]) -> Vec<Site> {
        functions.iter().map(|(name, call)| Site::named("app", name, *call)).collect()
    }

    /// Three contexts of one program.
    fn known() -> (Stacks, [StackId; 3]) {
        let mut stacks = Stacks::default();
        let ids = ["app+0x1", "app+0x2", "app+0x3"].map(StackId::of);
        stacks.define(ids[0], ids[0], stack(&[("header", 0), ("checkpoint", 0), ("main", 0)]));
        stacks.define(ids[1], ids[1], stack(&[("header", 1), ("checkpoint", 0), ("main", 0)]));
        stacks.define(ids[2], ids[2], stack(&[("log", 0), ("main", 0)]));
        stacks.define_module("app", Build(7));
        (stacks, ids)
    }

    /// The same after a build.
    fn rebuilt() -> (Stacks, [StackId; 3]) {
        let (mut stacks, ids) = known();
        stacks.define_module("app", Build(8));
        (stacks, ids)
    }

    #[test]
    fn equal_functions_and_calls_are_the_same_context() {
        let (mut stacks, ids) = rebuilt();
        let new = stack(&[("header", 1), ("checkpoint", 0), ("main", 0)]);
        let both = Candidates { equal: Some(ids[1]), near: vec![ids[1], ids[0]] };
        assert_eq!(stacks.candidates(&new), both);
        let cloned = stack(&[("header.part.0", 1), ("checkpoint.isra.0", 0), ("main", 0)]);
        assert_eq!(stacks.candidates(&cloned), both);
    }

    #[test]
    fn other_calls_leave_several_candidates() {
        let (mut stacks, ids) = rebuilt();
        let found = stacks.candidates(&stack(&[("header", 5), ("checkpoint", 0), ("main", 0)]));
        assert_eq!(found, Candidates { equal: None, near: vec![ids[1], ids[0]] });
    }

    #[test]
    fn inlined_functions_may_be_missing() {
        let (mut stacks, ids) = rebuilt();
        let inlined = stacks.candidates(&stack(&[("checkpoint", 3), ("main", 0)])).near;
        assert!(inlined.contains(&ids[0]) && inlined.contains(&ids[1]), "{inlined:?}");
        assert!(!inlined.contains(&ids[2]));
        assert!(stacks.candidates(&stack(&[("other", 0), ("main", 0)])).near.is_empty());
    }

    #[test]
    fn a_module_is_rebuilt_if_it_was_another_build() {
        let (stacks, _) = known();
        assert!(stacks.is_rebuilt("app", Build(8)) && !stacks.is_rebuilt("app", Build(7)));
        assert!(!stacks.is_rebuilt("libc.so.6", Build(8)), "it was never seen");
    }

    #[test]
    fn a_stack_goes_by_its_latest_text() {
        let (mut stacks, ids) = known();
        let new = StackId::of("app+0x99");
        let log = stack(&[("log", 0), ("main", 0)]);
        assert!(stacks.candidates(&log).near.is_empty(), "its text is known");
        stacks.define_module("app", Build(8));
        assert_eq!(stacks.known(ids[2]), None, "texts of the last build mean nothing");
        assert_eq!(stacks.candidates(&log).equal, Some(ids[2]));
        stacks.define(ids[2], new, log.clone());
        assert_eq!(stacks.known(new), Some(ids[2]));
        assert!(stacks.has_stale() && stacks.candidates(&log).near.is_empty());
    }

    #[test]
    fn what_is_saved_is_loaded_and_nonsense_is_refused() {
        let (stacks, _) = known();
        let loaded = SavedStacks::from(&stacks).check().expect("it was made by this code");
        assert_eq!(
            (loaded.stacks, loaded.modules),
            (stacks.stacks.clone(), stacks.modules.clone())
        );
        let mut beyond = SavedStacks::from(&stacks);
        beyond.stacks[0].1.sites.push(99);
        assert!(beyond.check().is_none());
        let mut deep = SavedStacks::from(&stacks);
        deep.stacks[0].1.sites = vec![0; MAX_FRAMES + 1];
        assert!(deep.check().is_none());
    }
}
