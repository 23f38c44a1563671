//! Late columns: of a scan from end to end whose filter passes few rows, the columns that the filter does not look at
//! are taken from the rows that have passed it. Rows that fail the conditions that the filter begins with are not taken
//! at all, where these compare a column with a constant.

use crate::batch::Batch;
use crate::bound::Test;
use gannet_plan::expr::ExprKind;
use gannet_plan::physical::{Access, LockStrength, ROW_ID, TableScan};
use gannet_schema::Table;
use gannet_types::{Result, SqlError};

/// Of which columns that is to be so, and the rows of the batch at hand.
pub(super) struct Late {
    /// Which delivered columns the filter looks at.
    early: Box<[bool]>,
    /// There are others.
    some: bool,
    /// The rows as they are stored, one behind the other, and where each ends.
    rows: Vec<u8>,
    ends: Vec<usize>,
    /// Few rows passed the filter last time.
    pub(super) pays: bool,
    /// What is asked of a row before it is taken; `None` until the scan has begun.
    tests: Option<Vec<Test>>,
    /// Rows of the batch at hand that have failed these.
    pub(super) failed: usize,
}

impl Late {
    /// Where that is of use: `None` otherwise.
    pub(super) fn of(scan: &TableScan, access: &Access) -> Option<Late> {
        let filter = scan.filter.as_ref()?;
        let plain = matches!(access, Access::Full)
            && !scan.covering
            && scan.lock.strength == LockStrength::None
            && scan.columns.iter().all(|c| *c < ROW_ID);
        let mut early = vec![false; scan.columns.len()];
        let deep = filter.any(&mut |e| match &e.kind {
            ExprKind::Column(n) => match early.get_mut(*n as usize) {
                Some(early) => {
                    *early = true;
                    false
                }
                None => true,
            },
            ExprKind::Subquery(_) | ExprKind::Match(_) => true,
            _ => false,
        });
        (plain && !deep).then(|| Late {
            some: early.iter().any(|early| !early),
            early: early.into(),
            rows: Vec::new(),
            ends: Vec::new(),
            pays: true,
            tests: None,
            failed: 0,
        })
    }

    /// The scan begins, now or anew: constants may have changed.
    pub(super) fn begins(&mut self) {
        (self.tests, self.failed) = (None, 0);
    }

    /// Rows are to be taken; `tests` makes what is asked of them.
    pub(super) fn prepare(&mut self, tests: impl FnOnce() -> Vec<Test>) {
        self.tests.get_or_insert_with(tests);
    }

    /// Takes a row, unless it fails the filter.
    pub(super) fn take(&mut self, table: &Table, payload: &[u8], columns: &[u32], batch: &mut Batch) -> Result<()> {
        let row = table.layout().open(payload)?;
        for test in self.tests.iter().flatten() {
            if !test.may_pass(row.get(columns[test.column] as usize)?) {
                self.failed += 1;
                return Ok(());
            }
        }
        for ((column, ordinal), early) in batch.columns.iter_mut().zip(columns).zip(&self.early) {
            if *early {
                column.push_stored(&row, *ordinal as usize)?;
            }
        }
        if self.some {
            self.rows.extend_from_slice(payload);
            self.ends.push(self.rows.len());
        }
        batch.rows += 1;
        Ok(())
    }

    /// So many of the rows that were taken have passed the filter.
    pub(super) fn saw(&mut self, taken: usize, passed: usize) {
        let failed = std::mem::take(&mut self.failed);
        if self.pays && failed * 4 < taken {
            // Most are taken all the same.
            self.tests = Some(Vec::new());
        }
        self.pays = passed * 2 < taken + failed;
    }

    fn row(&self, n: usize) -> Result<&[u8]> {
        let start = if n == 0 { 0 } else { self.ends[n - 1] };
        self.rows.get(start..self.ends[n]).ok_or_else(|| SqlError::internal("a row that was not taken"))
    }

    /// The `kept` rows of a batch, with all their columns, into `some`: the batch itself where all were kept, else a
    /// fresh one. The rows that were taken are gone.
    pub(super) fn complete(
        &mut self,
        table: &Table,
        columns: &[u32],
        (batch, kept): (&Batch, &[u32]),
        some: &mut Batch,
    ) -> Result<()> {
        let layout = table.layout();
        for (n, early) in self.early.iter().enumerate() {
            let column = &mut some.columns[n];
            match (early, batch.columns.get(n)) {
                (true, None) => {}
                (true, Some(from)) => *column = from.gather(kept),
                (false, _) => {
                    for row in kept {
                        let row = layout.open(self.row(*row as usize)?)?;
                        column.push_stored(&row, columns[n] as usize)?;
                    }
                }
            }
        }
        some.rows = kept.len();
        self.rows.clear();
        self.ends.clear();
        Ok(())
    }
}
