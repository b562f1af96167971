/* labels: null single
 *
 * Files of every kind that Mica writes and reads back, with memory and files failing: each ends in a status, leaks
 * nothing, and leaves no half file behind. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/fault_libc.h"
#include "support/files.h"

#include <dirent.h>
#include <math.h>
#include <mica/data.h>
#include <mica/gguf.h>
#include <mica/history.h>
#include <mica/io.h>
#include <mica/safetensors.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const float weights[6] = {1, -2, 3, -4, 5, -6};
static const mica_safetensors_entry entries[] = {
    {.name = "a \"quoted\" name", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = weights, .bytes = sizeof weights},
    {.name = "nothing", .dtype = MICA_I64, .shape = {2, {0, 5}}}};
static const mica_safetensors_pair metadata[] = {{"step", "17"}};

/* Each of the three writes twice, so that a file that was there is replaced. */
static mica_status safetensors(void *user) {
  mica_safetensors *file = NULL;
  const char *path = files_path("x/weights.safetensors");
  (void)user;
  mica_status status = mica_safetensors_write(path, entries, 2, metadata, 1);
  if (status == MICA_OK) status = mica_safetensors_write(path, entries, 2, metadata, 1);
  if (status == MICA_OK) status = mica_safetensors_open(path, &file);
  if (status == MICA_OK) {
    const mica_safetensors_entry *found = mica_safetensors_find(file, entries[0].name);
    if (!found || memcmp(found->data, weights, sizeof weights) != 0) status = MICA_E_NUMERIC;
  }
  mica_safetensors_close(file);
  return status;
}

static mica_status gguf(void *user) {
  static const mica_gguf_text texts[] = {{"a", 1}, {"bc", 2}};
  static const mica_gguf_value list = {.kind = MICA_GGUF_KIND_TEXT, .array = true, .count = 2, .data = texts};
  static const mica_gguf_value keys[] = {
      {.key = "lists", .kind = MICA_GGUF_KIND_ARRAY, .array = true, .count = 1, .data = &list}};
  static const mica_weight_entry tensors[] = {
      {.name = "w", .dtype = MICA_F32, .shape = {2, {2, 3}}, .data = weights, .bytes = sizeof weights}};
  const char *path = files_path("x/weights.gguf");
  mica_weights *file = NULL;
  (void)user;
  mica_status status = mica_gguf_write(path, keys, 1, tensors, 1);
  if (status == MICA_OK) status = mica_gguf_write(path, keys, 1, tensors, 1);
  if (status == MICA_OK) status = mica_weights_open(path, &file);
  if (status == MICA_OK && memcmp(mica_weights_find(file, "w")->data, weights, sizeof weights) != 0)
    status = MICA_E_NUMERIC;
  if (status == MICA_OK && !mica_gguf_find(mica_weights_gguf(file), "lists")) status = MICA_E_NUMERIC;
  mica_weights_close(file);
  return status;
}

/* A folder with an index. */
static mica_status shards(void *user) {
  mica_weights *file = NULL;
  (void)user;
  mica_status status = mica_weights_open(files_path("shards"), &file);
  if (status == MICA_OK && mica_weights_count(file) != 2) status = MICA_E_NUMERIC;
  mica_weights_close(file);
  return status;
}

static mica_status history(void *user) {
  mica_history *made = NULL, *got = NULL;
  const char *path = files_path("x/history.csv");
  (void)user;
  mica_status status = mica_history_create(&made);
  for (int i = 0; status == MICA_OK && i < 2; i++) {
    status = mica_history_begin(made);
    if (status == MICA_OK) status = mica_history_set(made, "loss", 0.5);
    if (status == MICA_OK) status = mica_history_set(made, i ? "accuracy" : "epoch", 1);
  }
  if (status == MICA_OK) status = mica_history_write(made, path);
  if (status == MICA_OK) status = mica_history_write(made, path);
  if (status == MICA_OK) status = mica_history_read(path, &got);
  if (status == MICA_OK && (mica_history_rows(got) != 2 || mica_history_get(got, 0, "loss") != 0.5))
    status = MICA_E_NUMERIC;
  mica_history_destroy(got);
  mica_history_destroy(made);
  return status;
}

static mica_status events(void *user) {
  mica_events *made = NULL;
  (void)user;
  mica_status status = mica_events_create(files_path("x/events"), &made);
  if (status == MICA_OK) status = mica_events_scalar(made, "loss", 1, 0.5);
  mica_events_close(made);
  return status;
}

static mica_status picture(void *user) {
  static const uint8_t planes[3 * 4 * 5] = {9};
  uint8_t *data = NULL;
  size_t size = 0;
  (void)user;
  mica_status status = mica_png_encode(planes, MICA_SHAPE(3, 4, 5), &data, &size);
  if (status == MICA_OK) status = mica_file_write(files_path("x/picture.png"), data, size);
  if (status == MICA_OK) status = mica_file_write(files_path("x/picture.png"), data, size);
  mica_free(data);
  return status;
}

static const struct {
  const char *name;
  fault_scenario *run;
} scenarios[] = {{"weights.safetensors", safetensors},
                 {"weights.gguf", gguf},
                 {"shards", shards},
                 {"history.csv", history},
                 {"events", events},
#if MICA_WITH_PNG
                 {"picture.png", picture}
#endif
};
#define SCENARIOS (sizeof scenarios / sizeof *scenarios)

START_TEST(memory) {
  for (size_t i = 0; i < SCENARIOS; i++) fault_libc_each(FAULT_MEMORY, scenarios[i].run, NULL, 2);
}
END_TEST

START_TEST(files) {
  for (size_t i = 0; i < SCENARIOS; i++) fault_libc_each(FAULT_FILES, scenarios[i].run, NULL, 2);
}
END_TEST

/* What a failed writer left aside is gone, and the files that are there are those asked for. */
START_TEST(nothing_is_left_aside) {
  DIR *folder = opendir(files_path("x"));
  ck_assert_ptr_nonnull(folder);
  for (const struct dirent *entry; (entry = readdir(folder));) {
    bool known = entry->d_name[0] == '.' && strlen(entry->d_name) <= 2;
    for (size_t i = 0; i < SCENARIOS; i++) known = known || !strcmp(entry->d_name, scenarios[i].name);
    ck_assert_msg(known, "%s", entry->d_name);
  }
  closedir(folder);
}
END_TEST

static void setup(void) {
  files_write_text("x/history.csv", "");
  ck_ok(mica_safetensors_write(files_path("shards/1.safetensors"), &entries[0], 1, NULL, 0));
  ck_ok(mica_safetensors_write(files_path("shards/2.safetensors"), &entries[1], 1, NULL, 0));
  files_write_text("shards/model.safetensors.index.json",
                   "{\"weight_map\": {\"a \\\"quoted\\\" name\": \"1.safetensors\", \"nothing\": \"2.safetensors\"}}");
}

TEST_GROUPS(NEEDS(CJSON), ONCE(setup, files_remove, memory, files, nothing_is_left_aside))
