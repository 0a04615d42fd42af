//! The guard that gives answers again, and the keeper of those that are made.

use crate::answers::fitness::{self, Fitness};
use crate::answers::key;
use crate::answers::options::AnswerCacheOptions;
use crate::entries::{Entry, Weighed};
use crate::limits::{ANSWER_WAITS_MAX, REFUSED_SECONDS_MAX};
use crate::store::{Begun, CacheStore, Filling, Made, Making, now};
use sampan_host::request::{AnswerKeeper, KeptHead, WholeAnswer};
use sampan_host::{
    Args, Context, Error, ErrorKind, Guard, GuardDecision, GuardStep, LocalFuture,
    NativeMiddleware, RequestView, Value,
};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The value of `Retry-After` for requests that have waited in vain.
const RETRY_SECONDS: &[u8] = b"1";

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
    options: Rc<AnswerCacheOptions>,
    /// The beginning of its keys.
    beginning: String,
}

/// Keeps the answer of one request.
struct AnswerFilling {
    /// `None` once it is known that the answer is not kept.
    filling: Cell<Option<Filling<CachedAnswer>>>,
    options: Rc<AnswerCacheOptions>,
}

/// Notes in the store of a request that its answer is kept, by the outermost of several caches.
struct IsKept;

/// `app.cached(options)`
pub(super) fn cached(context: &Context, mut args: Args) -> Result<Value, Error> {
    let options = AnswerCacheOptions::read(args.take(0))?;
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
    options: &Rc<AnswerCacheOptions>,
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

/// The end of the wait for an answer that another request makes.
enum Waited {
    /// The answer, or the note that each request makes its own.
    Ends(Arc<CachedAnswer>),
    /// The right to make the answer: the other request has failed, or was given up.
    Fills(Filling<CachedAnswer>),
    /// The last of several that made it has failed. All who wait at once would be many for what fails.
    Failed,
}

/// Waits for the answer that another request makes; those who wait take over from one that fails, one at a time.
async fn wait(
    mut making: Making<CachedAnswer>,
    store: &Arc<CacheStore<CachedAnswer>>,
    key: &Arc<str>,
    may_fill: bool,
) -> Waited {
    let mut has_failed = false;
    for _ in 0..ANSWER_WAITS_MAX {
        let made = making.wait_for(Option::is_some).await;
        match made.ok().and_then(|made| made.clone()) {
            Some(Made::Value(value)) => return Waited::Ends(value),
            Some(Made::Failed) => has_failed = true,
            None => {}
        }
        if !may_fill {
            match store.making(key) {
                Some(next) => making = next,
                None => {
                    let refused = || Arc::new(CachedAnswer::Refused);
                    return Waited::Ends(store.get(key).unwrap_or_else(refused));
                }
            }
            continue;
        }
        match store.begin(key) {
            Begun::There(value) => return Waited::Ends(value),
            Begun::Waits(next) => making = next,
            Begun::Fills(filling) => return Waited::Fills(filling),
        }
    }
    match has_failed {
        true => Waited::Failed,
        // A request that has waited in vain makes an answer of its own.
        false => Waited::Ends(Arc::new(CachedAnswer::Refused)),
    }
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
        let making = self.store.making(&key)?;
        let (store, options) = (Arc::clone(&self.store), Rc::clone(&self.options));
        // The answer to HEAD may lack the body that a GET has.
        let may_fill = request.method() != "HEAD";
        Some(Box::pin(async move {
            let waited = wait(making, &store, &key, may_fill).await;
            let decide = move |request: &dyn RequestView| match waited {
                Waited::Ends(cached) => step(request, &cached),
                Waited::Fills(filling) => Ok(fill(request, filling, &options)),
                Waited::Failed => {
                    request.add_header("Retry-After", RETRY_SECONDS)?;
                    let text = format!(
                        "app.cached: {ANSWER_WAITS_MAX} requests for this answer have failed, one after the other, \
                         and those that waited for them do not try all at once"
                    );
                    Err(Error::new(ErrorKind::Unavailable, text))
                }
            };
            Box::new(decide) as GuardDecision
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
                match self.filling.take() {
                    Some(filling) if head.answer.status >= 500 => filling.fail(),
                    // Those who wait make their own: one after the other they would wait for long.
                    Some(filling) => filling.give(Arc::new(CachedAnswer::Refused)),
                    None => {}
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
