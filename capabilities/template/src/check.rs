//! The check of the names in templates: filters with their arguments, tests, functions, and other templates whose names
//! are literal. So a misspelt name shows at the start, not in a rarely used branch of a page.

use crate::environment::Modes;
use crate::fault::{Fault, Outcome, fault_at, not_found, unknown};
use crate::jinja2::signature;
use crate::program::{Escape, Op, Program, Template};
use crate::script::ScriptFunctions;
use crate::templates::Templates;
use minijinja::{Environment, ErrorKind, State};
use sampan_host::Error;
use sampan_host::names::hint;

/// The functions that belong to a place in a template.
const OF_THE_LANGUAGE: [&str; 4] = ["caller", "loop", "self", "super"];

/// Checks all templates.
///
/// # Errors
/// The first name that is not there, with its line.
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
    for template in templates.all() {
        check_names(templates, functions, environment, template)?;
        let blocks = template.blocks.iter().map(|(_, block)| block);
        for program in std::iter::once(&template.main).chain(blocks) {
            for at in 0..program.ops.len() {
                if let Err(fault) = check_operation(templates, &mut state, program, at) {
                    return Err(fault_at(*fault, &program.source, program.lines[at]));
                }
            }
        }
    }
    Ok(())
}

/// Checks the arguments of filters, and that functions are there which are called by their names.
fn check_names(
    templates: &Templates,
    functions: &ScriptFunctions,
    environment: &Environment<'static>,
    template: &Template,
) -> Result<(), Error> {
    let source = &template.main.source;
    let fault = |text: String, line: u32| Err(fault_at(*Fault::new(text), source, line));
    for used in &template.names.filters {
        let Some(signature) = signature(&used.name).filter(|_| !functions.has_filter(&used.name))
        else {
            continue;
        };
        let names: Vec<&str> = used.named.iter().map(|name| &**name).collect();
        if let Some(text) = signature.fault(used.positional, &names) {
            return fault(text, used.line);
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
            return fault(text, used.line);
        }
    }
    Ok(())
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
                Some(name) => Err(not_found(name)),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
