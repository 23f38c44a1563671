//! Dictionary rows, definitions, texts.

use crate::define::define;
use crate::fixture::{build, column, definition, index, int, rich};
use crate::serial::{decode_schema, decode_table, encode_schema, encode_table};
use crate::show::{ShowOptions, show_create_schema, show_create_table};
use crate::*;
use gannet_base::{DecodeError, TreeId};
use gannet_types::{CollationId, SqlType, TypeId, Value, ValueRef};
use std::sync::Arc;

#[test]
fn show_create_is_what_mysql_prints() {
    let expected = "CREATE TABLE `t` (
  `id` bigint unsigned NOT NULL AUTO_INCREMENT,
  `n` int NOT NULL DEFAULT '-5',
  `m` decimal(10,2) DEFAULT '1.50',
  `s` varchar(20) NOT NULL DEFAULT 'it''s',
  `d` date DEFAULT '2024-02-29',
  `u` timestamp(3) NULL /*!50606 COLUMN_FORMAT DYNAMIC */ DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `e` enum('a','it''s') DEFAULT NULL,
  `f` set('a','it''s') DEFAULT NULL,
  `t` text,
  `j` json DEFAULT NULL,
  `x` varchar(36) DEFAULT (uuid()),
  `bits` bit(4) DEFAULT b'101',
  `g` int GENERATED ALWAYS AS ((`n` + 1)) VIRTUAL,
  `h` int /*!50606 STORAGE DISK */ DEFAULT NULL /*!80023 INVISIBLE */ COMMENT 'don''t\\nshow' /*!80021 ENGINE_ATTRIBUTE '{\"a\":\"it''s\"}' */,
  `b` varchar(10) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin DEFAULT NULL,
  PRIMARY KEY (`id`),
  UNIQUE KEY `u_s` (`s`) KEY_BLOCK_SIZE=8 /*!80021 SECONDARY_ENGINE_ATTRIBUTE '[1]' */,
  KEY `n` (`n`,`s`(5) DESC),
  KEY `t_p` (`t`(10))
) ENGINE=InnoDB AUTO_INCREMENT=42 DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci COMMENT='all of it'";
    let options = ShowOptions { next_auto_increment: 42, ..ShowOptions::default() };
    assert_eq!(show_create_table(&rich(), &options), expected);
    let schema = Schema {
        id: SchemaId(9),
        name: "a`b".into(),
        collation: CollationId::UTF8MB4_BIN,
        system: false,
        read_only: false,
    };
    assert_eq!(
        show_create_schema(&schema, false, &ShowOptions::default()),
        "CREATE DATABASE `a``b` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin */ /*!80016 DEFAULT ENCRYPTION='N' */"
    );
}

/// The same with a thousand definitions before: a column came, and another went, again and again.
fn changed() -> Table {
    let table = rich();
    let width = table.columns.len() as u32;
    let mut history = Arc::new(History::default());
    for i in 0..500 {
        let mut before = table.columns.to_vec();
        before.remove(i % before.len());
        let at = i as u32 % width;
        let came: Vec<Option<u32>> = (0..width).map(|o| (o != at).then(|| if o < at { o } else { o - 1 })).collect();
        let went: Vec<Option<u32>> = (0..width).filter(|o| *o != at).map(Some).collect();
        history = history.next(&table.columns, &went, &[]).unwrap();
        history = history.next(&before, &came, &[(at, Value::Null)]).unwrap();
    }
    let (schema, name, statistics) = (table.schema.clone(), table.name.clone(), table.statistics.clone());
    let parts = TableParts { history, ..table.parts() };
    assemble(parts, schema, name, table.columns.to_vec(), table.indexes.to_vec(), table.clustered, statistics)
}

#[test]
fn histories_survive_encoding() {
    let table = changed();
    let mut bytes = Vec::new();
    encode_table(&table, &mut bytes);
    assert!(bytes.len() < 2 * 1000 * (table.columns.len() + 3) + 4000, "{} bytes", bytes.len());
    let again = decode_table(&"test".into(), "t", &bytes).unwrap();
    assert_eq!((again.history.number, again.history.older.len()), (1000, 1000));
    assert!(again.history == table.history);
}

#[test]
fn rows_survive_encoding() {
    let table = rich();
    let mut bytes = Vec::new();
    encode_table(&table, &mut bytes);
    assert!(bytes.len() < 700, "{} bytes", bytes.len());
    let again = decode_table(&"test".into(), "t", &bytes).unwrap();
    let options = ShowOptions::default();
    assert_eq!(show_create_table(&again, &options), show_create_table(&table, &options));
    assert_eq!(
        (again.id, again.schema_id, again.row_tree, again.clustered),
        (table.id, table.schema_id, TreeId(7), Some(0))
    );
    assert_eq!(again.auto_column, Some(0));
    let mut twice = Vec::new();
    encode_table(&again, &mut twice);
    assert_eq!(bytes, twice);
    let schema = Schema {
        id: SchemaId(70000),
        name: "s".into(),
        collation: CollationId::UTF8MB4_BIN,
        system: false,
        read_only: false,
    };
    let mut bytes = Vec::new();
    encode_schema(&schema, &mut bytes);
    let again = decode_schema("s", &bytes, false).unwrap();
    assert_eq!((again.id, again.collation, again.read_only), (schema.id, schema.collation, false));
    // What an older build wrote ends here; one that is read only has a byte more, which has one value.
    let read_only = Schema { read_only: true, ..schema };
    let plain = bytes.len();
    bytes.clear();
    encode_schema(&read_only, &mut bytes);
    assert_eq!(bytes.len(), plain + 1);
    assert!(decode_schema("s", &bytes, false).unwrap().read_only);
    bytes[plain] = 2;
    let wrong = decode_schema("s", &bytes, false).unwrap_err().to_string();
    assert!(wrong.contains("flags of a schema"), "{wrong}");
}

/// Damaged rows are errors, or other tables: never a panic, never much memory.
#[test]
fn damaged_rows_do_not_panic() {
    let mut short = rich();
    short.history = History::default().next(&short.columns, &[Some(0), None], &[(1, Value::Null)]).unwrap();
    damage(&rich());
    damage(&short);
}

fn damage(table: &Table) {
    let mut bytes = Vec::new();
    encode_table(table, &mut bytes);
    for cut in 0..bytes.len() {
        let decoded = decode_table(&"test".into(), "t", &bytes[..cut]);
        assert!(matches!(decoded, Err(DecodeError::Short { .. })), "cut at {cut}");
    }
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..1 + state % 3 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let at = (state >> 8) as usize % damaged.len();
            damaged[at] = state as u8;
        }
        if let Ok(table) = decode_table(&"test".into(), "t", &damaged) {
            show_create_table(&table, &ShowOptions::default());
        }
    }
}

/// Defaults are filled up to the width that they are shown with: a damaged one would take all memory.
#[test]
fn widths_of_damaged_rows_are_bounded() {
    for (id, length) in [(TypeId::Int, 65_536), (TypeId::Binary, 256)] {
        let mut table = rich();
        table.columns[0].ty = SqlType { zerofill: id == TypeId::Int, length, ..SqlType::new(id) };
        let mut bytes = Vec::new();
        encode_table(&table, &mut bytes);
        let error = decode_table(&"test".into(), "t", &bytes).unwrap_err();
        assert!(error.to_string().contains("length of a type"), "{error}");
    }
}

#[test]
fn definitions_are_checked() {
    let columns =
        || vec![column("a", int(), false, ColumnDefault::None), column("B", int(), true, ColumnDefault::None)];
    let number = |columns, indexes| define(&definition(columns, indexes)).unwrap_err().number();
    let plain = |parts: &[(&str, Option<u32>, bool)]| index(IndexKind::Plain, None, parts);
    let primary = |parts: &[(&str, Option<u32>, bool)]| index(IndexKind::Primary, None, parts);
    assert_eq!(number(Vec::new(), Vec::new()), 1113);
    let mut twice = columns();
    twice.push(column("b", int(), true, ColumnDefault::None));
    assert_eq!(number(twice, Vec::new()), 1060);
    assert_eq!(number(columns(), vec![plain(&[("c", None, false)])]), 1072);
    assert_eq!(number(columns(), vec![plain(&[("a", None, false), ("A", None, false)])]), 1060);
    assert_eq!(number(columns(), vec![primary(&[("a", None, false)]), primary(&[("b", None, false)])]), 1068);
    assert_eq!(number(columns(), vec![plain(&[("a", Some(3), false)])]), 1089);
    let named = |n: &str| index(IndexKind::Plain, Some(n), &[("a", None, false)]);
    assert_eq!(number(columns(), vec![named("k"), named("K")]), 1061);
    assert_eq!(number(columns(), vec![named("primary")]), 1280);
    let mut auto = columns();
    auto[0].column.auto_increment = true;
    assert_eq!(number(auto.clone(), Vec::new()), 1075);
    assert!(define(&definition(auto, vec![plain(&[("a", None, false)])])).is_ok());
    let text = |n| column("t", SqlType::varchar(n, CollationId::DEFAULT), true, ColumnDefault::None);
    assert_eq!(number(vec![text(769)], vec![plain(&[("t", None, false)])]), 1071);
    assert!(define(&definition(vec![text(768)], vec![plain(&[("t", None, false)])])).is_ok());
    let blob = || column("t", SqlType::new(TypeId::Blob), true, ColumnDefault::None);
    assert_eq!(number(vec![blob()], vec![plain(&[("t", None, false)])]), 1170);
    assert_eq!(number(vec![blob()], vec![plain(&[("t", Some(0), false)])]), 1391);
    assert_eq!(number(vec![column(&"x".repeat(65), int(), true, ColumnDefault::None)], Vec::new()), 1059);
    assert_eq!(number(vec![column("x ", int(), true, ColumnDefault::None)], Vec::new()), 1166);
    let wide = (0..1018).map(|i| column(&format!("c{i}"), int(), true, ColumnDefault::None)).collect();
    assert_eq!(number(wide, Vec::new()), 1117);
    let keys = (0..65).map(|i| named(&format!("k{i}"))).collect();
    assert_eq!(number(columns(), keys), 1069);
    let mut explicit = columns();
    explicit[1].explicit_null = true;
    assert_eq!(number(explicit, vec![primary(&[("b", None, false)])]), 1171);
    let default = column("x", int(), true, ColumnDefault::CurrentTimestamp);
    assert_eq!(number(vec![default], Vec::new()), 1067);
}

#[test]
fn names_and_order_of_indexes() {
    let columns = vec![
        column("a", int(), false, ColumnDefault::None),
        column("b", int(), true, ColumnDefault::None),
        column("s", SqlType::varchar(9, CollationId::DEFAULT), false, ColumnDefault::None),
    ];
    let indexes = vec![
        index(IndexKind::Plain, None, &[("b", None, false)]),
        index(IndexKind::Unique, None, &[("b", None, false)]),
        index(IndexKind::Unique, Some("p"), &[("s", Some(3), false)]),
        index(IndexKind::Unique, None, &[("s", Some(9), false)]),
        index(IndexKind::Plain, None, &[("b", None, false), ("a", None, false)]),
    ];
    let defined = define(&definition(columns, indexes)).unwrap();
    let names: Vec<&str> = defined.indexes.iter().map(|i| &*i.name).collect();
    assert_eq!(names, ["s", "p", "b_2", "b", "b_3"]);
    // The prefix key cannot be the row's key; the whole one can.
    assert_eq!(defined.clustered, Some(0));
    assert_eq!(defined.indexes[0].parts[0].prefix, None);
}

#[test]
fn entries_give_rows_back() {
    let columns = vec![
        column("a", SqlType::varchar(20, CollationId::DEFAULT), false, ColumnDefault::None),
        column("b", int(), true, ColumnDefault::None),
        column("c", SqlType::varchar(20, CollationId::UTF8MB4_0900_BIN), true, ColumnDefault::None),
    ];
    let indexes = vec![
        index(IndexKind::Primary, None, &[("a", None, false)]),
        index(IndexKind::Unique, Some("bc"), &[("b", None, true), ("c", None, false)]),
    ];
    let table = build(&definition(columns, indexes));
    for row in [
        [Value::text("Key"), Value::Int(-7), Value::Str("text\0more".into(), CollationId::UTF8MB4_0900_BIN)],
        [Value::text(""), Value::Null, Value::Null],
    ] {
        let value = |i: usize| row[i].as_ref();
        let (mut clustered, mut key, mut carried) = (Vec::new(), Vec::new(), Vec::new());
        table.clustered_key(value, &mut clustered).unwrap();
        let made = table.index_key(1, value, &clustered, &mut key).unwrap();
        table.index_carried(1, value, &mut carried).unwrap();
        assert_eq!(made.has_null, row[1].is_null());
        let (parts, rest) = table.split_index_key(1, &key).unwrap();
        assert_eq!((parts.len(), rest), (made.prefix_len, &clustered[..]));
        let mut out = Vec::new();
        table.index_values(1, &key, &carried, &[0, 1, 2], &mut out).unwrap();
        assert_eq!(out, row);
        let mut payload = Vec::new();
        table.layout().encode_values(&row, &mut payload).unwrap();
        let decoded: Vec<Value> = (0..3).map(|i| table.layout().get(&payload, i).unwrap().to_owned()).collect();
        assert_eq!(decoded, row);
        let mut ends = Vec::new();
        table.part_ends(1, &key, &mut ends);
        assert_eq!(ends.last(), Some(&made.prefix_len));
        for cut in 0..key.len() {
            let _ = table.index_values(1, &key[..cut], &carried, &[0, 1, 2], &mut Vec::new());
        }
    }
    assert_eq!(table.duplicate_text(1, |i| [ValueRef::Null, ValueRef::Int(3), ValueRef::Null][i]), "3-NULL");
    // Same key, other carried bytes: 'KEY' and 'Key' are one primary key.
    assert_eq!(table.carried_columns(1), [0]);
}

/// RANGE COLUMNS over a text and a number, HASH below.
fn spread() -> Table {
    use crate::partition::{By, Method, PartTrees, Partition, Partitioned, Partitioning, Spread, SubPartition, Values};
    let table = build(&definition(
        vec![
            column("id", int(), true, ColumnDefault::Null),
            column("s", SqlType::varchar(10, CollationId::DEFAULT), true, ColumnDefault::Null),
        ],
        vec![index(IndexKind::Plain, None, &[("s", None, false)])],
    ));
    let spread = Spread::new;
    let text = |s: &str| Value::Str(s.into(), CollationId::DEFAULT);
    let bounds = [vec![Some(text("k")), Some(Value::Int(10))], vec![Some(text("K")), None], vec![None, None]];
    let partition = |(n, bounds): (usize, Vec<Option<Value>>)| Partition {
        name: format!("p{n}").into(),
        values: Values::LessThan(bounds.into()),
        options: Default::default(),
        subs: (0..2).map(|s| SubPartition { name: format!("p{n}sp{s}").into(), options: Default::default() }).collect(),
    };
    let of = Partitioning {
        spread: spread(Method::Range, By::Columns(["s".into(), "id".into()].into())),
        sub: Some(spread(Method::Hash, By::Expression("`id`".into()))),
        counted: false,
        subs_counted: true,
        count_written: false,
        sub_count_written: true,
        partitions: bounds.into_iter().enumerate().map(partition).collect(),
    };
    let trees = |n: u64| PartTrees { row: TreeId(100 + 2 * n), indexes: [TreeId(101 + 2 * n)].into() };
    let partitioned = Partitioned { trees: (0..6).map(trees).collect(), definition: of };
    let parts = TableParts { partitioned: Some(Arc::new(partitioned)), ..table.parts() };
    let (columns, indexes) = (table.columns.to_vec(), table.indexes.to_vec());
    assemble(parts, table.schema.clone(), table.name.clone(), columns, indexes, table.clustered, Arc::default())
}

#[test]
fn parts_survive_encoding_and_rows_find_them() {
    use crate::partition::Numbers;
    let mut bytes = Vec::new();
    encode_table(&spread(), &mut bytes);
    let table = decode_table(&"test".into(), "t", &bytes).unwrap();
    let parts = table.partitions.as_ref().unwrap();
    assert_eq!(parts.definition(), spread().partitions.unwrap().definition());
    assert_eq!(parts.shared().trees[5].indexes[0], TreeId(111));
    for end in 0..bytes.len() {
        decode_table(&"test".into(), "t", &bytes[..end]).unwrap_err();
    }
    let place = |s: Option<&str>, id: i64| {
        let text = s.map_or(Value::Null, |s| Value::Str(s.into(), CollationId::DEFAULT));
        let row = [Value::Int(id), text];
        let numbers = Numbers { main: None, sub: Some(i128::from(id)) };
        parts.locator().locate(|i| row[i].as_ref(), numbers).unwrap()
    };
    assert_eq!(place(None, 4), Some(0));
    assert_eq!(place(Some("K"), 9), Some(1));
    assert_eq!(place(Some("k"), 10), Some(2));
    assert_eq!(place(Some("k"), i64::from(i32::MAX)), Some(3));
    assert_eq!(place(Some("l"), -3), Some(5));
    let part = table.part(3).unwrap();
    assert_eq!((part.row_tree, part.indexes[0].tree), (TreeId(106), TreeId(107)));
    assert_eq!(table.find_tree(TreeId(107)), Some((Some(3), Some(0))));
    assert!(std::ptr::eq(part, table.part(3).unwrap()));
    assert!(table.part(6).unwrap_err().to_string().contains("no part 6"));
}

#[test]
fn ranges_of_keys_and_numbers_have_their_partitions() {
    let table = spread();
    let main = table.partitions.as_ref().unwrap().locator().main();
    let key = |s: &str| {
        let mut out = Vec::new();
        gannet_types::key::encode(&main.key[0], ValueRef::Str(s.as_bytes(), CollationId::DEFAULT), &mut out).unwrap();
        out
    };
    let between = |low: (&[u8], bool), high: Option<(&[u8], bool)>| {
        let mut found = Vec::new();
        main.keys_between(low, high, &mut |places| found.push((places.start, places.end)));
        found
    };
    assert_eq!(between((&[], true), None), [(0, 3)]);
    assert_eq!(between((&key("k"), true), Some((&key("k"), true))), [(0, 2)]);
    assert_eq!(between((&[], true), Some((&key("k"), false))), [(0, 1)]);
    assert_eq!(between((&key("l"), true), None), [(2, 3)]);
    // The bounds of the first two begin with it, and leave nothing beyond all that do.
    assert_eq!(between((&key("k"), false), None), [(2, 3)]);
    assert_eq!(between((&key("j"), false), Some((&key("k"), true))), [(0, 2)]);
}

/// A table of seven parts that were placed so.
fn placed(ty: SqlType, spread: crate::partition::Spread) -> Table {
    use crate::partition::{PartTrees, Partition, Partitioned, Partitioning, Values};
    let table = build(&definition(vec![column("x", ty, true, ColumnDefault::Null)], vec![]));
    let partition = |n: usize| Partition {
        name: format!("p{n}").into(),
        values: Values::None,
        options: Default::default(),
        subs: Default::default(),
    };
    let of = Partitioning {
        spread,
        sub: None,
        counted: true,
        subs_counted: false,
        count_written: true,
        sub_count_written: false,
        partitions: (0..7).map(partition).collect(),
    };
    let trees = |n: u64| PartTrees { row: TreeId(100 + n), indexes: [].into() };
    let partitioned = Partitioned { trees: (0..7).map(trees).collect(), definition: of };
    let parts = TableParts { partitioned: Some(Arc::new(partitioned)), ..table.parts() };
    let columns = table.columns.to_vec();
    assemble(parts, table.schema.clone(), table.name.clone(), columns, vec![], None, Arc::default())
}

#[test]
fn older_tables_place_rows_as_they_did() {
    use crate::partition::{By, Method, Numbers, Placement, Spread};
    let place = |ty: &SqlType, spread: Spread, value: Value, number: Option<i128>| {
        let mut bytes = Vec::new();
        encode_table(&placed(ty.clone(), spread), &mut bytes);
        let table = decode_table(&"test".into(), "t", &bytes).unwrap();
        let locator = table.partitions.as_ref().unwrap().locator();
        locator.locate(|_| value.as_ref(), Numbers { main: number, sub: None }).unwrap()
    };
    let both = |ty: SqlType, method: Method, by: By, value: Value, number: Option<i128>| {
        let now = Spread::new(method, by);
        let before = Spread { placement: Placement::First, ..now.clone() };
        (place(&ty, before, value.clone(), number), place(&ty, now, value, number))
    };
    let hash = |number| both(int(), Method::Hash, By::Expression("`x`".into()), Value::Null, number);
    assert_eq!(hash(Some(-9)), (Some(2), Some(2)));
    assert_eq!(hash(None), (Some(0), Some(1)));
    assert_eq!(hash(Some((1 << 63) + 1)), (Some(2), Some(0)));
    let key = |ty, value| both(ty, Method::Key, By::Columns(["x".into()].into()), value, None);
    let date = SqlType::new(TypeId::Date);
    let day = |y, m, d| Value::Date(gannet_types::Date::new(y, m, d));
    assert_eq!(key(date.clone(), day(1970, 1, 1)), (Some(1), Some(2)));
    assert_eq!(key(date, day(2001, 3, 3)), (Some(1), Some(0)));
    let number = |text: &str| Value::Decimal(gannet_types::Decimal::parse(text.as_bytes()).value);
    assert_eq!(key(SqlType::decimal(10, 3), number("1")), (Some(6), Some(3)));
    assert_eq!(key(SqlType::decimal(10, 3), number("-1")), (Some(0), Some(6)));
    assert_eq!(key(int(), Value::Int(3)).0, key(int(), Value::Int(3)).1);
}
