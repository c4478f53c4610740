import { type DescMessage, fromJson, type JsonObject, type JsonValue, type MessageShape } from "@bufbuild/protobuf";
import { type CommandFile, CommandFileSchema } from "@devtool/schema";
import { Code, DevtoolError, type ErrorOptions } from "@devtool/server/agent";
import { parse as parseToml } from "smol-toml";

/** A command file may have so many bytes. */
export const MAX_COMMAND_FILE_BYTES: number = 64 * 1024;

/** Reads a command file by its extension. Throws `Code.InvalidArgument` with the reason when it cannot be used. */
export function readCommandFile(path: string, content: Buffer): CommandFile {
  if (content.length > MAX_COMMAND_FILE_BYTES) {
    throw broken(path, `has ${content.length} bytes: limit is ${MAX_COMMAND_FILE_BYTES}`);
  }
  const text = content.toString("utf8").replace(/^\uFEFF/, "");
  const json = path.endsWith(".toml") ? tomlJson(path, text) : markdownJson(path, text);
  const file = messageFrom(CommandFileSchema, path, json);
  if (file.prompt.trim() === "") throw broken(path, "has no prompt", { remedy: "say what the model is told" });
  return file;
}

function tomlJson(path: string, text: string): JsonValue {
  try {
    const json: JsonValue = JSON.parse(JSON.stringify(parseToml(text)));
    return json;
  } catch (reason) {
    throw broken(path, `is not valid TOML: ${firstLine(reason)}`, { cause: reason });
  }
}

function messageFrom<Desc extends DescMessage>(desc: Desc, path: string, json: JsonValue): MessageShape<Desc> {
  try {
    return fromJson(desc, json);
  } catch (reason) {
    const problem = firstLine(reason)
      .replace(" from JSON:", ":")
      .replace(/^(cannot decode message \S+ from JSON|cannot decode field \S+?\.(?=\w+ ))[:\s]*/, "");
    const remedy = "it takes description, prompt and arguments";
    throw broken(path, `cannot be used: ${problem}`, { remedy, cause: reason });
  }
}

/** Markdown is the prompt; lines `key: value` between two `---` at its beginning say the rest. */
function markdownJson(path: string, text: string): JsonObject {
  const [, head = "", body = text] = /^---\r?\n([\s\S]*?)^---\s*?\r?\n?([\s\S]*)$/m.exec(text) ?? [];
  if (head === "" && /^---\r?\n/.test(text))
    throw broken(path, "has a head without an end", { remedy: 'close it with "---"' });
  const values = head.split(/\r?\n/).flatMap((line) => headLine(path, line));
  return { prompt: body.trim(), ...Object.assign({}, ...values) };
}

function headLine(path: string, line: string): JsonObject[] {
  if (/^\s*(#.*)?$/.test(line)) return [];
  const [, key = "", value = ""] = /^([\w-]+):\s*(.*?)\s*$/.exec(line) ?? [];
  const text = value.replace(/^(["'])(.*)\1$/, "$2");
  if (key === "description") return [{ description: text }];
  if (key === "argument-hint") return [{ arguments: [{ name: text.replaceAll(/[[\]<>]/g, ""), description: text }] }];
  throw broken(path, `has ${JSON.stringify(line.trim())} in its head`, {
    remedy: 'it takes "description: …" and "argument-hint: …"',
  });
}

function broken(path: string, problem: string, options: ErrorOptions = {}): DevtoolError {
  return new DevtoolError(`command file ${JSON.stringify(path)} ${problem}`, Code.InvalidArgument, options);
}

function firstLine(reason: unknown): string {
  return (reason instanceof Error ? reason.message : String(reason)).split("\n", 1)[0] ?? "";
}
