/* windows/include/fnmatch.h: declared in windows/posix.h. */
#include "windows/posix.h"
