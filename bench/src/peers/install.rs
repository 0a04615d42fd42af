//! Getting the peers onto this machine: below `bench/.peers`, which git ignores, or as Debian packages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::load;
use crate::peers::installed::NGINX_MODULES;
use crate::peers::{Installed, Peer, PeerKind};

/// The way the peers are found.
pub(crate) struct Installer {
    pub(super) root: PathBuf,
    /// True if to install what is missing, or only to use what is there.
    pub(super) installs: bool,
    /// The results of other developer commands, by their words.
    pub(super) done: RefCell<BTreeMap<String, Result<(), String>>>,
}

impl Installer {
    /// Creates an installer for the checkout at `root`.
    pub(crate) fn new(root: &Path, installs: bool) -> Self {
        Self {
            root: root.to_path_buf(),
            installs,
            done: RefCell::default(),
        }
    }

    /// The folder with what we install.
    pub(crate) fn folder(&self) -> PathBuf {
        self.root.join("bench/.peers")
    }

    /// Makes a peer ready to be started.
    ///
    /// # Errors
    ///
    /// Why it cannot be, in words for the report.
    pub(crate) fn install(&self, peer: &Peer) -> Result<Installed, String> {
        match peer.kind {
            PeerKind::Sampan(_) => self.sampan(peer),
            PeerKind::Nginx { lua } => self.nginx(peer, lua),
            PeerKind::C => self.c(peer),
            PeerKind::Go => self.go(peer, &[]),
            PeerKind::GoLuaJit => self.go_luajit(peer),
            PeerKind::GoSampan => self.go_sampan(peer),
            PeerKind::NodeSampan | PeerKind::BunSampan => self.package(peer),
            PeerKind::NodeRun(_) | PeerKind::BunRun(_) => self.package_run(peer),
            PeerKind::Spring => Err("where its sources are is not said: --spring DIR".to_owned()),
            PeerKind::Node => {
                let (node, version) = self.node()?;
                self.script(peer, node, &version)
            }
            PeerKind::Bun => {
                let (bun, version) = self.bun()?;
                self.script(peer, bun, &version)
            }
        }
    }

    /// Node.js, and its version in words.
    pub(super) fn node(&self) -> Result<(PathBuf, String), String> {
        let node = find("node").ok_or("Node.js is not installed")?;
        let version = said(&node, &["--version"])?;
        Ok((node, format!("Node {}", version.trim_start_matches('v'))))
    }

    /// Bun from npm, and its version in words.
    pub(super) fn bun(&self) -> Result<(PathBuf, String), String> {
        let bun = self.npm("bun")?.join("node_modules/.bin/bun");
        let version = said(&bun, &["--version"])?;
        Ok((bun, format!("Bun {version}")))
    }

    fn sampan(&self, peer: &Peer) -> Result<Installed, String> {
        let example = peer.example(&self.root);
        if !example.exists() {
            return Err(format!("there is no {}", example.display()));
        }
        let program = self.sampan_program()?;
        let version = said(&program, &["--version"])?;
        Ok(Installed {
            arguments: vec!["run".to_owned(), example.display().to_string()],
            ..Installed::new(program, self.root.clone(), version)
        })
    }

    /// Our executable as it is published, built if a source has changed.
    ///
    /// # Errors
    ///
    /// When it does not build; cargo's own words go to the terminal.
    pub(crate) fn sampan_program(&self) -> Result<PathBuf, String> {
        match load::other_program() {
            Some(other) if other.is_file() => return Ok(other),
            Some(other) => return Err(format!("there is no {}", other.display())),
            None => self.xtask(&["dist", "--bench"])?,
        }
        Ok(load::program(&self.root))
    }

    fn nginx(&self, peer: &Peer, lua: bool) -> Result<Installed, String> {
        let lacks = |pattern: &str| said("sh", &["-c", &format!("ls {pattern}")]).is_err();
        let program = self.debian("nginx")?;
        if lua && lacks(&format!("{NGINX_MODULES}/ngx_http_lua_module.so")) {
            self.apt("libnginx-mod-http-lua")?;
        }
        if lua && lacks("/usr/lib/*/lua/5.1/cjson.so") {
            // Without it the peer still greets; what it cannot do, the check of its answers will tell.
            let _ = self.apt("lua-cjson");
        }
        let folder = self.folder().join(peer.folder);
        // What it reads beside its configuration.
        self.copy_sources(peer.folder, &folder)?;
        let to = folder.join("nginx.conf");
        let (prefix, file) = (folder.display().to_string(), to.display().to_string());
        let version = said("sh", &["-c", &format!("{} -v 2>&1", program.display())])?;
        let version = version.rsplit(": ").next().unwrap_or_default();
        Ok(Installed {
            version: version.replace('/', " "),
            program,
            arguments: ["-p", &prefix, "-c", &file, "-e", "stderr"]
                .map(str::to_owned)
                .into(),
            configuration: Some((self.sources(peer.folder).join("nginx.conf"), to)),
            ..Installed::new(PathBuf::new(), folder, String::new())
        })
    }

    /// Installs the load for HTTP/2.
    ///
    /// # Errors
    ///
    /// When it is missing and may not be installed.
    pub(crate) fn h2load(&self) -> Result<(), String> {
        match find("h2load").and(find("nghttp")) {
            Some(_) => Ok(()),
            None => self.apt("nghttp2-client"),
        }
    }

    /// A program in C.
    fn c(&self, peer: &Peer) -> Result<Installed, String> {
        let compiler = find("cc").ok_or("a C compiler is not installed")?;
        let program = self.folder().join(peer.folder);
        fs::create_dir_all(self.folder()).map_err(|error| error.to_string())?;
        let source = self.sources(peer.folder).join("main.c");
        run(Command::new(&compiler)
            .arg("-O2")
            .arg(source)
            .arg("-o")
            .arg(&program))?;
        let version = said(&compiler, &["--version"])?;
        let version = version.lines().next().unwrap_or_default().to_owned();
        Ok(Installed::new(program, self.folder(), version))
    }

    /// A program in Go, built with these variables.
    pub(super) fn go(
        &self,
        peer: &Peer,
        variables: &[(&str, String)],
    ) -> Result<Installed, String> {
        let go = find("go").ok_or("Go is not installed")?;
        let program = self.folder().join(peer.folder).join("server");
        let mut build = Command::new(&go);
        build
            .args(["build", "-o"])
            .arg(&program)
            .arg(".")
            .envs(variables.iter().cloned())
            .current_dir(self.sources(peer.folder));
        run(build.env("GOTOOLCHAIN", "local"))?;
        let version = said(&go, &["env", "GOVERSION"])?.replacen("go", "Go ", 1);
        let driver = self.required(peer.folder);
        let driver = driver.map(|driver| format!("{driver} on "));
        let version = driver.unwrap_or_default() + &version;
        Ok(Installed::new(program, self.folder(), version))
    }

    /// The jar of Spring PetClinic, built with Maven if it is not there.
    ///
    /// # Errors
    ///
    /// When Java or Maven is missing, or the build fails.
    pub(crate) fn spring(&self, sources: &Path) -> Result<Installed, String> {
        let java = find("java").ok_or("Java is not installed")?;
        let jar = || {
            let files = fs::read_dir(sources.join("target")).ok()?;
            let mut paths = files.filter_map(|file| Some(file.ok()?.path()));
            paths.find(|path| path.extension().is_some_and(|end| end == "jar"))
        };
        if jar().is_none() {
            let maven = find("mvn").ok_or("Maven is not installed")?;
            println!("building {} with Maven", sources.display());
            let mut build = Command::new(maven);
            run(build
                .args(["-q", "-DskipTests", "package"])
                .current_dir(sources))?;
        }
        let jar = jar().ok_or("Maven made no jar in target/")?;
        let version = said("sh", &["-c", &format!("{} -version 2>&1", java.display())])?;
        let version = version.lines().next().unwrap_or_default().replace('"', "");
        let name = jar.file_stem().unwrap_or_default().to_string_lossy();
        Ok(Installed {
            arguments: vec!["-jar".to_owned(), jar.display().to_string()],
            ..Installed::new(java, self.folder(), format!("{name} on {version}"))
        })
    }

    /// A `server.js`, with its packages from npm if it has any.
    pub(super) fn script(
        &self,
        peer: &Peer,
        program: PathBuf,
        runtime: &str,
    ) -> Result<Installed, String> {
        let folder = self.npm(peer.folder)?;
        let mut packages = self.dependencies(peer);
        packages.retain(|package| *package != runtime.to_lowercase());
        let version = if packages.is_empty() {
            runtime.to_owned()
        } else {
            format!("{} on {runtime}", packages.join(" + "))
        };
        Ok(Installed {
            arguments: vec!["server.js".to_owned()],
            ..Installed::new(program, folder, version)
        })
    }

    /// The dependencies that the peer is named after, as `name version`.
    fn dependencies(&self, peer: &Peer) -> Vec<String> {
        let text = fs::read_to_string(self.sources(peer.folder).join("package.json"));
        let package: serde_json::Value =
            serde_json::from_str(&text.unwrap_or_default()).unwrap_or_default();
        let title = peer.title.to_lowercase();
        let all = package["dependencies"].as_object().into_iter().flatten();
        // Without the scope: Gust is `@sylphx/gust`.
        let own = |name: &str| {
            name.rsplit('/')
                .next()
                .is_some_and(|own| title.contains(own))
        };
        all.filter(|(name, _)| own(name))
            .filter_map(|(name, version)| Some(format!("{name} {}", version.as_str()?)))
            .collect()
    }

    /// The module that a program in Go requires, as `name version`.
    fn required(&self, id: &str) -> Option<String> {
        let text = fs::read_to_string(self.sources(id).join("go.mod")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("require "))?;
        Some(line.trim_start_matches("github.com/").to_owned())
    }

    /// Copies a peer's files to where it runs, and installs its packages there if they have changed.
    pub(super) fn npm(&self, id: &str) -> Result<PathBuf, String> {
        let folder = self.folder().join(id);
        self.copy_sources(id, &folder)?;
        let Ok(wanted) = fs::read_to_string(folder.join("package.json")) else {
            return Ok(folder);
        };
        let stamp = folder.join("installed.json");
        if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
            return Ok(folder);
        }
        if !self.installs {
            return Err("its packages are not installed".to_owned());
        }
        let npm = find("npm").ok_or("npm is not installed")?;
        println!("installing {id} with npm");
        let mut install = Command::new(npm);
        // No lock file: it would record which registry this machine uses. The versions are exact all the same.
        install.args([
            "install",
            "--no-package-lock",
            "--omit=dev",
            "--no-audit",
            "--no-fund",
            "--loglevel=error",
        ]);
        run(install.current_dir(&folder))?;
        fs::write(&stamp, wanted).map_err(|error| error.to_string())?;
        Ok(folder)
    }

    /// Finds a program, or installs it from the package of Debian with its name.
    ///
    /// # Errors
    ///
    /// As [`Installer::apt`].
    pub(crate) fn debian(&self, program: &str) -> Result<PathBuf, String> {
        if find(program).is_none() {
            self.apt(program)?;
        }
        find(program).ok_or_else(|| format!("{program} is not installed"))
    }

    /// Installs a package of Debian.
    ///
    /// # Errors
    ///
    /// When it is missing and may not be installed.
    pub(crate) fn apt(&self, package: &str) -> Result<(), String> {
        let missing = format!("{package} is not installed");
        if !self.installs {
            return Err(missing);
        }
        let is_root = said("id", &["-u"]).is_ok_and(|id| id == "0");
        let (Some(apt), true) = (find("apt-get"), is_root) else {
            return Err(format!(
                "{missing}: as root, run `apt-get install {package}`"
            ));
        };
        println!("installing {package} with apt-get");
        let mut install = Command::new(&apt);
        install
            .args(["install", "-y", "-qq", package])
            .env("DEBIAN_FRONTEND", "noninteractive");
        // The lists of a fresh machine are empty; only then do they need to be fetched.
        if run(&mut install).is_err() {
            said(&apt, &["update", "-qq"])?;
            run(&mut install)?;
        }
        Ok(())
    }

    fn copy_sources(&self, id: &str, folder: &Path) -> Result<(), String> {
        copy(&self.sources(id), folder)
            .map_err(|error| format!("cannot copy bench/peers/{id}: {error}"))
    }

    pub(super) fn sources(&self, id: &str) -> PathBuf {
        self.root.join("bench/peers").join(id)
    }
}

/// The place of a program on the search path; servers are often in folders that only root searches.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders =
        std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/go/bin"].map(PathBuf::from));
    folders
        .map(|folder| folder.join(program))
        .find(|place| place.is_file())
}

/// Returns the output of a program.
pub(super) fn said(program: impl AsRef<OsStr>, arguments: &[&str]) -> Result<String, String> {
    run(Command::new(program).args(arguments))
}

/// Runs a program to its end and returns what it printed; the error has the last of its complaints.
pub(crate) fn run(command: &mut Command) -> Result<String, String> {
    let name = command.get_program().display().to_string();
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let complaints = String::from_utf8_lossy(&output.stderr);
    let last = complaints.lines().rfind(|line| !line.trim().is_empty());
    Err(format!("{name} failed: {}", last.unwrap_or_default()))
}

/// Copies the files of a folder and of those in it.
pub(super) fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}
