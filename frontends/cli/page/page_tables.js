// What the page tells in tables.

const nodeTime = (node) => node.finish_ns - node.start_ns;

const deviceColumn = (model) => textColumn('device', (n) => n.device, (n) => element(
    'span', {}, deviceSwatch(model.deviceIndex.get(n.device)), n.device));

function devicesTable(model) {
  const idle = model.devices.map((device, d) => idleSums(model, d));
  const idleOf = (device) => idle[model.deviceIndex.get(device.device)];
  const step = () => model.stepNs;
  return makeTable([
    deviceColumn(model),
    numberColumn('ops', (d) => d.ops),
    numberColumn('flops', (d) => d.flops, formatCount),
    bytesColumn('touched', (d) => d.bytes_touched),
    timeColumn(model, 'busy', (d) => d.busy_ns),
    partColumn('of the step', (d) => d.busy_ns, step),
    timeColumn(model, 'idle, waiting for data', (d) => idleOf(d).waiting),
    timeColumn(model, 'idle, nothing to do', (d) => idleOf(d).done),
    bytesColumn('weights', (d) => d.weight_bytes),
    bytesColumn('received', (d) => d.receive_bytes),
    bytesColumn('peak', (d) => d.peak_bytes),
    { ...bytesColumn('limit', (d) => d.limit_bytes),
      text: (d) => d.limit_bytes === null ? 'none' : formatBytes(d.limit_bytes) },
    partColumn('of the limit', (d) => d.peak_bytes, (d) => d.limit_bytes ?? 0),
    textColumn('peak at', (d) => d.peak_node),
    ...(model.devices.every((d) => d.weight === 1) ? [] : [numberColumn('weight', (d) => d.weight)]),
  ], model.devices, { name: 'devices' });
}

function strategiesTable(model) {
  const placed = (get) => (s) => s.failure === null ? get(s) : null;
  return makeTable([
    textColumn('strategy', (s) => s.strategy),
    timeColumn(model, 'step', placed((s) => s.step_ns)),
    numberColumn('against this one', placed((s) => s.step_ns / model.latencyNs),
                 (value) => `${value.toFixed(2)} times`),
    numberColumn('devices', placed((s) => s.devices_used)),
    bytesColumn('peak', placed((s) => s.peak_bytes)),
    numberColumn('transfers', placed((s) => s.transfers)),
    bytesColumn('moved', placed((s) => s.transfer_bytes)),
    textColumn('why not', (s) => s.failure ?? ''),
  ], model.explanation.strategies,
  { name: 'strategies', rowClass: (s) => s.strategy === model.explanation.strategy ? 'here' : '' });
}

function linksTable(model) {
  return makeTable([
    textColumn('link', (l) => l.link),
    textColumn('kind', (l) => l.kind),
    numberColumn('transfers', (l) => l.transfers),
    bytesColumn('moved', (l) => l.bytes),
    timeColumn(model, 'busy', (l) => l.busy_ns),
    partColumn('of the step', (l) => l.busy_ns, () => model.stepNs),
    textColumn('transfers are', (l) => l.queues ? 'one at a time' : 'all at once'),
  ], model.links.filter((link) => link.transfers > 0), { name: 'links' });
}

function transfersTable(model) {
  return makeTable([
    textColumn('tensor', (t) => t.tensor),
    textColumn('type', (t) => model.tensors[t.tensor_index].type),
    textColumn('from', (t) => t.from),
    textColumn('to', (t) => t.to),
    bytesColumn('bytes', (t) => t.bytes),
    timeColumn(model, 'start', (t) => t.start_ns),
    timeColumn(model, 'wait for the link', (t) => t.wait_ns),
    timeColumn(model, 'time', (t) => t.transfer_ns),
  ], [...model.transfers].sort((a, b) => b.transfer_ns - a.transfer_ns),
  { caption: 'the longest first', name: 'transfers' });
}

function pathTable(model) {
  return makeTable([
    textColumn('what', (p) => p.kind),
    textColumn('where', (p) => p.where),
    timeColumn(model, 'time', (p) => p.ns),
    partColumn('of the step', (p) => p.ns, () => model.stepNs),
    numberColumn('count', (p) => p.count),
    textColumn('from', (p) => p.first),
    textColumn('to', (p) => p.last === p.first ? '' : p.last),
  ], model.path.segments, { name: 'critical_path' });
}

function wishesTable(model) {
  return makeTable([
    textColumn('configuration', (a) => a.configuration ?? ''),
    textColumn('device or layer', (a) => a.name),
    numberColumn('operations', (a) => a.nodes),
    textColumn('pinned to', (a) => a.device ?? ''),
    textColumn('why', (a) => a.why),
  ], model.explanation.annotations, { name: 'wishes' });
}

/** The shapes that an operation gives. */
const typesOf = (model, node) => node.outputs.map((t) => model.tensors[t].type).join(', ');

function opsTable(model) {
  const nodes = [...model.nodes].sort((a, b) => nodeTime(b) - nodeTime(a) || a.id - b.id);
  return makeTable([
    textColumn('operation', (n) => n.node, nodeButton),
    textColumn('kind', (n) => n.kind),
    textColumn('gives', (n) => typesOf(model, n)),
    deviceColumn(model),
    numberColumn('number', (n) => n.rank),
    timeColumn(model, 'start', (n) => n.start_ns),
    timeColumn(model, 'waited for the device', (n) => waitOf(model, n)),
    timeColumn(model, 'time', nodeTime),
    partColumn('of the step', nodeTime, () => model.stepNs),
    textColumn('path', (n) => n.critical ? 'critical' : ''),
  ], nodes, { caption: 'the longest first', most: 50, name: 'operations' });
}
