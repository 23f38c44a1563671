//! HANDLER: tables read row by row, in the order of an index.
//!
//! Each read is a query that the server writes: the rows behind (or before) the row that was read last, in the
//! index's order. An open handler remembers that row's key and takes no lock between two reads. A table without a key
//! is read by counting rows.

use super::reply::RowsSink;
use super::reply::{Done, Reply};
use super::{Session, show};
use gannet_core::accounts::Privilege;
use gannet_parser::ast::{BinaryOp, Expr, Handler, HandlerAction, HandlerPosition, Limit};
use gannet_schema::{RowSource, Table};
use gannet_types::{Result, Value, convert, sql_err};
use std::fmt::Write;
use std::sync::Arc;

/// Open handlers of a session: a bound on memory.
const MOST: usize = 1000;

/// An open handler.
#[derive(Debug)]
pub(crate) struct Opened {
    alias: String,
    table: Arc<Table>,
    /// The index read last; `None`: natural order.
    index: Option<String>,
    at: At,
}

/// The place of an open handler in the order that it walks.
#[derive(Clone, Debug)]
enum At {
    /// Before the first row.
    Start,
    /// At the row with these values of the order's columns.
    Row(Vec<Value>),
    /// At the row with this number, from 1: of a table without a key.
    Number(u64),
    /// Behind the last row.
    End,
}

/// Where a read goes.
#[derive(Clone, Copy, PartialEq)]
enum Way {
    Forward,
    Backward,
}

fn ident(s: &str) -> String {
    format!("`{}`", s.replace('`', "``"))
}

fn literal(v: &Value) -> String {
    let mut text = Vec::new();
    v.write_text(&mut text);
    let hex = |b: &[u8]| b.iter().map(|b| format!("{b:02X}")).collect::<String>();
    match v {
        Value::Null => "NULL".into(),
        Value::Int(_) | Value::UInt(_) | Value::Decimal(..) | Value::Double(_) | Value::Float(_) => {
            String::from_utf8_lossy(&text).into_owned()
        }
        Value::Str(bytes, c) if c.charset() == gannet_types::charset::Charset::Binary => format!("X'{}'", hex(bytes)),
        _ => format!("_utf8mb4 X'{}'", hex(&convert::utf8_text(&v.as_ref()))),
    }
}

/// `columns` come behind (or before) `values` in the order of the columns; NULL is first. `or_equal`: or are the same.
fn beyond(columns: &[String], values: &[Value], way: Way, or_equal: bool) -> String {
    let mut out = String::from("(FALSE");
    for (i, (c, v)) in columns.iter().zip(values).enumerate() {
        out.push_str(" OR (");
        for (before, value) in columns.iter().zip(values).take(i) {
            let _ = write!(out, "{before} <=> {} AND ", literal(value));
        }
        let _ = match (way, v.is_null()) {
            (Way::Forward, true) => write!(out, "{c} IS NOT NULL"),
            (Way::Forward, false) => write!(out, "{c} > {}", literal(v)),
            (Way::Backward, true) => write!(out, "FALSE"),
            (Way::Backward, false) => write!(out, "({c} < {} OR {c} IS NULL)", literal(v)),
        };
        out.push(')');
    }
    if or_equal {
        let _ = write!(out, " OR {}", same(columns, values));
    }
    out + ")"
}

fn same(columns: &[String], values: &[Value]) -> String {
    let each = columns.iter().zip(values).map(|(c, v)| format!("{c} <=> {}", literal(v)));
    format!("({})", each.collect::<Vec<_>>().join(" AND "))
}

/// HANDLER.
pub(crate) fn handler(session: &mut Session, h: &Handler, reply: &mut dyn Reply) -> Result<Done> {
    if !session.locked.is_empty() {
        return Err(sql_err!(LockOrActiveTransaction));
    }
    // Whatever changes a table's definition or empties it, here or in another session, closes its handlers.
    session.state.renew_snapshot();
    let snapshot = &session.state.snapshot;
    let same = |t: &Arc<Table>| snapshot.table(&t.schema, &t.name).is_some_and(|now| Arc::ptr_eq(now, t));
    session.handlers.retain(|o| same(&o.table));
    match &h.action {
        HandlerAction::Open(alias) => {
            let alias = alias.as_ref().unwrap_or(&h.table.name).text.to_string();
            open_handler(session, h, alias).map(|()| Done::default())
        }
        HandlerAction::Close => {
            let at = find_handler(session, &h.table.name)?;
            session.handlers.remove(at);
            Ok(Done::default())
        }
        HandlerAction::Read { index, position, filter, limit } => {
            let at = find_handler(session, &h.table.name)?;
            let rows = read_handler(session, at, index.as_ref().map(|i| &*i.text), position, filter, limit.as_ref())?;
            session.send_table(&rows, reply)
        }
    }
}

fn open_handler(session: &mut Session, h: &Handler, alias: String) -> Result<()> {
    if session.handlers.iter().any(|o| gannet_schema::names::eq_name(&o.alias, &alias)) {
        return Err(sql_err!(NonuniqTable, alias));
    }
    if session.handlers.len() >= MOST {
        return Err(sql_err!(OutOfResources));
    }
    let schema = match &h.table.schema {
        Some(s) => s.text.to_string(),
        None => session.state.require_database()?.to_string(),
    };
    let t = session.table_for(Some(Privilege::Select.into()), &schema, &h.table.name)?;
    if t.view().is_some() {
        return Err(sql_err!(WrongObject, t.schema, t.name, "BASE TABLE"));
    }
    if t.source != RowSource::Engine {
        return Err(sql_err!(IllegalHa, t.name));
    }
    session.handlers.push(Opened { alias, table: t, index: None, at: At::Start });
    Ok(())
}

fn find_handler(session: &Session, alias: &str) -> Result<usize> {
    let found = session.handlers.iter().position(|o| gannet_schema::names::eq_name(&o.alias, alias));
    found.ok_or_else(|| sql_err!(UnknownTable, alias, "HANDLER"))
}

fn read_handler(
    session: &mut Session,
    at: usize,
    index: Option<&str>,
    position: &HandlerPosition,
    filter: &Option<Expr>,
    limit: Option<&Limit>,
) -> Result<RowsSink> {
    let o = &session.handlers[at];
    let t = o.table.clone();
    let order = order_of(&t, index, &o.alias)?;
    let names: Vec<String> = order.iter().map(|c| ident(&t.columns[*c as usize].name)).collect();
    let moved = o.index.as_deref() != index;
    let place = if moved { At::Start } else { o.at.clone() };
    let (mut count, mut skip) = (1, 0);
    if let Some(l) = limit {
        let mut number = |e: &Expr| -> Result<u64> {
            match session.evaluate(e)? {
                Value::Int(n) => Ok(u64::try_from(n).unwrap_or(0)),
                Value::UInt(n) => Ok(n),
                _ => Ok(0),
            }
        };
        count = number(&l.count)?;
        skip = l.offset.as_ref().map_or(Ok(0), number)?;
    }
    let nothing = || Some("FALSE".to_string());
    let (condition, way) = match position {
        HandlerPosition::First => (None, Way::Forward),
        HandlerPosition::Last => (None, Way::Backward),
        HandlerPosition::Next => match &place {
            At::Start => (None, Way::Forward),
            At::Row(values) => (Some(beyond(&names, values, Way::Forward, false)), Way::Forward),
            At::Number(n) if filter.is_some() => (Some(format!("{ROW_NUMBER} > {n}")), Way::Forward),
            At::Number(n) => {
                skip += n;
                (None, Way::Forward)
            }
            At::End => (nothing(), Way::Forward),
        },
        HandlerPosition::Prev => match &place {
            At::Start if moved => (None, Way::Backward),
            At::Start => (nothing(), Way::Backward),
            At::Row(values) => (Some(beyond(&names, values, Way::Backward, false)), Way::Backward),
            At::Number(_) | At::End => (None, Way::Backward),
        },
        HandlerPosition::Key(op, exprs) => {
            let parts = index.and_then(|i| t.index(i)).map_or(0, |i| t.indexes[i].parts.len());
            if exprs.len() > parts {
                return Err(sql_err!(TooManyKeyParts, parts));
            }
            let values = exprs.iter().map(|e| session.evaluate(e)).collect::<Result<Vec<_>>>()?;
            let columns = &names[..values.len().min(names.len())];
            match op {
                BinaryOp::Eq => (Some(same(columns, &values)), Way::Forward),
                BinaryOp::Ge => (Some(beyond(columns, &values, Way::Forward, true)), Way::Forward),
                BinaryOp::Gt => (Some(beyond(columns, &values, Way::Forward, false)), Way::Forward),
                BinaryOp::Le => (Some(beyond(columns, &values, Way::Backward, true)), Way::Backward),
                _ => (Some(beyond(columns, &values, Way::Backward, false)), Way::Backward),
            }
        }
    };
    let alias = ident(&session.handlers[at].alias);
    let unkeyed = names.is_empty();
    let table = format!("{}.{}", ident(&t.schema), ident(&t.name));
    // Rows without a key are known by their number; a condition needs it beside them, otherwise they can be
    // counted.
    let numbered = unkeyed && filter.is_some();
    let mut sql = if numbered {
        let columns: Vec<String> =
            t.columns.iter().filter(|c| !c.hidden && !c.invisible).map(|c| ident(&c.name)).collect();
        let columns = columns.join(", ");
        format!("SELECT * FROM (SELECT {columns}, ROW_NUMBER() OVER () AS {ROW_NUMBER} FROM {table}) AS {alias}")
    } else {
        format!("SELECT * FROM {table} AS {alias}")
    };
    if let Some(c) = condition {
        let _ = write!(sql, " WHERE {c}");
    }
    if unkeyed && way == Way::Backward {
        return Err(sql_err!(IllegalHa, t.name));
    }
    if !unkeyed {
        let direction = if way == Way::Forward { "" } else { " DESC" };
        let list: Vec<String> = names.iter().map(|n| format!("{n}{direction}")).collect();
        let _ = write!(sql, " ORDER BY {}", list.join(", "));
    }
    let mut rows = show::rows_where(session, &format!("{sql} LIMIT {skip}, {count}"), filter.clone())?;
    let number =
        if numbered { rows.take_last_column() } else { unkeyed.then(|| Value::UInt(skip + rows.rows.len() as u64)) };
    let key = rows.rows.last().map(|row| {
        let value = |c: &u32| {
            let name = &t.columns[*c as usize].name;
            let i = rows.columns.iter().position(|r| *r.name == **name);
            i.and_then(|i| row.get(i)).cloned().unwrap_or(Value::Null)
        };
        order.iter().map(value).collect()
    });
    let read = rows.rows.len() as u64;
    let exact = matches!(position, HandlerPosition::Key(..));
    let o = &mut session.handlers[at];
    o.index = index.map(str::to_string);
    o.at = match (key, number) {
        // It has looked at all rows there are in its way.
        _ if read < count && !exact => match way {
            Way::Forward => At::End,
            Way::Backward => At::Start,
        },
        (Some(_), Some(Value::Int(n))) => At::Number(u64::try_from(n).unwrap_or(0)),
        (Some(_), Some(Value::UInt(n))) => At::Number(n),
        (Some(key), _) => At::Row(key),
        (None, _) => place,
    };
    Ok(rows)
}

/// The column with the numbers of rows, among those of a table without a key.
const ROW_NUMBER: &str = "`number of the row`";

/// Columns of an order in which every row has its place: the index's, and the primary key's.
fn order_of(t: &Table, index: Option<&str>, alias: &str) -> Result<Vec<u32>> {
    let mut order: Vec<u32> = Vec::new();
    if let Some(name) = index {
        let i = t.index(name).ok_or_else(|| sql_err!(KeyDoesNotExits, name, alias))?;
        order.extend(t.indexes[i].parts.iter().map(|p| p.column));
    }
    if let Some(key) = t.clustered_index() {
        order.extend(key.parts.iter().map(|p| p.column));
    }
    let mut seen = Vec::new();
    order.retain(|c| {
        let new = !seen.contains(c);
        seen.push(*c);
        new
    });
    Ok(order)
}
