//! Whether all is there that templates name: filters, tests, and other templates whose names are literal. So a misspelt name shows at the
//! start, not in the branch of a page that nobody has tried.

use crate::fault::{Outcome, fault_at};
use crate::program::{Escape, Op, Program};
use crate::templates::Templates;
use crate::vm::{Modes, not_found, unknown};
use minijinja::{Environment, ErrorKind, State};
use sampan_host::Error;

/// Checks all templates.
///
/// # Errors
/// The first name that is not there, with its line.
pub(crate) fn check(
    templates: &Templates,
    environment: &Environment<'static>,
) -> Result<(), Error> {
    let modes = Modes::new(environment);
    let mut state = match modes.state(Escape::None) {
        Ok(state) => state,
        Err(error) => return Err(Error::script(error.to_string())),
    };
    for template in templates.all() {
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

fn check_operation(
    templates: &Templates,
    state: &mut State<'_, '_>,
    program: &Program,
    at: usize,
) -> Outcome<()> {
    // Without arguments each of them fails; what matters is why. One of the script's is not called, because nothing is being rendered.
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
        Op::Include(false) | Op::Extend => {
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
