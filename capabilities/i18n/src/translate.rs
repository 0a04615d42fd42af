//! The locale of a request, and texts in it.

use crate::catalog::Catalogs;
use crate::currency;
use crate::formats::{Formats, Style, decimal, is_rtl};
use crate::limits::COOKIE_SECONDS;
use crate::moment::Moment;
use crate::negotiate;
use fixed_decimal::Sign;
use icu_plurals::PluralCategory;
use sampan_host::request::{Pairs, form_pairs};
use sampan_host::set_cookie::SetCookie;
use sampan_host::{Error, RequestView, Value};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// The parameter of a query that chooses a locale, and the cookie that remembers it.
const CHOICE: &str = "lang";

/// One of the app's locales.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocaleId(usize);

/// The texts of an isolate. `app` puts it into the context.
pub struct I18n {
    catalogs: Arc<Catalogs>,
    /// Writes a warning to the log.
    warn: Box<dyn Fn(String)>,
    /// By the number of the locale.
    formats: RefCell<Vec<Option<Rc<Formats>>>>,
    /// The locale of what is rendered for no request, while [`I18n::in_locale`] runs.
    inner: Cell<Option<LocaleId>>,
}

/// The locale of a request.
struct Chosen(LocaleId);

impl I18n {
    /// The texts of an isolate. `warn` logs keys that have none.
    pub fn new(catalogs: Arc<Catalogs>, warn: impl Fn(String) + 'static) -> Self {
        Self {
            catalogs,
            warn: Box::new(warn),
            formats: RefCell::default(),
            inner: Cell::default(),
        }
    }

    /// The app's own locale.
    pub fn default_locale(&self) -> LocaleId {
        LocaleId(self.catalogs.default)
    }

    /// The locale of what is rendered for no request.
    pub(crate) fn locale_without_request(&self) -> LocaleId {
        self.inner.get().unwrap_or_else(|| self.default_locale())
    }

    /// Calls `run` while what is rendered for no request has this locale.
    pub(crate) fn in_locale(&self, locale: LocaleId, run: &mut dyn FnMut()) {
        /// Puts back the locale before.
        struct Inner<'a>(&'a Cell<Option<LocaleId>>, Option<LocaleId>);
        impl Drop for Inner<'_> {
            fn drop(&mut self) {
                self.0.set(self.1);
            }
        }
        let _inner = Inner(&self.inner, self.inner.replace(Some(locale)));
        run();
    }

    /// The locale of this name, or the next more general one.
    pub fn named(&self, name: &str) -> Option<LocaleId> {
        negotiate::named(&self.catalogs, name).map(LocaleId)
    }

    /// The names of all locales.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.catalogs.all.iter().map(|catalog| catalog.tag.as_str())
    }

    /// The name of a locale: `de`, `pt-BR`.
    pub fn name(&self, locale: LocaleId) -> &str {
        &self.catalogs.all[locale.0].tag
    }

    /// In which direction it is written, as HTML says it: `ltr` or `rtl`.
    pub fn direction(&self, locale: LocaleId) -> &'static str {
        match is_rtl(&self.catalogs.all[locale.0].locale) {
            true => "rtl",
            false => "ltr",
        }
    }

    /// The locale of a request: by `?lang=`, which a cookie remembers; by that cookie; by `Accept-Language`; else the
    /// app's own. It is chosen once. The answer says which it is, and what it depends on.
    pub fn locale_of(&self, request: &dyn RequestView) -> LocaleId {
        if let Some(chosen) = request.store().get::<Chosen>() {
            return chosen.0;
        }
        let locale = self.choose(request);
        request.store().put(Chosen(locale));
        if self.catalogs.all.len() > 1 {
            // Where the head has been sent, it is too late to say so.
            let _ = request.add_header("Vary", b"Accept-Language, Cookie");
            let _ = request.default_header("Content-Language", self.name(locale).as_bytes());
        }
        locale
    }

    /// Sets the locale of a request for what comes after. `?lang=` is remembered all the same.
    pub(crate) fn set_locale_of(&self, request: &dyn RequestView, locale: LocaleId) {
        if self.locale_of(request) == locale {
            return;
        }
        request.store().put(Chosen(locale));
        let _ = request.default_header("Content-Language", self.name(locale).as_bytes());
    }

    fn choose(&self, request: &dyn RequestView) -> LocaleId {
        let query = request.query().unwrap_or_default();
        let asked = match query.contains(CHOICE) {
            true => form_pairs(query.as_bytes()).find(|(name, _)| name == CHOICE),
            false => None,
        };
        let asked = asked.and_then(|(_, name)| self.named(&name));
        let mut cookie = None;
        Pairs::Cookies.each(request, &mut |name, value| {
            if name == CHOICE && cookie.is_none() {
                cookie = Some(String::from_utf8_lossy(value).into_owned());
            }
        });
        if let Some(locale) = asked {
            let name = self.name(locale);
            if cookie.as_deref() != Some(name) {
                let cookie = SetCookie {
                    max_age_seconds: Some(COOKIE_SECONDS),
                    ..SetCookie::new(CHOICE, name, request.is_https())
                };
                // The name of a locale is always a value.
                let _ = cookie
                    .field()
                    .map(|field| request.add_header("Set-Cookie", field.as_bytes()));
            }
            return locale;
        }
        if let Some(locale) = cookie.and_then(|name| self.named(&name)) {
            return locale;
        }
        let mut languages = String::new();
        request.each_header(&mut |name, value| {
            if name.eq_ignore_ascii_case("accept-language") {
                languages.push_str(&String::from_utf8_lossy(value));
                languages.push(',');
            }
        });
        let accepted = negotiate::accepted(&self.catalogs, &languages);
        accepted.map_or(self.default_locale(), LocaleId)
    }

    fn formats(&self, locale: LocaleId) -> Result<Rc<Formats>, Error> {
        let mut known = self.formats.borrow_mut();
        known.resize(self.catalogs.all.len(), None);
        let place = &mut known[locale.0];
        if let Some(formats) = place {
            return Ok(Rc::clone(formats));
        }
        let made = Rc::new(Formats::new(&self.catalogs.all[locale.0].locale)?);
        *place = Some(Rc::clone(&made));
        Ok(made)
    }

    /// A number as the locale writes it.
    ///
    /// # Errors
    /// It is not a number, or no digits can be had so.
    pub fn number(
        &self,
        locale: LocaleId,
        number: &Value,
        decimals: Option<i64>,
    ) -> Result<String, Error> {
        self.formats(locale)?.number(decimal(number)?, decimals)
    }

    /// An amount of money as the locale writes it. `code` is that of ISO 4217, such as `EUR`.
    ///
    /// # Errors
    /// The number cannot be formatted, or the code is not three letters.
    pub fn money(
        &self,
        locale: LocaleId,
        number: &Value,
        code: &str,
        decimals: Option<i64>,
    ) -> Result<String, Error> {
        let shape = currency::shape(&self.catalogs.all[locale.0].locale, code)?;
        let mut number = decimal(number)?;
        let is_negative = number.sign() == Sign::Negative;
        number.set_sign(Sign::None);
        let decimals = decimals.unwrap_or(shape.decimals);
        let number = self.formats(locale)?.number(number, Some(decimals))?;
        Ok(shape.written(&number, is_negative))
    }

    /// A date as the locale writes it, with its time if that is asked for. `style` is `short`, `medium`, `long` or
    /// `full`, `zone` the name of a time zone.
    ///
    /// # Errors
    /// It is not a date, or the style or the time zone does not exist.
    pub fn date(
        &self,
        locale: LocaleId,
        date: &Value,
        style: Option<&str>,
        with_time: bool,
        zone: Option<&str>,
    ) -> Result<String, Error> {
        let style = match style {
            None | Some("medium") => Style::Medium,
            Some("short") => Style::Short,
            Some("long") => Style::Long,
            Some("full") => Style::Full,
            Some(other) => {
                let text = format!(
                    "style is {other:?}; it must be \"short\", \"medium\", \"long\" or \"full\""
                );
                return Err(Error::script(text));
            }
        };
        let moment = match zone {
            Some(zone) => Moment::read_in(date, zone)?,
            None => Moment::read(date)?,
        };
        self.formats(locale)?.date(&moment, style, with_time)
    }

    /// The text of a key, or the key itself if no catalogue has one. The value called `n` decides the form of a text
    /// that has several, and is printed as the locale writes numbers.
    ///
    /// # Errors
    /// A value is missing that the text has a place for, or is none that can be printed.
    pub fn translate(
        &self,
        locale: LocaleId,
        key: &str,
        values: &[(String, Value)],
    ) -> Result<String, Error> {
        let value = |name: &str| {
            let mut values = values.iter();
            values
                .find(|(given, _)| given == name)
                .map(|(_, value)| value.clone())
        };
        let found = self.find(locale, key, &value)?;
        Ok(found.unwrap_or_else(|| {
            self.miss(locale, key, "no locale has a text for it");
            key.to_owned()
        }))
    }

    /// The text of a key that capabilities have texts of their own for; nothing if no catalogue has one.
    pub fn lookup(&self, locale: LocaleId, key: &str, values: &[(&str, Value)]) -> Option<String> {
        let value = |name: &str| {
            let mut values = values.iter();
            values
                .find(|(given, _)| *given == name)
                .map(|(_, value)| value.clone())
        };
        self.find(locale, key, &value).ok().flatten()
    }

    fn find(
        &self,
        locale: LocaleId,
        key: &str,
        value: &dyn Fn(&str) -> Option<Value>,
    ) -> Result<Option<String>, Error> {
        let Some((at, message)) = self.catalogs.find(locale.0, key) else {
            return Ok(None);
        };
        if at == self.catalogs.default
            && at != locale.0
            && !is_parent(self.name(LocaleId(at)), self.name(locale))
        {
            self.miss(locale, key, "the text of the default locale is shown");
        }
        let count = value("n").map(|count| decimal(&count)).transpose();
        let count =
            count.map_err(|error| Error::script(format!("{key}: n: {}", error.message())))?;
        // Most texts have no number.
        let counted = match count {
            Some(count) => Some((count, self.formats(LocaleId(at))?)),
            None => None,
        };
        let category = || match &counted {
            Some((count, formats)) => formats.category(count),
            None => PluralCategory::Other,
        };
        let text = message
            .text(category)
            .filled(|name| match (name, &counted) {
                ("n", Some((count, formats))) => formats.number(count.clone(), None),
                (name, _) => printed(key, name, value(name)),
            })?;
        Ok(Some(text))
    }

    /// Logs once that a locale has no text for a key.
    #[cold]
    fn miss(&self, locale: LocaleId, key: &str, what: &str) {
        let shown: String = key.chars().take(100).collect();
        let told = format!("no text for {shown:?} in {}: {what}", self.name(locale));
        if self.catalogs.is_news(told.clone()) {
            (self.warn)(told);
        }
    }
}

/// Reports whether a locale is one of the more general ones of another.
fn is_parent(general: &str, special: &str) -> bool {
    negotiate::parents(special).any(|tag| tag == general)
}

/// A value in a text.
fn printed(key: &str, name: &str, value: Option<Value>) -> Result<String, Error> {
    Ok(match value {
        Some(Value::Text(text)) => text,
        Some(Value::Int(number)) => number.to_string(),
        Some(Value::Float(number)) => number.to_string(),
        Some(Value::Bool(value)) => value.to_string(),
        None | Some(Value::Null) => {
            return Err(Error::script(format!(
                "{key}: its text needs a value for {{{name}}}"
            )));
        }
        Some(other) => {
            let found = other.type_name();
            return Err(Error::script(format!(
                "{key}: {{{name}}} must be text or a number, not {found}"
            )));
        }
    })
}
