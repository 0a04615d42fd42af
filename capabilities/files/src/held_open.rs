//! The files that scripts hold open: each is a descriptor, of which the process has few.

use crate::limits::{OPEN_FILES_MAX, OPEN_FILES_PER_REQUEST_MAX, share_of_descriptors};
use sampan_host::sources::FILES_FULL;
use sampan_host::{Context, CurrentRun, Error, ErrorKind};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::LazyLock;
use tokio::sync::{Semaphore, SemaphorePermit};

/// The most that the process has.
static OPEN_MAX: LazyLock<usize> = LazyLock::new(|| share_of_descriptors(OPEN_FILES_MAX));

/// Counts those of the process.
static OPEN: LazyLock<Semaphore> = LazyLock::new(|| Semaphore::new(*OPEN_MAX));

/// The number of those of a request, in its store.
#[derive(Default)]
struct OpenCount(Cell<usize>);

/// The part of one file in both counts, for as long as this is there.
pub(crate) struct CountedFile {
    of_request: Rc<OpenCount>,
    _of_process: SemaphorePermit<'static>,
}

impl CountedFile {
    /// Counts a file before it is opened.
    ///
    /// # Errors
    /// The request, or the process, has as many as it may have.
    pub(crate) fn new(context: &Context) -> Result<Self, Error> {
        let count = count_of(context);
        if count.0.get() >= OPEN_FILES_PER_REQUEST_MAX {
            return Err(Error::script(format!(
                "a request or job has at most {OPEN_FILES_PER_REQUEST_MAX} files open: close some before the next"
            ))
            .with_code("too_many"));
        }
        let counted = OPEN.try_acquire().map_err(|_| {
            let text = format!(
                "scripts have {} files open, as many as the process may have: try again",
                *OPEN_MAX
            );
            Error::new(ErrorKind::Unavailable, text).with_code(FILES_FULL)
        })?;
        count.0.set(count.0.get() + 1);
        Ok(Self {
            of_request: count,
            _of_process: counted,
        })
    }
}

impl Drop for CountedFile {
    fn drop(&mut self) {
        self.of_request.0.set(self.of_request.0.get() - 1);
    }
}

fn count_of(context: &Context) -> Rc<OpenCount> {
    if let Some(owner) = context.get::<CurrentRun>().and_then(|run| run.owner()) {
        let store = owner.store();
        let count = store.get::<OpenCount>();
        return count.unwrap_or_else(|| store.put(OpenCount::default()));
    }
    // The tests of projects have no run.
    context.get::<OpenCount>().unwrap_or_else(|| {
        context.put(OpenCount::default());
        context.get().unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open_files_have_a_limit_for_a_request_and_for_the_process() {
        let context = Context::default();
        let mut held: Vec<CountedFile> = (0..OPEN_FILES_PER_REQUEST_MAX)
            .map(|_| CountedFile::new(&context).expect("room"))
            .collect();
        let error = CountedFile::new(&context).err().expect("no room");
        assert_eq!(error.kind(), ErrorKind::Script);
        assert!(error.message().contains("at most 100 files"), "{error}");
        held.pop();
        let last = CountedFile::new(&context).expect("room again");

        let others = Context::default();
        let left = OPEN.available_permits() as u32;
        let all = OPEN.try_acquire_many(left).expect("all of them");
        let error = CountedFile::new(&others).err().expect("no room");
        assert_eq!(error.kind(), ErrorKind::Unavailable);
        assert_eq!(error.code(), Some(FILES_FULL));
        drop(last);
        drop(CountedFile::new(&others).expect("room again"));
        drop(all);
    }
}
