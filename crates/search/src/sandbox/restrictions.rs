//! Restrictions on a child, by Landlock (files, ports, signals) and seccomp (system calls). Everything that the system
//! offers is used; what it lacks is reported.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, Scope, path_beneath_rules,
};
use libc::{c_long, *};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use super::missing_restriction::MissingRestriction;

/// Newest Landlock version known here. Older systems support fewer rules.
const LANDLOCK_ABI: ABI = ABI::V9;

/// Directories of programs and their data. `/usr/local` and `/etc` are not included as a whole, because they may
/// contain other data and settings.
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
/// Files that exist on every system and are not secret.
const COMMON: [&str; 7] = [
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/nsswitch.conf",
    "/etc/passwd",
    "/dev/urandom",
    "/dev/random",
    "/dev/zero",
];
/// Subdirectory of LibreOffice's installation that contains its programs.
const PROGRAM: &str = "program";

/// System calls of a reading child: memory, its open files, its own end. All others are refused.
const FOR_READING: [c_long; 36] = [
    SYS_read,
    SYS_readv,
    SYS_write,
    SYS_writev,
    SYS_lseek,
    SYS_close,
    SYS_fstat,
    SYS_statx,
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

/// System calls that no program needs to convert a document, and that could evade the limits and the process group,
/// leave something behind, or reach deep into the system.
const DENIED_CALLS: [c_long; 54] = [
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
    SYS_shmget,
    SYS_shmat,
    SYS_semget,
    SYS_msgget,
    SYS_mq_open,
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
    SYS_memfd_create,
    SYS_memfd_secret,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_process_madvise,
    SYS_setrlimit,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
];

/// System calls that send signals. Landlock refuses signals to other processes only from Linux 6.12 on.
const SIGNALLING: [c_long; 5] = [SYS_kill, SYS_tkill, SYS_tgkill, SYS_rt_sigqueueinfo, SYS_rt_tgsigqueueinfo];

/// Bit in the numbers of the system calls of x32, which a list of x86-64 numbers does not cover.
#[cfg(target_arch = "x86_64")]
const X32_CALLS: u32 = 0x4000_0000;

/// System calls that start processes and threads, or connect to others.
#[cfg(target_arch = "x86_64")]
const STARTING: [c_long; 6] = [SYS_fork, SYS_vfork, SYS_clone, SYS_clone3, SYS_socket, SYS_socketpair];
#[cfg(not(target_arch = "x86_64"))]
const STARTING: [c_long; 4] = [SYS_clone, SYS_clone3, SYS_socket, SYS_socketpair];

/// Restricts this process to reading its open files and writing its answer. Returns the restrictions that the system
/// lacks.
pub fn for_reading() -> Vec<MissingRestriction> {
    let mut lacks = lacks_of(apply_landlock(&[], &[], &[]));
    let own = u64::from(std::process::id());
    let filter = || {
        let mut calls: BTreeMap<_, _> = FOR_READING.into_iter().map(|call| (call, Vec::new())).collect();
        // A process that has to abort sends a signal to itself.
        calls.insert(SYS_tgkill, vec![SeccompRule::new(vec![is(0, SeccompCmpOp::Eq, own)?])?]);
        // Other commands could make the system send signals to other processes.
        let command = |command: c_int| SeccompRule::new(vec![is(1, SeccompCmpOp::Eq, command as u64)?]);
        calls.insert(SYS_fcntl, vec![command(F_GETFD)?, command(F_GETFL)?, command(F_DUPFD_CLOEXEC)?]);
        calls.insert(SYS_mmap, private_mappings()?);
        filter(calls, SeccompAction::Errno(EPERM as u32), SeccompAction::Allow)
    };
    lacks.extend((!apply([filter()])).then_some(MissingRestriction::Calls));
    lacks
}

/// Bars this process, and the program that it is about to start, from the network, from other files and from writing
/// outside its own directory. Returns the restrictions that the system lacks.
pub fn for_a_program(place: &Path, program: &Path) -> Vec<MissingRestriction> {
    let written = [place.to_owned(), PathBuf::from("/dev/null")];
    let mut lacks = lacks_of(apply_landlock(&may_run(program), &common(), &written));
    let refused = || {
        let mut calls = denied_calls()?;
        // The only sockets allowed are local stream sockets, which connect the program's own parts.
        let local = SeccompRule::new(vec![is(0, SeccompCmpOp::Ne, AF_UNIX as u64)?])?;
        let stream = SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xf), SOCK_DGRAM as u64)?])?;
        let packet = SeccompRule::new(vec![is(1, SeccompCmpOp::MaskedEq(0xf), SOCK_RAW as u64)?])?;
        calls.insert(SYS_socket, vec![local, stream, packet]);
        let user = CLONE_NEWUSER as u64;
        calls.insert(SYS_clone, vec![SeccompRule::new(vec![is(0, SeccompCmpOp::MaskedEq(user), user)?])?]);
        // All processes, and the server.
        let everyone = SeccompRule::new(vec![is(0, SeccompCmpOp::Eq, u64::from(u32::MAX))?])?;
        let server = SeccompRule::new(vec![is(0, SeccompCmpOp::Eq, u64::from(parent_id()))?])?;
        calls.insert(SYS_kill, vec![everyone, server.clone()]);
        calls.extend([SYS_tkill, SYS_tgkill].map(|call| (call, vec![server.clone()])));
        // Landlock does not affect `access`, which reports writability from the file mode. LibreOffice checks `/tmp`
        // that way and would put a pipe there, which would then fail. If the check is refused, it uses the configured
        // directory.
        let writable = |at| SeccompRule::new(vec![is(at, SeccompCmpOp::Eq, W_OK as u64)?]);
        #[cfg(target_arch = "x86_64")]
        calls.insert(SYS_access, vec![writable(1)?]);
        calls.insert(SYS_faccessat, vec![writable(2)?]);
        calls.insert(SYS_faccessat2, vec![writable(2)?]);
        filter(calls, SeccompAction::Allow, SeccompAction::Errno(EPERM as u32))
    };
    // The arguments of `clone3` lie in memory, where a filter cannot see them. A program that gets ENOSYS falls back to
    // `clone`.
    let newer = || {
        let calls = BTreeMap::from([(SYS_clone3, Vec::new())]);
        filter(calls, SeccompAction::Allow, SeccompAction::Errno(ENOSYS as u32))
    };
    lacks.extend((!apply([refused(), newer()])).then_some(MissingRestriction::Calls));
    lacks
}

/// Bars this process, and the program that it is about to become, from the network, from other files, from writing
/// files and from starting processes and threads. Returns the restrictions that the system lacks.
pub fn for_a_piped_program(program: &Path) -> Vec<MissingRestriction> {
    let mut lacks = lacks_of(apply_landlock(&may_run(program), &common(), &[PathBuf::from("/dev/null")]));
    let refused = || {
        let mut calls = denied_calls()?;
        calls.extend(STARTING.map(|call| (call, Vec::new())));
        // The process keeps its identifier when it becomes the program.
        let other = SeccompRule::new(vec![is(0, SeccompCmpOp::Ne, u64::from(std::process::id()))?])?;
        calls.extend(SIGNALLING.map(|call| (call, vec![other.clone()])));
        calls.insert(SYS_mmap, vec![shared_memory()?]);
        // It must not survive the server.
        let unbound = SeccompRule::new(vec![is(0, SeccompCmpOp::Eq, PR_SET_PDEATHSIG as u64)?])?;
        calls.insert(SYS_prctl, vec![unbound]);
        filter(calls, SeccompAction::Allow, SeccompAction::Errno(EPERM as u32))
    };
    lacks.extend((!apply([refused()])).then_some(MissingRestriction::Calls));
    lacks
}

/// The directories and files that a program may read and start.
fn may_run(program: &Path) -> Vec<PathBuf> {
    let real_program = real(program);
    let mut may_run: Vec<PathBuf> = PROGRAMS.map(PathBuf::from).into();
    may_run.extend([program.to_owned(), real_program.clone()]);
    if let Some(programs) = real_program.parent().filter(|folder| folder.ends_with(PROGRAM)) {
        may_run.extend(programs.parent().map(Path::to_owned));
    }
    may_run
}

fn common() -> Vec<PathBuf> {
    COMMON.map(PathBuf::from).into()
}

/// System calls that are denied to every program. Resource limits may be queried, but not set.
fn denied_calls() -> std::result::Result<BTreeMap<c_long, Vec<SeccompRule>>, BackendError> {
    let mut calls: BTreeMap<_, _> = DENIED_CALLS.into_iter().map(|call| (call, Vec::new())).collect();
    let set = SeccompCondition::new(2, SeccompCmpArgLen::Qword, SeccompCmpOp::Ne, 0)?;
    calls.insert(SYS_prlimit64, vec![SeccompRule::new(vec![set])?]);
    Ok(calls)
}

/// Matches new memory that can be shared with other processes. `RLIMIT_DATA` does not count it.
fn shared_memory() -> std::result::Result<SeccompRule, BackendError> {
    let shared = (MAP_SHARED | MAP_ANONYMOUS) as u64;
    SeccompRule::new(vec![is(3, SeccompCmpOp::MaskedEq(shared), shared)?])
}

/// Matches new memory that cannot be shared.
fn private_mappings() -> std::result::Result<Vec<SeccompRule>, BackendError> {
    Ok(vec![SeccompRule::new(vec![is(3, SeccompCmpOp::MaskedEq(MAP_SHARED as u64), 0)?])?])
}

fn parent_id() -> u32 {
    std::os::unix::process::parent_id()
}

type Built = std::result::Result<BpfProgram, BackendError>;

fn is(argument: u8, operator: SeccompCmpOp, value: u64) -> std::result::Result<SeccompCondition, BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

fn filter(calls: BTreeMap<c_long, Vec<SeccompRule>>, others: SeccompAction, these: SeccompAction) -> Built {
    SeccompFilter::new(calls, others, these, std::env::consts::ARCH.try_into()?)?.try_into()
}

fn apply<const N: usize>(filters: [Built; N]) -> bool {
    #[cfg(target_arch = "x86_64")]
    if seccompiler::apply_filter(&no_x32_calls()).is_err() {
        return false;
    }
    filters.into_iter().all(|filter| filter.is_ok_and(|filter| seccompiler::apply_filter(&filter).is_ok()))
}

/// A program for the kernel's filter machine that ends a process which uses a system call of x32, see seccomp(2).
#[cfg(target_arch = "x86_64")]
fn no_x32_calls() -> BpfProgram {
    let step = |code: u32, k: u32, (jt, jf): (u8, u8)| sock_filter { code: code as u16, jt, jf, k };
    vec![
        // The number of the call is the first field of `seccomp_data`.
        step(BPF_LD | BPF_W | BPF_ABS, 0, (0, 0)),
        step(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, (0, 1)),
        step(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS, (0, 0)),
        step(BPF_RET | BPF_K, SECCOMP_RET_ALLOW, (0, 0)),
    ]
}

/// Restricts the process by Landlock to these files, without any ports, and without sockets and signals of other
/// processes.
fn apply_landlock(
    run: &[PathBuf],
    read: &[PathBuf],
    write: &[PathBuf],
) -> std::result::Result<RestrictionStatus, RulesetError> {
    Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK_ABI))?
        .handle_access(AccessNet::from_all(LANDLOCK_ABI))?
        .scope(Scope::from_all(LANDLOCK_ABI))?
        .create()?
        .add_rules(path_beneath_rules(run, AccessFs::from_read(LANDLOCK_ABI)))?
        .add_rules(path_beneath_rules(read, AccessFs::ReadFile))?
        .add_rules(path_beneath_rules(write, AccessFs::from_all(LANDLOCK_ABI) & !AccessFs::Execute))?
        .restrict_self()
}

fn lacks_of(restricted: std::result::Result<RestrictionStatus, RulesetError>) -> Vec<MissingRestriction> {
    match restricted.map(|status| status.landlock) {
        Ok(LandlockStatus::Available { effective_abi, .. }) if effective_abi >= ABI::V6 => Vec::new(),
        Ok(LandlockStatus::Available { .. }) => vec![MissingRestriction::Signals],
        _ => vec![MissingRestriction::Files, MissingRestriction::Signals],
    }
}

/// Resolves the real path of a file; returns the path itself if that fails.
fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
