//! What is read by an index on text is what a scan of the same rows finds, in every collation and by every kind of
//! comparison.
//!
//! Texts with characters that have no weight or several, pairs of characters that are one letter, spaces and what is
//! less than a space, wildcards: all of them are compared with all of them, once by each index and once without. One
//! collation of each kind gets all of the comparisons, one in five or eleven of the others some; each gets all with
//! `GANNET_INDEX_AGREES=all`.

use crate::common::{Running, rows, run};
use gannet_types::charset::Charset;
use gannet_types::collation::{COLLATIONS, Collation};
use gannet_wire::client::Connection;

const TEXTS: &[&str] = &[
    "",
    " ",
    "  ",
    "a",
    "A",
    "á",
    "Á",
    "a\u{301}",
    "a ",
    "a  ",
    "ab",
    "aB",
    "Áb",
    "áb",
    "abc",
    "ABD",
    "áe",
    "Az",
    "a b",
    "a  b",
    "a  c",
    "a\tb",
    "a\t",
    "\t",
    "\0",
    "\0a",
    "a\0",
    "a\0b",
    "\u{1}a",
    "a\u{1}b",
    "a\u{301}\u{301}b",
    "\u{301}",
    "a \u{301}",
    "é\u{301}x",
    "éex",
    "e\u{301}e\u{301}x",
    "ß",
    "ss",
    "sS",
    "s",
    "st",
    "sa",
    "ßa",
    "ssa",
    "ae",
    "aez",
    "æ",
    "Æz",
    "ä",
    "äz",
    "œ",
    "oe",
    "c",
    "ch",
    "Ch",
    "CH",
    "cH",
    "cHa",
    "cha",
    "chc",
    "cz",
    "ci",
    "czar",
    "d",
    "d\u{17E}",
    "dz",
    "e",
    "h",
    "hz",
    "i",
    "I",
    "İ",
    "ı",
    "i\u{307}",
    "K",
    "\u{212A}",
    "k",
    "l",
    "ll",
    "Lla",
    "lm",
    "lj",
    "Ljx",
    "ǉx",
    "LJ",
    "nj",
    "ǌ",
    "n",
    "nz",
    "aa",
    "Aab",
    "å",
    "åb",
    "y",
    "ü",
    "z",
    "zz",
    "zaa",
    "þ",
    "~",
    "%",
    "_",
    "a%",
    "a%b",
    "a_",
    "a\\",
    "\\",
    "ÿ",
    "\u{FFFD}",
    "\u{FFFF}",
    "\u{10FFFF}",
    "😀",
    "😁a",
    "中",
    "中文",
    "中a",
    "각",
    "가",
    "\u{1100}\u{1161}",
    "ก",
    "\u{FDFA}",
    "ﬀ",
    "ff",
    "f",
    "-",
    "a-b",
    "a'b",
    "1",
    "10",
    "９",
    "Ж",
    "жж",
    "ё",
    "Ω",
    "ὰ",
    "א",
    "ש",
    "あ",
    "ア",
    "ｱ",
    "if",
    "ff ",
    "ß\t",
];

const PATTERNS: &[&str] = &[
    "",
    "%",
    "_%",
    "_",
    "a",
    "a%",
    "A%",
    "á%",
    "a\u{301}%",
    "ab%",
    "aB%",
    "Áb%",
    "a_",
    "a_%",
    "a %",
    "a  %",
    "a b%",
    "a\t%",
    "a\0%",
    "\0%",
    "a\u{1}%",
    " %",
    "\t%",
    "s%",
    "ss%",
    "ß%",
    "sS%",
    "ae%",
    "æ%",
    "ä%",
    "c%",
    "ch%",
    "cha%",
    "Ch%",
    "cH%",
    "ch",
    "cHa",
    "cz%",
    "czar%",
    "h%",
    "d%",
    "d\u{17E}%",
    "l%",
    "ll%",
    "Lla%",
    "lj%",
    "ǉ%",
    "n%",
    "nj%",
    "aa%",
    "aab%",
    "å%",
    "a\\%%",
    "a\\%b",
    "a\\_%",
    "a\\\\%",
    "\\%%",
    "a|%%",
    "\u{FFFF}%",
    "\u{10FFFF}%",
    "😀%",
    "😁%",
    "中%",
    "中文%",
    "가%",
    "각%",
    "\u{FDFA}%",
    "ff%",
    "ﬀ%",
    "f%",
    "i%",
    "İ%",
    "ı%",
    "%b",
    "a%b",
    "1%",
    "zaa%",
    "ж%",
];

/// One collation of each kind, among them one whose language has a letter of two characters.
const WHOLE: &[&str] = &[
    "latin1_swedish_ci",
    "latin1_german2_ci",
    "utf8mb4_bin",
    "utf8mb4_general_ci",
    "utf16_general_ci",
    "latin2_czech_cs",
    "cp1250_czech_cs",
    "tis620_thai_ci",
    "swe7_swedish_ci",
    "utf8mb4_unicode_ci",
    "utf8mb4_0900_ai_ci",
    "utf8mb4_0900_as_cs",
    "utf8mb4_0900_bin",
    "utf8mb4_czech_ci",
];

const INDEXES: [&str; 6] = ["c", "d", "n", "p1", "p2", "p3"];

const TABLE: &str = "(id INT PRIMARY KEY, n INT, c VARCHAR(12) COLLATE @ NULLS, \
     KEY c (c), KEY d (c DESC, n), KEY n (n, c), KEY p1 (c(1)), KEY p2 (n, c(2) DESC), KEY p3 (c(3), n))";

/// What `t` is asked for, with a value `x`, another `y` and a pattern `p` of `v`.
const CONDITIONS: &[&str] = &[
    "t.c = v.x",
    "t.c <=> v.x",
    "t.c < v.x",
    "t.c <= v.x",
    "t.c > v.x",
    "t.c >= v.x",
    "t.c BETWEEN v.x AND v.y",
    "t.c IN (v.x, v.y, 'ss')",
    "t.c LIKE v.p",
    "t.c LIKE v.p ESCAPE '|'",
    "t.c LIKE CONCAT(v.x, '%')",
    "t.c = v.u",
    "t.c > v.u AND t.c < 'm'",
    "t.c >= v.x AND t.c < v.y",
];

/// The same without another table, for constants.
const CONSTANT: &[&str] = &[
    "t.c = 'ss'",
    "t.c <> 'SS'",
    "t.c NOT IN ('a', 'á', 'ch')",
    "t.c NOT BETWEEN 'ab' AND 'ch'",
    "t.c IN ('å', 'ß', 'ae', '😀', 'ch', 'cH')",
    "t.c LIKE 'ch%'",
    "t.c LIKE 'ab%'",
    "t.c LIKE 'a %' OR t.c = 'a'",
    "t.c > 'a' AND t.c < 'b'",
    "t.c >= 'ch' AND t.c LIKE 'c%'",
    "t.c IS NULL",
    "t.c IS NOT NULL",
];

fn literals(texts: &[&str], first: usize) -> String {
    let quoted = |t: &str| format!("X'{}'", t.bytes().map(|b| format!("{b:02X}")).collect::<String>());
    let row = |(i, t): (usize, &&str)| format!("({}, CONVERT({} USING utf8mb4))", first + i, quoted(t));
    texts.iter().enumerate().map(row).collect::<Vec<_>>().join(", ")
}

fn prepare(c: &mut Connection) {
    run(c, "CREATE DATABASE d");
    run(c, "USE d");
    for (table, texts) in [("texts", TEXTS), ("patterns", PATTERNS)] {
        run(c, &format!("CREATE TABLE {table} (id INT PRIMARY KEY, s VARCHAR(20) COLLATE utf8mb4_bin)"));
        run(c, &format!("INSERT INTO {table} VALUES {}", literals(texts, 1)));
    }
}

/// Makes the tables of a collation.
fn fill(c: &mut Connection, collation: &Collation, nullable: bool) {
    run(c, "DROP TABLE IF EXISTS t, v");
    let nulls = if nullable { "NULL" } else { "NOT NULL" };
    run(c, &format!("CREATE TABLE t {}", TABLE.replace('@', collation.name).replace("NULLS", nulls)));
    run(
        c,
        &"CREATE TABLE v (id INT PRIMARY KEY, x VARCHAR(20) COLLATE @, y VARCHAR(20) COLLATE @, p VARCHAR(20) COLLATE @, \
             u VARCHAR(20) COLLATE utf8mb4_bin)".replace('@', collation.name),
    );
    run(c, "INSERT IGNORE INTO t SELECT id, id % 3, s FROM texts");
    let charset = collation.charset;
    if charset.is_single_byte() {
        let byte = |b: u32| format!("({}, 0, CONVERT(X'61{b:02X}' USING {}))", 1000 + b, charset.name());
        let all: Vec<String> = (0x80..0x100).map(byte).collect();
        run(c, &format!("INSERT IGNORE INTO t VALUES {}", all.join(", ")));
    }
    if nullable {
        run(c, "INSERT INTO t VALUES (9999, 1, NULL)");
    }
    // Each text beside another one, and each pattern.
    run(
        c,
        "INSERT IGNORE INTO v SELECT a.id, a.s, b.s, p.s, a.s FROM texts a LEFT JOIN texts b ON b.id = a.id * 37 % 131 \
         LEFT JOIN patterns p ON p.id = a.id",
    );
}

/// The pairs of ids that a condition is true for, in short; an error's number where it is refused.
fn pairs(c: &mut Connection, hint: &str, condition: &str, of_v: bool) -> String {
    let from = if of_v { format!("v STRAIGHT_JOIN t {hint}") } else { format!("t {hint}") };
    let id = if of_v { "CONCAT(v.id, ':', t.id)" } else { "t.id" };
    let sql = format!("SELECT COUNT(*), BIT_XOR(CRC32({id})) FROM {from} WHERE {condition}");
    match c.query(&sql) {
        Ok(set) => set.texts().remove(0).join(" "),
        Err(e) => format!("error {}", e.code().unwrap_or_else(|| panic!("{sql}: {e}"))),
    }
}

/// The pairs themselves, for the message.
fn difference(c: &mut Connection, index: &str, condition: &str, of_v: bool) -> String {
    let (v, from) = if of_v { ("v.id, HEX(v.x), HEX(v.p)", "v STRAIGHT_JOIN t") } else { ("1, 2, 3", "t") };
    let mut with =
        |hint: &str| rows(c, &format!("SELECT {v}, t.id, HEX(t.c) FROM {from} {hint} WHERE {condition} ORDER BY 1, 4"));
    let (scan, index) = (with(SCAN), with(&format!("FORCE INDEX ({index})")));
    let lost: Vec<_> = scan.iter().filter(|r| !index.contains(r)).take(5).collect();
    let more: Vec<_> = index.iter().filter(|r| !scan.contains(r)).take(5).collect();
    format!("lost {lost:?}, too many {more:?}")
}

const SCAN: &str = "IGNORE INDEX (c, d, n, p1, p2, p3)";

fn compare(c: &mut Connection, collation: &str, conditions: &[&str], of_v: bool, faults: &mut Vec<String>) {
    for condition in conditions {
        for extra in ["", " AND t.n = 1"] {
            let condition = format!("({condition}){extra}");
            let expected = pairs(c, SCAN, &condition, of_v);
            for index in INDEXES.iter().filter(|i| extra.is_empty() != ["n", "p2"].contains(i)) {
                if pairs(c, &format!("FORCE INDEX ({index})"), &condition, of_v) != expected {
                    let what = difference(c, index, &condition, of_v);
                    faults.push(format!("{collation}: {condition} by {index}: {what}"));
                }
            }
        }
    }
}

/// Least and greatest values, groups, distinct values and orders.
fn compare_orders(c: &mut Connection, collation: &str, faults: &mut Vec<String>) {
    for filter in ["", "WHERE c > 'b'", "WHERE n = 1", "WHERE n = 1 AND c LIKE 'a%'"] {
        for least in ["MIN(c)", "MAX(c)", "COUNT(DISTINCT c)"] {
            let one = |hint: &str| format!("(SELECT {least} FROM t {hint} {filter}) <=> @least");
            run(c, &format!("SET @least = (SELECT {least} FROM t {SCAN} {filter})"));
            let each: Vec<String> = INDEXES.iter().map(|i| one(&format!("FORCE INDEX ({i})"))).collect();
            let sql = format!("SELECT {}", each.join(", "));
            if rows(c, &sql) != [INDEXES.map(|_| "1")] {
                faults.push(format!("{collation}: {sql}"));
            }
        }
        for (what, behind) in [
            ("MIN(id), COUNT(*)", "GROUP BY c ORDER BY 1"),
            ("n, MIN(id), COUNT(*)", "GROUP BY n, c ORDER BY 2"),
            ("id", "ORDER BY c, id"),
            ("id", "ORDER BY c DESC, id DESC"),
            ("id", "ORDER BY c DESC, n, id LIMIT 20"),
            ("id", "ORDER BY n, c, id LIMIT 20"),
        ] {
            let mut with = |hint: &str| rows(c, &format!("SELECT {what} FROM t {hint} {filter} {behind}"));
            let expected = with(SCAN);
            for index in ["c", "d", "n", "p2"] {
                let by = format!("FORCE INDEX ({index})");
                if with(&by) != expected {
                    faults.push(format!("{collation}: SELECT {what} FROM t {by} {filter} {behind}"));
                }
            }
        }
    }
}

/// The conditions are asked by the index that they are meant for.
fn check_plans(c: &mut Connection) {
    for condition in CONDITIONS {
        for index in ["c", "d", "p1", "p3"] {
            let plan =
                rows(c, &format!("EXPLAIN SELECT 1 FROM v STRAIGHT_JOIN t FORCE INDEX ({index}) WHERE {condition}"));
            let by_index = ["ref", "range"].contains(&plan[1][4].as_str()) && plan[1][6] == index;
            assert!(by_index, "{condition}: {:?}", plan[1]);
            let plan = rows(c, &format!("EXPLAIN SELECT 1 FROM v STRAIGHT_JOIN t {SCAN} WHERE {condition}"));
            assert_eq!(plan[1][4], "ALL", "{condition}");
        }
    }
}

#[test]
fn an_index_finds_what_a_scan_finds() {
    let all = std::env::var("GANNET_INDEX_AGREES").is_ok_and(|v| v == "all");
    let server = Running::start();
    let mut c = server.connect();
    prepare(&mut c);
    let mut faults = Vec::new();
    for (number, collation) in COLLATIONS.iter().enumerate() {
        let started = std::time::Instant::now();
        let whole = all || WHOLE.contains(&collation.name);
        // The collations of other character sets are as those of utf8mb4 are.
        let other = !matches!(collation.charset, Charset::Utf8mb4) && !collation.charset.is_single_byte();
        if !whole && number % if other { 11 } else { 5 } != 0 {
            continue;
        }
        fill(&mut c, collation, number % 2 == 0);
        if collation.name == "utf8mb4_bin" {
            check_plans(&mut c);
        }
        let some = |of: &[&'static str]| -> Vec<&str> {
            if whole { of.to_vec() } else { of.iter().skip(number % 14).step_by(14).copied().collect() }
        };
        compare(&mut c, collation.name, &some(CONDITIONS), true, &mut faults);
        compare(&mut c, collation.name, &some(CONSTANT), false, &mut faults);
        if whole || number % 14 == 0 {
            compare_orders(&mut c, collation.name, &mut faults);
        }
        if std::env::var_os("GANNET_INDEX_AGREES").is_some() {
            println!("{} {:?} {}", collation.name, started.elapsed(), faults.len());
        }
        assert!(faults.len() < 50, "{}", faults.join("\n"));
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}
