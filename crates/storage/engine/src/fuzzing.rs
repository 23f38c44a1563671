//! Entry points for fuzzing: any bytes in, no panic out. The `cargo fuzz` targets in `fuzz/` and `cargo xtask fuzz`
//! call them.

use gannet_base::{Lsn, PAGE_SIZE};
use gannet_buffer::PageBuf;
use gannet_runtime::sim::{Sim, SimDisk};

use crate::{Engine, EngineOptions, Insert, KeyRange, ScanOptions, TreeKind, TxnOptions};

/// The payloads of some log records, each after its length as `u16`: bucketed by page and applied as recovery does, to
/// blank pages.
pub fn redo(data: &[u8]) {
    crate::redo::fuzz(data);
}

/// An undo page's records, followed as rollback, purge and old versions do; and what a row entry and a control file
/// hold.
pub fn undo(data: &[u8]) {
    use crate::undo::record::{Body, FIRST, decode_at};
    let page = &data[..data.len().min(PAGE_SIZE)];
    let mut at = FIRST;
    while let Ok(Some(record)) = decode_at(page, at) {
        assert!(record.len >= 4 && at + record.len <= page.len());
        if let Body::RowModify { diff, key, .. } = record.body {
            for newer in [&b""[..], key, page] {
                let _ = crate::undo::diff::apply(newer, diff, &mut Vec::new());
            }
        }
        at += record.len;
    }
    let _ = crate::row::RowHeader::decode(data);
    let _ = crate::index::split_key(data).map(|_| crate::index::split_value(data));
    crate::control::fuzz(data);
}

const NAME: &str = "/store/data.gnt";

/// A small store made in the simulation: its pages, and the payloads of its log.
fn store() -> SimDisk {
    let disk = SimDisk::new();
    Sim::new(3).disk(&disk).run(|| {
        let mut o = EngineOptions::new("/store");
        (o.buffer_pool_bytes, o.redo_capacity_bytes, o.max_data_bytes) = (4 << 20, 8 << 20, 64 << 20);
        let Ok(engine) = Engine::open(o) else { return };
        let work = || -> crate::Result<()> {
            let mut t = engine.try_begin(TxnOptions::default())?;
            let (rows, index) = (t.create_tree(TreeKind::Row)?, t.create_tree(TreeKind::Index)?);
            t.commit()?;
            // Purge would take the undo away, or not, as it finds the time.
            let mut reader = engine.try_begin(TxnOptions::default())?;
            reader.consistent_snapshot();
            for round in 0..30u64 {
                t.begin(TxnOptions::default())?;
                for n in 0..20 {
                    let key = (n * 31 + round).to_be_bytes();
                    let row = vec![round as u8; if n == 7 { 40_000 } else { 60 + n as usize * 9 }];
                    if t.insert(&rows, &key, &row)? == Insert::Inserted {
                        t.index_insert(&index, &[&row[..4], &key].concat(), b"carried")?;
                    } else if n % 3 == 0 {
                        t.delete(&rows, &key)?;
                    } else {
                        t.update(&rows, &key, &row[..row.len() / 2])?;
                    }
                }
                if round % 4 == 3 { t.rollback().map(drop)? } else { t.commit().map(drop)? }
            }
            t.begin(TxnOptions::default())?;
            let mut scan = t.scan(&rows, KeyRange::ALL, ScanOptions::default())?;
            while scan.next(&mut t)?.is_some() {}
            t.commit()?;
            engine.sync()
        };
        assert!(work().is_ok());
        assert!(engine.shutdown().is_ok());
    });
    disk
}

/// Valid inputs of `gannet_page::fuzzing::page`: pages of every type.
pub fn page_seeds() -> Vec<Vec<u8>> {
    let bytes = store().peek(NAME).unwrap_or_default();
    let mut by_type: std::collections::BTreeMap<u8, Vec<Vec<u8>>> = Default::default();
    for page in bytes.chunks_exact(PAGE_SIZE) {
        let some = by_type.entry(page[4]).or_default();
        if some.len() < 6 {
            some.push(page.to_vec());
        }
    }
    // Behind a page there may be operations.
    let ops = redo_seeds().into_iter().next().unwrap_or_default();
    by_type
        .into_values()
        .flatten()
        .map(|mut page| {
            page.extend_from_slice(&ops[..ops.len().min(500)]);
            page
        })
        .collect()
}

/// Valid inputs of [`undo`].
pub fn undo_seeds() -> Vec<Vec<u8>> {
    let bytes = store().peek(NAME).unwrap_or_default();
    let undo = |p: &&[u8]| p[4] == gannet_page::PageType::Undo as u8;
    let mut seeds: Vec<_> = bytes.chunks_exact(PAGE_SIZE).filter(undo).take(8).map(<[u8]>::to_vec).collect();
    seeds.extend(store().peek("/store/control"));
    seeds
}

/// Valid inputs of [`redo`].
pub fn redo_seeds() -> Vec<Vec<u8>> {
    let disk = store();
    let dir = std::path::Path::new("/store");
    let mut seeds = Vec::new();
    let payloads = Sim::new(4).disk(&disk).run(move || {
        let mut out = Vec::new();
        let Ok(crate::control::Found::Valid { data, .. }) = crate::control::inspect(dir) else { return out };
        let Ok(mut reader) = gannet_log::LogReader::open(&dir.join("log"), data.log_store(), gannet_log::FIRST_LSN, 1)
        else {
            return out;
        };
        while let Ok(Some(record)) = reader.next() {
            out.push(record.payload.to_vec());
        }
        out
    });
    for some in payloads.chunks(12).take(40) {
        let mut seed = Vec::new();
        for payload in some.iter().filter(|p| p.len() < 4000) {
            seed.extend_from_slice(&(payload.len() as u16).to_le_bytes());
            seed.extend_from_slice(payload);
        }
        seeds.push(seed);
    }
    seeds
}

/// Valid inputs of `gannet_page::fuzzing::operations_on_blank`.
pub fn operation_seeds() -> Vec<Vec<u8>> {
    let mut by_page: std::collections::BTreeMap<gannet_base::PageNo, Vec<u8>> = Default::default();
    for seed in redo_seeds() {
        for (_, payload) in payloads(&seed) {
            let _ = gannet_buffer::decode_payload(payload, |no, op, _| {
                op.encode(by_page.entry(no).or_default());
                Ok(())
            });
        }
    }
    by_page.into_values().filter(|ops| ops.len() < 60_000).collect()
}

/// Splits an input of [`redo`].
pub(crate) fn payloads(data: &[u8]) -> impl Iterator<Item = (Lsn, &[u8])> {
    let (mut rest, mut lsn) = (data, Lsn(4096));
    std::iter::from_fn(move || {
        let (len, tail) = rest.split_first_chunk::<2>()?;
        let n = usize::from(u16::from_le_bytes(*len)).min(tail.len());
        let (payload, tail) = tail.split_at(n);
        rest = tail;
        lsn = Lsn(lsn.0 + 8 + (n as u64).next_multiple_of(8));
        Some((lsn, payload))
    })
}

/// A page for redo to work on.
pub(crate) fn blank() -> Box<PageBuf> {
    PageBuf::boxed()
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_are_what_they_should_be() {
        let (pages, undo, redo) = (super::page_seeds(), super::undo_seeds(), super::redo_seeds());
        let types: std::collections::BTreeSet<u8> = pages.iter().map(|p| p[4]).collect();
        assert!([1, 2, 3, 4, 5, 6].iter().all(|t| types.contains(t)), "{types:?}");
        assert!(undo.len() > 2 && redo.len() > 5, "{} {}", undo.len(), redo.len());
        pages.iter().for_each(|s| gannet_page::fuzzing::page(s));
        undo.iter().for_each(|s| super::undo(s));
        redo.iter().for_each(|s| super::redo(s));
    }
}
