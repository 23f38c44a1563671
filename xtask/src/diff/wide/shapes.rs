//! Shapes of queries: frames over NULLs and ties, nested set operations with orders and limits of their own, groups
//! WITH ROLLUP, recursive walks of graphs, documents as tables.

use super::{Random, STEPS, Step, Story, one, small};

/// `x` and `y`: keys, groups with NULLs and ties, numbers, texts.
fn tables(random: &mut Random, rows: usize) -> Vec<String> {
    let mut all = Vec::new();
    for table in ["x", "y"] {
        let keys = one(random, &["", ", KEY (g)", ", KEY (g, o)", ", KEY (s), KEY (o)"]);
        all.push(format!(
            "CREATE TABLE {table} (id INT PRIMARY KEY, g INT, o INT, v DECIMAL(8,2), s VARCHAR(5), e DATE{keys})"
        ));
        for id in 1..=random.below(rows) {
            let v = one(random, &["1.5", "-2.25", "0", "NULL", "10", "99.99", "1.5"]);
            let s = one(random, &["'a'", "'b'", "'ab'", "''", "NULL", "'c'"]);
            let e = one(random, &["'2020-01-01'", "'2020-01-03'", "NULL", "'2021-12-31'"]);
            all.push(format!(
                "INSERT INTO {table} VALUES ({id}, {}, {}, {v}, {s}, {e})",
                small(random, 4),
                small(random, 6)
            ));
        }
    }
    all
}

fn bound(random: &mut Random, preceding: bool) -> String {
    let side = if preceding { "PRECEDING" } else { "FOLLOWING" };
    match random.below(5) {
        0 => format!("UNBOUNDED {side}"),
        1 => "CURRENT ROW".into(),
        n => format!("{} {side}", [0, 1, 3][n - 2]),
    }
}

fn frame(random: &mut Random) -> String {
    let unit = one(random, &["ROWS", "RANGE"]);
    match random.below(6) {
        0 => String::new(),
        1 => format!("{unit} {}", bound(random, true)),
        2 | 3 => {
            // MariaDB takes a frame whose end is before its beginning for one with rows.
            let (near, far) = (random.below(3), random.below(3));
            let (side, other) = if random.percent(50) { ("PRECEDING", far + near) } else { ("FOLLOWING", near) };
            let end = if side == "PRECEDING" { near } else { near + far };
            format!("{unit} BETWEEN {other} {side} AND {end} {side}")
        }
        _ => format!("{unit} BETWEEN {} AND {}", bound(random, true), bound(random, false)),
    }
}

/// A call over a window whose answer does not depend on the order of rows that are alike.
fn call(random: &mut Random, of: &[&str]) -> String {
    let v = one(random, of);
    let part = one(random, &["", "PARTITION BY g ", "PARTITION BY s ", "PARTITION BY g, s ", "PARTITION BY o % 2 "]);
    let desc = one(random, &["", " DESC"]);
    let frame = frame(random);
    let order = if frame.starts_with("RANGE") && frame.contains(|c: char| c.is_ascii_digit()) {
        // One number.
        format!("ORDER BY {}{desc}", one(random, &["o", "id", "g", "v"]))
    } else if frame.starts_with("RANGE") || random.percent(20) {
        format!("ORDER BY {}{desc}", one(random, &["o", "g, o", "s", "e", "v", "g"]))
    } else {
        format!("ORDER BY {}{desc}, id", one(random, &["o", "g", "s", "e", "v DESC, g"]))
    };
    let total = order.ends_with("id") || order.starts_with("ORDER BY id");
    let whole = ["RANK()", "DENSE_RANK()", "PERCENT_RANK()", "CUME_DIST()"];
    if random.percent(15) {
        return format!("{} OVER ({part}{order})", one(random, &whole));
    }
    if total && random.percent(15) {
        let f = match random.below(4) {
            0 => "ROW_NUMBER()".into(),
            1 => format!("NTILE({})", 1 + random.below(4)),
            2 => format!("LAG({v}, {})", random.below(3)),
            _ => format!("LEAD({v}, {})", random.below(3)),
        };
        return format!("{f} OVER ({part}{order})");
    }
    let f = match random.below(12) {
        0 if total => format!("FIRST_VALUE({v})"),
        1 if total => format!("LAST_VALUE({v})"),
        2 if total => format!("NTH_VALUE({v}, {})", 1 + random.below(3)),
        0 | 3 => format!("COUNT({v})"),
        1 => "COUNT(*)".into(),
        2 | 4 => format!("MIN({v})"),
        5 => format!("MAX({v})"),
        6 => "SUM(o)".into(),
        7 => "AVG(v)".into(),
        10 => "ROUND(STDDEV_SAMP(o), 6)".into(),
        _ => "SUM(v)".into(),
    };
    // Without a total order ROWS would take any of those that are alike.
    let frame = if !total && frame.starts_with("ROWS") { String::new() } else { frame };
    format!("{f} OVER ({part}{order} {frame})")
}

/// Windows with all frames over NULLs and ties.
pub(super) fn frames(random: &mut Random) -> Story {
    let setup = tables(random, 16);
    let mut steps = Vec::new();
    let of = ["o", "v", "s", "e", "g", "id"];
    for _ in 0..STEPS {
        let (a, b) = (call(random, &of), call(random, &of));
        let condition = one(random, &["", "", " WHERE g IS NOT NULL", " WHERE o > 1", " WHERE 1 = 0"]);
        let text = match random.below(10) {
            0..5 => format!("SELECT id, {a} p, {b} q FROM x{condition} ORDER BY id"),
            5 => format!("SELECT id FROM x{condition} ORDER BY {a}, id"),
            6 => format!("SELECT * FROM (SELECT id, {a} p FROM x{condition}) d WHERE p IS NOT NULL ORDER BY id"),
            7 => {
                let f = one(random, &["RANK()", "SUM(COUNT(*))", "COUNT(*)", "MAX(SUM(o))", "DENSE_RANK()"]);
                let order = one(random, &["SUM(o)", "COUNT(*) DESC", "MAX(v)", "g"]);
                format!("SELECT g, COUNT(*), {f} OVER (ORDER BY {order}) r FROM x{condition} GROUP BY g")
            }
            8 => format!("SELECT x.id, {a} p FROM x LEFT JOIN (SELECT id i FROM y) z ON z.i = x.id ORDER BY x.id"),
            _ => format!("SELECT id, (SELECT MAX(q) FROM (SELECT {b} q FROM x) d) p FROM y ORDER BY id"),
        };
        steps.push(Step { ordered: text.contains("id"), ..Step::new(text) });
    }
    Story { theme: "frames", setup, steps, shown: Vec::new() }
}

/// A query block with two columns.
fn block(random: &mut Random) -> String {
    let table = one(random, &["x", "y"]);
    let columns = one(random, &["g, s", "o, s", "id, s", "g, 'a'", "o, NULL", "NULL, s", "DISTINCT g, s", "1, 'b'"]);
    let condition = one(random, &["", "", " WHERE o > 2", " WHERE g = 1", " WHERE s IS NULL", " WHERE 1 = 0"]);
    if random.percent(10) {
        return format!("SELECT g, MAX(s) FROM {table}{condition} GROUP BY g");
    }
    format!("SELECT {columns} FROM {table}{condition}")
}

/// A query expression with two columns; in parentheses where it has a limit.
fn expression(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return block(random);
    }
    let operands = 2 + random.below(2);
    let mut text = String::new();
    for n in 0..operands {
        if n > 0 {
            let all = one(random, &["", "", " ALL", " DISTINCT"]);
            text += &format!(" {}{all} ", one(random, &["UNION", "UNION", "INTERSECT", "EXCEPT"]));
        }
        let deeper = if random.percent(40) { depth - 1 } else { 0 };
        let operand = expression(random, deeper);
        // All columns order, so the limit leaves nothing open.
        text += &match random.below(4) {
            0 => format!("({operand} ORDER BY 1, 2 LIMIT {})", random.below(5)),
            1 => format!("({operand} ORDER BY 1 DESC, 2 LIMIT {} OFFSET {})", random.below(5), random.below(3)),
            _ if deeper > 0 => format!("({operand})"),
            2 => format!("({operand})"),
            _ => operand,
        };
    }
    text
}

/// UNION, INTERSECT and EXCEPT in each other, with orders and limits of their own.
pub(super) fn set_operations(random: &mut Random) -> Story {
    let mut setup = tables(random, 9);
    setup.push("CREATE TABLE z (a DECIMAL(12,2), b VARCHAR(5))".into());
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let depth = 1 + random.below(3);
        let all = expression(random, depth);
        steps.push(match random.below(10) {
            0 => Step::new(format!("SELECT COUNT(*), SUM(p), MIN(q) FROM (SELECT g p, s q FROM x WHERE 1 = 0 UNION ALL SELECT * FROM ({all}) i) d")),
            1 => Step::ordered(format!("SELECT id FROM x WHERE (g, s) IN (SELECT * FROM ({all}) d) ORDER BY id")),
            3 => Step::new(format!("INSERT INTO z {all}")),
            4 => Step::new("DELETE FROM z"),
            5 => Step::ordered(format!("WITH c (p, q) AS ({all}) SELECT c.p, c.q FROM c ORDER BY 1, 2")),
            6 => Step::ordered(format!("WITH c (p, q) AS ({all}) SELECT a.p, b.q FROM c a JOIN c b ON a.p = b.p ORDER BY 1, 2")),
            7 => Step::ordered(format!("{all} ORDER BY 1, 2 LIMIT {}", random.below(8))),
            _ => Step::ordered(format!("{all} ORDER BY 2, 1")),
        });
    }
    let shown = vec!["SELECT a, b FROM z ORDER BY a, b".to_owned()];
    Story { theme: "set operations", setup, steps, shown }
}

fn aggregate(random: &mut Random) -> &'static str {
    let all = [
        "COUNT(*)",
        "COUNT(o)",
        "SUM(o)",
        "SUM(v)",
        "MIN(s)",
        "MAX(e)",
        "AVG(o)",
        "COUNT(DISTINCT s)",
        "COUNT(DISTINCT g, o)",
        "SUM(DISTINCT o)",
        "BIT_OR(o)",
        "MAX(v) - MIN(v)",
        "GROUP_CONCAT(id ORDER BY id)",
    ];
    one(random, &all)
}

/// Groups WITH ROLLUP. MariaDB has neither GROUPING nor ORDER BY beside it: the query around orders.
pub(super) fn rollups(random: &mut Random) -> Story {
    let setup = tables(random, 14);
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let n = 1 + random.below(3);
        let mut keys: Vec<&str> = Vec::new();
        while keys.len() < n {
            let key = one(random, &["g", "s", "o", "e", "v", "g % 2", "YEAR(e)", "CONCAT(s, 'x')"]);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let shown: Vec<String> = keys.iter().enumerate().map(|(n, key)| format!("{key} k{n}")).collect();
        let (a, b) = (aggregate(random), aggregate(random));
        let condition = one(random, &["", "", " WHERE g IS NOT NULL", " WHERE o > 2", " WHERE id > 3"]);
        let having = match random.below(5) {
            0 => format!(" HAVING {} > 1", aggregate(random)),
            1 => format!(" HAVING {} IS NOT NULL", aggregate(random)),
            2 => " HAVING k0 IS NOT NULL".into(),
            3 if n > 1 => " HAVING k1 IS NULL".into(),
            _ => String::new(),
        };
        let extra = one(
            random,
            &[
                "",
                ", IFNULL({0}, 'all') i",
                ", COALESCE({0}, 1) c",
                ", {0} IS NULL n",
                ", CONCAT(IFNULL({0}, '-'), '.') t",
            ],
        );
        // In MariaDB computed keys are computed in such rows, too.
        let plain: Vec<&str> = keys.iter().copied().filter(|key| key.len() == 1).collect();
        let extra = if plain.is_empty() { String::new() } else { extra.replace("{0}", random.pick::<&str>(&plain)) };
        let from = one(
            random,
            &[
                "x",
                "x JOIN (SELECT id i FROM y) j ON j.i <= x.id",
                "x LEFT JOIN (SELECT id i, g h FROM y) j ON j.h = x.g",
            ],
        );
        let order: Vec<String> = (1..=n + 2 + usize::from(!extra.is_empty())).map(|n| n.to_string()).collect();
        let inner = format!(
            "SELECT {}, {a} p, {b} q{extra} FROM {from}{condition} GROUP BY {} WITH ROLLUP{having}",
            shown.join(", "),
            keys.join(", ")
        );
        let order = order.join(", ");
        let text = match random.below(4) {
            0 => format!("SELECT * FROM ({inner}) r WHERE k0 IS NULL ORDER BY {order}"),
            1 => format!("SELECT k0, COUNT(*), SUM(p) FROM ({inner}) r GROUP BY k0 ORDER BY k0"),
            _ => format!("SELECT * FROM ({inner}) r ORDER BY {order}"),
        };
        steps.push(Step::ordered(text));
    }
    Story { theme: "rollups", setup, steps, shown: Vec::new() }
}

/// A first part.
fn start(random: &mut Random) -> &'static str {
    let all = [
        "SELECT 1, 0",
        "SELECT p, 0 FROM e WHERE p = 2",
        "SELECT CAST(NULL AS SIGNED), 1",
        "SELECT c, 0 FROM e",
        "SELECT MAX(p), 0 FROM e",
        "SELECT p, 1 FROM e WHERE w = 1",
        "SELECT 3, 2",
    ];
    one(random, &all)
}

/// A recursive part.
fn round(random: &mut Random) -> &'static str {
    let all = [
        "SELECT e.c, d + 1 FROM r JOIN e ON e.p = r.n WHERE d < 3",
        "SELECT e.c, d + 1 FROM e, r WHERE e.p = r.n AND d < 2",
        "SELECT e.p, d + 1 FROM r JOIN e ON e.c <=> r.n WHERE d < 2",
        "SELECT n + 1, d + 1 FROM r WHERE d < 3",
        "SELECT (SELECT MAX(c) FROM e WHERE e.p = r.n), d + 1 FROM r WHERE d < 3",
        "SELECT n, d + 1 FROM r WHERE d < 3 AND EXISTS (SELECT 1 FROM e WHERE e.p = r.n)",
        "SELECT e.c, d + 1 FROM r LEFT JOIN e ON e.p = r.n WHERE d < 2",
        "SELECT z.c, d + 1 FROM r JOIN (SELECT DISTINCT p, c FROM e) z ON z.p = r.n WHERE d < 3",
    ];
    one(random, &all)
}

/// Recursive common table expressions over graphs: several first parts and several recursive ones, rows once or all of
/// them, in each other, and in statements that change.
pub(super) fn walks(random: &mut Random) -> Story {
    let mut setup = vec![
        "CREATE TABLE e (p INT, c INT, w INT, s VARCHAR(3), KEY (p))".to_owned(),
        "CREATE TABLE f (id INT PRIMARY KEY, p INT, c INT)".to_owned(),
    ];
    for _ in 0..2 + random.below(8) {
        setup.push(format!(
            "INSERT INTO e VALUES ({}, {}, {}, {})",
            small(random, 5),
            small(random, 5),
            small(random, 3),
            one(random, &["'a'", "'b'", "NULL"])
        ));
    }
    let mut steps = Vec::new();
    for n in 0..STEPS {
        let all = one(random, &["ALL", "DISTINCT", ""]);
        let mut with = format!("RECURSIVE r (n, d) AS ({}", start(random));
        if random.percent(40) {
            with += &format!(" UNION {all} {}", start(random));
        }
        with += &format!(" UNION {all} {}", round(random));
        if random.percent(30) {
            with += &format!(" UNION {all} {}", round(random));
        }
        with.push(')');
        let text = match random.below(12) {
            0..4 => format!("WITH {with} SELECT n, d FROM r ORDER BY 1, 2"),
            4 => format!("WITH {with} SELECT a.n, b.d FROM r a JOIN r b ON a.n = b.d ORDER BY 1, 2"),
            5 => format!("WITH {with}, q AS (SELECT n, COUNT(*) k FROM r GROUP BY n) SELECT * FROM q ORDER BY 1, 2"),
            6 => format!(
                "WITH {with}, t (m) AS (SELECT n FROM r UNION SELECT m + 1 FROM t WHERE m < 5) SELECT m FROM t ORDER BY 1"
            ),
            7 => format!("WITH o AS (WITH {with} SELECT n, MAX(d) d FROM r GROUP BY n) SELECT * FROM o ORDER BY 1, 2"),
            8 => format!("SELECT e.p, (WITH {with} SELECT COUNT(*) FROM r WHERE r.n = e.p) k FROM e ORDER BY 1, 2"),
            9 => format!(
                "INSERT INTO f (id, p, c) WITH {with} SELECT {n} * 1000 + ROW_NUMBER() OVER (ORDER BY n, d), n, d FROM r"
            ),
            10 => format!("DELETE FROM f WHERE p IN (WITH {with} SELECT n FROM r WHERE d = 2)"),
            _ => format!("UPDATE f SET c = (WITH {with} SELECT COUNT(*) FROM r) WHERE id % 3 = 0"),
        };
        steps.push(Step { ordered: text.contains(" ORDER BY ") && !text.starts_with("INSERT"), ..Step::new(text) });
    }
    let shown = vec!["SELECT id, p, c FROM f ORDER BY id".to_owned()];
    Story { theme: "walks", setup, steps, shown }
}

/// JSON_TABLE: paths that are there and not, columns of types that values fit and do not, nested ones.
pub(super) fn documents(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE x (id INT PRIMARY KEY, j JSON)".to_owned(),
        "INSERT INTO x VALUES (1, '[1, 2, 3]'), (2, '{\"a\": 1, \"b\": [1, 2]}'), (3, '[{\"a\": 1, \"b\": [10, 20]}, {\"a\": \"x\"}, {\"b\": []}]'), (4, NULL), (5, '[]'), (6, '5'), (7, '[null, true, 1.5, \"2020-01-01\", \"abc\"]'), (8, '[{\"a\": {\"c\": 1}, \"b\": [[1], [2, 3]]}]')".to_owned(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        let column = |random: &mut Random, n: usize| {
            // MariaDB takes what does not fit for 0, or cuts it.
            let ty = one(random, &["VARCHAR(40)", "CHAR(12)", "TEXT"]);
            let path = one(random, &["$", "$.a", "$.b", "$.b[0]", "$[0]", "$.a.c"]);
            let empty = one(random, &["", "", " NULL ON EMPTY", " DEFAULT '7' ON EMPTY"]);
            let error = one(random, &["", "", " NULL ON ERROR", " DEFAULT '8' ON ERROR"]);
            match random.below(6) {
                0 => format!("c{n} FOR ORDINALITY"),
                1 => format!("c{n} INT EXISTS PATH '{path}'"),
                _ => format!("c{n} {ty} PATH '{path}'{empty}{error}"),
            }
        };
        let mut columns = vec![column(random, 0)];
        if random.percent(50) {
            columns.push(column(random, 1));
        }
        if random.percent(40) {
            let path = one(random, &["$.b[*]", "$[*]", "$.a", "$.*"]);
            columns.push(format!("NESTED PATH '{path}' COLUMNS ({})", column(random, 2)));
        }
        if random.percent(15) {
            columns.push(format!("NESTED PATH '$.a' COLUMNS ({})", column(random, 3)));
        }
        let path = one(random, &["$", "$[*]", "$.b[*]", "$.a", "$[0]", "$[*].b[*]"]);
        let table = format!("JSON_TABLE(j, '{path}' COLUMNS ({})) t", columns.join(", "));
        let text = match random.below(4) {
            0 => format!("SELECT id, t.* FROM x LEFT JOIN {table} ON 1 = 1"),
            1 => format!("SELECT id, COUNT(*), MIN(t.c0) FROM x, {table} GROUP BY id"),
            2 => format!("SELECT id FROM x WHERE EXISTS (SELECT 1 FROM {table})"),
            _ => format!("SELECT id, t.* FROM x, {table} WHERE id = {}", 1 + random.below(8)),
        };
        steps.push(Step::new(text));
    }
    Story { theme: "documents as tables", setup, steps, shown: Vec::new() }
}
