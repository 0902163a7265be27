#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| retry_machine_fuzz::retry_after(data));
