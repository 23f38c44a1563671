#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gannet_types::fuzzing::check(data));
