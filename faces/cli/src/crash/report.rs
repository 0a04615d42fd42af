//! The parts of a report that are known beforehand, its name and its text. What a signal handler calls here neither
//! allocates nor locks.

use httpdate::HttpDate;
use std::ffi::{CStr, CString, OsStr};
use std::fmt::{self, Write};
use std::fs;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The reports that are kept.
const REPORTS_MAX: usize = 20;

/// The beginning of a report's name.
const PREFIX: &str = "crash-";

/// The end of a report's name.
const SUFFIX: &str = ".txt";

/// The facts that do not change while the process lives.
pub(super) struct Facts {
    folder: PathBuf,
    /// The folder, as the system takes it.
    folder_text: CString,
    /// The path of the report of a signal. A process has one at most.
    path: CString,
    /// The versions of the program and the system.
    versions: String,
    /// The addresses of the executable.
    program: Range<usize>,
}

impl Facts {
    /// Gathers them. `None` if the folder has a name that no file can have.
    pub(super) fn new(folder: &Path) -> Option<Self> {
        let folder = std::path::absolute(folder).ok()?;
        let folder_text = CString::new(folder.as_os_str().as_bytes()).ok()?;
        let path = folder.join(name_of_now("signal"));
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        let system = rustix::system::uname();
        let shown = |text: &CStr| text.to_string_lossy().into_owned();
        let (name, release) = (shown(system.sysname()), shown(system.release()));
        let (sampan, processor) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
        let engines = sampan_runtime::engine_versions();
        let versions = format!("sampan {sampan}, {engines}, {name} {release}, {processor}");
        Some(Self {
            folder,
            folder_text,
            path,
            versions,
            program: addresses_of_program().unwrap_or_default(),
        })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn folder_text(&self) -> &CStr {
        &self.folder_text
    }

    pub(super) fn path(&self) -> &CStr {
        &self.path
    }

    /// Writes the first lines of a report.
    pub(super) fn write_head(
        &self,
        out: &mut impl Write,
        reason: fmt::Arguments<'_>,
        thread: &str,
    ) -> fmt::Result {
        let now = HttpDate::from(SystemTime::now());
        let process = std::process::id();
        let versions = &self.versions;
        writeln!(out, "Sampan crash report 1\ntime: {now}\nreason: {reason}")?;
        let route = sampan_runtime::running_route().unwrap_or("none, or not known");
        writeln!(out, "route: {route}\nprocess: {process}\nthread: {thread}")?;
        writeln!(out, "versions: {versions}\nroutes of all threads:")?;
        for route in sampan_runtime::running_routes() {
            writeln!(out, "  {route}")?;
        }
        Ok(())
    }

    /// Writes a line of the stack: an address in the executable by its distance from where the executable begins, which
    /// `addr2line` takes.
    pub(super) fn write_address(&self, out: &mut impl Write, address: usize) -> fmt::Result {
        match self.program.contains(&address) {
            true => writeln!(out, "  sampan+{:#x}", address - self.program.start),
            false => writeln!(out, "  {address:#x}"),
        }
    }
}

/// Returns the name of a report about a signal or a panic by the time. Names sort as their times do.
pub(super) fn name_of_now(kind: &str) -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = since.unwrap_or_default().as_secs();
    let process = std::process::id();
    format!("{PREFIX}{seconds:011}-{process}-{kind}{SUFFIX}")
}

/// Returns the addresses at which the executable lies.
fn addresses_of_program() -> Option<Range<usize>> {
    let program = std::env::current_exe().ok()?;
    let maps = fs::read_to_string("/proc/self/maps").ok()?;
    let of_program = maps.lines().filter(|line| {
        let path = line.split_whitespace().nth(5);
        path.is_some_and(|path| Path::new(path) == program)
    });
    let ranges = of_program.filter_map(|line| {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        Some(number(start)?..number(end)?)
    });
    ranges.reduce(|all, next| all.start.min(next.start)..all.end.max(next.end))
}

/// Removes the oldest reports, so that there is room for one.
pub(super) fn remove_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let names = entries.flatten().map(|entry| entry.file_name());
    let is_report = |name: &std::ffi::OsString| {
        let name = name.as_bytes();
        name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes())
    };
    let mut reports: Vec<_> = names.filter(is_report).collect();
    // That of a signal is named by the start of its process, and written at its end.
    let written = |name: &OsStr| fs::metadata(folder.join(name))?.modified();
    reports.sort_by_cached_key(|name| (written(name).ok(), name.clone()));
    let old = reports.len().saturating_sub(REPORTS_MAX - 1);
    for name in &reports[..old] {
        // One that cannot be removed stays.
        let _ = fs::remove_file(folder.join(name));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_reports_are_kept_and_other_files_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        for number in 0..30 {
            let name = format!("{PREFIX}{number:011}-7{SUFFIX}");
            fs::write(folder.path().join(name), "").expect("written");
        }
        fs::write(folder.path().join("crash-notes.md"), "").expect("written");
        remove_old(folder.path());
        let left = |name: &str| folder.path().join(name).exists();
        assert!(!left("crash-00000000010-7.txt") && left("crash-00000000011-7.txt"));
        assert!(left("crash-00000000029-7.txt") && left("crash-notes.md"));
        remove_old(Path::new("/no/such/folder"));
    }

    #[test]
    fn addresses_of_the_executable_are_told_from_its_beginning() {
        let facts = Facts::new(Path::new("/tmp")).expect("facts");
        let mut text = String::new();
        let here = addresses_of_program as fn() -> Option<Range<usize>> as usize;
        facts.write_address(&mut text, here).expect("written");
        facts.write_address(&mut text, 16).expect("written");
        assert!(
            text.starts_with("  sampan+0x") && text.ends_with("\n  0x10\n"),
            "{text}"
        );
    }
}
