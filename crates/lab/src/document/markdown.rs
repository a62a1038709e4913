// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables and numbers in Markdown.

/// A Markdown table; the first column is text, the others are numbers.
pub(crate) fn table(header: &[&str], rows: &[Vec<String>]) -> String {
    let mut text = format!(
        "| {} |\n| --- |{}\n",
        header.join(" | "),
        " ---: |".repeat(header.len().saturating_sub(1))
    );
    for row in rows {
        text.push_str(&format!("| {} |\n", row.join(" | ")));
    }
    text
}

/// A percentage.
pub(crate) fn percent(value: Option<f64>) -> String {
    number(value, 2)
}

/// A number with so many decimals, `–` for none.
pub(crate) fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or("–".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Seconds with the four digits that matter.
pub(crate) fn seconds(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 0.01 => format!("{value:.4}"),
        Some(value) => format!("{value:.7}"),
        None => "–".to_owned(),
    }
}

/// Bytes in the units of the report, which calls 1,024 bytes a KB.
pub(crate) fn bytes(value: Option<f64>) -> String {
    match value {
        Some(value) if value >= 1024.0 * 1024.0 => format!("{:.2} MiB", value / 1024.0 / 1024.0),
        Some(value) if value >= 1024.0 => format!("{:.1} KiB", value / 1024.0),
        Some(value) => format!("{value:.0} B"),
        None => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_rule_below_its_header() {
        let text = table(&["trace", "value"], &[vec!["a".into(), "1".into()]]);
        assert_eq!(text, "| trace | value |\n| --- | ---: |\n| a | 1 |\n");
    }

    #[test]
    fn numbers_that_are_missing_are_a_dash() {
        assert_eq!(percent(None), "–");
        assert_eq!(bytes(Some(2048.0)), "2.0 KiB");
        assert_eq!(seconds(Some(0.0000125)), "0.0000125");
    }
}
