/* windows/include/sys/prctl.h: declared in windows/posix.h. */
#include "windows/posix.h"
