// SPDX-License-Identifier: MIT OR Apache-2.0

use super::super::super::tests::zeroed;
use super::*;

/// Words that stand for a stack; the first is the return address.
fn context_of(paths: &Paths, stack: &[usize], fp: usize) -> Option<u64> {
    let caller = Caller { sp: stack.as_ptr() as usize, fp };
    // SAFETY: the words are there, and trails stay within them.
    unsafe { paths.find(caller, stack[0]) }.map(|(context, _)| context)
}

/// Inserts the path that looked at some words of a stack, and at the frame
/// pointer before one of them.
fn insert(
    paths: &mut Paths,
    stack: &[usize],
    looked_at: &[usize],
    fp: (usize, Option<usize>),
    context: u64,
) {
    // SAFETY: all zero is the empty trail.
    let mut trail: Box<Trail> = unsafe { zeroed() };
    for (number, &word) in looked_at.iter().enumerate() {
        if fp.1 == Some(number) {
            trail.incoming_fp();
        }
        trail.word(8 * word, stack[word]);
    }
    let caller = Caller { sp: stack.as_ptr() as usize, fp: fp.0 };
    let (trail, return_address) = (&*trail, stack[0]);
    paths.insert(WalkedPath { caller, return_address, trail, context, defined_in: 1 });
}

fn empty() -> Box<Paths> {
    // SAFETY: all zero is the empty tree.
    unsafe { zeroed() }
}

#[test]
fn a_path_is_found_while_its_words_are_as_they_were() {
    let mut paths = empty();
    let mut stack = [10, 11, 12, 13, 14, 15, 16, 17];
    assert_eq!(context_of(&paths, &stack, 0), None);
    insert(&mut paths, &stack, &[1, 3, 4, 5, 7], (0, None), 1);
    for word in 0..stack.len() {
        stack[word] += 100;
        let is_looked_at = [0, 1, 3, 4, 5, 7].contains(&word);
        assert_eq!(context_of(&paths, &stack, 0), (!is_looked_at).then_some(1), "{word}");
        stack[word] -= 100;
    }
    assert_eq!(context_of(&paths, &stack, 4711), Some(1), "the frame pointer was not used");
}

#[test]
fn paths_branch_at_words_and_at_the_frame_pointer() {
    let mut paths = empty();
    let mut stack = [10, 11, 12, 13, 14];
    insert(&mut paths, &stack, &[1, 2, 4], (7, Some(1)), 1);
    insert(&mut paths, &stack, &[1, 3], (8, Some(1)), 2);
    stack[1] = 21;
    insert(&mut paths, &stack, &[1, 4], (0, None), 3);
    for (first, fp, expected) in
        [(11, 7, Some(1)), (11, 8, Some(2)), (11, 9, None), (21, 7, Some(3)), (21, 8, Some(3))]
    {
        stack[1] = first;
        assert_eq!(context_of(&paths, &stack, fp), expected, "{first} {fp}");
    }
}

#[test]
fn a_full_tree_starts_anew_and_never_lies() {
    let mut paths = empty();
    let mut stack = [0; 120];
    let looked_at: Vec<_> = (1..120).collect();
    for number in 0..10_000_usize {
        (stack[3], stack[50], stack[119]) = (number % 7, number / 7 % 50, number / 350);
        let context = number as u64 + 1;
        assert_eq!(context_of(&paths, &stack, 0), None);
        insert(&mut paths, &stack, &looked_at, (0, None), context);
        assert_eq!(context_of(&paths, &stack, 0), Some(context));
        assert!(paths.n_nodes <= MAX_NODES && paths.n_words <= MAX_WORDS);
    }
    assert!(paths.n_nodes < 10_000);
}

#[test]
fn paths_are_still_known_when_more_slots_are_used() {
    let mut paths = empty();
    let mut stack = [0; 4];
    for number in 0..1000 {
        (stack[0], stack[2]) = (number % 10, number / 10);
        insert(&mut paths, &stack, &[2, 3], (number % 3, Some(1)), number as u64 + 1);
        assert!(paths.n_nodes <= paths.last_slot() / 2 + 1);
    }
    assert!(paths.last_slot() + 1 > FIRST_SLOTS << GROWTH_BITS);
    for number in 0..1000 {
        (stack[0], stack[2]) = (number % 10, number / 10);
        let found = context_of(&paths, &stack, number % 3);
        assert_eq!(found, Some(number as u64 + 1), "{number}");
    }
}

#[test]
fn a_contradiction_empties_the_tree() {
    let mut paths = empty();
    let stack = [10, 11, 12, 13];
    insert(&mut paths, &stack, &[1, 2], (0, None), 1);
    insert(&mut paths, &stack, &[1, 3], (0, None), 2);
    assert_eq!(context_of(&paths, &stack, 0), Some(2));
    assert_eq!(paths.n_nodes, 1);
}
