// SPDX-License-Identifier: MIT OR Apache-2.0

//! The paths by which calls were reached, and the contexts they lead to: a tree of
//! verified paths.
//!
//! A path is the trail of one unwinding: the words it looked at, in order. It
//! is found by return address and stack pointer; then every word is read again
//! and compared. The context is the path's only if all of them are as they
//! were, so a hit is as good as a walk.
//!
//! Calls from one place are reached on many paths with the same stack pointer, so their
//! paths share a beginning. Where a word differs, the number of that word and the value
//! found instead determine where the path continues. This works because the next place
//! to look at follows from the words before it: paths differ first in a value, never in
//! a place. A lookup therefore costs one comparison per word and one probe per branch,
//! however many paths there are.
//!
//! All has a fixed size, of which slots are used gradually: a short process pays for
//! every page that it touches. When something is full, all paths are forgotten.

use super::super::Caller;
use super::trail::Trail;

const MAX_WORDS: usize = 1 << 16;
const MAX_NODES: usize = 1 << 12;
/// Half of the slots stay free, so that searching one ends soon.
const SLOTS: usize = 2 * MAX_NODES;
/// Slots that are used at first: little more than a page.
const FIRST_SLOTS: usize = 128;
/// By how many bits of a slot's number their number grows.
const GROWTH_BITS: u32 = 2;
/// Words are compared in groups; a node is filled up to whole ones.
const GROUP: usize = 4;

/// From where a node is reached, and with which value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// The stack pointer, or the number of a word, or the number of a node after
    /// whose words the frame pointer is looked at; these never meet.
    from: u64,
    value: u64,
}

impl Key {
    fn root(sp: usize, return_address: usize) -> Key {
        Key { from: sp as u64, value: return_address as u64 }
    }

    fn word(number: usize, value: u64) -> Key {
        Key { from: 1 << 62 | number as u64, value }
    }

    fn frame_pointer(node: &Node, value: usize) -> Key {
        Key { from: 1 << 63 | node.context, value: value as u64 }
    }

    #[inline]
    fn slot(self, last_slot: usize) -> usize {
        let mixed = (self.from.rotate_left(23) ^ self.value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize & last_slot
    }
}

/// What comes when all words of a node are as they were.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
enum Then {
    /// A free slot.
    Nothing,
    /// The end of a path.
    Context,
    /// The unwinding used the frame pointer that the call was entered with.
    FramePointer,
}

/// A piece of a path without branches.
#[derive(Clone, Copy)]
struct Node {
    key: Key,
    first_word: u32,
    n_words: u32,
    then: Then,
    /// In which age of definitions the context was defined.
    defined_in: u32,
    /// What the path leads to; the number of a node that the frame pointer follows.
    context: u64,
}

impl Node {
    const FREE: Node = Node {
        key: Key { from: 0, value: 0 },
        first_word: 0,
        n_words: 0,
        then: Then::Nothing,
        defined_in: 0,
        context: 0,
    };
}

/// The tree; empty when all zero.
pub(super) struct Paths {
    nodes: [Node; SLOTS],
    n_nodes: usize,
    /// The bits that the numbers of slots have beyond those of [`FIRST_SLOTS`].
    grown: usize,
    values: [u64; MAX_WORDS],
    offsets: [u32; MAX_WORDS],
    n_words: usize,
}

/// What to keep of a walk.
#[derive(Clone, Copy)]
pub(super) struct WalkedPath<'a> {
    pub(super) caller: Caller,
    pub(super) return_address: usize,
    pub(super) trail: &'a Trail,
    pub(super) context: u64,
    pub(super) defined_in: u32,
}

/// There is no room for another path.
struct Full;

impl Paths {
    /// The context of a stack that was seen before, and in which age of
    /// definitions it was defined.
    ///
    /// # Safety
    ///
    /// The stack pointer is the thread's, on its own stack, which is mapped from
    /// there up to where it was when paths were inserted.
    #[inline]
    pub(super) unsafe fn find(&self, caller: Caller, return_address: usize) -> Option<(u64, u32)> {
        let mut key = Key::root(caller.sp, return_address);
        loop {
            let (_, node) = self.node(key)?;
            // SAFETY: the caller's promise.
            key = match unsafe { self.first_difference(node, caller.sp)? } {
                Some(branch) => branch,
                None if node.then == Then::Context => return Some((node.context, node.defined_in)),
                None => Key::frame_pointer(node, caller.fp),
            }
        }
    }

    /// The node that is reached by a key.
    #[inline]
    fn node(&self, key: Key) -> Option<(usize, &Node)> {
        let last_slot = self.last_slot();
        let mut slot = key.slot(last_slot);
        loop {
            let node = self.nodes.get(slot)?;
            if node.key == key {
                return Some((slot, node));
            }
            if node.then == Then::Nothing {
                return None;
            }
            slot = (slot + 1) & last_slot;
        }
    }

    #[inline]
    fn last_slot(&self) -> usize {
        (FIRST_SLOTS - 1) | self.grown
    }

    /// Compares a node's words with the stack; where it goes on if one differs.
    #[inline]
    unsafe fn first_difference(&self, node: &Node, sp: usize) -> Option<Option<Key>> {
        let first = node.first_word as usize;
        let end = first + (node.n_words as usize).next_multiple_of(GROUP);
        let (values, _) = self.values.get(first..end)?.as_chunks::<GROUP>();
        let (offsets, _) = self.offsets.get(first..end)?.as_chunks::<GROUP>();
        for (number, (values, offsets)) in values.iter().zip(offsets).enumerate() {
            let found = offsets.map(|offset| {
                // SAFETY: the word was on the stack that the thread is on, above
                // the same stack pointer.
                unsafe { ((sp + offset as usize) as *const u64).read_volatile() }
            });
            let differs = |place: usize| found[place] ^ values[place];
            if differs(0) | differs(1) | differs(2) | differs(3) != 0 {
                let place = (0..GROUP).find(|&place| differs(place) != 0)?;
                return Some(Some(Key::word(first + number * GROUP + place, found[place])));
            }
        }
        Some(None)
    }

    /// Keeps the path that a walk has found.
    pub(super) fn insert(&mut self, path: WalkedPath<'_>) {
        if self.try_insert(&path).is_err() {
            self.clear();
            // In an empty tree there is room for any trail.
            let _ = self.try_insert(&path);
        }
    }

    /// Goes along what is known about the path and adds the rest.
    fn try_insert(&mut self, path: &WalkedPath<'_>) -> Result<(), Full> {
        let (offsets, values, fp_before) = path.trail.parts();
        let mut key = Key::root(path.caller.sp, path.return_address);
        let mut n_done = 0;
        let mut fp_before = fp_before;
        while let Some((slot, node)) = self.node(key) {
            let n_same = self.n_same(node, offsets.get(n_done..), values.get(n_done..));
            n_done += n_same;
            let is_whole = n_same == node.n_words as usize;
            key = match (is_whole, node.then) {
                (false, _) => {
                    let word = node.first_word as usize + n_same;
                    // The place cannot differ, unless code has changed without our
                    // knowledge: then everything we know is worthless.
                    if offsets.get(n_done) != self.offsets.get(word) {
                        return Err(Full);
                    }
                    n_done += 1;
                    Key::word(word, values.get(n_done - 1).copied().ok_or(Full)?)
                }
                (true, Then::FramePointer) if fp_before == Some(n_done) => {
                    fp_before = None;
                    Key::frame_pointer(node, path.caller.fp)
                }
                (true, Then::Context) if fp_before.is_none() && n_done == values.len() => {
                    let node = self.nodes.get_mut(slot).ok_or(Full)?;
                    (node.context, node.defined_in) = (path.context, path.defined_in);
                    return Ok(());
                }
                _ => return Err(Full),
            };
        }
        if let Some(fp_before) = fp_before {
            let node = self.add(key, path, n_done, fp_before, Then::FramePointer)?;
            key = Key::frame_pointer(node, path.caller.fp);
            n_done = fp_before;
        }
        self.add(key, path, n_done, values.len(), Then::Context)?;
        Ok(())
    }

    /// How many words of a node a trail has, too.
    fn n_same(&self, node: &Node, offsets: Option<&[u32]>, values: Option<&[u64]>) -> usize {
        let first = node.first_word as usize;
        let words = first..first + node.n_words as usize;
        let own = self.offsets.get(words.clone()).into_iter().flatten();
        let own = own.zip(self.values.get(words).into_iter().flatten());
        let other = offsets.into_iter().flatten().zip(values.into_iter().flatten());
        own.zip(other).take_while(|(own, other)| own == other).count()
    }

    /// Adds a node with a part of the path's words.
    fn add(
        &mut self,
        key: Key,
        path: &WalkedPath<'_>,
        from: usize,
        to: usize,
        then: Then,
    ) -> Result<&Node, Full> {
        if self.n_nodes > self.last_slot() / 2 {
            self.grow()?;
        }
        let (offsets, values, _) = path.trail.parts();
        let (offsets, values) =
            (offsets.get(from..to).ok_or(Full)?, values.get(from..to).ok_or(Full)?);
        let first = self.n_words;
        let end = first + values.len().next_multiple_of(GROUP);
        let value_places = self.values.get_mut(first..end).ok_or(Full)?;
        let offset_places = self.offsets.get_mut(first..end).ok_or(Full)?;
        // The return address fills up the last group: it is as it was, or the
        // node would not have been found.
        value_places.fill(path.return_address as u64);
        offset_places.fill(0);
        value_places.iter_mut().zip(values).for_each(|(place, value)| *place = *value);
        offset_places.iter_mut().zip(offsets).for_each(|(place, offset)| *place = *offset);

        let node = Node {
            key,
            first_word: first as u32,
            n_words: values.len() as u32,
            then,
            defined_in: path.defined_in,
            context: if then == Then::Context { path.context } else { self.n_nodes as u64 },
        };
        let slot = self.place(node)?;
        self.n_nodes += 1;
        self.n_words = end;
        self.nodes.get(slot).ok_or(Full)
    }

    /// Puts a node into its slot, or the next free one.
    fn place(&mut self, node: Node) -> Result<usize, Full> {
        let last_slot = self.last_slot();
        let mut slot = node.key.slot(last_slot);
        while self.nodes.get(slot).ok_or(Full)?.then != Then::Nothing {
            slot = (slot + 1) & last_slot;
        }
        *self.nodes.get_mut(slot).ok_or(Full)? = node;
        Ok(slot)
    }

    /// Uses more slots. The nodes are placed again starting after a free slot, so that
    /// those between a node and its proper slot are placed before it.
    fn grow(&mut self) -> Result<(), Full> {
        let last_slot = self.last_slot();
        let more = (last_slot + 1) << GROWTH_BITS;
        if more > SLOTS {
            return Err(Full);
        }
        self.grown = more - 1;
        let is_free = |node: &Node| node.then == Then::Nothing;
        let free = self.nodes.iter().position(is_free).ok_or(Full)?;
        for number in 1..=last_slot {
            let node = self.nodes.get_mut((free + number) & last_slot).ok_or(Full)?;
            let taken = core::mem::replace(node, Node::FREE);
            if !is_free(&taken) {
                self.place(taken)?;
            }
        }
        Ok(())
    }

    /// Forgets all paths. An empty tree is not written to: in the memory of a new
    /// thread that would touch a hundred pages, which a short process never needs.
    pub(super) fn clear(&mut self) {
        if self.n_nodes == 0 {
            return;
        }
        let n_slots = self.last_slot() + 1;
        for node in self.nodes.iter_mut().take(n_slots) {
            (node.key, node.then) = (Key { from: 0, value: 0 }, Then::Nothing);
        }
        (self.n_nodes, self.n_words) = (0, 0);
    }
}

#[cfg(test)]
mod tests;
