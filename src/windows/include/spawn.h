/* windows/include/spawn.h: declared in windows/posix.h. */
#include "windows/posix.h"
