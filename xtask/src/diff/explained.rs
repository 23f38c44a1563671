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
        [Outcome::Refused(1690, message), Outcome::Done(_)]
            if message.starts_with("BIGINT UNSIGNED")
                && ["CASE ", "IF(", "IFNULL(", "COALESCE("].iter().any(|f| has(f)) =>
        {
            Some("MariaDB makes a DECIMAL of integers of both signs in IF and CASE, MySQL a BIGINT")
        }
        [Outcome::Refused(1690, _), Outcome::Done(_)] | [Outcome::Done(_), Outcome::Refused(1690, _)]
            if has(" JOIN ") =>
        {
            Some("which rows a value out of range is computed for depends on the order of joins")
        }
        [Outcome::Done(a), Outcome::Done(b)] if has("<> ALL (SELECT") && a.rows.len() < b.rows.len() => {
            Some("MariaDB forgets NULLs of the set when a negative number is sought among unsigned ones by <> ALL")
        }
        [Outcome::Done(_), Outcome::Refused(1062, _)] | [Outcome::Refused(1062, _), Outcome::Done(_)]
            if sql.starts_with("UPDATE ") =>
        {
            Some("whether an UPDATE of a unique column meets a duplicate depends on the order of rows")
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

/// Functions that keep a zero date in MySQL, and make NULL of it in MariaDB under NO_ZERO_DATE.
pub(super) fn may_null_zero_dates(sql: &str) -> bool {
    ["DATE(", "CASE ", "IF(", "IFNULL(", "COALESCE(", "GREATEST(", "LEAST("].iter().any(|f| sql.contains(f))
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
