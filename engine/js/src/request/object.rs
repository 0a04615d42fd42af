//! The request object: a native class. What it holds, and when that goes; its fields and methods are in
//! [`prototypes`](super::prototypes).

use crate::request::added::AddedFields;
use crate::vm::sys::{Cx, Failure, RawValue, Slot, Thrown, Val};
use rquickjs::qjs;
use sampan_host::{Error, RequestView, request};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::rc::Rc;

/// The number of properties that are made once and kept.
const KEPT: usize = 4;

/// The data of a request object.
pub(crate) struct RequestData {
    pub(crate) view: Option<Rc<dyn RequestView>>,
    /// `undefined` until a script asks.
    pub(super) made: [Slot; KEPT],
    pub(super) state: Slot,
    /// The fields that modules add.
    pub(crate) added: AddedFields,
    /// True if the body has been handed out.
    pub(crate) is_taken: Cell<bool>,
    /// True if the Web surface keeps the body, in own properties of the object.
    pub(crate) is_streamed: Cell<bool>,
    pool: *const RequestPool,
}

/// Boxes of requests that are over, to be used again.
#[derive(Default)]
// Boxes, because an object holds the address of its data.
#[allow(clippy::vec_box)]
pub(crate) struct RequestPool(RefCell<Vec<Box<RequestData>>>);

impl RequestPool {
    /// The maximum number of kept objects.
    const KEPT_MAX: usize = 64;
}

/// Makes the class.
pub(crate) fn register_class(cx: Cx<'_>) -> Result<qjs::JSClassID, Thrown> {
    cx.class(c"Request", Some(finalize), Some(mark), None)
}

/// A request object for `view`, as a route gets it or as a `fetch` export does.
#[inline]
pub(crate) fn new(
    cx: Cx<'_>,
    view: Rc<dyn RequestView>,
    is_for_fetch: bool,
) -> Result<Val, Thrown> {
    let core = cx.core();
    let class = core.classes.request;
    // SAFETY: the class is registered and has its prototype; the other prototype is alive. The reference that comes
    // back is owned.
    let object = unsafe {
        cx.check({
            match core.tables.get() {
                Some(tables) if is_for_fetch => {
                    qjs::JS_NewObjectProtoClass(cx.raw(), tables.fetch_prototype.js(), class)
                }
                _ => qjs::JS_NewObjectClass(cx.raw(), class),
            }
        })
    }?;
    let recycled = core.pool.0.borrow_mut().pop();
    let data = match recycled {
        Some(mut data) => {
            data.view = Some(view);
            data
        }
        None => Box::new(RequestData {
            view: Some(view),
            made: std::array::from_fn(|_| Slot::empty()),
            state: Slot::empty(),
            added: AddedFields::default(),
            is_taken: Cell::new(false),
            is_streamed: Cell::new(false),
            pool: &raw const core.pool,
        }),
    };
    // SAFETY: the object is of our class; the finalizer takes the box back.
    unsafe { qjs::JS_SetOpaque(object.js(), Box::into_raw(data).cast::<c_void>()) };
    Ok(object)
}

/// The data of an object that should be a request.
#[inline]
pub(crate) fn data<'v>(cx: Cx<'_>, object: RawValue<'v>) -> Result<&'v RequestData, Failure> {
    let id = cx.core().classes.request;
    // SAFETY: asks for the opaque pointer of that very class, which is a `RequestData` for as long as the object lives.
    let data = unsafe {
        qjs::JS_GetOpaque(object.js(), id)
            .cast::<RequestData>()
            .as_ref()
    };
    data.ok_or_else(|| Error::script("this is not a request of the server").into())
}

impl RequestData {
    /// The request.
    #[inline]
    pub(crate) fn view(&self) -> Result<&dyn RequestView, Failure> {
        self.view
            .as_deref()
            .ok_or_else(|| request::is_over().into())
    }

    fn values(&self) -> impl Iterator<Item = &Slot> {
        self.made.iter().chain(std::iter::once(&self.state))
    }
}

// SAFETY: called by QuickJS alone, once for each object of our class.
unsafe extern "C" fn finalize(runtime: *mut qjs::JSRuntime, object: qjs::JSValue) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its pointer is null or a box that nothing else owns. The pool lies in the
    // core, after the runtime, so it is still there.
    let data = unsafe {
        let pointer = qjs::JS_GetAnyOpaque(object, &raw mut id).cast::<RequestData>();
        if pointer.is_null() {
            return;
        }
        Box::from_raw(pointer)
    };
    for value in data.values() {
        // SAFETY: the reference is owned by the data.
        unsafe { qjs::JS_FreeValueRT(runtime, value.take()) };
    }
    data.added.take().into_iter().for_each(|value| {
        // SAFETY: the reference is owned by the data.
        unsafe { qjs::JS_FreeValueRT(runtime, value.take()) };
    });
    let recycled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| recycle(data)));
    drop(recycled);
}

fn recycle(mut data: Box<RequestData>) {
    data.view = None;
    data.is_taken.set(false);
    data.is_streamed.set(false);
    // SAFETY: the pool outlives the runtime, which calls the finalizer that hands the data over.
    let pool = unsafe { &*data.pool };
    if let Ok(mut kept) = pool.0.try_borrow_mut()
        && kept.len() < RequestPool::KEPT_MAX
    {
        kept.push(data);
    }
}

// SAFETY: called by QuickJS alone, with a live object of our class.
unsafe extern "C" fn mark(
    runtime: *mut qjs::JSRuntime,
    object: qjs::JSValue,
    mark: qjs::JS_MarkFunc,
) {
    let mut id: qjs::JSClassID = 0;
    // SAFETY: the object is of our class; its values are alive.
    unsafe {
        if let Some(data) = qjs::JS_GetAnyOpaque(object, &raw mut id)
            .cast::<RequestData>()
            .as_ref()
        {
            for value in data.values() {
                qjs::JS_MarkValue(runtime, value.js(), mark);
            }
            data.added
                .each(|value| qjs::JS_MarkValue(runtime, value.js(), mark));
        }
    }
}
