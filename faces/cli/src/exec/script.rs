//! The script to run: found on the disk, or in the archive of a program that carries its project.

use sampan_project::{Language, Project};
use std::io::ErrorKind;
use std::path::Path;

/// A script with the place that it has in its project.
pub(super) struct Script {
    /// The path in the project, from which it imports other files.
    pub(super) name: String,
    pub(super) text: String,
}

impl Script {
    /// Reads the script at `file`: a path on the disk or, where there is no such file and the project is in an archive,
    /// in that. A script outside of the project's folder is run as if it lay in it, at the top.
    ///
    /// # Errors
    /// One line that says why it cannot be run.
    pub(super) fn find(file: &str, project: &Project) -> Result<Self, String> {
        let Some(language) = Language::of(file) else {
            return Err(format!(
                "{file} is neither Lua nor JavaScript: its name must end in .lua, .js, .mjs, .jsx, .ts, .mts or .tsx"
            ));
        };
        if let Some(own) = project.language().filter(|own| *own != language) {
            let (own, endings) = match own {
                Language::Lua => ("Lua", ".lua"),
                Language::Js => ("JavaScript", ".js, .mjs, .jsx, .ts, .mts or .tsx"),
            };
            return Err(format!(
                "{file}: the project is in {own} ({}), so the name of its script must end in {endings}",
                project.entry()
            ));
        }
        let script = match Path::new(file).canonicalize() {
            Ok(whole) => Self::on_disk(file, &whole, project)?,
            Err(error) if error.kind() == ErrorKind::NotFound => Self::packed(file, project)?,
            Err(error) => return Err(format!("cannot open {file}: {error}")),
        };
        if script.name == project.entry() {
            return Err(format!(
                "{file} is the project itself, which is loaded first: name another file"
            ));
        }
        Ok(script)
    }

    fn on_disk(file: &str, whole: &Path, project: &Project) -> Result<Self, String> {
        if !whole.is_file() {
            return Err(format!("{file} is not a regular file"));
        }
        let bytes = std::fs::read(whole).map_err(|error| format!("cannot read {file}: {error}"))?;
        let inside = whole.strip_prefix(project.root()).ok();
        let name = inside.or(whole.file_name().map(Path::new));
        let name = name.and_then(Path::to_str);
        let name = name.ok_or_else(|| format!("{file}: its name is not UTF-8"))?;
        // Files of the project that import one of that name would get the script.
        let sources = project.sources();
        if sources.read(name).is_some_and(|other| other != bytes) {
            return Err(format!(
                "{file}: the project has another file {name}: give the script another name"
            ));
        }
        Self::of(file, name, bytes)
    }

    fn packed(file: &str, project: &Project) -> Result<Self, String> {
        let name = file.trim_start_matches("./");
        let bytes = match project.archive() {
            Some(_) => project.sources().read(name),
            None => None,
        };
        let bytes = bytes.ok_or_else(|| missing(file, project))?;
        Self::of(file, name, bytes)
    }

    fn of(file: &str, name: &str, bytes: Vec<u8>) -> Result<Self, String> {
        let text = String::from_utf8(bytes).map_err(|_| format!("{file} is not UTF-8"))?;
        Ok(Self {
            name: name.to_owned(),
            text,
        })
    }
}

/// Says that there is no such script, and where it was looked for.
fn missing(file: &str, project: &Project) -> String {
    let here = std::env::current_dir().map(|folder| folder.display().to_string());
    let place = match here {
        Ok(here) if Path::new(file).is_relative() => format!(" in {here}"),
        _ => String::new(),
    };
    let inside = project.root().join(file);
    match project.archive() {
        Some(_) => {
            format!("{file} does not exist{place}, nor in this program: name the script to run")
        }
        None if inside.is_file() => format!(
            "{file} does not exist{place}: for the one of the project write {}",
            inside.display()
        ),
        None => format!("{file} does not exist{place}: name the script to run"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_script_has_its_place_in_the_project() {
        let scratch = tempfile::tempdir().expect("a folder");
        let at = |path: &str| scratch.path().join(path).display().to_string();
        fs::create_dir_all(at("shop/scripts")).expect("folders");
        for (path, text) in [
            ("shop/app.lua", ""),
            ("shop/users.lua", "the module"),
            ("shop/scripts/one.lua", "one"),
            ("users.lua", "the script"),
            ("two.lua", "two"),
            ("three.js", ""),
            ("notes.txt", ""),
        ] {
            fs::write(at(path), text).expect("written");
        }
        let project = Project::find(Path::new(&at("shop"))).expect("a project");
        let found = |path: &str| Script::find(&at(path), &project);
        for (path, name) in [
            ("shop/scripts/one.lua", "scripts/one.lua"),
            ("two.lua", "two.lua"),
        ] {
            let script = found(path).unwrap_or_else(|fault| panic!("{path}: {fault}"));
            assert_eq!(script.name, name);
            assert!(name.contains(&script.text), "{}", script.text);
        }
        for (path, expected) in [
            ("users.lua", "the project has another file users.lua"),
            ("shop/app.lua", "is the project itself"),
            ("three.js", "the project is in Lua (app.lua)"),
            ("notes.txt", "is neither Lua nor JavaScript"),
            ("none.lua", "does not exist"),
            ("shop.lua", "does not exist"),
        ] {
            let fault = found(path).err().unwrap_or_default();
            assert!(fault.contains(expected), "{path}: {fault}");
        }
    }
}
