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

/** The page of the documentation that shows the matrix. */
export function matrixPage(rows: readonly MatrixRow[]): string {
  const [clients, servers] = [
    rows.filter(({ role }) => role === "client"),
    rows.filter(({ role }) => role === "server"),
  ];
  return `# Interop: official SDKs on the other side

Made by \`scripts/interop-matrix.ts\` from what \`test/interop.test.ts\` recorded; the test compares with it. The SDKs of other
languages are installed by \`npx -y pnpm@12 install:interop\`; where one is missing, its tests are skipped and say so.

What is played:

- **card**: finds the card, and in it the development-tool extension
- **message**: asks, waits for the answer, reads the task
- **Appendix A**: with the extension, streams thoughts and tool calls, approves one in a data part, sees it run and the task end
- **continued task**: goes on in a task or conversation that ended, and answers a question in words
- **cancel**: ends a task at work
- **resume**: leaves a stream, subscribes to the task and sees its end
- **errors**: gets the errors that the protocol names, as its SDK's own
- **extended card**: reads with credentials what the public card does not say
- **push**: sets, reads, lists and deletes where notifications go
- **notified**: in A2A 1.0, listens at a webhook, gets the updates of a task there to its end, and reads them as its SDK's own type

A dash is a scenario that the SDK has no call for in this binding, or that does not concern this side. A \`no\` is one that the
SDK itself fails at; it is told below the table why.

## SDKs as clients of our server

${table(clients)}
${failures(clients)}
## SDKs as servers of our client

${table(servers)}
${failures(servers)}`;
}

function failures(rows: readonly MatrixRow[]): string {
  const lines = rows.flatMap(({ peer, known = {} }) =>
    Object.entries(known).map(([scenario, reason]) => `- ${peer}, ${TITLES[nameOf(scenario)]}: ${reason}`),
  );
  return lines.length === 0 ? "" : `\n${[...new Set(lines)].join("\n")}\n`;
}

function nameOf(scenario: string): ScenarioName {
  const name = SCENARIOS.find((known) => known === scenario);
  if (!name) throw new Error(`scenario ${JSON.stringify(scenario)} is none of ours`);
  return name;
}

function table(rows: readonly MatrixRow[]): string {
  const shown = SCENARIOS.filter((scenario) => rows.some(({ passed }) => passed.includes(scenario)));
  const cells = [
    ["SDK", "A2A", "binding", ...shown.map((scenario) => TITLES[scenario])],
    ...rows.map(({ peer, protocol, binding, passed, known = {} }) => [
      peer,
      protocol,
      binding,
      ...shown.map((scenario) => (passed.includes(scenario) ? "yes" : scenario in known ? "no" : "–")),
    ]),
  ];
  const widths = (cells[0] ?? []).map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const lines = cells.map((row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`);
  const rule = `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`;
  return [lines[0], rule, ...lines.slice(1)].join("\n");
}
