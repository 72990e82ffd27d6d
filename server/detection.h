/* detection.h - the language of one or several texts together, as requests ask for it. */
#ifndef PK_SERVER_DETECTION_H
#define PK_SERVER_DETECTION_H
#include "models.h"

typedef struct pk_language_guess {
    char   code[PK_CODE_ROOM];
    double confidence; /* 0 to 100 */
    size_t size;       /* characters it was guessed from */
} pk_language_guess;

/* html: tags are passed over. The languages that texts are in, best first; of the same language in several texts the mean. At least
   one: English with confidence 0 where nothing was found. NULL: no memory; the caller frees */
pk_language_guess *pk_detection_guess(pk_models *m, const pk_text *text, size_t n, bool html,
                                      size_t *n_guesses);
#endif
