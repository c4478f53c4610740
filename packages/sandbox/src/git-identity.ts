import { execFile } from "node:child_process";
import { homedir } from "node:os";

/** The maximum time in which git answers, in milliseconds. */
const GIT_MS = 2000;
const ARGUMENTS: readonly string[] = [
  ..."config --includes --show-scope --null --get-regexp".split(" "),
  "^user\\.(name|email)$",
];
/**
 * Returns a configuration file of git with nothing but the name and the address
 * that the user has for commits in a workspace; empty when there are none, or
 * git does not answer.
 *
 * Git itself reads them, because an `includeIf` can depend on the repository.
 * What the repository says is left out: commands see that anyway, and it is not
 * the user's. Reading a setting runs no program that a configuration names.
 *
 * `git` is the absolute path of git.
 */
export async function gitIdentity(
  git: string,
  workspace: string,
): Promise<string> {
  const env = { HOME: homedir(), PATH: "" };
  const output = await new Promise<string>((resolve) => {
    const options = { cwd: workspace, env, timeout: GIT_MS };
    execFile(git, [...ARGUMENTS], options, (error, stdout) =>
      resolve(error ? "" : stdout),
    );
  });
  // A scope, then a key and its value: `global\0user.name\nAda\0`.
  const fields = output.split("\0");
  const settings = new Map<string, string>();
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [, key, value] = /^([^\n]*)\n(.*)$/s.exec(fields[at + 1] ?? "") ?? [];
    const isOfUser = /^(system|global)$/.test(fields[at] ?? "");
    if (isOfUser && key && value) settings.set(key, value);
  }
  return settings.size === 0 ? "" : userSection(settings);
}

function userSection(settings: ReadonlyMap<string, string>): string {
  const lines = [...settings].map(([key, value]) => {
    const text = value
      .replaceAll(/\p{Cc}+/gu, " ")
      .replaceAll(/["\\]/g, "\\$&");
    return `\t${key.slice("user.".length)} = "${text}"\n`;
  });
  return `[user]\n${lines.join("")}`;
}
