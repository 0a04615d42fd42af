//! Reads values of the script where they lie, for one call of a row.
//!
//! A handle is a Node-API handle in a list. Those live until the call ends, whatever a getter, a proxy or a callback
//! does to the object that they came from.

use crate::sys::{Failure, Js, Kind as JsKind};
use crate::values::numbers::number;
use crate::values::objects;
use crate::values::value::{bytes_of, class_of, classes};
use crate::vm::callback;
use crate::vm::core::Cx;
use crate::vm::error::described;
use sampan_host::reader::{Keys, Kind, Mark, Name};
use sampan_host::{Callback, Error, Handle, Reader, Value};
use sampan_js_contract::BoundRow;
use std::cell::RefCell;

/// Reads values for one call.
pub(crate) struct NapiReader<'a> {
    cx: Cx<'a>,
    /// The row that reads.
    row: BoundRow,
    list: RefCell<Vec<Js<'a>>>,
}

impl<'a> NapiReader<'a> {
    /// A reader for a row, whose arguments are the first handles.
    pub(crate) fn new(cx: Cx<'a>, args: &[Js<'a>], row: BoundRow) -> Self {
        let mut list = args.to_vec();
        list.resize(row.function.params.len().max(args.len()), cx.undefined());
        Self {
            cx,
            row,
            list: RefCell::new(list),
        }
    }

    fn get(&self, it: Handle) -> Js<'a> {
        let known = self.list.borrow().get(it.number()).copied();
        known.unwrap_or_else(|| self.cx.undefined())
    }

    fn add(&self, value: Js<'a>) -> Handle {
        let mut list = self.list.borrow_mut();
        list.push(value);
        Handle::new(list.len() as u32 - 1)
    }

    fn nothing(&self) -> Handle {
        self.add(self.cx.undefined())
    }

    fn ask<R>(&self, ask: impl FnOnce(Cx<'a>) -> Result<R, Failure>) -> Result<R, Error> {
        ask(self.cx).map_err(|failure| described(self.cx, failure))
    }

    /// Returns the class of an object; plain where looking at it failed.
    fn class(&self, value: Js<'_>) -> i32 {
        if self.cx.is_array(value) {
            return classes::LIST;
        }
        class_of(self.cx, value).unwrap_or_else(|_| {
            self.cx.clear();
            classes::PLAIN
        })
    }

    fn is_object(&self, value: Js<'_>) -> bool {
        self.cx.kind(value) == JsKind::Object
    }
}

impl Reader for NapiReader<'_> {
    fn kind(&self, it: Handle) -> Kind {
        let (cx, value) = (self.cx, self.get(it));
        match cx.kind(value) {
            JsKind::Undefined => Kind::Nothing,
            JsKind::Null => Kind::Null,
            JsKind::Bool => Kind::Bool(cx.is_true(value)),
            JsKind::Number => match number(cx.number_of(value).unwrap_or(f64::NAN)) {
                Value::Int(whole) => Kind::Int(whole),
                Value::Float(float) => Kind::Float(float),
                _ => Kind::Nothing,
            },
            JsKind::BigInt => match cx.big_int_of(value) {
                Some(whole) => Kind::Int(whole),
                None => Kind::Other("BigInt"),
            },
            JsKind::Text => Kind::Text,
            JsKind::Symbol => Kind::Other("symbol"),
            JsKind::Function => Kind::Function,
            JsKind::Object => match self.class(value) {
                classes::LIST => Kind::List,
                classes::BYTES => Kind::Bytes,
                classes::PROMISE => Kind::Other("promise"),
                classes::SET => Kind::Other("Set"),
                classes::DATE => Kind::Text,
                classes::NATIVE => objects::at(cx, value).map_or(Kind::Map, Kind::Object),
                _ => Kind::Map,
            },
        }
    }

    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8])) {
        let value = self.get(it);
        match self.cx.kind(value) {
            JsKind::Text => {
                if let Ok(text) = self.cx.text(value) {
                    see(text.as_bytes());
                }
            }
            JsKind::Object if self.class(value) == classes::DATE => {
                let text = self.ask(|cx| Ok(cx.text(cx.call_own("dateText", &[value])?)?));
                see(text.unwrap_or_default().as_bytes());
            }
            // A copy: script that runs while it is shown may change the bytes.
            _ => {
                if let Some(bytes) = bytes_of(self.cx, value) {
                    see(&bytes);
                }
            }
        }
    }

    fn len(&self, it: Handle) -> Result<usize, Error> {
        let value = self.get(it);
        if !self.is_object(value) {
            return Ok(0);
        }
        self.ask(|cx| match self.class(value) {
            classes::LIST => {
                let length = cx.get(value, "length")?;
                Ok(cx.number_of(length).unwrap_or(0.0) as usize)
            }
            classes::BYTES => Ok(0),
            classes::MAP => Ok(cx.number_of(cx.get(value, "size")?).unwrap_or(0.0) as usize),
            _ => Ok(cx.length(cx.keys(value)?)? as usize),
        })
    }

    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error> {
        let (list, Ok(at)) = (self.get(list), u32::try_from(at)) else {
            return Ok(self.nothing());
        };
        if !self.is_object(list) || self.class(list) != classes::LIST {
            return Ok(self.nothing());
        }
        self.ask(|cx| Ok(self.add(cx.at(list, at)?)))
    }

    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error> {
        let map = self.get(map);
        if !self.is_object(map) {
            return Ok(self.nothing());
        }
        self.ask(|cx| {
            let key = cx.string(name.text())?;
            if self.class(map) == classes::MAP {
                return Ok(self.add(cx.call_own("ofMap", &[map, key])?));
            }
            Ok(self.add(cx.get_by(map, key)?))
        })
    }

    fn keys(&self, map: Handle) -> Result<Keys, Error> {
        let map = self.get(map);
        let first = Handle::new(self.list.borrow().len() as u32);
        if !self.is_object(map) || self.class(map) == classes::BYTES {
            return Ok(Keys::new(first, 0));
        }
        self.ask(|cx| {
            let keys = match self.class(map) {
                classes::MAP => cx.call_own("keysOfMap", &[map])?,
                _ => cx.keys(map)?,
            };
            let count = cx.length(keys)?;
            for at in 0..count {
                self.add(cx.at(keys, at)?);
            }
            Ok(Keys::new(first, count))
        })
    }

    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error> {
        let (map, key) = (self.get(map), self.get(key));
        if !self.is_object(map) {
            return Ok(self.nothing());
        }
        self.ask(|cx| match self.class(map) {
            classes::MAP => Ok(self.add(cx.call_own("ofMap", &[map, key])?)),
            _ => Ok(self.add(cx.get_by(map, key)?)),
        })
    }

    fn callback(&self, it: Handle) -> Result<Option<Callback>, Error> {
        let value = self.get(it);
        if self.cx.kind(value) != JsKind::Function {
            return Ok(None);
        }
        self.ask(|cx| callback::keep(cx, value, self.row)).map(Some)
    }

    fn check(&self) -> Result<(), Error> {
        let room = self.cx.core().limits.memory_bytes_max / size_of::<Js<'_>>();
        match self.list.borrow().len() > room {
            true => Err(self.cx.core().limits.value_too_large()),
            false => Ok(()),
        }
    }

    fn mark(&self) -> Mark {
        Mark::new(self.list.borrow().len() as u32)
    }

    fn release(&self, mark: Mark) {
        self.list.borrow_mut().truncate(mark.count());
    }
}
