//! `sql_mode`: the flags of MySQL 8.4, their names and combinations.

use crate::error::{Result, SqlError};
use crate::sql_err;
use std::fmt;
use std::ops::{BitAnd, BitOr};

/// A set of `sql_mode` flags, with MySQL's bit positions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SqlMode(u64);

macro_rules! modes {
    ($($bit:literal $name:ident $text:literal;)*) => {
        impl SqlMode {
            $(#[doc = $text] pub const $name: SqlMode = SqlMode(1 << $bit);)*
            const NAMES: &'static [(SqlMode, &'static str)] = &[$((SqlMode::$name, $text)),*];
        }
    };
}

modes! {
    0 REAL_AS_FLOAT "REAL_AS_FLOAT";
    1 PIPES_AS_CONCAT "PIPES_AS_CONCAT";
    2 ANSI_QUOTES "ANSI_QUOTES";
    3 IGNORE_SPACE "IGNORE_SPACE";
    5 ONLY_FULL_GROUP_BY "ONLY_FULL_GROUP_BY";
    6 NO_UNSIGNED_SUBTRACTION "NO_UNSIGNED_SUBTRACTION";
    7 NO_DIR_IN_CREATE "NO_DIR_IN_CREATE";
    18 ANSI_FLAG "ANSI";
    19 NO_AUTO_VALUE_ON_ZERO "NO_AUTO_VALUE_ON_ZERO";
    20 NO_BACKSLASH_ESCAPES "NO_BACKSLASH_ESCAPES";
    21 STRICT_TRANS_TABLES "STRICT_TRANS_TABLES";
    22 STRICT_ALL_TABLES "STRICT_ALL_TABLES";
    23 NO_ZERO_IN_DATE "NO_ZERO_IN_DATE";
    24 NO_ZERO_DATE "NO_ZERO_DATE";
    25 ALLOW_INVALID_DATES "ALLOW_INVALID_DATES";
    26 ERROR_FOR_DIVISION_BY_ZERO "ERROR_FOR_DIVISION_BY_ZERO";
    27 TRADITIONAL_FLAG "TRADITIONAL";
    29 HIGH_NOT_PRECEDENCE "HIGH_NOT_PRECEDENCE";
    30 NO_ENGINE_SUBSTITUTION "NO_ENGINE_SUBSTITUTION";
    31 PAD_CHAR_TO_FULL_LENGTH "PAD_CHAR_TO_FULL_LENGTH";
    32 TIME_TRUNCATE_FRACTIONAL "TIME_TRUNCATE_FRACTIONAL";
}

impl SqlMode {
    pub const NONE: SqlMode = SqlMode(0);
    /// The server's default in MySQL 8.4.
    pub const DEFAULT: SqlMode = SqlMode(
        Self::ONLY_FULL_GROUP_BY.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );
    /// What `ANSI` stands for.
    pub const ANSI: SqlMode = SqlMode(
        Self::ANSI_FLAG.0
            | Self::REAL_AS_FLOAT.0
            | Self::PIPES_AS_CONCAT.0
            | Self::ANSI_QUOTES.0
            | Self::IGNORE_SPACE.0
            | Self::ONLY_FULL_GROUP_BY.0,
    );
    /// What `TRADITIONAL` stands for.
    pub const TRADITIONAL: SqlMode = SqlMode(
        Self::TRADITIONAL_FLAG.0
            | Self::STRICT_TRANS_TABLES.0
            | Self::STRICT_ALL_TABLES.0
            | Self::NO_ZERO_IN_DATE.0
            | Self::NO_ZERO_DATE.0
            | Self::ERROR_FOR_DIVISION_BY_ZERO.0
            | Self::NO_ENGINE_SUBSTITUTION.0,
    );

    pub fn contains(self, flags: SqlMode) -> bool {
        self.0 & flags.0 == flags.0
    }

    pub fn with(self, flags: SqlMode) -> SqlMode {
        SqlMode(self.0 | flags.0)
    }

    pub fn without(self, flags: SqlMode) -> SqlMode {
        SqlMode(self.0 & !flags.0)
    }

    /// Either strict flag: every table here is transactional, so both mean the same.
    pub fn is_strict(self) -> bool {
        self.0 & (Self::STRICT_TRANS_TABLES.0 | Self::STRICT_ALL_TABLES.0) != 0
    }

    /// The bits, as the binlog's status variable and `SET sql_mode = <number>` have them.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// From bits. Those that no version has had give error 1231, those of modes that are gone 3899.
    pub fn from_bits(bits: u64) -> Result<SqlMode> {
        let gone = bits & !Self::known_of(bits);
        match () {
            () if gone == 0 => Ok(SqlMode(bits).expand()),
            () if bits >= 1 << 33 => Err(sql_err!(WrongValueForVar, "sql_mode", bits)),
            () => Err(Self::unsupported(gone)),
        }
    }

    /// The bits of modes that are there.
    pub fn known_of(bits: u64) -> u64 {
        bits & Self::NAMES.iter().fold(0, |a, (m, _)| a | m.0)
    }

    /// Error 3899 about these bits.
    pub fn unsupported(bits: u64) -> SqlError {
        sql_err!(UnsupportedSqlMode, format_args!("0x{bits:08x}"))
    }

    /// Parses a comma-separated list as `SET sql_mode` takes it; names are case-insensitive; combinations expand. Error 1231.
    pub fn parse(text: &str) -> Result<SqlMode> {
        let mut mode = SqlMode::NONE;
        for name in text.split(',') {
            let name = name.trim_end_matches(' ');
            if name.is_empty() {
                continue;
            }
            let Some((flag, _)) = Self::NAMES.iter().find(|(_, n)| n.eq_ignore_ascii_case(name)) else {
                return Err(sql_err!(WrongValueForVar, "sql_mode", name));
            };
            mode = mode.with(*flag);
        }
        Ok(mode.expand())
    }

    fn expand(self) -> SqlMode {
        let mut mode = self;
        if mode.contains(Self::ANSI_FLAG) {
            mode = mode.with(Self::ANSI);
        }
        if mode.contains(Self::TRADITIONAL_FLAG) {
            mode = mode.with(Self::TRADITIONAL);
        }
        mode
    }
}

impl Default for SqlMode {
    fn default() -> Self {
        SqlMode::DEFAULT
    }
}

impl BitOr for SqlMode {
    type Output = SqlMode;
    fn bitor(self, rhs: SqlMode) -> SqlMode {
        self.with(rhs)
    }
}

impl BitAnd for SqlMode {
    type Output = SqlMode;
    fn bitand(self, rhs: SqlMode) -> SqlMode {
        SqlMode(self.0 & rhs.0)
    }
}

/// As `SELECT @@sql_mode` prints it.
impl fmt::Display for SqlMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for (flag, name) in Self::NAMES {
            if self.contains(*flag) {
                if !first {
                    f.write_str(",")?;
                }
                f.write_str(name)?;
                first = false;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_and_parses() {
        let text = "ONLY_FULL_GROUP_BY,STRICT_TRANS_TABLES,NO_ZERO_IN_DATE,NO_ZERO_DATE,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";
        assert_eq!(SqlMode::DEFAULT.to_string(), text);
        assert_eq!(SqlMode::parse(text).unwrap(), SqlMode::DEFAULT);
        assert_eq!(SqlMode::parse("").unwrap(), SqlMode::NONE);
        assert_eq!(
            SqlMode::parse("ansi").unwrap().to_string(),
            "REAL_AS_FLOAT,PIPES_AS_CONCAT,ANSI_QUOTES,IGNORE_SPACE,ONLY_FULL_GROUP_BY,ANSI"
        );
        assert_eq!(SqlMode::parse("NOPE").unwrap_err().number(), 1231);
        assert_eq!(SqlMode::from_bits(1 << 40).unwrap_err().number(), 1231);
        assert_eq!(SqlMode::from_bits(1 << 28).unwrap_err().number(), 3899);
    }
}
