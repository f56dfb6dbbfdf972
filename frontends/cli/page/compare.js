// Another placement of the same graph beside this one.

/** Finds each node in the other placement; `moved`: it is on another device there. */
function compareWith(model, other) {
  const byName = new Map(other.nodes.map((node) => [node.node, node]));
  for (const node of model.nodes) {
    node.there = byName.get(node.node) ?? null;
    node.moved = node.there !== null && node.there.device !== node.device;
  }
  model.other = other;
}

/** What can be said of a whole placement in a number. */
function figuresOf(model) {
  const { time, devices, transfers, path, explanation } = model;
  const sum = (list, of) => list.reduce((total, each) => total + of(each), 0);
  const most = (list, of) => list.reduce((least, each) => Math.max(least, of(each)), 0);
  return [
    ['step', explanation.latency_ns, time],
    ['period of steps', explanation.period_ns, time],
    ['critical path: compute', path.compute_ns, time],
    ['critical path: link', path.link_ns, time],
    ['critical path: wait', path.wait_ns, time],
    ['devices used', devices.filter((device) => device.ops > 0).length, String],
    ['peak memory of the fullest device', most(devices, (device) => device.peak_bytes), formatBytes],
    ['transfers', transfers.length, String],
    ['moved', sum(transfers, (transfer) => transfer.bytes), formatBytes],
    ...devices.map((device) => [`busy: ${device.device}`, device.busy_ns, time]),
  ];
}

function comparisonTable(model, other) {
  const there = new Map(figuresOf(other).map(([what, value]) => [what, value]));
  const here = figuresOf(model);
  const missing = figuresOf(other).filter(([what]) => !here.some(([known]) => known === what))
      .map(([what, , text]) => [what, null, text]);
  const rows = [...here, ...missing].map(([what, value, text]) =>
      ({ what, text, here: value, there: there.get(what) ?? null }));
  const number = (title, value) => ({
    title, value, text: (row) => value(row) === null ? '' : row.text(value(row)),
  });
  return makeTable([
    textColumn('what', (row) => row.what),
    number(`this: ${model.explanation.strategy}`, (row) => row.here),
    number(`other: ${other.explanation.strategy}`, (row) => row.there),
    numberColumn('other against this', (row) => row.here > 0 && row.there !== null
        ? row.there / row.here : null, (value) => `${value.toFixed(2)} times`),
  ], rows, { name: 'comparison' });
}

function movedTable(model) {
  const { time } = model;
  const moved = model.nodes.filter((node) => node.moved);
  return makeTable([
    textColumn('operation', (n) => n.node, nodeButton),
    textColumn('kind', (n) => n.kind),
    textColumn('device', (n) => n.device),
    textColumn('device in the other', (n) => n.there.device),
    numberColumn('time', nodeTime, time),
    numberColumn('time in the other', (n) => nodeTime(n.there), time),
    numberColumn('start', (n) => n.start_ns, time),
    numberColumn('start in the other', (n) => n.there.start_ns, time),
  ], moved, { name: 'moved', most: 50, caption: `${moved.length} of ${model.nodes.length} operations ` +
                                                'are on another device in the other placement' });
}

/** The section that compares; nothing without another placement. */
function showComparison(model) {
  if (model.other !== null) {
    byId('compare').hidden = false;
    byId('compare-table').append(comparisonTable(model, model.other));
    byId('moved-table').append(movedTable(model));
  }
}
