//! Rows of a binary log are applied: BINLOG, and replicas.
//!
//! A row is a statement with parameters, which is planned once for a table, a kind of change and a set of columns. So
//! what follows from a row (index entries, generated columns, actions of foreign keys, rows for the server's own log)
//! follows as from any statement. Triggers do not fire: their rows are in the log. A row is found by the primary key,
//! else by a unique key without NULL, else by all columns of its image.

use super::Session;
use super::calls::Nowhere;
use super::conversions::{self, Allowed};
use super::dialect::Dialect;
use super::own::Each;
use super::prepared::{self, Prepared};
use super::reply::{Done, Reply};
use gannet_base::DecodeError;
use gannet_base::hash::HashMap;
use gannet_binlog::Checksum;
use gannet_binlog::diff::{self, Diff};
use gannet_binlog::event::{Event, kind};
use gannet_binlog::format::FormatDescription;
use gannet_binlog::map::{ColumnKind, TableMap};
use gannet_binlog::packed::Packed;
use gannet_binlog::rows::{Change, Image, Row, Rows, flags};
use gannet_core::accounts::{Access, Account, Privilege};
use gannet_core::vars::{Live, SessionVars, VarValue};
use gannet_parser::printer::quote_name;
use gannet_plan::physical::Reads;
use gannet_schema::{GENERATED_KEY, Table, has_generated_key};
use gannet_types::json::Json;
use gannet_types::room::Room;
use gannet_types::{CollationId, ErrorCode, Result, SqlError, SqlType, TypeId, Value, sql_err};
use std::sync::Arc;

/// Statements that are kept for one table: beyond that they are made anew.
const MOST_STATEMENTS: usize = 64;
/// Tables whose statements are kept.
const MOST_TABLES: usize = 256;

/// What applies rows, from event to event.
#[derive(Default)]
pub struct Applier {
    /// What events end with; `None` before a format description.
    checksum: Option<Checksum>,
    /// The tables that rows may name, by their numbers in the log.
    maps: HashMap<u64, TableMap>,
    /// By schema and name.
    targets: HashMap<(String, String), Target>,
    /// The last of them.
    last: Option<(String, String)>,
    /// The session has the settings for rows with these flags, and had these values before. They stay from event to
    /// event.
    set: Option<(u16, SessionVars)>,
    /// The log is a Gannet's, whose rows have what is kept of VIRTUAL columns.
    has_virtual: bool,
    /// Rows take the place of those that are there, and those that are not there are passed over.
    idempotent: bool,
    /// Whose log it is.
    dialect: Dialect,
    /// The account whose privileges are checked.
    checked: Option<Arc<Account>>,
}

/// A table here that rows of a log go to.
struct Target {
    table: Arc<Table>,
    /// What the log says of it.
    said: TableMap,
    /// The log's columns, with the types that the log does not tell.
    map: TableMap,
    has_virtual: bool,
    allowed: Allowed,
    /// What the position of a column here is ahead of that in the log: a generated primary key that only one of the two
    /// tables has is passed over.
    shift: isize,
    /// Columns whose values become others.
    converted: Vec<bool>,
    /// By kind, and the columns that are found by and written.
    statements: HashMap<Shape, RowStatement>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct Shape {
    change: u8,
    /// Positions of the columns that are written.
    written: Box<[u32]>,
    /// Positions of those that the row is found by.
    found: Box<[u32]>,
    /// These are a key.
    by_key: bool,
}

struct RowStatement {
    statement: Prepared,
    /// Types of its markers.
    types: Box<[SqlType]>,
}

/// The mode in which rows are written as they come: 0 stays 0, dates need not exist, and what does not fit is an error.
const MODE: &str = "STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES";

/// The kind of a row that takes the place of those with its keys, and of one of which something is read.
const REPLACE: u8 = 3;
const READ: u8 = 4;

/// An error of a row that IDEMPOTENT passes over: there is such a key, no such row, or what foreign keys forbid.
fn is_passed_over(e: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        e,
        E::DupEntry | E::KeyNotFound | E::RowIsReferenced2 | E::NoReferencedRow2 | E::ForeignDuplicateKeyWithChildInfo
    )
}

/// In the key of plans.
const OF_ROWS: u64 = 0x0052_4f57_5300_0000;

/// The settings that rows with these flags are applied under.
fn set_for_rows(session: &mut Session, rows: u16) {
    let vars = &mut session.state.vars;
    let on = |bit: u16| VarValue::bool(rows & bit == 0);
    vars.set(Live::SqlMode, VarValue::text(MODE));
    vars.set(Live::TimeZone, VarValue::text("+00:00"));
    vars.set(Live::CharacterSetClient, VarValue::text("utf8mb4"));
    vars.set(Live::ForeignKeyChecks, on(flags::NO_FOREIGN_KEY_CHECKS));
    vars.set(Live::UniqueChecks, on(flags::RELAXED_UNIQUE_CHECKS));
    vars.set(Live::SqlSafeUpdates, VarValue::bool(false));
    vars.set(Live::RequireRowFormat, VarValue::bool(false));
    vars.set(Live::SqlBigSelects, VarValue::bool(true));
    session.refresh();
    session.settings.exec.count_found_rows = true;
    session.settings.exec.triggers = false;
    // Plans of these statements are of no use to others, which may not give generated columns.
    session.settings.mode_key ^= OF_ROWS;
}

/// Bits of a rows event's flags that settings follow from.
const SETTINGS: u16 = flags::NO_FOREIGN_KEY_CHECKS | flags::RELAXED_UNIQUE_CHECKS;

fn damaged(e: DecodeError) -> SqlError {
    sql_err!(ReplicaCorruptEvent, e)
}

impl Applier {
    /// Whether this account may change the rows is checked, unless it may do everything.
    pub(crate) fn checking(account: &Arc<Account>) -> Applier {
        Applier { checked: Some(account.clone()).filter(|a| !a.is_unchecked()), ..Applier::default() }
    }

    /// Error 1142 without the privilege for a kind of change, on the table or on all columns that the log has.
    fn check(&self, session: &Session, change: Change, table: &Table) -> Result<()> {
        let Some(account) = &self.checked else { return Ok(()) };
        let accounts = &session.server.accounts;
        let access = Access::new(accounts, account, &account.grants.default_roles);
        let (need, word) = match change {
            Change::Write => (Privilege::Insert, "INSERT"),
            Change::Update => (Privilege::Update, "UPDATE"),
            Change::Delete => (Privilege::Delete, "DELETE"),
        };
        let mut columns = table.columns.iter().filter(|c| !c.hidden);
        let of_columns = |c: &gannet_schema::Column| access.column(&table.schema, &table.name, &c.name).has(need);
        if access.table(&table.schema, &table.name).has(need) || change != Change::Delete && columns.all(of_columns) {
            return Ok(());
        }
        Err(sql_err!(TableaccessDenied, word, account.user, account.host, table.name))
    }

    /// Whether events can be read.
    pub(crate) fn is_ready(&self) -> bool {
        self.checksum.is_some()
    }

    /// The session has the settings for rows with these flags.
    fn enter(&mut self, session: &mut Session, rows: u16) {
        let bits = rows & SETTINGS;
        if self.set.as_ref().is_some_and(|(set, _)| *set == bits) {
            return;
        }
        self.leave(session);
        self.set = Some((bits, session.state.vars.clone()));
        if self.checked.is_some() {
            // What a row is found by needs no privilege.
            session.state.account = Arc::new(Account::unchecked());
            session.state.renew_access();
        }
        set_for_rows(session, rows);
    }

    /// The session has its own settings again.
    pub fn leave(&mut self, session: &mut Session) {
        if let Some((_, former)) = self.set.take() {
            session.state.vars = former;
            if let Some(account) = &self.checked {
                session.state.account = account.clone();
                session.state.renew_access();
            }
            session.refresh();
        }
    }

    /// What events end with from now on.
    pub fn describe(&mut self, body: &[u8]) -> Result<()> {
        let described = FormatDescription::decode(body).map_err(damaged)?;
        self.checksum = Some(described.checksum);
        self.maps.clear();
        self.dialect = Dialect::of(&described.version);
        self.set_virtual(has_virtual(&described));
        Ok(())
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn has_virtual(&self) -> bool {
        self.has_virtual
    }

    /// Whether rows have what is kept of VIRTUAL columns.
    pub fn set_virtual(&mut self, has: bool) {
        if std::mem::replace(&mut self.has_virtual, has) != has {
            self.targets.clear();
        }
    }

    /// Whether rows take the place of those that are there, and those that are not there are passed over.
    pub fn set_idempotent(&mut self, is: bool) {
        self.idempotent = is;
    }

    /// Schema and name of the table that rows have gone to last.
    pub(crate) fn table(&self) -> Option<(&str, &str)> {
        self.last.as_ref().map(|(schema, name)| (schema.as_str(), name.as_str()))
    }

    /// A table map.
    pub fn map(&mut self, map: TableMap) {
        self.maps.insert(map.id, map);
    }

    /// Applies an event of rows. Errors 1032, 1062, 1146, 1677 and those of the statements.
    pub fn rows(&mut self, session: &mut Session, kind: u8, body: &[u8]) -> Result<()> {
        let unknown = "rows name a table that no event before has described";
        let invalid = || sql_err!(ReplicaCorruptEvent, unknown);
        let mut rows = Rows::decode(kind, body).map_err(damaged)?.ok_or_else(invalid)?;
        let ends = rows.flags & flags::STATEMENT_END != 0;
        if !rows.images.is_empty() {
            let map = self.maps.get(&rows.table).ok_or_else(invalid)?;
            let key = (map.schema.clone(), map.name.clone());
            if self.last.as_ref() != Some(&key) {
                self.last = Some(key.clone());
            }
            if self.targets.len() >= MOST_TABLES && !self.targets.contains_key(&key) {
                self.targets.clear();
            }
            session.state.renew_snapshot();
            let table = session.state.snapshot.require_table(&map.schema, &map.name)?.clone();
            self.check(session, rows.change, &table)?;
            let allowed = Allowed::of(session);
            let stands = |t: &&Target| Arc::ptr_eq(&t.table, &table) && t.said == *map && t.allowed == allowed;
            if self.targets.get(&key).filter(stands).is_none() {
                self.targets.insert(key.clone(), Target::new(table, map, self.has_virtual, allowed)?);
            }
            self.enter(session, rows.flags);
            let missing = || SqlError::internal("a table that rows of a binary log go to");
            let target = self.targets.get_mut(&key).ok_or_else(missing)?;
            while let Some(row) = rows.next(&target.map).map_err(damaged)? {
                gannet_runtime::yield_if_due();
                if gannet_runtime::interrupted() {
                    return Err(sql_err!(QueryInterrupted));
                }
                match target.apply(session, (rows.change, self.idempotent), row) {
                    Err(e) if self.idempotent && is_passed_over(e.code()) => {}
                    outcome => outcome?,
                }
            }
        }
        if ends {
            self.maps.clear();
        }
        Ok(())
    }
}

impl Target {
    /// Error 1677 for columns that cannot take what the log has.
    fn new(table: Arc<Table>, map: &TableMap, has_virtual: bool, allowed: Allowed) -> Result<Target> {
        let (said, mut map) = (map.clone(), map.clone());
        let own: Vec<_> = table.columns.iter().filter(|c| !c.hidden).collect();
        let named = own.first().is_some_and(|c| c.name.eq_ignore_ascii_case(GENERATED_KEY));
        // A server without generated keys does not say whether one that looks like such a key is there.
        let shift = match map.generated_key {
            true => -isize::from(!named),
            false => isize::from(has_generated_key(&table) && map.columns.len() < own.len()),
        };
        let (here, there) = (shift.max(0) as usize, shift.min(0).unsigned_abs());
        let mut converted = vec![false; there];
        for (mapped, column) in map.columns.iter_mut().skip(there).zip(own.into_iter().skip(here)) {
            let own = ColumnKind::of(&column.ty);
            let Some(becomes) = allowed.takes(mapped.kind, own) else {
                let to = match own {
                    ColumnKind::VarChar(_) | ColumnKind::Char(_) => {
                        let shown = conversions::shown(own);
                        format!("{} {})", shown.trim_end_matches(')'), column.ty.collation.charset().name())
                            .replace("(bytes ", "(bytes) ")
                    }
                    _ => column.ty.to_string(),
                };
                let (from, position) = (conversions::shown(mapped.kind), converted.len() - there);
                return Err(sql_err!(ReplicaConversionFailed, position, table.schema, table.name, from, to));
            };
            converted.push(becomes);
            mapped.unsigned.get_or_insert(if becomes { allowed.unsigned } else { column.ty.unsigned });
            // A document is text in MariaDB.
            let json = column.ty.id == TypeId::Json;
            mapped.collation.get_or_insert(if json { CollationId::DEFAULT } else { column.ty.collation }.0);
        }
        Ok(Target { table, said, map, has_virtual, allowed, shift, converted, statements: HashMap::default() })
    }

    /// The column here at a position of the log: one that the log has more is left out.
    fn column(&self, position: u32) -> Option<&gannet_schema::Column> {
        let here = (position as usize).checked_add_signed(self.shift)?;
        self.table.columns.iter().filter(|c| !c.hidden).nth(here)
    }

    /// What a statement writes for a value: the empty member of an ENUM is itself, since in strict mode no number says
    /// it.
    fn written(&self, position: u32, value: Value) -> Value {
        let members = || self.column(position).filter(|c| c.ty.id == TypeId::Enum)?.ty.members.clone();
        match value {
            Value::UInt(0) => members().map_or(value, |m| Value::Enum(0, m)),
            _ => value,
        }
    }

    /// What a row is found by for a value: the log leaves out zeros at the end of a BINARY, of which they are a part.
    fn sought(&self, position: u32, value: Value) -> Value {
        match (self.column(position), value) {
            (Some(column), Value::Str(text, _)) if column.ty.id == TypeId::Binary => {
                let mut bytes = text.to_vec();
                bytes.resize(bytes.len().max(column.ty.length as usize), 0);
                Value::bytes(&bytes)
            }
            (_, value) => value,
        }
    }

    /// Positions of the columns whose values an image has and that are not generated.
    fn given<'a>(&'a self, image: &'a Image) -> impl Iterator<Item = u32> + 'a {
        let has = move |i: &u32| image[*i as usize].is_some();
        (0..image.len() as u32).filter(has).filter(|i| self.column(*i).is_some_and(|c| c.generated.is_none()))
    }

    /// A generated column whose value is the log's: it may depend on the time zone and the modes of who wrote it.
    fn keeps(&self, position: u32) -> bool {
        let by_log = |g: &gannet_schema::Generated| g.stored || self.has_virtual;
        (position as usize) < self.map.columns.len()
            && self.column(position).and_then(|c| c.generated.as_ref()).is_some_and(by_log)
    }

    /// Positions of the columns that are written as an image has them.
    fn taken<'a>(&'a self, image: &'a Image) -> impl Iterator<Item = u32> + 'a {
        let has = move |i: &u32| image[*i as usize].is_some();
        let takes = |i: &u32| self.keeps(*i) || self.column(*i).is_some_and(|c| c.generated.is_none());
        (0..image.len() as u32).filter(has).filter(takes)
    }

    /// What a row is found by: positions, and whether they are a key.
    fn found(&self, before: &Image) -> (Box<[u32]>, bool) {
        let visible: Vec<usize> = (0..self.table.columns.len()).filter(|i| !self.table.columns[*i].hidden).collect();
        let key = |index: &gannet_schema::Index| -> Option<Box<[u32]>> {
            let position = |part: &gannet_schema::IndexPart| {
                let at = visible.iter().position(|i| *i == part.column as usize)?;
                let at = at.checked_add_signed(-self.shift)?;
                let here = before.get(at).is_some_and(Option::is_some);
                let whole = part.prefix.is_none() && !self.table.columns[part.column as usize].nullable;
                (whole && here).then_some(at as u32)
            };
            index.parts.iter().map(position).collect()
        };
        let primary = self.table.primary_key().and_then(key);
        let unique = || self.table.indexes.iter().filter(|i| i.unique() && i.is_ordered()).find_map(key);
        match primary.or_else(unique) {
            Some(parts) => (parts, true),
            None => (self.given(before).collect(), false),
        }
    }

    /// `replaces`: a row that is written takes the place of those with its keys.
    fn apply(
        &mut self,
        session: &mut Session,
        (change, replaces): (Change, bool),
        Row { first, mut second, diffs }: Row,
    ) -> Result<()> {
        if let Some(after) = second.as_mut().filter(|_| !diffs.is_empty()) {
            self.change_documents(session, &first, after, diffs)?;
        }
        let (shape, after) = match (change, &second) {
            (Change::Write, _) => {
                let written = self.taken(&first).collect();
                let change = if replaces { REPLACE } else { 0 };
                (Shape { change, written, found: Box::default(), by_key: false }, &first)
            }
            (Change::Update, Some(after)) => {
                let stays = |i: &u32| {
                    let before = first.get(*i as usize).and_then(Option::as_ref);
                    let moves = self.column(*i).is_some_and(|c| c.on_update_now);
                    before == after[*i as usize].as_ref() && !moves
                };
                let written: Box<[u32]> = self.taken(after).filter(|i| !stays(i)).collect();
                if written.is_empty() {
                    return Ok(());
                }
                let (found, by_key) = self.found(&first);
                (Shape { change: 1, written, found, by_key }, after)
            }
            _ => {
                let (found, by_key) = self.found(&first);
                (Shape { change: 2, written: Box::default(), found, by_key }, &first)
            }
        };
        let written = |i: &u32| self.written(*i, self.value(session, after, *i));
        let mut bound: Vec<Value> = shape.written.iter().map(written).collect();
        bound.extend(self.sought_values(session, &shape, &first));
        let done = self.run(session, shape, &bound, &mut Nowhere)?;
        if done.affected == 0 { Err(self.missing()) } else { Ok(()) }
    }

    /// The row is not there.
    fn missing(&self) -> SqlError {
        sql_err!(KeyNotFound, self.table.name)
    }

    /// What an image has of a column, as the column here takes it.
    fn value(&self, session: &Session, image: &Image, i: u32) -> Value {
        let value = localized(image[i as usize].clone().unwrap_or(Value::Null));
        match self.column(i).filter(|_| self.converted.get(i as usize) == Some(&true)) {
            Some(column) => conversions::converted(session, &value, &marker(&column.ty)),
            None => value,
        }
    }

    /// What a statement finds the row by.
    fn sought_values(&self, session: &Session, shape: &Shape, before: &Image) -> Vec<Value> {
        let sought = |i: &u32| match (shape.by_key, self.sought(*i, self.value(session, before, *i))) {
            (false, Value::Str(text, _)) => Value::Str(text, CollationId::BINARY),
            (_, value) => value,
        };
        shape.found.iter().map(sought).collect()
    }

    fn run(&mut self, session: &mut Session, shape: Shape, bound: &[Value], reply: &mut dyn Reply) -> Result<Done> {
        if self.statements.len() >= MOST_STATEMENTS && !self.statements.contains_key(&shape) {
            self.statements.clear();
        }
        if !self.statements.contains_key(&shape) {
            let made = self.make(session, &shape)?;
            self.statements.insert(shape.clone(), made);
        }
        let missing = self.missing();
        let Some(run) = self.statements.get_mut(&shape) else { return Err(missing) };
        prepared::execute_typed(session, &mut run.statement, &run.types, bound, reply)
    }

    /// Documents of which the log has changes: those of the image before become those of the image after, and where it
    /// has none, those that are stored. Errors 1032, 3648.
    fn change_documents(
        &mut self,
        session: &mut Session,
        before: &Image,
        after: &mut Image,
        diffs: Vec<(usize, Vec<Diff>)>,
    ) -> Result<()> {
        let absent = |i: &u32| before[*i as usize].is_none();
        // What is here no more stays out.
        let here = |i: &u32| self.column(*i).is_some();
        let unknown: Box<[u32]> = diffs.iter().map(|(i, _)| *i as u32).filter(absent).filter(here).collect();
        let mut stored = Vec::new();
        if !unknown.is_empty() {
            let (found, by_key) = self.found(before);
            let shape = Shape { change: READ, written: unknown.clone(), found, by_key };
            let bound = self.sought_values(session, &shape, before);
            let mut keep = |row: &[Value]| {
                stored = row.to_vec();
                Ok(())
            };
            self.run(session, shape, &bound, &mut Each::of_rows(&mut keep))?;
            if stored.is_empty() {
                return Err(self.missing());
            }
        }
        for (i, diffs) in diffs {
            let document = match unknown.iter().position(|u| *u as usize == i) {
                Some(at) => stored.get(at),
                None => before[i].as_ref(),
            };
            let refused = || {
                let column = self.column(i as u32).map_or("", |c| &c.name);
                sql_err!(CouldNotApplyJsonDiff, self.table.name, column)
            };
            match document {
                Some(Value::Json(text)) => {
                    let mut json = Json::decode(text, Room::FREE)?;
                    if !diff::apply(diffs, &mut json) {
                        return Err(refused());
                    }
                    after[i] = Some(Value::Json(json.to_text(Room::FREE)?));
                }
                // A column that this table lacks.
                None => {}
                Some(_) => return Err(refused()),
            }
        }
        Ok(())
    }

    fn make(&self, session: &mut Session, shape: &Shape) -> Result<RowStatement> {
        let name = |i: &u32| self.column(*i).map_or(String::new(), |c| quote_name(&c.name));
        let ty = |i: &u32| self.column(*i).map_or(SqlType::new(TypeId::Null), |c| marker(&c.ty));
        let joined =
            |list: &[u32], by: &str, f: &dyn Fn(&u32) -> String| list.iter().map(f).collect::<Vec<_>>().join(by);
        let condition = |i: &u32| match self.column(*i) {
            Some(_) if shape.by_key => format!("{} = ?", name(i)),
            // A collation would take other texts for the same.
            Some(c) if c.ty.id.is_string() => format!("CAST({} AS BINARY) <=> ?", name(i)),
            _ => format!("{} <=> ?", name(i)),
        };
        let table = format!("{}.{}", quote_name(&self.table.schema), quote_name(&self.table.name));
        let found = joined(&shape.found, " AND ", &condition);
        let limit = if shape.by_key { "" } else { " LIMIT 1" };
        let text = match shape.change {
            0 | REPLACE => {
                let markers = joined(&shape.written, ",", &|_| "?".to_owned());
                let verb = if shape.change == REPLACE { "REPLACE" } else { "INSERT" };
                format!("{verb} INTO {table} ({}) VALUES ({markers})", joined(&shape.written, ",", &name))
            }
            1 => {
                let mut set = joined(&shape.written, ",", &|i| format!("{} = ?", name(i)));
                // A column that moves by itself and is not in the image did not move at the source.
                let moves = |i: &u32| self.keeps(*i) || self.column(*i).is_some_and(|c| c.on_update_now);
                let stays = |i: &u32| !shape.written.contains(i) && moves(i);
                for i in (0..=self.table.columns.len() as u32).filter(stays) {
                    set.push_str(&format!(", {0} = {0}", name(&i)));
                }
                format!("UPDATE {table} SET {set} WHERE {found}{limit}")
            }
            READ => {
                format!("SELECT {} FROM {table} WHERE {found}{limit} FOR UPDATE", joined(&shape.written, ",", &name))
            }
            _ => format!("DELETE FROM {table} WHERE {found}{limit}"),
        };
        let written = if shape.change == READ { &[][..] } else { &shape.written };
        let types = written.iter().map(ty).chain(shape.found.iter().map(|i| {
            let binary = !shape.by_key && self.column(*i).is_some_and(|c| c.ty.id.is_string());
            if binary { SqlType::varchar(u32::from(u16::MAX), CollationId::BINARY) } else { ty(i) }
        }));
        Ok(RowStatement { types: types.collect(), statement: prepared::make_own(session, text.as_bytes())? })
    }
}

/// A log of a server that keeps VIRTUAL columns as they were when the row was written.
pub(crate) fn has_virtual(described: &FormatDescription) -> bool {
    described.version.contains("gannet")
}

/// The type of a marker for a column: what its decoded values are of.
fn marker(ty: &SqlType) -> SqlType {
    match ty.id {
        TypeId::Enum | TypeId::Set => SqlType::bigint_unsigned(),
        TypeId::Timestamp => SqlType { id: TypeId::DateTime, ..ty.clone() },
        _ => SqlType { nullable: true, ..ty.clone() },
    }
}

/// An instant as a time in UTC, which is the session's zone while rows are applied.
fn localized(value: Value) -> Value {
    match &value {
        Value::Timestamp(..) => value.as_ref().localize(&gannet_types::TimeZone::UTC).to_owned(),
        _ => value,
    }
}

/// BINLOG: events in base64, as mysqlbinlog prints them.
pub(crate) fn binlog(session: &mut Session, text: &[u8]) -> Result<()> {
    if text.is_empty() {
        return Err(sql_err!(Syntax));
    }
    let bytes = decode(text).ok_or_else(|| sql_err!(Base64DecodeError))?;
    let mut applier = session.applier.take().unwrap_or_default();
    applier.set_idempotent(session.state.vars[Live::RbrExecMode].as_str() == "IDEMPOTENT");
    let own = session.work.is_autocommit();
    if own {
        session.work.start(None, false)?;
    }
    let outcome = session.begin_statement(Reads::Snapshot).and_then(|mark| {
        let outcome = events(session, &mut applier, &bytes);
        applier.leave(session);
        session.end_statement(mark, outcome)
    });
    session.applier = Some(applier);
    super::gtids::repeat_another(session);
    if own {
        session.finish(outcome.is_ok())?;
    }
    outcome
}

fn events(session: &mut Session, applier: &mut Applier, mut bytes: &[u8]) -> Result<()> {
    while !bytes.is_empty() {
        let header = gannet_binlog::Header::decode(bytes).map_err(|_| sql_err!(Syntax))?;
        let described = header.kind == kind::FORMAT_DESCRIPTION;
        if !described && !applier.is_ready() {
            return Err(sql_err!(NoFormatDescriptionEventBeforeBinlogStatement, kind::name(header.kind)));
        }
        let event = Event::first(bytes, applier.checksum.unwrap_or_default()).map_err(|_| sql_err!(Syntax))?;
        let event = event.ok_or_else(|| sql_err!(Syntax))?;
        bytes = &bytes[event.bytes.len()..];
        match header.kind {
            kind::FORMAT_DESCRIPTION => applier.describe(event.body)?,
            kind::TRANSACTION_PAYLOAD => {
                let packed = Packed::decode(event.body).map_err(|_| sql_err!(Syntax))?;
                let mut events = packed.events();
                while let Some(event) = events.next_event().map_err(|_| sql_err!(Syntax))? {
                    // What begins and ends it is the session's.
                    if !matches!(event.header.kind, kind::QUERY | kind::XID) {
                        rows_event(session, applier, event.header.kind, event.body)?;
                    }
                }
            }
            kind => rows_event(session, applier, kind, event.body)?,
        }
    }
    Ok(())
}

/// An event of a statement's rows.
fn rows_event(session: &mut Session, applier: &mut Applier, kind: u8, body: &[u8]) -> Result<()> {
    match kind {
        kind::TABLE_MAP => {
            applier.map(TableMap::decode(body).map_err(damaged)?);
            Ok(())
        }
        kind::ROWS_QUERY => Ok(()),
        rows if kind::is_rows(rows) => applier.rows(session, kind, body),
        compressed @ kind::MARIADB_WRITE_ROWS_COMPRESSED_V1..=kind::MARIADB_DELETE_ROWS_COMPRESSED => {
            match gannet_binlog::compressed::plain(compressed, body).map_err(damaged)? {
                Some((kind, body)) => applier.rows(session, kind, &body),
                None => Ok(()),
            }
        }
        other => Err(sql_err!(OnlyFdAndRbrEventsAllowedInBinlogStatement, kind::name(other))),
    }
}

/// Base64 in pieces that end with padding or not, with white space anywhere.
fn decode(text: &[u8]) -> Option<Vec<u8>> {
    use base64ct::{Base64, Encoding};
    let clean: String = text.iter().filter(|b| !b.is_ascii_whitespace()).map(|b| char::from(*b)).collect();
    let (mut out, mut rest) = (Vec::with_capacity(clean.len() / 4 * 3), &clean[..]);
    while !rest.is_empty() {
        let body = rest.find('=').unwrap_or(rest.len());
        let end = body + rest[body..].bytes().take_while(|b| *b == b'=').count();
        out.extend(Base64::decode_vec(&rest[..end]).ok()?);
        rest = &rest[end..];
    }
    Some(out)
}
