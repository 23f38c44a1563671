//! How often and how long was waited for the metadata locks of each object, for introspection. Nothing is noted of a
//! lock that is granted at once.

use crate::{LockTable, MdlMode};
use gannet_base::sync::{Arc, Mutex};
use std::collections::HashMap;

/// Objects that are remembered at most; waits for further ones are not.
const MOST: usize = 100_000;

/// Waits that have ended, granted or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waited {
    pub count: u64,
    pub total_ns: u64,
    /// `u64::MAX` without any.
    pub min_ns: u64,
    pub max_ns: u64,
}

impl Default for Waited {
    fn default() -> Self {
        Waited { count: 0, total_ns: 0, min_ns: u64::MAX, max_ns: 0 }
    }
}

impl Waited {
    /// Both.
    pub fn and(self, other: Waited) -> Waited {
        Waited {
            count: self.count + other.count,
            total_ns: self.total_ns + other.total_ns,
            min_ns: self.min_ns.min(other.min_ns),
            max_ns: self.max_ns.max(other.max_ns),
        }
    }
}

/// Waits for one object.
#[derive(Clone, Debug)]
pub struct MdlWaits {
    /// Its name.
    pub name: Arc<str>,
    /// By readers: [`MdlMode::Read`], [`MdlMode::NoWrite`].
    pub readers: Waited,
    /// By the others.
    pub writers: Waited,
}

/// By object.
#[derive(Default)]
pub(crate) struct AllWaits(Mutex<HashMap<u64, MdlWaits>>);

impl LockTable {
    /// Waits for metadata locks since the start or [`LockTable::forget_mdl_waits`], by the object's id.
    pub fn mdl_waits(&self) -> HashMap<u64, MdlWaits> {
        self.mdl_waits.0.lock().clone()
    }

    /// They begin anew.
    pub fn forget_mdl_waits(&self) {
        self.mdl_waits.0.lock().clear();
    }

    /// The object is no more.
    pub(crate) fn forget_waits_of(&self, id: u64) {
        self.mdl_waits.0.lock().remove(&id);
    }

    /// A wait has ended.
    #[cold]
    pub(crate) fn mdl_waited(&self, (id, name): (u64, Arc<str>), mode: MdlMode, ns: u64) {
        let mut all = self.mdl_waits.0.lock();
        if all.len() >= MOST && !all.contains_key(&id) {
            return;
        }
        let (readers, writers) = Default::default();
        let of = all.entry(id).or_insert(MdlWaits { name, readers, writers });
        let sum = match mode {
            MdlMode::Read | MdlMode::NoWrite => &mut of.readers,
            MdlMode::Write | MdlMode::Upgradable | MdlMode::Exclusive => &mut of.writers,
        };
        *sum = sum.and(Waited { count: 1, total_ns: ns, min_ns: ns, max_ns: ns });
    }
}
