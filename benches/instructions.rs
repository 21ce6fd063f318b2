//! What the script `instructions` counts the instructions of: one way to read or write
//! `tests/data/speed/realistic.smi`, so many times.

use std::hint::black_box;
use std::{env, fs};

use kfd_smi_proto::{Event, lines};
use kfd_smi_testkit::corpus;

mod formatter;
#[path = "rivals/hand.rs"]
mod hand;
mod ours;
#[path = "rivals/plain_nom.rs"]
mod plain_nom;

fn main() {
    // Cargo adds `--bench`.
    let arguments: Vec<String> = env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    let [subject, passes] = &arguments[..] else {
        println!("for the script benches/instructions: nothing is measured without SUBJECT PASSES");
        return;
    };
    let passes = passes.parse().expect("a number of passes");
    let log = fs::read(corpus::folder().join("speed/realistic.smi")).expect("the log is there");
    let events: Vec<Event<'_>> = lines(&log).map(|line| line.event.expect("an event")).collect();
    let expected = ours::whole(&log);
    let mut room = vec![0; log.len()];
    println!("{} lines", events.len());

    for _ in 0..passes {
        let log = black_box(&log[..]);
        match subject.as_str() {
            "parse" => assert_eq!(ours::whole(log), expected),
            // What is measured when every line is parsed twice: the gate must see it.
            "parse-twice" => {
                assert_eq!(ours::whole(log), expected);
                assert_eq!(ours::whole(black_box(log)), expected);
            }
            "decoder" => assert_eq!(ours::decode(log, 8192), expected),
            "encode" => assert_eq!(formatter::ours(black_box(&events), &mut room), log.len()),
            "core-fmt" => assert_eq!(formatter::by_fmt(black_box(&events), &mut room), log.len()),
            "hand-loop" => assert_eq!(hand::read(log), expected.fields),
            "plain-nom" => assert_eq!(plain_nom::read(log), expected.fields),
            _ => panic!("there is nothing called {subject}"),
        }
    }
}
