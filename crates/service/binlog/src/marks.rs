//! Where the rows of a transaction end among its events, so that those that are rolled back can go: 8 bytes a row.

/// Where a row ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Mark {
    /// Undo records of the transaction up to it.
    pub(crate) records: u64,
    /// Bytes of all items up to it.
    pub(crate) len: usize,
    /// Items up to it, and where the last of them begins.
    pub(crate) items: u32,
    pub(crate) at: usize,
}

/// Marks of one item, and how many come before them.
#[derive(Clone, Copy, Debug)]
struct Run {
    first: Mark,
    index: usize,
}

/// Marks in ascending order.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    runs: Vec<Run>,
    /// Records and bytes behind those of the run's first mark.
    rest: Vec<(u32, u32)>,
}

impl Marks {
    pub(crate) fn len(&self) -> usize {
        self.rest.len()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&self.runs[..]) + size_of_val(&self.rest[..])
    }

    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.rest.clear();
    }

    pub(crate) fn push(&mut self, mark: Mark) {
        if let Some(Run { first, .. }) = self.runs.last()
            && (first.at, first.items) == (mark.at, mark.items)
            && let Ok(records) = u32::try_from(mark.records - first.records)
            && let Ok(len) = u32::try_from(mark.len - first.len)
        {
            self.rest.push((records, len));
            return;
        }
        self.runs.push(Run { first: mark, index: self.rest.len() });
        self.rest.push((0, 0));
    }

    pub(crate) fn last(&self) -> Option<Mark> {
        let (Run { first, .. }, (records, len)) = (self.runs.last()?, self.rest.last()?);
        Some(Mark { records: first.records + u64::from(*records), len: first.len + *len as usize, ..*first })
    }

    /// How many have no more than so many records.
    pub(crate) fn upto(&self, records: u64) -> usize {
        let run = self.runs.partition_point(|run| run.first.records <= records);
        let Some(Run { first, index }) = run.checked_sub(1).and_then(|i| self.runs.get(i)) else { return 0 };
        let end = self.runs.get(run).map_or(self.rest.len(), |next| next.index);
        let own = self.rest.get(*index..end).unwrap_or_default();
        index + own.partition_point(|(more, _)| first.records + u64::from(*more) <= records)
    }

    /// Keeps the first `n`.
    pub(crate) fn truncate(&mut self, n: usize) {
        self.rest.truncate(n);
        let runs = self.runs.partition_point(|run| run.index < n);
        self.runs.truncate(runs);
    }
}

#[cfg(test)]
mod tests {
    use super::{Mark, Marks};

    #[test]
    fn marks_are_those_of_a_list() {
        let mut random = 7u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (random >> 33) % below
        };
        let (mut marks, mut list) = (Marks::default(), Vec::<Mark>::new());
        for _ in 0..20_000 {
            let last = list.last().copied().unwrap_or(Mark { records: 0, len: 9, items: 1, at: 0 });
            match next(12) {
                0 => {
                    let records = next(last.records + 3);
                    let n = list.partition_point(|m| m.records <= records);
                    assert_eq!(marks.upto(records), n);
                    list.truncate(n);
                    marks.truncate(n);
                }
                1 if next(40) == 0 => {
                    list.clear();
                    marks.clear();
                }
                kind => {
                    let far = if next(50) == 0 { 5 << 32 } else { 0 };
                    let mut mark = Mark { records: last.records + next(4) + far, len: last.len + 20, ..last };
                    if kind < 4 {
                        (mark.items, mark.at) = (last.items + 1, last.len);
                    }
                    list.push(mark);
                    marks.push(mark);
                }
            }
            assert_eq!((marks.len(), marks.last()), (list.len(), list.last().copied()));
        }
    }
}
