// SPDX-License-Identifier: MIT OR Apache-2.0

//! Numbers as people read them.

/// `12000` as `12,000`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A percentage with two decimals, `–` where there is none.
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(none, |value| format!("{value:.2}"))
}

/// A percentage without decimals, for sentences: what is there is never 0 %.
pub fn whole_percent(percent: f64) -> String {
    match percent {
        it if it > 0.0 && it <= 0.5 => "under 1 %".to_owned(),
        it => format!("{it:.0} %"),
    }
}

/// Seconds in the unit that leaves one to three digits before the point.
pub fn seconds(value: Option<f64>) -> String {
    let Some(value) = value else { return none() };
    let size = value.abs();
    if size >= 1.0 {
        format!("{value:.2} s")
    } else if size >= 1e-3 {
        format!("{:.1} ms", value * 1e3)
    } else if size >= 1e-6 {
        format!("{:.1} µs", value * 1e6)
    } else {
        format!("{:.0} ns", value * 1e9)
    }
}

/// Nanoseconds, likewise.
pub fn nanoseconds(ns: u64) -> String {
    seconds(Some(ns as f64 * 1e-9))
}

/// Decimal prefixes: a KB is 1,000 bytes.
const PREFIXES: [char; 6] = ['K', 'M', 'G', 'T', 'P', 'E'];

/// Bytes in the largest unit that keeps the number at or above one.
pub fn bytes(bytes: u64) -> String {
    if bytes < 1000 {
        return format!("{bytes} B");
    }
    let mut value = bytes as f64 / 1000.0;
    let mut unit = 0;
    // 999,950 bytes would be shown as 1000.0 KB.
    while value >= 999.95 && unit + 1 < PREFIXES.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{value:.1} {}B", PREFIXES[unit])
}

/// A number with its noun.
pub fn counted(number: u64, noun: &str) -> String {
    format!("{} {}", grouped(number), noun_for(number, noun))
}

/// A noun as it stands behind a number.
pub fn noun_for(number: u64, noun: &str) -> String {
    match noun {
        _ if number == 1 => noun.to_owned(),
        "process" | "access" => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

/// Printed where there is no number.
pub fn none() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn one_thing_is_reported_in_the_singular() {
        assert_eq!(counted(1, "process"), "1 process");
        assert_eq!(counted(0, "process"), "0 processes");
        assert_eq!(counted(2000, "call"), "2,000 calls");
    }

    #[test]
    fn a_small_part_is_not_nothing() {
        assert_eq!(whole_percent(0.0), "0 %");
        assert_eq!(whole_percent(0.2), "under 1 %");
        assert_eq!(whole_percent(0.6), "1 %");
        assert_eq!(whole_percent(99.6), "100 %");
    }

    #[test]
    fn times_choose_their_unit() {
        assert_eq!(seconds(Some(1.5)), "1.50 s");
        assert_eq!(seconds(Some(0.0123)), "12.3 ms");
        assert_eq!(nanoseconds(1500), "1.5 µs");
        assert_eq!(nanoseconds(0), "0 ns");
    }

    #[test]
    fn bytes_choose_their_unit() {
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(1000), "1.0 KB");
        assert_eq!(bytes(1536), "1.5 KB");
        assert_eq!(bytes(999_949), "999.9 KB");
        assert_eq!(bytes(999_950), "1.0 MB");
        assert_eq!(bytes(u64::MAX), "18.4 EB");
    }
}
