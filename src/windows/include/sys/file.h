/* windows/include/sys/file.h: declared in windows/posix.h. */
#include "windows/posix.h"
