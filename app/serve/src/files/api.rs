//! The functions for scripts: `app.file` and `app.asset`.

use super::answer::ServedFile;
use super::static_files::{StaticFiles, name_in};
use sampan_host::log::{Level, Log};
use sampan_host::{
    Args, Context, Error, ErrorKind, FunctionKind, Module, Type, Value, answer, param, refusals,
    row,
};
use std::rc::Rc;

/// The functions that stand beside the builders of answers.
pub static MODULE: Module = Module {
    name: "app",
    doc: "Answers with files, and their URLs.",
    functions: &[
        row!("file"(
                param!("path": Type::Text,
                    "The file, relative to the option `folder`. Without that option it is a file of `public/` or of \
                     `storage/`, and begins with one of these: `storage/report.pdf`. `storage/` is the storage folder, \
                     wherever `[files]` has it."),
                param!("how"? Type::Map,
                    "`folder`: a folder of the project, or `storage` or one below it. The path begins in it and stays \
                     in it, so that a client may choose the path. `download`: the name under which a browser saves the \
                     file, or true for its own. `type`: its content type, instead of the one that its name tells."),
            ) -> Type::Answer, FunctionKind::Sync(file),
            "An answer with a file. The server sends it as it sends those in `public/`: in parts if the client asks \
             for parts, and not at all if the client has it. An error with the status 404 if there is none. A path \
             leads out of the folder neither by `..` nor by a link, and has no names that begin with a dot. The \
             database and the files beside it are never sent."),
        row!("asset"(param!("name": Type::Text, "A file in `public/`: `css/app.css`.")) -> Type::Text,
            FunctionKind::Sync(asset),
            "The URL of a file in `public/` with the version of its content: `/css/app.css?v=9f86d081884c7d65`. \
             Clients keep what they get there for a year, because a file that changes has another URL. Templates have \
             the same function."),
    ],
    ..Module::EMPTY
};

fn files(context: &Context) -> Result<Rc<StaticFiles>, Error> {
    let files = context.get::<Rc<StaticFiles>>();
    let files = files.ok_or_else(|| Error::new(ErrorKind::Internal, "there are no files"))?;
    Ok(Rc::clone(&files))
}

fn asset(context: &Context, mut args: Args) -> Result<Value, Error> {
    files(context)?.asset(&args.text(0)).map(Value::Text)
}

fn file(context: &Context, mut args: Args) -> Result<Value, Error> {
    let given = args.text(0);
    let options = FileOptions::read(args.take(1))?;
    let files = files(context)?;
    let name = match &options.folder {
        None => files.open_name(&given),
        Some(folder) => name_in(folder.trim_end_matches('/'), &given),
    };
    let is_open = name.is_some() || options.folder.is_some();
    let of_database = name.as_ref().is_some_and(|name| files.is_of_database(name));
    if of_database || !is_open {
        warn_once(context, &files, &given);
    }
    let name = name.filter(|_| !of_database);
    let served = name.map(|name| files.named(&name)).transpose()?.flatten();
    let Some(served) = served else {
        let text = answer::label(404);
        return Err(Error::new(ErrorKind::Status(404), text));
    };
    let content_type = options.content_type.as_deref();
    let content_type = content_type.unwrap_or(served.content_type());
    let disposition = options.disposition(&served)?;
    Ok(answer::file(
        &served.path,
        content_type,
        disposition.as_deref(),
    ))
}

/// Says in the log why a path is answered with 404, once: a client may choose the path.
#[cold]
fn warn_once(context: &Context, files: &StaticFiles, path: &str) {
    if let Some(logger) = context.get::<Rc<dyn Log>>()
        && files.warns_first()
    {
        let text = format!(
            "app.file({path:?}) is answered with 404: without the option `folder` a path begins with {:?} \
             or \"storage/\"; it has no '..' and no \
             hidden names, and the database is never sent (said once)",
            format!("{}/", files.folder())
        );
        logger.text(Level::Warn, text);
    }
}

#[derive(Default)]
struct FileOptions {
    folder: Option<String>,
    download: Download,
    content_type: Option<String>,
}

#[derive(Default)]
enum Download {
    #[default]
    No,
    OwnName,
    Name(String),
}

impl FileOptions {
    fn read(given: Value) -> Result<Self, Error> {
        const KNOWN: &[&str] = &["folder", "download", "type"];
        let mut options = Self::default();
        let Value::Map(given) = given else {
            return Ok(options);
        };
        for (name, value) in given {
            match (name.as_str(), value) {
                ("folder", Value::Text(folder)) => options.folder = Some(folder),
                ("download", Value::Bool(false)) => {}
                ("download", Value::Bool(true)) => options.download = Download::OwnName,
                ("download", Value::Text(name)) => options.download = Download::Name(name),
                ("type", Value::Text(content_type)) => options.content_type = Some(content_type),
                ("download", _) => return Err(Error::script("download must be a name or true")),
                ("folder" | "type", _) => {
                    return Err(Error::script(format!("{name} must be text")));
                }
                (name, _) => return Err(refusals::unknown_option(name, KNOWN)),
            }
        }
        Ok(options)
    }

    /// The value of `Content-Disposition`.
    fn disposition(&self, served: &ServedFile) -> Result<Option<String>, Error> {
        let name = match &self.download {
            Download::No => return Ok(None),
            Download::OwnName => served.path.rsplit('/').next().unwrap_or_default(),
            Download::Name(name) => name,
        };
        answer::download(name).map(Some)
    }
}
