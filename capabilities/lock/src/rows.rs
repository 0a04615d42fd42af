//! The function of `app` for locks.

use crate::capability;
use crate::limits::{NAME_BYTES_MAX, TIMEOUT_SECONDS, TIMEOUT_SECONDS_MAX};
use crate::server::ServerLock;
use sampan_host::request::HeldToEnd;
use sampan_host::{
    Args, Class, Context, CurrentRun, Effects, Error, ErrorKind, FunctionKind, Lifetime,
    LocalFuture, Module, RequestView, Type, Value, param, refusals, row,
};
use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::OwnedMutexGuard;
use tokio::time::timeout;

/// The function of `app` for locks.
pub(crate) static MODULE: Module = Module {
    name: "app",
    doc: "Locks.",
    functions: &[row!("lock"(
                param!("name": Type::Text, "The name of the lock, 1 to 1024 bytes: `import:7`."),
                param!("options"? Type::Map,
                    "`timeout`: how many seconds to wait for the lock, 10 unless given; 0 to try once."),
            ) -> Type::Any,
            FunctionKind::AsyncBracket {
                gives: Type::Nothing,
                enter,
                leave,
            },
            "Calls the function, which may wait, while no other handler of the process has the lock, on any worker; on \
             PostgreSQL no handler of any process. It returns what the function returns. The lock is free again when \
             the function has ended or failed, and what it wrote is on disk; if its request was given up, when the \
             cleanup has ended. Where the lock is not free in time, it is an error with the `code` `lock_timeout` that \
             answers 503. A handler must not ask for a lock that it has.")],
    classes: &[&HELD],
    ..Module::EMPTY
};

/// A lock that a request has.
static HELD: Class = Class {
    name: "HeldLock",
    variable: "held",
    doc: "",
    methods: &[],
    lifetime: Lifetime::Request,
    is_keyed: false,
};

/// A lock until its function has ended.
struct Held {
    guard: Cell<Option<Guard>>,
    effects: Effects,
    /// The request whose script has it; `None` for other runs.
    request: Option<LockedRequest>,
}

/// A request whose script has a lock.
struct LockedRequest {
    view: Rc<dyn RequestView>,
    run: Rc<CurrentRun>,
}

/// A lock whose request was given up before its function has ended. It is held until the cleanup has ended.
struct HeldByCleanup {
    /// Gives the lock back when it is dropped, after the writes of the request are refused.
    held: Held,
    view: Weak<dyn RequestView>,
    run: Rc<CurrentRun>,
}

/// The parts of a lock.
struct Guard {
    here: OwnedMutexGuard<()>,
    /// The lock against other processes.
    server: Option<ServerLock>,
}

impl Guard {
    /// Gives the lock back, first to other processes.
    fn release(self) {
        if let Some(server) = self.server {
            server.release(self.here);
        }
    }
}

impl Held {
    /// Gives the lock back when everything is committed that was written under it: by the run that goes on, or by a
    /// request.
    fn release(&self, request: Option<&Rc<dyn RequestView>>) {
        if let Some(guard) = self.guard.take() {
            // What was rolled back is not waited for: the guard is dropped with the effect.
            let _ = self.effects.when_settled(request, move |_| guard.release());
        }
    }

    /// Reports whether another process may have had the lock meanwhile.
    fn is_lost(&self) -> bool {
        let guard = self.guard.take();
        let server = guard.as_ref().and_then(|guard| guard.server.as_ref());
        let is_lost = server.is_some_and(ServerLock::is_lost);
        self.guard.set(guard);
        is_lost
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let request = self.request.take().filter(|one| !one.view.is_over());
        let Some(LockedRequest { view, run }) = request else {
            return self.release(None);
        };
        if let Some(guard) = self.guard.take() {
            let held = HeldByCleanup {
                held: Self {
                    guard: Cell::new(Some(guard)),
                    effects: self.effects.clone(),
                    request: None,
                },
                view: Rc::downgrade(&view),
                run,
            };
            HeldToEnd::hold(&*view, held);
        }
    }
}

impl Drop for HeldByCleanup {
    /// In JavaScript the function may go on behind the cleanup too: it writes nothing without the lock.
    fn drop(&mut self) {
        if let Some(view) = self.view.upgrade() {
            self.run.refuse_writes(&*view);
            self.held.release(Some(&view));
        }
    }
}

fn enter(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let locks = capability::of(context);
    let objects = context.objects().clone();
    let run = context.get::<CurrentRun>();
    let request = run.and_then(|run| {
        Some(LockedRequest {
            view: run.request()?,
            run,
        })
    });
    let (name, seconds) = (args.text(0), seconds(args.take(1)));
    Box::pin(async move {
        let seconds = seconds?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            return Err(Error::script(format!(
                "the name of a lock has 1 to {NAME_BYTES_MAX} bytes, not {}",
                name.len()
            )));
        }
        let locks =
            locks.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no locks here"))?;
        let late = || {
            let text = format!("the lock {name:?} was not free within {seconds} s");
            Error::new(ErrorKind::Unavailable, text).with_code("lock_timeout")
        };
        let (begun, time) = (Instant::now(), Duration::from_secs_f64(seconds));
        let taken = timeout(time, locks.all.take(&name)).await;
        let here = taken.map_err(|_| late())?;
        let server = match &locks.server {
            None => None,
            Some(server) => {
                let left = time.saturating_sub(begun.elapsed());
                Some(server.take(&name, left).await?.ok_or_else(late)?)
            }
        };
        let held = Held {
            guard: Cell::new(Some(Guard { here, server })),
            effects: locks.effects.clone(),
            request,
        };
        Ok(Value::Object(objects.add(&HELD, held)))
    })
}

/// Reads the time for which the lock is waited for.
fn seconds(given: Value) -> Result<f64, Error> {
    let mut timeout = TIMEOUT_SECONDS;
    let Value::Map(options) = given else {
        return Ok(timeout);
    };
    for (name, value) in options {
        timeout = match (name.as_str(), value) {
            ("timeout", Value::Int(seconds)) => seconds as f64,
            ("timeout", Value::Float(seconds)) => seconds,
            ("timeout", _) => -1.0,
            (name, _) => return Err(refusals::unknown_option(name, &["timeout"])),
        };
        if !(0.0..=TIMEOUT_SECONDS_MAX).contains(&timeout) {
            return Err(Error::script(format!(
                "timeout must be a number of seconds from 0 to {TIMEOUT_SECONDS_MAX}"
            )));
        }
    }
    Ok(timeout)
}

fn leave(context: &Context, held: Value, succeeded: bool) -> LocalFuture<Result<(), Error>> {
    let mut ended = Ok(());
    if let Value::Object(object) = held {
        if let Some(held) = context.objects().get::<Held>(object) {
            if succeeded && held.is_lost() {
                let text = "the lock was lost: the database was out of reach for too long, and another process may \
                            have had the lock meanwhile";
                ended = Err(Error::new(ErrorKind::Unavailable, text).with_code("lock_lost"));
            }
            held.release(None);
        }
        context.objects().remove(object);
    }
    Box::pin(std::future::ready(ended))
}
