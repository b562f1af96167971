/* foundation/family.h: the families of models, and functions that read a model's configuration. A family is a row of
 * families.def. */
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
  /* Limit of gate and up in mica_block_experts; 0: none. A family with a limit also does not round YARN's range in GGUF
   * files. */
  double clamp;
  bool sinks;
  bool fused; /* q, k and v are one tensor; gate and up are another */
  mica_foundation_task task;
  bool rms_norm, qk_norm, embed_norm;
  bool relu_pooler; /* the layer before a text's classes ends in a ReLU, not a tanh */
  bool plus_one;    /* folders store a norm's weights minus 1 */
  double epsilon;
  mica_foundation_norms norms;
  mica_foundation_function function;
  bool any_function; /* any function that the configuration names is used; false: it must match `function` */
  unsigned bias;
  bool bias_out_by_key; /* attention_bias also applies to the layer after attention */
  bool tied;
  bool embed_scale; /* embeddings are multiplied by the root of the width */
  bool query_scale; /* scores are divided by the root of query_pre_attn_scalar, not of the head size */
  /* GGUF files lack query_pre_attn_scalar. There, a model with this number of layers uses width / heads, and any other
   * model uses the head size. */
  int64_t wide;
  mica_positions_kind positions;
  int64_t first_position;
  bool interleaved;    /* in GGUF files, features 2 i and 2 i + 1 of a head rotate together */
  bool own_local_base; /* layers with a window have their own rotary positions, not scaled */
  int64_t local_every; /* every n-th layer has full attention and the others a window, unless a key says otherwise; 0:
                        * no default */
  int64_t nope_every;  /* every n-th layer has no positions, unless a key says otherwise; 0: all have them */
  int64_t head_size;   /* default without a key; 0: width / heads */
  int64_t types;
  bool pictures; /* reads pictures instead of texts */
  /* For a family that generates no texts: a token attends to no later tokens. Families that generate texts always do
   * this. */
  bool causal;
  bool no_patch_bias; /* pictures: the patch layer has no bias, and the class token is stored as (width), not (1, 1,
                       * width) */
  const char *vision; /* row of families.def for pictures (object vision_config); NULL: none */
  const char *sound;  /* row of families.def for the sound encoder; NULL: none */
} mica__family;

/* Finds the family of a model_type; NULL: unknown. *object receives the name of the object of config.json that
 * describes the model, or NULL if the whole file does. */
const mica__family *mica__family_of_type(const char *model_type, const char **object);
/* Finds the family of an architecture, with or without experts. */
const mica__family *mica__family_of_arch(const char *arch, bool experts);
/* Finds the row with this name, which must exist. */
const mica__family *mica__family_named(const char *name);
/* Lists "llama, mistral, ...": the known types in config.json, or architectures in a GGUF file. */
const char *mica__family_list(bool gguf, char text[400]);

/* Checks the tensors of the model's files. Fails with MICA_E_FORMAT if a tensor that the network needs is missing, if
 * one has the wrong shape or, for MXFP4, the wrong type, or if a tensor of the files belongs to no row of names.def.
 * `gguf`: the tensors have GGUF names. */
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

/* The second network of a model that has two: the one for pictures, or the sound encoder. */
typedef struct mica__second_info {
  mica_foundation_info info;
  mica__info_arrays arrays;
  bool *seen;
} mica__second_info;

void mica__info_arrays_free(mica__info_arrays *arrays);

/* Fills the info from the model's keys. `weights` are the model's tensors: in a GGUF file, they also show which layers
 * have a bias, whether the output layer is tied, and whether rotary positions have lists of factors. */
mica_status mica__config_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* Fills the rotary positions, once sizes are known. */
mica_status mica__rotary_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* Checks the keys of config.json that nothing has read. MICA_E_FORMAT: such a key changes what the model computes. Keys
 * that are not in harmless.def become info->unknown. */
mica_status mica__config_leftovers(const mica__config_source *facts, mica_foundation_info *info,
                                   mica__info_arrays *arrays);

#endif
