// SPDX-License-Identifier: BSD-3-Clause
// What the web pages of all programs share: the page's data, theme, numbers with units, tables that
// sort and filter, and plots (by uPlot) with one axis of time, for mouse and keyboard.
'use strict';

const Page = (() => {
  const data = () => JSON.parse(document.getElementById('data').textContent);

  // Elements. Texts are never read as HTML.
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
      else if (value === true) made.setAttribute(name, '');
      else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
    }
    made.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return made;
  }

  // Numbers.
  const digits = (value, most) => String(Number(value.toPrecision(most)));
  function scaled(value, steps, most = 4) {
    const size = Math.abs(Number(value.toPrecision(most)));
    const step = steps.find(([factor]) => size >= factor) ?? steps[steps.length - 1];
    return `${digits(value / step[0], most)} ${step[1]}`;
  }
  const TIMES = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
  const time = (ns, most = 4) => (ns === 0 ? '0 s' : scaled(ns, TIMES, most));
  const seconds = (s) => time(s * 1e9, 9);
  // Marks of an axis of seconds: all in the unit of the largest, with the digits that tell them apart.
  function timeMarks(values) {
    const most = Math.max(...values.map(Math.abs)) * 1e9;
    const [factor, unit] = TIMES.find(([size]) => most >= size) ?? TIMES[3];
    const step = values.length > 1 ? (Math.abs(values[1] - values[0]) * 1e9) / factor : 1;
    const isWhole = (digits) => Math.abs(step * 10 ** digits - Math.round(step * 10 ** digits)) < 1e-6;
    const decimals = [...Array(10).keys()].find(isWhole) ?? 9;
    return values.map((value) => `${Number(((value * 1e9) / factor).toFixed(decimals))} ${unit}`);
  }
  const bytes = (value) => scaled(value, [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']]);
  const rate = (value) =>
    scaled(value, [[1e12, 'Tb/s'], [1e9, 'Gb/s'], [1e6, 'Mb/s'], [1e3, 'kb/s'], [1, 'b/s']]);
  const whole = (value) => Math.round(value).toLocaleString('en-US');

  // Theme: that of the system until the button is pressed.
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const redraws = [];
  const redraw = () => redraws.forEach((draw) => draw());
  function setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    redraw();
  }
  setTheme(dark.matches ? 'dark' : 'light');
  let chosen = false;
  dark.addEventListener('change', () => chosen || setTheme(dark.matches ? 'dark' : 'light'));
  function themeButton() {
    const button = element('button', { type: 'button', id: 'theme' });
    const label = () => {
      const to = document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark';
      button.textContent = to === 'dark' ? 'Dark' : 'Light';
      button.setAttribute('aria-label', `Show the page in ${to} colours`);
      return to;
    };
    button.addEventListener('click', () => {
      chosen = true;
      setTheme(label());
      label();
    });
    dark.addEventListener('change', label);
    label();
    return button;
  }
  let beforePrint = null;
  addEventListener('beforeprint', () => {
    beforePrint = document.documentElement.dataset.theme;
    setTheme('light');
  });
  addEventListener('afterprint', () => beforePrint && setTheme(beforePrint));
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

  // Tables. A column: {key, title, help, number, keep, text(row), value(row), link(row)}.
  const MOST_SHOWN = 200;
  function compare(a, b) {
    const none = (value) => value === null || value === undefined || value === '';
    if (none(a) || none(b)) return none(a) - none(b);
    return typeof a === 'number' && typeof b === 'number' ? a - b : String(a).localeCompare(String(b), 'en', { numeric: true });
  }
  function table(place, { id, title, columns, rows, of, onRow, isCurrent, rowId }) {
    let order = null, descending = false, all = false;
    const input = element('input', { type: 'search', id: `${id}-filter`, class: 'grow', placeholder: 'words that a row must have' });
    const count = element('span', { class: 'count', role: 'status', id: `${id}-count` });
    const more = element('button', { type: 'button', onclick: () => { all = true; show(); } });
    const body = element('tbody');
    const text = (column, row) => (column.text ? column.text(row) : String(row[column.key] ?? ''));
    const value = (column, row) => (column.value ? column.value(row) : row[column.key]);
    const heads = columns.map((column) => element('th', { scope: 'col', class: column.number ? 'number' : '', 'aria-sort': 'none', title: column.help },
      element('button', { type: 'button', class: 'plain', onclick: () => sort(column) }, column.title)));
    const searched = rows.map((row) => columns.map((column) => text(column, row)).join('\t').toLowerCase());
    function sort(column) {
      descending = order === column ? !descending : Boolean(column.number);
      order = column;
      show();
    }
    function cell(column, row) {
      const link = column.link?.(row);
      const content = link ? element('a', { href: link }, text(column, row)) : text(column, row);
      return element('td', { class: column.number ? 'number' : column.keep ? 'keep' : '', title: column.hint?.(row) }, content);
    }
    function chosenRows() {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      const found = rows.filter((row, index) => words.every((word) => searched[index].includes(word)));
      if (order) found.sort((a, b) => {
        const x = value(order, a), y = value(order, b);
        const none = (v) => v === null || v === undefined || v === '';
        return none(x) || none(y) ? compare(x, y) : (descending ? -1 : 1) * compare(x, y);
      });
      return found;
    }
    function show() {
      const found = chosenRows();
      const shown = all ? found : found.slice(0, MOST_SHOWN);
      heads.forEach((head, index) => head.setAttribute('aria-sort',
        columns[index] === order ? (descending ? 'descending' : 'ascending') : 'none'));
      body.replaceChildren(...shown.map((row) => element('tr', {
        id: rowId?.(row), 'aria-current': isCurrent?.(row) ? 'true' : null,
        onclick: onRow ? (event) => event.target.closest('a') || onRow(row) : null,
      }, columns.map((column) => cell(column, row)))));
      const part = of > rows.length ? `; the page has ${whole(rows.length)} of ${whole(of)}` : '';
      count.textContent = `${whole(found.length)} of ${whole(rows.length)} rows${part}`;
      more.textContent = `Show all ${whole(found.length)}`;
      more.hidden = shown.length === found.length;
    }
    input.addEventListener('input', show);
    place.replaceChildren(
      element('div', { class: 'bar' }, element('label', { for: `${id}-filter` }, 'Filter'), input, count, more),
      element('div', { class: 'rows', tabindex: 0, role: 'region', 'aria-label': `${title}, table` },
        element('table', { class: 'data', id },
          element('caption', { class: 'hidden-text' }, `${title}. The buttons in the headers sort.`),
          element('thead', {}, element('tr', {}, heads)), body)));
    show();
    return {
      show,
      filter(words) { input.value = words; show(); },
      // Shows a row, whatever the filter hides, in the middle of the table.
      reveal(row) {
        if (!chosenRows().slice(0, all ? undefined : MOST_SHOWN).includes(row)) { input.value = ''; all = true; }
        show();
        const shown = document.getElementById(rowId(row)), frame = shown.closest('.rows');
        frame.scrollTop = shown.offsetTop - frame.clientHeight / 2;
      },
    };
  }

  // Marks of plots, each with a shape of its own; `r` is its size.
  const SHAPES = {
    dot(path, x, y, r) { path.moveTo(x + r * 0.6, y); path.arc(x, y, r * 0.6, 0, 2 * Math.PI); },
    cross(path, x, y, r) { path.moveTo(x - r, y - r); path.lineTo(x + r, y + r); path.moveTo(x - r, y + r); path.lineTo(x + r, y - r); },
    triangle(path, x, y, r) { path.moveTo(x, y - r * 1.2); path.lineTo(x + r * 1.1, y + r * 0.8); path.lineTo(x - r * 1.1, y + r * 0.8); path.closePath(); },
    tick(path, x, y, r) { path.moveTo(x - r * 1.3, y); path.lineTo(x + r * 1.3, y); },
    diamond(path, x, y, r) { path.moveTo(x, y - r * 1.5); path.lineTo(x + r * 1.2, y); path.lineTo(x, y + r * 1.5); path.lineTo(x - r * 1.2, y); path.closePath(); },
    square(path, x, y, r) { path.rect(x - r * 0.9, y - r * 0.9, r * 1.8, r * 1.8); },
    plus(path, x, y, r) { path.moveTo(x - r * 1.2, y); path.lineTo(x + r * 1.2, y); path.moveTo(x, y - r * 1.2); path.lineTo(x, y + r * 1.2); },
  };
  const FILLED = new Set(['dot', 'diamond']);
  const SVG = 'http://www.w3.org/2000/svg';
  function icon(series) {
    const svg = document.createElementNS(SVG, 'svg'), path = document.createElementNS(SVG, 'path');
    svg.setAttribute('viewBox', '-7 -7 14 14');
    svg.setAttribute('aria-hidden', 'true');
    const words = [];
    const pen = {
      moveTo: (x, y) => words.push(`M${x} ${y}`), lineTo: (x, y) => words.push(`L${x} ${y}`),
      closePath: () => words.push('Z'), rect: (x, y, w, h) => words.push(`M${x} ${y}h${w}v${h}h${-w}Z`),
      arc: (x, y, r) => words.push(`M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`),
    };
    if (series.shape) SHAPES[series.shape](pen, 0, 0, 4.5);
    else words.push('M-7 0L7 0');
    path.setAttribute('d', words.join(''));
    path.setAttribute('stroke', `var(--${series.colour})`);
    path.setAttribute('stroke-width', series.shape ? '1.8' : '3');
    path.setAttribute('fill', FILLED.has(series.shape) ? `var(--${series.colour})` : 'none');
    svg.append(path);
    return svg;
  }

  // Plots that show the same span of time. onView(from, to): seconds, after each change.
  function timeGroup(onView) {
    const group = { plots: [], full: [0, 1], view: [0, 1], focus: null, busy: false };
    group.show = (from, to) => {
      if (!(to > from) || group.busy) return;
      group.busy = true;
      group.view = [from, to];
      group.plots.forEach((plot) => plot.setScale('x', { min: from, max: to }));
      group.busy = false;
      onView(from, to);
    };
    group.reset = () => group.show(...group.full);
    group.zoom = (factor) => {
      const [from, to] = group.view, middle = (from + to) / 2, half = ((to - from) / 2) * factor;
      group.show(Math.max(middle - half, group.full[0]), Math.min(middle + half, group.full[1]));
    };
    group.pan = (share) => {
      const [from, to] = group.view, wanted = (to - from) * share;
      const shift = Math.min(Math.max(wanted, group.full[0] - from), group.full[1] - to);
      group.show(from + shift, to + shift);
    };
    group.key = (event) => {
      const actions = {
        ArrowLeft: () => group.pan(-0.2), ArrowRight: () => group.pan(0.2),
        '+': () => group.zoom(0.5), '=': () => group.zoom(0.5), '-': () => group.zoom(2),
        0: group.reset, Home: group.reset, Escape: group.reset,
      };
      const action = actions[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      action();
      event.preventDefault();
    };
    group.setFocus = (focus) => { group.focus = focus; group.plots.forEach((plot) => plot.redraw(false)); };
    group.clear = () => { group.plots.forEach((plot) => plot.destroy()); group.plots = []; group.focus = null; };
    redraws.push(() => group.plots.forEach((plot) => plot.redraw(false)));
    return group;
  }

  // The series' points as the columns of uPlot: each row has the point of one series.
  function columnsOf(series) {
    const points = [];
    series.forEach((one, index) => one.t.forEach((t, at) => points.push([t, index, one.y[at]])));
    points.sort((a, b) => a[0] - b[0]);
    const columns = [points.map((point) => point[0]), ...series.map(() => Array(points.length).fill(null))];
    points.forEach(([, index, y], row) => { columns[index + 1][row] = y; });
    return columns;
  }

  function firstAt(times, t) {
    let low = 0, high = times.length;
    while (low < high) { const middle = (low + high) >> 1; if (times[middle] < t) low = middle + 1; else high = middle; }
    return low;
  }

  function drawMarks(plot, series) {
    const { ctx, bbox } = plot, ratio = devicePixelRatio;
    const [from, to] = [plot.scales.x.min, plot.scales.x.max];
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left - 4, bbox.top - 4, bbox.width + 8, bbox.height + 8);
    ctx.clip();
    series.forEach((one, index) => {
      if (!one.shape || !plot.series[index + 1].show) return;
      const path = new Path2D();
      for (let at = firstAt(one.t, from); at < one.t.length && one.t[at] <= to; ++at)
        SHAPES[one.shape](path, plot.valToPos(one.t[at], 'x', true), plot.valToPos(one.y[at], 'y', true), (one.size ?? 4) * ratio);
      ctx.lineWidth = 1.6 * ratio;
      ctx.strokeStyle = ctx.fillStyle = colour(one.colour);
      if (FILLED.has(one.shape)) ctx.fill(path); else ctx.stroke(path);
    });
    ctx.restore();
  }

  // The moment that was chosen: its span, a line, and a ring where it has a place.
  function drawFocus(plot, focus, hasPlace) {
    const { ctx, bbox } = plot, ratio = devicePixelRatio;
    const x = plot.valToPos(focus.at, 'x', true);
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    const end = plot.valToPos(focus.end, 'x', true);
    ctx.fillStyle = colour('shade');
    ctx.fillRect(x, bbox.top, Math.max(end - x, 2 * ratio), bbox.height);
    ctx.strokeStyle = colour('bad');
    ctx.lineWidth = 1.4 * ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    if (hasPlace && focus.place !== null) {
      ctx.setLineDash([]);
      ctx.lineWidth = 2.4 * ratio;
      ctx.beginPath();
      ctx.arc(x, plot.valToPos(focus.place, 'y', true), 10 * ratio, 0, 2 * Math.PI);
      ctx.stroke();
    }
    ctx.restore();
  }

  // Moments that belong to no series, such as changes of a run: {t, text}; dashed lines.
  function drawMoments(plot, moments) {
    const { ctx, bbox } = plot, ratio = devicePixelRatio;
    ctx.save();
    ctx.strokeStyle = colour('bad');
    ctx.lineWidth = 1.4 * ratio;
    ctx.setLineDash([5 * ratio, 4 * ratio]);
    for (const { t } of moments) {
      if (t < plot.scales.x.min || t > plot.scales.x.max) continue;
      const x = Math.floor(plot.valToPos(t, 'x', true)) + 0.5;  // covers a whole pixel
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }
  // The texts of the moments near the cursor.
  const momentsAt = (plot, moments) => moments
    .filter(({ t }) => Math.abs(plot.valToPos(t, 'x') - plot.cursor.left) < 8).map(({ text }) => text).join('; ');

  // What is nearest to the cursor, in words.
  function nearest(plot, series, words) {
    const { left, top } = plot.cursor;
    if (left === null || left < 0) return '';
    let best = null, least = 40 * 40;
    const from = plot.posToVal(left - 40, 'x'), to = plot.posToVal(left + 40, 'x');
    series.forEach((one, index) => {
      if (!plot.series[index + 1].show) return;
      for (let at = firstAt(one.t, from); at < one.t.length && one.t[at] <= to; ++at) {
        if (one.y[at] === null) continue;
        const dx = plot.valToPos(one.t[at], 'x') - left, dy = (plot.valToPos(one.y[at], 'y') - top) * (one.shape ? 1 : 0.3);
        if (dx * dx + dy * dy < least) { least = dx * dx + dy * dy; best = [one, at]; }
      }
    });
    return best ? words(best[0], best[0].t[best[1]], best[0].y[best[1]]) : '';
  }

  const thinnedText = (series) => series.filter((one) => one.of > one.t.length)
    .map((one) => `${one.name}: ${whole(one.t.length)} of ${whole(one.of)} points shown`).join('; ');

  const axis = (more) => ({
    stroke: () => colour('muted'), grid: { stroke: () => colour('line'), width: 1 },
    ticks: { stroke: () => colour('line'), width: 1 }, font: '12px system-ui, sans-serif', ...more,
  });

  // A plot: {id, title, label, series, group, height, format(y), axisFormat(y), hasPlace, nothing, moments}.
  // A series: {name, t (s, rising), y, of, colour, shape or line or steps, hidden}.
  function plot(place, settings) {
    const series = settings.series.filter((one) => one.t.length > 0);
    const legend = element('div', { class: 'legend', role: 'group', 'aria-label': `Series of ${settings.title}` });
    const canvas = element('div', { class: 'canvas', id: settings.id, tabindex: 0, role: 'group', 'aria-roledescription': 'plot', 'aria-label': settings.label });
    const readout = element('p', { class: 'readout' });
    place.replaceChildren(element('figcaption', {}, element('h3', {}, settings.title), legend));
    if (series.length === 0) {
      place.append(element('p', { class: 'nothing' }, settings.nothing));
      return null;
    }
    const words = settings.words ?? ((one, t, y) => `${seconds(t)}  ${one.name}: ${settings.format(y)}`);
    const group = settings.group, moments = settings.moments ?? [];
    place.append(canvas, readout);
    if (thinnedText(series)) place.append(element('p', { class: 'thinned' }, thinnedText(series)));
    const made = new uPlot({
      width: Math.max(canvas.clientWidth, 200), height: settings.height ?? 220, legend: { show: false },
      padding: [8, 28, 0, 0],
      cursor: {
        points: { show: false }, drag: { x: Boolean(group), y: false, setScale: Boolean(group) },
        bind: { dblclick: () => () => { group?.reset(); return null; } },
      },
      scales: {
        x: { time: false, range: settings.rangeX ?? ((_, min, max) => (max > min ? [min, max] : [min - 1e-6, max + 1e-6])) },
        y: { range: (_, min, max) => {
          if (min === null || min === undefined) return [0, 1];
          const low = settings.fromZero ? 0 : min, pad = (max - low) * 0.06 || 1;
          return [settings.fromZero ? 0 : low - pad, max + pad];
        } },
      },
      axes: [
        axis({ size: 34, space: 80, values: (_, values) => timeMarks(values), ...(settings.axisX ?? {}) }),
        axis({ size: settings.axisSize ?? 64, values: (_, values) => values.map(settings.axisFormat ?? settings.format) }),
      ],
      series: [{}, ...series.map((one) => ({
        label: one.name, show: !one.hidden, spanGaps: true, points: { show: false },
        stroke: () => colour(one.colour), width: 1.5,
        fill: one.fill ? () => colour(one.colour) + '33' : undefined,
        paths: one.shape ? () => null : one.steps ? uPlot.paths.stepped({ align: 1 }) : one.bars ? uPlot.paths.bars({ size: [0.9, 60], align: 1 }) : undefined,
      }))],
      hooks: {
        setScale: [(u, key) => {
          if (key === 'x' && group && !group.busy && u.status === 1) group.show(u.scales.x.min, u.scales.x.max);
        }],
        setCursor: [(u) => { readout.textContent = momentsAt(u, moments) || nearest(u, series, words); }],
        draw: [(u) => {
          if (group?.focus) drawFocus(u, group.focus, settings.hasPlace);
          drawMarks(u, series);
          drawMoments(u, moments);
        }],
      },
    }, columnsOf(series), canvas);
    legend.append(...series.map((one, index) => element('button', {
      type: 'button', 'aria-pressed': String(!one.hidden),
      onclick: (event) => {
        const button = event.currentTarget, shown = button.getAttribute('aria-pressed') !== 'true';
        button.setAttribute('aria-pressed', String(shown));
        made.setSeries(index + 1, { show: shown });
      },
    }, icon(one), one.name)));
    if (group) {
      group.plots.push(made);
      canvas.addEventListener('keydown', group.key);
    } else {
      redraws.push(() => made.redraw(false));
    }
    new ResizeObserver(() => {
      if (canvas.clientWidth > 0 && canvas.clientWidth !== made.width) made.setSize({ width: canvas.clientWidth, height: made.height });
    }).observe(canvas);
    return made;
  }

  return { data, element, time, seconds, bytes, rate, whole, themeButton, table, plot, columnsOf, timeGroup, firstAt };
})();
