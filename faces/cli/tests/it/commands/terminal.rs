//! The command in a terminal of its own, as a person meets it.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use sampan_testkit::wait;
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// The time after which keys count as lost, and are typed again.
const REACTION_TIME: Duration = Duration::from_secs(5);

/// A command whose standard streams are a terminal.
pub(crate) struct Terminal {
    child: Child,
    /// The side of the person.
    keys: File,
    /// The side of the command, to look at its modes.
    line: File,
    seen: Arc<Mutex<String>>,
    /// The part that has been waited for.
    read: usize,
}

impl Terminal {
    /// Starts the command with `state` as the folder of its history. `None` without `setsid`, which makes the terminal
    /// its own.
    pub(crate) fn start(args: &[&str], state: &Path) -> Option<Self> {
        let keys = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
        grantpt(&keys).expect("granted");
        unlockpt(&keys).expect("unlocked");
        let name = ptsname(&keys, Vec::new()).expect("a name");
        let name = name.into_string().expect("UTF-8");
        let line = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name)
            .expect("opened");
        let size = Winsize {
            ws_row: 40,
            ws_col: 120,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&line, size).expect("sized");
        let stream = || Stdio::from(line.try_clone().expect("a copy"));
        let started = Command::new("setsid")
            .arg("-c")
            // Tests that were started by `nohup` would hand down that the terminal's end is ignored.
            .args(["env", "--default-signal=HUP"])
            .arg(env!("CARGO_BIN_EXE_sampan"))
            .args(args)
            .env("XDG_STATE_HOME", state)
            .env("TERM", "xterm")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn();
        let child = started.ok()?;
        let keys = File::from(keys);
        let seen = Arc::new(Mutex::new(String::new()));
        let (mut from, to) = (keys.try_clone().expect("a copy"), Arc::clone(&seen));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = from.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]);
                to.lock().expect("no panic").push_str(&text);
            }
        });
        Some(Self {
            child,
            keys,
            line,
            seen,
            read: 0,
        })
    }

    pub(crate) fn type_keys(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("typed");
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        self.type_keys(line);
        self.type_keys("\r");
    }

    /// Waits until a text is shown, after what was waited for before.
    pub(crate) fn wait_for(&mut self, text: &str) {
        wait::until(text, || self.has_shown(text));
    }

    /// Reports whether a text is shown, after what was waited for before.
    fn has_shown(&mut self, text: &str) -> bool {
        let seen = self.seen.lock().expect("no panic");
        let at = seen[self.read..].find(text);
        self.read += at.map_or(0, |at| at + text.len());
        at.is_some()
    }

    /// Types Ctrl-C until a text is shown: the first may come before there is something to interrupt.
    ///
    /// The next is typed only where the one before has shown nothing for long, because one that comes late takes back
    /// the line that is typed next.
    pub(crate) fn interrupt_until(&mut self, text: &str) {
        wait::until(text, || {
            wait::dawdle(Duration::from_millis(100));
            self.type_keys("\x03");
            self.shows_soon(text)
        });
    }

    /// Types a line until a text is shown: a late Ctrl-C may take a line back.
    pub(crate) fn type_line_until(&mut self, line: &str, text: &str) {
        wait::until(text, || {
            self.type_line(line);
            self.shows_soon(text)
        });
    }

    /// Types a line, and Ctrl-C until a text is shown. A Ctrl-C that comes before the line runs takes the line back, so
    /// both are typed again.
    pub(crate) fn run_and_interrupt(&mut self, line: &str, text: &str) {
        wait::until(text, || {
            self.type_line(line);
            wait::dawdle(Duration::from_millis(100));
            self.type_keys("\x03");
            self.shows_soon(text)
        });
    }

    /// Waits up to [`REACTION_TIME`] for a text.
    fn shows_soon(&mut self, text: &str) -> bool {
        let until = Instant::now() + REACTION_TIME;
        while !self.has_shown(text) {
            if Instant::now() > until {
                return false;
            }
            wait::dawdle(Duration::from_millis(5));
        }
        true
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = Command::new("kill")
            .args([&format!("-{name}"), &pid])
            .status();
        assert!(sent.expect("kill exists").success());
    }

    /// Waits for the end: the exit status.
    pub(crate) fn end(&mut self) -> i32 {
        let status = wait::found("its end", || self.child.try_wait().expect("a child"));
        status.code().expect("no signal")
    }

    /// Reports whether the terminal reads lines and shows what is typed.
    pub(crate) fn is_sane(&self) -> bool {
        let modes = tcgetattr(&self.line).expect("a terminal").local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
