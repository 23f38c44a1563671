//! Figures of the whole process: what a statement adds to them, nobody else adding.

use crate::common::{Running, rows, run};
use gannet_wire::client::Connection;

#[test]
fn rows_are_counted() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE n");
    run(&mut c, "CREATE TABLE n.t (id INT PRIMARY KEY, k INT, KEY (k))");
    let count = |c: &mut Connection| {
        let all = rows(c, "SHOW GLOBAL STATUS LIKE 'Innodb_rows%'");
        all.iter().map(|r| r[1].parse::<u64>().expect("a number")).collect::<Vec<_>>()
    };
    let step = |c: &mut Connection, sql: &str, more: [u64; 3]| {
        let before = count(c);
        run(c, sql);
        let after = count(c);
        // Deleted, inserted, read, updated.
        let got = [0, 1, 3].map(|i| after[i] - before[i]);
        assert_eq!(got, more, "{sql}");
    };
    step(&mut c, "INSERT INTO n.t VALUES (1, 1), (2, 2), (3, 3), (4, 4)", [0, 4, 0]);
    step(&mut c, "UPDATE n.t SET k = 9 WHERE id = 1", [0, 0, 1]);
    step(&mut c, "UPDATE n.t SET k = k + 1", [0, 0, 4]);
    step(&mut c, "DELETE FROM n.t WHERE id > 2", [2, 0, 0]);
    step(&mut c, "BEGIN", [0, 0, 0]);
    step(&mut c, "INSERT INTO n.t VALUES (7, 7)", [0, 1, 0]);
    step(&mut c, "ROLLBACK", [0, 0, 0]);
    let read = count(&mut c)[2];
    run(&mut c, "SELECT * FROM n.t");
    assert_eq!(count(&mut c)[2] - read, 2);
    let text = rows(&mut c, "SHOW ENGINE INNODB STATUS").remove(0).remove(2);
    let text = text.split("ROW OPERATIONS").nth(1).expect("the section");
    assert!(!text.contains("inserted 0,") && !text.contains("updated 0,") && !text.contains("deleted 0,"), "{text}");
}

#[test]
fn the_servers_own_sessions_are_no_connections() {
    let _alone = crate::alone();
    let r = Running::start();
    let mut c = r.connect();
    let own = r.server().sessions().own("root", "localhost").unwrap();
    assert_eq!(rows(&mut c, "SHOW STATUS LIKE 'Threads_connected'"), [["Threads_connected", "1"]]);
    drop(own);
    let other = r.connect();
    assert_eq!(rows(&mut c, "SHOW STATUS LIKE 'Threads_connected'"), [["Threads_connected", "2"]]);
    drop(other);
}
