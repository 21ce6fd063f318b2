//! Any event, and what a newer kernel appends to it.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kfd_smi_testkit::fuzz::event(data));
