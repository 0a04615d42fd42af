//! The notation of amounts of money in each locale: the sign of the currency, and where it stands. The rows are those
//! of CLDR 48 for the locales that differ
//! from the common form, which is the sign behind the number.

use icu_locale_core::Locale;
use sampan_host::Error;

const SPACE: char = '\u{a0}';

/// The side of the currency sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Before,
    BeforeWithSpace,
    After,
}

/// The way one currency is written in one locale.
#[derive(Debug)]
pub(crate) struct Shape {
    sign: String,
    side: Side,
    /// The number of digits that stand behind the point.
    pub(crate) decimals: i64,
}

/// The currencies with a sign that is common beyond their countries.
const SIGNS: [(&str, &str); 12] = [
    ("BRL", "R$"),
    ("CNY", "CN¥"),
    ("EUR", "€"),
    ("GBP", "£"),
    ("ILS", "₪"),
    ("INR", "₹"),
    ("JPY", "¥"),
    ("KRW", "₩"),
    ("MXN", "MX$"),
    ("TWD", "NT$"),
    ("USD", "$"),
    ("VND", "₫"),
];

/// Signs that a language or a region has of its own.
const OWN_SIGNS: [(&str, &str, &str); 26] = [
    ("bg", "EUR", "€"),
    ("cs", "CZK", "Kč"),
    ("da", "DKK", "kr."),
    ("en-AU", "AUD", "$"),
    ("en-AU", "USD", "USD"),
    ("en-CA", "CAD", "$"),
    ("en-CA", "USD", "US$"),
    ("en-GB", "USD", "US$"),
    ("en-NZ", "NZD", "$"),
    ("es", "USD", "US$"),
    ("es-MX", "MXN", "$"),
    ("es-MX", "USD", "USD"),
    ("fr", "USD", "$US"),
    ("fr-CA", "CAD", "$"),
    ("fr-CA", "USD", "$\u{a0}US"),
    ("hu", "HUF", "Ft"),
    ("ja", "CNY", "元"),
    ("ja", "JPY", "￥"),
    ("nb", "NOK", "kr"),
    ("no", "NOK", "kr"),
    ("pl", "PLN", "zł"),
    ("pt", "USD", "US$"),
    ("ru", "RUB", "₽"),
    ("sv", "SEK", "kr"),
    ("uk", "UAH", "₴"),
    ("zh", "CNY", "¥"),
];

/// The locales that write the sign before the number.
const BEFORE: [(&str, Side); 26] = [
    ("de-AT", Side::BeforeWithSpace),
    ("de-CH", Side::BeforeWithSpace),
    ("de-LI", Side::BeforeWithSpace),
    ("el-CY", Side::After),
    ("en", Side::Before),
    ("es-AR", Side::BeforeWithSpace),
    ("es-CL", Side::Before),
    ("es-CO", Side::BeforeWithSpace),
    ("es-MX", Side::Before),
    ("es-US", Side::Before),
    ("fil", Side::Before),
    ("ga", Side::Before),
    ("hi", Side::Before),
    ("id", Side::BeforeWithSpace),
    ("it-CH", Side::BeforeWithSpace),
    ("ja", Side::Before),
    ("ko", Side::Before),
    ("ms", Side::BeforeWithSpace),
    ("nl", Side::BeforeWithSpace),
    ("pt", Side::BeforeWithSpace),
    ("pt-PT", Side::After),
    ("sw", Side::BeforeWithSpace),
    ("ta", Side::Before),
    ("th", Side::Before),
    ("tr", Side::Before),
    ("zh", Side::Before),
];

/// The currencies that do not have two digits behind the point, by ISO 4217.
const DECIMALS: [(&str, i64); 23] = [
    ("BHD", 3),
    ("BIF", 0),
    ("CLP", 0),
    ("DJF", 0),
    ("GNF", 0),
    ("IQD", 0),
    ("ISK", 0),
    ("JOD", 3),
    ("JPY", 0),
    ("KMF", 0),
    ("KRW", 0),
    ("KWD", 3),
    ("LYD", 3),
    ("OMR", 3),
    ("PYG", 0),
    ("RWF", 0),
    ("TND", 3),
    ("UGX", 0),
    ("VND", 0),
    ("VUV", 0),
    ("XAF", 0),
    ("XOF", 0),
    ("XPF", 0),
];

/// Returns how a locale writes a currency.
///
/// # Errors
/// The code is not three capital letters.
pub(crate) fn shape(locale: &Locale, code: &str) -> Result<Shape, Error> {
    let is_code = code.len() == 3 && code.bytes().all(|letter| letter.is_ascii_uppercase());
    if !is_code {
        let shown: String = code.chars().take(20).collect();
        return Err(Error::script(format!(
            "{shown:?} is not the code of a currency: write one of ISO 4217, such as \"EUR\""
        )));
    }
    let language = locale.id.language.as_str();
    let region = locale.id.region;
    let special = region.map(|region| format!("{language}-{}", region.as_str()));
    // The row of the region wins over that of the language.
    let tags = [special.as_deref(), Some(language)];
    let tags = || tags.into_iter().flatten();
    let own = tags().find_map(|tag| {
        let mut rows = OWN_SIGNS.iter();
        rows.find(|(known, money, _)| *known == tag && *money == code)
            .map(|(_, _, sign)| *sign)
    });
    let common = SIGNS.iter().find(|(money, _)| *money == code);
    let sign = own
        .or(common.map(|(_, sign)| *sign))
        .unwrap_or(code)
        .to_owned();
    let side = tags().find_map(|tag| BEFORE.iter().find(|(known, _)| *known == tag));
    let decimals = DECIMALS.iter().find(|(money, _)| *money == code);
    Ok(Shape {
        sign,
        side: side.map_or(Side::After, |(_, side)| *side),
        decimals: decimals.map_or(2, |(_, digits)| *digits),
    })
}

impl Shape {
    /// Returns an amount whose number, without a sign, is written already.
    pub(crate) fn written(&self, number: &str, is_negative: bool) -> String {
        let minus = if is_negative { "-" } else { "" };
        let sign = &self.sign;
        // A code of letters never touches the number.
        let is_code = sign.ends_with(|last: char| last.is_alphabetic());
        match self.side {
            Side::Before if !is_code => format!("{minus}{sign}{number}"),
            Side::Before => format!("{minus}{sign}{SPACE}{number}"),
            Side::BeforeWithSpace => format!("{minus}{sign}{SPACE}{number}"),
            Side::After => format!("{minus}{number}{SPACE}{sign}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_write_amounts() {
        for (tag, code, number, wanted) in [
            ("en", "USD", "12.50", "$12.50"),
            ("en", "CHF", "12.50", "CHF\u{a0}12.50"),
            ("de", "EUR", "12,50", "12,50\u{a0}€"),
            ("de-AT", "EUR", "12,50", "€\u{a0}12,50"),
            ("fr", "USD", "12,50", "12,50\u{a0}$US"),
            ("nl", "EUR", "12,50", "€\u{a0}12,50"),
            ("pt-BR", "BRL", "12,50", "R$\u{a0}12,50"),
            ("ja", "JPY", "12", "￥12"),
            ("pl", "PLN", "12,50", "12,50\u{a0}zł"),
        ] {
            let locale = tag.parse().expect("a locale");
            let shape = shape(&locale, code).expect("a code");
            assert_eq!(shape.written(number, false), wanted, "{tag} {code}");
        }
        let locale = "en".parse().expect("a locale");
        for wrong in ["", "eur", "EURO", "€"] {
            assert!(shape(&locale, wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            shape(&locale, "JPY").map(|shape| shape.decimals).ok(),
            Some(0)
        );
    }
}
