//! The versions of the parts of the executable that are written in C.

/// Returns the versions of the script engines and of SQLite: `LuaJIT 2.1.1774896198, QuickJS-ng 0.11.0, SQLite 3.51.1`.
pub fn engine_versions() -> String {
    let (lua, js) = (sampan_lua::version(), sampan_js::version());
    let sqlite = sampan_db::sqlite_version();
    format!("{lua}, QuickJS-ng {js}, SQLite {sqlite}")
}
