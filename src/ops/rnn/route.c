/* Chooses between the kernels for CPUs and those for GPUs. */
#include "ops/rnn/rnn.h"

typedef struct problem {
  const mica__exec *exec;
  const mica__rnn_layer *layer;
} problem;

/* Declines unless the CPU kernels of both passes suit, because the backward pass reads what the forward pass has
 * saved. */
static const char *decline_cpu(const mica__task *task) {
  const problem *p = task->problem;
  const char *reason = mica__exec_declines(p->exec, task, &mica__rnn_forward_cpu_kernel);
  return reason ? reason : mica__exec_declines(p->exec, task, &mica__rnn_backward_cpu_kernel);
}

#define IMPL(pass, class)                                                                                              \
  static mica_status pass##_##class(mica_queue * queue, const mica__task *task) {                                      \
    const problem *p = task->problem;                                                                                  \
    (void)queue;                                                                                                       \
    return mica__rnn_##pass##_on_##class(p->exec, p->layer);                                                           \
  }                                                                                                                    \
  static const mica__impl impl_##pass##_##class = {.name = "rnn_" #class,                                              \
                                                   .kernel = &mica__rnn_##pass##_##class##_kernel,                     \
                                                   .decline = decline_##class,                                         \
                                                   .launch = pass##_##class}
#define decline_gpu NULL
IMPL(forward, cpu);
IMPL(forward, gpu);
IMPL(backward, cpu);
IMPL(backward, gpu);
static const mica__impl *const forward[] = {&impl_forward_cpu, &impl_forward_gpu, NULL};
static const mica__impl *const backward[] = {&impl_backward_cpu, &impl_backward_gpu, NULL};

mica_status mica__rnn_run(const mica__exec *exec, const mica__rnn_layer *layer, bool is_backward) {
  const problem p = {.exec = exec, .layer = layer};
  return mica__exec_choose(exec, is_backward ? backward : forward, &p, is_backward ? "rnn_grad" : "rnn");
}
