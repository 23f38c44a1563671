//! SET: system variables, user variables, NAMES, CHARACTER SET, TRANSACTION.

use super::components::variable;
use super::powers;
use super::reply::Change;
use super::state::State;
use super::transaction::isolation_name;
use super::variables;
use super::{Session, deprecated, dialect, set_names, transaction};
use gannet_core::accounts::Privilege;
use gannet_core::vars::{self, Effect, Live, Persist, Scope, VarDef, VarId, VarValue};
use gannet_exec::Session as _;
use gannet_functions::Generator;
use gannet_parser::ast::{Expr, LiteralValue, SetItem, SetValue, UnaryOp, VarScope};
use gannet_telemetry::{Counter, count};
use gannet_types::charset::Charset;
use gannet_types::gtid::GtidSet;
use gannet_types::{
    Collation, CollationId, ErrorCode, Level, Result, SqlError, SqlMode, TimeZone, Value, convert, sql_err,
};

/// What error 1227 says of variables that not everybody may set.
pub(super) const MAY_SET_RESTRICTED: &str = "SUPER, SYSTEM_VARIABLES_ADMIN or SESSION_VARIABLES_ADMIN";

/// Variables that name a character set; by number they take a collation's, as mysqlbinlog writes them.
const CHARSETS: &[Live] = &[
    Live::CharacterSetClient,
    Live::CharacterSetConnection,
    Live::CharacterSetResults,
    Live::CharacterSetServer,
    Live::CharacterSetDatabase,
    Live::CharacterSetFilesystem,
];

/// Variables that name a collation.
const COLLATIONS: &[Live] =
    &[Live::CollationConnection, Live::CollationServer, Live::CollationDatabase, Live::DefaultCollationForUtf8mb4];

/// A character set and its collation.
const PAIRS: &[(Live, Live)] = &[
    (Live::CharacterSetConnection, Live::CollationConnection),
    (Live::CharacterSetServer, Live::CollationServer),
    (Live::CharacterSetDatabase, Live::CollationDatabase),
];

/// The name behind the number of a language or a collation, in variables of languages, character sets and collations. A
/// number of the one in a pair sets the other: it says both.
fn named(id: VarId, value: Value) -> Result<(VarId, Value)> {
    let number = match &value {
        _ if id.is(Live::LcTimeNames) => return Ok((id, crate::variables::locale(value)?)),
        Value::Int(n) => n.to_string(),
        Value::UInt(n) => n.to_string(),
        _ => return Ok((id, value)),
    };
    let is = |live: &Live| id.is(*live);
    let found = || number.parse().ok().and_then(Collation::by_id);
    if COLLATIONS.iter().any(is) {
        let found = found().ok_or_else(|| sql_err!(UnknownCollation, number))?;
        return Ok((id, Value::text(found.name)));
    }
    if !CHARSETS.iter().any(is) {
        return Ok((id, value));
    }
    let found = found().ok_or_else(|| sql_err!(UnknownCharacterSet, number))?;
    Ok(match PAIRS.iter().find(|(charset, _)| id.is(*charset)) {
        Some((_, collation)) => ((*collation).into(), Value::text(found.name)),
        None => (id, Value::text(found.charset.name())),
    })
}

/// The collation that a number means.
fn collation_of_number(value: &Value) -> Option<CollationId> {
    let number = match value {
        Value::Int(n) => u16::try_from(*n),
        Value::UInt(n) => u16::try_from(*n),
        _ => return None,
    };
    number.ok().and_then(Collation::by_id).map(|c| c.id)
}

/// What a text may not say, where MySQL has an error of its own for it.
fn check_name(id: VarId, text: &str) -> Result<()> {
    if id.is(Live::DefaultCollationForUtf8mb4) {
        let found = Collation::by_name(text)?;
        if !matches!(found.name, "utf8mb4_0900_ai_ci" | "utf8mb4_general_ci") {
            return Err(sql_err!(InvalidDefaultUtf8mb4Collation, found.name));
        }
    }
    if id.is(Live::GtidNext) { super::gtids::check_next(text) } else { Ok(()) }
}

/// `SET GLOBAL gtid_purged`, in the first lines of a dump of a server with GTIDs: the transactions that are in the dump
/// count as executed. Behind a `+` they are more of them, else all. Without a binary log there are no GTIDs: a warning
/// says that they are not kept, and the dump goes on. Errors 1766, 3546.
fn purge_gtids(session: &mut Session, value: &Value) -> Result<()> {
    let mut text = Vec::new();
    value.write_text(&mut text);
    let text = String::from_utf8_lossy(&text);
    let (set, more) = text.trim().strip_prefix('+').map_or((text.trim(), false), |rest| (rest, true));
    if value.is_null() || !is_gtid_set(set) {
        return Err(sql_err!(WrongValueForVar, "gtid_purged", text));
    }
    let Some(log) = session.server.binlog().cloned() else {
        if !set.trim().is_empty() {
            session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&"GTIDs: gtid_purged is not kept"]);
        }
        return Ok(());
    };
    if session.work.transaction().is_open() {
        return Err(sql_err!(VariableNotSettableInTransaction, "gtid_purged"));
    }
    let parsed = GtidSet::parse(set.as_bytes()).filter(|set| set.iter().all(|(source, _)| source.tag.is_empty()));
    let mut added =
        parsed.ok_or_else(|| SqlError::unsupported(format_args!("gtid_purged = {text}, which has a tag")))?;
    let executed = log.all_executed(&session.server.engine)?;
    if !more {
        let purged = log.purged();
        if !purged.is_subset(&added) {
            let why = "the new value must be a superset of the old value";
            return Err(sql_err!(CantSetGtidPurgedDueSetsConstraints, why));
        }
        added.subtract(&purged);
    }
    if added.intersects(&executed) {
        let why = "the added gtid set must not overlap with @@GLOBAL.GTID_EXECUTED";
        return Err(sql_err!(CantSetGtidPurgedDueSetsConstraints, why));
    }
    if added.is_empty() { Ok(()) } else { log.add_purged(&session.server.engine, &added) }
}

/// A set of GTIDs: `uuid[:tag]:n[-n]...`, more of them behind commas.
fn is_gtid_set(text: &str) -> bool {
    let number = |s: &str| !s.is_empty() && s.len() < 20 && s.bytes().all(|b| b.is_ascii_digit());
    let range = |s: &str| s.split_once('-').map_or_else(|| number(s), |(from, to)| number(from) && number(to));
    let uuid = |s: &str| {
        let digits: Vec<char> = s.chars().filter(|c| *c != '-').collect();
        digits.len() == 32 && digits.iter().all(char::is_ascii_hexdigit)
    };
    let tag = |s: &str| s.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && s.len() <= 32;
    text.split(',').map(str::trim).filter(|part| !part.is_empty()).all(|part| {
        let mut parts = part.split(':').map(str::trim);
        parts.next().is_some_and(uuid) && parts.all(|p| range(p) || tag(p))
    })
}

impl Session {
    /// SET. Items take effect in order; MySQL checks all before it sets any, and so does this for what can be checked
    /// beforehand.
    pub(crate) fn set(&mut self, items: &[SetItem]) -> Result<()> {
        count(Counter::ComSetOption);
        self.state.changed_inside |= self.inside;
        for item in items {
            check_item(self, item)?;
        }
        // User variables get their values when all are known: `SET @a = 1, @b = @a` reads the former @a.
        let mut assigned = Vec::new();
        for item in items {
            match item {
                SetItem::User { name, value } => assigned.push((name, self.evaluate(value)?)),
                item => set_item(self, item)?,
            }
        }
        for (name, value) in assigned {
            self.tracker.change();
            self.assign(name, value)?;
        }
        Ok(())
    }

    /// Sets a user variable. The value is a number or a text: dates and documents become text.
    pub(super) fn assign(&mut self, name: &str, value: Value) -> Result<()> {
        let value = match value {
            Value::Date(_) | Value::Time(..) | Value::DateTime(..) | Value::Timestamp(..) | Value::Json(_) => {
                let mut text = Vec::new();
                value.as_ref().localize(&self.settings.exec.time_zone).write_text(&mut text);
                let c = self.settings.charsets.connection;
                Value::Str((&*Charset::Utf8mb4.convert(&text, c.charset()).bytes).into(), c)
            }
            value => value,
        };
        self.state.set_user_variable(name, value)
    }

    /// The value of an expression outside a query. The common forms need no plan.
    pub(crate) fn evaluate(&mut self, expr: &Expr) -> Result<Value> {
        if let Some(value) = simple_value(self, expr)? {
            return Ok(value);
        }
        self.evaluate_by_query(expr)
    }

    pub(super) fn setter(&self) -> vars::SetBy {
        let (user, host) = self.state.user.rsplit_once('@').unwrap_or((&self.state.user, ""));
        vars::SetBy { at_us: gannet_runtime::WallTime::now().micros(), user: user.into(), host: host.into() }
    }

    pub(super) fn change_persisted(&self, change: impl FnOnce(&mut vars::persist::PersistedMap) + Send) -> Result<()> {
        let written = gannet_runtime::run_blocking(|| self.server.persisted.change(change));
        written.map_err(|e| SqlError::internal(format_args!("the persisted variables cannot be written: {e}")))
    }

    /// A warning of level Note, unless `sql_notes` is off.
    pub(crate) fn note(&mut self, error: &SqlError) {
        if self.state.vars[Live::SqlNotes].as_bool() {
            let note = error.to_warning(gannet_types::Level::Note);
            self.running.diagnostics.warnings.push(note);
        }
    }
}

/// The variable that SET names, maybe by its component.
fn known_variable(session: &Session, prefix: Option<&gannet_parser::ast::Ident>, name: &str) -> Result<VarId> {
    match prefix {
        Some(component) => variable(&session.server.globals, &format!("{component}.{name}")),
        None => variable(&session.server.globals, name),
    }
}

/// Names, scopes and privileges.
fn check_item(session: &Session, item: &SetItem) -> Result<()> {
    let SetItem::Variable { scope, prefix, name, .. } = item else { return Ok(()) };
    if prefix.is_none() && dialect::variable(name).is_some() {
        return Ok(());
    }
    let id = known_variable(session, prefix.as_ref(), name)?;
    let def = id.def();
    let read_only = |what: &str| sql_err!(IncorrectGlobalLocalVar, def.name, what);
    let p = session.state.privileges();
    match scope {
        VarScope::PersistOnly if !def.dynamic && !may_persist(session, def, *scope) => {
            return Err(read_only("non persistent read only"));
        }
        VarScope::PersistOnly => {}
        _ if !def.dynamic => return Err(read_only("read only")),
        _ => {}
    }
    let global = matches!(scope, VarScope::Global | VarScope::Persist | VarScope::PersistOnly);
    match (global, def.scope) {
        (true, Scope::Session) => return Err(sql_err!(LocalVariable, def.name)),
        (false, Scope::Global) => return Err(sql_err!(GlobalVariable, def.name)),
        _ => {}
    }
    if *scope == VarScope::PersistOnly
        && !(p.has(Privilege::SystemVariablesAdmin) && p.has(Privilege::PersistRoVariablesAdmin))
    {
        return Err(sql_err!(SpecificAccessDenied, "SYSTEM_VARIABLES_ADMIN and PERSIST_RO_VARIABLES_ADMIN"));
    }
    if global && !p.may_administer_variables() {
        return Err(sql_err!(SpecificAccessDenied, "SUPER or SYSTEM_VARIABLES_ADMIN"));
    }
    if global {
        powers::check_global_variable(session, def.name)?;
    }
    if matches!(scope, VarScope::Persist | VarScope::PersistOnly) && !may_persist(session, def, *scope) {
        return Err(read_only("non persistent"));
    }
    if id.is(Live::SqlLogBin) && session.work.transaction().is_open() {
        return Err(sql_err!(InsideTransactionPreventsSwitchSqlLogBin));
    }
    if global { Ok(()) } else { powers::check_restricted(session, def.name) }
}

/// May the session persist the variable, its privileges apart?
fn may_persist(session: &Session, def: &VarDef, scope: VarScope) -> bool {
    match def.persist {
        Persist::Free => true,
        Persist::Never => false,
        Persist::Restricted => {
            let administrator = session.server.globals.get(Live::PersistOnlyAdminX509Subject);
            let client = session.entry.tls.get().and_then(|tls| tls.client.as_ref());
            let named = |subject: &str| subject == administrator.as_str() && !subject.is_empty();
            scope == VarScope::PersistOnly && client.is_some_and(|c| named(&c.subject))
        }
    }
}

fn set_item(session: &mut Session, item: &SetItem) -> Result<()> {
    match item {
        SetItem::Variable { prefix: None, name, value: SetValue::Expr(expr), .. }
            if dialect::variable(name).is_some() =>
        {
            let value = session.evaluate(expr)?;
            dialect::set(session, name, &value)
        }
        SetItem::Variable { scope, prefix, name, value, .. } => {
            let id = known_variable(session, prefix.as_ref(), name)?;
            let names_charset = CHARSETS.iter().chain(COLLATIONS).any(|live| id.is(*live));
            if !names_charset {
                deprecated::warn_of_variable(session, id, name);
            }
            let value = match value {
                SetValue::Default => None,
                SetValue::Expr(expr) => Some(value_for_variable(session, expr)?),
            };
            if names_charset {
                let number = value.as_ref().and_then(collation_of_number);
                let is_collation = COLLATIONS.iter().any(|live| id.is(*live));
                deprecated::warn_of_charset(session, value.as_ref(), number, is_collation);
                deprecated::warn_of_variable(session, id, name);
            }
            match scope {
                VarScope::Global => set_global(session, id, value),
                VarScope::Persist | VarScope::PersistOnly => persist(session, id, value, *scope == VarScope::Persist),
                _ => set_session(session, id, value),
            }
        }
        SetItem::User { .. } => Err(SqlError::internal("user variables are set by their statement")),
        SetItem::Names { charset, collation } => {
            let charset = charset.as_ref().map(|c| c.text.as_ref());
            names(session, charset, collation.as_ref().map(|c| c.text.as_ref()))
        }
        SetItem::Charset(charset) => character_set(session, charset.as_ref().map(|c| c.text.as_ref())),
        SetItem::Transaction { scope, isolation, read_only } => match scope {
            VarScope::Implicit => {
                session.work.transaction_mut().set_next(isolation.map(super::transaction::engine_isolation), *read_only)
            }
            _ => {
                let global = *scope == VarScope::Global;
                if let Some(level) = isolation {
                    set_either(session, global, Live::TransactionIsolation, Value::text(isolation_name(*level)))?;
                }
                match read_only {
                    Some(on) => set_either(session, global, Live::TransactionReadOnly, Value::from(*on)),
                    None => Ok(()),
                }
            }
        },
    }
}

fn set_either(session: &mut Session, global: bool, id: Live, value: Value) -> Result<()> {
    if !global {
        return set_session(session, id.into(), Some(value));
    }
    if !session.state.privileges().may_administer_variables() {
        return Err(sql_err!(SpecificAccessDenied, "SUPER or SYSTEM_VARIABLES_ADMIN"));
    }
    set_global(session, id.into(), Some(value))
}

/// A bare word is a name (`SET sql_mode = ansi`), everything else an expression.
fn value_for_variable(session: &mut Session, expr: &Expr) -> Result<Value> {
    match expr {
        Expr::Column(c) if c.qualifier.is_none() && !is_local(session, &c.column) => Ok(Value::text(&c.column)),
        other => session.evaluate(other),
    }
}

/// A variable of the program whose statement runs has the name.
fn is_local(session: &Session, name: &str) -> bool {
    session.running.locals.as_ref().is_some_and(|names| names.slot(name).is_some())
}

pub(super) fn simple_value(session: &mut Session, expr: &Expr) -> Result<Option<Value>> {
    Ok(Some(match expr {
        Expr::Literal(l) => match &l.value {
            LiteralValue::Null => Value::Null,
            LiteralValue::Bool(b) => Value::from(*b),
            LiteralValue::Int(n) => i64::try_from(*n).map_or(Value::UInt(*n), Value::Int),
            LiteralValue::String { bytes, charset: None } => {
                gannet_plan::text_value(bytes, session.settings.charsets.connection)?
            }
            _ => return Ok(None),
        },
        Expr::Unary { op: UnaryOp::Neg, expr } => match &**expr {
            Expr::Literal(l) => match l.value {
                LiteralValue::Int(n) if n <= i64::MAX as u64 => Value::Int(-(n as i64)),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        },
        Expr::UserVar(name) => session.state.user_variable(name),
        Expr::SysVar(v) if v.prefix.is_none() => match v.scope {
            VarScope::Global => variables::value(&session.state, true, &v.name)?,
            VarScope::Implicit => variables::value(&session.state, false, &v.name)?,
            _ => return Ok(None),
        },
        _ => return Ok(None),
    }))
}

/// With `pseudo_replica_mode`, as mysqlbinlog sets it, the modes that other servers have are passed over: warning 3899.
fn known_modes(session: &mut Session, value: Value) -> Value {
    let bits = match value {
        Value::Int(bits) if bits >= 0 => bits as u64,
        Value::UInt(bits) => bits,
        _ => return value,
    };
    let known = SqlMode::known_of(bits);
    if known == bits || !session.state.vars[Live::PseudoReplicaMode].as_bool() {
        return value;
    }
    let warning = SqlMode::unsupported(bits & !known).to_warning(Level::Warning);
    session.running.diagnostics.warnings.push(warning);
    Value::UInt(known)
}

/// Checks a value; `None` is DEFAULT, which for a session is the global value.
fn checked(session: &mut Session, id: VarId, value: Option<Value>, global: bool) -> Result<VarValue> {
    let def = id.def();
    let Some(value) = value else {
        return Ok(match (def.scope == Scope::Both && !global, def.effect) {
            (true, _) => variables::global_value(&session.state, id),
            (false, Effect::Fact) => session.server.configured(id),
            (false, _) => def.initial.value(),
        });
    };
    if let Value::Str(..) = &value {
        let text = String::from_utf8_lossy(&convert::utf8_text(&value.as_ref())).into_owned();
        check_name(id, &text)?;
        super::full_text::check(session, id, &text)?;
    }
    if id.is(Live::InnodbBufferPoolSize)
        && let Value::Int(_) | Value::UInt(_) = value
    {
        let asked = match value {
            Value::UInt(n) => n,
            Value::Int(n) => n.max(0) as u64,
            _ => 0,
        };
        let (size, warning) = gannet_core::pool::fit(&session.server, asked);
        warning.into_iter().for_each(|w| session.running.diagnostics.warnings.push(w));
        return Ok(size);
    }
    let checked = def.check(&value)?;
    if def.bound && !global && checked.value.as_u64() > variables::global_value(&session.state, id).as_u64() {
        // Nobody lifts the bound that is set for all.
        if !session.state.privileges().may_set_restricted_variables() {
            return Err(sql_err!(SpecificAccessDenied, MAY_SET_RESTRICTED));
        }
    }
    if let Some(asked) = &checked.adjusted {
        let strict = session.settings.exec.sql_mode.contains(SqlMode::STRICT_ALL_TABLES);
        if strict {
            return Err(sql_err!(WrongValueForVar, def.name, asked));
        }
        session.running.diagnostics.warnings.warn(ErrorCode::TruncatedWrongValue, &[&def.name, asked]);
    }
    if id.is(Live::OptimizerSwitch) {
        let before = if global {
            variables::global_value(&session.state, id)
        } else {
            session.state.vars[Live::OptimizerSwitch].clone()
        };
        let asked = match &value {
            Value::Str(..) => String::from_utf8_lossy(&convert::utf8_text(&value.as_ref())).into_owned(),
            _ => checked.value.as_str().to_owned(),
        };
        return Ok(switched(session, before.as_str(), &asked, def.initial.value().as_str()));
    }
    if id.is(Live::SqlMode) {
        warn_of_sql_mode(session, checked.value.as_str());
    }
    if def.effect == Effect::DefaultOnly && checked.value != def.initial.value() {
        if def.name == "sql_replica_skip_counter" && session.server.binlog().is_some() {
            return Err(sql_err!(SqlReplicaSkipCounterNotSettableInGtidMode));
        }
        let shown = checked.value.display(&def.kind).unwrap_or_else(|| "NULL".into());
        return Err(SqlError::unsupported(format_args!("{} = {shown}", def.name)));
    }
    if id.is(Live::GtidNext) {
        return Ok(VarValue::text(&super::gtids::shown_next(checked.value.as_str())));
    }
    Ok(checked.value)
}

/// `optimizer_switch` with the flags asked for; warning 1235 for those that are turned and have no effect.
fn switched(session: &mut Session, before: &str, asked: &str, initial: &str) -> VarValue {
    let pairs = |list: &str| -> Vec<(String, String)> {
        let pair = |p: &str| p.split_once('=').map(|(n, v)| (n.trim().to_lowercase(), v.trim().to_lowercase()));
        list.split(',').filter_map(pair).collect()
    };
    let initial = pairs(initial);
    let default = |name: &str| initial.iter().find(|(n, _)| n == name).map_or("on", |(_, v)| v);
    let everything = asked.split(',').any(|p| p.trim().eq_ignore_ascii_case("default"));
    let mut flags = if everything { initial.clone() } else { pairs(before) };
    for (name, value) in pairs(asked) {
        let value = if value == "default" { default(&name).to_owned() } else { value };
        let Some(flag) = flags.iter_mut().find(|(n, _)| *n == name) else { continue };
        if variables::IDLE_SWITCHES.contains(&&*name) && flag.1 != value && value != default(&name) {
            let what = format!("{name}={value} in optimizer_switch");
            session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
        }
        flag.1 = value;
    }
    let flags: Vec<String> = flags.into_iter().map(|(n, v)| format!("{n}={v}")).collect();
    VarValue::text(&flags.join(","))
}

/// Warnings 3090 and 3135: modes that are deprecated, and modes that belong to strict mode.
fn warn_of_sql_mode(session: &mut Session, text: &str) {
    let Ok(mode) = SqlMode::parse(text) else { return };
    let parts = [SqlMode::NO_ZERO_DATE, SqlMode::NO_ZERO_IN_DATE, SqlMode::ERROR_FOR_DIVISION_BY_ZERO];
    let on = parts.iter().filter(|p| mode.contains(**p)).count();
    if on != if mode.is_strict() { parts.len() } else { 0 } {
        session.running.diagnostics.warnings.warn(ErrorCode::WarnDeprecatedSqlmodeOff, &[]);
    }
    if mode.contains(SqlMode::PAD_CHAR_TO_FULL_LENGTH) {
        session.running.diagnostics.warnings.warn(ErrorCode::WarnDeprecatedSqlmode, &[&"PAD_CHAR_TO_FULL_LENGTH"]);
    }
}

/// Values with a meaning of their own: charsets, collations, time zones.
fn validate(session: &Session, id: VarId, value: &VarValue) -> Result<VarValue> {
    let text = value.as_str();
    let is = |live: Live| id.is(live);
    if CHARSETS.iter().any(|live| is(*live)) && *value != VarValue::Null {
        let charset = Charset::by_name(text)?;
        if is(Live::CharacterSetClient) && !charset.may_be_clients() {
            return Err(sql_err!(WrongValueForVar, "character_set_client", charset.name()));
        }
        if PAIRS.iter().any(|(paired, _)| is(*paired)) {
            Collation::default_for(charset)?;
        }
        return Ok(VarValue::text(charset.name()));
    }
    if COLLATIONS.iter().any(|live| is(*live)) {
        return Ok(VarValue::text(Collation::by_name(text)?.name));
    }
    if is(Live::ProtocolCompressionAlgorithms) && !gannet_core::tls::check_compression(text) {
        return Err(sql_err!(WrongValueForVar, "protocol_compression_algorithms", text));
    }
    if is(Live::LogOutput) {
        return gannet_core::statement_log::check_output(text);
    }
    if is(Live::GeneralLogFile) || is(Live::SlowQueryLogFile) {
        let secure = super::files::secure_directory(&session.server.globals);
        let datadir = session.server.globals.get(Live::Datadir);
        gannet_core::statement_log::check_path(
            id.def().name,
            text,
            std::path::Path::new(datadir.as_str()),
            secure.as_deref(),
        )?;
    }
    if is(Live::TlsVersion) && !gannet_core::tls::check_version(text) {
        return Err(sql_err!(WrongValueForVar, "tls_version", text));
    }
    if is(Live::ResultsetMetadata) && text == "NONE" && !session.abilities.omits_metadata {
        return Err(sql_err!(ClientDoesNotSupport, "optional resultset metadata"));
    }
    if is(Live::EventScheduler) {
        if text == "DISABLED" {
            return Err(sql_err!(WrongValueForVar, "event_scheduler", text));
        }
        if session.server.globals.get(Live::EventScheduler).as_str() == "DISABLED" {
            return Err(sql_err!(OptionPreventsStatement, "--event-scheduler=DISABLED or --skip-grant-tables"));
        }
    }
    if is(Live::TimeZone) {
        let zone = TimeZone::parse(text)?;
        return Ok(VarValue::text(&zone.to_string()));
    }
    Ok(value.clone())
}

fn set_global(session: &mut Session, id: VarId, value: Option<Value>) -> Result<()> {
    let (id, value) = match value {
        Some(value) if id.is(Live::GtidPurged) => return purge_gtids(session, &value),
        None if id.is(Live::GtidPurged) => return Err(sql_err!(NoDefault, id.def().name)),
        Some(value) => named(id, value).map(|(id, value)| (id, Some(value)))?,
        None => (id, None),
    };
    let (given, value) = (value.is_some(), checked(session, id, value, true)?);
    variables::check_monitors(&mut session.running.diagnostics.warnings, id, &value, given)?;
    let value = validate(session, id, &value)?;
    if id.is(Live::MaxAllowedPacket) || id.is(Live::NetBufferLength) {
        let other = |live: Live| if id.is(live) { value.clone() } else { session.server.globals.get(live) };
        if other(Live::MaxAllowedPacket).as_u64() < other(Live::NetBufferLength).as_u64() {
            let names: [&dyn std::fmt::Display; 2] = [&"max_allowed_packet", &"net_buffer_length"];
            session.running.diagnostics.warnings.warn(ErrorCode::WarnOptionBelowLimit, &names);
        }
    }
    install_global(session, id, value)
}

fn install_global(session: &mut Session, id: VarId, value: VarValue) -> Result<()> {
    if id.is(Live::MaxJoinSize) {
        session.server.globals.set(Live::SqlBigSelects, VarValue::Int(i64::from(value.as_u64() == u64::MAX)));
    }
    if id.is(Live::ReplicaNetTimeout)
        && session.server.replicas().is_some_and(|replicas| replicas.beats_slower_than(value.as_u64()))
    {
        session.running.diagnostics.warnings.warn(ErrorCode::ReplicaHeartbeatValueOutOfRangeMax, &[]);
    }
    session.server.set_global(id, value)?;
    session.server.globals.note_setter(id, session.setter());
    Ok(())
}

/// SET PERSIST (`now`: the global value too) and SET PERSIST_ONLY.
fn persist(session: &mut Session, id: VarId, value: Option<Value>, now: bool) -> Result<()> {
    let value = checked(session, id, value, true)?;
    let value = validate(session, id, &value)?;
    if now {
        install_global(session, id, value.clone())?;
    }
    let vars::SetBy { at_us, user, host } = session.setter();
    let record = vars::persist::Persisted { value, at_us, user, host };
    session.change_persisted(|map| {
        map.insert(id.def().name, record);
    })
}

/// RESET PERSIST.
pub(crate) fn reset_persist(session: &mut Session, name: Option<&str>, if_exists: bool) -> Result<()> {
    let components = VarId::from(Live::Components).def().name;
    let Some(name) = name else { return session.change_persisted(|map| map.retain(|n, _| *n == components)) };
    let known = vars::find(name).filter(|id| session.server.persisted.get(*id).is_some());
    match known {
        Some(id) => session.change_persisted(|map| {
            map.remove(id.def().name);
        }),
        None if if_exists => {
            session.running.diagnostics.warnings.warn(ErrorCode::VarDoesNotExist, &[&name]);
            Ok(())
        }
        None => Err(sql_err!(VarDoesNotExist, name)),
    }
}

pub(crate) fn set_session(session: &mut Session, id: VarId, value: Option<Value>) -> Result<()> {
    if set_computed(session, id, &value)? {
        return Ok(());
    }
    let number = value.as_ref().and_then(collation_of_number);
    let (id, value) = match value {
        Some(value) => named(id, value).map(|(id, value)| (id, Some(value)))?,
        None => (id, None),
    };
    let value = value.map(|value| if id.is(Live::SqlMode) { known_modes(session, value) } else { value });
    let value = checked(session, id, value, false)?;
    let value = validate(session, id, &value)?;
    if id.is(Live::Autocommit) {
        transaction::set_autocommit(session, value.as_bool())?;
    }
    if id.is(Live::MaxAllowedPacket) || id.is(Live::NetBufferLength) || id.is(Live::MaxUserConnections) {
        return Err(sql_err!(VariableIsReadonly, "SESSION", id.def().name, "GLOBAL"));
    }
    if id.is(Live::GtidNext) {
        super::gtids::set_next(session, value.as_str())?;
    }
    if id.is(Live::TransactionIsolation) || id.is(Live::TransactionReadOnly) {
        session.work.transaction_mut().replace_next(id.is(Live::TransactionIsolation));
    }
    if id.is(Live::PseudoReplicaMode)
        && !value.as_bool()
        && let Some(origin) = &session.state.origin
    {
        origin.set_elsewhere(false);
    }
    if super::gtids::set_origin(session, id, value.as_u64()) {
        return Ok(());
    }
    session.state.vars.set(id, value.clone());
    if id.is(Live::CharacterSetResults) {
        session.state.results = number;
    }
    if id.is(Live::MaxJoinSize) {
        session.state.vars.set(Live::SqlBigSelects, VarValue::Int(i64::from(value.as_u64() == u64::MAX)));
    }
    couple(session, id, value.as_str());
    session.refresh();
    tracked(session, id);
    Ok(())
}

/// Variables that are fields of the session rather than stored values.
fn set_computed(session: &mut Session, id: VarId, value: &Option<Value>) -> Result<bool> {
    if id.is(Live::RandSeed1) || id.is(Live::RandSeed2) {
        let seed = value.as_ref().map_or(Ok(0), |v| id.def().check(v).map(|c| c.value.as_u64()))?;
        let any = || Generator::of_seeds(gannet_runtime::random_u64() as u32, gannet_runtime::random_u64() as u32);
        session.state.random.get_or_insert_with(any).set(id.is(Live::RandSeed1), seed as u32);
        return Ok(true);
    }
    let State { fixed_time_us, last_insert_id, next_insert_id, pseudo_thread_id, entry, .. } = &mut session.state;
    if id.is(Live::Timestamp) {
        *fixed_time_us = match value {
            None => None,
            Some(v) => match id.def().check(v)?.value {
                VarValue::Double(d) if d != 0.0 => Some((d * 1e6) as i64),
                _ => None,
            },
        };
        return Ok(true);
    }
    let target = match () {
        () if id.is(Live::LastInsertId) || id.is(Live::Identity) => last_insert_id,
        () if id.is(Live::InsertId) => next_insert_id,
        () if id.is(Live::PseudoThreadId) => pseudo_thread_id,
        () => return Ok(false),
    };
    *target = match value {
        None if id.is(Live::PseudoThreadId) => entry.id,
        None => 0,
        Some(v) => id.def().check(v)?.value.as_u64(),
    };
    Ok(true)
}

/// A character set brings its default collation, a collation its character set.
fn couple(session: &mut Session, id: VarId, text: &str) {
    for &(charset, collation) in PAIRS {
        if id.is(charset)
            && let Ok(cs) = Charset::by_name(text)
        {
            let name = Collation::default_of(cs).name;
            session.state.vars.set(collation, VarValue::text(name));
        }
        if id.is(collation)
            && let Ok(c) = Collation::by_name(text)
        {
            session.state.vars.set(charset, VarValue::text(c.charset.name()));
        }
    }
}

fn default_collation_of(session: &Session, charset: Charset) -> &'static Collation {
    if charset == Charset::Utf8mb4 {
        let name = session.state.vars[Live::DefaultCollationForUtf8mb4].as_str();
        return Collation::by_name(name).unwrap_or_else(|_| Collation::default_of(charset));
    }
    Collation::default_of(charset)
}

/// SET NAMES.
fn names(session: &mut Session, charset: Option<&str>, collation: Option<&str>) -> Result<()> {
    let (charset, collation) = match (charset, collation) {
        (None, _) => {
            let c = session.server.collation();
            (c.charset, c)
        }
        (Some(cs), None) => {
            let cs = Charset::by_name(cs)?;
            Collation::default_for(cs)?;
            (cs, default_collation_of(session, cs))
        }
        (Some(cs), Some(co)) => {
            let (cs, co) = (Charset::by_name(cs)?, Collation::by_name(co)?);
            if co.charset != cs {
                return Err(sql_err!(CollationCharsetMismatch, co.name, cs.name()));
            }
            (cs, co)
        }
    };
    if !charset.may_be_clients() {
        return Err(sql_err!(WrongValueForVar, "character_set_client", charset.name()));
    }
    set_names(session, charset, collation);
    session.refresh();
    for id in [Live::CharacterSetClient, Live::CharacterSetConnection, Live::CharacterSetResults] {
        tracked(session, id.into());
    }
    Ok(())
}

/// SET CHARACTER SET: client and results as given, the connection as the database.
fn character_set(session: &mut Session, charset: Option<&str>) -> Result<()> {
    let charset = match charset {
        Some(name) => Charset::by_name(name)?,
        None => session.server.collation().charset,
    };
    if !charset.may_be_clients() {
        return Err(sql_err!(WrongValueForVar, "character_set_client", charset.name()));
    }
    let database = session.state.vars[Live::CollationDatabase].as_str();
    let connection = Collation::by_name(database).unwrap_or_else(|_| CollationId::DEFAULT.get());
    set_names(session, charset, connection);
    session.state.vars.set(Live::CharacterSetConnection, VarValue::text(connection.charset.name()));
    session.state.results = None;
    session.refresh();
    for id in [Live::CharacterSetClient, Live::CharacterSetConnection, Live::CharacterSetResults] {
        tracked(session, id.into());
    }
    Ok(())
}

/// Notes the new value for the client's session tracking, when it asked for this variable.
fn tracked(session: &mut Session, id: VarId) {
    session.tracker.change();
    if !session.abilities.tracks {
        return;
    }
    let list = session.state.vars[Live::SessionTrackSystemVariables].as_str();
    let name = id.def().name;
    let wanted = |n: &str| n.trim() == "*" || n.trim().eq_ignore_ascii_case(name);
    if !list.split(',').any(wanted) {
        return;
    }
    let value = variables::session_value(&session.state, id).display(&id.def().kind).unwrap_or_default();
    session.changes.push(Change::Variable(name, value));
}
