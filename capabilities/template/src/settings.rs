//! `[template]`.

use minijinja::UndefinedBehavior;
use sampan_host::settings::{Section, SettingKey, Settings};

/// `[template]`.
#[rustfmt::skip]
pub static SECTION: Section = Section {
    name: "template",
    doc: "Templates.",
    keys: &[
        SettingKey::choice("undefined", &["semi_strict", "strict", "lenient", "chainable"],
            "the treatment of values that are not there"),
    ],
};

/// Reads `template.undefined`.
pub fn undefined(settings: &Settings) -> UndefinedBehavior {
    match settings.text("undefined") {
        "strict" => UndefinedBehavior::Strict,
        "lenient" => UndefinedBehavior::Lenient,
        "chainable" => UndefinedBehavior::Chainable,
        _ => UndefinedBehavior::SemiStrict,
    }
}
