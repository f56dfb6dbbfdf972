// Lines of the graph from node to node.

/** Goes on to another column: up in the gap before it. */
function traceToColumn(context, fromX, fromY, toX, toY, gap) {
  const reach = layerHeight * 0.7;
  context.bezierCurveTo(fromX, fromY + reach, gap, fromY + reach, gap, fromY);
  context.lineTo(gap, toY);
  context.bezierCurveTo(gap, toY - reach, toX, toY - reach, toX, toY);
}

/** Adds the line through the points of a route; smooth where `curved`. */
function traceRoute(context, layout, route, curved) {
  const { x, y } = layout;
  let upper = route[0];
  context.moveTo(x[upper], y[upper] + nodeHeight / 2);
  for (let i = 1; i < route.length; ++i) {
    const lower = route[i];
    const fromY = i === 1 ? y[upper] + nodeHeight / 2 : y[upper];
    const toY = i + 1 === route.length ? y[lower] - nodeHeight / 2 : y[lower];
    if (layout.column[lower] !== layout.column[upper]) {
      traceToColumn(context, x[upper], fromY, x[lower], toY, layout.gaps[layout.column[lower] - 1]);
    } else if (curved) {
      const bend = (toY - fromY) / 2;
      context.bezierCurveTo(x[upper], fromY + bend, x[lower], toY - bend, x[lower], toY);
    } else {
      context.lineTo(x[lower], toY);
    }
    upper = lower;
  }
}

/** How far a point is from a route, about: its curves are taken as a few straight lines. */
function distanceToRoute(layout, route, x, y) {
  const parts = 6;
  let least = Infinity;
  for (let i = 1; i < route.length; ++i) {
    const [fromX, toX] = [layout.x[route[i - 1]], layout.x[route[i]]];
    const fromY = layout.y[route[i - 1]] + (i === 1 ? nodeHeight / 2 : 0);
    const toY = layout.y[route[i]] - (i + 1 === route.length ? nodeHeight / 2 : 0);
    let [lastX, lastY] = [fromX, fromY];
    for (let part = 1; part <= parts; ++part) {
      const t = part / parts;
      const ease = t * t * (3 - 2 * t);
      const [nextX, nextY] = [fromX + (toX - fromX) * ease,
                              fromY + (toY - fromY) * (1.5 * t * (1 - t) + t ** 3)];
      least = Math.min(least, distanceToLine(lastX, lastY, nextX, nextY, x, y));
      [lastX, lastY] = [nextX, nextY];
    }
  }
  return least;
}

function distanceToLine(fromX, fromY, toX, toY, x, y) {
  const [dx, dy] = [toX - fromX, toY - fromY];
  const along = ((x - fromX) * dx + (y - fromY) * dy) / Math.max(dx * dx + dy * dy, 1e-9);
  const t = Math.min(Math.max(along, 0), 1);
  return Math.hypot(x - fromX - t * dx, y - fromY - t * dy);
}

/** [least x, least y, most x, most y] of each route. */
function boundsOfRoutes(layout) {
  return layout.routes.map((route) => {
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const point of route) {
      left = Math.min(left, layout.x[point] - columnGap);
      right = Math.max(right, layout.x[point] + columnGap);
      top = Math.min(top, layout.y[point]);
      bottom = Math.max(bottom, layout.y[point]);
    }
    return [left, top - layerHeight, right, bottom + layerHeight];
  });
}

/** Draws the edges for which `wants(edge)` and that lie within [left, top, right, bottom]. */
function drawEdges(context, layout, bounds, view, curved, wants) {
  context.beginPath();
  layout.routes.forEach((route, e) => {
    const box = bounds[e];
    if (box[2] >= view[0] && box[0] <= view[2] && box[3] >= view[1] && box[1] <= view[3] &&
        wants(e)) {
      traceRoute(context, layout, route, curved);
    }
  });
  context.stroke();
}
