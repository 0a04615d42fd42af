//! The thread's work: it connects, and then reads, writes and lives until the connection is lost.

use super::PostgresCarrier;
use super::queue::Item;
use super::rows::{OrderState, Part, is_true, number};
use super::sql::{self, Change};
use sampan_host::carrier::{Arrivals, Beginning, OwnMember};
use sampan_host::database::COMMIT_UNKNOWN;
use sampan_host::log::Level;
use sampan_host::{Error, ErrorKind, Value};
use sampan_postgres::PostgresSession;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

/// The time until a server that does not answer is tried again, at first and at most.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
const AGAIN_AFTER_MAX: Duration = Duration::from_secs(2);
/// The longest time between two signs of life.
const BEAT_MAX: Duration = Duration::from_secs(5);
/// The time between two reads where a pooler stands between, which passes no notifications on.
const POLL: Duration = Duration::from_millis(500);
/// The longest time between two removals of old messages.
const CLEAN_MAX: Duration = Duration::from_secs(60);
/// The most messages by which a process may be behind that connects again.
const BEHIND_MAX: u64 = 100_000;
/// The attempts to write after conflicts with others.
const ATTEMPTS_MAX: usize = 5;

/// The link of a process to the messages in the database.
pub(super) struct Link<'a> {
    carrier: Arc<PostgresCarrier>,
    arrivals: &'a dyn Arrivals,
    process: Arc<str>,
    /// The place in the order of messages up to which everything was delivered.
    place: Option<Place>,
    /// True if there may be messages that were not read.
    is_behind: bool,
    /// The fault that was reported, until there is a connection again.
    fault: Option<Error>,
    beat_at: Instant,
    clean_at: Instant,
    attempts: usize,
}

struct Place {
    epoch: Arc<str>,
    last: u64,
}

impl<'a> Link<'a> {
    pub(super) fn new(carrier: Arc<PostgresCarrier>, arrivals: &'a dyn Arrivals) -> Self {
        Self {
            carrier,
            process: arrivals.process(),
            arrivals,
            place: None,
            is_behind: false,
            fault: None,
            beat_at: Instant::now(),
            clean_at: Instant::now(),
            attempts: 0,
        }
    }

    /// Works until the process ends.
    pub(super) async fn run(mut self) {
        let mut again_after = AGAIN_AFTER;
        while !self.carrier.is_closing() {
            let bell = Arc::clone(&self.carrier.bell);
            let error = match self.carrier.server.session(bell).await {
                Err(error) => error,
                Ok(session) => match self.serve(&session).await {
                    Ok(()) => return,
                    Err(error) => {
                        again_after = AGAIN_AFTER;
                        error
                    }
                },
            };
            // Without messages the process serves all the same, and is told later that it has missed some.
            self.carrier.has_begun();
            self.report(&error);
            self.wait(again_after, &error).await;
            again_after = (2 * again_after).min(AGAIN_AFTER_MAX);
        }
    }

    /// Waits until the server is tried again. Messages that have waited for too long are given up.
    async fn wait(&self, time: Duration, error: &Error) {
        let patience = Duration::from_millis(self.carrier.server.config().acquire_millis_max);
        let again_at = Instant::now() + time;
        while Instant::now() < again_at && !self.carrier.is_closing() {
            sleep(AGAIN_AFTER.min(time)).await;
            if let Some(before) = Instant::now().checked_sub(patience) {
                self.carrier.give_up(Some(before), error);
            }
        }
    }

    fn report(&mut self, error: &Error) {
        if self.fault.is_none() {
            let text = format!(
                "topics: no messages of other processes: {}",
                error.message()
            );
            (self.carrier.report)(Level::Error, &text);
            self.fault = Some(error.clone());
        }
    }

    /// Works on a connection until the process ends.
    ///
    /// # Errors
    /// The connection was lost, or the database refuses what is needed.
    async fn serve(&mut self, session: &PostgresSession) -> Result<(), Error> {
        self.begin(session).await?;
        self.carrier.has_begun();
        if self.fault.take().is_some() {
            let text = "topics: messages of other processes come again";
            (self.carrier.report)(Level::Info, text);
        }
        loop {
            let is_closing = self.carrier.is_closing();
            let has_written = self.write(session).await?;
            if is_closing && !has_written {
                return self.leave(session).await;
            }
            if session.take_heard() || !self.is_notified() {
                self.is_behind = true;
            }
            self.read(session).await?;
            self.live(session).await?;
            if session.has_ended() {
                let text = "the connection to PostgreSQL was lost";
                return Err(Error::new(ErrorKind::Unavailable, text));
            }
            // One part of each at a time, so that neither keeps the other waiting.
            if has_written || self.is_behind {
                continue;
            }
            let mut wait = self.beat_at.saturating_duration_since(Instant::now());
            if !self.is_notified() {
                wait = wait.min(POLL);
            }
            let _ = timeout(wait, self.carrier.bell.notified()).await;
        }
    }

    /// Reports whether notifications come. A pooler in transaction mode passes none on.
    fn is_notified(&self) -> bool {
        self.carrier.server.config().prepare
    }

    /// Goes on where the process was, or begins anew where that is not known any more.
    async fn begin(&mut self, session: &PostgresSession) -> Result<(), Error> {
        if !is_true(&session.query(sql::ARE_THERE, &Value::Null).await?) {
            // Several statements that are sent together are one transaction.
            session
                .script(&sql::SERVER_TABLES.statements.join(";"))
                .await?;
        }
        // Before the state is read: what is published after that rings.
        if self.is_notified() {
            session.script(sql::LISTEN).await?;
        }
        self.register(session).await?;
        let state = OrderState::read(&session.query(&sql::state(), &Value::Null).await?)?;
        let is_known = |place: &Place| {
            let is_there = (state.forgotten..=state.last).contains(&place.last);
            place.epoch == state.epoch && is_there && state.last - place.last <= BEHIND_MAX
        };
        if !self.place.as_ref().is_some_and(is_known) {
            // At first there are no receivers, so older messages are only kept. Later they would be told twice.
            let is_first = self.place.is_none();
            let last = match is_first && self.arrivals.keeps_messages() {
                true => state.first,
                false => state.last,
            };
            self.place = Some(Place {
                epoch: Arc::clone(&state.epoch),
                last,
            });
            self.arrivals.begin(Beginning {
                epoch: state.epoch,
                last,
                members_at: state.last,
                members: state.members,
            });
        }
        self.is_behind = true;
        let is_before = |place: &Place| place.last < state.last;
        while self.is_behind && self.place.as_ref().is_some_and(is_before) {
            self.read(session).await?;
        }
        Ok(())
    }

    /// Reads a part of what has come.
    async fn read(&mut self, session: &PostgresSession) -> Result<(), Error> {
        if let Some(place) = &mut self.place
            && self.is_behind
        {
            let last = sql::named([("last", Value::Int(place.last as i64))]);
            let part = Part::read(&session.query(&sql::read(), &last).await?)?;
            if part.epoch != place.epoch || part.forgotten > place.last {
                // They were removed before this process has read them. The next connection begins anew.
                let text = "messages were removed before they were read ([topics] keep)";
                return Err(Error::new(ErrorKind::Unavailable, text));
            }
            for message in part.messages {
                place.last = message.number;
                if let Some(arrival) = message.arrival {
                    self.arrivals.arrived(arrival);
                }
            }
            self.is_behind = part.is_full;
        }
        Ok(())
    }

    /// Writes a part of what waits, as one transaction. Returns false where nothing did.
    async fn write(&mut self, session: &PostgresSession) -> Result<bool, Error> {
        let items = self.carrier.take();
        if items.is_empty() {
            return Ok(false);
        }
        let statements = sql::transaction(&self.process, parts(&items));
        let Err(error) = session.batch(&statements).await else {
            self.attempts = 0;
            self.carrier.end(items, &Ok(()));
            return Ok(true);
        };
        self.not_written(session, items, &error);
        match session.has_ended() {
            true => Err(error),
            false => Ok(true),
        }
    }

    /// Takes care of what was not written, or may not have been.
    fn not_written(&mut self, session: &PostgresSession, items: Vec<Item>, error: &Error) {
        let is_message = |item: &Item| matches!(item, Item::Publish(_));
        let (messages, members): (Vec<_>, Vec<_>) = items.into_iter().partition(is_message);
        if !members.is_empty() {
            self.carrier.note_lost_members();
            self.carrier.end(members, &Ok(()));
        }
        let code = error.code();
        self.attempts += 1;
        let is_unwritten = session.has_ended() || code == Some("busy");
        if code != Some(COMMIT_UNKNOWN) && is_unwritten && self.attempts < ATTEMPTS_MAX {
            self.carrier.put_back(messages);
        } else {
            self.attempts = 0;
            self.carrier.end(messages, &Err(error.clone()));
        }
    }

    /// Gives a sign of life, and looks after what others have left behind, where it is time.
    async fn live(&mut self, session: &PostgresSession) -> Result<(), Error> {
        let now = Instant::now();
        let settings = self.arrivals.settings();
        if self.carrier.take_lost_members() {
            self.register(session).await?;
        }
        if self.beat_at <= now {
            self.beat_at = now + (settings.presence / 4).min(BEAT_MAX);
            let beat = session
                .query(sql::BEAT, &sql::process(&self.process))
                .await?;
            if beat.is_empty() {
                // Others have held this process for dead.
                self.register(session).await?;
            }
            let seconds = sql::seconds(settings.presence);
            if is_true(&session.query(sql::ARE_DEAD, &seconds).await?) {
                let expire = Change::Expire(settings.presence);
                self.change(session, vec![expire]).await?;
            }
        }
        if self.clean_at <= now {
            self.clean_at = now + (settings.keep / 10).min(CLEAN_MAX);
            let seconds = sql::seconds(settings.keep);
            session.query(&sql::clean(), &seconds).await?;
        }
        Ok(())
    }

    /// Makes the database's members of this process those that it has.
    async fn register(&mut self, session: &PostgresSession) -> Result<(), Error> {
        let rows = session
            .query(sql::OWN_MEMBERS, &sql::process(&self.process))
            .await?;
        let known: HashSet<u64> = (0..rows.len()).map(|row| number(&rows, row, 0)).collect();
        // What joins and leaves from now on waits in the queue.
        let own = self.arrivals.own_members();
        let numbers: HashSet<u64> = own.iter().map(|member| member.number).collect();
        let missing = |member: &&OwnMember| !known.contains(&member.number);
        let mut changes = vec![Change::Register];
        changes.extend(own.iter().filter(missing).map(Change::Join));
        changes.extend(known.difference(&numbers).copied().map(Change::Leave));
        self.change(session, changes).await
    }

    /// Removes the process and its members.
    async fn leave(&mut self, session: &PostgresSession) -> Result<(), Error> {
        let rows = session
            .query(sql::OWN_MEMBERS, &sql::process(&self.process))
            .await?;
        let numbers = (0..rows.len()).map(|row| number(&rows, row, 0));
        let mut changes: Vec<Change<'_>> = numbers.map(Change::Leave).collect();
        changes.push(Change::Unregister);
        self.change(session, changes).await
    }

    async fn change(
        &self,
        session: &PostgresSession,
        changes: Vec<Change<'_>>,
    ) -> Result<(), Error> {
        let parts = changes.into_iter().map(sql::Part::Change).collect();
        let statements = sql::transaction(&self.process, parts);
        session.batch(&statements).await
    }
}

/// Returns the parts of the transaction that writes items: messages that follow each other are one statement.
fn parts(items: &[Item]) -> Vec<sql::Part<'_>> {
    let mut parts = Vec::new();
    let mut messages = Vec::new();
    for item in items {
        let change = match item {
            Item::Publish(waiting) => {
                messages.push(waiting.publication.clone());
                continue;
            }
            Item::Join(member) => Change::Join(member),
            Item::Leave(number) => Change::Leave(*number),
        };
        parts.extend(sql::publishing(&messages).map(sql::Part::Publish));
        messages.clear();
        parts.push(sql::Part::Change(change));
    }
    parts.extend(sql::publishing(&messages).map(sql::Part::Publish));
    parts
}
