//! Expressions: operator precedence with an explicit stack.
//!
//! Operators, parentheses, lists, CASE and calls of regular form wait on [`Parser::open`], not on the native stack, so
//! nesting them costs heap only. Each frame keeps the level its context demands (`min`) and the height of the operands
//! it holds. MySQL's grammar, from the loosest to the tightest level:
//!
//! `:=`, OR, XOR, AND, NOT, comparison and IS, predicates (IN, LIKE, BETWEEN, REGEXP, MEMBER OF; not associative),
//! `|`, `&`, shifts, `+ -`, `* / % DIV MOD`, `^`, `||` as concatenation, unary `- ~ !`, COLLATE.

use super::*;

const LOWEST: u8 = 0;
const OR: u8 = 1;
const XOR: u8 = 2;
const AND: u8 = 3;
const NOT: u8 = 4;
const COMPARE: u8 = 5;
const PREDICATE: u8 = 6;
const BIT_OR: u8 = 7;
const BIT_AND: u8 = 8;
const SHIFT: u8 = 9;
const ADD: u8 = 10;
const MUL: u8 = 11;
/// A unit ends a sum, so that what follows takes all of it: `d + INTERVAL 1 DAY * 2` doubles the sum.
const BIT_XOR: u8 = 12;
const CONCAT: u8 = 13;
const NEG: u8 = 14;
const BINARY: u8 = 15;
const PRIMARY: u8 = 16;

/// Something open that waits for an operand.
pub(crate) struct Frame {
    /// Level the surrounding context demands.
    min: u8,
    /// Greatest height of the operands held.
    height: u32,
    kind: Kind,
}

enum Kind {
    Paren,
    /// `(a, b, ..` or `ROW(..`
    Row(Vec<Expr>),
    Plus,
    Unary(UnaryOp, u8),
    Binary(BinaryOp, u8, Expr),
    And(Expr),
    Or(Expr),
    BetweenLow(Expr, bool),
    BetweenHigh(Box<(Expr, Expr)>, bool),
    Like(Expr, bool),
    Escape(Box<(Expr, Expr)>, bool),
    Regexp(Expr, bool),
    In(Expr, Vec<Expr>, bool),
    MemberOf(Expr),
    Assign(Ident),
    Call(Box<Call>),
    Case(Box<Case>, CasePart),
    /// `date ± INTERVAL amount`
    DateAmount(Expr, bool),
    /// `INTERVAL amount` in front
    LeadingAmount,
    /// `INTERVAL amount unit +`
    LeadingDate(Expr, IntervalUnit),
    /// `[date ±] INTERVAL (`: an amount in parentheses or the function INTERVAL
    IntervalParen(Option<Box<(Expr, bool)>>),
}

#[derive(Clone, Copy)]
enum CasePart {
    Operand,
    When,
    Then,
    Else,
}

/// A complete operand: expression, height, loosest operator that may have it on its left.
struct Value {
    expr: Expr,
    height: u32,
    ceil: u8,
}

enum Step {
    /// A frame was pushed; an operand of at least this level is due.
    Operand(u8),
    /// A value, inside a context that demands this level.
    Value(Value, u8),
    /// Nothing applies.
    Done(Value),
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<Expr> {
        self.expr_at(LOWEST)
    }

    /// An expression in which MySQL allows no subquery.
    pub(super) fn expr_without_subquery(&mut self) -> Result<Expr> {
        self.no_subquery = true;
        let expr = self.expr();
        self.no_subquery = false;
        expr
    }

    /// MySQL's `bit_expr`: no comparison, no predicate, no logical operator.
    pub(super) fn bit_expr(&mut self) -> Result<Expr> {
        self.expr_at(BIT_OR)
    }

    /// MySQL's `simple_expr`.
    pub(super) fn simple_expr(&mut self) -> Result<Expr> {
        self.expr_at(CONCAT)
    }

    fn expr_at(&mut self, min: u8) -> Result<Expr> {
        self.check_stack()?;
        let base = self.open.len();
        self.expr_loop(min, base)
    }

    #[inline(never)]
    fn expr_loop(&mut self, mut min: u8, base: usize) -> Result<Expr> {
        loop {
            let Some(mut value) = self.operand(&mut min)? else { continue };
            loop {
                let step = match self.infix(value, min)? {
                    Step::Done(done) if self.open.len() == base => {
                        self.height = self.height.max(done.height);
                        return Ok(done.expr);
                    }
                    Step::Done(done) => self.reduce(done)?,
                    step => step,
                };
                match step {
                    Step::Operand(level) => {
                        min = level;
                        break;
                    }
                    Step::Value(next, level) | Step::Done(next @ Value { ceil: level, .. }) => {
                        value = next;
                        min = level;
                    }
                }
            }
        }
    }

    fn push(&mut self, min: u8, height: u32, kind: Kind) -> Result<()> {
        if self.open.len() >= MAX_OPEN {
            return self.too_deep();
        }
        self.open.push(Frame { min, height, kind });
        Ok(())
    }

    /// A value of one level more than `height`.
    fn built(&self, expr: Expr, height: u32, ceil: u8, min: u8) -> Result<Step> {
        if height >= MAX_HEIGHT {
            return self.too_deep();
        }
        Ok(Step::Value(Value { expr, height: height + 1, ceil }, min))
    }

    /// Reads an operand, or opens something (and sets the level demanded inside).
    #[inline(never)]
    fn operand(&mut self, min: &mut u8) -> Result<Option<Value>> {
        let t = self.tok();
        let opened = match t.kind {
            Tok::LParen => {
                if self.query_follows(1) {
                    return self.primary().map(Some);
                }
                Kind::Paren
            }
            Tok::Minus => Kind::Unary(UnaryOp::Neg, NEG),
            Tok::Plus => Kind::Plus,
            Tok::Tilde => Kind::Unary(UnaryOp::BitNot, NEG),
            Tok::Bang => {
                self.notice(Notice::Bang);
                Kind::Unary(UnaryOp::Not, NEG)
            }
            Tok::Word => match t.kw {
                Kw::NOT if self.mode.high_not_precedence => Kind::Unary(UnaryOp::Not, NEG),
                Kw::NOT if *min <= NOT => Kind::Unary(UnaryOp::Not, NOT),
                Kw::BINARY => {
                    self.notice(Notice::BinaryOperator);
                    Kind::Unary(UnaryOp::Binary, BINARY)
                }
                Kw::CASE => return self.open_case(min),
                Kw::INTERVAL => {
                    let outer = *min;
                    self.advance();
                    *min = self.open_interval(None, 0, outer)?;
                    return Ok(None);
                }
                Kw::ROW if self.peek(1).kind == Tok::LParen => {
                    self.advance();
                    Kind::Row(Vec::new())
                }
                _ => return self.word_operand(min),
            },
            Tok::Quoted => return self.word_operand(min),
            Tok::UserVar if self.peek(1).kind == Tok::Assign => {
                let var = self.user_var()?;
                self.notice(Notice::AssignInExpression);
                Kind::Assign(var)
            }
            _ => return self.primary().map(Some),
        };
        self.advance();
        let inner = match &opened {
            Kind::Unary(_, level) => *level,
            Kind::Plus => NEG,
            _ => LOWEST,
        };
        self.push(*min, 0, opened)?;
        *min = inner;
        Ok(None)
    }

    /// A call of regular form is opened; anything else is a primary.
    #[inline(never)]
    fn word_operand(&mut self, min: &mut u8) -> Result<Option<Value>> {
        let Some(call) = self.regular_call()? else { return self.primary().map(Some) };
        if self.eat(Tok::RParen) {
            let mut call = call;
            call.span.end = self.state.prev_end;
            return Ok(Some(Value { expr: Expr::Call(call), height: 1, ceil: PRIMARY }));
        }
        self.push(*min, 0, Kind::Call(call))?;
        *min = LOWEST;
        Ok(None)
    }

    #[inline(never)]
    fn open_case(&mut self, min: &mut u8) -> Result<Option<Value>> {
        self.advance();
        let case = Box::new(Case { operand: None, whens: Vec::new(), otherwise: None });
        let part = if self.eat_kw(Kw::WHEN) { CasePart::When } else { CasePart::Operand };
        self.push(*min, 0, Kind::Case(case, part))?;
        *min = LOWEST;
        Ok(None)
    }

    /// Behind INTERVAL; `date` is set if it is the right side of `+` or `-`. Returns the level of the operand due.
    #[inline(never)]
    fn open_interval(&mut self, date: Option<(Expr, bool)>, height: u32, min: u8) -> Result<u8> {
        let kind = if self.at(Tok::LParen) && !self.query_follows(1) {
            self.advance();
            Kind::IntervalParen(date.map(Box::new))
        } else {
            match date {
                Some((date, subtract)) => Kind::DateAmount(date, subtract),
                None => Kind::LeadingAmount,
            }
        };
        self.push(min, height, kind)?;
        Ok(LOWEST)
    }

    /// Something that is no operator, read by recursion.
    #[inline(never)]
    fn primary(&mut self) -> Result<Value> {
        let saved = std::mem::take(&mut self.height);
        let expr = self.primary_expr()?;
        let height = self.height + 1;
        self.height = saved;
        if height > MAX_HEIGHT {
            return self.too_deep();
        }
        Ok(Value { expr, height, ceil: PRIMARY })
    }

    /// The binary operator at the current token and its level.
    fn binary_op(&self) -> Option<(BinaryOp, u8)> {
        use BinaryOp as B;
        Some(match self.tok().kind {
            Tok::Eq => (B::Eq, COMPARE),
            Tok::NullSafeEq => (B::NullSafeEq, COMPARE),
            Tok::Ne => (B::Ne, COMPARE),
            Tok::Lt => (B::Lt, COMPARE),
            Tok::Le => (B::Le, COMPARE),
            Tok::Gt => (B::Gt, COMPARE),
            Tok::Ge => (B::Ge, COMPARE),
            Tok::Pipe => (B::BitOr, BIT_OR),
            Tok::Amp => (B::BitAnd, BIT_AND),
            Tok::Shl => (B::Shl, SHIFT),
            Tok::Shr => (B::Shr, SHIFT),
            Tok::Plus => (B::Add, ADD),
            Tok::Minus => (B::Sub, ADD),
            Tok::Star => (B::Mul, MUL),
            Tok::Slash => (B::Div, MUL),
            Tok::Percent => (B::Mod, MUL),
            Tok::Caret => (B::BitXor, BIT_XOR),
            Tok::PipePipe if self.mode.pipes_as_concat => (B::Concat, CONCAT),
            Tok::Word => match self.tok().kw {
                Kw::DIV => (B::IntDiv, MUL),
                Kw::MOD => (B::Mod, MUL),
                Kw::XOR => (B::Xor, XOR),
                _ => return None,
            },
            _ => return None,
        })
    }

    /// Applies what follows a value, if it binds tightly enough.
    #[inline(never)]
    fn infix(&mut self, value: Value, min: u8) -> Result<Step> {
        if let Some((op, level)) = self.binary_op() {
            if level < min || level > value.ceil {
                return Ok(Step::Done(value));
            }
            self.advance();
            if level == COMPARE
                && op != BinaryOp::NullSafeEq
                && matches!(self.tok().kw, Kw::ANY | Kw::SOME | Kw::ALL)
                && self.peek(1).kind == Tok::LParen
            {
                return self.quantified(value, op, min);
            }
            if level == ADD && self.at_kw(Kw::INTERVAL) {
                self.advance();
                let date = Some((value.expr, op == BinaryOp::Sub));
                return self.open_interval(date, value.height, min).map(Step::Operand);
            }
            self.push(min, value.height, Kind::Binary(op, level, value.expr))?;
            return Ok(Step::Operand(level + 1));
        }
        match self.tok().kind {
            Tok::AmpAmp => self.logical(value, min, AND),
            Tok::PipePipe => self.logical(value, min, OR),
            Tok::Arrow | Tok::LongArrow if value.ceil == PRIMARY => self.json_path(value, min),
            Tok::Word => match self.tok().kw {
                Kw::NoKeyword => Ok(Step::Done(value)),
                Kw::AND => self.logical(value, min, AND),
                Kw::OR => self.logical(value, min, OR),
                Kw::COLLATE if value.ceil == PRIMARY => {
                    self.advance();
                    let collation = self.collation_in_expr()?;
                    let expr = Expr::Collate { expr: Box::new(value.expr), collation };
                    self.built(expr, value.height, PRIMARY, min)
                }
                Kw::IS => self.is_test(value, min),
                Kw::NOT | Kw::IN | Kw::LIKE | Kw::BETWEEN | Kw::REGEXP | Kw::RLIKE | Kw::SOUNDS | Kw::MEMBER => {
                    self.predicate(value, min)
                }
                _ => Ok(Step::Done(value)),
            },
            _ => Ok(Step::Done(value)),
        }
    }

    fn logical(&mut self, value: Value, min: u8, level: u8) -> Result<Step> {
        if level < min || level > value.ceil {
            return Ok(Step::Done(value));
        }
        match self.advance().kind {
            Tok::AmpAmp => self.notice(Notice::AmpAmp),
            Tok::PipePipe => self.notice(Notice::PipePipe),
            _ => {}
        }
        let kind = if level == AND { Kind::And(value.expr) } else { Kind::Or(value.expr) };
        self.push(min, value.height, kind)?;
        Ok(Step::Operand(level + 1))
    }

    #[inline(never)]
    fn json_path(&mut self, value: Value, min: u8) -> Result<Step> {
        let Expr::Column(column) = value.expr else { return self.syntax() };
        let unquote = self.advance().kind == Tok::LongArrow;
        let (column, path) = (Box::new(column), Box::new(self.string_literal()?));
        self.built(Expr::JsonPath { column, path, unquote }, value.height, PRIMARY, min)
    }

    #[inline(never)]
    fn quantified(&mut self, value: Value, op: BinaryOp, min: u8) -> Result<Step> {
        let all = self.advance().kw == Kw::ALL;
        let (query, height) = self.measured(Self::paren_query)?;
        let left = Box::new(value.expr);
        let expr = match (op, all) {
            // The manual: an alias for IN.
            (BinaryOp::Eq, false) => Expr::InSubquery { expr: left, query, negated: false },
            _ => Expr::Quantified { left, op, all, query },
        };
        self.built(expr, value.height.max(height), COMPARE, min)
    }

    /// Runs `f` and measures the expressions in it.
    fn measured<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, u32)> {
        let saved = std::mem::take(&mut self.height);
        let result = f(self)?;
        let height = std::mem::replace(&mut self.height, saved);
        Ok((result, height))
    }

    #[inline(never)]
    fn is_test(&mut self, value: Value, min: u8) -> Result<Step> {
        if COMPARE < min || COMPARE > value.ceil {
            return Ok(Step::Done(value));
        }
        self.advance();
        let negated = self.eat_kw(Kw::NOT);
        let (test, ceil) = match self.tok() {
            Token { kw: Kw::NULL, .. } => (IsTest::Null, COMPARE),
            Token { kw: Kw::TRUE, .. } => (IsTest::True, AND),
            Token { kw: Kw::FALSE, .. } => (IsTest::False, AND),
            Token { kw: Kw::UNKNOWN, .. } => (IsTest::Unknown, AND),
            _ => return self.syntax(),
        };
        self.advance();
        self.built(Expr::Is { expr: Box::new(value.expr), test, negated }, value.height, ceil, min)
    }

    /// IN, LIKE, BETWEEN, REGEXP, SOUNDS LIKE, MEMBER OF, with or without NOT.
    #[inline(never)]
    fn predicate(&mut self, value: Value, min: u8) -> Result<Step> {
        let negated = self.at_kw(Kw::NOT);
        let word = if negated { self.peek(1).kw } else { self.tok().kw };
        let next = if negated { self.peek(2) } else { self.peek(1) };
        let applies = match word {
            Kw::IN | Kw::LIKE | Kw::BETWEEN | Kw::REGEXP | Kw::RLIKE => true,
            Kw::SOUNDS => !negated && next.kw == Kw::LIKE,
            Kw::MEMBER => !negated && (next.kw == Kw::OF || next.kind == Tok::LParen),
            _ => false,
        };
        if !applies || PREDICATE < min || PREDICATE > value.ceil {
            return Ok(Step::Done(value));
        }
        self.advance();
        if negated {
            self.advance();
        }
        let (kind, level) = match word {
            Kw::LIKE => (Kind::Like(value.expr, negated), CONCAT),
            Kw::BETWEEN => (Kind::BetweenLow(value.expr, negated), BIT_OR),
            Kw::REGEXP | Kw::RLIKE => (Kind::Regexp(value.expr, negated), BIT_OR),
            Kw::SOUNDS => {
                self.advance();
                (Kind::Binary(BinaryOp::SoundsLike, PREDICATE - 1, value.expr), BIT_OR)
            }
            Kw::MEMBER => {
                self.eat_kw(Kw::OF);
                self.expect(Tok::LParen)?;
                (Kind::MemberOf(value.expr), CONCAT)
            }
            _ => {
                if self.at(Tok::LParen) && self.query_follows(1) {
                    return self.in_query(value, negated, min);
                }
                self.expect(Tok::LParen)?;
                (Kind::In(value.expr, Vec::new(), negated), LOWEST)
            }
        };
        self.push(min, value.height, kind)?;
        Ok(Step::Operand(level))
    }

    #[inline(never)]
    fn in_query(&mut self, value: Value, negated: bool, min: u8) -> Result<Step> {
        let (query, height) = self.measured(Self::paren_query)?;
        let expr = Expr::InSubquery { expr: Box::new(value.expr), query, negated };
        self.built(expr, value.height.max(height), COMPARE, min)
    }

    /// Gives a complete value to the innermost open frame.
    #[inline(never)]
    fn reduce(&mut self, value: Value) -> Result<Step> {
        let Some(Frame { min, height: held, kind }) = self.open.pop() else { return self.syntax() };
        let height = held.max(value.height);
        let expr = value.expr;
        let (expr, ceil) = match kind {
            Kind::Paren => return self.close_paren(expr, height, min),
            Kind::Row(mut items) => {
                items.push(expr);
                if self.eat(Tok::Comma) {
                    self.push(min, height, Kind::Row(items))?;
                    return Ok(Step::Operand(LOWEST));
                }
                self.expect(Tok::RParen)?;
                (Expr::Row(items), PRIMARY)
            }
            Kind::Plus => return Ok(Step::Value(Value { expr, height: value.height, ceil: NEG }, min)),
            Kind::Unary(op, level) => {
                let ceil = if level == NOT { AND } else { level };
                (Expr::Unary { op, expr: Box::new(expr) }, ceil)
            }
            Kind::Binary(op, level, left) => (Expr::Binary { op, left: Box::new(left), right: Box::new(expr) }, level),
            Kind::And(left) => return self.chain(left, held, expr, height, min, true),
            Kind::Or(left) => return self.chain(left, held, expr, height, min, false),
            Kind::BetweenLow(tested, negated) => {
                self.expect_kw(Kw::AND)?;
                self.push(min, height, Kind::BetweenHigh(Box::new((tested, expr)), negated))?;
                return Ok(Step::Operand(PREDICATE));
            }
            Kind::BetweenHigh(operands, negated) => {
                let (tested, low) = *operands;
                let expr = Expr::Between { expr: Box::new(tested), low: Box::new(low), high: Box::new(expr), negated };
                (expr, COMPARE)
            }
            Kind::Like(tested, negated) => {
                if self.eat_kw(Kw::ESCAPE) {
                    self.push(min, height, Kind::Escape(Box::new((tested, expr)), negated))?;
                    return Ok(Step::Operand(CONCAT));
                }
                (Expr::Like { expr: Box::new(tested), pattern: Box::new(expr), escape: None, negated }, COMPARE)
            }
            Kind::Escape(operands, negated) => {
                let (tested, pattern) = *operands;
                let (tested, pattern, escape) = (Box::new(tested), Box::new(pattern), Some(Box::new(expr)));
                (Expr::Like { expr: tested, pattern, escape, negated }, COMPARE)
            }
            Kind::Regexp(tested, negated) => {
                (Expr::Regexp { expr: Box::new(tested), pattern: Box::new(expr), negated }, COMPARE)
            }
            Kind::In(tested, list, negated) => return self.close_in(tested, list, negated, expr, height, min),
            Kind::MemberOf(tested) => {
                self.expect(Tok::RParen)?;
                (Expr::MemberOf { expr: Box::new(tested), array: Box::new(expr) }, COMPARE)
            }
            Kind::Assign(var) => (Expr::Assign { var, value: Box::new(expr) }, LOWEST),
            Kind::Call(call) => return self.next_argument(call, expr, height, min),
            Kind::Case(case, part) => return self.case_part(case, part, expr, height, min),
            Kind::DateAmount(date, subtract) => {
                let unit = self.interval_unit()?;
                (Expr::DateArith(Box::new(DateArith { date, subtract, amount: expr, unit })), BIT_XOR)
            }
            Kind::LeadingAmount => {
                let unit = self.interval_unit()?;
                self.expect(Tok::Plus)?;
                self.push(min, height, Kind::LeadingDate(expr, unit))?;
                return Ok(Step::Operand(LOWEST));
            }
            Kind::LeadingDate(amount, unit) => {
                (Expr::DateArith(Box::new(DateArith { date: expr, subtract: false, amount, unit })), LOWEST)
            }
            Kind::IntervalParen(date) => return self.interval_paren(date, held, expr, value.height, min),
        };
        self.built(expr, height, ceil, min)
    }

    /// Joins the operands of AND or OR into one list; a list on the left grows without getting higher.
    #[inline(never)]
    fn chain(&mut self, left: Expr, held: u32, right: Expr, height: u32, min: u8, and: bool) -> Result<Step> {
        let ceil = if and { AND } else { OR };
        let (mut list, grown) = match left {
            Expr::And(list) if and => (list, true),
            Expr::Or(list) if !and => (list, true),
            other => (vec![other], false),
        };
        list.push(right);
        let expr = if and { Expr::And(list) } else { Expr::Or(list) };
        if grown && held >= height {
            return Ok(Step::Value(Value { expr, height: held, ceil }, min));
        }
        self.built(expr, height, ceil, min)
    }

    #[inline(never)]
    fn close_paren(&mut self, mut expr: Expr, mut height: u32, min: u8) -> Result<Step> {
        if self.eat(Tok::Comma) {
            self.push(min, height, Kind::Row(vec![expr]))?;
            return Ok(Step::Operand(LOWEST));
        }
        // `((SELECT ..) UNION ..)`: it was a query's parenthesis.
        if !self.at(Tok::RParen)
            && self.query_continues()
            && let Expr::Subquery(query) = expr
        {
            let (query, inner) = self.measured(|p| p.query_behind(query))?;
            height = height.max(inner + 1);
            expr = Expr::Subquery(query);
        }
        self.expect(Tok::RParen)?;
        Ok(Step::Value(Value { expr, height, ceil: PRIMARY }, min))
    }

    #[inline(never)]
    fn close_in(
        &mut self,
        tested: Expr,
        mut list: Vec<Expr>,
        negated: bool,
        mut last: Expr,
        height: u32,
        min: u8,
    ) -> Result<Step> {
        if self.eat(Tok::Comma) {
            list.push(last);
            self.push(min, height, Kind::In(tested, list, negated))?;
            return Ok(Step::Operand(LOWEST));
        }
        if list.is_empty()
            && self.query_continues()
            && let Expr::Subquery(query) = last
        {
            last = Expr::Subquery(self.query_behind(query)?);
        }
        self.expect(Tok::RParen)?;
        let tested = Box::new(tested);
        let expr = match last {
            Expr::Subquery(query) if list.is_empty() => Expr::InSubquery { expr: tested, query, negated },
            last => {
                list.push(last);
                Expr::InList { expr: tested, list, negated }
            }
        };
        self.built(expr, height, COMPARE, min)
    }

    #[inline(never)]
    fn next_argument(&mut self, mut call: Box<Call>, arg: Expr, height: u32, min: u8) -> Result<Step> {
        call.args.push(arg);
        let alias = if call.schema.is_none() && (self.eat_kw(Kw::AS) || is_ident(self.tok()) || self.at(Tok::Str)) {
            Some(SourceText(self.ident_or_string()?.text))
        } else {
            None
        };
        if alias.is_some() || !call.arg_names.is_empty() {
            call.arg_names.resize(call.args.len() - 1, None);
            call.arg_names.push(alias);
        }
        if self.eat(Tok::Comma) {
            self.push(min, height, Kind::Call(call))?;
            return Ok(Step::Operand(LOWEST));
        }
        self.expect(Tok::RParen)?;
        call.span.end = self.state.prev_end;
        self.built(Expr::Call(call), height, PRIMARY, min)
    }

    #[inline(never)]
    fn case_part(&mut self, mut case: Box<Case>, part: CasePart, expr: Expr, height: u32, min: u8) -> Result<Step> {
        let next = match part {
            CasePart::Operand => {
                case.operand = Some(expr);
                self.expect_kw(Kw::WHEN)?;
                CasePart::When
            }
            CasePart::When => {
                self.expect_kw(Kw::THEN)?;
                // The pair is completed by its THEN.
                case.whens.push((expr, Expr::Default));
                CasePart::Then
            }
            CasePart::Then => {
                if let Some(last) = case.whens.last_mut() {
                    last.1 = expr;
                }
                match self.one_of(&[Kw::WHEN, Kw::ELSE, Kw::END]) {
                    Some(Kw::WHEN) => CasePart::When,
                    Some(Kw::ELSE) => CasePart::Else,
                    Some(_) => return self.built(Expr::Case(case), height, PRIMARY, min),
                    None => return self.syntax(),
                }
            }
            CasePart::Else => {
                case.otherwise = Some(expr);
                self.expect_kw(Kw::END)?;
                return self.built(Expr::Case(case), height, PRIMARY, min);
            }
        };
        self.push(min, height, Kind::Case(case, next))?;
        Ok(Step::Operand(LOWEST))
    }

    /// Behind the first expression of `INTERVAL (`.
    #[inline(never)]
    fn interval_paren(
        &mut self,
        date: Option<Box<(Expr, bool)>>,
        held: u32,
        first: Expr,
        height: u32,
        min: u8,
    ) -> Result<Step> {
        if self.eat(Tok::Comma) {
            // The function INTERVAL(n, a, b, ...).
            let mut level = min;
            if let Some(operands) = date {
                let (left, subtract) = *operands;
                let op = if subtract { BinaryOp::Sub } else { BinaryOp::Add };
                self.push(min, held, Kind::Binary(op, ADD, left))?;
                level = ADD + 1;
            }
            let span = self.span_from(self.state.prev_end);
            let call = Call {
                schema: None,
                name: Ident::new("interval"),
                args: vec![first],
                arg_names: Vec::new(),
                not_builtin: false,
                span,
            };
            self.push(level, height, Kind::Call(Box::new(call)))?;
            return Ok(Step::Operand(LOWEST));
        }
        let mut value = Value { expr: first, height, ceil: PRIMARY };
        if self.query_continues()
            && let Expr::Subquery(query) = value.expr
        {
            value.expr = Expr::Subquery(self.query_behind(query)?);
        }
        self.expect(Tok::RParen)?;
        let kind = match date {
            Some(operands) => Kind::DateAmount(operands.0, operands.1),
            None => Kind::LeadingAmount,
        };
        self.push(min, held, kind)?;
        Ok(Step::Value(value, LOWEST))
    }

    /// `@name`
    pub(super) fn user_var(&mut self) -> Result<Ident> {
        let t = self.expect(Tok::UserVar)?;
        let raw = &self.bytes(t)[1..];
        let bytes = match raw.first() {
            Some(b'`') => unquote_name(raw),
            Some(b'\'' | b'"') => unquote_string(raw, self.mode),
            _ => raw.to_vec(),
        };
        let text = self.utf8(t, bytes)?;
        Ok(Ident { text, span: Span { start: t.start, end: t.end } })
    }
}
