/* labels: device single
 *
 * Products on the matrix unit of Intel's CPUs, as machine code: where the processor has no such unit, its instructions
 * are emulated here one by one, as they trap. So what cl/common/cpu/tiles.clh writes as bytes is decoded by someone
 * else, and the checks of the ops that use it compare the results. */
#define _GNU_SOURCE /* registers of a signal's context; NOLINT(bugprone-reserved-identifier): the system's own switch */
#include "ops/conv/conv.h"
#include "ops/select/check.h"
#include "ops/select/registry.h"
#include "runtime/host_cpu.h"
#include "support/check_main.h"
#include "support/engine.h"

#include <mica/mica.h>
#include <stdio.h>
#include <string.h>

#if defined __x86_64__ && defined __linux__
#include <cpuid.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <ucontext.h>

#define TILES 8
#define ROWS 16
#define ROW_BYTES 64

/* A thread's tiles. */
typedef struct unit {
  bool configured;
  uint8_t rows[TILES], bytes[TILES]; /* a row's */
  union {
    uint8_t byte[ROWS][ROW_BYTES];
    uint32_t word[ROWS][ROW_BYTES / 4];
  } tile[TILES];
} unit;
static _Thread_local unit own;
static atomic_size_t loads, stores, zeros, products[5], configured, released;

static float as_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static bool configure(const uint8_t *config) {
  if (config[0] != 1 || config[1] != 0) return false;
  memset(&own, 0, sizeof own);
  for (int t = 0; t < TILES; t++) {
    own.bytes[t] = config[16 + 2 * t];
    own.rows[t] = config[48 + t];
    if (config[17 + 2 * t] || own.bytes[t] > ROW_BYTES || own.rows[t] > ROWS) return false;
  }
  own.configured = true;
  configured++;
  return true;
}

static void move(int t, uint8_t *at, int64_t stride, bool store) {
  for (int row = 0; row < own.rows[t]; row++, at += stride) {
    if (store)
      memcpy(at, own.tile[t].byte[row], own.bytes[t]);
    else
      memcpy(own.tile[t].byte[row], at, own.bytes[t]);
  }
  if (!store)
    for (int row = 0; row < ROWS; row++)
      memset(own.tile[t].byte[row] + (row < own.rows[t] ? own.bytes[t] : 0), 0,
             ROW_BYTES - (size_t)(row < own.rows[t] ? own.bytes[t] : 0));
  store ? stores++ : loads++;
}

static int number(uint32_t word, int d, bool is_signed) {
  uint8_t byte = (uint8_t)(word >> 8 * d);
  return is_signed ? (int8_t)byte : byte;
}

/* C += A B of words: sums of bytes, or of pairs of bf16, of which even and odd ones are summed apart. */
static bool multiply(int c, int a, int b, int prefix, bool bf16) {
  if (own.bytes[a] != 4 * own.rows[b] || own.rows[a] != own.rows[c] || own.bytes[b] != own.bytes[c]) return false;
  for (int i = 0; i < own.rows[c]; i++)
    for (int j = 0; j < own.bytes[c] / 4; j++) {
      float even = 0, odd = 0;
      uint32_t sum = own.tile[c].word[i][j];
      for (int w = 0; w < own.rows[b]; w++) {
        uint32_t x = own.tile[a].word[i][w], y = own.tile[b].word[w][j];
        even = fmaf(as_float(x << 16), as_float(y << 16), even);
        odd = fmaf(as_float(x & 0xffff0000u), as_float(y & 0xffff0000u), odd);
        for (int d = 0; d < 4 && !bf16; d++) sum += (uint32_t)(number(x, d, prefix & 2) * number(y, d, prefix & 1));
      }
      if (bf16) {
        float total = as_float(sum) + (even + odd);
        memcpy(&sum, &total, sizeof sum);
      }
      own.tile[c].word[i][j] = sum;
    }
  products[bf16 ? 4 : prefix]++;
  return true;
}

/* One instruction: its length, or 0 for another. prefix: 0 none, 1 66, 2 f3, 3 f2. */
static size_t emulate(const uint8_t *code, const greg_t *registers) {
  if (code[0] != 0xc4 || code[1] != 0xe2 || code[2] & 0x84) return 0;
  int prefix = code[2] & 3, v = 15 - (code[2] >> 3 & 15), mode = code[4] >> 6, reg = code[4] >> 3 & 7, rm = code[4] & 7;
  if (code[3] == 0x49 && prefix == 0 && v == 0 && code[4] == 0) /* ldtilecfg (%rax) */
    return configure((const uint8_t *)registers[REG_RAX]) ? 5 : 0;
  if (!own.configured) return 0;
  if (code[3] == 0x49 && prefix == 0 && v == 0 && code[4] == 0xc0) { /* tilerelease */
    memset(&own, 0, sizeof own);
    released++;
    return 5;
  }
  if (code[3] == 0x49 && prefix == 3 && v == 0 && mode == 3 && rm == 0) { /* tilezero */
    memset(&own.tile[reg], 0, sizeof own.tile[reg]);
    zeros++;
    return 5;
  }
  if (code[3] == 0x4b && prefix >= 2 && v == 0 && mode == 0 && rm == 4 && code[5] == 0x10) { /* (%rax, %rdx) */
    move(reg, (uint8_t *)registers[REG_RAX], registers[REG_RDX], prefix == 2);
    return 6;
  }
  bool bf16 = code[3] == 0x5c && prefix == 2;
  if ((code[3] == 0x5e || bf16) && v < TILES && mode == 3) return multiply(reg, rm, v, prefix, bf16) ? 5 : 0;
  return 0;
}

/* Emulates the instruction and those of the unit right behind it, since a signal costs more than what they do. */
static void trapped(int signal_number, siginfo_t *info, void *context) {
  greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
  (void)info;
  size_t length = emulate((const uint8_t *)registers[REG_RIP], registers);
  if (!length) signal(signal_number, SIG_DFL); /* it comes again, and ends the process */
  for (; length; length = emulate((const uint8_t *)registers[REG_RIP], registers)) registers[REG_RIP] += (greg_t)length;
}

/* True if the processor has tiles: then only some of its instructions trap without the system's permission. */
static bool has_unit(void) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) && edx >> 24 & 1;
}

static bool amx_passed;
static void report(void *user, const mica_doctor_line *line) {
  (void)user;
  bool amx = strcmp(line->variant, "amx") == 0;
  amx_passed |= amx && line->status == MICA_OK;
  if (line->status != MICA_OK && line->status != MICA_E_UNSUPPORTED)
    printf("%s %s %s (%s): %s\n", line->op, line->kernel, line->variant, line->cases, line->message);
}

static void run_checks(const mica__op *op, mica__check_level level) {
  mica_doctor_summary summary = {0};
  amx_passed = false;
  ck_ok(mica__check_run(test_engine(), op, level, report, NULL, &summary));
  ck_assert_uint_eq(summary.failed, 0);
  ck_assert_msg(amx_passed, "%s took no tiles", op->name);
}

static void check_op(const char *name) {
  const mica__op *op = NULL;
  for (size_t i = 0; i < mica__op_count; i++)
    if (strcmp(mica__ops[i]->name, name) == 0) op = mica__ops[i];
  ck_assert_ptr_nonnull(op);
  run_checks(op, MICA__CHECK_SMALL);
}

/* The implementations of convolutions on tiles, over the whole grid. */
static mica_status check_tiles(mica__check *check) {
  MICA_TRY(mica__conv_check_impl(check, &mica__conv_cpu_tiles, MICA__CONV_FWD));
  MICA_TRY(mica__conv_check_impl(check, &mica__conv_cpu_tiles_n, MICA__CONV_FWD));
  MICA_TRY(mica__conv_check_impl(check, &mica__conv_cpu_tiles_n, MICA__CONV_BWD_DATA));
  return mica__conv_check_impl(check, &mica__conv_cpu_wgrad_tiles, MICA__CONV_BWD_FILTER);
}

START_TEST(convolutions_are_right) {
  static const mica__kernel_desc *const kernels[] = {&mica__conv_cpu_tiles_kernel, &mica__conv_cpu_tiles_n_kernel,
                                                     &mica__conv_cpu_tiles_filters_kernel,
                                                     &mica__conv_cpu_wgrad_tiles_kernel, NULL};
  const mica__op tiles = {.name = "conv on tiles", .kernels = kernels, .check = check_tiles};
  run_checks(&tiles, MICA__CHECK_FULL);
}
END_TEST

START_TEST(products_are_right) {
  check_op("gemm");
  check_op("int8_matmul");
  check_op("int8_conv");
  if (configured == 0) return; /* the processor has the unit */
  ck_assert_uint_eq(configured, released);
  ck_assert_uint_gt(loads, 0);
  ck_assert_uint_gt(stores, 0);
  ck_assert_uint_gt(zeros, 0);
  for (size_t i = 0; i < 5; i++) ck_assert_msg(products[i] > 0, "no product of kind %zu", i);
}
END_TEST

/* On a processor without the unit its instructions trap, and are emulated. */
static const char *lacks_tiles(void) {
  const mica_device_info *device = mica_engine_device(test_engine());
  if (!mica__host_has_tiles(device) && has_unit()) return "the processor has the unit, and this process may not use it";
  if (!mica__host_has_tiles(device)) {
    struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO};
    mica__host_assume_tiles(true);
    sigaction(SIGILL, &action, NULL);
  }
  const bool has = mica__host_has_tiles(device) && device->vector_bytes >= MICA__LONG_VECTOR;
  return has ? NULL : "assembly is for PoCL on a processor with AVX-512";
}

TESTS(BOTH(DEVICE, lacks_tiles()), NULL, NULL, products_are_right, convolutions_are_right)
#else
SKIPS("it is for x86-64")
#endif
