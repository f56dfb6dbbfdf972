// What runs when: a row for the critical path, each device and each link.

const rowHeight = 20;
const rowGap = 6;

/** Puts what overlaps into lanes of its own, at most `most`. Items are [start, finish, …]. */
function intoLanes(items, most) {
  const free = [];
  for (const item of items) {
    let lane = free.findIndex((time) => time <= item.start);
    lane = lane < 0 ? Math.min(free.length, most - 1) : lane;
    free[lane] = Math.max(item.finish, free[lane] ?? 0);
    item.lane = lane;
  }
  return Math.max(free.length, 1);
}

/** Rows { label, lanes, items: [{ start, finish, lane, fill, node or transfer, part, idle }] }. */
function timelineRows(model) {
  const path = model.path.steps.map(([kind, index, start, finish]) => ({
    start, finish, lane: 0, part: kind,
    node: kind.startsWith('link') ? null : model.nodes[index],
    transfer: kind.startsWith('link') ? model.transfers[index] : null,
  }));
  const rows = [{ label: 'critical path', lanes: 1, items: path }];
  model.devices.forEach((device, d) => {
    const items = model.nodes.filter((node) => node.deviceIndex === d)
        .map((node) => ({ start: node.start_ns, finish: node.finish_ns, node, device: d }))
        .sort((a, b) => a.start - b.start);
    if (items.length > 0) {
      const lanes = intoLanes(items, 8);
      rows.push({ label: device.device, lanes, items: [...idleItems(model, d, lanes), ...items] });
    }
  });
  for (const link of model.links.filter((each) => each.transfers > 0)) {
    const items = model.transfers.filter((transfer) => transfer.link === link.link)
        .map((transfer) => ({
          start: transfer.start_ns, finish: transfer.start_ns + transfer.transfer_ns, transfer,
        }))
        .sort((a, b) => a.start - b.start);
    rows.push({ label: link.link, lanes: intoLanes(items, 6), items });
  }
  let top = axisHeight;
  for (const row of rows) {
    row.top = top;
    top += row.lanes * rowHeight + rowGap;
  }
  return rows;
}

/** What a device does not do, in all of its lanes. */
function idleItems(model, device, lanes) {
  return idleTimes(model, device).flatMap((idle) => Array.from(
      { length: lanes }, (_, lane) => ({ start: idle.start, finish: idle.finish, lane, idle })));
}

class Timeline {
  /** On the canvas `id`. */
  constructor(id, model, axis, onSelect) {
    this.model = model;
    this.axis = axis;
    this.selected = -1;
    this.rows = timelineRows(model);
    const canvas = byId(id);
    const last = this.rows[this.rows.length - 1];
    canvas.style.height = `${last.top + last.lanes * rowHeight + rowGap}px`;
    this.surface = new Surface(canvas, (...to) => this.paint(...to));
    axis.follow(this.surface);
    axis.listen(this.surface, {
      hover: (x, y, event) => showTip(this.describe(this.itemAt(x, y)), event),
      click: (x, y) => {
        const item = this.itemAt(x, y);
        if (item?.node) {
          onSelect(item.node);
        }
      },
    });
  }

  select(id) {
    this.selected = id;
    this.axis.reveal(this.model.nodes[id].start_ns, this.model.nodes[id].finish_ns);
    this.surface.request();
  }

  itemAt(x, y) {
    const row = this.rows.find((each) => y >= each.top && y < each.top + each.lanes * rowHeight);
    if (row === undefined || x < labelWidth(this.surface.width)) {
      return null;
    }
    const lane = Math.floor((y - row.top) / rowHeight);
    const near = 2 / this.surface.width * (this.axis.to - this.axis.from);
    const time = this.axis.time(x, this.surface.width);
    return row.items.find((item) => item.lane === lane && item.start - near <= time &&
                                    time <= item.finish + near) ?? null;
  }

  describe(item) {
    if (item === null) {
      return '';
    }
    if (item.idle) {
      return describeIdle(this.model, item.idle);
    }
    const what = item.node ? describeNode(this.model, item.node)
                           : describeTransfer(this.model, item.transfer);
    return item.part ? `${describePart(this.model, item)}\n${what}` : what;
  }

  colorOf(item, theme, isWide) {
    if (item.part) {
      return item.part === 'compute' ? theme.compute : item.part === 'link' ? theme.link
                                                                           : theme.wait;
    }
    return !item.node ? theme.link : isWide ? theme.fill(item.device) : theme.stroke(item.device);
  }

  paint(context, width, height, theme) {
    this.axis.paint(context, width, height, theme, this.model.time);
    this.rows.forEach((row) => this.paintRow(context, width, theme, row));
  }

  paintRow(context, width, theme, row) {
    context.textAlign = 'left';
    context.fillStyle = theme.ink;
    context.fillText(fitText(row.label, labelWidth(width) - 12), 8, row.top + rowHeight / 2);
    context.save();
    context.beginPath();
    context.rect(labelWidth(width), row.top, width - labelWidth(width), row.lanes * rowHeight);
    context.clip();
    for (const item of row.items) {
      const left = this.axis.x(item.start, width);
      const right = Math.max(this.axis.x(item.finish, width), left + 0.5);
      if (right > labelWidth(width) && left < width) {
        this.paintItem(context, theme, item, left, right, row.top + item.lane * rowHeight);
      }
    }
    context.restore();
  }

  /** Idle: a line in the middle, dotted where nothing is left to do. */
  static paintIdle(context, theme, item, left, right, top) {
    Object.assign(context, { strokeStyle: theme.wait, lineWidth: 1.5 });
    context.setLineDash(item.idle.isDone ? [1, 5] : []);
    context.beginPath();
    context.moveTo(left, top + rowHeight / 2);
    context.lineTo(right, top + rowHeight / 2);
    context.stroke();
    context.setLineDash([]);
  }

  paintItem(context, theme, item, left, right, top) {
    if (item.idle) {
      Timeline.paintIdle(context, theme, item, left, right, top);
      return;
    }
    const isWide = right - left > 4;
    context.fillStyle = this.colorOf(item, theme, isWide);
    context.fillRect(left, top + 1, right - left, rowHeight - 2);
    if (isWide && item.node && !item.part) {
      context.strokeStyle = item.node.critical ? theme.ink : theme.stroke(item.device);
      context.lineWidth = item.node.critical ? 1.5 : 1;
      context.strokeRect(left + 0.5, top + 1.5, right - left - 1, rowHeight - 3);
    }
    if (item.node?.id === this.selected) {
      Object.assign(context, { strokeStyle: theme.accent, lineWidth: 3 });
      context.strokeRect(left, top + 1, Math.max(right - left, 3), rowHeight - 2);
    }
    if (right - left > 30 && !item.part) {
      context.fillStyle = item.node ? theme.ink : theme.paper;
      const shown = Math.max(left, labelWidth(this.surface.width));  // of an item that begins before
      const text = fitText(item.node ? `${item.node.kind} ${item.node.node}` : item.transfer.tensor,
                           right - shown - 8);
      clipped(context, shown, top, right - shown, rowHeight,
              () => context.fillText(text, shown + 4, top + rowHeight / 2));
    }
  }
}
