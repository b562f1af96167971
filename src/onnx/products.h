/* onnx/products.h: quantisation of a model: finds its products with constant weights, and writes the model with
 * integers instead. Also in builds without protobuf-c (MICA_E_UNSUPPORTED). */
#ifndef MICA_ONNX_PRODUCTS_H
#define MICA_ONNX_PRODUCTS_H

#include "base/shared.h"

#include <mica/onnx.h>

enum { MICA__NORM_PARTS = 4 }; /* factor, term, mean, variance */

/* A product of the model's graph, or another node with weights that stays float. */
typedef struct mica__onnx_product {
  const char *name; /* the node's, else its result's; unique */
  const char *why;  /* why it stays float (nothing below is set); NULL: it can be quantised */
  const char *input, *weight;
  bool conv;
  bool plain; /* it cannot take a bias */
  bool tied;  /* others read its weight too */
  bool last;  /* outputs are the last axis of the weight in the file, not the first */
  mica_shape shape;
  float *w;         /* of `shape`; the first axis is the outputs */
  float *bias;      /* (outputs); NULL: none */
  const char *norm; /* the batch norm that is its result's only reader; NULL: none */
  float *parts[MICA__NORM_PARTS];
  double epsilon;
  char *const *results; /* of the node; they identify it */
} mica__onnx_product;

typedef struct mica__onnx_products {
  mica__onnx_product *list;
  size_t count, capacity;
} mica__onnx_products;

/* Lists the products in file order, with weights as f32. MICA_E_STATE: the model is already quantised. Free the list
 * before the model. */
MICA__SHARED mica_status mica__onnx_products_find(const mica_onnx *model, mica__onnx_products *products);
MICA__SHARED void mica__onnx_products_free(mica__onnx_products *products);

/* Makes a value an additional output of the model; call it before any runner of the model is made. */
MICA__SHARED mica_status mica__onnx_show(mica_onnx *model, const char *value);

/* Integers for a product. */
typedef struct mica__onnx_integers {
  const int8_t *weight; /* in the order of the product's w; NULL: it stays float */
  const float *steps;   /* (outputs) */
  const float *bias;    /* (outputs); NULL: none */
  const char *norm;     /* the norm that bias and weight include */
  int32_t source;       /* products with the same input and source share its integers; -1: the input stays float */
  float step;           /* of the input */
  uint8_t zero;
} mica__onnx_integers;

/* Writes the model with pairs of QuantizeLinear and DequantizeLinear; integers[i] belongs to products->list[i]. The
 * model cannot be run afterwards. */
MICA__SHARED mica_status mica__onnx_write_integers(mica_onnx *model, const mica__onnx_products *products,
                                                   const mica__onnx_integers *integers, const char *path);

#endif
