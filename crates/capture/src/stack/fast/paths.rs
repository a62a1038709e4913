// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ways by which calls were reached, and the contexts they lead to: a tree
//! of verified paths.
//!
//! A path is the trail of one unwinding: the words it looked at, in order. It
//! is found by return address and stack pointer; then every word is read again
//! and compared. The context is the path's only if all of them are as they
//! were, so a hit is as good as a walk.
//!
//! Calls from one place reach it on many ways with the same stack pointer, so
//! their paths share a beginning. Where a word differs, a table of branches
//! tells, for the place of that word and the value found there, where the
//! path goes on. This works because the next place to look at follows from the
//! words before it: paths differ first in a value, never in a place. A lookup
//! therefore costs one comparison per word and one probe per branch, however
//! many paths there are: about 1.5 ns a frame.
//!
//! All has a fixed size. When something is full, all paths are forgotten.

use super::super::Caller;
use super::trail::Trail;

const MAX_WORDS: usize = 1 << 16;
const MAX_NODES: usize = 1 << 12;
/// Twice as many as there can be links, since each leads to a node of its own.
const LINKS: usize = 2 * MAX_NODES;
/// Words are compared in groups; a node is filled up to whole ones.
const GROUP: usize = 4;

/// Number of a node plus one; 0 is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NodeId(u32);

/// What comes when all words of a node are as they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
enum Then {
    /// The path ends: `Node::value` is its context.
    Context,
    /// The incoming frame pointer was used: if it is `Node::value`, the path
    /// goes on at `Node::next`.
    FramePointer,
}

/// A piece of a path without branches.
#[derive(Clone, Copy)]
struct Node {
    first_word: u32,
    n_words: u32,
    then: Then,
    next: NodeId,
    value: u64,
    /// For a context: in which age of definitions it has been defined.
    defined_in: u32,
}

impl Node {
    const EMPTY: Node = Node {
        first_word: 0,
        n_words: 0,
        then: Then::Context,
        next: NodeId(0),
        value: 0,
        defined_in: 0,
    };
}

/// From where a node is reached, and with which value.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// The stack pointer, the number of a word, or of a node and its frame
    /// pointer; these never meet.
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

    fn frame_pointer(node: NodeId, value: u64) -> Key {
        Key { from: 1 << 63 | u64::from(node.0), value }
    }

    fn slot(self) -> usize {
        let mixed = (self.from.rotate_left(23) ^ self.value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed >> 40) as usize % LINKS
    }
}

#[derive(Clone, Copy)]
struct Link {
    key: Key,
    node: NodeId,
}

/// The tree; empty when all zero.
pub(super) struct Paths {
    links: [Link; LINKS],
    nodes: [Node; MAX_NODES],
    values: [u64; MAX_WORDS],
    offsets: [u32; MAX_WORDS],
    n_nodes: usize,
    n_words: usize,
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
        let mut id = self.follow(Key::root(caller.sp, return_address))?;
        loop {
            let node = self.nodes.get((id.0 as usize).wrapping_sub(1))?;
            // SAFETY: the caller's promise.
            id = match unsafe { self.first_difference(node, caller.sp)? } {
                Some(branch) => self.follow(branch)?,
                None if node.then == Then::Context => return Some((node.value, node.defined_in)),
                None if node.value == caller.fp as u64 => node.next,
                None => self.follow(Key::frame_pointer(id, caller.fp as u64))?,
            }
        }
    }

    #[inline]
    fn follow(&self, key: Key) -> Option<NodeId> {
        let mut slot = key.slot();
        loop {
            let link = self.links.get(slot)?;
            if link.key == key {
                return Some(link.node);
            }
            // Ends because half of the slots are free.
            if link.node.0 == 0 {
                return None;
            }
            slot = (slot + 1) % LINKS;
        }
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
    pub(super) fn insert(
        &mut self,
        caller: Caller,
        return_address: usize,
        trail: &Trail,
        context: u64,
        defined_in: u32,
    ) {
        let path = Path { caller, return_address, trail, context, defined_in };
        if self.try_insert(&path).is_err() {
            self.clear();
            // In an empty tree there is room for any trail.
            let _ = self.try_insert(&path);
        }
    }

    fn try_insert(&mut self, path: &Path<'_>) -> Result<(), Full> {
        let (offsets, values, fp_before) = path.trail.parts();
        let mut done = 0;
        let mut fp_before = fp_before;
        let mut key = Key::root(path.caller.sp, path.return_address);
        'branches: loop {
            let Some(mut id) = self.follow(key) else {
                return self.add(key, path, done, fp_before);
            };
            loop {
                let node = self.node_mut(id).ok_or(Full)?;
                let (first, n_words, then) =
                    (node.first_word as usize, node.n_words as usize, node.then);
                for word in first..first + n_words {
                    let (Some(&offset), Some(&value)) = (offsets.get(done), values.get(done))
                    else {
                        return Err(Full);
                    };
                    done += 1;
                    // Cannot be unless code has changed behind our back.
                    if self.offsets.get(word) != Some(&offset) {
                        return Err(Full);
                    }
                    if self.values.get(word) != Some(&value) {
                        key = Key::word(word, value);
                        continue 'branches;
                    }
                }
                let node = self.node_mut(id).ok_or(Full)?;
                match then {
                    Then::Context if done == values.len() && fp_before.is_none() => {
                        (node.value, node.defined_in) = (path.context, path.defined_in);
                        return Ok(());
                    }
                    Then::FramePointer if fp_before == Some(done) => {
                        fp_before = None;
                        if node.value != path.caller.fp as u64 {
                            key = Key::frame_pointer(id, path.caller.fp as u64);
                            continue 'branches;
                        }
                        id = node.next;
                    }
                    _ => return Err(Full),
                }
            }
        }
    }

    /// Adds what is new of a path as one node, or two if the frame pointer is
    /// used in it.
    fn add(
        &mut self,
        key: Key,
        path: &Path<'_>,
        done: usize,
        fp_before: Option<usize>,
    ) -> Result<(), Full> {
        let end = path.trail.parts().1.len();
        let context = Node {
            then: Then::Context,
            value: path.context,
            defined_in: path.defined_in,
            ..Node::EMPTY
        };
        let Some(fp_before) = fp_before else {
            let node = self.add_node(path, done, end, context)?;
            self.link(key, node);
            return Ok(());
        };
        let next = self.add_node(path, fp_before, end, context)?;
        let fp = path.caller.fp as u64;
        let frame_pointer = Node { then: Then::FramePointer, value: fp, next, ..Node::EMPTY };
        let node = self.add_node(path, done, fp_before, frame_pointer)?;
        self.link(key, node);
        Ok(())
    }

    fn add_node(
        &mut self,
        path: &Path<'_>,
        from: usize,
        to: usize,
        ending: Node,
    ) -> Result<NodeId, Full> {
        let (offsets, values, _) = path.trail.parts();
        let n_words = to.saturating_sub(from);
        let places = self.n_words..self.n_words + n_words.next_multiple_of(GROUP);
        let value_places = self.values.get_mut(places.clone()).ok_or(Full)?;
        let offset_places = self.offsets.get_mut(places.clone()).ok_or(Full)?;
        // The return address fills up the last group: it is as it was, or the
        // node would not have been found.
        value_places.fill(path.return_address as u64);
        offset_places.fill(0);
        let words = offsets.iter().zip(values).skip(from).take(n_words);
        for ((offset_place, value_place), (offset, value)) in
            offset_places.iter_mut().zip(value_places).zip(words)
        {
            (*offset_place, *value_place) = (*offset, *value);
        }
        let node = self.nodes.get_mut(self.n_nodes).ok_or(Full)?;
        *node = Node { first_word: places.start as u32, n_words: n_words as u32, ..ending };
        self.n_nodes += 1;
        self.n_words = places.end;
        Ok(NodeId(self.n_nodes as u32))
    }

    fn link(&mut self, key: Key, node: NodeId) {
        let mut slot = key.slot();
        while let Some(link) = self.links.get_mut(slot) {
            if link.node.0 == 0 {
                *link = Link { key, node };
                return;
            }
            slot = (slot + 1) % LINKS;
        }
    }

    fn node_mut(&mut self, id: NodeId) -> Option<&mut Node> {
        self.nodes.get_mut((id.0 as usize).wrapping_sub(1))
    }

    /// Forgets all paths.
    pub(super) fn clear(&mut self) {
        self.links.fill(Link { key: Key { from: 0, value: 0 }, node: NodeId(0) });
        (self.n_nodes, self.n_words) = (0, 0);
    }
}

/// What is to be kept of a walk.
struct Path<'a> {
    caller: Caller,
    return_address: usize,
    trail: &'a Trail,
    context: u64,
    defined_in: u32,
}
