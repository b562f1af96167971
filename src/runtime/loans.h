/* runtime/loans.h: lets later launches of a recording reuse values that an earlier launch derived from an operand. An
 * example is a transform of a gradient, which two passes of a convolution read. Such reuse is called a loan.
 *
 * A loan is right only while the operand does not change. The code that records knows how long that is: it allows loans
 * (mica__exec.lends) and ends them. While a value is lent, no other op gets its workspace. If the queue is not a
 * recorder, nothing is lent. */
#ifndef MICA_RUNTIME_LOANS_H
#define MICA_RUNTIME_LOANS_H

#include "base/hash.h"

#include <mica/tensor.h>

/* Offers `made`, which was derived from the operand, to later launches. `how` identifies the way in which it was
 * derived: a hash of everything that `made` depends on, except the operand itself. */
mica_status mica__loan_offer(mica_queue *queue, const mica_tensor *operand, mica__hash how, const mica_tensor *made);
/* Looks for an offer with this operand and this `how`. Sets *made to a view of the offered tensor, which the caller
 * destroys, or to NULL if there is no offer. */
mica_status mica__loan_take(const mica_queue *queue, const mica_tensor *operand, mica__hash how, mica_tensor **made);
/* Ends all loans of values derived from the operand, or from another tensor of its dtype that begins at the same
 * element. */
void mica__loans_end(mica_queue *queue, const mica_tensor *operand);

/* One loan. mica__loans_free ends all loans of a recorder; called when the recorder ends. */
typedef struct mica__loan mica__loan;
void mica__loans_free(mica_queue *recorder);

#endif
