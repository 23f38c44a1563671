//! Values that do not fit, in all modes, with their warnings; texts in the order of collations.

use super::{Random, STEPS, Step, Story, one};
use crate::diff::Outcome;

const COLUMNS: &[(&str, &str)] = &[
    ("ti", "TINYINT"),
    ("tu", "TINYINT UNSIGNED"),
    ("i", "INT"),
    ("b", "BIGINT"),
    ("bu", "BIGINT UNSIGNED"),
    ("d", "DECIMAL(5,2)"),
    ("du", "DECIMAL(6,1) UNSIGNED"),
    ("f", "FLOAT"),
    ("db", "DOUBLE"),
    ("c", "CHAR(3)"),
    ("v", "VARCHAR(4)"),
    ("vb", "VARBINARY(3)"),
    ("da", "DATE"),
    ("dt", "DATETIME"),
    ("d3", "DATETIME(2)"),
    ("t", "TIME"),
    ("y", "YEAR"),
    ("e", "ENUM('a', 'b')"),
    ("s", "SET('a', 'b')"),
    ("bi", "BIT(4)"),
    ("l", "VARCHAR(6) CHARACTER SET latin1"),
];

const VALUES: &[&str] = &[
    "0",
    "1",
    "-1",
    "127",
    "128",
    "255",
    "256",
    "-129",
    "2147483647",
    "2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "1.5",
    "-0.5",
    "0.005",
    "999.994",
    "999.995",
    "1e3",
    "1e40",
    "1.4999e0",
    "''",
    "' '",
    "'1'",
    "' 12'",
    "'12 '",
    "'12abc'",
    "'abc'",
    "'1e2'",
    "'1.5'",
    "'-3.7x'",
    "'a'",
    "'ab'",
    "'abcd'",
    "'abcde'",
    "'abc  '",
    "'2021-03-04'",
    "'2021-02-30'",
    "'0000-00-00'",
    "'2021-00-10'",
    "'2021-03-04 05:06:07'",
    "'2021-03-04 25:06:07'",
    "20210304",
    "20211340",
    "'10:11:12'",
    "'839:00:00'",
    "'10:61:00'",
    "'1 2:3:4'",
    "101112",
    "'11:22'",
    "2021",
    "'1999'",
    "99",
    "1900",
    "2156",
    "'a,b'",
    "'a,c'",
    "'b'",
    "3",
    "4",
    "NULL",
    "'é'",
    "'ü€'",
    "0x6162",
    "b'101'",
    "TRUE",
    "DATE'2021-05-06'",
    "TIMESTAMP'2021-05-06 07:08:09'",
    "TIME'08:09:10'",
    "DEFAULT",
];

const MODES: &[&str] = &[
    "",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES,NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
    "NO_ZERO_DATE,NO_ZERO_IN_DATE,ERROR_FOR_DIVISION_BY_ZERO",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "NO_ZERO_IN_DATE",
    "ALLOW_INVALID_DATES",
    "STRICT_TRANS_TABLES,ALLOW_INVALID_DATES",
    "STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_BACKSLASH_ESCAPES,ANSI_QUOTES,PIPES_AS_CONCAT",
    "NO_UNSIGNED_SUBTRACTION",
    "HIGH_NOT_PRECEDENCE",
];

/// One column a statement, so that which of several errors comes first does not matter.
pub(super) fn conversions(random: &mut Random) -> Story {
    // One at most: what an INSERT says that leaves out several is left open.
    let needed = random.below(2 * COLUMNS.len());
    let null = |n: usize| if n == needed { " NOT NULL" } else { "" };
    let columns: Vec<String> =
        COLUMNS.iter().enumerate().map(|(n, (name, ty))| format!("{name} {ty}{}", null(n))).collect();
    let setup = vec![format!("CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, {})", columns.join(", "))];
    let mut steps = Vec::new();
    let mode = |random: &mut Random| Step::new(format!("SET sql_mode = '{}'", one(random, MODES)));
    steps.push(mode(random));
    for _ in 0..STEPS {
        let (name, _) = *random.pick(COLUMNS);
        let (other, _) = *random.pick(COLUMNS);
        let value = one(random, VALUES);
        let ignore = if random.percent(20) { "IGNORE " } else { "" };
        steps.push(match random.below(14) {
            0 => mode(random),
            1..=6 => Step::warns(format!("INSERT {ignore}INTO w ({name}) VALUES ({value})")),
            7 => Step::warns(format!("INSERT {ignore}INTO w SET {name} = {value}")),
            8 | 9 => Step::warns(format!("UPDATE {ignore}w SET {name} = {value} ORDER BY id LIMIT 1")),
            10 => Step::warns(format!("UPDATE {ignore}w SET {name} = {other} ORDER BY id LIMIT 1")),
            11 => Step::warns(format!(
                "UPDATE {ignore}w SET {name} = {} ORDER BY id LIMIT 2",
                one(
                    random,
                    &[
                        "1 / 0",
                        "5 % 0",
                        "ti + tu",
                        "bu + 1",
                        "d * 10",
                        "CONCAT(v, 'xyz')",
                        "da + INTERVAL 1 DAY",
                        "REPEAT('a', id)",
                        "i DIV 0",
                        "tu - ti",
                        "CAST('x' AS SIGNED)",
                        "NULL"
                    ]
                )
            )),
            12 => Step::new(format!("DELETE FROM w WHERE id % {} = 0 ORDER BY id DESC LIMIT 2", 1 + random.below(3))),
            _ => Step::new("DELETE FROM w"),
        });
    }
    let shown: Vec<String> =
        COLUMNS.iter().map(|(name, _)| if *name == "bi" { "bi + 0".into() } else { (*name).to_owned() }).collect();
    Story {
        theme: "conversions",
        setup,
        steps,
        shown: vec![format!("SELECT id, {} FROM w ORDER BY id", shown.join(", "))],
    }
}

/// Whether both warn of the same: of as many values of the same severity, and with the same words or for a reason.
pub(super) fn same_warnings(outcomes: &[Outcome; 2]) -> Option<Option<&'static str>> {
    let [Outcome::Done(a), Outcome::Done(b)] = outcomes else { return None };
    let lines = |of: &gannet_wire::client::ResultSet, line: fn(&[String]) -> String| {
        let mut lines: Vec<String> = of.texts().into_iter().map(|row| line(&row)).collect();
        lines.sort();
        lines
    };
    if lines(a, line) == lines(b, line) {
        return Some(None);
    }
    // The server's own numbers for a value that is not quite of the column's type.
    let family = |row: &[String]| match row[1].as_str() {
        "1264" | "1265" | "1292" | "1366" | "1406" if row[0] != "Error" => "unfit".to_owned(),
        "1264" | "1265" | "1292" | "1366" | "1406" => "Error unfit".to_owned(),
        _ => line(row),
    };
    let why = "MariaDB numbers and words warnings of values that do not fit differently";
    (lines(a, family) == lines(b, family)).then_some(Some(why))
}

/// Level, number and text of a warning, names of columns without their tables.
pub(super) fn line(row: &[String]) -> String {
    let code = row[1].parse().map_or(0, super::common);
    let mut text = row[2].clone();
    // How an expression is written that is out of range.
    if let (1690, Some(at)) = (code, text.find(" in '")) {
        text.truncate(at);
    }
    // MariaDB names a column with its table.
    while let Some(at) = text.find("`gannet_diff`.") {
        let rest = &text[at..];
        let name = rest.splitn(6, '`').nth(5).and_then(|r| r.split('`').next()).unwrap_or("").to_owned();
        let end = rest.match_indices('`').nth(5).map_or(rest.len(), |(i, _)| i + 1);
        text = format!("{}'{name}'{}", &text[..at], &rest[end..]);
    }
    format!("{} {code} {text}", row[0])
}

const WORDS: &[&str] = &[
    "a", "A", "á", "à", "â", "ä", "Ä", "ae", "æ", "b", "B", "c", "ç", "d", "ð", "e", "é", "E", "É", "i", "ı", "I", "İ",
    "n", "ñ", "Ñ", "o", "ö", "Ö", "ø", "ó", "oe", "œ", "s", "ß", "ss", "S", "ş", "ș", "t", "þ", "u", "ü", "Ü", "ue",
    "v", "w", "y", "z", "Z", "ž", "ch", "cz", "ll", "lz", "ly", "nz", "aa", "å", "-", "a-b", "ab", "a b", "_", "'",
    "1", "10", "9", "", " ", "a ", "д", "Д", "ж", "ё", "е", "α", "Ά", "ά", "Σ", "ς", "σ", "א", "ع", "ア", "あ", "か",
    "が", "中", "國", "ﬁ", "½", "²", "€", "😀", "𝒜",
];

/// Collations that both have.
const COLLATIONS: &[&str] = &[
    "utf8mb4_general_ci",
    "utf8mb4_bin",
    "utf8mb4_unicode_ci",
    "utf8mb4_unicode_520_ci",
    "utf8mb4_spanish_ci",
    "utf8mb4_spanish2_ci",
    "utf8mb4_swedish_ci",
    "utf8mb4_german2_ci",
    "utf8mb4_danish_ci",
    "utf8mb4_turkish_ci",
    "utf8mb4_czech_ci",
    "utf8mb4_slovak_ci",
    "utf8mb4_polish_ci",
    "utf8mb4_estonian_ci",
    "utf8mb4_latvian_ci",
    "utf8mb4_lithuanian_ci",
    "utf8mb4_icelandic_ci",
    "utf8mb4_romanian_ci",
    "utf8mb4_slovenian_ci",
    "utf8mb4_hungarian_ci",
    "utf8mb4_croatian_ci",
    "utf8mb4_esperanto_ci",
    "utf8mb4_roman_ci",
    "utf8mb4_vietnamese_ci",
];

const NARROW: &[&str] = &[
    "latin1_swedish_ci",
    "latin1_bin",
    "latin1_general_ci",
    "latin1_general_cs",
    "latin1_german1_ci",
    "latin1_danish_ci",
];

/// Orders, groups, comparisons and patterns in many collations.
pub(super) fn collations(random: &mut Random) -> Story {
    let (first, second) = (one(random, COLLATIONS), one(random, COLLATIONS));
    let narrow = one(random, NARROW);
    let keys = one(random, &["", ", KEY (x), KEY (y)", ", KEY (x(2)), KEY (l)", ", KEY (y, x)"]);
    let pad = one(random, &["VARCHAR(12)", "CHAR(12)", "TEXT"]);
    let y = if keys.contains("(y") { "VARCHAR(12)" } else { pad };
    let unique = one(random, &["PRIMARY KEY", "UNIQUE", "PRIMARY KEY"]);
    let setup = vec![
        format!(
            "CREATE TABLE k (id INT PRIMARY KEY, x VARCHAR(12) COLLATE {first}, y {y} COLLATE {second}, l VARCHAR(12) COLLATE {narrow}{keys})"
        ),
        format!("CREATE TABLE w (x VARCHAR(12) COLLATE {first} {unique})"),
    ];
    let mut steps = Vec::new();
    let wide = |random: &mut Random| {
        let mut text = String::new();
        for _ in 0..1 + random.below(3) {
            text += random.pick::<&str>(WORDS);
        }
        text.replace('\'', "''")
    };
    let latin = [
        "a", "A", "ä", "Ä", "ae", "é", "E", "ß", "ss", "s", "ö", "o", "ñ", "n", "ü", "y", "å", "", "z", "ø", "b ", "1",
        "Þ", "ð",
    ];
    for id in 1..=24 {
        let l = format!("{}{}", random.pick(&latin), random.pick(&latin));
        let (x, y) = (wide(random), wide(random));
        steps.push(Step::new(format!("INSERT INTO k VALUES ({id}, '{x}', '{y}', '{l}')")));
    }
    let again = "SELECT 1 FROM k b WHERE b.x = a.x AND b.id < a.id";
    steps.push(Step::new(format!("INSERT INTO w SELECT x FROM k a WHERE NOT EXISTS ({again})")));
    for _ in 0..STEPS {
        let c = one(random, &["x", "y", "l", "x", "y"]);
        let w = if c == "l" { (*random.pick(&latin)).to_owned() } else { wide(random) };
        let op = one(random, &["=", "<", ">", "<=", "<>", "<=>"]);
        let first_char: String = w.chars().take(1).filter(|c| *c != '\'').collect();
        steps.push(match random.below(16) {
            0 | 1 => Step::ordered(format!("SELECT {c}, id FROM k ORDER BY {c}{}, id", one(random, &["", " DESC"]))),
            2 | 3 => Step::ordered(format!("SELECT id FROM k WHERE {c} {op} '{w}' ORDER BY id")),
            4 => Step::ordered(format!("SELECT MIN(id), COUNT(*) FROM k GROUP BY {c} ORDER BY MIN(id)")),
            5 => Step::ordered(format!("SELECT a.id, b.id FROM k a JOIN k b ON a.{c} = b.{c} ORDER BY a.id, b.id")),
            6 => Step::ordered(format!("SELECT id, HEX(WEIGHT_STRING({c})) FROM k ORDER BY id")),
            7 => Step::ordered(format!("SELECT id FROM k WHERE {c} LIKE '{first_char}%' ORDER BY id")),
            8 => Step::ordered(format!("SELECT id, {c} LIKE '%{first_char}_', {c} LIKE '_{first_char}%' FROM k ORDER BY id")),
            9 => {
                // Of longer ones MariaDB and MySQL compare windows of other lengths.
                let letter = one(random, &["a", "b", "s", "z", "1"]);
                let form = format!("LOCATE('{letter}', {c}), INSTR({c}, '{letter}'), STRCMP({c}, '{w}')");
                Step::ordered(format!("SELECT id, {form} FROM k ORDER BY id"))
            }
            10 => Step::ordered(format!("SELECT id, HEX(UPPER({c})), HEX(LOWER({c})), REPLACE({c}, '{w}', '#'), HEX(REVERSE({c})) FROM k ORDER BY id")),
            11 => Step::ordered(format!("SELECT COUNT(DISTINCT {c}), COUNT(DISTINCT {c} COLLATE {}) FROM k", if c == "l" { one(random, NARROW) } else { one(random, COLLATIONS) })),
            // No two texts are equal there, and what LIKE begins with is none of them.
            13 => Step::ordered(format!("SELECT HEX(x) FROM w WHERE x LIKE '{first_char}{}' ORDER BY HEX(x)", one(random, &["%", "_", "", "_%"]))),
            14 => Step::ordered(format!("SELECT HEX(x) FROM w WHERE x {op} '{w}' OR x LIKE '{first_char}%' ORDER BY HEX(x)")),
            12 => Step::ordered(format!("SELECT id FROM k ORDER BY {c} COLLATE {}, id", if c == "l" { one(random, NARROW) } else { one(random, COLLATIONS) })),
            _ => Step::ordered(format!("SELECT id, {c} BETWEEN 'b' AND '{w}', FIND_IN_SET('{first_char}', {c}), {c} IN ('a', '{w}', 'ss') FROM k ORDER BY id")),
        });
    }
    Story { theme: "collations", setup, steps, shown: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_without_their_tables() {
        let row = ["Warning", "1366", "Incorrect integer value: 'x' for column `gannet_diff`.`w`.`ti` at row 1"]
            .map(str::to_owned);
        assert_eq!(line(&row), "Warning 1366 Incorrect integer value: 'x' for column 'ti' at row 1");
    }
}
