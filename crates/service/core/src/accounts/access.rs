//! What a session may do: the grants of its account and of its active roles, merged. The one door for every check.

use super::account::{Account, Name, Restriction, SchemaGrant, TableGrant};
use super::privileges::{Privilege, Privileges};
use super::{Accounts, SCHEMA_LEVEL};
use crate::names::{self, Part};
use std::sync::Arc;

/// The rights of a session. Rebuilt when an account changes or the session changes its roles.
#[derive(Debug, Clone)]
pub struct Access {
    /// [`Accounts::version`] it was made at.
    pub version: u64,
    /// Every privilege on everything: nothing to check.
    pub all: bool,
    /// Global privileges.
    pub global: Privileges,
    /// The account, then its roles and theirs.
    members: Vec<Arc<Account>>,
    /// Anonymous accounts of everywhere: what they are granted on schemas, everybody is.
    anybody: Vec<Arc<Account>>,
    /// `partial_revokes`: schemas are granted by name, not by pattern.
    by_name: bool,
}

/// Tables of performance_schema that everybody may read.
const OPEN_TO_ALL: &[&str] = &[
    "global_status",
    "session_status",
    "global_variables",
    "session_variables",
    "session_account_connect_attrs",
    "session_connect_attrs",
    "processlist",
    "variables_info",
];

impl Access {
    /// The rights of `account` with `roles` active. An account that was dropped or renamed leaves its sessions none,
    /// whatever it had.
    pub fn new(accounts: &Accounts, account: &Arc<Account>, roles: &[Name]) -> Self {
        let version = accounts.version();
        let now =
            if account.is_unchecked() { Some(account.clone()) } else { accounts.get(&account.user, &account.host) };
        let members = now.map_or(Vec::new(), |now| accounts.with_roles(&now, roles));
        let global = members.iter().fold(Privileges::NONE, |p, m| p.with(m.grants.global));
        let list = accounts.list();
        let open = |a: &&Arc<Account>| {
            a.user.is_empty() && !a.grants.schemas.is_empty() && (a.host == "%" || a.host == account.host)
        };
        let anybody = list.iter().filter(open).cloned().collect();
        let whole = members.iter().all(|m| m.grants.restrictions.is_empty());
        let all = whole && global.contains(Privileges::all());
        Self { version, all, global, members, anybody, by_name: accounts.partial_revokes() }
    }

    /// The account and the roles.
    pub fn members(&self) -> &[Arc<Account>] {
        &self.members
    }

    /// Privileges on a schema and all in it.
    pub fn schema(&self, schema: &str) -> Privileges {
        // Its rows are filtered one by one.
        if schema == "information_schema" {
            return self.global.with(Privilege::Select.into());
        }
        let is_meant = |g: &&SchemaGrant| {
            if self.by_name { plain_name(&g.schema) == schema } else { schema_matches(&g.schema, schema) }
        };
        let of = |m: &Arc<Account>| {
            let best = m.grants.schemas.iter().find(is_meant);
            best.map_or(Privileges::NONE, |g| g.privileges)
        };
        self.members.iter().chain(&self.anybody).fold(self.global_in(schema), |p, m| p.with(of(m)))
    }

    /// Privileges on all schemas of a pattern, as GRANT names them.
    pub fn schema_pattern(&self, pattern: &str) -> Privileges {
        let of = |m: &Arc<Account>| {
            let best = m.grants.schemas.iter().find(|g| covers(&g.schema, pattern));
            best.map_or(Privileges::NONE, |g| g.privileges)
        };
        self.members.iter().fold(self.global_in(pattern), |p, m| p.with(of(m)))
    }

    /// Global privileges as far as they hold in a schema: what one member is restricted in, another may have.
    fn global_in(&self, schema: &str) -> Privileges {
        self.members.iter().fold(Privileges::NONE, |p, m| p.with(m.grants.global_in(schema)))
    }

    /// The partial revokes that hold for all members together: schemas with the privileges that are missing there.
    pub fn restrictions(&self) -> Vec<Restriction> {
        let mut schemas: Vec<&str> =
            self.members.iter().flat_map(|m| &m.grants.restrictions).map(|r| r.schema.as_str()).collect();
        schemas.sort_unstable();
        schemas.dedup();
        let missing = |schema: &&str| Restriction {
            schema: (*schema).into(),
            privileges: self.global.and(SCHEMA_LEVEL).without(self.global_in(schema)),
        };
        schemas.iter().map(missing).filter(|r| r.privileges != Privileges::NONE).collect()
    }

    /// PROXY on an account, to be passed on.
    pub fn passes_proxy_on(&self, proxied: &Name) -> bool {
        let mut all = self.members.iter().flat_map(|m| &m.grants.proxies);
        all.any(|p| p.option && (p.proxied == *proxied || p.proxied == Name::default()))
    }

    fn tables<'a>(&'a self, schema: &'a str, table: &'a str) -> impl Iterator<Item = &'a TableGrant> {
        let here = move |t: &&TableGrant| t.schema == schema && t.table == table;
        self.members.iter().flat_map(move |m| m.grants.tables.iter().filter(here))
    }

    /// Privileges on a whole table.
    pub fn table(&self, schema: &str, table: &str) -> Privileges {
        let mut all = self.schema(schema);
        if schema == "performance_schema" && OPEN_TO_ALL.contains(&table) {
            all = all.with(Privilege::Select.into());
        }
        self.tables(schema, table).fold(all, |p, t| p.with(t.privileges))
    }

    /// Privileges on a column.
    pub fn column(&self, schema: &str, table: &str, column: &str) -> Privileges {
        let columns = self.tables(schema, table).flat_map(|t| &t.columns);
        let here = columns.filter(|c| gannet_schema::names::eq_name(&c.column, column));
        here.fold(self.table(schema, table), |p, c| p.with(c.privileges))
    }

    /// Privileges on the table or on one of its columns.
    pub fn any_column(&self, schema: &str, table: &str) -> Privileges {
        let columns = self.tables(schema, table).flat_map(|t| &t.columns);
        columns.fold(self.table(schema, table), |p, c| p.with(c.privileges))
    }

    /// Privileges on a stored routine.
    pub fn routine(&self, schema: &str, name: &str, function: bool) -> Privileges {
        let all = self.members.iter().flat_map(|m| &m.grants.routines);
        let here = all
            .filter(|r| r.schema == schema && r.function == function && gannet_schema::names::eq_name(&r.name, name));
        here.fold(self.schema(schema), |p, r| p.with(r.privileges))
    }

    /// SHOW DATABASES lists the schema, USE enters it.
    pub fn sees_schema(&self, schema: &str) -> bool {
        self.all
            || schema == "information_schema"
            || self.schema(schema).intersects(SCHEMA_LEVEL)
            || self.global.has(Privilege::ShowDatabases)
            || self.members.iter().any(|m| {
                m.grants.tables.iter().any(|t| t.schema == schema)
                    || m.grants.routines.iter().any(|r| r.schema == schema)
            })
    }

    /// USE enters the schema.
    pub fn enters_schema(&self, schema: &str) -> bool {
        self.all
            || matches!(schema, "information_schema" | "performance_schema")
            || self.schema(schema).intersects(SCHEMA_LEVEL)
            || self.members.iter().any(|m| {
                m.grants.tables.iter().any(|t| t.schema == schema)
                    || m.grants.routines.iter().any(|r| r.schema == schema)
            })
    }

    /// The table is listed and described.
    pub fn sees_table(&self, schema: &str, table: &str) -> bool {
        self.all
            || matches!(schema, "information_schema" | "performance_schema")
            || self.any_column(schema, table).intersects(super::TABLE_LEVEL)
    }

    /// Dynamic privileges that may be passed on.
    pub fn grantable(&self) -> Privileges {
        self.members.iter().fold(Privileges::NONE, |p, m| p.with(m.grants.grantable))
    }

    /// WITH ADMIN OPTION on a role.
    pub fn administers(&self, role: &Name) -> bool {
        self.members.iter().any(|m| m.grants.roles.iter().any(|r| r.admin && r.role == *role))
    }
}

/// A pattern without the backslashes before its signs: the name that is meant where patterns are names.
fn plain_name(pattern: &str) -> String {
    pattern.replace("\\_", "_").replace("\\%", "%")
}

/// Pattern of GRANT ON `pattern`.*: case counts.
pub(super) fn schema_matches(pattern: &str, schema: &str) -> bool {
    if !pattern.contains(['%', '_', '\\']) {
        return pattern == schema;
    }
    names::like_exactly(pattern, schema, true)
}

/// Every schema that `asked` matches is matched by `granted`, as far as can be seen part by part.
fn covers(granted: &str, asked: &str) -> bool {
    let fits = |part, asked| part == asked || part == Part::Any && asked != Part::Run;
    names::matches(&names::parts(granted, true), &names::parts(asked, true), fits)
}

/// Order of the schema grants of an account: the longer before its first wildcard, the more specific.
pub(super) fn specificity(g: &SchemaGrant) -> std::cmp::Reverse<usize> {
    let bytes = g.schema.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match bytes[i] {
            b'\\' => i += 2,
            b'%' | b'_' => return std::cmp::Reverse(i),
            _ => i += 1,
        }
    }
    std::cmp::Reverse(usize::MAX)
}

impl super::Grants {
    /// Global privileges as far as they hold in a schema.
    pub fn global_in(&self, schema: &str) -> Privileges {
        match self.restrictions.iter().find(|r| r.schema == schema) {
            Some(r) => self.global.without(r.privileges),
            None => self.global,
        }
    }

    /// Changes the restrictions in a schema.
    pub fn restrict(&mut self, schema: &str, edit: impl FnOnce(&mut Privileges)) {
        if !self.restrictions.iter().any(|r| r.schema == schema) {
            self.restrictions.push(Restriction { schema: schema.into(), privileges: Privileges::NONE });
        }
        if let Some(r) = self.restrictions.iter_mut().find(|r| r.schema == schema) {
            edit(&mut r.privileges);
        }
        self.restrictions.retain(|r| r.privileges != Privileges::NONE);
        self.restrictions.sort_by(|a, b| a.schema.cmp(&b.schema));
    }

    /// Privileges that are not held restrict nothing.
    pub fn drop_idle_restrictions(&mut self) {
        let global = self.global;
        self.restrictions.iter_mut().for_each(|r| r.privileges = r.privileges.and(global));
        self.restrictions.retain(|r| r.privileges != Privileges::NONE);
    }

    /// Changes the privileges on a schema pattern. `None`: there is no such grant.
    pub fn edit_schema(&mut self, schema: &str, create: bool, edit: impl FnOnce(&mut Privileges)) -> Option<()> {
        if create && !self.schemas.iter().any(|g| g.schema == schema) {
            self.schemas.push(SchemaGrant { schema: schema.into(), privileges: Privileges::NONE });
        }
        edit(&mut self.schemas.iter_mut().find(|g| g.schema == schema)?.privileges);
        self.schemas.retain(|g| g.privileges != Privileges::NONE);
        self.schemas.sort_by_key(specificity);
        Some(())
    }

    /// Changes the grant on a table. `None`: there is no such grant.
    pub fn edit_table(
        &mut self,
        schema: &str,
        table: &str,
        create: bool,
        edit: impl FnOnce(&mut TableGrant),
    ) -> Option<()> {
        let at = self.tables.iter().position(|t| t.schema == schema && t.table == table);
        let at = match at {
            Some(at) => at,
            None if create => {
                self.tables.push(TableGrant {
                    schema: schema.into(),
                    table: table.into(),
                    privileges: Privileges::NONE,
                    columns: Vec::new(),
                    grantor: String::new(),
                    at: 0,
                });
                self.tables.len() - 1
            }
            None => return None,
        };
        edit(&mut self.tables[at]);
        let t = &mut self.tables[at];
        t.columns.retain(|c| c.privileges != Privileges::NONE);
        t.columns.sort_by(|a, b| a.column.cmp(&b.column));
        if t.columns.is_empty() && t.privileges == Privileges::NONE {
            self.tables.remove(at);
        }
        self.tables.sort_by(|a, b| (&a.schema, &a.table).cmp(&(&b.schema, &b.table)));
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_over_patterns() {
        for (granted, asked, want) in [
            ("my\\_%", "my\\_1", true),
            ("my\\_%", "my_%", false),
            ("my_%", "my\\_%", true),
            ("%", "_", true),
            ("_", "%", false),
            ("a", "a", true),
        ] {
            assert_eq!(covers(granted, asked), want, "{granted} {asked}");
        }
    }

    #[test]
    fn schema_patterns() {
        for (p, s, want) in [
            ("db", "db", true),
            ("db", "DB", false),
            ("d_", "db", true),
            ("d\\_", "d_", true),
            ("d\\_", "db", false),
            ("d%", "d", true),
            ("%", "", true),
            ("d%x", "dax", true),
            ("d%x", "day", false),
        ] {
            assert_eq!(schema_matches(p, s), want, "{p} {s}");
        }
    }
}
