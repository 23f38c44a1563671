//! SHOW, DESCRIBE, EXPLAIN, and table maintenance.
//!
//! A SHOW with a virtual table is a query over that table, whose column names are SHOW's; LIKE and WHERE then work as
//! in any query. Other SHOWs make their rows here.

use super::Session;
use super::reply::Done;
use super::reply::Reply;
use super::reply::{RowsSink, plain_column};
use super::state::{text, unsupported};
use super::text::{lex_mode, parse_error};
use super::{explain, grants};
use crate::virt;
use gannet_catalog::StoredTable;
use gannet_core::accounts::{self, Privilege};
use gannet_core::status;
use gannet_parser::ast::{self, Ident, ObjectName, Show, ShowFilter, ShowKind, Statement, VarScope};
use gannet_plan::plan::ResultColumn;
use gannet_schema::RoutineKind;
use gannet_schema::show::{ShowOptions, show_create_schema, show_create_table};
use gannet_telemetry::{Counter, count};
use gannet_types::collation::LikePattern;
use gannet_types::{CollationId, ErrorCode, Level, Result, SqlError, SqlMode, SqlType, TypeId, Value, sql_err};
use std::fmt::Write;

pub(super) fn column(name: &str, length: u32) -> ResultColumn {
    plain_column(name, SqlType::varchar(length, CollationId::UTF8MB3_GENERAL_CI))
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

    /// SHOW.
    pub(crate) fn show(&mut self, show: &Show, reply: &mut dyn Reply) -> Result<Done> {
        let rows = self.show_rows(show)?;
        self.send_table(&rows, reply)
    }

    /// Columns of the result of SHOW, EXPLAIN or DESCRIBE, for COM_STMT_PREPARE.
    pub(crate) fn columns_of(&mut self, statement: &Statement) -> Result<Vec<ResultColumn>> {
        match statement {
            Statement::Show(show) => Ok(self.show_rows(show)?.columns),
            Statement::Describe { table, column } => Ok(self.describe_rows(table, column.as_ref())?.columns),
            Statement::Explain(e) => explain::explain_columns(self, e),
            _ => Ok(Vec::new()),
        }
    }

    /// Runs `SELECT` text of the server's own, with SHOW's filter around it.
    pub(super) fn select(&mut self, sql: &str, like: &str, filter: Option<&ShowFilter>) -> Result<RowsSink> {
        // The text is ours: it is read in the default mode whatever the session's.
        let parsed = gannet_parser::parse(sql.as_bytes(), lex_mode(SqlMode::DEFAULT)).map_err(parse_error)?;
        let Statement::Query(inner) = parsed.statement else { return unsupported("this SHOW") };
        let statement = match filter {
            None => Statement::Query(inner),
            Some(filter) => Statement::Query(Box::new(filtered(*inner, like, filter))),
        };
        let saved = std::mem::replace(&mut self.settings.sql_mode, SqlMode::DEFAULT);
        // Names are those of the server's own text, not of a program around the statement.
        let locals = self.running.locals.take();
        let planned = self.make_inner_plan(&statement);
        self.running.locals = locals;
        let outcome = planned.and_then(|(plan, params)| self.keep_rows(&plan, &params));
        self.settings.sql_mode = saved;
        let mut kept = outcome?;
        for c in &mut kept.columns {
            // The derived table around the query is not part of the answer.
            c.table = "".into();
        }
        Ok(kept)
    }

    /// The rows of a SELECT of the server's own over one table, with a condition of the client's in its WHERE.
    pub(crate) fn rows_where(&mut self, sql: &str, condition: Option<ast::Expr>) -> Result<RowsSink> {
        let parsed = gannet_parser::parse(sql.as_bytes(), lex_mode(SqlMode::DEFAULT)).map_err(parse_error)?;
        let Statement::Query(mut query) = parsed.statement else { return unsupported("this SELECT") };
        if let (ast::QueryBody::Select(s), Some(right)) = (&mut query.body, condition) {
            s.filter = Some(match s.filter.take() {
                Some(left) => ast::Expr::And(vec![left, right]),
                None => right,
            });
        }
        let (plan, params) = self.make_inner_plan(&Statement::Query(query))?;
        let mut kept = self.keep_rows(&plan, &params)?;
        for c in &mut kept.columns {
            c.org_table = c.table.clone();
        }
        Ok(kept)
    }

    /// The rows of a SELECT of the server's own that a condition leaves.
    pub(crate) fn rows_of(&mut self, sql: &str, filter: Option<ast::Expr>) -> Result<RowsSink> {
        self.state.renew_snapshot();
        self.select(sql, "", filter.map(ShowFilter::Where).as_ref())
    }

    /// The rows of a SELECT that the server wrote, run as a statement inside the running one.
    pub(crate) fn own_rows(&mut self, sql: &str) -> Result<RowsSink> {
        self.nested(|inner| inner.rows_of(sql, None))
    }

    fn schema_of(&self, schema: Option<&Ident>) -> Result<String> {
        let name = match schema {
            Some(s) => s.text.to_string(),
            None => self.state.require_database()?.to_string(),
        };
        self.require_entry(&name)?;
        match self.state.snapshot.schema(&name) {
            Some(s) => Ok(s.name.to_string()),
            None => Err(sql_err!(BadDb, name)),
        }
    }

    /// Schema and name of a table that must exist.
    fn table_of(&self, name: &ObjectName) -> Result<(String, String)> {
        let schema = match &name.schema {
            Some(s) => s.text.to_string(),
            None => self.state.require_database()?.to_string(),
        };
        let found = self.table_for(None, &schema, &name.name)?;
        Ok((found.schema.to_string(), found.name.to_string()))
    }

    /// SHOW of one table, which may be a temporary one.
    fn of_one_table<T>(&mut self, show: impl FnOnce(&mut Session) -> Result<T>) -> Result<T> {
        self.state.running.shows_temporary = true;
        let shown = show(self);
        self.state.running.shows_temporary = false;
        shown
    }

    fn show_rows(&mut self, show: &Show) -> Result<RowsSink> {
        let filter = show.filter.as_ref();
        match &show.kind {
            ShowKind::Databases => {
                count(Counter::ComShowDatabases);
                let head = pattern_head("Database", filter);
                let sql = format!("SELECT SCHEMA_NAME AS {} FROM information_schema.SCHEMATA ORDER BY 1", ident(&head));
                self.select(&sql, &head, filter)
            }
            ShowKind::Tables { full, schema, .. } => {
                count(Counter::ComShowTables);
                let schema = self.schema_of(schema.as_ref())?;
                let head = pattern_head(&format!("Tables_in_{schema}"), filter);
                let kind = if *full { ", TABLE_TYPE AS `Table_type`" } else { "" };
                let (head_sql, schema) = (ident(&head), quote(&schema));
                let from = format!("information_schema.TABLES WHERE TABLE_SCHEMA = {schema} ORDER BY 1");
                self.select(&format!("SELECT TABLE_NAME AS {head_sql}{kind} FROM {from}"), &head, filter)
            }
            ShowKind::TableStatus { schema } => {
                count(Counter::ComShowTableStatus);
                let schema = quote(&self.schema_of(schema.as_ref())?);
                let list = aliased(
                    "TABLE_NAME=Name, ENGINE=Engine, VERSION=Version, ROW_FORMAT=Row_format, TABLE_ROWS=Rows, \
                     AVG_ROW_LENGTH=Avg_row_length, DATA_LENGTH=Data_length, MAX_DATA_LENGTH=Max_data_length, \
                     INDEX_LENGTH=Index_length, DATA_FREE=Data_free, AUTO_INCREMENT=Auto_increment, CREATE_TIME=Create_time, \
                     UPDATE_TIME=Update_time, CHECK_TIME=Check_time, TABLE_COLLATION=Collation, CHECKSUM=Checksum, \
                     CREATE_OPTIONS=Create_options, TABLE_COMMENT=Comment",
                );
                let sql = format!("SELECT {list} FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema}");
                self.select(&sql, "Name", filter)
            }
            ShowKind::Columns { full, table, .. } => {
                count(Counter::ComShowFields);
                self.of_one_table(|s| s.show_columns(table, *full, filter))
            }
            ShowKind::Index { table, .. } => {
                count(Counter::ComShowKeys);
                let (schema, name) = self.table_of(table)?;
                let list = aliased(
                    "TABLE_NAME=Table, NON_UNIQUE=Non_unique, INDEX_NAME=Key_name, SEQ_IN_INDEX=Seq_in_index, \
                     COLUMN_NAME=Column_name, COLLATION=Collation, CARDINALITY=Cardinality, SUB_PART=Sub_part, PACKED=Packed, \
                     NULLABLE=Null, INDEX_TYPE=Index_type, COMMENT=Comment, INDEX_COMMENT=Index_comment, IS_VISIBLE=Visible, \
                     EXPRESSION=Expression",
                );
                let from = format!("TABLE_SCHEMA = {} AND TABLE_NAME = {}", quote(&schema), quote(&name));
                let sql = format!("SELECT {list} FROM information_schema.STATISTICS WHERE {from}");
                self.of_one_table(|s| s.select(&sql, "Key_name", filter))
            }
            ShowKind::Variables(scope) => {
                count(Counter::ComShowVariables);
                self.name_value("variables", *scope, filter)
            }
            ShowKind::Status(scope) => {
                count(Counter::ComShowStatus);
                // The session's counters do not tell of the statement that shows them.
                let aside = gannet_telemetry::put_aside();
                let rows = self.name_value("status", *scope, filter);
                gannet_telemetry::take_up(aside);
                rows
            }
            ShowKind::Engines => {
                count(Counter::ComShowStorageEngines);
                let list = aliased(
                    "ENGINE=Engine, SUPPORT=Support, COMMENT=Comment, TRANSACTIONS=Transactions, XA=XA, SAVEPOINTS=Savepoints",
                );
                self.select(&format!("SELECT {list} FROM information_schema.ENGINES"), "Engine", filter)
            }
            ShowKind::CharacterSet => {
                count(Counter::ComShowCharsets);
                let list = aliased(
                    "CHARACTER_SET_NAME=Charset, DESCRIPTION=Description, DEFAULT_COLLATE_NAME=Default collation, MAXLEN=Maxlen",
                );
                self.select(&format!("SELECT {list} FROM information_schema.CHARACTER_SETS"), "Charset", filter)
            }
            ShowKind::Collation => {
                count(Counter::ComShowCollations);
                let list = aliased(
                    "COLLATION_NAME=Collation, CHARACTER_SET_NAME=Charset, ID=Id, IS_DEFAULT=Default, IS_COMPILED=Compiled, \
                     SORTLEN=Sortlen, PAD_ATTRIBUTE=Pad_attribute",
                );
                self.select(
                    &format!("SELECT {list} FROM information_schema.COLLATIONS ORDER BY 1"),
                    "Collation",
                    filter,
                )
            }
            ShowKind::Plugins => {
                let list = aliased(
                    "PLUGIN_NAME=Name, PLUGIN_STATUS=Status, PLUGIN_TYPE=Type, PLUGIN_LIBRARY=Library, PLUGIN_LICENSE=License",
                );
                self.select(&format!("SELECT {list} FROM information_schema.PLUGINS"), "Name", filter)
            }
            ShowKind::Triggers { .. }
            | ShowKind::Events { .. }
            | ShowKind::ProcedureStatus
            | ShowKind::FunctionStatus => self.show_programs(show),
            ShowKind::OpenTables { schema } => self.open_tables(schema.as_ref(), filter),
            other => self.show_direct(other),
        }
    }

    /// SHOW TRIGGERS, EVENTS, PROCEDURE STATUS, FUNCTION STATUS.
    fn show_programs(&mut self, show: &Show) -> Result<RowsSink> {
        let filter = show.filter.as_ref();
        match &show.kind {
            ShowKind::Triggers { schema, .. } => {
                let schema = quote(&self.schema_of(schema.as_ref())?);
                let list = aliased(
                    "TRIGGER_NAME=Trigger, EVENT_MANIPULATION=Event, EVENT_OBJECT_TABLE=Table, ACTION_STATEMENT=Statement, \
                     ACTION_TIMING=Timing, CREATED=Created, SQL_MODE=sql_mode, DEFINER=Definer, \
                     CHARACTER_SET_CLIENT=character_set_client, COLLATION_CONNECTION=collation_connection, \
                     DATABASE_COLLATION=Database Collation",
                );
                self.select(
                    &format!("SELECT {list} FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {schema}"),
                    "Table",
                    filter,
                )
            }
            ShowKind::Events { schema } => {
                let schema = quote(&self.schema_of(schema.as_ref())?);
                let list = aliased(
                    "EVENT_SCHEMA=Db, EVENT_NAME=Name, DEFINER=Definer, TIME_ZONE=Time zone, EVENT_TYPE=Type, \
                     EXECUTE_AT=Execute at, INTERVAL_VALUE=Interval value, INTERVAL_FIELD=Interval field, STARTS=Starts, ENDS=Ends, \
                     STATUS=Status, ORIGINATOR=Originator, CHARACTER_SET_CLIENT=character_set_client, \
                     COLLATION_CONNECTION=collation_connection, DATABASE_COLLATION=Database Collation",
                );
                self.select(
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
                self.select(
                    &format!("SELECT {list} FROM information_schema.ROUTINES WHERE ROUTINE_TYPE = '{kind}'"),
                    "Name",
                    filter,
                )
            }
            _ => unsupported("this SHOW"),
        }
    }

    /// SHOWs whose rows are made here.
    fn show_direct(&mut self, kind: &ShowKind) -> Result<RowsSink> {
        match kind {
            ShowKind::ProcessList { full } => Ok(self.processlist(*full)),
            ShowKind::CreateTable(name) => self.show_create_table(name),
            ShowKind::CreateDatabase { if_not_exists, name } => {
                count(Counter::ComShowCreateDb);
                self.require_entry(name)?;
                let schema = self.state.snapshot.schema(name).ok_or_else(|| sql_err!(BadDb, name))?;
                let sql = show_create_schema(schema, *if_not_exists, &self.show_options());
                let columns = vec![column("Database", 64), column("Create Database", 1024)];
                Ok(table(columns, vec![vec![text(&schema.name), text(&sql)]]))
            }
            ShowKind::CreateUser(account) => {
                let a = self.account_of(account)?;
                let head = format!("CREATE USER for {}", a.name());
                Ok(table(vec![column(&head, 4096)], vec![vec![text(&grants::show_create_user(self, &a))]]))
            }
            ShowKind::Grants { user, using, .. } => {
                count(Counter::ComShowGrants);
                let a = self.account_of(user.as_ref().unwrap_or(&ast::Account::CurrentUser))?;
                let mut roles: Vec<accounts::Name> = using.iter().map(|r| self.account_name(r)).collect();
                let granted = self.server.accounts.roles_of(&a);
                if let Some(n) = roles.iter().find(|n| !granted.contains(n)) {
                    return Err(sql_err!(RoleNotGranted, n.user, n.host, a.user, a.host));
                }
                if roles.is_empty() && matches!(user, None | Some(ast::Account::CurrentUser)) {
                    roles.clone_from(&self.state.roles);
                }
                let head = format!("Grants for {}", a.name());
                let rows = grants::grant_lines(self, &a, &roles).iter().map(|l| vec![text(l)]).collect();
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
                self.diagnostics(limit.as_ref(), false)
            }
            ShowKind::Errors(limit) => {
                count(Counter::ComShowErrors);
                self.diagnostics(limit.as_ref(), true)
            }
            ShowKind::CountWarnings => {
                let n = Value::UInt(self.running.warnings.total());
                Ok(table(vec![number("@@session.warning_count")], vec![vec![n]]))
            }
            ShowKind::CountErrors => {
                let n = Value::UInt(self.running.warnings.errors());
                Ok(table(vec![number("@@session.error_count")], vec![vec![n]]))
            }
            ShowKind::Engine { name, what } => self.show_engine(name, what),
            ShowKind::Profiles => Ok(self.show_profiles()),
            ShowKind::BinaryLogs => {
                self.require_replication(Privilege::ReplicationClient)?;
                self.show_binary_logs()
            }
            ShowKind::BinaryLogStatus => {
                self.require_replication(Privilege::ReplicationClient)?;
                self.show_binary_log_status()
            }
            ShowKind::Replicas => {
                self.require_replication(Privilege::ReplicationSlave)?;
                self.show_replicas()
            }
            ShowKind::ReplicaStatus { .. } => {
                self.require_replication(Privilege::ReplicationClient)?;
                let names = [
                    "Replica_IO_State",
                    "Source_Host",
                    "Source_User",
                    "Source_Port",
                    "Replica_IO_Running",
                    "Replica_SQL_Running",
                ];
                Ok(table(names.iter().map(|n| column(n, 255)).collect(), vec![]))
            }
            ShowKind::CreateView(name) => {
                let (schema, name) = self.table_of(name)?;
                let t = self.state.snapshot.require_table(&schema, &name)?.clone();
                self.show_create_view(&t)
            }
            ShowKind::CreateProcedure(name) => self.show_create_routine(RoutineKind::Procedure, name),
            ShowKind::CreateFunction(name) => self.show_create_routine(RoutineKind::Function, name),
            ShowKind::CreateTrigger(name) => self.show_create_trigger(name),
            ShowKind::CreateEvent(name) => self.show_create_event(name),
            ShowKind::LogEvents { relay: true, .. } => unsupported("SHOW RELAYLOG EVENTS"),
            ShowKind::LogEvents { file, position, limit, .. } => {
                self.require_replication(Privilege::ReplicationSlave)?;
                self.show_binlog_events(file.as_deref(), *position, limit.as_ref())
            }
            ShowKind::Profile { types, query, limit } => self.show_profile(types, *query, limit.as_ref()),
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
    fn require_replication(&self, need: Privilege) -> Result<()> {
        let have = self.state.privileges();
        match (have.has(need), need) {
            (true, _) => Ok(()),
            (false, Privilege::ReplicationSlave) => have.require(need),
            _ if have.has(Privilege::Super) => Ok(()),
            _ => Err(sql_err!(SpecificAccessDenied, "SUPER, REPLICATION CLIENT")),
        }
    }

    fn show_columns(&mut self, name: &ObjectName, full: bool, filter: Option<&ShowFilter>) -> Result<RowsSink> {
        let (schema, name) = self.table_of(name)?;
        let view = self.state.snapshot.base_table(&schema, &name).filter(|t| t.view().is_some()).cloned();
        if let Some(error) = view.and_then(|view| self.view_error(&view)) {
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
        self.select(&sql, "Field", filter)
    }

    fn name_value(&mut self, what: &str, scope: VarScope, filter: Option<&ShowFilter>) -> Result<RowsSink> {
        let scope = if scope == VarScope::Global { "global" } else { "session" };
        let list = aliased("VARIABLE_NAME=Variable_name, VARIABLE_VALUE=Value");
        self.state.running.names = match filter {
            Some(ShowFilter::Like(pattern)) => {
                Some(Box::new(LikePattern::new(pattern, Some('\\'), CollationId::UTF8MB3_GENERAL_CI)))
            }
            Some(ShowFilter::Where(_)) | None => None,
        };
        let sql = format!("SELECT {list} FROM performance_schema.{scope}_{what}");
        let rows = self.select(&sql, "Variable_name", filter);
        self.state.running.names = None;
        rows
    }

    fn show_options(&self) -> ShowOptions {
        let ansi = self.settings.sql_mode.contains(SqlMode::ANSI_QUOTES);
        ShowOptions {
            quote: if ansi { '"' } else { '`' },
            always_quote: self.state.vars[gannet_core::vars::Live::SqlQuoteShowCreate].as_bool(),
            next_auto_increment: 0,
        }
    }

    fn show_create_table(&mut self, name: &ObjectName) -> Result<RowsSink> {
        count(Counter::ComShowCreateTable);
        let shown = self.table_of(name).map_err(|e| match e.code() {
            ErrorCode::TableaccessDenied => self.show_denied(&name.name),
            _ => e,
        });
        let (schema, name) = shown?;
        let t = self.state.snapshot.require_table(&schema, &name)?.clone();
        let whole = self.state.access.table(&schema, &name).intersects(gannet_core::accounts::TABLE_LEVEL);
        let open = t.temporary || matches!(&*schema, "information_schema" | "performance_schema");
        if !whole && !open && t.view().is_none() {
            // Rights on columns do not show the definition of the others.
            return Err(self.show_denied(&name));
        }
        let next = match &t.source {
            gannet_schema::RowSource::Engine => {
                let trees = t.trees(&self.server.engine).map_err(gannet_exec::error::from_engine)?;
                t.auto_counter(trees).map_or(0, |c| c.counter_next())
            }
            gannet_schema::RowSource::Virtual(_) => 0,
            gannet_schema::RowSource::View(_) => return self.show_create_view(&t),
        };
        let sql = show_create_table(&t, &ShowOptions { next_auto_increment: next, ..self.show_options() });
        let columns = vec![column("Table", 64), column("Create Table", 1024)];
        Ok(table(columns, vec![vec![text(&t.name), text(&sql)]]))
    }

    fn show_denied(&self, table: &str) -> SqlError {
        sql_err!(TableaccessDenied, "SHOW", self.state.account.user, self.state.host(), table)
    }

    /// SHOW CREATE VIEW. Errors 1347, 1142.
    fn show_create_view(&mut self, t: &gannet_schema::Table) -> Result<RowsSink> {
        let Some(view) = t.view() else { return Err(sql_err!(WrongObject, t.schema, t.name, "VIEW")) };
        let need = gannet_core::accounts::Privileges::of(&[Privilege::ShowView, Privilege::Select]);
        self.require_on_table(need, &t.schema, &t.name)?;
        if let Some(error) = self.view_error(t) {
            self.running.warnings.push(error.to_warning(gannet_types::Level::Warning));
        }
        let mut sql = String::from("CREATE ALGORITHM=");
        sql.push_str(match view.algorithm {
            gannet_schema::ViewAlgorithm::Undefined => "UNDEFINED",
            gannet_schema::ViewAlgorithm::Merge => "MERGE",
            gannet_schema::ViewAlgorithm::Temptable => "TEMPTABLE",
        });
        let (user, host) = (ident(&view.definer.0), ident(&view.definer.1));
        sql.push_str(&format!(" DEFINER={user}@{host} SQL SECURITY "));
        sql.push_str(if view.invoker { "INVOKER VIEW " } else { "DEFINER VIEW " });
        let here = self.state.database.as_deref() == Some(&t.schema);
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
        let collation = view.collation.get();
        let columns = vec![
            column("View", 64),
            column("Create View", 1024),
            column("character_set_client", 32),
            column("collation_connection", 32),
        ];
        let row = vec![text(&t.name), text(&sql), text(collation.charset.name()), text(collation.name)];
        Ok(table(columns, vec![row]))
    }

    /// An account for SHOW GRANTS and SHOW CREATE USER: one's own, or any with SELECT on mysql.
    fn account_of(&self, account: &ast::Account) -> Result<std::sync::Arc<accounts::Account>> {
        let name = self.account_name(account);
        let own = &self.state.account;
        let mine =
            own.is(&name) || self.state.roles.contains(&name) || self.server.accounts.roles_of(own).contains(&name);
        if !mine && !self.state.access.schema("mysql").has(Privilege::Select) {
            return Err(sql_err!(DbaccessDenied, own.user, own.host, "mysql"));
        }
        let found = self.server.accounts.get(&name.user, &name.host);
        found.ok_or_else(|| sql_err!(NonexistingGrant, name.user, name.host))
    }

    /// COM_PROCESS_INFO.
    pub fn show_processlist(&mut self, full: bool, reply: &mut dyn Reply) -> Result<Done> {
        let rows = self.processlist(full);
        self.send_table(&rows, reply)
    }

    fn processlist(&mut self, full: bool) -> RowsSink {
        count(Counter::ComShowProcesslist);
        let mut rows: Vec<Vec<Value>> =
            virt::visible(&self.state).iter().map(|e| virt::process_row(e).to_vec()).collect();
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
    pub(super) fn window(&mut self, limit: Option<&ast::Limit>) -> Result<(usize, usize)> {
        let mut number_of = |e: &ast::Expr| -> Result<usize> {
            match self.evaluate(e)? {
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

    fn diagnostics(&mut self, limit: Option<&ast::Limit>, errors_only: bool) -> Result<RowsSink> {
        let (skip, take) = self.window(limit)?;
        let wanted =
            self.running.warnings.iter().filter(|w| !errors_only || w.level == Level::Error).skip(skip).take(take);
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

    fn show_engine(&mut self, name: &str, what: &str) -> Result<RowsSink> {
        count(Counter::ComShowEngineStatus);
        self.state.privileges().require(Privilege::Process)?;
        let columns = vec![column("Type", 10), column("Name", 512), column("Status", 8192)];
        let innodb = name.eq_ignore_ascii_case("InnoDB") || name.eq_ignore_ascii_case("ALL");
        if !innodb && !name.eq_ignore_ascii_case("PERFORMANCE_SCHEMA") {
            return Err(sql_err!(UnknownStorageEngine, name));
        }
        let rows = match (innodb, what.eq_ignore_ascii_case("STATUS")) {
            (true, true) => vec![vec![text("InnoDB"), text(""), text(&status::innodb(&self.server))]],
            // No mutex is counted, no log file is listed.
            _ => vec![],
        };
        Ok(table(columns, rows))
    }

    /// DESCRIBE table.
    pub(crate) fn describe(
        &mut self,
        name: &ObjectName,
        column: Option<&ast::DescribeColumn>,
        reply: &mut dyn Reply,
    ) -> Result<Done> {
        let rows = self.describe_rows(name, column)?;
        self.send_table(&rows, reply)
    }

    fn describe_rows(&mut self, name: &ObjectName, column: Option<&ast::DescribeColumn>) -> Result<RowsSink> {
        count(Counter::ComShowFields);
        let filter = column.map(|c| match c {
            ast::DescribeColumn::Name(n) => {
                ShowFilter::Like(n.text.replace('_', "\\_").replace('%', "\\%").into_bytes().into())
            }
            ast::DescribeColumn::Pattern(p) => ShowFilter::Like(p.clone()),
        });
        self.of_one_table(|s| s.show_columns(name, false, filter.as_ref()))
    }
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
