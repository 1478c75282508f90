// SPDX-License-Identifier: BSD-3-Clause
// The live page of `roce-gen run --web` and `receive --web`: shows each state that the run pushes.
'use strict';

const { element, rate, whole, time } = Page;
const { $, settings, percent, share } = Live;

// The growth of a counter since the state before, per second. side: 'sent' or 'received'.
const perSecond = (now, before, seconds, side, field) =>
  Live.perSecond(now[side]?.[field], before ? before[side]?.[field] ?? 0 : undefined, seconds);
const sentRate = (now, before, seconds) => 8 * perSecond(now, before, seconds, 'sent', 'wire_bytes');
const receivedRate = (now, before, seconds) => 8 * perSecond(now, before, seconds, 'received', 'bytes');
// Distinct frames that were sent, as far as the receiver can tell.
const expected = (received) => received.frames - received.duplicated + received.lost;

function showEnds(total, before, seconds) {
  const { sent, received } = total;
  $('sent').textContent = sent
    ? `→ sent ${whole(sent.frames)} frames, ${rate(sentRate(total, before, seconds))} on the wire` : '';
  $('received').textContent = received
    ? `received ${whole(received.frames)} frames, ${rate(receivedRate(total, before, seconds))} →` : '';
}

const number = (text) => element('td', { class: 'number' }, text);
const nameOf = (row) => element('td', { class: 'keep' }, row.qps > 1 ? `${row.name} (${whole(row.qps)} QPs)` : row.name);
function sentRow(row, before, seconds) {
  return element('tr', {}, nameOf(row), number(settings.asked[row.name] ?? ''),
    number(rate(sentRate(row, before, seconds))), number(whole(perSecond(row, before, seconds, 'sent', 'frames'))),
    number(whole(row.sent.frames)), number(whole(row.sent.not_sent)));
}
function receivedRow(row, before, seconds) {
  const { received } = row, latency = received.latency_ns;
  return element('tr', {}, nameOf(row), number(rate(receivedRate(row, before, seconds))),
    number(whole(received.frames)), number(whole(received.lost)),
    number(share(received.lost, expected(received))), number(whole(received.out_of_order)),
    number(whole(received.duplicated)), number(latency ? time(latency.mean) : ''),
    number(latency?.p99 ? time(latency.p99) : ''), number(latency ? time(latency.max) : ''),
    number(whole(received.bad_icrc)), number(whole(received.ce_marks)));
}
function showFlows(side, makeRow, state, before, seconds) {
  const old = new Map((before?.flows ?? []).map((row) => [row.name, row]));
  const rows = state.flows.filter((row) => row[side]);
  $(`${side}-section`).hidden = rows.length === 0;
  const made = rows.map((row) => makeRow(row, before && (old.get(row.name) ?? {}), seconds));
  if (rows.length > 1 || state.more_flows > 0)
    made.push(makeRow({ ...state.total, qps: 1 }, before?.total, seconds));
  $(`${side}-flows`).tBodies[0].replaceChildren(...made);
}

// Of the frames that the receiver expected between two states, in percent.
const ofExpected = (field) => ({ total: { received } }, before) => {
  const old = before.total.received;
  if (!received) return null;
  const frames = expected(received) - (old ? expected(old) : 0);
  return frames > 0 ? 100 * Math.max(received[field] - (old?.[field] ?? 0), 0) / frames : null;
};
const receives = ({ total }) => Boolean(total.received);
const latencyOf = (part) => (state, before) => Live.quantileOf(state.latencies_ns, before.latencies_ns, part);
// Of the latencies between two states.
function meanLatency(state, before) {
  const none = { count: 0, mean: 0 };
  const now = state.total.received?.latency_ns ?? none, old = before.total.received?.latency_ns ?? none;
  return now.count > old.count ? (now.count * now.mean - old.count * old.mean) / (now.count - old.count) : null;
}
const addToHistory = Live.history([
  { id: 'rate', title: 'Rate', format: rate,
    series: [
      ...(settings.send.length ? [['sent, on the wire', 'blue', (state, before, seconds) => sentRate(state.total, before.total, seconds)]] : []),
      ...(settings.receive.length ? [['received', 'vermilion', (state, before, seconds) => receivedRate(state.total, before.total, seconds)]] : []),
    ] },
  { id: 'loss', title: 'Lost, of the frames expected in each half second', format: percent,
    present: receives, series: [['lost', 'vermilion', ofExpected('lost')]] },
  { id: 'order', title: 'Out of order and duplicated, of the frames expected in each half second', format: percent,
    present: receives,
    series: [['out of order', 'blue', ofExpected('out_of_order')], ['duplicated', 'green', ofExpected('duplicated')]] },
  { id: 'latency', title: 'Latency, in each half second', format: time,
    present: ({ total }) => Boolean(total.received?.latency_ns),
    series: [['mean', 'green', meanLatency], ['median', 'blue', latencyOf(0.5)], ['99 %', 'vermilion', latencyOf(0.99)]] },
  { id: 'not-sent', title: 'Not sent, in each half second', format: whole,
    present: ({ total }) => total.sent?.not_sent > 0,
    series: [['frames', 'vermilion', (state, before) => state.total.sent.not_sent - (before.total.sent?.not_sent ?? 0)]] },
  { id: 'damage', title: 'Bad ICRC, of the frames expected in each half second', format: percent,
    present: ({ total }) => total.received?.bad_icrc > 0, series: [['bad ICRC', 'vermilion', ofExpected('bad_icrc')]] },
  { id: 'ce', title: 'Marked CE, of the frames expected in each half second', format: percent,
    present: ({ total }) => total.received?.ce_marks > 0, series: [['marked CE', 'blue', ofExpected('ce_marks')]] },
]);

function showTime({ phase, seconds, left_seconds: left }) {
  const run = `roce-gen ${settings.command}`, so = (digits) => `${seconds.toFixed(digits)} s`;
  if (phase === 'waiting') $('about').textContent = `${run} waits for the links of its ports.`;
  else if (phase === 'ended') $('about').textContent = `${run} has ended after ${so(1)}: the final figures.`;
  else $('about').textContent = `${run} has been running for ${so(0)}${left === undefined ? '' : `, ${whole(left)} s left`}.`;
}

// The last state whose figures are shown. True: `state` is the last of the run.
let last = null;
function show(state) {
  const isLast = state.phase === 'ended';
  showTime(state);
  if (state.phase === 'waiting') return false;
  const before = last && state.seconds > last.seconds ? last : null;
  if (last && !before && !isLast) return false;
  const seconds = before ? state.seconds - before.seconds : 0;
  last = state;
  showEnds(state.total, before?.total, seconds);
  Live.showVerdict(state.verdict);
  showFlows('sent', sentRow, state, before, seconds);
  showFlows('received', receivedRow, state, before, seconds);
  $('more').hidden = state.more_flows === 0;
  $('more').textContent = `${whole(state.more_flows)} flows more, which only the sums show.`;
  $('doubt').hidden = !state.latency_doubt;
  $('doubt').textContent = `Latencies mean nothing: ${state.latency_doubt}`;
  if (before) addToHistory(state, before, seconds);
  return isLast;
}

const portsText = (verb, ports) => (ports.length ? `${verb} ${ports.join(', ')}` : '');
$('title').textContent = settings.title || `roce-gen ${settings.command}`;
$('sender').textContent = portsText('sends to', settings.send) || 'elsewhere';
$('receiver').textContent = portsText('receives from', settings.receive) || 'received elsewhere';
Live.follow(show);
