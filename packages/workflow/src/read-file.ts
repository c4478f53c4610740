import type { JsonObject } from "@bufbuild/protobuf";
import { shorten } from "@devtool/internal/cut-text";
import { isObject, plainJson } from "@devtool/internal/json";
import { Code, DevtoolError, quoted } from "@devtool/server/agent";
import { parse as parseToml } from "smol-toml";
import { parseDocument } from "yaml";

/** The maximum length of what is said to be wrong, which may quote a line. */
const MAX_PROBLEM = 1000;

/** How a file becomes a message. */
interface FileReader<T> {
  /** What the file is, for errors. */
  readonly what: string;
  /** Reads the fields of a file. Throws an error that says what is wrong. */
  readonly read: (fields: JsonObject) => T;
  /** Throws a `DevtoolError` for a message that cannot be used. */
  readonly check: (message: T) => void;
}

/**
 * Reads a message with a name from a text of YAML or TOML, and checks it.
 *
 * Throws `Code.InvalidArgument` with the name of the file for another text.
 *
 * @param file the name of the file: its ending says what the text is written in,
 * and the rest names a message that has no name
 */
export function readFile<T extends { readonly name: string }>(
  text: string,
  file: string,
  { what, read, check }: FileReader<T>,
): T {
  const unusable = (problem: string, remedy: string): DevtoolError =>
    new DevtoolError(
      `${what} file ${quoted(file)} cannot be used: ${problem}`,
      Code.InvalidArgument,
      { remedy },
    );
  const base = file.replace(/^.*\//, "");
  const [, own = "", ending = ""] =
    /^(.*?)(?:\.mesh)?\.(ya?ml|toml)$/.exec(base) ?? [];
  if (ending === "") {
    throw unusable("it is neither YAML nor TOML", "name it .yaml or .toml");
  }
  let message: T;
  try {
    const value: unknown =
      ending === "toml" ? parseToml(text) : yamlValue(text);
    if (!isObject(value)) throw new Error("it has no fields");
    message = read(acyclic(value));
  } catch (reason) {
    const problem = reason instanceof Error ? reason.message : "";
    throw unusable(shorten(problem.trimEnd(), MAX_PROBLEM), "");
  }
  const named = { ...message, name: message.name || own };
  try {
    check(named);
  } catch (reason) {
    const { problem, remedy } = DevtoolError.from(reason);
    throw unusable(problem, remedy);
  }
  return named;
}

/** Throws also for what a reader of YAML would only warn of: an unknown tag. */
function yamlValue(text: string): unknown {
  const document = parseDocument(text);
  const [problem] = [...document.errors, ...document.warnings];
  if (problem) throw problem;
  return document.toJS();
}

function acyclic(value: JsonObject): JsonObject {
  try {
    return plainJson(value);
  } catch (cause) {
    throw new Error("it has an alias inside of its own anchor: write it out", {
      cause,
    });
  }
}
