//! Rounds of a theme: tables and statements of one part of the language, which the queries of the other rounds do not
//! reach. After each statement that is no query the tables are compared, and where the theme is about conversions the
//! warnings.

mod bodies;
mod changes;
mod columns;
mod computed;
mod definitions;
mod documents;
mod elsewhere;
mod extremes;
mod full_text;
mod keys;
mod mixes;
mod partitions;
mod programs;
mod sessions;
mod shapes;
mod smaller;
mod values;
mod views;

use super::{Manner, Outcome, Pair, Random, Reference, Tally, causes, explained, same};
use gannet_wire::client::Arg;
use gannet_wire::command::{DateTime, Time};
use std::fmt::Write;

/// Statements of one round of a theme.
const STEPS: usize = 60;

/// A parameter of a prepared statement.
#[derive(Clone, Debug)]
pub(super) enum Param {
    Null,
    Int(i64),
    UInt(u64),
    Double(f64),
    Text(String),
    Tiny(i8),
    Float(f32),
    Decimal(&'static str),
    DateTime(DateTime),
    Time(Time),
}

impl Param {
    fn arg(&self) -> Arg<'_> {
        match self {
            Param::Null => Arg::Null,
            Param::Int(n) => Arg::Int(*n),
            Param::UInt(n) => Arg::UInt(*n),
            Param::Double(n) => Arg::Double(*n),
            Param::Text(text) => Arg::Text(text),
            Param::Tiny(n) => Arg::Tiny(*n),
            Param::Float(n) => Arg::Float(*n),
            Param::Decimal(text) => Arg::Decimal(text),
            Param::DateTime(d) => Arg::DateTime(*d),
            Param::Time(t) => Arg::Time(*t),
        }
    }
}

/// A statement of a round.
#[derive(Clone, Debug, Default)]
pub(super) struct Step {
    sql: String,
    /// Sent as a prepared statement with these.
    params: Option<Vec<Param>>,
    /// Its rows come in this order.
    ordered: bool,
    /// Its warnings are compared, too.
    warns: bool,
    /// Documents among its rows are compared as such: the servers print them differently.
    documents: bool,
    /// All its results are compared, in order: of a procedure.
    calls: bool,
    /// Of texts that are equal in their collation any may be shown.
    folded: bool,
    /// The step before, which did the same to a table without partitions.
    beside: Option<String>,
}

impl Step {
    fn new(sql: impl Into<String>) -> Step {
        Step { sql: sql.into(), ..Step::default() }
    }

    fn ordered(sql: impl Into<String>) -> Step {
        Step { ordered: true, ..Step::new(sql) }
    }

    fn warns(sql: impl Into<String>) -> Step {
        Step { warns: true, ..Step::new(sql) }
    }

    fn documents(sql: impl Into<String>) -> Step {
        Step { documents: true, ..Step::new(sql) }
    }

    fn folded(sql: impl Into<String>) -> Step {
        Step { folded: true, ..Step::new(sql) }
    }

    fn call(sql: impl Into<String>) -> Step {
        Step { calls: true, ordered: true, ..Step::new(sql) }
    }

    fn is_query(&self) -> bool {
        self.sql.starts_with("SELECT") || self.sql.starts_with("WITH")
    }
}

/// A round of a theme.
#[derive(Clone)]
pub(super) struct Story {
    theme: &'static str,
    /// Statements that both must take.
    setup: Vec<String>,
    steps: Vec<Step>,
    /// Queries of what the changes change.
    shown: Vec<String>,
}

/// Something that makes a round.
type Theme = fn(&mut Random) -> Story;

const THEMES: &[Theme] = &[
    keys::references,
    keys::upserts,
    columns::generated,
    columns::altered,
    columns::enumerated,
    values::conversions,
    values::collations,
    documents::stored,
    sessions::parameters,
    sessions::variables,
    sessions::savepoints,
    sessions::temporary,
    views::views,
    definitions::definitions,
    definitions::joined,
    changes::several_tables,
    changes::variables,
    changes::locking,
    mixes::texts,
    mixes::dates,
    mixes::recursive,
    mixes::windows,
    programs::procedures,
    programs::triggers,
    computed::computed,
    elsewhere::prepared,
    partitions::partitions,
    full_text::full_text,
    shapes::frames,
    shapes::set_operations,
    shapes::rollups,
    shapes::walks,
    shapes::documents,
    extremes::numbers,
    extremes::moments,
    extremes::texts,
];

/// The round of a seed.
pub(super) fn story(seed: u64, only: Option<&str>, random: &mut Random) -> Story {
    let mut story = THEMES[seed as usize % THEMES.len()](random);
    if let Some(only) = only {
        for theme in THEMES {
            let other = theme(random);
            if other.theme == only {
                story = other;
            }
        }
    }
    story
}

/// Error numbers of MariaDB's own, as MySQL's.
fn common(code: u16) -> u16 {
    match code {
        // CHECK constraint is violated.
        4025 => 3819,
        // A value for a generated column.
        1906 => 3105,
        // A table of a database that is not there.
        1049 => 1146,
        // Windows that are not what they have to be.
        4009 => 3579,
        4011 => 3581,
        4012 => 3583,
        4013 => 3582,
        4014 => 3586,
        4019..=4021 => 3587,
        code => code,
    }
}

/// A warning in the form in which it is compared.
pub(super) fn warning(row: &[String]) -> String {
    values::line(row)
}

/// A difference without a reason.
#[derive(Clone)]
struct Found {
    /// Behind which step.
    at: usize,
    shown: [Outcome; 2],
}

/// A round on both servers. It ends with the first difference that has no reason; the smallest story that shows it is
/// told.
pub(super) fn round(seed: u64, story: &Story, pair: &mut Pair, tally: &mut Tally) -> Result<(), String> {
    if let Some(found) = walk(story, pair, tally)? {
        let (story, found) = smaller::smaller(story, &found, pair)?;
        report(seed, &story, &found, tally);
    }
    pair.must(&format!("DROP DATABASE IF EXISTS {}", pair.database))?;
    pair.again_without_pause()
}

/// Sends a story's statements to both servers, with connections of its own.
fn walk(story: &Story, pair: &mut Pair, tally: &mut Tally) -> Result<Option<Found>, String> {
    pair.must("ROLLBACK")?;
    pair.must(&format!("DROP DATABASE IF EXISTS {}", pair.database))?;
    pair.again_without_pause()?;
    for sql in &story.setup {
        pair.must(sql)?;
    }
    let mut told: Vec<&str> = story.setup.iter().map(String::as_str).collect();
    let mut before = None;
    for (at, step) in story.steps.iter().enumerate() {
        tally.statements += 1;
        told.push(&step.sql);
        let (outcomes, mut after) = one_step(story, step, &told, pair, tally)?;
        // Without that step, or its table (in a smaller story), nothing can be said.
        let done = before.as_ref().is_some_and(|b: &[Outcome; 2]| b.iter().any(|o| matches!(o, Outcome::Done(_))));
        let twin = done && at > 0 && step.beside.as_ref() == Some(&story.steps[at - 1].sql);
        if let (After::Unexplained(_), Some(before), Some(_)) = (&after, &before, &step.beside)
            && (!twin || partitions::is_as_without(step, &outcomes, before, pair)?)
        {
            tally.explain("MariaDB does not do to a partitioned table what it does to the same without partitions");
            after = if step.is_query() { After::Alike } else { After::Apart };
        }
        before = Some(outcomes);
        if let After::Unexplained(shown) = after {
            return Ok(Some(Found { at, shown }));
        }
        if matches!(after, After::Apart) {
            break;
        }
    }
    Ok(None)
}

/// What a step has shown.
enum After {
    Alike,
    /// For a reason the tables, or a definition, are no longer the same: nothing more can be said.
    Apart,
    Unexplained([Outcome; 2]),
}

fn one_step(
    story: &Story,
    step: &Step,
    told: &[&str],
    pair: &mut Pair,
    tally: &mut Tally,
) -> Result<([Outcome; 2], After), String> {
    let outcomes = run(step, pair)?;
    tally.refuse(&outcomes);
    // Behind an error its own are left: the error has been compared, and what was computed before it is open.
    let refused = matches!(&outcomes, [Outcome::Refused(..), Outcome::Refused(..)]);
    let warnings = if step.warns && !refused { Some(pair.both("SHOW WARNINGS")?) } else { None };
    let mut differ = (!alike(step, &outcomes)).then(|| outcomes.clone());
    if let (None, Some(warnings)) = (&differ, &warnings) {
        match values::same_warnings(warnings) {
            Some(why) => why.into_iter().for_each(|why| tally.explain(why)),
            None => differ = Some(warnings.clone()),
        }
    }
    let (mut apart, mut rows_apart) = (false, None);
    for sql in story.shown.iter().filter(|_| !step.is_query()) {
        let rows = pair.both(sql)?;
        let ordered = sql.contains(" ORDER BY ");
        if !alike(&Step { ordered, documents: step.documents, ..Step::default() }, &rows) {
            (apart, differ) = (true, differ.or(Some(rows.clone())));
            rows_apart = rows_apart.or(Some(rows));
        }
    }
    // The manual leaves LAST_INSERT_ID() open behind an error.
    if refused && !step.is_query() {
        pair.must("SELECT LAST_INSERT_ID(0)")?;
    }
    let Some(shown) = differ else { return Ok((outcomes, After::Alike)) };
    if step.is_query()
        && let Some(why) = of_query(story, step, &shown, pair)?
    {
        tally.explain(why);
        return Ok((outcomes, After::Alike));
    }
    let reference = pair.reference;
    let reason = |shown: &[Outcome; 2]| {
        let why = explained::reason(reference, &step.sql, shown);
        why.or_else(|| explained::reason_of_step(reference, story.theme, &executed(told, &step.sql), shown))
    };
    let Some(why) = reason(&shown) else { return Ok((outcomes, After::Unexplained(shown))) };
    // Where both are done other rows need a reason of their own.
    let both_done = matches!(&outcomes, [Outcome::Done(_), Outcome::Done(_)]);
    if let Some(rows) = rows_apart.filter(|rows| both_done && reason(rows).is_none()) {
        return Ok((outcomes, After::Unexplained(rows)));
    }
    tally.explain(why);
    let refused_by_one = !refused && outcomes.iter().any(|o| matches!(o, Outcome::Refused(..)));
    let apart = apart || step.sql.starts_with("ALTER") && refused_by_one || story.shown.is_empty() && !step.is_query();
    Ok((outcomes, if apart { After::Apart } else { After::Alike }))
}

/// Why a query differs, as far as it can be tried out.
fn of_query(story: &Story, step: &Step, shown: &[Outcome; 2], pair: &mut Pair) -> Result<Option<&'static str>, String> {
    let manner = Manner { ordered: step.ordered, ..Manner::default() };
    if pair.reference == Reference::MySql {
        let plain = step.params.is_none() && same(&[shown[0].clone(), pair.plain(&step.sql)?], manner);
        return Ok(plain.then_some("the second server gives the same answer with fewer optimizations"));
    }
    Ok(match story.theme {
        "collations" | "enumerated" | "generated" if causes::of_step(&step.sql, shown, manner, pair)? => {
            Some("MariaDB gives the same answer without an index")
        }
        "full text" if full_text::of_rows_that_are_there(step, pair)? => {
            Some("InnoDB counts rows that are gone in the rank of a word with <, which may be 0")
        }
        "stored documents" if documents::in_order(step, shown, pair)? => {
            Some("MySQL sorts the members of documents: MariaDB gives the same answer when they are")
        }
        "stored documents" if documents::by_member(step, shown, pair)? => {
            Some("MariaDB finds no member in common where one of the same name has another type")
        }
        _ => None,
    })
}

fn run(step: &Step, pair: &mut Pair) -> Result<[Outcome; 2], String> {
    match &step.params {
        None if step.calls => pair.called(&step.sql),
        None => pair.both(&step.sql),
        Some(params) => {
            let args: Vec<Arg<'_>> = params.iter().map(Param::arg).collect();
            pair.executed(&step.sql, &args)
        }
    }
}

/// The statement that EXECUTE runs; any other is itself.
fn executed(told: &[&str], sql: &str) -> String {
    let name = sql.strip_prefix("EXECUTE ").and_then(|rest| rest.split(' ').next());
    let prepared = |name: &str| {
        let text = told.iter().rev().find_map(|sql| sql.strip_prefix(&format!("PREPARE {name} FROM '")[..]))?;
        Some(text.strip_suffix('\'')?.replace("''", "'"))
    };
    name.and_then(prepared).unwrap_or_else(|| sql.to_owned())
}

/// True when both did the same.
fn alike(step: &Step, outcomes: &[Outcome; 2]) -> bool {
    let manner = Manner { ordered: step.ordered, folded: step.folded, binary: false };
    match outcomes {
        [Outcome::Refused(a, _), Outcome::Refused(b, _)] if common(*a) == common(*b) => true,
        [Outcome::Done(a), Outcome::Done(b)] if a.columns.is_empty() && b.columns.is_empty() => {
            // Where the condition is never true MariaDB says nothing.
            let info = counts(&a.ok.info) == counts(&b.ok.info)
                || b.ok.info.is_empty() && a.ok.info.starts_with("Rows matched: 0  Changed: 0");
            // The rows that the last statement changed, or those of all.
            let info = info || step.calls;
            // Whether ALTER TABLE copies rows is each server's own affair.
            step.calls
                || step.sql.starts_with("ALTER")
                || a.ok.affected == b.ok.affected && a.ok.insert_id == b.ok.insert_id && info
        }
        outcomes if step.documents => same(&outcomes.clone().map(documents::canonical), manner),
        outcomes => same(outcomes, manner),
    }
}

/// `Rows matched: 3  Changed: 1` without the number of warnings.
pub(super) fn counts(info: &str) -> &str {
    info.split("  Warnings:").next().unwrap_or(info)
}

fn report(seed: u64, story: &Story, found: &Found, tally: &mut Tally) {
    let step = &story.steps[found.at];
    let [first, second] = super::unlike(&found.shown);
    let [whole, other] = &found.shown;
    let (first, second) = match (first.text(), second.text()) {
        // The same rows in another order.
        (a, b) if a == b => (whole.text(), other.text()),
        texts => texts,
    };
    let mut text = format!("seed {seed}, {}:\n  {};", story.theme, step.sql);
    if let Some(params) = &step.params {
        let _ = write!(text, "  with {params:?}");
    }
    let _ = write!(text, "\n  first:\n{first}\n  second:\n{second}\n  after:");
    for sql in story.setup.iter().chain(story.steps[..found.at].iter().map(|step| &step.sql)) {
        let _ = write!(text, "\n  {sql};");
    }
    println!("{text}\n");
    tally.found.push(text);
}

/// A number of a small range, NULL now and then.
fn small(random: &mut Random, below: usize) -> String {
    if random.percent(8) { "NULL".into() } else { random.below(below).to_string() }
}

/// A word in quotes, NULL now and then.
fn word(random: &mut Random) -> String {
    let words = ["a", "A", "b", "ab", "abc", "é", "e", "", "x1", "10", "2", "B ", "zz"];
    if random.percent(8) { "NULL".into() } else { format!("'{}'", random.pick(&words)) }
}

/// One of them.
fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    random.pick::<&'t str>(of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_made_from_the_seed_alone() {
        for seed in 0..THEMES.len() as u64 {
            let text = |seed| {
                let story = story(seed, None, &mut Random(seed));
                let steps: Vec<String> = story.steps.iter().map(|s| format!("{} {:?}", s.sql, s.params)).collect();
                format!("{:?} {steps:?}", story.setup)
            };
            assert_eq!(text(seed), text(seed));
        }
    }
}
