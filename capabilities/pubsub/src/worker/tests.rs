//! Tests of the order in which receivers get messages.

use super::*;
use crate::limits::MESSAGES_AT_ONCE;
use sampan_host::topics::{Message, MessageKind};
use sampan_host::{Context, Effects, Outbox};

/// The receivers that are blocked.
const BLOCKED: usize = 300;
/// The receivers that read, which have come later.
const READING: usize = 10;

/// An event: a client is given the message with a number, or its task has a turn and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Given(usize, u64),
    Writes(usize),
}

type Steps = Rc<RefCell<Vec<Step>>>;

struct Client {
    number: usize,
    steps: Steps,
    is_blocked: Cell<bool>,
    is_woken: Cell<bool>,
    own: Weak<Self>,
}

impl Receiver for Client {
    fn deliver(&self, message: &Arc<Message>) {
        let given = Step::Given(self.number, message.id.number);
        self.steps.borrow_mut().push(given);
        if self.is_blocked.get() || self.is_woken.replace(true) {
            return;
        }
        let own = self.own.upgrade().expect("a client");
        drop(spawn_local(async move {
            own.is_woken.set(false);
            own.steps.borrow_mut().push(Step::Writes(own.number));
        }));
    }

    fn missed(&self, _: &str) {}

    fn is_blocked(&self) -> bool {
        self.is_blocked.get()
    }
}

/// A worker whose clients have subscribed to one topic.
struct Room {
    _worker: Rc<WorkerTopics>,
    hub: Arc<Hub>,
    clients: Vec<Rc<Client>>,
    steps: Steps,
    _subscriptions: Vec<Subscription>,
}

impl Room {
    /// Opens one in which the first clients are blocked.
    fn open(blocked: usize, reading: usize) -> Self {
        let context = Context::default();
        context.put(Outbox::default());
        let hub = Arc::new(Hub::new().expect("a hub"));
        let around = Surroundings {
            effects: Effects::of(&context).expect("an outbox"),
            carrier: None,
            log: None,
        };
        let worker = WorkerTopics::new(Arc::clone(&hub), 0, around);
        let (mut clients, mut subscriptions) = (Vec::new(), Vec::new());
        let steps = Steps::default();
        for number in 0..blocked + reading {
            let client = Rc::new_cyclic(|own| Client {
                number,
                steps: Rc::clone(&steps),
                is_blocked: Cell::new(number < blocked),
                is_woken: Cell::new(false),
                own: Weak::clone(own),
            });
            let added = worker.add("room", Rc::clone(&client) as _, false, Hub::add_interest);
            subscriptions.push(added.expect("a subscription").1);
            clients.push(client);
        }
        Self {
            _worker: worker,
            hub,
            clients,
            steps,
            _subscriptions: subscriptions,
        }
    }

    /// Publishes messages at once. Returns what happens until all clients have been given them and have written.
    async fn publish(&self, count: usize) -> Vec<Step> {
        self.steps.borrow_mut().clear();
        self.begin(count);
        let wanted = count * self.clients.len();
        self.until(|steps| {
            let is_written = self.clients.iter().all(|client| !client.is_woken.get());
            is_written && given(steps).len() >= wanted
        })
        .await;
        // What moves clients to another group is behind that.
        tokio::task::yield_now().await;
        self.steps.borrow().clone()
    }

    fn begin(&self, count: usize) {
        for _ in 0..count {
            let text = Payload::Text("a message".to_owned());
            let hub = &self.hub;
            hub.publish("room".into(), MessageKind::Published, text);
        }
    }

    async fn until(&self, is_so: impl Fn(&[Step]) -> bool) {
        for _ in 0..100_000 {
            if is_so(&self.steps.borrow()) {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("a message is missing");
    }
}

fn run(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime.expect("a runtime"), test);
}

/// Returns the clients that were given messages, in the order in which they were.
fn given(steps: &[Step]) -> Vec<usize> {
    let given = steps.iter().filter_map(|step| match step {
        Step::Given(client, _) => Some(*client),
        Step::Writes(_) => None,
    });
    given.collect()
}

#[test]
fn clients_that_read_have_written_before_blocked_ones_get_a_message() {
    run(async {
        let room = Room::open(BLOCKED, READING);
        // With the first message it shows that they are blocked.
        room.publish(1).await;
        let steps = room.publish(1).await;
        let mut reading = BLOCKED..BLOCKED + READING;
        let (first, rest) = steps.split_at(2 * READING);
        assert!(given(first).into_iter().eq(reading.clone()), "{first:?}");
        assert!(reading.all(|client| first.contains(&Step::Writes(client))));
        assert!(given(rest).into_iter().eq(0..BLOCKED), "{rest:?}");
    });
}

#[test]
fn clients_that_read_get_a_message_before_all_blocked_ones_have_the_one_before() {
    const MANY: usize = 10 * BLOCKED;
    run(async {
        let room = Room::open(MANY, READING);
        room.publish(1).await;
        room.begin(1);
        room.until(|steps| steps.contains(&Step::Given(0, 2))).await;
        room.begin(1);
        let last = MANY - 1;
        room.until(|steps| steps.contains(&Step::Given(last, 3)))
            .await;
        let steps = room.steps.borrow();
        let place = |client, number| {
            let step = Step::Given(client, number);
            steps.iter().position(|one| *one == step).expect("given")
        };
        assert!(place(MANY, 3) < place(last, 2) && place(last, 2) < place(last, 3));
        // The messages 1, 2 and 3, each once.
        assert_eq!(given(&steps).len(), 3 * room.clients.len());
    });
}

#[test]
fn a_client_that_reads_again_is_among_the_first_and_misses_nothing() {
    run(async {
        let room = Room::open(BLOCKED, READING);
        room.publish(1).await;
        room.clients[7].is_blocked.set(false);
        room.clients[BLOCKED].is_blocked.set(true);
        let all = room.publish(2).await;
        for client in 0..BLOCKED + READING {
            let of_client = |step: &&Step| matches!(step, Step::Given(one, _) if *one == client);
            let numbers = all.iter().filter(of_client);
            let wanted = [Step::Given(client, 2), Step::Given(client, 3)];
            assert!(numbers.eq(&wanted), "{client}");
        }
        let order = given(&room.publish(1).await);
        let place = |client| order.iter().position(|one| *one == client).expect("given");
        assert_eq!((place(7), place(BLOCKED)), (0, order.len() - 1));
    });
}

#[test]
fn a_burst_leaves_each_of_many_clients_in_one_write() {
    const CLIENTS: usize = 600;
    run(async {
        let room = Room::open(0, CLIENTS);
        let steps = room.publish(10).await;
        for client in 0..CLIENTS {
            let written = steps.iter().filter(|step| **step == Step::Writes(client));
            assert_eq!(written.count(), 1, "{client}");
        }
    });
}

#[test]
fn a_blocked_client_gets_a_burst_in_parts() {
    run(async {
        let room = Room::open(2 * BLOCKED, READING);
        room.publish(1).await;
        let clients = given(&room.publish(4 * MESSAGES_AT_ONCE).await);
        let parts = clients.chunk_by(|one, next| one == next);
        assert_eq!(parts.map(<[_]>::len).max(), Some(MESSAGES_AT_ONCE));
    });
}
