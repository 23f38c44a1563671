//! Tables, indexes, databases, views.

use super::{Account, Existence, Expr, Ident, ObjectName, Query, SourceText};

/// A column's type.
#[derive(Clone, Debug, PartialEq)]
pub struct DataType {
    /// The type.
    pub base: BaseType,
    /// `(n)`: length, display width, precision, fractional digits.
    pub length: Option<u64>,
    /// `(n, m)`: digits behind the point.
    pub decimals: Option<u64>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
    /// NATIONAL, NCHAR, NVARCHAR (character set utf8mb3).
    pub national: bool,
    /// CHARACTER SET. The words ASCII, UNICODE and BYTE alone are here as latin1, ucs2 and binary.
    pub charset: Option<Ident>,
    /// BINARY attribute of a character type: the character set's `_bin` collation.
    pub bin_collation: bool,
    /// Members of ENUM and SET.
    pub members: Vec<Box<[u8]>>,
}

impl DataType {
    /// A type without attributes.
    pub fn new(base: BaseType) -> DataType {
        DataType {
            base,
            length: None,
            decimals: None,
            unsigned: false,
            zerofill: false,
            national: false,
            charset: None,
            bin_collation: false,
            members: Vec::new(),
        }
    }
}

/// The types of MySQL. Synonyms are resolved (INTEGER is `Int`, BOOL is `TinyInt` of length 1, SERIAL is
/// `BigInt UNSIGNED` with the column attributes NOT NULL AUTO_INCREMENT UNIQUE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types'")]
pub enum BaseType {
    Bit,
    TinyInt,
    SmallInt,
    MediumInt,
    Int,
    BigInt,
    Decimal,
    Float,
    Double,
    /// Double, or float under REAL_AS_FLOAT.
    Real,
    Date,
    Time,
    DateTime,
    Timestamp,
    Year,
    Char,
    VarChar,
    Binary,
    VarBinary,
    TinyText,
    Text,
    MediumText,
    LongText,
    TinyBlob,
    Blob,
    MediumBlob,
    LongBlob,
    Enum,
    Set,
    Json,
    Geometry,
    Point,
    LineString,
    Polygon,
    MultiPoint,
    MultiLineString,
    MultiPolygon,
    GeometryCollection,
    Vector,
}

/// CREATE TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// TEMPORARY.
    pub temporary: bool,
    /// IF NOT EXISTS (and MariaDB's OR REPLACE).
    pub existence: Existence,
    /// The name.
    pub name: ObjectName,
    /// What it is made of.
    pub body: CreateTableBody,
}

/// Contents of a new table.
#[derive(Clone, Debug, PartialEq)]
pub enum CreateTableBody {
    /// `LIKE other`
    Like(ObjectName),
    /// Columns and keys, options, partitions, query. With neither columns nor query: error 1113.
    Define {
        /// Columns and keys.
        elements: Vec<TableElement>,
        /// Table options.
        options: Vec<TableOption>,
        /// PARTITION BY.
        partition: Option<Box<PartitionBy>>,
        /// IGNORE or REPLACE before the query.
        on_duplicate: OnDuplicate,
        /// `[AS] query`
        query: Option<Box<Query>>,
    },
}

/// Treatment of duplicates in CREATE TABLE ... SELECT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum OnDuplicate {
    Error,
    Ignore,
    Replace,
}

/// A column or a key.
#[derive(Clone, Debug, PartialEq)]
pub enum TableElement {
    /// A column.
    Column(ColumnDef),
    /// PRIMARY KEY, UNIQUE, INDEX, FULLTEXT, SPATIAL.
    Index(IndexDef),
    /// FOREIGN KEY.
    ForeignKey(ForeignKeyDef),
    /// CHECK.
    Check(CheckDef),
}

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// Its name.
    pub name: Ident,
    /// Its type.
    pub data_type: DataType,
    /// `GENERATED ALWAYS AS (..)`
    pub generated: Option<Box<Generated>>,
    /// Its attributes, in the order written.
    pub attributes: Vec<ColumnAttribute>,
}

/// `[GENERATED ALWAYS] AS (expr) [VIRTUAL | STORED]`
#[derive(Clone, Debug, PartialEq)]
pub struct Generated {
    /// The expression.
    pub expr: Expr,
    /// Its text as written.
    pub text: SourceText,
    /// STORED.
    pub stored: bool,
}

/// Attribute of a column.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ColumnAttribute {
    Null,
    NotNull,
    /// `DEFAULT literal`, `DEFAULT (expr)` or `DEFAULT CURRENT_TIMESTAMP[(n)]`: a literal (perhaps behind a sign), a
    /// [`super::Call`] named `now`, or, if `parenthesised`, any expression.
    Default {
        expr: Expr,
        parenthesised: bool,
    },
    /// `ON UPDATE CURRENT_TIMESTAMP[(n)]`
    OnUpdateNow {
        fractional: Option<u64>,
    },
    AutoIncrement,
    PrimaryKey,
    Unique,
    /// `KEY` alone means PRIMARY KEY.
    Comment(Box<str>),
    Collate(Ident),
    ColumnFormat(ColumnFormat),
    Storage(ColumnStorage),
    /// `REFERENCES` of a column (parsed, means nothing to MySQL 8.4 InnoDB).
    References(Box<References>),
    Check(CheckDef),
    Srid(u64),
    Invisible,
    Visible,
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
    NotSecondary,
}

/// COLUMN_FORMAT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ColumnFormat {
    Default,
    Fixed,
    Dynamic,
}

/// STORAGE of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ColumnStorage {
    Default,
    Disk,
    Memory,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexDef {
    /// `CONSTRAINT [symbol]`: the symbol.
    pub constraint: Option<Ident>,
    /// Its kind.
    pub kind: IndexKind,
    /// Its name.
    pub name: Option<Ident>,
    /// IF NOT EXISTS (MariaDB).
    pub if_not_exists: bool,
    /// Its columns.
    pub parts: Vec<KeyPart>,
    /// Its options.
    pub options: Vec<IndexOption>,
}

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum IndexKind {
    Primary,
    Unique,
    Index,
    Fulltext,
    Spatial,
}

/// An element of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyPart {
    /// Column or expression.
    pub source: KeySource,
    /// DESC.
    pub desc: bool,
    /// ASC or DESC is written.
    pub ordered: bool,
}

/// Source of a key's element.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySource {
    /// `column [(prefix)]`
    Column {
        /// Its name.
        name: Ident,
        /// Characters indexed.
        prefix: Option<u64>,
    },
    /// `(expr)`
    Expr(Expr),
}

/// Option of a key.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum IndexOption {
    /// BTREE, HASH or RTREE.
    Using(Ident),
    KeyBlockSize(u64),
    WithParser(Ident),
    Comment(Box<str>),
    Visible,
    Invisible,
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
}

/// FOREIGN KEY.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignKeyDef {
    /// `CONSTRAINT symbol`
    pub constraint: Option<Ident>,
    /// Name of the index.
    pub name: Option<Ident>,
    /// Its columns.
    pub columns: Vec<Ident>,
    /// What they refer to.
    pub references: References,
    /// IF NOT EXISTS. MariaDB.
    pub if_not_exists: bool,
}

/// `REFERENCES table (columns) ...`
#[derive(Clone, Debug, PartialEq)]
pub struct References {
    /// The table.
    pub table: ObjectName,
    /// Its columns.
    pub columns: Vec<Ident>,
    /// MATCH.
    pub match_kind: Option<MatchKind>,
    /// ON DELETE.
    pub on_delete: Option<ReferenceAction>,
    /// ON UPDATE.
    pub on_update: Option<ReferenceAction>,
}

/// MATCH of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum MatchKind {
    Full,
    Partial,
    Simple,
}

/// Action of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ReferenceAction {
    Restrict,
    Cascade,
    SetNull,
    NoAction,
    SetDefault,
}

/// `[CONSTRAINT [symbol]] CHECK (expr) [[NOT] ENFORCED]`
#[derive(Clone, Debug, PartialEq)]
pub struct CheckDef {
    /// The symbol.
    pub constraint: Option<Ident>,
    /// The condition.
    pub expr: Expr,
    /// Its text as written.
    pub text: SourceText,
    /// NOT ENFORCED.
    pub not_enforced: bool,
    /// IF NOT EXISTS. MariaDB.
    pub if_not_exists: bool,
}

/// Option of a table.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum TableOption {
    Engine(Box<str>),
    SecondaryEngine(Option<Box<str>>),
    Charset(Ident),
    Collate(Ident),
    Comment(Box<str>),
    AutoIncrement(u64),
    RowFormat(Ident),
    KeyBlockSize(u64),
    AvgRowLength(u64),
    Checksum(bool),
    MaxRows(u64),
    MinRows(u64),
    /// 0, 1 or DEFAULT
    PackKeys(Option<u64>),
    StatsPersistent(Option<u64>),
    StatsAutoRecalc(Option<u64>),
    StatsSamplePages(Option<u64>),
    DelayKeyWrite(bool),
    InsertMethod(Ident),
    Union(Vec<ObjectName>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    Tablespace(Ident),
    Storage(ColumnStorage),
    Connection(Box<[u8]>),
    Password(Box<[u8]>),
    Compression(Box<str>),
    Encryption(Box<str>),
    AutoextendSize(u64),
    EngineAttribute(Box<str>),
    SecondaryEngineAttribute(Box<str>),
    StartTransaction,
    /// An option only MariaDB knows (`TRANSACTIONAL=1`, `PAGE_CHECKSUM=1`, ...): name and value as text.
    Other(Ident, Box<str>),
}

/// PARTITION BY.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionBy {
    /// How rows are spread.
    pub method: PartitionMethod,
    /// PARTITIONS n.
    pub count: Option<u64>,
    /// SUBPARTITION BY and SUBPARTITIONS n.
    pub sub: Option<(PartitionMethod, Option<u64>)>,
    /// The partitions.
    pub partitions: Vec<PartitionDef>,
}

/// Method of partitioning.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum PartitionMethod {
    Hash { linear: bool, expr: Expr },
    Key { linear: bool, algorithm: Option<u64>, columns: Vec<Ident> },
    Range(Expr),
    RangeColumns(Vec<Ident>),
    List(Expr),
    ListColumns(Vec<Ident>),
}

/// One partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionDef {
    /// Its name.
    pub name: Ident,
    /// Its values.
    pub values: PartitionValues,
    /// Its options.
    pub options: Vec<PartitionOption>,
    /// Its subpartitions.
    pub sub: Vec<(Ident, Vec<PartitionOption>)>,
}

/// Values of a partition.
#[derive(Clone, Debug, PartialEq)]
pub enum PartitionValues {
    /// None written.
    None,
    /// `VALUES LESS THAN (..)`
    LessThan(Vec<PartitionBound>),
    /// `VALUES IN ((..), ..)`: each row has one element per partitioning column.
    In(Vec<Vec<PartitionBound>>),
}

/// One bound.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum PartitionBound {
    MaxValue,
    Expr(Expr),
}

/// Option of a partition.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum PartitionOption {
    Engine(Box<str>),
    Comment(Box<str>),
    DataDirectory(Box<str>),
    IndexDirectory(Box<str>),
    MaxRows(u64),
    MinRows(u64),
    Tablespace(Ident),
    NodeGroup(u64),
}

/// ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
pub struct AlterTable {
    /// The table.
    pub name: ObjectName,
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// What is done, in the order written.
    pub actions: Vec<AlterAction>,
    /// PARTITION BY.
    pub partition: Option<Box<PartitionBy>>,
}

/// Where a column goes.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum ColumnPosition {
    Last,
    First,
    After(Ident),
}

/// One action of ALTER TABLE.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum AlterAction {
    AddColumn {
        column: Box<ColumnDef>,
        position: ColumnPosition,
        if_not_exists: bool,
    },
    /// `ADD (element, ...)`
    AddElements(Vec<TableElement>),
    /// What is there only if its subject is there (IF EXISTS), or is not (IF NOT EXISTS). MariaDB.
    Conditional(Box<AlterAction>),
    /// Any key, foreign key or check.
    AddElement(Box<TableElement>),
    DropColumn {
        name: Ident,
        if_exists: bool,
    },
    ChangeColumn {
        old: Ident,
        column: Box<ColumnDef>,
        position: ColumnPosition,
        if_exists: bool,
    },
    ModifyColumn {
        column: Box<ColumnDef>,
        position: ColumnPosition,
        if_exists: bool,
    },
    RenameColumn {
        old: Ident,
        new: Ident,
    },
    /// `ALTER COLUMN c SET DEFAULT ..`
    SetDefault {
        column: Ident,
        expr: Expr,
        parenthesised: bool,
    },
    DropDefault(Ident),
    ColumnVisibility {
        column: Ident,
        visible: bool,
    },
    DropPrimaryKey,
    DropIndex {
        name: Ident,
        if_exists: bool,
    },
    DropForeignKey {
        name: Ident,
        if_exists: bool,
    },
    DropCheck(Ident),
    DropConstraint {
        name: Ident,
        if_exists: bool,
    },
    RenameIndex {
        old: Ident,
        new: Ident,
    },
    IndexVisibility {
        name: Ident,
        visible: bool,
    },
    /// `ALTER CHECK | CONSTRAINT name [NOT] ENFORCED`
    Enforce {
        name: Ident,
        enforced: bool,
        /// Written with CONSTRAINT.
        constraint: bool,
    },
    DisableKeys,
    EnableKeys,
    Rename(ObjectName),
    OrderBy(Vec<super::OrderItem>),
    ConvertCharset {
        /// `None` is DEFAULT.
        charset: Option<Ident>,
        collation: Option<Ident>,
    },
    Options(Vec<TableOption>),
    Force,
    DiscardTablespace,
    ImportTablespace,
    /// `ALGORITHM = ..`
    Algorithm(Ident),
    /// `LOCK = ..`
    Lock(Ident),
    /// `WITH | WITHOUT VALIDATION`
    Validation(bool),
    /// `SECONDARY_LOAD`, `SECONDARY_UNLOAD`
    SecondaryLoad(bool),
    AddPartition {
        no_write_to_binlog: bool,
        partitions: Vec<PartitionDef>,
        count: Option<u64>,
    },
    DropPartition(Vec<Ident>),
    ReorganizePartition {
        no_write_to_binlog: bool,
        names: Vec<Ident>,
        into: Vec<PartitionDef>,
    },
    CoalescePartition {
        no_write_to_binlog: bool,
        count: u64,
    },
    ExchangePartition {
        name: Ident,
        table: ObjectName,
        validation: Option<bool>,
    },
    /// ANALYZE, CHECK, OPTIMIZE, REBUILD, REPAIR, TRUNCATE, DISCARD, IMPORT PARTITION: the word, the names (none is
    /// ALL).
    Partitions {
        verb: Ident,
        no_write_to_binlog: bool,
        names: Vec<Ident>,
        /// Words after it (`QUICK`, `TABLESPACE`, ...).
        options: Vec<Ident>,
    },
    RemovePartitioning,
}

impl AlterAction {
    /// The action without its condition.
    pub fn plain(&self) -> &AlterAction {
        match self {
            AlterAction::Conditional(action) => action,
            action => action,
        }
    }
}

impl AlterAction {
    /// Whether nothing may follow (manual, ALTER TABLE Partition Operations: none can be combined with other actions).
    pub fn stands_alone(&self) -> bool {
        use AlterAction as A;
        self.is_of_partitions() || matches!(self, A::DiscardTablespace | A::ImportTablespace | A::SecondaryLoad(_))
    }

    /// Whether it says how others are carried out.
    pub fn is_modifier(&self) -> bool {
        matches!(self, AlterAction::Algorithm(_) | AlterAction::Lock(_) | AlterAction::Validation(_))
    }

    /// Whether it changes partitions that there are.
    pub fn is_of_partitions(&self) -> bool {
        use AlterAction as A;
        matches!(
            self.plain(),
            A::AddPartition { .. }
                | A::DropPartition(_)
                | A::ReorganizePartition { .. }
                | A::CoalescePartition { .. }
                | A::ExchangePartition { .. }
                | A::Partitions { .. }
        )
    }
}

/// CREATE INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateIndex {
    /// IF NOT EXISTS, OR REPLACE (MariaDB).
    pub existence: Existence,
    /// The index; it has a name.
    pub index: IndexDef,
    /// The table.
    pub table: ObjectName,
    /// ALGORITHM and LOCK.
    pub online: Vec<AlterAction>,
}

/// DROP INDEX.
#[derive(Clone, Debug, PartialEq)]
pub struct DropIndex {
    /// IF EXISTS (MariaDB).
    pub if_exists: bool,
    /// The index; `PRIMARY` for the primary key.
    pub name: Ident,
    /// The table.
    pub table: ObjectName,
    /// ALGORITHM and LOCK.
    pub online: Vec<AlterAction>,
}

/// Option of a database.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are the words'")]
pub enum DatabaseOption {
    Charset(Ident),
    Collate(Ident),
    Encryption(Box<str>),
    /// 0, 1 or DEFAULT
    ReadOnly(Option<u64>),
    /// MariaDB's COMMENT.
    Comment(Box<str>),
}

/// CREATE VIEW and ALTER VIEW.
#[derive(Clone, Debug, PartialEq)]
pub struct CreateView {
    /// ALTER VIEW.
    pub alter: bool,
    /// OR REPLACE, IF NOT EXISTS.
    pub existence: Existence,
    /// ALGORITHM: MERGE, TEMPTABLE or UNDEFINED.
    pub algorithm: Option<Ident>,
    /// DEFINER.
    pub definer: Option<Account>,
    /// SQL SECURITY: INVOKER (`Some(true)`) or DEFINER.
    pub invoker: Option<bool>,
    /// The name.
    pub name: ObjectName,
    /// Its columns' names.
    pub columns: Vec<Ident>,
    /// The query.
    pub query: Query,
    /// Text of the query as written.
    pub text: SourceText,
    /// WITH CHECK OPTION: CASCADED (`Some(true)`) or LOCAL.
    pub check_option: Option<bool>,
}
