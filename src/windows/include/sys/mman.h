/* windows/include/sys/mman.h: declared in windows/posix.h. */
#include "windows/posix.h"
