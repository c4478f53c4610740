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

/** What our kit and the TCK found in the same agents, as played by hand. */
const BESIDE_THE_TCK = `## Beside the official TCK

On 2026-11-29 the kit and the official TCK (a2aproject/a2a-tck, branch \`1.0-dev\`, commit 357c4a8; for
0.3, branch \`0.3.x\`, commit eb1f804) were played over JSON-RPC against the same agents. These know
neither the extension nor the message ids of the TCK: each says hello, as a stranger's first agent
does. Failures are cases of the kit and tests of the TCK. The seconds are those of one run, one after
the other, on two cores that were busy with other work.

| agent                                   | kit: true           | false | s   | TCK: true   | false | of tests | s   |
| --------------------------------------- | ------------------- | ----- | --- | ----------- | ----- | -------- | --- |
| plain server (\`test/conformance/plain\`) | 0                   | 0     | 15  | 0           | 9     | 81       | 84  |
| Python a2a-sdk 1.3.0, tasks             | 1, a SHOULD         | 0     | 5   | 2, a SHOULD | 8     | 80       | 88  |
| Python a2a-sdk 1.3.0, messages          | 1, a SHOULD         | 0     | 5   | 2, a SHOULD | 8     | 74       | 81  |
| @a2a-js/sdk 1.3.0, tasks                | 5, 2 of them SHOULD | 0     | 7   | 0           | 7     | 80       | 61  |
| Python a2a-sdk 0.3.26, tasks            | 1                   | 0     | 17  | 2, optional | 10    | 84       | 96  |

What is false in the TCK for 1.0: five tests want the files, the data and the message of its own
agent; a missing \`Last-Modified\`, a MAY, fails; a card for both versions fails for its fields of 0.3;
a body that is not JSON, sent as \`text/plain\`, must get -32005; a push config must be set for a task
that does not exist; a part of an unknown media type, which the plain server refuses, must be taken.
For 0.3, ten tests want a task that has not ended. The TCK is made for an agent that knows its
message ids: against \`devtool serve --profile tck\` none of these is false
([how](test-kits.md#a-server-for-the-kits-of-a2a)).

The plain server, with one fault each time:

| fault                                   | the kit's words                                                                    | the TCK's words                                                                       |
| --------------------------------------- | ---------------------------------------------------------------------------------- | ------------------------------------------------------------------------------------- |
| the card has no skills                  | \`result.skills is missing\`                                                         | \`Missing required fields: {'skills'}\`                                                 |
| streams are sent as JSON                | \`the content type must be text/event-stream: got application/json\`                 | \`Streaming operation failed: None\`, in 3 tests                                        |
| contextId is context_id                 | \`SendMessageResponse.task.context_id must be written contextId\`                    | \`Found snake_case field names: {'context_id'}\`                                        |
| an artifact has no id                   | \`SendMessageResponse.task.artifacts[0].artifactId is missing\`                      | not found                                                                             |
| kind is left over, which is allowed     | a warning: \`….kind is left over from A2A 0.3, and 1.0 has no "kind": leave it out\` | \`'kind' does not match any of the regexes: '^(media_type)$'\`, in 12 tests             |
| historyLength is ignored                | \`result.task.history must have length 0: got […]\`                                  | by chance, in 5 tests of lists: \`'tckUnknownField' does not match any of the regexes\` |
| an unknown task is an invalid parameter | \`the error code must be -32001: got {"code":-32602,…}\`                             | \`Expected error code -32001 (TaskNotFoundError), got -32602\`, in 4 tests              |
| every version is accepted               | \`step 1 (GetTask, a2a-version 99.0): the error code must be -32009: got …\`         | \`Expected VersionNotSupportedError for A2A-Version: 99.0\`                             |
| a stream is sent twice                  | \`nothing follows the end of a task: got task after completed\`                      | not found                                                                             |
| a stream stays open after its end       | \`the stream is still open 10 s after its last element (…): close it\`               | \`httpx.ReadTimeout: timed out\`, in 3 tests                                            |

The kit finds all of them; with the stream that stays open it took 33 s, the TCK 223 s. To play a
fault again, against any kit:

\`\`\`sh
npx -y pnpm@12 exec node test/conformance/plain/serve.ts "a stream is sent twice"
npx -y pnpm@12 devtool conformance http://127.0.0.1:PORT
.venv/bin/python run_tck.py --sut-host http://127.0.0.1:PORT --transport jsonrpc
\`\`\`
`;

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

${BESIDE_THE_TCK}
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
