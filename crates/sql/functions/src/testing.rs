//! Tests are tables of SQL expressions and their values. A small evaluator binds them to the declarations the way the
//! binder does, without tables and without folding.

use crate::def::{ArgInfo, Call, CallStates, EvalContext, FunctionDef, RuleContext, SessionInfo};
use gannet_parser::ast::{BaseType, BinaryOp, CastType, Expr, LiteralValue, TemporalKind, TrimSide, UnaryOp};
use gannet_types::{
    Coercibility, Collation, CollationId, Date, Decimal, Result, SqlError, SqlMode, SqlType, TimeZone, TypeId, Value,
    Warnings,
    charset::Charset,
    collation::CollationSource,
    convert,
    temporal::{DateFlags, parse_datetime, parse_time},
};

/// Statement start of all tests: 2024-02-29 13:14:15.678901 UTC.
pub(crate) const NOW_US: i64 = 1_709_212_455_678_901;

pub(crate) struct Session {
    random: u64,
}

impl SessionInfo for Session {
    fn database(&self) -> Option<&str> {
        Some("test")
    }
    fn connection_id(&self) -> u64 {
        7
    }
    fn user(&self) -> &str {
        "me@localhost"
    }
    fn current_user(&self) -> &str {
        "me@%"
    }
    fn version(&self) -> &str {
        "8.4.0"
    }
    fn last_insert_id(&self) -> u64 {
        3
    }
    fn set_last_insert_id(&mut self, _: u64) {}
    fn found_rows(&self) -> u64 {
        1
    }
    fn row_count(&self) -> i64 {
        -1
    }
    fn random(&mut self) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random
    }
    fn sleep(&mut self, _: f64) -> bool {
        false
    }
    fn variable(&mut self, name: &str) -> Result<Value> {
        match name {
            "block_encryption_mode" => Ok(Value::text("aes-128-ecb")),
            _ => Err(gannet_types::sql_err!(UnknownSystemVariable, name)),
        }
    }
}

/// An expression's value and type.
pub(crate) struct Typed {
    pub(crate) value: Value,
    pub(crate) ty: SqlType,
    coercibility: Coercibility,
    constant: bool,
    hex: bool,
}

pub(crate) struct Evaluator {
    pub(crate) sql_mode: SqlMode,
    pub(crate) zone: TimeZone,
    pub(crate) collation: CollationId,
    pub(crate) max_allowed_packet: u64,
    pub(crate) strict: bool,
    pub(crate) warnings: Warnings,
    pub(crate) states: CallStates,
    pub(crate) session: Session,
}

impl Default for Evaluator {
    fn default() -> Self {
        Evaluator {
            sql_mode: SqlMode::DEFAULT,
            zone: TimeZone::UTC,
            collation: CollationId::DEFAULT,
            max_allowed_packet: 1 << 20,
            strict: false,
            warnings: Warnings::default(),
            states: CallStates::default(),
            session: Session { random: 1 },
        }
    }
}

fn literal_type(value: &Value) -> SqlType {
    let digits = |n: u64| n.checked_ilog10().unwrap_or(0) + 1;
    match value {
        Value::Null => return SqlType::NULL,
        Value::Int(v) => SqlType { length: digits(v.unsigned_abs()) + 1, ..SqlType::BIGINT },
        Value::UInt(v) => SqlType { length: digits(*v), ..SqlType::bigint_unsigned() },
        Value::Decimal(v) => SqlType::decimal(v.precision(), v.scale()),
        Value::Double(_) => SqlType::DOUBLE,
        Value::Str(text, c) if c.is_binary() => SqlType::varbinary(text.len() as u32),
        Value::Str(text, c) => SqlType::varchar(c.charset().char_count(text) as u32, *c),
        Value::Date(_) => SqlType::new(TypeId::Date),
        Value::Time(_, fsp) => SqlType::temporal(TypeId::Time, *fsp),
        Value::DateTime(_, fsp) => SqlType::temporal(TypeId::DateTime, *fsp),
        other => panic!("no literal: {other:?}"),
    }
    .not_null()
}

impl Evaluator {
    pub(crate) fn context(&mut self) -> EvalContext<'_> {
        EvalContext {
            sql_mode: self.sql_mode,
            time_zone: &self.zone,
            now_us: NOW_US,
            today: Date::new(2024, 2, 29),
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            max_allowed_packet: self.max_allowed_packet,
            default_week_format: 0,
            locale: gannet_types::temporal::Locale::ENGLISH,
            strict: self.strict,
            warnings: &mut self.warnings,
            stopped: gannet_types::convert::never,
            room: gannet_types::room::Room::FREE,
            states: &mut self.states,
            session: &mut self.session,
        }
    }

    /// Value of an expression's text.
    pub(crate) fn text(&mut self, sql: &str) -> Result<Typed> {
        let expr = gannet_parser::parse_expr(sql.as_bytes(), Default::default());
        let expr = expr.unwrap_or_else(|e| panic!("{sql}: {e:?}"));
        self.expr(&expr)
    }

    fn constant(&self, value: Value) -> Typed {
        let ty = literal_type(&value);
        let coercibility = match ty.id {
            TypeId::Null => Coercibility::Ignorable,
            id if id.is_string() => Coercibility::Coercible,
            _ => Coercibility::Numeric,
        };
        Typed { value, ty, coercibility, constant: true, hex: false }
    }

    fn word(&self, text: &str) -> Typed {
        self.constant(Value::Str(text.into(), self.collation))
    }

    fn literal(&self, value: &LiteralValue) -> Result<Typed> {
        let introduced = |name: &Option<Box<str>>, default| match name {
            Some(name) => Charset::by_name(name).map(|c| Collation::default_of(c).id),
            None => Ok(default),
        };
        let mut typed = self.constant(match value {
            LiteralValue::Null => Value::Null,
            LiteralValue::Bool(v) => Value::from(*v),
            LiteralValue::Int(v) => i64::try_from(*v).map_or(Value::UInt(*v), Value::Int),
            LiteralValue::Decimal(text) => Value::Decimal(Decimal::parse(text.as_bytes()).value),
            LiteralValue::Float(text) => Value::Double(text.parse().unwrap()),
            LiteralValue::String { bytes, charset } => {
                Value::Str((&**bytes).into(), introduced(charset, self.collation)?)
            }
            LiteralValue::Hex { bytes, charset } | LiteralValue::Bit { bytes, charset } => {
                Value::Str((&**bytes).into(), introduced(charset, CollationId::BINARY)?)
            }
            LiteralValue::Temporal { kind, text, .. } => match kind {
                TemporalKind::Time => parse_time(text.as_bytes()).map(|t| Value::Time(t.value, t.fsp)).unwrap(),
                TemporalKind::Date => {
                    Value::Date(parse_datetime(text.as_bytes(), DateFlags::LAX).unwrap().value.date())
                }
                TemporalKind::DateTime => {
                    parse_datetime(text.as_bytes(), DateFlags::LAX).map(|t| Value::DateTime(t.value, t.fsp)).unwrap()
                }
            },
        });
        typed.hex = matches!(value, LiteralValue::Hex { charset: None, .. } | LiteralValue::Bit { charset: None, .. });
        Ok(typed)
    }

    fn expr(&mut self, e: &Expr) -> Result<Typed> {
        match e {
            Expr::Literal(literal) => self.literal(&literal.value),
            Expr::Unary { op: UnaryOp::Neg, expr } => {
                let arg = self.expr(expr)?;
                match &arg.value {
                    Value::Int(v) => Ok(self.constant(Value::Int(-v))),
                    Value::UInt(v) if *v == 1 << 63 => Ok(self.constant(Value::Int(i64::MIN))),
                    Value::Decimal(v) => Ok(self.constant(Value::Decimal(-*v))),
                    Value::Double(v) => Ok(self.constant(Value::Double(-v))),
                    _ => self.call("NEGATIVE OF", vec![arg]),
                }
            }
            Expr::Unary { op: UnaryOp::BitNot, expr } => {
                let arg = self.expr(expr)?;
                self.call("~", vec![arg])
            }
            Expr::Unary { op: UnaryOp::Binary, expr } => {
                let arg = self.expr(expr)?;
                let bytes = arg.ty.max_bytes() as u32;
                self.cast(arg, SqlType::varbinary(bytes))
            }
            Expr::Binary { op, left, right } => {
                let args = vec![self.expr(left)?, self.expr(right)?];
                let name = match op {
                    BinaryOp::Add => "+",
                    BinaryOp::Sub => "-",
                    BinaryOp::Mul => "*",
                    BinaryOp::Div => "/",
                    BinaryOp::BitOr => "|",
                    BinaryOp::BitAnd => "&",
                    other => panic!("operator {other:?}"),
                };
                self.call(name, args)
            }
            Expr::Call(call) => {
                let args = call.args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                self.call(&call.name.text, args)
            }
            Expr::Collate { expr, collation } => {
                let mut arg = self.expr(expr)?;
                let id = Collation::by_name(&collation.text)?.id;
                if let Value::Str(_, c) = &mut arg.value {
                    *c = id;
                }
                (arg.ty.collation, arg.coercibility) = (id, Coercibility::Explicit);
                Ok(arg)
            }
            Expr::ConvertUsing { expr, charset } => {
                let arg = self.expr(expr)?;
                let charset = Charset::by_name(&charset.text)?;
                let ty = match charset {
                    Charset::Binary => SqlType::varbinary(arg.ty.max_bytes() as u32),
                    _ => SqlType::varchar(arg.ty.display_chars(), Collation::default_of(charset).id),
                };
                self.cast(arg, ty)
            }
            Expr::Cast(cast) => {
                let arg = self.expr(&cast.expr)?;
                let ty = self.cast_type(&cast.to, &arg);
                self.cast(arg, ty)
            }
            _ => self.special(e),
        }
    }

    fn special(&mut self, e: &Expr) -> Result<Typed> {
        match e {
            Expr::Regexp { expr, pattern, .. } => {
                let args = vec![self.expr(expr)?, self.expr(pattern)?];
                self.call("REGEXP_LIKE", args)
            }
            Expr::MemberOf { expr, array } => {
                let args = vec![self.expr(expr)?, self.expr(array)?];
                self.call("MEMBER OF", args)
            }
            Expr::DateArith(a) => {
                let unit = self.word(a.unit.name());
                let args = vec![self.expr(&a.date)?, self.expr(&a.amount)?, unit];
                self.call(if a.subtract { "DATE_SUB" } else { "DATE_ADD" }, args)
            }
            Expr::Extract { unit, expr } => {
                let args = vec![self.word(unit.name()), self.expr(expr)?];
                self.call("EXTRACT", args)
            }
            Expr::Trim(trim) => {
                let name = match trim.side {
                    TrimSide::Both => "TRIM",
                    TrimSide::Leading => "LTRIM",
                    TrimSide::Trailing => "RTRIM",
                };
                let mut args = vec![self.expr(&trim.expr)?];
                if let Some(remove) = &trim.remove {
                    args.push(self.expr(remove)?);
                }
                self.call(name, args)
            }
            Expr::TimestampFn { diff, unit, args } => {
                let (unit, a, b) = (self.word(unit.name()), self.expr(&args.0)?, self.expr(&args.1)?);
                if *diff {
                    self.call("TIMESTAMPDIFF", vec![unit, a, b])
                } else {
                    self.call("DATE_ADD", vec![b, a, unit])
                }
            }
            Expr::GetFormat { kind, expr } => {
                let kind = match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::DateTime => "DATETIME",
                };
                let args = vec![self.word(kind), self.expr(expr)?];
                self.call("GET_FORMAT", args)
            }
            Expr::Char { args, charset: None } => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                self.call("CHAR", args)
            }
            Expr::WeightString { expr, cast: None, .. } => {
                let args = vec![self.expr(expr)?];
                self.call("WEIGHT_STRING", args)
            }
            other => panic!("expression {other:?}"),
        }
    }

    fn cast_type(&self, to: &CastType, arg: &Typed) -> SqlType {
        let CastType::Type(to) = to else {
            let unsigned = matches!(to, CastType::Unsigned);
            return SqlType { unsigned, ..SqlType::BIGINT };
        };
        let fsp = to.length.unwrap_or(0) as u8;
        match to.base {
            BaseType::Char => match to.length {
                Some(n) => SqlType::varchar(n as u32, self.collation),
                None => SqlType::varchar(arg.ty.display_chars(), self.collation),
            },
            BaseType::Binary => SqlType::varbinary(to.length.map_or(arg.ty.max_bytes() as u32, |n| n as u32)),
            BaseType::Date => SqlType::new(TypeId::Date),
            BaseType::Time => SqlType::temporal(TypeId::Time, fsp),
            BaseType::DateTime => SqlType::temporal(TypeId::DateTime, fsp),
            BaseType::Decimal => SqlType::decimal(to.length.unwrap_or(10) as u8, to.decimals.unwrap_or(0) as u8),
            BaseType::Double => SqlType::DOUBLE,
            BaseType::Year => SqlType::new(TypeId::Year),
            BaseType::Json => SqlType::new(TypeId::Json),
            other => panic!("cast to {other:?}"),
        }
    }

    fn cast(&mut self, arg: Typed, ty: SqlType) -> Result<Typed> {
        let value = convert::cast(arg.value.as_ref(), &ty, &mut self.context().conversion())?;
        let coercibility = if ty.id.is_string() { Coercibility::Implicit } else { Coercibility::Numeric };
        Ok(Typed { value, ty, coercibility, constant: false, hex: false })
    }

    fn call(&mut self, name: &str, mut args: Vec<Typed>) -> Result<Typed> {
        let def: &FunctionDef = crate::function(name).unwrap_or_else(|| panic!("no function {name}"));
        assert!(def.arity.accepts(args.len()), "number of arguments of {name}");
        let numbers = args.iter_mut().enumerate().filter(|(i, a)| def.takes_number_at(*i) && a.hex);
        for (_, arg) in numbers {
            let Value::Str(bytes, _) = &arg.value else { continue };
            let number = bytes.iter().rev().take(8).rev().fold(0u64, |n, b| n << 8 | u64::from(*b));
            *arg = self.constant(Value::UInt(number));
        }
        let info = |a| -> ArgInfo<'_> {
            let a: &Typed = a;
            let ascii_only = matches!(&a.value, Value::Str(t, _) if t.is_ascii());
            let collation = CollationSource { collation: a.ty.collation, coercibility: a.coercibility, ascii_only };
            ArgInfo { ty: &a.ty, constant: a.constant.then_some(&a.value), collation }
        };
        let infos: Vec<ArgInfo<'_>> = args.iter().map(info).collect();
        let cx = RuleContext {
            sql_mode: self.sql_mode,
            div_precision_increment: 4,
            group_concat_max_len: 1024,
            collation: self.collation,
            locale: gannet_types::temporal::Locale::ENGLISH,
        };
        let ty = def.result_type(cx, &infos)?;
        let texts = args.iter().filter(|a| a.ty.id.is_string());
        let coercibility = match texts.map(|a| a.coercibility).min() {
            _ if !ty.id.is_string() => Coercibility::Numeric,
            found => found.unwrap_or(Coercibility::Coercible),
        };
        if !def.keeps_digits {
            args.iter_mut().for_each(|a| a.value.settle(&a.ty));
        }
        let types: Vec<SqlType> = args.iter().map(|a| a.ty.clone()).collect();
        let values: Vec<Value> = args.into_iter().map(|a| a.value).collect();
        let value = if def.null_propagates && values.iter().any(Value::is_null) {
            Value::Null
        } else {
            (def.eval)(&mut self.context(), Call { ty: &ty, args: &types, site: def as *const _ as usize }, &values)?
        };
        fits(name, &value, &ty);
        Ok(Typed { value, ty, coercibility, constant: false, hex: false })
    }
}

/// The value is one of the type that the rule promised.
fn fits(name: &str, value: &Value, ty: &SqlType) {
    let ok = match value {
        Value::Null => ty.nullable,
        Value::Int(_) => ty.id.is_integer() && !ty.unsigned,
        Value::UInt(_) => ty.id.is_integer() && ty.unsigned,
        Value::Decimal(_) => ty.id == TypeId::Decimal,
        Value::Double(_) => ty.id == TypeId::Double,
        Value::Float(_) => ty.id == TypeId::Float,
        Value::Str(text, collation) => {
            let chars = collation.charset().char_count(text) as u64;
            ty.id.is_string() && *collation == ty.collation && chars <= u64::from(ty.length)
        }
        Value::Date(_) => ty.id == TypeId::Date,
        Value::Time(_, fsp) => ty.id == TypeId::Time && *fsp == ty.scale,
        Value::DateTime(_, fsp) => ty.id == TypeId::DateTime && *fsp == ty.scale,
        Value::Year(_) => ty.id == TypeId::Year,
        Value::Json(_) => ty.id == TypeId::Json,
        _ => true,
    };
    assert!(ok, "{name} gives {value:?} ({ty:?})");
}

/// What the table shows: the value's text (bytes that are no UTF-8 as hexadecimal), `ERROR n`, and ` !n` for each
/// warning.
pub(crate) fn shown(evaluator: &mut Evaluator, sql: &str) -> String {
    evaluator.states = CallStates::default();
    let mut text = match evaluator.text(sql) {
        Err(e) => format!("ERROR {}", SqlError::number(&e)),
        Ok(typed) => show(&typed),
    };
    for w in evaluator.warnings.take() {
        text.push_str(&format!(" !{}", w.code.number()));
    }
    text
}

fn show(typed: &Typed) -> String {
    if let (Value::Double(v), TypeId::Double) = (&typed.value, typed.ty.id)
        && typed.ty.scale != SqlType::NOT_FIXED
    {
        let mut out = Vec::new();
        convert::float::write_fixed(*v, typed.ty.scale, &mut out);
        return String::from_utf8(out).unwrap();
    }
    let mut out = Vec::new();
    match &typed.value {
        Value::Null => return "NULL".into(),
        other => other.write_text(&mut out),
    }
    String::from_utf8(out).unwrap_or_else(|e| e.as_bytes().iter().map(|b| format!("{b:02X}")).collect())
}

/// Checks a table of expressions and values.
pub(crate) fn check(rows: &[(&str, &str)]) {
    check_in(&mut Evaluator::default(), rows);
}

pub(crate) fn check_in(evaluator: &mut Evaluator, rows: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (sql, expected) in rows {
        let got = shown(evaluator, sql);
        if got != *expected {
            wrong.push_str(&format!("\n{sql}\n  is        {got}\n  should be {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// A call of a function over values of types and coercibilities: `None` for an error or a result that is no text.
pub(crate) fn outcome(def: &FunctionDef, args: &[&(Value, SqlType, Coercibility)]) -> Option<Value> {
    let mut evaluator = Evaluator::default();
    let source = |a: &&(Value, SqlType, Coercibility)| CollationSource::new(a.1.collation, a.2);
    let sources: Vec<CollationSource> = args.iter().map(source).collect();
    let infos: Vec<ArgInfo<'_>> =
        args.iter().zip(&sources).map(|(a, s)| ArgInfo { ty: &a.1, constant: None, collation: *s }).collect();
    let rules = RuleContext {
        sql_mode: SqlMode::DEFAULT,
        div_precision_increment: 4,
        group_concat_max_len: 1024,
        collation: CollationId::DEFAULT,
        locale: gannet_types::temporal::Locale::ENGLISH,
    };
    let ty = def.result_type(rules, &infos).ok()?;
    let types: Vec<SqlType> = args.iter().map(|a| a.1.clone()).collect();
    let values: Vec<Value> = args.iter().map(|a| a.0.clone()).collect();
    let call = Call { ty: &ty, args: &types, site: 0 };
    (def.eval)(&mut evaluator.context(), call, &values).ok().filter(|v| matches!(v, Value::Str(..)))
}

/// Checks a table of expressions and result types.
pub(crate) fn check_types(rows: &[(&str, &str)]) {
    let mut wrong = String::new();
    for (sql, expected) in rows {
        let mut got = match Evaluator::default().text(sql) {
            Err(e) => format!("ERROR {}", e.number()),
            Ok(t) if t.ty.id.is_integer() && t.ty.length > 0 => format!("{}({})", t.ty, t.ty.length),
            Ok(t) => {
                if t.ty.nullable {
                    t.ty.to_string()
                } else {
                    format!("{} not null", t.ty)
                }
            }
        };
        if got.starts_with("bigint") {
            got = got.replace(" unsigned", "u");
        }
        if got != *expected {
            wrong.push_str(&format!("\n{sql}\n  is        {got}\n  should be {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
