/* capitals.h - TEXT IN CAPITALS as a sentence in small letters, and back.
 *
 * Both ways keep every character where it is, byte by byte, so that positions in a text stay true. A character whose
 * other case has another length stays as it is. */
#ifndef PK_TEXT_CAPITALS_H
#define PK_TEXT_CAPITALS_H
#include <stdbool.h>
#include <stddef.h>

/* whether a text has four capitals or more and no small letter; fewer are an abbreviation (USA) */
bool pk_capitals_are(const char *text, size_t size);
/* all but the first letter become small; with `english`, the word I stays */
void pk_capitals_fold(char *text, size_t size, bool english);
/* all letters become capitals; a sharp s becomes SS */
void pk_capitals_write(char *text, size_t size);
#endif
