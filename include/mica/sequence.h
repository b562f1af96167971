/* mica/sequence.h: layers and networks of sequences: attention, Transformer blocks, recurrent layers, positions.
 *
 * Letters: B sequences, T positions, C features of a position, H heads of queries, G heads of keys and values, D
 * features of a head. Sequences are (B, T, C); B and T may be open. Layers are those of mica/nn.h: sticky, with names
 * and layouts of PyTorch's modules where it has them.
 *
 * Threads: as mica/nn.h. */
#ifndef MICA_SEQUENCE_H
#define MICA_SEQUENCE_H

#include <mica/attention.h>
#include <mica/nn.h>
#include <mica/rnn.h>

MICA_BEGIN_DECLS

/* --- positions --- */

/* name, text. How a network of attention knows the order of its positions. LEARNED: a vector a position is added to
 * what goes in; SINUSOIDAL: one of sines and cosines (Vaswani et al. 2017); ROTARY: queries and keys are rotated by
 * angles that grow with the position (Su et al. 2021); ALIBI: scores fall with the distance (Press et al. 2021); NONE:
 * by causal masks alone. The first two belong to mica_nn_positions, the other two to attention. */
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
/* "rotary"; "?" for a value that is none. */
MICA_API const char *mica_positions_name(mica_positions_kind kind);

/* The positions of x (B, T, ...) along axis 1: 0, 1, ... T - 1 as i32 (T); with an offset, i32 (B), (B, T), each
 * sequence beginning at its own. */
MICA_API mica_value mica_positions(mica_value x, mica_value offset);

typedef struct mica_rotary_config {
  double base;     /* 0: 10000 */
  int64_t rotated; /* features of a head that are rotated, the first ones; even; 0: all */
  bool interleave; /* pairs are features 2 i and 2 i + 1, as in the paper; else i and i + rotated / 2 (NeoX, Llama) */
  /* rotated / 2 numbers above 0, read during the call: number i divides the frequency of pair i. Infinity: the pair is
   * not rotated. NULL: all are 1. Longer contexts are made by these (linear, dynamic, YaRN, LongRoPE, Llama 3). */
  const double *factors;
  double scale; /* multiplies cosine and sine, so that scores grow by its square; 0: 1 */
} mica_rotary_config;
/* x (B, T, H, D) with pair i of features rotated by position base^(-2 i / rotated) / factors[i]. positions as
 * mica_positions gives them. config may be NULL. Su et al. 2021. */
MICA_API mica_value mica_rotary(mica_value x, mica_value positions, const mica_rotary_config *config);

/* x (B, T, C) + a vector a position. LEARNED: rows of the parameter weight (length, C), N(0, 0.02); a position of
 * `length` and more adds 0. SINUSOIDAL: sin(p / 10000^(2 i / C)) at 2 i, the cosine at 2 i + 1. Other kinds: x. */
MICA_API mica_value mica_nn_positions(mica_nn *nn, const char *name, mica_value x, mica_value positions, int64_t length,
                                      mica_positions_kind kind);

/* --- attention --- */

/* Keys and values that stay from run to run, so that a sequence is continued without reading it again. A layer that is
 * given a cache makes the states "cache_k" and "cache_v" (batch length, G D) of the network's dtype. Each run writes
 * those of x's positions behind the `offset` there are, in place, and attends to all up to each query; nothing grows,
 * so that a run of one position is one plan for a sequence of any length. Positions of `length` and more are not
 * written. What stands behind a sequence's own positions is never seen. */
typedef struct mica_kv_cache {
  int64_t batch, length; /* B, and positions that are kept of each sequence */
  mica_value offset;     /* (B) i32: how many positions each sequence had before x; null: none */
  mica_value lengths;    /* (B) i32: how many positions of x count, the first ones; null: all */
  /* (B) i32: the sequence of the caches that each of x goes on from, by a copy, as the hypotheses of a beam do. null:
   * its own. */
  mica_value parents;
  /* Sequences that share a memory, neighbours: a memory has B / beams sequences, and so have the caches of it. 0: 1 */
  int64_t beams;
  /* i32, a number per sequence of x: which of the B sequences of the caches it is. Each is named at most once. Without
   * parents, beams and a memory. null: x has B sequences, each its own. */
  mica_value slots;
} mica_kv_cache;

/* What attention of a causal layer with a window keeps of a stream, which comes part by part: keys and values of the
 * window - 1 positions before x. Zeros begin one. */
typedef struct mica_attention_past {
  mica_value k, v;  /* (B, window - 1, G, D); the layer puts those of the last positions of x in their place */
  mica_value count; /* (B) i32: how many of these there are, the last ones; the caller counts on */
} mica_attention_past;

/* Layers of attention, as bits of mica_nn_attention_config.without_bias. */
#define MICA_ATTENTION_Q 1u
#define MICA_ATTENTION_K 2u
#define MICA_ATTENTION_V 4u
#define MICA_ATTENTION_OUT 8u

typedef struct mica_nn_attention_config {
  int64_t heads;     /* 0: 1 */
  int64_t groups;    /* G, of which heads are a multiple; 0: as many as heads; 1 is multi-query */
  int64_t head_size; /* D; 0: C / heads */
  bool causal;
  int64_t window; /* as in mica_attention_config, as the next three are */
  double scale, soft_cap;
  double dropout;         /* of the weights of attention, in training */
  mica_value mask;        /* b8 or added, broadcast to (B, H, Tq, Tk); not with ALIBI */
  mica_value key_lengths; /* (B) i32; not with a cache for x itself */
  bool no_bias;           /* no layer has a bias */
  /* MICA_ATTENTION_... bits: these layers have no bias. Layers that are not apart have all of Q, K and V, or none. */
  uint32_t without_bias;
  bool apart; /* queries, keys and values come of three layers, each with a weight of its own */
  /* Each head's queries and keys have an RMS norm, with one scale (D) for all heads, before positions are rotated
   * (Henry et al. 2020). */
  bool qk_norm;
  double qk_epsilon;             /* of these norms; 0: 1e-5, MICA_ZERO: 0 */
  mica_positions_kind positions; /* ROTARY and ALIBI act here, by mica_positions of x (and of the cache's offset) */
  mica_rotary_config rotary;
  mica_value position_ids; /* i32 (T) or (B, T): ROTARY rotates x by these instead; not with past; null: none */
  const mica_kv_cache *cache;
  /* With a cache, in place of a memory, which is null: keys and values are those that the last run with a memory left
   * in the cache; key_lengths says how many of them count. */
  bool recall;
  mica_attention_past *past; /* NULL: no stream. Of x alone, causal, with a window; without cache, mask and ALIBI */
  mica_init_config weight, out_weight; /* of the first layers and of the last; default: Xavier uniform */
} mica_nn_attention_config;

/* Attention of x (B, T, C) to itself (memory null) or to memory (B, Tk, C'), H heads side by side: (B, T, C). Layers
 * "in_proj", weight ((H + 2 G) D, C), bias (rows for queries, keys, values: PyTorch's in_proj_weight and in_proj_bias),
 * or with a memory "q_proj" (H D, C) and "kv_proj" (2 G D, C'), whose rows are PyTorch's too; if they are apart
 * "q_proj" (H D, C), "k_proj" and "v_proj" (G D, C or C'). Then the norms "q_norm" and "k_norm", weight (D), and
 * "out_proj" (C, H D), bias. config may be NULL. Vaswani et al. 2017, Shazeer 2019, Ainslie et al. 2023. */
MICA_API mica_value mica_nn_attention(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                                      const mica_nn_attention_config *config);

/* name, text. f of the block's dense layers: W2 f(W1 x), or of the last three, which are gated, W2 (f(W1 x) W3 x).
 * RELU2: relu(x)^2 (So et al. 2021); GEGLU, GEGLU_TANH: GELU, exact and by tanh; SWIGLU: silu (Shazeer 2020). */
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
/* "swiglu"; "?" for a value that is none. */
MICA_API const char *mica_feed_forward_name(mica_feed_forward kind);

/* Where a block has its norms. BEFORE: x + f(norm(x)); AFTER: norm(x + f(x)), as published first; AROUND:
 * x + norm(f(norm(x))), as Gemma has it. */
typedef enum mica_block_norms {
  MICA_BLOCK_NORMS_BEFORE,
  MICA_BLOCK_NORMS_AFTER,
  MICA_BLOCK_NORMS_AROUND,
} mica_block_norms;

/* How a block adds what its parts compute. SEQUENCE: each part sees the sum so far. ONE_NORM: attention and dense
 * layers both see norm1(x) and are added to x at once (GPT-J, Phi); TWO_NORMS: the dense layers see norm2(x)
 * (GPT-NeoX). */
typedef enum mica_block_order {
  MICA_BLOCK_ORDER_SEQUENCE,
  MICA_BLOCK_ORDER_ONE_NORM,
  MICA_BLOCK_ORDER_TWO_NORMS,
} mica_block_order;

typedef struct mica_transformer_config {
  mica_nn_attention_config self;  /* of x to itself */
  mica_nn_attention_config cross; /* of x to the memory: heads 0: those of self */
  int64_t hidden;                 /* features between the dense layers; 0: 4 C */
  mica_feed_forward feed_forward;
  bool apart;             /* dense layers are gate_proj, up_proj and down_proj instead of linear1 and linear2 */
  bool no_feed_bias;      /* the dense layers have no bias; neither have they if self.no_bias is set */
  mica_block_norms norms; /* of each part */
  mica_block_order order; /* other than SEQUENCE: norms are BEFORE, and there is no memory */
  bool post_norm;         /* the same as norms AFTER */
  bool rms_norm;          /* RMS norms, without bias (Zhang and Sennrich 2019), in place of layer norms */
  double epsilon;         /* of norms; 0: 1e-5 */
  double dropout;         /* of what each part adds, and between the dense layers as PyTorch has it */
  mica_init_config weight, out_weight; /* of linear1 and of linear2; default: Xavier uniform */
} mica_transformer_config;

/* A block: attention to itself, then to the memory unless that is null (and cross.recall is not set), then two dense
 * layers; x (B, T, C) to (B, T, C). The names are those of PyTorch's TransformerEncoderLayer and, with a memory,
 * TransformerDecoderLayer: self_attn, multihead_attn, linear1, linear2, norm1, norm2, norm3; norms AROUND have
 * norm1_after, norm2_after and norm3_after as well. linear1 of gated functions has 2 hidden rows, first W1, then W3.
 * If they are apart, W1 is gate_proj, W3 up_proj and W2 down_proj, or W1 up_proj if it is not gated. config may be
 * NULL. */
MICA_API mica_value mica_nn_transformer(mica_nn *nn, const char *name, mica_value x, mica_value memory,
                                        const mica_transformer_config *config);

typedef struct mica_conformer_config {
  mica_nn_attention_config self; /* causal: the filters see nothing that comes later either */
  int64_t hidden;                /* features between dense layers; 0: 4 C */
  int64_t kernel;                /* positions that a filter sees; odd unless causal; 0: 15 */
  double dropout;                /* of what each part adds, and between dense layers */
  /* What attention keeps of a stream, and what filters do, (B, C, kernel - 1), replaced likewise; NULL: no stream. */
  mica_attention_past *past;
  mica_value *past_filtered;
} mica_conformer_config;

/* A block of a Conformer (Gulati et al. 2020), x (B, T, C) to (B, T, C): half of two dense layers, attention to itself,
 * a convolution (gated linear units, a filter a channel, batch norm), half of two dense layers, a layer norm. The names
 * are those of torchaudio's ConformerLayer: ffn1, self_attn, conv_module, ffn2, final_layer_norm; its convolutions of
 * one position are dense layers, and its filters have no bias, which batch norm would take away. config may be NULL. */
MICA_API mica_value mica_nn_conformer(mica_nn *nn, const char *name, mica_value x, const mica_conformer_config *config);

/* --- recurrent layers --- */

typedef struct mica_nn_rnn_config {
  mica_rnn_kind kind;
  int64_t layers; /* 0: 1 */
  mica_rnn_direction direction;
  double dropout;            /* of what goes from layer to layer, in training */
  mica_value lengths;        /* as in mica_rnn_config */
  const mica_value *h0, *c0; /* a value a layer, (directions, B, H); NULL: zeros. c0 of LSTM alone */
  bool no_bias;
  mica_init_config weight, bias; /* default: U(-1 / sqrt(H), 1 / sqrt(H)), as PyTorch's */
} mica_nn_rnn_config;

/* Recurrent layers of H = hidden units over x (B, T, C), the names being torch.nn.LSTM's: weight_ih_l0, weight_hh_l0,
 * bias_ih_l0, bias_hh_l0, weight_ih_l0_reverse, weight_ih_l1 ... y (B, T, directions H); h and c (directions, B, H) of
 * the last layer. config may be NULL. */
MICA_API mica_rnn_results mica_nn_rnn(mica_nn *nn, const char *name, mica_value x, int64_t hidden,
                                      const mica_nn_rnn_config *config);

/* --- rows of a sequence --- */

/* Row lengths[b] - 1 of each sequence, (B, C) of x (B, T, C); lengths i32 (B), null: the last row, where T is known. */
MICA_API mica_value mica_last_rows(mica_value x, mica_value lengths);
/* The mean of the first lengths[b] rows of each sequence, (B, C); lengths null: of all. 0 for a length of 0. */
MICA_API mica_value mica_mean_rows(mica_value x, mica_value lengths);

/* --- networks --- */

/* Sizes of the networks of sequences that mica/model.h lists; zero takes what is said there. */
typedef struct mica_sequence_sizes {
  int64_t vocabulary; /* ids of tokens are below it; 0: as many as classes */
  int64_t context;    /* positions at most; 0: 1024 */
  int64_t layers, heads, groups, hidden;
  int64_t kernel; /* tcn: steps that a filter sees */
  mica_positions_kind positions;
  mica_feed_forward feed_forward;
  bool rms_norm, post_norm;
  bool untied;        /* gpt, translator: the last layer has weights of its own, in place of the embedding's */
  bool pooled;        /* encoder, tagger, tcn: one answer a sequence, (B, classes), in place of one a position */
  bool last;          /* gpt, translator: logits of the last position that counts alone, (B, classes) */
  mica_value lengths; /* (B) i32: how many positions of each sequence count; null: all */
  const mica_kv_cache *cache; /* gpt, translator: to generate with; its lengths count where `lengths` is null */
} mica_sequence_sizes;

MICA_END_DECLS

#endif
