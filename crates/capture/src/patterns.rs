// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which files are recorded.

use crate::environment::{self, Text};

/// Patterns with `*` (any characters, slashes too) and `?` (one character),
/// separated by colons.
pub(crate) struct Patterns(Text);

impl Patterns {
    /// No patterns.
    pub(crate) const EMPTY: Patterns = Patterns(Text::EMPTY);

    /// Replaces them by those of a variable.
    pub(crate) fn read(&mut self, variable: &str) {
        environment::read(variable, &mut self.0);
    }

    /// Whether there are any.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.bytes().is_empty()
    }

    /// Whether one of them is the whole path, or, if it has no slash, its last part.
    pub(crate) fn matches(&self, path: &[u8]) -> bool {
        let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or(path);
        self.0
            .bytes()
            .split(|&byte| byte == b':')
            .filter(|pattern| !pattern.is_empty())
            .any(|pattern| matches(pattern, if pattern.contains(&b'/') { path } else { name }))
    }
}

/// Backtracks only to the last `*`, so the cost is at most the product of the lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some(b'*') => {
                star = Some((p, t));
                p += 1;
            }
            Some(&byte) if byte == b'?' || Some(&byte) == text.get(t) => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((star_p, star_t)) = star else { return false };
                star = Some((star_p, star_t + 1));
                p = star_p + 1;
                t = star_t + 1;
            }
        }
    }
    pattern.iter().skip(p).all(|&byte| byte == b'*')
}

/// Whether a path is never recorded: the kernel's own files and devices, but
/// for shared memory, and memory that only looks like a file.
pub(crate) fn is_kept_out(path: &[u8]) -> bool {
    const OUT: [&[u8]; 4] = [b"/proc/", b"/sys/", b"/dev/", b"/memfd:"];
    OUT.iter().any(|prefix| path.starts_with(prefix)) && !path.starts_with(b"/dev/shm/")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patterns(text: &str) -> Patterns {
        let mut value = Text::EMPTY;
        value.push(text.as_bytes());
        Patterns(value)
    }

    #[test]
    fn a_pattern_without_a_slash_is_matched_with_the_name() {
        assert!(patterns("*.nc").matches(b"/data/run/out.nc"));
        assert!(!patterns("*.nc").matches(b"/data/run.nc/out.txt"));
        assert!(patterns("x:out.?c").matches(b"/data/out.nc"));
    }

    #[test]
    fn a_pattern_with_a_slash_is_matched_with_the_whole_path() {
        assert!(patterns("/data/*").matches(b"/data/run/out.nc"));
        assert!(!patterns("/data/*").matches(b"/other/data/out.nc"));
        assert!(patterns("*/run/*").matches(b"/data/run/out.nc"));
    }

    #[test]
    fn many_stars_do_not_take_exponential_time() {
        let text = [b'a'; 4000];
        assert!(!patterns("*a*a*a*a*a*a*a*a*a*a*a*b").matches(&text));
    }

    #[test]
    fn devices_are_kept_out_but_shared_memory_is_not() {
        assert!(is_kept_out(b"/proc/self/maps"));
        assert!(is_kept_out(b"/dev/null"));
        assert!(!is_kept_out(b"/dev/shm/data"));
        assert!(!is_kept_out(b"/device"));
    }
}
