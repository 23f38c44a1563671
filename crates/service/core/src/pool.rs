//! The sizes of the buffer pool, in whole chunks, and of the log: both are changed while the server runs.

use gannet_engine::pool::{self, ResizeStage, ResizeStatus};
use gannet_exec::error::from_engine;
use gannet_runtime::WallTime;
use gannet_types::{ErrorCode, Level, Result, TimeZone, Warning, sql_err};

use crate::Core;
use crate::vars::{Live, VarSet, VarValue};

/// Brings the sizes at the start into order: a chunk is no larger than the pool, and the pool is whole chunks.
pub(crate) fn settle(vars: &mut VarSet) {
    let pool = vars[Live::InnodbBufferPoolSize as usize].as_u64();
    let chunk = vars[Live::InnodbBufferPoolChunkSize as usize].as_u64().min(pool);
    vars[Live::InnodbBufferPoolChunkSize as usize] = VarValue::uint(chunk);
    vars[Live::InnodbBufferPoolSize as usize] = VarValue::uint(pool.checked_next_multiple_of(chunk).unwrap_or(pool));
}

/// What the pool may grow to: the memory of the machine, or the size it starts with.
pub(crate) fn most_bytes(size: u64) -> u64 {
    crate::options::memory_bytes().max(size)
}

/// The size that SET makes of one that was asked for, and its warning: MySQL's.
pub fn fit(core: &Core, asked: u64) -> (VarValue, Option<Warning>) {
    let present = core.globals.get(Live::InnodbBufferPoolSize);
    let (chunk, least) = (core.globals.get(Live::InnodbBufferPoolChunkSize).as_u64(), 4 << 20);
    let size = asked.max(least).checked_next_multiple_of(chunk).unwrap_or(u64::MAX / chunk * chunk);
    let warning = if asked == size {
        None
    } else if size == present.as_u64() {
        let text = format!("InnoDB: Cannot resize buffer pool to lesser than chunk size of {chunk} bytes.");
        Some(Warning::with_message(Level::Warning, ErrorCode::WrongArguments, text))
    } else {
        Some(Warning::new(Level::Warning, ErrorCode::TruncatedWrongValue, &[&"innodb_buffer_pool_size", &asked]))
    };
    (VarValue::uint(size), warning)
}

/// Begins to change the size. Refused while the last change is under way, and beyond the memory of the machine.
pub(crate) fn resize(core: &Core, size: &VarValue) -> Result<()> {
    let bytes = size.as_u64();
    if bytes == core.globals.get(Live::InnodbBufferPoolSize).as_u64() {
        return Ok(());
    }
    if bytes > pool::most_bytes(&core.engine) {
        return Err(sql_err!(WrongValueForVar, "innodb_buffer_pool_size", bytes));
    }
    if !pool::resize(&core.engine, bytes) {
        return Err(sql_err!(BufpoolResizeInprogress));
    }
    core.log.note(format_args!("the buffer pool is brought to {bytes} bytes"));
    Ok(())
}

/// Changes the log's capacity: growing makes its files first, and fails without a change on a disk without room for
/// them. What a reader of the log may hold back follows.
pub(crate) fn resize_log(core: &Core, bytes: u64) -> Result<()> {
    if bytes == core.globals.get(Live::InnodbRedoLogCapacity).as_u64() {
        return Ok(());
    }
    core.engine.set_redo_capacity(bytes).map_err(from_engine)?;
    if let Some(log) = core.binlog() {
        crate::binlog::log_is_resized(log, &core.engine, bytes);
    }
    core.log.note(format_args!("the log is brought to {bytes} bytes"));
    Ok(())
}

/// `Innodb_buffer_pool_resize_status`.
pub(crate) fn resize_text(status: &ResizeStatus) -> String {
    match status.stage {
        ResizeStage::Idle => String::new(),
        ResizeStage::Requested => "Requested to resize buffer pool.".into(),
        ResizeStage::Withdrawing => format!("Withdrawing blocks to be shrunken: {} percent.", status.percent),
        ResizeStage::Moving => format!("Moving pages out of the memory to be given back: {} percent.", status.percent),
        ResizeStage::Done => format!("Completed resizing buffer pool at {}.", log_time(WallTime::of(status.ended_ns))),
        ResizeStage::Failed => {
            let why = status.error.as_deref().unwrap_or("unknown");
            format!("Resizing buffer pool failed: {why}; it has {} bytes.", status.from)
        }
    }
}

/// `Innodb_buffer_pool_resize_status_code`, by the manual's list.
pub(crate) fn resize_code(status: &ResizeStatus) -> u64 {
    match status.stage {
        ResizeStage::Idle | ResizeStage::Done => 0,
        ResizeStage::Requested => 1,
        ResizeStage::Withdrawing => 3,
        ResizeStage::Moving => 5,
        ResizeStage::Failed => 7,
    }
}

/// As InnoDB writes a time: `YYMMDD hh:mm:ss`, the hour without a leading zero.
fn log_time(at: WallTime) -> String {
    let seconds = at.seconds() as i64;
    let local = seconds + i64::from(TimeZone::system().offset_at(seconds));
    let text = crate::log::timestamp(local * 1_000_000);
    // "2026-11-26T05:04:03.000000Z"
    let part = |from: usize, to: usize| text.get(from..to).unwrap_or("");
    let hour = part(11, 13).strip_prefix('0').map_or(part(11, 13).to_owned(), |h| format!(" {h}"));
    format!("{}{}{} {hour}{}", part(2, 4), part(5, 7), part(8, 10), part(13, 19))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_status_says() {
        let mut status = ResizeStatus::default();
        assert_eq!((resize_text(&status), resize_code(&status)), (String::new(), 0));
        (status.stage, status.percent) = (ResizeStage::Withdrawing, 40);
        assert_eq!(resize_text(&status), "Withdrawing blocks to be shrunken: 40 percent.");
        (status.stage, status.error, status.from) = (ResizeStage::Failed, Some("no memory".into()), 5);
        assert_eq!(
            (&*resize_text(&status), resize_code(&status)),
            ("Resizing buffer pool failed: no memory; it has 5 bytes.", 7)
        );
    }
}
