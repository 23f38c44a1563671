//! Full-text search: rows of random words, searched in natural language and in boolean mode, with relevance and
//! without. Relevance is compared while no row has been changed: what InnoDB counts of rows that are gone is open.

use super::{Random, STEPS, Step, Story, one};

/// Words, the first ones often. Some are stopwords, some are too short, some differ in case or accents only.
const WORDS: &[&str] = &[
    "apple",
    "banana",
    "cherry",
    "data",
    "base",
    "engine",
    "the",
    "of",
    "Apple",
    "café",
    "cafe",
    "row",
    "rows",
    "index",
    "by",
    "ab",
    "mysql",
    "server",
    "Über",
    "uber",
    "query",
    "log",
    "tree",
    "page",
    "applepie",
    "dataset",
    "is",
    "x1",
    "hello-world",
    "it's",
    "snake_case",
    "2024",
    "end.",
];

fn word(random: &mut Random) -> &'static str {
    // Of two draws the smaller: frequent and rare words.
    let at = random.below(WORDS.len()).min(random.below(WORDS.len()));
    WORDS[at]
}

fn words(random: &mut Random, most: usize) -> String {
    let separators = [" ", " ", " ", ", ", "  ", "; "];
    let mut out = String::new();
    for n in 0..random.below(most + 1) {
        if n > 0 {
            out.push_str(one(random, &separators));
        }
        out.push_str(word(random));
    }
    out
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn row(random: &mut Random, id: usize) -> String {
    let text = |random: &mut Random, most| match random.percent(6) {
        true => "NULL".into(),
        false => quoted(&words(random, most)),
    };
    let (a, b) = (text(random, 14), text(random, 5));
    format!("({id}, {a}, {b}, {})", random.below(6))
}

/// A boolean query. Words of a phrase stand in double quotes.
fn boolean(random: &mut Random, depth: usize) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + random.below(3) {
        let sign = one(random, &["", "", "", "+", "+", "-", "~", ">", "<"]);
        let plain = |random: &mut Random| loop {
            let word = word(random);
            if word.chars().all(char::is_alphanumeric) {
                return word;
            }
        };
        parts.push(match random.below(if depth == 0 { 6 } else { 8 }) {
            0..=2 => format!("{sign}{}", plain(random)),
            3 => format!("{sign}{}*", plain(random).chars().take(2 + random.below(3)).collect::<String>()),
            4 => format!("{sign}\"{} {}\"", plain(random), plain(random)),
            5 => format!("{sign}\"{} {}\" @{}", plain(random), plain(random), 1 + random.below(8)),
            _ => format!("{sign}({})", boolean(random, depth - 1)),
        });
    }
    parts.join(" ")
}

/// A search that a condition or an item may be.
fn search(random: &mut Random) -> String {
    let columns = one(random, &["a", "b", "a, b"]);
    match random.below(9) {
        0..=3 => format!("MATCH ({columns}) AGAINST ({})", quoted(&words(random, 4))),
        4..=7 => format!("MATCH ({columns}) AGAINST ({} IN BOOLEAN MODE)", quoted(&boolean(random, 2))),
        _ => format!("MATCH ({columns}) AGAINST ({} IN NATURAL LANGUAGE MODE)", quoted(word(random))),
    }
}

fn query(random: &mut Random, relevance: bool) -> Step {
    let search = search(random);
    match random.below(if relevance { 9 } else { 4 }) {
        0 => Step::new(format!("SELECT id FROM t WHERE {search}")),
        1 => Step::new(format!("SELECT COUNT(*) FROM t WHERE {search} AND c < {}", random.below(7))),
        2 => Step::new(format!("SELECT id, c FROM t WHERE NOT {search} OR c = {}", random.below(6))),
        3 => Step::new(format!(
            "SELECT t.id, u.id FROM t JOIN t u ON t.c = u.id WHERE {}",
            search.replace("(a", "(t.a").replace("(b)", "(t.b)").replace(", b)", ", t.b)")
        )),
        4 | 5 => Step::new(format!("SELECT id, {search} FROM t")),
        6 => Step::ordered(format!("SELECT id, {search} AS r FROM t WHERE {search} ORDER BY r DESC, id")),
        7 => Step::ordered(format!("SELECT ROUND({search}, 4) AS r FROM t ORDER BY {search} DESC LIMIT 5")),
        _ => Step::new(format!("SELECT id FROM t WHERE {search} > 0.1")),
    }
}

/// FULLTEXT indexes on one column and on two.
pub(super) fn full_text(random: &mut Random) -> Story {
    let ty = one(random, &["TEXT", "VARCHAR(300)", "MEDIUMTEXT"]);
    let collation = one(random, &["", "", " COLLATE utf8mb4_bin", " COLLATE utf8mb4_unicode_ci"]);
    let setup = vec![format!(
        "CREATE TABLE t (id INT PRIMARY KEY, a {ty}{collation}, b VARCHAR(100){collation}, c INT, FULLTEXT (a), \
         FULLTEXT (b), FULLTEXT (a, b))"
    )];
    let mut steps = Vec::new();
    let mut id = 0;
    for _ in 0..3 + random.below(8) {
        let rows: Vec<String> = (0..1 + random.below(6)).map(|n| row(random, id + n)).collect();
        id += rows.len();
        steps.push(Step::new(format!("INSERT INTO t VALUES {}", rows.join(", "))));
    }
    steps.extend((0..STEPS).map(|_| query(random, true)));
    for _ in 0..STEPS {
        let filter = format!("id = {}", random.below(id));
        steps.push(match random.below(12) {
            0 => Step::new(format!("UPDATE t SET a = {} WHERE {filter}", quoted(&words(random, 9)))),
            1 => Step::new(format!("DELETE FROM t WHERE {filter}")),
            2 => {
                id += 1;
                Step::new(format!("INSERT INTO t VALUES {}", row(random, id - 1)))
            }
            3 => {
                let id = random.below(id);
                Step::new(format!("REPLACE INTO t VALUES {}", row(random, id)))
            }
            _ => query(random, false),
        });
    }
    Story { theme: "full text", setup, steps, shown: vec!["SELECT * FROM t".into()] }
}
