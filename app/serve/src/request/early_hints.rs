//! `req:early_hints`: header fields `Link` that are sent before the answer, while its handler waits (RFC 8297).

use sampan_host::request::is_answered;
use sampan_host::{Args, Context, Error, FunctionKind, Module, Type, Value, param, row};
use sampan_http::Request;
use sampan_http::codec::is_field_value;
use std::cell::{Cell, RefCell};

/// The most bytes that the `Link` fields of all hints of a request have, whether they have been sent or wait: a client
/// that does not read leaves them in memory.
const LINKS_BYTES_MAX: usize = 64 * 1024;

/// The bytes of a field `Link` without its value.
const NAME_BYTES: usize = b"Link: \r\n".len();

/// The method for scripts.
pub static MODULE: Module = Module {
    name: "early_hints",
    doc: "Hints before the answer.",
    request_methods: &[row!("early_hints"(
            param!("links": Type::List,
                "Values of the field `Link`, such as `</app.css>; rel=preload; as=style`."),
        ) -> Type::Nothing, FunctionKind::Sync(early_hints),
        "Tells the browser what the page will need, while the handler still waits for the database or for another \
         server: an answer 103 with these `Link` fields leaves at the next wait, once nothing is left to be committed. \
         The answer itself does not get them. A client of HTTP/1.0 gets no hints. Those of a request have at most \
         64 KiB together.")],
    ..Module::EMPTY
};

/// The links of a request, in its store.
#[derive(Default)]
struct EarlyLinks {
    waiting: RefCell<Vec<String>>,
    /// The bytes of all its fields, those that were sent among them.
    bytes: Cell<usize>,
}

impl EarlyLinks {
    fn add(&self, links: Vec<String>) -> Result<(), Error> {
        let fields = links.iter().map(|link| NAME_BYTES + link.len());
        let bytes = self.bytes.get() + fields.sum::<usize>();
        if bytes > LINKS_BYTES_MAX {
            return Err(Error::script(format!(
                "the hints of a request have at most {LINKS_BYTES_MAX} bytes together: send each link once"
            )));
        }
        self.bytes.set(bytes);
        self.waiting.borrow_mut().extend(links);
        Ok(())
    }
}

fn early_hints(_: &Context, mut args: Args) -> Result<Value, Error> {
    let Value::List(links) = args.take(0) else {
        return Ok(Value::Null);
    };
    let request = args.request();
    if request.is_answered() {
        return Err(is_answered());
    }
    let links = links.into_iter().map(|link| match link {
        Value::Text(link) if is_field_value(link.as_bytes()) && !link.is_empty() => Ok(link),
        Value::Text(link) => Err(Error::script(format!(
            "{link:?} is no value of a header field"
        ))),
        _ => Err(Error::script(
            "each link is a text: </app.css>; rel=preload; as=style",
        )),
    });
    let links: Vec<String> = links.collect::<Result<_, _>>()?;
    let store = request.store();
    let kept = store.get::<EarlyLinks>();
    let kept = kept.unwrap_or_else(|| store.put(EarlyLinks::default()));
    kept.add(links).map(|()| Value::Null)
}

/// Hands the links of a request whose handler waits to the connection, if they may leave now.
pub(crate) fn send(
    store: &sampan_host::Store,
    request: &Request,
    may_leave: impl FnOnce() -> bool,
) {
    if store.is_empty() {
        return;
    }
    let Some(links) = store.get::<EarlyLinks>() else {
        return;
    };
    if links.waiting.borrow().is_empty() || !may_leave() {
        return;
    }
    for link in links.waiting.take() {
        // They were checked before.
        let _ = request.early_hint(link.as_bytes());
    }
}
