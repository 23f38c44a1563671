//! An expression is the same everywhere: over columns, local variables, parameters, NEW of a trigger, in a function,
//! behind a cursor, in a prepared statement, a generated column, a DEFAULT, a CHECK. Generated expressions give equal
//! values, types, warnings and errors there; what is assigned to a variable becomes what a column of its type would.
//!
//! `GANNET_PROGRAMS_SEED` begins with another seed, `GANNET_PROGRAMS_ROUNDS` makes more rounds.

use crate::common::random::{Random, setting};
use crate::common::{Running, run};
use gannet_wire::client::{Connection, Error, ResultSet};

/// Types, their class, and values of columns.
const KINDS: &[(&str, char, &[&str])] = &[
    ("INT", 'i', &["0", "1", "2", "-3", "7", "2147483647", "NULL"]),
    ("TINYINT UNSIGNED", 'i', &["0", "1", "2", "200", "NULL"]),
    ("BIGINT", 'i', &["0", "1", "3", "-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", 'i', &["0", "1", "18446744073709551615", "NULL"]),
    ("BIT(8)", 'i', &["0", "1", "65", "255"]),
    ("DECIMAL(6,2)", 'd', &["0", "1.5", "-1.25", "9999.99", "NULL"]),
    ("DECIMAL(30,10)", 'd', &["0.0000000001", "12345678901234567890.123", "-1"]),
    ("DOUBLE", 'r', &["0", "1.5", "-0.25", "1e10", "NULL"]),
    ("FLOAT", 'r', &["0", "1.5", "0.1", "-2"]),
    ("FLOAT(7,3)", 'r', &["0", "1.5", "0.125", "-2"]),
    ("VARCHAR(12)", 't', &["''", "'abc'", "'Äb'", "'12x'", "'2020-01-01'", "' 7 '", "NULL"]),
    ("CHAR(4) CHARACTER SET latin1", 't', &["''", "'ab'", "'é'", "'1'"]),
    ("VARCHAR(6) COLLATE utf8mb4_bin", 't', &["''", "'abc'", "'Ab'", "'-3.7'", "NULL"]),
    ("TEXT", 't', &["''", "'some text'", "'{\"a\": 1}'", "'x'"]),
    ("VARBINARY(8)", 'b', &["''", "'ab'", "X'00FF'", "'12'", "NULL"]),
    ("BINARY(3)", 'b', &["'a'", "'abc'", "''"]),
    ("ENUM('b','a','7')", 't', &["'a'", "'b'", "'7'", "NULL"]),
    ("SET('x','y','z')", 't', &["''", "'x'", "'y,z'"]),
    ("JSON", 'j', &["'1'", "'\"ab\"'", "'{\"a\": [1, 2.5]}'", "'[true, null]'", "NULL"]),
    ("DATE", 'D', &["'2020-02-29'", "'1999-12-31'", "'0001-01-01'", "NULL"]),
    ("DATETIME", 'M', &["'2020-02-29 23:59:59'", "'1999-12-31'", "NULL"]),
    ("DATETIME(3)", 'M', &["'2020-02-29 23:59:59.999'", "'2000-01-01 00:00:00.001'"]),
    ("TIMESTAMP(1)", 'M', &["'2020-02-29 23:59:59.9'", "'2001-01-01 12:00:00'"]),
    ("TIME", 'T', &["'10:11:12'", "'-838:59:59'", "NULL"]),
    ("TIME(2)", 'T', &["'10:11:12.13'", "'00:00:00.01'"]),
];

/// Expressions of a class; small letters stand for expressions of these.
const FORMS: &[(char, &str)] = &[
    ('i', "[i] + [i]"),
    ('i', "[i] - [i]"),
    ('i', "[i] * 2"),
    ('i', "[i] DIV [i]"),
    ('i', "[i] % [i]"),
    ('i', "-[i]"),
    ('i', "[i] | [i]"),
    ('i', "[i] << 2"),
    ('i', "~[i]"),
    ('i', "LENGTH([t])"),
    ('i', "CHAR_LENGTH([t])"),
    ('i', "LOCATE([t], [t])"),
    ('i', "[t] = [t]"),
    ('i', "[t] < [t]"),
    ('i', "[i] <=> [i]"),
    ('i', "[d] >= [i]"),
    ('i', "[D] < [M]"),
    ('i', "[T] <> [T]"),
    ('i', "[t] LIKE 'a%'"),
    ('i', "[t] IN ([t], 'abc')"),
    ('i', "[i] BETWEEN [i] AND 5"),
    ('i', "[i] IS NULL"),
    ('i', "CAST([t] AS SIGNED)"),
    ('i', "CAST([r] AS SIGNED)"),
    ('i', "CAST([d] AS UNSIGNED)"),
    ('i', "CAST([i] AS UNSIGNED)"),
    ('i', "CAST([M] AS SIGNED)"),
    ('i', "YEAR([D])"),
    ('i', "DATEDIFF([M], [D])"),
    ('i', "TIMESTAMPDIFF(HOUR, [M], [M])"),
    ('i', "TO_DAYS([D])"),
    ('i', "TIME_TO_SEC([T])"),
    ('i', "FIELD([t], 'abc', [t])"),
    ('i', "BIT_COUNT([i])"),
    ('i', "SIGN([d])"),
    ('i', "FLOOR([i])"),
    ('i', "JSON_LENGTH([j])"),
    ('i', "CRC32([t])"),
    ('i', "STRCMP([t], [t])"),
    ('i', "[t] REGEXP 'a|b'"),
    ('i', "FIND_IN_SET([t], 'x,y,abc')"),
    ('i', "ASCII([b])"),
    ('i', "EXTRACT(DAY_HOUR FROM [M])"),
    ('i', "[i] AND [i]"),
    ('i', "NOT [i]"),
    ('i', "[i] XOR [i]"),
    ('i', "INTERVAL([i], 0, 2, 5)"),
    ('d', "[d] + [d]"),
    ('d', "[d] * [i]"),
    ('d', "[i] / [i]"),
    ('d', "[d] / [d]"),
    ('d', "[d] % [i]"),
    ('d', "ROUND([d], 1)"),
    ('d', "ROUND([d], [i])"),
    ('d', "TRUNCATE([d], 1)"),
    ('d', "ABS([d])"),
    ('d', "CAST([t] AS DECIMAL(8,3))"),
    ('d', "CAST([r] AS DECIMAL(8,3))"),
    ('d', "UNIX_TIMESTAMP([M])"),
    ('r', "[r] + [r]"),
    ('r', "[r] * [d]"),
    ('r', "[r] / 3"),
    ('r', "SQRT([r])"),
    ('r', "POW([i], 2)"),
    ('r', "[t] + 0"),
    ('r', "ROUND([r], 2)"),
    ('r', "CAST([t] AS DOUBLE)"),
    ('r', "CAST([d] AS FLOAT)"),
    ('t', "CONCAT([t], [t])"),
    ('t', "CONCAT([i], [d])"),
    ('t', "CONCAT_WS(',', [t], [D], [r])"),
    ('t', "UPPER([t])"),
    ('t', "LEFT([t], 2)"),
    ('t', "SUBSTR([t], [i], 3)"),
    ('t', "REPLACE([t], 'a', [t])"),
    ('t', "LPAD([t], 5, 'xy')"),
    ('t', "REPEAT([t], 2)"),
    ('t', "TRIM([t])"),
    ('t', "HEX([b])"),
    ('t', "HEX([i])"),
    ('t', "CAST([i] AS CHAR)"),
    ('t', "CAST([M] AS CHAR(10))"),
    ('t', "CAST([r] AS CHAR)"),
    ('t', "DATE_FORMAT([M], '%Y/%m %T')"),
    ('t', "FORMAT([d], 2)"),
    ('t', "ELT([i], [t], 'b')"),
    ('t', "JSON_UNQUOTE([j])"),
    ('t', "CONVERT([b] USING latin1)"),
    ('t', "REGEXP_REPLACE([t], '[ab]', 'z')"),
    ('t', "SUBSTRING_INDEX([t], 'b', 1)"),
    ('t', "INSERT([t], 2, 1, [t])"),
    ('t', "REVERSE([t])"),
    ('t', "DAYNAME([D])"),
    ('t', "MAKE_SET([i], 'p', [t])"),
    ('b', "CAST([t] AS BINARY)"),
    ('b', "UNHEX(HEX([b]))"),
    ('b', "CONCAT([b], [b])"),
    ('b', "CHAR([i], 65)"),
    ('j', "JSON_ARRAY([i], [t], [d], [D])"),
    ('j', "JSON_OBJECT('k', [j], 'l', [t])"),
    ('j', "JSON_EXTRACT([j], '$.a')"),
    ('j', "JSON_SET([j], '$.b', [i])"),
    ('j', "CAST([i] AS JSON)"),
    ('j', "JSON_MERGE_PATCH([j], [j])"),
    ('D', "DATE([M])"),
    ('D', "[D] + INTERVAL 1 MONTH"),
    ('D', "LAST_DAY([D])"),
    ('D', "CAST([M] AS DATE)"),
    ('D', "STR_TO_DATE([t], '%Y-%m-%d')"),
    ('D', "MAKEDATE([i], 5)"),
    ('D', "FROM_DAYS([i])"),
    ('M', "[D] + INTERVAL [i] HOUR"),
    ('M', "[M] - INTERVAL 1 DAY"),
    ('M', "[M] + INTERVAL 0.5 SECOND"),
    ('M', "TIMESTAMP([D], [T])"),
    ('M', "ADDTIME([M], [T])"),
    ('M', "CAST([D] AS DATETIME(2))"),
    ('M', "CONVERT_TZ([M], '+00:00', '+02:30')"),
    ('T', "TIMEDIFF([M], [M])"),
    ('T', "SEC_TO_TIME([i])"),
    ('T', "MAKETIME(1, [i], 2)"),
    ('T', "ADDTIME([T], '00:00:01')"),
    // TIME() stands in definitions as a CAST without digits.
    ('T', "CAST([M] AS TIME(1))"),
];

/// Of any class: `[*]` is of the class of the whole.
const ANY: &[&str] = &[
    "IF([i], [*], [*])",
    "COALESCE([*], [*])",
    "IFNULL([*], [*])",
    "NULLIF([*], [*])",
    "CASE WHEN [i] THEN [*] ELSE [*] END",
    "CASE [t] WHEN 'abc' THEN [*] WHEN [t] THEN [*] END",
    "GREATEST([*], [*])",
    "LEAST([*], [*])",
    "([*])",
];

const CLASSES: &[char] = &['i', 'i', 'd', 'r', 't', 't', 'b', 'j', 'D', 'M', 'T'];

/// An expression; columns are `<0>` to `<3>`.
fn expression(r: &mut Random, kinds: &[usize], class: char, depth: u32) -> String {
    if depth == 0 || r.percent(15) {
        let fitting: Vec<usize> = (0..kinds.len()).filter(|n| KINDS[kinds[*n]].1 == class).collect();
        if !fitting.is_empty() {
            return format!("<{}>", r.of(&fitting));
        }
        if depth == 0 {
            return match class {
                'i' => r.of(&["1", "0", "3", "LENGTH(<0>)"]),
                'd' => r.of(&["1.50", "0.0", "-2.345"]),
                'r' => r.of(&["1.5e0", "0e0", "-2.25e0"]),
                't' => r.of(&["'abc'", "'b'", "''", "CONCAT(<1>)"]),
                'b' => r.of(&["X'6162'", "_binary'z'"]),
                'j' => r.of(&["JSON_ARRAY(1)", "JSON_OBJECT('a', <2>)"]),
                'D' => r.of(&["DATE'2020-05-06'", "DATE'1999-01-31'"]),
                'M' => r.of(&["TIMESTAMP'2020-05-06 07:08:09.5'", "TIMESTAMP'2001-01-01 00:00:00'"]),
                _ => r.of(&["TIME'01:02:03'", "TIME'-01:00:00.25'"]),
            }
            .into();
        }
    }
    let form = if r.percent(20) {
        r.of(ANY)
    } else {
        let fitting: Vec<&str> = FORMS.iter().filter(|f| f.0 == class).map(|f| f.1).collect();
        r.of(&fitting)
    };
    let mut out = String::new();
    let mut rest = form;
    while let Some(at) = rest.find('[') {
        out += &rest[..at];
        let letter = rest[at + 1..].chars().next().unwrap();
        if !rest[at + 2..].starts_with(']') || form.contains("[ab]") && letter == 'a' {
            // A bracket of a pattern.
            out.push('[');
            rest = &rest[at + 1..];
            continue;
        }
        let class = if letter == '*' { class } else { letter };
        let inner = expression(r, kinds, class, depth.saturating_sub(1));
        out += &if inner.contains(' ') { format!("({inner})") } else { inner };
        rest = &rest[at + 3..];
    }
    out + rest
}

/// With names instead of the columns' places.
fn named(expression: &str, name: impl Fn(usize) -> String) -> String {
    (0..4).fold(expression.to_owned(), |text, n| text.replace(&format!("<{n}>"), &name(n)))
}

/// What a statement gave: types and rows, or the error; and its warnings.
#[derive(PartialEq, Debug, Clone)]
struct Outcome {
    answer: Result<Vec<Vec<String>>, u16>,
    types: Vec<String>,
    warnings: Vec<String>,
}

fn outcome(c: &mut Connection, sql: &str) -> Outcome {
    let (answer, types) = match c.query_multi(sql) {
        Ok(mut sets) => {
            let set: ResultSet = sets.remove(0);
            let unsigned = |flags: u16| flags & 32;
            // A column of texts has no decimals, an expression 31.
            let decimals = |d: u8| if d == 31 { 0 } else { d };
            let types = set.columns.iter().map(|i| {
                format!(
                    "type {} length {} decimals {} charset {} unsigned {}",
                    i.ty,
                    i.length,
                    decimals(i.decimals),
                    i.collation,
                    unsigned(i.flags)
                )
            });
            (Ok(set.texts()), types.collect())
        }
        Err(Error::Server { code, .. }) => (Err(code), Vec::new()),
        Err(e) => panic!("{sql}: {e}"),
    };
    // What is out of range (1690) is named as it stands there.
    let text = |w: Vec<String>| if w[1] == "1690" { w[1].clone() } else { w[1..].join(" ") };
    let warnings = c.query("SHOW WARNINGS").unwrap().texts();
    Outcome { answer, types, warnings: warnings.into_iter().map(text).collect() }
}

struct Round<'c> {
    c: &'c mut Connection,
    kinds: [usize; 4],
    setup: Vec<String>,
    seed: u64,
    faults: Vec<String>,
}

impl Round<'_> {
    fn make(&mut self, sql: String) {
        run(self.c, &sql);
        self.setup.push(sql);
    }

    fn ty(&self, n: usize) -> &'static str {
        KINDS[self.kinds[n]].0
    }

    fn declared(&self, prefix: &str) -> String {
        let all: Vec<String> = (0..4).map(|n| format!("{prefix}{n} {}", self.ty(n))).collect();
        all.join(", ")
    }

    fn fault(&mut self, what: &str, sql: &str, wanted: &dyn std::fmt::Debug, found: &dyn std::fmt::Debug) {
        let setup = self.setup.join(";\n");
        self.faults.push(format!("seed {} {what}: {sql}\nwanted {wanted:?}\nfound  {found:?}\n{setup}", self.seed));
    }

    /// Values and types over columns, and the same over what holds a value of their types.
    fn read(&mut self, e: &str, id: usize) {
        let columns = format!("SELECT {} r FROM t WHERE id = {id}", named(e, |n| format!("c{n}")));
        let wanted = outcome(self.c, &columns);
        let locals: Vec<String> = (0..4).map(|n| format!("DECLARE v{n} {};", self.ty(n))).collect();
        let by_locals = format!(
            "CREATE PROCEDURE p () BEGIN {} SELECT c0, c1, c2, c3 INTO v0, v1, v2, v3 FROM t WHERE id = {id}; SELECT {} r; END",
            locals.join(" "),
            named(e, |n| format!("v{n}"))
        );
        let by_cursor = format!(
            "CREATE PROCEDURE p () BEGIN {} DECLARE k CURSOR FOR SELECT c0, c1, c2, c3 FROM t WHERE id = {id}; OPEN k; \
             FETCH k INTO v0, v1, v2, v3; CLOSE k; SELECT {} r; END",
            locals.join(" "),
            named(e, |n| format!("v{n}"))
        );
        let by_row = format!("CREATE PROCEDURE p () {columns}");
        let prepared = format!("CREATE PROCEDURE p () BEGIN SET @s = \"{columns}\"; PREPARE s FROM @s; EXECUTE s; END");
        let derived = format!(
            "CREATE PROCEDURE p () SELECT {} r FROM (SELECT * FROM t WHERE id = {id} LIMIT 1) d",
            named(e, |n| format!("d.c{n}"))
        );
        for create in [by_locals, by_cursor, by_row, prepared, derived] {
            run(self.c, "DROP PROCEDURE IF EXISTS p");
            run(self.c, &create);
            for again in 0..2 {
                let found = outcome(self.c, "CALL p()");
                if found != wanted {
                    return self.fault(&format!("call {again} of"), &create, &wanted, &found);
                }
            }
        }
        self.places(e, id, &wanted);
        let branch = format!(
            "CREATE FUNCTION f ({}) RETURNS INT DETERMINISTIC BEGIN IF {} THEN RETURN 1; ELSE RETURN 0; END IF; END",
            self.declared("v"),
            named(e, |n| format!("v{n}"))
        );
        run(self.c, "DROP FUNCTION IF EXISTS f");
        run(self.c, &branch);
        let wanted =
            outcome(self.c, &format!("SELECT IF({}, 1, 0) r FROM t WHERE id = {id}", named(e, |n| format!("c{n}"))));
        let found = outcome(self.c, &format!("SELECT f(c0, c1, c2, c3) r FROM t WHERE id = {id}"));
        if found.answer != wanted.answer {
            self.fault("IF of", &branch, &wanted, &found);
        }
    }

    /// Values over what else gives a column's value in a query.
    fn places(&mut self, e: &str, id: usize, wanted: &Outcome) {
        let t = "c0, c1, c2, c3 FROM t";
        let over = |from: &str| format!("SELECT {} r FROM {from}", named(e, |n| format!("d.c{n}")));
        let all = [
            format!("SELECT {} r", named(e, |n| format!("(SELECT c{n} FROM t WHERE id = {id})"))),
            format!("SELECT (SELECT {}) r FROM t WHERE id = {id}", named(e, |n| format!("t.c{n}"))),
            over(&format!("(SELECT {t} WHERE id = {id} UNION ALL SELECT {t} WHERE id = 9) d")),
            over(&format!("(SELECT DISTINCT {t} WHERE id = {id}) d")),
            over(&format!("t o JOIN LATERAL (SELECT {} LIMIT 1) d WHERE o.id = {id}", "o.c0, o.c1, o.c2, o.c3")),
            over(&format!(
                "(SELECT {} FROM t WHERE id = {id}) d",
                "FIRST_VALUE(c0) OVER () c0, c1, LAG(c2, 0) OVER (ORDER BY id) c2, c3"
            )),
            over(&format!("(SELECT c0, c1, c2, c3 FROM t WHERE id = {id} GROUP BY c0, c1, c2, c3) d")),
            format!(
                "SELECT {} r FROM t o LEFT JOIN t d ON d.id = o.id WHERE o.id = {id}",
                named(e, |n| format!("d.c{n}"))
            ),
            format!("SELECT {} r FROM t d WHERE id = {id} ORDER BY r, id LIMIT 1", named(e, |n| format!("d.c{n}"))),
            format!("SELECT ANY_VALUE({}) r FROM t d WHERE id = {id}", named(e, |n| format!("d.c{n}"))),
            format!("SELECT r FROM (SELECT {} r FROM t d WHERE id = {id} LIMIT 1) x", named(e, |n| format!("d.c{n}"))),
            format!(
                "WITH RECURSIVE d AS (SELECT 1 n, {t} WHERE id = {id} UNION ALL SELECT n + 1, c0, c1, c2, c3 FROM d WHERE n < 2) SELECT {} r FROM d WHERE n = 2",
                named(e, |n| format!("d.c{n}"))
            ),
        ];
        // A window's value of an ENUM or a SET is a text.
        let named = [0, 2].iter().any(|n| self.ty(*n).contains("('"));
        for sql in all.into_iter().filter(|sql| !named || !sql.contains("OVER")) {
            let found = outcome(self.c, &sql);
            if found.answer != wanted.answer {
                return self.fault("elsewhere", &sql, wanted, &found);
            }
        }
    }

    /// What becomes of the expression in a column of a type, and in what else is of that type.
    fn assigned(&mut self, e: &str, id: usize, ty: &str) {
        let by_name = named(e, |n| format!("c{n}"));
        run(self.c, "DROP TABLE IF EXISTS r, g");
        run(self.c, &format!("CREATE TABLE r (r {ty})"));
        let into = format!("INSERT INTO r SELECT {by_name} FROM t WHERE id = {id}");
        let mut wanted = outcome(self.c, &into);
        if wanted.answer.is_ok() {
            wanted.answer = outcome(self.c, "SELECT r FROM r").answer;
        }
        // What a trigger and a function's SET have warned of is gone behind them.
        // At row 1, of column `r`: a routine's has no row, and another name.
        let codes = |o: &Outcome| -> Vec<String> { o.warnings.iter().map(|w| w[..4].to_owned()).collect() };
        let (t0, t1, t2, t3) = (self.ty(0), self.ty(1), self.ty(2), self.ty(3));
        let with_result = |rest: &str| format!("CREATE TABLE g (c0 {t0}, c1 {t1}, c2 {t2}, c3 {t3}, r {ty} {rest})");
        let ways = [
            (
                format!(
                    "CREATE FUNCTION f ({}) RETURNS {ty} DETERMINISTIC RETURN {}",
                    self.declared("v"),
                    named(e, |n| format!("v{n}"))
                ),
                'f',
            ),
            (
                format!(
                    "CREATE FUNCTION f ({}) RETURNS {ty} DETERMINISTIC BEGIN DECLARE r {ty}; SET r = {}; RETURN r; END",
                    self.declared("v"),
                    named(e, |n| format!("v{n}"))
                ),
                's',
            ),
            (
                format!(
                    "CREATE FUNCTION f ({}) RETURNS {ty} DETERMINISTIC BEGIN DECLARE r {ty} DEFAULT {}; RETURN r; END",
                    self.declared("v"),
                    named(e, |n| format!("v{n}"))
                ),
                's',
            ),
            (with_result(&format!("AS ({by_name}) STORED")), 'g'),
            (with_result(&format!("AS ({by_name}) VIRTUAL")), 'g'),
            (with_result(&format!("DEFAULT ({by_name})")), 'g'),
            (
                format!(
                    "CREATE TRIGGER g BEFORE INSERT ON g FOR EACH ROW SET NEW.r = {}",
                    named(e, |n| format!("NEW.c{n}"))
                ),
                't',
            ),
        ];
        for (create, way) in ways {
            run(self.c, "DROP FUNCTION IF EXISTS f");
            run(self.c, "DROP TABLE IF EXISTS g");
            if way == 't' {
                run(self.c, &with_result(""));
            }
            // What may not stand in a definition does not.
            if self.c.query(&create).is_err() {
                continue;
            }
            let found = if matches!(way, 'f' | 's') {
                outcome(self.c, &format!("SELECT f(c0, c1, c2, c3) FROM t WHERE id = {id}"))
            } else {
                let mut found = outcome(
                    self.c,
                    &format!("INSERT INTO g (c0, c1, c2, c3) SELECT c0, c1, c2, c3 FROM t WHERE id = {id}"),
                );
                if found.answer.is_ok() {
                    found.answer = outcome(self.c, "SELECT r FROM g").answer;
                }
                found
            };
            if found.answer != wanted.answer || !matches!(way, 's' | 't') && codes(&found) != codes(&wanted) {
                return self.fault("assigned by", &format!("{create}; {into}"), &wanted, &found);
            }
        }
    }
}

#[test]
fn expressions_in_programs_are_those_over_columns() {
    let server = Running::start();
    let mut c = server.connect();
    let first = setting("GANNET_PROGRAMS_SEED", 1);
    let mut faults = Vec::new();
    run(&mut c, "SET NAMES utf8mb4 COLLATE utf8mb4_0900_ai_ci");
    for seed in first..first + setting("GANNET_PROGRAMS_ROUNDS", 8) {
        let mut r = Random::new(seed);
        run(&mut c, "DROP DATABASE IF EXISTS d");
        run(&mut c, "CREATE DATABASE d");
        run(&mut c, "USE d");
        run(&mut c, r.of(&["SET time_zone = '+00:00'", "SET time_zone = '-02:30'", "SET time_zone = 'Europe/Berlin'"]));
        run(&mut c, r.of(&["SET sql_mode = ''", "SET sql_mode = DEFAULT"]));
        let kinds = [(); 4].map(|()| r.below(KINDS.len()));
        let mut round = Round { c: &mut c, kinds, setup: Vec::new(), seed, faults: Vec::new() };
        let create = format!("CREATE TABLE t (id INT PRIMARY KEY, {})", round.declared("c"));
        round.make(create);
        for id in 0..3 {
            let values: Vec<&str> = kinds.iter().map(|k| r.of(KINDS[*k].2)).collect();
            round.make(format!("INSERT IGNORE INTO t VALUES ({id}, {})", values.join(", ")));
        }
        for _ in 0..6 {
            let class = r.of(CLASSES);
            let (e, id) = (expression(&mut r, &kinds, class, 2), r.below(3));
            round.read(&e, id);
            let same: Vec<&str> = KINDS.iter().filter(|k| k.1 == class).map(|k| k.0).collect();
            let ty = if r.percent(60) { r.of(&same) } else { KINDS[r.below(KINDS.len())].0 };
            round.assigned(&e, id, ty);
        }
        faults.append(&mut round.faults);
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n\n"));
}
