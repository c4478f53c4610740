/**
 * Records in `golden/` what Gemini CLI's own server answers to the scenarios:
 * `node test/gemini-cli/record.ts`, after a build.
 */
import { writeGolden } from "./golden.ts";
import { startPeer } from "./peer.ts";
import { RawClient } from "./raw-client.ts";
import { RAW_SCENARIOS } from "./scenarios.ts";

await using peer = await startPeer();
for (const { name, play } of RAW_SCENARIOS) {
  const turns = await play(new RawClient(peer), peer);
  const text = JSON.stringify(turns, withoutTools).replaceAll(
    peer.workspace,
    "/workspace",
  );
  writeGolden(name, JSON.parse(withSteadyIds(text)));
}

/**
 * The descriptions of tools, which are long and the peer's own, are left out.
 */
function withoutTools(key: string, value: unknown): unknown {
  return ["schema", "parameterSchema"].includes(key) ||
    (key === "description" && isLong(value))
    ? undefined
    : value;
}

function isLong(value: unknown): boolean {
  return typeof value === "string" && value.length > 60;
}

/**
 * Replaces ids and times by their order, so that two recordings of the same
 * conversation are equal.
 */
function withSteadyIds(text: string): string {
  const ids = new Map<string, string>();
  const steady = (id: string): string => {
    const known =
      ids.get(id) ??
      `00000000-0000-4000-8000-${String(ids.size + 1).padStart(12, "0")}`;
    ids.set(id, known);
    return known;
  };
  return text
    .replaceAll(
      /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      steady,
    )
    .replaceAll(
      /\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[._]\d{3}/g,
      "2026-01-01T00:00:00.000",
    );
}
