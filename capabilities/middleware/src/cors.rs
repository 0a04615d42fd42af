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
    /// The value of `Access-Control-Allow-Origin` for a request of this origin. All answers have `*`, also without one:
    /// a cache may give them to scripts of other sites.
    fn allowed<'a>(&self, origin: Option<&'a [u8]>) -> Option<&'a [u8]> {
        match &self.origins {
            None => Some(b"*"),
            Some(origins) => origin.filter(|origin| {
                let mut origins = origins.iter();
                origins.any(|listed| listed.as_bytes() == *origin)
            }),
        }
    }
}

impl Guard for Cors {
    fn check(&self, request: &dyn RequestView) -> Result<GuardStep, Error> {
        if self.origins.is_some() {
            // The answer depends on the presence of an origin, and caches must know that.
            request.add_header("Vary", b"Origin")?;
        }
        let origin = request.header("origin");
        let is_preflight = origin.is_some()
            && request.method() == "OPTIONS"
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

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::Store;
    use std::borrow::Cow;
    use std::cell::RefCell;

    /// A GET of an origin, or of none, and the fields of its answer.
    struct TestRequest {
        origin: Option<&'static str>,
        store: Store,
        added: RefCell<Vec<String>>,
    }

    impl RequestView for TestRequest {
        fn method(&self) -> &str {
            "GET"
        }
        fn path(&self) -> &str {
            "/"
        }
        fn query(&self) -> Option<&str> {
            None
        }
        fn url(&self) -> String {
            "http://localhost/".to_owned()
        }
        fn param(&self, _: usize) -> Option<(&str, Cow<'_, str>)> {
            None
        }
        fn header(&self, name: &str) -> Option<&[u8]> {
            let origin = self.origin.filter(|_| name == "origin");
            origin.map(str::as_bytes)
        }
        fn each_header(&self, _: &mut dyn FnMut(&str, &[u8])) {}
        fn ip(&self) -> String {
            String::new()
        }
        fn id(&self) -> Cow<'_, str> {
            "".into()
        }
        fn body(&self) -> &[u8] {
            &[]
        }
        fn store(&self) -> &Store {
            &self.store
        }
        fn add_header(&self, name: &str, value: &[u8]) -> Result<(), Error> {
            let line = format!("{name}: {}", String::from_utf8_lossy(value));
            self.added.borrow_mut().push(line);
            Ok(())
        }
        fn is_over(&self) -> bool {
            false
        }
    }

    fn added(origins: Option<&str>, origin: Option<&'static str>) -> Vec<String> {
        let cors = Cors {
            origins: origins.map(|origin| vec![origin.to_owned()]),
            methods: String::new(),
            headers: String::new(),
            expose: "x-total".to_owned(),
            has_credentials: false,
            max_age: None,
        };
        let request = TestRequest {
            origin,
            store: Store::default(),
            added: RefCell::default(),
        };
        let step = cors.check(&request);
        assert!(matches!(step, Ok(GuardStep::Pass)));
        request.added.take()
    }

    #[test]
    fn answers_for_all_origins_are_the_same_without_an_origin() {
        let open = [
            "Access-Control-Allow-Origin: *",
            "Access-Control-Expose-Headers: x-total",
        ];
        assert_eq!(added(None, None), open);
        assert_eq!(added(None, Some("https://a.example")), open);
        let listed = Some("https://a.example");
        assert_eq!(added(listed, None), ["Vary: Origin"]);
        assert_eq!(added(listed, Some("https://b.example")), ["Vary: Origin"]);
        assert_eq!(added(listed, Some("https://a.example")).len(), 3);
    }
}
