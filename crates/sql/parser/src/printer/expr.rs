//! Expressions.

use super::*;

impl Print for Expr {
    fn print(&self, sql: &mut Sql) {
        match self {
            Expr::Literal(l) => sql.p(l),
            Expr::Param(_) => sql.s("?"),
            Expr::Column(c) => sql.p(c),
            Expr::UserVar(name) => sql.s("@").p(name),
            Expr::SysVar(v) => sql.p(v),
            Expr::Assign { var, value } => sql.s("(@").p(var).s(":=").p(value).s(")"),
            Expr::Unary { op, expr } => print_unary(*op, expr, sql),
            Expr::Binary { op: BinaryOp::Concat, left, right } => sql.s("concat(").p(left).s(",").p(right).s(")"),
            Expr::Binary { op, left, right } => sql.s("(").p(left).s(operator(*op)).p(right).s(")"),
            Expr::And(list) => sql.s("(").list(&open(list), " and ").s(")"),
            Expr::Or(list) => sql.s("(").list(&open(list), " or ").s(")"),
            Expr::Is { expr, test, negated } => {
                let test = match test {
                    IsTest::Null => "null)",
                    IsTest::True => "true)",
                    IsTest::False => "false)",
                    IsTest::Unknown => "unknown)",
                };
                sql.s("(").p(&Open(expr)).s(" is ").flag(*negated, "not ").s(test)
            }
            Expr::InList { expr, list, negated } => {
                sql.s("(").p(expr).flag(*negated, " not").s(" in ").parens(list).s(")")
            }
            Expr::InSubquery { .. } | Expr::Quantified { .. } => sql.s("(").p(&Open(self)).s(")"),
            Expr::Exists(query) => sql.s("exists(").p(query).s(")"),
            Expr::Subquery(query) => sql.s("(").p(query).s(")"),
            Expr::Between { expr, low, high, negated } => {
                sql.s("(").p(expr).flag(*negated, " not").s(" between ").p(low).s(" and ").p(high).s(")")
            }
            Expr::Like { expr, pattern, escape, negated } => {
                sql.s("(").p(expr).flag(*negated, " not").s(" like ").p(pattern).opt(" escape ", escape).s(")")
            }
            Expr::Regexp { expr, pattern, negated } => {
                sql.s("(").p(expr).flag(*negated, " not").s(" regexp ").p(pattern).s(")")
            }
            Expr::MemberOf { expr, array } => sql.s("(").p(expr).s(" member of (").p(array).s("))"),
            Expr::JsonPath { column, path, unquote } => sql.p(column).s(if *unquote { "->>" } else { "->" }).p(path),
            Expr::Case(case) => sql.p(case),
            Expr::Cast(cast) => sql.p(cast),
            Expr::ConvertUsing { expr, charset } => sql.s("convert(").p(expr).s(" using ").word(charset).s(")"),
            Expr::Collate { expr, collation } => sql.s("(").p(expr).s(" collate ").word(collation).s(")"),
            // One value in parentheses alone is that value.
            Expr::Row(items) if items.len() == 1 => sql.s("row").parens(items),
            Expr::Row(items) => sql.parens(items),
            Expr::Call(call) => sql.p(call),
            Expr::Aggregate(aggregate) => sql.p(aggregate),
            Expr::Window(window) => sql.p(window),
            Expr::DateArith(d) => {
                let sign = if d.subtract { " - interval " } else { " + interval " };
                sql.s("(").p(&d.date).s(sign).p(&d.amount).s(" ").p(&d.unit).s(")")
            }
            Expr::Extract { unit, expr } => sql.s("extract(").p(unit).s(" from ").p(expr).s(")"),
            Expr::Trim(trim) => sql.p(trim),
            Expr::TimestampFn { diff, unit, args } => {
                let name = if *diff { "timestampdiff(" } else { "timestampadd(" };
                let mut word = Sql(Vec::new());
                word.p(unit);
                sql.s(name)
                    .s(&String::from_utf8_lossy(&word.0).to_ascii_uppercase())
                    .s(",")
                    .p(&args.0)
                    .s(",")
                    .p(&args.1)
                    .s(")")
            }
            Expr::GetFormat { kind, expr } => {
                let kind = match kind {
                    TemporalKind::Date => "DATE, ",
                    TemporalKind::Time => "TIME, ",
                    TemporalKind::DateTime => "DATETIME, ",
                };
                sql.s("get_format(").s(kind).p(expr).s(")")
            }
            Expr::Char { args, charset } => sql.s("char(").list(args, ",").opt(" using ", charset).s(")"),
            Expr::WeightString { expr, cast, shape } => {
                sql.s("weight_string(").p(expr);
                if let Some((binary, n)) = cast {
                    sql.s(if *binary { " as binary(" } else { " as char(" }).n(*n).s(")");
                }
                for n in shape.iter().flat_map(|s| s.iter()) {
                    sql.s(",").n(*n);
                }
                sql.s(")")
            }
            Expr::Match(m) => {
                sql.s("(match ").list(&m.columns, ",").s(" against (").p(&m.against);
                sql.flag(m.boolean, " in boolean mode").flag(m.expansion, " with query expansion").s("))")
            }
            Expr::JsonValue(v) => {
                sql.s("json_value(").p(&v.doc).s(",").p(&v.path).opt(" returning ", &v.returning);
                json_on(&v.on_empty, &v.on_error, sql);
                sql.s(")")
            }
            Expr::Default => sql.s("default"),
            Expr::DefaultOf(column) => sql.s("default(").p(column).s(")"),
            Expr::ValuesOf(column) => sql.s("values(").p(column).s(")"),
        };
    }
}

/// An expression that nothing stands around which would bind closer than IN and comparisons do: MySQL prints those with
/// subqueries without parentheses there.
pub(super) struct Open<'e>(pub(super) &'e Expr);

impl Print for Open<'_> {
    fn print(&self, sql: &mut Sql) {
        match self.0 {
            Expr::InSubquery { expr, query, negated } => {
                sql.p(expr).flag(*negated, " not").s(" in (").p(query).s(")");
            }
            Expr::Quantified { left, op, all, query } => {
                let word = if *all { "all (" } else { "any (" };
                sql.p(left).s(operator(*op)).s(word).p(query).s(")");
            }
            expr => expr.print(sql),
        }
    }
}

/// A constant where only a constant may stand: its sign is no operator.
pub(super) struct Signed<'e>(pub(super) &'e Expr);

impl Print for Signed<'_> {
    fn print(&self, sql: &mut Sql) {
        match self.0 {
            Expr::Unary { op: UnaryOp::Neg, expr } if matches!(**expr, Expr::Literal(_)) => sql.s("-").p(&**expr),
            expr => sql.p(expr),
        };
    }
}

fn open(list: &[Expr]) -> Vec<Open<'_>> {
    list.iter().map(Open).collect()
}

fn print_unary<'a>(op: UnaryOp, expr: &Expr, sql: &'a mut Sql) -> &'a mut Sql {
    let word = match op {
        UnaryOp::Neg => "-",
        UnaryOp::BitNot => "~",
        UnaryOp::Not if matches!(expr, Expr::Exists(_)) => return sql.s("(not ").p(expr).s(")"),
        UnaryOp::Not => return sql.s("(not(").p(&Open(expr)).s("))"),
        UnaryOp::Binary => return sql.s("(binary ").p(expr).s(")"),
    };
    sql.s(word).s("(").p(expr).s(")")
}

fn operator(op: BinaryOp) -> &'static str {
    use BinaryOp as B;
    match op {
        B::Add => " + ",
        B::Sub => " - ",
        B::Mul => " * ",
        B::Div => " / ",
        B::IntDiv => " DIV ",
        B::Mod => " % ",
        B::BitOr => " | ",
        B::BitAnd => " & ",
        B::BitXor => " ^ ",
        B::Shl => " << ",
        B::Shr => " >> ",
        B::Eq => " = ",
        B::NullSafeEq => " <=> ",
        B::Ne => " <> ",
        B::Lt => " < ",
        B::Le => " <= ",
        B::Gt => " > ",
        B::Ge => " >= ",
        B::Xor => " xor ",
        B::Concat => " || ",
        B::SoundsLike => " sounds like ",
    }
}

/// `[x on empty] [x on error]`
pub(super) fn json_on(on_empty: &Option<JsonOn>, on_error: &Option<JsonOn>, sql: &mut Sql) {
    for (on, words) in [(on_empty, " on empty"), (on_error, " on error")] {
        match on {
            None => continue,
            Some(JsonOn::Error) => sql.s(" error"),
            Some(JsonOn::Null) => sql.s(" null"),
            Some(JsonOn::Default(expr)) => sql.s(" default ").p(&Signed(expr)),
        };
        sql.s(words);
    }
}

impl Print for Literal {
    fn print(&self, sql: &mut Sql) {
        let introducer = |charset: &Option<Box<str>>, sql: &mut Sql| {
            if let Some(charset) = charset {
                sql.s("_").s(charset);
            }
        };
        let hex = |bytes: &[u8]| -> String { bytes.iter().map(|b| format!("{b:02X}")).collect() };
        match &self.value {
            LiteralValue::Null => sql.s("NULL"),
            LiteralValue::Bool(true) => sql.s("true"),
            LiteralValue::Bool(false) => sql.s("false"),
            LiteralValue::Int(n) => sql.n(*n),
            LiteralValue::Decimal(text) | LiteralValue::Float(text) => sql.s(text),
            LiteralValue::String { bytes, charset } => {
                introducer(charset, sql);
                sql.string(bytes)
            }
            LiteralValue::Hex { bytes, charset } => {
                introducer(charset, sql);
                // A word directly in front of `x'` would swallow it.
                sql.flag(charset.is_some(), " ");
                if bytes.is_empty() { sql.s("X''") } else { sql.s("0x").s(&hex(bytes).to_ascii_lowercase()) }
            }
            LiteralValue::Bit { bytes, charset } => {
                introducer(charset, sql);
                sql.flag(charset.is_some(), " ");
                let bits: String = bytes.iter().map(|b| format!("{b:08b}")).collect();
                sql.s("b'").s(&bits).s("'")
            }
            LiteralValue::Temporal { kind, text, odbc: true } => {
                let word = match kind {
                    TemporalKind::Date => "{d ",
                    TemporalKind::Time => "{t ",
                    TemporalKind::DateTime => "{ts ",
                };
                sql.s(word).string(text.as_bytes()).s("}")
            }
            LiteralValue::Temporal { kind, text, odbc: false } => {
                let word = match kind {
                    TemporalKind::Date => "DATE",
                    TemporalKind::Time => "TIME",
                    TemporalKind::DateTime => "TIMESTAMP",
                };
                sql.s(word).string(text.as_bytes())
            }
        };
    }
}

impl Print for ColumnRef {
    fn print(&self, sql: &mut Sql) {
        if let Some(qualifier) = &self.qualifier {
            sql.p(qualifier).s(".");
        }
        sql.p(&self.column);
    }
}

impl Print for SysVar {
    fn print(&self, sql: &mut Sql) {
        let scope = match self.scope {
            VarScope::Implicit => "@@",
            VarScope::Global => "@@global.",
            VarScope::Session => "@@session.",
            VarScope::Persist => "@@persist.",
            VarScope::PersistOnly => "@@persist_only.",
        };
        sql.s(scope);
        if let Some(prefix) = &self.prefix {
            sql.p(prefix).s(".");
        }
        sql.p(&self.name);
    }
}

impl Print for Case {
    fn print(&self, sql: &mut Sql) {
        sql.s("(case").opt(" ", &self.operand);
        for (when, then) in &self.whens {
            sql.s(" when ").p(when).s(" then ").p(then);
        }
        sql.opt(" else ", &self.otherwise).s(" end)");
    }
}

impl Print for Cast {
    fn print(&self, sql: &mut Sql) {
        sql.s("cast(").p(&self.expr).opt_string(" at time zone ", &self.at_time_zone);
        sql.s(" as ").p(&self.to).flag(self.array, " array").s(")");
    }
}

impl Print for CastType {
    fn print(&self, sql: &mut Sql) {
        match self {
            CastType::Signed => sql.s("signed"),
            CastType::Unsigned => sql.s("unsigned"),
            CastType::Type(ty) => match &ty.charset {
                Some(charset) => {
                    sql.p(&DataType { charset: None, bin_collation: false, ..ty.clone() }).s(" charset ").word(charset);
                    sql.flag(ty.bin_collation, " binary")
                }
                None => sql.p(ty),
            },
        };
    }
}

impl Print for Call {
    fn print(&self, sql: &mut Sql) {
        // Behind a comparison these words begin a quantified subquery.
        let word = |w: &str| self.name.text.eq_ignore_ascii_case(w);
        let quantifies = self.schema.is_none() && (word("any") || word("some"));
        sql.flag(quantifies, "(");
        if let Some(schema) = &self.schema {
            sql.p(schema).s(".").p(&self.name);
        } else if self.not_builtin || !is_plain(&self.name.text) {
            sql.p(&self.name);
        } else {
            sql.s(&self.name.text.to_ascii_lowercase());
        }
        sql.s("(");
        for (i, arg) in self.args.iter().enumerate() {
            sql.flag(i > 0, ",").p(arg);
            if let Some(Some(name)) = self.arg_names.get(i) {
                sql.s(" AS ").name(&name.0);
            }
        }
        sql.s(")").flag(quantifies, ")");
    }
}

/// Can the name stand without quotes?
pub(super) fn is_plain(name: &str) -> bool {
    // A digit in front may begin a number.
    !name.is_empty() && !name.as_bytes()[0].is_ascii_digit() && name.bytes().all(crate::lexer::is_word)
}

impl Print for Aggregate {
    fn print(&self, sql: &mut Sql) {
        use AggregateFunc as A;
        let name = match self.func {
            A::Count => "count",
            A::Sum => "sum",
            A::Avg => "avg",
            A::Min => "min",
            A::Max => "max",
            A::BitAnd => "bit_and",
            A::BitOr => "bit_or",
            A::BitXor => "bit_xor",
            A::StddevPop => "std",
            A::StddevSamp => "stddev_samp",
            A::VarPop => "variance",
            A::VarSamp => "var_samp",
            A::GroupConcat => "group_concat",
            A::JsonArrayAgg => "json_arrayagg",
            A::JsonObjectAgg => "json_objectagg",
            A::StCollect => "st_collect",
        };
        sql.s(name).s("(").flag(self.distinct, "distinct ");
        if self.args.is_empty() {
            sql.s("*");
        }
        sql.list(&self.args, ",");
        if !self.order_by.is_empty() {
            sql.s(" order by ");
            for (i, item) in self.order_by.iter().enumerate() {
                sql.flag(i > 0, ",").p(&item.expr).s(if item.desc { " DESC" } else { " ASC" });
            }
        }
        sql.opt_string(" separator ", &self.separator).s(")").opt(" OVER ", &self.over);
    }
}

impl Print for WindowCall {
    fn print(&self, sql: &mut Sql) {
        use WindowFunc as W;
        let name = match self.func {
            W::RowNumber => "row_number",
            W::Rank => "rank",
            W::DenseRank => "dense_rank",
            W::CumeDist => "cume_dist",
            W::PercentRank => "percent_rank",
            W::Ntile => "ntile",
            W::Lead => "lead",
            W::Lag => "lag",
            W::FirstValue => "first_value",
            W::LastValue => "last_value",
            W::NthValue => "nth_value",
        };
        sql.s(name).parens(&self.args).flag(self.from_last, " from last");
        match self.ignore_nulls {
            Some(true) => sql.s(" ignore nulls"),
            Some(false) => sql.s(" respect nulls"),
            None => sql,
        };
        sql.s(" OVER ").p(&self.over);
    }
}

impl Print for WindowRef {
    fn print(&self, sql: &mut Sql) {
        match self {
            WindowRef::Named(name) => sql.p(name),
            WindowRef::Spec(spec) => sql.p(spec).s(" "),
        };
    }
}

impl Print for WindowSpec {
    fn print(&self, sql: &mut Sql) {
        sql.s("(").opt("", &self.base);
        let mut gap = if self.base.is_some() { " " } else { "" };
        if !self.partition_by.is_empty() {
            sql.s(gap).s("PARTITION BY ").list(&self.partition_by, ",").s(" ");
            gap = "";
        }
        if !self.order_by.is_empty() {
            sql.s(gap).s("ORDER BY ").list(&self.order_by, ",").s(" ");
            gap = "";
        }
        if let Some(frame) = &self.frame {
            sql.s(gap).p(frame);
        }
        sql.s(")");
    }
}

impl Print for WindowFrame {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.unit {
            FrameUnit::Rows => "ROWS ",
            FrameUnit::Range => "RANGE ",
            FrameUnit::Groups => "GROUPS ",
        });
        match &self.end {
            Some(end) => sql.s("BETWEEN ").p(&self.start).s(" AND ").p(end),
            None => sql.p(&self.start),
        };
        sql.s(match self.exclude {
            None => "",
            Some(FrameExclude::CurrentRow) => " exclude current row",
            Some(FrameExclude::Group) => " exclude group",
            Some(FrameExclude::Ties) => " exclude ties",
            Some(FrameExclude::NoOthers) => " exclude no others",
        });
    }
}

impl Print for FrameBound {
    fn print(&self, sql: &mut Sql) {
        let (offset, word) = match self {
            FrameBound::UnboundedPreceding => return sql.s("UNBOUNDED PRECEDING").end(),
            FrameBound::UnboundedFollowing => return sql.s("UNBOUNDED FOLLOWING").end(),
            FrameBound::CurrentRow => return sql.s("CURRENT ROW").end(),
            FrameBound::Preceding(offset) => (offset, " PRECEDING"),
            FrameBound::Following(offset) => (offset, " FOLLOWING"),
        };
        match &offset.unit {
            Some(unit) => sql.s("INTERVAL ").p(&offset.amount).s(" ").p(unit).s(" "),
            None => sql.p(&offset.amount),
        };
        sql.s(word);
    }
}

impl Print for Trim {
    fn print(&self, sql: &mut Sql) {
        let side = match self.side {
            TrimSide::Both => "both ",
            TrimSide::Leading => "leading ",
            TrimSide::Trailing => "trailing ",
        };
        sql.s("trim(");
        if self.side != TrimSide::Both || self.remove.is_some() {
            sql.s(side).opt("", &self.remove).flag(self.remove.is_some(), " ").s("from ");
        }
        sql.p(&self.expr).s(")");
    }
}

impl Print for IntervalUnit {
    fn print(&self, sql: &mut Sql) {
        sql.s(self.name());
    }
}
