import { markdownTable } from "../markdown-table.ts";
import type { MatrixRow } from "./matrix.ts";
import { SCENARIOS, type ScenarioName } from "./scenario.ts";

const TITLES: Readonly<Record<ScenarioName, string>> = {
  card: "card",
  message: "message",
  appendix_a: "Appendix A",
  continued: "continued task",
  cancel: "cancel",
  resume: "resume",
  errors: "errors",
  extended_card: "extended card",
  push: "push",
  notified: "notified",
};

/** Renders the sections of docs/conformance.md about official SDKs. */
export function interopSections(rows: readonly MatrixRow[]): string {
  const [clients, servers] = [
    rows.filter(({ role }) => role === "client"),
    rows.filter(({ role }) => role === "server"),
  ];
  return `## Official SDKs

\`test/interop/interop.test.ts\` plays these scenarios and compares them with what it recorded.
\`npx -y pnpm@12 install:interop\` installs the SDKs of other languages; the tests of a missing one
are skipped.

- **card**: finds the card, and the development-tool extension in it
- **message**: sends a message, waits for the answer, and reads the task
- **Appendix A**: with the extension, streams thoughts and tool calls, approves a call in a data
  part, and follows the task to its end
- **continued task**: continues an ended task or its conversation, and answers a question in text
- **cancel**: cancels a running task
- **resume**: leaves a stream, subscribes to the task, and follows it to its end
- **errors**: gets the errors that the protocol names, as the SDK's own error types
- **extended card**: reads the extended card with credentials
- **push**: sets, reads, lists and deletes push notification configs
- **notified**: in A2A 1.0, receives the updates of a task at a webhook until its end, and reads
  them as the SDK's own type

A dash marks a scenario that the SDK has no call for in this binding, or that does not apply to this
side. A \`no\` marks one that the SDK itself fails; the reason is below the table.

### As clients of devtool's server

Google's ADK calls with a \`RemoteA2aAgent\`, streaming and not, alone and as the \`AgentTool\` of an
orchestrating agent. Clients over gRPC call a server with \`--grpc-in-card\`.

${table(clients)}
${failures(clients)}
### As servers of devtool's client

${table(servers)}
${failures(servers)}`;
}

function failures(rows: readonly MatrixRow[]): string {
  const lines = rows.flatMap(({ peer, known = {} }) =>
    Object.entries(known).map(
      ([scenario, reason]) =>
        `- ${peer}, ${TITLES[scenarioName(scenario)]}: ${reason}`,
    ),
  );
  return lines.length === 0 ? "" : `\n${[...new Set(lines)].join("\n")}\n`;
}

function scenarioName(scenario: string): ScenarioName {
  const name = SCENARIOS.find((known) => known === scenario);
  if (!name) throw new Error(`scenario ${JSON.stringify(scenario)} is unknown`);
  return name;
}

function table(rows: readonly MatrixRow[]): string {
  const shown = SCENARIOS.filter((scenario) =>
    rows.some(({ passed }) => passed.includes(scenario)),
  );
  return markdownTable([
    ["SDK", "A2A", "binding", ...shown.map((scenario) => TITLES[scenario])],
    ...rows.map(({ peer, protocol, binding, passed, known = {} }) => [
      peer,
      protocol,
      binding,
      ...shown.map((scenario) =>
        passed.includes(scenario) ? "yes" : scenario in known ? "no" : "–",
      ),
    ]),
  ]);
}
