/* glossaries.h - terms of a request: its own, or those of a glossary that the operator named.
 *
 * A request never names a file. Named glossaries are read at start and stay; they are shared. */
#ifndef PK_SERVER_GLOSSARIES_H
#define PK_SERVER_GLOSSARIES_H
#include "exchange.h"

typedef struct pk_glossaries pk_glossaries;

/* spec: "NAME=FILE,NAME=FILE"; NULL or "": none. NULL is returned where `error` says why */
pk_glossaries     *pk_glossaries_open(const char *spec, char *error);
void               pk_glossaries_close(pk_glossaries *g);
const pk_glossary *pk_glossaries_find(const pk_glossaries *g, const char *name); /* NULL: none */

/* Reads the field `glossary` (an object of terms, or lines of TSV) into the translation, or the name
   in `glossary_id`; false: answered */
bool pk_glossaries_read(pk_exchange *x);
#endif
