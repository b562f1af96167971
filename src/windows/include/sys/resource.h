/* windows/include/sys/resource.h: declared in windows/posix.h. */
#include "windows/posix.h"
