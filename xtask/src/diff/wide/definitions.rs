//! Tables made from queries and other tables, renamed, and given other keys under data; changes of several tables at
//! once.

use super::{Random, STEPS, Step, Story, one, small, word};

const KEYS: &[&str] = &["", ", KEY (a)", ", UNIQUE KEY (b, id)", ", KEY ab (a, b)"];

fn day(random: &mut Random) -> String {
    if random.percent(10) { "NULL".into() } else { format!("'2021-0{}-1{}'", 1 + random.below(3), random.below(9)) }
}

fn filter(random: &mut Random) -> String {
    match random.below(6) {
        0 => format!("id < {}", random.below(9)),
        1 => format!("a > {}", random.below(6)),
        2 => "b IS NOT NULL".into(),
        3 => format!("id IN ({}, {}, {})", random.below(9), random.below(9), random.below(9)),
        4 => format!("b = {}", word(random)),
        _ => "1 = 1".into(),
    }
}

/// CREATE TABLE ... SELECT and LIKE, RENAME, ALTER of columns and keys.
pub(super) fn definitions(random: &mut Random) -> Story {
    let setup = vec![format!(
        "CREATE TABLE t (id INT PRIMARY KEY, a INT, b VARCHAR(8), c DECIMAL(8,2) DEFAULT 1.5, d DATE{})",
        one(random, KEYS)
    )];
    let mut steps = Vec::new();
    for id in 1..=8 {
        let (a, b, c, d) = (small(random, 6), word(random), small(random, 4), day(random));
        steps.push(Step::new(format!("INSERT IGNORE INTO t VALUES ({id}, {a}, {b}, {c}, {d})")));
    }
    for _ in 0..STEPS {
        steps.push(definition(random));
    }
    let mut shown = vec!["SELECT * FROM t ORDER BY id".to_owned()];
    shown.extend((0..3).map(|n| format!("SELECT * FROM n{n}")));
    shown.extend((0..9).map(|n| format!("SELECT * FROM k{n} ORDER BY k")));
    Story { theme: "definitions", setup, steps, shown }
}

fn definition(random: &mut Random) -> Step {
    let (n, m) = (random.below(3), random.below(3));
    let filter = filter(random);
    match random.below(24) {
        0..=3 => {
            let columns = one(
                random,
                &[
                    "",
                    "(PRIMARY KEY (id))",
                    "(KEY (a), KEY (b))",
                    "(UNIQUE KEY (a, b))",
                    "(z INT DEFAULT 5, a BIGINT)",
                    "(id INT UNSIGNED, UNIQUE KEY u (id))",
                ],
            );
            let exists = one(random, &["", "", "IF NOT EXISTS "]);
            // A duplicate is one of the rows behind it: in which order they come must be said.
            let duplicates = one(random, &["", "", "IGNORE ", "REPLACE "]);
            let items = one(
                random,
                &["id, a, b", "*", "id, a + 1 AS x, b", "id, a, CONCAT(b, '-', id) AS b, d", "id, c * 2 AS a, d"],
            );
            Step::new(format!(
                "CREATE TABLE {exists}n{n} {columns} {duplicates}SELECT {items} FROM t WHERE {filter} ORDER BY id"
            ))
        }
        4 if random.percent(50) => {
            Step::new(format!("CREATE TABLE n{n} LIKE {}", one(random, &["t", "n0", "n1", "n2"])))
        }
        // Numbers of a table of its own: how many a statement takes that uses fewer is open.
        4 => Step::new(format!(
            "CREATE TABLE k{} (k INT AUTO_INCREMENT PRIMARY KEY) SELECT id, a, b FROM t WHERE {filter} ORDER BY id",
            random.below(9)
        )),
        5 => Step::new(match random.below(3) {
            0 => format!("RENAME TABLE n{n} TO n{m}"),
            1 => format!("RENAME TABLE n{n} TO other, n{m} TO n{n}, other TO n{m}"),
            _ => format!("ALTER TABLE n{n} RENAME TO n{m}"),
        }),
        6 | 7 => Step::new(format!(
            "ALTER TABLE n{n} {}",
            one(
                random,
                &[
                    "ADD UNIQUE KEY u (a)",
                    "ADD UNIQUE KEY u (id)",
                    "ADD UNIQUE KEY v (a, id)",
                    "ADD KEY u (b(2), a)",
                    "ADD KEY w (a DESC, id)",
                    "DROP KEY u",
                    "DROP KEY v, ADD KEY v (id)",
                    "RENAME KEY u TO w",
                    "RENAME INDEX w TO u",
                    "ADD PRIMARY KEY (id)",
                    "DROP PRIMARY KEY",
                    "DROP PRIMARY KEY, ADD PRIMARY KEY (id, a)",
                ],
            )
        )),
        8 | 9 => Step::new(format!(
            "ALTER TABLE n{n} {}",
            one(
                random,
                &[
                    "ADD COLUMN z INT NOT NULL DEFAULT 4 AFTER id",
                    "ADD COLUMN y VARCHAR(5) FIRST",
                    "DROP COLUMN z",
                    "DROP COLUMN b",
                    "RENAME COLUMN a TO e",
                    "RENAME COLUMN e TO a",
                    "RENAME COLUMN a TO id, RENAME COLUMN id TO a",
                    "CHANGE a a BIGINT",
                    "CHANGE b b VARCHAR(20) FIRST",
                    "ALTER a SET DEFAULT 11",
                    "ALTER COLUMN a DROP DEFAULT",
                    "ADD COLUMN x INT, ADD KEY (x), DROP COLUMN d",
                    "ADD COLUMN g INT AS (a + id)",
                    "ADD CHECK (id < 100)",
                    "ADD CONSTRAINT small CHECK (a < 5)",
                    "DROP CONSTRAINT small",
                    "ORDER BY a",
                    "COMMENT 'of a test'",
                ],
            )
        )),
        10 => Step::new(one(
            random,
            &[
                "CREATE INDEX i ON n0 (b, a)",
                "CREATE UNIQUE INDEX i ON n0 (a)",
                "CREATE INDEX i ON n1 (id, b(3))",
                "DROP INDEX i ON n0",
                "DROP INDEX i ON n1",
                "CREATE UNIQUE INDEX j ON n2 (id)",
            ],
        )),
        11 => Step::new(one(
            random,
            &[
                "DROP TABLE n0",
                "DROP TABLE IF EXISTS n1",
                // MariaDB drops those that are there even if others are not.
                "DROP TABLE IF EXISTS n1, n2",
                "TRUNCATE TABLE n0",
                "TRUNCATE n2",
                "DROP TABLE nosuch",
            ],
        )),
        12 | 13 => Step::new(format!(
            "INSERT {}INTO n{n} (id, a) SELECT id + {}, {} FROM t WHERE {filter} ORDER BY id",
            one(random, &["", "IGNORE "]),
            random.below(5),
            one(random, &["a", "a + 1", "id", "NULL"])
        )),
        14 => Step::new(format!(
            "INSERT INTO n{n} (id, a) SELECT id, a FROM t WHERE {filter} ORDER BY id ON DUPLICATE KEY UPDATE a = {}",
            one(random, &["VALUES(a) + 1", "t.a + 2", "IFNULL(t.c, 0)", "VALUES(id)"])
        )),
        15 => Step::new(format!("REPLACE INTO n{n} (id, a) SELECT id, a FROM t WHERE {filter} ORDER BY id")),
        16 => Step::new(format!("INSERT INTO n{n} (id, a) VALUES ({}, {})", random.below(20), small(random, 6))),
        17 => Step::new(format!("UPDATE n{n} SET a = a + 1 WHERE {filter}")),
        18 => Step::new(format!("UPDATE n{n} x JOIN t ON x.id = t.id SET x.a = t.a, t.c = t.c + 1 WHERE t.{filter}")),
        19 => Step::new(format!("DELETE FROM n{n} WHERE {filter}")),
        20 => Step::ordered(format!("SELECT id, a FROM n{n} WHERE {filter} ORDER BY id, a")),
        21 => Step::ordered(format!("SELECT x.id, y.id FROM n{n} x JOIN n{m} y ON x.a = y.a ORDER BY x.id, y.id")),
        22 => Step::ordered(
            "SELECT TABLE_NAME, COLUMN_NAME, ORDINAL_POSITION, IS_NULLABLE, COLUMN_KEY FROM information_schema.COLUMNS \
             WHERE TABLE_SCHEMA = 'gannet_diff' ORDER BY TABLE_NAME, ORDINAL_POSITION",
        ),
        _ => Step::ordered(
            "SELECT TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, NON_UNIQUE, SUB_PART FROM information_schema.STATISTICS \
             WHERE TABLE_SCHEMA = 'gannet_diff' ORDER BY TABLE_NAME, INDEX_NAME, SEQ_IN_INDEX",
        ),
    }
}

/// UPDATE and DELETE of several tables, and what these refuse.
pub(super) fn joined(random: &mut Random) -> Story {
    let setup = vec![
        format!("CREATE TABLE p (id INT PRIMARY KEY, a INT, b VARCHAR(8), c INT DEFAULT 0{})", one(random, KEYS)),
        format!("CREATE TABLE q (id INT PRIMARY KEY, p INT, a INT, b VARCHAR(8), UNIQUE KEY (p){})", one(random, KEYS)),
        "CREATE TABLE r (id INT PRIMARY KEY, n INT)".into(),
    ];
    let mut steps = Vec::new();
    for id in 1..=9 {
        let (a, b) = (small(random, 6), word(random));
        steps.push(Step::new(format!("INSERT IGNORE INTO p (id, a, b) VALUES ({id}, {a}, {b})")));
        let (p, a, b) = (small(random, 12), small(random, 6), word(random));
        steps.push(Step::new(format!("INSERT IGNORE INTO q VALUES ({id}, {p}, {a}, {b})")));
        steps.push(Step::new(format!("INSERT INTO r VALUES ({id}, {})", random.below(5))));
    }
    for _ in 0..STEPS {
        steps.push(Step::new(several(random)));
    }
    let shown = ["p", "q", "r"].iter().map(|t| format!("SELECT * FROM {t} ORDER BY id")).collect();
    Story { theme: "joined changes", setup, steps, shown }
}

/// Each row of the changed tables meets one row of the others: `q.p` and `id` are unique.
fn several(random: &mut Random) -> String {
    let ignore = one(random, &["", "", "", "IGNORE "]);
    let join = one(random, &["JOIN", "LEFT JOIN", "INNER JOIN"]);
    let filter = match random.below(6) {
        0 => format!("p.id < {}", random.below(9)),
        1 => format!("q.a > {}", random.below(6)),
        2 => "q.id IS NULL".into(),
        3 => format!("p.a = {}", random.below(6)),
        4 => format!("q.b = {}", word(random)),
        _ => "p.b IS NOT NULL".into(),
    };
    match random.below(22) {
        0..=2 => {
            let set = match random.below(5) {
                0 => format!("p.a = {}", small(random, 6)),
                1 => "p.a = q.a".into(),
                2 => "p.c = p.c + 1, q.a = q.a + 1".into(),
                3 => format!("q.b = {}, p.c = q.a", word(random)),
                _ => "p.a = IFNULL(q.a, 0) + 1, p.b = q.b".into(),
            };
            format!("UPDATE {ignore}p {join} q ON q.p = p.id SET {set} WHERE {filter}")
        }
        3 => format!("UPDATE p, q SET p.c = q.id, q.a = p.a WHERE q.p = p.id AND {filter}"),
        4 => format!("UPDATE p JOIN q ON q.p = p.id JOIN r ON r.id = p.id SET p.c = r.n, r.n = r.n + 1 WHERE {filter}"),
        5 => format!("UPDATE p {join} q USING (id) SET p.a = q.a, q.a = {} WHERE {filter}", small(random, 6)),
        6 => format!(
            "UPDATE p JOIN (SELECT n, COUNT(*) k FROM r GROUP BY n) x ON x.n = p.a SET p.c = x.k WHERE p.id < {}",
            random.below(12)
        ),
        7 => format!("UPDATE r SET n = (SELECT COUNT(*) FROM p WHERE p.a = r.n) WHERE id < {}", random.below(12)),
        8 => format!("UPDATE {ignore}p SET id = id + 20 WHERE id IN (SELECT p FROM q WHERE a > {})", random.below(6)),
        9 => format!("DELETE p FROM p {join} q ON q.p = p.id WHERE p.id > 5 AND {filter}"),
        10 => format!("DELETE p, q FROM p {join} q ON q.p = p.id WHERE p.id > 6 AND {filter}"),
        11 => format!("DELETE FROM x, y USING p AS x JOIN q AS y ON y.p = x.id WHERE x.id = {}", 1 + random.below(12)),
        12 => {
            format!("DELETE q FROM q LEFT JOIN p ON q.p = p.id WHERE p.id IS NULL AND q.id > {}", 3 + random.below(6))
        }
        13 => format!("DELETE FROM r WHERE n IN (SELECT a FROM p WHERE id < {}) AND id > 6", random.below(9)),
        14 => format!(
            "INSERT {ignore}INTO p (id, a, b) VALUES ({}, {}, {})",
            1 + random.below(25),
            small(random, 6),
            word(random)
        ),
        15 => format!(
            "INSERT {ignore}INTO q VALUES ({}, {}, {}, {})",
            1 + random.below(20),
            small(random, 25),
            small(random, 6),
            word(random)
        ),
        16 => format!(
            "INSERT INTO r SELECT p.id, q.a FROM p {join} q ON q.p = p.id WHERE {filter} AND q.a IS NOT NULL ORDER BY p.id \
             ON DUPLICATE KEY UPDATE n = {}",
            one(random, &["VALUES(n)", "r.n + q.a", "r.n + VALUES(n)", "p.c"])
        ),
        17 => format!("REPLACE INTO r SELECT p.id, p.a FROM p JOIN q ON q.p = p.id WHERE {filter}"),
        18 => format!(
            "INSERT INTO r (id, n) SELECT id + 10, n FROM r WHERE id < {} ORDER BY id ON DUPLICATE KEY UPDATE n = r.n + 1",
            random.below(5)
        ),
        // What these forms refuse. Not ORDER BY and LIMIT in UPDATE of several tables: MariaDB takes them.
        _ => one(
            random,
            &[
                "DELETE p FROM p JOIN q ON q.p = p.id ORDER BY p.id",
                "DELETE p, q FROM p JOIN q ON q.p = p.id LIMIT 1",
                "DELETE p FROM q",
                "DELETE x FROM p",
                "DELETE p FROM p AS x",
                "UPDATE p JOIN q ON q.p = p.id SET a = 1",
                "UPDATE p JOIN q ON q.p = p.id SET nosuch = 1",
                "UPDATE p SET a = (SELECT MAX(a) FROM p)",
                "UPDATE p, q SET p.a = 1 WHERE p.id IN (SELECT id FROM p x)",
                "DELETE FROM p WHERE id = (SELECT MAX(id) FROM p)",
                "DELETE FROM p WHERE id IN (SELECT p.id FROM q)",
                "INSERT INTO p (id) SELECT id, a FROM q",
                "INSERT INTO p (id, id) VALUES (1, 1)",
                "INSERT INTO p (id, nosuch) VALUES (1, 1)",
                "INSERT INTO p VALUES (1, 1)",
                "UPDATE p SET id = 3, id = 30 WHERE id = 3",
                "UPDATE p SET a = nosuch",
                "DELETE FROM p WHERE nosuch = 1",
                "UPDATE p x JOIN p y ON x.id = y.id + 1 SET x.c = y.c + 1, y.c = 5 WHERE x.id = 3",
                "REPLACE INTO p (id, a) VALUES (3, 1), (3, 2)",
                "UPDATE q JOIN (SELECT * FROM p) x ON q.p = x.id SET x.a = 1",
                "DELETE x FROM (SELECT * FROM p) x",
            ],
        )
        .into(),
    }
}
