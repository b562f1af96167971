/* mica/model.h: networks that are known by name, with their published initial values.
 *
 *   mlp          dense 128, relu, dense
 *   lenet        LeNet-5 with relu and max pooling; LeCun et al. 1998
 *   cnn          conv 32 3x3, pool, conv 64 3x3, pool, dense 128
 *   vgg11        configuration A; Simonyan and Zisserman 2014
 *   resnet18, resnet50   He et al. 2015
 *   mobilenetv2  Sandler et al. 2018
 *   unet         logits for every pixel; Ronneberger et al. 2015, with padding and a norm
 *   densenet121  Huang et al. 2017
 *   efficientnetb0   Tan and Le 2019
 *   gpt          a language model: 12 blocks of 768 features with 12 heads, 1024 positions; Radford et al. 2019
 *   encoder      the same with all positions seen from each, 512 positions; after Devlin et al. 2018
 *   tagger       2 layers of LSTM in both directions, 256 units each
 *   tcn          4 blocks of two dilated causal convolutions of 3 steps, 64 channels; Bai et al. 2018
 *
 * Parameters have the names and layouts of torchvision's where it has the network.
 *
 * Threads: a model is used by one thread at a time. Names and texts are constant. */
#ifndef MICA_MODEL_H
#define MICA_MODEL_H

#include <mica/sequence.h>

MICA_BEGIN_DECLS

/* The beginning of a network. AUTO: SMALL for images of at most 64 pixels a side, else LARGE. LARGE is the published
 * one. SMALL leaves the first reductions out: resnet and densenet begin with 3x3 at stride 1 and no pooling;
 * mobilenetv2 and efficientnet have stride 1 twice where they have 2; vgg11 ends in one dense layer. */
typedef enum mica_stem { MICA_STEM_AUTO, MICA_STEM_SMALL, MICA_STEM_LARGE } mica_stem;

/* name, text. What a sample of a network's input is. IMAGE: (C, H, W), float. TABLE: any shape, float; flattened.
 * TOKENS: (T), i32 ids; or (T, F), float, which tagger and tcn take as they are, others through a dense layer. */
#define MICA_MODEL_FAMILY_LIST(X)                                                                                      \
  X(IMAGE, "image")                                                                                                    \
  X(TABLE, "table")                                                                                                    \
  X(TOKENS, "tokens")

typedef enum mica_model_family {
#define MICA_MODEL_FAMILY_ENUM(name, text) MICA_MODEL_FAMILY_##name,
  MICA_MODEL_FAMILY_LIST(MICA_MODEL_FAMILY_ENUM)
#undef MICA_MODEL_FAMILY_ENUM
} mica_model_family;

/* "image"; "?" for a value that is none. */
MICA_API const char *mica_model_family_name(mica_model_family family);

/* The norm of a network that has a choice: batch norm, or group norm, which does not depend on how many samples a batch
 * has. */
typedef enum mica_model_norm { MICA_MODEL_NORM_BATCH, MICA_MODEL_NORM_GROUP } mica_model_norm;

typedef struct mica_model_config {
  const char *name; /* for mica_model_build, which must have it; mica_model_create takes it by itself */
  int64_t classes;  /* outputs; 0: 10 */
  mica_shape input; /* for mica_model_create: shape of a sample. Rank 0: (1, 28, 28) for mlp, lenet, cnn,
                     * (3, 224, 224) for other images, what was published for tokens */
  mica_stem stem;
  int64_t width; /* mlp: units of the hidden layer (0: 128); cnn: filters of its first convolution (0: 32); unet:
                  * channels at full size (0: 64); of sequences: features of a position */
  /* unet: how often the sides are halved, 1 to 8, which they must allow; 0: as often as they can be, up to 4 times. */
  int64_t depth;
  mica_model_norm norm; /* unet */
  int64_t groups;       /* of group norm; 0: 8, or as many channels as there are where that is less */
  /* Rate before the last layer of mlp, lenet, cnn, mobilenetv2 and densenet121 (0: none), of efficientnetb0 (0: 0.2,
   * MICA_ZERO: none) and of vgg11 with a LARGE stem (0: 0.5, MICA_ZERO: none). */
  double dropout;
  mica_sequence_sizes sequence; /* of networks of sequences, where `dropout` is that of blocks and layers */
  /* For mica_model_create: parameters are zeros, none is drawn. For who loads all of them, or asks what the network is:
   * the 133 million of vgg11 take seconds. */
  bool blank;
} mica_model_config;

/* Logits of the network that config->name names, of x (N, ...) with samples as its family has them; a mica_nn_block. An
 * unknown name is an error in the graph, and lists the names. */
MICA_API mica_value mica_model_build(mica_nn *nn, mica_value x, const void *config);

/* The encoder-decoder of Vaswani et al. 2017: 6 blocks each of 512 features with 8 heads, 512 positions, one table of
 * `vocabulary` rows for source, target and logits (untied: the logits have weights of their own). encode: (B, S, C) of
 * the source's ids (B, S), of which sequence.lengths count. decode: logits (B, T, vocabulary) of ids (B, T), or of the
 * last position alone, beside that memory, of which memory_lengths count (null: all). With sequence.cache a memory is
 * kept in it; null, the one that is kept is used. config may be NULL; its name counts for nothing. */
MICA_API mica_value mica_translator_encode(mica_nn *nn, mica_value ids, const mica_model_config *config);
MICA_API mica_value mica_translator_decode(mica_nn *nn, mica_value ids, mica_value memory, mica_value memory_lengths,
                                           const mica_model_config *config);

/* The network "detector" answers for points of a picture, at strides 8, 16 and 32: (N, points, classes + 5), f32: a
 * logit a class, one of centre-ness, and the distances in pixels to the left, upper, right and lower side of the box
 * that the point is in (FCOS, Tian et al. 2019). Sides of pictures are multiples of 32. width: channels at stride 4, a
 * multiple of 8 (0: 32). */
#define MICA_DETECTOR_MULTIPLE 32
/* x, y and stride of each of its points (points may be NULL); returns how many there are. */
MICA_API int64_t mica_detector_points(int64_t height, int64_t width, float *points);

/* The names, in order; NULL behind the last. And a line about it. */
MICA_API const char *mica_model_name(size_t index);
MICA_API const char *mica_model_text(size_t index);
/* The family of the network at index, which is less than the count of names. */
MICA_API mica_model_family mica_model_family_of(size_t index);

/* A network for inference with a session of its own: input "inputs" (N, input...) of any N, f32 (i32 of the family
 * TOKENS), one output, logits.
 * Weights have their initial values (of seed 0) unless config is `blank`, to be replaced by mica_nn_load. */
typedef struct mica_model mica_model;
MICA_API MICA_CHECKED mica_status mica_model_create(mica_engine *engine, const char *name,
                                                    const mica_model_config *config, mica_model **model);
/* NULL is a no-op. */
MICA_API void mica_model_destroy(mica_model *model);
/* Belong to the model. */
MICA_API mica_nn *mica_model_network(mica_model *model);
MICA_API mica_session *mica_model_session(mica_model *model);

MICA_END_DECLS

#endif
