//! The check of the names in templates: filters with their arguments, tests, functions, and other templates whose names
//! are literal. So a misspelt name shows at the start, not in a rarely used branch of a page.

use crate::environment::Modes;
use crate::fault::{Fault, Outcome, fault_at, unknown};
use crate::jinja2;
use crate::program::{Escape, Op, Program, Template};
use crate::script::ScriptFunctions;
use crate::templates::Templates;
use minijinja::{Environment, ErrorKind, State};
use sampan_host::Error;
use sampan_host::names::hint;

/// The functions that belong to a place in a template.
const OF_THE_LANGUAGE: [&str; 4] = ["caller", "loop", "self", "super"];

/// The most faults that are told together.
const FAULTS_MAX: usize = 50;

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
        let before = faults.len();
        check_names(templates, functions, environment, template, &mut faults);
        let blocks = template.blocks.iter().map(|(_, block)| block);
        for program in std::iter::once(&template.main).chain(blocks) {
            for at in 0..program.ops.len() {
                if let Err(fault) = check_operation(templates, &mut state, program, at) {
                    faults.push(fault_at(*fault, &program.source, program.lines[at]));
                }
            }
        }
        faults[before..].sort_by_key(|fault| fault.place().map(|place| place.line));
        if faults.len() > FAULTS_MAX {
            break;
        }
    }
    all_of(faults)
}

/// Makes one error of all faults: that of the first, with the others below it.
fn all_of(faults: Vec<Error>) -> Result<(), Error> {
    let mut told: Vec<String> = Vec::new();
    for fault in &faults {
        let text = fault.to_string();
        if !told.contains(&text) {
            told.push(text);
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

/// Checks the arguments of filters, and that functions are there which are called by their names.
fn check_names(
    templates: &Templates,
    functions: &ScriptFunctions,
    environment: &Environment<'static>,
    template: &Template,
    faults: &mut Vec<Error>,
) {
    let source = &template.main.source;
    let fault = |text: String, line: u32| fault_at(*Fault::new(text), source, line);
    for used in &template.names.filters {
        if functions.has_filter(&used.name) {
            continue;
        }
        if let Some(text) = jinja2::fault(&used.name, &used.positional, &used.named) {
            faults.push(fault(text, used.line));
        }
    }
    for used in &template.names.functions {
        let name = &*used.name;
        // A function is in a variable too: one that the template sets, or one that includes it.
        let is_known = OF_THE_LANGUAGE.contains(&name)
            || templates.assigns(name)
            || functions.has_variable(name)
            || environment.globals().any(|(known, _)| known == name);
        if !is_known {
            let globals: Vec<&str> = environment.globals().map(|(known, _)| known).collect();
            let known = globals.into_iter().chain(templates.assigned());
            let text = format!(
                "unknown function: there is no function {name}{}",
                hint(name, known)
            );
            faults.push(fault(text, used.line));
        }
    }
}

fn check_operation(
    templates: &Templates,
    state: &mut State<'_, '_>,
    program: &Program,
    at: usize,
) -> Outcome<()> {
    // Without arguments each of them fails; what matters is why. One of the script's is not called, because nothing is
    // being rendered.
    match &program.ops[at] {
        Op::Filter(filter, _) if filter.known.is_none() => {
            match state.apply_filter(&filter.name, &[]) {
                Err(error) if error.kind() == ErrorKind::UnknownFilter => {
                    Err(unknown(error, "filter", &filter.name))
                }
                _ => Ok(()),
            }
        }
        Op::Test(test, _) if test.known.is_none() => match state.perform_test(&test.name, &[]) {
            Err(error) if error.kind() == ErrorKind::UnknownTest => {
                Err(unknown(error, "test", &test.name))
            }
            _ => Ok(()),
        },
        Op::Include {
            ignores_missing: false,
            ..
        }
        | Op::Extend => {
            let name = match at.checked_sub(1).map(|before| &program.ops[before]) {
                Some(Op::Const(name)) => name.as_str(),
                _ => None,
            };
            match name.filter(|name| templates.get(name).is_none()) {
                Some(name) => Err(templates.not_found(name)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
