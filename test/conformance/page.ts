import { REQUIREMENTS } from "@devtool/conformance";
import type { ExpectedFailure } from "@devtool/conformance/protos";
import {
  LEVEL_NAMES,
  levelOf,
  serverCases,
} from "@devtool/conformance/testing";
import { readMatrix } from "../interop/matrix.ts";
import { interopSections } from "../interop/matrix-page.ts";
import { markdownTable } from "../markdown-table.ts";
import { knownFailingOf } from "./known-failing.ts";
import { type Peer, peers } from "./peers.ts";

type Version = "0.3" | "1.0";

/**
 * Renders docs/conformance.md: how official SDKs get on with devtool, and the
 * cases of the conformance kit that devtool's server and other agents fail.
 */
export function conformancePage(): string {
  return `# Conformance and interoperability

Results, written by \`scripts/interop-matrix.ts\`. To test your own server, see
[the kit's README](../packages/conformance/README.md).

${interopSections(readMatrix())}
## Known failures of the conformance kit

The cases that fail when the kit tests devtool's server, agents on the official SDKs, and Gemini
CLI's server. \`test/interop/conformance-peers.test.ts\` fails if any other case fails, or if one of these
passes. With \`DEVTOOL_CONFORMANCE_EVIDENCE=DIRECTORY\` it writes a page with all requests and answers
for each.

A failure may be due to the agent rather than its SDK: the agents on SDKs are small, follow a script
and use the defaults of their SDK (\`test/interop/servers\`, \`test/interop/go*\`). They are tested only
for what A2A itself requires, and once more without the extension in their card, greeted as the kit
greets a stranger's agent: answering with messages alone, with tasks alone, streaming, and
notifying. What fails then is in the same lists. Gemini CLI's server uses a fake Gemini. The level is the keyword with
which the specification states the requirement; the exit code of \`devtool conformance\` depends on
MUST alone unless \`--level\` says otherwise. Where 1.0.0 and 1.0.1 differ, or the specification does not say which
error is meant, each is accepted. A2A 0.3 over HTTP+JSON leaves more open, and the SDKs differ: each
form of an error is read, a refused push config is sent again in its other form, and messages are
sent as \`blocking\`.

### A2A 0.3

${versionTable("0.3")}

### A2A 1.0

${versionTable("1.0")}

## Requirements without a case in the server suites

${owedTable()}
`;
}

function versionTable(version: Version): string {
  const rows = peers()
    .filter(({ ways }) =>
      ways.some(({ protocolVersion }) => protocolVersion === version),
    )
    .flatMap((peer) => peerRows(peer, version));
  return markdownTable([
    ["server", "over", "requirement", "level", "failing case", "reason"],
    ...rows,
  ]);
}

function peerRows(peer: Peer, version: Version): string[][] {
  const bindings = peer.ways
    .filter(({ protocolVersion }) => protocolVersion === version)
    .map(({ binding }) => binding)
    .join(", ");
  const failures = knownFailingOf(peer.name).failures.filter(
    ({ protocolVersion }) => protocolVersion === version,
  );
  if (failures.length === 0) return [[peer.name, bindings, "", "", "none", ""]];
  const alike = Map.groupBy(failures, ({ id, reason }) => `${id} ${reason}`);
  return [...alike.values()].flatMap(([failure, ...others]) => {
    if (failure === undefined) return [];
    const over = [failure, ...others]
      .map(({ binding }) => binding || bindings)
      .join(", ");
    return [
      [
        peer.name,
        over,
        requirementIds(failure, version).join(", "),
        levelNames(failure, version),
        failure.id,
        failure.reason,
      ],
    ];
  });
}

function requirementIds(
  { id }: ExpectedFailure,
  version: Version,
): readonly string[] {
  const found = serverCases(version).cases.find((one) => one.id === id);
  return found?.requirements ?? [];
}

function levelNames(failure: ExpectedFailure, version: Version): string {
  const levels = requirementIds(failure, version).flatMap((id) => {
    const requirement = REQUIREMENTS[id];
    return requirement
      ? LEVEL_NAMES[levelOf(requirement, failure.binding)]
      : [];
  });
  return [...new Set(levels)].join(", ");
}

function owedTable(): string {
  const rows = Object.entries(REQUIREMENTS)
    .filter(([, { untestedBecause }]) => untestedBecause !== undefined)
    .map(([id, { behaviour, source, mode = "–", untestedBecause = "" }]) => [
      id,
      behaviour,
      source,
      mode,
      untestedBecause,
    ]);
  return markdownTable([
    ["requirement", "behaviour", "source", "mode", "reason"],
    ...rows,
  ]);
}
