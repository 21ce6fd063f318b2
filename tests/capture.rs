//! Law 8: a capture is the identity. Any bytes as a capture, golden captures, and the specification's own examples.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::{env, fs};

use kfd_smi_io::capture::{
    Entry, FIRST_LINE, GpuInfo, Header, MAX_FILE_LINE, MAX_GPUS, ProcessInfo, Recorder, Replay, Text,
};
use kfd_smi_io::proto::{Escaped, KfdVersion, PageSize, Pid};
use kfd_smi_io::{Clock, EventMask, GpuId};
use kfd_smi_testkit::capture_law::{self, Said, Step};
use kfd_smi_testkit::{chunks, corpus};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use crate::{generate, no_alloc};

const SPECIFICATION: &str = include_str!("../kfd-smi-io/CAPTURE.md");

/// What reads give: lines and bits of lines, names with newlines, more bytes than a decoder holds.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        6 => generate::any_line(),
        3 => vec(any::<u8>(), 0..20),
        4 => select(vec![
            &b"1 5:a\n9 1 -2 3 4\n"[..], b"1 5:\n", b"c 5 a b \n", b"3 1\n", b"\n", b"4 1 \n", b" \n",
            b"\\\n", b"\\x0a\n", b"#\n", b"1 5:a", b"9 1 -2 ", b"\0\n", b"1 5:a\nQQQ\n", b"d 5 \n3 1 QQ\nff QQ\n",
        ]).prop_map(<[u8]>::to_vec),
        // Around the buffer of the decoder, and around the length of a record.
        1 => (select(vec![8192, 16383, 16384, 16385, 32768, 40000]), any::<u8>(), any::<bool>()).prop_map(
            |(length, byte, ends)| [&vec![byte; length][..], if ends { b"\n" } else { b"" }].concat()
        ),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let gpu = || select(vec![1_u32, 0x1ea0, 0xfc7d, u32::MAX]);
    let read = (gpu(), any::<u64>(), any::<bool>(), bytes())
        .prop_map(|(gpu, arrival, drained, bytes)| Step::Read { gpu, arrival, drained, bytes });
    vec(prop_oneof![9 => read, 1 => gpu().prop_map(Step::End)], 0..16)
}

/// What stands in captures, and what almost does.
fn row() -> impl Strategy<Value = Vec<u8>> {
    let text = select(vec![
        FIRST_LINE,
        "# kfd-smi capture 2",
        "# gpu 1 a b -",
        "# gpu 1 a b",
        "# gpu",
        "# clock 1 2 3",
        "# clock 1 2",
        "# end 1 x",
        "# end 2 x",
        "# end",
        "# lost 5",
        "# lost",
        "# full 1",
        "# full g",
        "# process 1 a b",
        "#",
        "# seam 1 open",
        "# seam 1 15",
        "# seam 2 16",
        "# seam 2 0",
        "# mask ff",
        "# mask",
        "# hello",
        "#hello",
        "# host \\x",
        "# kfd 1.17",
        "# kfd 1",
        "# page-size 3",
        "# privileged maybe",
        "",
        " ",
        "1",
        "1 ",
        "1 1",
        "1 1 ",
        "1 1 :",
        "1 1 +",
        "1 1 + ",
        "1 1 +  ",
        "1 2 : 3 1",
        "1 1 - 3 1",
        "1 1 + 3 1\\",
        "1 2 : \\",
        "1 1 + x\\x0a",
        "1 1 + \\x41\\x5c",
        "1 1 + \\x4",
        "1 1 + \\X41",
        "1 1 + \t",
        "1 1 + 1 5:a",
        "01 0001 + 3 1",
        "-1 1 + 3 1",
        "9223372036854775807 ffffffff + 3 1",
        "9223372036854775808 1 + 3 1",
        "1 100000000 + 3 1",
        "1 A + 3 1",
    ]);
    let edge = (MAX_FILE_LINE - 12..MAX_FILE_LINE + 4, select(vec!["1 1 + ", "# host ", "x"]))
        .prop_map(|(length, head)| [head.as_bytes(), &vec![b'y'; length]].concat());
    prop_oneof![
        12 => text.prop_map(|text| text.as_bytes().to_vec()),
        1 => edge,
        2 => vec(any::<u8>(), 0..30),
        2 => bytes(),
    ]
}

fn file() -> impl Strategy<Value = Vec<u8>> {
    let end = select(vec![&b"\n"[..], b"\n", b"\n", b"\r\n", b"\r\r\n", b""]);
    let rows = vec((row(), end), 0..24).prop_map(|rows| {
        rows.into_iter().flat_map(|(row, end)| [row, end.to_vec()].concat()).collect::<Vec<u8>>()
    });
    (any::<bool>(), rows).prop_map(|(begins, rows)| {
        let first: &[u8] = if begins { b"# kfd-smi capture 1\n" } else { b"" };
        [first, &rows].concat()
    })
}

proptest! {
    // A case is a file, read and written many times.
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn what_is_recorded_is_replayed(steps in steps()) {
        capture_law::capture_is_the_identity(&steps);
    }

    #[test]
    fn what_is_left_out_does_not_show(
        steps in steps(),
        kept in vec(any::<bool>(), 1..9),
        rotated in vec(prop::bool::weighted(0.3), 1..9),
    ) {
        capture_law::gaps_do_not_show(&steps, &kept, &rotated);
        capture_law::gaps_do_not_show(&steps, &[true], &rotated);
    }

    #[test]
    fn redaction_replaces_texts_alone(steps in steps()) {
        capture_law::redaction_keeps_the_rest(&steps);
    }

    #[test]
    fn any_bytes_are_accounted_for(file in file()) {
        capture_law::every_line_of_a_file_is_accounted_for(&file);
    }

    #[test]
    fn a_file_can_end_anywhere(steps in steps(), length in any::<Index>()) {
        let (_, file) = capture_law::record(&steps, false);
        capture_law::a_cut_file_says_less(&file, [length.index(file.len())]);
    }

    #[test]
    fn a_disk_can_be_full_anywhere(steps in steps(), room in 0..3000_usize, flushed in any::<bool>()) {
        capture_law::a_full_disk_loses_nothing(&steps, room, flushed);
    }
}

/// Each log as what one GPU sent, in reads of usual sizes.
#[test]
fn the_corpus_is_replayed() {
    for log in corpus::logs() {
        for sizes in [&[8][..], &[1024], &[8192], &[]] {
            let reads = chunks::cut(&log.bytes, sizes).zip(1..).map(|(bytes, arrival)| Step::Read {
                gpu: 0x1ea0,
                arrival,
                drained: arrival % 3 == 0,
                bytes: bytes.to_vec(),
            });
            capture_law::capture_is_the_identity(&reads.collect::<Vec<_>>());
        }
    }
}

/// No name of a process, and no piece of one, is in a redacted capture.
#[test]
fn no_name_is_left() {
    let names: [&[u8]; 8] = [
        b"QQQ",
        b"Q\nQQ",
        b"a\nff QQQQ",
        b"\n3 1 QQQ",
        b"\n9 1 -2 3 4 Q",
        b"\n\n\n1 5:QQ",
        b"\nc 5 Q\nd 5 Q",
        b"Q\0Q",
    ];
    for head in [&b"1 cf:"[..], b"c cf ", b"d cf "] {
        for name in names {
            let bytes = [head, name, b"\n7 1 -2 @3(1ea0) W\n3 1 job hang on ring:gfx_0.0.0\n"].concat();
            let steps = [Step::Read { gpu: 0x1ea0, arrival: 0, drained: true, bytes }];
            capture_law::redaction_keeps_the_rest(&steps);
            let (_, file) = capture_law::record(&steps, true);
            let shown = String::from_utf8(file).unwrap();
            assert!(!shown.contains('Q'), "{shown}");
            assert!(
                shown.ends_with("+ 7 1 -2 @3(1ea0) W\n0 1ea0 + 3 1 job hang on ring:gfx_0.0.0\n"),
                "{shown}"
            );
        }
    }
    let mut header = Header::default();
    header.host = Some("QQQ".into());
    let mut recorder = Recorder::redacted(vec![], &header);
    let unique_id = Some(0xabcd);
    recorder.gpu(&GpuInfo { gpu: GpuId(1), name: "a".into(), pci: "b".into(), unique_id }).unwrap();
    recorder.process(&ProcessInfo { pid: Pid(7), comm: "Q".into(), cgroup: "/Q".into() }).unwrap();
    let file = recorder.finish().unwrap();
    assert_eq!(file, b"# kfd-smi capture 1\n# redacted yes\n# gpu 1 a b -\n# process 7 - -\n");
}

/// The words of a seam, and that it stands where it is needed and nowhere else.
#[test]
fn a_new_file_says_what_was_open() {
    let live = |gpu, bytes: &[u8]| Step::Read { gpu, arrival: 2, drained: false, bytes: bytes.to_vec() };
    let steps =
        [live(1, b"1 5:a\n"), live(2, &[b'y'; 16384]), live(1, b"3 1\n"), live(2, b"z\n"), live(1, b"3 2\n")];
    capture_law::gaps_do_not_show(&steps, &[true], &[false, false, true, false]);
    let (_, file) = capture_law::record(&steps, false);
    let rows: Vec<&[u8]> = file.split(|byte| *byte == b'\n').collect();
    // The second half alone, as a file that was begun behind the first two records would hold it.
    let cut = [rows[0], rows[3], rows[4], rows[5], b""].join(&b'\n');
    let wrong = capture_law::replay(&cut);
    assert!(!wrong.records[0].forgeable && wrong.records[1].bytes == b"z");
    let right = [rows[0], b"# seam 1 9", rows[3], b"# seam 2 open", rows[4], rows[5], b""].join(&b'\n');
    let right = capture_law::replay(&right);
    assert!(right.records[0].forgeable && right.records[1].event.is_err() && right.records[2].forgeable);
}

#[test]
fn there_is_a_limit_to_gpus_and_an_end_makes_room() {
    let mut file = format!("{FIRST_LINE}\n").into_bytes();
    for gpu in 0..=MAX_GPUS {
        writeln!(file, "1 {gpu:x} + 3 1").unwrap();
    }
    file.extend(b"# seam fff 0\n1 0 + 3 1\n# end 7 gone\n1 fff + 3 1\n");
    let Said { records, malformed } = capture_law::replay(&file);
    assert_eq!(malformed, [MAX_GPUS as u64 + 2, MAX_GPUS as u64 + 3]);
    assert_eq!(records.len(), MAX_GPUS + 2);
}

#[test]
fn a_line_that_has_no_end_takes_no_memory() {
    // 64 MiB without a newline, then a record.
    let endless = std::io::Read::take(std::io::repeat(b'x'), 1 << 26);
    let file = std::io::Read::chain(
        std::io::Read::chain(&b"# kfd-smi capture 1\n"[..], endless),
        &b"\n1 1 + 3 1\n"[..],
    );
    let mut replay = Replay::new(std::io::BufReader::new(file));
    let mut said = vec![];
    let allocated = no_alloc::allocations(|| {
        while let Some(entry) = replay.next_entry().unwrap() {
            said.push(matches!(entry, Entry::Malformed(_)));
        }
    });
    assert_eq!(said, [true, false, false]);
    assert!(allocated < 40, "{allocated}");
}

#[test]
fn records_allocate_nothing() {
    let bytes =
        corpus::logs().into_iter().find(|log| log.path.ends_with("speed/realistic.smi")).unwrap().bytes;
    let (_, file) = capture_law::record(&[Step::Read { gpu: 1, arrival: 2, drained: true, bytes }], false);
    let mut replay = Replay::new(&file[..]);
    let mut recorder = Recorder::new(std::io::sink(), &Header::default());
    let mut redacted = Recorder::redacted(std::io::sink(), &Header::default());
    let mut copy = |replay: &mut Replay<&[u8]>, most: usize| {
        let mut records = 0;
        while records < most
            && let Some(entry) = replay.next_entry().unwrap()
        {
            if let Entry::Record(record) = entry {
                recorder.record(&record).unwrap();
                redacted.record(&record).unwrap();
                records += 1;
            }
        }
        records
    };
    assert_eq!(copy(&mut replay, 100), 100);
    let mut records = 0;
    assert_eq!(no_alloc::allocations(|| records = copy(&mut replay, usize::MAX)), 0);
    assert!(records > 2000, "only {records}");
}

/// What a capture says, a line for each entry.
fn shown(file: &[u8]) -> String {
    let mut replay = Replay::new(file);
    let mut text = String::new();
    loop {
        let clock = replay.clock();
        let line = match replay.next_entry().unwrap() {
            None => return text,
            Some(Entry::Record(record)) => {
                let line = record.line;
                let event = line.event.map_or_else(|error| error.to_string(), |event| event.to_string());
                let arrival = record.arrival.unwrap();
                let time = clock.map_or_else(|| "-".into(), |clock| clock.realtime_of(arrival).to_string());
                format!(
                    "{arrival} ({time}) {} {}\"{}\"{} {}: {event}",
                    record.gpu.unwrap(),
                    if line.drained_before { ":" } else { "+" },
                    Escaped(line.bytes),
                    if line.terminated { "" } else { "..." },
                    line.trust,
                )
            }
            Some(Entry::Malformed(error)) => error.to_string(),
            Some(other) => format!("{other:?}"),
        };
        text.push_str(&line);
        text.push('\n');
    }
}

#[test]
fn golden_captures_are_read_as_before() {
    for capture in corpus::captures() {
        let path = capture.path.with_extension("txt");
        let actual = shown(&capture.bytes);
        if env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &actual).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(actual, expected, "{}: UPDATE_GOLDEN=1 writes it anew", path.display());
        capture_law::every_line_of_a_file_is_accounted_for(&capture.bytes);
        capture_law::a_cut_file_says_less(&capture.bytes, (0..capture.bytes.len()).step_by(3));
    }
}

fn golden(name: &str) -> Vec<u8> {
    fs::read(corpus::folder().join("captures").join(name)).unwrap()
}

/// The files that a recorder can have written are written again as they are.
#[test]
fn golden_captures_are_copied_to_the_byte() {
    for name in ["example.capture", "joined.capture", "rotated.capture"] {
        let file = golden(name);
        assert!(capture_law::copy(&file, false) == file, "{name}");
    }
    assert_eq!(
        capture_law::copy(&golden("example.capture"), true).escape_ascii().to_string(),
        golden("redacted.capture").escape_ascii().to_string()
    );
}

/// The example of the specification, call by call.
#[test]
fn the_example_is_written_to_the_byte() {
    let mut header = Header::default();
    header.program = Some("kfd-smi/0.1.0".into());
    header.machine = Some("x86_64".into());
    header.release = Some("6.12.95+deb13-amd64".into());
    header.kfd_version = Some(KfdVersion { major: 1, minor: 17 });
    header.page_size = Some(PageSize::FOUR_KIB);
    header.boot_id = Some("3c5f7a52-7d2e-4a3b-9a55-0f6c0a8b1d11".into());
    header.host = Some("node7".into());
    header.recorder = Some(Pid(4242));
    header.mask = Some(EventMask::EVERY | EventMask::ALL_PROCESSES);
    header.privileged = Some(true);
    let mut recorder = Recorder::new(vec![], &header);
    for (gpu, pci, unique_id) in
        [(0x1f4b, "0000:c1:00.0", Some(0x2bcc_f316_6215_06e7)), (0xfc7d, "0000:c6:00.0", None)]
    {
        let info = GpuInfo { gpu: GpuId(gpu), name: "aldebaran".into(), pci: pci.into(), unique_id };
        recorder.gpu(&info).unwrap();
    }
    let boot = kfd_smi_io::proto::BootNanos::new(9_000_000_000).unwrap();
    let clock = Clock { boot, realtime: 1_764_581_223_000_000_000, monotonic: 9_000_000_000 };
    recorder.clock(clock).unwrap();
    let example = golden("example.capture");
    let mut replay = Replay::new(&example[..]);
    let mut number = 0;
    while let Some(entry) = replay.next_entry().unwrap() {
        if let Entry::Record(record) = entry {
            number += 1;
            recorder.record(&record).unwrap();
            match number {
                2 => {
                    let cgroup = "/user.slice/job one".into();
                    recorder.process(&ProcessInfo { pid: Pid(207), comm: "python3".into(), cgroup }).unwrap();
                }
                6 => {
                    recorder.full(GpuId(0xfc7d)).unwrap();
                    recorder.lost(120).unwrap();
                }
                _ => {}
            }
        }
    }
    recorder.end(GpuId(0x1f4b), &Text::from("closed")).unwrap();
    let written = String::from_utf8(recorder.finish().unwrap()).unwrap();
    assert_eq!(written, String::from_utf8(example).unwrap());
}

/// The blocks of the specification in this language.
fn blocks(language: &str) -> impl Iterator<Item = &str> {
    SPECIFICATION.split("\n```").skip(1).step_by(2).filter_map(move |block| {
        let (name, text) = block.split_once('\n')?;
        (name == language).then_some(text)
    })
}

#[test]
fn the_specification_shows_what_is_read() {
    let first = blocks("text").next().unwrap();
    assert_eq!(format!("{first}\n").as_bytes(), golden("example.capture"));
    assert_eq!(blocks("text").nth(1), Some(FIRST_LINE));
    assert!(SPECIFICATION.contains("65,600") && MAX_FILE_LINE == 65_600);
    assert!(SPECIFICATION.contains("No more than 256 GPUs") && MAX_GPUS == 256);
}

/// The reader that the specification shows says what this library says.
#[test]
fn the_reader_in_python_agrees() {
    let reader = blocks("python").next().unwrap();
    for capture in corpus::captures() {
        let spawned =
            Command::new("python3").args(["-c", reader]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = spawned else {
            eprintln!("skipped: there is no python3");
            return;
        };
        child.stdin.take().unwrap().write_all(&capture.bytes).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", capture.path.display());
        let python = String::from_utf8(output.stdout).unwrap();
        let mut ours = vec![];
        let mut replay = Replay::new(&capture.bytes[..]);
        while let Some(entry) = replay.next_entry().unwrap() {
            match entry {
                Entry::Record(record) => {
                    let mut bytes = record.line.bytes.to_vec();
                    bytes.extend(record.line.terminated.then_some(b'\n'));
                    let mark = if record.line.drained_before { ":" } else { "+" };
                    let (arrival, gpu) = (record.arrival.unwrap().nanos(), record.gpu.unwrap().0);
                    ours.push(format!("{arrival} {gpu:x} {mark} {}", hex(&bytes)));
                }
                Entry::Malformed(error) if !is_fact(&capture.bytes, error.line) => {
                    ours.push(format!("line {}", error.line));
                }
                _ => {}
            }
        }
        assert_eq!(python.lines().collect::<Vec<_>>(), ours, "{}", capture.path.display());
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_fact(file: &[u8], number: u64) -> bool {
    file.split(|byte| *byte == b'\n').zip(1..).any(|(row, at)| at == number && row.starts_with(b"#"))
}
