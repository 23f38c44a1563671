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
        [Outcome::Done(a), Outcome::Done(_)]
            if a.rows.is_empty() && !has("GROUP BY") && (has("HAVING (MIN(") || has("HAVING (MAX(")) =>
        {
            Some("MariaDB takes MIN and MAX in HAVING from the index, even when the join is empty")
        }
        _ if has("GROUP BY ROUND(") && has("(DISTINCT ") && has("ORDER BY") => {
            Some("MariaDB mixes the group of NULL with that of the least number in DISTINCT aggregates")
        }
        _ if shows_any_value(sql) => Some("a column that is not grouped by shows any value of the group"),
        _ if has("NOT (NOT ") && (has("ALL (SELECT") || has("ANY (SELECT")) => {
            Some("MariaDB negates ALL and ANY wrongly under two NOTs")
        }
        _ if integer_column_equals_decimal(sql) => {
            Some("MariaDB rounds a decimal that an indexed integer column is compared with")
        }
        _ => None,
    }
}

/// The same rows, but for the tenth digit behind the point.
fn close(outcomes: &[Outcome; 2]) -> bool {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return false };
    let same = |(x, y): (&String, &String)| match (x.parse::<f64>(), y.parse::<f64>()) {
        (Ok(x), Ok(y)) => (x - y).abs() < 1e-9,
        _ => x == y,
    };
    let (mut a, mut b) = (a.texts(), b.texts());
    // In an order that the digits which differ do not change.
    let coarse = |cell: &String| cell.parse::<f64>().map_or_else(|_| cell.clone(), |n| format!("{n:.6}"));
    let order = |row: &Vec<String>| row.iter().map(coarse).collect::<Vec<_>>();
    a.sort_by_cached_key(order);
    b.sort_by_cached_key(order);
    a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.len() == y.len() && x.iter().zip(y).all(same))
}

/// A bare column is selected, and what is grouped by is an expression: any value of the group may be shown.
fn shows_any_value(sql: &str) -> bool {
    let Some((items, rest)) = sql.trim_start_matches("SELECT ").split_once(" FROM ") else { return false };
    let Some((_, groups)) = rest.split_once("GROUP BY ") else { return false };
    let bare = |item: &str| item.len() <= 6 && item.contains(".c") && !item.contains('(');
    groups.contains('(') && items.split(", ").any(|item| bare(item) && !groups.split(", ").any(|g| g == item))
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
