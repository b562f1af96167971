/* labels: null single
 *
 * The disk cache of compiled programs: whatever happens to its files costs time, never a wrong result. */
#include "runtime/program_file.h"
#include "support/check_main.h"

#include <fcntl.h>
#include <mica/cache.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LIMIT (1u << 20)

static const mica__hash key = {.low = 1, .high = 2};
static const char key_text[] = "program: test/a.cl\ndevice: some device\n";
static char folder[4096];

static void empty_folder(void) {
  size_t count;
  snprintf(folder, sizeof folder, "%s/program-files", getenv("MICA_BUILD_DIR"));
  ck_assert_int_eq(mica_cache_clear(folder, &count), MICA_OK);
}

static const char *file_path(mica__hash of) {
  static char path[4200];
  char name[MICA__HASH_TEXT];
  snprintf(path, sizeof path, "%s/programs/%s.bin", folder, mica__hash_format(of, name));
  return path;
}

static mica_status store(mica__hash as, unsigned char fill, size_t size, uint64_t limit) {
  unsigned char *data = malloc(size);
  ck_assert_ptr_nonnull(data);
  memset(data, fill, size);
  mica__program_binary binary = {.data = data, .size = size, .used = 3};
  mica_status status = mica__program_file_store(folder, as, key_text, &binary, limit);
  free(data);
  return status;
}

/* The byte that the stored program is filled with; -1 for a miss. Fails on anything else. */
static int load(mica__hash as, const char *text) {
  mica__program_binary binary;
  mica_status status = mica__program_file_load(folder, as, text, &binary);
  if (status == MICA_E_NOT_FOUND) return -1;
  ck_assert_msg(status == MICA_OK, "%s", mica_error_message());
  ck_assert_uint_eq(binary.used, 3);
  ck_assert_uint_gt(binary.size, 0);
  int fill = binary.data[0];
  for (size_t i = 0; i < binary.size; i++) ck_assert_int_eq(binary.data[i], fill);
  free(binary.data);
  return fill;
}

START_TEST(what_is_stored_is_loaded) {
  ck_assert_int_eq(load(key, key_text), -1);
  ck_assert_int_eq(store(key, 7, 1000, LIMIT), MICA_OK);
  ck_assert_int_eq(load(key, key_text), 7);
  ck_assert_int_eq(store(key, 8, 10, LIMIT), MICA_OK);
  ck_assert_int_eq(load(key, key_text), 8);
}
END_TEST

START_TEST(another_key_is_a_miss) {
  mica__hash other = {.low = 1, .high = 3};
  ck_assert_int_eq(store(key, 7, 100, LIMIT), MICA_OK);
  ck_assert_int_eq(load(other, key_text), -1);
  ck_assert_int_eq(load(key, "program: test/b.cl\n"), -1);
  /* A file under another's name, as after a careless copy. */
  char path[sizeof folder + 200];
  snprintf(path, sizeof path, "%s", file_path(key));
  ck_assert_int_eq(rename(path, file_path(other)), 0);
  ck_assert_int_eq(load(other, key_text), -1);
}
END_TEST

START_TEST(every_truncation_is_a_miss) {
  struct stat about;
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_OK);
  ck_assert_int_eq(stat(file_path(key), &about), 0);
  for (off_t size = about.st_size - 1; size >= 0; size--) {
    ck_assert_int_eq(truncate(file_path(key), size), 0);
    ck_assert_int_eq(load(key, key_text), -1);
  }
  ck_assert_int_eq(store(key, 8, 50, LIMIT), MICA_OK);
  ck_assert_int_eq(load(key, key_text), 8);
}
END_TEST

START_TEST(every_flipped_bit_is_a_miss) {
  struct stat about;
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_OK);
  ck_assert_int_eq(stat(file_path(key), &about), 0);
  int file = open(file_path(key), O_RDWR);
  for (off_t bit = 0; bit < 8 * about.st_size; bit++) {
    unsigned char byte;
    ck_assert_int_eq(pread(file, &byte, 1, bit / 8), 1);
    unsigned char flipped = byte ^ (unsigned char)(1u << (bit % 8));
    ck_assert_int_eq(pwrite(file, &flipped, 1, bit / 8), 1);
    ck_assert_int_eq(load(key, key_text), -1);
    ck_assert_int_eq(pwrite(file, &byte, 1, bit / 8), 1);
  }
  close(file);
  ck_assert_int_eq(load(key, key_text), 7);
}
END_TEST

START_TEST(a_folder_that_cannot_be_made) {
  /* Under a regular file no directory can be, whoever asks; permissions would not stop root. */
  char sound[sizeof folder];
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_OK);
  memcpy(sound, folder, sizeof folder);
  snprintf(folder, sizeof folder, "%.4000s", file_path(key));
  ck_assert_int_eq(load(key, key_text), -1);
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_E_IO);
  folder[0] = '\0';
  ck_assert_int_eq(load(key, key_text), -1);
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_E_IO);
  memcpy(folder, sound, sizeof folder);
}
END_TEST

START_TEST(the_least_recently_used_go_first) {
  struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
  mica__hash second = {.low = 5};
  ck_assert_int_eq(store(key, 1, 4000, LIMIT), MICA_OK);
  ck_assert_int_eq(store(second, 2, 4000, LIMIT), MICA_OK);
  ck_assert_int_eq(utimensat(AT_FDCWD, file_path(key), old, 0), 0);
  ck_assert_int_eq(utimensat(AT_FDCWD, file_path(second), old, 0), 0);
  ck_assert_int_eq(load(key, key_text), 1); /* which makes it recent */
  ck_assert_int_eq(store((mica__hash){.low = 6}, 3, 4000, 10000), MICA_OK);
  ck_assert_int_eq(load(second, key_text), -1);
  ck_assert_int_eq(load(key, key_text), 1);
  ck_assert_int_eq(load((mica__hash){.low = 6}, key_text), 3);
}
END_TEST

static void count_entry(void *user, const mica_cache_entry *entry) {
  ck_assert_str_eq(entry->program, "test/a.cl");
  ck_assert_str_eq(entry->device, "some device");
  ck_assert_uint_gt(entry->bytes, 50);
  ++*(int *)user;
}

static void touch(const char *name) {
  char path[sizeof folder + 300];
  snprintf(path, sizeof path, "%s/programs/%s", folder, name);
  FILE *file = fopen(path, "w");
  ck_assert_ptr_nonnull(file);
  fputs("not much", file);
  fclose(file);
}

/* What a process that died while writing left behind goes with the rest; what is not ours stays. */
START_TEST(clear_knows_its_files) {
  static const char *const foreign[] = {"firmware.bin", "notes.tmp", "0123456789abcdef0123456789abcdef.txt",
                                        "0123456789abcdef0123456789abcdef0.bin"};
  size_t cleared;
  int entries = 0;
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_OK);
  touch("0123456789abcdef0123456789abcdef.123.4.tmp");
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) touch(foreign[i]);
  ck_assert_int_eq(mica_cache_list(folder, count_entry, &entries), MICA_OK);
  ck_assert_int_eq(entries, 1);
  ck_assert_int_eq(mica_cache_clear(folder, &cleared), MICA_OK);
  ck_assert_uint_eq(cleared, 2);
  for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
    char path[sizeof folder + 300];
    snprintf(path, sizeof path, "%s/programs/%s", folder, foreign[i]);
    ck_assert_int_eq(unlink(path), 0);
  }
}
END_TEST

START_TEST(what_could_not_be_read_is_not_written) {
  const size_t bytes = ((size_t)4 << 20) + 1;
  char *long_text = malloc(bytes);
  static unsigned char data[] = "x";
  mica__program_binary binary = {.data = data, .size = 1};
  ck_assert_ptr_nonnull(long_text);
  memset(long_text, 'k', bytes - 1);
  long_text[bytes - 1] = '\0';
  ck_assert_int_eq(mica__program_file_store(folder, key, long_text, &binary, LIMIT), MICA_E_IO);
  ck_assert_int_eq(access(file_path(key), F_OK), -1);
  free(long_text);
}
END_TEST

START_TEST(list_passes_over_damage_and_clear_takes_all) {
  int entries = 0;
  size_t cleared;
  ck_assert_int_eq(store(key, 7, 50, LIMIT), MICA_OK);
  ck_assert_int_eq(store((mica__hash){.low = 9}, 7, 50, LIMIT), MICA_OK);
  ck_assert_int_eq(truncate(file_path((mica__hash){.low = 9}), 20), 0);
  ck_assert_int_eq(mica_cache_list(folder, count_entry, &entries), MICA_OK);
  ck_assert_int_eq(entries, 1);
  ck_assert_int_eq(mica_cache_clear(folder, &cleared), MICA_OK);
  ck_assert_uint_eq(cleared, 2);
}
END_TEST

/* A program that offers two kernels. */
static const char shared_text[] = "program: test/a.cl\nkernel 00000000000000040000000000000003: give\n"
                                  "kernel 00000000000000060000000000000005: give_at1\n";
static const mica__hash kernels[] = {{.low = 3, .high = 4}, {.low = 5, .high = 6}};

static mica_status store_shared(mica__hash as, uint64_t limit) {
  static unsigned char data[] = "binary";
  mica__program_binary binary = {.data = data, .size = sizeof data, .used = 3, .source = "source"};
  return mica__program_file_store(folder, as, shared_text, &binary, limit);
}

static const char *link_path(mica__hash kernel) {
  static char path[4200];
  char name[MICA__HASH_TEXT];
  snprintf(path, sizeof path, "%s/programs/%s.kernel", folder, mica__hash_format(kernel, name));
  return path;
}

START_TEST(a_kernel_finds_its_program) {
  static const char *const names[] = {"give", "give_at1"};
  mica__hash found;
  mica__program_found program;
  char entry[20];
  ck_assert(!mica__program_file_holder(folder, kernels[0], &found));
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  for (int i = 0; i < 2; i++) {
    ck_assert(mica__program_file_holder(folder, kernels[i], &found));
    ck_assert(mica__hash_equal(found, key));
    ck_assert_int_eq(mica__program_file_load_holder(folder, key, kernels[i], &program), MICA_OK);
    ck_assert_str_eq(program.key_text, shared_text);
    ck_assert_str_eq(program.binary.source, "source");
    ck_assert_str_eq((const char *)program.binary.data, "binary");
    ck_assert_uint_eq(program.binary.used, 3);
    ck_assert(mica__program_file_entry(program.key_text, kernels[i], entry, sizeof entry));
    ck_assert_str_eq(entry, names[i]);
    free(program.file);
  }
  ck_assert_int_eq(mica__program_file_load_holder(folder, key, key, &program), MICA_E_NOT_FOUND);
  ck_assert(!mica__program_file_entry(shared_text, key, entry, sizeof entry));
  /* The last that was stored has it. */
  const mica__hash later = {.low = 9};
  ck_assert_int_eq(store_shared(later, LIMIT), MICA_OK);
  ck_assert(mica__program_file_holder(folder, kernels[1], &found));
  ck_assert(mica__hash_equal(found, later));
}
END_TEST

START_TEST(a_foreign_link_is_none) {
  static const char *const targets[] = {"x",
                                        "/etc/passwd",
                                        "00000000000000020000000000000001",
                                        "00000000000000020000000000000001.bin2",
                                        "../0000000000000002000000000001.bin",
                                        "0000000000000002000000000000000G.bin"};
  mica__hash found;
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    ck_assert_int_eq(unlink(link_path(kernels[0])), 0);
    ck_assert_int_eq(symlink(targets[i], link_path(kernels[0])), 0);
    ck_assert_msg(!mica__program_file_holder(folder, kernels[0], &found), "%s", targets[i]);
  }
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  ck_assert(mica__program_file_holder(folder, kernels[0], &found));
  /* A file or a folder in its stead stays. */
  ck_assert_int_eq(unlink(link_path(kernels[0])), 0);
  touch("00000000000000040000000000000003.kernel");
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  ck_assert(!mica__program_file_holder(folder, kernels[0], &found));
  ck_assert_int_eq(unlink(link_path(kernels[0])), 0);
  ck_assert_int_eq(mkdir(link_path(kernels[0]), 0777), 0);
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  ck_assert(!mica__program_file_holder(folder, kernels[0], &found));
  ck_assert_int_eq(rmdir(link_path(kernels[0])), 0);
}
END_TEST

START_TEST(links_go_with_their_program) {
  mica__hash found;
  size_t cleared;
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  ck_assert_int_eq(store((mica__hash){.low = 9}, 7, 50, 10), MICA_OK);
  ck_assert(!mica__program_file_holder(folder, kernels[0], &found));
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  ck_assert_int_eq(mica_cache_clear(folder, &cleared), MICA_OK);
  ck_assert_uint_eq(cleared, 1);
  ck_assert(!mica__program_file_holder(folder, kernels[1], &found));
}
END_TEST

/* As many kernels as the plan of a large network generates. */
START_TEST(a_bundle_of_many_kernels_is_found) {
  enum { KERNELS = 3000, LINE = 120 };
  static char text[KERNELS * LINE];
  static unsigned char data[] = "binary";
  const mica__program_binary binary = {.data = data, .size = sizeof data, .source = "source"};
  size_t length = (size_t)snprintf(text, sizeof text, "program: test/a.cl and %d more\n", KERNELS - 1);
  for (int i = 0; i < KERNELS; i++)
    length += (size_t)snprintf(text + length, sizeof text - length, "kernel %016x%016x: %.60s_at%d\n", 4, i,
                               "fused_multiply_add_cast_reduce_sum_affine_rsqrt_multiply_add_cast", i);
  ck_assert_uint_gt(length, 65536);
  ck_assert_int_eq(mica__program_file_store(folder, key, text, &binary, LIMIT), MICA_OK);
  for (int i = 0; i < KERNELS; i += 599) {
    const mica__hash kernel = {.low = (uint64_t)i, .high = 4};
    mica__hash found;
    mica__program_found program;
    char entry[100], wanted[100];
    snprintf(wanted, sizeof wanted, "_at%d", i);
    ck_assert(mica__program_file_holder(folder, kernel, &found));
    ck_assert(mica__hash_equal(found, key));
    ck_assert_int_eq(mica__program_file_load_holder(folder, key, kernel, &program), MICA_OK);
    ck_assert(mica__program_file_entry(program.key_text, kernel, entry, sizeof entry));
    ck_assert_ptr_nonnull(strstr(entry, wanted));
    free(program.file);
  }
}
END_TEST

/* The program's sweep looks at links through it. Once armed, another process stores the program that the links point
 * to while the sweep stands between its look and the deletion. */
static bool armed;
static pid_t storing;

int faccessat(int folder_of, const char *name, int mode, int flags) {
  struct stat about;
  const int answer = fstatat(folder_of, name, &about, flags);
  (void)mode;
  if (!armed) return answer;
  armed = false;
  storing = fork();
  if (storing == 0) _exit(store_shared(key, LIMIT) == MICA_OK ? 0 : 1);
  for (int i = 0; i < 300; i++) { /* a store that waits for the sweep does not end before it */
    int how = 0;
    if (waitpid(storing, &how, WNOHANG) == storing) {
      ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
      storing = 0;
      break;
    }
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return answer;
}

START_TEST(a_sweep_leaves_links_that_are_good_again) {
  mica__hash found;
  size_t cleared;
  int how = 0;
  ck_assert_int_eq(store_shared(key, LIMIT), MICA_OK);
  armed = true;
  ck_assert_int_eq(mica_cache_clear(folder, &cleared), MICA_OK);
  ck_assert(!armed);
  if (storing) ck_assert_int_eq(waitpid(storing, &how, 0), storing);
  ck_assert(WIFEXITED(how) && WEXITSTATUS(how) == 0);
  ck_assert_int_eq(access(file_path(key), F_OK), 0);
  for (int i = 0; i < 2; i++) {
    ck_assert_msg(mica__program_file_holder(folder, kernels[i], &found), "kernel %d has lost its link", i);
    ck_assert(mica__hash_equal(found, key));
  }
}
END_TEST

static void ignore_entry(void *user, const mica_cache_entry *entry) {
  (void)user;
  (void)entry;
}

/* A key of another version of Mica, whose lines may be anything. */
START_TEST(list_reads_any_key) {
  static unsigned char data[] = "x";
  static const char *const keys[] = {"", "program", "program:", "device:", "program:\ndevice:", "\n\n", "program: "};
  mica__program_binary binary = {.data = data, .size = 1};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
    ck_assert_int_eq(mica__program_file_store(folder, (mica__hash){.low = i}, keys[i], &binary, LIMIT), MICA_OK);
  ck_assert_int_eq(mica_cache_list(folder, ignore_entry, NULL), MICA_OK);
}
END_TEST

/* Two processes write and read the same three programs as fast as they can: each load is a miss or a whole program. */
START_TEST(two_processes) {
  pid_t children[2];
  for (int child = 0; child < 2; child++) {
    children[child] = fork();
    ck_assert_int_ge(children[child], 0);
    if (children[child] > 0) continue;
    for (unsigned i = 0; i < 200; i++) {
      mica__hash as = {.low = 20 + i % 3};
      mica__program_binary binary;
      if (store(as, (unsigned char)(as.low + (i & 1)), 5000, 12000) != MICA_OK && mica_error_message()[0] == '\0')
        _exit(1);
      mica_status status = mica__program_file_load(folder, as, key_text, &binary);
      if (status == MICA_E_NOT_FOUND) continue;
      if (status != MICA_OK || binary.size != 5000) _exit(2);
      for (size_t at = 1; at < binary.size; at++)
        if (binary.data[at] != binary.data[0]) _exit(3);
      free(binary.data);
    }
    _exit(0);
  }
  for (int child = 0; child < 2; child++) {
    int status;
    ck_assert_int_eq(waitpid(children[child], &status, 0), children[child]);
    ck_assert_int_eq(status, 0);
  }
}
END_TEST

TESTS(ANYWHERE, empty_folder, NULL, what_is_stored_is_loaded, another_key_is_a_miss, every_truncation_is_a_miss,
      every_flipped_bit_is_a_miss, a_folder_that_cannot_be_made, the_least_recently_used_go_first,
      list_passes_over_damage_and_clear_takes_all, clear_knows_its_files, what_could_not_be_read_is_not_written,
      list_reads_any_key, a_kernel_finds_its_program, a_foreign_link_is_none, links_go_with_their_program,
      a_bundle_of_many_kernels_is_found, a_sweep_leaves_links_that_are_good_again, two_processes)
