// SPDX-License-Identifier: MIT OR Apache-2.0

//! How far ahead the symbols were right.
//!
//! At evenly spaced positions the best iterator is read, and what it said is
//! kept until the stream has shown it wrong or reached its end. So the stream
//! is read once and the oracle never copied; at most as many sequences are
//! pending as there are positions within one reach.

use ioracle_events::ContextSymbol;

use ioracle_engine::score::Mean;

/// Positions, reach, and what is still pending.
#[derive(Clone, Debug)]
pub struct Horizon {
    first: u64,
    length: u64,
    positions: u64,
    reach: u64,
    asked: u64,
    pending: Vec<Pending>,
    reached: Vec<Reached>,
}

/// A sequence that has been right so far.
#[derive(Clone, Debug)]
struct Pending {
    position: u64,
    limit: u64,
    right: u64,
    symbols: Vec<ContextSymbol>,
}

/// How far one iterator was right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// The operation it began with.
    pub position: u64,
    /// Symbols right in a row.
    pub right: u64,
    /// Symbols it could be right about: to the end of the run or of the reach.
    pub limit: u64,
}

impl Horizon {
    /// Asks at up to `positions` evenly spaced places from `first` on, in a
    /// stream of `length`, for up to `reach` symbols each.
    pub fn new(first: u64, length: u64, positions: u64, reach: u64) -> Horizon {
        let positions = positions.min(length.saturating_sub(first));
        Horizon {
            first,
            length,
            positions,
            reach,
            asked: 0,
            pending: Vec::new(),
            reached: Vec::new(),
        }
    }

    /// Whether an iterator is wanted before the operation at `position`.
    pub fn is_due(&self, position: u64) -> bool {
        self.asked < self.positions && position == self.next_position()
    }

    /// Takes what the best iterator says before the operation at `position`.
    pub fn ask(&mut self, position: u64, ahead: impl Iterator<Item = ContextSymbol>) {
        let limit = self.length.saturating_sub(position).min(self.reach);
        let symbols = ahead.take(usize::try_from(limit).unwrap_or(usize::MAX)).collect();
        self.pending.push(Pending { position, limit, right: 0, symbols });
        self.asked += 1;
    }

    /// Compares everything pending with the symbol that came.
    pub fn came(&mut self, symbol: ContextSymbol) {
        let reached = &mut self.reached;
        self.pending.retain_mut(|pending| {
            let said = usize::try_from(pending.right).ok().and_then(|i| pending.symbols.get(i));
            let right = said == Some(&symbol);
            pending.right += u64::from(right);
            let goes_on = right && pending.right < pending.limit;
            if !goes_on {
                let Pending { position, right, limit, .. } = *pending;
                reached.push(Reached { position, right, limit });
            }
            goes_on
        });
    }

    /// How far each iterator was right, in the order in which that was known.
    pub fn reached(&self) -> &[Reached] {
        &self.reached
    }

    /// Mean of symbols right in a row as a share of those that it could be
    /// right about.
    pub fn share(&self) -> Mean {
        let mut shares = Mean::default();
        for reached in &self.reached {
            shares.add(reached.right as f64 / reached.limit.max(1) as f64);
        }
        shares
    }

    fn next_position(&self) -> u64 {
        let span = u128::from(self.length - self.first);
        let steps = u128::from(self.asked) * span / u128::from(self.positions.max(1));
        self.first + steps as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a stream against an iterator that always says the same.
    fn run(stream: &[u32], says: &[u32], mut horizon: Horizon) -> Horizon {
        for (position, &symbol) in (0..).zip(stream) {
            if horizon.is_due(position) {
                horizon.ask(position, says.iter().copied().map(ContextSymbol));
            }
            horizon.came(ContextSymbol(symbol));
        }
        horizon
    }

    #[test]
    fn an_iterator_is_right_until_its_first_mistake() {
        let horizon = run(&[1, 1, 1, 2], &[1, 1, 1, 1], Horizon::new(0, 4, 1, 1000));
        assert_eq!(horizon.reached(), [Reached { position: 0, right: 3, limit: 4 }]);
        assert_eq!(horizon.share().value(), Some(0.75));
    }

    #[test]
    fn the_end_of_the_run_and_the_reach_limit_what_can_be_right() {
        let horizon = run(&[1; 6], &[1; 9], Horizon::new(0, 6, 6, 3));
        assert_eq!(horizon.share().value(), Some(1.0));
        let limits: Vec<u64> = horizon.reached().iter().map(|reached| reached.limit).collect();
        assert_eq!(limits, [3, 3, 3, 3, 2, 1]);
    }

    #[test]
    fn an_iterator_that_ends_early_is_wrong_from_there() {
        let horizon = run(&[1; 4], &[1], Horizon::new(0, 4, 1, 1000));
        assert_eq!(horizon.share().value(), Some(0.25));
    }

    #[test]
    fn positions_are_evenly_spaced_over_the_second_half() {
        let horizon = run(&[1; 100], &[], Horizon::new(50, 100, 5, 1000));
        let positions: Vec<u64> =
            horizon.reached().iter().map(|reached| reached.position).collect();
        assert_eq!(positions, [50, 60, 70, 80, 90]);
    }
}
