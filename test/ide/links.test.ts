import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type Companion, startCompanion } from "@devtool/ide";
import { IdeLinks } from "@devtool/ide/operator";
import { ScriptedEditor } from "@devtool/ide/testing";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, onTestFinished } from "vitest";

/** Far below the time after which editors are looked for without a change. */
const AT_ONCE_MS = 15_000;

/** A machine with a user whose agent looks for editors. */
function setUp() {
  const env = { HOME: temporaryDirectory(), TMPDIR: temporaryDirectory() };
  const start = async (editor: ScriptedEditor): Promise<Companion> => {
    const companion = await startCompanion(editor, {
      env,
      editorPid: process.pid,
    });
    onTestFinished(() => companion.close());
    return companion;
  };
  return { env, start, directory: join(env.TMPDIR, "gemini/ide") };
}

/** Returns whether something is yielded soon. */
async function yieldsSoon(changes: AsyncGenerator<void>): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), AT_ONCE_MS);
  const next = changes.next().then(({ done }) => !done);
  const isSoon = await Promise.race([next, late.promise]);
  clearTimeout(timer);
  return isSoon;
}

describe("the connections to editors", () => {
  it("are one for each editor, whatever number of workspaces it shows", async () => {
    const { env, start } = setUp();
    // More than the clients that a companion admits.
    const folders = Array.from({ length: 40 }, () => temporaryDirectory());
    await using links = new IdeLinks(env);
    const companion = await start(new ScriptedEditor(...folders));
    const found = new Set<unknown>();
    for (const folder of folders) {
      const each = await links.connect(folder, AbortSignal.timeout(60_000));
      found.add(each.case === "connected" ? each.link : each.reason);
    }
    expect(found.size).toBe(1);
    const [folder = ""] = folders;
    const first = await links.connect(folder, AbortSignal.timeout(60_000));
    if (first.case === "none") throw new Error(first.reason);

    await companion.close();
    await start(new ScriptedEditor(folder));
    const second = await links.connect(folder, AbortSignal.timeout(60_000));
    if (second.case === "none") throw new Error(second.reason);
    expect(second.link).not.toBe(first.link);
    expect(await first.link.isAlive()).toBe(false);
  });

  it("say each time why a companion does not let the agent in", async () => {
    const { env, start } = setUp();
    const folder = temporaryDirectory();
    const editor = new ScriptedEditor(folder);
    await start(editor);
    const taken: IdeLinks[] = [];
    // Its places are taken by others.
    for (let reason = ""; reason === ""; ) {
      const links = new IdeLinks(env);
      taken.push(links);
      const found = await links.connect(folder, AbortSignal.timeout(60_000));
      if (found.case === "connected") continue;
      reason = found.reason;
      expect(reason).toMatch(
        /does not let the agent in: .*which is the limit: end one/,
      );
      expect(await links.connect(folder, AbortSignal.timeout(60_000))).toEqual(
        found,
      );
    }
    for (const links of taken) await links[Symbol.asyncDispose]();
  });
});

describe("an editor that is opened while an agent waits for one", () => {
  it.each<[string, (directory: string) => void]>([
    ["the first one of the machine", () => undefined],
    [
      "one after others",
      (directory) => mkdirSync(directory, { recursive: true }),
    ],
    [
      "one where others made only a part",
      (directory) => mkdirSync(dirname(directory)),
    ],
  ])("is seen at once: %s", async (_what, prepare) => {
    const { env, start, directory } = setUp();
    prepare(directory);
    const folder = temporaryDirectory();
    await using links = new IdeLinks(env);
    const waiting = new AbortController();
    const changes = links.changes(waiting.signal);
    await changes.next();
    const isConnected = async (): Promise<boolean> =>
      (await links.connect(folder, AbortSignal.timeout(60_000))).case ===
      "connected";
    expect(await isConnected()).toBe(false);
    await start(new ScriptedEditor(folder));
    while (!(await isConnected())) {
      expect(await yieldsSoon(changes)).toBe(true);
    }

    // It is also seen that the directory is made anew.
    rmSync(dirname(directory), { recursive: true });
    expect(await yieldsSoon(changes)).toBe(true);
    await start(new ScriptedEditor(folder));
    while (!(await isConnected())) {
      expect(await yieldsSoon(changes)).toBe(true);
    }
    waiting.abort();
    expect(await changes.next()).toMatchObject({ done: true });
  });

  it.each<[string, (directory: string) => void, number]>([
    ["the user's own", (directory) => mkdirSync(directory), 8],
    // It is read each two seconds.
    ["a link", (directory) => symlinkSync(temporaryDirectory(), directory), 1],
  ])(
    "is not looked for all the time where a directory is busy: %s",
    async (_what, make, most) => {
      const { env, directory } = setUp();
      mkdirSync(dirname(directory));
      make(directory);
      await using links = new IdeLinks(env);
      const waiting = new AbortController();
      const write = setInterval(
        () => writeFileSync(join(directory, "log"), String(performance.now())),
        5,
      );
      void delay(1500).then(() => waiting.abort());
      const changes = await Array.fromAsync(links.changes(waiting.signal));
      clearInterval(write);
      expect(changes.length).toBeGreaterThan(0);
      expect(changes.length).toBeLessThanOrEqual(most);
    },
  );

  it("is asked again once its user trusts the folder", async () => {
    const { env, start } = setUp();
    const folder = temporaryDirectory();
    const editor = new ScriptedEditor(folder);
    editor.show({ isTrusted: false });
    await start(editor);
    await using links = new IdeLinks(env);
    const waiting = new AbortController();
    const changes = links.changes(waiting.signal);
    await changes.next();
    const found = await links.connect(folder, AbortSignal.timeout(60_000));
    if (found.case === "none") throw new Error(found.reason);
    expect(found.link.isTrusted).toBe(false);
    editor.show({ isTrusted: true });
    // What came before may be told, too.
    while (!found.link.isTrusted) {
      expect(await yieldsSoon(changes)).toBe(true);
    }
    waiting.abort();
  });
});
