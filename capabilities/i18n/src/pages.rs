//! The functions and filters for the languages of an app in templates: `t`, `locale`, `text_direction`, and the filters
//! `format_number` and `format_date`.

use crate::options::{self, DateOptions, NumberOptions};
use crate::translate::{I18n, LocaleId};
use sampan_host::pages::{ForRequest, PageValues};
use sampan_host::{Error, Value};
use std::rc::Rc;

/// Adds all of them. Without a request they speak the app's own language.
pub(crate) fn add(values: &PageValues, i18n: &Rc<I18n>) {
    let texts = || Texts(Rc::clone(i18n));
    let (of_locale, of_direction, of_t, of_number, of_date) =
        (texts(), texts(), texts(), texts(), texts());
    values.any_variable(
        "locale",
        Rc::new(move |request| {
            let (i18n, locale) = of_locale.of(request);
            Ok(Value::from(i18n.name(locale)))
        }),
    );
    values.any_variable(
        "text_direction",
        Rc::new(move |request| {
            let (i18n, locale) = of_direction.of(request);
            Ok(Value::from(i18n.direction(locale)))
        }),
    );
    values.function(
        "t",
        Rc::new(move |request, args| {
            let (i18n, locale) = of_t.of(request);
            let Some((Value::Text(key), rest)) = args.split_first() else {
                return Err(Error::script("t takes the key of a text"));
            };
            let values = named(rest).ok_or_else(|| {
                Error::script("t takes the key of a text, and values by name: t(\"pets\", n=3)")
            })?;
            i18n.translate(locale, key, values).map(Value::Text)
        }),
    );
    values.filter(
        "format_number",
        Rc::new(move |request, args| {
            let (i18n, locale) = of_number.of(request);
            let (number, given) = filtered("format_number", options::OF_NUMBERS, args)?;
            let options = NumberOptions::read(given)?;
            options.written(i18n, locale, number).map(Value::Text)
        }),
    );
    values.filter(
        "format_date",
        Rc::new(move |request, args| {
            let (i18n, locale) = of_date.of(request);
            let (date, given) = filtered("format_date", options::OF_DATES, args)?;
            let options = DateOptions::read(given)?;
            options.written(i18n, locale, date).map(Value::Text)
        }),
    );
}

/// The texts of an isolate's project.
struct Texts(Rc<I18n>);

impl Texts {
    /// Returns the texts, with the locale of a request or the app's own.
    fn of(&self, request: ForRequest<'_>) -> (&I18n, LocaleId) {
        let Self(i18n) = self;
        let locale = match request {
            Some(request) => i18n.locale_of(&**request),
            None => i18n.locale_without_request(),
        };
        (i18n, locale)
    }
}

/// Returns the named arguments, which come as a map; `None` if there is any other argument.
fn named(args: &[Value]) -> Option<&[(String, Value)]> {
    match args {
        [] => Some(&[]),
        [Value::Map(members)] => Some(members),
        _ => None,
    }
}

/// The value before a filter, and the filter's arguments by their names.
type Filtered<'a> = (&'a Value, &'a [(String, Value)]);

/// Returns the value before a filter, and the filter's named arguments.
///
/// # Errors
/// An argument without a name.
fn filtered<'a>(filter: &str, names: &[&str], args: &'a [Value]) -> Result<Filtered<'a>, Error> {
    let Some((value, rest)) = args.split_first() else {
        return Err(Error::script(format!("the filter {filter} needs a value")));
    };
    let given = named(rest).ok_or_else(|| {
        let names = names.join(", ");
        Error::script(format!(
            "the filter {filter} takes its arguments by name: {names}"
        ))
    })?;
    Ok((value, given))
}
