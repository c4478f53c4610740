import type { AskedToolCall, DevtoolClient } from "@devtool/client";
import { oneLine, visibleText } from "@devtool/internal/visible-text";

/** A question of a session, as it was read from its server. */
export interface Question {
  readonly client: DevtoolClient;
  readonly taskId: string;
  readonly call: AskedToolCall;
}

const MAX_TITLE_LENGTH = 120;

/** Identifies what is asked: a call that asks anew has another key. */
export function keyOf({ taskId, call }: Question): string {
  const { toolCallId, shownDigest = new Uint8Array() } = call;
  return `${taskId} ${toolCallId} ${Buffer.from(shownDigest).toString("hex")}`;
}

/** One line about a question. */
export function titleOf({ call }: Question): string {
  return oneLine(call.description || call.toolName, MAX_TITLE_LENGTH);
}

/**
 * All that a question is about, for one that proposes no change of a file. What
 * comes from elsewhere is behind bars, so that it cannot look like what is not.
 */
export function textOf({ call }: Question): string {
  const { toolName, description = "", inputParameters = {} } = call;
  const sections = [
    [toolName, description],
    ...sectionsOf(call),
    ["Arguments", JSON.stringify(inputParameters, null, 2)],
  ];
  return sections
    .map(([name = "", text = ""]) => section(oneLine(name), text))
    .join("\n");
}

/** The names and the texts of what a question says beside its arguments. */
function sectionsOf({ confirmationRequest }: AskedToolCall): string[][] {
  const details = confirmationRequest?.details;
  switch (details?.case) {
    case "executeDetails": {
      const { command, workingDirectory = "" } = details.value;
      return [
        ["Command", command],
        ["Directory", workingDirectory],
      ];
    }
    case "mcpDetails":
      return [
        ["MCP server", details.value.serverName],
        ["Tool", details.value.toolName],
      ];
    case "genericDetails":
      return [["Question", details.value.description]];
    case "fileEditDetails":
      return [["File", details.value.filePath]];
    case undefined:
      return [];
    default:
      return details satisfies never;
  }
}

function section(name: string, text: string): string {
  const lines = text === "" ? [] : visibleText(text).split("\n");
  return [name, ...lines.map((line) => `| ${line}`), ""].join("\n");
}
