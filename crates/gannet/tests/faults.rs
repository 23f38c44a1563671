//! The whole server where something is wrong with its files: it refuses to start with a sentence that says why, or
//! takes out only what is damaged, and loses nothing.

mod common;
#[path = "dump/mod.rs"]
mod dump;

use common::{Dir, Server, one};
use gannet_wire::client::Connection;
use std::time::{Duration, Instant};
use std::{fs, os::unix::fs::FileExt, path::Path};

const PAGE: usize = 16384;

/// A store with two tables of a few hundred leaves, closed in good order (or, with `crash`, killed).
fn store(name: &str, crash: bool) -> Dir {
    let dir = Dir::new(name);
    let server = Server::start(&dir);
    let mut db = server.connect();
    db.query("CREATE DATABASE f").expect("a database");
    for table in ["a", "b"] {
        db.query(&format!("CREATE TABLE f.{table} (id INT PRIMARY KEY, k INT NOT NULL, pad VARCHAR(500), KEY (k))"))
            .expect("a table");
        for batch in 0..10 {
            let row = |i: i32| format!("({},{},'{table}-marker-{}')", batch * 100 + i, i, "x".repeat(400));
            let rows: Vec<String> = (0..100).map(row).collect();
            db.query(&format!("INSERT INTO f.{table} VALUES {}", rows.join(","))).expect("rows");
        }
    }
    drop(db);
    if crash {
        server.kill()
    } else {
        server.stop()
    }
    dir
}

fn refused(dir: &Dir) -> String {
    match Server::try_start(dir, "s", "", &[]) {
        Ok(server) => {
            server.kill();
            panic!("the server started");
        }
        Err(text) => text,
    }
}

#[test]
fn a_directory_in_use_is_refused() {
    let dir = Dir::new("inuse");
    let first = Server::start(&dir);
    let text = match Server::try_start(&dir, "second", "", &[]) {
        Ok(_) => panic!("two servers on one directory"),
        Err(text) => text,
    };
    assert!(text.contains("in use") && text.contains("data"), "{text}");
    // The first one is not disturbed.
    assert_eq!(one(&mut first.connect(), "SELECT 1 + 1"), "2");
    first.stop();
}

#[test]
fn a_directory_of_others_is_refused_and_left_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let cases = [
        ("mysql", "ibdata1", "data directory of MySQL"),
        ("mariadb", "aria_log_control", "data directory of MySQL"),
        ("photos", "holiday.jpg", "files of others (such as 'holiday.jpg')"),
    ];
    for (name, file, says) in cases {
        let dir = Dir::new(name);
        let data = dir.data();
        fs::create_dir_all(&data).expect("a directory");
        fs::write(data.join("auto.cnf"), "[auto]\n").expect("a file");
        fs::write(data.join(file), "x").expect("a file");
        fs::set_permissions(&data, fs::Permissions::from_mode(0o755)).expect("permissions");
        let text = refused(&dir);
        assert!(text.contains(says), "{name}: {text}");
        assert_eq!(fs::read_dir(&data).expect("a directory").count(), 2, "{name}: something was made");
        assert_eq!(fs::metadata(&data).expect("a directory").permissions().mode() & 0o777, 0o755, "{name}");
        // What a refused start leaves, certificates, and what a new file system has, are no hindrance.
        fs::remove_file(data.join(file)).expect("a file");
        fs::write(data.join("ca.pem.old.pem"), "").expect("a file");
        fs::create_dir(data.join("lost+found")).expect("a directory");
        Server::start(&dir).stop();
    }
}

#[test]
fn missing_and_newer_files_are_refused() {
    let dir = store("missing", false);
    let data = dir.data();
    for (name, says) in [("data.gnt", "data file is missing"), ("log", "log is missing"), ("control", "control file")] {
        let (from, to) = (data.join(name), dir.0.join("away"));
        fs::rename(&from, &to).expect("a file");
        let text = refused(&dir);
        assert!(text.contains(says), "without {name}: {text}");
        assert!(!from.exists(), "{name} was made anew");
        fs::rename(&to, &from).expect("a file");
    }
    let control = data.join("control");
    let whole = fs::read(&control).expect("the control file");
    let mut newer = whole.clone();
    for slot in [0, 4096] {
        newer[slot + 88] = 9;
        let sum = gannet_base::crc32c(0, &newer[slot + 16..slot + 128]);
        newer[slot + 12..slot + 16].copy_from_slice(&sum.to_le_bytes());
    }
    fs::write(&control, &newer).expect("the control file");
    let text = refused(&dir);
    assert!(text.contains("format 9") || text.contains("newer"), "{text}");
    let mut bad = whole.clone();
    (bad[20], bad[4096 + 20]) = (bad[20] ^ 1, bad[4096 + 20] ^ 1);
    fs::write(&control, &bad).expect("the control file");
    let text = refused(&dir);
    assert!(text.contains("control file are damaged"), "{text}");
    fs::write(&control, &whole).expect("the control file");
    // A segment of the log cut short, its header damaged.
    let server = Server::start(&dir);
    assert_eq!(one(&mut server.connect(), "SELECT COUNT(*) FROM f.a"), "1000");
    server.stop();
}

/// Damages a page of the data file that holds `marker` in its middle. Gives its number.
fn damage(data: &Path, marker: &str) -> usize {
    let path = data.join("data.gnt");
    let bytes = fs::read(&path).expect("the data file");
    let holds = |p: &&[u8]| p[4] == 3 && p.windows(marker.len()).any(|w| w == marker.as_bytes());
    let pages: Vec<usize> =
        bytes.chunks_exact(PAGE).enumerate().filter(|(_, p)| holds(p)).map(|(number, _)| number).collect();
    let number = pages[pages.len() / 2];
    let file = fs::File::options().write(true).open(&path).expect("the data file");
    file.write_all_at(&[0xA5; 700], (number * PAGE + 9000) as u64).expect("damage");
    // No copy of the page may help.
    let double = data.join("double.gnt");
    let len = fs::metadata(&double).expect("the double-write file").len();
    fs::write(&double, vec![0; len as usize]).expect("the double-write file");
    number
}

fn fails_with(db: &mut Connection, sql: &str, page: usize) {
    match db.query(sql) {
        Ok(_) => panic!("{sql}: works"),
        Err(e) => {
            let text = e.to_string();
            assert!(text.contains(&format!("page {page} ")) && text.contains("LSN"), "{sql}: {text}");
        }
    }
}

#[test]
fn a_damaged_page_takes_out_its_table_only() {
    for crash in [false, true] {
        let dir = store(if crash { "damaged-crash" } else { "damaged" }, false);
        if crash {
            // Changes of both tables to be redone, one of them on a page that will be damaged.
            let server = Server::start(&dir);
            let mut db = server.connect();
            db.query("UPDATE f.a SET k = k + 1").expect("an update");
            db.query("UPDATE f.b SET k = k + 1").expect("an update");
            drop(db);
            server.kill();
        }
        let page = damage(&dir.data(), "a-marker-");
        let server = Server::try_start(&dir, "s", "", &["--gannet-scrub-pages-per-second=0"]).expect("a server");
        let mut db = server.connect();
        fails_with(&mut db, "SELECT SUM(LENGTH(pad)) FROM f.a", page);
        fails_with(&mut db, "UPDATE f.a SET pad = 'y'", page);
        // The failed statement is rolled back, the connection and all else goes on.
        assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.b WHERE pad LIKE 'b-marker%'"), "1000");
        db.query("UPDATE f.b SET pad = CONCAT('z', pad) WHERE id < 500").expect("the other table");
        let checked = db.query("CHECK TABLE f.a, f.b").expect("CHECK TABLE").texts();
        let says = |table: &str, text: &str| checked.iter().any(|r| r[0] == table && r[3].contains(text));
        assert!(says("f.a", &format!("page {page} ")) && says("f.b", "OK") && !says("f.a", "OK"), "{checked:?}");
        // Rows on other pages are there, until the scrubber has found the damage: then the table is not used.
        let others = "SELECT COUNT(*) FROM f.a WHERE id IN (0, 999)";
        assert_eq!(one(&mut db, others), "2");
        db.query("SET GLOBAL gannet_scrub_pages_per_second = 100000").expect("a scrubber");
        let deadline = Instant::now() + Duration::from_secs(120);
        while db.query(others).is_ok() {
            assert!(Instant::now() < deadline, "the scrubber does not find the page");
            std::thread::sleep(Duration::from_millis(20));
        }
        fails_with(&mut db, others, page);
        drop(db);
        server.stop();
        let server = Server::start(&dir);
        let mut db = server.connect();
        assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.b WHERE pad LIKE 'zb-marker%'"), "500");
        fails_with(&mut db, "SELECT SUM(LENGTH(pad)) FROM f.a", page);
        // The table can be dropped, and one of its name made anew.
        db.query("DROP TABLE f.a").expect("the damaged table is dropped");
        db.query("CREATE TABLE f.a (id INT)").expect("a new one");
        drop(db);
        server.stop();
        assert!(!dir.log().contains("panicked"), "{}", dir.log());
    }
}

#[test]
fn a_full_disk_refuses_writes_and_loses_nothing() {
    let dir = Dir::new("full");
    // No file may grow beyond 20 MiB; a write that would is an error, not a signal.
    let server = Server::try_start(&dir, "s", "trap '' XFSZ; ulimit -S -f 20480", &[]).expect("a server");
    let mut db = server.connect();
    db.query("CREATE DATABASE f").expect("a database");
    db.query("CREATE TABLE f.t (id INT PRIMARY KEY, pad LONGBLOB, k INT, KEY (k))").expect("a table");
    let mut acknowledged = 0;
    let insert = |n: i32| format!("INSERT INTO f.t VALUES ({n}, REPEAT('x', 20000), {n})");
    let refusal = loop {
        match db.query(&insert(acknowledged)) {
            Ok(_) => acknowledged += 1,
            Err(e) => break e,
        }
        assert!(acknowledged < 2000, "nothing is ever full");
    };
    assert!(matches!(refusal.code(), Some(1114 | 1021)), "{refusal}");
    assert!(acknowledged > 100, "{acknowledged}");
    // Refused again and again, each time rolled back; reads and small changes go on.
    for _ in 0..5 {
        let again = db.query(&insert(acknowledged)).expect_err("still full");
        assert!(matches!(again.code(), Some(1114 | 1021)), "{again}");
    }
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.t"), acknowledged.to_string());
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.t WHERE k >= 0 AND LENGTH(pad) = 20000"), acknowledged.to_string());
    // Room again: the limit is lifted from outside, and it goes on without a restart.
    let lifted = std::process::Command::new("prlimit")
        .args([&format!("--pid={}", server.child.id()), "--fsize=unlimited:"])
        .status();
    if lifted.is_ok_and(|s| s.success()) {
        for n in acknowledged..acknowledged + 200 {
            db.query(&insert(n)).expect("there is room");
        }
        acknowledged += 200;
    }
    drop(db);
    server.kill();
    let server = Server::start(&dir);
    let mut db = server.connect();
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.t WHERE LENGTH(pad) = 20000"), acknowledged.to_string());
    let checked = db.query("CHECK TABLE f.t").expect("CHECK TABLE").texts();
    assert!(checked.iter().all(|r| r[3] == "OK"), "{checked:?}");
    // Space that is given up is used again.
    db.query("DELETE FROM f.t WHERE id > 10").expect("a delete");
    assert_eq!(one(&mut db, "SELECT COUNT(*) FROM f.t"), "11");
    drop(db);
    server.stop();
}

/// `gannet check` on the data directory: whether it is content, and what it says.
fn check(dir: &Dir) -> (bool, String) {
    let out = std::process::Command::new(env!("CARGO_BIN_EXE_gannet"))
        .arg("check")
        .arg(format!("--datadir={}", dir.data().display()))
        .output()
        .expect("gannet check");
    let text = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(!text.contains("panicked"), "{text}");
    (out.status.success(), text)
}

#[test]
fn a_store_is_checked_offline() {
    let dir = store("check", true);
    let (content, text) = check(&dir);
    assert!(content && text.contains("nothing found"), "{text}");
    // Not while a server has it.
    let server = Server::start(&dir);
    let (content, text) = check(&dir);
    assert!(!content && text.contains("in use"), "{text}");
    server.stop();
    let page = damage(&dir.data(), "b-marker-");
    let (content, text) = check(&dir);
    assert!(!content && text.contains(&format!("page {page} ")) && text.contains("f.b"), "{text}");
    assert!(!text.contains("f.a"), "{text}");
}

#[test]
fn a_creation_without_room_is_refused_and_can_be_repeated() {
    let dir = Dir::new("noroom");
    let outcome = Server::try_start(&dir, "s", "trap '' XFSZ; ulimit -S -f 2048", &[]);
    let text = match outcome {
        Ok(_) => panic!("a store in 2 MiB"),
        Err(text) => text,
    };
    assert!(
        text.contains("space") || text.contains("grow") || text.contains("room") || text.contains("large"),
        "{text}"
    );
    let server = Server::start(&dir);
    assert_eq!(one(&mut server.connect(), "SELECT 1"), "1");
    server.stop();
}

/// The binary log cannot be written, and as much of the log is kept for it as may be: writers wait, and nothing else.
#[test]
fn a_binary_log_without_room_stops_writers_only() {
    let dir = Dir::new("binlog");
    let wrap = "trap '' XFSZ; ulimit -S -f 20480";
    let server = Server::try_start(&dir, "s", wrap, &[]).expect("a server");
    let mut db = server.connect();
    for sql in [
        "CREATE DATABASE f",
        "CREATE TABLE f.t (id INT PRIMARY KEY, n INT, pad LONGBLOB)",
        "INSERT INTO f.t VALUES (1, 0, ''), (2, 0, '')",
        "CREATE TABLE f.other (id INT PRIMARY KEY)",
    ] {
        db.query(sql).expect("a statement");
    }
    let mut open = server.connect();
    open.query("BEGIN").expect("a transaction");
    open.query("UPDATE f.t SET n = 7 WHERE id = 2").expect("an update");
    let writer = |server: &Server| {
        let mut db = server.connect();
        let id = one(&mut db, "SELECT CONNECTION_ID()");
        let updates = std::thread::spawn(move || {
            for n in 1.. {
                let update = format!("UPDATE f.t SET n = {n}, pad = REPEAT(CHAR(65 + {n} % 26), 60000) WHERE id = 1");
                if let Err(e) = db.query(&update) {
                    return (n - 1, e);
                }
            }
            unreachable!()
        });
        (id, updates)
    };
    let until = |what: &str, is: &mut dyn FnMut() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is() {
            assert!(Instant::now() < deadline, "{what}: {}", dir.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let (id, updates) = writer(&server);
    until("nobody waits", &mut || dir.log().contains("writers wait until it has read on"));
    assert!(dir.log().contains("cannot be written"), "{}", dir.log());
    // What waits can be killed; what makes room does not wait, nor does a transaction's end.
    db.query(&format!("KILL QUERY {id}")).expect("a kill");
    let (done, error) = updates.join().expect("the writer");
    assert_eq!(error.code(), Some(1317), "{error}");
    assert_eq!(one(&mut db, "SELECT n FROM f.t WHERE id = 1"), done.to_string());
    assert_eq!(db.query("SHOW BINARY LOGS").expect("the files").texts().len(), 1);
    db.query("PURGE BINARY LOGS TO 'binlog.000001'").expect("a purge");
    db.query("DROP TABLE f.other").expect("a drop");
    let (id, updates) = writer(&server);
    until("it does not wait", &mut || {
        let state = format!("SELECT state FROM information_schema.processlist WHERE id = {id}");
        one(&mut db, &state) == "wait/log/capacity"
    });
    server.kill();
    updates.join().expect("the writer");
    // A check has nobody who writes the files, and undoes what was open.
    let copy = Dir::new("binlog-copy");
    let copied = std::process::Command::new("cp").arg("-a").arg(dir.data()).arg(copy.data()).status();
    assert!(copied.is_ok_and(|s| s.success()));
    let checked = std::process::Command::new("timeout")
        .args(["60", env!("CARGO_BIN_EXE_gannet"), "check", &format!("--datadir={}", copy.data().display())])
        .output()
        .expect("a check");
    assert!(checked.status.success(), "{checked:?}");
    // A start does not wait either.
    let server = Server::try_start(&dir, "s", wrap, &[]).expect("a server");
    let mut db = server.connect();
    until("nothing is rolled back", &mut || {
        one(&mut db, "SELECT n FROM f.t WHERE id = 2 FOR SHARE SKIP LOCKED") == "0"
    });
    assert_eq!(one(&mut db, "SELECT n FROM f.t WHERE id = 1"), done.to_string());
    let (_, updates) = writer(&server);
    let lifted = std::process::Command::new("prlimit")
        .args([&format!("--pid={}", server.child.id()), "--fsize=unlimited:"])
        .status();
    if lifted.is_ok_and(|s| s.success()) {
        until("nothing goes on", &mut || one(&mut db, &format!("SELECT n <> {done} FROM f.t WHERE id = 1")) == "1");
        assert_eq!(db.query("SHOW BINARY LOG STATUS").expect("the end").texts().len(), 1);
    }
    server.kill();
    updates.join().expect("the writer");
    let server = Server::start(&dir);
    let total = "SELECT COUNT(*) FROM performance_schema.error_log WHERE prio = 'Error'";
    assert_eq!(one(&mut server.connect(), total), "0");
    server.stop();
}

/// While the binary log cannot be written, statements about it say so, or what they know, and none of them waits.
#[test]
fn statements_about_a_binary_log_without_room_end() {
    let dir = Dir::new("binlog-told");
    let server = Server::try_start(&dir, "s", "trap '' XFSZ; ulimit -S -f 20480", &[]).expect("a server");
    let mut db = server.connect();
    for sql in
        ["CREATE DATABASE f", "CREATE TABLE f.t (id INT PRIMARY KEY, pad LONGBLOB)", "INSERT INTO f.t VALUES (1, '')"]
    {
        db.query(sql).expect("a statement");
    }
    let uuid = one(&mut db, "SELECT @@server_uuid");
    for n in 0..230 {
        let update = format!("UPDATE f.t SET pad = REPEAT(CHAR(65 + {n} % 26), 60000)");
        db.query(&update).expect("an update");
    }
    let deadline = Instant::now() + Duration::from_secs(120);
    while !dir.log().contains("cannot be written") {
        assert!(Instant::now() < deadline, "{}", dir.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    let begun = Instant::now();
    let warned = |db: &mut Connection, sql: &str| {
        let found = db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts();
        let warnings = db.query("SHOW WARNINGS").expect("warnings").texts();
        (found, warnings.into_iter().map(|row| row[1].clone()).collect::<Vec<_>>())
    };
    for sql in ["SHOW BINARY LOGS", "SHOW BINARY LOG STATUS"] {
        let (found, warnings) = warned(&mut db, sql);
        assert_eq!((found.len(), warnings), (1, vec!["1598".to_owned()]), "{sql}");
    }
    let executed = one(&mut db, "SELECT @@GLOBAL.gtid_executed");
    let upto: u64 = executed.rsplit_once('-').expect("a set").1.parse().expect("a number");
    assert!(executed.starts_with(&uuid) && (3..233).contains(&upto), "{executed}");
    assert_eq!(db.query("SHOW BINLOG EVENTS LIMIT 2").expect("events").texts().len(), 2);
    db.query("SELECT * FROM mysql.gtid_executed").expect("a set");
    for sql in [
        "FLUSH BINARY LOGS",
        "SELECT LOCAL FROM performance_schema.log_status",
        &format!("SET gtid_next = '{uuid}:1000'"),
        "SET GLOBAL gtid_purged = '+3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5'",
    ] {
        let e = db.query(sql).expect_err(sql);
        assert_eq!(e.code(), Some(1598), "{sql}: {e}");
        assert!(e.to_string().contains("cannot be written"), "{e}");
    }
    let waited = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{uuid}:1-999999', 0.1)");
    assert_eq!(one(&mut db, &waited), "1");
    let slow = format!("SELECT /*+ MAX_EXECUTION_TIME(100) */ WAIT_FOR_EXECUTED_GTID_SET('{uuid}:1-999999')");
    assert_eq!(db.query(&slow).expect_err("too slow").code(), Some(3024));
    // A commit that its client is told the GTID of.
    db.query("SET session_track_gtids = OWN_GTID").expect("a variable");
    db.query("UPDATE f.t SET pad = ''").expect("an update");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    // The log begins anew without room: nothing is written of what goes.
    db.query("RESET BINARY LOGS AND GTIDS").expect("a log that begins anew");
    db.query("UPDATE f.t SET pad = 'x'").expect("an update");
    let deadline = Instant::now() + Duration::from_secs(120);
    while one(&mut db, "SELECT @@GLOBAL.gtid_executed") != format!("{uuid}:1") {
        assert!(Instant::now() < deadline, "{}", dir.log());
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(warned(&mut db, "SHOW BINARY LOG STATUS").1.len(), 0);
    db.query("FLUSH BINARY LOGS").expect("a file");
    server.stop();
}

/// A server whose binary log cannot be written stops when it is told to, and goes on with nothing lost.
#[test]
fn a_server_with_a_binary_log_without_room_stops() {
    let dir = Dir::new("binlog-stop");
    let server = Server::try_start(&dir, "s", "trap '' XFSZ; ulimit -S -f 20480", &[]).expect("a server");
    let mut db = server.connect();
    db.query("CREATE DATABASE f").expect("a database");
    db.query("CREATE TABLE f.t (id INT PRIMARY KEY, pad LONGBLOB)").expect("a table");
    db.query("INSERT INTO f.t VALUES (1, '')").expect("a row");
    for n in 0..230 {
        let update = format!("UPDATE f.t SET pad = REPEAT(CHAR(65 + {n} % 26), 60000)");
        db.query(&update).expect("an update");
    }
    let mut waiter = server.connect();
    let waits = std::thread::spawn(move || {
        waiter.query("SELECT WAIT_FOR_EXECUTED_GTID_SET(CONCAT(@@server_uuid, ':1-999999'))").map(|_| ())
    });
    drop(db);
    let begun = Instant::now();
    server.stop();
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    waits.join().expect("a thread").expect_err("a wait in a server that has stopped");
    let server = Server::start(&dir);
    let executed = one(&mut server.connect(), "SELECT @@GLOBAL.gtid_executed");
    assert!(executed.ends_with(":1-233"), "{executed}");
    server.stop();
}

/// What came while a relay log could not be written is asked for again, and nothing is missed.
#[test]
fn a_relay_log_without_room_goes_on() {
    let (dir, other) = (Dir::new("relay-source"), Dir::new("relay"));
    let open = |id: &'static str| ["--skip-networking=0", "--port=0", "--log-bin", id];
    let source = Server::try_start(&dir, "s", "", &open("--server-id=1")).expect("a server");
    let mut db = source.connect();
    for sql in [
        "CREATE USER follower IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO follower",
        "CREATE DATABASE f",
        "CREATE TABLE f.t (id INT PRIMARY KEY, pad LONGBLOB)",
    ] {
        db.query(sql).expect("a statement");
    }
    for n in 0..230 {
        db.query(&format!("INSERT INTO f.t VALUES ({n}, REPEAT(CHAR(65 + {n} % 26), 120000))")).expect("a row");
    }
    let limit = "trap '' XFSZ; ulimit -S -f 20480";
    let replica = Server::try_start(&other, "s", limit, &open("--server-id=2")).expect("a server");
    let mut q = replica.connect();
    let port = one(&mut db, "SELECT @@port");
    q.query(&format!(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'follower', \
         SOURCE_PASSWORD = 'secret', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, SOURCE_AUTO_POSITION = 1"
    ))
    .expect("a source");
    q.query("START REPLICA IO_THREAD").expect("a receiver");
    let until = |what: &str, is: &mut dyn FnMut() -> bool| {
        let deadline = Instant::now() + Duration::from_secs(120);
        while !is() {
            assert!(Instant::now() < deadline, "{what}: {}", other.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    };
    let error = "SELECT LAST_ERROR_NUMBER FROM performance_schema.replication_connection_status";
    until("it has room", &mut || one(&mut q, error) == "13122");
    let lifted = std::process::Command::new("prlimit")
        .args([&format!("--pid={}", replica.child.id()), "--fsize=unlimited:"])
        .status();
    if lifted.is_ok_and(|s| s.success()) {
        q.query("START REPLICA SQL_THREAD").expect("an applier");
        let executed = one(&mut db, "SELECT @@GLOBAL.gtid_executed");
        let wait = format!("SELECT WAIT_FOR_EXECUTED_GTID_SET('{executed}', 60)");
        assert_eq!(one(&mut q, &wait), "0");
        let rows = "SELECT CONCAT(COUNT(*), ' ', SUM(CRC32(pad))) FROM f.t";
        assert_eq!(one(&mut q, rows), one(&mut db, rows));
    }
    q.query("STOP REPLICA").expect("a stop");
    replica.stop();
    source.stop();
}
