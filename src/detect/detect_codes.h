/* detect_codes.h - codes of languages as people write them. */
#ifndef PK_DETECT_CODES_H
#define PK_DETECT_CODES_H
#include <stdint.h>

/* The language that a code names as a number, equal for codes that name the same one: "pt-BR" and
 * "pt", "en_XX" and "en". 0: no code at all. */
uint64_t pk_code_key(const char *code);
/* the language that serves in its place where it is not asked for (the other kind of Chinese, of
 * Norwegian); 0: none */
uint64_t pk_code_relative(uint64_t key);
#endif
