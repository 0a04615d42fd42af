//! Which file of the project an import names.

use super::*;

#[test]
fn names_are_resolved_within_the_project() {
    assert_eq!(
        resolve("app.js", "./routes/users.js").as_deref(),
        Ok("routes/users.js")
    );
    assert_eq!(
        resolve("routes/users.js", "../db.js").as_deref(),
        Ok("db.js")
    );
    assert_eq!(
        resolve("routes/users.js", "/lib/x.js").as_deref(),
        Ok("lib/x.js")
    );
    assert_eq!(resolve("app.js", "sampan").as_deref(), Ok("sampan"));
    assert!(resolve("app.js", "../secret.js").is_err());
    assert!(resolve("app.js", "express").is_err());
}
