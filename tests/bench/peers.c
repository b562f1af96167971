#include "bench/peers.h"

#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef BENCH_WITH_OPENBLAS
#include <cblas.h>
#ifdef BENCH_OPENBLAS_OF_SCIPY
#define cblas_sgemm scipy_cblas_sgemm
#define openblas_get_config scipy_openblas_get_config
#define openblas_get_corename scipy_openblas_get_corename
#endif

/* The second word of "OpenBLAS 0.3.21 DYNAMIC_ARCH ...". */
static const char *openblas_version(void) {
  static char text[32];
  if (sscanf(openblas_get_config(), "OpenBLAS %31s", text) != 1) strcpy(text, "unknown");
  return text;
}

static bool run_openblas(const peer_gemm *g, int times) {
  size_t a = (size_t)g->m * (size_t)g->k, b = (size_t)g->k * (size_t)g->n, d = (size_t)g->m * (size_t)g->n;
  for (int i = 0; i < times; i++)
    for (size_t z = 0; z < (size_t)g->batches; z++)
      cblas_sgemm(CblasRowMajor, g->a_transposed ? CblasTrans : CblasNoTrans,
                  g->b_transposed ? CblasTrans : CblasNoTrans, g->m, g->n, g->k, 1, g->host_a + z * a,
                  g->a_transposed ? g->m : g->k, g->host_b + z * b, g->b_transposed ? g->k : g->n, 0, g->host_d + z * d,
                  g->n);
  return true;
}
#endif

#ifdef MICA_WITH_CLBLAST
#include <clblast_c.h>

static const char *clblast_version(void) { return *BENCH_CLBLAST_VERSION ? BENCH_CLBLAST_VERSION : "unknown"; }

static bool run_clblast(const peer_gemm *g, int times) {
  cl_command_queue queue = mica_queue_opencl(g->queue);
  size_t a_at = 0, b_at = 0, d_at = 0, m = (size_t)g->m, n = (size_t)g->n, k = (size_t)g->k;
  cl_mem a = mica_tensor_opencl(g->a, &a_at), b = mica_tensor_opencl(g->b, &b_at), d = mica_tensor_opencl(g->d, &d_at);
  CLBlastTranspose ta = g->a_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
  CLBlastTranspose tb = g->b_transposed ? CLBlastTransposeYes : CLBlastTransposeNo;
  size_t lda = g->a_transposed ? m : k, ldb = g->b_transposed ? k : n, size = sizeof(float);
  for (int i = 0; i < times; i++) {
    CLBlastStatusCode status =
        g->batches == 1 ? CLBlastSgemm(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, a_at / size, lda, b, b_at / size,
                                       ldb, 0, d, d_at / size, n, &queue, NULL)
                        : CLBlastSgemmStridedBatched(CLBlastLayoutRowMajor, ta, tb, m, n, k, 1, a, a_at / size, lda,
                                                     m * k, b, b_at / size, ldb, k * n, 0, d, d_at / size, n, m * n,
                                                     (size_t)g->batches, &queue, NULL);
    if (status != CLBlastSuccess) return false;
  }
  return mica_queue_finish(g->queue) == MICA_OK;
}
#endif

const peer bench_peers[] = {
#ifdef BENCH_WITH_OPENBLAS
    {.name = "openblas", .version = openblas_version, .run = run_openblas, .rest = 0.045},
#endif
#ifdef MICA_WITH_CLBLAST
    {.name = "clblast", .version = clblast_version, .run = run_clblast},
#endif
    {.name = NULL}};

/* OpenBLAS takes a processor that is newer than itself for the oldest it knows (Prescott, without AVX). Its kernels for
 * the instructions that are there can be asked for, but only before it is loaded. */
void bench_peers_prepare(char **argv) {
#if defined(BENCH_WITH_OPENBLAS) && defined(OPENBLAS_VERSION) && defined(__x86_64__)
  static const char *const old[] = {"Prescott", "Core2", "Nehalem", "Penryn", "Dunnington", "Atom"};
  bool fits = !__builtin_cpu_supports("avx2");
  for (size_t i = 0; i < sizeof old / sizeof *old; i++)
    if (!fits && !getenv("OPENBLAS_CORETYPE") && strcmp(openblas_get_corename(), old[i]) == 0) {
      setenv("OPENBLAS_CORETYPE", __builtin_cpu_supports("avx512vl") ? "SkylakeX" : "Haswell", 1);
      execv("/proc/self/exe", argv);
    }
#endif
  (void)argv;
}
