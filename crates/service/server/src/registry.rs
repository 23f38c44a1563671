//! Who is connected: connection ids, the process list, limits, KILL.
//!
//! Each session writes its own entry (plain stores to a line nobody else writes); SHOW PROCESSLIST reads them all. The
//! map itself changes at connect and disconnect only.

use gannet_base::sync::{Mutex, RwLock};
use gannet_runtime::{Interrupt, TaskContext, Wait};
use gannet_wire::compress::Algorithm;
use gannet_wire::tls::Agreed;
use std::collections::BTreeMap;
use std::sync::atomic::{
    AtomicU8, AtomicU32, AtomicU64, Ordering::Acquire, Ordering::Relaxed, Ordering::Release, fence,
};
use std::sync::{Arc, OnceLock};

/// `Command` of the process list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Activity {
    /// Logging in.
    Connect,
    /// Waiting for the client.
    Sleep,
    /// COM_QUERY.
    Query,
    /// COM_STMT_PREPARE.
    Prepare,
    /// COM_STMT_EXECUTE.
    Execute,
    /// COM_STMT_FETCH.
    Fetch,
    /// COM_FIELD_LIST.
    FieldList,
    /// COM_INIT_DB.
    InitDb,
    /// COM_CHANGE_USER.
    ChangeUser,
    /// Everything else.
    Other,
}

const ACTIVITIES: [Activity; 10] = [
    Activity::Connect,
    Activity::Sleep,
    Activity::Query,
    Activity::Prepare,
    Activity::Execute,
    Activity::Fetch,
    Activity::FieldList,
    Activity::InitDb,
    Activity::ChangeUser,
    Activity::Other,
];

impl Activity {
    /// As the process list prints it.
    pub fn name(self) -> &'static str {
        match self {
            Activity::Connect => "Connect",
            Activity::Sleep => "Sleep",
            Activity::Query => "Query",
            Activity::Prepare => "Prepare",
            Activity::Execute => "Execute",
            Activity::Fetch => "Fetch",
            Activity::FieldList => "Field List",
            Activity::InitDb => "Init DB",
            Activity::ChangeUser => "Change user",
            Activity::Other => "Query",
        }
    }
}

/// Words of the statement text kept in the entry: enough for what SHOW PROCESSLIST shows without FULL.
const INFO_WORDS: usize = 16;

/// What others see of a session. In this order in memory: what each statement writes lies together.
#[repr(C)]
pub struct Entry {
    /// Connection id.
    pub id: u64,
    /// What KILL acts on.
    pub context: TaskContext,
    /// When the activity began, microseconds since 1970.
    since_us: AtomicU64,
    activity: AtomicU8,
    info_version: AtomicU32,
    /// Start of the current statement's text. `info_len` is its whole length; odd `info_version` = being written.
    info_len: AtomicU32,
    info: [AtomicU64; INFO_WORDS],
    /// The text when it is longer than what the words hold.
    long_info: Mutex<Option<Vec<u8>>>,
    /// User, `host:port` and database.
    who: RwLock<Who>,
    /// Connection attributes of its login.
    pub attributes: Mutex<Arc<[Attribute]>>,
    /// How its packets are compressed.
    pub compression: OnceLock<Algorithm>,
    /// How its connection is encrypted; empty where it is not.
    pub tls: OnceLock<Agreed>,
}

/// A connection attribute: name and value.
pub type Attribute = (Vec<u8>, Vec<u8>);

/// Identity of a session.
#[derive(Clone, Debug, Default)]
pub struct Who {
    /// User name as given.
    pub user: String,
    /// `host:port`, or `localhost`.
    pub host: String,
    /// Default database.
    pub database: Option<Arc<str>>,
}

/// Bytes of connection attributes that are kept (`performance_schema_session_connect_attrs_size`).
const ATTRIBUTES: usize = 512;

impl Entry {
    /// Keeps the attributes of a login. As in MySQL, what exceeds the bound is left out, and `_truncated` says how much.
    pub fn keep_attributes(&self, given: &[Attribute]) {
        let size = |(name, value): &Attribute| name.len() + value.len() + 2;
        let mut room = ATTRIBUTES;
        let mut kept = Vec::new();
        let mut lost = 0;
        for a in given {
            if lost == 0 && size(a) <= room {
                room -= size(a);
                kept.push(a.clone());
            } else {
                lost += size(a);
            }
        }
        if lost > 0 {
            kept.push((b"_truncated".to_vec(), lost.to_string().into_bytes()));
        }
        *self.attributes.lock() = kept.into();
    }

    /// The session begins something. `now_us`: microseconds since 1970.
    #[inline]
    pub fn begin(&self, activity: Activity, now_us: u64, text: &[u8]) {
        self.activity.store(activity as u8, Relaxed);
        self.since_us.store(now_us, Relaxed);
        self.set_info(text);
    }

    /// The session waits for its client.
    #[inline]
    pub fn idle(&self, now_us: u64) {
        self.info_len.store(0, Relaxed);
        self.activity.store(Activity::Sleep as u8, Relaxed);
        self.since_us.store(now_us, Relaxed);
    }

    #[inline]
    fn set_info(&self, text: &[u8]) {
        if text.len() > INFO_WORDS * 8 {
            *self.long_info.lock() = Some(text.to_vec());
        }
        let version = self.info_version.load(Relaxed);
        self.info_version.store(version.wrapping_add(1), Relaxed);
        fence(Release);
        let (words, rest) = text.as_chunks::<8>();
        for (word, chunk) in self.info.iter().zip(words) {
            word.store(u64::from_le_bytes(*chunk), Relaxed);
        }
        if let Some(word) = self.info.get(words.len()) {
            let last = rest.iter().rev().fold(0, |n, b| n << 8 | u64::from(*b));
            word.store(last, Relaxed);
        }
        self.info_len.store(text.len() as u32, Relaxed);
        self.info_version.store(version.wrapping_add(2), Release);
    }

    /// The statement that runs, or nothing.
    pub fn info(&self) -> Option<Vec<u8>> {
        for _ in 0..100 {
            let version = self.info_version.load(Acquire);
            let len = self.info_len.load(Relaxed) as usize;
            if len == 0 {
                return None;
            }
            if len > INFO_WORDS * 8 {
                return self.long_info.lock().clone();
            }
            let mut text: Vec<u8> = self.info.iter().flat_map(|w| w.load(Relaxed).to_le_bytes()).collect();
            fence(Acquire);
            if version.is_multiple_of(2) && self.info_version.load(Relaxed) == version {
                text.truncate(len);
                return Some(text);
            }
        }
        None
    }

    /// Gives memory of a long statement text back; called when the session idles.
    pub fn forget_long_info(&self) {
        self.info_len.store(0, Relaxed);
        *self.long_info.lock() = None;
    }

    /// Who it is.
    pub fn who(&self) -> Who {
        self.who.read().clone()
    }

    /// The session logged in or changed user.
    pub fn set_who(&self, who: Who) {
        *self.who.write() = who;
    }

    /// The session changed its database.
    pub fn set_database(&self, database: Option<Arc<str>>) {
        self.who.write().database = database;
    }

    /// What the session does, and since when (microseconds since 1970).
    pub fn activity(&self) -> (Activity, u64) {
        let n = usize::from(self.activity.load(Relaxed));
        (ACTIVITIES.get(n).copied().unwrap_or(Activity::Other), self.since_us.load(Relaxed))
    }

    /// `State` of the process list.
    pub fn state(&self) -> &'static str {
        let (activity, _) = self.activity();
        match (activity, self.context.waiting().map(|(w, _)| w)) {
            (Activity::Sleep, _) => "",
            (Activity::Connect, _) => "login",
            (_, Some(Wait::MetadataLock)) => "Waiting for table metadata lock",
            (_, Some(Wait::RowLock)) => "Waiting for row lock",
            (_, Some(Wait::LogFlush)) => "waiting for handler commit",
            (_, Some(Wait::ClientWrite)) => "Sending to client",
            (_, Some(Wait::ClientRead)) => "Receiving from client",
            (_, Some(Wait::UserSleep)) => "User sleep",
            (_, Some(Wait::UserLock)) => "User lock",
            (_, Some(w)) => w.name(),
            (_, None) => "executing",
        }
    }
}

/// All sessions.
#[derive(Default)]
pub struct Registry {
    next: AtomicU64,
    map: Mutex<BTreeMap<u64, Arc<Entry>>>,
}

impl Registry {
    /// Registers a connection; returns its entry and how many there are now.
    pub fn enter(&self, context: TaskContext, host: String) -> (Arc<Entry>, usize) {
        let id = self.next.fetch_add(1, Relaxed) + 1;
        let entry = Arc::new(Entry {
            id,
            context,
            who: RwLock::new(Who { user: "unauthenticated user".into(), host, database: None }),
            attributes: Mutex::new(Arc::new([])),
            compression: OnceLock::new(),
            tls: OnceLock::new(),
            activity: AtomicU8::new(Activity::Connect as u8),
            since_us: AtomicU64::new(gannet_runtime::unix_micros() as u64),
            info: std::array::from_fn(|_| AtomicU64::new(0)),
            info_len: AtomicU32::new(0),
            info_version: AtomicU32::new(0),
            long_info: Mutex::new(None),
        });
        let mut map = self.map.lock();
        map.insert(id, entry.clone());
        (entry, map.len())
    }

    /// A connection ended.
    pub fn leave(&self, id: u64) {
        self.map.lock().remove(&id);
    }

    /// Connections now.
    pub fn len(&self) -> usize {
        self.map.lock().len()
    }

    /// True without connections.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All entries, by id.
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.map.lock().values().cloned().collect()
    }

    /// One entry.
    pub fn get(&self, id: u64) -> Option<Arc<Entry>> {
        self.map.lock().get(&id).cloned()
    }

    /// KILL: false when there is no such connection.
    pub fn kill(&self, id: u64, query_only: bool) -> bool {
        let Some(entry) = self.get(id) else { return false };
        entry.context.interrupt(if query_only { Interrupt::Query } else { Interrupt::Connection });
        true
    }

    /// Asks all sessions to end.
    pub fn shut_down(&self) {
        for entry in self.all() {
            entry.context.interrupt(Interrupt::Shutdown);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statement_texts_of_every_length_are_seen() {
        let r = Registry::default();
        let (e, n) = r.enter(gannet_runtime::context(), "localhost".into());
        assert_eq!((e.id, n), (1, 1));
        for len in [1, 7, 8, 9, 127, 128, 129, 5000] {
            let text = vec![b'x'; len];
            e.begin(Activity::Query, 1, &text);
            assert_eq!(e.info().unwrap(), text);
        }
        e.idle(2);
        assert_eq!(e.info(), None);
        assert!(!r.kill(99, true));
        r.leave(1);
        assert!(r.is_empty());
    }

    #[test]
    fn a_short_statement_is_noted_on_two_lines() {
        assert!(std::mem::offset_of!(Entry, info) <= 48);
    }

    #[test]
    fn readers_never_see_a_mixture() {
        let r = Registry::default();
        let (e, _) = r.enter(gannet_runtime::context(), String::new());
        let done = Arc::new(AtomicU8::new(0));
        let reader = {
            let (e, done) = (e.clone(), done.clone());
            std::thread::spawn(move || {
                while done.load(Relaxed) == 0 {
                    if let Some(t) = e.info() {
                        assert!(t.iter().all(|b| *b == t[0]), "{t:?}");
                    }
                }
            })
        };
        for i in 0..200_000u32 {
            e.begin(Activity::Query, 0, &[b'a' + (i % 26) as u8; 100]);
        }
        done.store(1, Relaxed);
        reader.join().unwrap();
    }
}
