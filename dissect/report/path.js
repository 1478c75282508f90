// SPDX-License-Identifier: BSD-3-Clause
// Plots of what happened between the points of a path: delays, losses, outages and steps over time,
// and the distribution of the delays, of all packets or of a flow; and the table of lost frames.
'use strict';

const PathPlots = (() => {
  const { element, time, seconds, whole } = Page;

  function sums(differences, factor = 1) {
    let sum = 0;
    return differences.map((difference) => (sum += difference) * factor);
  }
  // Colours and shapes of the two directions: delays, and lost packets.
  const LOOKS = [
    { delay: { colour: 'blue', shape: 'dot', size: 3.2 }, lost: { colour: 'vermilion', shape: 'cross', size: 4.4 } },
    { delay: { colour: 'green', shape: 'square', size: 2.6 }, lost: { colour: 'orange', shape: 'plus', size: 4.8 } },
  ];
  // The times of both directions since the first packet of either: ns to seconds.
  function alignTimes(directions) {
    const begins = directions.map(({ begin_ns: ns }) => BigInt(ns));
    const first = begins.reduce((a, b) => (a < b ? a : b));
    return begins.map((begin) => Number(begin - first));
  }
  const numberOfFlows = (directions) => directions.reduce((sum, one) => sum + one.flows.length - 1, 0);

  // The series of a flow of a direction; of both directions if the flow is null.
  function seriesOf(directions, later, chosen) {
    const delays = [], losses = [];
    directions.forEach((one, index) => {
      if (chosen && chosen.direction !== index) return;
      const flow = one.flows[chosen ? chosen.flow : 0], look = LOOKS[index];
      const t = (raw) => sums(raw.t).map((ns) => (ns + later[index]) * 1e-9);
      delays.push({ name: `delay ${one.name}`, t: t(flow.delays), y: sums(flow.delays.y), of: flow.delays.of, ...look.delay });
      losses.push({ name: `lost ${one.name}`, t: t(flow.losses), frames: sums(flow.losses.y), of: flow.losses.of, ...look.lost });
    });
    // Lost packets have no delay: their marks are below the shortest one.
    const values = delays.flatMap((one) => one.y);
    const least = values.reduce((a, b) => Math.min(a, b), Infinity), most = values.reduce((a, b) => Math.max(a, b), -Infinity);
    const floor = values.length > 0 ? least - Math.max((most - least) * 0.08, 1) : 0;
    losses.forEach((one) => { one.y = one.t.map(() => floor); });
    return [...delays, ...losses];
  }
  function drawDelays(figure, group, series, moments) {
    group.clear();
    Page.plot(figure, {
      id: 'path-delay', title: 'One-way delay, lost packets and outages over time', group, series, moments, height: 320,
      label: 'One-way delays and lost packets over time. Arrow keys move, plus and minus zoom, 0 shows all.',
      format: (ns) => time(ns, 7), axisSize: 92, nothing: 'No packet was seen at both points.',
      words: (one, t, y) => (one.frames
        ? `${seconds(t)}  ${one.name}, frame ${one.frames[Page.firstAt(one.t, t)]}` : `${seconds(t)}  ${one.name}: ${time(y, 9)}`),
    });
    const times = [...series.flatMap((one) => one.t), ...moments.map(({ t }) => t)];
    const first = times.reduce((a, b) => Math.min(a, b), Infinity), last = times.reduce((a, b) => Math.max(a, b), -Infinity);
    const pad = (last - first) * 0.01 || 1e-6;
    group.full = times.length > 0 ? [first - pad, last + pad] : [0, 1];
    group.reset();
  }
  function drawDistribution(figure, directions, chosen) {
    const series = directions.flatMap((one, index) => {
      if (chosen && chosen.direction !== index) return [];
      const { from_ns: from, width_ns: width, frames } = one.flows[chosen ? chosen.flow : 0].bins;
      const last = frames.findLastIndex((count) => count > 0);
      if (last < 0) return [];
      const t = [from - width], y = [0];
      frames.slice(0, last + 1).forEach((count, at) => { t.push(from + at * width); y.push(count); });
      t.push(from + (last + 1) * width);
      y.push(0);
      return [{ name: `delay ${one.name}`, t, y, of: t.length, steps: true, fill: true, colour: LOOKS[index].delay.colour, width, bins: frames.length, from }];
    });
    Page.plot(figure, {
      id: 'path-distribution', title: 'Distribution of the delay', label: 'Histogram of the one-way delays', fromZero: true, height: 220,
      series, format: whole, axisFormat: (value) => (Number.isInteger(value) ? whole(value) : ''), nothing: 'No packet was seen at both points.',
      words: (one, at, count) => (count === 0 ? '' : at >= one.from + (one.bins - 1) * one.width
        ? `${one.name}: ${time(at, 7)} or more: ${whole(count)} packets` : `${one.name}: ${time(at, 7)} to ${time(at + one.width, 7)}: ${whole(count)} packets`),
      axisX: { values: (_, values) => values.map((ns) => time(ns, 7)), space: 110 },
    });
  }

  function flowList(directions) {
    const options = [element('option', { value: '' }, 'all flows')];
    directions.forEach((one, index) => one.flows.slice(1).forEach((flow, at) =>
      options.push(element('option', { value: `${index}.${at + 1}` }, `${flow.name}: ${whole(flow.losses.of)} lost, ${whole(flow.delays.of)} delays`))));
    return options;
  }
  function showLost(place, directions, later, numbering) {
    const rows = directions.flatMap((one, index) => one.lost_frames.rows.map((row) => ({
      direction: one.name, ...Object.fromEntries(one.lost_frames.columns.map((column, at) => [column, row[at]])), later: later[index] })));
    Page.table(place, {
      id: 'lost', title: 'Lost frames', rows, of: directions.reduce((sum, one) => sum + one.lost, 0),
      columns: [
        { key: 'direction', title: 'Between', keep: true },
        { key: 'frame', title: 'Frame', number: true, help: numbering },
        { key: 'time_ns', title: 'Time', number: true, text: (row) => time(row.time_ns + row.later, 9), value: (row) => row.time_ns + row.later, help: 'since the first packet' },
        { key: 'packet', title: 'Packet', keep: true }, { key: 'psn', title: 'PSN', number: true }, { key: 'flow', title: 'Flow' },
      ],
    });
  }

  // Fills `place` with the plots of one pair of points at a time. segments: [[picture, picture], ...].
  // numbering: what the numbers of frames count.
  function show(place, segments, numbering) {
    const segment = element('select', { id: 'path-segment' }, segments.map((directions, index) =>
      element('option', { value: index }, directions.map(({ name }) => name).join(', '))));
    const flow = element('select', { id: 'path-flow', class: 'grow' });
    const delays = element('figure', { class: 'plot wide', id: 'path-delay-figure' });
    const distribution = element('figure', { class: 'plot wide', id: 'path-distribution-figure' });
    const left = element('p', { class: 'muted', id: 'path-left' }), lost = element('div', { id: 'lost-place' });
    const group = Page.timeGroup((from, to) => { delays.dataset.from = from; delays.dataset.to = to; });
    const button = (id, text, label, action) => element('button', { type: 'button', id, 'aria-label': label, onclick: action }, text);
    place.replaceChildren(
      element('div', { class: 'bar' },
        ...(segments.length > 1 ? [element('label', { for: 'path-segment' }, 'Points'), segment] : []),
        element('label', { for: 'path-flow' }, 'Flow'), flow,
        button('path-zoom-in', '+', 'Zoom in', () => group.zoom(0.5)), button('path-zoom-out', '−', 'Zoom out', () => group.zoom(2)),
        button('path-reset', 'All of it', 'Show all of the time', () => group.reset())),
      element('div', { class: 'plots' }, delays, distribution), left, element('h3', { class: 'part' }, 'Lost frames'), lost);

    function draw() {
      const directions = segments[Number(segment.value)], later = alignTimes(directions);
      const [index, at] = flow.value.split('.').map(Number);
      const chosen = flow.value === '' ? null : { direction: index, flow: at };
      const moments = directions.flatMap((one, direction) => one.moments.map(({ t, text }) => ({ t: (t + later[direction]) * 1e-9, text: `${one.name}: ${text}` })));
      drawDelays(delays, group, seriesOf(directions, later, chosen), moments);
      drawDistribution(distribution, directions, chosen);
      delays.dataset.moments = moments.length;
    }
    function choose() {
      const directions = segments[Number(segment.value)];
      flow.replaceChildren(...flowList(directions));
      const all = directions.reduce((sum, one) => sum + one.flows_of, 0), shown = numberOfFlows(directions);
      left.textContent = [
        directions.some((one) => one.variation_only) ? 'Delays are the variation above the shortest: the offset of the clocks is not known.' : '',
        shown > 0 && shown < all ? `Of ${whole(all)} flows, the ${whole(shown)} with most losses can be chosen.` : '',
        ...directions.flatMap((one) => one.moments.map(({ text }) => `${one.name}: ${text}.`)),
      ].filter(Boolean).join(' ');
      showLost(lost, directions, alignTimes(directions), numbering);
      draw();
    }
    segment.addEventListener('change', choose);
    flow.addEventListener('change', draw);
    choose();
  }

  return { show };
})();
