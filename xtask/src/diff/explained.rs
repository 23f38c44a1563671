//! Differences between MySQL 8.4 and MariaDB 10.11 that are no fault: each with its reason.

use super::Outcome;

/// Why the servers may differ in this statement, if there is a reason.
pub(super) fn reason(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let has = |what: &str| sql.contains(what);
    match outcomes {
        [Outcome::Refused(1235, _), _] => Some("refused by name: not there yet"),
        _ if has("INTERSECT") && has("UNION") => Some("MariaDB takes set operations from left to right"),
        _ => None,
    }
}
