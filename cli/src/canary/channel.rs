//! The conversation with the child that runs kernels.
//!
//! **Contract.** The child says two lines first, `metalshim-canary 1` and what its device is, and
//! then answers each request. Nothing it does keeps us waiting longer than the time limit.
//!
//! | request | |
//! |---|---|
//! | `library NAME BYTES`, then the source | compile it |
//! | `run LIBRARY KERNEL GX GY GZ TX TY TZ MEMORY ARGUMENTS`, then the arguments | launch it: threadgroups, threads of each, bytes of threadgroup memory |
//! | argument `in BYTES`, then the bytes | a buffer |
//! | argument `out BYTES`, then the bytes | a buffer that comes back |
//! | argument `file BYTES PATH` | a buffer over the file's own pages, nothing copied |
//!
//! | answer | |
//! |---|---|
//! | `ok MICROSECONDS`, then each buffer that comes back | done |
//! | `refused BYTES`, then the text | a compiler does not take it |
//! | `failed BYTES`, then the text | the GPU or its driver says that it went wrong |

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::Duration;

use super::cases::{Argument, Case, Library};
use super::judge::UNTOUCHED;
use crate::error::Error;
use crate::helper::{self, Ended};

/// The first line that a child says.
pub const HEADER: &str = "metalshim-canary 1";
/// No line is longer.
const MAX_LINE: u64 = 4096;
/// No compiler's text is read further than this.
const MAX_TEXT: u64 = 64 << 10;

/// What the child's device says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The highest Apple family.
    pub apple_family: u16,
    /// Bytes of threadgroup memory.
    pub max_threadgroup_memory: u32,
    /// The longest buffer, in bytes.
    pub max_buffer_length: u64,
    /// The working set that it recommends, in bytes.
    pub recommended_working_set: u64,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Done, in so many microseconds, with these results.
    Ok(u64, Vec<Vec<u8>>),
    /// A compiler does not take it.
    Refused(String),
    /// The GPU or its driver says that it went wrong.
    Failed(String),
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gone {
    /// The child has ended, or gave none in time.
    Ended(Ended),
    /// It said something else.
    Garbled(String),
}

/// What is written, and how many bytes come back for each output.
type Request = (Vec<u8>, Vec<usize>);

/// A child, and what to say to it.
#[derive(Debug)]
pub struct Channel {
    child: Child,
    requests: Sender<Request>,
    answers: Receiver<io::Result<Answer>>,
    limit: Duration,
}

impl Channel {
    /// Starts the child. Its device is the first answer; none where the system has none.
    ///
    /// # Errors
    /// It could not be started. [`Gone`]: it did not come to having a device.
    pub fn start(
        mut command: Command,
        limit: Duration,
    ) -> Result<(Self, Result<Option<Device>, Gone>), Error> {
        let program = command.get_program().to_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| helper::could_not_start(Path::new(&program), &e))?;
        let (requests, to_do) = mpsc::channel();
        let (done, answers) = mpsc::channel();
        let (say_hello, hello) = mpsc::channel();
        // Not joined: one that hangs with its child is left behind with it.
        if let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) {
            std::thread::spawn(move || talk(stdin, stdout, &say_hello, &to_do, &done));
        }
        let mut channel = Self {
            child,
            requests,
            answers,
            limit,
        };
        let hello = channel.within_limit(|limit| hello.recv_timeout(limit));
        Ok((channel, hello))
    }

    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Has a library compiled.
    ///
    /// # Errors
    /// There is no answer.
    pub fn library(&mut self, library: &Library) -> Result<Answer, Gone> {
        let source = library.source;
        let request = format!("library {} {}\n{source}", library.name, source.len());
        self.ask((request.into_bytes(), Vec::new()))
    }

    /// Has a case run. `file` is where its file is.
    ///
    /// # Errors
    /// There is no answer.
    pub fn run(&mut self, case: &Case, file: Option<(&Path, u64)>) -> Result<Answer, Gone> {
        self.ask(request(case, file))
    }

    fn ask(&mut self, request: Request) -> Result<Answer, Gone> {
        // Where nobody listens any more, the answer says why.
        let _ = self.requests.send(request);
        let answers = std::mem::replace(&mut self.answers, mpsc::channel().1);
        let answer = self.within_limit(|limit| answers.recv_timeout(limit));
        self.answers = answers;
        answer
    }

    fn within_limit<T>(
        &mut self,
        receive: impl FnOnce(Duration) -> Result<io::Result<T>, RecvTimeoutError>,
    ) -> Result<T, Gone> {
        match receive(self.limit) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(e)) if e.kind() == io::ErrorKind::InvalidData => {
                helper::kill(&mut self.child);
                Err(Gone::Garbled(e.to_string()))
            }
            Err(RecvTimeoutError::Timeout) => {
                helper::kill(&mut self.child);
                Err(Gone::Ended(Ended::Late(self.limit)))
            }
            // Its end of the pipe is closed: it has ended, or is about to.
            Ok(Err(_)) | Err(RecvTimeoutError::Disconnected) => {
                let ended = helper::wait(&mut self.child, self.limit.min(Duration::from_secs(2)));
                Err(Gone::Ended(ended))
            }
        }
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        helper::kill(&mut self.child);
    }
}

fn request(case: &Case, file: Option<(&Path, u64)>) -> Request {
    let [x, y] = case.groups;
    let mut bytes = format!(
        "run {} {} {x} {y} 1 {} 1 1 {} {}\n",
        case.library,
        case.kernel,
        case.threads,
        case.memory,
        case.arguments.len()
    )
    .into_bytes();
    let mut outputs = Vec::new();
    for argument in &case.arguments {
        match argument {
            Argument::In(content) => {
                bytes.extend(format!("in {}\n", content.len()).into_bytes());
                bytes.extend(content);
            }
            Argument::Out(output) => {
                bytes.extend(format!("out {}\n", output.len()).into_bytes());
                bytes.extend(std::iter::repeat_n(UNTOUCHED, output.len()));
                outputs.push(output.len());
            }
            Argument::File => {
                let (path, length) = file.unwrap_or((Path::new("/dev/null"), 0));
                bytes.extend(format!("file {length} {}\n", path.display()).into_bytes());
            }
        }
    }
    (bytes, outputs)
}

/// The whole conversation, until one of both has enough.
fn talk(
    mut stdin: ChildStdin,
    stdout: ChildStdout,
    say_hello: &Sender<io::Result<Option<Device>>>,
    to_do: &Receiver<Request>,
    done: &Sender<io::Result<Answer>>,
) {
    let mut stdout = BufReader::new(stdout);
    let hello = read_hello(&mut stdout);
    let met = hello.is_ok();
    if say_hello.send(hello).is_err() || !met {
        return;
    }
    while let Ok((bytes, outputs)) = to_do.recv() {
        let answer = stdin
            .write_all(&bytes)
            .and_then(|()| stdin.flush())
            .and_then(|()| read_answer(&mut stdout, &outputs));
        let ended = answer.is_err();
        if done.send(answer).is_err() || ended {
            return;
        }
    }
}

fn garbled(says: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, says.into())
}

fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    from.by_ref().take(MAX_LINE).read_line(&mut line)?;
    match line.strip_suffix('\n') {
        Some(line) => Ok(line.to_owned()),
        None if line.len() as u64 == MAX_LINE => Err(garbled("a line has no end")),
        None => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

fn read_hello(from: &mut impl BufRead) -> io::Result<Option<Device>> {
    if read_line(from)? != HEADER {
        return Err(garbled("it is no canary"));
    }
    let line = read_line(from)?;
    let pairs: BTreeMap<&str, &str> = line.split(' ').filter_map(|p| p.split_once('=')).collect();
    if pairs.get("device") == Some(&"none") {
        return Ok(None);
    }
    fn number<T: std::str::FromStr>(pairs: &BTreeMap<&str, &str>, key: &str) -> io::Result<T> {
        let value = pairs.get(key).and_then(|v| v.parse().ok());
        value.ok_or_else(|| garbled(format!("it does not say its {key}")))
    }
    Ok(Some(Device {
        apple_family: number(&pairs, "apple_family")?,
        max_threadgroup_memory: number(&pairs, "max_threadgroup_memory")?,
        max_buffer_length: number(&pairs, "max_buffer_length")?,
        recommended_working_set: number(&pairs, "recommended_working_set")?,
    }))
}

fn read_answer(from: &mut impl BufRead, outputs: &[usize]) -> io::Result<Answer> {
    let line = read_line(from)?;
    let (what, number) = line.split_once(' ').unwrap_or((&line, ""));
    let number: u64 = number
        .parse()
        .map_err(|_| garbled(format!("\"{}\" is no answer", line.escape_default())))?;
    let mut bytes = |length: u64| {
        let mut bytes = Vec::new();
        from.by_ref().take(length).read_to_end(&mut bytes)?;
        if bytes.len() as u64 == length {
            Ok(bytes)
        } else {
            Err(io::Error::from(io::ErrorKind::UnexpectedEof))
        }
    };
    let mut text = || {
        if number > MAX_TEXT {
            return Err(garbled("a text is too long"));
        }
        Ok(String::from_utf8_lossy(&bytes(number)?).into_owned())
    };
    match what {
        "refused" => Ok(Answer::Refused(text()?)),
        "failed" => Ok(Answer::Failed(text()?)),
        "ok" => {
            let results = outputs.iter().map(|length| bytes(*length as u64));
            Ok(Answer::Ok(number, results.collect::<io::Result<_>>()?))
        }
        _ => Err(garbled(format!(
            "\"{}\" is no answer",
            what.escape_default()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canary::cases;

    const HELLO: &str = "metalshim-canary 1\ndevice=X apple_family=1009 max_threadgroup_memory=65536 max_buffer_length=1 recommended_working_set=2\n";

    type Told = Option<Result<Answer, Gone>>;

    /// A child that says `words`, and what comes of the first case.
    fn told(words: &str, then: &str) -> (Result<Option<Device>, Gone>, Told) {
        let mut command = Command::new("/bin/sh");
        let script = format!("printf '%b' \"$1\"; {then}");
        command.args(["-c", &script, "sh", words]);
        let (mut channel, hello) = Channel::start(command, Duration::from_secs(2)).unwrap();
        let answer = matches!(hello, Ok(Some(_))).then(|| channel.run(&cases::cases(1)[0], None));
        (hello, answer)
    }

    #[test]
    fn answers_are_read_as_they_are_described() {
        let (hello, answer) = told(&format!("{HELLO}refused 4\nnope"), "cat >/dev/null");
        assert_eq!(hello.unwrap().unwrap().max_threadgroup_memory, 65_536);
        assert_eq!(answer, Some(Ok(Answer::Refused("nope".to_owned()))));
        let (_, answer) = told(&format!("{HELLO}failed 2\nno"), "cat >/dev/null");
        assert_eq!(answer, Some(Ok(Answer::Failed("no".to_owned()))));
        let (hello, _) = told("metalshim-canary 1\ndevice=none\n", ":");
        assert_eq!(hello, Ok(None));
    }

    #[test]
    fn ends_hangs_and_nonsense_are_told_apart() {
        let (hello, _) = told("", "exit 3");
        assert_eq!(hello, Err(Gone::Ended(Ended::Code(3))));
        let (hello, _) = told("hello\n", "cat >/dev/null");
        assert!(matches!(hello, Err(Gone::Garbled(_))), "{hello:?}");
        let (_, answer) = told(HELLO, "kill -SEGV $$");
        assert_eq!(answer, Some(Err(Gone::Ended(Ended::Signal(11)))));
        let (_, answer) = told(HELLO, "exec sleep 30");
        let late = Ended::Late(Duration::from_secs(2));
        assert_eq!(answer, Some(Err(Gone::Ended(late))));
        for nonsense in ["ok", "ok x\n", "yes 1\n", "refused 99999999\n", "\n"] {
            let (_, answer) = told(&format!("{HELLO}{nonsense}\n"), "cat >/dev/null");
            let garbled = matches!(answer, Some(Err(Gone::Garbled(_))));
            assert!(garbled, "{nonsense:?}: {answer:?}");
        }
    }

    #[test]
    fn results_that_are_cut_are_no_results() {
        let (_, answer) = told(&format!("{HELLO}ok 1\nabc"), "exit 0");
        assert_eq!(answer, Some(Err(Gone::Ended(Ended::Code(0)))));
    }
}
