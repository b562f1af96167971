/* onnx/products.h: what quantisation asks of a model: its products by weights of its own, and the model with integers
 * in their place. Without protobuf-c too (MICA_E_UNSUPPORTED). */
#ifndef MICA_ONNX_PRODUCTS_H
#define MICA_ONNX_PRODUCTS_H

#include "base/shared.h"

#include <mica/onnx.h>

enum { MICA__NORM_PARTS = 4 }; /* factor, term, mean, variance */

/* A product of the model's graph, or a node that computes with weights and stays as it is. */
typedef struct mica__onnx_product {
  const char *name; /* the node's, else its result's; like no other's */
  const char *why;  /* it stays float: the reason, and nothing below is set; NULL: it can be quantised */
  const char *input, *weight;
  bool conv;
  bool plain; /* it takes no bias */
  bool tied;  /* others read its weight too */
  bool last;  /* outputs are the weight's last axis in the file, not its first */
  mica_shape shape;
  float *w;         /* of `shape`, whose first axis are the outputs */
  float *bias;      /* (outputs); NULL: none */
  const char *norm; /* the batch norm that takes its result alone; NULL: none */
  float *parts[MICA__NORM_PARTS];
  double epsilon;
  char *const *results; /* of the node, which they tell from others */
} mica__onnx_product;

typedef struct mica__onnx_products {
  mica__onnx_product *list;
  size_t count, capacity;
} mica__onnx_products;

/* Lists the products in their order, weights as f32. MICA_E_STATE: the model is quantised already. The list is to be
 * freed, before the model. */
MICA__SHARED mica_status mica__onnx_products_find(const mica_onnx *model, mica__onnx_products *products);
MICA__SHARED void mica__onnx_products_free(mica__onnx_products *products);

/* Makes a value one more output of the model, before any runner of it is made. */
MICA__SHARED mica_status mica__onnx_show(mica_onnx *model, const char *value);

/* Integers for a product. */
typedef struct mica__onnx_integers {
  const int8_t *weight; /* as the product's w; NULL: it stays float */
  const float *steps;   /* (outputs) */
  const float *bias;    /* (outputs); NULL: none */
  const char *norm;     /* the norm that bias and weight have in them */
  int32_t source;       /* products with the same input and number share its integers; -1: the input stays float */
  float step;           /* of the input */
  uint8_t zero;
} mica__onnx_integers;

/* Writes the model with pairs of QuantizeLinear and DequantizeLinear: integers[i] belongs to products->list[i]. The
 * model must not be run afterwards. */
MICA__SHARED mica_status mica__onnx_write_integers(mica_onnx *model, const mica__onnx_products *products,
                                                   const mica__onnx_integers *integers, const char *path);

#endif
