//! The house rules run with the tests.

#[test]
fn house_rules_hold() {
    if let Err(faults) = xtask::tidy::run(&xtask::root(), false) {
        panic!("{faults}");
    }
}
