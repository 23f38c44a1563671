//! `cargo xtask diff`: random schemas, data, queries and changes on two servers, differences made small and printed.
//!
//! A round makes tables, fills them, and sends statements to both servers. Compared are rows (in order where ORDER BY
//! makes the order total), numbers of columns, changed rows, error numbers, and after each change the tables. What is
//! known to differ for a reason is in `explained.rs`. A round's seed replays it: `--seed N --statements 1`.

mod causes;
pub(crate) mod change;
mod conditions;
mod explained;
mod expr;
pub(crate) mod generate;
mod mysql;
mod query;
mod wide;

use change::Statement;
use gannet_wire::client::{Address, Arg, Connection, Error, Options, ResultSet};
use gannet_wire::flags::ty;
use generate::Schema;
use query::Query;
use std::{
    borrow::Cow,
    collections::BTreeMap,
    fmt::Write,
    time::{Duration, Instant},
};

/// Statements of one round.
const ROUND: usize = 120;
/// Where everything happens, if no other name is given.
const DATABASE: &str = "gannet_diff";
/// Differences after which a run ends.
const ENOUGH: usize = 20;

/// Random numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in `n` of a hundred cases.
    pub(crate) fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    pub(crate) fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        &of[self.below(of.len())]
    }
}

/// What a statement did on one server.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// Rows, or what changed.
    Done(ResultSet),
    /// Error number and text.
    Refused(u16, String),
}

impl Outcome {
    fn text(&self) -> String {
        match self {
            Outcome::Refused(code, message) => format!("error {code}: {message}"),
            Outcome::Done(r) if r.columns.is_empty() => {
                format!("{} rows changed, id {}, {}", r.ok.affected, r.ok.insert_id, r.ok.info)
            }
            Outcome::Done(r) => {
                let mut out = String::new();
                for row in r.texts().iter().take(12) {
                    let _ = writeln!(out, "    {}", row.join(" | "));
                }
                if r.rows.len() > 12 {
                    let _ = writeln!(out, "    ... {} rows", r.rows.len());
                }
                out.trim_end().to_owned()
            }
        }
    }
}

/// What the second server is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reference {
    MariaDb,
    MySql,
}

struct Pair {
    reference: Reference,
    a: Connection,
    b: Connection,
    /// The second server with fewer optimizations.
    plain: Connection,
    addresses: [Address; 2],
    database: String,
}

fn connect(address: &Address) -> Result<Connection, String> {
    let options = Options { timeout: Some(Duration::from_secs(60)), ..Options::default() };
    Connection::connect(address, &options).map_err(|e| format!("{address:?}: {e:?}"))
}

const NATIVE_KEYS: &str = "SELECT @@innodb_native_foreign_keys";

const SETUP: &[&str] = &[
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION group_concat_max_len = 1000000",
    "SET SESSION time_zone = '+00:00'",
];

impl Pair {
    fn new(addresses: [Address; 2], database: &str) -> Result<Pair, String> {
        let (a, mut b, plain) = (connect(&addresses[0])?, connect(&addresses[1])?, connect(&addresses[1])?);
        let Outcome::Done(version) = outcome(b.query("SELECT VERSION()"), "second", "SELECT VERSION()")? else {
            return Err("the second server tells no version".into());
        };
        let of_mariadb = version.texts().iter().flatten().any(|v| v.contains("MariaDB"));
        let reference = if of_mariadb { Reference::MariaDb } else { Reference::MySql };
        // 8.4 leaves foreign keys to InnoDB.
        let native = outcome(b.query(NATIVE_KEYS), "second", NATIVE_KEYS)?;
        if matches!(native, Outcome::Done(rows) if rows.texts().iter().flatten().any(|v| v == "0")) {
            return Err("MySQL 9 looks after foreign keys as 8.4 does with --innodb-native-foreign-keys=ON".into());
        }
        let mut pair = Pair { reference, a, b, plain, addresses, database: database.into() };
        pair.prepare()?;
        Ok(pair)
    }

    fn prepare(&mut self) -> Result<(), String> {
        for sql in SETUP {
            self.must(sql)?;
        }
        if self.reference == Reference::MariaDb {
            // Its cache of subqueries takes values for the same that are equal in their collation only.
            self.one(true, "SET SESSION optimizer_switch = 'subquery_cache=off'")?;
        }
        let database = &self.database;
        let (create, used) = (format!("CREATE DATABASE IF NOT EXISTS {database}"), format!("USE {database}"));
        self.must(&format!("{create} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci"))?;
        self.must(&used)?;
        for sql in SETUP.iter().copied().chain([causes::plain(self.reference), &used]) {
            if let Outcome::Refused(code, message) = self.plain(sql)? {
                return Err(format!("{sql}: {code} {message}"));
            }
        }
        Ok(())
    }

    /// On the second server, with fewer optimizations.
    fn plain(&mut self, sql: &str) -> Result<Outcome, String> {
        outcome(self.plain.query(&self.reference.modes(sql)), "second", sql)
    }

    /// On the first server as a prepared statement: the result comes in the binary protocol.
    fn prepared(&mut self, sql: &str) -> Result<Outcome, String> {
        let statement = match self.a.prepare(sql) {
            Ok(statement) => statement,
            Err(Error::Server { code, message, .. }) => return Ok(Outcome::Refused(code, message)),
            Err(e) => return Err(format!("lost the first server: {e:?}\n  {sql}")),
        };
        let done = self.a.execute(&statement, &[]);
        let _ = self.a.close(&statement);
        outcome(done, "first", sql)
    }

    /// A server that went away is given a second to come back.
    fn one(&mut self, second: bool, sql: &str) -> Result<Outcome, String> {
        if second {
            outcome(self.b.query(&self.reference.modes(sql)), "second", sql)
        } else {
            outcome(self.a.query(sql), "first", sql)
        }
    }

    fn both(&mut self, sql: &str) -> Result<[Outcome; 2], String> {
        let reference = self.reference;
        self.together(|connection, server| {
            let text = if server == "second" { reference.modes(sql) } else { sql.into() };
            outcome(connection.query(&text), server, sql)
        })
    }

    /// The same on both servers at the same time.
    fn together(
        &mut self,
        on: impl Fn(&mut Connection, &'static str) -> Result<Outcome, String> + Sync,
    ) -> Result<[Outcome; 2], String> {
        let Pair { a, b, .. } = self;
        std::thread::scope(|scope| {
            let second = scope.spawn(|| on(b, "second"));
            let first = on(a, "first");
            let second = second.join().map_err(|_| "the thread of the second server panicked".to_owned())?;
            Ok([first?, second?])
        })
    }

    /// On both, with the rows of all results one behind the other.
    fn called(&mut self, sql: &str) -> Result<[Outcome; 2], String> {
        self.together(|connection, server| {
            let joined = connection.query_multi(sql).map(|mut all| {
                let last = all.pop().unwrap_or_default();
                let mut first = ResultSet { ok: last.ok, ..ResultSet::default() };
                for result in all {
                    first.columns = result.columns;
                    first.rows.extend(result.rows);
                }
                first
            });
            outcome(joined, server, sql)
        })
    }

    /// On both as a prepared statement with parameters.
    fn executed(&mut self, sql: &str, args: &[Arg<'_>]) -> Result<[Outcome; 2], String> {
        self.together(|connection, server| {
            let statement = match connection.prepare(sql) {
                Ok(statement) => statement,
                Err(Error::Server { code, message, .. }) => return Ok(Outcome::Refused(code, message)),
                Err(e) => return Err(format!("lost the {server} server: {e:?}\n  {sql}")),
            };
            let done = connection.execute(&statement, args);
            let _ = connection.close(&statement);
            outcome(done, server, sql)
        })
    }

    fn must(&mut self, sql: &str) -> Result<(), String> {
        for outcome in self.both(sql)? {
            if let Outcome::Refused(code, message) = outcome {
                return Err(format!("{sql}: {code} {message}"));
            }
        }
        Ok(())
    }

    /// New connections, after a pause in which a server may come back.
    fn again(&mut self) -> Result<(), String> {
        std::thread::sleep(Duration::from_secs(1));
        self.again_without_pause()
    }

    fn again_without_pause(&mut self) -> Result<(), String> {
        (self.a, self.b) = (connect(&self.addresses[0])?, connect(&self.addresses[1])?);
        self.plain = connect(&self.addresses[1])?;
        self.prepare()
    }
}

impl Reference {
    /// MariaDB rounds fractions of seconds, as MySQL does, in a mode of its own.
    fn modes(self, sql: &str) -> Cow<'_, str> {
        let mode = ["SET sql_mode = '", "SET SESSION sql_mode = '"].iter().find_map(|set| sql.strip_prefix(set));
        match mode.and_then(|rest| rest.strip_suffix('\'')) {
            Some(mode) if self == Reference::MariaDb => {
                Cow::Owned(format!("SET SESSION sql_mode = '{mode},TIME_ROUND_FRACTIONAL'"))
            }
            _ => Cow::Borrowed(sql),
        }
    }
}

/// What a server answered. An error that is not the server's means that the server is lost.
fn outcome(result: Result<ResultSet, Error>, server: &str, sql: &str) -> Result<Outcome, String> {
    match result {
        Ok(rows) => Ok(Outcome::Done(rows)),
        Err(Error::Server { code, message, .. }) => Ok(Outcome::Refused(code, message)),
        Err(e) => Err(format!("lost the {server} server: {e:?}\n  {sql}")),
    }
}

/// How rows are compared.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// The order is fixed by the statement.
    ordered: bool,
    /// Of texts that are equal in their collation any may be shown.
    folded: bool,
    /// One is of the binary protocol, which sends a DOUBLE of a fixed number of decimals unrounded.
    binary: bool,
}

/// Error numbers that say the same: about two, three or more operands (illegal mix of collations), or on each of the
/// servers.
fn family(code: u16) -> u16 {
    match code {
        1270 | 1271 => 1267,
        // The type of ORDER BY of a RANGE frame.
        4021 => 3587,
        code => code,
    }
}

/// True when both did the same.
fn same(outcomes: &[Outcome; 2], manner: Manner) -> bool {
    match outcomes {
        [Outcome::Refused(a, _), Outcome::Refused(b, _)] => family(*a) == family(*b),
        [Outcome::Done(a), Outcome::Done(b)] => {
            if a.columns.len() != b.columns.len() || a.rows.len() != b.rows.len() {
                return false;
            }
            if a.columns.is_empty() {
                return a.ok.affected == b.ok.affected;
            }
            let float: Vec<bool> = a
                .columns
                .iter()
                .zip(&b.columns)
                .map(|(x, y)| [x.ty, y.ty].iter().any(|t| matches!(*t, ty::DOUBLE | ty::FLOAT)))
                .collect();
            let decimals = |i: usize| a.columns[i].decimals;
            let rows = |r: &ResultSet, manner: Manner| {
                let value = |(v, float): (String, &bool)| match v.parse::<f64>() {
                    // YEAR has four digits as text, and is a number in the binary protocol.
                    Ok(0.0) if v == "0000" => Value::Text("0".into()),
                    // The remainder of a negative number.
                    Ok(0.0) if !*float && v.starts_with("-0") => Value::Text(v[1..].into()),
                    Ok(n) if *float => Value::Number(n + 0.0),
                    _ if manner.folded => Value::Text(fold(&v)),
                    _ => Value::Text(v),
                };
                let round = |(i, v): (usize, Value)| match v {
                    Value::Number(n) if manner.binary && decimals(i) < 31 => {
                        Value::Number(format!("{n:.*}", usize::from(decimals(i))).parse().unwrap_or(n))
                    }
                    v => v,
                };
                let row = |row: Vec<String>| row.into_iter().zip(&float).map(value).enumerate().map(round).collect();
                let mut rows: Vec<Vec<Value>> = r.texts().into_iter().map(row).collect();
                if !manner.ordered {
                    rows.sort_by_cached_key(|row| row.iter().map(Value::coarse).collect::<Vec<_>>());
                }
                rows
            };
            // Texts that are equal in their collation come in any order.
            rows(a, manner) == rows(b, manner)
                || manner.ordered && {
                    let (folded, any) = (Manner { folded: true, ..manner }, Manner { ordered: false, ..manner });
                    rows(a, folded) == rows(b, folded) && rows(a, any) == rows(b, any)
                }
        }
        _ => false,
    }
}

/// A cell as it is compared.
enum Value {
    Text(String),
    /// Equal within a relative error: the last digits depend on the order of additions.
    Number(f64),
}

impl Value {
    /// For an order that the last digits do not change.
    fn coarse(&self) -> String {
        match self {
            Value::Text(text) => text.clone(),
            Value::Number(n) => format!("{n:.5e}"),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Text(a), Value::Text(b)) => a == b,
            // As text a FLOAT has six digits.
            (Value::Number(a), Value::Number(b)) => (a - b).abs() <= 6e-6 * a.abs().max(b.abs()).max(1e-3),
            _ => false,
        }
    }
}

/// Equal for texts that some collation of the generated columns takes as equal.
fn fold(text: &str) -> String {
    let plain = |c: char| match c {
        'é' | 'É' => 'e',
        'ä' | 'Ä' => 'a',
        c => c.to_ascii_lowercase(),
    };
    text.trim_end_matches(' ').chars().map(plain).collect()
}

/// Totals of a run.
#[derive(Default)]
struct Tally {
    statements: usize,
    refused: usize,
    explained: BTreeMap<&'static str, usize>,
    found: Vec<String>,
}

impl Tally {
    fn explain(&mut self, why: &'static str) {
        *self.explained.entry(why).or_default() += 1;
    }

    fn refuse(&mut self, outcomes: &[Outcome; 2]) {
        self.refused += usize::from(matches!(outcomes, [Outcome::Refused(..), Outcome::Refused(..)]));
    }
}

/// Runs the verb. `--port-a`, `--port-b` (or `--socket-a`, `--socket-b`), `--seed`, `--statements`, `--differences`
/// (after which it ends), `--database`, `--theme` (rounds of it alone; `queries` and `changes` are those without a
/// theme, `conditions` asks the first server alone).
pub fn run(args: &[String]) -> Result<String, String> {
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1));
    let number = |name: &str, otherwise: u64| match option(name) {
        Some(text) => text.parse().map_err(|_| format!("{name} wants a number, not {text}")),
        None => Ok(otherwise),
    };
    let address = |which: &str| match (option(&format!("--socket-{which}")), option(&format!("--port-{which}"))) {
        (Some(path), _) => Ok(Address::Unix(path.into())),
        (None, Some(port)) => match port.parse() {
            Ok(port) => Ok(Address::Tcp("127.0.0.1".into(), port)),
            Err(_) => Err(format!("--port-{which} wants a number, not {port}")),
        },
        (None, None) => Err(format!("--port-{which} or --socket-{which} names a server")),
    };
    let (first, wanted) = (number("--seed", 1)?, number("--statements", 200_000)? as usize);
    let theme = option("--theme").map(String::as_str);
    let enough = number("--differences", ENOUGH as u64)? as usize;
    let mut pair = Pair::new([address("a")?, address("b")?], option("--database").map_or(DATABASE, |d| d))?;
    let (begin, mut tally, mut seed) = (Instant::now(), Tally::default(), first);
    while tally.statements < wanted && tally.found.len() < enough {
        // Each third round is one of a theme.
        let done = match (seed % 3, theme) {
            (_, Some("conditions")) => conditions::round(seed, &mut pair, &mut tally),
            (1 | 2, None) | (_, Some("queries" | "changes")) => round(seed, theme, &mut pair, &mut tally),
            _ => {
                let mut random = Random::new(seed);
                let story = wide::story(seed / 3, theme, &mut random);
                wide::round(seed, &story, &mut pair, &mut tally)
            }
        };
        if let Err(message) = done {
            println!("seed {seed}: {message}\n");
            tally.found.push(message);
            pair.again()?;
        }
        seed += 1;
    }
    let mut text = format!(
        "{} statements ({} refused by both) in {:.0} s, seeds {first} to {}: {} differences",
        tally.statements,
        tally.refused,
        begin.elapsed().as_secs_f64(),
        seed - 1,
        tally.found.len()
    );
    for (reason, count) in &tally.explained {
        let _ = write!(text, "\n  explained {count:6}  {reason}");
    }
    if tally.found.is_empty() { Ok(text) } else { Err(text) }
}

/// A round of queries and changes over random tables. `only`: of one of the two.
fn round(seed: u64, only: Option<&str>, pair: &mut Pair, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed);
    let schema = Schema::new(&mut random);
    for sql in schema.create() {
        pair.must(&sql)?;
    }
    for sql in schema.fill(&mut random) {
        let outcomes = pair.both(&sql)?;
        if !same(&outcomes, Manner::default()) && !explain(pair, &sql, &outcomes, tally) {
            report(seed, pair, &schema, &sql, &outcomes, tally)?;
            return Ok(());
        }
    }
    if !tables_agree(seed, "after loading", pair, &schema, tally)? {
        return Ok(());
    }
    for n in 0..ROUND {
        let statement = Statement::new(&schema, &mut random);
        if only.is_some_and(|only| (only == "queries") != matches!(statement, Statement::Query(_))) {
            continue;
        }
        let sql = statement.text();
        tally.statements += 1;
        match &statement {
            Statement::Query(query) => one_query(seed, query, n % 6 == 0, pair, &schema, tally)?,
            Statement::Change(_) => {
                if !one_change(seed, &statement, &sql, n % 4 == 0, pair, &schema, tally)? {
                    return Ok(());
                }
            }
        }
    }
    Ok(())
}

/// A query on both servers; `binary`: on the first also as a prepared statement.
fn one_query(
    seed: u64,
    query: &Query,
    binary: bool,
    pair: &mut Pair,
    schema: &Schema,
    tally: &mut Tally,
) -> Result<(), String> {
    let sql = query.text();
    let outcomes = pair.both(&sql)?;
    tally.refuse(&outcomes);
    let manner = Manner { ordered: query.is_ordered(), folded: query.folds(), binary: false };
    if binary {
        let both = [outcomes[0].clone(), pair.prepared(&sql)?];
        if !same(&both, Manner { binary: true, ..manner }) {
            report(seed, pair, schema, &format!("text and binary protocol: {sql}"), &both, tally)?;
        }
    }
    if same(&outcomes, manner) || explain(pair, &sql, &outcomes, tally) {
        return Ok(());
    }
    if let Some(why) = causes::of_query(query, &outcomes, pair, schema)? {
        tally.explain(why);
        return Ok(());
    }
    let small = smaller(query.clone(), pair, schema)?.text();
    let outcomes = pair.both(&small)?;
    report(seed, pair, schema, &format!("{small};\n  -- of: {sql}"), &outcomes, tally)
}

/// A change on both servers, in a transaction that is ended by COMMIT when they agree. False: they do not.
fn one_change(
    seed: u64,
    statement: &Statement,
    sql: &str,
    binary: bool,
    pair: &mut Pair,
    schema: &Schema,
    tally: &mut Tally,
) -> Result<bool, String> {
    pair.must("START TRANSACTION")?;
    let outcomes = if binary { [pair.prepared(sql)?, pair.one(true, sql)?] } else { pair.both(sql)? };
    tally.refuse(&outcomes);
    let mut differ = (!same(&outcomes, Manner::default())).then(|| outcomes.clone());
    for table in &schema.tables {
        if differ.is_none() {
            let rows = pair.both(&format!("SELECT * FROM {}", table.name))?;
            differ = (!same(&rows, Manner::default())).then_some(rows);
        }
    }
    let Some(shown) = differ else {
        pair.must("COMMIT")?;
        return Ok(true);
    };
    pair.must("ROLLBACK")?;
    if explain(pair, sql, &outcomes, tally) {
        return Ok(true);
    }
    if let Some(why) = explained::reason_of_change(pair.reference, sql, &outcomes) {
        tally.explain(why);
        return Ok(true);
    }
    match causes::of_change(statement, &outcomes, pair, schema)? {
        Some(why) => tally.explain(why),
        None => report(seed, pair, schema, sql, &shown, tally)?,
    }
    Ok(true)
}

fn explain(pair: &Pair, sql: &str, outcomes: &[Outcome; 2], tally: &mut Tally) -> bool {
    let reason = explained::reason(pair.reference, sql, outcomes);
    if let Some(reason) = reason {
        tally.explain(reason);
    }
    reason.is_some()
}

/// The tables hold the same rows.
fn tables_agree(seed: u64, sql: &str, pair: &mut Pair, schema: &Schema, tally: &mut Tally) -> Result<bool, String> {
    for table in &schema.tables {
        let outcomes = pair.both(&format!("SELECT * FROM {}", table.name))?;
        if !same(&outcomes, Manner::default()) {
            if !explain(pair, sql, &outcomes, tally) {
                report(seed, pair, schema, sql, &outcomes, tally)?;
            }
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a query smaller for as long as the servers still differ, unexplained.
fn smaller(mut query: Query, pair: &mut Pair, schema: &Schema) -> Result<Query, String> {
    let mut tries = 0;
    'again: loop {
        for candidate in query.smaller() {
            tries += 1;
            if tries > 800 {
                return Ok(query);
            }
            let sql = candidate.text();
            let outcomes = pair.both(&sql)?;
            let manner = Manner { ordered: candidate.is_ordered(), folded: candidate.folds(), binary: false };
            // A candidate that one of them refuses for its form is another difference.
            let form = |o: &Outcome| matches!(o, Outcome::Refused(1054 | 1064 | 1235 | 1052 | 1111 | 1056 | 1055, _));
            if !same(&outcomes, manner)
                && !outcomes.iter().any(form)
                && !explained::shows_any_value(&sql)
                && explained::reason(pair.reference, &sql, &outcomes).is_none()
                && causes::of_query(&candidate, &outcomes, pair, schema)?.is_none()
            {
                query = candidate;
                continue 'again;
            }
        }
        return Ok(query);
    }
}

fn report(
    seed: u64,
    pair: &mut Pair,
    schema: &Schema,
    sql: &str,
    outcomes: &[Outcome; 2],
    tally: &mut Tally,
) -> Result<(), String> {
    let [first, second] = unlike(outcomes);
    let mut text = format!("seed {seed}:\n  {sql};\n  first:\n{}\n  second:\n{}", first.text(), second.text());
    for table in schema.tables.iter().filter(|t| mentions(sql, &t.name)) {
        let _ = write!(text, "\n  {};", table.create());
        if let Outcome::Done(rows) = pair.one(true, &format!("SELECT * FROM {}", table.name))? {
            for row in rows.texts().iter().take(40) {
                let _ = write!(text, "\n    {}", row.join(" | "));
            }
        }
    }
    println!("{text}\n");
    tally.found.push(text);
    Ok(())
}

/// The rows that one server gave and the other did not.
fn unlike(outcomes: &[Outcome; 2]) -> [Outcome; 2] {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return outcomes.clone() };
    let rows = |of: &ResultSet, other: &ResultSet| {
        let mut others = other.texts();
        let mut left = of.clone();
        let kept = of.rows.iter().zip(of.texts()).filter(|(_, text)| match others.iter().position(|o| o == text) {
            Some(at) => {
                others.swap_remove(at);
                false
            }
            None => true,
        });
        left.rows = kept.map(|(row, _)| row.clone()).collect();
        Outcome::Done(left)
    };
    if a.columns.is_empty() { outcomes.clone() } else { [rows(a, b), rows(b, a)] }
}

fn mentions(sql: &str, name: &str) -> bool {
    sql.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_made_from_the_seed_alone() {
        let text = |seed| {
            let mut random = Random(seed);
            let schema = Schema::new(&mut random);
            let statements = (0..50).map(|_| Statement::new(&schema, &mut random).text());
            statements.collect::<Vec<_>>().join("\n")
        };
        assert_eq!(text(7), text(7));
        assert_ne!(text(7), text(8));
    }

    #[test]
    fn a_smaller_query_is_another_one() {
        let mut random = Random(3);
        let schema = Schema::new(&mut random);
        for _ in 0..200 {
            let query = query::Query::new(&schema, &mut random, 2);
            assert!(query.smaller().iter().all(|q| q.text() != query.text()), "{}", query.text());
        }
    }
}
