/* compress/quantize.h: which layers are quantised and how, and steps of weights. */
#ifndef MICA_COMPRESS_QUANTIZE_H
#define MICA_COMPRESS_QUANTIZE_H

#include "compress/calibration.h"

/* The key of a quantised file's metadata, its value the bits of weights, and the beginning of keys that name the layer
 * whose quantised input another one takes: "mica.input.LAYER". */
#define MICA__QUANTIZED "mica.quantized"
#define MICA__SAME_INPUT "mica.input."

/* What becomes of a layer. */
typedef struct mica__quantize_choice {
  const mica__layer *layer;
  int32_t bits; /* of the weight; 0: it stays float */
  bool input;   /* its input is quantised too */
  int64_t group;
  const char *why; /* what is not as was asked, and why; NULL: all is */
} mica__quantize_choice;

typedef struct mica__quantize_choices {
  mica__quantize_choice *list;
  size_t count;
  mica_quantize_settings settings; /* with defaults filled in */
} mica__quantize_choices;

/* Checks the settings and chooses for all layers. The list is the caller's to free. */
mica_status mica__choose_layers(const mica_calibration *calibration, const mica_quantize_settings *settings,
                                mica__quantize_choices *choices);

/* True for a layer whose measured inputs were 0 alone, as behind a dead ReLU: they have no range. */
bool mica__layer_is_idle(const mica_calibration_layer *layer);

/* Elements of a row of an output. */
int64_t mica__row_of(mica_shape weight);
/* The largest step: 127 or 7. Steps are symmetric. */
static inline double mica__most_step(int32_t bits) { return bits == 8 ? 127 : 7; }
/* The step for so many numbers: of 8 bits by the largest one, of 4 that of the least squared error. 0 where all are 0;
 * not finite where one is not. */
double mica__weight_step(const float *w, int64_t count, int32_t bits);
/* The nearest step in range. */
int32_t mica__rounded(double x, double step, int32_t bits);

/* "layer.what" on the heap; NULL when memory is short. */
char *mica__part_of(const char *layer, const char *what);

/* Float weights by name: a file's, or where that is NULL a list's. */
typedef struct mica__float_weights {
  const mica_safetensors *file;
  const mica_safetensors_entry *list;
  size_t count;
} mica__float_weights;

/* The layer's tensor of a file as f32, the caller's to free. NULL stands for one that is not there; another shape is
 * MICA_E_FORMAT. */
mica_status mica__read_floats(const mica__float_weights *file, const char *layer, const char *what, mica_shape shape,
                              float **out);

/* The factor and the term that the batch norm behind a layer makes of its statistics, one a channel, the caller's to
 * free. */
mica_status mica__read_norm(const mica__float_weights *file, const mica__layer *layer, double **factor, double **term);

/* Tensors of a file to be written; those of `borrowed` are entries of another file, others own name and data. */
typedef struct mica__tensors {
  mica_safetensors_entry *list;
  bool *owned;
  size_t count, capacity;
} mica__tensors;

/* Takes name and data over, also where it fails; either may be NULL for want of memory. */
mica_status mica__tensors_add(mica__tensors *tensors, char *name, mica_dtype dtype, mica_shape shape, void *data,
                              size_t bytes);
mica_status mica__tensors_borrow(mica__tensors *tensors, const mica_safetensors_entry *entry);
const mica_safetensors_entry *mica__tensors_find(const mica__tensors *tensors, const char *name);
bool mica__tensors_have(const mica__tensors *tensors, const char *name);
void mica__tensors_free(mica__tensors *tensors);

/* The tensors that mica_quantize_weights writes of the layers of the choices, and its report (may be NULL). */
mica_status mica__quantize_tensors(const mica_calibration *calibration, const mica__quantize_choices *choices,
                                   const mica__float_weights *given, mica__tensors *tensors, mica_report *report);

#endif
