//! ollama: the server asks Metal, so it is the server that is started anew for each side, on a
//! port of its own; the command that the user gave is its client.

use std::ffi::OsString;
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::base_name;
use super::leg::{Asked, Leg, Outcome, Running};
use crate::error::{Error, plain};

/// Names the server's address, for it and for its client.
const HOST: &str = "OLLAMA_HOST";
/// How long a server may take to listen.
const PATIENCE: Duration = Duration::from_secs(60);
/// Requests to one server: the first also loads the model.
const REQUESTS: usize = 3;

/// An error unless it is `run MODEL PROMPT`.
pub(super) fn checked(arguments: &[OsString]) -> Result<(), Error> {
    let words = arguments.iter().filter(|a| !is_option(a)).count();
    match arguments.first() {
        Some(first) if first == "run" && words >= 3 => Ok(()),
        _ => Err(
            Error::user("ollama: bench measures `ollama run MODEL PROMPT`")
                .hint("give a model and a prompt; bench starts the server itself, stock and with the overrides"),
        ),
    }
}

/// The model's name.
pub(super) fn model(arguments: &[OsString]) -> Option<String> {
    let mut words = arguments.iter().filter(|a| !is_option(a));
    words.nth(1).map(|model| base_name(model))
}

fn is_option(argument: &OsString) -> bool {
    argument.as_encoded_bytes().starts_with(b"-")
}

/// A server of this side, some requests, and its end.
pub(super) fn run(asked: &Asked, leg: Leg) -> Result<Outcome, Error> {
    let port = free_port()?;
    let address = format!("127.0.0.1:{port}");
    let mut command = asked.command(leg, &["serve".into()]);
    let server = Running::start(command.env(HOST, &address), &asked.path)?;
    let server = Stopped(Some(server));
    let started = server.listens(port);
    let mut asking = Ok(());
    let (mut out, mut err, mut seconds) = (String::new(), String::new(), 0.0);
    if started {
        for _ in 0..REQUESTS {
            let mut client = Command::new(&asked.path);
            client.args(&asked.arguments).env(HOST, &address);
            if !asked.arguments.iter().any(|a| a == "--verbose") {
                client.arg("--verbose");
            }
            let ended = Running::start(&mut client, &asked.path)?.end(&asked.state)?;
            asking = asked.good(leg, &ended);
            if asking.is_err() {
                break;
            }
            out.push_str(&ended.out);
            err.push_str(&ended.err);
            seconds += ended.seconds;
        }
    }
    let ended = server.stop(asked)?;
    asking?;
    if !started {
        let status = ended.status;
        asked.good(leg, &ended)?;
        return Err(Error::machine(format!(
            "the server of {} did not listen within {} s ({status})",
            asked.path.display(),
            PATIENCE.as_secs()
        )));
    }
    // The client's figures, the server's log.
    Ok(Outcome {
        out: format!("{out}\n{err}"),
        seconds,
        ..ended
    })
}

/// A server that is stopped whatever happens.
struct Stopped(Option<Running>);

impl Stopped {
    fn listens(&self, port: u16) -> bool {
        let until = Instant::now() + PATIENCE;
        let runs = || self.0.as_ref().is_some_and(Running::runs);
        while Instant::now() < until && runs() {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        false
    }

    fn stop(mut self, asked: &Asked) -> Result<Outcome, Error> {
        let Some(server) = self.0.take() else {
            return Err(Error::project("the server was stopped twice"));
        };
        terminate(&server);
        server.end(&asked.state)
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        if let Some(server) = &mut self.0 {
            terminate(server);
            let _ = server.child.wait();
        }
    }
}

fn terminate(server: &Running) {
    if let Some(pid) = i32::try_from(server.child.id())
        .ok()
        .and_then(Pid::from_raw)
    {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::TERM);
    }
}

fn free_port() -> Result<u16, Error> {
    let listener = TcpListener::bind(("127.0.0.1", 0));
    let port = listener.and_then(|l| l.local_addr()).map(|a| a.port());
    port.map_err(|e| Error::machine(format!("there is no free port: {}", plain(&e))))
}
