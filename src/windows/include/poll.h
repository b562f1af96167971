/* windows/include/poll.h: Windows lacks this header; windows/posix.h declares what Mica needs of it. */
#include "windows/posix.h"
