#include "run/puzzle.h"

#include "ir/graph.h"
#include "networks/puzzle.h"
#include "nn/nn.h"
#include "run/columns/categories.h"
#include "run/common_facts.h"
#include "run/common_values.h"
#include "run/composed.h"
#include "run/network.h"
#include "run/parts.h"
#include "run/ranks.h"
#include "run/run.h"
#include "run/state/parts.h"

#include <mica/nodes.h>

#define LOSS_SCALE 1024.0

mica_status mica__run_check_puzzle(const mica_run *run, int64_t blocks) {
  const mica_shape shape = mica_dataset_shape(run->parts->whole);
  mica_augment_config augment;
  if (!blocks) return MICA_OK;
  MICA_TRY(mica_augment_parse(mica__common_settings_of(run).augment, &augment));
  if (shape.rank != 3 || mica__run_categories(run))
    return mica__fail(MICA_E_INVALID, "puzzle mixes pictures, but the inputs of %s are not only pictures", run->data);
  if (blocks < 2 || shape.dim[1] % blocks || shape.dim[2] % blocks)
    return mica__fail(
        MICA_E_INVALID,
        "puzzle %lld: pictures of %lld x %lld pixels cannot be cut into that many blocks per side; choose "
        "a divisor of both from 2 on, or another --size",
        (long long)blocks, (long long)shape.dim[1], (long long)shape.dim[2]);
  if (augment.mixup > 0 || augment.cutmix > 0)
    return mica__fail(MICA_E_INVALID, "%s and puzzle both mix pictures; choose one",
                      augment.mixup > 0 ? "mixup" : "cutmix");
  if (mica__run_is_divided(run))
    return mica__fail(MICA_E_UNSUPPORTED, "puzzle does not work with a network that is divided among ranks");
  return MICA_OK;
}

void mica__run_puzzle(mica_nn *nn, const mica_run *run, const mica_batch_values *batch, int64_t outputs,
                      int64_t blocks) {
  if (!blocks) return;
  const char *input = mica__common_facts_of(run).input_column, *label = mica__common_facts_of(run).label_column;
  mica__puzzle_batch b = {mica_batch_value(batch, input), mica_batch_value(batch, label), outputs};
  mica_objective clean = {0};
  mica_value gradient;
  mica__nn_first_pass_begin(nn);
  run->task->head->step(nn, run, mica__run_network(run, nn, mica__run_inputs(run, batch), outputs), batch, &clean);
  mica__nn_first_pass_end(nn);
  if (!clean.loss.graph) return;
  /* Scales the loss, because 16-bit types would round gradients of single pixels to 0. */
  const mica_status status = mica_gradients(mica_affine(clean.loss, LOSS_SCALE, 0), &b.x, 1, &gradient);
  if (status != MICA_OK) {
    mica__graph_fail_with(nn->graph, status);
    return;
  }
  mica__puzzle_mix(gradient, mica__puzzle_share(nn, (uint64_t)mica__common_settings_of(run).seed), blocks, &b);
  mica__batch_replace(batch, input, b.x);
  mica__batch_replace(batch, label, b.y);
}
