//! Dictionary rows as bytes.
//!
//! A row begins with a format version. Integers are little-endian or LEB128 varints, texts are preceded by their
//! length. Decoding validates everything it reads (ordinals, type numbers, collations, lengths) and never panics.
//!
//! ```text
//! schema  u8 version · varint id · u16 collation
//! table   u8 version · varint id · varint schema id · u64 row tree · u8 flags · u16 collation · varint created
//!         · text comment · options (count, name, text) · columns (count) · indexes (count) · clustered + 1
//!         flags: 1 = view, whose definition follows; 2 = triggers, which follow (`program.rs`);
//!         4 = parts, which end the row (`partition/serial.rs`)
//!         · in format 3 the history: varint number · types (count) · earlier definitions (count: varint number, columns (count: varint
//!         type's place among those, varint ordinal + 1)) · defaults (count: varint ordinal, value)
//! view    text query · u8 algorithm · text user · text host · u8 invoker · u8 check option · u8 updatable · u8 named · u16 collation
//! column  text name · type · u8 flags · default · [generated text] · text comment
//! type    u8 base · u8 flags · u8 scale · varint length · u16 collation · [members]
//!         · checks (count: text name, text expression, u8 enforced) · foreign keys (count)
//! key     text name · text schema · text table · u8 on delete · u8 on update · parts (count: varint column, text column)
//! index   text name · u8 kind · u8 flags · u64 tree · text comment · parts (count: varint column, varint prefix + 1, u8 descending)
//! ```

use crate::column::{Column, ColumnDefault, ColumnFormat, ColumnStorage, EngineAttributes, Generated, MAX_COLUMNS};
use crate::constraint::{Check, Constraints, ForeignKey, ReferenceAction};
use crate::fields::{Decoded, collation, text};
use crate::history::History;
use crate::index::{Index, IndexKind, IndexPart, MAX_INDEXES, MAX_KEY_PARTS, Using};
use crate::method::Method;
use crate::partition::{decode_parts, encode_parts};
use crate::program::{decode_triggers, encode_triggers};
use crate::table::{RowSource, Schema, SchemaId, Table, TableId, TableOptions, TableParts, assemble};
use crate::values::{decode_value, encode_value};
use crate::view::{CheckOption, View, ViewAlgorithm};
use gannet_base::{Reader, TreeId, Writer};
use gannet_types::members::Members;
use gannet_types::row::{MAX_DEFINITION, OlderDefinition};
use gannet_types::{SqlType, TypeId, Value};
use std::sync::Arc;

const VERSION: u8 = 2;
/// The code of a full-text index among kinds of index: its definition follows its parts.
const FULL_TEXT: u8 = 3;
/// A plain and a unique multi-valued index: the type of its elements follows its parts.
const ARRAY: u8 = 4;
const UNIQUE_ARRAY: u8 = 5;
/// Bytes of a full-text index's definition, at most.
const MAX_TEXT_DEFINITION: usize = 1 << 24;
/// Format of a table that was changed without writing its rows anew.
const CHANGED: u8 = 3;
/// Format without constraints.
const BARE: u8 = 1;
const MAX_NAME: usize = 1024;
const MAX_TEXT: usize = 1 << 20;
/// Bytes of a view's query; a row of the dictionary may be as long as a statement.
const MAX_VIEW: usize = 64 << 20;
/// Bytes of a document for an engine, which may be as long as a statement.
const MAX_ATTRIBUTE: usize = 64 << 20;
const MAX_MEMBERS: usize = 65535;
const MAX_CONSTRAINTS: usize = 4096;
/// Types of all columns that a table ever had.
const MAX_TYPES: usize = 1 << 20;

fn version(r: &mut Reader<'_>) -> Decoded<u8> {
    match r.u8()? {
        n @ (VERSION | BARE | CHANGED) => Ok(n),
        _ => Err(r.invalid("version of a dictionary row")),
    }
}

fn count(r: &mut Reader<'_>, max: usize, what: &'static str) -> Decoded<usize> {
    match usize::try_from(r.varint()?) {
        Ok(n) if n <= max => Ok(n),
        _ => Err(r.invalid(what)),
    }
}

fn number(r: &mut Reader<'_>, what: &'static str) -> Decoded<u32> {
    u32::try_from(r.varint()?).map_err(|_| r.invalid(what))
}

/// Encodes a schema's row (its name is the key).
pub fn encode_schema(schema: &Schema, out: &mut Vec<u8>) {
    Writer::new(out).u8(VERSION).varint(u64::from(schema.id.0)).u16(schema.collation.0);
    // A row of an older build ends here.
    if schema.read_only {
        out.push(1);
    }
}

/// Decodes a schema's row.
pub fn decode_schema(name: &str, bytes: &[u8], system: bool) -> Decoded<Schema> {
    let mut r = Reader::new(bytes);
    version(&mut r)?;
    let id = SchemaId(number(&mut r, "schema id")?);
    let collation = collation(&mut r)?;
    let read_only = match r.remaining() {
        0 => false,
        _ => match r.u8()? {
            1 => true,
            _ => return Err(r.invalid("flags of a schema")),
        },
    };
    r.finish()?;
    Ok(Schema { id, name: name.into(), collation, system, read_only })
}

/// Encodes a table's row. Schema name and table name are the key.
pub fn encode_table(table: &Table, out: &mut Vec<u8>) {
    let mut w = Writer::new(out);
    let changed = table.history.number > 0;
    let flags = u8::from(table.view().is_some())
        | u8::from(!table.triggers.is_empty()) << 1
        | u8::from(table.partitions.is_some()) << 2;
    w.u8(if changed { CHANGED } else { VERSION })
        .varint(table.id.0)
        .varint(u64::from(table.schema_id.0))
        .u64(table.row_tree.0)
        .u8(flags);
    w.u16(table.options.collation.0).varint(table.created).prefixed(table.options.comment.as_bytes());
    w.varint(table.options.create_options.len() as u64);
    for (name, value) in &table.options.create_options {
        w.prefixed(name.as_bytes()).prefixed(value.as_bytes());
    }
    w.varint(table.columns.len() as u64);
    for column in &table.columns {
        encode_column(column, &mut w);
    }
    w.varint(table.indexes.len() as u64);
    for index in &table.indexes {
        encode_index(index, &mut w);
    }
    w.varint(table.clustered.map_or(0, |i| i as u64 + 1));
    encode_constraints(&table.constraints, &mut w);
    if let Some(view) = table.view() {
        encode_view(view, &mut w);
    }
    if !table.triggers.is_empty() {
        encode_triggers(&table.triggers, &mut w);
    }
    if changed {
        encode_history(&table.history, &mut w);
    }
    if let Some(parts) = &table.partitions {
        encode_parts(parts.shared(), &mut w);
    }
}

fn encode_history(history: &History, w: &mut Writer<'_>) {
    let mut types: Vec<&SqlType> = Vec::new();
    let mut places: Vec<u64> = Vec::new();
    for (ty, _) in history.older.iter().flat_map(|o| &o.columns) {
        // From the end: what the definition before had in this place.
        let place = types.iter().rposition(|t| **t == *ty).unwrap_or_else(|| {
            types.push(ty);
            types.len() - 1
        });
        places.push(place as u64);
    }
    w.varint(u64::from(history.number)).varint(types.len() as u64);
    for ty in types {
        encode_type(ty, w);
    }
    let mut places = places.into_iter();
    w.varint(history.older.len() as u64);
    for older in &history.older {
        w.varint(u64::from(older.number)).varint(older.columns.len() as u64);
        for ((_, now), place) in older.columns.iter().zip(&mut places) {
            w.varint(place).varint(now.map_or(0, |ordinal| ordinal as u64 + 1));
        }
    }
    w.varint(history.defaults.len() as u64);
    for (ordinal, value) in &history.defaults {
        encode_value(value, w.varint(u64::from(*ordinal)));
    }
}

fn decode_history(r: &mut Reader<'_>, columns: &[Column]) -> Decoded<History> {
    let newest = number(r, "number of a definition")?;
    let n = count(r, MAX_TYPES, "number of types")?;
    let types = (0..n).map(|_| decode_type(r)).collect::<Decoded<Vec<SqlType>>>()?;
    let n = count(r, MAX_DEFINITION as usize, "number of definitions")?;
    let mut older: Vec<OlderDefinition> = Vec::new();
    for _ in 0..n {
        let number = number(r, "number of a definition")?;
        if number >= newest || older.last().is_some_and(|o| o.number >= number) {
            return Err(r.invalid("order of definitions"));
        }
        let width = count(r, MAX_COLUMNS, "number of columns")?;
        let column = |r: &mut Reader<'_>| {
            let ty = types.get(r.varint()? as usize).cloned().ok_or(r.invalid("type"))?;
            let now = (r.varint()? as usize).checked_sub(1);
            if now.is_some_and(|n| n >= columns.len()) { Err(r.invalid("ordinal")) } else { Ok((ty, now)) }
        };
        older.push(OlderDefinition { number, columns: (0..width).map(|_| column(r)).collect::<Decoded<_>>()? });
    }
    let n = count(r, columns.len(), "number of defaults")?;
    let mut defaults: Vec<(u32, Value)> = Vec::new();
    for _ in 0..n {
        let ordinal = number(r, "ordinal")?;
        let after = defaults.last().is_none_or(|d| d.0 < ordinal);
        let column = columns.get(ordinal as usize).filter(|_| after).ok_or(r.invalid("ordinal"))?;
        defaults.push((ordinal, decode_value(r, &column.ty)?));
    }
    Ok(History { number: newest, older, defaults })
}

fn encode_view(view: &View, w: &mut Writer<'_>) {
    let algorithm = match view.algorithm {
        ViewAlgorithm::Undefined => 0,
        ViewAlgorithm::Merge => 1,
        ViewAlgorithm::Temptable => 2,
    };
    let check = match view.check {
        None => 0,
        Some(CheckOption::Local) => 1,
        Some(CheckOption::Cascaded) => 2,
    };
    w.prefixed(view.query.as_bytes()).u8(algorithm);
    w.prefixed(view.definer.0.as_bytes()).prefixed(view.definer.1.as_bytes());
    w.u8(u8::from(view.invoker)).u8(check).u8(u8::from(view.updatable)).u8(u8::from(view.named)).u16(view.collation.0);
}

fn decode_view(r: &mut Reader<'_>) -> Decoded<View> {
    let query = text(r, MAX_VIEW)?;
    let algorithm = match r.u8()? {
        0 => ViewAlgorithm::Undefined,
        1 => ViewAlgorithm::Merge,
        2 => ViewAlgorithm::Temptable,
        _ => return Err(r.invalid("algorithm of a view")),
    };
    let definer = (text(r, MAX_NAME)?, text(r, MAX_NAME)?);
    let invoker = r.u8()? != 0;
    let check = match r.u8()? {
        0 => None,
        1 => Some(CheckOption::Local),
        2 => Some(CheckOption::Cascaded),
        _ => return Err(r.invalid("check option of a view")),
    };
    let updatable = r.u8()? != 0;
    let named = r.u8()? != 0;
    Ok(View { query, algorithm, definer, invoker, check, named, updatable, collation: collation(r)? })
}

fn encode_constraints(constraints: &Constraints, w: &mut Writer<'_>) {
    w.varint(constraints.checks.len() as u64);
    for check in &constraints.checks {
        w.prefixed(check.name.as_bytes()).prefixed(check.expression.as_bytes()).u8(u8::from(check.enforced));
    }
    w.varint(constraints.foreign_keys.len() as u64);
    for key in &constraints.foreign_keys {
        w.prefixed(key.name.as_bytes()).prefixed(key.parent_schema.as_bytes()).prefixed(key.parent.as_bytes());
        w.u8(action_code(key.on_delete)).u8(action_code(key.on_update)).varint(key.columns.len() as u64);
        for (column, parent) in key.columns.iter().zip(&key.parent_columns) {
            w.varint(u64::from(*column)).prefixed(parent.as_bytes());
        }
    }
}

const ACTIONS: [ReferenceAction; 5] = [
    ReferenceAction::NoAction,
    ReferenceAction::Restrict,
    ReferenceAction::Cascade,
    ReferenceAction::SetNull,
    ReferenceAction::SetDefault,
];

fn action_code(action: ReferenceAction) -> u8 {
    ACTIONS.iter().position(|a| *a == action).unwrap_or(0) as u8
}

fn decode_constraints(r: &mut Reader<'_>, columns: usize) -> Decoded<Constraints> {
    let n = count(r, MAX_CONSTRAINTS, "number of checks")?;
    let mut checks = Vec::with_capacity(n);
    for _ in 0..n {
        let name = (&*text(r, MAX_NAME)?).into();
        checks.push(Check { name, expression: text(r, MAX_TEXT)?, enforced: r.u8()? != 0 });
    }
    let n = count(r, MAX_CONSTRAINTS, "number of foreign keys")?;
    let mut foreign_keys = Vec::with_capacity(n);
    for _ in 0..n {
        let names = (text(r, MAX_NAME)?, text(r, MAX_NAME)?, text(r, MAX_NAME)?);
        let mut action = || match r.u8() {
            Ok(code) => ACTIONS.get(usize::from(code)).copied().ok_or(r.invalid("action of a foreign key")),
            Err(e) => Err(e),
        };
        let (on_delete, on_update) = (action()?, action()?);
        let n = count(r, MAX_KEY_PARTS, "number of columns of a foreign key")?;
        let (mut own, mut parent_columns) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for _ in 0..n {
            let column = number(r, "column of a foreign key")?;
            if column as usize >= columns {
                return Err(r.invalid("column of a foreign key"));
            }
            own.push(column);
            parent_columns.push((&*text(r, MAX_NAME)?).into());
        }
        foreign_keys.push(ForeignKey {
            name: (&*names.0).into(),
            columns: own.into(),
            parent_schema: (&*names.1).into(),
            parent: (&*names.2).into(),
            parent_columns: parent_columns.into(),
            on_delete,
            on_update,
        });
    }
    Ok(Constraints { foreign_keys: foreign_keys.into(), checks: checks.into() })
}

fn encode_column(column: &Column, w: &mut Writer<'_>) {
    w.prefixed(column.name.as_bytes());
    encode_type(&column.ty, w);
    let flags = u8::from(column.on_update_now)
        | u8::from(column.auto_increment) << 1
        | u8::from(column.invisible) << 2
        | u8::from(column.explicit_collation) << 3
        | u8::from(column.generated.is_some()) << 4
        | u8::from(column.generated.as_ref().is_some_and(|g| g.stored)) << 5
        | u8::from(column.hidden) << 6
        | u8::from(!column.attributes.is_empty()) << 7;
    w.u8(flags);
    let hints = (column.format as u8) << 3 | (column.storage as u8) << 5;
    match &column.default {
        ColumnDefault::None => {
            w.u8(hints);
        }
        ColumnDefault::Null => {
            w.u8(1 | hints);
        }
        ColumnDefault::Dropped => {
            w.u8(5 | hints);
        }
        ColumnDefault::Literal(value) => encode_value(value, w.u8(2 | hints)),
        ColumnDefault::CurrentTimestamp => {
            w.u8(3 | hints);
        }
        ColumnDefault::Expression(text) => {
            w.u8(4 | hints).prefixed(text.as_bytes());
        }
    }
    if let Some(generated) = &column.generated {
        w.prefixed(generated.expression.as_bytes());
    }
    w.prefixed(column.comment.as_bytes());
    encode_attributes(&column.attributes, w);
}

/// Nothing where there are none, so that rows of older builds are read: a flag says whether they follow.
fn encode_attributes(attributes: &EngineAttributes, w: &mut Writer<'_>) {
    if !attributes.is_empty() {
        w.prefixed(attributes.engine.as_bytes()).prefixed(attributes.secondary.as_bytes());
    }
}

fn decode_attributes(r: &mut Reader<'_>, follow: bool) -> Decoded<EngineAttributes> {
    if !follow {
        return Ok(EngineAttributes::default());
    }
    let attributes = EngineAttributes { engine: text(r, MAX_ATTRIBUTE)?, secondary: text(r, MAX_ATTRIBUTE)? };
    if attributes.is_empty() { Err(r.invalid("attributes for engines")) } else { Ok(attributes) }
}

fn encode_type(ty: &SqlType, w: &mut Writer<'_>) {
    let flags = u8::from(ty.unsigned)
        | u8::from(ty.zerofill) << 1
        | u8::from(ty.nullable) << 2
        | u8::from(ty.members.is_some()) << 3;
    w.u8(ty.id as u8).u8(flags).u8(ty.scale).varint(u64::from(ty.length)).u16(ty.collation.0);
    if let Some(members) = &ty.members {
        w.varint(members.names.len() as u64);
        for name in &members.names {
            w.prefixed(name.as_bytes());
        }
    }
}

fn encode_index(index: &Index, w: &mut Writer<'_>) {
    let kind = match index.kind {
        IndexKind::Primary => 0,
        IndexKind::Unique if index.element().is_some() => UNIQUE_ARRAY,
        IndexKind::Unique => 1,
        IndexKind::Plain => match index.method {
            Method::Ordered => 2,
            Method::FullText(_) => FULL_TEXT,
            Method::Array(_) => ARRAY,
        },
    };
    let using = match index.using {
        None => 0,
        Some(Using::Btree) => 1,
        Some(Using::Hash) => 2,
    };
    w.prefixed(index.name.as_bytes()).u8(kind).u8(u8::from(index.invisible)
        | using << 1
        | u8::from(index.generated) << 3
        | u8::from(!index.attributes.is_empty()) << 4
        | u8::from(index.block_size > 0) << 5);
    w.u64(index.tree.0);
    w.prefixed(index.comment.as_bytes()).varint(index.parts.len() as u64);
    for part in &index.parts {
        w.varint(u64::from(part.column)).varint(part.prefix.map_or(0, |n| u64::from(n) + 1));
        w.u8(u8::from(part.descending));
    }
    if let Some(text) = index.text() {
        let mut definition = Vec::new();
        text.definition.encode(&mut definition);
        w.prefixed(&definition);
    }
    if let Some(element) = index.element() {
        encode_type(element, w);
    }
    encode_attributes(&index.attributes, w);
    if index.block_size > 0 {
        w.varint(index.block_size);
    }
}

/// The longest BINARY, and the largest display width.
const MAX_FILLED: u32 = 255;

fn decode_type(r: &mut Reader<'_>) -> Decoded<SqlType> {
    let id = TypeId::from_u8(r.u8()?).ok_or(r.invalid("type"))?;
    let flags = r.u8()?;
    let scale = r.u8()?;
    let length = number(r, "length of a type")?;
    // A default is filled up to these.
    let is_filled = flags & 2 != 0 || id == TypeId::Binary;
    if is_filled && length > MAX_FILLED {
        return Err(r.invalid("length of a type"));
    }
    let collation = collation(r)?;
    let mut members = None;
    if flags & 8 != 0 {
        let n = count(r, MAX_MEMBERS, "number of members")?;
        let names = (0..n).map(|_| text(r, MAX_NAME)).collect::<Decoded<_>>()?;
        members = Some(Arc::new(Members::new(names, collation)));
    }
    let listed = matches!(id, TypeId::Enum | TypeId::Set);
    if flags & !15 != 0 || listed != members.is_some() || scale > SqlType::NOT_FIXED {
        return Err(r.invalid("type attributes"));
    }
    let (unsigned, zerofill, nullable) = (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0);
    Ok(SqlType { id, unsigned, zerofill, nullable, scale, own_digits: false, length, collation, members })
}

fn decode_column(r: &mut Reader<'_>) -> Decoded<Column> {
    let name = text(r, MAX_NAME)?;
    let ty = decode_type(r)?;
    let flags = r.u8()?;
    let kind = r.u8()?;
    let default = match kind & 7 {
        0 => ColumnDefault::None,
        1 => ColumnDefault::Null,
        2 => ColumnDefault::Literal(decode_value(r, &ty)?),
        3 => ColumnDefault::CurrentTimestamp,
        4 => ColumnDefault::Expression(text(r, MAX_TEXT)?),
        5 => ColumnDefault::Dropped,
        _ => return Err(r.invalid("default")),
    };
    let format = match kind >> 3 & 3 {
        0 => ColumnFormat::Default,
        1 => ColumnFormat::Fixed,
        2 => ColumnFormat::Dynamic,
        _ => return Err(r.invalid("column format")),
    };
    let storage = match kind >> 5 {
        0 => ColumnStorage::Default,
        1 => ColumnStorage::Disk,
        2 => ColumnStorage::Memory,
        _ => return Err(r.invalid("column storage")),
    };
    let mut generated = None;
    if flags & 16 != 0 {
        generated = Some(Generated { expression: text(r, MAX_TEXT)?, stored: flags & 32 != 0 });
    }
    Ok(Column {
        name: (&*name).into(),
        nullable: ty.nullable,
        ty,
        default,
        on_update_now: flags & 1 != 0,
        auto_increment: flags & 2 != 0,
        generated,
        comment: text(r, MAX_TEXT)?,
        attributes: decode_attributes(r, flags & 128 != 0)?,
        format,
        storage,
        invisible: flags & 4 != 0,
        explicit_collation: flags & 8 != 0,
        hidden: flags & 64 != 0,
    })
}

fn decode_index(r: &mut Reader<'_>, columns: usize) -> Decoded<Index> {
    let name = text(r, MAX_NAME)?;
    let code = r.u8()?;
    let kind = match code {
        0 => IndexKind::Primary,
        1 | UNIQUE_ARRAY => IndexKind::Unique,
        2 | FULL_TEXT | ARRAY => IndexKind::Plain,
        _ => return Err(r.invalid("index kind")),
    };
    let flags = r.u8()?;
    let using = match flags >> 1 & 3 {
        0 => None,
        1 => Some(Using::Btree),
        2 => Some(Using::Hash),
        _ => return Err(r.invalid("index flags")),
    };
    let tree = TreeId(r.u64()?);
    let comment = text(r, MAX_TEXT)?;
    let n = count(r, MAX_KEY_PARTS, "number of key parts")?;
    let mut parts = Vec::with_capacity(n);
    for _ in 0..n {
        let column = number(r, "column of a key part")?;
        let prefix = number(r, "prefix of a key part")?.checked_sub(1);
        let descending = r.u8()? != 0;
        if column as usize >= columns {
            return Err(r.invalid("column of a key part"));
        }
        parts.push(IndexPart { column, prefix, descending });
    }
    if parts.is_empty() {
        return Err(r.invalid("number of key parts"));
    }
    let method = match code {
        FULL_TEXT => Method::full_text(gannet_text::Definition::decode(r.prefixed(MAX_TEXT_DEFINITION)?)?),
        ARRAY | UNIQUE_ARRAY => Method::Array(decode_type(r)?),
        _ => Method::Ordered,
    };
    let attributes = decode_attributes(r, flags & 16 != 0)?;
    let block_size = if flags & 32 != 0 { r.varint()? } else { 0 };
    let (invisible, generated) = (flags & 1 != 0, flags & 8 != 0);
    let (name, parts) = ((&*name).into(), parts.into());
    Ok(Index { name, kind, method, parts, tree, comment, attributes, block_size, invisible, using, generated })
}

/// Decodes a table's row.
pub fn decode_table(schema: &Arc<str>, name: &str, bytes: &[u8]) -> Decoded<Table> {
    let mut r = Reader::new(bytes);
    let version = version(&mut r)?;
    let id = TableId(r.varint()?);
    let schema_id = SchemaId(number(&mut r, "schema id")?);
    let row_tree = TreeId(r.u64()?);
    let (is_view, has_triggers, has_parts) = match r.u8()? {
        flags @ 0..=7 => (flags & 1 != 0, flags & 2 != 0, flags & 4 != 0),
        _ => return Err(r.invalid("table flags")),
    };
    let collation = collation(&mut r)?;
    let created = r.varint()?;
    let comment = text(&mut r, MAX_TEXT)?;
    let n = count(&mut r, 256, "number of options")?;
    let create_options =
        (0..n).map(|_| Ok((text(&mut r, MAX_NAME)?, text(&mut r, MAX_TEXT)?))).collect::<Decoded<_>>()?;
    let n = count(&mut r, MAX_COLUMNS, "number of columns")?;
    let columns: Vec<Column> = (0..n).map(|_| decode_column(&mut r)).collect::<Decoded<_>>()?;
    let n = count(&mut r, MAX_INDEXES, "number of indexes")?;
    let indexes: Vec<Index> = (0..n).map(|_| decode_index(&mut r, columns.len())).collect::<Decoded<_>>()?;
    let clustered = (r.varint()? as usize).checked_sub(1);
    if columns.is_empty() || clustered.is_some_and(|c| c >= indexes.len()) {
        return Err(r.invalid("clustered index"));
    }
    let constraints = if version == BARE { Constraints::default() } else { decode_constraints(&mut r, columns.len())? };
    let source = if is_view { RowSource::View(Arc::new(decode_view(&mut r)?)) } else { RowSource::Engine };
    let triggers = if has_triggers { decode_triggers(&mut r)? } else { Box::default() };
    let history = if version == CHANGED { decode_history(&mut r, &columns)? } else { History::default() };
    let partitioned = if has_parts { Some(Arc::new(decode_parts(&mut r, indexes.len())?)) } else { None };
    r.finish()?;
    let options = TableOptions { collation, comment, create_options };
    let history = Arc::new(history);
    let temporary = false;
    let parts = TableParts {
        id,
        schema_id,
        row_tree,
        history,
        created,
        options,
        source,
        constraints,
        temporary,
        triggers,
        partitioned,
    };
    Ok(assemble(parts, schema.clone(), name.into(), columns, indexes, clustered, Arc::default()))
}
