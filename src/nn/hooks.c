/* Combines several hooks of one network. */
#include <mica/adapter.h>

mica_value mica_nn_hook_list(void *user, mica_nn *nn, mica_nn_point point, const char *layer, mica_value value) {
  const mica_nn_hooks *hooks = user;
  for (size_t i = 0; hooks && i < hooks->count && !mica_value_is_null(value); i++)
    value = hooks->list[i].hook(hooks->list[i].user, nn, point, layer, value);
  return value;
}
