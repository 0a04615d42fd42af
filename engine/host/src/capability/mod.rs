//! A capability as the program sees it that has it: its functions for scripts, its sections of the configuration, and
//! what it does when a project is read, loaded and served.
//!
//! Each capability exports one [`Capability`]. The program has a list of them and knows none by name: it calls their
//! hooks in an order in which each comes after those whose offers it asks for ([`order`]). Values pass between
//! capabilities as traits of this crate, by their types: in [`Shared`] for the whole process, in the [`Context`] of a
//! worker or of an isolate.

mod beside;
mod order;
mod shared;

pub use beside::{Beside, KeeperSetup};
pub use order::order;
pub use shared::Shared;

use crate::error::Error;
use crate::offers::database::OwnTable;
use crate::settings::{AllSettings, Section, Settings};
use crate::sources::{PackedFiles, Sources};
use crate::tables::module::{Context, Module};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

/// A capability. A hook that it does not need stays as [`Capability::EMPTY`] has it.
pub struct Capability {
    /// The name, unique among the capabilities of a program.
    pub name: &'static str,
    /// The functions for scripts.
    pub modules: &'static [&'static Module],
    /// The sections of the configuration.
    pub sections: &'static [&'static Section],
    /// The names of what its hooks put for others.
    pub offers: &'static [&'static str],
    /// The names of what its hooks take from others. A name that no capability offers is no fault: the hook finds
    /// nothing then.
    pub asks: &'static [&'static str],
    /// The tables that it has in a database on a server.
    pub server_tables: &'static [OwnTable],
    /// The folders of the project, by their names, all of whose files it reads.
    pub reads: &'static [&'static str],
    /// The most files that it holds open, on all workers together. Those of all capabilities together are at most a
    /// quarter of what the system allows the process.
    pub open_files_max: u64,
    /// Checks the settings, when the configuration is read.
    ///
    /// # Errors
    /// The place, the key, and what is wrong with its value.
    pub configure: fn(&ProjectSettings<'_>) -> Result<(), String>,
    /// Returns the folders in which it writes.
    pub folders: fn(&ProjectSettings<'_>) -> Vec<WrittenFolder>,
    /// Returns the folders in which it writes files that are not complete yet, where the configuration names any.
    pub temp_folders: fn(&ProjectSettings<'_>) -> Vec<TempFolder>,
    /// Returns the warnings about settings with which a part of the project cannot work, for servers and for
    /// `sampan check`.
    pub warnings: fn(&ProjectSettings<'_>) -> Vec<String>,
    /// Returns the warnings about a configuration that is built into an executable. `file` is its name.
    pub packing: fn(settings: &AllSettings, file: &str) -> Vec<String>,
    /// Makes what all workers share, when the project is read: at start and at each reload.
    ///
    /// # Errors
    /// A file of the project that is wrong: its name, its line and the lines around it.
    pub process: fn(&mut ProcessSetup<'_>) -> Result<(), String>,
    /// Runs once, when the process begins to serve.
    pub start: fn(&Shared),
    /// Puts back what was there before the first request, after each test of a project.
    pub restore: fn(&Shared),
    /// Makes what the scripts of an isolate need, before they are loaded.
    ///
    /// # Errors
    /// A setting that the isolate cannot have: of kind [`ErrorKind::Load`](crate::ErrorKind::Load).
    pub isolate: fn(&IsolateSetup<'_>) -> Result<(), Error>,
    /// Runs when the scripts of an isolate have been loaded.
    ///
    /// # Errors
    /// Something that the project names is not there.
    pub loaded: fn(&Context) -> Result<(), Error>,
    /// Runs when a worker begins to answer with an isolate, in place of the one before.
    pub serve: fn(&IsolateSetup<'_>),
    /// Returns the work beside requests that the project needs: asked once workers answer with it, at start and after
    /// each reload. The first answer that is not `None` counts for as long as the process serves.
    pub beside: fn(&ProjectSettings<'_>, &Shared) -> Option<Beside>,
    /// Looks for what is wrong with a project, without running it.
    pub check: fn(&mut ProjectCheck<'_>),
}

impl Capability {
    /// A capability with nothing.
    pub const EMPTY: Self = Self {
        name: "",
        modules: &[],
        sections: &[],
        offers: &[],
        asks: &[],
        server_tables: &[],
        reads: &[],
        open_files_max: 0,
        configure: |_| Ok(()),
        folders: |_| Vec::new(),
        temp_folders: |_| Vec::new(),
        warnings: |_| Vec::new(),
        packing: |_, _| Vec::new(),
        process: |_| Ok(()),
        start: |_| (),
        restore: |_| (),
        isolate: |_| Ok(()),
        loaded: |_| Ok(()),
        serve: |_| (),
        beside: |_, _| None,
        check: |_| (),
    };
}

/// A folder in which scripts write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenFolder {
    /// The name that scripts give it in paths.
    pub name: &'static str,
    /// The folder.
    pub path: PathBuf,
}

/// A folder of files that are not complete yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TempFolder {
    /// The section and the key of the configuration that name it, as `[section] key`.
    pub key: &'static str,
    /// The folder.
    pub path: PathBuf,
}

/// The settings of a project, and where it lies.
#[derive(Clone, Copy)]
pub struct ProjectSettings<'a> {
    /// The settings of all sections.
    pub all: &'a AllSettings,
    /// The project's folder; empty for a project that has none.
    pub root: &'a Path,
    /// The folder for everything that is written, in place of the project's own: nothing in it is kept. For tests.
    pub scratch: Option<&'a Path>,
}

impl ProjectSettings<'_> {
    /// Returns the settings of a section.
    pub fn of(&self, section: &'static Section) -> Settings {
        self.all.of(section)
    }

    /// Reads a section.
    ///
    /// # Errors
    /// The error of `read`, with the place where the key was written.
    pub fn resolve<T>(
        &self,
        section: &'static Section,
        read: impl FnOnce(&Settings) -> Result<T, String>,
    ) -> Result<T, String> {
        let settings = self.all.of(section);
        read(&settings).map_err(|fault| settings.tell(&fault))
    }
}

/// The input of [`Capability::process`].
pub struct ProcessSetup<'a> {
    /// The settings of the project.
    pub settings: ProjectSettings<'a>,
    /// The files of the project.
    pub sources: Arc<dyn Sources>,
    /// The files of the project, where it is in an archive.
    pub packed: Option<Arc<dyn PackedFiles>>,
    /// The values of the generation before, at a reload.
    pub before: Option<&'a Shared>,
    /// The values of this generation. A hook puts its own here, and finds those that it asks for.
    pub shared: &'a mut Shared,
}

/// The input of [`Capability::isolate`] and [`Capability::serve`].
pub struct IsolateSetup<'a> {
    /// The settings of the project.
    pub settings: ProjectSettings<'a>,
    /// The values that all workers share.
    pub shared: &'a Shared,
    /// The values of the worker, over all its isolates.
    pub worker: &'a Context,
    /// The values of the isolate.
    pub context: &'a Rc<Context>,
    /// True for the isolate of the project; false for a script beside it.
    pub is_project: bool,
}

/// The input of [`Capability::check`], and what it finds.
pub struct ProjectCheck<'a> {
    /// The settings of the project.
    pub settings: ProjectSettings<'a>,
    /// The files of the project.
    pub sources: Arc<dyn Sources>,
    /// True if the values of some settings are not known, because variables of the environment count where the project
    /// will run.
    pub has_variables: bool,
    /// The faults that keep the project from starting: `file:line: fault`, or lines that say the place in words.
    pub faults: Vec<String>,
    /// The warnings about things that are probably mistakes.
    pub warnings: Vec<ProjectWarning>,
    /// The names of the templates.
    pub templates: Vec<String>,
    /// The texts that templates ask for by a key.
    pub text_keys: Vec<TextKey>,
    /// The texts of the project.
    pub texts: Option<Box<dyn KnownTexts>>,
}

impl<'a> ProjectCheck<'a> {
    /// Creates a check that has found nothing yet.
    pub fn new(settings: ProjectSettings<'a>, sources: Arc<dyn Sources>) -> Self {
        Self {
            settings,
            sources,
            has_variables: false,
            faults: Vec::new(),
            warnings: Vec::new(),
            templates: Vec::new(),
            text_keys: Vec::new(),
            texts: None,
        }
    }
}

/// A warning about something in a file that is probably a mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectWarning {
    /// The path of the file in the project.
    pub file: String,
    /// The line, from 1.
    pub line: Option<u32>,
    /// The text.
    pub text: String,
}

/// A key of a text, where a template asks for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextKey {
    /// The path of the template's file in the project.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The key.
    pub key: String,
}

/// The texts of a project in the languages of its readers.
pub trait KnownTexts {
    /// Returns a sentence that says so if there is no text with this key.
    fn missing(&self, key: &str) -> Option<String>;
}
