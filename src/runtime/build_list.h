/* runtime/build_list.h: programs that are named first and then built together, by several processes.
 *
 * Compilers of drivers use one core, and PoCL's holds a lock of the whole process. Hence the launches of a plan are
 * prepared twice: the first time only to learn which programs they need. */
#ifndef MICA_RUNTIME_BUILD_LIST_H
#define MICA_RUNTIME_BUILD_LIST_H

#include "runtime/program.h"

typedef struct mica__build_item {
  mica__hash key;
  mica__program_request request; /* of texts of its own */
} mica__build_item;

typedef struct mica__build_list {
  mica__build_item *items;
  size_t count;
  mica__kernel promise; /* given out for every kernel that does not exist yet; fit to be packed into launches */
} mica__build_list;

/* Whether it pays on this engine: it has a builder (mica_engine_config), and a disk cache through which that delivers.
 * One that tunes meets programs while it measures. */
bool mica__builds_ahead(const mica_engine *engine);

/* Between these two calls the calling thread's requests for kernels build nothing: programs that the engine has neither
 * in memory nor on disk are added to the list, and what the requests return must not be started. */
void mica__build_list_begin(mica__build_list *list);
void mica__build_list_end(void);
/* The calling thread's list between the two; else NULL. */
mica__build_list *mica__build_list_open(void);

/* Adds a copy, unless the engine has the program or the list names it. The caller holds the lock of the programs. */
mica_status mica__build_list_add(mica__build_list *list, mica_engine *engine, const mica__program_request *request);

/* Builds what is listed, part here, part in processes beside this one, and blocks until all is done. What cannot be
 * built is left out: whoever asks for it again is told why. */
void mica__build_list_make(mica_engine *engine, mica__build_list *list);

void mica__build_list_free(mica__build_list *list);

#endif
