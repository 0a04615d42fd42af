//! Requests that wait, by client. Clients are served in turn, one request each, so that one with many requests waits
//! behind itself alone (the idea of RFC 8290, for requests in place of packets).

use super::delay::Delay;
use super::settings::OverloadSettings;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::LazyLock;
use std::time::Duration;

/// One client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Client {
    /// An IPv4 address, or the network of an IPv6 address, of which a client has 2^64. `None` stands for all that come
    /// over Unix sockets.
    Address(Option<IpAddr>),
    /// The hash of the key by which a rate limit counts.
    Key(u64),
}

/// The hashes of keys, alike for all threads. Clients cannot know which keys have the same.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

impl Client {
    /// Returns the client with this address.
    pub(crate) fn of(address: Option<IpAddr>) -> Self {
        Self::Address(address.map(|address| match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = address.to_bits() & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            address => address,
        }))
    }

    /// Returns the client with this value of a header field.
    pub(crate) fn of_field(name: &str, value: &[u8]) -> Self {
        Self::Key(KEYS.hash_one((name.to_ascii_lowercase(), value)))
    }
}

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
    /// The clients with requests, in their order.
    turns: VecDeque<Client>,
    len: usize,
    /// The waits of all requests.
    delay: Option<Delay>,
}

/// The requests of one client.
#[derive(Debug)]
struct Flow<T> {
    items: VecDeque<(T, Duration)>,
    delay: Delay,
}

impl<T> Default for FairQueue<T> {
    fn default() -> Self {
        Self {
            flows: HashMap::default(),
            turns: VecDeque::new(),
            len: 0,
            delay: None,
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
                free.insert(Flow { items, delay });
                self.turns.push_back(client);
            }
        }
    }

    /// Takes the first request of the next client, and decides about it.
    pub(crate) fn pop(
        &mut self,
        now: Duration,
        settings: &OverloadSettings,
    ) -> Option<(T, Decision)> {
        let client = self.turns.pop_front()?;
        let flow = self.flows.get_mut(&client)?;
        let (item, since) = flow.items.pop_front()?;
        let wait = now.saturating_sub(since);
        let all = self.delay.get_or_insert_with(|| Delay::new(now, settings));
        // Both take note of each wait.
        let is_over = all.note(wait, now, settings) | flow.delay.note(wait, now, settings);
        let is_refused = is_over && self.len > settings.waiting_min;
        self.len -= 1;
        match flow.items.is_empty() {
            true => drop(self.flows.remove(&client)),
            false => self.turns.push_back(client),
        }
        let decision = match is_refused {
            true => Decision::Refuse,
            false => Decision::Begin,
        };
        Some((item, decision))
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
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: OverloadSettings = OverloadSettings {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        waiting_min: 10,
        slow_target: Duration::from_secs(1),
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
    fn addresses_of_one_ipv6_network_are_one_client() {
        let of = |text: &str| Client::of(Some(text.parse().expect("an address")));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:192.0.2.1"), of("192.0.2.1"));
        assert_ne!(of("192.0.2.2"), of("192.0.2.1"));
    }

    #[test]
    fn a_key_is_one_client_whatever_its_address() {
        let of = Client::of_field;
        assert_eq!(of("x-key", b"a"), of("X-Key", b"a"));
        assert_ne!(of("x-key", b"a"), of("x-key", b"b"));
        assert_ne!(of("x-key", b"a"), of("x-other", b"a"));
        assert_ne!(of("x-key", b"192.0.2.1"), client(1));
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
