/* compress/quantize.h: which layers are quantised and how, and the steps of their weights. */
#ifndef MICA_COMPRESS_QUANTIZE_H
#define MICA_COMPRESS_QUANTIZE_H

#include "base/shared.h"
#include "compress/calibration.h"

/* Metadata keys of a quantised file. The value of "mica.quantized" is the number of bits that the settings ask for;
 * some weights may have 8 bits when it is 4. The value of "mica.input.LAYER" is the name of the layer whose quantised
 * input LAYER uses. */
#define MICA__QUANTIZED "mica.quantized"
#define MICA__SAME_INPUT "mica.input."

/* How a layer is quantised. */
typedef struct mica__quantize_choice {
  const mica__layer *layer;
  int32_t bits; /* of the weight; 0: it stays float */
  bool input;   /* the input is quantised too */
  int64_t group;
  const char *why; /* how and why it deviates from the settings; NULL: it does not */
} mica__quantize_choice;

typedef struct mica__quantize_choices {
  mica__quantize_choice *list;
  size_t count;
  mica_quantize_settings settings; /* with defaults filled in */
} mica__quantize_choices;

/* Checks the settings and chooses for all layers. The caller frees the list. */
MICA__SHARED mica_status mica__choose_layers(const mica_calibration *calibration,
                                             const mica_quantize_settings *settings, mica__quantize_choices *choices);

/* True if all measured inputs of a layer were 0, for example after a dead ReLU; then it has no range. */
bool mica__layer_is_idle(const mica_calibration_layer *layer);

/* Number of weight elements per output. */
int64_t mica__row_of(mica_shape weight);
/* The largest quantised weight: 127 for 8 bits, 7 for 4 bits. The smallest is its negative. */
static inline double mica__most_step(int32_t bits) { return bits == 8 ? 127 : 7; }
/* Returns the step for these numbers. With 8 bits, it follows from the largest magnitude; with 4 bits, it is the step
 * with the least squared error among several tried. Returns 0 if all numbers are 0, and a value that is not finite if a
 * number is not finite. */
double mica__weight_step(const float *w, int64_t count, int32_t bits);
/* x / step rounded to the nearest integer, and limited to what `bits` bits can hold (mica__most_step); 0 if step is
 * 0. */
int32_t mica__rounded(double x, double step, int32_t bits);

/* Allocates "layer.what"; NULL if memory is short. */
MICA__SHARED char *mica__part_of(const char *layer, const char *what);

/* Float weights by name: from a file or, if it is NULL, from a list. */
typedef struct mica__float_weights {
  const mica_safetensors *file;
  const mica_safetensors_entry *list;
  size_t count;
} mica__float_weights;

/* Reads the tensor "layer.what" as f32. The caller frees *out, which is NULL if there is no such tensor. MICA_E_FORMAT:
 * it is not floating or has another shape. */
mica_status mica__read_floats(const mica__float_weights *file, const char *layer, const char *what, mica_shape shape,
                              float **out);

/* The batch norm after a layer as y = factor * x + term, per channel, computed from its statistics and, if the file has
 * them, its weight and bias. The caller frees both arrays. MICA_E_FORMAT: the statistics are missing, or a part of the
 * norm is not floating or has another shape. */
mica_status mica__read_norm(const mica__float_weights *file, const mica__layer *layer, double **factor, double **term);

/* Tensors of a file to write. If owned[i] is false, name and data of list[i] point into another file; otherwise they
 * are freed with the list. */
typedef struct mica__tensors {
  mica_safetensors_entry *list;
  bool *owned;
  size_t count, capacity;
} mica__tensors;

/* Takes over name and data, also if it fails. Either may be NULL, which counts as a lack of memory. */
mica_status mica__tensors_add(mica__tensors *tensors, char *name, mica_dtype dtype, mica_shape shape, void *data,
                              size_t bytes);
mica_status mica__tensors_borrow(mica__tensors *tensors, const mica_safetensors_entry *entry);
MICA__SHARED const mica_safetensors_entry *mica__tensors_find(const mica__tensors *tensors, const char *name);
bool mica__tensors_have(const mica__tensors *tensors, const char *name);
MICA__SHARED void mica__tensors_free(mica__tensors *tensors);

/* Makes the tensors that mica_quantize_weights writes for the chosen layers, and adds a table of the layers to the
 * report, which may be NULL. */
MICA__SHARED mica_status mica__quantize_tensors(const mica_calibration *calibration,
                                                const mica__quantize_choices *choices, const mica__float_weights *given,
                                                mica__tensors *tensors, mica_report *report);

#endif
