#include "runtime/texture.h"

#include "base/error.h"
#include "runtime/objects.h"

bool mica__has_texture_line(const mica_device_info *device) { return device->texture_length > 0; }

bool mica__has_texture_plane(const mica_device_info *device) { return device->texture_width > 0; }

int32_t mica__texture_shift(const mica_device_info *device) {
  int32_t shift = 0;
  while ((2u << shift) <= device->texture_width) shift++;
  return shift;
}

uint32_t mica__texture_slot(mica__texture kind, mica_dtype dtype) {
  return (kind == MICA__TEXTURE_PLANE ? 2u : 0u) + (dtype == MICA_F16 ? 1u : 0u);
}

/* The number of pixels in the buffer's block. */
static uint64_t pixels_of(const mica_buffer *buffer, mica_dtype dtype) {
  return buffer->capacity / (MICA__TEXTURE_ELEMENTS * mica_dtype_size(dtype));
}

bool mica__texture_fits(const mica_tensor *tensor, mica__texture kind) {
  const mica_buffer *buffer = tensor->buffer;
  const mica_device_info *device = &buffer->engine->device.info;
  if (tensor->dtype != MICA_F32 && tensor->dtype != MICA_F16) return false;
  /* Memory that the caller provided has a capacity of 0. It gets no image, because the caller may write to it while a
   * kernel reads the image. */
  if (buffer->placeholder || !buffer->capacity) return false;
  const uint64_t pixels = pixels_of(buffer, tensor->dtype), width = device->texture_width;
  if (kind == MICA__TEXTURE_LINE) return pixels <= device->texture_length;
  return width && pixels % width == 0 && pixels / width > 0 && pixels / width <= device->texture_height;
}

static cl_mem create(const mica_buffer *buffer, uint32_t slot, cl_int *error) {
  const mica_engine *engine = buffer->engine;
  const mica_dtype dtype = slot % 2 ? MICA_F16 : MICA_F32;
  const uint64_t pixels = pixels_of(buffer, dtype);
  const cl_image_format format = {CL_RGBA, dtype == MICA_F16 ? CL_HALF_FLOAT : CL_FLOAT};
  cl_image_desc desc = {
      .image_type = CL_MEM_OBJECT_IMAGE1D_BUFFER, .image_width = (size_t)pixels, .buffer = buffer->memory};
  if (slot >= 2) {
    desc.image_type = CL_MEM_OBJECT_IMAGE2D;
    desc.image_width = engine->device.info.texture_width;
    desc.image_height = (size_t)pixels / desc.image_width;
    desc.image_row_pitch = desc.image_width * MICA__TEXTURE_ELEMENTS * mica_dtype_size(dtype);
  }
  return engine->api->CreateImage(engine->context, CL_MEM_READ_ONLY, &format, &desc, NULL, error);
}

mica_status mica__texture_prepare(mica_buffer *buffer, uint32_t slot) {
  cl_mem kept = NULL;
  cl_int error = CL_SUCCESS;
  if (atomic_load(&buffer->textures[slot])) return MICA_OK;
  cl_mem made = create(buffer, slot, &error);
  if (!made)
    return mica__fail(MICA_E_UNSUPPORTED, "%s cannot make an image over a buffer of %zu bytes (error %d)",
                      buffer->engine->device.info.name, buffer->capacity, (int)error);
  /* Another thread may have made it meanwhile. */
  if (!atomic_compare_exchange_strong(&buffer->textures[slot], &kept, made))
    buffer->engine->api->ReleaseMemObject(made);
  return MICA_OK;
}

void mica__textures_release(mica_buffer *buffer) {
  for (size_t i = 0; i < MICA__TEXTURE_SLOTS; i++) {
    cl_mem image = atomic_load(&buffer->textures[i]);
    if (image) buffer->engine->api->ReleaseMemObject(image);
  }
}
