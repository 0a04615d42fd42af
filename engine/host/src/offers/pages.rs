//! The values that templates get from other capabilities and from the server, beside the data of a page.

use crate::error::Error;
use crate::request::RequestView;
use crate::value::Value;
use std::cell::RefCell;
use std::rc::Rc;

/// The request that a template is rendered for; `None` where it is rendered for none.
pub type ForRequest<'a> = Option<&'a Rc<dyn RequestView>>;

/// A function in Rust that templates can call. Named arguments come as a map behind the others.
pub type PageFunction = Rc<dyn Fn(ForRequest<'_>, &[Value]) -> Result<Value, Error>>;

/// A variable computed from the request, when a template uses its name.
pub type PageVariable = Rc<dyn Fn(&Rc<dyn RequestView>) -> Result<Value, Error>>;

/// A variable computed when a template uses its name, for a request or none.
pub type AnyPageVariable = Rc<dyn Fn(ForRequest<'_>) -> Result<Value, Error>>;

/// A field of a variable, computed from the request when a template reads it.
pub type RequestField = fn(&dyn RequestView) -> Value;

/// A value for templates.
#[derive(Clone)]
pub enum PageValue {
    /// A function that every template can call.
    Function(PageFunction),
    /// A filter.
    Filter(PageFunction),
    /// A variable of templates that are rendered for a request, unless their data has that name.
    Variable(PageVariable),
    /// A variable of all templates, unless their data has that name.
    AnyVariable(AnyPageVariable),
    /// A variable of templates that are rendered for a request, with these fields.
    Fields(&'static [(&'static str, RequestField)]),
}

/// The values for the templates of an isolate, by their names. The server puts it into the context; capabilities add to
/// it before those that ask for `pages`.
#[derive(Default)]
pub struct PageValues(RefCell<Vec<(&'static str, PageValue)>>);

impl PageValues {
    /// Adds a function.
    pub fn function(&self, name: &'static str, function: PageFunction) {
        self.add(name, PageValue::Function(function));
    }

    /// Adds a filter.
    pub fn filter(&self, name: &'static str, filter: PageFunction) {
        self.add(name, PageValue::Filter(filter));
    }

    /// Adds a variable of templates that are rendered for a request.
    pub fn variable(&self, name: &'static str, variable: PageVariable) {
        self.add(name, PageValue::Variable(variable));
    }

    /// Adds a variable of templates that are rendered for a request or for none.
    pub fn any_variable(&self, name: &'static str, variable: AnyPageVariable) {
        self.add(name, PageValue::AnyVariable(variable));
    }

    /// Adds a variable with fields.
    pub fn fields(&self, name: &'static str, fields: &'static [(&'static str, RequestField)]) {
        self.add(name, PageValue::Fields(fields));
    }

    fn add(&self, name: &'static str, value: PageValue) {
        self.0.borrow_mut().push((name, value));
    }

    /// Takes all of them.
    pub fn take(&self) -> Vec<(&'static str, PageValue)> {
        self.0.take()
    }
}
