import { Outcome, type Report } from "../protos.ts";
import { isClean } from "./create-report.ts";

/**
 * Renders how many of the tested requirements are met, as JSON for the endpoint
 * badge of shields.io (https://shields.io/badges/endpoint-badge).
 */
export function badgeJson(report: Report): string {
  const tested = report.requirements.filter(
    ({ outcome }) => outcome !== Outcome.SKIPPED,
  );
  const met = tested.filter(({ outcome }) => outcome === Outcome.PASSED);
  return `${JSON.stringify({
    schemaVersion: 1,
    label: `A2A ${report.protocolVersion}`.trimEnd(),
    message: `${met.length} of ${tested.length} requirements met`,
    color: isClean(report) ? "brightgreen" : "red",
  })}\n`;
}
