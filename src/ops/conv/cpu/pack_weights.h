/* ops/conv/cpu/pack_weights.h: the weights of a phase packed for tiles of `rows` rows (cl/conv/cpu/pack_weights.cl). */
#ifndef MICA_OPS_CONV_CPU_PACK_WEIGHTS_H
#define MICA_OPS_CONV_CPU_PACK_WEIGHTS_H

#include "ops/conv/phase.h"

/* mica__conv_packed_count is the number of floats of a phase's weights, packed for tiles of `rows` rows.
 * mica__conv_cpu_pack_weights launches their packing, in blocks of `block` channels (cl/conv/cpu/pack_weights.cl),
 * into `packed` from element `first` on. */
int64_t mica__conv_packed_count(const mica__conv_phase *phase, int64_t rows);
mica_status mica__conv_cpu_pack_weights(mica_queue *queue, const mica__conv *conv, const mica__conv_phase *phase,
                                        int32_t rows, int64_t block, mica_buffer *packed, int64_t first);
/* True if the kernel that packs is in quarantine (ops/select/choice.h) on the engine's device: its results were found
 * wrong there, or it could not be compiled. */
bool mica__conv_packing_is_bad(mica_engine *engine);
/* mica__conv_cpu_launch_packed packs the phase's weights in one block into a workspace, for tiles of `rows` rows,
 * and then calls `launch` with this workspace. */
typedef mica_status mica__conv_packed_launch(mica_queue *queue, const mica__task *task, mica_buffer *packed);
mica_status mica__conv_cpu_launch_packed(mica_queue *queue, const mica__task *task, const mica__conv_phase *phase,
                                         int32_t rows, mica__conv_packed_launch *launch);

#endif
