//! Programs that compute: functions of values of many types and triggers that set NEW, over tables with many rows,
//! among them rows that do not fit.

use super::{Random, STEPS, Step, Story, one, small};
use std::fmt::Write;

/// Columns of the table that is read, which are parameters and variables of the functions, too.
const TYPES: &[(&str, &str)] = &[
    ("i", "INT"),
    ("t", "TINYINT"),
    ("l", "BIGINT"),
    ("u", "INT UNSIGNED"),
    ("d", "DECIMAL(8,2)"),
    ("f", "DOUBLE"),
    ("s", "VARCHAR(12)"),
    ("e", "DATE"),
];
const FUNCTIONS: usize = 6;
const ROWS: usize = 40;

fn value(random: &mut Random, ty: &str) -> String {
    if random.percent(10) {
        return "NULL".into();
    }
    match ty {
        "INT" => one(random, &["0", "1", "-1", "7", "100", "127", "300", "2147483647", "-2147483648"]).into(),
        "TINYINT" => one(random, &["0", "1", "-1", "12", "127", "-128"]).into(),
        "BIGINT" => one(random, &["0", "5", "-9", "9223372036854775807", "-9223372036854775808", "4000000000"]).into(),
        "INT UNSIGNED" => one(random, &["0", "1", "9", "200", "4294967295"]).into(),
        "DECIMAL(8,2)" => one(random, &["0", "1.5", "-2.25", "999999.99", "12.00", "0.01"]).into(),
        "DOUBLE" => one(random, &["0", "1.5", "-2.5", "1000", "0.25"]).into(),
        "DATE" => one(random, &["'2024-02-29'", "'1999-12-31'", "'2020-01-01'"]).into(),
        _ => one(random, &["'a'", "'12'", "'3.7'", "''", "'abcdefghijkl'", "'x y'", "'-5'", "'É'"]).into(),
    }
}

/// An expression over names with their types.
struct Expressions<'r> {
    random: &'r mut Random,
    names: Vec<(String, &'static str)>,
}

impl Expressions<'_> {
    fn name(&mut self, ty: &str) -> Option<String> {
        let of: Vec<String> = self.names.iter().filter(|(_, t)| *t == ty).map(|(n, _)| n.clone()).collect();
        (!of.is_empty()).then(|| self.random.pick(&of).clone())
    }

    fn number(&mut self, depth: usize) -> String {
        if depth == 0 {
            // What is beyond UNSIGNED beside a DECIMAL is an error here, as in MySQL, and none in MariaDB.
            let ty = one(self.random, &["INT", "INT", "TINYINT", "BIGINT", "DECIMAL(8,2)"]);
            let number = one(self.random, &["0", "1", "2", "-3", "10", "NULL"]);
            return match self.name(ty) {
                Some(name) if self.random.percent(75) => name,
                _ => number.into(),
            };
        }
        let (a, b) = (self.number(depth - 1), self.number(0));
        match self.random.below(14) {
            0..=2 => format!("({a} + {b})"),
            3 => format!("({a} - {b})"),
            4 => format!("({a} * {b})"),
            5 => format!("({a} % {b})"),
            6 => format!("({a} DIV {b})"),
            7 => format!("ABS({a})"),
            8 => format!("IFNULL({a}, {b})"),
            9 => format!("IF({}, {a}, {b})", self.condition(depth - 1)),
            10 => format!("GREATEST({a}, {b})"),
            11 => format!("LENGTH({})", self.text(depth - 1)),
            12 => format!("CASE {a} WHEN {b} THEN {} ELSE {} END", self.number(0), self.number(0)),
            _ => self.condition(depth - 1),
        }
    }

    fn text(&mut self, depth: usize) -> String {
        if depth == 0 {
            let text = one(self.random, &["'a'", "''", "'12'", "NULL"]);
            return match self.name("VARCHAR(12)") {
                Some(name) if self.random.percent(75) => name,
                _ => text.into(),
            };
        }
        let a = self.text(depth - 1);
        match self.random.below(7) {
            0 | 1 => format!("CONCAT({a}, {})", self.text(0)),
            2 => format!("CONCAT({a}, {})", self.number(0)),
            3 => format!("LEFT({a}, 3)"),
            4 => format!("LOWER({a})"),
            5 => format!("COALESCE({a}, {})", self.text(0)),
            _ => format!("REPEAT({a}, 2)"),
        }
    }

    fn condition(&mut self, depth: usize) -> String {
        let (a, b) = (self.number(depth), self.number(0));
        match self.random.below(9) {
            0 => format!("{a} IS NULL"),
            1 => format!("({} AND {})", self.condition(0), self.condition(0)),
            2 => format!("({} OR {})", self.condition(0), self.condition(0)),
            3 => format!("NOT ({a} > {b})"),
            4 => format!("{} = {}", self.text(depth), self.text(0)),
            5 => format!("{a} BETWEEN {b} AND {}", self.number(0)),
            _ => format!("{a} {} {b}", one(self.random, &["<", ">", "=", "<>", ">=", "<=", "<=>"])),
        }
    }

    fn of(&mut self, ty: &str) -> String {
        match ty {
            "VARCHAR(12)" => self.text(2),
            "DATE" => self.name("DATE").unwrap_or_else(|| "NULL".into()),
            _ => self.number(2),
        }
    }
}

/// Statements that compute; `targets` may be set.
fn statements(e: &mut Expressions<'_>, targets: &[(String, &'static str)], depth: usize, out: &mut String) {
    for _ in 0..1 + e.random.below(3) {
        let (name, ty) = e.random.pick(targets).clone();
        match e.random.below(if depth == 0 { 3 } else { 8 }) {
            3 | 4 => {
                let condition = e.condition(1);
                let _ = write!(out, "IF {condition} THEN ");
                statements(e, targets, depth - 1, out);
                if e.random.percent(50) {
                    out.push_str("ELSE ");
                    statements(e, targets, depth - 1, out);
                }
                out.push_str("END IF; ");
            }
            5 => {
                let (mut operand, a, b) = (e.number(1), e.number(0), e.number(0));
                // MariaDB's CASE statement compares as integers where one of several values is one: 0.01 is 0 to it.
                let exact = |(name, ty): &(String, &str)| {
                    ty.starts_with("DECIMAL") && [&operand, &a, &b].iter().any(|text| text.contains(name))
                };
                if e.names.iter().any(exact) {
                    operand = format!("LENGTH({operand})");
                }
                let _ = write!(out, "CASE {operand} WHEN {a} THEN ");
                statements(e, targets, depth - 1, out);
                let _ = write!(out, "WHEN {b} THEN ");
                statements(e, targets, depth - 1, out);
                // Now and then error 1339.
                if e.random.percent(90) {
                    out.push_str("ELSE BEGIN END; ");
                }
                out.push_str("END CASE; ");
            }
            6 if e.random.percent(10) => {
                let condition = e.condition(1);
                let _ = write!(out, "IF {condition} THEN SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'; END IF; ");
            }
            _ => {
                let value = e.of(ty);
                let _ = write!(out, "SET {name} = {value}; ");
            }
        }
    }
}

fn function(random: &mut Random, n: usize, param: &'static str) -> String {
    let returns = random.pick(TYPES).1;
    let mut names = vec![("x".to_owned(), param), ("y".to_owned(), "INT")];
    let mut out =
        format!("CREATE FUNCTION g{n}(x {param}, y INT) RETURNS {returns} {}", one(random, &["", "DETERMINISTIC "]));
    if random.percent(30) {
        let value = Expressions { random, names }.of(returns);
        let _ = write!(out, "RETURN {value}");
        return out;
    }
    out.push_str("BEGIN ");
    for v in 0..1 + random.below(3) {
        let ty = random.pick(TYPES).1;
        let value = Expressions { random, names: names.clone() }.of(ty);
        // What is not initialised is NULL.
        let default = if random.percent(70) { format!(" DEFAULT {value}") } else { String::new() };
        let _ = write!(out, "DECLARE v{v} {ty}{default}; ");
        names.push((format!("v{v}"), ty));
    }
    let loops = random.percent(30);
    if loops {
        out.push_str("DECLARE rounds INT DEFAULT 0; ");
    }
    let targets = names.clone();
    let mut e = Expressions { random, names };
    if loops {
        let most = 1 + e.random.below(20);
        let _ = write!(out, "WHILE rounds < {most} DO SET rounds = rounds + 1; ");
        statements(&mut e, &targets, 1, &mut out);
        out.push_str("END WHILE; ");
    }
    statements(&mut e, &targets, 2, &mut out);
    let value = e.of(returns);
    let _ = write!(out, "RETURN {value}; END");
    out
}

fn trigger(random: &mut Random, n: usize) -> String {
    let (time, event) = (one(random, &["BEFORE", "BEFORE", "AFTER"]), one(random, &["INSERT", "INSERT", "UPDATE"]));
    let row = |row: &str| TYPES.iter().map(move |(c, ty)| (format!("{row}.{c}"), *ty)).collect::<Vec<_>>();
    let mut names = row("NEW");
    let mut targets = names.clone();
    if event == "UPDATE" {
        names.extend(row("OLD"));
    }
    let mut out = format!("CREATE TRIGGER h{n} {time} {event} ON w FOR EACH ROW BEGIN DECLARE v0 INT; ");
    names.push(("v0".into(), "INT"));
    if time == "AFTER" {
        targets = vec![("v0".into(), "INT"), ("@seen".into(), "INT")];
    }
    let mut e = Expressions { random, names };
    statements(&mut e, &targets, 2, &mut out);
    out.push_str("END");
    out
}

pub(super) fn computed(random: &mut Random) -> Story {
    let columns = |keys: &str| {
        let list: Vec<String> = TYPES.iter().map(|(name, ty)| format!("{name} {ty}")).collect();
        format!("(id INT PRIMARY KEY, {}{keys})", list.join(", "))
    };
    let mut setup = vec![format!("CREATE TABLE r {}", columns("")), format!("CREATE TABLE w {}", columns(""))];
    let rows: Vec<String> = (0..ROWS)
        .map(|id| {
            let values: Vec<String> = TYPES.iter().map(|(_, ty)| value(random, ty)).collect();
            format!("({id}, {})", values.join(", "))
        })
        .collect();
    setup.push(format!("INSERT INTO r VALUES {}", rows.join(", ")));
    let mut steps = Vec::new();
    if random.percent(40) {
        steps.push(Step::new("SET sql_mode = ''"));
    }
    // A date is made of a date only: what becomes of numbers is another theme.
    let params: Vec<(&str, &str)> = (0..FUNCTIONS).map(|_| *random.pick(TYPES)).collect();
    steps.extend(params.iter().enumerate().map(|(n, (_, ty))| Step::new(function(random, n, ty))));
    let triggers = 1 + random.below(3);
    steps.extend((0..triggers).map(|n| Step::new(trigger(random, n))));
    for _ in 0..STEPS {
        let (f, id, y) = (random.below(FUNCTIONS), random.below(ROWS), small(random, 9));
        let (own, date) = (params[f].0, params[f].1 == "DATE");
        let column = if date || random.percent(50) { own } else { random.pick(&TYPES[..7]).0 };
        let text = match random.below(12) {
            0 | 1 => format!("SELECT id, g{f}({column}, {y}) FROM r ORDER BY id"),
            2 => format!("SELECT id, g{f}({column}, id) FROM r WHERE id < {id} ORDER BY id"),
            3 => format!("SELECT COUNT(g{f}({column}, {y})), MAX(g{f}({column}, id)) FROM r WHERE id >= {id}"),
            4 => format!("SELECT id FROM r WHERE g{f}({column}, {y}) ORDER BY id"),
            5 => "SET @seen = 0".into(),
            6 => "DELETE FROM w".into(),
            7 => format!("INSERT INTO w SELECT * FROM r WHERE id > {id}"),
            8 => "INSERT INTO w SELECT * FROM r".into(),
            9 => format!("INSERT INTO w (id, i, s) SELECT id + 50, {y}, s FROM r WHERE id < {id}"),
            10 => format!("UPDATE w SET i = {y} WHERE id < {id} ORDER BY id"),
            _ => one(random, &["SELECT @seen", "SET sql_mode = ''", "SET sql_mode = 'STRICT_TRANS_TABLES'"]).into(),
        };
        steps.push(if text.starts_with("SELECT") { Step::ordered(text) } else { Step::new(text) });
    }
    Story { theme: "computed", setup, steps, shown: vec!["SELECT * FROM w ORDER BY id".into()] }
}
