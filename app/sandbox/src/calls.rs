//! seccomp: system calls that a server never makes. They fail with `EPERM`, as where a user may not make them.

use crate::kernel::{Kernel, NO_SECCOMP};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Calls that start other programs, look into other processes, change the system, or reach parts of the kernel that
/// filters cannot see into.
const REFUSED: &[libc::c_long] = &[
    // Other programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    // Namespaces and mounts.
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_open_by_handle_at,
    libc::SYS_name_to_handle_at,
    // The kernel and the machine.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_vhangup,
    // Parts of the kernel that are large and that servers have no use for.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_personality,
    libc::SYS_lookup_dcookie,
    libc::SYS_fanotify_init,
    libc::SYS_mknodat,
    libc::SYS_move_pages,
    libc::SYS_migrate_pages,
    libc::SYS_set_mempolicy,
    libc::SYS_vmsplice,
];

/// Calls that only x86-64 has.
#[cfg(target_arch = "x86_64")]
const REFUSED_HERE: &[libc::c_long] = &[
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_mknod,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_kexec_file_load,
    libc::SYS_uselib,
    libc::SYS_ustat,
    libc::SYS_sysfs,
    libc::SYS__sysctl,
];
#[cfg(not(target_arch = "x86_64"))]
const REFUSED_HERE: &[libc::c_long] = &[];

/// The bit of the numbers by which programs with 32-bit pointers make calls on x86-64, and numbers that only those
/// have: `execve`, `ptrace`, `execveat`, `process_vm_readv` and `process_vm_writev`, `kexec_load`, `vmsplice`,
/// `move_pages`.
#[cfg(target_arch = "x86_64")]
const X32: (libc::c_long, &[libc::c_long]) =
    (0x4000_0000, &[520, 521, 545, 539, 540, 528, 532, 533]);

/// Refuses the calls, on all threads of the process.
///
/// # Errors
/// The kernel does not take the filter: the reason, as a part of a sentence.
pub(crate) fn refuse(kernel: &Kernel) -> Result<(), String> {
    if !kernel.seccomp {
        return Err(NO_SECCOMP.to_owned());
    }
    for program in programs()? {
        let applied = seccompiler::apply_filter_all_threads(&program);
        applied.map_err(|error| format!("system calls are not refused: {error}"))?;
    }
    Ok(())
}

/// Refuses the calls on this thread alone. Reports whether the kernel has taken that.
pub(crate) fn try_on_thread() -> bool {
    let applied = programs().map(|programs| {
        let mut applied = programs.iter().map(|one| seccompiler::apply_filter(one));
        applied.all(|one| one.is_ok())
    });
    applied.unwrap_or(false)
}

/// The filters: the calls that a server never makes, and the ways to make processes and namespaces.
fn programs() -> Result<[BpfProgram; 2], String> {
    let told = |error: seccompiler::BackendError| format!("system calls are not refused: {error}");
    let arch = TargetArch::try_from(std::env::consts::ARCH).map_err(told)?;
    let mut refused: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED.iter().chain(REFUSED_HERE) {
        refused.insert(*call, Vec::new());
    }
    refused.insert(libc::SYS_clone, processes().map_err(told)?);
    #[cfg(target_arch = "x86_64")]
    {
        let (bit, own) = X32;
        let same = REFUSED.iter().chain(REFUSED_HERE);
        for call in same.chain(own).chain(&[libc::SYS_clone, libc::SYS_clone3]) {
            refused.insert(*call | bit, Vec::new());
        }
    }
    let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    let errno = |number: i32| SeccompAction::Errno(number as u32);
    let compile = |rules, action| {
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, action, arch);
        filter.and_then(BpfProgram::try_from).map_err(told)
    };
    Ok([
        compile(refused, errno(libc::EPERM))?,
        // Its arguments lie in memory, where a filter cannot look. C libraries then take `clone`.
        compile(unknown, errno(libc::ENOSYS))?,
    ])
}

/// The calls of `clone` that make a process in place of a thread, or anything in a namespace of its own.
fn processes() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let thread = libc::CLONE_THREAD as u64;
    let namespaces = [
        libc::CLONE_NEWNS,
        libc::CLONE_NEWCGROUP,
        libc::CLONE_NEWUTS,
        libc::CLONE_NEWIPC,
        libc::CLONE_NEWUSER,
        libc::CLONE_NEWPID,
        libc::CLONE_NEWNET,
    ];
    let is = |mask: u64, value: u64| {
        let op = SeccompCmpOp::MaskedEq(mask);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Qword, op, value)?;
        SeccompRule::new(vec![condition])
    };
    let mut rules = vec![is(thread, 0)?];
    for namespace in namespaces {
        rules.push(is(namespace as u64, namespace as u64)?);
    }
    Ok(rules)
}
