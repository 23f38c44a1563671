//! JSON_TABLE: rows out of a document.

use super::*;
use gannet_types::json;
use gannet_types::{
    ErrorCode, SqlError,
    convert::{Context, StoreTarget},
    temporal::TimeZone,
};
use std::sync::Arc;

/// JSON_TABLE's paths and columns.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonTable {
    /// Its alias, for EXPLAIN.
    pub name: Box<str>,
    /// The outermost level.
    pub level: JsonLevel,
    /// Number of columns.
    pub width: usize,
}

/// A path whose matches are rows, with the columns of these.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonLevel {
    /// Of the rows.
    pub path: Path,
    /// In the order written.
    pub columns: Vec<JsonColumn>,
}

/// A column, or a level of further ones.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonColumn {
    /// `FOR ORDINALITY`
    Ordinality(usize),
    /// `EXISTS PATH`
    Exists {
        /// Position in the row.
        slot: usize,
        /// Name, for messages.
        name: Arc<str>,
        /// Type.
        ty: SqlType,
        /// Path from the row.
        path: Path,
    },
    /// `PATH`
    Value {
        /// Position in the row.
        slot: usize,
        /// Name, for messages.
        name: Arc<str>,
        /// Type.
        ty: SqlType,
        /// Path from the row.
        path: Path,
        /// ON EMPTY.
        on_empty: JsonOn,
        /// ON ERROR.
        on_error: JsonOn,
    },
    /// `NESTED PATH`
    Nested(JsonLevel),
}

/// What stands where a value is missing or does not fit.
#[derive(Clone, Debug, PartialEq)]
pub enum JsonOn {
    /// NULL.
    Null,
    /// The error.
    Error,
    /// A value of the column's type.
    Default(Value),
}

/// A DEFAULT's text as a value of the column. Error 1067.
pub fn json_default(text: &str, ty: &SqlType, name: &str) -> Result<Value> {
    let invalid = || sql_err!(InvalidDefault, name);
    let json = json::parse(text.as_bytes()).map_err(|_| invalid())?;
    let mut warnings = gannet_types::Warnings::default();
    let cx = Context {
        mode: gannet_types::SqlMode::DEFAULT,
        zone: &TimeZone::UTC,
        today: gannet_types::Date::ZERO,
        strict: true,
        warnings: &mut warnings,
        stopped: gannet_types::convert::never,
        room: Room::FREE,
    };
    if ty.id != TypeId::Json && !json.is_scalar() {
        return Err(invalid());
    }
    convert_value(&json, ty, name, &cx).map_err(|_| invalid())
}

/// A scalar (for JSON columns: anything) as a value of a column; what does not fit is an error.
fn convert_value(json: &Json, ty: &SqlType, name: &str, cx: &Context<'_>) -> Result<Value> {
    if ty.id == TypeId::Json {
        return result(cx.room, json);
    }
    let value = match json {
        Json::Null => return Ok(Value::Null),
        Json::Bool(b) if !ty.id.is_string() => Value::Int(i64::from(*b)),
        Json::Int(v) => Value::Int(*v),
        Json::UInt(v) => Value::UInt(*v),
        Json::Double(v) => Value::Double(*v),
        Json::Decimal(v) => Value::Decimal(*v),
        Json::Date(v) => Value::Date(*v),
        Json::Time(v) => Value::Time(*v, 6),
        Json::DateTime(v) | Json::Timestamp(v) => Value::DateTime(*v, 6),
        Json::String(text) if ty.id.is_numeric() && ty.id != TypeId::Bit => {
            let (_, used, _) = convert::float::parse_double(text.as_bytes());
            if used == 0 || !text[used..].trim().is_empty() {
                let what = match ty.id {
                    TypeId::Decimal => "DECIMAL",
                    TypeId::Float | TypeId::Double => "DOUBLE",
                    _ => "INTEGER",
                };
                return Err(sql_err!(InvalidJsonValueForCast, what, name, 1));
            }
            Value::Str(text.as_bytes().into(), CollationId::UTF8MB4_BIN)
        }
        Json::Opaque(15 | 249..=254, bytes) => Value::bytes(bytes),
        other => {
            let mut out = Vec::new();
            other.write_scalar(&mut out, false);
            text(out)
        }
    };
    // Notes of rounding do not concern the statement.
    let mut notes = gannet_types::Warnings::default();
    let mut strict = Context {
        mode: cx.mode,
        zone: cx.zone,
        today: cx.today,
        strict: true,
        warnings: &mut notes,
        stopped: cx.stopped,
        room: cx.room,
    };
    convert::store(value.as_ref(), ty, StoreTarget { column: name, row: 1 }, &mut strict)
}

/// Out of range and too long have an error of their own where the error is asked for.
fn on_error(e: SqlError, name: &str) -> SqlError {
    match e.code() {
        ErrorCode::WarnDataOutOfRange | ErrorCode::DataTooLong => sql_err!(JtValueOutOfRange, name),
        _ => e,
    }
}

impl JsonTable {
    /// Gives each row to `emit`. `document` is JSON or text; none for NULL. Errors 3141, 3665, 3666, 3669.
    pub fn rows(
        &self,
        cx: &mut EvalContext<'_>,
        ty: &SqlType,
        document_value: &Value,
        emit: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<()> {
        let call = Call { ty, args: std::slice::from_ref(ty), site: 0 };
        let Some(json) = document(cx, call, std::slice::from_ref(document_value), 0, "json_table")? else {
            return Ok(());
        };
        let mut row = vec![Value::Null; self.width];
        self.level.rows(cx, &json, &mut row, emit).map(|_| ())
    }
}

impl JsonLevel {
    /// True when there was a row.
    fn rows(
        &self,
        cx: &mut EvalContext<'_>,
        json: &Json,
        row: &mut [Value],
        emit: &mut dyn FnMut(&[Value]) -> Result<()>,
    ) -> Result<bool> {
        let found = self.path.find(json, cx.room)?;
        for (n, item) in found.iter().enumerate() {
            for column in &self.columns {
                match column {
                    JsonColumn::Ordinality(slot) => row[*slot] = Value::UInt(n as u64 + 1),
                    JsonColumn::Exists { slot, name, ty, path } => {
                        let there = Json::Int(i64::from(path.exists(item, cx.room)?));
                        row[*slot] = convert_value(&there, ty, name, &cx.conversion())?;
                    }
                    JsonColumn::Value { slot, .. } => row[*slot] = column.value(cx, item)?,
                    JsonColumn::Nested(level) => level.clear(row),
                }
            }
            // Nested levels beside each other have their rows one after the other; without any there is the row alone.
            let mut any = false;
            for column in &self.columns {
                if let JsonColumn::Nested(level) = column {
                    any |= level.rows(cx, item, row, emit)?;
                    level.clear(row);
                }
            }
            if !any {
                rules::check_interrupt(cx)?;
                emit(row)?;
            }
        }
        Ok(!found.is_empty())
    }

    fn clear(&self, row: &mut [Value]) {
        for column in &self.columns {
            match column {
                JsonColumn::Ordinality(slot) | JsonColumn::Exists { slot, .. } | JsonColumn::Value { slot, .. } => {
                    row[*slot] = Value::Null
                }
                JsonColumn::Nested(level) => level.clear(row),
            }
        }
    }
}

impl JsonColumn {
    fn value(&self, cx: &mut EvalContext<'_>, item: &Json) -> Result<Value> {
        let JsonColumn::Value { name, ty, path, on_empty, on_error: errors, .. } = self else {
            return Ok(Value::Null);
        };
        let found = path.find(item, cx.room)?;
        let refused = || sql_err!(WrongJsonTableValue, name);
        let value = match &found[..] {
            [] => {
                return match on_empty {
                    JsonOn::Null => Ok(Value::Null),
                    JsonOn::Default(value) => Ok(value.clone()),
                    JsonOn::Error => Err(sql_err!(MissingJsonTableValue, name)),
                };
            }
            [one] if ty.id == TypeId::Json || one.is_scalar() => convert_value(one, ty, name, &cx.conversion()),
            all if ty.id == TypeId::Json => results(cx.room, all),
            _ => {
                return match errors {
                    JsonOn::Null => Ok(Value::Null),
                    JsonOn::Default(value) => Ok(value.clone()),
                    JsonOn::Error => Err(refused()),
                };
            }
        };
        match (value, errors) {
            (Ok(value), _) => Ok(value),
            (Err(e), JsonOn::Error) => Err(on_error(e, name)),
            (Err(_), JsonOn::Default(value)) => Ok(value.clone()),
            (Err(_), JsonOn::Null) => Ok(Value::Null),
        }
    }
}
