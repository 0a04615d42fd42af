//! Tests of dates as text.

use super::*;

fn formatted(seconds: f64, format: Option<&str>, tz: Option<&str>) -> Result<String, String> {
    let text = |text: &str| Value::Text(text.to_owned());
    let options = tz.map_or(Value::Null, |tz| {
        Value::Map(vec![("tz".to_owned(), text(tz))])
    });
    let values = vec![
        Value::Float(seconds),
        format.map_or(Value::Null, text),
        options,
    ];
    let args = Args::check("time", &FORMAT, values).map_err(|error| error.message().to_owned())?;
    match super::format(&Context::default(), args) {
        Ok(Value::Text(text)) => Ok(text),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.message().to_owned()),
    }
}

#[test]
fn dates_are_written_in_their_zone() {
    let berlin = Some("Europe/Berlin");
    let written = |seconds, format, tz| formatted(seconds, format, tz).expect("a date");
    assert_eq!(written(1_795_356_309.0, None, None), "2026-11-22T14:05:09Z");
    assert_eq!(
        written(1_795_356_309.0, None, berlin),
        "2026-11-22T15:05:09+01:00"
    );
    assert_eq!(written(-0.5, None, None), "1969-12-31T23:59:59.5Z");
    // In no unit does it round up.
    assert_eq!(
        written(1_792_886_399.999_999_8, None, None),
        "2026-10-24T23:59:59.999999Z"
    );
    assert_eq!(written(-1e-9, Some("%F"), None), "1969-12-31");
    assert_eq!(
        written(1_795_356_309.123, Some("%H:%M:%S.%3f"), None),
        "14:05:09.123"
    );
    let long = "%A, %-d %B %Y, %H:%M %Z";
    assert_eq!(
        written(1_795_356_309.0, Some(long), berlin),
        "Sunday, 22 November 2026, 15:05 CET"
    );
    assert_eq!(written(0.0, Some(""), None), "");
    for (seconds, format) in [
        (0.0, "%"),
        (0.0, "%?"),
        (f64::NAN, "%Y"),
        (f64::INFINITY, "%Y"),
        (1e15, "%Y"),
    ] {
        let error = formatted(seconds, Some(format), None).expect_err("no date");
        assert!(error.contains("is not a"), "{error}");
    }
    assert!(formatted(0.0, None, Some("Mars/Olympus")).is_err());
    let error = formatted(0.0, Some(&"%Y".repeat(101)), None).expect_err("too long");
    assert_eq!(
        error,
        "time.format: the format has 202 bytes: at most 200 are taken"
    );
}

#[test]
fn formats_are_those_of_c() {
    let written = |seconds, format| formatted(seconds, Some(format), None).expect("a date");
    assert_eq!(
        written(1_795_356_309.0, "%c|%x|%X"),
        "Sun Nov 22 14:05:09 2026|11/22/26|14:05:09"
    );
    assert_eq!(written(-0.5, "%s %H:%M:%S%.f"), "-1 23:59:59.5");
    assert_eq!(written(0.5, "%s"), "0");
}

#[test]
fn offsets_with_seconds_are_written_and_read_again() {
    let berlin = Some("Europe/Berlin");
    let before = -2_500_000_000.0;
    let text = formatted(before, None, berlin).expect("a date");
    assert!(text.ends_with("+00:53:28"), "{text}");
    assert_eq!(standard(&text, &TimeZone::UTC), Some(before), "{text}");
    let text = formatted(before, None, Some("America/New_York")).expect("a date");
    assert_eq!(standard(&text, &TimeZone::UTC), Some(before), "{text}");
}

#[test]
fn the_last_day_of_9999_is_written_and_read() {
    let last = 253_402_300_799.0;
    let (berlin, york) = (Some("Europe/Berlin"), Some("America/New_York"));
    for (text, seconds, tz) in [
        ("9999-12-31T23:59:59Z", last, None),
        ("9999-12-31T23:59:59.5Z", last + 0.5, None),
        ("9999-12-31T23:59:59+01:00", last - 3_600.0, berlin),
        ("9999-12-31T23:59:59-05:00", last + 18_000.0, york),
        ("9999-12-30T00:00:00Z", last - 172_799.0, None),
        ("9999-12-30T01:00:00+01:00", last - 172_799.0, berlin),
    ] {
        assert_eq!(standard(text, &TimeZone::UTC), Some(seconds), "{text}");
        assert_eq!(formatted(seconds, None, tz), Ok(text.to_owned()));
    }
    let zone = TimeZone::get("Europe/Berlin").expect("a zone");
    let midnight = Some(253_402_210_800.0);
    assert_eq!(standard("9999-12-31", &zone), midnight);
    assert_eq!(written("31.12.9999", "%d.%m.%Y", &zone), midnight);
    assert_eq!(
        written("31.12.9999 +0100", "%d.%m.%Y %z", &TimeZone::UTC),
        midnight
    );
    let named = "9999-12-31T00:00[Europe/Berlin]";
    assert_eq!(standard(named, &TimeZone::UTC), midnight);
    let contradiction = "9999-12-31T00:00+02:00[Europe/Berlin]";
    assert_eq!(standard(contradiction, &zone), None);
    assert_eq!(
        formatted(last, Some("%A, %d.%m.%Y %H:%M %z %Q %j"), None).as_deref(),
        Ok("Friday, 31.12.9999 23:59 +0000 UTC 365")
    );
    let error = formatted(last, Some("%s"), None).expect_err("no timestamp");
    assert!(error.contains("leave them out"), "{error}");
    let error = formatted(last, None, berlin).expect_err("the year 10000");
    assert!(error.contains("is not a time between"), "{error}");
}

#[test]
fn offsets_are_less_than_a_day() {
    let midnight = "2026-11-22T00:00:00";
    let read = |offset: &str| standard(&format!("{midnight}{offset}"), &TimeZone::UTC);
    let utc = read("Z").expect("a time");
    for (offset, ahead) in [("+23:59", 86_340.0), ("-23:59", -86_340.0)] {
        assert_eq!(read(offset), Some(utc - ahead), "{offset}");
        let with_name = format!("{offset}[{offset}]");
        assert_eq!(read(&with_name), Some(utc - ahead), "{with_name}");
    }
    for wrong in [
        "+24:00",
        "-24:00",
        "+25:59",
        "-25:59:59",
        "[+24:00]",
        "+24:00[+24:00]",
    ] {
        assert_eq!(read(wrong), None, "{wrong}");
    }
    let at_end = |offset: &str| standard(&format!("9999-12-31T00:00{offset}"), &TimeZone::UTC);
    assert!(at_end("+23:59").is_some() && at_end("+24:00").is_none());
    let by_format = |text: &str, format| written(text, format, &TimeZone::UTC);
    for (format, wrong) in [("%F %z", "+2400"), ("%F %Q", "-2500"), ("%F %:z", "+25:59")] {
        assert_eq!(
            by_format(&format!("2026-11-22 {wrong}"), format),
            None,
            "{format}"
        );
    }
    assert!(by_format("2026-11-22 00:00 +2359", "%F %H:%M %z").is_some());
}

#[test]
fn texts_are_read_in_their_zone() {
    let berlin = TimeZone::get("Europe/Berlin").expect("a zone");
    let read = |text: &str| standard(text, &berlin).map(|time| time as i64);
    assert_eq!(read("2026-11-22T14:05:09Z"), Some(1_795_356_309));
    assert_eq!(read("2026-11-22T14:05:09+01:00"), Some(1_795_352_709));
    assert_eq!(read("2026-11-22 14:05:09"), Some(1_795_352_709));
    assert_eq!(read("2026-11-22"), Some(1_795_302_000));
    assert_eq!(
        read("2026-07-01T12:00:00[America/New_York]"),
        Some(1_782_921_600)
    );
    let with_offset = "2026-07-01T12:00:00-04:00[America/New_York]";
    assert_eq!(read(with_offset), Some(1_782_921_600));
    assert_eq!(read("2026-07-01[u-ca=iso8601]"), Some(1_782_856_800));
    for wrong in [
        "",
        "x",
        "2026-02-30",
        "22.11.2026",
        "2026-11-22T25:00",
        "2026-07-01T12:00:00[Mars/Olympus]",
        "2026-07-01T12:00:00+09:00[America/New_York]",
    ] {
        assert_eq!(read(wrong), None, "{wrong:?}");
    }
    let read =
        |text: &str, format: &str| written(text, format, &TimeZone::UTC).map(|time| time as i64);
    assert_eq!(
        read("22.11.2026 14:05", "%d.%m.%Y %H:%M"),
        Some(1_795_356_300)
    );
    assert_eq!(read("22.11.2026", "%d.%m.%Y"), Some(1_795_305_600));
    assert_eq!(read("22/11", "%d.%m.%Y"), None);
    let zoned = "%Y-%m-%d %H:%M %Q";
    let noon = read("2026-07-01 12:00 Europe/Berlin", zoned);
    assert_eq!(noon, Some(1_782_900_000));
    let midnight = read("2026-07-01 Europe/Berlin", "%Y-%m-%d %Q");
    assert_eq!(midnight, Some(1_782_856_800));
    assert_eq!(read("2026-07-01 12:00 +0100", zoned), Some(1_782_903_600));
    for wrong in ["2026-07-01 12:00 Mars/Olympus", "2026-07-01 12:00"] {
        assert_eq!(read(wrong, zoned), None, "{wrong:?}");
    }
    let both = "%Y-%m-%d %H:%M %z %Q";
    let contradiction = "2026-07-01 12:00 +0900 Europe/Berlin";
    assert_eq!(read(contradiction, both), None);
}
