/* text_split.c - the public face of splitting: a text as spans, as a translator would cut it. */
#include "base/memory.h"
#include "text/split.h"
#include "text/utf8.h"

/* pieces as spans; the caller's */
static pk_status copy_spans(const pk_pieces *p, pk_span **out) {
    PK_TRY(PK_TAKE(out, p->n));
    for (size_t i = 0; i < p->n; i++)
        (*out)[i] = (pk_span){ p->piece[i].begin, p->piece[i].size, p->piece[i].sentence };
    return PK_OK;
}

pk_status pk_text_split(pk_text text, const char *language, pk_span **out, size_t *n) {
    pk_splitter *splitter = NULL;
    pk_pieces    pieces = { 0 };
    PK_NEED(out);
    PK_NEED(n);
    *out = NULL;
    *n = 0;
    if (text.size) PK_NEED(text.data);
    if (!pk_utf8_valid(text.data, text.size)) PK_FAIL(PK_ARGUMENT, "the text is not valid UTF-8");
    pk_status status = pk_splitter_open(language, &splitter);
    if (status == PK_OK) status = pk_split(splitter, text.data, text.size, false, &pieces);
    if (status == PK_OK) status = copy_spans(&pieces, out);
    if (status == PK_OK) *n = pieces.n;
    pk_splitter_close(splitter);
    pk_pieces_free(&pieces);
    return status;
}
