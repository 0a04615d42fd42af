//! The native functions of this engine that `prelude.js` is written around.

use crate::request::header_list::header_list;
use crate::request::{made, prototypes, response};
use crate::values::json_write;
use crate::vm::hooks;
use crate::vm::sys::{Cx, Failure, Native, RawValue, UNDEFINED, Val, entry, number};
use sampan_host::answer;
use sampan_host::javascript::WORDS;
use std::ffi::CStr;

/// The functions by the name that the prelude gives them.
pub(crate) const FUNCTIONS: &[(&CStr, Native)] = &[
    (c"keep", entry(keep)),
    (c"stringify", entry(stringify)),
    (c"answerText", entry(answer_text)),
    (c"headerList", entry(header_list)),
    (c"report", entry(hooks::report)),
    (c"makeResponse", entry(made::make)),
    (c"showToFetch", entry(prototypes::show_to_fetch)),
    (c"requestField", entry(prototypes::request_field)),
];

fn argument<'a>(args: &[RawValue<'a>], index: usize) -> RawValue<'a> {
    args.get(index).copied().unwrap_or(UNDEFINED)
}

/// `keep(handler)`: its number.
fn keep(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let mut handlers = cx.core().handlers.borrow_mut();
    handlers.push(cx.dup(argument(args, 0)));
    Ok(cx.dup(number((handlers.len() - 1) as f64)))
}

/// `stringify(value)`: the JSON of a value, as an answer has it.
fn stringify(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let value = argument(args, 0);
    Ok(cx.string(&json_write::text(cx, value)?)?)
}

/// `answerText(value)`: the JSON of what a handler returned; `[content, type]` where that is bytes, a `Blob` or a
/// stream.
fn answer_text(cx: Cx<'_>, _: RawValue<'_>, args: &[RawValue<'_>]) -> Result<Val, Failure> {
    let value = argument(args, 0);
    if response::may_be_bytes(cx, value)
        && let Some((body, content_type)) = response::body_of(cx, value)?
    {
        let content_type = match content_type {
            Some(content_type) => content_type,
            None => cx.string(answer::BYTES)?,
        };
        return Ok(cx.array(vec![body, content_type])?);
    }
    let mut out = Vec::new();
    if !json_write::write(cx, &mut out, value)? {
        return Err(answer::no_answer(&WORDS, json_write::found(cx, value)).into());
    }
    Ok(cx.string_from(&out)?)
}
