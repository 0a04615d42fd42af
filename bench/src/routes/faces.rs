//! The routes measured for the libraries: routes that people write with Gust, and what go-lua-benchmark says.

use serde_json::json;

use super::{ExpectedAnswer, Route, RouteExchange, get};

/// The routes that are asked in turn.
pub(super) const FIVE: &[Route] = &[
    Route::Version,
    Route::Health,
    Route::Greet,
    Route::User,
    Route::Echo,
];

/// The text that the script returns: 15 bytes.
pub(super) const FROM_LUA: &str = "hello from lua\n";

/// The text that the handler in Go returns, of the same length.
pub(super) const FROM_GO: &str = "hello, native!\n";

/// A parameter, sent back in JSON.
pub(super) fn user(path: &str, id: &str) -> RouteExchange {
    get(
        &format!("/user/{path}"),
        ExpectedAnswer::Json(json!({ "id": id })),
    )
}

/// A short text.
pub(super) fn hello(path: &str, text: &str) -> RouteExchange {
    let expected = ExpectedAnswer::Text {
        body: text.to_owned(),
        fields: Vec::new(),
    };
    get(path, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_texts_have_fifteen_bytes() {
        assert_eq!((FROM_LUA.len(), FROM_GO.len()), (15, 15));
    }

    #[test]
    fn several_routes_are_checked_one_by_one() {
        let paths: Vec<String> = Route::Five
            .several()
            .into_iter()
            .map(|one| one.path)
            .collect();
        assert_eq!(
            paths,
            ["/version", "/health", "/greet/world", "/user/42", "/echo"]
        );
        let refusals = Route::Five.checked().into_iter();
        let refusals = refusals.filter(|one| matches!(one.expected, ExpectedAnswer::Refusal));
        assert_eq!(refusals.count(), 1, "the echo must parse");
    }
}
