//! A catalog out of CREATE TABLE texts, without an engine.

#![allow(dead_code, reason = "each test file uses a part")]

use gannet_base::TreeId;
use gannet_parser::ast::{ColumnAttribute, CreateTableBody, KeySource, Statement, TableElement};
use gannet_parser::digest::{self, Scan};
use gannet_parser::mode::LexMode;
use gannet_plan::{Plan, PlanOptions, TypeContext, column_type};
use gannet_schema::{
    CatalogSnapshot, Column, ColumnDefault, ColumnDefinition, ColumnFormat, ColumnStorage, EngineAttributes, Figures,
    Index, IndexDefinition, IndexFigures, IndexKind, RowSource, SchemaId, Table, TableDefinition, TableId,
    TableOptions, TableParts, TableStatistics, assemble, define, fixture_snapshot,
};
use gannet_types::{CollationId, Result, SqlMode};
use std::sync::Arc;

/// Rows of a fixture table and distinct values of its indexes' prefixes, by index name.
pub type Sizes<'a> = (u64, &'a [(&'a str, &'a [f64])]);

pub fn table(schema: &str, sql: &str, number: u64, sizes: Sizes<'_>) -> Table {
    let parsed = gannet_parser::parse_one(sql.as_bytes(), LexMode::default()).expect(sql);
    let Statement::CreateTable(create) = parsed.statement else { panic!("{sql}") };
    let CreateTableBody::Define { elements, .. } = create.body else { panic!("{sql}") };
    let mut columns = Vec::new();
    let mut indexes = Vec::new();
    let index = |kind, parts: Vec<(Box<str>, Option<u32>, bool)>, name: Option<Box<str>>| IndexDefinition {
        name,
        kind,
        method: Default::default(),
        parts,
        comment: "".into(),
        attributes: EngineAttributes::default(),
        block_size: 0,
        invisible: false,
        generated: false,
        using: None,
    };
    for element in &elements {
        match element {
            TableElement::Column(def) => {
                let collate = def.attributes.iter().find_map(|a| match a {
                    ColumnAttribute::Collate(name) => Some(&*name.text),
                    _ => None,
                });
                let has = |wanted: fn(&ColumnAttribute) -> bool| def.attributes.iter().any(wanted);
                let cx = TypeContext {
                    utf8mb4: CollationId::DEFAULT,
                    column: &def.name,
                    collation: CollationId::DEFAULT,
                    sql_mode: SqlMode::DEFAULT,
                    notes: None,
                };
                let nullable = !has(|a| matches!(a, ColumnAttribute::NotNull | ColumnAttribute::PrimaryKey));
                let name: Box<str> = (&*def.name.text).into();
                if has(|a| matches!(a, ColumnAttribute::PrimaryKey)) {
                    indexes.push(index(IndexKind::Primary, vec![(name.clone(), None, false)], None));
                }
                if has(|a| matches!(a, ColumnAttribute::Unique)) {
                    indexes.push(index(IndexKind::Unique, vec![(name.clone(), None, false)], None));
                }
                columns.push(ColumnDefinition {
                    column: Column {
                        name: (&*name).into(),
                        ty: column_type(&def.data_type, collate, cx).expect(sql),
                        nullable,
                        default: ColumnDefault::None,
                        on_update_now: has(|a| matches!(a, ColumnAttribute::OnUpdateNow { .. })),
                        auto_increment: has(|a| matches!(a, ColumnAttribute::AutoIncrement)),
                        generated: None,
                        comment: "".into(),
                        attributes: EngineAttributes::default(),
                        format: ColumnFormat::Default,
                        storage: ColumnStorage::Default,
                        invisible: has(|a| matches!(a, ColumnAttribute::Invisible)),
                        explicit_collation: collate.is_some(),
                        hidden: false,
                    },
                    explicit_null: false,
                });
            }
            TableElement::Index(def) => {
                let kind = match def.kind {
                    gannet_parser::ast::IndexKind::Primary => IndexKind::Primary,
                    gannet_parser::ast::IndexKind::Unique => IndexKind::Unique,
                    _ => IndexKind::Plain,
                };
                let parts = def.parts.iter().map(|p| match &p.source {
                    KeySource::Column { name, prefix } => ((&*name.text).into(), prefix.map(|n| n as u32), p.desc),
                    KeySource::Expr(_) => panic!("{sql}"),
                });
                indexes.push(index(kind, parts.collect(), def.name.as_ref().map(|n| n.text.clone())));
            }
            _ => panic!("{sql}"),
        }
    }
    let options = TableOptions { collation: CollationId::DEFAULT, comment: "".into(), create_options: Box::new([]) };
    let definition = TableDefinition {
        name: (&*create.name.name.text).into(),
        columns,
        indexes,
        options: options.clone(),
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        partitioning: None,
        auto_increment: None,
    };
    let defined = define::define(&definition).expect(sql);
    let mut indexes: Vec<Index> = defined.indexes;
    let row_tree = TreeId(number * 100);
    for (i, index) in indexes.iter_mut().enumerate() {
        index.tree = if Some(i) == defined.clustered { row_tree } else { TreeId(number * 100 + 1 + i as u64) };
    }
    let (rows, distinct) = sizes;
    let figures = indexes.iter().map(|i| {
        let known = distinct.iter().find(|(name, _)| **name == *i.name).map(|(_, d)| d.to_vec());
        let default = || {
            let n = i.parts.len();
            (1..=n).map(|p| if i.unique() && p == n { rows as f64 } else { (rows as f64).powf(0.6).max(1.0) }).collect()
        };
        IndexFigures {
            tree: i.tree,
            pages: rows / 400 + 1,
            leaves: rows / 400 + 1,
            sampled: 0,
            distinct: known.unwrap_or_else(default),
        }
    });
    let figures = Figures { rows, pages: rows / 80 + 1, indexes: figures.collect(), taken: 1 };
    let parts = TableParts {
        history: Default::default(),
        id: TableId(number),
        schema_id: SchemaId(1024),
        row_tree,
        created: 0,
        options,
        temporary: false,
        triggers: Box::default(),
        constraints: gannet_schema::Constraints::default(),
        source: RowSource::Engine,
        partitioned: None,
    };
    let statistics = Arc::new(TableStatistics::new(figures));
    assemble(parts, schema.into(), definition.name.clone(), defined.columns, indexes, defined.clustered, statistics)
}

/// The tables of the tests: sysbench, TPC-C, and some for joins.
pub fn snapshot() -> CatalogSnapshot {
    let none: &[(&str, &[f64])] = &[];
    let tables: &[(&str, u64, &[(&str, &[f64])])] = &[
        (
            "create table sbtest1 (id int not null auto_increment, k int not null, c char(120) not null, pad char(60) not null, primary key (id), key k_1 (k))",
            100_000,
            &[("k_1", &[30_000.0])],
        ),
        (
            "create table t1 (a int primary key, b int, c varchar(20), d datetime, e decimal(10,2), key b_i (b), key bc (b, c), unique key d_u (d))",
            10_000,
            none,
        ),
        (
            "create table t2 (a int primary key, t1_a int not null, v varchar(50), n bigint unsigned, key t1_a (t1_a), key n_d (n desc))",
            50_000,
            none,
        ),
        ("create table t3 (x int, y int, z varchar(10), key xy (x, y))", 200, none),
        ("create table small (id int primary key, name varchar(20) not null)", 10, none),
        (
            "create table e (id bigint unsigned primary key, kind enum('a','b'), s set('x','y'), j json, ts timestamp, y year, bits bit(8), bin varbinary(20), txt text, key kind (kind), key ts (ts), key txt (txt(10)))",
            1_000,
            none,
        ),
        (
            "create table cs (k varchar(30) collate utf8mb4_bin primary key, v varchar(30) collate utf8mb4_general_ci, w varchar(30) character set latin1, key v (v), key w (w))",
            5_000,
            none,
        ),
        (
            "create table warehouse (w_id smallint not null, w_name varchar(10), w_tax decimal(4,2), w_ytd decimal(12,2), primary key (w_id))",
            10,
            none,
        ),
        (
            "create table district (d_id tinyint not null, d_w_id smallint not null, d_name varchar(10), d_tax decimal(4,2), d_ytd decimal(12,2), d_next_o_id int, primary key (d_w_id, d_id))",
            100,
            none,
        ),
        (
            "create table customer (c_id int not null, c_d_id tinyint not null, c_w_id smallint not null, c_first varchar(16), c_middle char(2), c_last varchar(16), c_credit char(2), c_discount decimal(4,2), c_balance decimal(12,2), c_data text, primary key (c_w_id, c_d_id, c_id), key idx_customer (c_w_id, c_d_id, c_last, c_first))",
            300_000,
            &[("PRIMARY", &[10.0, 100.0, 300_000.0]), ("idx_customer", &[10.0, 100.0, 100_000.0, 300_000.0])],
        ),
        (
            "create table new_orders (no_o_id int not null, no_d_id tinyint not null, no_w_id smallint not null, primary key (no_w_id, no_d_id, no_o_id))",
            90_000,
            &[("PRIMARY", &[10.0, 100.0, 90_000.0])],
        ),
        (
            "create table orders (o_id int not null, o_d_id tinyint not null, o_w_id smallint not null, o_c_id int, o_entry_d datetime, o_carrier_id tinyint, o_ol_cnt tinyint, primary key (o_w_id, o_d_id, o_id), key idx_orders (o_w_id, o_d_id, o_c_id, o_id))",
            300_000,
            &[("PRIMARY", &[10.0, 100.0, 300_000.0]), ("idx_orders", &[10.0, 100.0, 300_000.0, 300_000.0])],
        ),
        (
            "create table order_line (ol_o_id int not null, ol_d_id tinyint not null, ol_w_id smallint not null, ol_number tinyint not null, ol_i_id int, ol_supply_w_id smallint, ol_delivery_d datetime, ol_quantity tinyint, ol_amount decimal(6,2), ol_dist_info char(24), primary key (ol_w_id, ol_d_id, ol_o_id, ol_number))",
            3_000_000,
            &[("PRIMARY", &[10.0, 100.0, 300_000.0, 3_000_000.0])],
        ),
        (
            "create table item (i_id int not null, i_im_id int, i_name varchar(24), i_price decimal(5,2), i_data varchar(50), primary key (i_id))",
            100_000,
            none,
        ),
        (
            "create table stock (s_i_id int not null, s_w_id smallint not null, s_quantity smallint, s_dist_01 char(24), s_ytd decimal(8,0), s_order_cnt smallint, s_remote_cnt smallint, s_data varchar(50), primary key (s_w_id, s_i_id))",
            1_000_000,
            &[("PRIMARY", &[10.0, 1_000_000.0])],
        ),
    ];
    let made =
        tables.iter().enumerate().map(|(i, (sql, rows, distinct))| table("test", sql, i as u64 + 1, (*rows, distinct)));
    let other = table("other", "create table t1 (a int primary key, q int)", 90, (5, none));
    fixture_snapshot(&["test", "other"], made.chain([other]).collect())
}

/// Plans a text as a server does: with its literals lifted.
pub fn plan(snapshot: &CatalogSnapshot, sql: &str) -> Result<Plan> {
    plan_with(snapshot, sql, |o| o)
}

pub fn plan_with<'a>(
    snapshot: &CatalogSnapshot,
    sql: &'a str,
    change: impl FnOnce(PlanOptions<'a>) -> PlanOptions<'a>,
) -> Result<Plan> {
    let mut scan = Scan::new(7);
    let shared = digest::scan(sql.as_bytes(), LexMode::default(), &mut scan);
    let parsed = gannet_parser::parse_parameterised(sql.as_bytes(), LexMode::default()).expect(sql);
    let options = change(PlanOptions::new(Some("test")));
    let options = PlanOptions { source: shared.then_some((sql.as_bytes(), &scan.literals)), ..options };
    gannet_plan::plan(&parsed.statement, snapshot, &options)
}
