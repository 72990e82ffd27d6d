/* tape.h - what a forward pass records so that it can be walked backwards.
 *
 * A run with a tape (pk_run.tape) keeps every value, and each op leaves a record: its inputs and
 * its output. pk_tape_backward() walks the records from the last to the first (reverse-mode
 * automatic differentiation). The network does not know of it: forward.c is the one definition
 * for translating and for training. A dry run calls no backend op and takes no memory; it only
 * counts how much a real one would take. */
#ifndef PK_TENSOR_TAPE_H
#define PK_TENSOR_TAPE_H
#include "tensor/ops.h"
#include "tensor/training.h"

typedef struct pk_dropout { /* shares that become zero */
    float embedding, attention, activation, residual;
} pk_dropout;

/* Weights that are learned, end to end, and their gradients beside them. A weight whose data lies
 * elsewhere is a constant. */
typedef struct pk_gradients {
    const void      *weights;
    float           *grad;
    size_t           n;
    pk_dtype         type;     /* of the weights */
    const pk_weight *constant; /* learns nothing although it lies there; NULL: there is none such */
} pk_gradients;

typedef struct pk_tape pk_tape;
pk_status              pk_tape_open(pk_tape **out);
void                   pk_tape_close(pk_tape *t); /* accepts NULL */

/* Begins a run that is recorded on the tape. key: names this pass among all of the training, for
 * dropout. dropout NULL: none. dry: only count memory (scratch needs no base then; see
 * pk_tape_peak). */
void   pk_tape_begin(pk_tape *t, pk_run *r, const pk_backend *on, pk_arena *scratch,
                     const pk_gradients *learned, const pk_dropout *dropout, uint64_t key, bool dry);
size_t pk_tape_peak(const pk_tape *t); /* most bytes of scratch that were taken since begin */

/* The loss of hidden states, as a record like any other. sums, best (NULL: not wanted): the
 * device's. learn: false measures only, and no backward pass may follow. */
void pk_tape_loss(pk_run *r, pk_tensor hidden, const pk_weight *table, const pk_weight *bias,
                  const pk_lesson_questions *q, pk_loss_sums *sums, int32_t *best, bool learn);

/* Adds the gradient of the loss to those of the weights. Values that depend on no weight that
 * learns have no gradient: the way back ends where nothing below learns. done (may be NULL) is
 * called whenever all gradients of weights from `first` on are final; first falls from n to 0. */
typedef void pk_tape_done(void *user, size_t first);
void         pk_tape_backward(pk_run *r, pk_tape_done *done, void *user);

/* for ops.c */
pk_tensor pk_tape_embed(pk_run *r, const pk_weight *table, const int32_t *token, float scale,
                        const pk_weight *position, const int32_t *pos, int32_t n);
pk_tensor pk_tape_linear(pk_run *r, pk_tensor x, const pk_weight *w, const pk_after *after);
pk_tensor pk_tape_norm(pk_run *r, pk_tensor x, const pk_weight *gain, const pk_weight *shift,
                       float epsilon);
pk_tensor pk_tape_attend(pk_run *r, pk_tensor q, pk_tensor k, pk_tensor v, const pk_attention *see);
#endif
