//! What a sink is told of changed rows makes a copy of each table; rows by key do what SQL does.

mod common;

use common::{Database, Recorder, code};
use gannet_catalog::Words;
use gannet_engine::{Beyond, Hold, ReadMode, TxnOptions};
use gannet_exec::changes::{ChangeSink, RowWriter};
use gannet_exec::kv::{KeyValueTable, Put, Swap};
use gannet_types::{ErrorCode, TimeZone, Value};

fn database(name: &str) -> Database {
    let mut db = Database::new(name);
    for sql in [
        "create table t (id int primary key auto_increment, u int, v varchar(20) not null default 'd', unique (u), key (v))",
        "create table nokey (a int, b varchar(10))",
        "create table parent (id int primary key, k int, unique (k))",
        "create table child (id int primary key, k int, constraint c1 foreign key (k) references parent (k) on delete cascade on update cascade)",
        "create table grandchild (id int primary key, c int, constraint c2 foreign key (c) references child (id) on delete set null)",
    ] {
        db.run(sql).unwrap();
    }
    db
}

const TABLES: [&str; 5] = ["t", "nokey", "parent", "child", "grandchild"];

/// So many changes were told of, by the statement itself and by cascades.
fn told(db: &Database) -> (usize, usize) {
    let cascades = db.last.iter().filter(|t| t.cascade).count();
    (db.last.len() - cascades, cascades)
}

#[test]
fn changes_told_make_a_copy() {
    let mut db = database("copy");
    // What is told of each statement: changes of its own, of cascades.
    let statements: [(&str, (usize, usize)); 23] = [
        ("insert into t (u, v) values (1, 'a'), (2, 'b'), (3, 'c'), (4, 'a')", (4, 0)),
        ("insert into t (u) select u + 10 from t", (4, 0)),
        ("insert ignore into t (u) values (1), (50)", (1, 0)),
        ("insert into t (id, u, v) values (1, 1, 'x') on duplicate key update v = 'odku'", (1, 0)),
        ("insert into t (id, u, v) values (90, 1, 'x') on duplicate key update id = 91", (1, 0)),
        ("insert into t (id, u, v) values (92, 92, 'x') on duplicate key update v = 'y'", (1, 0)),
        // Two rows make way.
        ("replace into t values (2, 3, 'replaced')", (3, 0)),
        ("replace into t values (200, 200, 'new')", (1, 0)),
        ("update t set v = 'point' where id = 4", (1, 0)),
        ("update t set u = 77 where id = 4", (1, 0)),
        ("update t set v = v where id = 4", (0, 0)),
        ("update t set id = id + 1000 where v = 'd' order by id desc", (5, 0)),
        ("update t set v = concat(v, '!') where u > 3", (8, 0)),
        ("delete from t where id = 200", (1, 0)),
        ("insert into nokey values (1, 'x'), (1, 'x'), (2, null)", (3, 0)),
        ("update nokey set b = 'y' where a = 1 limit 1", (1, 0)),
        ("delete from nokey where a = 2", (1, 0)),
        ("insert into parent values (1, 10), (2, 20), (3, 30)", (3, 0)),
        ("insert into child values (1, 10), (2, 10), (3, 20)", (3, 0)),
        ("insert into grandchild values (1, 1), (2, 3)", (2, 0)),
        ("update parent set k = k + 1 where id = 1", (1, 2)),
        ("delete from parent where id = 1", (1, 3)),
        ("delete t, nokey from t join nokey on nokey.a = 1 where t.id = 4", (3, 0)),
    ];
    for (sql, expected) in statements {
        db.run(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        assert_eq!(told(&db), expected, "{sql}: {:?}", db.last);
        TABLES.iter().for_each(|t| db.compare(t));
    }
    let loaded = db.run_with("load data infile 'f' replace into table t (id, u, v)", b"1000,1,one\n5000,5000,five\n");
    assert_eq!(loaded.unwrap(), 3);
    assert_eq!(told(&db), (3, 0), "{:?}", db.last);
    db.compare("t");
    db.run("update t join parent on parent.id = 2 set t.v = 'joined', parent.k = 21 where t.id > 1000").unwrap();
    assert!(told(&db).0 > 2 && told(&db).1 == 1, "{:?}", db.last);
    TABLES.iter().for_each(|t| db.compare(t));
}

#[test]
fn what_is_rolled_back_is_not_told_of() {
    let mut db = database("undone");
    db.run("insert into t (id, u) values (1, 1), (2, 2), (3, 3)").unwrap();
    assert_eq!(code(db.run("insert into t (id, u) values (4, 4), (5, 1)")), ErrorCode::DupEntry);
    assert_eq!(told(&db), (0, 0));
    // The third row fails: the first two were told of.
    let before = db.told();
    let third = "update t set u = if(id = 3, 11, u + 10) where id < 9 order by id";
    assert_eq!(code(db.run(third)), ErrorCode::DupEntry);
    assert_eq!((db.told() - before, told(&db)), (2, (0, 0)));
    assert_eq!(code(db.run("update t set u = u + 1 where id < 9 order by id")), ErrorCode::DupEntry);
    assert_eq!(told(&db), (0, 0));
    db.run("insert into parent values (1, 1)").unwrap();
    db.run("insert into child values (1, 1)").unwrap();
    assert_eq!(code(db.run("insert into child values (2, 1), (3, 9)")), ErrorCode::NoReferencedRow2);
    db.run("insert ignore into child values (2, 1), (3, 9), (4, 1)").unwrap();
    assert_eq!(told(&db), (2, 0));
    TABLES.iter().for_each(|t| db.compare(t));

    db.begin();
    db.run("insert into t (id, u) values (10, 10)").unwrap();
    let mark = db.txn.savepoint();
    db.run("update t set v = 'lost' where id = 10").unwrap();
    db.run("delete from t where id = 1").unwrap();
    assert_eq!(code(db.run("insert into t (id, u) values (11, 11), (12, 10)")), ErrorCode::DupEntry);
    db.txn.rollback_to(mark).unwrap();
    db.run("update t set v = 'kept' where id = 10").unwrap();
    let mark = db.txn.savepoint();
    db.run("delete from t where id > 1").unwrap();
    db.txn.rollback_to(mark).unwrap();
    db.end(true);
    assert_eq!(told(&db), (2, 0), "{:?}", db.last);
    db.compare("t");

    db.begin();
    db.run("delete from t").unwrap();
    db.end(false);
    db.compare("t");
    // The transaction after one that was rolled back begins with nothing.
    db.run("update t set v = 'next' where id = 10").unwrap();
    assert_eq!(told(&db), (1, 0));
    db.compare("t");
}

/// A statement of one row commits with its change, but not before a sink was told: that may refuse it.
#[test]
fn what_a_sink_refuses_is_not_done() {
    let mut db = database("refused");
    db.run("insert into t (id, v) values (1, 'a')").unwrap();
    db.recorder.as_mut().unwrap().full = true;
    for sql in [
        "update t set u = 1 where id = 1",
        "update t set v = 'b'",
        "insert into t (id, v) values (2, 'b')",
        "insert into t (id, v) values (1, 'b') on duplicate key update v = 'b'",
        "replace into t (id, v) values (1, 'b')",
        "delete from t",
    ] {
        assert_eq!(code(db.run(sql)), ErrorCode::OutOfResources, "{sql}");
        db.compare("t");
    }
    db.run("create table p (id int primary key, v int)").unwrap();
    db.recorder.as_mut().unwrap().full = false;
    db.run("insert into p values (1, 1)").unwrap();
    db.recorder.as_mut().unwrap().full = true;
    assert_eq!(code(db.run("update p set v = 2 where id = 1")), ErrorCode::OutOfResources);
    db.compare("p");
    db.recorder = None;
    db.run("update p set v = 3 where id = 1").unwrap();
    assert_eq!(db.rows("p"), [[Value::Int(1), Value::Int(3)]]);
}

#[test]
fn rows_by_key_are_changed_under_conditions() {
    let mut db = database("conditions");
    db.run("insert into t (id, u, v) values (1, 1, 'one'), (2, 2, 'two')").unwrap();
    let zone = TimeZone::UTC;
    let t = KeyValueTable::new(db.table("t"), &db.catalog.snapshot()).unwrap();
    let row = |id: i64, u: i64, v: &str| vec![Value::Int(id), Value::Int(u), Value::text(v)];
    let mut recorder = Recorder::default();
    let mut txn = db.catalog.engine().begin(TxnOptions::default());
    let mut to =
        RowWriter { txn: &mut txn, sink: Some(&mut recorder as &mut dyn ChangeSink), cascade: false, linked: false };
    let to = &mut to;
    let twice = ErrorCode::DupEntry;
    assert!(!t.add(to, &row(1, 9, "there"), &zone).unwrap());
    assert_eq!(t.add(to, &row(3, 1, "the first has it"), &zone).unwrap_err().code(), twice);
    assert!(t.add(to, &row(3, 3, "three"), &zone).unwrap());
    assert_eq!(t.replace(to, &row(4, 4, "not there"), &zone).unwrap(), None);
    assert_eq!(t.replace(to, &row(3, 2, "the second has it"), &zone).unwrap_err().code(), twice);
    assert_eq!(t.replace(to, &row(3, 30, "drei"), &zone).unwrap(), Some(Put::Replaced));
    assert_eq!(t.replace(to, &row(3, 30, "drei"), &zone).unwrap(), Some(Put::Same));
    let swap = |to: &mut RowWriter<'_>, old: &[Value], new: &[Value]| t.compare_and_set(to, (old, new), &zone);
    assert_eq!(swap(to, &row(1, 1, "eins"), &row(1, 1, "uno")).unwrap(), Swap::Other);
    assert_eq!(swap(to, &row(4, 4, ""), &row(4, 4, "uno")).unwrap(), Swap::Missing);
    assert_eq!(swap(to, &row(1, 1, "one"), &row(1, 2, "uno")).unwrap_err().code(), twice);
    assert_eq!(swap(to, &row(1, 1, "one"), &row(1, 10, "uno")).unwrap(), Swap::Done);
    let change =
        |to: &mut RowWriter<'_>, id: i64, new: Option<Vec<Value>>| t.change(to, &[Value::Int(id)], &zone, |_| Ok(new));
    assert_eq!(change(to, 4, None).unwrap(), None);
    assert_eq!(change(to, 2, None).unwrap(), Some(Put::Same));
    assert_eq!(change(to, 2, Some(row(5, 2, ""))).unwrap_err().code(), ErrorCode::NotSupportedYet);
    assert_eq!(change(to, 2, Some(row(2, 20, "zwei"))).unwrap(), Some(Put::Replaced));
    assert!(!t.delete(to, &[Value::Int(4)], &zone).unwrap());
    assert!(t.delete(to, &[Value::Int(3)], &zone).unwrap());
    // The row that was added is gone, two are others.
    assert_eq!(recorder.standing.take(txn.weight()).count(), 5);
    txn.commit().unwrap();
    db.recorder = None;
    assert_eq!(db.run("update t set v = 'dos' where u = 20").unwrap(), 1);
    assert_eq!(db.rows("t"), [row(1, 10, "uno"), row(2, 20, "dos")]);
}

#[test]
fn rows_by_key_do_what_sql_does() {
    let mut db = database("kv");
    db.run("insert into t (id, u, v) values (1, 1, 'one'), (2, 2, 'two')").unwrap();
    let zone = TimeZone::UTC;
    let t = KeyValueTable::new(db.table("t"), &db.catalog.snapshot()).unwrap();
    let row = |id: i64, u: i64, v: &str| vec![Value::Int(id), Value::Int(u), Value::text(v)];
    let mut recorder = Recorder::default();
    let mut txn = db.catalog.engine().begin(TxnOptions::default());
    let mut put = |txn: &mut _, row: &[Value]| {
        let mut to = RowWriter { txn, sink: Some(&mut recorder as &mut dyn ChangeSink), cascade: false, linked: false };
        t.put(&mut to, row, &zone)
    };
    assert_eq!(put(&mut txn, &row(1, 1, "one")).unwrap(), Put::Same);
    assert_eq!(put(&mut txn, &row(1, 10, "eins")).unwrap(), Put::Replaced);
    // Texts are converted.
    let texts = ["7".to_owned(), "70".to_owned(), "seven".to_owned()].map(|s| Value::text(&s));
    assert_eq!(put(&mut txn, &texts).unwrap(), Put::Inserted);
    assert_eq!(put(&mut txn, &row(8, 2, "second has it")).unwrap_err().code(), ErrorCode::DupEntry);
    assert_eq!(put(&mut txn, &row(7, 2, "second has it")).unwrap_err().code(), ErrorCode::DupEntry);
    assert_eq!(put(&mut txn, &row(1 << 40, 2, "")).unwrap_err().code(), ErrorCode::WarnDataOutOfRange);
    assert_eq!(put(&mut txn, &row(1, 1, "")[..2]).unwrap_err().code(), ErrorCode::WrongValueCountOnRow);
    assert_eq!(put(&mut txn, &[Value::Null, Value::Null, Value::Null]).unwrap_err().code(), ErrorCode::BadNull);
    let mut get = |id: Value| t.get(&mut txn, &[id], ReadMode::Snapshot, &zone).unwrap();
    assert_eq!(get(Value::text("7")), Some(row(7, 70, "seven")));
    assert_eq!((get(Value::Int(1)), get(Value::Int(8))), (Some(row(1, 10, "eins")), None));
    assert_eq!(recorder.standing.take(txn.weight()).count(), 2);
    txn.commit().unwrap();
    db.recorder = None;
    // SQL sees it, in all indexes, and the counter has moved.
    assert_eq!(db.run("update t set v = 'sieben' where u = 70").unwrap(), 1);
    assert_eq!(db.run("delete from t where v = 'eins'").unwrap(), 1);
    assert_eq!(db.run("insert into t (u, v) values (80, 'eight')").unwrap(), 1);
    assert_eq!(db.rows("t"), [row(2, 2, "two"), row(7, 70, "sieben"), row(8, 80, "eight")]);

    db.run("create table computed (id int primary key, g int as (id + 1))").unwrap();
    db.run("create table checked (id int primary key, check (id > 0))").unwrap();
    for name in ["nokey", "parent", "child", "computed", "checked"] {
        let refused = KeyValueTable::new(db.table(name), &db.catalog.snapshot()).err();
        assert_eq!(refused.map(|e| e.code()), Some(ErrorCode::NotSupportedYet), "{name}");
    }
}

/// Definitions arrive at those who follow the log with their words, those that fail do not.
#[test]
fn definitions_come_with_their_words() {
    let mut db = Database::new("words");
    let engine = db.catalog.engine().clone();
    let mut consumer = engine.consumer("c", Hold { bound_bytes: 1 << 30, beyond: Beyond::Brake }).unwrap();
    let words = |text: &str| Words { payload: text.as_bytes().to_vec(), position: None };
    db.run("create table untold (a int)").unwrap();
    let told =
        ["create table a (id int primary key)", "alter table a add b int", "drop table a", "drop table if exists no"];
    for sql in ["create table untold (a int)", told[0], "alter table a add id int", told[1], told[2], told[3]] {
        db.words = Some(words(sql));
        let _may_fail = db.run(sql);
    }
    engine.sync().unwrap();
    for sql in told {
        let got = consumer.poll().unwrap().unwrap();
        assert_eq!(got.payload, sql.as_bytes(), "{sql}");
    }
    assert!(consumer.poll().unwrap().is_none());
}
