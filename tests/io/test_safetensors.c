/* labels: null single
 *
 * Files that are written come back equal; files that are not as the format demands are refused with a sentence; and at
 * no moment is there half a file. */
#include "base/text.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <mica/safetensors.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/mica-safetensors-XXXXXX";
static char path[128];

static const float weights[6] = {1, -2, 3, -4, 5, -6};
static const uint8_t bytes[3] = {7, 8, 9};
static const double scalar = 0.5;
static const uint32_t foreign[2] = {1, 0xffffffffu};

static const mica_safetensors_entry entries[] = {
    {.name = "u8 \"quoted\"\n", .dtype = MICA_U8, .shape = {1, {3}}, .data = bytes, .bytes = 3},
    {.name = "layer.0.weight", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = weights, .bytes = sizeof weights},
    {.name = "nothing", .dtype = MICA_I64, .shape = {2, {0, 5}}},
    {.name = "scalar", .dtype = MICA_F64, .data = &scalar, .bytes = sizeof scalar},
    {.name = "foreign", .type = "C64", .dtype = MICA_DTYPE_COUNT, .shape = {1, {1}}, .data = foreign, .bytes = 8},
};
#define ENTRIES (sizeof entries / sizeof *entries)
static const mica_safetensors_pair metadata[] = {{"step", "17"}, {"gr\xc3\xbc\xc3\x9f", "line\nline"}};

START_TEST(what_is_written_comes_back) {
  mica_safetensors *file = NULL;
  ck_ok(mica_safetensors_write(path, entries, ENTRIES, metadata, 2));
  ck_ok(mica_safetensors_open(path, &file));
  ck_assert_uint_eq(mica_safetensors_count(file), ENTRIES);
  for (size_t i = 0; i < ENTRIES; i++) {
    const mica_safetensors_entry *found = mica_safetensors_find(file, entries[i].name);
    ck_assert_ptr_nonnull(found);
    ck_assert(found->dtype == entries[i].dtype && mica_shape_equal(found->shape, entries[i].shape));
    ck_assert_uint_eq(found->bytes, entries[i].bytes);
    ck_assert(!found->bytes || !memcmp(found->data, entries[i].data, found->bytes));
    ck_assert_uint_eq((uintptr_t)found->data % (found->dtype == MICA_U8 ? 1 : 4), 0);
  }
  ck_assert_str_eq(mica_safetensors_find(file, "foreign")->type, "C64");
  ck_assert_ptr_null(mica_safetensors_find(file, "layer.0.bias"));
  ck_assert_uint_eq(mica_safetensors_metadata_count(file), 2);
  ck_assert_str_eq(mica_safetensors_metadata(file, "step"), "17");
  ck_assert_str_eq(mica_safetensors_metadata_at(file, 1).value, "line\nline");
  ck_assert_ptr_null(mica_safetensors_metadata(file, "epoch"));
  /* A file that is open stays readable while another takes its place. */
  ck_ok(mica_safetensors_write(path, entries, 1, NULL, 0));
  ck_assert(!memcmp(mica_safetensors_find(file, "layer.0.weight")->data, weights, sizeof weights));
  mica_safetensors_close(file);
  ck_ok(mica_safetensors_open(path, &file));
  ck_assert_uint_eq(mica_safetensors_count(file), 1);
  mica_safetensors_close(file);
}
END_TEST

START_TEST(every_dtype_has_a_name_in_the_format) {
  uint64_t data = 0;
  for (int dtype = 0; dtype < MICA_DTYPE_COUNT; dtype++) {
    mica_safetensors_entry entry = {.name = "x", .dtype = (mica_dtype)dtype, .shape = {1, {1}}, .data = &data};
    mica_safetensors *file = NULL;
    entry.bytes = mica_dtype_size((mica_dtype)dtype);
    ck_ok(mica_safetensors_write(path, &entry, 1, NULL, 0));
    ck_ok(mica_safetensors_open(path, &file));
    ck_assert_int_eq(mica_safetensors_at(file, 0)->dtype, dtype);
    mica_safetensors_close(file);
  }
}
END_TEST

/* A file of this header and so many bytes of data; *size says how long. */
static unsigned char *file_of(const char *header, size_t data, size_t *size) {
  size_t n = strlen(header);
  *size = 8 + n + data;
  unsigned char *file = calloc(1, *size);
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < 8; i++) file[i] = (unsigned char)((uint64_t)n >> (8 * i));
  memcpy(file + 8, header, n);
  return file;
}

#define TENSOR(name, dtype, shape, begin, end)                                                                         \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" #begin "," #end "]}"

START_TEST(what_the_format_forbids_is_refused_with_the_reason) {
  static const struct {
    const char *header;
    size_t data;
    const char *reason; /* NULL: accepted */
  } cases[] = {
      {"{}", 0, NULL},
      {"{\"__metadata__\":{}} \n", 0, NULL},
      {"{" TENSOR("a", "F32", "[2]", 0, 8) "}", 8, NULL},
      {"{" TENSOR("b", "F32", "[]", 4, 8) "," TENSOR("a", "F32", "[1]", 0, 4) "}", 8, NULL},
      {"{" TENSOR("a", "F32", "[2]", 0, 8) "}", 7, "truncated"},
      {"{" TENSOR("a", "F32", "[2]", 0, 8) "}", 9, "after the last"},
      {"{" TENSOR("a", "F32", "[2]", 0, 4) "}", 4, "takes 8 bytes, but its data_offsets name 4"},
      {"{" TENSOR("a", "U64", "[2,3]", 0, 24) "}", 24, "U64 (2, 3), takes 48 bytes, but its data_offsets name 24"},
      {"{" TENSOR("a", "F32", "[2]", 8, 0) "}", 8, "the second not below the first"},
      {"{" TENSOR("a", "F32", "[2]", -8, 0) "}", 8, "the data_offsets of tensor \"a\" must be two integers from 0"},
      {"{" TENSOR("a", "F32", "[2]", 0, 8.5) "}", 8, "data_offsets"},
      {"{" TENSOR("a", "F32", "[2]", 0, 1e300) "}", 8, "data_offsets"},
      {"{" TENSOR("a", "F32", "[4294967296,4294967296,4]", 0, 0) "}", 0, "takes 2^64 bytes or more"},
      {"{" TENSOR("a", "F32", "[2,-1]", 0, 8) "}", 8, "a shape whose dimension 1 is not an integer"},
      {"{" TENSOR("a", "F32", "[4611686018427387904,4]", 0, 8) "}", 8, "dimension 0 is not an integer from 0 to 2^53"},
      {"{" TENSOR("a", "F32", "[12.5]", 0, 8) "}", 8, "dimension 0 is not an integer"},
      {"{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,1]", 0, 4) "}", 4, "9 dimensions, but may have at most 8"},
      {"{" TENSOR("a", "F32", "\"2\"", 0, 8) "}", 8, "the shape of tensor"},
      {"{" TENSOR("a", "F31", "[2]", 0, 8) "}", 8, "unknown dtype"},
      {"{" TENSOR("a", "U8", "[1]", 0, 1) "," TENSOR("b", "U8", "[1]", 0, 1) "}", 1,
       "overlap the data of another tensor"},
      {"{" TENSOR("a", "U8", "[1]", 0, 1) "," TENSOR("b", "U8", "[1]", 2, 3) "}", 3, "gap"},
      {"{" TENSOR("a", "U8", "[1]", 0, 1) "," TENSOR("a", "U8", "[1]", 1, 2) "}", 2, "tensor \"a\" is there twice"},
      {"{" TENSOR("a", "U8", "[1]", 0, 1) "," TENSOR("b", "U8", "[1]", 1, 2) "," TENSOR("a", "U8", "[1]", 0, 1) "}", 2,
       "tensor \"a\" is there twice"},
      {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
       "tensor \"a\" has \"dtype\" twice"},
      {"{\"__metadata__\":{\"k\":\"1\",\"a\":\"\",\"k\":\"2\"}}", 0, "__metadata__ has \"k\" twice"},
      {"{" TENSOR("a\\u0000b", "U8", "[1]", 0, 1) "}", 1, "U+0000"},
      {"{" TENSOR("a\\\\u0000b", "U8", "[1]", 0, 1) "}", 1, NULL},
      {"{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "U+0000"},
      {"{" TENSOR("\xc3\xa4", "U8", "[1]", 0, 1) "}", 1, NULL},
      {"{" TENSOR("\xe4", "U8", "[1]", 0, 1) "}", 1, "byte 2 of its header is not UTF-8"},
      {"{\"a\":1}", 0, "its dtype is missing"},
      {"{\"__metadata__\":{\"a\":1}}", 0, "metadata \"a\" must be a string"},
      {"{\"__metadata__\":1}", 0, "__metadata__ must be an object"},
      {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "has __metadata__ twice"},
      {"[]", 0, "not a JSON object"},
      {" {}", 0, "not a JSON object"},
      {"{} {}", 0, "not a JSON object"},
      {"{\"a\":", 0, "not a JSON object"},
      {"", 0, "not a JSON object"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    mica_safetensors *file = NULL;
    size_t size = 0;
    unsigned char *data = file_of(cases[i].header, cases[i].data, &size);
    mica_status status = mica_safetensors_open_memory("x.safetensors", data, size, &file);
    if (!cases[i].reason) ck_ok(status);
    if (cases[i].reason) {
      ck_assert_msg(status == MICA_E_FORMAT, "accepted: %s", cases[i].header);
      const char *said = mica_error_message();
      ck_assert_msg(strstr(said, cases[i].reason) && strstr(said, "x.safetensors"), "%s: %s", cases[i].header, said);
    }
    mica_safetensors_close(file);
    free(data);
  }
}
END_TEST

START_TEST(a_bool_is_0_or_1) {
  mica_safetensors *file = NULL;
  size_t size = 0;
  unsigned char *data = file_of("{" TENSOR("a", "BOOL", "[3]", 0, 3) "}", 3, &size);
  data[size - 3] = 1;
  ck_ok(mica_safetensors_open_memory("x.safetensors", data, size, &file));
  mica_safetensors_close(file);
  data[size - 1] = 2;
  ck_assert_int_eq(mica_safetensors_open_memory("x.safetensors", data, size, &file), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "\"a\" is BOOL, but has 2 as element 2"));
  free(data);
}
END_TEST

START_TEST(a_name_that_is_no_text_is_not_written) {
  const float one = 1;
  const mica_safetensors_entry entry = {.name = "w\xff", .dtype = MICA_F32, .data = &one, .bytes = sizeof one};
  ck_assert_int_eq(mica_safetensors_write("never.safetensors", &entry, 1, NULL, 0), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "is not UTF-8"));
}
END_TEST

START_TEST(metadata_that_are_no_text_are_not_written) {
  static const mica_safetensors_pair pairs[][2] = {{{"a", "b"}, {"k\xff", "b"}},
                                                   {{"a", "b"}, {"k", "\xe4"}},
                                                   {{"\xc3", "b"}, {"k", "b"}},
                                                   {{"a", "\xed\xa0\x80"}, {"k", "b"}}};
  const float one = 1;
  const mica_safetensors_entry entry = {.name = "w", .dtype = MICA_F32, .data = &one, .bytes = sizeof one};
  unlink(path);
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    ck_assert_int_eq(mica_safetensors_write(path, &entry, 1, pairs[i], 2), MICA_E_INVALID);
    ck_assert_ptr_nonnull(strstr(mica_error_message(), "is not UTF-8"));
    ck_assert_int_ne(access(path, F_OK), 0);
  }
}
END_TEST

START_TEST(a_header_that_is_no_header_is_refused) {
  mica_safetensors *file = NULL;
  unsigned char huge[16] = {0, 0, 0, 0, 1}, long_header[16] = {9}, cut[7] = {0};
  ck_assert_int_eq(mica_safetensors_open_memory("x", huge, sizeof huge, &file), MICA_E_FORMAT);
  ck_assert_int_eq(mica_safetensors_open_memory("x", long_header, sizeof long_header, &file), MICA_E_FORMAT);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "truncated"));
  ck_assert_int_eq(mica_safetensors_open_memory("x", cut, sizeof cut, &file), MICA_E_FORMAT);
  ck_assert_int_eq(mica_safetensors_open("/nowhere/x", &file), MICA_E_NOT_FOUND);
  ck_assert_int_eq(mica_safetensors_open(folder, &file), MICA_E_NOT_FOUND);
}
END_TEST

START_TEST(what_the_format_cannot_hold_is_not_written) {
  mica_safetensors_entry twice[] = {entries[1], entries[1]}, odd = entries[1], reserved = entries[1];
  odd.bytes--;
  reserved.name = "__metadata__";
  unlink(path);
  ck_assert_int_eq(mica_safetensors_write(path, twice, 2, NULL, 0), MICA_E_INVALID);
  ck_assert_int_eq(mica_safetensors_write(path, &odd, 1, NULL, 0), MICA_E_INVALID);
  ck_assert_int_eq(mica_safetensors_write(path, &reserved, 1, NULL, 0), MICA_E_INVALID);
  const mica_safetensors_pair pairs[] = {{"k", "1"}, {"a", "2"}, {"k", "3"}};
  ck_assert_int_eq(mica_safetensors_write(path, entries, ENTRIES, pairs, 3), MICA_E_INVALID);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "\"k\" twice"));
  ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

static size_t files_in_folder(void) {
  DIR *directory = opendir(folder);
  size_t count = 0;
  ck_assert_ptr_nonnull(directory);
  for (const struct dirent *entry; (entry = readdir(directory));) count += entry->d_name[0] != '.';
  closedir(directory);
  return count;
}

START_TEST(a_disk_that_is_full_leaves_the_old_file) {
  /* A limit on the size of files is a full disk that needs no disk; the kernel's signal for it is not wanted. */
  static float large[4096];
  mica_safetensors_entry entry = {.name = "x", .dtype = MICA_F32, .shape = {1, {4096}}, .data = large};
  mica_safetensors *file = NULL;
  struct rlimit before, small = {1000, 0};
  entry.bytes = sizeof large;
  ck_ok(mica_safetensors_write(path, entries, ENTRIES, NULL, 0));
  ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
  small.rlim_max = before.rlim_max;
  signal(SIGXFSZ, SIG_IGN);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
  mica_status status = mica_safetensors_write(path, &entry, 1, NULL, 0);
  ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
  ck_assert_int_eq(status, MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), path));
  ck_ok(mica_safetensors_open(path, &file));
  ck_assert_uint_eq(mica_safetensors_count(file), ENTRIES);
  mica_safetensors_close(file);
  ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

START_TEST(a_directory_that_cannot_be_written_is_a_sentence) {
  ck_assert_int_eq(mica_safetensors_write("/proc/mica/x.safetensors", entries, ENTRIES, NULL, 0), MICA_E_IO);
  ck_assert_ptr_nonnull(strstr(mica_error_message(), "/proc/mica"));
}
END_TEST

/* Writes file after file, each of one number throughout, until it is killed. */
static void write_for_ever(void) {
  static float content[65536];
  for (float number = 1;; number++) {
    for (size_t i = 0; i < 65536; i++) content[i] = number;
    mica_safetensors_entry entry = {.name = "x", .dtype = MICA_F32, .shape = {1, {65536}}, .data = content};
    entry.bytes = sizeof content;
    if (mica_safetensors_write(path, &entry, 1, NULL, 0) != MICA_OK) _exit(1);
  }
}

START_TEST(a_writer_killed_at_any_moment_leaves_a_whole_file) {
  ck_ok(mica_safetensors_write(path, entries, ENTRIES, NULL, 0));
  for (unsigned kill_number = 0; kill_number < 30; kill_number++) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) write_for_ever();
    struct timespec moment = {0, (long)(1 + kill_number * 7919 % 6000) * 1000};
    nanosleep(&moment, NULL);
    int state = 0;
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFSIGNALED(state));
    mica_safetensors *file = NULL;
    ck_ok(mica_safetensors_open(path, &file));
    const mica_safetensors_entry *x = mica_safetensors_find(file, "x");
    for (size_t i = 0; x && i < 65536; i++)
      ck_assert_float_eq(((const float *)x->data)[i], ((const float *)x->data)[0]);
    mica_safetensors_close(file);
  }
  ck_ok(mica_safetensors_write(path, entries, ENTRIES, NULL, 0));
  ck_assert_uint_eq(files_in_folder(), 1);
}
END_TEST

static void make_folder(void) {
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(path, sizeof path, "%s/x.safetensors", folder);
}

static void remove_folder(void) {
  unlink(path);
  rmdir(folder);
}

TEST_GROUPS(NEEDS(CJSON),
            ONCE(make_folder, remove_folder, what_is_written_comes_back, every_dtype_has_a_name_in_the_format,
                 what_the_format_forbids_is_refused_with_the_reason, a_bool_is_0_or_1,
                 a_name_that_is_no_text_is_not_written, metadata_that_are_no_text_are_not_written,
                 a_header_that_is_no_header_is_refused, what_the_format_cannot_hold_is_not_written,
                 a_disk_that_is_full_leaves_the_old_file, a_directory_that_cannot_be_written_is_a_sentence,
                 a_writer_killed_at_any_moment_leaves_a_whole_file))
