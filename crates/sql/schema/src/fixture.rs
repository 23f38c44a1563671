//! Tables for tests and for the fuzzer.

use crate::define::{ColumnDefinition, IndexDefinition, TableDefinition, define};
use crate::*;
use gannet_base::TreeId;
use gannet_types::members::Members;
use gannet_types::{CollationId, Date, Decimal, SqlType, TypeId, Value};
use std::sync::Arc;

pub(crate) fn column(name: &str, ty: SqlType, nullable: bool, default: ColumnDefault) -> ColumnDefinition {
    let column = Column::new(name, ty, nullable, default);
    ColumnDefinition { column, explicit_null: false }
}

pub(crate) fn index(kind: IndexKind, name: Option<&str>, parts: &[(&str, Option<u32>, bool)]) -> IndexDefinition {
    IndexDefinition {
        name: name.map(Into::into),
        kind,
        method: Default::default(),
        parts: parts.iter().map(|(n, p, d)| ((*n).into(), *p, *d)).collect(),
        comment: "".into(),
        attributes: EngineAttributes::default(),
        block_size: 0,
        invisible: false,
        using: None,
        generated: false,
    }
}

pub(crate) fn definition(columns: Vec<ColumnDefinition>, indexes: Vec<IndexDefinition>) -> TableDefinition {
    let options = TableOptions { collation: CollationId::DEFAULT, comment: "".into(), create_options: Box::new([]) };
    TableDefinition {
        name: "t".into(),
        columns,
        indexes,
        options,
        auto_increment: None,
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        partitioning: None,
    }
}

pub(crate) fn build(definition: &TableDefinition) -> Table {
    let defined = define(definition).unwrap();
    let mut indexes = defined.indexes;
    for (i, index) in indexes.iter_mut().enumerate() {
        index.tree = TreeId(if Some(i) == defined.clustered { 7 } else { 8 + i as u64 });
    }
    let parts = TableParts {
        id: TableId(2000),
        schema_id: SchemaId(1025),
        row_tree: TreeId(7),
        history: Arc::default(),
        created: 1_700_000_000,
        options: definition.options.clone(),
        temporary: false,
        triggers: Box::default(),
        constraints: Constraints::default(),
        source: RowSource::Engine,
        partitioned: None,
    };
    let name = definition.name.clone();
    assemble(parts, "test".into(), name, defined.columns, indexes, defined.clustered, Arc::default())
}

pub(crate) fn int() -> SqlType {
    SqlType::new(TypeId::Int)
}

/// One of everything.
pub(crate) fn rich() -> Table {
    let members = |id| {
        let names = Box::new(["a".into(), "it's".into()]);
        SqlType::enumeration(id, Arc::new(Members::new(names, CollationId::DEFAULT)))
    };
    let text = |n| SqlType::varchar(n, CollationId::DEFAULT);
    let mut id = column("id", SqlType::bigint_unsigned(), false, ColumnDefault::None);
    id.column.auto_increment = true;
    let mut updated = column("u", SqlType::temporal(TypeId::Timestamp, 3), true, ColumnDefault::CurrentTimestamp);
    updated.column.on_update_now = true;
    let mut generated = column("g", int(), true, ColumnDefault::None);
    generated.column.generated = Some(Generated { expression: "(`n` + 1)".into(), stored: false });
    let mut hidden = column("h", int(), true, ColumnDefault::Null);
    hidden.column.invisible = true;
    hidden.column.comment = "don't\nshow".into();
    hidden.column.storage = ColumnStorage::Disk;
    updated.column.format = ColumnFormat::Dynamic;
    hidden.column.attributes.engine = r#"{"a":"it's"}"#.into();
    let mut bin = column("b", text(10).with_collation(CollationId::UTF8MB4_BIN), true, ColumnDefault::None);
    bin.column.explicit_collation = true;
    let columns = vec![
        id,
        column("n", int(), false, ColumnDefault::Literal(Value::Int(-5))),
        column(
            "m",
            SqlType::decimal(10, 2),
            true,
            ColumnDefault::Literal(Value::Decimal(Decimal::parse(b"1.50").value)),
        ),
        column("s", text(20), false, ColumnDefault::Literal(Value::text("it's"))),
        column("d", SqlType::new(TypeId::Date), true, ColumnDefault::Literal(Value::Date(Date::new(2024, 2, 29)))),
        updated,
        column("e", members(TypeId::Enum), true, ColumnDefault::None),
        column("f", members(TypeId::Set), true, ColumnDefault::None),
        column(
            "t",
            SqlType { collation: CollationId::DEFAULT, ..SqlType::new(TypeId::Text) },
            true,
            ColumnDefault::None,
        ),
        column("j", SqlType::new(TypeId::Json), true, ColumnDefault::None),
        column("x", text(36), true, ColumnDefault::Expression("uuid()".into())),
        column(
            "bits",
            SqlType { length: 4, ..SqlType::new(TypeId::Bit) },
            true,
            ColumnDefault::Literal(Value::Bit(5, 4)),
        ),
        generated,
        hidden,
        bin,
    ];
    let indexes = vec![
        index(IndexKind::Plain, None, &[("n", None, false), ("s", Some(5), true)]),
        index(IndexKind::Primary, None, &[("id", None, false)]),
        index(IndexKind::Unique, Some("u_s"), &[("s", None, false)]),
        index(IndexKind::Plain, Some("t_p"), &[("t", Some(10), false)]),
    ];
    let mut definition = definition(columns, indexes);
    definition.indexes[2].attributes.secondary = "[1]".into();
    definition.indexes[2].block_size = 8;
    definition.options.comment = "all of it".into();
    build(&definition)
}
