//! The bits of `sql_mode` that the lexer and the parser depend on.

/// Bits of `sql_mode` that change how a text is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct LexMode {
    /// `"` quotes identifiers.
    pub ansi_quotes: bool,
    /// `||` is concatenation, not OR.
    pub pipes_as_concat: bool,
    /// Backslash is an ordinary character in strings.
    pub no_backslash_escapes: bool,
    /// White space is allowed between a built-in function's name and its parenthesis.
    pub ignore_space: bool,
    /// NOT binds like `!`.
    pub high_not_precedence: bool,
}
