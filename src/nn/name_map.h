/* nn/name_map.h: which tensor of a source of weights a parameter is read from. */
#ifndef MICA_NN_NAME_MAP_H
#define MICA_NN_NAME_MAP_H

#include "base/error.h"

#include <mica/nn.h>
#include <mica/weights.h>

typedef struct mica__named_tensor {
  const mica_weight_entry *entry; /* NULL: the source has none */
  mica_name_row row;              /* zeros if no row names the parameter */
} mica__named_tensor;

/* MICA_E_INVALID, naming the call, if a row is wrong whatever the source is. map may be NULL. */
mica_status mica__name_map_check(const char *call, const mica_name_map *map);
/* The tensor of the parameter that files know as `own`. The map was checked. */
mica_status mica__name_map_find(const mica_name_map *map, const mica_weights *weights, const char *own,
                                mica__named_tensor *found);
/* True if a row without `own` names the tensor. */
bool mica__name_map_drops(const mica_name_map *map, const char *tensor);

#endif
