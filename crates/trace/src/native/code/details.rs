// SPDX-License-Identifier: MIT OR Apache-2.0

//! The text of a call's `detail`: a template that came before, with the numbers
//! in it.
//!
//! `var start=199:0 count=1:12` is the template `var start=N:N count=N:N` and
//! four numbers, which are columns of their own. In a template a line break
//! stands for a number: no detail has one.

use std::collections::HashMap;
use std::fmt::Write;

use super::number::{Magnitude, Number, Tree};
use super::range::Coder;
use crate::lines::MAX_LINE_BYTES;

/// Numbers of a detail that are distinguished; those behind them are text.
const MAX_NUMBERS: usize = 32;

/// Text of templates in a block, beyond which the block should end.
pub(crate) const MAX_TEMPLATE_BYTES: usize = 1 << 20;

const NUMBER: char = '\n';

/// The templates of a block.
#[derive(Debug)]
pub(crate) struct DetailTemplates {
    templates: Vec<Box<str>>,
    numbers: HashMap<Box<str>, usize>,
    n_bytes: usize,
    lengths: Magnitude,
    bytes: Tree<256>,
    others: (Magnitude, Magnitude),
    is_damaged: bool,
}

/// What is learned about the details of a symbol.
#[derive(Clone, Debug)]
pub(crate) struct DetailModel {
    template: Number,
    numbers: Vec<Number>,
}

impl DetailModel {
    pub(crate) fn new() -> DetailModel {
        DetailModel { template: Number::new(), numbers: Vec::new() }
    }
}

impl DetailTemplates {
    pub(crate) fn new() -> DetailTemplates {
        DetailTemplates {
            // Most calls have none.
            templates: vec!["".into()],
            numbers: HashMap::from([("".into(), 0)]),
            n_bytes: 0,
            lengths: Magnitude::new(),
            bytes: Tree::new(),
            others: (Magnitude::new(), Magnitude::new()),
            is_damaged: false,
        }
    }

    /// Whether the block should end.
    pub(crate) fn is_full(&self) -> bool {
        self.n_bytes > MAX_TEMPLATE_BYTES
    }

    /// Whether something was read that is impossible in a detail.
    pub(crate) fn is_damaged(&self) -> bool {
        self.is_damaged
    }

    pub(crate) fn code<C: Coder>(
        &mut self,
        coder: &mut C,
        model: &mut DetailModel,
        detail: &str,
    ) -> Box<str> {
        let (template, numbers) = take_apart(detail);
        let next = self.templates.len();
        let place = self.numbers.get(&*template).copied().unwrap_or(next);
        let place = model.template.code(coder, &mut self.others.0, place as i64);
        let place = usize::try_from(place).unwrap_or(usize::MAX);
        if place == next {
            self.add(coder, template);
        }
        let Some(template) = self.templates.get(place) else {
            self.is_damaged = true;
            return "".into();
        };
        let mut text = String::with_capacity(detail.len());
        let mut parts = template.split(NUMBER);
        text.push_str(parts.next().unwrap_or_default());
        for (at, part) in parts.enumerate() {
            if at == model.numbers.len() {
                model.numbers.push(Number::new());
            }
            let number = numbers.get(at).copied().unwrap_or_default();
            let number = model.numbers[at].code(coder, &mut self.others.1, number);
            // Writing to a string does not fail.
            let _ = write!(text, "{number}{part}");
        }
        self.is_damaged |= text.len() > MAX_LINE_BYTES;
        text.into()
    }

    fn add<C: Coder>(&mut self, coder: &mut C, template: String) {
        let length = self.lengths.code(coder, template.len() as u64, 64);
        if length > MAX_LINE_BYTES as u64 || self.is_full() {
            self.is_damaged = true;
            return;
        }
        let byte_at = |at: u64| template.as_bytes().get(at as usize).copied().unwrap_or_default();
        let bytes =
            (0..length).map(|at| self.bytes.code(coder, byte_at(at).into()) as u8).collect();
        let text: Box<str> = match String::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => return self.is_damaged = true,
        };
        if text.matches(NUMBER).count() > MAX_NUMBERS {
            return self.is_damaged = true;
        }
        self.n_bytes += text.len();
        self.numbers.insert(text.clone(), self.templates.len());
        self.templates.push(text);
    }
}

/// The template of a detail and its numbers. Only what would be written back the same
/// way counts as a number: `007` is text.
fn take_apart(detail: &str) -> (String, Vec<i64>) {
    let mut template = String::with_capacity(detail.len());
    let mut numbers = Vec::new();
    let mut rest = detail;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_digit()) {
        let digits = &rest[begin..];
        let length = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        let (digits, behind) = digits.split_at(length);
        template.push_str(&rest[..begin]);
        let is_plain = length <= 18 && (length == 1 || !digits.starts_with('0'));
        match digits.parse() {
            Ok(number) if is_plain && numbers.len() < MAX_NUMBERS => {
                numbers.push(number);
                template.push(NUMBER);
            }
            _ => template.push_str(digits),
        }
        rest = behind;
    }
    template.push_str(rest);
    (template, numbers)
}
