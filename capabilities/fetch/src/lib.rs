//! Requests to other servers for scripts: the Web's `fetch` in JavaScript, `app.fetch` in Lua.
//!
//! Both are made by their engines of the rows here, which scripts do not see ([`Module::sends_requests`]). A row reads
//! the request of a script (`request`), has it sent by the server ([`sampan_host::fetch`]), and gives its answer
//! (`send`). Two native objects stand between: a `Call` that can be aborted and fed, and the rest of an
//! answer's body (`AnswerBody`).

mod body;
mod call;
mod form;
mod limits;
mod request;
mod send;
mod under_way;

use sampan_host::{Capability, FunctionKind, Module, Type, param, row};

/// Requests to other servers.
pub static CAPABILITY: Capability = Capability {
    name: "fetch",
    modules: &[&MODULE],
    asks: &["fetcher"],
    ..Capability::EMPTY
};

/// The rows behind `fetch`, see [`Module::sends_requests`].
pub static MODULE: Module = Module {
    name: "http_client",
    doc: "Requests to other servers.",
    functions: &[
        row!("call"(
                param!("streams": Type::Bool, "True if the body of the request is given to the object piece by piece."),
                param!("length"? Type::Int, "The number of bytes of that body, if it is known."),
            ) -> Type::Object(&call::CALL), FunctionKind::Sync(call::make),
            "Makes the object by which a request is aborted and fed, before it is sent."),
        row!("send"(
                param!("request": Type::Map, "`url`, `method`, `headers` (a flat list of names and values), options."),
                param!("call"? Type::Object(&call::CALL), "The object by which it is aborted and fed."),
                param!("feed"? Type::Function, "A function that feeds the body: it gets such an object."),
                param!("json"? Type::Json, "The body as a value that JSON has."),
            ) -> Type::Map, FunctionKind::Async(send::send),
            "Sends a request when the writes that it may depend on are committed, and waits for its answer: `status`, \
             `reason`, `url`, `redirected`, `headers` (a flat list), and `body` where all of it is there, or `rest`."),
        row!("decode"(param!("text": Type::Bytes, "The body of an answer.")) -> Type::Any,
            FunctionKind::Sync(body::decode),
            "The value of an answer that is JSON."),
    ],
    classes: &[&call::CALL, &body::BODY, &body::RUN_BODY],
    ..Module::EMPTY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn engines_find_the_rows() {
        assert!(MODULE.sends_requests() && !MODULE.is_seen());
    }
}
