//! The notation of numbers and dates in each locale, by the data of CLDR.

use crate::limits::{DECIMALS_MAX, DECIMALS_UNLESS_GIVEN};
use crate::moment::Moment;
use fixed_decimal::{Decimal, SignedRoundingMode, UnsignedRoundingMode};
use icu_calendar::Gregorian;
use icu_datetime::FixedCalendarDateTimeFormatter;
use icu_datetime::fieldsets::{YMD, YMDE, YMDET, YMDT};
use icu_decimal::DecimalFormatter;
use icu_locale_core::Locale;
use icu_plurals::{PluralCategory, PluralRules};
use sampan_host::{Error, ErrorKind, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The rounding of numbers: halves away from zero.
const ROUNDING: SignedRoundingMode = SignedRoundingMode::Unsigned(UnsignedRoundingMode::HalfExpand);

/// The length of a date's notation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Style {
    Short,
    #[default]
    Medium,
    Long,
    /// With the day of the week.
    Full,
}

/// The formats of one locale on one worker.
pub(crate) struct Formats {
    locale: Locale,
    plurals: PluralRules,
    decimals: DecimalFormatter,
    /// By style, without and with the time; made when they are used.
    dates: RefCell<HashMap<(Style, bool), Rc<DateFormat>>>,
}

/// The calendar is the one that dates in databases and forms are written in.
enum DateFormat {
    Date(FixedCalendarDateTimeFormatter<Gregorian, YMD>),
    DateTime(FixedCalendarDateTimeFormatter<Gregorian, YMDT>),
    Day(FixedCalendarDateTimeFormatter<Gregorian, YMDE>),
    DayTime(FixedCalendarDateTimeFormatter<Gregorian, YMDET>),
}

fn lacking(what: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("no data of this locale: {what}"),
    )
}

/// A number as it is written out.
pub(crate) fn decimal(value: &Value) -> Result<Decimal, Error> {
    match value {
        Value::Int(number) => Ok(Decimal::from(*number)),
        // Rust prints all digits, and never an exponent.
        Value::Float(number) if number.is_finite() => {
            let text = number.to_string();
            Decimal::try_from_str(&text)
                .map_err(|_| Error::script(format!("{text} cannot be formatted")))
        }
        Value::Float(number) => Err(Error::script(format!("{number} cannot be formatted"))),
        other => Err(Error::script(format!(
            "a number is expected, not {}",
            other.type_name()
        ))),
    }
}

/// Returns a number with as many digits behind the point as are printed unless the script says more.
fn shortened(mut number: Decimal) -> Decimal {
    number.round_with_mode(-DECIMALS_UNLESS_GIVEN, ROUNDING);
    number.trim_end();
    number
}

impl Formats {
    pub(crate) fn new(locale: &Locale) -> Result<Self, Error> {
        Ok(Self {
            locale: locale.clone(),
            plurals: PluralRules::try_new_cardinal(locale.into()).map_err(lacking)?,
            decimals: DecimalFormatter::try_new(locale.into(), Default::default())
                .map_err(lacking)?,
            dates: RefCell::default(),
        })
    }

    /// Returns the category of a number as it is printed: "1 day" is one day, also for 1.0001.
    pub(crate) fn category(&self, number: &Decimal) -> PluralCategory {
        self.plurals.category_for(&shortened(number.clone()))
    }

    /// A number with so many digits behind the point, or as many as it needs.
    pub(crate) fn number(
        &self,
        mut number: Decimal,
        decimals: Option<i64>,
    ) -> Result<String, Error> {
        match decimals {
            Some(digits) if (0..=DECIMALS_MAX).contains(&digits) => {
                number.round_with_mode(-(digits as i16), ROUNDING);
                number.pad_end(-(digits as i16));
            }
            Some(_) => {
                let text = format!("decimals must be a whole number from 0 to {DECIMALS_MAX}");
                return Err(Error::script(text));
            }
            None => number = shortened(number),
        }
        Ok(self.decimals.format(&number).to_string())
    }

    /// A date, with its time if that is asked for.
    pub(crate) fn date(
        &self,
        moment: &Moment,
        style: Style,
        with_time: bool,
    ) -> Result<String, Error> {
        let known = self.dates.borrow().get(&(style, with_time)).cloned();
        let format = match known {
            Some(format) => format,
            None => {
                let made = Rc::new(DateFormat::new(&self.locale, style, with_time)?);
                self.dates
                    .borrow_mut()
                    .insert((style, with_time), Rc::clone(&made));
                made
            }
        };
        Ok(match &*format {
            DateFormat::Date(format) => format.format(&moment.date).to_string(),
            DateFormat::Day(format) => format.format(&moment.date).to_string(),
            DateFormat::DateTime(format) => format.format(&moment.with_time()).to_string(),
            DateFormat::DayTime(format) => format.format(&moment.with_time()).to_string(),
        })
    }
}

impl DateFormat {
    fn new(locale: &Locale, style: Style, with_time: bool) -> Result<Self, Error> {
        let prefs = locale.into();
        let fields = match style {
            Style::Short => YMD::short(),
            Style::Medium => YMD::medium(),
            Style::Long => YMD::long(),
            Style::Full => {
                let fields = YMDE::long();
                return match with_time {
                    false => FixedCalendarDateTimeFormatter::try_new(prefs, fields).map(Self::Day),
                    true => FixedCalendarDateTimeFormatter::try_new(prefs, fields.with_time_hm())
                        .map(Self::DayTime),
                }
                .map_err(lacking);
            }
        };
        match with_time {
            false => FixedCalendarDateTimeFormatter::try_new(prefs, fields).map(Self::Date),
            true => FixedCalendarDateTimeFormatter::try_new(prefs, fields.with_time_hm())
                .map(Self::DateTime),
        }
        .map_err(lacking)
    }
}

/// Reports whether a locale is written from right to left, by its script or by that of its language.
pub(crate) fn is_rtl(locale: &Locale) -> bool {
    const SCRIPTS: [&str; 8] = [
        "Adlm", "Arab", "Hebr", "Mand", "Nkoo", "Rohg", "Syrc", "Thaa",
    ];
    const LANGUAGES: [&str; 17] = [
        "ar", "arc", "ckb", "dv", "fa", "he", "iw", "ji", "ks", "mzn", "nqo", "ps", "sd", "syr",
        "ug", "ur", "yi",
    ];
    match locale.id.script {
        Some(script) => SCRIPTS.contains(&script.as_str()),
        None => LANGUAGES.contains(&locale.id.language.as_str()),
    }
}
