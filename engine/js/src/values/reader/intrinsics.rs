//! Functions of the language as they were before any script could replace them. QuickJS's API looks neither into a
//! `Map` nor at what a view of a buffer shows.

use crate::vm::sys::whole_number;
use crate::vm::sys::{Cx, RawValue, Thrown, Val, is_true};
use rquickjs::qjs;
use std::ffi::CStr;

/// The functions that read maps and views.
pub(crate) struct Intrinsics {
    get: Val,
    size: Val,
    keys: Val,
    /// Of the iterators that `keys` gives.
    next: Val,
    date_text: Val,
    typed_array: ViewGetters,
    data_view: ViewGetters,
}

/// The part of its buffer that a typed array or a `DataView` shows of its buffer.
pub(crate) struct View {
    pub(crate) buffer: Val,
    /// In bytes, as is the length.
    pub(crate) start: usize,
    pub(crate) length: usize,
}

/// The getters of one kind of view.
struct ViewGetters {
    buffer: Val,
    start: Val,
    length: Val,
}

impl Intrinsics {
    /// Those of a context in which no script has run.
    pub(crate) fn find(cx: Cx<'_>) -> Result<Self, Thrown> {
        let find = |source: &CStr| cx.eval(source, c"sampan:reader");
        let getter = find(c"(object, name) => Object.getOwnPropertyDescriptor(object, name).get")?;
        let getter = |object: &Val, name| {
            let name = cx.string(name)?;
            cx.call(getter.raw(), object.raw(), &[object.raw(), name.raw()])
        };
        let of_views = |prototype: &Val| {
            Ok(ViewGetters {
                buffer: getter(prototype, "buffer")?,
                start: getter(prototype, "byteOffset")?,
                length: getter(prototype, "byteLength")?,
            })
        };
        Ok(Self {
            get: find(c"Map.prototype.get")?,
            size: getter(&find(c"Map.prototype")?, "size")?,
            keys: find(c"Map.prototype.keys")?,
            next: find(c"new Map().keys().next")?,
            date_text: find(
                c"((iso, time, apply) => (date) => {
                    const at = apply(time, date, []);
                    return at === at ? apply(iso, date, []) : 'Invalid Date';
                })(Date.prototype.toISOString, Date.prototype.getTime, Reflect.apply)",
            )?,
            typed_array: of_views(&find(c"Object.getPrototypeOf(Uint8Array.prototype)")?)?,
            data_view: of_views(&find(c"DataView.prototype")?)?,
        })
    }

    /// Returns the value under a key of a map.
    pub(super) fn value_of_map(
        &self,
        cx: Cx<'_>,
        map: RawValue<'_>,
        key: RawValue<'_>,
    ) -> Result<Val, Thrown> {
        cx.call(self.get.raw(), map, &[key])
    }

    /// Returns the number of entries that a map has.
    pub(super) fn size_of_map(&self, cx: Cx<'_>, map: RawValue<'_>) -> Result<usize, Thrown> {
        count(cx, &self.size, map)
    }

    /// Returns the text of a date, as `toISOString` gives it.
    pub(super) fn text_of_date(&self, cx: Cx<'_>, date: RawValue<'_>) -> Result<Val, Thrown> {
        let undefined = cx.undefined();
        cx.call(self.date_text.raw(), undefined.raw(), &[date])
    }

    /// The keys of a map.
    pub(super) fn keys_of_map<'a>(
        &'a self,
        cx: Cx<'_>,
        map: RawValue<'_>,
    ) -> Result<MapKeys<'a>, Thrown> {
        let iterator = cx.call(self.keys.raw(), map, &[])?;
        Ok(MapKeys {
            iterator,
            next: &self.next,
        })
    }

    /// Returns the part of its buffer that a view shows. An exception if its buffer is gone.
    pub(crate) fn view(&self, cx: Cx<'_>, view: RawValue<'_>) -> Result<View, Thrown> {
        // SAFETY: something else holds the value for the lifetime of the `RawValue`; this only reads its class.
        let getters = match unsafe { qjs::JS_IsDataView(view.js()) } {
            true => &self.data_view,
            false => &self.typed_array,
        };
        Ok(View {
            buffer: cx.call(getters.buffer.raw(), view, &[])?,
            start: count(cx, &getters.start, view)?,
            length: count(cx, &getters.length, view)?,
        })
    }
}

/// The number that a getter of the language gives.
fn count(cx: Cx<'_>, getter: &Val, object: RawValue<'_>) -> Result<usize, Thrown> {
    let count = cx.call(getter.raw(), object, &[])?;
    let count = whole_number(count.raw()).unwrap_or_default();
    Ok(usize::try_from(count).unwrap_or_default())
}

/// The keys of a map, one after the other.
pub(super) struct MapKeys<'a> {
    iterator: Val,
    next: &'a Val,
}

impl MapKeys<'_> {
    /// The next one.
    pub(super) fn next(&self, cx: Cx<'_>) -> Result<Option<Val>, Thrown> {
        // The result is an object of the language's own, whose two members no script can have replaced.
        let result = cx.call(self.next.raw(), self.iterator.raw(), &[])?;
        if is_true(cx.get(result.raw(), c"done")?.raw()) {
            return Ok(None);
        }
        cx.get(result.raw(), c"value").map(Some)
    }
}
