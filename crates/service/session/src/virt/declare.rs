//! How a virtual table is declared: its name, the function that makes its rows, its columns with their types, in one
//! place. A table without a row maker does not compile; [`super::empty`] has those that are empty on purpose.

use gannet_schema::{Column, ColumnDefault};
use gannet_types::members::Members;
use gannet_types::{CollationId, SqlType, TypeId, Value};
use std::sync::Arc;

/// A virtual table as it is written down.
pub(super) struct Written {
    pub(super) schema: &'static str,
    pub(super) name: &'static str,
    pub(super) columns: &'static [Columns],
    pub(super) rows: super::Rows,
    /// What TRUNCATE does; empty: the table cannot be truncated.
    pub(super) reset: &'static [super::Reset],
}

/// Columns of a table, or a part of them that several tables have: see [`super::columns`].
pub(super) type Columns = &'static [(&'static str, Spec)];

/// What makes a table's rows: a function, or one that is told of whom they are.
macro_rules! rows {
    ($rows:ident) => {
        $rows
    };
    ($rows:ident $of:ident) => {
        |state, _, emit| $rows(state, gannet_core::ledger::Of::$of, emit)
    };
}

/// What TRUNCATE does: a function, or one that is told of whom sums are forgotten.
macro_rules! reset {
    ($reset:ident) => {
        $reset
    };
    ($reset:ident $of:ident) => {
        |core| $reset(core, gannet_core::ledger::Of::$of)
    };
}

/// Tables of one schema:
///
/// ```text
/// tables! {
///     NAME_OF_THE_LIST in "schema":
///     TABLE by row_maker { COLUMN: TYPE, ... }
///     TABLE by row_maker, reset by what_truncate_does { COLUMN: TYPE, ... } + FURTHER_COLUMNS
///     TABLE by row_maker_of_sums(Account), reset by what_truncate_of_sums_does(Account) {}
/// }
/// ```
macro_rules! tables {
    ($list:ident in $schema:literal: $(
        $table:ident by $rows:ident $(($of:ident))? $(, reset by $reset:ident $(($reset_of:ident))?)?
        { $($column:ident: $spec:expr),* $(,)? } $(+ $more:ident)*
    )*) => {
        pub(super) const $list: &[super::declare::Written] = &[$(super::declare::Written {
            schema: $schema,
            name: stringify!($table),
            columns: &[&[$((stringify!($column), $spec)),*] $(, $more)*],
            rows: rows!($rows $($of)?),
            reset: &[$(reset!($reset $($reset_of)?))?],
        }),*];
    };
}

/// The type of a column, whether it may be NULL, and its default.
#[derive(Clone, Copy)]
pub(super) struct Spec {
    kind: Kind,
    /// `None`: the schema's own.
    collation: Option<CollationId>,
    not_null: bool,
    empty: bool,
    /// The default of a text, or the member that is it.
    given: Option<&'static str>,
}

#[derive(Clone, Copy)]
enum Kind {
    Varchar(u32),
    Char(u32),
    /// A type without a length. If it is a text type, it has the column's collation.
    Plain(TypeId),
    Unsigned(TypeId),
    /// With a length.
    Sized(TypeId, u32),
    Temporal(TypeId, u8),
    /// With a length and digits behind the point.
    Scaled(TypeId, u32, u8),
    Members(TypeId, &'static [&'static str]),
}

const fn of(kind: Kind) -> Spec {
    Spec { kind, collation: None, not_null: false, empty: false, given: None }
}

impl Spec {
    pub(super) const fn not_null(mut self) -> Self {
        self.not_null = true;
        self
    }

    /// Its default is an empty text, 0, or the first member.
    pub(super) const fn empty(mut self) -> Self {
        self.empty = true;
        self
    }

    /// Its default is this text, or the member of that name.
    pub(super) const fn or(mut self, given: &'static str) -> Self {
        self.given = Some(given);
        self
    }

    /// Compared as utf8mb3_bin.
    pub(super) const fn bin(self) -> Self {
        self.collated(CollationId::UTF8MB3_BIN)
    }

    /// In utf8mb3, compared as utf8mb3_general_ci.
    pub(super) const fn utf8mb3(self) -> Self {
        self.collated(CollationId::UTF8MB3_GENERAL_CI)
    }

    /// In ascii.
    pub(super) const fn ascii(self) -> Self {
        self.collated(CollationId::ASCII_GENERAL_CI)
    }

    /// In utf8mb4, compared as utf8mb4_0900_ai_ci.
    pub(super) const fn utf8mb4(self) -> Self {
        self.collated(CollationId::UTF8MB4_0900_AI_CI)
    }

    /// In utf8mb4, compared as utf8mb4_bin.
    pub(super) const fn utf8mb4_bin(self) -> Self {
        self.collated(CollationId::UTF8MB4_BIN)
    }

    const fn collated(mut self, collation: CollationId) -> Self {
        self.collation = Some(collation);
        self
    }

    fn sql_type(&self, own: CollationId) -> SqlType {
        let collation = self.collation.unwrap_or(own);
        let mut ty = match self.kind {
            Kind::Varchar(n) => SqlType::varchar(n, collation),
            Kind::Char(n) => SqlType::char(n, collation),
            Kind::Plain(id) => {
                let ty = SqlType::new(id);
                let own = ty.is_text() && id != TypeId::Json;
                if own { ty.with_collation(collation) } else { ty }
            }
            Kind::Unsigned(id) => SqlType::new(id).unsigned(),
            Kind::Sized(id, length) => SqlType { length, ..SqlType::new(id) },
            Kind::Temporal(id, digits) => SqlType::temporal(id, digits),
            Kind::Scaled(id, length, scale) => SqlType { length, scale, ..SqlType::new(id) },
            Kind::Members(id, names) => {
                let names = names.iter().map(|n| (*n).into()).collect();
                SqlType::enumeration(id, Arc::new(Members::new(names, collation)))
            }
        };
        ty.nullable = !self.not_null;
        ty
    }

    fn default(&self, ty: &SqlType) -> ColumnDefault {
        if let Some(given) = self.given {
            let member = |members: &Arc<Members>| {
                let at = members.names.iter().position(|name| **name == *given).map_or(0, |at| at + 1);
                Value::Enum(at as u16, members.clone())
            };
            return ColumnDefault::Literal(ty.members.as_ref().map_or(Value::Str(given.into(), ty.collation), member));
        }
        match (&ty.members, self.empty) {
            (_, false) if self.not_null => ColumnDefault::None,
            (_, false) => ColumnDefault::Null,
            (Some(members), true) if ty.id == TypeId::Enum => ColumnDefault::Literal(Value::Enum(1, members.clone())),
            (_, true) if ty.id.is_string() => ColumnDefault::Literal(Value::Str("".into(), ty.collation)),
            (_, true) if ty.id.is_integer() => ColumnDefault::Literal(Value::Int(0)),
            (_, true) => ColumnDefault::Null,
        }
    }
}

/// The catalog's column of a declaration, in a schema whose texts have the collation `own`.
pub(super) fn column(name: &str, spec: &Spec, own: CollationId) -> Column {
    let ty = spec.sql_type(own);
    let default = spec.default(&ty);
    Column::new(name, ty, !spec.not_null, default)
}

// ---- types ----

/// An identifier.
pub(super) const NAME: Spec = varchar(64);
pub(super) const BIGINT: Spec = of(Kind::Plain(TypeId::BigInt));
pub(super) const UBIGINT: Spec = of(Kind::Unsigned(TypeId::BigInt));
pub(super) const INT: Spec = of(Kind::Plain(TypeId::Int));
pub(super) const UINT: Spec = of(Kind::Unsigned(TypeId::Int));
pub(super) const SMALLINT: Spec = of(Kind::Plain(TypeId::SmallInt));
pub(super) const USMALLINT: Spec = of(Kind::Unsigned(TypeId::SmallInt));
pub(super) const UMEDIUMINT: Spec = of(Kind::Unsigned(TypeId::MediumInt));
pub(super) const TINYINT: Spec = of(Kind::Plain(TypeId::TinyInt));
pub(super) const UTINYINT: Spec = of(Kind::Unsigned(TypeId::TinyInt));
pub(super) const FLOAT: Spec = of(Kind::Plain(TypeId::Float));
pub(super) const DOUBLE: Spec = of(Kind::Plain(TypeId::Double));
pub(super) const TEXT: Spec = of(Kind::Plain(TypeId::Text));
pub(super) const MEDIUMTEXT: Spec = of(Kind::Plain(TypeId::MediumText));
pub(super) const LONGTEXT: Spec = of(Kind::Plain(TypeId::LongText));
pub(super) const BLOB: Spec = of(Kind::Plain(TypeId::Blob));
pub(super) const LONGBLOB: Spec = of(Kind::Plain(TypeId::LongBlob));
pub(super) const JSON: Spec = of(Kind::Plain(TypeId::Json));
pub(super) const DATETIME: Spec = of(Kind::Temporal(TypeId::DateTime, 0));
/// What MySQL declares without ever having a value for it.
pub(super) const ABSENT: Spec = of(Kind::Sized(TypeId::Binary, 0));
/// Seconds and microseconds.
pub(super) const SECONDS: Spec = of(Kind::Scaled(TypeId::Decimal, 9, 6));
pub(super) const N_Y: Spec = enumeration(&["N", "Y"]);
pub(super) const YES_NO: Spec = enumeration(&["YES", "NO"]);
/// `sql_mode` as the dictionary keeps it.
pub(super) const SQL_MODE: Spec = set(&[
    "REAL_AS_FLOAT",
    "PIPES_AS_CONCAT",
    "ANSI_QUOTES",
    "IGNORE_SPACE",
    "NOT_USED",
    "ONLY_FULL_GROUP_BY",
    "NO_UNSIGNED_SUBTRACTION",
    "NO_DIR_IN_CREATE",
    "NOT_USED_9",
    "NOT_USED_10",
    "NOT_USED_11",
    "NOT_USED_12",
    "NOT_USED_13",
    "NOT_USED_14",
    "NOT_USED_15",
    "NOT_USED_16",
    "NOT_USED_17",
    "NOT_USED_18",
    "ANSI",
    "NO_AUTO_VALUE_ON_ZERO",
    "NO_BACKSLASH_ESCAPES",
    "STRICT_TRANS_TABLES",
    "STRICT_ALL_TABLES",
    "NO_ZERO_IN_DATE",
    "NO_ZERO_DATE",
    "ALLOW_INVALID_DATES",
    "ERROR_FOR_DIVISION_BY_ZERO",
    "TRADITIONAL",
    "NOT_USED_29",
    "HIGH_NOT_PRECEDENCE",
    "NO_ENGINE_SUBSTITUTION",
    "PAD_CHAR_TO_FULL_LENGTH",
    "TIME_TRUNCATE_FRACTIONAL",
]);

pub(super) const fn varchar(n: u32) -> Spec {
    of(Kind::Varchar(n))
}

/// CHAR.
pub(super) const fn fixed(n: u32) -> Spec {
    of(Kind::Char(n))
}

/// DOUBLE that shows `scale` digits behind the point.
pub(super) const fn double(length: u32, scale: u8) -> Spec {
    of(Kind::Scaled(TypeId::Double, length, scale))
}

/// TINYINT with a display width.
pub(super) const fn tinyint(width: u32) -> Spec {
    of(Kind::Sized(TypeId::TinyInt, width))
}

pub(super) const fn timestamp(digits: u8) -> Spec {
    of(Kind::Temporal(TypeId::Timestamp, digits))
}

pub(super) const fn enumeration(names: &'static [&'static str]) -> Spec {
    of(Kind::Members(TypeId::Enum, names))
}

pub(super) const fn set(names: &'static [&'static str]) -> Spec {
    of(Kind::Members(TypeId::Set, names))
}
