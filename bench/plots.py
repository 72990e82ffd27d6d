"""Plots as SVG: bars, histograms and lines, from numbers alone."""
COLOURS = ['#06c', '#c60', '#393', '#939', '#666']


def escape(text):
    return text.replace('&', '&amp;').replace('<', '&lt;')


def begin(width, height, title):
    return ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">' % (width, height),
            '<rect width="%d" height="%d" fill="white"/><text x="10" y="20">%s</text>' % (width, height, escape(title))]


def save(path, parts):
    with open(path, 'w', encoding='utf-8') as f:
        f.write('\n'.join(parts + ['</svg>']) + '\n')


def bars(rows, title, path, width=640):
    """Ratios by name."""
    height, most = 30 * len(rows) + 50, max(ratio for _, ratio in rows)
    out = begin(width, height, title)
    for i, (name, ratio) in enumerate(rows):
        y, length = 35 + 30 * i, (width - 330) * ratio / most
        out.append('<text x="250" y="%d" text-anchor="end">%s</text><rect x="260" y="%d" width="%.1f" height="20" fill="#06c"/>'
                   '<text x="%.1f" y="%d">%.2fx</text>' % (y + 14, escape(name), y, length, 266 + length, y + 14, ratio))
    save(path, out)


def histogram(values, title, path, width=640, height=300, step=0.25):
    """How many values there are, by steps."""
    counts = {}
    for value in values:
        counts[int(value / step)] = counts.get(int(value / step), 0) + 1
    last, most, left, bottom = max(counts) + 1, max(counts.values()), 40, height - 40
    wide = (width - left - 20) / last
    out = begin(width, height, title)
    for i, n in sorted(counts.items()):
        high = (bottom - 40) * n / most
        out.append('<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="#06c"><title>%.2f to %.2f: %d lines</title></rect>'
                   % (left + i * wide, bottom - high, wide - 1, high, i * step, (i + 1) * step, n))
    for x in range(int(last * step) + 1):
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%dx</text>' % (left + x / step * wide, bottom + 16, x))
    save(path, out)


def tick_step(most):
    """A round step that cuts 0 .. most into five parts or fewer."""
    step = 10.0 ** -6
    while most / step > 5:
        for factor in (2, 2.5, 2):
            step *= factor
            if most / step <= 5:
                break
    return step


def lines(series, title, xlabel, path, width=640, height=320):
    """Lines by name, each of points (x, y); x values are evenly spaced, y begins at 0."""
    xs = sorted({x for points in series.values() for x, _ in points})
    most = max(y for points in series.values() for _, y in points) * 1.05
    left, bottom, right = 55, height - 45, width - 175
    at_x = lambda x: left + (right - left) * (xs.index(x) + 0.5) / len(xs)
    at_y = lambda y: bottom - (bottom - 35) * y / most
    out, step = begin(width, height, title), tick_step(most)
    for i in range(int(most / step) + 1):
        y = at_y(i * step)
        out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%g</text>'
                   % (left, right, y, y, left - 6, y + 4, round(i * step, 6)))
    for x in xs:
        out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % (at_x(x), bottom + 16, x))
    out.append('<text x="%.1f" y="%d" text-anchor="middle">%s</text>' % ((left + right) / 2, height - 10, escape(xlabel)))
    for i, (name, points) in enumerate(series.items()):
        colour = COLOURS[i % len(COLOURS)]
        out.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (colour, ' '.join('%.1f,%.1f' % (at_x(x), at_y(y)) for x, y in points)))
        out += ['<circle cx="%.1f" cy="%.1f" r="3" fill="%s"><title>%s, %s: %.4g</title></circle>' % (at_x(x), at_y(y), colour, escape(name), x, y) for x, y in points]
        out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (right + 10, 45 + 18 * i, colour, escape(name)))
    save(path, out)
