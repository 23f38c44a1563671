//! What users were busy with: USER_STATISTICS, CLIENT_STATISTICS, and the processor time of statements.

use crate::common::{Running, error, one, options, rows, run};
use gannet_wire::client::{Connection, Options};

fn login(r: &Running, user: &str) -> Connection {
    Connection::connect(&r.socket(), &Options { user: user.into(), ..options() }).unwrap()
}

fn run_each(c: &mut Connection, statements: &[&str]) {
    statements.iter().for_each(|sql| run(c, sql));
}

#[test]
fn what_users_did() {
    let r = Running::start();
    let mut root = r.connect();
    run_each(
        &mut root,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT PRIMARY KEY, a INT)",
            "CREATE TABLE d.hidden (a INT)",
            "CREATE USER ann@localhost, bob@localhost",
            "GRANT SELECT, INSERT, UPDATE, DELETE ON d.t TO ann@localhost",
            "SET GLOBAL userstat = ON",
        ],
    );
    let mut ann = login(&r, "ann");
    run_each(
        &mut ann,
        &[
            "INSERT INTO d.t VALUES (1, 1), (2, 2), (3, 3)",
            "UPDATE d.t SET a = 9 WHERE id = 1",
            "DELETE FROM d.t WHERE id = 3",
            "BEGIN",
            "INSERT INTO d.t VALUES (4, 4)",
            "ROLLBACK",
            "SET @x = 1",
        ],
    );
    assert_eq!(rows(&mut ann, "SELECT * FROM d.t").len(), 2);
    assert_eq!(rows(&mut ann, "SELECT * FROM d.t WHERE id = 77").len(), 0);
    assert_eq!(error(&mut ann, "SELECT * FROM d.hidden"), 1142);
    // Who may not see others sees nobody.
    assert_eq!(one(&mut ann, "SELECT COUNT(*) FROM information_schema.USER_STATISTICS"), "0");
    ann.quit().unwrap();
    while one(&mut root, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'ann'") != "0" {}
    let wrong = Options { user: "bob".into(), password: "x".into(), ..options() };
    assert_eq!(Connection::connect(&r.socket(), &wrong).unwrap_err().code(), Some(1045));
    let _second = login(&r, "ann");

    const ASK: &str =
        "SELECT TOTAL_CONNECTIONS, CONCURRENT_CONNECTIONS, ROWS_READ, ROWS_SENT, ROWS_DELETED, ROWS_INSERTED,
        ROWS_UPDATED, SELECT_COMMANDS, UPDATE_COMMANDS, OTHER_COMMANDS, ROLLBACK_TRANSACTIONS, DENIED_CONNECTIONS,
        ACCESS_DENIED, EMPTY_QUERIES, BYTES_RECEIVED > 0, BYTES_SENT > 0, BUSY_TIME > 0, CPU_TIME >= 0
        FROM information_schema.USER_STATISTICS WHERE USER = ";
    let figures = |c: &mut Connection, user: &str| rows(c, &format!("{ASK}'{user}'"));
    // Two rows of the scan, one each for UPDATE and DELETE, and one of the count of users; BEGIN and SET are others.
    // Whether processor time is measured is a switch of the process, which another test may have turned.
    let want = ["2", "1", "4", "3", "1", "4", "1", "4", "4", "2", "1", "0", "1", "1", "1", "1", "1", "1"];
    assert_eq!(figures(&mut root, "ann"), [want]);
    let bob = figures(&mut root, "bob").remove(0);
    assert_eq!([&bob[0], &bob[1], &bob[11]], ["0", "0", "1"]);
    let clients = "SELECT CLIENT, TOTAL_CONNECTIONS >= 3, DENIED_CONNECTIONS FROM information_schema.CLIENT_STATISTICS";
    assert_eq!(rows(&mut root, clients), [["localhost", "1", "1"]]);

    run(&mut root, "FLUSH USER_STATISTICS");
    let after = figures(&mut root, "ann").remove(0);
    assert_eq!(after[..10], ["0", "1", "0", "0", "0", "0", "0", "0", "0", "0"]);
    assert_eq!(rows(&mut root, clients), [["localhost", "1", "1"]]);
    run(&mut root, "FLUSH CLIENT_STATISTICS");
    assert_eq!(rows(&mut root, clients), [["localhost", "0", "0"]]);
    run(&mut root, "SET GLOBAL userstat = OFF");
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM information_schema.USER_STATISTICS"), "0");
}

#[test]
fn processor_time_of_statements() {
    let r = Running::start();
    let mut c = r.connect();
    let busy = "SELECT BENCHMARK(300000, SHA1('x'))";
    let of = |c: &mut Connection, sql: &str| {
        let sql = format!(
            "SELECT CPU_TIME DIV 1000000, TIMER_WAIT DIV 1000000 FROM performance_schema.events_statements_history
             WHERE SQL_TEXT = '{}' ORDER BY EVENT_ID DESC LIMIT 1",
            sql.replace('\'', "''")
        );
        let row = rows(c, &sql).remove(0);
        [&row[0], &row[1]].map(|n| n.parse::<u64>().unwrap())
    };
    run(&mut c, busy);
    assert_eq!(of(&mut c, busy)[0], 0);
    let switch = "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME = 'events_statements_cpu'";
    run(&mut c, switch);
    assert_eq!(rows(&mut c, "SHOW WARNINGS").len(), 0);
    run(&mut c, busy);
    let [cpu_us, wall_us] = of(&mut c, busy);
    assert!(cpu_us > 1000 && cpu_us <= wall_us, "{cpu_us} of {wall_us}");
    // Who waits takes none.
    run(&mut c, "SELECT SLEEP(0.2)");
    let [cpu_us, wall_us] = of(&mut c, "SELECT SLEEP(0.2)");
    assert!(wall_us >= 200_000 && cpu_us > 0 && cpu_us < 50_000, "{cpu_us} of {wall_us}");
    // The sums say the same.
    let sums = [
        "events_statements_summary_by_digest WHERE DIGEST_TEXT LIKE 'SELECT `BENCHMARK%'",
        "events_statements_summary_global_by_event_name WHERE EVENT_NAME = 'statement/sql/select'",
        "events_statements_summary_by_user_by_event_name WHERE EVENT_NAME = 'statement/sql/select' AND USER = 'root'",
        "events_statements_summary_by_thread_by_event_name WHERE EVENT_NAME = 'statement/sql/select'",
    ];
    for sum in sums {
        let sql = format!(
            "SELECT SUM(SUM_CPU_TIME) > 1000000000, SUM(SUM_CPU_TIME) <= SUM(SUM_TIMER_WAIT) FROM performance_schema.{sum}"
        );
        assert_eq!(rows(&mut c, &sql), [["1", "1"]], "{sum}");
    }
    // Users' processor time is measured for its own sake, and no more when nobody shows any.
    run(&mut c, "SET GLOBAL userstat = ON");
    run(&mut c, &switch.replace("YES", "NO"));
    const OF_ROOT: &str = "SELECT CPU_TIME FROM information_schema.USER_STATISTICS WHERE USER = 'root'";
    let seconds = |c: &mut Connection| one(c, OF_ROOT).parse::<f64>().unwrap();
    let before = seconds(&mut c);
    run(&mut c, busy);
    assert!(seconds(&mut c) - before > 0.001, "{before}");
    run(&mut c, "SET GLOBAL userstat = OFF");
    run(&mut c, "SELECT 7");
    assert_eq!(of(&mut c, "SELECT 7")[0], 0);
}

/// What a table says of files, sockets and rows, the table of waits says too.
#[test]
fn waits_are_the_same_everywhere() {
    let r = Running::start();
    let mut c = r.connect();
    run_each(
        &mut c,
        &[
            "CREATE DATABASE d",
            "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(300))",
            "TRUNCATE performance_schema.events_waits_summary_global_by_event_name",
            "INSERT INTO d.t (s) VALUES (REPEAT('x', 300)), (REPEAT('y', 300))",
        ],
    );
    // TRUNCATE of the waits was one of the others, too.
    assert_eq!(
        rows(
            &mut c,
            "SELECT COUNT_STAR FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 't'"
        ),
        [["2"]]
    );
    let counted = |c: &mut Connection, table: &str, like: &str| {
        let sql = format!(
            "SELECT EVENT_NAME, COUNT_STAR, SUM_TIMER_WAIT, MAX_TIMER_WAIT FROM performance_schema.{table}
             WHERE EVENT_NAME LIKE '{like}' ORDER BY EVENT_NAME"
        );
        let numbers = |row: Vec<String>| (row[0].clone(), [1, 2, 3].map(|n| row[n].parse::<u64>().unwrap()));
        rows(c, &sql).into_iter().map(numbers).collect::<Vec<_>>()
    };
    let waits = "events_waits_summary_global_by_event_name";
    for (table, like) in
        [("file_summary_by_event_name", "wait/io/file/%"), ("socket_summary_by_event_name", "wait/io/socket/%")]
    {
        // The server goes on writing.
        let [before, between, after] = [table, waits, table].map(|table| counted(&mut c, table, like));
        assert!(!between.is_empty(), "{like}");
        assert!(between.iter().any(|(_, n)| n[0] > 0), "{between:?}");
        assert_eq!((before.len(), after.len()), (between.len(), between.len()), "{between:?}");
        for ((a, b), c) in before.iter().zip(&between).zip(&after) {
            assert_eq!((&a.0, &c.0), (&b.0, &b.0));
            assert!((0..3).all(|n| a.1[n] <= b.1[n] && b.1[n] <= c.1[n]), "{a:?} {b:?} {c:?}");
        }
    }
    let sum = "SELECT SUM(COUNT_STAR) FROM performance_schema.table_io_waits_summary_by_table";
    let rows_of_all = counted(&mut c, waits, "wait/io/table/%").remove(0).1[0];
    assert!(rows_of_all >= 2 && one(&mut c, sum).parse::<u64>().unwrap() >= rows_of_all);
    // No event is there twice, and the one for files goes by the file alone.
    let twice = "SELECT COUNT(*) - COUNT(DISTINCT EVENT_NAME), SUM(EVENT_NAME LIKE 'wait/io/file\\_%')
                 FROM performance_schema.events_waits_summary_global_by_event_name";
    assert_eq!(rows(&mut c, twice), [["0", "0"]]);

    // Files and tablespaces are for those who may see sessions.
    run(&mut c, "CREATE USER ann@localhost");
    let mut ann = login(&r, "ann");
    for table in ["FILES", "INNODB_TABLESPACES", "INNODB_TABLESPACES_BRIEF", "INNODB_DATAFILES", "INNODB_FOREIGN"] {
        assert_eq!(error(&mut ann, &format!("SELECT * FROM information_schema.{table}")), 1227, "{table}");
    }

    // A session's own files: what it sorts has no room in memory.
    run_each(
        &mut c,
        &[
            "SET SESSION cte_max_recursion_depth = 100000",
            "SET GLOBAL temptable_max_ram = 2097152",
            "INSERT INTO d.t (s) WITH RECURSIVE n AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM n WHERE n < 40000)
             SELECT RPAD(SHA1(n), 300, n) FROM n",
        ],
    );
    assert_eq!(
        rows(&mut c, "SELECT COUNT(*) FROM (SELECT s FROM d.t ORDER BY s LIMIT 100000) AS sorted")[0][0],
        "40002"
    );
    let own = "SELECT COUNT_STAR > 0, SUM_TIMER_WAIT > 0
               FROM performance_schema.events_waits_summary_by_thread_by_event_name
               WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND EVENT_NAME = 'wait/io/file/innodb/innodb_temp_file'";
    assert_eq!(rows(&mut c, own), [["1", "1"]]);
    let by_thread = "SELECT user, total > 0 FROM sys.io_by_thread_by_latency WHERE processlist_id = CONNECTION_ID()";
    assert_eq!(rows(&mut c, by_thread), [["root@localhost", "1"]]);
}
