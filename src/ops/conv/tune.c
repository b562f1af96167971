/* Convolutions as trials of a tuner: "fwd,n16,c64,h56,k64,r3,p1". */
#include "base/arith.h"
#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/select/tunable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNTAX "fwd|bwd_data|bwd_filter,nN,cC,hH,kK[,rR][,sSTRIDE][,pPAD][,dDILATION][,gGROUPS][,oOUT][,f16]"

static const char *const pass_names[] = {"fwd", "bwd_data", "bwd_filter"};

/* A problem. Extents are depth, height and width; the tensors have the last `rank` of them. */
typedef struct shape {
  mica__conv_pass pass;
  mica_dtype dtype;
  int64_t n, c, k, groups;
  int64_t in[3], filter[3], stride[3], pad[3], dilation[3], out[3];
  int rank, most_extents; /* dimensions of the image; the most dimensions of any other field */
  unsigned given;         /* bit k: field k of parse_word was given */
  bool has_out;
} shape;

typedef struct conv_trial {
  mica__trial trial; /* must be first: the tuner holds a pointer to it */
  mica__conv conv;
} conv_trial;

/* Reads H (a square, HxH), HxW or DxHxW into the last two or three elements of extent. Returns how many it set, 0 on
 * error. */
static int parse_extent(const char *at, int64_t extent[3]) {
  int64_t values[3];
  int count = 0;
  for (; count < 3; at++) {
    char *rest = NULL;
    values[count++] = strtoll(at, &rest, 10);
    if (rest == at || values[count - 1] < 0 || values[count - 1] > 1 << 24) return 0;
    at = rest;
    if (*at != 'x') break;
  }
  if (*at) return 0;
  if (count == 1) values[count++] = values[0];
  for (int i = 0; i < count; i++) extent[3 - count + i] = values[i];
  return count;
}

static bool parse_word(const char *word, shape *s) {
  for (int pass = 0; pass < MICA__CONV_PASSES; pass++)
    if (!strcmp(word, pass_names[pass])) return s->pass = (mica__conv_pass)pass, true;
  for (int t = 0; t < MICA_DTYPE_COUNT; t++)
    if (!strcmp(word, mica_dtype_name((mica_dtype)t))) return s->dtype = (mica_dtype)t, true;
  const struct {
    char letter;
    int64_t *one, *extent;
  } fields[] = {{'n', &s->n, NULL},       {'c', &s->c, NULL},     {'k', &s->k, NULL},     {'g', &s->groups, NULL},
                {'h', NULL, s->in},       {'r', NULL, s->filter}, {'s', NULL, s->stride}, {'p', NULL, s->pad},
                {'d', NULL, s->dilation}, {'o', NULL, s->out}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    if (word[0] != fields[i].letter) continue;
    int64_t extent[3] = {1, 1, 1}, *to = fields[i].extent;
    int count = parse_extent(word + 1, extent);
    for (int k = 0; k < 3 && to; k++)
      if (k >= 3 - count) to[k] = extent[k];
    if (word[0] == 'h')
      s->rank = count;
    else if (to && count > s->most_extents)
      s->most_extents = count;
    if (word[0] == 'o') s->has_out = true;
    if (fields[i].one) *fields[i].one = extent[2];
    bool again = s->given >> i & 1, zero = word[0] != 'p' && mica__product3(extent) == 0;
    s->given |= 1u << i;
    return count > 0 && !again && !zero && (to || !strchr(word, 'x'));
  }
  return false;
}

static mica_status parse_shape(const char *text, shape *s) {
  *s = (shape){.pass = MICA__CONV_PASSES, .dtype = MICA_F32, .groups = 1};
  for (int i = 0; i < 3; i++) s->in[i] = s->filter[i] = s->stride[i] = s->dilation[i] = 1;
  bool good = *text;
  for (const char *at = text; good && *at;) {
    char word[64];
    size_t n = strcspn(at, ",");
    good = n > 0 && n < sizeof word;
    if (!good) break;
    memcpy(word, at, n);
    word[n] = '\0';
    good = parse_word(word, s);
    at += n;
    if (*at == ',') good = good && *++at;
  }
  good = good && s->pass != MICA__CONV_PASSES && s->n && s->c && s->k && s->rank && s->most_extents <= s->rank &&
         s->c % s->groups == 0 && s->k % s->groups == 0;
  return good ? MICA_OK : mica__fail(MICA_E_FORMAT, "\"%s\" does not describe a convolution; write " SYNTAX, text);
}

/* The shape of a tensor: `first`, `second` and then the last `rank` extents. */
static mica_shape shape_of(const shape *s, int64_t first, int64_t second, const int64_t extent[3]) {
  mica_shape result = {.rank = 2 + s->rank, .dim = {first, second}};
  for (int i = 0; i < s->rank; i++) result.dim[2 + i] = extent[3 - s->rank + i];
  return result;
}

static mica_conv_config config_of(const shape *s) {
  mica_conv_config config = {.groups = s->groups};
  for (int i = 0; i < s->rank; i++) {
    int from = 3 - s->rank + i;
    config.stride[i] = s->stride[from];
    config.pad[i] = s->pad[from];
    config.dilation[i] = s->dilation[from];
    if (s->has_out)
      config.pad_more[i] = (s->out[from] - 1) * s->stride[from] + (s->filter[from] - 1) * s->dilation[from] + 1 -
                           s->in[from] - 2 * s->pad[from];
  }
  return config;
}

static double reference(const mica__trial *trial, int64_t at, double *magnitude) {
  const mica__conv *conv = &((const conv_trial *)trial)->conv;
  return mica__conv_reference_at(&conv->dims, conv->pass, conv->dtype, trial->a.data, trial->b.data, at, magnitude);
}

/* Makes the operands (a and b of the trial: x, w and y in this order, without the result of the pass), the result
 * and the problem. */
static mica_status fill_trial(conv_trial *t, const shape *s) {
  mica__trial *trial = &t->trial;
  mica_conv_config config = config_of(s);
  mica_shape shapes[3] = {shape_of(s, s->n, s->c, s->in), shape_of(s, s->k, s->c / s->groups, s->filter)};
  mica__conv_dims dims;
  MICA_TRY(mica__conv_dims_of(&config, shapes[0], shapes[1], NULL, &dims));
  if (mica__product3(dims.out) == 0) return mica__fail(MICA_E_FORMAT, "the filter is larger than the padded image");
  shapes[2] = shape_of(s, s->n, s->k, dims.out);
  const mica_tensor *tensors[3];
  int result = s->pass == MICA__CONV_FWD ? 2 : s->pass == MICA__CONV_BWD_DATA ? 0 : 1;
  mica__trial_operand *operand = &trial->a;
  for (int i = 0; i < 3; i++) {
    if (i == result) {
      MICA_TRY(mica_tensor_create(trial->engine, s->dtype, shapes[i], &trial->result));
      tensors[i] = trial->result;
      continue;
    }
    MICA_TRY(mica__trial_operand_create(trial, s->dtype, shapes[i], operand));
    tensors[i] = operand->tensor;
    operand = &trial->b;
  }
  MICA_TRY(mica__conv_problem(mica_engine_queue(trial->engine), s->pass, &config, tensors[0], tensors[1], tensors[2],
                              NULL, &t->conv));
  mica__conv_key(&t->conv, trial->key);
  trial->problem = &t->conv;
  trial->flops = mica__conv_flops(&dims);
  trial->acc = t->conv.epilogue.acc;
  trial->depth = (double)t->conv.depth;
  trial->reference = reference;
  return MICA_OK;
}

static void close_trial(mica__trial *trial) {
  mica__trial_clear(trial);
  free(trial);
}

static mica_status open_trial(mica_engine *engine, const char *text, mica__trial **out) {
  shape s;
  MICA_TRY(parse_shape(text, &s));
  conv_trial *t = calloc(1, sizeof *t);
  if (!t) return mica__fail_nomem("a trial");
  t->trial.engine = engine;
  t->trial.random = 1;
  mica_status status = fill_trial(t, &s);
  if (status == MICA_OK)
    *out = &t->trial;
  else
    close_trial(&t->trial);
  return status;
}

bool mica__conv_tuner_problem(const mica__conv *conv, char problem[MICA__TUNING_TEXT]) {
  const mica__conv_dims *d = &conv->dims;
  if (conv->allow_tf32) return false;
  int at = snprintf(problem, MICA__TUNING_TEXT, "conv %s,%s,n%" PRId64 ",c%" PRId64 ",k%" PRId64 ",g%" PRId64,
                    pass_names[conv->pass], mica_dtype_name(conv->dtype), d->n, d->groups * d->c, d->groups * d->k,
                    d->groups);
  const struct {
    char letter;
    const int64_t *values;
  } fields[] = {{'h', d->in}, {'r', d->filter}, {'s', d->stride}, {'p', d->pad}, {'d', d->dilation}, {'o', d->out}};
  for (size_t i = 0; i < sizeof fields / sizeof *fields && at < MICA__TUNING_TEXT; i++) {
    const int64_t *v = fields[i].values;
    at += snprintf(problem + at, (size_t)(MICA__TUNING_TEXT - at), ",%c%" PRId64 "x%" PRId64 "x%" PRId64,
                   fields[i].letter, v[0], v[1], v[2]);
  }
  return at < MICA__TUNING_TEXT;
}

static const mica__impl *const *impls(const mica__trial *trial) {
  return mica__conv_impls[((const conv_trial *)trial)->conv.pass];
}

/* Layers of ResNet-50, MobileNetV2 and a network for images of 28 x 28, in the three passes. */
#define PASSES(layer) "fwd," layer, "bwd_data," layer, "bwd_filter," layer
static const char *const problems[] = {
    PASSES("n16,c3,h224,k64,r7,s2,p3"),
    PASSES("n16,c64,h56,k64,r3,p1"),
    PASSES("n16,c64,h56,k256"),
    PASSES("n16,c128,h28,k128,r3,p1"),
    PASSES("n16,c256,h28,k256,r3,s2,p1"),
    PASSES("n16,c512,h7,k512,r3,p1"),
    PASSES("n16,c144,h56,k144,r3,p1,g144"),
    PASSES("n16,c384,h14,k384,r3,p1,g384"),
    PASSES("n16,c576,h14,k576,r3,s2,p1,g576"),
    PASSES("n64,c1,h28,k32,r3,p1"),
    PASSES("n64,c32,h14,k64,r3,p1"),
    NULL,
};

const mica__tunable mica__conv_tunable = {.summary = "convolutions",
                                          .syntax = SYNTAX,
                                          .problems = problems,
                                          .open = open_trial,
                                          .close = close_trial,
                                          .impls = impls};
