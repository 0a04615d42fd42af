//! `sampan top`: what a server does, second by second.

use super::asked::{AskedServer, AskedServerArgs, Question};
use super::scrape::{Between, Scrape};
use super::view::{self, Screen};
use crate::terminal::paint::is_coloured;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// The question for the measurements of a server.
static METRICS: Question = Question {
    path: "/_sampan/metrics",
    answer_bytes_max: 64 * 1024 * 1024,
    token: "SAMPAN_METRICS_TOKEN",
    own_path: |config| {
        let path = config.serving.metrics_path().map(str::to_owned);
        path.ok_or_else(|| "[metrics] enabled is false: the server measures nothing".to_owned())
    },
    own_address: |config| config.serving.metrics_address(),
};

/// The width of what goes to no terminal.
const WIDTH: usize = 120;
/// The longest time that the server may take.
const TIME_MAX: Duration = Duration::from_secs(5);

/// The arguments of `sampan top`.
#[derive(clap::Args)]
pub(crate) struct TopArgs {
    #[command(flatten)]
    server: AskedServerArgs,
    /// The token of [metrics], for a server elsewhere [default: SAMPAN_METRICS_TOKEN].
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// Print one table and end, as where standard output is no terminal.
    #[arg(long)]
    once: bool,
    /// The time from one look to the next.
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=3600))]
    interval: u16,
}

pub(crate) fn run(args: TopArgs) -> Result<i32, String> {
    let server = args.server.ask(&METRICS)?.with_token(args.token);
    let is_live = !args.once && io::stdout().is_terminal();
    let pause = Duration::from_secs(args.interval.into());
    let mut before = scrape(&server)?;
    loop {
        std::thread::sleep(pause);
        let now = match scrape(&server) {
            Ok(now) => now,
            // A server that is started anew comes back.
            Err(fault) if is_live => {
                show(&[fault], true)?;
                continue;
            }
            Err(fault) => return Err(fault),
        };
        let between = Between {
            before: &before,
            now: &now,
        };
        let (width, height) = size(is_live);
        let screen = Screen {
            width,
            height,
            colours: is_coloured(is_live),
        };
        let lines = view::lines(&between, &server.shown, screen);
        show(&lines, is_live)?;
        if !is_live {
            return Ok(0);
        }
        before = now;
    }
}

fn scrape(server: &AskedServer) -> Result<Scrape, String> {
    let answer = server.answer(TIME_MAX);
    let answer = answer.map_err(|fault| {
        let hint = match fault.contains("refused") {
            true => {
                ": no server listens there; name another as in `sampan top http://127.0.0.1:8080`"
            }
            false => "",
        };
        format!("{}: {fault}{hint}", server.shown)
    })?;
    let text = String::from_utf8_lossy(&answer);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    match head.split(' ').nth(1) {
        Some("200") if body.starts_with("# ") => Ok(Scrape::read(body)),
        Some("403") => Err(format!(
            "{}: it shows its measurements to this machine only, or with the token of [metrics]: give --token",
            server.shown
        )),
        status => Err(format!(
            "{}: it answered {}, which are no measurements: is [metrics] enabled there, and its path this one?",
            server.shown,
            status.unwrap_or("something")
        )),
    }
}

/// Returns the columns and the lines that there are.
fn size(is_live: bool) -> (usize, usize) {
    if is_live && let Ok(size) = rustix::termios::tcgetwinsize(io::stdout()) {
        // A terminal that does not know its size says 0.
        let or = |size: u16, other: usize| if size == 0 { other } else { size.into() };
        // The cursor stands in the last line.
        return (
            or(size.ws_col, 80),
            or(size.ws_row, 24).saturating_sub(1).max(1),
        );
    }
    (WIDTH, usize::MAX)
}

/// Shows lines in place of those before, or below them.
fn show(lines: &[String], is_live: bool) -> Result<(), String> {
    let mut out = String::new();
    if is_live {
        // To the upper left corner; the rest of each line and of the screen is cleared.
        out += "\x1b[H";
    }
    for line in lines {
        out += line;
        out += if is_live { "\x1b[K\n" } else { "\n" };
    }
    if is_live {
        out += "\x1b[J";
    }
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(out.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(format!("cannot write to standard output: {error}"))
        }
        _ => Ok(()),
    }
}
