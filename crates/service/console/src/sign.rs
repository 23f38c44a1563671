//! Who is signed in: numbers that nobody can guess, in memory only.

use gannet_base::sync::Mutex;
use gannet_core::Core;
use gannet_core::accounts::{Access, Account, Privilege};
use gannet_runtime::now_ns;
use gannet_wire::auth::token;
use std::collections::HashMap;
use std::sync::Arc;

/// Signed in at a time; the one that was silent for longest makes room.
const MOST: usize = 256;
/// How long one may be silent.
const IDLE_NS: u64 = 30 * 60 * 1_000_000_000;
/// How long one may stay.
const LIFE_NS: u64 = 12 * 3600 * 1_000_000_000;

/// Somebody who is signed in.
#[derive(Clone)]
pub struct Signed {
    /// The name that was given.
    pub user: String,
    account: Arc<Account>,
    /// What each change has to bring along: a page of others cannot know it.
    pub proof: String,
    began_ns: u64,
    seen_ns: u64,
}

/// All of them, by their numbers.
#[derive(Default)]
pub struct Signs(Mutex<HashMap<String, Signed>>);

impl Signs {
    /// Somebody signs in; their number, and what they prove their changes by.
    pub fn enter(&self, user: &str, account: Arc<Account>) -> (String, Signed) {
        let now = now_ns();
        let signed = Signed { user: user.into(), account, proof: token(), began_ns: now, seen_ns: now };
        let number = token();
        let mut all = self.0.lock();
        all.retain(|_, s| s.is_good(now));
        if all.len() >= MOST
            && let Some(oldest) = all.iter().min_by_key(|(_, s)| s.seen_ns).map(|(n, _)| n.clone())
        {
            all.remove(&oldest);
        }
        all.insert(number.clone(), signed.clone());
        (number, signed)
    }

    /// Whose number it is, while their account may still see the console.
    pub fn find(&self, core: &Core, number: &str) -> Option<Signed> {
        let now = now_ns();
        let mut all = self.0.lock();
        let signed = all.get_mut(number).filter(|s| s.is_good(now))?;
        signed.seen_ns = now;
        let signed = signed.clone();
        drop(all);
        if current(core, &signed.account).is_some_and(|account| may_see(core, &account)) {
            return Some(signed);
        }
        self.leave(number);
        None
    }

    pub fn leave(&self, number: &str) {
        self.0.lock().remove(number);
    }
}

impl Signed {
    fn is_good(&self, now: u64) -> bool {
        now.saturating_sub(self.seen_ns) < IDLE_NS && now.saturating_sub(self.began_ns) < LIFE_NS
    }

    /// The account as it is now.
    pub fn account(&self, core: &Core) -> Option<Arc<Account>> {
        current(core, &self.account)
    }
}

fn current(core: &Core, account: &Arc<Account>) -> Option<Arc<Account>> {
    if account.is_unchecked() {
        return core.accounts.skipped().then(|| account.clone());
    }
    core.accounts.get(&account.user, &account.host).filter(|a| !a.locked)
}

/// The console shows what all sessions do and what performance_schema has: whoever may read both may see it.
pub fn may_see(core: &Core, account: &Arc<Account>) -> bool {
    let roles = &account.grants.default_roles;
    let access = Access::new(&core.accounts, account, roles);
    access.all || access.global.has(Privilege::Process) && access.schema("performance_schema").has(Privilege::Select)
}
