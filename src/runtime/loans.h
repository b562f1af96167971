/* runtime/loans.h: values that a launch of a recording derived from an operand, lent to later launches that need the
 * same values: a transform of a gradient that two passes of a convolution read.
 *
 * The code that records says how long the operand stays unchanged (mica__exec.lends), and ends its loans after that. A
 * lent value is workspace that no other op gets meanwhile. On a queue that is not a recorder nothing is lent. */
#ifndef MICA_RUNTIME_LOANS_H
#define MICA_RUNTIME_LOANS_H

#include "base/hash.h"

#include <mica/tensor.h>

/* Offers `made`, which was derived from the operand, to later launches. how: identifies the derivation, by all that it
 * depends on except the operand itself. */
mica_status mica__loan_offer(mica_queue *queue, const mica_tensor *operand, mica__hash how, const mica_tensor *made);
/* Finds an offer for the operand. *made: a view of what was offered, which the caller destroys; NULL: none. */
mica_status mica__loan_take(const mica_queue *queue, const mica_tensor *operand, mica__hash how, mica_tensor **made);
/* Ends all loans of values derived from the operand. */
void mica__loans_end(mica_queue *queue, const mica_tensor *operand);

/* Everything that a recorder lends; destroyed when the recorder ends. */
typedef struct mica__loan mica__loan;
void mica__loans_free(mica_queue *recorder);

#endif
