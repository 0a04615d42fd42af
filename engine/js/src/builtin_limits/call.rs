//! One call of a wrapped built-in: the measures of arrays, numbers and digits.

use crate::builtin_limits::elements;
use crate::builtin_limits::rules::{Rule, WRAPPED};
use crate::values::inspect::{self, FoundProperty};
use crate::vm::limits::{ARRAY_LIKE_LENGTH_MAX, HOLES_MAX, PROTOTYPES_MAX};
use crate::vm::sys::{
    Cx, Failure, RawValue, Val, class_id, is_object, is_string, tag, throw_range, whole_number,
};
use rquickjs::qjs;
use std::ffi::CStr;

/// The longest text that is sorted by the built-in order without polls, in characters.
const SORT_TEXT_LENGTH_MAX: i64 = 1024;

/// One call of a wrapped built-in.
pub(super) struct Guard<'a> {
    pub(super) cx: Cx<'a>,
    pub(super) index: usize,
    pub(super) typed_length: RawValue<'a>,
    pub(super) symbol: RawValue<'a>,
}

impl Guard<'_> {
    pub(super) fn rule(&self) -> Rule {
        WRAPPED[self.index].2
    }

    pub(super) fn name(&self) -> &'static CStr {
        WRAPPED[self.index].1
    }

    #[inline]
    pub(super) fn allow(&self, size: i64) -> Result<(), Failure> {
        let (what, max) = self.rule().limit();
        if size > max {
            return Err(self.refuse(&format!("{what} above {max}")));
        }
        Ok(())
    }

    /// The size of the work on arrays, numbers and digits.
    #[inline]
    pub(super) fn measure(
        &self,
        rule: Rule,
        this: RawValue<'_>,
        args: &[RawValue<'_>],
    ) -> Result<i64, Failure> {
        let cx = self.cx;
        let Some(&first) = args.first() else {
            return match rule {
                Rule::This | Rule::Sort | Rule::All => self.length(this),
                _ => Ok(0),
            };
        };
        match rule {
            Rule::This | Rule::Sort => self.length(this),
            Rule::Arguments(index) => match args.get(index) {
                Some(list) if is_object(*list) && !self.is_near(*list)? => {
                    Err(self.refuse("too many prototypes"))
                }
                _ => Ok(0),
            },
            Rule::Items if args.get(1).is_some_and(|mapper| cx.is_function(*mapper)) => Ok(0),
            Rule::Items | Rule::List => {
                match elements::refusal(cx, first, matches!(rule, Rule::Items))? {
                    Some(why) => Err(self.refuse(&why)),
                    None => Ok(0),
                }
            }
            Rule::Raw => match self.plain_property(first, c"raw")? {
                Some(raw) => self.length(raw.raw()),
                None => Ok(0),
            },
            Rule::Count => Ok(whole_number(first).unwrap_or(0)),
            Rule::All => args.iter().try_fold(self.length(this)?, |sum, arg| {
                Ok(sum.saturating_add(self.spread(*arg)?))
            }),
            Rule::Find if self.is_array(this) => {
                let size = match tag(first) {
                    qjs::JS_TAG_BIG_INT => cx.integer_bytes(first) as i64,
                    _ if is_string(first) => cx.length(first)?,
                    _ => 0,
                };
                Ok(size.saturating_mul(self.length(this)?))
            }
            _ => Ok(0),
        }
    }

    fn is_array(&self, value: RawValue<'_>) -> bool {
        class_id(value) == self.cx.core().classes.array
    }

    /// Returns the number of elements that a built-in sees.
    #[inline]
    fn length(&self, value: RawValue<'_>) -> Result<i64, Failure> {
        if self.is_array(value) {
            let length = self.cx.length(value)?;
            // A hole is looked for in the prototypes.
            if length > HOLES_MAX && !inspect::is_shallow(self.cx, value, PROTOTYPES_MAX) {
                return Err(self.refuse("too many prototypes, or a proxy"));
            }
            return Ok(length);
        }
        self.unusual_length(value)
    }

    /// Reports whether one of the `count` elements is a long text, or something else that may become one.
    pub(super) fn has_long_text(&self, list: RawValue<'_>, count: i64) -> Result<bool, Failure> {
        if !self.is_array(list) {
            return Ok(true);
        }
        for index in 0..count {
            let element = self.cx.at(list, index as u32)?;
            let element = element.raw();
            if is_object(element)
                || is_string(element) && self.cx.length(element)? > SORT_TEXT_LENGTH_MAX
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reports whether an element that is missing is looked for in a few objects only.
    fn is_near(&self, list: RawValue<'_>) -> Result<bool, Failure> {
        if self.is_array(list) && self.cx.length(list)? <= HOLES_MAX {
            return Ok(true);
        }
        let mut at = self.cx.dup(list);
        for _ in 0..=PROTOTYPES_MAX {
            at = if inspect::is_proxy(at.raw()) {
                // SAFETY: the proxy is alive. The reference that comes back is owned.
                unsafe {
                    self.cx
                        .check(qjs::JS_GetProxyTarget(self.cx.raw(), at.js()))?
                }
            } else {
                self.cx.prototype(&at)?
            };
            if !is_object(at.raw()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    #[cold]
    fn unusual_length(&self, value: RawValue<'_>) -> Result<i64, Failure> {
        let length = if is_string(value) {
            self.cx.length(value)?
        } else if !is_object(value) {
            return Ok(0);
        } else {
            let length = match self.plain_property(value, c"length")? {
                Some(length) if is_object(length.raw()) => {
                    return Err(self.refuse("the length is an object"));
                }
                Some(length) => inspect::to_length(self.cx, length.raw())?,
                None => 0,
            };
            if inspect::is_typed_array(value) {
                return Ok(length);
            }
            if !inspect::is_shallow(self.cx, value, PROTOTYPES_MAX) {
                return Err(self.refuse("too many prototypes, or a proxy"));
            }
            length
        };
        if length > ARRAY_LIKE_LENGTH_MAX {
            let text = format!("length above {ARRAY_LIKE_LENGTH_MAX} of what is no array");
            return Err(self.refuse(&text));
        }
        Ok(length)
    }

    /// Returns the number of elements that an argument of `concat` adds.
    fn spread(&self, value: RawValue<'_>) -> Result<i64, Failure> {
        if !is_object(value) {
            return Ok(1);
        }
        if self.is_array(value) {
            return self.length(value);
        }
        if inspect::is_proxy(value) {
            return Ok(self.cx.length(value)?);
        }
        let found = inspect::symbol(self.cx, value, self.symbol, self.typed_length)?;
        match self.value(found)? {
            Some(flag) if inspect::is_truthy(self.cx, flag.raw()) => self.length(value),
            _ => Ok(1),
        }
    }

    /// A property that is no getter and not behind a proxy.
    fn plain_property(&self, value: RawValue<'_>, name: &CStr) -> Result<Option<Val>, Failure> {
        let found = inspect::named(self.cx, value, name, self.typed_length)?;
        self.value(found)
    }

    pub(super) fn value(&self, found: FoundProperty) -> Result<Option<Val>, Failure> {
        match found {
            FoundProperty::Value(value) => Ok(Some(value)),
            FoundProperty::Nothing => Ok(None),
            FoundProperty::Computed => {
                Err(self.refuse("a getter or a proxy where a plain value is needed"))
            }
        }
    }

    #[cold]
    pub(super) fn refuse(&self, why: &str) -> Failure {
        let (owner, name, _) = WRAPPED[self.index];
        let text = format!(
            "{}.{}: {why}",
            owner.to_string_lossy(),
            name.to_string_lossy()
        );
        throw_range(self.cx, &text)
    }
}
