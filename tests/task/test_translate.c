/* labels: device slow
 *
 * The task translate in a program: columns, pairs that are cut or empty, and what a step and a longer translation cost:
 * launches alone. tests/cli/test_translate.sh shows that it learns. */
#include "support/check_main.h"
#include "support/engine.h"
#include "support/files.h"

#include <mica/mica.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if MICA_WITH_CJSON && MICA_WITH_PCRE2

#define PAIRS 96

/* Lines of 1 to 12 words; some are empty, one is longer than the context. */
static void write_pairs(const char *name, bool target) {
  static const char *const words[2][5] = {{"dog", "cat", "a", "runs", "red"},
                                          {"Hund", "Katze", "ein", "l\xc3\xa4uft", "rot"}};
  files_write_text(name, ""); /* makes the folder */
  FILE *file = fopen(files_path(name), "wb");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < PAIRS; i++) {
    const int count = i == 7 ? 0 : i == 9 ? 40 : 1 + i % 12;
    for (int k = 0; k < count; k++) fprintf(file, "%s%s", k ? " " : "", words[target][(i * 3 + k * k) % 5]);
    fputc('\n', file);
  }
  fclose(file);
}

static char data[512];

static void begin(void) {
  write_pairs("data/train.en", false);
  write_pairs("data/train.de", true);
  snprintf(data, sizeof data, "%s", files_path("data"));
}

static mica_run *make(const mica_setting *more, size_t count) {
  static const mica_setting settings[] = {{"batch", "16"},  {"width", "16"},       {"heads", "2"}, {"layers", "1"},
                                          {"length", "32"}, {"vocabulary", "300"}, {"seed", "3"}};
  mica_setting all[16];
  memcpy(all, settings, sizeof settings);
  if (count) memcpy(all + sizeof settings / sizeof *settings, more, count * sizeof *more);
  const mica_run_config config = {
      .data = data, .settings = all, .setting_count = sizeof settings / sizeof *settings + count};
  mica_run *run = NULL;
  ck_ok(mica_run_create(test_engine(), &config, &run));
  return run;
}

START_TEST(pairs_become_columns) {
  mica_run *run = make((const mica_setting[]){{"validation", "0"}}, 1);
  const mica_dataset *pairs = mica_run_data(run, MICA_PART_TRAIN);
  const size_t read = mica_dataset_column_index(pairs, "read"), target = mica_dataset_column_index(pairs, "target");
  ck_assert_str_eq(mica_run_task(run), "translate");
  ck_assert_str_eq(mica_run_fact(run, "from", NULL)[0], "de");
  ck_assert_str_eq(mica_run_fact(run, "to", NULL)[0], "en");
  ck_assert_ptr_nonnull(strstr(mica_run_remark(run, 0), "2 of 192 texts are longer than 31 tokens"));
  ck_assert_ptr_nonnull(strstr(mica_run_remark(run, 1), "1 of 96 lines are empty in both 'de' and 'en'"));
  for (uint64_t i = 0; i < PAIRS; i++) {
    int32_t reads[32], targets[32];
    int64_t length = 0, same = 0;
    ck_ok(mica_dataset_length(pairs, target, i, &length));
    ck_ok(mica_dataset_length(pairs, read, i, &same));
    ck_assert(length == same && length >= 1 && length <= 32 && (length == 1) == (i == 7));
    ck_ok(mica_dataset_read(pairs, target, i, targets, (size_t)length * sizeof *targets));
    ck_ok(mica_dataset_read(pairs, read, i, reads, (size_t)length * sizeof *reads));
    ck_assert_int_eq(reads[0], 2);            /* <s> */
    ck_assert_int_eq(targets[length - 1], 3); /* </s> */
    ck_assert_mem_eq(reads + 1, targets, (size_t)(length - 1) * sizeof *reads);
  }
  mica_run_destroy(run);
}
END_TEST

START_TEST(a_step_costs_launches_alone) {
  mica_run *run = make(NULL, 0);
  mica_trainer *trainer = mica_run_trainer(run);
  mica_loader *loader = NULL;
  mica_stats before = {0};
  uint64_t steps = 0;
  const mica_column_config target = {.name = "target", .pad = -1};
  const mica_loader_config config = {
      .batch = 16, .shuffle = true, .drop_last = true, .columns = &target, .column_count = 1, .buckets = 8};
  ck_ok(mica_loader_create(test_engine(), mica_run_data(run, MICA_PART_TRAIN), &config, &loader));
  const mica_batch_source source = mica_loader_source(loader);
  for (int epoch = 0; epoch < 2; epoch++) {
    ck_ok(source.seek(source.user, 0, 0)); /* the same lengths again */
    for (mica_batch batch = {0};;) {
      ck_ok(source.next(source.user, test_queue(), &batch));
      if (!batch.count) break;
      before = epoch && !steps ? mica_engine_stats(test_engine()) : before;
      ck_ok(mica_trainer_step(trainer, &batch));
      steps += (uint64_t)epoch;
    }
  }
  const mica_stats after = mica_engine_stats(test_engine());
  printf("a step: %g launches\n", (double)(after.launches - before.launches) / (double)steps);
  ck_assert_uint_eq(steps, 5);
  ck_assert_uint_eq(after.host_waits, before.host_waits);
  ck_assert_uint_eq(after.allocations, before.allocations);
  ck_assert_uint_eq(after.kernel_builds, before.kernel_builds);
  mica_loader_destroy(loader);
  mica_run_destroy(run);
}
END_TEST

static void refuse(const char *name, const char *value, const char *sentence) {
  const mica_setting setting = {name, value};
  const mica_run_config config = {.task = "translate", .data = data, .settings = &setting, .setting_count = 1};
  mica_run *run = NULL;
  ck_assert_int_ne(mica_run_create(test_engine(), &config, &run), MICA_OK);
  ck_assert_msg(strstr(mica_error_message(), sentence), "%s", mica_error_message());
}

START_TEST(what_is_wrong_is_said) {
  mica_tokenizer *bare = NULL;
  ck_ok(mica_tokenizer_train(&(mica_tokenizer_config){.kind = MICA_TOKENIZER_KIND_BYTE}, NULL, NULL, &bare));
  ck_ok(mica_tokenizer_save(bare, files_path("bare.json")));
  mica_tokenizer_destroy(bare);
  char path[512];
  snprintf(path, sizeof path, "%s", files_path("bare.json"));
  refuse("tokenizer", path, "has no tokens <s> and </s>");
  refuse("tokenizer", "syllable", "tokenizer cannot be \"syllable\"");
  refuse("from", "fr", "has no texts 'fr', which the setting from names; its texts: de, en");
  refuse("vocabulary", "12", "12");
  refuse("heads", "3", "a width of 128 cannot be shared by 3 heads");
}
END_TEST

/* The first `count` lines of the file have no text, one of them but blanks. */
static void empty_some(const char *name, int count) {
  files_write_text(name, "");
  FILE *file = fopen(files_path(name), "wb");
  ck_assert_ptr_nonnull(file);
  for (int i = 0; i < PAIRS; i++) fputs(i == 0 ? " \t\n" : i < count ? "\n" : "a dog\n", file);
  fclose(file);
}

/* Line 8 is the one of 'de' without a text. */
START_TEST(pairs_that_lack_a_side_are_counted) {
  empty_some("data/train.en", 6);
  mica_run *run = make((const mica_setting[]){{"validation", "0"}}, 1);
  ck_assert_str_eq(mica_run_remark(run, 1),
                   "6 of 96 lines have a text in 'de' and none in 'en': the network learns to translate into nothing");
  mica_run_destroy(run);
  run = make((const mica_setting[]){{"validation", "0"}, {"from", "en"}}, 2);
  ck_assert_str_eq(mica_run_remark(run, 1),
                   "1 of 96 lines have a text in 'en' and none in 'de': the network learns to translate into nothing");
  ck_assert_ptr_nonnull(strstr(mica_run_remark(run, 2), "6 of 96 lines have a text in 'de' and none in 'en': the "
                                                        "network learns to translate nothing into texts"));
  mica_run_destroy(run);
  empty_some("data/train.en", 60);
  refuse("validation", "0", "59 of 96 lines have a text in only one of 'de' and 'en', so they are not translations");
}
END_TEST

/* A test part without a single translation is refused before anything is learnt; one that lacks some is told of. */
START_TEST(references_that_are_empty_are_said) {
  write_pairs("data/test.de", true);
  empty_some("data/test.en", 6);
  mica_run *run = make((const mica_setting[]){{"validation", "0"}}, 1);
  bool told = false;
  for (size_t i = 0; mica_run_remark(run, i); i++)
    told =
        told || !strcmp(mica_run_remark(run, i), "6 of 96 lines of the test part have a text in 'de' and none in 'en'");
  ck_assert(told);
  mica_run_destroy(run);
  empty_some("data/test.en", PAIRS);
  refuse("validation", "0",
         "none of the 96 lines of the test part has a text in 'en': there is nothing to compare translations with");
}
END_TEST

TESTS(DEVICE, begin, files_remove, pairs_become_columns, a_step_costs_launches_alone, what_is_wrong_is_said,
      pairs_that_lack_a_side_are_counted, references_that_are_empty_are_said)

#else

SKIPS("this build lacks cJSON or PCRE2")

#endif
