// SPDX-License-Identifier: BSD-3-Clause
// The report of a run: fills run.html from the data of lib/report/run_page.cpp.
'use strict';

(() => {
  const { element, time, bytes, rate, whole } = Page;
  const data = Page.data();
  const $ = (id) => document.getElementById(id);

  // Values, with the unit that the figure's name has.
  const digits = (value) => (Number.isInteger(value) ? whole(value) : String(Number(value.toPrecision(4))));
  const UNITS = [
    [/_ns(\.|$)/, time], [/_usec(\.|$)/, (us) => time(us * 1e3)], [/(_seconds|^seconds)$/, (s) => time(s * 1e9)],
    [/_gbps$/, (gbps) => rate(gbps * 1e9)], [/_bps$/, rate], [/bytes$/, bytes], [/_percent$/, (share) => `${digits(share)} %`],
  ];
  // Of "latency_ns.p99" the first key says the unit, but counts have none.
  function valueText({ path, value }) {
    if (value === null) return 'none';
    if (typeof value !== 'number') return String(value);
    const unit = /\.count$/.test(path) ? null : UNITS.find(([ends]) => ends.test(path));
    return unit ? unit[1](value) : digits(value);
  }
  const cell = (value) => (typeof value === 'number' ? digits(value) : value === null ? '' : typeof value === 'boolean' ? (value ? 'yes' : 'NO') : value);
  // Of an experiment: published figures beside those of this run.
  const isComparison = data.requested.some((row) => row.differs_by !== null);
  const percent = ({ differs_by: difference }) => (difference === null ? '' : `${difference < 0 ? '' : '+'}${(difference * 100).toFixed(2)} %`);
  const numberOf = (key) => (row) => (row[key] !== '' && Number.isFinite(Number(row[key])) ? Number(row[key]) : row[key]);
  const chip = (colour, word) => element('span', { class: `chip ${colour}` }, word);
  const statement = ({ of, observed }) => (of ? `${of}: ${observed}` : observed);

  // The worst statement first, in its colour; then all others that are not green, with what to do.
  function showVerdict() {
    const { colour, exit, headline, errors, statements } = data.verdict;
    $('verdict').append(element('p', { class: 'outcome', id: 'outcome', 'data-colour': colour }, headline));
    const notes = statements.filter((each) => each.colour !== 'green').map((each) => element('li', {}, chip(each.colour, each.result),
      element('span', {}, statement(each), each.reason ? `: ${each.reason}` : '',
        each.remedy && each.result !== 'holds' ? element('span', { class: 'muted' }, ` ${each.remedy}`) : null)));
    notes.push(...errors.map((error) => element('li', {}, chip('red', 'error'), element('span', {}, error))));
    if (notes.length > 0) $('verdict').append(element('ul', { class: 'checks', id: 'checks' }, notes));
    $('verdict').append(element('p', { class: 'muted' }, `Exit code ${exit}.`));
    if (statements.length === 0) return;
    const place = element('div');
    // The comparison of an experiment comes first; its few statements are folded.
    $('verdict').append(...(isComparison ? [element('details', {}, element('summary', {}, 'All statements'), place)]
      : [element('h3', { class: 'part' }, 'All statements'), place]));
    Page.table(place, {
      id: 'statements', title: 'Statements', rows: statements, of: statements.length,
      columns: [...(data.reports.length > 1 ? [{ key: 'report', title: 'Report', keep: true }] : []),
        { key: 'name', title: 'Statement', keep: true }, { key: 'asked', title: 'Asked' },
        { key: 'asked_by', title: 'By', text: (row) => row.asked_by ?? 'the command' }, { key: 'observed', title: 'Observed', text: statement, value: statement },
        { key: 'where', title: 'Where' }, { key: 'observations', title: 'Of', number: true, text: (row) => whole(row.observations) },
        { key: 'result', title: 'Result', keep: true }, { key: 'reason', title: 'Reason' }],
    });
  }

  // A table of rows that are lists.
  function listTable(id, title, columns, rows, isNumber) {
    const place = element('div');
    Page.table(place, {
      id, title, rows, of: rows.length,
      columns: columns.map((name, index) => ({ key: index, title: name, number: isNumber(index), text: (row) => cell(row[index]) })),
    });
    return place;
  }

  function showRequested() {
    if (data.requested.length === 0) {
      $('requested-place').append(element('p', { class: 'muted' }, 'This run has no value that was requested beside a measured one: see all figures.'));
      return;
    }
    const words = (row) => (row.holds === null ? '' : row.holds ? 'holds' : 'does not hold');
    const holds = { key: 'holds', title: 'Result', keep: true, text: words, value: words };
    const shown = isComparison ? {
      title: 'Published and measured, the worst first',
      columns: [{ key: 'what', title: 'What' }, { key: 'requested', title: 'Published', number: true, value: numberOf('requested') },
        { key: 'measured', title: 'This experiment', number: true, value: numberOf('measured') },
        { key: 'differs_by', title: 'Differs by', number: true, text: percent, value: (row) => row.differs_by === null ? null : Math.abs(row.differs_by) },
        holds, ...(data.requested.some((row) => row.comment) ? [{ key: 'comment', title: 'Remark' }] : [])],
    } : {
      title: 'Requested and measured',
      columns: [{ key: 'what', title: 'What' }, { key: 'requested', title: 'Requested' }, { key: 'measured', title: 'Measured' }, holds],
    };
    $('requested-title').textContent = shown.title;
    Page.table($('requested-place'), { id: 'requested-values', rows: data.requested, of: data.requested.length, ...shown });
  }

  // SVG as the program drew it, for this width of the page; scripts and styles in it would be refused
  // by the page's policy.
  const phone = matchMedia('(max-width: 600px)');
  const SMALLEST_TEXT = 10, DRAWN_TEXT = 13;
  function picture(plot) {
    const drawn = phone.matches && plot.narrow_svg ? plot.narrow_svg : plot.svg;
    const parsed = new DOMParser().parseFromString(drawn, 'image/svg+xml').documentElement;
    const svg = document.importNode(parsed, true);
    const names = plot.curves.map((curve) => curve.name).join('; ');
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', names ? `${plot.title}. ${plot.y} over ${plot.x}. Curves: ${names}.` : plot.title);
    // What would be too small to read is wider than the page, and moves below it.
    svg.style.minWidth = `${(svg.viewBox.baseVal.width * SMALLEST_TEXT) / DRAWN_TEXT}px`;
    return svg;
  }
  function chart(plot) {
    const place = element('div', { class: 'chart', tabindex: 0, role: 'region', 'aria-label': `Plot: ${plot.title}` });
    const show = () => place.replaceChildren(picture(plot));
    phone.addEventListener('change', show);
    show();
    return place;
  }
  function valuesOf(plot, index) {
    const body = element('div');
    const details = element('details', {}, element('summary', {}, `Values of the plot`), body);
    // Made when it is opened: curves may have many points.
    details.addEventListener('toggle', () => {
      if (body.hasChildNodes()) return;
      const place = (x) => (plot.categories ? plot.categories[x] ?? x : x);
      const rows = plot.curves.flatMap((curve) => curve.points.map(([x, y]) => [curve.name, place(x), y]));
      const thinned = plot.curves.filter((curve) => curve.of > curve.points.length).map((curve) => `${curve.name}: ${whole(curve.points.length)} of ${whole(curve.of)} points`);
      body.append(listTable(`plot-${index}-values`, `Values of ${plot.title}`, ['Curve', plot.x, plot.y], rows, (at) => at > 0));
      if (thinned.length > 0) body.append(element('p', { class: 'muted' }, thinned.join('; ')));
    });
    return details;
  }
  function showPlots() {
    data.plots.forEach((plot, index) => $('plots-place').append(element('figure', { class: isComparison ? 'plot wide' : 'plot', id: `plot-${index}` },
      chart(plot), plot.curves.length > 0 ? element('figcaption', { class: 'no-print' }, valuesOf(plot, index)) : element('figcaption', {}, plot.title))));
    if (data.plots.length === 0) $('plots-place').append(element('p', { class: 'muted' }, 'This run has nothing to plot.'));
  }

  // The accounts of equal columns, as those of each message size, are one table.
  function showAccounts() {
    const tables = [];
    for (const account of data.accounts) {
      const last = tables.at(-1), kind = JSON.stringify([account.identity, account.columns]);
      if (last?.kind === kind) last.rows.push(...account.rows);
      else tables.push({ ...account, kind, rows: [...account.rows] });
    }
    tables.forEach((account, index) => {
      if (account.identity) $('accounts-place').append(element('p', { id: `identity-${index}` }, 'Must hold in each row: ', element('strong', {}, account.identity), '.'));
      const textColumns = account.columns.map((_, at) => account.rows.every((row) => typeof row[at] === 'string'));
      $('accounts-place').append(listTable(`account-${index}`, 'Accounting, in frames', account.columns, account.rows, (at) => !textColumns[at]));
    });
    if (tables.length === 0) $('accounts-place').append(element('p', { class: 'muted' }, 'This run counts no frames.'));
  }

  const MOST_OPEN = 2000;
  // The figures of all reports, one of each message size, in one table.
  function showFigures() {
    const rows = data.figures.flatMap((figures, index) => figures.rows.map((row) => ({ ...row, report: figures.name ?? `${index + 1}` })));
    if (data.figures.length === 0) return;
    const place = element('div');
    const of = data.figures.reduce((sum, figures) => sum + figures.of, 0);
    // Folded where they are many, or background.
    $('figures-place').append(element('details', { id: 'figures-fold', open: !isComparison && of <= MOST_OPEN },
      element('summary', {}, `${whole(of)} figures`), place));
    Page.table(place, {
      id: 'figures-0', title: 'All figures', rows, of,
      columns: [...(data.reports.length > 1 ? [{ key: 'report', title: 'Report', keep: true }] : []), { key: 'path', title: 'Figure' },
        { key: 'value', title: 'Value', number: true, text: valueText },
        { key: 'raw', title: 'In --json', number: true, text: (row) => (typeof row.value === 'string' ? row.value : JSON.stringify(row.value)), value: (row) => row.value },
        { key: 'help', title: 'Meaning' }],
    });
  }

  const part = (title, ...content) => [element('h3', { class: 'part' }, title), ...content];
  function showProfile() {
    $('profile-place').append(...part('Command', element('pre', { id: 'command-line' }, data.command_line)));
    if (data.changes.length > 0)
      $('profile-place').append(...part('Changed by --set', element('pre', { id: 'changes' }, data.changes.join('\n'))));
    data.profiles.forEach(([name, text], index) =>
      $('profile-place').append(...part(name, element('pre', { id: `profile-${index}`, tabindex: 0, 'aria-label': `Text of ${name}` }, text))));
  }
  const facts = (id, rows) => element('dl', { class: 'facts', id }, rows.flatMap(([name, text]) => [element('dt', {}, name), element('dd', {}, text)]));
  function showMachine() {
    $('machine-place').append(...part('Machine', facts('machine', data.machine)), ...part('Versions', facts('versions', data.versions)));
  }

  $('title').textContent = `${data.command}: ${data.profiles.length > 0 ? data.profiles[0][0] : 'report of a run'}`;
  document.title = `${data.command}, report`;
  $('about').textContent = (data.machine.find(([name]) => name === 'Time') ?? ['', ''])[1];
  $('controls').append(Page.themeButton());
  showVerdict();
  showRequested();
  showPlots();
  showAccounts();
  showFigures();
  showProfile();
  showMachine();
  $('made').textContent = `Made by ${data.versions.map(([name, text]) => (name === 'Program' ? text : '')).join('')}. The page needs no network.`;
  document.documentElement.dataset.ready = 'true';
})();
