"use strict";
// Which answer of the table holds for one guest and host. Pure: no document, no clock.
// The order is the verdict's own: a record of exactly this pair, then ranges that deny
// (revoked before broken), then a host that is not known, then a pair that is not.

const BUILD = /^(\d\d)([A-Z])(0|[1-9]\d{0,4})([a-z]?)$/;

/** The four parts of a build number by which builds order, or null for other text. */
function buildParts(text) {
  const m = BUILD.exec(text);
  return m && [Number(m[1]), m[2].charCodeAt(0), Number(m[3]), m[4] ? m[4].charCodeAt(0) : 0];
}

function isBefore(a, b) {
  const x = buildParts(a), y = buildParts(b);
  for (let i = 0; i < 4; i++) if (x[i] !== y[i]) return x[i] < y[i];
  return false;
}

function holds(range, build) {
  if (!range) return true;
  if (!build) return false;
  return !(range.from && isBefore(build, range.from)) && !(range.before && !isBefore(build, range.before));
}

/** host may be null. Gives the answer with its builds filled in, and `also`. */
function verdict(table, guest, host) {
  const exact = host && table.exact.find((e) => e.guest === guest && e.host === host);
  const hits = table.denies
    .filter((d) => holds(d.guest, guest) && holds(d.host, host))
    .map((d) => d.answer);
  const denied = ["pair-revoked", "pair-broken"]
    .map((reason) => hits.find((a) => a.reason === reason))
    .filter(Boolean);
  const found = exact ? [exact.answer] : [...denied];
  if (!host) found.push(table.host_unknown);
  else if (!found.length) found.push(table.pair_unknown);
  const fill = (text) => text && text.replaceAll("{guest}", guest).replaceAll("{host}", host || "BUILD");
  const first = found[0];
  return {
    ...first,
    also: found.slice(1).map((a) => a.reason),
    says: fill(first.says),
    remedies: first.remedies.map(([says, command]) => [fill(says), fill(command)]),
  };
}
