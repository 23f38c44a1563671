//! System variables in a session: reading them, and what follows from them.

use super::Charsets;
use super::components::{is_present, variable};
use super::state::{State, to_sql};
use gannet_core::vars::{self, Kind, Live, Scope, SessionVars, VarId, VarValue};
use gannet_parser::ast::VarScope;
use gannet_plan::options::Passes;
use gannet_types::charset::Charset;
use gannet_types::temporal::{LOCALE_NUMBERS, Locale};
use gannet_types::{
    Collation, CollationId, ErrorCode, Result, SqlMode, SqlType, TimeZone, TypeId, Value, Warnings, sql_err,
};

/// `innodb_monitor_enable` and its kin name nothing: as a value that is error 1231, as a default a warning. It switches
/// nothing then.
pub(super) fn check_monitors(warnings: &mut Warnings, id: VarId, value: &VarValue, given: bool) -> Result<()> {
    if !matches!(id.def().then, vars::Then::Monitors(_)) || !value.as_str().is_empty() {
        return Ok(());
    }
    if given {
        return Err(sql_err!(WrongValueForVar, id.def().name, ""));
    }
    warnings.warn(ErrorCode::NoDefault, &[&id.def().name]);
    Ok(())
}

/// The name of a language, from its name or number; what is neither is for the variable to refuse. Error 1649.
pub(super) fn locale(value: Value) -> Result<Value> {
    let number = match &value {
        Value::Str(name, _) => {
            let name = String::from_utf8_lossy(name);
            return if Locale::by_name(&name).is_some() {
                Ok(Value::text(&name))
            } else {
                Err(sql_err!(UnknownLocale, name))
            };
        }
        Value::Int(n) => i128::from(*n),
        Value::UInt(n) => i128::from(*n),
        _ => return Ok(value),
    };
    let name = usize::try_from(number).ok().and_then(|n| LOCALE_NUMBERS.get(n));
    Ok(Value::text(name.ok_or_else(|| sql_err!(UnknownLocale, number))?))
}

/// What follows from a session's variables; made anew when one of them changes.
#[derive(Clone)]
pub struct Settings {
    /// What the executor takes.
    pub exec: gannet_exec::Settings,
    pub charsets: Charsets,
    /// Hash of the variables that plans depend on.
    pub(crate) mode_key: u64,
    /// `sql_auto_is_null`.
    auto_is_null: bool,
    /// The optimizer's passes.
    pub(crate) passes: Passes,
    /// The second (since 1970 UTC) that `exec.today` was computed for.
    today_of_s: Option<i64>,
}

impl Settings {
    /// `found_rows`: the client counts rows that an UPDATE finds.
    pub(crate) fn of(state: &State, found_rows: bool) -> Self {
        Settings {
            exec: of_executor(state, found_rows),
            charsets: charsets(&state.vars, state.results),
            mode_key: mode_key(&state.vars),
            auto_is_null: state.vars[Live::SqlAutoIsNull].as_bool(),
            passes: passes(&state.vars),
            today_of_s: None,
        }
    }

    /// What `IS NULL` of an AUTO_INCREMENT column looks for; 0 without `sql_auto_is_null`.
    pub(crate) fn found_by_null(&self, state: &State) -> u64 {
        if self.auto_is_null { state.last_insert_id } else { 0 }
    }

    /// A statement begins whose time is `now_us`.
    #[inline]
    pub(crate) fn begin(&mut self, now_us: i64) {
        self.exec.now_us = now_us;
        // Zones change their offsets at whole seconds.
        let second = Some(now_us.div_euclid(1_000_000));
        if self.today_of_s != second {
            self.today_of_s = second;
            self.exec.today = today(now_us, &self.exec.time_zone);
        }
    }
}

/// The date of an instant in a zone.
fn today(now_us: i64, zone: &TimeZone) -> gannet_types::Date {
    let stamp = gannet_types::Timestamp::from_unix_micros(now_us);
    stamp.map_or(gannet_types::Date::new(0, 0, 0), |t| t.to_local(zone).date())
}

fn of_executor(state: &State, found_rows: bool) -> gannet_exec::Settings {
    let v = &state.vars;
    let n = |id: Live| v[id].as_u64();
    gannet_exec::Settings {
        sql_mode: SqlMode::parse(v[Live::SqlMode].as_str()).unwrap_or(SqlMode::DEFAULT),
        utf8mb4: Collation::by_name(v[Live::DefaultCollationForUtf8mb4].as_str())
            .map_or(CollationId::DEFAULT, |c| c.id),
        time_zone: time_zone(state, v[Live::TimeZone].as_str()),
        now_us: 0,
        today: gannet_types::Date::new(0, 0, 0),
        div_precision_increment: n(Live::DivPrecisionIncrement) as u8,
        group_concat_max_len: n(Live::GroupConcatMaxLen),
        max_allowed_packet: n(Live::MaxAllowedPacket),
        default_week_format: n(Live::DefaultWeekFormat) as u8,
        locale: Locale::by_name(v[Live::LcTimeNames].as_str()).unwrap_or(Locale::ENGLISH),
        auto_increment_increment: n(Live::AutoIncrementIncrement),
        auto_increment_offset: n(Live::AutoIncrementOffset),
        memory_limit: n(Live::StatementMemory) as usize,
        cte_max_recursion_depth: n(Live::CteMaxRecursionDepth),
        count_found_rows: found_rows,
        foreign_key_checks: v[Live::ForeignKeyChecks].as_bool(),
        locks: Default::default(),
        triggers: true,
        parallel_workers: n(Live::ParallelWorkers),
        ddl_threads: n(Live::InnodbDdlThreads),
    }
}

fn time_zone(state: &State, name: &str) -> TimeZone {
    if name.eq_ignore_ascii_case("SYSTEM") {
        return state.server.facts.system_zone.clone();
    }
    TimeZone::parse(name).unwrap_or(TimeZone::UTC)
}

/// Flags of `optimizer_switch` that have no effect: their subject does not exist here, or is decided by cost alone.
pub(crate) const IDLE_SWITCHES: &[&str] = &[
    "engine_condition_pushdown",
    "mrr",
    "mrr_cost_based",
    "batched_key_access",
    "subquery_materialization_cost_based",
    "use_index_extensions",
    "condition_fanout_filter",
    "subquery_to_derived",
    "hypergraph_optimizer",
    "hash_set_operations",
];

/// The optimizer's passes as `optimizer_switch` wants them. (`hash_join` has no effect in MySQL 8.4 either: that is
/// `block_nested_loop`.)
fn passes(v: &SessionVars) -> Passes {
    let flags = [
        ("index_condition_pushdown", Passes::INDEX_CONDITION),
        ("semijoin", Passes::SEMIJOIN),
        ("derived_merge", Passes::DERIVED_MERGE),
        ("derived_condition_pushdown", Passes::PUSHDOWN),
        ("block_nested_loop", Passes::HASH_JOIN),
        ("firstmatch", Passes::FIRST_MATCH),
        ("materialization", Passes::MATERIALIZATION),
        ("loosescan", Passes::LOOSE_SCAN),
        ("duplicateweedout", Passes::WEEDOUT),
        ("index_merge", Passes::INDEX_MERGE),
        ("index_merge_union", Passes::MERGE_UNION),
        ("index_merge_sort_union", Passes::MERGE_SORT_UNION),
        ("index_merge_intersection", Passes::MERGE_INTERSECT),
        ("skip_scan", Passes::SKIP_SCAN),
        ("prefer_ordering_index", Passes::PREFER_ORDER),
    ];
    let switches = v[Live::OptimizerSwitch].as_str();
    let off = |name: &str| switches.split(',').any(|f| f.strip_suffix("=off") == Some(name));
    let shown = switches.split(',').any(|f| f == "use_invisible_indexes=on");
    let all = if shown { Passes::ALL.without(Passes::HIDE_INVISIBLE) } else { Passes::ALL };
    flags.iter().filter(|(name, _)| off(name)).fold(all, |all, (_, pass)| all.without(*pass))
}

/// Hash of what plans depend on beside their key's other parts.
pub(crate) fn mode_key(v: &SessionVars) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    for id in [Live::SqlMode, Live::TimeZone, Live::OptimizerSwitch, Live::LcTimeNames, Live::CharacterSetClient] {
        v[id].as_str().hash(&mut h);
    }
    for id in [Live::DivPrecisionIncrement, Live::DefaultWeekFormat, Live::GroupConcatMaxLen] {
        v[id].as_u64().hash(&mut h);
    }
    for id in [Live::UpdatableViewsWithLimit, Live::DefaultCollationForUtf8mb4] {
        v[id].as_str().hash(&mut h);
    }
    h.finish()
}

/// The character sets that the variables name. They were checked when they were set. `chosen`: by which collation that
/// of results was named.
fn charsets(v: &SessionVars, chosen: Option<CollationId>) -> Charsets {
    let charset = |id: Live| Charset::by_name(v[id].as_str()).unwrap_or(Charset::Utf8mb4);
    let connection = Collation::by_name(v[Live::CollationConnection].as_str()).map_or(CollationId::DEFAULT, |c| c.id);
    let results = match &v[Live::CharacterSetResults] {
        VarValue::Null => None,
        _ => Some(charset(Live::CharacterSetResults)),
    };
    let shown = |to: Charset| chosen.filter(|c| c.charset() == to).unwrap_or_else(|| Collation::default_of(to).id);
    let shown = results.map_or(CollationId::DEFAULT, shown);
    Charsets { client: charset(Live::CharacterSetClient), connection, results, shown }
}

/// `@@name`, `@@global.name`.
pub(crate) fn value(state: &State, global: bool, name: &str) -> Result<Value> {
    let id = variable(&state.server.globals, name)?;
    let def = id.def();
    match (global, def.scope) {
        (true, Scope::Session) => Err(sql_err!(IncorrectGlobalLocalVar, def.name, "SESSION")),
        (true, _) => Ok(to_sql(&global_value(state, id))),
        (false, Scope::Global) => Ok(to_sql(&global_value(state, id))),
        (false, _) => Ok(session_sql_value(state, id)),
    }
}

fn session_sql_value(state: &State, id: VarId) -> Value {
    to_sql(&session_value(state, id))
}

/// Calls `emit` for each variable of another session that is stored, as it was at the end of its last command.
pub(crate) fn each_of(state: &State, vars: &SessionVars, mut emit: impl FnMut(&str, &str) -> Result<()>) -> Result<()> {
    let mut text = String::new();
    for (name, id) in vars::sorted() {
        let def = id.def();
        if def.scope == Scope::Global || COMPUTED.iter().any(|c| id.is(*c)) || !is_present(&state.server.globals, *id) {
            continue;
        }
        text.clear();
        vars.get(*id).write(&def.kind, &mut text);
        emit(name, &text)?;
    }
    Ok(())
}

/// Variables of a session that are not stored with the others.
const COMPUTED: [Live; 12] = [
    Live::Timestamp,
    Live::LastInsertId,
    Live::Identity,
    Live::InsertId,
    Live::PseudoThreadId,
    Live::WarningCount,
    Live::ErrorCount,
    Live::StatementId,
    Live::GtidOwned,
    Live::OriginalCommitTimestamp,
    Live::OriginalServerVersion,
    Live::ImmediateServerVersion,
];

/// The value in the session; computed for variables that are not stored.
pub(crate) fn session_value(state: &State, id: VarId) -> VarValue {
    if id.def().scope == Scope::Global {
        return global_value(state, id);
    }
    if id.is(Live::Timestamp) {
        return VarValue::Double(state.statement_time() as f64 / 1e6);
    }
    let n = match () {
        () if id.is(Live::LastInsertId) || id.is(Live::Identity) => state.last_insert_id,
        () if id.is(Live::InsertId) => state.next_insert_id,
        () if id.is(Live::PseudoThreadId) => state.pseudo_thread_id,
        () if id.is(Live::WarningCount) => state.running.before.warnings,
        () if id.is(Live::ErrorCount) => state.running.before.errors,
        () if id.is(Live::StatementId) => state.statement_id,
        () if id.is(Live::GtidOwned) => return VarValue::text(&gtid_owned(state, Some(state.entry.id))),
        () => match state.origin.as_deref().and_then(|origin| origin_value(origin, id)) {
            Some(value) => value,
            None => return state.vars.get(id).clone(),
        },
    };
    VarValue::uint(n)
}

/// What is said of the next transaction's first server; `None`: another variable is asked for.
fn origin_value(origin: &gannet_core::work::Origin, id: VarId) -> Option<u64> {
    match () {
        () if id.is(Live::OriginalCommitTimestamp) => Some(origin.committed_us()),
        () if id.is(Live::OriginalServerVersion) => Some(u64::from(origin.version())),
        () if id.is(Live::ImmediateServerVersion) => Some(u64::from(origin.immediate())),
        () => None,
    }
}

/// `gtid_owned`: the GTID that a connection owns, or those of all of them, each with its owner.
fn gtid_owned(state: &State, connection: Option<u64>) -> String {
    let Some(log) = state.server.binlog() else { return String::new() };
    let all = log.owned().into_iter();
    let shown = all.filter_map(|((uuid, number), owner)| match connection {
        None => Some(format!("{uuid}:{number}#{owner}")),
        Some(own) => (own == owner).then(|| format!("{uuid}:{number}")),
    });
    shown.collect::<Vec<_>>().join(",")
}

/// The global value.
pub(crate) fn global_value(state: &State, id: VarId) -> VarValue {
    if let Some(log) = state.server.binlog() {
        if id.is(Live::GtidExecuted) {
            return VarValue::text(&log.executed(&state.server.engine).to_string());
        }
        if id.is(Live::GtidPurged) {
            return VarValue::text(&log.purged().to_string());
        }
        if id.is(Live::GtidOwned) {
            return VarValue::text(&gtid_owned(state, None));
        }
    }
    state.server.globals.get(id)
}

/// The rows of SHOW VARIABLES and of the tables behind it: calls `emit` for each name that is wanted, with its value.
pub(crate) fn each(
    state: &State,
    global: bool,
    wanted: impl Fn(&str) -> bool,
    mut emit: impl FnMut(&str, &str) -> Result<()>,
) -> Result<()> {
    let mut text = String::new();
    for (name, id) in vars::sorted() {
        let def = id.def();
        if !wanted(name) || global && def.scope == Scope::Session || !is_present(&state.server.globals, *id) {
            continue;
        }
        let value = if global { global_value(state, *id) } else { session_value(state, *id) };
        text.clear();
        value.write(&def.kind, &mut text);
        emit(name, &text)?;
    }
    Ok(())
}

impl gannet_plan::options::VariableTypes for State {
    fn user(&self, name: &str) -> Option<SqlType> {
        let value = self.user_vars.get(name).or_else(|| self.user_vars.get(&name.to_lowercase()))?;
        Some(type_of(value))
    }

    fn system(&self, name: &str, scope: VarScope) -> Result<SqlType> {
        let id = variable(&self.server.globals, name)?;
        let def = id.def();
        match (scope, def.scope) {
            (VarScope::Global, Scope::Session) => return Err(sql_err!(IncorrectGlobalLocalVar, def.name, "SESSION")),
            (VarScope::Session, Scope::Global) => return Err(sql_err!(IncorrectGlobalLocalVar, def.name, "GLOBAL")),
            _ => {}
        }
        Ok(match def.kind {
            Kind::Bool => SqlType { length: 1, ..SqlType::BIGINT },
            Kind::Int { min, .. } if min < 0 => SqlType::BIGINT,
            Kind::Int { .. } => SqlType::bigint_unsigned(),
            Kind::Double { .. } => SqlType { length: 23, scale: 6, ..SqlType::DOUBLE },
            _ => SqlType::varchar(LONGEST_TEXT, CollationId::UTF8MB3_GENERAL_CI),
        })
    }
}

/// Characters of a system variable's text, and of a user variable's.
const LONGEST_TEXT: u32 = 21_845;
const LONGEST_USER_TEXT: u32 = 16_777_215;

/// The type of a user variable's value.
pub(crate) fn type_of(v: &Value) -> SqlType {
    match v {
        Value::Null => SqlType::NULL,
        Value::Int(_) => SqlType::BIGINT,
        Value::UInt(_) => SqlType::bigint_unsigned(),
        Value::Decimal(_) => SqlType::any_decimal(),
        Value::Float(_) | Value::Double(_) => SqlType::DOUBLE,
        Value::Str(_, c) if c.is_binary() => SqlType::new(TypeId::LongBlob),
        Value::Str(_, c) => {
            let length = LONGEST_USER_TEXT.saturating_mul(c.charset().max_len());
            SqlType { length, ..SqlType::new(TypeId::LongText) }.with_collation(*c)
        }
        Value::Date(_) => SqlType::new(TypeId::Date),
        Value::Time(..) => SqlType::temporal(TypeId::Time, 6),
        Value::DateTime(..) | Value::Timestamp(..) => SqlType::temporal(TypeId::DateTime, 6),
        _ => SqlType::new(TypeId::LongText).with_collation(CollationId::DEFAULT),
    }
}
