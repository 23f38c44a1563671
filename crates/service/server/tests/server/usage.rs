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
