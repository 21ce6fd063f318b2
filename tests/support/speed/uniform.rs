//! A log that nothing can be guessed in: [`uniform`].

use super::{Random, SpeedLog};
use crate::kernel::{FORMS, Form, Values};

/// Names and causes.
const TEXTS: [&str; 12] = [
    "a",
    "python3",
    "my app",
    "rocprofv3",
    "pt_main_thread",
    "hipBusBandwidth",
    "",
    "ras error",
    "hws hang",
    "user trigger",
    "ring timeout",
    "illegal access",
];

/// All events of released kernels alike, each in all of its forms, and numbers of every width.
///
/// At least `size` bytes: the last line is whole.
#[must_use]
pub fn uniform(seed: u64, size: usize) -> SpeedLog {
    let mut random = Random(seed);
    let mut log = SpeedLog::new("uniform");
    while log.bytes.len() < size {
        let id = random.pick(&["1", "2", "3", "4", "5", "6", "7", "8", "9", "a", "b", "c", "d"]);
        let is_of_id = |form: &&Form| form.format.split(' ').next() == Some(id);
        let forms: Vec<&Form> = FORMS.iter().filter(is_of_id).collect();
        let form = random.pick(&forms);
        log.push(form, &values(&mut random));
    }
    log
}

fn values(random: &mut Random) -> Values {
    Values {
        // Times of less than a second after boot do not occur.
        nanos: (random.digits(10, 7).max(1) * 1_000_000_000 + random.below(1_000_000_000)).cast_signed(),
        pid: random.digits(10, 7) as i32,
        address: random.digits(16, 13),
        size: random.digits(16, 6),
        from: random.digits(16, 5) as u32,
        to: random.digits(16, 5) as u32,
        prefetch: random.digits(16, 4) as u32,
        preferred: random.digits(16, 4) as u32,
        trigger: random.below(6) as i32,
        error: random.pick(&[0, -12]),
        text: random.pick(&TEXTS).into(),
        letter: random.next() as usize,
    }
}
