//! The API for scripts: `render`, text from templates, and filters and functions of their own.

use crate::check::check;
use crate::compile::printed_file;
use crate::environment::{Modes, environment};
use crate::fault::TEXT_NAME;
use crate::program::Template;
use crate::script::{RequestFields, ScriptFunctions, Variable, from_host};
use crate::templates::{Templates, compiled};
use crate::value::TemplateValue;
use crate::vm::Machine;
use sampan_host::pages::{ForRequest, PageValue};
use sampan_host::reader::Kind;
use sampan_host::renderer::Renderer;
use sampan_host::trace::{OpenSpan, SpanKind, Trace};
use sampan_host::{
    Args, Context, CurrentRun, Error, ErrorKind, FunctionKind, Handle, Module, Param, Reader,
    RequestView, Rerun, ScriptLimits, Type, Value, answer, param, refusals, row,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// The maximum number of compiled templates that an isolate keeps and that are not files.
const STRINGS_MAX: usize = 256;

const NAME: Param = param!("name": Type::Text,
    "A file in `templates/`: `page.html`. `page.html#rows` is the block `rows` of it alone.");

const DATA: Param = param!("data"? Type::InPlace, "The variables of the template, by their names.");

const FUNCTION: Param = param!("fn": Type::Function, "The function. It cannot wait.");

/// The functions that stand beside the builders of answers.
pub static ANSWERS: Module = Module {
    name: "app",
    doc: "Answers and texts from templates.",
    functions: &[
        row!("render"(NAME, DATA) -> Type::Answer, FunctionKind::Reading(render),
            "An answer with what the template prints. Its content type is that of the file's extension. In a file that \
             ends in `.html`, `.htm`, `.xml` or `.svg` printed values are escaped."),
        row!("render_string"(
                param!("template": Type::Text,
                    "The text of a template, which should be a constant. Printed values are not escaped."),
                DATA,
            ) -> Type::Text, FunctionKind::Reading(render_string),
            "What a template prints that is no file."),
    ],
    ..Module::EMPTY
};

/// The `template` table.
pub static MODULE: Module = Module {
    name: "template",
    doc: "What templates can use beside what Jinja2 has.",
    functions: &[
        row!("filter"(
                param!("name": Type::Text, "The name of the filter."),
                FUNCTION,
            ) -> Type::Nothing, FunctionKind::Sync(add_filter),
            "Gives templates a filter: `{{ price|money }}` calls the function with the value and the filter's \
             arguments. What it returns is escaped like any value. Only while the project loads."),
        row!("func"(
                param!("name": Type::Text, "The name of the function."),
                FUNCTION,
            ) -> Type::Nothing, FunctionKind::Sync(add_function),
            "Gives templates a function: `{{ link(owner) }}` calls it. Named arguments come as a map behind the \
             others. Only while the project loads."),
    ],
    request_methods: &[
        row!("render"(NAME, DATA) -> Type::Answer, FunctionKind::Reading(render_request),
        "As `app.render`, with what belongs to the request in reach of the template: `request`, `session` and \
         `flashes`."),
    ],
    ..Module::EMPTY
};

/// The templates of an isolate: the templates of its project, and what its script has added to them.
pub struct TemplateStore {
    templates: Arc<Templates>,
    functions: Rc<ScriptFunctions>,
    strings: RefCell<HashMap<String, Rc<Template>>>,
    is_loaded: std::cell::Cell<bool>,
    /// True if all that templates name must be there once the script is loaded.
    is_checked: bool,
    /// The runs of the isolate, for their traces.
    run: Option<Rc<CurrentRun>>,
}

impl TemplateStore {
    /// A store for an isolate that is about to load.
    pub fn new(templates: Arc<Templates>) -> Self {
        let environment = environment(templates.undefined());
        Self {
            templates,
            functions: ScriptFunctions::new(environment),
            strings: RefCell::default(),
            is_loaded: std::cell::Cell::new(false),
            is_checked: true,
            run: None,
        }
    }

    /// Returns a store beside the project's, for a script that is not part of it: filters and functions that it lacks
    /// are the project's, so a name is looked up when it is used.
    #[must_use]
    pub fn beside_project(self) -> Self {
        Self {
            is_checked: false,
            ..self
        }
    }

    /// Has templates recorded as spans of the runs of an isolate.
    #[must_use]
    pub fn within(self, run: Option<Rc<CurrentRun>>) -> Self {
        Self { run, ..self }
    }

    /// Adds values that all templates have.
    #[must_use]
    pub fn with_values(self, values: Vec<(&'static str, PageValue)>) -> Self {
        for (name, value) in values {
            match value {
                PageValue::Function(function) => self.functions.add_native(name, function),
                PageValue::Filter(filter) => self.functions.add_native_filter(name, filter),
                PageValue::Variable(variable) => {
                    let variable = move |request: &_| Ok(from_host(variable(request)?));
                    let variable = Variable::OfRequest(Rc::new(variable));
                    self.functions.add_variable(name, variable);
                }
                PageValue::AnyVariable(variable) => {
                    let variable = move |request: ForRequest<'_>| Ok(from_host(variable(request)?));
                    let variable = Variable::Any(Rc::new(variable));
                    self.functions.add_variable(name, variable);
                }
                PageValue::Fields(fields) => {
                    let variable =
                        move |_: &_| Ok(minijinja::Value::from_object(RequestFields::new(fields)));
                    let variable = Variable::OfRequest(Rc::new(variable));
                    self.functions.add_variable(name, variable);
                }
            }
        }
        self
    }

    /// The project is loaded: no filter and no function is added from now on, and all is there that templates name.
    ///
    /// # Errors
    /// A template names a filter, a test or another template that there is not.
    pub fn close(&self) -> Result<(), Error> {
        self.is_loaded.set(true);
        if !self.is_checked {
            return Ok(());
        }
        check(
            &self.templates,
            &self.functions,
            &self.functions.environment(),
        )
    }

    /// Has the script's functions at hand while a template is rendered.
    fn rendered(
        &self,
        context: &Context,
        reader: &dyn Reader,
        data: Handle,
        template: &Template,
        block: Option<&str>,
        request: Option<Rc<dyn RequestView>>,
    ) -> Result<Vec<u8>, Error> {
        let data = match reader.kind(data) {
            Kind::Nothing | Kind::Null => TemplateValue::UNDEFINED,
            Kind::Map => TemplateValue::Script(data),
            _ => {
                return Err(Error::script(
                    "the data of a template must have names for its values",
                ));
            }
        };
        let trace = self.run.as_ref().and_then(|run| run.recorded());
        let mut span = trace.map(|trace| traced(&trace, template, block));
        let limits = context.get::<ScriptLimits>().unwrap_or_default();
        let environment = self.functions.environment();
        let (modes, globals) = (Modes::new(&environment), self.functions.globals());
        let machine = Machine::new(
            reader,
            &self.templates,
            &modes,
            &self.functions,
            &globals,
            &limits,
            data,
        );
        let machine = machine.seeing(request.clone());
        let rendered = self
            .functions
            .during(request, || machine.render(template, block));
        rendered.map_err(|fault| {
            let error = fault.told();
            if let Some(span) = &mut span {
                span.fail(error.message());
            }
            error
        })
    }

    /// A template that is not a file.
    fn string(&self, text: &str) -> Result<Rc<Template>, Error> {
        if let Some(known) = self.strings.borrow().get(text) {
            return Ok(Rc::clone(known));
        }
        let template =
            compiled(TEXT_NAME, text).map_err(|error| error.with_kind(ErrorKind::Script))?;
        let template = Rc::new(template);
        let mut strings = self.strings.borrow_mut();
        if strings.len() >= STRINGS_MAX {
            strings.clear();
        }
        strings.insert(text.to_owned(), Rc::clone(&template));
        Ok(template)
    }
}

/// Opens the span of a template.
#[cold]
fn traced(trace: &Trace, template: &Template, block: Option<&str>) -> OpenSpan {
    let mut span = trace.open("render", SpanKind::Internal);
    let name = &template.main.source.name;
    let name = block.map_or_else(|| name.clone(), |block| format!("{name}#{block}"));
    span.add(vec![("template.name".into(), name.into())]);
    span
}

/// Renders files of the project for other capabilities.
pub(crate) struct FileRenderer(pub(crate) Rc<TemplateStore>);

impl Renderer for FileRenderer {
    fn has(&self, name: &str) -> bool {
        self.0.templates.get(name).is_some()
    }

    fn render(
        &self,
        context: &Context,
        reader: &dyn Reader,
        name: &str,
        data: Handle,
    ) -> Result<String, Error> {
        let Some(template) = self.0.templates.get(name) else {
            return Err(self.0.templates.not_found(name).told());
        };
        let text = self
            .0
            .rendered(context, reader, data, template, None, None)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    }
}

fn store(context: &Context) -> Result<Rc<TemplateStore>, Error> {
    let store = context.get::<TemplateStore>();
    store.ok_or_else(|| Error::new(ErrorKind::Internal, "there is no store of templates"))
}

fn render(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    render_for(context, args, None, reader)
}

fn render_request(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let request = Rc::clone(args.request());
    render_for(context, args, Some(request), reader)
}

fn render_for(
    context: &Context,
    mut args: Args,
    request: Option<Rc<dyn RequestView>>,
    reader: &dyn Reader,
) -> Result<Value, Error> {
    let store = store(context)?;
    let (name, data) = (args.text(0), args.handle(1));
    let (file, block) = match name.split_once('#') {
        Some((file, block)) => (file, Some(block)),
        None => (name.as_str(), None),
    };
    let Some(template) = store.templates.get(file) else {
        return Err(store.templates.not_found(file).told());
    };
    let body = store.rendered(context, reader, data, template, block, request)?;
    Ok(answer::rendered(body, content_type(file)))
}

fn render_string(context: &Context, mut args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let store = store(context)?;
    let template = store.string(&args.text(0))?;
    let text = store.rendered(context, reader, args.handle(1), &template, None, None)?;
    Ok(match String::from_utf8(text) {
        Ok(text) => Value::Text(text),
        Err(error) => Value::Bytes(error.into_bytes()),
    })
}

fn add_filter(context: &Context, args: Args) -> Result<Value, Error> {
    add(context, args, ScriptFunctions::add_filter)
}

fn add_function(context: &Context, args: Args) -> Result<Value, Error> {
    add(context, args, ScriptFunctions::add_function)
}

fn add(
    context: &Context,
    mut args: Args,
    add: fn(&ScriptFunctions, String, sampan_host::Callback),
) -> Result<Value, Error> {
    if Rerun::is_on(context) {
        return Ok(Value::Null);
    }
    let store = store(context)?;
    if store.is_loaded.get() {
        return Err(refusals::too_late("filters and functions of templates"));
    }
    let name = args.text(0);
    let mut chars = name.chars();
    let is_name = chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || first == '_')
        && chars.all(|one| one.is_ascii_alphanumeric() || one == '_');
    if !is_name {
        return Err(Error::script(format!(
            "{name:?} is no name: it must have letters, digits and _ only, and begin with none of the digits"
        )));
    }
    let function = args
        .function(1)
        .ok_or_else(|| Error::new(ErrorKind::Internal, "no function"))?;
    add(&store.functions, name, function);
    Ok(Value::Null)
}

/// Returns the content type of a template's output, by the name of its file.
fn content_type(file_name: &str) -> &'static str {
    answer::type_of_file(printed_file(file_name))
}
