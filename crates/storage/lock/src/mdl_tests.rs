//! Metadata locks between threads, and with rows.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

use crate::Mode::Exclusive;
use crate::tests::{LONG, SHORT, row_of, setup, until, waited, waited_for, waiting};
use crate::{LockError, MdlDuration, MdlMode, MdlRow, Wait};

const TX: MdlDuration = MdlDuration::Transaction;
const ST: MdlDuration = MdlDuration::Statement;

#[test]
fn metadata_locks_by_mode() {
    use MdlMode::*;
    let modes = [Read, Write, NoWrite, Upgradable, Exclusive];
    // MySQL's matrix for SR, SW, SRO, SU, X: row held, column asked.
    let allowed = [
        [true, true, true, true, false],
        [true, true, false, true, false],
        [true, false, true, true, false],
        [true, true, true, false, false],
        [false; 5],
    ];
    let (table, _tree, o) = setup(2);
    let t = table.mdl_object(1, "db.t");
    assert_eq!(t, table.mdl_object(1, "db.t"));
    assert_ne!(t, table.mdl_object(2, "db.u"));
    for (i, held) in modes.into_iter().enumerate() {
        for (j, asked) in modes.into_iter().enumerate() {
            o[0].mdl_lock(t, held, TX, Wait::No).unwrap();
            let got = o[1].mdl_lock(t, asked, TX, Wait::No);
            assert_eq!(got.is_ok(), allowed[i][j], "{held:?} then {asked:?}");
            assert_eq!(table.metadata_locks().len(), 1 + allowed[i][j] as usize);
            o[0].mdl_end_transaction();
            o[1].mdl_end_transaction();
            assert!(table.metadata_locks().is_empty());
        }
    }
}

#[test]
fn ddl_waits_for_users_and_holds_back_new_ones() {
    let (table, _tree, o) = setup(4);
    let t = table.mdl_object(1, "db.t");
    let other = table.mdl_object(2, "db.u");
    o[0].mdl_lock(t, MdlMode::Read, TX, Wait::No).unwrap();
    o[1].mdl_lock(t, MdlMode::Write, ST, Wait::No).unwrap();
    std::thread::scope(|s| {
        let ddl = waiting(s, &o[2], || o[2].mdl_lock(t, MdlMode::Exclusive, TX, LONG));
        assert_eq!(o[3].mdl_lock(t, MdlMode::Read, TX, Wait::No), Err(LockError::WouldWait));
        assert_eq!(o[3].mdl_lock(other, MdlMode::Write, TX, Wait::No), Ok(()));
        // A user goes on using what it has, also more strongly.
        assert_eq!(o[0].mdl_lock(t, MdlMode::Read, TX, Wait::No), Ok(()));
        assert_eq!(o[0].mdl_lock(t, MdlMode::Write, TX, Wait::No), Ok(()));
        let reader = waiting(s, &o[3], || o[3].mdl_lock(t, MdlMode::Read, TX, LONG));
        o[1].mdl_end_statement();
        assert!(o[2].is_waiting());
        o[0].mdl_end_statement();
        assert!(o[2].is_waiting());
        o[0].mdl_end_transaction();
        assert_eq!(ddl.join().unwrap(), Ok(()));
        assert!(o[3].is_waiting());
        o[2].mdl_downgrade(t, MdlMode::Upgradable);
        assert_eq!(reader.join().unwrap(), Ok(()));
        assert_eq!(o[2].mdl_lock(t, MdlMode::Exclusive, TX, SHORT), Err(LockError::Timeout));
        assert_eq!(o[0].mdl_lock(t, MdlMode::Read, TX, Wait::No), Ok(()), "the flags are down again");
    });
}

#[test]
fn more_tables_than_slots() {
    let (table, _tree, o) = setup(2);
    let objects: Vec<_> = (0..40).map(|i| table.mdl_object(i, &format!("t{i}"))).collect();
    for &t in &objects {
        o[0].mdl_lock(t, MdlMode::Write, TX, Wait::No).unwrap();
    }
    for &t in &objects {
        assert_eq!(o[1].mdl_lock(t, MdlMode::Exclusive, TX, Wait::No), Err(LockError::WouldWait));
    }
    assert_eq!(table.metadata_locks().len(), 40);
    o[0].mdl_end_transaction();
    for &t in &objects {
        o[1].mdl_lock(t, MdlMode::Exclusive, TX, Wait::No).unwrap();
    }
    drop(o);
    assert!(table.metadata_locks().is_empty());
    table.mdl_forget(0);
    assert_eq!(table.mdl_object(99, "again"), objects[0]);
}

#[test]
fn a_deadlock_of_rows_and_metadata() {
    let (table, tree, o) = setup(3);
    let t = table.mdl_object(1, "db.t");
    for (o, w) in o.iter().zip([7, 8, 1]) {
        o.set_weight(w);
    }
    // 0 uses t and wants a row of 1; 2 (DDL) wants t; 1 wants to use t.
    o[0].mdl_lock(t, MdlMode::Write, TX, Wait::No).unwrap();
    let _ = o[1].lock_record(&tree, b"r", Exclusive, Wait::No).unwrap();
    std::thread::scope(|s| {
        let ddl = waiting(s, &o[2], || o[2].mdl_lock(t, MdlMode::Exclusive, TX, LONG));
        let zero = waiting(s, &o[0], || o[0].lock_record(&tree, b"r", Exclusive, LONG));
        assert_eq!(o[1].mdl_lock(t, MdlMode::Read, TX, LONG), Ok(()), "the DDL was the cheapest");
        assert_eq!(ddl.join().unwrap(), Err(LockError::Deadlock));
        o[1].release_all();
        assert_eq!(zero.join().unwrap(), waited(None));
    });
}

#[test]
fn metadata_storm() {
    const THREADS: usize = 6;
    let (table, _tree, o) = setup(THREADS);
    let objects = [table.mdl_object(1, "a"), table.mdl_object(2, "b")];
    let inside = [AtomicU64::new(0), AtomicU64::new(0)];
    std::thread::scope(|s| {
        for (t, o) in o.iter().enumerate() {
            let inside = &inside;
            s.spawn(move || {
                for i in 0..4000usize {
                    let k = (i + t) % 2;
                    if t == 0 && i % 8 == 0 {
                        o.mdl_lock(objects[k], MdlMode::Exclusive, TX, LONG).unwrap();
                        assert_eq!(inside[k].load(SeqCst), 0);
                        std::hint::spin_loop();
                        assert_eq!(inside[k].load(SeqCst), 0);
                    } else {
                        o.mdl_lock(objects[k], MdlMode::Write, TX, LONG).unwrap();
                        inside[k].fetch_add(1, SeqCst);
                        inside[k].fetch_sub(1, SeqCst);
                    }
                    o.mdl_end_transaction();
                }
            });
        }
    });
    assert!(table.metadata_locks().is_empty());
}

/// Many stand in line for a table behind DDL, each of which holds a row that another waits for.
#[test]
fn the_length_of_a_table_line_costs_a_search_nothing() {
    const WAITERS: usize = 250;
    let (table, tree, o) = setup(2 * WAITERS + 2);
    let t = table.mdl_object(1, "db.t");
    let ([reader, ddl], rest) = o.split_at(2) else { unreachable!() };
    let (line, behind) = rest.split_at(WAITERS);
    reader.mdl_lock(t, MdlMode::Read, TX, Wait::No).unwrap();
    std::thread::scope(|s| {
        let tree = &tree;
        let alters = waiting(s, ddl, || {
            let got = ddl.mdl_lock(t, MdlMode::Exclusive, TX, LONG);
            ddl.mdl_end_transaction();
            got
        });
        waited_for(s, tree, line, behind);
        for o in line {
            o.set_weight(3);
            s.spawn(move || {
                o.mdl_lock(t, if o.id() % 2 == 0 { MdlMode::Read } else { MdlMode::Write }, TX, LONG).unwrap();
                o.mdl_end_transaction();
                o.release_all();
            });
        }
        until(|| table.waiting().len() == 2 * WAITERS + 1);
        // One edge each: to the reader, through the DDL.
        assert!(table.graph.steps() <= WAITERS as u64, "{} steps", table.graph.steps());
        reader.set_weight(5);
        let before = table.graph.steps();
        assert_eq!(reader.lock_record(tree, &row_of(WAITERS - 1), Exclusive, LONG), waited(None));
        assert!(table.graph.steps() - before <= 4, "{} steps", table.graph.steps() - before);
        assert_eq!(table.last_deadlock().unwrap().members.len(), 3);
        assert_eq!(alters.join().unwrap(), Err(LockError::Deadlock), "of the members it has changed least");
        reader.release_all();
        reader.mdl_end_transaction();
    });
    assert!(tree.no_records() && table.metadata_locks().is_empty() && table.waits().is_empty());
}

/// Two that raise their locks on a table: the second sees the first, which stands in front and holds what it waits for.
#[test]
fn two_raises_of_a_metadata_lock_are_a_deadlock() {
    let (table, _tree, o) = setup(3);
    let t = table.mdl_object(1, "db.t");
    (0..3).for_each(|i| o[i].set_weight(5 - i as u64));
    o[0].mdl_lock(t, MdlMode::Write, TX, Wait::No).unwrap();
    o[1].mdl_lock(t, MdlMode::Write, TX, Wait::No).unwrap();
    std::thread::scope(|s| {
        let stranger = waiting(s, &o[2], || o[2].mdl_lock(t, MdlMode::Exclusive, TX, LONG));
        let first = waiting(s, &o[0], || o[0].mdl_lock(t, MdlMode::Exclusive, TX, LONG));
        assert_eq!(o[1].mdl_lock(t, MdlMode::NoWrite, TX, LONG), Err(LockError::Deadlock));
        assert!(o[2].is_waiting(), "it is no member of the cycle");
        o[1].mdl_end_transaction();
        assert_eq!(first.join().unwrap(), Ok(()));
        o[0].mdl_end_transaction();
        assert_eq!(stranger.join().unwrap(), Ok(()));
    });
}

/// UNLOCK TABLES of two tables, for which a RENAME and writers wait that came before it: the RENAME is first in both.
#[test]
fn nobody_comes_into_a_row_of_locks() {
    let (table, _tree, o) = setup(4);
    let objects = [table.mdl_object(1, "a"), table.mdl_object(2, "b"), table.mdl_object(3, "c")];
    for object in objects {
        o[0].mdl_lock(object, MdlMode::Exclusive, MdlDuration::Explicit, Wait::No).unwrap();
    }
    let order = AtomicU64::new(1);
    std::thread::scope(|s| {
        let writers = [1, 2].map(|i| {
            let (o, order) = (&o[i], &order);
            waiting(s, o, move || {
                o.mdl_lock(objects[i], MdlMode::Write, TX, LONG).unwrap();
                let came = order.fetch_add(1, SeqCst);
                o.mdl_end_transaction();
                came
            })
        });
        let rename = waiting(s, &o[3], || {
            let mut row = MdlRow::new(&o[3], &objects);
            objects.iter().for_each(|object| row.lock(*object, TX, LONG).unwrap());
            drop(row);
            let came = order.fetch_add(1, SeqCst);
            o[3].mdl_end_transaction();
            came
        });
        // The holder goes on meanwhile, whatever waits.
        assert_eq!(o[0].mdl_lock(objects[1], MdlMode::Exclusive, TX, Wait::No), Ok(()));
        o[0].mdl_end_transaction();
        o[0].mdl_release_explicit();
        assert_eq!(rename.join().unwrap(), 1);
        writers.into_iter().for_each(|w| assert!(w.join().unwrap() > 1));
    });
    assert!(table.metadata_locks().is_empty());
    // A row that ends early leaves no place behind.
    o[0].mdl_lock(objects[0], MdlMode::Exclusive, TX, Wait::No).unwrap();
    o[1].mdl_lock(objects[1], MdlMode::Write, TX, Wait::No).unwrap();
    std::thread::scope(|s| {
        let rename = waiting(s, &o[3], || {
            let mut row = MdlRow::new(&o[3], &objects);
            row.lock(objects[0], TX, LONG).unwrap();
            row.lock(objects[1], TX, SHORT)
        });
        o[0].mdl_end_transaction();
        assert_eq!(rename.join().unwrap(), Err(LockError::Timeout));
    });
    assert_eq!(o[2].mdl_lock(objects[2], MdlMode::Write, TX, Wait::No), Ok(()));
    assert_eq!(o[2].mdl_lock(objects[1], MdlMode::Write, TX, Wait::No), Ok(()));
}

/// A place in a line counts in the search for deadlocks, like a request.
#[test]
fn a_deadlock_through_a_place() {
    let (table, _tree, o) = setup(3);
    let objects = [table.mdl_object(1, "a"), table.mdl_object(2, "b"), table.mdl_object(3, "c")];
    o[0].mdl_lock(objects[0], MdlMode::Exclusive, TX, Wait::No).unwrap();
    o[0].mdl_lock(objects[2], MdlMode::Exclusive, MdlDuration::Explicit, Wait::No).unwrap();
    o[1].mdl_lock(objects[1], MdlMode::Write, TX, Wait::No).unwrap();
    o[1].set_weight(5);
    std::thread::scope(|s| {
        let writer = waiting(s, &o[1], || o[1].mdl_lock(objects[2], MdlMode::Write, TX, LONG));
        let rename = waiting(s, &o[2], || {
            let mut row = MdlRow::new(&o[2], &objects);
            let got = objects.iter().try_for_each(|object| row.lock(*object, TX, LONG));
            drop(row);
            o[2].mdl_end_transaction();
            got
        });
        // The rename gets `a`, has a place before the writer at `c`, and waits for the writer at `b`.
        o[0].mdl_end_transaction();
        assert_eq!(rename.join().unwrap(), Err(LockError::Deadlock));
        o[0].mdl_release_explicit();
        assert_eq!(writer.join().unwrap(), Ok(()));
    });
}

#[test]
fn waits_are_summed_up_by_object() {
    let (table, _tree, o) = setup(3);
    let t = table.mdl_object(1, "db.t");
    o[0].mdl_lock(t, MdlMode::Write, TX, Wait::No).unwrap();
    // What need not wait, or may not, is none.
    assert_eq!(o[1].mdl_lock(t, MdlMode::Exclusive, TX, Wait::No), Err(LockError::WouldWait));
    assert!(table.mdl_waits().is_empty());
    assert_eq!(o[1].mdl_lock(t, MdlMode::Exclusive, TX, SHORT), Err(LockError::Timeout));
    std::thread::scope(|s| {
        let ddl = waiting(s, &o[1], || o[1].mdl_lock(t, MdlMode::Exclusive, TX, LONG));
        let reader = waiting(s, &o[2], || o[2].mdl_lock(t, MdlMode::Read, TX, LONG));
        o[0].mdl_end_transaction();
        assert_eq!(ddl.join().unwrap(), Ok(()));
        o[1].mdl_end_transaction();
        assert_eq!(reader.join().unwrap(), Ok(()));
    });
    let waits = table.mdl_waits()[&1].clone();
    assert_eq!((&*waits.name, waits.writers.count, waits.readers.count), ("db.t", 2, 1));
    let all = waits.writers.and(waits.readers);
    assert!(all.min_ns > 0 && all.max_ns < all.total_ns && all.count == 3, "{all:?}");
    table.forget_mdl_waits();
    assert!(table.mdl_waits().is_empty());
    table.mdl_waited((1, "db.t".into()), MdlMode::Write, 5);
    table.mdl_forget(1);
    assert!(table.mdl_waits().is_empty());
}
