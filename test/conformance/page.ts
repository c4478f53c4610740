import { REQUIREMENTS } from "@devtool/conformance";
import { type ExchangeRecord, Outcome, type Report, type RequirementReport } from "@devtool/schema/conformance";
import { slugOf } from "./recorded.ts";

const MAX_SHOWN = 1500;

/** The page of the documentation that shows how peers came out, by what was recorded. */
export function conformancePage(reports: readonly Report[]): string {
  return `# Conformance: who meets which requirement

Made by \`scripts/conformance-matrix.ts\` from what \`test/conformance-peers.test.ts\` recorded; the test compares with it. How to play
the kit against a server of your own is in [its README](../packages/conformance/README.md).

**yes**: each case about it passes, in each binding that is named. **no**: a case fails; each link leads to the request and to what came back.
**known**: it fails, and the server's list of known failures says why. A dash: nothing was shown, since the card does not claim it,
or since no prompt makes this agent do what the case needs.

A row says what a running agent did, and an agent is more than its SDK. The agents on SDKs are those of our interop tests (\`test/interop/servers\`,
\`test/interop/go*\`): small ones that play a script, with the defaults of their SDK otherwise. Only what A2A itself asks is played against them.
Gemini CLI's server thinks with a fake Gemini. Some rows are what the specification only recommends; the source says so.
Where 1.0.0 and 1.0.1 differ, or the specification leaves open which error is meant, each is taken. A2A 0.3 over HTTP+JSON leaves more
open, and the SDKs differ: each form of an error is read, a push config that is refused is sent in its other form too, and who is to
wait is told so (\`blocking\`).

## A2A 0.3

${waysTable(reports, "0.3")}

${table(reports, { version: "0.3", ids: [...idsOf("0.3"), "STREAM-1"] })}

## A2A 1.0

${waysTable(reports, "1.0")}

${table(reports, { version: "1.0", ids: idsOf("1.0") })}

## The wire

The requirements of [wire.md](wire.md), in both versions of A2A, for servers with the extension.

${table(
  reports.filter(({ subject }) => subject.startsWith("devtool")),
  { ids: wireIds() },
)}

## What shows the rest

${rest()}
`;
}

/** The page with the evidence: for each case that failed, the request and what came back. */
export function evidencePage(reports: readonly Report[]): string {
  const sections = reports.flatMap((report) =>
    report.cases.filter(({ failures }) => failures.length > 0).map((item) => evidence(report, item)),
  );
  return `# Conformance: the evidence

What was sent and what came back where [a case failed](conformance.md): the exchanges of the steps that failed, long bodies cut. Made by
\`scripts/conformance-matrix.ts\`. Ports and workspaces are left out.

${sections.join("\n\n")}
`;
}

function evidence(report: Report, { id, failures, exchanges, reason }: Report["cases"][number]): string {
  const { subject, agentVersion, protocolVersion, binding } = report;
  const told = failures.map((failure) => `- ${failure.requirements.join(", ")}: ${inline(failure.reason)}`);
  const known = reason === "" ? "" : `\nKnown: ${reason}.\n`;
  const shown = exchanges.map((record) => `\`\`\`text\n${exchange(record)}\n\`\`\``);
  const who = `${subject}, A2A ${protocolVersion} over ${binding}${agentVersion === "" ? "" : `, agent ${agentVersion}`}.`;
  return `## ${slugOf(report)} ${id.replaceAll("/", "-")}\n\n${who}\n${known}\n${told.join("\n")}\n\n${shown.join("\n\n")}`;
}

function exchange({ requestLine, requestHeaders, requestBody, status, responseBody }: ExchangeRecord): string {
  const headers = ["a2a-version", "a2a-extensions", "x-a2a-extensions", "if-none-match", "last-event-id"]
    .filter((name) => requestHeaders[name] !== undefined)
    .map((name) => `${name}: ${requestHeaders[name]}\n`);
  return `${requestLine}\n${headers.join("")}${cut(requestBody)}\n\n${status || "(nothing came back)"}\n${cut(responseBody)}`
    .replaceAll("\r", "")
    .replaceAll("```", "~~~")
    .trim();
}

/** Text in a line of its own, as code where it holds any. */
function inline(text: string): string {
  return cut(text)
    .replaceAll("\n", " ")
    .replaceAll(/[<>]/g, (char) => (char === "<" ? "&lt;" : "&gt;"));
}

function cut(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}… (${text.length - MAX_SHOWN} characters more)` : text;
}

function idsOf(version: "0.3" | "1.0"): string[] {
  return Object.entries(REQUIREMENTS).flatMap(([id, { protocolVersion }]) => (protocolVersion === version ? [id] : []));
}

function wireIds(): string[] {
  return Object.entries(REQUIREMENTS).flatMap(([id, { protocolVersion, owed }]) =>
    protocolVersion === undefined && owed === undefined ? [id] : [],
  );
}

function rest(): string {
  const owed = Object.entries(REQUIREMENTS).filter(([, requirement]) => requirement.owed !== undefined);
  const rows = owed.map(([id, { behaviour, source, mode, owed: why }]) => [
    id,
    behaviour,
    source,
    mode ?? "–",
    why ?? "",
  ]);
  return markdown([["requirement", "what", "source", "mode", "why no case of a server suite is about it"], ...rows]);
}

function waysTable(reports: readonly Report[], version: string): string {
  const rows = peersIn(reports, version).map((peer) => {
    const own = ways(reports, { peer, version });
    const cases = own.flatMap((report) => report.cases).filter(({ outcome }) => outcome !== Outcome.SKIPPED);
    const good = cases.filter(({ outcome }) => outcome === Outcome.PASSED);
    return [peer, own.map(({ binding }) => binding).join(", "), `${good.length} of ${cases.length}`];
  });
  return markdown([["server", "bindings", "cases that pass, of those played"], ...rows]);
}

interface Shown {
  /** Left out: both. */
  readonly version?: string;
  readonly ids: readonly string[];
}

function table(reports: readonly Report[], { version, ids }: Shown): string {
  const all = peersIn(reports, version);
  const peers = all.filter((peer) => ids.some((id) => cell(ways(reports, { peer, version }), id) !== "–"));
  const rows = ids.map((id) => {
    const { behaviour = "", source = "" } = REQUIREMENTS[id] ?? {};
    return [id, behaviour, source, ...peers.map((peer) => cell(ways(reports, { peer, version }), id))];
  });
  return markdown([["requirement", "what", "source", ...peers], ...rows]);
}

function peersIn(reports: readonly Report[], version: string | undefined): string[] {
  const names = reports.filter((report) => version === undefined || report.protocolVersion === version);
  const [ours, others] = [true, false].map((own) =>
    [...new Set(names.map(({ subject }) => subject))].filter((name) => name.startsWith("devtool") === own),
  );
  return [...(ours ?? []), ...(others ?? [])];
}

function ways(
  reports: readonly Report[],
  { peer, version }: { readonly peer: string; readonly version: string | undefined },
): Report[] {
  return reports.filter(
    ({ subject, protocolVersion }) => subject === peer && (version ?? protocolVersion) === protocolVersion,
  );
}

function cell(reports: readonly Report[], id: string): string {
  const found = reports.flatMap((report) =>
    report.requirements.filter((item) => item.id === id).map((item) => ({ report, item })),
  );
  const red = found.filter(({ item }) => item.outcome === Outcome.FAILED);
  if (red.length > 0) return `**no**: ${red.map(link).join(", ")}`;
  const known = found.filter(({ item }) => item.outcome === Outcome.KNOWN_FAILING);
  if (known.length > 0) return `known: ${known.map(link).join(", ")}`;
  return found.some(({ item }) => item.outcome === Outcome.PASSED) ? "yes" : "–";
}

function link({ report, item }: { readonly report: Report; readonly item: RequirementReport }): string {
  const failing = report.cases.find(({ failures }) =>
    failures.some(({ requirements }) => requirements.includes(item.id)),
  );
  return `[${report.binding}](conformance-evidence.md#${slugOf(report)}-${(failing?.id ?? "").replaceAll("/", "-")})`;
}

function markdown(cells: readonly (readonly string[])[]): string {
  const [head = [], ...rows] = cells;
  const widths = head.map((_, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
