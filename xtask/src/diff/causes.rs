//! Causes of differences that are tried out: a difference has a cause when it goes away with it.

use super::change::Statement;
use super::expr::Expr;
use super::generate::{Schema, Table};
use super::query::Query;
use super::{Manner, Outcome, Pair, Reference, fold, same};
use gannet_wire::client::ResultSet;
use std::collections::HashSet;

const UNREAD_SUBQUERY: &str = "MariaDB does not look at collations in a subquery whose condition is never true";

/// Switches optimizations of the second server off that answers must not depend on.
pub(super) fn plain(reference: Reference) -> &'static str {
    match reference {
        Reference::MariaDb => PLAIN_MARIADB,
        Reference::MySql => PLAIN_MYSQL,
    }
}

const PLAIN_MYSQL: &str = "SET SESSION optimizer_switch = 'index_merge=off,materialization=off,semijoin=off,\
    derived_merge=off,firstmatch=off,loosescan=off,derived_condition_pushdown=off,index_condition_pushdown=off,\
    block_nested_loop=off,skip_scan=off,hash_set_operations=off'";

const PLAIN_MARIADB: &str = "SET SESSION optimizer_switch = 'index_merge=off,materialization=off,semijoin=off,\
    derived_merge=off,firstmatch=off,loosescan=off,exists_to_in=off,condition_pushdown_for_subquery=off,\
    condition_pushdown_for_derived=off,condition_pushdown_from_having=off,split_materialized=off,\
    outer_join_with_cache=off,rowid_filter=off,index_condition_pushdown=off,partial_match_rowid_merge=off,\
    partial_match_table_scan=off,derived_with_keys=off,subquery_cache=off,not_null_range_scan=off,\
    table_elimination=off,engine_condition_pushdown=off,in_to_exists=on'";

/// Why a query's outcomes differ, if trying shows it.
pub(super) fn of_query(
    query: &Query,
    outcomes: &[Outcome; 2],
    pair: &mut Pair,
    schema: &Schema,
) -> Result<Option<&'static str>, String> {
    let manner = Manner { ordered: query.is_ordered(), folded: query.folds(), binary: false };
    let [ours, theirs] = outcomes;
    let straight = query.hinted("STRAIGHT_JOIN ").text();
    let plans = [query.text(), without_indexes(&query.text()), without_indexes(&straight)];
    let why = of_plan(&plans, ours, manner, pair)?;
    if why.is_some() || pair.reference == Reference::MySql {
        return Ok(why);
    }
    let sorted = query.hinted("SQL_BIG_RESULT ").text();
    if query.is_grouped() && same(&[ours.clone(), pair.one(true, &sorted)?], manner) {
        return Ok(Some("MariaDB gives the same answer when it sorts for GROUP BY"));
    }
    if let Some(loose) = query.loose()
        && let Outcome::Done(rows) = pair.one(true, &loose.text())?
    {
        let rows = if query.is_distinct() { distinct(rows) } else { rows };
        if same(&[ours.clone(), Outcome::Done(rows)], Manner { ordered: false, ..manner }) {
            return Ok(Some("MariaDB cuts digits of what it keeps for DISTINCT and ORDER BY: the same without"));
        }
    }
    if matches!(ours, Outcome::Refused(1690, _)) {
        let signed = query.mapped(Expr::signed).text();
        if signed != query.text() && same(&[pair.one(false, &signed)?, theirs.clone()], manner) {
            return Ok(Some("numbers of rows are unsigned to MySQL: no difference when they are signed"));
        }
    }
    if [ours, theirs].iter().any(|o| matches!(o, Outcome::Refused(1690, _))) {
        for sql in &plans[1..] {
            if same(&[pair.one(false, sql)?, theirs.clone()], manner) {
                return Ok(Some(
                    "which rows a value out of range is computed for depends on the plan: the same with another",
                ));
            }
        }
    }
    // The server that took the query refuses the derived table, too, when it is read alone.
    let reads_alone = match outcomes {
        [Outcome::Done(_), Outcome::Refused(1690, _)] => Some(false),
        [Outcome::Refused(1690, _), Outcome::Done(_)] => Some(true),
        _ => None,
    };
    if let Some(second) = reads_alone {
        for part in query.parts() {
            if matches!(pair.one(second, &format!("SELECT * FROM {part} part"))?, Outcome::Refused(1690, _)) {
                return Ok(Some(
                    "a derived table with a value out of range: one server reads it although no row needs it",
                ));
            }
        }
    }
    let guarded = query.mapped(Expr::guarded).text();
    if guarded != query.text() && same(&[ours.clone(), pair.one(true, &guarded)?], manner) {
        return Ok(Some("MariaDB takes INTERVAL() for NULL when its first argument is: the same in COALESCE"));
    }
    let settled = query.mapped(Expr::settled).text();
    if settled != query.text() && same(&[ours.clone(), pair.one(true, &settled)?], manner) {
        return Ok(Some(
            "MariaDB takes NULL of a subquery beside ALL or IN of a correlated one for true: the same in COALESCE",
        ));
    }
    let read = query.mapped(Expr::as_read).text();
    if read != query.text() && same(&[pair.one(false, &read)?, theirs.clone()], manner) {
        return Ok(Some("MariaDB reads the number of a name of a day or month, or of what IF chose, from its text"));
    }
    let located = query.mapped(Expr::located).text();
    if located != query.text() && same(&[ours.clone(), pair.one(true, &located)?], manner) {
        return Ok(Some("MariaDB finds no empty text behind the last character: the same when its place is said"));
    }
    if matches!(outcomes, [Outcome::Done(_), Outcome::Done(_)]) && query.forgets_distinct(schema) {
        return Ok(Some(super::explained::FORGOTTEN_DISTINCT));
    }
    let widened = query.mapped(Expr::widened).text();
    if widened != query.text() && same(&[ours.clone(), pair.one(true, &widened)?], manner) {
        return Ok(Some(
            "MariaDB rounds quotients to the digits of their types when it compares them: the same with 30 decimals",
        ));
    }
    if let [Outcome::Refused(1267 | 1270 | 1271, _), Outcome::Done(_)] = outcomes
        && never_true(&query.text(), pair)?
    {
        return Ok(Some(UNREAD_SUBQUERY));
    }
    let statement = Statement::Query(query.clone());
    unsigned(&statement, outcomes, pair)?.map_or_else(|| zero_dates(&statement, pair, schema), |why| Ok(Some(why)))
}

/// The second server gives our answer with one of these plans.
fn of_plan(plans: &[String], ours: &Outcome, manner: Manner, pair: &mut Pair) -> Result<Option<&'static str>, String> {
    for sql in plans {
        if same(&[ours.clone(), pair.plain(sql)?], manner) {
            return Ok(Some("the second server gives the same answer with fewer optimizations"));
        }
    }
    Ok(None)
}

/// Each row once, of those that are equal in their collations the first.
fn distinct(mut rows: ResultSet) -> ResultSet {
    let mut seen = HashSet::new();
    let texts = rows.texts();
    let mut texts = texts.iter();
    rows.rows.retain(|_| texts.next().is_some_and(|row| seen.insert(row.iter().map(|v| fold(v)).collect::<Vec<_>>())));
    rows
}

/// MariaDB has found a condition of constants that is never true.
fn never_true(sql: &str, pair: &mut Pair) -> Result<bool, String> {
    let Outcome::Done(plan) = pair.one(true, &format!("EXPLAIN {sql}"))? else { return Ok(false) };
    Ok(plan.texts().iter().flatten().any(|cell| cell.starts_with("Impossible")))
}

/// With a hint behind each table that none of its indexes be used.
fn without_indexes(sql: &str) -> String {
    let mut words: Vec<String> = sql.split(' ').map(str::to_owned).collect();
    for i in 2..words.len() {
        let table = words[i - 1].strip_prefix('t').is_some_and(|n| n.parse::<u8>().is_ok());
        if table && (words[i - 2].ends_with("FROM") || words[i - 2].ends_with("JOIN")) {
            let end = words[i].find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(words[i].len());
            words[i].insert_str(end, " USE INDEX ()");
        }
    }
    words.join(" ")
}

/// Why a query of a theme's round differs: MariaDB gives the same answer without an index.
pub(super) fn of_step(sql: &str, outcomes: &[Outcome; 2], manner: Manner, pair: &mut Pair) -> Result<bool, String> {
    let plain = sql
        .replace(" FROM k a JOIN k b ON ", " FROM k a USE INDEX () JOIN k b USE INDEX () ON ")
        .replace(" FROM n x JOIN n y ON ", " FROM n x USE INDEX () JOIN n y USE INDEX () ON ")
        .replace(" FROM g x JOIN g y ON ", " FROM g x USE INDEX () JOIN g y USE INDEX () ON ");
    let plain = plain
        .replace(" FROM k WHERE ", " FROM k USE INDEX () WHERE ")
        .replace(" FROM w WHERE ", " FROM w USE INDEX () WHERE ")
        .replace(" FROM k GROUP ", " FROM k USE INDEX () GROUP ");
    Ok(plain != sql && same(&[outcomes[0].clone(), pair.one(true, &plain)?], manner))
}

/// As [`of_query`], for a change that was rolled back.
pub(super) fn of_change(
    statement: &Statement,
    outcomes: &[Outcome; 2],
    pair: &mut Pair,
    schema: &Schema,
) -> Result<Option<&'static str>, String> {
    if pair.reference == Reference::MySql {
        return first_error(&statement.text(), outcomes, pair);
    }
    if let [Outcome::Refused(1267 | 1270 | 1271, _), Outcome::Done(_)] = outcomes
        && never_true(&statement.text(), pair)?
    {
        return Ok(Some(UNREAD_SUBQUERY));
    }
    if let Some(why) = first_error(&statement.text(), outcomes, pair)? {
        return Ok(Some(why));
    }
    if let Some(why) = index(&statement.text(), outcomes, pair, schema)? {
        return Ok(Some(why));
    }
    unsigned(statement, outcomes, pair)?.map_or_else(|| zero_dates(statement, pair, schema), |why| Ok(Some(why)))
}

/// A change that MariaDB makes as this server does when it has no index but the primary key to find rows by; or that
/// both make alike then, as when rows of INSERT IGNORE ... SELECT have the same key, and which of them is read first is
/// open.
fn index(sql: &str, outcomes: &[Outcome; 2], pair: &mut Pair, schema: &Schema) -> Result<Option<&'static str>, String> {
    if !matches!(outcomes, [Outcome::Done(_), Outcome::Done(_)]) {
        return Ok(None);
    }
    let names = |t: &Table| t.index_names().map(str::to_owned).collect::<Vec<_>>();
    let all: Vec<(String, String)> =
        schema.tables.iter().flat_map(|t| names(t).into_iter().map(|i| (t.name.clone(), i))).collect();
    let set = |pair: &mut Pair, second: bool, how: &str| {
        // One that stands for the primary key stays.
        let mut each = all.iter().map(|(table, index)| format!("ALTER TABLE {table} ALTER INDEX {index} {how}"));
        each.try_for_each(|sql| pair.one(second, &sql).map(drop))
    };
    set(pair, true, "IGNORED")?;
    let mut why = makes_the_same(sql, pair, schema)?.then_some("MariaDB makes the same change without an index");
    if why.is_none() && sql.contains(" SELECT ") && sql.contains("IGNORE") {
        set(pair, false, "INVISIBLE")?;
        let same = makes_the_same(sql, pair, schema)?;
        why = same.then_some("which of several rows with the same key is read first: the same without indexes");
        set(pair, false, "VISIBLE")?;
    }
    set(pair, true, "NOT IGNORED")?;
    Ok(why)
}

/// Do both servers answer a change alike, and have the same rows afterwards? It is undone.
fn makes_the_same(sql: &str, pair: &mut Pair, schema: &Schema) -> Result<bool, String> {
    pair.must("START TRANSACTION")?;
    let mut agree = same(&pair.both(sql)?, Manner::default());
    for table in &schema.tables {
        agree &= same(&pair.both(&format!("SELECT * FROM {}", table.name))?, Manner::default());
    }
    pair.must("ROLLBACK")?;
    Ok(agree)
}

/// Which of two errors comes first, of a value that cannot be computed and of a duplicate: whether rows are made one by
/// one or several together is each server's own affair. What the change computes is refused by both, when it is queried
/// alone.
fn first_error(sql: &str, outcomes: &[Outcome; 2], pair: &mut Pair) -> Result<Option<&'static str>, String> {
    let [Outcome::Refused(a, _), Outcome::Refused(b, _)] = outcomes else { return Ok(None) };
    let error = match (*a, *b) {
        (1062, other) | (other, 1062) => other,
        _ => return Ok(None),
    };
    let Some(query) = computed(sql) else { return Ok(None) };
    let refused = |o: &Outcome| matches!(o, Outcome::Refused(code, _) if *code == error);
    let why = "a value out of range and a duplicate: which is met first is open";
    Ok(pair.both(&query)?.iter().all(refused).then_some(why))
}

/// The query of what INSERT ... SELECT puts in, or an UPDATE of one table assigns.
fn computed(sql: &str) -> Option<String> {
    if sql.starts_with("INSERT") || sql.starts_with("REPLACE") {
        return sql.find(" SELECT ").map(|at| sql[at + 1..].to_owned());
    }
    let rest = sql.strip_prefix("UPDATE ")?;
    let (table, rest) = rest.strip_prefix("IGNORE ").unwrap_or(rest).split_once(" SET ")?;
    let (_, rest) = rest.split_once(" = ")?;
    let mut depth = 0;
    let outside = |(at, c): (usize, char)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        depth == 0 && rest[at..].starts_with(" WHERE ")
    };
    let at = rest.char_indices().position(outside).and_then(|n| rest.char_indices().nth(n)).map(|(at, _)| at)?;
    Some(format!("SELECT {} FROM {table}{}", &rest[..at], &rest[at..]))
}

/// MariaDB makes a DECIMAL of integers of both signs in IF and CASE, MySQL a BIGINT: no difference where differences of
/// unsigned integers are signed.
fn unsigned(statement: &Statement, outcomes: &[Outcome; 2], pair: &mut Pair) -> Result<Option<&'static str>, String> {
    let out_of_range = |o: &Outcome| matches!(o, Outcome::Refused(1690, m) if m.starts_with("BIGINT UNSIGNED"));
    if !outcomes.iter().any(out_of_range) || !matches!(statement, Statement::Query(_)) {
        return Ok(None);
    }
    pair.must("SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_UNSIGNED_SUBTRACTION')")?;
    let again = pair.both(&statement.text())?;
    pair.must("SET SESSION sql_mode = REPLACE(@@sql_mode, 'NO_UNSIGNED_SUBTRACTION', '')")?;
    let manner = Manner { ordered: statement.ordered(), folded: statement.folds(), binary: false };
    let why = "MariaDB makes a DECIMAL of integers of both signs in IF and CASE, MySQL a BIGINT: no difference when they are signed";
    Ok(same(&again, manner).then_some(why))
}

/// MariaDB makes NULL of zero dates in functions under NO_ZERO_DATE: no difference without the rows that have some.
fn zero_dates(statement: &Statement, pair: &mut Pair, schema: &Schema) -> Result<Option<&'static str>, String> {
    let sql = statement.text();
    let tables: Vec<&Table> = schema
        .tables
        .iter()
        .map(|t| &**t)
        .filter(|t| super::mentions(&sql, &t.name) && t.dates().next().is_some())
        .collect();
    if tables.is_empty() {
        return Ok(None);
    }
    pair.must("START TRANSACTION")?;
    let mut found = false;
    for table in tables {
        let zero: Vec<String> = table.dates().map(|c| format!("{} = 0", c.name)).collect();
        let gone = pair.both(&format!("DELETE FROM {} WHERE {}", table.name, zero.join(" OR ")))?;
        found |= matches!(&gone[1], Outcome::Done(r) if r.ok.affected > 0);
    }
    let mut agree = false;
    if found {
        let manner = Manner { ordered: statement.ordered(), folded: statement.folds(), binary: false };
        agree = same(&pair.both(&sql)?, manner);
        for table in &schema.tables {
            agree &= same(&pair.both(&format!("SELECT * FROM {}", table.name))?, Manner::default());
        }
    }
    pair.must("ROLLBACK")?;
    Ok(agree
        .then_some("MariaDB makes NULL of zero dates in functions under NO_ZERO_DATE: no difference without such rows"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_change_computes_is_a_query() {
        let update = "UPDATE IGNORE t0 SET c1 = (t0.c1 - (SELECT 3 FROM t1 WHERE 1)) WHERE (t0.c1 > 0) ORDER BY id";
        let query = "SELECT (t0.c1 - (SELECT 3 FROM t1 WHERE 1)) FROM t0 WHERE (t0.c1 > 0) ORDER BY id";
        assert_eq!(computed(update).as_deref(), Some(query));
        let insert = "INSERT INTO t0 SELECT x.id + 43, (x.c1 - 4) FROM t1 x WHERE x.id < 7";
        assert_eq!(computed(insert).as_deref(), Some("SELECT x.id + 43, (x.c1 - 4) FROM t1 x WHERE x.id < 7"));
        assert_eq!(computed("DELETE FROM t0 WHERE 1"), None);
    }

    #[test]
    fn hints_stand_behind_aliases() {
        let sql = "SELECT 1 FROM t0 a0 JOIN (SELECT d.id FROM t1 d) a1 ON 1";
        let hinted = "SELECT 1 FROM t0 a0 USE INDEX () JOIN (SELECT d.id FROM t1 d USE INDEX ()) a1 ON 1";
        assert_eq!(without_indexes(sql), hinted);
    }
}
