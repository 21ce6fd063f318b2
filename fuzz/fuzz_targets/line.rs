//! Any bytes as a log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    kfd_smi_testkit::fuzz::line(data);
    // No seed breaks it: it takes a mutation of one.
    #[cfg(feature = "negative-control")]
    assert!(!data.windows(5).any(|bytes| bytes == b" --5 "), "a negative pid");
});
