/* libre.h - what LibreTranslate's endpoints share: reading a request to translate, and the language found. */
#ifndef PK_SERVER_LIBRE_H
#define PK_SERVER_LIBRE_H
#include "translation.h"

/* checks in LibreTranslate's order and fills in x->translation, with its way; streams: sentence by sentence in any
   case. false: answered */
bool    pk_libre_read(pk_exchange *x, bool streams);
json_t *pk_libre_language(const pk_translation *t); /* detected; the caller's */
#endif
