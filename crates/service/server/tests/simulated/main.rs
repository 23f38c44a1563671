//! The whole server in the simulation: sessions that speak SQL over a simulated network, on a simulated disk, with a
//! simulated clock. The power is cut, connections are cut or fall silent, the disk fills or fails; after each cut the
//! server starts again and what it has is compared with what the clients were told.
//!
//! Each transaction inserts a number of its own into a table: that tells which ones survived. Every change of a row is
//! noted with its place in the row's history, so the surviving transactions say what must be there.

use gannet_engine::plant::{Fault, plant};
use gannet_runtime::sim::{Faults, Lie, Sim, SimClient, SimDisk};
use gannet_server::vars::{Live, VarValue};
use gannet_server::{Server, ServerOptions};
use gannet_wire::client::{Connection, Error, Options};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

mod clocks;
mod keys;
mod tables;

const KEYS: u64 = 16;
const CLIENTS: u64 = 3;

fn rng(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    move |n| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }
}

/// The network between a client and the server: cut, or fallen silent, after so many calls.
struct Net {
    client: SimClient,
    calls: u64,
    cut_at: u64,
    silent: bool,
    arrived: Vec<u8>,
}

impl Net {
    fn pass(&mut self) -> io::Result<()> {
        self.calls += 1;
        if self.calls < self.cut_at {
            return Ok(());
        }
        if self.silent {
            self.client.set_silent();
        }
        Err(io::ErrorKind::ConnectionReset.into())
    }
}

impl Read for Net {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.arrived.is_empty() {
            self.pass()?;
            self.client.read(&mut self.arrived)?;
        }
        let n = self.arrived.len().min(buf.len());
        buf[..n].copy_from_slice(&self.arrived[..n]);
        self.arrived.drain(..n);
        Ok(n)
    }
}

impl Write for Net {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.pass()?;
        self.client.write_all(buf)?;
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    Gone,
    /// Asked to commit; the answer has not come, or will not.
    Asked,
    Told,
}

type Shared = Mutex<Oracle>;

#[derive(Default)]
struct Oracle {
    fates: BTreeMap<u64, Fate>,
    /// By key: transaction, and the row's new value (`None`: deleted), in order.
    history: BTreeMap<u64, Vec<(u64, Option<i64>)>>,
    /// By client: tables beside ([`tables`]).
    tables: BTreeMap<u64, tables::Known>,
    /// The table of rows has a full-text index.
    searched: bool,
    next: u64,
    told: u64,
    /// Statements of [`tables`] acknowledged.
    defined: u64,
    statements: u64,
    cut: u64,
}

impl Oracle {
    fn undo(&mut self, tag: u64) {
        self.history.values_mut().for_each(|h| h.retain(|(t, _)| *t != tag));
    }

    /// How much each row's history has of a transaction: a savepoint.
    fn mark(&self, tag: u64) -> BTreeMap<u64, usize> {
        let count = |h: &Vec<(u64, Option<i64>)>| h.iter().filter(|(t, _)| *t == tag).count();
        self.history.iter().map(|(&k, h)| (k, count(h))).collect()
    }

    /// Back to a savepoint.
    fn undo_to(&mut self, tag: u64, mark: &BTreeMap<u64, usize>) {
        for (k, h) in &mut self.history {
            let mut left = mark.get(k).copied().unwrap_or(0);
            h.retain(|(t, _)| {
                let kept = *t != tag || left > 0;
                left = left.saturating_sub(usize::from(*t == tag));
                kept
            });
        }
    }

    fn settle(&mut self, survived: &BTreeSet<u64>) -> BTreeMap<u64, i64> {
        for (tag, fate) in &self.fates {
            match fate {
                Fate::Told => assert!(survived.contains(tag), "transaction {tag} was acknowledged and is lost"),
                Fate::Gone => assert!(!survived.contains(tag), "transaction {tag} was rolled back and is there"),
                Fate::Asked => {}
            }
        }
        let mut rows = BTreeMap::new();
        for (&k, h) in &mut self.history {
            h.retain(|(tag, _)| survived.contains(tag));
            if let Some((_, Some(value))) = h.last() {
                rows.insert(k, *value);
            }
        }
        self.fates.retain(|tag, _| survived.contains(tag));
        self.fates.values_mut().for_each(|f| *f = Fate::Told);
        rows
    }
}

fn connect(server: &Server, cut_at: u64, silent: bool) -> Result<Connection, Error> {
    let net = Net { client: server.connect_simulated(), calls: 0, cut_at, silent, arrived: Vec::new() };
    Connection::over(net, &Options::default(), true)
}

fn texts(db: &mut Connection, sql: &str) -> Vec<Vec<String>> {
    db.query(sql).unwrap_or_else(|e| panic!("{sql}: {e}")).texts()
}

/// What goes wrong beside the power and the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    None,
    Full,
    Broken,
    /// Changes cannot be undone, and transactions not committed, now and then.
    Undo,
}

const FAULTS: Faults = Faults { read_errors: 0, write_errors: 0, sync_errors: 0, late: 0, garbage: true };

fn up() -> Server {
    let mut o = ServerOptions::new(std::path::Path::new("/data"));
    o.set(Live::InnodbBufferPoolSize, VarValue::Int(8 << 20));
    o.set(Live::InnodbRedoLogCapacity, VarValue::Int(8 << 20));
    o.set(Live::InnodbLockWaitTimeout, VarValue::Int(2));
    o.set(Live::LockWaitTimeout, VarValue::Int(2));
    o.set(Live::ScrubPages, VarValue::Int(2000));
    // The binary log has a simulation of its own, in `gannet-core`.
    o.set(Live::LogBin, VarValue::bool(false));
    o.set(Live::WaitTimeout, VarValue::Int(5));
    o.set(Live::NetReadTimeout, VarValue::Int(5));
    o.set(Live::NetWriteTimeout, VarValue::Int(5));
    o.set(Live::LogErrorVerbosity, VarValue::Int(1));
    Server::start_simulated(o).unwrap_or_else(|e| panic!("the server does not start: {e}"))
}

/// Under every other seed the rows are in several parts, under the others they have words that are searched.
fn prepare(db: &mut Connection, seed: u64) {
    let parts = if is_searched(seed) { "" } else { " PARTITION BY HASH (id) PARTITIONS 3" };
    let words = if is_searched(seed) { ", FULLTEXT (w)" } else { "" };
    let rows = format!(
        "CREATE TABLE IF NOT EXISTS s.r (id INT PRIMARY KEY, v BIGINT NOT NULL, pad VARCHAR(400), KEY (v), w VARCHAR(60) \
         AS (CONCAT('row', id, ' value', v, ' group', v DIV 100000 % 5)) STORED INVISIBLE{words})"
    );
    for sql in [
        "CREATE DATABASE IF NOT EXISTS s",
        "CREATE TABLE IF NOT EXISTS s.tags (tag BIGINT PRIMARY KEY)",
        &format!("{rows}{parts}"),
        // Triggers keep a second table like the first.
        "CREATE TABLE IF NOT EXISTS s.mirror (id INT PRIMARY KEY, v BIGINT NOT NULL)",
        "CREATE TRIGGER IF NOT EXISTS s.r_insert AFTER INSERT ON s.r FOR EACH ROW \
         INSERT INTO s.mirror VALUES (NEW.id, NEW.v)",
        "CREATE TRIGGER IF NOT EXISTS s.r_update AFTER UPDATE ON s.r FOR EACH ROW \
         UPDATE s.mirror SET v = NEW.v WHERE id = NEW.id",
        "CREATE TRIGGER IF NOT EXISTS s.r_delete AFTER DELETE ON s.r FOR EACH ROW \
         DELETE FROM s.mirror WHERE id = OLD.id",
    ] {
        texts(db, sql);
    }
}

fn is_searched(seed: u64) -> bool {
    seed.is_multiple_of(2)
}

/// What a search of a group's word finds, and what a look at the rows does.
fn searches(group: u64) -> String {
    let of = |found: &str| format!("SELECT COUNT(*), COALESCE(SUM(id), 0) FROM s.r WHERE {found}");
    let search = of(&format!("MATCH (w) AGAINST ('+group{group}' IN BOOLEAN MODE)"));
    format!("{search} UNION ALL {}", of(&format!("w LIKE '%group{group}'")))
}

fn verify(db: &mut Connection, oracle: &Shared) {
    let number = |cell: &String| cell.parse::<i64>().expect("a number");
    let tags: BTreeSet<u64> = texts(db, "SELECT tag FROM s.tags").iter().map(|r| number(&r[0]) as u64).collect();
    let rows: Vec<(u64, i64)> =
        texts(db, "SELECT id, v FROM s.r ORDER BY id").iter().map(|r| (number(&r[0]) as u64, number(&r[1]))).collect();
    let want: Vec<(u64, i64)> = oracle.lock().unwrap().settle(&tags).into_iter().collect();
    assert_eq!(rows, want, "the table is not what the surviving transactions made of it");
    if oracle.lock().unwrap().searched {
        for group in 0..5 {
            let both = texts(db, &searches(group));
            assert_eq!(both[0], both[1], "a search of group{group} finds other rows than have it");
        }
        for (id, v) in rows.iter().step_by(3) {
            let sql = format!("SELECT id FROM s.r WHERE MATCH (w) AGAINST ('+row{id} +value{v}' IN BOOLEAN MODE)");
            assert_eq!(texts(db, &sql), [[id.to_string()]], "{sql}");
        }
    }
    let mirror = texts(db, "SELECT id, v FROM s.mirror ORDER BY id");
    assert_eq!(mirror, texts(db, "SELECT id, v FROM s.r ORDER BY id"), "the triggers' table is another");
    tables::verify(db, oracle);
    for row in texts(db, "CHECK TABLE s.r, s.tags, s.mirror") {
        assert_eq!(row[3], "OK", "{row:?}");
    }
}

/// One transaction over SQL. `Err`: the connection or the disk failed; what the oracle has to know of it is noted.
fn transaction(db: &mut Connection, oracle: &Shared, rnd: &mut impl FnMut(u64) -> u64) -> Result<(), Error> {
    let tag = {
        let mut o = oracle.lock().unwrap();
        o.next += 1;
        let tag = o.next;
        o.fates.insert(tag, Fate::Gone);
        tag
    };
    let searched = oracle.lock().unwrap().searched;
    let level = ["READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"][rnd(3) as usize];
    let mut query = |sql: &str| {
        oracle.lock().unwrap().statements += 1;
        db.query(sql).map(|r| r.texts())
    };
    let result: Result<(), Error> = (|| {
        query(&format!("SET TRANSACTION ISOLATION LEVEL {level}"))?;
        query("BEGIN")?;
        query(&format!("INSERT INTO s.tags VALUES ({tag})"))?;
        for _ in 0..1 + rnd(4) {
            let (k, value) = (rnd(KEYS), (rnd(50) * 100_000 + tag) as i64);
            let pad = "p".repeat(rnd(380) as usize);
            let there = !query(&format!("SELECT v FROM s.r WHERE id = {k} FOR UPDATE"))?.is_empty();
            let new = match there {
                true if rnd(4) == 0 => {
                    query(&format!("DELETE FROM s.r WHERE id = {k}"))?;
                    None
                }
                true => {
                    query(&format!("UPDATE s.r SET v = {value}, pad = '{pad}' WHERE id = {k}"))?;
                    Some(value)
                }
                false => {
                    query(&format!("INSERT INTO s.r VALUES ({k}, {value}, '{pad}')"))?;
                    Some(value)
                }
            };
            oracle.lock().unwrap().history.entry(k).or_default().push((tag, new));
            if rnd(4) == 0 {
                // Two rows in one statement: the second is there already, and neither is inserted.
                match query(&format!("INSERT INTO s.r VALUES ({}, 1, ''), ({k}, 1, '')", KEYS + tag)) {
                    Err(e) if new.is_some() && e.code() == Some(1062) => {}
                    Ok(_) if new.is_none() => {
                        query(&format!("DELETE FROM s.r WHERE id IN ({}, {k})", KEYS + tag))?;
                    }
                    Ok(_) => panic!("row {k} was inserted twice"),
                    Err(e) => return Err(e),
                }
            }
            if rnd(6) == 0 {
                let mark = oracle.lock().unwrap().mark(tag);
                query("SAVEPOINT a")?;
                let there = !query(&format!("SELECT v FROM s.r WHERE id = {k} FOR UPDATE"))?.is_empty();
                if there {
                    query(&format!("UPDATE s.r SET v = v + 1, pad = CONCAT(pad, 'x') WHERE id = {k}"))?;
                    query(&format!("DELETE FROM s.r WHERE id = {k}"))?;
                }
                query("ROLLBACK TO SAVEPOINT a")?;
                oracle.lock().unwrap().undo_to(tag, &mark);
            }
            if rnd(3) == 0 {
                let sums = query(
                    "SELECT COUNT(*), SUM(v) FROM s.r UNION ALL SELECT COUNT(*), SUM(v) FROM s.r FORCE INDEX (v) WHERE v >= 0",
                )?;
                assert!(level == "READ COMMITTED" || sums[0] == sums[1], "rows and index differ: {sums:?}");
                if searched {
                    let both = query(&searches(rnd(5)))?;
                    assert!(level == "READ COMMITTED" || both[0] == both[1], "rows and search differ: {both:?}");
                }
            }
        }
        Ok(())
    })();
    match result {
        Ok(()) if rnd(6) != 0 => {}
        Ok(()) => {
            oracle.lock().unwrap().undo(tag);
            return query("ROLLBACK").map(|_| ());
        }
        Err(e) => {
            oracle.lock().unwrap().undo(tag);
            if e.code().is_some() {
                query("ROLLBACK")?;
            }
            return match e.code() {
                Some(1205 | 1213 | 1062) => Ok(()),
                _ => Err(e),
            };
        }
    }
    oracle.lock().unwrap().fates.insert(tag, Fate::Asked);
    let committed = query("COMMIT");
    let mut o = oracle.lock().unwrap();
    if let Err(e) = committed {
        // Only a log that could not be written leaves it open.
        if matches!(e.code(), Some(1114 | 1181)) {
            o.fates.insert(tag, Fate::Gone);
            o.undo(tag);
        }
        return Err(e);
    }
    o.fates.insert(tag, Fate::Told);
    o.told += 1;
    Ok(())
}

/// Adds an index to the table that the transactions use, or drops it, beside them.
fn index(db: &mut Connection, oracle: &Shared, rnd: &mut impl FnMut(u64) -> u64) -> Result<(), Error> {
    oracle.lock().unwrap().statements += 1;
    let sql = match rnd(2) {
        0 => "ALTER TABLE s.r ADD INDEX extra (pad(10), v)",
        _ => "ALTER TABLE s.r DROP INDEX extra",
    };
    match db.query(sql) {
        Ok(_) => Ok(()),
        // It is there already, or is not; a lock was not had.
        Err(e) if matches!(e.code(), Some(1061 | 1091 | 1205 | 1213)) => Ok(()),
        Err(e) => Err(e),
    }
}

fn client(server: &Server, oracle: &Shared, trouble: Trouble, seed: u64, n: u64) {
    let mut rnd = rng(seed * 31 + n);
    let mut db = None;
    for _ in 0..10 {
        let mut it = match db.take() {
            Some(it) => it,
            None => {
                let cut_at = if rnd(2) == 0 { 10 + rnd(150) } else { u64::MAX };
                match connect(server, cut_at, rnd(2) == 0) {
                    Ok(it) => it,
                    Err(_) => continue,
                }
            }
        };
        if trouble == Trouble::Undo {
            plant((rnd(2) == 0).then_some(Fault::UndoFails));
        }
        let done = match rnd(9) {
            0 | 1 => tables::define(&mut it, oracle, n, &mut rnd),
            2 => index(&mut it, oracle, &mut rnd),
            _ => transaction(&mut it, oracle, &mut rnd),
        };
        match done {
            Ok(()) => db = Some(it),
            Err(e) if e.code().is_none() => oracle.lock().unwrap().cut += 1,
            Err(e) if trouble != Trouble::None => {
                let code = e.code().unwrap_or(0);
                let full = [3, 1021, 1114].contains(&code);
                let undo = trouble == Trouble::Undo && code == 1181;
                assert!(full || undo || trouble == Trouble::Broken, "{trouble:?}: {e}");
                let _ = gannet_runtime::sleep(Duration::from_millis(5));
                db = Some(it);
            }
            Err(e) => panic!("{e}"),
        }
    }
}

fn live(seed: u64, trouble: Trouble, disk: &SimDisk, oracle: &Arc<Mutex<Oracle>>) {
    let server = Arc::new(up());
    let mut db = connect(&server, u64::MAX, false).expect("root connects");
    // All lives of a store have one kind of table.
    prepare(&mut db, seed / 10);
    verify(&mut db, oracle);
    drop(db);
    match trouble {
        Trouble::None | Trouble::Undo => {}
        Trouble::Full => disk.set_capacity(Some(disk.used() + (seed % 7) * 100_000)),
        Trouble::Broken => disk.set_faults(Faults { sync_errors: 60, write_errors: 60, ..FAULTS }),
    }
    let mut tasks = Vec::new();
    for n in 0..CLIENTS {
        let (server, oracle) = (server.clone(), oracle.clone());
        tasks.push(gannet_runtime::spawn(&format!("client-{n}"), move || client(&server, &oracle, trouble, seed, n)));
    }
    for task in tasks {
        task.join().unwrap();
    }
    disk.set_faults(FAULTS);
    disk.set_capacity(None);
    if trouble == Trouble::Undo {
        plant(None);
    }
    if trouble == Trouble::Broken {
        gannet_runtime::sim::crash();
    }
    // Connections that were lost without a word end by their timeouts, and what they had locked is free again.
    let _ = gannet_runtime::sleep(Duration::from_secs(20));
    let mut db = connect(&server, u64::MAX, false).expect("root connects");
    transaction(&mut db, oracle, &mut rng(seed)).unwrap();
    verify(&mut db, oracle);
    drop(db);
    if seed.is_multiple_of(2) {
        server.stop();
    } else {
        gannet_runtime::sim::crash();
    }
}

/// Walks the whole store: every tree, all undo, the space map, all indexes.
fn check(seed: u64, disk: &SimDisk) {
    let report = Sim::new(seed).disk(disk).run(|| {
        let args = ["--no-defaults", "--datadir=/data", "--innodb-buffer-pool-size=8M"].map(String::from);
        gannet_server::check::check_store(&args).unwrap_or_else(|e| panic!("the store cannot be checked: {e}"))
    });
    assert!(report.findings.is_empty(), "{}: {:?}", report.summary, report.findings);
}

#[derive(Default)]
struct Tally {
    lives: u64,
    crashes: u64,
    told: u64,
    defined: u64,
    statements: u64,
    cut: u64,
}

impl std::fmt::Display for Tally {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Tally { lives, crashes, told, defined, statements, cut } = self;
        write!(
            f,
            "{lives} lives of the server, {crashes} crash points, {statements} statements, {cut} connections cut, {told} transactions \
             and {defined} definitions of tables acknowledged"
        )
    }
}

fn run(seed: u64, tally: &mut Tally) {
    run_on(&SimDisk::new(), seed, tally);
}

fn run_on(disk: &SimDisk, seed: u64, tally: &mut Tally) {
    disk.set_faults(FAULTS);
    let oracle = Arc::new(Mutex::new(Oracle { searched: is_searched(seed), ..Oracle::default() }));
    let mut rnd = rng(seed);
    let steps = number("GANNET_STEPS");
    for round in 0..3 {
        let seed = seed * 10 + round;
        let cut = steps.unwrap_or([2_000, 10_000, 40_000][rnd(3) as usize]);
        let trouble = [Trouble::None, Trouble::None, Trouble::Full, Trouble::Broken, Trouble::Undo, Trouble::Undo]
            [rnd(6) as usize];
        let trouble = if round == 2 { Trouble::None } else { trouble };
        let mut sim = Sim::new(seed).disk(disk);
        if round < 2 {
            sim = sim.crash_after(rnd(cut));
        }
        let (o, d) = (oracle.clone(), disk.clone());
        let outcome = sim.run_outcome(move || live(seed, trouble, &d, &o));
        disk.set_faults(FAULTS);
        disk.set_capacity(None);
        if trouble == Trouble::Undo {
            plant(None);
        }
        tally.lives += 1;
        tally.crashes += u64::from(outcome.value.is_none());
    }
    check(seed, disk);
    let o = oracle.lock().unwrap();
    tally.defined += o.defined;
    tally.told += o.told;
    tally.statements += o.statements;
    tally.cut += o.cut;
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|s| s.parse().expect("a number"))
}

struct Replay(u64);

impl Drop for Replay {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("replay: cargo xtask sim --workload server --seed {}", self.0);
        }
    }
}

#[test]
fn sessions_lose_nothing() {
    let one = number("GANNET_SEED");
    let first = one.or(number("GANNET_FIRST_SEED")).unwrap_or(0);
    let seeds = one.map_or_else(|| number("GANNET_SEEDS").unwrap_or(6), |_| 1);
    let until = number("GANNET_SECONDS").map(|s| std::time::Instant::now() + Duration::from_secs(s));
    let mut tally = Tally::default();
    for seed in first..first + seeds {
        if until.is_some_and(|until| std::time::Instant::now() > until) {
            break;
        }
        let _replay = Replay(seed);
        run(seed, &mut tally);
        if number("GANNET_LOUD").is_some() {
            println!("to seed {seed}: {tally}");
        }
    }
    println!("{tally}; nothing lost, nothing torn");
    let Tally { lives, told, .. } = tally;
    assert!(told > lives || lives <= 6, "the runs are too short: {told}");
}

/// A test that would not notice these would be worth nothing.
#[test]
fn planted_faults_are_found() {
    // The number: a seed that once found it, tried first.
    let cases: [(&str, Option<Fault>, Option<Lie>, u64); 4] = [
        ("told before the commit is durable", Some(Fault::TellEarly), None, 0),
        ("a failed statement keeps what it did", Some(Fault::KeepFailed), None, 0),
        ("undo records dropped", Some(Fault::DropUndo), None, 0),
        ("the log is not synced", None, Some(Lie::Syncs("/log/")), 0),
    ];
    let from_zero = number("GANNET_FIRST_SEED") == Some(0);
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut missed = Vec::new();
    for (what, fault, lie, hint) in cases {
        let started = std::time::Instant::now();
        let hint = if from_zero { 0 } else { hint };
        let found = (hint..1000).chain(0..hint).find(|&seed| {
            let disk = SimDisk::new();
            disk.set_lie(lie.clone());
            plant(fault);
            let work = || run_on(&disk, seed, &mut Tally::default());
            let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            plant(None);
            outcome.is_err()
        });
        match found {
            Some(seed) => println!("{what}: found with seed {seed}, {} ms", started.elapsed().as_millis()),
            None => missed.push(what),
        }
    }
    std::panic::set_hook(hook);
    assert!(missed.is_empty(), "not found: {missed:?}");
}
