//! The guard that gives answers again, and the keeper of those that are made.

use crate::answers::fitness::{self, Fitness};
use crate::answers::key;
use crate::answers::options::Options;
use crate::entries::{Entry, Weighed};
use crate::limits::{ANSWER_WAITS_MAX, REFUSED_SECONDS_MAX};
use crate::store::{Begun, CacheStore, Filling, Made, now};
use sampan_host::request::{AnswerKeeper, KeptHead, WholeAnswer};
use sampan_host::{
    Args, Context, Error, ErrorKind, Guard, GuardDecision, GuardStep, LocalFuture,
    NativeMiddleware, RequestView, Value,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// An answer in the store.
#[derive(Debug)]
pub(crate) enum CachedAnswer {
    /// An answer that is given again.
    Whole {
        answer: Arc<WholeAnswer>,
        /// The time at which it was made.
        made: Duration,
    },
    /// No answer of this key is kept: each request makes its own, and none waits for another.
    Refused,
}

impl CachedAnswer {
    /// Returns the time for which it counts in a cache that keeps answers for `ttl`.
    fn holds(&self, ttl: Duration) -> Duration {
        match self {
            Self::Whole { .. } => ttl,
            Self::Refused => ttl.min(Duration::from_secs(REFUSED_SECONDS_MAX)),
        }
    }
}

impl Weighed for CachedAnswer {
    fn weight(&self) -> usize {
        match self {
            // An answer may have many short fields.
            Self::Whole { answer, .. } => {
                answer.bytes() + answer.fields.len() * size_of::<(Vec<u8>, Vec<u8>)>()
            }
            Self::Refused => 0,
        }
    }
}

/// A cache of answers as middleware.
struct CachedAnswers {
    store: Arc<CacheStore<CachedAnswer>>,
    options: Rc<Options>,
    /// The beginning of its keys.
    beginning: String,
}

/// Keeps the answer of one request.
struct AnswerFilling {
    /// Nothing once it is known that the answer is not kept.
    filling: Cell<Option<Filling<CachedAnswer>>>,
    options: Rc<Options>,
}

/// Notes in the store of a request that its answer is kept, by the outermost of several caches.
struct IsKept;

/// `app.cached(options)`
pub(super) fn cached(context: &Context, mut args: Args) -> Result<Value, Error> {
    let options = Options::read(args.take(0))?;
    let store = context.get::<Arc<CacheStore<CachedAnswer>>>();
    let store = store.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no cache here"))?;
    let cache = CachedAnswers {
        store: Arc::clone(&store),
        beginning: key::beginning(&options),
        options: Rc::new(options),
    };
    Ok(NativeMiddleware::guard(context, cache))
}

impl CachedAnswers {
    /// Returns the key of a request, unless a cache further out keeps its answer already.
    fn key(&self, request: &dyn RequestView) -> Option<Arc<str>> {
        let key = key::of(&self.beginning, &self.options, request)?;
        request.store().get::<IsKept>().is_none().then_some(key)
    }
}

/// The step for a request whose answer was kept.
fn step(request: &dyn RequestView, cached: &CachedAnswer) -> Result<GuardStep, Error> {
    let CachedAnswer::Whole { answer, made } = cached else {
        return Ok(GuardStep::Pass);
    };
    // RFC 9111 section 5.1.
    let age = now().saturating_sub(*made).as_secs();
    request.add_header("Age", age.to_string().as_bytes())?;
    Ok(GuardStep::Whole(Arc::clone(answer)))
}

/// Has a request make the answer for all who wait.
fn fill(
    request: &dyn RequestView,
    filling: Filling<CachedAnswer>,
    options: &Rc<Options>,
) -> GuardStep {
    if let Some(plans) = request.whole_answer() {
        request.store().put(IsKept);
        plans.keep(Rc::new(AnswerFilling {
            filling: Cell::new(Some(filling)),
            options: Rc::clone(options),
        }));
    }
    GuardStep::Pass
}

impl Guard for CachedAnswers {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        let Some(key) = self.key(request) else {
            return Ok(GuardStep::Pass);
        };
        if request.method() == "HEAD" {
            // Its answer may lack the body that a GET has.
            let cached = self.store.get(&key);
            return cached.map_or(Ok(GuardStep::Pass), |cached| step(request, &cached));
        }
        match self.store.begin(&key) {
            Begun::There(cached) => step(request, &cached),
            Begun::Waits(_) => Ok(GuardStep::Pass),
            Begun::Fills(filling) => Ok(fill(request, filling, &self.options)),
        }
    }

    fn ask(&self, request: &dyn RequestView) -> Option<LocalFuture<GuardDecision>> {
        let key = self.key(request)?;
        let mut making = self.store.making(&key)?;
        let (store, options) = (Arc::clone(&self.store), Rc::clone(&self.options));
        // The answer to HEAD may lack the body that a GET has.
        let may_fill = request.method() != "HEAD";
        Some(Box::pin(async move {
            // A request that has waited in vain makes an answer of its own.
            let mut cached = Arc::new(CachedAnswer::Refused);
            for _ in 0..ANSWER_WAITS_MAX {
                let made = making.wait_for(Option::is_some).await;
                match made.ok().and_then(|made| made.clone()) {
                    Some(Made::Value(value)) => cached = value,
                    // That request was given up: one of those who wait makes the answer instead.
                    None if may_fill => match store.begin(&key) {
                        Begun::There(value) => cached = value,
                        Begun::Waits(next) => {
                            making = next;
                            continue;
                        }
                        Begun::Fills(filling) => {
                            let decide = move |request: &dyn RequestView| {
                                Ok(fill(request, filling, &options))
                            };
                            return Box::new(decide) as GuardDecision;
                        }
                    },
                    None | Some(Made::Failed) => {}
                }
                break;
            }
            Box::new(move |request: &dyn RequestView| step(request, &cached)) as GuardDecision
        }))
    }

    fn replaces_handlers(&self) -> Option<&'static str> {
        Some("app.cached")
    }
}

impl AnswerFilling {
    fn finish(&self, cached: CachedAnswer) {
        if let Some(filling) = self.filling.take() {
            filling.finish(Entry {
                until: Some(now() + cached.holds(self.options.ttl)),
                value: Arc::new(cached),
            });
        }
    }
}

impl AnswerKeeper for AnswerFilling {
    fn wants(&self, head: KeptHead<'_>) -> bool {
        match fitness::of(head, &self.options.vary) {
            Fitness::Kept => true,
            Fitness::Passing => {
                // Those who wait make their own: one after the other they would wait for long.
                if let Some(filling) = self.filling.take() {
                    filling.give(Arc::new(CachedAnswer::Refused));
                }
                false
            }
            Fitness::Refused => {
                self.finish(CachedAnswer::Refused);
                false
            }
        }
    }

    fn keep(self: Rc<Self>, mut answer: WholeAnswer) {
        // It has the age of this cache from now on.
        answer
            .fields
            .retain(|(name, _)| !name.eq_ignore_ascii_case(b"age"));
        self.finish(CachedAnswer::Whole {
            answer: Arc::new(answer),
            made: now(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole(fields: usize) -> CachedAnswer {
        let answer = WholeAnswer {
            status: 200,
            fields: vec![(b"A".to_vec(), Vec::new()); fields],
            content_type: None,
            body: vec![0; 10],
        };
        CachedAnswer::Whole {
            answer: Arc::new(answer),
            made: Duration::ZERO,
        }
    }

    #[test]
    fn many_short_fields_take_room() {
        assert_eq!(whole(0).weight(), 10);
        assert!(whole(1000).weight() > 1000 * 40);
        assert_eq!(CachedAnswer::Refused.weight(), 0);
    }

    #[test]
    fn one_answer_that_is_not_for_all_does_not_end_a_cache_for_long() {
        let hour = Duration::from_secs(3600);
        assert_eq!(whole(0).holds(hour), hour);
        let refused = CachedAnswer::Refused;
        assert_eq!(refused.holds(hour), Duration::from_secs(10));
        assert_eq!(
            refused.holds(Duration::from_secs(1)),
            Duration::from_secs(1)
        );
    }
}
