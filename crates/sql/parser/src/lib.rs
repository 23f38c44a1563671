//! MySQL 8.4's SQL: lexer, digest, abstract syntax tree, parser, printer.

#![allow(rustdoc::broken_intra_doc_links, reason = "square brackets mark what a grammar may leave out")]
#![warn(missing_docs)]

pub mod ast;
pub mod digest;
pub mod error;
#[doc(hidden)]
pub mod fuzz;
pub mod hint;
pub mod keyword;
pub mod lexer;
pub mod mode;
pub mod notice;
mod parser;
pub mod printer;
pub mod rows;

pub use ast::Statement;
pub use error::{ErrorKind, ParseError};
pub use mode::LexMode;
pub use notice::Notice;
pub use parser::{
    Extent, MAX_HEIGHT, Parsed, STACK_BUDGET, parse, parse_expr, parse_one, parse_parameterised, parse_until,
};
