#include "support/image_leaks.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
void image_leaks_begin(void) { __lsan_disable(); }
void image_leaks_end(void) { __lsan_enable(); }
#else
void image_leaks_begin(void) {}
void image_leaks_end(void) {}
#endif

/* Makes and releases a buffer of 4 KiB and an image over it. */
static void make_image(cl_context context) {
  const cl_image_format format = {CL_RGBA, CL_FLOAT};
  cl_image_desc desc = {.image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = 256};
  cl_int error = CL_SUCCESS;
  desc.buffer = clCreateBuffer(context, CL_MEM_READ_WRITE, 4096, NULL, &error);
  image_leaks_begin();
  cl_mem image = desc.buffer ? clCreateImage(context, CL_MEM_READ_ONLY, &format, &desc, NULL, &error) : NULL;
  image_leaks_end();
  if (image) clReleaseMemObject(image);
  if (desc.buffer) clReleaseMemObject(desc.buffer);
}

/* True if a context still has references of an image that is released. */
static bool keeps_contexts(cl_context like) {
  cl_device_id device = NULL;
  cl_uint references = 1;
  cl_int error = clGetContextInfo(like, CL_CONTEXT_DEVICES, sizeof device, &device, NULL);
  cl_context context = error == CL_SUCCESS ? clCreateContext(NULL, 1, &device, NULL, NULL, &error) : NULL;
  if (!context) return false;
  make_image(context);
  clGetContextInfo(context, CL_CONTEXT_REFERENCE_COUNT, sizeof references, &references, NULL);
  for (cl_uint i = 0; i < references; i++) clReleaseContext(context);
  return references > 1;
}

cl_context image_leaks_context(cl_mem memory) {
  static enum { UNKNOWN, NO, YES } keeps = UNKNOWN;
  cl_mem_object_type type = 0;
  cl_uint references = 0;
  cl_context context = NULL;
  if (clGetMemObjectInfo(memory, CL_MEM_TYPE, sizeof type, &type, NULL) != CL_SUCCESS ||
      type != CL_MEM_OBJECT_IMAGE1D_BUFFER ||
      clGetMemObjectInfo(memory, CL_MEM_REFERENCE_COUNT, sizeof references, &references, NULL) != CL_SUCCESS ||
      references > 1 || clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof context, &context, NULL) != CL_SUCCESS)
    return NULL;
  if (keeps == UNKNOWN) keeps = keeps_contexts(context) ? YES : NO;
  return keeps == YES ? context : NULL;
}
