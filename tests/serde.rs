//! The feature `serde` of the library: events as JSON, numbers and errors both ways.

use kfd_smi_proto::{Access, BootNanos, EventId, PageSize, ParseError, RestoreFlag, parse_line};
use serde_json::{Value, json};

#[test]
fn an_event_has_its_name_and_fields() {
    let end = parse_line(b"6 14601738586508 -152990 @7f0f15200(200) 0->1ea0 1 -12 x").event.unwrap();
    assert_eq!(
        serde_json::to_value(end).unwrap(),
        json!({
            "event": "migrate_end", "time": 14601738586508_u64, "pid": 152990,
            "range": {"start": 0x7f0f15200_u64, "count": 0x200}, "from": 0, "to": 0x1ea0, "trigger": 1,
            "error_code": -12, "trailing": "x",
        })
    );
    let fault = parse_line(b"1 2559e:a\xff").event.unwrap();
    assert_eq!(serde_json::to_value(fault).unwrap()["task_name"], json!([97, 255]));
}

#[test]
fn every_event_of_the_corpus_is_named_as_by_the_library() {
    for log in kfd_smi_testkit::corpus::logs() {
        for line in kfd_smi_proto::lines(&log.bytes) {
            let Ok(event) = line.event else { continue };
            let value = serde_json::to_value(event).unwrap();
            assert_eq!(value["event"], Value::from(event.name()));
        }
    }
}

#[test]
fn what_owns_its_value_comes_back() {
    let error = parse_line(b"9 1 -2").event.unwrap_err();
    let text = serde_json::to_string(&error).unwrap();
    assert_eq!(serde_json::from_str::<ParseError>(&text).unwrap(), error);
    assert_eq!(serde_json::from_str::<EventId>("7").unwrap(), EventId::PAGE_FAULT_START);
    assert_eq!(serde_json::from_str::<RestoreFlag>("null").unwrap(), RestoreFlag::NONE);
    for wrong in ["10", "256", "\"R\""] {
        assert!(serde_json::from_str::<RestoreFlag>(wrong).is_err());
        assert!(serde_json::from_str::<Access>(wrong).is_err());
    }
    assert!(serde_json::from_str::<BootNanos>("9223372036854775808").is_err());
    assert!(serde_json::from_str::<PageSize>("4095").is_err());
}
