//! Stages of long work, as other sessions see them while it goes on.

use crate::beside_writers::{in_the_making, started};
use crate::common::{PATIENCE, Running, error, one, rows, run};
use gannet_server::vars::{Live, VarValue};
use gannet_wire::client::{Connection, Error};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

const CONSUMERS: &str =
    "UPDATE performance_schema.setup_consumers SET ENABLED = 'YES' WHERE NAME LIKE 'events_stages%'";
/// What is under way, with its statement.
const CURRENT: &str = "SELECT stages.THREAD_ID, stages.EVENT_NAME, WORK_COMPLETED, WORK_ESTIMATED, SQL_TEXT \
    FROM performance_schema.events_stages_current AS stages \
    JOIN performance_schema.events_statements_current AS work ON work.THREAD_ID = stages.THREAD_ID \
    AND work.EVENT_ID = stages.NESTING_EVENT_ID ORDER BY 1";

fn number(text: &str) -> u64 {
    text.parse().unwrap_or_else(|_| panic!("{text} is no number"))
}

/// Asks again until there is an answer of so many rows.
fn settled(c: &mut Connection, sql: &str, count: usize) -> Vec<Vec<String>> {
    let until = Instant::now() + PATIENCE;
    loop {
        let found = rows(c, sql);
        if found.len() == count {
            return found;
        }
        assert!(Instant::now() < until, "{sql}: {found:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A statement of a session of its own: the session's number, and how it ends.
fn begun(r: &Running, sql: String) -> (u64, JoinHandle<Result<(), Error>>) {
    let mut c = r.connect();
    run(&mut c, "USE d");
    let id = number(&one(&mut c, "SELECT CONNECTION_ID()"));
    (id, std::thread::spawn(move || c.query(&sql).map(drop)))
}

/// How often a test looks at work that may be over before it has looked.
const TRIES: usize = 20;

#[test]
fn a_build_is_seen_from_beginning_to_end() {
    let (r, mut look) = started();
    for _ in 0..2 {
        run(&mut look, "INSERT INTO t (a, b) SELECT a, b FROM t");
    }
    let count = number(&one(&mut look, "SELECT COUNT(*) FROM t"));
    // Each row is read, and has an entry in each index.
    let all = 3 * count;
    run(&mut look, CONSUMERS);
    let alter = "ALTER TABLE t ADD INDEX ia (a), ADD INDEX ib (b)";
    // Work in part, states that name a stage, and progress.
    let (mut parts, mut states, mut progress) = (0, 0, 0);
    for _ in 0..TRIES {
        run(&mut look, "TRUNCATE performance_schema.events_stages_history_long");
        let (id, build) = begun(&r, alter.into());
        let mut seen = Vec::new();
        while !build.is_finished() {
            for row in rows(&mut look, CURRENT) {
                assert_eq!((number(&row[0]), &*row[4]), (id, alter));
                seen.push((row[1].clone(), number(&row[2]), number(&row[3])));
            }
            let state = format!("SELECT STATE FROM performance_schema.processlist WHERE ID = {id}");
            let staged = |row: &Vec<String>| row[0].starts_with("alter table (");
            states += rows(&mut look, &state).iter().filter(|row| staged(row)).count();
            let sys = format!("SELECT progress FROM sys.x$session WHERE conn_id = {id} AND progress BETWEEN 1 AND 99");
            progress += rows(&mut look, &sys).len();
        }
        build.join().expect("no panic").expect("an index");
        assert!(seen.windows(2).all(|w| w[0].1 <= w[1].1), "{seen:?}");
        assert!(seen.iter().all(|(_, done, estimated)| done <= estimated), "{seen:?}");
        // What is expected is what the statistics of the tree say at first.
        assert!(seen.iter().all(|(_, _, estimated)| estimated.abs_diff(all) <= all / 5), "{all}: {seen:?}");
        parts += seen.iter().filter(|(_, done, _)| *done > 0 && *done < all).count();
        if parts > 1 && states > 0 && progress > 0 {
            break;
        }
        run(&mut look, "ALTER TABLE t DROP INDEX ia, DROP INDEX ib");
    }
    assert!(parts > 1 && states > 0 && progress > 0, "{parts} {states} {progress}");
    assert_eq!(rows(&mut look, CURRENT).len(), 0);
    let kept = "SELECT EVENT_NAME, WORK_COMPLETED, WORK_ESTIMATED FROM performance_schema.events_stages_history_long \
        WHERE EVENT_NAME LIKE 'stage/innodb/%' ORDER BY EVENT_ID";
    let kept = rows(&mut look, kept);
    let last = kept.last().expect("stages");
    assert_eq!(last[..], ["stage/innodb/alter table (end)", &all.to_string(), &all.to_string()], "{kept:?}");
    let begins = kept.first().expect("stages");
    let reads = "stage/innodb/alter table (read PK and internal sort)";
    assert_eq!(begins[..], [reads, &count.to_string(), &all.to_string()]);
}

#[test]
fn a_build_that_is_killed_leaves_no_stage() {
    let (r, mut writer) = started();
    run(&mut writer, CONSUMERS);
    let making = in_the_making(&r, &mut writer, "DO 0");
    // It waits for the writer, and the list of sessions says so rather than what it waits with.
    let mut look = r.connect();
    let waits = "SELECT ID, STATE FROM performance_schema.processlist WHERE INFO LIKE 'CREATE INDEX%' \
        AND STATE = 'Waiting for table metadata lock'";
    let id = settled(&mut look, waits, 1)[0][0].clone();
    let current = rows(&mut look, CURRENT);
    assert_eq!((current.len(), &*current[0][1]), (1, "stage/innodb/alter table (log apply index)"));
    run(&mut look, &format!("KILL QUERY {id}"));
    let ended = making.join().expect("no panic").expect_err("a killed statement");
    assert_eq!(ended.code(), Some(1317));
    assert_eq!(rows(&mut look, CURRENT).len(), 0);
    let ended = "SELECT COUNT(*) FROM performance_schema.events_stages_history_long \
        WHERE EVENT_NAME = 'stage/innodb/alter table (log apply index)' AND END_EVENT_ID IS NOT NULL";
    assert_ne!(one(&mut look, ended), "0");
    let kept = "performance_schema.events_stages_history_long WHERE EVENT_NAME = 'stage/innodb/alter table (end)'";
    assert_eq!(one(&mut look, &format!("SELECT COUNT(*) FROM {kept} AND THREAD_ID = {id}")), "0");
    run(&mut writer, "ROLLBACK");
    // One that is not killed follows the rows of others: two units more than a row and an entry for each.
    run(&mut writer, "TRUNCATE performance_schema.events_stages_history_long");
    let count = number(&one(&mut writer, "SELECT COUNT(*) FROM t"));
    let making = in_the_making(&r, &mut writer, "DO 0");
    run(&mut writer, "COMMIT");
    making.join().expect("no panic").expect("an index");
    let all = (2 * count + 2).to_string();
    let last = format!("SELECT WORK_COMPLETED, WORK_ESTIMATED FROM {kept} ORDER BY TIMER_END DESC LIMIT 1");
    assert_eq!(rows(&mut look, &last), [[all.clone(), all]]);
}

#[test]
fn two_works_at_once_are_two_rows_and_each_account_has_its_own() {
    let (r, mut root) = started();
    run(&mut root, CONSUMERS);
    for user in ["one", "two"] {
        run(&mut root, &format!("CREATE USER {user}"));
        run(&mut root, &format!("GRANT ALL ON d.* TO {user}"));
    }
    let work = |table: &str| format!("CREATE TABLE {table} SELECT id, IF(id > 3000, SLEEP(0.05), 0) AS s FROM t");
    let sessions = [begun(&r, work("first")), begun(&r, work("second"))];
    let current = settled(&mut root, CURRENT, 2);
    for ((id, _), (row, table)) in sessions.iter().zip(current.iter().zip(["first", "second"])) {
        assert_eq!((number(&row[0]), &row[4]), (*id, &work(table)));
        assert_eq!((&*row[1], &*row[3]), ("stage/gannet/load (read and sort)", "NULL"));
        // What a session sleeps for is what it says.
        let asleep = "SELECT 1 FROM performance_schema.processlist WHERE STATE = 'User sleep' AND ID =";
        settled(&mut root, &format!("{asleep} {id}"), 1);
    }
    // TRUNCATE takes them away: they go on, and are nowhere.
    run(&mut root, "TRUNCATE performance_schema.events_stages_current");
    assert_eq!(rows(&mut root, CURRENT).len(), 0);
    for (id, session) in sessions {
        run(&mut root, &format!("KILL {id}"));
        session.join().expect("no panic").expect_err("a killed statement");
    }
    assert_eq!(one(&mut root, "SELECT COUNT(*) FROM performance_schema.events_stages_history_long"), "0");
    // Others see their own.
    let as_user = |user: &str| {
        let options = gannet_wire::client::Options { user: user.into(), ..crate::common::options() };
        Connection::connect(&r.socket(), &options).expect("a login")
    };
    let (mut one_user, mut two_user) = (as_user("one"), as_user("two"));
    let history = "SELECT COUNT(*) FROM performance_schema.events_stages_history";
    run(&mut root, "GRANT SELECT ON performance_schema.* TO one, two");
    run(&mut one_user, "CREATE TABLE d.mine SELECT id FROM d.t");
    assert_ne!(one(&mut one_user, history), "0");
    assert_eq!(one(&mut two_user, history), "0");
    assert_eq!(one(&mut two_user, "SELECT COUNT(*) FROM performance_schema.events_stages_history_long"), "0");
    let sums = "SELECT SUM(COUNT_STAR) FROM performance_schema.events_stages_summary_";
    assert_eq!(error(&mut one_user, &format!("{sums}global_by_event_name")), 1227);
    let of = |root: &mut Connection, by: &str, which: &str| one(root, &format!("{sums}{by}_by_event_name {which}"));
    let parts = of(&mut root, "by_user", "WHERE USER = 'one'");
    assert_ne!(parts, "0");
    assert_eq!(of(&mut root, "by_user", "WHERE USER = 'two'"), "0");
    assert_eq!(of(&mut root, "by_account", "WHERE USER = 'one' AND HOST = 'localhost'"), parts);
    // An account keeps what its sessions did that have ended.
    drop(one_user);
    settled(&mut root, "SELECT 1 FROM performance_schema.users WHERE USER = 'one' AND CURRENT_CONNECTIONS = 0", 1);
    assert_eq!(of(&mut root, "by_user", "WHERE USER = 'one'"), parts);
    assert!(number(&of(&mut root, "by_host", "WHERE HOST = 'localhost'")) > number(&parts));
    run(&mut root, "TRUNCATE performance_schema.events_stages_summary_by_user_by_event_name");
    assert_eq!((of(&mut root, "by_user", ""), of(&mut root, "by_account", "")), ("0".into(), "0".into()));
    assert_ne!(of(&mut root, "by_host", ""), "0");
    assert_ne!(of(&mut root, "global", ""), "0");
    run(&mut root, "TRUNCATE performance_schema.events_stages_summary_global_by_event_name");
    assert_eq!((of(&mut root, "by_host", ""), of(&mut root, "global", "")), ("0".into(), "0".into()));
}

#[test]
fn entries_that_memory_does_not_hold_are_merged() {
    let (_r, mut c) = started();
    run(&mut c, CONSUMERS);
    // More than what a build sorts in.
    run(&mut c, "CREATE TABLE wide (id INT PRIMARY KEY, b VARBINARY(600))");
    run(&mut c, "INSERT INTO wide SELECT id, CONCAT(MD5(id), REPEAT('x', 540)) FROM t WHERE id <= 12000");
    let indexes: Vec<String> = (0..12).map(|n| format!("ADD INDEX i{n} (b)")).collect();
    run(&mut c, &format!("ALTER TABLE wide {}", indexes.join(", ")));
    let stages = "SELECT EVENT_NAME FROM performance_schema.events_stages_history \
        WHERE THREAD_ID = PS_CURRENT_THREAD_ID() AND EVENT_NAME LIKE 'stage/innodb/%' ORDER BY EVENT_ID";
    let names: Vec<String> = rows(&mut c, stages).into_iter().flatten().collect();
    let state = |name: &String| name.replace("stage/innodb/alter table ", "");
    let order = ["(read PK and internal sort)", "(merge sort)", "(insert)", "(log apply index)", "(end)"];
    assert_eq!(names.iter().map(state).collect::<Vec<_>>(), order);
    assert_eq!(rows(&mut c, "CHECK TABLE wide")[0][3], "OK");
}

#[test]
fn of_a_file_it_is_known_how_much_is_left() {
    let dir = std::env::temp_dir().join(format!("gannet-stages-{}", std::process::id()));
    std::fs::create_dir_all(&dir).expect("a folder");
    let r = Running::configured(|o| {
        let dir = std::env::temp_dir().join(format!("gannet-stages-{}", std::process::id()));
        o.set(Live::SecureFilePriv, VarValue::text(&dir.to_string_lossy()));
    });
    let mut look = r.connect();
    run(&mut look, "CREATE DATABASE d");
    run(&mut look, CONSUMERS);
    run(&mut look, "CREATE TABLE d.t (id INT PRIMARY KEY, b VARCHAR(100), KEY (b))");
    let count = 60_000;
    let lines: String = (100_000..100_000 + count).map(|n| format!("{n}\t{}\n", "word ".repeat(n % 3 + 4))).collect();
    let path = dir.join("rows");
    std::fs::write(&path, lines).expect("a file");
    let mut guessed: Vec<u64> = Vec::new();
    for _ in 0..TRIES {
        run(&mut look, "TRUNCATE TABLE d.t");
        run(&mut look, "TRUNCATE performance_schema.events_stages_history_long");
        let (_, load) = begun(&r, format!("LOAD DATA INFILE '{}' INTO TABLE t", path.display()));
        while !load.is_finished() {
            let reads = rows(&mut look, CURRENT).into_iter().filter(|row| number(&row[2]) < count as u64);
            guessed.extend(reads.filter_map(|row| row[3].parse::<u64>().ok()));
        }
        load.join().expect("no panic").expect("rows");
        if !guessed.is_empty() {
            break;
        }
    }
    let _ = std::fs::remove_dir_all(&dir);
    // A row is read, and put into the tree of rows, and so is its entry.
    let all = 3 * count as u64;
    let kept = rows(
        &mut look,
        "SELECT EVENT_NAME, WORK_COMPLETED, WORK_ESTIMATED FROM performance_schema.events_stages_history_long \
            WHERE EVENT_NAME LIKE 'stage/gannet/load%' ORDER BY EVENT_ID",
    );
    assert_eq!(kept[0][..], ["stage/gannet/load (read and sort)", &count.to_string(), &all.to_string()]);
    assert_eq!(kept[1][..], ["stage/gannet/load (insert)", &all.to_string(), &all.to_string()]);
    assert!(!guessed.is_empty());
    assert!(guessed.iter().all(|guess| guess.abs_diff(all) <= all / 10), "{guessed:?}");
}
