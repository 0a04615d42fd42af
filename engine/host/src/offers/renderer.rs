//! The templates of a project, as other capabilities render them.

use crate::error::Error;
use crate::tables::module::Context;
use crate::tables::reader::{Handle, Reader};
use std::rc::Rc;

/// Renders the templates of a project.
pub trait Renderer {
    /// Reports whether there is a template.
    fn has(&self, name: &str) -> bool;

    /// Returns the text that a template prints, for no request. `data` are its variables.
    ///
    /// # Errors
    /// There is no such template, or it fails: the place in the template.
    fn render(
        &self,
        context: &Context,
        reader: &dyn Reader,
        name: &str,
        data: Handle,
    ) -> Result<String, Error>;
}

/// The renderer of an isolate, in its context.
pub struct TemplateRenderer(pub Rc<dyn Renderer>);
