//! Where a capture is written: [`Destination`].

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek as _, SeekFrom, Write};
use std::path::{Path, PathBuf};

use kfd_smi_io::capture::FIRST_LINE;

use crate::output::Output;
use crate::signals::Stop;

/// A file, or standard output.
#[derive(Debug)]
pub(crate) enum Destination {
    File {
        file: File,
        /// How long it was when it was opened.
        begin: u64,
    },
    Stdout(Output),
}

impl Destination {
    /// Opens a file to go on behind what is in it, so that no capture is ever overwritten; `-` is standard output.
    ///
    /// A last line that was cut off, by a crash or a full disk, is removed.
    pub(crate) fn open(path: &Path, stop: &Stop) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(Output::new(stop.clone())));
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        if !file.metadata()?.is_file() {
            return Ok(Self::File { file, begin: 0 });
        }
        if !is_capture(&mut file)? {
            let message = "the file exists and is no capture: choose another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        let begin = whole_lines(&mut file)?;
        file.set_len(begin)?;
        Ok(Self::File { file, begin })
    }

    /// Creates a file, or takes one that is empty or no regular file; `-` is standard output.
    pub(crate) fn create(path: &Path, stop: &Stop) -> io::Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::Stdout(Output::new(stop.clone())));
        }
        let file = OpenOptions::new().append(true).create(true).open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_file() && metadata.len() > 0 {
            let message = "the file exists: choose another name";
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
        }
        Ok(Self::File { file, begin: 0 })
    }

    /// Cuts off what was written of a line, behind so many bytes of whole lines.
    pub(crate) fn cut(&mut self, written: u64) -> io::Result<()> {
        match self {
            Self::File { file, begin } if file.metadata()?.is_file() => file.set_len(*begin + written),
            _ => Ok(()),
        }
    }
}

/// Whether the file is a capture, or the beginning of one, or empty.
fn is_capture(file: &mut File) -> io::Result<bool> {
    let mut first = vec![];
    file.seek(SeekFrom::Start(0))?;
    Read::by_ref(file).take(FIRST_LINE.len() as u64 + 2).read_to_end(&mut first)?;
    Ok(match first.strip_prefix(FIRST_LINE.as_bytes()) {
        Some(rest) => matches!(rest, [] | [b'\n', ..] | [b'\r'] | [b'\r', b'\n']),
        None => FIRST_LINE.as_bytes().starts_with(&first),
    })
}

/// The length of the file up to its last newline.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut block = vec![0; 1 << 16];
    while end > 0 {
        let begin = end.saturating_sub(block.len() as u64);
        let block = &mut block[..usize::try_from(end - begin).unwrap_or_default()];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(block)?;
        if let Some(newline) = block.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + newline as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

impl Write for Destination {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Stdout(stdout) => stdout.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Stdout(stdout) => stdout.flush(),
        }
    }
}

/// Makes room for a new file: `FILE` becomes `FILE.1`, `FILE.1` becomes `FILE.2`, and so on; the last is removed.
pub(crate) fn rotate(path: &Path, most: u32) -> io::Result<()> {
    let numbered = |number: u32| match number {
        0 => path.to_owned(),
        number => {
            let mut name = path.as_os_str().to_owned();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        }
    };
    for number in (0..most).rev() {
        match fs::rename(numbered(number), numbered(number + 1)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    fn folder() -> TempDir {
        TempDir::with_prefix("kfd-smi-").unwrap()
    }

    fn write(folder: &TempDir, name: &str, bytes: &[u8]) -> PathBuf {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_capture_is_gone_on_with_behind_its_last_whole_line() {
        let folder = folder();
        let path = write(&folder, "cut", b"# kfd-smi capture 1\n1 2 : 3 1\n5 6 : 7");
        let mut destination = Destination::open(&path, &Stop::default()).unwrap();
        destination.write_all(b"# kfd-smi capture 1\nhalf a li").unwrap();
        destination.cut(20).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"# kfd-smi capture 1\n1 2 : 3 1\n# kfd-smi capture 1\n");
        for empty in [&b""[..], b"# kfd-smi cap", b"# kfd-smi capture 1"] {
            let path = write(&folder, "empty", empty);
            Destination::open(&path, &Stop::default()).unwrap();
            assert_eq!(fs::read(&path).unwrap(), b"");
        }
    }

    #[test]
    fn another_file_is_left_alone() {
        let folder = folder();
        for other in
            [&b"precious\n"[..], b"# kfd-smi capture 12\n", b"3 1\n# kfd-smi capture 1\n", b"no newline"]
        {
            let path = write(&folder, "other", other);
            assert!(Destination::open(&path, &Stop::default()).is_err());
            assert_eq!(fs::read(&path).unwrap(), other);
        }
    }

    #[test]
    fn files_move_up_and_the_last_is_removed() {
        let folder = folder();
        for round in 1..=4 {
            let path = write(&folder, "c", format!("{round}").as_bytes());
            rotate(&path, 2).unwrap();
            assert!(!path.exists());
        }
        let read = |name: &str| fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(
            (read("c.1").as_deref(), read("c.2").as_deref(), read("c.3")),
            (Some("4"), Some("3"), None)
        );
    }
}
