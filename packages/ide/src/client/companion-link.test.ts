import { setTimeout as delay } from "node:timers/promises";
import { temporaryDirectory } from "@devtool/internal/testing/temporary-directory";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { LEFT_TO_CI } from "../../../../test/depth.ts";
import { startCompanion } from "../companion.ts";
import { readCandidates } from "../doctor/candidate.ts";
import { ScriptedEditor } from "../testing/scripted-editor.ts";
import { CompanionLink } from "./companion-link.ts";

const FILE = "/workspace/a.txt";

/** Connects to an editor whose notifications come late, by a time in ms. */
async function connect(lateMs: number) {
  const editor = new ScriptedEditor("/workspace");
  const home = temporaryDirectory();
  const env = { HOME: home, TMPDIR: home };
  const companion = await startCompanion(editor, { env, editorPid: 1 });
  onTestFinished(() => companion.close());
  const places = `${home}/gemini/ide`;
  const [found] = await readCandidates("devtool", places, undefined);
  if (!found) throw new Error("no file of the companion");
  delayEvents(lateMs);
  const trusted = (): undefined => undefined;
  const signal = AbortSignal.timeout(120_000);
  const link = await CompanionLink.open(found, trusted, signal);
  onTestFinished(() => link[Symbol.asyncDispose]());
  return { editor, link };
}

/** Delays each part of an event stream that answers no request. */
function delayEvents(ms: number): void {
  const { fetch } = globalThis;
  const late = vi.spyOn(globalThis, "fetch");
  late.mockImplementation(async (url, init) => {
    const answer = await fetch(url, init);
    if (init?.method !== "GET" || !answer.body) return answer;
    const slow = new TransformStream({
      async transform(chunk, controller) {
        await delay(ms);
        controller.enqueue(chunk);
      },
    });
    return new Response(answer.body.pipeThrough(slow), answer);
  });
  onTestFinished(() => late.mockRestore());
}

describe("a diff of a file, after one that was closed", () => {
  it.each([
    // Within the time that a report may take.
    { lateMs: 500, decide: "accept" },
    { lateMs: 500, decide: "reject" },
    // Later: it is known by its content.
    ...(LEFT_TO_CI === "" ? [{ lateMs: 3500, decide: "accept" } as const] : []),
  ] as const)(
    "does not take the answer of that one, $decide, $lateMs ms late",
    async ({ lateMs, decide }) => {
      const { editor, link } = await connect(lateMs);
      const closing = new AbortController();
      const first = link.openDiff(FILE, "of A\n", closing.signal);
      await expect.poll(() => editor.diffs).toHaveLength(1);
      // The user answers in the editor and elsewhere at the same time.
      editor.diffs[0]?.[decide]();
      await delay(100);
      closing.abort();
      await expect(first).rejects.toBe(closing.signal.reason);

      const signal = AbortSignal.timeout(120_000);
      const second = link.openDiff(FILE, "of B\n", signal);
      await expect.poll(() => editor.diffs).toHaveLength(2);
      await delay(lateMs);
      const view = editor.diffs[1];
      expect(view).toMatchObject({ isOpen: true, content: "of B\n" });
      if (view) view.draft = "of the user\n";
      view?.accept();
      expect(await second).toEqual({
        case: "accepted",
        content: "of the user\n",
      });
    },
  );
});
