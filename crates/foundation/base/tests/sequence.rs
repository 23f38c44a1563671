//! A sequence lock on one thread; what several see is checked in `crates/models`.

use gannet_base::Sequence;
use gannet_base::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[test]
fn a_reader_is_told_when_it_was_disturbed() {
    let (sequence, value) = (Sequence::new(), AtomicU64::new(7));
    assert_eq!(sequence.read(|| value.load(Relaxed)), Some(7));
    assert_eq!(sequence.read(|| sequence.write(|| value.store(8, Relaxed))), None);
    sequence.write(|| assert_eq!(sequence.read(|| ()), None));
    assert_eq!(sequence.read(|| value.load(Relaxed)), Some(8));
}
