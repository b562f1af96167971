/* windows/include/dlfcn.h: declared in windows/posix.h. */
#include "windows/posix.h"
