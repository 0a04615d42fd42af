//! `sampan health`: asks a server how it is, for the health checks of containers and for people.

use super::asked::{AskedServer, AskedServerArgs, Question};
use crate::terminal::print::say;
use sampan_project::config::Flags;
use serde_json::{Value, json};
use std::time::Duration;

/// The question about the health of a server.
static HEALTH: Question = Question {
    path: "/_sampan/health",
    answer_bytes_max: 64 * 1024,
    token: "SAMPAN_HEALTH_TOKEN",
    own_path: |config| {
        let path = config.serving.health.path.clone();
        path.ok_or_else(|| {
            "[health] enabled is false: the server answers no such question".to_owned()
        })
    },
    own_address: |_| None,
};

/// The arguments of `sampan health`.
#[derive(clap::Args)]
pub(crate) struct HealthArgs {
    #[command(flatten)]
    server: AskedServerArgs,
    #[command(flatten)]
    asked: AskedArgs,
}

/// The question, and the form of the answer.
#[derive(clap::Args)]
pub(crate) struct AskedArgs {
    /// Ask only if the process answers, not if it can answer requests.
    #[arg(long)]
    live: bool,
    /// The longest time that the server may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    timeout: u16,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: HealthArgs) -> Result<i32, String> {
    ask(args.server.ask(&HEALTH)?, &args.asked)
}

/// Asks the server that serves the project of these flags.
pub(crate) fn ask_own(flags: &Flags, asked: &AskedArgs) -> Result<i32, String> {
    ask(AskedServer::of_project(&HEALTH, flags)?, asked)
}

fn ask(mut target: AskedServer, asked: &AskedArgs) -> Result<i32, String> {
    if asked.live {
        target.path += "/live";
    }
    let time_max = Duration::from_secs(asked.timeout.max(1).into());
    let answer = target.answer(time_max).and_then(|text| parsed(&text));
    let is_well = matches!(&answer, Ok((200, _)));
    let line = match (answer, asked.json) {
        (Ok((_, body)), true) => body.to_string(),
        (Ok((_, body)), false) => shown(&body),
        (Err(fault), true) => {
            json!({ "status": "unreachable", "reason": fault, "url": target.shown }).to_string()
        }
        (Err(fault), false) => format!("unreachable: {}: {fault}", target.shown),
    };
    say(line)?;
    Ok(i32::from(!is_well))
}

/// Returns the status and the body of an answer.
fn parsed(answer: &[u8]) -> Result<(u16, Value), String> {
    let text = String::from_utf8_lossy(answer);
    let (head, body) = text
        .split_once("\r\n\r\n")
        .ok_or("its answer is not one of HTTP/1.1")?;
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let status = status.ok_or("its answer is not one of HTTP/1.1")?;
    let body: Option<Value> = serde_json::from_str(body).ok();
    match body.filter(|body| body["status"].is_string()) {
        Some(body) => Ok((status, body)),
        None => Err(format!(
            "it answered {status}, which is no answer of [health]: is it another server, or is [health] path another?"
        )),
    }
}

/// Returns a line for people: the status, and what is wrong.
fn shown(body: &Value) -> String {
    let status = body["status"].as_str().unwrap_or_default();
    let Some(checks) = body["checks"].as_object() else {
        return status.to_owned();
    };
    let failed = checks.iter().filter(|(_, check)| check["status"] != "ok");
    let failed = failed.map(|(name, check)| match check["reason"].as_str() {
        Some(reason) => format!("{name}: {reason}"),
        None => format!("{name} failed"),
    });
    let failed: Vec<String> = failed.collect();
    match failed.is_empty() {
        true => status.to_owned(),
        false => format!("{status}: {}", failed.join("; ")),
    }
}
