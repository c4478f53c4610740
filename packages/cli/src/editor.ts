import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Io } from "./io.ts";

/** Lets the person change a text in `$VISUAL` or `$EDITOR`. Throws when there is none, or when it ends badly. */
export async function editText(text: string, name: string, { env }: Pick<Io, "env">): Promise<string> {
  const editor = env.VISUAL ?? env.EDITOR;
  if (!editor) throw new Error("no editor is set: set EDITOR, for instance to vi");
  const directory = await mkdtemp(join(tmpdir(), "devtool-edit-"));
  const file = join(directory, basename(name) || "file");
  try {
    await writeFile(file, text, { mode: 0o600 });
    const child = spawn("sh", ["-c", `${editor} "$1"`, "sh", file], { stdio: "inherit" });
    const [code] = await once(child, "exit");
    if (code !== 0) throw new Error(`the editor ended with ${code}: nothing was changed`);
    return await readFile(file, "utf8");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
