/* live.h - texts translated sentence by sentence, for those who look on: the page at /.
 *
 * Where a request brings a draft or asks for alignment or a trace, its texts are cut into tiles: a
 * sentence each, with the white space around it. Put together again they are the text, and their
 * translations are its translation. Each has its own draft, word links and trace. */
#ifndef PK_SERVER_LIVE_H
#define PK_SERVER_LIVE_H
#include "exchange.h"
#include "models.h"

typedef struct pk_tile {
    size_t  text;     /* whose it is */
    size_t  begin;    /* where it begins there, in characters */
    pk_text draft;    /* a guess at its translation; may be empty */
    char   *links;    /* "0-0 1-2": words; NULL: none */
    json_t *trace;    /* NULL: none */
    int32_t decoding; /* the one whose output is its translation */
} pk_tile;

typedef struct pk_traced { /* an ask of a pass of a tile */
    size_t  tile;
    int32_t decoding; /* a sentence that loops has two, see pk_trace_pass */
    int32_t pass;     /* from 1 */
    int32_t position, fed_at, fed, best, parent;
    bool    accepted;
} pk_traced;

typedef struct pk_tiling {
    bool       alignment, trace;
    pk_text   *text; /* as they came; the translation has the tiles instead */
    size_t     n;
    pk_tile   *tile; /* of text 0, then of text 1 ... */
    size_t     n_tiles, tile_room;
    size_t     first; /* tile that is text 0 of the call: a stream sends some at a time */
    pk_traced *traced;
    size_t     n_traced, room;
    int32_t    passes;
    bool       lost; /* there was no memory for all of the trace */
} pk_tiling;

/* reads draft, alignment and trace into x->translation; false: answered. No tiling is made where none of them
   is given, or `alternatives` is; streams: in any case, and of any size */
bool pk_live_read(pk_exchange *x, bool streams);
/* cuts the texts, when the languages are known; false: answered */
bool pk_live_cut(pk_exchange *x);
/* the drafts of the n texts of a call; the caller frees; NULL: no memory */
pk_text *pk_live_drafts(const pk_tiling *l, size_t n);
/* keeps what a result says besides texts, while its model is in use; false: no memory */
bool pk_live_keep(pk_tiling *l, const pk_result *result, const pk_model *model);
void pk_live_free(pk_tiling *l);
/* adds what was asked for to an answer; false: no memory */
bool pk_live_add(const struct pk_translation *t, json_t *answer);
/* word links of one tile, with ranges of characters; `to`: where its translation begins */
json_t *pk_live_links(const struct pk_translation *t, size_t tile, size_t to);

/* live_trace.c */
void    pk_live_record(pk_tiling *l, const pk_trace_pass *pass);
json_t *pk_live_trace(pk_tiling *l, size_t tile, const int32_t *token, size_t n,
                      const pk_model *model);
#endif
