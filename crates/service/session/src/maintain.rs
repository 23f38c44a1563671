//! ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE, SHOW OPEN TABLES.

use super::reply::{Done, Reply};
use super::reply::{RowsSink, plain_column};
use super::show::{column, number, quote, table};
use super::state::text;
use super::{Session, privileges, show};
use gannet_catalog::StoredTable;
use gannet_core::accounts::{Privilege, Privileges};
use gannet_core::statistics::Wanted;
use gannet_exec::check::{Evaluation, Stale};
use gannet_parser::ast::{self, AlterAction, AlterTable, Ident, ObjectName, ShowFilter, Statement};
use gannet_schema::{RowSource, names::check_full_name};
use gannet_telemetry::{Counter, count};
use gannet_types::{Level, Result, SqlType, Value};
use std::sync::Arc;

/// ANALYZE, CHECK, CHECKSUM, OPTIMIZE, REPAIR TABLE: one row a table.
pub(crate) fn maintain(session: &mut Session, m: &ast::TableMaintenance, reply: &mut dyn Reply) -> Result<Done> {
    use ast::MaintenanceKind as Kind;
    let word = match m.kind {
        Kind::Analyze => "analyze",
        Kind::Check => "check",
        Kind::Optimize => "optimize",
        Kind::Checksum => return checksum(session, m, reply),
        Kind::Repair => "repair",
    };
    session.commit_implicitly()?;
    if let Some(histogram) = &m.histogram {
        count(Counter::ComAnalyze);
        return super::histogram::histograms(session, m, histogram, reply);
    }
    count(match m.kind {
        Kind::Analyze => Counter::ComAnalyze,
        Kind::Check => Counter::ComCheck,
        Kind::Repair => Counter::ComRepair,
        _ => Counter::ComOptimize,
    });
    let mut rows = Vec::new();
    check_names(m)?;
    for name in &m.tables {
        let schema = match &name.schema {
            Some(s) => s.text.to_string(),
            None => session.state.require_database()?.to_string(),
        };
        let label = format!("{schema}.{}", name.name);
        let found = session.state.snapshot.require_table(&schema, &name.name).cloned();
        let need = match m.kind {
            Kind::Check => Privileges::NONE,
            _ => Privileges::of(&[Privilege::Select, Privilege::Insert]),
        };
        match &found {
            Ok(t) if t.temporary => {}
            _ if m.kind == Kind::Check => privileges::require_any_privilege(session, &schema, &name.name)?,
            _ => session.require_on_table(need, &schema, &name.name)?,
        }
        let parted = found.as_ref().is_ok_and(|t| t.partitions.is_some());
        let is_view = found.as_ref().is_ok_and(|t| t.view().is_some());
        if is_view && m.kind == Kind::Check {
            let ident = |s: &str| format!("`{}`", s.replace('`', "``"));
            let sql = format!("SELECT * FROM {}.{} LIMIT 0", ident(&schema), ident(&name.name));
            match session.own_rows(&sql) {
                Ok(_) => rows.push(vec![text(&label), text(word), text("status"), text("OK")]),
                Err(e) => {
                    rows.push(vec![text(&label), text(word), text("Error"), text(e.message())]);
                    rows.push(vec![text(&label), text(word), text("error"), text("Corrupt")]);
                }
            }
            continue;
        }
        let outcome = found.and_then(|t| {
            check_maintained(session, m.kind, &t)?;
            maintain_one(session, m.kind, &t).map(|()| t)
        });
        let outcome = outcome.and_then(|t| match m.kind {
            Kind::Analyze => super::histogram::renew_histograms(session, &t).map(|()| t),
            _ => Ok(t),
        });
        let outcome = outcome.and_then(|t| match m.kind {
            Kind::Check => stale_values(session, &t, &[]),
            Kind::Repair if t.partitions.is_some() => repair(session, &t, &[]),
            _ => Ok(Stale::default()),
        });
        let mut line = |kind: &str, message: &str| rows.push(vec![text(&label), text(word), text(kind), text(message)]);
        match outcome {
            Ok(_) if is_view && m.kind != Kind::Check => {
                let message = format!("'{label}' is not BASE TABLE");
                line("Error", &message);
                line("status", "Operation failed");
            }
            Ok(_) if m.kind == Kind::Repair && !parted => {
                line("note", "The storage engine for the table doesn't support repair");
            }
            Ok(stale) => {
                let note = "Table does not support optimize, doing recreate + analyze instead";
                say(&stale, (m.kind == Kind::Optimize).then_some(note), &mut line);
            }
            Err(e) if e.code() == gannet_types::ErrorCode::QueryInterrupted => return Err(e),
            Err(e) => {
                line("Error", e.message());
                line("status", "Operation failed");
            }
        }
    }
    session.send_table(&table(show::maintained(), rows), reply)
}

/// The lines of a table that has been maintained: what it says of rows, a note, and the status where nothing is wrong.
pub(super) fn say(stale: &Stale, note: Option<&str>, line: &mut dyn FnMut(&str, &str)) {
    stale.warnings.iter().for_each(|message| line("warning", message));
    stale.errors.iter().for_each(|message| line("error", message));
    if let Some(note) = note {
        line("note", note);
    }
    if stale.errors.is_empty() {
        line("status", "OK");
    }
}

/// Under LOCK TABLES only locked tables are maintained; a statement that may rebuild a table needs its write
/// lock.
pub(super) fn check_maintained(session: &Session, kind: ast::MaintenanceKind, t: &gannet_schema::Table) -> Result<()> {
    let rebuilds = matches!(kind, ast::MaintenanceKind::Optimize | ast::MaintenanceKind::Repair);
    if t.temporary || t.view().is_some() || t.source != RowSource::Engine {
        return Ok(());
    }
    session.locked.check(t.id, rebuilds, &t.name)
}

/// What rows have that their expressions do not give, and rows of these parts (of all without any) that are elsewhere.
pub(super) fn stale_values(session: &mut Session, t: &Arc<gannet_schema::Table>, parts: &[usize]) -> Result<Stale> {
    let settings = super::variables::Settings::of(&session.state, session.abilities.found_rows).exec;
    let evaluation = Evaluation { session: &mut session.state, settings: &settings };
    gannet_exec::check::stale_values(t, parts, &session.server.engine, evaluation)
}

/// Where these partitions (all, without any) have rows that belong elsewhere, all rows are placed anew: a rebuild,
/// after which each is in its part, or nothing has changed.
pub(super) fn repair(session: &mut Session, found: &Arc<gannet_schema::Table>, leaves: &[usize]) -> Result<Stale> {
    let Stale { misplaced, .. } = stale_values(session, found, leaves)?;
    if misplaced == 0 {
        return Ok(Stale::default());
    }
    let name = ObjectName { schema: Some(Ident::new(&found.schema)), name: Ident::new(&found.name) };
    let verb = Ident::new("REBUILD");
    let all = AlterAction::Partitions { verb, no_write_to_binlog: false, names: Vec::new(), options: Vec::new() };
    let rebuild = AlterTable { name, if_exists: false, actions: vec![all], partition: None };
    session.carry_out(&Statement::AlterTable(Box::new(rebuild)))?;
    Ok(Stale { warnings: vec![format!("Moved {misplaced} misplaced rows")], ..Stale::default() })
}

pub(super) fn maintain_one(session: &Session, kind: ast::MaintenanceKind, t: &gannet_schema::Table) -> Result<()> {
    if t.source != RowSource::Engine || kind == ast::MaintenanceKind::Repair {
        return Ok(());
    }
    let engine = &session.server.engine;
    let failed = gannet_exec::error::from_engine;
    if kind == ast::MaintenanceKind::Check {
        return gannet_exec::check::check_table(t, engine);
    }
    let now = (session.state.statement_time() / 1_000_000) as u64;
    let wanted = Wanted::of(&session.server, t);
    gannet_core::statistics::refresh(&session.server, t, now, wanted.places).map_err(failed)?;
    if wanted.persistent {
        session.server.catalog.save_figures(t).map_err(gannet_exec::error::from_catalog)?;
    }
    Ok(())
}

/// Errors 1059, 1102 and 1103.
fn check_names(m: &ast::TableMaintenance) -> Result<()> {
    let full = |n: &ast::ObjectName| check_full_name(n.schema.as_ref().map(|s| &*s.text), &n.name);
    m.tables.iter().try_for_each(full)
}

/// CHECKSUM TABLE: a sum over the rows that does not depend on their order. The figures are Gannet's own: equal tables
/// have equal sums here, another server has others.
fn checksum(session: &mut Session, m: &ast::TableMaintenance, reply: &mut dyn Reply) -> Result<Done> {
    count(Counter::ComChecksum);
    let quick = m.options.iter().any(|o| o.eq_ignore_ascii_case("QUICK"));
    let mut rows = Vec::new();
    check_names(m)?;
    for name in &m.tables {
        let schema = match &name.schema {
            Some(s) => s.text.to_string(),
            None => session.state.require_database()?.to_string(),
        };
        let label = format!("{schema}.{}", name.name);
        if session.state.snapshot.temporary_table(&schema, &name.name).is_none() {
            session.require_on_table(Privilege::Select.into(), &schema, &name.name)?;
        }
        let sum = match sum_of(session, &schema, &name.name, quick) {
            Ok(sum) => sum,
            Err(e) if session.state.snapshot.require_table(&schema, &name.name).is_ok() => return Err(e),
            Err(e) => {
                session.running.diagnostics.warnings.push(e.to_warning(Level::Error));
                Value::Null
            }
        };
        rows.push(vec![text(&label), sum]);
    }
    let columns = vec![column("Table", 128), plain_column("Checksum", SqlType::bigint_unsigned())];
    session.send_table(&table(columns, rows), reply)
}

fn sum_of(session: &mut Session, schema: &str, name: &str, quick: bool) -> Result<Value> {
    if quick {
        return session.state.snapshot.require_table(schema, name).map(|_| Value::Null);
    }
    let ident = |s: &str| format!("`{}`", s.replace('`', "``"));
    // NULL and every value stay apart: each column is a mark and its bytes with their length.
    let part = |c: &gannet_schema::Column| {
        let n = ident(&c.name);
        format!("IF({n} IS NULL, 'N', CONCAT('V', LENGTH({n}), ':', CAST({n} AS BINARY)))")
    };
    let kept = super::show::own_rows_of(session, |session| {
        let t = session.state.snapshot.require_table(schema, name)?;
        let parts: Vec<String> = t.columns.iter().map(part).collect();
        Ok(format!(
            "SELECT COALESCE(SUM(CRC32(CONCAT({}))), 0) % 4294967296 AS c FROM {}.{}",
            parts.join(", "),
            ident(&t.schema),
            ident(&t.name)
        ))
    })?;
    let mut shown = Vec::new();
    if let Some(v) = kept.rows.first().and_then(|r| r.first()) {
        v.write_text(&mut shown);
    }
    let n = std::str::from_utf8(&shown).ok().and_then(|s| s.parse().ok());
    Ok(n.map_or(Value::Null, Value::UInt))
}

impl Session {
    /// SHOW OPEN TABLES: those whose trees are open.
    pub(crate) fn open_tables(
        self: &mut Session,
        schema: Option<&Ident>,
        filter: Option<&ShowFilter>,
    ) -> Result<RowsSink> {
        let mut parts = Vec::new();
        for s in self.state.snapshot.schemas() {
            if schema.is_some_and(|want| *want.text != *s.name) {
                continue;
            }
            for t in self.state.snapshot.tables(&s.name) {
                if t.opened_trees().is_some() && self.state.access.sees_table(&t.schema, &t.name) {
                    parts.push(format!("SELECT {}, {}, 0, 0", quote(&t.schema), quote(&t.name)));
                }
            }
        }
        /// A listing, not a dump: the query behind it has to stay small enough to be planned.
        const MOST: usize = 500;
        parts.truncate(MOST);
        if parts.is_empty() {
            let columns = vec![column("Database", 64), column("Table", 64), number("In_use"), number("Name_locked")];
            return Ok(table(columns, vec![]));
        }
        let head =
            "SELECT 'Database' AS `Database`, 'Table' AS `Table`, 0 AS In_use, 0 AS Name_locked FROM DUAL WHERE 0";
        show::select(self, &format!("{head} UNION ALL {}", parts.join(" UNION ALL ")), "Table", filter)
    }
}
