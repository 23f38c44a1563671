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
/// | any | does not fit | if no full one was applied, the page was freed with its extent before it was written back, and its space not given back to the file system: skipped until a full one comes, [`Corrupt`] when none does. Else [`Corrupt`] |
pub fn redo<'a>(
    no: PageNo,
    page: &mut PageBuf,
    changes: impl IntoIterator<Item = (Lsn, PageOp<'a>)>,
) -> Result<Option<Lsn>, Corrupt> {
    let has = page.lsn();
    let mut blank = page.is_blank();
    let (mut first, mut last) = (None, has);
    let (mut formatted, mut misfit) = (false, None);
    for (lsn, op) in changes {
        if lsn <= has || (!op.is_full() && (blank || misfit.is_some())) {
            continue;
        }
        if op.is_full() {
            (blank, formatted, misfit) = (false, true, None);
        }
        match apply(no, &op, page) {
            Err(e) if !formatted => misfit = Some(e),
            outcome => outcome?,
        }
        first = first.or(Some(lsn));
        last = lsn;
    }
    if let Some(e) = misfit {
        return Err(e);
    }
    if first.is_some() {
        page.set_lsn(last);
    }
    Ok(first)
}
