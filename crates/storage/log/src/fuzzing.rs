//! Entry points for fuzzing: any bytes in, no panic out. The `cargo fuzz` targets in `fuzz/` and `cargo xtask fuzz`
//! call them.

use std::path::Path;

use gannet_base::Lsn;
use gannet_runtime::sim::{Sim, SimDisk};

use crate::format::{EpochStart, HEADER, RecordKind, SEGMENT_HEADER, checksum, record_bytes, unword};
use crate::{FIRST_LSN, Log, LogError, LogReader, MAX_PAYLOAD, Options, Start};

const STORE: u64 = 9;
const DIR: &str = "/log";

fn options() -> Options {
    Options { capacity: 8 << 20, ring_bytes: 2 << 20, ..Options::new(DIR) }
}

/// Two segment files as a crash may have left them. The first byte says whether the records' checksums are made right
/// again (so that what is behind them is reached) and where the second file begins, in blocks.
pub fn segments(data: &[u8]) {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let mut bytes = bytes[..bytes.len().min(1 << 20)].to_vec();
    if choice & 1 == 1 {
        reseal(&mut bytes);
    }
    let cut = match usize::from(choice >> 1) * 4096 {
        0 => bytes.len(),
        n => n.min(bytes.len()),
    };
    let disk = SimDisk::new();
    Sim::new(1).disk(&disk.clone()).run(move || {
        let written = gannet_runtime::fs::create_dir_all(DIR).and_then(|()| {
            for (n, part) in [&bytes[..cut], &bytes[cut..]].into_iter().enumerate().filter(|(_, p)| !p.is_empty()) {
                let name = Path::new(DIR).join(format!("{:08}.log", n + 1));
                let how = gannet_runtime::OpenOptions::read_write().create();
                gannet_runtime::File::open(name, &how)?.write_at(part, 0)?;
            }
            Ok(())
        });
        assert!(written.is_ok(), "{written:?}");
        read_and_go_on();
    });
}

/// Reads to the end; where that gives no error a log that goes on from there opens, and what it appends is read back.
fn read_and_go_on() {
    let read = |from: Lsn, epoch: u64| -> Result<(LogReader, usize), LogError> {
        let mut reader = LogReader::open(Path::new(DIR), STORE, from, epoch)?;
        let (mut records, mut last) = (0, from);
        while let Some(record) = reader.next()? {
            assert!(record.start >= last && record.lsn > record.start, "records go back");
            assert!(record.payload.len() <= MAX_PAYLOAD);
            last = record.lsn;
            records += 1;
        }
        assert!(reader.end() >= last);
        Ok((reader, records))
    };
    let Ok((reader, records)) = read(FIRST_LSN, 1) else { return };
    let (end, epochs) = (reader.end(), reader.epochs().to_vec());
    drop(reader);
    // Greater than any used before, also than those of records that are no longer reached.
    let epoch = u64::MAX - 1;
    if epochs.last().is_some_and(|e| e.1 >= epoch) {
        return;
    }
    let start = Start { store: STORE, checkpoint: FIRST_LSN, end, epochs, epoch };
    let Ok(log) = Log::open(options(), start) else { return };
    let lsn = log.append(RecordKind::Mtr, &[b"once more"]);
    assert!(log.wait_durable(lsn).is_ok());
    assert!(log.close().is_ok());
    match read(FIRST_LSN, 1) {
        Ok((_, again)) => assert_eq!(again, records + 1, "the record appended is not read back"),
        Err(e) => panic!("the log cannot be read after it went on: {e}"),
    }
}

/// Makes header and record checksums right, as far as the lengths lead.
fn reseal(bytes: &mut [u8]) {
    if bytes.len() < SEGMENT_HEADER as usize {
        return;
    }
    let crc = gannet_base::crc32c(0, &bytes[16..64]);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
    let (mut at, mut epoch) = (SEGMENT_HEADER as usize, 1);
    while at + HEADER <= bytes.len() {
        let word = u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let (kind, len) = unword(word);
        let size = record_bytes(len) as usize;
        if at + size > bytes.len() {
            return;
        }
        let body = at + HEADER..at + size;
        if kind == RecordKind::EpochStart as u8
            && let Some(begin) = EpochStart::decode(&bytes[body.start..body.start + len])
        {
            epoch = begin.epoch;
        }
        bytes[body.start + len..body.end].fill(0);
        let lsn = at as u64 - SEGMENT_HEADER + FIRST_LSN.get();
        let crc = checksum(epoch, lsn, word, &bytes[body]);
        bytes[at + 4..at + 8].copy_from_slice(&crc.to_le_bytes());
        at += size;
    }
}

/// Valid inputs of [`segments`]: a log of two incarnations, whole, cut short and with a second file.
pub fn seeds() -> Vec<Vec<u8>> {
    let disk = SimDisk::new();
    Sim::new(2).disk(&disk).run(|| {
        let mut start = Start { store: STORE, checkpoint: FIRST_LSN, end: FIRST_LSN, epochs: Vec::new(), epoch: 1 };
        for epoch in 1..4u8 {
            let Ok(log) = Log::open(options(), start) else { return };
            for n in 0..u16::from(epoch) * 7 {
                let payload = vec![n as u8; usize::from(n) * 37 % 300];
                let lsn = log.append(RecordKind::Mtr, &[&payload]);
                if n % 5 == 0 {
                    let _ = log.wait_durable(lsn);
                }
            }
            let _ = log.close();
            let Ok(mut reader) = LogReader::open(Path::new(DIR), STORE, FIRST_LSN, 1) else { return };
            while let Ok(Some(_)) = reader.next() {}
            let (end, epochs) = (reader.end(), reader.epochs().to_vec());
            start = Start { store: STORE, checkpoint: FIRST_LSN, end, epochs, epoch: u64::from(epoch) + 1 };
        }
    });
    let file = disk.files().into_iter().filter(|f| f.extension().is_some_and(|e| e == "log"));
    let bytes = file.filter_map(|f| disk.peek(f)).max_by_key(|b| b.iter().rposition(|&x| x != 0)).unwrap_or_default();
    let used = (bytes.iter().rposition(|&b| b != 0).unwrap_or(0) + 4096) / 4096 * 4096;
    let bytes = &bytes[..used.min(bytes.len())];
    [0u8, 1, 1 << 1, 1 | 2 << 1].into_iter().map(|choice| [&[choice][..], bytes].concat()).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn seeds_are_logs_with_records() {
        let seeds = super::seeds();
        assert!(seeds[0].len() > 3 * 4096, "{}", seeds[0].len());
        seeds.iter().for_each(|s| super::segments(s));
        // Every byte of the first records flipped, with and without the checksums made right.
        for at in (4096..4096 + 2000).step_by(3) {
            for seed in &seeds[..2] {
                let mut data = seed.clone();
                data[1 + at] ^= 0x41;
                super::segments(&data);
            }
        }
    }
}
