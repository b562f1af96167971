/* mica/model.h: networks known by name, with their published initial values.
 *
 *   mlp                  dense 128, relu, dense
 *   lenet                LeNet-5 with relu and max pooling (LeCun et al. 1998)
 *   cnn                  conv 32 3x3, pool, conv 64 3x3, pool, dense 128
 *   convnet              conv 3x3, batch norm, pool, relu: four times, or fewer if one point is left, then until the
 *                        longer side has at most 4 points; 32, 64, 128, then 256 filters; mean, dense
 *   vgg11                configuration A (Simonyan and Zisserman 2014)
 *   resnet18, resnet50   (He et al. 2015)
 *   mobilenetv2          (Sandler et al. 2018)
 *   unet                 logits per pixel, with padding and a norm (Ronneberger et al. 2015); also per voxel of
 *                        volumes (N, C, D, H, W) (Cicek et al. 2016)
 *   densenet121          (Huang et al. 2017)
 *   efficientnetb0       (Tan and Le 2019)
 *   gpt                  language model: 12 blocks of 768 features with 12 heads, 1024 positions (Radford et al. 2019)
 *   encoder              gpt without a causal mask, 512 positions; after Devlin et al. 2018
 *   tagger               2 bidirectional LSTM layers of 256 units
 *   tcn                  4 blocks of two dilated causal convolutions of 3 steps, 64 channels (Bai et al. 2018)
 *   cnn_gru              convolution of 3 steps, bidirectional GRU layer of 128 units, attention with 4 heads: the last
 *                        states of the GRU attend to all positions, or each position does
 *
 * mica_model_name lists all names. Parameters have the names and layouts of torchvision if it has the network.
 *
 * Threads: use a model from one thread at a time. Names and texts are constant. */
#ifndef MICA_MODEL_H
#define MICA_MODEL_H

#include <mica/sequence.h>

MICA_BEGIN_DECLS

/* First layers of a network. LARGE is the published form. SMALL omits the first reductions: resnet and densenet start
 * with 3x3 at stride 1 without pooling; convnet starts at stride 1 instead of 2; mobilenetv2 and efficientnet use
 * stride 1 instead of 2 twice; vgg11 ends in one dense layer. AUTO: SMALL for pictures of at most 64 pixels a side,
 * else LARGE. */
typedef enum mica_stem { MICA_STEM_AUTO, MICA_STEM_SMALL, MICA_STEM_LARGE } mica_stem;

/* name, text: input samples of a network. IMAGE: (C, H, W) float. TABLE: any shape, float; flattened. TOKENS: (T) i32
 * or i64 ids, or (T, F) float features. tagger, tcn and cnn_gru read features directly, other networks through a dense
 * layer. */
#define MICA_MODEL_FAMILY_LIST(X)                                                                                      \
  X(IMAGE, "image")                                                                                                    \
  X(TABLE, "table")                                                                                                    \
  X(TOKENS, "tokens")

typedef enum mica_model_family {
#define MICA_MODEL_FAMILY_ENUM(name, text) MICA_MODEL_FAMILY_##name,
  MICA_MODEL_FAMILY_LIST(MICA_MODEL_FAMILY_ENUM)
#undef MICA_MODEL_FAMILY_ENUM
} mica_model_family;

/* "image", "table", "tokens"; "?" for any other value. */
MICA_API const char *mica_model_family_name(mica_model_family family);

/* Norm of networks that offer a choice: batch norm, or group norm, whose result does not depend on the batch size. */
typedef enum mica_model_norm { MICA_MODEL_NORM_BATCH, MICA_MODEL_NORM_GROUP } mica_model_norm;

typedef struct mica_model_config {
  const char *name; /* for mica_model_build; mica_model_create takes it as an argument */
  int64_t classes;  /* number of outputs; 0: 10 */
  /* for mica_model_create: shape of a sample. Rank 0: (1, 28, 28) for mlp, lenet and cnn, (3, 320, 320) for detector,
   * (3, 224, 224) for other images, any length for tokens */
  mica_shape input;
  mica_stem stem;
  /* mlp: hidden units (0: 128); cnn, convnet: filters of the first convolution (0: 32); unet: channels at full size (0:
   * 64); networks of sequences: features per position */
  int64_t width;
  /* unet: number of halvings of the sides, 1 to 8; each time they must be even. 0: as often as possible, at most 4. */
  int64_t depth;
  mica_model_norm norm; /* unet */
  int64_t groups;       /* groups of a group norm; 0: the largest number up to 8 that divides the channels */
  /* Dropout before the last layer. 0 means 0.2 for efficientnetb0, 0.5 for vgg11 with a LARGE stem, and none for mlp,
   * lenet, cnn, convnet, mobilenetv2 and densenet121. MICA_ZERO: none. Networks of sequences: dropout of blocks and
   * layers. */
  double dropout;
  mica_sequence_sizes sequence; /* sizes of networks of sequences */
  /* For mica_model_create: leave parameters zero instead of drawing initial values. Saves seconds for large networks
   * (vgg11 has 133 million) whose weights are loaded, or that are only inspected. */
  bool blank;
} mica_model_config;

/* Builds the network config->name and returns logits for x (N, ...), whose samples have the shape that the network's
 * family requires. The function is a mica_nn_block: config points to a mica_model_config. If the name is unknown, an
 * error that lists the names is recorded in the graph. */
MICA_API mica_value mica_model_build(mica_nn *nn, mica_value x, const void *config);

/* Encoder and decoder of Vaswani et al. 2017. Defaults: 6 blocks each, 512 features, 8 heads, 512 positions. Source and
 * target embeddings and the output layer share one table of `vocabulary` rows; with `untied`, the output layer has its
 * own weights. config may be NULL; its name is ignored.
 *
 * mica_translator_encode returns the memory (B, S, C) of source ids (B, S); sequence.lengths gives the number of valid
 * ids of each source.
 *
 * mica_translator_decode returns logits (B, T, vocabulary) of target ids (B, T), or of their last position alone.
 * Targets attend to the memory; memory_lengths gives its valid positions (null: all). With sequence.cache, the memory
 * is stored in the cache, and a null memory means the stored one. */
MICA_API mica_value mica_translator_encode(mica_nn *nn, mica_value ids, const mica_model_config *config);
MICA_API mica_value mica_translator_decode(mica_nn *nn, mica_value ids, mica_value memory, mica_value memory_lengths,
                                           const mica_model_config *config);

/* Output of the network "detector": (N, points, classes + 5) f32 for points at strides 8, 16 and 32. Per point: a logit
 * per class, a logit of centre-ness, and the distances in pixels from the point to the left, upper, right and lower
 * side of its box (FCOS, Tian et al. 2019). Sides of pictures must be multiples of 32. width: channels at stride 4, a
 * multiple of 8 (0: 32). */
#define MICA_DETECTOR_MULTIPLE 32
/* Writes x, y and stride of each point into points (may be NULL). Returns the number of points. */
MICA_API int64_t mica_detector_points(int64_t height, int64_t width, float *points);

/* U-Net of denoising diffusion (Ho et al. 2020): residual blocks with group norm, attention at the coarsest level, and
 * embeddings of time and class that every block gets. Levels below full size have twice the channels. Parameters
 * have the names and layouts of diffusers' UNet2DModel. */
#define MICA_DENOISER_WIDEST 512
typedef struct mica_denoiser_config {
  int64_t width; /* channels at full size, an even number of at most MICA_DENOISER_WIDEST; 0: 32 */
  /* Number of times that height and width are halved, at most 6; both must be multiples of 2^depth. 0: halve while both
   * are even and 4 pixels or more remain, at most 3 times. */
  int64_t depth;
  int64_t blocks;  /* residual blocks per level on the way down; one more on the way up; 0: 1 */
  int64_t classes; /* rows of the table of classes, one more if there is a "no class"; 0: the network takes no class */
  int64_t groups;  /* groups of group norms; 0: the largest number up to 8 that divides the channels */
  int64_t head;    /* channels per attention head; 0: one head with all channels */
  double dropout;  /* in residual blocks */
} mica_denoiser_config;

/* Builds the network for noisy pictures x (N, C, H, W). Returns what it is trained to predict, for example the noise,
 * in f32 with x's shape. time (N): steps of the schedule, i32 or f32. label (N) i32: rows of the table of classes; null
 * if config->classes is 0. config may be NULL. Errors are recorded in x's graph. MICA_E_SHAPE: a side cannot be halved
 * as often as depth says. MICA_E_INVALID: a field of config is out of range. */
MICA_API mica_value mica_denoiser_build(mica_nn *nn, mica_value x, mica_value time, mica_value label,
                                        const mica_denoiser_config *config);

/* Return the name of network number `index`, and a line of text that describes it. NULL after the last one. */
MICA_API const char *mica_model_name(size_t index);
MICA_API const char *mica_model_text(size_t index);
/* Family of network number `index`, which must be below the number of names. */
MICA_API mica_model_family mica_model_family_of(size_t index);

/* A network for inference with its own session: input "inputs" (N, input...) of any N, f32 (family TOKENS: i32), one
 * output with logits. Weights have the initial values of seed 0, or are zero with config.blank; mica_nn_load replaces
 * them. */
typedef struct mica_model mica_model;
MICA_API MICA_CHECKED mica_status mica_model_create(mica_engine *engine, const char *name,
                                                    const mica_model_config *config, mica_model **model);
/* NULL is a no-op. */
MICA_API void mica_model_destroy(mica_model *model);
/* Network and session. The model owns them. */
MICA_API mica_nn *mica_model_network(mica_model *model);
MICA_API mica_session *mica_model_session(mica_model *model);

MICA_END_DECLS

#endif
