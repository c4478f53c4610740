import { invalid } from "../errors.ts";

/**
 * Throws `Code.InvalidArgument` for an entry of a list of targets that is not
 * `host:port` or `host:*`. Without the check, such an entry would silently
 * match nothing.
 */
export function assertTarget(field: string, text: string): void {
  if (/^(\[[\da-f:.]+\]|[^/:*?#@[\]\s]+):(\d{1,5}|\*)$/i.test(text)) return;
  const example = URL.parse(text)?.host || "127.0.0.1:3000";
  throw invalid(
    field,
    text,
    "is not a host with a port",
    `write host:port or host:*, for instance ${example}`,
  );
}
