/* ops/attention/decode.h: attention for one new position per sequence. One launch applies norms and rotary positions to
 * q and k, stores the new rows in the caches, and computes the attention. */
#ifndef MICA_OPS_ATTENTION_DECODE_H
#define MICA_OPS_ATTENTION_DECODE_H

#include "ir/graph.h"

/* The operands and settings, for B sequences, H heads of queries, G heads of keys and values (H a multiple of G), size
 * D. All operands are f32, except the caches, their scales, and the i32 offset and slots. slots, frequencies, q_scale,
 * k_scale and sinks may be null. */
typedef struct mica__decode {
  /* (sequences length, G D). If they are f32, f16 or bf16, new rows are rounded to this type before use. If they are
   * i8, each block of a head's features (mica__decode_block) has a scale in k_step or v_step. */
  mica_value k_cache, v_cache;
  mica_value k_step, v_step; /* (sequences length, G D / block), f16; null unless the caches are i8 */
  mica_value q, k, v;        /* (B, 1, H, D), (B, 1, G, D), (B, 1, G, D) */
  /* (B): the position of the new row in its sequence; if it is outside of the cache, the row is not stored. */
  mica_value offset;
  mica_value slots;            /* (B), distinct: indices of cached sequences; null: 0, 1, .. B - 1 */
  mica_value frequencies;      /* (pairs): of rotary positions, from mica__rotary_frequencies; null: no rotation */
  mica_value q_scale, k_scale; /* (D): for RMS norms of q and k, before rotary positions; both or none */
  mica_value sinks;            /* (H): a score per head */
  int64_t length;              /* positions of a cached sequence */
  int64_t window;              /* window, scale and soft_cap: as in mica_attention_config */
  double scale, soft_cap;
  double epsilon;      /* of the norms */
  double rotary_scale; /* a factor of all cosines and sines */
  bool interleave;     /* true: rotary pair i is features 2 i and 2 i + 1; false: features i and i + pairs */
} mica__decode;

/* Returns the heads' sums, (B, 1, H, D), and sets k_cache, v_cache and their scales to their new values. A query sees
 * its own position, if its row is stored, and the cached positions before it, within its window. The op has no
 * gradient. */
mica_value mica__attention_decode(mica__decode *decode);

/* The largest D. */
#define MICA__DECODE_MOST_SIZE 512

/* The features of a head that share a scale in an i8 cache: 32, or all D if D is not a multiple of 32. A feature x is
 * stored as round(x / scale), limited to -127 to 127; the scale is the f16 nearest to the largest |x| / 127, at most
 * 65504. */
#define MICA__DECODE_BLOCK 32
int64_t mica__decode_block(int64_t d);

extern const mica__op mica__op_attention_decode, mica__op_attention_decode_q8;

#endif
