//! Who opens a session, what is known of him, and what all sessions of a core share.

use super::cached::Plans;
use super::{OwnSession, Session};
use crate::virt;
use gannet_core::Core;
use gannet_core::accounts::Account;
use gannet_core::registry::Entry;
use gannet_core::vars::Live;
use gannet_types::{Result, sql_err};
use std::sync::Arc;

/// What whoever speaks to a session can do.
#[derive(Clone, Copy, Debug, Default)]
pub struct Abilities {
    /// Rows that an UPDATE finds count as affected, changed or not.
    pub found_rows: bool,
    /// There is a person: `interactive_timeout` is the session's `wait_timeout`.
    pub interactive: bool,
    /// A text may have several statements.
    pub multi_statements: bool,
    /// It takes several result sets of a statement: procedures may send rows.
    pub multi_results: bool,
    /// It takes the values of a prepared CALL's OUT parameters.
    pub takes_outs: bool,
    /// It is told of changes of the session (`session_track_...`).
    pub tracks: bool,
    /// It sends files: LOAD DATA LOCAL.
    pub sends_files: bool,
    /// It can do without descriptions of columns (`resultset_metadata`).
    pub omits_metadata: bool,
}

/// What a login says beside its password.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The name that was given, of which `USER()` is made.
    pub user: String,
    /// The default database.
    pub database: Option<String>,
    /// Of statements and results; 0: the server's default.
    pub collation: u16,
    /// Names and values, for performance_schema.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
    /// What it can do.
    pub abilities: Abilities,
}

/// What the sessions of a core share, and how they are opened.
pub struct Sessions {
    core: Arc<Core>,
    plans: Arc<Plans>,
}

impl Sessions {
    /// The sessions of a core: made once. The virtual tables are there from now on.
    pub fn over(core: &Arc<Core>) -> Arc<Sessions> {
        virt::publish(&core.catalog);
        core.catalog.add_own(crate::owned::SCHEMA, &crate::sys::OBJECTS);
        let plans = Arc::new(Plans::new(core.globals.get(Live::PlanCacheSize).as_u64() as usize));
        let counted = plans.clone();
        core.add_figures(Box::new(move || {
            let c = counted.counters();
            vec![
                ("Gannet_plan_cache_entries", c.entries),
                ("Gannet_plan_cache_bytes", c.bytes),
                ("Gannet_plan_cache_evictions", c.evictions),
            ]
        }));
        Arc::new(Sessions { core: core.clone(), plans })
    }

    /// What all services share.
    pub fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// A session for a connection whose client has logged in to `account`. Errors 1040, 1203, 1226 for limits, 1044 and
    /// 1049 for the database.
    pub fn open(&self, entry: Arc<Entry>, account: Arc<Account>, opening: &Opening) -> Result<Session> {
        Session::open(self.core.clone(), self.plans.clone(), entry, account, opening)
    }

    /// A session without a client, with the rights of an account; it belongs to the task that asks for it. Error
    /// 1698 when there is no such account.
    pub fn own(&self, user: &str, host: &str) -> Result<OwnSession> {
        let account = self.core.accounts.get(user, host);
        let account = account.ok_or_else(|| sql_err!(AccessDeniedNoPassword, user, host))?;
        self.own_of(account, user)
    }

    /// The same for an account at hand, shown as `user`: one that has just logged in, or [`Account::unchecked`].
    pub fn own_of(&self, account: Arc<Account>, user: &str) -> Result<OwnSession> {
        OwnSession::open(&self.core, &self.plans, account, user)
    }
}
