//! The engines, chosen by the file that is run, or given by the program that we are a part of.

use crate::project::Language;
use crate::server::hosted::Host;
use sampan_host::{Call, Error, ErrorKind, Isolate, Program, ResponseSink, Setup, Step};
use sampan_js::Js;
use sampan_lua::Lua;

/// A loaded project in one of the engines.
pub(crate) enum Engine {
    Lua(Lua),
    Js(Js),
    /// The JavaScript engine of the program that we are a part of.
    Hosted(Box<dyn Isolate>),
    /// There is no script: the routes are those of the program into which this is built.
    None(Program),
}

impl Engine {
    /// Loads a project: runs its file to the end.
    pub(crate) fn load(
        language: Option<Language>,
        host: Option<&dyn Host>,
        setup: Setup,
    ) -> Result<Self, Error> {
        match language {
            Some(Language::Js) if let Some(host) = host => host.load(setup).map(Self::Hosted),
            Some(Language::Lua) => Lua::load(setup).map(Self::Lua),
            Some(Language::Js) => Js::load(setup).map(Self::Js),
            None => Ok(Self::None(Program::default())),
        }
    }
}

impl Isolate for Engine {
    fn program(&self) -> &Program {
        match self {
            Self::Lua(lua) => lua.program(),
            Self::Js(js) => js.program(),
            Self::Hosted(isolate) => isolate.program(),
            Self::None(program) => program,
        }
    }

    #[inline]
    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step {
        match self {
            Self::Lua(lua) => lua.start(call, sink),
            Self::Js(js) => js.start(call, sink),
            Self::Hosted(isolate) => isolate.start(call, sink),
            Self::None(_) => Step::Failed(Error::new(ErrorKind::Internal, "there is no script")),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Lua(lua) => lua.memory_bytes(),
            Self::Js(js) => js.memory_bytes(),
            Self::Hosted(isolate) => isolate.memory_bytes(),
            Self::None(_) => 0,
        }
    }

    fn is_worn_out(&self) -> bool {
        match self {
            Self::Lua(lua) => lua.is_worn_out(),
            Self::Js(js) => js.is_worn_out(),
            Self::Hosted(isolate) => isolate.is_worn_out(),
            Self::None(_) => false,
        }
    }

    fn background_requests(&self) -> usize {
        match self {
            Self::Lua(lua) => lua.background_requests(),
            Self::Js(js) => js.background_requests(),
            Self::Hosted(isolate) => isolate.background_requests(),
            Self::None(_) => 0,
        }
    }

    fn collect_garbage(&self) {
        match self {
            Self::Lua(lua) => lua.collect_garbage(),
            Self::Js(js) => js.collect_garbage(),
            Self::Hosted(isolate) => isolate.collect_garbage(),
            Self::None(_) => {}
        }
    }
}
