//! Views: over one table and several, changed through, with CHECK OPTION.

use super::{Random, STEPS, Step, Story, one, small, word};

/// Views over two tables and over each other.
pub(super) fn views(random: &mut Random) -> Story {
    let algorithm = |random: &mut Random| one(random, &["", "ALGORITHM=MERGE ", "ALGORITHM=TEMPTABLE "]);
    let check = |random: &mut Random| {
        one(random, &["", "", " WITH CHECK OPTION", " WITH LOCAL CHECK OPTION", " WITH CASCADED CHECK OPTION"])
    };
    let filter = |random: &mut Random| {
        one(
            random,
            &["n < 6", "n IS NOT NULL", "s <> 'a'", "id BETWEEN 2 AND 9", "n IN (1, 2, 3, 4)", "s LIKE '%b%' OR n > 2"],
        )
    };
    let mut setup: Vec<String> = vec![
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, s VARCHAR(8), d INT DEFAULT 5)".into(),
        "CREATE TABLE u (id INT PRIMARY KEY, t INT, x DECIMAL(8,2))".into(),
        "INSERT INTO t VALUES (1, 1, 'a', 1), (2, 2, 'b', 1), (3, 3, 'ab', 2), (4, NULL, 'abc', 2), (5, 7, NULL, 3)"
            .into(),
        "INSERT INTO u VALUES (1, 1, 1.5), (2, 1, 2.25), (3, 3, NULL), (4, 9, 4)".into(),
    ];
    let plain = check(random);
    let algorithm_of_plain = if plain.is_empty() { algorithm(random) } else { one(random, &["", "ALGORITHM=MERGE "]) };
    setup.push(format!("CREATE {algorithm_of_plain}VIEW v1 AS SELECT id, n, s FROM t WHERE {}{plain}", filter(random)));
    // MariaDB forgets the CHECK OPTION of a view below one without it.
    let second = match (algorithm_of_plain.contains("TEMP"), plain.is_empty()) {
        (true, _) => "",
        (_, false) => " WITH CASCADED CHECK OPTION",
        _ => check(random),
    };
    setup.push(format!("CREATE VIEW v2 AS SELECT * FROM v1 WHERE {}{second}", filter(random)));
    setup.push(format!(
        "CREATE {}VIEW v3 AS SELECT n, COUNT(*) c, MAX(s) m FROM t GROUP BY n",
        one(random, &["", "ALGORITHM=TEMPTABLE "])
    ));
    setup.push(format!(
        "CREATE {}VIEW v4 AS SELECT t.id, t.n, u.id AS uid, u.x FROM t {} u ON u.t = t.id",
        one(random, &["", "ALGORITHM=MERGE "]),
        one(random, &["JOIN", "LEFT JOIN"])
    ));
    setup.push("CREATE VIEW v5 (id, n, s) AS SELECT id, n + 1, UPPER(s) FROM t".into());
    setup
        .push(format!("CREATE VIEW v6 AS SELECT id, n FROM t UNION {}SELECT id, t FROM u", one(random, &["", "ALL "])));
    setup.push("CREATE VIEW v7 AS SELECT DISTINCT n, s FROM v1".into());
    setup.push("CREATE VIEW v8 AS SELECT id, (SELECT COUNT(*) FROM u WHERE u.t = t.id) c FROM t".into());
    let steps = (0..STEPS).map(|_| step(random)).collect();
    let shown = vec!["SELECT * FROM t ORDER BY id".into(), "SELECT * FROM u ORDER BY id".into()];
    Story { theme: "views", setup, steps, shown }
}

fn step(random: &mut Random) -> Step {
    let view = one(random, &["v1", "v2", "v5"]);
    let (id, n, s) = (1 + random.below(14), small(random, 9), word(random));
    let ignore = if random.percent(15) { "IGNORE " } else { "" };
    let filter = match random.below(5) {
        0 => format!("n > {}", random.below(6)),
        1 => format!("s = {s}"),
        2 => format!("id = {id}"),
        3 => "n IS NULL".into(),
        _ => format!("n IN (SELECT t FROM u WHERE u.id < {})", 1 + random.below(5)),
    };
    match random.below(20) {
        0..=2 => Step::new(format!("INSERT {ignore}INTO {view} (id, n, s) VALUES ({id}, {n}, {s})")),
        3 => Step::new(format!("INSERT INTO {view} (id, s) VALUES ({id}, {s}) ON DUPLICATE KEY UPDATE s = {s}")),
        4 => Step::new(format!("REPLACE INTO {view} VALUES ({id}, {n}, {s})")),
        5 | 6 => Step::new(format!("UPDATE {ignore}{view} SET n = {n} WHERE {filter}")),
        7 => Step::new(format!("UPDATE {view} SET s = {s}, id = id + 1 WHERE id = {id}")),
        8 => Step::new(format!("DELETE FROM {view} WHERE {filter}")),
        9 => Step::new(format!(
            "UPDATE v4 SET {} WHERE uid = {}",
            one(random, &["n = 3", "x = x + 1", "x = 2, uid = 8", "n = n + 1"]),
            random.below(6)
        )),
        10 => Step::new(one(
            random,
            &[
                "INSERT INTO v4 (uid, x) VALUES (7, 1)",
                "INSERT INTO v4 (id, n) VALUES (11, 4)",
                "INSERT INTO v4 (id, uid) VALUES (12, 12)",
                "DELETE FROM v4 WHERE id = 2",
                "UPDATE v3 SET n = 1",
                "INSERT INTO v6 VALUES (1, 1)",
                "DELETE FROM v7",
                "UPDATE v8 SET id = 20 WHERE id = 5",
                "UPDATE v8 SET c = 2",
            ],
        )),
        11 => Step::new(format!("INSERT INTO u VALUES ({id}, {n}, {})", small(random, 5))),
        12 => Step::ordered(format!("SELECT * FROM {view} WHERE {filter} ORDER BY id")),
        13 => Step::ordered("SELECT * FROM v3 WHERE c > 0 ORDER BY n"),
        14 => Step::ordered(format!("SELECT * FROM v4 WHERE x > {} OR x IS NULL ORDER BY id, uid", random.below(4))),
        15 => Step::ordered(format!(
            "SELECT a.id, b.c, c.c FROM {view} a LEFT JOIN v3 b ON a.n = b.n JOIN v8 c ON c.id = a.id ORDER BY a.id"
        )),
        16 => Step::ordered("SELECT n, COUNT(*) FROM v6 GROUP BY n ORDER BY n"),
        17 => Step::new(format!("UPDATE t, {view} SET t.d = t.d + 1 WHERE t.id = {view}.id AND {view}.{filter}")),
        18 => Step::ordered(format!(
            "SELECT id, c FROM v8 WHERE id IN (SELECT id FROM {view} WHERE {filter}) ORDER BY id"
        )),
        _ => Step::new(format!(
            "INSERT {ignore}INTO {view} (id, n, s) SELECT id + 5, n, s FROM t WHERE {filter} ORDER BY id"
        )),
    }
}
