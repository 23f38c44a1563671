//! CREATE TABLE taken apart: what is made before the rows, and what after them.

/// A table's definition in parts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// CREATE TABLE without the parts below.
    pub(crate) base: String,
    /// Secondary indexes, by name: what stands behind ADD.
    pub(crate) indexes: Vec<(String, String)>,
    /// Foreign keys, by name.
    pub(crate) foreign_keys: Vec<(String, String)>,
}

/// Takes the secondary indexes and foreign keys out of a CREATE TABLE. Those without names stay, and so does an index
/// that an AUTO_INCREMENT column needs. A statement of another form stays whole.
pub(crate) fn split(create: &str) -> Parts {
    let whole = || Parts { base: create.to_owned(), ..Parts::default() };
    let Some((open, items, close)) = items(create) else { return whole() };
    let numbered =
        items.iter().find(|item| is_column(item) && has_word(item, "AUTO_INCREMENT")).and_then(|i| name_at(i));
    let primary = items.iter().find(|item| starts_with(item, &["PRIMARY", "KEY"]));
    let first_of = |item: &str| item.find('(').and_then(|at| name_at(&item[at + 1..]));
    let mut needed = numbered.filter(|name| primary.and_then(|p| first_of(p)).as_ref() != Some(name));
    let mut parts = Parts::default();
    let mut kept = Vec::new();
    for item in &items {
        match kind(item) {
            Some((Item::Index, name)) => {
                if needed.is_some() && first_of(item) == needed {
                    needed = None;
                    kept.push(*item);
                } else {
                    parts.indexes.push((name, item.trim().to_owned()));
                }
            }
            Some((Item::ForeignKey, name)) => parts.foreign_keys.push((name, item.trim().to_owned())),
            None => kept.push(*item),
        }
    }
    parts.base = format!("{}({}\n){}", &create[..open], kept.join(","), &create[close + 1..]);
    parts
}

/// The name behind so many words and `IF NOT EXISTS`; of a qualified name, the last part.
pub(crate) fn created(sql: &str, words: usize) -> Option<String> {
    let mut rest = after_words(sql, words);
    if rest.starts_with("/*!") {
        rest = rest[rest.find("*/")? + 2..].trim_start();
    }
    if starts_with(rest, &["IF", "NOT", "EXISTS"]) {
        rest = after_words(rest, 3);
    }
    let name = name_at(rest)?;
    match after_name(rest).strip_prefix('.') {
        Some(rest) => name_at(rest),
        None => Some(name),
    }
}

enum Item {
    Index,
    ForeignKey,
}

/// What an item of the list is, if it can be made later, and its name.
fn kind(item: &str) -> Option<(Item, String)> {
    if starts_with(item, &["CONSTRAINT"]) {
        let rest = after_words(item, 1);
        let name = name_at(rest)?;
        return starts_with(after_name(rest), &["FOREIGN", "KEY"]).then_some((Item::ForeignKey, name));
    }
    for words in [&["KEY"][..], &["INDEX"], &["UNIQUE"], &["FULLTEXT"], &["SPATIAL"]] {
        if !starts_with(item, words) {
            continue;
        }
        let mut rest = after_words(item, 1);
        if words[0] != "KEY" && words[0] != "INDEX" && (starts_with(rest, &["KEY"]) || starts_with(rest, &["INDEX"])) {
            rest = after_words(rest, 1);
        }
        // Only names in backquotes, as SHOW CREATE TABLE has them: without, the first column would be taken for one.
        return rest.trim_start().starts_with('`').then(|| name_at(rest)).flatten().map(|name| (Item::Index, name));
    }
    None
}

fn is_column(item: &str) -> bool {
    let words =
        ["PRIMARY", "KEY", "INDEX", "UNIQUE", "FULLTEXT", "SPATIAL", "CONSTRAINT", "CHECK", "FOREIGN", "PERIOD"];
    item.trim_start().starts_with('`') || !words.iter().any(|w| starts_with(item, &[w]))
}

/// Begins with these words, in any case.
fn starts_with(text: &str, words: &[&str]) -> bool {
    let mut all = text.split_whitespace();
    words.iter().all(|w| {
        all.next().is_some_and(|t| {
            let word = t.split(['(', '`']).next().unwrap_or_default();
            word.eq_ignore_ascii_case(w)
        })
    })
}

/// What stands behind the first words.
fn after_words(text: &str, words: usize) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..words {
        let end = rest.find(|c: char| c.is_whitespace() || c == '`' || c == '(').unwrap_or(rest.len());
        rest = rest[end..].trim_start();
    }
    rest
}

/// The name a text begins with, without its backquotes.
fn name_at(text: &str) -> Option<String> {
    let text = text.trim_start();
    if !text.starts_with('`') {
        let end = text.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').unwrap_or(text.len());
        return (end > 0).then(|| text[..end].to_owned());
    }
    let end = quoted_end(text)?;
    Some(text[1..end - 1].replace("``", "`"))
}

fn after_name(text: &str) -> &str {
    let text = text.trim_start();
    match quoted_end(text) {
        Some(end) if text.starts_with('`') => &text[end..],
        _ => after_words(text, 1),
    }
}

/// The length of the quoted text at the beginning. Between backquotes, a backslash is a character like others.
fn quoted_end(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let quote = *bytes.first()?;
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote != b'`' => at += 2,
            b if b == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
    None
}

/// A step over the next thing in a text of SQL: a quoted text, a comment of `/*` that is none of a version, or a byte.
fn step(text: &str, at: usize) -> Option<usize> {
    let rest = &text[at..];
    match rest.as_bytes().first()? {
        b'\'' | b'"' | b'`' => Some(at + quoted_end(rest)?),
        b'/' if rest.starts_with("/*") && !rest.starts_with("/*!") => Some(at + rest.find("*/")? + 2),
        _ => Some(at + rest.chars().next()?.len_utf8()),
    }
}

/// The list in a CREATE TABLE's parentheses: where it begins, its items, where it ends.
fn items(create: &str) -> Option<(usize, Vec<&str>, usize)> {
    let mut at = 0;
    let open = loop {
        if create[at..].starts_with('(') {
            break at;
        }
        at = step(create, at)?;
    };
    let (mut depth, mut from, mut items) = (0, open + 1, Vec::new());
    loop {
        match create.as_bytes().get(at)? {
            b'(' => depth += 1,
            b')' => {
                depth -= 1;
                if depth == 0 {
                    items.push(&create[from..at]);
                    return Some((open, items, at));
                }
            }
            b',' if depth == 1 => {
                items.push(&create[from..at]);
                from = at + 1;
            }
            _ => {}
        }
        at = step(create, at)?;
    }
}

/// The text has this word, outside of quotes.
fn has_word(text: &str, word: &str) -> bool {
    unquoted(text).split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w.eq_ignore_ascii_case(word))
}

/// The text without what stands in quotes.
fn unquoted(text: &str) -> String {
    let (mut out, mut at) = (String::new(), 0);
    while let Some(next) = step(text, at) {
        if next - at <= 4 && !text[at..].starts_with(['\'', '"', '`']) {
            out.push_str(&text[at..next]);
        } else {
            out.push(' ');
        }
        at = next;
    }
    out
}

/// Replaces words outside of quotes: names of collations that the target does not have, by those that come closest.
pub(crate) fn replace_words(text: &str, mut other: impl FnMut(&str) -> Option<&'static str>) -> String {
    let (mut out, mut at, mut word) = (String::with_capacity(text.len()), 0, String::new());
    let mut end = |word: &mut String, out: &mut String| {
        if !word.is_empty() {
            out.push_str(other(word).unwrap_or(word));
            word.clear();
        }
    };
    loop {
        let next = step(text, at).unwrap_or(text.len());
        let token = &text[at..next];
        if token.len() == 1 && token.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
            word.push_str(token);
        } else {
            end(&mut word, &mut out);
            out.push_str(token);
        }
        if next >= text.len() {
            end(&mut word, &mut out);
            return out;
        }
        at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secondary_indexes_and_foreign_keys_come_later() {
        let create = "CREATE TABLE `t` (\n  `id` int NOT NULL AUTO_INCREMENT,\n  `KEY` varchar(5) DEFAULT 'a,(`b',\n  \
            `c` enum('x)','y') COMMENT 'KEY `q` (`c`), it''s',\n  PRIMARY KEY (`id`),\n  UNIQUE KEY `u``1` (`KEY`,`c`),\n  \
            KEY `k` (`c`) /*!80000 INVISIBLE */,\n  FULLTEXT KEY `f` (`KEY`),\n  KEY (`c`),\n  CONSTRAINT `fk` FOREIGN KEY \
            (`c`) REFERENCES `o` (`id`) ON DELETE CASCADE,\n  CONSTRAINT `chk` CHECK ((`id` > 0))\n) ENGINE=InnoDB COMMENT=')'";
        let p = split(create);
        let named = |list: &[(String, String)]| list.iter().map(|(n, _)| n.clone()).collect::<Vec<_>>();
        assert_eq!(named(&p.indexes), ["u`1", "k", "f"]);
        assert_eq!(p.indexes[1].1, "KEY `k` (`c`) /*!80000 INVISIBLE */");
        assert_eq!(p.foreign_keys[0].1, "CONSTRAINT `fk` FOREIGN KEY (`c`) REFERENCES `o` (`id`) ON DELETE CASCADE");
        assert!(p.base.ends_with("CONSTRAINT `chk` CHECK ((`id` > 0))\n\n) ENGINE=InnoDB COMMENT=')'"), "{}", p.base);
        assert!(p.base.contains("KEY (`c`)") && !p.base.contains("KEY `k`"), "{}", p.base);
    }

    #[test]
    fn an_auto_increment_column_keeps_an_index() {
        let p =
            split("CREATE TABLE t (a int, `n` bigint auto_increment, KEY `x` (`a`), KEY `y` (`n`,`a`), KEY `z` (`n`))");
        assert_eq!(p.indexes.iter().map(|(n, _)| n.as_str()).collect::<Vec<_>>(), ["x", "z"]);
        assert!(p.base.contains("KEY `y` (`n`,`a`)"), "{}", p.base);
    }

    #[test]
    fn other_statements_stay_whole() {
        for sql in ["CREATE TABLE t LIKE u", "CREATE TABLE t (a int", "CREATE TABLE `t (`"] {
            assert_eq!(split(sql), Parts { base: sql.to_owned(), ..Parts::default() });
        }
    }

    #[test]
    fn names_of_what_is_created() {
        let of = |sql: &str, words| created(sql, words).unwrap_or_default();
        assert_eq!(of("CREATE TABLE `a``b` (x int)", 2), "a`b");
        assert_eq!(of("create table if not exists `s`.`t`(x int)", 2), "t");
        assert_eq!(of("CREATE TABLE plain (x int)", 2), "plain");
        assert_eq!(of("CREATE DATABASE /*!32312 IF NOT EXISTS*/ `d` /*!40100 DEFAULT */", 2), "d");
        assert_eq!(of("INSERT INTO `t` VALUES (1)", 2), "t");
    }

    #[test]
    fn words_are_replaced_outside_of_quotes() {
        let sql =
            "a utf8mb4_0900_ai_ci 'utf8mb4_0900_ai_ci' `utf8mb4_0900_ai_ci` utf8mb4_0900_ai_cis é, utf8mb4_0900_ai_ci";
        let out = replace_words(sql, |w| (w == "utf8mb4_0900_ai_ci").then_some("X"));
        assert_eq!(out, "a X 'utf8mb4_0900_ai_ci' `utf8mb4_0900_ai_ci` utf8mb4_0900_ai_cis é, X");
    }
}
