//! Tables as text: SHOW CREATE TABLE byte for byte as MySQL 8.4 prints it, and what SHOW COLUMNS, SHOW INDEX and
//! information_schema say of columns and indexes.

use crate::column::{Column, ColumnDefault, ColumnFormat, ColumnStorage, EngineAttributes};
use crate::constraint::{ForeignKey, ReferenceAction};
use crate::index::{Index, IndexKind, Using};
use crate::names::{quote_identifier, quote_text};
use crate::options::{AUTOEXTEND_SIZE, ENGINE, ENGINE_ATTRIBUTE, SECONDARY_ENGINE_ATTRIBUTE, is_behind_comment};
use crate::partition::write_partitioning;
use crate::table::{Schema, Table, has_generated_key};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, SqlType, TypeId, Value};
use std::fmt::Write;

/// How SHOW CREATE TABLE quotes and what it leaves out.
#[derive(Clone, Copy, Debug)]
pub struct ShowOptions {
    /// Quote of identifiers: a backtick, or a double quote under ANSI_QUOTES.
    pub quote: char,
    /// sql_quote_show_create: quote also what does not need it.
    pub always_quote: bool,
    /// Words that have a meaning of their own are quoted anyway: all of them where nobody knows.
    pub is_keyword: fn(&str) -> bool,
    /// AUTO_INCREMENT's next value; printed when greater than 1.
    pub next_auto_increment: u64,
    /// The table's schema goes before its name.
    pub with_schema: bool,
    /// A generated primary key is left out, with its column.
    pub without_generated_key: bool,
    /// `sql_mode` has ANSI: options of tables and views that are MySQL's own are left out.
    pub standard: bool,
}

impl Default for ShowOptions {
    fn default() -> Self {
        ShowOptions {
            quote: '`',
            always_quote: true,
            is_keyword: |_| true,
            next_auto_increment: 0,
            with_schema: false,
            without_generated_key: false,
            standard: false,
        }
    }
}

fn is_default_collation(id: CollationId) -> bool {
    id.get().is_default
}

fn name(out: &mut String, text: &str, options: &ShowOptions) {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$' || !c.is_ascii();
    let stands_alone = text.chars().all(plain) && !text.chars().all(|c| c.is_ascii_digit());
    if options.always_quote || !stands_alone || (options.is_keyword)(text) {
        quote_identifier(out, text, options.quote);
    } else {
        out.push_str(text);
    }
}

/// A text whose names are in backticks, with its names as the options want them.
pub fn requoted(text: &str, options: &ShowOptions) -> String {
    if options.quote == '`' && options.always_quote {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c != '`' && c != '\'' {
            out.push(c);
            continue;
        }
        let (mut inside, mut raw) = (String::new(), String::from(c));
        while let Some(d) = rest.next() {
            raw.push(d);
            let next = rest.clone().next();
            if (d == '\\' && c == '\'') || (d == c && next == Some(c)) {
                raw.extend(next);
                inside.extend(rest.next());
            } else if d == c {
                break;
            } else {
                inside.push(d);
            }
        }
        match c {
            '`' => name(&mut out, &inside, options),
            _ => out.push_str(&raw),
        }
    }
    out
}

/// The table option that SHOW CREATE TABLE prints in a comment of its own, before the engine.
pub const TABLESPACE: &str = "TABLESPACE";

/// Text of `SHOW CREATE TABLE`.
pub fn show_create_table(table: &Table, options: &ShowOptions) -> String {
    let mut out = String::with_capacity(256);
    out.push_str(if table.temporary { "CREATE TEMPORARY TABLE " } else { "CREATE TABLE " });
    if options.with_schema {
        name(&mut out, &table.schema, options);
        out.push('.');
    }
    name(&mut out, &table.name, options);
    out.push_str(" (\n");
    let left_out = usize::from(options.without_generated_key && has_generated_key(table));
    for (i, column) in table.columns.iter().skip(left_out).filter(|c| !c.hidden).enumerate() {
        out.push_str(if i == 0 { "  " } else { ",\n  " });
        write_column(&mut out, table, column, options);
    }
    for index in table.indexes.iter().skip(left_out) {
        out.push_str(",\n  ");
        write_index(&mut out, table, index, options);
    }
    for key in &table.constraints.foreign_keys {
        out.push_str(",\n  ");
        write_foreign_key(&mut out, table, key, options);
    }
    for check in &table.constraints.checks {
        out.push_str(",\n  CONSTRAINT ");
        name(&mut out, &check.name, options);
        let _ = write!(out, " CHECK ({})", check.expression);
        if !check.enforced {
            out.push_str(" /*!80016 NOT ENFORCED */");
        }
    }
    out.push_str("\n)");
    if !options.standard {
        write_options(&mut out, table, options.next_auto_increment * u64::from(left_out == 0));
    }
    if let Some(parts) = &table.partitions {
        let plain = ShowOptions { always_quote: false, ..*options };
        write_partitioning(&mut out, parts.definition(), &|out, text| name(out, text, &plain));
    }
    out
}

/// What follows behind the columns; partitions come behind that.
fn write_options(out: &mut String, table: &Table, next_auto_increment: u64) {
    if let Some((_, space)) = table.options.create_options.iter().find(|(option, _)| **option == *TABLESPACE) {
        let _ = write!(out, " /*!50100 TABLESPACE {space} */");
    }
    let kept = crate::options::canonical(&table.options.create_options);
    if let Some((option, size)) = kept.iter().find(|(option, _)| **option == *AUTOEXTEND_SIZE) {
        let _ = write!(out, " /*!80023 {option}={size} */");
    }
    let engine = if &*table.schema == "performance_schema" { "PERFORMANCE_SCHEMA" } else { "InnoDB" };
    let _ = write!(out, " ENGINE={engine}");
    if next_auto_increment > 1 && table.auto_column.is_some() {
        let _ = write!(out, " AUTO_INCREMENT={next_auto_increment}");
    }
    let collation = table.options.collation;
    let _ = write!(out, " DEFAULT CHARSET={}", collation.charset().name());
    if !is_default_collation(collation) || collation == CollationId::UTF8MB4_0900_AI_CI {
        let _ = write!(out, " COLLATE={}", collation.get().name);
    }
    let kept = kept.iter().filter(|(option, _)| ![ENGINE, TABLESPACE, AUTOEXTEND_SIZE].contains(&&**option));
    let (behind, before): (Vec<_>, Vec<_>) = kept.partition(|(option, _)| is_behind_comment(option));
    for (option, value) in before {
        let _ = write!(out, " {option}={value}");
    }
    if !table.options.comment.is_empty() {
        out.push_str(" COMMENT=");
        quote_text(out, &table.options.comment);
    }
    for (option, value) in behind {
        let _ = match &**option {
            ENGINE_ATTRIBUTE | SECONDARY_ENGINE_ATTRIBUTE => write!(out, " /*!80021 {option}={value} */"),
            _ => write!(out, " {option}={value}"),
        };
    }
}

fn write_column(out: &mut String, table: &Table, column: &Column, options: &ShowOptions) {
    name(out, &column.name, options);
    let _ = write!(out, " {}", column.ty);
    let ty = &column.ty;
    let has_charset = ty.id != TypeId::Json && ty.is_text();
    if has_charset {
        let default = is_default_collation(ty.collation);
        if ty.collation != table.options.collation || column.explicit_collation {
            let _ = write!(out, " CHARACTER SET {}", ty.collation.charset().name());
        }
        let newest = ty.collation == CollationId::UTF8MB4_0900_AI_CI && table.options.collation != ty.collation;
        if !default || column.explicit_collation || newest {
            let _ = write!(out, " COLLATE {}", ty.collation.get().name);
        }
    }
    if let Some(generated) = &column.generated {
        let kind = if generated.stored { "STORED" } else { "VIRTUAL" };
        let _ = write!(out, " GENERATED ALWAYS AS ({}) {kind}", generated.expression);
    }
    if !column.nullable {
        out.push_str(" NOT NULL");
    } else if ty.id == TypeId::Timestamp {
        out.push_str(" NULL");
    }
    out.push_str(match column.storage {
        ColumnStorage::Default => "",
        ColumnStorage::Disk => " /*!50606 STORAGE DISK */",
        ColumnStorage::Memory => " /*!50606 STORAGE MEMORY */",
    });
    out.push_str(match column.format {
        ColumnFormat::Default => "",
        ColumnFormat::Fixed => " /*!50606 COLUMN_FORMAT FIXED */",
        ColumnFormat::Dynamic => " /*!50606 COLUMN_FORMAT DYNAMIC */",
    });
    if column.generated.is_none() {
        write_default(out, column);
    }
    if column.on_update_now {
        out.push_str(" ON UPDATE ");
        out.push_str(&current_timestamp(ty));
    }
    if column.auto_increment {
        out.push_str(" AUTO_INCREMENT");
    }
    if column.invisible {
        out.push_str(" /*!80023 INVISIBLE */");
    }
    if !column.comment.is_empty() {
        out.push_str(" COMMENT ");
        quote_text(out, &column.comment);
    }
    write_attributes(out, &column.attributes);
}

/// `CURRENT_TIMESTAMP` with the type's fraction digits.
pub fn current_timestamp(ty: &SqlType) -> String {
    if ty.scale > 0 { format!("CURRENT_TIMESTAMP({})", ty.scale) } else { "CURRENT_TIMESTAMP".into() }
}

fn write_default(out: &mut String, column: &Column) {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Dropped => {}
        ColumnDefault::Null if column.ty.id.is_lob() => {}
        ColumnDefault::Null => out.push_str(" DEFAULT NULL"),
        ColumnDefault::CurrentTimestamp => {
            out.push_str(" DEFAULT ");
            out.push_str(&current_timestamp(&column.ty));
        }
        ColumnDefault::Expression(text) => {
            let _ = write!(out, " DEFAULT ({text})");
        }
        ColumnDefault::Literal(value) => {
            out.push_str(" DEFAULT ");
            match value {
                Value::Bit(bits, _) => {
                    let _ = write!(out, "b'{bits:b}'");
                }
                value => match binary_default(value, &column.ty) {
                    None => quote_text(out, &default_text(value, &column.ty)),
                    // As in MySQL, whose dictionary keeps the text in utf8mb3.
                    Some(bytes) => match String::from_utf8(bytes) {
                        Ok(text) if text.chars().all(|c| c.len_utf8() < 4) => quote_text(out, &text),
                        Ok(text) => out.push_str(&hexadecimal(text.as_bytes())),
                        Err(e) => out.push_str(&hexadecimal(e.as_bytes())),
                    },
                },
            }
        }
    }
}

/// The bytes of a constant default of a binary string.
fn binary_default(value: &Value, ty: &SqlType) -> Option<Vec<u8>> {
    ty.id.is_binary_string().then(|| {
        let mut bytes = Vec::new();
        value.write_text(&mut bytes);
        if ty.id == TypeId::Binary {
            bytes.resize(ty.length as usize, 0);
        }
        bytes
    })
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut text = String::from("0x");
    for b in bytes {
        let _ = write!(text, "{b:02X}");
    }
    text
}

/// The text of a constant default, which is no binary string, without quotes.
fn default_text(value: &Value, ty: &SqlType) -> String {
    let mut bytes = Vec::new();
    match value {
        Value::Double(v) if ty.scale != SqlType::NOT_FIXED => {
            gannet_types::convert::float::write_fixed(*v, ty.scale, &mut bytes);
        }
        Value::Float(v) if ty.scale != SqlType::NOT_FIXED => {
            gannet_types::convert::float::write_fixed(f64::from(*v), ty.scale, &mut bytes);
        }
        value => value.write_text(&mut bytes),
    }
    let charset = if let Value::Str(_, c) = value { c.charset() } else { Charset::Utf8mb4 };
    let text = String::from_utf8_lossy(&charset.convert(&bytes, Charset::Utf8mb4).bytes).into_owned();
    if ty.zerofill && ty.length > 0 { format!("{text:0>width$}", width = ty.length as usize) } else { text }
}

/// A foreign key's clause, as errors and SHOW CREATE TABLE have it.
pub fn foreign_key_text(table: &Table, key: &ForeignKey) -> String {
    let mut out = String::new();
    write_foreign_key(&mut out, table, key, &ShowOptions::default());
    out
}

fn write_foreign_key(out: &mut String, table: &Table, key: &ForeignKey, options: &ShowOptions) {
    out.push_str("CONSTRAINT ");
    name(out, &key.name, options);
    out.push_str(" FOREIGN KEY (");
    for (i, column) in key.columns.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        name(out, &table.columns[*column as usize].name, options);
    }
    out.push_str(") REFERENCES ");
    if key.parent_schema != table.schema {
        name(out, &key.parent_schema, options);
        out.push('.');
    }
    name(out, &key.parent, options);
    out.push_str(" (");
    for (i, column) in key.parent_columns.iter().enumerate() {
        out.push_str(if i > 0 { ", " } else { "" });
        name(out, column, options);
    }
    out.push(')');
    for (words, action) in [(" ON DELETE ", key.on_delete), (" ON UPDATE ", key.on_update)] {
        if action != ReferenceAction::NoAction {
            out.push_str(words);
            out.push_str(action.words());
        }
    }
}

fn write_index(out: &mut String, table: &Table, index: &Index, options: &ShowOptions) {
    match index.kind {
        IndexKind::Primary => out.push_str("PRIMARY KEY"),
        IndexKind::Unique => out.push_str("UNIQUE KEY "),
        IndexKind::Plain if index.text().is_some() => out.push_str("FULLTEXT KEY "),
        IndexKind::Plain => out.push_str("KEY "),
    }
    if index.kind != IndexKind::Primary {
        name(out, &index.name, options);
    }
    out.push_str(" (");
    for (i, part) in index.parts.iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        match &table.columns[part.column as usize] {
            Column { hidden: true, generated: Some(generated), .. } => {
                let _ = write!(out, "({})", generated.expression);
            }
            column => name(out, &column.name, options),
        }
        if let Some(n) = part.prefix {
            let _ = write!(out, "({n})");
        }
        if part.descending {
            out.push_str(" DESC");
        }
    }
    out.push(')');
    match index.using {
        Some(Using::Btree) => out.push_str(" USING BTREE"),
        Some(Using::Hash) => out.push_str(" USING HASH"),
        None => {}
    }
    let of_table = table.options.create_options.iter().find(|(option, _)| **option == *"KEY_BLOCK_SIZE");
    if index.block_size > 0 && of_table.is_none_or(|(_, size)| **size != *index.block_size.to_string()) {
        let _ = write!(out, " KEY_BLOCK_SIZE={}", index.block_size);
    }
    if !index.comment.is_empty() {
        out.push_str(" COMMENT ");
        quote_text(out, &index.comment);
    }
    if index.invisible {
        out.push_str(" /*!80000 INVISIBLE */");
    }
    if let Some(text) = index.text()
        && let gannet_text::Tokens::Ngrams { .. } = text.definition.tokens
    {
        out.push_str(" /*!50100 WITH PARSER `ngram` */ ");
    }
    write_attributes(out, &index.attributes);
}

fn write_attributes(out: &mut String, attributes: &EngineAttributes) {
    for (option, json) in [(ENGINE_ATTRIBUTE, &attributes.engine), (SECONDARY_ENGINE_ATTRIBUTE, &attributes.secondary)]
    {
        if !json.is_empty() {
            let _ = write!(out, " /*!80021 {option} ");
            quote_text(out, json);
            out.push_str(" */");
        }
    }
}

/// Text of `SHOW CREATE DATABASE`.
pub fn show_create_schema(schema: &Schema, if_not_exists: bool, options: &ShowOptions) -> String {
    let mut out = String::from("CREATE DATABASE ");
    if if_not_exists {
        out.push_str("/*!32312 IF NOT EXISTS*/ ");
    }
    name(&mut out, &schema.name, options);
    let charset = schema.collation.charset().name();
    let _ = write!(out, " /*!40100 DEFAULT CHARACTER SET {charset}");
    if !is_default_collation(schema.collation) || schema.collation == CollationId::UTF8MB4_0900_AI_CI {
        let _ = write!(out, " COLLATE {}", schema.collation.get().name);
    }
    out.push_str(" */ /*!80016 DEFAULT ENCRYPTION='N' */");
    if schema.read_only {
        out.push_str(" /* READ ONLY=1 */");
    }
    out
}

/// `Key` of SHOW COLUMNS (`COLUMN_KEY`): PRI, UNI, MUL or empty.
pub fn column_key(table: &Table, column: u32) -> &'static str {
    let mut best = "";
    // Without a primary key the first unique index without NULL stands for it, whether or not the rows are in its
    // order.
    let primary = crate::define::choose_clustered(&table.columns, &table.indexes);
    for (position, index) in table.indexes.iter().enumerate() {
        let Some(at) = index.parts.iter().position(|p| p.column == column) else { continue };
        if primary == Some(position) {
            return "PRI";
        }
        if at > 0 {
            continue;
        }
        if index.unique() && index.parts.len() == 1 {
            best = "UNI";
        } else if best.is_empty() {
            best = "MUL";
        }
    }
    best
}

/// `Default` of SHOW COLUMNS (`COLUMN_DEFAULT`): `None` is NULL.
pub fn column_default(column: &Column) -> Option<String> {
    match &column.default {
        ColumnDefault::None | ColumnDefault::Null | ColumnDefault::Dropped => None,
        ColumnDefault::CurrentTimestamp => Some(current_timestamp(&column.ty)),
        ColumnDefault::Expression(text) => Some(text.to_string()),
        ColumnDefault::Literal(Value::Bit(bits, _)) => Some(format!("b'{bits:b}'")),
        ColumnDefault::Literal(value) => Some(match binary_default(value, &column.ty) {
            None => default_text(value, &column.ty),
            Some(bytes) if bytes.is_empty() => String::new(),
            // What fills a BINARY up is left out here.
            Some(bytes) if column.ty.id == TypeId::Binary => {
                hexadecimal(&bytes[..bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1)])
            }
            Some(bytes) => hexadecimal(&bytes),
        }),
    }
}

/// `Extra` of SHOW COLUMNS.
pub fn column_extra(column: &Column) -> String {
    let mut words: Vec<String> = Vec::new();
    if column.auto_increment {
        words.push("auto_increment".into());
    }
    if matches!(column.default, ColumnDefault::CurrentTimestamp | ColumnDefault::Expression(_)) {
        words.push("DEFAULT_GENERATED".into());
    }
    if column.on_update_now {
        words.push(format!("on update {}", current_timestamp(&column.ty)));
    }
    if let Some(generated) = &column.generated {
        words.push(if generated.stored { "STORED GENERATED" } else { "VIRTUAL GENERATED" }.into());
    }
    if column.invisible {
        words.push("INVISIBLE".into());
    }
    words.join(" ")
}

/// One row of SHOW INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexRow<'a> {
    /// Table.
    pub table: &'a str,
    /// Non_unique
    pub non_unique: bool,
    /// Key_name
    pub key_name: &'a str,
    /// Seq_in_index, from 1.
    pub sequence: u32,
    /// Column_name; none for a functional part.
    pub column: Option<&'a str>,
    /// Expression of a functional part.
    pub expression: Option<&'a str>,
    /// Collation: A or D; none without an order.
    pub direction: Option<&'static str>,
    /// Cardinality
    pub cardinality: u64,
    /// Sub_part
    pub sub_part: Option<u32>,
    /// Null: YES or empty.
    pub nullable: bool,
    /// Index_type
    pub method: &'static str,
    /// Index_comment
    pub comment: &'a str,
    /// Visible
    pub visible: bool,
}

/// Rows of SHOW INDEX, in its order.
pub fn index_rows(table: &Table) -> Vec<IndexRow<'_>> {
    let figures = table.statistics.figures();
    let mut rows = Vec::new();
    for index in &table.indexes {
        for (i, part) in index.parts.iter().enumerate() {
            let column = &table.columns[part.column as usize];
            let hashed = &*table.schema == "performance_schema";
            let ordered = index.text().is_none() && !hashed;
            // Texts are taken for different ones.
            let distinct = match index.text() {
                Some(_) => Some(figures.rows as f64),
                None => figures.distinct(index.tree, i + 1, figures.rows as f64),
            };
            rows.push(IndexRow {
                table: &table.name,
                non_unique: !index.unique(),
                key_name: &index.name,
                sequence: i as u32 + 1,
                column: (!column.hidden).then_some(&*column.name),
                expression: column.generated.as_ref().filter(|_| column.hidden).map(|g| &*g.expression),
                direction: ordered.then_some(if part.descending { "D" } else { "A" }),
                method: match () {
                    () if hashed => "HASH",
                    () if ordered => "BTREE",
                    () => "FULLTEXT",
                },
                // Estimates count one value at least; an empty table has none.
                cardinality: distinct.map_or(0, |d| (d as u64).min(figures.rows)),
                sub_part: part.prefix,
                nullable: column.nullable,
                comment: &index.comment,
                visible: !index.invisible,
            });
        }
    }
    rows
}
