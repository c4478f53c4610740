import {
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  symlinkSync,
} from "node:fs";
import { join } from "node:path";
import { startCompanion } from "@devtool/ide";
import { ScriptedEditor } from "@devtool/ide/testing";
import { putFile } from "@devtool/internal/testing/files";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it } from "vitest";
import { GeminiAgent, onlyFile, until } from "./agents.ts";

/** A home of its own, and how a companion is started there. */
function newPlace() {
  const home = temporaryDirectory();
  const options = {
    env: { HOME: home, TMPDIR: join(home, "tmp") },
    editorPid: 4242,
  };
  return { home, options, gemini: join(home, "tmp/gemini/ide") };
}

/** An editor whose methods throw when they should. */
class ThrowingEditor extends ScriptedEditor {
  isBroken = false;

  override workspaceFolders(): readonly string[] {
    if (this.isBroken) throw new Error("no window is open");
    return super.workspaceFolders();
  }

  override context() {
    if (this.isBroken) throw new Error("no window is open");
    return super.context();
  }
}

/** An editor that opens another folder just after it was asked for them. */
class BusyEditor extends ScriptedEditor {
  #isAsked = false;

  override workspaceFolders(): readonly string[] {
    const folders = super.workspaceFolders();
    if (!this.#isAsked) {
      this.#isAsked = true;
      queueMicrotask(() => {
        this.folders.push("/later");
        this.changed();
      });
    }
    return folders;
  }
}

describe("a companion whose files cannot be removed", () => {
  it("ends all the same, removes the others and says why", async () => {
    const { home, options, gemini } = newPlace();
    const companion = await startCompanion(new ScriptedEditor(), options);
    const name = `gemini-ide-server-4242-${companion.port}.json`;
    rmSync(join(gemini, name));
    mkdirSync(join(gemini, name));
    await companion.close();
    expect(companion.problems).toEqual([
      expect.stringMatching(/^".*\.json" could not be removed: /),
    ]);
    expect(readdirSync(join(home, ".claude/ide"))).toEqual([]);
    await expect(
      fetch(`http://127.0.0.1:${companion.port}/`),
    ).rejects.toThrow();
  });

  it("ends when it could not write them", async () => {
    const { home, options } = newPlace();
    putFile(home, "tmp/gemini", "");
    const companion = await startCompanion(new ScriptedEditor(), options);
    await companion.close();
    expect(readdirSync(join(home, ".qwen/ide"))).toEqual([]);
  });

  it("removes nothing through a link that somebody planted", async () => {
    const { home, options, gemini } = newPlace();
    const victim = temporaryDirectory();
    putFile(victim, "gemini-ide-server-4242-1.json", "{}");
    mkdirSync(join(home, "tmp/gemini"), { recursive: true });
    symlinkSync(victim, gemini);
    const companion = await startCompanion(new ScriptedEditor(), options);
    const own = `gemini-ide-server-4242-${companion.port}.json`;
    putFile(victim, own, "{}");
    await companion.close();
    expect(readdirSync(victim).sort()).toEqual(
      ["gemini-ide-server-4242-1.json", own].sort(),
    );
  });
});

describe("a companion of an editor that throws", () => {
  it("goes on, says what failed, and follows the editor again", async () => {
    const { home, options, gemini } = newPlace();
    const editor = new ThrowingEditor(home);
    const companion = await startCompanion(editor, options);
    await using agent = await GeminiAgent.connect(onlyFile(gemini));
    await until(() => agent.last("ide/contextUpdate"));
    editor.isBroken = true;
    expect(() => editor.changed()).not.toThrow();
    await until(() => companion.problems[0]);
    expect(companion.problems).toEqual([
      "the folders that are open are not announced: no window is open",
    ]);
    // Longer than changes of the context are collected.
    await new Promise((resolve) => setTimeout(resolve, 200));
    editor.isBroken = false;
    editor.show({ openFiles: [{ path: "/again.ts", isActive: true }] });
    await until(
      () =>
        JSON.stringify(agent.last("ide/contextUpdate")).includes("/again.ts") ||
        undefined,
    );
    await until(() => (companion.problems.length === 0 ? true : undefined));
    await companion.close();
  });

  it("is told of it at the start, and finds nothing left", async () => {
    const { home, options } = newPlace();
    const editor = new ScriptedEditor(home);
    editor.onContext = () => {
      throw new Error("no window is open");
    };
    // Those of the test file before it may still be closing.
    const before = listening();
    await expect(startCompanion(editor, options)).rejects.toThrow("no window");
    await expect.poll(listening).toBeLessThanOrEqual(before);
    expect(existsSync(join(home, ".claude/ide"))).toBe(false);
  });

  it("announces folders that are opened while it starts", async () => {
    const { options, gemini } = newPlace();
    const editor = new BusyEditor("/first");
    const companion = await startCompanion(editor, options);
    await until(
      () => onlyFile(gemini).workspacePath === "/first:/later" || undefined,
    );
    await companion.close();
  });
});

/** The servers of this process. */
function listening(): number {
  return process
    .getActiveResourcesInfo()
    .filter((name) => name === "TCPServerWrap").length;
}
