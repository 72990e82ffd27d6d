/* viz.h - how one sentence was decoded, pass by pass, and pictures of it.
 *
 * A pk_viz is filled in three steps: the trace adds passes, pk_viz_finish() gives it the final
 * tokens and works out what became certain when, a writer draws it. Passes count from 1 and
 * positions from 0. Text in it may be anything: writers clean and escape whatever they put out. */
#ifndef PK_CLI_VIZ_H
#define PK_CLI_VIZ_H
#include "lines.h"

typedef enum pk_viz_state {                  /* of a position in a pass */
                            PK_VIZ_OUT,      /* not asked about */
                            PK_VIZ_WRONG,    /* the model's choice is not the final token */
                            PK_VIZ_RIGHT,    /* it is, but what comes before was not certain yet */
                            PK_VIZ_ACCEPTED, /* the token became certain in this pass */
                            PK_VIZ_CERTAIN,  /* it was before */
} pk_viz_state;

typedef enum pk_viz_guess { /* what was fed for a position, to ask about the next one */
                            PK_VIZ_NO_GUESS,
                            PK_VIZ_GUESS_PADDING,
                            PK_VIZ_GUESS_WRONG,
                            PK_VIZ_GUESS_LATE, /* right, but after a wrong one */
                            PK_VIZ_GUESS_ACCEPTED,
} pk_viz_guess;

#define PK_VIZ_UNKNOWN (-1.0) /* a probability that the pass was not asked for */
typedef struct pk_viz_cell {
    pk_viz_state state;
    pk_viz_guess guess;
    int32_t      best, guessed; /* tokens; -1: none */
    double probability; /* of the model's choice; of the final token once accepted; or unknown */
} pk_viz_cell;

typedef struct pk_viz_ask {
    int32_t position, fed_at; /* as in pk_trace_ask, but for a free prefix, which is left out */
    int32_t fed, best, parent;
    double  probability;
    bool    accepted;
} pk_viz_ask;

typedef struct pk_viz_token {
    int32_t id;
    double  probability;
    int32_t fixed;     /* the pass that made it certain; 0: none did */
    int32_t right;     /* the pass from which on the model always chose it; <= fixed */
    int32_t group, of; /* number of the group of neighbours fixed together, and its size */
} pk_viz_token;

typedef struct pk_viz_step { /* of a lattice: the edges to one position */
    int32_t  n_from, n_to;
    int32_t *from, *to;           /* tokens */
    float   *score;               /* (n_from, n_to) log-probabilities */
    int32_t  chosen_from, chosen; /* the path's edge, numbers in from and to; chosen -1: none */
} pk_viz_step;

typedef struct pk_viz {
    const char *sentence, *translation, *decode;
    const char *(*name)(const void *names, int32_t id); /* the piece of a token */
    const void   *names;
    pk_viz_ask   *ask; /* of all passes; those of pass i begin at first[i - 1] */
    size_t       *first;
    int32_t      *network; /* of each pass: 0 the model, 1 its drafter */
    size_t        n_ask, ask_room, n_passes, pass_room;
    size_t        sentences; /* in the trace; more than one cannot be shown */
    pk_viz_token *token;
    size_t        n;
    pk_viz_cell  *cell; /* (passes, tokens) */
    int32_t (*edge)[2]; /* from, to: positions */
    size_t       n_edges, n_groups;
    pk_viz_step *step; /* of the last lattice; then there is no grid to show */
    size_t       n_steps;
} pk_viz;

/* viz_trace.c */
void pk_viz_trace(void *user, const pk_trace_pass *pass); /* for pk_call_options; user: a pk_viz */
/* log_prob: of each token; may be NULL */
void               pk_viz_finish(pk_viz *v, const int32_t *token, const float *log_prob, size_t n);
void               pk_viz_free(pk_viz *v);
const pk_viz_cell *pk_viz_at(const pk_viz *v, size_t pass, size_t position); /* pass from 1 */
bool               pk_viz_drafts(const pk_viz *v, size_t pass); /* it ran on the drafter */
/* the positions that a pass filled, right or wrong, in order; the caller frees. Returns how many */
size_t pk_viz_filled(const pk_viz *v, size_t pass, int32_t **out);

/* viz_lattice.c: keeps the lattice of a pass; finds the path by the final tokens; the probability
 * of an edge; its picture, inline and as a file of its own */
void   pk_viz_keep_lattice(pk_viz *v, const pk_trace_pass *pass);
void   pk_viz_free_lattice(pk_viz *v);
void   pk_viz_choose(pk_viz *v);
double pk_viz_edge(const pk_viz_step *s, int32_t from, int32_t to);
void   pk_viz_lattice_body(pk_line_writer *w, const pk_viz *v);
void   pk_viz_lattice_svg(pk_line_writer *w, const pk_viz *v);

/* viz_put.c: text as it may stand in each format; what is no UTF-8 or a control becomes U+FFFD */
void  pk_viz_put(pk_line_writer *w, const char *text); /* as it is */
void  pk_viz_put_xml(pk_line_writer *w, const char *text);
void  pk_viz_put_dot(pk_line_writer *w, const char *text); /* between quotes */
char *pk_viz_clean(const char *text);                      /* the caller frees */
/* the piece of a token with a middle dot for a word's beginning; the caller frees */
char  *pk_viz_piece(const pk_viz *v, int32_t id);
double pk_viz_text_width(const char *text); /* about, in pixels at a size of 12 */

/* viz_svg.c */
void pk_viz_svg(pk_line_writer *w, const pk_viz *v);        /* a file of its own */
void pk_viz_svg_style(pk_line_writer *w);                   /* CSS, for both kinds */
void pk_viz_svg_labels(pk_line_writer *w, const pk_viz *v); /* inline: numbers of passes */
void pk_viz_svg_body(pk_line_writer *w, const pk_viz *v);   /* inline: graph and grid */
/* what pictures are made of: a rectangle that the caller closes, text squeezed into its room, a
 * token in quotation marks, the beginning of a picture */
void pk_viz_put_rect(pk_line_writer *w, double x, double y, double width, double height);
void pk_viz_put_text(pk_line_writer *w, double x, double y, const char *class, const char *text,
                     double room);
void pk_viz_put_piece(pk_line_writer *w, const pk_viz *v, int32_t id);
void pk_viz_put_open(pk_line_writer *w, double width, double height, const char *more);
/* the other formats */
void pk_viz_html(pk_line_writer *w, const pk_viz *v);
int  pk_viz_json(const pk_cli *c, pk_line_writer *w, const pk_viz *v); /* 0 or an exit code */
void pk_viz_dot(pk_line_writer *w, const pk_viz *v);
#endif
