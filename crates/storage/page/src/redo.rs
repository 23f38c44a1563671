//! Redo of one page: what recovery does with the changes it found in the log.

use gannet_base::{Lsn, PageNo};

use crate::{Corrupt, PageBuf, PageOp, apply};

/// Applies the changes of page `no`, in log order, that `page` does not have yet. Each comes with the LSN (the end) of
/// its record; the changes of one record have the same. Returns the LSN of the first one applied, `None` when the page
/// had them all.
///
/// | page on disk | change | what happens |
/// |---|---|---|
/// | any | LSN at or below the page's | the page has it: skipped |
/// | blank | not a full one | the page was freed and its space given back later: skipped until a full one comes |
/// | blank | full | applied |
/// | not blank | LSN above the page's | applied |
/// | any | does not fit | the page was freed with its extent: before it was written back, or after it had a content that the log does not have (of a built tree) and that has gone since. Skipped until a full one comes, [`Corrupt`] when none does |
pub fn redo<'a>(
    no: PageNo,
    page: &mut PageBuf,
    changes: impl IntoIterator<Item = (Lsn, PageOp<'a>)>,
) -> Result<Option<Lsn>, Corrupt> {
    let mut redo = Redo::of(page);
    for (lsn, op) in changes {
        redo.add(no, page, lsn, &op);
    }
    redo.finish(page)
}

/// [`redo`] for changes that come bit by bit. Before [`Redo::finish`], and after its error, the page is neither what it
/// was nor what it is to be.
#[derive(Debug)]
pub struct Redo {
    has: Lsn,
    blank: bool,
    first: Option<Lsn>,
    last: Lsn,
    misfit: Option<Corrupt>,
}

impl Redo {
    /// Of a page as it is on disk.
    pub fn of(page: &PageBuf) -> Redo {
        let has = page.lsn();
        Redo { has, blank: page.is_blank(), first: None, last: has, misfit: None }
    }

    /// The next change, in log order.
    pub fn add(&mut self, no: PageNo, page: &mut PageBuf, lsn: Lsn, op: &PageOp<'_>) {
        if lsn <= self.has || (!op.is_full() && (self.blank || self.misfit.is_some())) {
            return;
        }
        if op.is_full() {
            (self.blank, self.misfit) = (false, None);
        }
        self.misfit = apply(no, op, page).err();
        self.first = self.first.or(Some(lsn));
        self.last = lsn;
    }

    /// There are no more: the page gets its LSN.
    pub fn finish(self, page: &mut PageBuf) -> Result<Option<Lsn>, Corrupt> {
        if let Some(e) = self.misfit {
            return Err(e);
        }
        if self.first.is_some() {
            page.set_lsn(self.last);
        }
        Ok(self.first)
    }
}
