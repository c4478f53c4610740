import type { JsonObject } from "@bufbuild/protobuf";
import { plainJson } from "@devtool/internal/json";
import { tomlProblem } from "@devtool/policy";
import {
  type CommandFile,
  CommandFileSchema,
  decodeStrictJson,
} from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions } from "@devtool/server/agent";
import { parse as parseToml } from "smol-toml";

const MAX_COMMAND_FILE_BYTES = 64 * 1024;

/**
 * Parses a command file as TOML or Markdown, depending on its extension.
 *
 * Throws `Code.InvalidArgument` with the reason for an invalid file.
 */
export function readCommandFile(path: string, content: Buffer): CommandFile {
  if (content.length > MAX_COMMAND_FILE_BYTES) {
    throw invalidFile(
      path,
      `has ${content.length} bytes: limit is ${MAX_COMMAND_FILE_BYTES}`,
    );
  }
  const text = content.toString("utf8").replace(/^\uFEFF/, "");
  let json: JsonObject;
  if (path.endsWith(".toml")) {
    try {
      json = plainJson(parseToml(text));
    } catch (reason) {
      throw invalidFile(path, `is not valid TOML: ${tomlProblem(reason)}`, {
        cause: reason,
      });
    }
  } else {
    json = parseMarkdownFile(path, text);
  }
  let file: CommandFile;
  try {
    file = decodeStrictJson(CommandFileSchema, json, "");
  } catch (reason) {
    const message = reason instanceof Error ? reason.message : String(reason);
    const [firstLine] = message.split("\n", 1);
    throw invalidFile(path, `cannot be used: ${firstLine}`, { cause: reason });
  }
  if (file.prompt.trim() === "") {
    throw invalidFile(path, "has no prompt", {
      remedy: "say what the model is told",
    });
  }
  return file;
}

/**
 * Parses Markdown: the text is the prompt, and `key: value` lines between two
 * `---` lines before it are the other fields.
 */
function parseMarkdownFile(path: string, text: string): JsonObject {
  const [, head = "", body = text] =
    /^---\r?\n([\s\S]*?)^---\s*?\r?\n?([\s\S]*)$/m.exec(text) ?? [];
  if (head === "" && /^---\r?\n/.test(text)) {
    throw invalidFile(path, "has a head without an end", {
      remedy: 'close it with "---"',
    });
  }
  const file: JsonObject = { prompt: body.trim() };
  for (const line of head.split(/\r?\n/)) {
    if (/^\s*(#.*)?$/.test(line)) continue;
    const [, key = "", quotedValue = ""] =
      /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
    const value = quotedValue.replace(/^(["'])(.*)\1$/, "$2");
    if (key === "description") {
      file.description = value;
    } else if (key === "argument-hint") {
      file.arguments = [
        { name: value.replaceAll(/[[\]<>]/g, ""), description: value },
      ];
    } else {
      throw invalidFile(
        path,
        `has ${JSON.stringify(line.trim())} in its head`,
        { remedy: 'it takes "description: …" and "argument-hint: …"' },
      );
    }
  }
  return file;
}

function invalidFile(
  path: string,
  problem: string,
  options: ErrorOptions = {},
): DevtoolError {
  return new DevtoolError(
    `command file ${JSON.stringify(path)} ${problem}`,
    Code.InvalidArgument,
    options,
  );
}
