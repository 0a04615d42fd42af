//! The object by which a script aborts a request, and feeds its body.

use sampan_host::fetch::{FetchBody, FetchFault, Upload};
use sampan_host::{
    Args, Class, Context, Error, FunctionKind, Lifetime, LocalFuture, Type, Value, param, row,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::task::{self, Waker};

/// A request on its way.
pub(crate) static CALL: Class = Class {
    name: "FetchCall",
    variable: "call",
    doc: "A request to another server.",
    methods: &[
        row!("write"(param!("bytes": Type::Bytes, "The piece.")) -> Type::Nothing, FunctionKind::Async(write),
            "Sends a piece of the body, and waits for room."),
        row!("finish"() -> Type::Nothing, FunctionKind::Sync(finish), "Ends the body."),
        row!("fail"(param!("why": Type::Text, "The message.")) -> Type::Nothing, FunctionKind::Sync(fail),
            "Ends the body with an error, with which the request fails."),
        row!("abort"() -> Type::Nothing, FunctionKind::Sync(abort), "Gives the request up."),
    ],
    lifetime: Lifetime::Collector,
    is_keyed: false,
};

/// A request that can be aborted and fed.
#[derive(Default)]
pub(crate) struct Call {
    upload: Option<Upload>,
    body: RefCell<Option<FetchBody>>,
    is_aborted: Cell<bool>,
    waiting: RefCell<Option<Waker>>,
}

impl Call {
    /// Returns one whose body is fed.
    pub(crate) fn fed(length: Option<u64>) -> Self {
        let (upload, body) = Upload::new(length);
        Self {
            upload: Some(upload),
            body: RefCell::new(Some(body)),
            ..Self::default()
        }
    }

    /// Takes the body that is fed, if there is one.
    pub(crate) fn take_body(&self) -> Option<FetchBody> {
        self.body.take()
    }

    pub(crate) fn upload(&self) -> Result<&Upload, Error> {
        let upload = self.upload.as_ref();
        upload.ok_or_else(|| Error::script("this request has no body that is fed"))
    }

    /// Reports whether it was aborted, and has the context woken when it is.
    pub(crate) fn poll_aborted(&self, cx: &task::Context<'_>) -> bool {
        if !self.is_aborted.get() {
            *self.waiting.borrow_mut() = Some(cx.waker().clone());
        }
        self.is_aborted.get()
    }
}

/// Returns the error of a request that the script gave up.
pub(crate) fn aborted() -> Error {
    FetchFault::Closed.error("the request was aborted")
}

fn this(context: &Context, args: &Args) -> Result<Rc<Call>, Error> {
    Ok(args.object::<Call>(context)?.1)
}

/// `call(streams, length)`
pub(crate) fn make(context: &Context, mut args: Args) -> Result<Value, Error> {
    let length = match args.take(1) {
        Value::Int(length) => u64::try_from(length).ok(),
        _ => None,
    };
    let call = match args.take(0) {
        Value::Bool(true) => Call::fed(length),
        _ => Call::default(),
    };
    Ok(Value::Object(context.objects().add(&CALL, call)))
}

fn write(context: &Context, mut args: Args) -> LocalFuture<Result<Value, Error>> {
    let bytes = args.bytes(0);
    let sent = this(context, &args).and_then(|call| Ok(call.upload()?.send(context, bytes)));
    Box::pin(async move {
        sent?.await?;
        Ok(Value::Null)
    })
}

fn finish(context: &Context, args: Args) -> Result<Value, Error> {
    this(context, &args)?.upload()?.end();
    Ok(Value::Null)
}

fn fail(context: &Context, mut args: Args) -> Result<Value, Error> {
    let call = this(context, &args)?;
    call.upload()?.fail(Error::script(args.text(0)));
    Ok(Value::Null)
}

fn abort(context: &Context, args: Args) -> Result<Value, Error> {
    let call = this(context, &args)?;
    call.is_aborted.set(true);
    if let Some(waker) = call.waiting.take() {
        waker.wake();
    }
    Ok(Value::Null)
}
