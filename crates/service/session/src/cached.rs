//! The plan cache as a session uses it: the worker's own part of it, keys, plans that enter it, and values for their
//! parameters.

use super::Session;
use super::locks::PlanLocks;
use super::text::{lex_mode, shown_digest};
use gannet_base::Attached;
use gannet_core::kept::{DigestHandle, KeptText};
use gannet_core::kinds::counter;
use gannet_parser::Notice;
use gannet_parser::ast::Statement;
use gannet_parser::digest::{self, LiteralToken, Scan};
use gannet_parser::lexer::Tok;
use gannet_plan::{Entry, FrontCache, Local, Plan, PlanCache, PlanKey};
use gannet_telemetry::{Counter, DigestKey, DigestTexts};
use gannet_types::{CollationId, Result, Value};
use std::cell::RefCell;
use std::sync::Arc;

/// What a cached plan carries besides the plan.
#[derive(Debug)]
pub struct Cached {
    pub digest: Handle,
    /// What a service keeps of the plan's result.
    pub place: Attached,
    pub locks: PlanLocks,
    pub counter: Option<Counter>,
    /// Deprecated syntax of the text: each text that arrives with it is warned of it.
    pub notices: Box<[Notice]>,
}

/// A digest's handle that can be printed.
#[derive(Clone)]
pub struct Handle(pub DigestHandle);

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("DigestHandle")
    }
}

/// Cached plans of all sessions.
pub type Plans = PlanCache<Cached>;

/// The shared cache's entries.
pub type CachedPlan = Entry<Cached>;

thread_local! {
    /// This worker's cache, and its scanner's buffers.
    static FRONT: RefCell<FrontCache<Cached>> = RefCell::new(FrontCache::new(512));
    static SCAN: RefCell<Option<Scan>> = const { RefCell::new(None) };
}

/// Forgets what the calling thread keeps for its server: the machine it simulated is another one now, with other trees
/// under the same numbers.
pub fn forget_thread() {
    drop(FRONT.replace(FrontCache::new(512)));
    drop(SCAN.take());
}

/// Moves the scanner's buffers out of the worker's storage while they are used: a statement may park.
pub(super) fn with_scan<R>(secret: u64, f: impl FnOnce(&mut Scan) -> R) -> R {
    let mut scan = SCAN.with(|s| s.borrow_mut().take()).unwrap_or_else(|| Scan::new(secret));
    let result = f(&mut scan);
    SCAN.with(|s| *s.borrow_mut() = Some(scan));
    result
}

/// Longest sample of a statement that is kept with its digest, as in MySQL.
const SAMPLE_BYTES: usize = 1024;

/// The key of texts of which nothing is kept.
const WITHHELD: DigestKey = DigestKey(0);

impl Session {
    /// What a plan for a statement of this session depends on.
    pub fn plan_key(&self, shape: u128, parameter_types: u64) -> PlanKey {
        PlanKey {
            shape,
            database: self.state.database_id(),
            catalog_version: self.state.snapshot.plans_version(),
            mode: self.settings.mode_key
                ^ self.state.plan_salt
                ^ self.settings.found_by_null(&self.state).rotate_right(8),
            collation: self.literal_collation().0,
            parameter_types,
        }
    }

    /// Collation of literals.
    pub fn literal_collation(&self) -> CollationId {
        self.settings.charsets.connection
    }

    /// Collation of literals in definitions, whose text is kept as UTF-8: where literals are in another character set,
    /// the default.
    pub fn definition_collation(&self) -> CollationId {
        let c = self.settings.charsets.connection;
        if c.charset().is_written() { c } else { CollationId::DEFAULT }
    }

    /// Puts a plan into the shared cache, unless it is good for this execution only.
    pub fn enter_plan(
        &self,
        plan: Plan,
        key: PlanKey,
        text: &[u8],
        literals: &[LiteralToken],
        statement: &Statement,
        notices: &[Notice],
    ) -> Arc<CachedPlan> {
        enter_plan_of(self, plan, key, (text, literals), text, (statement, notices))
    }

    /// The statistics' handle of a text.
    pub fn digest_handle(&self, text: &[u8]) -> DigestHandle {
        let mode = lex_mode(self.settings.exec.sql_mode);
        let digest::Digest { hash, text: mut normal } = digest::digest(text, mode);
        let (stats, schema) = (&self.server.stats, self.state.database.as_deref().unwrap_or_default());
        let mut key = DigestKey(hash);
        if let Some(known) = stats.find(key, schema) {
            return known;
        }
        let sample = KeptText::of(text, mode).first(SAMPLE_BYTES);
        if let Some(stands) = sample.withheld() {
            // Without its literals a text that cannot be read may still hold a password: as a name. A hash would tell
            // it to anybody with a list of passwords, so that all such texts have one digest.
            (key, normal) = (WITHHELD, stands.into());
        }
        let texts = DigestTexts { digest: shown_digest(&normal), text: normal, sample };
        stats.enter(key, schema, texts)
    }

    /// The values of the plan's parameters: literals of the text, and the client's.
    pub fn bind(&self, plan: &Plan, literals: &[LiteralToken], text: &[u8], markers: &[Value]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(plan.params.len());
        let mode = lex_mode(self.settings.exec.sql_mode);
        plan.bind(text, literals, mode, self.literal_collation(), markers, &mut values)?;
        Ok(values)
    }
}

/// Puts a plan into the shared cache, as [`Session::enter_plan`], of a text that stands for all of `whole`: its digest
/// counts.
pub(crate) fn enter_plan_of(
    session: &Session,
    plan: Plan,
    key: PlanKey,
    (text, literals): (&[u8], &[LiteralToken]),
    whole: &[u8],
    (statement, notices): (&Statement, &[Notice]),
) -> Arc<CachedPlan> {
    let cached = Cached {
        digest: Handle(session.digest_handle(whole)),
        place: Attached::default(),
        locks: session.plan_locks(&plan),
        counter: counter(statement),
        notices: notices.into(),
    };
    if plan.uses.uncacheable || plan.uses.user_variables || has_adjacent_strings(text, literals) {
        return Arc::new(Entry::alone(key, plan, cached));
    }
    session.plans.insert(key, plan, cached)
}

/// The cached plan of a text; of a class, when one is given.
pub(crate) fn find_plan(
    session: &Session,
    key: &PlanKey,
    scan: &Scan,
    text: &[u8],
    class: Option<u64>,
) -> Option<Local<Cached>> {
    let fits = |plan: &Plan| plan.fits(text, &scan.literals) && class.is_none_or(|c| c == plan.selectivity);
    // The shared map's locks are taken, and plans released, while the worker's own table is not borrowed.
    if let Some(local) = FRONT.with(|front| front.borrow_mut().get(key, fits)) {
        return Some(local);
    }
    let entry = session.plans.get(key, fits)?;
    let (local, _goes) = FRONT.with(|front| front.borrow_mut().put(entry));
    Some(local)
}

/// The cached plan of a statement of a program.
pub(crate) fn find_step_plan(session: &Session, key: &PlanKey) -> Option<Local<Cached>> {
    if let Some(local) = FRONT.with(|front| front.borrow_mut().get(key, Plan::is_current)) {
        return Some(local);
    }
    let entry = session.plans.get(key, Plan::is_current)?;
    let (local, _goes) = FRONT.with(|front| front.borrow_mut().put(entry));
    Some(local)
}

/// The plan that is right for the literals at hand, when `entry` is dear or was seen to read too much: see
/// [`gannet_plan::dive`]. `None`: it has to be made.
#[cold]
pub(crate) fn plan_of_class(
    session: &Session,
    entry: Local<Cached>,
    key: &PlanKey,
    scan: &Scan,
    text: &[u8],
) -> Option<Local<Cached>> {
    let Ok(params) = session.bind(&entry.plan, &scan.literals, text, &[]) else { return Some(entry) };
    let class = entry.plan.class_of(&params, session, &session.settings.exec.time_zone);
    if class == entry.plan.selectivity {
        return Some(entry);
    }
    let other = find_plan(session, key, scan, text, Some(class));
    other.or_else(|| session.plans.is_full(key).then_some(entry))
}

/// The plan for `key`, from the caches, for a statement whose literals are fixed.
pub(crate) fn find_prepared_plan(
    session: &Session,
    key: &PlanKey,
    text: &[u8],
    literals: &[LiteralToken],
    class: Option<u64>,
) -> Option<Arc<CachedPlan>> {
    let right = |plan: &Plan| class.is_none_or(|c| c == plan.selectivity);
    session.plans.get(key, |plan| plan.fits(text, literals) && right(plan))
}

/// Makes the plan of a text that was not found, and puts it into the caches.
pub(crate) fn plan_text(
    session: &mut Session,
    statement: &Statement,
    notices: &[Notice],
    text: &[u8],
) -> Result<(Arc<CachedPlan>, Vec<Value>)> {
    let secret = session.server.scan_secret;
    let mode = lex_mode(session.settings.exec.sql_mode);
    with_scan(secret, |scan| {
        digest::scan(text, mode, scan);
        let plan = session.make_plan(statement, (&[], &[]), Some((text, &scan.literals)))?;
        let key = session.plan_key(scan.shape, 0);
        let entry = session.enter_plan(plan, key, text, &scan.literals, statement, notices);
        let params = session.bind(&entry.plan, &scan.literals, text, &[])?;
        Ok((entry, params))
    })
}

/// An entry for one session: its text is not for the cache.
pub(crate) fn enter_private_plan(
    session: &Session,
    plan: Plan,
    key: PlanKey,
    text: &[u8],
    statement: &Statement,
) -> Arc<CachedPlan> {
    let cached = Cached {
        digest: Handle(session.digest_handle(text)),
        place: Attached::default(),
        locks: session.plan_locks(&plan),
        counter: counter(statement),
        notices: Box::new([]),
    };
    Arc::new(Entry::alone(key, plan, cached))
}

/// `'a' 'b'` is one literal in the tree and two in the text: such statements are not cached.
fn has_adjacent_strings(text: &[u8], literals: &[LiteralToken]) -> bool {
    literals.windows(2).any(|w| {
        let [a, b] = w else { return false };
        let between = &text[a.end as usize..b.start as usize];
        let string = |t: &LiteralToken| matches!(t.kind, Tok::Str | Tok::NStr);
        string(a)
            && string(b)
            && !between
                .iter()
                .any(|c| matches!(c, b',' | b'(' | b')' | b'=' | b'<' | b'>') || c.is_ascii_alphanumeric())
    })
}
