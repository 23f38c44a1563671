//! What a client is told of a column is the same whatever way the query goes (text, prepared, executed again, in a
//! procedure, a view, a derived table, without rows), and no value is longer than the column says: not in the result,
//! nor in a table made of it, whose columns have the types and take the values.
//!
//! `GANNET_COLUMNS_SEED` begins with another seed, `GANNET_COLUMNS_ROUNDS` makes more rounds.

use crate::common::random::{Random, setting};
use crate::common::{Running, run};
use gannet_wire::client::{ColumnInfo, Connection, Error, ResultSet};

/// Types, and values of each.
const KINDS: &[(&str, &[&str])] = &[
    ("INT", &["0", "1", "-2147483648", "7"]),
    ("INT UNSIGNED", &["0", "4294967295", "3"]),
    ("TINYINT", &["0", "-128", "127", "2"]),
    ("SMALLINT ZEROFILL", &["5", "65535"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807", "0"]),
    ("BIGINT UNSIGNED", &["18446744073709551615", "1"]),
    ("YEAR", &["2001", "2155", "1999"]),
    ("BIT(10)", &["0", "1023", "65"]),
    ("DECIMAL(6,2)", &["-9999.99", "1.5", "0"]),
    ("DECIMAL(30,10) UNSIGNED", &["99999999999999999999.9999999999", "0.5"]),
    ("DOUBLE", &["-1.5e10", "2.5e-3", "0.1", "3"]),
    ("FLOAT", &["-3.5e9", "1.5e-3", "0.5"]),
    ("DOUBLE(8,3)", &["-999.999", "1.5"]),
    ("VARCHAR(10)", &["''", "'a'", "'12.5'", "'ééééßßßß'", "'2020-01-02'"]),
    ("CHAR(5) COLLATE latin1_swedish_ci", &["''", "'é'", "'abcde'"]),
    ("VARCHAR(4) COLLATE utf8mb3_general_ci", &["'x'", "'éééé'", "'1'"]),
    ("TEXT", &["'long enough to be one'", "'7'", "''"]),
    ("TINYTEXT COLLATE latin1_bin", &["'ab'", "'-3'"]),
    ("VARBINARY(6)", &["'abcdef'", "X'FF00'"]),
    ("BLOB", &["X'C3'", "'bytes'"]),
    ("ENUM('b','a','éé')", &["'a'", "'éé'"]),
    ("SET('p','q','rr')", &["'p,q,rr'", "''"]),
    ("DATE", &["'2020-01-31'", "'9999-12-31'"]),
    ("DATETIME", &["'2020-01-31 10:11:12'"]),
    ("DATETIME(3)", &["'2020-01-31 10:11:12.125'"]),
    ("TIMESTAMP(1)", &["'2020-01-31 10:11:12.5'"]),
    ("TIME", &["'-838:59:59'", "'01:02:03'"]),
    ("TIME(6)", &["'100:02:03.000001'"]),
    ("JSON", &["'[1, \"a\", {\"k\": 2.5}]'", "'7'", "'\"text\"'"]),
];

/// Expressions: `#` is an argument, `N` a small number, `U` a unit.
const SHAPES: &[&str] = &[
    "# + #",
    "# - #",
    "# * #",
    "# / #",
    "# DIV #",
    "# % #",
    "-#",
    "# & #",
    "# | N",
    "# << N",
    "~#",
    "# = #",
    "# <=> #",
    "# < N",
    "# IS NULL",
    "NOT #",
    "# AND #",
    "# BETWEEN # AND #",
    "# IN (#, N)",
    "# LIKE 'a%'",
    "# REGEXP 'a'",
    "IF(#, #, #)",
    "IFNULL(#, #)",
    "NULLIF(#, #)",
    "COALESCE(#, #, #)",
    "CASE WHEN # THEN # ELSE # END",
    "CASE # WHEN N THEN # END",
    "GREATEST(#, #)",
    "LEAST(#, #)",
    "ELT(N, #, #)",
    "FIELD(#, #, #)",
    "INTERVAL(#, N, N)",
    "ABS(#)",
    "CEIL(#)",
    "FLOOR(#)",
    "ROUND(#)",
    "ROUND(#, N)",
    "ROUND(#, -N)",
    "ROUND(#, #)",
    "TRUNCATE(#, N)",
    "TRUNCATE(#, -N)",
    "MOD(#, #)",
    "POW(#, N)",
    "SQRT(#)",
    "LN(#)",
    "EXP(N)",
    "SIGN(#)",
    "PI()",
    "DEGREES(#)",
    "CRC32(#)",
    "CONV(#, 10, 16)",
    "HEX(#)",
    "OCT(#)",
    "BIN(#)",
    "UNHEX(#)",
    "FORMAT(#, N)",
    "BIT_COUNT(#)",
    "INET_NTOA(#)",
    "CONCAT(#, #)",
    "CONCAT_WS(#, #, #)",
    "LENGTH(#)",
    "CHAR_LENGTH(#)",
    "UPPER(#)",
    "LOWER(#)",
    "LEFT(#, N)",
    "RIGHT(#, N)",
    "SUBSTRING(#, N)",
    "SUBSTRING(#, N, N)",
    "SUBSTRING_INDEX(#, '1', N)",
    "LPAD(#, N, #)",
    "RPAD(#, N, 'é')",
    "REPEAT(#, N)",
    "SPACE(N)",
    "REPLACE(#, #, #)",
    "REVERSE(#)",
    "TRIM(#)",
    "LTRIM(#)",
    "INSERT(#, N, N, #)",
    "QUOTE(#)",
    "INSTR(#, #)",
    "LOCATE(#, #)",
    "ASCII(#)",
    "ORD(#)",
    "CHAR(#, N)",
    "CHAR(# USING utf8mb4)",
    "SOUNDEX(#)",
    "TO_BASE64(#)",
    "FROM_BASE64(#)",
    "MD5(#)",
    "SHA2(#, 256)",
    "COMPRESS(#)",
    "EXPORT_SET(#, 'Y', 'N', ',', N)",
    "MAKE_SET(#, #, #)",
    "FIND_IN_SET(#, #)",
    "REGEXP_REPLACE(#, 'a', 'é')",
    "REGEXP_SUBSTR(#, 'a')",
    "WEIGHT_STRING(#)",
    "STRCMP(#, #)",
    "UUID_TO_BIN(#)",
    "BIN_TO_UUID(X'00112233445566778899AABBCCDDEEFF')",
    "CAST(# AS SIGNED)",
    "CAST(# AS UNSIGNED)",
    "CAST(# AS CHAR)",
    "CAST(# AS CHAR(N))",
    "CAST(# AS BINARY(N))",
    "CAST(# AS BINARY)",
    "CAST(# AS DECIMAL(10,N))",
    "CAST(# AS DECIMAL)",
    "CAST(# AS DATE)",
    "CAST(# AS DATETIME(N))",
    "CAST(# AS TIME)",
    "CAST(# AS TIME(N))",
    "CAST(# AS DOUBLE)",
    "CAST(# AS JSON)",
    "CAST(# AS YEAR)",
    "CONVERT(# USING latin1)",
    "CONVERT(# USING utf8mb4)",
    "# COLLATE utf8mb4_bin",
    "BINARY #",
    "DATE(#)",
    "TIME(#)",
    "TIMESTAMP(#)",
    "TIMESTAMP(#, #)",
    "YEAR(#)",
    "QUARTER(#)",
    "WEEK(#, N)",
    "YEARWEEK(#)",
    "DAYNAME(#)",
    "MONTHNAME(#)",
    "DAYOFYEAR(#)",
    "HOUR(#)",
    "MICROSECOND(#)",
    "TO_DAYS(#)",
    "TO_SECONDS(#)",
    "FROM_DAYS(#)",
    "SEC_TO_TIME(#)",
    "TIME_TO_SEC(#)",
    "UNIX_TIMESTAMP(#)",
    "FROM_UNIXTIME(#)",
    "LAST_DAY(#)",
    "FROM_UNIXTIME(#, '%Y %M')",
    "DATE_FORMAT(#, '%W %M %e %Y')",
    "TIME_FORMAT(#, '%H %i %f')",
    "DATEDIFF(#, #)",
    "STR_TO_DATE(#, '%Y-%m-%d')",
    "STR_TO_DATE(#, '%H:%i:%s.%f')",
    "MAKEDATE(#, N)",
    "MAKETIME(#, N, #)",
    "TIMEDIFF(#, #)",
    "ADDTIME(#, #)",
    "SUBTIME(#, '1:1:1.5')",
    "PERIOD_ADD(#, N)",
    "PERIOD_DIFF(#, #)",
    "EXTRACT(U FROM #)",
    "# + INTERVAL N U",
    "DATE_SUB(#, INTERVAL # U)",
    "TIMESTAMPDIFF(U, #, #)",
    "TIMESTAMPADD(U, N, #)",
    "CONVERT_TZ(#, '+00:00', '+05:30')",
    "GET_FORMAT(DATE, 'ISO')",
    "JSON_EXTRACT(#, '$[N]')",
    "JSON_UNQUOTE(#)",
    "JSON_QUOTE(#)",
    "JSON_ARRAY(#, #)",
    "JSON_OBJECT('k', #)",
    "JSON_TYPE(#)",
    "JSON_LENGTH(#)",
    "JSON_DEPTH(#)",
    "JSON_VALID(#)",
    "JSON_KEYS(#)",
    "JSON_SET(#, '$.a', #)",
    "JSON_VALUE(#, '$[0]')",
    "JSON_VALUE(#, '$[0]' RETURNING DECIMAL(10,N))",
    "JSON_CONTAINS(#, '1')",
    "JSON_PRETTY(#)",
    "JSON_MERGE_PATCH(#, #)",
    "(SELECT #)",
    "(SELECT MAX(#) FROM t)",
    "(SELECT GROUP_CONCAT(#) FROM t)",
    "EXISTS (SELECT #)",
    "@v",
    "ANY_VALUE(#)",
    "COALESCE(NULL, #)",
    "IF(#, NULL, #)",
    "CASE WHEN # THEN NULL ELSE # END",
    "INET6_ATON(#)",
    "INET6_NTOA(#)",
    "BIN(# + 0)",
    "# ^ #",
    "# XOR #",
    "ROW(#, #) = ROW(#, #)",
    "DATE_ADD(#, INTERVAL '1:1' MINUTE_SECOND)",
];

use gannet_types::sqltype::flags::{BINARY, UNSIGNED, ZEROFILL};

const UNITS: [&str; 6] = ["DAY", "MONTH", "SECOND", "MICROSECOND", "HOUR", "DAY_MICROSECOND"];
const LITERALS: [&str; 18] = [
    "1",
    "-1.5",
    "0.1e2",
    "'a'",
    "'é'",
    "''",
    "NULL",
    "X'41'",
    "b'101'",
    "_latin1'x'",
    "DATE'2020-02-29'",
    "TIME'10:11:12.5'",
    "TIMESTAMP'2020-01-01 00:00:00.25'",
    "TRUE",
    "18446744073709551615",
    "12345678901234567890.5",
    "'12'",
    "NOW(2)",
];

/// Around the rows: `#` is an argument, over which these compute.
const GROUPED: [&str; 17] = [
    "SUM(#)",
    "AVG(#)",
    "MAX(#)",
    "MIN(#)",
    "COUNT(#)",
    "BIT_AND(#)",
    "BIT_OR(#)",
    "STD(#)",
    "VARIANCE(#)",
    "GROUP_CONCAT(#)",
    "GROUP_CONCAT(DISTINCT # ORDER BY # SEPARATOR 'é')",
    "JSON_ARRAYAGG(#)",
    "JSON_OBJECTAGG(IFNULL(#, 'k'), #)",
    "SUM(DISTINCT #)",
    "AVG(DISTINCT #)",
    "BIT_XOR(#)",
    "ANY_VALUE(#)",
];
const WINDOWS: [&str; 11] = [
    "SUM(#) OVER w",
    "AVG(#) OVER w",
    "MAX(#) OVER w",
    "LAG(#) OVER w",
    "LEAD(#, N, #) OVER w",
    "FIRST_VALUE(#) OVER w",
    "NTH_VALUE(#, 2) OVER w",
    "NTILE(3) OVER w",
    "PERCENT_RANK() OVER w",
    "RANK() OVER w",
    "BIT_OR(#) OVER w",
];

fn expression(r: &mut Random, columns: usize, depth: usize, shapes: &[&str]) -> String {
    let mut text = String::new();
    for c in r.of(shapes).chars() {
        match c {
            '#' if depth > 0 && r.percent(30) => text += &format!("({})", expression(r, columns, depth - 1, SHAPES)),
            '#' if r.percent(25) => text += r.of(&LITERALS),
            '#' => text += &format!("c{}", r.below(columns)),
            'N' if text.ends_with(|c: char| c.is_ascii_alphabetic()) => text.push(c),
            'N' => text += &r.below(6).to_string(),
            'U' if text.ends_with([' ', '(']) && !text.ends_with("AS ") => text += r.of(&UNITS),
            c => text.push(c),
        }
    }
    text
}

type Told = (u8, u32, u16, u8, u16);

/// What is told of a column, but its names and what depends on keys. As in MySQL, an expression is told of as binary
/// where a column of numbers or times is not, and texts may have 31 digits. Long texts, documents and numbers that are
/// computed have lengths of their own, and only the YEAR of a column has leading zeros.
fn told(c: &ColumnInfo) -> Told {
    match c.ty {
        245 => return (245, 0, 0, 0, 0),
        249..=252 => return (252, 0, c.collation, 0, c.flags & BINARY),
        _ => {}
    }
    let length = match (c.ty, c.length) {
        (4 | 5, _) if c.decimals == 31 => 0,
        (8, 21) => 20,
        (_, length) => length,
    };
    let text = c.collation != 63 || c.ty >= 247;
    let decimals = if text { 0 } else { c.decimals };
    let flags = if text { BINARY } else { 0 } | UNSIGNED | if c.ty == 13 { 0 } else { ZEROFILL };
    (c.ty, length, c.collation, decimals, c.flags & flags)
}

fn ask(c: &mut Connection, sql: &str) -> Option<ResultSet> {
    match c.query(sql) {
        Ok(result) => Some(result),
        Err(Error::Server { code, message, .. }) if code != 1815 => {
            assert!(code != 1105, "{sql}: {message}");
            None
        }
        Err(error) => panic!("{sql}: {error}"),
    }
}

/// Longer values than the column says: not of floating numbers, HOUR, EXTRACT and DIV, whose widths are as in MySQL.
fn too_long(sql: &str, result: &ResultSet) -> Option<String> {
    let column = &result.columns[0];
    if matches!(column.ty, 4 | 5) || [" DIV ", "HOUR(", "EXTRACT("].iter().any(|s| sql.contains(s)) {
        return None;
    }
    let longest = result.rows.iter().filter_map(|row| row[0].bytes()).max_by_key(|text| text.len())?;
    let text = String::from_utf8_lossy(longest);
    (longest.len() > column.length as usize).then(|| format!("{text:?} is longer than {}", column.length))
}

/// The type of a column that is made of another: integers by their width, texts and bytes by their length.
fn made(of: Told) -> Told {
    match of.0 {
        // NULL becomes BINARY(0).
        6 => (252, 0, 63, 0, BINARY),
        1..=3 | 8 | 9 => (8, 0, 63, 0, of.4 & UNSIGNED),
        249..=254 => (252, 0, of.2, 0, of.4),
        _ => of,
    }
}

/// A query of one column, `select` with or without its FROM, in all ways.
fn check(c: &mut Connection, select: &str, grouped: bool, faults: &mut Vec<String>) -> bool {
    let sql = format!("{select} AS x FROM t");
    let Some(plain) = ask(c, &sql) else { return false };
    let column = told(&plain.columns[0]);
    let mut fault = |what: &str, found: String| faults.push(format!("{sql}; {what}: {column:?} {found}"));
    if let Some(long) = too_long(&sql, &plain) {
        fault("text", long);
    }
    let mut compare = |what: &str, found: Option<Told>| {
        if let Some(found) = found
            && found != column
        {
            fault(what, format!("{found:?}"));
        }
    };
    let statement = c.prepare(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    compare("prepared", Some(told(&statement.columns[0])));
    for what in ["executed", "executed again"] {
        compare(what, c.execute(&statement, &[]).ok().map(|r| told(&r.columns[0])));
    }
    let _ = c.close(&statement);
    let mut ways = vec![
        ("again", None, sql.clone()),
        ("derived", None, format!("SELECT x FROM ({sql}) d")),
        ("not merged", None, format!("SELECT /*+ NO_MERGE(d) */ x FROM ({sql}) d")),
        ("common table expression", None, format!("WITH d AS ({sql}) SELECT x FROM d")),
        ("procedure", Some("PROCEDURE p()"), "CALL p()".into()),
        ("view", Some("VIEW v AS"), "SELECT x FROM v".into()),
    ];
    if !grouped {
        ways.push(("without rows", None, format!("{sql} WHERE FALSE")));
        ways.push(("sorted", None, format!("{sql} ORDER BY id DESC LIMIT 2")));
    }
    for (what, made, asked) in ways {
        if let Some(made) = made {
            run(
                c,
                &format!(
                    "DROP {} IF EXISTS {}",
                    made.split(' ').next().unwrap(),
                    if what == "view" { "v" } else { "p" }
                ),
            );
            if c.query(&format!("CREATE {made} {sql}")).is_err() {
                continue;
            }
        }
        compare(what, ask(c, &asked).map(|r| told(&r.columns[0])));
    }
    run(c, "DROP TABLE IF EXISTS made");
    match c.query(&format!("CREATE TABLE made AS {sql}")) {
        Ok(_) => {
            let found = ask(c, "SELECT x FROM made").unwrap();
            if made(told(&found.columns[0])) != made(column) {
                compare("table", Some(told(&found.columns[0])));
            }
        }
        // Not what warnings would be, but values that the made column has no room for.
        Err(Error::Server { .. }) if matches!(column.0, 4 | 5) => {}
        Err(Error::Server { code: 1048 | 1064 | 1067 | 1264 | 1366 | 1406, message, .. })
            if message.contains("'x'") =>
        {
            fault("table", message);
        }
        Err(_) => {}
    }
    true
}

#[test]
fn a_column_is_the_same_in_all_forms() {
    let server = Running::start();
    let mut c = server.connect();
    let first = setting("GANNET_COLUMNS_SEED", 1);
    let (mut faults, mut asked, mut told) = (Vec::new(), 0, 0);
    for seed in first..first + setting("GANNET_COLUMNS_ROUNDS", 4) {
        let mut r = Random::new(seed);
        for sql in
            ["DROP DATABASE IF EXISTS d", "CREATE DATABASE d", "USE d", "SET @v = 1.5", "SET time_zone = '+00:00'"]
        {
            run(&mut c, sql);
        }
        let kinds: Vec<_> = (0..8).map(|_| r.of(KINDS)).collect();
        let columns: Vec<String> = kinds
            .iter()
            .enumerate()
            .map(|(i, k)| format!("c{i} {}{}", k.0, if r.percent(30) { " NOT NULL" } else { "" }))
            .collect();
        run(&mut c, &format!("CREATE TABLE t (id INT PRIMARY KEY, {})", columns.join(", ")));
        for id in 0..4 {
            let values: Vec<&str> = kinds.iter().map(|k| r.of(k.1)).collect();
            run(&mut c, &format!("INSERT INTO t VALUES ({id}, {})", values.join(", ")));
        }
        let before = faults.len();
        for _ in 0..40 {
            asked += 1;
            let grouped = r.percent(12);
            let select = match r.below(8) {
                _ if grouped => expression(&mut r, 8, 1, &GROUPED),
                0 => expression(&mut r, 8, 1, &WINDOWS).replace("OVER w", "OVER (ORDER BY id)"),
                _ => expression(&mut r, 8, 2, SHAPES),
            };
            told += usize::from(check(&mut c, &format!("SELECT {select}"), grouped, &mut faults));
        }
        if faults.len() > before {
            faults.push(format!("seed {seed}: {}", columns.join(", ")));
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
    assert!(told * 2 > asked, "{told} of {asked} have rows");
}
