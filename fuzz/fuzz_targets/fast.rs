//! Any bytes as lines, each read in both ways.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kfd_smi_testkit::fuzz::fast(data));
