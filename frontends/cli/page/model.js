// The explanation with everything found by its index.

/** Data is { about, explanation, … }. Nodes get `id`, `deviceIndex`, `inputs` and `outputs` (tensors) and whether they are `critical`. */
function readModel(data) {
  const explanation = data.explanation;
  const model = {
    about: data.about,
    explanation,
    nodes: explanation.nodes,
    tensors: explanation.tensors,
    devices: explanation.devices,
    links: explanation.links,
    transfers: explanation.edges,
    path: explanation.critical_path,
    stepNs: Math.max(explanation.step_ns, 1),        // of the timeline
    latencyNs: Math.max(explanation.latency_ns, 1),  // with what starts and ends it
    time: timeFormatter(data.about),
    other: null,     // a placement to compare with
    measured: null,  // what runs took
  };
  const deviceIndex = new Map(model.devices.map((device, i) => [device.device, i]));
  // By "tensor device": the transfer that brings it there.
  const arrivals = new Map(model.transfers.map((transfer) =>
      [`${transfer.tensor_index} ${transfer.to}`, transfer]));
  Object.assign(model, { deviceIndex, arrivals });
  model.nodes.forEach((node, id) => {
    Object.assign(node, {
      id, deviceIndex: deviceIndex.get(node.device), inputs: [], outputs: [], critical: false,
      choices: null, there: null, moved: false, measured: null,
    });
  });
  model.tensors.forEach((tensor, t) => {
    if (tensor.producer !== null) {
      model.nodes[tensor.producer].outputs.push(t);
    }
    tensor.consumers.forEach((consumer) => model.nodes[consumer].inputs.push(t));
  });
  model.path.steps.filter((step) => step[0] === 'compute').forEach((step) => {
    model.nodes[step[1]].critical = true;
  });
  explanation.choices.forEach((told) => {
    model.nodes[told.rank].choices = told;
  });
  return model;
}
