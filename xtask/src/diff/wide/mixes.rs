//! What stands together and is not alike: texts of several character sets, dates beside numbers, the rounds of
//! a recursive common table expression and the part that they begin with; and windows, used or not.

use super::{Random, STEPS, Step, Story, one, word};

/// Columns of several character sets, and words which some of them have no place for.
pub(super) fn texts(random: &mut Random) -> Story {
    let create = "CREATE TABLE x (id INT PRIMARY KEY, l VARCHAR(12) CHARACTER SET latin1, n VARCHAR(12) CHARACTER SET ascii, c VARCHAR(12) CHARACTER SET cp1251, m VARCHAR(12) CHARACTER SET utf8mb3, u VARCHAR(12), e ENUM('a', 'b') CHARACTER SET latin1)";
    let mut setup = vec![create.to_owned()];
    for id in 1..=6 {
        let (l, c) = (one(random, &["a", "é", "x", ""]), one(random, &["a", "д", "x", ""]));
        let (m, u) = (one(random, &["a", "é", "д", "中"]), one(random, &["a", "é", "中", "😀"]));
        let n = one(random, &["a", "x", "b"]);
        setup.push(format!(
            "INSERT INTO x VALUES ({id}, '{l}', '{n}', '{c}', '{m}', '{u}', '{}')",
            one(random, &["a", "b"])
        ));
    }
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let (c, d) = (one(random, &["l", "n", "c", "m", "u", "e"]), one(random, &["l", "n", "c", "m", "u"]));
        let w = one(random, &["a", "é", "д", "中", "😀", "x"]);
        let v = one(random, &["a", "б", "ü", "文"]);
        let other = if random.percent(30) { d.to_owned() } else { format!("'{w}'") };
        let op = one(random, &["=", "<", ">", "<>", "<=>", "LIKE"]);
        let text = match random.below(16) {
            0 => format!("SELECT id, CONCAT({c}, {other}) FROM x"),
            1 => format!("SELECT id, REPLACE({c}, 'a', '{w}'), INSERT({d}, 1, 0, '{v}') FROM x"),
            2 => format!("SELECT id, IF(id > 3, {c}, {other}) FROM x"),
            3 => format!("SELECT id, COALESCE({c}, {other}), IFNULL({d}, '{v}') FROM x"),
            4 => format!("SELECT id, CASE WHEN id > 3 THEN {c} WHEN id > 2 THEN '{v}' ELSE {other} END FROM x"),
            5 => format!("SELECT {c} FROM x UNION SELECT {other} FROM x"),
            6 => format!("SELECT id FROM x WHERE {c} {op} {other}"),
            7 => format!("SELECT id FROM x WHERE {c} IN ('{v}', {other})"),
            8 => format!("SELECT id FROM x WHERE {c} BETWEEN '{v}' AND '{w}'"),
            9 => format!("SELECT id, LOCATE({other}, {c}) > 0, STRCMP({c}, {other}) FROM x"),
            10 => format!("SELECT id, RPAD({c}, 5, '{w}'), LPAD({d}, 5, '{v}') FROM x"),
            11 => format!("SELECT id, ELT(1 + id % 2, {c}, {other}), CONCAT_WS('{v}', {d}, {c}) FROM x"),
            12 => format!("SELECT id FROM x WHERE {c} IN (SELECT '{w}')"),
            13 => format!("SELECT id FROM x WHERE {c} = (SELECT '{w}')"),
            14 => format!("UPDATE x SET {d} = CONCAT({d}, '{w}') WHERE id = {}", 1 + random.below(6)),
            _ => format!("INSERT INTO x (id, {d}) VALUES (1, '{v}') ON DUPLICATE KEY UPDATE {d} = CONCAT('{w}', {d})"),
        };
        steps.push(Step::new(text));
    }
    let shown = vec!["SELECT * FROM x ORDER BY id".to_owned()];
    Story { theme: "mixed texts", setup, steps, shown }
}

/// Dates and times beside numbers, most of which are none; texts that functions make of dates beside numbers.
pub(super) fn dates(random: &mut Random) -> Story {
    let keys = one(random, &["", ", KEY (d), KEY (s)", ", KEY (d, t)", ", KEY (t), KEY (s, d)"]);
    let create =
        format!("CREATE TABLE x (id INT PRIMARY KEY, d DATE, s DATETIME, t TIME, v VARCHAR(20), i BIGINT{keys})");
    let mut setup = vec![create];
    for id in 1..=10 {
        let day = format!("2020-{:02}-{:02}", 1 + random.below(12), 1 + random.below(28));
        let time = format!("{:02}:{:02}:{:02}", random.below(24), random.below(60), random.below(60));
        let null = |random: &mut Random, text: String| {
            if random.percent(15) { "NULL".to_owned() } else { format!("'{text}'") }
        };
        let (d, s) = (null(random, day.clone()), null(random, format!("{day} {time}")));
        let (t, v) = (null(random, time), null(random, day));
        setup.push(format!(
            "INSERT INTO x VALUES ({id}, {d}, {s}, {t}, {v}, {})",
            one(random, &["1", "20200101", "99", "NULL"])
        ));
    }
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let c = one(random, &["d", "s", "t"]);
        let numbers = [
            "1",
            "0",
            "2",
            "99",
            "61",
            "1.5",
            "1e0",
            "20200615",
            "20200615120000",
            "20209999",
            "120000",
            "-1",
            "30000000",
            "99999999999999",
        ];
        let (n, m) = (one(random, &numbers), one(random, &numbers));
        let op = one(random, &["=", "<", ">", "<=", ">=", "<>", "<=>"]);
        let unit = one(random, &["DAY", "MONTH", "HOUR", "SECOND"]);
        let text = match random.below(12) {
            0..3 => format!("SELECT id FROM x WHERE {c} {op} {n} ORDER BY id"),
            3 => format!("SELECT id, {c} {op} {n}, {n} {op} {c} FROM x ORDER BY id"),
            4 => format!("SELECT id FROM x WHERE {c} IN ({n}, {m}) ORDER BY id"),
            5 => format!("SELECT id FROM x WHERE {c} NOT IN ({n}, {m}) ORDER BY id"),
            6 => format!("SELECT MAX({c}) z FROM x HAVING MAX({c}) {op} {n}"),
            7 => format!(
                "SELECT id, DATE_ADD(v, INTERVAL 1 {unit}) + 0, DATE_SUB(v, INTERVAL 1 {unit}) {op} {n} FROM x ORDER BY id"
            ),
            8 => format!(
                "SELECT DATE_ADD(v, INTERVAL 1 {unit}) * 1, SUM(v + INTERVAL 1 {unit}) FROM x GROUP BY DATE_ADD(v, INTERVAL 1 {unit})"
            ),
            9 => format!("SELECT id, CASE {c} WHEN {n} THEN 'n' WHEN {m} THEN 'm' ELSE 'o' END FROM x ORDER BY id"),
            10 => format!("SELECT a.id, b.id FROM x a JOIN x b ON a.{c} {op} b.i ORDER BY 1, 2"),
            _ => format!("SELECT id, {c} BETWEEN {n} AND {m} FROM x ORDER BY id"),
        };
        steps.push(Step { ordered: text.contains(" ORDER BY "), ..Step::new(text) });
    }
    Story { theme: "dates and numbers", setup, steps, shown: Vec::new() }
}

/// Recursive common table expressions whose rounds make values of other types than the first part.
pub(super) fn recursive(random: &mut Random) -> Story {
    let setup = vec!["CREATE TABLE x (i INT, b BIGINT, y TINYINT UNSIGNED, c DECIMAL(5,2), f DOUBLE, w VARCHAR(4), h CHAR(3), l VARCHAR(4) CHARACTER SET latin1, d DATE, s DATETIME, t TIME)".to_owned(),
        "INSERT INTO x VALUES (1, 2, 3, 4.5, 5.25, 'ab', 'c', 'é', '2020-01-31', '2020-01-31 10:00:00', '10:00:00')".to_owned()];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let strict = one(random, &["STRICT_TRANS_TABLES", ""]);
        if random.percent(10) {
            steps.push(Step::new(format!("SET SESSION sql_mode = '{strict}'")));
        }
        let c = one(random, &["i", "b", "y", "c", "f", "w", "h", "l", "d", "s", "t"]);
        let makes = [
            "v",
            "v + 1",
            "v * 100",
            "v * 1.5",
            "v / 3",
            "CONCAT(v, 'b')",
            "CONCAT(v, v)",
            "'x'",
            "'12'",
            "12",
            "1.255",
            "-1",
            "NULL",
            "'2020-02-30'",
            "'2021-01-01'",
            "20210101",
            "'中'",
            "v + INTERVAL 1 DAY",
        ];
        let (make, second) = (one(random, &makes), one(random, &makes));
        let all = one(random, &["ALL", "DISTINCT"]);
        let further = if random.percent(20) {
            format!(" UNION {all} SELECT n + 2, {second} FROM r WHERE n < 3")
        } else {
            String::new()
        };
        steps.push(Step::new(format!(
            "WITH RECURSIVE r (n, v) AS (SELECT CAST(1 AS SIGNED), {c} FROM x UNION {all} SELECT n + 1, {make} FROM r WHERE n < 3{further}) SELECT n, v FROM r"
        )));
    }
    Story { theme: "recursive types", setup, steps, shown: Vec::new() }
}

/// Named windows, right and wrong, used and not.
pub(super) fn windows(random: &mut Random) -> Story {
    let mut setup = vec!["CREATE TABLE x (a INT, b INT, s VARCHAR(5))".to_owned()];
    for _ in 0..8 {
        setup.push(format!("INSERT INTO x VALUES ({}, {}, {})", random.below(4), random.below(9), word(random)));
    }
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let frames = [
            "",
            "",
            "ROWS BETWEEN 1 PRECEDING AND CURRENT ROW",
            "ROWS BETWEEN CURRENT ROW AND 1 PRECEDING",
            "ROWS BETWEEN 1 FOLLOWING AND 1 PRECEDING",
            "ROWS BETWEEN 1 FOLLOWING AND CURRENT ROW",
            "ROWS 2 PRECEDING",
            "RANGE BETWEEN 1 PRECEDING AND 1 FOLLOWING",
            "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW",
            "ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING",
            "ROWS BETWEEN 2 PRECEDING AND 1 PRECEDING",
        ];
        let orders = ["", "ORDER BY a", "ORDER BY a, b", "ORDER BY s", "ORDER BY zz", "ORDER BY b DESC"];
        let parts = ["", "", "PARTITION BY a", "PARTITION BY zz", "PARTITION BY s"];
        let specs: Vec<String> = (0..3)
            .map(|n| {
                let base = if random.percent(20) { one(random, &["w0", "w1", "v"]) } else { "" };
                format!("w{n} AS ({base} {} {} {})", one(random, &parts), one(random, &orders), one(random, &frames))
            })
            .collect();
        // Which of rows that are alike in order comes first is open: counts do not tell.
        let used = if random.percent(50) { format!("COUNT(*) OVER w{}", random.below(3)) } else { "a, b".into() };
        steps.push(Step::new(format!("SELECT {used} FROM x WINDOW {}", specs[..1 + random.below(3)].join(", "))));
    }
    Story { theme: "named windows", setup, steps, shown: Vec::new() }
}
