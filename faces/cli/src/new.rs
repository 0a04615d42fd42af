//! `sampan new`: a small complete project to begin with. Its files lie in `faces/cli/templates`.

use crate::terminal::print::say;
use clap::ValueEnum;
use sampan_testkit::codegen;
use std::path::{Path, PathBuf, absolute};
use std::{fs, io};

/// The arguments of `sampan new`.
#[derive(clap::Args)]
pub(crate) struct NewArgs {
    /// The folder to make. Its last part is the name of the project.
    #[arg(value_name = "NAME")]
    path: PathBuf,
    /// The language of the project [default: lua; ts with --template hono].
    #[arg(long, value_name = "LANGUAGE", value_enum)]
    lang: Option<ProjectLanguage>,
    /// The kind of project
    #[arg(long, value_name = "KIND", value_enum, default_value = "web")]
    template: ProjectKind,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProjectLanguage {
    /// Lua.
    Lua,
    /// JavaScript.
    Js,
    /// TypeScript.
    Ts,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ProjectKind {
    /// Pages, with templates and a form.
    Web,
    /// JSON for programs.
    Api,
    /// A page that shows messages as they come, by a WebSocket.
    Chat,
    /// Pages and JSON with Hono, from npm.
    Hono,
}

/// A file of a project, and its text.
type ProjectFile<'a> = (&'static str, &'a str);

macro_rules! template {
    ($name:literal) => {
        include_str!(concat!("../templates/", $name))
    };
}

const COMMON: [ProjectFile<'static>; 4] = [
    ("sampan.toml", template!("common/sampan.toml")),
    (".gitignore", template!("common/gitignore")),
    ("README.md", template!("common/README.md")),
    ("deploy.md", template!("common/deploy.md")),
];
const PAGES: [ProjectFile<'static>; 2] = [
    ("templates/index.html", template!("web/index.html")),
    ("public/app.css", template!("web/app.css")),
];
const CHAT_PAGES: [ProjectFile<'static>; 3] = [
    ("templates/index.html", template!("chat/index.html")),
    ("public/app.css", template!("web/app.css")),
    ("public/chat.js", template!("chat/chat.js")),
];
const NOTES_SCHEMA: ProjectFile<'static> = (
    "migrations/0001_notes.sql",
    template!("common/0001_notes.sql"),
);
const CHAT_SCHEMA: ProjectFile<'static> = (
    "migrations/0001_messages.sql",
    template!("chat/0001_messages.sql"),
);
const LUA_EDITORS: [ProjectFile<'static>; 2] = [
    (".luarc.json", template!("common/luarc.json")),
    (
        ".vscode/extensions.json",
        template!("common/extensions.json"),
    ),
];
const JS_EDITORS: [ProjectFile<'static>; 1] =
    [("tsconfig.json", template!("common/tsconfig.json"))];
const PACKAGE: ProjectFile<'static> = ("package.json", template!("common/package.json"));

/// The newest that the projects were tried with.
const HONO: &str = r#""hono": "^4.13.19""#;
const TYPESCRIPT: &str = r#""typescript": "^5.9.3""#;

/// The file that is run, and its tests. Nothing where there is no such template in the language.
fn scripts(language: ProjectLanguage, kind: ProjectKind) -> Option<[ProjectFile<'static>; 2]> {
    use {ProjectKind as Kind, ProjectLanguage as Language};
    let (app_name, app) = match (language, kind) {
        (Language::Lua, Kind::Web) => ("app.lua", template!("web/app.lua")),
        (Language::Js, Kind::Web) => ("app.js", template!("web/app.js")),
        (Language::Ts, Kind::Web) => ("app.ts", template!("web/app.ts")),
        (Language::Lua, Kind::Api) => ("app.lua", template!("api/app.lua")),
        (Language::Js, Kind::Api) => ("app.js", template!("api/app.js")),
        (Language::Ts, Kind::Api) => ("app.ts", template!("api/app.ts")),
        (Language::Lua, Kind::Chat) => ("app.lua", template!("chat/app.lua")),
        (Language::Js, Kind::Chat) => ("app.js", template!("chat/app.js")),
        (Language::Ts, Kind::Chat) => ("app.ts", template!("chat/app.ts")),
        (Language::Lua, Kind::Hono) => return None,
        (Language::Js, Kind::Hono) => ("app.jsx", template!("hono/app.jsx")),
        (Language::Ts, Kind::Hono) => ("app.tsx", template!("hono/app.tsx")),
    };
    let test_name = match language {
        Language::Lua => "tests/app.test.lua",
        Language::Js => "tests/app.test.js",
        Language::Ts => "tests/app.test.ts",
    };
    // The tests have no types, so JavaScript and TypeScript share their text.
    let test = match (language, kind) {
        (Language::Lua, Kind::Web) => template!("web/app.test.lua"),
        (Language::Lua, Kind::Api) => template!("api/app.test.lua"),
        (Language::Lua, Kind::Chat) => template!("chat/app.test.lua"),
        (_, Kind::Web) => template!("web/app.test.js"),
        (_, Kind::Api) => template!("api/app.test.js"),
        (_, Kind::Chat) => template!("chat/app.test.js"),
        (_, Kind::Hono) => template!("hono/app.test.js"),
    };
    Some([(app_name, app), (test_name, test)])
}

pub(crate) fn run(args: &NewArgs) -> Result<(), String> {
    let kind = args.template;
    let language = args.lang.unwrap_or(match kind {
        ProjectKind::Hono => ProjectLanguage::Ts,
        _ => ProjectLanguage::Lua,
    });
    let Some([app, test]) = scripts(language, kind) else {
        return Err("Hono is written in JavaScript: use --lang ts or --lang js with it".to_owned());
    };
    let name = name_of(&args.path)?;
    check_empty(&args.path)?;
    let mut files = COMMON.to_vec();
    files.extend([app, test]);
    match kind {
        ProjectKind::Web => files.extend(PAGES),
        ProjectKind::Chat => files.extend(CHAT_PAGES),
        ProjectKind::Api | ProjectKind::Hono => {}
    }
    files.push(match kind {
        ProjectKind::Chat => CHAT_SCHEMA,
        _ => NOTES_SCHEMA,
    });
    match language {
        ProjectLanguage::Lua => files.extend(LUA_EDITORS),
        _ => files.extend(JS_EDITORS),
    }
    // Made here: the tables that they are made of are in the executable anyway.
    let types = match language {
        ProjectLanguage::Lua => ("types/sampan.lua", codegen::lua_declarations()),
        _ => ("types/sampan.d.ts", codegen::typescript_declarations()),
    };
    files.push((types.0, &types.1));
    let has_packages = language == ProjectLanguage::Ts || kind == ProjectKind::Hono;
    if has_packages {
        files.push(PACKAGE);
    }
    let words = words(&name, app.0, language, kind);
    for (file, text) in files {
        let text = words
            .iter()
            .fold(text.to_owned(), |text, (word, by)| text.replace(word, by));
        let path = args.path.join(file);
        let parent = path.parent().unwrap_or(&args.path);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    say(format_args!("{name} is made. What comes next:\n"))?;
    let shown = args.path.display().to_string();
    if shown != "." {
        say(format_args!("  cd {}", quoted(&shown)))?;
    }
    if kind == ProjectKind::Hono {
        say("  npm install")?;
    }
    say("  sampan test\n  sampan dev")
}

/// Returns the values for the words in braces of the templates.
fn words(
    name: &str,
    entry: &str,
    language: ProjectLanguage,
    kind: ProjectKind,
) -> [(&'static str, String); 7] {
    let is_hono = kind == ProjectKind::Hono;
    let has_pages = matches!(kind, ProjectKind::Web | ProjectKind::Chat);
    let mut compiler = String::new();
    if language == ProjectLanguage::Js {
        compiler += ",\n    \"allowJs\": true,\n    \"checkJs\": true";
    }
    if is_hono {
        compiler += ",\n    \"jsx\": \"react-jsx\",\n    \"jsxImportSource\": \"hono/jsx\"";
    }
    let mut packages = Vec::new();
    if is_hono {
        packages.push(format!("  \"dependencies\": {{ {HONO} }}"));
    }
    if language == ProjectLanguage::Ts {
        packages.push(format!("  \"devDependencies\": {{ {TYPESCRIPT} }}"));
    }
    let editor_file = match language {
        ProjectLanguage::Lua => ".luarc.json",
        _ => "tsconfig.json",
    };
    let pages = "| `templates/`, `public/` | the pages, and files as they are |\n";
    let install = match (is_hono, language) {
        (true, _) => "npm install                      # fetches Hono\n",
        (false, ProjectLanguage::Ts) => {
            "npm install                      # once, for npm run check, which checks the types\n"
        }
        (false, _) => "",
    };
    let only = |condition: bool, text: &str| if condition { text } else { "" }.to_owned();
    [
        ("{{name}}", name.to_owned()),
        ("{{entry}}", entry.to_owned()),
        ("{{editor_file}}", editor_file.to_owned()),
        ("{{template_row}}", only(has_pages, pages)),
        ("{{install_line}}", install.to_owned()),
        ("{{compiler_options}}", compiler),
        ("{{packages}}", packages.join(",\n")),
    ]
}

/// The name of the project: letters and digits, as units of systemd and hosts have it.
fn name_of(folder: &Path) -> Result<String, String> {
    let whole = absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let name = whole.file_name().and_then(|name| name.to_str());
    let letters = |one: char| one.is_ascii_alphanumeric() || matches!(one, '-' | '_');
    let name = name.filter(|name| name.chars().all(letters) && !name.starts_with('-'));
    name.map(str::to_owned).ok_or_else(|| {
        format!(
            "{} is no name for a project: write letters, digits, - and _, as in my-app",
            folder.display()
        )
    })
}

/// Refuses a folder that has anything in it but an empty repository's `.git`.
fn check_empty(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let is_something = |entry: io::Result<fs::DirEntry>| {
        let name = entry.map(|entry| entry.file_name());
        name.is_ok_and(|name| name != ".git")
    };
    match fs::read_dir(folder).map(|mut entries| entries.any(is_something)) {
        Ok(false) => Ok(()),
        Ok(true) => Err(format!("{shown} is not empty: name another folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            let what = if folder.exists() { "is" } else { "is below" };
            Err(format!("{shown} {what} a file: name another folder"))
        }
        Err(error) => Err(format!("cannot open {shown}: {error}")),
    }
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_./~+=:@%".contains(one);
    match path.chars().all(is_plain) {
        true => path.to_owned(),
        false => format!("'{}'", path.replace('\'', "'\\''")),
    }
}
