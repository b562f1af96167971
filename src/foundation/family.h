/* foundation/family.h: families of models, which are rows of families.def, and the readers that use them. */
#ifndef MICA_FOUNDATION_FAMILY_H
#define MICA_FOUNDATION_FAMILY_H

#include "foundation/config_source.h"

#include <mica/foundation.h>

/* Layers that have a bias by default; a key may change it. */
#define MICA__BIAS_QKV 1u
#define MICA__BIAS_OUT 2u
#define MICA__BIAS_FEED 4u

/* The rows of names.def that name a family's tensors. */
typedef enum mica__naming {
  MICA__NAMING_LLAMA,
  MICA__NAMING_GPT2,
  MICA__NAMING_BERT,
  MICA__NAMING_DISTILBERT,
  MICA__NAMING_VIT,
  MICA__NAMING_CLIP,
  MICA__NAMING_CLIP_VISION,
  MICA__NAMING_WHISPER,
  MICA__NAMING_WHISPER_ENCODER
} mica__naming;

/* The names of experts in a family's folders. */
typedef enum mica__experts {
  MICA__EXPERTS_NONE,
  MICA__EXPERTS_MIXTRAL, /* block_sparse_moe.experts.0.w1 */
  MICA__EXPERTS_QWEN,    /* mlp.experts.0.gate_proj */
  MICA__EXPERTS_GPTOSS,  /* mlp.experts.gate_up_proj: all experts, interleaved rows */
} mica__experts;

typedef struct mica__family {
  const char *name, *model_types, *arch;
  mica__naming names;
  const char *prefix; /* optional prefixes of a folder's tensor names, separated by '|' */
  mica__experts experts;
  bool routes_normal; /* the chosen experts' probabilities are divided by their sum, whatever keys say */
  double clamp;       /* for mica_block_experts; not 0: GGUF files do not round YARN's range */
  bool sinks;
  bool fused; /* q, k and v are one tensor; gate and up are another */
  mica_foundation_task task;
  bool rms_norm, qk_norm, embed_norm;
  bool relu_pooler; /* the layer before a text's classes ends in a ReLU, not a tanh */
  bool plus_one;    /* folders store a norm's weights minus 1 */
  double epsilon;
  mica_foundation_norms norms;
  mica_foundation_function function;
  bool any_function; /* the key's function is used */
  unsigned bias;
  bool bias_out_by_key; /* attention_bias also applies to the layer after attention */
  bool tied;
  bool embed_scale; /* embeddings are multiplied by the root of the width */
  bool query_scale; /* scores are divided by the root of query_pre_attn_scalar, not of the head size */
  int64_t wide;     /* layers of the model whose query_pre_attn_scalar is width / heads; GGUF files lack this scalar */
  mica_positions_kind positions;
  int64_t first_position;
  bool interleaved;    /* in GGUF files, features 2 i and 2 i + 1 of a head rotate together */
  bool own_local_base; /* layers with a window have their own rotary positions, not scaled */
  int64_t local_every; /* every n-th layer has full attention, unless a key says otherwise; 0: all are alike */
  int64_t nope_every;  /* every n-th layer has no positions, unless a key says otherwise; 0: all have them */
  int64_t head_size;   /* default without a key; 0: width / heads */
  int64_t types;
  bool pictures;      /* reads pictures instead of texts */
  bool causal;        /* a token sees no later ones; for families that generate no texts, as all others are causal */
  bool no_patch_bias; /* pictures: the patch layer has no bias, and the class token is a vector */
  const char *vision; /* row of families.def for pictures (object vision_config); NULL: none */
  const char *sound;  /* row of families.def for the sound encoder; NULL: none */
} mica__family;

/* Finds the family of a model_type; NULL: unknown. *object: the object of config.json that describes it; NULL: the
 * whole file. */
const mica__family *mica__family_of_type(const char *model_type, const char **object);
/* Finds the family of an architecture, with or without experts. */
const mica__family *mica__family_of_arch(const char *arch, bool experts);
/* Finds the row with this name, which must exist. */
const mica__family *mica__family_named(const char *name);
/* Lists "llama, mistral, ...": the known types in config.json, or architectures in a GGUF file. */
const char *mica__family_list(bool gguf, char text[400]);

/* MICA_E_FORMAT, with the tensor and both shapes, if a tensor of the network is missing or has another shape, or if the
 * files have a tensor without a row. gguf: tensors have GGUF names. */
mica_status mica__names_check(const char *path, const mica__family *family, const mica_foundation_info *info,
                              const mica_weights *weights, bool gguf);

/* Arrays that belong to an info; the model frees them. */
typedef struct mica__info_arrays {
  bool *local, *no_rope;
  double *factors[2];
  int32_t *ends;
  const char **unknown, **class_names;
  struct mica__second_info *second;
} mica__info_arrays;

/* The network for pictures, or the sound encoder, of a model with two networks. */
typedef struct mica__second_info {
  mica_foundation_info info;
  mica__info_arrays arrays;
  bool *seen;
} mica__second_info;

void mica__info_arrays_free(mica__info_arrays *arrays);

/* Fills the info from the model's keys. weights: its tensors, which show in GGUF files which layers have a bias. */
mica_status mica__config_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* Fills the rotary positions, once sizes are known. */
mica_status mica__rotary_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* Handles the keys of config.json that were not read: MICA_E_FORMAT for those that change what a model computes; the
 * others become info->unknown. */
mica_status mica__config_leftovers(const mica__config_source *facts, mica_foundation_info *info,
                                   mica__info_arrays *arrays);

#endif
