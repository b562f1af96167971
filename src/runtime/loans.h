/* runtime/loans.h: what a launch of a recording made of an operand, lent to launches after it that need the same: a
 * transform of a gradient that two passes of a convolution read.
 *
 * Whoever records says until when the operand stays as it is (mica__exec.lends) and ends its loans after that. What is
 * lent is workspace that no other op gets meanwhile. On a queue that is not a recorder nothing is lent. */
#ifndef MICA_RUNTIME_LOANS_H
#define MICA_RUNTIME_LOANS_H

#include "base/hash.h"

#include <mica/tensor.h>

/* how: what was made of the operand, all that it depends on but for the operand itself. */
mica_status mica__loan_offer(mica_queue *queue, const mica_tensor *operand, mica__hash how, const mica_tensor *made);
/* *made: a view of what was offered, the caller's to destroy; NULL if there is none. */
mica_status mica__loan_take(const mica_queue *queue, const mica_tensor *operand, mica__hash how, mica_tensor **made);
/* Ends the loans of what was made of the operand. */
void mica__loans_end(mica_queue *queue, const mica_tensor *operand);

/* All that a recorder lends, which its end destroys. */
typedef struct mica__loan mica__loan;
void mica__loans_free(mica_queue *recorder);

#endif
