//! From a definition as a statement gives it to a [`Table`], with MySQL's checks and naming rules.

use crate::column::{Column, ColumnDefault, EngineAttributes, MAX_COLUMNS};
use crate::constraint::{Check, Constraints, ForeignKey, ReferenceAction};
use crate::index::{Index, IndexKind, IndexPart, MAX_INDEXES, MAX_KEY_PARTS, Using};
use crate::method::Method;
use crate::names::{check_column_name, check_index_name, eq_name};
use crate::partition::Partitioning;
use crate::table::{Table, TableOptions};
use gannet_base::TreeId;
use gannet_types::{ErrorCode, Result, SqlError, SqlType, TypeId, Value};
use std::sync::Arc;

/// Bytes of the longest key, counted as MySQL does (characters times the longest character).
pub const MAX_KEY_BYTES: u64 = 3072;
/// Bytes of a part of a key in a table with one of InnoDB's older row formats.
const OLD_PART_BYTES: u64 = 767;
/// Bytes of the longest row, large objects apart.
pub const MAX_ROW_BYTES: u64 = 65535;
/// Characters of the longest comment of a column.
pub const MAX_COLUMN_COMMENT: usize = 1024;
/// Characters of the longest comment of a table.
pub const MAX_TABLE_COMMENT: usize = 2048;
/// Characters of the longest comment of an index.
pub const MAX_INDEX_COMMENT: usize = 1024;

/// A table as CREATE TABLE describes it.
#[derive(Clone, Debug)]
pub struct TableDefinition {
    /// Name.
    pub name: Arc<str>,
    /// Columns. `ty` is complete (charset resolved, lengths checked against their type); `nullable` as written, a
    /// primary key makes its columns NOT NULL.
    pub columns: Vec<ColumnDefinition>,
    /// Indexes in the order written, those of column attributes included.
    pub indexes: Vec<IndexDefinition>,
    /// Options.
    pub options: TableOptions,
    /// AUTO_INCREMENT = n.
    pub auto_increment: Option<u64>,
    /// Checks; their names are settled.
    pub checks: Vec<Check>,
    /// Foreign keys; their names are settled.
    pub foreign_keys: Vec<ForeignKeyDefinition>,
    /// How its rows are spread over parts.
    pub partitioning: Option<Partitioning>,
}

/// A foreign key of a definition. The parent's side is the caller's to check.
#[derive(Clone, Debug)]
pub struct ForeignKeyDefinition {
    /// Name of the constraint.
    pub name: Arc<str>,
    /// Name for the index which is made when no other serves.
    pub index_name: Option<Box<str>>,
    /// The statement brings it, and an index with it, which goes where another one serves.
    pub fresh: bool,
    /// Referring columns.
    pub columns: Vec<Box<str>>,
    /// Schema of the table referred to.
    pub parent_schema: Arc<str>,
    /// The table referred to.
    pub parent: Arc<str>,
    /// Columns referred to.
    pub parent_columns: Vec<Arc<str>>,
    /// ON DELETE
    pub on_delete: ReferenceAction,
    /// ON UPDATE
    pub on_update: ReferenceAction,
}

impl TableDefinition {
    /// The definition that a table came from.
    pub fn of(table: &Table) -> TableDefinition {
        let name = |column: u32| -> Box<str> { (&*table.columns[column as usize].name).into() };
        let columns =
            table.columns.iter().map(|c| ColumnDefinition { column: c.clone(), explicit_null: false }).collect();
        let index = |index: &Index| IndexDefinition {
            name: (index.kind != IndexKind::Primary).then(|| (&*index.name).into()),
            kind: index.kind,
            method: index.method.clone(),
            parts: index.parts.iter().map(|p| (name(p.column), p.prefix, p.descending)).collect(),
            comment: index.comment.clone(),
            attributes: index.attributes.clone(),
            block_size: index.block_size,
            invisible: index.invisible,
            using: index.using,
            generated: index.generated,
        };
        let foreign_key = |key: &ForeignKey| ForeignKeyDefinition {
            name: key.name.clone(),
            index_name: None,
            fresh: false,
            columns: key.columns.iter().map(|c| name(*c)).collect(),
            parent_schema: key.parent_schema.clone(),
            parent: key.parent.clone(),
            parent_columns: key.parent_columns.to_vec(),
            on_delete: key.on_delete,
            on_update: key.on_update,
        };
        TableDefinition {
            name: table.name.clone(),
            columns,
            indexes: table.indexes.iter().map(index).collect(),
            options: table.options.clone(),
            auto_increment: None,
            checks: table.constraints.checks.to_vec(),
            foreign_keys: table.constraints.foreign_keys.iter().map(foreign_key).collect(),
            partitioning: table.partitions.as_ref().map(|p| p.definition().clone()),
        }
    }
}

/// A column of a definition.
#[derive(Clone, Debug)]
pub struct ColumnDefinition {
    /// The column; `nullable` is true unless NOT NULL was written.
    pub column: Column,
    /// NULL was written.
    pub explicit_null: bool,
}

/// An index of a definition.
#[derive(Clone, Debug)]
pub struct IndexDefinition {
    /// Name; made up when absent.
    pub name: Option<Box<str>>,
    /// Kind.
    pub kind: IndexKind,
    /// How it finds rows; a full-text index takes over the collation of its columns.
    pub method: Method,
    /// Column name, prefix length, descending.
    pub parts: Vec<(Box<str>, Option<u32>, bool)>,
    /// COMMENT
    pub comment: Box<str>,
    /// ENGINE_ATTRIBUTE and SECONDARY_ENGINE_ATTRIBUTE
    pub attributes: EngineAttributes,
    /// KEY_BLOCK_SIZE; 0: the table's.
    pub block_size: u64,
    /// INVISIBLE
    pub invisible: bool,
    /// USING
    pub using: Option<Using>,
    /// Made for a foreign key: goes when another index serves.
    pub generated: bool,
}

impl IndexDefinition {
    /// Over one column, and nothing more is said of it.
    pub fn of_column(kind: IndexKind, column: &str) -> IndexDefinition {
        IndexDefinition {
            name: None,
            kind,
            method: Method::Ordered,
            parts: vec![(column.into(), None, false)],
            comment: "".into(),
            attributes: EngineAttributes::default(),
            block_size: 0,
            invisible: false,
            using: None,
            generated: false,
        }
    }
}

fn error(code: ErrorCode, args: &[&dyn std::fmt::Display]) -> SqlError {
    SqlError::new(code, args)
}

/// The checked columns and indexes of a definition; what is missing to a table are its numbers and trees.
#[derive(Debug)]
pub struct Defined {
    /// Columns.
    pub columns: Vec<Column>,
    /// Indexes in MySQL's order, trees unset.
    pub indexes: Vec<Index>,
    /// See [`Table::clustered`].
    pub clustered: Option<usize>,
    /// Checks and foreign keys.
    pub constraints: Constraints,
}

/// Checks a definition. Errors as MySQL gives them.
pub fn define(definition: &TableDefinition) -> Result<Defined> {
    let mut columns = define_columns(definition)?;
    let mut indexes = Vec::new();
    for index in &needed_indexes(definition) {
        if index.kind == IndexKind::Primary && indexes.iter().any(|i: &Index| i.kind == IndexKind::Primary) {
            return Err(error(ErrorCode::MultiplePriKey, &[]));
        }
        let defined = define_index(&columns, &indexes, index, &definition.options)?;
        if index.kind == IndexKind::Primary {
            for part in &defined.parts {
                let source = &definition.columns[part.column as usize];
                if columns[part.column as usize].generated.as_ref().is_some_and(|g| !g.stored) {
                    let what = "Defining a virtual generated column as primary key";
                    return Err(error(ErrorCode::UnsupportedActionOnGeneratedColumn, &[&what]));
                }
                if source.explicit_null {
                    return Err(error(ErrorCode::PrimaryCantHaveNull, &[]));
                }
                let column = &mut columns[part.column as usize];
                column.nullable = false;
                column.ty.nullable = false;
                if matches!(column.default, ColumnDefault::Null | ColumnDefault::Dropped) {
                    column.default = ColumnDefault::None;
                }
            }
        }
        indexes.push(defined);
    }
    check_document_id(&columns, &indexes)?;
    let constraints = define_constraints(definition, &columns, &mut indexes)?;
    if indexes.len() > MAX_INDEXES {
        return Err(error(ErrorCode::TooManyKeys, &[&MAX_INDEXES]));
    }
    check_auto_increment(&columns, &indexes)?;
    sort_indexes(&columns, &mut indexes);
    let clustered = choose_clustered(&columns, &indexes);
    // A unique key in the place of a primary key, too.
    if clustered.is_some_and(|c| indexes[c].invisible) {
        return Err(error(ErrorCode::PkIndexCantBeInvisible, &[]));
    }
    if !columns.iter().any(|c| !c.invisible && !c.hidden) {
        return Err(error(ErrorCode::TableMustHaveAVisibleColumn, &[]));
    }
    Ok(Defined { columns, indexes, clustered, constraints })
}

/// A column that InnoDB would number the documents of full-text indexes with has its name and type, and the index
/// over it is unique. Errors 1166, 1798.
fn check_document_id(columns: &[Column], indexes: &[Index]) -> Result<()> {
    const NAME: &str = "FTS_DOC_ID";
    const INDEX: &str = "FTS_DOC_ID_INDEX";
    if let Some(column) = columns.iter().find(|c| eq_name(&c.name, NAME)) {
        let typed = column.ty.id == TypeId::BigInt && column.ty.unsigned && !column.nullable;
        if &*column.name != NAME || !typed {
            return Err(error(ErrorCode::WrongColumnName, &[&column.name]));
        }
    }
    if !indexes.iter().any(|i| i.text().is_some()) {
        return Ok(());
    }
    let Some(index) = indexes.iter().find(|i| eq_name(&i.name, INDEX)) else { return Ok(()) };
    let over =
        |part: &IndexPart| &*columns[part.column as usize].name == NAME && part.prefix.is_none() && !part.descending;
    if &*index.name == INDEX && index.unique() && matches!(&index.parts[..], [part] if over(part)) {
        return Ok(());
    }
    Err(error(ErrorCode::InnodbFtWrongDocidIndex, &[&index.name]))
}

/// The index has the columns as its first parts, in their order, ascending and whole: it serves a foreign key over
/// them.
pub fn serves(index: &Index, columns: &[u32]) -> bool {
    let whole = |(p, c): (&IndexPart, &u32)| p.column == *c && p.prefix.is_none() && !p.descending;
    index.is_ordered() && index.parts.len() >= columns.len() && index.parts.iter().zip(columns).all(whole)
}

/// The index that a foreign key brings.
fn index_of(key: &ForeignKeyDefinition) -> IndexDefinition {
    IndexDefinition {
        name: key.index_name.clone(),
        kind: IndexKind::Plain,
        method: Method::Ordered,
        parts: key.columns.iter().map(|c| (c.clone(), None, false)).collect(),
        comment: "".into(),
        attributes: EngineAttributes::default(),
        block_size: 0,
        invisible: false,
        using: None,
        generated: true,
    }
}

/// The indexes of a definition and of its new foreign keys. One that was made for a foreign key gives way, and leaves
/// its name, as soon as another one serves; of two that were made over the same columns the later stays.
fn needed_indexes(definition: &TableDefinition) -> Vec<IndexDefinition> {
    let brought = definition.foreign_keys.iter().filter(|k| k.fresh).map(index_of);
    let all: Vec<IndexDefinition> = definition.indexes.iter().cloned().chain(brought).collect();
    let gives_way = |at: usize, own: &IndexDefinition| {
        own.generated
            && all.iter().enumerate().any(|(i, other)| {
                let whole =
                    other.parts.iter().zip(&own.parts).all(|(o, p)| eq_name(&o.0, &p.0) && o.1.is_none() && !o.2);
                let lasts = !other.generated || (other.parts.len(), i) > (own.parts.len(), at);
                i != at && other.method == Method::Ordered && other.parts.len() >= own.parts.len() && whole && lasts
            })
    };
    all.iter().enumerate().filter(|(at, own)| !gives_way(*at, own)).map(|(_, own)| own.clone()).collect()
}

/// Foreign keys have the index they need: one whose index was dropped gets a new one.
fn define_constraints(
    definition: &TableDefinition,
    columns: &[Column],
    indexes: &mut Vec<Index>,
) -> Result<Constraints> {
    let mut foreign_keys = Vec::with_capacity(definition.foreign_keys.len());
    for given in &definition.foreign_keys {
        let mut own: Vec<u32> = Vec::with_capacity(given.columns.len());
        for name in &given.columns {
            let Some(column) = columns.iter().position(|c| eq_name(&c.name, name) && !c.hidden) else {
                return Err(error(ErrorCode::KeyColumnDoesNotExits, &[name]));
            };
            if own.contains(&(column as u32)) {
                return Err(error(ErrorCode::DupFieldname, &[name]));
            }
            own.push(column as u32);
        }
        if !indexes.iter().any(|i| serves(i, &own)) {
            indexes.push(define_index(columns, indexes, &index_of(given), &definition.options)?);
        }
        foreign_keys.push(ForeignKey {
            name: given.name.clone(),
            columns: own.into(),
            parent_schema: given.parent_schema.clone(),
            parent: given.parent.clone(),
            parent_columns: given.parent_columns.clone().into(),
            on_delete: given.on_delete,
            on_update: given.on_update,
        });
    }
    let folded = |name: &str| crate::names::fold_name(name).into_owned();
    foreign_keys.sort_by_cached_key(|k| folded(&k.name));
    let mut checks = definition.checks.clone();
    checks.sort_by_cached_key(|c| folded(&c.name));
    Ok(Constraints { foreign_keys: foreign_keys.into(), checks: checks.into() })
}

fn define_columns(definition: &TableDefinition) -> Result<Vec<Column>> {
    if definition.columns.is_empty() {
        return Err(error(ErrorCode::TableMustHaveColumns, &[]));
    }
    if definition.columns.len() > MAX_COLUMNS {
        return Err(error(ErrorCode::TooManyFields, &[]));
    }
    if definition.options.comment.chars().count() > MAX_TABLE_COMMENT {
        return Err(error(ErrorCode::TooLongTableComment, &[&definition.name, &MAX_TABLE_COMMENT]));
    }
    let mut names = std::collections::HashSet::new();
    let mut columns = Vec::with_capacity(definition.columns.len());
    let mut row_bytes = 0;
    for given in &definition.columns {
        let column = define_column(given)?;
        if !names.insert(crate::names::fold_name(&column.name).into_owned()) {
            return Err(error(ErrorCode::DupFieldname, &[&column.name]));
        }
        row_bytes += row_share(&column.ty) + u64::from(column.nullable);
        columns.push(column);
    }
    if row_bytes > MAX_ROW_BYTES {
        return Err(error(ErrorCode::TooBigRowsize, &[&MAX_ROW_BYTES]));
    }
    Ok(columns)
}

/// Bytes a column counts for in MySQL's limit on rows.
fn row_share(ty: &SqlType) -> u64 {
    match ty.id {
        id if id.is_lob() => 8 + 2,
        TypeId::Json => 12,
        TypeId::VarChar | TypeId::VarBinary => ty.max_bytes() + if ty.max_bytes() > 255 { 2 } else { 1 },
        TypeId::Char | TypeId::Binary => ty.max_bytes(),
        id if id.is_integer() => id.int_width() as u64,
        TypeId::Decimal => u64::from(ty.length) / 2 + 1,
        _ => 8,
    }
}

/// Checks one column (also those which ALTER TABLE adds).
pub fn define_column(given: &ColumnDefinition) -> Result<Column> {
    let mut column = given.column.clone();
    check_column_name(&column.name)?;
    // InnoDB's own columns.
    if ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR"].iter().any(|n| eq_name(&column.name, n)) {
        return Err(error(ErrorCode::WrongColumnName, &[&column.name]));
    }
    if column.comment.chars().count() > MAX_COLUMN_COMMENT {
        return Err(error(ErrorCode::TooLongFieldComment, &[&column.name, &MAX_COLUMN_COMMENT]));
    }
    column.ty.nullable = column.nullable;
    let ty = &column.ty;
    let large = ty.id.is_lob() || ty.id == TypeId::Json;
    match &column.default {
        ColumnDefault::Literal(_) if large => return Err(error(ErrorCode::BlobCantHaveDefault, &[&column.name])),
        ColumnDefault::Null if !column.nullable => return Err(error(ErrorCode::InvalidDefault, &[&column.name])),
        ColumnDefault::Literal(_) | ColumnDefault::CurrentTimestamp if column.auto_increment => {
            return Err(error(ErrorCode::InvalidDefault, &[&column.name]));
        }
        ColumnDefault::CurrentTimestamp if !matches!(ty.id, TypeId::Timestamp | TypeId::DateTime) => {
            return Err(error(ErrorCode::InvalidDefault, &[&column.name]));
        }
        ColumnDefault::None if column.nullable && !column.auto_increment => {
            column.default = ColumnDefault::Null;
        }
        _ => {}
    }
    if column.on_update_now && !matches!(column.ty.id, TypeId::Timestamp | TypeId::DateTime) {
        return Err(error(ErrorCode::InvalidOnUpdate, &[&column.name]));
    }
    if column.auto_increment {
        if !column.ty.id.is_integer() || column.generated.is_some() {
            return Err(error(ErrorCode::WrongFieldSpec, &[&column.name]));
        }
        column.nullable = false;
        column.ty.nullable = false;
        column.default = ColumnDefault::None;
    }
    Ok(column)
}

/// Checks one index against the columns and the indexes already there, and gives it a name.
pub fn define_index(
    columns: &[Column],
    present: &[Index],
    given: &IndexDefinition,
    options: &TableOptions,
) -> Result<Index> {
    let old_format = |(n, v): &(Box<str>, Box<str>)| {
        &**n == "ROW_FORMAT" && (v.eq_ignore_ascii_case("COMPACT") || v.eq_ignore_ascii_case("REDUNDANT"))
    };
    let most_part_bytes = if options.create_options.iter().any(old_format) { OLD_PART_BYTES } else { MAX_KEY_BYTES };
    if given.parts.len() > MAX_KEY_PARTS {
        return Err(error(ErrorCode::TooManyKeyParts, &[&MAX_KEY_PARTS]));
    }
    if let Some(name) = given.name.as_ref().filter(|_| given.kind != IndexKind::Primary) {
        check_given_name(name, present)?;
    }
    let mut parts: Vec<IndexPart> = Vec::with_capacity(given.parts.len());
    let mut bytes = 0;
    for (name, prefix, descending) in &given.parts {
        let Some(column) = columns.iter().position(|c| eq_name(&c.name, name)) else {
            return Err(error(ErrorCode::KeyColumnDoesNotExits, &[name]));
        };
        if parts.iter().any(|p| p.column as usize == column) {
            return Err(error(ErrorCode::DupFieldname, &[name]));
        }
        if let Method::FullText(_) = given.method {
            parts.push(IndexPart { column: column as u32, prefix: *prefix, descending: *descending });
            continue;
        }
        let (prefix, part_bytes) = match &given.method {
            // What is in the keys is an element.
            Method::Array(element) if columns[column].ty.id == TypeId::Json => {
                check_part(&Column { ty: element.clone(), ..columns[column].clone() }, *prefix)?
            }
            _ => check_part(&columns[column], *prefix)?,
        };
        bytes += part_bytes;
        if part_bytes > most_part_bytes {
            return Err(error(ErrorCode::TooLongKey, &[&most_part_bytes]));
        }
        if bytes > MAX_KEY_BYTES {
            return Err(error(ErrorCode::TooLongKey, &[&MAX_KEY_BYTES]));
        }
        parts.push(IndexPart { column: column as u32, prefix, descending: *descending });
    }
    if given.comment.chars().count() > MAX_INDEX_COMMENT {
        let name: &str = given.name.as_deref().unwrap_or("");
        return Err(error(ErrorCode::TooLongIndexComment, &[&name, &MAX_INDEX_COMMENT]));
    }
    if given.kind == IndexKind::Primary && given.invisible {
        return Err(error(ErrorCode::PkIndexCantBeInvisible, &[]));
    }
    let method = define_method(columns, &mut parts, &given.method)?;
    Ok(Index {
        name: index_name(columns, present, given, &parts)?,
        kind: given.kind,
        method,
        parts: parts.into(),
        tree: TreeId::ZERO,
        comment: given.comment.clone(),
        attributes: given.attributes.clone(),
        block_size: given.block_size,
        invisible: given.invisible,
        using: given.using,
        generated: given.generated,
    })
}

/// Checks the columns of a full-text index: texts of one collation, which it takes over. Errors 1283, 3106, 3152.
fn define_method(columns: &[Column], parts: &mut [IndexPart], method: &Method) -> Result<Method> {
    let Method::FullText(text) = method else { return Ok(method.clone()) };
    let mut collation = None;
    for part in parts {
        let column = &columns[part.column as usize];
        let refused = || SqlError::new(ErrorCode::BadFtColumn, &[&column.name]);
        if column.ty.id == TypeId::Json {
            return Err(error(ErrorCode::JsonUsedAsKey, &[&column.name]));
        }
        let is_text = column.ty.id.is_string() && !column.ty.id.is_binary_string();
        if !is_text || column.ty.collation == gannet_types::CollationId::BINARY {
            return Err(refused());
        }
        if column.generated.as_ref().is_some_and(|g| !g.stored) {
            let what = "Fulltext index on virtual generated column";
            return Err(error(ErrorCode::UnsupportedActionOnGeneratedColumn, &[&what]));
        }
        if collation.is_some_and(|c| c != column.ty.collation) {
            return Err(refused());
        }
        collation = Some(column.ty.collation);
        // A prefix is read over, as in MySQL.
        (part.prefix, part.descending) = (None, false);
    }
    let collation = collation.unwrap_or(text.definition.collation);
    if collation == text.definition.collation {
        return Ok(method.clone());
    }
    Ok(Method::full_text(gannet_text::Definition { collation, ..text.definition.clone() }))
}

/// Checks a part; gives the prefix that is kept and the bytes it counts for.
fn check_part(column: &Column, prefix: Option<u32>) -> Result<(Option<u32>, u64)> {
    let ty = &column.ty;
    if ty.id == TypeId::Json {
        return Err(error(ErrorCode::JsonUsedAsKey, &[&column.name]));
    }
    if ty.id == TypeId::Null || (ty.id.is_string() && !ty.id.is_lob() && ty.length == 0) {
        return Err(match &column.generated {
            Some(generated) if column.hidden => {
                error(ErrorCode::WrongKeyColumnFunctionalIndex, &[&generated.expression])
            }
            _ => error(ErrorCode::WrongKeyColumn, &[&column.name]),
        });
    }
    let unit = if ty.id.is_string() { u64::from(ty.collation.charset().max_len()) } else { 1 };
    let Some(n) = prefix else {
        if ty.id.is_lob() {
            return Err(error(ErrorCode::BlobKeyWithoutLength, &[&column.name]));
        }
        let bytes = if ty.id.is_string() { ty.max_bytes() } else { 8 };
        return Ok((None, bytes));
    };
    if n == 0 {
        return Err(error(ErrorCode::KeyPart0, &[&column.name]));
    }
    let longer = if ty.id.is_lob() { false } else { n > ty.length };
    if !ty.id.is_string() || longer {
        return Err(error(ErrorCode::WrongSubKey, &[]));
    }
    let whole = !ty.id.is_lob() && n == ty.length;
    Ok((if whole { None } else { Some(n) }, u64::from(n) * unit))
}

fn is_taken(present: &[Index], name: &str) -> bool {
    present.iter().any(|i| eq_name(&i.name, name))
}

/// The name that an index was given is looked at before its columns.
fn check_given_name(name: &str, present: &[Index]) -> Result<()> {
    check_index_name(name)?;
    // The second one is the name that InnoDB gives to rows without a key.
    if eq_name(name, "PRIMARY") || eq_name(name, "GEN_CLUST_INDEX") {
        return Err(error(ErrorCode::WrongNameForIndex, &[&name]));
    }
    if is_taken(present, name) {
        return Err(error(ErrorCode::DupKeyname, &[&name]));
    }
    Ok(())
}

fn index_name(columns: &[Column], present: &[Index], given: &IndexDefinition, parts: &[IndexPart]) -> Result<Arc<str>> {
    if given.kind == IndexKind::Primary {
        return Ok("PRIMARY".into());
    }
    if let Some(name) = &given.name {
        return Ok((&**name).into());
    }
    let taken = |name: &str| is_taken(present, name);
    let column = |p: &IndexPart| &columns[p.column as usize];
    let first: &str = match parts.first().map(column) {
        Some(_) if parts.iter().any(|p| column(p).hidden) => "functional_index",
        Some(column) => &column.name,
        None => "key",
    };
    if !taken(first) && !eq_name(first, "PRIMARY") {
        return Ok(first.into());
    }
    let stem: String = first.chars().take(crate::names::MAX_IDENTIFIER_CHARS - 4).collect();
    for n in 2..100 {
        let name = format!("{stem}_{n}");
        if !taken(&name) {
            return Ok(name.into());
        }
    }
    Err(error(ErrorCode::WrongNameForIndex, &[&first]))
}

fn check_auto_increment(columns: &[Column], indexes: &[Index]) -> Result<()> {
    let mut auto = columns.iter().enumerate().filter(|(_, c)| c.auto_increment);
    let Some((ordinal, _)) = auto.next() else { return Ok(()) };
    let keyed = indexes.iter().any(|i| i.is_ordered() && i.parts.first().is_some_and(|p| p.column as usize == ordinal));
    if auto.next().is_some() || !keyed {
        return Err(error(ErrorCode::WrongAutoKey, &[]));
    }
    Ok(())
}

/// MySQL's order: the primary key, unique keys over NOT NULL columns, other unique keys, the rest; of unique keys those
/// without prefixes first; then those without virtual columns; full-text keys last; stable.
pub(crate) fn sort_indexes(columns: &[Column], indexes: &mut [Index]) {
    indexes.sort_by_key(|i| {
        let nullable = i.parts.iter().any(|p| columns[p.column as usize].nullable);
        let partial = i.parts.iter().any(|p| p.prefix.is_some());
        let is_virtual = |c: &Column| c.generated.as_ref().is_some_and(|g| !g.stored);
        let computed = i.parts.iter().any(|p| is_virtual(&columns[p.column as usize]));
        match i.kind {
            IndexKind::Primary => (0, false, false),
            IndexKind::Unique => (1 + u8::from(nullable), partial, computed),
            IndexKind::Plain => (3, i.text().is_some(), computed),
        }
    });
}

pub(crate) fn choose_clustered(columns: &[Column], indexes: &[Index]) -> Option<usize> {
    let whole = |i: &Index| i.parts.iter().all(|p| p.prefix.is_none() && !columns[p.column as usize].nullable);
    let primary = indexes.iter().position(|i| i.kind == IndexKind::Primary);
    primary.or_else(|| indexes.iter().position(|i| i.kind == IndexKind::Unique && whole(i)))
}

/// Value of a column whose default is a plain constant.
pub fn constant_default(column: &Column) -> Option<Value> {
    match &column.default {
        ColumnDefault::Null => Some(Value::Null),
        ColumnDefault::Literal(v) => Some(v.clone()),
        _ => None,
    }
}
