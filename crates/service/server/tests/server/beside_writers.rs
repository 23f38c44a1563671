//! CREATE INDEX while others change the table's rows.

use crate::common::{PATIENCE, Running, error, one, rows, run};
use gannet_wire::client::{Connection, Error};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const INDEX: &str = "CREATE INDEX ia ON t (a)";

pub(super) fn started() -> (Running, Connection) {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    run(&mut c, "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, b VARCHAR(40))");
    run(&mut c, "INSERT INTO t (a, b) VALUES (1, 'one'), (2, 'two'), (3, 'three')");
    for _ in 0..13 {
        run(&mut c, "INSERT INTO t (a, b) SELECT a + 1, b FROM t");
    }
    (r, c)
}

/// The index in the making, beside a transaction of `writer` that has changed the table since it began: it waits for
/// that one's end.
pub(super) fn in_the_making(
    r: &Running,
    writer: &mut Connection,
    before: &'static str,
) -> JoinHandle<std::result::Result<(), Error>> {
    let mut look = r.connect();
    for _ in 0..50 {
        let mut builder = r.connect();
        run(&mut builder, "USE d");
        run(&mut builder, before);
        let making = std::thread::spawn(move || builder.query(INDEX).map(drop));
        let open = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE LOCK_TYPE = 'SHARED_UPGRADABLE'";
        while one(&mut look, open) == "0" && !making.is_finished() {}
        run(writer, "BEGIN");
        run(writer, "INSERT INTO t (a, b) VALUES (-1, 'beside')");
        run(writer, "UPDATE t SET a = -2 WHERE id = 1");
        if !making.is_finished() {
            return making;
        }
        // It was faster.
        run(writer, "ROLLBACK");
        making.join().expect("no panic").expect("an index");
        run(writer, "DROP INDEX ia ON t");
    }
    panic!("no writer came in while an index was built");
}

fn whole(c: &mut Connection) {
    assert_eq!(rows(c, "CHECK TABLE t")[0][3], "OK");
}

#[test]
fn writers_go_on_while_an_index_is_built() {
    let (r, mut writer) = started();
    let making = in_the_making(&r, &mut writer, "DO 0");
    // Nobody sees it yet.
    assert_eq!(error(&mut writer, "SELECT COUNT(*) FROM t FORCE INDEX (ia)"), 1176);
    std::thread::sleep(Duration::from_millis(200));
    assert!(!making.is_finished(), "it does not wait for a transaction that has changed the table");
    run(&mut writer, "COMMIT");
    making.join().expect("no panic").expect("an index");
    assert_eq!(rows(&mut writer, "SELECT id FROM t FORCE INDEX (ia) WHERE a = -2"), [["1"]]);
    assert_eq!(one(&mut writer, "SELECT COUNT(*) FROM t FORCE INDEX (ia) WHERE a = -1"), "1");
    let counts = "SELECT (SELECT COUNT(*) FROM t FORCE INDEX (ia)) - (SELECT COUNT(*) FROM t IGNORE INDEX (ia))";
    assert_eq!(one(&mut writer, counts), "0");
    whole(&mut writer);
}

#[test]
fn an_index_that_may_not_wait_leaves_nothing_behind() {
    let (r, mut writer) = started();
    let making = in_the_making(&r, &mut writer, "SET lock_wait_timeout = 1");
    let failed = making.join().expect("no panic").expect_err("it waits for a second");
    assert_eq!(failed.code(), Some(1205));
    after_a_failure(&mut writer);

    let making = in_the_making(&r, &mut writer, "DO 0");
    let running = format!("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO = '{INDEX}'");
    let mut look = r.connect();
    let id = one(&mut look, &running);
    run(&mut look, &format!("KILL QUERY {id}"));
    let failed = making.join().expect("no panic").expect_err("it is killed");
    assert_eq!(failed.code(), Some(1317));
    after_a_failure(&mut writer);
}

/// The writer's transaction goes on, and so does everything else.
fn after_a_failure(writer: &mut Connection) {
    run(writer, "UPDATE t SET a = -3 WHERE id = 2");
    run(writer, "COMMIT");
    let left = "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE OBJECT_NAME = 't'";
    let begun = Instant::now();
    while one(writer, left) != "0" {
        assert!(begun.elapsed() < PATIENCE, "metadata locks are left");
    }
    assert_eq!(rows(writer, "SHOW INDEX FROM t").len(), 1);
    run(writer, INDEX);
    assert_eq!(rows(writer, "SELECT id FROM t FORCE INDEX (ia) WHERE a = -3"), [["2"]]);
    whole(writer);
    run(writer, "DROP INDEX ia ON t");
}
