//! `req:csv_download`: an answer that browsers save as a file, RFC 6266.

use sampan_host::{Args, Context, Error, Value, answer};

/// Kept for a request whose answer has a file name.
struct HasFileName;

pub(crate) fn csv_download(_: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    let request = args.request();
    let disposition = answer::download(&name)?;
    if request.store().get::<HasFileName>().is_some() {
        return Err(Error::script("the answer has a file name already"));
    }
    request.add_header("content-disposition", disposition.as_bytes())?;
    request.add_header("content-type", b"text/csv; charset=utf-8")?;
    request.store().put(HasFileName);
    Ok(Value::Null)
}
