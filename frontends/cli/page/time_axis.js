// The part of the step that timeline and memory show.

/** Room for the names of rows. */
const labelWidth = (width) => Math.min(190, 0.3 * width);
const axisHeight = 22;

class TimeAxis {
  constructor(stepNs) {
    this.stepNs = stepNs;
    this.from = 0;
    this.to = stepNs;
    this.surfaces = [];
  }

  follow(surface) { this.surfaces.push(surface); }

  set(from, to) {
    const least = Math.max(this.stepNs * 1e-6, 1);
    const span = Math.min(Math.max(to - from, least), this.stepNs);
    this.from = Math.min(Math.max(from, 0), this.stepNs - span);
    this.to = this.from + span;
    this.surfaces.forEach((surface) => surface.request());
  }

  x(time, width) {
    return labelWidth(width) + (time - this.from) / (this.to - this.from) * (width - labelWidth(width) - 8);
  }
  time(x, width) {
    return this.from + (x - labelWidth(width)) / (width - labelWidth(width) - 8) * (this.to - this.from);
  }

  zoom(factor, at = (this.from + this.to) / 2) {
    this.set(at - (at - this.from) / factor, at + (this.to - at) / factor);
  }
  pan(part) { this.set(this.from + part * (this.to - this.from), this.to + part * (this.to - this.from)); }
  all() { this.set(0, this.stepNs); }

  /** Makes sure that it shows this stretch. */
  reveal(start, finish) {
    if (start < this.from || finish > this.to) {
      const half = (this.to - this.from) / 2;
      this.set((start + finish) / 2 - half, (start + finish) / 2 + half);
    }
  }

  /** Lines and labels at round times. */
  paint(context, width, height, theme, format) {
    const span = this.to - this.from;
    const rough = span / Math.max(2, (width - labelWidth(width)) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough) ?? 10 * power;
    context.textAlign = 'center';
    context.lineWidth = 1;
    for (let time = Math.ceil(this.from / step) * step; time <= this.to; time += step) {
      const x = Math.round(this.x(time, width)) + 0.5;
      context.strokeStyle = theme.line;
      context.beginPath();
      context.moveTo(x, axisHeight - 4);
      context.lineTo(x, height);
      context.stroke();
      context.fillStyle = theme.faint;
      context.fillText(format(time), Math.min(x, width - 30), axisHeight / 2);
    }
  }

  /** What pointers and keys do on a canvas that follows; the rest is asked of `on`. */
  listen(surface, on) {
    const canvas = surface.canvas;
    listenToPointer(canvas, {
      drag: (dx) => this.pan(-dx / (surface.width - labelWidth(surface.width))),
      wheel: (x, y, event) => {
        if (event.ctrlKey || event.metaKey) {
          event.preventDefault();
          this.zoom(Math.exp(-event.deltaY * 0.004), this.time(x, surface.width));
        } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
          event.preventDefault();
          this.pan((event.deltaX || event.deltaY) / surface.width);
        }
      },
      leave: hideTip,
      ...on,
    });
    canvas.addEventListener('keydown', (event) => {
      const acts = { ArrowLeft: () => this.pan(-0.1), ArrowRight: () => this.pan(0.1),
                     '+': () => this.zoom(1.5), '-': () => this.zoom(1 / 1.5), 0: () => this.all() };
      if (acts[event.key]) {
        acts[event.key]();
        event.preventDefault();
      }
    });
  }
}
