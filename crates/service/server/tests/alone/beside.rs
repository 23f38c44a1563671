//! A second protocol beside MySQL's, on the same core: a line with a status variable's name is answered with its value,
//! others read and write rows of a table by key, through the unit of work alone.

use crate::common::{Running, one, run};
use gannet_core::work::{Mode, Work};
use gannet_core::{Core, Figures, status};
use gannet_engine::{Lsn, ReadMode};
use gannet_exec::kv::Swap;
use gannet_runtime::{Addr, Conn, Factory, Next, Peer, Ready, Service, TaskContext, Wait, Waker};
use gannet_types::{Result, TimeZone, Value};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

struct Lines {
    core: Arc<Core>,
    served: Arc<AtomicU64>,
}

struct Client {
    core: Arc<Core>,
    served: Arc<AtomicU64>,
    work: Option<Work>,
    /// A commit that is waited for, and the reply behind it.
    left: Option<(Lsn, String)>,
}

impl Factory for Lines {
    fn connect(&self, _: &Peer, _: &TaskContext) -> Option<Box<dyn Service>> {
        let (core, served) = (self.core.clone(), self.served.clone());
        Some(Box::new(Client { core, served, work: None, left: None }))
    }
}

fn shown(value: &Value) -> String {
    let mut text = Vec::new();
    value.write_text(&mut text);
    String::from_utf8(text).unwrap()
}

/// One command: `get k`, `set k v`, `add k v`, `delete k`, `cas k old new`, `move from to n`.
fn command(work: &mut Work, words: &[&str]) -> Result<String> {
    let zone = TimeZone::UTC;
    let key = |at: usize| vec![Value::text(words[at])];
    let row = |at: usize| vec![Value::text(words[1]), Value::text(words[at])];
    let yes = |done: bool| if done { "yes" } else { "no" }.to_string();
    work.run(|work| {
        let rows = work.table("test", "kv")?;
        work.lock(rows.table(), if words[0] == "get" { Mode::Read } else { Mode::Write })?;
        Ok(match words[0] {
            "get" => {
                let found = rows.get(work.txn_mut(), &key(1), ReadMode::Snapshot, &zone)?;
                found.map_or("-".into(), |row| shown(&row[1]))
            }
            "set" => format!("{:?}", rows.put(&mut work.writer()?, &row(2), &zone)?),
            "add" => yes(rows.add(&mut work.writer()?, &row(2), &zone)?),
            "replace" => yes(rows.replace(&mut work.writer()?, &row(2), &zone)?.is_some()),
            "delete" => yes(rows.delete(&mut work.writer()?, &key(1), &zone)?),
            "cas" => yes(rows.compare_and_set(&mut work.writer()?, (&row(2), &row(3)), &zone)? == Swap::Done),
            _ => {
                let n: i64 = words[3].parse().unwrap();
                for (at, n) in [(1, -n), (2, n)] {
                    rows.change(&mut work.writer()?, &key(at), &zone, |row| {
                        let now: i64 = shown(&row[1]).parse().unwrap();
                        Ok(Some(vec![row[0].clone(), Value::text(&(now + n).to_string())]))
                    })?;
                }
                "moved".into()
            }
        })
    })
}

impl Client {
    fn answer(&mut self, line: &str) -> Option<String> {
        let words: Vec<&str> = line.split(' ').collect();
        if let [name] = words[..] {
            self.served.fetch_add(1, Ordering::Relaxed);
            let rows = status::shown(&self.core, None, None, |_| true);
            return Some(rows.into_iter().find(|(n, _)| *n == name).map_or("?".into(), |(_, v)| v.to_string()));
        }
        let core = &self.core;
        let account = core.accounts.get("beside", "%").unwrap();
        let work = self.work.get_or_insert_with(|| Work::begin(core, &account, 0));
        work.leave_waiting(true);
        let reply = command(work, &words).unwrap_or_else(|e| e.number().to_string());
        match work.unsynced() {
            Some(lsn) => {
                self.left = Some((lsn, reply));
                None
            }
            None => Some(reply),
        }
    }
}

impl Service for Client {
    fn ready(&mut self, buffered: &[u8]) -> Ready {
        if buffered.contains(&b'\n') { Ready::Serve } else { Ready::NeedMore }
    }

    fn serve(&mut self, conn: &mut Conn) -> Next {
        while let Some(end) = conn.buffered().iter().position(|b| *b == b'\n') {
            let line = String::from_utf8_lossy(&conn.buffered()[..end]).into_owned();
            conn.consume(end + 1);
            match self.answer(&line) {
                Some(reply) => conn.out().extend_from_slice(format!("{reply}\n").as_bytes()),
                None => return Next::Later(Wait::LogFlush),
            }
        }
        Next::Idle
    }

    fn resume(&mut self, conn: &mut Conn, waker: &Waker) -> Option<Next> {
        let (Some((lsn, _)), Some(work)) = (&self.left, &self.work) else { return Some(Next::Close) };
        let durable = work.poll(*lsn, waker);
        if matches!(durable, Ok(false)) {
            return None;
        }
        let (_, reply) = self.left.take()?;
        let reply = durable.map_or_else(|e| e.number().to_string(), |_| reply);
        conn.out().extend_from_slice(format!("{reply}\n").as_bytes());
        Some(Next::Idle)
    }
}

/// A client of the second protocol.
struct Other {
    to: UnixStream,
    from: BufReader<UnixStream>,
}

impl Other {
    fn connect(path: &Path) -> Other {
        let to = UnixStream::connect(path).unwrap();
        Other { from: BufReader::new(to.try_clone().unwrap()), to }
    }

    fn send(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn reply(&mut self) -> String {
        let mut line = String::new();
        self.from.read_line(&mut line).unwrap();
        line.trim_end().into()
    }

    fn ask(&mut self, line: &str) -> String {
        self.send(line);
        self.reply()
    }
}

/// Both protocols are served; the path of the second one's socket.
fn both(r: &Running) -> std::path::PathBuf {
    let instance = r.server().instance();
    let served = Arc::new(AtomicU64::new(0));
    let counted = served.clone();
    let figures: Figures = Box::new(move || vec![("Gannet_lines_served", counted.load(Ordering::Relaxed))]);
    instance.core().add_figures(figures);
    let path = r.dir.join("lines.sock");
    let lines = Arc::new(Lines { core: instance.core().clone(), served });
    instance.add_listener(&Addr::Unix(path.clone()), lines).unwrap();
    path
}

#[test]
fn another_protocol_stands_beside_on_the_same_core() {
    let _alone = crate::alone();
    let r = Running::start();
    let path = both(&r);
    let mut c = r.connect();
    for n in 1..=3 {
        run(&mut c, &format!("SET GLOBAL max_connections = {}", 100 + n));
        let mut other = Other::connect(&path);
        // The clients of MySQL's protocol are counted for those of the other, and the other way round.
        assert_eq!(other.ask("Threads_connected"), "1");
        assert_eq!(other.ask("Gannet_lines_served"), (3 * n - 1).to_string());
        assert_eq!(other.ask("No_such"), "?");
    }
    assert_eq!(
        one(
            &mut c,
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Gannet_lines_served'"
        ),
        "9"
    );
}

#[test]
fn another_protocol_reads_and_writes_as_sql_does() {
    let _alone = crate::alone();
    let r = Running::start();
    let path = both(&r);
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE IF NOT EXISTS test",
        "CREATE TABLE test.kv (k VARCHAR(20) PRIMARY KEY, v VARCHAR(20) NOT NULL, KEY (v))",
        "CREATE USER beside",
        "GRANT SELECT ON test.kv TO beside",
        "SET GLOBAL lock_wait_timeout = 1",
    ] {
        run(&mut c, sql);
    }
    let mut other = Other::connect(&path);
    assert_eq!(other.ask("get a"), "-");
    assert_eq!(other.ask("set a 1"), "1142");
    run(&mut c, "GRANT INSERT, UPDATE, DELETE ON test.kv TO beside");
    assert_eq!(other.ask("set a 1"), "Inserted");
    assert_eq!(other.ask("set a 2"), "Replaced");
    assert_eq!(other.ask("add a 3"), "no");
    assert_eq!(other.ask("add b 3"), "yes");
    assert_eq!(other.ask("replace c 1"), "no");
    assert_eq!(other.ask("replace b 4"), "yes");
    assert_eq!(other.ask("cas b 3 5"), "no");
    assert_eq!(other.ask("cas b 4 5"), "yes");
    assert_eq!(other.ask("delete c"), "no");
    assert_eq!(other.ask("get b"), "5");
    assert_eq!(one(&mut c, "SELECT GROUP_CONCAT(k, v ORDER BY k) FROM test.kv FORCE INDEX (v) WHERE v > ''"), "a2,b5");
    run(&mut c, "UPDATE test.kv SET v = '7' WHERE k = 'a'");
    assert_eq!(other.ask("get a"), "7");

    // As SQL is refused, with the same errors.
    let mut reader = r.connect();
    for (closed, error, open) in [
        ("SET GLOBAL read_only = 1", "1290", "SET GLOBAL read_only = 0"),
        ("SET GLOBAL super_read_only = 1", "1290", "SET GLOBAL read_only = 0"),
        ("FLUSH TABLES WITH READ LOCK", "1205", "UNLOCK TABLES"),
        ("LOCK TABLES test.kv READ", "1205", "UNLOCK TABLES"),
        ("SET GLOBAL transaction_read_only = 1", "1792", "SET GLOBAL transaction_read_only = 0"),
    ] {
        run(&mut reader, closed);
        let mut other = Other::connect(&path);
        assert_eq!(other.ask("set a 8"), error, "{closed}");
        assert_eq!(other.ask("get a"), "7", "{closed}");
        run(&mut reader, open);
        let mut other = Other::connect(&path);
        assert_eq!(other.ask("set a 7"), "Same", "{closed}");
    }
    // A write that waits for the lock goes on when it is released.
    run(&mut c, "SET GLOBAL lock_wait_timeout = 100");
    let mut other = Other::connect(&path);
    run(&mut reader, "FLUSH TABLES WITH READ LOCK");
    other.send("set a 9");
    while one(&mut c, "SELECT COUNT(*) FROM performance_schema.metadata_locks WHERE LOCK_STATUS = 'PENDING'") == "0" {
        std::thread::yield_now();
    }
    assert_eq!(one(&mut c, "SELECT v FROM test.kv WHERE k = 'a'"), "7");
    run(&mut reader, "UNLOCK TABLES");
    assert_eq!(other.reply(), "Replaced");
    // Another definition is found, and what only SQL does is refused.
    run(&mut c, "ALTER TABLE test.kv MODIFY v VARCHAR(2) NOT NULL");
    assert_eq!(other.ask("set a 123"), "1406");
    assert_eq!(other.ask("set a 12"), "Replaced");
    run(&mut c, "ALTER TABLE test.kv ADD CHECK (v <> '13')");
    assert_eq!(other.ask("set a 13"), "1235");
    run(&mut c, "DROP TABLE test.kv");
    assert_eq!(other.ask("set a 13"), "1146");
}

#[test]
fn another_protocol_has_the_accounts_limits_and_tries_again_after_deadlocks() {
    let _alone = crate::alone();
    let r = Running::start();
    let path = both(&r);
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE IF NOT EXISTS test",
        "CREATE TABLE test.kv (k VARCHAR(20) PRIMARY KEY, v VARCHAR(20) NOT NULL)",
        "INSERT INTO test.kv VALUES ('a', '0'), ('b', '0')",
        "CREATE USER beside",
        "GRANT ALL ON test.kv TO beside",
    ] {
        run(&mut c, sql);
    }
    let threads = [["a", "b"], ["b", "a"]].map(|[from, to]| {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut other = Other::connect(&path);
            for _ in 0..200 {
                assert_eq!(other.ask(&format!("move {from} {to} 1")), "moved");
            }
        })
    });
    threads.into_iter().for_each(|t| t.join().unwrap());
    assert_eq!(one(&mut c, "SELECT GROUP_CONCAT(v) FROM test.kv"), "0,0");

    run(&mut c, "ALTER USER beside WITH MAX_UPDATES_PER_HOUR 2");
    let mut other = Other::connect(&path);
    assert_eq!(other.ask("set a 1"), "Replaced");
    assert_eq!(other.ask("set a 2"), "Replaced");
    assert_eq!(other.ask("set a 3"), "1226");
    assert_eq!(other.ask("get a"), "2");
}
