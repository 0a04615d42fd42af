//! The options of a function, read where they lie: they may hold functions.

use sampan_host::names::{camel_case, snake_case};
use sampan_host::reader::{Kind, Name};
use sampan_host::{Callback, Error, Handle, Reader, refusals};

/// The options that a script gave.
pub(crate) struct GuardOptions<'a> {
    reader: &'a dyn Reader,
    given: Handle,
}

impl<'a> GuardOptions<'a> {
    /// Checks that each option is one of the `known`.
    pub(crate) fn read(
        reader: &'a dyn Reader,
        given: Handle,
        known: &[&str],
    ) -> Result<Self, Error> {
        match reader.kind(given) {
            Kind::Nothing | Kind::Null | Kind::Map => {}
            Kind::List if reader.len(given)? == 0 => {}
            _ => {
                let text = format!("the options must be named: {}", known.join(", "));
                return Err(Error::script(text).naming(known.iter().copied()));
            }
        }
        for key in reader.keys(given)?.iter() {
            let name = reader.text(key).unwrap_or_default();
            if !known.contains(&snake_case(&name).as_str()) {
                return Err(refusals::unknown_option(&name, known));
            }
        }
        Ok(Self { reader, given })
    }

    /// An option that was given.
    fn find(&self, name: &str) -> Result<Option<Handle>, Error> {
        for name in [name, &camel_case(name)] {
            let found = self.reader.member(self.given, Name::new(name))?;
            if !matches!(self.reader.kind(found), Kind::Nothing | Kind::Null) {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// An option that is text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Error> {
        let Some(found) = self.find(name)? else {
            return Ok(None);
        };
        match self.reader.kind(found) {
            Kind::Text => Ok(self.reader.text(found)),
            _ => Err(wrong(name, "text")),
        }
    }

    /// An option that is true or false.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, Error> {
        match self.find(name)?.map(|found| self.reader.kind(found)) {
            None => Ok(false),
            Some(Kind::Bool(is)) => Ok(is),
            Some(_) => Err(wrong(name, "true or false")),
        }
    }

    /// An option that is a whole number from `min` on.
    pub(crate) fn count(&self, name: &str, min: u32) -> Result<Option<u32>, Error> {
        let Some(found) = self.find(name)? else {
            return Ok(None);
        };
        let count = match self.reader.kind(found) {
            Kind::Int(count) => u32::try_from(count).ok(),
            _ => None,
        };
        match count.filter(|count| *count >= min) {
            Some(count) => Ok(Some(count)),
            None => Err(wrong(name, &format!("a whole number from {min} on"))),
        }
    }

    /// Reports whether an option is `false`: what it stands for is left out.
    pub(crate) fn is_off(&self, name: &str) -> Result<bool, Error> {
        let found = self.find(name)?;
        Ok(found.is_some_and(|found| self.reader.kind(found) == Kind::Bool(false)))
    }

    /// An option that is a function.
    pub(crate) fn function(&self, name: &str) -> Result<Option<Callback>, Error> {
        let Some(found) = self.find(name)? else {
            return Ok(None);
        };
        let function = self.reader.callback(found)?;
        function.map(Some).ok_or_else(|| wrong(name, "a function"))
    }

    /// Reports whether an option is a function.
    pub(crate) fn is_function(&self, name: &str) -> Result<bool, Error> {
        let found = self.find(name)?;
        Ok(found.is_some_and(|found| self.reader.kind(found) == Kind::Function))
    }

    /// An option that maps names to texts.
    pub(crate) fn pairs(&self, name: &str) -> Result<Option<Vec<(String, String)>>, Error> {
        let Some(found) = self.find(name)? else {
            return Ok(None);
        };
        let reader = self.reader;
        let fault = || wrong(name, "texts by name");
        if reader.kind(found) != Kind::Map {
            return Err(fault());
        }
        let pair = |key: Handle| {
            let value = reader.value(found, key)?;
            let name_of_pair = reader.text(key).filter(|_| reader.kind(key) == Kind::Text);
            let own = name_of_pair.ok_or_else(fault)?;
            match (reader.kind(value), reader.text(value)) {
                (Kind::Text, Some(text)) => Ok((own, text)),
                (kind, _) => {
                    let found = match kind {
                        Kind::Nothing => "nothing",
                        Kind::Null => "null",
                        Kind::Bool(_) => "true or false",
                        Kind::Int(_) | Kind::Float(_) => "a number",
                        _ => "another value",
                    };
                    Err(Error::script(format!(
                        "{name}: {own} must be text, not {found}"
                    )))
                }
            }
        };
        let pairs = reader.keys(found)?.iter().map(pair);
        pairs.collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// An option that is one text or a list of them.
    pub(crate) fn texts(&self, name: &str) -> Result<Option<Vec<String>>, Error> {
        let Some(found) = self.find(name)? else {
            return Ok(None);
        };
        let reader = self.reader;
        let text = |it: Handle| match reader.kind(it) {
            Kind::Text => reader
                .text(it)
                .ok_or_else(|| wrong(name, "a list of texts")),
            _ => Err(wrong(name, "a list of texts")),
        };
        match reader.kind(found) {
            Kind::List => {
                let items = (0..reader.len(found)?).map(|at| text(reader.item(found, at)?));
                items.collect::<Result<_, _>>().map(Some)
            }
            Kind::Map if reader.len(found)? == 0 => Ok(Some(Vec::new())),
            _ => Ok(Some(vec![text(found)?])),
        }
    }
}

/// Returns the error for an option of an option of a wrong kind.
pub(crate) fn wrong(name: &str, wanted: &str) -> Error {
    Error::script(format!("{name} must be {wanted}")).naming([name])
}
