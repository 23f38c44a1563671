//! Intervals, against a plain list.

use gannet_base::sync::Arc;

use crate::Cut;
use crate::owner::Owner;
use crate::treap::{OwnedCut, Side, Treap};

#[test]
fn cuts_are_ordered() {
    let cuts = [Cut::Min, Cut::Before(b""), Cut::After(b""), Cut::Before(b"a"), Cut::After(b"a"), Cut::Max];
    for (i, a) in cuts.iter().enumerate() {
        for (j, b) in cuts.iter().enumerate() {
            assert_eq!(OwnedCut::new(*a).cmp_cut(*b), i.cmp(&j));
            assert_eq!(OwnedCut::new(*a).cmp(&OwnedCut::new(*b)), i.cmp(&j));
        }
    }
}

#[test]
fn agrees_with_a_plain_list() {
    let owners: Vec<_> = (0..5).map(|i| Arc::new(Owner::new(i, i))).collect();
    let mut treap = Treap::default();
    let mut list: Vec<(OwnedCut, OwnedCut, u64)> = Vec::new();
    let mut seed = 99u64;
    let mut random = move |n: u64| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) % n
    };
    let cut = |v: u64| {
        let key = [(v / 2 % 60) as u8];
        let side = if v.is_multiple_of(2) { Side::Before } else { Side::After };
        match v {
            0 => OwnedCut::Min,
            121 => OwnedCut::Max,
            _ => OwnedCut::At(key[..].into(), side),
        }
    };
    for _ in 0..5000 {
        let (a, b, o) = (random(121), random(122), random(5));
        let (low, high) = (cut(a.min(b)), cut(a.max(b)));
        let longer = (random(4) == 0).then(|| list.iter_mut().find(|x| x.2 == o && x.1 < high)).flatten();
        if let Some(longer) = longer {
            treap.extend(&longer.0, o, &high);
            longer.1 = high;
        } else if random(5) < 3 && !list.iter().any(|x| x.0 == low && x.2 == o) {
            treap.insert(low.clone(), high.clone(), owners[o as usize].clone());
            list.push((low, high, o));
        } else if !list.is_empty() {
            let gone = list.swap_remove(random(list.len() as u64) as usize);
            treap.remove(&gone.0, gone.2);
        }
        let key = [random(60) as u8];
        let mut found = Vec::new();
        treap.over(&key, |owner| {
            found.push(owner.id);
            true
        });
        let covers = |x: &&(OwnedCut, OwnedCut, u64)| {
            x.0.cmp_cut(Cut::Before(&key)).is_le() && x.1.cmp_cut(Cut::After(&key)).is_ge()
        };
        let mut want: Vec<_> = list.iter().filter(covers).map(|x| x.2).collect();
        found.sort();
        want.sort();
        assert_eq!(found, want);
        assert_eq!(treap.iter().count(), list.len());
    }
}
