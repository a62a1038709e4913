// SPDX-License-Identifier: MIT OR Apache-2.0

//! Learns any stream of symbols as a grammar while it runs, and says what
//! comes next.
//!
//! Symbols are numbers: contexts of I/O calls, kinds of log lines, pages, instructions,
//! notes. The stream is learned one symbol at a time, in memory proportional to what is
//! new in it; after each one, the candidates for the next symbol are available with
//! calibrated probabilities, and each candidate can be followed any distance ahead.
//!
//! ```
//! use ioracle_grammar::{Config, StarSequitur};
//!
//! let mut sequence = StarSequitur::new(Config::new());
//! for symbol in "open write write write close ".repeat(4).split_whitespace() {
//!     sequence.push(u32::from(symbol.as_bytes()[0]));
//! }
//! // o w^3 c, four times, is a loop in a loop:
//! assert_eq!(sequence.grammar().to_string(), "S -> A^4\nA -> 111 119^3 99\n");
//!
//! // It goes on with `open`, and eight symbols ahead is the third `write` again.
//! let next = sequence.next()[0];
//! assert_eq!((next.terminal, next.probability > 0.9), (u32::from(b'o'), true));
//! let eighth = sequence.ahead(0).nth(8).unwrap();
//! assert_eq!(eighth.terminal, u32::from(b'w'));
//! ```
//!
//! # How it works
//!
//! **The grammar** is StarSequitur (Dorier, Ibrahim, Antoniu and Ross, *On the
//! Use of Formal Grammars to Predict HPC I/O Behaviors*, 2015), which is
//! Sequitur (Nevill-Manning and Witten, 1997) with exponents. The history is
//! the start rule. Whenever two neighbours stand at a second place, both places
//! become a rule; a rule used once is dissolved; `x^i x^j` becomes `x^(i+j)`.
//! So `abcabcabc x abcabcabc` is
//!
//! ```text
//! S -> A^3 x A^3
//! A -> a b c
//! ```
//!
//! and `(ab)^n` takes three occurrences for any `n`. Five invariants hold at
//! all times ([`Grammar::check`]): lossless, digrams unique, no twins, every
//! rule used twice, no unit rules.
//!
//! **Predictors** mark where in the grammar the execution may be: a terminal,
//! and the path of rules above it as far as it is known. A symbol drops those
//! that expected another one and moves the rest on, out of rules that end and
//! into rules that begin. The grammar is rewritten under their feet; every
//! rewrite notifies them of what moved where.
//!
//! # Where it differs from the report
//!
//! - **Discovery.** When no predictor is left, the report takes every place of
//!   the last symbol. Here the places whose past agrees longest with the recent
//!   past are taken, and those that failed get two more chances: the symbol may
//!   have replaced the expected one, or come in between. One surprise does not
//!   cost the context.
//! - **Counts beside places.** Where branches depend on data, a bounded table of what
//!   followed the last 1, 4 and 16 symbols confirms the predictors or proposes another
//!   candidate ([`Config::max_pasts`]).
//! - **Probabilities.** The report's weights are path counts. They still rank
//!   the candidates, but what is returned is how often such a candidate came in
//!   such a situation.
//! - **Loops whose count varies.** In [`GrammarMode::Summarised`], after
//!   [`Config::max_loop_counts`] different counts a place becomes `x^*` with a
//!   histogram, so the grammar of a code that writes 13,000 ± 40 records stays
//!   constant; the end of the loop is as probable as the counts say.
//! - **Repetitions are held back.** A symbol that repeats a known place only
//!   moves a cursor along it ([`Grammar::held`]); when the repetition is over
//!   the stretch becomes a rule in one go. That makes a symbol of a periodic
//!   stream cost tens of nanoseconds. In summarised mode a run that may still
//!   grow is likewise not matched before it is over, or no place would ever
//!   show the whole count.
//! - **Limits.** Beyond [`Config::max_occurrences`] the oldest history is forgotten
//!   ([`Grammar::forgotten`]) and predictions go on.
//!
//! # Cost
//!
//! Amortised constant time per symbol, no allocation once the tables have
//! grown. `cargo bench -p ioracle-grammar` prints the cost on the streams that
//! others were measured on; `docs/benchmarks.md` has our figures.

#![forbid(unsafe_code)]

mod ahead;
mod arena;
mod calibration;
mod check;
mod config;
mod digram;
mod discover;
mod expand;
mod follow;
mod forget;
mod grammar;
mod index;
mod loops;
mod predictor;
mod predictors;
mod recent;
mod saved;
mod star_sequitur;
mod successors;
mod symbol;
mod watch;

pub use ahead::Ahead;
pub use config::{Config, GrammarMode};
pub use expand::RuleView;
pub use grammar::Grammar;
pub use predictors::Candidate;
pub use star_sequitur::{LoopTurn, StarSequitur};
pub use symbol::{Exponent, LoopId, RuleId, Symbol, Terminal};
