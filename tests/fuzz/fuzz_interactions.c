/* The readers of interactions, of features, and of the ratings of a new user. */
#include "fuzz/fuzz.h"
#include "task/head/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Ids are those of names, in every part, and histories hold each once. */
static void check(const mica__interactions *x) {
  for (size_t i = 0; i < x->count; i++) {
    const mica__interaction *one = &x->list[i];
    if (one->user < 0 || one->user > x->users.count || one->item < 0 || one->item > x->items.count) abort();
  }
  for (mica_part last = MICA_PART_TRAIN; last <= MICA_PART_TEST; last++) {
    mica__histories h = {0};
    if (mica__histories_make(x, last, &h) != MICA_OK) continue;
    for (int32_t u = 0; u <= x->users.count; u++)
      if (h.offsets[u + 1] < h.offsets[u] || h.offsets[u + 1] > (int64_t)x->count) abort();
    mica__histories_free(&h);
  }
}

static void read_interactions(char *content, size_t size, unsigned how) {
  const mica__interaction_columns columns = {.user = how & 1 ? "a" : NULL, .item = how & 1 ? "b" : NULL};
  mica__records records = mica__records_in("fuzz", content, size);
  mica__interactions *x = calloc(1, sizeof *x);
  if (!x) return;
  mica_status status =
      mica__interactions_read(&records, &columns, how & 2 ? MICA__DUPLICATES_LAST : MICA__DUPLICATES_FAIL, x);
  if (status == MICA_OK)
    status = mica__interactions_part(x, (mica__holdout)(how / 4 % 3), 0.3, how & 16 ? 0.2 : 0, how);
  if (status == MICA_OK) status = mica__interactions_number(x, 1 + how / 32 % 2);
  if (status == MICA_OK) check(x);
  mica__records_free(&records);
  mica__interactions_free(x);
}

/* Rows of values lie within the table, and numbers are finite. */
static void check_features(const mica__features *f, mica__side side) {
  const mica__feature_sizes s = mica__features_size(f);
  const int64_t count = s.categories + s.width + s.sets;
  float *numbers = calloc((size_t)s.numbers + 1, sizeof *numbers);
  int32_t *ids = calloc((size_t)count + 1, sizeof *ids);
  for (int32_t row = -1; numbers && ids && row < f->rows[side] && row < 100; row++) {
    mica__feature_rows rows = {{-1, -1, -1}};
    rows.at[side] = row;
    mica__features_encode(f, &rows, numbers, ids, ids + s.categories, ids + s.categories + s.width);
    for (int64_t i = 0; i < s.numbers; i++)
      if (!isfinite(numbers[i])) abort();
    for (int64_t i = 0; i < s.categories + s.width; i++)
      if (ids[i] < 0 || ids[i] >= s.values) abort();
    const int32_t *length = ids + s.categories + s.width;
    for (size_t k = 0; k < f->count; k++)
      if (f->list[k].kind == MICA__FEATURE_SET && *length++ > mica__feature_width(&f->list[k])) abort();
  }
  free(numbers);
  free(ids);
}

static void read_features(char *content, size_t size, unsigned how) {
  const mica__side side = how & 1 ? MICA__SIDE_PAIR : MICA__SIDE_ITEM;
  mica__feature_config config = {.separator = how & 2 ? '|' : ';',
                                 .categorical = how & 4 ? "b" : "",
                                 .key = side == MICA__SIDE_ITEM ? 0 : SIZE_MAX,
                                 .title = SIZE_MAX,
                                 .header = how & 8};
  const mica__feature_rows samples[] = {{{0, 0, 0}}, {{-1, -1, -1}}};
  mica__features f = {0};
  mica__records records = mica__records_in("fuzz", content, size);
  if (mica__features_read(&records, side, &config, &f) == MICA_OK &&
      mica__features_number(&f, samples, f.rows[side] > 0 ? 2 : 0, 1) == MICA_OK) {
    check_features(&f, side);
    config.known = true;
    if (mica__features_read(&records, side, &config, &f) == MICA_OK) check_features(&f, side);
  }
  mica__records_free(&records);
  mica__features_free(&f);
}

static void read_rated(char *content, size_t size) {
  mica__records records = mica__records_in("fuzz", content, size);
  mica__rated rated = {0};
  if (mica__rated_read(&records, &rated) == MICA_OK && !rated.count) abort();
  mica__records_free(&records);
  mica__rated_free(&rated);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (size == 0) return 0;
  /* The first byte chooses the way of reading; readers do not change what they read. */
  char *content = malloc(size);
  if (!content) return 0;
  memcpy(content, data + 1, size - 1);
  content[size - 1] = '\0';
  if (data[0] & 128 && data[0] & 64)
    read_features(content, size - 1, data[0]);
  else if (data[0] & 128)
    read_rated(content, size - 1);
  else
    read_interactions(content, size - 1, data[0]);
  free(content);
  return 0;
}

#define TABLE "user,item,rating,time\nu,i,3,1\nu,j,4,2\nv,i,5,3\nv,k,1,2020-01-31 10:00\nw,i,2,3\n"
bool fuzz_seed(size_t index, mica__text *seed) {
  static const char *const seeds[] = {"@" TABLE,
                                      "X" TABLE,
                                      "J" TABLE,
                                      "B1\t2\t3\n1\t3\t4\n2\t2\t5\n1\t2\t1\n",
                                      "Ca;b\nx;9223372036854775808\ny;\"q\"\"r\"\n",
                                      "\xce"
                                      "a,b,c\ni,1,x|y\nj,2,y\nk,,\n",
                                      "\xcb"
                                      "b,c,d\n1,x,3e9\n2,y|z|z,?\n",
                                      "\x80"
                                      "item,rating\n1,5\n2,4\n",
                                      "\x80"
                                      "318\t5\n\"a b\"\t4.5\n"};
  if (index >= sizeof seeds / sizeof *seeds) return false;
  mica__text_add(seed, seeds[index]);
  return true;
}
