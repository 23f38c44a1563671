//! Transactions, SET, SHOW, EXPLAIN, administration.

use super::*;

/// The statements that have no module of their own.
pub(super) fn print<'a>(statement: &Statement, sql: &'a mut Sql) -> &'a mut Sql {
    use Statement as S;
    match statement {
        S::Begin(begin) => sql.p(begin),
        S::Commit(completion) => sql.s("commit").p(completion),
        S::Rollback(completion) => sql.s("rollback").p(completion),
        S::Savepoint(name) => sql.s("savepoint ").p(name),
        S::RollbackTo(name) => sql.s("rollback to savepoint ").p(name),
        S::ReleaseSavepoint(name) => sql.s("release savepoint ").p(name),
        S::Xa(xa) => sql.p(xa),
        S::LockTables(locks) => sql.s("lock tables ").list(locks, ","),
        S::UnlockTables => sql.s("unlock tables"),
        S::LockInstance => sql.s("lock instance for backup"),
        S::UnlockInstance => sql.s("unlock instance"),
        S::Set(items) => {
            sql.s("set ");
            set_items(items, sql)
        }
        S::SetStatement { assignments, statement } => {
            sql.s("set statement ");
            set_items(assignments, sql).s(" for ").p(statement)
        }
        S::Show(show) => sql.p(show),
        S::Explain(explain) => sql.p(explain),
        S::Describe { table, column } => {
            sql.s("describe ").p(table);
            match column {
                None => sql,
                Some(DescribeColumn::Name(name)) => sql.s(" ").p(name),
                Some(DescribeColumn::Pattern(pattern)) => sql.s(" ").string(pattern),
            }
        }
        S::Help(topic) => sql.s("help ").string(topic.as_bytes()),
        S::Use(name) => sql.s("use ").p(name),
        S::Kill { query, id } => sql.s(if *query { "kill query " } else { "kill " }).p(id),
        S::Prepare { name, source } => {
            sql.s("prepare ").p(name).s(" from ");
            match source {
                PrepareSource::Text(text) => sql.string(text),
                PrepareSource::Variable(name) => sql.s("@").p(name),
            }
        }
        S::Execute { name, using } => {
            sql.s("execute ").p(name);
            for (i, name) in using.iter().enumerate() {
                sql.s(if i == 0 { " using @" } else { ",@" }).p(name);
            }
            sql
        }
        S::ExecuteImmediate(expr) => sql.s("execute immediate ").p(expr),
        S::Deallocate(name) => sql.s("deallocate prepare ").p(name),
        S::TableMaintenance(m) => sql.p(m),
        S::KeyCache(k) => sql.p(k),
        S::Flush(f) => sql.s("flush ").flag(f.no_write_to_binlog, "no_write_to_binlog ").list(&f.targets, ","),
        S::Reset(targets) => sql.s("reset ").list(targets, ","),
        S::Shutdown => sql.s("shutdown"),
        S::Restart => sql.s("restart"),
        S::Binlog(text) => sql.s("binlog ").string(text),
        S::Clone(c) => sql.p(c),
        S::ImportTable(files) => {
            sql.s("import table from ");
            for (i, file) in files.iter().enumerate() {
                sql.flag(i > 0, ",").string(file);
            }
            sql
        }
        S::Install(install) => sql.p(install),
        S::Uninstall(Uninstall::Plugin(name)) => sql.s("uninstall plugin ").p(name),
        S::Uninstall(Uninstall::Component(urns)) => {
            sql.s("uninstall component ");
            strings(urns, sql)
        }
        // The others are printed by the caller.
        _ => sql,
    }
}

fn strings<'a>(list: &[Box<str>], sql: &'a mut Sql) -> &'a mut Sql {
    for (i, text) in list.iter().enumerate() {
        sql.flag(i > 0, ",").string(text.as_bytes());
    }
    sql
}

impl Print for Begin {
    fn print(&self, sql: &mut Sql) {
        let mode = match self.read_only {
            None => "",
            Some(true) => "read only",
            Some(false) => "read write",
        };
        sql.s("start transaction").flag(self.consistent_snapshot, " with consistent snapshot");
        if !mode.is_empty() {
            sql.s(if self.consistent_snapshot { ", " } else { " " }).s(mode);
        }
    }
}

impl Print for Completion {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.chain {
            None => "",
            Some(true) => " and chain",
            Some(false) => " and no chain",
        });
        sql.s(match self.release {
            None => "",
            Some(true) => " release",
            Some(false) => " no release",
        });
    }
}

impl Print for Xid {
    fn print(&self, sql: &mut Sql) {
        for (bytes, text) in [&self.gtrid, &self.bqual].into_iter().zip(self.texts) {
            if text {
                sql.string(bytes).s(",");
            } else {
                let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
                sql.s("x'").s(&digits).s("',");
            }
        }
        sql.n(self.format_id);
    }
}

impl Print for Xa {
    fn print(&self, sql: &mut Sql) {
        match self {
            Xa::Start { xid, join, resume } => sql.s("xa start ").p(xid).flag(*join, " join").flag(*resume, " resume"),
            Xa::End { xid, suspend, for_migrate } => {
                sql.s("xa end ").p(xid).flag(*suspend, " suspend").flag(*for_migrate, " for migrate")
            }
            Xa::Prepare(xid) => sql.s("xa prepare ").p(xid),
            Xa::Commit { xid, one_phase } => sql.s("xa commit ").p(xid).flag(*one_phase, " one phase"),
            Xa::Rollback(xid) => sql.s("xa rollback ").p(xid),
            Xa::Recover { convert_xid } => sql.s("xa recover").flag(*convert_xid, " convert xid"),
        };
    }
}

impl Print for TableLock {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.table).opt(" ", &self.alias).s(match self.kind {
            TableLockKind::Read => " read",
            TableLockKind::ReadLocal => " read local",
            TableLockKind::Write => " write",
        });
    }
}

/// The scope word of an item holds for those behind it too, so it is written whenever it changes.
fn set_items<'a>(items: &[SetItem], sql: &'a mut Sql) -> &'a mut Sql {
    for (i, item) in items.iter().enumerate() {
        sql.flag(i > 0, ", ").p(item);
    }
    sql
}

impl Print for SetItem {
    fn print(&self, sql: &mut Sql) {
        match self {
            SetItem::Variable { scope, at_at, prefix, name, value } => {
                if *at_at {
                    let var = SysVar { scope: *scope, prefix: prefix.clone(), name: name.clone() };
                    sql.p(&var);
                } else {
                    sql.p(scope).opt("", prefix).flag(prefix.is_some(), ".").p(name);
                }
                match value {
                    SetValue::Default => sql.s(" = default"),
                    SetValue::Expr(expr) => sql.s(" = ").p(expr),
                }
            }
            SetItem::User { name, value } => sql.s("@").p(name).s(" = ").p(value),
            SetItem::Names { charset: None, .. } => sql.s("names default"),
            SetItem::Names { charset: Some(charset), collation } => {
                sql.s("names ").p(charset).opt(" collate ", collation)
            }
            SetItem::Charset(None) => sql.s("character set default"),
            SetItem::Charset(Some(charset)) => sql.s("character set ").p(charset),
            SetItem::Transaction { scope, isolation, read_only } => {
                sql.p(scope).s("transaction ").s(match isolation {
                    None => "",
                    Some(Isolation::ReadUncommitted) => "isolation level read uncommitted",
                    Some(Isolation::ReadCommitted) => "isolation level read committed",
                    Some(Isolation::RepeatableRead) => "isolation level repeatable read",
                    Some(Isolation::Serializable) => "isolation level serializable",
                });
                sql.flag(isolation.is_some() && read_only.is_some(), ", ").s(match read_only {
                    None => "",
                    Some(true) => "read only",
                    Some(false) => "read write",
                })
            }
        };
    }
}

impl Print for VarScope {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self {
            VarScope::Implicit => "",
            VarScope::Global => "global ",
            VarScope::Session => "session ",
            VarScope::Persist => "persist ",
            VarScope::PersistOnly => "persist_only ",
        });
    }
}

impl Print for Show {
    fn print(&self, sql: &mut Sql) {
        sql.s("show ").p(&self.kind);
        match &self.filter {
            None => sql,
            Some(ShowFilter::Like(pattern)) => sql.s(" like ").string(pattern),
            Some(ShowFilter::Where(expr)) => sql.s(" where ").p(expr),
        };
    }
}

impl Print for ShowKind {
    fn print(&self, sql: &mut Sql) {
        use ShowKind as K;
        let from = " from ";
        match self {
            K::Databases => sql.s("databases"),
            K::Tables { full, extended, schema } => {
                sql.flag(*extended, "extended ").flag(*full, "full ").s("tables").opt(from, schema)
            }
            K::TableStatus { schema } => sql.s("table status").opt(from, schema),
            K::OpenTables { schema } => sql.s("open tables").opt(from, schema),
            K::Triggers { full, schema } => sql.flag(*full, "full ").s("triggers").opt(from, schema),
            K::Events { schema } => sql.s("events").opt(from, schema),
            K::Columns { full, extended, table } => {
                sql.flag(*extended, "extended ").flag(*full, "full ").s("columns from ").p(table)
            }
            K::Index { extended, table } => sql.flag(*extended, "extended ").s("index from ").p(table),
            K::CreateDatabase { if_not_exists, name } => {
                sql.s("create database ").flag(*if_not_exists, "if not exists ").p(name)
            }
            K::CreateTable(name) => sql.s("create table ").p(name),
            K::CreateView(name) => sql.s("create view ").p(name),
            K::CreateProcedure(name) => sql.s("create procedure ").p(name),
            K::CreateFunction(name) => sql.s("create function ").p(name),
            K::CreateTrigger(name) => sql.s("create trigger ").p(name),
            K::CreateEvent(name) => sql.s("create event ").p(name),
            K::CreateUser(user) => sql.s("create user ").p(user),
            K::Variables(scope) => sql.p(scope).s("variables"),
            K::Status(scope) => sql.p(scope).s("status"),
            K::ProcessList { full } => sql.flag(*full, "full ").s("processlist"),
            K::Engines => sql.s("engines"),
            K::Engine { name, what } => {
                let all = name.eq_ignore_ascii_case("all");
                sql.s("engine ");
                if all { sql.s(name) } else { sql.p(name) }.s(" ").s(what)
            }
            K::CharacterSet => sql.s("character set"),
            K::Collation => sql.s("collation"),
            K::Warnings(limit) => sql.s("warnings").opt(" limit ", limit),
            K::Errors(limit) => sql.s("errors").opt(" limit ", limit),
            K::CountWarnings => sql.s("count(*) warnings"),
            K::CountErrors => sql.s("count(*) errors"),
            K::Grants { user, current_user, using } => {
                sql.s("grants").opt(" for ", user).flag(*current_user, " for current_user()");
                if using.is_empty() { sql } else { sql.s(" using ").list(using, ",") }
            }
            K::Privileges => sql.s("privileges"),
            K::Plugins => sql.s("plugins"),
            K::ProcedureStatus => sql.s("procedure status"),
            K::FunctionStatus => sql.s("function status"),
            K::ProcedureCode(name) => sql.s("procedure code ").p(name),
            K::FunctionCode(name) => sql.s("function code ").p(name),
            K::Profiles => sql.s("profiles"),
            other => show_server(other, sql),
        };
    }
}

fn show_server<'a>(kind: &ShowKind, sql: &'a mut Sql) -> &'a mut Sql {
    use ShowKind as K;
    match kind {
        K::Profile { types, query, limit } => {
            sql.s("profile");
            for (i, words) in types.iter().enumerate() {
                sql.s(if i == 0 { " " } else { "," }).s(words);
            }
            sql.opt_n(" for query ", *query).opt(" limit ", limit)
        }
        K::BinaryLogs => sql.s("binary logs"),
        K::BinaryLogStatus => sql.s("binary log status"),
        K::LogEvents { relay, file, position, limit, channel } => sql
            .s(if *relay { "relaylog events" } else { "binlog events" })
            .opt_string(" in ", file)
            .opt_n(" from ", *position)
            .opt(" limit ", limit)
            .opt_string(" for channel ", channel),
        K::Replicas => sql.s("replicas"),
        K::ReplicaStatus { channel, all } => {
            sql.s(if *all { "all replicas status" } else { "replica status" }).opt_string(" for channel ", channel)
        }
        K::ParseTree(statement) => sql.s("parse_tree ").p(statement),
        K::Other(words) => {
            for (i, word) in words.iter().enumerate() {
                sql.flag(i > 0, " ").s(word);
            }
            sql
        }
        _ => sql,
    }
}

impl Print for Explain {
    fn print(&self, sql: &mut Sql) {
        sql.s("explain ").flag(self.analyze, "analyze ");
        if let Some(format) = &self.format {
            sql.s("format=").p(format).s(" ");
        }
        if let Some(variable) = &self.into {
            sql.s("into @").p(variable).s(" ");
        }
        if let Some(schema) = &self.schema {
            sql.s("for schema ").p(schema).s(" ");
        }
        match &self.target {
            // Right before its statement EXTENDED cannot be taken for a table's name.
            ExplainTarget::Statement(statement) => sql.p(statement),
            ExplainTarget::Connection(n) => sql.s("for connection ").n(*n),
        };
    }
}

impl Print for TableMaintenance {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.kind {
            MaintenanceKind::Analyze => "analyze ",
            MaintenanceKind::Check => "check ",
            MaintenanceKind::Checksum => "checksum ",
            MaintenanceKind::Optimize => "optimize ",
            MaintenanceKind::Repair => "repair ",
        });
        sql.flag(self.no_write_to_binlog, "no_write_to_binlog ").s("table ").list(&self.tables, ",");
        for option in &self.options {
            sql.s(if option.eq_ignore_ascii_case("upgrade") { " for " } else { " " }).s(option);
        }
        if let Some(h) = &self.histogram {
            sql.s(if h.drop { " drop histogram on " } else { " update histogram on " }).list(&h.columns, ",");
            sql.opt_n(" with ", h.buckets).flag(h.buckets.is_some(), " buckets").s(match h.auto_update {
                None => "",
                Some(true) => " auto update",
                Some(false) => " manual update",
            });
            sql.opt_string(" using data ", &h.data);
        }
    }
}

impl Print for KeyCache {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.load { "load index into cache " } else { "cache index " }).list(&self.tables, ",");
        sql.opt(" in ", &self.cache);
    }
}

impl Print for KeyCacheTable {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.table);
        match &self.partitions[..] {
            [one] if one.eq_ignore_ascii_case("all") => sql.s(" partition (ALL)"),
            partitions => sql.opt_parens(" partition ", partitions),
        };
        if let Some(hint) = &self.indexes {
            sql.s(" index ").parens(&hint.indexes);
        }
        sql.flag(self.ignore_leaves, " ignore leaves");
    }
}

impl Print for FlushTarget {
    fn print(&self, sql: &mut Sql) {
        use FlushTarget as F;
        match self {
            F::Tables { names, with_read_lock, for_export } => {
                sql.s("tables ").list(names, ",");
                sql.flag(*with_read_lock, " with read lock").flag(*for_export, " for export")
            }
            F::BinaryLogs => sql.s("binary logs"),
            F::EngineLogs => sql.s("engine logs"),
            F::ErrorLogs => sql.s("error logs"),
            F::GeneralLogs => sql.s("general logs"),
            F::SlowLogs => sql.s("slow logs"),
            F::Logs => sql.s("logs"),
            F::RelayLogs(channel) => sql.s("relay logs").opt_string(" for channel ", channel),
            F::Hosts => sql.s("hosts"),
            F::OptimizerCosts => sql.s("optimizer_costs"),
            F::Privileges => sql.s("privileges"),
            F::Status => sql.s("status"),
            F::UserResources => sql.s("user_resources"),
            F::Other(words) => {
                for (i, word) in words.iter().enumerate() {
                    sql.flag(i > 0, " ").s(word);
                }
                sql
            }
        };
    }
}

impl Print for ResetTarget {
    fn print(&self, sql: &mut Sql) {
        match self {
            ResetTarget::BinaryLogs(to) => sql.s("binary logs and gtids").opt_n(" to ", *to),
            ResetTarget::Replica { all, channel } => {
                sql.s("replica").flag(*all, " all").opt_string(" for channel ", channel)
            }
            ResetTarget::Persist { if_exists, name } => {
                sql.s("persist").flag(*if_exists, " if exists");
                if let Some(name) = name {
                    // Perhaps `component.variable`.
                    for (i, part) in name.split('.').enumerate() {
                        sql.s(if i == 0 { " " } else { "." }).name(part);
                    }
                }
                sql
            }
            ResetTarget::QueryCache => sql.s("query cache"),
        };
    }
}

impl Print for CloneStatement {
    fn print(&self, sql: &mut Sql) {
        match self {
            CloneStatement::Local(dir) => sql.s("clone local data directory ").string(dir.as_bytes()),
            CloneStatement::Instance { donor, port, password, directory, ssl } => {
                sql.s("clone instance from ").p(donor).s(":").n(*port).s(" identified by ");
                sql.string(password.as_bytes()).opt_string(" data directory ", directory).s(match ssl {
                    None => "",
                    Some(true) => " require ssl",
                    Some(false) => " require no ssl",
                })
            }
        };
    }
}

impl Print for Install {
    fn print(&self, sql: &mut Sql) {
        match self {
            Install::Plugin { name, library } => {
                sql.s("install plugin ").p(name).s(" soname ").string(library.as_bytes());
            }
            Install::Component { urns, set } => {
                sql.s("install component ");
                strings(urns, sql);
                if !set.is_empty() {
                    sql.s(" set ");
                    set_items(set, sql);
                }
            }
        }
    }
}
