/* mica/sequence.h: layers and networks for sequences: positions, attention, transformer blocks, recurrent layers.
 *
 * Letters: B sequences, T positions, C features per position, H heads of queries, G heads of keys and values, D
 * features per head. Sequences are (B, T, C); B and T may be dynamic. Layers follow the rules of mica/nn.h: errors are
 * sticky, and parameters have the names and layouts of PyTorch's module if there is one.
 *
 * Threads: as in mica/nn.h. */
#ifndef MICA_SEQUENCE_H
#define MICA_SEQUENCE_H

#include <mica/attention.h>
#include <mica/nn.h>
#include <mica/rnn.h>

MICA_BEGIN_DECLS

/* --- positions --- */

/* Enumerator, name. How a network represents the order of positions:
 *
 *   LEARNED      adds a learned vector per position to the input
 *   SINUSOIDAL   adds sines and cosines (Vaswani et al. 2017)
 *   ROTARY       rotates queries and keys by angles that grow with the position (Su et al. 2021)
 *   ALIBI        subtracts from a score in proportion to the distance of query and key (Press et al. 2021)
 *   NONE         not at all; only masks depend on the order
 *
 * mica_nn_positions applies LEARNED and SINUSOIDAL; mica_nn_attention applies ROTARY and ALIBI. */
#define MICA_POSITIONS_LIST(X)                                                                                         \
  X(LEARNED, "learned")                                                                                                \
  X(SINUSOIDAL, "sinusoidal")                                                                                          \
  X(ROTARY, "rotary")                                                                                                  \
  X(ALIBI, "alibi")                                                                                                    \
  X(NONE, "none")

typedef enum mica_positions_kind {
#define MICA_POSITIONS_ENUM(name, text) MICA_POSITIONS_KIND_##name,
  MICA_POSITIONS_LIST(MICA_POSITIONS_ENUM)
#undef MICA_POSITIONS_ENUM
} mica_positions_kind;
/* "learned", "rotary", ...; "?" for any other value. */
MICA_API const char *mica_positions_name(mica_positions_kind kind);

/* Positions of x (B, T, ...) along axis 1: 0, 1, ... T - 1, i32 (T). offset, i32 (B), is added to the positions of each
 * sequence; the result is then (B, T). null: no offset. */
MICA_API mica_value mica_positions(mica_value x, mica_value offset);

typedef struct mica_rotary_config {
  double base;     /* 0: 10000 */
  int64_t rotated; /* number of leading features per head to rotate; even; 0: all */
  bool interleave; /* pairs are features 2 i and 2 i + 1, as in the paper; else i and i + rotated / 2 (NeoX, Llama) */
  /* rotated / 2 positive numbers, read during the call: number i divides the frequency of pair i; infinity: no
   * rotation. They implement context extensions (linear, dynamic, YaRN, LongRoPE, Llama 3). NULL: all 1. */
  const double *factors;
  double scale; /* multiplies cosine and sine, so scores grow by its square; 0: 1 */
} mica_rotary_config;
/* Rotary positions: rotates pair i of the features of x (B, T, H, D) by the angle position * base^(-2 i / rotated) /
 * factors[i]. positions as from mica_positions. config may be NULL. Su et al. 2021. */
MICA_API mica_value mica_rotary(mica_value x, mica_value positions, const mica_rotary_config *config);

/* Adds a vector per position to x (B, T, C). LEARNED: rows of the parameter weight (length, C), initially N(0, 0.02);
 * positions from `length` on add 0. SINUSOIDAL: sin(p / 10000^(2 i / C)) at feature 2 i, the cosine at 2 i + 1. Other
 * kinds return x. */
MICA_API mica_value mica_nn_positions(mica_nn *nn, const char *name, mica_value x, mica_value positions, int64_t length,
                                      mica_positions_kind kind);

/* --- attention --- */

/* Enumerator, name. How a cache stores keys (after rotary positions) and values:
 *
 *   F32    in the network's dtype: 4 bytes per number, or 2 if it is f16 or bf16
 *   F16    as f16: 2 bytes; the largest number is 65504
 *   BF16   as bf16: 2 bytes
 *   Q8     as i8: 1 byte, and one f16 scale per 32 features of a head; one per head if D is not a multiple of 32
 *
 * Attention reads keys and values in the network's dtype, whatever the form. */
#define MICA_CACHE_FORM_LIST(X)                                                                                        \
  X(F32, "f32")                                                                                                        \
  X(F16, "f16")                                                                                                        \
  X(BF16, "bf16")                                                                                                      \
  X(Q8, "q8")

typedef enum mica_cache_form {
#define MICA_CACHE_FORM_ENUM(name, text) MICA_CACHE_FORM_##name,
  MICA_CACHE_FORM_LIST(MICA_CACHE_FORM_ENUM)
#undef MICA_CACHE_FORM_ENUM
} mica_cache_form;
/* "f32", "q8", ...; "?" for any other value. */
MICA_API const char *mica_cache_form_name(mica_cache_form form);

/* Cache of keys and values. It is kept between runs of a session, so the next run needs only the new positions of a
 * sequence. A layer with a cache has the states "cache_k" and "cache_v" (batch * length, G * D). If the cache's form is
 * Q8, it also has the states "cache_k_scale" and "cache_v_scale".
 *
 * Each run writes keys and values of x into the cache, after the `offset` existing positions. With `causal`, each query
 * attends to all positions up to its own; otherwise to all positions up to the last one of x. The size of the cache is
 * fixed, so a session need not plan its graph again when a sequence grows. Positions from `length` on are not written.
 * Entries after a sequence's last position are never used. */
typedef struct mica_kv_cache {
  int64_t batch, length; /* B, and number of positions kept per sequence */
  mica_value offset;     /* (B) i32: number of positions already in each sequence; null: 0 */
  mica_value lengths;    /* (B) i32: number of valid leading positions of x; null: all */
  /* (B) i32: for each sequence of x, the number of the cached sequence that it continues. The cached keys and values
   * are copied first, so several sequences may continue the same one, as in a beam search. null: sequence b continues
   * b. */
  mica_value parents;
  /* Number of hypotheses per memory: each `beams` consecutive sequences of x attend to the same memory, and the memory
   * and its caches have B / beams sequences. 0: 1 */
  int64_t beams;
  /* i32, one number per sequence of x, from 0 to B - 1: the cached sequence that it continues. Each number occurs at
   * most once. Not with parents, beams, recall or a memory. null: x has B sequences, in order. */
  mica_value slots;
  mica_cache_form form;
} mica_kv_cache;

/* Keys and values of the window - 1 positions before x, for a sequence that arrives in parts (a stream). Needs causal
 * attention with a window. All zeros at the start of a stream. */
typedef struct mica_attention_past {
  mica_value k, v;  /* (B, window - 1, G, D); the layer replaces them by the last positions of x */
  mica_value count; /* (B) i32: number of valid positions, at the end; the caller updates it */
} mica_attention_past;

/* Layers of attention, as bits of mica_nn_attention_config.without_bias. */
#define MICA_ATTENTION_Q 1u
#define MICA_ATTENTION_K 2u
#define MICA_ATTENTION_V 4u
#define MICA_ATTENTION_OUT 8u

typedef struct mica_nn_attention_config {
  int64_t heads;     /* 0: 1 */
  int64_t groups;    /* G; heads must be a multiple of it; 0: heads; 1: multi-query */
  int64_t head_size; /* D; 0: C / heads */
  bool causal;       /* a position sees no later ones; ignored with a memory or recall */
  int64_t window;    /* window, scale, soft_cap, dropout: see mica_attention_config */
  double scale, soft_cap;
  double dropout;         /* of attention weights, in training */
  mica_value mask;        /* b8 or additive, broadcast to (B, H, Tq, Tk); not with ALIBI */
  mica_value key_lengths; /* (B) i32; not with a cache for self-attention */
  mica_value starts;      /* (B, T) i32: first key visible to each query; not with a memory or past */
  bool sinks;             /* learns one more score per head, without a value, for the softmax (mica/attention.h) */
  bool no_bias;           /* no layer has a bias */
  /* MICA_ATTENTION_... bits: these layers have no bias. Unless `apart` is set, Q, K and V must be set together. */
  uint32_t without_bias;
  bool apart; /* separate layers, each with its own weight, compute queries, keys and values */
  /* applies an RMS norm to queries and keys of each head before rotary positions, with one scale (D) for all heads
   * (Henry et al. 2020). */
  bool qk_norm;
  double qk_epsilon;             /* of these norms; 0: 1e-5; MICA_ZERO: 0 */
  mica_positions_kind positions; /* ROTARY and ALIBI, in self-attention only; positions count from the cache's offset */
  mica_rotary_config rotary;
  mica_value position_ids; /* i32 (T) or (B, T): positions that ROTARY uses instead; not with past; null: none */
  const mica_kv_cache *cache;
  /* With a cache and a null memory: use the keys and values that the last run with a memory left in the cache;
   * key_lengths gives the valid ones. */
  bool recall;
  /* NULL: not a stream. Only causal self-attention with a window, without cache, mask and ALIBI */
  mica_attention_past *past;
  mica_init_config weight, out_weight; /* of the layers for q, k and v; of the output layer; default: Xavier uniform */
} mica_nn_attention_config;

/* Multi-head attention of x (B, T, C) to itself (memory null, no recall) or to memory (B, Tk, C'): (B, T, C). config
 * may be NULL. Vaswani et al. 2017, Shazeer 2019, Ainslie et al. 2023. Layers:
 *
 *   in_proj          ((H + 2 G) D, C): rows for queries, keys, values (PyTorch's in_proj_weight, in_proj_bias)
 *   q_proj, kv_proj  (H D, C) and (2 G D, C'), with a memory; rows as in PyTorch
 *   q_proj, k_proj,  (H D, C), (G D, C or C'), (G D, C or C'), if `apart`
 *   v_proj
 *   q_norm, k_norm   (D), with qk_norm
 *   sinks            (H), a parameter, with sinks
 *   out_proj         (C, H D) */
MICA_API mica_value mica_nn_attention(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                                      const mica_nn_attention_config *config);

/* Enumerator, name. Function f between the dense layers of a block: W2 f(W1 x). RELU2: relu(x)^2 (So et al. 2021).
 *
 * The last three are gated: W2 (f(W1 x) * W3 x), where * multiplies elements. GEGLU, GEGLU_TANH: f is GELU, exact and
 * by tanh. SWIGLU: f is silu (Shazeer 2020). */
#define MICA_FEED_FORWARD_LIST(X)                                                                                      \
  X(GELU, "gelu")                                                                                                      \
  X(GELU_TANH, "gelu_tanh")                                                                                            \
  X(RELU, "relu")                                                                                                      \
  X(SILU, "silu")                                                                                                      \
  X(QUICK_GELU, "quick_gelu")                                                                                          \
  X(RELU2, "relu2")                                                                                                    \
  X(GEGLU, "geglu")                                                                                                    \
  X(GEGLU_TANH, "geglu_tanh")                                                                                          \
  X(SWIGLU, "swiglu")

typedef enum mica_feed_forward {
#define MICA_FEED_FORWARD_ENUM(name, text) MICA_FEED_FORWARD_##name,
  MICA_FEED_FORWARD_LIST(MICA_FEED_FORWARD_ENUM)
#undef MICA_FEED_FORWARD_ENUM
} mica_feed_forward;
/* "gelu", "swiglu", ...; "?" for any other value. */
MICA_API const char *mica_feed_forward_name(mica_feed_forward kind);

/* Position of norms in a block. BEFORE: x + f(norm(x)). AFTER: norm(x + f(x)), as first published. AROUND: x +
 * norm(f(norm(x))), as in Gemma. */
typedef enum mica_block_norms {
  MICA_BLOCK_NORMS_BEFORE,
  MICA_BLOCK_NORMS_AFTER,
  MICA_BLOCK_NORMS_AROUND,
} mica_block_norms;

/* Order of a block's parts. SEQUENCE: each part gets the sum so far. ONE_NORM: attention and dense layers both get
 * norm1(x), and their results are added to x together (GPT-J, Phi). TWO_NORMS: the same, but the dense layers get
 * norm2(x) (GPT-NeoX). */
typedef enum mica_block_order {
  MICA_BLOCK_ORDER_SEQUENCE,
  MICA_BLOCK_ORDER_ONE_NORM,
  MICA_BLOCK_ORDER_TWO_NORMS,
} mica_block_order;

/* Mixture of experts in place of a block's dense layers (mica/experts.h). */
typedef struct mica_block_experts {
  int64_t count;  /* experts; 0: plain dense layers */
  int64_t chosen; /* experts per position; 0: 1 */
  bool normalise; /* divide the chosen probabilities by their sum */
  bool bias;      /* router and experts have biases: router.bias, experts.gate_proj_bias (count, rows), ... */
  /* Limit c > 0, for SWIGLU only: the hidden features are quick_gelu(min(gate(x), c)) (1 + min(max(up(x), -c), c)), as
   * in gpt-oss. 0: off */
  double clamp;
} mica_block_experts;

typedef struct mica_transformer_config {
  mica_nn_attention_config self;  /* self-attention */
  mica_nn_attention_config cross; /* attention to the memory; heads 0: as in self */
  int64_t hidden;                 /* features between the dense layers; 0: 4 C */
  mica_feed_forward feed_forward;
  bool apart;                 /* dense layers are gate_proj, up_proj and down_proj instead of linear1 and linear2 */
  bool no_feed_bias;          /* dense layers have no bias; self.no_bias implies it */
  mica_block_experts experts; /* `hidden` is each expert's; feed_forward must be gated, dropout 0 */
  mica_block_norms norms;     /* of each part */
  mica_block_order order;     /* other than SEQUENCE: norms must be BEFORE, and memory null */
  bool post_norm;             /* the same as norms AFTER */
  bool rms_norm;              /* RMS norms without bias (Zhang and Sennrich 2019) instead of layer norms */
  double epsilon;             /* of norms; 0: 1e-5 */
  double dropout;             /* of the result of each part, and between the dense layers, as in PyTorch */
  mica_init_config weight, out_weight; /* of linear1 and linear2; default: Xavier uniform */
} mica_transformer_config;

/* Transformer block, x (B, T, C) to (B, T, C): self-attention, then, if there is a memory or cross.recall is set,
 * attention to the memory, then two dense layers. config may be NULL.
 *
 * Names are those used by PyTorch's TransformerEncoderLayer and, with a memory, TransformerDecoderLayer: self_attn,
 * multihead_attn, linear1, linear2, norm1, norm2, norm3. norms AROUND adds a norm1_after to norm1, and so on. For gated
 * functions linear1 has 2 * hidden rows: W1, then W3. With `apart`, W1 is gate_proj, W3 up_proj and W2 down_proj;
 * without a gate, W1 is up_proj. With experts the layers are router, (count, C), and experts.gate_proj, experts.up_proj
 * and experts.down_proj, (count, rows, columns) each. MICA_E_UNSUPPORTED: experts with tensor_ranks. */
MICA_API mica_value mica_nn_transformer(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                                        const mica_transformer_config *config);

typedef struct mica_conformer_config {
  mica_nn_attention_config self; /* causal: filters see no later positions either */
  int64_t hidden;                /* features between dense layers; 0: 4 C */
  int64_t kernel;                /* positions per filter; odd unless causal; 0: 15 */
  double dropout;                /* of the result of each part, and between dense layers */
  /* For a sequence that arrives in parts: past of the attention, and past_filtered (B, C, kernel - 1), the inputs of
   * the convolution at the positions before x. The layer replaces both, for the next part. NULL: not a stream. */
  mica_attention_past *past;
  mica_value *past_filtered;
} mica_conformer_config;

/* Conformer block (Gulati et al. 2020), x (B, T, C) to (B, T, C). It adds to x, in this order: half the result of two
 * dense layers, self-attention, a convolution (gated linear units, one filter per channel, batch norm), and half the
 * result of two more dense layers; a layer norm follows.
 *
 * Names are those used by torchaudio's ConformerLayer: ffn1, self_attn, conv_module, ffn2, final_layer_norm. Pointwise
 * convolutions are dense layers. Filters have no bias, because batch norm would cancel it. config may be NULL. */
MICA_API mica_value mica_nn_conformer(mica_nn *nn, const char *name, mica_value x, const mica_conformer_config *config);

/* --- recurrent layers --- */

typedef struct mica_nn_rnn_config {
  mica_rnn_kind kind;
  int64_t layers; /* 0: 1 */
  mica_rnn_direction direction;
  double dropout;            /* between layers, in training */
  mica_value lengths;        /* see mica_rnn_config */
  const mica_value *h0, *c0; /* one value per layer, (directions, B, H); NULL: zeros. c0: LSTM only */
  bool no_bias;
  mica_init_config weight, bias; /* default: U(-1 / sqrt(H), 1 / sqrt(H)), as in PyTorch */
} mica_nn_rnn_config;

/* Recurrent layers with H = hidden units over x (B, T, C). Names are those used by torch.nn.LSTM: weight_ih_l0,
 * weight_hh_l0, bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, weight_ih_l1 ... y (B, T, directions H); h and c
 * (directions, B, H) are the last layer's. config may be NULL. */
MICA_API mica_rnn_results mica_nn_rnn(mica_nn *nn, const char *name, mica_value x, int64_t hidden,
                                      const mica_nn_rnn_config *config);

/* --- rows of a sequence --- */

/* The last valid row of each sequence of x (B, T, C), which is row lengths[b] - 1: (B, C). lengths i32 (B); null: row
 * T - 1, if T is known. Length 0 gives row T - 1. */
MICA_API mica_value mica_last_rows(mica_value x, mica_value lengths);
/* Mean of the first lengths[b] rows of each sequence: (B, C). lengths null: all rows. 0 for length 0. */
MICA_API mica_value mica_mean_rows(mica_value x, mica_value lengths);

/* --- networks --- */

/* Sizes of networks for sequences. mica/model.h lists the networks with their default sizes, which 0 stands for; other
 * defaults are given here. */
typedef struct mica_sequence_sizes {
  int64_t vocabulary; /* number of token ids; 0: classes */
  int64_t context;    /* maximum number of positions; 0: 1024, or 512 of encoder and translator */
  int64_t layers, heads, groups, hidden;
  int64_t kernel; /* tcn, cnn_gru: steps per filter; 0: 3 */
  mica_positions_kind positions;
  mica_feed_forward feed_forward;
  bool rms_norm, post_norm;
  bool untied; /* gpt, translator: the last layer has its own weights instead of the embedding's */
  bool pooled; /* encoder, tagger, tcn, cnn_gru: one result per sequence, (B, classes), instead of one per position */
  bool last;   /* gpt, translator: logits of the last valid position only, (B, classes) */
  mica_value lengths;         /* (B) i32: number of valid positions per sequence; null: all */
  const mica_kv_cache *cache; /* gpt, translator: cache for generation; its lengths apply if `lengths` is null */
} mica_sequence_sizes;

MICA_END_DECLS

#endif
