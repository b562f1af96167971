/* ops/conv/window.h: what kernels of the CPU class compute of a convolution: a window that slides over a source. The
 * formula stands in cl/conv/window.clh. Forward is one window, whose operands backward filter has too; backward data is
 * one for each residue of the stride. */
#ifndef MICA_OPS_CONV_WINDOW_H
#define MICA_OPS_CONV_WINDOW_H

#include "ops/conv/conv.h"

typedef struct mica__conv_window {
  int64_t n, groups, c, k; /* c: channels of the source in a group, k: of the result */
  int64_t in[3], taps[3], first[3], delta[3], step[3], out[3], at[3], full[3], spread[3];
  /* Weight (g, k, c, t) is element w_at + g w_group + k w_k + c w_c + sum t_i w_tap[i] of the tensor w. */
  int64_t w_at, w_group, w_k, w_c, w_tap[3];
} mica__conv_window;

/* How many windows a pass takes, and one of them. */
int64_t mica__conv_windows(const mica__conv *conv);
mica__conv_window mica__conv_window_at(const mica__conv *conv, int64_t index);
/* That of the forward pass, whatever the pass; and one whose weights are packed for its result's channels as source. */
mica__conv_window mica__conv_window_forward(const mica__conv_dims *dims);
mica__conv_window mica__conv_window_turned(mica__conv_window window);
/* The same without taps that meet nothing but padding. */
mica__conv_window mica__conv_window_used(mica__conv_window window);

/* WINDOW_PARAMS; and of these window_taps alone. */
void mica__conv_push_window(mica__launch *launch, const mica__conv_window *window);
void mica__conv_push_taps(mica__launch *launch, const mica__conv_window *window);

/* What the window reads: x forward, y backward. */
const mica_tensor *mica__conv_source(const mica__conv *conv);

/* The weights of a window packed for tiles of `rows` rows, in blocks of so many channels
 * (cl/conv/cpu/pack_weights.cl): how
 * many floats, and the launch that writes them into `packed` from element `first` on. */
int64_t mica__conv_packed_count(const mica__conv_window *window, int64_t rows);
mica_status mica__conv_cpu_pack_weights(mica_queue *queue, const mica__conv *conv, const mica__conv_window *window,
                                        int32_t rows, int64_t block, mica_buffer *packed, int64_t first);

#endif
