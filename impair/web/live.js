// SPDX-License-Identifier: BSD-3-Clause
// The live page of `roce-impair run --web`: shows each state that the run pushes, and sends requests
// as `roce-impair ctl` does.
'use strict';

const { element, rate, whole, time, bytes } = Page;
const { $, settings, ask, share } = Live;

// Bits per second between two states.
const perSecond = (now, before, seconds, field) => Live.perSecond(now[field].bytes * 8, before?.[field].bytes * 8, seconds);
const clock = (ns) => new Date(ns / 1e6).toLocaleTimeString();
const plain = (toml) => toml.replace(/^"(.*)"$/, '$1');
const arrow = (direction) => (direction.name === 'west-to-east' ? 'west → east' : 'east → west');
let last = null;
function showDirections(report, before, seconds) {
  for (const direction of report.directions) {
    const old = before?.directions.find((one) => one.name === direction.name);
    const eastward = direction.name === 'west-to-east';
    const text = `in ${rate(perSecond(direction, old, seconds, 'received'))}, out ${rate(perSecond(direction, old, seconds, 'sent'))}; ` +
      `${whole(direction.in_flight.frames)} frame${direction.in_flight.frames === 1 ? '' : 's'} inside, ${share(direction.dropped_by_rule.frames, direction.received.frames) || '0 %'} dropped`;
    $(eastward ? 'eastward' : 'westward').textContent = eastward ? `→ ${text}` : `${text} ←`;
  }
  for (const port of report.ports) $(port.side).textContent = `${port.side}: ${port.port}`;
}
// Frames that no rule matches have an account of this name.
const shownName = (rule) => (rule === 'untouched' ? '(no rule)' : rule);
function showRules(report, before, seconds) {
  const number = (text) => element('td', { class: 'number' }, text);
  const rows = report.directions.flatMap((direction) => direction.rules.map((rule) => {
    const old = before?.directions.find((one) => one.name === direction.name)?.rules.find((one) => one.name === rule.name);
    return element('tr', {}, element('td', { class: 'keep' }, shownName(rule.name)), element('td', {}, arrow(direction)),
      number(rate(perSecond(rule, old, seconds, 'received'))), number(rate(perSecond(rule, old, seconds, 'sent'))),
      number(whole(rule.received.frames)), number(whole(rule.dropped_by_rule.frames)),
      number(share(rule.dropped_by_rule.frames, rule.received.frames)), number(whole(rule.in_flight.frames)));
  }));
  $('rules').tBodies[0].replaceChildren(...rows);
}
// A figure of a check, in its unit.
const FIGURES = { share: (value) => Live.percent(100 * value), frames: (value) => `${Number(value.toPrecision(4))} frames`, ns: time,
  'bits/s': (value) => rate(Math.max(value, 0)), bytes: (value) => bytes(Math.max(value, 0)), 'chi-square': (value) => `chi-square ${Number(value.toPrecision(4))}` };
// What was achieved beside what was asked, since the start or the last change: cells of a row a figure.
function achievedBy(direction) {
  const whole_run = (name, asked, seen) => [name, asked, seen, '', ''];
  const { delay_ns: delay, release_error_ns: error } = direction;
  const rows = delay.count === 0 ? [] : [
    whole_run('delay, median', time(delay.p50), `half left at most ${time(error.p50)} late`),
    whole_run('delay, 99 %', time(delay.p99), `99 % left at most ${time(error.p99)} late`)];
  const named = rows.map((row) => ['all rules', ...row]);
  for (const stages of direction.stages) {
    for (const { what, unit, asked, seen, low, high, holds, enough } of stages.checks ?? []) {
      const of = FIGURES[unit];
      named.push([stages.rule, what, of(asked), of(seen), `${of(low)} to ${of(high)}`, !holds ? 'no' : enough ? 'yes' : 'too few frames to tell']);
    }
    if (stages.queued_bytes !== undefined) named.push([stages.rule, 'in the queue now', '', bytes(stages.queued_bytes), '', '']);
    if (stages.pauses) named.push([stages.rule, 'pauses', '', `${whole(stages.pauses.asked)} sent, ${whole(stages.pauses.heard)} heard, paused for ${time(stages.pauses.silent_ns)}`, '', '']);
  }
  return named;
}
function showAchieved(report) {
  const rows = report.directions.flatMap((direction) => achievedBy(direction).map(([rule, ...cells]) => [rule, arrow(direction), ...cells]));
  $('achieved').hidden = rows.length === 0;
  $('no-achieved').hidden = rows.length > 0;
  $('achieved').tBodies[0].replaceChildren(...rows.map((row) => element('tr', {}, ...row.map((cell, at) => element('td', { class: at === 0 ? 'keep' : '' }, cell)))));
}
const marked = (direction) => direction.stages.reduce((sum, rule) => sum + (rule.acted.mark ?? 0), 0);

// What a plot shows of one direction, west to east first.
const EASTWARD = 0, WESTWARD = 1;
const of = (index, value) => (report, before, seconds) =>
  value(report.directions[index], before.directions[index], seconds);
const both = (value) => [['west → east', 'blue', of(EASTWARD, value)], ['east → west', 'green', of(WESTWARD, value)]];
const rateOf = (field) => (now, before, seconds) => perSecond(now, before, seconds, field);
const delayOf = (share) => (now, before) => Live.quantileOf(now.delays_ns, before.delays_ns, share);
const ofReceived = (count) => (now, before) =>
  100 * (count(now) - count(before)) / Math.max(now.received.frames - before.received.frames, 1);
const isAnywhere = (test) => (report) => report.directions.some(test);
// Changes of the run that the plots mark: each where the state before it was.
const changeMoments = [];
let changesSeen = null;
function markChanges(report, before) {
  const changes = report.changes ?? [], all = changes.length + (report.further_changes ?? 0);
  const fresh = changesSeen === null ? [] : changes.slice(Math.max(changes.length - (all - changesSeen), 0));
  changesSeen = all;
  for (const one of fresh) changeMoments.push({ t: before.seconds, text: `${clock(one.time_ns)}  ${one.by}: ${one.name} ${one.key} = ${plain(one.after) || 'removed'}` });
  if (changeMoments.length > 0) $('marks').hidden = false;
}
const addToHistory = Live.history([
  { id: 'rate', title: 'Rate', format: rate,
    series: [['in, west → east', 'blue', of(EASTWARD, rateOf('received'))],
      ['out, west → east', 'vermilion', of(EASTWARD, rateOf('sent'))],
      ['in, east → west', 'green', of(WESTWARD, rateOf('received'))],
      ['out, east → west', 'purple', of(WESTWARD, rateOf('sent'))]] },
  { id: 'dropped', title: 'Dropped by rules, of the frames received in each half second',
    format: Live.percent, series: both(ofReceived((one) => one.dropped_by_rule.frames)) },
  { id: 'inside', title: 'Frames inside', format: whole, series: both((one) => one.in_flight.frames) },
  { id: 'delay', title: 'Delay that rules asked for, in each half second', format: time,
    present: isAnywhere((one) => one.delay_ns.count > 0),
    series: [['median, west → east', 'blue', of(EASTWARD, delayOf(0.5))],
      ['99 %, west → east', 'vermilion', of(EASTWARD, delayOf(0.99))],
      ['median, east → west', 'green', of(WESTWARD, delayOf(0.5))],
      ['99 %, east → west', 'purple', of(WESTWARD, delayOf(0.99))]] },
  { id: 'queue', title: 'Bytes in queues', format: bytes,
    present: isAnywhere((one) => one.stages.some((rule) => rule.queued_bytes !== undefined)),
    series: both((one) => one.stages.reduce((sum, rule) => sum + (rule.queued_bytes ?? 0), 0)) },
  { id: 'ce', title: 'Marked CE, of the frames received in each half second',
    format: Live.percent, present: isAnywhere((one) => marked(one) > 0), series: both(ofReceived(marked)) },
], changeMoments);

function rulesText(rules) {
  return rules.map((rule) => `${rule.name}\n` + Object.entries(rule.stages ?? {})
    .map(([stage, text]) => `  ${stage.padEnd(12)}${text}\n`).join('')).join('');
}
// The fields of a rule's form: id, label, placeholder.
const FIELDS = [['delay', 'Delay', '2ms'], ['jitter', 'Jitter', '10us'], ['loss', 'Loss', '0.1%'],
  ['rate', 'Rate', '10Gbit'], ['buffer', 'Buffer', '1MB']];
// What a field shows of a rule's keys: a value, or a table as TOML.
function valueOf(keys, name) {
  if (name === 'rate') return plain(keys['queue.rate'] ?? keys.queue ?? '');
  if (name === 'buffer') return plain(keys['queue.buffer'] ?? '');
  if (keys[name] !== undefined) return plain(keys[name]);
  const inner = Object.entries(keys).filter(([key]) => key.startsWith(`${name}.`));
  return inner.length === 0 ? '' : `{ ${inner.map(([key, value]) => `${key.slice(name.length + 1)} = ${value}`).join(', ')} }`;
}
const inputsOf = (form) => Object.fromEntries(FIELDS.map(([name]) => [name, form.querySelector(`[data-field="${name}"]`)]));
// The keys that the fields change. A queue is a rate, or a table that keeps its other keys.
function changedKeys(form) {
  const inputs = inputsOf(form);
  const typed = Object.fromEntries(FIELDS.map(([name]) => [name, inputs[name].value.trim()]));
  const isNew = (name) => typed[name] !== inputs[name].dataset.shown;
  const keys = Object.fromEntries(['delay', 'jitter', 'loss'].filter(isNew).map((name) => [name, typed[name]]));
  if (!isNew('rate') && !isNew('buffer')) return keys;
  if (typed.rate === '') return { ...keys, queue: '' };
  if (form.dataset.table === 'true') {
    if (isNew('rate')) keys['queue.rate'] = typed.rate;
    if (isNew('buffer')) keys['queue.buffer'] = typed.buffer;
    return keys;
  }
  return { ...keys, queue: typed.buffer === '' ? typed.rate
    : `{ rate = ${JSON.stringify(typed.rate)}, buffer = ${JSON.stringify(typed.buffer)} }` };
}
// Shows an error beside the field that it names.
function showRefusal(form, error) {
  const name = /\bqueue\b/.test(error) ? (/buffer/.test(error) ? 'buffer' : 'rate')
    : FIELDS.map(([id]) => id).find((id) => new RegExp(`\\b${id}\\b`).test(error));
  for (const [id, input] of Object.entries(inputsOf(form))) {
    const said = error && (name ?? 'delay') === id ? error : '';
    input.setAttribute('aria-invalid', String(said !== ''));
    input.nextElementSibling.textContent = said;
  }
}
async function askOf(form, what, done) {
  const keys = changedKeys(form);
  const effect = form.querySelector('pre');
  effect.hidden = false;
  if (Object.keys(keys).length === 0) { effect.textContent = 'No field differs from the profile.'; return; }
  const answer = await ask({ do: what, rule: form.dataset.rule, keys }, 'quiet');
  showRefusal(form, answer.ok ? '' : answer.error);
  effect.hidden = !answer.ok;
  if (answer.ok) effect.textContent = `${done}:\n${answer.text}`;
  if (answer.ok && what === 'set') for (const input of Object.values(inputsOf(form))) input.dataset.shown = input.value.trim();
}
function formOf(rule, number) {
  const fields = FIELDS.map(([name, label, placeholder]) => element('div', { class: 'field' },
    element('label', { for: `${name}-${number}` }, label),
    element('input', { id: `${name}-${number}`, 'data-field': name, placeholder, autocomplete: 'off' }),
    element('span', { class: 'refusal', role: 'alert' })));
  const form = element('form', { class: 'rule', 'aria-label': `Rule ${rule.name}`, 'data-rule': rule.name },
    element('h3', {}, rule.name), element('p', { class: 'muted' }, `${rule.match}, ${rule.direction}`),
    element('div', { class: 'fields' }, ...fields),
    element('p', { class: 'bar' }, element('button', { type: 'button', id: `preview-${number}` }, 'Preview'),
      element('button', { type: 'submit', id: `apply-${number}` }, 'Apply')),
    element('pre', { id: `effect-${number}`, tabindex: '0', role: 'status', 'aria-label': `Effect on ${rule.name}`, hidden: '' }));
  form.addEventListener('submit', (event) => { event.preventDefault(); askOf(form, 'set', 'In force'); });
  form.querySelector('button').addEventListener('click', () => askOf(form, 'preview', 'Would be in force'));
  if (settings.read_only) form.querySelectorAll('input, button').forEach((control) => { control.disabled = true; });
  return form;
}
// A form for each rule; a field that nobody has changed follows the profile.
function showForms(rules) {
  const names = JSON.stringify(rules.map((rule) => rule.name));
  if ($('rule-forms').dataset.names !== names) {
    $('rule-forms').dataset.names = names;
    $('rule-forms').replaceChildren(...rules.map(formOf));
  }
  rules.forEach(({ keys = {} }, number) => {
    const form = $('rule-forms').children[number];
    form.dataset.table = String(keys['queue.rate'] !== undefined);
    for (const [name, input] of Object.entries(inputsOf(form))) {
      const value = valueOf(keys, name);
      if (input.dataset.shown === value) continue;
      if (input.dataset.shown === undefined || input.value.trim() === input.dataset.shown) input.value = value;
      input.dataset.shown = value;
    }
  });
}
// Who changed what, and when.
const MOST_CHANGES = 50;
function showChanges(changes) {
  if ($('changes').dataset.count === String(changes.length)) return;
  $('changes').dataset.count = String(changes.length);
  $('changes').hidden = changes.length === 0;
  $('changes').tBodies[0].replaceChildren(...changes.slice(-MOST_CHANGES).reverse().map((one) => element('tr', {},
    ...[clock(one.time_ns), one.by, one.name, one.key, plain(one.before), plain(one.after)].map((cell) => element('td', {}, cell)))));
}

// Events and acts of the profile, with a button that starts each now.
function showEvents({ events, events_on_command: waiting, scenario, report }) {
  const named = new Map();  // of both directions together
  for (const { name, happened, all: asked } of report.directions.flatMap((one) => one.events ?? [])) {
    const before = named.get(name) ?? { happened: 0, all: 0 };
    named.set(name, { happened: before.happened + happened, all: before.all + asked });
  }
  const all = [...[...events, ...waiting].map((one) => [one.name, `${one.what}, ${one.direction}`]),
    ...scenario.map((one) => [one.name, (one.steps ?? []).map((step) => step.what).join(', then ')])];
  const names = [...new Set([...all.map(([name]) => name), ...named.keys()])];
  const what = new Map(all);
  $('no-events').hidden = names.length > 0;
  $('events').hidden = names.length === 0;
  const rows = names.map((name) => [name, what.get(name) ?? 'armed on this page or by ctl',
    named.has(name) ? `${whole(named.get(name).happened)} of ${whole(named.get(name).all)}` : '']);
  if (JSON.stringify(rows) !== $('events').dataset.rows) {
    $('events').dataset.rows = JSON.stringify(rows);
    $('events').tBodies[0].replaceChildren(...rows.map(([name, text, happened]) => element('tr', {},
      element('td', { class: 'keep' }, name), element('td', {}, text), element('td', {}, happened),
      element('td', {}, what.has(name) ? startButton(name) : ''))));
  }
  $('scenario').hidden = !report.scenario;
  if (report.scenario) $('scenario').textContent =
    `${whole(report.scenario.done)} of ${whole(report.scenario.all)} steps are in force.`;
}
function startButton(name) {
  const button = element('button', { type: 'button', 'aria-label': `Start ${name} now` }, 'Start');
  button.disabled = settings.read_only;
  button.addEventListener('click', () => ask({ do: 'event', name }));
  return button;
}

// The newest records of the ledger, asked for every two seconds.
const RECORDS_MS = 2000;
let recordsAt = -Infinity;
async function showRecords(report) {
  $('no-records').hidden = Boolean(report.ledger);
  if (!report.ledger || performance.now() - recordsAt < RECORDS_MS) return;
  recordsAt = performance.now();
  const { records } = await ask({ do: 'records' }, true);
  if (!records?.length) return;
  $('records').hidden = false;
  $('records').tBodies[0].replaceChildren(...records.reverse().map((record) =>
    element('tr', {}, ...inWords(record).map((cell) => element('td', {}, cell)))));
}
const DONE = { drop: 'dropped', no_room: 'lost: more in flight than there is room for', egress_full: 'lost: the sending port is blocked',
  no_buffer: 'lost: no free buffer', stopped: 'lost when the run ended', link_down: 'lost: the port was down', consumed: 'ended in the box',
  corrupt: 'corrupted', duplicate: 'duplicated', rewrite: 'rewritten', mark: 'marked CE', slot: 'held for a slot', delay: 'delayed',
  reorder: 'reordered', queue: 'queued', police: 'policed', accumulate: 'held and sent with others', pass: 'passed' };
// A record of the ledger: time of day, direction, packet, what was done, and the time in the box.
function inWords(record) {
  const opcode = record['infiniband.bth.opcode'];
  const packet = opcode === undefined ? `frame ${whole(record.frame)}`
    : `${settings.opcodes[opcode] ?? `opcode ${opcode}`}, PSN ${record['infiniband.bth.psn']}, QP 0x${record['infiniband.bth.destqp'].toString(16)}`;
  const by = record.stage === 'none' ? '' : ` by ${record.stage}`;
  const done = [...(record.stages ?? []).slice(0, -1).map((stage) => DONE[stage] ?? stage), `${DONE[record.action] ?? record.action}${by}`].join(', ');
  return [clock(record.time_in_ns), arrow({ name: record.direction }), `${packet}: ${done}${record.copy ? ` (copy ${record.copy})` : ''}`,
    record.rule ?? '', record.time_out_ns === null ? '' : time(record.time_out_ns - record.time_in_ns)];
}
// The newest recording, and the button that is of use.
function showRecording({ capture }) {
  if (capture) $('recording').textContent =
    `${capture.active ? 'Recording to' : 'Recorded'} ${capture.file}: ${whole(capture.frames)} frames` +
    (capture.missing > 0 ? `, ${whole(capture.missing)} missing.` : '.');
  $('start-recording').disabled = settings.read_only || Boolean(capture?.active);
  $('stop-recording').disabled = settings.read_only || !capture?.active;
}

function show(state) {
  const { report, rules } = state;
  const before = last;
  const seconds = before ? report.seconds - before.seconds : 0;
  if (before && !(seconds > 0)) return;
  last = report;
  $('title').textContent = report.profile;
  $('about').textContent = `roce-impair has been running for ${Math.floor(report.seconds)} s.`;
  if (state.verdict) Live.showVerdict(state.verdict);
  showDirections(report, before, seconds);
  showRules(report, before, seconds);
  showForms(rules);
  showChanges(report.changes ?? []);
  showAchieved(report);
  if (before) markChanges(report, before);
  if (before?.directions.length) addToHistory(report, before, seconds);  // before the ports are open there are none
  showEvents(state);
  showRecords(report);
  showRecording(report);
  const shown = rulesText(rules);
  if ($('rules-text').textContent !== shown) $('rules-text').textContent = shown;
}

$('undo').addEventListener('click', () => ask({ do: 'undo' }));

$('event').addEventListener('submit', async (event) => {
  event.preventDefault();
  const typed = $('occurrence').value.trim();
  const armed = { on: $('on').value, occurrence: /^\d+$/.test(typed) ? Number(typed) : typed,
    direction: $('towards').value, action: $('action').value };
  if (armed.action === 'delay') armed.delay = $('event-delay').value.trim();
  await ask({ do: 'event', event: armed });
});

$('record').addEventListener('submit', (event) => {
  event.preventDefault();
  ask({ do: 'record', file: $('file').value.trim() });
});
$('stop-recording').addEventListener('click', () => ask({ do: 'stop-recording' }));


if (settings.read_only) {
  $('read-only').hidden = false;
  $('undo').disabled = true;
  for (const form of [$('event'), $('record')])
    form.querySelectorAll('input, select, button').forEach((control) => { control.disabled = true; });
}
Live.follow(show);
