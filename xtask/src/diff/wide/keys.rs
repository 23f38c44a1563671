//! Foreign keys with all actions; duplicates that are updated or replaced.

use super::{Random, STEPS, Step, Story, one, small, word};

/// Parents, children, grandchildren, and a table that refers to itself.
pub(super) fn references(random: &mut Random) -> Story {
    let action =
        |random: &mut Random| one(random, &["", "NO ACTION", "RESTRICT", "CASCADE", "CASCADE", "SET NULL", "SET NULL"]);
    let actions = |random: &mut Random| {
        let clause =
            |of: &str, action: &str| if action.is_empty() { String::new() } else { format!(" ON {of} {action}") };
        let (a, b) = (action(random), action(random));
        format!("{}{}", clause("DELETE", a), clause("UPDATE", b))
    };
    let text = one(random, &["VARCHAR(8)", "VARCHAR(8) COLLATE utf8mb4_bin", "CHAR(8)"]);
    let setup = vec![
        format!("CREATE TABLE p (id INT PRIMARY KEY, u INT UNIQUE, a INT, s {text}, UNIQUE KEY a_s (a, s))"),
        format!(
            "CREATE TABLE c (id INT PRIMARY KEY, p INT, u INT, x INT, {}FOREIGN KEY (p) REFERENCES p (id){}, FOREIGN KEY (u) REFERENCES p (u){})",
            one(random, &["", "KEY (p, x), ", "UNIQUE KEY (u), "]),
            actions(random),
            actions(random)
        ),
        format!(
            "CREATE TABLE d (id INT PRIMARY KEY, c INT, a INT, s {text}, CONSTRAINT d1 FOREIGN KEY (c) REFERENCES c (id){}, CONSTRAINT d2 FOREIGN KEY (a, s) REFERENCES p (a, s){})",
            actions(random),
            actions(random)
        ),
        format!(
            "CREATE TABLE e (id INT PRIMARY KEY, boss INT, FOREIGN KEY (boss) REFERENCES e (id){})",
            actions(random)
        ),
    ];
    let mut steps = Vec::new();
    for id in 1..=8 {
        let (u, a, s) = (small(random, 9), small(random, 4), word(random));
        steps.push(Step::new(format!("INSERT IGNORE INTO p VALUES ({id}, {u}, {a}, {s})")));
    }
    for id in 1..=6 {
        let boss = if id == 1 { "NULL".into() } else { format!("{}", 1 + random.below(id - 1)) };
        steps.push(Step::new(format!("INSERT INTO e VALUES ({id}, {boss})")));
    }
    for _ in 0..STEPS {
        steps.push(Step::new(reference(random)));
    }
    let shown = ["p", "c", "d", "e"].iter().map(|t| format!("SELECT * FROM {t} ORDER BY id")).collect();
    Story { theme: "references", setup, steps, shown }
}

fn row_of(table: &str, random: &mut Random) -> String {
    let id = 1 + random.below(12);
    match table {
        "p" => format!("({id}, {}, {}, {})", small(random, 12), small(random, 4), word(random)),
        "c" => format!("({id}, {}, {}, {})", small(random, 10), small(random, 10), small(random, 5)),
        "d" => format!("({id}, {}, {}, {})", small(random, 10), small(random, 4), word(random)),
        _ => format!("({id}, {})", small(random, 12)),
    }
}

fn reference(random: &mut Random) -> String {
    let table = one(random, &["p", "p", "p", "c", "c", "d", "e"]);
    let columns: &[&str] = match table {
        "p" => &["id", "u", "a", "s"],
        "c" => &["p", "u", "x", "id"],
        "d" => &["c", "a", "s", "id"],
        _ => &["boss", "id"],
    };
    let ignore = if random.percent(20) { "IGNORE " } else { "" };
    let column = one(random, columns);
    let value = match column {
        "s" => word(random),
        "id" | "u" if random.percent(40) => format!("{column} + {}", 1 + random.below(3)),
        _ => small(random, 12),
    };
    let filter = match random.below(4) {
        0 => format!("id = {}", 1 + random.below(12)),
        1 => format!("{column} = {}", if column == "s" { word(random) } else { small(random, 10) }),
        2 => format!("id > {}", random.below(10)),
        _ => format!("id IN ({}, {}, {})", random.below(12), random.below(12), random.below(12)),
    };
    let order = one(random, &[" ORDER BY id", " ORDER BY id DESC", " ORDER BY id LIMIT 2"]);
    match random.below(20) {
        0..=5 => {
            let rows: Vec<String> = (0..1 + random.below(2)).map(|_| row_of(table, random)).collect();
            format!("INSERT {ignore}INTO {table} VALUES {}", rows.join(", "))
        }
        6 => format!("REPLACE INTO {table} VALUES {}", row_of(table, random)),
        7 => format!(
            "INSERT {ignore}INTO {table} VALUES {} ON DUPLICATE KEY UPDATE {column} = {value}",
            row_of(table, random)
        ),
        8..=12 => format!("UPDATE {ignore}{table} SET {column} = {value} WHERE {filter}{order}"),
        13..=16 => format!("DELETE {ignore}FROM {table} WHERE {filter}{order}"),
        17 => match column {
            // Numbers compared with texts have an error of their own.
            "s" => format!("DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.id > {}", random.below(10)),
            column => format!("DELETE p, c FROM p JOIN c ON c.p = p.id WHERE p.{}", filter.replace(column, "id")),
        },
        18 => format!("UPDATE {table} SET {column} = {value} LIMIT 0"),
        _ => one(
            random,
            &[
                "TRUNCATE TABLE d",
                "TRUNCATE TABLE p",
                "INSERT INTO c SELECT id + 6, u, p, x FROM c WHERE id < 4",
                "DELETE FROM e WHERE id = 1",
            ],
        )
        .into(),
    }
}

/// Tables with AUTO_INCREMENT and several unique keys.
pub(super) fn upserts(random: &mut Random) -> Story {
    let kind = one(random, &["INT", "SMALLINT UNSIGNED", "BIGINT"]);
    let second = one(random, &["", ", UNIQUE KEY (s)", ", UNIQUE KEY (n, s)", ", KEY (n)"]);
    let setup = vec![
        format!(
            "CREATE TABLE t (id {kind} AUTO_INCREMENT PRIMARY KEY, k INT, s VARCHAR(8), n INT NOT NULL DEFAULT 7, ts DATE DEFAULT '2020-01-01', UNIQUE KEY (k){second})"
        ),
        "CREATE TABLE o (id INT PRIMARY KEY, k INT, s VARCHAR(8))".into(),
        "INSERT INTO o VALUES (1, 1, 'a'), (2, 3, 'b'), (3, 3, 'c'), (4, NULL, NULL), (5, 9, 'ab')".into(),
    ];
    let mut steps = Vec::new();
    for _ in 0..STEPS {
        steps.push(match random.below(12) {
            0 => Step::new("SELECT LAST_INSERT_ID()"),
            1 => Step::new("SELECT COUNT(*), MAX(id) FROM t"),
            _ => Step::new(upsert(random)),
        });
    }
    // How many numbers a statement takes that uses fewer is left open: each begins at one of its own.
    let numbered = |(n, step)| [Step::new(format!("ALTER TABLE t AUTO_INCREMENT = {}", 100 * (n + 1))), step];
    let steps = steps.into_iter().enumerate().flat_map(numbered).collect();
    Story { theme: "upserts", setup, steps, shown: vec!["SELECT * FROM t ORDER BY id".into()] }
}

fn upsert(random: &mut Random) -> String {
    let row = |random: &mut Random| {
        let id = if random.percent(70) {
            one(random, &["DEFAULT", "NULL", "0"]).into()
        } else {
            (1 + random.below(30)).to_string()
        };
        format!("({id}, {}, {}, {})", small(random, 9), word(random), 1 + random.below(5))
    };
    let set = |random: &mut Random| {
        one(
            random,
            &[
                "n = n + VALUES(n)",
                "n = VALUES(n)",
                "n = n",
                "s = CONCAT(VALUES(s), n)",
                "k = k + 10",
                "k = NULL, n = n + 1",
                "n = n + 1, s = n",
                "id = id + 20",
                "id = LAST_INSERT_ID(id), n = n + 1",
                "n = DEFAULT(n), s = VALUES(s)",
                "n = IF(VALUES(n) > n, VALUES(n), n)",
                "s = IFNULL(VALUES(s), 'none'), ts = '2021-02-03'",
                "n = NULL",
            ],
        )
    };
    let rows = |random: &mut Random| (0..1 + random.below(3)).map(|_| row(random)).collect::<Vec<_>>().join(", ");
    match random.below(16) {
        0..=5 => format!("INSERT INTO t (id, k, s, n) VALUES {} ON DUPLICATE KEY UPDATE {}", rows(random), set(random)),
        6 => format!(
            "INSERT IGNORE INTO t (id, k, s, n) VALUES {} ON DUPLICATE KEY UPDATE {}",
            rows(random),
            set(random)
        ),
        7 | 8 => format!("REPLACE INTO t (id, k, s, n) VALUES {}", rows(random)),
        9 => format!("INSERT IGNORE INTO t (id, k, s, n) VALUES {}", rows(random)),
        10 => format!(
            "INSERT INTO t (k, s) SELECT k, s FROM o WHERE id > {} ORDER BY id ON DUPLICATE KEY UPDATE n = n + o.id",
            random.below(4)
        ),
        11 => format!(
            "INSERT INTO t (k, n) SELECT k, id FROM o WHERE id > {} ORDER BY id ON DUPLICATE KEY UPDATE {}",
            random.below(4),
            set(random)
        ),
        12 => format!("REPLACE INTO t (k, s, n) SELECT k + {}, s, id FROM o ORDER BY id", random.below(5)),
        13 => format!("UPDATE IGNORE t SET k = k + {} ORDER BY id LIMIT {}", 1 + random.below(3), random.below(5)),
        14 => format!("DELETE FROM t WHERE n > {} ORDER BY id DESC LIMIT {}", random.below(4), random.below(4)),
        _ => format!(
            "INSERT INTO t SET k = {}, s = {}, n = k + 1 ON DUPLICATE KEY UPDATE {}",
            small(random, 9),
            word(random),
            set(random)
        ),
    }
}
