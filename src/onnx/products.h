/* onnx/products.h: quantisation of a model. Finds its products (convolutions and matrix products) with constant
 * weights, and writes a model in which they have integer weights and inputs. Without protobuf-c these functions exist,
 * but return MICA_E_UNSUPPORTED. */
#ifndef MICA_ONNX_PRODUCTS_H
#define MICA_ONNX_PRODUCTS_H

#include "base/shared.h"

#include <mica/onnx.h>

enum { MICA__NORM_PARTS = 4 }; /* scale, bias, mean and variance of a batch norm */

/* A product of the model's graph, or another node with weights that stays float. */
typedef struct mica__onnx_product {
  const char *name; /* the node's name; its first result's name if the node has none or the name is taken */
  const char *why;  /* why it stays float (then only name, why and results are set); NULL: it can be quantised */
  const char *input, *weight;
  bool conv;
  bool plain; /* no bias can be added to it, for example to a MatMul */
  bool tied;  /* other nodes read its weight too */
  bool last;  /* outputs are the last axis of the weight in the file, not the first */
  mica_shape shape;
  float *w;         /* the weight, (shape), whose first axis is the outputs */
  float *bias;      /* (outputs); NULL: none */
  const char *norm; /* the result of the batch norm that alone reads the product's result; NULL: none */
  float *parts[MICA__NORM_PARTS];
  double epsilon;
  char *const *results; /* the node's result names; this pointer identifies the node */
} mica__onnx_product;

typedef struct mica__onnx_products {
  mica__onnx_product *list;
  size_t count, capacity;
} mica__onnx_products;

/* Lists the products in the order of the graph's nodes, with weights as f32. MICA_E_STATE: the model is already
 * quantised. Free the list before the model. */
MICA__SHARED mica_status mica__onnx_products_find(const mica_onnx *model, mica__onnx_products *products);
MICA__SHARED void mica__onnx_products_free(mica__onnx_products *products);

/* Makes a value an additional output of the model; call it before any runner of the model is made. */
MICA__SHARED mica_status mica__onnx_show(mica_onnx *model, const char *value);

/* How a product is quantised: integer weights, and the scales of weights and input. */
typedef struct mica__onnx_integers {
  const int8_t *weight; /* in the order of the product's w; NULL: it stays float */
  const float *steps;   /* scales of the weight, (outputs) */
  const float *bias;    /* (outputs); NULL: none */
  const char *norm;     /* the result of the batch norm that bias and weight include; NULL: none */
  int32_t source;       /* products with the same source share one quantised input; -1: the input stays float */
  float step;           /* scale of the input; `zero` is its zero point */
  uint8_t zero;
} mica__onnx_integers;

/* Writes the model with pairs of QuantizeLinear and DequantizeLinear; integers[i] belongs to products->list[i]. The
 * model cannot be run afterwards. */
MICA__SHARED mica_status mica__onnx_write_integers(mica_onnx *model, const mica__onnx_products *products,
                                                   const mica__onnx_integers *integers, const char *path);

#endif
