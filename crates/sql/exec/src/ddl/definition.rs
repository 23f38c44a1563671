//! From the columns and keys of CREATE TABLE to the catalog's definition.

use super::expressions::Use;
use super::extras::{Extras, PendingIndex};
use super::{DdlContext, choose_collation, generated_key, text};
use crate::{convert, deprecation};
use gannet_parser::Notice;
use gannet_parser::ast::{
    self, BaseType, ColumnAttribute, ColumnDef, Expr, IndexDef, IndexOption, KeySource, LiteralValue, TableElement,
    TableOption, UnaryOp,
};
use gannet_plan::{TypeContext, column_type};
use gannet_schema::names::quote_text;
use gannet_schema::options::{AUTOEXTEND_SIZE, COMPRESSION, ENGINE_ATTRIBUTE, SECONDARY_ENGINE_ATTRIBUTE};
use gannet_schema::{
    CatalogSnapshot, Column, ColumnDefault as Default, ColumnDefinition, ColumnFormat, ColumnStorage, EngineAttributes,
    Generated, IndexDefinition, IndexKind, Method, Table, TableDefinition, TableOptions, Using,
};
use gannet_types::{
    Collation, CollationId, ErrorCode, Level, Result, SqlError, SqlMode, TypeId, Value, charset::Charset, sql_err,
};
use std::cell::RefCell;

/// Storage engine names that mean this engine. Others are refused, as MySQL does under NO_ENGINE_SUBSTITUTION.
const ENGINES: &[&str] = &["InnoDB", "Gannet"];
/// In its tables MATCH in boolean mode needs no index.
const MYISAM: &str = "MyISAM";
/// Engines whose tables this one holds as well or better: warning 1266 says so.
const SUBSTITUTED: &[&str] = &[MYISAM, "MEMORY", "HEAP", "ARCHIVE", "Aria"];

/// Those of them that have no full-text indexes.
const WITHOUT_TEXT: &[&str] = &["MEMORY", "HEAP", "ARCHIVE"];
/// The engine that a definition keeps of one that tables of this engine stand in for.
pub(super) fn kept_engine(name: &str) -> Option<&'static str> {
    let known = among(ENGINES, name) || among(SUBSTITUTED, name);
    known.then_some(if name.eq_ignore_ascii_case(MYISAM) { MYISAM } else { "InnoDB" })
}

fn among(engines: &[&str], name: &str) -> bool {
    engines.iter().any(|e| e.eq_ignore_ascii_case(name))
}

pub(super) struct Definer<'a, 'b> {
    inherited: CollationId,
    cx: &'a mut DdlContext<'b>,
}

/// What is known of a table before its columns.
pub(super) struct About<'n> {
    pub(super) name: &'n str,
    pub(super) schema: &'n str,
    /// It will have partitions.
    pub(super) partitioned: bool,
}

impl<'a, 'b> Definer<'a, 'b> {
    /// `inherited` is the schema's collation.
    pub(super) fn new(inherited: CollationId, cx: &'a mut DdlContext<'b>) -> Self {
        Definer { inherited, cx }
    }

    /// The definition, and whether a primary key was generated.
    pub(super) fn table(
        mut self,
        about: &About<'_>,
        elements: &[TableElement],
        selected: Vec<ColumnDefinition>,
        options: &[TableOption],
        snapshot: &CatalogSnapshot,
    ) -> Result<(TableDefinition, bool)> {
        let About { name, schema, partitioned } = *about;
        let engine = options.iter().rev().find_map(|o| match o {
            TableOption::Engine(name) => Some(&**name),
            _ => None,
        });
        let substituted = engine.is_some_and(|e| among(SUBSTITUTED, e));
        let (mut options, auto_increment) = self.options(name, options)?;
        options.create_options = gannet_schema::options::canonical(&options.create_options);
        self.inherited = options.collation;
        let mut columns = Vec::new();
        let mut extras = Extras::default();
        for element in elements {
            match element {
                TableElement::Column(column) => columns.push(self.column(column, &mut extras)?),
                other => self.element(other, &mut extras)?,
            }
        }
        let mut columns = super::select::merge(columns, selected)?;
        let keyed = extras.indexes.iter().any(|i| i.definition.kind == IndexKind::Primary);
        let generated = self.cx.generate_primary_key && !keyed;
        if generated {
            extras.indexes.push(PendingIndex::plain(generated_key::add(&mut columns, partitioned)?));
        }
        let mut definition = TableDefinition {
            name: name.into(),
            columns,
            indexes: Vec::new(),
            options,
            auto_increment,
            checks: Vec::new(),
            foreign_keys: Vec::new(),
            partitioning: None,
        };
        let made = extras.resolve(&mut definition, schema, snapshot, self.cx)?;
        definition.indexes = made;
        if engine.is_some_and(|e| among(WITHOUT_TEXT, e))
            && definition.indexes.iter().any(|i| i.method != Method::Ordered)
        {
            return Err(sql_err!(TableCantHandleFt));
        }
        if substituted {
            // The engine that was asked for has no foreign keys: of each, only its index stays, as in MySQL.
            definition.indexes.extend(definition.foreign_keys.drain(..).map(|key| IndexDefinition {
                name: key.index_name,
                kind: IndexKind::Plain,
                method: Method::Ordered,
                parts: key.columns.into_iter().map(|c| (c, None, false)).collect(),
                comment: "".into(),
                attributes: EngineAttributes::default(),
                block_size: 0,
                invisible: false,
                using: None,
                generated: true,
            }));
        }
        Ok((definition, generated))
    }

    /// A key or constraint.
    pub(super) fn element(&mut self, element: &TableElement, extras: &mut Extras) -> Result<()> {
        match element {
            TableElement::Index(definition) => extras.indexes.push(index(definition, self.cx)?),
            TableElement::ForeignKey(key) => extras.foreign_keys.push(key.clone()),
            TableElement::Check(check) => extras.checks.push((check.clone(), None)),
            TableElement::Column(_) => return Err(SqlError::internal("a column among keys")),
        }
        Ok(())
    }

    /// Directories of tables are passed over with `NO_DIR_IN_CREATE`.
    fn passes_over(&mut self, option: &TableOption) -> bool {
        let over = self.cx.settings.sql_mode.contains(SqlMode::NO_DIR_IN_CREATE);
        if over {
            self.cx.warnings.warn(ErrorCode::WarnOptionIgnored, &[&option_name(option)]);
        }
        over
    }

    pub(super) fn options(&mut self, table: &str, options: &[TableOption]) -> Result<(TableOptions, Option<u64>)> {
        let (mut charset, mut collation, mut auto_increment) = (None, None, None);
        let mut comment: Box<str> = "".into();
        let mut kept: Vec<(Box<str>, Box<str>)> = Vec::new();
        let mut keep = |name: &str, value: String| kept.push((name.into(), value.into()));
        for option in options {
            match option {
                TableOption::Engine(name) => {
                    if !among(ENGINES, name) {
                        if !among(SUBSTITUTED, name) {
                            let unknown = sql_err!(UnknownStorageEngine, name);
                            if self.cx.settings.sql_mode.contains(SqlMode::NO_ENGINE_SUBSTITUTION) {
                                return Err(unknown);
                            }
                            self.cx.warnings.push(unknown.to_warning(Level::Warning));
                        }
                        self.cx.warnings.warn(ErrorCode::WarnUsingOtherHandler, &[&"InnoDB", &table]);
                    }
                    let asked = if name.eq_ignore_ascii_case(MYISAM) { MYISAM } else { "InnoDB" };
                    keep(gannet_schema::options::ENGINE, asked.into());
                }
                TableOption::Charset(name) => charset = Some(only_charset(charset, name)?),
                TableOption::Collate(name) => collation = Some(Collation::by_name(name)?),
                TableOption::Comment(text) => {
                    let most = gannet_schema::define::MAX_TABLE_COMMENT;
                    comment = in_dictionary(text, most, sql_err!(TooLongTableComment, table, most), self.cx)?;
                }
                TableOption::AutoIncrement(n) => auto_increment = Some(*n),
                // How rows and statistics are stored has no meaning here; SHOW CREATE TABLE repeats the words.
                TableOption::RowFormat(word) => keep("ROW_FORMAT", word.to_ascii_uppercase()),
                TableOption::KeyBlockSize(n) => keep("KEY_BLOCK_SIZE", n.to_string()),
                TableOption::AvgRowLength(n) => keep("AVG_ROW_LENGTH", n.to_string()),
                TableOption::MaxRows(n) => keep("MAX_ROWS", n.to_string()),
                TableOption::MinRows(n) => keep("MIN_ROWS", n.to_string()),
                TableOption::Checksum(on) => keep("CHECKSUM", u8::from(*on).to_string()),
                TableOption::DelayKeyWrite(on) => keep("DELAY_KEY_WRITE", u8::from(*on).to_string()),
                TableOption::PackKeys(Some(n)) => keep("PACK_KEYS", n.to_string()),
                TableOption::StatsPersistent(Some(n)) => keep("STATS_PERSISTENT", n.to_string()),
                TableOption::StatsAutoRecalc(Some(n)) => keep("STATS_AUTO_RECALC", n.to_string()),
                TableOption::StatsSamplePages(Some(n)) => keep("STATS_SAMPLE_PAGES", n.to_string()),
                TableOption::PackKeys(None) => keep("PACK_KEYS", "DEFAULT".into()),
                TableOption::StatsPersistent(None) => keep("STATS_PERSISTENT", "DEFAULT".into()),
                TableOption::StatsAutoRecalc(None) => keep("STATS_AUTO_RECALC", "DEFAULT".into()),
                TableOption::StatsSamplePages(None) => keep("STATS_SAMPLE_PAGES", "DEFAULT".into()),
                TableOption::EngineAttribute(json) => keep(ENGINE_ATTRIBUTE, quoted(&document(json)?)),
                TableOption::SecondaryEngineAttribute(json) => {
                    keep(SECONDARY_ENGINE_ATTRIBUTE, quoted(&document(json)?))
                }
                // MySQL takes a password and has no use for it.
                TableOption::Password(_) => {}
                TableOption::Connection(text) => {
                    keep("CONNECTION", quoted(&String::from_utf8_lossy(text)));
                }
                // There is one data file.
                TableOption::Tablespace(name) if is_common_tablespace(name) => {
                    let mut quoted = String::new();
                    gannet_schema::names::quote_identifier(&mut quoted, name, '`');
                    keep(gannet_schema::show::TABLESPACE, quoted);
                }
                TableOption::Compression(value) if is_compression(value) => keep(COMPRESSION, quoted(value)),
                // In steps of 4 MiB.
                TableOption::AutoextendSize(n) if n.is_multiple_of(4 << 20) => keep(AUTOEXTEND_SIZE, n.to_string()),
                TableOption::DataDirectory(_) | TableOption::IndexDirectory(_) if self.passes_over(option) => {}
                TableOption::Encryption(value) if value.eq_ignore_ascii_case("n") => {}
                other => return Err(SqlError::unsupported(format_args!("table option {}", option_name(other)))),
            }
        }
        let collation = choose_collation(charset, collation, self.inherited, self.cx.settings.utf8mb4)?;
        Ok((TableOptions { collation, comment, create_options: kept.into() }, auto_increment))
    }

    pub(super) fn column(&mut self, column: &ColumnDef, extras: &mut Extras) -> Result<ColumnDefinition> {
        let name = &column.name;
        let collate = column.attributes.iter().find_map(|a| match a {
            ColumnAttribute::Collate(name) => Some(&*name.text),
            _ => None,
        });
        let notes = RefCell::default();
        // A default would not fit what the type becomes.
        let plain = !column.attributes.iter().any(|a| matches!(a, ColumnAttribute::Default { .. }));
        let context = TypeContext {
            column: name,
            collation: self.inherited,
            utf8mb4: self.cx.settings.utf8mb4,
            sql_mode: self.cx.settings.sql_mode,
            notes: (plain || matches!(column.data_type.base, BaseType::Set | BaseType::Enum)).then_some(&notes),
        };
        let mut ty = column_type(&column.data_type, collate, context)?;
        notes.into_inner().iter().for_each(|note| self.cx.note(note));
        let mut made = Column {
            generated: column.generated.as_ref().map(|g| Generated { expression: "".into(), stored: g.stored }),
            explicit_collation: collate.is_some() || column.data_type.charset.is_some() || column.data_type.national,
            ..Column::new(name.text.as_ref(), ty.clone(), true, Default::None)
        };
        let (mut explicit_null, mut default) = (false, None);
        for attribute in &column.attributes {
            match attribute {
                ColumnAttribute::Null => (made.nullable, explicit_null) = (true, true),
                ColumnAttribute::NotNull => made.nullable = false,
                ColumnAttribute::Default { expr, parenthesised } => default = Some((expr, *parenthesised)),
                ColumnAttribute::OnUpdateNow { fractional } => {
                    if !matches!(ty.id, TypeId::DateTime | TypeId::Timestamp)
                        || fractional.unwrap_or(0) != u64::from(ty.scale)
                    {
                        return Err(sql_err!(InvalidOnUpdate, name));
                    }
                    made.on_update_now = true;
                }
                ColumnAttribute::AutoIncrement => made.auto_increment = true,
                ColumnAttribute::PrimaryKey => {
                    extras.indexes.push(PendingIndex::plain(IndexDefinition::of_column(IndexKind::Primary, name)))
                }
                ColumnAttribute::Unique => {
                    extras.indexes.push(PendingIndex::plain(IndexDefinition::of_column(IndexKind::Unique, name)))
                }
                ColumnAttribute::Comment(text) => made.comment = column_comment(name, text, self.cx)?,
                ColumnAttribute::Collate(_) | ColumnAttribute::Visible => {}
                ColumnAttribute::Invisible => made.invisible = true,
                ColumnAttribute::ColumnFormat(format) => made.format = format_of(format),
                ColumnAttribute::Storage(storage) => made.storage = storage_of(storage),
                // Parsed and ignored, as MySQL 8.4 does: only FOREIGN KEY makes a constraint.
                ColumnAttribute::References(_) => {}
                ColumnAttribute::Check(check) => extras.checks.push((check.clone(), Some(name.text.clone()))),
                ColumnAttribute::EngineAttribute(json) => made.attributes.engine = document(json)?,
                ColumnAttribute::SecondaryEngineAttribute(json) => made.attributes.secondary = document(json)?,
                ColumnAttribute::Srid(_) | ColumnAttribute::NotSecondary => {
                    return Err(SqlError::unsupported("SRID and NOT SECONDARY"));
                }
            }
        }
        if column.generated.is_some() {
            let wrong = match (&default, made.auto_increment, made.on_update_now) {
                (Some(_), ..) => Some("DEFAULT"),
                (None, true, _) => Some("AUTO_INCREMENT"),
                (None, _, true) => Some("ON UPDATE"),
                _ => None,
            };
            if wrong.is_some() {
                return Err(sql_err!(WrongUsage, wrong.unwrap_or_default(), "generated column"));
            }
        }
        ty.nullable = made.nullable;
        made.ty = ty;
        if let Some(generated) = &column.generated {
            let usage = Use::Generated(name.text.clone());
            extras.expressions.push((usage, generated.expr.clone()));
            made.default = if made.nullable { Default::Null } else { Default::None };
            return Ok(ColumnDefinition { column: made, explicit_null });
        }
        made.default = match default {
            Some((expr, true)) => {
                if made.auto_increment {
                    return Err(sql_err!(InvalidDefault, name));
                }
                extras.expressions.push((Use::Default(name.text.clone()), expr.clone()));
                Default::Expression("".into())
            }
            Some((expr, false)) => self.default(&made, expr)?,
            None if made.nullable => Default::Null,
            None => Default::None,
        };
        Ok(ColumnDefinition { column: made, explicit_null })
    }

    /// A default that is no expression: a literal or the time.
    pub(super) fn default(&mut self, column: &Column, expr: &Expr) -> Result<Default> {
        let invalid = || sql_err!(InvalidDefault, column.name);
        if column.auto_increment {
            return Err(invalid());
        }
        if let Expr::Call(call) = expr
            && call.name.eq_ignore_ascii_case("now")
        {
            let digits = match call.args.first() {
                None => 0,
                Some(Expr::Literal(ast::Literal { value: LiteralValue::Int(n), .. })) => *n,
                Some(_) => return Err(invalid()),
            };
            let fits = matches!(column.ty.id, TypeId::DateTime | TypeId::Timestamp);
            return if fits && digits == u64::from(column.ty.scale) {
                Ok(Default::CurrentTimestamp)
            } else {
                Err(invalid())
            };
        }
        let value = match literal(expr) {
            Some(value) => value,
            None => return Err(invalid()),
        };
        if value.is_null() {
            return if column.nullable { Ok(Default::Null) } else { Err(invalid()) };
        }
        let settings = self.cx.settings;
        if column.ty.id.is_lob() || column.ty.id == TypeId::Json {
            let refused = sql_err!(BlobCantHaveDefault, column.name);
            let empty = matches!(&value, Value::Str(text, _) if text.is_empty());
            if settings.sql_mode.is_strict() || !empty || column.ty.id == TypeId::Json {
                return Err(refused);
            }
            // It means nothing, and many a dump has it.
            self.cx.warnings.push(refused.to_warning(Level::Warning));
            return Ok(if column.nullable { Default::Null } else { Default::None });
        }
        // A member's name, whatever the literal is: its number will not do. Bits are a number where one is wanted.
        let value = match value {
            Value::Str(bytes, _) if column.ty.id.is_numeric() && is_bits(expr) && bytes.len() <= 8 => {
                Value::UInt(bytes.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
            }
            Value::Str(bytes, collation) if collation.is_binary() && column.ty.is_text() => {
                Value::Str(bytes, column.ty.collation)
            }
            value if matches!(column.ty.id, TypeId::Enum | TypeId::Set) && !matches!(value, Value::Str(..)) => {
                let mut text = Vec::new();
                value.write_text(&mut text);
                Value::Str(text[..].into(), CollationId::DEFAULT)
            }
            value => value,
        };
        if let (Some(members), Value::Str(text, from)) = (&column.ty.members, &value) {
            let named = |name: &[u8]| members.find_utf8(name).is_some();
            let text = from.charset().convert(text, Charset::Utf8mb4).bytes;
            let text = text.trim_ascii_end();
            let known = match column.ty.id {
                TypeId::Set => text.is_empty() || text.split(|b| *b == b',').all(named),
                _ => named(text),
            };
            if !known {
                return Err(invalid());
            }
        }
        let (value, notes) =
            convert::store_constant(value, column, settings.sql_mode, &settings.time_zone).map_err(|_| invalid())?;
        notes.iter().for_each(|note| self.cx.warnings.push(note.clone()));
        Ok(Default::Literal(value))
    }
}

/// Two character sets contradict each other. Error 1302.
fn only_charset(before: Option<Charset>, name: &str) -> Result<Charset> {
    let given = Charset::by_name(name)?;
    match before.filter(|before| *before != given) {
        Some(before) => {
            let set = "CHARACTER SET ";
            Err(sql_err!(ConflictingDeclarations, set, before.name(), set, given.name()))
        }
        None => Ok(given),
    }
}

/// How InnoDB compresses pages.
fn is_compression(value: &str) -> bool {
    ["", "none", "zlib", "lz4"].iter().any(|n| n.eq_ignore_ascii_case(value))
}

/// A tablespace that every server has.
fn is_common_tablespace(name: &str) -> bool {
    ["innodb_system", "innodb_file_per_table", "innodb_temporary"].iter().any(|n| n.eq_ignore_ascii_case(name))
}

/// Warns of what is deprecated in the type of a column that another table or a query brings.
pub(super) fn deprecated_type(column: &Column, cx: &mut DdlContext<'_>) {
    let ty = &column.ty;
    let real = matches!(ty.id, TypeId::Float | TypeId::Double);
    if real && ty.length != 0 {
        cx.warnings.push(deprecation(Notice::RealDigits));
    }
    if ty.unsigned && (real || ty.id == TypeId::Decimal) {
        cx.warnings.push(deprecation(Notice::UnsignedReal));
    }
}

/// The value of a literal, perhaps behind a sign.
fn literal(expr: &Expr) -> Option<Value> {
    match expr {
        Expr::Literal(literal) => match &literal.value {
            LiteralValue::Null => Some(Value::Null),
            LiteralValue::Bool(b) => Some(Value::from(*b)),
            LiteralValue::Int(n) => Some(i64::try_from(*n).map_or(Value::UInt(*n), Value::Int)),
            LiteralValue::Decimal(text) => convert::parse_decimal(text).map(Value::Decimal),
            LiteralValue::Float(text) => text.parse().ok().map(Value::Double),
            LiteralValue::String { bytes, .. } => Some(Value::Str((&**bytes).into(), CollationId::DEFAULT)),
            LiteralValue::Hex { bytes, .. } | LiteralValue::Bit { bytes, .. } => Some(Value::bytes(bytes)),
            LiteralValue::Temporal { text, .. } => Some(Value::text(text)),
        },
        Expr::Unary { op: UnaryOp::Neg, expr } => match literal(expr)? {
            Value::Int(n) => Some(Value::Int(n.checked_neg()?)),
            Value::UInt(n) => (n == 1 << 63).then_some(Value::Int(i64::MIN)),
            Value::Decimal(d) => Some(Value::Decimal(-d)),
            Value::Double(d) => Some(Value::Double(-d)),
            _ => None,
        },
        _ => None,
    }
}

/// X'41', 0x41, b'101'.
fn is_bits(e: &Expr) -> bool {
    matches!(e, Expr::Literal(l) if matches!(l.value, LiteralValue::Hex { .. } | LiteralValue::Bit { .. }))
}

fn format_of(format: &ast::ColumnFormat) -> ColumnFormat {
    match format {
        ast::ColumnFormat::Default => ColumnFormat::Default,
        ast::ColumnFormat::Fixed => ColumnFormat::Fixed,
        ast::ColumnFormat::Dynamic => ColumnFormat::Dynamic,
    }
}

fn storage_of(storage: &ast::ColumnStorage) -> ColumnStorage {
    match storage {
        ast::ColumnStorage::Default => ColumnStorage::Default,
        ast::ColumnStorage::Disk => ColumnStorage::Disk,
        ast::ColumnStorage::Memory => ColumnStorage::Memory,
    }
}

/// Words and elements have no order that could be said. Error 1221.
fn check_order(part: &ast::KeyPart, kind: ast::IndexKind) -> Result<()> {
    let what = match &part.source {
        _ if !part.ordered => return Ok(()),
        _ if kind == ast::IndexKind::Fulltext => "spatial/fulltext/hash index",
        KeySource::Expr(Expr::Cast(cast)) if cast.array => "multi-valued index",
        _ => return Ok(()),
    };
    Err(sql_err!(WrongUsage, what, "explicit index order"))
}

/// A key of a table.
fn index(definition: &IndexDef, cx: &mut DdlContext<'_>) -> Result<PendingIndex> {
    let kind = match definition.kind {
        ast::IndexKind::Primary => IndexKind::Primary,
        ast::IndexKind::Unique => IndexKind::Unique,
        ast::IndexKind::Index => IndexKind::Plain,
        ast::IndexKind::Fulltext => IndexKind::Plain,
        ast::IndexKind::Spatial => return Err(SqlError::unsupported("SPATIAL indexes")),
    };
    let mut parts = Vec::with_capacity(definition.parts.len());
    let mut expressions = Vec::new();
    for part in &definition.parts {
        check_order(part, definition.kind)?;
        match &part.source {
            KeySource::Column { name, prefix } => {
                let prefix = match prefix {
                    None => None,
                    Some(n) => Some(u32::try_from(*n).map_err(|_| sql_err!(TooLongKey, 3072))?),
                };
                parts.push((name.text.clone(), prefix, part.desc));
            }
            KeySource::Expr(expr) => {
                if kind == IndexKind::Primary {
                    return Err(sql_err!(FunctionalIndexPrimaryKey));
                }
                expressions.push((parts.len(), expr.clone()));
                parts.push(("".into(), None, part.desc));
            }
        }
    }
    let name = definition.name.as_ref().or(definition.constraint.as_ref()).map(|n| n.text.clone());
    let name = if kind == IndexKind::Primary { None } else { name };
    let method =
        if definition.kind == ast::IndexKind::Fulltext { text::method(definition, cx)? } else { Method::Ordered };
    let mut made = IndexDefinition {
        name,
        kind,
        method,
        parts,
        comment: "".into(),
        attributes: EngineAttributes::default(),
        block_size: 0,
        invisible: false,
        using: None,
        generated: false,
    };
    for option in &definition.options {
        match option {
            IndexOption::Using(word) if word.eq_ignore_ascii_case("btree") => made.using = Some(Using::Btree),
            IndexOption::Using(word) if word.eq_ignore_ascii_case("hash") => {
                made.using = None;
                cx.note(&sql_err!(UnsupportedIndexAlgorithm, "HASH"));
            }
            IndexOption::Comment(text) => {
                let most = gannet_schema::define::MAX_INDEX_COMMENT;
                let name: &str = made.name.as_deref().unwrap_or_default();
                made.comment = in_dictionary(text, most, sql_err!(TooLongIndexComment, name, most), cx)?;
            }
            IndexOption::Visible => made.invisible = false,
            IndexOption::Invisible => made.invisible = true,
            IndexOption::KeyBlockSize(size) => made.block_size = *size,
            IndexOption::WithParser(_) if made.method != Method::Ordered => {}
            IndexOption::EngineAttribute(json) => made.attributes.engine = document(json)?,
            IndexOption::SecondaryEngineAttribute(json) => made.attributes.secondary = document(json)?,
            IndexOption::Using(_) | IndexOption::WithParser(_) => {
                return Err(SqlError::unsupported("index options RTREE and WITH PARSER"));
            }
        }
    }
    Ok(PendingIndex { definition: made, expressions })
}

/// The definition of a table as CREATE TABLE ... LIKE copies it: no foreign keys, checks under new names.
pub(super) fn like(table: &Table, name: &str) -> TableDefinition {
    let mut definition = TableDefinition::of(table);
    definition.name = name.into();
    definition.foreign_keys.clear();
    for (i, check) in definition.checks.iter_mut().enumerate() {
        check.name = format!("{name}_chk_{}", i + 1).into();
    }
    definition
}

fn option_name(option: &TableOption) -> &'static str {
    match option {
        TableOption::SecondaryEngine(_) => "SECONDARY_ENGINE",
        TableOption::InsertMethod(_) => "INSERT_METHOD",
        TableOption::Union(_) => "UNION",
        TableOption::DataDirectory(_) => "DATA DIRECTORY",
        TableOption::IndexDirectory(_) => "INDEX DIRECTORY",
        TableOption::Tablespace(_) => "TABLESPACE",
        TableOption::Connection(_) => "CONNECTION",
        TableOption::Compression(_) => "COMPRESSION",
        TableOption::Encryption(_) => "ENCRYPTION",
        _ => "of another storage engine",
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    quote_text(&mut out, text);
    out
}

/// An attribute for an engine: a JSON document, or nothing. It is kept, and tells InnoDB nothing. Error 3980.
fn document(text: &str) -> Result<Box<str>> {
    if !text.is_empty()
        && let Err(e) = gannet_types::json::parse(text.as_bytes())
    {
        let (what, at) = match e {
            gannet_types::json::ParseError::Invalid(what, at) => (what, at),
            _ => ("The document is too deep.", 0),
        };
        let rest: String = text.chars().skip(at).take(192).collect();
        return Err(sql_err!(InvalidJsonAttribute, what, at, rest));
    }
    Ok(text.into())
}

fn column_comment(name: &str, text: &str, cx: &mut DdlContext<'_>) -> Result<Box<str>> {
    let most = gannet_schema::define::MAX_COLUMN_COMMENT;
    in_dictionary(text, most, sql_err!(TooLongFieldComment, name, most), cx)
}

/// A comment as the dictionary keeps it: in utf8mb3, with `?` for what that has not. One of more characters than `most`
/// is an error in strict mode, and is cut with a warning otherwise.
fn in_dictionary(comment: &str, most: usize, too_long: SqlError, cx: &mut DdlContext<'_>) -> Result<Box<str>> {
    let kept: Box<str> = comment.chars().map(|c| if c > '\u{FFFF}' { '?' } else { c }).collect();
    let Some((end, _)) = kept.char_indices().nth(most) else { return Ok(kept) };
    if cx.settings.sql_mode.is_strict() {
        return Err(too_long);
    }
    cx.warnings.push(too_long.to_warning(Level::Warning));
    Ok(kept[..end].into())
}
