import { join } from "node:path";
import { parseEnv } from "node:util";
import type { ModelApi } from "./model.ts";
import { readPrivateFile, writePrivateFile } from "./private-file.ts";

/** The variables with the keys of the APIs. */
export const KEY_VARIABLES: Readonly<Record<ModelApi, string>> = {
  gemini: "GEMINI_API_KEY",
  openai: "OPENAI_API_KEY",
  anthropic: "ANTHROPIC_API_KEY",
};

/** Keys of models by the name of their variable. */
export type ModelKeys = Readonly<Record<string, string>>;

/** The name of the file with the keys in the data directory. */
export const MODEL_KEYS = "model-keys.env";

/**
 * Reads the keys that `devtool login` keeps in a data directory. A variable of
 * the environment goes before the key of its name.
 *
 * Throws when others can read the file, and when it sets anything else.
 */
export async function readModelKeys(data: string): Promise<ModelKeys> {
  const path = join(data, MODEL_KEYS);
  const keys: Record<string, string> = {};
  const names = Object.values(KEY_VARIABLES);
  const read = parseEnv((await readPrivateFile(path)) ?? "");
  for (const [name, key = ""] of Object.entries(read)) {
    if (!names.includes(name)) {
      throw new Error(
        `file "${path}" sets ${name}: it takes ${names.join(", ")} alone`,
      );
    }
    keys[name] = key;
  }
  return keys;
}

/**
 * Returns an environment with the kept keys that it does not set. An empty
 * variable sets none.
 */
export function withModelKeys(
  keys: ModelKeys,
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string | undefined>> {
  const kept = Object.entries(keys).filter(([name]) => !env[name]);
  return { ...env, ...Object.fromEntries(kept) };
}

/** Replaces the keys of a data directory. */
export async function writeModelKeys(
  data: string,
  keys: ModelKeys,
): Promise<void> {
  const lines = Object.entries(keys).map(([name, key]) => `${name}=${key}\n`);
  await writePrivateFile(join(data, MODEL_KEYS), lines.join(""));
}
