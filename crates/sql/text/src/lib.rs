//! Full-text search without storage: what the words of a text are, what a query asks for, and how rows rank. It does
//! what InnoDB's full-text indexes do (manual, 14.9 "Full-Text Search Functions"), with its formula of relevance.
//!
//! ```text
//! Definition   how an index takes texts apart; fixed when it is made       definition
//! Analyzer     a definition, ready to use: tokens of a text                words
//! Splitter     rows taken apart into words                                 split
//! Finder       what a row has of a query's terms                           find
//! Posting      what is kept of a word of a row                             posting
//! Query        what AGAINST asks for, as a tree over terms                 query, parse
//! Score        which rows it finds, and their ranks                        score
//! Weigher      the rank of a row by its text alone, as MyISAM has it       weigh
//! ```
//!
//! *Invariant*: nothing here reads, writes or waits, and no text makes it panic.

mod definition;
mod find;
pub mod fuzzing;
mod parse;
mod posting;
mod query;
mod score;
mod split;
mod weigh;
mod words;

#[cfg(test)]
mod tests;

pub use definition::{DEFAULT_STOPWORDS, Definition, Stopwords, Tokens};
pub use find::Finder;
pub use posting::Posting;
pub use query::{Mode, Phrase, Query, Term};
pub use score::{List, Ranked, advance, evaluate};
pub use split::{Found, Splitter};
pub use weigh::Weigher;
pub use words::{Analyzer, Token};
