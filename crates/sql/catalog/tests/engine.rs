//! The dictionary over a real engine.

use gannet_catalog::{Catalog, CatalogError, StoredTable, stats};
use gannet_engine::{Engine, EngineOptions, Insert, KeyRange, ScanOptions, TxnOptions};
use gannet_schema::{
    Column, ColumnDefault, ColumnDefinition, EngineAttributes, IndexDefinition, IndexKind, TableDefinition,
    TableOptions, show,
};
use gannet_types::{CollationId, SqlType, TypeId, Value};
use std::path::PathBuf;
use std::time::Instant;

struct Dir(PathBuf);

impl Dir {
    fn new(name: &str) -> Dir {
        let path = std::env::temp_dir().join(format!("gannet-catalog-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Dir(path)
    }

    fn open(&self) -> Catalog {
        let mut options = EngineOptions::new(&self.0);
        options.buffer_pool_bytes = 64 << 20;
        Catalog::open(Engine::open(options).unwrap()).unwrap()
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn index(kind: IndexKind, column: &str) -> IndexDefinition {
    IndexDefinition {
        name: None,
        kind,
        method: Default::default(),
        parts: vec![(column.into(), None, false)],
        comment: "".into(),
        attributes: EngineAttributes::default(),
        block_size: 0,
        invisible: false,
        generated: false,
        using: None,
    }
}

fn definition(name: &str, auto: bool) -> TableDefinition {
    let column = |name: &str, ty: SqlType, nullable| ColumnDefinition {
        column: Column { auto_increment: auto && name == "id", ..Column::new(name, ty, nullable, ColumnDefault::None) },
        explicit_null: false,
    };
    TableDefinition {
        name: name.into(),
        columns: vec![
            column("id", SqlType::new(TypeId::Int), false),
            column("k", SqlType::new(TypeId::Int), true),
            column("v", SqlType::varchar(20, CollationId::DEFAULT), true),
        ],
        indexes: vec![index(IndexKind::Primary, "id"), index(IndexKind::Plain, "k")],
        options: TableOptions { collation: CollationId::DEFAULT, comment: "".into(), create_options: Box::new([]) },
        checks: Vec::new(),
        foreign_keys: Vec::new(),
        partitioning: None,
        auto_increment: None,
    }
}

fn number(error: CatalogError) -> u16 {
    match error {
        CatalogError::Sql(e) => e.number(),
        other => panic!("{other}"),
    }
}

type Change<'a, R> = &'a dyn Fn(&mut gannet_catalog::Edit<'_>) -> Result<R, CatalogError>;

fn ddl<R>(catalog: &Catalog, f: Change<'_, R>) -> Result<R, CatalogError> {
    let mut txn = catalog.engine().begin(TxnOptions::default());
    catalog.ddl(&mut txn, None, f).map(|(r, _)| r)
}

fn fill(catalog: &Catalog, rows: i64, groups: i64) {
    let snapshot = catalog.snapshot();
    let table = snapshot.table("app", "t").unwrap();
    let trees = table.trees(catalog.engine()).unwrap();
    let mut txn = catalog.engine().begin(TxnOptions::default());
    for i in 0..rows {
        let row = [Value::Int(i), Value::Int(i % groups), Value::text(&format!("Value {i}"))];
        let value = |c: usize| row[c].as_ref();
        let (mut key, mut payload) = (Vec::new(), Vec::new());
        table.clustered_key(value, &mut key).unwrap();
        table.layout().encode_values(&row, &mut payload).unwrap();
        assert_eq!(txn.insert(&trees.row, &key, &payload).unwrap(), Insert::Inserted);
        for index in 1..table.indexes.len() {
            let (mut entry, mut carried) = (Vec::new(), Vec::new());
            table.index_key(index, value, &key, &mut entry).unwrap();
            table.index_carried(index, value, &mut carried).unwrap();
            txn.index_insert(&trees.indexes[index], &entry, &carried).unwrap();
        }
    }
    txn.commit().unwrap();
}

fn count(catalog: &Catalog, index: usize) -> usize {
    let snapshot = catalog.snapshot();
    let table = snapshot.table("app", "t").unwrap();
    let trees = table.trees(catalog.engine()).unwrap();
    let mut txn = catalog.engine().begin(TxnOptions::default());
    let mut scan = txn.scan(&trees.indexes[index], KeyRange::ALL, ScanOptions::default()).unwrap();
    let mut n = 0;
    while scan.next(&mut txn).unwrap().is_some() {
        n += 1;
    }
    drop(scan);
    txn.commit().unwrap();
    n
}

#[test]
fn life_of_a_table() {
    let dir = Dir::new("life");
    let catalog = dir.open();
    let start = catalog.version();
    assert!(catalog.snapshot().schema("INFORMATION_SCHEMA").is_some());
    let create = |e: &mut gannet_catalog::Edit<'_>| e.create_table("app", &definition("t", true), 1);
    assert_eq!(number(ddl(&catalog, &create).unwrap_err()), 1049);
    let schema = |e: &mut gannet_catalog::Edit<'_>| e.create_schema("app", CollationId::DEFAULT);
    ddl(&catalog, &schema).unwrap();
    assert_eq!(number(ddl(&catalog, &schema).unwrap_err()), 1007);
    ddl(&catalog, &create).unwrap();
    assert_eq!(number(ddl(&catalog, &create).unwrap_err()), 1050);
    assert_eq!(catalog.version(), start + 2);
    fill(&catalog, 3000, 30);

    // An index over what is there; a unique one over equal rows is refused and leaves nothing behind. Several tasks
    // sort, and one merges beside the one that fills.
    let create_unique = |column: &str| {
        ddl(&catalog, &|e| {
            e.workers = 3;
            e.create_index("app", "t", &[index(IndexKind::Unique, column)])
        })
    };
    create_unique("v").unwrap();
    let snapshot = catalog.snapshot();
    let table = snapshot.table("app", "t").unwrap().clone();
    let position = table.index("v").unwrap();
    assert_eq!((position, count(&catalog, position)), (1, 3000));
    let refused = create_unique("k").unwrap_err();
    let CatalogError::Sql(refused) = refused else { panic!("{refused}") };
    assert_eq!((refused.number(), refused.message()), (1062, "Duplicate entry '0' for key 't.k_2'"));
    assert_eq!(catalog.snapshot().table("app", "t").unwrap().indexes.len(), 3);

    // Statistics by sampling: exact for small trees.
    stats::refresh(catalog.engine(), &table, 5, stats::SAMPLE_PLACES).unwrap();
    let figures = table.statistics.figures();
    assert_eq!(figures.rows, 3000);
    let k = &table.indexes[table.index("k").unwrap()];
    assert_eq!(figures.distinct(k.tree, 1, 3000.0), Some(30.0));
    assert_eq!(figures.distinct(table.indexes[0].tree, 1, 3000.0), Some(3000.0));

    ddl(&catalog, &|e| e.rename_table("app", "t", "app", "u")).unwrap();
    assert!(catalog.snapshot().table("app", "t").is_none());
    ddl(&catalog, &|e| e.rename_table("app", "u", "app", "t")).unwrap();
    let text = show::show_create_table(&table, &show::ShowOptions::default());
    catalog.engine().shutdown().unwrap();
    drop((catalog, table, snapshot));

    let catalog = dir.open();
    let snapshot = catalog.snapshot();
    let table = snapshot.table("app", "t").unwrap();
    assert_eq!(show::show_create_table(table, &show::ShowOptions::default()), text);
    assert_eq!(count(&catalog, 2), 3000);
    let drop_index = |e: &mut gannet_catalog::Edit<'_>| e.drop_index("app", "t", "V");
    ddl(&catalog, &drop_index).unwrap();
    assert_eq!(number(ddl(&catalog, &drop_index).unwrap_err()), 1091);
    ddl(&catalog, &|e| e.truncate_table("app", "t")).unwrap();
    assert_eq!((count(&catalog, 0), count(&catalog, 1)), (0, 0));
    fill(&catalog, 10, 3);
    assert_eq!(number(ddl(&catalog, &|e| e.drop_table("app", "nope")).unwrap_err()), 1051);
    let drop_schema = |e: &mut gannet_catalog::Edit<'_>| e.drop_schema("app");
    assert_eq!(ddl(&catalog, &drop_schema).unwrap(), 1);
    assert_eq!(number(ddl(&catalog, &drop_schema).unwrap_err()), 1008);
    assert_eq!(number(ddl(&catalog, &|e| e.drop_schema("mysql")).unwrap_err()), 3554);
    catalog.engine().shutdown().unwrap();
    drop((catalog, snapshot));
    let catalog = dir.open();
    assert!(catalog.snapshot().schema("app").is_none());
    catalog.engine().shutdown().unwrap();
}

#[test]
fn failed_changes_leave_nothing() {
    let dir = Dir::new("failed");
    let catalog = dir.open();
    ddl(&catalog, &|e| e.create_schema("app", CollationId::DEFAULT)).unwrap();
    let version = catalog.version();
    let refused: Result<(), CatalogError> = ddl(&catalog, &|e| {
        e.create_table("app", &definition("a", false), 1)?;
        assert!(e.snapshot().table("app", "a").is_some());
        e.create_table("app", &definition("a", false), 1)?;
        Ok(())
    });
    assert_eq!(number(refused.unwrap_err()), 1050);
    assert_eq!(catalog.version(), version);
    assert!(catalog.snapshot().table("app", "a").is_none());
    ddl(&catalog, &|e| e.create_table("app", &definition("a", false), 1)).unwrap();
    let mut txn = catalog.engine().begin(TxnOptions::default());
    catalog.accounts().put(&mut txn, "root@localhost", b"one").unwrap();
    catalog.accounts().put(&mut txn, "root@localhost", b"two").unwrap();
    catalog.accounts().put(&mut txn, "app@%", b"three").unwrap();
    txn.commit().unwrap();
    txn.begin(TxnOptions::default()).unwrap();
    assert_eq!(catalog.accounts().get(&mut txn, "root@localhost").unwrap().unwrap(), b"two");
    assert_eq!(catalog.accounts().all(&mut txn).unwrap().len(), 2);
    assert!(catalog.accounts().remove(&mut txn, "app@%").unwrap());
    assert!(!catalog.accounts().remove(&mut txn, "app@%").unwrap());
    txn.commit().unwrap();
    catalog.engine().shutdown().unwrap();
}

/// Loading must not open the tables' trees. `GANNET_TABLES=10000` measures.
#[test]
fn many_tables_load_fast() {
    let tables: usize = std::env::var("GANNET_TABLES").ok().and_then(|n| n.parse().ok()).unwrap_or(300);
    let dir = Dir::new("many");
    let catalog = dir.open();
    ddl(&catalog, &|e| e.create_schema("app", CollationId::DEFAULT)).unwrap();
    let start = Instant::now();
    for batch in 0..tables.div_ceil(100) {
        let names = batch * 100..(batch * 100 + 100).min(tables);
        ddl(&catalog, &|e| {
            for i in names.clone() {
                e.create_table("app", &definition(&format!("table_{i}"), false), 1)?;
            }
            Ok(())
        })
        .unwrap();
    }
    let created = start.elapsed();
    catalog.engine().shutdown().unwrap();
    drop(catalog);
    let start = Instant::now();
    let catalog = dir.open();
    let opened = start.elapsed();
    assert_eq!(catalog.snapshot().table_count("app"), tables);
    let start = Instant::now();
    ddl(&catalog, &|e| e.create_table("app", &definition("one_more", false), 1)).unwrap();
    println!("{tables} tables: created in {created:?}, opened in {opened:?}, one more {:?}", start.elapsed());
    catalog.engine().shutdown().unwrap();
}

/// What a session leaves of its temporary tables when the server stops without dropping them is freed after the next
/// start.
#[test]
fn temporary_tables_leave_nothing() {
    let dir = Dir::new("temporary");
    let trees = {
        let catalog = dir.open();
        ddl(&catalog, &|e| e.create_schema("db", CollationId::DEFAULT)).unwrap();
        let mut txn = catalog.engine().begin(TxnOptions::default());
        let made = catalog.ddl_with(&mut txn, None, None, |e| e.create_temporary("db", &definition("t", true), 0));
        let (table, own) = made.unwrap();
        assert!(own.table("db", "t").is_some_and(|t| t.temporary));
        assert!(own.tables("db").is_empty());
        assert!(catalog.snapshot().table("db", "t").is_none());
        // Another session may have one of the same name, and anyone a table that is none.
        let mut txn = catalog.engine().begin(TxnOptions::default());
        catalog.ddl_with(&mut txn, None, None, |e| e.create_temporary("db", &definition("t", true), 0)).unwrap();
        ddl(&catalog, &|e| e.create_table("db", &definition("t", true), 0)).unwrap();
        let trees: Vec<_> = table.indexes.iter().map(|i| i.tree).collect();
        assert!(trees.iter().all(|t| catalog.engine().tree(*t).is_ok()));
        trees
    };
    let catalog = dir.open();
    assert!(catalog.snapshot().table("db", "t").is_some_and(|t| !t.temporary));
    assert_eq!(catalog.discard_left_over().unwrap(), 0);
    let until = Instant::now() + std::time::Duration::from_secs(60);
    while trees.iter().any(|t| catalog.engine().tree(*t).is_ok()) {
        assert!(Instant::now() < until, "the trees are still there");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    drop(catalog);
    assert_eq!(dir.open().discard_left_over().unwrap(), 0);
}
