//! The check of an answer by HTTP/2, which `nghttp` asks for.

use std::process::Command;

use sampan_client::Answer;

use super::RouteExchange;
use super::check::judge;
use crate::peers::install::{find, run};
use crate::peers::target::Target;

/// Makes the request and compares its answer.
///
/// # Errors
///
/// When nghttp is missing, or the answer is wrong.
pub(super) fn check(target: Target, exchange: &RouteExchange) -> Result<(), String> {
    let program = find("nghttp").ok_or("nghttp is not installed")?;
    let url = format!("{}{}", target.origin(), exchange.path);
    let ask = |option: &[&str]| {
        let mut command = Command::new(&program);
        run(command.args(option).arg("--no-verify-peer").arg(&url))
    };
    let (body, frames) = (ask(&[])?, ask(&["--verbose", "--null-out"])?);
    judge(&answer(body, &frames)?, &exchange.expected)
}

/// The answer, from its body and a text with the frames.
fn answer(body: String, frames: &str) -> Result<Answer, String> {
    let field = |name: &str| {
        let mut received = frames
            .lines()
            .filter(|line| line.contains("recv (stream_id="));
        received.find_map(|line| Some(line.split_once(name)?.1.trim().to_owned()))
    };
    let status = field(" :status: ").and_then(|status| status.parse().ok());
    let headers = field(" content-type: ").map(|value| ("content-type".to_owned(), value));
    Ok(Answer {
        status: status.ok_or("no answer by HTTP/2")?,
        headers: headers.into_iter().collect(),
        body: body.into_bytes(),
        ..Answer::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_status_and_type_from_the_frames() {
        let frames = "[  0.003] send HEADERS frame <length=41, flags=0x25, stream_id=13>\n          :status: 500\n\
            [  0.004] recv (stream_id=13) :status: 200\n\
            [  0.004] recv (stream_id=13) content-type: application/json\n";
        let found = answer("{}".to_owned(), frames).expect("an answer");
        assert_eq!(found.status, 200);
        assert_eq!(found.header("content-type"), ["application/json"]);
        assert_eq!(found.body, b"{}");
        assert!(answer(String::new(), "[  0.1] recv SETTINGS frame").is_err());
    }
}
