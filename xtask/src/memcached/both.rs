//! `cargo xtask memcached both`: clients of SQL and of memcached's protocol change the same rows, while definitions
//! change and locks of tables come and go. A model says what must be there.
//!
//! | what | how it is changed | what must be |
//! |---|---|---|
//! | counters | incr, decr, ma, cas, UPDATE, transactions that read first | all that was answered, added up |
//! | a list | append, UPDATE with CONCAT | every mark once, each client's in its order |
//! | a pair | transactions that move an amount | a get of both rows sees the same sum |
//! | items of one client | set, add, replace, delete, INSERT, UPDATE, DELETE | each answer is foretold |
//! | a second table | set; TRUNCATE, DROP and CREATE | what was there before is gone; nothing else is |
//!
//! Who holds a lock of the tables sees that nothing changes. Every second the clients stop, and all is compared from
//! both sides; at the end `gannet check` looks at the store.

use crate::crash::server::{Disk, Server, check};
use crate::diff::Random;
use gannet_wire::client::Connection;
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

const CLIENTS: usize = 4;
const COUNTERS: usize = 3;
/// Where a counter begins: it is never counted down to 0, where decr stops.
const BEGIN: i64 = 1 << 40;
/// Both rows of the pair together.
const SUM: i64 = 1_000_000;
const SECOND: &str = "CREATE TABLE test.second (k VARBINARY(40) PRIMARY KEY, v VARBINARY(40))";
/// Between two comparisons.
const STRETCH: Duration = Duration::from_secs(1);

/// How to run.
#[derive(Debug)]
pub struct Options {
    /// How long.
    pub seconds: u64,
    /// Of what is drawn by chance.
    pub seed: u64,
    /// The server.
    pub binary: PathBuf,
}

/// What all clients have done.
#[derive(Default)]
struct Model {
    counters: [AtomicI64; COUNTERS],
    steps: AtomicU64,
    /// Compare-and-sets, and those that came too late.
    cas: AtomicU64,
    late: AtomicU64,
    definitions: AtomicU64,
    locks: AtomicU64,
}

/// A client of memcached's protocol.
struct Keys {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Keys {
    fn connect(path: &Path) -> Result<Keys, String> {
        let to = UnixStream::connect(path).map_err(|e| format!("{}: {e}", path.display()))?;
        to.set_read_timeout(Some(Duration::from_secs(60))).map_err(|e| e.to_string())?;
        let from = BufReader::new(to.try_clone().map_err(|e| e.to_string())?);
        Ok(Keys { to, from })
    }

    fn send(&mut self, text: &str) -> Result<(), String> {
        self.to.write_all(text.as_bytes()).map_err(|e| format!("{text:?}: {e}"))
    }

    fn line(&mut self) -> Result<String, String> {
        let mut line = String::new();
        self.from.read_line(&mut line).map_err(|e| format!("no answer: {e}"))?;
        line.strip_suffix("\r\n").map(str::to_owned).ok_or_else(|| format!("an answer without its end: {line:?}"))
    }

    fn ask(&mut self, text: &str) -> Result<String, String> {
        self.send(&format!("{text}\r\n"))?;
        self.line()
    }

    /// A change with a value.
    fn store(&mut self, verb: &str, key: &str, value: &str) -> Result<String, String> {
        self.ask(&format!("{verb} {key} 0 0 {}\r\n{value}", value.len()))
    }

    /// Values by key, and their cas numbers.
    fn gets(&mut self, keys: &str) -> Result<BTreeMap<String, (String, String)>, String> {
        self.send(&format!("gets {keys}\r\n"))?;
        let mut all = BTreeMap::new();
        loop {
            let line = self.line()?;
            let words: Vec<&str> = line.split(' ').collect();
            let ["VALUE", key, _, size, cas] = words[..] else {
                return if line == "END" { Ok(all) } else { Err(format!("gets {keys}: {line}")) };
            };
            let mut value = vec![0; size.parse::<usize>().map_err(|e| format!("{line}: {e}"))? + 2];
            self.from.read_exact(&mut value).map_err(|e| format!("{line}: {e}"))?;
            value.truncate(value.len() - 2);
            all.insert(key.to_owned(), (String::from_utf8_lossy(&value).into_owned(), cas.to_owned()));
        }
    }

    /// Back to the container that a connection begins with.
    fn switch(&mut self) -> Result<(), String> {
        must("a switch", self.ask("get @@aaa")?.as_str(), "VALUE @@aaa 0 14")?;
        must("a switch", [self.line()?, self.line()?], ["test/demo_test".to_owned(), "END".to_owned()])
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, String> {
        Ok(self.gets(key)?.remove(key).map(|(value, _)| value))
    }
}

fn run_sql(sql: &mut Connection, text: &str) -> Result<(), String> {
    sql.query(text).map(drop).map_err(|e| format!("{text}: {e}"))
}

/// The same for a change. `false`: it was the victim of a deadlock (of FLUSH TABLES WITH READ LOCK with a transaction
/// that a writer waits for, say); its transaction has ended, and nothing of it is there.
fn changes(sql: &mut Connection, text: &str) -> Result<bool, String> {
    match sql.query(text) {
        Ok(_) => Ok(true),
        Err(e) if e.code() == Some(1213) => Ok(false),
        Err(e) => Err(format!("{text}: {e}")),
    }
}

fn select(sql: &mut Connection, text: &str) -> Result<Vec<Vec<String>>, String> {
    sql.query(text).map(|found| found.texts()).map_err(|e| format!("{text}: {e}"))
}

fn wrong<T>(what: &str, got: impl std::fmt::Debug, expected: impl std::fmt::Debug) -> Result<T, String> {
    Err(format!("{what}: {got:?}, expected {expected:?}"))
}

fn must<T: PartialEq + std::fmt::Debug>(what: &str, got: T, expected: T) -> Result<(), String> {
    if got == expected { Ok(()) } else { wrong(what, got, expected) }
}

/// A client of both protocols.
struct Client {
    n: usize,
    random: Random,
    sql: Connection,
    keys: Keys,
    /// Its own items.
    own: BTreeMap<String, String>,
    /// What it has stored in the second table, while it may be there.
    second: Option<String>,
    marks: u64,
}

impl Client {
    fn step(&mut self, model: &Model) -> Result<(), String> {
        match self.random.below(12) {
            0..=4 => self.count(model),
            5 => self.mark(),
            6 => self.move_amount(),
            7 => {
                let both = self.keys.gets("p0 p1")?;
                let sum = both.values().filter_map(|(value, _)| value.parse::<i64>().ok()).sum();
                must("the sum of a pair that was read at once", (both.len(), sum), (2, SUM))
            }
            8 | 9 => self.own_by_key(),
            10 => self.own_by_sql(),
            _ => self.use_second(),
        }
    }

    /// Adds to a counter, or takes from it.
    fn count(&mut self, model: &Model) -> Result<(), String> {
        let n = self.random.below(COUNTERS);
        let (key, by) = (format!("c{n}"), 1 + self.random.below(9) as i64);
        let mut keys = |text: String| {
            let said = self.keys.ask(&text)?;
            if said.parse::<u64>().is_ok() || said == "HD" { Ok(()) } else { wrong(&text, said, "a number") }
        };
        let change = match self.random.below(6) {
            0 => keys(format!("incr {key} {by}")).map(|()| by),
            1 => keys(format!("decr {key} {by}")).map(|()| -by),
            2 => keys(format!("ma {key} MD D{by}")).map(|()| -by),
            3 => self.compare_and_set(&key, by, model),
            4 => changes(&mut self.sql, &format!("UPDATE test.demo_test SET c2 = c2 + {by} WHERE c1 = '{key}'"))
                .map(|done| if done { by } else { 0 }),
            _ => self.read_and_update(&key, by),
        }?;
        model.counters[n].fetch_add(change, Relaxed);
        Ok(())
    }

    fn compare_and_set(&mut self, key: &str, by: i64, model: &Model) -> Result<i64, String> {
        let Some((value, cas)) = self.keys.gets(key)?.remove(key) else { return wrong(key, "a miss", "a counter") };
        let next = (value.trim_end().parse::<i64>().map_err(|e| format!("{key}: {value:?}: {e}"))? + by).to_string();
        model.cas.fetch_add(1, Relaxed);
        match self.keys.ask(&format!("cas {key} 0 0 {} {cas}\r\n{next}", next.len()))?.as_str() {
            "STORED" => Ok(by),
            "EXISTS" => {
                model.late.fetch_add(1, Relaxed);
                Ok(0)
            }
            other => wrong("cas", other, "STORED or EXISTS"),
        }
    }

    fn read_and_update(&mut self, key: &str, by: i64) -> Result<i64, String> {
        run_sql(&mut self.sql, "BEGIN")?;
        let row = format!("FROM test.demo_test WHERE c1 = '{key}' FOR UPDATE");
        let found = select(&mut self.sql, &format!("SELECT CAST(c2 AS SIGNED) {row}"))?;
        let next = found[0][0].parse::<i64>().map_err(|e| e.to_string())? + by;
        if !changes(&mut self.sql, &format!("UPDATE test.demo_test SET c2 = '{next}' WHERE c1 = '{key}'"))? {
            return Ok(0);
        }
        let commits = self.random.percent(70);
        run_sql(&mut self.sql, if commits { "COMMIT" } else { "ROLLBACK" })?;
        Ok(if commits { by } else { 0 })
    }

    /// Its next mark behind the list.
    fn mark(&mut self) -> Result<(), String> {
        let mark = format!("{}.{};", self.n, self.marks);
        if self.random.percent(50) {
            must("append", self.keys.store("append", "list", &mark)?.as_str(), "STORED")?;
            self.marks += 1;
        } else {
            let text = format!("UPDATE test.demo_test SET c2 = CONCAT(c2, '{mark}') WHERE c1 = 'list'");
            self.marks += u64::from(changes(&mut self.sql, &text)?);
        }
        Ok(())
    }

    fn move_amount(&mut self) -> Result<(), String> {
        let by = self.random.below(100) as i64 - 50;
        run_sql(&mut self.sql, "BEGIN")?;
        for (key, by) in [("p0", by), ("p1", -by)] {
            if !changes(&mut self.sql, &format!("UPDATE test.demo_test SET c2 = c2 + {by} WHERE c1 = '{key}'"))? {
                return Ok(());
            }
        }
        run_sql(&mut self.sql, if self.random.percent(80) { "COMMIT" } else { "ROLLBACK" })
    }

    fn own_key(&mut self) -> (String, Option<String>) {
        let key = format!("own-{}-{}", self.n, self.random.below(4));
        let there = self.own.get(&key).cloned();
        (key, there)
    }

    fn value(&mut self) -> String {
        format!("{}-", self.random.below(1000)).repeat(1 + self.random.below(40))
    }

    /// Several changes of an own item in one piece, and a look at it.
    fn own_by_key(&mut self) -> Result<(), String> {
        let (key, mut there) = self.own_key();
        let (mut sent, mut expected) = (String::new(), Vec::new());
        for _ in 0..1 + self.random.below(4) {
            let value = self.value();
            let (verb, done) = match self.random.below(5) {
                0 => {
                    sent.push_str(&format!("delete {key}\r\n"));
                    expected.push(if there.take().is_some() { "DELETED" } else { "NOT_FOUND" });
                    continue;
                }
                1 => ("add", there.is_none()),
                2 => ("replace", there.is_some()),
                _ => ("set", true),
            };
            sent.push_str(&format!("{verb} {key} 0 0 {}\r\n{value}\r\n", value.len()));
            expected.push(if done { "STORED" } else { "NOT_STORED" });
            if done {
                there = Some(value);
            }
        }
        self.keys.send(&sent)?;
        for expected in expected {
            must(&sent, self.keys.line()?.as_str(), expected)?;
        }
        self.look(&key, there)
    }

    fn own_by_sql(&mut self) -> Result<(), String> {
        let (key, there) = self.own_key();
        let (value, before) = (self.value(), there.clone());
        let (text, now) = match (self.random.below(4), there) {
            (0, _) => (format!("DELETE FROM test.demo_test WHERE c1 = '{key}'"), None),
            (1, Some(_)) => (format!("UPDATE test.demo_test SET c2 = '{value}' WHERE c1 = '{key}'"), Some(value)),
            _ => (
                format!(
                    "INSERT INTO test.demo_test (c1, c2) VALUES ('{key}', '{value}') ON DUPLICATE KEY UPDATE c2 = '{value}'"
                ),
                Some(value),
            ),
        };
        let now = if changes(&mut self.sql, &text)? { now } else { before };
        self.look(&key, now)
    }

    /// Both sides see what the item is now.
    fn look(&mut self, key: &str, now: Option<String>) -> Result<(), String> {
        let by_key = self.keys.get(key)?;
        let rows = select(&mut self.sql, &format!("SELECT c2 FROM test.demo_test WHERE c1 = '{key}'"))?;
        let by_sql = rows.first().map(|row| row[0].clone());
        must(&format!("{key} by get and by SELECT"), (by_key, by_sql), (now.clone(), now.clone()))?;
        match now {
            Some(value) => drop(self.own.insert(key.to_owned(), value)),
            None => drop(self.own.remove(key)),
        }
        Ok(())
    }

    /// The second table may go at any time: an item is as it was stored, or gone.
    fn use_second(&mut self) -> Result<(), String> {
        let gone = |said: &str| said.starts_with("SERVER_ERROR 1146 ");
        let key = format!("@@test.second.{}", self.n);
        let value = self.random.below(1_000_000).to_string();
        let said = self.keys.store("set", &key, &value)?;
        match said.as_str() {
            "STORED" => self.second = Some(value),
            other if gone(other) => self.second = None,
            other => return wrong("set in a table that goes", other, "STORED or 1146"),
        }
        let found = match self.keys.get(&key) {
            Err(e) if e.contains("SERVER_ERROR 1146 ") => None,
            found => found?,
        };
        if found.is_some() && found != self.second {
            return wrong(&key, found, &self.second);
        }
        // Back to the first one, in which the keys of all other commands are.
        self.keys.switch()
    }
}

/// Changes definitions and takes locks.
struct Definer {
    random: Random,
    sql: Connection,
    keys: Keys,
    more: bool,
    indexed: bool,
}

impl Definer {
    fn step(&mut self, model: &Model) -> Result<(), String> {
        let choice = self.random.below(9);
        let counted = if choice < 6 { &model.definitions } else { &model.locks };
        match choice {
            0 => {
                self.more = !self.more;
                let how = if self.more { "ADD COLUMN more INT DEFAULT 7" } else { "DROP COLUMN more" };
                run_sql(&mut self.sql, &format!("ALTER TABLE test.demo_test {how}"))?;
            }
            1 => {
                self.indexed = !self.indexed;
                let how = if self.indexed { "ADD INDEX by_flags (c3)" } else { "DROP INDEX by_flags" };
                run_sql(&mut self.sql, &format!("ALTER TABLE test.demo_test {how}"))?;
            }
            2 => run_sql(&mut self.sql, "ALTER TABLE test.demo_test ENGINE = InnoDB")?,
            3 => self.empty_second(&["TRUNCATE TABLE test.second"])?,
            4 => self.empty_second(&["DROP TABLE test.second", SECOND])?,
            5 => run_sql(&mut self.sql, "ANALYZE TABLE test.demo_test")?,
            6 => self.hold("FLUSH TABLES WITH READ LOCK", true)?,
            7 => self.hold("LOCK TABLES test.demo_test READ", true)?,
            _ => self.hold("LOCK TABLES test.demo_test WRITE", false)?,
        }
        counted.fetch_add(1, Relaxed);
        std::thread::sleep(Duration::from_millis(5));
        Ok(())
    }

    fn empty_second(&mut self, how: &[&str]) -> Result<(), String> {
        must("set", self.keys.store("set", "@@test.second.d", "x")?.as_str(), "STORED")?;
        how.iter().try_for_each(|text| run_sql(&mut self.sql, text))?;
        let found = self.keys.get("@@test.second.d");
        self.keys.switch()?;
        must(how[0], found?, None)
    }

    /// While the lock is held nothing changes; where others may read, memcached's clients see the same.
    fn hold(&mut self, lock: &str, readable: bool) -> Result<(), String> {
        const ALL: &str = "SELECT c1, c2 FROM test.demo_test ORDER BY c1";
        run_sql(&mut self.sql, lock)?;
        let before = select(&mut self.sql, ALL)?;
        std::thread::sleep(Duration::from_millis(3));
        let by_key = if readable { self.keys.get("c0")? } else { None };
        let after = select(&mut self.sql, ALL)?;
        run_sql(&mut self.sql, "UNLOCK TABLES")?;
        must(lock, &after, &before)?;
        let row = after.iter().find(|row| row[0] == "c0").map(|row| row[1].clone());
        if readable { must(lock, by_key, row) } else { Ok(()) }
    }
}

/// All that is there, by the model and from both sides.
fn compare(server: &Server, keys: &mut Keys, clients: &mut [Client], model: &Model) -> Result<(), String> {
    let mut sql = server.connect()?;
    let rows = select(&mut sql, "SELECT c1, c2 FROM test.demo_test")?;
    let found: BTreeMap<String, String> = rows.into_iter().map(|row| (row[0].clone(), row[1].clone())).collect();
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    let by_key: BTreeMap<String, String> =
        keys.gets(&names.join(" "))?.into_iter().map(|(key, (value, _))| (key, value)).collect();
    must("what a get of all keys sees, and SELECT", &by_key, &found)?;
    let number = |key: &str| found.get(key).and_then(|v| v.parse::<i64>().ok());
    for (n, counter) in model.counters.iter().enumerate() {
        must(&format!("counter c{n}"), number(&format!("c{n}")), Some(counter.load(Relaxed)))?;
    }
    must("the sum of the pair", number("p0").zip(number("p1")).map(|(a, b)| a + b), Some(SUM))?;
    let mut marks: Vec<Vec<u64>> = vec![Vec::new(); clients.len()];
    for mark in found.get("list").map_or("", |l| l).split_terminator(';') {
        let (n, mark) = mark.split_once('.').ok_or_else(|| format!("the list has {mark:?}"))?;
        let number = |text: &str| text.parse::<u64>().map_err(|e| format!("the list has {text:?}: {e}"));
        marks[number(n)? as usize].push(number(mark)?);
    }
    let own = found.iter().filter(|(key, _)| key.starts_with("own-"));
    let known = clients.iter().flat_map(|client| &client.own);
    must("items of one client", own.collect::<BTreeMap<_, _>>(), known.collect::<BTreeMap<_, _>>())?;
    for (client, marks) in clients.iter_mut().zip(marks) {
        must("marks in the list", marks, (0..client.marks).collect())?;
        client.marks = 0;
    }
    must("set", keys.store("set", "list", "")?.as_str(), "STORED")?;
    let checked = select(&mut sql, "CHECK TABLE test.demo_test, test.second")?;
    match checked.iter().find(|row| row[3] != "OK") {
        Some(row) => wrong("CHECK TABLE", row, "OK"),
        None => Ok(()),
    }
}

/// Runs them against a server of its own. The error says what was not as it must be.
pub fn go(options: &Options) -> Result<String, String> {
    println!("memcached both: {} seconds, seed {}", options.seconds, options.seed);
    let dir = std::env::temp_dir().join(format!("gannet-both-{}", std::process::id()));
    let disk = Disk::new(&dir, None)?;
    let socket = disk.dir().join("keys.sock");
    let own = [format!("--memcached-socket={}", socket.display()), "--innodb-buffer-pool-size=64M".to_owned()];
    let server = Server::start_with(&options.binary, &disk, 1, &own)?;
    let outcome = with(&server, &socket, options);
    server.kill();
    let said = outcome.and_then(|said| Ok(format!("{said}; {}", check(&options.binary, &disk, &disk.data())?)));
    match said {
        Ok(said) => {
            disk.remove();
            Ok(said)
        }
        Err(e) => Err(format!("{e}\nseed {}, the store is in {}", options.seed, dir.display())),
    }
}

fn with(server: &Server, socket: &Path, options: &Options) -> Result<String, String> {
    let model = Model::default();
    let (mut sql, mut keys) = (server.connect()?, Keys::connect(socket)?);
    keys.get("nothing")?;
    run_sql(&mut sql, "GRANT ALL ON test.* TO memcached@localhost")?;
    run_sql(&mut sql, SECOND)?;
    for (n, counter) in model.counters.iter().enumerate() {
        counter.store(BEGIN, Relaxed);
        must("set", keys.store("set", &format!("c{n}"), &BEGIN.to_string())?.as_str(), "STORED")?;
    }
    for (key, value) in [("p0", "500000"), ("p1", "500000"), ("list", "")] {
        must("set", keys.store("set", key, value)?.as_str(), "STORED")?;
    }
    let mut random = Random::new(options.seed);
    let mut clients = Vec::new();
    for n in 0..CLIENTS {
        let random = Random::new(random.below(1 << 40) as u64);
        let (sql, keys) = (server.connect()?, Keys::connect(socket)?);
        clients.push(Client { n, random, sql, keys, own: BTreeMap::new(), second: None, marks: 0 });
    }
    let (sql, own_keys) = (server.connect()?, Keys::connect(socket)?);
    let mut definer = Definer { random, sql, keys: own_keys, more: false, indexed: false };
    let until = Instant::now() + Duration::from_secs(options.seconds);
    let mut comparisons = 0;
    while Instant::now() < until {
        let stop = (Instant::now() + STRETCH).min(until);
        let steps = |step: &mut dyn FnMut() -> Result<(), String>| {
            while Instant::now() < stop {
                step()?;
            }
            Ok::<(), String>(())
        };
        std::thread::scope(|scope| {
            let (model, definer) = (&model, &mut definer);
            let mut tasks = vec![scope.spawn(move || steps(&mut || definer.step(model)))];
            for client in &mut clients {
                tasks.push(scope.spawn(move || {
                    steps(&mut || {
                        model.steps.fetch_add(1, Relaxed);
                        client.step(model)
                    })
                }));
            }
            tasks.into_iter().try_for_each(|task| task.join().map_err(|_| "a client panicked".to_owned())?)
        })?;
        compare(server, &mut keys, &mut clients, &model)?;
        comparisons += 1;
    }
    let of = |n: &AtomicU64| n.load(Relaxed);
    Ok(format!(
        "{} steps of {CLIENTS} clients, {} cas of which {} came late, {} changes of definitions, {} locks of tables; \
         {comparisons} comparisons, nothing lost",
        of(&model.steps),
        of(&model.cas),
        of(&model.late),
        of(&model.definitions),
        of(&model.locks)
    ))
}
