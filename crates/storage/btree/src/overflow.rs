//! Overflow chains: the tail of a value too long for a leaf, in a list of pages that the tree owns.

use gannet_base::{Lsn, PageNo};
use gannet_buffer::{Error, Mtr, Stop};
use gannet_page::PageBytes;
use gannet_page::PageOp;
use gannet_page::raw::{OVERFLOW_DATA, OVERFLOW_SPACE, overflow};

use crate::Tree;

impl Tree {
    /// Writes `bytes` into a new chain, from its last page to its first, each in a mini-transaction of its own. Returns
    /// the first page. `each` runs in every one of them with the page that is the chain's first so far, before anything
    /// is changed: there the engine keeps, in undo, what would have to be freed. It may be called more than once for a
    /// page.
    pub fn write_chain(
        &self,
        bytes: &[u8],
        mut each: impl for<'p> FnMut(&mut Mtr<'p>, PageNo) -> Result<(), Stop>,
    ) -> Result<PageNo, Error> {
        let mut next = PageNo::ZERO;
        for part in bytes.chunks(OVERFLOW_SPACE).rev() {
            next = self.write_chain_page(part, next, &mut each)?;
        }
        Ok(next)
    }

    /// One page of [`Tree::write_chain`]: `part` (at most `OVERFLOW_SPACE` bytes), followed by the chain that begins at
    /// `next`.
    pub fn write_chain_page(
        &self,
        part: &[u8],
        next: PageNo,
        mut each: impl for<'p> FnMut(&mut Mtr<'p>, PageNo) -> Result<(), Stop>,
    ) -> Result<PageNo, Error> {
        self.pool.run(|| {
            let mut mtr = self.pool.mtr()?;
            let mut pages = self.pool.reserve(self.id, 1)?;
            let first = pages.peek().unwrap_or_default();
            each(&mut mtr, first)?;
            let page = mtr.take(&mut pages);
            mtr.apply(page, &PageOp::FormatOverflow { owner: self.id, next, bytes: part });
            mtr.commit();
            Ok(first)
        })
    }

    /// Appends up to `limit` bytes of the chain that begins at `first` to `out`.
    pub fn read_chain(&self, first: PageNo, limit: usize, out: &mut Vec<u8>) -> Result<(), Error> {
        let end = out.len() + limit;
        let mut page = first;
        while !page.is_zero() && out.len() < end {
            let start = out.len();
            let next = self.pool.read(page, |p| {
                out.truncate(start);
                let (next, len) = overflow(p)?;
                p.copy_to(OVERFLOW_DATA, len.min(end - start), out);
                Ok(next)
            })?;
            if out.len() == start {
                return Err(Error::page(page, Lsn::ZERO, "overflow page holds nothing"));
            }
            page = next;
        }
        Ok(())
    }

    /// Frees the chain that begins at `first`, a page a mini-transaction. `each` runs in every one of them with the
    /// page that will be the chain's first then (zero at the end), before anything is changed: there the engine keeps
    /// how far it has come.
    pub fn free_chain(
        &self,
        first: PageNo,
        mut each: impl for<'p> FnMut(&mut Mtr<'p>, PageNo) -> Result<(), Stop>,
    ) -> Result<(), Error> {
        let mut page = first;
        while !page.is_zero() {
            page = self.pool.run(|| {
                let mut mtr = self.pool.mtr()?;
                let held = mtr.latch(page)?;
                let content = mtr.page(held);
                let (next, _) = overflow(content).map_err(|c| Error::page(page, content.lsn(), c.what))?;
                if content.owner() != self.id {
                    return Err(Error::page(page, content.lsn(), "overflow page belongs to another tree").into());
                }
                each(&mut mtr, next)?;
                mtr.free(held);
                mtr.commit();
                Ok(next)
            })?;
        }
        Ok(())
    }
}
