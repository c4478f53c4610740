import { keepStart } from "@devtool/internal/cut-text";
import { queryOf } from "../a2a/query.ts";
import type { RoutedCall } from "../http/routed-call.ts";
import { A2aFailure } from "./errors.ts";

/** The versions of A2A that are served, as an error lists them. */
const VERSIONS = "0.3, 1.0";

/**
 * Returns the version of A2A that a request names in its header or its query;
 * empty when it names none.
 */
export function versionOf(call: Pick<RoutedCall, "request">): string {
  const header = call.request.headers["a2a-version"];
  if (typeof header === "string" && header.trim() !== "") return header.trim();
  const named = [...queryOf(call)].find(
    ([name]) => name.toLowerCase() === "a2a-version",
  );
  return named?.[1].trim() ?? "";
}

/**
 * Whether a version is 1.x.
 *
 * Only major and minor count in A2A, and later minors are compatible.
 */
export function isVersion1(version: string): boolean {
  return /^1(\.\d+){0,2}$/.test(version.trim());
}

/**
 * Throws for a version that is not served here.
 *
 * A client that names none has chosen the version by its method.
 */
export function assertVersion(version: string): void {
  if (version.trim() === "" || isVersion1(version)) return;
  const message = `A2A version ${JSON.stringify(keepStart(version, 40))} is not supported here: choose one of ${VERSIONS}`;
  throw new A2aFailure(message, "VERSION_NOT_SUPPORTED", {
    supportedVersions: VERSIONS,
  });
}
