//! Forms that MySQL gives expressions when it keeps them: names of functions, operators in place of functions, operands
//! of logical operators, NOT in front of its operands.

use crate::ast::{
    BaseType, BinaryOp, Call, Cast, CastType, DataType, DateArith, Expr, Ident, IntervalUnit, IsTest, Literal,
    LiteralValue, UnaryOp,
};

/// What the forms depend on.
#[derive(Clone, Copy, Debug)]
pub struct Forms {
    /// Character set of the connection: that of CAST(... AS CHAR).
    pub charset: &'static str,
    /// default_week_format: WEEK(d) means WEEK(d, this).
    pub week_format: u8,
    /// TIME(x) and TIMESTAMP(x) are casts, too. Where `x` has a fraction these lose it.
    pub casts_times: bool,
}

/// The name under which MySQL prints a function.
pub fn name(name: &str) -> &str {
    match name {
        "substring" | "mid" => "substr",
        "lcase" => "lower",
        "ucase" => "upper",
        "character_length" => "char_length",
        "octet_length" => "length",
        "power" => "pow",
        "ceil" => "ceiling",
        "day" => "dayofmonth",
        "sha1" => "sha",
        "atan2" => "atan",
        "schema" => "database",
        "session_user" | "system_user" => "user",
        "current_date" => "curdate",
        "current_time" => "curtime",
        "current_timestamp" | "localtime" | "localtimestamp" => "now",
        other => other,
    }
}

impl Forms {
    /// One node whose operands are done.
    pub fn apply(&self, e: &mut Expr) {
        match e {
            Expr::And(_) | Expr::Or(_) | Expr::Is { .. } | Expr::Unary { op: UnaryOp::Not, .. } => truths(e),
            Expr::Binary { op: BinaryOp::Xor, .. } => truths(e),
            Expr::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right } => {
                if let (Expr::Row(a), Expr::Row(b)) = (&mut **left, &mut **right)
                    && a.len() == b.len()
                {
                    *e = by_columns(*op, std::mem::take(a), std::mem::take(b));
                }
            }
            Expr::Regexp { expr, pattern, negated } => {
                let matched = call("regexp_like", vec![(**expr).clone(), (**pattern).clone()]);
                *e = if *negated { not(matched) } else { matched };
            }
            Expr::JsonPath { column, path, unquote } => {
                let args = vec![Expr::Column((**column).clone()), Expr::Literal((**path).clone())];
                let extracted = call("json_extract", args);
                *e = if *unquote { call("json_unquote", vec![extracted]) } else { extracted };
            }
            Expr::InList { expr, list, negated } if list.len() == 1 => {
                let op = if *negated { BinaryOp::Ne } else { BinaryOp::Eq };
                *e = Expr::Binary { op, left: expr.clone(), right: Box::new(list.remove(0)) };
                self.apply(e);
            }
            Expr::Unary { op: UnaryOp::Binary, expr } => {
                let to = CastType::plain(BaseType::Binary);
                *e = Expr::Cast(Box::new(Cast { expr: (**expr).clone(), at_time_zone: None, to, array: false }));
                self.apply(e);
            }
            Expr::Cast(cast) => self.cast_type(&mut cast.to),
            Expr::Like { negated, .. } if *negated => {
                *negated = false;
                *e = not(e.clone());
            }
            Expr::TimestampFn { diff: false, unit, args } => {
                let (amount, date) = (**args).clone();
                *e = Expr::DateArith(Box::new(DateArith { date, subtract: false, amount, unit: *unit }));
            }
            Expr::Call(c) if c.schema.is_none() && !c.not_builtin => {
                if let Some(other) = self.call(c) {
                    *e = other;
                }
            }
            Expr::Literal(literal) => literal_form(literal),
            _ => {}
        }
    }

    fn cast_type(&self, to: &mut CastType) {
        let CastType::Type(ty) = to else { return };
        match ty.base {
            BaseType::Char if ty.national => {
                (ty.national, ty.charset) = (false, Some(Ident::new("utf8mb3")));
            }
            BaseType::Char if ty.charset.is_none() => ty.charset = Some(Ident::new(self.charset)),
            BaseType::Binary => {
                *ty = DataType { base: BaseType::Char, charset: Some(Ident::new("binary")), ..ty.clone() };
            }
            BaseType::Real => ty.base = BaseType::Double,
            _ => {}
        }
        plain_decimal(to);
    }

    fn call(&self, c: &mut Call) -> Option<Expr> {
        let lower = c.name.text.to_ascii_lowercase();
        c.name.text = name(&lower).into();
        let int = |n: u64| Expr::Literal(Literal::new(LiteralValue::Int(n)));
        let cast = |c: &mut Call, base| {
            let (expr, to) = (c.args.remove(0), CastType::plain(base));
            Expr::Cast(Box::new(Cast { expr, at_time_zone: None, to, array: false }))
        };
        match (&*c.name.text, c.args.len()) {
            ("date", 1) => Some(cast(c, BaseType::Date)),
            ("time", 1) if self.casts_times => Some(cast(c, BaseType::Time)),
            ("timestamp", 1) if self.casts_times => Some(cast(c, BaseType::DateTime)),
            ("isnull", 1) => {
                let expr = Box::new(c.args.remove(0));
                Some(Expr::Is { expr, test: IsTest::Null, negated: false })
            }
            (base @ ("bin" | "oct"), 1) => {
                let base = int(if base == "bin" { 2 } else { 8 });
                Some(call("conv", vec![c.args.remove(0), int(10), base]))
            }
            ("weekofyear", 1) => Some(call("week", vec![c.args.remove(0), int(3)])),
            ("datediff", 2) => {
                let days = |e| Box::new(call("to_days", vec![e]));
                let (right, left) = (c.args.pop()?, c.args.pop()?);
                Some(Expr::Binary { op: BinaryOp::Sub, left: days(left), right: days(right) })
            }
            ("mod", 2) => {
                let (right, left) = (c.args.pop()?, c.args.pop()?);
                Some(Expr::Binary { op: BinaryOp::Mod, left: Box::new(left), right: Box::new(right) })
            }
            ("adddate" | "subdate", 2) => {
                let subtract = &*c.name.text == "subdate";
                let (amount, date) = (c.args.pop()?, c.args.pop()?);
                Some(Expr::DateArith(Box::new(DateArith { date, subtract, amount, unit: IntervalUnit::Day })))
            }
            ("week", 1) => {
                c.args.push(int(u64::from(self.week_format)));
                None
            }
            ("yearweek" | "round", 1) => {
                c.args.push(int(0));
                None
            }
            _ => None,
        }
    }
}

/// Bits are printed as bytes, a decimal with digits on both sides of its point, ODBC's dates as standard ones.
fn literal_form(literal: &mut Literal) {
    match &mut literal.value {
        LiteralValue::Bit { bytes, charset } => {
            literal.value = LiteralValue::Hex { bytes: bytes.clone(), charset: charset.clone() };
        }
        LiteralValue::Decimal(text) => {
            if text.starts_with('.') {
                *text = format!("0{text}").into();
            } else if let Some(whole) = text.strip_suffix('.') {
                *text = whole.into();
            }
        }
        _ => {}
    }
}

/// DECIMAL is DECIMAL(10,0).
pub fn plain_decimal(to: &mut CastType) {
    if let CastType::Type(ty) = to
        && ty.base == BaseType::Decimal
        && ty.decimals.is_none()
    {
        ty.length = Some(ty.length.unwrap_or(10));
        ty.decimals = Some(0);
    }
}

/// A function's call.
pub fn call(name: &str, args: Vec<Expr>) -> Expr {
    let (name, arg_names) = (Ident::new(name), Vec::new());
    Expr::Call(Box::new(Call { schema: None, name, args, arg_names, not_builtin: false, span: Default::default() }))
}

/// Equality of rows is that of their columns.
fn by_columns(op: BinaryOp, a: Vec<Expr>, b: Vec<Expr>) -> Expr {
    let pair = |(a, b)| Expr::Binary { op, left: Box::new(a), right: Box::new(b) };
    let all = a.into_iter().zip(b).map(pair).collect();
    if op == BinaryOp::Eq { Expr::And(all) } else { Expr::Or(all) }
}

fn not(e: Expr) -> Expr {
    Expr::Unary { op: UnaryOp::Not, expr: Box::new(e) }
}

/// Makes the operands of a logical operator truth values: what is none is compared with 0. NOT goes into what it
/// stands in front of.
fn truths(e: &mut Expr) {
    match e {
        Expr::And(list) => {
            *list = flat(std::mem::take(list), |e| match e {
                Expr::And(inner) => Ok(inner),
                other => Err(other),
            });
        }
        Expr::Or(list) => {
            *list = flat(std::mem::take(list), |e| match e {
                Expr::Or(inner) => Ok(inner),
                other => Err(other),
            });
        }
        Expr::Binary { op: BinaryOp::Xor, left, right } => {
            truth(left);
            truth(right);
        }
        Expr::Is { expr, test: IsTest::True | IsTest::False, .. } => truth(expr),
        Expr::Is { test: test @ IsTest::Unknown, .. } => *test = IsTest::Null,
        Expr::Unary { op: UnaryOp::Not, expr } => *e = negated(std::mem::replace(&mut **expr, Expr::Default)),
        _ => {}
    }
}

/// Truth values, those of a list inside the list as its own.
fn flat(list: Vec<Expr>, inside: impl Fn(Expr) -> Result<Vec<Expr>, Expr>) -> Vec<Expr> {
    let mut all = Vec::with_capacity(list.len());
    for mut e in list {
        truth(&mut e);
        match inside(e) {
            Ok(inner) => all.extend(inner),
            Err(other) => all.push(other),
        }
    }
    all
}

/// Makes an expression that is a condition a truth value.
pub fn truth(e: &mut Expr) {
    if !e.is_boolean() {
        let value = std::mem::replace(e, Expr::Default);
        *e = beside_zero(BinaryOp::Ne, value);
    }
}

/// NOT of an expression whose operands are in MySQL's form.
fn negated(mut e: Expr) -> Expr {
    use BinaryOp as B;
    let boolean = e.is_boolean();
    match &mut e {
        Expr::Binary { op, left, .. } => {
            *op = match *op {
                B::Eq => B::Ne,
                B::Ne => B::Eq,
                B::Lt => B::Ge,
                B::Ge => B::Lt,
                B::Gt => B::Le,
                B::Le => B::Gt,
                B::Xor => {
                    **left = negated(std::mem::replace(&mut **left, Expr::Default));
                    B::Xor
                }
                _ if boolean => return not(e),
                _ => return beside_zero(B::Eq, e),
            };
            e
        }
        Expr::And(list) => Expr::Or(std::mem::take(list).into_iter().map(negated).collect()),
        Expr::Or(list) => Expr::And(std::mem::take(list).into_iter().map(negated).collect()),
        Expr::Unary { op: UnaryOp::Not, expr } => {
            let mut inner = std::mem::replace(&mut **expr, Expr::Default);
            truth(&mut inner);
            inner
        }
        Expr::Is { negated, .. } | Expr::InList { negated, .. } | Expr::Between { negated, .. } => {
            *negated = !*negated;
            e
        }
        Expr::Quantified { op, all, .. } if *op != B::NullSafeEq => {
            *op = match *op {
                B::Eq => B::Ne,
                B::Ne => B::Eq,
                B::Lt => B::Ge,
                B::Ge => B::Lt,
                B::Gt => B::Le,
                _ => B::Gt,
            };
            *all = !*all;
            e
        }
        _ if boolean => not(e),
        _ => beside_zero(B::Eq, e),
    }
}

fn beside_zero(op: BinaryOp, value: Expr) -> Expr {
    let zero = Expr::Literal(Literal::new(LiteralValue::Int(0)));
    Expr::Binary { op, left: Box::new(zero), right: Box::new(value) }
}
