/* lesson_asks.h - a sentence of a lesson as the pass that asks a session for the same: for tests
 * that hold training and decoding against each other. */
#ifndef PK_TESTS_LESSON_ASKS_H
#define PK_TESTS_LESSON_ASKS_H
#include "decode/pass.h"
#include "task/lesson.h"

/* Adds an ask for each input of the sentence, on top of an empty history: ask i + 1 is input i. A
 * question asks for the log-probability of its target, which stays the lesson's memory. */
void lesson_asks(const pk_lesson *l, int32_t sentence, pk_pass *out);
#endif
