//! Two servers, of which one follows the other semi-synchronously: `kill -9` of the source under load, the replica
//! takes its place, and the old source comes back as its replica.

use super::{CLIENTS, Random, number, read_log, variable};
use gannet_wire::client::{Address, Connection, Options};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(180);

struct Peer {
    dir: PathBuf,
    id: u32,
    child: Child,
}

impl Peer {
    fn start(dir: &Path, id: u32) -> Peer {
        let dir = dir.join(id.to_string());
        std::fs::create_dir_all(&dir).expect("a directory");
        let _ = std::fs::remove_file(dir.join("s.sock"));
        let child = Command::new(env!("CARGO_BIN_EXE_gannet"))
            .arg("serve")
            .arg(format!("--datadir={}", dir.join("data").display()))
            .arg(format!("--socket={}", dir.join("s.sock").display()))
            .args([
                "--port=0",
                "--log-bin",
                "--innodb-buffer-pool-size=32M",
                "--innodb-redo-log-capacity=64M",
                "--rpl-semi-sync-replica-enabled=ON",
            ])
            .arg("--rpl-semi-sync-source-timeout=600000")
            .arg(format!("--server-id={id}"))
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(dir.join("server.log")).expect("a log"))
            .spawn()
            .expect("the binary starts");
        let it = Peer { dir, id, child };
        drop(it.connect());
        it
    }

    fn connect(&self) -> Connection {
        let until = Instant::now() + PATIENCE;
        let options = Options { timeout: Some(PATIENCE), ..Options::default() };
        loop {
            match Connection::connect(&Address::Unix(self.dir.join("s.sock")), &options) {
                Ok(c) => return c,
                Err(e) => assert!(Instant::now() < until, "server {}: {e}: {}", self.id, read_log(&self.dir)),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn kill(&mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("the process ends");
    }

    /// Follows the other one from where it stands.
    fn follow(&self, source: &Peer) {
        let port = number(&mut source.connect(), "SELECT @@port");
        let mut db = self.connect();
        for sql in [
            "STOP REPLICA".to_owned(),
            "SET GLOBAL rpl_semi_sync_source_enabled = OFF".to_owned(),
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, SOURCE_USER = 'follower', \
                 SOURCE_PASSWORD = 'secret', GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1, \
                 SOURCE_AUTO_POSITION = 1"
            ),
            "START REPLICA".to_owned(),
        ] {
            db.query(&sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        }
    }

    fn log(&self) -> String {
        read_log(&self.dir)
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What one client has sent, and what it was told.
#[derive(Default)]
struct Sent {
    sent: AtomicU64,
    /// Rows that were acknowledged.
    told: std::sync::Mutex<Vec<u64>>,
}

fn load(mut db: Connection, client: usize, mine: &Sent, stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        let n = mine.sent.fetch_add(1, Ordering::Relaxed) + 1;
        if db.query(&format!("INSERT INTO d.t VALUES ({client}, {n}, UUID())")).is_err() {
            return;
        }
        mine.told.lock().expect("told").push(n);
    }
}

/// All rows that clients were told of are there.
fn has_all(db: &mut Connection, clients: &[Sent]) {
    for (client, mine) in clients.iter().enumerate() {
        let rows = db.query(&format!("SELECT n FROM d.t WHERE client = {client}")).expect("rows").texts();
        let there: std::collections::HashSet<u64> = rows.iter().filter_map(|row| row[0].parse().ok()).collect();
        let told = mine.told.lock().expect("told");
        let lost: Vec<&u64> = told.iter().filter(|n| !there.contains(*n)).collect();
        assert!(lost.is_empty(), "client {client} was told of {lost:?}, which are lost");
    }
}

fn wait(what: &str, peers: [&Peer; 2], mut is: impl FnMut() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is() {
        assert!(Instant::now() < until, "{what}: {} --- {}", peers[0].log(), peers[1].log());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn text(db: &mut Connection, sql: &str) -> String {
    db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts()[0][0].clone()
}

#[test]
fn no_acknowledged_transaction_is_lost_by_a_failover() {
    let rounds: u64 = variable("GANNET_FAILOVER_ROUNDS", 3);
    let seed: u64 = variable("GANNET_CRASH_SEED", u64::from(std::process::id()) * 7919 + 1);
    let dir = std::env::temp_dir().join(format!("gannet-failover-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let mut random = Random(seed | 1);
    let (mut source, mut replica) = (Peer::start(&dir, 1), Peer::start(&dir, 2));
    let mut db = source.connect();
    for sql in [
        "CREATE USER follower IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO follower",
        "CREATE DATABASE d",
        "CREATE TABLE d.t (client INT, n BIGINT, id CHAR(36), PRIMARY KEY (client, n))",
    ] {
        db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    replica.follow(&source);
    let clients: Vec<Sent> = (0..CLIENTS).map(|_| Sent::default()).collect();
    for _ in 0..rounds {
        let mut db = source.connect();
        wait("the replica joins", [&source, &replica], || {
            text(
                &mut db,
                "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
                           WHERE VARIABLE_NAME = 'Rpl_semi_sync_source_clients'",
            ) == "1"
        });
        db.query("SET GLOBAL rpl_semi_sync_source_enabled = ON").expect("semi-sync");
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (client, mine) in clients.iter().enumerate() {
                let (db, stop) = (source.connect(), &stop);
                scope.spawn(move || load(db, client, mine, stop));
            }
            std::thread::sleep(Duration::from_millis(100 + random.next(500)));
            let killed = Command::new("kill").args(["-9", &source.child.id().to_string()]).status();
            assert!(killed.is_ok_and(|s| s.success()), "{}", source.log());
            stop.store(true, Ordering::Relaxed);
        });
        source.kill();
        // The replica takes its place.
        let mut db = replica.connect();
        db.query("STOP REPLICA").expect("STOP REPLICA");
        db.query("RESET REPLICA ALL").expect("RESET REPLICA ALL");
        has_all(&mut db, &clients);
        let id = source.id;
        source = std::mem::replace(&mut replica, Peer::start(&dir, id));
        replica.follow(&source);
    }
    // What the last one has, both have.
    let executed = text(&mut source.connect(), "SELECT @@gtid_executed");
    let mut db = replica.connect();
    let subset = format!("SELECT GTID_SUBSET('{executed}', @@gtid_executed)");
    wait("the old source catches up", [&source, &replica], || text(&mut db, &subset) == "1");
    has_all(&mut db, &clients);
    let told: usize = clients.iter().map(|c| c.told.lock().expect("told").len()).sum();
    println!("{rounds} failovers, {told} rows acknowledged, none lost");
    assert!(told as u64 > rounds, "the clients wrote nothing");
    drop((source, replica));
    let _ = std::fs::remove_dir_all(&dir);
}

/// A transaction of a few rows that others change as well.
fn change(db: &mut Connection, random: &mut Random) -> Result<(), gannet_wire::client::Error> {
    db.query("BEGIN")?;
    for _ in 0..1 + random.next(4) {
        let (a, b) = (random.next(40), random.next(1000));
        let sql = match random.next(4) {
            0 => format!("REPLACE INTO d.hot VALUES ({a}, {b}, UUID())"),
            1 => format!("DELETE FROM d.hot WHERE a = {a}"),
            2 => format!("UPDATE d.hot SET id = UUID() WHERE a = {a}"),
            _ => format!("UPDATE IGNORE d.hot SET b = {b} WHERE a = {a}"),
        };
        match db.query(&sql) {
            // The victim of a deadlock goes on with another one.
            Err(gannet_wire::client::Error::Server { code: 1213 | 1205, .. }) => {
                db.query("ROLLBACK")?;
                return Ok(());
            }
            answer => drop(answer?),
        }
    }
    db.query("COMMIT").map(drop)
}

/// Workers of a replica, whose source's clients change the same rows; either side is killed.
#[test]
fn a_replica_has_each_transaction_once_whoever_is_killed() {
    let rounds: u64 = variable("GANNET_FAILOVER_ROUNDS", 3);
    let seed: u64 = variable("GANNET_CRASH_SEED", u64::from(std::process::id()) * 104_729 + 1);
    let dir = std::env::temp_dir().join(format!("gannet-followed-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&dir);
    let mut random = Random(seed | 1);
    let mut peers = [Peer::start(&dir, 1), Peer::start(&dir, 2)];
    let mut db = peers[0].connect();
    for sql in [
        "CREATE USER follower IDENTIFIED BY 'secret'",
        "GRANT REPLICATION SLAVE ON *.* TO follower",
        "CREATE DATABASE d",
        "CREATE TABLE d.hot (a INT PRIMARY KEY, b INT UNIQUE, id CHAR(36))",
    ] {
        db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    let mut done = 0;
    for round in 0..rounds {
        peers[1].follow(&peers[0]);
        let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
        let killed = (round % 2 == 0) as usize;
        std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (mut db, mut random) = (peers[0].connect(), Random(seed ^ (client + 2) << 20 | 1));
                let (stop, count) = (&stop, &count);
                scope.spawn(move || {
                    while !stop.load(Ordering::Relaxed) && change(&mut db, &mut random).is_ok() {
                        count.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
            std::thread::sleep(Duration::from_millis(100 + random.next(500)));
            let pid = peers[killed].child.id().to_string();
            let sent = Command::new("kill").args(["-9", &pid]).status();
            assert!(sent.is_ok_and(|s| s.success()), "{}", peers[killed].log());
            stop.store(true, Ordering::Relaxed);
        });
        done += count.load(Ordering::Relaxed);
        peers[killed].kill();
        peers[killed] = Peer::start(&dir, killed as u32 + 1);
    }
    peers[1].follow(&peers[0]);
    let [source, replica] = &peers;
    let (mut s, mut r) = (source.connect(), replica.connect());
    let executed = text(&mut s, "SELECT @@gtid_executed");
    wait("the replica catches up", [source, replica], || text(&mut r, "SELECT @@gtid_executed") == executed);
    let all = "SELECT * FROM d.hot ORDER BY a";
    let [want, got] = [&mut s, &mut r].map(|db| db.query(all).expect("rows").texts());
    assert_eq!(got, want, "seed {seed}");
    println!("{rounds} rounds, {done} transactions, each once");
    assert!(done > rounds, "the clients wrote nothing");
    drop((s, r));
    drop(peers);
    let _ = std::fs::remove_dir_all(&dir);
}
