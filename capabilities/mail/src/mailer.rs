//! The mails of the process that wait for their delivery, and the thread that delivers them.

use crate::delivery::Delivery;
use sampan_host::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// The most bytes of mails that wait.
const WAITING_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Delivers the mails of the process, one after the other, on a thread of its own.
#[derive(Default)]
pub(crate) struct Mailer {
    /// Made with the first mail.
    sender: Mutex<Option<Sender<Delivery>>>,
    bytes: Arc<AtomicUsize>,
}

impl Mailer {
    /// Reports whether there is room for a mail.
    ///
    /// # Errors
    /// Too many mails wait.
    pub(crate) fn check(&self, bytes: usize) -> Result<(), Error> {
        match self.bytes.load(Relaxed) + bytes <= WAITING_BYTES_MAX {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Unavailable,
                "too many mails wait for their delivery",
            )),
        }
    }

    /// Adds a mail.
    pub(crate) fn add(&self, delivery: Delivery) {
        self.bytes.fetch_add(delivery.mail.source.len(), Relaxed);
        let mut sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        let delivery = match &*sender {
            Some(sender) => match sender.send(delivery) {
                Ok(()) => return,
                // The thread has ended by a fault of ours: another one begins.
                Err(error) => error.0,
            },
            None => delivery,
        };
        let (new, receiver) = channel();
        let bytes = Arc::clone(&self.bytes);
        let thread = std::thread::Builder::new().name("mail".to_owned());
        if thread.spawn(move || serve(&receiver, &bytes)).is_ok() && new.send(delivery).is_ok() {
            *sender = Some(new);
        }
    }
}

/// Delivers what comes, and what is due again, until the mailer is dropped.
fn serve(receiver: &Receiver<Delivery>, bytes: &AtomicUsize) {
    let mut waiting: Vec<(Instant, Delivery)> = Vec::new();
    loop {
        let next = waiting.iter().map(|(due, _)| *due).min();
        let came = match next {
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(due) => receiver.recv_timeout(due.saturating_duration_since(Instant::now())),
        };
        match came {
            Ok(delivery) => waiting.push((Instant::now(), delivery)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        let Some(at) = waiting.iter().position(|(due, _)| *due <= now) else {
            continue;
        };
        let (_, mut delivery) = waiting.remove(at);
        match delivery.attempt() {
            Some(pause) => waiting.push((Instant::now() + pause, delivery)),
            None => drop(bytes.fetch_sub(delivery.mail.source.len(), Relaxed)),
        }
    }
}
