//! What SHOW ENGINE INNODB STATUS keeps: the latest deadlock and the latest foreign key error.

use crate::common::{Running, error, one, rows, run};
use gannet_wire::client::Connection;

fn status(c: &mut Connection) -> String {
    let text = rows(c, "SHOW ENGINE INNODB STATUS").remove(0).remove(2);
    text.replace("\\n", "\n")
}

/// A section without its title.
fn section(c: &mut Connection, title: &str) -> String {
    let text = status(c);
    let from = text.find(&format!("\n{title}\n")).unwrap_or_else(|| panic!("{title}: {text}")) + title.len() + 2;
    let rest = &text[from..];
    let rest = &rest[rest.find('\n').map_or(0, |i| i + 1)..];
    rest[..rest.find("\n---").map_or(rest.len(), |i| i + 1)].to_owned()
}

/// Two transactions that wait for each other. Returns the error of the one that was rolled back.
fn collide(r: &Running, first: [&str; 2], second: [&str; 2]) -> (u16, bool) {
    let (mut a, mut b) = (r.connect(), r.connect());
    run(&mut a, "BEGIN");
    run(&mut b, "BEGIN");
    run(&mut a, first[0]);
    run(&mut b, second[0]);
    let (a, b) = std::thread::scope(|scope| {
        let waits = scope.spawn(|| a.query(first[1]).map(drop).map_err(|e| e.code()));
        let mut c = r.connect();
        while one(&mut c, "SELECT COUNT(*) FROM performance_schema.data_lock_waits") == "0" {
            std::thread::yield_now();
        }
        let b = b.query(second[1]).map(drop).map_err(|e| e.code());
        (waits.join().expect("a thread"), b)
    });
    match (a, b) {
        (Err(Some(code)), Ok(())) => (code, true),
        (Ok(()), Err(Some(code))) => (code, false),
        both => panic!("{both:?}"),
    }
}

#[test]
fn a_deadlock_names_statements_tables_and_keys() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "CREATE TABLE d.t (id INT PRIMARY KEY, k INT, s VARCHAR(20), KEY by_k (k))");
    run(&mut c, "INSERT INTO d.t VALUES (1, 10, 'a'), (2, 20, 'b')");
    let updates = |i: u32| format!("UPDATE d.t SET s = 'from{i}' WHERE id = {i}");
    let (one_, two) = (updates(1), updates(2));
    // Readers of the report take the title for a deadlock.
    assert!(!status(&mut c).contains("LATEST DETECTED DEADLOCK"));
    let (code, _) = collide(&r, [&one_, &two], [&two, &one_]);
    assert_eq!(code, 1213);
    let report = section(&mut c, "LATEST DETECTED DEADLOCK");
    for says in [
        "*** (1) TRANSACTION:",
        "*** (2) TRANSACTION:",
        "MySQL thread id",
        "localhost root",
        &one_,
        &two,
        "page no 0 n bits 0 index PRIMARY of table `d`.`t` trx id ",
        "lock_mode X locks rec but not gap waiting",
        "hex 80000001;",
        "hex 80000002;",
        "*** WE ROLL BACK TRANSACTION (",
    ] {
        assert!(report.contains(says), "{says}: {report}");
    }
    assert_eq!(report.matches("MySQL thread id").count(), 2, "{report}");
    // By explicit locks, in a secondary index.
    let reads = |k: u32| format!("SELECT * FROM d.t FORCE INDEX (by_k) WHERE k = {k} FOR UPDATE");
    let (one_, two) = (reads(10), reads(20));
    let (code, _) = collide(&r, [&one_, &two], [&two, &one_]);
    assert_eq!(code, 1213);
    let report = section(&mut c, "LATEST DETECTED DEADLOCK");
    for says in [&one_[..], &two, "index by_k of table `d`.`t`"] {
        assert!(report.contains(says), "{says}: {report}");
    }
    // The report outlives the table, without its name.
    run(&mut c, "DROP TABLE d.t");
    assert!(section(&mut c, "LATEST DETECTED DEADLOCK").contains(&two));
}

#[test]
fn a_foreign_key_error_names_statement_constraint_tables_and_key() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE f");
    assert!(!status(&mut c).contains("LATEST FOREIGN KEY ERROR"));
    run(&mut c, "CREATE TABLE f.p (id INT PRIMARY KEY, n VARCHAR(9), UNIQUE (n))");
    run(
        &mut c,
        "CREATE TABLE f.c (id INT PRIMARY KEY, pid INT, pn VARCHAR(9), KEY by_p (pid), \
         CONSTRAINT has_parent FOREIGN KEY (pid) REFERENCES f.p (id), CONSTRAINT has_name FOREIGN KEY (pn) REFERENCES f.p (n))",
    );
    run(&mut c, "INSERT INTO f.p VALUES (1, 'one')");
    run(&mut c, "INSERT INTO f.c VALUES (1, 1, NULL)");
    let says = |c: &mut Connection, sql: &str, code: u16, all: &[&str]| {
        assert_eq!(error(c, sql), code, "{sql}");
        let report = section(c, "LATEST FOREIGN KEY ERROR");
        for text in all.iter().chain(&[sql, "localhost root", "for table `f`.`c`"]) {
            assert!(report.contains(text), "{text}: {report}");
        }
    };
    let parent = "CONSTRAINT `has_parent` FOREIGN KEY (`pid`) REFERENCES `p` (`id`)";
    let all =
        [parent, "Trying to add in child table, in index by_p tuple:", "hex", "80000005", "in parent table `f`.`p`"];
    says(&mut c, "INSERT INTO f.c VALUES (2, 5, NULL)", 1452, &all);
    let all =
        [parent, "Trying to delete or update in parent table", "80000001", "in child table `f`.`c`, in index by_p"];
    says(&mut c, "DELETE FROM f.p WHERE id = 1", 1451, &all);
    says(&mut c, "UPDATE f.p SET id = 9 WHERE id = 1", 1451, &all);
    let named = "CONSTRAINT `has_name` FOREIGN KEY (`pn`) REFERENCES `p` (`n`)";
    says(&mut c, "UPDATE f.c SET pn = 'none' WHERE id = 1", 1452, &[named, "`f`.`p`"]);
    // What is allowed leaves the report as it is.
    run(&mut c, "DELETE FROM f.c");
    assert!(section(&mut c, "LATEST FOREIGN KEY ERROR").contains("pn = 'none'"));
}
