//! Values of the script, read where they lie.
//!
//! A row with a parameter of [`Type::InPlace`](crate::Type::InPlace) gets a [`Reader`] instead of a copy. What it reads
//! are [`Handle`]s: numbers that mean a value for as long as the call goes on. A getter of JavaScript or a metamethod
//! of Lua may run script under the reader's hands, and that script may change what is being read. So a reader looks
//! anew at every question: what was there a moment ago may be [`Kind::Nothing`] now, and is never memory that is gone.

use crate::error::Error;
use crate::tables::objects::Object;
use crate::value::Callback;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{LazyLock, Mutex, PoisonError};

/// A value of the script, valid for the call that got it. In another call it means another value, or nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle(u32);

impl Handle {
    /// The one with this number: for engines. Those of the arguments of a call are their indices.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number.
    pub const fn number(self) -> usize {
        self.0 as usize
    }
}

/// The kind of a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// A missing value: `nil` or `undefined`, or a handle that means nothing.
    Nothing,
    /// An explicit null: `app.null`, `null`, and the NULL of a row.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Another number.
    Float(f64),
    /// Text: [`Reader::bytes`] gives it.
    Text,
    /// Bytes that are not text: [`Reader::bytes`] gives them. Lua calls all bytes text.
    Bytes,
    /// Values by position: a Lua table with a value under 1 or made by `json.array`, a JavaScript array.
    List,
    /// Values by name: any other table or object. A row of a query is one.
    Map,
    /// A function.
    Function,
    /// A native object.
    Object(Object),
    /// Anything else, by its name.
    Other(&'static str),
}

/// The keys of a map as they were when they were asked for.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    first: u32,
    count: u32,
}

impl Keys {
    /// Those with the numbers from `first` on: for engines.
    pub const fn new(first: Handle, count: u32) -> Self {
        Self {
            first: first.0,
            count,
        }
    }

    /// Returns the number of names.
    pub fn len(self) -> usize {
        self.count as usize
    }

    /// Reports whether there is none.
    pub fn is_empty(self) -> bool {
        self.count == 0
    }

    /// Each of them.
    pub fn iter(self) -> impl ExactSizeIterator<Item = Handle> {
        (0..self.count).map(move |at| Handle(self.first + at))
    }
}

/// A plain value, shown without a handle of its own.
#[derive(Clone, Copy, Debug)]
pub enum Plain<'a> {
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// Text, as [`Reader::bytes`] shows it.
    Text(&'a [u8]),
}

/// The most members that [`Reader::show_rows`] shows of an item.
pub const ROW_MEMBERS_MAX: usize = 16;

/// A function that sees the members of one item, and reports whether it wants those of the next.
pub type SeeRow<'a> = dyn FnMut(&[Option<Plain<'_>>]) -> bool + 'a;

/// The number of handles at some time.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u32);

impl Mark {
    /// So many: for engines.
    pub const fn new(count: u32) -> Self {
        Self(count)
    }

    /// Returns the count.
    pub const fn count(self) -> usize {
        self.0 as usize
    }
}

/// Reads values of the script during one call.
///
/// Every error is the script's: a getter or a metamethod threw or would have to wait, or the run has had its time.
pub trait Reader {
    /// Returns the kind of a value. Runs no script.
    fn kind(&self, it: Handle) -> Kind;

    /// Shows the bytes of a [`Kind::Text`] or [`Kind::Bytes`]; is not called for anything else. Text of JavaScript is
    /// UTF-8, text of Lua what the script made it. Runs no script.
    fn bytes(&self, it: Handle, see: &mut dyn FnMut(&[u8]));

    /// Shows a value if it is a plain one. False, with nothing done, if it is not, or if there is more to do than to
    /// look. Runs no script.
    fn show(&self, _it: Handle, _see: &mut dyn FnMut(Plain<'_>)) -> bool {
        false
    }

    /// Shows the member of a map, in one step. Use it only where [`Kind::Map`] was given for the map in this round.
    fn show_member(&self, _map: Handle, _name: Name, _see: &mut dyn FnMut(Plain<'_>)) -> bool {
        false
    }

    /// Shows members of items of a list, all of an item in one step: `None` for one that is not plain or not there.
    /// Stops where there is more to do than to look, such as at an item that is not a [`Kind::Map`], and where `see`
    /// returns false. Returns the number of items before that. The handles that `see` makes are released. Runs no
    /// script.
    fn show_rows(
        &self,
        _list: Handle,
        _items: Range<usize>,
        _names: &[Name],
        _see: &mut SeeRow<'_>,
    ) -> usize {
        0
    }

    /// Returns the number of items that a list has, or how many keys a map would give. Runs no script, but for a proxy.
    ///
    /// # Errors
    /// A list of Lua with holes: it has no length. Else as for all of these.
    fn len(&self, it: Handle) -> Result<usize, Error>;

    /// Reports whether a list of Lua has values under other keys than 1, 2, 3 and so on. What a list of JavaScript has
    /// besides its items does not count: JSON leaves it out.
    fn has_other_keys(&self, _list: Handle) -> bool {
        false
    }

    /// An item of a list, from 0; nothing beyond its end.
    ///
    /// # Errors
    /// As for all of these.
    fn item(&self, list: Handle, at: usize) -> Result<Handle, Error>;

    /// The member of a map, or of anything else that has members; nothing if there is none. Inherited members are found
    /// too, and in a JavaScript
    /// `Map` its entries.
    ///
    /// # Errors
    /// As for all of these.
    fn member(&self, map: Handle, name: Name) -> Result<Handle, Error>;

    /// The keys of a map, in an order that is always the same. Lua: the columns of a row in the statement's order; then
    /// numbers, then text by its bytes. JavaScript: its own order of an object's own names, and of a `Map`'s keys. What
    /// has no such order is left out.
    ///
    /// # Errors
    /// As for all of these.
    fn keys(&self, map: Handle) -> Result<Keys, Error>;

    /// Returns the value under a key of a map.
    ///
    /// # Errors
    /// As for all of these.
    fn value(&self, map: Handle, key: Handle) -> Result<Handle, Error>;

    /// The function that a value is; `None` if it is none. It is as good as one that was an argument.
    ///
    /// # Errors
    /// There is no memory for it.
    fn callback(&self, _: Handle) -> Result<Option<Callback>, Error> {
        Ok(None)
    }

    /// Looks whether the run may go on: for loops that ask nothing else for long.
    ///
    /// # Errors
    /// The run has had its time, or there are too many handles.
    fn check(&self) -> Result<(), Error>;

    /// Returns the number of handles.
    fn mark(&self) -> Mark;

    /// Forgets the handles that came after the mark, so that a long loop takes no more room than one of its rounds.
    /// Those whose bytes are being shown stay.
    fn release(&self, mark: Mark);
}

impl dyn Reader + '_ {
    /// Calls `see` with the bytes of a text.
    pub fn with_bytes<R>(&self, it: Handle, see: impl FnOnce(&[u8]) -> R) -> Option<R> {
        let (mut see, mut seen) = (Some(see), None);
        self.bytes(it, &mut |bytes| {
            if let Some(see) = see.take() {
                seen = Some(see(bytes));
            }
        });
        seen
    }

    /// A copy of a text. What is not UTF-8 in it is replaced.
    pub fn text(&self, it: Handle) -> Option<String> {
        self.with_bytes(it, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// One round of a loop: the handles that come in it go with it.
    pub fn round<R>(&self, body: impl FnOnce() -> R) -> R {
        let mark = self.mark();
        let result = body();
        self.release(mark);
        result
    }
}

/// The name of a member, made once and found quickly from then on. Names are kept as long as the process: make them of
/// what a capability or a template says, not of what a request says.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    number: u32,
    text: &'static str,
}

impl PartialEq for Name {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Name {}

impl Name {
    /// The name with this text.
    pub fn new(text: &str) -> Self {
        static NAMES: LazyLock<Mutex<HashMap<&'static str, u32>>> = LazyLock::new(Mutex::default);
        let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((text, number)) = names.get_key_value(text) {
            return Self {
                number: *number,
                text,
            };
        }
        let number = names.len() as u32;
        let text: &'static str = Box::leak(text.into());
        names.insert(text, number);
        Self { number, text }
    }

    /// Returns the text.
    pub fn text(self) -> &'static str {
        self.text
    }

    /// Returns the number: names are counted from 0.
    pub fn number(self) -> usize {
        self.number as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_made_once() {
        let (id, other) = (Name::new("reader_id"), Name::new("reader_other"));
        assert_eq!(id, Name::new("reader_id"));
        assert_ne!(id, other);
        assert_eq!(id.text(), "reader_id");
    }
}
