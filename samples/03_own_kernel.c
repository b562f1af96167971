/* labels: device single
 *
 * Lesson 3: a kernel of your own. The Mandelbrot set, computed by a kernel in OpenCL C that this program brings along,
 * and its mean by an op of Mica's, one behind the other on one queue and in the same memory.
 *
 *   build/bin/samples/03_own_kernel
 *
 * Exit status 0 when right, 1 when not, 77 where there is no device. */
#include <mica/mica.h>
#include <stdio.h>

#define COLUMNS 72
#define ROWS 28
#define LIMIT 200

/* A tensor is two parameters: a pointer and, behind it, the offset of its first element, for it may lie inside of
 * larger memory. The global size is padded to whole groups, hence the check of the bounds. */
static const char source[] =
    "__kernel void mandelbrot(__global float *steps, long steps_at, int columns, int rows, int limit) {\n"
    "  int column = get_global_id(0), row = get_global_id(1), i = 0;\n"
    "  float re = -2.2f + 3.0f * column / columns, im = -1.2f + 2.4f * row / rows, x = 0, y = 0;\n"
    "  if (column >= columns) return;\n"
    "  for (; i < limit && x * x + y * y < 4; i++) {\n"
    "    float next = x * x - y * y + re;\n"
    "    y = 2 * x * y + im;\n"
    "    x = next;\n"
    "  }\n"
    "  steps[steps_at + row * columns + column] = i;\n"
    "}\n";

static mica_status compute(mica_engine *engine, mica_tensor *steps, mica_tensor *sum) {
  mica_queue *queue = mica_engine_queue(engine);
  mica_kernel *mandelbrot = NULL;
  /* Compiled once: the next start of this program takes it from the cache on disk. */
  mica_status status = mica_kernel_build(engine, "mandelbrot", source, NULL, &mandelbrot);
  const mica_arg args[] = {MICA_ARG_TENSOR(steps), MICA_ARG_INT(COLUMNS), MICA_ARG_INT(ROWS), MICA_ARG_INT(LIMIT)};
  if (!status)
    status = mica_kernel_run(queue, mandelbrot, args, sizeof args / sizeof *args, (size_t[]){COLUMNS, ROWS, 1},
                             (size_t[]){32, 1, 1});
  /* Queued behind the kernel; nothing waits until results are asked for. */
  if (!status) status = mica_op_reduce(queue, MICA_REDUCTION_SUM, steps, 0, sum);
  return status;
}

static void print_picture(const float *steps) {
  for (int row = 0; row < ROWS; row++) {
    for (int column = 0; column < COLUMNS; column++) {
      float i = steps[row * COLUMNS + column];
      putchar(i >= LIMIT ? '#' : i > 12 ? '+' : i > 6 ? '.' : ' ');
    }
    putchar('\n');
  }
}

int main(void) {
  float steps_data[ROWS * COLUMNS], sum_data = 0;
  double want = 0;
  mica_engine *engine = NULL;
  mica_tensor *steps = NULL, *sum = NULL;

  mica_status status = mica_engine_create(NULL, &engine);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SHAPE(ROWS * COLUMNS), &steps);
  if (!status) status = mica_tensor_create(engine, MICA_F32, MICA_SCALAR, &sum);
  if (!status) status = compute(engine, steps, sum);
  if (!status) status = mica_tensor_download(mica_engine_queue(engine), steps, steps_data, sizeof steps_data);
  if (!status) status = mica_tensor_download(mica_engine_queue(engine), sum, &sum_data, sizeof sum_data);

  if (status) {
    fprintf(stderr, "%s\n", mica_error_message());
  } else {
    print_picture(steps_data);
    for (int i = 0; i < ROWS * COLUMNS; i++) want += steps_data[i];
    printf("%.2f steps a point, on %s\n", (double)sum_data / (ROWS * COLUMNS), mica_engine_device(engine)->name);
  }
  mica_tensor_destroy(sum);
  mica_tensor_destroy(steps);
  mica_engine_destroy(engine);
  return status == MICA_E_NO_DEVICE ? 77 : status || sum_data != (float)want || steps_data[0] != 1;
}
