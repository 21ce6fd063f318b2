//! A log, cut in any way, through decoders that are small and large.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| kfd_smi_testkit::fuzz::decoder(data));
