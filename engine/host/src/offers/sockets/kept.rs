//! Fields of requests that outlive them: a socket keeps them for its events.

use crate::future::LocalFuture;
use crate::request::RequestView;
use crate::tables::module::Context;
use crate::value::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// A field of a request that has ended.
#[derive(Clone)]
pub enum KeptField {
    /// A value that stays as it is.
    Value(Value),
    /// A value that is made anew for each script that asks.
    Live(Rc<dyn Fn(&Context) -> Value>),
    /// A value like that of `Live`, of what is read before each event.
    Read {
        /// Makes the value.
        make: Rc<dyn Fn(&Context) -> Value>,
        /// Returns the wait before an event, if there is one.
        read: Rc<dyn Fn() -> Option<LocalFuture<()>>>,
    },
}

/// Takes a field from a request, while that is answered; `None` if the request does not have it.
pub type KeepField = fn(&Context, &dyn RequestView) -> Option<KeptField>;

/// The fields that capabilities add to requests and that are kept, by their names. The server puts it into the context
/// of an isolate; capabilities add to it when they make what the isolate needs.
#[derive(Default)]
pub struct KeptFields(RefCell<Vec<(&'static str, KeepField)>>);

impl KeptFields {
    /// Has a field kept.
    pub fn add(&self, name: &'static str, keep: KeepField) {
        self.0.borrow_mut().push((name, keep));
    }

    /// Takes the fields of a request.
    pub(super) fn of(
        context: &Context,
        request: &dyn RequestView,
    ) -> Vec<(&'static str, KeptField)> {
        let Some(all) = context.get::<Self>() else {
            return Vec::new();
        };
        let all = all.0.borrow();
        let kept = all
            .iter()
            .filter_map(|(name, keep)| Some((*name, keep(context, request)?)));
        kept.collect()
    }
}
