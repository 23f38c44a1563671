//! LOAD DATA: the lines of a file become rows.
//!
//! A line's fields go to columns and user variables in order. Then SET assigns values from both; columns that are in
//! neither get their defaults. A missing field leaves its column empty with warning 1261, a surplus field is dropped
//! with 1262, NULL in a NOT NULL column is its type's zero with 1263: all three are errors in strict mode. Rows are
//! read one at a time, or, where they are built into trees and need nothing of the statement, ahead of their turn by
//! several tasks (`ahead.rs`).

mod ahead;
mod plain;

use super::insert::{Run, way};
use super::{Affected, defaults};
use crate::context::Cx;
use crate::convert;
use crate::file::reader::Field;
use crate::file::{Format, Input, Reader};
use gannet_plan::plan::{Insert, InsertSource, LoadField};
use gannet_plan::{Plan, PlanKind};
use gannet_schema::{Column, ColumnDefault, Table};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Level, Result, SqlError, TypeId, Value, ValueRef, sql_err};

/// What of the statement is not in its plan.
#[derive(Debug)]
pub struct Load<'a> {
    /// Where a line's fields go.
    pub fields: &'a [LoadField],
    /// FIELDS and LINES.
    pub format: &'a Format,
    /// Of the texts in the file.
    pub collation: CollationId,
    /// IGNORE n LINES
    pub skip_lines: u64,
}

impl Load<'_> {
    /// Bytes that a line's fields may have.
    fn limit(&self, cx: &Cx<'_, '_>) -> usize {
        usize::try_from(cx.shared.settings.max_allowed_packet).unwrap_or(usize::MAX)
    }

    /// Widths of the fields in the fixed format. Errors 1084, 1409.
    fn widths(&self, table: &Table) -> Result<Vec<usize>> {
        let width = |f: &LoadField| match f {
            LoadField::Variable(_) => Err(sql_err!(LoadFromFixedSizeRowsToVar)),
            LoadField::Column(c) => {
                let ty = &table.columns[*c as usize].ty;
                match ty.id.is_lob() || ty.id == TypeId::Json {
                    true => Err(sql_err!(BlobsAndNoTerminated)),
                    false if ty.id.is_string() => Ok(ty.max_bytes() as usize),
                    false => Ok(ty.display_chars() as usize),
                }
            }
        };
        self.fields.iter().map(width).collect()
    }
}

/// The insertion in a plan of LOAD DATA, and its table.
fn target(plan: &Plan) -> Result<(&Insert, &Table)> {
    match &plan.kind {
        PlanKind::Insert(insert) => Ok((insert, &plan.tables[insert.table as usize].table)),
        _ => Err(SqlError::internal("not a plan of LOAD DATA")),
    }
}

/// Checks what can be checked before the file is asked for.
pub fn check_load(load: &Load<'_>, plan: &Plan) -> Result<()> {
    if load.format.is_fixed() { load.widths(target(plan)?.1).map(drop) } else { Ok(()) }
}

/// Runs LOAD DATA.
pub fn load<'p>(load: &Load<'_>, input: &mut dyn Input, cx: &mut Cx<'_, 'p>) -> Result<Affected> {
    let plan: &'p Plan = cx.shared.plan;
    let (insert, table) = target(plan)?;
    cx.ignore = insert.ignore;
    cx.strict = cx.shared.settings.sql_mode.is_strict() && !cx.ignore;
    let limit = load.limit(cx);
    let mut reader = Reader::of(load.collation.charset(), load.format, input, limit);
    let mut run = Run::new(insert, table, 1);
    skip(load, table, &mut reader)?;
    way::await_rows(&mut run, true, cx)?;
    let plain = plain::Plain::new(load, (insert, table), limit, cx);
    let mut outcome = each_line(load, &mut reader, &mut run, (insert, table), plain.is_some(), cx);
    if let (Ok(Ended::Built), Some(plain)) = (&outcome, plain) {
        let rest = reader.into_rest();
        outcome = ahead::lines(load, &plain, rest, &mut run, (insert, table), cx).map(|()| Ended::Over);
    }
    way::ended(&mut run, outcome.map(drop), cx)?;
    let (records, rows) = (run.records(), run.affected());
    let (deleted, skipped) = if insert.replace { (run.duplicates(), 0) } else { (0, records.saturating_sub(rows)) };
    let warnings = cx.warnings.total();
    let info = format!("Records: {records}  Deleted: {deleted}  Skipped: {skipped}  Warnings: {warnings}");
    Ok(Affected { info, ..run.finish(cx) })
}

/// IGNORE n LINES. Lines without an end of their own are as long as their fields.
fn skip(load: &Load<'_>, table: &Table, reader: &mut Reader<'_>) -> Result<()> {
    let endless = load.format.line_term.is_empty();
    let fixed = if endless && load.format.is_fixed() { load.widths(table)?.iter().sum() } else { 0 };
    for _ in 0..load.skip_lines {
        if fixed > 0 {
            reader.fixed_line(fixed)?;
        } else if endless {
            for _ in 0..load.fields.len() {
                if reader.next_field()? == Field::End {
                    break;
                }
            }
        }
        if !reader.next_line()? {
            break;
        }
    }
    Ok(())
}

/// Why no more lines were put in.
enum Ended {
    /// There are none.
    Over,
    /// Rows are built into trees from now on. The reader is where a line begins.
    Built,
}

/// Puts lines in; `leaves`: only until rows are built into trees.
fn each_line<'p>(
    load: &Load<'_>,
    reader: &mut Reader<'_>,
    run: &mut Run<'p>,
    (insert, table): (&'p Insert, &'p Table),
    leaves: bool,
    cx: &mut Cx<'_, 'p>,
) -> Result<Ended> {
    let widths = if load.format.is_fixed() { Some(load.widths(table)?) } else { None };
    loop {
        let mut row: Vec<Option<Value>> = vec![None; table.columns.len()];
        let number = run.records() + 1;
        let any = match &widths {
            Some(widths) => fixed_row(load, widths, reader, &mut row, number, cx)?,
            None => row_of(load, reader, &mut row, number, cx)?,
        };
        if !any {
            break;
        }
        let row = run.row_from_fields(row, assignments(insert, load), cx)?;
        run.store(row, None, cx)?;
        // What is behind the fields of a last line without an end is not complained of, like in MySQL.
        if !reader.next_line()? {
            break;
        }
        if reader.line_was_cut() {
            complain(sql_err!(WarnTooManyRecords, number), cx)?;
        }
        cx.check_interrupt()?;
        if leaves && way::is_built(run) {
            return Ok(Ended::Built);
        }
    }
    Ok(Ended::Over)
}

/// SET: the columns behind those of the fields, with their values.
fn assignments<'p>(insert: &'p Insert, load: &Load<'_>) -> super::insert::Assigned<'p> {
    let of_fields = load.fields.iter().filter(|f| matches!(f, LoadField::Column(_))).count();
    match &insert.source {
        InsertSource::Values(lists) => {
            (&insert.columns[of_fields..], lists.first().map_or(&[][..], |l| &l[of_fields..]))
        }
        InsertSource::Query(_) => (&[], &[]),
    }
}

/// An error in strict mode, else a warning.
fn complain(error: SqlError, cx: &mut Cx<'_, '_>) -> Result<()> {
    if cx.strict {
        return Err(error);
    }
    cx.warnings.push(error.to_warning(Level::Warning));
    Ok(())
}

fn row_of(
    load: &Load<'_>,
    reader: &mut Reader<'_>,
    row: &mut [Option<Value>],
    number: u64,
    cx: &mut Cx<'_, '_>,
) -> Result<bool> {
    let mut ended = false;
    for (i, target) in load.fields.iter().enumerate() {
        let field = if ended { Field::End } else { reader.next_field()? };
        if field == Field::End && i == 0 {
            return Ok(false);
        }
        ended |= field == Field::End;
        let value = match field {
            Field::Text => Some(text(reader.field(), load.collation, column(target, cx)?)?),
            Field::Null => Some(ValueRef::Null),
            Field::End => None,
        };
        assign(target, value, false, row, number, cx)?;
    }
    // A line of no fields at all is a line all the same.
    if load.fields.is_empty() {
        return Ok(reader.next_field()? != Field::End);
    }
    Ok(true)
}

fn fixed_row(
    load: &Load<'_>,
    widths: &[usize],
    reader: &mut Reader<'_>,
    row: &mut [Option<Value>],
    number: u64,
    cx: &mut Cx<'_, '_>,
) -> Result<bool> {
    if !reader.fixed_line(widths.iter().sum())? {
        return Ok(false);
    }
    let mut rest = reader.field();
    for (target, width) in load.fields.iter().zip(widths) {
        let (field, left) = rest.split_at((*width).min(rest.len()));
        let value = match rest.is_empty() {
            true => None,
            false => Some(text(field.trim_ascii_end(), load.collation, column(target, cx)?)?),
        };
        rest = left;
        assign(target, value, true, row, number, cx)?;
    }
    Ok(true)
}

/// A field's text for a column, or for a variable. Bytes that are none in the file's character set go on as bytes, for
/// the column to complain of; a column of another character set complains when it converts them. Error 1300 where no
/// character begins.
fn text<'f>(field: &'f [u8], collation: CollationId, column: Option<&Column>) -> Result<ValueRef<'f>> {
    let charset = collation.charset();
    let mut valid = charset.is_valid(field);
    if !valid {
        check_beginnings(field, charset)?;
        valid = column.is_some_and(|column| converts(column, charset));
    }
    Ok(ValueRef::Str(field, if valid { collation } else { CollationId::BINARY }))
}

/// As MySQL reads UTF-8: a byte that begins no character is error 1300, one whose character is incomplete is passed.
fn check_beginnings(field: &[u8], charset: Charset) -> Result<()> {
    let longest = match charset {
        Charset::Utf8mb4 => 4,
        Charset::Utf8mb3 => 3,
        _ => return Ok(()),
    };
    let mut at = 0;
    while let Some(first) = field.get(at) {
        let bytes = match first {
            0..=0x7f => 1,
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf7 => 4,
            _ => 0,
        };
        if bytes == 0 || bytes > longest {
            let before = String::from_utf8_lossy(&field[..at]).replace('\u{fffd}', "?");
            return Err(sql_err!(InvalidCharacterString, charset.name(), before));
        }
        let whole = field.get(at..at + bytes).is_some_and(|c| std::str::from_utf8(c).is_ok());
        at += if whole { bytes } else { 1 };
    }
    Ok(())
}

/// The column is one of texts in another character set.
fn converts(column: &Column, from: Charset) -> bool {
    let ty = &column.ty;
    let to = ty.collation.charset();
    let text = ty.is_text() || matches!(ty.id, TypeId::Enum | TypeId::Set);
    text && to != from && to != Charset::Binary
}

/// The column that a field goes to.
fn column<'p>(target: &LoadField, cx: &Cx<'_, 'p>) -> Result<Option<&'p Column>> {
    let LoadField::Column(ordinal) = target else { return Ok(None) };
    let plan = cx.shared.plan;
    Ok(Some(&self::target(plan)?.1.columns[*ordinal as usize]))
}

fn assign(
    target: &LoadField,
    value: Option<ValueRef<'_>>,
    fixed: bool,
    row: &mut [Option<Value>],
    number: u64,
    cx: &mut Cx<'_, '_>,
) -> Result<()> {
    match target {
        // A variable without a field is NULL, which is nothing to complain of.
        LoadField::Variable(name) => cx.session.set_user_variable(name, value.map_or(Value::Null, |v| v.to_owned())),
        LoadField::Column(ordinal) => {
            let plan = cx.shared.plan;
            let (_, table) = self::target(plan)?;
            let column = &table.columns[*ordinal as usize];
            row[*ordinal as usize] = match value {
                // Whatever the file says, the expression decides.
                Some(_) if column.generated.is_some() => None,
                Some(ValueRef::Null) => Some(null(column, number, cx)?),
                Some(value) => Some(convert::store(value, &table.name, column, number, cx)?),
                None => {
                    complain(sql_err!(WarnTooFewRecords, number), cx)?;
                    if column.generated.is_none() { Some(absent(column, fixed, cx)?) } else { None }
                }
            };
            Ok(())
        }
    }
}

fn null(column: &Column, number: u64, cx: &mut Cx<'_, '_>) -> Result<Value> {
    if column.nullable || column.auto_increment {
        return Ok(Value::Null);
    }
    complain(sql_err!(WarnNullToNotnull, column.name, number), cx)?;
    Ok(defaults::emptied(column))
}

/// What a column gets when the line has no field for it: its bytes are set to zero, or, in the fixed format, stay those
/// of the default, which are zero for NULL.
fn absent(column: &Column, fixed: bool, cx: &mut Cx<'_, '_>) -> Result<Value> {
    match &column.default {
        ColumnDefault::Null | ColumnDefault::None | ColumnDefault::Expression(_) if column.nullable && !fixed => {
            Ok(Value::Null)
        }
        _ if !column.nullable && column.ty.id == TypeId::Timestamp => defaults::now(column, cx),
        ColumnDefault::Literal(value) if fixed => Ok(value.clone()),
        _ => Ok(defaults::emptied(column)),
    }
}
