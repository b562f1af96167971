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
  /* the tensor in the form in which its elements are read: `entry`, or MXFP4 blocks if row.scales is set */
  mica_weight_entry form;
  /* Reads the elements first to first + count - 1 of the parameter in row-major order, in the type of `form`. If that
   * is blocks, first and count must be multiples of a block's elements. `shape` is the parameter's shape, already
   * checked against the tensors. NULL: the tensor has its elements in the parameter's order already. */
  void (*read)(const struct mica__named_tensor *from, mica_shape shape, int64_t first, int64_t count, void *out);
} mica__named_tensor;

/* Checks the rows of a map by themselves, without weights to look in. MICA_E_INVALID: a row is wrong; the message
 * names the call. map may be NULL. */
mica_status mica__name_map_check(const char *call, const mica_name_map *map);
/* Finds the tensor for the parameter whose name without name_prefix is `own`. The map must have passed
 * mica__name_map_check. found->entry is NULL if the source lacks the tensor. */
MICA__SHARED mica_status mica__name_map_find(const mica_name_map *map, const mica_weights *weights, const char *own,
                                             mica__named_tensor *found);
/* Finds tensor number `part` of a parameter that is stacked from several tensors. `row` is the row that
 * mica__name_map_find returned; that function also found tensor 0. *entry is NULL if the source lacks the tensor. */
mica_status mica__name_map_part(const mica_name_row *row, const mica_weights *weights, const char *own, int64_t part,
                                const mica_weight_entry **entry);
/* True if a row without `own` names the tensor: the map says that no parameter reads it. */
bool mica__name_map_drops(const mica_name_map *map, const char *tensor);

#endif
