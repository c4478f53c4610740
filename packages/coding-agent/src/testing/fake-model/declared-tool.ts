import { isObject, objectOrEmpty, stringOrEmpty } from "@devtool/internal/json";

/** A tool that a request declares. */
export interface DeclaredTool {
  readonly name: string;
  /**
   * The JSON Schema of its arguments. Undefined for a tool that takes plain
   * text, as `{ "input": "…" }` in a script.
   */
  readonly parameters: unknown;
}

/** A call as a script names it. */
export interface ScriptedCall {
  readonly name: string;
  readonly args: unknown;
}

/**
 * Translates a scripted call to the tools that a request declares.
 *
 * Scripts use the tools of our agent. Other agents have the same tools under
 * other names. A call of a tool without a translation stays as it is, whether
 * the tool is declared or not.
 */
export function fitCall(
  call: ScriptedCall,
  tools: readonly DeclaredTool[],
): ScriptedCall {
  const byName = new Map(tools.map((tool) => [tool.name, tool]));
  if (byName.has(call.name)) return call;
  for (const [name, translate] of TRANSLATIONS.get(call.name) ?? []) {
    const tool = byName.get(name);
    if (!tool) continue;
    const args = translate(objectOrEmpty(call.args));
    const { properties } = objectOrEmpty(tool.parameters);
    if (!isObject(properties) || !("sandbox_permissions" in properties)) {
      return { name, args };
    }
    // Scripts test calls that ask, so a shell like that of Codex gets the
    // arguments that request approval.
    const approval = {
      sandbox_permissions: "require_escalated",
      justification: "The script says so.",
    };
    return { name, args: { ...args, ...approval } };
  }
  return call;
}

type Translate = (
  args: Readonly<Record<string, unknown>>,
) => Readonly<Record<string, unknown>>;

const described: Translate = ({ command }) => ({
  command,
  description: "Runs the command of the script.",
});
const unchanged: Translate = (args) => args;
const inCamelCase: Translate = ({
  file_path,
  old_string,
  new_string,
  ...rest
}) => ({
  ...rest,
  filePath: file_path,
  ...(old_string === undefined
    ? {}
    : { oldString: old_string, newString: new_string }),
});

/**
 * How other agents name our tools and their arguments, in the order of
 * preference.
 */
const TRANSLATIONS: ReadonlyMap<
  string,
  readonly (readonly [name: string, translate: Translate])[]
> = new Map([
  [
    "run_shell_command",
    [
      ["bash", described],
      ["exec_command", ({ command }) => ({ cmd: command })],
      ["shell_command", unchanged],
      ["shell", ({ command }) => ({ command: ["bash", "-lc", command] })],
      ["Bash", described],
    ],
  ],
  [
    "read_file",
    [
      ["read", inCamelCase],
      ["Read", unchanged],
      [
        "exec_command",
        ({ file_path }) => ({ cmd: `cat '${stringOrEmpty(file_path)}'` }),
      ],
    ],
  ],
  [
    "write_file",
    [
      ["write", inCamelCase],
      ["Write", unchanged],
      ["apply_patch", addFilePatch],
    ],
  ],
  [
    "replace",
    [
      ["edit", inCamelCase],
      ["Edit", unchanged],
      [
        "search_replace",
        ({ file_path, ...rest }) => ({ ...rest, path: file_path }),
      ],
      ["apply_patch", updateFilePatch],
    ],
  ],
]);

function addFilePatch({
  file_path,
  content,
}: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const lines = stringOrEmpty(content).replace(/\n$/, "").split("\n");
  const body = lines.map((line) => `+${line}`).join("\n");
  return {
    input: `*** Begin Patch\n*** Add File: ${stringOrEmpty(file_path)}\n${body}\n*** End Patch\n`,
  };
}

function updateFilePatch(
  args: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const [before, after] = [args.old_string, args.new_string].map((text) =>
    stringOrEmpty(text).split("\n"),
  );
  const body = [
    ...(before ?? []).map((line) => `-${line}`),
    ...(after ?? []).map((line) => `+${line}`),
  ].join("\n");
  return {
    input: `*** Begin Patch\n*** Update File: ${stringOrEmpty(args.file_path)}\n@@\n${body}\n*** End Patch\n`,
  };
}
