/* labels: null
 *
 * Collectives between threads: what arrives, that timing changes no bit, and what happens when a rank is lost. */
#include "base/clock.h"
#include "support/check_main.h"
#include "support/engine.h"
#include "support/members.h"

#include <math.h>
#include <mica/dist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_RANKS 5

/* --- what every rank does in a test --- */

static int64_t count;
static const int64_t *offsets;
static mica_dtype dtype;
static float *results[MOST_RANKS]; /* for comparisons between ranks and runs */

/* Element i of rank r: small integers, whose sums are exact in every type. */
static double value_of(int32_t rank, int64_t i) { return (double)((i * 7 + rank * 3) % 11) - 5; }

static void put(void *data, int64_t i, double value) {
  switch (dtype) {
  case MICA_F32: ((float *)data)[i] = (float)value; break;
  case MICA_F64: ((double *)data)[i] = value; break;
  case MICA_I32: ((int32_t *)data)[i] = (int32_t)value; break;
  default: ((int64_t *)data)[i] = (int64_t)value; break;
  }
}

static double get(const void *data, int64_t i) {
  switch (dtype) {
  case MICA_F32: return (double)((const float *)data)[i];
  case MICA_F64: return ((const double *)data)[i];
  case MICA_I32: return ((const int32_t *)data)[i];
  default: return (double)((const int64_t *)data)[i];
  }
}

static void *filled(int32_t rank) {
  void *data = malloc((size_t)count * 8 + 1);
  ck_assert_ptr_nonnull(data);
  for (int64_t i = 0; i < count; i++) put(data, i, value_of(rank, i));
  return data;
}

static double sum_of(int32_t ranks, int64_t i) {
  double sum = 0;
  for (int32_t r = 0; r < ranks; r++) sum += value_of(r, i);
  return sum;
}

static void part_of(const mica_communicator *c, int32_t rank, int64_t *first, int64_t *length) {
  mica_rank_part(count, c->ranks, rank, first, length);
  if (!offsets) return;
  *first = offsets[rank];
  *length = offsets[rank + 1] - offsets[rank];
}

static void all_reduce(mica_communicator *c) {
  void *source = filled(c->rank), *data = filled(c->rank);
  mica_transfer t = {MICA_COLLECTIVE_ALL_REDUCE, .dtype = dtype, .data = data, .count = count, .offsets = offsets};
  ck_ok(mica_communicator_run(c, &t));
  for (int64_t i = 0; i < count; i++) ck_assert_double_eq(get(data, i), sum_of(c->ranks, i));
  t.source = source;
  memset(data, 0xff, (size_t)count * 8);
  ck_ok(mica_communicator_run(c, &t));
  for (int64_t i = 0; i < count; i++) {
    ck_assert_double_eq(get(data, i), sum_of(c->ranks, i));
    ck_assert_double_eq(get(source, i), value_of(c->rank, i));
  }
  free(source);
  free(data);
}

static void scatter_and_gather(mica_communicator *c) {
  void *data = filled(c->rank);
  mica_transfer t = {MICA_COLLECTIVE_REDUCE_SCATTER, .dtype = dtype, .data = data, .count = count, .offsets = offsets};
  int64_t first, length;
  part_of(c, c->rank, &first, &length);
  ck_ok(mica_communicator_run(c, &t));
  for (int64_t i = first; i < first + length; i++) ck_assert_double_eq(get(data, i), sum_of(c->ranks, i));
  t.kind = MICA_COLLECTIVE_ALL_GATHER;
  ck_ok(mica_communicator_run(c, &t));
  for (int64_t i = 0; i < count; i++) ck_assert_double_eq(get(data, i), sum_of(c->ranks, i));
  free(data);
}

static void broadcast(mica_communicator *c) {
  for (int32_t root = 0; root < c->ranks; root++) {
    void *data = filled(c->rank);
    mica_transfer t = {MICA_COLLECTIVE_BROADCAST, .dtype = dtype, .data = data, .count = count, .peer = root};
    ck_ok(mica_communicator_run(c, &t));
    for (int64_t i = 0; i < count; i++) ck_assert_double_eq(get(data, i), value_of(root, i));
    free(data);
  }
}

/* Everybody sends to the next twice and receives from the one before, all at once. */
static void ring(mica_communicator *c) {
  const int32_t next = (c->rank + 1) % c->ranks, before = (c->rank + c->ranks - 1) % c->ranks;
  void *sent = filled(c->rank), *got[2] = {filled(c->rank), filled(c->rank)}, *requests[4];
  int64_t numbers[2] = {c->rank, 100 + c->rank}, other[2] = {-1, -1};
  if (c->ranks == 1) goto out;
  for (int k = 0; k < 2; k++) {
    mica_transfer to = {MICA_COLLECTIVE_SEND, 3, next, MICA_I64, &numbers[k], 1, .offsets = NULL};
    mica_transfer from = {MICA_COLLECTIVE_RECEIVE, 3, before, MICA_I64, &other[k], 1, .offsets = NULL};
    ck_ok(mica_communicator_begin(c, &to, &requests[2 * k]));
    ck_ok(mica_communicator_begin(c, &from, &requests[2 * k + 1]));
  }
  for (int k = 3; k >= 0; k--) ck_ok(mica_communicator_wait(c, requests[k]));
  ck_assert_int_eq(other[0], before);
  ck_assert_int_eq(other[1], 100 + before);
out:
  free(sent);
  free(got[0]);
  free(got[1]);
}

static void everything(mica_communicator *c) {
  all_reduce(c);
  scatter_and_gather(c);
  broadcast(c);
  ring(c);
}

START_TEST(sums_parts_and_messages) {
  static const int64_t counts[] = {0, 1, 63, 64, 65, 1000, 4097};
  static const mica_dtype dtypes[] = {MICA_F32, MICA_F64, MICA_I32, MICA_I64};
  for (int32_t ranks = 1; ranks <= MOST_RANKS; ranks++)
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
      count = counts[k];
      dtype = dtypes[(k + (size_t)ranks) % 4];
      test_members(ranks, NULL, everything);
    }
}
END_TEST

START_TEST(parts_of_ones_own) {
  static const int64_t uneven[] = {0, 0, 700, 701, 1000};
  count = 1000;
  dtype = MICA_F32;
  offsets = uneven;
  test_members(4, NULL, everything);
  offsets = NULL;
}
END_TEST

/* --- several at once --- */

/* Begun in another order on each rank, and twice on a channel. */
static void in_any_order(mica_communicator *c) {
  enum { MANY = 6 };
  void *data[MANY][2], *requests[MANY][2];
  for (int k = 0; k < MANY; k++) {
    const int32_t channel = (k * (c->rank ? 5 : 1) + c->rank) % MANY;
    for (int twice = 0; twice < 2; twice++) {
      data[channel][twice] = filled(c->rank + channel + twice);
      mica_transfer t = {.channel = channel, .dtype = dtype, .data = data[channel][twice], .count = count};
      ck_ok(mica_communicator_begin(c, &t, &requests[channel][twice]));
    }
  }
  for (int k = MANY - 1; k >= 0; k--)
    for (int twice = 1; twice >= 0; twice--) {
      ck_ok(mica_communicator_wait(c, requests[k][twice]));
      for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int32_t r = 0; r < c->ranks; r++) sum += value_of(r + k + twice, i);
        ck_assert_double_eq(get(data[k][twice], i), sum);
      }
      free(data[k][twice]);
    }
}

START_TEST(channels_are_independent) {
  count = 3000;
  dtype = MICA_F32;
  for (int32_t ranks = 2; ranks <= 4; ranks++) test_members(ranks, &(test_faults){.delay = 3e-4}, in_any_order);
}
END_TEST

/* --- the same bits --- */

static mica_compression compression;

static void sum_of_thirds(mica_communicator *c) {
  float *x = results[c->rank];
  for (int64_t i = 0; i < count; i++) x[i] = sinf((float)i * 0.7f + (float)c->rank) / 3;
  ck_ok(mica_communicator_run(c, &(mica_transfer){.data = x, .count = count, .compression = compression}));
}

START_TEST(timing_changes_no_bit) {
  float *first = malloc(5000 * sizeof *first);
  count = 5000;
  for (int r = 0; r < MOST_RANKS; r++) results[r] = malloc((size_t)count * sizeof **results);
  for (int kind = MICA_COMPRESSION_NONE; kind <= MICA_COMPRESSION_U8; kind++)
    for (int run = 0; run < 10; run++) {
      compression = (mica_compression)kind;
      test_members(MOST_RANKS, &(test_faults){.delay = 3e-4, .seed = (unsigned)run}, sum_of_thirds);
      if (run == 0) memcpy(first, results[0], (size_t)count * sizeof *first);
      for (int r = 0; r < MOST_RANKS; r++) ck_assert_mem_eq(results[r], first, (size_t)count * sizeof *first);
    }
  for (int r = 0; r < MOST_RANKS; r++) free(results[r]);
  free(first);
}
END_TEST

/* --- compression --- */

/* The sum of many compressed sums is off by what the last ones keep back alone, not by what each lost. */
static void feeds_back(mica_communicator *c) {
  enum { N = 700, RUNS = 50 };
  float x[N];
  double total[N] = {0}, exact[N] = {0}, most = 0;
  for (int run = 0; run < RUNS; run++) {
    for (int i = 0; i < N; i++) {
      x[i] = cosf((float)(i * 3 + run)) * 0.01f + (float)c->rank * 0.001f;
      for (int32_t r = 0; r < c->ranks; r++)
        exact[i] += (double)(cosf((float)(i * 3 + run)) * 0.01f + (float)r * 0.001f);
    }
    mica_transfer t = {.data = x, .count = N, .compression = compression, .feedback = true};
    ck_ok(mica_communicator_run(c, &t));
    for (int i = 0; i < N; i++) total[i] += (double)x[i];
  }
  /* A rank keeps back half a level at most, and so does the sum: 0.013 / 254 each and 0.039 / 254, or 2^-11 of that. */
  const double bound = compression == MICA_COMPRESSION_U8 ? 3 * 0.014 / 254 + 0.042 / 254 : 0.1 / 2048;
  for (int i = 0; i < N; i++) most = fmax(most, fabs(total[i] - exact[i]));
  ck_assert_msg(most < bound, "%s: off by %g of %g", mica_compression_name(compression), most, bound);
  ck_assert_msg(most > 0, "nothing was compressed");
  ck_assert_uint_lt(mica_communicator_stats_of(c).bytes_sent, RUNS * (uint64_t)N * 7 / 2); /* 16/3 uncompressed */
}

START_TEST(errors_are_fed_back) {
  for (int kind = MICA_COMPRESSION_F16; kind <= MICA_COMPRESSION_U8; kind++) {
    compression = (mica_compression)kind;
    test_members(3, NULL, feeds_back);
  }
}
END_TEST

static void extremes(mica_communicator *c) {
  float x[600];
  for (int i = 0; i < 600; i++) x[i] = i < 256 ? 1e6f : 1.0f;
  x[300] = c->rank == 1 ? NAN : 0;
  mica_transfer t = {.data = x, .count = 600, .compression = compression, .feedback = true};
  ck_ok(mica_communicator_run(c, &t));
  ck_assert(isnan(x[300]));
  for (int i = 0; i < 256; i++) ck_assert(x[i] <= 2e6f * 1.01f && x[i] >= 65504);
  /* Nothing of it is fed back. */
  for (int i = 0; i < 600; i++) x[i] = 0;
  ck_ok(mica_communicator_run(c, &t));
  for (int i = 256; i < 600; i++) ck_assert(isfinite(x[i]));
}

START_TEST(a_nan_of_one_rank_is_everybodys) {
  for (int kind = MICA_COMPRESSION_F16; kind <= MICA_COMPRESSION_U8; kind++) {
    compression = (mica_compression)kind;
    test_members(2, NULL, extremes);
  }
}
END_TEST

/* --- faults --- */

static void wait_and_fail(mica_communicator *c, const char *sentence) {
  float x[200] = {0};
  ck_assert_int_eq(mica_communicator_run(c, &(mica_transfer){.data = x, .count = 200}), MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), sentence), "\"%s\" lacks \"%s\"", mica_error_message(), sentence);
  /* And so does all that comes later. */
  ck_assert_int_eq(mica_communicator_run(c, &(mica_transfer){.data = x, .count = 200}), MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), sentence), "\"%s\" lacks \"%s\"", mica_error_message(), sentence);
}

static void one_hangs(mica_communicator *c) {
  if (c->rank == 1)
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
  else
    wait_and_fail(c, "rank 1 has sent nothing for 0.2 seconds");
}

static void one_aborts(mica_communicator *c) {
  if (c->rank == 2)
    mica_communicator_abort(c, "the disk is full");
  else
    wait_and_fail(c, "rank 2: the disk is full");
}

static void one_leaves(mica_communicator *c) {
  if (c->rank == 1) return; /* and is destroyed */
  wait_and_fail(c, "rank 1 has left");
}

static void one_does_something_else(mica_communicator *c) {
  float x[500] = {0};
  mica_status status = mica_communicator_run(c, &(mica_transfer){.data = x, .count = c->rank == 1 ? 500 : 200});
  ck_assert_int_eq(status, MICA_E_STATE);
  ck_assert_msg(strstr(mica_error_message(), "differ in their programs"), "%s", mica_error_message());
}

static void one_is_lost(mica_communicator *c) { wait_and_fail(c, "has sent nothing for 0.2"); }

START_TEST(whoever_fails_is_named) {
  test_members(3, &(test_faults){.timeout = 0.2}, one_hangs);
  test_members(3, NULL, one_aborts);
  test_members(2, &(test_faults){.leaves = true}, one_leaves);
  test_members(3, NULL, one_does_something_else);
  test_members(2, &(test_faults){.timeout = 0.2, .drops_of = 1}, one_is_lost);
}
END_TEST

static void out_of_contract(mica_communicator *c) {
  float x[8] = {0};
  void *request;
  const int64_t falling[] = {0, 5, 3, 8}, short_of[] = {0, 1, 2, 7};
  const mica_transfer wrong[] = {
      {.kind = (mica_collective)17, .data = x, .count = 8},
      {.data = x, .count = -1},
      {.data = NULL, .count = 8},
      {.data = x, .count = INT64_MAX},
      {.data = x, .count = 8, .dtype = MICA_U8},
      {.data = x, .count = 8, .dtype = (mica_dtype)99},
      {.data = x, .count = 8, .channel = -1},
      {.data = x, .count = 8, .channel = MICA_CHANNELS},
      {.data = x, .count = 8, .compression = (mica_compression)9},
      {.data = x, .count = 4, .compression = MICA_COMPRESSION_F16, .dtype = MICA_F64},
      {.data = x, .count = 8, .offsets = falling},
      {.data = x, .count = 8, .offsets = short_of},
      {.kind = MICA_COLLECTIVE_SEND, .data = x, .count = 8, .peer = c->rank},
      {.kind = MICA_COLLECTIVE_RECEIVE, .data = x, .count = 8, .peer = 3},
      {.kind = MICA_COLLECTIVE_BROADCAST, .data = x, .count = 8, .peer = -1},
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    mica_status status = mica_communicator_begin(c, &wrong[i], &request);
    ck_assert_msg(status == MICA_E_INVALID || status == MICA_E_DTYPE || status == MICA_E_OVERFLOW, "case %zu: %s", i,
                  mica_status_name(status));
  }
  ck_assert_int_eq(mica_communicator_begin(c, NULL, &request), MICA_E_INVALID);
  ck_assert_int_eq(mica_communicator_wait(c, NULL), MICA_E_INVALID);
  all_reduce(c); /* nothing is broken by it */
}

/* --- whoever is asked to stop --- */

static volatile int asked;
static char warning[256];

static void take_warning(void *user, mica_log_level level, const char *message) {
  (void)user, (void)level;
  snprintf(warning, sizeof warning, "%s", message);
}

/* Rank 1 is late. */
static void sum_late(mica_communicator *c) {
  float x = 1;
  if (c->rank == 1) nanosleep(&(struct timespec){.tv_nsec = 900000000}, NULL);
  member_ok(mica_communicator_run(c, &(mica_transfer){.data = &x, .count = 1, .step = 7}));
  member_check(x == 2, "the sum is %g", (double)x);
}

START_TEST(whoever_is_asked_to_stop_waits_on) {
  mica_log_set(MICA_LOG_LEVEL_WARNING, take_warning, NULL);
  asked = 15;
  test_members(2, &(test_faults){.stop = &asked}, sum_late);
  mica_log_set(MICA_LOG_LEVEL_WARNING, NULL, NULL);
  ck_assert_str_eq(warning,
                   "rank 0 was asked to stop at step 7; it waits for rank 1, which has sent nothing (all_reduce)");
}
END_TEST

/* Rank 0 waits for rank 1, which is late, and gives up for the sake of rank 2. */
static void sum_in_vain(mica_communicator *c) {
  float x = 1;
  if (c->rank == 1) nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
  const double begin = mica__clock();
  member_check(mica_communicator_run(c, &(mica_transfer){.data = &x, .count = 1, .step = 7}) == MICA_E_STATE, "a sum");
  member_check(mica__clock() - begin < 2.5, "rank %d has waited for %g seconds", (int)c->rank, mica__clock() - begin);
  member_check(strstr(mica_error_message(), "was asked to stop at step 7, but rank 2 does not answer"), "%s",
               mica_error_message());
}

START_TEST(whoever_is_asked_to_stop_waits_for_no_rank_that_is_gone) {
  asked = 15;
  test_members(3, &(test_faults){.stop = &asked, .mute = 2}, sum_in_vain);
}
END_TEST

START_TEST(wrong_transfers) {
  mica_communicator *list[2] = {NULL, NULL};
  count = 100;
  dtype = MICA_F32;
  test_members(3, NULL, out_of_contract);
  ck_assert_int_eq(mica_communicator_local(0, NULL, list), MICA_E_INVALID);
  ck_assert_int_eq(mica_communicator_local(2, NULL, NULL), MICA_E_INVALID);
  ck_assert_int_eq(mica_communicator_local(2, &(mica_communicator_config){.timeout = -1}, list), MICA_E_INVALID);
  ck_assert_ptr_null(list[0]);
  ck_assert_int_eq(mica_communicator_begin(NULL, &(mica_transfer){.count = 0}, (void **)list), MICA_E_INVALID);
  mica_communicator_destroy(NULL);
  mica_communicator_abort(NULL, "");
  ck_assert_uint_eq(mica_communicator_stats_of(NULL).messages, 0);
}
END_TEST

START_TEST(names) {
  mica_compression found;
  ck_assert_str_eq(mica_collective_name(MICA_COLLECTIVE_REDUCE_SCATTER), "reduce_scatter");
  ck_assert_str_eq(mica_collective_name((mica_collective)-1), "?");
  ck_assert_str_eq(mica_compression_name((mica_compression)3), "?");
  ck_ok(mica_compression_find("u8", &found));
  ck_assert_int_eq(found, MICA_COMPRESSION_U8);
  ck_assert_int_eq(mica_compression_find("u4", &found), MICA_E_NOT_FOUND);
}
END_TEST

START_TEST(even_parts) {
  for (int64_t n = 0; n < 700; n += 13)
    for (int32_t ranks = 1; ranks < 9; ranks++) {
      int64_t at = 0, first, length;
      for (int32_t r = 0; r < ranks; r++) {
        mica_rank_part(n, ranks, r, &first, &length);
        ck_assert_int_eq(first, at);
        ck_assert_int_ge(length, 0);
        ck_assert_msg(first % 64 == 0 || first == n, "a part begins at %d", (int)first);
        at += length;
      }
      ck_assert_int_eq(at, n);
    }
}
END_TEST

TESTS(ANYWHERE, NULL, NULL, sums_parts_and_messages, parts_of_ones_own, channels_are_independent, timing_changes_no_bit,
      errors_are_fed_back, a_nan_of_one_rank_is_everybodys, whoever_fails_is_named, whoever_is_asked_to_stop_waits_on,
      whoever_is_asked_to_stop_waits_for_no_rank_that_is_gone, wrong_transfers, names, even_parts)
