/* A convolution with filters of one element, without stride, padding or groups, is a matrix product for each image: Y
 * (K, HW) = W (K, C) X (C, HW), and backward data X = W^T Y. The implementations of matrix products compute it. */
#include "base/error.h"
#include "ops/conv/conv.h"
#include "ops/matmul/gemm.h"

static const char *unable(const void *problem) {
  const mica__conv *conv = problem;
  const mica__conv_dims *d = &conv->dims;
  if (d->groups > 1) return "the channels are in groups";
  for (int i = 0; i < 3; i++)
    if (d->filter[i] != 1 || d->stride[i] != 1 || d->pad[i] != 0 || d->in[i] != d->out[i])
      return "the filters are not 1 x 1 with stride 1 and no padding, as in a matrix product";
  return NULL;
}

static mica__gemm product(const mica__conv *conv) {
  const mica__conv_dims *d = &conv->dims;
  bool forward = conv->pass == MICA__CONV_FWD;
  int64_t pixels = conv->columns;
  return (mica__gemm){
      .m = conv->rows,
      .n = pixels,
      .k = conv->depth,
      .batches = conv->images,
      .a = {.tensor = conv->w, .row = forward ? d->c : 1, .col = forward ? 1 : d->c},
      .b = {.tensor = forward ? conv->x : conv->y, .row = pixels, .col = 1, .batch = conv->depth * pixels},
      .epilogue = conv->epilogue,
      .allow_tf32 = conv->allow_tf32,
      .constant = conv->prologue ? 1 : 0,
      .prologue = conv->prologue,
  };
}

/* If there are several images and an image has fewer pixels than this, the product is declined. Each image is a matrix
 * of its own, and its tiles of columns would be partly empty:
 *
 * - On CPUs, a quarter of the columns for images of 7 x 7, an eighth for 14 x 14.
 * - On GPUs, whose tiles are 64 or 128 wide, a quarter for both sizes.
 *
 * Kernels whose tiles continue into the next image (implicit_gemm) are then faster. On CPUs this was measured, on GPUs
 * it follows from a model (2026-11-25: ResNet-50's 1x1 convolutions of 14 x 14 and 7 x 7). */
#define FEWEST_COLUMNS_CPU 128
#define FEWEST_COLUMNS_GPU 256

/* True if the kernel for tensor cores accepts the convolution but not the product. For 16-bit types, for example, it
 * needs rows that are multiples of 16 bytes. A convolution makes such rows by copying its operands with channels last;
 * a product does not copy. */
static bool wants_convolution(const mica__task *task) {
  const mica__gemm gemm = product(task->problem);
  const mica__task as_product = {.problem = &gemm, .device = task->device};
  return !mica__conv_gpu_mma.unable(task->problem) && !mica__conv_gpu_mma.decline(task) &&
         mica__gemm_mma.decline(&as_product);
}

static const char *decline(const mica__task *task) {
  const mica__conv *conv = task->problem;
  const int64_t fewest = mica__kernel_class(task->device) == MICA__ON_CPU ? FEWEST_COLUMNS_CPU : FEWEST_COLUMNS_GPU;
  if (conv->columns < fewest && conv->images > 1) return "the images are too small";
  return wants_convolution(task) ? "tensor cores compute it as a convolution only" : NULL;
}

/* From this many images and multiply-adds on, filters are packed once, in a launch of their own, and not by every
 * work-group of every image. With fewer multiply-adds the second launch would take too large a share of the time. */
#define SHARING_IMAGES 4
#define SHARING_WORK 32e6

static bool shares_filters(const mica__gemm *gemm) {
  double work = (double)gemm->batches * (double)gemm->m * (double)gemm->n * (double)gemm->k;
  return gemm->batches >= SHARING_IMAGES && work >= SHARING_WORK;
}

static mica_status launch_product(mica_queue *queue, const mica__task *task) {
  mica__gemm gemm = product(task->problem);
  if (!(gemm.constant & 1) && shares_filters(&gemm)) {
    gemm.constant |= 1;
    gemm.prologue = queue;
  }
  char key[MICA__TUNING_TEXT];
  if (task->variant && !mica__gemm_tile.unable(&gemm))
    return mica__impl_launch(queue, &mica__gemm_tile, &gemm, task->variant);
  mica__gemm_key(&gemm, key);
  return mica__choose_and_launch(queue, mica__gemm_impls, &gemm, key);
}

const mica__impl mica__conv_gemm = {.name = "conv_gemm",
                                    .kernel = &mica__gemm_tile_kernel,
                                    .unable = unable,
                                    .decline = decline,
                                    .launch = launch_product};
