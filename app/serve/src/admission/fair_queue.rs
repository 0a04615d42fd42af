//! Requests that wait, by client. Clients are served in turn, one request each, so that one with many requests waits
//! behind itself alone (the idea of RFC 8290, for requests in place of packets).
//!
//! While requests are refused, the newest begin first: of a client, and of all clients where they are too many. In
//! their order all would begin late. (Adaptive LIFO, as in Maurer, "Fail at Scale", ACM Queue 13.8.)

use super::client::Client;
use super::delay::{Delay, is_passed_over};
use super::settings::OverloadSettings;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The decision about a request that has waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    Begin,
    Refuse,
}

/// The requests that wait.
#[derive(Debug)]
pub(crate) struct FairQueue<T> {
    flows: HashMap<Client, Flow<T>, foldhash::fast::RandomState>,
    /// The clients with requests. The first has its turn.
    turns: VecDeque<Client>,
    len: usize,
    /// The waits of all requests.
    delay: Option<Delay>,
    /// True from a refusal for the sake of all clients until the queue is short. The last client of `turns` is then the
    /// one that has waited longest, and new ones go first.
    sheds: bool,
}

/// The requests of one client.
#[derive(Debug)]
struct Flow<T> {
    items: VecDeque<(T, Duration)>,
    delay: Delay,
    /// True from a refusal for the sake of this client until its oldest request has waited for a short time.
    sheds: bool,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            flows: HashMap::default(),
            turns: VecDeque::new(),
            len: 0,
            delay: None,
            sheds: false,
        }
    }
}

impl<T> FairQueue<T> {
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn push(
        &mut self,
        client: Client,
        item: T,
        now: Duration,
        settings: &OverloadSettings,
    ) {
        self.len += 1;
        match self.flows.entry(client) {
            Entry::Occupied(flow) => flow.into_mut().items.push_back((item, now)),
            Entry::Vacant(free) => {
                let items = VecDeque::from([(item, now)]);
                let delay = Delay::new(now, settings);
                free.insert(Flow {
                    items,
                    delay,
                    sheds: false,
                });
                match self.sheds {
                    true => self.turns.push_front(client),
                    false => self.turns.push_back(client),
                }
            }
        }
    }

    /// Takes a request and decides about it: the oldest if it is passed over and has to go, or one of the next client.
    pub(crate) fn pop(
        &mut self,
        now: Duration,
        settings: &OverloadSettings,
    ) -> Option<(T, Decision)> {
        if self.sheds
            && let Some(refused) = self.pop_passed_over(now, settings)
        {
            return Some((refused, Decision::Refuse));
        }
        let client = self.turns.pop_front()?;
        let flow = self.flows.get_mut(&client)?;
        let (wait, len) = (flow.oldest_wait(now), flow.items.len());
        let is_over = flow.delay.note(wait, len, now, settings);
        let all = self.delay.get_or_insert_with(|| Delay::new(now, settings));
        let all_are_over = !self.sheds && all.note(wait, self.len, now, settings);
        let is_late = wait > settings.wait_max;
        let is_refused = match self.len > settings.waiting_min {
            true => is_over || all_are_over,
            false if flow.sheds => is_over && (is_late || is_passed_over(wait, settings)),
            false if is_late && is_over && flow.delay.has_grown(len) => true,
            false => is_late && all_are_over && all.has_grown(self.len),
        };
        flow.sheds = is_over && (flow.sheds || is_refused);
        let (taken, decision) = match is_refused {
            true => (flow.items.pop_front(), Decision::Refuse),
            false if flow.sheds => (flow.items.pop_back(), Decision::Begin),
            false => (flow.items.pop_front(), Decision::Begin),
        };
        self.len -= 1;
        match flow.items.is_empty() {
            true => drop(self.flows.remove(&client)),
            false => self.turns.push_back(client),
        }
        if is_refused && all_are_over && !is_over {
            self.set_sheds(true);
        }
        taken.map(|(item, _)| (item, decision))
    }

    /// Takes the request that has waited longest, if it has to be refused while newer ones begin.
    fn pop_passed_over(&mut self, now: Duration, settings: &OverloadSettings) -> Option<T> {
        let client = *self.turns.back()?;
        let flow = self.flows.get_mut(&client)?;
        let wait = flow.oldest_wait(now);
        let all = self.delay.get_or_insert_with(|| Delay::new(now, settings));
        let is_over = all.note(wait, self.len, now, settings);
        if !all.is_long() {
            self.set_sheds(false);
            return None;
        }
        let is_late = wait > settings.wait_max || is_passed_over(wait, settings);
        if !is_over || (self.len <= settings.waiting_min && !is_late) {
            return None;
        }
        let (item, _) = flow.items.pop_front()?;
        if flow.items.is_empty() {
            self.flows.remove(&client);
            self.turns.pop_back();
        }
        self.len -= 1;
        Some(item)
    }

    fn set_sheds(&mut self, sheds: bool) {
        if self.sheds != sheds {
            self.sheds = sheds;
            self.turns.make_contiguous().reverse();
        }
    }

    /// The number of requests that wait.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Takes the newest request of the client with the most, if that client has more than `count`.
    pub(crate) fn pop_above(&mut self, count: usize) -> Option<T> {
        let (client, flow) = self
            .flows
            .iter_mut()
            .max_by_key(|(_, flow)| flow.items.len())?;
        if flow.items.len() <= count {
            return None;
        }
        let (client, newest) = (*client, flow.items.pop_back());
        if flow.items.is_empty() {
            self.flows.remove(&client);
            self.turns.retain(|other| *other != client);
        }
        let (item, _) = newest?;
        self.len -= 1;
        Some(item)
    }

    /// Drops the requests for which `keeps` is false.
    pub(crate) fn retain(&mut self, keeps: impl Fn(&T) -> bool) {
        self.flows.retain(|_, flow| {
            let before = flow.items.len();
            flow.items.retain(|(item, _)| keeps(item));
            self.len -= before - flow.items.len();
            !flow.items.is_empty()
        });
        let flows = &self.flows;
        self.turns.retain(|client| flows.contains_key(client));
    }

    /// The number of requests of a client.
    pub(crate) fn len_of(&self, client: Client) -> usize {
        self.flows.get(&client).map_or(0, |flow| flow.items.len())
    }

    /// Takes note that no request has to wait any more.
    pub(crate) fn settle(&mut self) {
        self.delay = None;
        self.sheds = false;
    }
}

impl<T> Flow<T> {
    /// The wait of the oldest request so far.
    fn oldest_wait(&self, now: Duration) -> Duration {
        let since = self.items.front().map_or(now, |(_, since)| *since);
        now.saturating_sub(since)
    }
}

#[cfg(test)]
mod tests;
