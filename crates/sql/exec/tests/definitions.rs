//! What definition statements make of a table's rows, beside transactions that change them.

#[expect(dead_code, reason = "what is about change sinks is for the other file")]
mod common;

use common::{Database, code};
use gannet_catalog::StoredTable;
use gannet_engine::{KeyRange, ScanOptions, Txn, TxnOptions};
use gannet_schema::Table;
use gannet_types::ErrorCode;

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

/// A transaction that has run the statements and has not ended. It holds no metadata lock, as one that a crash has left behind.
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
