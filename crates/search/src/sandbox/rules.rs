//! What a child may ask of the system, by Landlock (files, ports, signals) and seccomp (calls). Whatever the system has of both is used; what it
//! lacks is told.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};
use libc::{c_long, *};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use super::lack::Lack;

/// The newest rules of Landlock that are known here; older systems have fewer.
const KNOWN: ABI = ABI::V9;

/// Where programs and what belongs to them are. Neither `/usr/local` nor `/etc` as a whole: data and settings of others may lie there.
const PROGRAMS: [&str; 19] = [
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/usr/bin",
    "/usr/sbin",
    "/usr/lib",
    "/usr/lib32",
    "/usr/lib64",
    "/usr/libexec",
    "/usr/share",
    "/usr/local/share/fonts",
    "/etc/alternatives",
    "/etc/fonts",
    "/etc/libreoffice",
    "/var/cache/fontconfig",
    "/var/lib/libreoffice",
    "/var/spool/libreoffice",
];
/// What is in every system and nobody's secret.
const COMMON: [&str; 7] = [
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
];
/// Where LibreOffice's programs lie in its directory.
const PROGRAM: &str = "program";

/// Calls of a child that reads: memory, the files that it has, its own end. Everything else is refused.
const FOR_READING: [c_long; 38] = [
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_statx,
    SYS_fcntl,
    SYS_mmap,
    SYS_munmap,
    SYS_mremap,
    SYS_mprotect,
    SYS_madvise,
    SYS_brk,
    SYS_futex,
    SYS_exit,
    SYS_exit_group,
    SYS_rt_sigreturn,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_sigaltstack,
    SYS_getrandom,
    SYS_clock_gettime,
    SYS_gettimeofday,
    SYS_sched_yield,
    SYS_sched_getaffinity,
    SYS_getpid,
    SYS_gettid,
    SYS_getrusage,
    SYS_getrlimit,
    SYS_setrlimit,
    SYS_restart_syscall,
    SYS_membarrier,
    SYS_rseq,
    SYS_set_robust_list,
    SYS_dup,
    SYS_ppoll,
];

/// Calls that no program needs to convert a document, and that lead out of limits and groups or deep into the system.
const NEVER: [c_long; 44] = [
    SYS_connect,
    SYS_setsid,
    SYS_setpgid,
    SYS_setns,
    SYS_unshare,
    SYS_mount,
    SYS_umount2,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_pivot_root,
    SYS_chroot,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_pidfd_getfd,
    SYS_pidfd_send_signal,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_open_by_handle_at,
    SYS_setrlimit,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
];

/// Keeps this process from everything but reading what is open and answering. Gives what the system cannot keep it from.
pub fn for_reading() -> Vec<Lack> {
    let mut lacks = lacks_of(land(&[], &[], &[]));
    let own = u64::from(std::process::id());
    let filter = || {
        let mut calls: BTreeMap<_, _> = FOR_READING.into_iter().map(|call| (call, Vec::new())).collect();
        // A signal to itself is how a process ends that cannot go on.
        calls.insert(SYS_tgkill, vec![SeccompRule::new(vec![is(0, SeccompCmpOp::Eq, own)?])?]);
        filter(calls, SeccompAction::Errno(EPERM as u32), SeccompAction::Allow)
    };
    lacks.extend((!apply([filter()])).then_some(Lack::Calls));
    lacks
}

/// Keeps this process, and the program that it is about to start, from the network, from files of others and from writing outside its place.
pub fn for_a_program(place: &Path, program: &Path) -> Vec<Lack> {
    let real_program = real(program);
    let mut may_run: Vec<PathBuf> = PROGRAMS.map(PathBuf::from).into();
    may_run.extend([program.to_owned(), real_program.clone()]);
    if let Some(programs) = real_program.parent().filter(|folder| folder.ends_with(PROGRAM)) {
        may_run.extend(programs.parent().map(Path::to_owned));
    }
    let common: Vec<PathBuf> = COMMON.map(PathBuf::from).into();
    let mut lacks = lacks_of(land(&may_run, &common, &[place.to_owned(), PathBuf::from("/dev/null")]));
    let refused = || {
        let mut calls: BTreeMap<_, _> = NEVER.into_iter().map(|call| (call, Vec::new())).collect();
        // Pipes between its own parts are all that it has of sockets.
        let local = SeccompRule::new(vec![is(0, SeccompCmpOp::Ne, AF_UNIX as u64)?])?;
        let stream = SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xf), SOCK_DGRAM as u64)?])?;
        let packet = SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xf), SOCK_RAW as u64)?])?;
        calls.insert(SYS_socket, vec![local, stream, packet]);
        let user = CLONE_NEWUSER as u64;
        calls.insert(SYS_clone, vec![SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(user), user)?])?]);
        // Whether a file may be written is answered by its mode, not by Landlock. LibreOffice asks that of `/tmp`, where it would put a pipe and
        // could not; refused, it puts it where it is told.
        let writable = |at| SeccompRule::new(vec![is(at, SeccompCmpOp::Eq, W_OK as u64)?]);
        #[cfg(target_arch = "x86_64")]
        calls.insert(SYS_access, vec![writable(1)?]);
        calls.insert(SYS_faccessat, vec![writable(2)?]);
        calls.insert(SYS_faccessat2, vec![writable(2)?]);
        // Limits may be asked for, not set.
        let set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
        calls.insert(SYS_prlimit64, vec![SeccompRule::new(vec![set])?]);
        filter(calls, SeccompAction::Allow, SeccompAction::Errno(EPERM as u32))
    };
    // What it asks for lies in memory, where no filter sees it; who is told that there is no such call uses `clone`.
    let newer = || {
        let calls = BTreeMap::from([(SYS_clone3, Vec::new())]);
        filter(calls, SeccompAction::Allow, SeccompAction::Errno(ENOSYS as u32))
    };
    lacks.extend((!apply([refused(), newer()])).then_some(Lack::Calls));
    lacks
}

type Built = std::result::Result<BpfProgram, BackendError>;

fn is(argument: u8, operator: SeccompCmpOp, value: u64) -> std::result::Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn filter(calls: BTreeMap<c_long, Vec<SeccompRule>>, others: SeccompAction, these: SeccompAction) -> Built {
    SeccompFilter::new(calls, others, these, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn apply<const N: usize>(filters: [Built; N]) -> bool {
    filters.into_iter().all(|filter| filter.is_ok_and(|filter| seccompiler::apply_filter(&filter).is_ok()))
}

/// Leaves of the files only these, and of ports, sockets and signals of others nothing.
fn land(run: &[PathBuf], read: &[PathBuf], write: &[PathBuf]) -> std::result::Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(run, AccessFs::from_read(KNOWN)))?
        .add_rules(path_beneath_rules(read, AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(KNOWN) & !AccessFs::Execute))?
        .restrict_self()
}

fn lacks_of(restricted: std::result::Result<RestrictionStatus, RulesetError>) -> Vec<Lack> {
    match restricted.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) if effective_abi >= ABI::V6 => Vec::new(),
        Ok(LandlockStatus::Available { .. }) => vec![Lack::Signals],
        _ => vec![Lack::Files, Lack::Signals],
    }
}

/// Where what is at this path really is; the path itself when nobody can tell.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
