//! The functions and filters for the languages of an app in templates: `t`, `locale`, `text_direction`, and the filters
//! `format_number` and `format_date`.

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
            let Some(Value::Text(key)) = args.first() else {
                return Err(Error::script("t takes the key of a text"));
            };
            let text = i18n.translate(locale, key, named(args, 1))?;
            Ok(Value::Text(text))
        }),
    );
    values.filter(
        "format_number",
        Rc::new(move |request, args| {
            let (i18n, locale) = of_number.of(request);
            let decimals = match option(args, "decimals") {
                Some(Value::Int(decimals)) => Some(*decimals),
                Some(_) => return Err(Error::script("decimals must be a number")),
                None => None,
            };
            let number = args.first().unwrap_or(&Value::Null);
            let text = match option(args, "currency") {
                Some(Value::Text(code)) => i18n.money(locale, number, code, decimals)?,
                Some(_) => {
                    return Err(Error::script("currency must be a code such as \"EUR\""));
                }
                None => i18n.number(locale, number, decimals)?,
            };
            Ok(Value::Text(text))
        }),
    );
    values.filter(
        "format_date",
        Rc::new(move |request, args| {
            let (i18n, locale) = of_date.of(request);
            let style = match option(args, "style") {
                Some(Value::Text(style)) => Some(style.as_str()),
                Some(_) => return Err(Error::script("style must be a text")),
                None => None,
            };
            let with_time = option(args, "time") == Some(&Value::Bool(true));
            let zone = match option(args, "tz") {
                Some(Value::Text(zone)) => Some(zone.as_str()),
                Some(_) => return Err(Error::script("tz must be the name of a time zone")),
                None => None,
            };
            let date = args.first().unwrap_or(&Value::Null);
            Ok(Value::Text(
                i18n.date(locale, date, style, with_time, zone)?,
            ))
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

/// The named arguments, which come behind `count` others.
fn named(args: &[Value], count: usize) -> &[(String, Value)] {
    match args.get(count) {
        Some(Value::Map(members)) => members,
        _ => &[],
    }
}

/// A named argument of a filter.
fn option<'a>(args: &'a [Value], name: &str) -> Option<&'a Value> {
    let found = named(args, 1).iter().find(|(given, _)| given == name);
    found.map(|(_, value)| value)
}
