//! A condition on one server alone: the rows where it is true, false and NULL are all rows, and those where it is true
//! the same in whatever form it stands. A value is the same wherever it is computed.

use super::expr::{Expr, Maker};
use super::generate::Schema;
use super::{Manner, Outcome, Pair, Random, Tally, same};
use gannet_wire::client::ResultSet;
use std::fmt::Write;

/// Conditions of a round.
const CONDITIONS: usize = 40;

/// What rows are read from.
struct From {
    text: String,
    /// Of copies that have no indexes.
    plain: String,
    aliases: Vec<String>,
}

impl From {
    fn any(m: &mut Maker<'_, '_>) -> From {
        let first = m.schema.table(m.random);
        m.scope = vec![("a".into(), first.clone())];
        let (mut text, mut plain) = (format!("{} a", first.name), format!("{}_plain a", first.name));
        let mut aliases = vec!["a".to_owned()];
        if m.random.percent(45) {
            let second = m.schema.table(m.random);
            m.scope.push(("b".into(), second.clone()));
            let join = *m.random.pick(&["JOIN", "LEFT JOIN", "LEFT JOIN"]);
            let on = m.join_condition(1).text();
            let _ = write!(text, " {join} {} b ON {on}", second.name);
            let _ = write!(plain, " {join} {}_plain b ON {on}", second.name);
            aliases.push("b".into());
        }
        From { text, plain, aliases }
    }

    /// The ids, each by a name of its own.
    fn ids(&self) -> String {
        self.aliases.iter().map(|a| format!("{a}.id {a}_id")).collect::<Vec<_>>().join(", ")
    }

    fn names(&self) -> String {
        self.aliases.iter().map(|a| format!("{a}_id")).collect::<Vec<_>>().join(", ")
    }
}

/// The rows of a query, without the last column where `cut`; `None`: an error, which other rows may have.
fn rows(pair: &mut Pair, sql: &str, cut: bool) -> Result<Option<ResultSet>, String> {
    Ok(match pair.one(false, sql)? {
        Outcome::Done(mut rows) => {
            if cut {
                rows.columns.pop();
                rows.rows.iter_mut().for_each(|row| drop(row.pop()));
            }
            Some(rows)
        }
        Outcome::Refused(1815, message) => return Err(format!("{message}\n  {sql}")),
        Outcome::Refused(..) => None,
    })
}

/// Two queries that differ, and what they gave.
type Fault = (String, String, [Outcome; 2]);

fn compare(
    pair: &mut Pair,
    wanted: (&str, Option<&ResultSet>),
    sql: String,
    cut: bool,
) -> Result<Option<Fault>, String> {
    let (Some(wanted_rows), Some(found)) = (wanted.1, rows(pair, &sql, cut)?) else { return Ok(None) };
    let both = [Outcome::Done(wanted_rows.clone()), Outcome::Done(found)];
    Ok((!same(&both, Manner::default())).then(|| (wanted.0.to_owned(), sql, both)))
}

/// The rows for which a condition is true, by each way to ask for them.
fn of_condition(pair: &mut Pair, from: &From, p: &Expr) -> Result<Option<Fault>, String> {
    let (ids, names, text, p) = (from.ids(), from.names(), &from.text, format!("({})", p.text()));
    let first = format!("SELECT {ids} FROM {text} WHERE {p}");
    let wanted = rows(pair, &first, false)?;
    let ways = [
        (format!("SELECT {ids} FROM {} WHERE {p}", from.plain), false),
        (format!("SELECT {names} FROM (SELECT {ids}, {p} v FROM {text}) d WHERE v"), false),
        (format!("SELECT {names} FROM (SELECT {ids}, {p} v FROM {text} LIMIT 10000) d WHERE v <> 0"), false),
        (format!("SELECT {ids}, {p} v FROM {text} HAVING v"), true),
        (format!("SELECT {ids} FROM {text} WHERE NOT (NOT {p})"), false),
        (format!("SELECT {ids} FROM {text} WHERE CASE WHEN {p} THEN 1 ELSE 0 END"), false),
        (format!("SELECT {ids} FROM {text} WHERE {p} IS TRUE"), false),
        (format!("SELECT {ids} FROM {text} WHERE {p} ORDER BY {p}, 1 DESC"), false),
        (format!("SELECT {ids} FROM {text} WHERE {p} AND {p}"), false),
        (
            format!(
                "SELECT {ids} FROM {text} GROUP BY 1{} HAVING MAX({p})",
                if names.contains(',') { ", 2" } else { "" }
            ),
            false,
        ),
    ];
    for (sql, cut) in ways {
        if let Some(fault) = compare(pair, (&first, wanted.as_ref()), sql, cut)? {
            return Ok(Some(fault));
        }
    }
    // The others are where it is false or NULL.
    let all = format!("SELECT {ids} FROM {text}");
    let every = rows(pair, &all, false)?;
    let parts = [p.clone(), format!("NOT {p}"), format!("{p} IS NULL")];
    let parts = parts.map(|p| format!("SELECT {ids} FROM {text} WHERE {p}")).join(" UNION ALL ");
    if let Some(fault) = compare(pair, (&all, every.as_ref()), parts, false)? {
        return Ok(Some(fault));
    }
    let count = format!("SELECT COUNT(*) FROM {text} WHERE {p}");
    let counted = rows(pair, &count, false)?;
    let sum = format!("SELECT COALESCE(SUM({p} IS TRUE), 0) FROM {text}");
    compare(pair, (&count, counted.as_ref()), sum, false)
}

/// A value of each row, by each way to compute it.
fn of_value(pair: &mut Pair, from: &From, e: &Expr) -> Result<Option<Fault>, String> {
    let (ids, names, text, e) = (from.ids(), from.names(), &from.text, e.text());
    let first = format!("SELECT {ids}, {e} v FROM {text}");
    let wanted = rows(pair, &first, false)?;
    let group = if names.contains(',') { "1, 2" } else { "1" };
    let ways = [
        format!("SELECT {ids}, {e} v FROM {}", from.plain),
        format!("SELECT {names}, v FROM (SELECT {ids}, {e} v FROM {text} LIMIT 10000) d"),
        format!("SELECT {ids}, {e} v FROM {text} ORDER BY v, 1"),
        format!("SELECT {ids}, MAX({e}) v FROM {text} GROUP BY {group}"),
        format!(
            "SELECT {ids}, FIRST_VALUE({e}) OVER (PARTITION BY {names}) v FROM {text}",
            names = from.aliases.iter().map(|a| format!("{a}.id")).collect::<Vec<_>>().join(", ")
        ),
        format!("SELECT DISTINCT {ids}, {e} v FROM {text}"),
        format!("SELECT {ids}, (SELECT {e}) v FROM {text}"),
        format!("SELECT {ids}, l.v v FROM {text} JOIN LATERAL (SELECT {e} v) l"),
    ];
    for sql in ways {
        if let Some(fault) = compare(pair, (&first, wanted.as_ref()), sql, false)? {
            return Ok(Some(fault));
        }
    }
    Ok(None)
}

/// A round over random tables.
pub(super) fn round(seed: u64, pair: &mut Pair, tally: &mut Tally) -> Result<(), String> {
    let mut random = Random::new(seed);
    let schema = Schema::new(&mut random);
    for sql in schema.create() {
        pair.must(&sql)?;
    }
    for sql in schema.fill(&mut random) {
        pair.one(false, &sql)?;
    }
    for table in &schema.tables {
        pair.one(false, &format!("DROP TABLE IF EXISTS {}_plain", table.name))?;
        pair.one(false, &format!("CREATE TABLE {0}_plain SELECT * FROM {0}", table.name))?;
    }
    for n in 0..CONDITIONS {
        let mut m = Maker::new(&schema, &mut random);
        (m.mixes, m.rows) = (true, true);
        let from = From::any(&mut m);
        let kind = m.kind();
        let value = n % 3 == 0;
        let mut e = if value { m.expr(kind, 3) } else { m.condition(3) };
        tally.statements += 1;
        let check = if value { of_value } else { of_condition };
        let Some(mut fault) = check(pair, &from, &e)? else { continue };
        'smaller: loop {
            for small in e.smaller() {
                if let Some(still) = check(pair, &from, &small)? {
                    (e, fault) = (small, still);
                    continue 'smaller;
                }
            }
            break;
        }
        let (first, second, outcomes) = fault;
        super::report(seed, pair, &schema, &format!("{second};\n  -- beside: {first}"), &outcomes, tally)?;
    }
    Ok(())
}
