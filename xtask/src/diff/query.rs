//! Random statements, and smaller ones made from them.

use super::Random;
use super::generate::{KINDS, Kind, Schema, Table, literal};

/// An expression: text with places for its operands.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    kind: Kind,
    /// Operands stand between the parts: one more part than operands.
    parts: Vec<String>,
    args: Vec<Expr>,
}

impl Expr {
    fn leaf(kind: Kind, text: impl Into<String>) -> Expr {
        Expr { kind, parts: vec![text.into()], args: Vec::new() }
    }

    /// `form` with `?` for each operand.
    fn form(kind: Kind, form: &str, args: Vec<Expr>) -> Expr {
        let parts: Vec<String> = form.split('?').map(str::to_owned).collect();
        assert_eq!(parts.len(), args.len() + 1, "{form}");
        Expr { kind, parts, args }
    }

    fn text(&self) -> String {
        let mut out = self.parts[0].clone();
        for (arg, part) in self.args.iter().zip(&self.parts[1..]) {
            out.push_str(&arg.text());
            out.push_str(part);
        }
        out
    }

    fn is_leaf(&self) -> bool {
        self.args.is_empty()
    }

    fn any(&self, f: &impl Fn(&str) -> bool) -> bool {
        self.parts.iter().any(|p| f(p)) || self.args.iter().any(|a| a.any(f))
    }

    /// Expressions with something left out.
    fn smaller(&self) -> Vec<Expr> {
        if self.is_leaf() {
            return Vec::new();
        }
        let mut out: Vec<Expr> = self.args.to_vec();
        if !self.text().contains("(SELECT") {
            out.push(Expr::leaf(self.kind, "NULL"));
        }
        for (i, arg) in self.args.iter().enumerate() {
            for small in arg.smaller() {
                let mut copy = self.clone();
                copy.args[i] = small;
                out.push(copy);
            }
        }
        out
    }
}

/// Tables in scope: alias and table.
type Scope<'s> = Vec<(String, &'s Table)>;

struct Maker<'s, 'r> {
    schema: &'s Schema,
    random: &'r mut Random,
    scope: Scope<'s>,
    /// Numbers subqueries, for their aliases.
    depth: usize,
}

impl<'s> Maker<'s, '_> {
    fn kind(&mut self) -> Kind {
        *self.random.pick(&KINDS)
    }

    fn column(&mut self, kind: Kind) -> Option<Expr> {
        let mut all = Vec::new();
        for (alias, table) in &self.scope {
            all.extend(table.columns.iter().filter(|c| c.kind == kind).map(|c| format!("{alias}.{}", c.name)));
        }
        if all.is_empty() { None } else { Some(Expr::leaf(kind, self.random.pick(&all).clone())) }
    }

    fn any_column(&mut self) -> Expr {
        let mut all = Vec::new();
        for (alias, table) in &self.scope {
            all.extend(table.columns.iter().map(|c| (c.kind, format!("{alias}.{}", c.name))));
        }
        let (kind, name) = self.random.pick(&all).clone();
        Expr::leaf(kind, name)
    }

    fn expr(&mut self, kind: Kind, depth: usize) -> Expr {
        if depth == 0 || self.random.percent(35) {
            let column = if self.random.percent(75) { self.column(kind) } else { None };
            return match column {
                Some(column) => column,
                None if self.random.percent(6) => Expr::leaf(kind, "NULL"),
                None => self.constant(kind),
            };
        }
        let d = depth - 1;
        if self.random.percent(25) {
            return self.choice(kind, d);
        }
        match kind {
            Kind::Int => self.int(d),
            Kind::Decimal => self.decimal(d),
            Kind::Double => self.double(d),
            Kind::Text => self.text(d),
            Kind::Date | Kind::DateTime => self.date(kind, d),
            Kind::Time => {
                let a = self.expr(Kind::Time, d);
                match self.random.below(2) {
                    0 => Expr::form(kind, "SEC_TO_TIME(CAST(TIME_TO_SEC(?) AS SIGNED))", vec![a]),
                    _ => Expr::form(kind, "CAST(? AS TIME)", vec![a]),
                }
            }
        }
    }

    fn constant(&mut self, kind: Kind) -> Expr {
        let text = literal(kind, self.random);
        let text = match kind {
            Kind::Date => format!("DATE{text}"),
            Kind::DateTime => format!("TIMESTAMP{text}"),
            Kind::Time => format!("TIME{text}"),
            _ => text,
        };
        Expr::leaf(kind, text)
    }

    /// Forms that exist for every kind.
    fn choice(&mut self, kind: Kind, d: usize) -> Expr {
        let (a, b) = (self.expr(kind, d), self.expr(kind, d));
        match self.random.below(5) {
            0 => Expr::form(kind, "COALESCE(?, ?)", vec![a, b]),
            1 => Expr::form(kind, "IFNULL(?, ?)", vec![a, b]),
            2 => Expr::form(kind, "NULLIF(?, ?)", vec![a, b]),
            3 => {
                let c = self.condition(d);
                Expr::form(kind, "IF(?, ?, ?)", vec![c, a, b])
            }
            _ => {
                let c = self.condition(d);
                Expr::form(kind, "CASE WHEN ? THEN ? ELSE ? END", vec![c, a, b])
            }
        }
    }

    fn int(&mut self, d: usize) -> Expr {
        let k = Kind::Int;
        match self.random.below(12) {
            0..=3 => {
                let form = *self.random.pick(&["(? + ?)", "(? - ?)", "(? * ?)", "(? % ?)", "(? DIV ?)"]);
                Expr::form(k, form, vec![self.expr(k, d), self.expr(k, d)])
            }
            4 => Expr::form(k, "LENGTH(?)", vec![self.expr(Kind::Text, d)]),
            5 => Expr::form(k, "CHAR_LENGTH(?)", vec![self.expr(Kind::Text, d)]),
            6 => {
                let form = *self.random.pick(&["YEAR(?)", "MONTH(?)", "DAYOFMONTH(?)", "TO_DAYS(?)", "WEEKDAY(?)"]);
                Expr::form(k, form, vec![self.expr(Kind::Date, d)])
            }
            7 => Expr::form(k, "ABS(?)", vec![self.expr(k, d)]),
            8 => Expr::form(k, "LOCATE(?, ?)", vec![self.expr(Kind::Text, d), self.expr(Kind::Text, d)]),
            9 => Expr::form(k, "SIGN(?)", vec![self.expr(k, d)]),
            10 => Expr::form(k, "CAST(? AS SIGNED)", vec![self.expr(Kind::Decimal, d)]),
            _ => self.condition(d),
        }
    }

    fn decimal(&mut self, d: usize) -> Expr {
        let k = Kind::Decimal;
        match self.random.below(6) {
            0..=2 => {
                let form = *self.random.pick(&["(? + ?)", "(? - ?)", "(? * ?)"]);
                Expr::form(k, form, vec![self.expr(k, d), self.expr(Kind::Int, d)])
            }
            3 => Expr::form(k, "ROUND(?, 1)", vec![self.expr(k, d)]),
            4 => Expr::form(k, "TRUNCATE(?, 1)", vec![self.expr(k, d)]),
            _ => Expr::form(k, "CAST(? AS DECIMAL(12,3))", vec![self.expr(Kind::Int, d)]),
        }
    }

    fn double(&mut self, d: usize) -> Expr {
        let k = Kind::Double;
        match self.random.below(4) {
            0 => Expr::form(k, "(? + ?)", vec![self.expr(k, d), self.expr(Kind::Int, d)]),
            1 => Expr::form(k, "(? * ?)", vec![self.expr(k, d), self.expr(Kind::Decimal, d)]),
            2 => Expr::form(k, "SQRT(?)", vec![self.expr(Kind::Int, d)]),
            _ => Expr::form(k, "(? - ?)", vec![self.expr(k, d), self.expr(k, d)]),
        }
    }

    fn text(&mut self, d: usize) -> Expr {
        let k = Kind::Text;
        let a = self.expr(k, d);
        match self.random.below(9) {
            0 => Expr::form(k, "CONCAT(?, ?)", vec![a, self.expr(k, d)]),
            1 => Expr::form(k, "UPPER(?)", vec![a]),
            2 => Expr::form(k, "LOWER(?)", vec![a]),
            3 => Expr::form(k, "SUBSTRING(?, ?, 2)", vec![a, self.expr(Kind::Int, 0)]),
            4 => Expr::form(k, "LEFT(?, 2)", vec![a]),
            5 => Expr::form(k, "REPLACE(?, 'a', 'bb')", vec![a]),
            6 => Expr::form(k, "TRIM(?)", vec![a]),
            7 => Expr::form(k, "REVERSE(?)", vec![a]),
            _ => Expr::form(k, "CONCAT_WS('-', ?, ?)", vec![a, self.expr(k, d)]),
        }
    }

    fn date(&mut self, kind: Kind, d: usize) -> Expr {
        let unit = *self.random.pick(&["DAY", "MONTH", "YEAR", "WEEK"]);
        let a = self.expr(kind, d);
        match self.random.below(4) {
            0 if kind == Kind::Date => Expr::form(kind, "LAST_DAY(?)", vec![a]),
            1 if kind == Kind::Date => Expr::form(kind, "DATE(?)", vec![self.expr(Kind::DateTime, d)]),
            1 => Expr::form(kind, "CAST(? AS DATETIME)", vec![a]),
            2 => Expr::form(kind, &format!("(? - INTERVAL {} {unit})", self.random.below(40)), vec![a]),
            _ => Expr::form(kind, &format!("(? + INTERVAL {} {unit})", self.random.below(40)), vec![a]),
        }
    }

    /// A truth value.
    fn condition(&mut self, depth: usize) -> Expr {
        let k = Kind::Int;
        let d = depth.saturating_sub(1);
        if depth > 0 && self.random.percent(35) {
            let form = *self.random.pick(&["(? AND ?)", "(? OR ?)", "(? AND ?)", "(? XOR ?)"]);
            return match self.random.percent(15) {
                true => Expr::form(k, "(NOT ?)", vec![self.condition(d)]),
                false => Expr::form(k, form, vec![self.condition(d), self.condition(d)]),
            };
        }
        let kind = self.kind();
        // Numbers are compared across kinds.
        let other = match kind {
            Kind::Int | Kind::Decimal | Kind::Double => *self.random.pick(&[Kind::Int, Kind::Decimal, Kind::Double]),
            Kind::Date | Kind::DateTime => *self.random.pick(&[Kind::Date, Kind::DateTime]),
            kind => kind,
        };
        let a = self.expr(kind, d);
        match self.random.below(12) {
            0..=5 => {
                let form = *self.random.pick(&["(? = ?)", "(? < ?)", "(? <> ?)", "(? >= ?)", "(? <=> ?)", "(? > ?)"]);
                Expr::form(k, form, vec![a, self.expr(other, d)])
            }
            6 => Expr::form(k, self.random.pick::<&str>(&["(? IS NULL)", "(? IS NOT NULL)"]), vec![a]),
            7 => Expr::form(
                k,
                self.random.pick::<&str>(&["(? BETWEEN ? AND ?)", "(? NOT BETWEEN ? AND ?)"]),
                vec![a, self.expr(other, d), self.expr(other, d)],
            ),
            8 => {
                let list = (0..3).map(|_| self.expr(kind, 0));
                let args = std::iter::once(a).chain(list).collect();
                Expr::form(k, self.random.pick::<&str>(&["(? IN (?, ?, ?))", "(? NOT IN (?, ?, ?))"]), args)
            }
            9 => {
                let text = self.expr(Kind::Text, d);
                let pattern = *self.random.pick(&["a%", "%b", "_", "%", "A_", "%e%"]);
                Expr::form(k, &format!("(? LIKE '{pattern}')"), vec![text])
            }
            10 if self.depth < 2 => self.subquery(a),
            _ => Expr::form(k, "(? = ?)", vec![a, self.expr(kind, 0)]),
        }
    }

    /// IN, EXISTS, a quantified or scalar comparison with a subquery, often correlated.
    fn subquery(&mut self, left: Expr) -> Expr {
        let table = &self.schema.tables[self.random.below(self.schema.tables.len())];
        let alias = format!("s{}", self.depth);
        self.depth += 1;
        let outer = self.scope.clone();
        self.scope = if self.random.percent(50) { outer.clone() } else { Vec::new() };
        self.scope.push((alias.clone(), table));
        let filter = self.condition(1);
        self.scope = vec![(alias.clone(), table)];
        let item = self.expr(left.kind, 0);
        self.scope = outer;
        self.depth -= 1;
        let from = format!("FROM {} {alias} WHERE", table.name);
        let k = Kind::Int;
        let aggregate = *self.random.pick(&["MIN", "MAX"]);
        match self.random.below(6) {
            0 => Expr::form(k, &format!("(? IN (SELECT ? {from} ?))"), vec![left, item, filter]),
            1 => Expr::form(k, &format!("(? NOT IN (SELECT ? {from} ?))"), vec![left, item, filter]),
            2 => Expr::form(k, &format!("EXISTS (SELECT 1 {from} ?)"), vec![filter]),
            3 => Expr::form(k, &format!("NOT EXISTS (SELECT 1 {from} ?)"), vec![filter]),
            4 => {
                let op = *self.random.pick(&["> ALL", "< ANY", "= ANY", "<> ALL", "<= ALL"]);
                Expr::form(k, &format!("(? {op} (SELECT ? {from} ?))"), vec![left, item, filter])
            }
            _ => Expr::form(k, &format!("(? < (SELECT {aggregate}(?) {from} ?))"), vec![left, item, filter]),
        }
    }

    fn aggregate(&mut self) -> Expr {
        let kind = *self.random.pick(&[Kind::Int, Kind::Int, Kind::Decimal, Kind::Double]);
        match self.random.below(9) {
            0 => Expr::leaf(Kind::Int, "COUNT(*)"),
            1 => Expr::form(Kind::Int, "COUNT(?)", vec![self.any_column()]),
            2 => Expr::form(Kind::Int, "COUNT(DISTINCT ?)", vec![self.any_column()]),
            3 => Expr::form(Kind::Decimal, "SUM(?)", vec![self.expr(kind, 1)]),
            4 => Expr::form(Kind::Decimal, "AVG(?)", vec![self.expr(kind, 0)]),
            5 => Expr::form(Kind::Decimal, "SUM(DISTINCT ?)", vec![self.expr(Kind::Int, 0)]),
            6 => Expr::form(Kind::Int, "BIT_XOR(?)", vec![self.expr(Kind::Int, 0)]),
            7 => {
                let arg = self.any_column();
                Expr::form(arg.kind, "MIN(?)", vec![arg])
            }
            _ => {
                let arg = self.any_column();
                Expr::form(arg.kind, "MAX(?)", vec![arg])
            }
        }
    }

    /// A window function whose order is total.
    fn window(&mut self) -> Expr {
        let ids: Vec<String> = self.scope.iter().map(|(alias, _)| format!("{alias}.id")).collect();
        let key = self.any_column();
        let descending = if self.random.percent(30) { " DESC" } else { "" };
        let partition = if self.random.percent(50) { "PARTITION BY ? " } else { "" };
        let total = format!("{partition}ORDER BY ?{descending}, {}", ids.join(", "));
        let peers = format!("{partition}ORDER BY ?{descending}");
        let mut tail = Vec::new();
        if !partition.is_empty() {
            tail.push(self.any_column());
        }
        tail.push(key);
        let frame = *self.random.pick(&[
            "",
            " ROWS 1 PRECEDING",
            " ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING",
            " ROWS BETWEEN 1 FOLLOWING AND 3 FOLLOWING",
            " ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
            " ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING",
        ]);
        let with = |head: Expr, over: &str| {
            let mut args = head.args;
            args.extend(tail.iter().cloned());
            let form = format!("{} OVER ({over})", head.parts.join("?"));
            Expr::form(head.kind, &form, args)
        };
        match self.random.below(7) {
            0 => with(Expr::leaf(Kind::Int, "ROW_NUMBER()"), &total),
            1 => {
                let name = *self.random.pick(&["RANK()", "DENSE_RANK()"]);
                with(Expr::leaf(Kind::Int, name), &peers)
            }
            2 => {
                let name = *self.random.pick(&["PERCENT_RANK()", "CUME_DIST()"]);
                with(Expr::leaf(Kind::Double, name), &peers)
            }
            3 => with(Expr::leaf(Kind::Int, format!("NTILE({})", 1 + self.random.below(5))), &total),
            4 => {
                let arg = self.any_column();
                let form = format!("{}(?, {})", self.random.pick(&["LAG", "LEAD"]), self.random.below(3));
                with(Expr::form(arg.kind, &form, vec![arg]), &total)
            }
            5 => {
                let arg = self.any_column();
                let form = *self.random.pick(&["FIRST_VALUE(?)", "LAST_VALUE(?)", "NTH_VALUE(?, 2)"]);
                with(Expr::form(arg.kind, form, vec![arg]), &format!("{total}{frame}"))
            }
            _ => {
                let form = *self.random.pick(&["SUM(?)", "COUNT(?)", "AVG(?)", "MIN(?)", "MAX(?)"]);
                let kind = *self.random.pick(&[Kind::Int, Kind::Decimal]);
                let arg = self.expr(kind, 0);
                with(Expr::form(Kind::Decimal, form, vec![arg]), &format!("{total}{frame}"))
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Join {
    kind: &'static str,
    source: String,
    alias: String,
    on: Option<Expr>,
}

/// A SELECT.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    distinct: bool,
    items: Vec<Expr>,
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

impl Query {
    pub(crate) fn new(schema: &Schema, random: &mut Random, depth: usize) -> Query {
        let mut m = Maker { schema, random, scope: Vec::new(), depth: 0 };
        let mut from = Vec::new();
        for n in 0..1 + [0, 0, 1, 1, 2][m.random.below(5)] {
            let table = &schema.tables[m.random.below(schema.tables.len())];
            let alias = format!("a{n}");
            m.scope.push((alias.clone(), table));
            let kind =
                if n == 0 { "" } else { *m.random.pick(&["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "CROSS JOIN"]) };
            let on = (n > 0 && kind != "CROSS JOIN").then(|| m.join_condition(n));
            from.push(Join { kind, source: table.name.clone(), alias, on });
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
                groups.retain(|g| !g.is_leaf() || g.text().contains('.') && g.text().starts_with('a'));
                groups.dedup_by_key(|g| g.text());
                items.extend(groups.iter().cloned());
                items.extend((0..1 + m.random.below(3)).map(|_| m.aggregate()));
                rollup = !groups.is_empty() && m.random.percent(15);
                if m.random.percent(25) {
                    let form = *m.random.pick(&["(? > 1)", "(? IS NOT NULL)", "(? <= 3)"]);
                    let aggregate = m.aggregate();
                    let numeric = matches!(aggregate.kind, Kind::Int | Kind::Decimal | Kind::Double);
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
        let mut query =
            Query { distinct, items, from, filter, groups, rollup, having, ordered, descending, limit, union: None };
        if plain && query.limit.is_none() && random.percent(8) {
            let mut other = Query::new(schema, random, 1);
            if other.items.len() >= query.items.len()
                && other.limit.is_none()
                && other.union.is_none()
                && !other.rollup
                && other.groups.is_empty()
            {
                other.items.truncate(query.items.len());
                let same = other.items.iter().zip(&query.items).all(|(a, b)| a.kind == b.kind);
                if same {
                    query.ordered = false;
                    other.ordered = false;
                    let how = *random.pick(&["UNION", "UNION ALL", "INTERSECT", "EXCEPT"]);
                    query.union = Some((how, Box::new(other)));
                }
            }
        }
        query
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
        let mut out = format!("SELECT {}{}", if self.distinct { "DISTINCT " } else { "" }, list(&self.items));
        for (n, join) in self.from.iter().enumerate() {
            let lead = if n == 0 { " FROM".to_owned() } else { format!(" {}", join.kind) };
            out += &format!("{lead} {} {}", join.source, join.alias);
            if let Some(on) = &join.on {
                out += &format!(" ON {}", on.text());
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
        for (n, join) in self.from.iter().enumerate() {
            for small in join.on.iter().flat_map(Expr::smaller) {
                with(&|q| q.from[n].on = Some(small.clone()));
            }
        }
        out
    }
}

impl Maker<'_, '_> {
    /// A join condition: mostly an equality between the new table and an earlier one.
    fn join_condition(&mut self, n: usize) -> Expr {
        let all = self.scope.clone();
        let kind = *self.random.pick(&[Kind::Int, Kind::Int, Kind::Text, Kind::Decimal]);
        self.scope = all[n..].to_vec();
        let new = self.column(kind);
        self.scope = all[..n].to_vec();
        let old = self.column(kind);
        self.scope = all;
        match (old, new) {
            (Some(a), Some(b)) => {
                let equal = Expr::form(Kind::Int, "(? = ?)", vec![a, b]);
                match self.random.percent(30) {
                    true => Expr::form(Kind::Int, "(? AND ?)", vec![equal, self.condition(1)]),
                    false => equal,
                }
            }
            _ => self.condition(1),
        }
    }
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) enum Statement {
    Query(Query),
    Change(String),
}

impl Statement {
    pub(crate) fn new(schema: &Schema, random: &mut Random) -> Statement {
        if random.percent(80) {
            return Statement::Query(Query::new(schema, random, 2));
        }
        Statement::Change(change(schema, random))
    }

    pub(crate) fn text(&self) -> String {
        match self {
            Statement::Query(query) => query.text(),
            Statement::Change(sql) => sql.clone(),
        }
    }

    pub(crate) fn ordered(&self) -> bool {
        matches!(self, Statement::Query(q) if q.is_ordered())
    }

    pub(crate) fn folds(&self) -> bool {
        matches!(self, Statement::Query(q) if q.folds())
    }
}

/// INSERT, REPLACE, UPDATE, DELETE.
fn change(schema: &Schema, random: &mut Random) -> String {
    let table = &schema.tables[random.below(schema.tables.len())];
    let mut m = Maker { schema, random, scope: Vec::new(), depth: 2 };
    let ignore = if m.random.percent(20) { "IGNORE " } else { "" };
    let row = |m: &mut Maker<'_, '_>| {
        let mut values = vec![(1 + m.random.below(40)).to_string()];
        for column in &table.columns[1..] {
            let null = m.random.percent(12);
            values.push(if null { "NULL".into() } else { literal(column.kind, m.random) });
        }
        format!("({})", values.join(", "))
    };
    match m.random.below(10) {
        0..=1 => {
            let rows: Vec<String> = (0..1 + m.random.below(3)).map(|_| row(&mut m)).collect();
            format!("INSERT {ignore}INTO {} VALUES {}", table.name, rows.join(", "))
        }
        2 => format!("REPLACE INTO {} VALUES {}, {}", table.name, row(&mut m), row(&mut m)),
        3..=4 => {
            let values = row(&mut m);
            m.scope.push((table.name.clone(), table));
            let column = &table.columns[1 + m.random.below(table.columns.len() - 1)];
            let value = m.expr(column.kind, 1);
            let value = if m.random.percent(50) { format!("VALUES({})", column.name) } else { value.text() };
            format!("INSERT INTO {} VALUES {values} ON DUPLICATE KEY UPDATE {} = {value}", table.name, column.name)
        }
        5..=7 => {
            m.scope.push((table.name.clone(), table));
            let column = &table.columns[1 + m.random.below(table.columns.len() - 1)];
            let (value, filter) = (m.expr(column.kind, 1), m.condition(1));
            let order = ["", " ORDER BY id LIMIT 3", " ORDER BY id DESC LIMIT 2"][m.random.below(3)];
            let set = format!("{} = {}", column.name, value.text());
            format!("UPDATE {ignore}{} SET {set} WHERE {}{order}", table.name, filter.text())
        }
        8 => {
            m.scope.push((table.name.clone(), table));
            let filter = m.condition(1);
            let order = [" ORDER BY id LIMIT 2", " ORDER BY id DESC LIMIT 1"][m.random.below(2)];
            format!("DELETE FROM {} WHERE {}{order}", table.name, filter.text())
        }
        _ => {
            let other = &schema.tables[m.random.below(schema.tables.len())];
            m.scope.push(("x".into(), table));
            m.scope.push(("y".into(), other));
            let column = &table.columns[1 + m.random.below(table.columns.len() - 1)];
            let value = m.constant(column.kind).text();
            let filter = m.condition(1).text();
            match m.random.percent(70) {
                true => format!(
                    "UPDATE {} x JOIN {} y ON x.id = y.id SET x.{} = {value} WHERE {filter}",
                    table.name, other.name, column.name
                ),
                false => {
                    format!(
                        "DELETE x FROM {} x JOIN {} y ON x.id = y.id WHERE y.id > 20 AND {filter}",
                        table.name, other.name
                    )
                }
            }
        }
    }
}
