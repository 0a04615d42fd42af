//! The methods that requests get.

use crate::{cookie, webhooks};
use sampan_host::{Function, FunctionKind, Param, Type, param, row};

/// The methods.
pub(crate) static METHODS: &[Function] = &[
    row!("set_cookie"(
            NAME,
            param!("value": Type::Text,
                "ASCII without spaces, quotes, commas, semicolons and backslashes; of an encrypted cookie any text."),
            param!("options"? Type::Map,
                "`max_age`: how many seconds it lasts; until the browser ends unless given. `path`, `/` unless given. \
                 `domain`. `same_site`: `\"lax\"` (default), `\"strict\"` or `\"none\"`. `http_only`, true unless \
                 given. `secure`, true over TLS unless given. `partitioned`. `signed = true`: `req:signed_cookie` \
                 gives it back. `encrypted = true`: `req:encrypted_cookie` does."),
        ) -> Type::Nothing, FunctionKind::Sync(cookie::set_cookie),
        "The answer sets a cookie, for every result of the handler. Name and value have at most 4096 bytes. What \
         browsers would ignore is an error."),
    row!("delete_cookie"(
            NAME,
            param!("options"? Type::Map,
                "As when it was set: `path`, `domain`, `same_site`, `secure` and `partitioned`."),
        ) -> Type::Nothing, FunctionKind::Sync(cookie::delete_cookie),
        "The answer deletes a cookie of the browser."),
    row!("signed_cookie"(NAME) -> Type::TextOrNothing, FunctionKind::Sync(cookie::signed_cookie),
        "The value of a cookie that was set with `signed`. Nothing if there is none, if it was changed, or if its \
         `max_age` has passed."),
    row!("encrypted_cookie"(NAME) -> Type::TextOrNothing, FunctionKind::Sync(cookie::encrypted_cookie),
        "The same for a cookie that was set with `encrypted`."),
    row!("verify_webhook"(WEBHOOK_SCHEME, WEBHOOK_SECRETS, WEBHOOK_OPTIONS) -> Type::Nothing,
        FunctionKind::Sync(webhooks::verify_request),
        "Checks that another service signed this request, over its body as it was sent. For one that does not count it \
         is an error that answers 401, with a `code`: `webhook_header`, `webhook_timestamp`, `webhook_signature`."),
];

const NAME: Param = param!("name": Type::Text, "The name of the cookie.");

/// The parameter for the form of a webhook's signature.
pub(crate) const WEBHOOK_SCHEME: Param = param!("scheme": Type::Text,
    "`\"stripe\"`, `\"github\"`, or `\"standard\"` for Standard Webhooks, which many services use.");

/// The parameter for the secrets of a webhook.
pub(crate) const WEBHOOK_SECRETS: Param = param!("secrets": Type::Any,
    "The secret of the webhook, or a list of secrets while they are replaced. For `\"standard\"` a secret (`whsec_`) \
     or a public key (`whpk_`).");

/// The parameter for the options of a check of a webhook.
pub(crate) const WEBHOOK_OPTIONS: Param = param!("options"? Type::Map,
    "`tolerance`: by how many seconds the time of the webhook may differ, before or after; 300 unless given. GitHub's \
     webhooks have no time.");
