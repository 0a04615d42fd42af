//! Built-ins that loop without asking whether they must stop are wrapped: each looks at the size of its work first, and refuses what
//! would take too long. The table below is the list.
//!
//! A wrapper costs some ten nanoseconds; built-ins that poll for interrupts themselves are left alone.

use crate::limits::{BUILTIN_LENGTH_MAX, SEARCH_STEPS_MAX};
use crate::sys::{Cx, Fault, Raw, Thrown, Val, arguments, is_object, is_string, native};
use rquickjs::qjs;
use std::ffi::{CStr, CString, c_int};

/// What is looked at before a built-in runs.
#[derive(Clone, Copy, Debug)]
enum Rule {
    /// The length of `this`.
    This,
    /// The lengths of `this` and of all arguments.
    All,
    /// The length of the first argument.
    First,
    /// The length of `this` times that of the first argument.
    Search,
}

/// Where a built-in lies, its name, and its rule.
const WRAPPED: &[(&CStr, &CStr, Rule)] = &[
    (c"Array.prototype", c"concat", Rule::All),
    (c"Array.prototype", c"copyWithin", Rule::This),
    (c"Array.prototype", c"fill", Rule::This),
    (c"Array.prototype", c"flat", Rule::This),
    (c"Array.prototype", c"flatMap", Rule::This),
    (c"Array.prototype", c"join", Rule::This),
    (c"Array.prototype", c"reverse", Rule::This),
    (c"Array.prototype", c"shift", Rule::This),
    (c"Array.prototype", c"slice", Rule::This),
    (c"Array.prototype", c"sort", Rule::This),
    (c"Array.prototype", c"splice", Rule::This),
    (c"Array.prototype", c"toLocaleString", Rule::This),
    (c"Array.prototype", c"toReversed", Rule::This),
    (c"Array.prototype", c"toSorted", Rule::This),
    (c"Array.prototype", c"toSpliced", Rule::This),
    (c"Array.prototype", c"unshift", Rule::This),
    (c"Array.prototype", c"with", Rule::This),
    (c"Array", c"from", Rule::First),
    (c"String.prototype", c"includes", Rule::Search),
    (c"String.prototype", c"indexOf", Rule::Search),
    (c"String.prototype", c"lastIndexOf", Rule::Search),
    (c"String.prototype", c"replace", Rule::Search),
    (c"String.prototype", c"replaceAll", Rule::Search),
    (c"String.prototype", c"split", Rule::Search),
];

/// Wraps the built-ins of the table.
pub(crate) fn install(cx: Cx<'_>) -> Result<(), Thrown> {
    for (index, (owner, name, _)) in WRAPPED.iter().enumerate() {
        let owner = find(cx, owner)?;
        let original = cx.get(owner.raw(), name)?;
        if !cx.is_function(original.raw()) {
            continue;
        }
        let length = cx.length(original.raw())?;
        let mut data = [original.raw()];
        // SAFETY: the datum is copied, the name terminated, the object alive; the definition takes the function's reference.
        unsafe {
            let wrapped = cx.check(qjs::JS_NewCFunctionData2(
                cx.raw(),
                Some(guarded),
                name.as_ptr(),
                length as c_int,
                index as c_int,
                1,
                data.as_mut_ptr(),
            ))?;
            let flags = (qjs::JS_PROP_WRITABLE | qjs::JS_PROP_CONFIGURABLE) as c_int;
            qjs::JS_DefinePropertyValueStr(cx.raw(), owner.raw(), name.as_ptr(), wrapped.into_raw(), flags);
        }
    }
    Ok(())
}

/// The object of a path from the global object.
fn find(cx: Cx<'_>, path: &CStr) -> Result<Val, Thrown> {
    // SAFETY: the context is alive.
    let mut at = cx.own(unsafe { qjs::JS_GetGlobalObject(cx.raw()) });
    for name in path.to_string_lossy().split('.') {
        at = cx.get(at.raw(), &CString::new(name).map_err(|_| Thrown)?)?;
    }
    Ok(at)
}

unsafe extern "C" fn guarded(
    ctx: *mut qjs::JSContext,
    this: Raw,
    argc: c_int,
    argv: *mut Raw,
    index: c_int,
    data: *mut Raw,
) -> Raw {
    native(ctx, |cx| {
        // SAFETY: QuickJS passes `argc` values, and the function was made with one datum.
        let (args, original) = unsafe { (arguments(argc, argv), *data) };
        let (owner, name, rule) = WRAPPED[index as usize];
        let size = measure(cx, rule, this, args)?;
        let max = if matches!(rule, Rule::Search) { SEARCH_STEPS_MAX } else { BUILTIN_LENGTH_MAX };
        if size > max {
            return Err(refuse(cx, owner, name, rule, max));
        }
        Ok(cx.call(original, this, args)?)
    })
}

/// The size of the work.
#[inline]
fn measure(cx: Cx<'_>, rule: Rule, this: Raw, args: &[Raw]) -> Result<i64, Thrown> {
    let first = args.first().copied();
    match rule {
        Rule::This => length(cx, this),
        Rule::First => first.map_or(Ok(0), |first| length(cx, first)),
        Rule::All => args.iter().try_fold(length(cx, this)?, |sum, arg| Ok(sum.saturating_add(length(cx, *arg)?))),
        Rule::Search => match first {
            Some(first) if is_string(this) && is_string(first) => {
                Ok(cx.length(this)?.saturating_mul(cx.length(first)?))
            }
            _ => Ok(0),
        },
    }
}

#[inline]
fn length(cx: Cx<'_>, value: Raw) -> Result<i64, Thrown> {
    if is_object(value) { cx.length(value) } else { Ok(0) }
}

#[cold]
fn refuse(cx: Cx<'_>, owner: &CStr, name: &CStr, rule: Rule, max: i64) -> Fault {
    let what = if matches!(rule, Rule::Search) { "text to search times text to find" } else { "length" };
    let text = format!("{}.{}: {what} above {max}", owner.to_string_lossy(), name.to_string_lossy());
    crate::error::throw_range(cx, &text)
}
