import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { sortSearchPath } from "@devtool/sandbox";
import type { Io } from "./io.ts";

/**
 * Runs the editor and restores the terminal's settings, also when the editor
 * was killed.
 */
const RUN_EDITOR =
  'saved=$(stty -g 2>/dev/null); EDITOR "$1"; code=$?; [ -z "$saved" ] || stty "$saved"; exit $code';

/**
 * Opens a text in `$VISUAL` or `$EDITOR`, which gets the terminal, and returns
 * the edited text.
 *
 * Throws when there is no editor, or when it fails.
 */
export async function editText(
  text: string,
  name: string,
  { env }: Pick<Io, "env">,
): Promise<string> {
  const editor = env.VISUAL || env.EDITOR;
  if (!editor) {
    throw new Error(
      "no editor is set: start this command with EDITOR=vi, for example",
    );
  }
  const directory = await mkdtemp(join(tmpdir(), "devtool-edit-"));
  const file = join(directory, basename(name) || "file");
  try {
    await writeFile(file, text, { mode: 0o600 });
    const script = RUN_EDITOR.replace("EDITOR", () => editor);
    // The current directory is often a workspace, and `npx` puts the programs
    // of its packages first in PATH.
    const path = sortSearchPath(env.PATH ?? "", [process.cwd()]).trusted.join(
      delimiter,
    );
    const child = spawn("/bin/sh", ["-c", script, "sh", file], {
      stdio: "inherit",
      env: { ...env, PATH: path },
    });
    const [code] = await once(child, "exit");
    if (code !== 0) {
      throw new Error(`the editor ended with ${code}: nothing was changed`);
    }
    return await readFile(file, "utf8");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
