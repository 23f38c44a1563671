//! Metadata locks: a statement names the tables it uses before it looks at their definitions for good.

use super::Session;
use super::reach;
use super::reply::Done;
use gannet_catalog::Gate;
use gannet_core::Core;
use gannet_core::accounts::Privilege;
use gannet_core::work::lock_error;
use gannet_engine::lock::{LockOwner, MdlDuration, MdlMode, MdlObject, Wait};
use gannet_exec::ddl;
use gannet_parser::ast::{Statement, TableLock, TableLockKind};
use gannet_plan::Plan;
use gannet_plan::plan::{Intent, PlanTable};
use gannet_schema::{ForeignKey, ReferenceAction, RowSource, Table, TableId};
use gannet_types::{ErrorCode, Result, SqlError, sql_err};
use std::sync::Arc;

/// A table of LOCK TABLES.
struct Locked {
    table: TableId,
    /// Schema and name; `None`: dropped.
    name: Option<(Arc<str>, Arc<str>)>,
    alias: String,
    write: bool,
}

/// The tables of LOCK TABLES.
#[derive(Default)]
pub(crate) struct LockedTables(Vec<Locked>);

impl LockedTables {
    /// LOCK TABLES is not in force.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Under LOCK TABLES only locked tables may be used, and changed only with a WRITE lock: errors 1099, 1100.
    pub(crate) fn check(&self, table: TableId, write: bool, name: &str) -> Result<()> {
        match self.0.iter().filter(|l| l.table == table).map(|l| l.write).max() {
            _ if self.is_empty() => Ok(()),
            None => Err(sql_err!(TableNotLocked, name)),
            Some(false) if write => Err(sql_err!(TableNotLockedForWrite, name)),
            Some(_) => Ok(()),
        }
    }

    /// The same for the tables of a statement, by the names that it gives them.
    #[cold]
    fn check_used(&self, tables: &[PlanTable]) -> Result<()> {
        let named = |t: &&PlanTable| {
            !matches!(t.table.source, RowSource::Virtual(_))
                && t.intent.is_named()
                && t.through.is_none()
                && !t.table.temporary
        };
        for t in tables.iter().filter(named) {
            let same = |l: &&Locked| l.table == t.table.id && gannet_schema::names::eq_name(&l.alias, &t.alias);
            // What a trigger or a foreign key brought may be locked once more by name.
            let write = self.0.iter().filter(same).map(|l| l.write).max();
            let write = write.ok_or_else(|| sql_err!(TableNotLocked, t.alias))?;
            if mode(t.intent) == MdlMode::Write && !write {
                return Err(sql_err!(TableNotLockedForWrite, t.alias));
            }
        }
        Ok(())
    }

    /// What a definition statement has done to them: renamed ones get their new names. Gives the objects that are
    /// locked no more.
    fn follow(&mut self, core: &Core, now: &gannet_schema::CatalogSnapshot) -> Vec<MdlObject> {
        let mut freed = Vec::new();
        for l in &mut self.0 {
            let Some(name) = &mut l.name else { continue };
            let is = now.table_by_id(l.table).map(|t| (t.schema.clone(), t.name.clone()));
            if is.as_ref() == Some(name) {
                continue;
            }
            freed.push(object_of_name(core, &name.0, &name.1));
            match is {
                None => {
                    freed.push(core.engine.lock_table().mdl_object(l.table.0, &name.1));
                    l.name = None;
                }
                Some(is) => {
                    if gannet_schema::names::eq_name(&l.alias, &name.1) {
                        l.alias = is.1.to_string();
                    }
                    *name = is;
                }
            }
        }
        freed
    }
}

/// A table of LOCK TABLES while it is locked.
struct Wanted {
    table: Arc<Table>,
    alias: String,
    write: bool,
    /// The statement names it; else a view, a trigger or a foreign key does.
    named: bool,
}

/// The locks that a plan needs; made once for a cached plan.
pub(crate) type PlanLocks = Box<[(MdlObject, MdlMode)]>;

/// A plan was made for definitions that are no longer the newest: plan again.
pub(crate) fn is_stale(e: &SqlError) -> bool {
    e.code() == ErrorCode::NeedReprepare
}

fn mode(intent: Intent) -> MdlMode {
    match intent {
        Intent::Read | Intent::LockingRead => MdlMode::Read,
        _ => MdlMode::Write,
    }
}

/// Ids of names that are not tables yet (CREATE, RENAME) and of schemas: hashes, apart from the tables' numbers.
fn name_id(schema: &str, name: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut h = DefaultHasher::new();
    (schema, name).hash(&mut h);
    h.finish() | 1 << 63
}

/// LOCK INSTANCE FOR BACKUP, UNLOCK INSTANCE.
pub(crate) fn instance(session: &mut Session, lock: bool) -> Result<Done> {
    session.state.privileges().require(Privilege::BackupAdmin)?;
    let mut locks = session.work.locks();
    if lock {
        locks.lock_instance()?
    } else {
        locks.unlock_instance()
    }
    Ok(Done::default())
}

impl Session {
    /// The locks of a plan, each table once in its strongest mode, those of its functions and triggers included.
    pub(crate) fn plan_locks(&self, plan: &Plan) -> PlanLocks {
        let mut all: Vec<(MdlObject, MdlMode)> = Vec::new();
        let shared = |t: &&PlanTable| !matches!(t.table.source, RowSource::Virtual(_)) && !t.table.temporary;
        for t in plan.tables.iter().filter(shared) {
            let (object, mode) = (self.server.lock_of(&t.table), mode(t.intent));
            match all.iter_mut().find(|(o, _)| *o == object) {
                Some((_, m)) => *m = (*m).max(mode),
                None => all.push((object, mode)),
            }
        }
        for reached in reach::of_plan(self, plan) {
            let object = self.server.lock_of(&reached.table);
            let mode = if reached.write { MdlMode::Write } else { MdlMode::Read };
            match all.iter_mut().find(|(o, _)| *o == object) {
                Some((_, m)) => *m = (*m).max(mode),
                None => all.push((object, mode)),
            }
        }
        all.into()
    }
}

/// LOCK TABLES: ends the transaction, releases earlier table locks, takes the new ones in the order that definition
/// statements follow too. What is locked for writing is locked by name as well: its holder may define it anew
/// whoever waits for it.
pub(crate) fn lock_tables_explicitly(session: &mut Session, wanted: &[TableLock]) -> Result<()> {
    session.commit_implicitly()?;
    unlock_tables(session);
    loop {
        session.state.renew_snapshot();
        let resolved = resolve_locks(session, wanted)?;
        let locked = lock_resolved(session, &resolved);
        session.state.renew_snapshot();
        // Whoever was waited for may have dropped or renamed a table.
        let same = |w: &Wanted| {
            let now = session.state.snapshot.base_table(&w.table.schema, &w.table.name);
            now.is_some_and(|t| t.id == w.table.id) || matches!(w.table.source, RowSource::Virtual(_))
        };
        if locked.is_ok() && resolved.iter().all(same) {
            let entry = |w: Wanted| Locked {
                table: w.table.id,
                name: Some((w.table.schema.clone(), w.table.name.clone())),
                alias: w.alias,
                write: w.write,
            };
            session.locked = LockedTables(resolved.into_iter().map(entry).collect());
            // Who was waited for has committed, and may not be on disk: only then is it seen by reads of this session.
            let _ = session.server.engine.sync();
            return Ok(());
        }
        session.locked.clear();
        session.work.locks().release_tables();
        locked?;
    }
}

/// Refuses to lock virtual tables: errors 1044 and 1142.
fn refuse_virtual_lock(session: &Session, schema: &str, table: &str) -> Result<()> {
    let a = &session.state.account;
    match &*gannet_schema::names::canonical_schema(schema) {
        "information_schema" => Err(sql_err!(DbaccessDenied, a.user, a.host, schema)),
        "performance_schema" => {
            Err(sql_err!(TableaccessDenied, "SELECT, LOCK TABLES", a.user, session.state.host(), table))
        }
        "mysql" if gannet_schema::log_table("mysql", table).is_some() => Err(sql_err!(CantLockLogTable)),
        _ => Ok(()),
    }
}

/// The tables that a view reads, and those of the views below it: they are locked with the view, under their own
/// names.
fn below(session: &Session, table: &Table, write: bool, all: &mut Vec<Wanted>) -> Result<()> {
    let Some(view) = table.view() else { return Ok(()) };
    for (schema, name) in gannet_plan::view_tables(&view.query)? {
        let Some(t) = session.state.snapshot.table(&schema, &name).cloned() else { continue };
        if all.iter().any(|w| w.table.id == t.id && *w.alias == *name) {
            continue;
        }
        all.push(Wanted { table: t.clone(), alias: name.to_string(), write, named: false });
        below(session, &t, write, all)?;
    }
    Ok(())
}

/// The tables that foreign keys tie to one that is locked for writing: parents and children whose rows are only looked
/// at for reading, children that follow its rows for writing, with their own.
fn by_foreign_keys(session: &Session, table: &Arc<Table>, all: &mut Vec<Wanted>) {
    let tied = |table: Arc<Table>, write| Wanted { alias: table.name.to_string(), table, write, named: false };
    for key in &table.constraints.foreign_keys {
        let parent = session.state.snapshot.base_table(&key.parent_schema, &key.parent);
        all.extend(parent.map(|parent| tied(parent.clone(), false)));
    }
    let mut parents = vec![table.clone()];
    while let Some(parent) = parents.pop() {
        for child in session.state.snapshot.children(&parent.schema, &parent.name) {
            let of_parent = |k: &&ForeignKey| k.parent_schema == parent.schema && k.parent == parent.name;
            let looked_at = |a| matches!(a, ReferenceAction::NoAction | ReferenceAction::Restrict);
            let mut keys = child.constraints.foreign_keys.iter().filter(of_parent);
            let write = keys.any(|k| !looked_at(k.on_delete) || !looked_at(k.on_update));
            if child.id == table.id || all.iter().any(|w| w.table.id == child.id && w.write >= write) {
                continue;
            }
            all.push(tied(child.clone(), write));
            parents.extend(write.then_some(child));
        }
    }
}

/// Error 1192 for what is not done while LOCK TABLES is in force: it would wait for tables that it cannot name.
pub(crate) fn refuse_under_locks(session: &Session) -> Result<()> {
    if session.locked.is_empty() { Ok(()) } else { Err(sql_err!(LockOrActiveTransaction)) }
}

/// UNLOCK TABLES; true when there was something to unlock.
pub(crate) fn unlock_tables(session: &mut Session) -> bool {
    let any = !session.locked.is_empty();
    if any {
        session.locked.clear();
        session.work.locks().release_tables();
    }
    any
}

/// FLUSH TABLES WITH READ LOCK: waits for statements that write, and lets none begin and none commit.
pub(crate) fn lock_everything(session: &mut Session) -> Result<()> {
    refuse_under_locks(session)?;
    session.commit_implicitly()?;
    session.work.locks().close_gates()
}

/// Ids of the tables that the session's transaction holds metadata locks on.
pub(crate) fn locked_table_ids(session: &Session) -> Vec<u64> {
    let own = session.entry.id;
    let locks = session.server.engine.lock_table().metadata_locks();
    let tables = locks.iter().filter(|l| l.granted && l.party.thread == own && l.object < 1 << 62);
    let mut ids: Vec<u64> = tables.map(|l| l.object).collect();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Error 1099 for FLUSH TABLES of a table that LOCK TABLES has for reading; without names it is of all.
pub(crate) fn check_flushed(session: &Session, names: &[gannet_parser::ast::ObjectName]) -> Result<()> {
    if names.is_empty()
        && let Some(read) = session.locked.0.iter().find(|l| !l.write)
    {
        return Err(sql_err!(TableNotLockedForWrite, read.alias));
    }
    for n in names {
        let schema = n.schema.as_ref().map(|s| &*s.text).or(session.state.database.as_deref()).unwrap_or_default();
        let Some(t) = session.state.snapshot.table(schema, &n.name) else { continue };
        session.locked.check(t.id, true, &n.name)?;
    }
    Ok(())
}

/// UNLOCK TABLES.
pub(crate) fn unlock_explicitly(session: &mut Session) -> Result<()> {
    if !session.locked.is_empty() {
        session.commit_implicitly()?;
    }
    session.locked.clear();
    session.work.locks().release_explicit();
    Ok(())
}

/// Locks the tables of a plan. Error 1615 when the definition of one has changed.
#[inline]
pub(crate) fn lock_tables(session: &mut Session, plan: &Plan, locks: &[(MdlObject, MdlMode)]) -> Result<()> {
    let duration = if session.work.is_autocommit() { MdlDuration::Statement } else { MdlDuration::Transaction };
    lock_tables_for(session, plan, locks, duration)
}

/// The same, for a time of the caller's choice.
#[inline(always)]
pub(crate) fn lock_tables_for(
    session: &mut Session,
    plan: &Plan,
    locks: &[(MdlObject, MdlMode)],
    duration: MdlDuration,
) -> Result<()> {
    if locks.is_empty() {
        return Ok(());
    }
    if !session.locked.is_empty() {
        session.locked.check_used(&plan.tables)?;
        // What functions and triggers use needs a lock under any name.
        let own = |r: &reach::Reached| plan.tables.iter().any(|t| t.table.id == r.table.id);
        let mut reached = reach::of_plan(session, plan).into_iter().filter(|r| !own(r));
        reached.try_for_each(|r| session.locked.check(r.table.id, r.write, &r.table.name))?;
    }
    for (object, mode) in locks {
        session.work.locks().take(*object, *mode, duration)?;
    }
    if session.state.snapshot.version() != session.server.catalog.version() {
        check_definitions(session, &plan.tables)?;
    }
    Ok(())
}

#[cold]
fn check_definitions(session: &mut Session, tables: &[PlanTable]) -> Result<()> {
    session.state.renew_snapshot();
    let same = |t: &PlanTable| match session.state.snapshot.table(&t.table.schema, &t.table.name) {
        Some(now) => Arc::ptr_eq(now, &t.table),
        None => false,
    };
    if tables.iter().all(same) { Ok(()) } else { Err(sql_err!(NeedReprepare)) }
}

/// The database that a statement makes or drops; the tables that go with it, too.
fn whole_database(session: &Session, statement: &Statement, names: &mut Vec<(String, String)>) -> Option<String> {
    let (Statement::DropDatabase { name, .. } | Statement::CreateDatabase { name, .. }) = statement else {
        return None;
    };
    // Of one that exists already, IF NOT EXISTS changes no table.
    if matches!(statement, Statement::DropDatabase { .. }) {
        let tables = session.state.snapshot.tables(name);
        names.extend(tables.iter().map(|t| (name.text.to_string(), t.name.to_string())));
    }
    Some(name.text.to_string())
}

/// What LOCK TABLES has not locked for writing is refused: it waits for nobody.
fn refuse_unlocked(session: &Session, own: &[(String, String)]) -> Result<()> {
    if session.locked.is_empty() {
        return Ok(());
    }
    let base = |(schema, name): &(String, String)| session.state.snapshot.base_table(schema, name);
    own.iter().filter_map(base).try_for_each(|t| session.locked.check(t.id, true, &t.name))
}

/// Locks the schemas of names; `whole`: one that is made or dropped.
fn lock_schemas(session: &mut Session, names: &[(String, String)], whole: Option<&String>) -> Result<()> {
    // The schema stays while something in it changes; dropping it waits for that.
    let mut schemas: Vec<&String> = names.iter().map(|(s, _)| s).collect();
    schemas.dedup();
    let exclusive = whole.into_iter().map(|s| (s, MdlMode::Exclusive));
    let shared = schemas.into_iter().filter(|s| whole != Some(*s)).map(|s| (s, MdlMode::Write));
    let schema_locks: Vec<(u64, &String, MdlMode)> =
        exclusive.chain(shared).map(|(s, m)| (name_id(s, ""), s, m)).collect();
    for (id, schema, mode) in schema_locks {
        let object = session.server.engine.lock_table().mdl_object(id, schema);
        session.work.locks().take(object, mode, MdlDuration::Transaction)?;
    }
    Ok(())
}

/// Locks what a definition statement changes, exclusively, in an order that all follow. They go with the
/// transaction that runs the statement.
pub(crate) fn lock_for_ddl(session: &mut Session, statement: &Statement) -> Result<DdlLocks> {
    if matches!(
        statement,
        Statement::CreateDatabase { .. }
            | Statement::DropDatabase { .. }
            | Statement::AlterDatabase { .. }
            | Statement::CreateView(_)
            | Statement::DropView { .. }
    ) {
        refuse_under_locks(session)?;
    }
    session.state.renew_snapshot();
    let mut locks = DdlLocks { own: Vec::new(), related: Vec::new(), wait: session.work.locks().wait };
    let database = session.state.database.clone().unwrap_or_default();
    let mut names: Vec<(String, String)> = ddl::locked_tables(statement)
        .into_iter()
        .map(|n| (n.schema.as_ref().map_or(database.to_string(), |s| s.text.to_string()), n.name.text.to_string()))
        .collect();
    // Of those, what is new and views are never temporary tables, whose names they may have.
    let beside_temporary = matches!(
        statement,
        Statement::CreateTable(_)
            | Statement::RenameTable { .. }
            | Statement::CreateView(_)
            | Statement::DropView { .. }
    );
    if !beside_temporary {
        names.retain(|(s, n)| session.state.snapshot.temporary_table(s, n).is_none());
        if names.is_empty() && !ddl::locked_tables(statement).is_empty() {
            return Ok(locks);
        }
    }
    let whole = whole_database(session, statement, &mut names);
    let own = names.clone();
    refuse_unlocked(session, &own)?;
    names.extend(ddl::related_tables(statement, &session.state.snapshot, &database));
    names.sort();
    names.dedup();
    session.work.locks().pass_write_gate(MdlDuration::Transaction)?;
    session.work.locks().pass_backup_gate(MdlDuration::Transaction)?;
    lock_schemas(session, &names, whole.as_ref())?;
    let mut row = Vec::with_capacity(2 * names.len());
    for (schema, name) in &names {
        row.push(object_of_name(&session.server, schema, name));
        row.extend(session.state.snapshot.base_table(schema, name).map(|t| session.server.lock_of(t)));
    }
    let wait = locks.wait;
    let mut row = session.work.locks().row(&row);
    for table in &names {
        let (schema, name) = table;
        let objects = if own.contains(table) { &mut locks.own } else { &mut locks.related };
        let by_name = object_of_name(&session.server, schema, name);
        row.lock(by_name, MdlDuration::Transaction, wait).map_err(lock_error)?;
        objects.push(by_name);
        // With the name locked, the table that it names cannot change any more.
        session.state.renew_snapshot();
        if let Some(t) = session.state.snapshot.base_table(schema, name).cloned() {
            if own.contains(table) {
                session.locked.check(t.id, true, name)?;
            }
            let object = session.server.lock_of(&t);
            row.lock(object, MdlDuration::Transaction, wait).map_err(lock_error)?;
            objects.push(object);
        } else if !session.locked.is_empty() && is_of_locked(statement) {
            return Err(sql_err!(TableNotLocked, name));
        }
    }
    drop(row);
    Ok(locks)
}

/// A table that is not there is not among the locked ones, for these.
fn is_of_locked(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateTable(_) | Statement::DropTable { temporary: false, .. })
}

/// The tables of LOCK TABLES and those below its views. What the account may not do is refused.
fn resolve_locks(session: &Session, wanted: &[TableLock]) -> Result<Vec<Wanted>> {
    if wanted.iter().any(|w| w.kind == TableLockKind::Write) {
        session.work.require_read_write()?;
    }
    let mut resolved: Vec<Wanted> = Vec::new();
    for w in wanted {
        let schema = match &w.table.schema {
            Some(s) => s.text.to_string(),
            None => session.state.require_database()?.to_string(),
        };
        if session.state.snapshot.temporary_table(&schema, &w.table.name).is_some()
            || super::grant_tables::is_restored(session, &w.table)
        {
            continue;
        }
        session.require_on_schema(Privilege::LockTables.into(), &schema)?;
        refuse_virtual_lock(session, &schema, &w.table.name)?;
        let table = session.table_for(Some(Privilege::Select.into()), &schema, &w.table.name)?;
        let alias = w.alias.as_ref().unwrap_or(&w.table.name).text.to_string();
        let write = w.kind == TableLockKind::Write;
        if write {
            session.require_writable()?;
        }
        below(session, &table, write, &mut resolved)?;
        if write {
            // What its triggers use is locked with it.
            let used = reach::of_triggers(session, &table);
            resolved.extend(used.into_iter().map(|r| Wanted {
                alias: r.table.name.to_string(),
                table: r.table,
                write: r.write,
                named: false,
            }));
            by_foreign_keys(session, &table, &mut resolved);
        }
        resolved.push(Wanted { table, alias, write, named: true });
    }
    // MySQL's system tables: when written, they are locked apart from all other tables.
    let written = resolved.iter().filter(|w| w.write && *w.table.schema == *"mysql").count();
    if written > 0 && written < resolved.len() {
        return Err(sql_err!(WrongLockOfSystemTable));
    }
    for (i, w) in resolved.iter().enumerate().filter(|(_, w)| w.named) {
        let same = |o: &Wanted| {
            o.named && o.table.schema == w.table.schema && gannet_schema::names::eq_name(&o.alias, &w.alias)
        };
        if resolved[..i].iter().any(same) {
            return Err(sql_err!(NonuniqTable, w.alias));
        }
    }
    Ok(resolved)
}

fn lock_resolved(session: &mut Session, resolved: &[Wanted]) -> Result<()> {
    if resolved.iter().any(|w| w.write) {
        // FLUSH TABLES WITH READ LOCK waits for sessions that may write, and these wait for it.
        session.work.locks().pass_write_gate(MdlDuration::Explicit)?;
    }
    // By name, those for writing first, and behind them parents and children of these, whose definitions stay.
    let mut all: Vec<(&str, &str, u8, Option<&Arc<Table>>)> = Vec::new();
    let related: Vec<(Arc<str>, Arc<str>)> =
        resolved.iter().filter(|w| w.write).flat_map(|w| relatives(session, w)).collect();
    for w in resolved.iter().filter(|w| !matches!(w.table.source, RowSource::Virtual(_))) {
        all.push((&w.table.schema, &w.table.name, u8::from(!w.write), Some(&w.table)));
    }
    all.extend(related.iter().map(|(schema, name)| (&**schema, &**name, 2, None)));
    all.sort_by_key(|(schema, name, class, _)| (*schema, *name, *class));
    let core = session.server.clone();
    let locks = session.work.locks();
    let lock = |object, mode| locks.take(object, mode, MdlDuration::Explicit);
    // Schemas first, as definitions lock them: DROP DATABASE waits for these, not holding what they are to change.
    let mut schemas: Vec<&str> = all.iter().filter(|(.., class, _)| *class == 0).map(|(schema, ..)| *schema).collect();
    schemas.dedup();
    for schema in schemas {
        lock(core.engine.lock_table().mdl_object(name_id(schema, ""), schema), MdlMode::Write)?;
    }
    for (schema, name, class, table) in all {
        match class {
            0 => lock(object_of_name(&core, schema, name), MdlMode::Exclusive)?,
            2 => lock(object_of_name(&core, schema, name), MdlMode::Read)?,
            _ => {}
        }
        if let Some(table) = table {
            lock(core.lock_of(table), if class == 0 { MdlMode::Exclusive } else { MdlMode::NoWrite })?;
        }
    }
    Ok(())
}

/// Parents and children of a table.
fn relatives(session: &Session, w: &Wanted) -> Vec<(Arc<str>, Arc<str>)> {
    let children = session.state.snapshot.children(&w.table.schema, &w.table.name);
    let parents = w.table.constraints.foreign_keys.iter().map(|k| (k.parent_schema.clone(), k.parent.clone()));
    children.iter().map(|t| (t.schema.clone(), t.name.clone())).chain(parents).collect()
}

/// What a definition statement has done to tables of LOCK TABLES: those it dropped are free for others, those it
/// renamed are locked under their new names. When all are dropped LOCK TABLES is over.
pub(super) fn follow_locked(session: &mut Session, now: &gannet_schema::CatalogSnapshot) {
    let freed = session.locked.follow(&session.server, now);
    if session.locked.0.iter().all(|l| l.name.is_none()) {
        unlock_tables(session);
    } else if !freed.is_empty() {
        let locks = session.work.locks();
        locks.release(&freed);
        // The statement has locked the new names itself, so that nobody is in the way.
        for name in session.locked.0.iter().filter(|l| l.write).filter_map(|l| l.name.as_ref()) {
            let object = object_of_name(&session.server, &name.0, &name.1);
            let _ = locks.take(object, MdlMode::Exclusive, MdlDuration::Explicit);
        }
    }
}

/// What stands for a name, whatever table has it.
fn object_of_name(core: &Core, schema: &str, name: &str) -> MdlObject {
    core.engine.lock_table().mdl_object(name_id(schema, name), &format!("{schema}.{name}"))
}

/// The exclusive locks that a definition statement has on tables.
pub(crate) struct DdlLocks {
    /// On those that it changes, by name and by number, in the order of locking.
    own: Vec<MdlObject>,
    /// On parents and children of these.
    related: Vec<MdlObject>,
    wait: Wait,
}

impl Gate for DdlLocks {
    fn open(&mut self, owner: &LockOwner) {
        let all = self.own.iter().chain(&self.related);
        all.for_each(|object| owner.mdl_downgrade(*object, MdlMode::Upgradable));
    }

    fn close(&mut self, owner: &LockOwner) -> Result<()> {
        let lock = |object| owner.mdl_lock(object, MdlMode::Exclusive, MdlDuration::Transaction, self.wait);
        self.own.iter().try_for_each(|object| lock(*object)).map_err(lock_error)
    }
}

/// Locks the name of a stored program, for its definition; `""`: its schema alone.
pub(crate) fn lock_program(session: &mut Session, schema: &str, name: &str) -> Result<()> {
    session.work.locks().pass_write_gate(MdlDuration::Transaction)?;
    let table = session.server.engine.lock_table();
    let of_schema = table.mdl_object(name_id(schema, ""), schema);
    let own = table.mdl_object(name_id(schema, &format!("program {name}")), name);
    let locks = session.work.locks();
    locks.take(of_schema, MdlMode::Write, MdlDuration::Transaction)?;
    if name.is_empty() {
        return Ok(());
    }
    locks.take(own, MdlMode::Exclusive, MdlDuration::Transaction)
}

/// Locks a table whose triggers change, as [`lock_for_ddl`] does. Errors 1099, 1100 under LOCK TABLES.
pub(crate) fn lock_for_trigger(session: &mut Session, schema: &str, name: &str) -> Result<()> {
    let label = format!("{schema}.{name}");
    let by_name = session.server.engine.lock_table().mdl_object(name_id(schema, name), &label);
    session.work.locks().take(by_name, MdlMode::Exclusive, MdlDuration::Transaction)?;
    session.state.renew_snapshot();
    let Some(t) = session.state.snapshot.base_table(schema, name).cloned() else { return Ok(()) };
    session.locked.check(t.id, true, name)?;
    let object = session.server.lock_of(&t);
    session.work.locks().take(object, MdlMode::Exclusive, MdlDuration::Transaction)
}
