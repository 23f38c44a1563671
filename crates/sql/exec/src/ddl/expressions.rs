//! Expressions in definitions: checked against the table's columns, brought into the form MySQL prints, evaluated while
//! rows are copied.
//!
//! The dictionary keeps the text, in the form which SHOW CREATE TABLE shows: names in backquotes, every string with its
//! character set, synonyms resolved, operands of AND, OR and NOT made truth values. Parsed again it gives the same
//! expression whatever the session's settings.

use super::DdlContext;
use crate::context::{Cx, Shared};
use crate::dml::complete::{self, Options};
use gannet_engine::Txn;
use gannet_functions::Stability;
use gannet_parser::ast::{BaseType, Call, CastType, ColumnRef, DataType, Expr, Literal, LiteralValue};
use gannet_parser::printer::{self, canonical};
use gannet_plan::TableExprs;
use gannet_plan::plan::{Intent, Plan, PlanKind, PlanTable};
use gannet_schema::names::eq_name;
use gannet_schema::{
    Column, ColumnDefault, Constraints, SchemaId, Table, TableDefinition, TableId, TableOptions, TableParts, assemble,
};
use gannet_types::{CollationId, Result, SqlError, SqlType, Value, sql_err};
use std::sync::Arc;

/// The use of an expression: decides what it may contain and which errors it gives.
#[derive(Clone, Debug)]
pub(super) enum Use {
    /// A generated column.
    Generated(Box<str>),
    /// A column's default.
    Default(Box<str>),
    /// A check constraint.
    Check(Box<str>),
    /// A functional index.
    Functional(Box<str>),
    /// PARTITION BY.
    Partition,
}

impl Use {
    fn disallowed(&self) -> SqlError {
        match self {
            Use::Generated(name) => sql_err!(GeneratedColumnFunctionIsNotAllowed, name),
            Use::Default(name) => sql_err!(DefaultValGeneratedFunctionIsNotAllowed, name),
            Use::Check(name) => sql_err!(CheckConstraintFunctionIsNotAllowed, name),
            Use::Functional(name) => sql_err!(FunctionalIndexFunctionIsNotAllowed, name),
            Use::Partition => sql_err!(PartitionFunctionIsNotAllowed),
        }
    }

    fn disallowed_named(&self, function: &str) -> SqlError {
        match self {
            Use::Generated(name) => sql_err!(GeneratedColumnNamedFunctionIsNotAllowed, name, function),
            Use::Default(name) => sql_err!(DefaultValGeneratedNamedFunctionIsNotAllowed, name, function),
            Use::Check(name) => sql_err!(CheckConstraintNamedFunctionIsNotAllowed, name, function),
            Use::Functional(name) => sql_err!(FunctionalIndexFunctionIsNotAllowed, name),
            Use::Partition => sql_err!(PartitionFunctionIsNotAllowed),
        }
    }

    fn variables(&self) -> SqlError {
        match self {
            Use::Generated(name) => sql_err!(GeneratedColumnVariables, name),
            Use::Default(name) => sql_err!(DefaultValGeneratedVariables, name),
            Use::Check(name) => sql_err!(CheckConstraintVariables, name),
            Use::Functional(name) => sql_err!(FunctionalIndexFunctionIsNotAllowed, name),
            Use::Partition => sql_err!(PartitionFunctionIsNotAllowed),
        }
    }

    /// The error for an expression that is a row of several values.
    fn row(&self) -> SqlError {
        match self {
            Use::Generated(name) => sql_err!(GeneratedColumnRowValue, name),
            Use::Check(name) => sql_err!(CheckConstraintRowValue, name),
            Use::Functional(name) => sql_err!(FunctionalIndexRowValue, name),
            Use::Default(_) => sql_err!(OperandColumns, 1),
            Use::Partition => self.disallowed(),
        }
    }

    fn unknown(&self, column: &ColumnRef) -> SqlError {
        let name = &column.column;
        match self {
            Use::Generated(_) => sql_err!(BadField, name, "generated column function"),
            Use::Default(_) => sql_err!(BadField, name, "default value expression"),
            Use::Check(check) => sql_err!(CheckConstraintRefersUnknownColumn, check, name),
            Use::Functional(_) => sql_err!(BadField, name, "functional index"),
            Use::Partition => sql_err!(BadField, name, "partition function"),
        }
    }

    /// The error for a column that is AUTO_INCREMENT, if it may not be there.
    fn auto_increment(&self) -> Option<SqlError> {
        Some(match self {
            Use::Generated(name) => sql_err!(GeneratedColumnRefAutoInc, name),
            Use::Default(name) => sql_err!(DefaultValGeneratedRefAutoInc, name),
            Use::Check(name) => sql_err!(CheckConstraintRefersAutoIncrementColumn, name),
            Use::Functional(name) => sql_err!(FunctionalIndexRefAutoIncrement, name),
            Use::Partition => return None,
        })
    }
}

/// An expression and the columns it is defined over.
pub(super) struct Definition<'a> {
    /// The columns of the table.
    pub(super) columns: &'a [Column],
    /// Name of the table: qualifiers may be written.
    pub(super) table: &'a str,
    /// Collation of the connection: its character set goes in front of strings.
    pub(super) collation: CollationId,
    /// default_week_format: WEEK(d) means WEEK(d, this).
    pub(super) week_format: u8,
}

impl Definition<'_> {
    /// Checks an expression and gives its text.
    pub(super) fn text(&self, usage: &Use, expr: &Expr) -> Result<Box<str>> {
        let mut expr = expr.clone();
        let owner = match usage {
            Use::Generated(name) | Use::Default(name) => {
                self.columns.iter().position(|c| eq_name(&c.name, name) && !c.hidden)
            }
            _ => None,
        };
        if let Expr::Row(_) = expr {
            return Err(usage.row());
        }
        self.rewrite_whole(&mut expr, usage, owner)?;
        if let Use::Check(name) = usage
            && !expr.is_boolean()
        {
            return Err(sql_err!(NonBooleanExprForCheckConstraint, name));
        }
        let text = String::from_utf8(printer::expr(&expr));
        text.map(Into::into).map_err(|_| SqlError::unsupported("strings outside of UTF-8 in definitions"))
    }

    /// Checks an expression that was taken before, against other columns than then. `owner` is the column it belongs
    /// to.
    pub(super) fn recheck(&self, usage: &Use, owner: Option<usize>, expr: &Expr) -> Result<()> {
        self.rewrite_whole(&mut expr.clone(), usage, owner)
    }

    /// As [`Self::rewrite`]; what is the whole part of an index may be an array.
    fn rewrite_whole(&self, e: &mut Expr, usage: &Use, owner: Option<usize>) -> Result<()> {
        match (e, usage) {
            (Expr::Cast(cast), Use::Functional(_)) if cast.array => {
                self.rewrite(&mut cast.expr, usage, owner)?;
                canonical::plain_decimal(&mut cast.to);
                Ok(())
            }
            (e, _) => self.rewrite(e, usage, owner),
        }
    }

    fn rewrite(&self, e: &mut Expr, usage: &Use, owner: Option<usize>) -> Result<()> {
        gannet_types::check_stack()?;
        self.check_node(e, usage)?;
        match e {
            Expr::Column(column) => self.column(column, usage, owner)?,
            Expr::JsonPath { column, path, .. } => {
                self.column(column, usage, owner)?;
                self.literal(path);
            }
            Expr::DefaultOf(column) => self.column(column, usage, owner)?,
            Expr::Literal(literal) => self.literal(literal),
            _ => {}
        }
        let mut outcome = Ok(());
        e.for_each_child_mut(&mut |child| {
            if outcome.is_ok() {
                outcome = self.rewrite(child, usage, owner);
            }
        });
        outcome?;
        self.forms().apply(e);
        Ok(())
    }

    /// What a definition must not hold.
    fn check_node(&self, e: &Expr, usage: &Use) -> Result<()> {
        match e {
            Expr::UserVar(_) | Expr::SysVar(_) | Expr::Assign { .. } => Err(usage.variables()),
            Expr::InSubquery { .. } | Expr::Quantified { .. } | Expr::Exists(_) | Expr::Subquery(_) => {
                Err(usage.disallowed())
            }
            Expr::Aggregate(_) => Err(sql_err!(InvalidGroupFuncUse)),
            Expr::Cast(cast) if cast.array => Err(gannet_plan::array_outside()),
            Expr::Window(w) => Err(sql_err!(WindowInvalidWindowFuncUse, format!("{:?}", w.func).to_lowercase())),
            Expr::Param(_) => Err(usage.disallowed()),
            Expr::Match(_) => Err(usage.disallowed_named("match")),
            Expr::ValuesOf(_) => Err(usage.disallowed_named("values")),
            Expr::Row(_) if matches!(usage, Use::Partition) => Err(usage.disallowed()),
            Expr::DefaultOf(column) => match self.find(column) {
                Some(at) if matches!(self.columns[at].default, ColumnDefault::Expression(_)) => {
                    Err(sql_err!(DefaultAsValGenerated))
                }
                _ => Ok(()),
            },
            Expr::Call(call) => self.check_call(call, usage),
            _ => Ok(()),
        }
    }

    fn check_call(&self, call: &Call, usage: &Use) -> Result<()> {
        let name = call.name.text.to_ascii_lowercase();
        if call.schema.is_some() || call.not_builtin {
            return Err(usage.disallowed_named(&format!("`{name}`")));
        }
        // Without an argument it is the statement's time.
        let clock = name == "unix_timestamp" && call.args.is_empty();
        let Some(function) = gannet_functions::function(&call.name.text) else {
            return match name.as_str() {
                _ if gannet_functions::is_spatial(&name.to_ascii_uppercase()) => {
                    Err(SqlError::unsupported(name.to_ascii_uppercase()))
                }
                "if" | "nullif" | "isnull" | "coercibility" => Ok(()),
                "name_const" | "any_value" | "grouping" => Err(usage.disallowed()),
                _ => Err(usage.disallowed_named(&format!("`{name}`"))),
            };
        };
        let stable = function.stability == Stability::Pure && !clock;
        let named = matches!(
            name.as_str(),
            "load_file"
                | "version"
                | "benchmark"
                | "name_const"
                | "statement_digest"
                | "statement_digest_text"
                | "sleep"
                | "get_lock"
                | "release_lock"
                | "release_all_locks"
                | "is_free_lock"
                | "is_used_lock"
                | "values"
                | "icu_version"
        );
        let allowed = match usage {
            // What may be there was looked at before.
            Use::Partition => true,
            // A default may differ from row to row.
            Use::Default(_) => !matches!(
                name.as_str(),
                "benchmark"
                    | "mysql_query_attribute_string"
                    | "sleep"
                    | "get_lock"
                    | "release_lock"
                    | "release_all_locks"
                    | "is_free_lock"
                    | "is_used_lock"
                    | "wait_for_executed_gtid_set"
                    | "load_file"
                    | "values"
            ),
            // These depend on settings of the session, and MySQL takes them.
            _ => {
                stable && !named
                    || matches!(
                        name.as_str(),
                        "week" | "from_unixtime" | "aes_encrypt" | "aes_decrypt" | "extractvalue"
                    )
            }
        };
        match canonical::name(&name) {
            _ if allowed => Ok(()),
            "version" => Err(usage.disallowed_named("version()")),
            other => Err(usage.disallowed_named(other)),
        }
    }

    fn find(&self, column: &ColumnRef) -> Option<usize> {
        if let Some(q) = &column.qualifier
            && *q.name.text != *self.table
        {
            return None;
        }
        self.columns.iter().position(|c| eq_name(&c.name, &column.column) && !c.hidden)
    }

    fn column(&self, column: &mut ColumnRef, usage: &Use, owner: Option<usize>) -> Result<()> {
        let at = self.find(column).ok_or_else(|| usage.unknown(column))?;
        let found = &self.columns[at];
        if let Some(error) = usage.auto_increment().filter(|_| found.auto_increment) {
            return Err(error);
        }
        match (usage, owner) {
            (Use::Generated(_), Some(owner)) if at >= owner && found.generated.is_some() => {
                return Err(sql_err!(GeneratedColumnNonPrior));
            }
            (Use::Default(name), Some(owner))
                if at >= owner
                    && (found.generated.is_some() || matches!(found.default, ColumnDefault::Expression(_))) =>
            {
                return Err(sql_err!(DefaultValGeneratedNonPrior, name));
            }
            _ => {}
        }
        column.qualifier = None;
        column.column.text = (&*found.name).into();
        Ok(())
    }

    fn literal(&self, literal: &mut Literal) {
        let own: Box<str> = self.collation.charset().name().into();
        if let LiteralValue::String { bytes, charset } = &mut literal.value {
            let charset = charset.get_or_insert(own);
            if std::str::from_utf8(bytes).is_err() {
                literal.value = LiteralValue::Hex { bytes: bytes.clone(), charset: Some(charset.clone()) };
            }
        }
    }

    fn forms(&self) -> canonical::Forms {
        let charset = self.collation.charset().name();
        canonical::Forms { charset, week_format: self.week_format, casts_times: true }
    }
}

/// Names of the columns in a kept text: what stands in backquotes outside of strings.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '`' && c != '\'' {
            continue;
        }
        let mut inside = String::new();
        while let Some(d) = rest.next() {
            if d == '\\' && c == '\'' {
                rest.next();
            } else if d == c {
                if rest.peek() != Some(&c) {
                    break;
                }
                rest.next();
                inside.push(c);
            } else {
                inside.push(d);
            }
        }
        if c == '`' {
            names.push(inside);
        }
    }
    names
}

/// A text uses the column.
pub(super) fn uses(text: &str, column: &str) -> bool {
    names_in(text).iter().any(|n| eq_name(n, column))
}

/// MODIFY cannot make a plain column VIRTUAL, nor a STORED one VIRTUAL, nor the reverse. Error 3106.
pub(super) fn check_generated_change(old: &Column, new: &Column) -> Result<()> {
    let stored = |c: &Column| c.generated.as_ref().map(|g| g.stored);
    let allowed = match (stored(old), stored(new)) {
        (Some(a), Some(b)) => a == b,
        (None, None) | (None, Some(true)) | (Some(true), None) => true,
        (None, Some(false)) | (Some(false), None) => false,
    };
    if allowed { Ok(()) } else { Err(sql_err!(UnsupportedActionOnGeneratedColumn, "Changing the STORED status")) }
}

/// An expression that the dictionary keeps.
pub(super) fn parse(text: &str) -> Result<Expr> {
    gannet_parser::parse_expr(text.as_bytes(), gannet_parser::LexMode::default())
        .map_err(|e| SqlError::internal(format_args!("stored expression {text}: {e}")))
}

/// Rows of the table hold what the expressions of its next version give. What the actions of an ALTER say of it would
/// be a long list; what the expressions of both versions are bound to decides. `origins` says of each column of the
/// next one which one it was.
pub(super) fn rows_keep(old: &Arc<Table>, next: &TableDefinition, origins: &[Option<u32>]) -> Result<bool> {
    if !old.has_expressions() && next.checks.is_empty() {
        return Ok(true);
    }
    let defined = gannet_schema::define::define(next)?;
    if defined.columns.len() != origins.len() {
        return Ok(false);
    }
    // The old columns in their new places: a new one's is kept by a column that no expression names, and those that go
    // come last.
    let mut columns = Vec::with_capacity(old.columns.len());
    for (place, (origin, column)) in origins.iter().zip(&defined.columns).enumerate() {
        columns.push(match origin {
            Some(origin) => old.columns[*origin as usize].clone(),
            None => Column { name: format!("\u{1}{place}").into(), generated: None, ..column.clone() },
        });
    }
    let gone = old.columns.iter().enumerate().filter(|(o, _)| !origins.contains(&Some(*o as u32)));
    columns.extend(gone.map(|(_, column)| Column { generated: None, ..column.clone() }));
    let placed = scratch_of(&columns, old.constraints.clone(), old.options.collation);
    gannet_plan::rows_keep(&placed, &scratch_of(&defined.columns, defined.constraints, next.options.collation))
}

/// A table that exists nowhere, to bind expressions over columns.
pub(super) fn scratch(columns: &[Column], collation: CollationId) -> Arc<Table> {
    scratch_of(columns, Constraints::default(), collation)
}

fn scratch_of(columns: &[Column], constraints: Constraints, collation: CollationId) -> Arc<Table> {
    let parts = TableParts {
        history: Default::default(),
        id: TableId(0),
        schema_id: SchemaId(0),
        row_tree: gannet_engine::TreeId::ZERO,
        created: 0,
        options: TableOptions { collation, comment: "".into(), create_options: Box::new([]) },
        source: gannet_schema::RowSource::Engine,
        temporary: false,
        triggers: Box::default(),
        partitioned: None,
        constraints,
    };
    Arc::new(assemble(parts, "".into(), "".into(), columns.to_vec(), Vec::new(), None, Arc::default()))
}

/// The type of an array's elements, where a functional key part is one: integers, DECIMAL, DATE, TIME, DATETIME, and
/// texts with a length.
pub(super) fn element_type(text: &str) -> Result<Option<SqlType>> {
    let Expr::Cast(cast) = parse(text)? else { return Ok(None) };
    if !cast.array {
        return Ok(None);
    }
    let ty = match &cast.to {
        CastType::Signed => SqlType::BIGINT,
        CastType::Unsigned => SqlType::bigint_unsigned(),
        CastType::Type(ty) => element_of(ty, &cast.to)?,
    };
    Ok(Some(SqlType { nullable: true, ..ty }))
}

fn element_of(ty: &DataType, whole: &CastType) -> Result<SqlType> {
    let length = ty.length.and_then(|n| u32::try_from(n).ok());
    let fraction = u8::try_from(ty.length.unwrap_or(0)).unwrap_or(u8::MAX);
    let precise = |id| match fraction {
        0..=6 => Ok(SqlType::temporal(id, fraction)),
        _ => Err(sql_err!(TooBigPrecision, fraction, "CAST", 6)),
    };
    let binary = ty.charset.as_ref().is_some_and(|c| c.text.eq_ignore_ascii_case("binary"));
    match ty.base {
        // In MySQL a cast to more characters gives a TEXT.
        BaseType::Char | BaseType::Binary if length.is_none_or(|n| n > 512) => {
            Err(SqlError::unsupported("CAST-ing data to array of char/binary BLOBs"))
        }
        BaseType::Char if ty.national || ty.charset.is_some() && !binary || ty.bin_collation => {
            Err(SqlError::unsupported("specifying charset for multi-valued index"))
        }
        BaseType::Char if !binary => Ok(SqlType::varchar(length.unwrap_or(0), gannet_schema::array::text_collation())),
        BaseType::Char | BaseType::Binary => Ok(SqlType::varbinary(length.unwrap_or(0))),
        BaseType::Date => Ok(SqlType::new(gannet_types::TypeId::Date)),
        BaseType::Time => precise(gannet_types::TypeId::Time),
        BaseType::DateTime => precise(gannet_types::TypeId::DateTime),
        BaseType::Decimal => {
            let digits = (ty.length.unwrap_or(10), ty.decimals.unwrap_or(0));
            match digits {
                (m, _) if m > 65 => Err(sql_err!(TooBigPrecision, m, "CAST", 65)),
                (_, d) if d > 30 => Err(sql_err!(TooBigScale, d, "CAST", 30)),
                (m, d) if d > m => Err(sql_err!(MBiggerThanD, "CAST")),
                (m, d) => Ok(SqlType::decimal(m as u8, d as u8)),
            }
        }
        _ => {
            let name = String::from_utf8_lossy(&printer::cast_type(whole)).to_uppercase();
            let name = if name == "REAL" { "DOUBLE" } else { &name };
            Err(SqlError::unsupported(format_args!("CAST-ing data to array of {name}")))
        }
    }
}

/// Bytes of the longest key.
const MAX_KEY_BYTES: u32 = 3072;

/// The type of an expression over columns, as the column of a functional key part has it: of an array, the document.
pub(super) fn functional_type(columns: &[Column], text: &str, collation: CollationId) -> Result<SqlType> {
    let parsed = parse(text)?;
    if matches!(parsed, Expr::Column(_)) {
        return Err(sql_err!(FunctionalIndexOnField));
    }
    if let Expr::Cast(cast) = &parsed
        && cast.array
    {
        let ty = gannet_plan::bind_over(&scratch(columns, collation), &cast.expr)?.ty;
        return match ty.id {
            id if id == gannet_types::TypeId::Json || ty.is_text() => {
                Ok(SqlType { nullable: true, ..SqlType::new(gannet_types::TypeId::Json) })
            }
            _ => Err(sql_err!(InvalidTypeForJson, 1, "cast_as_array")),
        };
    }
    let ty = gannet_plan::bind_over(&scratch(columns, collation), &parsed)?.ty;
    match ty.id {
        gannet_types::TypeId::Json => Err(sql_err!(FunctionalIndexOnJsonOrGeometryFunction)),
        id if id.is_lob() => Err(sql_err!(FunctionalIndexOnLob)),
        // UPPER of a TEXT: as a column it would first of all be too long for its row.
        id if id.is_string() && ty.length.saturating_mul(ty.collation.charset().max_len()) > MAX_KEY_BYTES => {
            Err(sql_err!(TooLongKey, MAX_KEY_BYTES))
        }
        // Digits that an expression is shown with bound no column: ROUND(x, 1) of a DOUBLE.
        id @ (gannet_types::TypeId::Float | gannet_types::TypeId::Double) => {
            Ok(SqlType { nullable: true, ..SqlType::new(id) })
        }
        _ => Ok(SqlType { nullable: true, ..ty }),
    }
}

/// The expressions of a table, ready to be evaluated over rows outside of a planned statement.
pub(super) struct Compiled {
    plan: Plan,
}

impl Compiled {
    /// None for a table without expressions.
    pub(super) fn of(table: &Arc<Table>) -> Result<Option<Compiled>> {
        if !table.has_expressions() {
            return Ok(None);
        }
        let exprs = gannet_plan::table_exprs::table_exprs(table)?;
        Ok(Some(Compiled { plan: plan_over(table, Some(exprs)) }))
    }

    /// Some expression concerns the columns of a row, not only its place.
    pub(super) fn computes(&self) -> bool {
        self.plan.tables[0]
            .exprs
            .as_ref()
            .is_some_and(|e| e.defaults.iter().any(Option::is_some) || !e.generated.is_empty() || !e.checks.is_empty())
    }

    /// Fills what expressions give: columns marked as missing, and all generated ones. Error 3819 for a violated check.
    pub(super) fn complete(
        &self,
        row: &mut [Value],
        missing: &[bool],
        number: u64,
        txn: &mut Txn,
        cx: &mut DdlContext<'_>,
    ) -> Result<()> {
        let table = &self.plan.tables[0].table.clone();
        let strict = cx.settings.sql_mode.is_strict();
        let shared = Shared::new(&self.plan, cx.settings, &[]);
        let mut run = Cx::new(&shared, txn, cx.session, cx.warnings);
        run.strict = strict;
        for column in (0..row.len()).filter(|c| missing[*c] && table.columns[*c].generated.is_none()) {
            row[column] = complete::default(0, column, row, number, &mut run)?;
        }
        complete::generate(0, row, number, &mut run)?;
        match complete::violated(0, row, Options { checks: &[], inside: None, refuses_null: false }, &mut run)? {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

/// Finds the parts of rows outside of a planned statement.
pub(super) struct Placing {
    plan: Plan,
}

impl Placing {
    pub(super) fn of(table: &Arc<Table>) -> Result<Placing> {
        let exprs = gannet_plan::table_exprs::table_exprs(table)?;
        Ok(Placing { plan: plan_over(table, Some(exprs)) })
    }

    /// The part of a row. Error 1526.
    pub(super) fn part(&self, row: &[Value], txn: &mut Txn, cx: &mut DdlContext<'_>) -> Result<u32> {
        let shared = Shared::new(&self.plan, cx.settings, &[]);
        let mut run = Cx::new(&shared, txn, cx.session, cx.warnings);
        crate::place::number_of_new_row(0, row, &mut run)
    }
}

/// A plan that does nothing over one table.
pub(crate) fn plan_over(table: &Arc<Table>, exprs: Option<Arc<TableExprs>>) -> Plan {
    let slot = PlanTable {
        table: table.clone(),
        alias: (&*table.name).into(),
        intent: Intent::Insert,
        columns_used: Box::new([]),
        starred: false,
        statistics_epoch: table.statistics.epoch(),
        exprs,
        links: None,
        only: None,
        through: None,
    };
    Plan {
        kind: PlanKind::Query(Box::new(gannet_plan::physical::Physical {
            op: gannet_plan::physical::Op::Values { rows: Box::new([]), reason: None },
            types: Box::new([]),
            rows: 0.0,
            cost: 0.0,
            one_by_one: false,
        })),
        columns: Box::new([]),
        tables: Box::new([slot]),
        subplans: Box::new([]),
        ctes: Box::new([]),
        params: Box::new([]),
        pins: Box::new([]),
        dives: Box::new([]),
        selectivity: 0,
        accesses: Default::default(),
        sent_as_read: None,
        registers: 0,
        writes: false,
        reads: Default::default(),
        uses: Default::default(),
        routines: Box::default(),
        into: None,
        max_execution_time: None,
        warnings: Box::new([]),
        dates: Box::new([]),
        date_numbers: Box::new([]),
        number_texts: Box::new([]),
    }
}
