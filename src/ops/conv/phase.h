/* ops/conv/phase.h: phases. Most kernels compute a pass phase by phase.
 *
 * Forward is one phase; backward filter uses the same description. Backward data divides the pixels of x by the
 * remainder of their position modulo the stride, and has one phase for each remainder that occurs, because the same
 * taps contribute to all pixels of a phase. PHASE_PARAMS of cl/conv/problem.clh has the formula. */
#ifndef MICA_OPS_CONV_PHASE_H
#define MICA_OPS_CONV_PHASE_H

#include "ops/conv/conv.h"

typedef struct mica__conv_phase {
  int64_t n, groups, c, k; /* c: channels of the source per group, k: of the result */
  int64_t in[3], taps[3], first[3], delta[3], step[3], out[3], at[3], full[3], out_stride[3];
  /* Weight (g, k, c, t) is element w_at + g w_group + k w_k + c w_c + sum t_i w_tap[i] of tensor w. */
  int64_t w_at, w_group, w_k, w_c, w_tap[3];
} mica__conv_phase;

/* mica__conv_phase_count gives the number of phases of a pass, mica__conv_phase_at the phase with this index. */
int64_t mica__conv_phase_count(const mica__conv *conv);
mica__conv_phase mica__conv_phase_at(const mica__conv *conv, int64_t index);
/* The only phase of a forward pass with these dims. Some kernels of backward passes take it, too (cpu/direct_n.c). */
mica__conv_phase mica__conv_phase_forward(const mica__conv_dims *dims);
/* A phase with the source and result channels of its weights exchanged. */
mica__conv_phase mica__conv_phase_transposed(mica__conv_phase phase);
/* The phase without the taps that read only padding. */
mica__conv_phase mica__conv_phase_used(mica__conv_phase phase);

/* Phases that one launch on a GPU computes together (PHASES_PARAMS); they differ only in height and width. */
#define MICA__CONV_TOGETHER 4
typedef struct mica__conv_phases {
  mica__conv_phase list[MICA__CONV_TOGETHER]; /* from mica__conv_phase_used; the phase with most taps comes first */
  int64_t begins[MICA__CONV_TOGETHER], numbers[MICA__CONV_TOGETHER]; /* the phases' values in phase_begins
                                                                      * (cl/conv/problem.clh), set by the launch */
  int count;
} mica__conv_phases;

/* Returns the phases from number *index on that run together. Phases without pixels are left out, so the result may
 * have no phase. Moves *index to the first phase after them. */
mica__conv_phases mica__conv_phases_at(const mica__conv *conv, int64_t *index);
/* The multiply-adds of the phases as a share of all multiply-adds of the pass. */
double mica__conv_phases_share(const mica__conv *conv, const mica__conv_phases *phases);
/* Packs PHASES_PARAMS. */
void mica__conv_push_phases(mica__launch *launch, const mica__conv_phases *phases);
/* Packs WEIGHTS_FIRST and WEIGHTS_STRIDES. */
void mica__conv_push_weights(mica__launch *launch, const mica__conv_phases *phases);

/* mica__conv_push_phase packs PHASE_PARAMS, mica__conv_push_own only their phase_own. */
void mica__conv_push_phase(mica__launch *launch, const mica__conv_phase *phase);
void mica__conv_push_own(mica__launch *launch, const mica__conv_phase *phase);
/* Packs WEIGHTS_STRIDES. count: elements of the tensor from the phase's first weight on; 0 if the kernel does not use
 * this count. */
void mica__conv_push_strides(mica__launch *launch, const mica__conv_phase *phase, int64_t count);

/* The operand that taps read: x forward, else y. For a filter gradient it is y, too, because Winograd's method on GPUs
 * transforms y, as backward data does. */
const mica_tensor *mica__conv_source(const mica__conv *conv);

#endif
