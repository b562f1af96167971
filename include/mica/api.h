/* mica/api.h: how a public symbol is marked. The library is built with hidden visibility; only MICA_API is exported. */
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

#endif
