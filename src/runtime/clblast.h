/* runtime/clblast.h: matrix products by CLBlast, if Mica was built with it (MICA_WITH_CLBLAST). CLBlast makes its
 * OpenCL calls itself, so neither the table of calls nor a recorder sees them. */
#ifndef MICA_RUNTIME_CLBLAST_H
#define MICA_RUNTIME_CLBLAST_H

#include <mica/tensor.h>

typedef struct mica__clblast_operand {
  const mica_tensor *tensor;
  bool transposed; /* stored column by column; not allowed for d */
  int64_t ld;      /* elements from one stored row (or column) to the next */
  int64_t batch;   /* elements from one matrix to the next */
} mica__clblast_operand;

/* d[z] = alpha a[z] b[z] + beta d[z], row-major; all of one type, f32 or f64. */
typedef struct mica__clblast_gemm {
  int64_t m, n, k, batches;
  double alpha, beta;
  mica__clblast_operand a, b, d;
} mica__clblast_gemm;

bool mica__clblast_is_built(void);

/* Queues the product. May compile kernels, which can take long. Calls wait for each other, because CLBlast 1.5.3 is not
 * thread-safe. MICA_E_UNSUPPORTED on a recorder, on the null device, or if CLBlast refuses; MICA_E_BUILD if its kernels
 * do not compile. */
mica_status mica__clblast_run(mica_queue *queue, const mica__clblast_gemm *gemm);

/* If CLBlast ran on this engine, deletes all kernels that CLBlast caches, for any context. Such kernels would keep the
 * engine's context alive. */
void mica__clblast_forget(mica_engine *engine);

#endif
