// SPDX-License-Identifier: MIT OR Apache-2.0

//! Says which I/O operation comes next: which file, where, how much, when.
//!
//! One [`Oracle`] follows one stream. Each operation becomes a context symbol;
//! the grammar of `ioracle-grammar` learns their order, trackers learn what
//! each symbol and each transition does to file, offset, size and time.
//!
//! ```
//! use ioracle_events::{ContextId, FileId, Function, Layer, Operation, PredictedFile};
//! use ioracle_oracle::{Config, Oracle};
//!
//! let write = Function::from_name(Layer::Posix, "pwrite").unwrap();
//! let mut oracle = Oracle::new(Config::default());
//! oracle.define_context(ContextId(1), "app+0x11d0;libc.so.6+0x2724a");
//! oracle.define_file(FileId(1), "state.dat");
//! for step in 0..10 {
//!     oracle.observe(&Operation {
//!         function: write,
//!         context: ContextId(1),
//!         file: FileId(1),
//!         handle: 3,
//!         offset: Some(step * 4096),
//!         size: 1024,
//!         requested: None,
//!         append: false,
//!         truncated_to: None,
//!         start_ns: step * 1_000_000,
//!         end_ns: step * 1_000_000 + 20_000,
//!     });
//! }
//! let next = &oracle.predict()[0];
//! assert_eq!(next.file, PredictedFile::Known(FileId(1)));
//! assert_eq!((next.offset, next.size), (Some(40960), 1024));
//! assert_eq!(next.from_now_ns, 980_000);
//! // And the one after the next two:
//! assert_eq!(oracle.ahead(0).nth(2).unwrap().offset, Some(49152));
//! ```
//!
//! Reading order: [`Oracle`] in `oracle.rs` takes an operation through
//! `contexts`, `knowledge` (all trackers) and `motion` (where everything
//! stands). How the trackers work is in `tracker`, `choice` and `recall`; what
//! is particular to each quantity in `size`, `offset`, `files`, `names`, `time`.

#![forbid(unsafe_code)]

mod behaviour;
mod burst;
mod choice;
mod clues;
mod config;
mod contexts;
mod contiguity;
mod derivation;
mod endings;
mod error;
mod file_motion;
mod files;
mod followers;
mod future;
mod hash;
mod header;
mod knowledge;
mod latest;
mod merge;
mod model;
mod motion;
mod names;
mod offset;
mod oracle;
mod place_calibration;
mod recall;
mod relatives;
mod renames;
mod role;
mod saved;
mod size;
mod stacks;
mod stamp;
mod supposed;
mod supposed_motions;
mod time;
mod tracker;
mod transitions;
mod view;

pub use behaviour::Behaviour;
pub use config::{Config, Improvements, Naming};
pub use error::Error;
pub use model::{LearnedStream, Model, Played, RoleView};
pub use oracle::Oracle;
pub use relatives::Relatives;
pub use role::Role;
pub use stacks::{Build, Candidates, Site, StackId, Stacks};
pub use time::TimeClass;
pub use view::SymbolView;
