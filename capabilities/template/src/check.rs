//! The check of the names in templates: filters with their arguments, tests, functions, and other templates whose names
//! are literal. So a misspelt name shows at the start, not in a rarely used branch of a page.

use crate::compile::names::{FilterUse, Names};
use crate::environment::Modes;
use crate::fault::{TemplateFault, fault_at};
use crate::jinja2::{self, no_filter, no_test};
use crate::program::Escape;
use crate::script::ScriptFunctions;
use crate::templates::Templates;
use minijinja::{Environment, ErrorKind, State};
use sampan_host::Error;
use sampan_host::names::hint;
use std::collections::HashSet;

/// The functions that belong to a place in a template.
const OF_THE_LANGUAGE: [&str; 4] = ["caller", "loop", "self", "super"];

/// The most faults that are told together.
const FAULTS_MAX: usize = 50;
/// The most faults of a template that are looked for in its text: some may be told as one.
const FOUND_MAX: usize = 4 * FAULTS_MAX;

/// Checks all templates.
///
/// # Errors
/// The names that are not there, each with its line.
pub(crate) fn check(
    templates: &Templates,
    functions: &ScriptFunctions,
    environment: &Environment<'static>,
) -> Result<(), Error> {
    let modes = Modes::new(environment);
    let mut state = match modes.state(Escape::None) {
        Ok(state) => state,
        Err(error) => return Err(Error::script(error.to_string())),
    };
    let mut faults: Vec<Error> = Vec::new();
    for template in templates.all() {
        let (names, mut found) = (&template.names, Vec::new());
        let mut tell = |fault: Box<TemplateFault>, at: u32| found.push((at, fault));
        check_filters(functions, &mut state, names, &mut tell);
        check_functions(templates, functions, environment, names, &mut tell);
        for used in &names.tests {
            if !is_test(&mut state, &used.name) {
                tell(no_test(&used.name), used.at);
            }
        }
        for used in &names.templates {
            if templates.get(&used.name).is_none() {
                tell(templates.not_found(&used.name), used.at);
            }
        }
        found.sort_by_key(|(at, _)| *at);
        let found = found.into_iter().take(FOUND_MAX);
        faults.extend(found.map(|(at, fault)| fault_at(*fault, &template.main.source, at)));
        if faults.len() > FAULTS_MAX {
            break;
        }
    }
    all_of(faults)
}

/// Makes one error of all faults: that of the first, with the others below it.
fn all_of(faults: Vec<Error>) -> Result<(), Error> {
    let (mut told, mut known) = (Vec::new(), HashSet::new());
    for fault in &faults {
        // A fault is told once for a line.
        let place = fault.place().map(|place| (&place.file, place.line));
        if known.insert((place, fault.message().lines().next())) {
            told.push(fault.to_string());
        }
        if told.len() > FAULTS_MAX {
            told[FAULTS_MAX] = "  (there are more)".to_owned();
            break;
        }
    }
    let Some(first) = faults.into_iter().next() else {
        return Ok(());
    };
    let mut message = first.message().to_owned();
    for other in &told[1..] {
        message.push('\n');
        message.push_str(other);
    }
    Err(first.with_message(message))
}

/// Checks that filters exist, with those that they apply to each item, and their arguments.
fn check_filters(
    functions: &ScriptFunctions,
    state: &mut State<'_, '_>,
    names: &Names,
    tell: &mut impl FnMut(Box<TemplateFault>, u32),
) {
    for used in &names.filters {
        let name = &*used.name;
        if functions.has_filter(name) {
            continue;
        }
        if !is_filter(state, name) {
            tell(no_filter(name, functions), used.at);
            continue;
        }
        let Some(args) = &used.args else { continue };
        if let Some(text) = jinja2::fault(name, &args.positional, &args.named) {
            tell(TemplateFault::new(text), used.at);
        }
        match applied(used) {
            Some(filter) if name == "map" && !is_filter(state, filter) => {
                tell(no_filter(filter, functions), used.at);
            }
            Some(test) if name != "map" && !is_test(state, test) => tell(no_test(test), used.at),
            _ => {}
        }
    }
}

/// Returns the name of the filter or the test that a filter applies to each item, if it is a constant.
fn applied(used: &FilterUse) -> Option<&str> {
    let at = jinja2::applied_place(&used.name)?;
    let name = used.args.as_ref()?.positional.get(at)?;
    name.as_ref()?.as_str()
}

// Without arguments filters and tests fail; what matters is why. One of the script's is not called, because nothing is
// being rendered.

fn is_filter(state: &mut State<'_, '_>, name: &str) -> bool {
    let applied = state.apply_filter(name, &[]);
    !applied.is_err_and(|error| error.kind() == ErrorKind::UnknownFilter)
}

fn is_test(state: &mut State<'_, '_>, name: &str) -> bool {
    let performed = state.perform_test(name, &[]);
    !performed.is_err_and(|error| error.kind() == ErrorKind::UnknownTest)
}

/// Checks that functions exist which are called by their names.
fn check_functions(
    templates: &Templates,
    functions: &ScriptFunctions,
    environment: &Environment<'static>,
    names: &Names,
    tell: &mut impl FnMut(Box<TemplateFault>, u32),
) {
    for used in &names.functions {
        let name = &*used.name;
        // A function is in a variable too: one that the template sets, or one that includes it.
        let is_known = OF_THE_LANGUAGE.contains(&name)
            || templates.assigns(name)
            || functions.has_variable(name)
            || environment.globals().any(|(known, _)| known == name);
        if !is_known {
            let globals: Vec<&str> = environment.globals().map(|(known, _)| known).collect();
            let known = globals.into_iter().chain(templates.assigned());
            tell(
                TemplateFault::new(format!(
                    "unknown function: there is no function {name}{}",
                    hint(name, known)
                )),
                used.at,
            );
        }
    }
}
