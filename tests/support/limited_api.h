/* tests/support/limited_api.h: OpenCL of a small or odd device.
 *
 * A layer over the loader, in whose place Mica uses it (mica__cl_install), that reports less than the device can do,
 * and holds the library to it: what goes beyond the limits fails as a real driver would let it fail. */
#ifndef MICA_TESTS_SUPPORT_LIMITED_API_H
#define MICA_TESTS_SUPPORT_LIMITED_API_H

#include <mica/device.h>
#include <stdbool.h>

/* Puts the layer in the loader's place, and away what an earlier call put there. limits is a list of words; what is not
 * named stays as it is:
 *
 *   class=cpu|gpu   the type of device
 *   group=N         work-items of a group at most
 *   groups=N        of a launch in its second and in its third dimension
 *   items=N         work-items of a launch, if it has more than one group
 *   local=BYTES     of local memory
 *   buffer=BYTES    of the largest allocation
 *   memory=BYTES    of all allocations together
 *   null            the null device in the loader's place: no kernel runs
 *   bits=32         addresses; global memory is then below 4 GiB
 *   vectors=N       floats of a vector register
 *   vendor=TEXT     who made it
 *   vendor_id=N     the same as a number
 *   texture=N       pixels of the longest image over a buffer
 *   planes          images of two dimensions over buffers (cl_khr_image2d_from_buffer), which are images in the host's
 *                   memory here: for a device that computes there
 *   nofp64          no double
 *   nocompiler      no compiler: programs come from binaries alone
 *   unoptimised     a CPU compiles kernels without optimisation: for tests of what PoCL takes longer to optimise than
 *                   to run. The driver says that it is of another version, by which caches tell programs apart
 *   writes=kernel   what the host writes or fills is put there by a kernel, and no memory is given back: Oclgrind 21.10
 *                   takes the rest of a buffer for uninitialised when the host writes a part of it, and what is new in
 *                   the place of what was freed for as large as that
 *
 * false, with a line on stderr, when a word is none of these. */
bool limited_install(const char *limits);

/* Installs limits for a program: TESTS(BOTH(LIMITED("class=gpu"), DEVICE), ...). A wrong word ends it. */
#define LIMITED(limits) limited_or_exit(limits)
const char *limited_or_exit(const char *limits);

/* Lets the engine split launches where `groups` and `items` want it, which GPUs do not say of themselves. */
void limited_split(mica_engine *engine);

#endif
