// Memory in use on each device over the step, with its limit.

const chartHeight = 66;
const chartGap = 12;
/** Of a chart: what is held for the whole step, not to scale. */
const heldHeight = 14;

class MemoryView {
  constructor(model, axis) {
    this.model = model;
    this.axis = axis;
    this.charts = model.devices.map((device, d) => ({ device, index: d }))
        .filter(({ device }) => device.ops > 0);
    const canvas = byId('memory');
    canvas.style.height = `${axisHeight + this.charts.length * (chartHeight + chartGap)}px`;
    this.surface = new Surface(canvas, (...to) => this.paint(...to));
    axis.follow(this.surface);
    axis.listen(this.surface, {
      hover: (x, y, event) => showTip(this.describe(x, y), event),
      click: () => {},
    });
  }

  /** Weights and the buffers of what comes from elsewhere: held for the whole step. */
  static heldBytes(device) { return device.weight_bytes + device.receive_bytes; }

  bytesAt(device, time) {
    let bytes = MemoryView.heldBytes(device);
    for (const [from, used] of device.memory) {
      if (from > time) {
        break;
      }
      bytes = used;
    }
    return bytes;
  }

  describe(x, y) {
    const chart = this.charts[Math.floor((y - axisHeight) / (chartHeight + chartGap))];
    const time = this.axis.time(x, this.surface.width);
    if (chart === undefined || x < labelWidth(this.surface.width) || time > this.model.stepNs) {
      return '';
    }
    const bytes = this.bytesAt(chart.device, time);
    const limit = chart.device.limit_bytes;
    const ofLimit = limit === null ? '' : `, ${percent(bytes, limit)} of the limit`;
    return `${chart.device.device} at ${this.model.time(time)}: ${formatBytes(bytes)}${ofLimit}`;
  }

  paint(context, width, height, theme) {
    this.axis.paint(context, width, height, theme, this.model.time);
    this.charts.forEach((chart, i) => this.paintChart(
        context, width, theme, chart, axisHeight + i * (chartHeight + chartGap)));
  }

  paintChart(context, width, theme, { device, index }, top) {
    const limit = device.limit_bytes;
    const showsLimit = limit !== null && limit < 4 * device.peak_bytes;
    const held = MemoryView.heldBytes(device);
    const more = Math.max(Math.max(device.peak_bytes, showsLimit ? limit : 0) - held, 1) * 1.05;
    const bottom = top + chartHeight;
    const floor = bottom - heldHeight;
    const y = (bytes) => floor - (bytes - held) / more * (chartHeight - heldHeight);
    this.paintLabels(context, width, theme, device, top);
    context.save();
    context.beginPath();
    context.rect(labelWidth(width), top, width - labelWidth(width), chartHeight + 1);
    context.clip();
    this.traceUse(context, width, device, y);
    context.lineTo(this.axis.x(this.model.stepNs, width), bottom);
    context.lineTo(this.axis.x(0, width), bottom);
    context.fillStyle = theme.fill(index);
    context.fill();
    this.traceUse(context, width, device, y);
    Object.assign(context, { strokeStyle: theme.stroke(index), lineWidth: 1.5 });
    context.stroke();
    context.fillStyle = theme.stroke(index);
    const left = this.axis.x(0, width);
    context.fillRect(left, floor, this.axis.x(this.model.stepNs, width) - left, heldHeight);
    context.fillStyle = theme.paper;
    context.fillText(`held for the whole step: ${formatBytes(held)} (not to scale)`, labelWidth(width) + 6,
                     floor + heldHeight / 2);
    if (showsLimit) {
      this.paintLine(context, width, y(limit), theme.limit, [6, 4]);
    }
    context.restore();
  }

  /** Begins a path along the use of memory. */
  traceUse(context, width, device, y) {
    let before = MemoryView.heldBytes(device);
    context.beginPath();
    context.moveTo(this.axis.x(0, width), y(before));
    for (const [from, bytes] of device.memory) {
      context.lineTo(this.axis.x(from, width), y(before));
      context.lineTo(this.axis.x(from, width), y(bytes));
      before = bytes;
    }
    context.lineTo(this.axis.x(this.model.stepNs, width), y(before));
  }

  paintLine(context, width, y, color, dashes) {
    context.setLineDash(dashes);
    Object.assign(context, { strokeStyle: color, lineWidth: 1.5 });
    context.beginPath();
    context.moveTo(labelWidth(width), y);
    context.lineTo(width, y);
    context.stroke();
    context.setLineDash([]);
  }

  paintLabels(context, width, theme, device, top) {
    const limit = device.limit_bytes === null ? 'no limit'
                                              : `limit ${formatBytes(device.limit_bytes)}`;
    context.textAlign = 'left';
    context.fillStyle = theme.ink;
    context.fillText(fitText(device.device, labelWidth(width) - 12), 8, top + 10);
    context.fillStyle = theme.faint;
    context.fillText(`peak ${formatBytes(device.peak_bytes)}`, 8, top + 28);
    context.fillText(limit, 8, top + 46);
  }
}
