/* ops/attention/decode.h: attention of one new position of each sequence, from projections to heads' sums in one
 * launch: norms and rotary positions of q and k, the caches' new rows, and attention. */
#ifndef MICA_OPS_ATTENTION_DECODE_H
#define MICA_OPS_ATTENTION_DECODE_H

#include "ir/graph.h"

/* B sequences, H heads of queries, G of keys and values (H a multiple of G), size D. All values are f32 but for i32
 * offset and slots, and the caches; those from slots on may be null. */
typedef struct mica__decode {
  /* (sequences length, G D), f32, f16 or bf16. New rows are rounded to it before they are used. Or i8, then each block
   * of a head's features (mica__decode_block) has a scale: */
  mica_value k_cache, v_cache;
  mica_value k_step, v_step;   /* (sequences length, G D / block), f16; null unless the caches are i8 */
  mica_value q, k, v;          /* (B, 1, H, D), (B, 1, G, D), (B, 1, G, D) */
  mica_value offset;           /* (B): positions; outside of the cache nothing is written */
  mica_value slots;            /* (B), each once: the cached sequences; null: 0, 1, .. B - 1 */
  mica_value frequencies;      /* (pairs): of rotary positions, as mica__rotary_frequencies makes them */
  mica_value q_scale, k_scale; /* (D): of RMS norms of q and k, before rotary positions; both or none */
  mica_value sinks;            /* (H): a score of each head */
  int64_t length;              /* positions of a cached sequence */
  int64_t window;              /* see mica_attention_config, also for the next two */
  double scale, soft_cap;
  double epsilon;      /* of the norms */
  double rotary_scale; /* of cosines and sines */
  bool interleave;     /* pairs are features 2 i and 2 i + 1, else i and i + pairs */
} mica__decode;

/* The heads' sums, (B, 1, H, D); k_cache, v_cache and their scales become their new values. A query sees the cached
 * positions before its own, in its window, and its own. It has no gradient. */
mica_value mica__attention_decode(mica__decode *decode);

/* The largest D. */
#define MICA__DECODE_MOST_SIZE 512

/* Features of a head that share a scale in an i8 cache: 32, or all D if that is no multiple of 32. A feature x is kept
 * as round(x / scale), the scale is the f16 next to the largest |x| / 127. */
#define MICA__DECODE_BLOCK 32
int64_t mica__decode_block(int64_t d);

extern const mica__op mica__op_attention_decode, mica__op_attention_decode_q8;

#endif
