// What runs took, beside what was predicted: { latency_ms, predicted_step_ms, times: { steps, nodes,
// edges } }, as --report tells it.

/** Nodes get `measured` ({ ns, device }), transfers `measured_ns`; null: not known. */
function readMeasured(model, measured) {
  const nodes = new Map(measured.times.nodes.map((node) => [node.node, node]));
  model.nodes.forEach((node) => { node.measured = nodes.get(node.node) ?? null; });
  const edges = new Map(measured.times.edges.map((edge) =>
      [`${edge.tensor} ${edge.from} ${edge.to}`, edge.ns]));
  model.transfers.forEach((transfer) => {
    transfer.measured_ns = edges.get(`${transfer.tensor} ${transfer.from} ${transfer.to}`) ?? null;
  });
  model.measured = measured;
}

const measuredNs = (node) => node.measured === null ? null : node.measured.ns;
const factorText = (value) => `${value.toFixed(2)} times`;

/** The column of measured times, and how they compare with `predicted`. */
function measuredColumns(model, measured, predicted) {
  return [
    timeColumn(model, 'measured', measured),
    numberColumn('measured against predicted', (row) => measured(row) !== null && predicted(row) > 0
        ? measured(row) / predicted(row) : null, factorText),
  ];
}

/** Devices with the sums of their operations. */
function measuredDevices(model) {
  return model.devices.map((device) => {
    const nodes = model.nodes.filter((node) => node.measured?.device === device.device);
    const sum = (of) => nodes.reduce((total, node) => total + of(node), 0);
    return { device: device.device, count: nodes.length, predicted: sum(nodeTime),
             measured: nodes.length === 0 ? null : sum(measuredNs) };
  }).filter(({ count }) => count > 0);
}

function measuredDevicesTable(model) {
  return makeTable([
    deviceColumn(model),
    numberColumn('operations', (d) => d.count),
    timeColumn(model, 'predicted', (d) => d.predicted),
    ...measuredColumns(model, (d) => d.measured, (d) => d.predicted),
  ], measuredDevices(model), { name: 'measured_devices' });
}

function measuredOpsTable(model) {
  const rows = model.nodes.filter((node) => node.measured !== null);
  const off = (node) => Math.abs(node.measured.ns - nodeTime(node));
  return makeTable([
    textColumn('operation', (n) => n.node, nodeButton),
    textColumn('kind', (n) => n.kind),
    deviceColumn(model),
    textColumn('ran on', (n) => n.measured.device === n.device ? '' : n.measured.device),
    textColumn('predicted by', (n) => n.source),
    timeColumn(model, 'predicted', nodeTime),
    ...measuredColumns(model, measuredNs, nodeTime),
    timeColumn(model, 'off by', off),
  ], [...rows].sort((a, b) => off(b) - off(a) || a.id - b.id),
  { name: 'measured', most: 50, caption: 'those first whose prediction is off by most' });
}

function measuredSummary(model) {
  const { measured, time } = model;
  const took = measured.latency_ms.p50 * 1e6;
  const predicted = model.stepNs;
  const known = model.nodes.filter((node) => node.measured !== null);
  const elsewhere = known.filter((node) => node.measured.device !== node.device).length;
  return `The step was predicted to take ${time(predicted)} and took ${time(took)}, ` +
      `${factorText(took / predicted)} as long (the middle of the runs). ` +
      `${known.length} of ${model.nodes.length} operations were measured, in ${measured.times.steps} ` +
      `step${measured.times.steps === 1 ? '' : 's'}.` +
      (elsewhere > 0 ? ` ${elsewhere} of them ran on another device than this page shows: the run ` +
                       'used a plan that was made before, or changed it.' : '');
}

/** The section on what was measured; nothing where nothing ran. */
function showMeasured(model) {
  if (model.measured === null) {
    return;
  }
  byId('measured').hidden = false;
  byId('measured-summary').textContent = measuredSummary(model);
  byId('measured-devices').append(measuredDevicesTable(model));
  byId('measured-table').append(measuredOpsTable(model));
  const sent = model.transfers.filter((transfer) => transfer.measured_ns !== null);
  if (sent.length > 0) {
    byId('measured-transfers').append(makeTable([
      textColumn('tensor', (t) => t.tensor),
      textColumn('from', (t) => t.from),
      textColumn('to', (t) => t.to),
      bytesColumn('bytes', (t) => t.bytes),
      timeColumn(model, 'predicted', (t) => t.transfer_ns),
      ...measuredColumns(model, (t) => t.measured_ns, (t) => t.transfer_ns),
    ], sent, { name: 'measured_transfers' }));
  }
}
