//! The requests that wait for an isolate of the slow lane.

use super::crossing::{LaneRefusal, LaneRequest};
use crate::admission::client::Client;
use crate::admission::fair_queue::{Decision, FairQueue};
use crate::admission::settings::OverloadSettings;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The least interval in which all requests must have waited for too long, in waits that are no overload. A burst of
/// requests that take a few milliseconds each passes in less.
const INTERVAL_TARGETS: u32 = 5;

/// The requests that wait for an isolate, served in turn by client.
pub struct LaneQueue {
    /// `None`: requests begin as they come, and none is refused because it has waited.
    settings: Option<OverloadSettings>,
    /// The most requests that may wait.
    waiting_max: usize,
    /// The requests with priority, which begin before all others.
    first: VecDeque<LaneRequest>,
    others: FairQueue<LaneRequest>,
    /// The origin of times.
    begun: Instant,
}

impl LaneQueue {
    /// Creates a queue for so many requests, in which `waiting_min` may wait before any is refused.
    pub fn new(settings: Option<OverloadSettings>, waiting_min: usize, waiting_max: usize) -> Self {
        Self {
            settings: settings.map(|settings| OverloadSettings {
                target: settings.slow_target,
                interval: settings
                    .interval
                    .max(INTERVAL_TARGETS * settings.slow_target),
                waiting_min,
                wait_max: Duration::MAX,
                ..settings
            }),
            waiting_max,
            first: VecDeque::new(),
            others: FairQueue::default(),
            begun: Instant::now(),
        }
    }

    /// Queues a request. If the queue is full, returns the one that has no place: the newest of the client with the
    /// most, which may be the one that was to be queued.
    pub fn push(&mut self, request: LaneRequest) -> Option<LaneRequest> {
        let client = self.client_of(&request);
        let mut displaced = None;
        if self.is_full() {
            self.first.retain(|waiting| !waiting.is_given_up());
            self.others.retain(|waiting| !waiting.is_given_up());
        }
        if self.is_full() {
            let count = match request.has_priority {
                true => 0,
                false => self.others.len_of(client) + 1,
            };
            displaced = self.others.pop_above(count);
            if displaced.is_none() {
                return Some(request);
            }
        }
        match request.has_priority {
            true => self.first.push_back(request),
            false => {
                let (now, settings) = (self.begun.elapsed(), self.flow_settings());
                self.others.push(client, request, now, &settings);
            }
        }
        displaced
    }

    /// Takes the request whose turn it is. Those that nothing waits for any more are dropped, and those that have
    /// waited for too long are refused.
    pub fn pop(&mut self) -> Option<LaneRequest> {
        while let Some(request) = self.first.pop_front() {
            if !request.is_given_up() {
                return Some(request);
            }
        }
        let (now, settings) = (self.begun.elapsed(), self.flow_settings());
        while let Some((request, decision)) = self.others.pop(now, &settings) {
            if request.is_given_up() {
                continue;
            }
            if decision == Decision::Begin || self.settings.is_none() {
                return Some(request);
            }
            request.refuse(LaneRefusal::Overload);
        }
        self.others.settle();
        None
    }

    fn is_full(&self) -> bool {
        self.first.len() + self.others.len() >= self.waiting_max
    }

    /// The client whose turns a request takes.
    fn client_of(&self, request: &LaneRequest) -> Client {
        match self.settings {
            Some(_) => request.client,
            None => Client::of(None),
        }
    }

    fn flow_settings(&self) -> OverloadSettings {
        self.settings.unwrap_or(OverloadSettings {
            target: Duration::MAX,
            interval: Duration::from_secs(1),
            waiting_min: usize::MAX,
            wait_max: Duration::MAX,
            slow_target: Duration::MAX,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::crossing::LaneMessage;
    use crate::lane::route_lane::LaneRoutes;
    use crate::lane::source_mark::SourceMark;
    use sampan_host::LaneRule;
    use sampan_http::Request;
    use std::net::IpAddr;
    use tokio::sync::mpsc::Receiver;

    /// A time that no test waits for.
    const LONG: Duration = Duration::from_secs(3_600);

    fn queue(slow_target: Duration, waiting_min: usize, waiting_max: usize) -> LaneQueue {
        let settings = OverloadSettings {
            target: LONG,
            interval: Duration::ZERO,
            waiting_min: 1_000,
            wait_max: Duration::MAX,
            slow_target,
        };
        LaneQueue::new(Some(settings), waiting_min, waiting_max)
    }

    fn request(client: u8, has_priority: bool) -> (LaneRequest, Receiver<LaneMessage>) {
        let request = Request::from_bytes(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n").expect("valid");
        let request = request.to_owned_request().expect("it has no body");
        let route =
            LaneRoutes::new(LONG, Vec::new()).declare("GET /", LaneRule::Slow, SourceMark::UNKNOWN);
        let client = Client::of(Some(IpAddr::from([192, 0, 2, client])));
        let turn = (client, has_priority);
        let (request, answers, _) = LaneRequest::new(request, &route, turn, true, None);
        (request, answers)
    }

    fn client(request: &LaneRequest) -> u8 {
        let known = (0..=u8::MAX).find(|last| {
            let address = IpAddr::from([192, 0, 2, *last]);
            request.client == Client::of(Some(address))
        });
        known.expect("a client of the test")
    }

    /// Queues requests of these clients, and returns the receivers of their answers.
    fn push_all(queue: &mut LaneQueue, clients: &[u8]) -> Vec<Receiver<LaneMessage>> {
        let pushed = clients.iter().map(|client| {
            let (request, answers) = request(*client, false);
            assert!(queue.push(request).is_none(), "there is room");
            answers
        });
        pushed.collect()
    }

    fn order(queue: &mut LaneQueue) -> Vec<u8> {
        std::iter::from_fn(|| queue.pop())
            .map(|request| client(&request))
            .collect()
    }

    fn refusal(answers: &mut Receiver<LaneMessage>) -> Option<LaneRefusal> {
        match answers.try_recv() {
            Ok(LaneMessage::Refused(refusal)) => Some(refusal),
            _ => None,
        }
    }

    #[test]
    fn clients_have_turns_and_priority_comes_first() {
        let mut queue = queue(LONG, 0, 10);
        let _answers = push_all(&mut queue, &[1, 1, 1, 2]);
        let (important, _answer) = request(3, true);
        assert!(queue.push(important).is_none());
        assert_eq!(order(&mut queue), [3, 1, 2, 1, 1]);
    }

    #[test]
    fn a_full_queue_refuses_the_newest_of_the_client_with_the_most() {
        let mut queue = queue(LONG, 0, 4);
        let mut answers = push_all(&mut queue, &[1, 1, 1, 2]);
        let (own, _answer) = request(1, false);
        assert_eq!(
            queue.push(own).map(|request| client(&request)),
            Some(1),
            "itself"
        );
        let (light, _answer) = request(3, false);
        let displaced = queue.push(light).expect("one has to go");
        displaced.refuse(LaneRefusal::Full);
        assert_eq!(refusal(&mut answers[2]), Some(LaneRefusal::Full));
        let (important, _answer) = request(4, true);
        assert_eq!(
            queue.push(important).map(|request| client(&request)),
            Some(1)
        );
        assert_eq!(order(&mut queue), [4, 1, 2, 3]);
    }

    #[test]
    fn requests_that_are_given_up_leave_their_places_to_others() {
        let mut queue = queue(LONG, 0, 4);
        let mut answers = push_all(&mut queue, &[1, 1, 1]);
        let (important, mut important_answer) = request(2, true);
        assert!(queue.push(important).is_none());
        answers[1].close();
        let (next, _answer) = request(1, false);
        assert!(queue.push(next).is_none(), "one has left");
        important_answer.close();
        let (other, _answer) = request(3, false);
        assert!(queue.push(other).is_none(), "one with priority has left");
        for receiver in &mut answers {
            receiver.close();
        }
        let (last, _answer) = request(4, true);
        assert!(
            queue.push(last).is_none(),
            "all but one of a client have left"
        );
        assert_eq!(order(&mut queue), [4, 1, 3]);
    }

    #[test]
    fn requests_that_wait_too_long_are_refused_and_those_given_up_are_dropped() {
        let mut queue = queue(Duration::ZERO, 1, 10);
        let mut answers = push_all(&mut queue, &[1, 1, 2, 2, 3]);
        answers.remove(4).close();
        // The first wait shows that the queue is long. One may always wait.
        assert_eq!(queue.pop().map(|request| client(&request)), Some(1));
        let (important, _answer) = request(4, true);
        assert!(queue.push(important).is_none());
        assert_eq!(order(&mut queue), [4, 2]);
        let refused: Vec<_> = answers.iter_mut().map(refusal).collect();
        let overload = Some(LaneRefusal::Overload);
        assert_eq!(refused, [None, overload, overload, None]);
        // It has been empty since.
        let _answers = push_all(&mut queue, &[1]);
        assert_eq!(order(&mut queue), [1]);
    }

    #[test]
    fn without_settings_requests_begin_as_they_come() {
        let mut queue = LaneQueue::new(None, 0, 4);
        let _answers = push_all(&mut queue, &[1, 1, 2, 1]);
        let (full, _answer) = request(3, false);
        assert_eq!(
            queue.push(full).map(|request| client(&request)),
            Some(3),
            "itself"
        );
        assert_eq!(order(&mut queue), [1, 1, 2, 1]);
    }
}
