//! SHOW, DESCRIBE, EXPLAIN, and table maintenance.
//!
//! A SHOW with a virtual table is a query over that table, whose column names are SHOW's; LIKE and WHERE then work as
//! in any query. Other SHOWs make their rows here.

use super::Session;
use super::locks::is_stale;
use super::reply::Done;
use super::reply::Reply;
use super::reply::{RowsSink, plain_column};
use super::state::{text, unsupported};
use super::text::{lex_mode, parse_error, show_options};
use super::{explain, grants, planning, show_programs};
use crate::virt;
use gannet_catalog::StoredTable;
use gannet_core::accounts::{self, Privilege};
use gannet_core::status;
use gannet_parser::ast::{self, Ident, ObjectName, Show, ShowFilter, ShowKind, Statement, VarScope};
use gannet_plan::Plan;
use gannet_plan::plan::ResultColumn;
use gannet_schema::RoutineKind;
use gannet_schema::show::{ShowOptions, requoted, show_create_schema, show_create_table};
use gannet_telemetry::{Counter, count};
use gannet_types::collation::LikePattern;
use gannet_types::{CollationId, ErrorCode, Level, Result, SqlError, SqlMode, SqlType, TypeId, Value, sql_err};
use std::fmt::Write;

pub(super) fn column(name: &str, length: u32) -> ResultColumn {
    plain_column(name, SqlType::varchar(length, CollationId::UTF8MB3_GENERAL_CI))
}

/// The columns of what is told of maintained tables.
pub(super) fn maintained() -> Vec<ResultColumn> {
    vec![column("Table", 128), column("Op", 10), column("Msg_type", 10), column("Msg_text", 393_216 / 4)]
}

pub(super) fn number(name: &str) -> ResultColumn {
    plain_column(name, SqlType::bigint_unsigned().not_null())
}

pub(super) fn table(columns: Vec<ResultColumn>, rows: Vec<Vec<Value>>) -> RowsSink {
    RowsSink { columns, rows }
}

/// A string literal of SQL.
pub(super) fn quote(s: &str) -> String {
    format!("'{}'", s.replace('\\', "\\\\").replace('\'', "''"))
}

/// An identifier of SQL.
fn ident(s: &str) -> String {
    format!("`{}`", s.replace('`', "``"))
}

/// `a AS b, ...` from `COLUMN=Name` words.
fn aliased(list: &str) -> String {
    let mut out = String::new();
    for pair in list.split(", ") {
        let (from, to) = pair.split_once('=').unwrap_or((pair, pair));
        let _ = write!(out, "{}{from} AS {}", if out.is_empty() { "" } else { ", " }, ident(to));
    }
    out
}

/// The columns of SHOW CHARACTER SET and SHOW COLLATION with the session's `default_collation_for_utf8mb4`, which the
/// tables of information_schema do not follow.
fn with_default_collation(session: &Session, list: String) -> String {
    if session.settings.exec.utf8mb4 != CollationId::UTF8MB4_GENERAL_CI {
        return list;
    }
    let own = "CASE CHARACTER_SET_NAME WHEN 'utf8mb4' THEN 'utf8mb4_general_ci' ELSE DEFAULT_COLLATE_NAME END";
    let list = list.replace("DEFAULT_COLLATE_NAME", own);
    let own = "CASE COLLATION_NAME WHEN 'utf8mb4_general_ci' THEN 'Yes' WHEN 'utf8mb4_0900_ai_ci' THEN '' ELSE IS_DEFAULT END";
    list.replace("IS_DEFAULT", own)
}

impl Session {
    /// Sends rows that are at hand.
    pub(crate) fn send_table(&mut self, t: &RowsSink, reply: &mut dyn Reply) -> Result<Done> {
        reply.begin(&t.columns, self.manner(), None)?;
        let outcome = t.rows.iter().try_for_each(|row| {
            self.running.figures.sent += 1;
            reply.row(row)
        });
        outcome.map(|()| Done::ROWS)
    }

    /// The rows of a SELECT that the server wrote, run as a statement inside the running one.
    pub(crate) fn own_rows(&mut self, sql: &str) -> Result<RowsSink> {
        own_rows_of(self, |_| Ok(sql.into()))
    }

    /// COM_PROCESS_INFO.
    pub fn show_processlist(&mut self, full: bool, reply: &mut dyn Reply) -> Result<Done> {
        let rows = processlist(self, full);
        self.send_table(&rows, reply)
    }
}

/// The rows of a SELECT that the server wrote; its text follows from definitions, and is made anew when they changed
/// while the query waited for a table.
pub(crate) fn own_rows_of(session: &mut Session, text: impl Fn(&Session) -> Result<String>) -> Result<RowsSink> {
    let mut tries = 0;
    loop {
        let sql = text(session)?;
        match session.nested(|inner| rows_of(inner, &sql, None)) {
            Err(e) if is_stale(&e) && tries < explain::MAX_REPLANS => tries += 1,
            outcome => return outcome,
        }
    }
}

/// SHOW.
pub(crate) fn show(session: &mut Session, show: &Show, reply: &mut dyn Reply) -> Result<Done> {
    let columns = |session: &mut Session, what: &str, scope: VarScope| {
        columns_of_select(session, &select_values(what, scope), "Variable_name", show.filter.as_ref())
    };
    if let Some(shown) = super::show_values::show(session, show, columns, reply) {
        return shown;
    }
    let rows = show_rows(session, show)?;
    // What a query of the server's own has sent for it went to nobody.
    session.running.figures.sent = 0;
    session.send_table(&rows, reply)
}

/// Columns of the result of SHOW, EXPLAIN or DESCRIBE, for COM_STMT_PREPARE.
pub(crate) fn columns_of(session: &mut Session, statement: &Statement) -> Result<Vec<ResultColumn>> {
    match statement {
        Statement::Show(show) => Ok(show_rows(session, show)?.columns),
        Statement::Describe { table, column } => Ok(describe_rows(session, table, column.as_ref())?.columns),
        Statement::Explain(e) => explain::explain_columns(session, e),
        _ => Ok(Vec::new()),
    }
}

/// Runs `SELECT` text of the server's own, with SHOW's filter around it.
pub(crate) fn select(session: &mut Session, sql: &str, like: &str, filter: Option<&ShowFilter>) -> Result<RowsSink> {
    let mut kept = select_with(session, sql, (like, filter), |session, plan, params| session.keep_rows(plan, params))?;
    without_table(&mut kept.columns);
    Ok(kept)
}

/// The columns of such a SELECT, which is not run.
fn columns_of_select(
    session: &mut Session,
    sql: &str,
    like: &str,
    filter: Option<&ShowFilter>,
) -> Result<Vec<ResultColumn>> {
    let mut columns = select_with(session, sql, (like, filter), |_, plan, _| Ok(plan.columns.to_vec()))?;
    without_table(&mut columns);
    Ok(columns)
}

/// The derived table around the query is not part of the answer.
fn without_table(columns: &mut [ResultColumn]) {
    columns.iter_mut().for_each(|c| c.table = "".into());
}

fn select_with<T>(
    session: &mut Session,
    sql: &str,
    (like, filter): (&str, Option<&ShowFilter>),
    then: impl FnOnce(&mut Session, &Plan, &[Value]) -> Result<T>,
) -> Result<T> {
    // The text is ours: it is read in the default mode whatever the session's.
    let parsed = gannet_parser::parse(sql.as_bytes(), lex_mode(SqlMode::DEFAULT)).map_err(parse_error)?;
    let Statement::Query(inner) = parsed.statement else { return unsupported("this SHOW") };
    let statement = match filter {
        None => Statement::Query(inner),
        Some(filter) => Statement::Query(Box::new(filtered(*inner, like, filter))),
    };
    let saved = std::mem::replace(&mut session.settings.exec.sql_mode, SqlMode::DEFAULT);
    // Names are those of the server's own text, not of a program around the statement.
    let locals = session.running.locals.take();
    let planned = session.make_inner_plan(&statement);
    session.running.locals = locals;
    let outcome = planned.and_then(|(plan, params)| then(session, &plan, &params));
    session.settings.exec.sql_mode = saved;
    outcome
}

/// The rows of a SELECT of the server's own over one table, with a condition of the client's in its WHERE.
pub(crate) fn rows_where(session: &mut Session, sql: &str, condition: Option<ast::Expr>) -> Result<RowsSink> {
    let parsed = gannet_parser::parse(sql.as_bytes(), lex_mode(SqlMode::DEFAULT)).map_err(parse_error)?;
    let Statement::Query(mut query) = parsed.statement else { return unsupported("this SELECT") };
    if let (ast::QueryBody::Select(s), Some(right)) = (&mut query.body, condition) {
        s.filter = Some(match s.filter.take() {
            Some(left) => ast::Expr::And(vec![left, right]),
            None => right,
        });
    }
    let (plan, params) = session.make_inner_plan(&Statement::Query(query))?;
    let mut kept = session.keep_rows(&plan, &params)?;
    for c in &mut kept.columns {
        c.org_table = c.table.clone();
    }
    Ok(kept)
}

/// The rows of a SELECT of the server's own that a condition leaves.
fn rows_of(session: &mut Session, sql: &str, filter: Option<ast::Expr>) -> Result<RowsSink> {
    session.state.renew_snapshot();
    select(session, sql, "", filter.map(ShowFilter::Where).as_ref())
}

fn schema_of(session: &Session, schema: Option<&Ident>) -> Result<String> {
    let name = match schema {
        Some(s) => s.text.to_string(),
        None => session.state.require_database()?.to_string(),
    };
    session.require_entry(&name)?;
    match session.state.snapshot.schema(&name) {
        Some(s) => Ok(s.name.to_string()),
        None => Err(sql_err!(BadDb, name)),
    }
}

/// Schema and name of a table that must exist.
fn table_of(session: &Session, name: &ObjectName) -> Result<(String, String)> {
    let schema = match &name.schema {
        Some(s) => s.text.to_string(),
        None => session.state.require_database()?.to_string(),
    };
    let found = session.table_for(None, &schema, &name.name)?;
    Ok((found.schema.to_string(), found.name.to_string()))
}

/// SHOW of one table, which may be a temporary one.
fn of_one_table<T>(session: &mut Session, show: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
    session.state.running.shows_temporary = true;
    let shown = show(session);
    session.state.running.shows_temporary = false;
    shown
}

fn show_rows(session: &mut Session, show: &Show) -> Result<RowsSink> {
    let filter = show.filter.as_ref();
    match &show.kind {
        ShowKind::Databases => {
            count(Counter::ComShowDatabases);
            let head = pattern_head("Database", filter);
            let sql = format!("SELECT SCHEMA_NAME AS {} FROM information_schema.SCHEMATA ORDER BY 1", ident(&head));
            select(session, &sql, &head, filter)
        }
        ShowKind::Tables { full, schema, .. } => {
            count(Counter::ComShowTables);
            let schema = schema_of(session, schema.as_ref())?;
            let head = pattern_head(&format!("Tables_in_{schema}"), filter);
            let kind = if *full { ", TABLE_TYPE AS `Table_type`" } else { "" };
            let (head_sql, schema) = (ident(&head), quote(&schema));
            let from = format!("information_schema.TABLES WHERE TABLE_SCHEMA = {schema} ORDER BY 1");
            select(session, &format!("SELECT TABLE_NAME AS {head_sql}{kind} FROM {from}"), &head, filter)
        }
        ShowKind::TableStatus { schema } => {
            count(Counter::ComShowTableStatus);
            let schema = quote(&schema_of(session, schema.as_ref())?);
            let list = aliased(
                "TABLE_NAME=Name, ENGINE=Engine, VERSION=Version, ROW_FORMAT=Row_format, TABLE_ROWS=Rows, \
                 AVG_ROW_LENGTH=Avg_row_length, DATA_LENGTH=Data_length, MAX_DATA_LENGTH=Max_data_length, \
                 INDEX_LENGTH=Index_length, DATA_FREE=Data_free, AUTO_INCREMENT=Auto_increment, CREATE_TIME=Create_time, \
                 UPDATE_TIME=Update_time, CHECK_TIME=Check_time, TABLE_COLLATION=Collation, CHECKSUM=Checksum, \
                 CREATE_OPTIONS=Create_options, TABLE_COMMENT=Comment",
            );
            let sql = format!("SELECT {list} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema}");
            select(session, &sql, "Name", filter)
        }
        ShowKind::Columns { full, table, .. } => {
            count(Counter::ComShowFields);
            of_one_table(session, |s| show_columns(s, table, *full, filter))
        }
        ShowKind::Index { table, .. } => {
            count(Counter::ComShowKeys);
            let (schema, name) = table_of(session, table)?;
            let list = aliased(
                "TABLE_NAME=Table, NON_UNIQUE=Non_unique, INDEX_NAME=Key_name, SEQ_IN_INDEX=Seq_in_index, \
                 COLUMN_NAME=Column_name, COLLATION=Collation, CARDINALITY=Cardinality, SUB_PART=Sub_part, PACKED=Packed, \
                 NULLABLE=Null, INDEX_TYPE=Index_type, COMMENT=Comment, INDEX_COMMENT=Index_comment, IS_VISIBLE=Visible, \
                 EXPRESSION=Expression",
            );
            let from = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote(&schema), quote(&name));
            let sql = format!("SELECT {list} FROM information_schema.STATISTICS WHERE {from}");
            of_one_table(session, |s| select(s, &sql, "Key_name", filter))
        }
        ShowKind::Variables(scope) => {
            count(Counter::ComShowVariables);
            name_value(session, "variables", *scope, filter)
        }
        ShowKind::Status(scope) => {
            count(Counter::ComShowStatus);
            // The session's counters do not tell of the statement that shows them.
            let aside = gannet_telemetry::put_aside();
            let rows = name_value(session, "status", *scope, filter);
            gannet_telemetry::take_up(aside);
            rows
        }
        ShowKind::Engines => {
            count(Counter::ComShowStorageEngines);
            let list = aliased(
                "ENGINE=Engine, SUPPORT=Support, COMMENT=Comment, TRANSACTIONS=Transactions, XA=XA, SAVEPOINTS=Savepoints",
            );
            select(session, &format!("SELECT {list} FROM information_schema.ENGINES"), "Engine", filter)
        }
        ShowKind::CharacterSet => {
            count(Counter::ComShowCharsets);
            let list = "CHARACTER_SET_NAME=Charset, DESCRIPTION=Description, DEFAULT_COLLATE_NAME=Default collation, \
                 MAXLEN=Maxlen";
            let list = with_default_collation(session, aliased(list));
            select(session, &format!("SELECT {list} FROM information_schema.CHARACTER_SETS"), "Charset", filter)
        }
        ShowKind::Collation => {
            count(Counter::ComShowCollations);
            let list = "COLLATION_NAME=Collation, CHARACTER_SET_NAME=Charset, ID=Id, IS_DEFAULT=Default, \
                 IS_COMPILED=Compiled, SORTLEN=Sortlen, PAD_ATTRIBUTE=Pad_attribute";
            let list = with_default_collation(session, aliased(list));
            select(
                session,
                &format!("SELECT {list} FROM information_schema.COLLATIONS ORDER BY 1"),
                "Collation",
                filter,
            )
        }
        ShowKind::Plugins => {
            let list = aliased(
                "PLUGIN_NAME=Name, PLUGIN_STATUS=Status, PLUGIN_TYPE=Type, PLUGIN_LIBRARY=Library, PLUGIN_LICENSE=License",
            );
            select(session, &format!("SELECT {list} FROM information_schema.PLUGINS"), "Name", filter)
        }
        ShowKind::Triggers { .. } | ShowKind::Events { .. } | ShowKind::ProcedureStatus | ShowKind::FunctionStatus => {
            show_programs(session, show)
        }
        ShowKind::OpenTables { schema } => session.open_tables(schema.as_ref(), filter),
        other => show_direct(session, other),
    }
}

/// SHOW TRIGGERS, EVENTS, PROCEDURE STATUS, FUNCTION STATUS.
fn show_programs(session: &mut Session, show: &Show) -> Result<RowsSink> {
    let filter = show.filter.as_ref();
    match &show.kind {
        ShowKind::Triggers { schema, .. } => {
            let schema = quote(&schema_of(session, schema.as_ref())?);
            let list = aliased(
                "TRIGGER_NAME=Trigger, EVENT_MANIPULATION=Event, EVENT_OBJECT_TABLE=Table, ACTION_STATEMENT=Statement, \
                 ACTION_TIMING=Timing, CREATED=Created, SQL_MODE=sql_mode, DEFINER=Definer, \
                 CHARACTER_SET_CLIENT=character_set_client, COLLATION_CONNECTION=collation_connection, \
                 DATABASE_COLLATION=Database Collation",
            );
            select(
                session,
                &format!("SELECT {list} FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {schema}"),
                "Table",
                filter,
            )
        }
        ShowKind::Events { schema } => {
            let schema = quote(&schema_of(session, schema.as_ref())?);
            let list = aliased(
                "EVENT_SCHEMA=Db, EVENT_NAME=Name, DEFINER=Definer, TIME_ZONE=Time zone, EVENT_TYPE=Type, \
                 EXECUTE_AT=Execute at, INTERVAL_VALUE=Interval value, INTERVAL_FIELD=Interval field, STARTS=Starts, ENDS=Ends, \
                 STATUS=Status, ORIGINATOR=Originator, CHARACTER_SET_CLIENT=character_set_client, \
                 COLLATION_CONNECTION=collation_connection, DATABASE_COLLATION=Database Collation",
            );
            select(
                session,
                &format!("SELECT {list} FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {schema}"),
                "Name",
                filter,
            )
        }
        ShowKind::ProcedureStatus | ShowKind::FunctionStatus => {
            let procedure = matches!(show.kind, ShowKind::ProcedureStatus);
            let kind = if procedure { "PROCEDURE" } else { "FUNCTION" };
            let list = aliased(
                "ROUTINE_SCHEMA=Db, ROUTINE_NAME=Name, ROUTINE_TYPE=Type, DEFINER=Definer, LAST_ALTERED=Modified, \
                 CREATED=Created, SECURITY_TYPE=Security_type, ROUTINE_COMMENT=Comment, \
                 CHARACTER_SET_CLIENT=character_set_client, COLLATION_CONNECTION=collation_connection, \
                 DATABASE_COLLATION=Database Collation",
            );
            select(
                session,
                &format!("SELECT {list} FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = '{kind}'"),
                "Name",
                filter,
            )
        }
        _ => unsupported("this SHOW"),
    }
}

/// SHOWs whose rows are made here.
fn show_direct(session: &mut Session, kind: &ShowKind) -> Result<RowsSink> {
    match kind {
        ShowKind::ProcessList { full } => Ok(processlist(session, *full)),
        ShowKind::CreateTable(name) => show_table_definition(session, name),
        ShowKind::CreateDatabase { if_not_exists, name } => {
            count(Counter::ComShowCreateDb);
            gannet_schema::names::check_schema_name(name)?;
            session.require_entry(name)?;
            let schema = session.state.snapshot.schema(name).ok_or_else(|| sql_err!(BadDb, name))?;
            let sql = show_create_schema(schema, *if_not_exists, &show_options(session));
            let columns = vec![column("Database", 64), column("Create Database", 1024)];
            Ok(table(columns, vec![vec![text(&schema.name), text(&sql)]]))
        }
        ShowKind::CreateUser(account) => {
            let missing = |name: &accounts::Name| sql_err!(CannotUser, "SHOW CREATE USER", name.quoted());
            let a = account_of(session, account, missing)?;
            let head = format!("CREATE USER for {}", a.name());
            Ok(table(vec![column(&head, 4096)], vec![vec![text(&grants::show_create_user(session, &a))]]))
        }
        ShowKind::Grants { user, using, .. } => {
            count(Counter::ComShowGrants);
            let missing = |name: &accounts::Name| sql_err!(NonexistingGrant, name.user, name.host);
            let a = account_of(session, user.as_ref().unwrap_or(&ast::Account::CurrentUser), missing)?;
            let mut roles: Vec<accounts::Name> = using.iter().map(|r| session.account_name(r)).collect();
            let granted = session.server.accounts.roles_of(&a);
            if let Some(n) = roles.iter().find(|n| !granted.contains(n)) {
                return Err(sql_err!(RoleNotGranted, n.user, n.host, a.user, a.host));
            }
            if roles.is_empty() && matches!(user, None | Some(ast::Account::CurrentUser)) {
                roles.clone_from(&session.state.roles);
            }
            let head = format!("Grants for {}", a.name());
            let rows = grants::grant_lines(session, &a, &roles).iter().map(|l| vec![text(l)]).collect();
            Ok(table(vec![column(&head, 1024)], rows))
        }
        ShowKind::Privileges => {
            count(Counter::ComShowPrivileges);
            let row = |p: &(Privilege, &str, &str, &str, bool)| vec![text(p.1), text(p.2), text(p.3)];
            let columns = vec![column("Privilege", 64), column("Context", 64), column("Comment", 128)];
            Ok(table(columns, accounts::PRIVILEGES.iter().map(row).collect()))
        }
        ShowKind::Warnings(limit) => {
            count(Counter::ComShowWarnings);
            diagnostics(session, limit.as_ref(), false)
        }
        ShowKind::Errors(limit) => {
            count(Counter::ComShowErrors);
            diagnostics(session, limit.as_ref(), true)
        }
        ShowKind::CountWarnings => {
            let n = Value::UInt(session.running.diagnostics.warnings.total());
            Ok(table(vec![number("@@session.warning_count")], vec![vec![n]]))
        }
        ShowKind::CountErrors => {
            let n = Value::UInt(session.running.diagnostics.warnings.errors());
            Ok(table(vec![number("@@session.error_count")], vec![vec![n]]))
        }
        ShowKind::Engine { name, what } => show_engine(session, name, what),
        ShowKind::Profiles => Ok(session.show_profiles()),
        ShowKind::BinaryLogs => {
            require_replication(session, Privilege::ReplicationClient)?;
            session.show_binary_logs()
        }
        ShowKind::BinaryLogStatus => {
            require_replication(session, Privilege::ReplicationClient)?;
            session.show_binary_log_status()
        }
        ShowKind::Replicas => {
            require_replication(session, Privilege::ReplicationSlave)?;
            session.show_replicas()
        }
        ShowKind::ReplicaStatus { channel, .. } => {
            require_replication(session, Privilege::ReplicationClient)?;
            replica_status(session, channel.as_deref())
        }
        ShowKind::CreateView(name) => {
            let (schema, name) = table_of(session, name)?;
            let t = session.state.snapshot.require_table(&schema, &name)?.clone();
            show_create_view(session, &t)
        }
        ShowKind::CreateProcedure(name) => show_programs::show_create_routine(session, RoutineKind::Procedure, name),
        ShowKind::CreateFunction(name) => show_programs::show_create_routine(session, RoutineKind::Function, name),
        ShowKind::CreateTrigger(name) => show_programs::show_create_trigger(session, name),
        ShowKind::CreateEvent(name) => show_programs::show_create_event(session, name),
        ShowKind::LogEvents { relay, file, position, limit, channel } => {
            require_replication(session, Privilege::ReplicationSlave)?;
            let relay = relay.then_some(channel.as_deref());
            session.show_log_events(relay, file.as_deref(), *position, limit.as_ref())
        }
        ShowKind::Profile { types, query, limit } => session.show_profile(types, *query, limit.as_ref()),
        // As a MySQL that was built for use answers.
        ShowKind::ProcedureCode(_) | ShowKind::FunctionCode(_) => {
            Err(sql_err!(FeatureDisabled, "SHOW PROCEDURE|FUNCTION CODE", "--with-debug"))
        }
        ShowKind::ParseTree(_) => unsupported("SHOW PARSE_TREE"),
        ShowKind::Other(words) => {
            let words: Vec<&str> = words.iter().map(|w| &*w.text).collect();
            unsupported(format_args!("SHOW {}", words.join(" ")))
        }
        _ => unsupported("this SHOW"),
    }
}

/// Error 1227 for what tells about replication.
fn require_replication(session: &Session, need: Privilege) -> Result<()> {
    let have = session.state.privileges();
    match (have.has(need), need) {
        (true, _) => Ok(()),
        (false, Privilege::ReplicationSlave) => have.require(need),
        _ if have.has(Privilege::Super) => Ok(()),
        _ => Err(sql_err!(SpecificAccessDenied, "SUPER, REPLICATION CLIENT")),
    }
}

fn show_columns(session: &mut Session, name: &ObjectName, full: bool, filter: Option<&ShowFilter>) -> Result<RowsSink> {
    let (schema, name) = table_of(session, name)?;
    let view = session.state.snapshot.base_table(&schema, &name).filter(|t| t.view().is_some()).cloned();
    if let Some(error) = view.and_then(|view| planning::view_error(session, &view)) {
        return Err(error);
    }
    let list = if full {
        "COLUMN_NAME=Field, COLUMN_TYPE=Type, COLLATION_NAME=Collation, IS_NULLABLE=Null, COLUMN_KEY=Key, \
         COLUMN_DEFAULT=Default, EXTRA=Extra, PRIVILEGES=Privileges, COLUMN_COMMENT=Comment"
    } else {
        "COLUMN_NAME=Field, COLUMN_TYPE=Type, IS_NULLABLE=Null, COLUMN_KEY=Key, COLUMN_DEFAULT=Default, EXTRA=Extra"
    };
    let from = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote(&schema), quote(&name));
    let sql = format!("SELECT {} FROM information_schema.COLUMNS WHERE {from}", aliased(list));
    select(session, &sql, "Field", filter)
}

/// The query that answers SHOW STATUS and SHOW VARIABLES with a condition.
fn select_values(what: &str, scope: VarScope) -> String {
    let scope = if scope == VarScope::Global { "global" } else { "session" };
    let list = aliased("VARIABLE_NAME=Variable_name, VARIABLE_VALUE=Value");
    format!("SELECT {list} FROM performance_schema.{scope}_{what}")
}

fn name_value(session: &mut Session, what: &str, scope: VarScope, filter: Option<&ShowFilter>) -> Result<RowsSink> {
    session.state.running.names = match filter {
        Some(ShowFilter::Like(pattern)) => {
            Some(Box::new(LikePattern::new(pattern, Some('\\'), CollationId::UTF8MB3_GENERAL_CI)))
        }
        Some(ShowFilter::Where(_)) | None => None,
    };
    let rows = select(session, &select_values(what, scope), "Variable_name", filter);
    session.state.running.names = None;
    rows
}

fn show_table_definition(session: &mut Session, name: &ObjectName) -> Result<RowsSink> {
    count(Counter::ComShowCreateTable);
    let shown = table_of(session, name).map_err(|e| match e.code() {
        ErrorCode::TableaccessDenied => show_denied(session, &name.name),
        _ => e,
    });
    let (schema, name) = shown?;
    let t = virt::keys::shown(session.state.snapshot.require_table(&schema, &name)?).clone();
    let whole = session.state.access.table(&schema, &name).intersects(gannet_core::accounts::TABLE_LEVEL);
    let open = t.temporary || matches!(&*schema, "information_schema" | "performance_schema");
    if !whole && !open && t.view().is_none() {
        // Rights on columns do not show the definition of the others.
        return Err(show_denied(session, &name));
    }
    let next = match &t.source {
        gannet_schema::RowSource::Engine => {
            let trees = t.trees(&session.server.engine).map_err(gannet_exec::error::from_engine)?;
            t.next_auto_value(trees).unwrap_or(0)
        }
        gannet_schema::RowSource::Virtual(_) => 0,
        gannet_schema::RowSource::View(_) => return show_create_view(session, &t),
    };
    let sql = show_create_table(&t, &ShowOptions { next_auto_increment: next, ..show_options(session) });
    let columns = vec![column("Table", 64), column("Create Table", 1024)];
    Ok(table(columns, vec![vec![text(&t.name), text(&sql)]]))
}

fn show_denied(session: &Session, table: &str) -> SqlError {
    sql_err!(TableaccessDenied, "SHOW", session.state.account.user, session.state.host(), table)
}

/// SHOW CREATE VIEW. Errors 1347, 1142.
fn show_create_view(session: &mut Session, t: &gannet_schema::Table) -> Result<RowsSink> {
    let Some(view) = t.view() else { return Err(sql_err!(WrongObject, t.schema, t.name, "VIEW")) };
    let need = gannet_core::accounts::Privileges::of(&[Privilege::ShowView, Privilege::Select]);
    session.require_on_table(need, &t.schema, &t.name)?;
    if let Some(error) = planning::view_error(session, t) {
        session.running.diagnostics.warnings.push(error.to_warning(gannet_types::Level::Warning));
    }
    let options = show_options(session);
    let algorithm = match view.algorithm {
        gannet_schema::ViewAlgorithm::Undefined => "UNDEFINED",
        gannet_schema::ViewAlgorithm::Merge => "MERGE",
        gannet_schema::ViewAlgorithm::Temptable => "TEMPTABLE",
    };
    let definer = format!("{}@{}", ident(&view.definer.0), ident(&view.definer.1));
    let security = if view.invoker { "INVOKER" } else { "DEFINER" };
    let mut sql = match options.standard {
        true => "CREATE VIEW ".to_owned(),
        false => format!("CREATE ALGORITHM={algorithm} DEFINER={definer} SQL SECURITY {security} VIEW "),
    };
    let here = session.state.database.as_deref() == Some(&t.schema);
    if !here {
        sql.push_str(&format!("{}.", ident(&t.schema)));
    }
    sql.push_str(&ident(&t.name));
    if view.named {
        let names: Vec<String> = t.columns.iter().map(|c| ident(&c.name)).collect();
        sql.push_str(&format!(" ({})", names.join(",")));
    }
    sql.push_str(" AS ");
    let query = if here { gannet_plan::view_text_in(&view.query, &t.schema)? } else { view.query.to_string() };
    sql.push_str(&query);
    sql.push_str(match view.check {
        None => "",
        Some(gannet_schema::CheckOption::Local) => " WITH LOCAL CHECK OPTION",
        Some(gannet_schema::CheckOption::Cascaded) => " WITH CASCADED CHECK OPTION",
    });
    let sql = requoted(&sql, &options);
    let collation = view.collation.get();
    let columns = [("View", 64), ("Create View", 1024), ("character_set_client", 32), ("collation_connection", 32)];
    let columns = columns.map(|(name, width)| column(name, width)).into();
    let row = vec![text(&t.name), text(&sql), text(collation.charset.name()), text(collation.name)];
    Ok(table(columns, vec![row]))
}

/// An account for SHOW GRANTS and SHOW CREATE USER: one's own, or any with SELECT on mysql.
fn account_of(
    session: &Session,
    account: &ast::Account,
    missing: fn(&accounts::Name) -> SqlError,
) -> Result<std::sync::Arc<accounts::Account>> {
    let name = session.account_name(account);
    let own = &session.state.account;
    let mine =
        own.is(&name) || session.state.roles.contains(&name) || session.server.accounts.roles_of(own).contains(&name);
    if !mine && !session.state.access.schema("mysql").has(Privilege::Select) {
        return Err(sql_err!(DbaccessDenied, own.user, own.host, "mysql"));
    }
    let found = session.server.accounts.get(&name.user, &name.host);
    found.ok_or_else(|| missing(&name))
}

fn processlist(session: &mut Session, full: bool) -> RowsSink {
    count(Counter::ComShowProcesslist);
    let mut rows: Vec<Vec<Value>> =
        virt::visible(&session.state).iter().map(|e| virt::process_row(e).to_vec()).collect();
    if !full {
        for row in &mut rows {
            if let Some(Value::Str(info, c)) = row.last_mut() {
                let cut = info.len().min(100);
                *info = info[..c.charset().valid_prefix(&info[..cut])].into();
            }
        }
    }
    let columns = vec![
        number("Id"),
        column("User", 32),
        column("Host", 261),
        column("db", 64),
        column("Command", 16),
        plain_column("Time", SqlType::new(TypeId::Int).not_null()),
        column("State", 64),
        column("Info", if full { 65535 / 4 } else { 100 }),
    ];
    table(columns, rows)
}

/// What a LIMIT of SHOW says: how many rows to skip, and how many to take.
pub(crate) fn window(session: &mut Session, limit: Option<&ast::Limit>) -> Result<(usize, usize)> {
    let mut number_of = |e: &ast::Expr| -> Result<usize> {
        match session.evaluate(e)? {
            Value::Int(n) => Ok(usize::try_from(n).unwrap_or(0)),
            Value::UInt(n) => Ok(usize::try_from(n).unwrap_or(usize::MAX)),
            _ => Ok(0),
        }
    };
    Ok(match limit {
        Some(l) => (l.offset.as_ref().map_or(Ok(0), &mut number_of)?, number_of(&l.count)?),
        None => (0, usize::MAX),
    })
}

fn diagnostics(session: &mut Session, limit: Option<&ast::Limit>, errors_only: bool) -> Result<RowsSink> {
    let (skip, take) = window(session, limit)?;
    let wanted = session
        .running
        .diagnostics
        .warnings
        .iter()
        .filter(|w| !errors_only || w.level == Level::Error)
        .skip(skip)
        .take(take);
    let row = |w: &gannet_types::Warning| {
        vec![text(w.level.as_str()), Value::UInt(w.number().into()), Value::text(&w.message)]
    };
    let rows = wanted.map(row).collect();
    let columns = vec![
        column("Level", 7),
        plain_column("Code", SqlType::new(TypeId::Int).unsigned().not_null()),
        plain_column("Message", SqlType::varchar(512, CollationId::DEFAULT)),
    ];
    Ok(table(columns, rows))
}

fn show_engine(session: &mut Session, name: &str, what: &str) -> Result<RowsSink> {
    count(Counter::ComShowEngineStatus);
    session.state.privileges().require(Privilege::Process)?;
    let columns = vec![column("Type", 10), column("Name", 512), column("Status", 8192)];
    let innodb = name.eq_ignore_ascii_case("InnoDB") || name.eq_ignore_ascii_case("ALL");
    if !innodb && !name.eq_ignore_ascii_case("PERFORMANCE_SCHEMA") {
        return Err(sql_err!(UnknownStorageEngine, name));
    }
    let rows = match (innodb, what.eq_ignore_ascii_case("STATUS")) {
        (true, true) => vec![vec![text("InnoDB"), text(""), text(&status::innodb(&session.server))]],
        // No mutex is counted, no log file is listed.
        _ => vec![],
    };
    Ok(table(columns, rows))
}

/// DESCRIBE table.
pub(crate) fn describe(
    session: &mut Session,
    name: &ObjectName,
    column: Option<&ast::DescribeColumn>,
    reply: &mut dyn Reply,
) -> Result<Done> {
    let rows = describe_rows(session, name, column)?;
    session.send_table(&rows, reply)
}

fn describe_rows(session: &mut Session, name: &ObjectName, column: Option<&ast::DescribeColumn>) -> Result<RowsSink> {
    count(Counter::ComShowFields);
    let filter = column.map(|c| match c {
        ast::DescribeColumn::Name(n) => {
            ShowFilter::Like(n.text.replace('_', "\\_").replace('%', "\\%").into_bytes().into())
        }
        ast::DescribeColumn::Pattern(p) => ShowFilter::Like(p.clone()),
    });
    of_one_table(session, |s| show_columns(s, name, false, filter.as_ref()))
}

/// MySQL names the pattern in the head of some SHOWs.
fn pattern_head(name: &str, filter: Option<&ShowFilter>) -> String {
    match filter {
        Some(ShowFilter::Like(p)) => format!("{name} ({})", String::from_utf8_lossy(p)),
        _ => name.into(),
    }
}

/// `SELECT * FROM (inner) AS shown WHERE ...`
fn filtered(inner: ast::Query, like: &str, filter: &ShowFilter) -> ast::Query {
    let condition = match filter {
        ShowFilter::Where(expr) => expr.clone(),
        ShowFilter::Like(pattern) => ast::Expr::Like {
            expr: Box::new(ast::Expr::Column(ast::ColumnRef { qualifier: None, column: Ident::new(like) })),
            pattern: Box::new(ast::Expr::Literal(ast::Literal::new(ast::LiteralValue::String {
                bytes: pattern.clone(),
                charset: None,
            }))),
            escape: None,
            negated: false,
        },
    };
    let derived = ast::Derived { lateral: false, query: inner, alias: Some(Ident::new("shown")), columns: Vec::new() };
    let select = ast::Select {
        options: ast::SelectOptions::default(),
        hints: None,
        items: vec![ast::SelectItem::Wildcard(ast::Span::default())],
        from: vec![ast::TableRef::Derived(Box::new(derived))],
        filter: Some(condition),
        group_by: Vec::new(),
        rollup: false,
        having: None,
        windows: Vec::new(),
        span: ast::Span::default(),
    };
    ast::Query {
        with: None,
        body: ast::QueryBody::Select(Box::new(select)),
        order_by: Vec::new(),
        limit: None,
        locking: Vec::new(),
        into: None,
        span: ast::Span::default(),
    }
}

/// SHOW REPLICA STATUS: nothing where no source is named. Error 3074 for a channel that is not there.
fn replica_status(session: &Session, channel: Option<&str>) -> Result<RowsSink> {
    let replicas = session.server.replicas().ok_or_else(|| SqlError::unsupported("replication in this process"))?;
    let (kinds, found) = replicas.status(channel)?;
    let of = |(name, value): (&str, Value)| match value {
        Value::Str(..) => column(name, 1024),
        _ => plain_column(name, SqlType::bigint_unsigned()),
    };
    let columns = kinds.into_iter().map(of).collect();
    let values = |row: gannet_core::replication::Row| row.into_iter().map(|(_, value)| value).collect();
    Ok(table(columns, found.into_iter().map(values).collect()))
}
