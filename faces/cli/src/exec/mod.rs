//! `sampan exec`: runs one script in a project, such as to make the first user, to import a file or to repair rows.

mod module;
mod script;

use crate::loaded_project::{LoadedProject, OwnTexts, Stop};
use crate::terminal::signals;
use module::{Ended, Link};
use sampan_host::{Context, Error, ErrorKind, Place};
use sampan_project::archive::Archive;
use sampan_project::config::{EnvFile, Flags};
use sampan_project::files::own_calls::{OWN_PREFIX, without_own_calls};
use sampan_project::{Language, Project};
use sampan_runtime::{AppConfig, ContextSetup, FLUSH_TIME_MAX};
use script::Script;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::channel;

/// The exit status after errors that the log alone tells.
const FAILED: i32 = 1;
/// The exit status of a program that Ctrl-C has ended.
const INTERRUPTED: i32 = 130;

/// The limits of `[db]` for a script, which may work for as long as its person waits. That of statements stays: by it a
/// server that does not answer any more is noticed.
const DB_LIMITS: [&str; 2] = [
    "db.transaction_millis_max=86400000",
    "db.write_millis_max=86400000",
];

/// The most arguments of a script in Lua, which takes about 8,000 values in a call.
const LUA_ARGS_MAX: usize = 7_000;

const OWN_TEXTS: OwnTexts = OwnTexts {
    lua: include_str!("exec.lua"),
    js: include_str!("exec.js"),
};

/// The arguments of `sampan exec`.
#[derive(clap::Args)]
pub(crate) struct ExecArgs {
    /// The project's folder, or the file in it that is run first.
    #[arg(long, value_name = "DIR|FILE", default_value = ".")]
    project: PathBuf,
    #[command(flatten)]
    options: ExecOptions,
}

/// The script, and the options that an executable made by `sampan build` has too.
#[derive(clap::Args)]
pub(crate) struct ExecOptions {
    /// The script, in the language of the project, and its arguments: all words behind FILE are for the script.
    #[arg(
        value_names = ["FILE", "ARGS"],
        num_args = 1..,
        required = true,
        trailing_var_arg = true
    )]
    script: Vec<String>,
    /// The database: a file, or postgres://user@host/database
    /// [default: what sampan.toml says, or data.db in the project's folder].
    #[arg(long, value_name = "FILE|URL")]
    db: Option<PathBuf>,
    /// The configuration file [default: sampan.toml of the project, if there is one].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// A file of variables for the project, NAME=value a line [default: .env in the project's folder, if there is one].
    #[arg(long, value_name = "FILE")]
    env_file: Option<PathBuf>,
    /// A value of the configuration, such as limits.memory_bytes_max=1GB.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
}

/// Runs a script in a project in a folder.
pub(crate) fn run(args: ExecArgs) -> Result<i32, String> {
    let flags = Flags {
        path: args.project,
        env_file: EnvFile::OfProject,
        ..Flags::default()
    };
    execute(args.options, flags)
}

/// Runs a script in the project that this program carries.
pub(crate) fn run_packed(options: ExecOptions, archive: &Arc<Archive>) -> Result<i32, String> {
    let flags = Flags {
        archive: Some(Arc::clone(archive)),
        ..Flags::default()
    };
    execute(options, flags)
}

fn execute(options: ExecOptions, mut flags: Flags) -> Result<i32, String> {
    let mut words = options.script.into_iter();
    let file = words.next().unwrap_or_default();
    flags.db = options.db;
    flags.config = options.config;
    // What the person sets comes later, so it counts.
    let limits = DB_LIMITS.map(str::to_owned).into_iter();
    flags.set = limits.chain(options.set).collect();
    if let Some(file) = options.env_file {
        flags.env_file = EnvFile::At(file);
    }
    LoadedProject::prepare(&mut flags);
    let project = flags.project()?;
    let script = Script::find(&file, &project)?;
    let language =
        Language::of(&script.name).ok_or("the script is in no language that is known")?;
    let args: Vec<String> = words.collect();
    if language == Language::Lua && args.len() > LUA_ARGS_MAX {
        let count = args.len();
        return Err(format!(
            "{count} arguments are too many for Lua, which takes up to {LUA_ARGS_MAX}: give the script a file to read"
        ));
    }
    let own = OWN_TEXTS.after(
        &format!("{OWN_PREFIX}exec"),
        language,
        Some(project.entry()),
    );
    let mut config = AppConfig::of_project(project, &flags)?;
    let with_script = (config.base.project).with_entry(&(script.name.clone(), script.text.clone()));
    config.base.project = with_script.clone();
    crate::run::warn(&config);
    let logger = config.program.logger.clone();
    let (sender, receiver) = channel();
    let link = Link::new(script, args, sender.clone());
    let is_stopped = stop_on_interrupt(link.stop().clone())?;
    let stop = link.stop().clone();
    let for_isolate = link.clone();
    let put_link: ContextSetup = Arc::new(move |context: &Context| for_isolate.put_into(context));
    let tell = move |ended| {
        // Without a receiver the command has ended.
        let _ = sender.send(Ended::Project(ended));
    };
    let loaded = LoadedProject::start(config, &own, &module::MODULE, put_link, tell)?;
    let ended = receiver.recv();
    loaded.end(&stop);
    logger.flush(FLUSH_TIME_MAX);
    match ended {
        Ok(Ended::Script(Ok(()))) => Ok(i32::from(link.status())),
        Ok(Ended::Unawaited) => Ok(FAILED),
        Ok(Ended::Script(Err(error)))
            if error.kind() == ErrorKind::Stopped && is_stopped.load(Relaxed) =>
        {
            // Standard error may be gone.
            let _ = writeln!(io::stderr(), "stopped");
            Ok(INTERRUPTED)
        }
        Ok(Ended::Script(Err(error))) => Err(told(error, &with_script)),
        Ok(Ended::Project(Err(fault))) => Err(fault),
        Ok(Ended::Project(Ok(()))) | Err(_) => Err("the project has ended".to_owned()),
    }
}

/// Has the first Ctrl-C stop the script, and the next end the process. Returns whether there was a first.
fn stop_on_interrupt(stop: Stop) -> Result<Arc<AtomicBool>, String> {
    let is_stopped = Arc::new(AtomicBool::new(false));
    let for_signals = Arc::clone(&is_stopped);
    signals::on_interrupt(move || {
        if !stop.has_worker() || for_signals.swap(true, Relaxed) {
            return false;
        }
        let stop = stop.clone();
        // On a thread of its own: what the script calls may not end soon.
        std::thread::spawn(move || stop.stop());
        true
    })?;
    Ok(is_stopped)
}

/// Describes the error of a script: the place, the line of the source and the stack. `project` has the script as the
/// file that it runs.
fn told(error: Error, project: &Project) -> String {
    let mut error = without_own_calls(error);
    if error.place().is_none()
        && let Some((place, message)) = front_place(error.message(), project.entry())
    {
        error = error.with_message(message).at(Some(place));
    }
    project.load_fault(&error)
}

/// Splits `scripts/one.lua:2: message`, as Lua says why a text does not compile.
fn front_place(message: &str, script: &str) -> Option<(Place, String)> {
    let rest = message.strip_prefix(script)?.strip_prefix(':')?;
    let (line, message) = rest.split_once(": ")?;
    let place = Place {
        file: script.to_owned(),
        line: line.parse().ok()?,
    };
    Some((place, message.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_front_of_a_message_is_found() {
        let (place, message) = front_place("s/a.lua:12: unexpected: x", "s/a.lua").expect("one");
        assert_eq!(
            (place.to_string().as_str(), message.as_str()),
            ("s/a.lua:12", "unexpected: x")
        );
        for other in ["no place", "s/b.lua:1: x", "s/a.lua: x", "s/a.lua:x: y"] {
            assert_eq!(
                front_place(other, "s/a.lua").map(|found| found.1),
                None,
                "{other}"
            );
        }
    }
}
