//! A small web server on 127.0.0.1, in the manners that the attacks need.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// How it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Manner {
    /// As a plain web server.
    Plain,
    /// Every answer never ends.
    Endless,
    /// The database never ends.
    EndlessTarget,
    /// Every answer is whole, a byte every 200 milliseconds.
    Slow,
    /// 200 and a web page for everything.
    Page,
    /// 302 to another host.
    Redirect,
    /// 403.
    Forbidden,
    /// 503.
    Unavailable,
    /// The second half of everything is missing, and the length is told right.
    Cut,
}

pub(crate) struct Server {
    port: u16,
    folder: Arc<Mutex<PathBuf>>,
    requests: Arc<AtomicUsize>,
    bytes: Arc<AtomicUsize>,
    over: Arc<AtomicBool>,
}

impl Server {
    pub(crate) fn start(folder: &Path, manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            port: listener.local_addr().unwrap().port(),
            folder: Arc::new(Mutex::new(folder.to_owned())),
            requests: Arc::default(),
            bytes: Arc::default(),
            over: Arc::default(),
        };
        let (folder, requests) = (Arc::clone(&server.folder), Arc::clone(&server.requests));
        let (bytes, over) = (Arc::clone(&server.bytes), Arc::clone(&server.over));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if over.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let (folder, requests, bytes) = (
                    Arc::clone(&folder),
                    Arc::clone(&requests),
                    Arc::clone(&bytes),
                );
                thread::spawn(move || {
                    // A client that hangs up is part of the attacks.
                    let _ = connection(stream, &folder, manner, &requests, &bytes);
                });
            }
        });
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Requests and bytes of bodies since the last time.
    pub(crate) fn count(&self) -> (usize, usize) {
        (
            self.requests.swap(0, Ordering::SeqCst),
            self.bytes.swap(0, Ordering::SeqCst),
        )
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        // Wakes the listener.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
    }
}

fn connection(
    stream: TcpStream,
    folder: &Mutex<PathBuf>,
    manner: Manner,
    requests: &AtomicUsize,
    sent: &AtomicUsize,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(());
        }
        loop {
            let mut header = String::new();
            if reader.read_line(&mut header)? == 0 || header == "\r\n" {
                break;
            }
        }
        requests.fetch_add(1, Ordering::SeqCst);
        let path = line.split(' ').nth(1).unwrap_or("/").to_owned();
        let file = folder.lock().unwrap().join(path.trim_start_matches('/'));
        let body = std::fs::read(file).ok();
        let head = |status: &str, kind: &str, length: usize, more: &str| {
            format!(
                "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{more}\r\n"
            )
        };
        let page = "<!DOCTYPE html><title>Sign in</title><p>Welcome to the hotel's network.";
        let endless = manner == Manner::Endless
            || (manner == Manner::EndlessTarget && path.ends_with(".sqlite"));
        match manner {
            _ if endless => {
                write!(
                    stream,
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                )?;
                loop {
                    write!(stream, "1000\r\n{}\r\n", " ".repeat(0x1000))?;
                }
            }
            Manner::Slow if body.is_some() => {
                let body = body.unwrap_or_default();
                stream.write_all(head("200 OK", "application/json", body.len(), "").as_bytes())?;
                for byte in body {
                    stream.write_all(&[byte])?;
                    thread::sleep(Duration::from_millis(200));
                }
            }
            Manner::Page => {
                stream.write_all(head("200 OK", "text/html", page.len(), "").as_bytes())?;
                stream.write_all(page.as_bytes())?;
            }
            Manner::Redirect => {
                let more = "Location: http://portal.invalid/login\r\n";
                stream.write_all(head("302 Found", "text/html", 0, more).as_bytes())?;
            }
            Manner::Forbidden => {
                stream.write_all(head("403 Forbidden", "text/html", page.len(), "").as_bytes())?;
                stream.write_all(page.as_bytes())?;
            }
            Manner::Unavailable => {
                stream
                    .write_all(head("503 Service Unavailable", "text/plain", 0, "").as_bytes())?;
            }
            _ => match body {
                None => stream.write_all(head("404 Not Found", "text/html", 0, "").as_bytes())?,
                Some(body) => {
                    let all = match manner {
                        Manner::Cut => body.get(..body.len() / 2).unwrap_or_default(),
                        _ => &body,
                    };
                    stream.write_all(
                        head("200 OK", "application/octet-stream", all.len(), "").as_bytes(),
                    )?;
                    stream.write_all(all)?;
                    sent.fetch_add(all.len(), Ordering::SeqCst);
                }
            },
        }
    }
}
