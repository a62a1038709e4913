// SPDX-License-Identifier: MIT OR Apache-2.0

//! Cuts a file name into text, counters and time stamps.
//!
//! Stamps are recognised as `YYYY-MM`, `YYYY-MM-DD` with an optional time of
//! day, and eight to fourteen digits that read as a plausible date. They move
//! by months where day and time stay the same, else by seconds, in the proleptic
//! Gregorian calendar. Climate models with 360-day years are off by a day at
//! most once a month.

/// A piece of a file name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StampToken<'a> {
    /// What does not count.
    Text(&'a str),
    /// A run of digits.
    Number(&'a str),
    /// A date, with or without the time of day.
    Date(DateStamp<'a>),
}

impl<'a> StampToken<'a> {
    /// The characters it was cut from.
    pub fn text(&self) -> &'a str {
        match self {
            StampToken::Text(text) | StampToken::Number(text) => text,
            StampToken::Date(stamp) => stamp.text,
        }
    }
}

/// The pieces of a name, which put together give it back.
pub fn tokens(name: &str) -> impl Iterator<Item = StampToken<'_>> {
    let mut rest = name;
    std::iter::from_fn(move || {
        let first = rest.bytes().next()?;
        if !first.is_ascii_digit() {
            let length = rest.bytes().take_while(|byte| !byte.is_ascii_digit()).count();
            let (text, after) = rest.split_at(length);
            rest = after;
            return Some(StampToken::Text(text));
        }
        if let Some(stamp) = DateStamp::at_start_of(rest) {
            rest = &rest[stamp.text.len()..];
            return Some(StampToken::Date(stamp));
        }
        let (digits, after) = rest.split_at(n_digits(rest));
        rest = after;
        Some(StampToken::Number(digits))
    })
}

/// A date as it stands in a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DateStamp<'a> {
    text: &'a str,
    /// Year and month as one count of months.
    months: i64,
    /// Day of the month from 1; 0 where the stamp ends with the month.
    day: i64,
    /// Seconds since midnight.
    second: i64,
}

impl<'a> DateStamp<'a> {
    /// The text of the stamp that follows `last` as `last` followed `before`.
    pub fn move_on(before: &DateStamp<'_>, last: &DateStamp<'_>) -> Option<String> {
        let same_day_and_time = before.day == last.day && before.second == last.second;
        let (months, day, second) = if same_day_and_time {
            (2 * last.months - before.months, last.day, last.second)
        } else {
            let seconds = 2 * last.seconds() - before.seconds();
            let (months, day) = month_and_day(seconds.div_euclid(DAY));
            (months, day, seconds.rem_euclid(DAY))
        };
        let year = months.div_euclid(12);
        if !(0..=9999).contains(&year) {
            return None;
        }
        let month = months.rem_euclid(12) + 1;
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        let digits = if last.day == 0 {
            format!("{year:04}{month:02}")
        } else {
            format!("{year:04}{month:02}{day:02}{hour:02}{minute:02}{second:02}")
        };
        let mut digits = digits.chars();
        last.text
            .chars()
            .map(|c| if c.is_ascii_digit() { digits.next() } else { Some(c) })
            .collect()
    }

    fn at_start_of(text: &'a str) -> Option<DateStamp<'a>> {
        match n_digits(text) {
            4 => DateStamp::with_separators(text),
            8 | 10 | 12 | 14 => DateStamp::only_digits(text),
            _ => None,
        }
    }

    fn with_separators(text: &'a str) -> Option<DateStamp<'a>> {
        let mut fields = [0; 6];
        fields[0] = text[..4].parse().ok()?;
        let mut length = 4;
        for (n_field, field) in fields.iter_mut().enumerate().skip(1) {
            let separators: &[u8] = match n_field {
                1 | 2 => b"-",
                3 => b"_T-",
                _ => b":_-.",
            };
            let tail = &text[length..];
            let Some(separator) = tail.bytes().next() else { break };
            if !separators.contains(&separator) || n_digits(&tail[1..]) != 2 {
                break;
            }
            *field = tail[1..3].parse().ok()?;
            length += 3;
        }
        (length > 4).then_some(())?;
        DateStamp::from_fields(&text[..length], fields)
    }

    fn only_digits(text: &'a str) -> Option<DateStamp<'a>> {
        let length = n_digits(text);
        let mut fields = [0; 6];
        fields[0] = text[..4].parse().ok()?;
        for (field, start) in fields[1..].iter_mut().zip((4..length).step_by(2)) {
            *field = text[start..start + 2].parse().ok()?;
        }
        // Without separators any counter could be meant: only years that are
        // likely make it a date.
        (1850..=2150).contains(&fields[0]).then_some(())?;
        (fields[2] > 0).then_some(())?;
        DateStamp::from_fields(&text[..length], fields)
    }

    fn from_fields(text: &'a str, fields: [i64; 6]) -> Option<DateStamp<'a>> {
        let [year, month, day, hour, minute, second] = fields;
        let plausible =
            (1..=12).contains(&month) && day <= 31 && hour < 24 && minute < 60 && second < 61;
        plausible.then_some(DateStamp {
            text,
            months: year * 12 + month - 1,
            day,
            second: hour * 3600 + minute * 60 + second,
        })
    }

    fn seconds(&self) -> i64 {
        days_before(self.months, self.day) * DAY + self.second
    }
}

const DAY: i64 = 86_400;

fn n_digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Days from 1 January of year 0 to a date given as months and day of month.
fn days_before(months: i64, day: i64) -> i64 {
    // Counting years from March puts the leap day at the end, so that the days
    // before a month follow one linear rule.
    let from_march = months - 2;
    let (year, month) = (from_march.div_euclid(12), from_march.rem_euclid(12));
    year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (153 * month + 2) / 5
        + day
        + 59
}

/// The inverse of [`days_before`].
fn month_and_day(days: i64) -> (i64, i64) {
    // An average month is close enough to be at most one month off.
    let mut months = (days * 4800).div_euclid(146_097) + 1;
    while days_before(months, 1) > days {
        months -= 1;
    }
    (months, days - days_before(months, 1) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_give_the_name_back() {
        for name in ["a1b22", "wrf_2000-01-24_12:00:00.nc", "20200101", "x2000-13", "é9é", ""] {
            assert_eq!(tokens(name).map(|token| token.text()).collect::<String>(), name);
        }
    }

    #[test]
    fn days_and_months_convert_both_ways() {
        for months in 1900 * 12..2100 * 12 {
            for day in [1, 15, 28] {
                assert_eq!(month_and_day(days_before(months, day)), (months, day));
            }
        }
    }

    #[test]
    fn what_is_no_date_stays_a_number() {
        let kinds = |name| tokens(name).any(|token| matches!(token, StampToken::Date(_)));
        assert!(kinds("1999-12-31") && kinds("19991231"));
        assert!(!kinds("00001234") && !kinds("1999-13") && !kinds("12345") && !kinds("99999999"));
    }
}
