//! Aggregates and window functions.

use super::*;

impl Parser<'_> {
    /// An aggregate; the current token is its name, the next is `(`.
    #[inline(never)]
    pub(super) fn aggregate(&mut self, func: AggregateFunc) -> Result<Expr> {
        use AggregateFunc as A;
        let start = self.here();
        self.advance();
        self.advance();
        let mut agg = Aggregate {
            func,
            distinct: false,
            args: Vec::new(),
            order_by: Vec::new(),
            separator: None,
            over: None,
            span: Span::default(),
        };
        if func == A::Count && self.eat_kw(Kw::ALL) {
            if !self.eat(Tok::Star) {
                agg.args = vec![self.expr()?];
            }
        } else if func != A::Count || !self.eat(Tok::Star) {
            agg.distinct = self.eat_distinct();
            if !agg.distinct && func != A::GroupConcat {
                self.eat_kw(Kw::ALL);
            }
            agg.args = vec![self.expr()?];
            let many = match func {
                A::GroupConcat => true,
                A::Count => agg.distinct,
                A::JsonObjectAgg => {
                    self.expect(Tok::Comma)?;
                    agg.args.push(self.expr()?);
                    false
                }
                _ => false,
            };
            while many && self.eat(Tok::Comma) {
                agg.args.push(self.expr()?);
            }
        }
        if func == A::GroupConcat {
            agg.order_by = self.opt_order_by()?;
            if self.eat_kw(Kw::SEPARATOR) {
                agg.separator = Some(self.string_bytes()?);
            }
        }
        self.expect(Tok::RParen)?;
        if self.at_kw(Kw::OVER) {
            agg.over = Some(self.over()?);
        }
        agg.span = self.span_from(start);
        Ok(Expr::Aggregate(Box::new(agg)))
    }

    pub(super) fn eat_distinct(&mut self) -> bool {
        self.eat_kw(Kw::DISTINCT) || self.eat_kw(Kw::DISTINCTROW)
    }

    /// A window function; the current token is its name, the next is `(`.
    #[inline(never)]
    pub(super) fn window_function(&mut self, func: WindowFunc) -> Result<Expr> {
        let start = self.here();
        self.advance();
        self.advance();
        let (least, most) = func.arguments();
        let mut args = Vec::with_capacity(most);
        while args.len() < most {
            match args.len() {
                0 => {}
                n if n < least => drop(self.expect(Tok::Comma)?),
                _ if self.eat(Tok::Comma) => {}
                _ => break,
            }
            let counts = matches!(
                (func, args.len()),
                (WindowFunc::Lead | WindowFunc::Lag | WindowFunc::NthValue, 1) | (WindowFunc::Ntile, 0)
            );
            args.push(if counts { self.count_of_rows()? } else { self.expr()? });
        }
        self.expect(Tok::RParen)?;
        let mut from_last = false;
        if func == WindowFunc::NthValue && self.eat_kw(Kw::FROM) {
            from_last = match self.one_of(&[Kw::FIRST, Kw::LAST]) {
                Some(kw) => kw == Kw::LAST,
                None => return self.syntax(),
            };
        }
        let ignore_nulls = match self.one_of(&[Kw::RESPECT, Kw::IGNORE]) {
            Some(kw) => {
                self.expect_kw(Kw::NULLS)?;
                Some(kw == Kw::IGNORE)
            }
            None => None,
        };
        let over = self.over()?;
        let span = self.span_from(start);
        Ok(Expr::Window(Box::new(WindowCall { func, args, from_last, ignore_nulls, over, span })))
    }

    #[inline(never)]
    fn over(&mut self) -> Result<WindowRef> {
        self.expect_kw(Kw::OVER)?;
        if self.at(Tok::LParen) {
            return Ok(WindowRef::Spec(Box::new(self.window_spec()?)));
        }
        self.ident().map(WindowRef::Named)
    }

    /// `([base] [PARTITION BY ..] [ORDER BY ..] [frame])`
    pub(super) fn window_spec(&mut self) -> Result<WindowSpec> {
        self.expect(Tok::LParen)?;
        let base = self.opt_ident()?;
        let mut partition_by = Vec::new();
        if self.eat_kw(Kw::PARTITION) {
            self.expect_kw(Kw::BY)?;
            partition_by = self.list(Self::expr)?;
        }
        let order_by = self.opt_order_by()?;
        let frame = match self.one_of(&[Kw::ROWS, Kw::RANGE, Kw::GROUPS]) {
            Some(kw) => Some(self.frame(kw)?),
            None => None,
        };
        self.expect(Tok::RParen)?;
        Ok(WindowSpec { base, partition_by, order_by, frame })
    }

    #[inline(never)]
    fn frame(&mut self, kw: Kw) -> Result<WindowFrame> {
        let unit = match kw {
            Kw::ROWS => FrameUnit::Rows,
            Kw::RANGE => FrameUnit::Range,
            _ => FrameUnit::Groups,
        };
        let both = &[Kw::PRECEDING, Kw::FOLLOWING];
        let (start, end) = if self.eat_kw(Kw::BETWEEN) {
            let start = self.frame_bound(both)?;
            self.expect_kw(Kw::AND)?;
            (start, Some(self.frame_bound(both)?))
        } else {
            (self.frame_bound(&[Kw::PRECEDING])?, None)
        };
        let exclude = if self.eat_kw(Kw::EXCLUDE) {
            Some(match self.one_of(&[Kw::CURRENT, Kw::GROUP, Kw::TIES, Kw::NO]) {
                Some(Kw::CURRENT) => {
                    self.expect_kw(Kw::ROW)?;
                    FrameExclude::CurrentRow
                }
                Some(Kw::GROUP) => FrameExclude::Group,
                Some(Kw::TIES) => FrameExclude::Ties,
                Some(_) => {
                    self.expect_kw(Kw::OTHERS)?;
                    FrameExclude::NoOthers
                }
                None => return self.syntax(),
            })
        } else {
            None
        };
        Ok(WindowFrame { unit, start, end, exclude })
    }

    /// An integer without a sign, a parameter, or a variable.
    fn count_of_rows(&mut self) -> Result<Expr> {
        if self.at(Tok::Int) {
            return Ok(Expr::Literal(self.literal()?));
        }
        let start = self.state.tok.start;
        match self.expr()? {
            count @ (Expr::Param(_) | Expr::UserVar(_) | Expr::Column(_)) => Ok(count),
            _ => self.error_at(ErrorKind::Syntax, start),
        }
    }

    /// `ends`: a frame without BETWEEN does not begin behind the row.
    fn frame_bound(&mut self, ends: &[Kw]) -> Result<FrameBound> {
        if self.eat_kw(Kw::UNBOUNDED) {
            return match self.one_of(ends) {
                Some(Kw::PRECEDING) => Ok(FrameBound::UnboundedPreceding),
                Some(_) => Ok(FrameBound::UnboundedFollowing),
                None => self.syntax(),
            };
        }
        if self.eat_kw2(Kw::CURRENT, Kw::ROW) {
            return Ok(FrameBound::CurrentRow);
        }
        let offset = if self.eat_kw(Kw::INTERVAL) {
            let amount = Box::new(self.expr()?);
            FrameOffset { amount, unit: Some(self.interval_unit()?) }
        } else if self.at(Tok::Param) {
            FrameOffset { amount: Box::new(self.param()?), unit: None }
        } else if let Tok::Int | Tok::Decimal | Tok::Float = self.tok().kind {
            FrameOffset { amount: Box::new(Expr::Literal(self.literal()?)), unit: None }
        } else {
            return self.syntax();
        };
        match self.one_of(ends) {
            Some(Kw::PRECEDING) => Ok(FrameBound::Preceding(offset)),
            Some(_) => Ok(FrameBound::Following(offset)),
            None => self.syntax(),
        }
    }
}
