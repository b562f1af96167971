/* foundation/family.h: a family of models as a row of families.def, and what is read by it. */
#ifndef MICA_FOUNDATION_FAMILY_H
#define MICA_FOUNDATION_FAMILY_H

#include "foundation/config_source.h"

#include <mica/foundation.h>

/* Layers that have a bias unless a key says otherwise. */
#define MICA__BIAS_QKV 1u
#define MICA__BIAS_OUT 2u
#define MICA__BIAS_FEED 4u

/* Which rows of names.def a family's tensors are. */
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

/* How a family's folders name experts. */
typedef enum mica__experts {
  MICA__EXPERTS_NONE,
  MICA__EXPERTS_MIXTRAL, /* block_sparse_moe.experts.0.w1 */
  MICA__EXPERTS_QWEN,    /* mlp.experts.0.gate_proj */
  MICA__EXPERTS_GPTOSS,  /* mlp.experts.gate_up_proj of all experts, rows interleaved */
} mica__experts;

typedef struct mica__family {
  const char *name, *model_types, *arch;
  mica__naming names;
  const char *prefix; /* before names of a folder's tensors, or not; several are parted by '|' */
  mica__experts experts;
  bool routes_normal; /* probabilities of the chosen experts are divided by their sum, whatever keys say */
  double clamp;       /* of mica_block_experts; GGUF files of such models do not round YARN's range */
  bool sinks;
  bool fused; /* q, k and v are one tensor, gate and up another */
  mica_foundation_task task;
  bool rms_norm, qk_norm, embed_norm;
  bool relu_pooler; /* the layer before classes of texts ends in a ReLU, not a tanh */
  bool plus_one;    /* folders store norms without their 1 */
  double epsilon;
  mica_foundation_norms norms;
  mica_foundation_function function;
  bool any_function; /* the function is the one that the key names */
  unsigned bias;
  bool bias_out_by_key; /* attention_bias is for the layer behind attention as well */
  bool tied;
  bool embed_scale; /* embeddings are multiplied by the root of the width */
  bool query_scale; /* scores are divided by the root of query_pre_attn_scalar, not of the head's size */
  int64_t wide;     /* layers of the model that GGUF files say no query_pre_attn_scalar of: it is width / heads there */
  mica_positions_kind positions;
  int64_t first_position;
  bool interleaved;    /* GGUF files store rows of q and k as pairs */
  bool own_local_base; /* layers with a window have rotary positions of their own, not scaled */
  int64_t local_every; /* each layer of that number sees all, unless a key says otherwise; 0: all layers are alike */
  int64_t nope_every;  /* each layer of that number has no positions, unless a key says otherwise; 0: all have them */
  int64_t head_size;   /* without a key; 0: width / heads */
  int64_t types;
  bool pictures;      /* it reads pictures instead of texts */
  bool causal;        /* for families that do not generate texts */
  bool no_patch_bias; /* pictures: the layer of patches has no bias, and the class token is a vector */
  const char *vision; /* row of families.def for pictures, described by the object vision_config; NULL: none */
  const char *sound;  /* row of families.def for the encoder of sound; NULL: none */
} mica__family;

/* The family of a model_type, NULL if it is unknown. *object: the object of config.json that describes it; NULL for all
 * of the file. */
const mica__family *mica__family_of_type(const char *model_type, const char **object);
/* The family of an architecture whose models have experts, or have none. */
const mica__family *mica__family_of_arch(const char *arch, bool experts);
/* The row with this name, which must exist. */
const mica__family *mica__family_named(const char *name);
/* "llama, mistral, ...": what may stand in config.json, or in a GGUF file. */
const char *mica__family_list(bool gguf, char text[400]);

/* MICA_E_FORMAT, naming the tensor and both shapes, if a tensor of the network is missing or has another shape, or if
 * the files have one that no row names. gguf: the tensors have the names of GGUF. */
mica_status mica__names_check(const char *path, const mica__family *family, const mica_foundation_info *info,
                              const mica_weights *weights, bool gguf);

/* Arrays of an info, which the model frees. */
typedef struct mica__info_arrays {
  bool *local, *no_rope;
  double *factors[2];
  int32_t *ends;
  const char **unknown, **class_names;
  struct mica__second_info *second;
} mica__info_arrays;

/* The network of pictures, or the encoder of sound, of a model with two networks. */
typedef struct mica__second_info {
  mica_foundation_info info;
  mica__info_arrays arrays;
  bool *seen;
} mica__second_info;

void mica__info_arrays_free(mica__info_arrays *arrays);

/* Fills the info from what the model says. weights: its tensors, by which GGUF files say what has a bias. */
mica_status mica__config_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* Its rotary positions, once sizes are known. */
mica_status mica__rotary_read(const mica__config_source *facts, const mica__family *family, const mica_weights *weights,
                              mica_foundation_info *info, mica__info_arrays *arrays);
/* MICA_E_FORMAT for keys of config.json that change what a model computes; others that no row names become
 * info->unknown. */
mica_status mica__config_leftovers(const mica__config_source *facts, mica_foundation_info *info,
                                   mica__info_arrays *arrays);

#endif
