//! What is to be loaded, whichever format it comes in.

use crate::read::Dialect;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Everything of a source.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    /// Tells the source from others: the ledger's key.
    pub(crate) id: u64,
    /// Scripts that come first, and last.
    pub(crate) before: Vec<PathBuf>,
    pub(crate) after: Vec<PathBuf>,
    /// The script of the accounts, if there is one.
    pub(crate) accounts: Option<PathBuf>,
    pub(crate) schemas: Vec<SchemaPlan>,
    /// `utf8mb4` without a collation is `utf8mb4_general_ci` in its definitions.
    pub(crate) general_ci: bool,
    /// Plain bytes of all rows; 0 when it is not known.
    pub(crate) bytes: u64,
    pub(crate) notes: Vec<String>,
}

#[derive(Debug)]
pub(crate) struct SchemaPlan {
    pub(crate) name: String,
    /// Creates the schema, its routines and events.
    pub(crate) scripts: Vec<PathBuf>,
    pub(crate) tables: Vec<TablePlan>,
    pub(crate) views: Vec<ViewPlan>,
}

#[derive(Debug)]
pub(crate) struct ViewPlan {
    pub(crate) name: String,
    /// Makes what stands for it.
    pub(crate) stand_in: Option<PathBuf>,
    pub(crate) script: PathBuf,
}

#[derive(Debug)]
pub(crate) struct TablePlan {
    pub(crate) name: String,
    pub(crate) create: Option<PathBuf>,
    pub(crate) triggers: Option<PathBuf>,
    pub(crate) files: Vec<DataFile>,
    pub(crate) format: Format,
    /// Rows and checksum, where the source knows them.
    pub(crate) check: Option<(u64, u64)>,
}

/// A file of rows.
#[derive(Debug, Clone)]
pub(crate) struct DataFile {
    pub(crate) path: PathBuf,
    /// Plain bytes, where they are known.
    pub(crate) bytes: Option<u64>,
    /// Rows and CRC-32C of the plain bytes, where they are known.
    pub(crate) check: Option<(u64, u32)>,
}

impl DataFile {
    /// Its name in the ledger.
    pub(crate) fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }
}

/// What stands in a file of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Format {
    /// Rows for LOAD DATA.
    Lines {
        dialect: Dialect,
        charset: String,
        /// The columns, in the order of the values.
        columns: Vec<String>,
        /// Columns whose values are encoded.
        decode: BTreeMap<String, Decode>,
    },
    /// Statements, each of which stands alone: INSERTs.
    Statements,
}

/// How a value is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decode {
    Base64,
    Hex,
}

impl Decode {
    pub(crate) fn function(self) -> &'static str {
        match self {
            Decode::Base64 => "FROM_BASE64",
            Decode::Hex => "UNHEX",
        }
    }
}
