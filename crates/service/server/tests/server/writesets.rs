//! Write sets: what the log says of transactions that may be applied beside each other.

use crate::common::{Running, one, rows, run};
use gannet_binlog::event::kind;
use gannet_binlog::format::Gtid;
use gannet_binlog::map::TableMap;
use gannet_binlog::packed::Packed;
use gannet_binlog::rows::{Change, Row, Rows};
use gannet_binlog::{Checksum, Event};
use gannet_core::vars::{Live, VarValue};
use gannet_types::Value;
use gannet_wire::client::Connection;
use std::collections::BTreeMap;
use std::path::Path;

fn logged() -> Running {
    Running::configured(|o| o.set(Live::LogBin, VarValue::bool(true)))
}

/// A row before and after.
type Changed = (Option<Vec<Value>>, Option<Vec<Value>>);

/// A transaction of the last file.
struct Group {
    last: u64,
    sequence: u64,
    changes: Vec<Changed>,
}

fn groups(c: &mut Connection) -> Vec<Group> {
    let file = rows(c, "SHOW BINARY LOG STATUS").remove(0).remove(0);
    let base = one(c, "SELECT @@log_bin_basename");
    let bytes = std::fs::read(Path::new(&base).with_file_name(file)).unwrap();
    let (mut groups, mut maps, mut rest) = (Vec::new(), BTreeMap::new(), &bytes[4..]);
    while let Some(event) = Event::first(rest, Checksum::Crc32).unwrap() {
        rest = &rest[event.bytes.len()..];
        if event.header.kind == kind::TRANSACTION_PAYLOAD {
            let packed = Packed::decode(event.body).unwrap();
            let mut events = packed.events();
            while let Some(event) = events.next_event().unwrap() {
                take(&mut groups, &mut maps, &event);
            }
        }
        take(&mut groups, &mut maps, &event);
    }
    groups
}

fn take(groups: &mut Vec<Group>, maps: &mut BTreeMap<u64, TableMap>, event: &Event<'_>) {
    match event.header.kind {
        kind::GTID => {
            let gtid = Gtid::decode(event.body).unwrap();
            groups.push(Group { last: gtid.last_committed, sequence: gtid.sequence_number, changes: Vec::new() });
        }
        kind::TABLE_MAP => {
            // Its flags are those of MySQL's.
            assert_eq!(event.body[6..8], [1, 0]);
            let map = TableMap::decode(event.body).unwrap();
            maps.insert(map.id, map);
        }
        other => {
            let Some(mut rows) = Rows::decode(other, event.body).unwrap() else { return };
            let map = &maps[&rows.table];
            let whole = |image: Vec<Option<Value>>| image.into_iter().collect::<Option<Vec<_>>>();
            while let Some(Row { first, second, .. }) = rows.next(map).unwrap() {
                let changed = match rows.change {
                    Change::Write => (None, whole(first)),
                    Change::Delete => (whole(first), None),
                    Change::Update => (whole(first), second.and_then(whole)),
                };
                groups.last_mut().unwrap().changes.push(changed);
            }
        }
    }
}

/// What each transaction is behind, in a file of its own.
fn dependencies(c: &mut Connection, transactions: &[&str]) -> Vec<u64> {
    run(c, "FLUSH BINARY LOGS");
    for transaction in transactions {
        transaction.split("; ").for_each(|sql| run(c, sql));
    }
    let groups = groups(c);
    assert!(groups.iter().zip(1..).all(|(group, n)| group.sequence == n && group.last < n));
    groups.iter().map(|group| group.last).collect()
}

#[test]
fn transactions_are_behind_those_with_their_keys() {
    let r = logged();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, b VARCHAR(20) COLLATE utf8mb4_general_ci, c INT, d INT, UNIQUE (b), \
         UNIQUE (c, d))",
        "CREATE TABLE none (a INT, b INT)",
        "CREATE TABLE hidden (a INT PRIMARY KEY, b INT, UNIQUE ((b + 1)))",
        "CREATE TABLE parent (a INT PRIMARY KEY)",
        "CREATE TABLE child (a INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES parent (a) ON DELETE CASCADE)",
        "INSERT INTO t VALUES (1, 'x', 1, 1), (2, 'y', 2, 2), (3, 'z', 3, 3)",
        "INSERT INTO parent VALUES (1), (2)",
        "INSERT INTO child VALUES (1, 1), (2, 2)",
    ] {
        run(&mut c, sql);
    }
    let at = |n: u64| format!("UPDATE t SET d = d + 10 WHERE a = {n}");
    for (transactions, want) in [
        // Rows of their own, then the same ones.
        (&[&*at(1), &at(2), &at(3), &at(1), &at(3), &at(3)][..], &[0, 0, 0, 1, 3, 5][..]),
        (
            &[
                "BEGIN; DELETE FROM t WHERE a = 1; DELETE FROM t WHERE a = 2; COMMIT",
                &at(3),
                "INSERT INTO t VALUES (2, 'y', 2, 2)",
            ],
            &[0, 0, 1],
        ),
        // A value of a unique key that is free again, as its collation compares it.
        (
            &[
                "INSERT INTO t VALUES (10, 'Q', 10, 10)",
                "INSERT INTO t VALUES (11, 'r', 11, 11)",
                "DELETE FROM t WHERE a = 10",
                "INSERT INTO t VALUES (12, 'q ', 12, 12)",
            ],
            &[0, 0, 1, 3],
        ),
        (
            &[
                "UPDATE t SET c = 50, d = 50 WHERE a = 11",
                "UPDATE t SET c = 51 WHERE a = 11",
                "UPDATE t SET c = 50, d = 50 WHERE a = 12",
            ],
            &[0, 1, 2],
        ),
        // NULL is nobody else's.
        (&["INSERT INTO t VALUES (20, NULL, NULL, 1)", "INSERT INTO t VALUES (21, NULL, NULL, 1)"], &[0, 0]),
        // What has no keys, or those that no image shows, stands alone.
        (&[&at(2), &at(3), "INSERT INTO none VALUES (1, 1)", &at(2), &at(3)], &[0, 0, 2, 3, 3]),
        (&[&at(2), &at(3), "INSERT INTO hidden VALUES (1, 1)", &at(2)], &[0, 0, 2, 3]),
        // So do definitions, branches, and what is an empty transaction.
        (
            &[&at(2), &at(3), "CREATE TABLE made (a INT PRIMARY KEY)", &at(2), "DROP TABLE made", &at(3)],
            &[0, 0, 2, 3, 4, 5],
        ),
        (
            &[
                &at(2),
                &at(3),
                "XA START 'x'; INSERT INTO t VALUES (30, 'xa', 30, 30); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'",
                &at(2),
            ],
            &[0, 0, 2, 3, 4],
        ),
        // And what foreign keys link.
        (&[&at(2), &at(3), "INSERT INTO child VALUES (3, 2)", &at(2)], &[0, 0, 2, 3]),
        (&[&at(2), &at(3), "DELETE FROM parent WHERE a = 2", &at(3)], &[0, 0, 2, 3]),
        (
            &[
                "SET binlog_transaction_compression = ON; UPDATE t SET d = 0 WHERE a = 2",
                &at(3),
                &at(2),
                "SET binlog_transaction_compression = OFF",
            ],
            &[0, 0, 1],
        ),
        // Images that have not all.
        (
            &[
                "SET binlog_row_image = MINIMAL; UPDATE t SET d = 1 WHERE a = 2",
                "DELETE FROM t WHERE a = 30",
                "SET binlog_row_image = DEFAULT",
            ],
            &[0, 1],
        ),
    ] {
        assert_eq!(dependencies(&mut c, transactions), want, "{transactions:?}");
    }
    // A history of few keys takes some for others, and forgets none.
    run(&mut c, "SET GLOBAL binlog_transaction_dependency_history_size = 1");
    let few = dependencies(&mut c, &[&at(2), &at(3), &at(11), &at(12), &at(2), &at(3)]);
    assert!(few[4] >= 1 && few[5] >= 2, "{few:?}");
    assert_ne!(few[..4], [0; 4]);
}

/// A row of the random test: its keys.
fn keys(row: &[Value]) -> [Option<String>; 3] {
    let text = |v: &Value| {
        let mut out = Vec::new();
        v.write_text(&mut out);
        String::from_utf8(out).unwrap()
    };
    let of = |columns: &[usize]| {
        let parts: Vec<_> = columns.iter().map(|i| (!row[*i].is_null()).then(|| text(&row[*i]))).collect();
        parts
            .into_iter()
            .collect::<Option<Vec<_>>>()
            .map(|parts| parts.join("|").to_lowercase().replace('é', "e").trim_end().to_owned())
    };
    [of(&[0]), of(&[1]), of(&[2, 3])]
}

#[test]
fn any_order_that_is_permitted_gives_the_same() {
    let r = logged();
    let mut c = r.connect();
    for sql in [
        "CREATE DATABASE d",
        "USE d",
        "CREATE TABLE t (a INT PRIMARY KEY, u VARCHAR(10) COLLATE utf8mb4_general_ci, n INT, v DECIMAL(5,2), UNIQUE (u), \
         UNIQUE (n, v))",
    ] {
        run(&mut c, sql);
    }
    let mut state = 7u64;
    let mut random = |n: u64| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) % n
    };
    run(&mut c, "FLUSH BINARY LOGS");
    for _ in 0..900 {
        run(&mut c, "BEGIN");
        for _ in 0..=random(2) {
            let letter = ["a", "A", "b", "B", "é", "E"][random(6) as usize];
            let u = match random(8) {
                0 => "NULL".to_owned(),
                n => format!("'{letter}{}{}'", random(30), " ".repeat((n % 2) as usize)),
            };
            let (a, n, v) = (random(100), random(30), random(4));
            let sql = match random(5) {
                0 | 1 => format!("INSERT IGNORE INTO t VALUES ({a}, {u}, {n}, {v}.5)"),
                2 => format!("DELETE FROM t WHERE a = {a}"),
                3 => format!("UPDATE IGNORE t SET u = {u}, n = NULL WHERE a = {a}"),
                _ => format!("UPDATE IGNORE t SET a = {n}, v = {v} WHERE a = {a} OR a = {}", a + 1),
            };
            run(&mut c, &sql);
        }
        run(&mut c, "COMMIT");
    }
    let groups = groups(&mut c);
    let beside = groups.iter().filter(|group| group.last + 1 < group.sequence).count();
    assert!(groups.len() > 200 && beside > groups.len() / 2, "{beside} of {}", groups.len());
    for _ in 0..20 {
        // By primary key; a row of another key must not be in the way of what comes.
        let mut table: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        let mut left: Vec<&Group> = groups.iter().collect();
        while !left.is_empty() {
            let low = left.iter().map(|group| group.sequence).min().unwrap();
            let may: Vec<usize> = (0..left.len()).filter(|i| left[*i].last < low).collect();
            let group = left.remove(may[random(may.len() as u64) as usize]);
            for (before, after) in &group.changes {
                if let Some(row) = before {
                    let found = table.remove(keys(row)[0].as_ref().unwrap());
                    assert_eq!(found.as_ref(), Some(row), "transaction {}", group.sequence);
                }
                if let Some(row) = after {
                    let own = keys(row);
                    let taken = |other: &Vec<Value>| keys(other).iter().zip(&own).any(|(a, b)| a.is_some() && a == b);
                    assert!(!table.values().any(taken), "transaction {}: {row:?}", group.sequence);
                    table.insert(own[0].clone().unwrap(), row.clone());
                }
            }
        }
        let mut want = rows(&mut c, "SELECT a, u, n, v FROM t");
        let text = |v: &Value| {
            let mut out = Vec::new();
            v.write_text(&mut out);
            if v.is_null() { "NULL".to_owned() } else { String::from_utf8(out).unwrap() }
        };
        let mut got: Vec<Vec<String>> = table.values().map(|row| row.iter().map(text).collect()).collect();
        want.sort();
        got.sort();
        assert_eq!(got, want);
    }
}
