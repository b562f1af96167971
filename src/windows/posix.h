/* windows/posix.h: POSIX functions that Mica calls and that MinGW-w64 lacks or implements differently.
 *
 * The compiler includes it before every source of a build for Windows. The sources are written for POSIX: each function
 * here has a name of Mica's, and a macro gives it its POSIX name. Headers that MinGW-w64 lacks are in windows/include
 * and include this one.
 *
 * Paths are in the process's code page, which is UTF-8 in the command (windows/command), with "/" or "\\" between
 * names; Mica splits them at "/". Files are opened in binary mode, and other processes may rename and delete them.
 * There are no owners, and "read-only" is the only permission: every file belongs to user 0, who runs the program, and
 * the system's access lists decide who else can read it. */
#ifndef MICA_WINDOWS_POSIX_H
#define MICA_WINDOWS_POSIX_H

/* For gmtime_r and localtime_r. NOLINTNEXTLINE(bugprone-reserved-identifier): the system's own switch */
#define _POSIX_THREAD_SAFE_FUNCTIONS

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <locale.h>
#include <math.h>
#include <process.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

/* Replaces MinGW-w64's macros. Each of them has a branch that converts to float; the compiler sees it even if another
 * branch is chosen. */
#undef isnan
#undef isinf
#undef isfinite
#undef signbit
#define isnan(x) __builtin_isnan(x)
#define isinf(x) __builtin_isinf(x)
#define isfinite(x) __builtin_isfinite(x)
#define signbit(x) __builtin_signbit(x)

/* --- files --- */

/* Flags that MinGW-w64 lacks, in bits that its own flags do not use. */
#define O_CLOEXEC 0x01000000
#define O_NOFOLLOW 0x02000000
#define O_DIRECTORY 0x04000000
#define O_NONBLOCK 0x08000000
#define O_NOCTTY 0
#define AT_FDCWD (-100)
#define AT_SYMLINK_NOFOLLOW 0x100
#define AT_REMOVEDIR 0x200

#ifndef S_IFLNK
#define S_IFLNK 0xA000
#endif
#undef S_ISLNK
#define S_ISLNK(mode) (((mode)&S_IFMT) == S_IFLNK)
#ifndef S_ISSOCK
#define S_ISSOCK(mode) 0
#endif

struct mica__posix_stat {
  uint64_t st_dev, st_ino; /* the volume, and the file's index on it */
  unsigned st_mode, st_nlink, st_uid, st_gid;
  int64_t st_size;
  struct timespec st_atim, st_mtim, st_ctim;
};
#undef st_atime
#undef st_mtime
#undef st_ctime
#define st_atime st_atim.tv_sec
#define st_mtime st_mtim.tv_sec
#define st_ctime st_ctim.tv_sec

/* Like POSIX: 0, a descriptor or a number of bytes; or -1 and errno. A directory can be opened, queried with fstat,
 * locked, and used as the base of names. */
int mica__posix_open(const char *path, int flags, ...);
int mica__posix_openat(int at, const char *path, int flags, ...);
int mica__posix_close(int file);
int mica__posix_stat(const char *path, struct mica__posix_stat *about);
int mica__posix_lstat(const char *path, struct mica__posix_stat *about);
int mica__posix_fstat(int file, struct mica__posix_stat *about);
int mica__posix_fstatat(int at, const char *path, struct mica__posix_stat *about, int flags);
ssize_t mica__posix_read(int file, void *data, size_t bytes);
ssize_t mica__posix_write(int file, const void *data, size_t bytes);
ssize_t mica__posix_pread(int file, void *data, size_t bytes, int64_t at);
int mica__posix_fsync(int file);
int mica__posix_mkdir(const char *path, unsigned mode);
int mica__posix_rename(const char *from, const char *to);
int mica__posix_renameat(int from_at, const char *from, int to_at, const char *to);
int mica__posix_unlink(const char *path);
int mica__posix_unlinkat(int at, const char *path, int flags);
int mica__posix_access(const char *path, int how);
int mica__posix_faccessat(int at, const char *path, int how, int flags);
/* Sets both times to now; EINVAL for other times. */
int mica__posix_utimensat(int at, const char *path, const struct timespec times[2], int flags);
/* Links are not supported: symlink fails with ENOSYS, readlink with EINVAL. */
int mica__posix_symlink(const char *target, const char *path);
ssize_t mica__posix_readlink(const char *path, char *target, size_t bytes);
char *mica__posix_realpath(const char *path, char *whole);
char *mica__posix_mkdtemp(char *path);
FILE *mica__posix_fopen(const char *path, const char *mode);
FILE *mica__posix_fdopen(int file, const char *mode);
int mica__posix_pipe(int ends[2]);

#undef stat
#define stat mica__posix_stat
#define lstat mica__posix_lstat
#undef fstat
#define fstat mica__posix_fstat
#define fstatat mica__posix_fstatat
#define open mica__posix_open
#define openat mica__posix_openat
#define close mica__posix_close
#define read mica__posix_read
#define write mica__posix_write
#define pread mica__posix_pread
#define fsync mica__posix_fsync
#define mkdir mica__posix_mkdir
#define rename mica__posix_rename
#define renameat mica__posix_renameat
#define unlink mica__posix_unlink
#define remove mica__posix_unlink
#define unlinkat mica__posix_unlinkat
#define access mica__posix_access
#define faccessat mica__posix_faccessat
#define utimensat mica__posix_utimensat
#define symlink mica__posix_symlink
#define readlink mica__posix_readlink
#define realpath mica__posix_realpath
#define mkdtemp mica__posix_mkdtemp
#define fopen mica__posix_fopen
#define fdopen mica__posix_fdopen
#define pipe mica__posix_pipe

/* Only what Mica uses: F_GETFD and F_GETFL check that the descriptor is open, F_SETFD and F_SETFL do nothing, and
 * F_DUPFD_CLOEXEC makes another descriptor. */
enum { F_GETFD = 1, F_SETFD, F_GETFL, F_SETFL, F_DUPFD_CLOEXEC };
#define FD_CLOEXEC 1
int mica__posix_fcntl(int file, int what, ...);
#define fcntl mica__posix_fcntl

/* Locks that end with the descriptor. On a directory a shared lock is exclusive too. */
enum { LOCK_SH = 1, LOCK_EX = 2, LOCK_NB = 4, LOCK_UN = 8 };
int mica__posix_flock(int file, int how);
#define flock mica__posix_flock

/* --- pages --- */

enum { PROT_NONE = 0, PROT_READ = 1, PROT_WRITE = 2 };
enum { MAP_SHARED = 1, MAP_PRIVATE = 2, MAP_ANONYMOUS = 0x20 };
#define MAP_FAILED ((void *)-1)
void *mica__posix_mmap(void *where, size_t bytes, int protection, int flags, int file, int64_t from);
int mica__posix_munmap(void *pages, size_t bytes);
#define mmap mica__posix_mmap
#define munmap mica__posix_munmap

/* --- the process and its host --- */

enum { _SC_NPROCESSORS_ONLN = 1, _SC_PAGESIZE, _SC_PHYS_PAGES };
long mica__posix_sysconf(int what);
#define sysconf mica__posix_sysconf

int mica__posix_setenv(const char *name, const char *value, int overwrite);
int mica__posix_unsetenv(const char *name);
int mica__posix_gethostname(char *name, size_t bytes);
#define setenv mica__posix_setenv
#define unsetenv mica__posix_unsetenv
#define gethostname mica__posix_gethostname
#define geteuid() 0u
#define getegid() 0u
#define getuid() 0u
/* winpthreads' version returns at once for less than a millisecond, so a thread that polls would occupy a core. */
int mica__posix_nanosleep(const struct timespec *time, struct timespec *left);
#define nanosleep mica__posix_nanosleep
/* There is no fork. */
#undef pthread_atfork
#define pthread_atfork(before, parent, child) mica__posix_no_fork(child)
int mica__posix_no_fork(void (*child)(void));

/* A locale is "C" or NULL. mica__posix_uselocale sets the thread's locale, and returns the value that restores the
 * earlier one. */
typedef const char *mica__locale;
#define locale_t mica__locale
#define LC_ALL_MASK 0
mica__locale mica__posix_uselocale(mica__locale locale);
#define newlocale(mask, name, base) ((mica__locale)(name))
#define uselocale mica__posix_uselocale
#define freelocale(locale) ((void)(locale))

/* Signals: Ctrl-C arrives as SIGINT. Windows sends no SIGTERM, and the signals defined here never arrive. */
#define SIGHUP 101
#define SIGPIPE 102
#define SIGKILL 103
#define SIGALRM 104
#define SIGTRAP 105
#define SIGBUS 106
struct mica__posix_sigaction {
  void (*sa_handler)(int);
  int sa_mask, sa_flags;
};
int mica__posix_sigaction(int number, const struct mica__posix_sigaction *action, struct mica__posix_sigaction *before);
void (*mica__posix_signal(int number, void (*handler)(int)))(int);
#define sigaction mica__posix_sigaction
#define signal(number, handler) mica__posix_signal(number, handler)
#define sigset_t int
#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2
/* Stubs: no thread blocks signals or waits for them. */
int mica__posix_no_signals(int *set);
int mica__posix_set_signal(const int *set, int number);
int mica__posix_take_signal(const int *set, int *number);
int mica__posix_block_signals(int how, const int *set, int *before);
#define sigemptyset mica__posix_no_signals
#define sigfillset mica__posix_no_signals
#define sigpending mica__posix_no_signals
#define sigaddset mica__posix_set_signal
#define sigdelset mica__posix_set_signal
#define sigismember mica__posix_set_signal
#define sigwait mica__posix_take_signal
#undef pthread_sigmask
#define pthread_sigmask mica__posix_block_signals

/* --- other processes: what posix_spawn does with a child's first three descriptors --- */

enum { MICA__SPAWN_FILES = 3 };
typedef struct mica__spawn {
  int files[MICA__SPAWN_FILES]; /* the parent's descriptor plus 1; 0: the same as the parent's */
} posix_spawn_file_actions_t;
int mica__posix_spawn_init(posix_spawn_file_actions_t *actions);
int mica__posix_spawn_destroy(posix_spawn_file_actions_t *actions);
int mica__posix_spawn_adddup2(posix_spawn_file_actions_t *actions, int from, int to);
/* Does nothing, because a child inherits only the descriptors in `files`. */
int mica__posix_spawn_addclose(posix_spawn_file_actions_t *actions, int file);
#define posix_spawn_file_actions_init mica__posix_spawn_init
#define posix_spawn_file_actions_destroy mica__posix_spawn_destroy
#define posix_spawn_file_actions_adddup2 mica__posix_spawn_adddup2
#define posix_spawn_file_actions_addclose mica__posix_spawn_addclose
/* "/proc/self/exe" is this program. The child inherits only the descriptors in `files`. */
int mica__posix_spawn(pid_t *process, const char *program, const posix_spawn_file_actions_t *actions,
                      char *const words[], char *const environment[]);
/* Waits for a child that this library or program has spawned: each has a list of its own. */
pid_t mica__posix_waitpid(pid_t process, int *how, int options);
/* Signal 0 checks that a process with this number exists; any other signal ends a child, as in waitpid. */
int mica__posix_kill(pid_t process, int number);
#define posix_spawn(process, program, actions, attributes, words, environment)                                         \
  ((void)(attributes), mica__posix_spawn(process, program, actions, words, environment))
#define waitpid mica__posix_waitpid
#define kill mica__posix_kill
#define WNOHANG 1
#define WIFEXITED(how) (((how)&0x100) == 0)
#define WEXITSTATUS(how) ((how)&0xff)
#define WIFSIGNALED(how) (((how)&0x100) != 0)
#define WTERMSIG(how) ((how)&0xff)

struct pollfd {
  int fd;
  short events, revents;
};
enum { POLLIN = 1, POLLHUP = 2, POLLNVAL = 4 };
/* Waits until one descriptor, a pipe, can be read. Files are always ready. */
int mica__posix_poll(struct pollfd *files, unsigned count, int milliseconds);
#define poll mica__posix_poll

/* --- more of the host --- */

enum { RUSAGE_SELF = 0 };
struct rusage {
  long ru_maxrss; /* KiB */
};
int mica__posix_getrusage(int of, struct rusage *usage);
#define getrusage mica__posix_getrusage
/* Random bytes from the system. */
ssize_t mica__posix_getrandom(void *bytes, size_t count, unsigned flags);
#define getrandom mica__posix_getrandom
#define GRND_NONBLOCK 1
void *mica__posix_dlopen(const char *library, int how);
void *mica__posix_dlsym(void *library, const char *name);
#define dlopen mica__posix_dlopen
#define dlsym mica__posix_dlsym
#define RTLD_NOW 2
/* Always ENOSYS: a process cannot be made to end with its parent. */
enum { PR_SET_PDEATHSIG = 1 };
int mica__posix_prctl(int what, int value);
#define prctl mica__posix_prctl

/* --- texts --- */

#define FNM_NOMATCH 1
/* Supports '*', '?' and '[...]', which match '/' too. */
int mica__posix_fnmatch(const char *pattern, const char *text, int flags);
#define fnmatch mica__posix_fnmatch
char *mica__posix_strndup(const char *text, size_t most);
#define strndup mica__posix_strndup
ssize_t mica__posix_getline(char **line, size_t *room, FILE *stream);
#define getline mica__posix_getline
/* A stream whose content fclose stores in *text and *bytes. Until then it is a temporary file. */
FILE *mica__posix_open_memstream(char **text, size_t *bytes);
int mica__posix_fclose(FILE *stream);
#define open_memstream mica__posix_open_memstream
#define fclose mica__posix_fclose

#endif
