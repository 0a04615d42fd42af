//! The places of imports and `await` in the source. QuickJS does not say it, so the text is searched.

use super::resolve;
use crate::vm::isolate::Core;
use crate::vm::source_text::{Awaits, import_line, top_level_awaits};
use sampan_host::names::hint;
use sampan_host::{Error, ErrorKind, Place};
use sampan_js_modules::Asked;

/// The line that names a module.
pub(super) fn import_place(core: &Core, base: &str, name: &str) -> Option<Place> {
    let source = core.scripts.source_text(base)?;
    let source = String::from_utf8_lossy(&source);
    let names = [format!("\"{name}\""), format!("'{name}'")];
    let index = source
        .lines()
        .position(|line| names.iter().any(|name| line.contains(name.as_str())))?;
    Some(Place {
        file: base.to_owned(),
        line: index as u32 + 1,
    })
}

/// An error about a name that a module does not export, at the line that imports it; QuickJS tells only the two names.
/// `own` gives the names that the module `sampan` exports.
pub(super) fn missing_export(
    core: &Core,
    message: &str,
    own: impl FnOnce() -> Vec<String>,
) -> Option<Error> {
    let (_, rest) = message.split_once("Could not find export '")?;
    let (name, rest) = rest.split_once("' in module '")?;
    let module = rest.strip_suffix('\'')?;
    let place = core.compiled.borrow().iter().find_map(|file| {
        let source = core.scripts.source_text(file)?;
        let is_from = |specifier: &str| {
            resolve(core, file, specifier, Asked::Import).as_deref() == Ok(module)
        };
        let line = import_line(&String::from_utf8_lossy(&source), name, is_from)?;
        Some(Place {
            file: file.clone(),
            line,
        })
    });
    let hint = match module {
        "sampan" => hint(name, own().iter().map(String::as_str)),
        _ => String::new(),
    };
    let text = format!("cannot import \"{name}\": {module} has no export of that name{hint}");
    Some(Error::new(ErrorKind::Load, text).at(place))
}

/// An error about a module that awaits, at its top level, what does not settle while it loads.
pub(crate) fn hanging(core: &Core, entry: &str) -> Error {
    const PLACES_MAX: usize = 4;
    let compiled = core.compiled.borrow();
    let awaits_of = |file: &String| {
        let source = core.scripts.source_text(file).unwrap_or_default();
        top_level_awaits(&String::from_utf8_lossy(&source))
    };
    let awaits: Vec<(&String, Awaits)> = compiled
        .iter()
        .map(|file| (file, awaits_of(file)))
        .collect();
    // The awaits of functions and blocks are of interest only where there are no others in any file.
    let is_outside = awaits.iter().any(|(_, found)| !found.outside.is_empty());
    let mut places = awaits.iter().flat_map(|(file, found)| {
        let lines = if is_outside {
            &found.outside
        } else {
            &found.anywhere
        };
        lines.iter().map(move |line| Place {
            file: (*file).clone(),
            line: *line,
        })
    });
    let first = places.next().unwrap_or_else(|| Place {
        file: entry.to_owned(),
        line: 1,
    });
    let others: Vec<String> = places
        .take(PLACES_MAX)
        .map(|place| place.to_string())
        .collect();
    let mut text =
        "cannot wait here: an await at the top level of a module did not settle while it loaded"
            .to_owned();
    if !others.is_empty() {
        text.push_str(&format!(" (it may also be {})", others.join(", ")));
    }
    Error::new(ErrorKind::Load, text).at(Some(first))
}
