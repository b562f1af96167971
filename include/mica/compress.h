/* mica/compress.h: smaller networks that answer alike. All of it works through the hooks of layers (mica/nn.h): no
 * graph is changed, and what comes out is an ordinary file of weights.
 *
 * Calibrating a trained network:
 *
 *   mica_calibration_create(&calibration);
 *   mica_nn_create(graph, &(mica_nn_config){.hook = mica_calibration_hook, .hook_user = calibration}, &nn);
 *   mica_value z = network(nn, x);                                  the network with its float weights
 *   mica_calibration_values(calibration, &values, &count);          outputs of the session, behind z
 *   ... after each of some runs: mica_calibration_note(calibration, session, 1);
 *
 * Threads: an object here is used by one thread at a time. */
#ifndef MICA_COMPRESS_H
#define MICA_COMPRESS_H

#include <mica/nn.h>
#include <mica/session.h>

MICA_BEGIN_DECLS

/* --- calibration --- */

/* What layers are given, measured over runs of the float network: for each layer with a weight a histogram of its
 * input, means of the input's channels, and which batch norm follows it alone. */
typedef struct mica_calibration mica_calibration;

/* name, text: how a range is chosen from a histogram.
 *
 * mse         least squared error of what is rounded and cut off
 * minmax      all that was seen
 * percentile  all but a share at each end
 * entropy     least divergence of the quantised from the measured distribution (Migacz 2017) */
#define MICA_CALIBRATION_METHOD_LIST(X)                                                                                \
  X(MSE, "mse")                                                                                                        \
  X(MINMAX, "minmax")                                                                                                  \
  X(PERCENTILE, "percentile")                                                                                          \
  X(ENTROPY, "entropy")

typedef enum mica_calibration_method {
#define MICA_CALIBRATION_METHOD_ENUM(name, text) MICA_CALIBRATION_METHOD_##name,
  MICA_CALIBRATION_METHOD_LIST(MICA_CALIBRATION_METHOD_ENUM)
#undef MICA_CALIBRATION_METHOD_ENUM
} mica_calibration_method;

/* "mse"; NULL for a value that is none, so that a count from 0 lists them. */
MICA_API const char *mica_calibration_method_name(size_t method);

MICA_API MICA_CHECKED mica_status mica_calibration_create(mica_calibration **calibration);
/* NULL is a no-op. */
MICA_API void mica_calibration_destroy(mica_calibration *calibration);

/* A mica_nn_hook, of one network that infers. It returns every value as it is. */
MICA_API mica_value mica_calibration_hook(void *calibration, mica_nn *nn, mica_nn_point point, const char *layer,
                                          mica_value value);
/* What a session has to compute for the calibration, f32, once the network is built and before its session: outputs
 * behind the caller's own. They are the calibration's. MICA_E_STATE: the hook was not called. */
MICA_API MICA_CHECKED mica_status mica_calibration_values(mica_calibration *calibration, const mica_value **values,
                                                          size_t *count);
/* Adds the run that the session did last; its outputs from `first` on are the values. Waits for the run. */
MICA_API MICA_CHECKED mica_status mica_calibration_note(mica_calibration *calibration, mica_session *session,
                                                        size_t first);

typedef struct mica_calibration_layer {
  const char *name; /* with its scopes, without name_prefix */
  mica_shape weight;
  const char *norm;    /* the batch norm that takes the layer's result and nothing else does; NULL: none */
  bool has_input;      /* embeddings have none */
  bool finite;         /* all that was seen */
  double count;        /* elements of the input that were seen */
  double low, high;    /* of these */
  bool never_negative; /* by what makes it, a ReLU, whatever was seen */
} mica_calibration_layer;

/* In the order in which the network was built. NULL behind the last. */
MICA_API const mica_calibration_layer *mica_calibration_layer_at(const mica_calibration *calibration, size_t index);
/* The range for 2^bits steps that the method chooses for a layer's input, 0 included, and the ratio of signal to noise
 * to be expected, in decibel. percentile: the share kept, 0: 0.9999. MICA_E_STATE: nothing was seen; MICA_E_NUMERIC:
 * what was seen is not finite. */
MICA_API MICA_CHECKED mica_status mica_calibration_range(const mica_calibration *calibration, size_t layer,
                                                         mica_calibration_method method, double percentile,
                                                         int32_t bits, double *low, double *high, double *decibel);

MICA_END_DECLS

#endif
