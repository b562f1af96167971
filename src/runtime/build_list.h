/* runtime/build_list.h: a list of programs to build, made by a dry run of launches. */
#ifndef MICA_RUNTIME_BUILD_LIST_H
#define MICA_RUNTIME_BUILD_LIST_H

#include "base/hash.h"

#include <mica/status.h>
#include <stddef.h>

/* A request for the program `label`, made from this source with these options, that has a kernel `name`. `kernels` has
 * a line for each kernel of the program that other programs may want too (runtime/program_file.h), or is "". */
typedef struct mica__program_request {
  const char *name, *label, *source, *options, *kernels;
} mica__program_request;

typedef struct mica__build_item {
  mica__hash key;
  mica__program_request request; /* with its own copies of the texts */
} mica__build_item;

typedef struct mica__build_list {
  mica__build_item *items;
  size_t count;
} mica__build_list;

/* Between mica__build_list_begin and mica__build_list_end, the calling thread's requests for kernels build nothing.
 * Programs that the engine has neither in memory nor on disk are added to the list, and the returned kernels must
 * not be started. */
void mica__build_list_begin(mica__build_list *list);
void mica__build_list_end(void);
/* The calling thread's list between begin and end; NULL at other times. */
mica__build_list *mica__build_list_open(void);

/* Adds a copy, unless the list has the key already. */
mica_status mica__build_list_add(mica__build_list *list, mica__hash key, const mica__program_request *request);
void mica__build_list_free(mica__build_list *list);

#endif
