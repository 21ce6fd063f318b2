//! Any bytes as a capture, and any reads recorded and replayed.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kfd_smi_testkit::fuzz::capture(data));
