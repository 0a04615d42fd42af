//! Slow statements, reported with their plans: on a thread of its own, so that no request waits for it.

use sampan_db::DatabaseConfig;
use sampan_host::log::Level;
use sampan_log::Logger;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// The shortest time between two reports of one statement.
const PAUSE: Duration = Duration::from_secs(5);
/// So many statements are remembered.
const REMEMBERED_MAX: usize = 256;
/// The longest statement that is shown, in characters.
const SQL_CHARS_MAX: usize = 500;

/// The way to that thread.
pub(super) struct Plans(Sender<(String, Duration)>);

impl Plans {
    pub(super) fn start(db: DatabaseConfig, logger: Logger) -> Result<Self, String> {
        let (sender, inbox) = channel();
        let thread = std::thread::Builder::new().name("sampan-plans".into());
        let thread = thread.spawn(move || tell_all(&inbox, &db, &logger));
        match thread {
            Ok(_) => Ok(Self(sender)),
            Err(error) => Err(format!("cannot start a thread: {error}")),
        }
    }

    /// A statement took too long.
    pub(super) fn tell(&self, sql: &str, elapsed: Duration) {
        let _ = self.0.send((sql.to_owned(), elapsed));
    }
}

fn tell_all(inbox: &Receiver<(String, Duration)>, db: &DatabaseConfig, logger: &Logger) {
    let mut told: HashMap<String, Instant> = HashMap::new();
    while let Ok((sql, elapsed)) = inbox.recv() {
        if told.get(&sql).is_some_and(|last| last.elapsed() < PAUSE) {
            continue;
        }
        if told.len() >= REMEMBERED_MAX {
            told.clear();
        }
        told.insert(sql.clone(), Instant::now());
        let shown: String = sql.chars().take(SQL_CHARS_MAX).collect();
        let mut text = format!("slow statement, {} ms: {shown}", elapsed.as_millis());
        match sampan_db::explain(db, &sql) {
            Ok(plan) => {
                for step in plan {
                    text += &format!("\n{step}");
                }
            }
            Err(error) => text += &format!("\n(no plan: {error})"),
        }
        logger.text(Level::Warn, text);
    }
}
