// SPDX-License-Identifier: MIT OR Apache-2.0

//! What capture costs: per call, per call of a library, per process, while nothing
//! happens, per real application.
//!
//! Everything is measured as pairs of runs, one plain and one under
//! `ioracle run`, in turn, so that what else the machine does meets both. Prints
//! Markdown; `scripts/overhead` makes `docs/overhead.md` of it.
//!
//! ```text
//! cargo bench --package ioracle-cli --bench overhead -- [calls|libraries|lag|status|reader|busy|start|idle|applications]
//! cargo bench --package ioracle-cli --bench overhead -- compare OTHER/ioracle
//! ```

mod applications;
mod busy;
mod calls;
mod idle;
mod lag;
mod libraries;
mod pairs;
mod reader;
mod start;
mod tools;

use tools::Tools;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let part = arguments.first().map_or("all", String::as_str);
    if part == start::INSIDE {
        return start::inside();
    }
    let tools = Tools::find();
    if let ["compare", other] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        return calls::compare(&tools, &Tools::of_build(other.as_ref()));
    }
    let wanted = |name| part == "all" || part == name;
    if wanted("calls") {
        calls::report(&tools);
    }
    if wanted("libraries") {
        libraries::report(&tools);
    }
    if wanted("lag") {
        lag::report(&tools);
    }
    if wanted("status") {
        lag::status(&tools);
    }
    if wanted("reader") {
        reader::report(&tools);
    }
    if wanted("busy") {
        busy::report(&tools);
    }
    if wanted("start") {
        start::report(&tools);
    }
    if wanted("idle") {
        idle::report(&tools);
    }
    if wanted("applications") {
        applications::report(&tools);
    }
}
