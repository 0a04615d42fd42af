//! `cargo xtask dist`: what is published of a version, in `target/dist/`.
//!
//! The executable in the profile `published`, optimised for what the examples do (`pgo`), a list of what is in it
//! (`sbom`), the man page and the completions of shells, and checksums of all that. It says the oldest glibc that the
//! executable runs on (`glibc`).

mod bench;
mod glibc;
mod pgo;
mod sbom;

use crate::error::Error;
use crate::project;
use crate::project::PROFILE;
use sha2::{Digest, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The file with the checksums, as `sha256sum --check` reads it.
const CHECKSUMS: &str = "SHA256SUMS";

/// The files that the executable prints for a folder of its package: the arguments, and the name of the file.
const PRINTED: [(&[&str], &str); 4] = [
    (&["man"], "sampan.1"),
    (&["completions", "bash"], "sampan.bash"),
    (&["completions", "zsh"], "_sampan"),
    (&["completions", "fish"], "sampan.fish"),
];

/// The options of `cargo xtask dist`.
#[derive(clap::Args)]
pub(crate) struct DistOptions {
    /// Build for another machine, for which cargo has a target and a linker
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Build without profile-guided optimisation, in half the time
    #[arg(long)]
    no_pgo: bool,
    /// Make only the executable, in `target/bench/sampan`, and only if a source has changed
    #[arg(long, hide = true)]
    bench: bool,
    /// Describe this executable instead of building one
    #[arg(long, value_name = "FILE")]
    executable: Option<PathBuf>,
}

pub(crate) fn run(options: &DistOptions) -> Result<bool, Error> {
    let root = project::root();
    let host = host_triple()?;
    if options.bench {
        return bench::build(&root, &host).map(|()| true);
    }
    let triple = options.target.as_deref().unwrap_or(&host);
    let built = match &options.executable {
        Some(executable) => executable.clone(),
        // What is for another machine cannot be put under load here.
        None if options.no_pgo || triple != host => build(&root, options.target.as_deref())?,
        None => pgo::build(&root, triple)?,
    };
    let bom = sbom::of_workspace(&root, triple)?;
    let name = format!("sampan-{}-{triple}", bom.version);
    let folder = root.join("target/dist");
    // What a version before has left is none of this one's.
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error.into()),
        _ => fs::create_dir_all(&folder)?,
    }
    let executable = folder.join(&name);
    fs::copy(&built, &executable)?;
    fs::write(folder.join(format!("{name}.cdx.json")), &bom.text)?;
    for (args, file) in PRINTED {
        // One for another machine cannot be asked.
        if triple != host {
            break;
        }
        match printed(&executable, args)? {
            Some(text) => fs::write(folder.join(file), text)?,
            None => println!("left out: {file} (there is no `sampan {}`)", args.join(" ")),
        }
    }
    let sums = checksums(&folder)?;
    fs::write(folder.join(CHECKSUMS), &sums)?;
    let bytes = fs::read(&executable)?;
    let size = bytes.len() as f64 / (1024.0 * 1024.0);
    print!("{sums}");
    println!(
        "{}: {size:.1} MiB, {} components",
        executable.display(),
        bom.components
    );
    match glibc::oldest(&bytes)? {
        Some(version) => println!("runs on glibc {version} and newer"),
        None => println!("needs no glibc"),
    }
    Ok(true)
}

/// Builds the executable without counts of a load.
fn build(root: &Path, target: Option<&str>) -> Result<PathBuf, Error> {
    let folder = root.join("target");
    project::build_cli(&mut project::cargo(root), &folder, PROFILE, target)
}

/// The target of this machine, as rustc names it.
fn host_triple() -> Result<String, Error> {
    let text = printed_by_rustc(&["-vV"])?;
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.ok_or("rustc does not tell its host")?.to_owned())
}

/// Returns the output of rustc.
fn printed_by_rustc(args: &[&str]) -> Result<String, Error> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc).args(args).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns the output of the executable; `None` if it has no such command.
fn printed(executable: &Path, args: &[&str]) -> Result<Option<Vec<u8>>, Error> {
    const USAGE: i32 = 2;
    let output = Command::new(executable).args(args).output()?;
    match output.status.code() {
        Some(0) => Ok(Some(output.stdout)),
        Some(USAGE) => Ok(None),
        _ => Err(format!("`sampan {}` failed: {}", args.join(" "), output.status).into()),
    }
}

/// A line for each file of a folder, sorted.
fn checksums(folder: &Path) -> Result<String, Error> {
    let mut lines = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name != CHECKSUMS {
            let digest = Sha256::digest(fs::read(&path)?);
            let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            lines.push((name.into_owned(), hex));
        }
    }
    lines.sort();
    let lines = lines.iter().map(|(name, hex)| format!("{hex}  {name}\n"));
    Ok(lines.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_sha256sum() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("b"), "b").expect("written");
        fs::write(folder.path().join("a"), "abc").expect("written");
        let sums = checksums(folder.path()).expect("readable");
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad  a\n";
        assert!(sums.starts_with(abc), "{sums}");
        fs::write(folder.path().join(CHECKSUMS), &sums).expect("written");
        assert_eq!(checksums(folder.path()).expect("readable"), sums);
        let checked = Command::new("sha256sum")
            .args(["--check", "--quiet", CHECKSUMS])
            .current_dir(folder.path())
            .status();
        assert!(checked.is_ok_and(|status| status.success()));
    }
}
