/* POSIX functions for the process, its host, other processes and texts. */
#include "windows/handles.h"

#include <errno.h>
#include <ntsecapi.h>
#include <psapi.h>
#include <stdbool.h>

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 2
#endif

long mica__posix_sysconf(int what) {
  SYSTEM_INFO info;
  MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
  GetSystemInfo(&info);
  switch (what) {
  case _SC_NPROCESSORS_ONLN: return (long)info.dwNumberOfProcessors;
  case _SC_PAGESIZE: return (long)info.dwPageSize;
  case _SC_PHYS_PAGES: return GlobalMemoryStatusEx(&memory) ? (long)(memory.ullTotalPhys / info.dwPageSize) : -1;
  default: return errno = EINVAL, -1;
  }
}

int mica__posix_setenv(const char *name, const char *value, int overwrite) {
  if (!overwrite && getenv(name)) return 0;
  return _putenv_s(name, value) == 0 ? 0 : (errno = ENOMEM, -1);
}

int mica__posix_unsetenv(const char *name) { return _putenv_s(name, "") == 0 ? 0 : (errno = ENOMEM, -1); }

int mica__posix_gethostname(char *name, size_t bytes) {
  DWORD length = (DWORD)bytes;
  return GetComputerNameA(name, &length) ? 0 : mica__posix_fail();
}

/* The thread's previous locale, for the call that restores it. */
static _Thread_local struct {
  int own; /* the thread's mode before the change, from _configthreadlocale */
  bool entered;
  char name[256];
} thread;

mica__locale mica__posix_uselocale(mica__locale locale) {
  if (locale && locale != thread.name) {
    thread.own = _configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
    const char *now = setlocale(LC_NUMERIC, NULL);
    snprintf(thread.name, sizeof thread.name, "%s", now ? now : "C");
    if (strcmp(thread.name, locale) != 0) setlocale(LC_NUMERIC, locale);
    thread.entered = true;
  } else if (locale && thread.entered) {
    if (strcmp(thread.name, "C") != 0) setlocale(LC_NUMERIC, thread.name);
    _configthreadlocale(thread.own);
    thread.entered = false;
  }
  return thread.name;
}

int mica__posix_no_fork(void (*child)(void)) {
  (void)child;
  return 0;
}

int mica__posix_nanosleep(const struct timespec *time, struct timespec *left) {
  const HANDLE sharp = CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION, TIMER_ALL_ACCESS);
  const HANDLE timer = sharp ? sharp : CreateWaitableTimerW(NULL, TRUE, NULL); /* before Windows 10, version 1803 */
  /* A negative time is relative; the unit is 100 ns. */
  const LARGE_INTEGER due = {.QuadPart = -((int64_t)time->tv_sec * 10000000 + (time->tv_nsec + 99) / 100)};
  if (!timer) return mica__posix_fail();
  const bool good =
      SetWaitableTimer(timer, &due, 0, NULL, NULL, FALSE) && WaitForSingleObject(timer, INFINITE) == WAIT_OBJECT_0;
  if (!good) mica__posix_fail();
  CloseHandle(timer);
  if (left) *left = (struct timespec){0};
  return good ? 0 : -1;
}

/* --- signals --- */

typedef void (*handler)(int);

static bool comes(int number) {
  return number == SIGINT || number == SIGTERM || number == SIGABRT || number == SIGFPE || number == SIGILL ||
         number == SIGSEGV;
}

handler mica__posix_signal(int number, handler to) {
#undef signal
  return comes(number) ? signal(number, to) : SIG_DFL;
}

int mica__posix_sigaction(int number, const struct mica__posix_sigaction *action, struct mica__posix_sigaction *was) {
  const handler old = mica__posix_signal(number, action ? action->sa_handler : SIG_DFL);
  if (old == SIG_ERR) return -1;
  if (!action) mica__posix_signal(number, old);
  if (was) *was = (struct mica__posix_sigaction){.sa_handler = old};
  return 0;
}

int mica__posix_no_signals(int *set) {
  *set = 0;
  return 0;
}

int mica__posix_set_signal(const int *set, int number) {
  (void)set, (void)number;
  return 0;
}

int mica__posix_take_signal(const int *set, int *number) {
  (void)set;
  *number = 0;
  return 0;
}

int mica__posix_block_signals(int how, const int *set, int *before) {
  (void)how, (void)set;
  if (before) *before = 0;
  return 0;
}

/* --- other processes --- */

int mica__posix_spawn_init(posix_spawn_file_actions_t *actions) {
  *actions = (posix_spawn_file_actions_t){{0}};
  return 0;
}

int mica__posix_spawn_destroy(posix_spawn_file_actions_t *actions) {
  (void)actions;
  return 0;
}

int mica__posix_spawn_adddup2(posix_spawn_file_actions_t *actions, int from, int to) {
  if (to < 0 || to >= MICA__SPAWN_FILES) return EBADF;
  actions->files[to] = from + 1;
  return 0;
}

int mica__posix_spawn_addclose(posix_spawn_file_actions_t *actions, int file) {
  (void)actions, (void)file;
  return 0;
}

/* Writes a word of a command line, quoted for CommandLineToArgvW. Returns the position after it. */
static char *quote(char *to, const char *word) {
  *to++ = '"';
  for (size_t slashes = 0;; word++) {
    if (*word == '\\') {
      slashes++;
      continue;
    }
    /* Backslashes are doubled before a quote, and literal elsewhere. */
    for (size_t n = *word == '"' || !*word ? 2 * slashes : slashes; n > 0; n--) *to++ = '\\';
    slashes = 0;
    if (!*word) break;
    if (*word == '"') *to++ = '\\';
    *to++ = *word;
  }
  *to++ = '"';
  return to;
}

static char *command_line(char *const words[]) {
  size_t bytes = 1;
  for (size_t i = 0; words[i]; i++) bytes += 2 * strlen(words[i]) + 3;
  char *line = malloc(bytes), *to = line;
  for (size_t i = 0; line && words[i]; i++) {
    if (i > 0) *to++ = ' ';
    to = quote(to, words[i]);
  }
  if (line) *to = '\0';
  return line;
}

/* The children that waitpid has not reaped, each with its process number. Windows does not reuse a number while a
 * handle of its process is open. */
typedef struct child {
  struct child *next;
  pid_t process;
  HANDLE handle;
} child;
static child *children;
static pthread_mutex_t children_lock = PTHREAD_MUTEX_INITIALIZER;

static void add_child(child *new, const PROCESS_INFORMATION *made) {
  new->process = (pid_t)made->dwProcessId;
  new->handle = made->hProcess;
  pthread_mutex_lock(&children_lock);
  new->next = children;
  children = new;
  pthread_mutex_unlock(&children_lock);
}

/* The handle of a child; NULL and ECHILD if there is no such child. */
static HANDLE find_child(pid_t process) {
  HANDLE handle = NULL;
  pthread_mutex_lock(&children_lock);
  for (const child *at = children; at && !handle; at = at->next)
    if (at->process == process) handle = at->handle;
  pthread_mutex_unlock(&children_lock);
  if (!handle) errno = ECHILD;
  return handle;
}

static void remove_child(pid_t process) {
  child *found = NULL;
  pthread_mutex_lock(&children_lock);
  for (child **at = &children; *at && !found;)
    if ((*at)->process == process)
      found = *at, *at = found->next;
    else
      at = &(*at)->next;
  pthread_mutex_unlock(&children_lock);
  if (found) CloseHandle(found->handle);
  free(found);
}

/* A copy of the handle that a child inherits as descriptor `file`: the handle of the descriptor in `actions` or,
 * without one, the parent's handle. NULL if the handle is not open. */
static HANDLE inherited(const posix_spawn_file_actions_t *actions, int file) {
  static const DWORD own[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
  const int from = actions ? actions->files[file] : 0;
  const HANDLE handle = from > 0 ? mica__posix_handle(from - 1) : GetStdHandle(own[file]);
  HANDLE copy = NULL;
  if (!DuplicateHandle(GetCurrentProcess(), handle, GetCurrentProcess(), &copy, 0, TRUE, DUPLICATE_SAME_ACCESS))
    return NULL;
  return copy;
}

int mica__posix_spawn(pid_t *process, const char *program, const posix_spawn_file_actions_t *actions,
                      char *const words[], char *const environment[]) {
  char itself[PATH_MAX];
  (void)environment; /* a child has its parent's environment */
  if (strcmp(program, "/proc/self/exe") == 0) {
    const DWORD n = GetModuleFileNameA(NULL, itself, sizeof itself);
    if (n == 0 || n >= sizeof itself) return ENAMETOOLONG;
    program = itself;
  }
  char *line = command_line(words);
  child *new = malloc(sizeof *new);
  if (!line || !new) {
    free(line);
    free(new);
    return ENOMEM;
  }
  STARTUPINFOA how = {.cb = sizeof how, .dwFlags = STARTF_USESTDHANDLES};
  PROCESS_INFORMATION made;
  how.hStdInput = inherited(actions, 0);
  how.hStdOutput = inherited(actions, 1);
  how.hStdError = inherited(actions, 2);
  const BOOL started = CreateProcessA(program, line, NULL, NULL, TRUE, 0, NULL, NULL, &how, &made);
  if (!started) mica__posix_fail();
  const HANDLE copies[] = {how.hStdInput, how.hStdOutput, how.hStdError};
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (copies[i]) CloseHandle(copies[i]);
  free(line);
  if (!started) {
    free(new);
    return errno;
  }
  CloseHandle(made.hThread);
  add_child(new, &made);
  *process = (pid_t)made.dwProcessId;
  return 0;
}

pid_t mica__posix_waitpid(pid_t process, int *how, int options) {
  const HANDLE handle = find_child(process);
  if (!handle) return -1;
  const DWORD waited = WaitForSingleObject(handle, options & WNOHANG ? 0 : INFINITE);
  DWORD code = 0;
  if (waited == WAIT_TIMEOUT) return 0;
  if (waited != WAIT_OBJECT_0 || !GetExitCodeProcess(handle, &code)) return errno = ECHILD, -1;
  remove_child(process);
  /* Exits by an exception or by kill's TerminateProcess count as the signal SIGABRT. */
  if (how) *how = code > 0xff ? 0x100 | SIGABRT : (int)code;
  return process;
}

int mica__posix_kill(pid_t process, int number) {
  if (number != 0) {
    const HANDLE own = find_child(process);
    if (!own) return errno = ESRCH, -1;
    return TerminateProcess(own, 0x100 | (UINT)number) ? 0 : mica__posix_fail();
  }
  const HANDLE handle = OpenProcess(SYNCHRONIZE, FALSE, (DWORD)process);
  const bool there = handle ? WaitForSingleObject(handle, 0) == WAIT_TIMEOUT : GetLastError() == ERROR_ACCESS_DENIED;
  if (handle) CloseHandle(handle);
  return there ? 0 : (errno = ESRCH, -1);
}

int mica__posix_poll(struct pollfd *files, unsigned count, int milliseconds) {
  const HANDLE handle = count == 1 ? mica__posix_handle(files->fd) : INVALID_HANDLE_VALUE;
  const ULONGLONG end = GetTickCount64() + (ULONGLONG)(milliseconds > 0 ? milliseconds : 0);
  DWORD waiting = 0;
  if (handle == INVALID_HANDLE_VALUE) return errno = EINVAL, -1;
  files->revents = POLLIN;
  if (GetFileType(handle) != FILE_TYPE_PIPE) return 1;
  /* Windows cannot wait for pipes, so they are polled every millisecond. */
  for (;;) {
    if (!PeekNamedPipe(handle, NULL, 0, NULL, &waiting, NULL)) {
      files->revents = POLLHUP;
      return 1;
    }
    if (waiting > 0) return 1;
    if (milliseconds >= 0 && GetTickCount64() >= end) break;
    Sleep(1);
  }
  files->revents = 0;
  return 0;
}

/* --- more of the host --- */

int mica__posix_getrusage(int of, struct rusage *usage) {
  PROCESS_MEMORY_COUNTERS memory;
  if (of != RUSAGE_SELF || !K32GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory)) return -1;
  usage->ru_maxrss = (long)(memory.PeakWorkingSetSize / 1024);
  return 0;
}

ssize_t mica__posix_getrandom(void *bytes, size_t count, unsigned flags) {
  (void)flags;
  return RtlGenRandom(bytes, (ULONG)count) ? (ssize_t)count : -1;
}

void *mica__posix_dlopen(const char *library, int how) {
  (void)how;
  return (void *)LoadLibraryA(library);
}

void *mica__posix_dlsym(void *library, const char *name) {
  return (void *)(intptr_t)GetProcAddress((HMODULE)library, name);
}

int mica__posix_prctl(int what, int value) {
  (void)what, (void)value;
  return errno = ENOSYS, -1;
}

/* --- texts --- */

/* Matches a letter against the list of a bracket, which begins at *pattern, after '['. Sets *found, and moves *pattern
 * past the ']'. False if there is no ']': then '[' only matches a '['. */
static bool in_list(const char **pattern, char letter, bool *found) {
  const char *at = *pattern;
  const bool other = *at == '!' || *at == '^';
  if (other) at++;
  *found = false;
  for (const char *first = at; *at && (*at != ']' || at == first); at++) {
    char from = *at, to = from;
    if (at[1] == '-' && at[2] && at[2] != ']') to = at[2], at += 2;
    if (letter >= from && letter <= to) *found = true;
  }
  if (*at != ']') return false;
  *found ^= other;
  *pattern = at + 1;
  return true;
}

int mica__posix_fnmatch(const char *pattern, const char *text, int flags) {
  const char *star = NULL, *from = NULL;
  (void)flags;
  while (*text || *pattern) {
    const char *next = pattern + 1;
    bool fits = *text && *pattern;
    if (*pattern == '*') {
      star = ++pattern, from = text;
      continue;
    }
    if (fits && *pattern == '[') {
      bool found;
      fits = in_list(&next, *text, &found) ? found : *text == '[';
    } else if (fits && *pattern == '\\' && pattern[1]) {
      fits = pattern[1] == *text, next = pattern + 2;
    } else if (fits && *pattern != '?') {
      fits = *pattern == *text;
    }
    if (fits) {
      pattern = next, text++;
    } else {
      /* Extends the last star by one letter. */
      if (!star || !*from) return FNM_NOMATCH;
      pattern = star, text = ++from;
    }
  }
  return 0;
}
