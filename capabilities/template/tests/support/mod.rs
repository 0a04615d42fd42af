//! A reader over values in memory, and both renderers behind one function.

use minijinja::value::ValueKind;
use minijinja::{AutoEscape, Environment, UndefinedBehavior, Value, default_auto_escape_callback};
use sampan_host::reader::{Keys, Kind, Mark, Name, Plain, SeeRow};
use sampan_host::{Args, Context, Error, FunctionKind, Handle, Reader, Value as HostValue};
use sampan_template::{ANSWERS, TemplateStore, Templates};
use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::sync::Arc;

/// The most instructions of minijinja for a template.
const FUEL: u64 = 1_000_000;

/// Values by their handles.
pub(crate) struct MemoryReader {
    values: RefCell<Vec<Value>>,
    /// The most handles that there were at a time.
    pub(crate) most: Cell<usize>,
    /// False if rows are not shown, but read member by member.
    pub(crate) shows_rows: bool,
}

impl MemoryReader {
    pub(crate) fn new(data: Value) -> Self {
        Self {
            // The name of the template, and its data.
            values: RefCell::new(vec![Value::from(()), data]),
            most: Cell::new(2),
            shows_rows: true,
        }
    }

    fn value_of(&self, it: Handle) -> Value {
        self.values
            .borrow()
            .get(it.number())
            .cloned()
            .unwrap_or_default()
    }

    fn add(&self, value: Value) -> Handle {
        let mut values = self.values.borrow_mut();
        values.push(value);
        self.most.set(self.most.get().max(values.len()));
        Handle::new(values.len() as u32 - 1)
    }
}

impl Reader for MemoryReader {
    fn kind(&self, it: Handle) -> Kind {
        let value = self.value_of(it);
        match value.kind() {
            ValueKind::Undefined => Kind::Nothing,
            ValueKind::None => Kind::Null,
            ValueKind::Bool => Kind::Bool(value.is_true()),
            ValueKind::Number if value.is_integer() => Kind::Int(value.as_i64().expect("64 bits")),
            ValueKind::Number => Kind::Float(f64::try_from(value).expect("a number")),
            ValueKind::String => Kind::Text,
            ValueKind::Bytes => Kind::Bytes,
            ValueKind::Seq | ValueKind::Iterable => Kind::List,
            ValueKind::Map => Kind::Map,
            _ => Kind::Other("plain object"),
        }
    }

    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8])) {
        let value = self.value_of(it);
        see(value.as_bytes().expect("text or bytes"));
    }

    fn show_rows(
        &self,
        list: Handle,
        items: Range<usize>,
        names: &[Name],
        see: &mut SeeRow<'_>,
    ) -> usize {
        if !self.shows_rows {
            return 0;
        }
        let list = self.value_of(list);
        let rows = items
            .clone()
            .map_while(|at| list.get_item_by_index(at).ok());
        let shown = rows.take_while(|row| {
            let members: Vec<_> = names.iter().map(|name| row.get_attr(name.text())).collect();
            let plain = members.iter().map(|member| plain(member.as_ref().ok()?));
            row.kind() == ValueKind::Map && see(&plain.collect::<Vec<_>>())
        });
        shown.count()
    }

    fn len(&self, it: Handle) -> Result<usize, Error> {
        Ok(self.value_of(it).len().unwrap_or(0))
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        let list = self.value_of(list);
        Ok(self.add(list.get_item_by_index(at).unwrap_or_default()))
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        let map = self.value_of(map);
        Ok(self.add(map.get_attr(name.text()).unwrap_or_default()))
    }

    fn keys(&self, map: Handle) -> Result<Keys, Error> {
        let first = Handle::new(self.values.borrow().len() as u32);
        let map = self.value_of(map);
        let mut count = 0;
        for key in map.try_iter().into_iter().flatten() {
            self.add(key);
            count += 1;
        }
        Ok(Keys::new(first, count))
    }

    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error> {
        let (map, key) = (self.value_of(map), self.value_of(key));
        Ok(self.add(map.get_item(&key).unwrap_or_default()))
    }

    fn check(&self) -> Result<(), Error> {
        Ok(())
    }

    fn mark(&self) -> Mark {
        Mark::new(self.values.borrow().len() as u32)
    }

    fn release(&self, mark: Mark) {
        self.values.borrow_mut().truncate(mark.count());
    }
}

/// A value, if it is a plain one.
fn plain(value: &Value) -> Option<Plain<'_>> {
    match value.kind() {
        ValueKind::Bool => Some(Plain::Bool(value.is_true())),
        ValueKind::Number if value.is_integer() => value.as_i64().map(Plain::Int),
        ValueKind::String => value.as_str().map(|text| Plain::Text(text.as_bytes())),
        _ => None,
    }
}

/// minijinja with the filters that follow Jinja2; it escapes in SVG images too.
pub(crate) fn oracle(undefined: UndefinedBehavior) -> Environment<'static> {
    let mut environment = sampan_template::environment(undefined);
    // Empty ones of our own, under names that no file has.
    environment.clear_templates();
    environment.set_fuel(Some(FUEL));
    environment.add_function("namespace", minijinja::functions::namespace);
    environment.set_auto_escape_callback(|name| match name.contains(".svg") {
        true => AutoEscape::Html,
        false => default_auto_escape_callback(name),
    });
    environment
}

/// The value of an expression.
pub(crate) fn data(expression: &str) -> Value {
    let environment = Environment::new();
    let expression = environment
        .compile_expression(expression)
        .expect("an expression");
    expression.eval(()).expect("a value")
}

/// Returns minijinja's output, or its error.
pub(crate) fn by_minijinja(
    files: &[(String, String)],
    main: &str,
    data: &Value,
    undefined: UndefinedBehavior,
) -> Result<String, String> {
    let mut environment = oracle(undefined);
    for (name, text) in files {
        let added = environment.add_template_owned(name.clone(), text.clone());
        added.map_err(|error| format!("{error:#}"))?;
    }
    let template = environment
        .get_template(main)
        .map_err(|error| error.to_string())?;
    template.render(data.clone()).map_err(|error| {
        let mut text = error.to_string();
        let mut cause = std::error::Error::source(&error);
        while let Some(error) = cause {
            text += &format!(": {error}");
            cause = error.source();
        }
        text
    })
}

/// Returns our output, or our error.
pub(crate) fn by_us(
    files: &[(String, String)],
    main: &str,
    reader: &MemoryReader,
    undefined: UndefinedBehavior,
) -> Result<String, String> {
    let files = files
        .iter()
        .map(|(name, text)| (name.clone(), text.clone().into_bytes()));
    let templates = Templates::compile(files).map_err(|error| error.to_string())?;
    render(Arc::new(templates.with_undefined(undefined)), main, reader)
        .map_err(|error| error.to_string())
}

/// Calls the row as an engine does.
pub(crate) fn render(
    templates: Arc<Templates>,
    main: &str,
    reader: &MemoryReader,
) -> Result<String, Error> {
    let context = Context::default();
    context.put(TemplateStore::new(templates));
    let row = &ANSWERS.functions[0];
    let args = Args::check("app", row, vec![HostValue::from(main), HostValue::Null])?;
    let FunctionKind::Reading(body) = row.kind else {
        panic!("{} reads its data", row.name);
    };
    match body(&context, args, reader)? {
        HostValue::List(answer) => match &answer[..] {
            [HostValue::Bytes(body), HostValue::Text(_)] => {
                Ok(String::from_utf8(body.clone()).expect("UTF-8"))
            }
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}
