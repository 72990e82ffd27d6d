"""What the papers' tables have in Pronk: their rows, columns and titles. paper_tables.py measures and shows them; models are those of recipes/compare.sh."""
MAIN = 'newstest2014'
QUALITY = ('bleu', 'chrf2', 'trr')
SETS = ['newstest2014', 'parliament.test', 'tatoeba.test']


def row(label, model, decode, drafter=None, lexicon=None):
    return {'name': label, 'model': model, 'decode': decode, **({'drafter': drafter} if drafter else {}), **({'lexicon': lexicon} if lexicon else {})}


def at(depth, decode='greedy', label=None):
    return row(label or 'AT %s, %s' % (depth, 'greedy' if decode == 'greedy' else 'beam 5'), 'at-%s-more' % depth, decode)


def hrt(depth, k, more='', label=None):
    return row(label or 'HRT %s, k = %d' % (depth, k), 'hrt-%s' % depth, 'hrt:k=%d%s' % (k, more))


def pairs(depth):
    return row('two tokens a step, %s' % depth, 'pairs-%s' % depth, 'pairs')


def cmlm(iterations):
    return row('CMLM 6-6, %d iterations' % iterations, 'cmlm-6-6', 'cmlm:iterations=%d,lengths=5' % iterations)


def lattice(label, k, model='lattice-6-1', more=',delta=3'):
    return row(label, model, 'lattice:k=%d%s' % (k, more))


def gad(label, decode, drafter='gad-6-6-2', model='at-6-6', lexicon=None):
    return row(label, model, decode, drafter, lexicon)


GREEDY, BEAM = row('AT, greedy', 'at-6-6', 'greedy'), row('AT, beam 5', 'at-6-6', 'beam:size=5')
LEXICON = 'at-6-6.align'  # pronk align -m recipes/at-6-6 -i .. --save
RAW_BEAM = row('AT raw, beam 5', 'at-6-6-raw', 'beam:size=5')
# a downloaded model: on a GPU and on a CPU
HF = [row('greedy', 'hf', 'greedy'), gad('GAD, 2 layers', 'gad', 'gad-hf', 'hf'), gad('GAD, 2 layers, a lexicon', 'gad', 'gad-hf', 'hf', 'hf.align'),
      gad('GAD, 2 layers, its draft read again', 'gad:refine=1', 'gad-hf', 'hf'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3', 'gad-hf', 'hf'),
      gad('GAD++, beta 5, tau 3, a lexicon', 'gad:beta=5,tau=3', 'gad-hf', 'hf', 'hf.align'),
      row('beam 4', 'hf', 'beam:size=4'), row('beam 4 by draft and verify, no drafter', 'hf', 'gad-beam:size=4'),
      gad('beam 4 by draft and verify', 'gad-beam:size=4', 'gad-hf', 'hf')]
# id, title, columns, rows. A column is KIND:SET or KIND:BATCH; speeds are ratios to the table's first row, in one run
TABLES = {
    'hrt': [
        ('2', 'Table 2: depth of the encoder', ['bleu:newstest2014', 'words:1', 'speed:1'],
         [x for d in ('6-1', '12-1', '20-1') for x in (at(d), hrt(d, 2))]),
        ('3', 'Table 3: beams of both stages', ['bleu:newstest2014', 'words:1', 'speed:1'],
         [at('12-1')] + [hrt('12-1', 2, ',b_at=%d,b_nat=%d' % b, 'HRT 12-1, k = 2, b_at %d, b_nat %d' % b) for b in ((5, 5), (5, 1), (1, 1))]),
        ('4', 'Table 4: variants (COMET\'s weights cannot be had; chrF2 and token repetition instead)',
         ['bleu:' + s for s in SETS] + ['chrf2:newstest2014', 'trr:newstest2014', 'words:1', 'speed:1', 'passes:1'],
         [at(d, 'beam:size=5') for d in ('6-1', '12-1', '20-1')] + [at(d) for d in ('6-1', '12-1', '20-1')] +
         [hrt(d, k) for d in ('12-1', '20-1') for k in (2, 3, 4)] +
         [row('HRT 12-1, k = 2 alone', 'hrt-12-1-k2', 'hrt:k=2'), row('HRT 12-1, k = 2 alone, beams of 5', 'hrt-12-1-k2', 'hrt:k=2,b_at=5,b_nat=5')]),
        ('6-6', 'Six decoder layers, and Mask-Predict', ['bleu:' + s for s in SETS] + ['trr:newstest2014', 'words:1', 'speed:1', 'passes:1'],
         [at('6-6'), hrt('6-6', 2), hrt('6-6', 3), hrt('6-6', 4)] +
         [row('CMLM 6-6, %d iterations, %s' % (n, t), m, 'cmlm:iterations=%d,lengths=5' % n)
          for t, m in (('distilled', 'cmlm-6-6'), ('raw', 'cmlm-6-6-raw')) for n in (4, 10)]),
        ('5-f32', 'Table 5: in fp32', ['words:1', 'speed:1'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('5-f16', 'Table 5: in fp16', ['words:1', 'speed:1'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('cpu-6-6', 'Two CPU cores, int8: 6-6', ['words:1', 'speed:1', 'speed:32'], [at('6-6'), hrt('6-6', 2), hrt('6-6', 3), hrt('6-6', 4), cmlm(4), cmlm(10)]),
        ('cpu-12-1', 'Two CPU cores, int8: 12-1', ['words:1', 'speed:1', 'speed:32'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 3), hrt('12-1', 4)]),
        ('batches-12-1', 'Where each wins: speed by batch, 12-1', ['speed:1', 'speed:8', 'speed:32', 'speed:256'], [at('12-1'), hrt('12-1', 2), hrt('12-1', 4)]),
        ('batches-6-6', 'Where each wins: speed by batch, 6-6', ['speed:1', 'speed:8', 'speed:32', 'speed:256'], [at('6-6'), hrt('6-6', 2), cmlm(4)]),
        ('ablations', 'Ablations, HRT 12-1, k = 2', ['bleu:newstest2014', 'bleu:parliament.test'],
         [hrt('12-1', 2)] + [row(label, model, 'hrt:k=2') for label, model in (
             ('without the auxiliary tasks', 'hrt-12-1-alone'), ('lambda 0.5', 'hrt-12-1-lambda0.5'), ('lambda 2', 'hrt-12-1-lambda2'),
             ('most 0.5: also greedy, beam and cmlm', 'hrt-12-1-most0.5'), ('from scratch', 'hrt-12-1-scratch'))]),
    ],
    'gad': [
        ('1', 'Table 1: the methods', ['bleu:newstest2014', 'tokens:1', 'speed:1'],
         [BEAM, GREEDY, RAW_BEAM, row('AT raw, greedy', 'at-6-6-raw', 'greedy'),
          row('NAT alone, blocks of 25', 'gad-paper', 'blocks:block=25'), gad('GAD, 1 layer', 'gad', 'gad-6-6-1'), gad('GAD, 2 layers', 'gad'),
          gad('GAD, 2 layers, a chain, k = 10', 'gad:block=10,width=1'), gad('GAD, 2 layers, a tree of 32, k = 10', 'gad:block=10,nodes=32'),
          gad('GAD, 2 layers, a lexicon', 'gad', lexicon=LEXICON), gad('GAD, 2 layers, a lexicon, a tree of 32, k = 10', 'gad:block=10,nodes=32', lexicon=LEXICON),
          gad('GAD, 2 layers, its draft read again', 'gad:refine=1'), gad('GAD, paper\'s drafter, k = 25', 'gad:block=25,width=1', 'gad-paper'),
          gad('GAD++, beta 3, tau 1', 'gad:beta=3,tau=1'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3'),
          gad('GAD++, beta 5, tau 3, a lexicon', 'gad:beta=5,tau=3', lexicon=LEXICON), gad('GAD++, paper\'s drafter, k = 25, beta 5, tau 3', 'gad:block=25,width=1,beta=5,tau=3', 'gad-paper'),
          row('GAD, one network', 'gad-self', 'gad-self'), gad('beam 5 by draft and verify', 'gad-beam:size=5')]),
        ('2', 'Table 2: block size, on newstest2013, the paper\'s drafter, beta 3, tau 1', ['bleu:newstest2013', 'tokens:1', 'speed:1'],
         [GREEDY] + [gad('k = %d' % k, 'gad:block=%d,width=1,beta=3,tau=1' % k, 'gad-paper') for k in (10, 15, 20, 25, 30)]),
        ('3', 'Table 3: beta and tau, on newstest2013, the paper\'s drafter, k = 25', ['bleu:newstest2013', 'tokens:1'],
         [gad('beta %d, tau %d' % (b, t), 'gad:block=25,width=1,beta=%d,tau=%d' % (b, t), 'gad-paper') for b in (1, 3, 5) for t in (1, 2, 3, 4, 5) if b > 1 or t == 1]),
        ('5', 'Table 5: size of the drafter', ['tokens:1', 'speed:1'],
         [GREEDY, gad('1 layer', 'gad', 'gad-6-6-1'), gad('1 layer, masks alone', 'gad', 'gad-6-6-1-plain'), gad('2 layers', 'gad'), gad('3 layers', 'gad', 'gad-6-6-3'),
          gad('2 layers, its draft read again', 'gad:refine=1'), gad('2 layers, read again twice', 'gad:refine=2'),
          gad('6 layers and an encoder', 'gad', 'gad-paper')]),
        ('7', 'Table 7: profile, share of the time', ['share:encoder', 'share:self-attention', 'share:cross-attention', 'share:ffn', 'share:output', 'drafting:1'],
         [GREEDY, gad('GAD', 'gad'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3')]),
        ('8', 'Table 8: memory', ['memory:1'], [BEAM, GREEDY, gad('GAD', 'gad'), gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3')]),
        ('9', 'Table 9: token repetition', ['bleu:newstest2014', 'trr:newstest2014'],
         [GREEDY] + [row('CMLM, %d iterations' % n, 'cmlm-6-6', 'cmlm:iterations=%d,lengths=3' % n) for n in (4, 10)] +
         [gad('GAD', 'gad'), gad('GAD++, beta 3, tau 1', 'gad:beta=3,tau=1')]),
        ('cpu', 'Two CPU cores, int8', ['tokens:1', 'speed:1', 'speed:32'],
         [GREEDY, gad('GAD, 1 layer', 'gad', 'gad-6-6-1'), gad('GAD, 1 layer, a lexicon', 'gad', 'gad-6-6-1', lexicon=LEXICON),
          gad('GAD, 2 layers', 'gad'), gad('GAD, 2 layers, a lexicon', 'gad', lexicon=LEXICON), gad('GAD, 2 layers, a lexicon, a tree of 6', 'gad:block=6', lexicon=LEXICON),
          gad('GAD++, beta 5, tau 3, a lexicon', 'gad:beta=5,tau=3', lexicon=LEXICON), row('GAD, one network', 'gad-self', 'gad-self'), BEAM,
          gad('beam 5 by draft and verify', 'gad-beam:size=5')]),
        ('12-1', 'Verifier 12-1', ['bleu:newstest2014', 'tokens:1', 'speed:1'],
         [row('AT 12-1, greedy', 'at-12-1', 'greedy'), gad('GAD, 1 layer', 'gad', 'gad-12-1-1', 'at-12-1')]),
        ('hf', 'Verifier: a downloaded model (Hugging Face, raw text, its own vocabulary)', ['bleu:newstest2014', 'tokens:1', 'speed:1'], HF),
        ('hf-cpu', 'The same on two CPU cores, int8', ['tokens:1', 'speed:1', 'speed:32'], HF),
    ],
    'lattice': [
        ('1', 'Table 1: main results', ['bleu:newstest2014', 'ms:1', 'speed:1'],
         [RAW_BEAM, row('AT raw, greedy', 'at-6-6-raw', 'greedy'), BEAM, GREEDY, row('AT 12-1, greedy', 'at-12-1', 'greedy'), lattice('K = 64', 64),
          lattice('K = 64, candidates in the denominator', 64, more=',delta=3,normalise=candidates'),
          lattice('K = 64, looked up as in the paper', 64, more=',delta=3,by=distances'), lattice('K = 64, raw', 64, 'lattice-6-1-raw'),
          row('NAT, 6 layers', 'nat-6-6', 'nat')]),
        ('2', 'Table 2: K, on newstest2013, one length', ['bleu:newstest2013', 'ms:1'], [lattice('K = %d' % k, k, more=',delta=0') for k in (64, 32, 1)]),
        ('3', 'Table 3 and Figure 3: layers of the scorer, on newstest2013', ['bleu:newstest2013', 'speed:1'],
         [RAW_BEAM] + [lattice('%d layer%s' % (n, 's' if n > 1 else ''), 64, 'lattice-6-%d' % n) for n in range(1, 7)] + [row('NAT, 6 layers', 'nat-6-6', 'nat')]),
        ('4', 'Tables 4, 6, 7 and 9: English to German', ['bleu:' + s for s in SETS] + ['ms:1', 'speed:1'],
         [RAW_BEAM] + [lattice('%s, K = %d' % (text, k), k, 'lattice-6-1' + tail) for text, tail in (('distilled', ''), ('raw', '-raw')) for k in (32, 64, 128)]),
        ('5', 'Table 5: German to English, raw', ['bleu:newstest2014', 'ms:1', 'speed:1'],
         [dict(lattice('raw, K = %d' % k, k, 'lattice-6-1-de-en'), backwards=True) for k in (32, 64, 128)]),
        ('cpu', 'Two CPU cores, int8', ['ms:1', 'speed:1', 'speed:32'],
         [row('AT 6-6, beam 5', 'at-6-6', 'beam:size=5'), row('AT 6-6, greedy', 'at-6-6', 'greedy'), row('AT 12-1, greedy', 'at-12-1', 'greedy'),
          lattice('K = 64', 64)] + [lattice('K = %d, candidates in the denominator' % k, k, more=',delta=3,normalise=candidates') for k in (64, 32, 16)] +
         [row('NAT, 6 layers', 'nat-6-6', 'nat')]),
    ],
    'pairs': [(place + depth, title + depth, ['words:1', 'speed:1', 'speed:32', 'passes:1'], [at(depth), pairs(depth)])
              for place, title in (('', 'Speed: '), ('cpu-', 'Two CPU cores, int8: ')) for depth in ('6-6', '12-1')],
    'small': [('all', 'All methods', ['bleu:tatoeba.test', 'chrf2:tatoeba.test', 'trr:tatoeba.test', 'passes:1', 'tokens:1', 'speed:1'],
               [row('AT, greedy', 'at-3-3', 'greedy'), row('AT, beam 5', 'at-3-3', 'beam:size=5'),
                row('AT, as long as HRT, greedy', 'at-3-3-more', 'greedy'), row('AT, as long as HRT, beam 5', 'at-3-3-more', 'beam:size=5')] +
               [row('HRT, k = %d' % k, 'hrt-3-3', 'hrt:k=%d' % k) for k in (2, 3, 4)] +
               [row('HRT, k = 2, beams of 5', 'hrt-3-3', 'hrt:k=2,b_at=5,b_nat=5'),
                row('HRT, k = 2 alone for 3,000 updates more', 'hrt-3-3-k2', 'hrt:k=2'),
                row('HRT, k = 2 alone, beams of 5', 'hrt-3-3-k2', 'hrt:k=2,b_at=5,b_nat=5')] +
               [row('CMLM, %d iterations' % n, 'cmlm-3-3', 'cmlm:iterations=%d,lengths=5' % n) for n in (4, 10)] +
               [row('two tokens a step', 'pairs-3-3', 'pairs'), row('two tokens a step, beam 5', 'pairs-3-3', 'pairs:size=5'),
                row('lattice, the table alone', 'lattice-3-1', 'lattice:k=1,delta=0'), row('lattice, K = 64', 'lattice-3-1', 'lattice:k=64,delta=3')] +
               [gad(name, decode, 'gad-3-3-1', 'at-3-3') for name, decode in (
                   ('GAD, blocks of 10', 'gad:block=10'), ('GAD, block by cost', 'gad'), ('GAD++, beta 3, tau 1', 'gad:block=10,beta=3,tau=1'))] +
               [row('the one network\'s own greedy', 'gad-self', 'greedy'), row('GAD, one network', 'gad-self', 'gad-self'),
                row('GAD, one network, blocks of 4', 'gad-self', 'gad-self:block=4')]),
              ('later', 'What loses less and brings more', ['bleu:tatoeba.test', 'chrf2:tatoeba.test', 'trr:tatoeba.test', 'passes:1', 'tokens:1', 'speed:1'],
               [row('AT, greedy', 'at-3-3', 'greedy'), row('HRT, k = 2 alone', 'hrt-3-3-alone', 'hrt:k=2'),
                row('HRT, k = 2 alone, beams of 5', 'hrt-3-3-alone', 'hrt:k=2,b_at=5,b_nat=5')] +
               [gad('GAD, %s%s' % (layers, again), 'gad:block=10' + more, drafter, 'at-3-3') for layers, drafter in (('1 layer', 'gad-3-3-1'), ('2 layers', 'gad-3-3-2'))
                for again, more in ((', a chain', ',width=1'), (', a tree of 10', ''), (', a tree of 32', ',nodes=32'), (', a chain, read again', ',width=1,refine=1'),
                                    (', a tree of 32, read again', ',nodes=32,refine=1'))] +
               [gad('GAD, %s, a lexicon, a tree of %d' % (layers, n), 'gad:block=10,nodes=%d' % n, drafter, 'at-3-3', 'at-3-3.align')
                for layers, drafter in (('1 layer', 'gad-3-3-1'), ('2 layers', 'gad-3-3-2')) for n in (10, 32)])],
}
FIGURE = [GREEDY, gad('GAD++, beta 5, tau 3', 'gad:beta=5,tau=3')]
# tables that say themselves where they are measured
CPU = {'device': 'cpu', 'type': 'i8', 'threads': 2}
FIXED = {'all': dict(CPU, threads=1), 'later': dict(CPU, threads=1), '5-f32': {'type': 'f32'}, '5-f16': {'type': 'f16'}, 'cpu': CPU, 'cpu-6-6': CPU, 'cpu-12-1': CPU}
HEADS = {'bleu': 'BLEU %s', 'chrf2': 'chrF2 %s', 'trr': 'repeated tokens, %%, %s', 'words': 'source words/s, batch %s', 'ms': 'ms a sentence, batch %s', 'speed': 'speed, batch %s',
         'passes': 'passes a sentence', 'tokens': 'tokens a pass of the model', 'share': '%s', 'drafting': 'of it in the drafter\'s passes',
         'memory': 'memory, MB'}
PAPERS = [('small', 'Small networks', 'recipes/compare.sh --small --train'),
          ('hrt', 'Hybrid-regressive translation and Mask-Predict', 'recipes/compare-hrt.yml, compare-cmlm.yml'),
          ('gad', 'Draft and verify (Xia et al. 2022)', 'recipes/compare-gad.yml'),
          ('lattice', 'Lattices (Deng and Rush 2021)', 'recipes/compare-lattice.yml')]
NOTES = {'small': 'What each method learns from the same real text in minutes on a CPU core: three layers, d = 128, 4,000 pieces, 226,497 distilled sentences of '
                  'at most ten words, 10,000 updates of 1,024 tokens (HRT and "as long as HRT": 8,000 more; drafter 5,000, one network 4,000). Sentences of nine '
                  'words leave little to do at once, and networks this small are fast at one token a step: the figures compare what was learned, and the passes '
                  '(speeds differ from case to case by more than the methods: greedy search of two equal networks has 1.00x and 0.83x). '
                  'HRT shares its updates between three k and the auxiliary tasks, so each k had a sixth of them: every second token is right in 54 % of cases '
                  'where AT has 79 %, what lies between in 76 %; 3,000 updates for k = 2 alone bring 5 BLEU. The second table is of HRT for k = 2 alone from the beginning, without auxiliary tasks and at a higher rate, '
                  'and of drafters that say what follows known tokens and can read their own drafts (the drafter of the first table is of masks alone, and its draft a chain): a tree of as many guesses brings a fifth '
                  'more tokens a pass than a chain, one of 32 a third, and with a lexicon (`pronk align -m recipes/small/at-3-3 -i recipes/corpus/short.en recipes/corpus/short.de --save recipes/small/at-3-3.align -o /dev/null`) '
                  'nearly half. None of it stands for the networks below.',
         'hrt': 'One file serves all three k. The tables time all rows in turns, sentence by sentence. One model after the other (`pronk bench --batch 1 --repeat 5 --limit 300`, '
                'no `--interleave`) gives AT 12-1 greedy 11,763 source words/s, k = 2 17,175 (1.46x; 4.5 times the 3.8 thousand of the paper), k = 3 20,784 (1.77x), k = 4 23,274 (1.98x). '
                'BLEU falls short: k = 2 is 1.6 below AT with as many updates on newstest2014, 1.2 on parliament.test, 2.9 on tatoeba.test; beams of 5 in both stages '
                'bring back 0.4. AT has 94 % of its training tokens right by then, HRT 84 %: one decoder layer has to guess two to four tokens ahead, and had it for half of 15,000 updates. '
                'More updates, and k = 2 alone, are what small networks gained most from. The teacher of the distilled text, which Table 4 of the paper has as a row (6-6, d = 512, both corpora; '
                'figures of the corpus, not measured here): BLEU greedy / beam 4 newstest2014 21.1 / 22.0, tatoeba.test 49.2 / 50.0.',
         'gad': 'Table 4 (big size) has speeds alone, with random weights and scripted acceptance (`bench/gad_speed.c`). Table 6 (an ensemble of teachers) is not repeated. '
                'A first drafter for the downloaded model is not in the tables: two layers, `gad:block=10,cuts=2,next=yes,fall=0.8,glancing=no`, learned from 80,000 of its own translations in 72 minutes on a '
                'CPU core (3,114 updates of 1,024 tokens). On 60 lines of newstest2014 (`pronk bench --batch 1 --type i8 --interleave --repeat 3`) it brings 1.86 tokens a pass of the model as a chain of 10, '
                '2.30 as a tree of 10 and 2.51 of 32; with its lexicon `gad` is 1.08 times as fast as greedy search on one core, where a pass of the model checks 5.9 tokens in 1.5 times the time of one, and 1.01 times on two. '
                'On the H200, f16, all of newstest2014 is the same bytes by `gad` with `gad-6-6-2` as by `greedy`, in f16 and in f32, one sentence at a time and 32, and by `gad:beta=5,tau=0`; greedy has BLEU 20.88, '
                '`gad:beta=3,tau=1` 20.89, `gad:beta=5,tau=3` 20.88 (batches of 128, where few drafts pay). In batches of 8 and of 32 (512 lines, `pronk bench --interleave --repeat 2`) `gad` is 1.02 and 1.01 times as fast as greedy search, '
                '`gad:block=10` brings 3.12 tokens a pass of the model at 0.90 and 0.85 times its speed. '
                'Speeds on two CPU cores differ between minutes by more than between methods. The table was taken twice with this program: twenty minutes before, with 256 lines, two layers and a lexicon had 1.12x, a tree of 6 1.10x and GAD++ 1.22x, and the program '
                'before it was as slow in those minutes. 150 lines gave 1.40x and 1.43x (two runs), and 1.45x and 1.48x with `gad:nodes=6`. '
                'Table 10 is the settings of the recipes, Table 11 pages of `pronk viz -d gad`. '
                'Blockwise decoding (Stern et al. 2018), as quoted in Table 4 of the paper, is not ours.',
         'lattice': 'The first row of a table is what its speeds are compared with; the paper compares with beam 5 on raw text. IWSLT14 and WMT16 En-Ro are not repeated: their tables '
                    'have their counterpart in the rows by K, raw and distilled. Table 8 is the settings of recipes/compare-lattice.yml. Figure 1: candidates counted over the million raw pairs; '
                    'looked up by distances as in the paper, or by neighbours, which is our own; at K = 64 by neighbours is 10.5 points above one list. '
                    'With random weights and a table of 20,000 pairs, on the H200 in f16 (`bench/lattice.py latency`, 200 lines of newstest2014, text and all): 0.62 ms a sentence of 19 tokens, 0.82 of 33, 1.13 of 47; '
                    'with normalise=candidates 0.59 of 20, 0.66 of 33, 0.79 of 48. Of the 0.82 ms 0.45 are the pass, 0.24 look-ups and search on the host.'}
FIGURES = [('recall', 'Figure 1: recall of candidates, %', 'K'), ('ranks', 'Figure 2: ranks before the search, % of tokens', 'rank by the edges from the token before'),
           ('latency', 'Figure 4: ms a sentence, by part', 'tokens of the output')]
