//! What the project's own jobs look at, with the tests or with their binary.

use std::path::Path;

#[test]
fn house_rules_hold() {
    if let Err(faults) = xtask::tidy::run(&xtask::root(), false) {
        panic!("{faults}");
    }
}

/// With the assertions of a debug build. `GANNET_CLIENTS` names some of the scripts; `cargo xtask clients` takes the
/// release build.
#[test]
#[ignore = "installs clients and takes minutes: .ci/run"]
fn clients_work() {
    let filter = std::env::var("GANNET_CLIENTS").ok();
    match xtask::clients::run_with(&xtask::root(), Path::new(env!("CARGO_BIN_EXE_gannet")), filter.as_deref()) {
        Ok(line) => println!("{line}"),
        Err(line) => panic!("{line}"),
    }
}
