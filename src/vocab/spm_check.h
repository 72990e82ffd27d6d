/* spm_check.h - checks that a file is a SentencePiece model which libsentencepiece can load
 * safely. */
#ifndef PK_VOCAB_SPM_CHECK_H
#define PK_VOCAB_SPM_CHECK_H
#include "base/memory.h"

/* Reads the file's structure without loading it: under a millisecond where loading takes twenty. */
pk_status pk_spm_check(const void *data, size_t size);
/* The compiled normalisation rules inside one: a trie as a double array, then the replacements. */
pk_status pk_charsmap_check(const unsigned char *data, size_t size);
#endif
