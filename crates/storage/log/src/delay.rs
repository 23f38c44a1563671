//! How much a writer is slowed down: in proportion, so that an age settles below its bound instead of hitting it.

/// The longest delay of one mini-transaction by age alone.
const MOST_DELAY_NS: f64 = 20e6;

/// How long a mini-transaction is held back at this age; `None`: until the checkpoint, or a consumer, has advanced.
///
/// There is no delay up to three quarters of `usable`. Beyond, the delay grows with the square of the rest: slowly at
/// first, so that writers and checkpointer find a common pace early, and nearly to a stop at the bound.
pub(crate) fn delay_ns(age: u64, usable: u64) -> Option<u64> {
    let from = usable / 4 * 3;
    if age <= from {
        return Some(0);
    }
    if age >= usable {
        return None;
    }
    let x = (age - from) as f64 / (usable - from) as f64;
    Some((x * x * MOST_DELAY_NS) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_grows_without_a_step() {
        let usable = 100 << 20;
        assert_eq!(delay_ns(0, usable), Some(0));
        assert_eq!(delay_ns(75 << 20, usable), Some(0));
        assert_eq!(delay_ns(usable, usable), None);
        let mut last = 0;
        for age in (75 << 20..usable).step_by(1 << 18) {
            let d = delay_ns(age, usable).unwrap();
            assert!(d >= last && d - last < 600_000, "{age}: {last} then {d}");
            last = d;
        }
        assert!(last > 15_000_000);
    }
}
