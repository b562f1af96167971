/* windows/include/sys/random.h: declared in windows/posix.h. */
#include "windows/posix.h"
