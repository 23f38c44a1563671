//! One query in many forms gives the same rows: its derived tables merged or not, as views, as common table
//! expressions, as tables; its literals as parameters; its tables with keys and NOT NULL or without; with hints and
//! switches; split by whether a condition is true, false or NULL.
//!
//! `GANNET_FORMS_SEED` begins with another seed, `GANNET_FORMS_ROUNDS` makes more rounds.

use crate::common::random::{Random, setting};
use crate::common::{Running, run};
use gannet_wire::client::{Arg, Connection, Error};

/// What a column or an expression is compared with.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Class {
    Int,
    Dec,
    Real,
    Text,
    Date,
    Moment,
    Time,
}

impl Class {
    /// Beside a text that is no time the comparison of two values is NULL: then NOT IN depends on the plan, in MySQL, too.
    fn timed(self) -> bool {
        matches!(self, Class::Date | Class::Moment | Class::Time)
    }
}

/// Types, their class and values: no two of a type's values are equal unless they are the same.
const KINDS: &[(&str, Class, &[&str])] = &[
    ("INT", Class::Int, &["0", "1", "2", "3", "-1", "7"]),
    ("TINYINT UNSIGNED", Class::Int, &["0", "1", "2", "3", "200"]),
    ("BIGINT", Class::Int, &["0", "1", "2", "3", "9223372036854775807", "9007199254740993"]),
    ("YEAR", Class::Int, &["2000", "2001", "1999", "2155"]),
    ("BIT(4)", Class::Int, &["0", "1", "2", "7"]),
    ("DECIMAL(6,2)", Class::Dec, &["0", "1", "1.5", "2", "-1.25", "3"]),
    ("DECIMAL(20,0)", Class::Dec, &["0", "1", "2", "9007199254740993"]),
    ("DOUBLE", Class::Real, &["0", "1", "1.5", "2", "-0.25", "3"]),
    ("FLOAT", Class::Real, &["0", "1", "1.5", "2", "-0.25"]),
    ("VARCHAR(8)", Class::Text, &["''", "'a'", "'b'", "'ab'", "'1'", "'2'", "'x'"]),
    ("VARCHAR(8) COLLATE utf8mb4_bin", Class::Text, &["''", "'a'", "'b'", "'ab'", "'1'", "'2'"]),
    ("CHAR(3) COLLATE latin1_swedish_ci", Class::Text, &["''", "'a'", "'b'", "'ab'", "'1'"]),
    ("TEXT", Class::Text, &["''", "'a'", "'b'", "'ab'", "'1'"]),
    ("VARBINARY(4)", Class::Text, &["''", "'a'", "'b'", "'ab'", "'1'"]),
    ("ENUM('b','a','ab','1')", Class::Text, &["'a'", "'b'", "'ab'", "'1'"]),
    ("DATE", Class::Date, &["'2020-01-01'", "'2020-01-02'", "'2001-03-04'"]),
    ("DATETIME", Class::Moment, &["'2020-01-01'", "'2020-01-02 10:00:00'", "'2001-03-04'"]),
    ("DATETIME(2)", Class::Moment, &["'2020-01-01'", "'2020-01-02 10:00:00.5'", "'2001-03-04'"]),
    ("TIMESTAMP", Class::Moment, &["'2020-01-01'", "'2020-01-02 10:00:00'", "'2001-03-04'"]),
    ("TIME", Class::Time, &["'00:00:00'", "'10:00:00'", "'-01:00:00'"]),
];

/// A table of the round; in the queries `{T0}` and so on.
struct Table {
    kinds: Vec<usize>,
    rows: Vec<Vec<Option<&'static str>>>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

impl Table {
    fn any(r: &mut Random) -> Table {
        let pool = [(); 3].map(|()| r.below(KINDS.len()));
        let kinds: Vec<usize> =
            NAMES.iter().map(|_| if r.percent(60) { r.of(&pool) } else { r.below(KINDS.len()) }).collect();
        let nulls: Vec<usize> = NAMES.iter().map(|_| r.of(&[0, 0, 15, 30])).collect();
        let count = r.of(&[0, 1, 4, 9, 15]);
        let value = |r: &mut Random, i: usize| (!r.percent(nulls[i])).then(|| r.of(KINDS[kinds[i]].2));
        let rows = (0..count).map(|_| (0..4).map(|i| value(r, i)).collect()).collect();
        Table { kinds, rows }
    }

    /// `{n}` without keys, all nullable; and as `{n}k` with keys, NOT NULL where no value is NULL.
    fn make(&self, r: &mut Random, n: usize) -> Vec<String> {
        let mut all = Vec::new();
        let columns = |known: &dyn Fn(usize) -> bool| -> Vec<String> {
            (0..4)
                .map(|i| {
                    format!("{} {} {}", NAMES[i], KINDS[self.kinds[i]].0, if known(i) { "NOT NULL" } else { "NULL" })
                })
                .collect()
        };
        all.push(format!("CREATE TABLE t{n} (id INT, {})", columns(&|_| false).join(", ")));
        let known = |i: usize| self.rows.iter().all(|row| row[i].is_some());
        let mut keyed = columns(&known);
        keyed.push(r.of(&["PRIMARY KEY (id)", "UNIQUE KEY id (id)", "KEY id (id)"]).into());
        for k in 0..r.below(4) {
            let part =
                |i: usize| if KINDS[self.kinds[i]].0 == "TEXT" { format!("{}(3)", NAMES[i]) } else { NAMES[i].into() };
            let (i, j) = (r.below(4), r.below(4));
            let parts = if i == j { part(i) } else { format!("{}, {}", part(i), part(j)) };
            keyed.push(format!("KEY k{k} ({parts})"));
        }
        all.push(format!("CREATE TABLE t{n}k (id INT NOT NULL, {})", keyed.join(", ")));
        for (id, row) in self.rows.iter().enumerate() {
            let values: Vec<&str> = row.iter().map(|v| v.unwrap_or("NULL")).collect();
            for t in ["", "k"] {
                all.push(format!("INSERT INTO t{n}{t} VALUES ({id}, {})", values.join(", ")));
            }
        }
        all
    }
}

/// A source of columns in FROM.
#[derive(Clone)]
struct Source {
    alias: String,
    columns: Vec<(String, Class)>,
}

/// A derived table, as a name with its text; names of earlier ones stand in it.
struct Maker<'r> {
    r: &'r mut Random,
    tables: Vec<Vec<Class>>,
    derived: Vec<(String, String, Vec<Class>)>,
    aliases: usize,
}

type Columns = Vec<(String, Class)>;

impl Maker<'_> {
    fn alias(&mut self) -> String {
        self.aliases += 1;
        format!("x{}", self.aliases)
    }

    fn literal(&mut self, class: Class) -> String {
        let kinds: Vec<&(&str, Class, &[&str])> = KINDS.iter().filter(|k| k.1 == class).collect();
        let kind = kinds[self.r.below(kinds.len())];
        self.r.of(kind.2).to_owned()
    }

    /// A literal that may be a parameter: a comparison gives it its type.
    fn parameter(&mut self, class: Class) -> String {
        let literal = self.literal(class);
        if matches!(class, Class::Dec | Class::Real) { literal } else { format!("{{{literal}}}") }
    }

    /// A column of a class, or any, among those in scope.
    fn column(&mut self, scope: &[Source], class: Option<Class>) -> Option<(String, Class)> {
        let all: Columns = scope
            .iter()
            .flat_map(|s| s.columns.iter().map(|(n, c)| (format!("{}.{n}", s.alias), *c)))
            .filter(|(_, c)| class.is_none_or(|class| class == *c))
            .collect();
        (!all.is_empty()).then(|| all[self.r.below(all.len())].clone())
    }

    /// An expression over what is in scope.
    fn value(&mut self, scope: &[Source], class: Class, depth: u32) -> String {
        if depth > 0 && self.r.percent(30) {
            let d = depth - 1;
            let w = |m: &mut Self| m.condition(scope, d);
            return match self.r.below(8) {
                0 => format!("IF({}, {}, {})", w(self), self.value(scope, class, d), self.value(scope, class, d)),
                1 => format!("COALESCE({}, {})", self.value(scope, class, d), self.value(scope, class, d)),
                2 => format!("CASE WHEN {} THEN {} END", w(self), self.value(scope, class, d)),
                3 => format!("NULLIF({}, {})", self.value(scope, class, d), self.value(scope, class, d)),
                4 if class == Class::Int => {
                    format!("({} {})", self.value(scope, class, d), self.r.of(&["DIV 2", "% 3", "IS NULL", "= 1"]))
                }
                4 if class == Class::Text => format!("LEFT({}, 1)", self.value(scope, class, d)),
                5 => self.scalar(scope, class, d),
                _ => format!(
                    "{}({}, {})",
                    self.r.of(&["LEAST", "GREATEST", "IFNULL"]),
                    self.value(scope, class, d),
                    self.value(scope, class, d)
                ),
            };
        }
        match self.column(scope, Some(class)) {
            Some((column, _)) if self.r.percent(75) => column,
            _ => self.literal(class),
        }
    }

    /// A subquery with one value.
    fn scalar(&mut self, scope: &[Source], class: Class, depth: u32) -> String {
        let (from, inner) = self.from(scope, depth, 1);
        let all = [scope, &inner].concat();
        let w = self.condition(&all, depth);
        let column = match self.column(&inner, Some(class)) {
            Some((column, _)) => column,
            None => self.literal(class),
        };
        match self.r.below(4) {
            0 => format!("(SELECT {column} FROM {from} WHERE {w} ORDER BY 1 LIMIT 1)"),
            n => format!("(SELECT {}({column}) FROM {from} WHERE {w})", ["MIN", "MAX", "MIN"][n - 1]),
        }
    }

    fn condition(&mut self, scope: &[Source], depth: u32) -> String {
        if depth > 0 && self.r.percent(40) {
            let d = depth - 1;
            let (a, b) = (self.condition(scope, d), self.condition(scope, d));
            return match self.r.below(8) {
                0..=2 => format!("({a} AND {b})"),
                3 | 4 => format!("({a} OR {b})"),
                5 => format!("NOT ({a})"),
                6 => format!("({a} XOR {b})"),
                _ => format!("({a}) IS {}", self.r.of(&["TRUE", "NOT TRUE", "FALSE", "UNKNOWN", "NOT NULL"])),
            };
        }
        let Some((column, class)) = self.column(scope, None) else { return self.r.of(&["TRUE", "{1}", "{0}"]).into() };
        match self.r.below(if depth > 0 { 18 } else { 10 }) {
            0..=4 => format!(
                "{column} {} {}",
                self.r.of(&["=", "=", "=", "<", ">", "<=", ">=", "<>", "<=>"]),
                self.compared(scope, class, depth)
            ),
            5 => format!("{column} IS {}NULL", self.r.of(&["", "NOT "])),
            6 => format!(
                "{column} {}BETWEEN {} AND {}",
                self.r.of(&["", "NOT "]),
                self.parameter(class),
                self.compared(scope, class, 0)
            ),
            7 | 8 => format!(
                "{column} {}IN ({}, {}, {})",
                self.r.of(&["", "", "NOT "]),
                self.parameter(class),
                self.parameter(class),
                self.compared(scope, class, 0)
            ),
            9 => {
                // Of another class: what the two become is the comparison's affair.
                let other = self.column(scope, None).filter(|(_, c)| c.timed() == class.timed());
                let other = other.map_or_else(|| column.clone(), |c| c.0);
                format!("{column} {} {other}", self.r.of(&["=", "<", "<=>"]))
            }
            n => self.subquery(scope, &column, class, depth - 1, n),
        }
    }

    fn compared(&mut self, scope: &[Source], class: Class, depth: u32) -> String {
        if self.r.percent(30) { self.parameter(class) } else { self.value(scope, class, depth) }
    }

    fn subquery(&mut self, scope: &[Source], column: &str, class: Class, depth: u32, n: usize) -> String {
        let not = self.r.of(&["", "", "NOT "]);
        let (from, inner) = self.from(scope, depth, 2);
        let all = [scope, &inner].concat();
        let w = if self.r.percent(80) { format!(" WHERE {}", self.condition(&all, depth)) } else { String::new() };
        let (other, other_class) = self
            .column(&inner, Some(class))
            .or_else(|| self.column(&inner, None).filter(|(_, c)| c.timed() == class.timed()))
            .unwrap_or_else(|| (self.literal(class), class));
        let value = if self.r.percent(70) { other.clone() } else { self.value(&inner, other_class, 1) };
        match n {
            10 | 11 => {
                let group = match self.r.below(6) {
                    0 => format!(" GROUP BY {other} HAVING COUNT(*) > 1"),
                    1 => " LIMIT 1000".into(),
                    _ => String::new(),
                };
                if group.contains("LIMIT") {
                    let d = self.alias();
                    return format!(
                        "{column} {not}IN (SELECT {d}.v FROM (SELECT {value} v FROM {from}{w}{group}) {d})"
                    );
                }
                let value = if group.is_empty() { value } else { other };
                format!("{column} {not}IN (SELECT {value} FROM {from}{w}{group})")
            }
            12 | 13 => format!("{not}EXISTS (SELECT {} FROM {from}{w})", self.r.of(&["1", "*", "NULL"])),
            14 => format!(
                "{column} {} {} (SELECT {value} FROM {from}{w})",
                self.r.of(&["=", "<", ">=", "<>"]),
                self.r.of(&["ANY", "ALL"])
            ),
            15 => {
                let (second, c2) = self.column(scope, None).unwrap_or((column.into(), class));
                let other2 = self.column(&inner, Some(c2)).map_or_else(|| "NULL".into(), |c| c.0);
                format!("({column}, {second}) {not}IN (SELECT {value}, {other2} FROM {from}{w})")
            }
            16 => format!(
                "{column} {} (SELECT {}({other}) FROM {from}{w})",
                self.r.of(&["=", "<", ">"]),
                self.r.of(&["MIN", "MAX"])
            ),
            _ => format!("(SELECT COUNT(*) FROM {from}{w}) {} {{1}}", self.r.of(&["=", ">", "<"])),
        }
    }

    /// Tables and derived tables, joined.
    fn from(&mut self, scope: &[Source], depth: u32, most: usize) -> (String, Vec<Source>) {
        let mut text = String::new();
        let mut sources: Vec<Source> = Vec::new();
        for n in 0..1 + self.r.below(most) {
            let lateral = depth > 0 && n > 0 && self.r.percent(10);
            let (item, source) = self.source(if lateral { Some(&sources) } else { None }, depth);
            if n == 0 {
                text = item;
                sources.push(source);
                continue;
            }
            let all = [scope, &sources, std::slice::from_ref(&source)].concat();
            let on = match self.column(&sources, None) {
                Some((column, class)) if self.r.percent(70) => {
                    match self.column(std::slice::from_ref(&source), Some(class)) {
                        Some((other, _)) if self.r.percent(80) => format!("{column} = {other}"),
                        Some((other, _)) => format!("{column} = {other} AND {}", self.condition(&all, depth.min(1))),
                        None => self.condition(&all, depth.min(1)),
                    }
                }
                _ => self.condition(&all, depth.min(1)),
            };
            let join =
                self.r.of(&["JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", if lateral { "JOIN" } else { "RIGHT JOIN" }]);
            text = format!("{text} {join} {item} ON {on}");
            sources.push(source);
        }
        (text, sources)
    }

    fn source(&mut self, before: Option<&Vec<Source>>, depth: u32) -> (String, Source) {
        let alias = self.alias();
        if let Some(before) = before {
            let before = before.clone();
            let (sql, columns) = self.select(&before, depth - 1);
            return (format!("LATERAL ({sql}) {alias}"), Source { alias, columns });
        }
        if depth > 0 && self.r.percent(35) {
            let n = if !self.derived.is_empty() && self.r.percent(25) {
                self.r.below(self.derived.len())
            } else {
                let (sql, columns) = self.select(&[], depth - 1);
                self.derived.push((format!("q{}", self.derived.len()), sql, columns.iter().map(|c| c.1).collect()));
                self.derived.len() - 1
            };
            let columns = self.derived[n].2.iter().enumerate().map(|(i, c)| (format!("c{i}"), *c)).collect();
            return (format!("<{n}> {alias}"), Source { alias, columns });
        }
        let n = self.r.below(self.tables.len());
        let mut columns: Columns = NAMES.iter().zip(&self.tables[n]).map(|(n, c)| ((*n).to_owned(), *c)).collect();
        columns.push(("id".into(), Class::Int));
        (format!("[{n}] {alias}"), Source { alias, columns })
    }

    /// A query whose columns are c0, c1, ...; `outer` may be named in it.
    fn select(&mut self, outer: &[Source], depth: u32) -> (String, Columns) {
        let (from, inner) = self.from(outer, depth, 3);
        let scope = [outer, &inner].concat();
        let w = if self.r.percent(70) { format!(" WHERE {}", self.condition(&scope, depth)) } else { String::new() };
        let (mut items, mut tail): (Vec<(String, Class)>, String) = (Vec::new(), String::new());
        let mut head = "";
        match self.r.below(10) {
            0 | 1 => {
                let keys: Vec<(String, Class)> =
                    (0..1 + self.r.below(2)).filter_map(|_| self.column(&inner, None)).collect();
                items.extend(keys.iter().cloned());
                let (agg, class) = self.aggregate(&inner);
                items.push((agg, class));
                let names: Vec<&str> = keys.iter().map(|k| k.0.as_str()).collect();
                tail = format!(" GROUP BY {}{}", names.join(", "), self.r.of(&["", "", " WITH ROLLUP"]));
                if self.r.percent(30) {
                    let (agg, class) = self.aggregate(&inner);
                    let constant = self.parameter(class);
                    tail += &format!(" HAVING {agg} {} {constant}", self.r.of(&["<", ">", "=", "<>"]));
                }
            }
            2 => (0..2).for_each(|_| {
                let a = self.aggregate(&inner);
                items.push(a);
            }),
            3 => {
                let (p, _) = self.column(&inner, None).unwrap();
                let (o, _) = self.column(&inner, None).unwrap();
                items.push((p.clone(), Class::Int));
                items[0].1 = self.class_of(&inner, &p);
                let way = self.r.of(&["", " DESC"]);
                let over = format!("OVER (PARTITION BY {p} ORDER BY {o}{way})");
                let (agg, class) = self.aggregate(&inner);
                if agg.contains("DISTINCT") || agg.contains("GROUP_CONCAT") || self.r.percent(40) {
                    items.push((format!("{} {over}", self.r.of(&["RANK()", "DENSE_RANK()"])), Class::Int));
                } else {
                    items.push((format!("{agg} {over}"), class));
                }
            }
            4 | 5 => {
                head = "DISTINCT ";
                (0..1 + self.r.below(2)).for_each(|_| items.extend(self.column(&inner, None)));
            }
            _ => (0..1 + self.r.below(3)).for_each(|_| {
                let (column, class) = self.column(&inner, None).unwrap();
                let v = if self.r.percent(60) { column } else { self.value(&scope, class, depth.min(1)) };
                items.push((v, class));
            }),
        }
        let list: Vec<String> = items.iter().enumerate().map(|(i, (v, _))| format!("{v} c{i}")).collect();
        let classes: Columns = items.iter().enumerate().map(|(i, (_, c))| (format!("c{i}"), *c)).collect();
        if self.r.percent(15) {
            let all: Vec<String> = (1..=items.len()).map(|i| format!("{i}{}", self.r.of(&["", " DESC"]))).collect();
            tail += &format!(" ORDER BY {} LIMIT {}", all.join(", "), self.r.of(&["1", "3", "2 OFFSET 1", "5"]));
        } else if depth > 0 && outer.is_empty() && self.r.percent(12) {
            let (from2, inner2) = self.from(&[], depth - 1, 2);
            let w2 = self.condition(&inner2, depth - 1);
            let others: Vec<String> = classes
                .iter()
                .map(|(_, c)| self.column(&inner2, Some(*c)).map_or_else(|| "NULL".into(), |x| x.0))
                .collect();
            let op = self.r.of(&["UNION", "UNION ALL", "EXCEPT", "INTERSECT"]);
            tail += &format!(" {op} SELECT {} FROM {from2} WHERE {w2}", others.join(", "));
        }
        (format!("SELECT {head}{} FROM {from}{w}{tail}", list.join(", ")), classes)
    }

    fn class_of(&self, scope: &[Source], column: &str) -> Class {
        scope
            .iter()
            .flat_map(|s| s.columns.iter().map(move |(n, c)| (format!("{}.{n}", s.alias), *c)))
            .find(|(n, _)| n == column)
            .map_or(Class::Int, |x| x.1)
    }

    fn aggregate(&mut self, scope: &[Source]) -> (String, Class) {
        let (column, class) = self.column(scope, None).unwrap();
        match self.r.below(7) {
            0 => ("COUNT(*)".into(), Class::Int),
            1 => (format!("COUNT({column})"), Class::Int),
            2 => (format!("COUNT(DISTINCT {column})"), Class::Int),
            3 if matches!(class, Class::Int | Class::Dec) => (format!("SUM({column})"), Class::Dec),
            4 => (format!("GROUP_CONCAT({column} ORDER BY {column})"), Class::Text),
            5 => (format!("MIN({column})"), class),
            _ => (format!("MAX({column})"), class),
        }
    }
}

/// How derived tables stand in a query.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Way {
    Derived,
    View,
    With,
    Table,
}

/// `{literal}`s as they are, or as `?` with their values.
fn literals(text: &str, parameters: bool) -> (String, Vec<String>) {
    let (mut out, mut values) = (String::new(), Vec::new());
    let mut rest = text;
    while let Some(at) = rest.find('{') {
        let end = at + rest[at..].find('}').unwrap();
        out += &rest[..at];
        let value = &rest[at + 1..end];
        if parameters {
            out.push('?')
        } else {
            out += value
        }
        values.push(value.to_owned());
        rest = &rest[end + 1..];
    }
    (out + rest, values)
}

/// The text with derived tables in a way, and tables with keys or without.
fn form(text: &str, derived: &[(String, String, Vec<Class>)], way: Way, keyed: bool) -> String {
    let mut out = text.to_owned();
    for (n, (name, sql, _)) in derived.iter().enumerate().rev() {
        let place = format!("<{n}>");
        let with = match way {
            Way::Derived => format!("({sql})"),
            Way::View => format!("v{name}"),
            Way::With => name.clone(),
            Way::Table => format!("t{name}"),
        };
        out = out.replace(&place, &with);
    }
    if way == Way::With && !derived.is_empty() {
        let list: Vec<String> = derived
            .iter()
            .map(|(name, sql, _)| {
                format!(
                    "{name} AS ({})",
                    derived.iter().enumerate().fold(sql.clone(), |s, (i, d)| s.replace(&format!("<{i}>"), &d.0))
                )
            })
            .collect();
        out = format!("WITH {} {out}", list.join(", "));
    }
    for n in 0..3 {
        out = out.replace(&format!("[{n}]"), &format!("t{n}{}", if keyed { "k" } else { "" }));
    }
    out
}

type Answer = Result<Vec<Vec<String>>, u16>;

/// Sorted. What functions compute of bits is shown as their number, unless it was kept as bits in a table.
fn shown(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    for value in rows.iter_mut().flatten() {
        if let [bits @ ..16] = value.as_bytes() {
            *value = bits.to_string();
        }
    }
    rows.sort();
    rows
}

fn answer(c: &mut Connection, sql: &str) -> Answer {
    match c.query(sql) {
        Ok(set) => Ok(shown(set.texts())),
        Err(Error::Server { code, .. }) => Err(code),
        Err(e) => panic!("{sql}: {e}"),
    }
}

/// With the literals as parameters.
fn executed(c: &mut Connection, sql: &str, values: &[String]) -> Answer {
    let failed = |e: Error| match e {
        Error::Server { code, .. } => code,
        e => panic!("{sql}: {e}"),
    };
    let statement = c.prepare(sql).map_err(failed)?;
    let args: Vec<Arg<'_>> = values
        .iter()
        .map(|v| match v.parse::<i64>() {
            Ok(n) => Arg::Int(n),
            Err(_) if v.starts_with('\'') => Arg::Text(v.trim_matches('\'')),
            Err(_) => Arg::Decimal(v),
        })
        .collect();
    let answer = c.execute(&statement, &args).map(|set| shown(set.texts())).map_err(failed);
    c.close(&statement).unwrap();
    answer
}

/// Errors of values that one way meets and another does not.
fn of_rows(answer: &Answer) -> bool {
    matches!(answer, Err(1690 | 1292 | 1525 | 1242 | 1267 | 1270 | 1271))
}

const SWITCHES: &[&str] = &[
    "semijoin=off",
    "semijoin=off,materialization=off",
    "firstmatch=off,loosescan=off,duplicateweedout=off",
    "materialization=off,firstmatch=off,loosescan=off",
    "derived_merge=off",
    "derived_merge=off,derived_condition_pushdown=off",
    "block_nested_loop=off,hash_join=off,condition_fanout_filter=off",
    "subquery_materialization_cost_based=off",
];
const HINTS: &[&str] = &[
    "NO_MERGE()",
    "MERGE()",
    "NO_SEMIJOIN()",
    "SEMIJOIN(DUPSWEEDOUT)",
    "SEMIJOIN(MATERIALIZATION)",
    "SEMIJOIN(FIRSTMATCH)",
    "SEMIJOIN(LOOSESCAN)",
    "JOIN_FIXED_ORDER()",
    "NO_BNL()",
    "SET_VAR(optimizer_search_depth=1)",
];

fn compare(
    c: &mut Connection,
    r: &mut Random,
    text: &str,
    derived: &[(String, String, Vec<Class>)],
    seed: u64,
) -> Option<String> {
    let plain = form(text, derived, Way::Derived, false);
    let (plain, _) = literals(&plain, false);
    let wanted = answer(c, &plain);
    if of_rows(&wanted) {
        return None;
    }
    let mut faults = Vec::new();
    let mut check = |found: Answer, what: &str| {
        if !of_rows(&found) && found != wanted {
            faults.push(format!("seed {seed}: {what}\n{plain};\n{wanted:?}\n{found:?}"));
        }
    };
    for switch in SWITCHES {
        run(c, &format!("SET optimizer_switch = '{switch}'"));
        let keyed = r.percent(50);
        let sql = literals(&form(text, derived, Way::Derived, keyed), false).0;
        let found = answer(c, &sql);
        run(c, "SET optimizer_switch = DEFAULT");
        check(found, &format!("{switch}, {}", if keyed { "keyed" } else { "plain" }));
    }
    for hint in HINTS {
        let keyed = r.percent(50);
        let sql = literals(&form(text, derived, Way::Derived, keyed), false)
            .0
            .replace("SELECT", &format!("SELECT /*+ {hint} */"));
        check(answer(c, &sql), &sql);
    }
    for way in [Way::View, Way::With, Way::Table] {
        let keyed = way != Way::View && r.percent(50);
        let sql = literals(&form(text, derived, way, keyed), false).0;
        check(answer(c, &sql), &sql);
    }
    let keyed = form(text, derived, Way::Derived, true);
    let (sql, values) = literals(&keyed, true);
    check(executed(c, &sql, &values), &format!("{sql} {values:?}"));
    let (sql, values) = literals(&form(text, derived, Way::With, false), true);
    check(executed(c, &sql, &values), &format!("{sql} {values:?}"));
    faults.into_iter().next()
}

/// Views and tables of the derived tables.
fn make_derived(c: &mut Connection, derived: &[(String, String, Vec<Class>)]) -> bool {
    run(c, "SET sql_mode = ''");
    let made = derived.iter().all(|(name, sql, _)| {
        run(c, &format!("DROP VIEW IF EXISTS v{name}"));
        run(c, &format!("DROP TABLE IF EXISTS t{name}"));
        [("VIEW v", Way::View, false), ("TABLE t", Way::Table, true)].iter().all(|(what, way, keyed)| {
            let sql = literals(&form(sql, derived, *way, *keyed), false).0;
            c.query(&format!("CREATE {what}{name} AS {sql}")).is_ok()
        })
    });
    run(c, "SET sql_mode = 'ONLY_FULL_GROUP_BY'");
    made
}

#[test]
fn all_forms_of_a_query_give_the_same_rows() {
    let server = Running::start();
    let mut c = server.connect();
    run(&mut c, "SET time_zone = '+00:00'");
    run(&mut c, "SET sql_mode = 'ONLY_FULL_GROUP_BY'");
    let first = setting("GANNET_FORMS_SEED", 1);
    let (mut asked, mut full, mut faults) = (0, 0, Vec::new());
    for seed in first..first + setting("GANNET_FORMS_ROUNDS", 6) {
        let mut r = Random::new(seed);
        run(&mut c, "DROP DATABASE IF EXISTS d");
        run(&mut c, "CREATE DATABASE d");
        run(&mut c, "USE d");
        let tables = [(); 3].map(|()| Table::any(&mut r));
        let setup: Vec<String> = tables.iter().enumerate().flat_map(|(n, t)| t.make(&mut r, n)).collect();
        setup.iter().for_each(|sql| run(&mut c, sql));
        let before = faults.len();
        for _ in 0..12 {
            let classes = tables.iter().map(|t| t.kinds.iter().map(|k| KINDS[*k].1).collect()).collect();
            let mut m = Maker { r: &mut r, tables: classes, derived: Vec::new(), aliases: 0 };
            let (text, _) = m.select(&[], 2);
            let derived = m.derived;
            if make_derived(&mut c, &derived) {
                asked += 1;
                full += usize::from(rows_of(&mut c, &text, &derived));
                faults.extend(compare(&mut c, &mut r, &text, &derived, seed));
            }
        }
        if faults.len() > before {
            faults.push(setup.join(";\n"));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
    assert!(full * 4 > asked, "{full} of {asked} queries have rows");
}

fn rows_of(c: &mut Connection, text: &str, derived: &[(String, String, Vec<Class>)]) -> bool {
    answer(c, &literals(&form(text, derived, Way::Derived, false), false).0).is_ok_and(|rows| !rows.is_empty())
}
