//! The arguments of Jinja2's filters and of the server's own: their names, and their order.

use super::given::Given;
use super::kinds::ArgumentKind::{
    Any, Attribute, Count, CountOrFlag, CountOrText, Flag, Text, Whole,
};
use super::kinds::{FilterParam, path};
use super::{filters, numbers, texts, urlize};
use minijinja::value::Kwargs;
use minijinja::{Error, ErrorKind, State, Value};
use sampan_host::names::hint;

/// A filter over the value that stands before it and the arguments in the order of the parameters.
pub(super) type Body = fn(&mut State<'_, '_>, &Value, &Given<'_>) -> Result<Value, Error>;

/// The parameters of a filter behind the value, as Jinja2 names its own.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    params: &'static [FilterParam],
    /// The number of parameters, from the first on, without which the filter does nothing.
    needed: usize,
    /// True if all arguments are given by their names.
    is_named_only: bool,
    /// `None` where minijinja's own takes the arguments by place and by name, and for the server's filters.
    pub(super) body: Option<Body>,
}

const fn row(name: &'static str, params: &'static [FilterParam], body: Option<Body>) -> Signature {
    Signature {
        name,
        params,
        needed: 0,
        is_named_only: false,
        body,
    }
}

impl Signature {
    /// Marks the first parameters as needed.
    const fn needing(self, needed: usize) -> Self {
        Self { needed, ..self }
    }
}

/// A filter of the server, which reads its arguments by itself.
const fn named_row(name: &'static str, params: &'static [FilterParam]) -> Signature {
    Signature {
        name,
        params,
        needed: 0,
        is_named_only: true,
        body: None,
    }
}

/// The parameters of `default`, which has a short name too.
const DEFAULT: &[FilterParam] = &[("default_value", Any), ("boolean", Any)];

/// The filters with fixed parameters.
static SIGNATURES: &[Signature] = &[
    row("abs", &[], None),
    row("attr", &[("name", Any)], Some(filters::attr)).needing(1),
    row(
        "batch",
        &[("linecount", Count), ("fill_with", Any)],
        Some(filters::batch),
    )
    .needing(1),
    row("bool", &[], None),
    row("capitalize", &[], None),
    row("center", &[("width", Count)], Some(texts::center)),
    row("count", &[], None),
    row("d", DEFAULT, Some(filters::default)),
    row("default", DEFAULT, Some(filters::default)),
    row(
        "dictsort",
        &[("case_sensitive", Flag), ("by", Text), ("reverse", Flag)],
        Some(filters::dictsort),
    ),
    row("e", &[], None),
    row("escape", &[], None),
    row(
        "filesizeformat",
        &[("binary", Any)],
        Some(filters::filesizeformat),
    ),
    row("first", &[], None),
    row("float", &[("default", Any)], Some(numbers::float)),
    row("forceescape", &[], Some(texts::forceescape)),
    named_row("format_date", &[("style", Any), ("time", Any), ("tz", Any)]),
    named_row("format_number", &[("currency", Any), ("decimals", Any)]),
    row(
        "groupby",
        &[
            ("attribute", Attribute),
            ("default", Any),
            ("case_sensitive", Flag),
        ],
        Some(filters::groupby),
    )
    .needing(1),
    row(
        "indent",
        &[("width", CountOrText), ("first", Any), ("blank", Any)],
        Some(texts::indent),
    ),
    row(
        "int",
        &[("default", Any), ("base", Count)],
        Some(numbers::int),
    ),
    row("items", &[], Some(filters::items)),
    row("join", &[("d", Any), ("attribute", Attribute)], None),
    row("last", &[], None),
    row("length", &[], None),
    row("lines", &[], None),
    row("list", &[], None),
    row("lower", &[], None),
    row(
        "max",
        &[("case_sensitive", Flag), ("attribute", Attribute)],
        Some(filters::max),
    ),
    row(
        "min",
        &[("case_sensitive", Flag), ("attribute", Attribute)],
        Some(filters::min),
    ),
    row("pprint", &[], None),
    row(
        "replace",
        &[("old", Any), ("new", Any), ("count", Whole)],
        Some(texts::replace),
    )
    .needing(2),
    row("reverse", &[], None),
    row("round", &[("precision", Whole), ("method", Text)], None),
    row("safe", &[], None),
    row(
        "slice",
        &[("slices", Count), ("fill_with", Any)],
        Some(filters::slice),
    )
    .needing(1),
    row(
        "sort",
        &[
            ("reverse", Flag),
            ("case_sensitive", Flag),
            ("attribute", Attribute),
        ],
        Some(filters::sort),
    ),
    row("string", &[], None),
    row("striptags", &[], None),
    row("sum", &[("attribute", Attribute), ("start", Any)], None),
    row("title", &[], None),
    row("tojson", &[("indent", CountOrFlag)], None),
    row("trim", &[("chars", Text)], Some(texts::trim)),
    row(
        "truncate",
        &[
            ("length", Count),
            ("killwords", Flag),
            ("end", Text),
            ("leeway", Count),
        ],
        Some(texts::truncate),
    ),
    row(
        "unique",
        &[("case_sensitive", Flag), ("attribute", Attribute)],
        Some(filters::unique),
    ),
    row("upper", &[], None),
    row("urlencode", &[], Some(texts::urlencode)),
    row(
        "urlize",
        &[
            ("trim_url_limit", Count),
            ("nofollow", Any),
            ("target", Text),
            ("rel", Text),
            ("extra_schemes", Any),
        ],
        Some(urlize::urlize),
    ),
    row("wordcount", &[], Some(texts::wordcount)),
    row(
        "wordwrap",
        &[
            ("width", Count),
            ("break_long_words", Flag),
            ("wrapstring", Text),
            ("break_on_hyphens", Flag),
        ],
        Some(texts::wordwrap),
    ),
    row("xmlattr", &[("autospace", Any)], Some(texts::xmlattr)),
];

/// Returns all rows.
pub(super) fn all() -> &'static [Signature] {
    SIGNATURES
}

/// The filters that take any arguments but need one, with what it is.
const NEEDING_ONE: [(&str, &str); 3] = [
    ("map", "the name of a filter, or attribute=..."),
    ("rejectattr", "the name of an attribute"),
    ("selectattr", "the name of an attribute"),
];

/// Says what is wrong with the arguments of a filter: those without a name and those with one, of which only constants
/// are known.
pub(crate) fn fault(
    filter: &str,
    positional: &[Option<Value>],
    named: &[(Box<str>, Option<Value>)],
) -> Option<String> {
    let names: Vec<&str> = named.iter().map(|(name, _)| &**name).collect();
    if let Some(signature) = signature(filter) {
        let by_place = signature.names().zip(positional.iter().map(Option::as_ref));
        let by_name = named.iter().map(|(name, value)| (&**name, value.as_ref()));
        let mut known = by_place.chain(by_name);
        return signature
            .fault(positional.len(), &names)
            .or_else(|| known.find_map(|(name, value)| signature.mistyped(name, value?)));
    }
    let (_, needed) = NEEDING_ONE.iter().find(|(name, _)| *name == filter)?;
    let is_given = !positional.is_empty() || (filter == "map" && names.contains(&"attribute"));
    (!is_given).then(|| format!("missing argument: the filter {filter} needs {needed}"))
}

/// Returns the parameters of a filter, if they are fixed.
fn signature(name: &str) -> Option<&'static Signature> {
    SIGNATURES.iter().find(|signature| signature.name == name)
}

impl Signature {
    fn names(&self) -> impl Iterator<Item = &str> {
        self.params.iter().map(|(name, _)| *name)
    }

    /// Says what is wrong with arguments of which the count of those without a name and the names of the others are
    /// known.
    fn fault(&self, count: usize, names: &[&str]) -> Option<String> {
        let taken = match self.params {
            [] => "takes no arguments".to_owned(),
            [(one, _)] => format!("takes one argument: {one}"),
            all => format!("takes {} arguments: {}", all.len(), self.listed()),
        };
        if self.is_named_only && count > 0 {
            let names = self.listed();
            return Some(format!(
                "the filter {} takes its arguments by name: {names}",
                self.name
            ));
        }
        if count > self.params.len() {
            return Some(format!(
                "too many arguments: the filter {} {taken}",
                self.name
            ));
        }
        for name in names {
            match self.names().position(|param| param == *name) {
                None => {
                    let hint = hint(name, self.names());
                    return Some(format!(
                        "unknown argument: the filter {} has no argument {name:?}{hint}; it {taken}",
                        self.name
                    ));
                }
                Some(at) if at < count => {
                    return Some(format!(
                        "the filter {} is given {name:?} twice: by its place and by its name",
                        self.name
                    ));
                }
                Some(_) => {}
            }
        }
        let mut needed = self.names().take(self.needed).skip(count);
        let missing = needed.find(|param| !names.contains(param))?;
        let filter = self.name;
        Some(format!(
            "missing argument: the filter {filter} needs {missing:?}; it {taken}"
        ))
    }

    fn listed(&self) -> String {
        self.names().collect::<Vec<_>>().join(", ")
    }

    /// Says why an argument cannot have a value.
    fn mistyped(&self, name: &str, value: &Value) -> Option<String> {
        let (_, kind) = self.params.iter().find(|(param, _)| *param == name)?;
        let fault = kind.fault(name, value)?;
        Some(format!("the filter {}: {fault}", self.name))
    }

    /// Checks the values of the arguments behind the value.
    fn check_values(&self, positional: &[Value], named: &[(String, Value)]) -> Result<(), Error> {
        let by_name = named.iter().map(|(name, value)| (name.as_str(), value));
        let mut given = self.names().zip(positional).chain(by_name);
        match given.find_map(|(name, value)| self.mistyped(name, value)) {
            Some(fault) => Err(Error::new(ErrorKind::InvalidOperation, fault)),
            None => Ok(()),
        }
    }

    /// Puts the arguments behind the value into the order of the parameters.
    pub(super) fn bind(&'static self, args: &[Value]) -> Result<Given<'static>, Error> {
        let (positional, named) = parts(args);
        let names: Vec<&str> = named.iter().map(|(name, _)| name.as_str()).collect();
        if let Some(fault) = self.fault(positional.len(), &names) {
            return Err(Error::new(ErrorKind::InvalidOperation, fault));
        }
        self.check_values(positional, &named)?;
        let mut values = vec![Value::UNDEFINED; self.params.len()];
        values[..positional.len()].clone_from_slice(positional);
        for (name, value) in &named {
            if let Some(at) = self.names().position(|param| param == name) {
                values[at] = value.clone();
            }
        }
        for ((_, kind), value) in self.params.iter().zip(&mut values) {
            if let Some(adapted) = kind.adapt(value) {
                *value = adapted;
            }
        }
        let mut params = self.params.iter();
        let named = params.rposition(|(param, _)| names.contains(param));
        Ok(Given {
            params: self.params,
            values,
            count: positional.len().max(named.map_or(0, |last| last + 1)),
        })
    }
}

/// Returns the arguments behind the value without a name, and those with one.
fn parts(args: &[Value]) -> (&[Value], Vec<(String, Value)>) {
    let args = args.get(1..).unwrap_or_default();
    let Some((last, rest)) = args.split_last().filter(|(last, _)| last.is_kwargs()) else {
        return (args, Vec::new());
    };
    let names = last.try_iter().into_iter().flatten();
    let named = names.map(|name| {
        let value = last.get_item(&name).unwrap_or_default();
        (name.to_string(), value)
    });
    (rest, named.collect())
}

/// Returns the arguments of a filter in the form in which it is called: where its parameters are known, all by their
/// places.
pub(crate) fn normalised(name: &str, args: Vec<Value>) -> Result<Vec<Value>, Error> {
    let has_body = |signature: &&Signature| signature.body.is_some();
    if let Some(signature) = signature(name).filter(has_body) {
        if args.len() < 2 {
            return Ok(args);
        }
        let given = signature.bind(&args)?;
        let count = given.count;
        let value = args.into_iter().next();
        return Ok(value
            .into_iter()
            .chain(given.values.into_iter().take(count))
            .collect());
    }
    if let Some(signature) = signature(name).filter(|signature| !signature.is_named_only) {
        let (positional, named) = parts(&args);
        signature.check_values(positional, &named)?;
    }
    let mut args = args;
    let attribute = match name {
        "join" => args.get_mut(2),
        "rejectattr" | "selectattr" | "sum" => args.get_mut(1),
        _ => None,
    };
    if let Some(attribute) = attribute {
        *attribute = path(attribute);
    }
    if let ("map" | "join" | "sum", Some(last)) = (name, args.last_mut())
        && last.is_kwargs()
        && last.get_attr("attribute").is_ok_and(|it| it.is_integer())
    {
        let (_, named) = parts(&[Value::UNDEFINED, last.clone()]);
        let named = named.into_iter().map(|(name, value)| match name.as_str() {
            "attribute" => (name, path(&value)),
            _ => (name, value),
        });
        *last = Value::from(named.collect::<Kwargs>());
    }
    Ok(args)
}
