//! The source of a project's files: a folder, out of which there is no way, or memory.

use sampan_host::Sources;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The number of folders above the project that are looked through for the workspace that it is a part of.
const FOLDERS_UP_MAX: usize = 16;
/// The largest source file that is read, in bytes.
const SOURCE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The folder of the templates.
pub const TEMPLATES: &str = "templates";

/// The folder of the migrations.
pub const MIGRATIONS: &str = "migrations";

/// The greatest depth to which folders may nest whose files are listed.
const LIST_DEPTH_MAX: usize = 16;

/// The number of entries of a folder that are looked at for their names.
const NAMES_MAX: usize = 1_000;
/// Folders all of whose files capabilities read. They may be links to a folder outside of the project, so that projects
/// can share them. A test of the program compares them with what its capabilities say.
pub const SHARED: [&str; 2] = [TEMPLATES, "locales"];

/// A folder on disk.
pub(crate) struct FolderSources {
    /// Canonical: a file's canonical path must start with it.
    root: PathBuf,
    /// The folder that the project's packages may lie in: that of the workspace, or of the nearest `package.json`; the
    /// root where there is none.
    packages: PathBuf,
    /// The number of folders above the root.
    folders_up: usize,
}

impl FolderSources {
    pub(crate) fn new(root: PathBuf) -> Self {
        let packages = packages_folder(&root);
        let folders_up = root.components().count() - packages.components().count();
        Self {
            root,
            packages,
            folders_up,
        }
    }

    /// The canonical path of a file that may be read.
    fn file(&self, path: &str) -> Option<PathBuf> {
        let relative = Path::new(path);
        if path.contains('\0') {
            return None;
        }
        let ups = relative
            .components()
            .take_while(|part| matches!(part, Component::ParentDir))
            .count();
        let inside = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if ups > self.folders_up || !relative.components().skip(ups).all(inside) {
            return None;
        }
        let file = self.root.join(relative).canonicalize().ok()?;
        let is_of_package = ups > 0
            || relative
                .components()
                .any(|part| part.as_os_str() == "node_modules");
        // A symbolic link may point within the project, but not out of it. Those of a workspace point to its other
        // packages.
        let may_be_read = file.starts_with(&self.root)
            || is_of_package && file.starts_with(&self.packages)
            || self.is_shared(relative, &file);
        may_be_read.then_some(file)
    }

    /// Reports whether a file, by its canonical path, lies in a shared folder. Links in that folder may not point out
    /// of it.
    fn is_shared(&self, relative: &Path, file: &Path) -> bool {
        SHARED
            .into_iter()
            .filter(|folder| relative.starts_with(folder))
            .filter_map(|folder| self.root.join(folder).canonicalize().ok())
            .any(|folder| folder.is_dir() && file.starts_with(folder))
    }
}

impl Sources for FolderSources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        let file = self.file(path)?;
        let kind = file.metadata().ok()?;
        if !kind.is_file() || kind.len() > SOURCE_BYTES_MAX {
            return None;
        }
        std::fs::read(file).ok()
    }

    fn find(&self, path: &str) -> Option<String> {
        let file = self.file(path).filter(|file| file.is_file())?;
        let mut found = String::new();
        let mut above = self.root.as_path();
        while !file.starts_with(above) {
            // It lies in a folder that is shared by a link.
            if above == self.packages {
                return Some(path.to_owned());
            }
            found.push_str("../");
            above = above.parent()?;
        }
        found.push_str(file.strip_prefix(above).ok()?.to_str()?);
        Some(found)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let mut found = Vec::new();
        list_below(&self.root, folder, LIST_DEPTH_MAX, &mut found);
        found.sort();
        found
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        let folder = self.root.join(folder).canonicalize().ok();
        let folder = folder.filter(|folder| folder.starts_with(&self.root));
        let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok());
        let entries = entries.into_iter().flatten().take(NAMES_MAX);
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            let entry = entry.ok()?;
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let name = entry.file_name().into_string().ok()?;
            (!is_folder && !name.starts_with('.')).then_some(name)
        };
        entries.filter_map(name).collect()
    }
}

/// The files of a project, and one more.
pub(crate) struct WithEntry {
    name: String,
    text: String,
    others: Arc<dyn Sources>,
}

impl WithEntry {
    /// These files, and a file by its name and text.
    pub(crate) fn new((name, text): &(String, String), others: Arc<dyn Sources>) -> Self {
        Self {
            name: name.clone(),
            text: text.clone(),
            others,
        }
    }

    fn is_entry(&self, path: &str) -> bool {
        path.strip_prefix("./").unwrap_or(path) == self.name
    }
}

impl Sources for WithEntry {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        match self.is_entry(path) {
            true => Some(self.text.clone().into_bytes()),
            false => self.others.read(path),
        }
    }

    fn find(&self, path: &str) -> Option<String> {
        match self.is_entry(path) {
            true => Some(self.name.clone()),
            false => self.others.find(path),
        }
    }

    fn list(&self, folder: &str) -> Vec<String> {
        self.others.list(folder)
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        self.others.names_in(folder)
    }
}

/// The nearest folder above that is a workspace of npm or pnpm; without one, the nearest with a `package.json`, or the
/// root.
pub(super) fn packages_folder(root: &Path) -> PathBuf {
    let has = |folder: &&Path| folder.join("package.json").is_file();
    let nearest = root.ancestors().take(FOLDERS_UP_MAX).find(has);
    let is_workspace = |folder: &&Path| {
        let package = std::fs::read(folder.join("package.json"));
        package.is_ok_and(|text| sampan_js_modules::is_workspace(&text))
            || folder.join("pnpm-workspace.yaml").is_file()
    };
    let workspace = root.ancestors().take(FOLDERS_UP_MAX).find(is_workspace);
    workspace.or(nearest).unwrap_or(root).to_owned()
}

/// Adds the files below a folder. A link to a folder is not followed.
fn list_below(root: &Path, folder: &str, depth_left: usize, found: &mut Vec<String>) {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten();
    for entry in entries.filter_map(Result::ok) {
        let name = entry.file_name();
        let Some(name) = name.to_str().filter(|name| !name.starts_with('.')) else {
            continue;
        };
        let path = format!("{folder}/{name}");
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder {
            found.push(path);
        } else if depth_left > 0 {
            list_below(root, &path, depth_left - 1, found);
        }
    }
}

/// Files in memory, for tests and programs that carry their project with them.
pub(crate) struct MemorySources(HashMap<String, Vec<u8>>);

impl MemorySources {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(name, text)| ((*name).to_owned(), text.as_bytes().to_vec()));
        Self(files.collect())
    }
}

impl Sources for MemorySources {
    fn read(&self, path: &str) -> Option<Vec<u8>> {
        self.0.get(path.strip_prefix("./").unwrap_or(path)).cloned()
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let is_below = |path: &&String| {
            path.strip_prefix(folder)
                .is_some_and(|rest| rest.starts_with('/'))
        };
        let mut found: Vec<String> = self.0.keys().filter(is_below).cloned().collect();
        found.sort();
        found
    }

    fn names_in(&self, folder: &str) -> Vec<String> {
        let name = |path: &String| {
            let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
            (parent == folder).then(|| name.to_owned())
        };
        self.0.keys().filter_map(name).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::files::project::Project;
    use sampan_js_modules::Asked;
    use std::fs;
    use std::path::{Path, PathBuf};

    /// A fresh folder, with folders in it.
    fn scratch() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("inside/sub")).expect("folders in it");
        folder
    }

    #[test]
    fn nothing_outside_the_folder_is_read() {
        let scratch = scratch();
        fs::write(scratch.path().join("secret.lua"), "no").expect("written");
        fs::write(scratch.path().join("inside/app.lua"), "yes").expect("written");
        fs::write(scratch.path().join("inside/sub/m.lua"), "module").expect("written");
        std::os::unix::fs::symlink(
            scratch.path().join("secret.lua"),
            scratch.path().join("inside/out.lua"),
        )
        .expect("a link");
        std::os::unix::fs::symlink("sub/m.lua", scratch.path().join("inside/in.lua"))
            .expect("a link");
        let sources = Project::find(&scratch.path().join("inside"))
            .expect("a project")
            .sources();
        assert_eq!(sources.read("app.lua").as_deref(), Some(&b"yes"[..]));
        assert_eq!(sources.read("./sub/m.lua").as_deref(), Some(&b"module"[..]));
        assert_eq!(sources.read("in.lua").as_deref(), Some(&b"module"[..]));
        let absolute = scratch.path().join("secret.lua").display().to_string();
        for outside in [
            "../secret.lua",
            "sub/../../secret.lua",
            "out.lua",
            absolute.as_str(),
            "sub",
            "none.lua",
            "a\0b",
            "",
        ] {
            assert_eq!(sources.read(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn projects_share_templates_by_links() {
        let scratch = scratch();
        let (shared, inside) = (scratch.path().join("shared"), scratch.path().join("inside"));
        fs::create_dir(&shared).expect("a folder");
        fs::write(shared.join("page.html"), "page").expect("written");
        fs::write(scratch.path().join("secret.html"), "no").expect("written");
        fs::write(inside.join("app.lua"), "").expect("written");
        let link = |from: &Path, to: PathBuf| std::os::unix::fs::symlink(from, to).expect("a link");
        link(Path::new("../shared"), inside.join("templates"));
        link(Path::new("../shared"), inside.join("lib"));
        link(Path::new("../secret.html"), shared.join("out.html"));
        let sources = Project::find(&inside).expect("a project").sources();
        assert_eq!(sources.list("templates").len(), 2);
        assert_eq!(
            sources.read("templates/page.html").as_deref(),
            Some(&b"page"[..])
        );
        for outside in [
            "templates/out.html",
            "templates/../app.lua",
            "lib/page.html",
        ] {
            assert_eq!(sources.read(outside), None, "{outside:?}");
        }
    }

    #[test]
    fn packages_of_a_workspace_are_read() {
        let scratch = scratch();
        let root = scratch.path();
        let write = |path: &str, text: &str| {
            let file = root.join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("written");
        };
        write("ws/package.json", r#"{"workspaces": ["apps/*"]}"#);
        write("ws/tsconfig.json", "{}");
        write("ws/apps/api/package.json", "{}");
        write("ws/apps/api/app.ts", "");
        write("ws/node_modules/dep/index.mjs", "");
        write("ws/shared/package.json", r#"{"main": "src/index.ts"}"#);
        write(
            "ws/shared/src/index.ts",
            "import './near'; import '../../secret';",
        );
        write("ws/shared/src/near.ts", "");
        write("ws/secret.ts", "");
        write("outside/package.json", "{}");
        write("outside/index.js", "");
        let link = |from: &str, to: &str| {
            std::os::unix::fs::symlink(from, root.join("ws/node_modules").join(to))
                .expect("a link");
        };
        link("../shared", "shared");
        link("../../outside", "outside");
        let project = Project::find(&root.join("ws/apps/api")).expect("a project");
        let modules = project.modules();
        modules.begin().expect("begun");
        let resolve = |from: &str, name: &str| modules.resolve(from, name, Asked::Import);
        let dep = "../../node_modules/dep/index.mjs";
        assert_eq!(resolve("app.ts", "dep").as_deref(), Ok(dep));
        let shared = "../../shared/src/index.ts";
        assert_eq!(resolve("app.ts", "shared").as_deref(), Ok(shared));
        assert!(modules.load(shared).is_ok());
        let near = "../../shared/src/near.ts";
        assert_eq!(resolve(shared, "./near").as_deref(), Ok(near));
        let fault = resolve(shared, "../../secret").expect_err("no way out");
        assert!(fault.contains("outside its package"), "{fault}");
        let fault = resolve("app.ts", "../../secret").expect_err("no way out");
        assert!(fault.contains("outside the project"), "{fault}");
        assert!(resolve("app.ts", "outside").is_err());
        assert_eq!(project.sources().read("../../../outside/index.js"), None);
    }
}
