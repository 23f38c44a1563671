//! Redo of one page: what recovery does with the changes it found in the log.

use gannet_base::{Lsn, PageNo};

use crate::{Corrupt, PageBuf, PageOp, apply};

/// Applies the changes of page `no`, in log order, that `page` does not have yet. Each comes with the LSN (the end) of its record;
/// the changes of one record have the same. Gives the LSN of the first one applied, `None` when the page had them all.
///
/// | page on disk | change | what happens |
/// |---|---|---|
/// | any | LSN at or below the page's | the page has it: skipped |
/// | blank | not a full one | the page was freed and its space given back later: skipped until a full one comes |
/// | blank | full | applied |
/// | not blank | LSN above the page's | applied |
pub fn redo<'a>(
    no: PageNo,
    page: &mut PageBuf,
    changes: impl IntoIterator<Item = (Lsn, PageOp<'a>)>,
) -> Result<Option<Lsn>, Corrupt> {
    let has = page.lsn();
    let mut blank = page.is_blank();
    let (mut first, mut last) = (None, has);
    for (lsn, op) in changes {
        if lsn <= has || (blank && !op.is_full()) {
            continue;
        }
        blank = false;
        apply(no, &op, page)?;
        first = first.or(Some(lsn));
        last = lsn;
    }
    if first.is_some() {
        page.set_lsn(last);
    }
    Ok(first)
}
