//! Mails that are caught instead of sent: by `sampan dev`, which shows them, and by tests.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

/// The most mails that a mailbox keeps; the oldest go first.
const MAILS_MAX: usize = 200;
/// The most bytes that a mailbox keeps.
const BYTES_MAX: usize = 64 * 1024 * 1024;

/// A mail that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaughtMail {
    /// The number, from 1.
    pub number: u64,
    /// The time when it was sent.
    pub time: SystemTime,
    /// The address of the sender, as the header field `From` has it.
    pub from: String,
    /// The addresses of the header field `To`.
    pub to: Vec<String>,
    /// The addresses of the header field `Cc`.
    pub cc: Vec<String>,
    /// The addresses that get a copy and stand in no header field.
    pub bcc: Vec<String>,
    /// The address for answers, if there is one.
    pub reply_to: Option<String>,
    /// The subject.
    pub subject: String,
    /// The text.
    pub text: String,
    /// The HTML, if it has some, with the pictures that it shows as URLs of their data.
    pub html: Option<String>,
    /// The names of the files that are attached.
    pub attachments: Vec<String>,
    /// The mail as it would have been sent.
    pub source: Vec<u8>,
}

impl CaughtMail {
    fn size(&self) -> usize {
        self.source.len() + self.text.len() + self.html.as_ref().map_or(0, String::len)
    }
}

/// The mails that were caught last.
#[derive(Debug, Default)]
pub struct Mailbox(Mutex<Mails>);

#[derive(Debug, Default)]
struct Mails {
    caught: VecDeque<CaughtMail>,
    bytes: usize,
    last: u64,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Mails> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a mail, and gives it a number.
    pub fn catch(&self, mut mail: CaughtMail) {
        let mut mails = self.lock();
        mails.last += 1;
        mail.number = mails.last;
        mails.bytes += mail.size();
        mails.caught.push_back(mail);
        while mails.caught.len() > MAILS_MAX || mails.bytes > BYTES_MAX && mails.caught.len() > 1 {
            let Some(oldest) = mails.caught.pop_front() else {
                break;
            };
            mails.bytes -= oldest.size();
        }
    }

    /// Returns the mails, the oldest first.
    pub fn all(&self) -> Vec<CaughtMail> {
        self.lock().caught.iter().cloned().collect()
    }

    /// Returns the mail with a number.
    pub fn get(&self, number: u64) -> Option<CaughtMail> {
        let mails = self.lock();
        mails
            .caught
            .iter()
            .find(|mail| mail.number == number)
            .cloned()
    }

    /// Forgets all mails.
    pub fn clear(&self) {
        let mut mails = self.lock();
        mails.caught.clear();
        mails.bytes = 0;
    }
}

/// The mailbox of the process, where all mails are caught.
static OF_PROCESS: OnceLock<Arc<Mailbox>> = OnceLock::new();

/// Has all mails of this process caught from now on. Returns the mailbox that gets them.
pub fn catch_all() -> Arc<Mailbox> {
    Arc::clone(OF_PROCESS.get_or_init(Arc::default))
}

/// Returns the mailbox of the process, if [`catch_all`] was called.
pub fn caught() -> Option<Arc<Mailbox>> {
    OF_PROCESS.get().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(bytes: usize) -> CaughtMail {
        CaughtMail {
            number: 0,
            time: SystemTime::UNIX_EPOCH,
            from: String::new(),
            to: Vec::new(),
            cc: Vec::new(),
            bcc: Vec::new(),
            reply_to: None,
            subject: String::new(),
            text: String::new(),
            html: None,
            attachments: Vec::new(),
            source: vec![0; bytes],
        }
    }

    fn numbers(mailbox: &Mailbox) -> Vec<u64> {
        mailbox.all().iter().map(|mail| mail.number).collect()
    }

    #[test]
    fn the_oldest_go_first() {
        let mailbox = Mailbox::default();
        for _ in 0..MAILS_MAX + 2 {
            mailbox.catch(mail(1));
        }
        let kept = numbers(&mailbox);
        assert_eq!((kept.len(), kept[0]), (MAILS_MAX, 3));
        mailbox.catch(mail(BYTES_MAX));
        assert_eq!(numbers(&mailbox), [MAILS_MAX as u64 + 3]);
        mailbox.catch(mail(1));
        assert_eq!(numbers(&mailbox), [MAILS_MAX as u64 + 4]);
        assert!(mailbox.get(1).is_none() && mailbox.get(MAILS_MAX as u64 + 4).is_some());
        mailbox.clear();
        assert!(mailbox.all().is_empty());
    }
}
