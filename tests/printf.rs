//! The encoder against the C library's `printf` with the driver's own formats.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

use kfd_smi_proto::parse_line;
use kfd_smi_testkit::kernel::{FORMS, Values};
use kfd_smi_testkit::{laws, skip};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::TestRunner;
use tempfile::TempDir;

use crate::generate;

/// How often each form is printed.
const ROUNDS: usize = 300;

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("printf.c")
}

/// Compiles the C program; `None` without a compiler.
fn compile(folder: &Path) -> Option<PathBuf> {
    let program = folder.join("printf");
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler).args(["-O1", "-w", "-o"]).arg(&program).arg(source()).status();
    match status {
        Ok(status) => {
            assert!(status.success(), "the C program does not compile");
            Some(program)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        Err(error) => panic!("cc: {error}"),
    }
}

fn input_line(form: usize, letter: u8, values: &Values) -> String {
    let Values { nanos, pid, address, size, from, to, prefetch, preferred, trigger, error, text, .. } =
        values;
    let hex: String = text.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{form} {nanos} {pid} {address:x} {size:x} {from:x} {to:x} {prefetch:x} {preferred:x} {trigger} {error} \
         {letter} x{hex}\n"
    )
}

#[test]
fn the_encoder_prints_what_printf_prints() {
    let folder = TempDir::with_prefix("kfd-smi-").unwrap();
    let Some(program) = compile(folder.path()) else {
        skip("the_encoder_prints_what_printf_prints", &"no C compiler");
        return;
    };
    let mut runner = TestRunner::deterministic();
    let mut input = String::new();
    let mut expected = vec![];
    for _ in 0..ROUNDS {
        for (number, form) in FORMS.iter().enumerate() {
            let mut values = generate::values().new_tree(&mut runner).unwrap().current();
            // A C string ends at a NUL; no name and no cause has one.
            values.text.retain(|byte| *byte != 0);
            input.push_str(&input_line(number, form.letter(&values), &values));
            expected.push(form.print(&values));
        }
    }
    let mut child = Command::new(&program)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the C program runs");
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success());

    let printed: Vec<&[u8]> = output.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    assert_eq!(printed.len(), expected.len());
    for (printed, expected) in printed.iter().zip(&expected) {
        assert_eq!(printed.escape_ascii().to_string(), expected.escape_ascii().to_string());
        let event = parse_line(printed).event.unwrap();
        assert_eq!(laws::encoded(&event).escape_ascii().to_string(), printed.escape_ascii().to_string());
    }
}

/// The forms of the testkit and the formats of the C program are the same list.
#[test]
fn both_have_the_same_formats() {
    let source = fs::read_to_string(source()).unwrap();
    for (number, form) in FORMS.iter().enumerate() {
        let case = format!("case {number}: printf(\"{}\"", form.format.escape_default());
        assert!(source.contains(&case), "{case}");
    }
}
