// Where nodes are drawn: in layers, each node below what it reads. Crossings: Sugiyama, Tagawa,
// Toda, "Methods for visual understanding of hierarchical system structures", 1981; positions within
// a layer: least squares under the order (pool adjacent violators).

const nodeWidth = 170;
const nodeHeight = 36;
const layerHeight = 76;
const nodeGap = 18;
const bendGap = 12;
const columnGap = 90;
/** How much each point is drawn to the middle, so that long graphs do not lean to a side. */
const centring = 0.04;
/** An edge over more layers than this is drawn straight. */
const mostBends = 400;

/** Layer of each node: below its inputs, and as low as that allows for one without any. */
function layersOf(count, edges) {
  const layer = new Int32Array(count);
  const byProducer = [...edges].sort((a, b) => a[0] - b[0]);  // ids are a topological order
  for (const [from, to] of byProducer) {
    layer[to] = Math.max(layer[to], layer[from] + 1);
  }
  const hasInput = new Uint8Array(count);
  const lowest = new Int32Array(count).fill(-1);
  for (const [from, to] of edges) {
    hasInput[to] = 1;
    lowest[from] = lowest[from] < 0 ? layer[to] - 1 : Math.min(lowest[from], layer[to] - 1);
  }
  for (let n = 0; n < count; ++n) {
    layer[n] = hasInput[n] || lowest[n] < 0 ? layer[n] : lowest[n];
  }
  return layer;
}

/**
 * Points (a node each, then bends of long edges), their layers, neighbours above and below, and for
 * each edge the points that it goes through. All long edges of a node share their bends.
 */
function makePoints(count, edges, layer) {
  const points = { layer: Array.from(layer), above: [], below: [], isNode: (p) => p < count };
  const routes = [];
  const chains = new Map();
  const join = (upper, lower) => {
    points.below[upper].push(lower);
    points.above[lower].push(upper);
  };
  for (let n = 0; n < count; ++n) {
    points.above.push([]);
    points.below.push([]);
  }
  for (const [from, to] of edges) {
    const span = layer[to] - layer[from];
    if (span > mostBends) {
      routes.push([from, to]);
      continue;
    }
    const chain = chains.get(from) ?? [from];
    chains.set(from, chain);
    while (chain.length < span) {
      const bend = points.layer.length;
      points.layer.push(layer[from] + chain.length);
      points.above.push([]);
      points.below.push([]);
      join(chain[chain.length - 1], bend);
      chain.push(bend);
    }
    join(chain[span - 1], to);
    routes.push([...chain.slice(0, span), to]);
  }
  return { points, routes };
}

/** Sorts each layer by the mean position of its points' neighbours, downwards and upwards in turn. */
function orderLayers(points, rows, sweeps) {
  const position = new Float64Array(points.layer.length);
  const number = (row) => row.forEach((point, i) => { position[point] = i; });
  rows.forEach(number);
  const sortBy = (row, neighbours) => {
    const keys = new Map(row.map((point) => {
      const others = neighbours[point];
      const sum = others.reduce((total, other) => total + position[other], 0);
      return [point, others.length > 0 ? sum / others.length : position[point]];
    }));
    row.sort((a, b) => keys.get(a) - keys.get(b) || position[a] - position[b]);
    number(row);
  };
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    rows.forEach((row) => sortBy(row, points.above));
    for (let r = rows.length - 1; r >= 0; --r) {
      sortBy(rows[r], points.below);
    }
  }
}

/** Moves the points of a row near to where they want to be, in order and with gaps between. */
function settleRow(row, wanted, weight, widthOf, x) {
  const blocks = [];
  let offset = 0;
  row.forEach((point, i) => {
    if (i > 0) {
      offset += (widthOf(row[i - 1]) + widthOf(point)) / 2;
    }
    let block = { sum: (wanted(point) - offset) * weight(point), weight: weight(point), from: i };
    while (blocks.length > 0) {
      const before = blocks[blocks.length - 1];
      if (before.sum / before.weight <= block.sum / block.weight) {
        break;
      }
      block = { sum: block.sum + before.sum, weight: block.weight + before.weight,
                from: before.from };
      blocks.pop();
    }
    blocks.push(block);
  });
  offset = 0;
  let b = 0;
  row.forEach((point, i) => {
    if (i > 0) {
      offset += (widthOf(row[i - 1]) + widthOf(point)) / 2;
    }
    while (b + 1 < blocks.length && blocks[b + 1].from <= i) {
      ++b;
    }
    x[point] = blocks[b].sum / blocks[b].weight + offset;
  });
}

/** x of each point. Bends weigh more than nodes, so that long edges are straight. */
function placePoints(points, rows, sweeps) {
  const x = new Float64Array(points.layer.length);
  const widthOf = (point) => points.isNode(point) ? nodeWidth + nodeGap : bendGap;
  const weight = (point) => points.isNode(point) ? 1 : 4;
  const towards = (neighbours) => (point) => {
    const others = neighbours[point];
    const sum = others.reduce((total, other) => total + x[other], 0);
    return (1 - centring) * (others.length > 0 ? sum / others.length : x[point]);
  };
  rows.forEach((row) => settleRow(row, (point) => x[point], () => 1, widthOf, x));
  for (let sweep = 0; sweep < sweeps; ++sweep) {
    rows.forEach((row) => settleRow(row, towards(points.above), weight, widthOf, x));
    for (let r = rows.length - 1; r >= 0; --r) {
      settleRow(rows[r], towards(points.below), weight, widthOf, x);
    }
  }
  return x;
}

/** Rows at which a long graph is cut into columns, where few edges cross. */
function columnStarts(points, rows, rowWidth, aspect) {
  const crossing = rows.map((row) => row.reduce((sum, point) => sum + points.above[point].length, 0));
  const wide = rowWidth.reduce((most, width) => Math.max(most, width), 0) + columnGap;
  const columns = Math.round(Math.sqrt(aspect * rows.length * layerHeight / wide));
  const starts = [0];
  if (columns < 2 || rows.length < 8) {
    return starts;
  }
  for (let c = 1; c < columns; ++c) {
    const each = (rows.length - starts[c - 1]) / (columns - c + 1);
    const ideal = starts[c - 1] + Math.round(each);
    const slack = Math.floor(each * 0.25);
    let best = ideal;
    for (let off = 1; off <= slack; ++off) {
      for (const r of [ideal - off, ideal + off]) {
        best = crossing[r] < crossing[best] ? r : best;
      }
    }
    starts.push(best);
  }
  return starts;
}

/**
 * { x, y, column, gaps, width, height, routes }: centres of all points, the nodes first, their
 * columns, the middle of the gap behind each column, and for each edge the points that it goes
 * through. A long graph continues in columns beside each other, so that all of
 * it has about the shape `aspect`.
 */
function layOut(count, edges, aspect) {
  const { points, routes } = makePoints(count, edges, layersOf(count, edges));
  const rows = [];
  points.layer.forEach((layer, point) => (rows[layer] ??= []).push(point));
  const sweeps = points.layer.length < 30000 ? 6 : 2;
  orderLayers(points, rows, sweeps);
  const x = placePoints(points, rows, sweeps);
  const ends = rows.map((row) => [x[row[0]], x[row[row.length - 1]]]);
  const starts = columnStarts(points, rows, ends.map(([left, right]) => right - left + nodeWidth), aspect);
  const y = new Float64Array(x.length);
  const column = new Int32Array(x.length);
  const gaps = [];
  let left = 0;
  let height = 0;
  starts.forEach((start, c) => {
    const end = starts[c + 1] ?? rows.length;
    const within = ends.slice(start, end);
    const from = within.reduce((least, row) => Math.min(least, row[0]), Infinity) - nodeWidth / 2;
    const to = within.reduce((most, row) => Math.max(most, row[1]), -Infinity) + nodeWidth / 2;
    for (let r = start; r < end; ++r) {
      for (const point of rows[r]) {
        x[point] += left - from;
        y[point] = (r - start + 0.5) * layerHeight;
        column[point] = c;
      }
    }
    left += to - from + columnGap;
    gaps.push(left - columnGap / 2);
    height = Math.max(height, (end - start) * layerHeight);
  });
  return { x, y, column, gaps, width: Math.max(left - columnGap, nodeWidth), height, routes };
}
