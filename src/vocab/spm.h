/* spm.h - libsentencepiece behind a C face: text <-> pieces.
 *
 * Opening checks the model but does not load it: loading 16,000 pieces takes 18 ms, so the first
 * use does it, once, whichever thread comes first. No C++ exception leaves this interface. */
#ifndef PK_VOCAB_SPM_H
#define PK_VOCAB_SPM_H
#include <stdint.h>

#include "base/buffer.h"
#ifdef __cplusplus
extern "C" {
#endif

typedef struct pk_spm pk_spm; /* may be shared by threads */

/* data is borrowed for the life of the pk_spm. A damaged model is refused here: PK_FORMAT. */
pk_status pk_spm_open(const void *data, size_t size, pk_spm **out);
void      pk_spm_close(pk_spm *s);

/* called for each piece from left to right; begin: the byte of the text where the piece begins */
typedef pk_status (*pk_spm_visit)(void *user, const char *piece, size_t size, size_t begin);
pk_status pk_spm_encode(pk_spm *s, const char *text, size_t size, pk_spm_visit visit, void *user);

/* Subword regularisation (Kudo 2018): one segmentation drawn from all of them, with probability to
 * the power of alpha; for BPE models alpha is the share of merges that are left out. A function of
 * the arguments alone. */
pk_status pk_spm_sample(pk_spm *s, const char *text, size_t size, float alpha, uint64_t seed,
                        pk_spm_visit visit, void *user);
/* Appends the model's pieces in the order of their ids, a NUL byte behind each. */
pk_status pk_spm_pieces(pk_spm *s, pk_buffer *out);

/* Appends the text of n pieces; piece(user, i) names the i-th. A piece that the model does not know
 * stands for itself; control pieces stand for nothing. end[i], unless end is NULL: the byte of the
 * buffer behind piece i. */
typedef const char *(*pk_spm_name)(const void *user, size_t i);
pk_status pk_spm_decode(pk_spm *s, pk_spm_name piece, const void *user, size_t n, pk_buffer *out,
                        size_t *end);

#ifdef __cplusplus
}
#endif
#endif
