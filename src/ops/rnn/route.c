/* On which class of kernels a recurrent layer runs. */
#include "ops/rnn/rnn.h"

bool mica__rnn_on_cpu(const mica__exec *exec) {
  if (exec->classes) return exec->classes & MICA__ON_CPU;
  /* Not on a CPU either where one of these is declined or in quarantine. */
  return mica__exec_takes(exec, &mica__rnn_forward_cpu_kernel) &&
         mica__exec_takes(exec, &mica__rnn_backward_cpu_kernel);
}
