/* runtime/host_cpu.h: instructions of the processor that runs this program, for kernels that name them where the device
 * is that processor and its platform takes inline assembly (PoCL). */
#ifndef MICA_RUNTIME_HOST_CPU_H
#define MICA_RUNTIME_HOST_CPU_H

#include <mica/device.h>

#include <stdbool.h>

/* What the processor adds to that for which the platform's compiler makes code: PoCL in 32 bits on x86 compiles for an
 * i686, whose floats go through a stack of eight, except in functions that name more (common/simd.clh). */
typedef enum mica__host_vectors { MICA__VECTORS_KNOWN, MICA__VECTORS_AVX2, MICA__VECTORS_AVX512 } mica__host_vectors;
mica__host_vectors mica__host_vectors_of(const mica_device_info *device);
/* vpdpbusd on vectors of 64 bytes. */
bool mica__host_has_vnni(const mica_device_info *device);
/* The matrix unit (AMX) with products of bytes and of bf16, unless MICA_AMX=0 in the environment forbids it. The system
 * lets a process use it that asks. The first call does, so it is made only where a product would use the unit: nothing
 * takes the permission back, and it changes the process, which is refused alternate signal stacks below 12 KiB from
 * then on (and is not given the permission while a thread has one). Before it asks, a child process multiplies tiles of
 * both types and compares: one that is killed, or wrong, means that there are none. */
bool mica__host_has_tiles(const mica_device_info *device);
/* Runs `trial`, which calls nothing but the system, in a child process; false where it said so, did not live to say
 * anything, or there is no such child to be had. The program's own children, handlers and signals are left alone. */
bool mica__host_try(bool (*trial)(void));
/* For tests, which run the instructions on a processor that has none: the answer of mica__host_has_tiles for devices of
 * PoCL, whatever the processor is. To be called while no other thread uses the library. */
void mica__host_assume_tiles(bool there);

#endif
