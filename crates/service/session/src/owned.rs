//! What the server has by itself in the schema sys: nobody changes it.

use super::Session;
use super::reply::Done;
use gannet_core::accounts::{Account, Plugin, Privilege, Privileges, SchemaGrant, Secret};
use gannet_exec::ddl::locked_tables;
use gannet_parser::ast::{ObjectName, Statement};
use gannet_schema::RoutineKind;
use gannet_types::{ErrorCode, sql_err};
use std::sync::Arc;

/// The schema.
pub(crate) const SCHEMA: &str = "sys";

/// User and host of the definer of all that the server has in the schema. It is no account: nobody can log in by it.
pub(crate) const DEFINER: (&str, &str) = ("mysql.sys", "localhost");

/// The rights of [`DEFINER`], where that is asked for.
pub(crate) fn definer(user: &str, host: &str) -> Option<Arc<Account>> {
    ((user, host) == DEFINER).then(|| {
        let mut account = Account::new(user, host, Secret::Empty(Plugin::Sha2), Privileges::NONE);
        let privileges = Privileges::of(&[Privilege::Select, Privilege::Trigger]);
        account.grants.schemas.push(SchemaGrant { schema: SCHEMA.into(), privileges });
        Arc::new(account.kept())
    })
}

/// A definition of a view that the server has by itself, as dumps have them: it stays as it is, with a warning.
pub(crate) fn definition(session: &mut Session, statement: &Statement) -> Option<Done> {
    let table = matches!(statement, Statement::DropTable { temporary: false, if_exists: true, .. });
    if !table && !matches!(statement, Statement::CreateView(_) | Statement::DropView { .. }) {
        return None;
    }
    let names = locked_tables(statement);
    let own = |n: &&&ObjectName| {
        let schema = n.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref());
        schema.is_some_and(|schema| protects(session, schema, &n.name))
    };
    let count = names.iter().filter(own).count();
    (count > 0 && count == names.len()).then(|| {
        for n in names {
            // A view is no table.
            let unknown = sql_err!(BadTable, format!("{SCHEMA}.{}", &*n.name));
            if table { session.note(&unknown) } else { tell(session, &n.name) }
        }
        Done::default()
    })
}

/// The server has the view by itself: it is neither changed nor dropped.
pub(crate) fn protects(session: &Session, schema: &str, name: &str) -> bool {
    session.state.snapshot.is_own_view(schema, name)
}

/// A definition of a routine that the server has by itself, likewise.
pub(crate) fn routine(session: &mut Session, schema: &str, kind: RoutineKind, name: &str) -> Option<Done> {
    session.state.snapshot.is_own_routine(schema, kind, name).then(|| {
        tell(session, name);
        Done::default()
    })
}

fn tell(session: &mut Session, name: &str) {
    let what = format!("changing {SCHEMA}.{name}, which the server has by itself,");
    session.running.diagnostics.warnings.warn(ErrorCode::NotSupportedYet, &[&what]);
}
