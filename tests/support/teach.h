/* teach.h - a network that learns, on any device, for tests: sentences in, loss and gradients out.
 */
#ifndef PK_TESTS_TEACH_H
#define PK_TESTS_TEACH_H
#include "train/parameters.h"

typedef struct teach_sentence { /* tokens as they go in and should come out */
    const int32_t *source, *input, *target;
    int32_t        n_source, n_target;
} teach_sentence;

typedef struct teach {
    pk_backend    on;
    pk_parameters p;
    pk_tape      *tape;
    void         *scratch, *block; /* the device's */
    size_t        scratch_bytes;
    pk_loss_sums *sums; /* the device's */
} teach;

typedef struct teach_how {
    pk_dropout    dropout;
    uint64_t      key;
    float         smoothing;
    bool          learn;
    pk_tape_done *done; /* of the backward pass; may be NULL */
    void         *user;
} teach_how;

/* device: "ref", "cpu", "cuda"; PK_UNSUPPORTED or PK_DEVICE where there is none */
pk_status teach_open(const char *device, int32_t threads, pk_dtype type, const pk_config *config,
                     const pk_parameters_options *options, teach *out);
void      teach_close(teach *t);
/* left to right; gradients are added to t->p.grad */
pk_status teach_run(teach *t, const teach_sentence *sentence, int32_t n, const teach_how *how,
                    pk_loss_sums *out);
#endif
