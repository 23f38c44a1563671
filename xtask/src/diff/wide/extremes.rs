//! Functions and operators at the ends of their domains: numbers beside the limits of their types, dates that are none,
//! lengths and positions that are negative, fractional or huge.

use super::{Random, STEPS, Step, Story, one};

const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "2",
    "NULL",
    "1.5",
    "-0.5",
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
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "0.000000000000000000000000000001",
    "99999999999999999999999999999999999.999999999999999999999999999999",
    "-99999999999999999999999999999999999",
    "1e0",
    "1e18",
    "1e308",
    "-1e308",
    "1e-308",
    "0.1",
    "b",
    "u",
    "d",
    "f",
    "t",
    "n",
];

fn number(random: &mut Random, depth: usize) -> String {
    if depth == 0 || random.percent(25) {
        return one(random, NUMBERS).into();
    }
    let (a, b) = (number(random, depth - 1), number(random, 0));
    match random.below(26) {
        0 => format!("({a} + {b})"),
        1 => format!("({a} - {b})"),
        2 => format!("({a} * {b})"),
        3 => format!("({a} / {b})"),
        4 => format!("({a} DIV {b})"),
        5 => format!("({a} % {b})"),
        6 => format!("(- {a})"),
        7 => format!("ABS({a})"),
        8 => format!("ROUND({a}, {})", one(random, &["0", "1", "-1", "30", "-20", "65", "NULL", "100"])),
        9 => format!("TRUNCATE({a}, {})", one(random, &["0", "1", "-1", "30", "-20", "NULL"])),
        10 => format!("CEIL({a})"),
        11 => format!("FLOOR({a})"),
        12 => format!("CAST({a} AS SIGNED)"),
        13 => format!("CAST({a} AS UNSIGNED)"),
        14 => format!("CAST({a} AS DECIMAL({}))", one(random, &["10, 2", "65, 30", "3, 3", "65, 0", "1"])),
        15 => format!("SIGN({a})"),
        16 => format!("({a} << {})", one(random, &["0", "1", "63", "64", "-1", "NULL"])),
        17 => format!("({a} >> {})", one(random, &["0", "1", "63", "64", "-1"])),
        18 => format!("(~ {a})"),
        19 => format!("({a} {} {b})", one(random, &["|", "&", "^"])),
        20 => format!("GREATEST({a}, {b})"),
        21 => format!("LEAST({a}, {b})"),
        22 => format!("({a} {} {b})", one(random, &["<", "=", ">=", "<=>", "<>"])),
        23 => format!("IFNULL({a}, {b})"),
        24 => format!("NULLIF({a}, {b})"),
        _ => format!("BIT_COUNT({a})"),
    }
}

/// Numbers at the limits of their types, in expressions, aggregates and changes.
pub(super) fn numbers(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, b BIGINT, u BIGINT UNSIGNED, d DECIMAL(65,30), f DOUBLE, t TINYINT, n DECIMAL(20,0) UNSIGNED)".to_owned(),
        "INSERT INTO x VALUES (1, 9223372036854775807, 18446744073709551615, 99999999999999999999999999999999999.999999999999999999999999999999, 1.7976931348623157e308, 127, 99999999999999999999)".to_owned(),
        "INSERT INTO x VALUES (2, -9223372036854775808, 0, -99999999999999999999999999999999999.999999999999999999999999999999, -1.7976931348623157e308, -128, 0)".to_owned(),
        "INSERT INTO x VALUES (3, 0, 9223372036854775808, 0.000000000000000000000000000001, 2.5e-308, 0, 18446744073709551616), (4, NULL, NULL, NULL, NULL, NULL, NULL), (5, 3, 3, 3.5, 3.5, 3, 3)".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let id = 1 + random.below(5);
        let (depth, other) = (1 + random.below(2), number(random, 1));
        let a = number(random, depth);
        let text = match random.below(10) {
            0..6 => format!("SELECT {a} p FROM x WHERE id = {id}"),
            6 => {
                let f = one(random, &["SUM", "AVG", "MAX", "MIN", "COUNT", "BIT_OR", "BIT_AND", "SUM"]);
                format!("SELECT {f}({a}) p FROM x WHERE id {} {id}", one(random, &["=", ">", "<"]))
            }
            7 => format!("SELECT id FROM x WHERE {a} {} {other}", one(random, &["<", "=", ">", "<>"])),
            8 => format!("UPDATE x SET {} = {a} WHERE id = {id}", one(random, &["b", "u", "d", "f", "t", "n"])),
            _ => format!("SELECT CONCAT({a}, ''), HEX({other}), FORMAT({a}, 2) FROM x WHERE id = {id}"),
        };
        steps.push(Step::new(text));
    }
    let shown = vec!["SELECT * FROM x ORDER BY id".to_owned()];
    Story { theme: "limits of numbers", setup, steps, shown }
}

const MOMENTS: &[&str] = &[
    "NULL",
    "''",
    "'0000-00-00'",
    "'2020-00-00'",
    "'2020-02-30'",
    "'2020-02-29'",
    "'9999-12-31'",
    "'9999-12-31 23:59:59.999999'",
    "'0001-01-01'",
    "'1000-01-01 00:00:00'",
    "'2020-12-31 23:59:59.5'",
    "'abc'",
    "20200229",
    "20200230",
    "0",
    "101",
    "991231",
    "700101",
    "691231",
    "20201231235959",
    "'2020-1-5'",
    "'20-1-5'",
    "'2020-06-15 25:00:00'",
    "'10:11:12'",
    "'-838:59:59'",
    "'838:59:59'",
    "'1 10:11:12'",
    "DATE'2020-01-31'",
    "TIME'-01:30:00'",
    "TIMESTAMP'2020-01-31 12:34:56.789'",
    "-1",
    "99999999999999",
    "d",
    "s",
    "t",
    "y",
];
const AMOUNTS: &[&str] = &[
    "0",
    "1",
    "-1",
    "NULL",
    "1.5",
    "-0.5",
    "31",
    "366",
    "10000",
    "-10000",
    "99999999",
    "'1'",
    "'x'",
    "9223372036854775807",
];

fn moment(random: &mut Random) -> &'static str {
    one(random, MOMENTS)
}

/// Functions of dates and times with what is none, or at the ends of their ranges.
pub(super) fn moments(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, d DATE, s DATETIME(3), t TIME(2), y YEAR)".to_owned(),
        "INSERT INTO x VALUES (1, '9999-12-31', '9999-12-31 23:59:59.999', '838:59:59', 2155), (2, '0001-01-01', '0001-01-01 00:00:00', '-838:59:59', 1901), (3, '2020-02-29', '2020-02-29 12:34:56.789', '-00:00:01.25', 2020), (4, NULL, NULL, NULL, NULL), (5, '1970-01-01', '1970-01-01 00:00:00', '00:00:00', 0)".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let (a, b, n) = (moment(random), moment(random), one(random, AMOUNTS));
        let unit = one(
            random,
            &[
                "DAY",
                "MONTH",
                "YEAR",
                "HOUR",
                "MINUTE",
                "SECOND",
                "WEEK",
                "QUARTER",
                "MICROSECOND",
                "DAY_HOUR",
                "YEAR_MONTH",
                "HOUR_SECOND",
            ],
        );
        let plain =
            one(random, &["DAY", "MONTH", "YEAR", "HOUR", "MINUTE", "SECOND", "WEEK", "QUARTER", "MICROSECOND"]);
        let text = match random.below(24) {
            0 => format!("DATE_ADD({a}, INTERVAL {n} {unit})"),
            1 => format!("DATE_SUB({a}, INTERVAL {n} {unit})"),
            2 => format!("DATEDIFF({a}, {b})"),
            3 => format!("TIMESTAMPDIFF({plain}, {a}, {b})"),
            4 => format!("TIMEDIFF({a}, {b})"),
            5 => format!("ADDTIME({a}, {b})"),
            6 => format!("SUBTIME({a}, {b})"),
            7 => format!("LAST_DAY({a})"),
            8 => format!("TO_DAYS({a})"),
            9 => format!("FROM_DAYS({n})"),
            10 => format!("TO_SECONDS({a})"),
            11 => format!("SEC_TO_TIME({n})"),
            12 => format!("TIME_TO_SEC({a})"),
            13 => format!("MAKEDATE({}, {n})", one(random, &["2020", "0", "70", "9999", "10000", "-1", "NULL"])),
            14 => format!(
                "MAKETIME({n}, {}, {})",
                one(random, &["0", "59", "60", "-1", "NULL"]),
                one(random, &["0", "59.5", "60", "-1"])
            ),
            15 => format!(
                "PERIOD_ADD({}, {})",
                one(random, &["202001", "0", "7001", "999912", "13"]),
                one(random, &["1", "-1", "0", "13", "NULL"])
            ),
            16 => format!(
                "PERIOD_DIFF({}, {})",
                one(random, &["202001", "7001", "999912"]),
                one(random, &["202012", "6912", "200001"])
            ),
            17 => {
                let f = one(
                    random,
                    &[
                        "YEAR",
                        "MONTH",
                        "DAYOFMONTH",
                        "DAYOFWEEK",
                        "DAYOFYEAR",
                        "WEEKDAY",
                        "QUARTER",
                        "HOUR",
                        "MINUTE",
                        "SECOND",
                        "MICROSECOND",
                        "DAYNAME",
                        "MONTHNAME",
                        "YEARWEEK",
                        "WEEKOFYEAR",
                        "DATE",
                        "TIME",
                        "TIMESTAMP",
                    ],
                );
                format!("{f}({a})")
            }
            18 => format!("WEEK({a}, {})", one(random, &["0", "1", "2", "3", "4", "5", "6", "7", "8", "-1", "NULL"])),
            19 => format!(
                "DATE_FORMAT({a}, '{}')",
                one(
                    random,
                    &[
                        "%Y-%m-%d",
                        "%y %c %e %j",
                        "%H:%i:%s.%f",
                        "%U %u %V %v %X %x",
                        "%W %M %b %a %D",
                        "%h %I %l %p %r %T",
                        "%%%w%z"
                    ]
                )
            ),
            20 => format!("TIME_FORMAT({a}, '{}')", one(random, &["%H:%i:%s", "%k %h %l %p", "%f", "%r %T"])),
            21 => format!(
                "STR_TO_DATE('{}', '{}')",
                one(random, &["2020-02-30", "31.12.2020", "12:34:56", "99", "abc", "2020 366", "10:11 PM", ""]),
                one(random, &["%Y-%m-%d", "%d.%m.%Y", "%H:%i:%s", "%y", "%Y %j", "%h:%i %p", "%e"])
            ),
            22 => format!("EXTRACT({unit} FROM {a})"),
            _ => format!(
                "CAST({a} AS {})",
                one(random, &["DATE", "DATETIME", "DATETIME(6)", "TIME", "TIME(1)", "SIGNED", "CHAR", "DECIMAL(20,3)"])
            ),
        };
        steps.push(Step::new(format!("SELECT {text} p FROM x WHERE id = {}", 1 + random.below(5))));
    }
    Story { theme: "ends of time", setup, steps, shown: Vec::new() }
}

const TEXTS: &[&str] = &[
    "NULL",
    "''",
    "'a'",
    "'abcdef'",
    "'äöü'",
    "'日本語'",
    "'😀x'",
    "_latin1 x'E4F6'",
    "_binary x'00FF'",
    "' a '",
    "'a,b,,c'",
    "'AbC'",
    "123",
    "-1.50",
    "1e10",
    "'%_'",
    "_utf16 x'00410042'",
    "s",
    "l",
    "n",
    "DATE'2020-01-02'",
    "x'4142'",
    "CONVERT('é' USING latin1)",
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

/// Functions of texts with lengths and positions that are negative, fractional or huge, in several character sets.
pub(super) fn texts(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, s VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1, n VARBINARY(20))".to_owned(),
        "INSERT INTO x VALUES (1, 'aéb', 'aéb', 'aéb'), (2, '', '', ''), (3, NULL, NULL, NULL), (4, 'the quick', 'the quick', 'the quick'), (5, '日😀', '??', '日😀')".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let (a, b, c) = (one(random, TEXTS), one(random, TEXTS), one(random, TEXTS));
        let (n, m) = (one(random, LENGTHS), one(random, LENGTHS));
        let few = one(random, &["0", "1", "2", "5", "-1", "NULL", "1.5", "'3'", "-9223372036854775808"]);
        let text = match random.below(30) {
            0 => format!("SUBSTRING({a}, {n})"),
            1 => format!("SUBSTRING({a}, {n}, {m})"),
            2 => format!("LEFT({a}, {n})"),
            3 => format!("RIGHT({a}, {n})"),
            4 => format!("LPAD({a}, {few}, {b})"),
            5 => format!("RPAD({a}, {few}, {b})"),
            6 => format!("REPEAT({a}, {few})"),
            7 => format!("INSERT({a}, {n}, {m}, {b})"),
            8 => format!("LOCATE({a}, {b}, {n})"),
            9 => format!("INSTR({a}, {b})"),
            10 => format!("SUBSTRING_INDEX({a}, {b}, {n})"),
            11 => format!("REPLACE({a}, {b}, {c})"),
            12 => format!("CONCAT_WS({a}, {b}, {c})"),
            13 => format!("ELT({n}, {a}, {b})"),
            14 => format!("FIELD({a}, {b}, {c})"),
            15 => format!("FIND_IN_SET({a}, {b})"),
            16 => format!("MAKE_SET({n}, {a}, {b}, {c})"),
            17 => format!("EXPORT_SET({n}, {a}, {b}, ',', {})", one(random, &["0", "3", "64", "65", "-1", "NULL"])),
            18 => format!("TRIM({} {a} FROM {b})", one(random, &["LEADING", "TRAILING", "BOTH"])),
            19 => format!(
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
            20 => format!(
                "{}({a})",
                one(
                    random,
                    &[
                        "LENGTH",
                        "CHAR_LENGTH",
                        "BIT_LENGTH",
                        "ASCII",
                        "ORD",
                        "HEX",
                        "CRC32",
                        "MD5",
                        "SHA1",
                        "BIN",
                        "OCT"
                    ]
                )
            ),
            21 => format!(
                "CONV({a}, {}, {})",
                one(random, &["10", "16", "2", "36", "37", "-10", "0", "NULL"]),
                one(random, &["2", "10", "16", "-16", "-10", "36", "1"])
            ),
            22 => format!("HEX(CHAR({n}, {few}))"),
            23 => format!("SPACE({few})"),
            24 => format!("STRCMP({a}, {b})"),
            25 => format!("{a} {} {b}", one(random, &["LIKE", "=", "<", "<=>", "NOT LIKE"])),
            26 => format!("FORMAT({}, {few})", one(random, NUMBERS.split_at(32).0)),
            27 => format!(
                "HEX(CONVERT({a} USING {}))",
                one(random, &["latin1", "utf8mb4", "utf16", "ascii", "binary", "utf8mb3", "cp1251"])
            ),
            28 => format!("CHARSET(CONCAT({a}, {b}))"),
            _ => format!(
                "HEX(CAST({a} AS {}))",
                one(random, &["CHAR(2)", "BINARY(3)", "CHAR", "BINARY", "CHAR(0)", "CHAR(2) CHARACTER SET latin1"])
            ),
        };
        steps.push(Step::new(format!("SELECT {text} p FROM x WHERE id = {}", 1 + random.below(5))));
    }
    Story { theme: "ends of texts", setup, steps, shown: Vec::new() }
}
