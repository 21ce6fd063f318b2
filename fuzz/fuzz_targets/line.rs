//! Any bytes as a log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    kfd_smi_testkit::fuzz::line(data);
    // No seed breaks it: it takes a mutation that is still read as an event.
    #[cfg(feature = "negative-control")]
    for line in kfd_smi_proto::lines(data) {
        let trailing = line.event.ok().and_then(|event| event.trailing());
        assert!(trailing.is_none_or(|trailing| trailing.as_bytes().len() <= 8), "more than 8 trailing bytes");
    }
});
