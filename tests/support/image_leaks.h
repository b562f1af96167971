/* tests/support/image_leaks.h: what PoCL leaks with every image over a buffer, so that tests can look for other leaks.
 *
 * In PoCL 3.1 clReleaseMemObject of a CL_MEM_OBJECT_IMAGE1D_BUFFER frees the image without its list of devices (4 bytes
 * per device), and does not release the image's reference to its context, so the context and all that it holds stay
 * too. Both happen without Mica: a program that makes a context, a buffer and an image over it and releases all three
 * leaks them. */
#ifndef MICA_TESTS_SUPPORT_IMAGE_LEAKS_H
#define MICA_TESTS_SUPPORT_IMAGE_LEAKS_H

#include "runtime/opencl_api.h"

/* LeakSanitizer ignores what this thread allocates between the two. */
void image_leaks_begin(void);
void image_leaks_end(void);

/* The context that the driver will not release with this memory, which the caller is about to release; NULL if there is
 * none. The caller releases the context afterwards. */
cl_context image_leaks_context(cl_mem memory);

#endif
