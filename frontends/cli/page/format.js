// Numbers for people.

function scaled(value, step, units) {
  let unit = 0;
  while (Math.abs(value) >= step && unit + 1 < units.length) {
    value /= step;
    ++unit;
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`.trim();
}

const formatBytes = (bytes) => scaled(bytes, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB']);
const formatCount = (count) => scaled(count, 1000, ['', 'K', 'M', 'G', 'T', 'P']);
const percent = (part, whole) => (whole > 0 ? `${(100 * part / whole).toFixed(1)} %` : '0 %');

/** A formatter of times given in ns; those of a cost graph have the unit of its file. */
function timeFormatter(about) {
  if (about.unit === 'ns') {
    return (ns) => scaled(ns, 1000, ['ns', 'µs', 'ms', 's']);
  }
  return (ns) => `${+(ns / about.ns_per_unit).toPrecision(7)} ${about.unit}`;
}

/** In single quotes of a shell. */
const shellQuoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
