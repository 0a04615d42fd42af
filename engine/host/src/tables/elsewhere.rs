//! The rows of a module over another backend.

use crate::settings::AllSettings;
use crate::tables::module::{Function, Module};

impl Module {
    /// Returns the rows over another backend, where these settings want them.
    pub fn elsewhere_by(&self, settings: &AllSettings) -> Option<&'static Module> {
        let is_wanted = self.elsewhere_if.is_none_or(|asks| asks(settings));
        self.elsewhere.filter(|_| is_wanted)
    }

    /// Reports whether a row of this module or of one of its classes returns at once, and waits
    /// [elsewhere](Module::elsewhere).
    pub fn waits_elsewhere(&self, row: &Function) -> bool {
        let Some(other) = self.elsewhere else {
            return false;
        };
        let rows = |module: &'static Module| {
            let methods = module.classes.iter().flat_map(|class| class.methods);
            module.functions.iter().chain(methods)
        };
        let here = self.classes.iter().flat_map(|class| class.methods);
        let mut both = self.functions.iter().chain(here).zip(rows(other));
        both.any(|(one, other)| std::ptr::eq(one, row) && other.kind.waits())
    }
}
