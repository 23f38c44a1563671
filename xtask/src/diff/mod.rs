//! `cargo xtask diff`: random schemas, data, queries and changes on two servers, differences made small and printed.
//!
//! A round makes tables, fills them, and sends statements to both servers. Compared are rows (in order where ORDER BY
//! makes the order total), numbers of columns, changed rows, error numbers, and after each change the tables. What is
//! known to differ for a reason is in `explained.rs`. A round's seed replays it: `--seed N --statements 1`.

mod explained;
mod generate;
mod query;

use gannet_wire::client::{Address, Connection, Error, Options, ResultSet};
use gannet_wire::flags::ty;
use generate::Schema;
use query::{Query, Statement};
use std::{
    collections::BTreeMap,
    fmt::Write,
    time::{Duration, Instant},
};

/// Statements of one round.
const ROUND: usize = 120;
/// Where everything happens.
const DATABASE: &str = "gannet_diff";
/// Differences after which a run ends.
const ENOUGH: usize = 20;

/// Random numbers from a seed.
pub(crate) struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `n`.
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// True in `n` of a hundred cases.
    fn percent(&mut self, n: usize) -> bool {
        self.below(100) < n
    }

    fn pick<'t, T>(&mut self, of: &'t [T]) -> &'t T {
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
            Outcome::Done(r) if r.columns.is_empty() => format!("{} rows changed", r.ok.affected),
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

struct Pair {
    a: Connection,
    b: Connection,
    addresses: [Address; 2],
}

fn connect(address: &Address) -> Result<Connection, String> {
    let options = Options { timeout: Some(Duration::from_secs(60)), ..Options::default() };
    Connection::connect(address, &options).map_err(|e| format!("{address:?}: {e:?}"))
}

const SETUP: &[&str] = &[
    "SET NAMES utf8mb4 COLLATE utf8mb4_general_ci",
    "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'",
    "SET SESSION time_zone = '+00:00'",
];

impl Pair {
    fn new(addresses: [Address; 2]) -> Result<Pair, String> {
        let mut pair = Pair { a: connect(&addresses[0])?, b: connect(&addresses[1])?, addresses };
        pair.prepare()?;
        Ok(pair)
    }

    fn prepare(&mut self) -> Result<(), String> {
        for sql in SETUP {
            self.must(sql)?;
        }
        // MariaDB's cache of subqueries takes values for the same that are equal in their collation only.
        let _ = self.one(true, "SET SESSION optimizer_switch = 'subquery_cache=off'")?;
        self.must(&format!("CREATE DATABASE IF NOT EXISTS {DATABASE}"))?;
        self.must(&format!("USE {DATABASE}"))
    }

    /// A server that went away is given a second to come back.
    fn one(&mut self, second: bool, sql: &str) -> Result<Outcome, String> {
        let connection = if second { &mut self.b } else { &mut self.a };
        match connection.query(sql) {
            Ok(rows) => Ok(Outcome::Done(rows)),
            Err(Error::Server { code, message, .. }) => Ok(Outcome::Refused(code, message)),
            Err(e) => Err(format!("lost the {} server: {e:?}\n  {sql}", if second { "second" } else { "first" })),
        }
    }

    fn both(&mut self, sql: &str) -> Result<[Outcome; 2], String> {
        Ok([self.one(false, sql)?, self.one(true, sql)?])
    }

    fn must(&mut self, sql: &str) -> Result<(), String> {
        for outcome in self.both(sql)? {
            if let Outcome::Refused(code, message) = outcome {
                return Err(format!("{sql}: {code} {message}"));
            }
        }
        Ok(())
    }

    fn again(&mut self) -> Result<(), String> {
        std::thread::sleep(Duration::from_secs(1));
        (self.a, self.b) = (connect(&self.addresses[0])?, connect(&self.addresses[1])?);
        self.prepare()
    }
}

/// How rows are compared.
#[derive(Clone, Copy, Default)]
struct Manner {
    /// The order is fixed by the statement.
    ordered: bool,
    /// Of texts that are equal in their collation any may be shown.
    folded: bool,
}

/// Error numbers that say the same about two, three or more operands: illegal mix of collations.
fn family(code: u16) -> u16 {
    if matches!(code, 1270 | 1271) { 1267 } else { code }
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
            let rows = |r: &ResultSet| {
                let value = |(v, float): (String, &bool)| match v.parse::<f64>() {
                    Ok(n) if *float => format!("{:.9e}", n + 0.0),
                    _ if manner.folded => fold(&v),
                    _ => v,
                };
                let mut rows: Vec<Vec<String>> =
                    r.texts().into_iter().map(|row| row.into_iter().zip(&float).map(value).collect()).collect();
                if !manner.ordered {
                    rows.sort();
                }
                rows
            };
            rows(a) == rows(b)
        }
        _ => false,
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

/// Runs the verb. `--port-a`, `--port-b` (or `--socket-a`, `--socket-b`), `--seed`, `--statements`,
/// `--differences` (after which it ends).
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
    let enough = number("--differences", ENOUGH as u64)? as usize;
    let mut pair = Pair::new([address("a")?, address("b")?])?;
    let (begin, mut tally, mut seed) = (Instant::now(), Tally::default(), first);
    while tally.statements < wanted && tally.found.len() < enough {
        if let Err(message) = round(seed, &mut pair, &mut tally) {
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

fn round(seed: u64, pair: &mut Pair, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random(seed.wrapping_mul(0x2545_F491_4F6C_DD1D));
    let schema = Schema::new(&mut random);
    for sql in schema.create() {
        pair.must(&sql)?;
    }
    for sql in schema.fill(&mut random) {
        let outcomes = pair.both(&sql)?;
        if !same(&outcomes, Manner::default()) && !explain(&sql, &outcomes, tally) {
            report(seed, pair, &schema, &sql, &outcomes, tally)?;
            return Ok(());
        }
    }
    if !tables_agree(seed, "after loading", pair, &schema, tally)? {
        return Ok(());
    }
    for _ in 0..ROUND {
        let statement = Statement::new(&schema, &mut random);
        let sql = statement.text();
        let outcomes = pair.both(&sql)?;
        tally.statements += 1;
        tally.refused += usize::from(matches!(outcomes, [Outcome::Refused(..), Outcome::Refused(..)]));
        let manner = Manner { ordered: statement.ordered(), folded: statement.folds() };
        let equal = same(&outcomes, manner);
        if let Statement::Query(query) = &statement {
            if !equal && !explain(&sql, &outcomes, tally) && !over_zero_dates(&sql, pair, &schema, tally)? {
                let query = smaller(query.clone(), pair)?;
                let sql = query.text();
                let outcomes = pair.both(&sql)?;
                report(seed, pair, &schema, &sql, &outcomes, tally)?;
            }
            continue;
        }
        if !equal {
            if !explain(&sql, &outcomes, tally) {
                report(seed, pair, &schema, &sql, &outcomes, tally)?;
            }
            return Ok(());
        }
        if !tables_agree(seed, &sql, pair, &schema, tally)? {
            return Ok(());
        }
    }
    Ok(())
}

fn explain(sql: &str, outcomes: &[Outcome; 2], tally: &mut Tally) -> bool {
    let reason = explained::reason(sql, outcomes);
    if let Some(reason) = reason {
        *tally.explained.entry(reason).or_default() += 1;
    }
    reason.is_some()
}

/// The query computes with zero dates, of which MariaDB makes NULL.
fn over_zero_dates(sql: &str, pair: &mut Pair, schema: &Schema, tally: &mut Tally) -> Result<bool, String> {
    if !explained::may_null_zero_dates(sql) {
        return Ok(false);
    }
    for table in schema.tables.iter().filter(|t| mentions(sql, &t.name)) {
        if let Outcome::Done(rows) = pair.one(true, &format!("SELECT * FROM {}", table.name))?
            && rows.texts().iter().flatten().any(|cell| cell.starts_with("0000-00-00"))
        {
            let reason = "MariaDB makes NULL of zero dates in DATE(), IF and CASE under NO_ZERO_DATE";
            *tally.explained.entry(reason).or_default() += 1;
            return Ok(true);
        }
    }
    Ok(false)
}

/// The tables hold the same rows.
fn tables_agree(seed: u64, sql: &str, pair: &mut Pair, schema: &Schema, tally: &mut Tally) -> Result<bool, String> {
    for table in &schema.tables {
        let outcomes = pair.both(&format!("SELECT * FROM {}", table.name))?;
        if !same(&outcomes, Manner::default()) {
            if !explain(sql, &outcomes, tally) {
                report(seed, pair, schema, sql, &outcomes, tally)?;
            }
            return Ok(false);
        }
    }
    Ok(true)
}

/// Makes a query smaller for as long as the servers still differ, unexplained.
fn smaller(mut query: Query, pair: &mut Pair) -> Result<Query, String> {
    let mut tries = 0;
    'again: loop {
        for candidate in query.smaller() {
            tries += 1;
            if tries > 1500 {
                return Ok(query);
            }
            let sql = candidate.text();
            let outcomes = pair.both(&sql)?;
            let manner = Manner { ordered: candidate.is_ordered(), folded: candidate.folds() };
            // A candidate that one of them refuses for its form is another difference.
            let form = |o: &Outcome| matches!(o, Outcome::Refused(1054 | 1064 | 1235 | 1052 | 1111 | 1056 | 1055, _));
            if !same(&outcomes, manner) && !outcomes.iter().any(form) && explained::reason(&sql, &outcomes).is_none() {
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
    let mut text =
        format!("seed {seed}:\n  {sql};\n  first:\n{}\n  second:\n{}", outcomes[0].text(), outcomes[1].text());
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
