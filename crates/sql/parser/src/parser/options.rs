//! Table options and partitions.

use super::*;

/// What ROW_FORMAT may be.
const ROW_FORMATS: &[&str] = &["DEFAULT", "DYNAMIC", "FIXED", "COMPRESSED", "REDUNDANT", "COMPACT"];

fn row_format(p: &mut Parser<'_>) -> Result<Ident> {
    p.option_word();
    let start = p.here();
    let word = p.any_word()?;
    let known = ROW_FORMATS.iter().any(|known| word.text.eq_ignore_ascii_case(known));
    if known { Ok(word) } else { p.error_at(ErrorKind::Syntax, start) }
}

/// `(value, ...)` or `((value, ...), ...)`, behind VALUES IN: rows where the list begins with one. A partition has the
/// values of so many `columns`, where that is known. MySQL counts in its parser; values too many it refuses later.
#[inline(never)]
fn partition_rows(p: &mut Parser<'_>, mut columns: Option<usize>) -> Result<Vec<Vec<PartitionBound>>> {
    let of_rows = p.peek(1).kind == Tok::LParen;
    let mut row = |p: &mut Parser<'_>| {
        if !of_rows {
            return Ok(vec![listed_value(p)?]);
        }
        p.expect(Tok::LParen)?;
        let row = p.list(&mut listed_value)?;
        p.expect(Tok::RParen)?;
        if row.len() < *columns.get_or_insert(row.len()) {
            return p.error_at(ErrorKind::ColumnLists, p.here());
        }
        Ok(row)
    };
    let list = p.here();
    p.expect(Tok::LParen)?;
    let rows = p.list(&mut row)?;
    match (of_rows, columns) {
        (true, Some(1)) => p.error_at(ErrorKind::SingleRows, p.here()),
        (false, Some(2..)) => p.error_at(ErrorKind::ColumnLists, list),
        _ => {
            p.expect(Tok::RParen)?;
            Ok(rows)
        }
    }
}

/// A value of VALUES IN.
fn listed_value(p: &mut Parser<'_>) -> Result<PartitionBound> {
    if p.at_kw(Kw::MAXVALUE) {
        return p.error_at(ErrorKind::ListedMaxvalue, p.here());
    }
    p.partition_bound()
}

/// An expression of partitions, without what MySQL's parser knows to vary.
fn steady_expr(p: &mut Parser<'_>) -> Result<Expr> {
    let at = p.here();
    let expr = p.bit_expr()?;
    if varies(&expr) { p.error_at(ErrorKind::PartitionFunction, at) } else { Ok(expr) }
}

/// What is known of a partition before it is read: nothing where partitions are added.
#[derive(Clone, Copy, Default)]
pub(super) struct Known {
    /// Of the values.
    columns: Option<usize>,
    /// How many subpartitions it has.
    subs: Option<u64>,
    /// The partition before it has a list of them.
    listed: Option<bool>,
}

impl Parser<'_> {
    /// Options behind the columns, separated by white space or commas.
    #[inline(never)]
    pub(super) fn table_options(&mut self) -> Result<Vec<TableOption>> {
        let mut out = Vec::new();
        while let Some(option) = self.table_option()? {
            out.push(option);
            self.eat(Tok::Comma);
        }
        Ok(out)
    }

    /// `word [=]`
    #[inline(never)]
    fn option_word(&mut self) {
        self.advance();
        self.eat(Tok::Eq);
    }

    #[inline(never)]
    pub(super) fn table_option(&mut self) -> Result<Option<TableOption>> {
        use TableOption as O;
        if let Some(option) = self.charset_option()? {
            return Ok(Some(option));
        }
        let kw = self.tok().kw;
        let option = match kw {
            Kw::ENGINE => {
                self.option_word();
                O::Engine(self.ident_or_string()?.text)
            }
            Kw::TYPE if self.peek(1).kind == Tok::Eq => {
                // The word of MySQL 4; MariaDB's dumps may hold it.
                self.option_word();
                O::Engine(self.ident_or_string()?.text)
            }
            Kw::SECONDARY_ENGINE => {
                self.option_word();
                if self.eat_kw(Kw::NULL) {
                    O::SecondaryEngine(None)
                } else {
                    O::SecondaryEngine(Some(self.ident_or_string()?.text))
                }
            }
            Kw::COMMENT => self.text_option(O::Comment)?,
            Kw::COMPRESSION => self.text_option(O::Compression)?,
            Kw::ENCRYPTION => self.text_option(O::Encryption)?,
            Kw::ENGINE_ATTRIBUTE => self.text_option(O::EngineAttribute)?,
            Kw::SECONDARY_ENGINE_ATTRIBUTE => self.text_option(O::SecondaryEngineAttribute)?,
            Kw::CONNECTION => {
                self.option_word();
                O::Connection(self.string_bytes()?)
            }
            Kw::PASSWORD => {
                self.option_word();
                O::Password(self.string_bytes()?)
            }
            Kw::AUTO_INCREMENT => self.number_option(O::AutoIncrement)?,
            Kw::KEY_BLOCK_SIZE => self.number_option(O::KeyBlockSize)?,
            Kw::AVG_ROW_LENGTH => self.number_option(O::AvgRowLength)?,
            Kw::MAX_ROWS => self.number_option(O::MaxRows)?,
            Kw::MIN_ROWS => self.number_option(O::MinRows)?,
            Kw::CHECKSUM | Kw::TABLE_CHECKSUM => {
                self.option_word();
                O::Checksum(self.number()? != 0)
            }
            Kw::DELAY_KEY_WRITE => {
                self.option_word();
                O::DelayKeyWrite(self.number()? != 0)
            }
            Kw::PACK_KEYS => self.ternary_option(O::PackKeys)?,
            Kw::STATS_PERSISTENT => self.ternary_option(O::StatsPersistent)?,
            Kw::STATS_AUTO_RECALC => self.ternary_option(O::StatsAutoRecalc)?,
            Kw::STATS_SAMPLE_PAGES => number_within(self, 1..=0xFFFF).map(O::StatsSamplePages)?,
            Kw::ROW_FORMAT => row_format(self).map(O::RowFormat)?,
            Kw::INSERT_METHOD => {
                self.option_word();
                O::InsertMethod(self.any_word()?)
            }
            Kw::UNION => {
                // `UNION` behind the options may also belong to a query: only `UNION [=] (` is an option.
                let paren = if self.peek(1).kind == Tok::Eq { self.peek(2).kind } else { self.peek(1).kind };
                if paren != Tok::LParen {
                    return Ok(None);
                }
                self.option_word();
                self.expect(Tok::LParen)?;
                let tables = if self.at(Tok::RParen) { Vec::new() } else { self.list(Self::object_name)? };
                self.expect(Tok::RParen)?;
                O::Union(tables)
            }
            Kw::DATA | Kw::INDEX if self.peek(1).kw == Kw::DIRECTORY => {
                self.advance();
                self.option_word();
                let dir = self.string()?;
                if kw == Kw::DATA { O::DataDirectory(dir) } else { O::IndexDirectory(dir) }
            }
            Kw::TABLESPACE => {
                self.option_word();
                O::Tablespace(self.ident_or_string()?)
            }
            Kw::STORAGE => {
                self.advance();
                O::Storage(match self.one_of(&[Kw::DISK, Kw::MEMORY]) {
                    Some(Kw::DISK) => ColumnStorage::Disk,
                    Some(_) => ColumnStorage::Memory,
                    None => return self.syntax(),
                })
            }
            Kw::AUTOEXTEND_SIZE => {
                self.option_word();
                O::AutoextendSize(self.size()?)
            }
            Kw::START if self.peek(1).kw == Kw::TRANSACTION => {
                self.advance();
                self.advance();
                O::StartTransaction
            }
            _ => return self.foreign_option(),
        };
        Ok(Some(option))
    }

    /// `name = value`: an option of MariaDB.
    #[inline(never)]
    fn foreign_option(&mut self) -> Result<Option<TableOption>> {
        if !self.at_ident() || self.peek(1).kind != Tok::Eq {
            return Ok(None);
        }
        let name = self.ident()?;
        self.advance();
        let t = self.tok();
        let value = match t.kind {
            Tok::Str => self.string()?,
            Tok::Int | Tok::Word | Tok::Quoted | Tok::Decimal => {
                self.advance();
                String::from_utf8_lossy(self.bytes(t)).into()
            }
            _ => return self.syntax(),
        };
        Ok(Some(TableOption::Other(name, value)))
    }

    #[inline(never)]
    fn text_option(&mut self, make: fn(Box<str>) -> TableOption) -> Result<TableOption> {
        self.option_word();
        self.string().map(make)
    }

    #[inline(never)]
    fn number_option(&mut self, make: fn(u64) -> TableOption) -> Result<TableOption> {
        self.option_word();
        self.number().map(make)
    }

    /// 0, 1 or DEFAULT
    #[inline(never)]
    fn ternary_option(&mut self, make: fn(Option<u64>) -> TableOption) -> Result<TableOption> {
        number_within(self, 0..=1).map(make)
    }

    #[inline(never)]
    pub(super) fn number_or_default(&mut self) -> Result<Option<u64>> {
        if self.eat_kw(Kw::DEFAULT) { Ok(None) } else { self.number().map(Some) }
    }

    /// `[DEFAULT] CHARACTER SET | COLLATE [=] name`
    #[inline(never)]
    fn charset_option(&mut self) -> Result<Option<TableOption>> {
        let n = usize::from(self.at_kw(Kw::DEFAULT));
        let t = if n == 0 { self.tok() } else { self.peek(1) };
        let is_charset = match t.kw {
            Kw::CHARSET => true,
            Kw::CHARACTER | Kw::CHAR => self.peek(n + 1).kw == Kw::SET,
            Kw::COLLATE => false,
            _ => return Ok(None),
        };
        if matches!(t.kw, Kw::CHARACTER | Kw::CHAR) && !is_charset {
            return Ok(None);
        }
        for _ in 0..n {
            self.advance();
        }
        if t.kw == Kw::COLLATE {
            self.advance();
        } else {
            self.eat_charset();
        }
        self.eat(Tok::Eq);
        Ok(Some(if is_charset {
            TableOption::Charset(self.charset_name()?)
        } else {
            TableOption::Collate(self.collation_name()?)
        }))
    }

    /// A number, perhaps with K, M or G.
    #[inline(never)]
    pub(super) fn size(&mut self) -> Result<u64> {
        let t = self.tok();
        if t.kind == Tok::Word {
            let raw = self.bytes(t);
            if let Some((unit, digits)) = raw.split_last() {
                let shift = match unit.to_ascii_uppercase() {
                    b'K' => 10,
                    b'M' => 20,
                    b'G' => 30,
                    b'T' => 40,
                    _ => return self.syntax(),
                };
                let n: Option<u64> = std::str::from_utf8(digits).ok().and_then(|s| s.parse().ok());
                if let Some(n) = n.and_then(|n| n.checked_mul(1 << shift)) {
                    self.advance();
                    return Ok(n);
                }
            }
            return self.syntax();
        }
        self.number()
    }

    /// `PARTITION BY ...`
    #[inline(never)]
    pub(super) fn partition_by(&mut self) -> Result<PartitionBy> {
        self.expect_kw(Kw::PARTITION)?;
        self.expect_kw(Kw::BY)?;
        let method = match self.tok().kw {
            Kw::RANGE | Kw::LIST => {
                let range = self.advance().kw == Kw::RANGE;
                if self.eat_kw(Kw::COLUMNS) || self.eat_kw(Kw::FIELDS) {
                    let columns = self.paren_list(Self::ident)?;
                    if range { PartitionMethod::RangeColumns(columns) } else { PartitionMethod::ListColumns(columns) }
                } else {
                    let expr = self.paren_bit_expr()?;
                    if range { PartitionMethod::Range(expr) } else { PartitionMethod::List(expr) }
                }
            }
            _ => self.hash_or_key(true)?,
        };
        let count = if self.eat_kw(Kw::PARTITIONS) { Some(self.number()?) } else { None };
        let sub = if self.eat_kw(Kw::SUBPARTITION) {
            self.expect_kw(Kw::BY)?;
            let method = self.hash_or_key(false)?;
            let count = if self.eat_kw(Kw::SUBPARTITIONS) { Some(self.number()?) } else { None };
            Some((method, count))
        } else {
            None
        };
        let columns = match &method {
            PartitionMethod::RangeColumns(columns) | PartitionMethod::ListColumns(columns) => columns.len(),
            _ => 1,
        };
        // MySQL counts in its parser.
        let list = self.here();
        let subs = sub.as_ref().and_then(|s: &(PartitionMethod, Option<u64>)| s.1);
        let mut known = Known { columns: Some(columns), subs, listed: None };
        let partitions = match self.at(Tok::LParen) {
            true => self.paren_list(|p| {
                let found: PartitionDef = p.partition_def(known)?;
                if sub.is_some() {
                    known.listed = Some(!found.sub.is_empty());
                    known.subs = known.subs.or((!found.sub.is_empty()).then_some(found.sub.len() as u64));
                }
                Ok(found)
            })?,
            false => Vec::new(),
        };
        if !partitions.is_empty() && count.is_some_and(|n| n != partitions.len() as u64) {
            return self.error_at(ErrorKind::PartitionCount, list);
        }
        Ok(PartitionBy { method, count, sub, partitions })
    }

    /// A partitioning function: nothing that is true or false.
    #[inline(never)]
    fn paren_bit_expr(&mut self) -> Result<Expr> {
        self.expect(Tok::LParen)?;
        let expr = steady_expr(self)?;
        self.expect(Tok::RParen)?;
        Ok(expr)
    }

    /// HASH or KEY; KEY () means the primary key where that may be left out.
    #[inline(never)]
    fn hash_or_key(&mut self, may_be_empty: bool) -> Result<PartitionMethod> {
        let linear = self.eat_kw(Kw::LINEAR);
        if self.eat_kw(Kw::HASH) {
            return Ok(PartitionMethod::Hash { linear, expr: self.paren_bit_expr()? });
        }
        self.expect_kw(Kw::KEY)?;
        let algorithm = if self.eat_kw(Kw::ALGORITHM) {
            self.expect(Tok::Eq)?;
            let at = self.here();
            match self.number()? {
                n @ (1 | 2) => Some(n),
                _ => return self.error_at(ErrorKind::Syntax, at),
            }
        } else {
            None
        };
        self.expect(Tok::LParen)?;
        let columns = if may_be_empty && self.at(Tok::RParen) { Vec::new() } else { self.list(Self::ident)? };
        self.expect(Tok::RParen)?;
        Ok(PartitionMethod::Key { linear, algorithm, columns })
    }

    /// A partition.
    #[inline(never)]
    pub(super) fn partition_def(&mut self, known: Known) -> Result<PartitionDef> {
        let Known { columns, subs, listed } = known;
        self.expect_kw(Kw::PARTITION)?;
        let name = self.ident()?;
        let mut values = PartitionValues::None;
        if self.eat_kw(Kw::VALUES) {
            if self.eat_kw(Kw::LESS) {
                self.expect_kw(Kw::THAN)?;
                let paren = self.eat(Tok::LParen);
                let bounds = if paren {
                    self.list(&mut Self::partition_bound)?
                } else {
                    self.expect_kw(Kw::MAXVALUE)?;
                    vec![PartitionBound::MaxValue]
                };
                if columns.is_some_and(|n| bounds.len() < n) {
                    return self.error_at(ErrorKind::ColumnLists, self.here());
                }
                if paren {
                    self.expect(Tok::RParen)?;
                }
                values = PartitionValues::LessThan(bounds);
            } else {
                self.expect_kw(Kw::IN)?;
                values = PartitionValues::In(partition_rows(self, columns)?);
            }
        }
        let options = self.partition_options()?;
        let list = self.here();
        let sub = if self.at(Tok::LParen) {
            if listed == Some(false) {
                self.advance();
                return self.error_at(ErrorKind::SubpartitionCount, self.here());
            }
            self.paren_list(|p| {
                p.expect_kw(Kw::SUBPARTITION)?;
                let name = p.ident_or_string()?;
                Ok((name, p.partition_options()?))
            })?
        } else {
            Vec::new()
        };
        if !sub.is_empty() && subs.is_some_and(|n| n != sub.len() as u64) {
            return self.error_at(ErrorKind::SubpartitionCount, list);
        }
        if sub.is_empty() && listed == Some(true) {
            return self.error_at(ErrorKind::SubpartitionCount, self.here());
        }
        Ok(PartitionDef { name, values, options, sub })
    }

    #[inline(never)]
    fn partition_bound(&mut self) -> Result<PartitionBound> {
        if self.eat_kw(Kw::MAXVALUE) {
            return Ok(PartitionBound::MaxValue);
        }
        steady_expr(self).map(PartitionBound::Expr)
    }

    #[inline(never)]
    fn partition_options(&mut self) -> Result<Vec<PartitionOption>> {
        use PartitionOption as O;
        let mut out = Vec::new();
        loop {
            let kw = self.tok().kw;
            out.push(match kw {
                Kw::ENGINE => {
                    self.option_word();
                    O::Engine(self.ident_or_string()?.text)
                }
                Kw::STORAGE if self.peek(1).kw == Kw::ENGINE => {
                    self.advance();
                    self.option_word();
                    O::Engine(self.ident_or_string()?.text)
                }
                Kw::COMMENT => {
                    self.option_word();
                    O::Comment(self.string()?)
                }
                Kw::DATA | Kw::INDEX => {
                    self.advance();
                    if !self.at_kw(Kw::DIRECTORY) {
                        return self.syntax();
                    }
                    self.option_word();
                    let dir = self.string()?;
                    if kw == Kw::DATA { O::DataDirectory(dir) } else { O::IndexDirectory(dir) }
                }
                Kw::MAX_ROWS => {
                    self.option_word();
                    O::MaxRows(self.number()?)
                }
                Kw::MIN_ROWS => {
                    self.option_word();
                    O::MinRows(self.number()?)
                }
                Kw::NODEGROUP => {
                    self.option_word();
                    O::NodeGroup(self.number()?)
                }
                Kw::TABLESPACE => {
                    self.option_word();
                    O::Tablespace(self.ident_or_string()?)
                }
                _ => return Ok(out),
            });
        }
    }
}

/// Functions whose value is another one with the next statement, session or moment. UNIX_TIMESTAMP is one of them
/// without an argument.
const VARYING: &[&str] = &[
    "BENCHMARK",
    "CONNECTION_ID",
    "CURDATE",
    "CURRENT_DATE",
    "CURRENT_ROLE",
    "CURRENT_TIME",
    "CURRENT_TIMESTAMP",
    "CURRENT_USER",
    "CURTIME",
    "DATABASE",
    "FOUND_ROWS",
    "GET_LOCK",
    "IS_FREE_LOCK",
    "IS_USED_LOCK",
    "LAST_INSERT_ID",
    "LOAD_FILE",
    "LOCALTIME",
    "LOCALTIMESTAMP",
    "NOW",
    "RAND",
    "RANDOM_BYTES",
    "RELEASE_ALL_LOCKS",
    "RELEASE_LOCK",
    "ROW_COUNT",
    "SCHEMA",
    "SESSION_USER",
    "SLEEP",
    "SYSDATE",
    "SYSTEM_USER",
    "UNIX_TIMESTAMP",
    "USER",
    "UTC_DATE",
    "UTC_TIME",
    "UTC_TIMESTAMP",
    "UUID",
    "UUID_SHORT",
];

/// Calls of such functions and of stored ones, and variables of users.
fn varies(expr: &Expr) -> bool {
    let mut found = match expr {
        Expr::UserVar(_) | Expr::Assign { .. } => true,
        Expr::Call(call) => {
            let known = VARYING.iter().any(|name| call.name.text.eq_ignore_ascii_case(name));
            let instant = call.name.text.eq_ignore_ascii_case("UNIX_TIMESTAMP") && !call.args.is_empty();
            call.schema.is_some() || known && !instant
        }
        _ => false,
    };
    expr.clone().for_each_child_mut(&mut |child| found = found || varies(child));
    found
}

/// `word [=]` and a number of these, or DEFAULT.
#[inline(never)]
fn number_within(p: &mut Parser<'_>, numbers: std::ops::RangeInclusive<u64>) -> Result<Option<u64>> {
    p.option_word();
    let at = p.here();
    match p.number_or_default()? {
        Some(n) if !numbers.contains(&n) => p.error_at(ErrorKind::Syntax, at),
        value => Ok(value),
    }
}
