/* subtitles.h - SubRip and WebVTT as passages: sentences over several cues, cues as tags.
 *
 * Numbers, times, settings, notes and styles are the input's bytes. */
#ifndef PK_MARKUP_SUBTITLES_H
#define PK_MARKUP_SUBTITLES_H
#include "markup/word_list.h"

/* text: valid UTF-8, borrowed for the life of the markup. A text without a single cue is refused. */
pk_status pk_subtitles_read(pk_text text, bool vtt, pk_markup *out);
/* the longest line of a cue, in characters, and how lines end: what the target is wrapped to */
typedef struct pk_subtitle_lines {
    size_t      longest;
    const char *end;
} pk_subtitle_lines;
pk_subtitle_lines pk_subtitles_lines(const pk_markup *m);
/* Shares out the words of a passage to its cues, in proportion to the text of each, and wraps the
 * lines of each cue. Sets `first` and `last` of the cues and gaps of words. */
void pk_subtitles_share(pk_passage *p, pk_subtitle_lines lines, pk_word_list *target);
#endif
