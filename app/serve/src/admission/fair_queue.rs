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
mod tests {
    use super::*;
    use std::net::IpAddr;

    const SETTINGS: OverloadSettings = OverloadSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        waiting_min: 10,
        wait_max: Duration::MAX,
        slow_target: Duration::from_secs(1),
    };

    /// Settings by which requests are refused for their wait alone.
    const BY_TIME: OverloadSettings = OverloadSettings {
        waiting_min: 1_000_000,
        wait_max: Duration::from_millis(100),
        ..SETTINGS
    };

    fn client(last: u8) -> Client {
        Client::of(Some(IpAddr::from([192, 0, 2, last])))
    }

    fn popped(queue: &mut FairQueue<u32>, now: Duration) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop(now, &SETTINGS).map(|(item, _)| item)).collect()
    }

    #[test]
    fn a_client_with_many_requests_waits_behind_itself() {
        let now = Duration::ZERO;
        let mut queue = FairQueue::default();
        for item in 0..5 {
            queue.push(client(1), item, now, &SETTINGS);
        }
        queue.push(client(2), 10, now, &SETTINGS);
        queue.push(client(3), 20, now, &SETTINGS);
        queue.push(client(3), 21, now, &SETTINGS);
        assert_eq!(popped(&mut queue, now), [0, 10, 20, 1, 21, 2, 3, 4]);
        assert!(queue.is_empty() && queue.flows.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn the_client_with_the_most_loses_its_newest() {
        let now = Duration::ZERO;
        let mut queue = FairQueue::default();
        assert_eq!(queue.pop_above(0), None);
        queue.push(client(1), 10, now, &SETTINGS);
        for item in 0..3 {
            queue.push(client(2), item, now, &SETTINGS);
        }
        assert_eq!(
            (
                queue.len(),
                queue.len_of(client(2)),
                queue.len_of(client(3))
            ),
            (4, 3, 0)
        );
        assert_eq!(queue.pop_above(3), None);
        assert_eq!(queue.pop_above(2), Some(2));
        assert_eq!(queue.pop_above(0), Some(1));
        assert_eq!(popped(&mut queue, now).len(), 2);
        queue.push(client(1), 10, now, &SETTINGS);
        assert_eq!(queue.pop_above(0), Some(10));
        assert!(queue.is_empty() && queue.flows.is_empty() && queue.turns.is_empty());
    }

    #[test]
    fn only_the_client_whose_queue_stays_long_is_refused() {
        let begun = Duration::ZERO;
        let mut queue = FairQueue::default();
        for item in 0..1_000 {
            queue.push(client(1), item, begun, &SETTINGS);
        }
        let (mut begun_light, mut refused) = (0, 0);
        for millis in 1..400 {
            let now = begun + Duration::from_millis(millis);
            queue.push(client(2), 5_000, now, &SETTINGS);
            for _ in 0..2 {
                match queue.pop(now, &SETTINGS).expect("there are more") {
                    (5_000, Decision::Begin) => begun_light += 1,
                    (5_000, Decision::Refuse) => panic!("the light client is refused"),
                    (_, Decision::Refuse) => refused += 1,
                    (_, Decision::Begin) => {}
                }
            }
        }
        assert!(begun_light >= 398, "{begun_light}");
        assert!(refused >= 150, "{refused}");
    }

    #[test]
    fn many_clients_with_one_request_each_are_refused_too() {
        let begun = Duration::ZERO;
        let mut queue = FairQueue::default();
        let mut refused = 0;
        for millis in 0..400_u64 {
            let now = begun + Duration::from_millis(millis);
            for more in 0..2 {
                let address = u32::try_from(millis * 2 + more).expect("small");
                let client = Client::of(Some(IpAddr::from(address.to_be_bytes())));
                queue.push(client, 0, now, &SETTINGS);
            }
            if let Some((_, Decision::Refuse)) = queue.pop(now, &SETTINGS) {
                refused += 1;
            }
        }
        assert!(refused > 100, "{refused}");
    }

    /// Has twice as many requests arrive as begin, one of which does in each millisecond, and returns the longest wait
    /// of those that begin in the second half, in milliseconds, and how many were refused.
    fn at_twice_the_load(
        settings: OverloadSettings,
        client_of: impl Fn(u32) -> Client,
    ) -> (u64, usize) {
        let (mut queue, mut longest, mut refused) = (FairQueue::default(), 0, 0);
        for millis in 0..2_000_u64 {
            let now = Duration::from_millis(millis);
            for more in 0..2 {
                let number = u32::try_from(millis * 2 + more).expect("small");
                queue.push(client_of(number), millis, now, &settings);
            }
            while let Some((arrived, decision)) = queue.pop(now, &settings) {
                if decision == Decision::Begin {
                    longest = longest.max((millis - arrived) * u64::from(millis > 1_000));
                    break;
                }
                refused += 1;
            }
        }
        (longest, refused)
    }

    #[test]
    fn while_requests_are_refused_the_newest_begin_first() {
        let few = OverloadSettings {
            waiting_min: 100,
            ..SETTINGS
        };
        let each = |number: u32| Client::of(Some(IpAddr::from(number.to_be_bytes())));
        for settings in [few, BY_TIME] {
            let one = at_twice_the_load(settings, |_| client(1));
            for (longest, refused) in [one, at_twice_the_load(settings, each)] {
                assert!(longest <= 5, "{longest} ms");
                assert!((1_800..=2_000).contains(&refused), "{refused}");
            }
        }
    }

    /// Has `count` requests wait, and one begin in each millisecond, behind which the next ones arrive. Returns the
    /// number of those that are refused in two seconds.
    fn refused_of(count: u32, arriving: u32, client_of: impl Fn(u32) -> Client) -> usize {
        let (mut queue, mut refused) = (FairQueue::default(), 0);
        for number in 0..count {
            queue.push(client_of(number), number, Duration::ZERO, &BY_TIME);
        }
        for millis in 1..2_000_u64 {
            let now = Duration::from_millis(millis);
            while let Some((number, decision)) = queue.pop(now, &BY_TIME) {
                for _ in 0..arriving {
                    queue.push(client_of(number), number, now, &BY_TIME);
                }
                if decision == Decision::Begin {
                    break;
                }
                refused += 1;
            }
        }
        refused
    }

    #[test]
    fn clients_who_wait_for_their_answers_or_come_back_at_once_are_not_refused() {
        let each = |number: u32| Client::of(Some(IpAddr::from(number.to_be_bytes())));
        for arriving in [0, 1] {
            assert_eq!(refused_of(800, arriving, |_| client(1)), 0);
            assert_eq!(refused_of(800, arriving, each), 0);
        }
    }

    #[test]
    fn what_newer_requests_pass_for_long_is_refused_however_few_wait() {
        for clients in [1, 50] {
            let mut queue = FairQueue::default();
            for item in 0..50 {
                queue.push(
                    client(item as u8 % clients),
                    item,
                    Duration::ZERO,
                    &SETTINGS,
                );
            }
            let mut refused = 0;
            // One arrives for each that begins, so that the oldest ones wait for ever.
            for millis in 1..5_000 {
                let now = Duration::from_millis(millis);
                queue.push(client(100), 1_000, now, &SETTINGS);
                while let Some((_, decision)) = queue.pop(now, &SETTINGS) {
                    if decision == Decision::Begin {
                        break;
                    }
                    refused += 1;
                }
            }
            assert!(
                refused <= 50 && queue.len() <= 1,
                "{} wait, {refused}",
                queue.len()
            );
        }
    }

    #[test]
    fn few_requests_are_never_refused() {
        let begun = Duration::ZERO;
        let mut queue = FairQueue::default();
        for millis in 0..1_000 {
            let now = begun + Duration::from_millis(millis);
            let earlier = begun + Duration::from_millis(millis.saturating_sub(50));
            queue.push(client(1), 0, earlier, &SETTINGS);
            if millis >= 9 {
                let (_, decision) = queue.pop(now, &SETTINGS).expect("one waits");
                assert_eq!(decision, Decision::Begin);
            }
        }
    }
}
