//! The last step of online schema changes, as gh-ost and pt-online-schema-change take it, with sessions that write all
//! the while; and other definitions under LOCK TABLES for which somebody waits.

use crate::common::{PATIENCE, Running, error, one, options, rows, run};
use gannet_wire::client::Connection;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

fn connect(r: &Running) -> Connection {
    let mut c = Connection::connect(&r.socket(), &options()).expect("it connects");
    run(&mut c, "USE d");
    run(&mut c, "SET lock_wait_timeout = 300");
    c
}

/// A statement of a session of its own; returns when it waits for a metadata lock.
fn waits<'s>(
    s: &'s std::thread::Scope<'s, '_>,
    r: &'s Running,
    watcher: &mut Connection,
    sql: &'s str,
) -> ScopedJoinHandle<'s, u16> {
    let handle = s.spawn(move || error(&mut connect(r), sql));
    let until = Instant::now() + PATIENCE;
    // The words by which gh-ost looks for its RENAME.
    let waiting = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() \
         AND STATE LIKE '%metadata lock%' AND INFO = '{sql}'"
    );
    while one(watcher, &waiting) == "0" {
        assert!(Instant::now() < until, "{sql} does not wait");
        assert!(!handle.is_finished(), "{sql} does not wait");
        std::thread::sleep(Duration::from_millis(2));
    }
    handle
}

fn world() -> Running {
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)",
        "INSERT INTO t VALUES (1, 1), (2, 2)",
        "CREATE TABLE _t_gho (id INT AUTO_INCREMENT PRIMARY KEY, v INT, more INT)",
        "INSERT INTO _t_gho (id, v) SELECT id, v FROM t",
    ] {
        run(&mut root, sql);
    }
    r
}

/// gh-ost: the holder drops the sentry and unlocks while the RENAME of another session waits; the RENAME comes before
/// the writers, of whom some came first.
#[test]
fn the_atomic_cut_over() {
    for round in 0..5 {
        let r = world();
        let (mut watcher, mut holder, mut magic) = (connect(&r), connect(&r), connect(&r));
        run(&mut holder, "DO GET_LOCK('gh-ost.1.lock', 0)");
        run(&mut holder, "SET SESSION lock_wait_timeout = 60");
        run(
            &mut holder,
            "CREATE TABLE _t_del (id INT AUTO_INCREMENT PRIMARY KEY) ENGINE = InnoDB COMMENT = 'ghost-cut-over-sentry'",
        );
        run(&mut holder, "LOCK /* gh-ost */ TABLES d.t WRITE, d._t_del WRITE");
        std::thread::scope(|s| {
            let early = waits(s, &r, &mut watcher, "INSERT INTO t (v) VALUES (10)");
            // What the copy lacks is written to it, which nobody has locked.
            run(&mut magic, "INSERT INTO _t_gho (id, v) VALUES (3, 3)");
            let rename = waits(s, &r, &mut watcher, "RENAME TABLE t TO _t_del, _t_gho TO t");
            let late = waits(s, &r, &mut watcher, "INSERT INTO t (v) VALUES (11)");
            let reader = waits(s, &r, &mut watcher, "SELECT * FROM t");
            assert_eq!(one(&mut watcher, "SELECT IS_USED_LOCK('gh-ost.1.lock') IS NOT NULL"), "1");
            run(&mut holder, "DROP TABLE IF EXISTS _t_del");
            if round % 2 == 0 {
                // Enough for the RENAME to go on to the next table it waits for.
                std::thread::sleep(Duration::from_millis(20));
            }
            run(&mut holder, "UNLOCK TABLES");
            for waiting in [rename, early, late, reader] {
                assert_eq!(waiting.join().unwrap(), 0);
            }
        });
        // All that was written is in the new table, nothing in the old one.
        assert_eq!(rows(&mut watcher, "SELECT id, v FROM _t_del"), [["1", "1"], ["2", "2"]]);
        let written = rows(&mut watcher, "SELECT v, more FROM t WHERE id > 3 ORDER BY v");
        assert_eq!(written, [["10", "NULL"], ["11", "NULL"]]);
        assert_eq!(one(&mut watcher, "SELECT COUNT(*) FROM t"), "5");
    }
}

/// gh-ost gives up: without the DROP the RENAME fails, as the sentry's name is taken, and writers go on in the old
/// table.
#[test]
fn a_cut_over_that_is_given_up() {
    let r = world();
    let (mut watcher, mut holder) = (connect(&r), connect(&r));
    run(&mut holder, "CREATE TABLE _t_del (id INT)");
    run(&mut holder, "LOCK TABLES t WRITE, _t_del WRITE");
    std::thread::scope(|s| {
        let writer = waits(s, &r, &mut watcher, "INSERT INTO t (v) VALUES (10)");
        let rename = waits(s, &r, &mut watcher, "RENAME TABLE t TO _t_del, _t_gho TO t");
        // The holder's session is lost.
        drop(holder);
        assert_eq!(rename.join().unwrap(), 1050);
        assert_eq!(writer.join().unwrap(), 0);
    });
    assert_eq!(one(&mut watcher, "SELECT COUNT(*) FROM t WHERE v = 10"), "1");
}

/// pt-online-schema-change: RENAME of both tables while transactions are open on the old one and others come.
#[test]
fn the_swap_of_two_tables() {
    let r = world();
    let (mut watcher, mut open) = (connect(&r), connect(&r));
    run(&mut open, "BEGIN");
    run(&mut open, "UPDATE t SET v = 20 WHERE id = 2");
    std::thread::scope(|s| {
        let swap = waits(s, &r, &mut watcher, "RENAME TABLE `d`.`t` TO `d`.`_t_old`, `d`.`_t_gho` TO `d`.`t`");
        let writer = waits(s, &r, &mut watcher, "INSERT INTO t (v) VALUES (10)");
        // The open transaction goes on with its table.
        run(&mut open, "INSERT INTO t (v) VALUES (5)");
        run(&mut open, "COMMIT");
        assert_eq!(swap.join().unwrap(), 0);
        assert_eq!(writer.join().unwrap(), 0);
    });
    assert_eq!(rows(&mut watcher, "SELECT v FROM _t_old"), [["1"], ["20"], ["5"]]);
    assert_eq!(one(&mut watcher, "SELECT COUNT(*) FROM t WHERE v = 10"), "1");
    run(&mut watcher, "DROP TABLE IF EXISTS `d`.`_t_old`");
}

/// Whoever has locked tables for writing may define each of them anew, whatever other definition waits for it.
#[test]
fn the_holder_goes_first() {
    const DEFINITIONS: [&str; 9] = [
        "ALTER TABLE {} ADD w INT",
        "ALTER TABLE {} ADD INDEX (v), ALGORITHM = INPLACE",
        "ALTER TABLE {} FORCE",
        "CREATE INDEX k ON {} (v)",
        "TRUNCATE TABLE {}",
        "RENAME TABLE {} TO moved",
        "DROP TABLE {}",
        "ANALYZE TABLE {}",
        "OPTIMIZE TABLE {}",
    ];
    for (table, other) in [("t", "_t_gho"), ("_t_gho", "t")] {
        for definition in DEFINITIONS {
            for waiting in ["ALTER TABLE {} ADD x INT", "DROP TABLE {}", "RENAME TABLE {} TO away", "TRUNCATE TABLE {}"]
            {
                // One server for all takes a tenth of the time.
                static WORLD: std::sync::OnceLock<Running> = std::sync::OnceLock::new();
                let r = WORLD.get_or_init(world);
                let (mut watcher, mut holder) = (connect(r), connect(r));
                for sql in [
                    "DROP TABLE IF EXISTS t, _t_gho, moved, away",
                    "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
                    "CREATE TABLE _t_gho (id INT PRIMARY KEY, v INT)",
                ] {
                    run(&mut watcher, sql);
                }
                let (own, foreign) = (definition.replace("{}", table), waiting.replace("{}", table));
                let foreign: &str = foreign.leak();
                run(&mut holder, "LOCK TABLES t WRITE, _t_gho WRITE");
                std::thread::scope(|s| {
                    let waits = waits(s, r, &mut watcher, foreign);
                    assert_eq!(error(&mut holder, &own), 0, "{own}, for which {foreign} waits");
                    assert_eq!(error(&mut holder, &format!("SELECT * FROM {other}")), 0, "{own}");
                    run(&mut holder, "UNLOCK TABLES");
                    let left = waits.join().unwrap();
                    let gone = own.starts_with("DROP") || own.starts_with("RENAME");
                    let expected: &[u16] = if gone { &[1146, 1051] } else { &[0] };
                    assert!(expected.contains(&left), "{foreign} behind {own}: {left}");
                });
            }
        }
    }
}

/// LOCK TABLES waits for a definition, and has the table that is there afterwards.
#[test]
fn locks_are_of_the_table_that_is_there() {
    let r = world();
    let (mut watcher, mut holder) = (connect(&r), connect(&r));
    run(&mut holder, "LOCK TABLES t WRITE, _t_gho WRITE");
    std::thread::scope(|s| {
        let swap = waits(s, &r, &mut watcher, "RENAME TABLE t TO old, _t_gho TO t");
        let locks = s.spawn(|| {
            let mut c = connect(&r);
            run(&mut c, "LOCK TABLES t READ");
            let seen = rows(&mut c, "SELECT COUNT(*), MAX(more) FROM t");
            (seen, error(&mut c, "SELECT * FROM old"))
        });
        std::thread::sleep(Duration::from_millis(20));
        run(&mut holder, "UNLOCK TABLES");
        assert_eq!(swap.join().unwrap(), 0);
        let (seen, other) = locks.join().unwrap();
        assert_eq!(seen, [["2", "NULL"]]);
        assert_eq!(other, 1100);
    });
}

/// What is locked for reading is refused at once, and DROP DATABASE does not hold what the holder's definitions need.
#[test]
fn a_definition_is_refused_while_others_wait() {
    let r = world();
    let (mut watcher, mut holder) = (connect(&r), connect(&r));
    run(&mut holder, "LOCK TABLES t READ");
    std::thread::scope(|s| {
        let other = waits(s, &r, &mut watcher, "ALTER TABLE t ADD COLUMN other INT");
        assert_eq!(error(&mut holder, "ALTER TABLE t ADD COLUMN own INT"), 1099);
        assert_eq!(error(&mut holder, "DROP TABLE _t_gho"), 1100);
        run(&mut holder, "UNLOCK TABLES");
        assert_eq!(other.join().expect("no panic"), 0);
    });
    run(&mut holder, "LOCK TABLES t WRITE");
    std::thread::scope(|s| {
        let other = waits(s, &r, &mut watcher, "DROP DATABASE d");
        for sql in ["ALTER TABLE t ADD COLUMN own INT", "TRUNCATE TABLE t", "DROP TABLE t"] {
            assert_eq!(error(&mut holder, sql), 0, "{sql}");
        }
        run(&mut holder, "UNLOCK TABLES");
        assert_eq!(other.join().expect("no panic"), 0);
    });
}

/// CHECKSUM TABLE that waits for a definition reads the table that there is then, or says that there is none.
#[test]
fn a_checksum_behind_a_definition() {
    let r = world();
    let (mut watcher, mut holder) = (connect(&r), connect(&r));
    let before = rows(&mut watcher, "CHECKSUM TABLE t");
    for definition in ["ALTER TABLE t ADD COLUMN extra INT DEFAULT 7 FIRST", "ALTER TABLE t DROP COLUMN extra"] {
        run(&mut holder, "LOCK TABLES t WRITE");
        std::thread::scope(|s| {
            let sum = waits(s, &r, &mut watcher, "CHECKSUM TABLE t");
            run(&mut holder, definition);
            run(&mut holder, "UNLOCK TABLES");
            assert_eq!(sum.join().unwrap(), 0);
        });
    }
    assert_eq!(rows(&mut watcher, "CHECKSUM TABLE t"), before);
}
