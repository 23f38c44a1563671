//! What performance_schema's summaries say of statements and connections.

use crate::common::{Running, error, one, options, rows, run, wait_for};
use gannet_core::tallies::By;
use gannet_core::vars::{Live, VarValue};
use gannet_wire::client::{Arg, Connection, Options};
use gannet_wire::flags::com;
use std::collections::BTreeSet;

/// Statements, and others that have the same digest.
const ALIKE: &[&[&str]] = &[
    &["SELECT 1", "select  2", "SELECT 'a' -- x"],
    &["SELECT a FROM t WHERE a IN (1, 2, 3)", "SELECT a FROM t WHERE a IN (7)"],
    &["INSERT INTO t VALUES (1, 'x'), (2, 'y')", "INSERT INTO t VALUES (3, 'z'), (4, NULL), (5, '')"],
    &["UPDATE t SET b = 'q' WHERE a = 1", "update t set b = null where a = -7"],
    &["SELECT `a`, @x FROM d.t WHERE b LIKE 'ä%' LIMIT 3", "SELECT a, @y FROM d.t WHERE b LIKE '' LIMIT 0"],
    &["CREATE TABLE made (a INT)"],
    &["SET @x = 5", "SET @yy = 'five'"],
    &["SELECT nothing FROM t"],
];

fn digest_of(c: &mut Connection, sql: &str) -> String {
    one(c, &format!("SELECT STATEMENT_DIGEST('{}')", sql.replace('\'', "''")))
}

/// They are made piece by piece: each is there once, alone, in joins, and where a filter leaves whole pieces out.
#[test]
fn many_digests_are_each_there_once() {
    const MANY: usize = 700;
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE d");
    run(&mut c, "USE d");
    (0..MANY).for_each(|i| run(&mut c, &format!("SELECT 1 AS c{i}")));
    let d = "performance_schema.events_statements_summary_by_digest";
    let those = "DIGEST_TEXT LIKE 'SELECT ? AS `c%'";
    let list = rows(&mut c, &format!("SELECT DIGEST_TEXT, COUNT_STAR FROM {d} WHERE {those}"));
    let texts: BTreeSet<&str> = list.iter().map(|row| row[0].as_str()).collect();
    assert_eq!((list.len(), texts.len()), (MANY, MANY));
    assert!(list.iter().all(|row| row[1] == "1"));
    let counted = [
        (format!("SELECT COUNT(*) FROM {d} WHERE {those}"), MANY),
        (format!("SELECT COUNT(*) FROM {d} a JOIN {d} b USING (SCHEMA_NAME, DIGEST) WHERE a.{those}"), MANY),
        (format!("SELECT COUNT(*) FROM {d} WHERE DIGEST_TEXT = 'SELECT ? AS `c{}`'", MANY - 1), 1),
        (format!("SELECT COUNT(*) FROM (SELECT DIGEST FROM {d} WHERE {those} LIMIT 300) l"), 300),
    ];
    for (sql, count) in counted {
        assert_eq!(one(&mut c, &sql), count.to_string(), "{sql}");
    }
}

#[test]
fn a_digest_is_the_statements() {
    let r = Running::start();
    let mut c = r.connect();
    for sql in ["CREATE DATABASE d", "USE d", "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(9))"] {
        run(&mut c, sql);
    }
    for alike in ALIKE {
        alike.iter().for_each(|sql| drop(c.query(sql)));
        let digests: Vec<String> = alike.iter().map(|sql| digest_of(&mut c, sql)).collect();
        let hex = |d: &String| d.len() == 64 && d.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        assert!(digests.iter().all(|d| hex(d) && *d == digests[0]), "{alike:?}: {digests:?}");
        let found = rows(
            &mut c,
            &format!(
                "SELECT COUNT_STAR, DIGEST_TEXT = STATEMENT_DIGEST_TEXT(QUERY_SAMPLE_TEXT), DIGEST = SHA2(DIGEST_TEXT, 256) \
                 FROM performance_schema.events_statements_summary_by_digest \
                 WHERE SCHEMA_NAME = 'd' AND DIGEST = '{}'",
                digests[0]
            ),
        );
        assert_eq!(found, [[alike.len().to_string().as_str(), "1", "1"]], "{alike:?}");
    }
    // Prepared, too.
    let s = c.prepare("SELECT b FROM t WHERE a = ? AND b <> 'x'").unwrap();
    c.execute(&s, &[Arg::Int(1)]).unwrap();
    let digest = digest_of(&mut c, "SELECT b FROM t WHERE a = 5 AND b <> ''");
    let count = format!(
        "SELECT COUNT_STAR FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST = '{digest}'"
    );
    assert_eq!(one(&mut c, &count), "1");
    // What a session holds counts from zero after TRUNCATE.
    for n in [1, 2] {
        run(&mut c, "TRUNCATE performance_schema.events_statements_summary_by_digest");
        assert!(rows(&mut c, &count).is_empty());
        (0..n).for_each(|_| drop(c.execute(&s, &[Arg::Int(1)]).unwrap()));
        assert_eq!(one(&mut c, &count), n.to_string());
    }
    // The text is read in its own character set.
    let latin1 = "SELECT STATEMENT_DIGEST(CONVERT('SELECT `ä`' USING latin1)) = STATEMENT_DIGEST('SELECT `ä`')";
    assert_eq!(one(&mut c, latin1), "1");
}

/// A hash of a text that holds a password tells it to anybody who can guess it.
#[test]
fn texts_that_are_withheld_have_one_digest() {
    let r = Running::start();
    let mut c = r.connect();
    for password in ["hush", "hush_hush"] {
        assert_eq!(error(&mut c, &format!("CREATE USER a IDENTIFIED BY {password}")), 1064);
    }
    let found = rows(
        &mut c,
        "SELECT COUNT_STAR, DIGEST_TEXT, DIGEST = SHA2(DIGEST_TEXT, 256) \
         FROM performance_schema.events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE '<%'",
    );
    assert_eq!(found, [["2", "<a text with an error, which may hold a password>", "1"]]);
}

#[test]
fn truncating_needs_drop() {
    const DIGESTS: &str = "TRUNCATE TABLE performance_schema.events_statements_summary_by_digest";
    const WAITS: &str = "TRUNCATE TABLE performance_schema.events_waits_summary_global_by_event_name";
    let r = Running::start();
    let mut root = r.connect();
    for sql in [
        "CREATE USER u",
        "GRANT SELECT ON performance_schema.events_statements_summary_by_digest TO u",
        "GRANT DROP ON performance_schema.events_waits_summary_global_by_event_name TO u",
        "SET GLOBAL super_read_only = ON",
    ] {
        run(&mut root, sql);
    }
    let mut c = Connection::connect(&r.socket(), &Options { user: "u".into(), ..options() }).unwrap();
    assert_eq!(error(&mut c, DIGESTS), 1142);
    assert_eq!(error(&mut c, "TRUNCATE TABLE performance_schema.setup_actors"), 1142);
    assert_eq!(error(&mut c, "TRUNCATE TABLE performance_schema.nothing"), 1142);
    // It changes no data.
    run(&mut c, WAITS);
    run(&mut root, DIGESTS);
}

/// Users of `performance_schema.TABLE` with their connections now and in all, without those that nobody has.
fn counted(c: &mut Connection, columns: &str, table: &str) -> Vec<Vec<String>> {
    let sql = format!(
        "SELECT {columns}, CURRENT_CONNECTIONS, TOTAL_CONNECTIONS FROM performance_schema.{table} \
         HAVING CONCAT_WS('', {columns}) <> '' ORDER BY 1, 2"
    );
    rows(c, &sql)
}

#[test]
fn connections_that_have_ended_are_remembered() {
    let r = Running::start();
    let mut c = r.connect();
    for sql in
        ["CREATE USER u", "CREATE USER v IDENTIFIED WITH mysql_native_password", "TRUNCATE performance_schema.accounts"]
    {
        run(&mut c, sql);
    }
    // The event scheduler is a connection of its own.
    let scheduler = "SELECT CURRENT_CONNECTIONS FROM performance_schema.accounts
                     WHERE USER = 'event_scheduler' AND HOST = 'localhost'";
    assert_eq!(rows(&mut c, scheduler), [["1"]]);
    run(&mut c, "SET GLOBAL event_scheduler = OFF");
    wait_for("the scheduler's end", || rows(&mut c, scheduler) == [["0"]]);
    for table in ["accounts", "users", "hosts"] {
        run(&mut c, &format!("TRUNCATE performance_schema.{table}"));
    }
    let of = |user: &str| Options { user: user.into(), ..options() };
    let kept = Connection::connect(&r.tcp(), &of("u")).unwrap();
    for _ in 0..3 {
        Connection::connect(&r.socket(), &of("u")).unwrap().quit().unwrap();
    }
    // The row of nobody has the server's threads too, those of other tests' servers among them.
    let nobody = || r.server().shared().registry.tallies.all(By::User)[0].total;
    let before = nobody();
    let wrong = Options { password: "x".into(), ..of("v") };
    assert_eq!(Connection::connect(&r.socket(), &wrong).map(|_| ()).unwrap_err().code(), Some(1045));
    let mut changed = Connection::connect(&r.socket(), &of("u")).unwrap();
    changed.command(com::CHANGE_USER, b"v\0\0\0\x2d\0mysql_native_password\0").unwrap();
    assert_eq!(changed.receive().unwrap()[0], 0);
    // A connection is counted as ended a moment after its client has gone.
    let row = |cells: &[&str]| cells.iter().map(|c| c.to_string()).collect::<Vec<_>>();
    let accounts = [["root", "localhost", "1", "1"], ["u", "localhost", "1", "5"], ["v", "localhost", "1", "1"]];
    let accounts: Vec<_> = accounts.iter().map(|cells| row(cells)).collect();
    let users: Vec<_> = [["root", "1"], ["u", "1"], ["v", "1"]].iter().map(|cells| row(cells)).collect();
    wait_for("the sums of accounts", || counted(&mut c, "USER, HOST", "accounts") == accounts);
    let now: Vec<Vec<String>> = counted(&mut c, "USER", "users").into_iter().map(|r| r[..2].to_vec()).collect();
    assert_eq!(now, users);
    assert_eq!(nobody(), before + 1);
    let of_nobody =
        "SELECT CURRENT_CONNECTIONS > 5, TOTAL_CONNECTIONS > 5 FROM performance_schema.users WHERE USER IS NULL";
    assert_eq!(rows(&mut c, of_nobody), [["1", "1"]]);
    assert_eq!(counted(&mut c, "HOST", "hosts")[0][..2], row(&["localhost", "3"]));

    drop(kept);
    changed.quit().unwrap();
    for (table, columns) in [("accounts", "USER, HOST"), ("users", "USER"), ("hosts", "HOST")] {
        let alone = || row(&[if table == "hosts" { "localhost" } else { "root" }, "1", "1"]);
        wait_for(table, || {
            run(&mut c, &format!("TRUNCATE performance_schema.{table}"));
            let mut seen = counted(&mut c, columns, table);
            seen.iter_mut().filter(|_| table == "accounts").for_each(|r| drop(r.remove(1)));
            seen == [alone()]
        });
    }
    for lost in ["accounts", "users", "hosts", "digest"] {
        let status = format!("SHOW GLOBAL STATUS LIKE 'Performance_schema_{lost}_lost'");
        assert_eq!(rows(&mut c, &status)[0][1], "0");
    }
}

#[test]
fn the_servers_own_threads_are_listed() {
    let r = Running::start();
    let mut c = r.connect();
    let own = rows(
        &mut c,
        "SELECT NAME, THREAD_OS_ID, PROCESSLIST_ID FROM performance_schema.threads WHERE TYPE = 'BACKGROUND'",
    );
    for kind in [
        "thread/sql/main",
        "thread/innodb/log_writer_thread",
        "thread/innodb/log_checkpointer_thread",
        "thread/innodb/page_flush_coordinator_thread",
        "thread/innodb/srv_purge_thread",
        "thread/innodb/dict_stats_thread",
        "thread/gannet/scrubber",
        "thread/gannet/worker",
        "thread/gannet/accept",
    ] {
        let of: Vec<_> = own.iter().filter(|row| row[0] == kind).collect();
        assert!(!of.is_empty(), "{kind}: {own:?}");
        // Other tests' servers may end meanwhile.
        let runs = |id: &str| std::path::Path::new("/proc/self/task").join(id).exists();
        assert!(of.iter().any(|row| runs(&row[1]) && row[2] == "NULL"), "{of:?}");
    }
    let numbers =
        "SELECT COUNT(*) - COUNT(DISTINCT THREAD_ID), SUM(THREAD_ID = CONNECTION_ID()) FROM performance_schema.threads";
    assert_eq!(rows(&mut c, numbers), [["0", "1"]]);
    let tcp = Connection::connect(&r.tcp(), &options()).unwrap();
    let kinds = rows(
        &mut c,
        "SELECT CONNECTION_TYPE, THREAD_OS_ID FROM performance_schema.threads WHERE CONNECTION_TYPE IS NOT NULL ORDER BY THREAD_ID",
    );
    // The event scheduler has none.
    assert_eq!(kinds, [["Socket", "NULL"], ["TCP/IP", "NULL"]]);
    drop(tcp);
}

#[test]
fn a_connection_with_its_own_thread_tells_its_number() {
    let r = Running::configured(|o| o.set(Live::ThreadHandling, VarValue::text("one-thread-per-connection")));
    let sql = "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()";
    let id = one(&mut r.connect(), sql);
    assert!(id.parse::<u32>().is_ok_and(|id| id > 0), "{id}");
}
