//! Some built-ins can run for over a second without an interrupt poll, on a request body of 1 MiB or within the memory
//! limit. They are wrapped: the wrapper measures the work first, and throws a RangeError if there is too much. The
//! table in `rules.rs` is the list, and `tests/builtins.rs` has a call for each entry, with the time that it takes
//! without the wrapper.
//!
//! The built-in must see what was measured. So a length that a script computes is refused, and texts to search are
//! converted once, here. `flat` and `flatMap` are replaced by `flat.js`.
//!
//! A wrapper costs about ten nanoseconds. Built-ins that poll, or that must allocate as they go, are not wrapped: an
//! allocation fails when the script must stop.

use crate::builtin_limits::rules::{Rule, WRAPPED};
use crate::builtin_limits::work;
use crate::values::inspect::{self, FoundProperty};
use crate::values::json_write;
use crate::vm::limits::{ARRAY_LIKE_LENGTH_MAX, PROTOTYPES_MAX, SORT_LENGTH_MAX};
use crate::vm::sys::{
    Cx, Failure, RawValue, Thrown, Val, arguments, class_id, is_nothing, is_object, is_string,
    is_undefined, native, tag,
};
use crate::vm::sys::{hidden, whole_number};
use rquickjs::qjs;
use std::ffi::{CStr, CString, c_int};

/// The order of a sort without a comparator (ECMA-262, SortCompare), as a function of which each call polls.
const COMPARE: &CStr =
    c"(function compare(a, b) { a = `${a}`; b = `${b}`; return a < b ? -1 : a > b ? 1 : 0; })";

/// Replaces `flat` and `flatMap`.
const FLAT: &CStr =
    match CStr::from_bytes_with_nul(concat!(include_str!("flat.js"), "\0").as_bytes()) {
        Ok(source) => source,
        Err(_) => panic!("NUL in flat.js"),
    };

/// Wraps the built-ins of the table.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    cx.eval(FLAT, c"sampan:flat.js")?;
    let typed = find(cx, c"Uint8Array.prototype.__proto__")?;
    let typed_length = inspect::getter(cx, typed.raw(), c"length")?;
    let symbols = find(cx, c"Symbol")?;
    for (index, (owner, name, rule)) in WRAPPED.iter().enumerate() {
        let owner = find(cx, owner)?;
        let original = cx.get(owner.raw(), name)?;
        if !cx.is_function(original.raw()) {
            continue;
        }
        let symbol = match rule {
            Rule::Search(symbol) => cx.get(symbols.raw(), symbol)?,
            Rule::All => cx.get(symbols.raw(), c"isConcatSpreadable")?,
            Rule::Sort => cx.eval(COMPARE, c"sampan:sort")?,
            _ => cx.undefined(),
        };
        let data = [original.raw(), typed_length.raw(), symbol.raw()];
        let wrapped = wrapper(cx, guarded, &data, name, index)?;
        hidden(cx, owner.raw(), name, wrapped)?;
    }
    let json = find(cx, c"JSON")?;
    let original = cx.get(json.raw(), c"stringify")?;
    let wrapped = wrapper(cx, stringify, &[original.raw()], c"stringify", 0)?;
    hidden(cx, json.raw(), c"stringify", wrapped)
}

/// A native function that has data of its own.
// SAFETY: a type alone; QuickJS calls such functions with live values, as many of each as the numbers say.
type WithData = unsafe extern "C" fn(
    *mut qjs::JSContext,
    qjs::JSValue,
    c_int,
    *mut qjs::JSValue,
    c_int,
    *mut qjs::JSValue,
) -> qjs::JSValue;

/// A function around the built-in that is the first of its data.
fn wrapper(
    cx: Cx<'_>,
    body: WithData,
    data: &[RawValue<'_>],
    name: &CStr,
    index: usize,
) -> Result<Val, Thrown> {
    let (length, index) = (cx.length(data[0])? as c_int, index as c_int);
    // SAFETY: the data are copied, the name terminated. The reference that comes back is owned.
    unsafe {
        cx.check(qjs::JS_NewCFunctionData2(
            cx.raw(),
            Some(body),
            name.as_ptr(),
            length,
            index,
            data.len() as c_int,
            data.as_ptr().cast::<qjs::JSValue>().cast_mut(),
        ))
    }
}

/// The object of a path from the global object.
fn find(cx: Cx<'_>, path: &CStr) -> Result<Val, Thrown> {
    // SAFETY: the context is alive. The reference that comes back is owned.
    let mut at = unsafe { cx.own(qjs::JS_GetGlobalObject(cx.raw())) };
    for name in path.to_string_lossy().split('.') {
        at = cx.get(at.raw(), &CString::new(name).map_err(|_| Thrown)?)?;
    }
    Ok(at)
}

/// `JSON.stringify` with a value alone: our own writer is several times faster.
// SAFETY: called by QuickJS alone, with a context that has a core, `argc` values and one datum.
unsafe extern "C" fn stringify(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    _: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with one datum. All are held until this
        // returns.
        let (this, args, original) = unsafe {
            let this = RawValue::from_js(this);
            (this, arguments(argc, argv), RawValue::from_js(*data))
        };
        if let [value] = args
            && let Some(text) = json_write::standard(cx, *value)?
        {
            return Ok(text);
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// Measures, then calls the built-in. Its data: the built-in, the getter of the length of typed arrays, and the symbol
/// (or the comparator) that the rule needs.
// SAFETY: called by QuickJS alone, with a context that has a core and the data that it was made with.
unsafe extern "C" fn guarded(
    ctx: *mut qjs::JSContext,
    this: qjs::JSValue,
    argc: c_int,
    argv: *mut qjs::JSValue,
    index: c_int,
    data: *mut qjs::JSValue,
) -> qjs::JSValue {
    // SAFETY: QuickJS calls this with a context that is alive until it returns.
    let cx = unsafe { Cx::from_raw(ctx) };
    native(cx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with three data. All are held until this
        // returns.
        let (this, args, [original, typed_length, symbol]) = unsafe {
            let data = *data.cast::<[RawValue<'_>; 3]>();
            (RawValue::from_js(this), arguments(argc, argv), data)
        };
        let guard = Guard {
            cx,
            index: index as usize,
            typed_length,
            symbol,
        };
        let rule = guard.rule();
        if matches!(rule, Rule::Search(_) | Rule::Normalize) {
            return guard.on_text(original, this, args);
        }
        let size = guard.measure(rule, this, args)?;
        guard.allow(size)?;
        if matches!(rule, Rule::Sort)
            && size > SORT_LENGTH_MAX
            && args.first().is_none_or(|order| is_undefined(*order))
        {
            return Ok(cx.call(original, this, &[symbol])?);
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// One call of a wrapped built-in.
struct Guard<'a> {
    cx: Cx<'a>,
    index: usize,
    typed_length: RawValue<'a>,
    symbol: RawValue<'a>,
}

impl Guard<'_> {
    fn rule(&self) -> Rule {
        WRAPPED[self.index].2
    }

    #[inline]
    fn allow(&self, size: i64) -> Result<(), Failure> {
        let (what, max) = self.rule().limit();
        if size > max {
            return Err(self.refuse(&format!("{what} above {max}")));
        }
        Ok(())
    }

    /// The size of the work on arrays, numbers and digits.
    #[inline]
    fn measure(
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
                Ok(size.saturating_mul(cx.length(this)?))
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
            if length > ARRAY_LIKE_LENGTH_MAX
                && !inspect::is_shallow(self.cx, value, PROTOTYPES_MAX)
            {
                return Err(self.refuse("too many prototypes, or a proxy"));
            }
            return Ok(length);
        }
        self.unusual_length(value)
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

    fn value(&self, found: FoundProperty) -> Result<Option<Val>, Failure> {
        match found {
            FoundProperty::Value(value) => Ok(Some(value)),
            FoundProperty::Nothing => Ok(None),
            FoundProperty::Computed => {
                Err(self.refuse("a getter or a proxy where a plain value is needed"))
            }
        }
    }

    /// Runs a built-in on texts, which are converted here, so that they are the ones that were measured.
    fn on_text(
        &self,
        original: RawValue<'_>,
        this: RawValue<'_>,
        args: &[RawValue<'_>],
    ) -> Result<Val, Failure> {
        let cx = self.cx;
        if is_nothing(this) {
            return Ok(cx.call(original, this, args)?);
        }
        let Some(&first) = args
            .first()
            .filter(|_| matches!(self.rule(), Rule::Search(_)))
        else {
            let text = cx.to_string(this)?;
            if matches!(self.rule(), Rule::Normalize) {
                self.allow(work::normalization(cx, text.raw())?)?;
            }
            return Ok(cx.call(original, text.raw(), args)?);
        };
        if is_object(first) && self.has_own_way(first)? {
            return Ok(cx.call(original, this, args)?);
        }
        if is_undefined(first) {
            return Ok(cx.call(original, this, args)?);
        }
        let (text, wanted) = (cx.to_string(this)?, cx.to_string(first)?);
        self.allow(work::search(cx, text.raw(), wanted.raw())?)?;
        let mut args = args.to_vec();
        args[0] = wanted.raw();
        Ok(cx.call(original, text.raw(), &args)?)
    }

    /// Reports whether what is to be found says itself how, as regular expressions do.
    #[cold]
    fn has_own_way(&self, wanted: RawValue<'_>) -> Result<bool, Failure> {
        let Rule::Search(name) = self.rule() else {
            return Ok(false);
        };
        if name.is_empty() {
            return Ok(false);
        }
        let found = inspect::symbol(self.cx, wanted, self.symbol, self.typed_length)?;
        Ok(match self.value(found)? {
            Some(value) if name == c"match" && !is_undefined(value.raw()) => {
                inspect::is_truthy(self.cx, value.raw())
            }
            Some(value) => !is_nothing(value.raw()),
            None => name == c"match" && inspect::is_regexp(wanted),
        })
    }

    #[cold]
    fn refuse(&self, why: &str) -> Failure {
        let (owner, name, _) = WRAPPED[self.index];
        let text = format!(
            "{}.{}: {why}",
            owner.to_string_lossy(),
            name.to_string_lossy()
        );
        crate::vm::sys::throw_range(self.cx, &text)
    }
}
