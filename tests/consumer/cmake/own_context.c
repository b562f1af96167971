/* Mica inside a program that has OpenCL objects of its own: an engine on its context and queue, a tensor in its memory,
 * and its memory back out of a tensor. Exit status 77 without a device. */
#include <mica/mica.h>
#include <mica/opencl.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 6

static void need(int condition, const char *what) {
  if (condition) return;
  fprintf(stderr, "failed: %s (%s)\n", what, mica_error_message());
  exit(1);
}

/* The first device of the first platform that has one. */
static cl_device_id find_device(void) {
  cl_platform_id platforms[16];
  cl_uint platform_count = 0, device_count = 0;
  cl_device_id device = NULL;
  if (clGetPlatformIDs(16, platforms, &platform_count) != CL_SUCCESS) platform_count = 0;
  for (cl_uint i = 0; i < platform_count && i < 16 && !device; i++)
    if (clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, 1, &device, &device_count) != CL_SUCCESS) device = NULL;
  return device;
}

int main(void) {
  cl_device_id device = find_device();
  if (!device) return 77;
  cl_int error;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
  need(error == CL_SUCCESS, "clCreateContext");
  cl_command_queue own_queue = clCreateCommandQueue(context, device, 0, &error);
  need(error == CL_SUCCESS, "clCreateCommandQueue");
  float values[COUNT] = {1, 2, 3, 4, 5, 6};
  cl_mem memory = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, sizeof values, values, &error);
  need(error == CL_SUCCESS, "clCreateBuffer");

  mica_engine *engine;
  mica_buffer *buffer;
  mica_tensor *matrix, *row;
  need(mica_engine_create_from_opencl(context, device, own_queue, NULL, &engine) == MICA_OK, "engine");
  need(mica_engine_opencl_context(engine) == context, "the engine's context is ours");
  need(mica_engine_opencl_device(engine) == device, "the engine's device is ours");
  mica_queue *queue = mica_engine_queue(engine);
  need(mica_queue_opencl(queue) == own_queue, "the engine's queue is ours");

  /* Our memory as a 2 x 3 matrix, and its second row. */
  need(mica_buffer_wrap_opencl(engine, memory, &buffer) == MICA_OK, "buffer");
  need(mica_tensor_wrap(buffer, 0, MICA_F32, MICA_SHAPE(2, 3), &matrix) == MICA_OK, "tensor");
  need(mica_tensor_view(matrix, MICA_SHAPE(3), NULL, 3, &row) == MICA_OK, "view");
  size_t offset_bytes;
  need(mica_tensor_opencl(row, &offset_bytes) == memory && offset_bytes == 3 * sizeof(float),
       "the row's memory is ours");

  /* Mica computes, we read through OpenCL; everything is in one queue. */
  need(mica_op_scale_add(queue, 10, row, 0, row) == MICA_OK, "scale");
  error = clEnqueueReadBuffer(own_queue, memory, CL_TRUE, 0, sizeof values, values, 0, NULL, NULL);
  need(error == CL_SUCCESS, "clEnqueueReadBuffer");
  for (int i = 0; i < 3; i++) need(values[i] == (float)(i + 1) && values[3 + i] == (float)(10 * (i + 4)), "values");

  /* Mica holds references of its own: releasing ours first is in order. */
  need(clReleaseMemObject(memory) == CL_SUCCESS, "clReleaseMemObject");
  need(clReleaseCommandQueue(own_queue) == CL_SUCCESS, "clReleaseCommandQueue");
  need(clReleaseContext(context) == CL_SUCCESS, "clReleaseContext");
  float first = 0;
  mica_tensor *corner;
  need(mica_tensor_view(matrix, MICA_SHAPE(1), NULL, 0, &corner) == MICA_OK, "view");
  need(mica_tensor_download(queue, corner, &first, sizeof first) == MICA_OK && first == 1, "download");
  mica_tensor_destroy(corner);
  mica_tensor_destroy(row);
  mica_tensor_destroy(matrix);
  mica_buffer_destroy(buffer);
  mica_engine_destroy(engine);
  return 0;
}
