/* html.h - HTML as passages, and passages as HTML again.
 *
 * Bytes outside text are the input's, tags with their attributes too. */
#ifndef PK_MARKUP_HTML_H
#define PK_MARKUP_HTML_H
#include "markup/passage.h"

/* text: valid UTF-8, borrowed for the life of the markup */
pk_status pk_html_read(pk_text text, pk_markup *out);
/* decodes what a text token holds, character references and all, and adds it */
pk_status pk_html_add_text(pk_passage *p, pk_text bytes);
/* text with & < > as references */
void pk_html_escape(pk_text text, pk_buffer *out);
#endif
