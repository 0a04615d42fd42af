//! The computation of the slow routes, and how many steps of it take how long.

use std::time::Duration;

use serde_json::Value;

use super::LoadServer;
use sampan_client::Client;

/// The processor time of a slow request.
const BURN: Duration = Duration::from_millis(100);
/// The part of it that a request has under overload.
const WORK_PART: u64 = 100;
/// The steps of the first request by which a server is measured.
const FIRST: u64 = 1_000_000;
/// The number of requests by which it is measured.
const TIMES: u32 = 5;

/// The numbers of steps that take a server so long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Steps {
    burn: u64,
}

impl Steps {
    /// Measures a server that has nothing else to do.
    ///
    /// # Errors
    ///
    /// When it computes something else.
    pub(super) fn of(server: &LoadServer) -> Result<Self, String> {
        let mut burn = FIRST;
        // A second time with about the right number, when the code is compiled.
        for _ in 0..2 {
            let took = time(server, burn)?;
            let share = BURN.as_secs_f64() / took.as_secs_f64();
            burn = ((burn as f64 * share) as u64).clamp(WORK_PART, 10 * 1_000_000_000);
        }
        Ok(Self { burn })
    }

    /// The path of a request that burns 100 ms.
    pub(super) fn burn(self) -> String {
        format!("/burn/{}", self.burn)
    }

    /// The path of a request that takes 1 ms.
    pub(super) fn work(self) -> String {
        format!("/work/{}", self.burn / WORK_PART)
    }
}

/// Returns the processor time of a request with so many steps.
fn time(server: &LoadServer, steps: u64) -> Result<Duration, String> {
    let path = format!("/work/{steps}");
    let fault = |why: String| format!("GET {path}: {why}");
    let address = server.server.address();
    let mut client = Client::connect(address).map_err(|error| fault(error.to_string()))?;
    let wanted = compute(steps);
    let before = server.server.cpu();
    for _ in 0..TIMES {
        let answer = client
            .ask("GET", &path, &[], "")
            .map_err(|error| fault(error.to_string()))?;
        let found: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        if found["x"].as_f64() != Some(wanted as f64) {
            return Err(fault(format!("{} instead of {wanted}", answer.text())));
        }
    }
    // Others may have the processor meanwhile, so it is not the time on the wall that counts.
    let spent = server.server.cpu().micros_since(&before) / f64::from(TIMES);
    Ok(Duration::from_secs_f64(spent.max(1.0) / 1e6))
}

/// Computes what each server computes: the generator of Park and Miller.
fn compute(steps: u64) -> u64 {
    (0..steps).fold(1, |x, _| (x * 16_807) % 2_147_483_647)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_computation_is_that_of_park_and_miller() {
        assert_eq!([0, 1, 2].map(compute), [1, 16_807, 282_475_249]);
        // The check that their paper gives.
        assert_eq!(compute(10_000), 1_043_618_065);
    }

    #[test]
    fn work_is_a_hundredth_of_a_burn() {
        let steps = Steps { burn: 5_000 };
        assert_eq!(
            (steps.burn(), steps.work()),
            ("/burn/5000".to_owned(), "/work/50".to_owned())
        );
    }
}
