//! Function calls: names, arities, types; special forms become calls with plain arguments.
//!
//! Special forms and the calls they turn into (units and kinds are text literals):
//!
//! | form | call |
//! |---|---|
//! | `d + INTERVAL n unit`, `d - INTERVAL n unit` | `DATE_ADD(d, n, unit)`, `DATE_SUB(d, n, unit)` |
//! | `EXTRACT(unit FROM d)` | `EXTRACT(unit, d)` |
//! | `TIMESTAMPADD(unit, n, d)` | `DATE_ADD(d, n, unit)` |
//! | `TIMESTAMPDIFF(unit, a, b)` | the same |
//! | `TRIM(BOTH / LEADING / TRAILING r FROM s)` | `TRIM(s, r)`, `LTRIM(s, r)`, `RTRIM(s, r)` |
//! | `a REGEXP b` | `REGEXP_LIKE(a, b)` |
//! | `c -> p`, `c ->> p` | `JSON_EXTRACT(c, p)`, `JSON_UNQUOTE(JSON_EXTRACT(c, p))` |
//! | `-a`, `~a` | `NEG(a)`, `~(a)` |
//! | `RAND(seed)`, the seed differing from row to row | `RAND OF ROW(seed)` |
//! | `IF(a, b, c)`, `NULLIF(a, b)` | CASE |

use super::fit::{fit_all, may_lose};
use super::operand::{Operand, as_number, as_number_of_date, compare_op};
use super::{Binder, error};
use crate::expr::{Aggregate, CompareOp, Expr, ExprKind, SortKey};
use crate::fold;
use crate::logical::Label;
use crate::make::not;
use crate::typing::{Bound, comparison, info, is_stringy};
use gannet_functions::{ArgInfo, FunctionDef, RuleContext, Stability};
use gannet_parser::ast::{self, AggregateFunc, TrimSide};
use gannet_schema::RoutineKind;
use gannet_types::{Coercibility, CollationId, ErrorCode, Result, SqlError, SqlType, TypeId, Value};

impl Binder<'_> {
    pub(super) fn rule_context(&self) -> RuleContext {
        RuleContext {
            sql_mode: self.options.sql_mode,
            div_precision_increment: self.options.div_precision_increment,
            group_concat_max_len: self.options.group_concat_max_len,
            collation: self.collation,
            locale: self.options.locale,
        }
    }

    /// A call of a function that must exist.
    pub(super) fn call_named(&mut self, name: &str, args: Vec<Bound>) -> Result<Bound> {
        match gannet_functions::function(name) {
            Some(def) => self.call_def(def, args),
            None => Err(SqlError::unsupported(name)),
        }
    }

    /// Text of a wide character set where ASCII is read.
    fn narrow(&mut self, arg: Bound) -> Bound {
        if !arg.ty().id.is_string() || !arg.ty().collation.charset().is_wide() {
            return arg;
        }
        let (ty, coercibility) = (arg.ty().clone().with_collation(CollationId::UTF8MB4_GENERAL_CI), arg.coercibility);
        let mut narrow = self.cast_to(arg, ty);
        narrow.coercibility = coercibility;
        narrow
    }

    pub(super) fn call_def(&mut self, def: &'static FunctionDef, args: Vec<Bound>) -> Result<Bound> {
        if def.name == "CURRENT_USER"
            && let Some(view) = super::routine::definer_view(self)
            && let Some(view) = view.view()
        {
            let account = format!("{}@{}", view.definer.0, view.definer.1);
            let mut text = crate::make::constant(Value::Str(account.as_str().into(), CollationId::UTF8MB3_GENERAL_CI));
            // As long as for any other account.
            text.ty.length = 256;
            return Ok(Bound::new(text));
        }
        if !def.arity.accepts(args.len()) {
            return Err(error(ErrorCode::WrongParamcountToNativeFct, &[&def.name]));
        }
        let args = numbers_of(def, args);
        // Beside bytes a text is its bytes.
        let of_bytes = def.name == "FIND_IN_SET" && args.iter().any(|a| a.ty().id.is_binary_string());
        let args =
            if reads_ascii(def.name) && !of_bytes { args.into_iter().map(|a| self.narrow(a)).collect() } else { args };
        // FIELD compares numbers as soon as one of its arguments is one.
        let all_texts = def.name != "FIELD" || args.iter().all(|a| !a.ty().id.is_numeric());
        let args = if !all_texts { args.into_iter().map(as_number).collect() } else { args };
        let args = match texts_compared(def.name) {
            Some(count) if all_texts => compared_texts(self, def, args, count)?,
            _ => args,
        };
        let infos: Vec<ArgInfo<'_>> = args.iter().map(info).collect();
        let mut ty = def.result_type(self.rule_context(), &infos)?;
        let args = fit_made_of(self, def, args, &ty)?;
        let infos: Vec<ArgInfo<'_>> = args.iter().map(info).collect();
        // Functions that make text of something else make ASCII text: converted where ASCII is something else.
        let wide = (is_stringy(&ty) && ty.collation.charset().is_wide() && !(0..infos.len()).any(def.made_of))
            .then(|| ty.clone());
        if wide.is_some() {
            let narrow = RuleContext { collation: CollationId::UTF8MB4_GENERAL_CI, ..self.rule_context() };
            ty = def.result_type(narrow, &infos)?;
        }
        // Functions of text are NULL for what is no text of its character set, where that is an error.
        ty.nullable |= is_stringy(&ty) && self.options.sql_mode.is_strict() && !passes_through(def.name);
        match def.stability {
            Stability::Pure => {}
            Stability::Statement => self.arena.uses.now = true,
            Stability::Volatile | Stability::Effect => self.arena.uses.non_deterministic = true,
        }
        let source = is_stringy(&ty).then(|| gannet_functions::text_source(self.rule_context(), def, &ty, &infos));
        let number = source.and_then(|_| super::operand::number_of_call(def, &args));
        let exprs: Box<[Expr]> = args.into_iter().map(|a| a.expr).collect();
        self.arena.effects.note_call(def, &exprs);
        let mut expr = Expr { kind: ExprKind::Call(def, exprs), ty };
        if let Some(wide) = wide.filter(|w| w.collation != expr.ty.collation) {
            let ty = SqlType { nullable: expr.ty.nullable, ..wide };
            expr = Expr { kind: ExprKind::Cast(Box::new(expr)), ty };
        }
        let mut bound = Bound::new(expr);
        if let Some(source) = source {
            (bound.coercibility, bound.ascii) = (source.coercibility, source.ascii_only);
            bound.temporal = computes_dates(def.name);
            bound.number = number;
        }
        if self.options.passes.has(crate::options::Passes::FOLD) {
            bound.expr = fold::call(bound.expr, self.options);
        }
        Ok(bound)
    }

    pub(super) fn text(&self, text: &str) -> Bound {
        // Words that functions read stay ASCII.
        let wide = self.collation.charset().is_wide();
        let collation = if wide { CollationId::UTF8MB4_GENERAL_CI } else { self.collation };
        let value = Value::Str(text.into(), collation);
        let mut bound = Bound::new(crate::make::constant(value));
        bound.ascii = true;
        bound
    }

    /// Forms that are not operators.
    pub(super) fn special(&mut self, e: &ast::Expr) -> Result<Bound> {
        use ast::Expr as E;
        match e {
            E::Call(call) => self.call(call),
            E::Regexp { expr, pattern, negated } => {
                let args = vec![self.expr(expr)?, self.expr(pattern)?];
                let matched = self.call_named("REGEXP_LIKE", args)?;
                Ok(if *negated { Bound::new(not(matched.expr)) } else { matched })
            }
            E::MemberOf { expr, array } => {
                let args = vec![self.json_value_arg(expr)?, self.expr(array)?];
                self.call_named("MEMBER OF", args)
            }
            E::JsonPath { column, path, unquote } => {
                let args = vec![self.resolve(column)?, self.pin_literal(path)?];
                let value = self.call_named("JSON_EXTRACT", args)?;
                if *unquote { self.call_named("JSON_UNQUOTE", vec![value]) } else { Ok(value) }
            }
            E::DateArith(arith) => {
                let unit = self.text(arith.unit.name());
                let args = vec![self.expr(&arith.date)?, self.expr(&arith.amount)?, unit];
                self.call_named(if arith.subtract { "DATE_SUB" } else { "DATE_ADD" }, args)
            }
            E::Extract { unit, expr } => {
                let args = vec![self.text(unit.name()), self.expr(expr)?];
                self.call_named("EXTRACT", args)
            }
            E::Trim(trim) => {
                let name = match trim.side {
                    TrimSide::Both => "TRIM",
                    TrimSide::Leading => "LTRIM",
                    TrimSide::Trailing => "RTRIM",
                };
                let mut args = vec![self.expr(&trim.expr)?];
                if let Some(remove) = &trim.remove {
                    args.push(self.expr(remove)?);
                }
                self.call_named(name, args)
            }
            E::TimestampFn { diff, unit, args } => {
                let (unit, a, b) = (self.text(unit.name()), self.expr(&args.0)?, self.expr(&args.1)?);
                match diff {
                    true => self.call_named("TIMESTAMPDIFF", vec![unit, a, b]),
                    // The date comes first: what is added to NULL is not computed.
                    false => self.call_named("DATE_ADD", vec![b, a, unit]),
                }
            }
            E::GetFormat { kind, expr } => {
                let kind = match kind {
                    ast::TemporalKind::Date => "DATE",
                    ast::TemporalKind::Time => "TIME",
                    ast::TemporalKind::DateTime => "DATETIME",
                };
                let args = vec![self.text(kind), self.expr(expr)?];
                self.call_named("GET_FORMAT", args)
            }
            E::Char { args, charset } => {
                let args = args.iter().map(|a| self.expr(a)).collect::<Result<Vec<_>>>()?;
                let bytes = self.call_named("CHAR", args)?;
                let Some(name) = charset else { return Ok(bytes) };
                let charset = gannet_types::charset::Charset::by_name(&name.text)?;
                let collation = gannet_types::Collation::default_of(charset).id;
                let mut ty = bytes.ty().clone();
                ty = gannet_types::SqlType { nullable: true, ..gannet_types::SqlType::varchar(ty.length, collation) };
                let mut text = self.cast_to(bytes, ty);
                text.coercibility = Coercibility::Coercible;
                Ok(text)
            }
            E::WeightString { expr, cast: None, shape } => {
                let mut args = vec![self.expr(expr)?];
                let numbers = shape.iter().flat_map(|s| s.iter()).map(|n| i64::try_from(*n).unwrap_or(i64::MAX));
                args.extend(numbers.map(|n| Bound::new(crate::make::constant(Value::Int(n)))));
                self.call_named("WEIGHT_STRING", args)
            }
            E::WeightString { expr, cast: Some((binary, length)), .. } => {
                let mut arg = self.expr(expr)?;
                if *binary {
                    let ty = gannet_types::SqlType {
                        length: *length as u32,
                        nullable: true,
                        ..gannet_types::SqlType::new(TypeId::Binary)
                    };
                    arg = self.cast_to(arg, ty);
                }
                let length = Bound::new(crate::make::constant(Value::Int(*length as i64)));
                self.call_named("WEIGHT_STRING", vec![arg, length])
            }
            E::Match(search) => super::search::bind(self, search),
            E::JsonValue(value) => self.json_value(value),
            _ => Err(SqlError::unsupported("this expression")),
        }
    }

    fn call(&mut self, call: &ast::Call) -> Result<Bound> {
        let upper = call.name.text.to_ascii_uppercase();
        if call.schema.is_none() && !call.not_builtin {
            // Names of arguments are for loadable functions only.
            if call.arg_names.iter().any(Option::is_some) && gannet_functions::function(&upper).is_some() {
                return Err(error(ErrorCode::WrongParametersToNativeFct, &[&call.name.text]));
            }
            if let Some(bound) = self.built_form(&upper, &call.args)? {
                return Ok(bound);
            }
            if let Some(def) = gannet_functions::function(&upper) {
                if !def.arity.accepts(call.args.len()) || def.name.contains(' ') {
                    return Err(error(ErrorCode::WrongParamcountToNativeFct, &[&call.name.text]));
                }
                let json = takes_json_values(def.name);
                // Names of members are texts.
                let is_name = |n: usize| def.name == "JSON_OBJECT" && n.is_multiple_of(2);
                let bind = |(n, a)| if json && !is_name(n) { self.json_value_arg(a) } else { self.expr(a) };
                let args = call.args.iter().enumerate().map(bind).collect::<Result<Vec<_>>>()?;
                return self.call_def(def, args);
            }
        }
        let spatial = call.schema.is_none() && gannet_functions::is_spatial(&upper);
        let schema = match (&call.schema, self.options.database) {
            (Some(schema), _) => &*schema.text,
            (None, Some(database)) => database,
            (None, None) if spatial => return Err(SqlError::unsupported(&upper)),
            (None, None) => return Err(error(ErrorCode::NoDb, &[])),
        };
        if let Some(routine) = self.snapshot.routine(schema, RoutineKind::Function, &call.name.text) {
            let routine = routine.clone();
            if let Some(names) = &mut self.names {
                names.routines.insert(call.span.start, (&*routine.schema).into());
            }
            return super::routine::call(self, &routine, &call.args);
        }
        if spatial {
            return Err(SqlError::unsupported(&upper));
        }
        let name = format!("{schema}.{}", call.name.text);
        Err(error(ErrorCode::SpDoesNotExist, &[&"FUNCTION", &name]))
    }

    /// A value among JSON values: predicates and TRUE and FALSE are `true` and `false` there, not 1 and 0.
    pub(super) fn json_value_arg(&mut self, e: &ast::Expr) -> Result<Bound> {
        let value = self.expr(e)?;
        if is_truth(e) { self.call_named("JSON BOOLEAN", vec![value]) } else { Ok(value) }
    }

    /// `JSON_VALUE(document, path RETURNING type ... ON EMPTY ... ON ERROR)`
    fn json_value(&mut self, value: &ast::JsonValue) -> Result<Bound> {
        let mut args = vec![self.expr(&value.doc)?, self.pinned(|b| b.expr(&value.path))?];
        let mut ty = match &value.returning {
            // Text compares by its bytes where no character set is named.
            Some(to) => match super::types::cast_type(to, &args[0], false, self.options)? {
                ty if ty.id == TypeId::VarChar && !to.names_charset() => {
                    ty.with_collation(gannet_types::CollationId::UTF8MB4_0900_BIN)
                }
                ty => ty,
            },
            None => gannet_types::SqlType::varchar(512, gannet_types::CollationId::UTF8MB4_0900_BIN),
        };
        ty.nullable = true;
        for on in [&value.on_empty, &value.on_error] {
            let (code, default) = match on {
                None | Some(ast::JsonOn::Null) => (0, Bound::new(crate::make::constant(Value::Null))),
                Some(ast::JsonOn::Error) => (1, Bound::new(crate::make::constant(Value::Null))),
                Some(ast::JsonOn::Default(e)) => {
                    let default = self.pinned(|b| b.expr(e))?;
                    (2, self.cast_to(default, ty.clone()))
                }
            };
            args.push(Bound::new(crate::make::constant(Value::Int(code))));
            args.push(default);
        }
        let Some(def) = gannet_functions::function("JSON_VALUE") else {
            return Err(SqlError::unsupported("JSON_VALUE"));
        };
        let exprs = args.into_iter().map(|a| a.expr).collect();
        Ok(Bound::new(Expr { kind: ExprKind::Call(def, exprs), ty }))
    }

    /// Error 1436 for an expression that is about to stand twice and is long: nested, it would double at each level.
    fn check_copied(&self, e: &Expr) -> Result<()> {
        const MOST: usize = 4096;
        let mut nodes = 0;
        let long = e.any(&mut |_| {
            nodes += 1;
            nodes > MOST
        });
        if long { Err(self.options.too_deep()) } else { Ok(()) }
    }

    /// Functions that are forms of their own.
    fn built_form(&mut self, name: &str, args: &[ast::Expr]) -> Result<Option<Bound>> {
        let wrong = || error(ErrorCode::WrongParamcountToNativeFct, &[&name]);
        Ok(Some(match name {
            "IF" => {
                let [when, then, otherwise] = args else { return Err(wrong()) };
                let (when, then) = (self.expr(when)?, self.expr(then)?);
                let otherwise = self.expr(otherwise)?;
                self.case_of(None, vec![when], vec![then], Some(otherwise), "if")?
            }
            "NULLIF" => {
                let [a, b] = args else { return Err(wrong()) };
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                self.check_copied(&a.expr)?;
                let b = self.beside_year(&a, b)?;
                let compared = self.beside_year(&b, a.clone())?;
                let by = comparison(&compared, &b, "nullif")?;
                let equal = Bound::new(self.compare_in(CompareOp::Eq, by, compared, b, "nullif")?);
                let null = Bound::new(crate::make::constant(Value::Null));
                self.case_of(None, vec![equal], vec![null], Some(a), "nullif")?
            }
            "ISNULL" => {
                let [a] = args else { return Err(wrong()) };
                let test = ExprKind::IsNull { arg: Box::new(self.expr(a)?.expr), negated: false };
                Bound::new(fold::simplify(crate::make::predicate(test, false)))
            }
            "ANY_VALUE" => {
                let [a] = args else { return Err(wrong()) };
                let value = self.expr(a)?;
                // Elsewhere, and of what is one value for the group, it is the value.
                let own = self.scopes.len() - 1;
                if !self.scopes[own].takes_any_value(&self.arena, &value.expr) {
                    return Ok(Some(value));
                }
                let text = (value.coercibility, value.ascii);
                let id = self.arena.text_column(value.ty().clone(), Label::Computed, text);
                self.scope().any_values.push((value.expr, id));
                self.column(id)
            }
            "COERCIBILITY" => {
                let [a] = args else { return Err(wrong()) };
                let coercibility = self.expr(a)?.coercibility;
                Bound::new(crate::make::constant(Value::Int(coercibility as i64)))
            }
            // The generator of a seed that is constant in the statement goes on from row to row.
            "RAND" if args.len() == 1 => {
                let seed = self.expr(&args[0])?;
                let name = if seed.expr.is_execution_constant() { "RAND" } else { "RAND OF ROW" };
                self.call_named(name, vec![seed])?
            }
            "NAME_CONST" => {
                let [name, value] = args else { return Err(wrong()) };
                let misuse = || error(ErrorCode::WrongArguments, &[&"NAME_CONST"]);
                let (name, value) = self.pinned(|b| Ok((b.expr(name)?, b.expr(value)?)))?;
                if !matches!(name.expr.kind, ExprKind::Literal(Value::Str(..))) {
                    return Err(misuse());
                }
                if !matches!(value.expr.kind, ExprKind::Literal(_)) || !is_constant_syntax(&args[1]) {
                    return Err(misuse());
                }
                value
            }
            "JSON_EXTRACT" if args.len() >= 2 => json_extract(self, args)?,
            "GROUPING" => self.grouping(args)?,
            _ => return Ok(None),
        }))
    }

    /// `GROUPING(a, ...)`: which of the group keys a super-aggregate row leaves out, as bits, the last argument's
    /// lowest. Errors 1111, 3601.
    fn grouping(&mut self, args: &[ast::Expr]) -> Result<Bound> {
        const MAX_ARGS: usize = 64;
        let scope = self.scope();
        if !scope.takes_aggregates() || !scope.rollup {
            return Err(error(ErrorCode::InvalidGroupFuncUse, &[]));
        }
        if args.len() > MAX_ARGS {
            return Err(error(ErrorCode::InvalidNoOfArgs, &[&"GROUPING", &args.len(), &MAX_ARGS]));
        }
        let args = args.iter().map(|a| Ok(self.expr(a)?.expr)).collect::<Result<Vec<_>>>()?;
        let id = self.arena.column(gannet_types::SqlType::BIGINT.not_null(), Label::Computed);
        self.scope().groupings.push((args, id));
        Ok(self.column(id))
    }

    /// An aggregate function. Error 1111 where none may stand.
    pub(super) fn aggregate(&mut self, call: &ast::Aggregate) -> Result<Bound> {
        let name = aggregate_name(call.func);
        let Some(def) = gannet_functions::aggregate(name) else { return Err(SqlError::unsupported(name)) };
        if let Some(over) = &call.over {
            return self.aggregate_window(call, def, over);
        }
        let misuse = || error(ErrorCode::InvalidGroupFuncUse, &[]);
        let own = self.scopes.len() - 1;
        if self.scopes[own].in_aggregate {
            return Err(misuse());
        }
        self.scopes[own].in_aggregate = true;
        let bound = self.aggregate_parts(call);
        self.scopes[own].in_aggregate = false;
        let (args, order) = bound?;
        // An aggregate of outer columns only belongs to the outer query.
        let allowed = super::scope::Scope::takes_aggregates;
        // Where that one's clause has no place for aggregates, to the next query inside.
        let (mut level, fixed) = self.aggregate_level(own, &args);
        while level < own && !allowed(&self.scopes[level]) {
            level += 1;
        }
        // One of no columns goes to the next query outside.
        while !fixed && level > 0 && !allowed(&self.scopes[level]) {
            level -= 1;
        }
        if !allowed(&self.scopes[level]) {
            return Err(misuse());
        }
        if args.iter().any(|a| self.contains_aggregate(level, &a.expr)) {
            return Err(misuse());
        }
        if !def.arity.accepts(args.len()) {
            return Err(error(ErrorCode::WrongParamcountToNativeFct, &[&name]));
        }
        let infos: Vec<ArgInfo<'_>> = args.iter().map(info).collect();
        let ty = def.result_type(self.rule_context(), &infos)?;
        let args = if is_stringy(&ty) { fit_all(self, args, ty.collation, &name.to_lowercase())? } else { args };
        let text = aggregated_text(&args);
        compares_values(def.name, &args)?;
        let separator = call.separator.as_ref().map(|s| String::from_utf8_lossy(s).into());
        let aggregate = Aggregate {
            def,
            args: args.into_iter().map(|a| a.expr).collect(),
            distinct: call.distinct && !matches!(call.func, AggregateFunc::Min | AggregateFunc::Max),
            order: order.into(),
            separator,
            ty: ty.clone(),
        };
        let present = self.scopes[level].aggregates.iter().find(|(a, _)| *a == aggregate).map(|(_, id)| *id);
        let id = match present {
            Some(id) => id,
            None => {
                let id = if is_stringy(&ty) {
                    self.arena.text_column(ty, Label::Computed, text)
                } else {
                    self.arena.column(ty, Label::Computed)
                };
                self.scopes[level].aggregates.push((aggregate, id));
                id
            }
        };
        Ok(super::operand::aggregated(self.column(id)))
    }

    fn aggregate_parts(&mut self, call: &ast::Aggregate) -> Result<(Vec<Bound>, Vec<SortKey>)> {
        let numeric = !matches!(
            call.func,
            AggregateFunc::Count | AggregateFunc::Min | AggregateFunc::Max | AggregateFunc::GroupConcat
        );
        // The last one is a value; what is before it is a member's name.
        let json = matches!(call.func, AggregateFunc::JsonArrayAgg | AggregateFunc::JsonObjectAgg);
        let args = call.args.iter().enumerate().map(|(n, a)| {
            if json && n + 1 == call.args.len() {
                return self.json_value_arg(a);
            }
            let arg = self.expr(a)?;
            Ok(if numeric { as_number(arg) } else { arg })
        });
        let mut args = args.collect::<Result<Vec<_>>>()?;
        let mut order = Vec::new();
        for item in &call.order_by {
            let expr = match position(&item.expr) {
                Some(n) => {
                    let found = n.checked_sub(1).and_then(|i| args.get(i as usize));
                    let found = found.ok_or_else(|| error(ErrorCode::BadField, &[&n, &"order clause"]))?;
                    found.expr.clone()
                }
                None => self.expr(&item.expr)?.expr,
            };
            order.push(SortKey { expr, descending: item.desc });
        }
        // GROUP_CONCAT(a, b) concatenates first; COUNT(DISTINCT a, b) counts rows of both.
        if call.func == AggregateFunc::GroupConcat && args.len() > 1 {
            let all = std::mem::take(&mut args);
            args.push(self.call_named("CONCAT", all)?);
        }
        if call.func == AggregateFunc::GroupConcat && (call.distinct || !order.is_empty()) {
            // To be compared bits become numbers, whose digits stay the text of bits: bytes.
            for arg in args.iter_mut().filter(|a| a.ty().id == TypeId::Bit) {
                let bits = std::mem::replace(arg, Bound::new(crate::make::constant(Value::Null)));
                let number = self.cast_to(bits, SqlType::bigint_unsigned());
                *arg = self.cast_to(number, SqlType::varbinary(BIT_DIGITS));
            }
        }
        if call.func == AggregateFunc::GroupConcat {
            let separator = call.separator.as_ref().map_or(",".into(), |s| String::from_utf8_lossy(s));
            let value = super::literal::text_value(separator.as_bytes(), self.collation)?;
            let mut bound = Bound::new(crate::make::constant(value));
            bound.ascii = separator.is_ascii();
            args.iter_mut().for_each(super::operand::keep);
            args.push(bound);
        }
        // COUNT of a constant counts rows.
        let is_there = |a: &Bound| matches!(&a.expr.kind, ExprKind::Literal(value) if !value.is_null());
        args.retain(|a| call.func != AggregateFunc::Count || call.distinct || !is_there(a));
        Ok((args, order))
    }

    /// The scope whose rows an aggregate runs over.
    /// Second: it reads columns.
    fn aggregate_level(&self, own: usize, args: &[Bound]) -> (usize, bool) {
        let mut level = None;
        for arg in args {
            self.arena.columns_of(&arg.expr, &mut |id| {
                let of = self.scopes.iter().rposition(|s| s.defines(id)).unwrap_or(own);
                level = Some(level.map_or(of, |l: usize| l.max(of)));
            });
        }
        (level.unwrap_or(own), level.is_some())
    }
}

/// The texts that the result is made of, in the result's character set.
fn fit_made_of(
    b: &mut Binder<'_>,
    def: &'static FunctionDef,
    mut args: Vec<Bound>,
    ty: &SqlType,
) -> Result<Vec<Bound>> {
    let part = |(i, arg): (usize, &Bound)| (def.made_of)(i) && may_lose(arg.ty(), ty.collation);
    if !is_stringy(ty) || !args.iter().enumerate().any(part) {
        return Ok(args);
    }
    let (at, parts): (Vec<_>, Vec<_>) = (0..).zip(&args).filter(|(i, _)| (def.made_of)(*i)).unzip();
    let parts = parts.into_iter().cloned().collect();
    for (i, part) in at.into_iter().zip(fit_all(b, parts, ty.collation, &def.name.to_lowercase())?) {
        args[i] = part;
    }
    Ok(args)
}

/// MIN and MAX compare their argument with itself, which a text of two collations does not allow. Error 1267.
pub(super) fn compares_values(aggregate: &str, args: &[Bound]) -> Result<()> {
    match args {
        [arg] if matches!(aggregate, "MIN" | "MAX") && is_stringy(arg.ty()) => {
            comparison(arg, arg, &aggregate.to_lowercase()).map(|_| ())
        }
        _ => Ok(()),
    }
}

/// Coercibility of an aggregate's text: its argument's.
pub(super) fn aggregated_text(args: &[Bound]) -> (Coercibility, bool) {
    match args.first() {
        Some(arg) if arg.coercibility != Coercibility::Numeric => (arg.coercibility, arg.ascii),
        _ => (Coercibility::Coercible, true),
    }
}

/// Decimal digits of the largest BIT.
const BIT_DIGITS: u32 = 20;

/// Functions whose arguments become JSON values.
fn takes_json_values(name: &str) -> bool {
    matches!(
        name,
        "JSON_ARRAY"
            | "JSON_OBJECT"
            | "JSON_SET"
            | "JSON_INSERT"
            | "JSON_REPLACE"
            | "JSON_ARRAY_APPEND"
            | "JSON_ARRAY_INSERT"
    )
}

impl Binder<'_> {
    /// Beside JSON, TRUE, FALSE and predicates are JSON's true and false, not 1 and 0.
    pub(super) fn as_json_boolean(&mut self, beside: &Operand, operand: &mut Operand, of: &ast::Expr) -> Result<()> {
        if let (Operand::Scalar(json), Operand::Scalar(value)) = (beside, operand)
            && json.ty().id == TypeId::Json
            && value.ty().id != TypeId::Json
            && is_truth(of)
        {
            *value = self.call_named("JSON BOOLEAN", vec![value.clone()])?;
        }
        Ok(())
    }
}

/// Is the expression a predicate, TRUE or FALSE?
pub(super) fn is_truth(e: &ast::Expr) -> bool {
    use ast::Expr as E;
    match e {
        E::Literal(literal) => matches!(literal.value, ast::LiteralValue::Bool(_)),
        E::Binary { op, .. } => op.is_comparison() || *op == ast::BinaryOp::Xor,
        E::Unary { op, .. } => *op == ast::UnaryOp::Not,
        E::And(_)
        | E::Or(_)
        | E::Is { .. }
        | E::InList { .. }
        | E::InSubquery { .. }
        | E::Quantified { .. }
        | E::Exists(_)
        | E::Between { .. }
        | E::Like { .. }
        | E::Regexp { .. }
        | E::MemberOf { .. } => true,
        E::Call(call) => call.schema.is_none() && TRUTHS.iter().any(|n| call.name.text.eq_ignore_ascii_case(n)),
        _ => false,
    }
}

/// Functions whose result is true or false, not a number.
const TRUTHS: &[&str] = &[
    "GTID_SUBSET",
    "ISNULL",
    "IS_IPV4",
    "IS_IPV4_COMPAT",
    "IS_IPV4_MAPPED",
    "IS_IPV6",
    "IS_UUID",
    "JSON_CONTAINS",
    "JSON_CONTAINS_PATH",
    "JSON_OVERLAPS",
    "JSON_SCHEMA_VALID",
    "JSON_VALID",
    "REGEXP_LIKE",
];

/// Functions whose result is one of their arguments, or bits: they are no functions of text.
fn passes_through(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "IF",
        "IFNULL",
        "NULLIF",
        "COALESCE",
        "GREATEST",
        "LEAST",
        "ANY_VALUE",
        "NAME_CONST",
        "LAST_INSERT_ID",
        "JSON_VALUE",
        "&",
        "|",
        "^",
        "~",
        "<<",
        ">>",
        "BIT_COUNT",
    ];
    NAMES.contains(&name)
}

/// The arguments of a call, those that the function takes as numbers being numbers. An interval of one unit is one;
/// BIT_COUNT() counts the bits of a hexadecimal literal's bytes.
fn numbers_of(def: &FunctionDef, args: Vec<Bound>) -> Vec<Bound> {
    let unit = args.get(2).map(|a| &a.expr.kind);
    let simple = matches!(unit, Some(ExprKind::Literal(Value::Str(unit, _))) if !unit.contains(&b'_'));
    let interval = simple && matches!(def.name, "DATE_ADD" | "DATE_SUB");
    let number = |(i, arg)| match i {
        0 if def.name == "BIT_COUNT" => as_number_of_date(arg),
        1 if interval => as_number(arg),
        _ if def.takes_number_at(i) => as_number(arg),
        _ => arg,
    };
    args.into_iter().enumerate().map(number).collect()
}

/// Functions whose text is that of a date or time, where their argument is a text or number.
fn computes_dates(name: &str) -> bool {
    matches!(name, "DATE_ADD" | "DATE_SUB" | "ADDDATE" | "SUBDATE" | "ADDTIME" | "SUBTIME")
}

/// Functions that read a notation made of ASCII characters.
fn reads_ascii(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "INET_ATON",
        "INET6_ATON",
        "IS_IPV4",
        "IS_IPV6",
        "UNHEX",
        "CONV",
        "STR_TO_DATE",
        "DATE_FORMAT",
        "TIME_FORMAT",
        "FIND_IN_SET",
        "FROM_BASE64",
        "UUID_TO_BIN",
        "IS_UUID",
        "CONVERT_TZ",
        "FORMAT",
        "UNIX_TIMESTAMP",
        "JSON_VALID",
    ];
    NAMES.contains(&name)
}

/// The column name that NAME_CONST gives.
pub(super) fn given_name(e: &ast::Expr) -> Option<Box<str>> {
    let ast::Expr::Call(call) = e else { return None };
    match (&call.args[..], call.name.text.eq_ignore_ascii_case("name_const")) {
        ([ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::String { bytes, .. }, .. }), _], true) => {
            Some(String::from_utf8_lossy(bytes).into())
        }
        _ => None,
    }
}

/// NAME_CONST takes literals, signed or with a collation, and nothing that merely folds to one.
fn is_constant_syntax(e: &ast::Expr) -> bool {
    match e {
        ast::Expr::Literal(_) => true,
        ast::Expr::Unary { op: ast::UnaryOp::Neg, expr } | ast::Expr::Collate { expr, .. } => is_constant_syntax(expr),
        _ => false,
    }
}

/// Gives the first `count` arguments one collation. The rule looks at them before, as they are: regular expressions
/// refuse text beside bytes (3995).
fn compared_texts(b: &mut Binder<'_>, def: &FunctionDef, mut args: Vec<Bound>, count: usize) -> Result<Vec<Bound>> {
    let infos: Vec<ArgInfo<'_>> = args.iter().map(info).collect();
    def.result_type(b.rule_context(), &infos)?;
    let others = args.split_off(count.min(args.len()));
    let mut args = b.same_collation(args, &def.name.to_lowercase())?;
    args.extend(others);
    Ok(args)
}

/// How many of its arguments, the first ones, a function compares as texts; `None`: it compares none.
fn texts_compared(name: &str) -> Option<usize> {
    match name {
        // Behind them stand what replaces them, places and the match type.
        "REGEXP_LIKE" | "REGEXP_INSTR" | "REGEXP_SUBSTR" | "REGEXP_REPLACE" => Some(2),
        "LIKE" | "LOCATE" | "INSTR" | "POSITION" | "STRCMP" | "FIND_IN_SET" | "FIELD" | "REPLACE"
        | "SUBSTRING_INDEX" | "TRIM" | "LTRIM" | "RTRIM" | "GREATEST" | "LEAST" => Some(usize::MAX),
        _ => None,
    }
}

/// The position that an integer literal in ORDER BY or GROUP BY means.
pub(super) fn position(e: &ast::Expr) -> Option<u64> {
    match e {
        ast::Expr::Literal(ast::Literal { value: ast::LiteralValue::Int(n), .. }) => Some(*n),
        _ => None,
    }
}

fn aggregate_name(func: AggregateFunc) -> &'static str {
    match func {
        AggregateFunc::Count => "COUNT",
        AggregateFunc::Sum => "SUM",
        AggregateFunc::Avg => "AVG",
        AggregateFunc::Min => "MIN",
        AggregateFunc::Max => "MAX",
        AggregateFunc::BitAnd => "BIT_AND",
        AggregateFunc::BitOr => "BIT_OR",
        AggregateFunc::BitXor => "BIT_XOR",
        AggregateFunc::StddevPop => "STDDEV_POP",
        AggregateFunc::StddevSamp => "STDDEV_SAMP",
        AggregateFunc::VarPop => "VAR_POP",
        AggregateFunc::VarSamp => "VAR_SAMP",
        AggregateFunc::GroupConcat => "GROUP_CONCAT",
        AggregateFunc::JsonArrayAgg => "JSON_ARRAYAGG",
        AggregateFunc::JsonObjectAgg => "JSON_OBJECTAGG",
        AggregateFunc::StCollect => "ST_COLLECT",
    }
}

/// The comparison operator of a quantified subquery is one of ours.
const _: fn(ast::BinaryOp) -> Option<CompareOp> = compare_op;

/// JSON_EXTRACT. Indexes over a path are found by it, so it is a part of the plan.
fn json_extract(binder: &mut Binder<'_>, args: &[ast::Expr]) -> Result<Bound> {
    let mut bound = vec![binder.expr(&args[0])?];
    for path in &args[1..] {
        bound.push(binder.pinned(|b| b.expr(path))?);
    }
    binder.call_named("JSON_EXTRACT", bound)
}
