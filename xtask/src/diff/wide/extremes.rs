//! Functions and operators at the ends of their domains: numbers beside the limits of their types, dates that are none,
//! lengths and positions that are negative, fractional or huge.

use super::{Random, STEPS, Step, Story, one};

const WHOLE: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "NULL",
    "127",
    "128",
    "255",
    "256",
    "32767",
    "65535",
    "2147483647",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "b",
    "u",
    "t",
];
// What is beyond BIGINT as a whole number MariaDB makes another one.
const PARTS: &[&str] = &[
    "1.5",
    "-0.5",
    "0.0000000001",
    "99999999999999999999999999999.9999999999",
    "-99999999999999999999999999999.9999999999",
    "1e0",
    "1e18",
    "0.1",
    "d",
    "f",
    "n",
];

fn whole(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.percent(25) {
        return one(random, WHOLE).into();
    }
    let (a, b) = (whole(random, depth - 1), whole(random, 0));
    match random.below(14) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} DIV {b})"),
        4 => format!("({a} % {b})"),
        5 => format!("(- {a})"),
        6 => format!("ABS({a})"),
        7 => format!("CAST({a} AS {})", one(random, &["SIGNED", "UNSIGNED"])),
        8 => format!("({a} << {})", one(random, &["0", "1", "63", "64", "-1", "NULL"])),
        9 => format!("({a} >> {})", one(random, &["0", "1", "63", "64", "-1"])),
        10 => format!("(~ {a})"),
        11 => format!("({a} {} {b})", one(random, &["|", "&", "^"])),
        12 => format!("BIT_COUNT({a})"),
        _ => format!("({a} {} {b})", one(random, &["<", "=", ">=", "<=>", "<>"])),
    }
}

fn number(random: &mut Random, depth: usize) -> String {
    if random.percent(30) {
        return whole(random, depth);
    }
    if depth == 0 || random.percent(25) {
        return one(random, PARTS).into();
    }
    let (a, b) = (number(random, depth - 1), number(random, 0));
    match random.below(11) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("(- {a})"),
        4 => format!("ABS({a})"),
        5 => format!("ROUND({a}, {})", one(random, &["0", "1", "5", "-20", "NULL"])),
        6 => format!("TRUNCATE({a}, {})", one(random, &["0", "1", "-1", "5", "-20", "NULL"])),
        7 => format!("{}({a})", one(random, &["CEIL", "FLOOR", "SIGN"])),
        8 => format!("CAST({a} AS DECIMAL({}))", one(random, &["10, 2", "65, 20", "3, 3", "65, 0", "1"])),
        9 => format!("({a} {} {b})", one(random, &["<", "=", ">=", "<=>", "<>"])),
        _ => format!("NULLIF({a}, {b})"),
    }
}

/// Numbers at the limits of their types, in expressions, aggregates and changes.
pub(super) fn numbers(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, b BIGINT, u BIGINT UNSIGNED, d DECIMAL(40,10), f DOUBLE, t TINYINT, n DECIMAL(20,0) UNSIGNED)".to_owned(),
        "INSERT INTO x VALUES (1, 9223372036854775807, 18446744073709551615, 99999999999999999999999999999.9999999999, 1.7976931348623157e308, 127, 99999999999999999999)".to_owned(),
        "INSERT INTO x VALUES (2, -9223372036854775808, 0, -99999999999999999999999999999.9999999999, -1.7976931348623157e308, -128, 0)".to_owned(),
        "INSERT INTO x VALUES (3, 0, 9223372036854775808, 0.0000000001, 2.5e-308, 0, 18446744073709551616), (4, NULL, NULL, NULL, NULL, NULL, NULL), (5, 3, 3, 3.5, 3.5, 3, 3)".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let id = 1 + random.below(5);
        let (depth, other) = (1 + random.below(2), number(random, 1));
        let a = number(random, depth);
        let text = match random.below(10) {
            0..6 => format!("SELECT {a} p FROM x WHERE id = {id}"),
            6 => {
                let f = one(random, &["SUM", "MAX", "MIN", "COUNT"]);
                format!("SELECT {f}({a}) p FROM x WHERE id {} {id}", one(random, &["=", ">", "<"]))
            }
            7 => format!("SELECT id FROM x WHERE {a} {} {other}", one(random, &["<", "=", ">", "<>"])),
            8 => format!("UPDATE x SET {} = {a} WHERE id = {id}", one(random, &["b", "u", "d", "f", "t", "n"])),
            _ => format!("SELECT CONCAT({a}, ''), HEX({}) FROM x WHERE id = {id}", whole(random, 1)),
        };
        steps.push(Step::new(text));
    }
    let shown = vec!["SELECT * FROM x ORDER BY id".to_owned()];
    Story { theme: "limits of numbers", setup, steps, shown }
}

const DATES: &[&str] = &[
    "NULL",
    "'2020-02-30'",
    "'2020-02-29'",
    "'9999-12-31'",
    "'0001-01-01'",
    "'1000-01-01 00:00:00'",
    "'2020-12-31 23:59:59.5'",
    "'abc'",
    "20200229",
    "20200230",
    "991231",
    "700101",
    "20201231235959",
    "DATE'2020-01-31'",
    "d",
    "s",
    "TIMESTAMP'2020-01-31 12:34:56.789'",
    "TIMESTAMP'9999-12-31 23:59:59'",
    "DATE'1970-01-01'",
];
const TIMES: &[&str] = &[
    "NULL",
    "'10:11:12'",
    "'-400:59:59'",
    "'400:59:59'",
    "'1 10:11:12'",
    "TIME'-01:30:00'",
    "t",
    "TIME'00:00:00.25'",
    "s",
];
const AMOUNTS: &[&str] = &["0", "1", "-1", "NULL", "31", "366", "10000", "-10000", "99999999", "'1'"];

/// Functions of dates and times with what is none, or at the ends of their ranges. Texts of dates as times, and a day
/// before the year 1, are each server's own.
pub(super) fn moments(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, d DATE, s DATETIME(3), t TIME(2))".to_owned(),
        "INSERT INTO x VALUES (1, '9999-12-31', '9999-12-31 23:59:59.999', '400:59:59'), (2, '1000-01-01', '1000-01-01 00:00:00', '-400:59:59'), (3, '2020-02-29', '2020-02-29 12:34:56.789', '-00:00:01.25'), (4, NULL, NULL, NULL), (5, '1970-01-01', '1970-01-01 00:00:00', '00:00:00')".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let (a, b, n) = (one(random, DATES), one(random, DATES), one(random, AMOUNTS));
        let (t, u) = (one(random, TIMES), one(random, TIMES));
        let unit = one(random, &["DAY", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND", "WEEK", "QUARTER", "MICROSECOND"]);
        let text = match random.below(16) {
            0 => {
                // Of texts and numbers MariaDB's have six decimals.
                let typed =
                    one(random, &["d", "s", "DATE'2020-01-31'", "TIMESTAMP'9999-12-31 23:59:59'", "DATE'1000-01-01'"]);
                format!("DATE_ADD({typed}, INTERVAL {n} {unit})")
            }
            1 => format!("DATEDIFF({a}, {b})"),
            2 => format!("TIMESTAMPDIFF({unit}, {a}, {b})"),
            3 => format!("TIMEDIFF({t}, {u})"),
            4 => format!("ADDTIME({t}, {u})"),
            5 => format!("SUBTIME({t}, {u})"),
            6 => format!("LAST_DAY({a})"),
            7 => {
                format!("{}({a})", one(random, &["TO_DAYS", "DATE", "DAYNAME", "MONTHNAME", "YEARWEEK", "WEEKOFYEAR"]))
            }
            8 => format!("SEC_TO_TIME({n})"),
            9 => format!("TIME_TO_SEC({})", one(random, &["'10:11:12'", "TIME'-01:30:00'", "'1 10:11:12'"])),
            10 => format!("MAKEDATE({}, {n})", one(random, &["2020", "70", "9999", "NULL"])),
            11 => {
                let f = one(random, &["YEAR", "MONTH", "DAYOFMONTH", "DAYOFWEEK", "DAYOFYEAR", "WEEKDAY", "QUARTER"]);
                format!("{f}({a})")
            }
            12 => format!("{}({t})", one(random, &["HOUR", "MINUTE", "SECOND", "MICROSECOND"])),
            13 => format!("WEEK({a}, {})", one(random, &["0", "1", "2", "3", "4", "5", "6", "7", "NULL"])),
            14 => {
                let format =
                    one(random, &["%Y-%m-%d", "%y %c %e %j", "%H:%i:%s", "%U %u %V %v %X %x", "%W %M %b %a %D"]);
                format!("DATE_FORMAT({a}, '{format}')")
            }
            _ => format!("CAST({a} AS {})", one(random, &["DATE", "DATETIME(6)", "CHAR"])),
        };
        steps.push(Step::new(format!("SELECT {text} p FROM x WHERE id = {}", 1 + random.below(5))));
    }
    Story { theme: "ends of time", setup, steps, shown: Vec::new() }
}

// Of one character set, since MariaDB converts and compares less; a pad is not empty.
const TEXTS: &[&str] = &[
    "NULL",
    "''",
    "'a'",
    "'abcdef'",
    "'äöü'",
    "'日本語'",
    "'😀x'",
    "' a '",
    "'a,b,,c'",
    "'AbC'",
    "'-1.50'",
    "'%_'",
    "s",
    "l",
];
const LENGTHS: &[&str] = &[
    "0",
    "1",
    "2",
    "-1",
    "-2",
    "3",
    "10",
    "NULL",
    "1.5",
    "0.5",
    "-0.5",
    "'2'",
    "'x'",
    "-9223372036854775808",
    "9223372036854775807",
    "18446744073709551615",
    "4294967296",
    "2147483648",
];

/// Of places and lengths.
fn place_in_text(random: &mut Random) -> String {
    let (a, b, c) = (one(random, TEXTS), one(random, TEXTS), one(random, TEXTS));
    let (n, m) = (one(random, LENGTHS), one(random, LENGTHS));
    let few = one(random, &["0", "1", "2", "5", "-1", "NULL", "1.5", "'3'", "-9223372036854775808"]);
    match random.below(15) {
        0 => format!("SUBSTRING({a}, {n})"),
        1 => format!("SUBSTRING({a}, {n}, {m})"),
        2 => format!("LEFT({a}, {n})"),
        3 => format!("RIGHT({a}, {n})"),
        4 => format!("LPAD({a}, {few}, 'xy')"),
        5 => format!("RPAD({a}, {few}, 'é')"),
        6 => format!("REPEAT({a}, {few})"),
        7 => format!("INSERT({a}, {n}, {m}, {b})"),
        8 => format!("LOCATE({a}, {b}, {n})"),
        9 => format!("INSTR({a}, {b})"),
        10 => format!("SUBSTRING_INDEX({a}, {b}, {})", one(random, &["0", "1", "-1", "2", "-2", "NULL"])),
        11 => format!("REPLACE({a}, {b}, 'z')"),
        12 => format!("CONCAT_WS({a}, {b}, {c})"),
        13 => format!("ELT({n}, {a}, {b})"),
        _ => format!("FIELD({a}, {b}, {c})"),
    }
}

/// Of whole texts.
fn whole_text(random: &mut Random) -> String {
    let (a, b, c) = (one(random, TEXTS), one(random, TEXTS), one(random, TEXTS));
    let n = one(random, LENGTHS);
    let few = one(random, &["0", "1", "2", "5", "-1", "NULL", "1.5", "'3'", "-9223372036854775808"]);
    match random.below(15) {
        0 => format!("FIND_IN_SET({a}, {b})"),
        1 => format!("MAKE_SET({n}, {a}, {b}, {c})"),
        2 => format!("EXPORT_SET({n}, {a}, {b}, ',', {})", one(random, &["0", "3", "64", "65", "-1", "NULL"])),
        3 => format!("TRIM({} {a} FROM {b})", one(random, &["LEADING", "TRAILING", "BOTH"])),
        4 => format!(
            "HEX({}({a}))",
            one(
                random,
                &[
                    "REVERSE",
                    "UPPER",
                    "LOWER",
                    "LTRIM",
                    "RTRIM",
                    "TRIM",
                    "UNHEX",
                    "QUOTE",
                    "TO_BASE64",
                    "FROM_BASE64",
                    "SOUNDEX"
                ]
            )
        ),
        5 => format!(
            "{}({a})",
            one(
                random,
                &["LENGTH", "CHAR_LENGTH", "BIT_LENGTH", "ASCII", "ORD", "HEX", "CRC32", "MD5", "SHA1", "BIN", "OCT"]
            )
        ),
        6 => format!(
            "CONV({a}, {}, {})",
            one(random, &["10", "16", "2", "36", "37", "-10", "0", "NULL"]),
            one(random, &["2", "10", "16", "-16", "-10", "36", "1"])
        ),
        7 => format!("HEX(CHAR({n}, {few}))"),
        8 => format!("SPACE({few})"),
        9 => format!("STRCMP({a}, {b})"),
        10 => format!("{a} {} {b}", one(random, &["LIKE", "=", "<", "<=>", "NOT LIKE"])),
        11 => format!(
            "FORMAT({}, {few})",
            one(random, &["0", "1.5", "-2.25", "1234567.891", "NULL", "18446744073709551615"])
        ),
        12 => format!(
            "HEX(CONVERT({a} USING {}))",
            one(random, &["latin1", "utf8mb4", "utf16", "ascii", "binary", "utf8mb3", "cp1251"])
        ),
        13 => format!("CHARSET(CONCAT({a}, {b}))"),
        _ => format!(
            "HEX(CAST({a} AS {}))",
            one(random, &["CHAR(2)", "CHAR", "BINARY", "CHAR(0)", "CHAR(2) CHARACTER SET latin1"])
        ),
    }
}

/// Functions of texts with lengths and positions that are negative, fractional or huge, in several character sets.
pub(super) fn texts(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, s VARCHAR(20), l VARCHAR(20), n VARCHAR(20))".to_owned(),
        "INSERT INTO x VALUES (1, 'aéb', 'aéb', 'aéb'), (2, '', '', ''), (3, NULL, NULL, NULL), (4, 'the quick', 'the quick', 'the quick'), (5, '日😀', '??', '日😀')".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let text = if random.percent(50) { place_in_text(random) } else { whole_text(random) };
        steps.push(Step::new(format!("SELECT {text} p FROM x WHERE id = {}", 1 + random.below(5))));
    }
    Story { theme: "ends of texts", setup, steps, shown: Vec::new() }
}
