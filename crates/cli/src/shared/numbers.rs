// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers as people read and write them.

pub use ioracle_insight::numbers::{
    bytes, counted, grouped, nanoseconds, none, noun_for, percent, seconds, whole_percent,
};

/// Seconds that are known.
pub fn duration(value: f64) -> String {
    seconds(Some(value))
}

/// A fraction as a percentage without decimals.
pub fn share(fraction: f64) -> String {
    whole_percent(100.0 * fraction)
}

/// Prefixes of units, each 1,000 or 1,024 times the one before.
const PREFIXES: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];

/// The bytes that a text such as `4096`, `256M`, `1GiB` or `500 kB` stands for,
/// with the suffixes of GNU coreutils: `K`, `M`, `G`… and `KiB`, `MiB`, `GiB`…
/// are powers of 1,024, `KB`, `MB`, `GB`… powers of 1,000.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let end = text.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number = number.parse::<u64>().ok();
    let factor = factor_of(unit.trim_start());
    let (Some(number), Some(factor)) = (number, factor) else {
        return Err("a size is a whole number of bytes, or one with a unit such as 256M, 1GiB \
                    (powers of 1,024) or 500MB (of 1,000)"
            .to_owned());
    };
    number.checked_mul(factor).ok_or_else(|| "no machine has so many bytes".to_owned())
}

fn factor_of(unit: &str) -> Option<u64> {
    let unit = unit.to_ascii_uppercase();
    if unit.is_empty() || unit == "B" {
        return Some(1);
    }
    let mut letters = unit.chars();
    let prefix = letters.next()?;
    let power = PREFIXES.iter().position(|other| *other == prefix)? as u32 + 1;
    match letters.as_str() {
        "" | "IB" => Some(1024_u64.pow(power)),
        "B" => Some(1000_u64.pow(power)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_may_have_units() {
        let check = |text: &str, expected: u64| assert_eq!(parse_bytes(text), Ok(expected));
        check("0", 0);
        check("4096", 4096);
        check("12B", 12);
        check("256M", 256 << 20);
        check("256MiB", 256 << 20);
        check("256MB", 256_000_000);
        check("3k", 3072);
        check("3 kB", 3000);
        check("1g", 1 << 30);
        check("15E", 15 << 60);
        check("18446744073709551615", u64::MAX);
        for text in
            ["", "M", "-1", "1.5G", "1X", "1MBB", "1Mi", "0x10", "16E", "99999999999999999999"]
        {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
