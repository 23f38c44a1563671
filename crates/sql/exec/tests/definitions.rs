//! What definition statements make of a table's rows, beside transactions that change them.

mod common;

use common::{Database, code};
use gannet_catalog::{Catalog, Gate, StoredTable};
use gannet_engine::lock::LockOwner;
use gannet_engine::{KeyRange, ScanOptions, Txn, TxnOptions};
use gannet_schema::{RowLog, Table};
use gannet_types::{ErrorCode, Result, SqlError, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

/// All entries of a tree that a new snapshot sees.
fn entries(db: &Database, tree: &gannet_engine::TreeHandle) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut txn = db.catalog.engine().begin(TxnOptions::default());
    let mut scan = txn.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    let mut all = Vec::new();
    while let Some(entry) = scan.next(&mut txn).unwrap() {
        all.push((entry.key.to_vec(), entry.value.to_vec()));
    }
    all
}

/// Each index has an entry for each row, and no other.
fn agrees(db: &Database, name: &str) {
    let table: &Table = &db.table(name);
    let trees = table.trees(db.catalog.engine()).unwrap();
    let rows = entries(db, &trees.row);
    for position in (0..table.indexes.len()).filter(|i| Some(*i) != table.clustered) {
        let mut wanted = Vec::new();
        for (row_key, row) in &rows {
            let value = |c: usize| table.layout().get(row, c).unwrap();
            let (mut key, mut carried) = (Vec::new(), Vec::new());
            table.index_key(position, value, row_key, &mut key).unwrap();
            table.index_carried(position, value, &mut carried).unwrap();
            wanted.push((key, carried));
        }
        wanted.sort();
        assert_eq!(entries(db, &trees.indexes[position]), wanted, "{name}.{}", table.indexes[position].name);
    }
}

fn filled(name: &str) -> Database {
    let mut db = Database::new(name);
    db.recorder = None;
    db.run("create table t (id int primary key, u int, v varchar(20))").unwrap();
    db.run("insert into t values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c'), (4, 3, 'd')").unwrap();
    db
}

/// A transaction that has run the statements and has not ended. It holds no metadata lock, as one that a crash has left
/// behind.
fn left_behind(db: &mut Database, statements: &[&str]) -> Txn {
    db.begin();
    for sql in statements {
        db.run(sql).unwrap();
    }
    db.in_transaction = false;
    let mut next = db.catalog.engine().begin(TxnOptions::default());
    next.rollback().unwrap();
    std::mem::replace(&mut db.txn, next)
}

const CHANGES: [&str; 3] = [
    "update t set u = u + 10, v = 'new' where id < 3",
    "delete from t where id = 3",
    "insert into t values (9, 9, 'i')",
];

#[test]
fn an_index_has_no_entries_of_unfinished_transactions() {
    let mut db = filled("unfinished");
    let mut unfinished = left_behind(&mut db, &CHANGES);
    db.run("create index iu on t (u)").unwrap();
    db.run("alter table t add unique index uv (v), add index vu (v, u)").unwrap();
    // What it deleted and will put back is there to be compared.
    assert_eq!(code(db.run("create unique index uu on t (u)")), ErrorCode::DupEntry);
    unfinished.rollback().unwrap();
    agrees(&db, "t");
    assert_eq!(db.rows("t").len(), 4);
}

#[test]
fn copied_rows_are_none_of_unfinished_transactions() {
    let mut db = filled("copied");
    db.run("create index iv on t (v)").unwrap();
    let before = db.rows("t");
    let mut unfinished = left_behind(&mut db, &CHANGES);
    db.run("alter table t force").unwrap();
    assert_eq!(db.rows("t"), before);
    unfinished.rollback().unwrap();
    agrees(&db, "t");
    assert_eq!(db.rows("t"), before);
}

#[test]
fn foreign_keys_are_checked_without_unfinished_transactions() {
    let mut db = filled("orphans");
    db.run("create table p (id int primary key)").unwrap();
    db.run("insert into p values (1), (2), (3)").unwrap();
    db.run("insert into t values (5, 77, 'orphan')").unwrap();
    let key = "alter table t add constraint k foreign key (u) references p (id)";
    let mut unfinished = left_behind(&mut db, &["delete from t where id = 5"]);
    assert_eq!(code(db.run(key)), ErrorCode::NoReferencedRow2);
    unfinished.rollback().unwrap();
    db.run("delete from t where id = 5").unwrap();
    let mut unfinished = left_behind(&mut db, &["insert into t values (6, 78, 'orphan')"]);
    db.run(key).unwrap();
    unfinished.rollback().unwrap();
    agrees(&db, "t");
}

/// Sessions that change rows when an index is built: `at_open` while it is built from the first snapshot, `at_close`
/// before the last look at the rows.
struct Steps {
    at_open: Box<dyn FnMut()>,
    at_close: Box<dyn FnMut() -> Result<()>>,
    log_bytes: usize,
}

impl Gate for Steps {
    fn open(&mut self, _: &LockOwner) {
        (self.at_open)();
    }

    fn close(&mut self, _: &LockOwner) -> Result<()> {
        (self.at_close)()
    }

    fn row_log(&self) -> RowLog {
        RowLog::bounded(self.log_bytes)
    }
}

fn other(db: &Database) -> Database {
    let mut other = Database::session(db.catalog.clone());
    other.recorder = None;
    other
}

/// What one session does at once, and what two others do whose transactions end as the table is locked again: one
/// commits, one does not.
fn steps(db: &Database, log_bytes: usize) -> Steps {
    let (mut quick, mut slow, mut undone) = (other(db), other(db), other(db));
    let (sessions, ended) = std::sync::mpsc::channel();
    let at_open = move || {
        for sql in [
            "insert into t values (10, 10, 'k'), (11, 11, 'l')",
            "update t set u = 20 where id = 1",
            "update t set v = 'only v' where id = 2",
            "update t set id = 30 where id = 4",
            "delete from t where id = 10",
            "insert into t values (12, 12, 'm')",
            "update t set u = 21 where id = 12",
            "update t set u = 12 where id = 12",
            "replace into t values (11, 40, 'replaced')",
        ] {
            quick.run(sql).unwrap();
        }
        slow.begin();
        slow.run("insert into t values (50, 50, 'slow')").unwrap();
        slow.run("delete from t where id = 3").unwrap();
        undone.begin();
        undone.run("update t set u = 60 where id = 2").unwrap();
        undone.run("insert into t values (61, 61, 'undone')").unwrap();
        let next = || Database::session(quick.catalog.clone());
        sessions.send((std::mem::replace(&mut slow, next()), std::mem::replace(&mut undone, next()))).unwrap();
    };
    let at_close = move || {
        for (mut slow, mut undone) in ended.try_iter() {
            slow.run("update t set u = 51 where id = 50").unwrap();
            slow.end(true);
            undone.end(false);
        }
        Ok(())
    };
    Steps { at_open: Box::new(at_open), at_close: Box::new(at_close), log_bytes }
}

const AFTER: &str = "[(1, 20), (2, 2), (11, 40), (12, 12), (30, 3), (50, 51)]";

fn pairs(db: &Database) -> String {
    let number = |v: &Value| match v {
        Value::Int(n) => *n,
        other => panic!("{other:?} is no INT"),
    };
    let pairs: Vec<_> = db.rows("t").iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
    format!("{pairs:?}")
}

#[test]
fn an_index_follows_those_who_change_rows_beside_it() {
    // All of the rows are noted; hardly any.
    for (name, log_bytes) in [("follows", 1 << 20), ("compares", 50)] {
        for sql in [
            "create index iu on t (u)",
            "create unique index uu on t (u, id)",
            "alter table t add index iv (v), add unique index uv (v, u), drop index old",
        ] {
            let mut db = filled(name);
            db.run("create index old on t (v)").unwrap();
            db.gate = Some(Box::new(steps(&db, log_bytes)));
            db.run(sql).unwrap();
            assert!(db.table("t").row_log.is_none());
            agrees(&db, "t");
            assert_eq!(pairs(&db), AFTER, "{sql}");
        }
    }
}

/// Changes that foreign keys make are followed like others.
#[test]
fn an_index_follows_cascades() {
    let mut db = filled("cascades");
    db.run("create table p (id int primary key)").unwrap();
    db.run("insert into p values (1), (2), (3)").unwrap();
    db.run("create table c (id int primary key, p int, v int, foreign key (p) references p (id) on delete cascade on update cascade)")
        .unwrap();
    db.run("insert into c values (1, 1, 1), (2, 2, 2), (3, 3, 3), (4, 3, 4)").unwrap();
    let mut session = other(&db);
    let at_open = move || {
        session.run("delete from p where id = 1").unwrap();
        session.run("update p set id = 30 where id = 3").unwrap();
    };
    db.gate = Some(Box::new(Steps { at_open: Box::new(at_open), at_close: Box::new(|| Ok(())), log_bytes: 1000 }));
    db.run("alter table c add index pv (p, v), add unique index vp (v, p)").unwrap();
    agrees(&db, "c");
    assert_eq!(db.rows("c").len(), 3);
}

/// Rows that exchange their values are no duplicates of each other.
#[test]
fn a_unique_index_follows_rows_that_change_places() {
    let mut db = filled("places");
    db.run("delete from t where id = 4").unwrap();
    let mut session = other(&db);
    let at_open = move || {
        session.begin();
        for sql in ["set u = 99 where id = 1", "set u = 1 where id = 2", "set u = 2 where id = 1"] {
            session.run(&format!("update t {sql}")).unwrap();
        }
        session.end(true);
    };
    db.gate = Some(Box::new(Steps { at_open: Box::new(at_open), at_close: Box::new(|| Ok(())), log_bytes: 1000 }));
    db.run("create unique index uu on t (u)").unwrap();
    agrees(&db, "t");
    assert_eq!(pairs(&db), "[(1, 2), (2, 1), (3, 3)]");
}

#[test]
fn an_index_that_fails_leaves_the_table_as_it_was() {
    for (at_open, at_close, wanted) in [
        ("insert into t values (5, 3, 'a duplicate')", Ok(()), ErrorCode::DupEntry),
        ("delete from t where id = 4", Err(ErrorCode::LockWaitTimeout), ErrorCode::LockWaitTimeout),
    ] {
        let mut db = filled("fails");
        db.run("update t set u = 4 where id = 4").unwrap();
        let mut quick = other(&db);
        db.gate = Some(Box::new(Steps {
            at_open: Box::new(move || assert_eq!(quick.run(at_open).unwrap(), 1)),
            at_close: Box::new(move || at_close.map_err(|code| SqlError::new(code, &[]))),
            log_bytes: 1000,
        }));
        assert_eq!(code(db.run("create unique index uu on t (u)")), wanted);
        let table = db.table("t");
        assert!(table.row_log.is_none() && table.index("uu").is_none());
        db.run("insert into t values (7, 7, 'g')").unwrap();
        agrees(&db, "t");
        db.gate = None;
        db.run("delete from t where id in (3, 5)").unwrap();
        db.run("create unique index uu on t (u)").unwrap();
        agrees(&db, "t");
    }
}

/// Threads whose transactions go on while the gate is open.
#[derive(Default)]
struct Crowd {
    open: AtomicBool,
    busy: AtomicUsize,
    over: AtomicBool,
    done: AtomicUsize,
}

struct CrowdGate(Arc<Crowd>);

impl Gate for CrowdGate {
    fn open(&mut self, _: &LockOwner) {
        self.0.open.store(true, SeqCst);
    }

    fn close(&mut self, _: &LockOwner) -> Result<()> {
        // It would be over soon for a small table.
        let enough = self.0.done.load(SeqCst) + 30;
        while self.0.done.load(SeqCst) < enough {
            std::thread::yield_now();
        }
        self.0.open.store(false, SeqCst);
        while self.0.busy.load(SeqCst) > 0 {
            std::thread::yield_now();
        }
        Ok(())
    }

    fn row_log(&self) -> RowLog {
        // Now and then more is noted than fits.
        RowLog::bounded(20_000)
    }
}

impl Crowd {
    fn take_part(&self, catalog: Arc<Catalog>, seed: u64) {
        let mut db = Database::session(catalog);
        db.recorder = None;
        let mut random = seed;
        let mut next = |n: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % n
        };
        while !self.over.load(SeqCst) {
            self.busy.fetch_add(1, SeqCst);
            if self.open.load(SeqCst) {
                db.begin();
                let mut stands = true;
                for _ in 0..=next(4) {
                    let (id, u) = (next(300), next(100_000));
                    let sql = match next(4) {
                        0 => format!("insert into t values ({id}, {u}, 'i') on duplicate key update u = {u}"),
                        1 => format!("delete from t where id = {id}"),
                        2 => format!("update t set id = {} where id = {id}", next(300)),
                        _ => format!("update t set u = {u}, v = '{}' where id = {id}", u % 7),
                    };
                    // Deadlocks roll back, and ids may be taken.
                    if db.run(&sql).is_err() {
                        stands = db.txn.is_active();
                    }
                    if !stands {
                        break;
                    }
                }
                if stands {
                    db.end(next(4) > 0);
                } else {
                    db.in_transaction = false;
                }
                self.done.fetch_add(1, SeqCst);
            }
            self.busy.fetch_sub(1, SeqCst);
            std::thread::yield_now();
        }
    }
}

/// The threads end, when the test fails, too.
struct GoesHome<'a>(&'a Crowd);

impl Drop for GoesHome<'_> {
    fn drop(&mut self) {
        self.0.over.store(true, SeqCst);
    }
}

#[test]
fn an_index_follows_a_crowd() {
    let mut db = filled("crowd");
    let crowd = Arc::new(Crowd::default());
    std::thread::scope(|scope| {
        for seed in 1..=3 {
            let (crowd, catalog) = (crowd.clone(), db.catalog.clone());
            scope.spawn(move || crowd.take_part(catalog, seed));
        }
        let _goes = GoesHome(&crowd);
        db.gate = Some(Box::new(CrowdGate(crowd.clone())));
        for round in 0..40 {
            db.run("alter table t add index iu (u, v), add unique index uu (u, id)").unwrap();
            agrees(&db, "t");
            db.run("alter table t drop index iu, drop index uu").unwrap();
            assert!(db.table("t").indexes.len() == 1, "round {round}");
        }
    });
}

/// What an unfinished transaction has changed may be gone when it is rolled back.
#[test]
fn unfinished_transactions_end_whatever_became_of_the_table() {
    for (definition, rows) in [
        ("alter table t drop index iu", Some(4)),
        ("alter table t add c int default 3 first", Some(4)),
        ("alter table t drop primary key", Some(4)),
        ("alter table t rename to other", None),
        ("truncate table t", Some(0)),
        ("drop table t", None),
        ("drop database app", None),
    ] {
        let mut db = filled("whatever");
        db.run("create index iu on t (u)").unwrap();
        let mut unfinished = left_behind(&mut db, &CHANGES);
        db.run(definition).unwrap();
        unfinished.rollback().unwrap_or_else(|e| panic!("{definition}: {e}"));
        db.catalog.engine().purge_now().unwrap();
        if let Some(rows) = rows {
            agrees(&db, "t");
            assert_eq!(db.rows("t").len(), rows, "{definition}");
        }
        assert_eq!(db.catalog.engine().check_store().unwrap().findings, Vec::<String>::new(), "{definition}");
    }
}

/// Columns that come, go and move, with rows and indexes that change in between: rows of every definition read as a
/// model of them.
#[test]
fn rows_of_many_definitions_read_as_a_model() {
    let mut db = Database::new("instant");
    db.recorder = None;
    db.run("create table t (id int primary key)").unwrap();
    let (mut names, mut rows): (Vec<String>, Vec<Vec<Value>>) = (vec!["id".into()], Vec::new());
    let mut state = 7_u64;
    let mut random = move |n: usize| {
        state = state.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        (state >> 33) as usize % n
    };
    let mut indexed: Option<String> = None;
    for step in 0..160_usize {
        let column = names[random(names.len())].clone();
        let place = |names: &[String]| names.iter().position(|n| *n == column).unwrap();
        match random(6) {
            0 | 1 => {
                let (name, value) = (format!("c{step}"), Value::Int(step as i64));
                let sql = format!("alter table t add {name} int default {step} after {column}, algorithm=instant");
                db.run(&sql).unwrap();
                let at = place(&names) + 1;
                names.insert(at, name);
                rows.iter_mut().for_each(|row| row.insert(at, value.clone()));
            }
            2 if column != "id" && names.len() > 6 => {
                if indexed.as_ref() == Some(&column) {
                    db.run("drop index i on t").unwrap();
                    indexed = None;
                }
                db.run(&format!("alter table t drop {column}, algorithm=instant")).unwrap();
                let at = place(&names);
                names.remove(at);
                rows.iter_mut().for_each(|row| drop(row.remove(at)));
            }
            3 if column != "id" => {
                db.run(&format!("alter table t modify {column} int first")).unwrap();
                let at = place(&names);
                names[..=at].rotate_right(1);
                rows.iter_mut().for_each(|row| row[..=at].rotate_right(1));
            }
            4 if column != "id" && indexed.is_none() => {
                db.run(&format!("create index i on t ({column})")).unwrap();
                indexed = Some(column);
            }
            4 if column != "id" => {
                db.run(&format!("update t set {column} = {step} where id % 3 = 0")).unwrap();
                let (at, id) = (place(&names), names.iter().position(|n| n == "id").unwrap());
                for row in rows.iter_mut().filter(|r| matches!(r[id], Value::Int(n) if n % 3 == 0)) {
                    row[at] = Value::Int(step as i64);
                }
            }
            _ => {
                db.run(&format!(
                    "insert into t ({}) values ({})",
                    names.join(", "),
                    vec![step.to_string(); names.len()].join(", ")
                ))
                .unwrap();
                rows.push(vec![Value::Int(step as i64); names.len()]);
            }
        }
        if step % 20 == 19 {
            assert_eq!(db.rows("t"), rows, "after step {step}");
            agrees(&db, "t");
        }
    }
    assert!(db.table("t").history.number > 50, "{}", db.table("t").history.number);
    db.run("alter table t force").unwrap();
    assert_eq!((db.table("t").history.number, db.rows("t")), (0, rows));
    agrees(&db, "t");
}
