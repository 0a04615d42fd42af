//! Tests of the targets.

use super::*;
use crate::measure::tests::series;

fn row<'a>(found: &'a [Figure], what: &str) -> (&'a str, Option<bool>) {
    let one = found.iter().find(|one| one.what == what);
    let one = one.unwrap_or_else(|| panic!("no row {what} in {found:?}"));
    (&one.value, one.reached)
}

#[test]
fn rows_without_figures_are_not_reached() {
    let version = |headers| LoadCase::plain(Route::Version, headers, 1);
    let measured = [
        series(SAMPAN_LUA, version(Headers::Plain), &[6.0, 6.0, 90.0]),
        series("nginx", version(Headers::Plain), &[1.0, 8.0, 120.0]),
        series(SAMPAN_LUA, version(Headers::Browser), &[7.2]),
    ];
    let found = judge(HELLO, &measured, 1);
    let of = |what| row(&found, what);
    assert_eq!(
        of("Sampan, Lua: GET /version, against nginx"),
        ("0.75", Some(true))
    );
    assert_eq!(
        of("Sampan, Lua: GET /version, against Bun.serve"),
        ("not measured", None)
    );
    let browser = "Sampan, Lua: GET /version, with a browser's headers, against without";
    assert_eq!(of(browser), ("1.20", Some(false)));
    assert_eq!(found.len(), HELLO.len() + 1);
}

#[test]
fn templates_are_compared_with_eta() {
    let full = LoadCase::plain(Route::Full, Headers::Plain, 1);
    let measured = [
        series(SAMPAN_LUA, full, &[8.0]),
        series(SAMPAN_JS, full, &[9.0]),
        series(BUN_ETA, full, &[10.0]),
    ];
    let found = judge(TEMPLATE, &measured, 1);
    let of = |what| row(&found, what);
    assert_eq!(
        of("Sampan, Lua: GET /full, against Bun + Eta"),
        ("0.80", Some(false))
    );
    assert_eq!(
        of("Sampan, JavaScript: GET /full, against Bun + Eta"),
        ("0.90", Some(false))
    );
    assert_eq!(found.len(), TEMPLATE.len());
}

#[test]
fn costs_must_be_low_and_rates_high() {
    let write = |durability, connections| LoadCase {
        durability: Some(durability),
        connections,
        ..LoadCase::plain(Route::Write, Headers::Plain, 1)
    };
    let measured = [
        series(SAMPAN_LUA, write(Normal, 64), &[10.0]),
        series(BUN_DB, write(Normal, 64), &[40.0]),
        series(SAMPAN_JS, write(Full, 64), &[11.0]),
        series(BUN_DB, write(Full, 64), &[100.0]),
    ];
    let found = judge(DB, &measured, 1);
    let lua = "Sampan, Lua: POST /write, normal, 1 worker";
    let js = "Sampan, JavaScript: POST /write, full, 1 worker";
    assert_eq!(
        row(&found, &format!("{lua}, against Bun + bun:sqlite")),
        ("0.25", Some(true))
    );
    let rate = format!("{js}, requests/s, against Bun + bun:sqlite, full");
    assert_eq!(
        row(&found, &rate),
        ("1.00", Some(false)),
        "as fast is not twelve times as fast"
    );
    let alone = format!("{lua}, one connection, against Bun + bun:sqlite");
    assert_eq!(row(&found, &alone), ("not measured", None));
    assert_eq!(found.len(), DB.len());
}
