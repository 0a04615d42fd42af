//! `cargo xtask npm`: the npm package, in `target/npm/sampan.tgz`. `npm i` of that file is how it is tried.

use crate::error::Error;
use crate::project;
use crate::project::PROFILE;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The addon's name in the package: one for each platform.
const ADDON: &str = "sampan.linux-x64-gnu.node";

/// The files of the checkout goes along beside the package's own folder: from where, and its name there.
const COPIED: [(&str, &str); 2] = [
    ("LICENSE-MIT", "LICENSE-MIT"),
    ("LICENSE-APACHE", "LICENSE-APACHE"),
];

/// The options of `cargo xtask npm`.
#[derive(clap::Args)]
pub(crate) struct NpmOptions {
    /// Build without optimisation, which is quicker
    #[arg(long)]
    debug: bool,
}

pub(crate) fn run(options: &NpmOptions) -> Result<bool, Error> {
    let root = project::root();
    let mut build = project::cargo(&root);
    build.args(["build", "--package", "sampan-node"]);
    if !options.debug {
        build.args(["--profile", PROFILE]);
    }
    if !build.status()?.success() {
        return Ok(false);
    }
    let profile = if options.debug { "debug" } else { PROFILE };
    let folder = root.join("target/npm");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let package = folder.join("package");
    copy(&root.join("faces/node/package"), &package)?;
    let addon = root.join("target").join(profile).join("libsampan_node.so");
    fs::copy(addon, package.join(ADDON))?;
    for (from, name) in COPIED {
        fs::copy(root.join(from), package.join(name))?;
    }
    let types = fs::read_to_string(root.join("types/sampan.d.ts"))?;
    let serve = fs::read_to_string(package.join("serve/types.d.ts"))?;
    let (hono, types) = without_hono(&types)?;
    fs::write(package.join("hono.d.ts"), hono)?;
    fs::write(package.join("index.d.ts"), as_module(&types)? + &serve)?;
    let packed = Command::new("npm")
        .args(["pack", "--silent", "--pack-destination"])
        .arg(&folder)
        .current_dir(&package)
        .output();
    let packed = project::needs("npm", "it comes with Node.js", packed)?;
    if !packed.status.success() {
        return Err(format!("npm pack: {}", String::from_utf8_lossy(&packed.stderr)).into());
    }
    let name = String::from_utf8_lossy(&packed.stdout);
    let archive = folder.join("sampan.tgz");
    fs::rename(folder.join(name.trim()), &archive)?;
    println!("{}", archive.display());
    Ok(true)
}

/// Copies a folder; addons that lie about in it are left out.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        let is_left_out = name.as_encoded_bytes().starts_with(b".")
            || path
                .extension()
                .is_some_and(|extension| extension == "node");
        if path.is_dir() {
            copy(&path, &to.join(name))?;
        } else if !is_left_out {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

/// Takes the types of the module `sampan/hono` out of those of all. Returns them as those of a file, and the rest.
fn without_hono(types: &str) -> Result<(String, String), Error> {
    let (before, rest) = types
        .split_once("declare module \"sampan/hono\" {\n")
        .ok_or("types/sampan.d.ts declares no module sampan/hono")?;
    let (inside, after) = rest
        .split_once("\n}\n\n")
        .ok_or("types/sampan.d.ts does not end the module sampan/hono")?;
    Ok((format!("{inside}\n"), format!("{before}{after}")))
}

/// The types of the module `sampan` as those of a package: without the declaration around them.
fn as_module(types: &str) -> Result<String, Error> {
    const OPENING: &str = "declare module \"sampan\" {\n";
    let (before, rest) = types
        .split_once(OPENING)
        .ok_or("types/sampan.d.ts declares no module")?;
    let (inside, after) = rest
        .rsplit_once("\n}")
        .ok_or("types/sampan.d.ts does not end the module")?;
    Ok(format!("{before}{inside}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_those_of_a_package() {
        let types = "// x\ndeclare module \"sampan\" {\n  export const a: 1;\n}\n";
        let module = as_module(types).map_err(|error| error.to_string());
        assert_eq!(module.as_deref(), Ok("// x\n  export const a: 1;\n"));
        assert!(as_module("export {}").is_err());
        let both = format!("declare module \"sampan/hono\" {{\n  export {{}};\n}}\n\n{types}");
        let split = without_hono(&both).map_err(|error| error.to_string());
        assert_eq!(split, Ok(("  export {};\n".to_owned(), types.to_owned())));
    }
}
