//! Answers on their way from any thread to the worker whose client waits: one wake-up for a batch.

use crate::requests::REQUESTS;
use crate::streams::{PipeBody, PipeReader};
use sampan_http::Body;
use sampan_http::Response;
use std::cell::RefCell;
use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

/// An answer that the program has given, and that has been checked.
pub(crate) struct GivenAnswer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<OwnHeader>,
    pub(crate) body: Vec<u8>,
    /// The stream in place of the body, if it is still being written.
    pub(crate) stream: Option<PipeReader>,
}

impl GivenAnswer {
    /// The answer as the server sends it. `on_gone` is called if its body is being written and the client leaves
    /// meanwhile.
    pub(crate) fn into_response(self, on_gone: Box<dyn FnOnce()>) -> Response {
        let mut response = Response::new(self.status);
        for (name, value) in &self.headers {
            // It was checked; without room for it the answer goes without.
            let _ = response.header(name, value);
        }
        if let Some(stream) = self.stream {
            response.set_body(Body::Stream(Box::new(PipeBody::new(stream, on_gone))));
        } else if !self.body.is_empty() {
            *response.body_mut() = self.body;
        }
        response
    }
}

/// A name and a value.
pub(crate) type OwnHeader = (Box<[u8]>, Box<[u8]>);

/// The state of a worker, for threads other than its own, while its clients wait.
#[derive(Default)]
pub(crate) struct Inbox(Mutex<InboxState>);

#[derive(Default)]
struct InboxState {
    answers: Vec<(u64, GivenAnswer)>,
    /// The task that hands them out, while it sleeps.
    task: Option<Waker>,
}

impl Inbox {
    fn lock(&self) -> MutexGuard<'_, InboxState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an answer in. Who put it in wakes what it gets, after it has put in all that it has.
    #[must_use]
    pub(crate) fn put(&self, request: u64, answer: GivenAnswer) -> Option<Waker> {
        let mut state = self.lock();
        state.answers.push((request, answer));
        state.task.take()
    }
}

/// The clients of one worker that wait, by the numbers of their requests.
#[derive(Default)]
struct WaitingClients {
    by_request: HashMap<u64, WaitingClient>,
}

#[derive(Default)]
struct WaitingClient {
    answer: Option<GivenAnswer>,
    waker: Option<Waker>,
}

thread_local! {
    static WAITING: RefCell<WaitingClients> = RefCell::default();
    static INBOX: RefCell<Option<Arc<Inbox>>> = const { RefCell::new(None) };
}

/// The inbox of this worker. The first request that asks for it starts what hands the answers out.
pub(crate) fn of_this_worker() -> Arc<Inbox> {
    INBOX.with_borrow_mut(|known| {
        if let Some(inbox) = known {
            return Arc::clone(inbox);
        }
        let inbox = Arc::new(Inbox::default());
        let task = Arc::clone(&inbox);
        drop(tokio::task::spawn_local(poll_fn(move |cx| {
            hand_out(&task, cx)
        })));
        known.insert(inbox).clone()
    })
}

/// Hands out what has come, for as long as the worker lives.
fn hand_out(inbox: &Inbox, cx: &Context<'_>) -> Poll<()> {
    let answers = {
        let mut state = inbox.lock();
        state.task = Some(cx.waker().clone());
        std::mem::take(&mut state.answers)
    };
    let mut wakers = Vec::with_capacity(answers.len());
    WAITING.with_borrow_mut(|waiting| {
        for (request, answer) in answers {
            // Without the client it has gone, and so does its answer.
            if let Some(client) = waiting.by_request.get_mut(&request) {
                client.answer = Some(answer);
                wakers.extend(client.waker.take());
            }
        }
    });
    wakers.into_iter().for_each(Waker::wake);
    Poll::Pending
}

/// Waits for the answer to one request.
pub(crate) struct PendingAnswer {
    request: u64,
    is_answered: bool,
    /// Told if the client leaves first.
    on_gone: Box<dyn FnOnce()>,
}

impl PendingAnswer {
    /// Begins to wait: from here on the request can be answered through the inbox.
    pub(crate) fn new(request: u64, on_gone: Box<dyn FnOnce()>) -> Self {
        WAITING.with_borrow_mut(|waiting| {
            waiting.by_request.insert(request, WaitingClient::default());
        });
        Self {
            request,
            is_answered: false,
            on_gone,
        }
    }
}

impl Future for PendingAnswer {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let request = self.request;
        let answer = WAITING.with_borrow_mut(|waiting| {
            let client = waiting.by_request.get_mut(&request)?;
            let answer = client.answer.take();
            if answer.is_none() {
                client.waker = Some(cx.waker().clone());
            }
            answer
        });
        match answer {
            None => Poll::Pending,
            Some(answer) => {
                self.is_answered = true;
                let on_gone = std::mem::replace(&mut self.on_gone, Box::new(|| ()));
                Poll::Ready(answer.into_response(on_gone))
            }
        }
    }
}

impl Drop for PendingAnswer {
    fn drop(&mut self) {
        // The thread may be ending, and what it keeps be gone.
        let _ = WAITING.try_with(|waiting| {
            if let Ok(mut waiting) = waiting.try_borrow_mut() {
                waiting.by_request.remove(&self.request);
            }
        });
        if !self.is_answered && REQUESTS.client_has_gone(self.request) {
            let on_gone = std::mem::replace(&mut self.on_gone, Box::new(|| ()));
            on_gone();
        }
    }
}
