//! What counts reads and writes of pages by what the pages are.

use gannet_page::{Node, PageBuf, PageType};
use gannet_telemetry::Counter;

/// A page was read, and is as it is now.
pub(crate) fn read(page: &PageBuf) -> Counter {
    match PageType::from_u8(page.type_byte()) {
        Some(PageType::Node) if Node(page).level() == 0 => Counter::PageReadIndexLeaf,
        Some(PageType::Node) => Counter::PageReadIndexNonLeaf,
        Some(PageType::Undo) => Counter::PageReadUndoLog,
        Some(PageType::Meta) => Counter::PageReadSystem,
        Some(PageType::FileHeader) => Counter::PageReadFspHdr,
        Some(PageType::SpaceMap) => Counter::PageReadXdes,
        Some(PageType::Overflow) => Counter::PageReadBlob,
        Some(PageType::Blank | PageType::Free) | None => Counter::PageReadOther,
    }
}

/// A copy of the page is written.
pub(crate) fn written(page: &PageBuf) -> Counter {
    match PageType::from_u8(page.type_byte()) {
        Some(PageType::Node) if Node(page).level() == 0 => Counter::PageWrittenIndexLeaf,
        Some(PageType::Node) => Counter::PageWrittenIndexNonLeaf,
        Some(PageType::Undo) => Counter::PageWrittenUndoLog,
        Some(PageType::Meta) => Counter::PageWrittenSystem,
        Some(PageType::FileHeader) => Counter::PageWrittenFspHdr,
        Some(PageType::SpaceMap) => Counter::PageWrittenXdes,
        Some(PageType::Overflow) => Counter::PageWrittenBlob,
        Some(PageType::Blank | PageType::Free) | None => Counter::PageWrittenOther,
    }
}
