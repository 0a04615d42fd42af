//! `tsconfig.json`: how its project wants JSX and classes, and what its short names of imports mean.

use crate::paths::{join, parent};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::collections::BTreeMap;

/// The most files that may extend each other.
const EXTENDS_MAX: usize = 16;

/// The settings of a project's `tsconfig.json`, and those that it extends, say about running it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TsConfig {
    /// The folder that `paths` are relative to, and names that are neither relative nor packages.
    pub(crate) base_url: Option<String>,
    /// The patterns of `paths`, each with its places relative to the project's folder.
    pub(crate) paths: Vec<(String, Vec<String>)>,
    pub(crate) settings: TransformSettings,
}

/// The settings by which a file is transformed.
#[derive(Clone, Debug, Default, Hash, PartialEq, Eq)]
pub(crate) struct TransformSettings {
    /// `jsx`: `react` is the classic way, anything else imports the functions by itself.
    pub(crate) jsx: Option<String>,
    pub(crate) jsx_factory: Option<String>,
    pub(crate) jsx_fragment_factory: Option<String>,
    pub(crate) jsx_import_source: Option<String>,
    pub(crate) experimental_decorators: bool,
    pub(crate) emit_decorator_metadata: bool,
    /// `false` where it says so: fields are assigned, not defined.
    pub(crate) assigns_fields: bool,
    /// Imports stay unless they are marked as types.
    pub(crate) verbatim_module_syntax: bool,
}

/// The file as it is written.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    extends: Option<OneOrMore>,
    #[serde(rename = "compilerOptions")]
    options: CompilerOptions,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
    Other(IgnoredAny),
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct CompilerOptions {
    base_url: Option<String>,
    paths: Option<BTreeMap<String, Vec<String>>>,
    jsx: Option<String>,
    jsx_factory: Option<String>,
    jsx_fragment_factory: Option<String>,
    jsx_import_source: Option<String>,
    experimental_decorators: Option<bool>,
    emit_decorator_metadata: Option<bool>,
    use_define_for_class_fields: Option<bool>,
    verbatim_module_syntax: Option<bool>,
}

impl TsConfig {
    /// Reads the file at `path` and what it extends. `read` gives the text of a file, `find` the file that a name means
    /// which is extended by the file that is named first.
    ///
    /// # Errors
    /// The fault, with the file and its line.
    pub(crate) fn read(
        path: &str,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
        find: &dyn Fn(&str, &str) -> Option<String>,
    ) -> Result<Self, String> {
        let mut config = Self::default();
        config.add(path, read, find, 0)?;
        Ok(config)
    }

    fn add(
        &mut self,
        path: &str,
        read: &dyn Fn(&str) -> Option<Vec<u8>>,
        find: &dyn Fn(&str, &str) -> Option<String>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > EXTENDS_MAX {
            return Err(format!("{path}: files extend each other without end"));
        }
        let text = read(path).ok_or_else(|| format!("there is no file {path}"))?;
        let written = parse(path, &text)?;
        let parents = match written.extends {
            Some(OneOrMore::One(name)) => vec![name],
            Some(OneOrMore::More(names)) => names,
            Some(OneOrMore::Other(_)) | None => Vec::new(),
        };
        for name in parents {
            let found = find(path, &name).ok_or_else(|| {
                format!("{path}: cannot extend \"{name}\": there is no such file")
            })?;
            self.add(&found, read, find, depth + 1)?;
        }
        self.take(&parent(path), written.options);
        Ok(())
    }

    /// Replaces the inherited options by those of a file in `folder`.
    fn take(&mut self, folder: &str, options: CompilerOptions) {
        if let Some(base) = options.base_url {
            self.base_url = Some(join(folder, &base));
        }
        if let Some(paths) = options.paths {
            let base = self.base_url.clone().unwrap_or_else(|| folder.to_owned());
            let places =
                |places: Vec<String>| places.iter().map(|place| join(&base, place)).collect();
            self.paths = paths
                .into_iter()
                .map(|(pattern, found)| (pattern, places(found)))
                .collect();
        }
        let settings = &mut self.settings;
        for (kept, new) in [
            (&mut settings.jsx, options.jsx),
            (&mut settings.jsx_factory, options.jsx_factory),
            (
                &mut settings.jsx_fragment_factory,
                options.jsx_fragment_factory,
            ),
            (&mut settings.jsx_import_source, options.jsx_import_source),
        ] {
            if new.is_some() {
                *kept = new;
            }
        }
        for (kept, new) in [
            (
                &mut settings.experimental_decorators,
                options.experimental_decorators,
            ),
            (
                &mut settings.emit_decorator_metadata,
                options.emit_decorator_metadata,
            ),
            (
                &mut settings.assigns_fields,
                options.use_define_for_class_fields.map(|defines| !defines),
            ),
            (
                &mut settings.verbatim_module_syntax,
                options.verbatim_module_syntax,
            ),
        ] {
            *kept = new.unwrap_or(*kept);
        }
    }

    /// The places that `paths` gives for a name, in their order; nothing where no pattern fits.
    pub(crate) fn places(&self, name: &str) -> Vec<String> {
        if let Some((_, places)) = self.paths.iter().find(|(pattern, _)| pattern == name) {
            return places.clone();
        }
        let fitting = self.paths.iter().filter_map(|(pattern, places)| {
            let (front, back) = pattern.split_once('*')?;
            let fits = name.len() >= front.len() + back.len();
            let middle = name
                .strip_prefix(front)?
                .strip_suffix(back)
                .filter(|_| fits)?;
            Some((front.len(), middle, places))
        });
        fitting
            .max_by_key(|(front, ..)| *front)
            .map(|(_, middle, places)| {
                places
                    .iter()
                    .map(|place| place.replacen('*', middle, 1))
                    .collect()
            })
            .unwrap_or_default()
    }
}

/// The file's value. Comments and commas behind the last item are allowed. Options of a wrong type are errors.
fn parse(path: &str, text: &[u8]) -> Result<Written, String> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let mut text = String::from_utf8_lossy(text).into_owned();
    if text.trim().is_empty() {
        return Ok(Written::default());
    }
    json_strip_comments::strip(&mut text).map_err(|error| format!("{path}: {error}"))?;
    let value: Value = serde_json::from_str(&text).map_err(|error| {
        let said = error.to_string();
        let said = said.split(" at line ").next().unwrap_or(&said);
        format!("{path}:{}: {said}", error.line())
    })?;
    serde_json::from_value(value).map_err(|error| format!("{path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    fn config(files: &[(&str, &str)]) -> Result<TsConfig, String> {
        let files: HashMap<&str, &str> = files.iter().copied().collect();
        let read = |path: &str| files.get(path).map(|text| text.as_bytes().to_vec());
        let find = |from: &str, name: &str| Some(join(&parent(from), name));
        TsConfig::read("tsconfig.json", &read, &find)
    }

    #[test]
    fn comments_and_last_commas_are_allowed() {
        let read = config(&[(
            "tsconfig.json",
            "{\n  // hono\n  \"compilerOptions\": {\n    \"jsx\": \"react-jsx\", /* so \
             */\n    \"jsxImportSource\": \"hono/jsx\",\n    \"lib\": [\"ES2023\",],\n  },\n}\n",
        )])
        .expect("read");
        assert_eq!(read.settings.jsx_import_source.as_deref(), Some("hono/jsx"));
        assert_eq!(config(&[("tsconfig.json", " \n")]), Ok(TsConfig::default()));
    }

    #[test]
    fn a_file_replaces_what_it_extends() {
        let read = config(&[
            (
                "tsconfig.json",
                r#"{"extends": ["./conf/base.json"], "compilerOptions": {"jsx": "react"}}"#,
            ),
            (
                "conf/base.json",
                r#"{"compilerOptions": {"jsx": "preserve", "baseUrl": "../src", "paths": {"@/*": ["./*"], "@/lib/*": ["lib/*", "x/*"], "one": ["a.ts"]}, "experimentalDecorators": true}}"#,
            ),
        ])
        .expect("read");
        assert_eq!(read.settings.jsx.as_deref(), Some("react"));
        assert!(read.settings.experimental_decorators);
        assert_eq!(read.base_url.as_deref(), Some("src"));
        assert_eq!(read.places("@/a/b"), ["src/a/b"]);
        assert_eq!(read.places("@/lib/c"), ["src/lib/c", "src/x/c"]);
        assert_eq!(read.places("one"), ["src/a.ts"]);
        assert_eq!(read.places("two"), [""; 0]);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_file() {
        let fault = |text| config(&[("tsconfig.json", text)]).expect_err("wrong");
        assert!(
            fault("{\n  \"a\": ]\n}").starts_with("tsconfig.json:2: "),
            "{}",
            fault("{\n  \"a\": ]\n}")
        );
        assert!(fault("{\"extends\": \"./none.json\"}").contains("none.json"));
        assert!(fault("{\"extends\": \"./tsconfig.json\"}").contains("without end"));
        assert!(fault("{\"compilerOptions\": {\"paths\": 1}}").contains("tsconfig.json"));
    }
}
