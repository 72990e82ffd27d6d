/* language_check.h - checks whether a sentence looks like the language it should be in.
 *
 * Two signs count, and only clear ones: most letters belong to another script, or there are far
 * more stop words of another language than of the right one. Short or unusual text passes. */
#ifndef PK_DATA_LANGUAGE_CHECK_H
#define PK_DATA_LANGUAGE_CHECK_H
#include "base/memory.h"

typedef enum pk_looks { PK_LOOKS_RIGHT, PK_LOOKS_OTHER_SCRIPT, PK_LOOKS_OTHER_LANGUAGE } pk_looks;

typedef struct pk_language_check pk_language_check; /* may be shared by threads */
/* language: an ISO code ("de", "deu", "de_DE"). Of one that ICU does not know the script is not
 * checked, of one without a list of stop words nothing but the script. */
pk_status pk_language_check_open(const char *language, pk_language_check **out);
void      pk_language_check_close(pk_language_check *c); /* accepts NULL */
pk_looks  pk_language_check_text(const pk_language_check *c, const char *text, size_t size);
#endif
