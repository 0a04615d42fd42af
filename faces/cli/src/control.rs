//! `sampan reload` and `sampan upgrade`: requests to the servers of a project.

use crate::terminal::print::say;
use sampan_runtime::{ControlOutcome, ControlRequest};
use std::path::PathBuf;

/// The arguments of `sampan reload` and `sampan upgrade`.
#[derive(clap::Args)]
pub(crate) struct ControlArgs {
    /// The project's folder, or a file in it.
    #[arg(value_name = "DIR|FILE", default_value = ".")]
    path: PathBuf,
}

pub(crate) fn run(args: &ControlArgs, request: ControlRequest) -> Result<(), String> {
    let shown = args.path.display();
    let whole = args.path.canonicalize();
    let mut root = whole.map_err(|error| format!("cannot open {shown}: {error}"))?;
    if !root.is_dir() {
        root.pop();
    }
    let answers = sampan_runtime::ask_servers(&root, request)?;
    if answers.is_empty() {
        return Err(format!(
            "no server of {} runs here: start one with sampan run, or name its project's folder",
            root.display()
        ));
    }
    // The process that is in the place of another has the request too.
    let is_replaced = |outcome: &ControlOutcome| matches!(outcome, ControlOutcome::Replaced(_));
    let are_all_replaced = answers.iter().all(|answer| is_replaced(&answer.outcome));
    let mut faults = Vec::new();
    for answer in answers {
        match answer.outcome {
            ControlOutcome::Done(done) => say(format_args!("process {}: {done}", answer.pid))?,
            ControlOutcome::Replaced(_) if !are_all_replaced => {}
            ControlOutcome::Replaced(fault) | ControlOutcome::Failed(fault) => {
                faults.push(format!("process {}: {fault}", answer.pid));
            }
        }
    }
    match faults.is_empty() {
        true => Ok(()),
        false => Err(faults.join("\nsampan: ")),
    }
}
