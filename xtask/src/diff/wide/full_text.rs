//! Full-text search: rows of random words, searched in natural language and in boolean mode, with relevance and
//! without. Relevance is compared while no row has been changed: what InnoDB counts of rows that are gone is open.

use super::{Pair, Random, STEPS, Step, Story, one};

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
    for n in 0..1 + random.below(most) {
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

/// How much of the boolean grammar a round uses: words, then prefixes, joined words, phrases, distances and
/// parentheses.
const LEVELS: usize = 6;

/// Beginnings of one word only. InnoDB counts of several words the one that it comes to first, and that depends on
/// what it has written to disk.
const BEGINNINGS: &[&str] =
    &["ban", "che", "chERR", "eng", "ind", "mys", "serv", "que", "tre", "pa", "bas", "ap", "dat"];
const UNIQUE: usize = 11;

/// What a round's boolean queries may have.
#[derive(Clone, Copy)]
struct Grammar {
    level: usize,
    /// Ranks are compared.
    ranks: bool,
    /// Behind a phrase InnoDB does not find a word by its beginning among those in its cache.
    stars: bool,
}

impl Grammar {
    fn plain(self, random: &mut Random) -> &'static str {
        loop {
            let word = word(random);
            if word.chars().all(char::is_alphanumeric) {
                return word;
            }
        }
    }

    fn beginning(self, random: &mut Random) -> &'static str {
        BEGINNINGS[random.below(if self.ranks { UNIQUE } else { BEGINNINGS.len() })]
    }

    fn phrase(self, random: &mut Random) -> String {
        let words: Vec<&str> = (0..1 + random.below(3)).map(|_| self.plain(random)).collect();
        format!("\"{}\"", words.join(one(random, &[" ", " ", ", ", "  "])))
    }

    /// A query. Words of a phrase stand in double quotes.
    fn query(self, random: &mut Random, depth: usize) -> String {
        let mut parts = Vec::new();
        for _ in 0..1 + random.below(3) {
            let sign = one(random, &["", "", "", "+", "+", "-", "~", ">", "<"]);
            let most = 3 + if depth == 0 { self.level.min(4) } else { self.level };
            parts.push(match random.below(most) {
                3 if self.stars => format!("{sign}{}*", self.beginning(random)),
                4 => format!("{sign}{}{}{}", self.plain(random), one(random, &[",", ".", "'"]), self.plain(random)),
                5 => format!("{sign}{}", self.phrase(random)),
                6 => format!("{sign}{} @{}", self.phrase(random), random.below(8)),
                7 => format!("{sign}({})", self.query(random, depth.saturating_sub(1))),
                _ => format!("{sign}{}", self.plain(random)),
            });
        }
        parts.join(one(random, &[" ", " ", "  "]))
    }

    /// A search that a condition or an item may be.
    fn search(self, random: &mut Random) -> String {
        let columns = one(random, &["a", "b", "a, b"]);
        match random.below(9) {
            0 | 1 => format!("MATCH ({columns}) AGAINST ({})", quoted(&words(random, 4))),
            2..=7 => format!("MATCH ({columns}) AGAINST ({} IN BOOLEAN MODE)", quoted(&self.query(random, 2))),
            _ => format!("MATCH ({columns}) AGAINST ({} IN NATURAL LANGUAGE MODE)", quoted(word(random))),
        }
    }
}

fn query(random: &mut Random, grammar: Grammar) -> Step {
    let search = grammar.search(random);
    match random.below(if grammar.ranks { 9 } else { 4 }) {
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

/// FULLTEXT indexes on one column and on two: built of rows that are there, which are ranked; then rows change.
pub(super) fn full_text(random: &mut Random) -> Story {
    let ty = one(random, &["TEXT", "VARCHAR(300)", "MEDIUMTEXT"]);
    let collation = one(random, &["", "", " COLLATE utf8mb4_bin", " COLLATE utf8mb4_unicode_ci"]);
    let level = random.below(LEVELS);
    let mut setup =
        vec![format!("CREATE TABLE t (id INT PRIMARY KEY, a {ty}{collation}, b VARCHAR(100){collation}, c INT)")];
    let mut id = 0;
    for _ in 0..3 + random.below(8) {
        let rows: Vec<String> = (0..1 + random.below(6)).map(|n| row(random, id + n)).collect();
        id += rows.len();
        setup.push(format!("INSERT INTO t VALUES {}", rows.join(", ")));
    }
    setup.extend(["a", "b", "a, b"].map(|columns| format!("ALTER TABLE t ADD FULLTEXT ({columns})")));
    let grammar = Grammar { level, ranks: true, stars: true };
    let mut steps: Vec<Step> = (0..STEPS).map(|_| query(random, grammar)).collect();
    let grammar = Grammar { ranks: false, stars: level < 3, ..grammar };
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
            _ => query(random, grammar),
        });
    }
    // MariaDB builds an index in lower case, and does not find phrases with capital letters, where case tells words
    // apart.
    if collation.ends_with("_bin") {
        let lower = |sql: &mut String| *sql = sql.replace("Apple", "apple").replace('Ü', "ü").replace("chERR", "cherr");
        setup.iter_mut().for_each(lower);
        steps.iter_mut().for_each(|step| lower(&mut step.sql));
    }
    Story { theme: "full text", setup, steps, shown: vec!["SELECT * FROM t".into()] }
}

/// True when both servers answer alike once the table has only rows that are there. What `<` takes from a rank may
/// leave 0, which is no match; that depends on the number of rows, among which InnoDB counts those that are gone.
pub(super) fn of_rows_that_are_there(step: &Step, pair: &mut Pair) -> Result<bool, String> {
    if !step.sql.contains('<') || !step.sql.contains("IN BOOLEAN MODE") {
        return Ok(false);
    }
    pair.must("CREATE TABLE t_again LIKE t")?;
    pair.must("INSERT INTO t_again SELECT * FROM t")?;
    pair.must("RENAME TABLE t TO t_kept, t_again TO t")?;
    // In memory, or just renamed, InnoDB counts otherwise still.
    pair.must("ALTER TABLE t ENGINE = InnoDB, FORCE")?;
    let again = pair.both(&step.sql)?;
    pair.must("RENAME TABLE t TO t_again, t_kept TO t")?;
    pair.must("DROP TABLE t_again")?;
    Ok(super::alike(step, &again))
}
