// Loaded before a server, takes the fences away: it never notices that it has lost a lease, and what it writes then counts.
import { registerHooks } from "node:module";

const CHANGES = [
  // Appends check neither who writes nor after what, and replace what somebody else has written.
  ["AND task.sequence = input.before AND task.fence = input.fence", ""],
  [
    "AS row (task_id, sequence, data)\n    JOIN written ON written.id = task_id",
    "AS row (task_id, sequence, data)\n    JOIN written ON written.id = task_id ON CONFLICT (task_id, sequence) DO UPDATE SET data = excluded.data",
  ],
  // A lease is renewed however late, and its end is not noticed.
  ["WHERE id = $1 AND alive_until > clock_timestamp()", "WHERE id = $1"],
  [
    "this.#deadline = setTimeout(() => this.end(), Math.max(0, left)).unref()",
    "this.#deadline = undefined",
  ],
  ["if (lost.aborted) return false", "return true"],
];

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    if (!loaded.source) return loaded;
    const source = String(loaded.source);
    if (!source.includes("task.fence = input.fence")) return loaded;
    return { ...loaded, source: CHANGES.reduce(replaceOnce, source) };
  },
});

function replaceOnce(source, [from, to]) {
  if (!source.includes(from)) {
    throw new Error(`the sabotage does not find: ${from}`);
  }
  return source.replace(from, to);
}
