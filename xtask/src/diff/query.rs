//! Random queries, and smaller ones made from them.

use super::Random;
use super::expr::{Expr, Maker};
use super::generate::{Column, Kind, Schema, Table};
use std::rc::Rc;

#[derive(Clone, Debug)]
struct Join {
    kind: &'static str,
    /// A table's name, a derived table, a common table expression's name.
    source: Expr,
    alias: String,
    on: Option<Expr>,
    /// `USING (id)`
    using: bool,
}

/// A SELECT.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// `WITH`
    with: Option<Expr>,
    /// Behind SELECT.
    hint: &'static str,
    distinct: bool,
    items: Vec<Expr>,
    /// As they stand in a UNION: a YEAR as a number, which MariaDB cuts to a byte beside TINYINT.
    numbers: Vec<Expr>,
    from: Vec<Join>,
    filter: Option<Expr>,
    groups: Vec<Expr>,
    rollup: bool,
    having: Option<Expr>,
    /// By all columns, so that the order is total but for rows that look the same.
    ordered: bool,
    descending: bool,
    limit: Option<(usize, usize)>,
    union: Option<(&'static str, Box<Query>)>,
}

/// A table of FROM: its text, and its columns.
fn source(m: &mut Maker<'_, '_>, with: &mut Option<Expr>) -> (Expr, Rc<Table>) {
    let name = |text: &str| Expr::leaf(Kind::Int, text);
    let table = m.schema.table(m.random);
    if !m.random.percent(22) {
        return (name(&table.name), table);
    }
    let outer = std::mem::replace(&mut m.scope, vec![("d".into(), table.clone())]);
    m.depth += 1;
    let (query, derived) = derived(m, &table);
    m.depth -= 1;
    m.scope = outer;
    if with.is_none() && m.random.percent(50) {
        *with = Some(Expr::form(Kind::Int, "WITH q AS ? ", vec![query]));
        return (name("q"), derived);
    }
    (query, derived)
}

/// A derived table in parentheses. Its texts are columns of a table: of others it would be chance which of equal ones
/// shows.
fn derived(m: &mut Maker<'_, '_>, table: &Table) -> (Expr, Rc<Table>) {
    let columns = |of: &[&Expr]| {
        let mut columns = vec![Column::derived("id", Kind::Int)];
        columns.extend(of.iter().enumerate().map(|(i, e)| {
            let source = table.columns.iter().find(|c| c.value("d") == e.text());
            Column::derived_from(&format!("c{i}"), e.kind, source)
        }));
        Rc::new(Table::derived(columns))
    };
    let count = Expr::leaf(Kind::Int, "COUNT(*)");
    let from = format!("FROM {} d", table.name);
    let k = Kind::Int;
    let (kind, plain) = (m.kind(), *m.random.pick(&[Kind::Int, Kind::Decimal, Kind::Date]));
    match m.random.below(6) {
        0 => {
            let (a, b, filter) = (m.any_column(), m.expr(kind, 1), m.condition(1));
            let derived = columns(&[&a, &b]);
            let form = format!("(SELECT d.id id, ? c0, ? c1 {from} WHERE ?)");
            (Expr::form(k, &form, vec![a, b, filter]), derived)
        }
        1 => {
            let (a, b) = (m.plain_column(), m.plain_column());
            let derived = columns(&[&a, &count, &b]);
            let form = format!("(SELECT MIN(d.id) id, ? c0, COUNT(*) c1, MAX(?) c2 {from} GROUP BY ?)");
            (Expr::form(k, &form, vec![a.clone(), b, a]), derived)
        }
        2 => {
            let (a, b) = (m.plain_column(), m.constant(plain));
            let a = m.plain_year(a);
            let how = *m.random.pick(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            let derived = columns(&[&a]);
            // `id` stays unique.
            let other_id = if how.starts_with("UNION") { " + 100" } else { "" };
            let other = match m.column(a.kind) {
                Some(column) if m.random.percent(60) => m.plain_year(column),
                _ => m.constant(a.kind),
            };
            let form =
                format!("(SELECT d.id id, ? c0 {from} WHERE ? IS NOT NULL {how} SELECT d.id{other_id}, ? {from})");
            (Expr::form(k, &form, vec![a, b, other]), derived)
        }
        3 => {
            let a = m.any_column();
            // MariaDB rounds these.
            let rounds = |e: &Expr| e.any(&|p: &str| p.contains("PERCENT_RANK") || p.contains("CUME_DIST"));
            // Of texts that are equal any may be the greatest.
            let text = |e: &Expr| table.columns.iter().any(|c| c.kind == Kind::Text && e.text() == c.value("d"));
            let chance =
                |w: &Expr| w.any(&|p: &str| p == "MIN(" || p == "MAX(") && w.operands().first().is_some_and(text);
            let b = Some(m.window()).filter(|w| !rounds(w) && !chance(w)).unwrap_or_else(|| a.clone());
            let derived = columns(&[&a, &b]);
            (Expr::form(k, &format!("(SELECT d.id id, ? c0, ? c1 {from})"), vec![a, b]), derived)
        }
        4 => {
            let a = m.any_column();
            let derived = columns(&[&a]);
            let form = format!("(SELECT d.id id, ? c0 {from} ORDER BY d.id LIMIT {})", 1 + m.random.below(6));
            (Expr::form(k, &form, vec![a]), derived)
        }
        _ => {
            let b = m.expr(plain, 1);
            let derived = columns(&[&b]);
            (Expr::form(k, &format!("(SELECT DISTINCT d.id id, ? c0 {from})"), vec![b]), derived)
        }
    }
}

impl Query {
    pub(crate) fn new(schema: &Schema, random: &mut Random, depth: usize) -> Query {
        let mut m = Maker::new(schema, random);
        m.mixes = true;
        m.rows = m.random.percent(40);
        let (mut from, mut with): (Vec<Join>, _) = (Vec::new(), None);
        for n in 0..1 + [0, 0, 1, 1, 2][m.random.below(5)] {
            let (source, table) = source(&mut m, &mut with);
            let alias = format!("a{n}");
            m.scope.push((alias.clone(), table));
            let kinds = ["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN", "STRAIGHT_JOIN"];
            let kind = if n == 0 { "" } else { *m.random.pick(&kinds) };
            let kind = if m.rows && matches!(kind, "LEFT JOIN" | "RIGHT JOIN") { "JOIN" } else { kind };
            // Of three tables `id` would be ambiguous on the left.
            let using = n == 1 && !matches!(kind, "CROSS JOIN" | "STRAIGHT_JOIN") && m.random.percent(15);
            let on = (n > 0 && kind != "CROSS JOIN" && !using).then(|| m.join_condition(n));
            from.push(Join { kind, source, alias, on, using });
        }
        if with.is_none() && m.random.percent(3) {
            let (first, step) = (m.random.below(4), 1 + m.random.below(3));
            let text = format!(
                "WITH RECURSIVE q AS (SELECT 1 id, CAST({first} AS SIGNED) c0 UNION ALL SELECT id + 1, c0 + {step} FROM q WHERE id < 6) "
            );
            with = Some(Expr::leaf(Kind::Int, text));
            let columns = vec![Column::derived("id", Kind::Int), Column::derived("c0", Kind::Int)];
            m.scope.push(("r".into(), Rc::new(Table::derived(columns))));
            let on = Some(m.join_condition(m.scope.len() - 1));
            let source = Expr::leaf(Kind::Int, "q");
            from.push(Join { kind: "JOIN", source, alias: "r".into(), on, using: false });
        }
        let filter = m.random.percent(65).then(|| m.condition(depth));
        let mode = m.random.below(10);
        let (mut groups, mut items, mut having, mut rollup) = (Vec::new(), Vec::new(), None, false);
        match mode {
            0..=2 => {
                for _ in 0..m.random.below(3) {
                    groups.push(if m.random.percent(75) {
                        m.any_column()
                    } else {
                        let kind = m.kind();
                        m.expr(kind, 1)
                    });
                }
                let column = |g: &str| ["a0.", "a1.", "a2.", "r."].iter().any(|a| g.contains(a));
                groups.retain(|g| column(&g.text()));
                groups.dedup_by_key(|g| g.text());
                items.extend(groups.iter().cloned());
                items.extend((0..1 + m.random.below(3)).map(|_| m.aggregate()));
                // MariaDB shows grouped expressions in the rows of ROLLUP, where MySQL shows NULL.
                rollup = !groups.is_empty() && groups.iter().all(Expr::is_leaf) && m.random.percent(20);
                if m.random.percent(25) {
                    let form = *m.random.pick(&["(? > 1)", "(? IS NOT NULL)", "(? <= 3)"]);
                    let aggregate = m.aggregate();
                    // MariaDB takes these for NULL before HAVING.
                    let variance = aggregate.any(&|p: &str| p.starts_with("STDDEV") || p.starts_with("VAR_"));
                    let numeric = !variance && matches!(aggregate.kind, Kind::Int | Kind::Decimal | Kind::Double);
                    having = numeric.then(|| Expr::form(Kind::Int, form, vec![aggregate]));
                }
            }
            3 => {
                items.push(m.any_column());
                items.extend((0..1 + m.random.below(2)).map(|_| m.window()));
            }
            _ => {
                for _ in 0..1 + m.random.below(4) {
                    let kind = m.kind();
                    items.push(m.expr(kind, depth));
                }
            }
        }
        let plain = mode > 3;
        let distinct = plain && m.random.percent(15);
        let ordered = m.random.percent(30);
        let descending = m.random.percent(40);
        // Texts that are equal but look different make the first rows a matter of chance.
        let stable = items.iter().all(|i| i.kind != Kind::Text) && !rollup;
        let limit = (ordered && stable && m.random.percent(50)).then(|| (1 + m.random.below(6), m.random.below(3)));
        let union = None;
        let hint = "";
        let numbers = items.iter().map(|i| m.plain_year(i.clone())).collect();
        let mut query = Query {
            with,
            hint,
            distinct,
            items,
            numbers,
            from,
            filter,
            groups,
            rollup,
            having,
            ordered,
            descending,
            limit,
            union,
        };
        if plain && query.limit.is_none() && random.percent(8) {
            let mut other = Query::new(schema, random, 1);
            if other.items.len() >= query.items.len()
                && other.limit.is_none()
                && other.union.is_none()
                && other.with.is_none()
                && !other.rollup
                && other.groups.is_empty()
            {
                other.items.truncate(query.items.len());
                let same = other.items.iter().zip(&query.items).all(|(a, b)| a.kind == b.kind);
                if same {
                    (query.ordered, other.ordered) = (false, false);
                    query.items = query.numbers.clone();
                    other.items = other.numbers.drain(..query.items.len()).collect();
                    let how = *random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
                    query.union = Some((how, Box::new(other)));
                }
            }
        }
        query
    }

    /// With each of its expressions made another one.
    pub(crate) fn mapped(&self, f: fn(&Expr) -> Expr) -> Query {
        let all = |of: &[Expr]| of.iter().map(f).collect();
        let one = |of: &Option<Expr>| of.as_ref().map(f);
        let mut copy = self.clone();
        (copy.items, copy.groups) = (all(&self.items), all(&self.groups));
        (copy.with, copy.filter, copy.having) = (one(&self.with), one(&self.filter), one(&self.having));
        for (join, own) in copy.from.iter_mut().zip(&self.from) {
            (join.source, join.on) = (f(&own.source), one(&own.on));
        }
        copy.union = self.union.as_ref().map(|(how, other)| (*how, Box::new(other.mapped(f))));
        copy
    }

    /// With a hint behind SELECT.
    pub(crate) fn hinted(&self, hint: &'static str) -> Query {
        Query { hint, ..self.clone() }
    }

    /// Without ORDER BY and DISTINCT, where that leaves the same rows: all of them, those of DISTINCT more than once.
    pub(crate) fn loose(&self) -> Option<Query> {
        let bare = self.limit.is_none() && self.union.is_none() && (self.ordered || self.distinct);
        bare.then(|| Query { ordered: false, distinct: false, ..self.clone() })
    }

    pub(crate) fn is_grouped(&self) -> bool {
        !self.groups.is_empty()
    }

    /// A DISTINCT aggregate WITH ROLLUP over groups of one row each, which a unique column of a single table makes.
    pub(crate) fn forgets_distinct(&self, schema: &Schema) -> bool {
        let [join] = &self.from[..] else { return false };
        let Some(table) = schema.tables.iter().find(|t| t.name == join.source.text()) else { return false };
        let unique = |e: &Expr| e.text().strip_prefix(&format!("{}.", join.alias)).is_some_and(|c| table.is_unique(c));
        self.rollup && self.text().contains("(DISTINCT ") && self.groups.iter().any(unique)
    }

    pub(crate) fn is_distinct(&self) -> bool {
        self.distinct
    }

    /// Its derived tables and common table expression, each in parentheses.
    pub(crate) fn parts(&self) -> Vec<String> {
        let with = self.with.iter().map(|w| w.text().trim_start_matches("WITH q AS ").trim_end().to_owned());
        let derived = self.from.iter().map(|join| join.source.text());
        with.chain(derived).filter(|text| text.starts_with('(')).collect()
    }

    pub(crate) fn is_ordered(&self) -> bool {
        // Texts: the collation leaves the order of equal ones open.
        self.ordered && self.items.iter().all(|i| i.kind != Kind::Text)
    }

    /// Equal texts may stand for each other.
    pub(crate) fn folds(&self) -> bool {
        let picks = |e: &Expr| e.any(&|p: &str| ["MIN(", "MAX(", "OVER"].iter().any(|w| p.contains(w)));
        self.distinct || !self.groups.is_empty() || self.union.is_some() || self.items.iter().any(picks)
    }

    pub(crate) fn text(&self) -> String {
        let list = |of: &[Expr]| of.iter().map(Expr::text).collect::<Vec<_>>().join(", ");
        let mut out = self.with.as_ref().map(Expr::text).unwrap_or_default();
        out += &format!("SELECT {}{}{}", self.hint, if self.distinct { "DISTINCT " } else { "" }, list(&self.items));
        for (n, join) in self.from.iter().enumerate() {
            let lead = if n == 0 { " FROM".to_owned() } else { format!(" {}", join.kind) };
            out += &format!("{lead} {} {}", join.source.text(), join.alias);
            match &join.on {
                Some(on) => out += &format!(" ON {}", on.text()),
                None if join.using => out += " USING (id)",
                None => {}
            }
        }
        if let Some(filter) = &self.filter {
            out += &format!(" WHERE {}", filter.text());
        }
        if !self.groups.is_empty() {
            out += &format!(" GROUP BY {}{}", list(&self.groups), if self.rollup { " WITH ROLLUP" } else { "" });
        }
        if let Some(having) = &self.having {
            out += &format!(" HAVING {}", having.text());
        }
        if let Some((how, other)) = &self.union {
            out += &format!(" {how} {}", other.text());
        }
        // MariaDB refuses ORDER BY beside WITH ROLLUP.
        if self.ordered && !self.rollup {
            let by = if self.descending { " DESC" } else { "" };
            let places: Vec<String> = (1..=self.items.len()).map(|n| format!("{n}{by}")).collect();
            out += &format!(" ORDER BY {}", places.join(", "));
        }
        if let Some((limit, offset)) = self.limit {
            out += &format!(" LIMIT {limit} OFFSET {offset}");
        }
        out
    }

    /// Queries with something left out, those that leave out most first.
    pub(crate) fn smaller(&self) -> Vec<Query> {
        let mut out = Vec::new();
        let mut with = |f: &dyn Fn(&mut Query)| {
            let mut copy = self.clone();
            f(&mut copy);
            if copy.text() != self.text() {
                out.push(copy);
            }
        };
        with(&|q| q.union = None);
        with(&|q| q.with = None);
        with(&|q| q.filter = None);
        with(&|q| q.having = None);
        with(&|q| q.limit = None);
        with(&|q| (q.ordered, q.limit) = (false, None));
        with(&|q| q.distinct = false);
        with(&|q| q.rollup = false);
        for n in 1..self.from.len() {
            with(&|q| drop(q.from.remove(n)));
        }
        if self.union.is_none() {
            for n in (0..self.items.len()).filter(|_| self.items.len() > 1) {
                with(&|q| drop(q.items.remove(n)));
            }
        }
        for n in 0..self.groups.len() {
            with(&|q| drop(q.groups.remove(n)));
        }
        for (n, item) in self.items.iter().enumerate() {
            if item.text().contains("OVER") || self.groups.iter().any(|g| g.text() == item.text()) {
                continue;
            }
            for small in item.smaller() {
                with(&|q| q.items[n] = small.clone());
            }
        }
        for small in self.filter.iter().flat_map(Expr::smaller) {
            with(&|q| q.filter = Some(small.clone()));
        }
        for small in self.having.iter().flat_map(Expr::smaller) {
            with(&|q| q.having = Some(small.clone()));
        }
        for small in self.with.iter().flat_map(|w| w.smaller_operands()) {
            with(&|q| q.with = Some(small.clone()));
        }
        for (n, join) in self.from.iter().enumerate() {
            for small in join.source.smaller_operands() {
                with(&|q| q.from[n].source = small.clone());
            }
            for small in join.on.iter().flat_map(Expr::smaller) {
                with(&|q| q.from[n].on = Some(small.clone()));
            }
        }
        out
    }
}
