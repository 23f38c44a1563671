//! JSON: functions on stored documents.

use super::{Random, STEPS, Step, Story, one};
use crate::diff::{Outcome, Pair};
use gannet_wire::client::Cell;

const DOCUMENTS: &[&str] = &[
    r#"{"a": 1, "b": [1, 2, 3], "c": {"d": "x"}}"#,
    r#"{"a": "x", "c": null}"#,
    r#"[1, 2, "a", {"a": 5}]"#,
    r#"{"a": {"a": {"b": 2}}, "b": true}"#,
    "[]",
    "{}",
    "5",
    "-1.5",
    r#""abc""#,
    "true",
    "null",
    r#"[[1, 2], [3, [4, 5]], "b"]"#,
    r#"{"b": "abc", "a": [{"b": 1}, {"b": 2}, {"c": 3}]}"#,
    r#"["a", "b", "ab", null, false]"#,
    r#"{"k e": 1, "é": "ü", "": 0}"#,
];

const PATHS: &[&str] =
    &["$.a", "$.b", "$.c.d", "$[0]", "$[1]", "$[2]", "$.b[1]", "$", "$.a.a", "$[3].a", "$.a[0].b", "$.x", "$[9]"];
const WILD: &[&str] = &["$.*", "$[*]", "$**.b", "$.a[*].b"];

/// Reads and changes of documents in a column.
pub(super) fn stored(random: &mut Random) -> Story {
    let setup =
        vec!["CREATE TABLE j (id INT PRIMARY KEY, d JSON, n INT, s VARCHAR(20) COLLATE utf8mb4_bin)".to_owned()];
    let mut steps = Vec::new();
    for (id, document) in DOCUMENTS.iter().enumerate() {
        let s = one(random, &["'a'", "'b'", "'abc'", "'5'", "NULL"]);
        steps.push(Step::documents(format!(
            "INSERT INTO j VALUES ({}, '{document}', {}, {s})",
            id + 1,
            random.below(5)
        )));
    }
    for _ in 0..STEPS {
        let path = one(random, PATHS);
        let any = if random.percent(30) { one(random, WILD) } else { path };
        let second = one(random, PATHS);
        let value = one(
            random,
            &[
                "1",
                "'x'",
                "NULL",
                "n",
                "s",
                "TRUE",
                "1.5",
                "CAST('[1]' AS JSON)",
                "JSON_OBJECT('q', n)",
                "JSON_ARRAY(s, n)",
            ],
        );
        let value = if value.starts_with("CAST") { "JSON_ARRAY(1)" } else { value };
        let document = one(random, DOCUMENTS);
        let how = one(random, &["'one'", "'all'"]);
        let form = match random.below(26) {
            0 | 1 => format!("JSON_EXTRACT(d, '{any}')"),
            2 => format!("JSON_LENGTH(JSON_EXTRACT(d, '{path}', '{second}'))"),
            3 => format!("JSON_UNQUOTE(JSON_EXTRACT(d, '{path}'))"),
            4 => format!("JSON_SET(d, '{path}', {value})"),
            5 => format!("JSON_INSERT(d, '{path}', {value}, '{second}', 7)"),
            6 => format!("JSON_REPLACE(d, '{path}', {value})"),
            7 if path != "$" => format!("JSON_REMOVE(d, '{path}')"),
            8 => format!("JSON_ARRAY_APPEND(d, '$', {value})"),
            9 => format!("JSON_MERGE_PATCH(d, '{document}')"),
            10 => format!("JSON_MERGE_PRESERVE(d, '{document}')"),
            11 => "JSON_LENGTH(JSON_KEYS(d))".into(),
            // Numbers are no strings to MySQL's JSON_SEARCH; of a path that is not there JSON_CONTAINS gives NULL.
            12 => format!("JSON_SEARCH(d, {how}, '{}')", one(random, &["a", "x", "%b%", "abc"])),
            13 => {
                let part = one(random, &["1", "\"a\"", "[1, 2]", "{\"b\": 2}", "null", "\"abc\""]);
                format!("JSON_CONTAINS(d, '{part}')")
            }
            14 => format!("JSON_CONTAINS_PATH(d, {how}, '{any}', '{second}')"),
            15 => format!("JSON_TYPE(JSON_EXTRACT(d, '{path}'))"),
            16 => "JSON_DEPTH(d)".into(),
            17 => format!("JSON_LENGTH(d{})", if random.percent(50) { format!(", '{path}'") } else { String::new() }),
            18 => format!("JSON_OVERLAPS(d, '{document}')"),
            19 => format!("JSON_OBJECT('id', id, {}, {value})", one(random, &["'k'", "IFNULL(s, 'none')"])),
            20 => format!("JSON_ARRAY(id, s, n, {value}, d)"),
            21 => "JSON_QUOTE(s)".into(),
            22 => "JSON_VALID(s)".into(),
            // Of truth values MariaDB gives numbers.
            23 => format!("IF(id IN (4, 10), NULL, JSON_VALUE(d, '{path}'))"),
            24 => "JSON_VALID(d)".into(),
            _ => format!("JSON_EXTRACT(JSON_SET(d, '$.z', {value}), '$.z')"),
        };
        steps.push(match random.below(16) {
            0..=9 => Step { ordered: true, ..Step::documents(format!("SELECT id, {form} FROM j ORDER BY id")) },
            10 => Step { ordered: true, ..Step::documents(format!("SELECT id FROM j WHERE {form} IS NOT NULL ORDER BY id")) },
            11 | 12 if form.starts_with("JSON_SET") || form.starts_with("JSON_MERGE") || form.starts_with("JSON_ARRAY_A") || form.starts_with("JSON_RE") => {
                Step::documents(format!("UPDATE j SET d = {form} WHERE id = {}", 1 + random.below(15)))
            }
            13 => Step::documents(format!("SELECT {}(d) FROM (SELECT * FROM j WHERE id < {} ORDER BY id) x", "JSON_ARRAYAGG", 1 + random.below(9)).replace("(d)", one(random, &["(id)", "(s)", "(n)"]))),
            14 => Step::documents(format!("SELECT n, JSON_OBJECTAGG(id, {}) FROM j WHERE s IS NOT NULL GROUP BY n", one(random, &["s", "n", "id"]))),
            _ => {
                let table = format!("JSON_TABLE(d, '{}' COLUMNS (o FOR ORDINALITY, v VARCHAR(20) PATH '$.b' NULL ON EMPTY NULL ON ERROR, t VARCHAR(20) PATH '$.a' DEFAULT '\"none\"' ON EMPTY NULL ON ERROR, e INT EXISTS PATH '$.b')) x", one(random, &["$", "$[*]", "$.a[*]", "$.*"]));
                Step { ordered: true, ..Step::documents(format!("SELECT j.id, x.o, x.v, x.e FROM j, {table} ORDER BY j.id, x.o")) }
            }
        });
    }
    Story { theme: "stored documents", setup, steps, shown: vec!["SELECT id, d, n, s FROM j ORDER BY id".into()] }
}

/// True when the second server gives the first's rows once its documents have their members in the first's order. MySQL
/// sorts them by length and bytes (The JSON Data Type, Normalization), MariaDB keeps them as they came.
pub(super) fn in_order(step: &Step, outcomes: &[Outcome; 2], pair: &mut Pair) -> Result<bool, String> {
    let Outcome::Done(rows) = pair.one(false, "SELECT id, d FROM j WHERE d IS NOT NULL")? else { return Ok(false) };
    let rows = rows.texts();
    if !rows.iter().all(|row| sorted(&row[1])) {
        return Ok(false);
    }
    pair.one(true, "START TRANSACTION")?;
    for row in &rows {
        let text = row[1].replace('\\', "\\\\").replace('\'', "''");
        pair.one(true, &format!("UPDATE j SET d = '{text}' WHERE id = {}", row[0]))?;
    }
    let again = pair.one(true, &step.sql)?;
    pair.one(true, "ROLLBACK")?;
    let both = [outcomes[0].clone(), again];
    // MySQL gives what a member has before what is within the members beside it, MariaDB what stands first in the text.
    let both = if step.sql.contains("JSON_EXTRACT(d, '$**.b')") { both.map(in_any_order) } else { both };
    Ok(super::alike(step, &both))
}

/// True when the second server gives the first's rows once objects are compared member by member (JSON_OVERLAPS: true
/// when any is in common).
pub(super) fn by_member(step: &Step, outcomes: &[Outcome; 2], pair: &mut Pair) -> Result<bool, String> {
    let Some(sql) = each_member(&step.sql) else { return Ok(false) };
    let again = pair.one(true, &sql)?;
    Ok(super::alike(step, &[outcomes[0].clone(), again]))
}

fn each_member(sql: &str) -> Option<String> {
    let (head, rest) = sql.split_once("JSON_OVERLAPS(d, '{")?;
    let (members, tail) = rest.split_once("')")?;
    let document = format!("{{{members}");
    let mut reader = Reader { text: document.as_bytes(), at: 0, sorted: true };
    let each = reader.list(b'}', |r| {
        let name = r.string()?;
        r.take(b':')?;
        Some(format!("JSON_OVERLAPS(d, '{{{name}:{}}}')", r.value(1)?))
    })?;
    let any = each.join(" OR ");
    (!each.is_empty())
        .then(|| format!("{head}IF(JSON_TYPE(d) = 'OBJECT', {any}, JSON_OVERLAPS(d, '{document}')){tail}"))
}

/// With the elements of arrays in one order.
fn in_any_order(mut outcome: Outcome) -> Outcome {
    let Outcome::Done(rows) = &mut outcome else { return outcome };
    for cell in rows.rows.iter_mut().flatten() {
        let Cell::Bytes(bytes) = cell else { continue };
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut reader = Reader { text: text.as_bytes(), at: 0, sorted: true };
        reader.space();
        if reader.text.get(reader.at) == Some(&b'[')
            && let Some(mut elements) = reader.list(b']', |r| r.value(1))
        {
            elements.sort();
            *bytes = format!("[{}]", elements.join(",")).into_bytes();
        }
    }
    outcome
}

/// The members of all objects stand in MySQL's order.
fn sorted(document: &str) -> bool {
    let mut reader = Reader { text: document.as_bytes(), at: 0, sorted: true };
    reader.whole().is_some() && reader.sorted
}

/// With documents in one form: members in order, no spaces.
pub(super) fn canonical(outcome: Outcome) -> Outcome {
    let Outcome::Done(mut rows) = outcome else { return outcome };
    for cell in rows.rows.iter_mut().flatten() {
        let Cell::Bytes(bytes) = cell else { continue };
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut reader = Reader { text: text.as_bytes(), at: 0, sorted: true };
        if let Some(document) = reader.whole() {
            *bytes = document.into_bytes();
        }
    }
    Outcome::Done(rows)
}

struct Reader<'t> {
    text: &'t [u8],
    at: usize,
    /// No member stands before a shorter name, or one of the same length that is less.
    sorted: bool,
}

impl Reader<'_> {
    fn whole(&mut self) -> Option<String> {
        let value = self.value(0)?;
        self.space();
        (self.at == self.text.len()).then_some(value)
    }

    fn space(&mut self) {
        while self.text.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.space();
        (self.text.get(self.at) == Some(&byte)).then(|| self.at += 1)
    }

    fn value(&mut self, depth: usize) -> Option<String> {
        self.space();
        if depth > 100 {
            return None;
        }
        match self.text.get(self.at)? {
            b'{' => {
                let mut members = self.list(b'}', |r| {
                    let name = r.string()?;
                    r.take(b':')?;
                    let value = r.value(depth + 1)?;
                    Some((name, value))
                })?;
                let key = |(name, _): &(String, String)| (name.len(), name.clone());
                self.sorted &= members.is_sorted_by_key(key);
                members.sort();
                let members: Vec<String> = members.into_iter().map(|(name, value)| format!("{name}:{value}")).collect();
                Some(format!("{{{}}}", members.join(",")))
            }
            b'[' => Some(format!("[{}]", self.list(b']', |r| r.value(depth + 1))?.join(","))),
            b'"' => self.string(),
            _ => {
                let from = self.at;
                while self.text.get(self.at).is_some_and(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b)) {
                    self.at += 1;
                }
                let word = std::str::from_utf8(&self.text[from..self.at]).ok().filter(|w| !w.is_empty())?;
                let number = word.parse::<f64>().is_ok();
                (number || ["true", "false", "null"].contains(&word)).then(|| word.to_owned())
            }
        }
    }

    fn list<T>(&mut self, end: u8, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        self.at += 1;
        let mut out = Vec::new();
        if self.take(end).is_some() {
            return Some(out);
        }
        loop {
            out.push(item(self)?);
            if self.take(end).is_some() {
                return Some(out);
            }
            self.take(b',')?;
        }
    }

    fn string(&mut self) -> Option<String> {
        self.take(b'"')?;
        let from = self.at;
        while self.text.get(self.at)? != &b'"' {
            self.at += if self.text[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        Some(format!("\"{}", String::from_utf8_lossy(&self.text[from..self.at])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_one_form() {
        let whole = |text: &str| Reader { text: text.as_bytes(), at: 0, sorted: true }.whole();
        assert_eq!(whole(r#" {"b": [1, 2 ], "a":"x\"}"} "#), whole(r#"{"a":"x\"}","b":[1,2]}"#));
        assert_eq!(whole("abc"), None);
        assert_eq!(whole("[1"), None);
        assert_ne!(whole("[1, 2]"), whole("[2, 1]"));
        let each = each_member(r#"SELECT JSON_OVERLAPS(d, '{"a": 1, "b": true}') FROM j"#);
        let any = r#"JSON_OVERLAPS(d, '{"a":1}') OR JSON_OVERLAPS(d, '{"b":true}')"#;
        let whole =
            format!(r#"SELECT IF(JSON_TYPE(d) = 'OBJECT', {any}, JSON_OVERLAPS(d, '{{"a": 1, "b": true}}')) FROM j"#);
        assert_eq!(each, Some(whole));
        assert!(sorted(r#"{"b": 1, "aa": [{"": 1}]}"#) && !sorted(r#"[{"aa": 1, "b": 2}]"#));
    }
}
