#include "runtime/loans.h"

#include "base/error.h"
#include "runtime/objects.h"
#include "runtime/tensor.h"

#include <stdlib.h>

struct mica__loan {
  mica_tensor *operand, *made; /* views, which retain their memory */
  mica__hash how;
  mica__loan *next;
};

static mica_status view_of(const mica_tensor *tensor, mica_tensor **view) {
  return mica_tensor_view(tensor, mica_tensor_shape(tensor), mica_tensor_strides(tensor), 0, view);
}

static void end(mica__loan *loan) {
  mica_tensor_destroy(loan->operand);
  mica_tensor_destroy(loan->made);
  free(loan);
}

mica_status mica__loan_offer(mica_queue *queue, const mica_tensor *operand, mica__hash how, const mica_tensor *made) {
  if (!queue->recording) return MICA_OK;
  mica__loan *loan = calloc(1, sizeof *loan);
  if (!loan) return mica__fail_nomem("a recording");
  loan->how = how;
  mica_status status = view_of(operand, &loan->operand);
  if (status == MICA_OK) status = view_of(made, &loan->made);
  if (status != MICA_OK) {
    end(loan);
    return status;
  }
  loan->next = queue->loans;
  queue->loans = loan;
  return MICA_OK;
}

mica_status mica__loan_take(const mica_queue *queue, const mica_tensor *operand, mica__hash how, mica_tensor **made) {
  *made = NULL;
  for (const mica__loan *l = queue->loans; l; l = l->next)
    if (mica__hash_equal(l->how, how) && mica__tensor_is_same(l->operand, operand)) return view_of(l->made, made);
  return MICA_OK;
}

void mica__loans_end(mica_queue *queue, const mica_tensor *operand) {
  mica__loan **at = &queue->loans;
  while (*at) {
    mica__loan *loan = *at;
    if (!mica__tensor_same_memory(loan->operand, operand)) {
      at = &loan->next;
      continue;
    }
    *at = loan->next;
    end(loan);
  }
}

void mica__loans_free(mica_queue *recorder) {
  while (recorder->loans) {
    mica__loan *loan = recorder->loans;
    recorder->loans = loan->next;
    end(loan);
  }
}
