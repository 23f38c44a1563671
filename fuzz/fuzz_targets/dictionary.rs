#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gannet_schema::fuzzing::check(data));
