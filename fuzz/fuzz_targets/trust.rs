//! Processes that forge lines through their names.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kfd_smi_testkit::fuzz::trust(data));
