//! Filters, tests, functions and methods.

use super::{Cursor, Machine};
use crate::escape::escape_html;
use crate::fault::{Outcome, TemplateFault};
use crate::jinja2::{filter_error, normalised, test_error};
use crate::objects::{Macro, TemplateModule};
use crate::program::{Escape, Known, KnownFilter, KnownTest};
use crate::script::{ScriptGlobal, argument, from_host};
use crate::value::TemplateValue;
use minijinja::value::ValueKind;
use minijinja::{State, Value};
use sampan_host as host;
use sampan_host::pages::PageFunction;
use sampan_host::reader::{Kind, Name};

/// The methods that every map has, with any names of its members.
const METHODS_OF_MAPS: [&str; 4] = ["get", "items", "keys", "values"];

impl<'m, 'e> Machine<'m, 'e> {
    /// Returns minijinja's state for the rendering.
    pub(super) fn state(&mut self, mode: Escape) -> Outcome<&mut State<'m, 'e>> {
        let slot = &mut self.states[mode as usize];
        if slot.is_none() {
            *slot = Some(self.modes.state(mode)?);
        }
        slot.as_mut()
            .ok_or_else(|| TemplateFault::new("there is no state"))
    }

    pub(super) fn apply_filter(
        &mut self,
        filter: &Known<KnownFilter>,
        count: Option<u16>,
    ) -> Outcome<()> {
        if let (Some(known), Some(count)) = (filter.known, count)
            && !self.hides_known
            && let Some(result) = self.known_filter(known, usize::from(count))?
        {
            self.stack.truncate(self.stack.len() - usize::from(count));
            self.push(result);
            return Ok(());
        }
        let count = self.argument_count(count)?;
        let args = self.pop_count(count);
        let mut args = self.all_owned(&args)?;
        if args.len() > 1 && !self.functions.has_filter(&filter.name) {
            args = normalised(&filter.name, args)?;
        }
        self.check_call(&filter.name, &args)?;
        let mode = self.escape;
        let result = self.state(mode)?.apply_filter(&filter.name, &args);
        let result =
            result.map_err(|error| filter_error(error, &filter.name, &args, self.functions))?;
        self.push_own(result);
        Ok(())
    }

    /// The result of a filter that has a way of its own, if it can go it with the arguments on the stack.
    #[inline]
    fn known_filter(&mut self, known: KnownFilter, count: usize) -> Outcome<Option<TemplateValue>> {
        let args = &self.stack[self.stack.len() - count..];
        let Some((value, rest)) = args.split_first() else {
            return Ok(None);
        };
        if let (KnownFilter::Default, [other]) = (known, rest) {
            let found = if self.is_undefined(value) {
                other
            } else {
                value
            };
            // An argument that has a name is not the other value.
            return Ok((!is_named(other)).then(|| found.clone()));
        }
        let (TemplateValue::Script(it), []) = (value, rest) else {
            return Ok(None);
        };
        let kind = self.reader.kind(*it);
        if let (KnownFilter::Length, Kind::List | Kind::Map) = (known, kind) {
            let length = self.reader.len(*it)?;
            return Ok(Some(TemplateValue::Own(Value::from(length))));
        }
        let Some(text) = (kind == Kind::Text)
            .then(|| self.reader.text(*it))
            .flatten()
        else {
            return Ok(None);
        };
        Ok(Some(TemplateValue::Own(match known {
            KnownFilter::Upper => Value::from(text.to_uppercase()),
            KnownFilter::Lower => Value::from(text.to_lowercase()),
            KnownFilter::Length => Value::from(text.chars().count()),
            KnownFilter::Safe => Value::from_safe_string(text),
            KnownFilter::Escape if self.escape == Escape::Html => {
                let mut escaped = Vec::with_capacity(text.len());
                escape_html(&mut escaped, text.as_bytes());
                Value::from_safe_string(String::from_utf8_lossy(&escaped).into_owned())
            }
            KnownFilter::Escape | KnownFilter::Default => return Ok(None),
        })))
    }

    pub(super) fn perform_test(
        &mut self,
        test: &Known<KnownTest>,
        count: Option<u16>,
    ) -> Outcome<()> {
        if let (Some(known), Some(1)) = (test.known, count) {
            let value = self.pop();
            if let Some(result) = self.known_test(known, &value) {
                self.push(result.into());
                return Ok(());
            }
            self.push(value);
        }
        let count = self.argument_count(count)?;
        let args = self.pop_count(count);
        let args = self.all_owned(&args)?;
        let mode = self.escape;
        let result = self.state(mode)?.perform_test(&test.name, &args);
        let result = result.map_err(|error| test_error(error, &test.name))?;
        self.push(result.into());
        Ok(())
    }

    fn known_test(&self, known: KnownTest, value: &TemplateValue) -> Option<bool> {
        let kind = match value {
            TemplateValue::Script(it) => Some(self.reader.kind(*it)),
            _ => None,
        };
        match known {
            KnownTest::Defined => Some(!self.is_undefined(value)),
            KnownTest::Undefined => Some(self.is_undefined(value)),
            KnownTest::None => kind.map(|kind| kind == Kind::Null),
            KnownTest::Odd | KnownTest::Even => {
                let number = match (kind, value) {
                    (Some(Kind::Int(number)), _) => number,
                    (None, TemplateValue::Own(value)) if value.is_integer() => value.as_i64()?,
                    _ => return None,
                };
                Some((number % 2 == 0) == matches!(known, KnownTest::Even))
            }
        }
    }

    /// Calls the function or macro with this name. True if the run goes on elsewhere.
    pub(super) fn call_function(
        &mut self,
        name: Name,
        count: Option<u16>,
        cursor: &mut Cursor,
    ) -> Outcome<bool> {
        let count = self.argument_count(count)?;
        if name == self.super_name {
            if count > 0 {
                return Err(TemplateFault::new(
                    "invalid operation: super() takes no arguments",
                ));
            }
            let text = self.call_super(true, cursor)?;
            self.push_own(text);
            return Ok(false);
        }
        let Some(function) = self.lookup(name)? else {
            return Err(TemplateFault::new(format!(
                "unknown function: {} is unknown",
                name.text()
            )));
        };
        if let TemplateValue::Loop(number) = function {
            if count != 1 {
                return Err(TemplateFault::new(
                    "invalid operation: loop() takes one argument",
                ));
            }
            self.recurse(number, true, cursor)?;
            return Ok(true);
        }
        let args = self.pop_count(count);
        let result = self.call_value(&function, args)?;
        self.push_own(result);
        Ok(false)
    }

    pub(super) fn call_object(&mut self, count: Option<u16>) -> Outcome<()> {
        let count = self.argument_count(count)?;
        let mut args = self.pop_count(count);
        let function = args.remove(0);
        let result = self.call_value(&function, args)?;
        self.push_own(result);
        Ok(())
    }

    /// Calls a function or a macro and prints what it gives. False, with nothing done, if that takes more.
    pub(super) fn emit_call(&mut self, name: Name, count: u16) -> Outcome<bool> {
        if name == self.super_name || self.escape == Escape::Json || self.is_discarding() {
            return Ok(false);
        }
        let Some(TemplateValue::Own(function)) = self.lookup(name)? else {
            return Ok(false);
        };
        if let Some(called) = function.downcast_object_ref::<Macro>() {
            let args = self.pop_count(usize::from(count));
            self.run_macro(called, args)?;
        } else if let Some(native) = self.native(&function) {
            let args = self.pop_count(usize::from(count));
            match self.call_native(&native, &args)? {
                host::Value::Text(text) if self.escape == Escape::Html => {
                    escape_html(&mut self.out, text.as_bytes());
                }
                host::Value::Text(text) => self.out.extend_from_slice(text.as_bytes()),
                other => drop(self.emit_own(&from_host(other))?),
            }
        } else {
            return Ok(false);
        }
        self.check_size()?;
        Ok(true)
    }

    fn native(&self, function: &Value) -> Option<PageFunction> {
        let global = function.downcast_object_ref::<ScriptGlobal>()?;
        self.functions.native(global)
    }

    fn call_native(
        &mut self,
        native: &PageFunction,
        args: &[TemplateValue],
    ) -> Outcome<host::Value> {
        let mut given = Vec::with_capacity(args.len());
        for arg in args {
            given.push(match arg {
                TemplateValue::Own(value) => argument(value)?,
                value => argument(&self.owned(value)?)?,
            });
        }
        Ok(native(self.request.as_ref(), &given)?)
    }

    /// Calls a value.
    fn call_value(&mut self, function: &TemplateValue, args: Vec<TemplateValue>) -> Outcome<Value> {
        match function {
            TemplateValue::Own(function) => {
                if let Some(called) = function.downcast_object_ref::<Macro>() {
                    return self.call_macro(called, args);
                }
                if let Some(native) = self.native(function) {
                    return self.call_native(&native, &args).map(from_host);
                }
                let args = self.all_owned(&args)?;
                let mode = self.escape;
                Ok(function.call(self.state(mode)?, &args)?)
            }
            TemplateValue::Script(it) if self.reader.kind(*it) == Kind::Function => {
                Err(TemplateFault::new(
                    "a function among the data cannot be called: give it to the templates as a function or a filter",
                ))
            }
            _ => Err(TemplateFault::new(
                "invalid operation: this value is not callable",
            )),
        }
    }

    pub(super) fn call_method(&mut self, name: Name, count: Option<u16>) -> Outcome<()> {
        let count = self.argument_count(count)?;
        let mut args = self.pop_count(count);
        let value = args.remove(0);
        if let TemplateValue::Loop(number) = value
            && matches!(name.text(), "changed" | "cycle")
        {
            let result = self.loop_method(number, name.text(), &args)?;
            self.push(result);
            return Ok(());
        }
        // A macro of another template, by the name of its import.
        if let TemplateValue::Own(own) = &value
            && own.downcast_object_ref::<TemplateModule>().is_some()
            && !METHODS_OF_MAPS.contains(&name.text())
            && let Some(called) = own.get_attr(name.text())?.downcast_object::<Macro>()
        {
            let result = self.call_macro(&called, args)?;
            self.push_own(result);
            return Ok(());
        }
        let (value, own_args) = (self.owned(&value)?, self.all_owned(&args)?);
        if let Some(result) = self.change(&value, name.text(), &own_args)? {
            self.push_own(result);
            return Ok(());
        }
        let all: Vec<Value> = [&value].into_iter().chain(&own_args).cloned().collect();
        self.check_call(name.text(), &all)?;
        let mode = self.escape;
        let result = value.call_method(self.state(mode)?, name.text(), &own_args);
        let result = match (result, Macro::wanted()) {
            (Err(_), Some(called)) => self.call_macro(&called, args)?,
            (result, _) => result?,
        };
        self.push_own(result);
        Ok(())
    }
}

/// Reports whether a value is the named arguments of a call.
pub(super) fn is_named(value: &TemplateValue) -> bool {
    match value {
        TemplateValue::Named(_) => true,
        TemplateValue::Own(value) => value.kind() == ValueKind::Map && value.is_kwargs(),
        _ => false,
    }
}
