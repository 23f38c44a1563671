//! Accounts that stored objects name as their definers.

use super::Session;
use gannet_core::accounts::{Name, Privilege};
use gannet_types::{Level, Result, sql_err};

/// What kinds of objects have the account as their definer, as messages name them and in their order.
fn referenced(session: &Session, account: &Name) -> impl Iterator<Item = &'static str> + use<> {
    let is = |definer: &(Box<str>, Box<str>)| *definer.0 == *account.user && *definer.1 == *account.host;
    let snapshot = &session.state.snapshot;
    let schemas = || snapshot.schemas().filter(|s| *s.name != *super::owned::SCHEMA);
    let tables = || snapshot.all_tables();
    let kinds = [
        ("an event", schemas().any(|s| snapshot.events(&s.name).any(|e| is(&e.made.definer)))),
        ("a view", tables().any(|t| t.view().is_some_and(|v| is(&v.definer)))),
        ("a stored routine", schemas().any(|s| snapshot.routines(&s.name).any(|r| is(&r.made.definer)))),
        ("a trigger", tables().any(|t| t.triggers.iter().any(|g| is(&g.made.definer)))),
    ];
    kinds.into_iter().filter(|k| k.1).map(|k| k.0)
}

/// An account is made (it would have what a lost one of its name left), dropped or renamed that is the definer of
/// something: error 4006, or warnings 4005 for who may leave objects without a definer.
pub(super) fn check(session: &mut Session, statement: &str, account: &Name) -> Result<()> {
    session.state.renew_snapshot();
    let privileges = session.state.privileges();
    let may = privileges.has(Privilege::AllowNonexistentDefiner) || privileges.has(Privilege::Super);
    for object in referenced(session, account) {
        if !may {
            return Err(sql_err!(CannotUserReferencedAsDefiner, statement, account.quoted(), object));
        }
        let told = sql_err!(UserReferencedAsDefiner, account.quoted(), object).to_warning(Level::Warning);
        session.running.diagnostics.warnings.push(told);
    }
    Ok(())
}

/// CREATE USER makes an account, ALTER USER changes one that is there.
pub(super) fn check_user(session: &mut Session, alter: bool, account: &Name) -> Result<()> {
    if alter { Ok(()) } else { check(session, "CREATE USER", account) }
}
