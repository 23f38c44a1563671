//! Byte differences between two versions of a row.
//!
//! A difference is a list of `(copy varint, skip varint, bytes prefixed)`: copy so many bytes of the newer version,
//! skip so many, and put these bytes in their place. The bytes behind the last item are equal in both versions.

use gannet_base::{DecodeError, Reader, Writer};
use gannet_page::node::{common_prefix, common_suffix};

/// Equal bytes between two differing stretches that are worth ending a stretch for.
const MIN_RUN: usize = 6;

/// Where two rows differ.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    /// Bytes at the start that are equal.
    pub front: usize,
    /// Where it ends in the older row.
    pub older: usize,
    /// Where it ends in the newer row. The bytes behind are equal.
    pub newer: usize,
}

impl Part {
    pub(crate) fn of(older: &[u8], newer: &[u8]) -> Part {
        let front = common_prefix(older, newer);
        let back = common_suffix(&older[front..], &newer[front..]);
        Part { front, older: older.len() - back, newer: newer.len() - back }
    }

    /// There is no difference.
    pub(crate) fn is_empty(&self) -> bool {
        self.front == self.older && self.front == self.newer
    }
}

/// Appends to `out` what turns `newer` into `older`; they differ in `part` alone.
pub(crate) fn encode(older: &[u8], newer: &[u8], part: Part, out: &mut Vec<u8>) {
    if part.is_empty() {
        return;
    }
    let (prefix, o, n) = (part.front, &older[part.front..part.older], &newer[part.front..part.newer]);
    let mut w = Writer::new(out);
    if o.len() != n.len() {
        w.varint(prefix as u64).varint(n.len() as u64).prefixed(o);
        return;
    }
    let (mut at, mut copy) = (0, prefix);
    while at < o.len() {
        // A stretch ends at MIN_RUN equal bytes or at the end; its last byte differs. Looked for from behind, most of
        // the bytes of a stretch need not be looked at.
        let mut end = at + 1;
        loop {
            let run = end..end + MIN_RUN;
            let (Some(a), Some(b)) = (o.get(run.clone()), n.get(run)) else {
                end = o.len();
                break;
            };
            let Some(last) = (0..MIN_RUN).rfind(|&i| a[i] != b[i]) else { break };
            end += last + 1;
        }
        w.varint(copy as u64).varint((end - at) as u64).prefixed(&o[at..end]);
        let next = end + common_prefix(&o[end..], &n[end..]);
        copy = next - end;
        at = next;
    }
}

/// Appends to `out` the older version, from the newer one and the difference.
pub(crate) fn apply(newer: &[u8], diff: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut items = Reader::new(diff);
    let mut rest = newer;
    while !items.is_empty() {
        let copy = items.varint()?;
        let skip = items.varint()?;
        let bytes = items.prefixed(gannet_base::PAGE_SIZE)?;
        let copy = usize::try_from(copy).ok().filter(|&c| c <= rest.len()).ok_or(items.invalid("copy past the row"))?;
        out.extend_from_slice(&rest[..copy]);
        rest = &rest[copy..];
        let skip = usize::try_from(skip).ok().filter(|&s| s <= rest.len()).ok_or(items.invalid("skip past the row"))?;
        rest = &rest[skip..];
        out.extend_from_slice(bytes);
    }
    out.extend_from_slice(rest);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(older: &[u8], newer: &[u8]) -> usize {
        let (mut diff, mut back) = (Vec::new(), Vec::new());
        let part = Part::of(older, newer);
        assert_eq!([&older[..part.front], &newer[part.front..part.newer], &older[part.older..]].concat(), newer);
        encode(older, newer, part, &mut diff);
        apply(newer, &diff, &mut back).unwrap();
        assert_eq!(back, older, "newer {newer:?} diff {diff:?}");
        diff.len()
    }

    #[test]
    fn small_changes_are_small() {
        let a: Vec<u8> = (0..200).collect();
        let mut b = a.clone();
        b[10] = 0;
        b[150] = 0;
        assert_eq!(round(&a, &b), 8 + 1); // two items of four bytes, one copy length of two
        assert_eq!(round(&a, &a), 0);
    }

    #[test]
    fn all_pairs_of_short_strings() {
        let strings: Vec<Vec<u8>> = (0..4usize.pow(4))
            .map(|n| (0..4).map(|i| (n >> (2 * i) & 3) as u8).filter(|&d| d != 3).collect())
            .collect();
        for a in &strings {
            for b in &strings {
                round(a, b);
            }
        }
    }

    #[test]
    fn random_edits_and_damage() {
        let mut x = 12345u64;
        let mut rnd = move |n: usize| {
            x = x.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (x >> 33) as usize % n.max(1)
        };
        for _ in 0..2000 {
            let a: Vec<u8> = (0..rnd(300)).map(|_| rnd(3) as u8).collect();
            let mut b = a.clone();
            for _ in 0..rnd(6) {
                let at = rnd(b.len() + 1);
                match rnd(3) {
                    0 => b.insert(at, rnd(256) as u8),
                    1 if at < b.len() => drop(b.remove(at)),
                    _ if at < b.len() => b[at] ^= 1,
                    _ => {}
                }
            }
            round(&a, &b);
            let noise: Vec<u8> = (0..rnd(20)).map(|_| rnd(256) as u8).collect();
            let _ = apply(&b, &noise, &mut Vec::new());
        }
    }
}
