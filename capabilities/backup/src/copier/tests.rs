//! Rounds over a target and a database in memory.

use super::*;
use crate::settings::{SECTION, no_fetcher};
use sampan_host::Error;
use sampan_host::page_log::{LogPosition, PageSink};
use sampan_host::settings::{SettingValue, Settings};
use std::collections::BTreeMap;

/// A database that nothing is written to, of three parts and a rest.
#[derive(Default)]
struct StillLog(Mutex<Option<Box<dyn PageSink>>>);

impl PageLog for StillLog {
    fn is_open(&self) -> bool {
        true
    }
    fn follow(&self, sink: Box<dyn PageSink>) {
        *self.0.lock().expect("no panic") = Some(sink);
    }
    fn resume(&self, _: LogPosition) -> Result<bool, Error> {
        Ok(false)
    }
    fn read(&self) -> Result<(), Error> {
        Ok(())
    }
    fn copy_whole(&self, to: &Path) -> Result<(), Error> {
        let mut database = vec![0; 25 * 1024 * 1024];
        database[17] = 1;
        std::fs::write(to, database).map_err(|error| Error::script(error.to_string()))?;
        let mut sink = self.0.lock().expect("no panic");
        sink.as_mut()
            .expect("a sink")
            .whole_copy_begins(LogPosition::default());
        Ok(())
    }
    fn leave(&self) {}
}

/// The objects of a target, and what happens at one of its claims.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<MemoryState>>);

#[derive(Default)]
struct MemoryState {
    objects: BTreeMap<String, Vec<u8>>,
    /// The number of objects from which on another process is the writer.
    taken_over_at: Option<usize>,
    /// The number of objects at which the process ends.
    ends_at: Option<(usize, End)>,
}

impl Target for Memory {
    fn claim(&mut self, _: &str) -> Result<Claim, TargetFault> {
        let state = self.0.lock().expect("no panic");
        let is_taken = state
            .taken_over_at
            .is_some_and(|count| state.objects.len() >= count);
        Ok(match is_taken {
            true => Claim::Other("another".to_owned()),
            false => Claim::Own,
        })
    }
    fn release(&mut self) {}
    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), TargetFault> {
        let mut state = self.0.lock().expect("no panic");
        state.objects.insert(name.to_owned(), bytes.to_vec());
        if let Some((count, end)) = &state.ends_at
            && *count == state.objects.len()
        {
            *end.0.lock().expect("no panic") = true;
        }
        Ok(())
    }
    fn get(&mut self, name: &str) -> Result<Option<Vec<u8>>, TargetFault> {
        Ok(self.0.lock().expect("no panic").objects.get(name).cloned())
    }
    fn list(&mut self, folder: &str) -> Result<Vec<String>, TargetFault> {
        let state = self.0.lock().expect("no panic");
        let names = state.objects.keys();
        Ok(names
            .filter(|name| name.starts_with(folder))
            .cloned()
            .collect())
    }
    fn folders(&mut self) -> Result<Vec<String>, TargetFault> {
        let names = self.list("")?;
        let mut folders: Vec<_> = names
            .iter()
            .filter_map(|name| name.split_once('/'))
            .collect();
        folders.dedup_by_key(|(folder, _)| *folder);
        Ok(folders
            .iter()
            .map(|(folder, _)| (*folder).to_owned())
            .collect())
    }
    fn remove(&mut self, name: &str) -> Result<(), TargetFault> {
        self.0.lock().expect("no panic").objects.remove(name);
        Ok(())
    }
}

impl Memory {
    fn count(&self) -> usize {
        self.0.lock().expect("no panic").objects.len()
    }
}

fn copier(folder: &Path) -> (Copier, Memory) {
    let url = SettingValue::Text("file:///nowhere".to_owned());
    let section = Settings::with(&SECTION, [("url", url)]).expect("valid");
    let settings = BackupSettings::of(&section, no_fetcher());
    let settings = settings.expect("valid").expect("a copy");
    let (log, memory) = (Arc::<StillLog>::default(), Memory::default());
    let pending = Pending::new(Arc::clone(&settings.cipher), settings.behind_bytes_max);
    log.follow(Box::new(pending.clone()));
    let copier = Copier {
        settings,
        target: Box::new(memory.clone()),
        log,
        host: BackupHost {
            log: Box::new(|_, _| ()),
            database: folder.join("data.db"),
            marks: None,
            check: |_| Ok(()),
        },
        pending,
        whole: None,
        last_sent: None,
        progress: CopyProgress::new(),
        has_looked: false,
        last_whole: 0,
        next_tidy: None,
        trouble: None,
        is_told_other: None,
        end: End::default(),
        end_wait: END_WAIT,
        leave_by: None,
    };
    (copier, memory)
}

#[test]
fn a_whole_copy_is_completed_when_the_process_ends_and_there_is_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut copier, memory) = copier(folder.path());
    memory.0.lock().expect("no panic").ends_at = Some((2, Arc::clone(&copier.end)));
    assert!(copier.round(false).is_ok());
    assert_eq!(memory.count(), 5);
}

#[test]
fn a_whole_copy_is_left_when_the_process_ends_and_its_time_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut copier, memory) = copier(folder.path());
    copier.end_wait = Duration::ZERO;
    memory.0.lock().expect("no panic").ends_at = Some((2, Arc::clone(&copier.end)));
    assert!(copier.round(false).is_ok());
    assert_eq!(memory.count(), 2);
    assert!(copier.round(true).is_ok());
    assert_eq!(memory.count(), 2);
    copier.run();
    assert_eq!(memory.count(), 2);
}

#[test]
fn a_whole_copy_is_left_when_another_process_has_become_the_writer() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut copier, memory) = copier(folder.path());
    memory.0.lock().expect("no panic").taken_over_at = Some(2);
    assert!(matches!(copier.round(false), Err(RoundFault::Other(_))));
    assert_eq!(memory.count(), 2);
    // The other has gone without a trace: the copy goes on where it was.
    memory.0.lock().expect("no panic").taken_over_at = None;
    assert!(copier.round(false).is_ok());
    assert_eq!(memory.count(), 5);
}

#[test]
fn a_round_copies_the_whole_database_once_however_long_that_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut copier, memory) = copier(folder.path());
    copier.settings.whole_every = Duration::ZERO;
    // A second whole copy would go on until this.
    memory.0.lock().expect("no panic").ends_at = Some((7, Arc::clone(&copier.end)));
    assert!(copier.round(false).is_ok());
    assert_eq!(memory.count(), 5);
    assert!(copier.next_tidy.is_some());
}
