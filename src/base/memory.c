#include <mica/api.h>
#include <stdlib.h>

void mica_free(void *memory) { free(memory); }
