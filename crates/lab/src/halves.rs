// SPDX-License-Identifier: MIT OR Apache-2.0

//! The halves of a stream. The second is what the report calls the stationary
//! regime, and some measures are also taken over it alone.

/// Which half of its stream an operation lies in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The learning phase.
    First,
    /// What the report calls the stationary regime.
    Second,
}

impl Half {
    /// The half that the operation at `position` (from 0) of `length` lies in.
    pub fn of(position: u64, length: u64) -> Half {
        if position >= length / 2 { Half::Second } else { Half::First }
    }
}

/// A score over the whole stream, and over its second half.
#[derive(Clone, Debug, Default)]
pub struct Halves<S> {
    /// Over all operations.
    pub whole: S,
    /// Over those of the second half.
    pub second: S,
}

impl<S> Halves<S> {
    /// Adds an operation of this half to the scores it counts for.
    pub fn add(&mut self, half: Half, mut add: impl FnMut(&mut S)) {
        add(&mut self.whole);
        if half == Half::Second {
            add(&mut self.second);
        }
    }

    /// Joins the scores of two streams.
    pub fn merge(&mut self, other: &Halves<S>, mut merge: impl FnMut(&mut S, &S)) {
        merge(&mut self.whole, &other.whole);
        merge(&mut self.second, &other.second);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_odd_run_has_its_middle_in_the_second_half() {
        assert_eq!(Half::of(0, 3), Half::First);
        assert_eq!(Half::of(1, 3), Half::Second);
        assert_eq!(Half::of(0, 1), Half::Second);
    }

    #[test]
    fn the_second_half_counts_twice() {
        let mut halves = Halves::<u32>::default();
        halves.add(Half::First, |score| *score += 1);
        halves.add(Half::Second, |score| *score += 10);
        assert_eq!((halves.whole, halves.second), (11, 10));
    }
}
