//! The four isolation levels as named steps: what InnoDB allows and what it forbids.

mod common;
use common::{key, script, with_tree};
use gannet_engine::*;

const ROWS: &str = "
    a: insert 10 x
    a: insert 20 y
    a: insert 30 z
";

fn run(text: &str) {
    script(&format!("{ROWS}{text}"));
}

#[test]
fn read_uncommitted_sees_dirty_rows() {
    run("
        a: begin ru
        b: begin
        b: put 10 new
        a: get 10 -> new
        b: insert 15 w
        a: scan 0 99 -> 10=new 15=w 20=y 30=z
        b: rollback
        a: scan 0 99 -> 10=x 20=y 30=z
    ");
}

#[test]
fn read_committed_sees_each_commit() {
    run("
        a: begin rc
        b: begin
        b: put 10 new
        a: get 10 -> x
        b: commit
        a: get 10 -> new
        b: del 20
        a: scan 0 99 -> 10=new 30=z
    ");
}

#[test]
fn repeatable_read_keeps_its_snapshot() {
    run("
        a: begin
        a: get 10 -> x
        b: put 10 new
        b: insert 40 w
        b: del 20
        a: get 10 -> x
        a: scan 0 99 -> 10=x 20=y 30=z
        a: scan 0 99 desc -> 30=z 20=y 10=x
        # a write acts on the newest row; then the writer sees its own version
        a: get 10 update -> new
        a: get 10 -> x
        a: put 10 mine
        a: get 10 -> mine
        a: get 40 -> -
        a: put 40 seen
        a: scan 0 99 -> 10=mine 20=y 30=z 40=seen
        a: put 20 gone -> missing
        a: commit
        a: scan 0 99 -> 10=mine 30=z 40=seen
    ");
}

#[test]
fn snapshot_is_taken_at_first_read_or_on_request() {
    run("
        a: begin
        b: put 10 one
        a: get 10 -> one
        a: commit
        a: begin
        a: snapshot
        b: put 10 two
        a: get 10 -> one
    ");
}

#[test]
fn many_versions_are_walked() {
    run("
        a: begin
        a: get 10 -> x
        b: put 10 longer_than_before
        b: put 10 s
        b: del 10
        b: insert 10 again
        b: put 10 again2
        c: begin
        c: get 10 -> again2
        b: del 10
        a: get 10 -> x
        c: get 10 -> again2
        b: get 10 -> -
        a: scan 0 99 -> 10=x 20=y 30=z
    ");
}

#[test]
fn lost_update_is_possible_at_repeatable_read_but_never_an_error() {
    run("
        a: begin
        b: begin
        a: get 10 -> x
        b: get 10 -> x
        a: put 10 fromA
        b: put 10 fromB -> blocks
        a: commit
        b => ok
        b: commit
        a: get 10 -> fromB
    ");
}

#[test]
fn serializable_reads_lock() {
    run("
        a: begin ser
        b: begin ser
        a: get 10 -> x
        b: get 10 -> x
        a: put 10 fromA -> blocks
        b: put 10 fromB -> deadlock
        a => ok
        a: commit
        b: get 10 -> fromA
    ");
}

#[test]
fn serializable_autocommit_reads_do_not_lock() {
    run("
        b: begin
        b: put 10 new
        a: begin ser
        a: get 10 -> blocks
        c: get 10 -> x
        b: rollback
        a => x
    ");
}

#[test]
fn writers_wait_and_see_the_newest() {
    run("
        a: begin
        b: begin
        a: put 10 a1
        b: put 10 b1 -> blocks
        a: rollback
        b => ok
        b: commit
        a: get 10 -> b1
        a: begin
        a: del 10
        b: begin
        b: put 10 b2 -> blocks
        a: commit
        b => missing
    ");
}

#[test]
fn insert_waits_for_the_inserter() {
    run("
        a: begin
        b: begin
        c: begin
        a: insert 15 a
        b: insert 15 b -> blocks
        a: commit
        b => dup
        b: get 15 -> a
        c: put 15 c -> blocks     # the duplicate is locked shared
        b: commit
        c => ok
        c: commit
        a: begin
        a: insert 16 a
        b: begin
        b: insert 16 b -> blocks
        a: rollback
        b => ok
        b: commit
        a: get 16 -> b
    ");
}

#[test]
fn insert_over_a_deleted_row() {
    run("
        a: begin
        a: get 10 -> x
        b: del 10
        b: begin
        b: insert 10 b1
        a: get 10 -> x
        b: rollback
        c: get 10 -> -
        c: insert 10 c1
        a: get 10 -> x
        c: get 10 -> c1
        a: commit
        a: begin
        a: del 10
        b: begin
        b: insert 10 b2 -> blocks
        a: commit
        b => ok
        b: commit
        c: get 10 -> b2
    ");
}

#[test]
fn duplicate_for_replace_is_locked_exclusively() {
    run("
        a: begin
        a: replace 10 n -> dup
        b: begin short
        b: get 10 share -> timeout
        a: put 10 n
        a: commit
        b: get 10 share -> n
    ");
}

#[test]
fn savepoints_and_statement_rollback() {
    run("
        a: begin
        a: put 10 one
        a: save s1
        a: put 10 two
        a: insert 50 e
        a: del 20
        a: scan 0 99 -> 10=two 30=z 50=e
        a: save s2
        a: insert 20 again
        a: back s2
        a: scan 0 99 -> 10=two 30=z 50=e
        b: scan 0 99 -> 10=x 20=y 30=z
        a: back s1
        a: scan 0 99 -> 10=one 20=y 30=z
        a: del 30
        a: commit
        b: scan 0 99 -> 10=one 20=y
    ");
}

#[test]
fn what_was_undone_is_not_waited_for() {
    // Whoever found the stamp that is gone waits for the transaction's end still.
    script(
        "
        a: insert 10 x
        a: insert 20 y
        a: iins 4/4
        a: begin
        a: put 20 new
        a: save s
        a: put 10 new
        a: idel 4/4
        b: begin
        b: get 10 share -> blocks
        c: begin
        c: iscan 3 4 share -> blocks
        a: back s
        d: begin
        d: get 10 update nowait -> nowait
        a: put 10 again
        a: back s
        a: get 10 update -> x
        a: iscan 3 4 update -> 4/4
        a: idel 4/4
        d: get 10 share nowait -> nowait
        a: commit
        b => x
        c => -
        b: rollback
        d: get 10 update -> x
    ",
    );
}

#[test]
fn deadlock_rolls_one_back_at_once() {
    run("
        a: begin
        b: begin
        a: put 10 a
        b: put 20 b
        b: put 30 b
        b: put 10 b -> blocks
        a: put 20 a -> deadlock   # the lighter one
        b => ok
        b: commit
        a: scan 0 99 -> 10=b 20=b 30=b
    ");
}

#[test]
fn read_only_refuses_writes() {
    run("
        a: begin rr readonly
        a: put 10 n -> readonly
        a: insert 11 n -> readonly
        a: get 10 -> x
    ");
}

#[test]
fn locking_reads_conflict_as_they_should() {
    run("
        a: begin
        b: begin
        c: begin short
        a: get 10 share -> x
        b: get 10 share -> x
        c: get 10 update -> timeout
        c: get 10 update nowait -> nowait
        c: get 10 update skip -> skipped
        c: scan 0 99 update skip -> 20=y 30=z
        c: rollback
        a: put 10 a -> blocks
        b: commit
        a => ok
        c: begin short
        c: get 10 share nowait -> nowait
        c: get 10 share skip -> skipped
        c: get 10 -> x
    ");
}

#[test]
fn queue_table_workers_take_different_rows() {
    run("
        a: begin
        b: begin
        c: begin
        a: scan 0 99 update skip limit=1 -> 10=x
        b: scan 0 99 update skip limit=1 -> 20=y
        c: scan 0 99 update skip limit=1 -> 30=z
        a: del 10
        b: del 20
        c: del 30
        a: commit
        b: commit
        c: commit
        a: scan 0 99 -> -
    ");
}

// ---- gaps ----

#[test]
fn missing_key_locks_its_gap_without_blocking_other_readers() {
    run("
        a: begin
        b: begin short
        a: get 15 update -> -
        b: get 15 update nowait -> -      # gaps do not conflict
        b: insert 16 n -> timeout
        b: insert 11 n -> timeout
        b: insert 21 n
        b: insert 9 n
        b: rollback
        c: begin
        c: insert 15 n -> blocks
        a: commit
        c => ok
    ");
}

#[test]
fn unique_hit_locks_the_record_only() {
    run("
        a: begin
        a: get 20 update -> y
        b: begin short
        b: insert 15 n
        b: insert 25 n
        b: put 20 n -> timeout
    ");
}

#[test]
fn range_locks_rows_and_gaps_up_to_the_next_key() {
    run("
        a: begin
        a: scan 10 22 update -> 10=x 20=y
        b: begin short
        b: insert 9 n                     # the gap before an exact lower bound is outside
        b: insert 15 n -> timeout
        b: insert 25 n -> timeout         # the whole gap up to the first key beyond the range
        b: put 30 n                       # but not that key
        b: put 20 n -> timeout
        b: put 10 n -> timeout
        b: insert 35 n
        b: rollback
        c: begin
        c: insert 12 n -> blocks
        a: scan 10 22 update -> 10=x 20=y  # no phantom
        a: commit
        c => ok
    ");
}

#[test]
fn range_that_ends_on_a_row_ends_there() {
    run("
        a: begin
        a: scan 5 20 update -> 10=x 20=y
        b: begin short
        b: insert 25 n
        b: insert 4 n -> timeout          # gaps are locked as a whole
        b: put 20 n -> timeout
    ");
}

#[test]
fn range_to_the_end_locks_the_supremum() {
    run("
        a: begin
        a: scan 25 99 share -> 30=z
        b: begin short
        b: insert 1000 n -> timeout
        b: insert 26 n -> timeout
        b: insert 19 n
    ");
}

#[test]
fn backward_range_locks() {
    run("
        a: begin
        a: scan 15 99 update desc -> 30=z 20=y
        b: begin short
        b: insert 1000 n -> timeout
        b: insert 26 n -> timeout
        b: insert 16 n -> timeout
        b: insert 12 n -> timeout
        b: put 10 n
        b: insert 5 n
    ");
}

#[test]
fn read_committed_locks_no_gaps_and_unlocks_misses() {
    run("
        a: begin rc
        a: scan 10 20 update -> 10=x 20=y
        b: begin short
        b: insert 15 n
        b: put 10 n -> timeout
        b: rollback
        a: commit
        a: begin rc
        a: scan 0 99 update only=y -> 20=y
        b: begin short
        b: put 10 n
        b: put 30 n
        b: put 20 n -> timeout
    ");
}

#[test]
fn phantom_is_prevented_for_locking_reads() {
    run("
        a: begin
        a: scan 0 99 share -> 10=x 20=y 30=z
        b: begin
        b: insert 40 n -> blocks
        a: scan 0 99 share -> 10=x 20=y 30=z
        a: insert 41 mine
        a: commit
        b => ok
        b: commit
        a: scan 0 99 -> 10=x 20=y 30=z 40=n 41=mine
    ");
}

#[test]
fn mutual_gap_locks_deadlock_on_insert() {
    run("
        a: begin
        b: begin
        a: get 15 update -> -
        b: get 15 update -> -
        a: insert 15 a -> blocks
        b: insert 15 b -> deadlock
        a => ok
        a: commit
        b: get 15 -> a
    ");
}

#[test]
fn aborted_insert_lets_the_waiters_go_on_in_order() {
    run("
        a: begin
        b: begin
        c: begin
        a: insert 15 a
        b: insert 15 b -> blocks
        c: insert 15 c -> blocks
        a: rollback
        b => ok
        b: commit
        c => dup
        c: commit
        a: get 15 -> b
    ");
}

// ---- index trees ----

#[test]
fn index_entries_are_versioned() {
    script(
        "
        a: iins 5/1
        a: iins 5/2
        a: iins 6/3
        b: begin
        b: iscan 5 5 -> 5/1 5/2
        a: idel 5/1
        a: iins 7/1
        b: iscan 0 9 -> 5/1 5/2 6/3
        a: iscan 0 9 -> 5/2 6/3 7/1
        a: idel 7/1
        a: iins 5/1
        b: iscan 0 9 -> 5/1 5/2 6/3
        b: iscan 0 9 desc -> 6/3 5/2 5/1
        a: iscan 0 9 desc -> 6/3 5/2 5/1
        b: commit
        b: iscan 0 9 -> 5/1 5/2 6/3
    ",
    );
}

#[test]
fn index_changes_roll_back() {
    script(
        "
        a: iins 5/1
        a: begin
        a: idel 5/1
        a: iins 5/1
        a: save s
        a: idel 5/1
        a: iins 5/1
        a: idel 5/1
        a: iscan 0 9 -> -
        a: back s
        a: iscan 0 9 -> 5/1
        a: iins 6/1
        a: rollback
        a: iscan 0 9 -> 5/1
        b: iscan 0 9 -> 5/1
    ",
    );
}

#[test]
fn unique_index_waits_and_refuses() {
    script(
        "
        a: iuniq 5/1
        b: iuniq 5/2 -> dup 5/1
        a: begin
        a: iuniq 6/1
        b: begin
        b: iuniq 6/2 -> blocks
        a: commit
        b => dup 6/1
        b: rollback
        a: begin
        a: idel 6/1
        b: begin
        b: iuniq 6/2 -> blocks
        a: rollback
        b => dup 6/1
        b: rollback
        a: idel 6/1
        b: iuniq 6/2
        b: iscan 0 9 -> 5/1 6/2
    ",
    );
}

#[test]
fn index_range_locks_stop_inserts() {
    script(
        "
        a: iins 5/1
        a: iins 7/2
        a: begin
        a: iscan 5 5 update -> 5/1
        b: begin short
        b: iins 5/9 -> timeout
        b: iins 6/9 -> timeout
        b: iins 4/9 -> timeout
        b: iins 8/9
    ",
    );
}

#[test]
fn unique_equality_on_an_index_locks_the_record_only() {
    script(
        "
        a: iins 5/1
        a: iins 7/2
        a: begin
        a: iscan 5 5 update unique -> 5/1
        b: begin short
        b: iins 6/9
        b: iins 4/9
        b: iuniq 5/9 -> timeout
    ",
    );
}

#[test]
fn an_entry_is_the_lock_of_its_writer() {
    // Whoever waits for the writer has a lock on the entry's name, and may not keep the writer from it.
    script(
        "
        a: iins 4/4
        a: iins 6/1
        a: begin
        a: idel 4/4
        b: begin
        b: iscan 3 4 share -> blocks
        a: iins 4/4
        a: idel 4/4
        a: iins 4/4
        a: commit
        b => 4/4
        b: rollback
        a: begin
        a: iins 5/5
        b: begin
        b: iscan 5 5 update -> blocks
        a: idel 5/5
        a: iins 5/5
        a: rollback
        b => -
        b: rollback
        a: begin
        a: iuniq 7/1
        b: begin
        b: iscan 7 7 update -> blocks
        a: iuniq 7/2 -> dup 7/1
        a: idel 7/1
        a: iuniq 7/1
        a: rollback
        b => -
        b: rollback
        a: begin
        a: idel 6/1
        b: begin
        b: iuniq 6/2 -> blocks
        a: iuniq 6/3
        a: idel 6/3
        a: iuniq 6/1
        a: commit
        b => dup 6/1
        b: rollback
        # What another has locked before is waited for all the same.
        b: begin
        b: iscan 6 6 share unique -> 6/1
        a: begin short
        a: idel 6/1 -> timeout
    ",
    );
}

/// What a scan gives that takes rows at hand, but those that `leaves` says, between the ones it asks for; and how many
/// were at hand.
fn taken(t: &mut Txn, tree: &TreeHandle, leaves: impl Fn(usize) -> bool) -> (Vec<Vec<u8>>, u64) {
    let mut scan = t.scan(tree, KeyRange::ALL, ScanOptions::default()).unwrap();
    let (mut rows, mut at_hand) = (Vec::<Vec<u8>>::new(), 0);
    while let Some(row) = scan.next_row(t).unwrap() {
        rows.push(row.to_vec());
        let before = rows.len();
        let n = scan.take_at_hand(t, |row| {
            let takes = !leaves(rows.len());
            takes.then(|| rows.push(row.to_vec()));
            takes
        });
        assert_eq!(rows.len() - before, n as usize);
        at_hand += n;
    }
    (rows, at_hand)
}

#[test]
fn rows_at_hand_are_the_rows_of_the_scan() {
    let (_dir, engine, tree) = with_tree();
    let put = |t: &mut Txn, k: u64, row: &[u8]| assert_eq!(t.insert(&tree, &key(k), row), Ok(Insert::Inserted));
    let mut old = engine.begin(TxnOptions::default());
    for k in 0..600 {
        put(&mut old, k, format!("row {k}").as_bytes());
    }
    // A row outside of its leaf.
    put(&mut old, 600, &vec![7; 40_000]);
    old.commit().unwrap();
    // Once no more transactions come, those that have ended are everybody's.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let mut own = loop {
        let mut t = engine.begin(TxnOptions::default());
        if taken(&mut t, &tree, |_| false).1 > 0 {
            break t;
        }
        assert!(std::time::Instant::now() < deadline, "no row is at hand");
        t.rollback().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    let seen = |t: &mut Txn| {
        let mut scan = t.scan(&tree, KeyRange::ALL, ScanOptions::default()).unwrap();
        let mut rows = Vec::new();
        while let Some(entry) = scan.next(t).unwrap() {
            rows.push(entry.value.to_vec());
        }
        rows
    };
    assert_eq!(seen(&mut own).len(), 601);
    // Its own changes, and those of others it does not see: removed, changed and new ones, committed and not.
    assert_eq!(own.delete(&tree, &key(3)), Ok(Delete::Deleted));
    assert_eq!(own.update(&tree, &key(5), b"mine"), Ok(Update::Updated));
    put(&mut own, 1_000, b"mine, too");
    let mut other = engine.begin(TxnOptions::default());
    for k in (10..500).step_by(7) {
        assert_eq!(other.update(&tree, &key(k), b"not mine"), Ok(Update::Updated));
        assert_eq!(other.delete(&tree, &key(k + 1)), Ok(Delete::Deleted));
    }
    put(&mut other, 2_000, b"not mine");
    let check = |t: &mut Txn| {
        let all = seen(t);
        assert_eq!(taken(t, &tree, |_| false).0, all);
        assert_eq!(taken(t, &tree, |n| n % 3 == 1).0, all);
        all.len()
    };
    assert!(taken(&mut own, &tree, |_| false).1 > 300);
    assert_eq!(check(&mut own), 601);
    other.commit().unwrap();
    assert_eq!(check(&mut own), 601);
    own.commit().unwrap();
    assert_eq!(check(&mut engine.begin(TxnOptions::default())), 602 - 70);
}
