// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a function's name says of its form: collective calls, calls on whole
//! variables. The libraries name hundreds of functions by one scheme, so the
//! scheme is written down instead of a column for each.

use crate::{Access, Function, Layer};

impl Function {
    /// Whether all ranks of a group make the call together.
    pub fn is_collective(self) -> bool {
        match self.access() {
            Access::Read | Access::Write => ["_all", "_ordered"].iter().any(|form| {
                // Searching for a pattern would cost more than everything else that is
                // counted.
                let name = self.name().strip_suffix("_begin").unwrap_or(self.name());
                self.layer() != Layer::Posix && name.ends_with(form)
            }),
            Access::Open | Access::Close | Access::Sync | Access::Truncate => {
                self.layer() == Layer::MpiIo || self.name().starts_with("ncmpi_")
            }
            Access::Seek => matches!(self, Function::MpiSetView | Function::MpiSeekShared),
            Access::Define => {
                let forms = ["_end", "_preallocate", "_wait_all", "def", "indep_data"];
                forms.iter().any(|form| self.name().ends_with(form))
                    && (self.layer() == Layer::MpiIo || self.name().starts_with("ncmpi_"))
            }
        }
    }

    /// Whether it accesses all of a variable, as `nc_get_var` does.
    pub fn is_of_whole_variables(self) -> bool {
        let name = self.name().strip_suffix("_all").unwrap_or(self.name());
        self.layer() == Layer::HighLevel && self.access().is_data() && name.ends_with("_var")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn collective_calls_are_separated_from_those_of_one_rank() {
        use Function as F;
        for function in [
            F::MpiOpen,
            F::MpiSync,
            F::MpiSetView,
            F::MpiReadAtAll,
            F::MpiIwriteAll,
            F::MpiWriteOrderedBegin,
            F::MpiReadAllEnd,
            F::MpiPreallocate,
            F::NcmpiPutVaraAll,
        ] {
            assert!(function.is_collective(), "{function:?}");
        }
        for function in [
            F::MpiWriteAt,
            F::MpiIread,
            F::MpiReadShared,
            F::MpiSeek,
            F::MpiWait,
            F::NcmpiPutVara,
            F::NcEnddef,
            F::Open,
        ] {
            assert!(!function.is_collective(), "{function:?}");
        }
    }
}
