/* calls.c - pk_translate, pk_submit and what becomes of a call: plain text goes to the engine as it
 * is, and the rest through markup_call.c. */
#include <string.h>

#include "base/option_struct.h"
#include "markup/markup_call.h"

struct pk_call {
    pk_plain_call  *plain; /* one of these two */
    pk_markup_call *markup;
    pk_text        *text; /* copies of the texts, one behind the other; NULL: they are borrowed */
    char           *bytes;
};

static void free_call(pk_call *c) {
    pk_memory_give(c->text);
    pk_memory_give(c->bytes);
    pk_memory_give(c);
}

static pk_status copy_texts(pk_call *c, const pk_text *text, size_t n) {
    size_t size = 0, at = 0;
    for (size_t i = 0; i < n; i++) size += text[i].data ? text[i].size : 0;
    PK_TRY(PK_TAKE(&c->text, n + 1));
    PK_TRY(PK_TAKE(&c->bytes, size + 1));
    for (size_t i = 0; i < n; i++) {
        c->text[i] = text[i]; /* what is NULL stays so, and is refused where it is read */
        if (!text[i].data) continue;
        c->text[i].data = memcpy(c->bytes + at, text[i].data, text[i].size);
        at += text[i].size;
    }
    return PK_OK;
}

static pk_status begin(pk_translator *t, pk_call *c, const pk_text *text, size_t n,
                       const pk_call_options *o, bool waits) {
    const pk_plain_request r = { .text = text, .n = n, .o = *o, .waits = waits };
    bool                   markup;
    PK_TRY(pk_markup_call_wanted(o, &markup));
    return markup ? pk_markup_call_begin(t, text, n, o, &c->markup)
                  : pk_plain_call_begin(t, &r, &c->plain);
}

/* *out is set before the call can end */
static pk_status start(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                       bool copies, pk_call **out) {
    pk_call_options o;
    pk_call        *c;
    pk_status       status = PK_OK;
    PK_READ_OPTIONS(pk_call_options, opt, &o);
    PK_TRY(PK_TAKE(&c, 1));
    if (copies) status = copy_texts(c, text, n);
    *out = c;
    if (status == PK_OK) status = begin(t, c, copies ? c->text : text, n, &o, !copies);
    if (status != PK_OK) {
        *out = NULL;
        free_call(c);
    }
    return status;
}

pk_status pk_submit(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                    pk_call **out) {
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(text);
    return start(t, text, n, opt, true, out);
}

void pk_call_cancel(pk_call *c) {
    if (c && c->plain) pk_plain_call_cancel(c->plain);
    if (c && c->markup) pk_markup_call_cancel(c->markup);
}

pk_status pk_call_end(pk_call *c, pk_result **out) {
    pk_result *result = NULL;
    pk_status  status;
    if (out) *out = NULL;
    PK_NEED(c);
    if (c->plain) pk_plain_call_wait(c->plain);
    status =
        c->plain ? pk_plain_call_end(c->plain, &result) : pk_markup_call_end(c->markup, &result);
    free_call(c);
    if (out)
        *out = result;
    else
        pk_result_free(result);
    return status;
}

pk_status pk_translate(pk_translator *t, const pk_text *text, size_t n, const pk_call_options *opt,
                       pk_result **out) {
    pk_call *c;
    PK_NEED(out);
    *out = NULL;
    PK_NEED(t);
    if (n) PK_NEED(text);
    PK_TRY(start(t, text, n, opt, false, &c));
    return pk_call_end(c, out);
}
