//! Functions of the script that get the messages of a topic, in each worker or in one for all.

use crate::hub::members::json_value;
use crate::limits::{FUNCTION_BYTES_MAX, FUNCTION_MESSAGES_MAX};
use crate::worker::WorkerTopics;
use sampan_host::log::{Cause, Entry, Level, Log};
use sampan_host::topics::{Message, MessageKind, Payload, Receiver, Subscription};
use sampan_host::{Background, Callback, Context, Error, Value};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::task::spawn_local;

/// A function as the project declares it.
pub(crate) struct Declared {
    pub(crate) topic: String,
    pub(crate) function: Callback,
    pub(crate) is_once: bool,
    /// True if it hears of members too.
    pub(crate) sees_members: bool,
}

/// The functions that get messages on a worker now.
#[derive(Default)]
pub(crate) struct Active(RefCell<Vec<ActiveFunction>>);

struct ActiveFunction {
    receiver: Rc<FunctionReceiver>,
    is_once: bool,
    sees_members: bool,
    /// Its number among the receivers of the worker.
    number: u64,
    subscription: Subscription,
}

/// Calls a function with each message of a topic, one after the other.
struct FunctionReceiver {
    topic: String,
    function: Callback,
    sees_members: bool,
    background: Rc<dyn Background>,
    log: Option<Rc<Rc<dyn Log>>>,
    waiting: RefCell<VecDeque<Arc<Message>>>,
    bytes: Cell<usize>,
    is_running: Cell<bool>,
    /// Held while the function runs. A function that takes the place of this one after a reload has the same.
    turn: Rc<Mutex<()>>,
    /// Itself, for the task that calls the function.
    own: std::rc::Weak<Self>,
}

impl Active {
    /// Gives the messages from now on to the functions of an isolate. Those that the functions before have not begun
    /// with are passed on, also where they are on their way to the worker.
    ///
    /// # Errors
    /// The worker has nothing to run functions with.
    pub(crate) fn replace(
        &self,
        worker: &Rc<WorkerTopics>,
        context: &Context,
        declared: Vec<Declared>,
    ) -> Result<(), Error> {
        let mut before = self.0.take();
        let Some(background) = context.get::<Rc<dyn Background>>() else {
            return Ok(());
        };
        let mut active = Vec::with_capacity(declared.len());
        for Declared {
            topic,
            function,
            is_once,
            sees_members,
        } in declared
        {
            let is_same = |one: &ActiveFunction| {
                let is_alike = one.is_once == is_once && one.sees_members == sees_members;
                one.receiver.topic == topic && is_alike
            };
            let same = before.iter().position(is_same);
            let same = same.map(|at| before.remove(at));
            let receiver = Rc::new_cyclic(|own| FunctionReceiver {
                topic,
                function,
                sees_members,
                background: Rc::clone(&*background),
                log: context.get(),
                waiting: RefCell::default(),
                bytes: Cell::new(0),
                is_running: Cell::new(false),
                turn: same
                    .as_ref()
                    .map_or_else(Rc::default, |one| Rc::clone(&one.receiver.turn)),
                own: own.clone(),
            });
            let topic = &receiver.topic;
            let shared: Rc<dyn Receiver> = Rc::clone(&receiver) as _;
            let (number, subscription) = match same {
                Some(same) => {
                    worker.replace(topic, same.number, shared);
                    let waiting = same.receiver.take();
                    waiting.iter().for_each(|message| receiver.deliver(message));
                    (same.number, same.subscription)
                }
                None => worker.subscribe_function(topic, shared, is_once)?,
            };
            active.push(ActiveFunction {
                receiver,
                is_once,
                sees_members,
                number,
                subscription,
            });
        }
        before.iter().for_each(|one| drop(one.receiver.take()));
        self.0.replace(active);
        Ok(())
    }
}

impl FunctionReceiver {
    fn take(&self) -> VecDeque<Arc<Message>> {
        self.bytes.set(0);
        self.waiting.take()
    }

    fn next(&self) -> Option<Arc<Message>> {
        let message = self.waiting.borrow_mut().pop_front()?;
        self.bytes.set(self.bytes.get() - message.size());
        Some(message)
    }

    #[cold]
    fn warn(&self, text: String) {
        if let Some(log) = &self.log {
            let cause = Cause::message(&text);
            log.write_limited(Level::Warn, cause, &Entry::text(text));
        }
    }
}

impl Receiver for FunctionReceiver {
    fn deliver(&self, message: &Arc<Message>) {
        if message.kind != MessageKind::Published && !self.sees_members {
            return;
        }
        let bytes = self.bytes.get() + message.size();
        if self.waiting.borrow().len() >= FUNCTION_MESSAGES_MAX || bytes > FUNCTION_BYTES_MAX {
            self.warn(format!(
                "app.subscribe({:?}): the function is too slow: messages are dropped",
                self.topic
            ));
            return;
        }
        self.bytes.set(bytes);
        self.waiting.borrow_mut().push_back(Arc::clone(message));
        if self.is_running.replace(true) {
            return;
        }
        let Some(own) = self.own.upgrade() else {
            return;
        };
        drop(spawn_local(async move {
            let what = format!("app.subscribe({:?})", own.topic);
            let turn = Rc::clone(&own.turn);
            loop {
                // The function of the code before a reload may be running.
                let _turn = turn.lock().await;
                let Some(message) = own.next() else {
                    break;
                };
                let value = match message_value(&message.payload) {
                    Ok(value) => value,
                    Err(error) => {
                        own.warn(format!("{what}: {error}"));
                        continue;
                    }
                };
                let args = vec![value, about(&message)];
                let function = Rc::clone(&own.function);
                own.background.run(&what, function, args).await;
            }
            own.is_running.set(false);
        }));
    }

    fn missed(&self, topic: &str) {
        self.warn(format!(
            "app.subscribe({topic:?}): more was published than this worker could take: messages were dropped"
        ));
    }
}

/// The content of a message for a script.
fn message_value(payload: &Payload) -> Result<Value, Error> {
    match payload {
        Payload::Text(text) => Ok(Value::Text(text.clone())),
        Payload::Bytes(bytes) => Ok(Value::Bytes(bytes.clone())),
        Payload::Json(json) => json_value(json),
    }
}

/// The rest of a message for a script.
fn about(message: &Message) -> Value {
    Value::Map(vec![
        ("topic".to_owned(), (*message.topic).into()),
        ("id".to_owned(), message.id.to_string().into()),
        ("event".to_owned(), message.kind.name().into()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::Hub;
    use crate::publishing::Surroundings;
    use sampan_host::{Effects, LocalFuture, Outbox, ScriptFunction};
    use std::time::Duration;
    use tokio::sync::Semaphore;

    /// A function of the code before a reload, or of that after it.
    struct Named(&'static str);

    impl ScriptFunction for Named {
        fn call(&self, _: &[Value]) -> Result<Value, Error> {
            Ok(self.0.into())
        }

        fn start(self: Rc<Self>, _: Vec<Value>) -> LocalFuture<Result<(), Error>> {
            Box::pin(std::future::ready(Ok(())))
        }

        fn start_check(self: Rc<Self>) -> LocalFuture<Result<(), Error>> {
            self.start(Vec::new())
        }

        fn as_any(&self) -> &dyn std::any::Any {
            self
        }
    }

    /// Runs functions that end when they may.
    struct Runs {
        seen: RefCell<Vec<String>>,
        may_end: Semaphore,
    }

    struct Runner(Rc<Runs>);

    impl Background for Runner {
        fn run(&self, _: &str, function: Callback, _: Vec<Value>) -> LocalFuture<()> {
            let runs = Rc::clone(&self.0);
            let name = match function.call(&[]) {
                Ok(Value::Text(name)) => name,
                other => panic!("{other:?}"),
            };
            Box::pin(async move {
                runs.seen.borrow_mut().push(format!("begin {name}"));
                runs.may_end.acquire().await.expect("open").forget();
                runs.seen.borrow_mut().push(format!("end {name}"));
            })
        }

        fn run_within(
            &self,
            _: &str,
            _: Duration,
            _: Arc<sampan_host::Stopper>,
            work: LocalFuture<Result<(), Error>>,
        ) -> LocalFuture<Result<(), Error>> {
            work
        }
    }

    #[test]
    fn a_function_waits_for_the_one_whose_place_it_takes() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime.expect("a runtime"), take_places());
    }

    #[test]
    fn what_is_on_its_way_is_passed_on() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let local = tokio::task::LocalSet::new();
        local.block_on(&runtime.expect("a runtime"), pass_on());
    }

    async fn pass_on() {
        let runs = runs(1_000);
        let (_, hub, replace) = active(&runs);
        replace("old");
        for _ in 0..300 {
            publish(&hub);
        }
        replace("new");
        wait_for(&runs, 600).await;
        // Nothing comes twice.
        tokio::task::yield_now().await;
        let seen = runs.seen.borrow();
        let ended = seen.iter().filter(|line| *line == "end new").count();
        assert_eq!((ended, seen.len()), (300, 600));
    }

    fn runs(may_end: usize) -> Rc<Runs> {
        Rc::new(Runs {
            seen: RefCell::default(),
            may_end: Semaphore::new(may_end),
        })
    }

    fn publish(hub: &Hub) {
        let text = Payload::Text("a message".to_owned());
        hub.publish("work".into(), MessageKind::Published, text);
    }

    async fn wait_for(runs: &Runs, count: usize) {
        for _ in 0..100_000 {
            if runs.seen.borrow().len() >= count {
                return;
            }
            tokio::task::yield_now().await;
        }
        let seen = runs.seen.borrow().len();
        panic!("{seen} lines instead of {count}");
    }

    /// A worker, its hub, and what gives it a function of a name.
    fn active(runs: &Rc<Runs>) -> (Rc<WorkerTopics>, Arc<Hub>, impl Fn(&'static str)) {
        let context = Context::default();
        context.put(Outbox::default());
        context.put::<Rc<dyn Background>>(Rc::new(Runner(Rc::clone(runs))));
        let hub = Arc::new(Hub::new().expect("a hub"));
        let around = Surroundings {
            effects: Effects::of(&context).expect("an outbox"),
            carrier: None,
            log: None,
        };
        let worker = WorkerTopics::new(Arc::clone(&hub), 0, around);
        let (active, topics) = (Active::default(), Rc::clone(&worker));
        let replace = move |name| {
            let declared = Declared {
                topic: "work".to_owned(),
                function: Rc::new(Named(name)),
                is_once: false,
                sees_members: false,
            };
            let replaced = active.replace(&topics, &context, vec![declared]);
            replaced.expect("functions");
        };
        (worker, hub, replace)
    }

    async fn take_places() {
        let runs = runs(0);
        let (_worker, hub, replace) = active(&runs);
        replace("old");
        publish(&hub);
        wait_for(&runs, 1).await;
        replace("new");
        publish(&hub);
        // All tasks have their turn many times.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(*runs.seen.borrow(), ["begin old"]);
        runs.may_end.add_permits(2);
        wait_for(&runs, 4).await;
        let all = ["begin old", "end old", "begin new", "end new"];
        assert_eq!(*runs.seen.borrow(), all);
    }
}
