//! Rows as text files: LOAD DATA reads them, SELECT ... INTO OUTFILE writes them.

pub(crate) mod cutter;
pub mod format;
#[doc(hidden)]
pub mod fuzzing;
pub mod reader;

pub use format::Format;
pub use reader::{Input, Reader};
