#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gannet_wire::memcached::fuzzing::check(data));
