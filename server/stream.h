/* stream.h - POST /translate/stream: sentences as they come, in order, as server-sent events.
 *
 * Texts are cut into tiles (live.h). Some are translated at a time: one, then twice as many as before. What
 * they give are events; while they are sent the exchange is the HTTP thread's, and when there is nothing
 * left to send it goes back to a worker for the next ones. So the client's pace is the server's. */
#ifndef PK_SERVER_STREAM_H
#define PK_SERVER_STREAM_H
#include <microhttpd.h>

#include "exchange.h"

typedef struct pk_stream {
    pk_text *text; /* all tiles; the translation has those of its call */
    size_t   n, at, chunk;
    char    *body; /* events that are being sent */
    size_t   size, sent;
    bool     over; /* these are the last */
} pk_stream;

/* the response for an exchange that streams; NULL: no memory */
struct MHD_Response *pk_stream_respond(pk_exchange *x);
void                 pk_stream_free(pk_stream *s);
#endif
