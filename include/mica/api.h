/* mica/api.h: how a public function is marked, and how memory that the library hands out is given back. The library is
 * built with hidden visibility; only what is MICA_API is exported. */
#ifndef MICA_API_H
#define MICA_API_H

#ifdef __cplusplus
#define MICA_BEGIN_DECLS extern "C" {
#define MICA_END_DECLS }
#else
#define MICA_BEGIN_DECLS
#define MICA_END_DECLS
#endif

#if defined(_WIN32)
#define MICA_API
#else
#define MICA_API __attribute__((visibility("default")))
#endif

/* Marks functions whose result, a status, is not to be ignored: the compiler warns of a call that does. */
#if defined(__GNUC__)
#define MICA_CHECKED __attribute__((warn_unused_result))
#else
#define MICA_CHECKED
#endif

/* A real zero in a field of type double whose 0 stands for a default: such fields tell -0.0 from 0. */
#define MICA_ZERO (-0.0)

MICA_BEGIN_DECLS

/* Frees a text or an array that a function of Mica allocated for the caller ("the caller's to mica_free"), with the
 * allocator that made it. NULL is a no-op. Any thread. */
MICA_API void mica_free(void *memory);

MICA_END_DECLS

#endif
