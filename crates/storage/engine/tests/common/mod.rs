//! What the test programs share: stores in temporary directories, and a small language of named steps.
//!
//! A script is one step a line; `#` begins a comment. `SESSION: COMMAND -> RESULT` runs a command and compares its
//! result; the result `blocks` means that it does not come back; `SESSION => RESULT` then says what it came back with
//! in the end.

#![allow(dead_code, reason = "not every test program uses all of it")]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use gannet_engine::*;

static NEXT: AtomicU64 = AtomicU64::new(0);

/// A directory that goes away with the value.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let dir = std::env::temp_dir().join(format!("gannet-engine-{}-{n}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        TempDir(dir)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A store with durability off (the tests that crash turn it on) and a small pool.
pub fn options(dir: &TempDir) -> EngineOptions {
    let mut o = EngineOptions::new(dir.0.clone());
    o.buffer_pool_bytes = 16 << 20;
    o.redo_capacity_bytes = 16 << 20;
    o.flush_policy = FlushPolicy::WriteAtCommit;
    o
}

pub fn open(dir: &TempDir) -> Engine {
    Engine::open(options(dir)).unwrap()
}

/// Engine with one row tree.
pub fn with_tree() -> (TempDir, Engine, TreeHandle) {
    let dir = TempDir::new();
    let engine = open(&dir);
    let tree = create(&engine, TreeKind::Row);
    (dir, engine, tree)
}

pub fn create(engine: &Engine, kind: TreeKind) -> TreeHandle {
    let mut t = engine.begin(TxnOptions::default());
    let tree = t.create_tree(kind).unwrap();
    t.commit().unwrap();
    tree
}

pub fn key(n: u64) -> [u8; 4] {
    (n as u32).to_be_bytes()
}

fn key_of(bytes: &[u8]) -> u64 {
    u64::from(u32::from_be_bytes(bytes[..4].try_into().unwrap()))
}

/// Everything a new snapshot sees in a row tree.
pub fn dump(engine: &Engine, tree: &TreeHandle) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut t = engine.begin(TxnOptions { autocommit: true, ..TxnOptions::default() });
    let mut out = Vec::new();
    let mut scan = t.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    while let Some(e) = scan.next(&mut t).unwrap() {
        out.push((e.key.to_vec(), e.value.to_vec()));
    }
    t.commit().unwrap();
    out
}

pub fn rng(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
    move |n| {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % n.max(1)
    }
}

// ---- scripts ----

struct Session {
    send: Sender<String>,
    results: Receiver<String>,
    pending: bool,
}

struct Worker {
    txn: Txn,
    rows: TreeHandle,
    index: TreeHandle,
    saves: std::collections::HashMap<String, Savepoint>,
}

fn fail(e: EngineError) -> String {
    match e {
        EngineError::Deadlock => "deadlock".into(),
        EngineError::LockWaitTimeout => "timeout".into(),
        EngineError::NoWait => "nowait".into(),
        EngineError::ReadOnly => "readonly".into(),
        e => format!("error: {e}"),
    }
}

fn mode(words: &[&str]) -> ReadMode {
    let wait = if words.contains(&"nowait") {
        WaitPolicy::NoWait
    } else if words.contains(&"skip") {
        WaitPolicy::SkipLocked
    } else {
        WaitPolicy::Wait
    };
    if words.contains(&"update") {
        ReadMode::Locking { mode: LockMode::Exclusive, wait }
    } else if words.contains(&"share") {
        ReadMode::Locking { mode: LockMode::Shared, wait }
    } else {
        ReadMode::Snapshot
    }
}

/// `a/b` → both as four bytes.
fn index_key(word: &str) -> Vec<u8> {
    word.split('/').flat_map(|w| key(w.parse().unwrap())).collect()
}

fn show_index_key(bytes: &[u8]) -> String {
    bytes.chunks(4).map(|c| key_of(c).to_string()).collect::<Vec<_>>().join("/")
}

impl Worker {
    fn run(&mut self, line: &str) -> String {
        let words: Vec<&str> = line.split_whitespace().collect();
        if !matches!(words[0], "begin" | "commit" | "rollback") && !self.txn.is_active() {
            let _ = self.txn.begin(TxnOptions { autocommit: true, ..*self.txn.options() });
            let out = self.statement(&words);
            return match self.txn.commit() {
                Ok(_) => out,
                Err(e) => fail(e),
            };
        }
        self.statement(&words)
    }

    fn statement(&mut self, words: &[&str]) -> String {
        if words[0] == "begin" {
            let isolation = match words.get(1).copied().unwrap_or("rr") {
                "ru" => Isolation::ReadUncommitted,
                "rc" => Isolation::ReadCommitted,
                "ser" => Isolation::Serializable,
                _ => Isolation::RepeatableRead,
            };
            let lock_wait_timeout = Duration::from_secs(if words.contains(&"short") { 0 } else { 20 });
            let read_only = words.contains(&"readonly");
            let o = TxnOptions { isolation, lock_wait_timeout, read_only, ..TxnOptions::default() };
            return self.txn.begin(o).map_or_else(fail, |()| "ok".into());
        }
        let mark = self.txn.begin_statement();
        match self.command(words) {
            Ok(out) => match (words[0], self.txn.is_active()) {
                ("commit" | "rollback", _) | (_, false) => out,
                _ => self.txn.end_statement().map_or_else(fail, |()| out),
            },
            Err(EngineError::Deadlock) => "deadlock".into(),
            Err(e) => {
                self.txn.rollback_to(mark).unwrap();
                self.txn.end_statement().unwrap();
                fail(e)
            }
        }
    }

    fn command(&mut self, w: &[&str]) -> Result<String> {
        let num = |i: usize| -> u64 { w[i].parse().unwrap() };
        let word = |s: &str| Ok(s.to_owned());
        match w[0] {
            "commit" => self.txn.commit().map(|_| "ok".into()),
            "rollback" => self.txn.rollback().map(|_| "ok".into()),
            "snapshot" => {
                self.txn.consistent_snapshot();
                word("ok")
            }
            "save" => {
                let s = self.txn.savepoint();
                self.saves.insert(w[1].into(), s);
                word("ok")
            }
            "back" => self.txn.rollback_to(self.saves[w[1]]).map(|()| "ok".into()),
            "get" => {
                let mut row = RowBuf::new();
                match self.txn.get(&self.rows, &key(num(1)), mode(w), &mut row)? {
                    Read::Found => word(std::str::from_utf8(row.row()).unwrap()),
                    Read::Missing => word("-"),
                    Read::Skipped => word("skipped"),
                }
            }
            "insert" | "replace" => {
                let r = match w[0] {
                    "insert" => self.txn.insert(&self.rows, &key(num(1)), w[2].as_bytes())?,
                    _ => self.txn.insert_or_lock(&self.rows, &key(num(1)), w[2].as_bytes())?,
                };
                word(if r == Insert::Inserted { "ok" } else { "dup" })
            }
            "put" => match self.txn.update(&self.rows, &key(num(1)), w[2].as_bytes())? {
                Update::Updated => word("ok"),
                Update::Missing => word("missing"),
                Update::Changed => word("changed"),
            },
            "del" => match self.txn.delete(&self.rows, &key(num(1)))? {
                Delete::Deleted => word("ok"),
                Delete::Missing => word("missing"),
                Delete::Changed => word("changed"),
            },
            "scan" | "iscan" => {
                let (lo, hi) = (key(num(1)), key(num(2)));
                let tree = if w[0] == "scan" { self.rows.clone() } else { self.index.clone() };
                let direction = if w.contains(&"desc") { Direction::Backward } else { Direction::Forward };
                let unique_equality = w.contains(&"unique");
                let o = ScanOptions { direction, mode: mode(w), unique_equality, ..ScanOptions::default() };
                let mut limit = w.iter().find_map(|w| w.strip_prefix("limit=")).map_or(100, |n| n.parse().unwrap());
                let only = w.iter().find_map(|w| w.strip_prefix("only=")); // unlock rows with another value
                let mut scan = self.txn.scan(&tree, KeyRange::new(Cut::Before(&lo), Cut::After(&hi)), o)?;
                let mut out = Vec::new();
                while limit > 0 {
                    let Some(e) = scan.next(&mut self.txn)? else { break };
                    let text = match w[0] {
                        "scan" => format!("{}={}", key_of(e.key), std::str::from_utf8(e.value).unwrap()),
                        _ => show_index_key(e.key),
                    };
                    if only.is_some_and(|v| !text.ends_with(&format!("={v}"))) {
                        scan.unlock_row(&mut self.txn);
                        continue;
                    }
                    limit -= 1;
                    out.push(text);
                }
                Ok(if out.is_empty() { "-".into() } else { out.join(" ") })
            }
            "iins" => self.txn.index_insert(&self.index, &index_key(w[1]), b"").map(|()| "ok".into()),
            "idel" => self.txn.index_delete(&self.index, &index_key(w[1])).map(|()| "ok".into()),
            "iuniq" => match self.txn.index_insert_unique(&self.index, 4, &index_key(w[1]), b"", false)? {
                IndexInsert::Inserted => word("ok"),
                IndexInsert::Duplicate { existing, .. } => Ok(format!("dup {}", show_index_key(&existing))),
            },
            other => panic!("command {other}"),
        }
    }
}

fn session(engine: &Engine, rows: &TreeHandle, index: &TreeHandle) -> Session {
    let (send, commands) = channel::<String>();
    let (answer, results) = channel();
    let (engine, rows, index) = (engine.clone(), rows.clone(), index.clone());
    std::thread::spawn(move || {
        let mut txn = engine.begin(TxnOptions::default());
        txn.rollback().unwrap();
        let mut worker = Worker { txn, rows, index, saves: Default::default() };
        while let Ok(line) = commands.recv() {
            let out = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| worker.run(&line)))
                .unwrap_or_else(|_| format!("panic in {line}"));
            if answer.send(out).is_err() {
                break;
            }
        }
    });
    Session { send, results, pending: false }
}

/// Runs a script on a fresh store.
pub fn script(text: &str) {
    let (_dir, engine, rows) = with_tree();
    let index = create(&engine, TreeKind::Index);
    let mut sessions: std::collections::HashMap<String, Session> = Default::default();
    for (n, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap().trim();
        if line.is_empty() {
            continue;
        }
        let at = || format!("line {}: {line}", n + 1);
        if let Some((name, expect)) = line.split_once("=>") {
            let s = sessions.get_mut(name.trim()).unwrap();
            assert!(s.pending, "{}: nothing is pending", at());
            let got = s.results.recv_timeout(Duration::from_secs(60));
            s.pending = false;
            assert_eq!(got.as_deref(), Ok(expect.trim()), "{}", at());
            continue;
        }
        let (name, rest) = line.split_once(':').unwrap_or_else(|| panic!("{}", at()));
        let (command, expect) = match rest.split_once("->") {
            Some((c, e)) => (c.trim(), e.trim()),
            None => (rest.trim(), "ok"),
        };
        let s = sessions.entry(name.trim().into()).or_insert_with(|| session(&engine, &rows, &index));
        assert!(!s.pending, "{}: still blocked", at());
        s.send.send(command.into()).unwrap();
        let patience = if expect == "blocks" { Duration::from_millis(60) } else { Duration::from_secs(60) };
        match s.results.recv_timeout(patience) {
            Ok(got) => assert_eq!(got, expect, "{}", at()),
            Err(RecvTimeoutError::Timeout) if expect == "blocks" => s.pending = true,
            Err(e) => panic!("{}: {e}", at()),
        }
    }
}
