//! The buffer pool's size, which may change while the engine is used.

pub use gannet_buffer::resize::{ResizeStage, ResizeStatus};

use crate::Engine;

/// Changes `innodb_buffer_pool_size` in the background. False: the last change is still under way, or there are no
/// addresses for so much ([`most_bytes`]).
pub fn resize(engine: &Engine, bytes: u64) -> bool {
    gannet_buffer::resize::resize(&engine.store.pool, bytes)
}

/// The largest size that there may be: what [`EngineOptions::most_pool_bytes`](crate::EngineOptions::most_pool_bytes)
/// asked for, or less where the system gives less address space.
pub fn most_bytes(engine: &Engine) -> u64 {
    gannet_buffer::resize::most_bytes(&engine.store.pool)
}
