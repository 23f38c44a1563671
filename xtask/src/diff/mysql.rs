//! Differences between this server and MySQL 9.7 that are no fault of either, or one of MySQL's: each with its reason.

use super::Outcome;
use super::explained::{converts, differ_only, fewer_rows, of_order};

/// Of any statement.
pub(super) fn reason(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let has = |what: &str| sql.contains(what);
    let any = |of: &[&str]| of.iter().any(|what| sql.contains(what));
    match outcomes {
        [Outcome::Refused(1235, _), _] => Some("refused by name: not there yet"),
        [_, Outcome::Refused(1123 | 1305, _)] if any(&["MD5(", "SHA1(", "SHA("]) => {
            Some("MySQL 9 has MD5 and SHA in a component, and of texts alone")
        }
        [_, Outcome::Refused(1030, message)] if message.contains("Wrong index given") => {
            Some("MySQL 9 loses its temporary table")
        }
        [Outcome::Done(_), Outcome::Refused(1690, message)] if has(" RANGE ") && message.contains("<cache>") => {
            Some("MySQL computes the ends of frames in the type of the key, which may be unsigned")
        }
        [_, Outcome::Refused(3854, _)] => Some("MySQL 9 says which text it cannot convert"),
        [Outcome::Refused(1267 | 1270 | 1271, message), Outcome::Done(_)] if message.contains(",NONE)") => {
            Some("MySQL 9 compares a mix of collations with anything")
        }
        [Outcome::Refused(1264 | 1265 | 1292, _), Outcome::Refused(1366, message)]
            if message.to_ascii_lowercase().starts_with("incorrect d") || message.starts_with("Incorrect FLOAT") =>
        {
            Some("MySQL 9 has error 1366 for a text that is no number")
        }
        [_, Outcome::Refused(1292, message)] if any(&["DAYNAME(", "MONTHNAME("]) && message.contains("day'") => {
            Some("MySQL 9 reads the number of a name of a day or month from its text")
        }
        [Outcome::Refused(a, _), Outcome::Refused(b, _)] if converts(*a) && converts(*b) => {
            Some("which of several errors of values is met first")
        }
        [Outcome::Refused(1052 | 1054, _), Outcome::Refused(1052 | 1054, _)] => {
            Some("which of several wrong names of a join is met first")
        }
        [Outcome::Refused(1093 | 1137, _), Outcome::Refused(1093 | 1137, _)] => {
            Some("a temporary table that is named twice, and changed and read: which is said is open")
        }
        [Outcome::Done(a), Outcome::Done(b)] if has("WITH ROLLUP") && a.rows.is_empty() && b.rows.len() == 1 => {
            Some("MySQL 9 gives the total of no rows at all")
        }
        [Outcome::Done(_), Outcome::Done(_)] => of_rows(sql, outcomes),
        _ => None,
    }
}

/// Of other rows.
fn of_rows(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let has = |what: &str| sql.contains(what);
    let any = |of: &[&str]| of.iter().any(|what| sql.contains(what));
    let rounds = ["ROUND(", "TRUNCATE(", "CEILING(", "FLOOR(", "SUM(", "AVG(", "FORMAT("];
    if any(&[" / ", "AVG("]) {
        return Some("MySQL 9 rounds quotients and averages to the digits of their types where they are used further");
    }
    if any(&["DAYNAME(", "MONTHNAME("]) {
        return Some("MySQL 9 reads the number of a name of a day or month from its text");
    }
    if any(&rounds) && differ_only(outcomes, alike_as_numbers) {
        return Some("MySQL 9 gives what is rounded of a DOUBLE no fixed decimals");
    }
    if has(" * ") && differ_only(outcomes, alike_but_for_digits) {
        return Some("MySQL keeps 81 digits of products");
    }
    if has(" LIKE ") && fewer_rows(&[outcomes[1].clone(), outcomes[0].clone()]) && far_characters(&outcomes[0]) {
        return Some("MySQL's ranges of LIKE in an index end before characters beyond the basic plane");
    }
    if has("30000000") {
        return Some("MySQL compares a DATETIME with a number of which NO_ZERO_IN_DATE makes no date as numbers");
    }
    if has("NOT BETWEEN NULL AND TIME'-") {
        return Some("MySQL takes 0 for NULL beside a TIME below zero");
    }
    if has(", NULL)") && any(&["WEEK("]) {
        return Some("MySQL 9 has no week of the mode NULL");
    }
    if any(&["20200230", "20200231", "20210229", "ADDTIME(", "SUBTIME("]) && differ_only(outcomes, |x, _| x == "NULL") {
        return Some("MySQL 9 takes a number of a day that there is not for a date, and a DATETIME for a TIME");
    }
    None
}

/// Of a statement of a theme's round.
pub(super) fn step(theme: &str, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match (theme, outcomes) {
        ("savepoints", [_, Outcome::Refused(1792, _)]) => {
            Some("MySQL's START TRANSACTION is READ ONLY where the transaction that it ends was")
        }
        ("references", outcomes) => of_order(sql, outcomes),
        ("enumerated", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains(" JOIN n y ON x.") || sql.contains(" IN (") =>
        {
            Some("MySQL looks for values in an index of a YEAR or BIT as if they were its own")
        }
        ("upserts", [Outcome::Done(_), Outcome::Refused(1869, _)]) => {
            Some("MySQL refuses to move AUTO_INCREMENT below numbers of the statement")
        }
        ("triggers", [Outcome::Done(_), Outcome::Done(_)]) if sql.starts_with("UPDATE t0 JOIN t1") => {
            Some("MySQL changes rows of the first table of a join while it reads it")
        }
        ("named windows", [Outcome::Refused(a, _), Outcome::Refused(b, _)]) if windows(*a) && windows(*b) => {
            Some("which of several faults of windows is met first")
        }
        ("dates and numbers", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains("BETWEEN") || sql.contains("HAVING MAX(") =>
        {
            Some("MySQL compares the ends of BETWEEN, of which one is no date, each in its own way")
        }
        ("parameters", [Outcome::Done(_), Outcome::Done(_)]) if differ_only(outcomes, alike_as_numbers) => {
            Some("MySQL takes a parameter beside a DECIMAL for one of 30 decimals, whatever is given")
        }
        _ => None,
    }
}

fn windows(code: u16) -> bool {
    code == 1054 || (3579..=3599).contains(&code)
}

fn alike_as_numbers(x: &str, y: &str) -> bool {
    matches!((x.parse::<f64>(), y.parse::<f64>()), (Ok(x), Ok(y)) if (x - y).abs() <= 1e-14 * x.abs())
}

/// Numbers of which one has more digits than the other, alike as far as both go.
fn alike_but_for_digits(x: &str, y: &str) -> bool {
    let (short, long) = if x.len() < y.len() { (x, y) } else { (y, x) };
    short.len() > 45 && long.starts_with(&short[..short.len() - 1]) && alike_as_numbers(x, y)
}

fn far_characters(of: &Outcome) -> bool {
    matches!(of, Outcome::Done(rows) if rows.texts().iter().flatten().any(|cell| cell.contains("F09")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_alike_in_other_digits() {
        assert!(alike_as_numbers("1.50000", "1.5"));
        assert!(alike_as_numbers("1000000000000000000", "1e18"));
        assert!(!alike_as_numbers("1.5", "1.50001"));
        assert!(!alike_as_numbers("1.5", "abc"));
        let (short, long) = (format!("{}.0000000", "9".repeat(50)), format!("{}.000000000000000001", "9".repeat(50)));
        assert!(alike_but_for_digits(&short, &long) && alike_but_for_digits(&long, &short));
        assert!(!alike_but_for_digits("1.5", "1.55"), "too few digits");
        assert!(!alike_but_for_digits(&short, &long.replace(".0", ".1")), "another number");
    }
}
