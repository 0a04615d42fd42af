//! Exceptions become [`sampan_host::Error`]s with file, line and stack, and those become exceptions.

mod advice;

use crate::vm::source_text::{callees, empty_loop_behind};
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, Val, is_nothing, is_object, is_string, number,
};
use crate::vm::sys::{hidden, whole_number};
use rquickjs::qjs;
use sampan_host::javascript::WORDS;
use sampan_host::{Details, Error, ErrorKind, Hint, Place};
use std::ffi::CStr;

/// Files whose name begins so are our own; their frames say nothing to the author of a script.
pub(crate) const OWN_FILES: &str = "sampan:";

/// A native error as an `Error` object. It keeps its kind in a hidden property, and shows the status of its answer as
/// `status` if that is not 500; what a script can tell it by as `code`, `table`, `columns` and `constraint`.
pub(crate) fn to_exception(cx: Cx<'_>, error: &Error) -> Result<Val, Thrown> {
    fill(cx, here(cx)?, error)
}

/// An error object without a message, with the calls that are going on.
pub(crate) fn here(cx: Cx<'_>) -> Result<Val, Thrown> {
    // SAFETY: the context is alive. The reference that comes back is owned.
    unsafe { cx.check(qjs::JS_NewError(cx.raw())) }
}

/// Makes an error object say what a native error says.
pub(crate) fn fill(cx: Cx<'_>, made: Val, error: &Error) -> Result<Val, Thrown> {
    // A list keeps what is undefined, so a short one has lost nothing.
    let said = error.message_spelled(WORDS.spell);
    let message = match error.hint() {
        Some(Hint::MissingMember) => {
            cx.string(&format!("{said} (undefined is no value: use null)"))?
        }
        Some(Hint::ShortList | Hint::NoMembers) | None => cx.string(&said)?,
    };
    hidden(cx, made.raw(), c"message", message)?;
    let status = error.kind().status();
    if status != 500 {
        hidden(cx, made.raw(), c"status", cx.dup(number(f64::from(status))))?;
    }
    if let Some(mark) = error.kind().mark() {
        cx.define_atom(
            made.raw(),
            cx.core().atoms.kind,
            cx.dup(number(mark as f64)),
        )?;
    }
    if let Some(details) = error.details() {
        show_details(cx, made.raw(), details)?;
    }
    if let Some(stack) = error.stack() {
        // The error was raised in a function that was called back.
        hidden(cx, made.raw(), c"stack", cx.string(stack)?)?;
    }
    Ok(made)
}

/// Adds what is known as properties that are listed, so that copies and logs have them.
fn show_details(cx: Cx<'_>, made: RawValue<'_>, details: &Details) -> Result<(), Thrown> {
    cx.define(made, c"code", cx.string(&details.code)?)?;
    if let Some(table) = &details.table {
        cx.define(made, c"table", cx.string(table)?)?;
    }
    if !details.columns.is_empty() {
        let columns = details.columns.iter().map(|column| cx.string(column));
        let columns = columns.collect::<Result<_, _>>()?;
        cx.define(made, c"columns", cx.array(columns)?)?;
    }
    if let Some(constraint) = &details.constraint {
        cx.define(made, c"constraint", cx.string(constraint)?)?;
    }
    Ok(())
}

/// Throws a native error. If there is no memory for that, QuickJS's own exception for it is pending.
pub(crate) fn throw(cx: Cx<'_>, error: &Error) {
    if let Ok(exception) = to_exception(cx, error) {
        // SAFETY: the context is alive, and the function takes over the reference that `into_raw` gives up.
        unsafe { qjs::JS_Throw(cx.raw(), exception.into_raw()) };
    }
}

impl Cx<'_> {
    /// Throws, and gives back what a native function then returns.
    pub(crate) fn throw(self, failure: Failure) -> qjs::JSValue {
        if let Failure::Error(error) = failure {
            throw(self, &error);
        }
        qjs::JS_EXCEPTION
    }
}

/// Takes the pending exception as an error.
pub(crate) fn take(cx: Cx<'_>) -> Error {
    let exception = cx.exception();
    describe(cx, exception.raw())
}

/// Converts a thrown value to an error. Looking at it may run getters of the script; what those throw is dropped.
pub(crate) fn describe(cx: Cx<'_>, thrown: RawValue<'_>) -> Error {
    if !is_object(thrown) {
        let text = plain_text(cx, thrown);
        return Error::script(if is_string(thrown) {
            text
        } else {
            format!("uncaught {text}")
        });
    }
    // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
    let is_error = unsafe { qjs::JS_IsError(thrown.js()) };
    let name = if is_error {
        text_property(cx, thrown, c"name").unwrap_or_default()
    } else {
        String::new()
    };
    let message = text_property(cx, thrown, c"message");
    let stack = if is_error {
        text_property(cx, thrown, c"stack")
    } else {
        None
    };
    let kind = kind_of(cx, thrown, &name, message.as_deref());
    let is_aggregate = name == "AggregateError";
    let message = match (&*name, message) {
        ("TypeError", Some(text)) if text == "not a function" => {
            Some(not_a_function(cx, stack.as_deref()))
        }
        ("TypeError", Some(text)) if text.ends_with(" of undefined") => {
            Some(match of_undefined(cx, &text, stack.as_deref()) {
                Some(advice) => format!("{text}: {advice}"),
                None => text,
            })
        }
        ("SyntaxError", Some(text)) if text.ends_with("'<'") => Some(format!(
            "{text}: if this is JSX, the name of the file must end with .jsx or .tsx"
        )),
        ("ReferenceError", Some(text)) => Some(match advice::of_global(&text) {
            Some(advice) => format!("{text}: {advice}"),
            None => text,
        }),
        (_, message) => message,
    };
    let message = match message {
        Some(_) if kind == ErrorKind::Memory && name == "InternalError" => {
            cx.core().limits.out_of_memory().message().to_owned()
        }
        Some(message) if name.is_empty() || name == "Error" || kind != ErrorKind::Script => message,
        Some(message) if message.is_empty() => name,
        Some(message) => format!("{name}: {message}"),
        // The client would be shown what it holds.
        None if name.is_empty() && kind.is_public() => String::new(),
        None if name.is_empty() => format!("uncaught {}", json_text(cx, thrown)),
        None => name,
    };
    let error = Error::new(kind, message);
    // The script's own error handler is given what was thrown, so the code is all that is needed here, for the log.
    let error = match text_property(cx, thrown, c"code") {
        Some(code) if is_error => error.with_details(Details {
            code: code.into(),
            ..Details::default()
        }),
        _ => error,
    };
    let error = match stack {
        Some(stack) => {
            let mut others = cause_of(cx, thrown, 0);
            if is_aggregate {
                others.push_str(&errors_of(cx, thrown));
            }
            with_stack(error, &stack, others)
        }
        None => error,
    };
    if cx.core().must_stop() {
        cx.core().note_interrupt(&at_empty_loop(cx, error.clone()));
    }
    error
}

/// The error at the loop without a body that was stopped. QuickJS keeps no place for it, and names what was done
/// before.
#[cold]
fn at_empty_loop(cx: Cx<'_>, error: Error) -> Error {
    let found = error.place().and_then(|place| {
        let source = cx.core().scripts.source_text(&place.file)?;
        let (line, column) = empty_loop_behind(&String::from_utf8_lossy(&source), place.line)?;
        let named = format!("{}:{}:", place.file, place.line);
        let stack = error.stack()?;
        let (front, rest) = stack.split_once(&named)?;
        let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let stack = format!("{front}{}:{line}:{column}{rest}", place.file);
        let file = place.file.clone();
        Some((Place { file, line }, stack))
    });
    match found {
        Some((place, stack)) => error.at(Some(place)).with_stack(stack),
        None => error,
    }
}

/// Returns advice about a member of `undefined` that was read, by the line that reads it.
#[cold]
fn of_undefined(cx: Cx<'_>, message: &str, stack: Option<&str>) -> Option<String> {
    let place = stack?.lines().find_map(place_of)?;
    let source = cx.core().scripts.source_text(&place.file)?;
    advice::of_undefined(cx, message, &String::from_utf8_lossy(&source), place.line)
}

/// Says what was called that is no function. QuickJS tells only where.
#[cold]
fn not_a_function(cx: Cx<'_>, stack: Option<&str>) -> String {
    const PLAIN: &str = "not a function";
    let Some(call) = stack.and_then(|stack| stack.lines().find(|line| !line.trim().is_empty()))
    else {
        return PLAIN.to_owned();
    };
    if let Some(built_in) = call
        .trim()
        .strip_prefix("at ")
        .and_then(|call| call.strip_suffix(" (native)"))
    {
        return format!("{built_in}: an argument is not a function");
    }
    let named = place_of(call).and_then(|place| {
        let source = cx.core().scripts.source_text(&place.file)?;
        let source = String::from_utf8_lossy(&source);
        let line = source.lines().nth((place.line as usize).checked_sub(1)?)?;
        let (_, column) = call.trim_end_matches(')').rsplit_once(':')?;
        let column: usize = column.parse().ok()?;
        let front: String = line.chars().take(column).collect();
        if front.trim_start() == "(" {
            return Some(format!(
                "{PLAIN}: is a semicolon missing in the line before?"
            ));
        }
        let mut callees = callees(line, column);
        if callees.len() > 1 {
            callees.retain(|callee| !advice::is_own_function(cx, callee));
        }
        let [callee] = callees[..] else {
            return None;
        };
        if advice::is_own_function(cx, callee) {
            return Some(format!(
                "{callee}(...) gives no function: is a semicolon missing behind it?"
            ));
        }
        let said = format!("{callee} is {PLAIN}");
        Some(match advice::of_function(cx, callee) {
            Some(advice) => format!("{said}: {advice}"),
            None => said,
        })
    });
    named.unwrap_or_else(|| PLAIN.to_owned())
}

fn kind_of(cx: Cx<'_>, thrown: RawValue<'_>, name: &str, message: Option<&str>) -> ErrorKind {
    if let Ok(mark) = cx.get_atom(thrown, cx.core().atoms.kind)
        && let Some(mark) = whole_number(mark.raw()).and_then(|mark| usize::try_from(mark).ok())
        && let Some(kind) = ErrorKind::marked(mark)
    {
        return kind;
    }
    if name == "InternalError" && message == Some("out of memory") {
        return ErrorKind::Memory;
    }
    match cx.get_atom(thrown, cx.core().atoms.status) {
        Ok(status) => whole_number(status.raw())
            .filter(|status| (400..=599).contains(status))
            .map_or(ErrorKind::Script, |status| ErrorKind::Status(status as u16)),
        Err(Thrown) => {
            drop(cx.exception());
            ErrorKind::Script
        }
    }
}

fn text_property(cx: Cx<'_>, object: RawValue<'_>, name: &CStr) -> Option<String> {
    /// `stack` is an accessor, so reading it is a native call, and a stop that is repeated just now interrupts it.
    const ATTEMPTS_MAX: u32 = 3;
    for _ in 0..ATTEMPTS_MAX {
        let text = cx.get(object, name).and_then(|value| {
            if is_nothing(value.raw()) || is_object(value.raw()) {
                Ok(None)
            } else {
                cx.text(value.raw()).map(Some)
            }
        });
        match text {
            Ok(text) => return text,
            Err(Thrown) => drop(cx.exception()),
        }
        if !cx.core().must_stop() {
            break;
        }
    }
    None
}

fn plain_text(cx: Cx<'_>, value: RawValue<'_>) -> String {
    cx.text(value).unwrap_or_else(|Thrown| {
        drop(cx.exception());
        "a value".to_owned()
    })
}

fn json_text(cx: Cx<'_>, value: RawValue<'_>) -> String {
    const SHOWN_BYTES_MAX: usize = 500;
    let mut out = Vec::new();
    if crate::values::json_write::write(cx, &mut out, value).is_err() {
        drop(cx.exception());
        return "object".to_owned();
    }
    let mut text = String::from_utf8_lossy(&out).into_owned();
    if text.len() > SHOWN_BYTES_MAX {
        text.truncate(text.floor_char_boundary(SHOWN_BYTES_MAX));
        text.push('…');
    }
    text
}

/// The errors that led to this one.
fn cause_of(cx: Cx<'_>, error: RawValue<'_>, depth: usize) -> String {
    const CAUSES_MAX: usize = 4;
    let Ok(cause) = cx.get(error, c"cause") else {
        drop(cx.exception());
        return String::new();
    };
    if depth >= CAUSES_MAX || !is_object(cause.raw()) {
        return String::new();
    }
    below(cx, "caused by", cause.raw(), depth)
}

/// The errors that an `AggregateError` stands for, in the same way.
fn errors_of(cx: Cx<'_>, error: RawValue<'_>) -> String {
    const ERRORS_MAX: u32 = 10;
    let mut told = String::new();
    for index in 0..ERRORS_MAX {
        let one = cx
            .get(error, c"errors")
            .and_then(|errors| cx.at(errors.raw(), index));
        match one {
            Ok(one) if is_object(one.raw()) => {
                told.push_str(&below(cx, "one of its errors", one.raw(), 0));
            }
            Ok(_) => break,
            Err(Thrown) => {
                drop(cx.exception());
                break;
            }
        }
    }
    told
}

/// Returns the lines below a stack about another error.
fn below(cx: Cx<'_>, label: &str, error: RawValue<'_>, depth: usize) -> String {
    let text = |name| text_property(cx, error, name).unwrap_or_default();
    let (name, message) = (text(c"name"), text(c"message"));
    let separator = if name.is_empty() || message.is_empty() {
        ""
    } else {
        ": "
    };
    format!(
        "\n{label}: {name}{separator}{message}\n{}{}",
        clean_stack(&text(c"stack")),
        cause_of(cx, error, depth + 1)
    )
}

/// The error with the calls of `stack` and the place of the innermost that is the script's.
pub(crate) fn with_stack(error: Error, stack: &str, cause: String) -> Error {
    let place = stack.lines().find_map(place_of);
    let mut shown = clean_stack(stack);
    shown.push_str(&cause);
    error.at(place).with_stack(shown)
}

/// The calls of a stack without those of our own scripts, and without the native functions that these have called.
fn clean_stack(stack: &str) -> String {
    let lines = stack.lines().map(str::trim);
    let mut shown = Vec::new();
    let mut is_called_by_own = false;
    // From the outermost call: a call stands above its caller.
    for line in lines.rev().filter(|line| !line.is_empty()) {
        let is_native = line.ends_with("(native)");
        is_called_by_own = line.contains(OWN_FILES) || (is_native && is_called_by_own);
        if !is_called_by_own {
            shown.push(line);
        }
    }
    shown.reverse();
    shown.join("\n")
}

/// The place in one line of a stack: `at name (file:line:column)` or `at file:line:column`.
pub(crate) fn place_of(line: &str) -> Option<Place> {
    let line = line.trim().strip_prefix("at ")?;
    let spot = match line.find(" (") {
        Some(open) => line[open + 2..].strip_suffix(')')?,
        None => line,
    };
    let (rest, _column) = spot.rsplit_once(':')?;
    let (file, number) = rest.rsplit_once(':')?;
    // `<input>` is a text that was parsed, by `JSON.parse` or `new Function`: its caller is the place.
    if file.starts_with(OWN_FILES) || file.starts_with('<') {
        return None;
    }
    Some(Place {
        file: file.to_owned(),
        line: number.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_our_own_scripts_are_left_out() {
        let stack = "    at unknownOption (native)\n    at build (sampan:contract:30:5)\n    at apply (native)\n    \
                     at json (sampan:contract:60:10)\n    at one (app.js:3:1)\n    at map (native)\n    at all \
                     (app.js:7:2)\n    at call (native)\n    at run (sampan:contract:1:1)\n";
        let shown = "at one (app.js:3:1)\nat map (native)\nat all (app.js:7:2)";
        assert_eq!(clean_stack(stack), shown);
        let row = "    at query (native)\n    at app.js:2:1\n";
        assert_eq!(clean_stack(row), "at query (native)\nat app.js:2:1");
    }

    #[test]
    fn places_are_read_from_stacks() {
        let place = |line| place_of(line).map(|place| place.to_string());
        assert_eq!(
            place("    at handler (routes/users.js:12:7)").as_deref(),
            Some("routes/users.js:12")
        );
        assert_eq!(place("    at app.js:3:1").as_deref(), Some("app.js:3"));
        assert_eq!(
            place("    at <anonymous> (a (b).js:3:1)").as_deref(),
            Some("a (b).js:3")
        );
        assert_eq!(place("    at run (sampan:prelude:3:1)"), None);
        assert_eq!(place("    at map (native)"), None);
        assert_eq!(place("    at <input>:1:2"), None);
    }
}
