//! What the connections of a load do side by side: files into tables, and the indexes of those that are complete.

use crate::ddl::Parts;
use crate::fault::{Fault, Outcome, wrong};
use crate::inserts::{Applied, Batch, Class, beginning};
use crate::ledger::Ledger;
use crate::link::Link;
use crate::names::{literal, qualified, quoted};
use crate::peer::Session;
use crate::plan::{DataFile, Format};
use crate::progress::Counts;
use crate::put::Way;
use crate::read::Pieces;
use crate::script::{Statements, adapted, begins};
use gannet_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use std::collections::VecDeque;
use std::path::PathBuf;

/// A table that is being loaded.
pub(crate) struct TableLoad {
    pub(crate) schema: String,
    pub(crate) name: String,
    pub(crate) parts: Parts,
    pub(crate) files: Vec<DataFile>,
    pub(crate) format: Format,
    pub(crate) check: Option<(u64, u64)>,
    pub(crate) triggers: Option<PathBuf>,
    /// Files that are not in.
    pub(crate) left: AtomicUsize,
}

impl TableLoad {
    pub(crate) fn place(&self) -> String {
        format!("{}.{}", self.schema, self.name)
    }

    /// Adds the secondary indexes, those that are not there.
    pub(crate) fn indexes(&self, db: &mut Session) -> Outcome<()> {
        let sql = "SELECT DISTINCT INDEX_NAME FROM information_schema.STATISTICS WHERE";
        self.add(db, sql, &self.parts.indexes)
    }

    /// Adds the foreign keys, those that are not there.
    pub(crate) fn foreign_keys(&self, db: &mut Session) -> Outcome<()> {
        let sql = "SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS WHERE CONSTRAINT_TYPE = 'FOREIGN KEY' AND";
        self.add(db, sql, &self.parts.foreign_keys)
    }

    fn add(&self, db: &mut Session, there: &str, adds: &[(String, String)]) -> Outcome<()> {
        if adds.is_empty() {
            return Ok(());
        }
        let of = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", literal(&self.schema), literal(&self.name));
        let there: Vec<String> = db.rows(&format!("{there} {of}"))?.into_iter().flatten().flatten().collect();
        // What a foreign key refers to is in the same schema, if nothing else is said.
        db.run(&format!("USE {}", quoted(&self.schema)))?;
        alter(db, self, adds, &there)
    }
}

/// Adds what is not there, in one ALTER TABLE; full-text indexes each in one of its own, as InnoDB wants it.
fn alter(db: &mut Session, table: &TableLoad, adds: &[(String, String)], there: &[String]) -> Outcome<()> {
    let missing = adds.iter().filter(|(name, _)| !there.iter().any(|t| t.eq_ignore_ascii_case(name)));
    let (alone, together): (Vec<_>, Vec<_>) = missing.map(|(_, add)| add).partition(|a| begins(a, &["FULLTEXT"]));
    let name = qualified(&table.schema, &table.name);
    let together = together.iter().map(|a| format!("ADD {a}")).collect::<Vec<_>>().join(", ");
    let alone = alone.iter().map(|a| format!("ADD {a}"));
    for adds in Some(together).filter(|t| !t.is_empty()).into_iter().chain(alone) {
        let sql = adapted(&format!("ALTER TABLE {name} {adds}"), &db.about);
        db.connection.query(&sql).map_err(|e| Fault::from(e).at(format!("{}: {adds}", table.place())))?;
    }
    Ok(())
}

/// What the connections do side by side.
pub(crate) struct Work {
    /// Files of tables; none: a table without files, which only gets its indexes.
    pub(crate) queue: Mutex<VecDeque<(Arc<TableLoad>, Option<DataFile>)>>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) counts: Arc<Counts>,
    pub(crate) fault: Mutex<Option<Fault>>,
    pub(crate) piece_bytes: usize,
    pub(crate) local: bool,
    /// What sets a session up.
    pub(crate) setup: Vec<String>,
}

impl Work {
    pub(crate) fn run(&self, link: &mut Link) {
        loop {
            let Some((table, file)) = self.queue.lock().pop_front() else { return };
            let outcome = match &file {
                Some(file) => self.file(link, &table, file),
                None => link.run(|db| table.indexes(db)),
            };
            if let Err(e) = outcome {
                let mut first = self.fault.lock();
                if !matches!(e, Fault::Stopped) && first.is_none() {
                    *first = Some(e.at(table.place()));
                }
                self.counts.stop.store(true, Relaxed);
                return;
            }
        }
    }

    /// Brings a file in, from where it was left; with the last of a table, its indexes.
    fn file(&self, link: &mut Link, table: &TableLoad, file: &DataFile) -> Outcome<()> {
        let Format::Lines { dialect, charset, .. } = &table.format else { return self.statements(link, table, file) };
        let way = Way::of(self.local, &table.schema, &table.name, &table.format)?;
        let name = file.name();
        let known = self.ledger.pieces(&name);
        let mut pieces = Pieces::open(file.path.clone(), dialect, self.piece_bytes)?;
        let mut done_to = 0;
        while let Some((to, _)) = known.get(&done_to) {
            done_to = *to;
        }
        pieces.skip_to(done_to)?;
        self.counts.done.fetch_add(done_to, Relaxed);
        let mut next = pieces.next()?;
        while let Some(piece) = next.take() {
            // The file is looked at as a whole before the last of it goes in.
            next = pieces.next()?;
            if next.is_none() {
                self.compare(file, &pieces)?;
            }
            if self.counts.stop.load(Relaxed) {
                return Err(Fault::Stopped);
            }
            if charset.starts_with("utf8") {
                piece.check_text().map_err(|e| e.at(file.path.display()))?;
            }
            let rows = piece.ends.len() as u64;
            link.run(|db| {
                db.run("START TRANSACTION")?;
                if self.ledger.piece(db, &name, piece.from, piece.to, rows)? {
                    let outcome = way.put(db, &piece, &file.path);
                    if let Err(e) = outcome {
                        if !matches!(e, Fault::Lost(_)) {
                            db.attempt("ROLLBACK")?;
                        }
                        return Err(e);
                    }
                }
                db.run("COMMIT").map(drop)
            })?;
            self.counts.rows.fetch_add(rows, Relaxed);
            self.counts.bytes.fetch_add(piece.bytes.len() as u64, Relaxed);
            self.counts.done.fetch_add(piece.bytes.len() as u64, Relaxed);
        }
        if done_to > 0 || pieces.read().0 == 0 {
            self.compare(file, &pieces)?;
        }
        if table.left.fetch_sub(1, Relaxed) == 1 { link.run(|db| table.indexes(db)) } else { Ok(()) }
    }

    /// Runs a file of INSERTs, from where it was left.
    fn statements(&self, link: &mut Link, table: &TableLoad, file: &DataFile) -> Outcome<()> {
        let name = file.name();
        let known = self.ledger.pieces(&name);
        let mut input = Statements::open(&file.path)?;
        let mut context = beginning(Some(&table.schema), &self.setup);
        let (mut applied, mut batch, mut past, mut counted) = (Applied::default(), None::<Batch>, 0, 0);
        loop {
            let next = input.next()?;
            let class = next.as_ref().map(Class::of);
            let full = batch.as_ref().is_some_and(|b| b.bytes >= self.piece_bytes);
            if (full || class != Some(Class::Insert))
                && let Some(b) = batch.take()
            {
                if self.counts.stop.load(Relaxed) {
                    return Err(Fault::Stopped);
                }
                let rows = link.run(|db| {
                    applied.catch_up(db, &context, &file.path)?;
                    b.run(db, &self.ledger, &name, &file.path)
                })?;
                self.counts.rows.fetch_add(rows, Relaxed);
                self.counts.bytes.fetch_add(b.bytes as u64, Relaxed);
            }
            self.counts.done.fetch_add(input.bytes - counted, Relaxed);
            counted = input.bytes;
            match (next, class) {
                (Some(s), Some(Class::Context)) => context.push(s),
                (Some(s), Some(Class::Insert)) => {
                    if let Some((to, _)) = known.get(&s.number) {
                        past = *to;
                    }
                    match &mut batch {
                        _ if s.number < past => {}
                        Some(b) => b.add(s),
                        none => *none = Some(Batch::begin(s)),
                    }
                }
                (Some(_), Some(Class::Nothing)) => {}
                (Some(s), _) => {
                    return wrong(format!("{}:{}: a statement that inserts no rows", file.path.display(), s.line));
                }
                (None, _) => break,
            }
        }
        if table.left.fetch_sub(1, Relaxed) == 1 { link.run(|db| table.indexes(db)) } else { Ok(()) }
    }

    /// The file holds what the dump says it does.
    fn compare(&self, file: &DataFile, pieces: &Pieces) -> Outcome<()> {
        let (rows, bytes, crc) = pieces.read();
        let place = file.path.display();
        if let Some(said) = file.bytes.filter(|b| *b != bytes) {
            return wrong(format!(
                "{place}: the file holds {bytes} bytes, and the dump says {said}: it is damaged or cut short"
            ));
        }
        match file.check {
            Some(check) if check != (rows, crc) => {
                let (said_rows, said_crc) = check;
                wrong(format!(
                    "{place}: the file is damaged: {rows} rows of {said_rows}, checksum {crc:08x} for {said_crc:08x}"
                ))
            }
            _ => Ok(()),
        }
    }
}
