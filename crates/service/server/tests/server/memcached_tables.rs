//! memcached's protocol on tables of all kinds: containers, what is refused and how, locks, accounts, expiry, and both
//! protocols at once.

use crate::common::{PATIENCE, Running, error, one, run};
use crate::memcached::{Both, Client, shown, with_socket};
use gannet_server::vars::{Live, VarValue};
use std::time::{Duration, Instant};

/// The plugin's tables are there.
fn set_up(r: &Running) -> (gannet_wire::client::Connection, Client) {
    let mut c = Client::of(r);
    assert_eq!(c.get("get nothing"), [""; 0]);
    (r.connect(), c)
}

fn container(sql: &mut gannet_wire::client::Connection, row: &str) {
    run(sql, &format!("INSERT INTO innodb_memcache.containers VALUES ({row})"));
}

/// A change of the containers is seen within a second.
fn wait_for(c: &mut Client, command: &str, answer: &str) {
    let until = Instant::now() + PATIENCE;
    loop {
        let got = c.get(command).join("/");
        if got == answer {
            return;
        }
        assert!(Instant::now() < until, "{command}: {got}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn containers_map_columns() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    for text in [
        "CREATE TABLE test.city (id VARCHAR(32) PRIMARY KEY, name VARCHAR(20) NOT NULL, state CHAR(2), people INT UNSIGNED,
           flags INT, cas BIGINT UNSIGNED, expiry INT, made TIMESTAMP DEFAULT CURRENT_TIMESTAMP, KEY (name))",
        "CREATE TABLE test.counter (id INT PRIMARY KEY, n TINYINT UNSIGNED NOT NULL)",
        "GRANT ALL ON test.* TO memcached@localhost",
    ] {
        run(&mut sql, text);
    }
    container(&mut sql, "'city', 'test', 'city', 'id', 'name,state|people', 'flags', 'cas', 'expiry', 'PRIMARY'");
    container(&mut sql, "'n', 'test', 'counter', 'id', 'n', 0, NULL, '', 'PRIMARY'");
    wait_for(&mut c, "get @@city", "VALUE @@city 0 9/test/city");
    assert_eq!(c.ask("set B 3 0 16\r\nBoston|MA|650000"), "STORED");
    assert_eq!(c.get("get B"), ["VALUE B 3 16", "Boston|MA|650000"]);
    assert_eq!(
        one(
            &mut sql,
            "SELECT CONCAT(name, state, people, made IS NOT NULL) FROM test.city FORCE INDEX (name) WHERE name = 'Boston'"
        ),
        "BostonMA6500001"
    );
    // A value with more or fewer parts is no value, and one that a column does not take neither.
    for (value, answer) in [
        ("Boston|MA", "SERVER_ERROR 1136"),
        ("Boston|MA|1|2", "SERVER_ERROR 1136"),
        ("Boston|MA|many", "SERVER_ERROR 1366"),
        ("Boston|MA|-1", "SERVER_ERROR 1264"),
        ("Boston|Massachusetts|1", "SERVER_ERROR object too large"),
    ] {
        let got = c.ask(&format!("set B 0 0 {}\r\n{value}", value.len()));
        assert!(got.starts_with(answer), "{value}: {got}");
    }
    assert_eq!(c.ask("incr B 1"), "CLIENT_ERROR cannot increment or decrement non-numeric value");
    run(&mut sql, "UPDATE test.city SET name = 'Bosten', people = NULL");
    assert_eq!(c.get("get B"), ["VALUE B 3 10", "Bosten|MA|"]);
    assert_eq!(one(&mut sql, "SELECT COUNT(*) FROM test.city FORCE INDEX (name) WHERE name = 'Boston'"), "0");

    // Keys in another container, by one command; a number is counted as one, within its column's range.
    assert_eq!(c.ask("set @@n.7 0 0 3\r\n254"), "STORED");
    assert_eq!(c.ask("incr 7 1"), "255");
    assert!(c.ask("incr 7 1").starts_with("SERVER_ERROR 1264"));
    assert_eq!(c.ask("decr 7 300"), "0");
    assert_eq!(c.get("get 7 x 7"), ["VALUE 7 0 1", "0", "VALUE 7 0 1", "0"]);
    assert!(c.ask("set x 0 0 1\r\n1").starts_with("SERVER_ERROR 1366"), "a key that the column does not take");
    assert_eq!(c.ask("delete x"), "NOT_FOUND");
    assert_eq!(c.get("get @@city.B @@n.7"), ["VALUE @@city.B 3 10", "Bosten|MA|", "VALUE @@n.7 0 1", "0"]);
    // Without flags, cas and expiry these are 0; without room for it no item is stale.
    assert_eq!(c.ask("set 8 9 9 1\r\n5"), "STORED");
    assert_eq!(c.ask("mg 8 v f t"), "VA 1 f0 t-1");
    assert_eq!(shown(&c.line().unwrap()), "5");
    assert_eq!(c.ask("md 8 I"), "CLIENT_ERROR invalid flag");
    assert_eq!(c.ask("mg 9 N30"), "CLIENT_ERROR invalid flag");
    // A table without a container.
    run(&mut sql, "CREATE TABLE test.plain (k VARCHAR(10) COLLATE utf8mb4_0900_ai_ci PRIMARY KEY, a INT, b TEXT)");
    run(&mut sql, "INSERT INTO test.plain VALUES ('x', 1, 'y')");
    assert_eq!(c.get("get @@test.plain.x"), ["VALUE @@test.plain.x 0 3", "1|y"]);
    // Its collation takes other keys for the same.
    assert_eq!(c.get("get X"), [""; 0]);
    assert_eq!(c.ask("delete X"), "NOT_FOUND");
    assert!(c.ask("set X 0 0 3\r\n2|z").starts_with("SERVER_ERROR 1022"));
    assert!(c.ask("set a\u{ff}b 0 0 3\r\n2|z").starts_with("STORED"));
    for (name, error) in
        [("@@nope", 1235), ("@@test.nope", 1146), ("@@nope.x", 1049), ("@@information_schema.tables", 1235)]
    {
        let got = c.ask(&format!("get {name}"));
        assert!(got.starts_with(&format!("SERVER_ERROR {error} ")), "{name}: {got}");
    }
    assert_eq!(c.get("get x"), ["VALUE x 0 3", "1|y"]);
}

#[test]
fn containers_that_do_not_fit_are_refused_by_name() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    run(&mut sql, "GRANT ALL ON test.* TO memcached@localhost");
    for (name, definition, row, error) in [
        ("a", "(k INT PRIMARY KEY, v INT, CHECK (v > 0))", "'k', 'v', 0, 0, 0", "1235"),
        ("b", "(k INT, v INT)", "'k', 'v', 0, 0, 0", "1235"),
        ("c", "(k INT PRIMARY KEY, v INT)", "'k', 'nope', 0, 0, 0", "1054"),
        ("d", "(k INT PRIMARY KEY, v INT, f TEXT)", "'k', 'v', 'f', 0, 0", "1235"),
        ("e", "(k INT PRIMARY KEY, v INT, w INT NOT NULL)", "'k', 'v', 0, 0, 0", "1364"),
        ("f", "(k INT PRIMARY KEY, v INT)", "'v', 'k', 0, 0, 0", "1235"),
        ("g", "(k INT PRIMARY KEY, v INT)", "'k', 'v', 'v', 0, 0", "1235"),
        ("h", "(k INT PRIMARY KEY, v INT, w INT AS (v + 1))", "'k', 'v', 0, 0, 0", "1235"),
        ("i", "(k VARCHAR(20), v INT, PRIMARY KEY (k(3)))", "'k', 'v', 0, 0, 0", "1235"),
    ] {
        run(&mut sql, &format!("CREATE TABLE test.t{name} {definition}"));
        container(&mut sql, &format!("'{name}', 'test', 't{name}', {row}, 'PRIMARY'"));
        let until = Instant::now() + PATIENCE;
        loop {
            let got = c.ask(&format!("get @@{name}"));
            if got.starts_with(&format!("SERVER_ERROR {error} ")) {
                break;
            }
            // Not known yet.
            assert!(got.contains("no container") && Instant::now() < until, "{name}: {got}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
    // The connection has the container that it had.
    assert_eq!(c.ask("set k 0 0 1\r\nv"), "STORED");
}

#[test]
fn definitions_change_and_go_under_an_open_container() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    assert_eq!(c.ask("set a 0 0 3\r\nabc"), "STORED");
    run(&mut sql, "ALTER TABLE test.demo_test ADD COLUMN more INT DEFAULT 7, MODIFY c2 VARBINARY(3)");
    assert_eq!(c.get("get a"), ["VALUE a 0 3", "abc"]);
    assert_eq!(c.ask("set b 0 0 4\r\nabcd"), "SERVER_ERROR object too large for cache");
    assert_eq!(c.ask("set b 0 0 3\r\nabc"), "STORED");
    assert_eq!(one(&mut sql, "SELECT SUM(more) FROM test.demo_test"), "14");
    run(&mut sql, "TRUNCATE TABLE test.demo_test");
    assert_eq!(c.get("get a"), [""; 0]);
    run(&mut sql, "RENAME TABLE test.demo_test TO test.away");
    assert!(c.ask("get a").starts_with("SERVER_ERROR 1146"));
    assert!(c.ask("set a 0 0 1\r\na").starts_with("SERVER_ERROR 1146"));
    run(&mut sql, "RENAME TABLE test.away TO test.demo_test");
    assert_eq!(c.ask("set a 0 0 1\r\na"), "STORED");
    run(&mut sql, "DROP TABLE test.demo_test");
    assert!(c.ask("set a 0 0 1\r\na").starts_with("SERVER_ERROR 1146"));
    assert!(c.ask("flush_all").starts_with("SERVER_ERROR 1146"));
    // Made again with the other tables.
    run(&mut sql, "DROP DATABASE innodb_memcache");
    std::thread::sleep(Duration::from_millis(1100));
    let mut c = Client::of(&both.r);
    assert_eq!(c.ask("set a 0 0 1\r\na"), "STORED");
}

#[test]
fn locks_and_read_only_hold_for_memcached() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED");
    for text in ["SET GLOBAL lock_wait_timeout = 1", "SET GLOBAL innodb_lock_wait_timeout = 1"] {
        run(&mut sql, text);
    }
    for (closed, answer, open) in [
        ("SET GLOBAL super_read_only = 1", "SERVER_ERROR 1290", "SET GLOBAL read_only = 0"),
        ("FLUSH TABLES WITH READ LOCK", "SERVER_ERROR lock wait timeout", "UNLOCK TABLES"),
        ("LOCK TABLES test.demo_test READ", "SERVER_ERROR lock wait timeout", "UNLOCK TABLES"),
    ] {
        run(&mut sql, closed);
        let mut c = Client::of(&both.r);
        let got = c.ask("set a 0 0 1\r\n2");
        assert!(got.starts_with(answer), "{closed}: {got}");
        assert_eq!(c.get("get a"), ["VALUE a 0 1", "1"], "{closed}");
        run(&mut sql, open);
        assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED", "{closed}");
    }
    // A row that a transaction has locked: what is decided waits for it.
    let mut c = Client::of(&both.r);
    run(&mut sql, "BEGIN");
    run(&mut sql, "INSERT INTO test.demo_test (c1, c2) VALUES ('new', '5')");
    run(&mut sql, "UPDATE test.demo_test SET c2 = '9' WHERE c1 = 'a'");
    for command in ["add new 0 0 1\r\n1", "incr a 1", "set a 0 0 1\r\n3", "delete a", "append a 0 0 1\r\n3"] {
        assert_eq!(c.ask(command), "SERVER_ERROR lock wait timeout", "{command}");
    }
    assert_eq!(c.get("get a new"), ["VALUE a 0 1", "1"]);
    run(&mut sql, "SET GLOBAL innodb_lock_wait_timeout = 50");
    let mut waiting = Client::of(&both.r);
    waiting.send(b"incr a 1\r\nadd new 0 0 1\r\n1\r\n");
    let pending = "SELECT COUNT(*) FROM performance_schema.data_locks WHERE LOCK_STATUS = 'WAITING'";
    let mut other = both.r.connect();
    let until = Instant::now() + PATIENCE;
    while one(&mut other, pending) == "0" && Instant::now() < until {
        std::thread::yield_now();
    }
    run(&mut sql, "COMMIT");
    assert_eq!(shown(&waiting.line().unwrap()), "10");
    assert_eq!(shown(&waiting.line().unwrap()), "NOT_STORED");
}

/// A transaction has a row that a client waits for, FLUSH TABLES WITH READ LOCK waits for the client, and the
/// transaction's next statement for that: its transaction ends, with all that it has locked.
#[test]
fn a_deadlock_with_a_read_lock_ends_the_transaction() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    for text in ["set a 0 0 1\r\n1", "set b 0 0 1\r\n1"] {
        assert_eq!(c.ask(text), "STORED");
    }
    run(&mut sql, "BEGIN");
    run(&mut sql, "UPDATE test.demo_test SET c2 = '50' WHERE c1 = 'a'");
    c.send(b"incr a 1\r\n");
    let mut other = both.r.connect();
    let mut wait = |table: &str, status: &str| {
        let count = format!("SELECT COUNT(*) FROM performance_schema.{table} WHERE LOCK_STATUS = '{status}'");
        let until = Instant::now() + PATIENCE;
        while one(&mut other, &count) == "0" {
            assert!(Instant::now() < until, "{table}");
            std::thread::yield_now();
        }
    };
    wait("data_locks", "WAITING");
    std::thread::scope(|scope| {
        let r = &both.r;
        scope.spawn(move || {
            let mut locker = r.connect();
            run(&mut locker, "FLUSH TABLES WITH READ LOCK");
            run(&mut locker, "UNLOCK TABLES");
        });
        wait("metadata_locks", "PENDING");
        assert_eq!(error(&mut sql, "UPDATE test.demo_test SET c2 = '51' WHERE c1 = 'b'"), 1213);
    });
    assert_eq!(c.line().map(|line| shown(&line)).as_deref(), Some("2"));
    assert_eq!(one(&mut sql, "SELECT COUNT(*) FROM information_schema.innodb_trx"), "0");
    assert_eq!(one(&mut sql, "SELECT GROUP_CONCAT(c2 ORDER BY c1) FROM test.demo_test"), "2,1");
}

#[test]
fn what_has_expired_goes_and_flushes_come_later() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    assert_eq!(c.ask("set soon 0 1 1\r\n1"), "STORED");
    assert_eq!(c.ask("set late 0 1000 1\r\n1"), "STORED");
    assert_eq!(c.ask("set gone 0 -1 1\r\n1"), "STORED");
    run(&mut sql, "INSERT INTO test.demo_test (c1, c2) VALUES ('sql', 'x')");
    let left = "SELECT GROUP_CONCAT(c1 ORDER BY c1) FROM test.demo_test";
    let until = Instant::now() + PATIENCE;
    while one(&mut sql, left) != "late,sql" {
        assert!(Instant::now() < until, "{}", one(&mut sql, left));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(c.get("get soon"), [""; 0]);
    let asked = Instant::now();
    assert_eq!(c.ask("flush_all 1"), "OK");
    let at_once = one(&mut sql, left);
    assert!(at_once == "late,sql" || asked.elapsed() >= Duration::from_millis(900), "{at_once}");
    while one(&mut sql, "SELECT COUNT(*) FROM test.demo_test") != "0" {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(c.ask("set new 0 0 1\r\n1"), "STORED");
    assert_eq!(c.ask("flush_all"), "OK");
    assert_eq!(one(&mut sql, "SELECT COUNT(*) FROM test.demo_test"), "0");
}

#[test]
fn clients_log_in_and_have_their_accounts_rights() {
    let both = Both::start(|o| {
        with_socket(o);
        o.set(Live::MemcachedAuth, VarValue::bool(true));
    });
    let mut sql = both.r.connect();
    run(&mut sql, "CREATE DATABASE IF NOT EXISTS test");
    run(&mut sql, "CREATE USER reader IDENTIFIED BY 'secret'");
    let log_in = |c: &mut Client, value: &str| c.ask(&format!("set auth 0 0 {}\r\n{value}", value.len()));
    let mut c = Client::of(&both.r);
    assert_eq!(c.ask("get a"), "CLIENT_ERROR unauthenticated");
    assert_eq!(c.ask("set a 0 0 x"), "CLIENT_ERROR unauthenticated");
    assert_eq!(c.ask("add a 0 0 1"), "CLIENT_ERROR unauthenticated");
    assert_eq!(log_in(&mut c, "reader"), "CLIENT_ERROR bad authentication token format");
    assert_eq!(log_in(&mut c, "reader wrong"), "CLIENT_ERROR authentication failure");
    assert_eq!(log_in(&mut c, "nobody secret"), "CLIENT_ERROR authentication failure");
    assert_eq!(c.ask("set a 0 0 3\r\nabcde"), "CLIENT_ERROR bad command line termination");
    assert_eq!(
        c.line().map(|l| shown(&l)).as_deref(),
        Some("CLIENT_ERROR unauthenticated"),
        "to the line that was left"
    );
    assert_eq!(c.ask("set auth 0 0 13 noreply\r\nreader secret"), "STORED");
    assert_eq!(c.ask("get a"), "CLIENT_ERROR access denied");
    run(&mut sql, "GRANT SELECT ON test.demo_test TO reader");
    assert_eq!(c.get("get a"), [""; 0]);
    for command in ["set a 0 0 1\r\na", "incr a 1", "touch a 0", "delete a", "flush_all", "ma a", "md a", "mg a T0"] {
        assert_eq!(c.ask(command), "CLIENT_ERROR access denied", "{command}");
    }
    run(&mut sql, "GRANT INSERT, UPDATE ON test.demo_test TO reader");
    assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED");
    assert_eq!(c.ask("delete a"), "CLIENT_ERROR access denied");
    run(&mut sql, "REVOKE ALL ON test.demo_test FROM reader");
    assert_eq!(c.ask("get a"), "CLIENT_ERROR access denied");
    // A line that does not end, and a token that is too long.
    let mut c = Client::of(&both.r);
    c.send(&[b'x'; 3000]);
    assert_eq!(c.line(), None);
    let mut c = Client::of(&both.r);
    assert_eq!(c.ask("set a 0 0 100000"), "CLIENT_ERROR authentication token too large");
    assert_eq!(c.line(), None);
}

#[test]
fn addresses_beyond_loopback_need_a_login_and_tls() {
    let refused = |set: fn(&mut gannet_server::ServerOptions), why: &str| {
        let r = Running::configured(set);
        let served = gannet_memcache::start(r.server().instance(), r.server().sessions());
        let error = served.err().expect("it is refused");
        assert!(error.contains(why), "{error}");
    };
    refused(
        |o| {
            o.set(Live::MemcachedPort, VarValue::Int(1));
            o.set(Live::MemcachedBindAddress, VarValue::text("0.0.0.0"));
            o.set(Live::MemcachedAuth, VarValue::bool(true));
        },
        "beyond loopback",
    );
    refused(
        |o| {
            o.set(Live::MemcachedPort, VarValue::Int(1));
            o.set(Live::MemcachedAccount, VarValue::text("root@localhost"));
        },
        "root",
    );
    refused(
        |o| {
            o.set(Live::MemcachedPort, VarValue::Int(1));
            o.set(Live::MemcachedBindAddress, VarValue::text("somewhere"));
        },
        "not an address",
    );
}

#[test]
fn bad_clients_are_bounded() {
    let both = Both::start(|o| {
        with_socket(o);
        o.set(Live::MemcachedMaxConnections, VarValue::Int(20));
    });
    let (mut sql, mut c) = set_up(&both.r);
    // The binary protocol is not served.
    let mut binary = Client::of(&both.r);
    binary.send(b"\x80\x0b\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0");
    assert_eq!(binary.line(), None);
    // A length that lies, and a connection that ends in the middle.
    let mut lies = Client::of(&both.r);
    lies.send(b"set a 0 0 1000000\r\nabc");
    drop(lies);
    // Half commands: nobody waits for them, and they go on where they stopped.
    let mut halves: Vec<Client> = (0..10).map(|_| Client::of(&both.r)).collect();
    halves.iter_mut().for_each(|half| half.send(b"set half 0 0 4\r\na"));
    assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED");
    std::thread::sleep(Duration::from_millis(300));
    for half in &mut halves {
        assert_eq!(half.ask("bcd"), "STORED");
        assert_eq!(half.get("get a"), ["VALUE a 0 1", "1"]);
    }
    assert_eq!(c.ask("delete half"), "DELETED");
    assert_eq!(c.ask("delete a"), "DELETED");
    drop(halves);
    // There is no memory for a value: it is dropped, and the connection lives.
    run(&mut sql, "SET GLOBAL temptable_max_ram = 2097152, GLOBAL memcached_item_size_max = 134217728");
    // The background looks at the variables once a second; before, the value is too large.
    let mut large = Client::of(&both.r);
    crate::common::wait_for("the new limit", || {
        large = Client::of(&both.r);
        let said = large.ask(&format!("set a 0 0 40000000\r\n{}", "x".repeat(100)));
        said == "SERVER_ERROR out of memory storing object"
    });
    large.send("x".repeat(40_000_000 - 102).as_bytes());
    large.send(b"\r\n");
    assert_eq!(large.ask("version"), "VERSION 1.6.18");
    // Nor for an answer.
    assert_eq!(large.ask(&format!("set many 0 0 1000000\r\n{}", "x".repeat(1_000_000))), "STORED");
    assert_eq!(large.get(&format!("get {}", "many ".repeat(3))).len(), 6);
    let refused = large.get(&format!("get{}", " many".repeat(100)));
    assert_eq!(refused, ["SERVER_ERROR out of memory writing get response"]);
    assert_eq!(large.ask("delete many"), "DELETED");
    run(&mut sql, "SET GLOBAL temptable_max_ram = DEFAULT, GLOBAL memcached_item_size_max = DEFAULT");
    // Answers are sent before they are many, and requests are read no further than that.
    assert_eq!(c.ask(&format!("set big 0 0 50000\r\n{}", "x".repeat(50_000))), "STORED");
    let gets = 400;
    let mut slow = Client::of(&both.r);
    slow.send("get big\r\n".repeat(gets).as_bytes());
    std::thread::sleep(Duration::from_millis(200));
    for _ in 0..gets {
        assert_eq!(slow.get_length(), 50_000);
    }
    // More clients than are allowed.
    let mut many: Vec<Client> = (0..30).map(|_| Client::of(&both.r)).collect();
    let refused = many.iter_mut().filter_map(|c| {
        c.send(b"version\r\n");
        c.line().filter(|line| line == b"ERROR Too many open connections")
    });
    assert!(refused.count() >= 10);
    drop(many);
    assert_eq!(one(&mut sql, "SELECT COUNT(*) FROM test.demo_test"), "1");
    let until = Instant::now() + PATIENCE;
    while one(
        &mut sql,
        "SELECT VARIABLE_VALUE > 10 FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Memcached_curr_connections'",
    ) == "1"
    {
        assert!(Instant::now() < until);
    }
    assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED");
}

/// `GANNET_MEMCACHED_ROUNDS=40000` makes minutes of it.
#[test]
fn both_protocols_at_once_lose_nothing() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    assert_eq!(c.ask("set n 0 0 1\r\n0"), "STORED");
    assert_eq!(c.ask("set l 0 0 0\r\n"), "STORED");
    let given = std::env::var("GANNET_MEMCACHED_ROUNDS").ok().and_then(|n| n.parse().ok());
    let rounds: usize = given.unwrap_or(100);
    let appended = rounds.min(1000);
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let r = &both.r;
            scope.spawn(move || {
                let (mut sql, mut c) = (r.connect(), Client::of(r));
                for round in 0..rounds {
                    match (thread + round) % 4 {
                        0 => drop(c.ask("incr n 1")),
                        1 => run(&mut sql, "UPDATE test.demo_test SET c2 = c2 + 1 WHERE c1 = 'n'"),
                        2 => assert!(c.ask("ma n").starts_with("HD")),
                        _ => loop {
                            let found = c.get("gets n");
                            let token = found[0].rsplit(' ').next().unwrap();
                            let next = (found[1].parse::<u64>().unwrap() + 1).to_string();
                            match &*c.ask(&format!("cas n 0 0 {} {token}\r\n{next}", next.len())) {
                                "STORED" => break,
                                other => assert_eq!(other, "EXISTS"),
                            }
                        },
                    }
                    if round < appended {
                        assert_eq!(c.ask("append l 0 0 1\r\nx"), "STORED");
                    }
                    // What is counted down again in one step, by one of both.
                    if round % 10 == 9 {
                        assert_ne!(c.ask("incr n 5"), "NOT_FOUND");
                        match round % 20 {
                            9 => drop(c.ask("decr n 5")),
                            _ => run(&mut sql, "UPDATE test.demo_test SET c2 = c2 - 5 WHERE c1 = 'n'"),
                        }
                    }
                }
            });
        }
        let r = &both.r;
        scope.spawn(move || {
            let mut sql = r.connect();
            for n in 0..(rounds / 20).max(5) {
                let how = if n % 2 == 0 { "ADD COLUMN more INT" } else { "DROP COLUMN more" };
                run(&mut sql, &format!("ALTER TABLE test.demo_test {how}"));
                run(&mut sql, "FLUSH TABLES WITH READ LOCK");
                run(&mut sql, "UNLOCK TABLES");
                run(&mut sql, "LOCK TABLES test.demo_test WRITE");
                run(&mut sql, "UNLOCK TABLES");
            }
        });
    });
    assert_eq!(c.get("get n")[1], (4 * rounds).to_string());
    assert_eq!(one(&mut sql, "SELECT LENGTH(c2) FROM test.demo_test WHERE c1 = 'l'"), (4 * appended).to_string());
}

#[test]
fn changes_that_need_not_be_durable_are_read_at_once() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    run(&mut sql, "UPDATE innodb_memcache.containers SET durable = 'OFF'");
    wait_for(&mut c, "get @@aaa", "VALUE @@aaa 0 14/test/demo_test");
    crate::common::wait_for("the container's change", || durable(&mut Client::of(&both.r)).as_deref() == Some("off"));
    let mut c = Client::of(&both.r);
    let mut other = Client::of(&both.r);
    for n in 0..50 {
        let text = n.to_string();
        assert_eq!(c.ask(&format!("set a 0 0 {}\r\n{n}", text.len())), "STORED");
        assert_eq!(c.get("get a")[1], text);
        assert_eq!(other.get("get a")[1], text);
    }
}

/// Whether a client is told of what it changes when that is durable, as `stats` has it.
fn durable(c: &mut Client) -> Option<String> {
    c.send(b"stats\r\n");
    let mut durable = None;
    while let Some(line) = c.line().filter(|line| line != b"END") {
        let line = shown(&line);
        durable = line.strip_prefix("STAT durable ").map(str::to_owned).or(durable);
    }
    durable
}

#[test]
fn policies_switch_commands_off() {
    let both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    assert_eq!(c.ask("set a 0 0 1\r\n1"), "STORED");
    run(&mut sql, "UPDATE innodb_memcache.cache_policies SET set_policy = 'disabled', flush_policy = 'cache_only'");
    let mut c = Client::of(&both.r);
    crate::common::wait_for("the policies", || {
        c = Client::of(&both.r);
        c.ask("set a 0 0 1\r\n1").contains("set_policy")
    });
    assert_eq!(c.get("get a"), ["VALUE a 0 1", "1"]);
    assert!(c.ask("flush_all").contains("flush_policy"));
    assert_eq!(c.ask("delete a"), "DELETED");
}

#[test]
fn what_memcached_does_is_seen_by_sql() {
    let mut both = Both::start(with_socket);
    let (mut sql, mut c) = set_up(&both.r);
    for n in 0..5 {
        assert_eq!(c.ask(&format!("set k{n} 0 0 1\r\n1")), "STORED");
    }
    assert_eq!(c.get("get k1 k2 nope").len(), 4);
    let counted = "SELECT DIGEST_TEXT, COUNT_STAR FROM performance_schema.events_statements_summary_by_digest
                   WHERE DIGEST_TEXT = 'memcached set'";
    assert_eq!(one(&mut sql, &format!("SELECT COUNT_STAR FROM ({counted}) d")), "5");
    // Of all servers of this process.
    let hits =
        "SELECT VARIABLE_VALUE >= 2 FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Memcached_get_hits'";
    assert_eq!(one(&mut sql, hits), "1");
    assert_eq!(
        one(&mut sql, "SELECT COUNT(*) FROM performance_schema.threads WHERE PROCESSLIST_USER = 'memcached'"),
        "1"
    );
    let uses = "SELECT CONCAT_WS(',', COUNT_FETCH >= 2, COUNT_INSERT, COUNT_UPDATE, COUNT_DELETE)
                FROM performance_schema.table_io_waits_summary_by_table WHERE OBJECT_NAME = 'demo_test'";
    run(&mut sql, "TRUNCATE TABLE performance_schema.table_io_waits_summary_by_table");
    for (command, answer) in [("set io 0 0 1\r\n1", "STORED"), ("incr io 4", "5"), ("delete io", "DELETED")] {
        assert_eq!(c.ask(command), answer);
    }
    assert_eq!(one(&mut sql, uses), "1,1,1,1");
    run(&mut sql, "SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = 1");
    let log = one(&mut sql, "SELECT @@slow_query_log_file");
    let until = Instant::now() + PATIENCE;
    // The background looks at the variables once a second.
    while !std::fs::read_to_string(&log).is_ok_and(|text| text.contains("memcached get;")) {
        assert!(Instant::now() < until);
        assert_eq!(c.get("get k1").len(), 2);
    }
    run(&mut sql, "SET GLOBAL slow_query_log = 0, GLOBAL long_query_time = 10");
    let activity = "SELECT COUNT(*) FROM performance_schema.threads
                    WHERE PROCESSLIST_USER = 'memcached' AND PROCESSLIST_COMMAND = 'Sleep'";
    assert_eq!(one(&mut sql, activity), "1");
    assert_eq!(c.ask("stats reset"), "RESET");
    // It is all there after a restart, without another set-up.
    drop(sql);
    both.restart();
    let mut c = Client::of(&both.r);
    assert_eq!(c.get("get k0 k4").len(), 4);
}
