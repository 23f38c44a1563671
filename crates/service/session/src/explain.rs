//! EXPLAIN, and its result.

use super::Session;
use super::locks::is_stale;
use super::reply::Done;
use super::reply::Reply;
use super::reply::{RowsSink, plain_column};
use super::state::{text, unsupported};
use super::text::{lex_mode, parse_error};
use gannet_core::accounts::{Privilege, Privileges};
use gannet_core::kinds::{self, Way};
use gannet_core::registry::Activity;
use gannet_core::vars::Live;
use gannet_exec::Session as _;
use gannet_parser::ast::{self, Statement};
use gannet_plan::explain::{Shown, TRADITIONAL_COLUMNS, analyzed, json, traditional, tree};
use gannet_plan::plan::ResultColumn;
use gannet_plan::{Plan, PlanKind};
use gannet_schema::RowSource;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, TypeId, Value, Warning, sql_err};
use std::sync::Arc;

/// Tables that change between planning and running: so often at most.
pub(super) const MAX_REPLANS: u32 = 10;

/// EXPLAIN.
pub(crate) fn explain(session: &mut Session, e: &ast::Explain, reply: &mut dyn Reply) -> Result<Done> {
    let Some(rows) = in_schema(session, e, |s| explain_rows(s, e))? else { return Ok(Done::default()) };
    let Some(variable) = &e.into else { return session.send_table(&rows, reply) };
    let value = rows.rows.into_iter().next().and_then(|r| r.into_iter().next()).unwrap_or(Value::Null);
    session.state.set_user_variable(&variable.text, value)?;
    Ok(Done::default())
}

/// Columns of EXPLAIN's result, for COM_STMT_PREPARE.
pub(super) fn explain_columns(session: &mut Session, e: &ast::Explain) -> Result<Vec<ResultColumn>> {
    if e.into.is_some() || matches!(e.target, ast::ExplainTarget::Connection(_)) {
        return Ok(Vec::new());
    }
    if e.analyze {
        return Ok(vec![text_column()]);
    }
    let rows = in_schema(session, e, |s| explain_rows(s, e))?;
    Ok(rows.map_or(Vec::new(), |r| r.columns))
}

/// FOR SCHEMA: names without a schema belong to that one.
fn in_schema<R>(session: &mut Session, e: &ast::Explain, run: impl FnOnce(&mut Session) -> Result<R>) -> Result<R> {
    let Some(name) = &e.schema else { return run(session) };
    session.state.renew_snapshot();
    session.require_entry(name)?;
    let schema = session.state.snapshot.schema(name).ok_or_else(|| sql_err!(BadDb, name.text))?.name.clone();
    let saved = session.state.database.replace(Arc::from(&*schema));
    let outcome = run(session);
    session.state.database = saved;
    outcome
}

/// `None`: the connection asked about runs nothing.
fn explain_rows(session: &mut Session, e: &ast::Explain) -> Result<Option<RowsSink>> {
    let format = match &e.format {
        Some(format) => format.text.to_ascii_uppercase(),
        None if e.analyze && session.state.vars[Live::ExplainFormat].as_str() != "JSON" => "TREE".to_owned(),
        None => session.state.vars[Live::ExplainFormat].as_str().to_owned(),
    };
    if !matches!(&*format, "TRADITIONAL" | "TRADITIONAL_STRICT" | "TREE" | "JSON") {
        let named = e.format.as_ref().map_or(&*format, |f| &*f.text);
        return Err(sql_err!(UnknownExplainFormat, named));
    }
    // The format has to be written, whatever explain_format is.
    if e.into.is_some() && e.format.is_none() {
        return Err(sql_err!(ExplainIntoImplicitFormat));
    }
    if e.into.is_some() && format != "JSON" {
        return Err(sql_err!(ExplainIntoFormat, format));
    }
    if e.analyze && format != "TREE" {
        return unsupported(format!("EXPLAIN ANALYZE with {format} format"));
    }
    let other;
    let statement = match &e.target {
        ast::ExplainTarget::Statement(statement) => statement,
        ast::ExplainTarget::Connection(_) if e.analyze => return unsupported("EXPLAIN ANALYZE FOR CONNECTION"),
        ast::ExplainTarget::Connection(id) => match statement_of(session, *id)? {
            None => return Ok(None),
            Some((statement, database)) => {
                other = statement;
                let saved = std::mem::replace(&mut session.state.database, database);
                let rows = explain_statement(session, &other, &format);
                session.state.database = saved;
                return rows.map(Some);
            }
        },
    };
    if kinds::of(statement).way != Way::Planned {
        return Err(SqlError::unsupported(kinds::of(statement).name));
    }
    if e.analyze {
        explain_analyze(session, statement).map(Some)
    } else {
        explain_statement(session, statement, &format).map(Some)
    }
}

fn explain_statement(session: &mut Session, statement: &Statement, format: &str) -> Result<RowsSink> {
    session.state.renew_snapshot();
    let (plan, params) = session.make_inner_plan(statement)?;
    check_view_rights(session, &plan)?;
    session.state.last_query_cost = plan.cost();
    plan.warnings.iter().for_each(|w| session.running.diagnostics.warnings.push(w.clone()));
    let shown = opened(session, &plan, &params)?;
    if let Statement::Query(query) = statement {
        let notes = gannet_plan::explained(query, &session.state.snapshot, &session.plan_options(&[]))?;
        // The tree tells of its windows, and says what the query has become.
        let told = |note: &Warning| match note.code {
            ErrorCode::Yes => format != "TREE",
            ErrorCode::WindowExplainJson => format.starts_with("TRADITIONAL"),
            _ => true,
        };
        notes.into_iter().filter(told).for_each(|note| session.running.diagnostics.warnings.push(note));
    }
    Ok(match format {
        "TREE" => one_text(&tree(&plan, true)),
        "JSON" => one_text(&json(&plan, &shown)),
        _ => table(&plan, &shown),
    })
}

/// Opens the plan's tables as an execution does: with the values of the statement it is known which parts each scan
/// reads, and which texts are no dates (1525). A query begins a transaction where none is committed by itself.
fn opened(session: &mut Session, plan: &Plan, params: &[Value]) -> Result<Shown> {
    let mut shown = Shown::new();
    let parted = plan.tables.iter().any(|t| t.table.partitions.is_some());
    let stored = plan.tables.iter().any(|t| t.table.source == RowSource::Engine && !t.table.temporary);
    let reads = matches!(plan.kind, PlanKind::Query(_) | PlanKind::PointSelect(_)) && stored;
    if parted || !plan.dates.is_empty() || reads && !session.work.terms().autocommit {
        let locks = session.plan_locks(plan);
        session.execute_with(plan, &locks, params, |cx, _| {
            shown = gannet_exec::shown_parts(cx)?;
            Ok(gannet_exec::Outcome::Rows { sent: 0 })
        })?;
    }
    Ok(shown)
}

/// Runs a query, and reports what each of its operators did.
fn explain_analyze(session: &mut Session, statement: &Statement) -> Result<RowsSink> {
    let mut tries = 0;
    loop {
        session.state.renew_snapshot();
        let (plan, params) = session.make_inner_plan(statement)?;
        check_view_rights(session, &plan)?;
        if !matches!(plan.kind, PlanKind::Query(_) | PlanKind::PointSelect(_)) || plan.into.is_some() {
            return unsupported("EXPLAIN ANALYZE of other statements than SELECT without INTO");
        }
        let locks = session.plan_locks(&plan);
        let mut profile = None;
        let outcome = session.execute_with(&plan, &locks, &params, |cx, _| {
            profile = Some(gannet_exec::analyze(cx)?);
            Ok(gannet_exec::Outcome::Rows { sent: 0 })
        });
        match outcome {
            Err(e) if is_stale(&e) && tries < MAX_REPLANS => tries += 1,
            Err(e) => return Err(e),
            Ok(_) => {
                let profile = profile.unwrap_or_default();
                return Ok(one_text(&analyzed(&plan, &|node| profile.of(node))));
            }
        }
    }
}

/// What another connection runs, and in which database. Errors 1094, 1227, and 3012 when it cannot be explained.
fn statement_of(session: &Session, id: u64) -> Result<Option<(Statement, Option<Arc<str>>)>> {
    let entry = session.server.registry.get(id).ok_or_else(|| sql_err!(NoSuchThread, id))?;
    let who = entry.who();
    if who.user != *session.state.account.user {
        session.state.privileges().require(Privilege::Process)?;
    }
    let activity = entry.activity().0;
    let Some(running) = entry.statement().filter(|_| activity != Activity::Sleep) else { return Ok(None) };
    if activity != Activity::Query {
        return Err(sql_err!(ExplainNotSupported));
    }
    // Parsed with the sql_mode of the session that asks: the other session's mode is not known here.
    let parsed =
        gannet_parser::parse_one(running.bytes(), lex_mode(session.settings.exec.sql_mode)).map_err(parse_error)?;
    let explainable = kinds::of(&parsed.statement).way == Way::Planned;
    if explainable && parsed.params == 0 {
        Ok(Some((parsed.statement, who.database)))
    } else {
        Err(sql_err!(ExplainNotSupported))
    }
}

/// Error 1345: a plan shows what is below a view, so EXPLAIN needs SHOW VIEW on the view and SELECT on the tables
/// below.
fn check_view_rights(session: &Session, plan: &Plan) -> Result<()> {
    if session.state.access.all {
        return Ok(());
    }
    for t in plan.tables.iter() {
        let mut need = Privileges::NONE;
        if t.table.view().is_some() {
            need = Privileges::of(&[Privilege::Select, Privilege::ShowView]);
        } else if t.through.is_some() && !matches!(t.table.source, gannet_schema::RowSource::Virtual(_)) {
            need = Privilege::Select.into();
        }
        let have = session.state.access.any_column(&t.table.schema, &t.table.name);
        if need.without(have) != Privileges::NONE {
            return Err(SqlError::new(ErrorCode::ViewNoExplain, &[]));
        }
    }
    Ok(())
}

fn text_column() -> ResultColumn {
    plain_column("EXPLAIN", SqlType::varchar(65_535 / 4, CollationId::UTF8MB3_GENERAL_CI))
}

fn one_text(shown: &str) -> RowsSink {
    RowsSink { columns: vec![text_column()], rows: vec![vec![text(shown)]] }
}

fn table(plan: &Plan, parts: &Shown) -> RowsSink {
    let word = |name: &str, length: u32| plain_column(name, SqlType::varchar(length, CollationId::UTF8MB3_GENERAL_CI));
    let ty = |name: &str| -> ResultColumn {
        match name {
            "id" | "rows" => plain_column(name, SqlType::bigint_unsigned()),
            "filtered" => plain_column(name, SqlType { scale: 2, length: 5, ..SqlType::new(TypeId::Double) }),
            "select_type" => word(name, 19),
            "partitions" | "possible_keys" | "key_len" => word(name, 4096),
            "ref" => word(name, 1024),
            "type" => word(name, 10),
            "Extra" => word(name, 255),
            _ => word(name, 64),
        }
    };
    let maybe = |s: &Option<String>| s.as_deref().map_or(Value::Null, text);
    let row = |r: &gannet_plan::explain::ExplainRow| {
        vec![
            r.id.map_or(Value::Null, Value::UInt),
            text(&r.select_type),
            maybe(&r.table),
            maybe(&r.partitions),
            maybe(&r.access),
            maybe(&r.possible_keys),
            maybe(&r.key),
            maybe(&r.key_len),
            maybe(&r.refs),
            r.rows.map_or(Value::Null, Value::UInt),
            r.filtered.map_or(Value::Null, Value::Double),
            maybe(&r.extra),
        ]
    };
    RowsSink {
        columns: TRADITIONAL_COLUMNS.iter().map(|n| ty(n)).collect(),
        rows: traditional(plan, parts).iter().map(row).collect(),
    }
}
