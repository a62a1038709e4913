// SPDX-License-Identifier: MIT OR Apache-2.0

//! Names of datasets and variables, as events have them in their detail.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use crate::spooled::definitions::MAX_DEFINITIONS;
use crate::spooled::text;

/// Bytes of text that are kept; objects defined later have no name.
pub const MAX_OBJECT_BYTES: usize = 1 << 26;

/// The texts of all objects that were defined.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    texts: HashMap<u64, Box<str>, RandomState>,
    n_bytes: usize,
}

impl Objects {
    /// Takes the definition of an object, if it is the first of its identity.
    pub(crate) fn define(&mut self, id: u64, payload: &[u8]) {
        let is_full = self.texts.len() >= MAX_DEFINITIONS || self.n_bytes >= MAX_OBJECT_BYTES;
        if !is_full && !self.texts.contains_key(&id) {
            let text = text(payload);
            self.n_bytes += text.len();
            self.texts.insert(id, text.into());
        }
    }

    /// The text of an object.
    pub(crate) fn get(&self, id: u64) -> Option<&str> {
        self.texts.get(&id).map(|text| &**text)
    }
}

/// The name, and what came with it, after a blank: so a blank in the name is escaped.
fn text(payload: &[u8]) -> String {
    let mut parts = payload.splitn(2, |&byte| byte == 0);
    let mut text = text::escaped(parts.next().unwrap_or_default()).replace(' ', "%20");
    if let Some(rest) = parts.next() {
        text.push(' ');
        text::push_escaped(&mut text, rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_definition_counts_and_names_are_one_word() {
        let mut objects = Objects::default();
        objects.define(1, b"/step 1/x,y");
        objects.define(1, b"other");
        objects.define(2, b"/T\0chunk=10:10 filters=deflate");
        assert_eq!(objects.get(1), Some("/step%201/x%2Cy"));
        assert_eq!(objects.get(2), Some("/T chunk=10:10 filters=deflate"));
        assert_eq!(objects.get(3), None);
    }
}
