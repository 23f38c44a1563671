//! Statements of the test files, and statements that are almost like them.

use crate::diff::Random;
use std::{fs, path::Path};

/// The statements of one test file, in order.
pub(super) type Story = Vec<String>;

/// All of `tests/sql`.
pub(super) fn stories(root: &Path) -> Vec<Story> {
    let mut files: Vec<_> =
        fs::read_dir(root.join("tests/sql")).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    files.iter().map(|f| story(&fs::read_to_string(f).unwrap_or_default())).filter(|s| !s.is_empty()).collect()
}

/// A record is a paragraph: a line that says what is expected, the statement, and maybe its rows behind `----`.
fn story(text: &str) -> Story {
    let mut all = Vec::new();
    for record in text.split("\n\n") {
        let mut lines = record.lines().skip_while(|l| !l.starts_with("statement") && !l.starts_with("query"));
        if lines.next().is_some() {
            let sql: Vec<&str> = lines.take_while(|l| *l != "----").collect();
            all.push(sql.join("\n"));
        }
    }
    all
}

/// What a piece of a statement is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Class {
    Word,
    Number,
    Text,
    Sign,
    Blank,
}

/// The pieces of a statement: together they are its text.
pub(super) fn pieces(sql: &str) -> Vec<(Class, String)> {
    let mut out = Vec::new();
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let part = |f: &dyn Fn(char) -> bool| rest.find(|c: char| !f(c)).unwrap_or(rest.len());
        let (class, length) = match first {
            c if c.is_whitespace() => (Class::Blank, part(&char::is_whitespace)),
            c if c.is_ascii_digit() => (Class::Number, part(&|c| c.is_ascii_alphanumeric() || c == '.')),
            c if is_word(c) => (Class::Word, part(&is_word)),
            '\'' | '"' | '`' => (if first == '`' { Class::Word } else { Class::Text }, quoted(rest, first)),
            c => (Class::Sign, c.len_utf8()),
        };
        out.push((class, rest[..length].to_owned()));
        rest = &rest[length..];
    }
    out
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$' | '@')
}

/// Bytes of a quoted text at the beginning.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' if quote != '`' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

/// What may stand where a value stands.
const VALUES: &[&str] = &[
    "NULL",
    "0",
    "-1",
    "1",
    "18446744073709551615",
    "-9223372036854775808",
    "99999999999999999999999999",
    "1e308",
    "-0.0",
    "''",
    "'abc'",
    "x'ff00'",
    "b'101'",
    "_latin1 'x'",
    "_utf16 x'0061'",
    "DATE '2024-02-29'",
    "TIMESTAMP '2024-01-01 00:00:00.5'",
    "'2024-02-30'",
    "TRUE",
    "DEFAULT",
    "@v",
    "@v := 5",
    "@@sql_mode",
    "(SELECT 1)",
    "(SELECT NULL)",
    "(SELECT 1 UNION SELECT 2)",
    "EXISTS (SELECT 1)",
    "COUNT(*)",
    "SUM(1) OVER ()",
    "ROW_NUMBER() OVER (ORDER BY 1)",
    "GROUP_CONCAT(1)",
    "(1, 2)",
    "ROW(1, NULL)",
    "JSON_ARRAY(1, 'a')",
    "CAST('[1]' AS JSON)",
    "NOW(6)",
    "RAND()",
    "UUID()",
    "INTERVAL 1 DAY",
    "CAST(1 AS UNSIGNED)",
    "CAST('a' AS BINARY)",
    "1 DIV 0",
    "'a' COLLATE utf8mb4_bin",
    "CASE WHEN 1 THEN 'x' END",
    "IF(NULL, 1, 'y')",
    "COALESCE(NULL, 1.5)",
    "5 IN (1, NULL)",
    "ANY_VALUE(1)",
    "GROUPING(1)",
    "LAST_INSERT_ID(7)",
];

/// What may stand between two sources of rows.
const JOINS: &[&str] = &[
    "JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "NATURAL JOIN",
    "NATURAL RIGHT JOIN",
    "NATURAL LEFT JOIN",
    "CROSS JOIN",
    "STRAIGHT_JOIN",
    ",",
];

/// What may stand at the end.
const TAILS: &[&str] = &[
    " LIMIT 1",
    " LIMIT 0",
    " ORDER BY 1",
    " ORDER BY 1 DESC LIMIT 2 OFFSET 1",
    " FOR UPDATE",
    " FOR SHARE SKIP LOCKED",
    " WITH ROLLUP",
    " GROUP BY 1",
    " HAVING 1",
    " UNION SELECT 1",
    " EXCEPT ALL SELECT 1",
    " INTERSECT SELECT 1",
    " WHERE 1",
    " AND (SELECT 1)",
    " INTO @v",
    " WINDOW w AS ()",
];

/// One to four changes; `donors` give pieces of others.
pub(super) fn mutant(sql: &str, donors: &[String], random: &mut Random) -> String {
    let mut parts = pieces(sql);
    for _ in 0..1 + random.below(4) {
        if parts.is_empty() {
            break;
        }
        let at = random.below(parts.len());
        let end = (at + 1 + random.below(6)).min(parts.len());
        let other = pieces(&donors[random.below(donors.len())]);
        match random.below(12) {
            0 => parts[at] = (Class::Word, (*random.pick(VALUES)).into()),
            1 | 2 => replace_value(&mut parts, random),
            3 => drop(parts.drain(at..end)),
            4 => {
                let copy = parts[at..end].to_vec();
                parts.splice(at..at, copy);
            }
            5 => {
                let with = random.below(parts.len());
                parts.swap(at, with);
            }
            6 if !other.is_empty() => {
                let from = random.below(other.len());
                let piece = other[from..(from + 1 + random.below(10)).min(other.len())].to_vec();
                parts.splice(at..at, piece);
            }
            7 | 8 => replace_group(&mut parts, &other, random),
            9 => rename(&mut parts, random),
            10 => rejoin(&mut parts, random),
            _ => parts.push((Class::Word, (*random.pick(TAILS)).into())),
        }
    }
    parts.into_iter().map(|(_, text)| text).collect()
}

/// Another value in the place of a literal.
fn replace_value(parts: &mut [(Class, String)], random: &mut Random) {
    let places: Vec<usize> = (0..parts.len()).filter(|i| matches!(parts[*i].0, Class::Number | Class::Text)).collect();
    if !places.is_empty() {
        let at = *random.pick(&places);
        parts[at].1 = (*random.pick(VALUES)).into();
    }
}

/// What stands in parentheses becomes what does so in another statement.
fn replace_group(parts: &mut Vec<(Class, String)>, other: &[(Class, String)], random: &mut Random) {
    if let (Some(own), Some(others)) = (group(parts, random), group(other, random)) {
        parts.splice(own, other[others].to_vec());
    }
}

/// A pair of parentheses with what is inside.
fn group(parts: &[(Class, String)], random: &mut Random) -> Option<std::ops::Range<usize>> {
    let opening: Vec<usize> = (0..parts.len()).filter(|i| parts[*i].1 == "(").collect();
    if opening.is_empty() {
        return None;
    }
    let from = *random.pick(&opening);
    let mut depth = 0;
    for (i, (_, text)) in parts.iter().enumerate().skip(from) {
        match text.as_str() {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(from..i + 1);
        }
    }
    None
}

/// One word of the statement in the place of another: columns and tables among them.
fn rename(parts: &mut [(Class, String)], random: &mut Random) {
    let words: Vec<usize> = (0..parts.len()).filter(|i| parts[*i].0 == Class::Word).collect();
    if !words.is_empty() {
        let (to, from) = (*random.pick(&words), *random.pick(&words));
        parts[to].1 = parts[from].1.clone();
    }
}

/// Another kind of join.
fn rejoin(parts: &mut [(Class, String)], random: &mut Random) {
    let joins: Vec<usize> = (0..parts.len()).filter(|i| parts[*i].1.eq_ignore_ascii_case("join")).collect();
    if !joins.is_empty() {
        let at = *random.pick(&joins);
        // LEFT, RIGHT and their like stand two pieces before.
        if at >= 2
            && ["left", "right", "inner", "cross", "natural"].iter().any(|w| parts[at - 2].1.eq_ignore_ascii_case(w))
        {
            parts[at - 2].1.clear();
        }
        parts[at].1 = (*random.pick(JOINS)).into();
    }
}

/// Literals become parameters, two thirds of them, and now and then something else does.
pub(super) fn with_parameters(sql: &str, random: &mut Random) -> String {
    let mut out = String::new();
    let mut prepared = true;
    for (class, text) in pieces(sql) {
        let literal = matches!(class, Class::Number | Class::Text) && random.percent(66);
        let other = class == Class::Word && prepared && random.percent(3);
        out.push_str(if literal || other { "?" } else { &text });
        // Behind a dot and before a parenthesis a word is a name.
        prepared = class == Class::Blank || class == Class::Sign && text != ".";
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_the_text() {
        for sql in ["SELECT 'a\\'b', `c``d`, 1.5e3 FROM t -- x", "'", "é <> \"\"", "@a := 0x1F"] {
            let text: String = pieces(sql).into_iter().map(|(_, t)| t).collect();
            assert_eq!(text, sql);
        }
    }

    #[test]
    fn records_give_their_statements() {
        let text = "# a\n\nstatement ok\nCREATE TABLE t\n(a INT)\n\nquery\nSELECT 1\n----\n1\n\nrestart\n";
        assert_eq!(story(text), ["CREATE TABLE t\n(a INT)", "SELECT 1"]);
    }
}
