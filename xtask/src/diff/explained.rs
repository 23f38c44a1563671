//! Differences between MySQL 8.4 and MariaDB 10.11 that are no fault: each with its reason.

use super::Outcome;

/// Why the servers may differ in this statement, if there is a reason.
pub(super) fn reason(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let has = |what: &str| sql.contains(what);
    let rollup = has("WITH ROLLUP");
    match outcomes {
        [Outcome::Refused(1235, _), _] => Some("refused by name: not there yet"),
        _ if has("INTERSECT") && has("UNION") => Some("MariaDB takes set operations from left to right"),
        _ if (has("CUME_DIST()") || has("PERCENT_RANK()")) && close(outcomes) => {
            Some("MariaDB rounds CUME_DIST and PERCENT_RANK to ten digits")
        }
        [Outcome::Done(a), Outcome::Done(b)]
            if has("SELECT DISTINCT") && has("OFFSET") && a.rows.is_empty() && b.rows.len() == 1 =>
        {
            Some("MariaDB forgets OFFSET when all items of DISTINCT are constants")
        }
        _ if rollup && has("(DISTINCT ") => {
            Some("MariaDB counts a constant of a DISTINCT aggregate once a group in ROLLUP rows")
        }
        _ if rollup && sql.split("GROUP BY").nth(1).is_some_and(|groups| groups.contains('(')) => {
            Some("MariaDB shows grouped expressions in ROLLUP rows, where MySQL shows NULL")
        }
        _ if has("DATE(") && zero_dates_are_null(outcomes) => {
            Some("MariaDB's DATE() of the zero date is NULL under NO_ZERO_DATE")
        }
        _ if has("NOT (NOT ") && (has("ALL (SELECT") || has("ANY (SELECT")) => {
            Some("MariaDB negates ALL and ANY wrongly under two NOTs")
        }
        _ if integer_column_equals_decimal(sql) => {
            Some("MariaDB rounds a decimal that an indexed integer column is compared with")
        }
        _ => None,
    }
}

/// The same rows, up to the tenth digit behind the point.
fn close(outcomes: &[Outcome; 2]) -> bool {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return false };
    let rounded = |text: String| match text.parse::<f64>() {
        Ok(n) => format!("{n:.8}"),
        Err(_) => text,
    };
    let rows = |r: &gannet_wire::client::ResultSet| {
        let row = |row: Vec<String>| row.into_iter().map(rounded).collect::<Vec<_>>();
        let mut rows: Vec<_> = r.texts().into_iter().map(row).collect();
        rows.sort();
        rows
    };
    rows(a) == rows(b)
}

/// The rows are the same if zero dates are taken as NULL.
fn zero_dates_are_null(outcomes: &[Outcome; 2]) -> bool {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return false };
    let rows = |r: &gannet_wire::client::ResultSet| {
        let cell = |text: String| if text.starts_with("0000-00-00") { "NULL".to_owned() } else { text };
        let row = |row: Vec<String>| row.into_iter().map(cell).collect::<Vec<_>>();
        let mut rows: Vec<_> = r.texts().into_iter().map(row).collect();
        rows.sort();
        rows
    };
    rows(a) == rows(b)
}

/// `1.5 = a0.c1` or `a0.c1 = 1.5` somewhere.
fn integer_column_equals_decimal(sql: &str) -> bool {
    let decimal = |word: &str| {
        let word = word.trim_matches(['(', ')', ',', '-']);
        word.contains('.') && word.parse::<f64>().is_ok()
    };
    let words: Vec<&str> = sql.split(' ').collect();
    words.windows(3).any(|w| matches!(w[1], "=" | "<=>") && (decimal(w[0]) || decimal(w[2])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_beside_equality_are_seen() {
        assert!(integer_column_equals_decimal("SELECT 1 FROM t0 a0 WHERE (4.99 = a0.c0)"));
        assert!(integer_column_equals_decimal("SELECT 1 FROM t0 a0 WHERE (a0.c0 = -4.99)"));
        assert!(!integer_column_equals_decimal("SELECT 1 FROM t0 a0 WHERE (a0.c1 = a0.c0)"));
    }
}
