import { REQUIREMENTS, serverCases } from "@devtool/conformance";
import type { ExpectedFailure } from "@devtool/schema/conformance";
import { knownFailingOf } from "./known-failing.ts";
import { type Peer, peers } from "./peers.ts";

type Version = "0.3" | "1.0";

/** The page of the documentation that says which cases our server and other agents fail. */
export function conformancePage(): string {
  return `# Conformance: who fails what

What the conformance kit finds in our server, in agents on the official SDKs and in Gemini CLI's server. Made by \`scripts/conformance-matrix.ts\`
from \`test/conformance/known-failing\`; \`test/conformance-peers.test.ts\` plays the kit against each of them and fails when any other case fails,
or when one of these passes. With \`DEVTOOL_CONFORMANCE_EVIDENCE=DIRECTORY\` it writes what was sent and what came back as a page for each. How
to play the kit against a server of your own is in [its README](../packages/conformance/README.md).

A running agent is more than its SDK. The agents on SDKs are those of our interop tests (\`test/interop/servers\`, \`test/interop/go*\`): small
ones that play a script, with the defaults of their SDK otherwise. Only what A2A itself asks is played against them. Gemini CLI's server
thinks with a fake Gemini. Some cases are about what the specification only recommends. Where 1.0.0 and 1.0.1 differ, or the specification
leaves open which error is meant, each is taken. A2A 0.3 over HTTP+JSON leaves more open, and the SDKs differ: each form of an error is
read, a push config that is refused is sent in its other form too, and who is to wait is told so (\`blocking\`).

## A2A 0.3

${versionTable("0.3")}

## A2A 1.0

${versionTable("1.0")}

## What no case of a server suite shows

${owedTable()}
`;
}

function versionTable(version: Version): string {
  const rows = peers()
    .filter(({ ways }) => ways.some(({ protocolVersion }) => protocolVersion === version))
    .flatMap((peer) => peerRows(peer, version));
  return markdown([["server", "over", "requirement", "case that fails", "why"], ...rows]);
}

function peerRows(peer: Peer, version: Version): string[][] {
  const bindings = peer.ways
    .filter(({ protocolVersion }) => protocolVersion === version)
    .map(({ binding }) => binding)
    .join(", ");
  const failures = knownFailingOf(peer.name).failures.filter(({ protocolVersion }) => protocolVersion === version);
  if (failures.length === 0) return [[peer.name, bindings, "", "none", ""]];
  const alike = Map.groupBy(failures, ({ id, reason }) => `${id} ${reason}`);
  return [...alike.values()].flatMap(([failure, ...others]) => {
    if (failure === undefined) return [];
    const over = [failure, ...others].map(({ binding }) => binding || bindings).join(", ");
    return [[peer.name, over, requirementsOf(failure, version), failure.id, failure.reason]];
  });
}

function requirementsOf({ id }: ExpectedFailure, version: Version): string {
  const found = serverCases(version).cases.find((one) => one.id === id);
  return found?.requirements.join(", ") ?? "";
}

function owedTable(): string {
  const rows = Object.entries(REQUIREMENTS)
    .filter(([, { owed }]) => owed !== undefined)
    .map(([id, { behaviour, source, mode = "–", owed = "" }]) => [id, behaviour, source, mode, owed]);
  return markdown([["requirement", "what", "source", "mode", "why"], ...rows]);
}

function markdown(cells: readonly (readonly string[])[]): string {
  const [head = [], ...rows] = cells;
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
