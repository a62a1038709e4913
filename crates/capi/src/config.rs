// SPDX-License-Identifier: MIT OR Apache-2.0

//! What callers may set, and how structures that they fill can grow.

use ::ioracle_oracle::Config;

use crate::result::ApiFailure;

/// How much an oracle may use. Begin with IORACLE_CONFIG_INIT; 0 stands for the
/// default everywhere.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ioracle_config {
    /// sizeof(ioracle_config), as the caller knows it.
    pub struct_size: u32,
    /// Maximum of predictions that ioracle_oracle_predict() returns; default 8, at most
    /// 1024.
    pub max_predictions: u32,
    /// Contexts distinguished; default 16384, at most 2^20. Later ones count as one
    /// per function.
    pub max_symbols: u32,
    /// Files remembered; default 1024, at most 2^20. Beyond that, the least recently
    /// used one is forgotten.
    pub max_files: u32,
    /// Transitions between contexts whose times are tracked; default 16384.
    pub max_transitions: u32,
    /// Contexts of offsets remembered; default 16384.
    pub max_contexts: u32,
    /// Length of the grammar at which the oldest history is forgotten.
    pub max_occurrences: u32,
    /// Reserved, 0.
    pub reserved: u32,
}

const MAX: u32 = 1 << 20;

impl ioracle_config {
    /// The configuration that it asks for.
    pub(crate) fn checked(&self) -> Result<Config, ApiFailure> {
        let mut config = Config::default();
        let fields: [(&str, u32, u32, &mut usize); 6] = [
            ("max_predictions", self.max_predictions, 1 << 10, &mut config.max_predictions),
            ("max_symbols", self.max_symbols, MAX, &mut config.max_symbols),
            ("max_files", self.max_files, MAX, &mut config.max_files),
            ("max_transitions", self.max_transitions, MAX, &mut config.max_transitions),
            ("max_contexts", self.max_contexts, MAX, &mut config.max_contexts),
            ("max_occurrences", self.max_occurrences, MAX, &mut config.grammar.max_occurrences),
        ];
        for (name, asked, most, place) in fields {
            if asked > most {
                return Err(ApiFailure::invalid(format!(
                    "{name} is {asked}; it can be {most} at most"
                )));
            }
            if asked > 0 {
                *place = asked as usize;
            }
        }
        Ok(config)
    }
}

/// A structure that begins with its size, as callers fill it.
///
/// # Safety
///
/// Made of integers and pointers only, so that all zeroes are a value of it,
/// and begins with a `u32` that is its size.
pub(crate) unsafe trait Sized32: Copy {
    /// What to call it in messages.
    const NAME: &'static str;
    /// How long it was in the first version: none can be shorter.
    const FIRST_BYTES: usize;
}

// SAFETY: a row of u32.
unsafe impl Sized32 for ioracle_config {
    const NAME: &'static str = "ioracle_config";
    const FIRST_BYTES: usize = 32;
}

/// No structure of any version is nearly this large.
const MAX_STRUCT_BYTES: usize = 4096;

/// Reads a structure that may be of an older version (then what it lacks is 0)
/// or of a later one (then what we do not know must be 0).
///
/// # Safety
///
/// `given` is NULL or points to as many bytes as its first field says.
pub(crate) unsafe fn read<T: Sized32>(given: *const T) -> Result<Option<T>, ApiFailure> {
    if given.is_null() {
        return Ok(None);
    }
    // SAFETY: it begins with its size; alignment is not relied on.
    let given_size = unsafe { given.cast::<u32>().read_unaligned() } as usize;
    let (name, known) = (T::NAME, size_of::<T>());
    if !(T::FIRST_BYTES..=MAX_STRUCT_BYTES).contains(&given_size) {
        return Err(ApiFailure::invalid(format!(
            "struct_size of {name} is {given_size}, not sizeof({name}), which is {known} here"
        )));
    }
    // SAFETY: the caller promises that many bytes.
    let bytes = unsafe { std::slice::from_raw_parts(given.cast::<u8>(), given_size) };
    if bytes.iter().skip(known).any(|&byte| byte != 0) {
        return Err(ApiFailure::invalid(format!(
            "{name} has fields that this version of ioracle does not know; set them to 0"
        )));
    }
    // SAFETY: zeroes are a value of T, and the bytes copied over them were
    // written by the caller as those of the same fields.
    let value = unsafe {
        let mut value = std::mem::zeroed::<T>();
        let length = given_size.min(known);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), (&raw mut value).cast::<u8>(), length);
        value
    };
    Ok(Some(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[repr(C)]
    struct Later {
        known: ioracle_config,
        added: u64,
    }

    fn read_later(added: u64, struct_size: usize) -> Result<Option<ioracle_config>, ApiFailure> {
        let struct_size = struct_size as u32;
        let known = ioracle_config { struct_size, max_files: 7, ..ioracle_config::default() };
        let later = Later { known, added };
        // SAFETY: there are 40 bytes, more than are ever used here but once,
        // where too many are refused before they are looked at.
        unsafe { read((&raw const later).cast()) }
    }

    #[test]
    fn a_later_structure_is_read_if_what_is_new_is_zero() {
        assert_eq!(read_later(0, 40).unwrap().unwrap().max_files, 7);
        let fault = read_later(1, 40).unwrap_err();
        assert!(fault.message.contains("does not know"), "{}", fault.message);
    }

    #[test]
    fn sizes_that_no_version_had_are_refused() {
        for size in [0, 4, 31, 4097, u32::MAX as usize] {
            let fault = read_later(0, size).unwrap_err();
            assert!(fault.message.contains("struct_size"), "{}", fault.message);
        }
    }

    #[test]
    fn zeroes_are_the_defaults_and_ceilings_have_ceilings() {
        assert_eq!(ioracle_config::default().checked().unwrap(), Config::default());
        let greedy = ioracle_config { max_files: u32::MAX, ..ioracle_config::default() };
        assert!(greedy.checked().unwrap_err().message.contains("max_files"));
    }
}
