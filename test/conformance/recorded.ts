import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fromJsonString, toJson } from "@bufbuild/protobuf";
import { type Report, ReportSchema } from "@devtool/schema/conformance";

const DIRECTORY = new URL("results/", import.meta.url);

/** The reports that were recorded last, in the order of their files. */
export function readReports(): readonly Report[] {
  const names = readdirSync(DIRECTORY).filter((name) => name.endsWith(".json"));
  return names.toSorted().map((name) => fromJsonString(ReportSchema, readFileSync(new URL(name, DIRECTORY), "utf8")));
}

/** Records a report in place of the one of the same peer, version and binding. */
export function recordReport(report: Report): void {
  const json = JSON.stringify(toJson(ReportSchema, report), undefined, 2);
  writeFileSync(new URL(`${slugOf(report)}.json`, DIRECTORY), `${json}\n`);
}

/** Names a report in files and links. */
export function slugOf({
  subject,
  protocolVersion,
  binding,
}: Pick<Report, "subject" | "protocolVersion" | "binding">): string {
  const words = `${subject} a2a ${protocolVersion} ${binding}`.toLowerCase().match(/[a-z0-9]+/g) ?? [];
  return words.join("-");
}
