//! Statements over a real engine and dictionary, without a server.

#![allow(dead_code, reason = "each of the test programs uses a part of it")]

use gannet_catalog::{Catalog, Gate, StoredTable, Words};
use gannet_engine::{Engine, EngineOptions, KeyRange, ScanOptions, Txn, TxnOptions};
use gannet_exec::changes::{ChangeSink, Images, RowChange, Standing};
use gannet_exec::error::from_engine;
use gannet_exec::file::{Format, Input};
use gannet_exec::{Cx, DirectBuffers, Load, ResultSink, Session, Settings, Shared};
use gannet_functions::SessionInfo;
use gannet_parser::ast::Statement;
use gannet_plan::plan::{Plan, ResultColumn};
use gannet_plan::{PlanKind, PlanOptions};
use gannet_schema::Table;
use gannet_types::temporal::Locale;
use gannet_types::{CollationId, Date, ErrorCode, Result, SqlError, SqlMode, TimeZone, Value, Warnings};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// A session that knows nothing.
struct Nobody;

impl SessionInfo for Nobody {
    fn database(&self) -> Option<&str> {
        Some("app")
    }
    fn connection_id(&self) -> u64 {
        1
    }
    fn user(&self) -> &str {
        "root@localhost"
    }
    fn current_user(&self) -> &str {
        "root@localhost"
    }
    fn version(&self) -> &str {
        "8.4"
    }
    fn last_insert_id(&self) -> u64 {
        0
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn found_rows(&self) -> u64 {
        0
    }
    fn row_count(&self) -> i64 {
        0
    }
    fn random(&mut self) -> u64 {
        7
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
}

impl Session for Nobody {
    fn user_variable(&self, _: &str) -> Value {
        Value::Null
    }
    fn set_user_variable(&mut self, _: &str, _: Value) -> Result<()> {
        Ok(())
    }
    fn system_variable(&mut self, _: bool, name: &str) -> Result<Value> {
        Err(SqlError::unsupported(name))
    }
    fn temp_space(&self) -> Option<Arc<gannet_exec::SessionSpace>> {
        None
    }
    fn virtual_rows(
        &mut self,
        _: u32,
        _: &[(u32, Value)],
        _: &[u32],
        _: &mut gannet_exec::Rest,
        _: &mut gannet_exec::Rest,
        _: &mut dyn FnMut(gannet_exec::MadeRow<'_>) -> Result<()>,
    ) -> Result<Vec<(u32, gannet_types::Warning)>> {
        Ok(Vec::new())
    }
    fn foreign_key_refused(&mut self, _: &gannet_exec::foreign::Refused<'_>) {}
}

/// Bytes of a file to load.
struct Bytes<'a>(&'a [u8]);

impl Input for Bytes<'_> {
    fn read(&mut self, buffer: &mut Vec<u8>) -> Result<bool> {
        buffer.extend_from_slice(self.0);
        Ok(!std::mem::take(&mut self.0).is_empty())
    }
}

struct NoRows;

impl ResultSink for NoRows {
    fn begin(&mut self, _: &[ResultColumn]) -> Result<()> {
        Ok(())
    }
    fn rows(&mut self, _: gannet_exec::Rows<'_>) -> Result<()> {
        Ok(())
    }
}

/// A change as it was told.
#[derive(Clone, Debug)]
pub struct Told {
    pub table: String,
    pub old: Option<Vec<Value>>,
    pub new: Option<Vec<Value>>,
    pub cascade: bool,
}

/// Keeps what it is told.
#[derive(Default)]
pub struct Recorder {
    pub standing: Standing<Told>,
    /// Changes that it was told of, those that were rolled back among them.
    pub count: u64,
    /// It has no room.
    pub full: bool,
}

impl ChangeSink for Recorder {
    fn changed(&mut self, records: Range<u64>, change: &RowChange<'_>) -> Result<()> {
        let (old, new) = match change.images {
            Images::Insert(new) => (None, Some(new.to_values()?)),
            Images::Update(old, new) => (Some(old.to_values()?), Some(new.to_values()?)),
            Images::Delete(old) => (Some(old.to_values()?), None),
        };
        if self.full {
            return Err(SqlError::new(ErrorCode::OutOfResources, &[]));
        }
        self.count += 1;
        let told = Told { table: change.table.name.to_string(), old, new, cascade: change.cascade };
        self.standing.push(records, told);
        Ok(())
    }
}

/// Rows of a table, in no order that counts.
pub type Content = Vec<String>;

/// A database with one session, and a copy of its tables made of what the session's sink was told.
pub struct Database {
    /// Removed at the end by the first session.
    dir: Option<PathBuf>,
    pub catalog: Arc<Catalog>,
    pub txn: Txn,
    settings: Settings,
    pub recorder: Option<Recorder>,
    copy: BTreeMap<String, Content>,
    pub in_transaction: bool,
    /// What the last committed transaction changed.
    pub last: Vec<Told>,
    /// What definitions tell those who follow the log.
    pub words: Option<Words>,
    /// What others do while definitions let them.
    pub gate: Option<Box<dyn Gate>>,
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

impl Database {
    pub fn new(name: &str) -> Database {
        Database::with(name, |options| options.buffer_pool_bytes = 16 << 20)
    }

    pub fn with(name: &str, set: impl FnOnce(&mut EngineOptions)) -> Database {
        let dir = std::env::temp_dir().join(format!("gannet-exec-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&dir);
        let mut options = EngineOptions::new(&dir);
        set(&mut options);
        let catalog = Arc::new(Catalog::open(Engine::open(options).unwrap()).unwrap());
        let mut db = Database::session(catalog);
        db.dir = Some(dir);
        db.run("create database app").unwrap();
        db
    }

    /// A session of its own.
    pub fn session(catalog: Arc<Catalog>) -> Database {
        let mut txn = catalog.engine().begin(TxnOptions::default());
        txn.rollback().unwrap();
        let settings = Settings {
            utf8mb4: CollationId::DEFAULT,
            sql_mode: SqlMode::DEFAULT,
            time_zone: TimeZone::UTC,
            now_us: 1_700_000_000_000_000,
            today: Date::ZERO,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: 64 << 20,
            default_week_format: 0,
            locale: Locale::ENGLISH,
            auto_increment_increment: 1,
            auto_increment_offset: 1,
            memory_limit: 16 << 20,
            cte_max_recursion_depth: 1000,
            count_found_rows: false,
            foreign_key_checks: true,
            locks: Default::default(),
            triggers: true,
            parallel_workers: 1,
            ddl_threads: 2,
        };
        Database {
            dir: None,
            catalog,
            txn,
            settings,
            recorder: Some(Recorder::default()),
            copy: BTreeMap::new(),
            in_transaction: false,
            last: Vec::new(),
            words: None,
            gate: None,
        }
    }

    pub fn told(&self) -> u64 {
        self.recorder.as_ref().map_or(0, |r| r.count)
    }

    pub fn table(&self, name: &str) -> Arc<Table> {
        self.catalog.snapshot().base_table("app", name).unwrap().clone()
    }

    /// Runs a statement; a number of affected rows.
    pub fn run(&mut self, sql: &str) -> Result<u64> {
        self.run_with(sql, b"")
    }

    /// LOAD DATA reads `file`.
    pub fn run_with(&mut self, sql: &str, file: &[u8]) -> Result<u64> {
        let parsed = gannet_parser::parse_one(sql.as_bytes(), Default::default()).expect(sql);
        match &parsed.statement {
            Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Load(_) => {
                self.statement(&parsed.statement, file)
            }
            _ => self.define(&parsed.statement),
        }
    }

    pub fn begin(&mut self) {
        self.txn.begin(TxnOptions::default()).unwrap();
        self.in_transaction = true;
    }

    /// Ends the transaction; what it changed goes into the copy.
    pub fn end(&mut self, commit: bool) {
        self.in_transaction = false;
        self.last.clear();
        if let Some(recorder) = &mut self.recorder {
            let standing = recorder.standing.take(if commit { self.txn.weight() } else { 0 });
            self.last = standing.collect();
            assert!(commit || self.last.is_empty());
        }
        if commit { self.txn.commit().map(drop) } else { self.txn.rollback() }.unwrap();
        for told in &self.last {
            let rows = self.copy.entry(told.table.clone()).or_default();
            if let Some(old) = &told.old {
                let at = rows.iter().position(|row| *row == format!("{old:?}"));
                rows.swap_remove(at.unwrap_or_else(|| panic!("{told:?} of {rows:?}")));
            }
            rows.extend(told.new.iter().map(|new| format!("{new:?}")));
        }
    }

    fn statement(&mut self, statement: &Statement, file: &[u8]) -> Result<u64> {
        let snapshot = self.catalog.snapshot();
        let options = PlanOptions::new(Some("app"));
        let (plan, fields) = match statement {
            Statement::Load(load) => gannet_plan::plan_load(load, &snapshot, &options)?,
            other => (gannet_plan::plan(other, &snapshot, &options)?, Vec::new()),
        };
        self.perform(&plan, &[], |cx| match (&plan.kind, statement) {
            (PlanKind::Insert(_), Statement::Load(_)) => {
                let format = Format { field_term: b",".to_vec(), ..Format::default() };
                let load = Load { fields: &fields, format: &format, collation: CollationId::DEFAULT, skip_lines: 0 };
                gannet_exec::load(&load, &mut Bytes(file), cx).map(|a| a.rows)
            }
            _ => run_plan(cx),
        })
    }

    /// A query or change, to be executed many times.
    pub fn plan(&self, sql: &str) -> Plan {
        let parsed = gannet_parser::parse_one(sql.as_bytes(), Default::default()).expect(sql);
        gannet_plan::plan(&parsed.statement, &self.catalog.snapshot(), &PlanOptions::new(Some("app"))).expect(sql)
    }

    /// Executes a plan; rows affected or sent.
    pub fn execute(&mut self, plan: &Plan, params: &[Value]) -> Result<u64> {
        self.perform(plan, params, run_plan)
    }

    fn perform<'p>(
        &mut self,
        plan: &'p Plan,
        params: &[Value],
        work: impl FnOnce(&mut Cx<'_, 'p>) -> Result<u64>,
    ) -> Result<u64> {
        if !self.in_transaction {
            self.txn.begin(TxnOptions { autocommit: true, ..TxnOptions::default() }).map_err(from_engine)?;
        }
        let mark = self.txn.begin_statement();
        let (mut warnings, mut session) = (Warnings::default(), Nobody);
        let shared = Shared::new(plan, &self.settings, params);
        let mut cx = Cx::new(&shared, &mut self.txn, &mut session, &mut warnings);
        cx.changes = self.recorder.as_mut().map(|r| r as &mut dyn ChangeSink);
        let outcome = work(&mut cx);
        if outcome.is_err() {
            self.txn.rollback_to(mark).map_err(from_engine)?;
        }
        self.txn.end_statement().map_err(from_engine)?;
        if !self.in_transaction {
            self.end(true);
        }
        outcome
    }

    fn define(&mut self, statement: &Statement) -> Result<u64> {
        self.txn.begin(TxnOptions::default()).map_err(from_engine)?;
        let (mut warnings, mut session) = (Warnings::default(), Nobody);
        let mut cx = gannet_exec::ddl::DdlContext {
            changes: None,
            database: Some("app"),
            settings: &self.settings,
            session: &mut session,
            server_collation: CollationId::DEFAULT,
            collation: CollationId::DEFAULT,
            foreign_key_checks: true,
            restrict_non_standard_keys: true,
            require_primary_key: false,
            generate_primary_key: false,
            words_for: None,
            warnings: &mut warnings,
            account: ("root", "localhost"),
            gate: self.gate.as_mut().map(|gate| &mut **gate as &mut dyn Gate),
            words: self.words.clone(),
            select: None,
        };
        gannet_exec::ddl::run(statement, &self.catalog, &mut self.txn, None, &mut cx).map(|(done, _)| done.rows)
    }

    /// The table's rows as they are.
    pub fn rows(&self, name: &str) -> Vec<Vec<Value>> {
        let table = self.table(name);
        let trees = table.trees(self.catalog.engine()).unwrap();
        let mut txn = self.catalog.engine().begin(TxnOptions::default());
        let mut scan = txn.scan(&trees.row, KeyRange::ALL, ScanOptions::default()).unwrap();
        let mut rows = Vec::new();
        while let Some(entry) = scan.next(&mut txn).unwrap() {
            let value = |c: usize| table.layout().get(entry.value, c).unwrap().to_owned();
            rows.push((0..table.columns.len()).map(value).collect());
        }
        let entries = trees.indexes.iter().map(|tree| self.catalog.engine().tree_stats(tree).unwrap().rows);
        entries.for_each(|n| assert_eq!(n, rows.len() as u64, "an index of {name} disagrees"));
        rows
    }

    /// Table and copy are the same.
    pub fn compare(&self, name: &str) {
        let mut rows: Content = self.rows(name).iter().map(|row| format!("{row:?}")).collect();
        let mut copy = self.copy.get(name).cloned().unwrap_or_default();
        rows.sort();
        copy.sort();
        assert_eq!(rows, copy, "{name}");
    }
}

fn run_plan(cx: &mut Cx<'_, '_>) -> Result<u64> {
    gannet_exec::run(cx, &mut DirectBuffers::default(), &mut NoRows).map(|o| match o {
        gannet_exec::Outcome::Affected(a) => a.rows,
        gannet_exec::Outcome::Rows { sent } => sent,
    })
}

pub fn code(outcome: Result<u64>) -> ErrorCode {
    outcome.expect_err("an error was expected").code()
}
