//! Structural verification of one page: everything the readers and [`apply`](crate::apply) rely on.

use crate::raw::{self, REGION_EXTENTS, UNDO_DATA};
use crate::{Corrupt, PAGE_SIZE, PageBuf, PageBytes, PageType, edit};

/// Verifies the structure of a page whose checksum was right (or was never computed). Checks across pages are
/// `btree`'s.
pub fn check(page: &PageBuf) -> Result<(), Corrupt> {
    match page.page_type() {
        None => Err(Corrupt::new("unknown page type")),
        Some(PageType::Blank | PageType::Free | PageType::Meta) => Ok(()),
        Some(PageType::FileHeader) => raw::FileHeader::decode(page).map(drop),
        Some(PageType::Node) => edit::check_node(page),
        Some(PageType::SpaceMap) => {
            let bad = |i| {
                let e = raw::extent(page, i);
                e.owner.is_zero() && e.used != 0
            };
            if (0..REGION_EXTENTS).any(bad) {
                return Err(Corrupt::new("space map has a free extent with used pages"));
            }
            Ok(())
        }
        Some(PageType::Overflow) => {
            if page.u16_at(40) as usize > raw::OVERFLOW_SPACE {
                return Err(Corrupt::new("overflow page is longer than a page"));
            }
            Ok(())
        }
        Some(PageType::Undo) => {
            if !(UNDO_DATA..=PAGE_SIZE).contains(&(page.u16_at(56) as usize)) {
                return Err(Corrupt::new("undo page's free offset is outside of the page"));
            }
            Ok(())
        }
    }
}
