/* runtime/texture.h: images over buffers, which kernels read through a GPU's texture cache.
 *
 * An image shares the memory of a buffer's whole block. A pixel is four adjacent elements of f32 or f16, which a kernel
 * reads as four floats. A buffer keeps its images until its block is returned to the driver, so a weight's image is
 * made once. While a kernel reads an image, nothing may write to its buffer, not even to other elements. */
#ifndef MICA_RUNTIME_TEXTURE_H
#define MICA_RUNTIME_TEXTURE_H

#include <mica/device.h>
#include <mica/tensor.h>
#include <stdbool.h>

/* How a kernel reads an operand: the value of its parameter TEXTURE. */
typedef enum mica__texture {
  MICA__TEXTURE_NONE,
  MICA__TEXTURE_LINE,  /* image1d_buffer_t: pixel i */
  MICA__TEXTURE_PLANE, /* image2d_t (cl_khr_image2d_from_buffer): pixel i is in row i / width and column i % width */
} mica__texture;

#define MICA__TEXTURE_ELEMENTS 4 /* of a pixel */
#define MICA__TEXTURE_SLOTS 4    /* images that a buffer may have: one for each kind and type */

/* True if kernels may use images of this kind on the device. These functions serve as mica__variant.has_instruction. */
bool mica__has_texture_line(const mica_device_info *device);
bool mica__has_texture_plane(const mica_device_info *device);

/* True if an image of this kind (LINE or PLANE) can hold the whole block of the tensor's buffer. False if the elements
 * are not f32 or f16, if the caller provided the memory, or if the memory is known only at a replay. */
bool mica__texture_fits(const mica_tensor *tensor, mica__texture kind);

/* The logarithm to base 2 of the width of a plane, rounded down; 0 if the device has no planes. */
int32_t mica__texture_shift(const mica_device_info *device);

/* The index in mica_buffer.textures of the image of this kind (LINE or PLANE) and type (f32 or f16). */
uint32_t mica__texture_slot(mica__texture kind, mica_dtype dtype);
/* Makes the buffer's image for this slot, unless it exists. The buffer owns it. MICA_E_UNSUPPORTED if the driver cannot
 * make it. */
mica_status mica__texture_prepare(mica_buffer *buffer, uint32_t slot);
void mica__textures_release(mica_buffer *buffer);

#endif
