//! Who is served next.

use gannet_base::sync::Arc;

use crate::line::{BATCH_NS, Line, Waiter};
use crate::owner::{Owner, Target};
use crate::types::Ticket;
use gannet_base::TrxId;

fn waiter(id: u64, ticket: Ticket, site: usize) -> Waiter {
    let wait = Arc::new(Owner::new(id, 0)).begin_wait(Target::Trx { trx: TrxId::ZERO, at: None });
    Waiter { wait, ticket, site }
}

fn line(sites: &[usize]) -> Line {
    let mut line = Line::default();
    for (i, &site) in sites.iter().enumerate() {
        line.add(waiter(i as u64, Ticket::new(i as u64 + 1, false), site));
    }
    line
}

/// Serves all: the record is let go where the last one ran. `arrives` adds somebody after each turn.
fn serve(line: &mut Line, now: impl Fn(u64) -> u64, mut arrives: impl FnMut(u64) -> Option<usize>) -> Vec<u64> {
    let (mut site, mut turns, mut order) = (0, 0, Vec::new());
    while let Some(w) = line.take_next(site, now(turns)) {
        site = w.site;
        order.push(w.wait.owner.id);
        turns += 1;
        if let Some(site) = arrives(turns) {
            let id = 100 + turns;
            line.add(waiter(id, Ticket::new(id, false), site));
        }
    }
    order
}

#[test]
fn those_who_run_together_are_served_together() {
    let mut line = line(&[0, 1, 2, 0, 1, 2, 0]);
    assert_eq!(serve(&mut line, |_| 0, |_| None), [0, 3, 6, 1, 4, 2, 5]);
    assert!(line.by_site.is_empty() && line.is_empty());
}

#[test]
fn who_comes_after_a_batch_has_begun_is_not_of_it() {
    let mut line = line(&[0, 1, 0, 1]);
    // The first's site is never empty: the others are served all the same, before anybody who came later.
    let order = serve(&mut line, |_| 0, |n| (n <= 4).then_some(0));
    assert_eq!(order, [0, 2, 1, 3, 101, 102, 103, 104]);
}

#[test]
fn a_batch_ends_with_its_time() {
    let mut line = line(&[0, 1, 0, 1]);
    assert_eq!(serve(&mut line, |n| n * BATCH_NS, |_| None), [0, 1, 2, 3]);
}

#[test]
fn a_raise_is_not_passed_over() {
    let mut line = line(&[0, 0, 0]);
    assert_eq!(line.take_next(0, 0).map(|w| w.wait.owner.id), Some(0));
    line.add(waiter(9, Ticket::new(50, true), 1));
    assert_eq!(line.take_next(0, 0).map(|w| w.wait.owner.id), Some(9));
}
