//! This program, started again as a client in a process of its own: [`Remote`].

use std::collections::BTreeMap;
use std::env;
use std::hash::{DefaultHasher, Hasher as _};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use kfd_smi_io::{Error, EventMask, GpuId, Kfd, SmiClient};
use kfd_smi_testkit::fake_kernel::FakeKernel;

use crate::read;

/// Tells the process that it is the client, and in which way.
const CLIENT: &str = "KFD_SMI_FAKE_KERNEL_CLIENT";

/// What stands before each reply, to tell it from what the test harness prints.
const REPLY: &str = "reply: ";

/// The first folder on the way that others may not enter, if there is one.
pub(crate) fn barred(program: &Path) -> Option<&Path> {
    let mut way = program.ancestors();
    way.find(|path| path.metadata().map_or(0, |metadata| metadata.permissions().mode()) & 1 == 0)
}

/// The users that a client can run as: this one, and an ordinary one besides root.
pub(crate) fn users() -> Vec<Option<u32>> {
    let program = env::current_exe().unwrap();
    match barred(&program) {
        _ if !rustix::process::geteuid().is_root() => vec![None],
        None => vec![None, Some(65534)],
        Some(folder) => {
            kfd_smi_testkit::skip(
                "the_ordinary_user",
                &format_args!("{} is not for others", folder.display()),
            );
            vec![None]
        }
    }
}

/// The command that starts this program as a client.
fn command(way: &str) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", "remote::client", "--nocapture", "--test-threads=1"]);
    command.env(CLIENT, way).current_dir("/");
    command
}

/// A client that does what it is told.
#[derive(Debug)]
pub(crate) struct Remote {
    pub(crate) child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Remote {
    pub(crate) fn start(kernel: &mut FakeKernel, user: Option<u32>) -> Self {
        let mut command = command("told");
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let mut child = kernel.spawn(command.stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Says it, and returns what the client answers.
    pub(crate) fn ask(&mut self, what: &str) -> String {
        self.tell(what);
        self.reply()
    }

    /// Says it, without waiting.
    pub(crate) fn tell(&mut self, what: &str) {
        writeln!(self.stdin, "{what}").unwrap();
    }

    pub(crate) fn reply(&mut self) -> String {
        let mut line = String::new();
        while !line.starts_with(REPLY) {
            line.clear();
            assert!(self.stdout.read_line(&mut line).unwrap() > 0, "the client ended");
        }
        line[REPLY.len()..].trim_end().to_owned()
    }

    /// Says that no more comes, upon which the client ends.
    pub(crate) fn finish(mut self) {
        drop(self.stdin);
        io::copy(&mut self.stdout, &mut io::sink()).unwrap();
        assert!(self.child.wait().unwrap().success());
    }
}

/// The number by which tests recognise what was read.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

/// No test: what the other process does.
#[test]
fn client() {
    match env::var(CLIENT).as_deref() {
        Ok("told") => {}
        // With the `/dev/kfd` of another process as standard input.
        Ok("heir") => {
            let error = crate::device::version_of(io::stdin()).unwrap_err();
            println!("\n{REPLY}{}", error.raw_os_error());
            return;
        }
        _ => return,
    }
    let mut state = State::default();
    for line in io::stdin().lines() {
        let reply =
            state.obey(&line.unwrap()).unwrap_or_else(|error| error.errno().raw_os_error().to_string());
        println!("\n{REPLY}{reply}");
    }
    // Nobody reads what the test harness would print now.
    std::process::exit(0);
}

#[derive(Default)]
struct State {
    kfd: Option<Kfd>,
    clients: BTreeMap<GpuId, SmiClient>,
    children: Vec<Child>,
}

impl State {
    fn obey(&mut self, line: &str) -> Result<String, Error> {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| u64::from_str_radix(words[index], 16).unwrap();
        let gpu = || GpuId(number(1) as u32);
        match words[0] {
            "open" => self.kfd = Some(Kfd::open()?),
            "close" => self.kfd = None,
            "version" => return Ok(self.kfd.as_ref().unwrap().version()?.to_string()),
            "heir" => {
                let kfd = rustix::io::dup(self.kfd.as_ref().unwrap()).unwrap();
                let output = command("heir").stdin(Stdio::from(kfd)).output().unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                return Ok(text
                    .lines()
                    .find_map(|line| line.strip_prefix(REPLY))
                    .unwrap_or(&text)
                    .to_owned());
            }
            "smi" => _ = self.clients.insert(gpu(), self.kfd.as_ref().unwrap().smi_events(gpu())?),
            "mask" => self.clients[&gpu()].set_mask(EventMask::from_bits(number(2)))?,
            "read" => {
                let bytes = read(&self.clients[&gpu()], 8192);
                return Ok(
                    bytes.map_or_else(|| "nothing".to_owned(), |bytes| bytes.escape_ascii().to_string())
                );
            }
            // So many bytes, whenever they come.
            "collect" => {
                let mut collected = vec![];
                while collected.len() < usize::try_from(number(2)).unwrap() {
                    assert!(self.clients[&gpu()].poll(None)?);
                    collected.extend(read(&self.clients[&gpu()], 8192).unwrap_or_default());
                }
                return Ok(hash(&collected).to_string());
            }
            "drop" => _ = self.clients.remove(&gpu()),
            "spawn" => {
                let mut child =
                    Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
                // It is up when it answers.
                child.stdin.as_mut().unwrap().write_all(b"!").unwrap();
                child.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
                let pid = child.id();
                self.children.push(child);
                return Ok(pid.to_string());
            }
            "path" => return Ok(PathBuf::from(words[1]).exists().to_string()),
            _ => panic!("not understood: {line}"),
        }
        Ok("done".to_owned())
    }
}
