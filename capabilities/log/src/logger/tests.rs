//! The form of lines, and the treatment of floods.

use super::*;
use sampan_client::wait;
use serde_json::Value as Json;

fn json_logger(line_bytes_max: usize) -> Logger {
    Logger::captured(Level::Debug).with(LogSettings {
        level_min: Level::Debug,
        format: Format::Json,
        line_bytes_max,
        ..LogSettings::default()
    })
}

fn objects(logger: &Logger) -> Vec<Json> {
    let lines = logger.lines();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect(line))
        .collect()
}

#[test]
fn the_level_filters_and_the_stack_is_indented() {
    let logger = Logger::captured(Level::Info);
    logger.text(Level::Debug, "left out");
    logger.write(
        Level::Error,
        &Entry {
            stack: Some("app.lua:1: in f\n  app.lua:2: in g\n"),
            ..Entry::text("boom\nboom")
        },
    );
    let lines = logger.lines();
    assert!(!lines.contains("left out"));
    let after_time: Vec<_> = lines
        .lines()
        .map(|l| l.split_once("Z ").map_or(l, |(_, rest)| rest))
        .collect();
    assert_eq!(
        after_time,
        [
            "ERROR boom",
            "    boom",
            "    app.lua:1: in f",
            "    app.lua:2: in g"
        ]
    );
}

#[test]
fn a_full_buffer_forgets_its_oldest_lines() {
    let logger = Logger::captured(Level::Debug);
    for number in 0..20_000 {
        logger.text(Level::Info, format!("{number} {}", "x".repeat(80)));
    }
    let lines = logger.lines();
    assert!(lines.len() <= CAPTURED_BYTES_MAX);
    assert!(lines.contains(" 19999 ") && !lines.contains("INFO 0 "));
}

#[test]
fn every_line_of_json_is_an_object() {
    let logger = json_logger(4096);
    let hostile = "\"\\\n\u{0}\u{1b}{},";
    let fields = [(
        hostile.to_owned(),
        Value::List(vec![hostile.into(), Value::Float(f64::NAN)]),
    )];
    logger.write(
        Level::Warn,
        &Entry {
            fields: &fields,
            stack: Some("a\n\"b\n"),
            id: Some(Cow::Borrowed("r1")),
            request: Some(("GET", "/x\"")),
            ..Entry::text(hostile)
        },
    );
    logger.script(
        Level::Info,
        &Value::List(vec![1.into()]),
        &Value::Null,
        Entry::default(),
    );
    let all = objects(&logger);
    assert_eq!(all.len(), 2);
    let first = &all[0];
    assert_eq!(first["message"], hostile);
    assert_eq!(first["level"], "warn");
    assert_eq!(first["fields"][hostile][0], hostile);
    assert_eq!(first["stack"], "a\n\"b");
    assert_eq!(
        (&first["id"], &first["method"], &first["path"]),
        (&"r1".into(), &"GET".into(), &"/x\"".into())
    );
    assert_eq!(all[1]["message"], "[1]", "text, whatever the value");
}

#[test]
fn a_line_of_json_of_a_megabyte_is_cut_and_stays_an_object() {
    for text in ["x".repeat(1 << 20), "\u{1}".repeat(1 << 20)] {
        let logger = json_logger(4096);
        let value = Value::from(text.as_str());
        let fields = vec![("big".to_owned(), value.clone()); 9];
        logger.write(
            Level::Info,
            &Entry {
                fields: &fields,
                stack: Some(&text),
                id: Some(Cow::Borrowed("r1")),
                request: Some(("GET", &text)),
                ..Entry::value(&value)
            },
        );
        let lines = logger.lines();
        assert!(lines.len() <= 4096, "{}", lines.len());
        let object = &objects(&logger)[0];
        assert_eq!(object["id"], "r1");
        assert!(
            object["message"]
                .as_str()
                .is_some_and(|text| text.contains("1048576 bytes"))
        );
    }
}

#[test]
fn an_error_beside_the_message_is_told_with_its_stack() {
    let error = Value::Map(vec![
        ("error".into(), "TypeError: boom".into()),
        ("stack".into(), "at f (app.js:2:1)".into()),
    ]);
    let logger = json_logger(4096);
    logger.script(Level::Error, &"failed".into(), &error, Entry::default());
    let object = &objects(&logger)[0];
    assert_eq!(object["message"], "failed");
    assert_eq!(object["fields"]["error"], "TypeError: boom");
    assert_eq!(object["stack"], "at f (app.js:2:1)");
}

#[test]
fn what_repeats_itself_is_written_ten_times_a_second_and_counted() {
    let logger = Logger::captured(Level::Info);
    for number in 0..4_220 {
        let text = format!("no answer after {number} ms");
        let cause = Cause::message(&text);
        logger.write_limited(Level::Error, cause, &Entry::text(text));
    }
    logger.write_limited(
        Level::Error,
        Cause::place("app.lua:3"),
        &Entry::text("other"),
    );
    // The line with the count comes by itself, although nothing more happens.
    wait::until("the count", || logger.lines().contains(" more like this"));
    let lines = logger.lines();
    // A slow machine may take more than a second for the loop, and then begins again.
    let written = lines.matches("ERROR no answer after").count();
    assert!(
        (10..400).contains(&written) && written.is_multiple_of(10),
        "{written}"
    );
    assert_eq!(lines.matches("ERROR other").count(), 1);
    assert!(
        lines.contains(" more like this in the last second: no answer after "),
        "{lines}"
    );
    if written == 10 {
        assert!(
            lines.contains("ERROR ... and 4,210 more like this"),
            "{lines}"
        );
    }
}

#[test]
fn the_end_of_the_process_tells_what_was_counted() {
    let logger = Logger::captured(Level::Info);
    for _ in 0..12 {
        logger.write_limited(Level::Warn, Cause::place("app.js:1"), &Entry::text("again"));
    }
    logger.flush(Duration::from_secs(1));
    assert!(
        logger
            .lines()
            .contains("WARN ... and 2 more like this in the last second: app.js:1\n")
    );
}
