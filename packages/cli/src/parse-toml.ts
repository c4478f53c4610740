import { tomlProblem } from "@devtool/policy";
import { parse, TomlError, type TomlTable } from "smol-toml";

/**
 * Parses TOML. Throws an `Error` that says where a text is malformed, without
 * the text.
 */
export function parseToml(text: string): TomlTable {
  try {
    return parse(text);
  } catch (reason) {
    if (!(reason instanceof TomlError)) throw reason;
    throw new Error(`it is not valid TOML: ${tomlProblem(reason)}`, {
      cause: reason,
    });
  }
}
