//! URL parsing, setters and the urlencoded format (WHATWG URL) by the `url` crate.

use rquickjs::{Array, Ctx, Function, Object, Result};
use url::{Position, Url, form_urlencoded, quirks};

/// Adds `parse`, `requestUrl`, `set`, `origin`, `parseQuery` and `serialiseQuery`.
pub(super) fn register(table: &Object<'_>) -> Result<()> {
    let ctx = table.ctx();
    table.set("parse", Function::new(ctx.clone(), parse)?)?;
    table.set("requestUrl", Function::new(ctx.clone(), request_url)?)?;
    table.set("set", Function::new(ctx.clone(), set)?)?;
    table.set("origin", Function::new(ctx.clone(), origin)?)?;
    table.set("parseQuery", Function::new(ctx.clone(), parse_query)?)?;
    table.set(
        "serialiseQuery",
        Function::new(ctx.clone(), serialise_query)?,
    )
}

/// `[href, offsets...]` in the order that url.js names, or nothing where the input is not a URL.
fn parse<'js>(ctx: Ctx<'js>, input: String, base: Option<String>) -> Result<Option<Array<'js>>> {
    let base = match base.as_deref().map(Url::parse) {
        None => None,
        Some(Ok(base)) => Some(base),
        Some(Err(_)) => return Ok(None),
    };
    match Url::options().base_url(base.as_ref()).parse(&input) {
        Ok(url) => parts(&ctx, &url).map(Some),
        Err(_) => Ok(None),
    }
}

/// The serialised form of an absolute URL without credentials, which a Request may not have.
fn request_url(input: String) -> Option<String> {
    let url = Url::parse(&input).ok()?;
    let is_plain = url.username().is_empty() && url.password().is_none();
    is_plain.then(|| url.into())
}

/// The parts of `href` after one of the setters, or nothing where it refused the value.
fn set<'js>(
    ctx: Ctx<'js>,
    href: String,
    part: String,
    value: String,
) -> Result<Option<Array<'js>>> {
    let Ok(mut url) = Url::parse(&href) else {
        return Ok(None);
    };
    let accepted = match part.as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => Err(()),
    };
    accepted.ok().map(|()| parts(&ctx, &url)).transpose()
}

/// A serialised URL is ASCII, so its byte offsets are the offsets of a JavaScript string.
fn parts<'js>(ctx: &Ctx<'js>, url: &Url) -> Result<Array<'js>> {
    let offset = |position: Position| url[..position].len();
    // Not by `Position`: where a user name has no password, `BeforePassword` fails an assertion of the crate.
    let username_end = offset(Position::AfterUsername);
    let password = url
        .password()
        .map_or(username_end..username_end, |password| {
            username_end + 1..username_end + 1 + password.len()
        });
    let offsets = [
        url.scheme().len() + 1,
        username_end,
        password.start,
        password.end,
        offset(Position::BeforeHost),
        offset(Position::AfterHost),
        offset(Position::BeforePort),
        offset(Position::AfterPort),
        offset(Position::BeforePath),
        offset(Position::AfterPath),
        offset(Position::AfterQuery),
        offset(Position::BeforeUsername),
    ];
    let array = Array::new(ctx.clone())?;
    array.set(0, url.as_str())?;
    for (index, offset) in offsets.into_iter().enumerate() {
        array.set(index + 1, offset)?;
    }
    Ok(array)
}

/// The origin of a serialised URL; `"null"` where it is opaque.
fn origin(href: String) -> Option<String> {
    Url::parse(&href).ok().map(|url| quirks::origin(&url))
}

/// `[name, value, ...]` of an `application/x-www-form-urlencoded` text.
fn parse_query(text: String) -> Vec<String> {
    form_urlencoded::parse(text.as_bytes())
        .flat_map(|(name, value)| [name.into_owned(), value.into_owned()])
        .collect()
}

/// The reverse of [`parse_query`].
fn serialise_query(pairs: Vec<String>) -> String {
    let mut serializer = form_urlencoded::Serializer::new(String::new());
    for pair in pairs.chunks_exact(2) {
        serializer.append_pair(&pair[0], &pair[1]);
    }
    serializer.finish()
}
