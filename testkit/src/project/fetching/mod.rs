//! Requests of the app to other servers, in tests: `t.fetch_mock` answers them, and the network is off unless
//! `t.fetch_allow` names it.

mod answer;
mod pattern;

use super::state::{TestState, state_of};
use answer::{MockRequest, answer_of};
use pattern::{FetchPattern, host_of};
use sampan_host::fetch::{FetchAnswer, FetchFault, FetchRequest, Fetcher};
use sampan_host::{
    Args, Callback, Class, Context, Error, FunctionKind, Lifetime, LocalFuture, Type, Value, row,
};
use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

/// A mock, as tests see it.
pub(super) static MOCK: Class = Class {
    name: "FetchMock",
    variable: "mock",
    doc: "Answers requests of the app to other servers, in tests, and records them.",
    methods: &[
        row!("calls"() -> Type::List, FunctionKind::Sync(calls),
            "The requests that it has answered, in their order: `method`, `url`, `headers` by their names in lower \
             case, `body`, and `json`, the value of a JSON body."),
        row!("count"() -> Type::Int, FunctionKind::Sync(count),
            "The number of requests that it has answered."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// The rule for requests that match a pattern.
struct Rule {
    pattern: FetchPattern,
    /// The mock that answers; nothing lets the request through.
    mock: Option<Rc<Mock>>,
    /// True if it was declared while the file was loaded: then it holds for all of its tests.
    is_of_file: bool,
}

/// An answer, and the requests that got it.
struct Mock {
    answer: Value,
    function: Option<Callback>,
    calls: RefCell<Vec<Value>>,
}

/// The way of requests in tests, for the app and the script of the tests.
pub(super) struct TestFetcher {
    rules: RefCell<Vec<Rule>>,
    /// The way to the network.
    network: Option<Rc<dyn Fetcher>>,
}

impl TestFetcher {
    pub(super) fn new(network: Option<Rc<dyn Fetcher>>) -> Self {
        Self {
            rules: RefCell::default(),
            network,
        }
    }

    /// A test begins: the rules of the one before go.
    pub(super) fn begin(&self) {
        let gone: Vec<Rule> = {
            let mut rules = self.rules.borrow_mut();
            let (kept, gone) = rules.drain(..).partition(|rule| rule.is_of_file);
            *rules = kept;
            gone
        };
        for rule in &*self.rules.borrow() {
            rule.mock.iter().for_each(|mock| drop(mock.calls.take()));
        }
        drop(gone);
    }

    fn add(&self, state: &TestState, pattern: &str, mock: Option<Rc<Mock>>) {
        self.rules.borrow_mut().push(Rule {
            pattern: FetchPattern::new(pattern),
            mock,
            is_of_file: !state.is_loaded.get(),
        });
    }

    /// Returns what a request meets: a mock, or nothing where it may leave.
    fn rule_for(&self, request: &FetchRequest) -> Result<Option<Rc<Mock>>, Error> {
        let (method, url) = (&*request.method, &*request.url);
        let rules = self.rules.borrow();
        // A later rule is for a part of what an earlier one is for.
        let mut found = rules.iter().rev();
        match found.find(|rule| rule.pattern.matches(method, url)) {
            Some(rule) => Ok(rule.mock.clone()),
            None if is_loopback(host_of(url)) => Ok(None),
            None => {
                let text = format!(
                    "{method} {url}: the network is off in tests: answer the request with t.fetch_mock({:?}, \
                     {{ ... }}), or let it through with t.fetch_allow({:?})",
                    format!(
                        "{method} {}",
                        url.split(['?', '#']).next().unwrap_or_default()
                    ),
                    format!("{}/*", host_of(url)),
                );
                Err(FetchFault::Refused
                    .error(text)
                    .naming(["fetch_mock", "fetch_allow"]))
            }
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl Fetcher for TestFetcher {
    fn fetch(&self, request: FetchRequest) -> LocalFuture<Result<FetchAnswer, Error>> {
        let met = self.rule_for(&request);
        let network = self.network.clone();
        Box::pin(async move {
            let Some(mock) = met? else {
                let missing = || Error::script("requests cannot be sent here");
                return network.ok_or_else(missing)?.fetch(request).await;
            };
            let request = MockRequest::read(request).await?;
            let shown = request.shown();
            mock.calls.borrow_mut().push(shown.clone());
            let answer = match &mock.function {
                Some(function) => function.call(&[shown])?,
                None => mock.answer.clone(),
            };
            answer_of(answer, &request)
        })
    }
}

fn fetcher(state: &TestState) -> &TestFetcher {
    &state.fetcher
}

/// `t.fetch_mock(pattern, answer)`
pub(super) fn fetch_mock(context: &Context, mut args: Args) -> Result<Value, Error> {
    let state = state_of(context)?;
    let (pattern, function) = (args.text(0), args.function(1));
    let answer = args.take(1);
    if function.is_none() {
        // A wrong answer is told of where it is written.
        answer_of(answer.clone(), &MockRequest::default())
            .map(drop)
            .or_else(answer::unless_a_fault)?;
    }
    let mock = Rc::new(Mock {
        answer,
        function,
        calls: RefCell::default(),
    });
    fetcher(&state).add(&state, &pattern, Some(Rc::clone(&mock)));
    Ok(Value::Object(context.objects().add_shared(&MOCK, mock)))
}

/// `t.fetch_allow(pattern)`
pub(super) fn fetch_allow(context: &Context, mut args: Args) -> Result<Value, Error> {
    let state = state_of(context)?;
    fetcher(&state).add(&state, &args.text(0), None);
    Ok(Value::Null)
}

fn calls(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, mock) = args.object::<Mock>(context)?;
    let calls = mock.calls.borrow().clone();
    Ok(Value::List(calls))
}

fn count(context: &Context, args: Args) -> Result<Value, Error> {
    let (_, mock) = args.object::<Mock>(context)?;
    let count = mock.calls.borrow().len();
    Ok(Value::Int(count as i64))
}
