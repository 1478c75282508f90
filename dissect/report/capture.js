// SPDX-License-Identifier: BSD-3-Clause
// The report of a capture: fills capture.html from the data of `roce-dissect report`.
'use strict';

(() => {
  const { element, time, seconds, bytes, rate, whole } = Page;
  const data = Page.data();
  const $ = (id) => document.getElementById(id);

  // A table of the data as objects.
  const objects = ({ columns, rows }) =>
    rows.map((row) => Object.fromEntries(columns.map((column, index) => [column, row[index]])));
  const connections = objects(data.connections), anomalies = objects(data.anomalies), messages = objects(data.messages);
  anomalies.forEach((anomaly, index) => { anomaly.number = index + 1; });
  const arrow = (direction) => (direction === 0 ? '→' : '←');
  const end = (address, qp) => (qp === null || qp === undefined ? address : `${address} QP 0x${qp.toString(16)}`);
  const keyOf = (row) => `${row.connection}.${row.direction}`;
  const connectionOf = new Map(connections.map((row) => [keyOf(row), row]));
  const plotsOf = new Map(data.plots.map((row) => [keyOf(row), row]));

  // Differences to numbers; ns to seconds.
  function sums(differences, factor = 1) {
    let sum = 0;
    return differences.map((difference) => (sum += difference) * factor);
  }
  const series = (raw, more) => ({ t: sums(raw.t, 1e-9), y: sums(raw.y), of: raw.of, ...more });

  // What happened.
  const WORDS = { fatal: 'fatal', harm: 'harm', note: 'note', capture: 'capture' };
  function evidence(statement) {
    const parts = [];
    statement.frames.forEach((frame) => {
      const found = anomalies.find((anomaly) => anomaly.frame === frame && anomaly.kind === statement.topic) ??
        anomalies.find((anomaly) => anomaly.kind === statement.topic && anomaly.frame <= frame && frame <= anomaly.last_frame);
      parts.push(' ', found && plotsOf.has(keyOf(found)) ? element('a', { href: hashOf(found) }, `frame ${frame}`) : `frame ${frame}`);
    });
    if (!(statement.topic in data.kinds)) return parts;
    const label = statement.events > statement.frames.length ? `all ${whole(statement.events)} in the table` : 'in the table';
    return [...parts, ' · ', element('button', { type: 'button', class: 'link', onclick: () => {
      anomalyTable.filter(statement.topic);
      $('anomalies-title').scrollIntoView();
    } }, label)];
  }
  const capitalized = (text) => text[0].toUpperCase() + text.slice(1);
  const statementLink = (number) => [' ', element('a', { href: `#statement-${number}`, onclick: (event) => {
    event.preventDefault();
    $(`statement-${number}`).scrollIntoView();
  } }, `(${number})`)];
  // The questions of an operator and their answers.
  function questionList() {
    return element('dl', { class: 'questions' }, data.questions.map((one) =>
      element('div', { class: 'question', 'data-question': one.question, 'data-health': one.health },
        element('dt', {}, one.asks),
        element('dd', {}, element('strong', {}, capitalized(one.verdict)), `: ${one.reason}.`, one.statements.flatMap(statementLink)))));
  }
  function showVerdict() {
    const said = element('div', {}, data.overview.map((line) => element('p', {}, line)));
    if (data.nothing_is_wrong) said.append(element('p', { class: 'well' }, 'Nothing is wrong.'));
    said.append(element('ol', { class: 'statements' }, data.statements.map((statement, index) => element('li', { class: 'statement', id: `statement-${index + 1}` },
      element('span', { class: `chip ${statement.severity}` }, `${index + 1} ${WORDS[statement.severity]}`),
      element('div', {}, element('p', {}, statement.text), element('p', { class: 'evidence' }, evidence(statement)))))));
    if (data.unknown) said.append(element('p', {}, `This capture does not show: ${data.unknown}`));
    $('verdict').replaceChildren(questionList(), said);
  }

  // Plots.
  const group = Page.timeGroup((from, to) => {
    $('psn-figure').dataset.from = from;
    $('psn-figure').dataset.to = to;
    clearTimeout(group.later);
    group.later = setTimeout(writeHash, 200);
  });
  let current = null, chosen = null;

  function labelOf(key) {
    const row = connectionOf.get(key), plots = plotsOf.get(key);
    if (!row) return `connection ${plots.connection} ${arrow(plots.direction)}`;
    return `${row.connection} ${arrow(row.direction)} ${row.point ? `at ${row.point}: ` : ''}${end(row.from, row.from_qp)} to ${end(row.to, row.to_qp)}` +
      `${row.operations ? `, ${row.operations}` : ''}`;
  }
  function psnSeries(raw) {
    return [
      series(raw.requests, { name: 'request', colour: 'blue', shape: 'dot', size: 3.4 }),
      series(raw.acks, { name: 'ACK', colour: 'green', shape: 'tick', size: 3.4 }),
      series(raw.responses, { name: 'READ response', colour: 'sky', shape: 'square', size: 3 }),
      series(raw.responses_again, { name: 'response again', colour: 'purple', shape: 'plus', size: 4 }),
      series(raw.late, { name: 'late or copied', colour: 'purple', shape: 'triangle', size: 4.4 }),
      series(raw.retransmitted, { name: 'retransmitted', colour: 'vermilion', shape: 'cross', size: 3.8 }),
      series(raw.naks, { name: 'NAK', colour: 'orange', shape: 'diamond', size: 4.6 }),
    ];
  }
  // The intervals of a direction, joined to as many as its packets make sense of.
  function intervalsOf(raw) {
    const { begin_ns: begin, width_ns: width, payload, ce, cnps } = raw.intervals;
    const wanted = Math.min(Math.max(raw.requests.of + raw.responses.of, 80) / 2, 200);
    const joined = Math.max(Math.ceil(payload.length / wanted), 1);
    const join = (values) => {
      const sumsOf = [];
      for (let at = 0; at < values.length; at += joined)
        sumsOf.push(values.slice(at, at + joined).reduce((sum, value) => sum + value, 0));
      return sumsOf;
    };
    return { begin, width: width * joined, payload: join(payload), ce: join(ce), cnps: join(cnps) };
  }
  // Sums as steps, up to the end of the last interval.
  function steps({ begin, width }, values, factor, more) {
    const t = [], y = [];
    values.forEach((value, index) => { t.push((begin + index * width) * 1e-9); y.push(value * factor); });
    t.push((begin + values.length * width) * 1e-9);
    y.push(0);
    return { t, y, of: t.length, steps: true, fill: true, ...more };
  }
  function drawLatency(raw, name) {
    const counts = new Map(raw.latency_classes), keys = [...counts.keys()];
    const first = Math.min(...keys), last = Math.max(...keys);
    const t = [], y = [];
    if (keys.length > 0)
      for (let at = first - 1; at <= last + 1; ++at) { t.push(at); y.push(counts.get(at) ?? 0); }
    const ns = (at) => 2 ** (at / 8);
    const splits = (from, to) => {
      const found = [], width = to - from;
      const steps = width < 16 ? [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9] : width < 60 ? [1, 2, 5] : [1];
      for (let decade = 0; decade < 20; ++decade)
        for (const step of steps) found.push(8 * Math.log2(step * 10 ** decade));
      return found.filter((at) => at >= from && at <= to);
    };
    Page.plot($('latency-figure'), {
      id: 'latency', title: 'Latency of messages', label: `Histogram of the latency of messages of connection ${name}`,
      nothing: 'No message of this direction was completed in the capture.', height: 190, fromZero: true,
      series: [{ name: 'messages', t, y, of: t.length, colour: 'blue', bars: true, fill: true }],
      format: (value) => whole(value), axisFormat: (value) => (Number.isInteger(value) ? whole(value) : ''),
      words: (_, at, count) => (count > 0 ? `${time(ns(at), 3)} to ${time(ns(at + 1), 3)}: ${whole(count)} messages` : ''),
      axisX: { splits: (u) => splits(u.scales.x.min, u.scales.x.max), values: (_, values) => values.map((at) => time(ns(at), 3)) },
    });
  }
  function drawPlots(key) {
    const raw = plotsOf.get(key), name = labelOf(key);
    const all = psnSeries(raw), marks = intervalsOf(raw), perSecond = 8e9 / marks.width;
    const some = (values) => values.some((value) => value > 0);
    const shared = { group };
    group.clear();
    Page.plot($('psn-figure'), { ...shared,
      id: 'psn', title: `PSN over time, from PSN ${raw.first_psn} on`, label: `PSN over time of connection ${name}. Arrow keys move, plus and minus zoom, 0 shows all.`,
      series: all, height: 380, hasPlace: true, format: whole, nothing: 'No request or response was captured in this direction.',
      words: (one, t, y) => `${seconds(t)}  ${one.name}, PSN ${(raw.first_psn + y) & 0xffffff} (${whole(y)} from the first)` });
    Page.plot($('goodput-figure'), { ...shared,
      id: 'goodput', title: `Goodput, each ${time(marks.width)}`, label: `Goodput of connection ${name}`, fromZero: true, format: rate, axisSize: 86,
      series: some(marks.payload) ? [steps(marks, marks.payload, perSecond, { name: 'payload', colour: 'blue' })] : [], nothing: 'No payload was captured.' });
    Page.plot($('outstanding-figure'), { ...shared,
      id: 'outstanding', title: 'Outstanding bytes', label: `Bytes without acknowledgement of connection ${name}`, fromZero: true, format: bytes, axisSize: 76,
      series: [series(raw.outstanding, { name: 'not acknowledged', colour: 'purple', steps: true })],
      nothing: raw.answered ? 'No request was captured.' : 'Not known: no acknowledgement was captured.' });
    Page.plot($('rtt-figure'), { ...shared,
      id: 'rtt', title: 'Round trip', label: `Round trip times of connection ${name}, from a request to its answer`, fromZero: true, format: (ns) => time(ns), axisSize: 76,
      series: [series(raw.rtt, { name: 'request to answer', colour: 'green', shape: 'dot', size: 3.2 })], nothing: 'No round trip was captured.' });
    Page.plot($('marks-figure'), { ...shared,
      id: 'marks', title: `CE marks and CNPs, each ${time(marks.width)}`, label: `CE marks and CNPs of connection ${name}`, fromZero: true, format: whole,
      axisFormat: (value) => (Number.isInteger(value) ? whole(value) : ''),
      series: [...(some(marks.ce) ? [steps(marks, marks.ce, 1, { name: 'CE', colour: 'vermilion' })] : []),
        ...(some(marks.cnps) ? [steps(marks, marks.cnps, 1, { name: 'CNP', colour: 'blue' })] : [])],
      nothing: 'No packet is marked, and no CNP came.' });
    drawLatency(raw, name);
    const times = all.flatMap((one) => (one.t.length > 0 ? [one.t[0], one.t[one.t.length - 1]] : []));
    if (times.length === 0) times.push(marks.begin * 1e-9, (marks.begin + marks.width * marks.ce.length) * 1e-9);
    const first = Math.min(...times), last = Math.max(...times), pad = (last - first) * 0.01 || 1e-6;
    group.full = [first - pad, last + pad];
    group.points = all.flatMap((one) => one.t).sort((a, b) => a - b);
    group.reset();
    $('plots-title').textContent = `Plots of connection ${raw.connection} ${arrow(raw.direction)}`;
    $('psn-figure').dataset.connection = key;
  }
  function select(key) {
    if (!plotsOf.has(key) || key === current) return;
    current = key;
    $('connection').value = key;
    choose(null);
    drawPlots(key);
    connectionTable.show();
  }

  // An anomaly: its connection, zoomed to its time. Wide enough to show what is around it.
  function choose(anomaly) {
    chosen = anomaly;
    $('chosen').hidden = anomaly === null;
    if (anomaly === null) delete $('psn-figure').dataset.anomaly;
    else $('psn-figure').dataset.anomaly = anomaly.number;
    if (anomaly === null) { group.setFocus(null); anomalyTable.show(); return; }
    const help = data.kinds[anomaly.kind];
    $('chosen').replaceChildren(element('strong', {}, `${anomaly.kind} in frame ${anomaly.frame}, at ${time(anomaly.time_ns, 9)}: `), `${anomaly.words} (${help})`);
    anomalyTable.reveal(anomaly);
  }
  function zoomTo(anomaly) {
    const at = anomaly.time_ns * 1e-9, end = at + Math.max(anomaly.duration_ns, 0) * 1e-9;
    const isSpan = anomaly.kind === 'unanswered';
    const [first, last] = group.full;
    let pad = Math.max((end - at) * 1.2, 1e-6);
    const inside = () => Page.firstAt(group.points, at + pad) - Page.firstAt(group.points, at - pad);
    while (pad < last - first && inside() < Math.min(40, group.points.length)) pad *= 1.5;
    group.setFocus({ at, end: isSpan ? end : at, place: anomaly.place });
    group.show(Math.max(at - pad, Math.min(first, at)), Math.min(at + pad, Math.max(last, at)));
  }
  function open(anomaly) {
    if (!plotsOf.has(keyOf(anomaly))) return;
    select(keyOf(anomaly));
    choose(anomaly);
    zoomTo(anomaly);
  }

  // The address: #connection=1&direction=0&anomaly=4&from=0.1&to=0.2
  const hashOf = (anomaly) => `#connection=${anomaly.connection}&direction=${anomaly.direction}&anomaly=${anomaly.number}`;
  let written = '';
  function writeHash() {
    if (current === null) return;
    const [connection, direction] = current.split('.');
    const words = new URLSearchParams({ connection, direction });
    if (chosen) words.set('anomaly', chosen.number);
    if (group.view.some((value, index) => value !== group.full[index])) {
      words.set('from', group.view[0].toPrecision(12));
      words.set('to', group.view[1].toPrecision(12));
    }
    written = `#${words}`;
    history.replaceState(null, '', written);
  }
  function readHash() {
    if (location.hash === written) return;
    const words = new URLSearchParams(location.hash.slice(1));
    const anomaly = anomalies[Number(words.get('anomaly')) - 1];
    const key = `${words.get('connection')}.${words.get('direction') ?? 0}`;
    if (words.has('connection')) select(key);
    if (anomaly && keyOf(anomaly) === current) { choose(anomaly); zoomTo(anomaly); }
    if (words.has('from') && words.has('to')) group.show(Number(words.get('from')), Number(words.get('to')));
    if (words.has('connection') || anomaly) $('plots').scrollIntoView();
  }

  // Tables.
  const number = (key, title, more = {}) => ({ key, title, number: true, text: (row) => (row[key] === null ? '' : whole(row[key])), ...more });
  const timed = (key, title, more = {}) => ({ key, title, number: true, text: (row) => (row[key] === null ? '' : time(row[key])), ...more });
  const naks = (row) => Object.values(row.naks).reduce((sum, count) => sum + count, 0);
  const anomalyTable = Page.table($('anomalies-place'), {
    id: 'anomalies', title: 'Anomalies', rows: anomalies, of: data.anomalies.of,
    rowId: (row) => `anomaly-${row.number}`, isCurrent: (row) => row === chosen,
    onRow: (row) => { open(row); $('plots').scrollIntoView(); },
    columns: [
      number('frame', 'Frame', { text: (row) => String(row.frame), link: (row) => (plotsOf.has(keyOf(row)) ? hashOf(row) : null) }),
      timed('time_ns', 'Time', { text: (row) => time(row.time_ns, 9), help: 'since the first packet' }),
      { key: 'connection', title: 'Connection', keep: true, text: (row) => (row.connection === 0 ? 'capture' : `${row.connection} ${arrow(row.direction)}`), value: (row) => row.connection * 2 + row.direction },
      { key: 'kind', title: 'Kind', keep: true, hint: (row) => data.kinds[row.kind] },
      number('packets', 'Packets'),
      timed('duration_ns', 'Cost', { help: 'time of a recovery, or of a silence', text: (row) => (row.duration_ns === 0 ? '' : time(row.duration_ns)) }),
      { key: 'words', title: 'What' },
      { key: 'display_filter', title: 'Display filter', help: 'of Wireshark, ready to paste' },
    ],
  });
  const connectionTable = Page.table($('connections-place'), {
    id: 'connections', title: 'Connections', rows: connections,
    of: connections.length + Math.max(data.connections.of - new Set(connections.map((row) => row.connection)).size, 0),
    rowId: (row) => `connection-${row.connection}-${row.direction}`, isCurrent: (row) => keyOf(row) === current,
    onRow: (row) => { select(keyOf(row)); if (keyOf(row) === current) $('plots').scrollIntoView(); },
    columns: [
      { key: 'connection', title: 'Connection', keep: true, text: (row) => `${row.connection} ${arrow(row.direction)}`, value: (row) => row.connection * 2 + row.direction,
        link: (row) => (plotsOf.has(keyOf(row)) ? `#connection=${row.connection}&direction=${row.direction}` : null) },
      ...(connections.some((row) => row.point) ? [{ key: 'point', title: 'Point' }] : []),
      { key: 'transport', title: 'Transport' },
      { key: 'from', title: 'From', keep: true, text: (row) => end(row.from, row.from_qp) },
      { key: 'to', title: 'To', keep: true, text: (row) => end(row.to, row.to_qp) },
      { key: 'operations', title: 'Operations' },
      number('messages', 'Messages'),
      number('payload_bytes', 'Payload', { text: (row) => bytes(row.payload_bytes) }),
      number('goodput_bps', 'Goodput', { text: (row) => (row.goodput_bps === null ? '' : rate(row.goodput_bps)) }),
      number('retransmitted', 'Retransmitted'),
      timed('rtt_p50_ns', 'RTT p50'), timed('rtt_p99_ns', 'RTT p99'),
      { key: 'naks', title: 'NAKs', number: true, text: (row) => whole(naks(row)), value: naks },
      number('rnr_naks', 'RNR'), number('ce', 'CE'), number('cnps', 'CNPs'),
    ],
  });
  Page.table($('messages-place'), {
    id: 'messages', title: 'Latency of messages', rows: messages, of: data.messages.of,
    columns: [
      { key: 'operation', title: 'Operation' }, number('messages', 'Messages'),
      number('bytes', 'Bytes', { text: (row) => bytes(row.bytes) }), number('retransmitted_packets', 'Packets retransmitted'),
      number('without_completion', 'No completion'),
      timed('latency_min_ns', 'Least'), timed('latency_p50_ns', 'p50'), timed('latency_p90_ns', 'p90'),
      timed('latency_p99_ns', 'p99'), timed('latency_max_ns', 'Most'),
    ],
  });

  // The page.
  const names = data.files.map((file) => (file === '-' ? 'standard input' : file)).join(', ');
  document.title = `${names} - roce-dissect report`;
  $('title').textContent = names;
  $('about').textContent = `${whole(data.frames)} frame${data.frames === 1 ? '' : 's'}, ${whole(data.roce)} of RoCE in ${time(data.span_ns, 7)}` +
    (data.roce > 0 ? `, from ${new Date(data.start_ns / 1e6).toISOString?.() ?? ''}` : '') + (data.filter ? `; filter: ${data.filter}` : '');
  $('made').textContent = `Made by ${data.program}. All times are from the first RoCE packet on.`;
  $('controls').append(Page.themeButton());
  $('connection').append(...[...plotsOf.keys()].map((key) => element('option', { value: key }, labelOf(key))));
  $('connection').addEventListener('change', (event) => { select(event.target.value); writeHash(); });
  $('zoom-in').addEventListener('click', () => group.zoom(0.5));
  $('zoom-out').addEventListener('click', () => group.zoom(2));
  $('reset').addEventListener('click', () => { choose(null); group.reset(); });
  showVerdict();
  const cut = data.plots.filter((row) => row.since_ns !== null);
  $('plotted').textContent = (data.connections.of > new Set(data.plots.map((row) => row.connection)).size
    ? `Of ${whole(data.connections.of)} connections, the worst ${new Set(data.plots.map((row) => row.connection)).size} have plots. ` : '') +
    (cut.length > 0 ? `Plots that begin later than their connection: ${cut.map((row) => `${row.connection} ${arrow(row.direction)} at ${time(row.since_ns)}`).join(', ')}.` : '');
  if (data.path.length > 0) PathPlots.show($('path-place'), data.path, 'of all captures together, in the order of their time stamps');
  else $('path').hidden = true;
  if (plotsOf.size === 0) $('plots').hidden = true;
  else select(plotsOf.keys().next().value);
  readHash();
  addEventListener('hashchange', readHash);
  document.documentElement.dataset.ready = 'true';
})();
