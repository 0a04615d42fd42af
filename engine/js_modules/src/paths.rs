//! Paths of modules: relative to the project's folder, with `/`. Those of packages in a parent folder begin with `../`.

/// The folder of a file, or of a folder. That of the project's folder is `..`, and that of `..` is `../..`.
pub(crate) fn parent(path: &str) -> String {
    join(path, "..")
}

/// Resolves `name` in `folder`, without `.` and `..` but for those at the front.
pub(crate) fn join(folder: &str, name: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(name.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Reports whether a path lies outside of the project's folder.
pub(crate) fn is_outside(path: &str) -> bool {
    path == ".." || path.starts_with("../")
}

/// Reports whether a file belongs to a package, and not to the project itself.
pub(crate) fn is_of_package(path: &str) -> bool {
    is_outside(path) || path.split('/').any(|part| part == "node_modules")
}

/// Returns the text after the last dot of a file's name.
pub(crate) fn extension(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// The name of the package in whose folder a file lies.
pub(crate) fn package_of(path: &str) -> Option<String> {
    let (_, inside) = path.rsplit_once("node_modules/")?;
    split_package(inside).map(|(name, _)| name.to_owned())
}

/// The folder of the package in which a file lies: what stands behind the last `node_modules` of its path.
pub(crate) fn package_root(path: &str) -> Option<&str> {
    let (_, inside) = path.rsplit_once("node_modules/")?;
    let (name, _) = split_package(inside)?;
    Some(&path[..path.len() - inside.len() + name.len()])
}

/// `@scope/name/sub/path` as the package's name and what is asked of it, without the slash between.
pub(crate) fn split_package(name: &str) -> Option<(&str, &str)> {
    let slashes = if name.starts_with('@') { 2 } else { 1 };
    let end = name.match_indices('/').nth(slashes - 1).map(|(at, _)| at);
    let (package, rest) = match end {
        Some(at) => (&name[..at], &name[at + 1..]),
        None if slashes == 2 && !name.contains('/') => return None,
        None => (name, ""),
    };
    let is_name =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.contains(['\\', '%', ':']);
    let is_good = package.trim_start_matches('@').split('/').all(is_name);
    is_good.then_some((package, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined() {
        for (folder, name, whole) in [
            ("", "./a.js", "a.js"),
            ("a/b", "../c.js", "a/c.js"),
            ("a", "../../c.js", "../c.js"),
            ("../x", "../../y", "../../y"),
            ("", "..", ".."),
        ] {
            assert_eq!(join(folder, name), whole, "{name} in {folder:?}");
        }
        assert_eq!(parent("a/b.js"), "a");
        assert_eq!(parent(""), "..");
        assert_eq!(parent(".."), "../..");
    }

    #[test]
    fn names_of_packages_are_split() {
        assert_eq!(split_package("hono"), Some(("hono", "")));
        assert_eq!(split_package("hono/jsx/x"), Some(("hono", "jsx/x")));
        assert_eq!(split_package("@a/b/c"), Some(("@a/b", "c")));
        assert_eq!(split_package("@a"), None);
        assert_eq!(split_package(".hidden"), None);
        assert_eq!(
            package_of("node_modules/a/node_modules/@b/c/d.js").as_deref(),
            Some("@b/c")
        );
        assert_eq!(package_of("lib/d.js"), None);
    }
}
