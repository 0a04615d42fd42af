//! The options of `format_number` and `format_date`: scripts give them as a table, templates as named arguments.

use crate::translate::{I18n, LocaleId};
use sampan_host::{Error, Value, refusals};

/// The names of the options of a number.
pub(crate) const OF_NUMBERS: &[&str] = &["currency", "decimals"];
/// The names of the options of a date.
pub(crate) const OF_DATES: &[&str] = &["style", "time", "tz"];

/// The options of a number.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct NumberOptions<'a> {
    currency: Option<&'a str>,
    decimals: Option<i64>,
}

/// The options of a date.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DateOptions<'a> {
    style: Option<&'a str>,
    with_time: bool,
    zone: Option<&'a str>,
}

impl<'a> NumberOptions<'a> {
    /// Reads the options.
    ///
    /// # Errors
    /// A name that is not an option, or a value of another type.
    pub(crate) fn read(given: &'a [(String, Value)]) -> Result<Self, Error> {
        let mut options = Self::default();
        for (name, value) in given {
            match (name.as_str(), value) {
                ("currency", Value::Text(code)) => options.currency = Some(code),
                ("currency", _) => {
                    return Err(Error::script("currency must be a code such as \"EUR\""));
                }
                ("decimals", Value::Int(digits)) => options.decimals = Some(*digits),
                ("decimals", _) => return Err(Error::script("decimals must be a whole number")),
                (name, _) => return Err(refusals::unknown_option(name, OF_NUMBERS)),
            }
        }
        Ok(options)
    }

    /// Returns the number as the locale writes it.
    ///
    /// # Errors
    /// Those of [`I18n::number`] and [`I18n::money`].
    pub(crate) fn written(
        &self,
        i18n: &I18n,
        locale: LocaleId,
        number: &Value,
    ) -> Result<String, Error> {
        match self.currency {
            Some(code) => i18n.money(locale, number, code, self.decimals),
            None => i18n.number(locale, number, self.decimals),
        }
    }
}

impl<'a> DateOptions<'a> {
    /// Reads the options.
    ///
    /// # Errors
    /// A name that is not an option, or a value of another type.
    pub(crate) fn read(given: &'a [(String, Value)]) -> Result<Self, Error> {
        let mut options = Self::default();
        for (name, value) in given {
            match (name.as_str(), value) {
                ("style", Value::Text(style)) => options.style = Some(style),
                ("style", _) => return Err(Error::script("style must be text")),
                ("time", Value::Bool(with_time)) => options.with_time = *with_time,
                ("time", _) => return Err(Error::script("time must be true or false")),
                ("tz", Value::Text(zone)) => options.zone = Some(zone),
                ("tz", _) => {
                    return Err(Error::script(
                        "tz must be the name of a time zone, such as \"Europe/Berlin\"",
                    ));
                }
                (name, _) => return Err(refusals::unknown_option(name, OF_DATES)),
            }
        }
        Ok(options)
    }

    /// Returns the date as the locale writes it.
    ///
    /// # Errors
    /// Those of [`I18n::date`].
    pub(crate) fn written(
        &self,
        i18n: &I18n,
        locale: LocaleId,
        date: &Value,
    ) -> Result<String, Error> {
        i18n.date(locale, date, self.style, self.with_time, self.zone)
    }
}
