//! The engines, chosen by the file that is run, or given by the program that we are a part of.

use crate::program::hosted::Host;
use sampan_host::{Call, Error, ErrorKind, Isolate, Program, ResponseSink, Setup, Step};
use sampan_js::Js;
use sampan_lua::Lua;
use sampan_project::Language;

/// Loads a project in one of the engines: runs its file to the end.
///
/// # Errors
/// The project does not load: of the kind `Load`, with the place in the script.
pub(crate) fn load(
    language: Option<Language>,
    host: Option<&dyn Host>,
    setup: Setup,
) -> Result<Box<dyn Isolate>, Error> {
    Ok(match language {
        Some(Language::Js) if let Some(host) = host => host.load(setup)?,
        Some(Language::Lua) => Box::new(Lua::load(setup)?),
        Some(Language::Js) => Box::new(Js::load(setup)?),
        None => Box::new(NoScript(Program::default())),
    })
}

/// The isolate of a server whose routes are all those of the program into which it is built.
struct NoScript(Program);

impl Isolate for NoScript {
    fn program(&self) -> &Program {
        &self.0
    }

    fn start(&self, _: Call<'_>, _: &mut dyn ResponseSink) -> Step {
        Step::Failed(Error::new(ErrorKind::Internal, "there is no script"))
    }

    fn memory_bytes(&self) -> usize {
        0
    }

    fn is_worn_out(&self) -> bool {
        false
    }

    fn collect_garbage(&self) {}
}
