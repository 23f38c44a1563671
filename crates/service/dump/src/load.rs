//! `gannet load`: a dump into a server.
//!
//! 1. Accounts, schemas, tables without their secondary indexes and foreign keys, stand-ins for the views.
//! 2. Rows, by several connections, in pieces. A piece is a transaction, which writes it down in the ledger, too. The
//!    connection that brings in a table's last piece adds its indexes, in one ALTER TABLE.
//! 3. Foreign keys, triggers, views, events, grants.
//!
//! Each step is in the [ledger](crate::ledger), so that a load that was killed goes on where it was.

use crate::catalog::{Table, columns_of};
use crate::ddl::{self, Parts};
use crate::fault::{Fault, Outcome, wrong};
use crate::ledger::Ledger;
use crate::link::Link;
use crate::mydumper;
use crate::names::{literal, qualified, quoted};
use crate::peer::{Peer, Session};
use crate::plan::{Format, Plan, SchemaPlan, TablePlan, ViewPlan};
use crate::progress::{Counts, Progress};
use crate::rows;
use crate::script::{self, begins};
use crate::shell;
use crate::sqlfile;
use crate::work::{TableLoad, Work};
use gannet_base::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use gannet_base::sync::{Arc, Mutex};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// What happens to a table that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The load fails before it changes anything of the table.
    Refuse,
    /// The rows go into it, as it is.
    Keep,
    /// It is dropped.
    Drop,
}

/// What to load, and how.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The server.
    pub peer: Peer,
    /// The dump.
    pub source: PathBuf,
    /// Schemas; none: all of the dump.
    pub schemas: Vec<String>,
    /// Tables and views, as `schema.table` or `table`; none: all.
    pub tables: Vec<String>,
    /// Another name for the schema.
    pub into: Option<String>,
    /// Connections that write side by side.
    pub threads: usize,
    /// Plain bytes of a transaction, about.
    pub piece_bytes: usize,
    /// Accounts and grants, too.
    pub users: bool,
    /// Routines, events and triggers, too.
    pub programs: bool,
    /// Tables that are there already.
    pub existing: Existing,
    /// Forgets what was loaded of this dump before.
    pub reset: bool,
    /// Reads all rows again, and compares checksums.
    pub verify: bool,
    /// Without a binary log on the target.
    pub skip_log: bool,
    /// Shows no progress.
    pub quiet: bool,
}

/// Loads. What was done, as lines for the user.
pub fn load(options: &LoadOptions) -> Outcome<Vec<String>> {
    let source = &options.source;
    if !source.is_dir() {
        return sqlfile::load(options);
    }
    let parts = shell::Parts { schemas: &options.schemas, tables: &options.tables };
    let plan = match mydumper::is_one(source) {
        true => mydumper::plan(source, &parts)?,
        false if shell::is_one(source) => shell::plan(source, &parts)?,
        false => {
            return wrong(format!(
                "{}: the directory is no dump: it has neither @.json (of gannet dump or MySQL Shell) nor metadata (of \
                 mydumper)",
                source.display()
            ));
        }
    };
    if options.into.is_some() && plan.schemas.len() != 1 {
        return wrong("another name needs a dump of one schema, or one that is chosen");
    }
    let setup = setup(options);
    let mut main = Link::open(&options.peer, &setup)?;
    let source = source.display().to_string();
    let ledger = Ledger::open(main.session()?, key(plan.id, options), &source, options.reset)?;
    let mut said = plan.notes.clone();
    if ledger.resumed {
        said.push("the load goes on where it was".into());
    }
    if plan.general_ci && main.session()?.about.is_mysql([8, 0, 1]) {
        let set = "SET SESSION default_collation_for_utf8mb4 = utf8mb4_general_ci";
        if !main.set_up_further(set)? {
            said.push(
                "columns in utf8mb4 get the server's default collation: its own, utf8mb4_general_ci, needs the \
                 privilege SESSION_VARIABLES_ADMIN"
                    .into(),
            );
        }
    }
    let local = main.session()?.value("SELECT @@GLOBAL.local_infile")?.is_some_and(|v| v == "1" || v == "ON");
    let lines = plan.schemas.iter().flat_map(|s| &s.tables).any(|t| t.format != Format::Statements);
    if lines && !local {
        said.push("the server's local_infile is OFF: the rows go in by INSERT, which is slower".into());
    }
    let mut loader = Loader { options, ledger: Arc::new(ledger), main, said, tables: Vec::new() };
    loader.definitions(&plan)?;
    loader.data(plan.bytes, local, &setup)?;
    loader.rest(&plan)?;
    if options.verify {
        loader.verify()?;
    }
    let (ledger, main) = (loader.ledger, &mut loader.main);
    main.run(|db| ledger.close(db))?;
    Ok(loader.said)
}

/// Statements that set a session of a load up.
pub(crate) fn setup(options: &LoadOptions) -> Vec<String> {
    let mut setup = vec!["SET SESSION foreign_key_checks = 0, SESSION unique_checks = 0".to_owned()];
    if options.skip_log {
        setup.push("SET SESSION sql_log_bin = 0".into());
    }
    setup
}

/// The key of a source in the ledger: the same source under another name is another load.
pub(crate) fn key(id: u64, options: &LoadOptions) -> u64 {
    id ^ u64::from(gannet_base::crc32c(0, options.into.as_deref().unwrap_or_default().as_bytes()))
}

/// Error 1359.
const TRIGGER_EXISTS: u16 = 1359;

struct Loader<'a> {
    options: &'a LoadOptions,
    ledger: Arc<Ledger>,
    main: Link,
    said: Vec<String>,
    tables: Vec<Arc<TableLoad>>,
}

impl Loader<'_> {
    /// The name of a schema on the target.
    fn target(&self, schema: &str) -> String {
        self.options.into.clone().unwrap_or_else(|| schema.to_owned())
    }

    /// Runs the statements of a script that are wanted, in the schema.
    fn script(&mut self, path: &Path, schema: Option<&str>, wanted: impl Fn(&str) -> bool) -> Outcome<()> {
        self.script_again(path, schema, None, wanted)
    }

    /// The same for a script that may have been run in part: `there` is the error of an object that is there already.
    fn script_again(
        &mut self,
        path: &Path,
        schema: Option<&str>,
        there: Option<u16>,
        wanted: impl Fn(&str) -> bool,
    ) -> Outcome<()> {
        let statements = script::read(path)?;
        let renamed = self.options.into.clone();
        self.main.run(|db| {
            if let Some(schema) = schema {
                db.run(&format!("USE {}", quoted(schema)))?;
            }
            for s in statements.iter().filter(|s| wanted(s.sql())) {
                if renamed.is_some() && (begins(s.sql(), &["USE"]) || creates_schema(s.sql())) {
                    continue;
                }
                match script::run(db, path, s) {
                    Err(e) if there.is_some() && e.code() == there => {}
                    other => other?,
                }
            }
            Ok(())
        })
    }

    /// Everything that is there before the rows.
    fn definitions(&mut self, plan: &Plan) -> Outcome<()> {
        for path in &plan.before {
            self.script(path, None, |_| true)?;
        }
        if self.options.users {
            match &plan.accounts {
                Some(path) => self.accounts(path, |sql| !is_grant(sql))?,
                None => return wrong("the dump has no accounts"),
            }
        }
        for schema in &plan.schemas {
            self.schema(schema)?;
        }
        Ok(())
    }

    /// Statements about accounts; one that the target refuses is told of, and the others go on.
    fn accounts(&mut self, path: &Path, wanted: fn(&str) -> bool) -> Outcome<()> {
        for s in script::read(path)?.iter().filter(|s| wanted(s.sql())) {
            match self.main.run(|db| script::run(db, path, s)) {
                Err(e @ Fault::Refused { .. }) => self.said.push(format!("not done: {e}")),
                other => other?,
            }
        }
        Ok(())
    }

    fn schema(&mut self, plan: &SchemaPlan) -> Outcome<()> {
        let target = self.target(&plan.name);
        if let Some(new) = &self.options.into {
            self.main.run(|db| db.run(&format!("CREATE DATABASE IF NOT EXISTS {}", quoted(new))).map(drop))?;
        }
        // The first script creates the schema.
        let renamed = self.options.into.is_some();
        for (i, path) in plan.scripts.iter().enumerate() {
            let programs = self.options.programs;
            let there = (renamed || i > 0).then_some(target.as_str());
            self.script(path, there, |sql| !is_program(sql, &["EVENT"]) && (programs || !is_program(sql, PROGRAMS)))?;
        }
        for table in &plan.tables {
            let load = self.table(&target, table)?;
            self.tables.push(Arc::new(load));
        }
        for view in &plan.views {
            if let Some(path) = &view.stand_in
                && !self.ledger.is_done(&format!("view {target}.{}", view.name))
            {
                self.script(path, Some(&target), |_| true)?;
            }
        }
        Ok(())
    }

    /// Makes a table without what comes later.
    fn table(&mut self, schema: &str, plan: &TablePlan) -> Outcome<TableLoad> {
        let (options, ledger) = (self.options, self.ledger.clone());
        let step = format!("table {schema}.{}", plan.name);
        let mut load = TableLoad {
            schema: schema.to_owned(),
            name: plan.name.clone(),
            parts: Parts::default(),
            files: plan.files.clone(),
            format: plan.format.clone(),
            check: plan.check,
            triggers: plan.triggers.clone(),
            left: AtomicUsize::new(plan.files.len()),
        };
        let name = qualified(schema, &plan.name);
        let exists = self.main.run(|db| is_there(db, schema, &plan.name))?;
        if exists && !ledger.is_begun(&step) {
            match options.existing {
                Existing::Keep => return Ok(load),
                Existing::Drop => self.main.run(|db| db.run(&format!("DROP TABLE {name}")).map(drop))?,
                Existing::Refuse => {
                    return wrong(format!("table {schema}.{} is there already (see --existing)", plan.name));
                }
            }
        }
        let Some(path) = &plan.create else {
            return if exists { Ok(load) } else { wrong(format!("table {schema}.{} is not there", plan.name)) };
        };
        if ledger.is_done(&step) && !exists {
            return wrong(format!("table {schema}.{} is gone since the load began (--reset begins anew)", plan.name));
        }
        let statements = script::read(path)?;
        let mut base = Vec::new();
        for s in &statements {
            let mut s = s.clone();
            if begins(s.sql(), &["CREATE", "TABLE"]) {
                load.parts = ddl::split(s.sql());
                s.text = load.parts.base.clone().into_bytes();
            }
            base.push(s);
        }
        // A table that was begun and is there was made as a whole; so was one that is there after a lost connection.
        let mut begun = ledger.is_begun(&step);
        self.main.run(|db| {
            db.run(&format!("USE {}", quoted(schema)))?;
            ledger.once(db, &step, |db| {
                if std::mem::replace(&mut begun, true) && is_there(db, schema, &plan.name)? {
                    return Ok(());
                }
                base.iter().try_for_each(|s| script::run(db, path, s))
            })
        })?;
        Ok(load)
    }

    /// The rows, and the indexes.
    fn data(&mut self, bytes: u64, local: bool, setup: &[String]) -> Outcome<()> {
        let counts = Arc::new(Counts::default());
        counts.total.store(bytes, Relaxed);
        let mut queue = VecDeque::new();
        let mut tables = self.tables.clone();
        tables.sort_by_key(|t| std::cmp::Reverse(t.files.iter().filter_map(|f| f.bytes).sum::<u64>()));
        for table in tables {
            if table.files.is_empty() {
                queue.push_back((table, None));
                continue;
            }
            queue.extend(table.files.iter().map(|f| (table.clone(), Some(f.clone()))));
        }
        let work = Arc::new(Work {
            queue: Mutex::new(queue),
            ledger: self.ledger.clone(),
            counts: counts.clone(),
            fault: Mutex::new(None),
            piece_bytes: self.options.piece_bytes,
            local,
            setup: setup.to_vec(),
        });
        let progress = Progress::begin(counts, self.options.quiet);
        let mut threads = Vec::new();
        for i in 0..self.options.threads.max(1) {
            let mut link = Link::open(&self.options.peer, setup)?;
            let work = work.clone();
            let run = move || work.run(&mut link);
            let started = gannet_runtime::start_thread(&format!("load {i}"), None, run);
            threads.push(started.map_err(|e| Fault::Wrong(format!("cannot start a thread: {e}")))?);
        }
        let panicked = threads.into_iter().filter_map(|t| t.join().err()).count();
        if let Some(fault) = work.fault.lock().take() {
            return Err(fault);
        }
        if panicked > 0 {
            return wrong("a thread panicked");
        }
        self.said.push(progress.end());
        Ok(())
    }

    /// What needs all tables: foreign keys, triggers, views, events, grants.
    fn rest(&mut self, plan: &Plan) -> Outcome<()> {
        for table in self.tables.clone() {
            self.main.run(|db| table.foreign_keys(db))?;
        }
        if self.options.programs {
            for table in self.tables.clone() {
                let Some(path) = &table.triggers else { continue };
                let (step, ledger) = (format!("triggers {}", table.place()), self.ledger.clone());
                if ledger.is_done(&step) {
                    continue;
                }
                // Only our own scripts drop a trigger before they make it.
                let there = ledger.is_begun(&step).then_some(TRIGGER_EXISTS);
                self.main.run(|db| ledger.note(db, &step, false))?;
                self.script_again(path, Some(&table.schema), there, |_| true).map_err(|e| e.at(table.place()))?;
                self.main.run(|db| ledger.note(db, &step, true))?;
            }
        }
        self.views(plan)?;
        if self.options.programs {
            for schema in &plan.schemas {
                let target = self.target(&schema.name);
                for path in &schema.scripts {
                    self.script(path, Some(&target), |sql| sets(sql) || is_program(sql, &["EVENT"]))?;
                }
            }
        }
        if self.options.users
            && let Some(path) = &plan.accounts
        {
            self.accounts(path, is_grant)?;
        }
        for path in &plan.after {
            self.script(path, None, |_| true)?;
        }
        Ok(())
    }

    /// The views. One that is refused may need another as it is, not what stands for it (CHECK OPTION needs a view that
    /// can be changed): it is tried again behind the others, as long as there are fewer each time.
    fn views(&mut self, plan: &Plan) -> Outcome<()> {
        let all = plan.schemas.iter().flat_map(|s| s.views.iter().map(move |v| (&s.name, v)));
        let mut left: Vec<(String, &ViewPlan)> = all.map(|(schema, view)| (self.target(schema), view)).collect();
        let ledger = self.ledger.clone();
        left.retain(|(target, view)| !ledger.is_done(&format!("view {target}.{}", view.name)));
        while !left.is_empty() {
            let (mut refused, mut first, tried) = (Vec::new(), None, left.len());
            for (target, view) in left {
                match self.view(&target, view) {
                    Ok(()) => {
                        let step = format!("view {target}.{}", view.name);
                        self.main.run(|db| ledger.note(db, &step, true))?;
                    }
                    Err(e @ Fault::Refused { .. }) => {
                        first.get_or_insert(e);
                        refused.push((target, view));
                    }
                    Err(e) => return Err(e),
                }
            }
            if let Some(e) = first.filter(|_| refused.len() == tried) {
                return Err(e);
            }
            left = refused;
        }
        Ok(())
    }

    /// Makes a view. What its script sets is put back, also where the view is refused.
    fn view(&mut self, schema: &str, view: &ViewPlan) -> Outcome<()> {
        let statements = script::read(&view.script)?;
        self.main.run(|db| {
            db.run(&format!("USE {}", quoted(schema)))?;
            for (i, s) in statements.iter().enumerate() {
                let Err(e) = script::run(db, &view.script, s) else { continue };
                if matches!(e, Fault::Refused { .. }) {
                    statements[i + 1..]
                        .iter()
                        .filter(|s| sets(s.sql()))
                        .try_for_each(|s| script::run(db, &view.script, s))?;
                }
                return Err(e);
            }
            Ok(())
        })
    }

    /// Reads every table again, and compares with what the dump says.
    fn verify(&mut self) -> Outcome<()> {
        let mut compared = 0;
        for table in self.tables.clone() {
            let (Some((rows, sum)), Format::Lines { columns, .. }) = (table.check, &table.format) else { continue };
            let found = self.main.run(|db| checksum(db, &table, columns))?;
            // Dumps of before have the sum of the lines for documents, too.
            if found.rows != rows || ![found.sum, found.lines].contains(&sum) {
                return wrong(format!(
                    "{}: the table is not as it was dumped: {} rows of {rows}, checksum {:016x} for {sum:016x}",
                    table.place(),
                    found.rows,
                    found.sum
                ));
            }
            compared += 1;
        }
        self.said.push(format!("{compared} tables have the checksums of the dump"));
        Ok(())
    }
}

/// What a table has.
#[derive(Default)]
struct Found {
    rows: u64,
    /// As a dump would have it.
    sum: u64,
    /// Of the lines as they are.
    lines: u64,
}

fn checksum(db: &mut Session, table: &TableLoad, columns: &[String]) -> Outcome<Found> {
    let (mut known, _) = columns_of(db, &table.schema, &table.name)?;
    known.retain(|c| columns.contains(&c.name));
    known.sort_by_key(|c| columns.iter().position(|n| *n == c.name));
    let forms: Vec<rows::Form> = known.iter().map(|c| c.form).collect();
    let read = Table {
        schema: table.schema.clone(),
        name: table.name.clone(),
        rows: 0,
        bytes: 0,
        columns: known,
        primary: Vec::new(),
        triggers: Vec::new(),
    };
    let (mut found, mut line, mut scratch) = (Found::default(), Vec::new(), Vec::new());
    let mut all = db.connection.stream(&crate::dump::select(&read, ""))?;
    while let Some(packet) = all.next_row()? {
        line.clear();
        rows::line(packet, &forms, &mut line)?;
        found.lines = found.lines.wrapping_add(crate::dump::hash(&line));
        let sum = crate::dump::row_sum(packet, &forms, &line, &mut scratch)?;
        found.sum = found.sum.wrapping_add(sum);
        found.rows += 1;
    }
    Ok(found)
}

fn is_there(db: &mut Session, schema: &str, table: &str) -> Outcome<bool> {
    let sql = format!(
        "SELECT COUNT(*) FROM information_schema.TABLES WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        literal(schema),
        literal(table)
    );
    Ok(db.value(&sql)?.as_deref() != Some("0"))
}

const PROGRAMS: &[&str] = &["FUNCTION", "PROCEDURE", "EVENT", "TRIGGER"];

/// Creates, drops or alters a stored program of these kinds.
fn is_program(sql: &str, kinds: &[&str]) -> bool {
    let bare = ddl::replace_words(sql.split('(').next().unwrap_or_default(), |_| None);
    let words: Vec<&str> = bare.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|w| !w.is_empty()).collect();
    let verb = words.iter().find(|w| !w.starts_with(|c: char| c.is_ascii_digit()));
    verb.is_some_and(|v| ["CREATE", "DROP", "ALTER"].iter().any(|k| v.eq_ignore_ascii_case(k)))
        && words.iter().take(12).any(|w| kinds.iter().any(|k| w.eq_ignore_ascii_case(k)))
}

/// Sets variables.
fn sets(sql: &str) -> bool {
    begins(sql, &["SET"]) || sql.contains("SET ") && sql.starts_with("/*!")
}

fn creates_schema(sql: &str) -> bool {
    begins(sql, &["CREATE", "DATABASE"]) || begins(sql, &["CREATE", "SCHEMA"])
}

fn is_grant(sql: &str) -> bool {
    begins(sql, &["GRANT"]) || begins(sql, &["REVOKE"]) || begins(sql, &["SET", "DEFAULT", "ROLE"])
}
