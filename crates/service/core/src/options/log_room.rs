//! The write-ahead log's capacity where nobody chose it: less on a small disk.

use super::ServerOptions;
use crate::vars::{self, Live, VarValue};
use std::path::Path;

/// The least that the log takes of a small disk.
const LEAST: u64 = 32 << 20;

/// Brings the capacity down to a part of a small disk, so that a server starts there and its tables have room. One
/// that an option or SET PERSIST gave stays.
pub(crate) fn settle(options: &mut ServerOptions, datadir: &Path) {
    let capacity = options.get(Live::InnodbRedoLogCapacity).as_u64();
    let default = vars::defaults()[Live::InnodbRedoLogCapacity as usize].as_u64();
    if !options.log_capacity_chosen || capacity != default {
        return;
    }
    let Ok(free) = gannet_runtime::fs::free_space(datadir) else { return };
    let files = gannet_runtime::fs::read_dir(datadir.join("log")).unwrap_or_default();
    let length = |file| gannet_runtime::fs::open_plain(file).and_then(|f| Ok(f.metadata()?.len())).unwrap_or(0);
    let taken: u64 = files.iter().map(length).sum();
    let fitting = fitting(free + taken);
    if fitting < capacity {
        let text = format!("innodb_redo_log_capacity is {} MiB: a quarter of the room on the disk", fitting >> 20);
        options.warnings.push(text);
        options.set(Live::InnodbRedoLogCapacity, VarValue::uint(fitting));
    }
}

/// The capacity in whole MiB for a disk with `room` bytes.
fn fitting(room: u64) -> u64 {
    ((room / 4) >> 20 << 20).max(LEAST)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_small_disk_has_a_small_log() {
        let shown = [0, 100 << 20, 1 << 30, 3 << 30, 1 << 40].map(|room| super::fitting(room) >> 20);
        assert_eq!(shown, [32, 32, 256, 768, 256 << 10]);
    }
}
