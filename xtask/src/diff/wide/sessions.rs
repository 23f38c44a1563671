//! What a session keeps: prepared statements and their parameters, user variables, savepoints, temporary tables.

use super::{Param, Random, STEPS, Step, Story, one, small, word};
use crate::diff::change::change;
use crate::diff::generate::Schema;
use gannet_wire::command::{DateTime, Time};

/// A parameter of any type.
fn param(random: &mut Random) -> Param {
    match random.below(12) {
        0 => Param::Null,
        1..=3 => Param::Int(*random.pick(&[0, 1, 2, 3, -1, 7, 40_000, i64::MIN, i64::MAX])),
        4 => Param::UInt(*random.pick(&[0, 2, 5, u64::MAX, 1 << 63])),
        5 | 6 => Param::Double(*random.pick(&[0.0, 1.5, 2.0, -2.25, 1e10, 3.0])),
        7..=10 => {
            let texts =
                ["a", "b", "AB", "", "2", "1.5", "-3", "é", "2021-03-04", "2021-03-04 05:06:07", "10:11:12", "abc"];
            Param::Text((*random.pick(&texts)).to_owned())
        }
        _ => Param::Tiny(*random.pick(&[0, 1, -128, 127])),
    }
}

fn number(random: &mut Random) -> Param {
    match random.below(8) {
        0 => Param::Null,
        5 => Param::Tiny(random.below(6) as i8 - 2),
        6 => Param::Float(*random.pick(&[0.5, 2.0, -1.25])),
        7 => Param::Decimal(random.pick::<&'static str>(&["1.50", "-2.25", "3", "0.05"])),
        1 => Param::UInt(random.below(9) as u64),
        2 => Param::Double(*random.pick(&[0.5, 2.0, -1.25])),
        _ => Param::Int(random.below(9) as i64 - 2),
    }
}

fn text(random: &mut Random) -> Param {
    match random.below(6) {
        0 => Param::Null,
        _ => Param::Text((*random.pick(&["a", "A", "ab", "é", "", "10", "b "])).to_owned()),
    }
}

fn moment(random: &mut Random) -> Param {
    let texts = ["2021-03-04", "2020-12-31 23:59:59", "2021-01-01 00:00:00", "2019-02-28", "2021-03-04 05:06:07.5"];
    let date = DateTime {
        year: 2021,
        month: 1 + random.below(4) as u8,
        day: 1 + random.below(4) as u8,
        ..DateTime::default()
    };
    match random.below(10) {
        0 => Param::Null,
        1..=3 => Param::DateTime(DateTime { date_only: true, ..date }),
        4 => Param::DateTime(DateTime { hour: 5, minute: 6, second: 7, ..date }),
        5 => Param::DateTime(DateTime { hour: 23, micros: 250_000, ..date }),
        _ => Param::Text((*random.pick(&texts)).to_owned()),
    }
}

/// A TIME.
fn hours(random: &mut Random) -> Param {
    let (days, hours, negative) = (random.below(2) as u32, random.below(24) as u8, random.percent(20));
    match random.below(5) {
        0 => Param::Null,
        1 => Param::Text("10:11:12".into()),
        _ => Param::Time(Time { negative, days, hours, minutes: 30, seconds: 1, micros: 0 }),
    }
}

/// Statements with parameters, and the makers of those.
const PREPARED: &[(&str, &[fn(&mut Random) -> Param])] = &[
    ("SELECT id, i + ? FROM t ORDER BY id", &[number]),
    ("SELECT id, i * ?, d - ? FROM t ORDER BY id", &[number, number]),
    ("SELECT id FROM t WHERE i > ? ORDER BY id", &[number]),
    ("SELECT id FROM t WHERE i = ? OR s = ? ORDER BY id", &[param, text]),
    ("SELECT id FROM t WHERE s LIKE CONCAT(?, '%') ORDER BY id", &[text]),
    ("SELECT id FROM t WHERE id IN (?, ?, ?) ORDER BY id", &[number, number, number]),
    ("SELECT id FROM t WHERE d BETWEEN ? AND ? ORDER BY id", &[number, number]),
    ("SELECT id, CONCAT(s, ?) FROM t ORDER BY id", &[text]),
    ("SELECT id, COALESCE(s, ?) FROM t ORDER BY id", &[text]),
    ("SELECT id, COALESCE(i, ?) FROM t ORDER BY id", &[number]),
    ("SELECT id, IF(i > ?, s, ?) FROM t ORDER BY id", &[number, text]),
    ("SELECT id FROM t WHERE m > ? ORDER BY id", &[moment]),
    ("SELECT id FROM t WHERE da = ? OR da > ? ORDER BY id", &[moment, moment]),
    ("SELECT id, DATEDIFF(m, ?), TIMESTAMPDIFF(DAY, ?, da) FROM t ORDER BY id", &[moment, moment]),
    (
        "SELECT id FROM t ORDER BY id LIMIT ? OFFSET ?",
        &[|r| Param::Int(r.below(5) as i64), |r| Param::UInt(r.below(3) as u64)],
    ),
    ("SELECT COUNT(*), SUM(i + ?) FROM t WHERE x >= ?", &[number, number]),
    ("SELECT i, COUNT(*) FROM t GROUP BY i HAVING COUNT(*) > ? ORDER BY i", &[number]),
    ("SELECT id, (SELECT COUNT(*) FROM t b WHERE b.i < a.i + ?) FROM t a WHERE s <> ? ORDER BY id", &[number, text]),
    ("SELECT ? = s, LENGTH(?), UPPER(?) FROM t ORDER BY id", &[text, text, text]),
    ("SELECT ? IS NULL, ? + 1, ? <=> NULL FROM t WHERE id = 1", &[param, number, param]),
    (
        "SELECT LEFT(s, ?), LPAD(s, ?, 'xy'), REPEAT(s, ?) FROM t ORDER BY id",
        &[|r| Param::Int(r.below(4) as i64), |r| Param::Int(r.below(6) as i64), |r| Param::Int(r.below(3) as i64)],
    ),
    ("SELECT id FROM t WHERE ti > ? OR ti = ? ORDER BY id", &[hours, hours]),
    ("UPDATE t SET ti = ? WHERE id = ?", &[hours, number]),
    ("SELECT CAST(? AS SIGNED), CAST(? AS CHAR), CAST(? AS DECIMAL(10,2))", &[number, text, number]),
    ("SELECT id FROM t WHERE (i, s) = (?, ?) ORDER BY id", &[number, text]),
    ("SELECT id, CASE i WHEN ? THEN 'one' WHEN ? THEN 'two' ELSE ? END FROM t ORDER BY id", &[number, number, text]),
    ("SELECT LEAST(x, ?) FROM t ORDER BY id", &[number]),
    ("INSERT INTO t (id, i, s) VALUES (?, ?, ?)", &[|r| Param::Int(1 + r.below(20) as i64), number, text]),
    (
        "INSERT IGNORE INTO t (id, i, d, x, s, m, da, vb) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        &[|r| Param::Int(1 + r.below(20) as i64), param, number, number, param, moment, moment, text],
    ),
    ("REPLACE INTO t (id, d, vb) VALUES (?, ?, ?)", &[|r| Param::Int(1 + r.below(20) as i64), number, text]),
    ("UPDATE t SET i = ?, s = ? WHERE id = ?", &[number, text, number]),
    (
        "UPDATE t SET d = d + ?, x = ? WHERE i > ? ORDER BY id LIMIT ?",
        &[number, number, number, |r| Param::Int(r.below(4) as i64)],
    ),
    ("UPDATE t SET m = ?, da = ? WHERE id < ? ORDER BY id", &[moment, |_| Param::Text("2021-05-06".into()), number]),
    ("DELETE FROM t WHERE id = ? OR s = ?", &[|r| Param::Int(10 + r.below(9) as i64), text]),
    (
        "INSERT INTO t (id, i) VALUES (?, ?) ON DUPLICATE KEY UPDATE i = i + ?",
        &[|r| Param::Int(1 + r.below(9) as i64), number, number],
    ),
    (
        "INSERT INTO t (id, s) SELECT id + ?, CONCAT(s, ?) FROM t WHERE i < ?",
        &[|r| Param::Int(20 + r.below(30) as i64), text, number],
    ),
];

/// Prepared statements, executed once or twice.
pub(super) fn parameters(random: &mut Random) -> Story {
    let setup = vec![
        format!(
            "CREATE TABLE t (id INT PRIMARY KEY, i INT, d DECIMAL(10,2), x DOUBLE, s VARCHAR(20), m DATETIME, da DATE, vb VARBINARY(10), ti TIME{})",
            one(random, &["", ", KEY (i)", ", KEY (s), KEY (m)", ", KEY (d, i)"])
        ),
        "INSERT INTO t VALUES (1, 1, 1.5, 0.5, 'a', '2021-03-04 05:06:07', '2021-03-04', 'a', '10:11:12'), (2, 2, -2.25, 2, 'AB', '2020-12-31 23:59:59', '2021-01-01', 'B', '-01:00:00'), \
         (3, NULL, 3, -1.25, 'é', NULL, '2019-02-28', NULL, '30:30:01'), (4, -1, NULL, 1e10, NULL, '2021-01-01', NULL, 'ab', NULL), (5, 5, 99.99, NULL, '10', '2022-01-01 10:00:00', '2020-02-29', '', '23:30:01'), (6, 2, 0, 3, 'b ', NULL, NULL, 'xyz', '00:00:00')".into(),
    ];
    let mut steps = Vec::new();
    for n in 0..STEPS {
        let (sql, makers) = *random.pick(PREPARED);
        let params: Vec<Param> = makers.iter().map(|make| make(random)).collect();
        let literal = |p: &Param| match p {
            Param::Null => "NULL".to_owned(),
            Param::Int(n) => n.to_string(),
            Param::UInt(n) => n.to_string(),
            Param::Double(x) => format!("{x:e}"),
            Param::Text(t) => format!("'{t}'"),
            Param::Tiny(n) => n.to_string(),
            Param::Float(x) => format!("{x:e}"),
            Param::Decimal(text) => (*text).to_owned(),
            Param::DateTime(d) => {
                format!("'{}-{:02}-{:02} {:02}:{:02}:{:02}'", d.year, d.month, d.day, d.hour, d.minute, d.second)
            }
            Param::Time(t) => format!(
                "'{}{:02}:{:02}:{:02}'",
                if t.negative { "-" } else { "" },
                t.days * 24 + u32::from(t.hours),
                t.minutes,
                t.seconds
            ),
        };
        if random.percent(25) {
            let names: Vec<String> = (0..params.len()).map(|i| format!("@p{i}")).collect();
            let set: Vec<String> =
                params.iter().zip(&names).map(|(p, name)| format!("{name} = {}", literal(p))).collect();
            steps.push(Step::new(format!("PREPARE s{n} FROM '{}'", sql.replace('\'', "''"))));
            steps.push(Step::new(format!("SET {}", set.join(", "))));
            steps.push(Step { ordered: true, ..Step::new(format!("EXECUTE s{n} USING {}", names.join(", "))) });
            steps.push(Step::new(format!("DEALLOCATE PREPARE s{n}")));
        } else {
            steps.push(Step { params: Some(params), ordered: true, ..Step::new(sql) });
        }
    }
    Story { theme: "parameters", setup, steps, shown: vec!["SELECT * FROM t ORDER BY id".into()] }
}

/// User variables: set by SET, by assignments in rows, by INTO.
pub(super) fn variables(random: &mut Random) -> Story {
    let setup = vec![
        "CREATE TABLE t (id INT PRIMARY KEY, i INT, d DECIMAL(10,2), x DOUBLE, s VARCHAR(10), dt DATETIME)".into(),
        "INSERT INTO t VALUES (1, 3, 1.50, 0.5, 'a', '2021-01-02 03:04:05'), (2, NULL, -2.25, 2, 'B', NULL), (3, 7, 3.00, -1.25, 'é', '2020-05-06 07:08:09'), (4, -1, NULL, NULL, NULL, '2021-01-01'), (5, 3, 9.99, 4, 'ab', NULL)".into(),
    ];
    let mut steps = Vec::new();
    for n in 1..=4 {
        steps.push(Step::new(format!("SET @v{n} = {}", one(random, &["0", "NULL", "'a'", "1.5", "2e0"]))));
    }
    for _ in 0..STEPS {
        let (v, w) = (1 + random.below(4), 1 + random.below(4));
        let value = match random.below(14) {
            0 => small(random, 9),
            1 => word(random),
            2 => "1.50".into(),
            3 => "2.5e0".into(),
            4 => format!("@v{w} + 1"),
            5 => format!("CONCAT(@v{w}, 'x')"),
            6 => "(SELECT MAX(i) FROM t)".into(),
            7 => "(SELECT s FROM t WHERE id = 3)".into(),
            8 => "TRUE".into(),
            9 => "DATE'2021-03-04'".into(),
            10 => format!("(@v{w} IS NULL)"),
            11 => "9223372036854775807".into(),
            12 => "(SELECT d FROM t WHERE id = 5)".into(),
            _ => "'2021-01-01'".into(),
        };
        let column = one(random, &["i", "d", "x", "s", "dt"]);
        steps.push(match random.below(14) {
            0..=3 => Step::new(format!("SET @v{v} = {value}")),
            // Not `SET @a = 1, @b = @a`: MariaDB gives @b the old value with the new one's type and character set.
            4 => Step::new(format!("SET @v{v} = {value}, @v{} = {}", 1 + v % 4, random.below(9))),
            5 => Step::new(format!("SELECT {column}, id INTO @v{v}, @v{w} FROM t WHERE id = {}", 1 + random.below(5))),
            6 => Step::ordered(format!("SELECT @v{v}, @v{w}, @v{v} IS NULL, @none")),
            7 => Step::ordered(format!("SELECT @v{v} + 0e0, CONCAT(@v{w}), @v{v} = @v{w}, LENGTH(@v{v})")),
            8 => Step::ordered(
                format!("SELECT id FROM t WHERE {column} {} @v{v} ORDER BY id", one(random, &["=", "<", ">", "<>"]))
                    .replace("dt = @", "i = @")
                    .replace("dt < @", "i < @")
                    .replace("dt > @", "i > @")
                    .replace("dt <> @", "i <> @"),
            ),
            9 => Step::new("SET @n = 0"),
            10 => Step::ordered("SELECT id, @n := @n + id FROM t ORDER BY id"),
            11 => {
                Step::new(format!("UPDATE t SET i = (@v{v} := IFNULL(id, 0) + 1) WHERE id = {}", 1 + random.below(5)))
            }
            12 => Step::new(format!("UPDATE t SET s = LEFT(@v{v}, 8) WHERE id = {}", 1 + random.below(5))),
            _ => Step::ordered(format!("SELECT COALESCE(@v{v}, 'none'), IF(@v{w}, 'yes', 'no'), @v{w} IN (1, 'a', 5)")),
        });
    }
    Story { theme: "variables", setup, steps, shown: vec!["SELECT * FROM t ORDER BY id".into()] }
}

fn tables_in_strict_mode(schema: &Schema) -> Vec<String> {
    let mode = "SET SESSION sql_mode = 'STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO'";
    let tables = schema.create().into_iter().filter(|sql| sql.starts_with("CREATE"));
    tables.chain([mode.to_owned()]).collect()
}

fn changes(schema: &Schema, random: &mut Random) -> Step {
    Step::new(change(schema, random))
}

/// Changes in transactions that go back to savepoints.
pub(super) fn savepoints(random: &mut Random) -> Story {
    let schema = Schema::new(random);
    let setup = tables_in_strict_mode(&schema);
    let mut steps: Vec<Step> = schema.fill(random).into_iter().map(Step::new).collect();
    for _ in 0..STEPS {
        let name = one(random, &["a", "b", "B", "c"]);
        steps.push(match random.below(20) {
            0 | 1 => {
                Step::new(one(random, &["START TRANSACTION", "BEGIN", "START TRANSACTION WITH CONSISTENT SNAPSHOT"]))
            }
            2 => Step::new("COMMIT"),
            3 | 4 => Step::new("ROLLBACK"),
            5..=7 => Step::new(format!("SAVEPOINT {name}")),
            8 | 9 => Step::new(format!("ROLLBACK TO {}{name}", one(random, &["", "SAVEPOINT "]))),
            10 => Step::new(format!("RELEASE SAVEPOINT {name}")),
            11 => Step::new(one(
                random,
                &[
                    "SET autocommit = 0",
                    "SET autocommit = 1",
                    "ROLLBACK AND CHAIN",
                    "COMMIT AND CHAIN",
                    "CREATE TABLE IF NOT EXISTS extra (id INT)",
                    "TRUNCATE TABLE t0",
                    "START TRANSACTION READ ONLY",
                ],
            )),
            _ => changes(&schema, random),
        });
    }
    let shown = schema.tables.iter().map(|t| format!("SELECT * FROM {} ORDER BY id", t.name)).collect();
    Story { theme: "savepoints", setup, steps, shown }
}

/// Temporary tables, some under the name of another table.
pub(super) fn temporary(random: &mut Random) -> Story {
    let schema = Schema::new(random);
    let setup = tables_in_strict_mode(&schema);
    let mut steps: Vec<Step> = schema.fill(random).into_iter().map(Step::new).collect();
    for _ in 0..STEPS {
        let table = schema.table(random);
        let n = random.below(3);
        let kind = random.below(20);
        if kind == 3 {
            // MariaDB keeps such rows when the transaction is rolled back.
            steps.push(Step::new("COMMIT"));
        }
        steps.push(match kind {
            0 | 1 => Step::new(table.create().replacen("CREATE TABLE", "CREATE TEMPORARY TABLE", 1)),
            2 => Step::new(format!("DROP TEMPORARY TABLE IF EXISTS {}", table.name)),
            3 => Step::new(format!(
                "CREATE TEMPORARY TABLE x{n} SELECT id, NULLIF(id + 1, 0) AS n FROM {} WHERE id < {}",
                table.name,
                3 + random.below(9)
            )),
            4 => Step::new(format!("CREATE TEMPORARY TABLE x{n} LIKE {}", table.name)),
            5 => Step::new(format!("CREATE TEMPORARY TABLE x{n} (id INT PRIMARY KEY, n INT)")),
            6 => Step::new(format!("DROP TEMPORARY TABLE x{n}")),
            7 => Step::new(format!("DROP TABLE IF EXISTS x{n}")),
            8 => Step::new(format!("INSERT INTO x{n} (id) VALUES ({})", random.below(9))),
            9 => Step::new(format!("UPDATE x{n} SET id = id + 10 WHERE id < 4 ORDER BY id DESC")),
            10 => Step::new(format!("ALTER TABLE x{n} ADD COLUMN z INT DEFAULT 3")),
            11 => Step::new(format!("SELECT * FROM x{n}")),
            12 => Step::ordered(format!(
                "SELECT x.id, t.id FROM x{n} x JOIN {} t ON x.id = t.id ORDER BY x.id, t.id",
                table.name
            )),
            13 => Step::new(format!("TRUNCATE TABLE x{n}")),
            14 => Step::new(one(random, &["BEGIN", "ROLLBACK", "COMMIT"])),
            15 => Step::new(format!("INSERT INTO x{n} (id) SELECT id + 30 FROM {}", table.name)),
            _ => changes(&schema, random),
        });
    }
    let shown = schema.tables.iter().map(|t| format!("SELECT * FROM {} ORDER BY id", t.name)).collect();
    Story { theme: "temporary tables", setup, steps, shown }
}
