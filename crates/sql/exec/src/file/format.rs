//! FIELDS and LINES clauses.

use gannet_parser::ast::FieldFormat;
use gannet_types::{Result, sql_err};

/// How a file's lines are made of fields (manual, 'LOAD DATA Statement', Field and Line Handling).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// FIELDS TERMINATED BY
    pub field_term: Vec<u8>,
    /// FIELDS ENCLOSED BY
    pub enclosed: Option<u8>,
    /// OPTIONALLY: of written fields only strings are enclosed.
    pub optionally: bool,
    /// FIELDS ESCAPED BY
    pub escape: Option<u8>,
    /// LINES STARTING BY
    pub line_start: Vec<u8>,
    /// LINES TERMINATED BY
    pub line_term: Vec<u8>,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            field_term: b"\t".to_vec(),
            enclosed: None,
            optionally: false,
            escape: Some(b'\\'),
            line_start: Vec::new(),
            line_term: b"\n".to_vec(),
        }
    }
}

impl Format {
    /// What the clauses say. Error 1083 for an enclosing or escaping text that is not one byte.
    pub fn new(given: &FieldFormat, backslash_escapes: bool) -> Result<Format> {
        let default = Format::default();
        let one = |text: &Option<Box<[u8]>>, default: Option<u8>| match text.as_deref() {
            None => Ok(default),
            Some([]) => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(_) => Err(sql_err!(WrongFieldTerminators)),
        };
        let text = |text: &Option<Box<[u8]>>, default: Vec<u8>| text.as_ref().map_or(default, |t| t.to_vec());
        Ok(Format {
            field_term: text(&given.terminated_by, default.field_term),
            enclosed: one(&given.enclosed_by, None)?,
            optionally: given.optionally_enclosed,
            escape: one(&given.escaped_by, default.escape.filter(|_| backslash_escapes))?,
            line_start: text(&given.lines_starting_by, default.line_start),
            line_term: text(&given.lines_terminated_by, default.line_term),
        })
    }

    /// Fields have neither end nor quotes: each has its column's width.
    pub fn is_fixed(&self) -> bool {
        self.field_term.is_empty() && self.enclosed.is_none()
    }
}
