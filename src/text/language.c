/* language.c - the table of languages: which dots do not end a sentence.
 *
 * Only words that hardly ever end a sentence are listed. Those that may ("etc.", "usw.", "Inc.")
 * are left to ICU: it does not break before a small letter, which is right nearly always.
 * Lists are searched as text, so a word must have a space on either side. */
#include "text/language.h"

#include <string.h>

// clang-format off
static const pk_language_rules table[] = {
    /* English is first: it also serves languages that are not listed. */
    { .code = "en",
      .always = " mr mrs ms messrs mme dr drs prof rev hon fr sr st mt gen col lt maj capt cmdr "
                "sgt cpl pvt adm gov pres sen rep supt det insp amb e.g i.e eg ie viz cf vs "
                "approx resp incl dept est asst assn ",
      .before_number = " no nos p pp vol vols art arts sec ch chap fig figs eq eqs ref refs par "
                       "para jan feb mar apr jun jul aug sep sept oct nov dec ca circa c tel "
                       "ext ver v ",
      .starters = " the a an this that these those it he she we they you i in on at by for from "
                  "with and but or so if when while as after before there here his her its our "
                  "their what who why how where not no yes however although since because both "
                  "many some all " },
    { .code = "de",
      .always = " dr prof dipl ing hr hrn fr frl st z.b d.h u.a i.d.r u.u v.a s.o s.u o.ä m.e "
                "i.a z.t z.zt bzw ca vgl sog evtl ggf inkl exkl zzgl abzgl bspw insb mind max "
                "min geb gest gem lt rd urspr verh vorm mag kath ev stellv allg bes dt engl frz "
                "ital lat österr schweiz einschl ausschl hrsg gegr reg zit mr mrs mrd mio tsd ",
      .before_number = " nr nrn art abs s bd kap ziff abb tab lit anm fn rn rz kl tel jan feb "
                       "mär apr jun jul aug sep sept okt nov dez paragr aufl jg str ",
      .starters = " der die das den dem ein eine einen einem einer es er sie wir ich ihr du man "
                  "und aber oder doch denn dann da dies diese dieser dieses jedoch in im an am "
                  "auf aus bei beim mit nach von vom vor zu zum zur für auch wenn als was wer "
                  "wie wo warum nicht nur so hier dort danach damit deshalb daher dabei seit "
                  "während alle viele mein sein ",
      .ordinals = true, .inward_quotes = true },
    { .code = "fr",
      .always = " m mm mme mmes mlle mlles mgr dr drs pr prof me st ste p.ex c.-à-d càd cf gén "
                "lt cdt sgt resp ",
      .before_number = " n no p pp art al chap fig t tél réf vol éd janv févr avr juil sept oct "
                       "nov déc ",
      .starters = " le la les l un une des ce cette ces cet il elle ils elles on nous vous je j "
                  "tu et mais ou donc or ni car en dans sur pour par avec à au aux de du d si "
                  "quand comme c s n qui que quoi où pourquoi comment ainsi après avant depuis "
                  "son sa ses leur leurs " },
    { .code = "es",
      .always = " sr sra sres sras srta dr dra drs d dña prof profa lic ing arq gral cnel cap "
                "tte sto sta fr ud uds vd vds p.ej ej ee.uu av avda pág págs aprox admón dpto ",
      .before_number = " n no núm nº p pp art arts cap fig vol t tel ref ene feb mar abr may jun "
                       "jul ago sep sept oct nov dic ",
      .starters = " el la los las un una unos unas lo este esta estos estas ese esa eso esto y e "
                  "o pero si no en con por para de del al a que como cuando donde se su sus él "
                  "ella ellos yo nosotros también además sin sobre desde hasta entre tras según "
                  "mientras porque " },
    { .code = "it",
      .always = " sig sigg sig.ra dr dott dott.ssa prof prof.ssa ing avv arch geom rag on sen "
                "mons p.es ad es s ss gen col ten cap magg ecc.mo cfr ca vs spett egr gent ",
      .before_number = " n nn p pp pag pagg art artt cap fig vol t tel gen feb mar apr mag giu "
                       "lug ago set ott nov dic ",
      .starters = " il lo la i gli le l un uno una questo questa questi queste quello quella è e "
                  "ed ma o se non in con per da di del della nel nella a al alla che chi come "
                  "quando dove si suo sua anche inoltre dopo prima secondo mentre perché " },
    { .code = "pt",
      .always = " sr sra srs sras srta dr dra drs prof profa eng arq exmo exma gen cel cap ten "
                "sgto d sto sta p.ex ex av pág págs aprox depto v.exa ",
      .before_number = " n no nº núm p pp art arts cap fig vol t tel ref jan fev mar abr mai jun "
                       "jul ago set out nov dez ",
      .starters = " o a os as um uma uns umas este esta isto esse essa isso e mas ou se não em "
                  "no na nos nas com por para de do da ao à que como quando onde ele ela eles "
                  "nós eu também além sem sobre desde até entre após segundo enquanto porque " },
    { .code = "nl",
      .always = " dhr mevr mw dr drs ir ing mr prof ds st z.k.h h.m o.a bijv d.w.z m.a.w i.p.v "
                "t.a.v m.b.t o.l.v i.v.m n.a.v ca max min resp incl excl evt kol kap lt ",
      .before_number = " nr nrs p pp blz art afb fig vol tel jan feb mrt apr jun jul aug sep "
                       "sept okt nov dec ",
      .starters = " de het een dit dat deze die hij zij ze wij we ik jij je u er en maar of want "
                  "dus in op aan bij met voor van naar om als toen wanneer wat wie waar hoe ook "
                  "niet na sinds tijdens daarom daarna zijn haar hun " },
    { .code = "ru",
      .always = " г гг гр г-н г-жа проф акад доц инж ул пр просп пл пер д кв т.е т.к т.н напр св "
                "ср тов ген полк кап лейт респ обл ",
      .before_number = " стр с рис табл гл п пп ст ч т тел вып изд № ",
      .starters = " он она оно они мы вы я ты это этот эта эти тот та те и а но или в во на по с "
                  "со к ко о об от до из за для при если когда как что кто где почему так также "
                  "уже не все после " },
    { .code = "pl",
      .always = " dr prof mgr inż np tj tzn tzw ks św ul al im gen płk kpt por red godz ",
      .before_number = " nr str s art ust pkt rys tab t tel ",
      .starters = "", .ordinals = true },
    { .code = "cs",
      .always = " dr prof ing mgr mudr judr phdr doc tzv tzn např resp gen plk kpt ul nám sv ",
      .before_number = " č čís str s obr tab tel odst čl ",
      .starters = "", .ordinals = true },
    { .code = "da",
      .always = " dr hr fr prof f.eks bl.a dvs ca evt inkl pga mht vedr kl ",
      .before_number = " nr s bd kap stk art fig tlf ",
      .starters = "", .ordinals = true,
      .inward_quotes = true },
    { .code = "sv",
      .always = " dr prof t.ex bl.a dvs d.v.s ca s.k fr.o.m t.o.m jfr resp kl ",
      .before_number = " nr s bd kap fig art tel ",
      .starters = "" },
    { .code = "fi",
      .always = " tri prof esim ts eli ym mm ns n klo os ",
      .before_number = " nro s luku kuva ",
      .starters = "", .ordinals = true },
    { .code = "hu",
      .always = " dr prof ifj id özv pl kb ún ill vö ",
      .before_number = " sz o old tel ",
      .starters = "", .ordinals = true },
};
// clang-format on

const pk_language_rules *pk_language_rules_find(const char *code) {
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].code, code) == 0) return &table[i];
    return &table[0];
}

bool pk_language_has(const char *list, const char *word, size_t size) {
    enum { LONGEST = 46 };
    char key[LONGEST + 2] = " ";
    if (!list || size == 0 || size > LONGEST - 1) return false;
    memcpy(key + 1, word, size);
    key[size + 1] = ' ';
    return memmem(list, strlen(list), key, size + 2) != NULL;
}
