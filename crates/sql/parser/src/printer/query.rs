//! Queries.

use super::expr::Open;
use super::*;

impl Print for Query {
    fn print(&self, sql: &mut Sql) {
        if let Some(with) = &self.with {
            sql.p(with).s(" ");
        }
        // A parenthesis keeps clauses of the body apart from those of the query.
        sql.p(&self.body);
        if !self.order_by.is_empty() {
            sql.s(" order by ").list(&self.order_by, ",");
        }
        sql.opt(" limit ", &self.limit).list(&self.locking, "").opt("", &self.into);
    }
}

impl Print for QueryBody {
    fn print(&self, sql: &mut Sql) {
        match self {
            QueryBody::Select(select) => sql.p(select),
            QueryBody::Values(rows) => {
                sql.s("values ");
                for (i, row) in rows.iter().enumerate() {
                    sql.flag(i > 0, ",").s("row").parens(row);
                }
                sql
            }
            QueryBody::Table(name) => sql.s("table ").p(name),
            QueryBody::Query(query) => sql.s("(").p(query).s(")"),
            QueryBody::Set(set) => {
                operand(&set.first, sql);
                for arm in &set.rest {
                    sql.s(match arm.op {
                        SetOp::Union => " union ",
                        SetOp::Except => " except ",
                        SetOp::Intersect => " intersect ",
                    });
                    sql.flag(arm.all, "all ");
                    operand(&arm.body, sql);
                }
                sql
            }
        };
    }
}

fn operand(body: &QueryBody, sql: &mut Sql) {
    match body {
        QueryBody::Set(_) => sql.s("(").p(body).s(")"),
        _ => sql.p(body),
    };
}

impl Print for With {
    fn print(&self, sql: &mut Sql) {
        sql.s("with ").flag(self.recursive, "recursive ").list(&self.ctes, ", ");
    }
}

impl Print for Cte {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.name).opt_parens(" ", &self.columns).s(" as (").p(&self.query).s(")");
    }
}

impl Print for Select {
    fn print(&self, sql: &mut Sql) {
        let o = &self.options;
        sql.s("select ");
        hints(&self.hints, sql);
        sql.flag(o.all, "all ")
            .flag(o.distinct, "distinct ")
            .flag(o.high_priority, "high_priority ")
            .flag(o.straight_join, "straight_join ")
            .flag(o.sql_small_result, "sql_small_result ")
            .flag(o.sql_big_result, "sql_big_result ")
            .flag(o.sql_buffer_result, "sql_buffer_result ")
            .flag(o.sql_no_cache, "sql_no_cache ")
            .flag(o.sql_calc_found_rows, "sql_calc_found_rows ")
            .list(&self.items, ",");
        if !self.from.is_empty() {
            sql.s(" from ").list(&self.from, ",");
        }
        if self.from.is_empty() && self.filter.is_some() {
            sql.s(" from DUAL ");
        }
        sql.opt(" where ", &self.filter.as_ref().map(Open));
        if !self.group_by.is_empty() {
            // A function of that name is not the clause GROUP BY ROLLUP (...).
            let called_rollup = matches!(&self.group_by[0].expr, Expr::Call(c) if c.schema.is_none() && c.name.text.eq_ignore_ascii_case("rollup"));
            sql.s(" group by ").flag(called_rollup, "+").list(&self.group_by, ",").flag(self.rollup, " with rollup");
        }
        sql.opt(" having ", &self.having.as_ref().map(Open));
        for (i, (name, spec)) in self.windows.iter().enumerate() {
            sql.s(if i == 0 { " window " } else { ", " }).p(name).s(" AS ").p(spec).s(" ");
        }
    }
}

pub(super) fn hints(hints: &Option<Box<str>>, sql: &mut Sql) {
    if let Some(hints) = hints {
        sql.s("/*+").s(hints).s("*/ ");
    }
}

impl Print for SelectItem {
    fn print(&self, sql: &mut Sql) {
        match self {
            SelectItem::Wildcard(_) => sql.s("*"),
            SelectItem::TableWildcard(name) => sql.p(name).s(".*"),
            SelectItem::Expr { expr, alias, .. } => sql.p(&Open(expr)).opt(" AS ", alias),
        };
    }
}

impl Print for OrderItem {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.expr).flag(self.desc, " desc");
    }
}

impl Print for Limit {
    fn print(&self, sql: &mut Sql) {
        match &self.offset {
            // Parameters keep their order.
            Some(offset @ Expr::Param(n)) if matches!(self.count, Expr::Param(m) if m < *n) => {
                sql.p(&self.count).s(" offset ").p(offset)
            }
            Some(offset) => sql.p(offset).s(",").p(&self.count),
            None => sql.p(&self.count),
        };
    }
}

impl Print for Locking {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.strength {
            LockStrength::Update => " for update",
            LockStrength::Share => " for share",
        });
        if !self.of.is_empty() {
            sql.s(" of ").list(&self.of, ",");
        }
        sql.s(match self.wait {
            LockWait::Wait => "",
            LockWait::NoWait => " nowait",
            LockWait::SkipLocked => " skip locked",
        });
    }
}

impl Print for SelectInto {
    fn print(&self, sql: &mut Sql) {
        match self {
            SelectInto::Outfile { file, charset, format } => {
                sql.s(" into outfile ").string(file.as_bytes()).opt(" character set ", charset).p(format)
            }
            SelectInto::Dumpfile(file) => sql.s(" into dumpfile ").string(file.as_bytes()),
            SelectInto::Variables(list) => sql.s(" into ").list(list, ","),
        };
    }
}

impl Print for IntoTarget {
    fn print(&self, sql: &mut Sql) {
        match self {
            IntoTarget::User(name) => sql.s("@").p(name),
            IntoTarget::Local(name) => sql.p(name),
        };
    }
}

impl Print for FieldFormat {
    fn print(&self, sql: &mut Sql) {
        if self.terminated_by.is_some() || self.enclosed_by.is_some() || self.escaped_by.is_some() {
            sql.s(" fields").opt_string(" terminated by ", &self.terminated_by);
            sql.flag(self.optionally_enclosed, " optionally").opt_string(" enclosed by ", &self.enclosed_by);
            sql.opt_string(" escaped by ", &self.escaped_by);
        }
        if self.lines_starting_by.is_some() || self.lines_terminated_by.is_some() {
            sql.s(" lines").opt_string(" starting by ", &self.lines_starting_by);
            sql.opt_string(" terminated by ", &self.lines_terminated_by);
        }
    }
}

impl Print for TableRef {
    fn print(&self, sql: &mut Sql) {
        match self {
            TableRef::Table(table) => sql.p(table),
            TableRef::Derived(d) => {
                sql.flag(d.lateral, "lateral ").s("(").p(&d.query).s(")").opt(" ", &d.alias).opt_parens(" ", &d.columns)
            }
            TableRef::JsonTable(t) => {
                sql.s("json_table(").p(&t.expr).s(", ").p(&t.path).s(" columns (").list(&t.columns, ", ");
                sql.s("))").opt(" ", &t.alias)
            }
            TableRef::Join(join) => sql.p(join),
            TableRef::Nested(list) => sql.parens(list),
        };
    }
}

impl Print for Join {
    fn print(&self, sql: &mut Sql) {
        // Written without parentheses, joins associate to the left; a join on the right waits for its conditions.
        sql.p(&self.left).s(match (&self.condition, self.kind) {
            (JoinCondition::Natural, JoinKind::Left) => " natural left join ",
            (JoinCondition::Natural, JoinKind::Right) => " natural right join ",
            (JoinCondition::Natural, _) => " natural join ",
            (_, JoinKind::Inner) => " join ",
            (_, JoinKind::Left) => " left join ",
            (_, JoinKind::Right) => " right join ",
            (_, JoinKind::Straight) => " straight_join ",
        });
        sql.p(&self.right);
        match &self.condition {
            JoinCondition::On(expr) => sql.s(" on(").p(&Open(expr)).s(")"),
            JoinCondition::Using(columns) => sql.s(" using ").parens(columns),
            JoinCondition::None | JoinCondition::Natural => sql,
        };
    }
}

impl Print for TableFactor {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.name).opt_parens(" partition ", &self.partitions).opt(" ", &self.alias).list(&self.index_hints, "");
    }
}

impl Print for IndexHint {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.action {
            IndexHintAction::Use => " USE INDEX",
            IndexHintAction::Force => " FORCE INDEX",
            IndexHintAction::Ignore => " IGNORE INDEX",
        });
        sql.s(match self.purpose {
            None => " ",
            Some(IndexHintPurpose::Join) => " FOR JOIN ",
            Some(IndexHintPurpose::OrderBy) => " FOR ORDER BY ",
            Some(IndexHintPurpose::GroupBy) => " FOR GROUP BY ",
        });
        sql.parens(&self.indexes);
    }
}

impl Print for JsonTableColumn {
    fn print(&self, sql: &mut Sql) {
        match self {
            JsonTableColumn::Ordinality(name) => {
                sql.p(name).s(" for ordinality");
            }
            JsonTableColumn::Path { name, data_type, collation, exists, path, on_empty, on_error } => {
                sql.p(name).s(" ").p(data_type).opt(" collate ", collation);
                sql.flag(*exists, " exists").s(" path ").p(path);
                expr::json_on(on_empty, on_error, sql);
            }
            JsonTableColumn::Nested { path, columns } => {
                sql.s("nested path ").p(path).s(" columns (").list(columns, ", ").s(")");
            }
        }
    }
}
