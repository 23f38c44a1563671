//! Plain files of SQL: what mysqldump and others write, of any size.
//!
//! One thread reads the file and runs its definitions in order. INSERTs of literals, whose order does not matter
//! ([`Insert::is_free`]), are gathered into batches that other connections run side by side; tables get their secondary
//! indexes when their rows are in, and foreign keys at the end. Everything else waits until all batches before it are
//! done, and the indexes of all tables are there.
//!
//! The ledger knows statements by their numbers: batches by the transaction that brings them in, definitions by a note
//! before and one after. A definition that was noted before, and whose object is there, was run.

use crate::catalog::{Column, columns_of};
use crate::ddl;
use crate::fault::{Fault, Outcome, wrong};
use crate::inserts::{Applied, Batch, Class, Insert, Numbering, beginning};
use crate::ledger::Ledger;
use crate::link::Link;
use crate::load::{LoadOptions, key, setup};
use crate::names::{literal, quoted};
use crate::peer::Session;
use crate::plan::Format;
use crate::progress::{Counts, Progress};
use crate::script::{self, Statement, Statements};
use crate::work::TableLoad;
use gannet_base::crc32c;
use gannet_base::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Condvar, Mutex};
use gannet_runtime::fs::open_plain;
use std::collections::{BTreeMap, VecDeque};
use std::io::Read;
use std::path::Path;

/// Loads a file.
pub(crate) fn load(options: &LoadOptions) -> Outcome<Vec<String>> {
    let path = &options.source;
    for (given, option) in [
        (!options.schemas.is_empty(), "--schema"),
        (!options.tables.is_empty(), "--table"),
        (options.users, "--users"),
        (options.verify, "--verify"),
    ] {
        if given {
            return wrong(format!("{option} is for directories: a file of SQL is run as a whole"));
        }
    }
    let (id, stored) = identity(path)?;
    let setup = setup(options);
    let mut main = Link::open(&options.peer, &setup)?;
    let source = path.display().to_string();
    let ledger = Arc::new(Ledger::open(main.session()?, key(id, options), &source, options.reset)?);
    if let Some(schema) = &options.into {
        let sql = format!("CREATE DATABASE IF NOT EXISTS {}", quoted(schema));
        main.run(|db| db.run(&sql).map(drop))?;
    }
    let mut said = Vec::new();
    if ledger.resumed {
        said.push("the load goes on where it was".to_owned());
    }
    let counts = Arc::new(Counts::default());
    if !path.extension().is_some_and(|e| e == "gz" || e == "zst") {
        counts.total.store(stored, Relaxed);
    }
    let shared = Arc::new(Shared {
        options: options.clone(),
        ledger: ledger.clone(),
        counts: counts.clone(),
        state: Mutex::default(),
        changed: Condvar::new(),
    });
    let mut threads = Vec::new();
    for i in 0..options.threads.max(1) {
        let mut link = Link::open(&options.peer, &setup)?;
        let shared = shared.clone();
        let run = move || shared.work(&mut link);
        let started = gannet_runtime::start_thread(&format!("load {i}"), None, run);
        threads.push(started.map_err(|e| Fault::Wrong(format!("cannot start a thread: {e}")))?);
    }
    let progress = Progress::begin(counts, options.quiet);
    let context = Arc::new(beginning(options.into.as_deref(), &setup));
    let (tables, applied) = (BTreeMap::new(), Applied::default());
    let schema = options.into.clone().or(options.peer.login.database.clone());
    let mut reader = Reader { shared: shared.clone(), main, context, applied, tables, schema, batch: None, last: None };
    let outcome = reader.file();
    shared.end(&outcome);
    threads.into_iter().for_each(|t| drop(t.join()));
    let fault = shared.state.lock().fault.take();
    match (fault, outcome) {
        (Some(fault), _) | (None, Err(fault)) => return Err(fault),
        (None, Ok(())) => {}
    }
    reader.main.run(|db| ledger.close(db))?;
    said.push(progress.end());
    Ok(said)
}

/// Tells a file from others by its length and its beginning.
fn identity(path: &Path) -> Outcome<(u64, u64)> {
    let fault = |e| Fault::file(path, e);
    let file = open_plain(path).map_err(fault)?;
    let length = file.metadata().map_err(fault)?.len();
    let mut beginning = Vec::new();
    file.take(64 << 10).read_to_end(&mut beginning).map_err(fault)?;
    Ok((u64::from(crc32c(0, &beginning)) << 32 | length & 0xFFFF_FFFF, length))
}

/// A table whose rows come in this file.
struct FileTable {
    load: TableLoad,
    /// It has its indexes, or none to get.
    indexed: AtomicBool,
    numbering: Numbering,
    /// The columns that are not generated, and the places of the others among all.
    columns: Vec<Column>,
    generated: Vec<usize>,
    /// Rows go in side by side: nothing on the table depends on their order.
    free: bool,
}

enum Job {
    Batch(Batch, Arc<Vec<Statement>>),
    Indexes(Arc<FileTable>),
}

#[derive(Default)]
struct State {
    queue: VecDeque<Job>,
    /// Jobs that are not done, those in the queue included.
    open: usize,
    over: bool,
    fault: Option<Fault>,
}

/// What the reader and the workers share.
struct Shared {
    options: LoadOptions,
    ledger: Arc<Ledger>,
    counts: Arc<Counts>,
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn work(&self, link: &mut Link) {
        let mut applied = Applied::default();
        loop {
            let job = {
                let mut state = self.state.lock();
                loop {
                    if state.fault.is_some() {
                        return;
                    }
                    match state.queue.pop_front() {
                        Some(job) => break job,
                        None if state.over => return,
                        None => self.changed.wait(&mut state),
                    }
                }
            };
            self.changed.notify_all();
            let outcome = self.job(link, &mut applied, &job);
            let mut state = self.state.lock();
            state.open -= 1;
            if let Err(e) = outcome {
                state.fault.get_or_insert(e);
            }
            drop(state);
            self.changed.notify_all();
        }
    }

    fn job(&self, link: &mut Link, applied: &mut Applied, job: &Job) -> Outcome<()> {
        match job {
            Job::Indexes(table) => link.run(|db| table.indexes(db)),
            Job::Batch(batch, context) => {
                let path = &self.options.source;
                let rows = link.run(|db| {
                    applied.catch_up(db, context, path)?;
                    batch.run(db, &self.ledger, NAME, path)
                })?;
                self.counts.rows.fetch_add(rows, Relaxed);
                self.counts.bytes.fetch_add(batch.bytes as u64, Relaxed);
                Ok(())
            }
        }
    }

    /// Puts a job into the queue, which has a bound.
    fn put(&self, job: Job) -> Outcome<()> {
        let mut state = self.state.lock();
        while state.queue.len() >= 2 * self.options.threads.max(1) && state.fault.is_none() {
            self.changed.wait(&mut state);
        }
        if state.fault.is_some() {
            return Err(Fault::Stopped);
        }
        state.queue.push_back(job);
        state.open += 1;
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// Waits until all jobs are done.
    fn settle(&self) -> Outcome<()> {
        let mut state = self.state.lock();
        while state.open > 0 && state.fault.is_none() {
            self.changed.wait(&mut state);
        }
        if state.fault.is_some() { Err(Fault::Stopped) } else { Ok(()) }
    }

    /// There are no more jobs, or nobody wants them any more.
    fn end(&self, outcome: &Outcome<()>) {
        let mut state = self.state.lock();
        state.over = true;
        if outcome.is_err() {
            state.queue.clear();
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// The file's name in the ledger, which has one of them.
const NAME: &str = "";

type Tables = BTreeMap<(String, String), Arc<FileTable>>;

struct Reader {
    shared: Arc<Shared>,
    main: Link,
    /// What has been set so far.
    context: Arc<Vec<Statement>>,
    applied: Applied,
    tables: Tables,
    /// The database that is used.
    schema: Option<String>,
    /// What is being gathered, and for which table.
    batch: Option<(Arc<FileTable>, Batch)>,
    /// The table whose rows came last.
    last: Option<Arc<FileTable>>,
}

impl Reader {
    fn file(&mut self) -> Outcome<()> {
        let path = self.shared.options.source.clone();
        let known = self.shared.ledger.pieces(NAME);
        let mut input = Statements::open(&path)?;
        let mut past = 0;
        while let Some(s) = input.next()? {
            self.shared.counts.done.store(input.bytes, Relaxed);
            if let Some((to, _)) = known.get(&s.number) {
                // It is in, up to there; and nothing is gathered across it.
                self.flush()?;
                past = *to;
            }
            let is_in = s.number < past;
            match Class::of(&s) {
                Class::Nothing => {}
                Class::Context => self.context(s)?,
                Class::Insert if is_in => {}
                Class::Insert => self.insert(s, &path)?,
                Class::Change if is_in => {}
                Class::Change => {
                    self.barrier()?;
                    self.change(s, &path)?;
                }
                Class::Table => self.table(s, &path)?,
                Class::Other => {
                    self.barrier()?;
                    self.define(&s, &path)?;
                }
            }
        }
        self.barrier()?;
        for table in self.tables.values() {
            self.main.run(|db| table.load.foreign_keys(db))?;
        }
        Ok(())
    }

    fn context(&mut self, s: Statement) -> Outcome<()> {
        self.flush()?;
        if script::begins(s.sql(), &["USE"]) {
            if self.shared.options.into.is_some() {
                return Ok(());
            }
            self.schema = ddl::created(s.sql(), 1);
        }
        // Dumps set the same again and again, around each table.
        Arc::make_mut(&mut self.context).push(s);
        Ok(())
    }

    /// Hands over what was gathered.
    fn flush(&mut self) -> Outcome<()> {
        let Some((_, batch)) = self.batch.take() else { return Ok(()) };
        self.shared.put(Job::Batch(batch, self.context.clone()))
    }

    fn insert(&mut self, mut s: Statement, path: &Path) -> Outcome<()> {
        let mut insert = Insert::parse(&s.text);
        let table = match &insert {
            Some(insert) => self.known(insert)?,
            None => None,
        };
        // MariaDB's dumps have values for generated columns, which MySQL does not take.
        if let (Some(table), Some(values)) = (&table, &insert)
            && let Some(text) = values.without(&s.text, &table.generated, &table.columns)
        {
            s.text = text;
            insert = Insert::parse(&s.text);
        }
        let (Some(table), Some(insert)) = (table, insert) else {
            self.barrier()?;
            return self.change(s, path);
        };
        let numbering = match (&insert.columns, table.numbering) {
            (_, Numbering::None) => Some(Numbering::None),
            (None, at) => Some(at),
            (Some(names), Numbering::At(n)) => {
                let numbered = table.columns.get(n).map(|c| c.name.as_str());
                names.iter().position(|c| numbered.is_some_and(|n| c.eq_ignore_ascii_case(n))).map(Numbering::At)
            }
        };
        if !table.free || !numbering.is_some_and(|n| insert.is_free(&s.text, n)) {
            self.barrier()?;
            return self.change(s, path);
        }
        if self.last.as_ref().is_some_and(|last| !Arc::ptr_eq(last, &table)) {
            self.close_last()?;
        }
        self.last = Some(table.clone());
        match &mut self.batch {
            Some((of, batch)) if Arc::ptr_eq(of, &table) => batch.add(s),
            _ => {
                self.flush()?;
                self.batch = Some((table, Batch::begin(s)));
            }
        }
        let full = self.batch.as_ref().is_some_and(|(_, b)| b.bytes >= self.shared.options.piece_bytes);
        if full { self.flush() } else { Ok(()) }
    }

    /// The table of an INSERT, looked up when it is seen first; `None` where the file says nothing of its database.
    fn known(&mut self, insert: &Insert) -> Outcome<Option<Arc<FileTable>>> {
        let Some(schema) = insert.schema.clone().or(self.schema.clone()) else { return Ok(None) };
        let of = (schema, insert.table.clone());
        if let Some(table) = self.tables.get(&of)
            && !table.columns.is_empty()
        {
            return Ok(Some(table.clone()));
        }
        let parts = self.tables.get(&of).map(|t| t.load.parts.clone()).unwrap_or_default();
        let (schema, name) = &of;
        let table = self.main.run(|db| FileTable::look_up(db, schema, name, parts.clone()))?;
        if table.columns.is_empty() {
            return Ok(None);
        }
        let table = Arc::new(table);
        self.tables.insert(of, table.clone());
        Ok(Some(table))
    }

    /// The rows of the last table are behind us: its indexes are made when they are in.
    fn close_last(&mut self) -> Outcome<()> {
        self.flush()?;
        let Some(table) = self.last.take() else { return Ok(()) };
        if table.indexed.load(Relaxed) {
            return Ok(());
        }
        // Batches of the table may still run; ALTER TABLE waits for them at the server, behind its metadata lock, and
        // those in the queue come before it.
        self.shared.put(Job::Indexes(table))
    }

    /// Waits until everything before is done, indexes included.
    fn barrier(&mut self) -> Outcome<()> {
        self.flush()?;
        self.last = None;
        self.shared.settle()?;
        for table in self.tables.values() {
            self.main.run(|db| table.indexes(db))?;
        }
        Ok(())
    }

    /// A statement that changes rows, in a transaction with its entry in the ledger.
    fn change(&mut self, s: Statement, path: &Path) -> Outcome<()> {
        let batch = Batch::begin(s);
        let (context, applied, ledger) = (self.context.clone(), &mut self.applied, self.shared.ledger.clone());
        let rows = self.main.run(|db| {
            applied.catch_up(db, &context, path)?;
            batch.run(db, &ledger, NAME, path)
        })?;
        self.shared.counts.rows.fetch_add(rows, Relaxed);
        Ok(())
    }

    /// CREATE TABLE: now without what comes later.
    fn table(&mut self, s: Statement, path: &Path) -> Outcome<()> {
        self.close_last()?;
        let name = ddl::created(s.sql(), 2);
        let (Some(name), Some(schema), true) = (name, self.schema.clone(), !s.text.starts_with(b"/*!")) else {
            self.barrier()?;
            return self.define(&s, path);
        };
        let parts = ddl::split(s.sql());
        let base = Statement { text: parts.base.clone().into_bytes(), ..s };
        self.define(&base, path)?;
        self.tables.insert((schema.clone(), name.clone()), Arc::new(FileTable::new(&schema, &name, parts)));
        Ok(())
    }

    /// A definition, between two notes in the ledger.
    fn define(&mut self, s: &Statement, path: &Path) -> Outcome<()> {
        /// The object is there: database, table, index, procedure, trigger, event, foreign key, account, role.
        const THERE: [u16; 9] = [1007, 1050, 1061, 1304, 1359, 1537, 1826, 1396, 3523];
        let step = format!("statement {}", s.number);
        let ledger = self.shared.ledger.clone();
        if self.shared.options.into.is_some() && is_schema(s.sql()) {
            return Ok(());
        }
        let (context, applied) = (self.context.clone(), &mut self.applied);
        let mut begun = ledger.is_begun(&step);
        self.main.run(|db| {
            applied.catch_up(db, &context, path)?;
            ledger.once(db, &step, |db| match script::run(db, path, s) {
                Err(Fault::Refused { code, .. }) if begun && THERE.contains(&code) => Ok(()),
                other => {
                    // A second attempt, after a lost connection, may find it done.
                    begun = true;
                    other
                }
            })
        })
    }
}

fn is_schema(sql: &str) -> bool {
    ["CREATE", "DROP", "ALTER"]
        .iter()
        .any(|w| script::begins(sql, &[w, "DATABASE"]) || script::begins(sql, &[w, "SCHEMA"]))
}

impl FileTable {
    /// Adds the indexes, once.
    fn indexes(&self, db: &mut Session) -> Outcome<()> {
        if !self.indexed.load(Relaxed) {
            self.load.indexes(db)?;
            self.indexed.store(true, Relaxed);
        }
        Ok(())
    }

    fn new(schema: &str, name: &str, parts: ddl::Parts) -> FileTable {
        FileTable {
            indexed: AtomicBool::new(parts.indexes.is_empty()),
            load: TableLoad {
                schema: schema.to_owned(),
                name: name.to_owned(),
                parts,
                files: Vec::new(),
                format: Format::Statements,
                check: None,
                triggers: None,
                left: AtomicUsize::new(0),
            },
            numbering: Numbering::None,
            columns: Vec::new(),
            generated: Vec::new(),
            free: false,
        }
    }

    fn look_up(db: &mut Session, schema: &str, name: &str, parts: ddl::Parts) -> Outcome<FileTable> {
        let of = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", literal(schema), literal(name));
        let numbered = db.value(&format!(
            "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE {of} AND EXTRA LIKE '%auto_increment%'"
        ))?;
        let triggers = db.value(&format!(
            "SELECT COUNT(*) FROM information_schema.TRIGGERS WHERE EVENT_OBJECT_SCHEMA = {} AND EVENT_OBJECT_TABLE = {}",
            literal(schema),
            literal(name)
        ))?;
        let (columns, generated) = columns_of(db, schema, name)?;
        let at = numbered.and_then(|n| columns.iter().position(|c| c.name == n));
        let numbering = at.map_or(Numbering::None, Numbering::At);
        Ok(FileTable {
            numbering,
            columns,
            generated,
            free: triggers.as_deref() == Some("0"),
            ..FileTable::new(schema, name, parts)
        })
    }
}
