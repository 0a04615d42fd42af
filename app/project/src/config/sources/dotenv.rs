//! `.env`: variables of the environment for development, one `NAME=value` a line. The environment itself wins.

use super::environment::{NO_VARIABLE, Variables};
use std::path::{Path, PathBuf};

/// The name of the file in the project's folder.
pub const FILE: &str = ".env";

/// The variables of a project; none where there is no such file.
///
/// # Errors
/// One line that names the file and the line. It does not show the line: that may be a secret.
fn read(root: &Path) -> Result<Variables, String> {
    let path = root.join(FILE);
    match std::fs::read(&path) {
        Ok(bytes) => parse(&bytes, FILE),
        // A link to nothing is a mistake.
        Err(error)
            if error.kind() == std::io::ErrorKind::NotFound && path.symlink_metadata().is_err() =>
        {
            Ok(Variables::default())
        }
        Err(error) => Err(format!("cannot read {FILE}: {error}")),
    }
}

/// The file that variables are read from, beside those of the environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EnvFile {
    /// No file: the environment has them all.
    #[default]
    None,
    /// `.env` in the project's folder, where it is there. For commands that people use while they write a project.
    OfProject,
    /// This file, which must be there.
    At(PathBuf),
}

impl EnvFile {
    /// Reads the variables for a project in the folder `root`.
    ///
    /// # Errors
    /// One line that names the file, and the line where that is wrong.
    pub fn read(&self, root: &Path) -> Result<Variables, String> {
        match self {
            Self::None => Ok(Variables::default()),
            Self::OfProject => read(root),
            Self::At(path) => {
                let name = path.display().to_string();
                let bytes = std::fs::read(path).map_err(|error| {
                    format!("cannot read the file of --env-file, {name}: {error}")
                })?;
                parse(&bytes, &name)
            }
        }
    }

    /// Adds the option that reads `.env` to the faults of variables that only this file has.
    pub(in crate::config) fn advised(&self, faults: &str, root: &Path) -> String {
        let variables = match self {
            Self::None => read(root).unwrap_or_default(),
            Self::OfProject | Self::At(_) => Variables::default(),
        };
        let advised = |fault: &str| {
            let name = fault.rsplit_once(NO_VARIABLE).map(|(_, name)| name);
            if !name.is_some_and(|name| variables.contains_key(name)) {
                return fault.to_owned();
            }
            let file = root.join(FILE);
            let here = std::env::current_dir().unwrap_or_default();
            let file = file.strip_prefix(here).unwrap_or(&file);
            format!(
                "{fault}; {FILE} has it: start with --env-file {}",
                file.display()
            )
        };
        let faults: Vec<String> = faults.lines().map(advised).collect();
        faults.join("\n")
    }
}

fn parse(bytes: &[u8], name: &str) -> Result<Variables, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = line_at(bytes, error.valid_up_to());
        format!("{name}:{line}: it is not UTF-8: save it as UTF-8 text")
    })?;
    let text = text.trim_start_matches('\u{feff}');
    let mut variables = Variables::default();
    for pair in dotenvy::from_read_iter(text.as_bytes()) {
        let (name, value) = pair.map_err(|error| fault(text, name, &error))?;
        // As with other tools the first one counts.
        variables.entry(name).or_insert(value);
    }
    Ok(variables)
}

fn fault(text: &str, name: &str, error: &dotenvy::Error) -> String {
    let dotenvy::Error::LineParse(written, _) = error else {
        return format!("cannot read {name}: {error}");
    };
    let first = written.lines().next().unwrap_or_default();
    let at = text.find(first).unwrap_or(0);
    let line = line_at(text.as_bytes(), at);
    format!(
        "{name}:{line}: write NAME=value, NAME=\"a value\" or NAME='a value'; a quote that opens must close, nothing \
         but a comment may follow it, and a $ stands for a variable, as in ${{NAME}}, except between single quotes"
    )
}

/// The line of a byte, from 1.
fn line_at(bytes: &[u8], at: usize) -> usize {
    bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_quoting_is_read_or_told_with_its_line() {
        let text = "\u{feff}# comment with a 'quote\r\nA=plain\nexport B = \"two words\" # \
         more\nC='$A \\n'\nD=\"a\\nb \\\"q\\\"\"\n\
            E=\nF=\"two\nlines\"\nG=${A}x\nH=a#b\nA=again\nI=\"it's\"\n";
        let read = parse(text.as_bytes(), FILE).expect("valid");
        let value = |name: &str| read.get(name).map(String::as_str);
        for (name, expected) in [
            ("A", "plain"),
            ("B", "two words"),
            ("C", "$A \\n"),
            ("D", "a\nb \"q\""),
            ("E", ""),
            ("F", "two\nlines"),
            ("G", "plainx"),
            ("H", "a#b"),
            ("I", "it's"),
        ] {
            assert_eq!(value(name), Some(expected), "{name}");
        }
        for (text, line) in [
            ("A=1\nB=\"open secret\nC=3\n", 2),
            ("A=1\n\nB='open secret", 3),
            ("A=a secret b\n", 1),
            ("=secret\n", 1),
            ("A=1\n1A=secret\n", 2),
            ("A=1\nsecret\n", 2),
            ("A=1\nB=\"secret\\q\"\n", 2),
        ] {
            let told = parse(text.as_bytes(), FILE).err().unwrap_or_default();
            assert!(
                told.starts_with(&format!(".env:{line}: ")),
                "{text:?}: {told}"
            );
            assert!(!told.contains("secret"), "{told}");
        }
        let told = parse(b"A=1\nB=\xff\n", FILE).err().unwrap_or_default();
        assert!(told.starts_with(".env:2: it is not UTF-8"), "{told}");
    }
}
