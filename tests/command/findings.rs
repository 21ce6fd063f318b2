//! What stands out: every rule finds what it should, and with one thing less it finds nothing.

use serde_json::Value;

use crate::folder::Folder;
use crate::run::feed;
use crate::stat::object;

/// The findings of one rule.
fn found(rule: &str, args: &[&str], log: &str) -> Vec<Value> {
    let object = object(args, log.as_bytes());
    let findings = object["findings"].as_array().unwrap().iter();
    findings.filter(|finding| finding["rule"] == rule).cloned().collect()
}

/// Checks that a log of this many of something has one finding of this rule, and one of one less has none. Gives its text.
fn check(rule: &str, number: u64, log: impl Fn(u64) -> String) -> String {
    assert_eq!(found(rule, &[], &log(number - 1)).len(), 0, "{rule}: one less is none");
    let found_there = found(rule, &[], &log(number));
    let [finding] = &found_there[..] else { panic!("{rule}: {found_there:?}") };
    // The number can be moved, both ways.
    let more = format!("{rule}={}", number + 1);
    assert_eq!(found(rule, &["--threshold", &more], &log(number)).len(), 0, "{rule}: more are needed");
    if number > 1 {
        let less = format!("{rule}={}", number - 1);
        assert_eq!(
            found(rule, &["--threshold", &less], &log(number - 1)).len(),
            1,
            "{rule}: fewer are enough"
        );
    }
    assert!(finding["first_seq"].as_u64() <= finding["last_seq"].as_u64());
    finding["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_reset_is_found_with_the_lines_before_it() {
    assert_eq!(
        check("gpu_reset", 1, |n| "3 1 HWS hang\n4 1 \n".repeat(n as usize)),
        "a GPU was reset, number 1: HWS hang; it came back"
    );
    let log = "# kfd-smi capture 1\n".to_owned()
        + &(1..=30).map(|n| format!("{n} 1 : 9 {n} -7 1 2\n{n} 2 : 9 {n} -8 2 2\n")).collect::<String>()
        + "31 1 : 3 5 RAS error\n";
    let text = feed(&["stat", "--before-reset", "3"], log.as_bytes()).text().to_owned();
    assert!(text.contains("GPU 0x1 was reset, number 5: RAS error; no end of it was seen"), "{text}");
    let before: Vec<_> = text.lines().filter(|line| line.starts_with("    | ")).collect();
    assert_eq!(
        before,
        [
            "    | line 55: queue_eviction at 0.000000028 pid 7 on 0x1, ttm",
            "    | line 57: queue_eviction at 0.000000029 pid 7 on 0x1, ttm",
            "    | line 59: queue_eviction at 0.000000030 pid 7 on 0x1, ttm",
        ]
    );
    assert!(!feed(&["stat", "--before-reset", "0"], log.as_bytes()).text().contains("    | "));
    // Many are not all told.
    let many: String = (1..=1000).map(|seq| format!("3 {seq:x} job hang on ring:gfx\n")).collect();
    let findings = found("gpu_reset", &[], &many);
    assert_eq!((findings.len(), &findings[0]["count"]), (33, &Value::from(968)));
}

#[test]
fn a_vm_fault_names_its_thread() {
    assert_eq!(
        check("vmfault", 1, |n| "1 2559e:my \"app\n".repeat(n as usize)),
        r#"thread 152990 ("my \x22app") had 1 VM fault"#
    );
    let all = found("vmfault", &[], "1 5:a\n1 5:b\n1 5:b\n1 6:\n");
    assert_eq!(all.iter().map(|one| one["count"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 1, 1]);
    assert!(all[0]["pid"] == 5 && all[0].get("first_ns").is_none());
}

#[test]
fn throttling_gives_its_reasons() {
    let text = check("thermal_throttle", 1, |n| "2 1000000000:1a\n".repeat(n as usize));
    assert_eq!(
        text,
        "a GPU was throttled, 1 event: TEMP_HOTSPOT 1; the number of its interrupts went from 26 to 26"
    );
    let text = found("thermal_throttle", &[], "2 3:1\n2 2:9\n")[0]["text"].as_str().unwrap().to_owned();
    assert!(text.contains("2 events: PPT1 2, PPT0 1; ") && text.ends_with("from 1 to 9"), "{text}");
}

/// A migration at this time, in milliseconds.
fn migration(at: u64, direction: &str, code: i32) -> String {
    format!("5 {at}000000 -7 @10(200) {direction} 0:0 1\n6 {at}000500 -7 @10(200) {direction} 1 {code}\n")
}

#[test]
fn failed_migrations_name_their_errors() {
    let text = check("failed_migrations", 1, |n| {
        migration(1, "0->1ea0", 0) + &migration(2, "0->1ea0", -12).repeat(n as usize)
    });
    assert_eq!(text, "1 migration of process 7 failed: 1 with -12 ENOMEM");
    let log: String = [-12, -22, -12, -5].map(|code| migration(1, "0->1ea0", code)).concat();
    let text = found("failed_migrations", &[], &log)[0]["text"].as_str().unwrap().to_owned();
    assert_eq!(text, "4 migrations of process 7 failed: 2 with -12 ENOMEM, 1 with -22 EINVAL, 1 with -5 EIO");
}

#[test]
fn a_range_that_goes_to_and_fro_is_found() {
    let text = check("migration_ping_pong", 10, |turns| {
        let way = |n| if n % 2 == 0 { "0->1ea0" } else { "1ea0->0" };
        (0..=turns).map(|n| migration(n + 1, way(n), 0)).collect()
    });
    assert_eq!(text, "1 range of process 7 went to and fro, 10 turns in all, 10 of them 2 MiB at 0x10000");
    // The same way again and again, or one that fails, is no turn.
    let log: String =
        (0..50).map(|n| migration(n + 1, "0->1ea0", 0) + &migration(n + 1, "1ea0->0", -12)).collect();
    assert_eq!(found("migration_ping_pong", &[], &log).len(), 0);
}

#[test]
fn a_page_that_faults_again_and_again_is_found() {
    let text = check("fault_storm", 20, |n| {
        (1..=n)
            .map(|n| format!("7 {n}000 -7 @10(1ea0) W\n8 {n}100 -7 @10(1ea0) M\n7 1 -7 @{n:x}00(1ea0) W\n"))
            .collect()
    });
    assert_eq!(text, "process 7 faulted 20 times on the same 1 page on GPU 0x1ea0, 20 of them at 0x10000");
    let finding = &found(
        "fault_storm",
        &["--threshold", "fault_storm=2"],
        "7 5 -7 @1(2) W\n8 6 -7 @1(2) M\n7 8 -7 @1(2) R\n8 9 -7 @1(2) U\n",
    )[0];
    assert_eq!(
        (&finding["gpu"], &finding["pid"], &finding["first_ns"], &finding["last_ns"], &finding["last_seq"]),
        (&"0x2".into(), &7.into(), &"6".into(), &"9".into(), &4.into())
    );
}

#[test]
fn a_fault_that_is_retried_without_end_is_found() {
    let log = |n: u64| (0..=n).map(|n| format!("7 {n}000 -7 @10(1ea0) W\n")).collect::<String>();
    let text = check("fault_retries", 10, log);
    assert_eq!(
        text,
        "page faults of process 7 were retried 10 times without an end on GPU 0x1ea0, one of them 10 times"
    );
    // Also if it ends at last.
    assert_eq!(found("fault_retries", &[], &(log(10) + "8 11000 -7 @10(1ea0) M\n")).len(), 1);
}

#[test]
fn churning_queues_are_found() {
    let log = |n: u64| {
        (0..n)
            .map(|n| format!("9 {}0000000 -7 1ea0 2\na {}5000000 -7 1ea0 0\n", n * 10 + 1, n * 10 + 1))
            .collect()
    };
    let text = check("eviction_churn", 10, log);
    assert_eq!(
        text,
        "the queues of process 7 were evicted 10 times on GPU 0x1ea0, 10 of them within one second"
    );
    // Wherever a second begins.
    let later: String =
        (0..18).map(|n| format!("9 {} -7 1ea0 2\n", 100_960_000_000_u64 + n * 4_000_000)).collect();
    let text =
        found("eviction_churn", &[], &format!("9 100000000000 -7 1ea0 2\n{later}"))[0]["text"].to_string();
    assert!(text.contains("19 times") && text.contains("18 of them within one second"), "{text}");
    // As many, but not in one second.
    let slow: String =
        (0..50).map(|n| format!("9 {n}500000000 -7 1ea0 2\na {n}600000000 -7 1ea0 0\n")).collect();
    assert_eq!(found("eviction_churn", &[], &slow).len(), 0);
    let boots: String =
        (0..50).map(|n| format!("# kfd-smi capture 1\n# boot-id {n}\n5 1ea0 : 9 5 -7 1ea0 2\n")).collect();
    assert_eq!(found("eviction_churn", &[], &boots).len(), 0);
}

#[test]
fn queues_that_stand_still_are_found() {
    let text = check("suspension", 50, |percent| {
        format!(
            "9 1000000000 -7 1ea0 2\na {}0000000 -7 1ea0 0\n7 11000000000 -8 @1(2) W\n",
            100 + percent * 10
        )
    });
    assert_eq!(text, "the queues of process 7 were suspended on GPU 0x1ea0 for 5.000 s of 10.000 s, 50 %");
    // What hangs is killed, or the GPU is reset.
    for end in ["d 7 ", "3 1 job hang"] {
        let log =
            format!("9 1000000000 -7 1ea0 2\n7 9000000000 -8 @1(2) W\n{end}\n7 11000000000 -8 @1(2) W\n");
        let capture: String = log.lines().map(|line| format!("5 1ea0 : {line}\n")).collect();
        let found = found("suspension", &[], &format!("# kfd-smi capture 1\n{capture}"));
        let text = "the queues of process 7 were suspended on GPU 0x1ea0 for 8.000 s of 10.000 s, 80 %";
        assert_eq!(found.iter().map(|one| &one["text"]).collect::<Vec<_>>(), [text], "{end}");
    }
    let still = found("suspension", &[], "9 1000000000 -7 1ea0 2\n7 11000000000 -8 @1(2) W\n");
    assert!(still[0]["text"].as_str().unwrap().ends_with("for 10.000 s of 10.000 s, 100 %, to the end"));
    // Also at the end of a boot, and of an input that others follow.
    let boots = "# kfd-smi capture 1\n# boot-id a\n1 1ea0 : 9 1000000000 -7 1ea0 2\n2 1ea0 : 7 11000000000 -8 @1(1ea0) W\n\
                 # kfd-smi capture 1\n# boot-id b\n1 1ea0 : 7 5 -8 @1(1ea0) W\n";
    assert_eq!(found("suspension", &[], boots)[0]["text"], still[0]["text"]);
    // Less than a second says nothing.
    assert_eq!(found("suspension", &[], "9 1 -7 1ea0 2\na 900000000 -7 1ea0 0\n").len(), 0);
}

#[test]
fn signs_of_loss_are_found_and_nothing_is_guessed() {
    let capture = |facts: &str| format!("# kfd-smi capture 1\n# boot-id a\n5 1 : 9 1 -7 1 2\n{facts}");
    let text = check("lost_events", 1, |n| capture(&format!("# lost {n}\n")));
    assert_eq!(text, "events may be missing: the recorder had no room for 1 record");
    for (facts, words) in [
        ("# full 1\n# full 1\n", "the buffer of the kernel was full 2 times"),
        ("# end 1 closed\n", "1 GPU dropped out of the watch"),
        ("# kfd-smi capture 1\n# boot-id a\n6 1 : a 2 -7 1 0\n", "the recording was begun again 1 time"),
        ("6 1 : nonsense\n", "1 malformed line"),
        ("6 1 : c 100000000 -7 5\n", "the kernel dropped 5 events"),
    ] {
        let text = found("lost_events", &[], &capture(facts))[0]["text"].as_str().unwrap().to_owned();
        assert_eq!(text, format!("events may be missing: {words}"));
    }
    for quiet in ["", "# kfd-smi capture 1\n# boot-id b\n6 1 : a 2 -7 1 0\n", "6 1 : e 100000000 -7 5\n"] {
        assert_eq!(found("lost_events", &[], &capture(quiet)).len(), 0, "{quiet}");
    }
}

#[test]
fn an_end_without_start_is_a_sign_of_loss_only_where_the_start_must_have_been_seen() {
    let end = |seconds: u64| format!("7 1000000000 -8 @1(2) W\n6 {seconds}000000001 -7 @10(1) 0->1ea0 1 0\n");
    assert_eq!(found("lost_events", &[], &end(10)).len(), 0, "it can have begun before the log");
    let finding = &found("lost_events", &[], &end(11))[0];
    assert_eq!(finding["text"], "events may be missing: 1 end without the start of its migration or fault");
    assert_eq!((&finding["first_seq"], &finding["count"]), (&2.into(), &1.into()));
    // Who leaves out starts misses none.
    assert_eq!(found("lost_events", &["--event", "page_fault_start,migrate_end"], &end(11)).len(), 0);
    // A kernel that prints error codes ends all migrations, and older ones do not.
    let start = |code: &str| {
        format!(
            "5 1 -7 @1(1) 0->1ea0 0:0 1\n6 2 -7 @1(1) 0->1ea0 1{code}\n5 3 -7 @2(1) 0->1ea0 0:0 1\n\
             7 20000000000 -7 @9(2) W\n5 20000000000 -7 @2(1) 0->1ea0 0:0 1\n"
        )
    };
    assert_eq!(
        found("lost_events", &[], &start(" 0"))[0]["text"],
        "events may be missing: 1 migration without an end, on a kernel that ends all"
    );
    assert_eq!(found("lost_events", &[], &start("")).len(), 0);
    // It need not start again, and what began a moment ago can still end.
    let open = |seconds: u64| {
        format!("6 2 -7 @1(1) 0->1ea0 1 0\n5 3 -7 @2(1) 0->1ea0 0:0 1\n9 {seconds}000000000 -7 2 2\n")
    };
    assert_eq!(found("lost_events", &[], &open(11)).len(), 1);
    assert_eq!(found("lost_events", &[], &open(10)).len(), 0);
}

#[test]
fn forgeable_lines_are_found_and_marked() {
    let text =
        check("forgeable_lines", 1, |n| format!("1 5:name\n{}3 111 job hang\n", "3 1\n".repeat(n as usize)));
    assert_eq!(
        text,
        "1 line could be forged: so close behind the name of a task that it could be part of the name"
    );
    let reset = found("gpu_reset", &[], "1 5:a\n3 1\n");
    assert!(reset[0]["text"].as_str().unwrap().ends_with("(could be forged)"), "{reset:?}");
    assert_eq!(found("gpu_reset", &["--trusted-only"], "1 5:a\n3 1\n").len(), 0);
}

/// However much comes, what matters most is found, and the same twice.
#[test]
fn floods_hide_nothing_and_change_nothing() {
    let mut log = String::new();
    for n in 0..60_000_u64 {
        log.push_str(&format!(
            "7 {n}000 -{} @{n:x}(1ea0) W\n8 {n}100 -{} @{n:x}(1ea0) M\n",
            n % 9000,
            n % 9000
        ));
        if n % 1000 == 0 {
            log.push_str(&format!("7 {n}200 -7 @ffff(1ea0) W\n8 {n}300 -7 @ffff(1ea0) M\n"));
        }
    }
    let findings = found("fault_storm", &[], &log);
    assert_eq!((findings.len(), &findings[0]["pid"]), (1, &7.into()));
    assert_eq!(object(&[], log.as_bytes()), object(&[], log.as_bytes()));
    let many: String = (1..=2000).map(|pid| format!("1 {pid:x}:name that is long\n")).collect();
    let all = found("vmfault", &[], &many);
    assert_eq!((all.len(), all[32]["text"].as_str().unwrap().ends_with("more of this kind")), (33, true));
}

#[test]
fn a_finding_says_which_of_several_inputs_it_is_of() {
    let folder = Folder::with(&[("a", b"1 5:some long name here\n"), ("b\x1b", b"3 1\n")]);
    let ran = folder.run(&["stat", "--format", "json", "a", "b\x1b"]);
    assert!(ran.text().contains("had 1 VM fault [a]"), "{}", ran.text());
    assert!(ran.text().contains(r"[b\\x1b]"), "{}", ran.text());
}

#[test]
fn what_took_long_is_not_lost() {
    let one = |args: &[&str], log: &str| found("lost_events", args, log);
    // The end of a migration came after eleven seconds.
    let slow = "5 1000000000 -10 @1(1) 0->1 0:0 1\n6 12000000000 -10 @1(1) 0->1 1 0\n\
                7 20000000000 -10 @2(1) R\n8 40000000000 -10 @2(1) M\n";
    assert_eq!(one(&[], slow).len(), 0);
    let durations = |args: &[&str]| object(args, slow.as_bytes())["faults"]["duration_ns"]["max"].clone();
    assert_eq!((durations(&[]), durations(&["--expiry", "1m"])), (Value::Null, "20000000000".into()));
    // One that never came is missed at the last line that was there.
    let open = "5 1 -10 @1(1) 0->1 0:0 1\n6 2 -10 @1(1) 0->1 1 0\n5 3 -10 @9(1) 0->1 0:0 1\n7 20000000000 -10 @2(1) R\n";
    let [finding] = &one(&[], open)[..] else { panic!("one is lost") };
    assert_eq!((&finding["first_seq"], &finding["last_seq"]), (&4.into(), &4.into()));
    assert_eq!(one(&["--expiry", "1m"], open).len(), 0);
}

#[test]
fn a_loss_that_a_process_made_up_is_marked() {
    let forged = &found("lost_events", &[], "1 5:a\nx\n")[0]["text"];
    assert_eq!(forged, "events may be missing: 1 malformed line (could be forged)");
    let both = &found("lost_events", &[], "x\n1 5:a\nx\n")[0]["text"];
    assert_eq!(both, "events may be missing: 2 malformed lines");
}

#[test]
fn lines_of_another_boot_lead_to_no_reset() {
    let boot = |id: u32, lines: &str| format!("# kfd-smi capture 1\n# boot-id {id}\n{lines}");
    let text = |second: u32| {
        let log = boot(1, "1 1 : 9 1 -7 1 2\n") + &boot(second, "2 1 : 3 1 hang\n");
        feed(&["stat"], log.as_bytes()).text().to_owned()
    };
    assert!(text(1).contains("| line 1: queue_eviction"));
    assert!(text(2).contains("gpu_reset: GPU 0x1 was reset") && !text(2).contains("| line 1"));
}
