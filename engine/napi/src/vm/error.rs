//! Exceptions become [`sampan_host::Error`]s with file, line and stack, and those become exceptions.

use crate::sys::{Failure, Js, Kind, Thrown};
use crate::vm::core::{Core, Cx};
use sampan_host::javascript::WORDS;
use sampan_host::{Details, Error, ErrorKind, Hint, Place};

/// A native error as an `Error` object: a new one, or `made`, which knows who called. The prelude puts it together.
pub(crate) fn to_exception<'a>(
    cx: Cx<'a>,
    error: &Error,
    made: Option<Js<'a>>,
) -> Result<Js<'a>, Failure> {
    let said = error.message_spelled(WORDS.spell);
    let said = match error.hint() {
        Some(Hint::MissingMember) => format!("{said} (undefined is no value: use null)"),
        Some(Hint::ShortList | Hint::NoMembers) | None => said.into_owned(),
    };
    let (nothing, status) = (cx.undefined(), error.kind().status());
    let text = |text: Option<&str>| text.map_or(Ok(nothing), |text| cx.string(text));
    let mut args = [nothing; 9];
    args[0] = cx.string(&said)?;
    args[1] = made.unwrap_or(nothing);
    if status != 500 {
        args[2] = cx.number(f64::from(status))?;
    }
    if let Some(mark) = error.kind().mark() {
        args[3] = cx.number(mark as f64)?;
    }
    if let Some(details) = error.details() {
        args[4] = cx.string(&details.code)?;
        args[5] = text(details.table.as_deref())?;
        if !details.columns.is_empty() {
            let columns = details.columns.iter().map(|column| cx.string(column));
            args[6] = cx.array(&columns.collect::<Result<Vec<_>, _>>()?)?;
        }
        args[7] = text(details.constraint.as_deref())?;
    }
    // It was raised in a function that was called back.
    args[8] = text(error.stack())?;
    cx.call_own("toError", &args)
}

/// Throws a native error.
pub(crate) fn throw(cx: Cx<'_>, error: &Error) {
    match to_exception(cx, error, None) {
        Ok(exception) => cx.throw(exception),
        Err(Failure::Error(error)) => drop(error),
        Err(Failure::Thrown) => {}
    }
}

/// A failure as an error.
pub(crate) fn described(cx: Cx<'_>, failure: Failure) -> Error {
    match failure {
        Failure::Error(error) => error,
        Failure::Thrown => match cx.exception() {
            Some(thrown) => describe(cx, thrown),
            None => Error::new(ErrorKind::Internal, "a call of Node-API failed"),
        },
    }
}

/// Converts a thrown value to an error.
pub(crate) fn describe(cx: Cx<'_>, thrown: Js<'_>) -> Error {
    let unreadable = |_| {
        cx.clear();
        Error::script("uncaught value that cannot be read")
    };
    read(cx, thrown).unwrap_or_else(unreadable)
}

/// Converts the result of `describe` of the prelude says: `[isError, name, message, stack, code, status, mark,
/// others]`.
fn read(cx: Cx<'_>, thrown: Js<'_>) -> Result<Error, Thrown> {
    let Ok(tables) = cx.core().tables() else {
        return Err(Thrown);
    };
    let parts = cx.call(tables.describe.get(cx.env()), &[thrown])?;
    let text = |index: u32| -> Result<Option<String>, Thrown> {
        let part = cx.at(parts, index)?;
        match cx.kind(part) {
            Kind::Text => cx.text(part).map(Some),
            _ => Ok(None),
        }
    };
    let number = |index: u32| cx.at(parts, index).ok().and_then(|part| cx.number_of(part));
    let is_error = cx.is_true(cx.at(parts, 0)?);
    let (name, message) = (text(1)?.unwrap_or_default(), text(2)?);
    let status = number(5).filter(|status| status.fract() == 0.0);
    let status = status.filter(|status| (400.0..600.0).contains(status));
    let kind = match number(6).and_then(|mark| ErrorKind::marked(mark as usize)) {
        Some(kind) => kind,
        None => status.map_or(ErrorKind::Script, |status| ErrorKind::Status(status as u16)),
    };
    let message = match message {
        Some(message) if name.is_empty() || name == "Error" || kind != ErrorKind::Script => message,
        Some(message) if message.is_empty() => name,
        Some(message) => format!("{name}: {message}"),
        // The client would be shown what it holds.
        None if name.is_empty() && kind.is_public() => String::new(),
        None => name,
    };
    let mut error = Error::new(kind, message);
    if let Some(code) = text(4)?.filter(|_| is_error) {
        error = error.with_details(Details {
            code: code.into(),
            ..Details::default()
        });
    }
    if let Some(stack) = text(3)? {
        let mut shown = clean_stack(cx.core(), &stack);
        shown.push_str(&text(7)?.unwrap_or_default());
        error = error.at(place_in(cx.core(), &stack)).with_stack(shown);
    }
    Ok(error)
}

/// `report(error)`
pub(crate) fn report<'a>(cx: Cx<'a>, args: &[Js<'a>]) -> Result<Js<'a>, Failure> {
    let error = describe(cx, args.first().copied().unwrap_or_else(|| cx.undefined()));
    let prefix = match args.get(1) {
        Some(prefix) if cx.kind(*prefix) == Kind::Text => cx.text(*prefix)?,
        _ => String::new(),
    };
    let text = format!("{prefix}{}", error.message());
    let core = cx.core();
    cx.turn(|| (core.contract.report)(error.with_message(text)));
    Ok(cx.undefined())
}

/// The calls of a stack that are the project's, with its files as the project calls them.
fn clean_stack(core: &Core, stack: &str) -> String {
    let mut lines = Vec::new();
    for line in stack.lines() {
        let line = line.trim();
        if line.starts_with("at ")
            && let Some(at) = line_of_project(core, line)
        {
            lines.push(at);
        }
    }
    lines.join("\n")
}

/// A line of a stack with the file as the project calls it; nothing where the file is not the project's.
fn line_of_project(core: &Core, line: &str) -> Option<String> {
    let (before, spot, after) = parts_of(line)?;
    let file = in_project(core, spot)?;
    Some(format!("{before}{file}{after}"))
}

/// The line `at name (file:line:column)` or `at file:line:column`, in three parts.
fn parts_of(line: &str) -> Option<(&str, &str, &str)> {
    match (line.rfind(" ("), line.strip_suffix(')')) {
        (Some(open), Some(whole)) => Some((&line[..open + 2], &whole[open + 2..], ")")),
        _ => {
            let spot = line.strip_prefix("at ")?;
            let start = spot.strip_prefix("async ").unwrap_or(spot);
            Some((&line[..line.len() - start.len()], start, ""))
        }
    }
}

/// A spot below the project's folder, relative to it.
fn in_project<'a>(core: &Core, spot: &'a str) -> Option<&'a str> {
    let path = spot.strip_prefix("file://").unwrap_or(spot);
    let root = core.platform.root.to_str()?;
    let file = path.strip_prefix(root)?.strip_prefix('/')?;
    (!file.starts_with("node_modules/sampan/")).then_some(file)
}

/// The innermost place in a stack that is the project's.
pub(crate) fn place_in(core: &Core, stack: &str) -> Option<Place> {
    stack.lines().find_map(|line| {
        let line = line.trim();
        let spot = match line.starts_with("at ") {
            true => parts_of(line)?.1,
            // What does not compile is told in front of the stack: `file:///app/app.js:3`.
            false => line,
        };
        place_of(in_project(core, spot)?)
    })
}

/// `file:line:column` or `file:line`.
fn place_of(spot: &str) -> Option<Place> {
    let (rest, last) = spot.rsplit_once(':')?;
    let last: u32 = last.parse().ok()?;
    let (file, line) = match rest.rsplit_once(':') {
        Some((file, line)) if line.parse::<u32>().is_ok() => (file, line.parse().ok()?),
        _ => (rest, last),
    };
    Some(Place {
        file: file.to_owned(),
        line,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_from_spots() {
        let place = |spot| place_of(spot).map(|place| place.to_string());
        assert_eq!(
            place("routes/users.js:12:7").as_deref(),
            Some("routes/users.js:12")
        );
        assert_eq!(place("app.js:3").as_deref(), Some("app.js:3"));
        assert_eq!(place("app.js"), None);
    }

    #[test]
    fn lines_of_stacks_have_three_parts() {
        assert_eq!(
            parts_of("at async handler (file:///a/app.js:1:2)"),
            Some(("at async handler (", "file:///a/app.js:1:2", ")"))
        );
        assert_eq!(
            parts_of("at async /a/app.js:1:2"),
            Some(("at async ", "/a/app.js:1:2", ""))
        );
        assert_eq!(
            parts_of("at /a/app.js:1:2"),
            Some(("at ", "/a/app.js:1:2", ""))
        );
    }
}
