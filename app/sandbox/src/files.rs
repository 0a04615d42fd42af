//! Landlock: files, TCP ports, and signals to other processes.

use crate::grants::{Access, Connections, Grants, PathGrant};
use crate::kernel::{self, Kernel};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus,
    Scope, make_bitflags,
};

/// Restricts the calling thread. Returns the version of Landlock's interface that is in force.
///
/// # Errors
/// Nothing is in force: the reason, as a part of a sentence.
pub(crate) fn restrict(grants: &Grants, kernel: &Kernel) -> Result<u32, String> {
    let abi = kernel.abi();
    if abi == ABI::Unsupported {
        return Err(kernel::NO_LANDLOCK.to_owned());
    }
    let told = |error: RulesetError| format!("files and ports are not confined: {error}");
    let status = ruleset(grants, abi)
        .and_then(RulesetCreated::restrict_self)
        .map_err(told)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(kernel::NO_LANDLOCK.to_owned()),
        _ => Ok(kernel::version(status.landlock).min(kernel.landlock)),
    }
}

fn ruleset(grants: &Grants, abi: ABI) -> Result<RulesetCreated, RulesetError> {
    let mut ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(abi))?;
    if abi >= ABI::V4 {
        let mut handled: BitFlags<AccessNet> = AccessNet::BindTcp.into();
        if let Connections::Ports(_) = grants.connections {
            handled |= AccessNet::ConnectTcp;
        }
        ruleset = ruleset.handle_access(handled)?;
    }
    if abi >= ABI::V6 {
        let mut scope: BitFlags<Scope> = Scope::Signal.into();
        if !grants.reaches_abstract_sockets {
            scope |= Scope::AbstractUnixSocket;
        }
        ruleset = ruleset.scope(scope)?;
    }
    let mut ruleset = ruleset.create()?;
    for grant in &grants.paths {
        // A path that does not exist, or that this user cannot reach, grants nothing.
        if let Ok(opened) = PathFd::new(&grant.path) {
            ruleset = ruleset.add_rule(PathBeneath::new(opened, rights(grant, abi)))?;
        }
    }
    if abi >= ABI::V4
        && let Connections::Ports(ports) = &grants.connections
    {
        for port in ports {
            ruleset = ruleset.add_rule(NetPort::new(*port, AccessNet::ConnectTcp))?;
        }
    }
    Ok(ruleset)
}

/// Returns the rights of a grant: those for folders only where it is one.
fn rights(grant: &PathGrant, abi: ABI) -> BitFlags<AccessFs> {
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let rights = match grant.access {
        Access::Remove => AccessFs::RemoveFile.into(),
        Access::Read => read,
        Access::Temporary => make_bitflags!(AccessFs::{
            ReadFile | WriteFile | MakeReg | RemoveFile | Truncate
        }),
        Access::Write => {
            read | make_bitflags!(AccessFs::{
                WriteFile | MakeReg | MakeDir | RemoveFile | RemoveDir | Refer | Truncate
            })
        }
    };
    let known = match grant.path.is_dir() {
        true => AccessFs::from_all(abi),
        false => AccessFs::from_file(abi),
    };
    rights & known
}
