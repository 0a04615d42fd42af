//! `sampan profile`: where the scripts of a project spend their time under load, as a flame graph.

pub(crate) mod sampler;
mod svg;

use crate::bench::own_server::OwnServer;
use crate::bench::{self, RequestArgs, Shared};
use crate::terminal::print::say;
use clap::Args;
use sampan_db::backup;
use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;

/// The number of functions that are named in the terminal.
const SHOWN_MAX: usize = 5;

/// The number of times that each stack was seen: the route, then the calls, outermost first.
type Stacks = BTreeMap<Vec<String>, u64>;

/// The arguments of `sampan profile`.
#[derive(Args)]
pub(crate) struct ProfileArgs {
    /// The target: /PATH of the project. Without one the server waits for your requests.
    #[arg(value_name = "ROUTE", value_parser = route)]
    route: Option<String>,
    /// The project's folder.
    #[arg(long, value_name = "DIR|FILE", default_value = ".")]
    project: PathBuf,
    /// A value of the configuration, such as db.path=other.db.
    #[arg(long, value_name = "SECTION.KEY=VALUE")]
    set: Vec<String>,
    /// The number of connections that ask at the same time.
    #[arg(short, long, value_name = "N", default_value = "16", value_parser = bench::connections)]
    connections: usize,
    /// The duration, as in 500ms, 10s or 2min. Ctrl-C ends it earlier.
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = bench::time)]
    duration: Duration,
    #[command(flatten)]
    request: RequestArgs,
    /// The file to write [default: profile.svg, or profile.folded].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write the stacks as lines that other tools read, instead of a picture.
    #[arg(long)]
    folded: bool,
}

fn route(text: &str) -> Result<String, String> {
    match text.starts_with('/') {
        true => Ok(text.to_owned()),
        false => Err(
            "it must be a path of the project, such as /visits; other servers cannot be profiled"
                .to_owned(),
        ),
    }
}

pub(crate) fn run(args: ProfileArgs) -> Result<i32, String> {
    let default = match args.folded {
        true => "profile.folded",
        false => "profile.svg",
    };
    let output = args.output.unwrap_or_else(|| default.into());
    // Faults of the output are told before the load, not after it.
    let target = backup::target_of(&output).map_err(|error| error.to_string())?;
    drop(unfinished(&target)?);
    let shared = Arc::new(Shared::default());
    bench::watch_signals(&shared)?;
    let own = OwnServer::start_profiled(&args.project, args.set)?;
    if let Some(route) = &args.route
        && args.request.is_plain_get()
    {
        own.check_route(route)?;
    }
    shared.has_begun.store(true, Relaxed);
    let project = fs::canonicalize(&args.project).unwrap_or(args.project);
    let project = project.file_name().unwrap_or_default().to_string_lossy();
    let url = format!("http://{}", own.address());
    let profiler = own.profiler()?;
    let title = match &args.route {
        Some(route) => {
            let (url, count) = (url + route, args.connections);
            say(bench::load_route(
                &url,
                &args.request,
                count,
                args.duration,
                &shared,
            )?)?;
            format!("{route} of {project}")
        }
        None => {
            let seconds = args.duration.as_secs_f64();
            say(format_args!(
                "{url} is profiled for {seconds} s; Ctrl-C ends it earlier"
            ))?;
            wait(&shared, args.duration);
            project.into_owned()
        }
    };
    let stacks = profiler.end();
    drop(own);
    let samples: u64 = stacks.values().sum();
    if samples == 0 {
        return Err(
            "no script ran while the project was profiled, so there is nothing to show".to_owned(),
        );
    }
    let text = match args.folded {
        true => folded(&stacks),
        false => svg::flame_graph(&title, &stacks),
    };
    write(&target, &text)?;
    say(format_args!(
        "\n{}{}: {samples} samples",
        hottest(&stacks, samples),
        output.display()
    ))?;
    Ok(0)
}

fn wait(shared: &Shared, duration: Duration) {
    let until = Instant::now() + duration;
    while Instant::now() < until && !shared.is_stopped.load(Relaxed) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A file beside the output, so that no reader ever sees half of it. Dropping it removes the file.
fn unfinished(output: &Path) -> Result<NamedTempFile, String> {
    let shown = output.display();
    if output.is_dir() {
        return Err(format!(
            "cannot write {shown}: it is a folder; name the file with -o"
        ));
    }
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let made = tempfile::Builder::new()
        .prefix(".profile-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder);
    // The error would name a file that the user does not know.
    made.map_err(|error| match fs::metadata(folder) {
        Err(error) => format!("cannot write {shown}: {error}"),
        Ok(_) => format!("cannot write {shown}: {}", error.kind()),
    })
}

fn write(output: &Path, text: &str) -> Result<(), String> {
    let mut file = unfinished(output)?;
    let written = file.write_all(text.as_bytes());
    let written = written.and_then(|()| Ok(file.persist(output).map(drop)?));
    written.map_err(|error| format!("cannot write {}: {error}", output.display()))
}

/// One line a stack, as `flamegraph.pl`, speedscope and others read it: calls with `;` between them, then how often it
/// was seen.
fn folded(stacks: &Stacks) -> String {
    let lines = stacks.iter().map(|(calls, count)| {
        let calls: Vec<String> = calls.iter().map(|call| call.replace(';', ",")).collect();
        format!("{} {count}\n", calls.join(";"))
    });
    lines.collect()
}

/// The functions that took the most time themselves.
fn hottest(stacks: &Stacks, samples: u64) -> String {
    let mut own: BTreeMap<&str, u64> = BTreeMap::new();
    for (calls, count) in stacks {
        if let Some(innermost) = calls.last() {
            *own.entry(innermost).or_default() += count;
        }
    }
    let mut own: Vec<_> = own.into_iter().collect();
    own.sort_by_key(|(name, count)| (std::cmp::Reverse(*count), *name));
    let lines = own.iter().take(SHOWN_MAX).map(|(name, count)| {
        let percent = 100.0 * *count as f64 / samples as f64;
        format!("{percent:>5.1} %  {name}\n")
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_folded_and_the_hottest_come_first() {
        let stack = |calls: &[&str]| calls.iter().map(|call| (*call).to_owned()).collect();
        let stacks = BTreeMap::from([
            (stack(&["GET /", "a;b", "c"]), 30),
            (stack(&["GET /", "c"]), 20),
            (stack(&["GET /", "d"]), 50),
            (stack(&["GET /"]), 1),
        ]);
        assert_eq!(
            folded(&stacks),
            "GET / 1\nGET /;a,b;c 30\nGET /;c 20\nGET /;d 50\n"
        );
        assert_eq!(
            hottest(&stacks, 101),
            " 49.5 %  c\n 49.5 %  d\n  1.0 %  GET /\n"
        );
    }
}
