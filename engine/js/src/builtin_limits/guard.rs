//! Some built-ins can run for over a second without an interrupt poll, on a request body of 1 MiB or within the memory
//! limit. They are wrapped: the wrapper measures the work first, and throws a RangeError if there is too much. The
//! table in `rules.rs` is the list, and `tests/builtins.rs` has a call for each entry, with the time that it takes
//! without the wrapper.
//!
//! The built-in must see what was measured. So a length that a script computes is refused, and texts to search are
//! converted once, here. `flat` and `flatMap` are replaced by `flat.js`; what walks the iterator of another object goes
//! through `iterators.js`.
//!
//! A wrapper costs about ten nanoseconds. Built-ins that poll, or that must allocate as they go, are not wrapped: an
//! allocation fails when the script must stop.

use crate::builtin_limits::call::Guard;
use crate::builtin_limits::parse::parse;
use crate::builtin_limits::rules::{Rule, WRAPPED};
use crate::builtin_limits::stringify::stringify;
use crate::values::inspect;
use crate::vm::limits::SORT_LENGTH_MAX;
use crate::vm::sys::{Cx, RawValue, Thrown, Val, arguments, hidden, is_undefined, native};
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

/// Puts a function that polls between some built-ins and the iterators that they walk.
const ITERATORS: &CStr =
    match CStr::from_bytes_with_nul(concat!(include_str!("iterators.js"), "\0").as_bytes()) {
        Ok(source) => source,
        Err(_) => panic!("NUL in iterators.js"),
    };

/// Wraps the built-ins of the table.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    cx.eval(FLAT, c"sampan:flat.js")?;
    cx.eval(ITERATORS, c"sampan:iterators.js")?;
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
    for (name, body) in [(c"stringify", stringify as WithData), (c"parse", parse)] {
        let original = cx.get(json.raw(), name)?;
        let wrapped = wrapper(cx, body, &[original.raw()], name, 0)?;
        hidden(cx, json.raw(), name, wrapped)?;
    }
    Ok(())
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
        if matches!(
            rule,
            Rule::Search(_) | Rule::Normalize | Rule::NormalizeBoth
        ) {
            return guard.on_text(original, this, args);
        }
        let size = guard.measure(rule, this, args)?;
        guard.allow(size)?;
        if matches!(rule, Rule::Sort)
            && args.first().is_none_or(|order| is_undefined(*order))
            && (size > SORT_LENGTH_MAX || guard.has_long_text(this, size)?)
        {
            return Ok(cx.call(original, this, &[symbol])?);
        }
        Ok(cx.call(original, this, args)?)
    })
}
