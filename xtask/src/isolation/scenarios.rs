//! The anomalies as named steps.
//!
//! The names are those of Berenson et al., "A Critique of ANSI SQL Isolation Levels" (1995), and Adya's thesis (1999).
//! Every session has begun a transaction before its first step; a snapshot is made by the first read. The table and its
//! rows: see [`TABLE`].

/// Tables, their rows, and what is looked at in the end.
pub(super) struct Scene {
    pub(super) tables: &'static [&'static str],
    /// By name: they are emptied before a play.
    pub(super) names: &'static [&'static str],
    pub(super) rows: &'static [&'static str],
    pub(super) left: &'static [&'static str],
}

/// The table `t` of every scenario: three rows with room between and behind them.
pub(super) const TABLE: Scene = Scene {
    tables: &["CREATE TABLE t (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY (k)) ENGINE=InnoDB"],
    names: &["t"],
    rows: &["INSERT INTO t VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)"],
    left: &["SELECT id, k, v FROM t ORDER BY id"],
};

/// The tables of random plays; the first of each scene has columns and rows as `t` has.
pub(super) const SCENES: &[Scene] = &[
    TABLE,
    Scene {
        tables: &["CREATE TABLE parts (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k)) ENGINE=InnoDB \
                   PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (2), PARTITION p1 VALUES LESS THAN (4), PARTITION \
                   p2 VALUES LESS THAN MAXVALUE)"],
        names: &["parts"],
        rows: &["INSERT INTO parts VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)"],
        left: &["SELECT id, k, v FROM parts ORDER BY id"],
    },
    Scene {
        tables: &[
            "CREATE TABLE twice (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, UNIQUE KEY k (k)) ENGINE=InnoDB",
        ],
        names: &["twice"],
        rows: &["INSERT INTO twice VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)"],
        left: &["SELECT id, k, v FROM twice ORDER BY id"],
    },
    Scene {
        tables: &[
            "CREATE TABLE parent (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k)) ENGINE=InnoDB",
            "CREATE TABLE child (id INT PRIMARY KEY, p INT, v INT NOT NULL, KEY p (p), FOREIGN KEY (p) REFERENCES parent (id) \
             ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
        ],
        names: &["child", "parent"],
        rows: &[
            "INSERT INTO parent VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)",
            "INSERT INTO child VALUES (1, 1, 1), (3, 2, 1), (5, 2, 1), (7, NULL, 1)",
        ],
        left: &["SELECT id, k, v FROM parent ORDER BY id", "SELECT id, p, v FROM child ORDER BY id"],
    },
    Scene {
        tables: &[
            "CREATE TABLE told (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k)) ENGINE=InnoDB",
            "CREATE TABLE tale (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB",
            "CREATE TRIGGER told_bu BEFORE UPDATE ON told FOR EACH ROW UPDATE tale SET n = n + 1 WHERE id = NEW.id % 2",
            "CREATE TRIGGER told_ad AFTER DELETE ON told FOR EACH ROW UPDATE tale SET n = n + 10 WHERE id = OLD.id % 2",
            "CREATE TRIGGER told_bi BEFORE INSERT ON told FOR EACH ROW UPDATE tale SET n = n + 5 WHERE id = NEW.id % 2",
        ],
        names: &["told", "tale"],
        rows: &["INSERT INTO tale VALUES (0, 0), (1, 0)", "INSERT INTO told VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)"],
        left: &["SELECT id, k, v FROM told ORDER BY id", "SELECT id, n FROM tale ORDER BY id"],
    },
    Scene {
        tables: &[
            "CREATE TABLE pair (id INT PRIMARY KEY, k INT NOT NULL, v INT, KEY k (k)) ENGINE=InnoDB",
            "CREATE TABLE mate (id INT PRIMARY KEY, k INT NOT NULL, v INT NOT NULL, KEY k (k)) ENGINE=InnoDB",
            "CREATE PROCEDURE pair_if(m INT, n INT) IF (SELECT v FROM mate WHERE id = m) > 15 THEN              UPDATE pair SET v = v + 3 WHERE id = n; ELSE SELECT m, n; END IF",
            "CREATE FUNCTION pair_return(m INT) RETURNS INT DETERMINISTIC READS SQL DATA              RETURN (SELECT v FROM mate WHERE id = m)",
            "CREATE FUNCTION pair_into(m INT) RETURNS INT DETERMINISTIC READS SQL DATA              BEGIN DECLARE x INT; SELECT MAX(v) INTO x FROM mate WHERE id = m; RETURN x; END",
        ],
        names: &["pair", "mate"],
        rows: &[
            "INSERT INTO mate VALUES (1, 1, 10), (2, 2, 20), (4, 4, 40)",
            "INSERT INTO pair VALUES (1, 1, 1), (2, 2, 2), (4, 4, 4)",
        ],
        left: &["SELECT id, k, v FROM pair ORDER BY id", "SELECT id, k, v FROM mate ORDER BY id"],
    },
];

/// The levels.
pub(super) const LEVELS: [&str; 4] = ["READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"];

/// A way of reading: its name and the words behind the SELECT.
pub(super) type Read = (&'static str, &'static str);

const PLAIN: Read = ("plain", "");
const SHARE: Read = ("share", " LOCK IN SHARE MODE");
const UPDATE: Read = ("update", " FOR UPDATE");
const NOWAIT: Read = ("nowait", " FOR UPDATE NOWAIT");
const SKIP: Read = ("skip", " FOR UPDATE SKIP LOCKED");

const USUAL: &[Read] = &[PLAIN, SHARE, UPDATE];
const EVERY: &[Read] = &[PLAIN, SHARE, UPDATE, NOWAIT, SKIP];
/// For scenarios without a read of their own.
const NONE: &[Read] = &[("no", "")];

/// Sessions and their steps; all orders of the steps are taken. A step that begins with SELECT gets the way of reading
/// behind it.
pub(super) struct Scenario {
    pub(super) name: &'static str,
    pub(super) reads: &'static [Read],
    /// The steps of A, B, C.
    pub(super) sessions: &'static [&'static [&'static str]],
}

const R1: &str = "SELECT v FROM t WHERE id = 1";
const R2: &str = "SELECT v FROM t WHERE id = 2";
const ALL: &str = "SELECT id, v FROM t FORCE INDEX (PRIMARY) WHERE id >= 2 ORDER BY id";
const RANGE: &str = "SELECT k, v FROM t FORCE INDEX (k) WHERE k BETWEEN 2 AND 4 ORDER BY k";
const W1: &str = "UPDATE t SET v = v + 100 WHERE id = 1";
const W2: &str = "UPDATE t SET v = v + 100 WHERE id = 2";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// All of them.
pub(super) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "dirty write (G0)",
        reads: NONE,
        sessions: &[&[W1, W2, COMMIT], &["UPDATE t SET v = 7 WHERE id = 1", "UPDATE t SET v = 7 WHERE id = 2", COMMIT]],
    },
    Scenario {
        name: "dirty write, crosswise",
        reads: NONE,
        sessions: &[&[W1, W2, COMMIT], &["UPDATE t SET v = 7 WHERE id = 2", "UPDATE t SET v = 7 WHERE id = 1", COMMIT]],
    },
    Scenario {
        name: "dirty write, taken back",
        reads: NONE,
        sessions: &[&[W1, ROLLBACK], &["UPDATE t SET v = v + 1 WHERE id = 1", COMMIT]],
    },
    Scenario { name: "aborted read (G1a)", reads: USUAL, sessions: &[&[W1, ROLLBACK], &[R1, R1, COMMIT]] },
    Scenario { name: "intermediate read (G1b)", reads: USUAL, sessions: &[&[W1, W1, COMMIT], &[R1, COMMIT]] },
    Scenario {
        name: "circular information flow (G1c)",
        reads: USUAL,
        sessions: &[&[W1, R2, COMMIT], &[W2, R1, COMMIT]],
    },
    Scenario {
        name: "observed transaction vanishes",
        reads: &[PLAIN],
        sessions: &[&[W1, COMMIT], &["UPDATE t SET v = 7 WHERE id = 1", COMMIT], &[R1, R1]],
    },
    Scenario { name: "fuzzy read", reads: EVERY, sessions: &[&[R1, R1, COMMIT], &[W1, COMMIT]] },
    Scenario {
        name: "phantom",
        reads: EVERY,
        sessions: &[&[ALL, ALL, COMMIT], &["INSERT INTO t VALUES (3, 3, 30)", COMMIT]],
    },
    Scenario {
        name: "phantom behind the last row",
        reads: USUAL,
        sessions: &[&[ALL, ALL, COMMIT], &["INSERT INTO t VALUES (9, 9, 90)", COMMIT]],
    },
    Scenario {
        name: "phantom in an index",
        reads: EVERY,
        sessions: &[&[RANGE, RANGE, COMMIT], &["INSERT INTO t VALUES (9, 3, 90)", COMMIT]],
    },
    Scenario {
        name: "phantom in an index whose row is held",
        reads: USUAL,
        sessions: &[
            &[W2, "INSERT INTO t VALUES (3, 3, 30)", COMMIT],
            &["SELECT k, v FROM t FORCE INDEX (k) WHERE k = 2", COMMIT],
        ],
    },
    Scenario {
        name: "replaced row whose entry stays",
        reads: NONE,
        sessions: &[
            &["DELETE FROM t WHERE id = 2", ROLLBACK],
            &["REPLACE INTO t VALUES (2, 2, 2)", COMMIT],
            &["UPDATE t FORCE INDEX (k) SET v = v + 1 WHERE k > 1", COMMIT],
        ],
    },
    Scenario {
        name: "phantom before a row that is held",
        // Who has waited sees at READ COMMITTED what came before the row meanwhile, unlike InnoDB's.
        reads: &[NOWAIT, SKIP],
        sessions: &[
            &["UPDATE t SET v = v + 1 WHERE id = 4", "INSERT INTO t VALUES (3, 3, 30)", COMMIT],
            &[ALL, ALL, COMMIT],
        ],
    },
    Scenario {
        name: "phantom by a changed key",
        reads: USUAL,
        sessions: &[&[RANGE, RANGE, COMMIT], &["UPDATE t SET k = 3 WHERE id = 1", COMMIT]],
    },
    Scenario {
        name: "phantom by a deletion",
        reads: USUAL,
        sessions: &[&[ALL, ALL, COMMIT], &["DELETE FROM t WHERE id = 4", COMMIT]],
    },
    Scenario {
        name: "phantom made visible by an update",
        reads: USUAL,
        sessions: &[
            &[ALL, "UPDATE t SET v = v + 1 WHERE id >= 2", ALL, COMMIT],
            &["INSERT INTO t VALUES (3, 3, 30)", COMMIT],
        ],
    },
    Scenario {
        name: "absent row read, then inserted",
        reads: USUAL,
        sessions: &[
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 3, 31)", COMMIT],
            &["SELECT v FROM t WHERE id = 3", "INSERT INTO t VALUES (3, 3, 32)", COMMIT],
        ],
    },
    Scenario {
        name: "lost update",
        reads: EVERY,
        sessions: &[
            &[R1, "UPDATE t SET v = 11 WHERE id = 1", COMMIT],
            &[R1, "UPDATE t SET v = 12 WHERE id = 1", COMMIT],
        ],
    },
    Scenario { name: "read skew (G-single)", reads: EVERY, sessions: &[&[R1, R2, COMMIT], &[W1, W2, COMMIT]] },
    Scenario {
        name: "read skew by a writing predicate",
        reads: USUAL,
        sessions: &[&[R1, "DELETE FROM t WHERE v = 20", COMMIT], &[W1, W2, COMMIT]],
    },
    Scenario { name: "write skew (G2-item)", reads: USUAL, sessions: &[&[R2, W1, COMMIT], &[R1, W2, COMMIT]] },
    Scenario {
        name: "write skew by predicate (G2)",
        reads: USUAL,
        sessions: &[
            &[RANGE, "INSERT INTO t VALUES (8, 3, 80)", COMMIT],
            &[RANGE, "INSERT INTO t VALUES (9, 3, 90)", COMMIT],
        ],
    },
    Scenario {
        name: "same key inserted",
        reads: NONE,
        sessions: &[&["INSERT INTO t VALUES (3, 3, 31)", COMMIT], &["INSERT INTO t VALUES (3, 3, 32)", COMMIT]],
    },
    Scenario {
        name: "same key inserted, taken back",
        reads: NONE,
        sessions: &[&["INSERT INTO t VALUES (3, 3, 31)", ROLLBACK], &["INSERT INTO t VALUES (3, 3, 32)", COMMIT]],
    },
    Scenario {
        name: "deleted and inserted",
        reads: NONE,
        sessions: &[&["DELETE FROM t WHERE id = 2", COMMIT], &["INSERT INTO t VALUES (2, 2, 22)", COMMIT]],
    },
    Scenario {
        name: "writers that scan",
        reads: NONE,
        sessions: &[&["UPDATE t SET v = v + 1 WHERE v = 10", COMMIT], &["UPDATE t SET v = v + 1 WHERE v = 20", COMMIT]],
    },
    Scenario {
        name: "queue",
        reads: &[SKIP],
        sessions: &[
            &["SELECT id FROM t LIMIT 1", "DELETE FROM t WHERE id = 1", COMMIT],
            &["SELECT id FROM t LIMIT 1", "SELECT id FROM t", COMMIT],
        ],
    },
];
