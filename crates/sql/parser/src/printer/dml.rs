//! INSERT, UPDATE, DELETE, LOAD, HANDLER.

use super::*;

impl Print for Insert {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.replace { "replace " } else { "insert " });
        query::hints(&self.hints, sql);
        sql.s(match self.priority {
            None => "",
            Some(Priority::Low) => "low_priority ",
            Some(Priority::Delayed) => "delayed ",
            Some(Priority::High) => "high_priority ",
        });
        sql.flag(self.ignore, "ignore ").s("into ").p(&self.table).opt_parens(" partition ", &self.partitions);
        if let Some(columns) = &self.columns {
            sql.s(" ").parens(columns);
        }
        match &self.source {
            InsertSource::Values(rows) => {
                sql.s(" values ");
                for (i, row) in rows.iter().enumerate() {
                    sql.flag(i > 0, ",").parens(row);
                }
            }
            InsertSource::Query(q) => {
                sql.s(" ").p(q);
            }
        }
        if let Some((alias, columns)) = &self.row_alias {
            sql.s(" as ").p(alias).opt_parens("", columns);
        }
        if !self.on_duplicate.is_empty() {
            sql.s(" on duplicate key update ").list(&self.on_duplicate, ",");
        }
        returning(&self.returning, sql);
    }
}

fn returning(items: &[SelectItem], sql: &mut Sql) {
    if !items.is_empty() {
        sql.s(" returning ").list(items, ",");
    }
}

impl Print for Assignment {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.column).s(" = ").p(&self.value);
    }
}

impl Print for Update {
    fn print(&self, sql: &mut Sql) {
        sql.opt("", &self.with).s(if self.with.is_some() { " update " } else { "update " });
        query::hints(&self.hints, sql);
        sql.flag(self.low_priority, "low_priority ").flag(self.ignore, "ignore ").list(&self.tables, ",");
        sql.s(" set ").list(&self.assignments, ",");
        tail(&self.filter, &self.order_by, &self.limit, sql);
    }
}

fn tail(filter: &Option<Expr>, order_by: &[OrderItem], limit: &Option<Limit>, sql: &mut Sql) {
    sql.opt(" where ", filter);
    if !order_by.is_empty() {
        sql.s(" order by ").list(order_by, ",");
    }
    sql.opt(" limit ", limit);
}

impl Print for Delete {
    fn print(&self, sql: &mut Sql) {
        sql.opt("", &self.with).s(if self.with.is_some() { " delete " } else { "delete " });
        query::hints(&self.hints, sql);
        sql.flag(self.low_priority, "low_priority ").flag(self.quick, "quick ").flag(self.ignore, "ignore ");
        if self.targets.is_empty() {
            // Here the alias stands in front of PARTITION.
            sql.s("from ");
            match &self.tables[..] {
                [TableRef::Table(t)] => {
                    sql.p(&t.name).opt(" ", &t.alias).opt_parens(" partition ", &t.partitions);
                }
                tables => {
                    sql.list(tables, ",");
                }
            }
        } else if self.using {
            sql.s("from ").list(&self.targets, ",").s(" using ").list(&self.tables, ",");
        } else {
            sql.list(&self.targets, ",").s(" from ").list(&self.tables, ",");
        }
        tail(&self.filter, &self.order_by, &self.limit, sql);
        returning(&self.returning, sql);
    }
}

impl Print for Load {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.xml { "load xml " } else { "load data " });
        sql.s(match self.concurrency {
            None => "",
            Some(LoadConcurrency::LowPriority) => "low_priority ",
            Some(LoadConcurrency::Concurrent) => "concurrent ",
        });
        sql.flag(self.local, "local ").s("infile ").string(self.file.as_bytes());
        sql.s(match self.duplicates {
            LoadDuplicates::Error => "",
            LoadDuplicates::Replace => " replace",
            LoadDuplicates::Ignore => " ignore",
        });
        sql.s(" into table ").p(&self.table).opt_parens(" partition ", &self.partitions);
        sql.opt(" character set ", &self.charset).opt_string(" rows identified by ", &self.rows_identified_by);
        sql.p(&self.format);
        if self.ignore_lines > 0 {
            sql.s(" ignore ").n(self.ignore_lines).s(" lines");
        }
        sql.opt_parens(" ", &self.columns);
        if !self.assignments.is_empty() {
            sql.s(" set ").list(&self.assignments, ",");
        }
    }
}

impl Print for LoadTarget {
    fn print(&self, sql: &mut Sql) {
        match self {
            LoadTarget::Column(column) => sql.p(column),
            LoadTarget::Variable(variable) => sql.p(variable),
        };
    }
}

impl Print for Handler {
    fn print(&self, sql: &mut Sql) {
        sql.s("handler ").p(&self.table);
        match &self.action {
            HandlerAction::Open(alias) => {
                sql.s(" open").opt(" ", alias);
            }
            HandlerAction::Close => {
                sql.s(" close");
            }
            HandlerAction::Read { index, position, filter, limit } => {
                sql.s(" read").opt(" ", index);
                match position {
                    HandlerPosition::First => sql.s(" first"),
                    HandlerPosition::Next => sql.s(" next"),
                    HandlerPosition::Prev => sql.s(" prev"),
                    HandlerPosition::Last => sql.s(" last"),
                    HandlerPosition::Key(op, values) => sql
                        .s(match op {
                            BinaryOp::Eq => " = ",
                            BinaryOp::Lt => " < ",
                            BinaryOp::Le => " <= ",
                            BinaryOp::Gt => " > ",
                            _ => " >= ",
                        })
                        .parens(values),
                };
                tail(filter, &[], limit, sql);
            }
        }
    }
}
