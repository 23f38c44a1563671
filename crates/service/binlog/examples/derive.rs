//! What it costs to derive the events of an update of sysbench's row: `derive COUNT [unknown]`. With `unknown` the
//! table's keys are not known, so that there are no write sets.

use gannet_base::sync::Arc;
use gannet_binlog::Checksum;
use gannet_binlog::derive::{Deriver, Writer};
use gannet_binlog::group::Present;
use gannet_binlog::group::{Gathered, Head, Shape};
use gannet_binlog::image::RowEncoder;
use gannet_binlog::map::{Column, ColumnKind, Metadata, Table};
use gannet_binlog::rows::{Change, Columns};
use gannet_binlog::writeset::{Keys, Known, Part, number_map};
use gannet_types::gtid::{GtidSet, Uuid};
use gannet_types::key::KeyPart;
use gannet_types::{CollationId, SqlType, TypeId, Value};
use std::io::Read;
use std::time::Instant;

fn main() {
    let count: u64 = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let unknown = std::env::args().nth(2).is_some();
    let int = SqlType::new(TypeId::Int);
    let text = |n: u32| SqlType { length: n, ..SqlType::new(TypeId::Char) };
    let (c, pad) = (text(120), text(60));
    let types = [("id", &int), ("k", &int), ("c", &c), ("pad", &pad)];
    let columns = types.map(|(name, ty)| Column { name, ty, visible: true });
    let mut map = Vec::new();
    Table { id: 7, schema: "sbtest", name: "sbtest1", columns: &columns, primary_key: &[(0, 0)], generated_key: false }
        .encode(Metadata::Minimal, &mut map);
    let known = Arc::new(Known::default());
    let key: Box<[Part]> = Box::new([Part { column: 0, compared: KeyPart::new(int.clone()) }]);
    let kinds = types.iter().map(|(_, ty)| ColumnKind::of(ty));
    let number = known.add(Keys::new(kinds, vec![key]).expect("keys"));
    if !unknown {
        number_map(&mut map, number);
    }
    let all = || Columns::all(4);
    let encoder = RowEncoder::new(types.iter().enumerate().map(|(i, (_, ty))| (i, *ty)));
    let (key, ordinals) = (Columns::of(4, |i| i == 0), [0, 1, 2, 3].into());
    let shape = Shape { id: 7, map: map.into(), encoder, all: all(), key, short: all(), ordinals };
    let payload = |n: i64| {
        let row = |k: i64| {
            let text = |n: usize| Value::Str(vec![b'5'; n].into(), CollationId::BINARY);
            [Value::Int(n), Value::Int(k), text(119), text(59)]
        };
        let mut gathered = Gathered::default();
        let present = Present { before: &shape.all, after: &shape.all, partial: false };
        gathered.row(0..1, &shape, Change::Update, present, ((&row(1)).into(), (&row(2)).into()));
        let mut bytes = Vec::new();
        gathered.take(1, Head::default()).expect("rows").read_to_end(&mut bytes).expect("a payload");
        bytes
    };
    // Rows in no order, as sysbench has them.
    let payloads: Vec<Vec<u8>> = (0..20_000).map(|n: i64| payload(n * 7919 % 1_000_003)).collect();
    let writer = Writer { server_id: 1, uuid: Uuid([1; 16]), version: "8.4.0".into(), checksum: Checksum::Crc32 };
    let mut deriver = Deriver::new(writer, 4, 0, GtidSet::default());
    deriver.trust(&known);
    let (mut out, mut beside) = (Vec::new(), 0);
    let begun = Instant::now();
    for n in 0..count {
        let derived = deriver.group(&payloads[n as usize % payloads.len()], n, &mut out).expect("a group");
        beside += u64::from(derived.gtid.last_committed + 1 < derived.gtid.sequence_number);
        if out.len() > 1 << 20 {
            out.clear();
        }
    }
    let each = begun.elapsed().as_nanos() as f64 / count as f64;
    println!("{each:.0} ns a transaction, {beside} of {count} beside the one before");
}
