//! The capabilities of the program.

use crate::app_config::limits;
use crate::hooks;
use sampan_host::Module;
use sampan_host::settings::Section;
use sampan_project::config;

/// The capabilities that scripts get.
pub static MODULES: &[&Module] = &[
    &hooks::MODULE,
    &sampan_serve::routing::names::MODULE,
    &sampan_template::ANSWERS,
    &sampan_middleware::MODULE,
    &sampan_validate::MODULE,
    &sampan_serve::files::MODULE,
    &sampan_time::MODULE,
    &sampan_log::MODULE,
    &sampan_env::MODULE,
    &sampan_json::MODULE,
    &sampan_csv::MODULE,
    &sampan_regex::MODULE,
    &sampan_paginate::MODULE,
    &sampan_codec::MODULE,
    &sampan_crypto::MODULE,
    &sampan_password::MODULE,
    &sampan_db::MODULE,
    &sampan_session::MODULE,
    &sampan_template::MODULE,
    &sampan_files::MODULE,
    &sampan_i18n::MODULE,
];

/// The sections of the configuration.
pub static SECTIONS: &[&Section] = &[
    &config::SERVER,
    &limits::SECTION,
    &config::SCRIPTS,
    &sampan_log::SECTION,
    &sampan_db::SECTION,
    &sampan_template::SECTION,
    &sampan_crypto::SECTION,
    &sampan_files::SECTION,
    &sampan_files::FORMS,
    &sampan_middleware::SECTION,
    &sampan_session::SECTION,
    &sampan_serve::files::SECTION,
    &sampan_i18n::SECTION,
    &sampan_serve::COMPRESSION,
    &config::DEV,
];
