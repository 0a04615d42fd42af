//! The environment variables of the process, for settings and secrets that do not belong in a project's files.
//!
//! Those that hold secrets of the server itself, such as `SAMPAN_SECRETS_KEYS`, are hidden from scripts: a script that
//! shows a variable by mistake cannot give them away.

use sampan_host::capability::IsolateSetup;
use sampan_host::settings::{AllSettings, Section};
use sampan_host::{
    Args, Capability, Context, Error, FunctionKind, Module, Type, Value, param, row,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};

/// The prefix of variables that stand for keys of the configuration.
const PREFIX: &str = "SAMPAN_";
/// The ending, in small letters, of variables that name a file with the value.
const FILE_SUFFIX: &str = "_file";

/// The largest number of names that are noted.
const MISSED_MAX: usize = 100;

/// The `env` table.
pub static MODULE: Module = Module {
    name: "env",
    doc: "Environment variables.",
    functions: &[
        row!("get"(param!("name": Type::Text, "The variable's name.")) -> Type::TextOrNothing, FunctionKind::Sync(get),
            "The value of an environment variable, or nothing if it is not set. Bytes that are not UTF-8 are replaced. \
             Variables that hold secrets of the server, such as `SAMPAN_SECRETS_KEYS` and `SAMPAN_DB_URL`, are as if \
             they were not set."),
    ],
    ..Module::EMPTY
};

/// Environment variables.
pub static CAPABILITY: Capability = Capability {
    name: "env",
    modules: &[&MODULE],
    isolate,
    ..Capability::EMPTY
};

/// Names of variables that scripts do not see, in small letters and without [`PREFIX`].
struct HiddenNames(HashSet<String>);

impl HiddenNames {
    /// Returns the variables that stand for secret keys of these sections.
    fn of(settings: &AllSettings) -> Self {
        let sections = settings.iter().map(|one| one.section());
        Self(sections.flat_map(secret_names).collect())
    }

    /// Reports whether a variable is one of these. The case of what follows the prefix does not count, as where the
    /// configuration reads them.
    fn contains(&self, variable: &str) -> bool {
        let Some(rest) = variable.strip_prefix(PREFIX) else {
            return false;
        };
        let rest = rest.to_ascii_lowercase();
        let of_file = rest.strip_suffix(FILE_SUFFIX);
        self.0.contains(&rest) || of_file.is_some_and(|name| self.0.contains(name))
    }
}

/// Returns the names of the variables that stand for secret keys of a section.
fn secret_names(section: &'static Section) -> impl Iterator<Item = String> {
    let start = section.name.replace('.', "_");
    let secret = section.keys.iter().filter(|key| key.is_secret);
    secret.map(move |key| format!("{start}_{}", key.name))
}

fn isolate(setup: &IsolateSetup<'_>) -> Result<(), Error> {
    setup.context.put(HiddenNames::of(setup.settings.all));
    Ok(())
}

/// Variables beside those of the process, which win: those of a file for development. `app` puts them into the context.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables(pub HashMap<String, String>);

impl Variables {
    /// The value of a variable, of the process or of these.
    pub fn get(&self, name: &str) -> Option<String> {
        let own = || self.0.get(name).cloned();
        let value = std::env::var_os(name);
        value.map_or_else(own, |value| Some(value.to_string_lossy().into_owned()))
    }
}

/// The names of the variables that scripts have asked for and that are not there. `app` puts it into the context where
/// it wants to know.
#[derive(Clone, Debug, Default)]
pub struct MissedVariables(Arc<Mutex<BTreeSet<String>>>);

impl MissedVariables {
    /// Returns the names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.all().iter().cloned().collect()
    }

    fn all(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let Self(names) = self;
        names
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

fn get(context: &Context, mut args: Args) -> Result<Value, Error> {
    let name = args.text(0);
    // The standard library takes such names for what they are: names that no variable can have.
    if name.is_empty() || name.contains(['=', '\0']) {
        return Ok(Value::Null);
    }
    let hidden = context.get::<HiddenNames>();
    if hidden.is_some_and(|hidden| hidden.contains(&name)) {
        return Ok(Value::Null);
    }
    let variables = context.get::<Variables>().unwrap_or_default();
    let value = variables.get(&name);
    if value.is_none()
        && let Some(missed) = context.get::<MissedVariables>()
        && missed.all().len() < MISSED_MAX
    {
        missed.all().insert(name);
    }
    Ok(value.map_or(Value::Null, Value::Text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sampan_host::capability::{ProjectSettings, Shared};
    use sampan_host::settings::{Preset, SettingKey};
    use std::path::Path;
    use std::rc::Rc;

    static KEYS: Section = Section {
        name: "keys",
        doc: "",
        keys: &[
            SettingKey::texts("seal", Preset::Empty, "").secret(),
            SettingKey::text("name", Preset::Unset, ""),
        ],
    };
    static NESTED: Section = Section {
        name: "tls.acme",
        doc: "",
        keys: &[SettingKey::texts("eab", Preset::Empty, "").secret()],
    };

    fn lookup(name: &str) -> Value {
        let args = Args::check("env", &MODULE.functions[0], vec![name.into()]).expect("a name");
        get(&Context::default(), args).expect("get has no errors")
    }

    #[test]
    fn variables_of_the_process_win() {
        let pairs = [("PATH", "no"), ("SAMPAN_SURELY_NOT_SET", "own")];
        let own = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let context = Context::default();
        context.put(Variables(own.into()));
        let of = |name: &str| {
            let args = Args::check("env", &MODULE.functions[0], vec![name.into()]);
            get(&context, args.expect("a name")).expect("get has no errors")
        };
        assert_eq!(of("PATH"), lookup("PATH"));
        assert_eq!(of("SAMPAN_SURELY_NOT_SET"), Value::Text("own".to_owned()));
    }

    #[test]
    fn variables_with_secrets_of_the_server_are_hidden() {
        let all = AllSettings::new(&[&KEYS, &NESTED], "sampan.toml");
        let context = Rc::new(Context::default());
        let set = [
            "SAMPAN_KEYS_SEAL",
            "SAMPAN_keys_Seal",
            "SAMPAN_KEYS_SEAL_FILE",
            "SAMPAN_TLS_ACME_EAB",
            "SAMPAN_KEYS_NAME",
            "SAMPAN_KEYS_SEALS",
            "KEYS_SEAL",
        ];
        let set = set.map(|name| (name.to_owned(), "set".to_owned()));
        context.put(Variables(set.clone().into()));
        let setup = IsolateSetup {
            settings: ProjectSettings {
                all: &all,
                root: Path::new(""),
                scratch: None,
            },
            shared: &Shared::default(),
            worker: &Context::default(),
            context: &context,
            is_project: true,
        };
        (CAPABILITY.isolate)(&setup).expect("names alone");
        let seen = set.map(|(name, _)| {
            let args = Args::check("env", &MODULE.functions[0], vec![name.into()]);
            get(&context, args.expect("a name")).expect("get has no errors") != Value::Null
        });
        assert_eq!(seen, [false, false, false, false, true, true, true]);
    }

    #[test]
    fn a_variable_is_text_and_a_missing_one_is_nothing() {
        assert!(matches!(lookup("PATH"), Value::Text(path) if !path.is_empty()));
        for missing in ["SAMPAN_SURELY_NOT_SET", "", "A=B", "A\0B"] {
            assert_eq!(lookup(missing), Value::Null, "{missing:?}");
        }
    }
}
