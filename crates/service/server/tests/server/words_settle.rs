//! Words of new rows get their places in a full-text index, in the background.

use crate::common::{PATIENCE, Running, one, rows, run};
use gannet_catalog::StoredTable as _;
use gannet_engine::{KeyRange, TxnOptions};
use gannet_types::ValueRef;
use std::time::{Duration, Instant};

/// What the keys of entries begin with in which words wait (`exec::waiting`).
const MARK: [u8; 4] = [0, 0x80, 0, 0x80];

fn waiting(r: &Running) -> u64 {
    let core = r.server().shared();
    let snapshot = core.catalog.snapshot();
    let table = snapshot.table("sqltest", "w").unwrap();
    let index = table.indexes.iter().position(|i| i.text().is_some()).unwrap();
    let tree = &table.trees(&core.engine).unwrap().indexes[index];
    core.engine.estimate_rows(tree, KeyRange::prefix(&MARK)).unwrap().rows
}

/// Waits until as many entries as wanted are there, as far as the tree can tell.
fn wait_for(r: &Running, wanted: impl Fn(u64) -> bool) {
    let began = Instant::now();
    while !wanted(waiting(r)) {
        assert!(began.elapsed() < PATIENCE, "{} entries", waiting(r));
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn words_get_their_places() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE sqltest");
    run(&mut c, "USE sqltest");
    run(&mut c, "CREATE TABLE w (id INT PRIMARY KEY, t TEXT, FULLTEXT INDEX f (t))");
    // Rows of a transaction that goes on wait.
    run(&mut c, "BEGIN");
    for id in 0..40 {
        run(&mut c, &format!("INSERT INTO w VALUES ({id}, 'gannet number{id} of the rock')"));
    }
    std::thread::sleep(Duration::from_millis(500));
    assert!(waiting(&r) >= 30, "{} entries", waiting(&r));
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w WHERE MATCH (t) AGAINST ('gannet')"), "40");
    run(&mut c, "COMMIT");
    // Purge takes away what has waited when the words have their places, and not before.
    wait_for(&r, |n| n == 0);
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w WHERE MATCH (t) AGAINST ('gannet')"), "40");
    assert_eq!(one(&mut c, "SELECT id FROM w WHERE MATCH (t) AGAINST ('number17')"), "17");
    run(&mut c, "DELETE FROM w WHERE id < 20");
    run(&mut c, "UPDATE w SET t = 'puffin' WHERE id >= 30");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w WHERE MATCH (t) AGAINST ('gannet')"), "10");
    assert_eq!(one(&mut c, "SELECT COUNT(*) FROM w WHERE MATCH (t) AGAINST ('puffin')"), "10");
    assert_eq!(rows(&mut c, "CHECK TABLE w")[0][3], "OK");
}

/// Puts entries with words, as builds of before wrote them, where row 1 waits. False: it does not wait any more.
fn make_older(r: &Running) -> bool {
    let core = r.server().shared();
    let snapshot = core.catalog.snapshot();
    let table = snapshot.table("sqltest", "w").unwrap();
    let index = table.indexes.iter().position(|i| i.text().is_some()).unwrap();
    let tree = &table.trees(&core.engine).unwrap().indexes[index];
    let mut row_key = Vec::new();
    table.clustered_key(|_| ValueRef::Int(1), &mut row_key).unwrap();
    let key = |number: u8| [&MARK[..], &row_key, &[number]].concat();
    let mut txn = core.engine.try_begin(TxnOptions::default()).unwrap();
    let waits = txn.index_delete_if(tree, &key(0)).unwrap();
    if waits {
        (0..3).for_each(|number| txn.index_insert(tree, &key(number), b"\x05words").unwrap());
    }
    txn.commit_unsynced().unwrap();
    waits
}

#[test]
fn words_that_an_earlier_build_kept_are_those_of_the_row() {
    let r = Running::start();
    let mut c = r.connect();
    run(&mut c, "CREATE DATABASE sqltest");
    run(&mut c, "USE sqltest");
    run(&mut c, "CREATE TABLE w (id INT PRIMARY KEY, t TEXT, FULLTEXT INDEX f (t))");
    let found = |c: &mut _, word: &str| one(c, &format!("SELECT COUNT(*) FROM w WHERE MATCH (t) AGAINST ('{word}')"));
    for then in ["", "UPDATE w SET t = 'puffin'", "DELETE FROM w"] {
        loop {
            run(&mut c, "DELETE FROM w");
            run(&mut c, "INSERT INTO w VALUES (1, 'gannet dives')");
            if make_older(&r) && waiting(&r) >= 3 {
                break;
            }
        }
        assert_eq!(found(&mut c, "gannet"), "1");
        assert_eq!(rows(&mut c, "CHECK TABLE w")[0][3], "OK");
        if !then.is_empty() {
            run(&mut c, then);
            assert_eq!(found(&mut c, "gannet"), "0");
            assert_eq!(found(&mut c, "puffin"), if then.starts_with("UPDATE") { "1" } else { "0" });
        }
        wait_for(&r, |n| n == 0);
        assert_eq!(found(&mut c, "gannet"), if then.is_empty() { "1" } else { "0" });
        assert_eq!(rows(&mut c, "CHECK TABLE w")[0][3], "OK");
    }
}
