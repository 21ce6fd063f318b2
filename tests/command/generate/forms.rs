//! Which forms of lines each kernel has, told from the text alone.

use std::collections::BTreeSet;

use super::{KERNELS, combinations, generated};

/// Whether a line has the form that this kernel gives it.
fn has_form(kernel: usize, line: &str) -> bool {
    let is = |from: &str| kernel >= KERNELS.iter().position(|one| *one == from).unwrap();
    let Some((id, rest)) = line.split_once(' ') else { return false };
    let fields: Vec<_> = rest.split(' ').collect();
    let hex =
        |text: &str| !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let time_and_pid = || {
        let is_time = fields[0].len() >= 10 && fields[0].bytes().all(|byte| byte.is_ascii_digit());
        is("6.0") && is_time && fields[1].strip_prefix('-').is_some_and(|pid| pid.parse::<u32>().is_ok())
    };
    match id {
        "1" => rest.split_once(':').is_some_and(|(pid, _)| hex(pid)),
        "2" => rest.split_once(':').is_some_and(|(bits, count)| {
            is("5.10") && hex(bits) && hex(count) && (is("5.15") || bits.len() <= 8)
        }),
        "3" if is("6.11") => hex(fields[0]) && fields.len() > 1 && !fields[1].is_empty(),
        "4" if is("6.11") => hex(fields[0]) && fields[1..] == [""],
        "3" | "4" => is("5.10") && fields.len() == 1 && hex(fields[0]),
        "5" => fields.len() == 6 && time_and_pid() && matches!(fields[5], "0" | "1" | "2" | "3"),
        "6" if is("6.13") => {
            fields.len() == 6 && time_and_pid() && fields[5].parse::<i32>().is_ok_and(|code| code <= 0)
        }
        "6" => fields.len() == 5 && time_and_pid(),
        "7" => fields.len() == 4 && time_and_pid() && matches!(fields[3], "R" | "W"),
        "8" => fields.len() == 4 && time_and_pid() && matches!(fields[3], "M" | "U"),
        "9" => {
            fields.len() == 4 && time_and_pid() && fields[3].parse::<u32>().is_ok_and(|trigger| trigger < 6)
        }
        "a" => {
            let letter = match KERNELS[kernel] {
                "6.0" | "6.11" => &[][..],
                "6.12" | "6.13" | "6.16" => &["\0"],
                _ => &["0"],
            };
            time_and_pid() && (fields[3..] == ["R"] || fields[3..] == *letter)
        }
        "b" => fields.len() == 5 && time_and_pid() && matches!(fields[4], "0" | "1" | "2"),
        "c" | "d" => is("6.16") && fields.len() >= 2 && hex(fields[0]) && fields[0].len() <= 6,
        _ => false,
    }
}

#[test]
fn every_line_has_a_form_of_its_kernel() {
    for (kernel, scenario) in combinations().filter(|(_, scenario)| !matches!(*scenario, "hostile" | "mixed"))
    {
        let log =
            generated(&["--format", "raw", "--kernel", kernel, "--scenario", scenario, "--events", "2000"]);
        let number = KERNELS.iter().position(|one| *one == kernel).unwrap();
        for line in String::from_utf8(log).unwrap().lines() {
            assert!(has_form(number, line), "{kernel} {scenario}: {line:?}");
        }
    }
}

/// Of two kernels, one at least has a line that the other does not print.
#[test]
fn a_form_of_another_kernel_is_noticed() {
    let scenarios = ["--scenario", "churn,faults,reset", "--format", "raw", "--events", "4000"];
    let logs = KERNELS[3..].iter().map(|kernel| generated(&[&["--kernel", kernel], &scenarios[..]].concat()));
    let logs: Vec<_> = logs.map(|log| String::from_utf8(log).unwrap()).collect();
    let passes = |log: usize, kernel: usize| logs[log].lines().all(|line| has_form(kernel + 3, line));
    for one in 0..logs.len() {
        assert!(passes(one, one));
        for other in 0..one {
            let differ = !passes(one, other) || !passes(other, one);
            assert!(differ, "{} and {} cannot be told apart", KERNELS[one + 3], KERNELS[other + 3]);
        }
    }
}

/// All that a kernel can say is said sooner or later.
#[test]
fn all_scenarios_together_have_every_event_of_a_kernel() {
    for (number, kernel) in KERNELS.into_iter().enumerate() {
        let ids = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d"];
        let known = match number {
            0 => 1,
            1 | 2 => 4,
            3..=7 => 11,
            _ => 13,
        };
        let harmless: Vec<_> = combinations()
            .filter(|(of, scenario)| *of == kernel && !matches!(*scenario, "hostile" | "mixed"))
            .map(|(_, scenario)| scenario)
            .collect();
        let args =
            ["--format", "raw", "--kernel", kernel, "--events", "20000", "--scenario", &harmless.join(",")];
        let log = String::from_utf8(generated(&args)).unwrap();
        let seen: BTreeSet<_> = log.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(seen.iter().eq(ids[..known].iter()), "{kernel}: {seen:?}");
    }
}

/// What the field calls facts of the wire: letters put off, failed migrations, times that run backwards, retries.
#[test]
fn the_oddities_of_the_driver_are_there() {
    let log = |args: &[&str]| {
        String::from_utf8(generated(&[&["--format", "raw", "--events", "8000"], args].concat())).unwrap()
    };
    let faults = log(&["--scenario", "faults", "--kernel", "6.13"]);
    assert!(
        faults.lines().any(|line| line.starts_with("6 ") && line.ends_with(" 1 -12")),
        "no failed migration"
    );
    assert!(faults.lines().any(|line| line.starts_with("a ") && line.ends_with(" R")), "nothing is put off");
    assert!(faults.contains(" ffffffff:ffffffff "), "every location is defined");
    let times: Vec<u64> =
        faults.lines().map(|line| line.split(' ').nth(1).unwrap().parse().unwrap_or(0)).collect();
    let backwards = times.windows(2).filter(|pair| pair[1] < pair[0]).count();
    assert!((5..800).contains(&backwards), "{backwards} times run backwards");
    let count = |log: &str, id: &str| log.lines().filter(|line| line.starts_with(id)).count();
    let old = log(&["--scenario", "faults", "--kernel", "6.12"]);
    assert!(count(&old, "5 ") > count(&old, "6 ") + 10, "every migration of an old kernel ends");
    // Those that were under way at the end are no more than there are processes.
    let open = count(&faults, "5 ") - count(&faults, "6 ");
    assert!(open <= 4, "{open} migrations of a new kernel do not end");
    let thrash = log(&["--scenario", "thrash"]);
    assert!(count(&thrash, "7 ") > count(&thrash, "8 ") + 100, "no fault comes again");
    let resets = log(&["--scenario", "reset"]);
    assert!(count(&resets, "3 ") > count(&resets, "4 "), "every GPU comes back");
}
