//! The texts of a project in the languages of its readers, as other capabilities use them.

use crate::request::RequestView;
use crate::value::Value;
use std::rc::Rc;

/// Gives texts in the languages of an app.
pub trait Translations {
    /// Returns the text with this key, in the language of the request, or the app's own. Parameters stand in it by
    /// their names; one called `n` counts. `None` if there is no such text.
    fn text(
        &self,
        request: Option<&Rc<dyn RequestView>>,
        key: &str,
        params: &[(&str, Value)],
    ) -> Option<String>;

    /// Calls `run`. Templates that it renders for no request speak this locale, or the next more general one. Returns
    /// false, with nothing done, if the app has neither.
    fn in_locale(&self, locale: &str, run: &mut dyn FnMut()) -> bool;
}

/// The translations of an isolate, in its context.
pub struct MessageTexts(pub Rc<dyn Translations>);
