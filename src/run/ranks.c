/* Runs on several ranks: how batches are shared, and what all ranks must agree on. */
#include "run/state/ranks.h"
#include "base/hash.h"
#include "base/number.h"
#include "ops/collective/channels.h"
#include "run/common_fields.h"
#include "run/common_values.h"
#include "run/ranks.h"
#include "run/record.h"
#include "run/run.h"
#include "run/settings.h"
#include "run/state/networks.h"
#include "run/state/parts.h"
#include "run/state/record.h"
#include "run/state/settings.h"
#include "train/train.h"

#include <math.h>
#include <mica/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The properties that must be the same on all ranks, in the order in which they are compared. */
#define SAME_LIST(X)                                                                                                   \
  X(CODE, "another version of Mica")                                                                                   \
  X(SEED, "another seed")                                                                                              \
  X(SETTINGS, "other settings")                                                                                        \
  X(DATA, "other data")                                                                                                \
  X(NETWORK, "another network")

enum {
#define SAME_ENUM(name, text) SAME_##name,
  SAME_LIST(SAME_ENUM) SAMES
#undef SAME_ENUM
};

int32_t mica__run_rank(const mica_run *run) { return run->config.communicator ? run->config.communicator->rank : 0; }

bool mica__run_is_divided(const mica_run *run) { return run->ranks->layout.pipe * run->ranks->layout.tensor > 1; }
bool mica__run_is_refused(const mica_run *run) { return run->ranks->refused; }

mica_status mica__run_take_layout(mica_run *run) {
  const mica_communicator *c = run->config.communicator;
  return mica__layout_parse(run->config.parallel, c ? c->ranks : 1, &run->ranks->layout);
}

/* Divides a batch by the ranks' speeds: one sample each, and the rest so that the slowest rank ends as early as
 * possible. */
static void share_by(const double *speeds, int32_t ranks, int64_t batch, int64_t *shares) {
  for (int32_t r = 0; r < ranks; r++) shares[r] = 1;
  for (int64_t left = batch - ranks; left > 0; left--) {
    int32_t next = 0;
    for (int32_t r = 1; r < ranks; r++)
      if ((double)(shares[r] + 1) / speeds[r] < (double)(shares[next] + 1) / speeds[next]) next = r;
    shares[next]++;
  }
}

/* Divides the batch by the ranks' speeds, or evenly if none are given. config gets all shares, which belong to
 * run->ranks, and this rank's share as its batch. */
static mica_status share_unevenly(mica_run *run, mica_loader_config *config) {
  const int32_t replicas = run->ranks->layout.data;
  double *speeds = calloc((size_t)replicas, sizeof *speeds);
  free(run->ranks->shares);
  run->ranks->shares = calloc((size_t)replicas, sizeof *run->ranks->shares);
  mica_status status = speeds && run->ranks->shares ? MICA_OK : mica__fail_nomem("a run");
  for (int32_t r = 0; status == MICA_OK && r < replicas; r++) {
    speeds[r] = run->config.speeds ? run->config.speeds[r] : 1;
    if (!(speeds[r] > 0 && speeds[r] < 1e18))
      status = mica__fail(MICA_E_INVALID, "speeds: %g is not a speed; it must be above 0 and below 1e18", speeds[r]);
  }
  if (status == MICA_OK && config->batch < replicas)
    status = mica__fail(MICA_E_INVALID, "a batch of %lld has too few samples for %d ranks", (long long)config->batch,
                        (int)replicas);
  if (status == MICA_OK) {
    share_by(speeds, replicas, config->batch, run->ranks->shares);
    config->shares = run->ranks->shares;
    config->batch = run->ranks->shares[run->config.communicator->rank];
  }
  free(speeds);
  return status;
}

int32_t mica__run_replicas(const mica_run *run) {
  const int32_t replicas = run->ranks->layout.data;
  return run->config.communicator && replicas > 1 ? replicas : 1;
}

mica_status mica__run_share_batch(mica_run *run, mica_loader_config *config) {
  const mica_communicator *c = run->config.communicator;
  const int32_t replicas = run->ranks->layout.data;
  if (!c || replicas <= 1) return MICA_OK;
  const long long batch = config->batch, rest = batch % replicas;
  const bool whole = run->ranks->layout.pipe * run->ranks->layout.tensor == 1;
  if (run->config.speeds && !whole)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "--speeds works only without pipeline and tensor parallelism; remove pipe and tensor from --parallel \"%s\"",
        run->config.parallel);
  config->shard = c->rank / (run->ranks->layout.pipe * run->ranks->layout.tensor);
  config->shards = replicas;
  if (run->config.speeds || (rest && run->config.uneven && whole)) return share_unevenly(run, config);
  if (rest && batch > rest)
    return mica__fail(MICA_E_INVALID, "a batch of %lld cannot be divided among %d %s; %lld and %lld can", batch,
                      (int)replicas, whole ? "ranks" : "replicas of the network", batch - rest,
                      batch - rest + replicas);
  if (rest)
    return mica__fail(MICA_E_INVALID, "a batch of %lld has too few samples for %d %s", batch, (int)replicas,
                      whole ? "ranks" : "replicas of the network");
  config->batch /= replicas;
  return MICA_OK;
}

/* Checks that the number of micro-batches divides the batch of a replica. If none was given, chooses the largest
 * number that does and is at most two per stage. */
static mica_status find_micro(const mica_run *run, int32_t *micro) {
  const int64_t batch = mica__common_settings_of(run).batch / run->ranks->layout.data;
  if (*micro && batch % *micro)
    return mica__fail(MICA_E_INVALID, "a batch of %lld per replica cannot be divided into %d micro-batches",
                      (long long)batch, (int)*micro);
  if (*micro) return MICA_OK;
  *micro = 2 * run->ranks->layout.pipe;
  while (batch % *micro) --*micro;
  return MICA_OK;
}

mica_status mica__run_configure_layout(mica_run *run, mica_trainer_config *c) {
  const char *const alone[] = {"teacher", "quantize"};
  c->optimizer.shard = run->config.shard && run->ranks->layout.data > 1;
  if (run->ranks->layout.pipe * run->ranks->layout.tensor == 1) return MICA_OK;
  for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
    if (*mica_run_setting(run, alone[i]))
      return mica__fail(MICA_E_UNSUPPORTED,
                        "%s needs a whole network on each rank, so it cannot be combined with parallel \"%s\"",
                        alone[i], run->config.parallel);
  if (c->sync_norm)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "sync-norm needs a whole network on each rank, so it cannot be combined with parallel \"%s\"",
                      run->config.parallel);
  if (run->networks->published)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "a published model needs a whole network on each rank, so it cannot be combined with parallel \"%s\"",
        run->config.parallel);
  if (run->networks->network)
    return mica__fail(
        MICA_E_UNSUPPORTED,
        "a model in ONNX needs a whole network on each rank, so it cannot be combined with parallel \"%s\"",
        run->config.parallel);
  if (run->networks->like)
    return mica__fail(MICA_E_UNSUPPORTED,
                      "a pruned network must be whole on each rank, so it cannot be combined with parallel \"%s\"",
                      run->config.parallel);
  c->tensor = run->ranks->layout.tensor;
  if (run->ranks->layout.pipe == 1) return MICA_OK;
  c->stages = (mica_train_stages){run->ranks->layout.pipe, run->ranks->layout.micro, run->ranks->layout.schedule};
  return find_micro(run, &c->stages.micro_batches);
}

/* --- comparisons --- */

static mica__hash hash_number(mica__hash h, int64_t number) { return mica__hash_bytes(h, &number, sizeof number); }

static mica__hash hash_settings(const mica_run *run) {
  mica__hash h = {0, 0};
  for (size_t i = 0; i < run->settings->count; i++) {
    const char *name = run->settings->rows[i]->name;
    /* Ranks may decode with different numbers of threads. */
    if (!strcmp(name, "seed") || !strcmp(name, "threads")) continue;
    h = mica__hash_text(mica__hash_text(h, name), mica_run_setting(run, name));
  }
  return h;
}

/* Adds one column of a sample to the digest: its bytes and its length. If the bytes cannot be read, adds only the
 * length, or 0 if that is unknown too. */
static mica__hash hash_sample(mica__hash h, const mica_dataset *data, size_t column, uint64_t sample) {
  const mica_column *about = mica_dataset_column(data, column);
  mica_shape shape = about->shape;
  int64_t length = 0, count = 0;
  size_t bytes = 0;
  void *copy = NULL;
  mica__attempt_begin();
  if (mica_dataset_length(data, column, sample, &length) == MICA_OK) {
    if (shape.rank > 0 && shape.dim[0] == MICA_DYNAMIC) shape.dim[0] = length;
    if (mica_shape_count(shape, &count) == MICA_OK) bytes = (size_t)count * mica_dtype_size(about->dtype);
    copy = bytes ? malloc(bytes) : NULL;
  }
  if (copy && mica_dataset_read(data, column, sample, copy, bytes) == MICA_OK) h = mica__hash_bytes(h, copy, bytes);
  free(copy);
  mica__attempt_end();
  return hash_number(h, length);
}

/* How many samples of a column are digested at most. Files must be decoded for the digest, which takes time, so only a
 * few of them are. */
static uint64_t samples_of(mica_column_kind kind) {
  const bool files = kind == MICA_COLUMN_KIND_IMAGE || kind == MICA_COLUMN_KIND_MASK ||
                     kind == MICA_COLUMN_KIND_SOUND || kind == MICA_COLUMN_KIND_MAP;
  return files ? 16 : 1 << 16;
}

/* Digests the columns of data and some of their samples. */
static mica__hash hash_data(const mica_dataset *data) {
  const uint64_t count = mica_dataset_count(data);
  mica__hash h = hash_number((mica__hash){0, 0}, (int64_t)count);
  for (size_t k = 0; k < mica_dataset_column_count(data); k++) {
    const mica_column *about = mica_dataset_column(data, k);
    h = mica__hash_text(h, about->name);
    h = hash_number(hash_number(h, about->dtype), about->shape.rank);
    for (uint64_t i = 0; i < count; i += count / samples_of(about->kind) + 1) h = hash_sample(h, data, k, i);
  }
  return h;
}

/* Digests samples of all parts, because ranks also validate and test together, each on its share. */
static mica__hash hash_parts(const mica_run *run) {
  mica__hash h = {0, 0};
  for (int part = 0; part < MICA__PARTS; part++) {
    const mica_dataset *data = run->parts->at[part].data;
    h = hash_number(h, part);
    if (data) h = hash_number(h, (int64_t)hash_data(data).low);
  }
  return h;
}

static mica__hash hash_network(const mica_run *run) {
  const mica_nn *nn = mica_trainer_network(run->trainer);
  mica__hash h = {0, 0};
  for (size_t i = 0; i < mica_nn_parameter_count(nn); i++) {
    const mica_nn_parameter_info *info = mica_nn_parameter_at(nn, i);
    const mica_shape shape = mica_value_shape(info->value);
    if (info->role == MICA_NN_ROLE_OPTIMIZER) continue; /* a rank may hold only a part of its state */
    h = mica__hash_text(h, info->name);
    for (int32_t d = 0; d < shape.rank; d++) h = hash_number(h, shape.dim[d]);
  }
  return h;
}

mica_status mica__run_check_ranks(mica_run *run) {
  static const char *const texts[] = {
#define SAME_TEXT(name, text) text,
      SAME_LIST(SAME_TEXT)};
  mica_communicator *c = run->config.communicator;
  if (!c) return MICA_OK;
  int64_t *all = calloc((size_t)c->ranks * SAMES, sizeof *all);
  if (!all) return mica__fail_nomem("a run");
  int64_t *own = all + (size_t)c->rank * SAMES;
  own[SAME_CODE] = (int64_t)mica__hash_text((mica__hash){0, 0}, mica_version()).low;
  own[SAME_SEED] = mica__common_settings_of(run).seed;
  own[SAME_SETTINGS] = (int64_t)hash_settings(run).low;
  own[SAME_DATA] = (int64_t)hash_parts(run).low;
  own[SAME_NETWORK] = (int64_t)hash_network(run).low;
  const mica_transfer sum = {.dtype = MICA_I64, .data = all, .count = (int64_t)c->ranks * SAMES};
  mica_status status = mica_communicator_run(c, &sum);
  for (int32_t r = 1; status == MICA_OK && r < c->ranks; r++)
    for (int k = 0; status == MICA_OK && k < SAMES; k++)
      if (all[r * SAMES + k] != all[k])
        status = mica__fail(MICA_E_INVALID, "rank %d has %s than rank 0", (int)r, texts[k]);
  free(all);
  run->ranks->refused = status == MICA_E_INVALID;
  return status;
}

bool mica__run_decodes(const mica_run *run, uint64_t number) {
  const mica_communicator *c = run->config.communicator;
  return !c || number % (uint64_t)c->ranks == (uint64_t)c->rank;
}

mica_status mica__run_add_ranks(const mica_run *run, int64_t *counts, size_t count) {
  const mica_transfer sum = {.channel = MICA__CHANNEL_SUMS, .dtype = MICA_I64, .data = counts, .count = (int64_t)count};
  return run->config.communicator ? mica_communicator_run(run->config.communicator, &sum) : MICA_OK;
}

mica_status mica__run_remark_alone(mica_run *run) {
  const mica_communicator *c = run->config.communicator;
  const char *compress = mica__common_given(run, MICA__SETTING_compress);
  if (c && c->ranks > 1) return MICA_OK;
  if (run->config.shard) MICA_TRY(mica__run_remark(run, "shard does nothing: there is one rank"));
  if (mica__common_given(run, MICA__SETTING_sync_norm) && mica__common_settings_of(run).sync_norm)
    MICA_TRY(mica__run_remark(run, "sync-norm does nothing: there is one rank"));
  if (compress && strcmp(compress, "none") != 0)
    MICA_TRY(mica__run_remark(run, "compress does nothing: there is one rank, which sends no gradients"));
  return MICA_OK;
}

mica_status mica__run_report_ranks(const mica_run *run, mica_report *report) {
  const size_t rows = mica_history_rows(run->record->history);
  const double slowest = rows ? mica_history_get(run->record->history, rows - 1, "slowest_rank") : NAN;
  if (isnan(slowest)) return MICA_OK;
  MICA_TRY(mica_report_begin(report, "Ranks, last epoch"));
  for (int r = 0; r < MICA_TRAIN_RANKS; r++) {
    static const char *const names[3] = {"computing", "waiting", "sending"};
    double times[3];
    char column[48], title[32], text[128];
    for (int k = 0; k < 3; k++) {
      snprintf(column, sizeof column, "rank%d_%s", r, names[k]);
      times[k] = mica_history_get(run->record->history, rows - 1, column);
    }
    if (isnan(times[0])) continue;
    snprintf(title, sizeof title, "rank %d", r);
    mica__snprintf(text, sizeof text, "computing %.2f s, waiting for others %.2f s, messages on their way %.2f s",
                   times[0], times[1], times[2]);
    MICA_TRY(mica_report_add_text(report, title, text));
  }
  return mica_report_add_number(report, "slowest rank", slowest);
}

mica_status mica__run_join(mica_run *run, mica_status status) {
  mica_communicator *c = run->config.communicator;
  if (!c) return status;
  if (status != MICA_OK) {
    mica_communicator_abort(c, mica_error_message());
    return status;
  }
  return mica__ranks_tested(run->trainer);
}
