/* Guards a run: only one process trains in its folder, the folder was free, and training continues with the same
 * data. */
#include "run/state/guard.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"
#include "data/source.h"
#include "run/common_facts.h"
#include "run/facts.h"
#include "run/guard.h"
#include "run/ranks.h"
#include "run/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- one process --- */

/* The lock is on the folder itself: it leaves no file behind and ends with the process. On a file system without such
 * locks, nothing is locked. The folder stays open, so that a different folder at the same path is noticed. */
mica_status mica__run_lock(mica_run *run) {
  if (run->guard->lock >= 0 || !run->folder || mica__run_rank(run) != 0) return MICA_OK;
  const int folder = open(run->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return MICA_OK;
  const bool taken = flock(folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!taken) {
    mica_status status = mica__folder_hold(run->folder, folder);
    if (status == MICA_OK)
      run->guard->lock = folder;
    else
      close(folder);
    return status;
  }
  close(folder);
  return mica__fail(MICA_E_STATE, "another run is training in %s", run->folder);
}

void mica__run_unlock(mica_run *run) {
  if (run->guard->lock >= 0) {
    mica__folder_let_go(run->guard->lock);
    close(run->guard->lock);
  }
  run->guard->lock = -1;
}

bool mica__run_is_held(const mica_run *run) {
  struct stat held, there;
  if (stat(run->folder, &there) != 0 || !S_ISDIR(there.st_mode)) return false;
  return run->guard->lock < 0 || fstat(run->guard->lock, &held) != 0 ||
         (held.st_dev == there.st_dev && held.st_ino == there.st_ino);
}

/* --- a folder that is free --- */

mica_status mica__run_check_free(const char *folder) {
  static const char *const names[] = {"config.json", "model.safetensors", "last.safetensors", "best.safetensors",
                                      "history.csv", "report.html",       "network.onnx",     "tokenizer.json"};
  struct stat itself;
  const int error = stat(folder, &itself) ? errno : S_ISDIR(itself.st_mode) ? 0 : ENOTDIR;
  if (error == ENOTDIR) return mica__fail(MICA_E_IO, "cannot write to the folder %s: %s", folder, strerror(error));
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct stat about;
    mica__text path = {0};
    mica__text_addf(&path, "%s/%s", folder, names[i]);
    mica_status status = mica__text_status(&path);
    const bool there = status == MICA_OK && lstat(path.data, &about) == 0;
    mica__text_free(&path);
    MICA_TRY(status);
    if (there && !i) return mica__fail(MICA_E_STATE, "%s holds a run already", folder);
    if (there)
      return mica__fail(MICA_E_STATE, "%s holds %s, which a run would overwrite; choose another folder", folder,
                        names[i]);
  }
  return MICA_OK;
}

/* --- apart from the data --- */

/* Finds the absolute path, with links resolved, of a file or folder, whose last components need not exist; false on
 * failure. */
static bool resolve(const char *path, char whole[PATH_MAX]) {
  char head[PATH_MAX];
  size_t at = strlen(path);
  if (!at || at >= sizeof head) return false;
  memcpy(head, path, at + 1);
  while (!realpath(at ? head : ".", whole)) {
    if (errno != ENOENT || !at) return false;
    while (at && head[at - 1] == '/') at--;
    while (at && head[at - 1] != '/') at--;
    head[at] = '\0';
  }
  const size_t length = strlen(whole), rest = strlen(path + at);
  if (!rest) return true;
  const bool root = whole[length - 1] == '/';
  if (length + rest + 2 > PATH_MAX) return false;
  snprintf(whole + length, PATH_MAX - length, "%s%s", root ? "" : "/", path + at);
  for (size_t n = strlen(whole); n > 1 && whole[n - 1] == '/'; n--) whole[n - 1] = '\0';
  return true;
}

/* True if a path is the folder or lies inside it. */
static bool is_within(const char *inner, const char *folder) {
  const size_t n = strlen(folder), end = folder[n - 1] == '/' ? n - 1 : n;
  return !strncmp(inner, folder, end) && (inner[end] == '/' || !inner[end]);
}

mica_status mica__run_check_apart(const char *folder, const char *data) {
  char run[PATH_MAX], held[PATH_MAX];
  struct stat about;
  if (!folder || !data || stat(data, &about) != 0 || !S_ISDIR(about.st_mode)) return MICA_OK;
  if (!resolve(folder, run) || !resolve(data, held)) return MICA_OK;
  if (!strcmp(run, held))
    return mica__fail(MICA_E_INVALID,
                      "%s is the folder of the data; choose another folder for the run, outside it (--out)", folder);
  if (is_within(run, held))
    return mica__fail(MICA_E_INVALID,
                      "the folder %s of the run would lie in the folder %s of the data; choose one outside it (--out)",
                      folder, data);
  if (is_within(held, run))
    return mica__fail(MICA_E_INVALID,
                      "the folder %s of the run would contain the folder %s of the data; choose another one (--out)",
                      folder, data);
  return MICA_OK;
}

/* --- the same data --- */

/* What the fingerprint of the data covers: a single file   all of it, or MOST_BYTES of it in evenly spaced blocks a
 * folder        the first block of each file, until a quarter of MOST_BYTES is reached
 *
 * Other files of a folder count only by name and size. Files after the first MOST_FILES, or deeper than MOST_DEPTH
 * folders, do not count at all. Neither do runs, litter, and test files beside training files. */
#define BLOCK_BYTES ((size_t)1 << 20)
#define MOST_BYTES ((size_t)64 << 20)
#define MOST_FILES 20000
#define MOST_DEPTH 6

typedef struct print {
  mica__hash hash;
  size_t left, files; /* bytes that may still be read; regular files found */
  uint8_t *block;
  bool failed; /* memory was short */
} print;

static void add_content(print *p, const char *path, off_t at) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  const ssize_t got = pread(file, p->block, p->left < BLOCK_BYTES ? p->left : BLOCK_BYTES, at);
  close(file);
  if (got <= 0) return;
  p->hash = mica__hash_bytes(p->hash, p->block, (size_t)got);
  p->left -= (size_t)got;
}

/* Adds blocks of a file: all of it, or evenly spaced ones, so that a changed order of lines is noticed. */
static void add_file(print *p, const char *path, off_t size) {
  const off_t blocks = (size + (off_t)BLOCK_BYTES - 1) / (off_t)BLOCK_BYTES, most = (off_t)(MOST_BYTES / BLOCK_BYTES);
  const off_t count = blocks < most ? blocks : most;
  for (off_t k = 0; k < count; k++) add_content(p, path, k * blocks / count * (off_t)BLOCK_BYTES);
}

/* True for the folder of a run, which may lie beside its data. */
static bool is_run(print *p, const char *folder) {
  mica__text path = {0};
  mica__text_addf(&path, "%s/config.json", folder);
  const bool is = !path.failed && access(path.data, F_OK) == 0;
  p->failed = p->failed || path.failed;
  mica__text_free(&path);
  return is;
}

/* True for names of files of a part: train.csv, x_train.npy, train-images, instances_test.json. */
static bool is_of_part(const char *name, const char *part) {
  const char *at = strstr(name, part);
  return at && (at == name || at[-1] == '_' || at[-1] == '-');
}
static bool is_test(const char *name) { return is_of_part(name, "test") || mica__part_rest(MICA_PART_TEST, name); }
static bool is_training(const char *name) {
  return is_of_part(name, "train") || mica__part_rest(MICA_PART_TRAIN, name);
}

/* True if a folder has files of a training part by name. Test files beside them may then grow without changing what
 * is held out. */
static bool has_tests_apart(struct dirent *const *entries, int count) {
  bool apart = false;
  for (int i = 0; i < count; i++) apart = apart || is_training(entries[i]->d_name);
  return apart;
}

static void add_folder(print *p, const char *folder, int depth) {
  struct dirent **entries = NULL;
  const int count = scandir(folder, &entries, NULL, alphasort);
  p->failed = p->failed || (count < 0 && errno == ENOMEM);
  const bool apart = has_tests_apart(entries, count);
  for (int i = 0; i < count; i++) {
    mica__text path = {0};
    struct stat about;
    const char *name = entries[i]->d_name;
    mica__text_addf(&path, "%s/%s", folder, name);
    const bool counts = !mica__is_litter(name) && !(apart && is_test(name));
    if (counts && p->files < MOST_FILES && !path.failed && stat(path.data, &about) == 0) {
      const bool inner = S_ISDIR(about.st_mode);
      if (inner && depth < MOST_DEPTH && !is_run(p, path.data)) {
        p->hash = mica__hash_text(p->hash, name);
        add_folder(p, path.data, depth + 1);
      } else if (S_ISREG(about.st_mode)) {
        p->files++;
        p->hash = mica__hash_text(p->hash, name);
        p->hash = mica__hash_bytes(p->hash, &about.st_size, sizeof about.st_size);
        if (p->left) add_content(p, path.data, 0);
      }
    }
    p->failed = p->failed || path.failed;
    mica__text_free(&path);
    free(entries[i]);
  }
  free(entries);
}

/* Writes a fingerprint of the data: sizes, names of a folder's files, and as much of the contents as can be read
 * quickly. An empty text if the data are neither a file nor a folder. */
static mica_status print_data(const char *path, char text[MICA__HASH_TEXT]) {
  struct stat about;
  const bool there = path && stat(path, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode));
  print p = {.left = MOST_BYTES / 4, .block = there ? malloc(BLOCK_BYTES) : NULL};
  *text = '\0';
  if (there && !p.block) return mica__fail_nomem("the fingerprint of the data");
  if (there && S_ISREG(about.st_mode)) {
    p.left = MOST_BYTES;
    p.hash = mica__hash_bytes(p.hash, &about.st_size, sizeof about.st_size);
    add_file(&p, path, about.st_size);
  } else if (there) {
    add_folder(&p, path, 0);
  }
  if (there) mica__hash_format(p.hash, text);
  free(p.block);
  return p.failed ? mica__fail_nomem("the fingerprint of the data") : MICA_OK;
}

bool mica__run_data_changed(const mica_run *run) {
  char text[MICA__HASH_TEXT];
  const char *before = mica__common_facts_of(run).parts_print;
  if (run->config.dataset || !*before) return false;
  mica__attempt_begin();
  const bool changed = print_data(run->data, text) == MICA_OK && *text && strcmp(before, text) != 0;
  mica__attempt_end();
  return changed;
}

mica_status mica__run_check_data(mica_run *run) {
  char text[MICA__HASH_TEXT];
  if (run->config.dataset) return MICA_OK;
  MICA_TRY(print_data(run->data, text));
  if (!*text) return MICA_OK;
  const char *before = mica__common_facts_of(run).parts_print;
  run->guard->other_data = run->resumed && *before && strcmp(before, text) != 0;
  /* Data given with --resume replace the run's. */
  if (run->guard->other_data && !run->config.data)
    return mica__fail(MICA_E_STATE,
                      "%s has changed since the run in %s began, so its validation part may hold samples that were "
                      "trained on; name the data with --data to continue with them",
                      run->data, run->folder);
  return mica__run_note_text(run, MICA__DATA_PRINT, text);
}

bool mica__run_has_other_data(const mica_run *run) { return run->guard->other_data; }
