//! Accounts that stored objects name as their definers.

use super::Session;
use gannet_core::accounts::{Name, Privilege};
use gannet_types::{Level, Result, sql_err};

/// What kind of object has the account as its definer, as messages name it.
fn referenced(session: &Session, account: &Name) -> Option<&'static str> {
    let is = |definer: &(Box<str>, Box<str>)| *definer.0 == *account.user && *definer.1 == *account.host;
    let snapshot = &session.state.snapshot;
    let schemas = || snapshot.schemas().filter(|s| *s.name != *super::owned::SCHEMA);
    let tables = || snapshot.all_tables();
    if tables().any(|t| t.view().is_some_and(|v| is(&v.definer))) {
        return Some("a view");
    }
    if schemas().any(|s| snapshot.routines(&s.name).any(|r| is(&r.made.definer))) {
        return Some("a stored routine");
    }
    if schemas().any(|s| snapshot.events(&s.name).any(|e| is(&e.made.definer))) {
        return Some("an event");
    }
    tables().any(|t| t.triggers.iter().any(|g| is(&g.made.definer))).then_some("a trigger")
}

/// An account is made (it would have what a lost one of its name left), dropped or renamed that is the definer of
/// something: error 4006, or warning 4005 for who may leave objects without a definer.
pub(super) fn check(session: &mut Session, statement: &str, account: &Name) -> Result<()> {
    session.state.renew_snapshot();
    let Some(object) = referenced(session, account) else { return Ok(()) };
    let privileges = session.state.privileges();
    if privileges.has(Privilege::AllowNonexistentDefiner) || privileges.has(Privilege::Super) {
        let told = sql_err!(UserReferencedAsDefiner, account.quoted(), object).to_warning(Level::Warning);
        session.running.diagnostics.warnings.push(told);
        return Ok(());
    }
    Err(sql_err!(CannotUserReferencedAsDefiner, statement, account.quoted(), object))
}

/// CREATE USER makes an account, ALTER USER changes one that is there.
pub(super) fn check_user(session: &mut Session, alter: bool, account: &Name) -> Result<()> {
    if alter { Ok(()) } else { check(session, "CREATE USER", account) }
}
