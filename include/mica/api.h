/* mica/api.h: macros that mark public functions and headers, and mica_free. The libraries export only functions marked
 * MICA_API. MICA_BUILDING is defined while the libraries themselves are compiled. */
#ifndef MICA_API_H
#define MICA_API_H

#ifdef __cplusplus
#define MICA_BEGIN_DECLS extern "C" {
#define MICA_END_DECLS }
#else
#define MICA_BEGIN_DECLS
#define MICA_END_DECLS
#endif

#if !defined(_WIN32)
#define MICA_API __attribute__((visibility("default")))
#elif defined(MICA_BUILDING)
#define MICA_API __declspec(dllexport)
#else
#define MICA_API
#endif

/* Marks functions that return a status. The compiler warns if a caller ignores it. */
#if defined(__GNUC__)
#define MICA_CHECKED __attribute__((warn_unused_result))
#else
#define MICA_CHECKED
#endif

#define MICA_EXPERIMENTAL /* marks a header: the next minor version may change or remove its functions */

/* The value zero for fields of type double whose 0 means the default. Such fields distinguish -0.0 from 0. */
#define MICA_ZERO (-0.0)

MICA_BEGIN_DECLS

/* Frees memory that a function of Mica allocated for the caller, if the contract of that function says that the caller
 * frees it with mica_free. NULL is a no-op. Threads: may be called from any thread. */
MICA_API void mica_free(void *memory);

MICA_END_DECLS

#endif
