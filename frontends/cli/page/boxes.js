// Boxes of the graph and what is written in them.

const kindFont = fontOf(13, '600 ');
const nameFont = fontOf(11);
const typeFont = fontOf(10);

/** How a box is divided among devices: [device, part] by device. */
function sharesOf(model, box) {
  const counts = new Map();
  for (const id of box.nodes) {
    const { deviceIndex } = model.nodes[id];
    counts.set(deviceIndex, (counts.get(deviceIndex) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => a - b)
      .map(([device, count]) => [device, count / box.nodes.length]);
}

/** A box in the colours of its devices, with an outline where it is large enough. */
function fillBox(context, theme, shares, x, y, w, h, outline) {
  let left = x - w / 2;
  for (const [device, part] of shares) {
    context.fillStyle = outline ? theme.fill(device) : theme.stroke(device);
    context.fillRect(left, y - h / 2, part * w, h);
    left += part * w;
  }
  if (outline) {
    Object.assign(context, { strokeStyle: theme.stroke(shares[0][0]), lineWidth: 1 });
    context.strokeRect(x - w / 2, y - h / 2, w, h);
  }
}

/** The two lines of a box: what it is and its name. */
function textsOf(model, box) {
  const node = model.nodes[box.nodes[0]];
  return box.scope === null ? [node.kind, node.node] : [`▸ ${box.nodes.length} operations`, box.scope];
}

function writeInBox(context, theme, model, box, x, y) {
  const [kind, name] = textsOf(model, box);
  const room = nodeWidth - 8;
  clipped(context, x - nodeWidth / 2, y - nodeHeight / 2, nodeWidth, nodeHeight, () => {
    Object.assign(context, { fillStyle: theme.ink, textAlign: 'center', font: kindFont });
    context.fillText(fitText(kind, room, kindFont), x, y - 8);
    context.font = nameFont;
    context.fillText(fitText(name, room, nameFont), x, y + 9);
  });
}

/** The shape that a node gives, at the beginning of its edges. */
function writeType(context, theme, model, box, x, y) {
  const node = model.nodes[box.nodes[0]];
  if (box.scope !== null || node.outputs.length === 0) {
    return;
  }
  const text = fitText(model.tensors[node.outputs[0]].type, nodeWidth / 2 - 6, typeFont);
  clipped(context, x + 4, y + nodeHeight / 2, nodeWidth / 2 - 4, 14, () => {
    Object.assign(context, { fillStyle: theme.faint, textAlign: 'left', font: typeFont });
    context.fillText(text, x + 5, y + nodeHeight / 2 + 7);
  });
}

/** Frames of boxes on the critical path, found and selected. */
function frameBoxes(graph, context, theme, seen, w, h) {
  const { nodes } = graph.model;
  const { x, y } = graph.layout;
  const frame = (color, width, wants, dashes = []) => {
    context.beginPath();
    seen.filter((b) => graph.boxes[b].nodes.some((id) => wants(nodes[id])))
        .forEach((b) => context.rect(x[b] - w / 2, y[b] - h / 2, w, h));
    Object.assign(context, { strokeStyle: color, lineWidth: width });
    context.setLineDash(dashes);
    context.stroke();
    context.setLineDash([]);
  };
  if (graph.showPath && graph.scale * h > 5) {
    frame(theme.ink, Math.max(2, 0.8 / graph.scale), (node) => node.critical);
  }
  frame(theme.cut, Math.max(4, 2 / graph.scale), (node) => node.moved, [8, 6]);
  frame(theme.limit, Math.max(4, 3 / graph.scale), (node) => graph.found.has(node.id));
  frame(theme.accent, Math.max(4, 3 / graph.scale), (node) => node.id === graph.selected);
}

/** Draws the boxes that are seen; their number is told in data-drawn. */
function paintBoxes(graph, context, theme, view) {
  const least = 1.5 / graph.scale;  // boxes are seen at any scale
  const w = Math.max(nodeWidth, least);
  const h = Math.max(nodeHeight, least);
  const { x, y } = graph.layout;
  const seen = [...graph.boxes.keys()].filter((b) =>
      x[b] + w > view[0] && x[b] - w < view[2] && y[b] + h > view[1] && y[b] - h < view[3]);
  const outline = graph.scale * nodeHeight > 5;
  for (const b of seen) {
    fillBox(context, theme, sharesOf(graph.model, graph.boxes[b]), x[b], y[b], w, h, outline);
  }
  frameBoxes(graph, context, theme, seen, w, h);
  if (graph.scale > 0.45) {
    for (const b of seen) {
      writeInBox(context, theme, graph.model, graph.boxes[b], x[b], y[b]);
      writeType(context, theme, graph.model, graph.boxes[b], x[b], y[b]);
    }
  }
  graph.canvas.dataset.drawn = String(seen.length);
}
