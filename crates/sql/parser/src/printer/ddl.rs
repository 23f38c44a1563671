//! Tables, indexes, databases, views.

use super::expr::Signed;
use super::*;

/// Keyword of a base type.
fn type_name(base: BaseType) -> &'static str {
    use BaseType as B;
    match base {
        B::Bit => "bit",
        B::TinyInt => "tinyint",
        B::SmallInt => "smallint",
        B::MediumInt => "mediumint",
        B::Int => "int",
        B::BigInt => "bigint",
        B::Decimal => "decimal",
        B::Float => "float",
        B::Double => "double",
        B::Real => "real",
        B::Date => "date",
        B::Time => "time",
        B::DateTime => "datetime",
        B::Timestamp => "timestamp",
        B::Year => "year",
        B::Char => "char",
        B::VarChar => "varchar",
        B::Binary => "binary",
        B::VarBinary => "varbinary",
        B::TinyText => "tinytext",
        B::Text => "text",
        B::MediumText => "mediumtext",
        B::LongText => "longtext",
        B::TinyBlob => "tinyblob",
        B::Blob => "blob",
        B::MediumBlob => "mediumblob",
        B::LongBlob => "longblob",
        B::Enum => "enum",
        B::Set => "set",
        B::Json => "json",
        B::Geometry => "geometry",
        B::Point => "point",
        B::LineString => "linestring",
        B::Polygon => "polygon",
        B::MultiPoint => "multipoint",
        B::MultiLineString => "multilinestring",
        B::MultiPolygon => "multipolygon",
        B::GeometryCollection => "geomcollection",
        B::Vector => "vector",
    }
}

impl Print for DataType {
    fn print(&self, sql: &mut Sql) {
        match (self.national, self.base) {
            (true, BaseType::VarChar) => sql.s("nvarchar"),
            (true, _) => sql.s("nchar"),
            (false, base) => sql.s(type_name(base)),
        };
        if let Some(length) = self.length {
            sql.s("(").n(length).opt_n(",", self.decimals).s(")");
        }
        if matches!(self.base, BaseType::Enum | BaseType::Set) {
            for (i, member) in self.members.iter().enumerate() {
                sql.s(if i == 0 { "(" } else { "," }).string(member);
            }
            sql.s(")");
        }
        sql.flag(self.unsigned, " unsigned").flag(self.zerofill, " zerofill");
        sql.opt(" character set ", &self.charset).flag(self.bin_collation, " binary");
    }
}

impl Print for CreateTable {
    fn print(&self, sql: &mut Sql) {
        sql.s("create ").flag(self.existence.or_replace, "or replace ").flag(self.temporary, "temporary ").s("table ");
        sql.flag(self.existence.if_exists, "if not exists ").p(&self.name);
        match &self.body {
            CreateTableBody::Like(other) => {
                sql.s(" like ").p(other);
            }
            CreateTableBody::Define { elements, options, partition, on_duplicate, query } => {
                sql.opt_parens(" ", elements).list(options, "").opt(" ", partition);
                sql.s(match on_duplicate {
                    OnDuplicate::Error => "",
                    OnDuplicate::Ignore => " ignore",
                    OnDuplicate::Replace => " replace",
                });
                sql.opt(" as ", query);
            }
        }
    }
}

impl Print for TableElement {
    fn print(&self, sql: &mut Sql) {
        match self {
            TableElement::Column(column) => sql.p(column),
            TableElement::Index(index) => sql.p(index),
            TableElement::ForeignKey(key) => sql.p(key),
            TableElement::Check(check) => sql.p(check),
        };
    }
}

impl Print for ColumnDef {
    fn print(&self, sql: &mut Sql) {
        sql.p(&self.name).s(" ").p(&self.data_type);
        if let Some(g) = &self.generated {
            let kind = if g.stored { ") stored" } else { ") virtual" };
            sql.s(" generated always as (").p(&g.expr).s(kind);
        }
        sql.list(&self.attributes, "");
    }
}

impl Print for ColumnAttribute {
    fn print(&self, sql: &mut Sql) {
        use ColumnAttribute as A;
        match self {
            A::Null => sql.s(" null"),
            A::NotNull => sql.s(" not null"),
            A::Default { expr, parenthesised } => default(" default ", expr, *parenthesised, sql),
            A::OnUpdateNow { fractional } => match fractional {
                None => sql.s(" on update current_timestamp"),
                Some(n) => sql.s(" on update current_timestamp(").n(*n).s(")"),
            },
            A::AutoIncrement => sql.s(" auto_increment"),
            A::PrimaryKey => sql.s(" primary key"),
            A::Unique => sql.s(" unique key"),
            A::Comment(text) => sql.s(" comment ").string(text.as_bytes()),
            A::Collate(name) => sql.s(" collate ").p(name),
            A::ColumnFormat(format) => sql.s(match format {
                ColumnFormat::Default => " column_format default",
                ColumnFormat::Fixed => " column_format fixed",
                ColumnFormat::Dynamic => " column_format dynamic",
            }),
            A::Storage(storage) => sql.s(" storage ").p(storage),
            A::References(references) => sql.p(references),
            A::Check(check) => sql.s(" ").p(check),
            A::Srid(n) => sql.s(" srid ").n(*n),
            A::Invisible => sql.s(" invisible"),
            A::Visible => sql.s(" visible"),
            A::EngineAttribute(text) => sql.s(" engine_attribute ").string(text.as_bytes()),
            A::SecondaryEngineAttribute(text) => sql.s(" secondary_engine_attribute ").string(text.as_bytes()),
            A::NotSecondary => sql.s(" not secondary"),
        };
    }
}

fn default<'a>(before: &str, expr: &Expr, parenthesised: bool, sql: &'a mut Sql) -> &'a mut Sql {
    if parenthesised { sql.s(before).s("(").p(expr).s(")") } else { sql.s(before).p(&Signed(expr)) }
}

impl Print for ColumnStorage {
    fn print(&self, sql: &mut Sql) {
        sql.s(match self {
            ColumnStorage::Default => "default",
            ColumnStorage::Disk => "disk",
            ColumnStorage::Memory => "memory",
        });
    }
}

impl Print for IndexDef {
    fn print(&self, sql: &mut Sql) {
        sql.opt("constraint ", &self.constraint).flag(self.constraint.is_some(), " ");
        sql.s(match self.kind {
            IndexKind::Primary => "primary key",
            IndexKind::Unique => "unique key",
            IndexKind::Index => "key",
            IndexKind::Fulltext => "fulltext key",
            IndexKind::Spatial => "spatial key",
        });
        sql.flag(self.if_not_exists, " if not exists").opt(" ", &self.name).s(" ").parens(&self.parts);
        sql.list(&self.options, "");
    }
}

impl Print for KeyPart {
    fn print(&self, sql: &mut Sql) {
        match &self.source {
            KeySource::Column { name, prefix } => {
                sql.p(name);
                if let Some(n) = prefix {
                    sql.s("(").n(*n).s(")");
                }
            }
            KeySource::Expr(expr) => {
                sql.s("(").p(expr).s(")");
            }
        }
        sql.flag(self.desc, " desc").flag(self.ordered && !self.desc, " asc");
    }
}

impl Print for IndexOption {
    fn print(&self, sql: &mut Sql) {
        use IndexOption as O;
        match self {
            O::Using(word) => sql.s(" using ").s(word),
            O::KeyBlockSize(n) => sql.s(" key_block_size=").n(*n),
            O::WithParser(name) => sql.s(" with parser ").p(name),
            O::Comment(text) => sql.s(" comment ").string(text.as_bytes()),
            O::Visible => sql.s(" visible"),
            O::Invisible => sql.s(" invisible"),
            O::EngineAttribute(text) => sql.s(" engine_attribute ").string(text.as_bytes()),
            O::SecondaryEngineAttribute(text) => sql.s(" secondary_engine_attribute ").string(text.as_bytes()),
        };
    }
}

impl Print for ForeignKeyDef {
    fn print(&self, sql: &mut Sql) {
        sql.opt("constraint ", &self.constraint).flag(self.constraint.is_some(), " ").s("foreign key");
        sql.flag(self.if_not_exists, " if not exists");
        sql.opt(" ", &self.name).s(" ").parens(&self.columns).p(&self.references);
    }
}

impl Print for References {
    fn print(&self, sql: &mut Sql) {
        sql.s(" references ").p(&self.table).opt_parens(" ", &self.columns);
        sql.s(match self.match_kind {
            None => "",
            Some(MatchKind::Full) => " match full",
            Some(MatchKind::Partial) => " match partial",
            Some(MatchKind::Simple) => " match simple",
        });
        for (action, words) in [(self.on_delete, " on delete "), (self.on_update, " on update ")] {
            if let Some(action) = action {
                sql.s(words).s(match action {
                    ReferenceAction::Restrict => "restrict",
                    ReferenceAction::Cascade => "cascade",
                    ReferenceAction::SetNull => "set null",
                    ReferenceAction::NoAction => "no action",
                    ReferenceAction::SetDefault => "set default",
                });
            }
        }
    }
}

impl Print for CheckDef {
    fn print(&self, sql: &mut Sql) {
        let word = if self.if_not_exists { "constraint if not exists " } else { "constraint " };
        sql.opt(word, &self.constraint).flag(self.constraint.is_some(), " ");
        sql.s("check (").p(&self.expr).s(")").flag(self.not_enforced, " not enforced");
    }
}

impl Print for TableOption {
    fn print(&self, sql: &mut Sql) {
        use TableOption as O;
        let bit = |b: &bool| u64::from(*b);
        match self {
            O::Engine(name) => sql.s(" engine=").name(name),
            O::SecondaryEngine(None) => sql.s(" secondary_engine=null"),
            O::SecondaryEngine(Some(name)) => sql.s(" secondary_engine=").name(name),
            O::Charset(name) => sql.s(" default charset=").p(name),
            O::Collate(name) => sql.s(" collate=").p(name),
            O::Comment(text) => sql.s(" comment=").string(text.as_bytes()),
            O::AutoIncrement(n) => sql.s(" auto_increment=").n(*n),
            O::RowFormat(word) => sql.s(" row_format=").s(word),
            O::KeyBlockSize(n) => sql.s(" key_block_size=").n(*n),
            O::AvgRowLength(n) => sql.s(" avg_row_length=").n(*n),
            O::Checksum(b) => sql.s(" checksum=").n(bit(b)),
            O::MaxRows(n) => sql.s(" max_rows=").n(*n),
            O::MinRows(n) => sql.s(" min_rows=").n(*n),
            O::PackKeys(n) => sql.n_or_default(" pack_keys=", *n),
            O::StatsPersistent(n) => sql.n_or_default(" stats_persistent=", *n),
            O::StatsAutoRecalc(n) => sql.n_or_default(" stats_auto_recalc=", *n),
            O::StatsSamplePages(n) => sql.n_or_default(" stats_sample_pages=", *n),
            O::DelayKeyWrite(b) => sql.s(" delay_key_write=").n(bit(b)),
            O::InsertMethod(word) => sql.s(" insert_method=").s(word),
            O::Union(tables) => sql.s(" union=").parens(tables),
            O::DataDirectory(dir) => sql.s(" data directory=").string(dir.as_bytes()),
            O::IndexDirectory(dir) => sql.s(" index directory=").string(dir.as_bytes()),
            O::Tablespace(name) => sql.s(" tablespace=").p(name),
            O::Storage(storage) => sql.s(" storage ").p(storage),
            O::Connection(text) => sql.s(" connection=").string(text),
            O::Password(text) => sql.s(" password=").string(text),
            O::Compression(text) => sql.s(" compression=").string(text.as_bytes()),
            O::Encryption(text) => sql.s(" encryption=").string(text.as_bytes()),
            O::AutoextendSize(n) => sql.s(" autoextend_size=").n(*n),
            O::EngineAttribute(text) => sql.s(" engine_attribute=").string(text.as_bytes()),
            O::SecondaryEngineAttribute(text) => sql.s(" secondary_engine_attribute=").string(text.as_bytes()),
            O::StartTransaction => sql.s(" start transaction"),
            O::Other(name, value) => sql.s(" ").p(name).s("=").string(value.as_bytes()),
        };
    }
}

impl Print for PartitionBy {
    fn print(&self, sql: &mut Sql) {
        sql.s("partition by ").p(&self.method).opt_n(" partitions ", self.count);
        if let Some((method, count)) = &self.sub {
            sql.s(" subpartition by ").p(method).opt_n(" subpartitions ", *count);
        }
        sql.opt_parens(" ", &self.partitions);
    }
}

impl Print for PartitionMethod {
    fn print(&self, sql: &mut Sql) {
        use PartitionMethod as M;
        match self {
            M::Hash { linear, expr } => sql.flag(*linear, "linear ").s("hash (").p(expr).s(")"),
            M::Key { linear, algorithm, columns } => {
                sql.flag(*linear, "linear ").s("key").opt_n(" algorithm=", *algorithm).s(" ").parens(columns)
            }
            M::Range(expr) => sql.s("range (").p(expr).s(")"),
            M::RangeColumns(columns) => sql.s("range columns").parens(columns),
            M::List(expr) => sql.s("list (").p(expr).s(")"),
            M::ListColumns(columns) => sql.s("list columns").parens(columns),
        };
    }
}

impl Print for PartitionDef {
    fn print(&self, sql: &mut Sql) {
        sql.s("partition ").p(&self.name);
        match &self.values {
            PartitionValues::None => {}
            PartitionValues::LessThan(bounds) => {
                sql.s(" values less than ").parens(bounds);
            }
            PartitionValues::In(rows) => {
                sql.s(" values in (");
                for (i, row) in rows.iter().enumerate() {
                    sql.flag(i > 0, ",");
                    match &row[..] {
                        // What begins with a parenthesis would be read as a row; a plus is no part of the tree.
                        [PartitionBound::Expr(e)] if super::expr(e).starts_with(b"(") => sql.s("+").p(e),
                        [one] => sql.p(one),
                        row => sql.parens(row),
                    };
                }
                sql.s(")");
            }
        }
        sql.list(&self.options, "");
        for (i, (name, options)) in self.sub.iter().enumerate() {
            sql.s(if i == 0 { " (" } else { "," }).s("subpartition ").p(name).list(options, "");
        }
        sql.flag(!self.sub.is_empty(), ")");
    }
}

impl Print for PartitionBound {
    fn print(&self, sql: &mut Sql) {
        match self {
            PartitionBound::MaxValue => sql.s("maxvalue"),
            PartitionBound::Expr(expr) => sql.p(expr),
        };
    }
}

impl Print for PartitionOption {
    fn print(&self, sql: &mut Sql) {
        use PartitionOption as O;
        match self {
            O::Engine(name) => sql.s(" engine=").name(name),
            O::Comment(text) => sql.s(" comment=").string(text.as_bytes()),
            O::DataDirectory(dir) => sql.s(" data directory=").string(dir.as_bytes()),
            O::IndexDirectory(dir) => sql.s(" index directory=").string(dir.as_bytes()),
            O::MaxRows(n) => sql.s(" max_rows=").n(*n),
            O::MinRows(n) => sql.s(" min_rows=").n(*n),
            O::Tablespace(name) => sql.s(" tablespace=").p(name),
            O::NodeGroup(n) => sql.s(" nodegroup=").n(*n),
        };
    }
}

impl Print for AlterTable {
    fn print(&self, sql: &mut Sql) {
        sql.s("alter table ").flag(self.if_exists, "if exists ").p(&self.name);
        for (i, action) in self.actions.iter().enumerate() {
            let alone = i == 0 || matches!(action, AlterAction::RemovePartitioning);
            sql.s(if alone { " " } else { ", " }).p(action);
        }
        sql.opt(" ", &self.partition);
    }
}

impl Print for ColumnPosition {
    fn print(&self, sql: &mut Sql) {
        match self {
            ColumnPosition::Last => sql,
            ColumnPosition::First => sql.s(" first"),
            ColumnPosition::After(name) => sql.s(" after ").p(name),
        };
    }
}

impl Print for AlterAction {
    fn print(&self, sql: &mut Sql) {
        use AlterAction as A;
        match self {
            A::AddColumn { column, position, if_not_exists } => {
                sql.s("add column ").flag(*if_not_exists, "if not exists ").p(column).p(position)
            }
            A::AddElements(elements) => sql.s("add column ").parens(elements),
            A::Conditional(action) => print_conditional(action, sql),
            A::AddElement(element) => sql.s("add ").p(element),
            A::DropColumn { name, if_exists } => sql.s("drop column ").flag(*if_exists, "if exists ").p(name),
            A::ChangeColumn { old, column, position, if_exists } => {
                sql.s("change column ").flag(*if_exists, "if exists ").p(old).s(" ").p(column).p(position)
            }
            A::ModifyColumn { column, position, if_exists } => {
                sql.s("modify column ").flag(*if_exists, "if exists ").p(column).p(position)
            }
            A::RenameColumn { old, new } => sql.s("rename column ").p(old).s(" to ").p(new),
            A::SetDefault { column, expr, parenthesised } => {
                default(" set default ", expr, *parenthesised, sql.s("alter column ").p(column))
            }
            A::DropDefault(column) => sql.s("alter column ").p(column).s(" drop default"),
            A::ColumnVisibility { column, visible } => {
                sql.s("alter column ").p(column).s(if *visible { " set visible" } else { " set invisible" })
            }
            A::DropPrimaryKey => sql.s("drop primary key"),
            A::DropIndex { name, if_exists } => sql.s("drop key ").flag(*if_exists, "if exists ").p(name),
            A::DropForeignKey { name, if_exists } => sql.s("drop foreign key ").flag(*if_exists, "if exists ").p(name),
            A::DropCheck(name) => sql.s("drop check ").p(name),
            A::DropConstraint { name, if_exists } => sql.s("drop constraint ").flag(*if_exists, "if exists ").p(name),
            A::RenameIndex { old, new } => sql.s("rename key ").p(old).s(" to ").p(new),
            A::IndexVisibility { name, visible } => {
                sql.s("alter index ").p(name).s(if *visible { " visible" } else { " invisible" })
            }
            A::Enforce { name, enforced, constraint } => sql
                .s(if *constraint { "alter constraint " } else { "alter check " })
                .p(name)
                .s(if *enforced { " enforced" } else { " not enforced" }),
            A::DisableKeys => sql.s("disable keys"),
            A::EnableKeys => sql.s("enable keys"),
            A::Rename(name) => sql.s("rename to ").p(name),
            A::OrderBy(items) => sql.s("order by ").list(items, ","),
            A::ConvertCharset { charset, collation } => {
                sql.s("convert to character set ");
                match charset {
                    Some(charset) => sql.p(charset),
                    None => sql.s("default"),
                };
                sql.opt(" collate ", collation)
            }
            A::Options(options) => sql.list(options, ""),
            A::Force => sql.s("force"),
            A::DiscardTablespace => sql.s("discard tablespace"),
            A::ImportTablespace => sql.s("import tablespace"),
            A::Algorithm(word) => sql.s("algorithm=").s(word),
            A::Lock(word) => sql.s("lock=").s(word),
            A::Validation(with) => sql.s(if *with { "with validation" } else { "without validation" }),
            A::SecondaryLoad(load) => sql.s(if *load { "secondary_load" } else { "secondary_unload" }),
            other => print_partition_action(other, sql),
        };
    }
}

/// An action with IF EXISTS or IF NOT EXISTS.
fn print_conditional<'a>(action: &AlterAction, sql: &'a mut Sql) -> &'a mut Sql {
    use AlterAction as A;
    match action {
        A::AddElements(elements) => sql.s("add column if not exists ").parens(elements),
        A::AddPartition { no_write_to_binlog, partitions, .. } => sql
            .s("add partition ")
            .flag(*no_write_to_binlog, "no_write_to_binlog ")
            .s("if not exists ")
            .parens(partitions),
        A::DropPartition(names) => sql.s("drop partition if exists ").list(names, ","),
        A::RenameColumn { old, new } => sql.s("rename column if exists ").p(old).s(" to ").p(new),
        A::RenameIndex { old, new } => sql.s("rename key if exists ").p(old).s(" to ").p(new),
        A::SetDefault { column, expr, parenthesised } => {
            default(" set default ", expr, *parenthesised, sql.s("alter column if exists ").p(column))
        }
        A::DropDefault(column) => sql.s("alter column if exists ").p(column).s(" drop default"),
        A::IndexVisibility { name, visible } => {
            sql.s("alter index if exists ").p(name).s(if *visible { " visible" } else { " invisible" })
        }
        other => {
            sql.p(other);
            sql
        }
    }
}

fn print_partition_action<'a>(action: &AlterAction, sql: &'a mut Sql) -> &'a mut Sql {
    use AlterAction as A;
    let local = "no_write_to_binlog ";
    match action {
        A::AddPartition { no_write_to_binlog, partitions, count } => sql
            .s("add partition ")
            .flag(*no_write_to_binlog, local)
            .opt_n("partitions ", *count)
            .opt_parens("", partitions),
        A::DropPartition(names) => sql.s("drop partition ").list(names, ","),
        A::ReorganizePartition { no_write_to_binlog, names, into } => {
            sql.s("reorganize partition ").flag(*no_write_to_binlog, local).list(names, ",").opt_parens(" into ", into)
        }
        A::CoalescePartition { no_write_to_binlog, count } => {
            sql.s("coalesce partition ").flag(*no_write_to_binlog, local).n(*count)
        }
        A::ExchangePartition { name, table, validation } => {
            sql.s("exchange partition ").p(name).s(" with table ").p(table).s(match validation {
                None => "",
                Some(true) => " with validation",
                Some(false) => " without validation",
            })
        }
        A::Partitions { verb, no_write_to_binlog, names, options } => {
            sql.s(verb).s(" partition ").flag(*no_write_to_binlog, local);
            if names.is_empty() {
                sql.s("all");
            }
            sql.list(names, ",");
            for option in options {
                sql.s(if option.eq_ignore_ascii_case("upgrade") { " for " } else { " " }).s(option);
            }
            sql
        }
        _ => sql.s("remove partitioning"),
    }
}

impl Print for CreateIndex {
    fn print(&self, sql: &mut Sql) {
        sql.s("create ").flag(self.existence.or_replace, "or replace ").s(match self.index.kind {
            IndexKind::Unique => "unique index ",
            IndexKind::Fulltext => "fulltext index ",
            IndexKind::Spatial => "spatial index ",
            IndexKind::Index | IndexKind::Primary => "index ",
        });
        sql.flag(self.existence.if_exists, "if not exists ").opt("", &self.index.name).s(" on ").p(&self.table);
        sql.s(" ").parens(&self.index.parts).list(&self.index.options, "");
        for option in &self.online {
            sql.s(" ").p(option);
        }
    }
}

impl Print for DropIndex {
    fn print(&self, sql: &mut Sql) {
        sql.s("drop index ").flag(self.if_exists, "if exists ").p(&self.name).s(" on ").p(&self.table);
        for option in &self.online {
            sql.s(" ").p(option);
        }
    }
}

impl Print for DatabaseOption {
    fn print(&self, sql: &mut Sql) {
        match self {
            DatabaseOption::Charset(name) => sql.s(" character set ").p(name),
            DatabaseOption::Collate(name) => sql.s(" collate ").p(name),
            DatabaseOption::Encryption(text) => sql.s(" encryption ").string(text.as_bytes()),
            DatabaseOption::ReadOnly(n) => sql.n_or_default(" read only = ", *n),
            DatabaseOption::Comment(text) => sql.s(" comment ").string(text.as_bytes()),
        };
    }
}

impl Print for CreateView {
    fn print(&self, sql: &mut Sql) {
        sql.s(if self.alter { "alter " } else { "create " }).flag(self.existence.or_replace, "or replace ");
        if let Some(algorithm) = &self.algorithm {
            sql.s("algorithm=").s(algorithm).s(" ");
        }
        program::definer(&self.definer, sql);
        sql.s(match self.invoker {
            None => "",
            Some(true) => "sql security invoker ",
            Some(false) => "sql security definer ",
        });
        sql.s("view ").flag(self.existence.if_exists, "if not exists ").p(&self.name).opt_parens(" ", &self.columns);
        sql.s(" as ").p(&self.query).s(match self.check_option {
            None => "",
            Some(true) => " with cascaded check option",
            Some(false) => " with local check option",
        });
    }
}
