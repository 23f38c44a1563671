//! What a stored program brings with it: sql_mode and character sets of its creation, and the rights of its definer.
//!
//! A function may be called, and a trigger fire, for each row of a statement, so what was made for one call is kept for
//! the next.

use super::variables::mode_key;
use super::{Charsets, Session, text};
use gannet_core::accounts::{Access, Account, Name};
use gannet_core::vars::{Live, VarValue};
use gannet_types::charset::Charset;
use gannet_types::{CollationId, Result, SqlMode, sql_err};
use std::sync::Arc;

/// How many of each kind are kept.
const KEPT: usize = 4;

/// The variables that a program has of its creation.
const VARIABLES: [Live; 4] =
    [Live::SqlMode, Live::CharacterSetClient, Live::CharacterSetConnection, Live::CollationConnection];

/// What was made for earlier calls.
#[derive(Default)]
pub(crate) struct Surroundings {
    modes: Vec<Made>,
    definers: Vec<Identity>,
}

/// sql_mode, `character_set_client` and `collation_connection`.
type Wanted = (SqlMode, Charset, CollationId);

/// The variables' values for one of these.
#[derive(Clone)]
struct Made {
    wanted: Wanted,
    /// [`mode_key`] of the session before, which stands for the values of its other variables.
    before: u64,
    mode_key: u64,
    values: [VarValue; 4],
}

/// The variables as they were before a program.
pub(crate) struct Around {
    values: [VarValue; 4],
    mode: SqlMode,
    charsets: Charsets,
    mode_key: u64,
    /// What the program began with.
    within: (u64, Wanted),
}

/// Whose rights count.
pub(crate) struct Identity {
    account: Arc<Account>,
    roles: Vec<Name>,
    current_user: String,
    access: Access,
}

fn present(session: &Session) -> Wanted {
    let charsets = &session.settings.charsets;
    (session.settings.exec.sql_mode, charsets.client, charsets.connection)
}

/// Sets the variables for a program. `None`: they are as it wants them.
pub(crate) fn surround(session: &mut Session, wanted: Wanted) -> Option<Around> {
    if present(session) == wanted {
        return None;
    }
    let before = session.settings.mode_key;
    let made = match session.surroundings.modes.iter().find(|m| m.before == before && m.wanted == wanted) {
        Some(made) => made.clone(),
        None => {
            let made = make(session, before, wanted);
            session.surroundings.modes.truncate(KEPT - 1);
            session.surroundings.modes.insert(0, made.clone());
            made
        }
    };
    let around = Around {
        values: exchange(session, made.values),
        mode: session.settings.exec.sql_mode,
        charsets: session.settings.charsets,
        mode_key: before,
        within: (made.mode_key, wanted),
    };
    let (mode, client, connection) = wanted;
    let charsets = Charsets { client, connection, ..session.settings.charsets };
    settle(session, mode, charsets, made.mode_key);
    Some(around)
}

/// Gives the variables back their values.
pub(crate) fn unsurround(session: &mut Session, around: Option<Around>, wanted: Wanted) {
    let Some(around) = around else {
        // A program that has changed what it found right.
        surround(session, wanted);
        return;
    };
    let same = (session.settings.mode_key, present(session)) == around.within;
    exchange(session, around.values);
    if same {
        let Charsets { results, shown, .. } = session.settings.charsets;
        let charsets = Charsets { results, shown, ..around.charsets };
        settle(session, around.mode, charsets, around.mode_key);
    } else {
        let locks = session.settings.exec.locks;
        session.refresh();
        session.settings.exec.locks = locks;
    }
}

fn make(session: &mut Session, before: u64, wanted: Wanted) -> Made {
    let (mode, client, connection) = wanted;
    let values = [
        VarValue::text(&mode.to_string()),
        VarValue::text(client.name()),
        VarValue::text(connection.charset().name()),
        VarValue::text(connection.get().name),
    ];
    let own = exchange(session, values);
    let mode_key = mode_key(&session.state.vars);
    Made { wanted, before, mode_key, values: exchange(session, own) }
}

/// Sets the variables; gives what they were.
fn exchange(session: &mut Session, values: [VarValue; 4]) -> [VarValue; 4] {
    let vars = &mut session.state.vars;
    let before = VARIABLES.map(|id| vars[id].clone());
    for (id, value) in VARIABLES.into_iter().zip(values) {
        vars.set(id, value);
    }
    before
}

/// What follows from the variables.
fn settle(session: &mut Session, mode: SqlMode, charsets: Charsets, mode_key: u64) {
    let lexed = text::lex_mode(mode);
    if lexed != text::lex_mode(session.settings.exec.sql_mode) {
        session.entry.set_mode(lexed);
    }
    session.settings.exec.sql_mode = mode;
    session.settings.charsets = charsets;
    session.settings.mode_key = mode_key;
}

/// Takes the rights of a definer, unless they are the session's. Error 1449.
pub(crate) fn become_account(session: &mut Session, definer: &(Box<str>, Box<str>)) -> Result<Option<Identity>> {
    let (user, host) = (&*definer.0, &*definer.1);
    if *session.state.account.user == *user && *session.state.account.host == *host {
        return Ok(None);
    }
    let version = session.server.accounts.version();
    let kept = &mut session.surroundings.definers;
    kept.retain(|d| d.access.version == version);
    let identity = match kept.iter().position(|d| *d.account.user == *user && *d.account.host == *host) {
        Some(at) => kept.swap_remove(at),
        None => Identity::of(session, user, host)?,
    };
    Ok(Some(exchange_identity(session, identity)))
}

pub(crate) fn become_again(session: &mut Session, before: Option<Identity>) {
    let Some(before) = before else { return };
    let definer = exchange_identity(session, before);
    // A program may have set roles.
    let kept = &mut session.surroundings.definers;
    if kept.len() < KEPT && definer.roles == definer.account.grants.default_roles {
        kept.push(definer);
    }
}

impl Identity {
    fn of(session: &Session, user: &str, host: &str) -> Result<Identity> {
        let account = session.server.accounts.get(user, host).or_else(|| super::owned::definer(user, host));
        let account = account.ok_or_else(|| sql_err!(NoSuchUser, user, host))?;
        let roles = account.grants.default_roles.clone();
        let access = Access::new(&session.server.accounts, &account, &roles);
        Ok(Identity { current_user: account.name(), account, roles, access })
    }
}

fn exchange_identity(session: &mut Session, to: Identity) -> Identity {
    let s = &mut session.state;
    Identity {
        current_user: std::mem::replace(&mut s.current_user, to.current_user),
        account: std::mem::replace(&mut s.account, to.account),
        roles: std::mem::replace(&mut s.roles, to.roles),
        access: std::mem::replace(&mut s.access, to.access),
    }
}

/// Makes the table `name` of a query's rows, whose functions may change no table.
pub(crate) fn creating<R>(session: &mut Session, name: &str, f: impl FnOnce(&mut Session) -> R) -> R {
    session.state.creating = Some(name.into());
    let result = f(session);
    session.state.creating = None;
    result
}
