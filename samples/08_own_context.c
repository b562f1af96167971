/* labels: device
 *
 * Lesson 8: Mica inside a program that has its own OpenCL objects. The program's context, queue and memory are used as
 * they are, without a copy: y = softmax(x) in the program's own cl_mem, between kernels and transfers of its own.
 *
 *   build/bin/samples/08_own_context
 *
 * Exit status 0 when right, 1 when not, 77 where there is no device. */
#include <math.h>
#include <mica/mica.h>
#include <mica/opencl.h>
#include <stdio.h>

#define ROWS 4
#define COLUMNS 1000
#define BYTES (sizeof(float) * ROWS * COLUMNS)

/* The program's own OpenCL objects. */
typedef struct program {
  cl_context context;
  cl_device_id device;
  cl_command_queue queue;
  cl_mem x, y;
} program;

static bool make_program(program *p) {
  cl_platform_id platforms[16];
  cl_uint count = 0;
  cl_int error = CL_SUCCESS;
  if (clGetPlatformIDs(16, platforms, &count) != CL_SUCCESS) return false;
  for (cl_uint i = 0; i < count && i < 16 && !p->device; i++)
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &p->device, NULL) != CL_SUCCESS) p->device = NULL;
  if (!p->device) return false;
  p->context = clCreateContext(NULL, 1, &p->device, NULL, NULL, &error);
  if (p->context) p->queue = clCreateCommandQueue(p->context, p->device, 0, &error);
  if (p->queue) p->x = clCreateBuffer(p->context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
  if (p->x) p->y = clCreateBuffer(p->context, CL_MEM_READ_WRITE, BYTES, NULL, &error);
  return p->y != NULL;
}

static void destroy_program(program *p) {
  if (p->y) clReleaseMemObject(p->y);
  if (p->x) clReleaseMemObject(p->x);
  if (p->queue) clReleaseCommandQueue(p->queue);
  if (p->context) clReleaseContext(p->context);
}

/* Makes a tensor of the program's memory. The tensor keeps a reference, so that the buffer's handle can go. */
static mica_status wrap(mica_engine *engine, cl_mem memory, mica_tensor **tensor) {
  mica_buffer *buffer = NULL;
  mica_status status = mica_buffer_wrap_opencl(engine, memory, &buffer);
  if (!status) status = mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE(ROWS, COLUMNS), tensor);
  mica_buffer_destroy(buffer);
  return status;
}

/* Queues y = softmax(x) on the program's own queue, in order with the program's own work. The first output of the
 * session is in Mica's memory, from where an op copies it to the program's. */
static mica_status run_softmax(const program *p) {
  mica_engine *engine = NULL;
  mica_graph *graph = NULL;
  mica_session *session = NULL;
  mica_tensor *x = NULL, *y = NULL;
  mica_value out;
  mica_status status = mica_engine_create_from_opencl(p->context, p->device, p->queue, NULL, &engine);
  if (!status) status = wrap(engine, p->x, &x);
  if (!status) status = wrap(engine, p->y, &y);
  if (!status) status = mica_graph_create(&graph);
  if (!status) {
    out = mica_softmax(mica_input(graph, "x", MICA_F32, MICA_SHAPE(ROWS, COLUMNS)), 1);
    status = mica_session_create(engine, graph, &out, 1, NULL, &session);
  }
  if (!status) status = mica_session_run(session, mica_engine_queue(engine), &(mica_feed){"x", x}, 1);
  if (!status) status = mica_op_copy(mica_engine_queue(engine), mica_session_output(session, 0), y);
  if (status) fprintf(stderr, "%s\n", mica_error_message());
  mica_session_destroy(session);
  mica_graph_destroy(graph);
  mica_tensor_destroy(y);
  mica_tensor_destroy(x);
  mica_engine_destroy(engine); /* the context, the queue and the memory stay the program's */
  return status;
}

int main(void) {
  static float x[ROWS * COLUMNS], y[ROWS * COLUMNS];
  program p = {0};
  if (!make_program(&p)) {
    printf("SKIP: no OpenCL device\n");
    destroy_program(&p);
    return 77;
  }
  for (int i = 0; i < ROWS * COLUMNS; i++) x[i] = sinf((float)i);
  bool right = clEnqueueWriteBuffer(p.queue, p.x, CL_FALSE, 0, BYTES, x, 0, NULL, NULL) == CL_SUCCESS &&
               run_softmax(&p) == MICA_OK &&
               clEnqueueReadBuffer(p.queue, p.y, CL_TRUE, 0, BYTES, y, 0, NULL, NULL) == CL_SUCCESS;
  for (int row = 0; right && row < ROWS; row++) {
    double sum = 0;
    for (int i = 0; i < COLUMNS; i++) sum += exp((double)x[row * COLUMNS + i]);
    for (int i = 0; i < COLUMNS; i++) {
      double want = exp((double)x[row * COLUMNS + i]) / sum;
      right = right && fabs((double)y[row * COLUMNS + i] - want) < 1e-6 * want + 1e-9;
    }
  }
  printf("%s\n", right ? "right: the program's memory holds softmax(x)" : "WRONG");
  destroy_program(&p);
  return !right;
}
