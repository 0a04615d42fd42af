//! The engines, chosen by the file that is run.

use crate::project::Language;
use sampan_host::{Call, Error, Isolate, Program, ResponseSink, Setup, Step};
use sampan_js::Js;
use sampan_lua::Lua;

/// A loaded project in one of the engines.
pub(crate) enum Engine {
    Lua(Lua),
    Js(Js),
}

impl Engine {
    /// Loads a project: runs its file to the end.
    pub(crate) fn load(language: Language, setup: Setup) -> Result<Self, Error> {
        match language {
            Language::Lua => Lua::load(setup).map(Self::Lua),
            Language::Js => Js::load(setup).map(Self::Js),
        }
    }
}

impl Isolate for Engine {
    fn program(&self) -> &Program {
        match self {
            Self::Lua(lua) => lua.program(),
            Self::Js(js) => js.program(),
        }
    }

    #[inline]
    fn start(&self, call: Call<'_>, sink: &mut dyn ResponseSink) -> Step {
        match self {
            Self::Lua(lua) => lua.start(call, sink),
            Self::Js(js) => js.start(call, sink),
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Self::Lua(lua) => lua.memory_bytes(),
            Self::Js(js) => js.memory_bytes(),
        }
    }

    fn is_worn_out(&self) -> bool {
        match self {
            Self::Lua(lua) => lua.is_worn_out(),
            Self::Js(js) => js.is_worn_out(),
        }
    }

    fn background_requests(&self) -> usize {
        match self {
            Self::Lua(lua) => lua.background_requests(),
            Self::Js(js) => js.background_requests(),
        }
    }

    fn collect_garbage(&self) {
        match self {
            Self::Lua(lua) => lua.collect_garbage(),
            Self::Js(js) => js.collect_garbage(),
        }
    }
}
