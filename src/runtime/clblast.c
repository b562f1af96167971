#include "runtime/clblast.h"

#include "base/error.h"
#include "runtime/buffer.h"
#include "runtime/lost.h"
#include "runtime/tensor.h"

#ifdef MICA_WITH_CLBLAST
#include <clblast_c.h>

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

bool mica__clblast_is_built(void) { return true; }

/* Defines call_S, for float, or call_D, for double. They differ only in the types of their scalars. */
#define DEFINE_CALL(T, scalar)                                                                                         \
  static CLBlastStatusCode call_##T(const mica__clblast_gemm *g, cl_command_queue *queue) {                            \
    const mica__clblast_operand *all[] = {&g->a, &g->b, &g->d};                                                        \
    CLBlastTranspose op[3];                                                                                            \
    cl_mem memory[3];                                                                                                  \
    size_t at[3], ld[3], step[3];                                                                                      \
    for (int i = 0; i < 3; i++) {                                                                                      \
      op[i] = all[i]->transposed ? CLBlastTransposeYes : CLBlastTransposeNo;                                           \
      memory[i] = all[i]->tensor->buffer->memory;                                                                      \
      at[i] = (size_t)all[i]->tensor->first, ld[i] = (size_t)all[i]->ld, step[i] = (size_t)all[i]->batch;              \
    }                                                                                                                  \
    size_t m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;                                                       \
    if (g->batches == 1)                                                                                               \
      return CLBlast##T##gemm(CLBlastLayoutRowMajor, op[0], op[1], m, n, k, (scalar)g->alpha, memory[0], at[0], ld[0], \
                              memory[1], at[1], ld[1], (scalar)g->beta, memory[2], at[2], ld[2], queue, NULL);         \
    return CLBlast##T##gemmStridedBatched(CLBlastLayoutRowMajor, op[0], op[1], m, n, k, (scalar)g->alpha, memory[0],   \
                                          at[0], ld[0], step[0], memory[1], at[1], ld[1], step[1], (scalar)g->beta,    \
                                          memory[2], at[2], ld[2], step[2], (size_t)g->batches, queue, NULL);          \
  }
DEFINE_CALL(S, float)
DEFINE_CALL(D, double)

static mica_status check(mica_engine *engine, CLBlastStatusCode code) {
  if (code == CLBlastSuccess) return MICA_OK;
  MICA_TRY(mica__engine_ask(engine, (cl_int)code, "CLBlast"));
  if (code == CLBlastOpenCLBuildProgramFailure) return mica__fail(MICA_E_BUILD, "CLBlast cannot compile its kernels");
  if (code == CLBlastTempBufferAllocFailure || code == CLBlastOpenCLOutOfResources ||
      code == CLBlastOpenCLOutOfHostMemory)
    return mica__cl_check((cl_int)code, "CLBlast");
  return mica__fail(MICA_E_UNSUPPORTED, "CLBlast failed with status %d", (int)code);
}

mica_status mica__clblast_run(mica_queue *queue, const mica__clblast_gemm *gemm) {
  mica_engine *engine = queue->engine;
  const mica_tensor *const tensors[] = {gemm->a.tensor, gemm->b.tensor, gemm->d.tensor};
  if (!queue->handle) return mica__fail(MICA_E_UNSUPPORTED, "CLBlast cannot run on a queue that records launches");
  if (engine->api == mica__cl_null()) return mica__fail(MICA_E_UNSUPPORTED, "CLBlast needs an OpenCL device");
  if (mica__cl_is_forked()) return mica__cl_check(MICA__CL_FORKED, "CLBlast");
  MICA_TRY(mica__engine_alive(engine));
  atomic_store(&engine->has_run_clblast, true);
  cl_command_queue handle = queue->handle;
  pthread_mutex_lock(&one_at_a_time);
  pthread_mutex_lock(&queue->lock);
  mica_status status = check(engine, gemm->d.tensor->dtype == MICA_F64 ? call_D(gemm, &handle) : call_S(gemm, &handle));
  for (size_t i = 0; i < sizeof tensors / sizeof *tensors; i++) mica__buffer_use(tensors[i]->buffer, queue);
  mica__tensor_changed(gemm->d.tensor);
  atomic_fetch_add(&queue->submitted, 1);
  pthread_mutex_unlock(&queue->lock);
  pthread_mutex_unlock(&one_at_a_time);
  if (status == MICA_OK) atomic_fetch_add(&engine->stats.launches, 1);
  return status;
}

void mica__clblast_forget(mica_engine *engine) {
  if (!atomic_load(&engine->has_run_clblast) || mica__cl_is_forked()) return;
  pthread_mutex_lock(&one_at_a_time);
  CLBlastClearCache();
  pthread_mutex_unlock(&one_at_a_time);
}

#else

bool mica__clblast_is_built(void) { return false; }

mica_status mica__clblast_run(mica_queue *queue, const mica__clblast_gemm *gemm) {
  (void)queue, (void)gemm;
  return mica__fail(MICA_E_UNSUPPORTED, "Mica was built without CLBlast");
}

void mica__clblast_forget(mica_engine *engine) { (void)engine; }

#endif
