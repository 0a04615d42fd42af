//! Fuzz targets: plain functions of bytes, a corpus for each, and a seeded generator of mutations.
//!
//! A target panics when what it checks does not hold. [`replay_and_mutate`] runs one on its corpus and then
//! on mutations for a while, on stable Rust and with every test run; the same seed gives the same inputs, and an input
//! that fails is written to a file. [`differential`] compares the HTTP codec with other implementations.

mod choices;
pub mod differential;
mod json;
mod mutate;
mod targets;

use targets::{project, scripts, serve};

use std::cell::Cell;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Once;
use std::time::{Duration, Instant};
use std::{fs, io, panic};

pub use mutate::Mutator;

/// Something that must hold for any bytes.
#[derive(Clone, Copy, Debug)]
pub struct FuzzTarget {
    /// The name, which is also that of its corpus folder.
    pub name: &'static str,
    /// Panics if it does not hold for these bytes.
    pub run: fn(&[u8]),
    /// Pieces that mutations put in, so that they reach deeper than random bytes.
    pub words: &'static [&'static [u8]],
}

/// All targets. The bytes of `lua_pattern`, `js_objects` and `random_scripts` are choices, which need no words.
pub const TARGETS: &[FuzzTarget] = &[
    target("http_codec", targets::http_codec::run, mutate::HTTP_WORDS),
    target(
        "http_chunked",
        targets::http_chunked::run,
        mutate::CHUNK_WORDS,
    ),
    target(
        "http_response_encode",
        targets::http_response_encode::run,
        mutate::HTTP_WORDS,
    ),
    target(
        "http_outgoing",
        targets::http_outgoing::run,
        targets::http_outgoing::WORDS,
    ),
    target("http2", targets::http2::run, targets::http2::WORDS),
    target(
        "websocket",
        targets::websocket::run,
        targets::websocket::WORDS,
    ),
    target("host_json", targets::host_json::run, mutate::JSON_WORDS),
    target(
        "multipart",
        targets::multipart::run,
        mutate::MULTIPART_WORDS,
    ),
    target("lua_pattern", targets::lua_pattern::run, &[b"\0"]),
    target("js_objects", targets::js_objects::run, &[b"\0"]),
    target("template", targets::template::run, mutate::TEMPLATE_WORDS),
    target("cookies", serve::cookies::run, serve::cookies::WORDS),
    target("files", serve::files::run, serve::files::WORDS),
    target("paths", serve::paths::run, serve::paths::WORDS),
    target(
        "migrations",
        project::migrations::run,
        project::migrations::WORDS,
    ),
    target(
        "postgres_sql",
        project::postgres_sql::run,
        project::postgres_sql::WORDS,
    ),
    target("archive", project::archive::run, project::archive::WORDS),
    target(
        "source_maps",
        project::source_maps::run,
        project::source_maps::WORDS,
    ),
    target("script_json", scripts::script_json::run, mutate::JSON_WORDS),
    target(
        "c_interface",
        scripts::c_interface::run,
        scripts::c_interface::WORDS,
    ),
    target("random_scripts", scripts::random_scripts::run, &[b"\0"]),
];

const fn target(name: &'static str, run: fn(&[u8]), words: &'static [&'static [u8]]) -> FuzzTarget {
    FuzzTarget { name, run, words }
}

/// Inputs longer than this find nothing that shorter ones do not.
const INPUT_BYTES_MAX: usize = 4096;

/// The result of running a target for a while.
#[derive(Debug)]
pub struct FuzzReport {
    /// Files of the corpus that were replayed.
    pub replayed: usize,
    /// Mutations that were run.
    pub mutated: u64,
    /// The file of the failing input, and the message of the target.
    pub failure: Option<(PathBuf, String)>,
}

/// The corpus of a target: file name and content, in the order of their names.
///
/// # Errors
/// When the folder `fuzz/corpus/<name>` cannot be read.
pub fn corpus(name: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files.push((
            entry.file_name().to_string_lossy().into_owned(),
            fs::read(entry.path())?,
        ));
    }
    files.sort();
    Ok(files)
}

/// Replays the corpus of `target`, then runs it on mutations for `budget`. Stops at the first failure.
///
/// # Errors
/// When the corpus cannot be read or an input that failed cannot be written.
pub fn replay_and_mutate(
    target: &FuzzTarget,
    seed: u64,
    budget: Duration,
) -> io::Result<FuzzReport> {
    let seeds: Vec<Vec<u8>> = corpus(target.name)?
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    let mut report = FuzzReport {
        replayed: 0,
        mutated: 0,
        failure: None,
    };
    for bytes in &seeds {
        report.replayed += 1;
        if let Err(said) = holds(target, bytes) {
            report.failure = Some((keep(target.name, bytes)?, said));
            return Ok(report);
        }
    }
    let end = Instant::now() + budget;
    let mut mutator = Mutator::new(seed, target.words);
    // The clock is looked at now and then: reading it costs as much as a small input.
    while !report.mutated.is_multiple_of(64) || Instant::now() < end {
        let bytes = mutator.next(&seeds, INPUT_BYTES_MAX);
        report.mutated += 1;
        if let Err(said) = holds(target, &bytes) {
            report.failure = Some((keep(target.name, &bytes)?, said));
            break;
        }
    }
    Ok(report)
}

thread_local! {
    /// True if a panic of this thread is none that anybody should read about.
    static IS_EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Does something of another project that may panic, and prints nothing if it does.
pub(crate) fn unless_it_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_EXPECTED.get() {
                told(info);
            }
        }));
    });
    IS_EXPECTED.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work)).ok();
    IS_EXPECTED.set(false);
    done
}

fn holds(target: &FuzzTarget, bytes: &[u8]) -> Result<(), String> {
    panic::catch_unwind(|| (target.run)(bytes)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned())
            .unwrap_or_default()
    })
}

/// Writes an input that failed to the folder for temporary files, named by its content.
fn keep(name: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let hash = mutate::hash(bytes);
    let path = std::env::temp_dir().join(format!("sampan-fuzz-{name}-{hash:016x}"));
    fs::write(&path, bytes)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_holds() {
        let mut failures = Vec::new();
        for target in TARGETS {
            let report = replay_and_mutate(target, 1, Duration::from_millis(300)).unwrap();
            if report.failure.is_some() || report.replayed == 0 || report.mutated == 0 {
                failures.push((target.name, report));
            }
        }
        assert!(failures.is_empty(), "{failures:#?}");
    }

    #[test]
    fn every_target_has_a_corpus_of_its_own() {
        for target in TARGETS {
            let files = corpus(target.name).unwrap().len();
            assert!(files > 0, "{}", target.name);
        }
    }

    /// A target with a fault that random bytes would not find but mutations of its corpus do.
    #[test]
    fn a_fault_is_found_and_kept() {
        fn faulty(bytes: &[u8]) {
            let text = String::from_utf8_lossy(bytes);
            assert!(
                !(text.contains("Transfer-Encoding") && text.matches("Host").count() > 2),
                "planted"
            );
        }
        let target = FuzzTarget {
            name: "http_codec",
            run: faulty,
            words: mutate::HTTP_WORDS,
        };
        let report = replay_and_mutate(&target, 7, Duration::from_secs(20)).unwrap();
        let (path, said) = report.failure.expect("the planted fault");
        assert_eq!(said, "planted");
        let kept = fs::read(&path).unwrap();
        assert!(holds(&target, &kept).is_err(), "the kept input fails again");
        fs::remove_file(path).unwrap();
    }
}
