/* nn/name_map.h: finds the tensor for a parameter in a source of weights. */
#ifndef MICA_NN_NAME_MAP_H
#define MICA_NN_NAME_MAP_H

#include "base/error.h"
#include "base/shared.h"

#include <mica/nn.h>
#include <mica/weights.h>

typedef struct mica__named_tensor {
  const mica_weight_entry *entry;  /* NULL: the source has no such tensor */
  mica_name_row row;               /* all zero: the map has no row for the parameter */
  const mica_weight_entry *scales; /* of row.scales; NULL: none */
  mica_weight_entry form;          /* the form in which elements are read; with row.scales: blocks */
  /* Reads elements first to first + count - 1 of the parameter in row-major order, in the type of `form`; first and
   * count are whole blocks. shape is the parameter's, already checked against the tensors. NULL: the tensor's elements
   * are already in the parameter's order. */
  void (*read)(const struct mica__named_tensor *from, mica_shape shape, int64_t first, int64_t count, void *out);
} mica__named_tensor;

/* Checks the rows of a map by themselves, without weights to look in. MICA_E_INVALID: a row is wrong; the message
 * names the call. map may be NULL. */
mica_status mica__name_map_check(const char *call, const mica_name_map *map);
/* Finds the tensor for the parameter whose name without name_prefix is `own`. Check the map first. */
MICA__SHARED mica_status mica__name_map_find(const mica_name_map *map, const mica_weights *weights, const char *own,
                                             mica__named_tensor *found);
/* Tensor number `part` of a parameter that mica__name_map_find found as stacked, by its row. NULL: the source lacks it.
 * Number 0 is the tensor found there. */
mica_status mica__name_map_part(const mica_name_row *row, const mica_weights *weights, const char *own, int64_t part,
                                const mica_weight_entry **entry);
/* True if a row without `own` names the tensor: the map says that no parameter reads it. */
bool mica__name_map_drops(const mica_name_map *map, const char *tensor);

#endif
