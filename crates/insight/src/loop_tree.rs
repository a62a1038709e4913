// SPDX-License-Identifier: MIT OR Apache-2.0

//! A grammar as the nested loops of the program that made it.
//!
//! Rules that are repeated are loops, all others are written out where they are
//! used. A grammar finds a loop wherever its first repetition ends, so `open
//! read close` may become `open (read close open)^9 read close`. Each loop is
//! therefore rotated: what stands before and after it joins it where both
//! together make a turn, and of the rotations that are possible the one is taken
//! whose first call comes first in the code of the function that holds the loop.
//! Order in the code is that of return addresses, which compilers mostly keep.
//!
//! [`svg`] draws it.

pub mod svg;

use std::collections::HashMap;

use ioracle_grammar::{Exponent, Grammar, RuleId, RuleView, Symbol};
use serde::Serialize;

/// Nodes that a tree may have; the rest is only counted.
const MAX_NODES: usize = 2000;
/// Loops inside loops; grammars of real programs have fewer.
const MAX_DEPTH: usize = 40;

/// What is known about a context symbol.
#[derive(Clone, Debug, Default)]
pub struct SymbolFacts {
    /// The function that is called.
    pub call: String,
    /// Whether it opens a file: without return addresses, a turn begins there.
    pub is_open: bool,
    /// Bytes of a call, on average.
    pub bytes: f64,
    /// Seconds of a call, on average.
    pub io_time_s: f64,
    /// Seconds since the operation before it, on average.
    pub wait_s: f64,
    /// The calling function.
    pub caller: Option<String>,
    /// The source file and line.
    pub source: Option<String>,
    /// The files, or groups of them, that it works on.
    pub files: Vec<String>,
    /// Return addresses, outermost first.
    pub stack: Vec<ReturnAddress>,
}

/// A return address: the module and the offset in it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReturnAddress {
    /// The name of the module.
    pub module: String,
    /// The offset in it.
    pub offset: u64,
}

impl ReturnAddress {
    /// Reads `module+0xoffset`.
    pub fn parse(frame: &str) -> Option<ReturnAddress> {
        let (module, offset) = frame.rsplit_once("+0x")?;
        let offset = u64::from_str_radix(offset, 16).ok()?;
        Some(ReturnAddress { module: module.to_owned(), offset })
    }
}

/// A loop, or a call.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoopNode {
    /// The function; none for a loop.
    pub call: Option<String>,
    /// The least number of turns, or of calls in a row.
    pub turns_min: u64,
    /// The largest.
    pub turns_max: u64,
    /// Operations of a turn, on average; and so for those below.
    pub operations: f64,
    /// Bytes of a turn.
    pub bytes: f64,
    /// Seconds of a turn in operations.
    pub io_time_s: f64,
    /// Seconds of a turn before operations.
    pub wait_s: f64,
    /// The function that holds the call or the loop, where known.
    pub caller: Option<String>,
    /// Its source file and line.
    pub source: Option<String>,
    /// Of a call: what it works on.
    pub files: Vec<String>,
    /// What a turn does, in order.
    pub body: Vec<LoopNode>,
    #[serde(skip)]
    symbol: u32,
}

/// The loops of a thread.
#[derive(Clone, Debug, Default, Serialize)]
pub struct LoopTree {
    /// What the thread did, in order.
    pub nodes: Vec<LoopNode>,
    /// Operations left out of the tree, because it would be too large.
    pub left_out: u64,
}

/// The tree of a grammar; `facts` returns what is known about each symbol.
pub fn loop_tree(grammar: &Grammar, facts: &dyn Fn(u32) -> Option<SymbolFacts>) -> LoopTree {
    let rules: HashMap<RuleId, RuleView> = grammar.rules().map(|rule| (rule.id, rule)).collect();
    let mut builder =
        Builder { grammar, rules: &rules, facts, known: HashMap::new(), n_nodes: 0, left_out: 0 };
    let Some(start) = grammar.rules().next() else { return LoopTree::default() };
    let nodes = builder.sequence(&start.body, 0);
    let mut nodes = builder.tidied(nodes);
    // A stream begins with a mark that is not a call.
    if nodes.first().is_some_and(|first| first.call.is_some() && facts(first.symbol).is_none()) {
        nodes.remove(0);
    }
    let nodes = nodes.into_iter().map(|node| builder.weighed(node)).collect();
    LoopTree { nodes, left_out: builder.left_out }
}

struct Builder<'a> {
    grammar: &'a Grammar,
    rules: &'a HashMap<RuleId, RuleView>,
    facts: &'a dyn Fn(u32) -> Option<SymbolFacts>,
    known: HashMap<u32, SymbolFacts>,
    n_nodes: usize,
    left_out: u64,
}

impl Builder<'_> {
    fn sequence(&mut self, body: &[(Symbol, Exponent)], depth: usize) -> Vec<LoopNode> {
        let mut nodes = Vec::new();
        for &(symbol, exponent) in body {
            let (least, most) = self.grammar.counts_of(exponent).unwrap_or((1, 1));
            let rule = match symbol {
                Symbol::Terminal(terminal) => {
                    if self.n_nodes < MAX_NODES {
                        self.n_nodes += 1;
                        nodes.push(self.call(terminal, least, most));
                    } else {
                        self.left_out = self.left_out.saturating_add(least);
                    }
                    continue;
                }
                Symbol::Rule(id) => self.rules.get(&id),
            };
            let Some(rule) = rule else { continue };
            if self.n_nodes >= MAX_NODES || depth >= MAX_DEPTH {
                let n_operations = rule.length.saturating_mul(least);
                self.left_out = self.left_out.saturating_add(n_operations);
                continue;
            }
            let body = self.sequence(&rule.body, depth + 1);
            if most <= 1 {
                nodes.extend(body);
            } else {
                self.n_nodes += 1;
                nodes.push(LoopNode {
                    turns_min: least,
                    turns_max: most,
                    body,
                    ..LoopNode::default()
                });
            }
        }
        nodes
    }

    fn call(&mut self, symbol: u32, turns_min: u64, turns_max: u64) -> LoopNode {
        let facts = self.facts_of(symbol);
        LoopNode {
            call: Some(facts.call.clone()),
            turns_min,
            turns_max,
            caller: facts.caller.clone(),
            source: facts.source.clone(),
            files: facts.files.clone(),
            symbol,
            ..LoopNode::default()
        }
    }

    fn facts_of(&mut self, symbol: u32) -> &SymbolFacts {
        let facts = self.facts;
        self.known.entry(symbol).or_insert_with(|| {
            let unknown =
                || SymbolFacts { call: "start of a run".to_owned(), ..Default::default() };
            facts(symbol).unwrap_or_else(unknown)
        })
    }

    /// Rotates loops, the inner ones first, and puts together what is the same.
    fn tidied(&mut self, nodes: Vec<LoopNode>) -> Vec<LoopNode> {
        let mut tidy: Vec<LoopNode> = Vec::with_capacity(nodes.len());
        for mut node in nodes {
            node.body = self.tidied(std::mem::take(&mut node.body));
            push_joined(&mut tidy, node);
        }
        let mut at = 0;
        while at < tidy.len() {
            if tidy[at].call.is_none() {
                at = self.rotate(&mut tidy, at);
            }
            at += 1;
        }
        let mut joined = Vec::with_capacity(tidy.len());
        tidy.into_iter().for_each(|node| push_joined(&mut joined, flattened(node)));
        joined
    }

    /// Rotates the loop at a place; returns where it is then.
    fn rotate(&mut self, nodes: &mut Vec<LoopNode>, mut at: usize) -> usize {
        let body = nodes[at].body.clone();
        let n = body.len();
        if n == 0 {
            return at;
        }
        // How much of what comes before and after matches the loop, in each case less
        // than a turn.
        let mut before =
            (0..at.min(n)).take_while(|k| is_same(&nodes[at - 1 - k], &body[n - 1 - k])).count();
        let rest = nodes.len() - at - 1;
        let mut after =
            (0..rest.min(n)).take_while(|k| is_same(&nodes[at + 1 + k], &body[*k])).count();
        let preferred = self.first_in_code(&body).or_else(|| self.first_open(&body));
        // A rotation by k moves the last k of a turn to its front.
        let distance = |k: usize| {
            let first = (n - k) % n;
            preferred.map_or(k.min(n - k), |preferred| (first + n - preferred) % n)
        };
        if before + after >= n {
            let from = n - after.min(n);
            let taken = (from..=before).min_by_key(|k| (distance(*k), *k)).unwrap_or(from);
            nodes.drain(at + 1..at + 1 + (n - taken));
            nodes.drain(at - taken..at);
            at -= taken;
            turn(&mut nodes[at], taken);
            nodes[at].turns_min = nodes[at].turns_min.saturating_add(1);
            nodes[at].turns_max = nodes[at].turns_max.saturating_add(1);
            return at;
        }
        // What is left can only change sides.
        before = before.min(n - 1);
        after = after.min(n - 1);
        let forward = (0..=before).map(|k| (distance(k), k, true));
        let backward = (1..=after).map(|k| (distance(n - k), k, false));
        let Some((_, k, is_forward)) = forward.chain(backward).min() else { return at };
        if k == 0 {
            return at;
        }
        if is_forward {
            let moved: Vec<LoopNode> = nodes.drain(at - k..at).collect();
            at -= k;
            turn(&mut nodes[at], k);
            nodes.splice(at + 1..at + 1, moved);
            at
        } else {
            let moved: Vec<LoopNode> = nodes.drain(at + 1..at + 1 + k).collect();
            turn(&mut nodes[at], n - k);
            nodes.splice(at..at, moved);
            at + k
        }
    }

    /// Which of the calls of a turn comes first in the function that makes them.
    fn first_in_code(&mut self, body: &[LoopNode]) -> Option<usize> {
        let firsts: Vec<u32> = body.iter().map(first_symbol).collect();
        let stacks: Vec<Vec<ReturnAddress>> =
            firsts.iter().map(|symbol| self.facts_of(*symbol).stack.clone()).collect();
        let shared = (0..stacks.first()?.len())
            .take_while(|at| stacks.iter().all(|stack| stack.get(*at) == stacks[0].get(*at)))
            .count();
        let module = &stacks[0].get(shared)?.module;
        let in_function = stacks.iter().map(|stack| stack.get(shared));
        let offsets: Option<Vec<u64>> = in_function
            .map(|address| address.filter(|it| it.module == *module).map(|it| it.offset))
            .collect();
        offsets?.iter().enumerate().min_by_key(|(_, offset)| **offset).map(|(place, _)| place)
    }

    fn first_open(&mut self, body: &[LoopNode]) -> Option<usize> {
        body.iter().position(|node| self.facts_of(first_symbol(node)).is_open)
    }

    /// Adds up what a turn costs.
    fn weighed(&mut self, mut node: LoopNode) -> LoopNode {
        if node.call.is_some() {
            let facts = self.facts_of(node.symbol);
            (node.operations, node.bytes) = (1.0, facts.bytes);
            (node.io_time_s, node.wait_s) = (facts.io_time_s, facts.wait_s);
            return node;
        }
        let body = std::mem::take(&mut node.body);
        node.body = body.into_iter().map(|inner| self.weighed(inner)).collect();
        for inner in &node.body {
            let turns = inner.turns();
            node.operations += inner.operations * turns;
            node.bytes += inner.bytes * turns;
            node.io_time_s += inner.io_time_s * turns;
            node.wait_s += inner.wait_s * turns;
        }
        let caller = node.body.first().and_then(|first| first.caller.clone());
        node.caller = caller
            .filter(|caller| node.body.iter().all(|inner| inner.caller.as_ref() == Some(caller)));
        node
    }
}

impl LoopNode {
    /// Turns, on average as far as that is known.
    pub fn turns(&self) -> f64 {
        (self.turns_min as f64 + self.turns_max as f64) / 2.0
    }

    /// Seconds of a turn.
    pub fn turn_s(&self) -> f64 {
        self.io_time_s + self.wait_s
    }
}

/// A loop of a single call becomes that call, repeated.
fn flattened(mut node: LoopNode) -> LoopNode {
    let is_single = node.call.is_none() && node.body.len() == 1;
    if is_single && let Some(inner) = node.body.pop() {
        return LoopNode {
            turns_min: node.turns_min.saturating_mul(inner.turns_min),
            turns_max: node.turns_max.saturating_mul(inner.turns_max),
            ..inner
        };
    }
    node
}

/// Adds a node, to the last one if both are the same.
fn push_joined(nodes: &mut Vec<LoopNode>, node: LoopNode) {
    match nodes.last_mut() {
        Some(last) if is_same_turn(last, &node) => {
            last.turns_min = last.turns_min.saturating_add(node.turns_min);
            last.turns_max = last.turns_max.saturating_add(node.turns_max);
        }
        _ => nodes.push(node),
    }
}

/// Whether two nodes do the same equally often.
fn is_same(a: &LoopNode, b: &LoopNode) -> bool {
    (a.turns_min, a.turns_max) == (b.turns_min, b.turns_max) && is_same_turn(a, b)
}

fn is_same_turn(a: &LoopNode, b: &LoopNode) -> bool {
    a.call.is_some() == b.call.is_some()
        && a.symbol == b.symbol
        && a.body.len() == b.body.len()
        && a.body.iter().zip(&b.body).all(|(a, b)| is_same(a, b))
}

/// Moves the last `k` of a turn to its front.
fn turn(node: &mut LoopNode, k: usize) {
    node.body.rotate_right(k);
}

fn first_symbol(node: &LoopNode) -> u32 {
    match node.body.first() {
        Some(first) => first_symbol(first),
        None => node.symbol,
    }
}

#[cfg(test)]
mod tests {
    use ioracle_grammar::{Config, StarSequitur};

    use super::*;

    /// The tree of a text, in which each letter is a call; a call of the letter
    /// stands at its place in `code`.
    fn tree(text: &str, code: &str) -> String {
        let mut grammar = StarSequitur::new(Config::new());
        text.bytes().for_each(|byte| grammar.push(u32::from(byte)));
        let facts = |symbol: u32| {
            let letter = char::from_u32(symbol)?;
            let stack = code
                .find(letter)
                .map(|place| ReturnAddress { module: "app".into(), offset: place as u64 });
            let stack = stack.into_iter().collect();
            Some(SymbolFacts { call: letter.to_string(), bytes: 10.0, stack, ..Default::default() })
        };
        let tree = loop_tree(grammar.grammar(), &facts);
        assert_eq!(tree.left_out, 0);
        tree.nodes.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    fn shown(node: &LoopNode) -> String {
        let inner = match &node.call {
            Some(call) => call.clone(),
            None => {
                let body: Vec<String> = node.body.iter().map(shown).collect();
                format!("({})", body.join(" "))
            }
        };
        match (node.turns_min, node.turns_max) {
            (1, 1) => inner,
            (least, most) if least == most => format!("{inner}^{least}"),
            (least, most) => format!("{inner}^{least}-{most}"),
        }
    }

    #[test]
    fn a_loop_begins_where_its_source_does() {
        assert_eq!(tree(&"owwwc".repeat(7), "owc"), "(o w^3 c)^7");
        // Whole turns count more than where a turn begins.
        assert_eq!(tree(&format!("ow{}c", "cow".repeat(6)), "cow"), "(o w c)^7");
    }

    #[test]
    fn what_stands_around_a_loop_stays_outside() {
        assert_eq!(tree(&format!("ab{}z", "orc".repeat(9)), "aborcz"), "a b (o r c)^9 z");
    }

    #[test]
    fn loops_inside_loops_are_rotated_too() {
        let inner = "rs".repeat(5);
        let text = format!("o{inner}c").repeat(8);
        assert_eq!(tree(&text, "orsc"), "(o (r s)^5 c)^8");
    }

    #[test]
    fn a_turn_costs_what_its_calls_do() {
        let mut grammar = StarSequitur::new(Config::new());
        "owwwc".repeat(7).bytes().for_each(|byte| grammar.push(u32::from(byte)));
        let facts = |symbol: u32| {
            let bytes = if symbol == u32::from(b'w') { 100.0 } else { 0.0 };
            Some(SymbolFacts { call: "x".into(), bytes, io_time_s: 0.5, ..Default::default() })
        };
        let tree = loop_tree(grammar.grammar(), &facts);
        let total: f64 = tree.nodes.iter().map(|node| node.bytes * node.turns()).sum();
        let time: f64 = tree.nodes.iter().map(|node| node.turn_s() * node.turns()).sum();
        assert_eq!((total, time), (2100.0, 17.5));
    }

    #[test]
    fn a_stream_without_repetition_is_a_sequence() {
        assert_eq!(tree("abcdef", ""), "a b c d e f");
    }

    #[test]
    fn addresses_are_read_and_nothing_else() {
        let address = ReturnAddress { module: "a+b".into(), offset: 0x1f };
        assert_eq!(ReturnAddress::parse("a+b+0x1f"), Some(address));
        assert_eq!(ReturnAddress::parse("?"), None);
        assert_eq!(ReturnAddress::parse("a+0xzz"), None);
    }
}
