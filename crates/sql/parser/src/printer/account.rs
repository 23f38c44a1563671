//! Accounts, privileges, replication, storage.

use super::*;

impl Print for Account {
    fn print(&self, sql: &mut Sql) {
        match self {
            Account::Name { user, host, .. } => sql.name(user).s("@").name(host),
            Account::CurrentUser => sql.s("current_user()"),
        };
    }
}

impl Print for RoleSelection {
    fn print(&self, sql: &mut Sql) {
        match self {
            RoleSelection::None => sql.s("none"),
            RoleSelection::Default => sql.s("default"),
            RoleSelection::All => sql.s("all"),
            RoleSelection::AllExcept(roles) => sql.s("all except ").list(roles, ","),
            RoleSelection::Roles(roles) => sql.list(roles, ","),
        };
    }
}

impl Print for UserStatement {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.alter { "alter " } else { "create " }).flag(self.existence.or_replace, "or replace ").s("user ");
        let exists = if self.alter { "if exists " } else { "if not exists " };
        sql.flag(self.existence.if_exists, exists).list(&self.users, ",").opt(" default role ", &self.default_role);
        sql.opt(" require ", &self.require);
        resources(&self.resources, sql);
        sql.list(&self.options, "");
        if let Some((is_comment, text)) = &self.comment {
            sql.s(if *is_comment { " comment " } else { " attribute " }).string(text.as_bytes());
        }
    }
}

fn resources(resources: &[(Ident, u64)], sql: &mut Sql) {
    for (i, (name, n)) in resources.iter().enumerate() {
        sql.s(if i == 0 { " with " } else { " " }).s(name).s(" ").n(*n);
    }
}

impl Print for UserSpec {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.account);
        for (i, auth) in self.auth.iter().enumerate() {
            sql.s(if i == 0 { " " } else { " and " }).p(auth);
        }
        sql.flag(self.discard_old_password, " discard old password");
        for factor in &self.factors {
            sql.s(" ").p(factor);
        }
        sql.opt_string(" replace ", &self.replace).flag(self.retain_current, " retain current password");
    }
}

impl Print for FactorAction {
    fn print(&self, sql: &mut Sql) {
        match &*self.verb.text.to_ascii_uppercase() {
            "UNREGISTER" => sql.n(self.factor).s(" factor unregister"),
            "INITIATE" => sql.n(self.factor).s(" factor initiate registration"),
            "FINISH" => {
                sql.n(self.factor).s(" factor finish registration set challenge_response as ");
                match &self.auth {
                    Some(Authentication { secret: AuthSecret::Hash(text), .. }) => sql.string(text),
                    _ => sql,
                }
            }
            _ => sql.s(&self.verb).s(" ").n(self.factor).s(" factor").opt(" ", &self.auth),
        };
    }
}

impl Print for Authentication {
    fn print(&self, sql: &mut Sql) {
        sql.s("identified");
        if let Some(plugin) = &self.plugin {
            sql.s(" with ").string(plugin.as_bytes());
        }
        match &self.secret {
            AuthSecret::None => sql.s(""),
            AuthSecret::Password(text) => sql.s(" by ").string(text),
            AuthSecret::Random => sql.s(" by random password"),
            AuthSecret::Hash(text) if self.plugin.is_some() => sql.s(" as ").string(text),
            AuthSecret::Hash(text) => sql.s(" by password ").string(text),
        };
        sql.opt(" initial authentication ", &self.initial);
    }
}

impl Print for Require {
    fn print(&self, sql: &mut Sql) {
        match self {
            Require::None => sql.s("none"),
            Require::Ssl => sql.s("ssl"),
            Require::X509 => sql.s("x509"),
            Require::Attributes(list) => {
                for (i, (name, text)) in list.iter().enumerate() {
                    sql.flag(i > 0, " ").s(name).s(" ").string(text.as_bytes());
                }
                sql
            }
        };
    }
}

impl Print for UserOption {
    fn print(&self, sql: &mut Sql) {
        use UserOption as O;
        match self {
            O::PasswordExpire => sql.s(" password expire"),
            O::PasswordExpireDefault => sql.s(" password expire default"),
            O::PasswordExpireNever => sql.s(" password expire never"),
            O::PasswordExpireInterval(n) => sql.s(" password expire interval ").n(*n).s(" day"),
            O::PasswordHistory(n) => sql.n_or_default(" password history ", *n),
            O::PasswordReuseInterval(n) => sql.n_or_default(" password reuse interval ", *n).flag(n.is_some(), " day"),
            O::PasswordRequireCurrent(None) => sql.s(" password require current default"),
            O::PasswordRequireCurrent(Some(true)) => sql.s(" password require current"),
            O::PasswordRequireCurrent(Some(false)) => sql.s(" password require current optional"),
            O::FailedLoginAttempts(n) => sql.s(" failed_login_attempts ").n(*n),
            O::PasswordLockTime(None) => sql.s(" password_lock_time unbounded"),
            O::PasswordLockTime(Some(n)) => sql.s(" password_lock_time ").n(*n),
            O::AccountLock => sql.s(" account lock"),
            O::AccountUnlock => sql.s(" account unlock"),
        };
    }
}

impl Print for GrantItems {
    fn print(&self, sql: &mut Sql) {
        match self {
            GrantItems::Privileges { privileges, object, level } => {
                sql.list(privileges, ",").s(" on ").s(match object {
                    GrantObject::Unspecified => "",
                    GrantObject::Table => "table ",
                    GrantObject::Function => "function ",
                    GrantObject::Procedure => "procedure ",
                });
                match level {
                    GrantLevel::Global => sql.s("*.*"),
                    GrantLevel::CurrentSchema => sql.s("*"),
                    GrantLevel::Schema(schema) => sql.p(schema).s(".*"),
                    GrantLevel::Object(name) => sql.p(name),
                }
            }
            GrantItems::Roles(roles) => sql.list(roles, ","),
            GrantItems::Proxy(account) => sql.s("proxy on ").p(account),
            GrantItems::AllAndGrantOption => sql.s("all privileges, grant option"),
        };
    }
}

impl Print for Privilege {
    fn print(&self, sql: &mut Sql) {
        sql.s(&self.name).opt_parens(" ", &self.columns);
    }
}

impl Print for Grant {
    fn print(&self, sql: &mut Sql) {
        sql.s("grant ").p(&self.items).s(" to ").list(&self.to, ",").opt(" require ", &self.require);
        resources(&self.resources, sql);
        if self.with_option {
            let admin = matches!(self.items, GrantItems::Roles(_));
            sql.flag(self.resources.is_empty(), " with").s(if admin { " admin option" } else { " grant option" });
        }
        if let Some((user, roles)) = &self.as_user {
            sql.s(" as ").p(user).opt(" with role ", roles);
        }
    }
}

impl Print for Revoke {
    fn print(&self, sql: &mut Sql) {
        sql.s("revoke ").flag(self.if_exists, "if exists ").p(&self.items).s(" from ").list(&self.from, ",");
        sql.flag(self.ignore_unknown_user, " ignore unknown user");
    }
}

impl Print for SetPassword {
    fn print(&self, sql: &mut Sql) {
        sql.s("set password").opt(" for ", &self.user);
        match &self.password {
            None => sql.s(" to random"),
            Some(text) => sql.s(" = ").string(text),
        };
        sql.opt_string(" replace ", &self.replace).flag(self.retain_current, " retain current password");
    }
}

fn channel(channel: &Option<Box<str>>, sql: &mut Sql) {
    sql.opt_string(" for channel ", channel);
}

impl Print for Replication {
    fn print(&self, sql: &mut Sql) {
        match self {
            Replication::ChangeSource { options, channel: c } => {
                sql.s("change replication source to ");
                for (i, (name, value)) in options.iter().enumerate() {
                    sql.flag(i > 0, ", ").s(name).s(" = ").p(value);
                }
                channel(c, sql);
            }
            Replication::ChangeFilter { rules, channel: c } => {
                sql.s("change replication filter ");
                for (i, (name, values)) in rules.iter().enumerate() {
                    let values: Vec<Word<'_>> = values.iter().map(|v| Word(v)).collect();
                    sql.flag(i > 0, ", ").s(name).s(" = ").parens(&values);
                }
                channel(c, sql);
            }
            Replication::Replica { start, threads, until, credentials: list, channel: c, all } => {
                sql.s(if *start { "start " } else { "stop " }).s(if *all { "all replicas" } else { "replica" });
                for (i, thread) in threads.iter().enumerate() {
                    sql.s(if i == 0 { " " } else { ", " }).s(thread);
                }
                for (i, (name, value)) in until.iter().enumerate() {
                    sql.s(if i == 0 { " until " } else { ", " }).s(name);
                    if *value != ReplicationValue::Null {
                        sql.s(" = ").p(value);
                    }
                }
                credentials(list, " ", sql);
                channel(c, sql);
            }
            Replication::Group { start, credentials: list } => {
                sql.s(if *start { "start group_replication" } else { "stop group_replication" });
                credentials(list, ", ", sql);
            }
            Replication::PurgeLogs { to, before } => {
                sql.s("purge binary logs").opt_string(" to ", to).opt(" before ", before);
            }
        }
    }
}

fn credentials(list: &[(Ident, Box<str>)], separator: &str, sql: &mut Sql) {
    for (i, (name, text)) in list.iter().enumerate() {
        sql.s(if i == 0 { " " } else { separator }).s(name).s(" = ").string(text.as_bytes());
    }
}

impl Print for ReplicationValue {
    fn print(&self, sql: &mut Sql) {
        match self {
            ReplicationValue::Text(text) => sql.string(text.as_bytes()),
            ReplicationValue::Number(digits) => sql.s(digits),
            ReplicationValue::Word(word) => sql.s(word),
            ReplicationValue::Account(account) => sql.p(account),
            ReplicationValue::List(list) => {
                let list: Vec<String> = list.iter().map(u64::to_string).collect();
                sql.s("(").s(&list.join(",")).s(")")
            }
            ReplicationValue::Null => sql.s("null"),
        };
    }
}

impl Print for StorageStatement {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self.verb {
            StorageVerb::Create => "create ",
            StorageVerb::Alter => "alter ",
            StorageVerb::Drop => "drop ",
            StorageVerb::Set => "set ",
        });
        sql.flag(self.existence.or_replace, "or replace ").s(match self.object {
            StorageObject::Tablespace => "tablespace ",
            StorageObject::UndoTablespace => "undo tablespace ",
            StorageObject::LogfileGroup => "logfile group ",
            StorageObject::Server => "server ",
            StorageObject::ResourceGroup => "resource group ",
            StorageObject::SpatialReferenceSystem => "spatial reference system ",
            StorageObject::Instance => "instance ",
            StorageObject::Sequence => "sequence ",
        });
        let exists = if self.verb == StorageVerb::Create { "if not exists " } else { "if exists " };
        sql.flag(self.existence.if_exists, exists);
        match self.object {
            StorageObject::Instance => sql.s(""),
            StorageObject::SpatialReferenceSystem => sql.s(&self.name).s(" "),
            _ => sql.p(&self.name).s(" "),
        };
        sql.s(&self.rest.0);
    }
}
