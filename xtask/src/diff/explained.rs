//! Differences between MySQL 8.4 and MariaDB 10.11 that are no fault and show in the statement: each with its reason.
//! What can be tried out is in `causes.rs`.

use super::{Outcome, Reference, mysql};
use gannet_wire::client::ResultSet;

pub(super) const FORGOTTEN_DISTINCT: &str =
    "MariaDB forgets DISTINCT in ROLLUP rows when groups have one row or the argument is constant";

/// Why the servers may differ in this statement, if there is a reason.
pub(super) fn reason(reference: Reference, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match reference {
        Reference::MariaDb => of_mariadb(sql, outcomes),
        Reference::MySql => mysql::reason(sql, outcomes),
    }
}

/// Of MariaDB 10.11.
fn of_mariadb(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let has = |what: &str| sql.contains(what);
    let rollup = has("WITH ROLLUP");
    match outcomes {
        [Outcome::Refused(3020, _), Outcome::Refused(1365, _)] => {
            Some("MySQL has an error of its own for logarithms of 0")
        }
        outcomes if takes_for_ascii(sql, outcomes) => {
            Some("MariaDB does not take the text that functions make of numbers and digests for ASCII")
        }
        [Outcome::Refused(1292, message), Outcome::Done(_)] if message.starts_with("Truncated incorrect CHAR(") => {
            Some("MariaDB only warns of texts that CAST AS CHAR(n) cuts, in changes too")
        }
        [Outcome::Refused(1264 | 1292 | 1406 | 1690, _), Outcome::Refused(1916, _)] => {
            Some("MariaDB has an error of its own for numbers beyond BIGINT")
        }
        [Outcome::Done(_), Outcome::Done(_)] if has(" * ") && too_long(outcomes) => {
            Some("MariaDB loses digits of products that have more than 65")
        }
        // Date and Time Functions, DATE_ADD(): of what is no date or time the result is a text.
        [Outcome::Done(_), Outcome::Done(_)] if adds_to_null(sql) && differ_only(outcomes, zero_fraction) => {
            Some("a date added to NULL: a text to MySQL, which may have six digits, a DATETIME to MariaDB")
        }
        // DECIMAL Data Type Characteristics: 65 digits at most.
        [Outcome::Done(_), Outcome::Done(_)] if has(" / ") && differ_only(outcomes, cut_at_65) => {
            Some("MariaDB keeps more than the 65 digits that a DECIMAL has in quotients")
        }
        // Retrieving text as bytes: they are those of the column's character set.
        [Outcome::Done(_), Outcome::Done(_)] if has("AS BINARY") && differ_only(outcomes, latin1_and_utf8) => {
            Some("MariaDB converts latin1 text that stands for bytes beside a binary string")
        }
        // String Functions, ELT(): NULL only where the string that is asked for is.
        [Outcome::Done(a), Outcome::Done(b)] if has("ELT(") && has(" JOIN ") && lacks_rows(b.texts(), a.texts()) => {
            Some("MariaDB makes an inner join of an outer one for ELT of a column that is NULL")
        }
        [Outcome::Done(_), Outcome::Done(_)] if has("BINARY") && has("USING utf8mb4") && no_text(outcomes) => {
            Some("MariaDB makes question marks of bytes that are no text, MySQL NULL")
        }
        // The same in a condition: what is no text finds no row here.
        [Outcome::Done(_), Outcome::Done(_)] if makes_text_of_bytes(sql) && fewer_rows(outcomes) => {
            Some("MariaDB makes question marks of bytes that are no text, MySQL NULL")
        }
        // Aggregate Functions: bytes are taken as such, an error beyond 511 of them.
        [Outcome::Refused(3514, _), Outcome::Done(_)] if has("BIT_") => {
            Some("MySQL's bitwise aggregates take bytes, of 511 at most; MariaDB's take numbers")
        }
        [Outcome::Refused(1235, _), _] => Some("refused by name: not there yet"),
        _ if (has("CUME_DIST()") || has("PERCENT_RANK()")) && close(outcomes) => {
            Some("MariaDB rounds CUME_DIST and PERCENT_RANK to ten digits")
        }
        [Outcome::Done(a), Outcome::Done(b)]
            if has("SELECT DISTINCT") && has("OFFSET") && a.rows.is_empty() && b.rows.len() == 1 =>
        {
            Some("MariaDB forgets OFFSET when all items of DISTINCT are constants")
        }
        [Outcome::Done(_), Outcome::Done(_)] if rollup && (distinct_of_constant(sql) || groups_by_id(sql)) => {
            Some(FORGOTTEN_DISTINCT)
        }
        [Outcome::Done(_), Outcome::Done(_)] if has("NOT (NOT ") && (has("ALL (SELECT") || has("ANY (SELECT")) => {
            Some("MariaDB negates ALL and ANY wrongly under two NOTs")
        }
        _ => None,
    }
}

/// As [`reason`], of a change of several columns, or of rows that are computed.
pub(super) fn reason_of_change(reference: Reference, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match reference {
        Reference::MariaDb => change_of_mariadb(sql, outcomes),
        Reference::MySql => None,
    }
}

fn change_of_mariadb(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match outcomes {
        [Outcome::Refused(1052, _), Outcome::Refused(1054, _)]
        | [Outcome::Refused(1054, _), Outcome::Refused(1052, _)]
            if sql.contains("USING (") || sql.contains("NATURAL") =>
        {
            Some("which of several wrong names of a join is met first")
        }
        [Outcome::Done(a), Outcome::Refused(1364, _)] if sql.contains("= DEFAULT") && a.ok.affected == 0 => {
            Some("MariaDB looks for a default that is not there before there is a row to change")
        }
        [Outcome::Refused(a, _), Outcome::Refused(b, _)]
            if !sql.starts_with("SELECT") && converts(*a) && converts(*b) =>
        {
            Some("which of several errors of a changed row is met first")
        }
        // Said again MariaDB has 1748, too.
        [Outcome::Refused(1748, _), Outcome::Done(b)] if sql.contains(" PARTITION (") && b.ok.affected == 0 => {
            Some("MariaDB prunes a statement by what the query before it has pruned")
        }
        // The same, of rows that stay in their partition: it finds them when the table is opened anew.
        [Outcome::Done(a), Outcome::Done(b)]
            if sql.starts_with("UPDATE p PARTITION (") && a.ok.affected > 0 && b.ok.affected == 0 =>
        {
            Some("MariaDB prunes a statement by what the query before it has pruned")
        }
        // Subquery Errors: a table is not changed and read in a subquery. MariaDB has allowed it since 10.3.
        [Outcome::Refused(1093, _), _]
            if sql.starts_with("CALL")
                || (sql.starts_with("UPDATE") || sql.starts_with("DELETE")) && sql.contains("(SELECT") =>
        {
            Some("a table that is changed is read in a subquery: MariaDB allows it")
        }
        _ => None,
    }
}

/// As [`reason_of_step`], of a statement over views.
fn view(sql: &str, ignore: bool, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match outcomes {
        [Outcome::Done(_), Outcome::Refused(1369, _)] if ignore => {
            Some("MariaDB does not pass over rows that a CHECK OPTION refuses")
        }
        // Updatable and Insertable Views: for dependent subqueries in the select list, no data change statements are
        // permitted.
        [Outcome::Refused(1288, _), _] if sql.starts_with("UPDATE v8 ") => {
            Some("MariaDB changes views with dependent subqueries in the select list")
        }
        [Outcome::Refused(1395, _), Outcome::Refused(1288, _)] if sql.starts_with("DELETE FROM v4 ") => {
            Some("a join view: which of two errors")
        }
        // MySQL's own suite (view.test): the column that is computed is named.
        [Outcome::Refused(1348, _), Outcome::Refused(1471, _)]
            if sql.starts_with("INSERT") || sql.starts_with("REPLACE") =>
        {
            Some("INSERT into a view that computes a column: MySQL names the column")
        }
        _ => None,
    }
}

/// As [`reason_of_step`], of programs that compute.
fn of_computed(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match outcomes {
        // Field types: text that is no number, given to a FLOAT or DOUBLE, is 1265 in MySQL; of integers it is 1366.
        [Outcome::Refused(1265, _), Outcome::Refused(1366, message)] if message.contains("double value") => {
            Some("text that is no number for a parameter of type DOUBLE has two error numbers")
        }
        // A comparison has a warning only where it compares.
        [Outcome::Done(_) | Outcome::Refused(1264 | 1265 | 1406, _), Outcome::Refused(1292, message)]
            if message.ends_with("value: ''") || message.ends_with("value: 'a'") =>
        {
            Some("MariaDB converts a constant text before it knows that the other side is NULL")
        }
        // Arithmetic Operators: an overflow is an error.
        [Outcome::Refused(1690, message), Outcome::Done(_)] if message.contains("- -(9223372036854775808)") => {
            Some("0 minus the least BIGINT is itself to MariaDB")
        }
        [Outcome::Refused(a, _), Outcome::Refused(b, _)]
            if sql.starts_with("SELECT") && [a, b].iter().all(|code| matches!(code, 1264 | 1265 | 1365 | 1366)) =>
        {
            Some("which of several errors of a function is met first")
        }
        [Outcome::Done(_), Outcome::Refused(1264, _)] if sql.starts_with("SELECT") => {
            Some("MariaDB's remainder of decimals is a negative zero, which it refuses as UNSIGNED")
        }
        _ => None,
    }
}

/// As [`reason_of_step`], of programs, and of tables with partitions.
fn of_programs(theme: &str, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match (theme, outcomes) {
        ("computed", _) => of_computed(sql, outcomes),
        // UPDATE Statement: for a multiple-table update there is no guarantee of any order.
        ("triggers", _) if sql.starts_with("UPDATE t0 JOIN t1 ") => {
            Some("triggers of several tables see each other's changes in the order of the join, which is open")
        }
        // The header goes out with the first rows, so that an error before them is the whole answer of a query.
        ("procedures", [Outcome::Done(a), Outcome::Done(b)])
            if sql.starts_with("CALL") && a.columns.is_empty() && b.rows.is_empty() =>
        {
            Some("a SELECT that fails at its first row, and is handled: MariaDB has sent the columns before")
        }
        ("partitions", [Outcome::Refused(1735, _), Outcome::Refused(1507, _)]) if sql.starts_with("ALTER TABLE p ") => {
            Some("a partition that is not there has two error numbers")
        }
        ("partitions", [Outcome::Done(_), Outcome::Done(_)])
            if ["ANALYZE", "CHECK", "OPTIMIZE"]
                .iter()
                .any(|verb| sql.starts_with(&format!("ALTER TABLE p {verb} "))) =>
        {
            Some("what maintenance of partitions says is worded differently")
        }
        ("partitions", [Outcome::Done(_), Outcome::Refused(1292, _)])
            if sql.starts_with("ALTER TABLE p PARTITION BY") =>
        {
            Some("MariaDB divides no rows by zero dates in strict mode")
        }
        ("partitions", [Outcome::Refused(1731, message), Outcome::Refused(1526 | 1737, _)])
            if message.contains("INSTANT") =>
        {
            Some("MySQL exchanges no partition whose table has instant columns")
        }
        ("prepared elsewhere", [Outcome::Refused(1049, _), Outcome::Done(_)])
            if sql.starts_with("CREATE TEMPORARY") =>
        {
            Some("MariaDB makes temporary tables in databases that are gone")
        }
        // RENAME TABLE Statement: it does not work for TEMPORARY tables.
        ("prepared elsewhere", [Outcome::Refused(1146, _), _]) if sql.starts_with("RENAME TABLE ") => {
            Some("MariaDB renames temporary tables by RENAME TABLE")
        }
        // Named Windows: forward and backward references are permitted.
        ("named windows", [Outcome::Done(_), Outcome::Refused(4009, _)]) => {
            Some("MariaDB knows no window that is defined behind the one that refers to it")
        }
        ("partitions", [Outcome::Refused(a, _), Outcome::Refused(b, _)])
            if [a, b].iter().all(|code| matches!(code, 1048 | 1062 | 1292 | 1526)) =>
        {
            Some("which of several rows that are refused is met first")
        }
        _ => None,
    }
}

/// As [`reason_of_step`], of the themes in `wide/mixes.rs`.
fn of_mixes(theme: &str, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match (theme, outcomes) {
        // Comparison of dates with numbers that are none: as numbers. Those beyond all dates are zero to MariaDB.
        ("dates and numbers", [Outcome::Done(_), Outcome::Done(_)])
            if ["99999999999999", "20209999", "30000000"].iter().any(|n| sql.contains(n)) =>
        {
            Some("MariaDB takes a number beyond all dates, or all times, for zero")
        }
        // TIME: 838:59:59 at most, as a number 8385959; no more than 59 seconds.
        ("dates and numbers", [Outcome::Done(_), Outcome::Done(_)])
            if [" t ", "(t)"].iter().any(|t| sql.contains(t))
                && ["20200615", " 99", " 61"].iter().any(|n| sql.contains(n)) =>
        {
            Some("MariaDB takes a number beyond all dates, or all times, for zero")
        }
        ("recursive types", _)
            if sql.contains(", t FROM x") && (sql.contains(" 20210101 ") || sql.contains("v * 100")) =>
        {
            Some("MariaDB takes a number beyond all dates, or all times, for zero")
        }
        // Functions That Search JSON Values, JSON_VALUE(): as CAST(JSON_UNQUOTE(JSON_EXTRACT(...)) AS type) does it.
        ("stored documents", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains("JSON_VALUE(")
                && differ_only(outcomes, |x, y| y == "NULL" && x.starts_with(['[', '{'])) =>
        {
            Some("MariaDB gives no text of an array or object by JSON_VALUE")
        }
        // Date and Time Functions, DATE_ADD().
        ("recursive types", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains(", t FROM x") && sql.contains("INTERVAL 1 DAY") =>
        {
            Some("a TIME plus days is a DATETIME to MySQL, whose time of day stays")
        }
        ("dates and numbers", [Outcome::Done(_), Outcome::Done(_)]) if sql.contains("JOIN x b ON a.t ") => {
            Some("MariaDB takes a number beyond all dates, or all times, for zero")
        }
        ("named windows", [Outcome::Refused(3580, _), Outcome::Refused(4009, _)]) => {
            Some("MariaDB does not find a window that is made of itself")
        }
        ("named windows", [Outcome::Refused(3586, _), Outcome::Done(_)])
            if sql.contains("FOLLOWING AND 1 PRECEDING") =>
        {
            Some("MariaDB takes frames from what follows to what precedes")
        }
        ("named windows", [Outcome::Refused(1054 | 3579..=3587, _), Outcome::Refused(1054 | 4009..=4021, _)]) => {
            Some("which of several wrong windows is met first")
        }
        _ => None,
    }
}

/// As [`reason`], of a statement of a theme's round.
pub(super) fn reason_of_step(
    reference: Reference,
    theme: &str,
    sql: &str,
    outcomes: &[Outcome; 2],
) -> Option<&'static str> {
    match reference {
        Reference::MariaDb => step_of_mariadb(theme, sql, outcomes),
        Reference::MySql => mysql::step(theme, sql, outcomes),
    }
}

/// Of parents and children that a statement changes together: in which order is open.
pub(super) fn of_order(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    match outcomes {
        [Outcome::Refused(1062, message), Outcome::Refused(1761, _)]
            if sql.starts_with("UPDATE p ") && message.contains("for key 'p.") =>
        {
            Some("a duplicate in the parent and one that its cascade makes: which is met first is open")
        }
        // DELETE Statement, multi-table: the order of the tables is the optimizer's, and the statement may fail for it.
        [a, b]
            if sql.starts_with("DELETE p, c FROM")
                && [a, b].iter().any(|o| matches!(o, Outcome::Refused(1451, _)))
                && [a, b].iter().any(|o| matches!(o, Outcome::Done(_))) =>
        {
            Some("parents and children deleted together: in which order is open")
        }
        [Outcome::Done(a), Outcome::Done(b)]
            if sql.starts_with("DELETE p, c FROM") && a.columns.is_empty() && b.columns.is_empty() =>
        {
            Some("parents and children deleted together: children that went with their parents are counted or not")
        }
        // A parent deleted while the join is read: SET NULL takes its other children out of the join.
        [Outcome::Done(a), Outcome::Done(b)]
            if sql.starts_with("DELETE p, c FROM") && keeps_orphans(&a.texts(), &b.texts()) =>
        {
            Some("parents and children deleted together: children whose parent went before are found or not")
        }
        [Outcome::Done(a), Outcome::Done(b)]
            if sql.starts_with("DELETE IGNORE") && sql.contains("LIMIT") && a.ok.affected <= b.ok.affected =>
        {
            Some("whether rows that could not be deleted count for LIMIT is open")
        }
        // REPLACE Statement: rows with the same key are deleted, whether or not the row before got a number.
        [Outcome::Done(a), Outcome::Done(b)]
            if sql.starts_with("DELETE FROM e") && sql.contains("LIMIT") && a.ok.affected <= b.ok.affected =>
        {
            Some("whether rows that went along with others count for LIMIT is open")
        }
        _ => None,
    }
}

fn step_of_mariadb(theme: &str, sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let ignore = sql.contains(" IGNORE ");
    // There a statement has one value for one column.
    if theme != "conversions"
        && let Some(why) = change_of_mariadb(sql, outcomes)
    {
        return Some(why);
    }
    match (theme, outcomes) {
        // Reference manual, CREATE TABLE and Generated Columns: the only permitted value is DEFAULT.
        ("generated", [Outcome::Refused(3105, _), Outcome::Done(_) | Outcome::Refused(4025, _)]) => {
            Some("MariaDB takes a value for a generated column while no row gets it")
        }
        // CHECK Constraints: dropping one that is not there, or a column of one, has errors of its own.
        ("definitions", [Outcome::Refused(3940, _), Outcome::Refused(1091, _)]) if sql.contains("DROP CONSTRAINT") => {
            Some("MySQL has an error of its own for constraints that are not there")
        }
        // CHECK Constraints: the namespace of their names is the schema.
        ("definitions", [Outcome::Refused(3822, _), Outcome::Refused(1826, _)]) if sql.contains("CHECK") => {
            Some("MySQL has an error of its own for the name of a CHECK that is taken")
        }
        ("definitions", [Outcome::Refused(3822, _), Outcome::Done(_)])
            if sql.contains("ADD CONSTRAINT small CHECK") =>
        {
            Some("MariaDB takes the same name for CHECKs of several tables")
        }
        ("definitions", [Outcome::Refused(3822, _), Outcome::Refused(1054, _)]) if sql.contains("CHECK") => {
            Some("a CHECK whose name is taken and whose column is not there: which is said is open")
        }
        ("definitions", [Outcome::Refused(3820, _), Outcome::Refused(1054, _)]) if sql.contains("CHECK") => {
            Some("MySQL has an error of its own for unknown columns in a CHECK")
        }
        ("definitions", [Outcome::Refused(3108 | 3959, _), Outcome::Done(_)]) => {
            Some("MariaDB renames and drops columns that a CHECK or a generated column refers to")
        }
        // Both are refused, the one where tables are opened, the other where the statement is resolved.
        ("savepoints", [Outcome::Refused(1267 | 1270 | 1271, _), Outcome::Refused(1792, _)]) => {
            Some("a READ ONLY transaction: collations that do not mix are found before it, or behind")
        }
        ("references", outcomes) if of_order(sql, outcomes).is_some() => of_order(sql, outcomes),
        // CHECK Constraints: with IGNORE a warning, and the row is skipped; the same of CHECK OPTION.
        ("generated", [Outcome::Done(_), Outcome::Refused(4025, _)]) if ignore => {
            Some("MariaDB does not pass over rows that a CHECK refuses")
        }
        ("views", outcomes) if view(sql, ignore, outcomes).is_some() => view(sql, ignore, outcomes),
        // TEMPORARY Table Problems: cannot be referred to more than once in the same query.
        ("temporary tables", [Outcome::Refused(1137, _), Outcome::Done(_)]) => {
            Some("MariaDB reads a temporary table more than once")
        }
        // Of a UNIQUE key over several columns MySQL leaves the others, which may have duplicates then.
        ("definitions", [_, Outcome::Refused(1072, _)]) if sql.contains("DROP COLUMN") => {
            Some("MariaDB drops no column of a UNIQUE key over several")
        }
        ("altered" | "definitions", [Outcome::Refused(1138, _), Outcome::Refused(1265, _)]) => {
            Some("NULL in a column that becomes NOT NULL: MySQL has an error of its own")
        }
        ("upserts", [Outcome::Done(_), Outcome::Refused(1062, message)])
            if sql.starts_with("REPLACE") && message.ends_with("for key 'PRIMARY'") =>
        {
            Some("MariaDB refuses to replace a row by its number behind a row with a generated one")
        }
        // INSERT ... ON DUPLICATE KEY UPDATE: 0 if an existing row is set to its current values.
        ("definitions", [Outcome::Done(a), Outcome::Done(b)]) if counts_null_twice(sql, a, b) => {
            Some("MariaDB counts a row whose NULL becomes NULL, in ON DUPLICATE KEY UPDATE")
        }
        // JSON_TYPE: DECIMAL is a type of its own to MySQL.
        ("stored documents", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains(" JSON_TYPE(") && differ_only(outcomes, |x, y| x == "DECIMAL" && y == "DOUBLE") =>
        {
            Some("MariaDB knows no DECIMAL in documents")
        }
        ("stored documents", [Outcome::Done(_), Outcome::Done(_)])
            if sql.contains("JSON_VALUE(")
                && differ_only(outcomes, |x, y| matches!((x, y), ("true", "1") | ("false", "0"))) =>
        {
            Some("MariaDB's JSON_VALUE makes numbers of truth values")
        }
        // PREPARE Statement: the parameter's type is settled before its value, and its digits, are known.
        ("parameters", [Outcome::Done(_), Outcome::Done(_)])
            if sql == "SELECT id, COALESCE(i, ?) FROM t ORDER BY id"
                && differ_only(outcomes, |x, y| {
                    y.split_once('.').is_some_and(|(n, rest)| n == x && rest.bytes().all(|b| b == b'0'))
                }) =>
        {
            Some("an integer instead of a DECIMAL parameter: MariaDB appends the digits that the value has")
        }
        ("conversions", outcomes) => conversion(sql, outcomes),
        ("generated" | "views", [Outcome::Done(a), Outcome::Done(b)])
            if ignore && sql.starts_with("UPDATE") && a.ok.affected == b.ok.affected && a.columns.is_empty() =>
        {
            Some("MariaDB does not count rows that match and are kept as they are by a CHECK")
        }
        ("altered", [Outcome::Refused(1170, _), _]) => {
            Some("MariaDB makes a prefix of a key on a column that becomes TEXT")
        }
        _ => of_programs(theme, sql, outcomes).or_else(|| of_mixes(theme, sql, outcomes)),
    }
}

/// All rows of `a` and others, which have NULL in them.
fn keeps_orphans(a: &[Vec<String>], b: &[Vec<String>]) -> bool {
    let orphan = |row: &Vec<String>| a.contains(row) || row.iter().any(|cell| cell == "NULL");
    a.len() < b.len() && a.iter().all(|row| b.contains(row)) && b.iter().all(orphan)
}

/// The counts of ON DUPLICATE KEY UPDATE differ by rows that MariaDB calls copied and not updated: it compares what
/// stands in the place of a NULL, the engine does not.
fn counts_null_twice(sql: &str, a: &ResultSet, b: &ResultSet) -> bool {
    let number = |name: &str| -> Option<u64> {
        a.ok.info.split_once(name)?.1.split(' ').find(|word| !word.is_empty())?.parse().ok()
    };
    let nullable = [" a = VALUES(a) + 1", " a = t.a + 2"].iter().any(|set| sql.ends_with(set));
    let (Some(records), Some(duplicates)) = (number("Records:"), number("Duplicates:")) else { return false };
    nullable
        && sql.contains(" ON DUPLICATE KEY UPDATE ")
        && super::wide::counts(&a.ok.info) == super::wide::counts(&b.ok.info)
        && a.ok.affected < b.ok.affected
        && b.ok.affected <= records + duplicates
}

/// Values of other types in columns, where MySQL and MariaDB convert by other rules.
fn conversion(sql: &str, outcomes: &[Outcome; 2]) -> Option<&'static str> {
    let into = |column: &str| sql.contains(&format!("({column}) VALUES")) || sql.contains(&format!("SET {column} = "));
    let ends = |tails: &[&str]| {
        let value = sql.split(" ORDER BY").next().unwrap_or(sql).trim_end_matches(')');
        tails.iter().any(|t| value.ends_with(t))
    };
    let times = ["= t", "= da", "= dt", "= d3"];
    let dates = ["DATE'2021-05-06'", "TIMESTAMP'2021-05-06 07:08:09'", "= da", "= dt", "= d3"];
    match outcomes {
        // The YEAR Type: values returned by functions such as NOW() are acceptable; a TIME is one of this day.
        [Outcome::Done(_), Outcome::Refused(1265 | 1292, _)]
            if into("y") && (ends(&dates) || ends(&["TIME'08:09:10'", "= t"])) =>
        {
            Some("MariaDB does not take the year of a date or time in strict mode")
        }
        [Outcome::Done(_), Outcome::Done(_)]
            if into("d3")
                && ends(&["0.005"])
                && differ_only(outcomes, |x, y| x == "0000-00-00 00:00:00.01" && y == "0000-00-00 00:00:00.00") =>
        {
            Some("MariaDB warns of the fraction of a zero date, and leaves it out")
        }
        [Outcome::Refused(1265, _), Outcome::Refused(1366, message)]
            if message.starts_with("Incorrect double value") && (into("f") || into("db")) =>
        {
            Some("MariaDB numbers and words errors of texts that are no number differently")
        }
        [Outcome::Refused(1264, _), Outcome::Refused(1265, _)] if into("d") || into("du") => {
            Some("a DECIMAL of a text, out of range and with more behind the number: which is said is open")
        }
        [Outcome::Done(_), Outcome::Refused(1406, _)] if into("bi") && ends(&times) => {
            Some("MariaDB takes a zero date for a text in a BIT, MySQL for 0")
        }
        [Outcome::Done(a), Outcome::Done(b)]
            if into("bi") && ends(&times) && a.columns.is_empty() && a.ok.affected <= b.ok.affected =>
        {
            Some("MariaDB takes a zero date for a text in a BIT, MySQL for 0")
        }
        // As for a number in the text protocol: HHMMSS, and beyond 838:59:59 out of range.
        [Outcome::Refused(1292, _), Outcome::Done(_)] if into("t") && ends(&["20210304"]) => {
            Some("MariaDB takes a number beyond TIME for a date, MySQL for a TIME out of range")
        }
        [Outcome::Done(_), Outcome::Done(_)]
            if into("bi") && ends(&times) && differ_only(outcomes, |x, y| x == "0" && y == "15") =>
        {
            Some("MariaDB takes a zero date for a text in a BIT, MySQL for 0")
        }
        [Outcome::Done(_), Outcome::Refused(1292, _)] if sql.contains("da + INTERVAL") => {
            Some("MariaDB refuses zero dates in functions under NO_ZERO_DATE")
        }
        [Outcome::Done(_), Outcome::Done(_)]
            if into("y")
                && ends(&["TIME'08:09:10'", "= t"])
                && differ_only(outcomes, |x, y| x.len() == 4 && y == "0000") =>
        {
            Some("MariaDB has no year for a TIME, MySQL that of this day")
        }
        [Outcome::Done(_), Outcome::Done(_)]
            if into("t") && differ_only(outcomes, |x, y| x.ends_with("838:59:59") && y == "00:00:00") =>
        {
            Some("MariaDB takes a number beyond TIME for a date, MySQL for a TIME out of range")
        }
        [Outcome::Done(a), Outcome::Done(b)] if a.columns.len() == 3 && a.columns.len() == b.columns.len() => {
            let [a, b] = [a.texts(), b.texts()];
            let only = |of: &[Vec<String>], other: &[Vec<String>]| -> Vec<Vec<String>> {
                let line = |row: &[String]| super::wide::warning(row);
                of.iter().filter(|row| !other.iter().any(|o| line(o) == line(row))).cloned().collect()
            };
            warnings(sql, [&only(&a, &b), &only(&b, &a)], &dates, &into, &ends)
        }
        _ => None,
    }
}

/// Warnings that only one server gives.
fn warnings(
    sql: &str,
    [a, b]: [&[Vec<String>]; 2],
    dates: &[&str],
    into: &dyn Fn(&str) -> bool,
    ends: &dyn Fn(&[&str]) -> bool,
) -> Option<&'static str> {
    let only = |of: &[Vec<String>], what: [&str; 2]| of.len() == 1 && of[0][0] == what[0] && of[0][1] == what[1];
    if a.is_empty() && only(b, ["Note", "1265"]) && ends(&["'12 '", "= l", "= v", "= c", "= vb"]) {
        return Some("MariaDB notes spaces behind a number");
    }
    if a.is_empty() && only(b, ["Warning", "1265"]) && into("y") && (ends(dates) || ends(&["TIME'08:09:10'", "= t"])) {
        return Some("MariaDB warns of the year of a date or time");
    }
    if a.is_empty() && b.iter().all(|w| w[1] == "1292") && sql.contains("da + INTERVAL") {
        return Some("MariaDB warns of zero dates in functions under NO_ZERO_DATE");
    }
    if a.is_empty() && only(b, ["Warning", "1264"]) && into("bi") && ends(dates) {
        return Some("MariaDB takes a zero date for a text in a BIT, MySQL for 0");
    }
    let cut = ["Warning", "Note"].iter().any(|level| only(b, [level, "1265"]));
    if a.is_empty() && cut && ["da", "dt", "d3"].iter().any(|c| into(c)) && ends(&["0.005"]) {
        return Some("MariaDB warns of the fraction of a zero date, and leaves it out");
    }
    if a.is_empty() && only(b, ["Warning", "1264"]) && into("bi") && ends(&["= t"]) {
        return Some("MariaDB warns twice of a negative TIME in a BIT");
    }
    let cut = only(a, ["Note", "1265"]) || only(a, ["Note", "1292"]);
    if cut && b.is_empty() && (into("da") || into("t")) {
        return Some("MariaDB does not note the part of a date and time that a DATE or TIME leaves out");
    }
    None
}

/// Rows of a query that shows any value of a group: only making a query smaller leads to those.
pub(super) fn shows_any_value(sql: &str) -> bool {
    let Some((items, rest)) = sql.trim_start_matches("SELECT ").split_once(" FROM ") else { return false };
    let Some((_, groups)) = rest.split_once("GROUP BY ") else {
        return rest.contains(" HAVING ") || items.contains("COUNT(") || items.contains("SUM(");
    };
    let bare = |item: &str| item.len() <= 6 && item.contains('.') && !item.contains('(');
    items.split(", ").any(|item| bare(item) && !groups.split(", ").any(|g| g == item))
}

/// Groups of one row each, with a DISTINCT aggregate over them.
fn groups_by_id(sql: &str) -> bool {
    sql.contains("(DISTINCT ") && sql.rsplit("GROUP BY ").next().is_some_and(|groups| groups.contains(".id"))
}

/// Errors of a value that does not fit its column or its operation.
pub(super) fn converts(code: u16) -> bool {
    matches!(code, 1048 | 1264 | 1364 | 1265 | 1292 | 1365 | 1366 | 1406 | 1411 | 1690 | 3020)
}

/// `(DISTINCT 5)`: no column in it.
fn distinct_of_constant(sql: &str) -> bool {
    let column = |arg: &str| arg.split(')').next().is_some_and(|arg| arg.contains('.') && arg.contains(['a', 'r']));
    sql.split("(DISTINCT ").skip(1).any(|arg| !column(arg))
}

/// The same rows, but for numbers of more than 55 digits.
fn too_long(outcomes: &[Outcome; 2]) -> bool {
    differ_only(outcomes, |x, y| {
        let digits = |cell: &str| cell.bytes().filter(u8::is_ascii_digit).count();
        x.parse::<f64>().is_ok() && y.parse::<f64>().is_ok() && digits(x) > 55 && digits(y) > 55
    })
}

/// Date arithmetic with NULL.
fn adds_to_null(sql: &str) -> bool {
    ["ADDDATE(NULL", "SUBDATE(NULL", "(NULL + INTERVAL", "(NULL - INTERVAL"].iter().any(|form| sql.contains(form))
}

/// A date and time with six zeros behind the point, and without.
fn zero_fraction(x: &str, y: &str) -> bool {
    x.strip_suffix(".000000") == Some(y) && y.len() == 19
}

/// Text that a function makes of a number, or a digest, beside latin1.
fn takes_for_ascii(sql: &str, outcomes: &[Outcome; 2]) -> bool {
    let [Outcome::Done(_), Outcome::Refused(code, message)] = outcomes else { return false };
    match code {
        1267 | 1270 => {
            message.contains("(latin1_swedish_ci,IMPLICIT)")
                && ["(utf8mb4_general_ci,COERCIBLE)", "(utf8mb3_general_ci,COERCIBLE)"]
                    .iter()
                    .any(|c| message.contains(c))
        }
        1271 => {
            message.ends_with("'in'")
                && ["CONV(", "HEX(", "BIN(", "MD5(", "AS CHAR)", "JSON_TYPE(", "FORMAT("]
                    .iter()
                    .any(|f| sql.contains(f))
        }
        _ => false,
    }
}

/// What is no UTF-8, and the same in letters.
fn latin1_and_utf8(x: &str, y: &str) -> bool {
    x.contains('\u{fffd}') && x.chars().count() == y.chars().count() && {
        x.chars().zip(y.chars()).all(|(x, y)| x == y || x == '\u{fffd}')
    }
}

/// A number of 65 digits, and the same with more of them.
fn cut_at_65(x: &str, y: &str) -> bool {
    let digits = |cell: &str| cell.bytes().filter(u8::is_ascii_digit).count();
    // The last digit is rounded.
    let kept = &x[..x.len().saturating_sub(1)];
    digits(x) == 65 && digits(y) > 65 && x.contains('.') && y.parse::<f64>().is_ok() && y.starts_with(kept)
}

/// The same rows, but for NULL here and `?` there.
fn no_text(outcomes: &[Outcome; 2]) -> bool {
    differ_only(outcomes, |x, y| x == "NULL" && y.contains('?'))
}

/// INSERT among the bytes of a letter (the column beside it is one of bytes), made a text.
fn makes_text_of_bytes(sql: &str) -> bool {
    sql.contains("CONVERT(INSERT('é'") && sql.contains("USING utf8mb4")
}

/// Some of their rows, and no others.
pub(super) fn fewer_rows(outcomes: &[Outcome; 2]) -> bool {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return false };
    lacks_rows(a.texts(), b.texts())
}

fn lacks_rows(ours: Vec<Vec<String>>, mut theirs: Vec<Vec<String>>) -> bool {
    let more = theirs.len() > ours.len();
    more && ours.iter().all(|row| theirs.iter().position(|r| r == row).map(|i| theirs.swap_remove(i)).is_some())
}

/// As many rows, whose cells, where they differ, do so in one way.
pub(super) fn differ_only(outcomes: &[Outcome; 2], way: impl Fn(&str, &str) -> bool) -> bool {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return false };
    let (mut a, mut b) = (a.texts(), b.texts());
    let alike = |(x, y): (&String, &String)| x == y || way(x, y);
    // Without any such cell the difference is another one: of numbers of rows, or of their order.
    let rows = |a: &[Vec<String>], b: &[Vec<String>]| {
        a != b && a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.len() == y.len() && x.iter().zip(y).all(alike))
    };
    rows(&a, &b) || {
        a.sort();
        b.sort();
        rows(&a, &b)
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
    a != b && a.len() == b.len() && a.iter().zip(&b).all(|(x, y)| x.len() == y.len() && x.iter().zip(y).all(same))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_of_distinct_aggregates_are_seen() {
        assert!(distinct_of_constant("SELECT COUNT(DISTINCT 5) FROM t0 a0"));
        assert!(distinct_of_constant("SELECT SUM(DISTINCT 1), COUNT(DISTINCT a0.c1) FROM t0 a0"));
        assert!(!distinct_of_constant("SELECT COUNT(DISTINCT a0.c1) FROM t0 a0"));
    }

    #[test]
    fn digits_beyond_65_are_those_of_the_same_number() {
        let (kept, more) = ("6".repeat(48) + ".66666666665000000", "6".repeat(48) + ".666666666650000000");
        assert!(cut_at_65(&kept, &more));
        assert!(!cut_at_65(&more, &kept), "the other way round");
        assert!(!cut_at_65(&kept, &more.replace("65", "75")), "another number");
        assert!(!cut_at_65("0.6666", "0.66666"));
        assert!(zero_fraction("2021-03-25 02:18:06.000000", "2021-03-25 02:18:06"));
        assert!(!zero_fraction("2021-03-25 02:18:06.000001", "2021-03-25 02:18:06"));
        assert!(!zero_fraction("02:18:06.000000", "02:18:06"));
    }

    #[test]
    fn bytes_that_are_no_text_find_no_rows() {
        assert!(makes_text_of_bytes(
            "SELECT 1 FROM t0 a0 WHERE CONVERT(INSERT('é', 2, 1, a0.c1) USING utf8mb4) REGEXP 'x'"
        ));
        assert!(!makes_text_of_bytes(
            "SELECT 1 FROM t0 a0 WHERE CONVERT(INSERT('e', 2, 1, a0.c1) USING utf8mb4) REGEXP 'x'"
        ));
        let rows = |of: &[&str]| of.iter().map(|r| vec![r.to_string()]).collect::<Vec<_>>();
        assert!(lacks_rows(rows(&["1", "2"]), rows(&["2", "3", "1"])));
        assert!(!lacks_rows(rows(&["1", "1"]), rows(&["2", "3", "1"])), "one of them twice");
        assert!(!lacks_rows(rows(&["4"]), rows(&["2", "3"])), "another row");
        assert!(!lacks_rows(rows(&["2"]), rows(&["2"])), "all of them");
    }

    #[test]
    fn children_left_behind_have_lost_their_parent() {
        let rows = |of: &[&str]| of.iter().map(|r| r.split(' ').map(str::to_owned).collect()).collect::<Vec<_>>();
        assert!(keeps_orphans(&rows(&["1 2"]), &rows(&["1 2", "4 NULL"])));
        assert!(!keeps_orphans(&rows(&["1 2"]), &rows(&["1 2", "4 3"])), "one that has its parent");
        assert!(!keeps_orphans(&rows(&["1 2", "4 NULL"]), &rows(&["1 2"])), "kept here");
        assert!(!keeps_orphans(&rows(&["1 2"]), &rows(&["1 3", "4 NULL"])), "another row");
    }

    #[test]
    fn rows_counted_for_their_null() {
        let result = |affected, info: &str| ResultSet {
            ok: gannet_wire::client::OkInfo { affected, info: info.into(), ..Default::default() },
            ..Default::default()
        };
        let info = "Records: 8  Duplicates: 6  Warnings: 0";
        let sql = "INSERT INTO n1 (id, a) SELECT id, a FROM t ORDER BY id ON DUPLICATE KEY UPDATE a = t.a + 2";
        let [ours, theirs] = [result(12, info), result(14, info)];
        assert!(counts_null_twice(sql, &ours, &theirs));
        assert!(!counts_null_twice(&sql.replace("t.a + 2", "VALUES(id)"), &ours, &theirs), "never NULL");
        assert!(!counts_null_twice(sql, &theirs, &ours), "fewer");
        assert!(!counts_null_twice(sql, &ours, &result(15, info)), "more than there are");
        assert!(!counts_null_twice(sql, &ours, &result(14, "Records: 8  Duplicates: 7  Warnings: 0")), "other counts");
    }
}
