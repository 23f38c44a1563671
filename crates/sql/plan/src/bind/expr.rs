//! Expressions.

use super::compare::{all_in_domain, in_domain};
use super::fit::{bytes_as, converted, fit, fit_all, may_lose, mix};
use super::literal::literal_class;
use super::operand::{Operand, as_cast, as_number, compare_op};
use super::parameter::{hint_number, hint_of, numbers, parameter_type, real_parameter, whole_parameter};
use super::query::Coercion;
use super::scope::Clause;
use super::{Binder, error};
use crate::expr::{CompareOp, Comparison, Expr, ExprKind, Subquery, SubqueryKind};
use crate::fold;
use crate::make::{and, boolean, not, or, predicate};
use crate::plan::LiteralClass;
use crate::typing::{Bound, common_type, comparison, comparison_of_all, is_stringy};
use gannet_parser::ast::{self, BinaryOp, IsTest, UnaryOp};
use gannet_types::{
    Coercibility, Collation, Date, DateTime, Decimal, ErrorCode, Result, SqlError, SqlType, TypeId, Value, sql_err,
};

/// `(SELECT ...)` as a value or a row of values. A SELECT of one expression without tables is that expression.
fn subquery_operand(b: &mut Binder<'_>, query: &ast::Query, columns: Option<usize>) -> Result<Operand> {
    let bound = super::query::unplaced(b, query, columns)?;
    let stays = b.changes_views && (!b.views.is_empty() || b.names.is_some());
    if let Some((id, value)) = b.lone_value.take().filter(|_| !stays)
        && matches!(&bound.columns[..], [only] if only.id == id)
    {
        if let Some(names) = &mut b.names {
            names.reduce(query);
        }
        return Ok(Operand::Scalar(value));
    }
    let subplan = super::query::placed(b, bound);
    let columns = &b.arena.subqueries[subplan as usize].query.columns;
    if let [only] = &columns[..] {
        return Ok(Operand::Scalar(b.subquery_value(subplan, SubqueryKind::Scalar, only.id)));
    }
    // Each column of the one row is an expression; the subquery runs once for all of them.
    let column = |(i, c): (u32, &crate::logical::OutColumn)| {
        Operand::Scalar(b.subquery_value(subplan, SubqueryKind::Column(i), c.id))
    };
    Ok(Operand::Row((0..).zip(columns).map(column).collect()))
}

impl Binder<'_> {
    /// Binds a condition of WHERE, ON, HAVING.
    pub(super) fn condition(&mut self, e: &ast::Expr) -> Result<Expr> {
        hint_number(self, e, whole_parameter());
        let bound = as_number(self.expr(e)?).expr;
        Ok(match self.clause() {
            Clause::Where | Clause::On => self.zero_dates_are_null(bound),
            _ => bound,
        })
    }

    /// `d IS NULL` holds for the zero date too where column `d` is a DATE or DATETIME declared NOT NULL (manual,
    /// "Comparison Functions and Operators").
    fn zero_dates_are_null(&self, e: Expr) -> Expr {
        let ty = e.ty;
        let kind = match e.kind {
            ExprKind::And(args) => ExprKind::And(args.into_iter().map(|a| self.zero_dates_are_null(a)).collect()),
            ExprKind::Or(args) => ExprKind::Or(args.into_iter().map(|a| self.zero_dates_are_null(a)).collect()),
            ExprKind::IsNull { arg, negated: false } if self.is_date_not_null(&arg) => {
                let zero = match arg.ty.id {
                    TypeId::Date => Value::Date(Date::ZERO),
                    _ => Value::DateTime(DateTime::ZERO, arg.ty.scale),
                };
                let args = Box::new([(*arg).clone(), crate::make::constant(zero)]);
                let (op, by) = (CompareOp::Eq, Comparison::Datetime);
                let equal = predicate(ExprKind::Compare { op, by, args }, arg.ty.nullable);
                if !arg.ty.nullable {
                    return equal;
                }
                ExprKind::Or(Box::new([Expr { kind: ExprKind::IsNull { arg, negated: false }, ty: ty.clone() }, equal]))
            }
            kind => kind,
        };
        Expr { kind, ty }
    }

    fn is_date_not_null(&self, e: &Expr) -> bool {
        let ExprKind::Column(id) = e.kind else { return false };
        let crate::logical::Label::Base { table, ordinal } = self.arena.labels[id as usize] else { return false };
        let columns = &self.arena.tables[table as usize].table.columns;
        matches!(e.ty.id, TypeId::Date | TypeId::DateTime) && columns.get(ordinal as usize).is_some_and(|c| !c.nullable)
    }

    /// Binds an expression of one column. Error 1241 for rows.
    pub(super) fn expr(&mut self, e: &ast::Expr) -> Result<Bound> {
        self.deeper(|b| b.expr_inner(e))
    }

    /// As [`Binder::expr`]; a literal becomes a parameter.
    pub(super) fn lifted(&mut self, e: &ast::Expr) -> Result<Bound> {
        match e {
            ast::Expr::Literal(literal) => {
                self.bound.one(self.options)?;
                self.lift_literal(literal)
            }
            // Beyond BIGINT the negative number is a DECIMAL, which only a literal shows.
            ast::Expr::Unary { op: UnaryOp::Neg, expr } if matches!(&**expr, ast::Expr::Literal(l) if literal_class(&l.value) != LiteralClass::Unsigned) =>
            {
                let arg = self.lifted(expr)?;
                self.negate(arg)
            }
            _ => self.expr(e),
        }
    }

    fn expr_inner(&mut self, e: &ast::Expr) -> Result<Bound> {
        use ast::Expr as E;
        match e {
            E::Literal(literal) => self.pin_literal(literal),
            E::Param(n) => Ok(self.marker(*n)),
            E::Column(column) => self.resolve(column),
            E::UserVar(name) => Ok(self.user_variable(name)),
            E::SysVar(var) => self.system_variable(var),
            E::Assign { var, value } => {
                let mut value = self.expr(value)?;
                // Variables are numbers or texts.
                if value.ty().id.is_temporal() || value.ty().id == TypeId::Json {
                    let length = if value.ty().id == TypeId::Json { u32::MAX / 4 } else { value.ty().display_chars() };
                    let ty = SqlType { nullable: value.ty().nullable, ..SqlType::varchar(length, self.collation) };
                    value = self.cast_to(value, ty);
                }
                if value.ty().id == TypeId::Bit {
                    let ty = SqlType { nullable: value.ty().nullable, ..SqlType::bigint_unsigned() };
                    value = self.cast_to(value, ty);
                }
                self.arena.uses.user_variables = true;
                self.arena.effects.note_assignment(&var.text);
                let mut ty = value.expr.ty.clone();
                if ty.id.is_integer() {
                    (ty.id, ty.length) = (TypeId::BigInt, ty.display_chars());
                }
                let kind = ExprKind::SetUserVar((&*var.text).into(), Box::new(value.expr));
                Ok(Bound::new(Expr { kind, ty }))
            }
            E::Unary { op, expr } => self.unary(*op, expr),
            E::Binary { op, left, right } => self.binary(*op, left, right),
            E::And(args) => self.junction(args, true),
            E::Or(args) => self.junction(args, false),
            E::Is { expr, test, negated } => self.is(expr, *test, *negated),
            E::InList { expr, list, negated } => self.in_list(expr, list, *negated),
            E::InSubquery { expr, query, negated } => self.in_subquery(expr, query, *negated),
            E::Quantified { left, op, all, query } => self.quantified(left, *op, *all, query),
            E::Exists(query) => {
                self.place = super::query::Place { outermost: false, exists: true };
                let subplan = self.subquery(query, None)?;
                Ok(self.subquery_expr(subplan, SubqueryKind::Exists { negated: false }, boolean(false)))
            }
            E::Subquery(query) => match subquery_operand(self, query, Some(1))? {
                Operand::Scalar(value) => Ok(value),
                Operand::Row(_) => Err(error(ErrorCode::OperandColumns, &[&1])),
            },
            E::Between { expr, low, high, negated } => self.between(expr, low, high, *negated),
            E::Like { expr, pattern, escape, negated } => self.like(expr, pattern, escape.as_deref(), *negated),
            E::Case(case) => self.case(case),
            E::Cast(cast) => self.cast(cast),
            E::ConvertUsing { expr, charset } => self.convert_using(expr, charset),
            E::Collate { expr, collation } => self.collate(expr, collation),
            E::Row(_) => Err(error(ErrorCode::OperandColumns, &[&1])),
            E::Aggregate(aggregate) => self.aggregate(aggregate),
            E::Window(call) => self.window_call(call),
            E::Default => Err(error(ErrorCode::CantUseOptionHere, &[&"DEFAULT"])),
            E::DefaultOf(column) => super::operand::default_of(self, column),
            E::ValuesOf(column) => self.values_of(column),
            _ => self.special(e),
        }
    }

    fn user_variable(&mut self, name: &ast::Ident) -> Bound {
        self.arena.uses.user_variables = true;
        // A variable that is NULL now may get a value before it is read.
        let known = match self.filled.iter().any(|n| gannet_schema::names::eq_name(n, &name.text)) {
            false => self.options.variables.and_then(|v| v.user(&name.text)).filter(|ty| ty.id != TypeId::Null),
            true => None,
        };
        let default = SqlType { collation: self.collation, ..SqlType::new(TypeId::LongText) };
        let ty = known.unwrap_or(default);
        Bound::new(Expr { kind: ExprKind::UserVar((&*name.text).into()), ty })
    }

    fn system_variable(&mut self, var: &ast::SysVar) -> Result<Bound> {
        self.arena.uses.system_variables = true;
        let name = match &var.prefix {
            Some(prefix) => format!("{}.{}", prefix.text, var.name.text),
            None => var.name.text.to_string(),
        };
        let name = name.to_lowercase();
        let global = matches!(var.scope, ast::VarScope::Global);
        let ty = match self.options.variables {
            Some(variables) => variables.system(&name, var.scope)?,
            None => SqlType::varchar(1024, self.collation),
        };
        let mut bound = Bound::new(Expr { kind: ExprKind::SysVar { global, name: name.into() }, ty });
        if is_stringy(bound.ty()) {
            bound.coercibility = Coercibility::SysConst;
        }
        Ok(bound)
    }

    fn unary(&mut self, op: UnaryOp, arg: &ast::Expr) -> Result<Bound> {
        match op {
            UnaryOp::Not => {
                // sql_auto_is_null is about IS NULL, which this is not.
                if let ast::Expr::Is { expr, test: IsTest::Null, negated: false } = arg {
                    return self.is(expr, IsTest::Null, true);
                }
                hint_number(self, arg, whole_parameter());
                let arg = as_number(self.expr(arg)?).expr;
                Ok(Bound::new(fold::simplify(not(arg))))
            }
            UnaryOp::Neg => {
                hint_number(self, arg, real_parameter());
                let arg = self.expr(arg)?;
                self.negate(arg)
            }
            UnaryOp::BitNot => {
                let arg = as_number(self.expr(arg)?);
                self.call_named("~", vec![arg])
            }
            UnaryOp::Binary => {
                let arg = self.expr(arg)?;
                let length = arg.ty().max_bytes().min(u64::from(u32::MAX)) as u32;
                let mut ty = SqlType::varbinary(length);
                ty.nullable = arg.ty().nullable;
                Ok(self.cast_to(arg, ty))
            }
        }
    }

    /// `-arg`. A literal is negated at once, so that `-9223372036854775808` is a BIGINT.
    pub(super) fn negate(&mut self, arg: Bound) -> Result<Bound> {
        let arg = as_number(arg);
        let value = match &arg.expr.kind {
            ExprKind::Literal(Value::Int(v)) => Some(match v.checked_neg() {
                Some(n) => Value::Int(n),
                None => Value::Decimal(-Decimal::from_i64(*v)),
            }),
            ExprKind::Literal(Value::UInt(v)) if *v == 1 << 63 => Some(Value::Int(i64::MIN)),
            ExprKind::Literal(Value::UInt(v)) if *v > 1 << 63 => Some(Value::Decimal(-Decimal::from_u64(*v))),
            // A folded quotient has more digits than its type.
            ExprKind::Literal(Value::Decimal(v)) if v.scale() == arg.ty().scale => Some(Value::Decimal(-*v)),
            ExprKind::Literal(Value::Double(v)) => Some(Value::Double(-v)),
            _ => None,
        };
        match value {
            Some(value) => Ok(Bound::new(crate::make::constant(value))),
            None => self.call_named("NEGATIVE OF", vec![arg]),
        }
    }

    fn binary(&mut self, op: BinaryOp, left: &ast::Expr, right: &ast::Expr) -> Result<Bound> {
        if let Some(op) = compare_op(op) {
            let (mut a, mut b) = self.operands(left, right)?;
            self.as_json_boolean(&a, &mut b, right)?;
            self.as_json_boolean(&b, &mut a, left)?;
            return Ok(Bound::new(fold::simplify(self.compare_operands(op, a, b)?)));
        }
        // Integer literals in sums keep their class only: the sum's type does not depend on their digits.
        let liftable = |e: &ast::Expr| matches!(e, ast::Expr::Literal(_));
        let sum = matches!(op, BinaryOp::Add | BinaryOp::Sub) && self.clause() == Clause::Values;
        let bind = |b: &mut Self, e: &ast::Expr| if sum && liftable(e) { b.lifted(e) } else { b.expr(e) };
        let (a, b) = numbers(self, op, (left, right), bind)?;
        let name = match op {
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
            BinaryOp::Div => "/",
            BinaryOp::IntDiv => "DIV",
            BinaryOp::Mod => "%",
            BinaryOp::BitOr => "|",
            BinaryOp::BitAnd => "&",
            BinaryOp::BitXor => "^",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Xor => "XOR",
            BinaryOp::Concat => "CONCAT",
            BinaryOp::SoundsLike => {
                let (a, b) = (self.call_named("SOUNDEX", vec![a])?, self.call_named("SOUNDEX", vec![b])?);
                return Ok(Bound::new(self.compare(CompareOp::Eq, a, b)?));
            }
            _ => return Err(SqlError::internal("a comparison among the arithmetic operators")),
        };
        let numeric = name != "CONCAT" && !super::operand::bits_of_strings(name, &a, &b);
        let number = |b: Bound| if numeric { as_number(b) } else { b };
        self.call_named(name, vec![number(a), number(b)])
    }

    fn junction(&mut self, args: &[ast::Expr], conjunction: bool) -> Result<Bound> {
        let args = args.iter().map(|a| self.condition(a)).collect::<Result<Vec<_>>>()?;
        let e = if conjunction { and(args) } else { or(args) };
        Ok(Bound::new(fold::simplify(e)))
    }

    fn is(&mut self, arg: &ast::Expr, test: IsTest, negated: bool) -> Result<Bound> {
        let arg = match test {
            IsTest::Null | IsTest::Unknown => self.expr(arg)?.expr,
            IsTest::True | IsTest::False => {
                hint_number(self, arg, whole_parameter());
                as_number(self.expr(arg)?).expr
            }
        };
        let e = match test {
            IsTest::Null if !negated && matches!(self.clause(), Clause::Where | Clause::On) => {
                super::generated::null_test(self, arg)
            }
            IsTest::Null | IsTest::Unknown => predicate(ExprKind::IsNull { arg: Box::new(arg), negated }, false),
            // Never NULL: (x AND x IS NOT NULL), by way of CASE.
            IsTest::True | IsTest::False => {
                let truth = if test == IsTest::True { arg } else { not(arg) };
                let value = |b: bool| crate::make::constant(Value::from(b));
                let kind = ExprKind::Case {
                    operand: None,
                    by: Comparison::Integer,
                    whens: Box::new([(truth, value(!negated))]),
                    otherwise: Some(Box::new(value(negated))),
                };
                predicate(kind, false)
            }
        };
        Ok(Bound::new(fold::simplify(e)))
    }

    /// Binds both operands of a comparison; a `?` takes the type of the other one.
    fn operands(&mut self, left: &ast::Expr, right: &ast::Expr) -> Result<(Operand, Operand)> {
        // Two literals decide the plan (`WHERE 1 = 0`).
        if matches!((left, right), (ast::Expr::Literal(_), ast::Expr::Literal(_))) {
            return self.pinned(|b| Ok((b.operand(left)?, b.operand(right)?)));
        }
        if matches!(left, ast::Expr::Param(_)) && !matches!(right, ast::Expr::Param(_)) {
            let b = self.operand(right)?;
            self.hint = hint_of(&b);
            let a = self.operand(left)?;
            self.hint = None;
            return Ok((a, b));
        }
        let a = self.operand(left)?;
        if matches!(right, ast::Expr::Param(_)) {
            self.hint = hint_of(&a);
        }
        let b = self.operand(right)?;
        self.hint = None;
        Ok((a, b))
    }

    pub(super) fn operand(&mut self, e: &ast::Expr) -> Result<Operand> {
        match e {
            ast::Expr::Row(items) => {
                let items = items.iter().map(|e| self.operand(e)).collect::<Result<_>>()?;
                Ok(Operand::Row(items))
            }
            ast::Expr::Subquery(query) => subquery_operand(self, query, None),
            _ => Ok(Operand::Scalar(self.lifted(e)?)),
        }
    }

    fn between(&mut self, arg: &ast::Expr, low: &ast::Expr, high: &ast::Expr, negated: bool) -> Result<Bound> {
        let (arg, low) = self.operands(arg, low)?;
        if matches!(high, ast::Expr::Param(_)) {
            self.hint = hint_of(&arg);
        }
        let high = self.operand(high)?;
        self.hint = None;
        let (Operand::Scalar(arg), Operand::Scalar(low), Operand::Scalar(high)) = (arg, low, high) else {
            return Err(error(ErrorCode::OperandColumns, &[&1]));
        };
        let (low, high) = (self.beside_year(&arg, low)?, self.beside_year(&arg, high)?);
        let by = comparison_of_all(&arg, &[&low, &high], "between")?;
        if matches!(by, Comparison::Datetime | Comparison::Time) {
            super::compare::note_numbers(self, &arg, std::slice::from_ref(&low));
            super::compare::note_numbers(self, &arg, std::slice::from_ref(&high));
        }
        let nullable = arg.ty().nullable || low.ty().nullable || high.ty().nullable;
        let args = Box::new(in_domain(self, [arg, low, high], by, "between")?);
        let e = predicate(ExprKind::Between { by, negated, args }, nullable);
        Ok(Bound::new(fold::simplify(e)))
    }

    fn in_list(&mut self, arg: &ast::Expr, list: &[ast::Expr], negated: bool) -> Result<Bound> {
        let first_param = matches!(arg, ast::Expr::Param(_));
        let arg_operand = if first_param && !list.is_empty() {
            let other = self.operand(&list[0])?;
            self.hint = hint_of(&other);
            let arg = self.operand(arg)?;
            self.hint = None;
            arg
        } else {
            self.operand(arg)?
        };
        let arg = match arg_operand {
            Operand::Scalar(arg) => arg,
            Operand::Row(row) => return self.in_rows(row, list, negated),
        };
        let mut bound = Vec::with_capacity(list.len());
        for item in list {
            if matches!(item, ast::Expr::Param(_)) {
                self.hint = parameter_type(arg.ty());
            }
            match self.operand(item)? {
                Operand::Scalar(item) => bound.push(item),
                Operand::Row(_) => return Err(error(ErrorCode::OperandColumns, &[&1])),
            }
            self.hint = None;
        }
        if let [_] = &bound[..]
            && let Some(only) = bound.pop()
        {
            let op = if negated { CompareOp::Ne } else { CompareOp::Eq };
            return Ok(Bound::new(fold::simplify(self.compare(op, arg, only)?)));
        }
        // Text beside numbers: each member compares in its own domain.
        let is_text = |b: &Bound| is_stringy(b.ty()) || b.ty().id == TypeId::Null;
        if is_stringy(arg.ty()) && bound.iter().any(is_text) && !bound.iter().all(is_text) {
            let (texts, others): (Vec<Bound>, Vec<Bound>) = bound.into_iter().partition(is_text);
            let either = vec![self.in_of(arg.clone(), texts, false)?, self.in_of(arg, others, false)?];
            let e = or(either);
            return Ok(Bound::new(fold::simplify(if negated { not(e) } else { e })));
        }
        Ok(Bound::new(self.in_of(arg, bound, negated)?))
    }

    /// `arg [NOT] IN (list)` in one domain.
    fn in_of(&mut self, arg: Bound, bound: Vec<Bound>, negated: bool) -> Result<Expr> {
        let bound = self.list_beside_year(&arg, bound)?;
        let by = comparison_of_all(&arg, &bound.iter().collect::<Vec<_>>(), " IN ")?;
        super::compare::note_dates(self, by, &arg, &bound);
        let nullable = arg.ty().nullable || bound.iter().any(|b| b.ty().nullable);
        let all = std::iter::once(arg).chain(bound).collect();
        let mut list = all_in_domain(self, all, by, " IN ")?;
        let arg = Box::new(list.remove(0));
        let constant_list = list.iter().all(Expr::is_execution_constant);
        let numbers = matches!(by, Comparison::Double | Comparison::Decimal) && arg.ty.id.is_numeric();
        // As MySQL, which sorts such a list before it looks for anything.
        if numbers && list.iter().all(|e| self.arena.is_written_text(e)) {
            self.arena.listed_texts.extend(list.iter().cloned());
        }
        let list = list.into();
        Ok(predicate(ExprKind::In { by, negated, arg, list, constant_list }, nullable))
    }

    /// `(a, b) IN ((1, 2), ...)` is a disjunction of comparisons.
    fn in_rows(&mut self, row: Vec<Operand>, list: &[ast::Expr], negated: bool) -> Result<Bound> {
        let mut any = Vec::with_capacity(list.len());
        for item in list {
            let item = self.operand(item)?;
            any.push(self.compare_operands(CompareOp::Eq, Operand::Row(row.clone()), item)?);
        }
        let e = or(any);
        Ok(Bound::new(if negated { not(e) } else { e }))
    }

    fn in_subquery(&mut self, arg: &ast::Expr, query: &ast::Query, negated: bool) -> Result<Bound> {
        let needle = match self.operand(arg)? {
            Operand::Scalar(b) => vec![b],
            Operand::Row(row) => {
                let scalar = |o| match o {
                    Operand::Scalar(b) => Ok(b),
                    Operand::Row(_) => Err(error(ErrorCode::OperandColumns, &[&1])),
                };
                row.into_iter().map(scalar).collect::<Result<_>>()?
            }
        };
        let subplan = self.subquery(query, Some(needle.len()))?;
        let ids: Vec<u32> = self.arena.subqueries[subplan as usize].query.columns.iter().map(|c| c.id).collect();
        let mut nullable = false;
        let (mut domains, mut exprs) = (Vec::new(), Vec::new());
        for (needle, id) in needle.into_iter().zip(ids) {
            let column = self.column(id);
            nullable |= needle.ty().nullable || column.ty().nullable;
            let by = comparison(&needle, &column, "=")?;
            exprs.push(beside_subquery(self, subplan, needle, column, by, "=")?);
            domains.push(by);
        }
        let kind = SubqueryKind::In { needle: exprs.into(), by: domains.into(), negated };
        Ok(self.subquery_expr(subplan, kind, boolean(nullable)))
    }

    fn quantified(&mut self, left: &ast::Expr, op: BinaryOp, all: bool, query: &ast::Query) -> Result<Bound> {
        let op = compare_op(op).ok_or_else(|| SqlError::internal("operator of a quantified comparison"))?;
        if (op, all) == (CompareOp::Eq, false) {
            return self.in_subquery(left, query, false);
        }
        if (op, all) == (CompareOp::Ne, true) {
            return self.in_subquery(left, query, true);
        }
        let needle = self.lifted(left)?;
        let subplan = self.subquery(query, Some(1))?;
        let id = self.arena.subqueries[subplan as usize].query.columns[0].id;
        let column = self.column(id);
        let by = comparison(&needle, &column, op.symbol())?;
        let needle = Box::new(beside_subquery(self, subplan, needle, column, by, op.symbol())?);
        let kind = SubqueryKind::Quantified { needle, by, op, all };
        Ok(self.subquery_expr(subplan, kind, boolean(true)))
    }

    /// A column of a subquery's only row.
    fn subquery_value(&self, subplan: u32, kind: SubqueryKind, column: crate::logical::ColId) -> Bound {
        let of = self.column(column);
        let own_digits = of.expr.ty.own_digits && self.arena.subqueries[subplan as usize].query.has_no_tables();
        let ty = SqlType { nullable: true, own_digits, ..of.expr.ty };
        let (coercibility, ascii) = (of.coercibility, of.ascii);
        Bound { coercibility, ascii, ..self.subquery_expr(subplan, kind, ty) }
    }

    pub(super) fn subquery_expr(&self, subplan: u32, kind: SubqueryKind, ty: SqlType) -> Bound {
        let subquery = Subquery { subplan, kind, binds: Box::new([]) };
        Bound::new(Expr { kind: ExprKind::Subquery(Box::new(subquery)), ty })
    }

    /// Gives all text arguments one collation, so that a function which compares them has only one to use.
    pub(super) fn same_collation(&mut self, args: Vec<Bound>, operation: &str) -> Result<Vec<Bound>> {
        let args = super::operand::json_as_text(self, args, operation);
        let sources: Vec<_> = args.iter().filter(|a| is_stringy(a.ty())).map(Bound::source).collect();
        if sources.len() < 2 {
            return Ok(args);
        }
        let collation = gannet_types::collation::aggregate_all(&sources, operation)?.collation;
        let args = match sources.iter().any(|s| !s.collation.charset().fits_in(collation.charset())) {
            true => {
                let text = |b: &Bound| is_stringy(b.ty());
                let error = mix(self, &args.iter().filter(|b| text(b)).cloned().collect::<Vec<_>>(), operation);
                args.into_iter().map(|b| fit(self, b, collation, &error)).collect::<Result<_>>()?
            }
            false => args,
        };
        let fit = |b: Bound| {
            let own = b.ty();
            let member = matches!(own.id, TypeId::Enum | TypeId::Set);
            let fits = own.id.is_string() || member && !collation.is_binary();
            if !fits || own.collation == collation {
                return b;
            }
            let mut ty = match () {
                // As bytes a text has as many as its characters take.
                () if collation.is_binary() => {
                    SqlType { collation, length: own.max_bytes().min(u64::from(u32::MAX)) as u32, ..own.clone() }
                }
                () if member => SqlType::varchar(own.display_chars(), collation),
                // Bytes beside a firmer text are text.
                () if own.id.is_binary_string() => SqlType::varchar(own.length, collation),
                () => SqlType { collation, ..own.clone() },
            };
            ty.nullable = own.nullable;
            let (coercibility, ascii) = (b.coercibility, b.ascii);
            let expr = converted(b.expr, ty, true);
            Bound { expr, coercibility, ascii, hex: false, temporal: false, number: None }
        };
        Ok(args.into_iter().map(fit).collect())
    }

    fn case(&mut self, case: &ast::Case) -> Result<Bound> {
        let operand = case.operand.as_ref().map(|e| self.expr(e)).transpose()?;
        let (mut whens, mut thens) = (Vec::new(), Vec::new());
        for (when, then) in &case.whens {
            whens.push(self.expr(when)?);
            thens.push(self.expr(then)?);
        }
        let otherwise = case.otherwise.as_ref().map(|e| self.expr(e)).transpose()?;
        self.case_of(operand, whens, thens, otherwise, "case")
    }

    pub(super) fn case_of(
        &mut self,
        operand: Option<Bound>,
        whens: Vec<Bound>,
        thens: Vec<Bound>,
        otherwise: Option<Bound>,
        operation: &str,
    ) -> Result<Bound> {
        // Text beside numbers: each WHEN compares in its own domain.
        let is_text = |b: &Bound| is_stringy(b.ty()) || b.ty().id == TypeId::Null;
        let (mut operand, mut whens) = (operand, whens);
        if let Some(given) = &operand
            && is_stringy(given.ty())
            && whens.iter().any(is_text)
            && !whens.iter().all(is_text)
        {
            let given = given.clone();
            for when in &mut whens {
                let null = Bound::new(crate::make::constant(Value::Null));
                let value = std::mem::replace(when, null);
                *when = Bound::new(self.compare(CompareOp::Eq, given.clone(), value)?);
            }
            operand = None;
        }
        // JSON beside texts and numbers: with each in its own domain, with numbers as numbers (`true` is 1).
        if let Some(given) = operand.clone()
            && given.ty().id == TypeId::Json
            && whens.iter().all(|w| is_text(w) || w.ty().id.is_numeric())
            && !whens.iter().all(is_text)
        {
            for when in &mut whens {
                let value = std::mem::replace(when, Bound::new(crate::make::constant(Value::Null)));
                let mut ty = if is_text(&value) {
                    let collation = gannet_types::CollationId::UTF8MB4_BIN;
                    SqlType { collation, ..SqlType::new(TypeId::LongText) }
                } else {
                    SqlType::DOUBLE
                };
                ty.nullable = given.ty().nullable;
                let left = self.cast_to(given.clone(), ty);
                *when = Bound::new(self.compare(CompareOp::Eq, left, value)?);
            }
            operand = None;
        }
        // CASE compares JSON with text as texts: SQLAlchemy finds JSON's null by WHEN 'null'.
        if let Some(given) = operand.as_mut()
            && given.ty().id == TypeId::Json
            && whens.iter().all(is_text)
        {
            let mut ty =
                SqlType { collation: gannet_types::CollationId::UTF8MB4_BIN, ..SqlType::new(TypeId::LongText) };
            ty.nullable = given.ty().nullable;
            *given = self.cast_to(given.clone(), ty);
        }
        let (operand, by, whens) = compared_with(self, operand, whens)?;
        let mut branches: Vec<Bound> = thens.into_iter().chain(otherwise.clone()).collect();
        let (mut ty, source) = common_type(self.rule_context(), &branches, operation)?;
        let number = super::operand::chosen_numbers(&branches, &ty);
        if is_stringy(&ty) {
            branches = fit_all(self, branches, ty.collation, operation)?;
            branches = branches.into_iter().map(|b| bytes_as(b, ty.collation)).collect();
        }
        let otherwise = otherwise.and_then(|_| branches.pop());
        (ty.nullable, ty.own_digits) = (ty.nullable || otherwise.is_none(), ty.id == TypeId::Decimal);
        let whens = whens.into_iter().zip(branches.into_iter().map(|t| t.expr)).collect();
        let otherwise = otherwise.map(|o| Box::new(o.expr));
        let expr = Expr { kind: ExprKind::Case { operand, by, whens, otherwise }, ty };
        let (expr, coercibility, ascii) = (fold::simplify(expr), source.coercibility, source.ascii_only);
        Ok(Bound { expr, coercibility, ascii, hex: false, temporal: false, number })
    }

    fn cast(&mut self, cast: &ast::Cast) -> Result<Bound> {
        if cast.array {
            return Err(crate::table_exprs::array_outside());
        }
        let mut arg = self.expr(&cast.expr)?;
        if let Some(zone) = &cast.at_time_zone {
            arg = at_time_zone(self, arg, zone)?;
        }
        let mut ty = super::types::cast_type(&cast.to, &arg, matches!(cast.expr, ast::Expr::Literal(_)), self.options)?;
        if ty.id == TypeId::Json && super::call::is_truth(&cast.expr) {
            return self.call_named("JSON BOOLEAN", vec![arg]);
        }
        let strict = ty.id.is_string() && self.options.sql_mode.is_strict();
        ty.nullable = arg.ty().nullable || ty.id.is_temporal() || ty.id == TypeId::Json || strict;
        Ok(self.cast_to(arg, ty))
    }

    pub(super) fn cast_to(&mut self, arg: Bound, ty: SqlType) -> Bound {
        let arg = as_cast(arg, &ty);
        let mut bound = Bound::new(fold::simplify(Expr { kind: ExprKind::Cast(Box::new(arg.expr)), ty }));
        // A literal that was converted is none any more.
        if bound.coercibility == Coercibility::Coercible {
            bound.coercibility = Coercibility::Implicit;
        }
        bound
    }

    pub(super) fn convert_using(&mut self, arg: &ast::Expr, charset: &ast::Ident) -> Result<Bound> {
        let arg = self.expr(arg)?;
        let charset = gannet_types::charset::Charset::by_name(&charset.text)?;
        let collation = Collation::default_of(charset).id;
        let mut ty = match arg.ty().id {
            id if id.is_lob() => SqlType { collation, ..SqlType::new(TypeId::LongText) },
            id if id.is_string() => SqlType::varchar(arg.ty().length, collation),
            _ => SqlType::varchar(arg.ty().text_chars(), collation),
        };
        if charset == gannet_types::charset::Charset::Binary {
            ty = SqlType::varbinary(arg.ty().max_bytes().min(u64::from(u32::MAX)) as u32);
        }
        ty.nullable = true;
        Ok(self.cast_to(arg, ty))
    }

    fn collate(&mut self, arg: &ast::Expr, name: &ast::Ident) -> Result<Bound> {
        let mut arg = self.expr(arg)?;
        let collation = Collation::by_name(&name.text)?;
        if !is_stringy(arg.ty()) {
            let length = arg.ty().text_chars();
            let mut ty = SqlType::varchar(length, collation.id);
            ty.nullable = arg.ty().nullable;
            arg = self.cast_to(arg, ty);
        } else if arg.ty().collation.charset() != collation.charset {
            let charset = arg.ty().collation.charset().name();
            return Err(error(ErrorCode::CollationCharsetMismatch, &[&collation.name, &charset]));
        } else if arg.ty().collation != collation.id {
            let mut ty = arg.ty().clone();
            if !ty.id.is_string() {
                ty = SqlType::varchar(ty.display_chars(), collation.id);
                ty.nullable = arg.ty().nullable;
            }
            ty.collation = collation.id;
            arg.expr = fold::simplify(Expr { kind: ExprKind::Cast(Box::new(arg.expr)), ty });
        }
        arg.coercibility = Coercibility::Explicit;
        Ok(arg)
    }
}

/// The operand of a CASE, how it compares, and what with; without an operand the conditions.
fn compared_with(
    b: &mut Binder<'_>,
    operand: Option<Bound>,
    whens: Vec<Bound>,
) -> Result<(Option<Box<Expr>>, Comparison, Vec<Expr>)> {
    let Some(operand) = operand else {
        return Ok((None, Comparison::Integer, whens.into_iter().map(|w| as_number(w).expr).collect()));
    };
    let by = comparison_of_all(&operand, &whens.iter().collect::<Vec<_>>(), "case")?;
    let mut all = all_in_domain(b, std::iter::once(operand).chain(whens).collect(), by, "case")?;
    Ok((Some(Box::new(all.remove(0))), by, all))
}

/// What is compared with a column of a subquery; the column is made fit for the domain inside of the subquery.
fn beside_subquery(
    b: &mut Binder<'_>,
    subplan: u32,
    needle: Bound,
    column: Bound,
    by: Comparison,
    operation: &str,
) -> Result<Expr> {
    let bytes = column.ty().id.is_binary_string();
    if let (Comparison::String(collation), &ExprKind::Column(id)) = (by, &column.expr.kind)
        && (may_lose(column.ty(), collation) && !column.ascii || bytes && !collation.is_binary())
    {
        let error = (!bytes).then(|| mix(b, &[needle.clone(), column.clone()], operation));
        let mut query = b.arena.subqueries[subplan as usize].query.take();
        let at = query.columns.iter().position(|c| c.id == id);
        let mut types: Vec<SqlType> = query.columns.iter().map(|c| b.arena.types[c.id as usize].clone()).collect();
        let mut errors = vec![None; types.len()];
        if let Some(at) = at {
            let own = &types[at];
            // Bytes beside a firmer text are text, or error 3854.
            types[at] = match bytes {
                true => SqlType { nullable: own.nullable, ..SqlType::varchar(own.length, collation) },
                false => SqlType { collation, ..own.clone() },
            };
            errors[at] = error;
        }
        let coerced = b.coerce(&mut query, &types, Coercion::Common(&errors));
        b.arena.subqueries[subplan as usize].query = query;
        coerced?;
    }
    let [needle, _] = in_domain(b, [needle, column], by, operation)?;
    Ok(needle)
}

/// `AT TIME ZONE '+00:00'` or `'UTC'`: a TIMESTAMP as the DATETIME that it is there. Error 1298 for other zones,
/// 1210 for what has none.
fn at_time_zone(binder: &mut Binder<'_>, arg: Bound, zone: &str) -> Result<Bound> {
    if zone != "+00:00" && !zone.eq_ignore_ascii_case("utc") {
        return Err(sql_err!(UnknownTimeZone, zone));
    }
    if arg.ty().id != TypeId::Timestamp {
        return Err(sql_err!(WrongArguments, "CAST AT TIME ZONE: the value is no TIMESTAMP"));
    }
    let ty = SqlType::varchar(64, gannet_types::CollationId::DEFAULT);
    let own = Bound::new(Expr { kind: ExprKind::SysVar { global: false, name: "time_zone".into() }, ty });
    let there = Bound::new(crate::make::constant(Value::text("+00:00")));
    binder.call_named("CONVERT_TZ", vec![arg, own, there])
}
