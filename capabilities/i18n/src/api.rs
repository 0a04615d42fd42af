//! The API for scripts: fields and methods of requests, and functions for texts that no request asks for.

use crate::options::{DateOptions, NumberOptions};
use crate::translate::{I18n, LocaleId};
use sampan_host::sockets::KeptField;
use sampan_host::{
    Args, Context, Error, ErrorKind, FunctionKind, Module, Param, RequestView, Type, Value, param,
    row,
};
use std::rc::Rc;

const KEY: Param =
    param!("key": Type::Text, "The key of the text, with dots between its parts: `owner.pets`.");

const VALUES: Param = param!("values"? Type::Map,
    "The values for `{name}` in the text, by name. `n` decides the form of a text that has several.");

/// The `i18n` table.
pub static MODULE: Module = Module {
    name: "i18n",
    doc: "Texts in the languages of an app, from `locales/*.toml`.",
    functions: &[
        row!("t"(
                param!("locale": Type::Text, "One of the app's locales: `de`."),
                KEY,
                VALUES,
            ) -> Type::Text, FunctionKind::Sync(text_in),
            "The text of a key in a locale, for what no request asks for, such as mails. In a handler use `req:t`."),
        row!("locales"() -> Type::List, FunctionKind::Sync(locales),
            "The names of the app's locales."),
    ],
    request_fields: &[
        row!("locale"() -> Type::Text, FunctionKind::Sync(locale),
            "The locale of the request: by `?lang=`, which a cookie remembers; by that cookie; by `Accept-Language`; \
             else the app's own. One of the app's locales can be assigned, for the rest of the request."),
        row!("text_direction"() -> Type::Text, FunctionKind::Sync(text_direction),
            "In which direction that locale is written, for the attribute `dir`: `ltr` or `rtl`."),
    ],
    request_setters: &[("locale", set_locale)],
    request_methods: &[
        row!("t"(KEY, VALUES) -> Type::Text, FunctionKind::Sync(text),
            "The text of a key in the locale of the request. Where that has none, it is the text of a more general \
             locale or of the app's own, else the key. Values are not escaped: templates do that."),
        row!("format_number"(
                param!("number": Type::Number, "The number."),
                param!("options"? Type::Map,
                    "`decimals`: how many digits stand behind the point. At most three unless given, as many as are \
                     needed. `currency`: the code of a currency, such as `EUR`: the number is an amount of it."),
            ) -> Type::Text, FunctionKind::Sync(format_number),
            "A number as the locale of the request writes it: `1.234,5`."),
        row!("format_date"(
                param!("date": Type::Any,
                    "A text such as `2026-11-22` or `2026-11-22 14:05:09`, which is shown as it stands, or seconds \
                     since 1970, in UTC."),
                param!("options"? Type::Map,
                    "`style`: `\"short\"`, `\"medium\"` (unless given), `\"long\"` or `\"full\"`, which has the day of \
                     the week. `time`: whether the time is shown too. `tz`: the time zone to show it in, such as \
                     `Europe/Berlin`; a text without an offset is in UTC then."),
            ) -> Type::Text, FunctionKind::Sync(format_date),
            "A date as the locale of the request writes it, by the Gregorian calendar."),
    ],
    ..Module::EMPTY
};

fn i18n(context: &Context) -> Result<Rc<I18n>, Error> {
    let known = context.get::<I18n>();
    known.ok_or_else(|| Error::new(ErrorKind::Internal, "no catalogues"))
}

fn of_request(context: &Context, args: &Args) -> Result<(Rc<I18n>, LocaleId), Error> {
    let i18n = i18n(context)?;
    let locale = i18n.locale_of(&**args.request());
    Ok((i18n, locale))
}

fn map(value: Value) -> Vec<(String, Value)> {
    match value {
        Value::Map(members) => members,
        _ => Vec::new(),
    }
}

/// Returns the locale of this name, or the next more general one.
fn named(i18n: &I18n, name: &str) -> Result<LocaleId, Error> {
    i18n.named(name).ok_or_else(|| {
        let shown: String = name.chars().take(100).collect();
        let known: Vec<&str> = i18n.names().collect();
        Error::script(format!(
            "there is no locale {shown:?}; there are {}",
            known.join(", ")
        ))
    })
}

fn text_in(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (name, key, values) = (args.text(0), args.text(1), map(args.take(2)));
    let i18n = i18n(context)?;
    let locale = named(&i18n, &name)?;
    i18n.translate(locale, &key, &values).map(Value::Text)
}

fn locales(context: &Context, _: Args) -> Result<Value, Error> {
    Ok(Value::List(
        i18n(context)?.names().map(Value::from).collect(),
    ))
}

fn locale(context: &Context, args: Args) -> Result<Value, Error> {
    let (i18n, locale) = of_request(context, &args)?;
    Ok(i18n.name(locale).into())
}

fn set_locale(context: &Context, request: &dyn RequestView, value: Value) -> Result<(), Error> {
    let i18n = i18n(context)?;
    let locale = match value {
        Value::Text(name) => named(&i18n, &name)
            .map_err(|error| Error::script(format!("req.locale: {}", error.message())))?,
        other => {
            let found = other.type_name();
            return Err(Error::script(format!(
                "req.locale must be the name of a locale, not {found}"
            )));
        }
    };
    i18n.set_locale_of(request, locale);
    Ok(())
}

fn text_direction(context: &Context, args: Args) -> Result<Value, Error> {
    let (i18n, locale) = of_request(context, &args)?;
    Ok(i18n.direction(locale).into())
}

/// Keeps the locale for a socket.
pub(crate) fn kept_locale(context: &Context, request: &dyn RequestView) -> Option<KeptField> {
    let i18n = i18n(context).ok()?;
    Some(KeptField::Value(i18n.name(i18n.locale_of(request)).into()))
}

fn text(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (key, values) = (args.text(0), map(args.take(1)));
    let (i18n, locale) = of_request(context, &args)?;
    i18n.translate(locale, &key, &values).map(Value::Text)
}

fn format_number(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (number, given) = (args.take(0), map(args.take(1)));
    let options = NumberOptions::read(&given)?;
    let (i18n, locale) = of_request(context, &args)?;
    options.written(&i18n, locale, &number).map(Value::Text)
}

fn format_date(context: &Context, mut args: Args) -> Result<Value, Error> {
    let (date, given) = (args.take(0), map(args.take(1)));
    let options = DateOptions::read(&given)?;
    let (i18n, locale) = of_request(context, &args)?;
    options.written(&i18n, locale, &date).map(Value::Text)
}
