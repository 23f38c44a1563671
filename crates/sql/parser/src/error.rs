//! Errors of the parser.

/// Why a text was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Error 1064 (ER_PARSE_ERROR).
    Syntax,
    /// Nested too deeply: error 1436 (ER_STACK_OVERRUN_NEED_MORE).
    TooDeep,
    /// Nothing but white space and comments: error 1065 (ER_EMPTY_QUERY).
    Empty,
    /// INTO in a subquery, or in an operand of a set operation that is not the last: error 3954 (ER_MISPLACED_INTO).
    MisplacedInto,
    /// A second INTO: error 3953 (ER_MULTIPLE_INTO_CLAUSES).
    MultipleInto,
    /// Rows of one value in VALUES IN of a partition: error 1064 with words of its own, as the five that follow.
    SingleRows,
    /// A partition has fewer values than columns.
    ColumnLists,
    /// MAXVALUE in VALUES IN.
    ListedMaxvalue,
    /// Other than as many partitions as PARTITIONS says.
    PartitionCount,
    /// Other than as many subpartitions as SUBPARTITIONS or the first partition says.
    SubpartitionCount,
    /// What varies in a partitioning function.
    PartitionFunction,
    /// An identifier is not valid UTF-8: error 1300 (ER_INVALID_CHARACTER_STRING).
    InvalidUtf8,
    /// An identifier has characters beyond the basic plane: error 1300 too.
    Supplementary,
    /// More than 65535 parameters: error 1390 (ER_PS_MANY_PARAM).
    TooManyParams,
    /// The text has more than 4 GiB.
    TooLong,
    /// The caller did not want to wait any longer: error 1317 (ER_QUERY_INTERRUPTED).
    Stopped,
}

/// A refused text. The server formats it: for [`ErrorKind::Syntax`] MySQL's message is
/// `You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version for the right
/// syntax to use near '{near}' at line {line}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// Why.
    pub kind: ErrorKind,
    /// Byte offset of the offending token.
    pub offset: u32,
    /// The text from the offending token, 80 characters at most; the identifier for those kinds that blame one.
    pub near: Box<str>,
    /// Line of the offending token, from 1.
    pub line: u32,
}

impl ParseError {
    /// A syntax error with words of its own.
    fn worded(&self, f: &mut std::fmt::Formatter<'_>, words: &str) -> std::fmt::Result {
        write!(f, "{words} near '{}' at line {}", self.near, self.line)
    }
}

impl std::fmt::Display for ParseError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            ErrorKind::Syntax => write!(
                f,
                "You have an error in your SQL syntax; check the manual that corresponds to your MySQL server version \
                 for the right syntax to use near '{}' at line {}",
                self.near, self.line
            ),
            ErrorKind::TooDeep => {
                write!(f, "the statement is nested too deeply near '{}' at line {}", self.near, self.line)
            }
            ErrorKind::SingleRows => {
                self.worded(f, "Row expressions in VALUES IN only allowed for multi-field column partitioning")
            }
            ErrorKind::ColumnLists => self.worded(f, "Inconsistency in usage of column lists for partitioning"),
            ErrorKind::ListedMaxvalue => self.worded(f, "Cannot use MAXVALUE as value in VALUES IN"),
            ErrorKind::PartitionCount => {
                self.worded(f, "Wrong number of partitions defined, mismatch with previous setting")
            }
            ErrorKind::SubpartitionCount => {
                self.worded(f, "Wrong number of subpartitions defined, mismatch with previous setting")
            }
            ErrorKind::PartitionFunction => self.worded(
                f,
                "Constant, random or timezone-dependent expressions in (sub)partitioning function are not allowed",
            ),
            ErrorKind::MisplacedInto => f.write_str("Misplaced INTO clause"),
            ErrorKind::MultipleInto => f.write_str("Multiple INTO clauses in one query block."),
            ErrorKind::Empty => f.write_str("Query was empty"),
            ErrorKind::InvalidUtf8 => write!(f, "Invalid utf8mb4 character string: '{}'", self.near),
            ErrorKind::Supplementary => write!(f, "Invalid utf8mb3 character string: '{}'", self.near),
            ErrorKind::TooManyParams => f.write_str("Prepared statement contains too many placeholders"),
            ErrorKind::TooLong => f.write_str("the statement is too long"),
            ErrorKind::Stopped => f.write_str("reading the statement was interrupted"),
        }
    }
}

impl std::error::Error for ParseError {}
