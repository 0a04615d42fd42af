//! `sampan run --explain-sandbox`: what a server would keep, in words.

use super::grants::{self, MissingFolders, wanted};
use super::ports;
use super::settings::{SandboxSettings, ScriptConnections};
use crate::app_config::AppConfig;
use sampan_sandbox::{Access, Connections, Grants, Kernel};
use std::fmt::Write;

/// Describes what a server with this configuration keeps, and what the kernel can do, in lines.
///
/// # Errors
/// `[sandbox]` is wrong.
pub fn explain(config: &AppConfig) -> Result<String, String> {
    let Some(settings) = wanted(config)? else {
        let text = "The sandbox is off: [sandbox] enabled = false. The server may do all that its user may.\n";
        return Ok(text.to_owned());
    };
    let listening = ports::of_listeners(config);
    let grants = grants::of(config, &settings, &listening, MissingFolders::Leave);
    Ok(text(&grants, &settings, config, &Kernel::running()))
}

fn text(
    grants: &Grants,
    settings: &SandboxSettings,
    config: &AppConfig,
    kernel: &Kernel,
) -> String {
    let mut text = String::new();
    let mut line = |line: &str| {
        let _ = writeln!(text, "{line}");
    };
    line("When its sockets are open, the server keeps only this:");
    for (access, title) in [
        (Access::Read, "Files that it may read:"),
        (
            Access::Write,
            "Files that it may read and write, with folders:",
        ),
        (Access::Temporary, "Files that it may make, and not list:"),
        (Access::Remove, "Folders from which it may remove files:"),
    ] {
        let paths: Vec<_> = grants
            .paths
            .iter()
            .filter(|one| one.access == access)
            .collect();
        if paths.is_empty() {
            continue;
        }
        line(&format!("\n{title}"));
        for one in paths {
            let absent = if one.path.exists() {
                ""
            } else {
                ", which is not there"
            };
            line(&format!(
                "  {}  ({}{absent})",
                one.path.display(),
                one.reason
            ));
        }
    }
    let connections = match &grants.connections {
        Connections::Any => match settings.connections {
            ScriptConnections::Auto => {
                "to any TCP port, because the project may send requests or mail, or uses PostgreSQL"
                    .to_owned()
            }
            _ => "to any TCP port".to_owned(),
        },
        Connections::Ports(ports) => {
            let ports: Vec<_> = ports.iter().map(u16::to_string).collect();
            format!("to these TCP ports only: {}", ports.join(", "))
        }
    };
    line(&format!("\nConnections that it may begin: {connections}."));
    line(
        "Connections that it accepts: those of the sockets that are open. It binds no other TCP port.",
    );
    line(
        "\nIt may not start programs or processes, trace or signal others, mount, load modules, or change the system.",
    );
    let root = config.base.project.root();
    let is_written = |one: &sampan_sandbox::PathGrant| {
        one.access == Access::Write && root.starts_with(&one.path)
    };
    if config.base.project.archive().is_none()
        && let Some(one) = grants.paths.iter().find(|one| is_written(one))
    {
        line(&format!(
            "\nThe project itself can be written, because {} lies in its folder. To keep its files read-only, give the \
             database a folder of its own: [db] path = \"data/data.db\".",
            one.reason
        ));
    }
    match kernel.missing() {
        None => line("\nThis kernel can do all of it."),
        Some(missing) => {
            line(&format!("\nThis kernel cannot do all of it: {missing}."));
            line(match settings.is_required {
                true => "The server does not start: [sandbox] required = true.",
                false => "The server starts, and says so.",
            });
        }
    }
    text
}
