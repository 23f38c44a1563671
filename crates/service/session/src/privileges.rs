//! What statements need: the questions; [`gannet_core::accounts::Access`] has the answers.

use super::Session;
use gannet_core::accounts::{Access, Privilege, Privileges};
use gannet_core::kinds;
use gannet_exec::ddl;
use gannet_parser::ast::{self, Statement};
use gannet_plan::expr::{Expr, ExprKind};
use gannet_plan::plan::{Intent, PlanTable};
use gannet_plan::{Plan, PlanKind};
use gannet_schema::Table;
use gannet_types::{Result, SqlError, sql_err};
use std::sync::Arc;

/// Privileges on a table, and the columns they are needed for.
struct Need<'a> {
    privilege: Privilege,
    columns: Vec<u32>,
    table: &'a PlanTable,
}

/// The view inside whose query a table is named.
fn through<'p>(plan: &'p Plan, t: &PlanTable) -> Option<&'p Table> {
    t.through.map(|slot| &*plan.tables[slot as usize].table)
}

impl Session {
    /// Error 1142 or 1143 for the first table or column that the session may not use in the plan's way.
    #[cold]
    pub(crate) fn check_plan_privileges(&self, plan: &Plan) -> Result<()> {
        // A session that could make a temporary table may do everything with it.
        for (i, t) in plan.tables.iter().enumerate().filter(|(_, t)| !t.table.temporary) {
            let definer = definer(self, plan, t)?;
            if self.state.access.all && definer.is_none() {
                continue;
            }
            let need = |privilege, columns: &[u32]| Need { privilege, columns: columns.to_vec(), table: t };
            let mut needs = Vec::new();
            if !t.columns_used.is_empty() || t.intent.is_select() {
                needs.push(need(Privilege::Select, &t.columns_used));
            }
            match (t.intent, &plan.kind) {
                (Intent::Insert | Intent::Replace, PlanKind::Insert(insert)) => {
                    needs.insert(0, need(Privilege::Insert, &insert.columns));
                    if t.intent == Intent::Replace {
                        needs.push(Need { privilege: Privilege::Delete, columns: vec![], table: t });
                    }
                    if !insert.on_duplicate.is_empty() {
                        let assigned: Vec<u32> = insert.on_duplicate.iter().map(|a| a.column).collect();
                        needs.push(need(Privilege::Update, &assigned));
                        let width = t.table.columns.len() as u32;
                        let mut read = Vec::new();
                        for a in insert.on_duplicate.iter().filter_map(|a| a.value.as_ref()) {
                            columns_below(a, width, &mut read);
                        }
                        if !read.is_empty() {
                            needs.push(need(Privilege::Select, &read));
                        }
                    }
                }
                (Intent::Update, PlanKind::Update(update)) => {
                    let targets = update.targets.iter().filter(|u| u.table as usize == i);
                    let assigned: Vec<u32> = targets.flat_map(|u| u.assignments.iter().map(|a| a.column)).collect();
                    needs.insert(0, need(Privilege::Update, &assigned));
                }
                (Intent::Delete, _) => {
                    needs.insert(0, Need { privilege: Privilege::Delete, columns: vec![], table: t });
                }
                _ => {}
            }
            let access = definer.as_ref().unwrap_or(&self.state.access);
            check_needs(self, &needs, access).map_err(|e| match through(plan, t) {
                // An account that may use the view is not told what is wrong below it.
                Some(view) => sql_err!(ViewInvalid, view.schema, view.name),
                None => e,
            })?;
            if matches!(t.intent, Intent::LockingRead | Intent::ReadForUpdate) {
                let locking = Privileges::of(&[Privilege::Update, Privilege::Delete, Privilege::LockTables]);
                let have = access.any_column(&t.table.schema, &t.table.name);
                if !have.intersects(locking) {
                    let a = &self.state.account;
                    let words = "SELECT with locking clause";
                    return Err(sql_err!(TableaccessDenied, words, a.user, self.state.host(), t.table.name));
                }
            }
        }
        Ok(())
    }

    /// Error 1142 without the privileges on a table.
    pub(crate) fn require_on_table(&self, need: Privileges, schema: &str, table: &str) -> Result<()> {
        let missing = need.without(self.state.access.table(schema, table));
        if missing == Privileges::NONE { Ok(()) } else { Err(self.denied(missing, table)) }
    }

    /// A table of a statement that needs `need` on it, or (`None`) anything at all. What the session may not do is said
    /// before whether the table is there: errors do not tell what exists.
    pub fn table_for(&self, need: Option<Privileges>, schema: &str, name: &str) -> Result<Arc<Table>> {
        if let Some(t) = self.state.snapshot.temporary_table(schema, name) {
            return Ok(t.clone());
        }
        match need {
            None => require_any_privilege(self, schema, name)?,
            Some(need) => {
                self.require_on_table(need, &gannet_schema::names::canonical_schema(schema), name)?;
            }
        }
        self.state.snapshot.require_table(schema, name).cloned()
    }

    /// Error 1044 for a schema that the session may not enter, whether it exists or not.
    pub(crate) fn require_entry(&self, schema: &str) -> Result<()> {
        let a = &self.state.account;
        match self.state.access.enters_schema(&gannet_schema::names::canonical_schema(schema)) {
            true => Ok(()),
            false => Err(sql_err!(DbaccessDenied, a.user, a.host, schema)),
        }
    }

    /// Error 1044 without the privileges on a schema.
    pub(crate) fn require_on_schema(&self, need: Privileges, schema: &str) -> Result<()> {
        let a = &self.state.account;
        match self.state.access.schema(schema).contains(need) {
            true => Ok(()),
            false => Err(sql_err!(DbaccessDenied, a.user, a.host, schema)),
        }
    }

    /// Error 1820: before anything else the password has to be changed.
    pub(crate) fn check_password_expired(&self, statement: Option<&Statement>) -> Result<()> {
        let allowed = |s: &Statement| match s {
            Statement::SetPassword(_) | Statement::Set(_) | Statement::SetRole(_) => true,
            Statement::User(u) => {
                u.alter && u.users.iter().all(|u| self.state.account.is(&self.account_name(&u.account)))
            }
            _ => false,
        };
        match !self.state.must_change_password || statement.is_some_and(allowed) {
            true => Ok(()),
            false => Err(sql_err!(MustChangePassword)),
        }
    }
}

/// The account whose rights count for a table: the definer of the view around it, or `None`: the session's.
/// Errors 1449, 1045.
fn definer(session: &Session, plan: &Plan, t: &PlanTable) -> Result<Option<Access>> {
    let around = std::iter::successors(t.through, |slot| plan.tables[*slot as usize].through);
    let mut views = around.filter_map(|slot| plan.tables[slot as usize].table.view());
    let Some(view) = views.find(|v| !v.invoker) else { return Ok(None) };
    let (user, host) = (&*view.definer.0, &*view.definer.1);
    let accounts = &session.server.accounts;
    let Some(account) = accounts.get(user, host) else {
        // Only an account with SUPER is told the definer's name.
        let own = &session.state.account;
        return Err(match session.state.privileges().has(Privilege::Super) {
            true => sql_err!(NoSuchUser, user, host),
            false => sql_err!(AccessDenied, own.user, own.host, own.used_password()),
        });
    };
    let access = Access::new(accounts, &account, &account.grants.default_roles);
    Ok(Some(access))
}

fn check_needs(session: &Session, needs: &[Need<'_>], access: &Access) -> Result<()> {
    let Some(t) = needs.first().map(|n| n.table) else { return Ok(()) };
    let (schema, name) = (&*t.table.schema, &*t.table.name);
    let whole = access.table(schema, name);
    let some = access.any_column(schema, name);
    let missing = needs.iter().fold(Privileges::NONE, |m, n| {
        // DELETE is never a column's.
        let have = if n.privilege == Privilege::Delete { whole } else { some };
        if have.has(n.privilege) { m } else { m.with(n.privilege.into()) }
    });
    if missing != Privileges::NONE {
        return Err(session.denied(missing, name));
    }
    for n in needs.iter().filter(|n| !whole.has(n.privilege)) {
        for c in &n.columns {
            let Some(column) = t.table.columns.get(*c as usize) else { continue };
            if !access.column(schema, name, &column.name).has(n.privilege) {
                if t.starred {
                    return Err(session.denied(n.privilege.into(), name));
                }
                let word = gannet_core::accounts::privilege_name(n.privilege).to_ascii_uppercase();
                let a = &session.state.account;
                return Err(sql_err!(ColumnaccessDenied, word, a.user, session.state.host(), column.name, name));
            }
        }
    }
    Ok(())
}

/// Checks the privileges of a definition statement. Each statement kind declares its own; a kind that declares
/// none is refused.
pub(crate) fn check_ddl_privileges(session: &Session, statement: &Statement) -> Result<()> {
    if session.state.access.all {
        return Ok(());
    }
    use Privilege as P;
    let database = session.state.database.as_deref().unwrap_or_default();
    let schema_of = |name: &'_ ast::ObjectName| name.schema.as_ref().map_or(database, |s| s).to_owned();
    // For tables that the statement makes, or names whether or not there is a temporary one.
    let by_name = |list: &[P], name: &ast::ObjectName| {
        session.require_on_table(Privileges::of(list), &schema_of(name), &name.name)
    };
    // A session that could make a temporary table may do everything with it.
    let on =
        |list: &[P], name: &ast::ObjectName| match session.state.snapshot.temporary_table(&schema_of(name), &name.name)
        {
            Some(_) => Ok(()),
            None => by_name(list, name),
        };
    let on_each = |list: &[P], names: &[ast::ObjectName]| names.iter().try_for_each(|name| on(list, name));
    match statement {
        Statement::CreateDatabase { name, .. } => session.require_on_schema(P::Create.into(), name),
        Statement::DropDatabase { name, .. } => session.require_on_schema(P::Drop.into(), name),
        Statement::AlterDatabase { name, .. } => {
            session.require_on_schema(P::Alter.into(), name.as_ref().map_or(database, |n| n))
        }
        Statement::CreateTable(c) => {
            let made_by_query = match &c.body {
                ast::CreateTableBody::Like(other) => {
                    on(&[P::Select], other)?;
                    false
                }
                ast::CreateTableBody::Define { query, .. } => query.is_some(),
            };
            if c.temporary {
                return session.require_on_schema(P::CreateTemporaryTables.into(), &schema_of(&c.name));
            }
            check_foreign_keys(session, statement, database)?;
            by_name(if made_by_query { &[P::Create, P::Insert] } else { &[P::Create] }, &c.name)
        }
        Statement::DropTable { temporary: true, .. } => Ok(()),
        Statement::DropTable { names, .. } | Statement::DropView { names, .. } => on_each(&[P::Drop], names),
        Statement::Truncate(name) => on(&[P::Drop], name),
        Statement::RenameTable { pairs, .. } => pairs.iter().try_for_each(|(from, to)| {
            by_name(&[P::Alter, P::Drop], from)?;
            by_name(&[P::Create, P::Insert], to)
        }),
        Statement::AlterTable(a) => {
            check_foreign_keys(session, statement, database)?;
            for_alter(a, &on)
        }
        Statement::CreateView(v) => match v.alter || v.existence.or_replace {
            true => on(&[P::CreateView, P::Drop], &v.name),
            false => on(&[P::CreateView], &v.name),
        },
        Statement::CreateIndex(c) => on(&[P::Index], &c.table),
        Statement::DropIndex(d) => on(&[P::Index], &d.table),
        other => Err(SqlError::internal(format_args!("what {} needs is not declared", kinds::of(other).name))),
    }
}

/// What ALTER TABLE needs: `on` checks privileges on a table.
fn for_alter(a: &ast::AlterTable, on: &dyn Fn(&[Privilege], &ast::ObjectName) -> Result<()>) -> Result<()> {
    use Privilege as P;
    let mut drops = false;
    for action in &a.actions {
        match action.plain() {
            ast::AlterAction::Rename(to) => {
                on(&[P::Create, P::Insert], to)?;
                drops = true;
            }
            ast::AlterAction::ExchangePartition { table, .. } => {
                on(&[P::Insert, P::Create], &a.name)?;
                on(&[P::Alter, P::Insert, P::Create, P::Drop], table)?;
                drops = true;
            }
            ast::AlterAction::DropPartition(_) => drops = true,
            ast::AlterAction::Partitions { verb, .. } => drops |= verb.text.eq_ignore_ascii_case("TRUNCATE"),
            _ => {}
        }
    }
    on(if drops { &[P::Alter, P::Drop] } else { &[P::Alter] }, &a.name)
}

/// Error 1142 without REFERENCES on what new foreign keys refer to: they would tell which keys are there.
fn check_foreign_keys(session: &Session, statement: &Statement, database: &str) -> Result<()> {
    let names = ddl::locked_tables(statement);
    let own = names.first().and_then(|n| n.schema.as_ref()).map_or(database, |s| s);
    for key in ddl::new_foreign_keys(statement) {
        let parent = &key.references.table;
        let schema = parent.schema.as_ref().map_or(own, |s| s);
        let access = &session.state.access;
        let may = |p: Privileges| p.has(Privilege::References);
        let columns = &key.references.columns;
        let each = || columns.iter().all(|c| may(access.column(schema, &parent.name, c)));
        if !may(access.table(schema, &parent.name)) && (columns.is_empty() || !each()) {
            return Err(session.denied(Privilege::References.into(), &parent.name));
        }
    }
    Ok(())
}

/// Error 1142 for an account without any right on a table.
pub(crate) fn require_any_privilege(session: &Session, schema: &str, table: &str) -> Result<()> {
    let schema = gannet_schema::names::canonical_schema(schema);
    match session.state.access.sees_table(&schema, table) {
        true => Ok(()),
        false => Err(session.denied(Privilege::Select.into(), table)),
    }
}

/// Column slots below `width` that an expression reads.
fn columns_below(e: &Expr, width: u32, out: &mut Vec<u32>) {
    if let ExprKind::Column(slot) = e.kind
        && slot < width
    {
        out.push(slot);
    }
    e.for_each_child(|child| columns_below(child, width, out));
}
