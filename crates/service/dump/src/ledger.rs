//! The ledger of a load: tables on the target that say what is in, written in the transactions that bring it in.

use crate::fault::{Fault, Outcome, wrong};
use crate::names::literal;
use crate::peer::Session;
use std::collections::BTreeMap;

/// The schema of the ledgers.
pub(crate) const SCHEMA: &str = "gannet_load";

/// Statements that make it. Keys are short enough for the 767 bytes of MySQL 5.6.
const TABLES: [&str; 4] = [
    "CREATE DATABASE IF NOT EXISTS gannet_load",
    "CREATE TABLE IF NOT EXISTS gannet_load.loads (id BIGINT UNSIGNED NOT NULL PRIMARY KEY, \
     source VARBINARY(1000) NOT NULL, begun DATETIME NOT NULL, ended DATETIME) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS gannet_load.steps (load_id BIGINT UNSIGNED NOT NULL, step VARBINARY(700) NOT NULL, \
     done TINYINT NOT NULL, PRIMARY KEY (load_id, step)) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS gannet_load.chunks (load_id BIGINT UNSIGNED NOT NULL, file VARBINARY(600) NOT NULL, \
     from_byte BIGINT UNSIGNED NOT NULL, to_byte BIGINT UNSIGNED NOT NULL, row_count BIGINT UNSIGNED NOT NULL, \
     PRIMARY KEY (load_id, file, from_byte)) ENGINE=InnoDB",
];

/// What is in.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    pub(crate) id: u64,
    /// The load was begun before.
    pub(crate) resumed: bool,
    /// Steps that were begun, and whether they are done.
    steps: BTreeMap<String, bool>,
    /// Pieces of each file: from where, to where, rows.
    pieces: BTreeMap<String, BTreeMap<u64, (u64, u64)>>,
}

impl Ledger {
    /// Opens the ledger of this source, which nobody else may be loading at the time.
    pub(crate) fn open(db: &mut Session, id: u64, source: &str, reset: bool) -> Outcome<Ledger> {
        for sql in TABLES {
            db.run(sql)?;
        }
        // A client that was killed has the lock until the server notices.
        if db.value(&format!("SELECT GET_LOCK('gannet_load {id}', 10)"))?.as_deref() != Some("1") {
            return wrong("the same dump is being loaded by another client");
        }
        if reset {
            let all = ["loads WHERE id", "steps WHERE load_id", "chunks WHERE load_id"];
            together(db, &all.map(|table| format!("DELETE FROM gannet_load.{table} = {id}")))?;
        }
        let rows = db.rows(&format!("SELECT ended, begun FROM gannet_load.loads WHERE id = {id}"))?;
        let mut ledger = Ledger { id, ..Ledger::default() };
        match rows.first().map(|r| r.as_slice()) {
            None => {
                let source = literal(source);
                db.run(&format!("INSERT INTO gannet_load.loads VALUES ({id}, {source}, UTC_TIMESTAMP(), NULL)"))?;
            }
            Some([Some(ended), _]) => {
                return wrong(format!(
                    "this dump has been loaded here before, up to {ended} UTC (--reset loads it anew)"
                ));
            }
            Some(_) => ledger.read(db)?,
        }
        Ok(ledger)
    }

    fn read(&mut self, db: &mut Session) -> Outcome<()> {
        self.resumed = true;
        let id = self.id;
        for row in db.rows(&format!("SELECT step, done FROM gannet_load.steps WHERE load_id = {id}"))? {
            if let [Some(step), Some(done)] = row.as_slice() {
                self.steps.insert(step.clone(), done == "1");
            }
        }
        let sql = format!("SELECT file, from_byte, to_byte, row_count FROM gannet_load.chunks WHERE load_id = {id}");
        for row in db.rows(&sql)? {
            if let [Some(file), Some(from), Some(to), Some(rows)] = row.as_slice()
                && let (Ok(from), Ok(to), Ok(rows)) = (from.parse(), to.parse(), rows.parse())
            {
                self.pieces.entry(file.clone()).or_default().insert(from, (to, rows));
            }
        }
        Ok(())
    }

    /// A step was begun before, and may have been done.
    pub(crate) fn is_begun(&self, step: &str) -> bool {
        self.steps.contains_key(step)
    }

    pub(crate) fn is_done(&self, step: &str) -> bool {
        self.steps.get(step) == Some(&true)
    }

    /// The pieces of a file that are in: from where, to where and rows.
    pub(crate) fn pieces(&self, file: &str) -> BTreeMap<u64, (u64, u64)> {
        self.pieces.get(file).cloned().unwrap_or_default()
    }

    /// Writes down that a step begins, or that it is done.
    pub(crate) fn note(&self, db: &mut Session, step: &str, done: bool) -> Outcome<()> {
        let (id, step, done) = (self.id, literal(step), u8::from(done));
        db.run(&format!("REPLACE INTO gannet_load.steps VALUES ({id}, {step}, {done})")).map(drop)
    }

    /// Runs a step that may be run again when it is not known to be done: it is noted before and after.
    pub(crate) fn once(
        &self,
        db: &mut Session,
        step: &str,
        run: impl FnOnce(&mut Session) -> Outcome<()>,
    ) -> Outcome<()> {
        if self.is_done(step) {
            return Ok(());
        }
        self.note(db, step, false)?;
        run(db)?;
        self.note(db, step, true)
    }

    /// Writes down a piece, in the open transaction and before its rows: a second one that was sent before a lost
    /// connection has the same key. False: it is in.
    pub(crate) fn piece(&self, db: &mut Session, file: &str, from: u64, to: u64, rows: u64) -> Outcome<bool> {
        let (id, file) = (self.id, literal(file));
        match db.run(&format!("INSERT INTO gannet_load.chunks VALUES ({id}, {file}, {from}, {to}, {rows})")) {
            Ok(_) => Ok(true),
            Err(Fault::Refused { code: 1062, .. }) => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// All is in: the details are not needed any more. A client that dies here leaves the end and the details, or
    /// neither.
    pub(crate) fn close(&self, db: &mut Session) -> Outcome<()> {
        let id = self.id;
        together(
            db,
            &[
                format!("UPDATE gannet_load.loads SET ended = UTC_TIMESTAMP() WHERE id = {id}"),
                format!("DELETE FROM gannet_load.steps WHERE load_id = {id}"),
                format!("DELETE FROM gannet_load.chunks WHERE load_id = {id}"),
            ],
        )
    }
}

/// Runs these statements in one transaction.
fn together(db: &mut Session, statements: &[String]) -> Outcome<()> {
    db.run("START TRANSACTION")?;
    for sql in statements {
        db.run(sql)?;
    }
    db.run("COMMIT").map(drop)
}
