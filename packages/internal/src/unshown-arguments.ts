import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { commandLine } from "./shell-line.ts";

/**
 * Returns the arguments of a call that a question about its command does not
 * show. Those that change nothing about what runs are left out: the agent's
 * description, a timeout, and whether it runs in the background.
 */
export function unshownArguments(
  args: JsonObject,
  {
    command,
    workingDirectory = "",
  }: {
    readonly command: string;
    readonly workingDirectory?: string | undefined;
  },
): JsonObject {
  const entries = Object.entries(args);
  const [line = ""] =
    entries.find(([, value]) => commandLine(value, args.args) === command) ??
    [];
  const isShown = ([name, value]: readonly [string, JsonValue]): boolean =>
    name === line ||
    (name === "args" && line !== "" && Array.isArray(value)) ||
    REMARKS.get(name) === typeof value ||
    [command, workingDirectory].some((shown) => shown === value) ||
    (name === "directory" && isEndOf(workingDirectory, value)) ||
    isEmpty(value);
  return Object.fromEntries(entries.filter((entry) => !isShown(entry)));
}

const REMARKS: ReadonlyMap<string, string> = new Map([
  ["description", "string"],
  ["timeout", "number"],
  ["timeout_ms", "number"],
  ["background", "boolean"],
  ["is_background", "boolean"],
  ["run_in_background", "boolean"],
]);

/** Whether a value is the end of a path: `src` of `/w/src`. */
function isEndOf(path: string, value: JsonValue): boolean {
  if (typeof value !== "string") return false;
  const relative = value.replace(/^\.\//, "").replace(/\/$/, "");
  return relative === "." || `${path}/`.endsWith(`/${relative}/`);
}

function isEmpty(value: JsonValue): boolean {
  return (
    [null, false, ""].some((empty) => empty === value) ||
    (typeof value === "object" && Object.keys(value ?? {}).length === 0)
  );
}
