//! `kill -9` under load: nothing acknowledged is lost, nothing that was rolled back or left open shows, indexes agree
//! with their tables; with a binary log, its events agree with the tables to the row, and whoever was given an event
//! finds it in the file.
//!
//! Each round starts the real binary, lets some clients write, kills the process at a random moment, starts it again on
//! the same directory and compares. `GANNET_CRASH_ROUNDS` sets the number of rounds (default 4),
//! `GANNET_CRASH_SEED` the seed, `GANNET_FAILOVER_ROUNDS` that of failovers (default 3). Half of the rounds use a 16 MiB pool and 32 MiB of redo.

#[path = "common/exported.rs"]
mod exported;
#[path = "common/failover.rs"]
mod failover;

use gannet_wire::client::{Address, Connection, Options};
use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

const CLIENTS: u64 = 6;
/// Rows of a client in `pairs`: every transaction moves an amount between two of them, so their sum never changes.
const PAIRS: u64 = 20;

struct Server {
    child: Child,
    socket: PathBuf,
}

impl Server {
    fn start(dir: &Path, small: bool, logged: bool) -> Server {
        let socket = dir.join("s.sock");
        for old in [&socket, &dir.join("m.sock")] {
            let _ = std::fs::remove_file(old);
        }
        let (pool, redo) = if small { ("16M", "32M") } else { ("128M", "100M") };
        let child = Command::new(env!("CARGO_BIN_EXE_gannet"))
            .arg("serve")
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", socket.display()))
            .arg(format!("--memcached-socket={}", dir.join("m.sock").display()))
            .args(["--skip-networking", &format!("--innodb-buffer-pool-size={pool}")])
            .arg(format!("--innodb-redo-log-capacity={redo}"))
            .args(if logged { &["--log-bin", "--max-binlog-size=65536"][..] } else { &["--skip-log-bin"] })
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("server.log")).expect("a log"))
            .spawn()
            .expect("the binary starts");
        let server = Server { child, socket };
        let deadline = Instant::now() + Duration::from_secs(120);
        while server.connect().is_err() {
            assert!(Instant::now() < deadline, "no connection: {}", read_log(dir));
            std::thread::sleep(Duration::from_millis(10));
        }
        server
    }

    fn connect(&self) -> Result<Connection, gannet_wire::client::Error> {
        let options = Options { timeout: Some(Duration::from_secs(120)), ..Options::default() };
        Connection::connect(&Address::Unix(self.socket.clone()), &options)
    }

    fn kill(mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("the process ends");
    }
}

fn read_log(dir: &Path) -> String {
    std::fs::read_to_string(dir.join("server.log")).unwrap_or_default()
}

/// What a client knows to be committed.
#[derive(Default, Clone)]
struct Known {
    /// Inserted rows that were acknowledged: 1..=inserted.
    inserted: u64,
    /// Last counter value acknowledged, and the last one sent.
    counter: u64,
    counter_sent: u64,
    /// The second counter, which follows.
    steps: u64,
}

struct Random(u64);

impl Random {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

fn prepare(db: &mut Connection) {
    for sql in [
        "CREATE DATABASE crash",
        "CREATE TABLE crash.log (client INT, n INT, pad VARCHAR(200), k INT, PRIMARY KEY (client, n), KEY (k), UNIQUE KEY u (pad))",
        "CREATE TABLE crash.counters (client INT PRIMARY KEY, value BIGINT NOT NULL, KEY (value))",
        "CREATE TABLE crash.steps (client INT PRIMARY KEY, value BIGINT NOT NULL)",
        "CREATE TABLE crash.pairs (client INT, n INT, amount INT NOT NULL, KEY (amount), PRIMARY KEY (client, n))",
    ] {
        db.query(sql).expect(sql);
    }
    for client in 0..CLIENTS {
        for table in ["counters", "steps"] {
            db.query(&format!("INSERT INTO crash.{table} VALUES ({client}, 0)")).expect("a counter");
        }
        let rows: Vec<String> = (0..PAIRS).map(|n| format!("({client},{n},100)")).collect();
        db.query(&format!("INSERT INTO crash.pairs VALUES {}", rows.join(","))).expect("pairs");
    }
}

/// One client's load until the server goes away.
fn load(server: &Server, client: u64, known: &Mutex<Vec<Known>>, random: &mut Random, stop: &AtomicBool) {
    let Ok(mut db) = server.connect() else { return };
    let mut mine = known.lock().expect("known")[client as usize].clone();
    while !stop.load(Ordering::Relaxed) {
        let done = match random.next(4) {
            0 | 1 => insert(&mut db, client, &mut mine, random),
            2 => count(&mut db, client, &mut mine),
            _ => transfer(&mut db, client, random),
        };
        known.lock().expect("known")[client as usize] = mine.clone();
        if done.is_none() {
            return;
        }
    }
}

fn insert(db: &mut Connection, client: u64, mine: &mut Known, random: &mut Random) -> Option<()> {
    let n = mine.inserted + 1;
    let k = random.next(1000);
    db.query(&format!("INSERT INTO crash.log VALUES ({client}, {n}, '{client}-{n}-{}', {k})", "x".repeat(100))).ok()?;
    mine.inserted = n;
    Some(())
}

/// Two transactions: the second has no index to change, and commits with its row.
fn count(db: &mut Connection, client: u64, mine: &mut Known) -> Option<()> {
    mine.counter_sent = mine.counter + 1;
    db.query(&format!("UPDATE crash.counters SET value = {} WHERE client = {client}", mine.counter_sent)).ok()?;
    mine.counter = mine.counter_sent;
    db.query(&format!("UPDATE crash.steps SET value = {} WHERE client = {client}", mine.counter_sent)).ok()?;
    mine.steps = mine.counter_sent;
    Some(())
}

/// A transaction of two updates, and one of three times it is rolled back.
fn transfer(db: &mut Connection, client: u64, random: &mut Random) -> Option<()> {
    let (from, to) = (random.next(PAIRS), random.next(PAIRS));
    db.query("BEGIN").ok()?;
    db.query(&format!("UPDATE crash.pairs SET amount = amount - 7 WHERE client = {client} AND n = {from}")).ok()?;
    db.query(&format!("UPDATE crash.pairs SET amount = amount + 7 WHERE client = {client} AND n = {to}")).ok()?;
    db.query(if random.next(3) == 0 { "ROLLBACK" } else { "COMMIT" }).ok()?;
    Some(())
}

/// A client of memcached's protocol until the server goes away: items 1, 2, ... in pipelines. `told`: so many are
/// there.
fn store(dir: &Path, told: &AtomicU64, random: &mut Random, stop: &AtomicBool) {
    let Ok(mut to) = UnixStream::connect(dir.join("m.sock")) else { return };
    let _ = to.set_read_timeout(Some(Duration::from_secs(120)));
    let mut from = BufReader::new(to.try_clone().expect("a stream"));
    let mut next = told.load(Ordering::Relaxed) + 1;
    while !stop.load(Ordering::Relaxed) {
        let end = next + 1 + random.next(20);
        let sets: Vec<String> = (next..end).map(|n| format!("set m{n} 0 0 100\r\n{n:0100}\r\n")).collect();
        if to.write_all(sets.concat().as_bytes()).is_err() {
            return;
        }
        while next < end {
            let mut line = String::new();
            match from.read_line(&mut line) {
                Ok(n) if n > 0 && line == "STORED\r\n" => told.store(next, Ordering::Relaxed),
                _ => return,
            }
            next += 1;
        }
    }
}

/// The first command makes the table.
fn make_items(dir: &Path) {
    let until = Instant::now() + Duration::from_secs(120);
    let mut to = loop {
        match UnixStream::connect(dir.join("m.sock")) {
            Ok(to) => break to,
            Err(e) => assert!(Instant::now() < until, "{e}: {}", read_log(dir)),
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    to.write_all(b"get m0\r\n").expect("a request");
    let mut line = String::new();
    BufReader::new(to).read_line(&mut line).expect("an answer");
    assert_eq!(line, "END\r\n");
}

/// The items that were answered are there; later ones may be, without a gap: each is a commit of its own.
fn check_items(db: &mut Connection, told: &AtomicU64) {
    let items = "FROM test.demo_test WHERE c2 = LPAD(SUBSTR(c1, 2), 100, '0')";
    let (count, last) = (
        number(db, &format!("SELECT COUNT(*) {items}")) as u64,
        number(db, &format!("SELECT COALESCE(MAX(CAST(SUBSTR(c1, 2) AS UNSIGNED)), 0) {items}")) as u64,
    );
    let known = told.load(Ordering::Relaxed);
    assert!(count >= known && count == last, "{count} items, the last is {last}, {known} were answered");
    told.store(count, Ordering::Relaxed);
}

fn number(db: &mut Connection, sql: &str) -> i64 {
    let rows = db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts();
    rows[0][0].parse().unwrap_or_else(|_| panic!("{sql}: {rows:?}"))
}

/// Compares the data with what the clients know. Rows beyond it may exist: committed, but not acknowledged in time.
fn check(db: &mut Connection, known: &mut [Known]) {
    for (client, known) in known.iter_mut().enumerate() {
        let rows = number(db, &format!("SELECT COUNT(*) FROM crash.log WHERE client = {client}")) as u64;
        assert!(
            rows == known.inserted || rows == known.inserted + 1,
            "client {client}: {rows} rows, {} known",
            known.inserted
        );
        let last = number(db, &format!("SELECT COALESCE(MAX(n), 0) FROM crash.log WHERE client = {client}")) as u64;
        assert_eq!(last, rows, "client {client}: rows are missing in the middle");
        known.inserted = rows;
        let value = number(db, &format!("SELECT value FROM crash.counters WHERE client = {client}")) as u64;
        let fits = value == known.counter || value == known.counter_sent;
        assert!(fits, "client {client}: counter {value}, known {} sent {}", known.counter, known.counter_sent);
        known.counter = value;
        let steps = number(db, &format!("SELECT value FROM crash.steps WHERE client = {client}")) as u64;
        let fits = (known.steps..=value).contains(&steps);
        assert!(fits, "client {client}: {steps} steps, known {}, counter {value}", known.steps);
        known.steps = steps;
        let sum = number(db, &format!("SELECT SUM(amount) FROM crash.pairs WHERE client = {client}"));
        assert_eq!(sum, PAIRS as i64 * 100, "client {client}: half a transaction shows");
    }
    for (table, index) in [("log", "k"), ("log", "u"), ("counters", "value"), ("pairs", "amount")] {
        let by_row = number(db, &format!("SELECT COUNT(*) FROM crash.{table} IGNORE INDEX ({index})"));
        let by_index = number(db, &format!("SELECT COUNT(*) FROM crash.{table} FORCE INDEX ({index})"));
        assert_eq!(by_row, by_index, "index {index} of {table}");
        let checked = db.query(&format!("CHECK TABLE crash.{table}")).expect("CHECK TABLE").texts();
        assert!(checked.iter().all(|row| row.last().is_some_and(|t| t == "OK")), "{checked:?}");
    }
}

fn variable<T: std::str::FromStr>(name: &str, default: T) -> T {
    std::env::var(name).ok().and_then(|v| v.parse().ok()).unwrap_or(default)
}

#[test]
fn nothing_acknowledged_is_lost() {
    lives(false);
}

#[test]
fn with_a_binary_log_events_and_tables_agree() {
    lives(true);
}

/// What has changed while there is a binary log.
const LOGGED: [&str; 5] = ["crash.log", "crash.counters", "crash.steps", "crash.pairs", "test.demo_test"];

/// `cargo xtask memcached both --seconds 600` takes longer.
#[test]
fn sql_and_memcached_at_once_lose_nothing() {
    let binary = env!("CARGO_BIN_EXE_gannet").into();
    let options = xtask::memcached::both::Options { seconds: variable("GANNET_BOTH_SECONDS", 10), seed: 7, binary };
    match xtask::memcached::both::go(&options) {
        Ok(said) => println!("{said}"),
        Err(e) => panic!("{e}"),
    }
}

fn lives(logged: bool) {
    let rounds: u64 = variable("GANNET_CRASH_ROUNDS", 4);
    let seed: u64 = variable("GANNET_CRASH_SEED", u64::from(std::process::id()) * 7919 + 1);
    println!("replay with GANNET_CRASH_SEED={seed} (the moment of each kill depends on the machine too)");
    let dir = std::env::temp_dir().join(format!("gannet-crash-{}-{logged}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    std::fs::create_dir_all(&dir).expect("a directory");
    let mut random = Random(seed | 1);
    let known = Mutex::new(vec![Known::default(); CLIENTS as usize]);
    let told = AtomicU64::new(0);
    let (mut given, mut read) = (exported::Given::new(), 0);
    for round in 0..rounds {
        let server = Server::start(&dir, round % 2 == 1, logged);
        let mut db = server.connect().expect("a connection");
        if round == 0 {
            prepare(&mut db);
            make_items(&dir);
        } else {
            check(&mut db, &mut known.lock().expect("known"));
            check_items(&mut db, &told);
            if logged {
                exported::agree(&mut db, &dir.join("data"), &given, &LOGGED);
            }
        }
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, known, stop) = (&server, &known, &stop);
                let mut own = Random(seed.wrapping_mul(client + 3) ^ (round << 32) | 1);
                scope.spawn(move || load(server, client, known, &mut own, stop));
            }
            let (dir, told, stop_storing) = (&dir, &told, &stop);
            let mut own = Random(seed ^ (round << 40) | 1);
            scope.spawn(move || store(dir, told, &mut own, stop_storing));
            let from = &server;
            let read_on = move || from.connect().map(|mut db| exported::read(&mut db)).unwrap_or_default();
            let reader = logged.then(|| scope.spawn(read_on));
            std::thread::sleep(Duration::from_millis(100 + random.next(900)));
            // The clients' errors end their loops; none of them may stop the round before the kill.
            let pid = server.child.id().to_string();
            let killed = Command::new("kill").args(["-9", &pid]).status();
            assert!(killed.is_ok_and(|s| s.success()), "{}", read_log(dir));
            stop.store(true, Ordering::Relaxed);
            if let Some(reader) = reader {
                given = reader.join().expect("the reader");
                read += given.values().map(|events| events.len()).sum::<usize>();
            }
        });
        server.kill();
    }
    let server = Server::start(&dir, false, logged);
    let mut db = server.connect().expect("a connection");
    check(&mut db, &mut known.lock().expect("known"));
    let written: u64 = known.lock().expect("known").iter().map(|k| k.inserted).sum();
    check_items(&mut db, &told);
    if logged {
        exported::agree(&mut db, &dir.join("data"), &given, &LOGGED);
    }
    println!("{rounds} kills, {written} rows and {} items written, none lost", told.load(Ordering::Relaxed));
    assert!(written > 0, "the clients wrote nothing");
    assert!(!logged || read > 0, "the reader was given nothing");
    drop(db);
    server.kill();
    let _ = std::fs::remove_dir_all(&dir);
}
