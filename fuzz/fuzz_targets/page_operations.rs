#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| gannet_page::fuzzing::operations_on_blank(data));
