//! CORS (<https://fetch.spec.whatwg.org/#http-cors-protocol>): which scripts of other sites may call, and read what is
//! answered.

use crate::options::{GuardOptions, wrong};
use crate::origin;
use sampan_host::{
    Args, Context, Error, Guard, GuardStep, NativeMiddleware, Reader, RequestView, Value,
};

const OPTIONS: &[&str] = &[
    "origins",
    "methods",
    "headers",
    "expose",
    "credentials",
    "max_age",
];
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"];
const HEADERS: [&str; 1] = ["content-type"];

/// The permissions for scripts of other sites. The lists are values of header fields.
struct Cors {
    /// `None` for all.
    origins: Option<Vec<String>>,
    methods: String,
    headers: String,
    expose: String,
    has_credentials: bool,
    max_age: Option<String>,
}

/// `app.cors(options)`
pub(crate) fn cors(context: &Context, args: Args, reader: &dyn Reader) -> Result<Value, Error> {
    let options = GuardOptions::read(reader, args.handle(0), OPTIONS)?;
    let Some(given) = options.texts("origins")? else {
        return Err(wrong("origins", "\"*\" or a list of origins"));
    };
    let origins = match given.iter().any(|origin| origin == "*") {
        true => None,
        false => {
            let checked = given.iter().map(|text| origin::checked(text));
            let checked = checked.collect::<Result<_, _>>();
            Some(checked.map_err(|fault| Error::script(format!("origins: {fault}")))?)
        }
    };
    let has_credentials = options.flag("credentials")?;
    if has_credentials && origins.is_none() {
        // Browsers refuse this too.
        let text = "origins = \"*\" with credentials would open every account to every site: list the origins";
        return Err(Error::script(text));
    }
    let methods = options.texts("methods")?;
    let methods = methods.map(|names| names.iter().map(|name| name.to_ascii_uppercase()).collect());
    let list = |name: &str, given: Option<Vec<String>>, default: &[&str]| {
        let names =
            given.unwrap_or_else(|| default.iter().map(|name| (*name).to_owned()).collect());
        field_value(name, &names)
    };
    let cors = Cors {
        origins,
        methods: list("methods", methods, &METHODS)?,
        headers: list("headers", options.texts("headers")?, &HEADERS)?,
        expose: list("expose", options.texts("expose")?, &[])?,
        has_credentials,
        max_age: options
            .count("max_age", 0)?
            .map(|seconds| seconds.to_string()),
    };
    Ok(NativeMiddleware::guard(context, cors))
}

/// Names of methods or header fields as the value of a field.
fn field_value(option: &str, names: &[String]) -> Result<String, Error> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    match names
        .iter()
        .find(|name| name.is_empty() || !name.bytes().all(is_token))
    {
        Some(name) => Err(Error::script(format!("{option}: {name:?} is no name"))),
        None => Ok(names.join(", ")),
    }
}

impl Cors {
    /// The value of `Access-Control-Allow-Origin` for this origin.
    fn allowed<'a>(&self, origin: &'a [u8]) -> Option<&'a [u8]> {
        match &self.origins {
            None => Some(b"*"),
            Some(origins) => {
                let mut origins = origins.iter();
                let is_listed = origins.any(|listed| listed.as_bytes() == origin);
                is_listed.then_some(origin)
            }
        }
    }
}

impl Guard for Cors {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        if self.origins.is_some() {
            // The answer depends on the presence of an origin, and caches must know that.
            request.add_header("Vary", b"Origin")?;
        }
        let Some(origin) = request.header("origin") else {
            return Ok(GuardStep::Pass);
        };
        let is_preflight = request.method() == "OPTIONS"
            && request.header("access-control-request-method").is_some();
        let allowed = self.allowed(origin);
        if let Some(allowed) = allowed {
            request.default_header("Access-Control-Allow-Origin", allowed)?;
            if self.has_credentials {
                request.default_header("Access-Control-Allow-Credentials", b"true")?;
            }
        }
        if !is_preflight {
            if allowed.is_some() && !self.expose.is_empty() {
                request.default_header("Access-Control-Expose-Headers", self.expose.as_bytes())?;
            }
            return Ok(GuardStep::Pass);
        }
        if allowed.is_some() {
            request.default_header("Access-Control-Allow-Methods", self.methods.as_bytes())?;
            if !self.headers.is_empty() {
                request.default_header("Access-Control-Allow-Headers", self.headers.as_bytes())?;
            }
            if let Some(seconds) = &self.max_age {
                request.default_header("Access-Control-Max-Age", seconds.as_bytes())?;
            }
        }
        Ok(GuardStep::Answer(204))
    }
}
