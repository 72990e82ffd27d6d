/* vocab.h - text <-> token ids, through SentencePiece and the model's own list of tokens.
 *
 * SentencePiece only segments; ids come from the token list: piece -> its index in the list, or
 * unk. Control tokens (">>de<<", "de_DE", "</s>") are entries of the list that segmentation never
 * yields. A vocabulary never changes once open and may be shared by threads. */
#ifndef PK_VOCAB_VOCAB_H
#define PK_VOCAB_VOCAB_H
#include "base/buffer.h"
#include "base/ids.h"

typedef struct pk_vocab pk_vocab;

/* Borrowed for the life of the vocabulary. target_* with size 0 means: the same as the source's.
 * tokens: the names of ids 0, 1, 2 ... each followed by a NUL byte. */
typedef struct pk_vocab_data {
    const void *source_spm, *target_spm;
    size_t      source_spm_size, target_spm_size;
    const char *source_tokens, *target_tokens;
    size_t      source_tokens_size, target_tokens_size;
    int32_t     unk; /* id for pieces that are not in the list; -1: refuse */
    int32_t     eos;
    bool        no_tags; /* ">>xx<<" is text like any other (mBART) */
} pk_vocab_data;

pk_status pk_vocab_open(const pk_vocab_data *data, pk_vocab **out);
void      pk_vocab_close(pk_vocab *v);

int32_t     pk_vocab_source_size(const pk_vocab *v);
int32_t     pk_vocab_target_size(const pk_vocab *v);
const char *pk_vocab_target_token(const pk_vocab *v, int32_t id); /* "?" when out of range */
const char *pk_vocab_source_token(const pk_vocab *v, int32_t id);
int32_t     pk_vocab_find_source(const pk_vocab *v, const char *token); /* -1: no such token */
int32_t     pk_vocab_find_target(const pk_vocab *v, const char *token);

/* Appends the ids of the text (no end symbol, no language). When begin is not NULL, also appends
 * for each id the byte where its piece begins in the text. A leading ">>xx<<" that is in the source
 * list becomes that one token, as MarianMT's tokenizer does; one that is not becomes unk, or stays
 * text where the vocabulary has pieces for all bytes. */
pk_status pk_vocab_encode_source(const pk_vocab *v, const char *text, size_t n, pk_ids *out,
                                 pk_ids *begin);
pk_status pk_vocab_encode_target(const pk_vocab *v, const char *text, size_t n, pk_ids *out);
/* The same with a segmentation drawn at random (spm.h); the text and the seed decide which. */
pk_status pk_vocab_sample_source(const pk_vocab *v, const char *text, size_t n, float alpha,
                                 uint64_t seed, pk_ids *out);
pk_status pk_vocab_sample_target(const pk_vocab *v, const char *text, size_t n, float alpha,
                                 uint64_t seed, pk_ids *out);
/* How many tokens stand for bytes that go on with a character (64 or 0), and the first of them. */
int32_t pk_vocab_continuation(const pk_vocab *v, int32_t *first);
/* a hash of every byte that decides about ids */
uint64_t pk_vocab_fingerprint(const pk_vocab *v);
/* Appends the text of the ids: UTF-8 without control characters, whatever the ids. Pieces that
 * stand for bytes are put together; bytes that form no character become U+FFFD. Control tokens
 * (eos, pad, languages) must have been left out by the caller. */
pk_status pk_vocab_decode(const pk_vocab *v, const int32_t *id, size_t n, pk_buffer *out);
/* The same, where token i stands for the text at names + instead[i], unless that is negative; a
 * space is U+2581 there. instead may be NULL. end[i], unless end is NULL: the byte of the buffer
 * behind the text of token i. */
pk_status pk_vocab_decode_with(const pk_vocab *v, const int32_t *id, size_t n,
                               const int32_t *instead, const char *names, pk_buffer *out,
                               size_t *end);
#endif
