/* spm_fuzz.c - any bytes as a SentencePiece model: refused with one line, or a model that loads,
 * segments, samples and puts together again. What the check lets through is in the hands of a
 * library that checks less. */
#include "base/buffer.h"
#include "fuzz_help.h"
#include "vocab/spm.h"

typedef struct pieces {
    size_t n, last;
} pieces;

static pk_status count(void *user, const char *piece, size_t size, size_t begin) {
    pieces *p = user;
    LAW(piece && begin >= p->last);
    (void)size;
    p->last = begin;
    p->n++;
    return PK_OK;
}

static const char *name(const void *user, size_t i) {
    static const char *const names[] = { "\xE2\x96\x81the", "<unk>", "s", "</s>" };
    (void)user;
    return names[i % 4];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char text[] = "The \xC3\xA9t\xC3\xA9 of 1984, \xEF\xAC\x81nally!";
    pk_spm           *s = NULL;
    pk_buffer         out = { 0 };
    pk_status         status = pk_spm_open(data, size, &s);
    if (status == PK_OK) {
        pieces plain = { 0 }, drawn = { 0 };
        status = pk_spm_encode(s, text, sizeof text - 1, count, &plain);
        if (status == PK_OK)
            status = pk_spm_sample(s, text, sizeof text - 1, 0.1f, 1, count, &drawn);
        if (status == PK_OK) status = pk_spm_pieces(s, &out);
        if (status == PK_OK) status = pk_spm_decode(s, name, NULL, 4, &out, NULL);
        pk_spm_close(s);
    }
    pk_buffer_free(&out);
    fuzz_check_end(status);
    return 0;
}
