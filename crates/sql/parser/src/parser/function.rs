//! Operands: columns, variables, subqueries, and the functions with a grammar of their own.

use super::*;
use crate::keyword::Class;

impl Parser<'_> {
    /// If a call of regular form starts here, reads it up to and with its opening parenthesis.
    #[inline(never)]
    pub(super) fn regular_call(&mut self) -> Result<Option<Box<Call>>> {
        let t = self.tok();
        if self.peek(1).kind == Tok::LParen {
            let callable = match t.kind {
                Tok::Quoted => true,
                _ => !t.kw.is_reserved() || is_reserved_function(t.kw),
            };
            if !callable || is_special(t.kw) {
                return Ok(None);
            }
            self.advance();
            let name = self.ident_of(t)?;
            // A built-in function's name that the lexer did not take for one has white space or quotes around it.
            let spelled = crate::keyword::lookup(self.bytes(t));
            let not_builtin = match t.kind {
                Tok::Quoted => crate::keyword::lookup(name.text.as_bytes()) != Kw::NoKeyword,
                _ => t.kw == Kw::NoKeyword && spelled.class() == Class::Function,
            };
            self.advance();
            return Ok(Some(self.new_call(None, name, not_builtin)));
        }
        if is_ident(t) && self.peek(1).kind == Tok::Dot && is_ident(self.peek(2)) && self.peek(3).kind == Tok::LParen {
            let schema = self.ident()?;
            self.advance();
            let name = self.ident()?;
            self.advance();
            return Ok(Some(self.new_call(Some(schema), name, true)));
        }
        Ok(None)
    }

    fn new_call(&mut self, schema: Option<Ident>, name: Ident, not_builtin: bool) -> Box<Call> {
        if name.text.eq_ignore_ascii_case("found_rows") {
            self.notice(Notice::FoundRows);
        }
        let span = Span { start: schema.as_ref().unwrap_or(&name).span.start, end: self.state.prev_end };
        Box::new(Call { schema, name, args: Vec::new(), arg_names: Vec::new(), not_builtin, span })
    }

    /// A call that is complete.
    fn call(&self, name: Ident, args: Vec<Expr>, start: u32) -> Expr {
        let span = self.span_from(start);
        Expr::Call(Box::new(Call { schema: None, name, args, arg_names: Vec::new(), not_builtin: false, span }))
    }

    /// An operand that is neither an operator's nor a regular call.
    #[inline(never)]
    pub(super) fn primary_expr(&mut self) -> Result<Expr> {
        let t = self.tok();
        match t.kind {
            Tok::Int | Tok::Decimal | Tok::Float | Tok::Str | Tok::NStr | Tok::Hex | Tok::Bit => {
                self.literal().map(Expr::Literal)
            }
            Tok::Param => self.param(),
            Tok::UserVar => self.user_var().map(Expr::UserVar),
            Tok::AtAt => Ok(Expr::SysVar(Box::new(self.sys_var()?))),
            Tok::LParen => self.paren_query().map(Expr::Subquery),
            Tok::LBrace => self.odbc(),
            Tok::Quoted => self.column_ref().map(Expr::Column),
            Tok::Word => self.word_primary(t),
            _ => self.syntax(),
        }
    }

    pub(super) fn param(&mut self) -> Result<Expr> {
        if self.params >= MAX_PARAMS {
            return self.error_at(ErrorKind::TooManyParams, self.here());
        }
        if self.params == 0 {
            self.first_param = self.here();
        }
        self.advance();
        self.params += 1;
        Ok(Expr::Param(self.params - 1))
    }

    #[inline(never)]
    fn word_primary(&mut self, t: Token) -> Result<Expr> {
        let paren = self.peek(1).kind == Tok::LParen;
        match t.kw {
            Kw::NoKeyword => {}
            Kw::NULL => return Ok(self.constant(LiteralValue::Null)),
            Kw::TRUE => return Ok(self.constant(LiteralValue::Bool(true))),
            Kw::FALSE => return Ok(self.constant(LiteralValue::Bool(false))),
            Kw::EXISTS => {
                self.advance();
                return self.paren_query().map(Expr::Exists);
            }
            Kw::DATE | Kw::TIME | Kw::TIMESTAMP if self.peek(1).kind == Tok::Str => {
                self.advance();
                let kind = match t.kw {
                    Kw::DATE => TemporalKind::Date,
                    Kw::TIME => TemporalKind::Time,
                    _ => TemporalKind::DateTime,
                };
                return self.temporal(kind, t.start).map(Expr::Literal);
            }
            Kw::DEFAULT if !paren => {
                self.advance();
                return Ok(Expr::Default);
            }
            Kw::CURRENT_TIMESTAMP
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::CURRENT_DATE
            | Kw::CURRENT_TIME
            | Kw::UTC_DATE
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP
            | Kw::CURRENT_USER => {
                let name = self.any_word()?;
                return Ok(self.call(name, Vec::new(), t.start));
            }
            Kw::MATCH => return self.match_against(),
            kw if paren && is_special(kw) => return self.special(kw),
            _ => {}
        }
        if self.at_literal() {
            return self.literal().map(Expr::Literal);
        }
        self.column_ref().map(Expr::Column)
    }

    /// `@@[scope.][prefix.]name`
    pub(super) fn sys_var(&mut self) -> Result<SysVar> {
        self.expect(Tok::AtAt)?;
        let mut scope = VarScope::Implicit;
        let first = self.tok();
        if self.peek(1).kind == Tok::Dot {
            let word = self.bytes(first);
            for (name, s) in SCOPES {
                if word.eq_ignore_ascii_case(name.as_bytes()) {
                    scope = *s;
                }
            }
            if scope != VarScope::Implicit {
                self.advance();
                self.advance();
            }
        }
        // `@@DEFAULT.key_buffer_size`: DEFAULT is reserved but names the key cache.
        let name = if self.at_kw(Kw::DEFAULT) { self.any_word()? } else { self.ident()? };
        if self.eat(Tok::Dot) {
            return Ok(SysVar { scope, prefix: Some(name), name: self.ident()? });
        }
        Ok(SysVar { scope, prefix: None, name })
    }

    /// `{d '..'}`, `{fn expr}` and so on.
    #[inline(never)]
    fn odbc(&mut self) -> Result<Expr> {
        let start = self.here();
        self.advance();
        let word = self.ident()?;
        let kind = match word.text.to_ascii_lowercase().as_str() {
            "d" => Some(TemporalKind::Date),
            "t" => Some(TemporalKind::Time),
            "ts" => Some(TemporalKind::DateTime),
            _ => None,
        };
        let expr = match kind {
            Some(kind) if self.at(Tok::Str) => {
                let mut literal = self.temporal(kind, start)?;
                if let LiteralValue::Temporal { odbc, .. } = &mut literal.value {
                    *odbc = true;
                }
                Expr::Literal(literal)
            }
            _ => self.expr()?,
        };
        self.expect(Tok::RBrace)?;
        Ok(expr)
    }

    /// A function with a grammar of its own; the current token is its name, the next is `(`.
    #[inline(never)]
    fn special(&mut self, kw: Kw) -> Result<Expr> {
        if let Some(func) = aggregate(kw) {
            return self.aggregate(func);
        }
        if let Some(func) = window(kw) {
            return self.window_function(func);
        }
        let name = self.any_word()?;
        self.expect(Tok::LParen)?;
        let expr = match kw {
            Kw::CAST => self.cast()?,
            Kw::CONVERT => self.convert()?,
            Kw::EXTRACT => self.extract()?,
            Kw::TRIM => self.trim()?,
            Kw::POSITION => self.position(name)?,
            Kw::SUBSTRING | Kw::SUBSTR | Kw::MID => self.substring(name)?,
            Kw::DATE_ADD | Kw::DATE_SUB | Kw::ADDDATE | Kw::SUBDATE => self.date_function(kw, name)?,
            Kw::TIMESTAMPADD | Kw::TIMESTAMPDIFF => self.timestamp_function(kw)?,
            Kw::GET_FORMAT => self.get_format()?,
            Kw::CHAR => self.char_function()?,
            Kw::WEIGHT_STRING => self.weight_string()?,
            Kw::JSON_VALUE => self.json_value()?,
            Kw::DEFAULT => Expr::DefaultOf(self.column_ref()?),
            Kw::VALUES => {
                self.notice(Notice::ValuesElsewhere);
                Expr::ValuesOf(self.column_ref()?)
            }
            _ => return self.syntax(),
        };
        self.expect(Tok::RParen)?;
        Ok(match expr {
            Expr::Call(mut call) => {
                call.span.end = self.state.prev_end;
                Expr::Call(call)
            }
            other => other,
        })
    }

    #[inline(never)]
    fn extract(&mut self) -> Result<Expr> {
        let unit = self.interval_unit()?;
        self.expect_kw(Kw::FROM)?;
        Ok(Expr::Extract { unit, expr: Box::new(self.expr()?) })
    }

    #[inline(never)]
    fn convert(&mut self) -> Result<Expr> {
        let expr = self.expr()?;
        if self.eat_kw(Kw::USING) {
            return Ok(Expr::ConvertUsing { expr: Box::new(expr), charset: self.charset_name()? });
        }
        self.expect(Tok::Comma)?;
        let to = self.cast_type()?;
        Ok(Expr::Cast(Box::new(Cast { expr, at_time_zone: None, to, array: false })))
    }

    /// `POSITION(a IN b)` is `LOCATE(a, b)`.
    #[inline(never)]
    fn position(&mut self, name: Ident) -> Result<Expr> {
        let mut args = vec![self.bit_expr()?];
        self.expect_kw(Kw::IN)?;
        args.push(self.expr()?);
        let start = name.span.start;
        let name = Ident { text: "locate".into(), span: name.span };
        Ok(self.call(name, args, start))
    }

    #[inline(never)]
    fn substring(&mut self, name: Ident) -> Result<Expr> {
        let start = name.span.start;
        let mut args = vec![self.expr()?];
        let words = self.eat_kw(Kw::FROM);
        if !words {
            self.expect(Tok::Comma)?;
        }
        args.push(self.expr()?);
        if if words { self.eat_kw(Kw::FOR) } else { self.eat(Tok::Comma) } {
            args.push(self.expr()?);
        }
        Ok(self.call(name, args, start))
    }

    #[inline(never)]
    fn timestamp_function(&mut self, kw: Kw) -> Result<Expr> {
        let unit = self.interval_unit()?;
        self.expect(Tok::Comma)?;
        let first = self.expr()?;
        self.expect(Tok::Comma)?;
        let args = Box::new((first, self.expr()?));
        Ok(Expr::TimestampFn { diff: kw == Kw::TIMESTAMPDIFF, unit, args })
    }

    #[inline(never)]
    fn get_format(&mut self) -> Result<Expr> {
        let kind = match self.one_of(&[Kw::DATE, Kw::TIME, Kw::DATETIME, Kw::TIMESTAMP]) {
            Some(Kw::DATE) => TemporalKind::Date,
            Some(Kw::TIME) => TemporalKind::Time,
            Some(_) => TemporalKind::DateTime,
            None => return self.syntax(),
        };
        self.expect(Tok::Comma)?;
        Ok(Expr::GetFormat { kind, expr: Box::new(self.expr()?) })
    }

    #[inline(never)]
    fn char_function(&mut self) -> Result<Expr> {
        let args = self.list(Self::expr)?;
        let charset = if self.eat_kw(Kw::USING) { Some(self.charset_name()?) } else { None };
        Ok(Expr::Char { args, charset })
    }

    #[inline(never)]
    fn cast(&mut self) -> Result<Expr> {
        let expr = self.expr()?;
        let at_time_zone = if self.eat_kw(Kw::AT) {
            if !(self.eat_kw(Kw::TIME) && self.eat_kw(Kw::ZONE)) {
                return self.syntax();
            }
            self.eat_kw(Kw::INTERVAL);
            Some(self.string()?)
        } else {
            None
        };
        self.expect_kw(Kw::AS)?;
        let to = self.cast_type()?;
        let array = self.eat_kw(Kw::ARRAY);
        Ok(Expr::Cast(Box::new(Cast { expr, at_time_zone, to, array })))
    }

    #[inline(never)]
    fn trim(&mut self) -> Result<Expr> {
        let side = match self.one_of(&[Kw::BOTH, Kw::LEADING, Kw::TRAILING]) {
            Some(Kw::BOTH) => Some(TrimSide::Both),
            Some(Kw::LEADING) => Some(TrimSide::Leading),
            Some(_) => Some(TrimSide::Trailing),
            None => None,
        };
        let (remove, expr) = if side.is_some() && self.eat_kw(Kw::FROM) {
            (None, self.expr()?)
        } else {
            let first = self.expr()?;
            if self.eat_kw(Kw::FROM) {
                (Some(first), self.expr()?)
            } else if side.is_some() {
                return self.syntax();
            } else {
                (None, first)
            }
        };
        Ok(Expr::Trim(Box::new(Trim { side: side.unwrap_or(TrimSide::Both), remove, expr })))
    }

    /// DATE_ADD, DATE_SUB, ADDDATE, SUBDATE, behind the parenthesis.
    #[inline(never)]
    fn date_function(&mut self, kw: Kw, name: Ident) -> Result<Expr> {
        let start = name.span.start;
        let date = self.expr()?;
        self.expect(Tok::Comma)?;
        let subtract = matches!(kw, Kw::DATE_SUB | Kw::SUBDATE);
        if !self.at_kw(Kw::INTERVAL) && matches!(kw, Kw::ADDDATE | Kw::SUBDATE) {
            let args = vec![date, self.expr()?];
            return Ok(self.call(name, args, start));
        }
        self.expect_kw(Kw::INTERVAL)?;
        let amount = self.expr()?;
        let unit = self.interval_unit()?;
        Ok(Expr::DateArith(Box::new(DateArith { date, subtract, amount, unit })))
    }

    #[inline(never)]
    fn weight_string(&mut self) -> Result<Expr> {
        let expr = Box::new(self.expr()?);
        let mut cast = None;
        if self.eat_kw(Kw::AS) {
            let binary = match self.one_of(&[Kw::CHAR, Kw::CHARACTER, Kw::BINARY]) {
                Some(kw) => kw == Kw::BINARY,
                None => return self.syntax(),
            };
            cast = Some((binary, self.paren_number()?));
        }
        let mut shape = None;
        if cast.is_none() && self.at(Tok::Comma) {
            let mut numbers = [0; 3];
            for n in &mut numbers {
                self.expect(Tok::Comma)?;
                *n = self.number()?;
            }
            shape = Some(Box::new(numbers));
        }
        // LEVEL was dropped in 8.0.
        Ok(Expr::WeightString { expr, cast, shape })
    }

    /// The columns may stand without parentheses.
    #[inline(never)]
    fn match_against(&mut self) -> Result<Expr> {
        self.advance();
        let columns =
            if self.at(Tok::LParen) { self.paren_list(Self::column_ref)? } else { self.list(Self::column_ref)? };
        self.expect_kw(Kw::AGAINST)?;
        self.expect(Tok::LParen)?;
        let against = self.bit_expr()?;
        let (mut boolean, mut expansion) = (false, false);
        if self.eat_kw(Kw::IN) {
            if self.eat_kw(Kw::BOOLEAN) {
                boolean = true;
            } else if !(self.eat_kw(Kw::NATURAL) && self.eat_kw(Kw::LANGUAGE)) {
                return self.syntax();
            }
            self.expect_kw(Kw::MODE)?;
        }
        if !boolean && self.eat_kw(Kw::WITH) {
            self.expect_kw(Kw::QUERY)?;
            self.expect_kw(Kw::EXPANSION)?;
            expansion = true;
        }
        self.expect(Tok::RParen)?;
        Ok(Expr::Match(Box::new(Match { columns, against, boolean, expansion })))
    }

    #[inline(never)]
    fn json_value(&mut self) -> Result<Expr> {
        let doc = self.simple_expr()?;
        self.expect(Tok::Comma)?;
        let path = Expr::Literal(self.literal()?);
        let returning = if self.eat_kw(Kw::RETURNING) { Some(self.cast_type()?) } else { None };
        let (on_empty, on_error) = self.json_on()?;
        Ok(Expr::JsonValue(Box::new(JsonValue { doc, path, returning, on_empty, on_error })))
    }

    /// `[x ON EMPTY] [x ON ERROR]`, in either order
    pub(super) fn json_on(&mut self) -> Result<(Option<JsonOn>, Option<JsonOn>)> {
        let (mut empty, mut error) = (None, None);
        while let Some(kw) = self.one_of(&[Kw::NULL, Kw::ERROR, Kw::DEFAULT]) {
            let on = match kw {
                Kw::NULL => JsonOn::Null,
                Kw::ERROR => JsonOn::Error,
                _ => JsonOn::Default(self.signed_literal()?),
            };
            self.expect_kw(Kw::ON)?;
            match self.one_of(&[Kw::EMPTY, Kw::ERROR]) {
                Some(Kw::EMPTY) if empty.is_none() => empty = Some(on),
                Some(Kw::ERROR) if error.is_none() => error = Some(on),
                _ => return self.syntax(),
            }
        }
        Ok((empty, error))
    }

    /// A literal, a constant, or a number with a sign.
    #[inline(never)]
    pub(super) fn signed_literal(&mut self) -> Result<Expr> {
        match self.tok().kind {
            Tok::Minus => {
                self.advance();
                if !matches!(self.tok().kind, Tok::Int | Tok::Decimal | Tok::Float) {
                    return self.syntax();
                }
                let literal = self.literal()?;
                Ok(Expr::Unary { op: UnaryOp::Neg, expr: Box::new(Expr::Literal(literal)) })
            }
            Tok::Plus => {
                self.advance();
                if !matches!(self.tok().kind, Tok::Int | Tok::Decimal | Tok::Float) {
                    return self.syntax();
                }
                self.literal().map(Expr::Literal)
            }
            _ => match self.tok().kw {
                Kw::NULL | Kw::TRUE | Kw::FALSE | Kw::DATE | Kw::TIME | Kw::TIMESTAMP => {
                    let t = self.tok();
                    match self.word_primary(t)? {
                        literal @ Expr::Literal(_) => Ok(literal),
                        _ => self.error_at(ErrorKind::Syntax, t.start),
                    }
                }
                _ if self.at_literal() => self.literal().map(Expr::Literal),
                _ => self.syntax(),
            },
        }
    }

    /// The unit of an interval.
    pub(super) fn interval_unit(&mut self) -> Result<IntervalUnit> {
        use IntervalUnit as U;
        let unit = match self.tok().kw {
            Kw::MICROSECOND => U::Microsecond,
            Kw::SECOND | Kw::SQL_TSI_SECOND => U::Second,
            Kw::MINUTE | Kw::SQL_TSI_MINUTE => U::Minute,
            Kw::HOUR | Kw::SQL_TSI_HOUR => U::Hour,
            Kw::DAY | Kw::SQL_TSI_DAY => U::Day,
            Kw::WEEK | Kw::SQL_TSI_WEEK => U::Week,
            Kw::MONTH | Kw::SQL_TSI_MONTH => U::Month,
            Kw::QUARTER | Kw::SQL_TSI_QUARTER => U::Quarter,
            Kw::YEAR | Kw::SQL_TSI_YEAR => U::Year,
            Kw::SECOND_MICROSECOND => U::SecondMicrosecond,
            Kw::MINUTE_MICROSECOND => U::MinuteMicrosecond,
            Kw::MINUTE_SECOND => U::MinuteSecond,
            Kw::HOUR_MICROSECOND => U::HourMicrosecond,
            Kw::HOUR_SECOND => U::HourSecond,
            Kw::HOUR_MINUTE => U::HourMinute,
            Kw::DAY_MICROSECOND => U::DayMicrosecond,
            Kw::DAY_SECOND => U::DaySecond,
            Kw::DAY_MINUTE => U::DayMinute,
            Kw::DAY_HOUR => U::DayHour,
            Kw::YEAR_MONTH => U::YearMonth,
            _ => return self.syntax(),
        };
        self.advance();
        Ok(unit)
    }
}

const SCOPES: &[(&str, VarScope)] = &[
    ("global", VarScope::Global),
    ("session", VarScope::Session),
    ("local", VarScope::Session),
    ("persist", VarScope::Persist),
    ("persist_only", VarScope::PersistOnly),
];

/// Reserved words that are functions of regular form in front of a parenthesis.
fn is_reserved_function(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::LEFT
            | Kw::RIGHT
            | Kw::REPEAT
            | Kw::REPLACE
            | Kw::INSERT
            | Kw::IF
            | Kw::MOD
            | Kw::DATABASE
            | Kw::SCHEMA
            | Kw::GROUPING
            | Kw::CURRENT_DATE
            | Kw::CURRENT_TIME
            | Kw::CURRENT_TIMESTAMP
            | Kw::CURRENT_USER
            | Kw::LOCALTIME
            | Kw::LOCALTIMESTAMP
            | Kw::UTC_DATE
            | Kw::UTC_TIME
            | Kw::UTC_TIMESTAMP
    )
}

/// Functions with a grammar of their own.
fn is_special(kw: Kw) -> bool {
    matches!(
        kw,
        Kw::CAST
            | Kw::CONVERT
            | Kw::EXTRACT
            | Kw::TRIM
            | Kw::POSITION
            | Kw::SUBSTRING
            | Kw::SUBSTR
            | Kw::MID
            | Kw::DATE_ADD
            | Kw::DATE_SUB
            | Kw::ADDDATE
            | Kw::SUBDATE
            | Kw::TIMESTAMPADD
            | Kw::TIMESTAMPDIFF
            | Kw::GET_FORMAT
            | Kw::CHAR
            | Kw::WEIGHT_STRING
            | Kw::JSON_VALUE
            | Kw::DEFAULT
            | Kw::VALUES
    ) || aggregate(kw).is_some()
        || window(kw).is_some()
}

fn aggregate(kw: Kw) -> Option<AggregateFunc> {
    use AggregateFunc as A;
    Some(match kw {
        Kw::COUNT => A::Count,
        Kw::SUM => A::Sum,
        Kw::AVG => A::Avg,
        Kw::MIN => A::Min,
        Kw::MAX => A::Max,
        Kw::BIT_AND => A::BitAnd,
        Kw::BIT_OR => A::BitOr,
        Kw::BIT_XOR => A::BitXor,
        Kw::STD | Kw::STDDEV | Kw::STDDEV_POP => A::StddevPop,
        Kw::STDDEV_SAMP => A::StddevSamp,
        Kw::VARIANCE | Kw::VAR_POP => A::VarPop,
        Kw::VAR_SAMP => A::VarSamp,
        Kw::GROUP_CONCAT => A::GroupConcat,
        Kw::JSON_ARRAYAGG => A::JsonArrayAgg,
        Kw::JSON_OBJECTAGG => A::JsonObjectAgg,
        Kw::ST_COLLECT => A::StCollect,
        _ => return None,
    })
}

fn window(kw: Kw) -> Option<WindowFunc> {
    use WindowFunc as W;
    Some(match kw {
        Kw::ROW_NUMBER => W::RowNumber,
        Kw::RANK => W::Rank,
        Kw::DENSE_RANK => W::DenseRank,
        Kw::CUME_DIST => W::CumeDist,
        Kw::PERCENT_RANK => W::PercentRank,
        Kw::NTILE => W::Ntile,
        Kw::LEAD => W::Lead,
        Kw::LAG => W::Lag,
        Kw::FIRST_VALUE => W::FirstValue,
        Kw::LAST_VALUE => W::LastValue,
        Kw::NTH_VALUE => W::NthValue,
        _ => return None,
    })
}
