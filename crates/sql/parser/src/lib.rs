//! MySQL 8.4's SQL: lexer, digest, abstract syntax tree, parser, printer.
#![warn(missing_docs)]

pub mod ast;
pub mod digest;
pub mod error;
pub mod mode;

pub use ast::Statement;
pub use error::{ErrorKind, ParseError};
pub use mode::LexMode;
