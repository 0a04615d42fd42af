//! Dates as header fields of HTTP have them, RFC 9110 section 5.6.7.

use sampan_host::{Args, Context, Error, Function, FunctionKind, Type, Value, clock, param, row};
use std::time::{Duration, UNIX_EPOCH};

/// The first second of the year 10000, which such a date cannot have.
const END_SECONDS: f64 = 253_402_300_800.0;

pub(super) const HTTP_DATE: Function = row!("http_date"(
        param!("seconds"? Type::Number,
            "The time in seconds since 1970-01-01 00:00 UTC; now unless given."),
    ) -> Type::Text, FunctionKind::Sync(http_date),
    "The date for a header field such as `Expires` (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`. Parts of \
     a second are left out. Years before 1970 and after 9999 are errors. `time.parse` reads it.");

fn http_date(_: &Context, args: Args) -> Result<Value, Error> {
    let seconds = args.number(0);
    let seconds = seconds.unwrap_or_else(|| clock::since_1970().as_secs_f64());
    // The crate panics at others.
    if !(0.0..END_SECONDS).contains(&seconds) {
        return Err(Error::script(format!(
            "{seconds} is not a time between the years 1970 and 9999, in seconds since 1970"
        )));
    }
    let time = UNIX_EPOCH + Duration::from_secs(seconds as u64);
    Ok(Value::Text(httpdate::fmt_http_date(time)))
}

/// Reads a date in one of the three forms that HTTP has, in seconds since 1970.
pub(super) fn parsed(text: &str) -> Option<f64> {
    let time = httpdate::parse_http_date(text).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(seconds: f64) -> Result<Value, String> {
        let args = Args::check("time", &HTTP_DATE, vec![Value::Float(seconds)]);
        let text = http_date(&Context::default(), args.expect("a number"));
        text.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn the_examples_of_rfc_9110_are_one_time() {
        for text in [
            "Sun, 06 Nov 1994 08:49:37 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
        ] {
            assert_eq!(parsed(text), Some(784_111_777.0), "{text}");
        }
        let first = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(written(784_111_777.9), Ok(first.into()));
    }

    #[test]
    fn texts_that_are_not_dates_of_http_are_nothing() {
        for wrong in [
            "",
            "Sun, 06 Nov 1994 08:49:37",
            "Mon, 06 Nov 1994 08:49:37 GMT",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn dates_are_written_from_1970_to_9999() {
        let ends = [
            (0.0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (253_402_300_799.0, "Fri, 31 Dec 9999 23:59:59 GMT"),
        ];
        for (seconds, text) in ends {
            assert_eq!(written(seconds), Ok(text.into()));
            assert_eq!(parsed(text), Some(seconds));
        }
        for wrong in [-1.0, 253_402_300_800.0, f64::NAN, f64::INFINITY] {
            let error = written(wrong).expect_err("no such date");
            let expected = "is not a time between the years 1970 and 9999";
            assert!(error.contains(expected), "{error}");
        }
    }
}
